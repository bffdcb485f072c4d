//! Expressions as trigonometric polynomials, exactly: section 1 of `docs/theory/configurations.md`.

use crate::ring::{Meaning, Ring};
use crate::waves::{Quotient, Waves};
use daelight_algebra::{IBig, Monomial, Polynomial, RBig, integer};
use daelight_expr::{BinaryOp, ExprId, FastMap, Node, UnaryOp};
use daelight_lang::{Code, Diagnostic, Model, Symbol, shorten};
use std::collections::{BTreeMap, BTreeSet};

/// Largest whole power that is multiplied out.
const MOST_POWER: i64 = 16;

/// Largest multiple of an angle that is expanded.
const MOST_MULTIPLE: i32 = 32;

/// Most terms of a numerator or denominator.
const MOST_TERMS: usize = 5_000;

/// An angle of the mechanism: an unknown of the model, divided by a whole number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Angle {
    /// The unknown.
    pub unknown: usize,
    /// What it is divided by.
    pub over: u32,
}

/// Why an expression is no trigonometric polynomial.
pub(crate) enum Refusal {
    /// An operation that is not algebraic, or not in the angles.
    NotAlgebraic(ExprId, &'static str),
    TooLarge,
    Undefined(ExprId),
}

/// What an expression depends on.
#[derive(Clone, Copy, Default)]
struct Depends {
    unknown: bool,
    time: bool,
    kept: bool,
}

/// Converts expressions, each node once.
pub(crate) struct Converter<'a> {
    model: &'a Model,
    keep: &'a [bool],
    pub ring: Ring,
    /// Unknowns that occur in angles, ascending.
    pub angles: Vec<Angle>,
    pub warnings: BTreeSet<String>,
    depends: Vec<Depends>,
    known: FastMap<ExprId, Quotient>,
    /// The variables of expressions that stand for themselves.
    opaque: FastMap<ExprId, usize>,
    plain: FastMap<usize, usize>,
    pi: Option<usize>,
    /// For each product that occurs in an angle, the denominator of its multiples.
    denominators: BTreeMap<Monomial, IBig>,
    known_angles: BTreeMap<Monomial, [usize; 2]>,
    surveying: bool,
}

impl<'a> Converter<'a> {
    /// Finds the angles of the expressions; after that [`Converter::convert`] makes polynomials of them.
    pub fn new(
        model: &'a Model,
        keep: &'a [bool],
        expressions: &[ExprId],
    ) -> Result<Self, Vec<(usize, Refusal)>> {
        let mut depends: Vec<Depends> = Vec::with_capacity(model.graph.len());
        for position in 0..model.graph.len() {
            let id = model.graph.id(position);
            let node = model.graph.node(id);
            let mut own = match node {
                Node::Symbol(symbol) => match model.symbols.get(symbol) {
                    Symbol::Unknown { .. } => Depends {
                        unknown: true,
                        ..Depends::default()
                    },
                    Symbol::Time | Symbol::Input { .. } => Depends {
                        time: true,
                        ..Depends::default()
                    },
                    Symbol::Parameter(_) => Depends {
                        kept: true,
                        ..Depends::default()
                    },
                },
                _ => Depends::default(),
            };
            for argument in node.arguments() {
                let below = depends[argument.index()];
                own.unknown |= below.unknown;
                own.time |= below.time;
                own.kept |= below.kept;
            }
            depends.push(own);
        }
        let mut converter = Self {
            model,
            keep,
            ring: Ring::default(),
            angles: Vec::new(),
            warnings: BTreeSet::new(),
            depends,
            known: FastMap::default(),
            opaque: FastMap::default(),
            plain: FastMap::default(),
            pi: None,
            denominators: BTreeMap::new(),
            known_angles: BTreeMap::new(),
            surveying: true,
        };
        // In the order of the model, so that formulas read as the user would write them.
        for (index, parameter) in model.parameters.iter().enumerate() {
            if keep[index] {
                let mut name = String::new();
                model.write_name(Symbol::Parameter(index), &mut name);
                let meaning = Meaning::Parameter(index);
                converter.ring.add(name, meaning, Some(parameter.value));
            }
        }
        let mut refusals = Vec::new();
        for (at, &expression) in expressions.iter().enumerate() {
            if let Err(refusal) = converter.convert(expression) {
                refusals.push((at, refusal));
            }
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        converter.surveying = false;
        converter.known.clear();
        for (&unknown, &variable) in &converter.plain {
            let alone = Monomial::power(variable, 1);
            if let Some(over) = converter.denominators.get(&alone) {
                let over = u32::try_from(over).unwrap_or(u32::MAX);
                converter.angles.push(Angle { unknown, over });
            }
        }
        converter.angles.sort_by_key(|angle| angle.unknown);
        Ok(converter)
    }

    /// The variable of an unknown that is no angle, if it occurred.
    pub fn variable_of(&self, unknown: usize) -> Option<usize> {
        self.plain.get(&unknown).copied()
    }

    /// The quotient of an expression; without recursion, since sums may be long.
    pub fn convert(&mut self, root: ExprId) -> Result<Quotient, Refusal> {
        let mut stack = vec![(root, false)];
        while let Some((id, ready)) = stack.pop() {
            if self.known.contains_key(&id) {
                continue;
            }
            let (node, arguments) = self.resolve(id);
            if !ready {
                stack.push((id, true));
                stack.extend(arguments.into_iter().map(|argument| (argument, false)));
                continue;
            }
            let value = self.node(id, node)?;
            if value.top.n_terms().max(value.bottom.n_terms()) > MOST_TERMS {
                return Err(Refusal::TooLarge);
            }
            self.known.insert(id, value);
        }
        Ok(self.known[&root].clone())
    }

    /// The operation behind a node, and what must be known before it.
    fn resolve(&self, id: ExprId) -> (Node, Vec<ExprId>) {
        let graph = &self.model.graph;
        let depends = self.depends[id.index()];
        let node = graph.folded_from(id).unwrap_or_else(|| graph.node(id));
        let arguments = match node {
            _ if depends.time && !depends.unknown => Vec::new(),
            Node::Symbol(symbol) => match self.model.symbols.get(symbol) {
                Symbol::Parameter(index) if !self.keep[index] => {
                    vec![self.model.parameters[index].definition]
                }
                _ => Vec::new(),
            },
            Node::Unary(
                UnaryOp::Neg | UnaryOp::Sqrt | UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan,
                a,
            ) => vec![a],
            Node::Binary(
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow,
                a,
                b,
            ) => vec![a, b],
            _ => Vec::new(),
        };
        (node, arguments)
    }

    fn node(&mut self, id: ExprId, node: Node) -> Result<Quotient, Refusal> {
        let depends = self.depends[id.index()];
        if depends.time && !depends.unknown {
            return Ok(self.opaque(id));
        }
        let undefined = || Refusal::Undefined(id);
        Ok(match node {
            Node::Constant(bits) => {
                let value = f64::from_bits(bits);
                if value == std::f64::consts::PI {
                    let ring = &mut self.ring;
                    let pi = *self
                        .pi
                        .get_or_insert_with(|| ring.add("pi", Meaning::Known, Some(value)));
                    return Ok(Polynomial::variable(pi).into());
                }
                number(&integer::decimal(value).ok_or_else(undefined)?)
            }
            Node::Symbol(symbol) => match self.model.symbols.get(symbol) {
                Symbol::Parameter(index) if self.keep[index] => {
                    let variable = self.ring.find(&Meaning::Parameter(index));
                    Polynomial::variable(variable.expect("kept parameters are in the ring")).into()
                }
                Symbol::Parameter(index) => {
                    self.known[&self.model.parameters[index].definition].clone()
                }
                Symbol::Unknown { unknown, order: 0 } => {
                    let variable = match self.plain.get(&unknown) {
                        Some(&variable) => variable,
                        None => {
                            let mut name = String::new();
                            self.model.write_symbol(symbol, &mut name);
                            let variable = self.ring.add(name, Meaning::Position(unknown), None);
                            self.plain.insert(unknown, variable);
                            variable
                        }
                    };
                    Polynomial::variable(variable).into()
                }
                _ => return Err(Refusal::NotAlgebraic(id, "a derivative is no position")),
            },
            Node::Unary(UnaryOp::Neg, a) => self.known[&a].negated(),
            Node::Unary(UnaryOp::Sqrt, a) => {
                let argument = self.known[&a].clone();
                self.root(id, &argument)?
            }
            Node::Unary(op @ (UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan), a) => {
                let [cosine, sine] = self.cosine_and_sine(id, a)?;
                match op {
                    UnaryOp::Cos => cosine,
                    UnaryOp::Sin => sine,
                    _ => sine.over(&cosine, &self.ring).ok_or_else(undefined)?,
                }
            }
            Node::Binary(BinaryOp::Add, a, b) => self.known[&a].plus(&self.known[&b], &self.ring),
            Node::Binary(BinaryOp::Sub, a, b) => {
                self.known[&a].plus(&self.known[&b].negated(), &self.ring)
            }
            Node::Binary(BinaryOp::Mul, a, b) => self.known[&a].times(&self.known[&b], &self.ring),
            Node::Binary(BinaryOp::Div, a, b) => self.known[&a]
                .over(&self.known[&b], &self.ring)
                .ok_or_else(undefined)?,
            Node::Binary(BinaryOp::Pow, a, b) => self.power(id, a, b)?,
            _ if !depends.unknown => self.number_or_symbol(id)?,
            _ => {
                return Err(Refusal::NotAlgebraic(
                    id,
                    "only sums, products, quotients, whole powers, sines and cosines are algebraic",
                ));
            }
        })
    }

    /// A term without unknowns that stands for itself.
    fn opaque(&mut self, id: ExprId) -> Quotient {
        let variable = match self.opaque.get(&id) {
            Some(&variable) => variable,
            None => {
                let text = self.model.text(id, 10_000).unwrap_or_default();
                let name = format!("({})", shorten(&text, 60));
                let variable = self.ring.add(name, Meaning::Known, None);
                self.opaque.insert(id, variable);
                variable
            }
        };
        Polynomial::variable(variable).into()
    }

    /// The value of an operation of parameters that is not algebraic: a symbol where they are kept, a decimal otherwise.
    fn number_or_symbol(&mut self, id: ExprId) -> Result<Quotient, Refusal> {
        if self.depends[id.index()].kept && self.keep.iter().any(|keep| *keep) {
            return Ok(self.opaque(id));
        }
        let value = self.model.parameter_value(id);
        let exact = integer::decimal(value).ok_or(Refusal::Undefined(id))?;
        let text = self.model.text(id, 200).unwrap_or_default();
        self.warnings.insert(format!(
            "{text} is not algebraic; the decimal {value} stands for it"
        ));
        Ok(number(&exact))
    }

    fn power(&mut self, id: ExprId, a: ExprId, b: ExprId) -> Result<Quotient, Refusal> {
        let refusal = || Refusal::NotAlgebraic(id, "the exponent is not a small whole number");
        let (exponent, bottom) = self.known[&b].as_polynomial().ok_or_else(refusal)?;
        let exponent = exponent.as_constant().ok_or_else(refusal)?;
        let exponent = i64::try_from(&exponent).map_err(|_| refusal())?;
        let base = self.known[&a].clone();
        let base = match i64::try_from(&bottom) {
            Ok(1) => base,
            Ok(2) => self.root(id, &base)?,
            _ => return Err(refusal()),
        };
        if exponent.abs() > MOST_POWER {
            return Err(refusal());
        }
        let one = Quotient::from(Polynomial::one());
        let base = if exponent < 0 {
            one.over(&base, &self.ring).ok_or(Refusal::Undefined(id))?
        } else {
            base
        };
        let mut power = one;
        for _ in 0..exponent.unsigned_abs() {
            power = power.times(&base, &self.ring);
            if power.top.n_terms().max(power.bottom.n_terms()) > MOST_TERMS {
                return Err(Refusal::TooLarge);
            }
        }
        Ok(power)
    }

    /// A square root of what holds no unknown.
    fn root(&mut self, id: ExprId, argument: &Quotient) -> Result<Quotient, Refusal> {
        let refusal = || Refusal::NotAlgebraic(id, "a root of unknowns is not a polynomial");
        let (top, bottom) = argument.as_polynomial().ok_or_else(refusal)?;
        if !self.ring.is_known(&top) {
            return Err(refusal());
        }
        // sqrt(t / b) = sqrt(t b) / b
        let root = self.ring.root_of(&top.scaled(&bottom));
        let root = root.ok_or(Refusal::Undefined(id))?;
        let quotient = Quotient::from(root);
        Ok(Quotient {
            bottom: Polynomial::constant(bottom).into(),
            ..quotient
        })
    }

    /// Cosine and sine of a sum of multiples of unknowns, of pi and of other terms: (2).
    fn cosine_and_sine(&mut self, id: ExprId, argument: ExprId) -> Result<[Quotient; 2], Refusal> {
        let refusal = || Refusal::NotAlgebraic(id, "the angle is no sum of multiples of unknowns");
        let (top, bottom) = self.known[&argument].as_polynomial().ok_or_else(refusal)?;
        let mut multiples: Vec<i32> = vec![0; self.angles.len()];
        let mut known: Vec<(Monomial, i32)> = Vec::new();
        let mut half_turns = RBig::ZERO;
        for (monomial, coefficient) in top.terms() {
            let ratio = RBig::from(coefficient.clone()) / RBig::from(bottom.clone());
            let one_unknown = self.unknown_alone(monomial);
            if one_unknown.is_none() && !self.ring.is_known(&term(monomial)) {
                return Err(refusal());
            }
            if self
                .pi
                .is_some_and(|pi| *monomial == Monomial::power(pi, 1))
            {
                half_turns = ratio;
                continue;
            }
            let divisor = IBig::from(ratio.denominator().clone());
            let over = self
                .denominators
                .entry(monomial.clone())
                .or_insert(IBig::ONE);
            if self.surveying {
                let common = integer::gcd(over, &divisor);
                *over = &*over * (divisor / common);
                continue;
            }
            let multiple = ratio.numerator() * (&*over / divisor);
            let multiple = i32::try_from(&multiple).map_err(|_| refusal())?;
            if multiple.abs() > MOST_MULTIPLE {
                return Err(refusal());
            }
            match one_unknown {
                Some(unknown) => {
                    let at = self.angles.iter().position(|a| a.unknown == unknown);
                    multiples[at.ok_or_else(refusal)?] = multiple;
                }
                None => known.push((monomial.clone(), multiple)),
            }
        }
        if self.surveying {
            // Nothing cancels by accident before the angles are known.
            let symbol = self.opaque(id);
            return Ok([symbol.clone(), symbol]);
        }
        let one = Polynomial::one();
        let mut pair = Waves::unit(multiples).map(|top| Quotient {
            top,
            bottom: one.clone().into(),
        });
        for (monomial, multiple) in known {
            let [cosine, sine] = self.known_angle(&monomial).map(Polynomial::variable);
            let sine = if multiple < 0 { -&sine } else { sine };
            let unit = [cosine.into(), sine.into()];
            for _ in 0..multiple.unsigned_abs() {
                pair = self.rotated(&pair, &unit);
            }
        }
        Ok(self.turned(pair, &half_turns))
    }

    /// The unknown that a product is.
    fn unknown_alone(&self, monomial: &Monomial) -> Option<usize> {
        let [.., 1] = monomial.exponents() else {
            return None;
        };
        let variable = monomial.exponents().len() - 1;
        match self.ring.variables()[variable].meaning {
            Meaning::Position(unknown) if monomial.total_degree() == 1 => Some(unknown),
            _ => None,
        }
    }

    /// Cosine and sine of a known angle, symbols of their own.
    fn known_angle(&mut self, monomial: &Monomial) -> [usize; 2] {
        if let Some(&pair) = self.known_angles.get(monomial) {
            return pair;
        }
        let over = &self.denominators[monomial];
        let angle = term(monomial);
        let mut text = self.ring.text(&angle);
        if over.is_one()
            && let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'))
            && monomial.total_degree() == 1
        {
            text = inner.to_string();
        }
        let mut value = self.ring.value(&angle);
        if !over.is_one() {
            text = format!("{text}/{over}");
            value = value.map(|value| value / integer::to_f64(over));
        }
        let cosine = self.ring.add(
            format!("cos({text})"),
            Meaning::KnownCosine,
            value.map(f64::cos),
        );
        let sine = self.ring.add(
            format!("sin({text})"),
            Meaning::KnownSine { cosine },
            value.map(f64::sin),
        );
        self.known_angles.insert(monomial.clone(), [cosine, sine]);
        [cosine, sine]
    }

    fn rotated(&self, [c, s]: &[Quotient; 2], [p, q]: &[Quotient; 2]) -> [Quotient; 2] {
        let ring = &self.ring;
        [
            c.times(p, ring).plus(&s.times(q, ring).negated(), ring),
            s.times(p, ring).plus(&c.times(q, ring), ring),
        ]
    }

    /// The pair turned by a rational multiple of pi: exact for multiples of 15 degrees, symbols for others.
    fn turned(&mut self, mut pair: [Quotient; 2], half_turns: &RBig) -> [Quotient; 2] {
        let steps = half_turns * RBig::from(IBig::from(12));
        if !steps.denominator().is_one() {
            let name = format!("pi*{half_turns}");
            let value = integer::rational_to_f64(half_turns) * std::f64::consts::PI;
            let cosine_name = format!("cos({name})");
            let known = self
                .ring
                .variables()
                .iter()
                .position(|variable| variable.name == cosine_name);
            let cosine = known.unwrap_or_else(|| {
                self.warnings
                    .insert(format!("{cosine_name} is kept as a symbol"));
                let cosine = self
                    .ring
                    .add(cosine_name, Meaning::KnownCosine, Some(value.cos()));
                let meaning = Meaning::KnownSine { cosine };
                self.ring
                    .add(format!("sin({name})"), meaning, Some(value.sin()));
                cosine
            });
            let unit = [cosine, cosine + 1].map(|v| Polynomial::variable(v).into());
            return self.rotated(&pair, &unit);
        }
        let mut steps = integer::remainder(steps.numerator(), 24);
        let half = |top: Polynomial| Quotient {
            top: top.into(),
            bottom: Polynomial::constant(2).into(),
        };
        let two = Polynomial::constant(2);
        if steps >= 12 {
            pair = pair.map(|part| part.negated());
            steps -= 12;
        }
        if steps >= 6 {
            pair = self.rotated(&pair, &[half(Polynomial::zero()), half(two)]);
            steps -= 6;
        }
        // Left are 0 to 5 steps of 15 degrees: 45 degrees if they are odd, and twelfths of a turn.
        if steps % 2 == 1 {
            let root = self.ring.root_of_integer(&IBig::from(2));
            let root = root.unwrap_or_default();
            pair = self.rotated(&pair, &[half(root.clone()), half(root)]);
            steps += 24 - 3;
        }
        let thirty = (steps % 24) / 2;
        if thirty > 0 {
            let root = self.ring.root_of_integer(&IBig::from(3));
            let unit = [half(root.unwrap_or_default()), half(Polynomial::one())];
            for _ in 0..thirty {
                pair = self.rotated(&pair, &unit);
            }
        }
        pair
    }

    /// What is wrong, for the user.
    pub fn diagnostic(model: &Model, equation: usize, refusal: &Refusal) -> Diagnostic {
        let place = model.equations[equation].span;
        let text = |id: &ExprId| {
            let text = model.text(*id, 100_000).unwrap_or_default();
            shorten(&text, 80)
        };
        let span = |id: &ExprId| model.spans.get(id).copied().unwrap_or(place);
        match refusal {
            Refusal::NotAlgebraic(id, why) => Diagnostic::error(
                Code::Unsupported,
                span(id),
                format!("`{}` is not algebraic in the positions", text(id)),
            )
            .label("in a constraint")
            .note(*why)
            .help("give this part an unknown of its own, or leave the equation out"),
            Refusal::TooLarge => Diagnostic::error(
                Code::TooLarge,
                place,
                format!("a constraint has more than {MOST_TERMS} terms"),
            )
            .label("this equation")
            .help("give shared parts unknowns of their own"),
            Refusal::Undefined(id) => Diagnostic::error(
                Code::BadValue,
                span(id),
                format!("`{}` has no value", text(id)),
            )
            .label("in a constraint")
            .help("change the parameters in it"),
        }
    }
}

fn term(monomial: &Monomial) -> Polynomial {
    Polynomial::term(monomial.clone(), IBig::ONE)
}

fn number(value: &RBig) -> Quotient {
    Quotient {
        top: Polynomial::constant(value.numerator().clone()).into(),
        bottom: Polynomial::constant(IBig::from(value.denominator().clone())).into(),
    }
}
