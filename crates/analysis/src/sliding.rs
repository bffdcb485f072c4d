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
            let surface = Surface::of(&mut graph, roots[n_residuals + k])?;
            let share = symbols.id(Symbol::Unknown {
                unknown: self.variables().n_unknowns() + k,
                order: 0,
            });
            let share = graph.symbol(share);
            let surfaces_then = surfaces.len();
            roots.append(&mut surfaces);
            roots = replaced(&mut graph, &roots, surface, share)?;
            surfaces = roots.split_off(roots.len() - surfaces_then);
            surfaces.push(surface.zero);
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

/// A switching surface: where an expression vanishes.
#[derive(Clone, Copy)]
struct Surface {
    zero: ExprId,
    /// Whether what is compared is positive where the expression is negative.
    is_flipped: bool,
}

impl Surface {
    /// The surface of a branch that can slide, in one form however it is written: `v > 0`, `0 < v`, `-2*v < 0` and `sign(v)` have one.
    /// `None` for other nodes.
    fn of(graph: &mut Graph, branch: ExprId) -> Option<Self> {
        let mut zero = match graph.node(branch) {
            Node::Unary(UnaryOp::Sign, a) => a,
            Node::Binary(
                BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual,
                a,
                b,
            ) => graph.sub(a, b),
            _ => return None,
        };
        let mut is_flipped = false;
        // Each turn leads to an older expression, or to one whose operands are in order.
        loop {
            let factor = |id| graph.as_constant(id).filter(|c| *c != 0.0 && c.is_finite());
            (zero, is_flipped) = match graph.node(zero) {
                Node::Unary(UnaryOp::Neg, a) => (a, !is_flipped),
                Node::Binary(BinaryOp::Mul, a, b) => match (factor(a), factor(b)) {
                    (Some(c), _) => (b, is_flipped != (c < 0.0)),
                    (_, Some(c)) => (a, is_flipped != (c < 0.0)),
                    _ => break,
                },
                Node::Binary(BinaryOp::Div, a, b) => match factor(b) {
                    Some(c) => (a, is_flipped != (c < 0.0)),
                    None => break,
                },
                // Of both differences the one of the older operand.
                Node::Binary(BinaryOp::Sub, a, b) if b < a => (graph.sub(b, a), !is_flipped),
                _ => break,
            };
        }
        Some(Self { zero, is_flipped })
    }

    /// Whether a branch on the surface is true, or 1, where the expression is positive.
    fn holds_above(self, graph: &Graph, branch: ExprId) -> bool {
        let is_below = matches!(
            graph.node(branch),
            Node::Binary(BinaryOp::Less | BinaryOp::LessEqual, ..)
        );
        is_below == self.is_flipped
    }
}

/// The expressions with all branches on one surface replaced by mixtures; `None` if one enters in another way.
fn replaced(
    graph: &mut Graph,
    roots: &[ExprId],
    surface: Surface,
    share: ExprId,
) -> Option<Vec<ExprId>> {
    let mut image: FastMap<ExprId, ExprId> = FastMap::default();
    let one = graph.constant(1.0);
    let rest = graph.sub(one, share);
    let nodes = Walker::new().reachable(graph, roots).to_vec();
    // The branches on the surface, and whether they hold where its expression is positive.
    let mut switches: FastMap<ExprId, bool> = FastMap::default();
    for &id in &nodes {
        let own = Surface::of(graph, id).filter(|own| own.zero == surface.zero);
        if let Some(own) = own {
            switches.insert(id, own.holds_above(graph, id));
        }
    }
    for id in nodes {
        let node = graph.node(id);
        let new = match node {
            Node::Constant(_) | Node::Symbol(_) => id,
            // The share is that of the positive side.
            Node::Unary(UnaryOp::Sign, _) if switches.contains_key(&id) => match switches[&id] {
                true => graph.sub(share, rest),
                false => graph.sub(rest, share),
            },
            Node::Select(condition, a, b) if switches.contains_key(&condition) => {
                let (a, b) = (image[&a], image[&b]);
                let (above, below) = if switches[&condition] { (a, b) } else { (b, a) };
                let above = graph.mul(share, above);
                let below = graph.mul(rest, below);
                graph.add(above, below)
            }
            // A relation itself stays; whoever else reads it cannot be mixed.
            _ if switches.contains_key(&id) => id,
            _ if node.arguments().any(|argument| {
                let is_switch = switches.contains_key(&argument);
                is_switch && !matches!(graph.node(argument), Node::Unary(..))
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
