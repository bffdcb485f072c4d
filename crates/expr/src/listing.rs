//! The operations of a tape as other crates read them, to make values by other means.
//!
//! A listing shows what [`Values`](crate::Values) computes and in which order it may be computed.
//! The companions that only Taylor coefficients need are left out.

use crate::graph::{BinaryOp, UnaryOp, apply_binary, apply_unary};
use crate::tape::{Code, Register, Slot, Tape};

/// What one register of a tape holds, in terms of smaller registers.
///
/// A register whose result is not a finite number has no value, and neither has one that needs it.
/// Whoever evaluates a listing keeps to that: infinity must not become a number again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operation {
    /// A number.
    Constant(f64),
    /// A variable, a parameter or the time.
    Input(Slot),
    /// `op(a)`.
    Unary(UnaryOp, Register),
    /// `op(a, b)`.
    Binary(BinaryOp, Register, Register),
    /// `1/a`.
    Reciprocal(Register),
    /// 1 wherever `a` has a value.
    One(Register),
    /// The second register where the first is not 0, otherwise the third.
    Select(Register, Register, Register),
}

impl Operation {
    /// The registers that the operation reads.
    pub fn operands(self) -> impl DoubleEndedIterator<Item = Register> {
        let operands = match self {
            Operation::Constant(_) | Operation::Input(_) => [None; 3],
            Operation::Unary(_, a) | Operation::Reciprocal(a) | Operation::One(a) => {
                [Some(a), None, None]
            }
            Operation::Binary(_, a, b) => [Some(a), Some(b), None],
            Operation::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        operands.into_iter().flatten()
    }
}

impl UnaryOp {
    /// The value for a number; NaN or infinity where there is none.
    pub fn apply(self, x: f64) -> f64 {
        apply_unary(self, x)
    }
}

impl BinaryOp {
    /// The value for two numbers; NaN or infinity where there is none.
    pub fn apply(self, x: f64, y: f64) -> f64 {
        apply_binary(self, x, y)
    }
}

impl Tape {
    /// What a register holds; `None` for the companions that only Taylor coefficients need.
    ///
    /// ```
    /// use daelight_expr::{Graph, Operation, Slot, SymbolId, Tape, UnaryOp};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.symbol(SymbolId(0));
    /// let root = graph.unary(UnaryOp::Exp, x);
    /// let tape = Tape::compile(&graph, &[root], |_| Slot::Time);
    /// let operation = tape.operation(tape.root(0));
    /// assert_eq!(operation, Some(Operation::Unary(UnaryOp::Exp, tape.register(0))));
    /// ```
    pub fn operation(&self, register: Register) -> Option<Operation> {
        let needed = !self.ops[register.index()].auxiliary;
        needed.then(|| self.value_of(register))
    }

    /// What a register holds at order 0, companions included.
    pub fn value_of(&self, register: Register) -> Operation {
        let op = &self.ops[register.index()];
        let (a, b, c) = (Register(op.a), Register(op.b), Register(op.c));
        let unary = |code: UnaryOp| Operation::Unary(code, a);
        let binary = |code: BinaryOp| Operation::Binary(code, a, b);
        match op.code {
            Code::Constant => Operation::Constant(self.constants[op.extra as usize]),
            Code::Input => Operation::Input(self.slots[op.extra as usize]),
            Code::Neg => unary(UnaryOp::Neg),
            Code::Add => binary(BinaryOp::Add),
            Code::Sub => binary(BinaryOp::Sub),
            Code::Mul | Code::Scale => binary(BinaryOp::Mul),
            Code::Square => Operation::Binary(BinaryOp::Mul, a, a),
            Code::Div | Code::DivBy => binary(BinaryOp::Div),
            Code::Recip => Operation::Reciprocal(a),
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
            Code::Atan2 => binary(BinaryOp::Atan2),
            Code::Sinh => unary(UnaryOp::Sinh),
            Code::Cosh => unary(UnaryOp::Cosh),
            Code::Tanh => unary(UnaryOp::Tanh),
            Code::PowFixed | Code::PowMoving => binary(BinaryOp::Pow),
            Code::PowZero => Operation::One(a),
            Code::Abs => unary(UnaryOp::Abs),
            Code::Sign => unary(UnaryOp::Sign),
            Code::Min => binary(BinaryOp::Min),
            Code::Max => binary(BinaryOp::Max),
            Code::Less => binary(BinaryOp::Less),
            Code::LessEqual => binary(BinaryOp::LessEqual),
            Code::Greater => binary(BinaryOp::Greater),
            Code::GreaterEqual => binary(BinaryOp::GreaterEqual),
            Code::Equal => binary(BinaryOp::Equal),
            Code::NotEqual => binary(BinaryOp::NotEqual),
            Code::And => binary(BinaryOp::And),
            Code::Or => binary(BinaryOp::Or),
            Code::Not => unary(UnaryOp::Not),
            Code::Select => Operation::Select(a, b, c),
        }
    }
}
