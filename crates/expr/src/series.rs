//! The residual series and the matrix series of a system, from one tape.
//!
//! For F(t, x, x', ..., x^(s)) the matrices are dF/dx^(r), r = 0..s; for a first-order system they
//! are B = dF/dx and E = dF/dx'. Residuals and entries are roots of one tape, so whatever they share
//! is evaluated once per order.

use crate::fault::Fault;
use crate::graph::{ExprId, Graph, SymbolId, Walker};
use crate::inputs::Inputs;
use crate::jacobian::{SparseJacobian, Sparsity};
use crate::jet::JetEvaluator;
use crate::scalar::Scalar;
use crate::tape::{Slot, Tape};
use std::marker::PhantomData;
use std::sync::Arc;

/// Residuals F_k and sparse matrices B_k = (dF/dx)_k, E_k = (dF/dx')_k, and higher ones, along a jet.
///
/// By the chain rule they hold the whole Jacobian of the derivative array,
/// dF_i/dx_j = B_{i-j} + j E_{i-j+1} for a first-order system; docs/theory/jets.md (33). The numbers are those of the
/// back end `J`, doubles unless `S` says otherwise.
#[derive(Clone, Debug)]
pub struct JacobianSeries<J, S = f64> {
    jet: J,
    scalar: PhantomData<S>,
    n_equations: usize,
    n_unknowns: usize,
    patterns: Vec<Sparsity>,
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

impl SeriesRoot {
    /// What a root of a tape over [`series_roots`] is.
    pub fn of(root: usize, n_equations: usize, jacobians: &[SparseJacobian]) -> Self {
        let first_roots = first_roots(n_equations, jacobians);
        Self::locate(root, n_equations, &first_roots, |derivative| {
            &jacobians[derivative].pattern
        })
    }

    fn locate<'a>(
        root: usize,
        n_equations: usize,
        first_roots: &[usize],
        pattern: impl Fn(usize) -> &'a Sparsity,
    ) -> Self {
        if root < n_equations {
            return SeriesRoot::Residual { equation: root };
        }
        let derivative = first_roots.partition_point(|&first| first <= root) - 1;
        let position = root - first_roots[derivative];
        let pattern = pattern(derivative);
        SeriesRoot::Entry {
            equation: pattern
                .row_starts()
                .partition_point(|&start| start <= position)
                - 1,
            unknown: pattern.columns()[position] as usize,
            derivative,
        }
    }

    /// The equation that the root belongs to.
    pub fn equation(self) -> usize {
        match self {
            SeriesRoot::Residual { equation } | SeriesRoot::Entry { equation, .. } => equation,
        }
    }
}

/// Residuals, then the entries of dF/dx, of dF/dx' and so on: the roots behind a [`JacobianSeries`].
pub fn series_roots(residuals: &[ExprId], jacobians: &[SparseJacobian]) -> Vec<ExprId> {
    let entries = jacobians.iter().flat_map(|jacobian| &jacobian.entries);
    residuals.iter().chain(entries).copied().collect()
}

/// The root of the first entry of each matrix.
fn first_roots(n_equations: usize, jacobians: &[SparseJacobian]) -> Vec<usize> {
    jacobians
        .iter()
        .scan(n_equations, |next, jacobian| {
            let first = *next;
            *next += jacobian.entries.len();
            Some(first)
        })
        .collect()
}

impl Graph {
    /// The matrices dF/dx^(r) of F(t, x, x', ...), r = 0, 1 and on to the highest that occurs.
    ///
    /// `slot` says what the symbols stand for; the unknowns are the variables 0..`n_unknowns`.
    pub fn jacobians(
        &mut self,
        residuals: &[ExprId],
        n_unknowns: usize,
        mut slot: impl FnMut(SymbolId) -> Slot,
    ) -> Vec<SparseJacobian> {
        let mut by_derivative: Vec<Vec<(u32, SymbolId)>> = vec![Vec::new(); 2];
        for symbol in Walker::new().symbols(self, residuals) {
            if let Slot::Variable { index, order } = slot(symbol) {
                let order = order as usize;
                if by_derivative.len() <= order {
                    by_derivative.resize(order + 1, Vec::new());
                }
                by_derivative[order].push((index, symbol));
            }
        }
        by_derivative
            .into_iter()
            .map(|mut occurring| {
                occurring.sort_unstable();
                let (unknowns, symbols): (Vec<u32>, Vec<SymbolId>) = occurring.into_iter().unzip();
                let SparseJacobian { pattern, entries } = self.sparse_jacobian(residuals, &symbols);
                SparseJacobian {
                    pattern: pattern.with_columns(n_unknowns, &unknowns),
                    entries,
                }
            })
            .collect()
    }
}

impl<S: Scalar, J: JetEvaluator<S>> JacobianSeries<J, S> {
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
        let jacobians = graph.jacobians(residuals, n_unknowns, &mut slot);
        let tape = Tape::compile(graph, &series_roots(residuals, &jacobians), slot)
            .with_counts(n_unknowns, 0);
        Self::from_tape(tape, residuals.len(), &jacobians, order)
    }

    /// Evaluates a tape whose roots are [`series_roots`], for jets up to `order`.
    pub fn from_tape(
        tape: Tape,
        n_equations: usize,
        jacobians: &[SparseJacobian],
        order: usize,
    ) -> Self {
        let patterns: Vec<Sparsity> = jacobians.iter().map(|j| j.pattern.clone()).collect();
        let first_roots = first_roots(n_equations, jacobians);
        let n_roots = first_roots.last().map_or(n_equations, |&first| {
            first + patterns.last().map_or(0, Sparsity::n_entries)
        });
        assert_eq!(tape.n_roots(), n_roots, "residuals and entries are roots");
        Self {
            n_equations,
            n_unknowns: patterns.first().map_or(0, Sparsity::n_columns),
            jet: J::new(Arc::new(tape), order),
            scalar: PhantomData,
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
    pub fn pattern(&self, derivative: usize) -> &Sparsity {
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
    pub fn inputs(&self) -> &Inputs<S> {
        self.jet.inputs()
    }

    /// The jet, to be written.
    pub fn inputs_mut(&mut self) -> &mut Inputs<S> {
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
        SeriesRoot::locate(root, self.n_equations, &self.first_roots, |derivative| {
            &self.patterns[derivative]
        })
    }

    /// Coefficient k of one residual.
    pub fn residual(&self, equation: usize, k: usize) -> S {
        self.jet.root(equation, k)
    }

    /// Coefficient k of all residuals.
    pub fn residuals(&self, k: usize, into: &mut [S]) {
        for (equation, slot) in into.iter_mut().enumerate().take(self.n_equations) {
            *slot = self.residual(equation, k);
        }
    }

    /// Coefficient k of the entry at a position of the pattern of dF/dx^(derivative).
    pub fn entry(&self, derivative: usize, position: usize, k: usize) -> S {
        self.jet.root(self.first_roots[derivative] + position, k)
    }

    /// Coefficient k of all entries of dF/dx^(derivative), in the order of its pattern.
    pub fn entries(&self, derivative: usize, k: usize, into: &mut [S]) {
        let n_entries = self.patterns[derivative].n_entries();
        for (position, slot) in into.iter_mut().enumerate().take(n_entries) {
            *slot = self.entry(derivative, position, k);
        }
    }

    /// Adds the block dF_i/dx_j of the derivative array's Jacobian, entry by entry.
    ///
    /// `add(equation, unknown, value)` is called once per entry and matrix; docs/theory/jets.md (32).
    pub fn array_block(&self, i: usize, j: usize, mut add: impl FnMut(usize, usize, S)) {
        for (derivative, pattern) in self.patterns.iter().enumerate() {
            // x_j enters x^(r) at order j - r, with the factor j (j-1) ... (j-r+1).
            if j < derivative || i + derivative < j {
                continue;
            }
            let factor: f64 = (j - derivative + 1..=j).map(|n| n as f64).product();
            for (row, column, position) in pattern.iter() {
                let entry = self.entry(derivative, position, i + derivative - j);
                add(row, column, S::from(factor) * entry);
            }
        }
    }
}
