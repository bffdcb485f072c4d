//! Jets of a tape by plain interpretation, one coefficient of everything at a time.

use crate::fault::{Fault, trace};
use crate::forcing::{Forcing, response, response_to};
use crate::inputs::Inputs;
use crate::recurrence::{Coefficients, coefficient, correction, summed};
use crate::scalar::Scalar;
use crate::tape::{Code, Register, Tape};
use crate::value::{Branches, value};
use daelight_dd::Dd;
use std::sync::Arc;

/// What every back end for jets offers, in doubles unless another [`Scalar`] is named.
///
/// Stages are evaluated one after the other from [`Tape::first_stage`]. At stage k a root of lead l
/// gets coefficient k + l; for a tape without leads the stage is the order. Before stage k the
/// caller sets the coefficients that it reads: x_{k+l} for a variable and x_{k+l+s} for its s-th
/// derivative. A stage may be evaluated again after inputs changed, which discards later ones.
pub trait JetEvaluator<S: Scalar = f64> {
    /// Room for coefficients 0 to `order` of every register.
    fn new(tape: Arc<Tape>, order: usize) -> Self
    where
        Self: Sized;

    /// The tape that is evaluated.
    fn tape(&self) -> &Tape;

    /// The coefficients of the variables, the parameters and the time.
    fn inputs(&self) -> &Inputs<S>;

    /// The inputs, to be written.
    fn inputs_mut(&mut self) -> &mut Inputs<S>;

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
    fn coefficient(&self, register: Register, order: usize) -> S;

    /// Coefficient `order` of a root.
    fn root(&self, root: usize, order: usize) -> S {
        self.coefficient(self.tape().root(root), order)
    }

    /// The newest coefficient of every root at a stage; 0 for roots that have not begun.
    fn stage_roots(&self, stage: i32, into: &mut [S]) {
        for (root, slot) in into.iter_mut().enumerate().take(self.tape().n_roots()) {
            *slot = match order_at(stage, self.tape().root_leads[root]) {
                Some(order) => self.root(root, order),
                None => S::ZERO,
            };
        }
    }

    /// Coefficient `order` of the quantity whose sign decides a branch.
    fn switching(&self, branch: usize, order: usize) -> S {
        let (left, right) = self.compared(branch, order);
        left - right
    }

    /// Coefficients `order` of the two sides whose comparison decides a branch; the second is 0 for abs and sign.
    fn compared(&self, branch: usize, order: usize) -> (S, S) {
        let op = &self.tape().ops[self.tape().branches[branch] as usize];
        let right = match op.b {
            crate::tape::NONE => S::ZERO,
            right => self.coefficient(Register(right), order),
        };
        (self.coefficient(Register(op.a), order), right)
    }
}

/// Jets in doubles by plain interpretation: the oracle of the faster back ends.
pub type Jet = PlainJet<f64>;

/// Jets in double-double: the same recurrences with twice the digits, for a second look.
pub type DdJet = PlainJet<Dd>;

/// Jets by plain interpretation, in any [`Scalar`].
///
/// What convolutions read is stored `[register][order]`: both factors are then contiguous
/// (docs/theory/jets.md, section 8, has the measurement).
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
pub struct PlainJet<S> {
    tape: Arc<Tape>,
    inputs: Inputs<S>,
    branches: Branches,
    series: Series<S>,
    /// Changes of the registers during a correction.
    moved: Vec<S>,
    next_stage: i32,
}

/// All coefficients, in two layouts with room for `stride` orders.
///
/// What recurrences sum over is stored `[register][order]`, so that both factors of a convolution are
/// contiguous. All else is read at one order at a time and stored `[order][register]`: a stage of a
/// large tape then touches a few rows and not a line of every register.
#[derive(Clone, Debug)]
struct Series<S> {
    data: Vec<S>,
    stride: usize,
    tracks: Vec<Track>,
}

/// Where the coefficients of a register are: the first one, and how far it is to the next.
#[derive(Clone, Copy, Debug)]
struct Track {
    start: u32,
    step: u32,
}

impl<S: Scalar> Series<S> {
    fn new(tape: &Tape, stride: usize) -> Self {
        let n_registers = tape.n_registers();
        let length = n_registers * stride;
        assert!(
            u32::try_from(length).is_ok(),
            "fewer than 2^32 coefficients"
        );
        let mut is_summed = vec![false; n_registers];
        for (register, op) in tape.ops.iter().enumerate().filter(|(_, op)| op.moving) {
            for register in summed(op, register as u32) {
                is_summed[register as usize] = true;
            }
        }
        let n_summed = is_summed.iter().filter(|&&is_summed| is_summed).count();
        let (mut next_row, mut next_place) = (0, n_summed * stride);
        let tracks = is_summed
            .into_iter()
            .map(|is_summed| {
                let (next, width, step) = if is_summed {
                    (&mut next_row, stride, 1)
                } else {
                    (&mut next_place, 1, n_registers - n_summed)
                };
                *next += width;
                Track {
                    start: (*next - width) as u32,
                    step: step as u32,
                }
            })
            .collect();
        Self {
            data: vec![S::ZERO; length],
            stride,
            tracks,
        }
    }

    #[inline(always)]
    fn place(&self, register: u32, order: usize) -> usize {
        let track = self.tracks[register as usize];
        track.start as usize + track.step as usize * order
    }

    fn set(&mut self, register: usize, order: usize, coefficient: S) {
        let place = self.place(register as u32, order);
        self.data[place] = coefficient;
    }

    /// The coefficients of a register that a recurrence sums over.
    #[inline(always)]
    fn row(&self, register: u32) -> &[S] {
        let track = self.tracks[register as usize];
        debug_assert_eq!(track.step, 1, "{register} is not summed over");
        &self.data[track.start as usize..][..self.stride]
    }
}

impl<S: Scalar> Coefficients for Series<S> {
    type Scalar = S;

    #[inline(always)]
    fn at(&self, register: u32, order: usize) -> S {
        self.data[self.place(register, order)]
    }

    #[inline(always)]
    fn dot(&self, a: u32, b: u32, first: usize, last: usize, k: usize) -> S {
        if last < first {
            return S::ZERO;
        }
        let left = &self.row(a)[first..=last];
        let right = &self.row(b)[k - last..=k - first];
        let mut sum = S::ZERO;
        for (&x, &y) in left.iter().zip(right.iter().rev()) {
            sum += x * y;
        }
        sum
    }

    #[inline(always)]
    fn slope_dot(&self, a: u32, b: u32, last: usize, k: usize) -> S {
        let left = &self.row(a)[1..=last];
        let right = &self.row(b)[k - last..k];
        let mut sum = S::ZERO;
        let mut i = 1.0;
        for (&x, &y) in left.iter().zip(right.iter().rev()) {
            sum += S::from(i) * x * y;
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
pub(crate) fn check_roots<C: Coefficients>(
    tape: &Tape,
    stage: i32,
    inputs: &Inputs<C::Scalar>,
    branches: &Branches,
    series: &C,
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
                |register, order| series.at(register as u32, order).to_f64(),
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

impl<S: Scalar> PlainJet<S> {
    /// Makes room for a higher order; what was computed stays.
    pub fn reserve(&mut self, order: usize) {
        let stride = order + 1;
        if stride <= self.series.stride {
            return;
        }
        let old = std::mem::replace(&mut self.series, Series::new(&self.tape, stride));
        for register in 0..self.tape.n_registers() {
            for order in 0..old.stride {
                let coefficient = old.at(register as u32, order);
                self.series.set(register, order, coefficient);
            }
        }
        self.inputs.reserve(&self.tape, order);
    }

    /// How all roots follow a function of time: their derivatives by it, at the values of the last stage 0.
    pub fn response(&mut self, forcing: &Forcing, into: &mut [S]) {
        let (tape, moved) = (&*self.tape, &mut self.moved);
        response(tape, forcing, &self.branches, &self.series, moved, into);
    }

    /// How all roots follow changes of some registers, in ascending order, at the values of the last stage 0.
    pub fn response_to(&mut self, changes: &[(Register, S)], into: &mut [S]) {
        let (tape, moved) = (&*self.tape, &mut self.moved);
        response_to(tape, changes, &self.branches, &self.series, moved, into);
    }

    /// A coefficient of a register.
    pub fn register(&self, register: Register, order: usize) -> S {
        self.series.at(register.0, order)
    }

    /// All coefficients of a root that were computed, and zeros after them.
    pub fn root_series(&self, root: usize) -> Vec<S> {
        (0..self.series.stride)
            .map(|order| self.root(root, order))
            .collect()
    }
}

impl<S: Scalar> JetEvaluator<S> for PlainJet<S> {
    fn new(tape: Arc<Tape>, order: usize) -> Self {
        Self {
            inputs: Inputs::new(&tape, order),
            branches: Branches::new(&tape),
            series: Series::new(&tape, order + 1),
            moved: vec![S::ZERO; tape.n_registers()],
            next_stage: tape.first_stage(),
            tape,
        }
    }

    fn tape(&self) -> &Tape {
        &self.tape
    }

    fn inputs(&self) -> &Inputs<S> {
        &self.inputs
    }

    fn inputs_mut(&mut self) -> &mut Inputs<S> {
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
            self.series.set(register, order, result);
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
            if change != S::ZERO {
                let coefficient = if op.code == Code::Input {
                    // The new coefficient itself, without the rounding of old plus change.
                    self.inputs.read(tape.slots[op.extra as usize], order)
                } else {
                    self.series.at(register as u32, order) + change
                };
                self.series.set(register, order, coefficient);
            }
        }
        check_roots(tape, stage, &self.inputs, &self.branches, &self.series)
    }

    fn coefficient(&self, register: Register, order: usize) -> S {
        self.series.at(register.0, order)
    }
}

/// Change of coefficient `order` of a register, given those of the registers before it.
fn change<C: Coefficients>(
    tape: &Tape,
    register: usize,
    order: usize,
    inputs: &Inputs<C::Scalar>,
    branches: &Branches,
    series: &C,
    moved: &[C::Scalar],
) -> C::Scalar {
    let zero = C::Scalar::ZERO;
    let op = &tape.ops[register];
    if op.code == Code::Input {
        let new = inputs.read(tape.slots[op.extra as usize], order);
        return new - series.at(register as u32, order);
    }
    let of = |operand: u32| {
        if tape.reads_top(register, operand as usize) {
            moved[operand as usize]
        } else {
            zero
        }
    };
    if op.operands().all(|operand| of(operand as u32) == zero) {
        return zero;
    }
    correction(op, register as u32, branches, series, of)
}
