//! Taylor coefficients by native code: one function for each stage, every sum written out.
//!
//! The stages are those of [`Tape::compile_staged`]. Up to stage 0 a function gives the roots at coefficients that are
//! known. Above it solves for the newest coefficients with matrices that the caller keeps inverted, and carries them
//! through, (3) of `docs/theory/integration.md`. Sums run in the order of the interpreters and are not fused, so that the
//! numbers are theirs.
//!
//! Coefficients of a register stand side by side in a row.

use crate::code::{CompileReport, Memory, NativeError, Tier, define, module, refused};
use crate::evaluate::all_finite;
use crate::functions;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{
    AbiParam, FuncRef, Function, InstBuilder, MemFlagsData, SigRef, Signature, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use daelight_expr::{
    BinaryOp, FastMap, Operation, Recurrence, Register, Slot, Tape, UnaryOp, Values,
};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Beyond this many products, written out for all stages, lanes are the better way.
const MAX_TERMS: usize = 20_000;

/// Blocks up to this size are multiplied with their inverses in the code itself.
const INLINE: usize = 6;

/// With more products than this the code would not fit the nearest cache if all sums were written out: those of equal
/// length share a function.
const MANY_TERMS: usize = 2000;

/// Sums with fewer terms are written out.
const LONG_SUM: usize = 6;

/// Series of more variables are moved faster in lanes.
const FEW: usize = 8;

/// Reads and writes within the bounds that the callers check.
const MEMORY: MemFlagsData = MemFlagsData::trusted();

/// A diagonal block of the matrix that the stages solve with, in the order in which blocks are solved.
#[derive(Clone, Debug)]
pub struct BlockShape {
    /// The roots whose coefficients it takes.
    pub roots: Vec<usize>,
    /// The variables that it gives.
    pub variables: Vec<usize>,
    /// Row within the block and variable of the entries that join it to earlier blocks.
    pub coupling: Vec<(usize, usize)>,
    /// Distance of the columns of its inverse.
    pub stride: usize,
}

impl BlockShape {
    /// How many numbers it takes: the inverse by columns, and the entries of the coupling.
    pub fn n_numbers(&self) -> usize {
        self.variables.len() * self.stride + self.coupling.len()
    }
}

/// What the series of a tape are for.
#[derive(Clone, Debug)]
pub struct SeriesShape<'a> {
    /// Number of stages above 0.
    pub n_stages: usize,
    /// How far the newest coefficient of each variable is ahead of the stage.
    pub offsets: &'a [usize],
    /// The matrix that the stages solve with.
    pub blocks: &'a [BlockShape],
}

/// One stage, or a part of it.
type Part = unsafe extern "C" fn(
    rows: *mut f64,
    numbers: *const f64,
    coefficients: *mut f64,
    matrix: *const f64,
    right: *mut f64,
    solution: *const f64,
    time: f64,
);

/// The stages of a tape as native code; it can be shared by threads.
pub struct SeriesCode {
    tape: Arc<Tape>,
    memory: Memory,
    numbers: Vec<f64>,
    n_rows: usize,
    stride: usize,
    /// Whether a stage above 0 is one function, with the solution in it.
    is_fused: bool,
    /// Whether the last function moves series.
    shifts: bool,
    n_stages: usize,
    n_coefficients: usize,
    n_matrix: usize,
    report: CompileReport,
}

impl fmt::Debug for SeriesCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeriesCode")
            .field("is_fused", &self.is_fused)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

/// Where everything is kept.
struct Layout<'a> {
    tape: &'a Tape,
    shape: &'a SeriesShape<'a>,
    /// Room for one register.
    stride: usize,
    /// Registers whose coefficients are read after their stage.
    kept: Vec<bool>,
    /// Where coefficient i times i is kept, for arguments of functions.
    weighted: FastMap<Register, usize>,
    /// Registers that follow the newest coefficients and matter later.
    remembered: Vec<Register>,
    /// Where their slopes are kept, if they take a division.
    slopes: FastMap<Register, usize>,
    n_rows: usize,
    /// Whether long sums are calls.
    shares_sums: bool,
}

/// The numbers that the code reads, each once.
#[derive(Default)]
struct Numbers {
    list: Vec<f64>,
    places: FastMap<u64, usize>,
}

impl Numbers {
    fn place(&mut self, number: f64) -> usize {
        *self.places.entry(number.to_bits()).or_insert_with(|| {
            self.list.push(number);
            self.list.len() - 1
        })
    }
}

/// (order+1)...(order+derivative)
fn rising(order: usize, derivative: usize) -> f64 {
    (order + 1..=order + derivative)
        .map(|factor| factor as f64)
        .product()
}

fn offset(place: usize) -> i32 {
    i32::try_from(place * 8).expect("fewer than 2^28 numbers")
}

fn order_at(stage: i32, lead: usize) -> Option<usize> {
    usize::try_from(stage + lead as i32).ok()
}

impl<'a> Layout<'a> {
    fn new(tape: &'a Tape, shape: &'a SeriesShape<'a>) -> Result<Self, NativeError> {
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
            n_terms += match recurrence {
                Recurrence::Square(_) | Recurrence::Root(_) => top * top / 4,
                Recurrence::Product(..)
                | Recurrence::Quotient(..)
                | Recurrence::Reciprocal(_)
                | Recurrence::SlopeProduct { .. }
                | Recurrence::SlopeQuotient { .. } => top * top / 2,
                _ => 0,
            };
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

    fn is_resting(&self, register: Register) -> bool {
        self.tape.recurrence(register) == Some(Recurrence::Resting)
    }

    /// The variable of an input and how often it is differentiated.
    fn variable(&self, register: Register) -> Option<(usize, usize)> {
        match self.tape.recurrence(register) {
            Some(Recurrence::Input(Slot::Variable { index, order })) => {
                Some((index as usize, order as usize))
            }
            _ => None,
        }
    }

    /// Whether the newest coefficient of a register is that of a variable that is being solved for.
    fn is_top(&self, register: Register) -> bool {
        self.variable(register)
            .is_some_and(|(j, s)| self.tape.lead(register) + s == self.shape.offsets[j])
    }
}

/// A function being written.
struct Writer<'a, 'b, 'c> {
    layout: &'a Layout<'b>,
    numbers: &'a mut Numbers,
    builder: FunctionBuilder<'c>,
    rows: Value,
    constants: Value,
    coefficients: Value,
    matrix: Value,
    right: Value,
    solution: Value,
    time: Value,
    unary: SigRef,
    to_memory: SigRef,
    /// Sums by their numbers of terms.
    sums: Vec<FuncRef>,
    /// The newest stage that is being written.
    stage: i32,
    /// Coefficients that this function made; `None` is zero.
    known: FastMap<(Register, usize), Option<Value>>,
    known_weighted: FastMap<(Register, usize), Option<Value>>,
}

/// The functions of a tape.
struct Functions<'a> {
    layout: &'a Layout<'a>,
    numbers: Numbers,
    /// Sums by their numbers of terms.
    sums: Vec<FuncId>,
    convention: CallConv,
    config: TargetFrontendConfig,
}

impl Functions<'_> {
    /// A sum and the products that are added to it: of numbers in ascending places with numbers in descending ones.
    fn write_sum(
        &mut self,
        n_terms: usize,
        function: &mut Function,
        context: &mut FunctionBuilderContext,
    ) {
        let mut signature = Signature::new(self.convention);
        signature.params = [F64, I64, I64].map(AbiParam::new).to_vec();
        signature.returns.push(AbiParam::new(F64));
        function.signature = signature;
        let mut builder = FunctionBuilder::new(function, context);
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        builder.seal_block(block);
        let arguments = builder.block_params(block).to_vec();
        let mut sum = arguments[0];
        for term in 0..n_terms {
            let left = builder.ins().load(F64, MEMORY, arguments[1], offset(term));
            let right = builder.ins().load(F64, MEMORY, arguments[2], -offset(term));
            let product = builder.ins().fmul(left, right);
            sum = builder.ins().fadd(sum, product);
        }
        builder.ins().return_(&[sum]);
        builder.finalize(self.config);
    }

    fn write(
        &mut self,
        function: &mut Function,
        context: &mut FunctionBuilderContext,
        module: &mut JITModule,
        body: impl FnOnce(&mut Writer<'_, '_, '_>),
    ) {
        let call = |n_numbers: usize, n_places: usize, n_results: usize| {
            let mut signature = Signature::new(self.convention);
            signature.params.resize(n_numbers, AbiParam::new(F64));
            signature
                .params
                .resize(n_numbers + n_places, AbiParam::new(I64));
            signature.returns.resize(n_results, AbiParam::new(F64));
            signature
        };
        let mut own = call(0, 6, 0);
        own.params.push(AbiParam::new(F64));
        function.signature = own;
        let sums = self
            .sums
            .iter()
            .map(|&id| module.declare_func_in_func(id, function))
            .collect();
        let mut builder = FunctionBuilder::new(function, context);
        let unary = builder.import_signature(call(1, 0, 1));
        let to_memory = builder.import_signature(call(1, 2, 0));
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        builder.seal_block(block);
        let arguments = builder.block_params(block).to_vec();
        let mut writer = Writer {
            layout: self.layout,
            numbers: &mut self.numbers,
            builder,
            rows: arguments[0],
            constants: arguments[1],
            coefficients: arguments[2],
            matrix: arguments[3],
            right: arguments[4],
            solution: arguments[5],
            time: arguments[6],
            unary,
            to_memory,
            sums,
            stage: 0,
            known: FastMap::default(),
            known_weighted: FastMap::default(),
        };
        body(&mut writer);
        writer.builder.ins().return_(&[]);
        writer.builder.finalize(self.config);
    }
}

impl Writer<'_, '_, '_> {
    fn load(&mut self, base: Value, place: usize) -> Value {
        self.builder.ins().load(F64, MEMORY, base, offset(place))
    }

    fn store(&mut self, value: Value, base: Value, place: usize) {
        self.builder.ins().store(MEMORY, value, base, offset(place));
    }

    fn number(&mut self, number: f64) -> Value {
        let place = self.numbers.place(number);
        self.load(self.constants, place)
    }

    fn place(&self, register: Register, order: usize) -> usize {
        register.index() * self.layout.stride + order
    }

    /// A coefficient, made here or read from memory; `None` is zero.
    fn at(&mut self, register: Register, order: usize) -> Option<Value> {
        if let Some(&value) = self.known.get(&(register, order)) {
            return value;
        }
        if self.layout.is_resting(register) {
            if order > 0 {
                return None;
            }
            if let Operation::Constant(number) = self.layout.tape.value_of(register) {
                return Some(self.number(number));
            }
        }
        let place = self.place(register, order);
        Some(self.load(self.rows, place))
    }

    fn value(&mut self, register: Register) -> Value {
        self.at(register, 0)
            .expect("values are not taken as zero before they are known")
    }

    /// A coefficient times its order.
    fn weighted(&mut self, register: Register, order: usize) -> Option<Value> {
        if let Some(&value) = self.known_weighted.get(&(register, order)) {
            return value;
        }
        let place = self.layout.weighted[&register] + order;
        Some(self.load(self.rows, place))
    }

    fn sum(&mut self, sum: Option<Value>, term: Option<Value>) -> Option<Value> {
        match (sum, term) {
            (Some(sum), Some(term)) => Some(self.builder.ins().fadd(sum, term)),
            (sum, term) => sum.or(term),
        }
    }

    fn difference(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.builder.ins().fsub(a, b)),
            (None, Some(b)) => Some(self.builder.ins().fneg(b)),
            (a, None) => a,
        }
    }

    fn product(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        Some(self.builder.ins().fmul(a?, b?))
    }

    fn quotient(&mut self, a: Option<Value>, b: Value) -> Option<Value> {
        Some(self.builder.ins().fdiv(a?, b))
    }

    /// Whether a coefficient stands in its row: one that is still to be corrected does not.
    fn is_in_row(&self, register: Register, order: usize) -> bool {
        let newest = self.stage + self.layout.tape.lead(register) as i32;
        self.stage <= 0
            || (order as i32) < newest
            || self.layout.remembered.binary_search(&register).is_err()
    }

    /// Sum of a_i b_{k-i} for i in first..=last, or of i a_i b_{k-i}.
    fn terms(
        &mut self,
        a: Register,
        b: Register,
        (first, last): (usize, usize),
        k: usize,
        is_weighted: bool,
    ) -> Option<Value> {
        let mut sum = None;
        let mut i = first;
        while i <= last {
            let in_rows =
                |writer: &Self, i: usize| writer.is_in_row(a, i) && writer.is_in_row(b, k - i);
            let end = (i..=last).find(|&i| !in_rows(self, i)).unwrap_or(last + 1);
            if self.layout.shares_sums && end - i >= LONG_SUM {
                let left = match is_weighted {
                    true => self.layout.weighted[&a] + i,
                    false => self.place(a, i),
                };
                sum = Some(self.shared_sum(sum, left, self.place(b, k - i), end - i));
                i = end;
                continue;
            }
            let left = match is_weighted {
                true => self.weighted(a, i),
                false => self.at(a, i),
            };
            if left.is_some() {
                let right = self.at(b, k - i);
                let term = self.product(left, right);
                sum = self.sum(sum, term);
            }
            i += 1;
        }
        sum
    }

    fn shared_sum(&mut self, sum: Option<Value>, left: usize, right: usize, n: usize) -> Value {
        let sum = sum.unwrap_or_else(|| self.number(0.0));
        let [left, right] = [left, right].map(|place| {
            let distance = i64::from(offset(place));
            self.builder.ins().iadd_imm_s(self.rows, distance)
        });
        let call = self.builder.ins().call(self.sums[n], &[sum, left, right]);
        self.builder.inst_results(call)[0]
    }

    /// Sum of a_i b_{k-i} for i in first..=last.
    fn dot(
        &mut self,
        a: Register,
        b: Register,
        first: usize,
        last: usize,
        k: usize,
    ) -> Option<Value> {
        self.terms(a, b, (first, last), k, false)
    }

    /// Sum of i a_i b_{k-i} for i in 1..=last.
    fn slope_dot(&mut self, a: Register, b: Register, last: usize, k: usize) -> Option<Value> {
        self.terms(a, b, (1, last), k, true)
    }

    /// Twice the half sum of squares, and the square in the middle.
    fn square(&mut self, a: Register, first: usize, k: usize) -> Option<Value> {
        let half = self.dot(a, a, first, (k - 1) / 2, k);
        let two = self.number(2.0);
        let twice = self.product(Some(two), half);
        if !k.is_multiple_of(2) {
            return twice;
        }
        let middle = self.at(a, k / 2);
        let square = self.product(middle, middle);
        self.sum(twice, square)
    }

    /// Coefficient k >= 1 of a register.
    fn coefficient(&mut self, register: Register, k: usize) -> Option<Value> {
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

    fn scaled(&mut self, value: Value, factor: f64) -> Option<Value> {
        if factor == 1.0 {
            return Some(value);
        }
        let factor = self.number(factor);
        Some(self.builder.ins().fmul(value, factor))
    }

    /// The same number, or NaN for infinity, which must not become a number again.
    fn clean(&mut self, x: Value) -> Value {
        let doubt = self.builder.ins().fsub(x, x);
        self.builder.ins().fsub(x, doubt)
    }

    /// The value of a register that moves.
    fn begin(&mut self, register: Register) -> Value {
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
    fn keep(&mut self, register: Register, order: usize, value: Option<Value>, always: bool) {
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
    fn sine_and_cosine(&mut self, register: Register, begun: &mut Vec<Register>) -> bool {
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

    /// All registers at a stage, and the roots.
    fn evaluate(&mut self, stage: i32, is_fused: bool) {
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
    fn write_roots(&mut self, stage: i32) {
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

    fn write_right(&mut self, stage: usize) {
        for root in 0..self.layout.tape.n_roots() {
            let value = self.right_of(root, stage);
            let number = value.unwrap_or_else(|| self.number(0.0));
            self.store(number, self.right, root);
        }
    }

    /// Solves with the inverses; the derivatives of the variables.
    fn solve(&mut self, stage: usize) -> Vec<Option<Value>> {
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

    fn read_solution(&mut self) -> Vec<Option<Value>> {
        (0..self.layout.tape.n_variables())
            .map(|variable| Some(self.load(self.solution, variable)))
            .collect()
    }

    /// Sets the newest coefficients and carries them through.
    fn correct(&mut self, stage: usize, solution: &[Option<Value>], is_fused: bool) {
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
    fn shift(&mut self) {
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
    fn write_slopes(&mut self) {
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

impl SeriesCode {
    /// Compiles the stages of a tape, or says why they are left to the interpreters.
    ///
    /// The time is proportional to the number of products in all sums.
    pub fn compile(
        tape: Arc<Tape>,
        shape: &SeriesShape<'_>,
        tier: Tier,
    ) -> Result<Self, NativeError> {
        let start = Instant::now();
        let layout = Layout::new(&tape, shape)?;
        let is_fused = shape.blocks.iter().all(|b| b.variables.len() <= INLINE);
        let mut memory = Memory::new(module(tier)?);
        let module = memory.module();
        let config = module.target_config();
        let mut functions = Functions {
            layout: &layout,
            numbers: Numbers::default(),
            sums: Vec::new(),
            convention: config.default_call_conv,
            config,
        };
        let mut context = module.make_context();
        let mut builder = FunctionBuilderContext::new();
        let mut ids = Vec::new();
        let mut n_bytes = 0;
        if layout.shares_sums {
            for n_terms in 0..=layout.stride {
                functions.write_sum(n_terms, &mut context.func, &mut builder);
                let (id, size) = define(module, &mut context)?;
                functions.sums.push(id);
                n_bytes += size;
            }
        }
        let mut write = |body: &mut dyn FnMut(&mut Writer<'_, '_, '_>)| {
            functions.write(&mut context.func, &mut builder, module, |writer| {
                body(writer);
            });
            let (id, size) = define(module, &mut context)?;
            ids.push(id);
            n_bytes += size;
            Ok::<(), NativeError>(())
        };
        for stage in tape.first_stage()..=0 {
            write(&mut |writer| {
                writer.evaluate(stage, true);
                writer.write_roots(stage);
            })?;
        }
        write(&mut |writer| writer.write_slopes())?;
        for stage in 1..=shape.n_stages {
            if is_fused {
                write(&mut |writer| {
                    writer.evaluate(stage as i32, true);
                    let solution = writer.solve(stage);
                    writer.correct(stage, &solution, true);
                })?;
                continue;
            }
            write(&mut |writer| {
                writer.evaluate(stage as i32, false);
                writer.write_right(stage);
            })?;
            write(&mut |writer| {
                let solution = writer.read_solution();
                writer.correct(stage, &solution, false);
            })?;
        }
        let shifts = tape.n_variables() < FEW;
        if shifts {
            write(&mut |writer| writer.shift())?;
        }
        let numbers = std::mem::take(&mut functions.numbers.list);
        module.finalize_definitions().map_err(refused)?;
        let n_pieces = ids.len();
        memory.keep(&ids);
        let report = CompileReport {
            n_steps: tape.n_registers(),
            n_loops: 0,
            n_pieces,
            n_bytes,
            time: start.elapsed(),
        };
        let (n_rows, stride) = (layout.n_rows, layout.stride);
        Ok(Self {
            n_coefficients: tape.n_variables()
                * (1 + shape.n_stages + shape.offsets.iter().copied().max().unwrap_or(0)),
            n_matrix: shape.blocks.iter().map(BlockShape::n_numbers).sum(),
            n_stages: shape.n_stages,
            memory,
            numbers,
            n_rows,
            stride,
            is_fused,
            shifts,
            report,
            tape,
        })
    }

    /// What compiling cost and gave.
    pub fn report(&self) -> CompileReport {
        self.report
    }

    /// Whether the stages above 0 solve with the matrix themselves.
    pub fn is_fused(&self) -> bool {
        self.is_fused
    }
}

/// Series by native code.
#[derive(Clone, Debug)]
pub struct NativeSeries {
    code: Arc<SeriesCode>,
    rows: Vec<f64>,
}

impl NativeSeries {
    /// Room for the series of one point, with these parameters.
    pub fn new(code: Arc<SeriesCode>, parameters: &[f64]) -> Self {
        let mut rows = vec![0.0; code.n_rows];
        let mut values = Values::new(Arc::clone(&code.tape));
        values
            .inputs_mut()
            .parameters_mut()
            .copy_from_slice(&parameters[..code.tape.n_parameters()]);
        // What moves has no value yet, and that may be a fault; what rests has one.
        let _ = values.evaluate();
        for index in 0..code.tape.n_registers() {
            let register = code.tape.register(index);
            if code.tape.recurrence(register) == Some(Recurrence::Resting) {
                rows[index * code.stride] = values.value(register);
            }
        }
        Self { code, rows }
    }

    /// The code.
    pub fn code(&self) -> &SeriesCode {
        &self.code
    }

    /// Runs one of the functions.
    fn call(
        &mut self,
        part: usize,
        coefficients: *mut f64,
        matrix: *const f64,
        right: *mut f64,
        solution: *const f64,
        time: f64,
    ) {
        let address = self.code.memory.piece(part);
        // SAFETY: the function was given this signature. It reads and writes the rows, which have the length that the code
        // asked for, and what its callers below have checked.
        unsafe {
            let part = std::mem::transmute::<*const u8, Part>(address);
            part(
                self.rows.as_mut_ptr(),
                self.code.numbers.as_ptr(),
                coefficients,
                matrix,
                right,
                solution,
                time,
            );
        }
    }

    /// The roots of a stage up to 0; false if one of them is no number.
    ///
    /// Stages come one after the other from the first one; a stage may be repeated with other coefficients.
    ///
    /// # Panics
    ///
    /// For other stages, and if coefficients or places are missing.
    pub fn roots(
        &mut self,
        stage: i32,
        time: f64,
        coefficients: &mut [f64],
        roots: &mut [f64],
    ) -> bool {
        let part = stage - self.code.tape.first_stage();
        assert!(part >= 0 && stage <= 0, "stage {stage} has no roots");
        assert!(coefficients.len() >= self.code.n_coefficients);
        assert!(roots.len() >= self.code.tape.n_roots());
        self.call(
            part as usize,
            coefficients.as_mut_ptr(),
            std::ptr::null(),
            roots.as_mut_ptr(),
            std::ptr::null(),
            time,
        );
        all_finite(&roots[..self.code.tape.n_roots()])
    }

    /// Moves series by `time` to another point, as far as a point of the stages goes; false if that is left to others.
    ///
    /// # Panics
    ///
    /// If coefficients or places are missing.
    pub fn shift(&mut self, series: &[f64], time: f64, into: &mut [f64]) -> bool {
        if !self.code.shifts {
            return false;
        }
        let n_stages = self.code.n_stages * self.code.tape.n_variables();
        assert!(series.len() >= self.code.n_coefficients);
        assert!(into.len() >= self.code.n_coefficients - n_stages);
        let last = self.code.memory.n_pieces() - 1;
        // The function only reads the series.
        let series = series.as_ptr().cast_mut();
        let none = std::ptr::null();
        self.call(last, series, none, into.as_mut_ptr(), none, time);
        true
    }

    /// Expands the point of the last stage 0 with solutions by a matrix, the numbers of all blocks one after the other.
    ///
    /// # Panics
    ///
    /// If the code does not solve itself, or numbers are missing.
    pub fn expand(&mut self, coefficients: &mut [f64], matrix: &[f64]) {
        let code = Arc::clone(&self.code);
        assert!(code.is_fused, "the caller has to solve");
        assert!(coefficients.len() >= code.n_coefficients && matrix.len() >= code.n_matrix);
        let first = code.tape.first_stage().unsigned_abs() as usize + 1;
        for part in first..=first + code.n_stages {
            self.call(
                part,
                coefficients.as_mut_ptr(),
                matrix.as_ptr(),
                std::ptr::null_mut(),
                std::ptr::null(),
                0.0,
            );
        }
    }

    /// The same with solutions by the caller: `solve` gets the right-hand side and the place of the solution.
    ///
    /// # Panics
    ///
    /// If the code solves itself, or coefficients or places are missing.
    pub fn expand_with<E>(
        &mut self,
        coefficients: &mut [f64],
        right: &mut [f64],
        solution: &mut [f64],
        mut solve: impl FnMut(&mut [f64], &mut [f64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let code = Arc::clone(&self.code);
        let n = code.tape.n_variables();
        assert!(!code.is_fused, "the code solves itself");
        assert!(coefficients.len() >= code.n_coefficients);
        assert!(right.len() >= code.tape.n_roots() && solution.len() >= n);
        let slopes = code.tape.first_stage().unsigned_abs() as usize + 1;
        let coefficients = coefficients.as_mut_ptr();
        let none = std::ptr::null();
        let nowhere = std::ptr::null_mut();
        self.call(slopes, coefficients, none, nowhere, none, 0.0);
        for stage in 0..code.n_stages {
            let part = slopes + 1 + 2 * stage;
            self.call(part, coefficients, none, right.as_mut_ptr(), none, 0.0);
            solve(right, solution)?;
            let solved = solution.as_ptr();
            self.call(part + 1, coefficients, none, nowhere, solved, 0.0);
        }
        Ok(())
    }
}
