//! Where coefficients, slopes and numbers of a series are kept, and what is left to the interpreters.

use super::SeriesShape;
use crate::code::NativeError;
use daelight_expr::{FastMap, Operation, Recurrence, Register, Slot, Tape};

/// Beyond this many products, written out for all stages, lanes are the better way.
const MAX_TERMS: usize = 20_000;

/// With more products than this the code would not fit the nearest cache if all sums were written out: those of equal
/// length share a function.
const MANY_TERMS: usize = 2000;

/// Where everything is kept.
pub(super) struct Layout<'a> {
    pub tape: &'a Tape,
    pub shape: &'a SeriesShape<'a>,
    /// Room for one register.
    pub stride: usize,
    /// Registers whose coefficients are read after their stage.
    pub kept: Vec<bool>,
    /// Where coefficient i times i is kept, for arguments of functions.
    pub weighted: FastMap<Register, usize>,
    /// Registers that follow the newest coefficients and matter later.
    pub remembered: Vec<Register>,
    /// Where their slopes are kept, if they take a division.
    pub slopes: FastMap<Register, usize>,
    pub n_rows: usize,
    /// Whether long sums are calls.
    pub shares_sums: bool,
}

/// How many products the coefficients of an operation take, up to an order.
fn terms_of(recurrence: Recurrence, top: usize) -> usize {
    match recurrence {
        Recurrence::Square(_) | Recurrence::Root(_) => top * top / 4,
        Recurrence::Product(..)
        | Recurrence::Quotient(..)
        | Recurrence::Reciprocal(_)
        | Recurrence::SlopeProduct { .. }
        | Recurrence::SlopeQuotient { .. } => top * top / 2,
        _ => 0,
    }
}

impl<'a> Layout<'a> {
    pub(super) fn new(tape: &'a Tape, shape: &'a SeriesShape<'a>) -> Result<Self, NativeError> {
        let refuse = |why: &str| Err(NativeError::Refused(why.to_string()));
        if !tape.signals().is_empty() {
            return refuse("signals given by data are read by the interpreter");
        }
        let max_lead = tape.first_stage().unsigned_abs() as usize;
        let stride = shape.n_stages + max_lead + 1;
        let registers = (0..tape.n_registers()).map(|index| tape.register(index));
        let remembered = tape.remembered();
        let mut layout = Self {
            tape,
            shape,
            stride,
            kept: tape.read_later(),
            weighted: FastMap::default(),
            slopes: FastMap::default(),
            n_rows: tape.n_registers() * stride,
            shares_sums: false,
            remembered,
        };
        let mut n_terms = 0;
        for register in registers {
            let Some(recurrence) = tape.recurrence(register) else {
                return refuse("branches and general powers are left to the interpreter");
            };
            let top = shape.n_stages + tape.lead(register);
            let weighted = match recurrence {
                Recurrence::SlopeProduct { x, .. } => Some(x),
                Recurrence::SlopeQuotient { .. } => Some(register),
                _ => None,
            };
            if let Some(register) = weighted
                && !layout.weighted.contains_key(&register)
            {
                layout.weighted.insert(register, layout.n_rows);
                layout.n_rows += stride;
            }
            n_terms += terms_of(recurrence, top);
            let is_twice = match recurrence {
                Recurrence::Sub(a, b) | Recurrence::Product(a, b) | Recurrence::Quotient(a, b) => {
                    a == b
                }
                _ => false,
            };
            if is_twice {
                return refuse("an operation of one operand with itself");
            }
            if recurrence == Recurrence::Resting && tape.operation(register).is_none() {
                let constant = matches!(tape.value_of(register), Operation::Constant(_));
                if !constant {
                    return refuse("a companion rests");
                }
            }
        }
        if n_terms > MAX_TERMS {
            return refuse("the sums written out would be too long");
        }
        layout.shares_sums = n_terms > MANY_TERMS;
        for &register in &layout.remembered {
            let divides = matches!(
                tape.recurrence(register),
                Some(
                    Recurrence::Over(..)
                        | Recurrence::Quotient(..)
                        | Recurrence::Reciprocal(_)
                        | Recurrence::Root(_)
                        | Recurrence::SlopeQuotient { .. }
                )
            );
            if divides {
                layout.slopes.insert(register, layout.n_rows);
                layout.n_rows += 2;
            }
        }
        Ok(layout)
    }

    pub(super) fn is_resting(&self, register: Register) -> bool {
        self.tape.recurrence(register) == Some(Recurrence::Resting)
    }

    /// The variable of an input and how often it is differentiated.
    pub(super) fn variable(&self, register: Register) -> Option<(usize, usize)> {
        match self.tape.recurrence(register) {
            Some(Recurrence::Input(Slot::Variable { index, order })) => {
                Some((index as usize, order as usize))
            }
            _ => None,
        }
    }

    /// Whether the newest coefficient of a register is that of a variable that is being solved for.
    pub(super) fn is_top(&self, register: Register) -> bool {
        self.variable(register)
            .is_some_and(|(j, s)| self.tape.lead(register) + s == self.shape.offsets[j])
    }
}

/// (order+1)...(order+derivative)
pub(super) fn rising(order: usize, derivative: usize) -> f64 {
    (order + 1..=order + derivative)
        .map(|factor| factor as f64)
        .product()
}

pub(super) fn order_at(stage: i32, lead: usize) -> Option<usize> {
    usize::try_from(stage + lead as i32).ok()
}
