//! Taylor coefficients by an independent route: the expression is evaluated in 1250-bit arithmetic
//! at 33 points around the expansion point, and the polynomial through them is written out. No
//! recurrence and no derivative is involved.
//!
//! With points j/2^32, |j| <= 16, coefficient 30 is off by some 1e-17 of coefficient 32 (the sum of j^2 h^2), and
//! the division by h^30 costs 960 of the 1250 bits, the differences another 120. Up to order 24 all 32 digits of a
//! double-double are right.

use daelight_expr::{BinaryOp, Dd, ExprId, Graph, Node, SymbolId, UnaryOp, Walker};
use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use std::collections::HashMap;

pub type Big = FBig<HalfEven>;

const BITS: usize = 1250;
const STEP_BITS: isize = 32;
const REACH: i32 = 16;

pub fn big(value: f64) -> Big {
    let exact: Big = value.try_into().expect("a finite number");
    exact.with_precision(BITS).value()
}

/// Value of an expression in high precision.
fn evaluate(graph: &Graph, root: ExprId, value: impl Fn(SymbolId) -> Big) -> Big {
    let mut values: HashMap<ExprId, Big> = HashMap::new();
    for &id in Walker::new().reachable(graph, &[root]) {
        let result = match graph.node(id) {
            Node::Constant(bits) => big(f64::from_bits(bits)),
            Node::Symbol(symbol) => value(symbol),
            Node::Unary(op, a) => unary(op, &values[&a]),
            Node::Binary(op, a, b) => binary(op, &values[&a], &values[&b]),
            Node::Select(c, a, b) => values[if values[&c] == big(0.0) { &b } else { &a }].clone(),
        };
        values.insert(id, result);
    }
    values.remove(&root).expect("the root is reachable")
}

fn unary(op: UnaryOp, x: &Big) -> Big {
    match op {
        UnaryOp::Neg => -x.clone(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Abs if *x < big(0.0) => -x.clone(),
        UnaryOp::Abs => x.clone(),
        UnaryOp::Sign if *x < big(0.0) => big(-1.0),
        UnaryOp::Sign => big(1.0),
        UnaryOp::Not => truth(*x == big(0.0)),
    }
}

fn binary(op: BinaryOp, x: &Big, y: &Big) -> Big {
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Pow => power(x, y),
        BinaryOp::Atan2 => x.atan2(y),
        BinaryOp::Min => (if x < y { x } else { y }).clone(),
        BinaryOp::Max => (if x > y { x } else { y }).clone(),
        BinaryOp::Less => truth(x < y),
        BinaryOp::LessEqual => truth(x <= y),
        BinaryOp::Greater => truth(x > y),
        BinaryOp::GreaterEqual => truth(x >= y),
        BinaryOp::Equal => truth(x == y),
        BinaryOp::NotEqual => truth(x != y),
        BinaryOp::And => truth(*x != big(0.0) && *y != big(0.0)),
        BinaryOp::Or => truth(*x != big(0.0) || *y != big(0.0)),
    }
}

fn truth(holds: bool) -> Big {
    big(f64::from(u8::from(holds)))
}

fn power(x: &Big, y: &Big) -> Big {
    let whole = y.to_f64().value();
    if big(whole) != *y || whole.fract() != 0.0 {
        return x.powf(y);
    }
    let mut result = big(1.0);
    for _ in 0..whole.abs() as u32 {
        result = &result * x;
    }
    if whole < 0.0 {
        big(1.0) / result
    } else {
        result
    }
}

/// Coefficients 0..=order (at most 30) of the root when symbol i moves along `series[i]`.
pub fn taylor(graph: &Graph, root: ExprId, series: &[Vec<f64>], order: usize) -> Vec<Dd> {
    assert!(order <= 30, "the points allow no more");
    let step = big(1.0) >> STEP_BITS;
    let mut differences: Vec<Big> = (-REACH..=REACH)
        .map(|j| {
            let s = big(f64::from(j)) * &step;
            evaluate(graph, root, |symbol| {
                series[symbol.0 as usize]
                    .iter()
                    .rev()
                    .fold(big(0.0), |sum, &coefficient| sum * &s + big(coefficient))
            })
        })
        .collect();
    // Newton's form in the integer variable j: differences by level, each divided by the level.
    for level in 1..differences.len() {
        for place in (level..differences.len()).rev() {
            let step = &differences[place] - &differences[place - 1];
            differences[place] = step / big(level as f64);
        }
    }
    // Horner's rule turns it into powers of j.
    let mut powers: Vec<Big> = Vec::new();
    for (level, difference) in differences.iter().enumerate().rev() {
        let node = big(f64::from(level as i32 - REACH));
        let mut next = vec![big(0.0); powers.len() + 1];
        for (exponent, coefficient) in powers.iter().enumerate() {
            next[exponent + 1] = &next[exponent + 1] + coefficient;
            next[exponent] = &next[exponent] - coefficient * &node;
        }
        next[0] = &next[0] + difference;
        powers = next;
    }
    powers[..=order]
        .iter()
        .enumerate()
        .map(|(k, coefficient)| {
            let exact = coefficient.clone() << (STEP_BITS * k as isize);
            let hi = exact.to_f64().value();
            Dd::sum(hi, (exact - big(hi)).to_f64().value())
        })
        .collect()
}
