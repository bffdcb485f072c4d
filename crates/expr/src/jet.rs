//! Jets of a tape by plain interpretation, one coefficient of everything at a time.

use crate::fault::{Fault, trace};
use crate::inputs::Inputs;
use crate::recurrence::{Coefficients, coefficient, correction};
use crate::tape::{Code, Register, Tape};
use crate::value::{Branches, value};
use std::sync::Arc;

/// What every back end for jets offers.
///
/// Stages are evaluated one after the other from [`Tape::first_stage`]. At stage k a root of lead l
/// gets coefficient k + l; for a tape without leads the stage is the order. Before stage k the
/// caller sets the coefficients that it reads: x_{k+l} for a variable and x_{k+l+s} for its s-th
/// derivative. A stage may be evaluated again after inputs changed, which discards later ones.
pub trait JetEvaluator {
    /// Room for coefficients 0 to `order` of every register.
    fn new(tape: Arc<Tape>, order: usize) -> Self
    where
        Self: Sized;

    /// The tape that is evaluated.
    fn tape(&self) -> &Tape;

    /// The coefficients of the variables, the parameters and the time.
    fn inputs(&self) -> &Inputs;

    /// The inputs, to be written.
    fn inputs_mut(&mut self) -> &mut Inputs;

    /// The branches taken at order 0.
    fn branches(&self) -> &Branches;

    /// The branches, to be held or chosen.
    fn branches_mut(&mut self) -> &mut Branches;

    /// The highest order there is room for.
    fn max_order(&self) -> usize;

    /// Computes one coefficient of every register from those below. Allocates nothing.
    ///
    /// The cost is O(k) per operation. When a root has no coefficient the fault says why.
    fn extend(&mut self, stage: i32) -> Result<(), Fault>;

    /// Brings stage `stage` >= 1 up to date after top coefficients changed, in O(1) per operation.
    ///
    /// The top coefficient of a variable is the highest one that the stage reads
    /// ([`Tape::tops`]); a change of any other one needs a new [`extend`](Self::extend). From order 1
    /// on, coefficients depend linearly on the top ones, so the changes are carried through with the
    /// slopes at order 0, only where they have an effect. The result agrees with a new
    /// `extend` up to rounding. Allocates nothing.
    fn correct(&mut self, stage: i32) -> Result<(), Fault>;

    /// Like [`correct`](Self::correct), but only as far as later stages and [`switching`](Self::switching)
    /// read it: coefficients of other registers, the roots among them, may stay as they were.
    fn remember(&mut self, stage: i32) -> Result<(), Fault> {
        self.correct(stage)
    }

    /// Coefficient `order` of a register.
    fn coefficient(&self, register: Register, order: usize) -> f64;

    /// Coefficient `order` of a root.
    fn root(&self, root: usize, order: usize) -> f64 {
        self.coefficient(self.tape().root(root), order)
    }

    /// The newest coefficient of every root at a stage; 0 for roots that have not begun.
    fn stage_roots(&self, stage: i32, into: &mut [f64]) {
        for (root, slot) in into.iter_mut().enumerate().take(self.tape().n_roots()) {
            *slot = match order_at(stage, self.tape().root_leads[root]) {
                Some(order) => self.root(root, order),
                None => 0.0,
            };
        }
    }

    /// Coefficient `order` of the quantity whose sign decides a branch.
    fn switching(&self, branch: usize, order: usize) -> f64 {
        let op = &self.tape().ops[self.tape().branches[branch] as usize];
        let left = self.coefficient(Register(op.a), order);
        if op.b == crate::tape::NONE {
            left
        } else {
            left - self.coefficient(Register(op.b), order)
        }
    }
}

/// Jets by plain interpretation: the oracle of the faster back ends.
///
/// Stored `[register][order]`: both factors of a convolution are then contiguous (docs/theory/jets.md,
/// section 8, has the measurement).
///
/// ```
/// use daelight_expr::{Graph, Jet, JetEvaluator, Slot, SymbolId, Tape, UnaryOp};
/// use std::sync::Arc;
///
/// let mut graph = Graph::new();
/// let x = graph.symbol(SymbolId(0));
/// let root = graph.unary(UnaryOp::Exp, x);
/// let tape = Tape::compile(&graph, &[root], |_| Slot::Time);
/// let mut jet = Jet::new(Arc::new(tape), 3);
/// for order in 0..=3 {
///     jet.extend(order)?;
/// }
/// assert_eq!(jet.root(0, 3), 1.0 / 6.0);
/// # Ok::<(), daelight_expr::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Jet {
    tape: Arc<Tape>,
    inputs: Inputs,
    branches: Branches,
    series: Series,
    /// Changes of the registers during a correction.
    moved: Vec<f64>,
    next_stage: i32,
}

/// All coefficients, `[register][order]` with room for `stride` orders.
#[derive(Clone, Debug)]
struct Series {
    data: Vec<f64>,
    stride: usize,
}

impl Series {
    fn row(&self, register: u32) -> &[f64] {
        &self.data[register as usize * self.stride..][..self.stride]
    }
}

impl Coefficients for Series {
    #[inline(always)]
    fn at(&self, register: u32, order: usize) -> f64 {
        self.data[register as usize * self.stride + order]
    }

    #[inline(always)]
    fn dot(&self, a: u32, b: u32, first: usize, last: usize, k: usize) -> f64 {
        if last < first {
            return 0.0;
        }
        let left = &self.row(a)[first..=last];
        let right = &self.row(b)[k - last..=k - first];
        let mut sum = 0.0;
        for (x, y) in left.iter().zip(right.iter().rev()) {
            sum += x * y;
        }
        sum
    }

    #[inline(always)]
    fn slope_dot(&self, a: u32, b: u32, last: usize, k: usize) -> f64 {
        let left = &self.row(a)[1..=last];
        let right = &self.row(b)[k - last..k];
        let mut sum = 0.0;
        let mut i = 1.0;
        for (x, y) in left.iter().zip(right.iter().rev()) {
            sum += i * x * y;
            i += 1.0;
        }
        sum
    }
}

/// Which order a register has at a stage, if it has begun.
pub(crate) fn order_at(stage: i32, lead: u32) -> Option<usize> {
    usize::try_from(i64::from(stage) + i64::from(lead)).ok()
}

/// The first root of this stage without a coefficient, traced to its cause.
pub(crate) fn check_roots(
    tape: &Tape,
    stage: i32,
    inputs: &Inputs,
    branches: &Branches,
    series: &impl Coefficients,
) -> Result<(), Fault> {
    for (root, (&register, &lead)) in tape.roots.iter().zip(&tape.root_leads).enumerate() {
        if let Some(order) = order_at(stage, lead)
            && !series.at(register, order).is_finite()
        {
            return Err(trace(
                tape,
                root,
                order,
                inputs,
                branches,
                |register, order| series.at(register as u32, order),
            ));
        }
    }
    Ok(())
}

/// Checks the order of stages and the room, before anything is computed.
pub(crate) fn check_stage(tape: &Tape, stage: i32, next_stage: i32, max_order: usize) {
    assert!(
        (tape.first_stage()..=next_stage).contains(&stage),
        "stage {stage} was asked for, but stage {next_stage} is the next one"
    );
    let top = order_at(stage, tape.max_lead).unwrap_or(0);
    assert!(
        top <= max_order,
        "order {top} needs more room than {max_order}"
    );
}

/// Checks that a stage can be corrected, before anything is computed.
pub(crate) fn check_correction(stage: i32, next_stage: i32) {
    assert!(
        stage >= 1,
        "stage {stage} is not linear in its top coefficients"
    );
    assert_eq!(
        stage + 1,
        next_stage,
        "only the last stage can be corrected"
    );
}

impl Jet {
    /// Makes room for a higher order; what was computed stays.
    pub fn reserve(&mut self, order: usize) {
        let stride = order + 1;
        if stride <= self.series.stride {
            return;
        }
        let mut data = vec![0.0; self.tape.n_registers() * stride];
        for (new, old) in data
            .chunks_exact_mut(stride)
            .zip(self.series.data.chunks_exact(self.series.stride))
        {
            new[..old.len()].copy_from_slice(old);
        }
        self.series = Series { data, stride };
        self.inputs.reserve(&self.tape, order);
    }

    /// All coefficients of a root that were computed, and zeros after them.
    pub fn root_series(&self, root: usize) -> &[f64] {
        self.series.row(self.tape.roots[root])
    }
}

impl JetEvaluator for Jet {
    fn new(tape: Arc<Tape>, order: usize) -> Self {
        let stride = order + 1;
        Self {
            inputs: Inputs::new(&tape, order),
            branches: Branches::new(&tape),
            series: Series {
                data: vec![0.0; tape.n_registers() * stride],
                stride,
            },
            moved: vec![0.0; tape.n_registers()],
            next_stage: tape.first_stage(),
            tape,
        }
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
        self.series.stride - 1
    }

    fn extend(&mut self, stage: i32) -> Result<(), Fault> {
        check_stage(&self.tape, stage, self.next_stage, self.max_order());
        let tape = &*self.tape;
        for register in 0..tape.ops.len() {
            let op = &tape.ops[register];
            let Some(order) = order_at(stage, tape.leads[register]) else {
                continue;
            };
            let result = if order == 0 {
                value(tape, op, &self.inputs, &mut self.branches, |operand| {
                    self.series.at(operand, 0)
                })
            } else if op.moving {
                coefficient(
                    tape,
                    register as u32,
                    order,
                    &self.inputs,
                    &self.branches,
                    &self.series,
                )
            } else {
                continue;
            };
            self.series.data[register * self.series.stride + order] = result;
        }
        self.next_stage = stage + 1;
        check_roots(tape, stage, &self.inputs, &self.branches, &self.series)
    }

    fn correct(&mut self, stage: i32) -> Result<(), Fault> {
        check_correction(stage, self.next_stage);
        let tape = &*self.tape;
        for &register in &tape.followers {
            let register = register as usize;
            let op = &tape.ops[register];
            let order = stage as usize + tape.leads[register] as usize;
            let place = register * self.series.stride + order;
            let change = change(
                tape,
                register,
                order,
                &self.inputs,
                &self.branches,
                &self.series,
                &self.moved,
            );
            self.moved[register] = change;
            if change != 0.0 {
                if op.code == Code::Input {
                    // The new coefficient itself, without the rounding of old plus change.
                    self.series.data[place] =
                        self.inputs.read(tape.slots[op.extra as usize], order);
                } else {
                    self.series.data[place] += change;
                }
            }
        }
        check_roots(tape, stage, &self.inputs, &self.branches, &self.series)
    }

    fn coefficient(&self, register: Register, order: usize) -> f64 {
        self.series.at(register.0, order)
    }
}

/// Change of coefficient `order` of a register, given those of the registers before it.
fn change(
    tape: &Tape,
    register: usize,
    order: usize,
    inputs: &Inputs,
    branches: &Branches,
    series: &impl Coefficients,
    moved: &[f64],
) -> f64 {
    let op = &tape.ops[register];
    if op.code == Code::Input {
        let new = inputs.read(tape.slots[op.extra as usize], order);
        return new - series.at(register as u32, order);
    }
    let of = |operand: u32| {
        if tape.reads_top(register, operand as usize) {
            moved[operand as usize]
        } else {
            0.0
        }
    };
    if op.operands().all(|operand| of(operand as u32) == 0.0) {
        return 0.0;
    }
    correction(op, register as u32, branches, series, of)
}
