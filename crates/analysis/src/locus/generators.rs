//! The generators that entries are polynomials of, and the relations between them.

use daelight_algebra::{Fraction, IBig, Monomial, Polynomial, integer};
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, TooLong, UnaryOp, number};

/// What a generator is to the algebra.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// A symbol, or an expression that nothing is known about.
    Free,
    /// The cosine of a base angle.
    Cosine(usize),
    /// The sine of a base angle; its square is 1 minus that of the cosine.
    Sine(usize),
    /// A square root: scale * r^2 = radicand.
    Root { radicand: Polynomial, scale: IBig },
}

/// A generator with what it stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Generator {
    /// The expression, for its value.
    pub expr: ExprId,
    /// Sine or cosine of a number, which the expression has only as a rounded value.
    pub(super) number: Option<(UnaryOp, f64)>,
    pub(super) kind: Kind,
}

impl Generator {
    /// Whether it is a cosine or a sine.
    pub fn is_circular(&self) -> bool {
        matches!(self.kind, Kind::Cosine(_) | Kind::Sine(_))
    }

    /// The text of the generator as a factor of a product.
    pub(super) fn text(
        &self,
        graph: &Graph,
        limit: usize,
        name: impl FnMut(SymbolId, &mut String),
    ) -> Result<String, TooLong> {
        if let Some((op, argument)) = self.number {
            let function = if op == UnaryOp::Sin { "sin" } else { "cos" };
            return Ok(format!("{function}({})", number(argument)));
        }
        let text = graph.modelica(self.expr, limit, name)?;
        Ok(if needs_parentheses(graph, self.expr) {
            format!("({text})")
        } else {
            text
        })
    }
}

/// A base angle with the numbers of its generators.
#[derive(Clone, Copy)]
pub(super) struct Angle {
    base: ExprId,
    over: u32,
    pub(super) cosine: usize,
    pub(super) sine: usize,
}

impl Angle {
    /// A positive multiple of the angle.
    pub(super) fn multiple(&self, graph: &mut Graph, multiple: u32) -> ExprId {
        multiple_of(graph, self.base, multiple, self.over)
    }
}

/// `multiple * base / over` in lowest terms.
pub(super) fn multiple_of(graph: &mut Graph, base: ExprId, multiple: u32, over: u32) -> ExprId {
    let (mut a, mut b) = (multiple, over);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let common = a.max(1);
    let top = graph.constant((multiple / common).into());
    let product = graph.mul(top, base);
    let bottom = graph.constant((over / common).into());
    graph.div(product, bottom)
}

/// All generators of one block.
#[derive(Default)]
pub(super) struct Generators {
    pub(super) list: Vec<Generator>,
    numbers: FastMap<ExprId, usize>,
    angles: Vec<Angle>,
    angle_numbers: FastMap<ExprId, usize>,
}

impl Generators {
    pub(super) fn angles(&self) -> &[Angle] {
        &self.angles
    }

    pub(super) fn kind(&self, variable: usize) -> &Kind {
        &self.list[variable].kind
    }

    pub(super) fn expr(&self, variable: usize) -> ExprId {
        self.list[variable].expr
    }

    pub(super) fn into_list(self) -> Vec<Generator> {
        self.list
    }

    /// The number of a generator, which is made when it is new.
    pub(super) fn number(&mut self, expr: ExprId, kind: impl FnOnce() -> Kind) -> usize {
        if let Some(&number) = self.numbers.get(&expr) {
            return number;
        }
        let number = self.list.len();
        self.list.push(Generator {
            expr,
            number: None,
            kind: kind(),
        });
        self.numbers.insert(expr, number);
        number
    }

    /// The base angle `base / over`, with its cosine and sine.
    pub(super) fn angle(&mut self, graph: &mut Graph, base: ExprId, over: u32) -> Angle {
        let argument = multiple_of(graph, base, 1, over);
        if let Some(&angle) = self.angle_numbers.get(&argument) {
            return self.angles[angle];
        }
        let angle = self.angles.len();
        let [cosine, sine] = [
            (UnaryOp::Cos, Kind::Cosine(angle)),
            (UnaryOp::Sin, Kind::Sine(angle)),
        ]
        .map(|(op, kind)| {
            let expr = graph.unary(op, argument);
            let number = self.list.len();
            // The sine of a number is a number to the graph; here it keeps its relation to the cosine.
            let argument = graph.as_constant(argument).map(|value| (op, value));
            if argument.is_none() {
                self.numbers.insert(expr, number);
            }
            self.list.push(Generator {
                expr,
                number: argument,
                kind,
            });
            number
        });
        self.angles.push(Angle {
            base,
            over,
            cosine,
            sine,
        });
        self.angle_numbers.insert(argument, angle);
        self.angles[angle]
    }

    /// The normal form modulo the relations, and the number it was multiplied by to stay over the integers: (11).
    pub(super) fn reduce(&self, p: &Polynomial) -> (Polynomial, IBig) {
        let mut result = p.clone();
        let mut scale = IBig::ONE;
        // A radicand holds older generators only, so the youngest root goes first.
        for (number, generator) in self.list.iter().enumerate().rev() {
            if let Kind::Root { radicand, scale: d } = &generator.kind
                && result.degree(number) >= 2
            {
                let half = u32::from(result.degree(number) / 2);
                result = reduce_square(&result, number, radicand, d);
                scale *= d.pow(half as usize);
            }
        }
        for angle in &self.angles {
            result = eliminate_square(&result, angle.sine, angle.cosine);
        }
        (result, scale)
    }

    /// The normal form of a quotient; `None` when the denominator is 0.
    pub(super) fn reduce_fraction(&self, q: &Fraction) -> Option<Fraction> {
        let (numerator, top) = self.reduce(q.numerator());
        let (denominator, bottom) = self.reduce(q.denominator());
        Fraction::new(numerator.scaled(&bottom), denominator.scaled(&top))
    }

    /// The polynomial as an expression; `None` when a coefficient is beyond double precision.
    pub(super) fn expression(&self, graph: &mut Graph, p: &Polynomial) -> Option<ExprId> {
        let mut sum = None;
        for (monomial, coefficient) in p.terms() {
            let negative = integer::is_negative(coefficient);
            let magnitude = integer::to_f64(&integer::abs(coefficient));
            if !magnitude.is_finite() {
                return None;
            }
            let term = self.product(graph, monomial, magnitude);
            sum = Some(match (sum, negative) {
                (None, false) => term,
                (None, true) => graph.neg(term),
                (Some(sum), false) => graph.add(sum, term),
                (Some(sum), true) => graph.sub(sum, term),
            });
        }
        Some(sum.unwrap_or_else(|| graph.constant(0.0)))
    }

    /// A number times powers of generators.
    pub(super) fn product(&self, graph: &mut Graph, monomial: &Monomial, number: f64) -> ExprId {
        let mut product = (number != 1.0 || monomial.is_one()).then(|| graph.constant(number));
        for (variable, &exponent) in monomial.exponents().iter().enumerate() {
            if exponent == 0 {
                continue;
            }
            let base = self.list[variable].expr;
            let power = if exponent == 1 {
                base
            } else {
                let exponent = graph.constant(exponent.into());
                graph.pow(base, exponent)
            };
            product = Some(match product {
                None => power,
                Some(product) => graph.mul(product, power),
            });
        }
        product.unwrap_or_else(|| graph.constant(1.0))
    }
}

/// Replaces scale * v^2 by another polynomial, after multiplication by scale^(degree / 2).
fn reduce_square(p: &Polynomial, v: usize, square: &Polynomial, scale: &IBig) -> Polynomial {
    let coefficients = p.coefficients(v);
    let half = (coefficients.len() - 1) / 2;
    let mut parts = [Polynomial::zero(), Polynomial::zero()];
    let mut power = Polynomial::one();
    for (k, pair) in coefficients.chunks(2).enumerate() {
        let missing = scale.pow(half - k);
        for (part, coefficient) in parts.iter_mut().zip(pair) {
            if !coefficient.is_zero() {
                *part = &*part + &(coefficient * &power).scaled(&missing);
            }
        }
        power = &power * square;
    }
    Polynomial::from_coefficients(v, &parts)
}

/// The polynomial with s^2 = 1 - c^2, linear in s.
pub(super) fn eliminate_square(p: &Polynomial, s: usize, c: usize) -> Polynomial {
    if p.degree(s) < 2 {
        return p.clone();
    }
    let coefficients = p.coefficients(s);
    let square = &Polynomial::one() - &Polynomial::variable(c).pow(2);
    let mut parts = [Polynomial::zero(), Polynomial::zero()];
    let mut power = Polynomial::one();
    for pair in coefficients.chunks(2) {
        for (part, coefficient) in parts.iter_mut().zip(pair) {
            *part = &*part + &(coefficient * &power);
        }
        power = &power * &square;
    }
    Polynomial::from_coefficients(s, &parts)
}

/// Whether a generator must be put in parentheses inside a product or power.
fn needs_parentheses(graph: &Graph, expr: ExprId) -> bool {
    match graph.node(expr) {
        Node::Constant(bits) => f64::from_bits(bits) < 0.0,
        Node::Symbol(_) => false,
        Node::Unary(op, _) => matches!(op, UnaryOp::Neg | UnaryOp::Not),
        Node::Binary(op, ..) => !matches!(op, BinaryOp::Atan2 | BinaryOp::Min | BinaryOp::Max),
        Node::Select(..) => true,
    }
}
