//! Factors that cannot vanish.

use super::{FactorKind, Role};
use crate::tolerances::HOLDS;
use daelight_algebra::real::Univariate;
use daelight_algebra::{Budget, Monomial, Polynomial, RBig, integer, squarefree};
use daelight_expr::{ExprId, Graph, Node, SymbolId, UnaryOp, Walker};
use daelight_symbolic::{BaseAngle, GeneratorKind, Generators};

/// What values a generator or a term can take.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    const ALL: Self = Self {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    fn times(self, other: Self) -> Self {
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let corners = [
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ];
        Self {
            low: corners.iter().copied().fold(f64::INFINITY, f64::min),
            high: corners.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn power(self, exponent: u16) -> Self {
        let [a, b] = [self.low, self.high].map(|x| x.powi(exponent.into()));
        if exponent % 2 == 1 || self.low >= 0.0 {
            Self { low: a, high: b }
        } else {
            let low = if self.high <= 0.0 { b } else { 0.0 };
            Self {
                low,
                high: a.max(b),
            }
        }
    }
}

/// Where a factor can be zero.
pub(super) fn nature(
    p: &Polynomial,
    generators: &Generators,
    graph: &Graph,
    expr: ExprId,
    role: &dyn Fn(SymbolId) -> Role,
) -> FactorKind {
    let symbols = Walker::new().symbols(graph, &[expr]);
    let moves = symbols.iter().any(|&symbol| role(symbol) == Role::Variable);
    if !moves && !symbols.is_empty() {
        FactorKind::Parameter
    } else if excludes_zero(p, generators, graph, role)
        || has_real_zero(p, generators, graph, role) == Some(false)
    {
        FactorKind::NeverZero
    } else {
        FactorKind::Variable
    }
}

/// Whether the sum of the ranges of the terms, (20), does not contain 0.
fn excludes_zero(
    p: &Polynomial,
    generators: &Generators,
    graph: &Graph,
    role: &dyn Fn(SymbolId) -> Role,
) -> bool {
    // A single term is zero only where a generator is, a product of positive ones never.
    if let [(monomial, _)] = p.terms() {
        let mut variables = monomial.exponents().iter().enumerate();
        return variables.all(|(v, &e)| {
            let expr = generators.expr(v);
            let chosen = chosen_numbers(graph, expr, role);
            e == 0
                || is_positive(graph.node(expr))
                || (!chosen.is_empty() && !chosen.contains(&0.0))
        });
    }
    let mut sum = Range {
        low: 0.0,
        high: 0.0,
    };
    let mut size = 0.0;
    for (monomial, coefficient) in p.terms() {
        let number = integer::to_f64(coefficient);
        let term = term_range(monomial, generators, graph, role).times(Range {
            low: number,
            high: number,
        });
        sum.low += term.low;
        sum.high += term.high;
        for bound in [term.low, term.high] {
            if bound.is_finite() {
                size += bound.abs();
            }
        }
    }
    let margin = HOLDS * size;
    sum.low > margin || sum.high < -margin
}

/// Whether a factor has a real zero that holds one quantity that moves, or cosine and sine of one angle, beside numbers and
/// parameters at their values: (20a). `None` for other factors.
fn has_real_zero(
    p: &Polynomial,
    generators: &Generators,
    graph: &Graph,
    role: &dyn Fn(SymbolId) -> Role,
) -> Option<bool> {
    let resting = |v: usize| match graph.node(generators.expr(v)) {
        Node::Constant(bits) => integer::decimal(f64::from_bits(bits)),
        Node::Symbol(symbol) => match role(symbol) {
            Role::Parameter(value) => integer::decimal(value),
            Role::Variable => None,
        },
        _ => None,
    };
    let moving = p.variables().into_iter().filter(|&v| resting(v).is_none());
    let moving: Vec<usize> = moving.collect();
    let angle = |&v: &usize| match *generators.kind(v) {
        GeneratorKind::Cosine(angle) | GeneratorKind::Sine(angle) => Some(angle),
        _ => None,
    };
    let quantity = match (moving.first().and_then(angle), &moving[..]) {
        (Some(first), all) if all.iter().all(|v| angle(v) == Some(first)) => {
            Quantity::BaseAngle(generators.angles()[first])
        }
        (None, &[one]) => Quantity::Generator(one),
        _ => return None,
    };
    let f = quantity.polynomial(p, |v| resting(v).unwrap_or(RBig::ZERO))?;
    if f.is_zero() {
        return Some(true);
    }
    let parts = squarefree(&f.to_polynomial());
    let simple = (parts.factors.iter()).fold(Polynomial::one(), |a, f| &a * &f.polynomial);
    let simple = Univariate::from_polynomial(&simple);
    let roots = simple.real_roots(&Budget::default()).ok()?;
    Some(!roots.is_empty())
}

/// What moves in a factor.
enum Quantity {
    Generator(usize),
    BaseAngle(BaseAngle),
}

impl Quantity {
    /// Highest degree that is looked at.
    const MOST_DEGREE: u16 = 40;

    /// The factor as a polynomial of the generator, or of the tangent of half the angle, times a positive function; `None` where it
    /// vanishes at half a turn, where that tangent has no value.
    fn polynomial(&self, p: &Polynomial, value: impl Fn(usize) -> RBig) -> Option<Univariate> {
        let own = match self {
            Self::Generator(v) => [*v, *v],
            Self::BaseAngle(angle) => [angle.cosine, angle.sine],
        };
        let degree = own.map(|v| p.degree(v));
        let degree = degree[0].saturating_add(degree[1]);
        if degree > Self::MOST_DEGREE {
            return None;
        }
        // t for the generator; 1 - t^2, 2 t and 1 + t^2 for cosine, sine and 1.
        let t = Polynomial::variable(0);
        let (square, one) = (t.pow(2), Polynomial::one());
        let (cosine, sine, unit) = (&one - &square, &t + &t, &one + &square);
        let mut sum: Vec<RBig> = Vec::new();
        for (monomial, coefficient) in p.terms() {
            let exponent = |v: usize| monomial.exponents().get(v).copied().unwrap_or(0);
            let mut number = RBig::from(coefficient.clone());
            for (v, &e) in monomial.exponents().iter().enumerate() {
                if e > 0 && !own.contains(&v) {
                    number *= value(v).pow(e as isize);
                }
            }
            let [i, j] = own.map(exponent);
            let part = match self {
                Self::Generator(_) => t.pow(i.into()),
                Self::BaseAngle(_) => {
                    let rest = unit.pow((degree - i - j).into());
                    &(&cosine.pow(i.into()) * &sine.pow(j.into())) * &rest
                }
            };
            for (power, c) in part.coefficients(0).iter().enumerate() {
                sum.resize(sum.len().max(power + 1), RBig::ZERO);
                sum[power] += &number * RBig::from(c.as_constant()?);
            }
        }
        let at_half_turn = matches!(self, Self::BaseAngle(_))
            && sum
                .get(2 * usize::from(degree))
                .is_none_or(|c| *c == RBig::ZERO);
        (!at_half_turn).then(|| Univariate::of_rationals(&sum))
    }
}

fn term_range(
    monomial: &Monomial,
    generators: &Generators,
    graph: &Graph,
    role: &dyn Fn(SymbolId) -> Role,
) -> Range {
    let mut range = Range {
        low: 1.0,
        high: 1.0,
    };
    for (variable, &exponent) in monomial.exponents().iter().enumerate() {
        if exponent > 0 {
            let expr = generators.expr(variable);
            let base = match generators.kind(variable) {
                GeneratorKind::Cosine(_) | GeneratorKind::Sine(_) => Range {
                    low: -1.0,
                    high: 1.0,
                },
                _ => match chosen_numbers(graph, expr, role)[..] {
                    [] => node_range(graph.node(expr), role),
                    ref chosen => Range {
                        low: chosen.iter().copied().fold(f64::INFINITY, f64::min),
                        high: chosen.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    },
                },
            };
            range = range.times(base.power(exponent));
        }
    }
    range
}

fn node_range(node: Node, role: &dyn Fn(SymbolId) -> Role) -> Range {
    match node {
        Node::Constant(bits) => {
            let value = f64::from_bits(bits);
            Range {
                low: value,
                high: value,
            }
        }
        Node::Symbol(symbol) => match role(symbol) {
            Role::Parameter(value) if value.is_finite() => Range {
                low: value,
                high: value,
            },
            _ => Range::ALL,
        },
        Node::Unary(op, _) => match op {
            UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tanh | UnaryOp::Sign => Range {
                low: -1.0,
                high: 1.0,
            },
            UnaryOp::Exp | UnaryOp::Sqrt | UnaryOp::Abs => Range {
                low: 0.0,
                high: f64::INFINITY,
            },
            UnaryOp::Cosh => Range {
                low: 1.0,
                high: f64::INFINITY,
            },
            _ => Range::ALL,
        },
        _ => Range::ALL,
    }
}

/// The values of an `if` whose branches are numbers and parameters, such as a resistance that is small or large; none otherwise.
fn chosen_numbers(graph: &Graph, expr: ExprId, role: &dyn Fn(SymbolId) -> Role) -> Vec<f64> {
    let value = |symbol: SymbolId| match role(symbol) {
        Role::Parameter(value) => value,
        _ => f64::NAN,
    };
    let mut pending = match graph.node(expr) {
        Node::Select(_, yes, no) => vec![yes, no],
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    while let Some(branch) = pending.pop() {
        match graph.node(branch) {
            Node::Select(_, yes, no) => pending.extend([yes, no]),
            _ => found.extend(graph.evaluate(&[branch], value)),
        }
    }
    match found.iter().all(|value| value.is_finite()) {
        true => found,
        false => Vec::new(),
    }
}

fn is_positive(node: Node) -> bool {
    match node {
        Node::Constant(bits) => f64::from_bits(bits) != 0.0,
        Node::Unary(op, _) => matches!(op, UnaryOp::Exp | UnaryOp::Cosh),
        _ => false,
    }
}
