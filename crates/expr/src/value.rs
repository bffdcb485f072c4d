//! Values: coefficient 0 of every operation, the branches taken, and the plain interpreter.

use crate::fault::{Fault, trace};
use crate::graph::UnaryOp;
use crate::inputs::Inputs;
use crate::scalar::Scalar;
use crate::tape::{Code, NONE, Op, Register, Tape};
use std::cmp::Ordering;
use std::sync::Arc;

/// The side that each branch operation took, and whether the sides are held.
///
/// A side is the sign of the argument of abs and sign, or of left minus right for min, max and the
/// relations; [`Ordering::Equal`] is the switching point itself, a kink for every jet unless the branch is held or pinned there: then
/// it rests, and takes the value that the text gives it at the switching point.
#[derive(Clone, Debug)]
pub struct Branches {
    sides: Vec<Ordering>,
    held: bool,
    /// Branches that keep their side while the others follow the values.
    pinned: Vec<bool>,
    /// Branches whose operands have values everywhere: where they have none with the sides held, that is no news.
    total: Vec<bool>,
}

impl Branches {
    pub(crate) fn new(tape: &Tape) -> Self {
        Self {
            sides: vec![Ordering::Equal; tape.branches.len()],
            held: false,
            pinned: vec![false; tape.branches.len()],
            total: tape.total.clone(),
        }
    }

    /// The side of every branch, in the order of [`Tape::branches`].
    pub fn sides(&self) -> &[Ordering] {
        &self.sides
    }

    /// Holds the sides as they are, or lets them follow the values again.
    ///
    /// While held, every branch operation is the smooth continuation of its side, so an integrator
    /// can look past a switching time before it locates it.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Whether the sides are held.
    pub fn held(&self) -> bool {
        self.held
    }

    /// Chooses the side of one branch; it counts at the next evaluation with held sides.
    pub fn choose(&mut self, branch: usize, side: Ordering) {
        self.sides[branch] = side;
    }

    /// Keeps one branch on a side while the others follow the values, or lets it follow them again.
    pub fn pin(&mut self, branch: usize, side: Option<Ordering>) {
        self.pinned[branch] = side.is_some();
        if let Some(side) = side {
            self.sides[branch] = side;
        }
    }

    /// Whether a branch is at its switching point, and nobody says on which side it goes on or that it rests there.
    pub(crate) fn is_kink(&self, branch: u32) -> bool {
        let is_equal = |branch: usize| {
            self.sides[branch] == Ordering::Equal && !self.held && !self.pinned[branch]
        };
        branch != NONE && is_equal(branch as usize)
    }

    pub(crate) fn side(&self, branch: u32) -> Ordering {
        self.sides[branch as usize]
    }

    /// The side of a branch; `None` for operands without values, and for intervals that overlap unless sides are held.
    fn decide<S: Scalar>(&mut self, branch: u32, left: S, right: S) -> Option<Ordering> {
        let found = left.partial_cmp(&right);
        if branch == NONE {
            return found;
        }
        let side = &mut self.sides[branch as usize];
        if self.held || self.pinned[branch as usize] {
            let is_known = self.total[branch as usize] || !left.is_nan() && !right.is_nan();
            return is_known.then_some(*side);
        }
        *side = found.unwrap_or(Ordering::Equal);
        found
    }
}

/// Value of one operation; NaN where it has none. `at` gives the values of its operands.
pub(crate) fn value<S: Scalar>(
    tape: &Tape,
    op: &Op,
    inputs: &Inputs<S>,
    branches: &mut Branches,
    at: impl Fn(u32) -> S,
) -> S {
    let unary = |op_code: UnaryOp| at(op.a).unary(op_code);
    let result = match op.code {
        Code::Constant => S::from(tape.constants[op.extra as usize]),
        Code::Input => inputs.read(tape.slots[op.extra as usize], 0),
        Code::Neg => -at(op.a),
        Code::Add => at(op.a) + at(op.b),
        Code::Sub => at(op.a) - at(op.b),
        Code::Mul | Code::Scale => at(op.a) * at(op.b),
        Code::Square => at(op.a).square(),
        Code::Div | Code::DivBy => at(op.a) / at(op.b),
        Code::Recip => S::ONE / at(op.a),
        Code::Sqrt => unary(UnaryOp::Sqrt),
        Code::Exp => unary(UnaryOp::Exp),
        Code::Log => unary(UnaryOp::Log),
        Code::Log10 => unary(UnaryOp::Log10),
        Code::Sin => unary(UnaryOp::Sin),
        Code::Cos => unary(UnaryOp::Cos),
        Code::Tan => unary(UnaryOp::Tan),
        Code::Asin => unary(UnaryOp::Asin),
        Code::Acos => unary(UnaryOp::Acos),
        Code::Atan => unary(UnaryOp::Atan),
        Code::Sinh => unary(UnaryOp::Sinh),
        Code::Cosh => unary(UnaryOp::Cosh),
        Code::Tanh => unary(UnaryOp::Tanh),
        Code::Atan2 => {
            let (y, x) = (at(op.a), at(op.b));
            if y == S::ZERO && x == S::ZERO {
                S::NAN
            } else {
                y.angle(x)
            }
        }
        Code::PowZero => {
            if at(op.a).is_nan() {
                S::NAN
            } else {
                S::ONE
            }
        }
        Code::PowFixed | Code::PowMoving => {
            let (base, exponent) = (at(op.a), at(op.b));
            if base.is_nan() || exponent.is_nan() {
                S::NAN
            } else {
                base.power(exponent)
            }
        }
        Code::Not => match at(op.a) {
            condition if condition.is_nan() => S::NAN,
            condition => truth(condition == S::ZERO),
        },
        // One side is enough: `x > 0 and log(x) > 1` is false for x = -1.
        Code::And => match (at(op.a), at(op.b)) {
            (a, b) if a == S::ZERO || b == S::ZERO => S::ZERO,
            (a, b) if a.is_nan() || b.is_nan() => S::NAN,
            _ => S::ONE,
        },
        Code::Or => match (at(op.a), at(op.b)) {
            (a, b) if is_true(a) || is_true(b) => S::ONE,
            (a, b) if a.is_nan() || b.is_nan() => S::NAN,
            _ => S::ZERO,
        },
        Code::Select => match at(op.a) {
            condition if condition.is_nan() => S::NAN,
            condition => at(if condition == S::ZERO { op.c } else { op.b }),
        },
        _ => {
            let left = at(op.a);
            let right = if op.b == NONE { S::ZERO } else { at(op.b) };
            match branches.decide(op.extra, left, right) {
                Some(side) => on_side(op.code, side, left, right),
                None => S::NAN,
            }
        }
    };
    // Infinity becomes NaN: atan and 1/x would turn it back into a number.
    if result.is_finite() { result } else { S::NAN }
}

fn is_true<S: Scalar>(value: S) -> bool {
    value != S::ZERO && !value.is_nan()
}

fn truth<S: Scalar>(holds: bool) -> S {
    if holds { S::ONE } else { S::ZERO }
}

/// What a branch operation is on one side of its switching point.
fn on_side<S: Scalar>(code: Code, side: Ordering, left: S, right: S) -> S {
    match code {
        Code::Abs if side.is_lt() => -left,
        Code::Abs => left,
        Code::Sign => S::from(f64::from(side as i8)),
        Code::Min => {
            if side.is_gt() {
                right
            } else {
                left
            }
        }
        Code::Max => {
            if side.is_lt() {
                right
            } else {
                left
            }
        }
        Code::Less => truth(side.is_lt()),
        Code::LessEqual => truth(side.is_le()),
        Code::Greater => truth(side.is_gt()),
        Code::GreaterEqual => truth(side.is_ge()),
        Code::Equal => truth(side.is_eq()),
        Code::NotEqual => truth(side.is_ne()),
        _ => unreachable!("{code:?} decides no branch"),
    }
}

/// The plain interpreter for values.
///
/// It is the oracle for all other back ends: one operation after the other, no rearrangement.
#[derive(Clone, Debug)]
pub struct Values {
    tape: Arc<Tape>,
    inputs: Inputs,
    branches: Branches,
    registers: Vec<f64>,
}

impl Values {
    /// Room for one evaluation of the tape.
    pub fn new(tape: Arc<Tape>) -> Self {
        Self {
            inputs: Inputs::new(&tape, 0),
            branches: Branches::new(&tape),
            registers: vec![0.0; tape.n_registers()],
            tape,
        }
    }

    /// The tape that is evaluated.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// Where the tape is evaluated.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Where the tape is evaluated, to be written.
    pub fn inputs_mut(&mut self) -> &mut Inputs {
        &mut self.inputs
    }

    /// The branches taken by the last evaluation.
    pub fn branches(&self) -> &Branches {
        &self.branches
    }

    /// The branches, to be held or chosen.
    pub fn branches_mut(&mut self) -> &mut Branches {
        &mut self.branches
    }

    /// The tape, where it is evaluated, and the branches.
    pub(crate) fn parts(&mut self) -> (&Tape, &mut Inputs, &mut Branches) {
        (&self.tape, &mut self.inputs, &mut self.branches)
    }

    /// Computes all roots, or says which expression has no value. Allocates nothing.
    pub fn evaluate(&mut self) -> Result<(), Fault> {
        let tape = &*self.tape;
        for (register, op) in tape.ops.iter().enumerate() {
            if !op.auxiliary {
                self.registers[register] =
                    value(tape, op, &self.inputs, &mut self.branches, |operand| {
                        self.registers[operand as usize]
                    });
            }
        }
        match (0..tape.n_roots()).find(|&root| !self.root(root).is_finite()) {
            None => Ok(()),
            Some(root) => Err(trace(
                tape,
                root,
                0,
                &self.inputs,
                &self.branches,
                |register, _| self.registers[register],
            )),
        }
    }

    /// Value of a root.
    pub fn root(&self, root: usize) -> f64 {
        self.registers[self.tape.roots[root] as usize]
    }

    /// Values of all roots.
    pub fn roots(&self, into: &mut [f64]) {
        for (place, &root) in into.iter_mut().zip(&self.tape.roots) {
            *place = self.registers[root as usize];
        }
    }

    /// Value of a register that the roots depend on.
    pub fn value(&self, register: Register) -> f64 {
        self.registers[register.index()]
    }
}
