//! Equations as sums: which unknowns stand in them with a constant factor, and what else there is.

use daelight_expr::{BinaryOp, ExprId, Graph, Node, SymbolId, UnaryOp, Walker};
use daelight_lang::{Symbol, Symbols};

/// Largest number of nodes that are looked at in one sum; shared sums could be longer than the model.
const MAX_VISITS: usize = 200;

/// Constants by which an equation may be divided. Outside, the quotient would spoil the scaling.
const DIVISORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// A sum of unknowns times constants, and of other terms.
#[derive(Debug, Default)]
pub(crate) struct Affine {
    /// Unknowns or their derivatives, each once, with factors that may have cancelled to 0.
    pub(crate) terms: Vec<(SymbolId, f64)>,
    /// The other terms, with their factors.
    pub(crate) rest: Vec<(ExprId, f64)>,
}

impl Affine {
    /// Takes an expression apart; `None` when the sum is too long to look at.
    pub(crate) fn of(graph: &Graph, symbols: &Symbols, root: ExprId) -> Option<Self> {
        let mut sum = Self::default();
        let mut stack = vec![(root, 1.0)];
        let mut visits = 0;
        while let Some((id, factor)) = stack.pop() {
            visits += 1;
            if visits > MAX_VISITS {
                return None;
            }
            match graph.node(id) {
                Node::Binary(BinaryOp::Add, a, b) => stack.extend([(b, factor), (a, factor)]),
                Node::Binary(BinaryOp::Sub, a, b) => stack.extend([(b, -factor), (a, factor)]),
                Node::Unary(UnaryOp::Neg, a) => stack.push((a, -factor)),
                Node::Binary(BinaryOp::Mul, a, b) => {
                    match (graph.as_constant(a), graph.as_constant(b)) {
                        (Some(number), _) => stack.push((b, factor * number)),
                        (_, Some(number)) => stack.push((a, factor * number)),
                        _ => sum.rest.push((id, factor)),
                    }
                }
                Node::Binary(BinaryOp::Div, a, b) => match graph.as_constant(b) {
                    Some(number) if number != 0.0 => stack.push((a, factor / number)),
                    _ => sum.rest.push((id, factor)),
                },
                Node::Symbol(symbol) if is_unknown(symbols, symbol) => {
                    match sum.terms.iter_mut().find(|(other, _)| *other == symbol) {
                        Some((_, before)) => *before += factor,
                        None => sum.terms.push((symbol, factor)),
                    }
                }
                _ => sum.rest.push((id, factor)),
            }
        }
        Some(sum)
    }
}

/// Whether an equation may be solved for a term with this factor.
pub(crate) fn may_divide_by(factor: f64) -> bool {
    DIVISORS.contains(&factor.abs())
}

fn is_unknown(symbols: &Symbols, id: SymbolId) -> bool {
    matches!(symbols.get(id), Symbol::Unknown { .. })
}

/// `factor * expr`.
pub(crate) fn scaled(graph: &mut Graph, factor: f64, expr: ExprId) -> ExprId {
    let number = graph.constant(factor);
    graph.mul(number, expr)
}

/// What an expression does between the points where it is evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// It depends on parameters only, or on nothing.
    Resting,
    /// It is defined and smooth everywhere, as long as its resting parts have values.
    Smooth,
    /// It can be undefined somewhere, or have a kink.
    Rough,
}

/// Decides the manner of a sum of terms; docs/theory/system.md, section 3.
pub(crate) fn manner(
    graph: &Graph,
    symbols: &Symbols,
    walker: &mut Walker,
    terms: &[(ExprId, f64)],
) -> Manner {
    let roots: Vec<ExprId> = terms.iter().map(|&(expr, _)| expr).collect();
    let nodes = walker.reachable(graph, &roots);
    let mut manners: Vec<Manner> = Vec::with_capacity(nodes.len());
    let mut worst = Manner::Resting;
    for &id in nodes {
        // Nodes ascend, so an argument is found among those before.
        let of = |argument: ExprId| {
            let place = nodes.binary_search(&argument);
            manners[place.expect("arguments are reachable")]
        };
        let node = graph.node(id);
        let own = match node {
            Node::Constant(_) => Manner::Resting,
            Node::Symbol(symbol) => match symbols.get(symbol) {
                Symbol::Parameter(_) => Manner::Resting,
                _ => Manner::Smooth,
            },
            _ if node.arguments().all(|a| of(a) == Manner::Resting) => Manner::Resting,
            _ if is_smooth(graph, node, of) => Manner::Smooth,
            _ => Manner::Rough,
        };
        if own == Manner::Rough {
            return Manner::Rough;
        }
        if own == Manner::Smooth {
            worst = Manner::Smooth;
        }
        manners.push(own);
    }
    worst
}

/// Whether an operation keeps smooth arguments smooth, wherever they are.
fn is_smooth(graph: &Graph, node: Node, of: impl Fn(ExprId) -> Manner) -> bool {
    match node {
        Node::Constant(_) | Node::Symbol(_) => true,
        Node::Unary(op, _) => matches!(
            op,
            UnaryOp::Neg
                | UnaryOp::Exp
                | UnaryOp::Sin
                | UnaryOp::Cos
                | UnaryOp::Atan
                | UnaryOp::Sinh
                | UnaryOp::Cosh
                | UnaryOp::Tanh
        ),
        Node::Binary(op, _, b) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => true,
            BinaryOp::Div => of(b) == Manner::Resting,
            BinaryOp::Pow => graph
                .as_constant(b)
                .is_some_and(|exponent| exponent >= 0.0 && exponent.fract() == 0.0),
            _ => false,
        },
        Node::Select(condition, ..) => of(condition) == Manner::Resting,
    }
}
