//! Expressions as trigonometric polynomials, exactly: section 1 of `docs/theory/configurations.md`.

use crate::ring::{Ring, VariableKind};
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

/// An angle of the mechanism: an unknown of the model, shifted by a known angle and divided by a whole number.
#[derive(Clone, PartialEq, Debug)]
pub struct Angle {
    /// The unknown.
    pub unknown: usize,
    /// What it is divided by.
    pub over: u32,
    /// What is added to the unknown.
    pub shift: Shift,
}

/// A known angle that is added to an unknown wherever it occurs, so that it can be left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Shift {
    /// ` + 3/10`, or nothing.
    pub text: String,
    /// Its value; `None` where it holds the time or a parameter that is kept as a symbol: the sum of both is told then.
    pub value: Option<f64>,
}

/// The argument of a sine or cosine: multiples of unknowns, and of products of known quantities.
#[derive(Default)]
struct Argument {
    unknowns: BTreeMap<usize, RBig>,
    known: BTreeMap<Monomial, RBig>,
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

/// What each expression of a model depends on.
fn dependencies(model: &Model) -> Vec<Depends> {
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
    depends
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
    /// For each product of known quantities in angles, the greatest common divisor of its multiples.
    common: BTreeMap<Monomial, IBig>,
    /// The arguments that hold unknowns.
    arguments: Vec<Argument>,
    /// Products of known quantities that are left out of arguments with unknowns, since shifts of these take them up.
    absorbed: BTreeSet<Monomial>,
    /// The symbols of known angles: tangents of half of them.
    known_angles: BTreeMap<Monomial, usize>,
    surveying: bool,
}

impl<'a> Converter<'a> {
    /// Finds the angles of the expressions; after that [`Converter::convert`] makes polynomials of them.
    pub fn new(
        model: &'a Model,
        keep: &'a [bool],
        expressions: &[ExprId],
    ) -> Result<Self, Vec<(usize, Refusal)>> {
        let depends = dependencies(model);
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
            common: BTreeMap::new(),
            arguments: Vec::new(),
            absorbed: BTreeSet::new(),
            known_angles: BTreeMap::new(),
            surveying: true,
        };
        // In the order of the model, so that formulas read as the user would write them.
        for (index, parameter) in model.parameters.iter().enumerate() {
            if keep[index] {
                let mut name = String::new();
                model.write_name(Symbol::Parameter(index), &mut name);
                let meaning = VariableKind::Parameter(index);
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
                let shift = Shift {
                    text: String::new(),
                    value: Some(0.0),
                };
                converter.angles.push(Angle {
                    unknown,
                    over,
                    shift,
                });
            }
        }
        converter.angles.sort_by_key(|angle| angle.unknown);
        converter.absorb();
        Ok(converter)
    }

    /// Finds shifts of the unknowns that take up known angles: s with k·s = φ for every argument k·y + φ, each product of known
    /// quantities on its own, section 1 of `docs/theory/configurations.md`.
    fn absorb(&mut self) {
        let products: BTreeSet<Monomial> = (self.arguments.iter())
            .flat_map(|argument| argument.known.keys().cloned())
            .collect();
        let unknowns: Vec<usize> = self.angles.iter().map(|angle| angle.unknown).collect();
        for product in products {
            let rows = self.arguments.iter().map(|argument| {
                let of = |unknown: &usize| argument.unknowns.get(unknown).cloned();
                let known = argument.known.get(&product).cloned();
                (unknowns.iter())
                    .map(|unknown| of(unknown).unwrap_or(RBig::ZERO))
                    .chain([known.unwrap_or(RBig::ZERO)])
                    .collect::<Vec<RBig>>()
            });
            let Some(shifts) = solution(rows.collect(), unknowns.len()) else {
                continue;
            };
            let angle = term(&product);
            let text = self.ring.text(&angle);
            let inner = text
                .strip_prefix('(')
                .and_then(|text| text.strip_suffix(')'));
            let text = inner.unwrap_or(&text).to_string();
            for (own, shift) in self.angles.iter_mut().zip(shifts) {
                if shift == RBig::ZERO {
                    continue;
                }
                let is_negative = shift < RBig::ZERO;
                let size = if is_negative {
                    -shift.clone()
                } else {
                    shift.clone()
                };
                let text = match (text.as_str(), size == RBig::ONE) {
                    ("1", _) => size.to_string(),
                    (text, true) => text.to_string(),
                    (text, false) => format!("{size}*{text}"),
                };
                let sign = if is_negative { '-' } else { '+' };
                own.shift.text.push_str(&format!(" {sign} {text}"));
                let is_number = product == Monomial::one();
                let part = integer::rational_to_f64(&shift);
                own.shift.value = own.shift.value.filter(|_| is_number).map(|sum| sum + part);
            }
            self.absorbed.insert(product);
        }
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
                        .get_or_insert_with(|| ring.add("pi", VariableKind::Known, Some(value)));
                    return Ok(Polynomial::variable(pi).into());
                }
                number(&integer::decimal(value).ok_or_else(undefined)?)
            }
            Node::Symbol(symbol) => match self.model.symbols.get(symbol) {
                Symbol::Parameter(index) if self.keep[index] => {
                    let variable = self.ring.find(&VariableKind::Parameter(index));
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
                            let variable =
                                self.ring.add(name, VariableKind::Position(unknown), None);
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
                let variable = self.ring.add(name, VariableKind::Known, None);
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
        let mut own = Argument::default();
        let has_unknowns = (top.terms().iter()).any(|(m, _)| self.unknown_alone(m).is_some());
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
            match one_unknown {
                Some(unknown) => own.unknowns.insert(unknown, ratio.clone()),
                None => own.known.insert(monomial.clone(), ratio.clone()),
            };
            if has_unknowns && one_unknown.is_none() && self.absorbed.contains(monomial) {
                continue;
            }
            if self.surveying {
                self.survey(monomial, &ratio, one_unknown.is_none());
                continue;
            }
            let over = &self.denominators[monomial];
            let mut multiple = ratio.numerator() * (over / IBig::from(ratio.denominator().clone()));
            if one_unknown.is_none()
                && let Some(common) = self.common.get(monomial).filter(|c| !c.is_zero())
            {
                multiple /= common;
            }
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
            if has_unknowns {
                self.arguments.push(own);
            }
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
            let tangent = self.known_angle(&monomial);
            let mut unit = unit_of_tangent(tangent);
            if multiple < 0 {
                unit[1] = unit[1].negated();
            }
            for _ in 0..multiple.unsigned_abs() {
                pair = self.rotated(&pair, &unit);
            }
        }
        Ok(self.turned(pair, &half_turns))
    }

    /// Notes a multiple of a product in an angle: the least denominator of all of them, and of known products their common divisor.
    fn survey(&mut self, monomial: &Monomial, ratio: &RBig, is_known: bool) {
        let divisor = IBig::from(ratio.denominator().clone());
        let over = (self.denominators.entry(monomial.clone())).or_insert(IBig::ONE);
        let factor = &divisor / integer::gcd(over, &divisor);
        *over = &*over * &factor;
        if is_known {
            let of_this = ratio.numerator() * (&*over / divisor);
            let common = self.common.entry(monomial.clone()).or_insert(IBig::ZERO);
            *common = integer::gcd(&(&*common * factor), &of_this);
        }
    }

    /// The unknown that a product is.
    fn unknown_alone(&self, monomial: &Monomial) -> Option<usize> {
        let [.., 1] = monomial.exponents() else {
            return None;
        };
        let variable = monomial.exponents().len() - 1;
        match self.ring.variables()[variable].meaning {
            VariableKind::Position(unknown) if monomial.total_degree() == 1 => Some(unknown),
            _ => None,
        }
    }

    /// The tangent of half of a known angle, a symbol of its own: cosine and sine are quotients of it, so that their relation holds
    /// whatever is divided, (2) of `docs/theory/configurations.md`.
    fn known_angle(&mut self, monomial: &Monomial) -> usize {
        if let Some(&tangent) = self.known_angles.get(monomial) {
            return tangent;
        }
        let angle = term(monomial);
        let mut text = self.ring.text(&angle);
        if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'))
            && monomial.total_degree() == 1
        {
            text = inner.to_string();
        }
        let over = RBig::from(self.denominators[monomial].clone() * 2);
        let common = self.common.get(monomial).filter(|c| !c.is_zero());
        let half = RBig::from(common.cloned().unwrap_or(IBig::ONE)) / over;
        let text = match (text.as_str(), half.numerator().is_one()) {
            ("1", _) => format!("{half}"),
            (_, true) => format!("{text}/{}", half.denominator()),
            _ => format!("{}*{text}/{}", half.numerator(), half.denominator()),
        };
        let value = self.ring.value(&angle);
        let value = value.map(|value| (value * integer::rational_to_f64(&half)).tan());
        let tangent = self
            .ring
            .add(format!("tan({text})"), VariableKind::Known, value);
        self.known_angles.insert(monomial.clone(), tangent);
        tangent
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
            let half = half_turns / RBig::from(IBig::from(2));
            let name = format!("tan(pi*{half})");
            let value = integer::rational_to_f64(&half) * std::f64::consts::PI;
            let known = self.ring.variables().iter();
            let known = known.clone().position(|variable| variable.name == name);
            let tangent = known.unwrap_or_else(|| {
                self.warnings.insert(format!("{name} is kept as a symbol"));
                self.ring.add(name, VariableKind::Known, Some(value.tan()))
            });
            return self.rotated(&pair, &unit_of_tangent(tangent));
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

/// A solution of linear equations with their right sides in the last column, unknowns that are free at 0; `None` where there is none.
fn solution(mut rows: Vec<Vec<RBig>>, n: usize) -> Option<Vec<RBig>> {
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    for column in 0..n {
        let next = pivots.len();
        let Some(at) = (next..rows.len()).find(|&row| rows[row][column] != RBig::ZERO) else {
            continue;
        };
        rows.swap(next, at);
        let pivot = rows[next].clone();
        for (row, values) in rows.iter_mut().enumerate() {
            if row != next && values[column] != RBig::ZERO {
                let factor = &values[column] / &pivot[column];
                for (value, of_pivot) in values.iter_mut().zip(&pivot) {
                    *value -= &factor * of_pivot;
                }
            }
        }
        pivots.push((next, column));
    }
    if rows[pivots.len()..].iter().any(|row| row[n] != RBig::ZERO) {
        return None;
    }
    let mut found = vec![RBig::ZERO; n];
    for (row, column) in pivots {
        found[column] = &rows[row][n] / &rows[row][column];
    }
    Some(found)
}

/// Cosine and sine of an angle by the tangent t of its half: (1 - t²)/(1 + t²) and 2t/(1 + t²).
fn unit_of_tangent(tangent: usize) -> [Quotient; 2] {
    let t = Polynomial::variable(tangent);
    let (one, square) = (Polynomial::one(), t.pow(2));
    let over = |top: Polynomial| Quotient {
        top: top.into(),
        bottom: (&one + &square).into(),
    };
    [over(&one - &square), over(t.scaled(&IBig::from(2)))]
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
