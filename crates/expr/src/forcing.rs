//! What time alone decides: the parts of a tape that follow time and parameters and nothing else.

use crate::graph::ExprId;
use crate::recurrence::{Coefficients, correction};
use crate::scalar::Scalar;
use crate::tape::{Code, NONE, Register, Slot, Tape};
use crate::value::Branches;

/// Polynomials of time up to this degree are their own series: their terms fit into every expansion.
const EXACT_DEGREE: u32 = 6;

/// A function of time alone, as large as possible: what reads it depends on more than time.
#[derive(Clone, PartialEq, Debug)]
pub struct Forcing {
    /// Where the tape holds it.
    pub register: Register,
    /// Its expression.
    pub expr: ExprId,
    /// How many orders it runs ahead of the stage.
    pub lead: usize,
    /// Whether a branch reads it: its sign, or that of its difference to something, decides.
    pub decides: bool,
    /// The registers that depend on it, in ascending order, itself excluded.
    pub followers: Vec<u32>,
    /// Whether all of them follow it with slopes that never change.
    pub linear: bool,
}

impl Tape {
    /// The functions of time alone that the tape holds, polynomials of low degree left out.
    pub fn forcing(&self) -> Vec<Forcing> {
        let n = self.ops.len();
        // Degree of a polynomial of time; `None` for what is none, or follows more than time.
        let mut degree: Vec<Option<u32>> = vec![None; n];
        let mut of_time = vec![false; n];
        for (register, op) in self.ops.iter().enumerate() {
            if !op.moving {
                degree[register] = Some(0);
                continue;
            }
            if op.code == Code::Input {
                let is_time = self.slots[op.extra as usize] == Slot::Time;
                of_time[register] = is_time;
                degree[register] = is_time.then_some(1);
                continue;
            }
            let mut operands = op.operands().filter(|&o| !op.is_auxiliary_operand(o));
            of_time[register] = operands.all(|o| of_time[o] || !self.ops[o].moving);
            let of = |operand: u32| degree.get(operand as usize).copied().flatten();
            degree[register] = match op.code {
                Code::Neg | Code::Scale | Code::DivBy => of(op.a),
                Code::Add | Code::Sub => of(op.a).zip(of(op.b)).map(|(a, b)| a.max(b)),
                Code::Mul => of(op.a).zip(of(op.b)).map(|(a, b)| a + b),
                Code::Square => of(op.a).map(|a| 2 * a),
                _ => None,
            };
        }
        let mut is_read = vec![false; n];
        let mut decides = vec![false; n];
        for (register, op) in self.ops.iter().enumerate() {
            if op.auxiliary {
                continue;
            }
            for operand in op.operands().filter(|&o| !op.is_auxiliary_operand(o)) {
                is_read[operand] |= !of_time[register];
                // Where time alone decides a branch, its switching times are those of the forcing.
                is_read[operand] |= op.code.is_branch();
                decides[operand] |= op.code.is_branch();
            }
        }
        for &root in &self.roots {
            is_read[root as usize] = true;
        }
        let is_exact = |register: usize| degree[register].is_some_and(|d| d <= EXACT_DEGREE);
        let found = (0..n).filter(|&r| {
            of_time[r] && self.ops[r].moving && is_read[r] && !is_exact(r) && !self.ops[r].auxiliary
        });
        found
            // What a branch of time alone gives has no series of its own beyond those of its operands.
            .filter(|&r| !self.ops[r].code.is_branch())
            .map(|r| self.forcing_at(r, decides[r]))
            .collect()
    }

    /// The operations that are not linear in what follows more than time, and the sums of them; none if all of them are polynomials.
    pub fn features(&self) -> (Vec<Register>, Vec<Register>) {
        let mut of_time = vec![false; self.ops.len()];
        let moves = self.move_roots();
        let mut curved = vec![false; self.ops.len()];
        let (mut found, mut sums) = (Vec::new(), Vec::new());
        let mut is_polynomial = true;
        for (register, op) in self.ops.iter().enumerate() {
            if op.code == Code::Input {
                of_time[register] = self.slots[op.extra as usize] == Slot::Time;
                continue;
            }
            let mut operands = op.operands().filter(|&o| !op.is_auxiliary_operand(o));
            of_time[register] = operands.all(|o| of_time[o] || !self.ops[o].moving);
            let is_smooth = op.moving && !op.code.is_branch() && moves[register];
            if !is_smooth || op.auxiliary || of_time[register] {
                continue;
            }
            curved[register] = op.operands().any(|o| curved[o]);
            match op.code {
                // Two steps that differ in place make a pulse.
                Code::Add | Code::Sub if curved[op.a as usize] && curved[op.b as usize] => {
                    sums.push(Register(register as u32));
                }
                Code::Constant | Code::Neg | Code::Add | Code::Sub | Code::Scale => {}
                Code::DivBy | Code::PowZero | Code::Select => {}
                Code::And | Code::Or | Code::Not => {}
                Code::Mul | Code::Square => {
                    curved[register] = true;
                    found.push(Register(register as u32));
                }
                _ => {
                    is_polynomial = false;
                    curved[register] = true;
                    found.push(Register(register as u32));
                }
            }
        }
        if is_polynomial {
            found.clear();
            sums.clear();
        }
        (found, sums)
    }

    /// The terms without branches in some roots that are no polynomials of what they read; those of time alone only if they are asked for.
    pub fn smooth_functions(&self, roots: &[usize], of_time_too: bool) -> Vec<Register> {
        let n = self.ops.len();
        let (mut of_time, mut has_branch) = (vec![false; n], vec![false; n]);
        let mut is_curved = vec![false; n];
        for (register, op) in self.ops.iter().enumerate().filter(|(_, op)| op.moving) {
            if op.code == Code::Input {
                let slot = self.slots[op.extra as usize];
                of_time[register] = slot == Slot::Time;
                // A signal has pieces, at whose ends steps end.
                has_branch[register] = matches!(slot, Slot::Signal { .. });
                continue;
            }
            let operands = || op.operands().filter(|&o| !op.is_auxiliary_operand(o));
            of_time[register] = operands().all(|o| of_time[o] || !self.ops[o].moving);
            let decides = op.code.is_branch() || matches!(op.code, Code::Select);
            has_branch[register] = decides || operands().any(|o| has_branch[o]);
            let is_polynomial =
                is_linear(op.code) || matches!(op.code, Code::Mul | Code::Square | Code::PowZero);
            is_curved[register] = !is_polynomial || operands().any(|o| is_curved[o]);
        }
        let mut found = Vec::new();
        let mut seen = vec![false; n];
        let mut open: Vec<usize> = roots
            .iter()
            .map(|&root| self.roots[root] as usize)
            .collect();
        while let Some(register) = open.pop() {
            if std::mem::replace(&mut seen[register], true) || !is_curved[register] {
                continue;
            }
            let op = &self.ops[register];
            if has_branch[register] || is_linear(op.code) {
                open.extend(op.operands().filter(|&o| !op.is_auxiliary_operand(o)));
            } else if of_time_too || !of_time[register] {
                found.push(Register(register as u32));
            }
        }
        found
    }

    /// The variables that are read, by their numbers.
    pub fn variables(&self) -> Vec<usize> {
        let read = self.slots.iter().filter_map(|slot| match slot {
            Slot::Variable { index, .. } => Some(*index as usize),
            _ => None,
        });
        let mut read: Vec<usize> = read.collect();
        read.sort_unstable();
        read.dedup();
        read
    }

    /// Whether each register moves a root; those that only conditions read do not.
    fn move_roots(&self) -> Vec<bool> {
        let mut moves = vec![false; self.ops.len()];
        for &root in &self.roots {
            moves[root as usize] = true;
        }
        for (register, op) in self.ops.iter().enumerate().rev() {
            let hands_on =
                !op.code.is_branch() || matches!(op.code, Code::Abs | Code::Min | Code::Max);
            if moves[register] && hands_on {
                for operand in op.operands() {
                    moves[operand] = true;
                }
            }
        }
        moves
    }

    fn forcing_at(&self, register: usize, decides: bool) -> Forcing {
        let mut follows = vec![false; self.ops.len()];
        follows[register] = true;
        let mut followers = Vec::new();
        let mut linear = true;
        for (r, op) in self.ops.iter().enumerate().skip(register + 1) {
            let follows_now = op
                .operands()
                .any(|o| follows[o] && !op.is_auxiliary_operand(o));
            if !follows_now || op.auxiliary {
                continue;
            }
            follows[r] = true;
            followers.push(r as u32);
            linear &= is_linear(op.code);
        }
        Forcing {
            register: Register(register as u32),
            expr: self.exprs[register],
            lead: self.leads[register] as usize,
            decides,
            followers,
            linear,
        }
    }
}

/// Whether an operation is linear in all that moves.
fn is_linear(code: Code) -> bool {
    matches!(
        code,
        Code::Neg | Code::Add | Code::Sub | Code::Scale | Code::DivBy
    )
}

/// How all roots of a tape follow a function of time: their derivatives by it, at coefficient 0.
pub(crate) fn response<C: Coefficients>(
    tape: &Tape,
    forcing: &Forcing,
    branches: &Branches,
    series: &C,
    moved: &mut [C::Scalar],
    into: &mut [C::Scalar],
) {
    let zero = C::Scalar::ZERO;
    moved[forcing.register.index()] = C::Scalar::ONE;
    for &register in &forcing.followers {
        let op = &tape.ops[register as usize];
        let change = correction(op, register, branches, series, |operand| {
            if operand == NONE {
                zero
            } else {
                moved[operand as usize]
            }
        });
        moved[register as usize] = change;
    }
    for (into, &root) in into.iter_mut().zip(&tape.roots) {
        *into = moved[root as usize];
    }
    moved[forcing.register.index()] = zero;
    for &register in &forcing.followers {
        moved[register as usize] = zero;
    }
}

/// How all roots of a tape follow changes of some of its registers, in ascending order, at coefficient 0.
pub(crate) fn response_to<C: Coefficients>(
    tape: &Tape,
    changes: &[(Register, C::Scalar)],
    branches: &Branches,
    series: &C,
    moved: &mut [C::Scalar],
    into: &mut [C::Scalar],
) {
    let zero = C::Scalar::ZERO;
    let mut given = changes.iter().peekable();
    let first = changes.first().map_or(tape.ops.len(), |(r, _)| r.index());
    for (register, op) in tape.ops.iter().enumerate().skip(first) {
        if let Some((_, change)) = given.next_if(|(r, _)| r.index() == register) {
            moved[register] = *change;
            continue;
        }
        let mut operands = op.operands().filter(|&o| !op.is_auxiliary_operand(o));
        if op.auxiliary || !operands.any(|o| moved[o] != zero) {
            continue;
        }
        moved[register] = correction(op, register as u32, branches, series, |operand| {
            if operand == NONE {
                zero
            } else {
                moved[operand as usize]
            }
        });
    }
    for (into, &root) in into.iter_mut().zip(&tape.roots) {
        *into = moved[root as usize];
    }
    moved[first..].fill(zero);
}
