//! Operations as instructions and calls.

use super::{Lanes, Piece, offset};
use crate::functions;
use crate::schedule::operation;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F64X2, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, SigRef, Value};
use daelight_expr::{BinaryOp, Operation, Register, UnaryOp};

impl Piece<'_, '_, '_> {
    /// Calls a function for each lane.
    fn call(&mut self, signature: SigRef, address: usize, arguments: &[Value]) -> Vec<Vec<Value>> {
        let address = self.builder.ins().iconst(I64, address as i64);
        let mut results = Vec::with_capacity(2);
        for lane in 0..self.lanes.count() {
            let numbers: Vec<Value> = arguments
                .iter()
                .map(|&argument| self.lane(argument, lane))
                .collect();
            let call = self
                .builder
                .ins()
                .call_indirect(signature, address, &numbers);
            results.push(self.builder.inst_results(call).to_vec());
        }
        results
    }

    fn call_one(&mut self, signature: SigRef, address: usize, arguments: &[Value]) -> Value {
        let results = self.call(signature, address, arguments);
        let lanes: Vec<Value> = results.iter().map(|lane| lane[0]).collect();
        self.join(&lanes)
    }

    /// Leaves sine and cosine in their places of the table, from where each use reads them.
    pub(super) fn sine_cosine_to_memory(
        &mut self,
        address: usize,
        angle: Value,
        results: [Register; 2],
    ) {
        let n_numbers = self.emitter.numbers.list.len();
        let address = self.builder.ins().iconst(I64, address as i64);
        for lane in 0..self.points.len() {
            let number = self.lane(angle, lane);
            let [sine, cosine] = results.map(|register| {
                let kept = self.emitter.schedule.kept[register.index()] as usize;
                let place = self.emitter.lanes.count() * (n_numbers + kept) + lane;
                self.builder
                    .ins()
                    .iadd_imm_s(self.table, i64::from(offset(place)))
            });
            let arguments = [number, sine, cosine];
            self.builder
                .ins()
                .call_indirect(self.to_memory, address, &arguments);
        }
    }

    pub(super) fn sine_cosine(&mut self, angle: Value) -> (Value, Value) {
        if functions::RETURNS_PAIRS {
            let address = functions::sine_cosine as *const () as usize;
            let results = self.call(self.pair, address, &[angle]);
            let [sines, cosines] =
                [0, 1].map(|which| results.iter().map(|lane| lane[which]).collect::<Vec<_>>());
            (self.join(&sines), self.join(&cosines))
        } else {
            let [sine, cosine] = [UnaryOp::Sin, UnaryOp::Cos].map(|op| {
                let address = functions::unary(op).expect("sine and cosine are functions");
                self.call_one(self.unary, address, &[angle])
            });
            (sine, cosine)
        }
    }

    /// +0 if the register is a number, otherwise NaN; `None` for constants.
    fn poison(&mut self, register: Register) -> Option<Value> {
        if let Operation::Constant(_) = operation(self.emitter.tape, register) {
            return None;
        }
        if let Some(&poison) = self.poisons.get(&register) {
            return Some(poison);
        }
        let value = self.value(register);
        let poison = self.builder.ins().fsub(value, value);
        self.poisons.insert(register, poison);
        Some(poison)
    }

    /// The value, or NaN where the others have none.
    fn only_with(&mut self, value: Value, others: &[Register]) -> Value {
        others.iter().fold(value, |value, &other| {
            match self.poison(other) {
                // Minus keeps the sign of a zero.
                Some(poison) => self.builder.ins().fsub(value, poison),
                None => value,
            }
        })
    }

    /// The value of a register with infinity as NaN.
    fn clean(&mut self, register: Register) -> Value {
        let value = self.value(register);
        if self.emitter.bounds[register.index()].is_finite() {
            value
        } else {
            self.only_with(value, &[register])
        }
    }

    /// `yes` where the relation holds, otherwise `no`.
    fn choose(&mut self, relation: FloatCC, a: Value, b: Value, yes: Value, no: Value) -> Value {
        let holds = self.builder.ins().fcmp(relation, a, b);
        match self.lanes {
            Lanes::One => self.builder.ins().select(holds, yes, no),
            Lanes::Two => {
                let flags = MemFlagsData::new();
                let mask = self.builder.ins().bitcast(F64X2, flags, holds);
                self.builder.ins().bitselect(mask, yes, no)
            }
        }
    }

    fn truth(&mut self, relation: FloatCC, a: Value, b: Value) -> Value {
        let (one, zero) = (self.number(1.0), self.number(0.0));
        self.choose(relation, a, b, one, zero)
    }

    pub(super) fn compute(&mut self, operation: Operation) -> Value {
        match operation {
            Operation::Constant(number) => self.number(number),
            Operation::Input(slot) => self.input(slot),
            Operation::Unary(op, a) => self.unary(op, a),
            Operation::Binary(op, a, b) => self.binary(op, a, b),
            Operation::Reciprocal(a) => {
                let below = self.clean(a);
                let one = self.number(1.0);
                self.builder.ins().fdiv(one, below)
            }
            Operation::One(a) => {
                let one = self.number(1.0);
                self.only_with(one, &[a])
            }
            Operation::Select(condition, a, b) => {
                let [test, yes, no] = [condition, a, b].map(|register| self.value(register));
                let zero = self.number(0.0);
                let chosen = self.choose(FloatCC::Equal, test, zero, no, yes);
                self.only_with(chosen, &[condition])
            }
        }
    }

    /// -0 - x is -x for every number; the mask that a change of sign needs would be made anew each time.
    fn negated(&mut self, x: Value) -> Value {
        let minus_zero = self.number(-0.0);
        self.builder.ins().fsub(minus_zero, x)
    }

    fn unary(&mut self, op: UnaryOp, a: Register) -> Value {
        let x = self.value(a);
        if let Some(address) = functions::unary(op) {
            return self.call_one(self.unary, address, &[x]);
        }
        match op {
            UnaryOp::Neg => self.negated(x),
            UnaryOp::Sqrt => self.builder.ins().sqrt(x),
            UnaryOp::Abs => {
                let (negated, zero) = (self.negated(x), self.number(0.0));
                self.choose(FloatCC::LessThan, x, zero, negated, x)
            }
            UnaryOp::Sign => {
                let [zero, one, minus_one] = [0.0, 1.0, -1.0].map(|number| self.number(number));
                let positive = self.choose(FloatCC::GreaterThan, x, zero, one, zero);
                let sign = self.choose(FloatCC::LessThan, x, zero, minus_one, positive);
                self.only_with(sign, &[a])
            }
            UnaryOp::Not => {
                let zero = self.number(0.0);
                let truth = self.truth(FloatCC::Equal, x, zero);
                self.only_with(truth, &[a])
            }
            _ => unreachable!("{op:?} is a function"),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: Register, b: Register) -> Value {
        let relation = match op {
            BinaryOp::Less => Some(FloatCC::LessThan),
            BinaryOp::LessEqual => Some(FloatCC::LessThanOrEqual),
            BinaryOp::Greater => Some(FloatCC::GreaterThan),
            BinaryOp::GreaterEqual => Some(FloatCC::GreaterThanOrEqual),
            BinaryOp::Equal => Some(FloatCC::Equal),
            BinaryOp::NotEqual => Some(FloatCC::NotEqual),
            _ => None,
        };
        let x = self.value(a);
        let y = match op {
            BinaryOp::Div => self.clean(b),
            _ if a == b => x,
            _ => self.value(b),
        };
        if let Some(relation) = relation {
            let truth = self.truth(relation, x, y);
            return self.only_with(truth, &[a, b]);
        }
        if let Some(address) = functions::binary(op) {
            return self.call_one(self.binary, address, &[x, y]);
        }
        match op {
            BinaryOp::Add => self.builder.ins().fadd(x, y),
            BinaryOp::Sub => self.builder.ins().fsub(x, y),
            BinaryOp::Mul => self.builder.ins().fmul(x, y),
            BinaryOp::Div => self.builder.ins().fdiv(x, y),
            BinaryOp::Min => {
                let least = self.choose(FloatCC::GreaterThan, x, y, y, x);
                self.only_with(least, &[a, b])
            }
            BinaryOp::Max => {
                let largest = self.choose(FloatCC::LessThan, x, y, y, x);
                self.only_with(largest, &[a, b])
            }
            // One side is enough: false and anything, true or anything.
            BinaryOp::And => {
                let (zero, one) = (self.number(0.0), self.number(1.0));
                let both = self.only_with(one, &[a, b]);
                let second = self.choose(FloatCC::Equal, y, zero, zero, both);
                self.choose(FloatCC::Equal, x, zero, zero, second)
            }
            BinaryOp::Or => {
                let (zero, one) = (self.number(0.0), self.number(1.0));
                let neither = self.only_with(zero, &[a, b]);
                // True is a number other than 0, which NaN is not.
                let [x, y] = [a, b].map(|register| {
                    let number = self.clean(register);
                    self.builder.ins().fabs(number)
                });
                let second = self.choose(FloatCC::GreaterThan, y, zero, one, neither);
                self.choose(FloatCC::GreaterThan, x, zero, one, second)
            }
            _ => unreachable!("{op:?} is a function or a relation"),
        }
    }
}
