//! Outcomes of an evaluation that has no number to give: which expression failed, and why.
//!
//! Inside an evaluation a register without a value holds NaN, and every operation hands NaN on, so
//! that a failure in the branch of an `if` that is not taken harms nobody. When a root comes out as
//! NaN, [`trace`] walks back to the operation that failed first. NaN never leaves the engine.

use crate::graph::ExprId;
use crate::inputs::Inputs;
use crate::scalar::Scalar;
use crate::tape::{Code, Tape};
use crate::value::Branches;
use std::fmt;

/// Why an expression has no value, or no Taylor coefficient.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The square root of a negative number.
    SqrtOfNegative,
    /// The logarithm of zero or of a negative number.
    LogOfNonPositive,
    /// A quotient with a zero divisor.
    DivisionByZero,
    /// Zero to a negative power.
    NegativePowerOfZero,
    /// A negative number to a power that is not whole.
    PowerOfNegative,
    /// The inverse sine or cosine of a number outside [-1, 1].
    OutsideUnitInterval,
    /// The angle of the point (0, 0).
    AngleOfOrigin,
    /// The result is too large for a double.
    Overflow,
    /// The value exists and its time derivative does not: sqrt at 0, asin at 1.
    SingularSlope,
    /// A jet was asked for exactly where abs, sign, min, max or a relation switches.
    Kink,
    /// A variable, parameter, constant or the time is not a finite number.
    NonFiniteInput,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SqrtOfNegative => "sqrt of a negative number",
            Self::LogOfNonPositive => "log of a number that is not positive",
            Self::DivisionByZero => "division by zero",
            Self::NegativePowerOfZero => "negative power of zero",
            Self::PowerOfNegative => "broken power of a negative number",
            Self::OutsideUnitInterval => "inverse sine or cosine of a number beyond 1",
            Self::AngleOfOrigin => "angle of the point (0, 0)",
            Self::Overflow => "a number too large",
            Self::SingularSlope => "infinite slope",
            Self::Kink => "kink",
            Self::NonFiniteInput => "a number that is not finite",
        })
    }
}

/// An expression without a value, and the order at which that was noticed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fault {
    /// The expression that failed, not the ones that depend on it.
    pub expr: ExprId,
    /// Why it failed.
    pub kind: FaultKind,
    /// The coefficient that was asked for; 0 is the value.
    pub order: usize,
    /// The root that needs the expression.
    pub root: usize,
}

/// Walks from a failed root to the operation that failed although its operands had not.
///
/// `at` gives coefficient `order` of a register. Each step goes to a lower order, or to a smaller
/// register of the same order, so the walk ends.
pub(crate) fn trace<S: Scalar>(
    tape: &Tape,
    root: usize,
    order: usize,
    inputs: &Inputs<S>,
    branches: &Branches,
    at: impl Fn(usize, usize) -> f64,
) -> Fault {
    let mut register = tape.roots[root] as usize;
    let mut level = order;
    loop {
        let op = &tape.ops[register];
        let taken = |operand: usize| {
            op.code != Code::Select || {
                let condition = at(op.a as usize, 0);
                operand == op.a as usize
                    || operand == op.b as usize && condition != 0.0 && !condition.is_nan()
                    || operand == op.c as usize && condition == 0.0
            }
        };
        let mut origin: Option<(usize, usize)> = None;
        for operand in op
            .operands()
            .filter(|&operand| taken(operand))
            .filter(|&operand| level > 0 || !op.is_auxiliary_operand(operand))
            .chain([register])
        {
            // Companions, and the register itself, are read at lower orders only.
            let end = level + usize::from(operand < register);
            let end = origin.map_or(end, |(lowest, _)| end.min(lowest));
            if let Some(lowest) = (0..end).find(|&order| !at(operand, order).is_finite()) {
                origin = Some((lowest, operand));
            }
        }
        let Some((lower, operand)) = origin else {
            return Fault {
                expr: tape.exprs[register],
                kind: kind(tape, register, level, inputs, branches, |operand| {
                    at(operand as usize, 0)
                }),
                order,
                root,
            };
        };
        // At a switch the fault of one side is not that of the other.
        let is_side = op.code == Code::Select && operand != op.a as usize;
        if let Some(switch) = is_side.then(|| undecided(tape, op.a, branches)).flatten() {
            return Fault {
                expr: tape.exprs[switch],
                kind: FaultKind::Kink,
                order,
                root,
            };
        }
        register = operand;
        level = lower;
    }
}

/// The first relation of a condition that is at its switch while nobody says on which side.
fn undecided(tape: &Tape, condition: u32, branches: &Branches) -> Option<usize> {
    let op = &tape.ops[condition as usize];
    match op.code {
        Code::And | Code::Or => {
            undecided(tape, op.a, branches).or_else(|| undecided(tape, op.b, branches))
        }
        Code::Not => undecided(tape, op.a, branches),
        code => (code.is_branch() && branches.is_kink(op.extra)).then_some(condition as usize),
    }
}

/// Why an operation with sound operands failed; `value` gives the operands at order 0.
fn kind<S: Scalar>(
    tape: &Tape,
    register: usize,
    order: usize,
    inputs: &Inputs<S>,
    branches: &Branches,
    value: impl Fn(u32) -> f64,
) -> FaultKind {
    let op = &tape.ops[register];
    match op.code {
        Code::Constant => return FaultKind::NonFiniteInput,
        Code::Input => {
            // A finite coefficient can overflow when it becomes a derivative.
            let raw = match tape.slots[op.extra as usize] {
                crate::Slot::Variable { index, order: up } => {
                    inputs.get(index as usize, order + up as usize)
                }
                slot => inputs.read(slot, order),
            };
            return if raw.is_finite() {
                FaultKind::Overflow
            } else {
                FaultKind::NonFiniteInput
            };
        }
        _ => {}
    }
    if order > 0 {
        return match op.code {
            code if code.is_branch() && branches.is_kink(op.extra) => FaultKind::Kink,
            Code::Sqrt | Code::PowFixed | Code::PowMoving if value(op.a) == 0.0 => {
                FaultKind::SingularSlope
            }
            Code::Asin | Code::Acos if value(op.b) == 0.0 => FaultKind::SingularSlope,
            _ => FaultKind::Overflow,
        };
    }
    match op.code {
        Code::Sqrt => FaultKind::SqrtOfNegative,
        Code::Log | Code::Log10 => FaultKind::LogOfNonPositive,
        Code::Div | Code::DivBy if value(op.b) == 0.0 => FaultKind::DivisionByZero,
        Code::Recip if value(op.a) == 0.0 => FaultKind::NegativePowerOfZero,
        Code::PowFixed | Code::PowMoving if value(op.a) == 0.0 => FaultKind::NegativePowerOfZero,
        Code::PowFixed | Code::PowMoving if value(op.a) < 0.0 && value(op.b).fract() != 0.0 => {
            FaultKind::PowerOfNegative
        }
        Code::Asin | Code::Acos => FaultKind::OutsideUnitInterval,
        Code::Atan2 => FaultKind::AngleOfOrigin,
        _ => FaultKind::Overflow,
    }
}
