//! Random jets, values with error bounds, and the test whether an expression is zero.
//!
//! A jet here is a value for the time and for every derivative of every unknown, independent of each other. What
//! is zero at several of them is taken for zero everywhere (section 2 of `docs/theory/repair.md`).

use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};
use daelight_lang::{Symbol, Symbols};

/// How many jets are tried before an expression without a value is given up.
pub(crate) const N_JETS: u64 = 12;

/// At how many jets a zero must be seen.
pub(super) const N_SEEN: usize = 4;

/// Values up to this many times their error bound may be zero.
const NOISE: f64 = 8.0;

/// Values from this many times their error bound on are certainly not zero.
const SIGNAL: f64 = 1e4;

/// The largest error, relative to the terms that cancelled, at which a small value still says something.
const MAX_ERROR: f64 = 1e-6;

/// A number with a bound of its rounding error and the size of what it was summed up from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub value: f64,
    pub error: f64,
    pub size: f64,
}

impl Value {
    fn exact(value: f64) -> Self {
        Self {
            value,
            error: 0.0,
            size: value.abs(),
        }
    }

    pub fn is_finite(self) -> bool {
        self.value.is_finite() && self.error.is_finite()
    }

    /// Zero, not zero, or neither for certain.
    pub fn is_zero(self) -> Option<bool> {
        if !self.is_finite() {
            None
        } else if self.value.abs() > SIGNAL * self.error {
            Some(false)
        } else if self.value.abs() <= NOISE * self.error && self.error <= MAX_ERROR * self.size {
            Some(true)
        } else {
            (self.value == 0.0 && self.error == 0.0).then_some(true)
        }
    }
}

/// What a zero test found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zero {
    /// Zero at all jets that were looked at.
    Yes,
    /// Not zero at one of them.
    No,
    /// No value, a value in the noise, or a choice between branches that the jets may have missed.
    Unclear,
}

/// A family of random jets for given parameters.
#[derive(Clone)]
pub(crate) struct Jets {
    parameters: Vec<f64>,
}

impl Jets {
    pub fn new(parameters: &[f64]) -> Self {
        Self {
            parameters: parameters.to_vec(),
        }
    }

    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// The value of a symbol at the jet with this number.
    ///
    /// Two of three jets have values between 0.3 and 1.3 in magnitude, every second only positive ones for the sake of
    /// roots and logarithms; the third kind stays below 0.6 for the sake of arc functions.
    pub fn symbol(&self, jet: u64, symbol: Symbol) -> f64 {
        let key = match symbol {
            Symbol::Parameter(index) => return self.parameters[index],
            Symbol::Time => u64::MAX,
            Symbol::Input { input, order } => (1 << 63) | ((input as u64) << 16) | u64::from(order),
            Symbol::Unknown { unknown, order } => ((unknown as u64) << 16) | u64::from(order),
        };
        let bits = scrambled(scrambled(key) ^ (jet + 1).wrapping_mul(0xD1B5_4A32_D192_ED03));
        let share = (bits >> 12) as f64 / (1u64 << 52) as f64;
        let magnitude = if jet % 3 == 2 {
            0.05 + 0.55 * share
        } else {
            0.3 + share
        };
        if jet.is_multiple_of(2) && bits & 1 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }

    /// Values with their errors at the jet with this number.
    pub fn values(
        &self,
        graph: &Graph,
        symbols: &Symbols,
        roots: &[ExprId],
        jet: u64,
    ) -> Vec<Value> {
        values(graph, roots, |id| self.symbol(jet, symbols.get(id)))
    }

    /// Values with their errors at a point given by the caller.
    pub fn values_at(
        &self,
        graph: &Graph,
        symbols: &Symbols,
        roots: &[ExprId],
        point: &dyn Fn(Symbol) -> f64,
    ) -> Vec<Value> {
        values(graph, roots, |id| match symbols.get(id) {
            Symbol::Parameter(index) => self.parameters[index],
            symbol => point(symbol),
        })
    }

    /// Which of the expressions are zero everywhere.
    pub fn zeros(&self, graph: &Graph, symbols: &Symbols, exprs: &[ExprId]) -> Vec<Zero> {
        let mut found = vec![Zero::Unclear; exprs.len()];
        let mut n_seen = vec![0usize; exprs.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, &expr) in exprs.iter().enumerate() {
            match graph.as_constant(expr) {
                Some(0.0) => found[at] = Zero::Yes,
                Some(_) => found[at] = Zero::No,
                None => open.push(at),
            }
        }
        for jet in 0..N_JETS {
            if open.is_empty() {
                break;
            }
            let roots: Vec<ExprId> = open.iter().map(|&at| exprs[at]).collect();
            let values = self.values(graph, symbols, &roots, jet);
            let mut next = Vec::new();
            for (&at, value) in open.iter().zip(values) {
                match value.is_zero() {
                    Some(false) => found[at] = Zero::No,
                    Some(true) if n_seen[at] + 1 == N_SEEN => {
                        if !chooses(graph, exprs[at]) {
                            found[at] = Zero::Yes;
                        }
                    }
                    Some(true) => {
                        n_seen[at] += 1;
                        next.push(at);
                    }
                    // A value in the noise is no evidence for either.
                    None => next.push(at),
                }
            }
            open = next;
        }
        found
    }

    /// Whether two expressions agree at several jets, within their errors.
    pub fn agree(&self, graph: &Graph, symbols: &Symbols, a: ExprId, b: ExprId) -> bool {
        let mut n_seen = 0;
        for jet in 0..N_JETS {
            let values = self.values(graph, symbols, &[a, b], jet);
            let (a, b) = (values[0], values[1]);
            if !a.is_finite() {
                continue;
            }
            let difference = (a.value - b.value).abs();
            if !b.is_finite() || difference > NOISE * (a.error + b.error) {
                return false;
            }
            n_seen += 1;
            if n_seen == N_SEEN {
                return true;
            }
        }
        false
    }
}

/// The finishing steps of splitmix64.
fn scrambled(key: u64) -> u64 {
    let mut bits = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Whether the expression is put together from pieces, so that a few jets need not show all of them.
fn chooses(graph: &Graph, expr: ExprId) -> bool {
    let mut walker = Walker::new();
    walker.reachable(graph, &[expr]).iter().any(|&id| {
        use BinaryOp::{Add, Atan2, Div, Mul, Pow, Sub};
        match graph.node(id) {
            Node::Select(..) => true,
            Node::Unary(op, _) => matches!(op, UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Not),
            Node::Binary(op, ..) => !matches!(op, Add | Sub | Mul | Div | Pow | Atan2),
            Node::Constant(_) | Node::Symbol(_) => false,
        }
    })
}

fn values(graph: &Graph, roots: &[ExprId], symbol: impl Fn(SymbolId) -> f64) -> Vec<Value> {
    let mut known: FastMap<ExprId, Value> = FastMap::default();
    for &id in Walker::new().reachable(graph, roots) {
        let value = match graph.node(id) {
            Node::Constant(bits) => Value::exact(f64::from_bits(bits)),
            Node::Symbol(name) => Value::exact(symbol(name)),
            node => {
                let value = graph.node_value(id, |argument| known[&argument].value);
                propagate(node, value, |argument| known[&argument])
            }
        };
        known.insert(id, value);
    }
    roots.iter().map(|root| known[root]).collect()
}

/// The error of an operation to first order: what its arguments bring, and one rounding.
fn propagate(node: Node, value: f64, at: impl Fn(ExprId) -> Value) -> Value {
    let mut size = value.abs();
    let inherited = match node {
        Node::Constant(_) | Node::Symbol(_) => 0.0,
        Node::Select(condition, a, b) => at(if at(condition).value != 0.0 { a } else { b }).error,
        Node::Unary(UnaryOp::Neg, a) => {
            let a = at(a);
            return Value { value, ..a };
        }
        Node::Unary(op, a) => {
            let a = at(a);
            match a.error {
                0.0 => 0.0,
                error => slope(op, a.value, value).abs() * error,
            }
        }
        Node::Binary(op, a, b) => {
            let (a, b) = (at(a), at(b));
            match op {
                BinaryOp::Add | BinaryOp::Sub => {
                    size = a.size + b.size;
                    a.error + b.error
                }
                BinaryOp::Mul => {
                    size = a.size * b.size;
                    a.value.abs() * b.error + b.value.abs() * a.error
                }
                BinaryOp::Div => {
                    size = a.size / b.value.abs();
                    (a.error + value.abs() * b.error) / b.value.abs()
                }
                BinaryOp::Pow => {
                    let base = match a.error {
                        0.0 => 0.0,
                        error => (b.value * value / a.value).abs() * error,
                    };
                    let exponent = match b.error {
                        0.0 => 0.0,
                        error => (value * a.value.ln()).abs() * error,
                    };
                    base + exponent
                }
                BinaryOp::Atan2 => (a.error + b.error) / a.value.hypot(b.value),
                BinaryOp::Min | BinaryOp::Max => a.error.max(b.error),
                // A truth value.
                _ => 0.0,
            }
        }
    };
    // Elementary functions are right to one unit in the last place or a little more.
    let error = inherited + 2.0 * f64::EPSILON * value.abs();
    Value { value, error, size }
}

/// The derivative of a function at `a`, where its value is `value`.
fn slope(op: UnaryOp, a: f64, value: f64) -> f64 {
    match op {
        UnaryOp::Neg | UnaryOp::Abs => 1.0,
        UnaryOp::Sqrt => 0.5 / value,
        UnaryOp::Exp => value,
        UnaryOp::Log => 1.0 / a,
        UnaryOp::Log10 => 1.0 / (a * std::f64::consts::LN_10),
        UnaryOp::Sin => a.cos(),
        UnaryOp::Cos => a.sin(),
        UnaryOp::Tan => 1.0 + value * value,
        UnaryOp::Asin | UnaryOp::Acos => 1.0 / (1.0 - a * a).sqrt(),
        UnaryOp::Atan => 1.0 / (1.0 + a * a),
        UnaryOp::Sinh => a.cosh(),
        UnaryOp::Cosh => a.sinh(),
        UnaryOp::Tanh => 1.0 - value * value,
        UnaryOp::Sign | UnaryOp::Not => 0.0,
    }
}
