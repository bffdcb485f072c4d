//! Jets in lanes: the same recurrences as the plain interpreter, many operations at a time.
//!
//! Nothing is compiled at run time. The kernels exist for each instruction set, the best one the
//! processor has is chosen when the program runs, and a plan made once per tape lists what they read.

use crate::fault::Fault;
use crate::inputs::{Inputs, rising};
use crate::jet::{JetEvaluator, change, check_roots, check_stage, order_at};
use crate::kernels::{BLOCK, FACTOR, NUMERATOR, Operands, Rows, run};
use crate::lanes::{Gather, Group, Plan, Work};
use crate::recurrence::{Coefficients, coefficient};
use crate::tape::{Code, Register, Tape};
use crate::value::{Branches, value};
use pulp::{Arch, Simd, WithSimd};
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

/// Zeros at first, and the first one begins a cache line, so that no block of lanes crosses two.
///
/// Plain zeros come from the system untouched: setting them one by one would fault in every page
/// of a large model before anything is computed.
#[derive(Debug)]
struct Aligned {
    room: Vec<f64>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Self {
        let length = length.next_multiple_of(BLOCK);
        let room = vec![0.0; length + BLOCK - 1];
        let line = BLOCK * size_of::<f64>();
        let past = (room.as_ptr() as usize % line) / size_of::<f64>();
        let start = (BLOCK - past) % BLOCK;
        Self {
            room,
            start,
            length,
        }
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
        copy.numbers_mut().copy_from_slice(self.numbers());
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
    /// All coefficients, `[order][lane]`.
    rows: Aligned,
    /// The operands of the groups, each `[order][lane]`.
    packed: Aligned,
    /// The weights of the linear operations, resting factors included.
    weights: Vec<[f64; 2]>,
    moved: Vec<f64>,
    next_stage: i32,
    max_order: usize,
    arch: Arch,
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
        let plan = Plan::new(&tape, order);
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
            moved: vec![0.0; tape.n_registers()],
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
        for (register, op) in tape.ops.iter().enumerate() {
            if order_at(stage, tape.leads[register]) == Some(0) {
                let rows = self.rows.numbers_mut();
                let lane = |register: u32| plan.lane_of[register as usize] as usize;
                rows[lane(register as u32)] =
                    value(tape, op, &self.inputs, &mut self.branches, |operand| {
                        rows[lane(operand)]
                    });
            }
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
        assert!(
            stage >= 1,
            "stage {stage} is not linear in its top coefficients"
        );
        assert_eq!(
            stage + 1,
            self.next_stage,
            "only the last stage can be corrected"
        );
        let plan = Arc::clone(&self.plan);
        for place in 0..self.tape.followers.len() {
            let register = self.tape.followers[place] as usize;
            let op = &self.tape.ops[register];
            let order = stage as usize + self.tape.leads[register] as usize;
            let change = change(
                &self.tape,
                register,
                order,
                &self.inputs,
                &self.branches,
                &self.lanes(),
                &self.moved,
            );
            self.moved[register] = change;
            if change != 0.0 {
                let place = order * plan.n_lanes + plan.lane_of[register] as usize;
                let coefficient = &mut self.rows.numbers_mut()[place];
                if op.code == Code::Input {
                    *coefficient = self.inputs.read(self.tape.slots[op.extra as usize], order);
                } else {
                    *coefficient += change;
                }
            }
        }
        self.fetch_early(stage, |group, _| group.follows);
        check_roots(
            &self.tape,
            stage,
            &self.inputs,
            &self.branches,
            &self.lanes(),
        )
    }

    fn coefficient(&self, register: Register, order: usize) -> f64 {
        self.lanes().at(register.0, order)
    }
}
