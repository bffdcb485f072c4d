//! The residual series and the matrix series of a system, from one tape.
//!
//! For F(t, x, x', ..., x^(s)) the matrices are dF/dx^(r), r = 0..s; for a first-order system they
//! are B = dF/dx and E = dF/dx'. Residuals and entries are roots of one tape, so whatever they share
//! is evaluated once per order.

use crate::fault::Fault;
use crate::graph::{ExprId, Graph, SymbolId, Walker};
use crate::inputs::Inputs;
use crate::jacobian::{Pattern, SparseJacobian};
use crate::jet::JetEvaluator;
use crate::tape::{Slot, Tape};
use std::sync::Arc;

/// Residuals F_k and sparse matrices B_k = (dF/dx)_k, E_k = (dF/dx')_k, and higher ones, along a jet.
///
/// By the chain rule they hold the whole Jacobian of the derivative array,
/// dF_i/dx_j = B_{i-j} + j E_{i-j+1} for a first-order system; docs/theory/jets.md (33).
#[derive(Clone, Debug)]
pub struct JacobianSeries<J> {
    jet: J,
    n_equations: usize,
    n_unknowns: usize,
    patterns: Vec<Pattern>,
    /// The root of the first entry of each matrix.
    first_roots: Vec<usize>,
}

/// What a root of a [`JacobianSeries`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeriesRoot {
    /// The residual of an equation.
    Residual {
        /// Which equation.
        equation: usize,
    },
    /// The derivative of an equation by the `derivative`-th time derivative of an unknown.
    Entry {
        /// Which equation.
        equation: usize,
        /// Which unknown.
        unknown: usize,
        /// 0 for the unknown itself, 1 for its rate.
        derivative: usize,
    },
}

impl<J: JetEvaluator> JacobianSeries<J> {
    /// Differentiates the residuals by all unknowns and compiles them, for jets up to `order`.
    ///
    /// `slot` says what the symbols stand for; the unknowns are the variables 0..`n_unknowns`.
    pub fn new(
        graph: &mut Graph,
        residuals: &[ExprId],
        n_unknowns: usize,
        order: usize,
        mut slot: impl FnMut(SymbolId) -> Slot,
    ) -> Self {
        let mut by_derivative: Vec<Vec<(u32, SymbolId)>> = vec![Vec::new(); 2];
        for symbol in Walker::new().symbols(graph, residuals) {
            if let Slot::Variable { index, order } = slot(symbol) {
                let order = order as usize;
                if by_derivative.len() <= order {
                    by_derivative.resize(order + 1, Vec::new());
                }
                by_derivative[order].push((index, symbol));
            }
        }
        let mut roots = residuals.to_vec();
        let mut patterns = Vec::new();
        let mut first_roots = Vec::new();
        for mut occurring in by_derivative {
            occurring.sort_unstable();
            let (unknowns, symbols): (Vec<u32>, Vec<SymbolId>) = occurring.into_iter().unzip();
            let SparseJacobian { pattern, entries } = graph.sparse_jacobian(residuals, &symbols);
            first_roots.push(roots.len());
            roots.extend(entries);
            patterns.push(pattern.with_columns(n_unknowns, &unknowns));
        }
        let tape = Tape::compile(graph, &roots, slot).with_counts(n_unknowns, 0);
        Self {
            jet: J::new(Arc::new(tape), order),
            n_equations: residuals.len(),
            n_unknowns,
            patterns,
            first_roots,
        }
    }

    /// Number of equations.
    pub fn n_equations(&self) -> usize {
        self.n_equations
    }

    /// Number of unknowns.
    pub fn n_unknowns(&self) -> usize {
        self.n_unknowns
    }

    /// Number of matrices: 2 for a first-order system, B and E.
    pub fn n_matrices(&self) -> usize {
        self.patterns.len()
    }

    /// Where dF/dx^(derivative) has entries.
    pub fn pattern(&self, derivative: usize) -> &Pattern {
        &self.patterns[derivative]
    }

    /// The evaluator behind the series, for its branches and registers.
    pub fn jet(&self) -> &J {
        &self.jet
    }

    /// The evaluator, to hold or choose branches.
    pub fn jet_mut(&mut self) -> &mut J {
        &mut self.jet
    }

    /// The jet at which everything is evaluated.
    pub fn inputs(&self) -> &Inputs {
        self.jet.inputs()
    }

    /// The jet, to be written.
    pub fn inputs_mut(&mut self) -> &mut Inputs {
        self.jet.inputs_mut()
    }

    /// Computes order k of the residuals and of all matrices; needs x_{k+s} for x^(s).
    ///
    /// Orders are computed one after the other, and may be repeated. Allocates nothing.
    pub fn extend(&mut self, k: usize) -> Result<(), Fault> {
        self.jet
            .extend(i32::try_from(k).expect("orders are small numbers"))
    }

    /// What a fault's root is.
    pub fn root(&self, root: usize) -> SeriesRoot {
        if root < self.n_equations {
            return SeriesRoot::Residual { equation: root };
        }
        let derivative = self.first_roots.partition_point(|&first| first <= root) - 1;
        let position = root - self.first_roots[derivative];
        let pattern = &self.patterns[derivative];
        SeriesRoot::Entry {
            equation: pattern
                .row_starts()
                .partition_point(|&start| start <= position)
                - 1,
            unknown: pattern.columns()[position] as usize,
            derivative,
        }
    }

    /// Coefficient k of one residual.
    pub fn residual(&self, equation: usize, k: usize) -> f64 {
        self.jet.root(equation, k)
    }

    /// Coefficient k of all residuals.
    pub fn residuals(&self, k: usize, into: &mut [f64]) {
        for (equation, slot) in into.iter_mut().enumerate().take(self.n_equations) {
            *slot = self.residual(equation, k);
        }
    }

    /// Coefficient k of the entry at a position of the pattern of dF/dx^(derivative).
    pub fn entry(&self, derivative: usize, position: usize, k: usize) -> f64 {
        self.jet.root(self.first_roots[derivative] + position, k)
    }

    /// Coefficient k of all entries of dF/dx^(derivative), in the order of its pattern.
    pub fn entries(&self, derivative: usize, k: usize, into: &mut [f64]) {
        let n_entries = self.patterns[derivative].n_entries();
        for (position, slot) in into.iter_mut().enumerate().take(n_entries) {
            *slot = self.entry(derivative, position, k);
        }
    }

    /// Adds the block dF_i/dx_j of the derivative array's Jacobian, entry by entry.
    ///
    /// `add(equation, unknown, value)` is called once per entry and matrix; docs/theory/jets.md (32).
    pub fn array_block(&self, i: usize, j: usize, mut add: impl FnMut(usize, usize, f64)) {
        for (derivative, pattern) in self.patterns.iter().enumerate() {
            // x_j enters x^(r) at order j - r, with the factor j (j-1) ... (j-r+1).
            if j < derivative || i + derivative < j {
                continue;
            }
            let factor: f64 = (j - derivative + 1..=j).map(|n| n as f64).product();
            for (row, column, position) in pattern.iter() {
                let entry = self.entry(derivative, position, i + derivative - j);
                add(row, column, factor * entry);
            }
        }
    }
}
