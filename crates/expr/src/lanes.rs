//! The plan of the lane-packed back end: which operations run side by side, and where they live.
//!
//! Operations with a convolution are grouped by kind, level and lead. The level counts how many
//! convolutions lie below an operation at the same order; companions are read at lower orders and
//! do not count. Everything that costs O(1) per order stays scalar, level by level: inputs, linear
//! operations as `x r[a] + y r[b]` without a branch, and the rest one by one.

use crate::graph::FastMap;
use crate::kernels::{BLOCK, Kernel};
use crate::recurrence::{slope_factor, slope_product, slope_quotient, slope_sign};
use crate::tape::{Code, NONE, Op, Slot, Tape};
use std::ops::Range;

/// Operations of one kind that are evaluated together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub kernel: Kernel,
    pub lead: u32,
    /// First lane, a multiple of [`BLOCK`].
    pub start: usize,
    /// First of its registers in the list of members.
    pub first_member: usize,
    /// Number of operations.
    pub n_members: usize,
    /// Number of lanes, `n_members` rounded up to a multiple of [`BLOCK`].
    pub width: usize,
    pub left: Gather,
    pub right: Option<Gather>,
    /// First entry of the numerators' lanes in the index list.
    pub numerator: Option<usize>,
    /// Place of the numerators and factors among the packed numbers: two rows.
    pub extra: usize,
    /// Whether an operand follows the top coefficients of the variables.
    pub follows: bool,
}

/// One packed operand: row i of its buffer holds coefficient i for each member of the group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gather {
    /// First entry of the operand's lanes in the index list.
    pub indices: usize,
    /// Place of row 0 among the packed numbers.
    pub buffer: usize,
    /// Whether coefficient i is multiplied by i.
    pub weighted: bool,
    /// Whether row k - 1 is fetched at order k, because the operand is not ready earlier.
    pub late: bool,
}

/// A derivative of a variable, read into a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub lane: u32,
    pub variable: u32,
}

/// A linear operation: the row gets `weights[0] * row[a] + weights[1] * row[b]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    pub lane: u32,
    pub a: u32,
    pub b: u32,
}

/// What is done next at one order.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// How far the registers of the step run ahead of the stage.
    pub lead: u32,
    pub work: Work,
}

/// The parts of a plan that a step runs.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Variables differentiated `derivative` times.
    Reads {
        derivative: usize,
        range: Range<usize>,
    },
    Linears(Range<usize>),
    /// Operations for the plain recurrences.
    Others(Range<usize>),
    Group(usize),
}

/// Where every register lives, and the steps of one order.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub lane_of: Vec<u32>,
    /// Number of lanes, a multiple of [`BLOCK`].
    pub n_lanes: usize,
    /// A lane that is always zero.
    pub zero: u32,
    pub groups: Vec<Group>,
    pub reads: Vec<Read>,
    pub linears: Vec<Linear>,
    /// The weights of the linear operations as far as they are known; the jet takes them over and fills in the rest.
    pub weights: Vec<[f64; 2]>,
    /// Linear operations whose first weight is the value of a resting lane, and their lead.
    pub scales: Vec<(u32, u32, u32)>,
    pub others: Vec<u32>,
    /// The registers of the groups, one group after the other.
    pub members: Vec<u32>,
    pub indices: Vec<u32>,
    pub steps: Vec<Step>,
    /// Size of the packed operands.
    pub n_packed: usize,
    /// Numbers that the packed operands start with: (place, value).
    pub presets: Vec<(usize, f64)>,
}

/// What an operation counts as within its level; groups come before everything else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Sort {
    Group(Kernel),
    Read(u32),
    Single,
}

fn sort_of(tape: &Tape, op: &Op, register: u32) -> Sort {
    if let Some(kernel) = kernel_of(op, register) {
        return Sort::Group(kernel);
    }
    match op.code {
        Code::Input => match tape.slots[op.extra as usize] {
            Slot::Variable { order, .. } => Sort::Read(order),
            _ => Sort::Single,
        },
        _ => Sort::Single,
    }
}

/// The weights of a linear operation; the first is still open for a scaling.
///
/// The weight of a missing operand is -0: adding -0 changes nothing, not even the sign of a zero.
fn weights(code: Code) -> Option<[f64; 2]> {
    match code {
        Code::Add => Some([1.0, 1.0]),
        Code::Sub => Some([1.0, -1.0]),
        Code::Neg => Some([-1.0, -0.0]),
        Code::Scale => Some([f64::NAN, -0.0]),
        _ => None,
    }
}

/// The kernel of an operation, or none when it is evaluated alone.
fn kernel_of(op: &Op, register: u32) -> Option<Kernel> {
    if !op.moving {
        return None;
    }
    match op.code {
        Code::Mul => Some(Kernel::Product),
        Code::Square => Some(Kernel::Square),
        Code::Div | Code::Recip => Some(Kernel::Quotient),
        Code::Sqrt => Some(Kernel::Root),
        _ if slope_product(op, register).is_some() => Some(Kernel::SlopeProduct),
        _ if slope_quotient(op).is_some() => Some(Kernel::SlopeQuotient),
        _ => None,
    }
}

/// The registers of one member's operands.
struct Member {
    left: u32,
    right: u32,
    numerator: u32,
    factor: f64,
}

fn member(op: &Op, register: u32) -> Member {
    let mut member = Member {
        left: op.a,
        right: op.b,
        numerator: NONE,
        factor: 1.0,
    };
    if let Some((x, slope)) = slope_product(op, register) {
        (member.left, member.right) = (x, slope);
        member.factor = slope_sign(op.code);
    } else if let Some((x, divisor)) = slope_quotient(op) {
        (member.left, member.right, member.numerator) = (register, divisor, x);
        member.factor = slope_factor(op.code);
    } else {
        match op.code {
            Code::Div => (member.left, member.right, member.numerator) = (op.b, register, op.a),
            Code::Recip => member.right = register,
            Code::Sqrt => (member.left, member.numerator) = (register, op.a),
            _ => {}
        }
    }
    member
}

/// The registers that must have coefficient k before the operation gets its own.
fn same_order_operands(op: &Op, register: u32) -> impl Iterator<Item = usize> {
    let slope = slope_product(op, register).or_else(|| slope_quotient(op));
    op.operands()
        .filter(move |&operand| slope.is_none_or(|(x, _)| operand == x as usize))
}

impl Plan {
    /// Groups the operations of a tape, for coefficients 0 to `order`.
    pub(crate) fn new(tape: &Tape, order: usize) -> Self {
        let sorted = Sorted::new(tape);
        let counts = Counts::of(&sorted);
        let mut follows = vec![false; tape.ops.len()];
        for &register in &tape.followers {
            follows[register as usize] = true;
        }
        let mut plan = Self {
            lane_of: vec![NONE; tape.ops.len()],
            n_lanes: 0,
            zero: 0,
            groups: Vec::new(),
            reads: Vec::with_capacity(counts.reads),
            linears: Vec::with_capacity(counts.singles),
            weights: Vec::with_capacity(counts.singles),
            scales: Vec::new(),
            others: Vec::new(),
            members: Vec::with_capacity(counts.members),
            indices: Vec::with_capacity(counts.indices),
            steps: Vec::new(),
            n_packed: 0,
            presets: Vec::new(),
        };
        for run in sorted.runs() {
            if matches!(run.class.sort, Sort::Group(_)) {
                for (lane, &register) in (plan.n_lanes..).zip(run.registers) {
                    plan.lane_of[register as usize] = lane as u32;
                }
                plan.n_lanes += run.registers.len().next_multiple_of(BLOCK);
            }
        }
        for lane in &mut plan.lane_of {
            if *lane == NONE {
                *lane = plan.n_lanes as u32;
                plan.n_lanes += 1;
            }
        }
        plan.zero = plan.n_lanes as u32;
        plan.n_lanes = (plan.n_lanes + 1).next_multiple_of(BLOCK);
        for run in sorted.runs() {
            match run.class.sort {
                Sort::Group(kernel) => plan.push_group(tape, kernel, &run, order, &follows),
                Sort::Read(derivative) => {
                    let start = plan.reads.len();
                    for &register in run.registers {
                        plan.push_read(tape, register);
                    }
                    let work = Work::Reads {
                        derivative: derivative as usize,
                        range: start..plan.reads.len(),
                    };
                    let lead = run.class.lead;
                    plan.steps.push(Step { lead, work });
                }
                Sort::Single => plan.push_singles(tape, &run),
            }
        }
        plan
    }

    fn lane(&self, register: u32) -> u32 {
        self.lane_of[register as usize]
    }

    fn lane_or_zero(&self, register: u32) -> u32 {
        if register == NONE {
            self.zero
        } else {
            self.lane(register)
        }
    }

    fn push_read(&mut self, tape: &Tape, register: u32) {
        let slot = tape.slots[tape.ops[register as usize].extra as usize];
        let Slot::Variable { index, .. } = slot else {
            unreachable!("only variables are sorted as reads");
        };
        let lane = self.lane(register);
        self.reads.push(Read {
            lane,
            variable: index,
        });
    }

    /// Single operations in the order of the tape, linear ones and others in alternating steps.
    fn push_singles(&mut self, tape: &Tape, run: &Run<'_>) {
        let lead = run.class.lead;
        let open = |register: u32| weights(tape.ops[register as usize].code);
        let is_alike = |&one: &u32, &other: &u32| open(one).is_some() == open(other).is_some();
        for piece in run.registers.chunk_by(is_alike) {
            let (first_linear, first_other) = (self.linears.len(), self.others.len());
            for &register in piece {
                let op = &tape.ops[register as usize];
                let Some(weights) = open(register) else {
                    self.others.push(register);
                    continue;
                };
                let is_scale = op.code == Code::Scale;
                if is_scale {
                    let place = self.linears.len() as u32;
                    self.scales.push((place, self.lane(op.b), lead));
                }
                self.weights.push(weights);
                self.linears.push(Linear {
                    lane: self.lane(register),
                    a: self.lane(op.a),
                    b: self.lane_or_zero(if is_scale { NONE } else { op.b }),
                });
            }
            let work = if first_linear < self.linears.len() {
                Work::Linears(first_linear..self.linears.len())
            } else {
                Work::Others(first_other..self.others.len())
            };
            self.steps.push(Step { lead, work });
        }
    }

    fn push_group(
        &mut self,
        tape: &Tape,
        kernel: Kernel,
        run: &Run<'_>,
        order: usize,
        follows: &[bool],
    ) {
        let n_members = run.registers.len();
        let width = n_members.next_multiple_of(BLOCK);
        let weighted = matches!(kernel, Kernel::SlopeProduct | Kernel::SlopeQuotient);
        let left_is_late = matches!(kernel, Kernel::Root | Kernel::SlopeQuotient);
        // The lanes of all left operands, then of all right ones, then of all numerators.
        let first_index = self.indices.len();
        let [_, has_right, has_numerator] = operands_of(kernel);
        let room = n_members * n_operands(kernel);
        self.indices.resize(first_index + room, self.zero);
        let mut buffer = || {
            let start = self.n_packed;
            self.n_packed += (order + 1) * width;
            start
        };
        let left = Gather {
            indices: first_index,
            buffer: buffer(),
            weighted,
            late: left_is_late,
        };
        let right = has_right.then(|| Gather {
            indices: first_index + n_members,
            buffer: buffer(),
            weighted: false,
            late: kernel != Kernel::Product,
        });
        let numerator = has_numerator.then(|| first_index + room - n_members);
        // Lanes without a member divide by 1, so that they stay zero.
        let divisor = match kernel {
            Kernel::Quotient | Kernel::Root => Some(left.buffer),
            Kernel::SlopeQuotient => right.map(|right| right.buffer),
            _ => None,
        };
        let spare = divisor.map_or(0..0, |buffer| buffer + n_members..buffer + width);
        self.presets.extend(spare.map(|place| (place, 1.0)));
        let extra = self.n_packed;
        self.n_packed += 2 * width;
        let mut follows_any = false;
        for (place, &register) in run.registers.iter().enumerate() {
            let op = &tape.ops[register as usize];
            let member = member(op, register);
            self.indices[left.indices + place] = self.lane(member.left);
            if let Some(right) = right {
                self.indices[right.indices + place] = self.lane(member.right);
            }
            if let Some(numerator) = numerator {
                self.indices[numerator + place] = self.lane_or_zero(member.numerator);
            }
            if weighted {
                self.presets.push((extra + width + place, member.factor));
            }
            follows_any |= op.operands().any(|operand| follows[operand]);
        }
        let lead = run.class.lead;
        let work = Work::Group(self.groups.len());
        self.steps.push(Step { lead, work });
        let first_member = self.members.len();
        self.members.extend_from_slice(run.registers);
        self.groups.push(Group {
            kernel,
            lead,
            start: self.lane(run.registers[0]) as usize,
            first_member,
            n_members,
            width,
            left,
            right,
            numerator,
            extra,
            follows: follows_any,
        });
    }
}

/// Which operands the members of a kernel have: left, right, numerator.
fn operands_of(kernel: Kernel) -> [bool; 3] {
    match kernel {
        Kernel::Product | Kernel::SlopeProduct => [true, true, false],
        Kernel::Square => [true, false, false],
        Kernel::Quotient | Kernel::SlopeQuotient => [true, true, true],
        Kernel::Root => [true, false, true],
    }
}

fn n_operands(kernel: Kernel) -> usize {
    operands_of(kernel).into_iter().filter(|&has| has).count()
}

/// How long the lists of a plan become, so that none is moved while it grows.
#[derive(Default)]
struct Counts {
    reads: usize,
    singles: usize,
    members: usize,
    indices: usize,
}

impl Counts {
    fn of(sorted: &Sorted) -> Self {
        let mut counts = Self::default();
        for run in sorted.runs() {
            let length = run.registers.len();
            match run.class.sort {
                Sort::Group(kernel) => {
                    counts.members += length;
                    counts.indices += length * n_operands(kernel);
                }
                Sort::Read(_) => counts.reads += length,
                Sort::Single => counts.singles += length,
            }
        }
        counts
    }
}

/// Where a moving operation belongs; ascending classes are the order of evaluation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Class {
    level: u32,
    sort: Sort,
    lead: u32,
    /// How many single operations of the same level lie below; what is equally deep runs in a row,
    /// so that the processor need not wait for one result before it starts the next.
    depth: u32,
    is_other: bool,
}

/// The moving operations in the order of evaluation: by class, and in a class by register.
///
/// Classes are few, so they are sorted and the registers counted into their places.
struct Sorted {
    registers: Vec<u32>,
    classes: Vec<(Class, Range<usize>)>,
}

/// Operations of one level, sort and lead.
struct Run<'a> {
    class: Class,
    registers: &'a [u32],
}

impl Sorted {
    /// Operations of one level and different leads do not wait for each other: what runs ahead has
    /// the coefficient that the others read since an earlier stage.
    fn new(tape: &Tape) -> Self {
        let mut levels = vec![0u32; tape.ops.len()];
        let mut depths = vec![0u32; tape.ops.len()];
        let mut number_of: FastMap<Class, u32> = FastMap::default();
        let mut classes: Vec<(Class, Range<usize>)> = Vec::new();
        let mut members: Vec<(u32, u32)> = Vec::with_capacity(tape.ops.len());
        for (register, op) in tape.ops.iter().enumerate().filter(|(_, op)| op.moving) {
            let index = register as u32;
            let sort = sort_of(tape, op, index);
            let below = same_order_operands(op, index)
                .map(|operand| levels[operand])
                .max()
                .unwrap_or(0);
            let level = below + u32::from(matches!(sort, Sort::Group(_)));
            levels[register] = level;
            let is_single = sort == Sort::Single;
            if is_single {
                depths[register] = same_order_operands(op, index)
                    .filter(|&operand| levels[operand] == level)
                    .map(|operand| depths[operand] + 1)
                    .max()
                    .unwrap_or(0);
            }
            let class = Class {
                level,
                sort,
                lead: tape.leads[register],
                depth: depths[register],
                is_other: is_single && weights(op.code).is_none(),
            };
            let number = *number_of.entry(class).or_insert_with(|| {
                classes.push((class, 0..0));
                classes.len() as u32 - 1
            });
            classes[number as usize].1.end += 1;
            members.push((number, index));
        }
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_unstable_by_key(|&number| classes[number].0);
        let mut start = 0;
        for number in order {
            let range = &mut classes[number].1;
            let length = range.end;
            *range = start..start;
            start += length;
        }
        let mut registers = vec![0; members.len()];
        for (number, register) in members {
            let place = &mut classes[number as usize].1.end;
            registers[*place] = register;
            *place += 1;
        }
        classes.sort_unstable_by_key(|&(class, _)| class);
        Self { registers, classes }
    }

    fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        let together = self.classes.chunk_by(|(one, _), (other, _)| {
            (one.level, one.sort, one.lead) == (other.level, other.sort, other.lead)
        });
        together.map(|classes| Run {
            class: classes[0].0,
            registers: &self.registers[classes[0].1.start..classes[classes.len() - 1].1.end],
        })
    }
}
