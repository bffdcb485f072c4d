//! Expressions as trigonometric polynomials, exactly: section 1 of `docs/theory/configurations.md`.

use crate::ring::{Ring, VariableKind};
use crate::waves::{Quotient, Waves};
use daelight_algebra::{IBig, Monomial, Polynomial, RBig, integer};
use daelight_expr::{BinaryOp, ExprId, FastMap, Node, UnaryOp};
use daelight_lang::{Code, Diagnostic, Model, Symbol, shorten};
use daelight_symbolic::{
    Algebra, BaseMultiples, ConversionBudget, Converter, Reading, Size, Unconverted,
};
use std::collections::{BTreeMap, BTreeSet};

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
    /// The factor of pi.
    half_turns: RBig,
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

/// What was refused, by position.
pub(crate) type Refusals = Vec<(usize, Unconverted)>;

/// Expressions as quotients of trigonometric polynomials, and what they are made of.
pub(crate) fn trigonometric<'a>(
    model: &'a Model,
    keep: &'a [bool],
    expressions: &[ExprId],
) -> Result<(Vec<Quotient>, Trigonometric<'a>), Refusals> {
    let budget = ConversionBudget {
        terms: MOST_TERMS,
        products: usize::MAX,
        deadline: None,
    };
    let mut converter = Converter::new(Trigonometric::new(model, keep), budget);
    let refused = converter.survey(expressions.iter().copied());
    if !refused.is_empty() {
        return Err(refused);
    }
    converter.algebra.find_angles();
    let (mut quotients, mut refused) = (Vec::new(), Vec::new());
    for (at, &expression) in expressions.iter().enumerate() {
        match converter.convert(expression) {
            Ok(quotient) => quotients.push(quotient),
            Err(because) => refused.push((at, because)),
        }
    }
    if refused.is_empty() {
        Ok((quotients, converter.algebra))
    } else {
        Err(refused)
    }
}

/// Quotients of trigonometric polynomials in the unknowns of a model.
pub(crate) struct Trigonometric<'a> {
    model: &'a Model,
    keep: &'a [bool],
    pub ring: Ring,
    /// Unknowns that occur in angles, ascending.
    pub angles: Vec<Angle>,
    pub warnings: BTreeSet<String>,
    depends: Vec<Depends>,
    /// The variables of expressions that stand for themselves.
    opaque: FastMap<ExprId, usize>,
    plain: FastMap<usize, usize>,
    pi: Option<usize>,
    /// Of the products that occur in angles.
    multiples: BaseMultiples<Monomial>,
    /// The arguments that hold unknowns.
    arguments: Vec<Argument>,
    /// Products of known quantities that are left out of arguments with unknowns, since shifts of these take them up.
    absorbed: BTreeSet<Monomial>,
    /// The symbols of known angles: tangents of half of them.
    known_angles: BTreeMap<Monomial, usize>,
}

impl<'a> Trigonometric<'a> {
    fn new(model: &'a Model, keep: &'a [bool]) -> Self {
        let mut ring = Ring::default();
        // In the order of the model, so that formulas read as the user would write them.
        for (index, parameter) in model.parameters.iter().enumerate() {
            if keep[index] {
                let mut name = String::new();
                model.write_name(Symbol::Parameter(index), &mut name);
                let meaning = VariableKind::Parameter(index);
                ring.add(name, meaning, Some(parameter.value));
            }
        }
        Self {
            model,
            keep,
            ring,
            angles: Vec::new(),
            warnings: BTreeSet::new(),
            depends: dependencies(model),
            opaque: FastMap::default(),
            plain: FastMap::default(),
            pi: None,
            multiples: BaseMultiples::default(),
            arguments: Vec::new(),
            absorbed: BTreeSet::new(),
            known_angles: BTreeMap::new(),
        }
    }

    /// The angles, once all arguments were seen.
    fn find_angles(&mut self) {
        for (&unknown, &variable) in &self.plain {
            if let Some(over) = self.multiples.over(&Monomial::power(variable, 1)) {
                let over = u32::try_from(over).unwrap_or(u32::MAX);
                let shift = Shift {
                    text: String::new(),
                    value: Some(0.0),
                };
                self.angles.push(Angle {
                    unknown,
                    over,
                    shift,
                });
            }
        }
        self.angles.sort_by_key(|angle| angle.unknown);
        self.absorb();
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
    fn number_or_symbol(&mut self, id: ExprId) -> Result<Quotient, Unconverted> {
        if self.depends[id.index()].kept && self.keep.iter().any(|keep| *keep) {
            return Ok(self.opaque(id));
        }
        let value = self.model.parameter_value(id);
        let exact = integer::decimal(value).ok_or(Unconverted::Undefined(id))?;
        let text = self.model.text(id, 200).unwrap_or_default();
        self.warnings.insert(format!(
            "{text} is not algebraic; the decimal {value} stands for it"
        ));
        Ok(number(&exact))
    }

    /// The terms of an argument: pi with its factor, unknowns with theirs, and products of known quantities.
    fn argument(&mut self, id: ExprId, value: &Quotient) -> Result<Argument, Unconverted> {
        let refusal = Unconverted::NotAlgebraic(id, "the angle is no sum of multiples of unknowns");
        let (top, bottom) = value.as_polynomial().ok_or(refusal.clone())?;
        let mut argument = Argument::default();
        for (monomial, coefficient) in top.terms() {
            let ratio = RBig::from(coefficient.clone()) / RBig::from(bottom.clone());
            let is_pi = |pi| *monomial == Monomial::power(pi, 1);
            if self.pi.is_some_and(is_pi) {
                argument.half_turns = ratio;
            } else if let Some(unknown) = self.unknown_alone(monomial) {
                argument.unknowns.insert(unknown, ratio);
            } else if self.ring.is_known(&term(monomial)) {
                argument.known.insert(monomial.clone(), ratio);
            } else {
                return Err(refusal);
            }
        }
        Ok(argument)
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
        let over = self.multiples.over(monomial).unwrap_or(&IBig::ONE) * 2;
        let half = RBig::from(self.multiples.common(monomial)) / RBig::from(over);
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
}

impl Algebra for Trigonometric<'_> {
    type Value = Quotient;

    const OLDEST_FIRST: bool = false;

    /// By the operation that a number was folded from: pi/4 is no decimal.
    fn read(&self, id: ExprId) -> Reading {
        use BinaryOp::{Add, Div, Mul, Pow, Sub};
        use UnaryOp::{Cos, Neg, Sin, Sqrt, Tan};
        let graph = &self.model.graph;
        let depends = self.depends[id.index()];
        if depends.time && !depends.unknown {
            return Reading::Whole;
        }
        let node = graph.folded_from(id).unwrap_or_else(|| graph.node(id));
        match node {
            Node::Constant(bits) if f64::from_bits(bits) != std::f64::consts::PI => {
                Reading::Operation(node)
            }
            Node::Symbol(symbol) => match self.model.symbols.get(symbol) {
                Symbol::Parameter(index) if !self.keep[index] => {
                    Reading::Definition(self.model.parameters[index].definition)
                }
                _ => Reading::Whole,
            },
            Node::Unary(Neg | Sqrt | Sin | Cos | Tan, _)
            | Node::Binary(Add | Sub | Mul | Div | Pow, ..) => Reading::Operation(node),
            _ => Reading::Whole,
        }
    }

    fn alone(&mut self, id: ExprId) -> Result<Quotient, Unconverted> {
        let depends = self.depends[id.index()];
        if depends.time && !depends.unknown {
            return Ok(self.opaque(id));
        }
        let variable = match self.model.graph.node(id) {
            Node::Constant(bits) if f64::from_bits(bits) == std::f64::consts::PI => {
                let ring = &mut self.ring;
                let value = Some(std::f64::consts::PI);
                *(self.pi).get_or_insert_with(|| ring.add("pi", VariableKind::Known, value))
            }
            Node::Symbol(symbol) => match self.model.symbols.get(symbol) {
                Symbol::Parameter(index) => {
                    let variable = self.ring.find(&VariableKind::Parameter(index));
                    variable.expect("kept parameters are in the ring")
                }
                Symbol::Unknown { unknown, order: 0 } => match self.plain.get(&unknown) {
                    Some(&variable) => variable,
                    None => {
                        let mut name = String::new();
                        self.model.write_symbol(symbol, &mut name);
                        let variable = self.ring.add(name, VariableKind::Position(unknown), None);
                        self.plain.insert(unknown, variable);
                        variable
                    }
                },
                _ => {
                    let because = "a derivative is no position";
                    return Err(Unconverted::NotAlgebraic(id, because));
                }
            },
            _ if !depends.unknown => return self.number_or_symbol(id),
            Node::Binary(BinaryOp::Pow, ..) => {
                let because = "the exponent is not a small whole number";
                return Err(Unconverted::NotAlgebraic(id, because));
            }
            _ => {
                return Err(Unconverted::NotAlgebraic(
                    id,
                    "only sums, products, quotients, whole powers, sines and cosines are algebraic",
                ));
            }
        };
        Ok(Polynomial::variable(variable).into())
    }

    fn number(&mut self, value: &RBig) -> Quotient {
        number(value)
    }

    fn as_number(&self, value: &Quotient) -> Option<RBig> {
        let (top, bottom) = value.as_polynomial()?;
        Some(RBig::from(top.as_constant()?) / RBig::from(bottom))
    }

    fn negated(&mut self, a: &Quotient) -> Quotient {
        a.negated()
    }

    fn sum(&mut self, a: &Quotient, b: &Quotient) -> Option<Quotient> {
        Some(a.plus(b, &self.ring))
    }

    fn product(&mut self, a: &Quotient, b: &Quotient) -> Option<Quotient> {
        Some(a.times(b, &self.ring))
    }

    fn quotient(&mut self, a: &Quotient, b: &Quotient) -> Option<Quotient> {
        a.over(b, &self.ring)
    }

    fn size(&self, value: &Quotient) -> Size {
        let parts = || [&value.top, &value.bottom].into_iter();
        let all = parts().flat_map(Waves::terms).flat_map(|(_, parts)| parts);
        Size {
            top: value.top.n_terms(),
            bottom: value.bottom.n_terms(),
            degree: all.map(Polynomial::total_degree).max().unwrap_or(0),
        }
    }

    /// A square root of what holds no unknown.
    fn root(
        &mut self,
        id: ExprId,
        _: ExprId,
        argument: &Quotient,
    ) -> Result<Quotient, Unconverted> {
        let refusal = Unconverted::NotAlgebraic(id, "a root of unknowns is not a polynomial");
        let (top, bottom) = argument.as_polynomial().ok_or(refusal.clone())?;
        if !self.ring.is_known(&top) {
            return Err(refusal);
        }
        // sqrt(t / b) = sqrt(t b) / b
        let root = self.ring.root_of(&top.scaled(&bottom));
        Ok(Quotient {
            top: root.ok_or(Unconverted::Undefined(id))?.into(),
            bottom: Polynomial::constant(bottom).into(),
        })
    }

    fn survey(&mut self, id: ExprId, argument: &Quotient) -> Result<Quotient, Unconverted> {
        let argument = self.argument(id, argument)?;
        for (unknown, ratio) in &argument.unknowns {
            let part = Monomial::power(self.plain[unknown], 1);
            self.multiples.note(part, ratio);
        }
        for (part, ratio) in &argument.known {
            self.multiples.note(part.clone(), ratio);
        }
        if !argument.unknowns.is_empty() {
            self.arguments.push(argument);
        }
        Ok(self.opaque(id))
    }

    /// Cosine and sine of a sum of multiples of unknowns, of pi and of other terms: (2).
    fn circle(&mut self, id: ExprId, argument: &Quotient) -> Result<[Quotient; 2], Unconverted> {
        let refusal = Unconverted::NotAlgebraic(id, "the angle is no sum of multiples of unknowns");
        let argument = self.argument(id, argument)?;
        let within = |multiple: IBig| {
            let multiple = i32::try_from(&multiple).ok();
            multiple.filter(|multiple| multiple.abs() <= MOST_MULTIPLE)
        };
        let mut multiples: Vec<i32> = vec![0; self.angles.len()];
        for (unknown, ratio) in &argument.unknowns {
            let part = Monomial::power(self.plain[unknown], 1);
            let multiple = self.multiples.multiple(part, ratio).and_then(within);
            let at = self.angles.iter().position(|a| a.unknown == *unknown);
            multiples[at.ok_or(refusal.clone())?] = multiple.ok_or(refusal.clone())?;
        }
        let one = Polynomial::one();
        let mut pair = Waves::unit(multiples).map(|top| Quotient {
            top,
            bottom: one.clone().into(),
        });
        for (part, ratio) in argument.known.into_iter().rev() {
            if !argument.unknowns.is_empty() && self.absorbed.contains(&part) {
                continue;
            }
            let multiple = self.multiples.multiple(part.clone(), &ratio);
            let common = self.multiples.common(&part);
            let multiple = multiple.and_then(|multiple| within(multiple / common));
            let multiple = multiple.ok_or(refusal.clone())?;
            let mut unit = unit_of_tangent(self.known_angle(&part));
            if multiple < 0 {
                unit[1] = unit[1].negated();
            }
            for _ in 0..multiple.unsigned_abs() {
                pair = self.rotated(&pair, &unit);
            }
        }
        Ok(self.turned(pair, &argument.half_turns))
    }
}

/// What is wrong, for the user.
pub(crate) fn diagnostic(model: &Model, equation: usize, because: &Unconverted) -> Diagnostic {
    let place = model.equations[equation].span;
    let text = |id: &ExprId| {
        let text = model.text(*id, 100_000).unwrap_or_default();
        shorten(&text, 80)
    };
    let span = |id: &ExprId| model.spans.get(id).copied().unwrap_or(place);
    match because {
        Unconverted::NotAlgebraic(id, why) => Diagnostic::error(
            Code::Unsupported,
            span(id),
            format!("`{}` is not algebraic in the positions", text(id)),
        )
        .label("in a constraint")
        .note(*why)
        .help("give this part an unknown of its own, or leave the equation out"),
        Unconverted::Undefined(id) => Diagnostic::error(
            Code::BadValue,
            span(id),
            format!("`{}` has no value", text(id)),
        )
        .label("in a constraint")
        .help("change the parameters in it"),
        Unconverted::Terms | Unconverted::Products | Unconverted::Degree | Unconverted::Time => {
            let message = match because {
                Unconverted::Degree => "the degree of a constraint is too high".to_string(),
                _ => format!("a constraint has more than {MOST_TERMS} terms"),
            };
            Diagnostic::error(Code::TooLarge, place, message)
                .label("this equation")
                .help("give shared parts unknowns of their own")
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
