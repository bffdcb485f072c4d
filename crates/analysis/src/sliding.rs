//! Equations of a sliding motion: on a switching surface a branch is replaced by a mixture of its two sides, and the surface is one
//! equation more; on several at once, each is.
//!
//! (R17) of `docs/theory/runs.md`, after A. F. Filippov (1988).

use crate::equations::Equations;
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, UnaryOp, Walker};
use daelight_lang::{Symbol, Symbols};
use std::sync::Arc;

impl Equations {
    /// The same equations on the switching surfaces of some branches, and what has become of other expressions there: the last
    /// unknowns are the shares of the sides on which relations hold or signs are 1, and the last equations the surfaces.
    ///
    /// `None` where one of the branches enters other than through `sign` or as the condition of an `if`.
    pub fn on_surfaces(
        &self,
        branches: &[ExprId],
        others: &[ExprId],
    ) -> Option<(Self, Vec<ExprId>)> {
        let mut graph = Graph::clone(self.graph());
        let mut symbols = Symbols::clone(self.symbols());
        let variables = self.variables().extended(branches.len());
        let n_residuals = self.residuals().len();
        // The surfaces hold other branches, perhaps; so they are mixed like the equations, one after the other.
        let mut roots = [self.residuals(), branches, others].concat();
        let mut surfaces = Vec::with_capacity(branches.len());
        for k in 0..branches.len() {
            let surface = operands(&graph, roots[n_residuals + k])?;
            let share = symbols.id(Symbol::Unknown {
                unknown: self.variables().n_unknowns() + k,
                order: 0,
            });
            let share = graph.symbol(share);
            let surfaces_then = surfaces.len();
            roots.append(&mut surfaces);
            roots = replaced(&mut graph, &roots, surface, share)?;
            surfaces = roots.split_off(roots.len() - surfaces_then);
            surfaces.push(match surface {
                (a, None) => a,
                (a, Some(b)) => graph.sub(a, b),
            });
        }
        let images = roots.split_off(n_residuals + branches.len());
        roots.truncate(n_residuals);
        roots.append(&mut surfaces);
        let n = self.n_unknowns() + branches.len();
        let matrices = graph.jacobians(&roots, n, |id| variables.slot(&symbols, id));
        let equations = Self::new(
            Arc::new(graph),
            Arc::new(symbols),
            variables,
            roots,
            matrices,
            self.n_parameters(),
        );
        Some((equations, images))
    }
}

/// What a branch that can slide compares; `None` for other nodes.
fn operands(graph: &Graph, branch: ExprId) -> Option<(ExprId, Option<ExprId>)> {
    match graph.node(branch) {
        Node::Unary(UnaryOp::Sign, a) => Some((a, None)),
        Node::Binary(
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual,
            a,
            b,
        ) => {
            // `v > 0` and `sign(v)` are on one surface.
            let is_zero =
                matches!(graph.node(b), Node::Constant(bits) if f64::from_bits(bits) == 0.0);
            Some((a, (!is_zero).then_some(b)))
        }
        _ => None,
    }
}

/// Whether a relation holds where left minus right is positive.
fn holds_above(graph: &Graph, relation: ExprId) -> bool {
    matches!(
        graph.node(relation),
        Node::Binary(BinaryOp::Greater | BinaryOp::GreaterEqual, ..)
    )
}

/// The expressions with all branches on one surface replaced by mixtures; `None` if one enters in another way.
fn replaced(
    graph: &mut Graph,
    roots: &[ExprId],
    surface: (ExprId, Option<ExprId>),
    share: ExprId,
) -> Option<Vec<ExprId>> {
    let mut image: FastMap<ExprId, ExprId> = FastMap::default();
    let one = graph.constant(1.0);
    let rest = graph.sub(one, share);
    let is_switch = |graph: &Graph, id: ExprId| operands(graph, id) == Some(surface);
    for id in Walker::new().reachable(graph, roots).to_vec() {
        let node = graph.node(id);
        let new = match node {
            Node::Constant(_) | Node::Symbol(_) => id,
            // The share is that of the positive side.
            Node::Unary(UnaryOp::Sign, _) if is_switch(graph, id) => graph.sub(share, rest),
            Node::Select(condition, a, b) if is_switch(graph, condition) => {
                let (a, b) = (image[&a], image[&b]);
                let (above, below) = if holds_above(graph, condition) {
                    (a, b)
                } else {
                    (b, a)
                };
                let above = graph.mul(share, above);
                let below = graph.mul(rest, below);
                graph.add(above, below)
            }
            // A relation itself stays; whoever else reads it cannot be mixed.
            _ if is_switch(graph, id) => id,
            _ if node.arguments().any(|argument| {
                is_switch(graph, argument) && !matches!(graph.node(argument), Node::Unary(..))
            }) =>
            {
                return None;
            }
            Node::Unary(op, a) => graph.unary(op, image[&a]),
            Node::Binary(op, a, b) => graph.binary(op, image[&a], image[&b]),
            Node::Select(c, a, b) => graph.select(image[&c], image[&a], image[&b]),
        };
        image.insert(id, new);
    }
    Some(roots.iter().map(|root| image[root]).collect())
}
