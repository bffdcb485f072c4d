//! Entries as quotients of polynomials in generators.

use super::generators::{Generators, Kind, multiple_of};
use super::{Incomplete, LocusOptions, Role};
use daelight_algebra::{Fraction, IBig, Polynomial, RBig, integer};
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp};

/// Largest whole power that is multiplied out.
const MOST_POWER: f64 = 64.0;

/// Largest multiple of a base angle that is expanded; beyond it the angle stands for itself.
const MOST_MULTIPLE: i32 = 12;

/// Highest total degree of a numerator or denominator: products of two of them are far from the limit of exponents.
const MOST_DEGREE: u32 = 200;

/// Converts expressions, each node once.
pub(super) struct Converter<'a> {
    graph: &'a mut Graph,
    role: &'a dyn Fn(SymbolId) -> Role,
    options: &'a LocusOptions,
    generators: Generators,
    known: FastMap<ExprId, Fraction>,
    /// For each product of generators that occurs in an angle, the denominator of its multiples.
    denominators: FastMap<ExprId, IBig>,
    /// Whether angles are only looked at: the first of two passes.
    surveying: bool,
    n_products: usize,
}

impl<'a> Converter<'a> {
    pub(super) fn new(
        graph: &'a mut Graph,
        role: &'a dyn Fn(SymbolId) -> Role,
        options: &'a LocusOptions,
    ) -> Self {
        Self {
            graph,
            role,
            options,
            generators: Generators::default(),
            known: FastMap::default(),
            denominators: FastMap::default(),
            surveying: true,
            n_products: 0,
        }
    }

    pub(super) fn into_generators(self) -> Generators {
        self.generators
    }

    /// The entries of a block, in normal form.
    pub(super) fn matrix(
        &mut self,
        entries: &[Option<ExprId>],
        n: usize,
    ) -> Result<Vec<Vec<Fraction>>, Incomplete> {
        // Angles such as x and x/2 need a common base, which is known only after all were seen.
        for &entry in entries.iter().flatten() {
            self.convert(entry)?;
        }
        self.surveying = false;
        self.known.clear();
        self.generators = Generators::default();
        let mut rows = Vec::with_capacity(n);
        for row in entries.chunks(n.max(1)) {
            let mut converted = Vec::with_capacity(n);
            for entry in row {
                converted.push(match entry {
                    None => Fraction::from(Polynomial::zero()),
                    Some(expr) => self.convert(*expr)?,
                });
            }
            rows.push(converted);
        }
        Ok(rows)
    }

    /// The quotient of an expression.
    fn convert(&mut self, root: ExprId) -> Result<Fraction, Incomplete> {
        let mut nodes = Vec::new();
        let mut seen: FastMap<ExprId, ()> = FastMap::default();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if !self.known.contains_key(&id) && seen.insert(id, ()).is_none() {
                nodes.push(id);
                stack.extend(self.transparent(id));
            }
        }
        nodes.sort_unstable();
        for id in nodes {
            let value = self.node(id)?;
            let value = self
                .generators
                .reduce_fraction(&value)
                .ok_or(Incomplete::Undefined)?;
            self.check(&value)?;
            self.known.insert(id, value);
        }
        Ok(self.known[&root].clone())
    }

    /// Keeps within the limits of terms, degrees and work.
    fn check(&mut self, value: &Fraction) -> Result<(), Incomplete> {
        let [top, bottom] = [value.numerator(), value.denominator()];
        if top.n_terms().max(bottom.n_terms()) > self.options.terms {
            return Err(Incomplete::Terms {
                limit: self.options.terms,
            });
        }
        if top.total_degree().max(bottom.total_degree()) > MOST_DEGREE {
            return Err(Incomplete::Magnitude);
        }
        if self.options.out_of_time() {
            return Err(Incomplete::Time);
        }
        // Lowest terms are the dear part.
        self.n_products += top.n_terms() * bottom.n_terms();
        if self.n_products > self.options.products {
            return Err(Incomplete::Products {
                limit: self.options.products,
            });
        }
        Ok(())
    }

    /// The arguments that the quotient of a node is made of; none for what stands for itself.
    fn transparent(&self, id: ExprId) -> Vec<ExprId> {
        match self.graph.node(id) {
            Node::Unary(
                UnaryOp::Neg
                | UnaryOp::Sin
                | UnaryOp::Cos
                | UnaryOp::Tan
                | UnaryOp::Exp
                | UnaryOp::Sqrt,
                a,
            ) => vec![a],
            Node::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, a, b) => {
                vec![a, b]
            }
            Node::Binary(BinaryOp::Pow, a, b) if self.half_power(b).is_some() => vec![a],
            _ => Vec::new(),
        }
    }

    /// Twice the exponent, if that is a small whole number.
    fn half_power(&self, exponent: ExprId) -> Option<i32> {
        let value = self.graph.as_constant(exponent)?;
        let twice = 2.0 * value;
        (value.abs() <= MOST_POWER && twice.fract() == 0.0).then_some(twice as i32)
    }

    fn node(&mut self, id: ExprId) -> Result<Fraction, Incomplete> {
        let known = |id: ExprId| &self.known[&id];
        let node = self.graph.node(id);
        if self.surveying
            && let Node::Unary(UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan | UnaryOp::Exp, a) = node
        {
            self.base_angles(a);
            return Ok(self.free(id));
        }
        Ok(match node {
            Node::Constant(bits) => number(f64::from_bits(bits))?,
            Node::Symbol(symbol) => match (self.role)(symbol) {
                Role::Parameter(value) if !self.options.keep_parameters => number(value)?,
                _ => self.free(id),
            },
            Node::Unary(UnaryOp::Neg, a) => known(a).negated(),
            Node::Unary(UnaryOp::Sin, a) => Fraction::from(self.cosine_and_sine(a).1),
            Node::Unary(UnaryOp::Cos, a) => Fraction::from(self.cosine_and_sine(a).0),
            Node::Unary(UnaryOp::Tan, a) => {
                let (cosine, sine) = self.cosine_and_sine(a);
                Fraction::new(sine, cosine).ok_or(Incomplete::Undefined)?
            }
            Node::Unary(UnaryOp::Exp, a) => self.exponential(a)?,
            Node::Unary(UnaryOp::Sqrt, a) => self.root(id, a),
            Node::Binary(BinaryOp::Add, a, b) => known(a).plus(known(b)),
            Node::Binary(BinaryOp::Sub, a, b) => known(a).minus(known(b)),
            Node::Binary(BinaryOp::Mul, a, b) => known(a).times(known(b)),
            Node::Binary(BinaryOp::Div, a, b) => {
                known(a).over(known(b)).ok_or(Incomplete::Undefined)?
            }
            Node::Binary(BinaryOp::Pow, a, b) => match self.half_power(b) {
                Some(twice) => self.power(a, twice)?,
                None => self.free(id),
            },
            _ => self.free(id),
        })
    }

    /// An expression that stands for itself.
    fn free(&mut self, id: ExprId) -> Fraction {
        Fraction::from(Polynomial::variable(
            self.generators.number(id, || Kind::Free),
        ))
    }

    fn power(&mut self, base: ExprId, twice: i32) -> Result<Fraction, Incomplete> {
        let base = if twice % 2 == 0 {
            self.known[&base].clone()
        } else {
            let root = self.graph.unary(UnaryOp::Sqrt, base);
            self.root(root, base)
        };
        let exponent = if twice % 2 == 0 { twice / 2 } else { twice };
        let base = if exponent < 0 {
            Fraction::from(Polynomial::one())
                .over(&base)
                .ok_or(Incomplete::Undefined)?
        } else {
            base
        };
        let mut power = Fraction::from(Polynomial::one());
        for _ in 0..exponent.unsigned_abs() {
            power = self
                .generators
                .reduce_fraction(&power.times(&base))
                .ok_or(Incomplete::Undefined)?;
            self.check(&power)?;
        }
        Ok(power)
    }

    /// A square root, with its relation when the radicand is a polynomial.
    fn root(&mut self, id: ExprId, argument: ExprId) -> Fraction {
        let radicand = &self.known[&argument];
        let relation = radicand.denominator().as_constant();
        let kind = match relation {
            Some(scale) => Kind::Root {
                radicand: radicand.numerator().clone(),
                scale,
            },
            None => Kind::Free,
        };
        Fraction::from(Polynomial::variable(self.generators.number(id, || kind)))
    }

    /// Cosine and sine of an angle, expanded to base angles: (12).
    fn cosine_and_sine(&mut self, argument: ExprId) -> (Polynomial, Polynomial) {
        let mut total = (Polynomial::one(), Polynomial::zero());
        for BaseAngle {
            base,
            over,
            multiple,
        } in self.base_angles(argument)
        {
            let angle = self.generators.angle(self.graph, base, over);
            let mut sine = Polynomial::variable(angle.sine);
            if multiple < 0 {
                sine = -&sine;
            }
            let unit = (Polynomial::variable(angle.cosine), sine);
            for _ in 0..multiple.unsigned_abs() {
                let cosine = &(&total.0 * &unit.0) - &(&total.1 * &unit.1);
                let sine = &(&total.0 * &unit.1) + &(&total.1 * &unit.0);
                total = (
                    self.generators.reduce(&cosine).0,
                    self.generators.reduce(&sine).0,
                );
            }
        }
        total
    }

    /// An exponential as powers of those of the terms of its argument.
    fn exponential(&mut self, argument: ExprId) -> Result<Fraction, Incomplete> {
        let mut total = Fraction::from(Polynomial::one());
        for angle in self.base_angles(argument) {
            let base = multiple_of(self.graph, angle.base, 1, angle.over);
            let exponential = self.graph.unary(UnaryOp::Exp, base);
            let generator = self.generators.number(exponential, || Kind::Free);
            let power = Polynomial::variable(generator).pow(angle.multiple.unsigned_abs());
            let power = Fraction::from(power);
            total = if angle.multiple < 0 {
                total.over(&power).ok_or(Incomplete::Undefined)?
            } else {
                total.times(&power)
            };
        }
        Ok(total)
    }

    /// An angle as whole multiples of base angles: products of generators over their common denominator.
    fn base_angles(&mut self, argument: ExprId) -> Vec<BaseAngle> {
        let alone = |base: ExprId, multiple: i32| BaseAngle {
            base,
            over: 1,
            multiple,
        };
        let value = self.known[&argument].clone();
        let Some(denominator) = value.denominator().as_constant() else {
            return vec![alone(argument, 1)];
        };
        let mut angles = Vec::new();
        for (monomial, coefficient) in value.numerator().terms() {
            let base = self.generators.product(self.graph, monomial, 1.0);
            let common = integer::gcd(coefficient, &denominator);
            let (top, bottom) = (coefficient / &common, &denominator / &common);
            let over = self.denominators.entry(base).or_insert(IBig::ONE);
            if self.surveying {
                let shared = integer::gcd(over, &bottom);
                *over = &*over * (&bottom / shared);
                continue;
            }
            // coefficient / denominator = multiple / over
            let multiple = top * (&*over / bottom);
            angles.push(match (i32::try_from(&multiple), u32::try_from(&*over)) {
                (Ok(multiple), Ok(over)) if multiple.abs() <= MOST_MULTIPLE => BaseAngle {
                    base,
                    over,
                    multiple,
                },
                _ => {
                    let number = integer::to_f64(coefficient) / integer::to_f64(&denominator);
                    let sign = if number < 0.0 { -1 } else { 1 };
                    let term = self.generators.product(self.graph, monomial, number.abs());
                    alone(term, sign)
                }
            });
        }
        angles
    }
}

/// `multiple * (base / over)`.
struct BaseAngle {
    base: ExprId,
    over: u32,
    multiple: i32,
}

fn number(value: f64) -> Result<Fraction, Incomplete> {
    let exact: RBig = integer::decimal(value).ok_or(Incomplete::Undefined)?;
    Ok(Fraction::number(&exact))
}
