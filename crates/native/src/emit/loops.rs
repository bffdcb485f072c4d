//! Loops over rows that repeat: cursors through memory, one body for all instances.

use super::{Cursor, Lanes, MEMORY, PAIR, Piece, Scope};
use crate::repeat::{List, Repeat, Track};
use crate::schedule::{is_leaf, operation};
use cranelift_codegen::ir::types::{F64, F64X2, I8X16, I64};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Value};
use daelight_expr::{FastMap, Operation, Register};

impl Piece<'_, '_, '_> {
    /// A loop over the instances of a row, two at a time where they do not wait for each other.
    pub(super) fn repeat(&mut self, repeat: &Repeat) {
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
    pub(super) fn is_paired(&self) -> bool {
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
    pub(super) fn read(&mut self, register: Register, track: Track) -> Value {
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
}
