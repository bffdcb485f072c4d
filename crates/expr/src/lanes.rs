//! The plan of the lane-packed back end: which operations run side by side, and where they live.
//!
//! Operations with a convolution are grouped by kind, level and lead. The level counts how many
//! convolutions lie below an operation at the same order; companions are read at lower orders and
//! do not count. Everything that costs O(1) per order stays scalar, level by level.

use crate::kernels::{BLOCK, Kernel};
use crate::recurrence::{slope_factor, slope_product, slope_quotient, slope_sign};
use crate::tape::{Code, NONE, Op, Tape};

/// Operations of one kind that are evaluated together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub kernel: Kernel,
    pub lead: u32,
    /// First lane, a multiple of [`BLOCK`].
    pub start: usize,
    /// Number of operations.
    pub n_members: usize,
    /// Number of lanes, `n_members` rounded up to a multiple of [`BLOCK`].
    pub width: usize,
    /// Where the lanes of the operands are listed, for those that the kind has.
    pub left: Option<Gather>,
    pub right: Option<Gather>,
    /// First entry of the numerators' lanes in the index list.
    pub numerator: Option<usize>,
    /// Place of the numerators and factors among the packed numbers: two rows.
    pub extra: usize,
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

/// An operation that is evaluated alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single {
    pub code: Code,
    pub lead: u32,
    pub lane: u32,
    pub a: u32,
    pub b: u32,
    pub register: u32,
}

/// What is done next at one order.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Singles(std::ops::Range<usize>),
    Group(usize),
}

/// Where every register lives, and the steps of one order.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub lane_of: Vec<u32>,
    /// Number of lanes, a multiple of [`BLOCK`].
    pub n_lanes: usize,
    pub groups: Vec<Group>,
    pub singles: Vec<Single>,
    pub indices: Vec<u32>,
    pub steps: Vec<Step>,
    /// Size of the packed operands.
    pub n_packed: usize,
    /// Numbers that the packed operands start with: (place, value).
    pub presets: Vec<(usize, f64)>,
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
    } else if op.code == Code::Div {
        (member.left, member.numerator) = (op.b, op.a);
    } else if op.code == Code::Sqrt {
        member.numerator = op.a;
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
        // A level has its groups first and then its single operations.
        let mut levels = vec![0u32; tape.ops.len()];
        let mut keys: Vec<(u32, bool, u32, Option<Kernel>, u32)> = Vec::new();
        for (register, op) in tape.ops.iter().enumerate() {
            if !op.moving {
                continue;
            }
            let register = register as u32;
            let kernel = kernel_of(op, register);
            let below = same_order_operands(op, register)
                .map(|operand| levels[operand])
                .max()
                .unwrap_or(0);
            let level = below + u32::from(kernel.is_some());
            levels[register as usize] = level;
            let lead = tape.leads[register as usize];
            let lead_of_group = if kernel.is_some() { lead } else { 0 };
            keys.push((level, kernel.is_none(), lead_of_group, kernel, register));
        }
        keys.sort_unstable();
        let mut plan = Self {
            lane_of: vec![NONE; tape.ops.len()],
            n_lanes: 0,
            groups: Vec::new(),
            singles: Vec::new(),
            indices: Vec::new(),
            steps: Vec::new(),
            n_packed: 0,
            presets: Vec::new(),
        };
        let runs =
            || keys.chunk_by(|one, other| (one.0, one.2, one.3) == (other.0, other.2, other.3));
        for run in runs() {
            if run[0].3.is_some() {
                for (lane, key) in (plan.n_lanes..).zip(run) {
                    plan.lane_of[key.4 as usize] = lane as u32;
                }
                plan.n_lanes += run.len().next_multiple_of(BLOCK);
            }
        }
        for lane in &mut plan.lane_of {
            if *lane == NONE {
                *lane = plan.n_lanes as u32;
                plan.n_lanes += 1;
            }
        }
        // The lane after the last register stays zero: the numerator of 1/x above order 0.
        let zero = plan.n_lanes as u32;
        plan.n_lanes = (plan.n_lanes + 1).next_multiple_of(BLOCK);
        for run in runs() {
            match run[0].3 {
                Some(kernel) => {
                    let members: Vec<u32> = run.iter().map(|key| key.4).collect();
                    plan.push_group(tape, kernel, &members, zero, order);
                }
                None => {
                    let start = plan.singles.len();
                    for key in run {
                        plan.push_single(tape, key.4);
                    }
                    plan.steps.push(Step::Singles(start..plan.singles.len()));
                }
            }
        }
        plan
    }

    fn lane(&self, register: u32) -> u32 {
        if register == NONE {
            NONE
        } else {
            self.lane_of[register as usize]
        }
    }

    fn push_single(&mut self, tape: &Tape, register: u32) {
        let op = &tape.ops[register as usize];
        self.singles.push(Single {
            code: op.code,
            lead: tape.leads[register as usize],
            lane: self.lane(register),
            a: self.lane(op.a),
            b: self.lane(op.b),
            register,
        });
    }

    fn push_group(&mut self, tape: &Tape, kernel: Kernel, run: &[u32], zero: u32, order: usize) {
        let width = run.len().next_multiple_of(BLOCK);
        let members: Vec<Member> = run
            .iter()
            .map(|&register| member(&tape.ops[register as usize], register))
            .collect();
        let weighted = matches!(kernel, Kernel::SlopeProduct | Kernel::SlopeQuotient);
        let has_left = kernel != Kernel::Root;
        let has_right = weighted || kernel == Kernel::Product;
        let has_numerator = matches!(
            kernel,
            Kernel::Quotient | Kernel::Root | Kernel::SlopeQuotient
        );
        let left = has_left.then(|| {
            let late = kernel == Kernel::SlopeQuotient;
            let registers = members.iter().map(|member| member.left);
            self.push_gather(registers, width, order, weighted, late)
        });
        let right = has_right.then(|| {
            let registers = members.iter().map(|member| member.right);
            self.push_gather(registers, width, order, false, weighted)
        });
        let numerator = has_numerator.then(|| {
            let start = self.indices.len();
            for member in &members {
                let lane = self.lane(member.numerator);
                self.indices.push(if lane == NONE { zero } else { lane });
            }
            start
        });
        // Lanes without a member divide by 1, so that they stay zero.
        let divisor = match kernel {
            Kernel::Quotient => left,
            Kernel::SlopeQuotient => right,
            _ => None,
        };
        if let Some(gather) = divisor {
            let spare = gather.buffer + members.len()..gather.buffer + width;
            self.presets.extend(spare.map(|place| (place, 1.0)));
        }
        let extra = self.n_packed;
        self.n_packed += 2 * width;
        for (place, member) in members.iter().enumerate() {
            self.presets.push((extra + width + place, member.factor));
        }
        self.steps.push(Step::Group(self.groups.len()));
        self.groups.push(Group {
            kernel,
            lead: tape.leads[run[0] as usize],
            start: self.lane(run[0]) as usize,
            n_members: members.len(),
            width,
            left,
            right,
            numerator,
            extra,
        });
    }

    fn push_gather(
        &mut self,
        registers: impl Iterator<Item = u32>,
        width: usize,
        order: usize,
        weighted: bool,
        late: bool,
    ) -> Gather {
        let gather = Gather {
            indices: self.indices.len(),
            buffer: self.n_packed,
            weighted,
            late,
        };
        for register in registers {
            let lane = self.lane(register);
            self.indices.push(lane);
        }
        self.n_packed += (order + 1) * width;
        gather
    }
}
