//! From steps to instructions: one function per piece, for one point or for two at once.
//!
//! Numbers, inputs and values kept from an earlier piece are read from memory at each use: the
//! processor takes such operands at no cost, and they do not compete for registers.
//!
//! The interpreter turns every infinite result into NaN. Here infinity may live on as long as
//! nothing turns it into a number again; operations that would are given `x - (x - x)` instead of
//! `x`, which is `x` for a number, the sign of zero included, and NaN for anything else.

use crate::functions;
use crate::repeat::{List, Repeat, Track};
use crate::schedule::{NOWHERE, Schedule, Step, is_leaf, operation};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F64, F64X2, I8X16, I64};
use cranelift_codegen::ir::{
    AbiParam, Endianness, Function, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use daelight_expr::{BinaryOp, FastMap, Operation, Register, Slot, Tape, UnaryOp};

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

    /// A loop over the instances of a row, two at a time where they do not wait for each other.
    fn repeat(&mut self, repeat: &Repeat) {
        let n_trips = repeat.n_trips;
        if self.emitter.lanes == Lanes::One && repeat.is_parallel() {
            self.lanes = Lanes::Two;
            self.rounds(repeat, 0, n_trips / 2);
            self.lanes = Lanes::One;
            self.rounds(repeat, n_trips - n_trips % 2, n_trips % 2);
        } else {
            self.rounds(repeat, 0, n_trips);
        }
    }

    /// Whether a vector holds instances of a loop, and not points.
    fn is_paired(&self) -> bool {
        self.lanes != self.emitter.lanes
    }

    /// Rounds of a loop from some instance on.
    ///
    /// Each list that the body reads or writes with a step of its own has a cursor, and every place a
    /// fixed distance from it.
    fn rounds(&mut self, repeat: &Repeat, first: usize, n_rounds: usize) {
        if n_rounds == 0 {
            return;
        }
        let tracks = repeat.reads.iter().chain(&repeat.writes);
        let mut cursors: Vec<Cursor> = Vec::new();
        for &(_, track) in tracks {
            for point in 0..self.points.len() {
                let cursor = self.cursor(point, track);
                if track.step != 0 && !cursors.contains(&cursor) {
                    cursors.push(cursor);
                }
            }
        }
        let [body, after] = [(); 2].map(|()| self.builder.create_block());
        let mut arguments = vec![self.builder.ins().iconst(I64, n_rounds as i64).into()];
        self.builder.append_block_param(body, I64);
        for &(point, list, _) in &cursors {
            arguments.push(self.base(point, list).into());
            self.builder.append_block_param(body, I64);
        }
        let sums_up = self.sums_up(repeat);
        if sums_up {
            arguments.push(self.number(0.0).into());
            let ty = self.lanes.ty();
            self.builder.append_block_param(body, ty);
        }
        self.builder.ins().jump(body, &arguments);
        self.builder.switch_to_block(body);
        let parameters = self.builder.block_params(body).to_vec();
        let positions = parameters[1..=cursors.len()].iter().copied();
        let outer = std::mem::take(&mut self.poisons);
        self.scope = Some(Scope {
            first,
            values: FastMap::default(),
            reads: repeat.reads.iter().copied().collect(),
            cursors: cursors.iter().copied().zip(positions).collect(),
            sum: None,
        });
        self.body(repeat);
        let sum = self.scope.take().and_then(|scope| scope.sum);
        self.poisons = outer;
        let n_instances = if self.is_paired() { 2 } else { 1 };
        let left = self.builder.ins().iadd_imm_s(parameters[0], -1);
        let mut arguments = vec![left.into()];
        for (&(_, list, step), &cursor) in cursors.iter().zip(&parameters[1..]) {
            let bytes = n_instances * self.bytes(list, step);
            let moved = self.builder.ins().iadd_imm_s(cursor, i64::from(bytes));
            arguments.push(moved.into());
        }
        let before = parameters.last().copied();
        let total = sum.zip(before).map(|(sum, before)| {
            let total = self.builder.ins().fadd(before, sum);
            arguments.push(total.into());
            total
        });
        self.builder.ins().brif(left, body, &arguments, after, &[]);
        self.builder.seal_block(body);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
        if let Some(total) = total {
            let total = self.for_all_points(total);
            self.sum_up(total);
        }
    }

    /// Whether a loop writes outputs that could be no numbers.
    fn sums_up(&self, repeat: &Repeat) -> bool {
        let mut writes = repeat.writes.iter();
        writes.any(|&(register, track)| self.is_doubtful(register, track))
    }

    fn is_doubtful(&self, register: Register, track: Track) -> bool {
        track.list == List::Outputs && !self.is_surely_finite(register)
    }

    /// A sum over instances: the halves of a vector of two of them are added.
    fn for_all_points(&mut self, sum: Value) -> Value {
        if !self.is_paired() {
            return sum;
        }
        let [one, other] = [0, 1].map(|lane| self.builder.ins().extractlane(sum, lane));
        self.builder.ins().fadd(one, other)
    }

    /// The distance of a number of places in a list: the table holds one number per point.
    fn bytes(&self, list: List, n_places: isize) -> i32 {
        let width = match list {
            List::Kept | List::Numbers => self.emitter.lanes.count(),
            List::Coefficients | List::Parameters | List::Outputs => 1,
        };
        i32::try_from(n_places * 8 * width as isize).expect("fewer than 2^27 numbers")
    }

    /// The points share the table.
    fn cursor(&self, point: usize, track: Track) -> Cursor {
        match track.list {
            List::Kept | List::Numbers => (0, List::Kept, track.step),
            list => (point, list, track.step),
        }
    }

    fn base(&self, point: usize, list: List) -> Value {
        let point = self.points[point];
        match list {
            List::Kept | List::Numbers => self.table,
            List::Coefficients => point.coefficients,
            List::Parameters => point.parameters,
            List::Outputs => point.outputs,
        }
    }

    /// Where a track stands for the current instance: an address and the distance from it.
    fn spot(&self, point: usize, track: Track) -> (Value, i32) {
        let numbers = &self.emitter.numbers;
        let before = match track.list {
            List::Kept => numbers.list.len(),
            List::Numbers => numbers.loops,
            List::Coefficients | List::Parameters | List::Outputs => 0,
        };
        let scope = self.scope.as_ref().expect("inside of a loop");
        let cursor = scope.cursors.get(&self.cursor(point, track));
        let base = cursor
            .copied()
            .unwrap_or_else(|| self.base(point, track.list));
        let place = (before + track.start) as isize + scope.first as isize * track.step;
        (base, self.bytes(track.list, place))
    }

    /// The value of a register for the current instance of a loop, or for two.
    fn read(&mut self, register: Register, track: Track) -> Value {
        let (base, distance) = self.spot(0, track);
        let is_in_table = matches!(track.list, List::Kept | List::Numbers);
        let value = if self.is_paired() {
            if track.step == 1 {
                self.builder.ins().load(F64X2, PAIR, base, distance)
            } else {
                let one = self.builder.ins().load(F64, MEMORY, base, distance);
                if track.step == 0 {
                    self.builder.ins().splat(F64X2, one)
                } else {
                    let next = distance + self.bytes(track.list, track.step);
                    let other = self.builder.ins().load(F64, MEMORY, base, next);
                    self.join(&[one, other])
                }
            }
        } else if is_in_table {
            let (ty, flags) = (self.lanes.ty(), self.table_flags());
            self.builder.ins().load(ty, flags, base, distance)
        } else {
            let lanes: Vec<Value> = (0..self.points.len())
                .map(|point| {
                    let (base, distance) = self.spot(point, track);
                    self.builder.ins().load(F64, MEMORY, base, distance)
                })
                .collect();
            self.join(&lanes)
        };
        match operation(self.emitter.tape, register) {
            Operation::Input(slot) => self.scaled(slot, value),
            _ => value,
        }
    }

    /// The body of a loop, each write as soon as its value is there.
    fn body(&mut self, repeat: &Repeat) {
        let mut steps = repeat.body.iter();
        let mut value = |piece: &mut Self, register: Register| {
            while !piece.is_known(register) {
                let step = steps.next().expect("a body computes what it writes");
                piece.step(*step);
            }
            piece.value(register)
        };
        let mut writes = repeat.writes.iter().peekable();
        while let Some(&(register, track)) = writes.next() {
            let first = value(self, register);
            if self.is_doubtful(register, track) {
                self.sum_up(first);
            }
            let is_beside = |&&(_, next): &&(Register, Track)| {
                self.is_paired() && track.step != 1 && track.is_beside(next)
            };
            if let Some(&(register, next)) = writes.next_if(is_beside) {
                let second = value(self, register);
                if self.is_doubtful(register, next) {
                    self.sum_up(second);
                }
                self.write_crosswise([first, second], track);
            } else {
                self.write(first, track);
            }
        }
    }

    /// Whether the body of a loop need not compute a register, or has done so.
    fn is_known(&self, register: Register) -> bool {
        let scope = self.scope.as_ref().expect("inside of a loop");
        scope.values.contains_key(&register)
            || scope.reads.contains_key(&register)
            || is_leaf(operation(self.emitter.tape, register))
    }

    fn write(&mut self, value: Value, track: Track) {
        let (base, distance) = self.spot(0, track);
        if self.is_paired() {
            if track.step == 1 {
                self.builder.ins().store(PAIR, value, base, distance);
                return;
            }
            let step = self.bytes(track.list, track.step);
            for (lane, distance) in [distance, distance + step].into_iter().enumerate() {
                let number = self.lane(value, lane);
                self.builder.ins().store(MEMORY, number, base, distance);
            }
        } else if track.list == List::Kept {
            let flags = self.table_flags();
            self.builder.ins().store(flags, value, base, distance);
        } else {
            for point in 0..self.points.len() {
                let number = self.lane(value, point);
                let (base, distance) = self.spot(point, track);
                self.builder.ins().store(MEMORY, number, base, distance);
            }
        }
    }

    /// Writes two values that stand side by side: a vector for each of the two instances.
    fn write_crosswise(&mut self, values: [Value; 2], track: Track) {
        const FIRST: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
        let (base, distance) = self.spot(0, track);
        let step = self.bytes(track.list, track.step);
        let little = MemFlagsData::new().with_endianness(Endianness::Little);
        let [a, b] = values.map(|value| self.builder.ins().bitcast(I8X16, little, value));
        for (mask, distance) in [
            (FIRST, distance),
            (FIRST.map(|byte| byte + 8), distance + step),
        ] {
            let mask = self
                .builder
                .func
                .dfg
                .immediates
                .push(mask.as_slice().into());
            let pair = self.builder.ins().shuffle(a, b, mask);
            self.builder.ins().store(PAIR, pair, base, distance);
        }
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
    fn sine_cosine_to_memory(&mut self, address: usize, angle: Value, results: [Register; 2]) {
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

    fn sine_cosine(&mut self, angle: Value) -> (Value, Value) {
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

    fn compute(&mut self, operation: Operation) -> Value {
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
