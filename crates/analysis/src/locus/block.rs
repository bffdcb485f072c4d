//! The loci of all diagonal blocks of a system Jacobian.

use super::{DeterminantFactor, Incomplete, Locus, LocusOptions, Role};
use crate::structure::{Structure, SystemJacobian};
use daelight_expr::{ExprId, Graph};
use daelight_lang::{Symbol, Symbols};
use std::fmt;

/// Most bytes of a factor's text.
const TEXT_LIMIT: usize = 100_000;

/// The locus of each block of the system Jacobian, or why there is none.
///
/// The structure holds where no factor of any block vanishes.
pub struct BlockLoci {
    pub(super) graph: Graph,
    pub(super) symbols: Symbols,
    pub(super) parameters: Vec<f64>,
    pub(super) loci: Vec<Result<Locus, Incomplete>>,
}

impl fmt::Debug for BlockLoci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.loci).finish()
    }
}

impl BlockLoci {
    /// Finds the locus of every block.
    pub fn new(structure: &Structure, jacobian: &SystemJacobian, options: &LocusOptions) -> Self {
        let mut graph = jacobian.graph().clone();
        let symbols = jacobian.symbols().clone();
        let role = |id| match symbols.get(id) {
            Symbol::Parameter(index) => Role::Parameter(jacobian.parameters()[index]),
            _ => Role::Variable,
        };
        // Where the entries of each equation begin.
        let mut starts = Vec::with_capacity(structure.n());
        let mut next = 0;
        for equation in 0..structure.n() {
            starts.push(next);
            next += structure.jacobian_row(equation).len();
        }
        let loci = structure
            .blocks()
            .iter()
            .map(|block| {
                let n = block.unknowns.len();
                // Only what fits the budget is copied: a block of thousands has millions of places.
                if n > options.rows.min(64) {
                    return Err(Incomplete::Rows {
                        rows: n,
                        limit: options.rows.min(64),
                    });
                }
                if options.out_of_time() {
                    return Err(Incomplete::Time);
                }
                let mut entries: Vec<Option<ExprId>> = vec![None; n * n];
                for (row, &equation) in block.equations.iter().enumerate() {
                    let places = structure.jacobian_row(equation).enumerate();
                    for (at, unknown) in places {
                        if let Ok(column) = block.unknowns.binary_search(&unknown) {
                            entries[row * n + column] =
                                Some(jacobian.entries()[starts[equation] + at]);
                        }
                    }
                }
                Locus::find(&mut graph, &entries, &role, options)
            })
            .collect();
        Self {
            graph,
            symbols,
            parameters: jacobian.parameters().to_vec(),
            loci,
        }
    }

    /// The graph of the factors' expressions: that of the Jacobian, and more.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What the symbols of the graph stand for.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The locus of each block, in the order of [`Structure::blocks`].
    pub fn loci(&self) -> &[Result<Locus, Incomplete>] {
        &self.loci
    }

    /// The factors of a block that may vanish; none where there is no formula.
    pub fn factors(&self, block: usize) -> impl Iterator<Item = &DeterminantFactor> {
        self.loci[block].iter().flat_map(Locus::vanishing)
    }

    /// A factor of a block in the user's names; shortened to its size where it is very long.
    pub fn text(
        &self,
        block: usize,
        factor: &DeterminantFactor,
        write_name: impl Fn(Symbol, &mut String),
    ) -> String {
        let written = self.loci[block].as_ref().ok().and_then(|locus| {
            let name = |id, text: &mut String| write_name(self.symbols.get(id), text);
            locus.text(&self.graph, factor, TEXT_LIMIT, name).ok()
        });
        written.unwrap_or_else(|| format!("polynomial of {} terms", factor.polynomial.n_terms()))
    }

    /// The value of an expression of the graph, with the values of the parameters.
    pub fn evaluate(&self, expr: ExprId, mut value: impl FnMut(Symbol) -> f64) -> f64 {
        self.graph
            .evaluate(&[expr], |id| match self.symbols.get(id) {
                Symbol::Parameter(index) => self.parameters[index],
                symbol => value(symbol),
            })[0]
    }

    /// Whether an expression of parameters alone is zero up to their rounding: changes in their last digits exceed it.
    pub fn is_rounding(&self, expr: ExprId) -> bool {
        const LAST_DIGITS: f64 = 4.0 * f64::EPSILON;
        let at = |change: &dyn Fn(usize) -> f64| {
            let value = |id| match self.symbols.get(id) {
                Symbol::Parameter(index) => self.parameters[index] * (1.0 + change(index)),
                _ => f64::NAN,
            };
            self.graph.evaluate(&[expr], value)[0]
        };
        let here = at(&|_| 0.0);
        let change: f64 = (0..self.parameters.len())
            .map(|p| (at(&|q| if p == q { LAST_DIGITS } else { 0.0 }) - here).abs())
            .sum();
        here.abs() <= change
    }
}
