//! One tape at several points at once: the stages of a step side by side.

use crate::inputs::Inputs;
use crate::tape::{Code, NONE, Slot, Tape};
use crate::value::{Branches, Values, value};

/// What a line of the program does with its operands.
#[derive(Clone, Copy, Debug)]
enum Action {
    Neg,
    Add,
    Sub,
    Mul,
    Square,
    Div,
    Recip,
    /// Anything else, point by point.
    Single,
}

/// An operation between registers; a register has a value for every point.
#[derive(Clone, Copy, Debug)]
struct Line {
    action: Action,
    into: u32,
    a: u32,
    b: u32,
}

/// An input that a register holds.
#[derive(Clone, Copy, Debug)]
struct Read {
    register: u32,
    order: u32,
    variable: u32,
}

/// The values of a tape of first order at N points, whose operations are read once for all of them.
///
/// The numbers are those of [`Values`], operation by operation. What rests is computed when it is made.
#[derive(Clone, Debug)]
pub struct Abreast<const N: usize> {
    lines: Vec<Line>,
    registers: Vec<[f64; N]>,
    reads: Vec<Read>,
    /// Registers of the time, and of signals.
    times: Vec<u32>,
    signals: Vec<(u32, Slot)>,
    roots: Vec<u32>,
}

impl<const N: usize> Abreast<N> {
    /// A program for a tape with its parameters; `None` for one that reads derivatives above the first.
    pub fn new(values: &Values) -> Option<Self> {
        let tape = values.tape();
        let mut program = Self {
            lines: Vec::with_capacity(tape.ops.len()),
            registers: vec![[0.0; N]; tape.n_registers()],
            reads: Vec::new(),
            times: Vec::new(),
            signals: Vec::new(),
            roots: tape.roots.clone(),
        };
        let mut branches = values.branches().clone();
        for (register, op) in tape.ops.iter().enumerate().filter(|(_, op)| !op.auxiliary) {
            let place = register as u32;
            if !op.moving {
                let at = |operand: u32| program.registers[operand as usize][0];
                let rests = value(tape, op, values.inputs(), &mut branches, at);
                program.registers[register] = [rests; N];
                continue;
            }
            let action = match op.code {
                Code::Input => {
                    program.read(place, tape.slots[op.extra as usize])?;
                    continue;
                }
                Code::Neg => Action::Neg,
                Code::Add => Action::Add,
                Code::Sub => Action::Sub,
                Code::Mul | Code::Scale => Action::Mul,
                Code::Square => Action::Square,
                Code::Div | Code::DivBy => Action::Div,
                Code::Recip => Action::Recip,
                _ => Action::Single,
            };
            program.lines.push(Line {
                action,
                into: place,
                a: op.a,
                b: if op.b == NONE { op.a } else { op.b },
            });
        }
        Some(program)
    }

    fn read(&mut self, register: u32, slot: Slot) -> Option<()> {
        match slot {
            Slot::Variable { index, order } if order < 2 => self.reads.push(Read {
                register,
                order,
                variable: index,
            }),
            Slot::Variable { .. } | Slot::Parameter(_) => return None,
            Slot::Time => self.times.push(register),
            Slot::Signal { .. } => self.signals.push((register, slot)),
        }
        Some(())
    }

    /// Computes all roots at points of these times, values and derivatives, `[variable][point]`. Allocates nothing.
    ///
    /// False where something has no value: [`Values`] says what.
    pub fn evaluate(
        &mut self,
        values: &mut Values,
        times: &[f64; N],
        points: [&[[f64; N]]; 2],
    ) -> bool {
        for read in &self.reads {
            self.registers[read.register as usize] =
                points[read.order as usize][read.variable as usize];
        }
        for &register in &self.times {
            self.registers[register as usize] = *times;
        }
        let (tape, inputs, branches) = values.parts();
        if !self.signals.is_empty() {
            for (point, &time) in times.iter().enumerate() {
                inputs.set_time(time);
                for &(register, slot) in &self.signals {
                    self.registers[register as usize][point] = inputs.read(slot, 0);
                }
            }
        }
        let (lines, registers) = (&self.lines, &mut self.registers);
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || run(lines, registers, (tape, inputs, branches)),
        );
        let mut doubt = [0.0; N];
        for &root in &self.roots {
            for (doubt, value) in doubt.iter_mut().zip(&self.registers[root as usize]) {
                *doubt += 0.0 * value;
            }
        }
        doubt == [0.0; N]
    }

    /// The values of a root.
    pub fn root(&self, root: usize) -> &[f64; N] {
        &self.registers[self.roots[root] as usize]
    }
}

#[inline(always)]
fn run<const N: usize>(
    lines: &[Line],
    registers: &mut [[f64; N]],
    (tape, inputs, branches): (&Tape, &Inputs, &mut Branches),
) {
    for line in lines {
        let a = registers[line.a as usize];
        let b = registers[line.b as usize];
        let mut result = [0.0; N];
        match line.action {
            Action::Neg => (0..N).for_each(|k| result[k] = -a[k]),
            Action::Add => (0..N).for_each(|k| result[k] = a[k] + b[k]),
            Action::Sub => (0..N).for_each(|k| result[k] = a[k] - b[k]),
            Action::Mul => (0..N).for_each(|k| result[k] = a[k] * b[k]),
            Action::Square => (0..N).for_each(|k| result[k] = a[k] * a[k]),
            Action::Div => (0..N).for_each(|k| result[k] = a[k] / b[k]),
            Action::Recip => (0..N).for_each(|k| result[k] = 1.0 / a[k]),
            Action::Single => {
                let op = &tape.ops[line.into as usize];
                for (k, result) in result.iter_mut().enumerate() {
                    let at = |operand: u32| registers[operand as usize][k];
                    *result = value(tape, op, inputs, branches, at);
                }
            }
        }
        // Infinity becomes NaN, as in `value`.
        result.iter_mut().for_each(|x| *x += 0.0 * *x);
        registers[line.into as usize] = result;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOp, ExprId, Graph, SymbolId, UnaryOp};
    use std::sync::Arc;

    /// Random numbers and choices, always the same.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1);
            (self.0 >> 33) as usize % n
        }

        fn number(&mut self) -> f64 {
            self.below(4001) as f64 / 1000.0 - 2.0
        }
    }

    /// A tape of random operations on two variables, their derivatives, a parameter and the time.
    fn random_tape(random: &mut Random) -> Tape {
        let mut graph = Graph::new();
        let mut known: Vec<ExprId> = (0..6).map(|k| graph.symbol(SymbolId(k))).collect();
        let unary = [
            UnaryOp::Neg,
            UnaryOp::Exp,
            UnaryOp::Sin,
            UnaryOp::Log,
            UnaryOp::Abs,
        ];
        let binary = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Max,
        ];
        for _ in 0..12 {
            let [a, b] = [(); 2].map(|()| known[random.below(known.len())]);
            let made = match random.below(3) {
                0 => graph.unary(unary[random.below(unary.len())], a),
                _ => graph.binary(binary[random.below(binary.len())], a, b),
            };
            known.push(made);
        }
        let slots = [(0, 0), (1, 0), (0, 1), (1, 1)];
        Tape::compile(&graph, &known[10..], |SymbolId(k)| {
            match slots.get(k as usize) {
                Some(&(index, order)) => Slot::Variable { index, order },
                None if k == 4 => Slot::Parameter(0),
                None => Slot::Time,
            }
        })
        .with_counts(2, 1)
        .with_slot_order(1)
    }

    #[test]
    fn points_side_by_side_have_the_bits_of_one_after_the_other() {
        let mut random = Random(7);
        let (mut n_same, mut n_without) = (0, 0);
        for _ in 0..400 {
            let mut values = Values::new(Arc::new(random_tape(&mut random)));
            values.inputs_mut().parameters_mut()[0] = random.number();
            let mut abreast = Abreast::<5>::new(&values).expect("a tape of first order");
            let [x, xp] =
                [(); 2].map(|()| [[0.0; 5]; 2].map(|row| row.map(|_: f64| random.number())));
            let times = [0.0; 5].map(|_| random.number());
            let has_values = abreast.evaluate(&mut values, &times, [&x, &xp]);
            let mut all_have = true;
            for (point, &time) in times.iter().enumerate() {
                let inputs = values.inputs_mut();
                inputs.set_time(time);
                for (variable, (x, xp)) in x.iter().zip(&xp).enumerate() {
                    inputs.set(variable, 0, x[point]);
                    inputs.set(variable, 1, xp[point]);
                }
                all_have &= values.evaluate().is_ok();
                for root in (0..values.tape().n_roots()).filter(|_| has_values) {
                    let found = abreast.root(root)[point];
                    assert_eq!(found.to_bits(), values.root(root).to_bits());
                }
            }
            assert_eq!(has_values, all_have);
            match has_values {
                true => n_same += 1,
                false => n_without += 1,
            }
        }
        assert!(n_same > 40 && n_without > 40, "{n_same}, {n_without}");
    }
}
