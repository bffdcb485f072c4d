//! The sides of branches, held the same in the residuals and in the system Jacobian.

use super::Stages;
use crate::problem::Problem;
use daelight_expr::{JetEvaluator, Node, PackedJet, Values};
use std::cmp::Ordering;

impl Stages<'_> {
    /// Number of branches of the model.
    pub fn n_branches(&self) -> usize {
        self.jet.tape().branches().len()
    }

    /// The sides of the branches.
    pub fn sides(&self) -> &[Ordering] {
        self.jet.branches().sides()
    }

    /// Lets the sides follow the values, or holds them.
    pub fn hold(&mut self, held: bool) {
        self.jet.branches_mut().hold(held);
        self.jacobian.branches_mut().hold(held);
        if held {
            for (branch, same) in self.same_branch.iter().enumerate() {
                if let Some(same) = same {
                    let side = self.jet.branches().sides()[*same];
                    self.jacobian.branches_mut().choose(branch, side);
                }
            }
        }
    }

    /// Puts a held branch on a side.
    pub fn choose(&mut self, branch: usize, side: Ordering) {
        self.jet.branches_mut().choose(branch, side);
        self.hold(true);
    }

    /// Coefficients of the quantity that decides a branch, from the last expansion.
    pub fn switching(&self, branch: usize, into: &mut [f64]) {
        for (order, place) in into.iter_mut().enumerate() {
            *place = self.jet.switching(branch, order);
        }
    }

    /// Number of coefficients of [`Stages::switching`].
    pub fn n_switching(&self) -> usize {
        self.n_stages + 1
    }
}

/// Pairs the branches of both tapes that look at the same quantity.
pub(super) fn same_branches(
    problem: &Problem,
    jet: &PackedJet,
    jacobian: &Values,
) -> Vec<Option<usize>> {
    let graph = problem.equations().graph();
    let operands = |expr| match graph.node(expr) {
        Node::Unary(_, a) => (Some(a), None),
        Node::Binary(_, a, b) => (Some(a), Some(b)),
        _ => (None, None),
    };
    let known: Vec<_> = jet.tape().branches().map(operands).collect();
    jacobian
        .tape()
        .branches()
        .map(|expr| known.iter().position(|&other| other == operands(expr)))
        .collect()
}
