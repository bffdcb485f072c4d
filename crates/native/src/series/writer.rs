//! A function of a series being written: numbers, coefficients and their sums.

use super::layout::Layout;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{
    AbiParam, FuncRef, Function, InstBuilder, MemFlagsData, SigRef, Signature, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use daelight_expr::{FastMap, Operation, Register};

/// Sums with fewer terms are written out.
const LONG_SUM: usize = 6;

/// Reads and writes within the bounds that the callers check.
const MEMORY: MemFlagsData = MemFlagsData::trusted();

/// The numbers that the code reads, each once.
#[derive(Default)]
pub(super) struct Numbers {
    pub list: Vec<f64>,
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

pub(super) fn offset(place: usize) -> i32 {
    i32::try_from(place * 8).expect("fewer than 2^28 numbers")
}

/// A function being written.
pub(super) struct Writer<'a, 'b, 'c> {
    pub layout: &'a Layout<'b>,
    pub numbers: &'a mut Numbers,
    pub builder: FunctionBuilder<'c>,
    pub rows: Value,
    pub constants: Value,
    pub coefficients: Value,
    pub matrix: Value,
    pub right: Value,
    pub solution: Value,
    pub time: Value,
    pub unary: SigRef,
    pub to_memory: SigRef,
    /// Sums by their numbers of terms.
    pub sums: Vec<FuncRef>,
    /// The newest stage that is being written.
    pub stage: i32,
    /// Coefficients that this function made; `None` is zero.
    pub known: FastMap<(Register, usize), Option<Value>>,
    pub known_weighted: FastMap<(Register, usize), Option<Value>>,
}

/// The functions of a tape.
pub(super) struct Functions<'a> {
    pub layout: &'a Layout<'a>,
    pub numbers: Numbers,
    /// Sums by their numbers of terms.
    pub sums: Vec<FuncId>,
    pub convention: CallConv,
    pub config: TargetFrontendConfig,
}

impl Functions<'_> {
    /// A sum and the products that are added to it: of numbers in ascending places with numbers in descending ones.
    pub(super) fn write_sum(
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

    pub(super) fn write(
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
    pub(super) fn load(&mut self, base: Value, place: usize) -> Value {
        self.builder.ins().load(F64, MEMORY, base, offset(place))
    }

    pub(super) fn store(&mut self, value: Value, base: Value, place: usize) {
        self.builder.ins().store(MEMORY, value, base, offset(place));
    }

    pub(super) fn number(&mut self, number: f64) -> Value {
        let place = self.numbers.place(number);
        self.load(self.constants, place)
    }

    pub(super) fn place(&self, register: Register, order: usize) -> usize {
        register.index() * self.layout.stride + order
    }

    /// A coefficient, made here or read from memory; `None` is zero.
    pub(super) fn at(&mut self, register: Register, order: usize) -> Option<Value> {
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

    pub(super) fn value(&mut self, register: Register) -> Value {
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

    pub(super) fn sum(&mut self, sum: Option<Value>, term: Option<Value>) -> Option<Value> {
        match (sum, term) {
            (Some(sum), Some(term)) => Some(self.builder.ins().fadd(sum, term)),
            (sum, term) => sum.or(term),
        }
    }

    pub(super) fn difference(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.builder.ins().fsub(a, b)),
            (None, Some(b)) => Some(self.builder.ins().fneg(b)),
            (a, None) => a,
        }
    }

    pub(super) fn product(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        Some(self.builder.ins().fmul(a?, b?))
    }

    pub(super) fn quotient(&mut self, a: Option<Value>, b: Value) -> Option<Value> {
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
    pub(super) fn dot(
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
    pub(super) fn slope_dot(
        &mut self,
        a: Register,
        b: Register,
        last: usize,
        k: usize,
    ) -> Option<Value> {
        self.terms(a, b, (1, last), k, true)
    }

    /// Twice the half sum of squares, and the square in the middle.
    pub(super) fn square(&mut self, a: Register, first: usize, k: usize) -> Option<Value> {
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

    pub(super) fn scaled(&mut self, value: Value, factor: f64) -> Option<Value> {
        if factor == 1.0 {
            return Some(value);
        }
        let factor = self.number(factor);
        Some(self.builder.ins().fmul(value, factor))
    }
}
