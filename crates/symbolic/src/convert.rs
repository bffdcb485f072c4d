//! The walk over an expression.

use daelight_algebra::{IBig, RBig, integer};
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, UnaryOp};
use std::time::Instant;

/// Largest power that is multiplied out: chosen, beyond what models hold; larger ones stand for themselves.
const MOST_POWER: u32 = 64;

/// Highest total degree of a numerator or denominator: products of many of them are far from the limit of exponents.
const MOST_DEGREE: u32 = 200;

/// How much work a conversion may be.
#[derive(Clone, Copy, Debug)]
pub struct ConversionBudget {
    /// Most terms of a numerator or denominator.
    pub terms: usize,
    /// Most products of terms, of numerators with their denominators: lowest terms are the dear part.
    pub products: usize,
    /// When to give up, if that matters.
    pub deadline: Option<Instant>,
}

/// Why an expression was not converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unconverted {
    /// A polynomial has more terms than the budget allows.
    Terms,
    /// More products of terms than the budget allows.
    Products,
    /// A degree is beyond what exponents can hold safely.
    Degree,
    /// The time is used up.
    Time,
    /// The expression divides by 0, or is a constant that is no number.
    Undefined(ExprId),
    /// The algebra has no value for the expression.
    NotAlgebraic(ExprId, &'static str),
}

/// How large a value is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Terms of the numerator.
    pub top: usize,
    /// Terms of the denominator.
    pub bottom: usize,
    /// The highest total degree of both.
    pub degree: u32,
}

/// How a node is read.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// As an operation: it is taken apart, if its operation is algebraic.
    Operation(Node),
    /// As another expression, which defines it.
    Definition(ExprId),
    /// As one whole: [`Algebra::alone`] says what it is.
    Whole,
}

/// What expressions are converted to: a choice of generators, and the arithmetic of what is made of them.
pub trait Algebra {
    /// An expression in the generators.
    type Value: Clone;

    /// Whether expressions are met in the order in which they were made, not in that of a walk from the root: it numbers
    /// the generators.
    const OLDEST_FIRST: bool = true;

    /// How a node is read.
    fn read(&self, id: ExprId) -> Reading;

    /// An expression that is not taken apart.
    fn alone(&mut self, id: ExprId) -> Result<Self::Value, Unconverted>;

    /// A rational number.
    fn number(&mut self, value: &RBig) -> Self::Value;

    /// The number that a value is, if it is one.
    fn as_number(&self, value: &Self::Value) -> Option<RBig>;

    /// The opposite.
    fn negated(&mut self, a: &Self::Value) -> Self::Value;

    /// The sum; `None` if it is defined nowhere, or too large on the way.
    fn sum(&mut self, a: &Self::Value, b: &Self::Value) -> Option<Self::Value>;

    /// The product; `None` if it is defined nowhere.
    fn product(&mut self, a: &Self::Value, b: &Self::Value) -> Option<Self::Value>;

    /// The quotient; `None` if it is defined nowhere.
    fn quotient(&mut self, a: &Self::Value, b: &Self::Value) -> Option<Self::Value>;

    /// How large a value is.
    fn size(&self, value: &Self::Value) -> Size;

    /// The square root of an argument, in the node `id`.
    fn root(
        &mut self,
        id: ExprId,
        _argument: ExprId,
        _value: &Self::Value,
    ) -> Result<Self::Value, Unconverted> {
        self.alone(id)
    }

    /// Looks at the argument of a function of angles, in the first of two passes; what stands for the function meanwhile.
    fn survey(&mut self, id: ExprId, _argument: &Self::Value) -> Result<Self::Value, Unconverted> {
        self.alone(id)
    }

    /// Cosine and sine of an argument, in the node `id`.
    fn circle(
        &mut self,
        id: ExprId,
        _argument: &Self::Value,
    ) -> Result<[Self::Value; 2], Unconverted> {
        Err(Unconverted::NotAlgebraic(id, "no angles are taken apart"))
    }

    /// The exponential of an argument, in the node `id`.
    fn exponential(
        &mut self,
        id: ExprId,
        _argument: &Self::Value,
    ) -> Result<Self::Value, Unconverted> {
        self.alone(id)
    }
}

/// Converts expressions, each node once.
pub struct Converter<T: Algebra> {
    /// What they are converted to.
    pub algebra: T,
    budget: ConversionBudget,
    known: FastMap<ExprId, T::Value>,
    /// Whether angles are only looked at: the first of two passes, since x and x/2 have a common base.
    surveying: bool,
    n_products: usize,
}

impl<T: Algebra> Converter<T> {
    /// Nothing is converted yet.
    pub fn new(algebra: T, budget: ConversionBudget) -> Self {
        Self {
            algebra,
            budget,
            known: FastMap::default(),
            surveying: false,
            n_products: 0,
        }
    }

    /// Shows expressions to the algebra before any is converted, so that it knows all angles; what was refused, by
    /// position.
    pub fn survey(&mut self, roots: impl IntoIterator<Item = ExprId>) -> Vec<(usize, Unconverted)> {
        self.surveying = true;
        let outcomes = roots.into_iter().map(|root| self.convert(root));
        let refused = outcomes.enumerate();
        let refused = refused.filter_map(|(at, outcome)| Some((at, outcome.err()?)));
        let refused = refused.collect();
        self.surveying = false;
        self.known.clear();
        refused
    }

    /// The value of an expression; without recursion, since sums may be long.
    pub fn convert(&mut self, root: ExprId) -> Result<T::Value, Unconverted> {
        let mut stack = vec![(root, false)];
        if T::OLDEST_FIRST {
            let mut seen: FastMap<ExprId, ()> = FastMap::default();
            let mut open: Vec<ExprId> = stack.drain(..).map(|(id, _)| id).collect();
            while let Some(id) = open.pop() {
                if !self.known.contains_key(&id) && seen.insert(id, ()).is_none() {
                    stack.push((id, false));
                    open.extend(arguments(self.algebra.read(id)));
                }
            }
            stack.sort_unstable_by(|a, b| b.cmp(a));
        }
        while let Some((id, ready)) = stack.pop() {
            if self.known.contains_key(&id) {
                continue;
            }
            let reading = self.algebra.read(id);
            if !ready {
                stack.push((id, true));
                stack.extend(arguments(reading).map(|argument| (argument, false)));
                continue;
            }
            let value = self.value(id, reading)?;
            self.check(&value)?;
            self.known.insert(id, value);
        }
        Ok(self.known[&root].clone())
    }

    /// Keeps within the budget.
    fn check(&mut self, value: &T::Value) -> Result<(), Unconverted> {
        let size = self.algebra.size(value);
        self.n_products = (self.n_products).saturating_add(size.top * size.bottom);
        let budget = &self.budget;
        let is_over = |deadline| Instant::now() > deadline;
        if size.top.max(size.bottom) > budget.terms {
            Err(Unconverted::Terms)
        } else if size.degree > MOST_DEGREE {
            Err(Unconverted::Degree)
        } else if budget.deadline.is_some_and(is_over) {
            Err(Unconverted::Time)
        } else if self.n_products > budget.products {
            Err(Unconverted::Products)
        } else {
            Ok(())
        }
    }

    fn value(&mut self, id: ExprId, reading: Reading) -> Result<T::Value, Unconverted> {
        let node = match reading {
            Reading::Operation(node) => node,
            Reading::Definition(other) => return Ok(self.known[&other].clone()),
            Reading::Whole => return self.algebra.alone(id),
        };
        let (algebra, known) = (&mut self.algebra, &self.known);
        let value = match node {
            Node::Constant(bits) => {
                integer::decimal(f64::from_bits(bits)).map(|value| algebra.number(&value))
            }
            Node::Unary(UnaryOp::Neg, a) => Some(algebra.negated(&known[&a])),
            Node::Unary(UnaryOp::Sqrt, a) => return algebra.root(id, a, &known[&a]),
            Node::Unary(UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan | UnaryOp::Exp, a)
                if self.surveying =>
            {
                return algebra.survey(id, &known[&a]);
            }
            Node::Unary(op @ (UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan), a) => {
                let [cosine, sine] = algebra.circle(id, &known[&a])?;
                match op {
                    UnaryOp::Cos => Some(cosine),
                    UnaryOp::Sin => Some(sine),
                    _ => algebra.quotient(&sine, &cosine),
                }
            }
            Node::Unary(UnaryOp::Exp, a) => return algebra.exponential(id, &known[&a]),
            Node::Binary(BinaryOp::Add, a, b) => algebra.sum(&known[&a], &known[&b]),
            Node::Binary(BinaryOp::Sub, a, b) => {
                let opposite = algebra.negated(&known[&b]);
                algebra.sum(&known[&a], &opposite)
            }
            Node::Binary(BinaryOp::Mul, a, b) => algebra.product(&known[&a], &known[&b]),
            Node::Binary(BinaryOp::Div, a, b) => algebra.quotient(&known[&a], &known[&b]),
            Node::Binary(BinaryOp::Pow, a, b) => return self.power(id, a, b),
            _ => return algebra.alone(id),
        };
        value.ok_or(Unconverted::Undefined(id))
    }

    /// Whole powers within the budget are multiplied out, half ones as powers of roots.
    fn power(&mut self, id: ExprId, a: ExprId, b: ExprId) -> Result<T::Value, Unconverted> {
        let exponent = self.algebra.as_number(&self.known[&b]);
        let most = RBig::from(MOST_POWER);
        let Some(exponent) = exponent.filter(|e| *e <= most && *e >= -&most) else {
            return self.algebra.alone(id);
        };
        let base = self.known[&a].clone();
        let base = match u8::try_from(exponent.denominator()) {
            Ok(1) => base,
            Ok(2) => self.algebra.root(id, a, &base)?,
            _ => return self.algebra.alone(id),
        };
        let one = self.algebra.number(&RBig::ONE);
        let base = if *exponent.numerator() < IBig::ZERO {
            let inverse = self.algebra.quotient(&one, &base);
            inverse.ok_or(Unconverted::Undefined(id))?
        } else {
            base
        };
        let mut power = one;
        let times = u32::try_from(integer::abs(exponent.numerator())).unwrap_or(0);
        for _ in 0..times {
            let product = self.algebra.product(&power, &base);
            power = product.ok_or(Unconverted::Undefined(id))?;
            self.check(&power)?;
        }
        Ok(power)
    }
}

/// The operation of a node; of a number that was folded from rational ones this operation, since 1/3 is no decimal.
pub fn rational_operation(graph: &Graph, id: ExprId) -> Node {
    use BinaryOp::{Add, Div, Mul, Sub};
    match graph.folded_from(id) {
        Some(node @ (Node::Unary(UnaryOp::Neg, _) | Node::Binary(Add | Sub | Mul | Div, ..))) => {
            node
        }
        _ => graph.node(id),
    }
}

/// A rational number as an expression that is read as this number again, if its double is not.
pub fn rational_constant(graph: &mut Graph, number: &RBig) -> ExprId {
    let value = integer::rational_to_f64(number);
    let whole = |part: IBig| {
        let double = integer::to_f64(&part);
        (double.abs() < f64::EPSILON.recip()).then_some(double)
    };
    let parts = [
        number.numerator().clone(),
        number.denominator().clone().into(),
    ]
    .map(whole);
    match parts {
        [Some(top), Some(bottom)] if integer::decimal(value).as_ref() != Some(number) => {
            let [top, bottom] = [top, bottom].map(|part| graph.constant(part));
            graph.div(top, bottom)
        }
        _ => graph.constant(value),
    }
}

/// What must be known before a node.
fn arguments(reading: Reading) -> impl Iterator<Item = ExprId> {
    use BinaryOp::{Add, Div, Mul, Pow, Sub};
    use UnaryOp::{Cos, Exp, Neg, Sin, Sqrt, Tan};
    let pair = match reading {
        Reading::Definition(other) => [Some(other), None],
        Reading::Operation(Node::Unary(Neg | Sqrt | Sin | Cos | Tan | Exp, a)) => [Some(a), None],
        Reading::Operation(Node::Binary(Add | Sub | Mul | Div | Pow, a, b)) => [Some(a), Some(b)],
        Reading::Operation(_) | Reading::Whole => [None, None],
    };
    pair.into_iter().flatten()
}
