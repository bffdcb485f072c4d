//! The sides of branches, held the same in the residuals and in the system Jacobian.

use super::Stages;
use crate::tolerances::SIDE_VALUE;
use crate::watch::branches::BranchFunctions;
use daelight_expr::{BinaryOp, Graph, JetEvaluator, Node, Slot, Tape, Walker};
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

    /// Lets the sides follow the values, all but some that stay held.
    pub fn release(&mut self, kept: &[usize]) {
        for &branch in kept {
            let side = self.sides()[branch];
            self.pin(branch, Some(side));
        }
        self.hold(false);
    }

    /// Holds the sides where the values have led them.
    pub fn hold_again(&mut self, kept: &[usize]) {
        for &branch in kept {
            self.pin(branch, None);
        }
        self.hold(true);
    }

    fn pin(&mut self, branch: usize, side: Option<Ordering>) {
        self.jet.branches_mut().pin(branch, side);
        for (other, same) in self.same_branch.iter().enumerate() {
            if *same == Some(branch) {
                self.jacobian.branches_mut().pin(other, side);
            }
        }
    }

    /// Whether a branch jumps at its switching surface; otherwise it has a kink there.
    pub fn jumps(&self, branch: usize) -> bool {
        self.jet.tape().jumps(branch)
    }

    /// A coefficient of the function that decides a branch, from the last expansion, and the size of its operands.
    pub fn switching(&self, branch: usize, order: usize) -> (f64, f64) {
        let (left, right) = match self.jet.compared(branch, order) {
            // With the sides held a root may have no value beside its zero; as it is written it has one.
            (left, right) if order == 0 && (left + right).is_nan() => {
                self.compared_as_written(branch)
            }
            known => known,
        };
        (left - right, left.abs() + right.abs())
    }

    /// What decides a branch at the present point, as it is written; 0 for what has no value.
    fn compared_as_written(&self, branch: usize) -> (f64, f64) {
        let equations = self.problem.equations();
        let graph = equations.graph();
        let inputs = self.jet.inputs();
        let value = |symbol| match equations.slot(symbol) {
            Slot::Variable { index, order } => {
                let factorial: f64 = (1..=order).map(f64::from).product();
                inputs.row(order as usize)[index as usize] * factorial
            }
            Slot::Parameter(index) => inputs.parameters()[index as usize],
            Slot::Time => inputs.time(),
            _ => f64::NAN,
        };
        let expr = self.jet.tape().branches().nth(branch);
        match expr.map(|expr| graph.node(expr)) {
            Some(Node::Unary(_, a)) => (graph.evaluate(&[a], value)[0], 0.0),
            Some(Node::Binary(_, a, b)) => {
                let both = graph.evaluate(&[a, b], value);
                (both[0], both[1])
            }
            _ => (f64::NAN, f64::NAN),
        }
    }

    /// The side on which a branch has the value that the text gives it where both sides are equal; none for `sign`.
    pub fn side_at_equality(&self, branch: usize) -> Ordering {
        let graph = self.problem.equations().graph();
        let expr = self.jet.tape().branches().nth(branch);
        match expr.map(|expr| graph.node(expr)) {
            Some(Node::Binary(BinaryOp::Less | BinaryOp::GreaterEqual, _, _)) => Ordering::Greater,
            Some(Node::Binary(BinaryOp::LessEqual | BinaryOp::Greater, _, _)) => Ordering::Less,
            _ => Ordering::Equal,
        }
    }

    /// Where among the coefficients of a point the state is that a branch compares with something at rest, and its coefficient on the
    /// surface; `None` where the branch looks at anything else.
    pub fn on_surface(&self, branch: usize) -> Option<(usize, f64)> {
        let equations = self.problem.equations();
        let graph = equations.graph();
        let (left, right) = self.jet.compared(branch, 0);
        let state = |expr| match equations.slot(graph.as_symbol(expr)?) {
            Slot::Variable { index, order } => Some((index as usize, order as usize)),
            _ => None,
        };
        let rests = |expr| {
            let read = Walker::new().symbols(graph, &[expr]);
            let mut read = read.into_iter().map(|symbol| equations.slot(symbol));
            read.all(|slot| matches!(slot, Slot::Parameter(_)))
        };
        let ((index, order), value) = match graph.node(self.jet.tape().branches().nth(branch)?) {
            Node::Unary(_, a) => (state(a)?, 0.0),
            Node::Binary(_, a, b) if rests(b) => (state(a)?, right),
            Node::Binary(_, a, b) if rests(a) => (state(b)?, left),
            _ => return None,
        };
        let factorial: f64 = (1..=order).map(|f| f as f64).product();
        let is_state = order < self.problem.unknown_offset(index);
        is_state.then_some((order * self.n + index, value / factorial))
    }

    /// Keeps the size of what decided a branch before it came to its surface: there its operands may be nothing but what the
    /// located zero is off by.
    pub fn note_size(&mut self, branch: usize, size: f64) {
        self.crossed[branch] = size;
    }

    /// What was kept of a branch; 0 if it is not on its surface.
    pub fn noted_size(&self, branch: usize) -> f64 {
        self.crossed[branch]
    }

    /// The side of a root that a branch does not take while what it looks at rests at zero, and what counts as zero there.
    pub fn root_beside(&self, branch: usize, (value, size): (f64, f64)) -> Option<(Ordering, f64)> {
        let held = self.sides()[branch];
        let root = self
            .problem
            .root_side(branch)
            .filter(|root| *root != held)?;
        let rests = SIDE_VALUE * size.max(self.noted_size(branch));
        (value.abs() <= rests).then_some((root, rests))
    }

    /// The unknowns, and orders of their derivatives, that rest beside roots at the point of the last evaluation.
    pub fn resting_beside_roots(&self) -> Vec<(usize, usize)> {
        let branches = 0..self.n_branches();
        let resting = branches.filter(|&branch| {
            self.root_beside(branch, self.switching(branch, 0))
                .is_some()
        });
        let read = resting.flat_map(|branch| BranchFunctions::reads(&self.problem, branch));
        read.collect()
    }

    /// Forgets where branches are.
    pub fn forget_surfaces(&mut self) {
        self.crossed.fill(0.0);
    }

    /// Number of coefficients of [`Stages::switching`].
    pub fn n_switching(&self) -> usize {
        self.n_stages + 1
    }
}

/// For each branch of a tape the one of a known tape that looks at the same quantity.
pub(crate) fn same_branches(graph: &Graph, known: &Tape, tape: &Tape) -> Vec<Option<usize>> {
    let operands = |expr| match graph.node(expr) {
        Node::Unary(_, a) => (Some(a), None),
        Node::Binary(_, a, b) => (Some(a), Some(b)),
        _ => (None, None),
    };
    let known: Vec<_> = known.branches().map(operands).collect();
    tape.branches()
        .map(|expr| known.iter().position(|&other| other == operands(expr)))
        .collect()
}
