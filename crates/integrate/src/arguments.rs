//! Arguments that must not vanish: denominators, radicands, arguments of logarithms and the like.
//!
//! Where one of them goes to zero an equation loses its value or its smoothness, whatever the determinants say. They are
//! watched along the run like determinants; section 4 of `docs/theory/integration.md`.

use daelight_analysis::{Equations, PlacedRoot};
use daelight_expr::{
    BinaryOp, ExprId, FastMap, Graph, Interval, Node, Scalar, Slot, Tape, UnaryOp, Walker,
};

/// What becomes zero where an operation has no value, or no derivative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Form {
    /// The argument of 1/a or of a negative power.
    Denominator,
    /// The argument of a root, of a logarithm or of a broken power.
    Radicand,
    /// 1 - a^2, for inverse sines and cosines.
    Sine,
    /// cos(a), for tangents.
    Tangent,
    /// r (r + b) with r^2 = a^2 + b^2, for the angle of (b, a): it vanishes where the angle jumps by a turn, and at the origin.
    Angle(ExprId),
}

/// An operation whose argument must not vanish.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The operation, such as `sqrt(x)` or `1/x`.
    pub operation: ExprId,
    /// The argument that decides.
    pub argument: ExprId,
    /// The equations that hold the operation.
    pub equations: Vec<usize>,
    form: Form,
    /// Where the tape of all arguments has this one.
    root: usize,
}

impl Argument {
    /// Whether the operation has no value on one side of the zero, or is not the analytic one there.
    pub(crate) fn is_edge(&self) -> bool {
        matches!(self.form, Form::Radicand | Form::Sine | Form::Angle(_))
    }

    /// The quantity that vanishes, from the roots of the tape of all arguments.
    pub(crate) fn quantity(&self, roots: &[f64]) -> f64 {
        let argument = roots[self.root];
        match self.form {
            Form::Denominator | Form::Radicand => argument,
            Form::Sine => (1.0 - argument) * (1.0 + argument),
            Form::Tangent => argument.cos(),
            Form::Angle(_) => match roots[self.root + 1] {
                // Without cancellation on either side.
                b if b < 0.0 => {
                    let r = argument.hypot(b);
                    r * argument * argument / (r - b)
                }
                b => argument.hypot(b) * (argument.hypot(b) + b),
            },
        }
    }

    /// Whether the quantity may vanish where the roots are within intervals.
    pub(crate) fn may_vanish(&self, root: impl Fn(usize) -> Interval) -> bool {
        let argument = root(self.root);
        match self.form {
            Form::Denominator | Form::Radicand => argument.may_be(0.0),
            Form::Sine => argument.may_be(1.0) || argument.may_be(-1.0),
            Form::Tangent => argument.unary(UnaryOp::Cos).may_be(0.0),
            Form::Angle(_) => argument.may_be(0.0),
        }
    }

    /// The quantity that vanishes, in terms of the text of the argument.
    pub fn locus(&self, argument: &str) -> String {
        match self.form {
            Form::Angle(_) => argument.to_string(),
            Form::Denominator | Form::Radicand => argument.to_string(),
            Form::Sine => format!("1 - ({argument})^2"),
            Form::Tangent => format!("cos({argument})"),
        }
    }

    /// What the quantity is to the operation, in words.
    pub fn role(&self) -> &'static str {
        match self.form {
            Form::Denominator => "the denominator",
            Form::Radicand => "the argument",
            Form::Sine => "the distance from 1 of the argument",
            Form::Tangent => "the cosine",
            Form::Angle(_) => "at a jump, the first argument",
        }
    }
}

/// The argument of an operation that must not vanish.
fn critical(graph: &Graph, node: Node) -> Option<(ExprId, Form)> {
    match node {
        Node::Unary(UnaryOp::Sqrt | UnaryOp::Log | UnaryOp::Log10, a) => Some((a, Form::Radicand)),
        Node::Unary(UnaryOp::Asin | UnaryOp::Acos, a) => Some((a, Form::Sine)),
        Node::Unary(UnaryOp::Tan, a) => Some((a, Form::Tangent)),
        Node::Binary(BinaryOp::Atan2, a, b) => Some((a, Form::Angle(b))),
        Node::Binary(BinaryOp::Div, _, b) => Some((b, Form::Denominator)),
        Node::Binary(BinaryOp::Pow, a, b) => match graph.as_constant(b) {
            Some(power) if power.fract() == 0.0 => (power < 0.0).then_some((a, Form::Denominator)),
            _ => Some((a, Form::Radicand)),
        },
        _ => None,
    }
}

/// The argument of a root, of a broken power or of a logarithm.
pub(crate) fn radicand(graph: &Graph, node: Node) -> Option<ExprId> {
    let (argument, form) = critical(graph, node)?;
    (form == Form::Radicand).then_some(argument)
}

/// All arguments of some equations that must not vanish and may do so, each once, and one tape for all of them.
///
/// What stands in a branch of an `if` is left out, since the condition usually guards it, but for roots that no condition looks at.
pub(crate) fn critical_arguments(
    equations: &Equations,
    unguarded: Option<(Graph, Vec<PlacedRoot>)>,
) -> (Vec<Argument>, Tape) {
    let graph = equations.graph();
    let mut found: Vec<Argument> = Vec::new();
    let mut compiled = Vec::new();
    let mut places: FastMap<(ExprId, Form), usize> = FastMap::default();
    let mut walker = Walker::new();
    let mut stack = Vec::new();
    for (equation, &residual) in equations.residuals().iter().enumerate() {
        let mut seen: FastMap<(ExprId, bool), ()> = FastMap::default();
        stack.push((residual, false));
        while let Some((id, decides)) = stack.pop() {
            if seen.insert((id, decides), ()).is_some() {
                continue;
            }
            let node = graph.node(id);
            match node {
                Node::Select(condition, ..) => stack.push((condition, true)),
                _ => stack.extend(node.arguments().map(|argument| (argument, decides))),
            }
            let Some(key) = critical(graph, node) else {
                continue;
            };
            if decides && key.1 == Form::Radicand && graph.is_size(key.0) {
                continue;
            }
            let varies = |symbol| !matches!(equations.slot(symbol), Slot::Parameter(_));
            let roots = match key.1 {
                Form::Angle(other) => vec![key.0, other],
                _ => vec![key.0],
            };
            if !walker.symbols(graph, &roots).into_iter().any(varies) {
                continue;
            }
            let place = *places.entry(key).or_insert_with(|| {
                found.push(Argument {
                    operation: id,
                    argument: key.0,
                    equations: Vec::new(),
                    form: key.1,
                    root: compiled.len(),
                });
                compiled.extend(roots);
                found.len() - 1
            });
            let list = &mut found[place].equations;
            if list.last() != Some(&equation) {
                list.push(equation);
            }
        }
    }
    let Some((mut graph, unguarded)) = unguarded else {
        return (found, equations.compile(&compiled));
    };
    for root in unguarded {
        let Some(taken) = root.taken else { continue };
        // Where it is not taken it is away from zero.
        let one = graph.constant(1.0);
        let watched = graph.select(taken, root.argument, one);
        found.push(Argument {
            operation: root.operation,
            argument: root.argument,
            equations: vec![root.equation],
            form: Form::Radicand,
            root: compiled.len(),
        });
        compiled.push(watched);
    }
    (found, equations.compile_in(&graph, &compiled))
}
