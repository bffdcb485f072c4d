//! The stages: all registers at an order, the solution for the newest coefficients, and what follows them.

use super::layout::{order_at, rising};
use super::writer::Writer;
use cranelift_codegen::ir::{InstBuilder, Value};
use daelight_expr::{FastMap, Recurrence, Register};

impl Writer<'_, '_, '_> {
    /// All registers at a stage, and the roots.
    pub(super) fn evaluate(&mut self, stage: i32, is_fused: bool) {
        self.stage = stage;
        let tape = self.layout.tape;
        let mut begun: Vec<Register> = Vec::new();
        for index in 0..tape.n_registers() {
            let register = tape.register(index);
            let Some(order) = order_at(stage, tape.lead(register)) else {
                continue;
            };
            if self.layout.is_resting(register) {
                continue;
            }
            if order == 0 {
                if begun.contains(&register) || self.sine_and_cosine(register, &mut begun) {
                    continue;
                }
                let value = self.begin(register);
                self.known.insert((register, 0), Some(value));
                self.keep(register, 0, Some(value), true);
                continue;
            }
            let is_unknown = stage > 0 && self.layout.is_top(register);
            let value = match is_unknown {
                true => None,
                false => self.coefficient(register, order),
            };
            self.known.insert((register, order), value);
            if stage > 0 && self.layout.remembered.binary_search(&register).is_ok() {
                // It is kept once it has been corrected.
                if !is_fused && !is_unknown {
                    let number = value.unwrap_or_else(|| self.number(0.0));
                    let place = self.place(register, order);
                    self.store(number, self.rows, place);
                }
                if self.layout.weighted.contains_key(&register) {
                    let weighted = value.and_then(|value| self.scaled(value, order as f64));
                    self.known_weighted.insert((register, order), weighted);
                }
            } else {
                self.keep(register, order, value, false);
            }
        }
    }

    /// A root at a stage, zero before it has begun.
    fn root(&mut self, root: usize, stage: i32) -> Option<Value> {
        let tape = self.layout.tape;
        let order = order_at(stage, tape.root_lead(root))?;
        self.at(tape.root(root), order)
    }

    /// The roots at a stage up to 0 as they are.
    pub(super) fn write_roots(&mut self, stage: i32) {
        for root in 0..self.layout.tape.n_roots() {
            let value = self.root(root, stage);
            let number = value.unwrap_or_else(|| self.number(0.0));
            self.store(number, self.right, root);
        }
    }

    /// The right-hand side of a stage above 0: minus the derivatives of a root.
    fn right_of(&mut self, root: usize, stage: usize) -> Option<Value> {
        let value = self.root(root, stage as i32)?;
        let factor = -rising(stage, self.layout.tape.root_lead(root));
        self.scaled(value, factor)
    }

    pub(super) fn write_right(&mut self, stage: usize) {
        for root in 0..self.layout.tape.n_roots() {
            let value = self.right_of(root, stage);
            let number = value.unwrap_or_else(|| self.number(0.0));
            self.store(number, self.right, root);
        }
    }

    /// Solves with the inverses; the derivatives of the variables.
    pub(super) fn solve(&mut self, stage: usize) -> Vec<Option<Value>> {
        let shape = self.layout.shape;
        let mut solution = vec![None; self.layout.tape.n_variables()];
        let mut base = 0;
        for block in shape.blocks {
            let n = block.variables.len();
            let mut right: Vec<Option<Value>> = Vec::with_capacity(n);
            for &root in &block.roots {
                let value = self.right_of(root, stage);
                right.push(value);
            }
            let coupling = base + n * block.stride;
            for (place, &(row, variable)) in block.coupling.iter().enumerate() {
                let entry = self.load(self.matrix, coupling + place);
                let term = self.product(Some(entry), solution[variable]);
                right[row] = self.difference(right[row], term);
            }
            for (row, &variable) in block.variables.iter().enumerate() {
                let mut sums = [None; 2];
                for (column, &right) in right.iter().enumerate() {
                    if right.is_some() {
                        let entry = self.load(self.matrix, base + column * block.stride + row);
                        let term = self.product(right, Some(entry));
                        sums[column % 2] = self.sum(sums[column % 2], term);
                    }
                }
                solution[variable] = self.sum(sums[0], sums[1]);
            }
            base += block.n_numbers();
        }
        solution
    }

    pub(super) fn read_solution(&mut self) -> Vec<Option<Value>> {
        (0..self.layout.tape.n_variables())
            .map(|variable| Some(self.load(self.solution, variable)))
            .collect()
    }

    /// Sets the newest coefficients and carries them through.
    pub(super) fn correct(&mut self, stage: usize, solution: &[Option<Value>], is_fused: bool) {
        let layout = self.layout;
        let (tape, n) = (layout.tape, layout.tape.n_variables());
        let mut newest = Vec::with_capacity(n);
        for (variable, &derivative) in solution.iter().enumerate() {
            let d = layout.shape.offsets[variable];
            let factor = 1.0 / rising(stage, d);
            let value = derivative.and_then(|value| self.scaled(value, factor));
            let number = value.unwrap_or_else(|| self.number(0.0));
            self.store(number, self.coefficients, (stage + d) * n + variable);
            newest.push(value);
        }
        let mut moved: FastMap<Register, Option<Value>> = FastMap::default();
        for &register in &layout.remembered {
            let order = stage + tape.lead(register);
            if let Some((variable, derivative)) = layout.variable(register) {
                let factor = rising(order, derivative);
                let new = newest[variable].and_then(|value| self.scaled(value, factor));
                moved.insert(register, new);
                self.known.insert((register, order), new);
                self.keep(register, order, new, false);
                continue;
            }
            let change = self.change(register, &moved);
            moved.insert(register, change);
            let old = match is_fused {
                true => self.at(register, order),
                false => {
                    let place = self.place(register, order);
                    Some(self.load(self.rows, place))
                }
            };
            let new = self.sum(old, change);
            self.known.insert((register, order), new);
            self.keep(register, order, new, false);
        }
    }

    /// How the newest coefficient of a register follows those of its operands.
    fn change(
        &mut self,
        register: Register,
        moved: &FastMap<Register, Option<Value>>,
    ) -> Option<Value> {
        let tape = self.layout.tape;
        let [first, second] = tape
            .top_operands(register)
            .map(|operand| operand.and_then(|operand| moved.get(&operand).copied().flatten()));
        if first.is_none() && second.is_none() {
            return None;
        }
        if let Some(&place) = self.layout.slopes.get(&register) {
            let mut sum = None;
            for (side, change) in [first, second].into_iter().enumerate() {
                if change.is_some() {
                    let slope = self.load(self.rows, place + side);
                    let term = self.product(Some(slope), change);
                    sum = self.sum(sum, term);
                }
            }
            return sum;
        }
        match tape.recurrence(register).expect("others were refused") {
            Recurrence::Neg(_) => self.difference(None, first),
            Recurrence::Add(a, b) if a == b => self.sum(first, first),
            Recurrence::Add(..) => self.sum(first, second),
            Recurrence::Sub(..) => self.difference(first, second),
            Recurrence::Scale(_, b) => {
                let factor = self.value(b);
                self.product(Some(factor), first)
            }
            Recurrence::Product(a, b) => {
                let terms = [(b, first), (a, second)].map(|(other, change)| {
                    let change = change?;
                    let value = self.value(other);
                    Some(self.builder.ins().fmul(value, change))
                });
                self.sum(terms[0], terms[1])
            }
            Recurrence::Square(a) => {
                let (two, value) = (self.number(2.0), self.value(a));
                let slope = self.builder.ins().fmul(two, value);
                self.product(Some(slope), first)
            }
            Recurrence::SlopeProduct {
                slope, negative, ..
            } => {
                let value = self.value(slope);
                let change = self.product(Some(value), first);
                match negative {
                    true => self.difference(None, change),
                    false => change,
                }
            }
            _ => unreachable!("its slopes take a division"),
        }
    }

    /// Moves series by the time given to another point: nested Horner schemes, one variable after the other.
    pub(super) fn shift(&mut self) {
        let n = self.layout.tape.n_variables();
        let max_offset = self.layout.shape.offsets.iter().copied().max();
        let n_out = max_offset.unwrap_or(0) + 1;
        for variable in 0..n {
            let mut sums: Vec<Option<Value>> = vec![None; n_out];
            for order in (0..self.layout.shape.n_stages + n_out).rev() {
                for r in (1..n_out).rev() {
                    let moved = self.product(sums[r], Some(self.time));
                    sums[r] = self.sum(moved, sums[r - 1]);
                }
                let coefficient = self.load(self.coefficients, order * n + variable);
                let moved = self.product(sums[0], Some(self.time));
                sums[0] = self.sum(moved, Some(coefficient));
            }
            for (order, sum) in sums.into_iter().enumerate() {
                let number = sum.unwrap_or_else(|| self.number(0.0));
                self.store(number, self.right, order * n + variable);
            }
        }
    }

    /// The slopes that take a division.
    pub(super) fn write_slopes(&mut self) {
        let tape = self.layout.tape;
        for &register in &self.layout.remembered {
            let Some(&place) = self.layout.slopes.get(&register) else {
                continue;
            };
            let one = self.number(1.0);
            let slopes = match tape.recurrence(register).expect("others were refused") {
                Recurrence::Over(_, b) => {
                    let b = self.value(b);
                    [Some(self.builder.ins().fdiv(one, b)), None]
                }
                Recurrence::Quotient(_, b) => {
                    let (own, b) = (self.value(register), self.value(b));
                    let opposite = self.builder.ins().fneg(own);
                    let first = self.builder.ins().fdiv(one, b);
                    [Some(first), Some(self.builder.ins().fdiv(opposite, b))]
                }
                Recurrence::Reciprocal(a) => {
                    let (own, a) = (self.value(register), self.value(a));
                    let opposite = self.builder.ins().fneg(own);
                    [Some(self.builder.ins().fdiv(opposite, a)), None]
                }
                Recurrence::Root(_) => {
                    let (two, own) = (self.number(2.0), self.value(register));
                    let twice = self.builder.ins().fmul(two, own);
                    [Some(self.builder.ins().fdiv(one, twice)), None]
                }
                Recurrence::SlopeQuotient {
                    divisor, factor, ..
                } => {
                    let (factor, divisor) = (self.number(factor), self.value(divisor));
                    [Some(self.builder.ins().fdiv(factor, divisor)), None]
                }
                _ => unreachable!("its slopes take no division"),
            };
            for (side, slope) in slopes.into_iter().enumerate() {
                if let Some(slope) = slope {
                    self.store(slope, self.rows, place + side);
                }
            }
        }
    }
}
