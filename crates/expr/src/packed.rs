//! Jets in lanes: the same recurrences as the plain interpreter, many operations at a time.
//!
//! Nothing is compiled at run time. The kernels exist for each instruction set, the best one the
//! processor has is chosen when the program runs, and a plan made once per tape lists what they read.

use crate::fault::Fault;
use crate::inputs::{Inputs, rising};
use crate::jet::{JetEvaluator, check_correction, check_roots, check_stage, order_at};
use crate::kernels::{BLOCK, FACTOR, Kernel, NUMERATOR, Operands, Rows, run};
use crate::lanes::{Gather, Group, Plan, Read, Work};
use crate::recurrence::{Coefficients, coefficient, correction};
use crate::staged::{remembered, top_operands};
use crate::tape::{Code, NONE, Register, Slot, Tape};
use crate::value::{Branches, value};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;
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

/// Room for numbers of which the first begins a cache line, so that no block of lanes crosses two.
///
/// The room is many times as large as a plan. It is reserved with the plan and written to when it is first used: setting
/// it to zero would be a fifth of the time that a plan takes, and more for models beyond the nearer caches.
#[derive(Debug)]
struct Aligned {
    room: Vec<f64>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// Reserves room.
    fn new(length: usize) -> Self {
        let length = length.next_multiple_of(BLOCK);
        let room: Vec<f64> = Vec::with_capacity(length + BLOCK - 1);
        let line = BLOCK * size_of::<f64>();
        let past = (room.as_ptr() as usize % line) / size_of::<f64>();
        let start = (BLOCK - past) % BLOCK;
        Self {
            room,
            start,
            length,
        }
    }

    fn is_in_use(&self) -> bool {
        !self.room.is_empty()
    }

    /// Zeros in all places; within the room that was reserved.
    fn begin(&mut self) {
        self.room.resize(self.length + BLOCK - 1, 0.0);
    }

    fn numbers(&self) -> &[f64] {
        &self.room[self.start..self.start + self.length]
    }

    fn numbers_mut(&mut self) -> &mut [f64] {
        &mut self.room[self.start..self.start + self.length]
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.length);
        if self.is_in_use() {
            copy.begin();
            copy.numbers_mut().copy_from_slice(self.numbers());
        }
        copy
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
    /// All coefficients, `[order][lane]`; in use from the first stage on.
    rows: Aligned,
    /// The operands of the groups, each `[order][lane]`; in use from the first stage on.
    packed: Aligned,
    /// The weights of the linear operations, resting factors included.
    weights: Vec<[f64; 2]>,
    /// Everything that follows the newest coefficients of the variables.
    followers: Followers,
    /// The part of it that later orders read.
    remembered: Followers,
    /// Where packed operands hold copies of what is remembered.
    patches: Vec<Patch>,
    patch_runs: Vec<PatchRun>,
    /// Lane and lead of each root.
    roots: Vec<(u32, u32)>,
    /// Registers that rest, by lead and in the order of the tape.
    resting: Vec<Vec<u32>>,
    /// The parameters for which the resting registers of each lead were computed, and whether they were.
    resting_for: Vec<(bool, Vec<f64>)>,
    next_stage: i32,
    max_order: usize,
    arch: Arch,
}

/// Registers that follow the newest coefficients of the variables, (31), with all they depend on.
///
/// Inputs come first, then operations in the order of the tape, by lead: a newest coefficient depends on newest
/// coefficients of its own lead only. The place of a register in this order is where its change is kept.
#[derive(Clone, Debug)]
struct Followers {
    inputs: Vec<Read>,
    input_runs: Vec<InputRun>,
    operations: Vec<Follower>,
    /// The lead of each piece of the operations.
    operation_runs: Vec<(u32, Range<usize>)>,
    /// The registers of the operations, and the places of their operands that move.
    sources: Vec<(u32, [u32; 2])>,
    /// Whether the slopes are those of the present values.
    ready: bool,
    /// Changes during a correction, and a zero behind them.
    moved: Vec<f64>,
}

/// Inputs of one lead, differentiated equally often.
#[derive(Clone, Debug)]
struct InputRun {
    lead: u32,
    derivative: u32,
    range: Range<usize>,
}

/// How the newest coefficient of one operation follows others.
#[derive(Clone, Copy, Debug)]
struct Follower {
    lane: u32,
    /// Places of the operands that have an effect; that of the zero for the others.
    operands: [u32; 2],
    /// Their slopes at order 0.
    slopes: [f64; 2],
}

impl Followers {
    /// Ascending registers; their slopes are still to be found.
    ///
    /// `place_of` has an entry for each register of the tape, [`NONE`] before and after.
    fn new(tape: &Tape, plan: &Plan, registers: &[u32], place_of: &mut [u32]) -> Self {
        let slot = |register: u32| {
            let op = &tape.ops[register as usize];
            (op.code == Code::Input).then(|| tape.slots[op.extra as usize])
        };
        let lead = |register: u32| tape.leads[register as usize];
        // Time and parameters have no top coefficient, so every input among the followers is a variable.
        let mut inputs: Vec<(u32, u32, u32, u32)> = Vec::new();
        let mut operations: Vec<u32> = Vec::new();
        for &register in registers {
            match slot(register) {
                Some(Slot::Variable { index, order }) => {
                    inputs.push((lead(register), order, register, index));
                }
                _ => operations.push(register),
            }
        }
        inputs.sort_by_key(|&(lead, order, ..)| (lead, order));
        operations.sort_by_key(|&register| lead(register));
        let ordered = inputs.iter().map(|&(_, _, register, _)| register);
        let ordered = ordered.chain(operations.iter().copied());
        let none = registers.len() as u32;
        for (register, place) in ordered.zip(0..) {
            place_of[register as usize] = place;
        }
        let mut followers = Self {
            inputs: Vec::with_capacity(inputs.len()),
            input_runs: Vec::new(),
            operations: Vec::with_capacity(operations.len()),
            operation_runs: Vec::new(),
            sources: Vec::with_capacity(operations.len()),
            ready: false,
            moved: vec![0.0; registers.len() + 1],
        };
        for run in inputs.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let start = followers.inputs.len();
            followers
                .inputs
                .extend(run.iter().map(|&(_, _, register, variable)| Read {
                    lane: plan.lane_of[register as usize],
                    variable,
                }));
            followers.input_runs.push(InputRun {
                lead: run[0].0,
                derivative: run[0].1,
                range: start..followers.inputs.len(),
            });
        }
        for run in operations.chunk_by(|&one, &other| lead(one) == lead(other)) {
            let start = followers.operations.len();
            for &register in run {
                let place = |operand: u32| {
                    let known = place_of.get(operand as usize);
                    known.map_or(none, |&place| place.min(none))
                };
                let operands = top_operands(tape, register).map(place);
                followers.sources.push((register, operands));
                followers.operations.push(Follower {
                    lane: plan.lane_of[register as usize],
                    operands,
                    slopes: [0.0; 2],
                });
            }
            let range = start..followers.operations.len();
            followers.operation_runs.push((lead(run[0]), range));
        }
        for &register in registers {
            place_of[register as usize] = NONE;
        }
        followers
    }

    /// Computes the slopes at the present values, if that was not done yet.
    fn find_slopes(&mut self, tape: &Tape, branches: &Branches, lanes: &Lanes<'_>) {
        if std::mem::replace(&mut self.ready, true) {
            return;
        }
        let none = self.moved.len() as u32 - 1;
        for (rule, &(register, places)) in self.operations.iter_mut().zip(&self.sources) {
            let op = &tape.ops[register as usize];
            let operands = top_operands(tape, register);
            for side in 0..2 {
                if places[side] == none {
                    continue;
                }
                let unit = |other: u32| f64::from(other == operands[side]);
                let slope = correction(op, register, branches, lanes, unit);
                // An operand that has no effect may have no value either: a branch not taken.
                rule.slopes[side] = slope;
                rule.operands[side] = if slope == 0.0 { none } else { places[side] };
            }
        }
    }

    /// Carries the changes of the inputs through.
    fn carry(&mut self, stage: usize, inputs: &Inputs, rows: &mut [f64], n_lanes: usize) {
        for run in &self.input_runs {
            let order = stage + run.lead as usize;
            let derivative = run.derivative as usize;
            let row = &mut rows[order * n_lanes..][..n_lanes];
            let coefficients = inputs.row(order + derivative);
            let factor = rising(order, derivative);
            let moved = &mut self.moved[run.range.clone()];
            for (moved, read) in moved.iter_mut().zip(&self.inputs[run.range.clone()]) {
                // The new coefficient itself, without the rounding of old plus change.
                let new = coefficients[read.variable as usize] * factor;
                *moved = new - std::mem::replace(&mut row[read.lane as usize], new);
            }
        }
        for (lead, range) in &self.operation_runs {
            let order = stage + *lead as usize;
            let row = &mut rows[order * n_lanes..][..n_lanes];
            let rules = &self.operations[range.clone()];
            for (rule, place) in rules.iter().zip(self.inputs.len() + range.start..) {
                let [a, b] = rule.operands.map(|operand| self.moved[operand as usize]);
                let change = rule.slopes[0] * a + rule.slopes[1] * b;
                row[rule.lane as usize] += change;
                self.moved[place] = change;
            }
        }
    }
}

/// Copies of coefficients among the packed operands, all of one lead.
#[derive(Clone, Debug)]
struct PatchRun {
    lead: u32,
    weighted: bool,
    range: Range<usize>,
}

/// A copy of a coefficient among the packed operands: row i begins i `width`s behind `place`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Patch {
    place: u32,
    width: u32,
    lane: u32,
}

/// The coefficients of the registers in their lanes.
struct Lanes<'a> {
    rows: &'a [f64],
    n_lanes: usize,
    lane_of: &'a [u32],
}

impl Coefficients for Lanes<'_> {
    type Scalar = f64;

    fn at(&self, register: u32, order: usize) -> f64 {
        self.rows[order * self.n_lanes + self.lane_of[register as usize] as usize]
    }
}

impl PackedJet {
    /// Like [`JetEvaluator::new`], with a chosen instruction set.
    pub fn with_instruction_set(tape: Arc<Tape>, order: usize, set: InstructionSet) -> Self {
        let mut plan = Plan::new(&tape, order);
        let remembered = remembered(&tape);
        let (patches, patch_runs) = patches(&tape, &plan, &remembered);
        let roots = tape.roots.iter().zip(&tape.root_leads);
        let roots = roots.map(|(&root, &lead)| (plan.lane_of[root as usize], lead));
        let mut place_of = vec![NONE; tape.ops.len()];
        Self {
            inputs: Inputs::new(&tape, order),
            branches: Branches::new(&tape),
            rows: Aligned::new((order + 1) * plan.n_lanes),
            packed: Aligned::new(plan.n_packed),
            weights: std::mem::take(&mut plan.weights),
            followers: Followers::new(&tape, &plan, &tape.followers, &mut place_of),
            patches,
            patch_runs,
            remembered: Followers::new(&tape, &plan, &remembered, &mut place_of),
            roots: roots.collect(),
            resting: resting(&tape),
            resting_for: vec![(false, vec![0.0; tape.n_parameters]); tape.max_lead as usize + 1],
            next_stage: tape.first_stage(),
            max_order: order,
            arch: set.arch(),
            plan: Arc::new(plan),
            tape,
        }
    }

    /// Takes the room into use, if that was not done yet.
    fn begin(&mut self) {
        if self.rows.is_in_use() {
            return;
        }
        self.rows.begin();
        self.packed.begin();
        let packed = self.packed.numbers_mut();
        for &(place, preset) in &self.plan.presets {
            packed[place] = preset;
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

    /// Values of the registers that begin at this stage and rest: they follow the parameters only.
    fn begin_resting(&mut self, stage: i32) {
        let (tape, plan) = (&*self.tape, &*self.plan);
        let lead = stage.unsigned_abs() as usize;
        // A resting operand of a later lead is ready by then.
        let (ready, known) = &mut self.resting_for[lead];
        if *ready && known.as_slice() == self.inputs.parameters() {
            return;
        }
        let rows = self.rows.numbers_mut();
        let lane = |register: u32| plan.lane_of[register as usize] as usize;
        for &register in &self.resting[lead] {
            let op = &tape.ops[register as usize];
            rows[lane(register)] = value(tape, op, &self.inputs, &mut self.branches, |operand| {
                rows[lane(operand)]
            });
        }
        for &(place, lane, lead) in &plan.scales {
            if order_at(stage, lead) == Some(0) {
                self.weights[place as usize][0] = rows[lane as usize];
            }
        }
        known.copy_from_slice(self.inputs.parameters());
        *ready = true;
    }

    /// The newest coefficients of the roots must be finite; the search for a cause is left to others.
    fn check(&self, stage: i32) -> Result<(), Fault> {
        let (rows, n_lanes) = (self.rows.numbers(), self.plan.n_lanes);
        let mut doubt = 0.0;
        for &(lane, lead) in &self.roots {
            if let Some(order) = order_at(stage, lead) {
                doubt += 0.0 * rows[order * n_lanes + lane as usize];
            }
        }
        if doubt == 0.0 {
            return Ok(());
        }
        check_roots(
            &self.tape,
            stage,
            &self.inputs,
            &self.branches,
            &self.lanes(),
        )
    }

    /// Fetches the operands of followers again, where they are ready at their own order.
    fn fetch_followers(&mut self, stage: i32) {
        let plan = &*self.plan;
        for group in plan.groups.iter().filter(|group| group.follows) {
            let Some(order) = order_at(stage, group.lead) else {
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

/// Where the packed operands hold the newest coefficients of these registers.
fn patches(tape: &Tape, plan: &Plan, registers: &[u32]) -> (Vec<Patch>, Vec<PatchRun>) {
    let mut lead_of = vec![None; plan.n_lanes];
    for &register in registers {
        let lane = plan.lane_of[register as usize] as usize;
        lead_of[lane] = Some(tape.leads[register as usize]);
    }
    let mut found = Vec::with_capacity(registers.len());
    for group in &plan.groups {
        for gather in [Some(group.left), group.right].into_iter().flatten() {
            let lanes = &plan.indices[gather.indices..gather.indices + group.n_members];
            for (member, &lane) in lanes.iter().enumerate() {
                if !gather.late && lead_of[lane as usize] == Some(group.lead) {
                    let patch = Patch {
                        place: (gather.buffer + member) as u32,
                        width: group.width as u32,
                        lane,
                    };
                    found.push((group.lead, gather.weighted, patch));
                }
            }
        }
    }
    found.sort_by_key(|&(lead, weighted, _)| (lead, weighted));
    let mut runs: Vec<PatchRun> = Vec::new();
    for run in found.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let start = runs.last().map_or(0, |last| last.range.end);
        runs.push(PatchRun {
            lead: run[0].0,
            weighted: run[0].1,
            range: start..start + run.len(),
        });
    }
    (found.into_iter().map(|(_, _, patch)| patch).collect(), runs)
}

/// The registers of each lead that rest.
fn resting(tape: &Tape) -> Vec<Vec<u32>> {
    let mut resting = vec![Vec::new(); tape.max_lead as usize + 1];
    for (register, &lead) in tape.leads.iter().enumerate() {
        if !tape.ops[register].moving {
            resting[lead as usize].push(register as u32);
        }
    }
    resting
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

/// A value, or NaN: infinity must not travel on, since atan and 1/x would turn it back into a number.
#[inline(always)]
fn finite_or_nan(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// One stage of everything that moves, run under the chosen instruction set.
struct Stage<'a> {
    tape: &'a Tape,
    plan: &'a Plan,
    inputs: &'a Inputs,
    branches: &'a mut Branches,
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
            let Some(order) = order_at(self.stage, step.lead) else {
                continue;
            };
            if order == 0 {
                self.begin(&step.work);
                continue;
            }
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

    /// Values of what begins at this stage.
    fn begin(&mut self, work: &Work) {
        let (plan, weights) = (self.plan, self.weights);
        let row = &mut self.rows[..plan.n_lanes];
        match work {
            Work::Reads { derivative, range } => {
                let coefficients = self.inputs.row(*derivative);
                let factor = rising(0, *derivative);
                for read in &plan.reads[range.clone()] {
                    let value = coefficients[read.variable as usize] * factor;
                    row[read.lane as usize] = finite_or_nan(value);
                }
            }
            Work::Linears(range) => {
                let weights = &weights[range.clone()];
                for (linear, weights) in plan.linears[range.clone()].iter().zip(weights) {
                    let value =
                        weights[0] * row[linear.a as usize] + weights[1] * row[linear.b as usize];
                    row[linear.lane as usize] = finite_or_nan(value);
                }
            }
            Work::Others(range) => self.begin_each(&plan.others[range.clone()]),
            Work::Group(group) => self.begin_group(&plan.groups[*group]),
        }
    }

    /// Values one by one.
    fn begin_each(&mut self, registers: &[u32]) {
        let lane_of = &self.plan.lane_of;
        for &register in registers {
            let op = &self.tape.ops[register as usize];
            let at = |operand: u32| self.rows[lane_of[operand as usize] as usize];
            let value = value(self.tape, op, self.inputs, self.branches, at);
            self.rows[lane_of[register as usize] as usize] = value;
        }
    }

    fn begin_group(&mut self, group: &Group) {
        let plan = self.plan;
        let together = matches!(group.kernel, Kernel::Product | Kernel::Square);
        if !together {
            self.begin_each(&plan.members[group.first_member..][..group.n_members]);
        }
        let row = &mut self.rows[..plan.n_lanes];
        for gather in [Some(group.left), group.right].into_iter().flatten() {
            if !gather.late {
                fetch(plan, group, gather, 0, row, self.packed);
            }
        }
        if together {
            let left = &self.packed[group.left.buffer..][..group.width];
            let right = group.right.unwrap_or(group.left);
            let right = &self.packed[right.buffer..][..group.width];
            let out = &mut row[group.start..][..group.width];
            for ((value, left), right) in out.iter_mut().zip(left).zip(right) {
                *value = finite_or_nan(left * right);
            }
        }
    }

    /// (2)
    #[inline(always)]
    fn reads(&mut self, order: usize, derivative: usize, range: Range<usize>) {
        let (plan, inputs) = (self.plan, self.inputs);
        let coefficients = inputs.row(order + derivative);
        let factor = rising(order, derivative);
        let row = self.row(order);
        for read in &plan.reads[range] {
            row[read.lane as usize] = coefficients[read.variable as usize] * factor;
        }
    }

    /// (3) to (5); weights of 1, -1 and -0 change no bits.
    #[inline(always)]
    fn linears(&mut self, order: usize, range: Range<usize>) {
        let (plan, weights) = (self.plan, self.weights);
        let row = self.row(order);
        for (linear, weights) in plan.linears[range.clone()].iter().zip(&weights[range]) {
            row[linear.lane as usize] =
                weights[0] * row[linear.a as usize] + weights[1] * row[linear.b as usize];
        }
    }

    fn others(&mut self, order: usize, range: Range<usize>) {
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
        self.begin();
        if stage <= 0 {
            self.begin_resting(stage);
            self.followers.ready = false;
            self.remembered.ready = false;
        }
        self.arch.dispatch(Stage {
            tape: &self.tape,
            plan: &self.plan,
            inputs: &self.inputs,
            branches: &mut self.branches,
            rows: self.rows.numbers_mut(),
            packed: self.packed.numbers_mut(),
            weights: &self.weights,
            stage,
        });
        self.next_stage = stage + 1;
        self.check(stage)
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
        self.fetch_followers(stage);
        self.check(stage)
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
        for run in &self.patch_runs {
            let order = stage as usize + run.lead as usize;
            let weight = if run.weighted { order as f64 } else { 1.0 };
            let row = &rows[order * n_lanes..][..n_lanes];
            for patch in &self.patches[run.range.clone()] {
                packed[patch.place as usize + order * patch.width as usize] =
                    weight * row[patch.lane as usize];
            }
        }
        Ok(())
    }

    fn coefficient(&self, register: Register, order: usize) -> f64 {
        if !self.rows.is_in_use() {
            return 0.0;
        }
        self.lanes().at(register.0, order)
    }

    fn stage_roots(&self, stage: i32, into: &mut [f64]) {
        let (rows, n_lanes) = (self.rows.numbers(), self.plan.n_lanes);
        for (slot, &(lane, lead)) in into.iter_mut().zip(&self.roots) {
            let newest = |order: usize| rows[order * n_lanes + lane as usize];
            *slot = order_at(stage, lead).map_or(0.0, newest);
        }
    }
}
