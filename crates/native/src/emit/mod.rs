//! From steps to instructions: one function per piece, for one point or for two at once.
//!
//! Numbers, inputs and values kept from an earlier piece are read from memory at each use: the
//! processor takes such operands at no cost, and they do not compete for registers.
//!
//! The interpreter turns every infinite result into NaN. Here infinity may live on as long as
//! nothing turns it into a number again; operations that would are given `x - (x - x)` instead of
//! `x`, which is `x` for a number, the sign of zero included, and NaN for anything else.
//!
//! Outputs are added up as they are made: the sum tells whether all are numbers, (31a) of `docs/theory/jets.md`.

mod loops;
mod operations;

use crate::functions;
use crate::repeat::{List, Track};
use crate::schedule::{NOWHERE, Schedule, Step, operation};
use cranelift_codegen::ir::types::{F64, F64X2, I64};
use cranelift_codegen::ir::{
    AbiParam, Function, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use daelight_expr::{FastMap, Operation, Register, Slot, Tape};

/// How many points a function evaluates at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lanes {
    One,
    Two,
}

impl Lanes {
    pub(crate) fn count(self) -> usize {
        match self {
            Lanes::One => 1,
            Lanes::Two => 2,
        }
    }

    fn ty(self) -> Type {
        match self {
            Lanes::One => F64,
            Lanes::Two => F64X2,
        }
    }

    /// (table, and per point: coefficients, parameters, outputs, time).
    pub(crate) fn signature(self, convention: CallConv) -> Signature {
        let mut signature = Signature::new(convention);
        signature.params.push(AbiParam::new(I64));
        for _ in 0..self.count() {
            signature
                .params
                .extend([I64, I64, I64, F64].map(AbiParam::new));
        }
        signature
    }
}

/// The numbers of a tape, each once, and their places in the table.
#[derive(Default)]
pub(crate) struct Numbers {
    pub list: Vec<f64>,
    places: FastMap<u64, u32>,
    /// Where the numbers of the loops begin in the list.
    loops: usize,
    /// Whether all are finite.
    are_finite: bool,
}

impl Numbers {
    fn place(&mut self, number: f64) -> usize {
        *self.places.entry(number.to_bits()).or_insert_with(|| {
            self.list.push(number);
            self.list.len() as u32 - 1
        }) as usize
    }

    /// Collects the numbers of all steps, so that the place of the kept values is known, and after
    /// them those of the loops in their order.
    pub(crate) fn collect(tape: &Tape, in_loops: &[f64]) -> Self {
        let mut numbers = Self::default();
        for number in [0.0, -0.0, 1.0, -1.0] {
            numbers.place(number);
        }
        for register in 0..tape.n_registers() {
            match tape.operation(tape.register(register)) {
                Some(Operation::Constant(number)) => {
                    numbers.place(number);
                }
                Some(Operation::Input(Slot::Variable { order, .. })) if order > 1 => {
                    numbers.place(factorial(order));
                }
                _ => {}
            }
        }
        numbers.loops = numbers.list.len();
        numbers.list.extend(in_loops);
        numbers.are_finite = numbers.list.iter().all(|number| number.is_finite());
        numbers
    }
}

/// A derivative is its coefficient times this.
fn factorial(order: u32) -> f64 {
    (1..=order).map(f64::from).product()
}

/// What all pieces of a tape have in common.
pub(crate) struct Emitter<'a> {
    pub tape: &'a Tape,
    pub schedule: &'a Schedule,
    pub bounds: &'a [f64],
    pub numbers: Numbers,
    pub lanes: Lanes,
    pub convention: CallConv,
    pub config: TargetFrontendConfig,
    /// The value of a register in the current piece.
    pub values: Vec<Option<Value>>,
    /// The place of a register's value in `values`, to be cleared after the piece.
    pub touched: Vec<u32>,
}

struct Piece<'a, 'b, 'c> {
    emitter: &'a mut Emitter<'b>,
    builder: FunctionBuilder<'c>,
    table: Value,
    points: Vec<Point>,
    /// What the numbers of a vector belong to: points, or the instances of a loop.
    lanes: Lanes,
    unary: SigRef,
    binary: SigRef,
    pair: SigRef,
    to_memory: SigRef,
    poisons: FastMap<Register, Value>,
    /// Inside of a loop, what its body knows.
    scope: Option<Scope>,
    /// Sum of the outputs so far.
    sum: Option<Value>,
}

/// The body of a loop: the registers of its first instance stand for those of all.
struct Scope {
    /// The instance that the cursors start from.
    first: usize,
    values: FastMap<Register, Value>,
    reads: FastMap<Register, Track>,
    cursors: FastMap<Cursor, Value>,
    /// Sum of the outputs of the current instances.
    sum: Option<Value>,
}

/// What moves through memory: the list of a point, by a step.
type Cursor = (usize, List, isize);

#[derive(Clone, Copy)]
struct Point {
    coefficients: Value,
    parameters: Value,
    outputs: Value,
    time: Value,
}

impl Emitter<'_> {
    /// Writes one piece as a function.
    pub(crate) fn emit(
        &mut self,
        piece: usize,
        function: &mut Function,
        context: &mut FunctionBuilderContext,
    ) {
        function.signature = self.lanes.signature(self.convention);
        let call = |n_arguments: usize, n_results: usize| {
            let mut signature = Signature::new(self.convention);
            signature.params.resize(n_arguments, AbiParam::new(F64));
            signature.returns.resize(n_results, AbiParam::new(F64));
            signature
        };
        let mut to_memory = call(1, 0);
        to_memory.params.resize(3, AbiParam::new(I64));
        let signatures = [call(1, 1), call(2, 1), call(1, 2), to_memory];
        let mut builder = FunctionBuilder::new(function, context);
        let [unary, binary, pair, to_memory] =
            signatures.map(|signature| builder.import_signature(signature));
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        builder.seal_block(block);
        let arguments = builder.block_params(block).to_vec();
        let points = arguments[1..]
            .chunks_exact(4)
            .map(|point| Point {
                coefficients: point[0],
                parameters: point[1],
                outputs: point[2],
                time: point[3],
            })
            .collect();
        let config = self.config;
        let range = self.schedule.pieces[piece].clone();
        let lanes = self.lanes;
        let mut code = Piece {
            emitter: self,
            builder,
            table: arguments[0],
            points,
            lanes,
            unary,
            binary,
            pair,
            to_memory,
            poisons: FastMap::default(),
            scope: None,
            sum: None,
        };
        for place in range {
            code.step(code.emitter.schedule.steps[place]);
        }
        code.builder.ins().return_(&[]);
        code.builder.finalize(config);
        for register in self.touched.drain(..) {
            self.values[register as usize] = None;
        }
    }
}

/// Reads and writes within the bounds that the callers check.
const MEMORY: MemFlagsData = MemFlagsData::trusted();
/// Two numbers at once need not be aligned.
const PAIR: MemFlagsData = MemFlagsData::new().with_notrap();

fn offset(place: usize) -> i32 {
    i32::try_from(place * 8).expect("fewer than 2^28 numbers")
}

impl Piece<'_, '_, '_> {
    fn step(&mut self, step: Step) {
        match step {
            Step::Compute(register, operation) => {
                let value = self.compute(operation);
                self.define(register, value);
            }
            Step::SineCosine { sine, cosine, of } => {
                let angle = self.value(of);
                let to_memory = functions::sine_cosine_to_memory();
                if let (None, Some(address)) = (&self.scope, to_memory) {
                    self.sine_cosine_to_memory(address, angle, [sine, cosine]);
                    return;
                }
                let (first, second) = self.sine_cosine(angle);
                self.define(sine, first);
                self.define(cosine, second);
            }
            Step::Write {
                root,
                register,
                witness,
            } => {
                if let Some(witness) = witness {
                    let value = self.value(witness);
                    self.sum_up(value);
                }
                if self.copy(root, register) {
                    return;
                }
                let value = self.value(register);
                for lane in 0..self.points.len() {
                    let number = self.lane(value, lane);
                    let outputs = self.points[lane].outputs;
                    self.builder
                        .ins()
                        .store(MEMORY, number, outputs, offset(root as usize));
                }
            }
            Step::Repeat { place } => {
                let schedule = self.emitter.schedule;
                self.repeat(&schedule.loops[place]);
            }
        }
    }

    /// Numbers are looked at once, before there is code.
    fn is_surely_finite(&self, register: Register) -> bool {
        let operation = operation(self.emitter.tape, register);
        self.emitter.numbers.are_finite && matches!(operation, Operation::Constant(_))
    }

    /// Adds an output to the sum at the end of the table: what is infinite or no number stays so, whatever is added.
    fn sum_up(&mut self, output: Value) {
        if let Some(scope) = &mut self.scope {
            scope.sum = Some(match scope.sum {
                Some(sum) => self.builder.ins().fadd(sum, output),
                None => output,
            });
            return;
        }
        let place = self.emitter.numbers.list.len() + self.emitter.schedule.n_kept;
        let before = match self.sum {
            Some(sum) => sum,
            None => self.read_table(place),
        };
        let sum = self.builder.ins().fadd(before, output);
        self.sum = Some(sum);
        // Written each time: otherwise all additions would be put off to the end, and the outputs kept for them.
        let (flags, place) = self.table_place(place);
        self.builder.ins().store(flags, sum, self.table, place);
    }

    /// Writes a number or an input that is an output as it stands, past the floating-point registers:
    /// processors have more room for such stores.
    fn copy(&mut self, root: u32, register: Register) -> bool {
        let from = match operation(self.emitter.tape, register) {
            Operation::Constant(number) => {
                let place = self.emitter.lanes.count() * self.emitter.numbers.place(number);
                self.points.iter().map(|_| (self.table, place)).collect()
            }
            Operation::Input(slot) => self.places(slot),
            _ => Vec::new(),
        };
        for (lane, &(base, place)) in from.iter().enumerate() {
            let bits = self.builder.ins().load(I64, MEMORY, base, offset(place));
            let outputs = self.points[lane].outputs;
            self.builder
                .ins()
                .store(MEMORY, bits, outputs, offset(root as usize));
        }
        !from.is_empty()
    }

    /// Where an input stands in memory as it is, for each point; nowhere for the time.
    fn places(&self, slot: Slot) -> Vec<(Value, usize)> {
        let n_variables = self.emitter.tape.n_variables();
        self.points
            .iter()
            .filter_map(|point| match slot {
                Slot::Variable { index, order } if order <= 1 => {
                    let place = order as usize * n_variables + index as usize;
                    Some((point.coefficients, place))
                }
                Slot::Parameter(index) => Some((point.parameters, index as usize)),
                Slot::Variable { .. } | Slot::Time | Slot::Signal { .. } => None,
            })
            .collect()
    }

    fn define(&mut self, register: Register, value: Value) {
        if let Some(scope) = &mut self.scope {
            scope.values.insert(register, value);
            return;
        }
        let place = register.index();
        self.emitter.values[place] = Some(value);
        self.emitter.touched.push(place as u32);
        let kept = self.emitter.schedule.kept[place];
        if kept != NOWHERE {
            let (flags, place) = self.table_place(self.emitter.numbers.list.len() + kept as usize);
            self.builder.ins().store(flags, value, self.table, place);
        }
    }

    fn table_place(&self, place: usize) -> (MemFlagsData, i32) {
        (
            self.table_flags(),
            offset(self.emitter.lanes.count() * place),
        )
    }

    fn table_flags(&self) -> MemFlagsData {
        match self.emitter.lanes {
            Lanes::One => MEMORY,
            Lanes::Two => PAIR,
        }
    }

    fn read_table(&mut self, place: usize) -> Value {
        let (flags, place) = self.table_place(place);
        let ty = self.emitter.lanes.ty();
        self.builder.ins().load(ty, flags, self.table, place)
    }

    fn number(&mut self, number: f64) -> Value {
        let place = self.emitter.numbers.place(number);
        let value = self.read_table(place);
        self.for_all_instances(value)
    }

    /// What is the same for all instances of a loop.
    fn for_all_instances(&mut self, value: Value) -> Value {
        if self.is_paired() {
            self.builder.ins().splat(F64X2, value)
        } else {
            value
        }
    }

    /// The value of a register, computed in this piece or read from memory.
    fn value(&mut self, register: Register) -> Value {
        if let Some(scope) = &self.scope {
            if let Some(&value) = scope.values.get(&register) {
                return value;
            }
            if let Some(&track) = scope.reads.get(&register) {
                return self.read(register, track);
            }
            return match operation(self.emitter.tape, register) {
                Operation::Constant(number) => self.number(number),
                Operation::Input(Slot::Time) => {
                    let times: Vec<Value> = self.points.iter().map(|point| point.time).collect();
                    if self.is_paired() {
                        self.for_all_instances(times[0])
                    } else {
                        self.join(&times)
                    }
                }
                _ => unreachable!("a loop reads what has a place"),
            };
        }
        if let Some(value) = self.emitter.values[register.index()] {
            return value;
        }
        match operation(self.emitter.tape, register) {
            Operation::Constant(number) => self.number(number),
            Operation::Input(slot) => self.input(slot),
            _ => {
                let kept = self.emitter.schedule.kept[register.index()];
                assert_ne!(kept, NOWHERE, "a value crosses pieces without a place");
                self.read_table(self.emitter.numbers.list.len() + kept as usize)
            }
        }
    }

    fn input(&mut self, slot: Slot) -> Value {
        let n_variables = self.emitter.tape.n_variables();
        let mut lanes = Vec::with_capacity(2);
        for point in self.points.clone() {
            let mut load = |base: Value, place: usize| {
                self.builder.ins().load(F64, MEMORY, base, offset(place))
            };
            lanes.push(match slot {
                Slot::Variable { index, order } => load(
                    point.coefficients,
                    order as usize * n_variables + index as usize,
                ),
                Slot::Parameter(index) => load(point.parameters, index as usize),
                Slot::Time => point.time,
                Slot::Signal { .. } => unreachable!("tapes with signals are refused"),
            });
        }
        let value = self.join(&lanes);
        self.scaled(slot, value)
    }

    /// The derivative of a variable from its coefficient.
    fn scaled(&mut self, slot: Slot, value: Value) -> Value {
        match slot {
            Slot::Variable { order, .. } if order > 1 => {
                let factor = self.number(factorial(order));
                self.builder.ins().fmul(value, factor)
            }
            _ => value,
        }
    }

    fn join(&mut self, lanes: &[Value]) -> Value {
        match *lanes {
            [first, second] => {
                let vector = self.builder.ins().scalar_to_vector(F64X2, first);
                self.builder.ins().insertlane(vector, second, 1)
            }
            _ => lanes[0],
        }
    }

    fn lane(&mut self, value: Value, lane: usize) -> Value {
        match self.lanes {
            Lanes::One => value,
            Lanes::Two => self.builder.ins().extractlane(value, lane as u8),
        }
    }
}
