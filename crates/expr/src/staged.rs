//! Staged evaluation as other crates read it, to make Taylor coefficients by other means.
//!
//! At stage k a register has coefficient k + lead. Above stage 0 the newest coefficients of the variables are unknown and
//! taken as zero; once they are known, what follows them is corrected, (31) of docs/theory/jets.md.

use crate::recurrence::{slope_factor, slope_product, slope_quotient};
use crate::tape::{Code, NONE, Register, Slot, Tape, is_convolution};

/// How coefficient k >= 1 of a register follows from others; the formulas of docs/theory/jets.md.
///
/// Sums run over ascending orders of the first operand, products and sums are not fused: every back end gives the same
/// numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Recurrence {
    /// It does not change with time.
    Resting,
    /// A variable or the time, (2).
    Input(Slot),
    /// -a, (3).
    Neg(Register),
    /// a + b, (4).
    Add(Register, Register),
    /// a - b, (4).
    Sub(Register, Register),
    /// a times a resting b, (5).
    Scale(Register, Register),
    /// a over a resting b, (5).
    Over(Register, Register),
    /// a b, (6).
    Product(Register, Register),
    /// a^2, (7).
    Square(Register),
    /// a/b, (8).
    Quotient(Register, Register),
    /// 1/a, (9).
    Reciprocal(Register),
    /// The square root, (10).
    Root(Register),
    /// h' = x' slope or its negative, (14) to (21).
    SlopeProduct {
        /// The argument.
        x: Register,
        /// The slope, which may be the register itself.
        slope: Register,
        /// Whether the sign changes.
        negative: bool,
    },
    /// divisor h' = factor x', (22) to (26).
    SlopeQuotient {
        /// The argument.
        x: Register,
        /// The divisor.
        divisor: Register,
        /// The factor.
        factor: f64,
    },
}

impl Tape {
    /// How the coefficients of a register follow from others; `None` for what decides branches and for general powers.
    pub fn recurrence(&self, register: Register) -> Option<Recurrence> {
        let op = &self.ops[register.index()];
        if !op.moving {
            return Some(Recurrence::Resting);
        }
        let (a, b) = (Register(op.a), Register(op.b));
        if op.code == Code::PowMoving {
            return None;
        }
        if let Some((x, slope)) = slope_product(op, register.0) {
            return Some(Recurrence::SlopeProduct {
                x: Register(x),
                slope: Register(slope),
                negative: op.code == Code::Cos,
            });
        }
        if let Some((x, divisor)) = slope_quotient(op) {
            return Some(Recurrence::SlopeQuotient {
                x: Register(x),
                divisor: Register(divisor),
                factor: slope_factor(op.code),
            });
        }
        Some(match op.code {
            Code::Input => Recurrence::Input(self.slots[op.extra as usize]),
            Code::Neg => Recurrence::Neg(a),
            Code::Add => Recurrence::Add(a, b),
            Code::Sub => Recurrence::Sub(a, b),
            Code::Scale => Recurrence::Scale(a, b),
            Code::DivBy => Recurrence::Over(a, b),
            Code::Mul => Recurrence::Product(a, b),
            Code::Square => Recurrence::Square(a),
            Code::Div => Recurrence::Quotient(a, b),
            Code::Recip => Recurrence::Reciprocal(a),
            Code::Sqrt => Recurrence::Root(a),
            _ => return None,
        })
    }

    /// How many orders a register runs ahead of the stage.
    pub fn lead(&self, register: Register) -> usize {
        self.leads[register.index()] as usize
    }

    /// Whether coefficients of a register are read at stages after the one that made them, by register.
    pub fn read_later(&self) -> Vec<bool> {
        let mut read_later = vec![false; self.ops.len()];
        for (register, op) in self.ops.iter().enumerate() {
            let convolution = op.moving && is_convolution(op.code);
            // Products read their operands only; the other recurrences read themselves as well.
            read_later[register] |= convolution && !matches!(op.code, Code::Mul | Code::Square);
            for operand in op.operands() {
                let behind = self.leads[register] < self.leads[operand];
                read_later[operand] |= convolution || behind || op.code.is_branch();
            }
        }
        read_later
    }

    /// The registers that follow the newest coefficients of the variables and that later stages read, with the followers
    /// they depend on; ascending.
    pub fn remembered(&self) -> Vec<Register> {
        remembered(self).into_iter().map(Register).collect()
    }

    /// The operands whose newest coefficients that of a register depends on: at most two, each once.
    pub fn top_operands(&self, register: Register) -> [Option<Register>; 2] {
        let some = |operand: u32| (operand != NONE).then_some(Register(operand));
        top_operands(self, register.0).map(some)
    }
}

/// The operands whose newest coefficients an operation reads: at most two, each once.
pub(crate) fn top_operands(tape: &Tape, register: u32) -> [u32; 2] {
    let op = &tape.ops[register as usize];
    let [a, b] = match op.code {
        Code::Select => [op.b, op.c],
        // The exponent's logarithm, (13).
        Code::PowMoving => [op.c, NONE],
        _ => [op.a, op.b],
    };
    let read = |operand: u32| {
        let reads = operand != NONE && tape.reads_top(register as usize, operand as usize);
        if reads { operand } else { NONE }
    };
    [read(a), if b == a { NONE } else { read(b) }]
}

/// The followers whose corrected coefficients later orders read, with the followers they depend on.
pub(crate) fn remembered(tape: &Tape) -> Vec<u32> {
    let mut read_later = tape.read_later();
    for &register in tape.followers.iter().rev() {
        if read_later[register as usize] {
            for operand in tape.ops[register as usize].operands() {
                read_later[operand] |= tape.reads_top(register as usize, operand);
            }
        }
    }
    let followers = tape.followers.iter().copied();
    followers.filter(|&r| read_later[r as usize]).collect()
}
