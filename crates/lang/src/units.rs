//! Are the units of what is added, compared and made equal the same? Dimension by dimension, on the flat equations.
//!
//! A quantity has the dimension of its `unit`. A number in the text may hide a unit (`10*sin(100*time)`), so that what is
//! multiplied with it is of any dimension, unless the check is strict. Angles have no dimension.

use crate::diagnostic::{Code, Diagnostic, MAX_ERRORS};
use crate::model::{Model, Symbol, shorten};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, FastMap, Node, UnaryOp, Walker};

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

/// Exponents of m, kg, s, A, K, mol, cd, in twelfths, so that roots of roots have one.
type Dimension = [i32; 7];

const BASE: [&str; 7] = ["m", "kg", "s", "A", "K", "mol", "cd"];
const WHOLE: i32 = 12;
const NO_DIMENSION: Dimension = [0; 7];

/// Symbols of units with the exponents of their dimension.
const SYMBOLS: &[(&str, [i32; 7])] = &[
    ("m", [1, 0, 0, 0, 0, 0, 0]),
    ("g", [0, 1, 0, 0, 0, 0, 0]),
    ("t", [0, 1, 0, 0, 0, 0, 0]),
    ("s", [0, 0, 1, 0, 0, 0, 0]),
    ("min", [0, 0, 1, 0, 0, 0, 0]),
    ("h", [0, 0, 1, 0, 0, 0, 0]),
    ("d", [0, 0, 1, 0, 0, 0, 0]),
    ("A", [0, 0, 0, 1, 0, 0, 0]),
    ("K", [0, 0, 0, 0, 1, 0, 0]),
    ("degC", [0, 0, 0, 0, 1, 0, 0]),
    ("mol", [0, 0, 0, 0, 0, 1, 0]),
    ("cd", [0, 0, 0, 0, 0, 0, 1]),
    ("rad", [0; 7]),
    ("sr", [0; 7]),
    ("deg", [0; 7]),
    ("rev", [0; 7]),
    ("rpm", [0, 0, -1, 0, 0, 0, 0]),
    ("Hz", [0, 0, -1, 0, 0, 0, 0]),
    ("N", [1, 1, -2, 0, 0, 0, 0]),
    ("Pa", [-1, 1, -2, 0, 0, 0, 0]),
    ("bar", [-1, 1, -2, 0, 0, 0, 0]),
    ("J", [2, 1, -2, 0, 0, 0, 0]),
    ("W", [2, 1, -3, 0, 0, 0, 0]),
    ("VA", [2, 1, -3, 0, 0, 0, 0]),
    ("var", [2, 1, -3, 0, 0, 0, 0]),
    ("eV", [2, 1, -2, 0, 0, 0, 0]),
    ("C", [0, 0, 1, 1, 0, 0, 0]),
    ("V", [2, 1, -3, -1, 0, 0, 0]),
    ("F", [-2, -1, 4, 2, 0, 0, 0]),
    ("Ohm", [2, 1, -3, -2, 0, 0, 0]),
    ("S", [-2, -1, 3, 2, 0, 0, 0]),
    ("Wb", [2, 1, -2, -1, 0, 0, 0]),
    ("T", [0, 1, -2, -1, 0, 0, 0]),
    ("H", [2, 1, -2, -2, 0, 0, 0]),
    ("lm", [0, 0, 0, 0, 0, 0, 1]),
    ("lx", [-2, 0, 0, 0, 0, 0, 1]),
    ("l", [3, 0, 0, 0, 0, 0, 0]),
    ("L", [3, 0, 0, 0, 0, 0, 0]),
];

/// Letters in front of a symbol.
const PREFIXES: &[&str] = &[
    "da", "y", "z", "a", "f", "p", "n", "u", "m", "c", "d", "h", "k", "M", "G", "T", "P", "E",
];

/// The dimension of a unit as text; `None` where it cannot be read.
fn dimension_of(unit: &str) -> Option<Dimension> {
    let (above, below) = match unit.split_once('/') {
        Some((above, below)) => (above, below),
        None => (unit, ""),
    };
    let below = match below.strip_prefix('(') {
        Some(inside) => inside.strip_suffix(')')?,
        None => below,
    };
    let above = above
        .strip_prefix('(')
        .and_then(|a| a.strip_suffix(')'))
        .unwrap_or(above);
    let mut dimension = NO_DIMENSION;
    for (factors, sign) in [(above, WHOLE), (below, -WHOLE)] {
        for factor in factors.split('.').filter(|factor| !factor.is_empty()) {
            let digits = |c: char| c.is_ascii_digit() || c == '-' || c == '+';
            let symbol = factor.trim_end_matches(digits);
            let exponent = match &factor[symbol.len()..] {
                _ if symbol.is_empty() => 0,
                "" => 1,
                digits => digits.trim_start_matches('+').parse::<i32>().ok()?,
            };
            let exponent = exponent.checked_mul(sign).filter(|e| e.abs() < 1000)?;
            if !symbol.is_empty() {
                let of_symbol = symbol_dimension(symbol)?;
                for (whole, part) in dimension.iter_mut().zip(of_symbol) {
                    *whole += exponent * part;
                }
            }
        }
    }
    Some(dimension)
}

fn symbol_dimension(symbol: &str) -> Option<[i32; 7]> {
    let find = |symbol: &str| SYMBOLS.iter().find(|(known, _)| *known == symbol);
    let prefixed = || {
        PREFIXES
            .iter()
            .find_map(|prefix| find(symbol.strip_prefix(prefix)?))
    };
    find(symbol)
        .or_else(prefixed)
        .map(|(_, dimension)| *dimension)
}

/// A dimension in base units: `kg.m2/s2`.
fn written(dimension: Dimension) -> String {
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
    Is(Dimension),
}

/// Two expressions that ought to have one dimension.
struct Clash {
    /// The operation in which they meet; `None` for the sides of an equation.
    at: Option<ExprId>,
    sides: [(ExprId, Dimension); 2],
}

struct Check<'a> {
    model: &'a Model,
    is_strict: bool,
    found: FastMap<ExprId, Known>,
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
        clashes: Vec::new(),
    };
    let mut walker = Walker::new();
    let mut messages = Vec::new();
    let equations = model.equations.iter();
    let equations = equations.map(|e| (Known::Anything, Some(e.left), e.right, e.span, true));
    let parameters = model.parameters.iter().filter(|p| !p.is_constant);
    let parameters = parameters.map(|p| {
        let declared = &model.declarations[p.declaration];
        (
            declared_dimension(&declared.unit),
            None,
            p.definition,
            declared.span,
            false,
        )
    });
    for (own, left, right, span, is_equation) in equations.chain(parameters) {
        let roots: Vec<ExprId> = left.into_iter().chain([right]).collect();
        check.walk(&mut walker, &roots);
        let sides = [left.map_or(own, |left| check.of(left)), check.of(right)];
        if let [Known::Is(a), Known::Is(b)] = sides
            && a != b
        {
            let clash = Clash {
                at: None,
                sides: [(left.unwrap_or(right), a), (right, b)],
            };
            messages.push(check.message(&clash, span, is_equation));
        }
        for clash in std::mem::take(&mut check.clashes) {
            messages.push(check.message(&clash, span, is_equation));
        }
        if messages.len() >= MAX_ERRORS {
            break;
        }
    }
    if units == UnitCheck::Strict {
        for message in &mut messages {
            message.severity = crate::Severity::Error;
        }
    }
    messages
}

fn declared_dimension(unit: &str) -> Known {
    match unit {
        "" => Known::Anything,
        unit => dimension_of(unit).map_or(Known::Anything, Known::Is),
    }
}

impl Check<'_> {
    fn of(&self, expr: ExprId) -> Known {
        self.found.get(&expr).copied().unwrap_or(Known::Anything)
    }

    /// Finds the dimensions of expressions and of all that they are made of.
    fn walk(&mut self, walker: &mut Walker, roots: &[ExprId]) {
        for &expr in walker.reachable(&self.model.graph, roots) {
            if !self.found.contains_key(&expr) {
                let known = self.node(expr);
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

    fn symbol(&mut self, symbol: Symbol) -> Known {
        let model = self.model;
        let unit = |declaration: usize| declared_dimension(&model.declarations[declaration].unit);
        let per_second = |known: Known, order: u32| match known {
            Known::Is(mut dimension) => {
                dimension[2] -= WHOLE * order as i32;
                Known::Is(dimension)
            }
            other => other,
        };
        match symbol {
            Symbol::Time if self.is_strict => Known::Is([0, 0, WHOLE, 0, 0, 0, 0]),
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
                Known::Is(dimension) => Known::Is(dimension.map(|e| e / 2)),
                other => other,
            },
            UnaryOp::Sign | UnaryOp::Not => Known::Pure,
            _ => {
                if let Known::Is(dimension) = known
                    && dimension != NO_DIMENSION
                {
                    self.clashes.push(Clash {
                        at: Some(expr),
                        sides: [(a, dimension), (a, NO_DIMENSION)],
                    });
                }
                self.pure()
            }
        }
    }

    fn pure(&self) -> Known {
        match self.is_strict {
            true => Known::Is(NO_DIMENSION),
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
                if x != y {
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
        let as_factor = |expr: ExprId| match self.of(expr) {
            Known::Pure => Known::Is(NO_DIMENSION),
            // Whole numbers and halves come from formulas; others may be quantities.
            Known::Number if self.is_strict || self.counts(expr) => Known::Is(NO_DIMENSION),
            other => other,
        };
        match (self.of(a), self.of(b)) {
            (Known::Pure, Known::Pure) => Known::Pure,
            (Known::Number | Known::Pure, Known::Number | Known::Pure) => Known::Number,
            _ => match (as_factor(a), as_factor(b)) {
                (Known::Is(x), Known::Is(y)) => {
                    Known::Is(std::array::from_fn(|at| x[at] + sign * y[at]))
                }
                _ => Known::Anything,
            },
        }
    }

    /// Whether a number counts something and is no quantity.
    fn counts(&self, expr: ExprId) -> bool {
        let value = self.model.graph.as_constant(expr);
        value.is_some_and(|value| (2.0 * value).fract() == 0.0 && value.abs() <= 4.0)
    }

    fn power(&self, a: ExprId, b: ExprId) -> Known {
        let exponent = self.model.graph.as_constant(b);
        match (self.of(a), exponent) {
            (Known::Is(dimension), Some(exponent)) => {
                let scaled = dimension.map(|e| f64::from(e) * exponent);
                match scaled.iter().all(|e| e.fract() == 0.0 && e.abs() < 1e6) {
                    true => Known::Is(scaled.map(|e| e as i32)),
                    false => Known::Anything,
                }
            }
            (Known::Is(NO_DIMENSION) | Known::Pure, None) => self.pure(),
            (Known::Number, _) => Known::Number,
            (Known::Pure, Some(_)) => Known::Pure,
            _ => Known::Anything,
        }
    }

    fn message(&self, clash: &Clash, span: Span, is_equation: bool) -> Diagnostic {
        let text = |expr: ExprId| {
            let text = self.model.text(expr, 400).unwrap_or_default();
            format!("`{}`", shorten(&text, 60))
        };
        let [(a, x), (b, y)] = clash.sides;
        let (x, y) = (written(x), written(y));
        let whole = shorten(self.model.sources.slice(span), 100);
        let (message, label) = match clash.at {
            None if is_equation => (
                format!("the sides of `{whole}` have different units"),
                format!("left {x}, right {y}"),
            ),
            None => (
                format!("`{whole}` gives a quantity a value of another unit"),
                format!("the quantity is in {x}, its value in {y}"),
            ),
            Some(at) if a == b => (
                format!("the argument of {} has a unit", text(at)),
                format!("{} is in {x}", text(a)),
            ),
            Some(_) => (
                format!("{} and {} have different units", text(a), text(b)),
                format!("the first is in {x}, the second in {y}"),
            ),
        };
        Diagnostic::warning(Code::UnitMismatch, span, message)
            .label(label)
            .help("correct the equation or the `unit` of a quantity in it; `--units off` does not look")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_written() {
        let newton_metre = [24, 12, -24, 0, 0, 0, 0];
        for unit in [
            "N.m",
            "J",
            "kg.m2/s2",
            "kg.m2.s-2",
            "W.s",
            "kJ",
            "N.m/rad",
            "V.A.s",
        ] {
            assert_eq!(dimension_of(unit), Some(newton_metre), "{unit}");
        }
        assert_eq!(written(newton_metre), "kg.m2/s2");
        assert_eq!(
            dimension_of("W/(m2.K4)").map(written),
            Some("kg/(s3.K4)".to_string())
        );
        assert_eq!(dimension_of("1/s").map(written), Some("1/s".to_string()));
        assert_eq!(dimension_of("1"), Some(NO_DIMENSION));
        assert_eq!(dimension_of("furlong"), None);
    }
}
