//! Rows that a tape repeats: the instances of a for-equation, found again as loops.
//!
//! The roots of a tape are looked at in their own order. Where a row of roots comes again with the
//! same operations, and every input, kept value and output has moved on by a fixed step, the code is
//! a loop over the instances: one body for all of them, whose memory is read and written in order.
//! Numbers may differ freely, they are laid out one after the other.
//!
//! A cheap part that several roots share is computed by each of them. A dear one is cut: it is kept
//! in the table and read from there.

use crate::schedule::{NOWHERE, Step, is_leaf, operation, partners};
use daelight_expr::{BinaryOp, FastMap, Operation, Register, Slot, Tape, UnaryOp};
use std::hash::BuildHasher;
use std::ops::Range;

/// Fewer instances than this are written out: about what the set-up of a loop costs.
const MIN_TRIPS: usize = 8;

/// The longest row, in roots and kept values. Each equation of a for-equation and each entry of its
/// Jacobian is one.
const MAX_PERIOD: usize = 64;

/// How many periods are looked at closely before a root counts as one that does not repeat.
const MAX_ATTEMPTS: usize = 4;

/// The dearest shared part that each reader computes for itself, in additions.
const CHEAP: u32 = 4;

/// A list of numbers that code reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum List {
    Coefficients,
    Parameters,
    /// Values kept in the table.
    Kept,
    /// Numbers of the loops, [`Repeats::numbers`].
    Numbers,
    Outputs,
}

/// A place that moves on by a fixed step with each instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Track {
    pub list: List,
    pub start: usize,
    pub step: isize,
}

/// A loop, told by the registers of its first instance.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub n_trips: usize,
    pub body: Vec<Step>,
    /// Where the inputs of the body stand; what is not listed is the same for all instances.
    pub reads: Vec<(Register, Track)>,
    pub writes: Vec<(Register, Track)>,
}

impl Track {
    /// Whether the other one is always one place further.
    pub(crate) fn is_beside(self, next: Self) -> bool {
        (next.list, next.step) == (self.list, self.step) && next.start == self.start + 1
    }

    /// The places of all instances.
    fn span(self, n_trips: usize) -> Range<isize> {
        let start = self.start as isize;
        let last = start + self.step * (n_trips as isize - 1);
        start.min(last)..start.max(last) + 1
    }
}

impl Repeat {
    /// Operations and writes of the body.
    pub(crate) fn n_steps(&self) -> usize {
        self.body.len() + self.writes.len()
    }

    /// Whether no instance reads what another one keeps.
    pub(crate) fn is_parallel(&self) -> bool {
        let in_table = |spots: &[(Register, Track)]| -> Vec<Range<isize>> {
            spots
                .iter()
                .filter(|(_, track)| track.list == List::Kept)
                .map(|(_, track)| track.span(self.n_trips))
                .collect()
        };
        let written = in_table(&self.writes);
        in_table(&self.reads).iter().all(|read| {
            written
                .iter()
                .all(|kept| read.end <= kept.start || kept.end <= read.start)
        })
    }
}

/// What is computed next: a root, or a part that is kept for several of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub register: Register,
    /// `None` for a kept part.
    pub root: Option<u32>,
}

/// A stretch of the items.
#[derive(Clone, Debug)]
pub(crate) enum Stretch {
    /// Written out.
    Single(Range<usize>),
    /// Items in a loop, and which one.
    Repeated(Range<usize>, usize),
}

/// All loops of a tape, and what lies between them.
#[derive(Debug)]
pub(crate) struct Repeats {
    pub items: Vec<Item>,
    pub stretches: Vec<Stretch>,
    pub loops: Vec<Repeat>,
    pub numbers: Vec<f64>,
    /// The place among the kept values, or [`NOWHERE`], by register.
    pub kept: Vec<u32>,
    pub n_kept: usize,
}

impl Repeats {
    /// Finds the loops of a tape; `None` if it has none.
    ///
    /// `rests` marks what depends on parameters alone, `bounds` bounds the magnitudes.
    pub(crate) fn find(tape: &Tape, rests: &[bool], bounds: &[f64]) -> Option<Self> {
        if tape.n_roots() < MIN_TRIPS {
            return None;
        }
        let mut finder = Finder::new(tape, rests, bounds);
        let shapes = finder.shapes();
        let mut stretches = Vec::new();
        let mut single = 0;
        let mut start = 0;
        while start < finder.items.len() {
            let Some((period, repeat)) = finder.repeat(&shapes, start) else {
                start += 1;
                continue;
            };
            if single < start {
                stretches.push(Stretch::Single(single..start));
            }
            let end = start + period * repeat.n_trips;
            stretches.push(Stretch::Repeated(start..end, finder.loops.len()));
            finder.loops.push(repeat);
            (single, start) = (end, end);
        }
        if finder.loops.is_empty() {
            return None;
        }
        if single < start {
            stretches.push(Stretch::Single(single..start));
        }
        Some(Self {
            items: finder.items,
            stretches,
            loops: finder.loops,
            numbers: finder.numbers,
            kept: finder.kept,
            n_kept: finder.n_kept as usize,
        })
    }
}

/// One word of the form of an instance, which does not say where its inputs stand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Word {
    Number,
    Time,
    Input {
        list: List,
        order: u32,
        is_bounded: bool,
    },
    Unary(UnaryOp, u32),
    Binary(BinaryOp, u32, u32),
    Reciprocal(u32),
    One(u32),
    Select(u32, u32, u32),
    /// Whether the result before is bounded, which decides on the checks of those who read it.
    IsBounded(bool),
    Write(List, u32),
}

/// A register and where an instance reads or writes it: a place, or the bits of a number.
type Spot = (Register, List, u64);

/// A row of items: its form, and the places that differ from instance to instance.
#[derive(Default, Debug)]
struct Instance {
    form: Vec<Word>,
    n_names: u32,
    computed: Vec<Register>,
    reads: Vec<Spot>,
    writes: Vec<Spot>,
}

impl Instance {
    fn clear(&mut self) {
        self.form.clear();
        self.n_names = 0;
        self.computed.clear();
        self.reads.clear();
        self.writes.clear();
    }

    /// All places, reads first.
    fn spots(&self) -> impl Iterator<Item = Spot> {
        self.reads.iter().chain(&self.writes).copied()
    }
}

struct Finder<'a> {
    tape: &'a Tape,
    rests: &'a [bool],
    bounds: &'a [f64],
    partner: Vec<u32>,
    items: Vec<Item>,
    loops: Vec<Repeat>,
    numbers: Vec<f64>,
    kept: Vec<u32>,
    n_kept: u32,
    /// The name of a register in the instance that is being built, if `seen` says so.
    names: Vec<u32>,
    seen: Vec<u32>,
    n_instances: u32,
    stack: Vec<(Register, bool)>,
}

impl<'a> Finder<'a> {
    fn new(tape: &'a Tape, rests: &'a [bool], bounds: &'a [f64]) -> Self {
        let n_registers = tape.n_registers();
        let mut finder = Self {
            tape,
            rests,
            bounds,
            partner: partners(tape),
            items: Vec::with_capacity(tape.n_roots()),
            loops: Vec::new(),
            numbers: Vec::new(),
            kept: vec![NOWHERE; n_registers],
            n_kept: 0,
            names: vec![0; n_registers],
            seen: vec![0; n_registers],
            n_instances: 0,
            stack: Vec::new(),
        };
        let is_cut = finder.cuts();
        finder.list_items(&is_cut);
        finder
    }

    fn keep(&mut self, register: Register) {
        let place = &mut self.kept[register.index()];
        if *place == NOWHERE {
            *place = self.n_kept;
            self.n_kept += 1;
        }
    }

    /// The parts that several roots read and that are too dear to be computed by each.
    fn cuts(&mut self) -> Vec<bool> {
        let tape = self.tape;
        let mut owner = vec![NOWHERE; tape.n_registers()];
        let mut is_shared = vec![false; tape.n_registers()];
        let mut pending = Vec::new();
        for root in 0..tape.n_roots() {
            pending.push(tape.root(root));
            while let Some(register) = pending.pop() {
                let place = register.index();
                if owner[place] == NOWHERE {
                    owner[place] = root as u32;
                    pending.extend(operation(tape, register).operands());
                } else if owner[place] != root as u32 {
                    is_shared[place] = true;
                }
            }
        }
        let mut costs = vec![0u32; tape.n_registers()];
        let mut is_cut = vec![false; tape.n_registers()];
        for place in 0..tape.n_registers() {
            let Some(operation) = tape.operation(tape.register(place)) else {
                continue;
            };
            if owner[place] == NOWHERE || self.rests[place] || is_leaf(operation) {
                continue;
            }
            let below = operation.operands().map(|operand| costs[operand.index()]);
            let cost = below.fold(cost(operation), u32::saturating_add);
            is_cut[place] = is_shared[place] && cost > CHEAP;
            costs[place] = if is_cut[place] { 0 } else { cost };
        }
        is_cut
    }

    /// The roots in their order, each after the parts that it is the first to need.
    fn list_items(&mut self, is_cut: &[bool]) {
        let tape = self.tape;
        let mut is_listed = vec![false; tape.n_registers()];
        for root in 0..tape.n_roots() {
            self.stack.push((tape.root(root), false));
            while let Some((register, is_ready)) = self.stack.pop() {
                let place = register.index();
                if is_ready {
                    self.keep(register);
                    let root = None;
                    self.items.push(Item { register, root });
                } else if self.rests[place] {
                    self.keep(register);
                } else if !is_listed[place] {
                    is_listed[place] = true;
                    if is_cut[place] {
                        self.stack.push((register, true));
                    }
                    let operands = operation(tape, register).operands();
                    self.stack
                        .extend(operands.rev().map(|operand| (operand, false)));
                }
            }
            self.items.push(Item {
                register: tape.root(root),
                root: Some(root as u32),
            });
        }
    }

    /// A number for the form of each item alone; equal forms have equal numbers.
    fn shapes(&mut self) -> Vec<u64> {
        let hasher = FastMap::<u32, u32>::default();
        let mut instance = Instance::default();
        (0..self.items.len())
            .map(|place| {
                self.read(place..place + 1, &mut instance);
                hasher.hasher().hash_one(&instance.form)
            })
            .collect()
    }

    /// Gives a register the next name.
    fn name(&mut self, register: Register, instance: &mut Instance) {
        let place = register.index();
        self.seen[place] = self.n_instances;
        self.names[place] = instance.n_names;
        instance.n_names += 1;
    }

    /// Reads the items of a range as one instance.
    fn read(&mut self, range: Range<usize>, instance: &mut Instance) {
        self.n_instances += 1;
        instance.clear();
        for place in range {
            let item = self.items[place];
            self.stack.push((item.register, false));
            while let Some((register, is_ready)) = self.stack.pop() {
                if self.seen[register.index()] == self.n_instances {
                    continue;
                }
                let is_own = item.root.is_none() && register == item.register;
                if is_ready {
                    self.compute(register, instance);
                } else if let Some((word, place)) = self.leaf(register, is_own) {
                    instance.form.push(word);
                    let spot = place.map(|(list, place)| (register, list, place));
                    instance.reads.extend(spot);
                    self.name(register, instance);
                } else {
                    self.stack.push((register, true));
                    let operands = operation(self.tape, register).operands();
                    self.stack
                        .extend(operands.rev().map(|operand| (operand, false)));
                }
            }
            let (list, place) = match item.root {
                Some(root) => (List::Outputs, root),
                None => (List::Kept, self.kept[item.register.index()]),
            };
            let name = self.names[item.register.index()];
            instance.form.push(Word::Write(list, name));
            let spot = (item.register, list, u64::from(place));
            instance.writes.push(spot);
        }
    }

    /// How an instance reads a register that it does not compute.
    fn leaf(&self, register: Register, is_own: bool) -> Option<(Word, Option<(List, u64)>)> {
        let kept = self.kept[register.index()];
        let is_bounded = self.bounds[register.index()].is_finite();
        let input = |list: List, order: u32, place: u64| {
            let word = Word::Input {
                list,
                order,
                is_bounded,
            };
            Some((word, Some((list, place))))
        };
        match operation(self.tape, register) {
            Operation::Constant(number) => {
                Some((Word::Number, Some((List::Numbers, number.to_bits()))))
            }
            Operation::Input(Slot::Time) => Some((Word::Time, None)),
            Operation::Input(Slot::Parameter(index)) => {
                input(List::Parameters, 0, u64::from(index))
            }
            Operation::Input(Slot::Variable { index, order }) => {
                let row = u64::from(order) * self.tape.n_variables() as u64;
                input(List::Coefficients, order, row + u64::from(index))
            }
            _ if kept != NOWHERE && !is_own => input(List::Kept, 0, u64::from(kept)),
            _ => None,
        }
    }

    fn compute(&mut self, register: Register, instance: &mut Instance) {
        let name = |register: Register| self.names[register.index()];
        let word = match operation(self.tape, register) {
            Operation::Unary(op, a) => Word::Unary(op, name(a)),
            Operation::Binary(op, a, b) => Word::Binary(op, name(a), name(b)),
            Operation::Reciprocal(a) => Word::Reciprocal(name(a)),
            Operation::One(a) => Word::One(name(a)),
            Operation::Select(a, b, c) => Word::Select(name(a), name(b), name(c)),
            Operation::Constant(_) | Operation::Input(_) => unreachable!("leaves are read"),
        };
        let is_bounded = self.bounds[register.index()].is_finite();
        instance.form.extend([word, Word::IsBounded(is_bounded)]);
        instance.computed.push(register);
        self.name(register, instance);
    }

    /// The loop that begins at an item, with its period.
    fn repeat(&mut self, shapes: &[u64], start: usize) -> Option<(usize, Repeat)> {
        let shapes = &shapes[start..];
        let longest = MAX_PERIOD.min(shapes.len() / MIN_TRIPS);
        (1..=longest)
            .filter(|&period| shapes[0] == shapes[period])
            .filter(|&period| {
                let end = period * MIN_TRIPS;
                shapes[..end - period] == shapes[period..end]
            })
            .take(MAX_ATTEMPTS)
            .find_map(|period| Some((period, self.repeat_with(start, period)?)))
    }

    /// The loop over rows of `period` items, if there are enough of them.
    fn repeat_with(&mut self, start: usize, period: usize) -> Option<Repeat> {
        let [mut first, mut next] = [Instance::default(), Instance::default()];
        self.read(start..start + period, &mut first);
        let mut spots: Vec<Spot> = first.spots().collect();
        let mut steps: Vec<u64> = Vec::new();
        let mut numbers: Vec<Vec<f64>> = vec![Vec::new(); first.reads.len()];
        let mut n_trips = 1;
        loop {
            let begin = start + n_trips * period;
            if begin + period > self.items.len() {
                break;
            }
            self.read(begin..begin + period, &mut next);
            if next.form != first.form {
                break;
            }
            let moves = spots
                .iter()
                .zip(next.spots())
                .map(|(before, after)| (before.1, after.2.wrapping_sub(before.2)));
            if n_trips == 1 {
                steps.extend(moves.map(|(_, step)| step));
            } else if !moves
                .zip(&steps)
                .all(|((list, step), &first)| list == List::Numbers || step == first)
            {
                break;
            }
            for (numbers, &(_, _, bits)) in numbers.iter_mut().zip(&next.reads) {
                numbers.push(f64::from_bits(bits));
            }
            spots.clear();
            spots.extend(next.spots());
            n_trips += 1;
        }
        if n_trips < MIN_TRIPS {
            return None;
        }
        let track = |(&(register, list, start), &step): (&Spot, &u64)| {
            let track = Track {
                list,
                start: start as usize,
                step: step as isize,
            };
            (register, track)
        };
        let (read_steps, write_steps) = steps.split_at(first.reads.len());
        let mut reads = Vec::with_capacity(first.reads.len());
        for (place, spot) in first.reads.iter().enumerate() {
            if spot.1 == List::Numbers {
                let others = &numbers[place];
                let track = self.number_track(f64::from_bits(spot.2), others);
                reads.extend(track.map(|track| (spot.0, track)));
            } else {
                reads.push(track((spot, &read_steps[place])));
            }
        }
        Some(Repeat {
            n_trips,
            body: self.body(&first.computed),
            reads,
            writes: first.writes.iter().zip(write_steps).map(track).collect(),
        })
    }

    /// Lays out the numbers of all instances, unless they are the same.
    fn number_track(&mut self, first: f64, others: &[f64]) -> Option<Track> {
        if others.iter().all(|x| x.to_bits() == first.to_bits()) {
            return None;
        }
        let start = self.numbers.len();
        self.numbers.push(first);
        self.numbers.extend(others);
        Some(Track {
            list: List::Numbers,
            start,
            step: 1,
        })
    }

    /// The steps of an instance; sine and cosine of the same angle are one of them.
    fn body(&self, computed: &[Register]) -> Vec<Step> {
        let mut body = Vec::with_capacity(computed.len());
        let place_of = |register: Register| computed.iter().position(|&other| other == register);
        for (place, &register) in computed.iter().enumerate() {
            let partner = self.partner[register.index()];
            let other = (partner != NOWHERE).then(|| self.tape.register(partner as usize));
            let operation = operation(self.tape, register);
            let step = match (operation, other.and_then(place_of)) {
                (Operation::Unary(op, of), Some(other)) => {
                    if other < place {
                        continue;
                    }
                    let pair = [register, computed[other]];
                    let [sine, cosine] = if op == UnaryOp::Sin {
                        pair
                    } else {
                        [pair[1], pair[0]]
                    };
                    Step::SineCosine { sine, cosine, of }
                }
                _ => Step::Compute(register, operation),
            };
            body.push(step);
        }
        body
    }
}

/// What an operation costs, in additions; roughly.
pub(crate) fn cost(operation: Operation) -> u32 {
    match operation {
        Operation::Reciprocal(_)
        | Operation::Binary(BinaryOp::Div, ..)
        | Operation::Unary(UnaryOp::Sqrt, _) => 8,
        Operation::Binary(BinaryOp::Pow | BinaryOp::Atan2, ..) => 40,
        Operation::Unary(UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not | UnaryOp::Sign, _) => 1,
        Operation::Unary(..) => 40,
        Operation::Constant(_) | Operation::Input(_) => 0,
        _ => 1,
    }
}
