//! The generators that expressions are polynomials of, and the relations between them.

use daelight_algebra::{Fraction, IBig, Monomial, Polynomial, integer};
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, TooLong, UnaryOp, number};

/// What a generator is to the algebra.
#[derive(Clone, PartialEq, Debug)]
pub enum GeneratorKind {
    /// A symbol, or an expression that nothing is known about.
    Free,
    /// The cosine of a base angle.
    Cosine(usize),
    /// The sine of a base angle; its square is 1 minus that of the cosine.
    Sine(usize),
    /// A square root: scale * r^2 = radicand.
    Root {
        /// A polynomial of older generators.
        radicand: Polynomial,
        /// A whole number.
        scale: IBig,
    },
}

/// A generator with what it stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Generator {
    /// The expression, for its value.
    pub expr: ExprId,
    /// Sine or cosine of a number, which the expression has only as a rounded value.
    number: Option<(UnaryOp, f64)>,
    kind: GeneratorKind,
}

impl Generator {
    /// Whether it is a cosine or a sine.
    pub fn is_circular(&self) -> bool {
        matches!(self.kind, GeneratorKind::Cosine(_) | GeneratorKind::Sine(_))
    }

    /// The text of the generator as a factor of a product.
    pub fn text(
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
#[derive(Clone, Copy, Debug)]
pub struct BaseAngle {
    base: ExprId,
    over: u32,
    /// The number of its cosine.
    pub cosine: usize,
    /// The number of its sine.
    pub sine: usize,
}

impl BaseAngle {
    /// A positive multiple of the angle.
    pub fn multiple(&self, graph: &mut Graph, multiple: u32) -> ExprId {
        multiple_of(graph, self.base, multiple, self.over)
    }
}

/// `multiple * base / over` in lowest terms.
pub fn multiple_of(graph: &mut Graph, base: ExprId, multiple: u32, over: u32) -> ExprId {
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

/// All generators of some expressions.
#[derive(Default, Debug)]
pub struct Generators {
    list: Vec<Generator>,
    numbers: FastMap<ExprId, usize>,
    angles: Vec<BaseAngle>,
    angle_numbers: FastMap<ExprId, usize>,
}

impl Generators {
    /// The base angles, by number.
    pub fn angles(&self) -> &[BaseAngle] {
        &self.angles
    }

    /// What a generator is to the algebra.
    pub fn kind(&self, variable: usize) -> &GeneratorKind {
        &self.list[variable].kind
    }

    /// What a generator stands for.
    pub fn expr(&self, variable: usize) -> ExprId {
        self.list[variable].expr
    }

    /// How many there are.
    pub fn n(&self) -> usize {
        self.list.len()
    }

    /// The generators, by number.
    pub fn into_list(self) -> Vec<Generator> {
        self.list
    }

    /// The number of a generator, which is made when it is new.
    pub fn number(&mut self, expr: ExprId, kind: impl FnOnce() -> GeneratorKind) -> usize {
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
    pub fn angle(&mut self, graph: &mut Graph, base: ExprId, over: u32) -> BaseAngle {
        let argument = multiple_of(graph, base, 1, over);
        if let Some(&angle) = self.angle_numbers.get(&argument) {
            return self.angles[angle];
        }
        let angle = self.angles.len();
        let [cosine, sine] = [
            (UnaryOp::Cos, GeneratorKind::Cosine(angle)),
            (UnaryOp::Sin, GeneratorKind::Sine(angle)),
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
        self.angles.push(BaseAngle {
            base,
            over,
            cosine,
            sine,
        });
        self.angle_numbers.insert(argument, angle);
        self.angles[angle]
    }

    /// The relations between them, as polynomials that are 0.
    pub fn relations(&self) -> Vec<Polynomial> {
        let square = |v: usize| Polynomial::variable(v).pow(2);
        let circles = (self.angles.iter())
            .map(|angle| &(&square(angle.cosine) + &square(angle.sine)) - &Polynomial::one());
        let roots = (self.list.iter().enumerate()).filter_map(|(v, own)| match &own.kind {
            GeneratorKind::Root { radicand, scale } => Some(&square(v).scaled(scale) - radicand),
            _ => None,
        });
        circles.chain(roots).collect()
    }

    /// The normal form modulo the relations, and the number it was multiplied by to stay over the integers.
    pub fn reduce(&self, p: &Polynomial) -> (Polynomial, IBig) {
        let mut result = p.clone();
        let mut scale = IBig::ONE;
        // A radicand holds older generators only, so the youngest root goes first.
        for (number, generator) in self.list.iter().enumerate().rev() {
            if let GeneratorKind::Root { radicand, scale: d } = &generator.kind
                && result.degree(number) >= 2
            {
                let half = u32::from(result.degree(number) / 2);
                result = result.with_square(number, radicand, d);
                scale *= d.pow(half as usize);
            }
        }
        for angle in &self.angles {
            result = eliminate_square(&result, angle.sine, angle.cosine);
        }
        (result, scale)
    }

    /// The normal form of a quotient; `None` when the denominator is 0.
    pub fn reduce_fraction(&self, q: &Fraction) -> Option<Fraction> {
        let (numerator, top) = self.reduce(q.numerator());
        let (denominator, bottom) = self.reduce(q.denominator());
        Fraction::new(numerator.scaled(&bottom), denominator.scaled(&top))
    }

    /// The polynomial as an expression; `None` when a coefficient is beyond double precision.
    pub fn expression(&self, graph: &mut Graph, p: &Polynomial) -> Option<ExprId> {
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
    pub fn product(&self, graph: &mut Graph, monomial: &Monomial, number: f64) -> ExprId {
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

/// The polynomial with s^2 = 1 - c^2, linear in s.
pub fn eliminate_square(p: &Polynomial, s: usize, c: usize) -> Polynomial {
    let square = &Polynomial::one() - &Polynomial::variable(c).pow(2);
    p.with_square(s, &square, &IBig::ONE)
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
