//! The recurrences: coefficient k >= 1 of one operation from the coefficients below it.
//!
//! Numbers in brackets are the formulas of docs/theory/jets.md. The sums run in one fixed order and
//! without fused multiplication, so that every back end gives the same bits.

use crate::inputs::Inputs;
use crate::scalar::Scalar;
use crate::tape::{Code, Op, Tape};
use crate::value::Branches;
use std::cmp::Ordering;

/// Read access to the coefficients of all registers, and the sums that a layout can do faster.
pub(crate) trait Coefficients {
    /// What the coefficients are.
    type Scalar: Scalar;

    /// Coefficient `order` of a register.
    fn at(&self, register: u32, order: usize) -> Self::Scalar;

    /// Sum of a_i b_{k-i} for i in first..=last.
    fn dot(&self, a: u32, b: u32, first: usize, last: usize, k: usize) -> Self::Scalar {
        let mut sum = Self::Scalar::ZERO;
        for i in first..=last {
            sum += self.at(a, i) * self.at(b, k - i);
        }
        sum
    }

    /// Sum of i a_i b_{k-i} for i in 1..=last.
    fn slope_dot(&self, a: u32, b: u32, last: usize, k: usize) -> Self::Scalar {
        let mut sum = Self::Scalar::ZERO;
        for i in 1..=last {
            sum += Self::Scalar::from(i as f64) * self.at(a, i) * self.at(b, k - i);
        }
        sum
    }
}

/// The sign in k h_k = sign * sum i x_i g_{k-i}, (14) to (21).
pub(crate) fn slope_sign<S: Scalar>(code: Code) -> S {
    if code == Code::Cos { -S::ONE } else { S::ONE }
}

/// The factor c in q h' = c x', (22) to (26).
pub(crate) fn slope_factor<S: Scalar>(code: Code) -> S {
    match code {
        Code::Log10 => S::LOG10_E,
        Code::Acos => -S::ONE,
        _ => S::ONE,
    }
}

/// The registers (x, g) of an operation with h' = +-x' g, or none.
pub(crate) fn slope_product(op: &Op, register: u32) -> Option<(u32, u32)> {
    match op.code {
        Code::Exp => Some((op.a, register)),
        Code::PowMoving => Some((op.c, register)),
        Code::Sin | Code::Cos | Code::Sinh | Code::Cosh | Code::Tan | Code::Tanh => {
            Some((op.a, op.b))
        }
        _ => None,
    }
}

/// The registers (x, q) of an operation with q h' = c x', or none.
pub(crate) fn slope_quotient(op: &Op) -> Option<(u32, u32)> {
    match op.code {
        Code::Log | Code::Log10 => Some((op.a, op.a)),
        Code::Asin | Code::Acos | Code::Atan => Some((op.a, op.b)),
        _ => None,
    }
}

/// The registers whose lower coefficients the recurrence of an operation sums over.
pub(crate) fn summed(op: &Op, register: u32) -> impl Iterator<Item = u32> {
    let slope = slope_product(op, register).map(|(x, slope)| [Some(x), Some(slope)]);
    let quotient = slope_quotient(op).map(|(_, divisor)| [Some(register), Some(divisor)]);
    let pair = slope.or(quotient).unwrap_or(match op.code {
        Code::Mul => [Some(op.a), Some(op.b)],
        Code::Square => [Some(op.a), None],
        Code::Sqrt => [Some(register), None],
        Code::Div => [Some(op.b), Some(register)],
        Code::Recip | Code::PowFixed => [Some(op.a), Some(register)],
        Code::Atan2 => [Some(op.a), Some(op.b)],
        _ => [None; 2],
    });
    let radius = (op.code == Code::Atan2).then_some([op.c, register]);
    pair.into_iter()
        .flatten()
        .chain(radius.into_iter().flatten())
}

/// Coefficient k >= 1 of a moving operation; NaN at a kink.
pub(crate) fn coefficient<C: Coefficients>(
    tape: &Tape,
    register: u32,
    k: usize,
    inputs: &Inputs<C::Scalar>,
    branches: &Branches,
    series: &C,
) -> C::Scalar {
    let number = C::Scalar::from;
    let zero = C::Scalar::ZERO;
    let op = &tape.ops[register as usize];
    let (a, b) = (op.a, op.b);
    let at = |register: u32| series.at(register, k);
    let order = number(k as f64);
    match op.code {
        Code::Constant | Code::PowZero => zero,
        Code::Input => inputs.read(tape.slots[op.extra as usize], k),
        // (3) to (5)
        Code::Neg => -at(a),
        Code::Add => at(a) + at(b),
        Code::Sub => at(a) - at(b),
        Code::Scale => at(a) * series.at(b, 0),
        Code::DivBy => at(a) / series.at(b, 0),
        // (6)
        Code::Mul => series.dot(a, b, 0, k, k),
        // (7)
        Code::Square => {
            let sum = number(2.0) * series.dot(a, a, 0, (k - 1) / 2, k);
            if k.is_multiple_of(2) {
                sum + series.at(a, k / 2).square()
            } else {
                sum
            }
        }
        // (8), (9)
        Code::Div => (at(a) - series.dot(b, register, 1, k, k)) / series.at(b, 0),
        Code::Recip => (zero - series.dot(a, register, 1, k, k)) / series.at(a, 0),
        // (10)
        Code::Sqrt => {
            let half = (k - 1) / 2;
            let mut sum = number(2.0) * series.dot(register, register, 1, half, k);
            if k.is_multiple_of(2) {
                let middle = series.at(register, k / 2);
                sum += middle * middle;
            }
            (at(a) - sum) / (number(2.0) * series.at(register, 0))
        }
        Code::PowFixed => fixed_power(op, register, k, series),
        // (27)
        Code::Atan2 => {
            let turn = series.slope_dot(a, b, k, k) - series.slope_dot(b, a, k, k);
            let rest = series.slope_dot(register, op.c, k - 1, k);
            (turn - rest) / order / series.at(op.c, 0)
        }
        // (14) to (21)
        Code::Exp
        | Code::PowMoving
        | Code::Sin
        | Code::Cos
        | Code::Sinh
        | Code::Cosh
        | Code::Tan
        | Code::Tanh => {
            let (x, slope) = slope_product(op, register).expect("listed there");
            slope_sign::<C::Scalar>(op.code) * series.slope_dot(x, slope, k, k) / order
        }
        // (22) to (26)
        Code::Log | Code::Log10 | Code::Asin | Code::Acos | Code::Atan => {
            let (x, divisor) = slope_quotient(op).expect("listed there");
            let rest = series.slope_dot(register, divisor, k - 1, k) / order;
            (slope_factor::<C::Scalar>(op.code) * at(x) - rest) / series.at(divisor, 0)
        }
        // (28) to (30)
        Code::Abs | Code::Min | Code::Max => {
            let right = if op.code == Code::Abs { zero } else { at(b) };
            branch(op, branches, at(a), right)
        }
        Code::Sign
        | Code::Less
        | Code::LessEqual
        | Code::Greater
        | Code::GreaterEqual
        | Code::Equal
        | Code::NotEqual => {
            if branches.is_kink(op.extra) {
                C::Scalar::NAN
            } else {
                zero
            }
        }
        Code::Not => doubt(at(a)),
        // A side that decides alone hides what the other one cannot say.
        Code::And => decided(series, op, k, |value| value == zero),
        Code::Or => decided(series, op, k, |value| value != zero && !value.is_nan()),
        Code::Select => {
            let taken = if series.at(a, 0) == zero { op.c } else { b };
            at(taken) + doubt(at(a))
        }
    }
}

/// Coefficient of abs, min or max on the side taken; NaN at the kink. Where it rests both operands are the same.
pub(crate) fn branch<S: Scalar>(op: &Op, branches: &Branches, a: S, b: S) -> S {
    if branches.is_kink(op.extra) {
        return S::NAN;
    }
    match (op.code, branches.side(op.extra)) {
        (Code::Abs, Ordering::Less) => -a,
        (Code::Abs, _) | (_, Ordering::Equal) => a,
        (Code::Min, Ordering::Less) | (Code::Max, Ordering::Greater) => a,
        _ => b,
    }
}

fn decided<C: Coefficients>(
    series: &C,
    op: &Op,
    k: usize,
    decides: impl Fn(C::Scalar) -> bool,
) -> C::Scalar {
    let alone = |register: u32| decides(series.at(register, 0)) && !series.at(register, k).is_nan();
    if alone(op.a) || alone(op.b) {
        C::Scalar::ZERO
    } else {
        doubt(series.at(op.a, k) + series.at(op.b, k))
    }
}

/// A condition is constant between its switching points: all it can hand on is a kink.
fn doubt<S: Scalar>(coefficient: S) -> S {
    if coefficient.is_nan() {
        S::NAN
    } else {
        S::ZERO
    }
}

/// (11) away from zero; (12) where the base vanishes and the exponent is a whole number.
fn fixed_power<C: Coefficients>(op: &Op, register: u32, k: usize, series: &C) -> C::Scalar {
    let number = C::Scalar::from;
    let zero = C::Scalar::ZERO;
    let exponent = series.at(op.b, 0);
    let base = series.at(op.a, 0);
    if base == zero && exponent >= zero && exponent.is_whole() {
        return vanishing_power(op.a, register, exponent, k, series);
    }
    let mut sum = zero;
    for i in 1..=k {
        let weight = exponent * number(i as f64) - number((k - i) as f64);
        sum += weight * series.at(op.a, i) * series.at(register, k - i);
    }
    sum / (number(k as f64) * base)
}

fn vanishing_power<C: Coefficients>(
    a: u32,
    register: u32,
    exponent: C::Scalar,
    k: usize,
    series: &C,
) -> C::Scalar {
    let number = C::Scalar::from;
    let zero = C::Scalar::ZERO;
    if exponent == zero {
        return zero;
    }
    // The first coefficient of the base that is not zero; NaN counts, so that it is handed on.
    let Some(lowest) = (1..=k).find(|&order| series.at(a, order) != zero) else {
        return zero;
    };
    let start = lowest as f64 * exponent.to_f64();
    if (k as f64) < start {
        return zero;
    }
    let start = start as usize;
    let lead = series.at(a, lowest);
    let rank = k - start;
    if rank == 0 {
        return lead.powf(exponent);
    }
    let mut sum = zero;
    for i in 1..=rank {
        let weight = exponent * number(i as f64) - number((rank - i) as f64);
        sum += weight * series.at(a, lowest + i) * series.at(register, start + rank - i);
    }
    sum / (number(rank as f64) * lead)
}

/// How coefficient k >= 1 of an operation follows when the top coefficients of its operands move.
///
/// By (31) the dependence is linear, with slopes made of coefficients 0. `moved` gives the change of
/// an operand, `series` coefficient 0 of all registers.
pub(crate) fn correction<C: Coefficients>(
    op: &Op,
    register: u32,
    branches: &Branches,
    series: &C,
    moved: impl Fn(u32) -> C::Scalar,
) -> C::Scalar {
    let zero = C::Scalar::ZERO;
    let two = C::Scalar::from(2.0);
    let value = |register: u32| series.at(register, 0);
    let (a, b) = (op.a, op.b);
    match op.code {
        Code::Neg => -moved(a),
        Code::Add => moved(a) + moved(b),
        Code::Sub => moved(a) - moved(b),
        Code::Scale => moved(a) * value(b),
        Code::DivBy => moved(a) / value(b),
        Code::Mul => value(a) * moved(b) + value(b) * moved(a),
        Code::Square => two * value(a) * moved(a),
        Code::Div => (moved(a) - value(register) * moved(b)) / value(b),
        Code::Recip => -value(register) * moved(a) / value(a),
        Code::Sqrt => moved(a) / (two * value(register)),
        Code::PowFixed if value(a) != zero => value(b) * value(register) * moved(a) / value(a),
        // A vanishing base: only the first power follows the top coefficient.
        Code::PowFixed if value(b) == C::Scalar::ONE => moved(a),
        Code::PowFixed => zero,
        Code::Atan2 => (value(b) * moved(a) - value(a) * moved(b)) / value(op.c),
        Code::Exp
        | Code::PowMoving
        | Code::Sin
        | Code::Cos
        | Code::Sinh
        | Code::Cosh
        | Code::Tan
        | Code::Tanh => {
            let (x, slope) = slope_product(op, register).expect("listed there");
            slope_sign::<C::Scalar>(op.code) * value(slope) * moved(x)
        }
        Code::Log | Code::Log10 | Code::Asin | Code::Acos | Code::Atan => {
            let (x, divisor) = slope_quotient(op).expect("listed there");
            slope_factor::<C::Scalar>(op.code) * moved(x) / value(divisor)
        }
        Code::Abs => branch(op, branches, moved(a), zero),
        Code::Min | Code::Max => branch(op, branches, moved(a), moved(b)),
        Code::Select => moved(if value(a) == zero { op.c } else { b }),
        _ => zero,
    }
}
