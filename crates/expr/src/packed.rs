//! Jets in lanes: the same recurrences as the plain interpreter, many operations at a time.
//!
//! Nothing is compiled at run time. The kernels exist for each instruction set, the best one the
//! processor has is chosen when the program runs, and a plan made once per tape lists what they read.

use crate::fault::Fault;
use crate::inputs::{Inputs, rising};
use crate::jet::{JetEvaluator, check_correction, check_roots, check_stage, order_at};
use crate::kernels::{BLOCK, FACTOR, NUMERATOR, Operands, Rows, run};
use crate::lanes::{Gather, Group, Plan, Work};
use crate::recurrence::{Coefficients, coefficient, correction};
use crate::tape::{Code, NONE, Op, Register, Slot, Tape, is_convolution};
use crate::value::{Branches, value};
use pulp::{Arch, Simd, WithSimd, bytemuck};
use std::sync::Arc;

const _: () = assert!(
    NUMERATOR == 0 && FACTOR == 1,
    "the extra rows are filled in this order"
);

/// The instruction sets that the kernels exist for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InstructionSet {
    /// The best one that the processor has.
    #[default]
    Best,
    /// At most AVX2.
    AtMostAvx2,
    /// No particular one.
    Plain,
}

impl InstructionSet {
    fn arch(self) -> Arch {
        match self {
            InstructionSet::Best => Arch::new(),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AtMostAvx2 => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
            #[cfg(not(target_arch = "x86_64"))]
            InstructionSet::AtMostAvx2 => Arch::new(),
            InstructionSet::Plain => Arch::Scalar,
        }
    }
}

/// Eight lanes on one cache line, so that no load crosses two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f64; BLOCK]);

// SAFETY: the struct is `repr(C)` with a single array field of 64 bytes, which is also its alignment,
// so it has no padding, and every bit pattern is a valid array of `f64`.
unsafe impl bytemuck::Zeroable for Line {}
// SAFETY: as above; the type is `Copy` and holds no reference.
unsafe impl bytemuck::Pod for Line {}

/// Numbers that begin on a cache line.
#[derive(Clone, Debug)]
struct Aligned(Vec<Line>);

impl Aligned {
    fn new(length: usize) -> Self {
        Self(vec![Line([0.0; BLOCK]); length.div_ceil(BLOCK)])
    }

    fn numbers(&self) -> &[f64] {
        bytemuck::cast_slice(&self.0)
    }

    fn numbers_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// Jets by the lane-packed interpreter; its results are those of [`Jet`](crate::Jet).
///
/// They agree bit for bit, except that a zero may have the other sign.
#[derive(Clone, Debug)]
pub struct PackedJet {
    tape: Arc<Tape>,
    plan: Arc<Plan>,
    inputs: Inputs,
    branches: Branches,
    /// All coefficients, `[order][lane]`.
    rows: Aligned,
    /// The operands of the groups, each `[order][lane]`.
    packed: Aligned,
    /// The weights of the linear operations, resting factors included.
    weights: Vec<[f64; 2]>,
    /// Everything that follows the newest coefficients of the variables.
    followers: Followers,
    /// The part of it that later orders read.
    remembered: Followers,
    /// Where packed operands hold copies of what is remembered.
    patches: Vec<Patch>,
    /// Registers by lead, in the order of the tape: those that move, and those that rest.
    beginners: Vec<[Vec<u32>; 2]>,
    /// The parameters for which the resting registers of each lead were computed, and whether they were.
    resting_for: Vec<(bool, Vec<f64>)>,
    next_stage: i32,
    max_order: usize,
    arch: Arch,
}

/// Registers that follow the newest coefficients of the variables, (31), with all they depend on.
#[derive(Clone, Debug)]
struct Followers {
    registers: Vec<u32>,
    rules: Vec<Follower>,
    /// Whether the slopes are those of the present values.
    ready: bool,
    /// Changes during a correction, and a zero behind them.
    moved: Vec<f64>,
}

/// How the newest coefficient of one register follows others.
#[derive(Clone, Copy, Debug)]
struct Follower {
    lane: u32,
    lead: u32,
    /// Operands that have an effect, as positions among the followers.
    operands: [u32; 2],
    /// Their slopes at order 0; for an input they are not used.
    slopes: [f64; 2],
    input: Option<Slot>,
}

impl Followers {
    /// Ascending registers; their slopes are still to be found.
    fn new(tape: &Tape, plan: &Plan, registers: Vec<u32>) -> Self {
        let rule = |&register: &u32| {
            let op = &tape.ops[register as usize];
            Follower {
                lane: plan.lane_of[register as usize],
                lead: tape.leads[register as usize],
                operands: [registers.len() as u32; 2],
                slopes: [0.0; 2],
                input: (op.code == Code::Input).then(|| tape.slots[op.extra as usize]),
            }
        };
        Self {
            rules: registers.iter().map(rule).collect(),
            ready: false,
            moved: vec![0.0; registers.len() + 1],
            registers,
        }
    }

    /// Computes the slopes at the present values, if that was not done yet.
    fn find_slopes(&mut self, tape: &Tape, branches: &Branches, lanes: &Lanes<'_>) {
        if std::mem::replace(&mut self.ready, true) {
            return;
        }
        let none = self.registers.len() as u32;
        for (rule, &register) in self.rules.iter_mut().zip(&self.registers) {
            if rule.input.is_some() {
                continue;
            }
            let op = &tape.ops[register as usize];
            let registers = follower_operands(op);
            for (place, operand) in registers.into_iter().enumerate() {
                // An operand that has no effect may have no value either: a branch not taken.
                let reads = operand != NONE
                    && !(place == 1 && operand == registers[0])
                    && tape.reads_top(register as usize, operand as usize);
                let unit = |other: u32| f64::from(other == operand);
                let slope = if reads {
                    correction(op, register, branches, lanes, unit)
                } else {
                    0.0
                };
                rule.slopes[place] = slope;
                rule.operands[place] = if slope == 0.0 {
                    none
                } else {
                    let at = self.registers.binary_search(&operand);
                    at.map_or(none, |at| at as u32)
                };
            }
        }
    }

    /// Carries the changes of the inputs through.
    fn carry(&mut self, stage: usize, inputs: &Inputs, rows: &mut [f64], n_lanes: usize) {
        for (place, rule) in self.rules.iter().enumerate() {
            let order = stage + rule.lead as usize;
            let coefficient = &mut rows[order * n_lanes + rule.lane as usize];
            self.moved[place] = match rule.input {
                Some(slot) => {
                    // The new coefficient itself, without the rounding of old plus change.
                    let old = std::mem::replace(coefficient, inputs.read(slot, order));
                    *coefficient - old
                }
                None => {
                    let [a, b] = rule.operands.map(|operand| self.moved[operand as usize]);
                    let change = rule.slopes[0] * a + rule.slopes[1] * b;
                    *coefficient += change;
                    change
                }
            };
        }
    }
}

/// A copy of a coefficient among the packed operands: row i begins i `width`s behind `place`.
#[derive(Clone, Copy, Debug)]
struct Patch {
    lane: u32,
    lead: u32,
    place: u32,
    width: u32,
    weighted: bool,
}

/// The coefficients of the registers in their lanes.
struct Lanes<'a> {
    rows: &'a [f64],
    n_lanes: usize,
    lane_of: &'a [u32],
}

impl Coefficients for Lanes<'_> {
    fn at(&self, register: u32, order: usize) -> f64 {
        self.rows[order * self.n_lanes + self.lane_of[register as usize] as usize]
    }
}

impl PackedJet {
    /// Like [`JetEvaluator::new`], with a chosen instruction set.
    pub fn with_instruction_set(tape: Arc<Tape>, order: usize, set: InstructionSet) -> Self {
        let plan = Plan::new(&tape, order);
        let remembered = remembered(&tape);
        let rows = Aligned::new((order + 1) * plan.n_lanes);
        let mut packed = Aligned::new(plan.n_packed);
        for &(place, preset) in &plan.presets {
            packed.numbers_mut()[place] = preset;
        }
        Self {
            inputs: Inputs::new(&tape, order),
            branches: Branches::new(&tape),
            rows,
            packed,
            weights: plan.weights.clone(),
            followers: Followers::new(&tape, &plan, tape.followers.clone()),
            patches: patches(&tape, &plan, &remembered),
            remembered: Followers::new(&tape, &plan, remembered),
            beginners: beginners(&tape),
            resting_for: vec![(false, vec![0.0; tape.n_parameters]); tape.max_lead as usize + 1],
            next_stage: tape.first_stage(),
            max_order: order,
            arch: set.arch(),
            plan: Arc::new(plan),
            tape,
        }
    }

    /// Number of groups, and of operations in them: how well the tape fits the lanes.
    pub fn n_groups(&self) -> (usize, usize) {
        let n_members = self.plan.groups.iter().map(|group| group.n_members).sum();
        (self.plan.groups.len(), n_members)
    }

    fn lanes(&self) -> Lanes<'_> {
        Lanes {
            rows: self.rows.numbers(),
            n_lanes: self.plan.n_lanes,
            lane_of: &self.plan.lane_of,
        }
    }

    /// Order 0 of the registers that begin at this stage, one by one in the order of the tape.
    fn begin(&mut self, stage: i32) {
        let (tape, plan) = (&*self.tape, &*self.plan);
        let lead = stage.unsigned_abs() as usize;
        let [moving, resting] = &self.beginners[lead];
        let rows = self.rows.numbers_mut();
        let lane = |register: u32| plan.lane_of[register as usize] as usize;
        let mut begin = |register: u32, branches: &mut Branches| {
            let op = &tape.ops[register as usize];
            rows[lane(register)] = value(tape, op, &self.inputs, branches, |operand| {
                rows[lane(operand)]
            });
        };
        // What rests follows the parameters only. A resting operand of a later lead is ready by then.
        let (ready, known) = &mut self.resting_for[lead];
        if !*ready || known.as_slice() != self.inputs.parameters() {
            for &register in resting {
                begin(register, &mut self.branches);
            }
            known.copy_from_slice(self.inputs.parameters());
            *ready = true;
        }
        for &register in moving {
            begin(register, &mut self.branches);
        }
        for &(place, lane, lead) in &plan.scales {
            if order_at(stage, lead) == Some(0) {
                self.weights[place as usize][0] = self.rows.numbers()[lane as usize];
            }
        }
        self.fetch_early(stage, |_, order| order == 0);
    }

    /// Fetches the operands that are ready at their own order, for the groups chosen.
    fn fetch_early(&mut self, stage: i32, chosen: impl Fn(&Group, usize) -> bool) {
        let plan = &*self.plan;
        for group in &plan.groups {
            let Some(order) = order_at(stage, group.lead).filter(|&order| chosen(group, order))
            else {
                continue;
            };
            let row = &self.rows.numbers()[order * plan.n_lanes..][..plan.n_lanes];
            for gather in [Some(group.left), group.right].into_iter().flatten() {
                if !gather.late {
                    fetch(plan, group, gather, order, row, self.packed.numbers_mut());
                }
            }
        }
    }
}

/// The operands whose newest coefficients an operation can follow: at most two.
fn follower_operands(op: &Op) -> [u32; 2] {
    match op.code {
        Code::Select => [op.b, op.c],
        // The exponent's logarithm, (13).
        Code::PowMoving => [op.c, NONE],
        _ => [op.a, op.b],
    }
}

/// The followers whose corrected coefficients later orders read, with the followers they depend on.
fn remembered(tape: &Tape) -> Vec<u32> {
    let mut read_later = vec![false; tape.ops.len()];
    for (register, op) in tape.ops.iter().enumerate() {
        let convolution = op.moving && is_convolution(op.code);
        // Products read their operands only; the other recurrences read themselves as well.
        read_later[register] |= convolution && !matches!(op.code, Code::Mul | Code::Square);
        for operand in op.operands() {
            let behind = tape.leads[register] < tape.leads[operand];
            read_later[operand] |= convolution || behind || op.code.is_branch();
        }
    }
    for &register in tape.followers.iter().rev() {
        if read_later[register as usize] {
            for operand in tape.ops[register as usize].operands() {
                read_later[operand] |= tape.reads_top(register as usize, operand);
            }
        }
    }
    let followers = tape.followers.iter().copied();
    followers.filter(|&r| read_later[r as usize]).collect()
}

/// Where the packed operands hold the newest coefficients of these registers.
fn patches(tape: &Tape, plan: &Plan, registers: &[u32]) -> Vec<Patch> {
    let mut lead_of = vec![None; plan.n_lanes];
    for &register in registers {
        let lane = plan.lane_of[register as usize] as usize;
        lead_of[lane] = Some(tape.leads[register as usize]);
    }
    let mut patches = Vec::new();
    for group in &plan.groups {
        for gather in [Some(group.left), group.right].into_iter().flatten() {
            let lanes = &plan.indices[gather.indices..gather.indices + group.n_members];
            for (member, &lane) in lanes.iter().enumerate() {
                if !gather.late && lead_of[lane as usize] == Some(group.lead) {
                    patches.push(Patch {
                        lane,
                        lead: group.lead,
                        place: (gather.buffer + member) as u32,
                        width: group.width as u32,
                        weighted: gather.weighted,
                    });
                }
            }
        }
    }
    patches
}

/// The registers of each lead, those that move and those that rest.
fn beginners(tape: &Tape) -> Vec<[Vec<u32>; 2]> {
    let mut beginners = vec![[Vec::new(), Vec::new()]; tape.max_lead as usize + 1];
    for (register, op) in tape.ops.iter().enumerate() {
        beginners[tape.leads[register] as usize][usize::from(!op.moving)].push(register as u32);
    }
    beginners
}

/// Copies coefficient `order` of one operand of a group into its packed row.
#[inline(always)]
fn fetch(
    plan: &Plan,
    group: &Group,
    gather: Gather,
    order: usize,
    row: &[f64],
    packed: &mut [f64],
) {
    let lanes = &plan.indices[gather.indices..gather.indices + group.n_members];
    let target = &mut packed[gather.buffer + order * group.width..][..group.n_members];
    if gather.weighted {
        let weight = order as f64;
        for (slot, &lane) in target.iter_mut().zip(lanes) {
            *slot = weight * row[lane as usize];
        }
    } else {
        for (slot, &lane) in target.iter_mut().zip(lanes) {
            *slot = row[lane as usize];
        }
    }
}

/// One stage of everything above order 0, run under the chosen instruction set.
struct Stage<'a> {
    tape: &'a Tape,
    plan: &'a Plan,
    inputs: &'a Inputs,
    branches: &'a Branches,
    rows: &'a mut [f64],
    packed: &'a mut [f64],
    weights: &'a [[f64; 2]],
    stage: i32,
}

impl WithSimd for Stage<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let plan = self.plan;
        for step in &plan.steps {
            let Some(order) = order_at(self.stage, step.lead).filter(|&order| order > 0) else {
                continue;
            };
            match &step.work {
                Work::Reads { derivative, range } => {
                    self.reads(order, *derivative, range.clone());
                }
                Work::Linears(range) => self.linears(order, range.clone()),
                Work::Others(range) => self.others(order, range.clone()),
                Work::Group(group) => self.group(simd, order, &plan.groups[*group]),
            }
        }
    }
}

impl Stage<'_> {
    #[inline(always)]
    fn row(&mut self, order: usize) -> &mut [f64] {
        let n_lanes = self.plan.n_lanes;
        &mut self.rows[order * n_lanes..][..n_lanes]
    }

    /// (2)
    #[inline(always)]
    fn reads(&mut self, order: usize, derivative: usize, range: std::ops::Range<usize>) {
        let (plan, inputs) = (self.plan, self.inputs);
        let coefficients = inputs.row(order + derivative);
        let factor = rising(order, derivative);
        let row = self.row(order);
        for read in &plan.reads[range] {
            row[read.lane as usize] = coefficients[read.variable as usize] * factor;
        }
    }

    /// (3) to (5); weights of 1, -1 and 0 change no bits but the sign of a zero.
    #[inline(always)]
    fn linears(&mut self, order: usize, range: std::ops::Range<usize>) {
        let (plan, weights) = (self.plan, self.weights);
        let row = self.row(order);
        for (linear, weights) in plan.linears[range.clone()].iter().zip(&weights[range]) {
            row[linear.lane as usize] =
                weights[0] * row[linear.a as usize] + weights[1] * row[linear.b as usize];
        }
    }

    fn others(&mut self, order: usize, range: std::ops::Range<usize>) {
        let (plan, n_lanes) = (self.plan, self.plan.n_lanes);
        for &register in &plan.others[range] {
            let lanes = Lanes {
                rows: self.rows,
                n_lanes,
                lane_of: &plan.lane_of,
            };
            let result = coefficient(
                self.tape,
                register,
                order,
                self.inputs,
                self.branches,
                &lanes,
            );
            self.row(order)[plan.lane_of[register as usize] as usize] = result;
        }
    }

    #[inline(always)]
    fn group<S: Simd>(&mut self, simd: S, order: usize, group: &Group) {
        let (plan, n_lanes) = (self.plan, self.plan.n_lanes);
        let (done, rest) = self.rows.split_at_mut(order * n_lanes);
        let row = &mut rest[..n_lanes];
        for gather in [Some(group.left), group.right].into_iter().flatten() {
            if gather.late {
                let before = &done[(order - 1) * n_lanes..];
                fetch(plan, group, gather, order - 1, before, self.packed);
            } else {
                fetch(plan, group, gather, order, row, self.packed);
            }
        }
        if let Some(indices) = group.numerator {
            let lanes = &plan.indices[indices..indices + group.n_members];
            let target = &mut self.packed[group.extra..][..group.n_members];
            for (slot, &lane) in target.iter_mut().zip(lanes) {
                *slot = row[lane as usize];
            }
        }
        let packed = &*self.packed;
        let rows_of = |start: usize| Rows::<S>::new(packed, group.width, start);
        let left = rows_of(group.left.buffer);
        let operands = Operands {
            left,
            right: group.right.map_or(left, |right| rows_of(right.buffer)),
            extra: rows_of(group.extra),
        };
        let out = &mut row[group.start..group.start + group.width];
        run(simd, group.kernel, order, &operands, out);
    }
}

impl JetEvaluator for PackedJet {
    fn new(tape: Arc<Tape>, order: usize) -> Self {
        Self::with_instruction_set(tape, order, InstructionSet::Best)
    }

    fn tape(&self) -> &Tape {
        &self.tape
    }

    fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    fn inputs_mut(&mut self) -> &mut Inputs {
        &mut self.inputs
    }

    fn branches(&self) -> &Branches {
        &self.branches
    }

    fn branches_mut(&mut self) -> &mut Branches {
        &mut self.branches
    }

    fn max_order(&self) -> usize {
        self.max_order
    }

    fn extend(&mut self, stage: i32) -> Result<(), Fault> {
        check_stage(&self.tape, stage, self.next_stage, self.max_order);
        if stage <= 0 {
            self.begin(stage);
            self.followers.ready = false;
            self.remembered.ready = false;
        }
        self.arch.dispatch(Stage {
            tape: &self.tape,
            plan: &self.plan,
            inputs: &self.inputs,
            branches: &self.branches,
            rows: self.rows.numbers_mut(),
            packed: self.packed.numbers_mut(),
            weights: &self.weights,
            stage,
        });
        self.next_stage = stage + 1;
        check_roots(
            &self.tape,
            stage,
            &self.inputs,
            &self.branches,
            &self.lanes(),
        )
    }

    fn correct(&mut self, stage: i32) -> Result<(), Fault> {
        check_correction(stage, self.next_stage);
        let lanes = Lanes {
            rows: self.rows.numbers(),
            n_lanes: self.plan.n_lanes,
            lane_of: &self.plan.lane_of,
        };
        self.followers
            .find_slopes(&self.tape, &self.branches, &lanes);
        let (rows, n_lanes) = (self.rows.numbers_mut(), self.plan.n_lanes);
        self.followers
            .carry(stage as usize, &self.inputs, rows, n_lanes);
        self.fetch_early(stage, |group, _| group.follows);
        check_roots(
            &self.tape,
            stage,
            &self.inputs,
            &self.branches,
            &self.lanes(),
        )
    }

    fn remember(&mut self, stage: i32) -> Result<(), Fault> {
        check_correction(stage, self.next_stage);
        let lanes = Lanes {
            rows: self.rows.numbers(),
            n_lanes: self.plan.n_lanes,
            lane_of: &self.plan.lane_of,
        };
        self.remembered
            .find_slopes(&self.tape, &self.branches, &lanes);
        let (rows, n_lanes) = (self.rows.numbers_mut(), self.plan.n_lanes);
        self.remembered
            .carry(stage as usize, &self.inputs, rows, n_lanes);
        let packed = self.packed.numbers_mut();
        for patch in &self.patches {
            let order = stage as usize + patch.lead as usize;
            let weight = if patch.weighted { order as f64 } else { 1.0 };
            packed[patch.place as usize + order * patch.width as usize] =
                weight * rows[order * n_lanes + patch.lane as usize];
        }
        Ok(())
    }

    fn coefficient(&self, register: Register, order: usize) -> f64 {
        self.lanes().at(register.0, order)
    }
}
