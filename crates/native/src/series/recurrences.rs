//! Values and coefficients of one register, and where they are kept.

use super::layout::rising;
use super::writer::{Writer, offset};
use crate::functions;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use daelight_expr::{BinaryOp, Operation, Recurrence, Register, Slot, UnaryOp};

impl Writer<'_, '_, '_> {
    /// Coefficient k >= 1 of a register.
    pub(super) fn coefficient(&mut self, register: Register, k: usize) -> Option<Value> {
        let recurrence = self.layout.tape.recurrence(register);
        match recurrence.expect("others were refused") {
            Recurrence::Resting => None,
            Recurrence::Input(Slot::Variable { index, order }) => {
                let (variable, derivative) = (index as usize, order as usize);
                let n = self.layout.tape.n_variables();
                let coefficient = self.load(self.coefficients, (k + derivative) * n + variable);
                self.scaled(coefficient, rising(k, derivative))
            }
            Recurrence::Input(_) => (k == 1).then(|| self.number(1.0)),
            Recurrence::Neg(a) => {
                let a = self.at(a, k);
                self.difference(None, a)
            }
            Recurrence::Add(a, b) => {
                let (a, b) = (self.at(a, k), self.at(b, k));
                self.sum(a, b)
            }
            Recurrence::Sub(a, b) => {
                let (a, b) = (self.at(a, k), self.at(b, k));
                self.difference(a, b)
            }
            Recurrence::Scale(a, b) => {
                let (a, b) = (self.at(a, k), self.at(b, 0));
                self.product(a, b)
            }
            Recurrence::Over(a, b) => {
                let (a, b) = (self.at(a, k), self.value(b));
                self.quotient(a, b)
            }
            Recurrence::Product(a, b) => self.dot(a, b, 0, k, k),
            Recurrence::Square(a) => self.square(a, 0, k),
            Recurrence::Quotient(a, b) => {
                // Its own coefficient k is not in the sum, which begins with b_1.
                let (top, sum) = (self.at(a, k), self.dot(b, register, 1, k, k));
                let rest = self.difference(top, sum);
                let divisor = self.value(b);
                self.quotient(rest, divisor)
            }
            Recurrence::Reciprocal(a) => {
                let sum = self.dot(a, register, 1, k, k);
                let rest = self.difference(None, sum);
                let divisor = self.value(a);
                self.quotient(rest, divisor)
            }
            Recurrence::Root(a) => {
                let (top, sum) = (self.at(a, k), self.square(register, 1, k));
                let rest = self.difference(top, sum);
                let (two, root) = (self.number(2.0), self.value(register));
                let divisor = self.builder.ins().fmul(two, root);
                self.quotient(rest, divisor)
            }
            Recurrence::SlopeProduct { x, slope, negative } => {
                let sum = self.slope_dot(x, slope, k, k);
                let signed = if negative {
                    self.difference(None, sum)
                } else {
                    sum
                };
                let order = self.number(k as f64);
                self.quotient(signed, order)
            }
            Recurrence::SlopeQuotient { x, divisor, factor } => {
                let order = self.number(k as f64);
                let sum = self.slope_dot(register, divisor, k - 1, k);
                let rest = self.quotient(sum, order);
                let top = self.at(x, k);
                let top = top.and_then(|top| self.scaled(top, factor));
                let rest = self.difference(top, rest);
                let divisor = self.value(divisor);
                self.quotient(rest, divisor)
            }
        }
    }

    /// The same number, or NaN for infinity, which must not become a number again.
    fn clean(&mut self, x: Value) -> Value {
        let doubt = self.builder.ins().fsub(x, x);
        self.builder.ins().fsub(x, doubt)
    }

    /// The value of a register that moves.
    pub(super) fn begin(&mut self, register: Register) -> Value {
        let tape = self.layout.tape;
        match tape.value_of(register) {
            Operation::Input(Slot::Variable { index, order }) => {
                let (variable, derivative) = (index as usize, order as usize);
                let place = derivative * tape.n_variables() + variable;
                let coefficient = self.load(self.coefficients, place);
                self.scaled(coefficient, rising(0, derivative))
                    .expect("a number")
            }
            Operation::Input(_) => self.time,
            Operation::Unary(UnaryOp::Neg, a) => {
                let a = self.value(a);
                self.builder.ins().fneg(a)
            }
            Operation::Unary(UnaryOp::Sqrt, a) => {
                let a = self.value(a);
                self.builder.ins().sqrt(a)
            }
            Operation::Unary(op, a) => {
                let a = self.value(a);
                let address = functions::unary(op).expect("others were refused");
                let address = self.builder.ins().iconst(I64, address as i64);
                let call = self.builder.ins().call_indirect(self.unary, address, &[a]);
                self.builder.inst_results(call)[0]
            }
            Operation::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                match op {
                    BinaryOp::Add => self.builder.ins().fadd(a, b),
                    BinaryOp::Sub => self.builder.ins().fsub(a, b),
                    BinaryOp::Mul => self.builder.ins().fmul(a, b),
                    BinaryOp::Div => {
                        let b = self.clean(b);
                        self.builder.ins().fdiv(a, b)
                    }
                    _ => unreachable!("others were refused"),
                }
            }
            Operation::Reciprocal(a) => {
                let (one, a) = (self.number(1.0), self.value(a));
                let a = self.clean(a);
                self.builder.ins().fdiv(one, a)
            }
            Operation::Constant(_) | Operation::One(_) | Operation::Select(..) => {
                unreachable!("they rest or were refused")
            }
        }
    }

    /// Keeps a coefficient that was made here.
    pub(super) fn keep(
        &mut self,
        register: Register,
        order: usize,
        value: Option<Value>,
        always: bool,
    ) {
        if self.layout.kept[register.index()] || always || order == 0 {
            let number = value.unwrap_or_else(|| self.number(0.0));
            let place = self.place(register, order);
            self.store(number, self.rows, place);
        }
        self.keep_weighted(register, order, value);
    }

    fn keep_weighted(&mut self, register: Register, order: usize, value: Option<Value>) {
        let Some(&place) = self.layout.weighted.get(&register) else {
            return;
        };
        let weighted = value.and_then(|value| self.scaled(value, order as f64));
        self.known_weighted.insert((register, order), weighted);
        let number = weighted.unwrap_or_else(|| self.number(0.0));
        self.store(number, self.rows, place + order);
    }

    /// Sine and cosine of one argument, both at once into their rows.
    pub(super) fn sine_and_cosine(
        &mut self,
        register: Register,
        begun: &mut Vec<Register>,
    ) -> bool {
        let tape = self.layout.tape;
        let Operation::Unary(UnaryOp::Sin | UnaryOp::Cos, of) = tape.value_of(register) else {
            return false;
        };
        let Some(Recurrence::SlopeProduct { slope, .. }) = tape.recurrence(register) else {
            return false;
        };
        let Some(address) = functions::sine_cosine_to_memory() else {
            return false;
        };
        if tape.lead(slope) != tape.lead(register) {
            return false;
        }
        let is_sine =
            |register| matches!(tape.value_of(register), Operation::Unary(UnaryOp::Sin, _));
        let (sine, cosine) = if is_sine(register) {
            (register, slope)
        } else {
            (slope, register)
        };
        let angle = self.value(of);
        let [sine_at, cosine_at] = [sine, cosine].map(|register| {
            let distance = offset(self.place(register, 0));
            self.builder
                .ins()
                .iadd_imm_s(self.rows, i64::from(distance))
        });
        let address = self.builder.ins().iconst(I64, address as i64);
        self.builder
            .ins()
            .call_indirect(self.to_memory, address, &[angle, sine_at, cosine_at]);
        begun.push(slope);
        true
    }
}
