//! Are the units of what is added, compared and made equal the same? Dimension by dimension, on the flat equations.
//!
//! A quantity has the dimension of its `unit`. A number in the text may hide a unit (`10*sin(100*time)`), so that what is
//! multiplied with it is of any dimension, unless the check is strict. Angles have no dimension. Numbers are used as they
//! stand: a quantity in `mH` beside others in V, A and s is a thousand times what it should be, and is told.

use crate::diagnostic::{Code, Diagnostic, MAX_ERRORS, nearest};
use crate::model::{Model, Symbol, shorten};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, FastMap, Node, UnaryOp, Walker};
use std::f64::consts::PI;

/// How units are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnitCheck {
    /// Not at all.
    Off,
    /// Warnings; numbers may hide units.
    #[default]
    Warn,
    /// Errors; numbers have no unit.
    Strict,
}

/// A unit: its dimension, and how large it is in base units.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Unit {
    dimension: Dimension,
    size: f64,
}

impl Unit {
    const NONE: Self = Self {
        dimension: NO_DIMENSION,
        size: 1.0,
    };

    fn times(self, other: Self, sign: i32) -> Self {
        Self {
            dimension: std::array::from_fn(|at| self.dimension[at] + sign * other.dimension[at]),
            size: self.size * other.size.powi(sign),
        }
    }

    /// Whether numbers in both units mean the same. Sizes are products of few decimal numbers: those that differ by rounding alone are
    /// the same.
    fn is(self, other: Self) -> bool {
        let rounding = 1000.0 * f64::EPSILON;
        self.dimension == other.dimension && (self.size / other.size).ln().abs() < rounding
    }
}

/// Exponents of m, kg, s, A, K, mol, cd, in twelfths, so that roots of roots have one.
type Dimension = [i32; 7];

const BASE: [&str; 7] = ["m", "kg", "s", "A", "K", "mol", "cd"];
const WHOLE: i32 = 12;
const NO_DIMENSION: Dimension = [0; 7];
const PER_SECOND: Dimension = [0, 0, -WHOLE, 0, 0, 0, 0];

/// Symbols that angles are counted with.
const ANGLES: [&str; 4] = ["rad", "deg", "rev", "rpm"];

/// Symbols of units with the exponents of their dimension and their size. Temperatures are differences: `degC` counts as K.
const SYMBOLS: &[(&str, [i32; 7], f64)] = &[
    ("m", [1, 0, 0, 0, 0, 0, 0], 1.0),
    ("g", [0, 1, 0, 0, 0, 0, 0], 0.001),
    ("t", [0, 1, 0, 0, 0, 0, 0], 1e3),
    ("s", [0, 0, 1, 0, 0, 0, 0], 1.0),
    ("min", [0, 0, 1, 0, 0, 0, 0], 60.0),
    ("h", [0, 0, 1, 0, 0, 0, 0], 3600.0),
    ("d", [0, 0, 1, 0, 0, 0, 0], 86_400.0),
    ("A", [0, 0, 0, 1, 0, 0, 0], 1.0),
    ("K", [0, 0, 0, 0, 1, 0, 0], 1.0),
    ("degC", [0, 0, 0, 0, 1, 0, 0], 1.0),
    ("mol", [0, 0, 0, 0, 0, 1, 0], 1.0),
    ("cd", [0, 0, 0, 0, 0, 0, 1], 1.0),
    ("rad", [0; 7], 1.0),
    ("sr", [0; 7], 1.0),
    ("deg", [0; 7], PI / 180.0),
    ("rev", [0; 7], 2.0 * PI),
    ("rpm", [0, 0, -1, 0, 0, 0, 0], PI / 30.0),
    ("Bq", [0, 0, -1, 0, 0, 0, 0], 1.0),
    ("Gy", [2, 0, -2, 0, 0, 0, 0], 1.0),
    ("Sv", [2, 0, -2, 0, 0, 0, 0], 1.0),
    ("kat", [0, 0, -1, 0, 0, 1, 0], 1.0),
    ("Hz", [0, 0, -1, 0, 0, 0, 0], 1.0),
    ("N", [1, 1, -2, 0, 0, 0, 0], 1.0),
    ("Pa", [-1, 1, -2, 0, 0, 0, 0], 1.0),
    ("bar", [-1, 1, -2, 0, 0, 0, 0], 1e5),
    ("J", [2, 1, -2, 0, 0, 0, 0], 1.0),
    ("W", [2, 1, -3, 0, 0, 0, 0], 1.0),
    ("VA", [2, 1, -3, 0, 0, 0, 0], 1.0),
    ("var", [2, 1, -3, 0, 0, 0, 0], 1.0),
    ("eV", [2, 1, -2, 0, 0, 0, 0], 1.602_176_634 / 1e19),
    ("C", [0, 0, 1, 1, 0, 0, 0], 1.0),
    ("V", [2, 1, -3, -1, 0, 0, 0], 1.0),
    ("F", [-2, -1, 4, 2, 0, 0, 0], 1.0),
    ("Ohm", [2, 1, -3, -2, 0, 0, 0], 1.0),
    ("S", [-2, -1, 3, 2, 0, 0, 0], 1.0),
    ("Wb", [2, 1, -2, -1, 0, 0, 0], 1.0),
    ("T", [0, 1, -2, -1, 0, 0, 0], 1.0),
    ("H", [2, 1, -2, -2, 0, 0, 0], 1.0),
    ("lm", [0, 0, 0, 0, 0, 0, 1], 1.0),
    ("lx", [-2, 0, 0, 0, 0, 0, 1], 1.0),
    ("l", [3, 0, 0, 0, 0, 0, 0], 0.001),
    ("L", [3, 0, 0, 0, 0, 0, 0], 0.001),
];

/// Letters in front of a symbol, with the power of ten they stand for.
const PREFIXES: &[(&str, i32)] = &[
    ("da", 1),
    ("y", -24),
    ("z", -21),
    ("a", -18),
    ("f", -15),
    ("p", -12),
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("c", -2),
    ("d", -1),
    ("h", 2),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// The symbols that a unit is made of, with their exponents; `None` where it cannot be read.
fn factors_of(text: &str) -> Option<Vec<(&str, i32)>> {
    let (above, below) = match text.split_once('/') {
        Some((above, below)) => (above, below),
        None => (text, ""),
    };
    let below = match below.strip_prefix('(') {
        Some(inside) => inside.strip_suffix(')')?,
        None => below,
    };
    let above = above
        .strip_prefix('(')
        .and_then(|a| a.strip_suffix(')'))
        .unwrap_or(above);
    let mut found = Vec::new();
    for (factors, sign) in [(above, 1), (below, -1)] {
        for factor in factors.split('.').filter(|factor| !factor.is_empty()) {
            let digits = |c: char| c.is_ascii_digit() || c == '-' || c == '+';
            let symbol = factor.trim_end_matches(digits);
            if symbol.is_empty() {
                if factor == "1" {
                    continue;
                }
                return None;
            }
            let exponent = match &factor[symbol.len()..] {
                "" => 1,
                digits => digits.trim_start_matches('+').parse::<i32>().ok()?,
            };
            if exponent.abs() >= 1000 {
                return None;
            }
            found.push((symbol, sign * exponent));
        }
    }
    Some(found)
}

/// A unit as text; `None` where it cannot be read.
fn unit_of(text: &str) -> Option<Unit> {
    let mut unit = Unit::NONE;
    for (symbol, exponent) in factors_of(text)? {
        unit = unit.times(symbol_unit(symbol)?.1, exponent);
    }
    Some(unit)
}

/// A symbol without its prefix, and what it stands for with it.
fn symbol_unit(symbol: &str) -> Option<(&'static str, Unit)> {
    let find = |symbol: &str, power: i32| {
        let (name, dimension, size) = SYMBOLS.iter().find(|(known, ..)| *known == symbol)?;
        let unit = Unit {
            dimension: dimension.map(|exponent| WHOLE * exponent),
            size: size * 10f64.powi(power),
        };
        Some((*name, unit))
    };
    let prefixed = |&(prefix, power): &(&str, i32)| find(symbol.strip_prefix(prefix)?, power);
    find(symbol, 0).or_else(|| PREFIXES.iter().find_map(prefixed))
}

/// A unit in base units: a number in it, times the factor, plus the offset, is the number in those.
#[derive(Clone, PartialEq, Debug)]
pub struct BaseUnits {
    /// Names of base units with their exponents, angles among them.
    pub exponents: Vec<(&'static str, i32)>,
    /// How large it is.
    pub factor: f64,
    /// Where its scale begins: that of `degC` alone is not at zero.
    pub offset: f64,
}

/// The base units of a unit as text; `None` where it cannot be read.
pub fn base_units(text: &str) -> Option<BaseUnits> {
    let (mut unit, mut angles) = (Unit::NONE, 0);
    for (symbol, exponent) in factors_of(text)? {
        let (name, one) = symbol_unit(symbol)?;
        unit = unit.times(one, exponent);
        if ANGLES.contains(&name) {
            angles += exponent;
        }
    }
    let exponents = BASE.into_iter().zip(unit.dimension.map(|e| e / WHOLE));
    let exponents = exponents.chain([("rad", angles)]);
    Some(BaseUnits {
        exponents: exponents.filter(|(_, exponent)| *exponent != 0).collect(),
        factor: unit.size,
        offset: if text == "degC" { 273.15 } else { 0.0 },
    })
}

/// A unit in base units: `kg.m2/s2`, or `0.001 kg.m2/s2`.
fn written(unit: Unit) -> String {
    let dimension = unit.dimension;
    let base = written_dimension(dimension);
    let is_angle = dimension == NO_DIMENSION
        && Unit {
            size: PI / 180.0,
            ..unit
        }
        .is(unit);
    // A newton metre may be a torque or an energy, and stays in base units.
    let named = ["N", "Pa", "W", "V", "Ohm", "F", "H", "T", "Wb"];
    let is_named = |name: &str| unit_of(name).is_some_and(|other| other.is(unit));
    let usual = ["mm", "cm", "km", "g", "ms", "min", "h", "mA"].into_iter();
    if let Some(name) = named.into_iter().chain(usual).find(|name| is_named(name)) {
        return name.to_string();
    }
    match (Unit { size: 1.0, ..unit }).is(unit) {
        true => base,
        false if is_angle => "degrees".to_string(),
        false if dimension == NO_DIMENSION => format!("parts of {}", rounded(unit.size)),
        false => format!("{} {base}", rounded(unit.size)),
    }
}

/// A size to six digits.
fn rounded(size: f64) -> f64 {
    format!("{size:.5e}").parse().unwrap_or(size)
}

fn written_dimension(dimension: Dimension) -> String {
    let power = |exponent: i32| match exponent {
        e if e == WHOLE => String::new(),
        e if e % WHOLE == 0 => (e / WHOLE).to_string(),
        e => format!("^({e}/{WHOLE})"),
    };
    let side = |sign: i32| -> Vec<String> {
        let order = [1, 0, 2, 3, 4, 5, 6];
        let factors = order.iter().filter(|&&at| dimension[at] * sign > 0);
        factors
            .map(|&at| format!("{}{}", BASE[at], power(dimension[at] * sign)))
            .collect()
    };
    let (above, below) = (side(1).join("."), side(-1));
    match (above.as_str(), below.as_slice()) {
        ("", []) => "no unit".to_string(),
        (_, []) => above,
        ("", [one]) => format!("1/{one}"),
        ("", many) => format!("1/({})", many.join(".")),
        (_, [one]) => format!("{above}/{one}"),
        (_, many) => format!("{above}/({})", many.join(".")),
    }
}

/// What is known of the dimension of an expression.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Known {
    /// Nothing: a quantity without a unit takes part.
    Anything,
    /// A number of the text, which may hide a unit.
    Number,
    /// A value without a dimension, such as a sine, that may stand for one of a hidden unit.
    Pure,
    Is(Unit),
}

/// What a rate counts per second. A `1/s` counts neither and goes with both: a frequency is one over a period, and an angular
/// frequency one over a time constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Counts {
    /// Whole turns: `Hz`.
    Turns,
    /// Angles: `rad/s`, `rpm`.
    Angles,
}

/// Two expressions that ought to have one dimension.
struct Clash {
    /// The operation in which they meet; `None` for the sides of an equation.
    at: Option<ExprId>,
    sides: [(ExprId, Unit); 2],
}

struct Check<'a> {
    model: &'a Model,
    is_strict: bool,
    found: FastMap<ExprId, Known>,
    /// Rates that say what they count: quantities alone, and sums of such.
    rates: FastMap<ExprId, Counts>,
    clashes: Vec<Clash>,
}

/// One message for each place where quantities of different units meet.
pub fn check_units(model: &Model, units: UnitCheck) -> Vec<Diagnostic> {
    if units == UnitCheck::Off || !model.declarations.iter().any(|d| !d.unit.is_empty()) {
        return Vec::new();
    }
    let mut check = Check {
        model,
        is_strict: units == UnitCheck::Strict,
        found: FastMap::default(),
        rates: FastMap::default(),
        clashes: Vec::new(),
    };
    let mut walker = Walker::new();
    let mut messages = Vec::new();
    let equations = model.equations.iter();
    let equations = equations.map(|e| (None, Some(e.left), e.right, e.span));
    let parameters = model.parameters.iter().filter(|p| !p.is_constant);
    let parameters = parameters.map(|p| {
        let declared = &model.declarations[p.declaration];
        let own = Some(declared.unit.as_str());
        (own, None, p.definition, declared.span)
    });
    // Start values are numbers, as a rule, which fit every unit: those are compared that parameters with units give.
    let has_unit = |value: ExprId| {
        let symbols = Walker::new().symbols(&model.graph, &[value]).into_iter();
        let mut symbols = symbols.map(|id| model.symbols.get(id));
        symbols.any(|symbol| match symbol {
            Symbol::Parameter(at) => {
                let declaration = model.parameters[at].declaration;
                !model.declarations[declaration].unit.is_empty()
            }
            _ => false,
        })
    };
    let starts = model.unknowns.iter();
    let starts = starts.filter(|u| u.velocity_of.is_none());
    let starts = starts.flat_map(|u| {
        let declared = &model.declarations[u.declaration];
        let span = u.start_span.unwrap_or(declared.span);
        let values = [u.start, u.min, u.max].into_iter().flatten();
        let values = values.filter(|value| has_unit(*value));
        values.map(move |value| (Some(declared.unit.as_str()), None, value, span))
    });
    for (own, left, right, span) in equations.chain(parameters).chain(starts) {
        for (left, right) in check.alternatives(&mut walker, left, right) {
            let known = |expr: ExprId| (check.of(expr), check.rates.get(&expr).copied());
            let of_declared = || (declared_dimension(own.unwrap_or("")), own.and_then(rate_of));
            let sides = [left.map_or_else(of_declared, known), known(right)];
            if let [(Known::Is(a), counts), (Known::Is(b), others)] = sides
                && !mean_the_same([(a, counts), (b, others)])
            {
                let clash = Clash {
                    at: None,
                    sides: [(left.unwrap_or(right), a), (right, b)],
                };
                messages.push(check.message(&clash, span, own));
            }
        }
        for clash in std::mem::take(&mut check.clashes) {
            messages.push(check.message(&clash, span, own));
        }
        if messages.len() >= MAX_ERRORS {
            break;
        }
    }
    messages.extend(unknown_units(model));
    if units == UnitCheck::Strict {
        for message in &mut messages {
            message.severity = crate::Severity::Error;
        }
    }
    messages
}

/// Units that are none: what they belong to is not compared.
fn unknown_units(model: &Model) -> Vec<Diagnostic> {
    let mut told: Vec<&str> = Vec::new();
    let mut messages = Vec::new();
    for declared in &model.declarations {
        let unit = declared.unit.as_str();
        if unit.is_empty() || unit_of(unit).is_some() || told.contains(&unit) {
            continue;
        }
        told.push(unit);
        let symbols = SYMBOLS.iter().map(|(symbol, ..)| *symbol);
        let meant = respelt(unit);
        let meant = with_dot(&meant).unwrap_or(meant);
        let near = nearest(unit.trim_end_matches('s'), symbols)
            .or_else(|| nearest(unit, SYMBOLS.iter().map(|(symbol, ..)| *symbol)));
        messages.push(
            Diagnostic::warning(
                Code::UnitMismatch,
                declared.span,
                format!("the unit `{unit}` is not known"),
            )
            .label("this quantity is not compared with others")
            .help(match near {
                _ if unit_of(&meant).is_some() => format!("write `{meant}`"),
                Some(near) => format!("did you mean `{near}`?"),
                None => "write it in units such as m, kg, s, N, V, Ohm: kg.m2/s2".to_string(),
            }),
        );
        if messages.len() >= MAX_ERRORS {
            break;
        }
    }
    messages
}

/// Names of units as they are said, with their symbols.
const NAMES: &[(&str, &str)] = &[
    ("meter", "m"),
    ("metre", "m"),
    ("gram", "g"),
    ("kilogram", "kg"),
    ("second", "s"),
    ("sec", "s"),
    ("minute", "min"),
    ("hour", "h"),
    ("ampere", "A"),
    ("amp", "A"),
    ("kelvin", "K"),
    ("celsius", "degC"),
    ("radian", "rad"),
    ("degree", "deg"),
    ("hertz", "Hz"),
    ("newton", "N"),
    ("pascal", "Pa"),
    ("joule", "J"),
    ("watt", "W"),
    ("coulomb", "C"),
    ("volt", "V"),
    ("farad", "F"),
    ("ohm", "Ohm"),
    ("siemens", "S"),
    ("tesla", "T"),
    ("henry", "H"),
    ("liter", "l"),
    ("litre", "l"),
];

/// A unit as people write it, in Modelica's spelling: `m/s^2` is `m/s2`, `N*m` is `N.m`, `Ω` is `Ohm`, `meters` is `m`.
fn respelt(unit: &str) -> String {
    let mut plain = String::new();
    for letter in unit.replace(" /", "/").replace("/ ", "/").chars() {
        match letter {
            '^' => {}
            '*' | '·' | '⋅' | ' ' => plain.push('.'),
            'Ω' | '\u{2126}' => plain.push_str("Ohm"),
            '°' => plain.push_str("deg"),
            'µ' | 'μ' => plain.push('u'),
            '²' => plain.push('2'),
            '³' => plain.push('3'),
            other => plain.push(other),
        }
    }
    let plain = plain.replace("..", "");
    let mut respelt = String::new();
    for part in plain.split_inclusive(|c: char| !c.is_alphabetic()) {
        let word = part.trim_end_matches(|c: char| !c.is_alphabetic());
        let is = |name: &str| {
            word.eq_ignore_ascii_case(name)
                || word
                    .strip_suffix('s')
                    .is_some_and(|one| one.eq_ignore_ascii_case(name))
        };
        let symbol = NAMES.iter().find(|(name, _)| is(name));
        respelt.push_str(symbol.map_or(word, |(_, symbol)| symbol));
        respelt.push_str(&part[word.len()..]);
    }
    respelt
}

/// Two units that are written as one word, with the dot between them: `Nm` is `N.m`.
fn with_dot(unit: &str) -> Option<String> {
    let mut places = unit.char_indices().map(|(at, _)| at).skip(1);
    let is_word = unit_of(unit).is_none();
    places.find_map(|at| {
        let (first, second) = unit.split_at(at);
        let both = is_word && second.starts_with(char::is_alphabetic);
        let both = both && unit_of(first).is_some() && unit_of(second).is_some();
        both.then(|| format!("{first}.{second}"))
    })
}

fn declared_dimension(unit: &str) -> Known {
    match unit {
        "" => Known::Anything,
        unit => unit_of(unit).map_or(Known::Anything, Known::Is),
    }
}

/// What a unit of the dimension 1/s, perhaps after differentiation, counts.
fn rate_of(unit: &str) -> Option<Counts> {
    let symbols = factors_of(unit)?.into_iter();
    let names: Vec<&str> = symbols
        .filter_map(|(s, _)| Some(symbol_unit(s)?.0))
        .collect();
    match names.as_slice() {
        ["Hz"] => Some(Counts::Turns),
        names if names.iter().any(|name| ANGLES.contains(name)) => Some(Counts::Angles),
        _ => None,
    }
}

/// Whether numbers in two units mean the same, where a turn is 2π to what counts angles.
fn mean_the_same([(x, a), (y, b)]: [(Unit, Option<Counts>); 2]) -> bool {
    let in_angles = |unit: Unit| Unit {
        size: 2.0 * PI * unit.size,
        ..unit
    };
    match (a, b) {
        (Some(Counts::Turns), Some(Counts::Angles)) => in_angles(x).is(y),
        (Some(Counts::Angles), Some(Counts::Turns)) => x.is(in_angles(y)),
        _ => x.is(y),
    }
}

impl Check<'_> {
    fn of(&self, expr: ExprId) -> Known {
        self.found.get(&expr).copied().unwrap_or(Known::Anything)
    }

    /// The sides of an equation in each of its branches, with their dimensions found: `if on then u = 0; else i = 0; end if` says
    /// one thing or the other, and compares no voltage with a current.
    fn alternatives(
        &mut self,
        walker: &mut Walker,
        left: Option<ExprId>,
        right: ExprId,
    ) -> Vec<(Option<ExprId>, ExprId)> {
        let graph = &self.model.graph;
        let branches = |side: ExprId| match graph.node(side) {
            Node::Select(condition, yes, no) => Some((condition, yes, no)),
            _ => None,
        };
        let mut sides = vec![(left, right)];
        let mut conditions = Vec::new();
        let mut at = 0;
        while at < sides.len() && sides.len() < MAX_ERRORS {
            let (left, right) = sides[at];
            let chosen = left.and_then(branches);
            let of_right = branches(right);
            let Some((condition, yes, no)) = chosen.or(of_right) else {
                at += 1;
                continue;
            };
            // The same condition decides about both sides.
            let pick = |side: ExprId, is_yes: bool| match branches(side) {
                Some((own, yes, no)) if own == condition => [no, yes][usize::from(is_yes)],
                _ => side,
            };
            let (yes, no) = match chosen {
                Some(_) => (
                    (Some(yes), pick(right, true)),
                    (Some(no), pick(right, false)),
                ),
                None => ((left, yes), (left, no)),
            };
            conditions.push(condition);
            sides[at] = yes;
            sides.push(no);
        }
        let mut roots = conditions;
        roots.extend(
            sides
                .iter()
                .flat_map(|&(left, right)| left.into_iter().chain([right])),
        );
        self.walk(walker, &roots);
        sides
    }

    /// Finds the dimensions of expressions and of all that they are made of.
    fn walk(&mut self, walker: &mut Walker, roots: &[ExprId]) {
        for &expr in walker.reachable(&self.model.graph, roots) {
            if !self.found.contains_key(&expr) {
                let known = self.node(expr);
                if let Known::Is(unit) = known
                    && unit.dimension == PER_SECOND
                    && let Some(counts) = self.counted(expr)
                {
                    self.rates.insert(expr, counts);
                }
                self.found.insert(expr, known);
            }
        }
    }

    fn node(&mut self, expr: ExprId) -> Known {
        match self.model.graph.node(expr) {
            Node::Constant(_) => Known::Number,
            Node::Symbol(id) => self.symbol(self.model.symbols.get(id)),
            Node::Unary(op, a) => self.unary(expr, op, a),
            Node::Binary(op, a, b) => self.binary(expr, op, a, b),
            Node::Select(_, a, b) => self.same(expr, a, b),
        }
    }

    /// What an expression in 1/s counts: what its quantity is declared to, or what the terms of a sum do.
    fn counted(&self, expr: ExprId) -> Option<Counts> {
        let of = |a: ExprId| self.rates.get(&a).copied();
        match self.model.graph.node(expr) {
            Node::Symbol(_) => rate_of(self.declared(expr)?),
            Node::Unary(UnaryOp::Neg | UnaryOp::Abs, a) => of(a),
            Node::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max, a, b)
            | Node::Select(_, a, b) => of(a).or(of(b)),
            _ => None,
        }
    }

    /// The unit that the quantity of a symbol, or the one whose derivative it is, is declared with.
    fn declared(&self, expr: ExprId) -> Option<&str> {
        let model = self.model;
        let Node::Symbol(id) = model.graph.node(expr) else {
            return None;
        };
        let declaration = match model.symbols.get(id) {
            Symbol::Time => return None,
            Symbol::Parameter(at) => model.parameters[at].declaration,
            Symbol::Input { input, .. } => model.inputs[input].declaration,
            Symbol::Unknown { unknown, .. } => {
                let of = &model.unknowns[unknown];
                let base = of.velocity_of.unwrap_or(unknown);
                model.unknowns[base].declaration
            }
        };
        Some(&model.declarations[declaration].unit)
    }

    fn symbol(&mut self, symbol: Symbol) -> Known {
        let model = self.model;
        let unit = |declaration: usize| declared_dimension(&model.declarations[declaration].unit);
        let per_second = |known: Known, order: u32| match known {
            Known::Is(mut unit) => {
                unit.dimension[2] -= WHOLE * order as i32;
                Known::Is(unit)
            }
            other => other,
        };
        match symbol {
            Symbol::Time if self.is_strict => Known::Is(Unit {
                dimension: [0, 0, WHOLE, 0, 0, 0, 0],
                size: 1.0,
            }),
            Symbol::Time => Known::Anything,
            Symbol::Parameter(at) => unit(model.parameters[at].declaration),
            Symbol::Input { input, order } => {
                per_second(unit(model.inputs[input].declaration), order)
            }
            Symbol::Unknown { unknown, order } => {
                let of = &model.unknowns[unknown];
                match of.velocity_of {
                    Some(base) => {
                        let base = unit(model.unknowns[base].declaration);
                        per_second(base, order + 1)
                    }
                    None => per_second(unit(of.declaration), order),
                }
            }
        }
    }

    fn unary(&mut self, expr: ExprId, op: UnaryOp, a: ExprId) -> Known {
        let known = self.of(a);
        match op {
            UnaryOp::Neg | UnaryOp::Abs => known,
            UnaryOp::Sqrt => match known {
                Known::Is(unit) => Known::Is(Unit {
                    dimension: unit.dimension.map(|e| e / 2),
                    size: unit.size.sqrt(),
                }),
                other => other,
            },
            UnaryOp::Sign | UnaryOp::Not => Known::Pure,
            _ => {
                if let Known::Is(unit) = known
                    && !unit.is(Unit::NONE)
                {
                    self.clashes.push(Clash {
                        at: Some(expr),
                        sides: [(a, unit), (a, Unit::NONE)],
                    });
                }
                self.pure()
            }
        }
    }

    fn pure(&self) -> Known {
        match self.is_strict {
            true => Known::Is(Unit::NONE),
            false => Known::Pure,
        }
    }

    fn binary(&mut self, expr: ExprId, op: BinaryOp, a: ExprId, b: ExprId) -> Known {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max => self.same(expr, a, b),
            BinaryOp::Mul => self.product(a, b, 1),
            BinaryOp::Div => self.product(a, b, -1),
            BinaryOp::Pow => self.power(a, b),
            BinaryOp::And | BinaryOp::Or => Known::Pure,
            _ => {
                self.same(expr, a, b);
                self.pure()
            }
        }
    }

    /// Both sides of a sum, of a comparison, or the branches of a choice.
    fn same(&mut self, expr: ExprId, a: ExprId, b: ExprId) -> Known {
        match (self.of(a), self.of(b)) {
            (Known::Is(x), Known::Is(y)) => {
                let counts = |expr| self.rates.get(&expr).copied();
                if !mean_the_same([(x, counts(a)), (y, counts(b))]) {
                    self.clashes.push(Clash {
                        at: Some(expr),
                        sides: [(a, x), (b, y)],
                    });
                    return Known::Anything;
                }
                Known::Is(x)
            }
            (Known::Is(x), _) | (_, Known::Is(x)) => Known::Is(x),
            (Known::Anything, _) | (_, Known::Anything) => Known::Anything,
            (Known::Number, _) | (_, Known::Number) => Known::Number,
            _ => Known::Pure,
        }
    }

    fn product(&self, a: ExprId, b: ExprId, sign: i32) -> Known {
        let as_factor = |expr: ExprId, is_divisor: bool| match self.of(expr) {
            Known::Pure => Known::Is(Unit::NONE),
            Known::Number if self.is_strict || self.is_of_formula(expr, is_divisor) => {
                Known::Is(Unit::NONE)
            }
            other => other,
        };
        match (self.of(a), self.of(b)) {
            (Known::Pure, Known::Pure) => Known::Pure,
            (Known::Number | Known::Pure, Known::Number | Known::Pure) => Known::Number,
            _ => match (as_factor(a, false), as_factor(b, sign < 0)) {
                (Known::Is(x), Known::Is(y)) => Known::Is(x.times(y, sign)),
                _ => Known::Anything,
            },
        }
    }

    /// Whether a number comes from a formula and hides no unit: the rule is on the page `docs/errors/unit-mismatch.md`.
    fn is_of_formula(&self, expr: ExprId, is_divisor: bool) -> bool {
        let graph = &self.model.graph;
        let is_whole = |value: f64| value.fract() == 0.0 && value.abs() <= 12.0;
        let is_whole_number = |expr: ExprId| graph.as_constant(expr).is_some_and(is_whole);
        let Some(value) = graph.as_constant(expr) else {
            return false;
        };
        let is_quarter = (4.0 * value).fract() == 0.0 && value.abs() <= 4.0;
        // Ten times something is as often a gain, or the acceleration of gravity; a tenth of it is a share.
        let is_number = is_whole(value) && (is_divisor || value.abs() != 10.0);
        let is_quotient = matches!(
            graph.folded_from(expr),
            Some(Node::Binary(BinaryOp::Div, a, b)) if is_whole_number(a) && is_whole_number(b)
        );
        is_quarter || is_number || is_quotient
    }

    fn power(&self, a: ExprId, b: ExprId) -> Known {
        let exponent = self.model.graph.as_constant(b);
        match (self.of(a), exponent) {
            (Known::Is(unit), Some(exponent)) => {
                let scaled = unit.dimension.map(|e| f64::from(e) * exponent);
                match scaled.iter().all(|e| e.fract() == 0.0 && e.abs() < 1e6) {
                    true => Known::Is(Unit {
                        dimension: scaled.map(|e| e as i32),
                        size: unit.size.powf(exponent),
                    }),
                    false => Known::Anything,
                }
            }
            (Known::Is(unit), None) if unit.dimension == NO_DIMENSION => self.pure(),
            (Known::Pure, None) => self.pure(),
            (Known::Number, _) => Known::Number,
            (Known::Pure, Some(_)) => Known::Pure,
            _ => Known::Anything,
        }
    }

    /// The unit of an expression: as declared where it is a quantity alone, otherwise in base units.
    fn written(&self, expr: ExprId, unit: Unit) -> String {
        let model = self.model;
        let declaration = match self.model.graph.node(expr) {
            Node::Symbol(id) => match model.symbols.get(id) {
                Symbol::Parameter(at) => Some(model.parameters[at].declaration),
                Symbol::Input { input, order: 0 } => Some(model.inputs[input].declaration),
                Symbol::Unknown { unknown, order: 0 } => {
                    let of = &model.unknowns[unknown];
                    of.velocity_of.is_none().then_some(of.declaration)
                }
                _ => None,
            },
            _ => None,
        };
        match declaration.map(|at| model.declarations[at].unit.as_str()) {
            Some(declared) if unit_of(declared) == Some(unit) => declared.to_string(),
            _ if self.rates.get(&expr) == Some(&Counts::Angles) => {
                written(unit).replacen("1/s", "rad/s", 1)
            }
            _ => written(unit),
        }
    }

    /// What clashes in an equation, or in the definition of a quantity that is declared with the unit `own`.
    fn message(&self, clash: &Clash, span: Span, own: Option<&str>) -> Diagnostic {
        let text = |expr: ExprId| {
            let text = self.model.text(expr, 400).unwrap_or_default();
            format!("`{}`", shorten(&text, 60))
        };
        let [(a, x), (b, y)] = clash.sides;
        let is_size = x.dimension == y.dimension;
        let is_rate = x.is(y);
        let (x, y) = (self.written(a, x), self.written(b, y));
        let whole = shorten(self.model.sources.slice(span), 100);
        let (message, label) = match (clash.at, own) {
            (None, None) => (
                format!("the sides of `{whole}` have different units"),
                format!("left {x}, right {y}"),
            ),
            (None, Some(own)) => (
                format!("`{whole}` gives a quantity a value of another unit"),
                format!("the quantity is in {own}, its value in {y}"),
            ),
            (Some(at), _) if a == b => (
                format!("the argument of {} has a unit", text(at)),
                format!("{} is in {x}", text(a)),
            ),
            (Some(_), _) => (
                format!("{} and {} have different units", text(a), text(b)),
                format!("the first is in {x}, the second in {y}"),
            ),
        };
        Diagnostic::warning(Code::UnitMismatch, span, message)
            .label(label)
            .help(match is_size {
                _ if is_rate => "a frequency in Hz counts turns: write `2*pi` between it and an angular frequency in rad/s; `check --units off` leaves the comparison out",
                true => "numbers are used as they stand: give them in base units, or write the factor between the units; `check --units off` leaves the comparison out",
                false => "correct the equation or the `unit` of a quantity in it; `check --units off` leaves the comparison out",
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_written() {
        let newton_metre = unit_of("N.m").unwrap_or(Unit::NONE);
        for unit in [
            "J",
            "kg.m2/s2",
            "kg.m2.s-2",
            "W.s",
            "N.m/rad",
            "V.A.s",
            "mV.kA.s",
            "g.km2/(ks.s)",
        ] {
            let read = unit_of(unit).unwrap_or(Unit::NONE);
            assert!(read.is(newton_metre), "{unit}: {read:?}");
        }
        assert_eq!(written(newton_metre), "kg.m2/s2");
        let text = |unit: &str| unit_of(unit).map(written);
        assert_eq!(text("W/(m2.K4)").as_deref(), Some("kg/(s3.K4)"));
        assert_eq!(text("1/s").as_deref(), Some("1/s"));
        assert_eq!(text("kJ").as_deref(), Some("1000 kg.m2/s2"));
        assert_eq!(text("km/h").as_deref(), Some("0.277778 m/s"));
        assert_eq!(text("deg").as_deref(), Some("degrees"));
        assert_eq!(unit_of("1"), Some(Unit::NONE));
        assert_eq!(unit_of("furlong"), None);
        assert_eq!(respelt("m/s^2"), "m/s2");
        assert_eq!(respelt("N*m"), "N.m");
        assert_eq!(respelt("kg m"), "kg.m");
        assert_eq!(respelt("kΩ"), "kOhm");
        assert_eq!(respelt("Meters/Second"), "m/s");
        assert_eq!(respelt("newton"), "N");
        assert_eq!(unit_of("m2.5/s"), None);
    }

    #[test]
    fn two_units_in_one_word_are_parted() {
        for (word, parted) in [("Nm", "N.m"), ("kgm2", "kg.m2"), ("Vs", "V.s")] {
            assert_eq!(with_dot(word).as_deref(), Some(parted));
        }
        for word in ["m", "N.m", "min", "bananas"] {
            assert_eq!(with_dot(word), None, "{word}");
        }
    }
}
