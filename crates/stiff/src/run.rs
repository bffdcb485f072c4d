//! What all methods share: options, counters, why a run ended, save points and callbacks.

use crate::problem::{InputError, Problem, expect_length};
use crate::tolerances::{ASIDE, DEFAULT, FINEST};
use daelight_expr::Fault;
use std::fmt;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// Failures in a row after which a run is given up, whatever the step.
const MAX_FAILURES: u32 = 60;

/// Singular matrices in a row, each with half the step of the last, after which a run is given up.
const MAX_SINGULAR: u32 = 8;

/// Where a run starts: a consistent point.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The time.
    pub t: f64,
    /// The unknowns, which satisfy all constraints.
    pub x: &'a [f64],
    /// Their derivatives, with F(t, x, x') = 0. Those that do not occur serve as a guess.
    pub xp: &'a [f64],
}

/// How a run with variable steps is to be made.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Relative tolerance of every unknown.
    pub rtol: f64,
    /// Absolute tolerances: one for each unknown, or a single one for all.
    pub atol: Vec<f64>,
    /// First step, without sign; chosen from the start if absent.
    pub h0: Option<f64>,
    /// Largest step, without sign.
    pub hmax: Option<f64>,
    /// Most accepted and rejected steps together.
    pub max_steps: usize,
    /// Longest time the run may take.
    pub budget: Option<Duration>,
    /// Times at which the unknowns are kept, in the order of the run.
    pub save_at: Vec<f64>,
    /// Fraction of the tolerance at which the iteration of a step may stop, if not the method's own.
    pub newton_tolerance: Option<f64>,
    /// Stages of Radau: three, or five for fine tolerances at index 1. With five, 4 of 6 runs at index 2 and 3 got stuck.
    pub stages: usize,
    /// Whether steps end on the save points; otherwise the interpolant is evaluated there.
    pub land_on_saves: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rtol: DEFAULT,
            atol: vec![DEFAULT],
            h0: None,
            hmax: None,
            max_steps: 100_000,
            budget: None,
            save_at: Vec::new(),
            newton_tolerance: None,
            stages: 3,
            land_on_saves: false,
        }
    }
}

/// Counts of work, the same on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Accepted steps.
    pub steps: usize,
    /// Those of them that an implicit method took, where series may take others.
    pub implicit_steps: usize,
    /// Steps that were not accepted; for a method alone, those rejected by its error test.
    pub rejected: usize,
    /// Steps of a method whose equations were not solved.
    pub newton_failures: usize,
    /// Evaluations of all equations, or of one order of them in a stage that is being solved.
    pub residuals: usize,
    /// Evaluations of the matrices, those of a monitor included.
    pub jacobians: usize,
    /// Matrices factored; a real and the complex ones of a step together count once.
    pub factorizations: usize,
    /// Iterations of Newton's method within steps.
    pub iterations: usize,
    /// Expansions into series.
    pub jets: usize,
}

impl AddAssign for Statistics {
    fn add_assign(&mut self, more: Self) {
        self.steps += more.steps;
        self.implicit_steps += more.implicit_steps;
        self.rejected += more.rejected;
        self.newton_failures += more.newton_failures;
        self.residuals += more.residuals;
        self.jacobians += more.jacobians;
        self.factorizations += more.factorizations;
        self.iterations += more.iterations;
        self.jets += more.jets;
    }
}

/// Why a run ended. Only [`StopReason::Finished`] is a success.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// The end was reached and every step was solved and accepted.
    Finished,
    /// The observer asked for it.
    Observer,
    /// The start does not satisfy the equations within the tolerance.
    InconsistentStart {
        /// The time of the start.
        t: f64,
        /// The unknown that is farthest off.
        unknown: usize,
        /// By how many tolerances it would have to move.
        excess: f64,
    },
    /// The equations of a step could not be solved, however small the step.
    NewtonFailed {
        /// The last accepted time.
        t: f64,
        /// The last step tried.
        h: f64,
    },
    /// The error test asks for steps that no longer change the time.
    StepTooSmall {
        /// The last accepted time.
        t: f64,
    },
    /// The matrix of the step is singular for a row of shrinking steps.
    SingularMatrix {
        /// The last accepted time.
        t: f64,
    },
    /// An expression has no value at or beyond this point.
    Fault {
        /// The last accepted time.
        t: f64,
        /// The expression.
        fault: Fault,
    },
    /// The callback that projects onto the constraints gave up.
    ProjectionFailed {
        /// The time of the point it was given.
        t: f64,
        /// Its reason.
        reason: String,
    },
    /// A point that was solved for, or came back from the projection, is not finite.
    NotFinite {
        /// The time of the point, which was not accepted.
        t: f64,
    },
    /// The number of steps in [`Options::max_steps`] is used up.
    TooManySteps {
        /// The last accepted time.
        t: f64,
    },
    /// The time in [`Options::budget`] is used up.
    Budget {
        /// The last accepted time.
        t: f64,
    },
}

impl StopReason {
    /// Whether the run did all it was asked for.
    pub fn is_success(&self) -> bool {
        *self == Self::Finished
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "the end was reached"),
            Self::Observer => write!(f, "stopped on request"),
            Self::InconsistentStart { t, unknown, excess } => write!(
                f,
                "the start at t = {t} breaks the equations: unknown {unknown} is off by {excess:.1e} tolerances"
            ),
            Self::NewtonFailed { t, h } => {
                write!(f, "no step from t = {t} could be solved, down to {h:.1e}")
            }
            Self::StepTooSmall { t } => {
                write!(f, "the tolerance asks for vanishing steps at t = {t}")
            }
            Self::SingularMatrix { t } => write!(f, "the matrix is singular at t = {t}"),
            Self::Fault { t, .. } => write!(f, "an expression has no value beyond t = {t}"),
            Self::ProjectionFailed { t, reason } => {
                write!(
                    f,
                    "no point on the constraints was found at t = {t}: {reason}"
                )
            }
            Self::NotFinite { t } => write!(f, "the point at t = {t} is not finite"),
            Self::TooManySteps { t } => write!(f, "the limit of steps was reached at t = {t}"),
            Self::Budget { t } => write!(f, "the time allowed was used up at t = {t}"),
        }
    }
}

/// The solution between two accepted times, as a polynomial.
///
/// In s = (t - end) / h it is the Newton form c_0 + m_0 (c_1 + m_1 (c_2 + ...)) with factors
/// m_i = (s - node_i) / divisor_i.
#[derive(Clone, Copy, Debug)]
pub struct Interpolant<'a> {
    pub(crate) end: f64,
    pub(crate) h: f64,
    pub(crate) nodes: &'a [(f64, f64)],
    /// The coefficients c_0, c_1, ..., one more than nodes, each with a value for every unknown.
    pub(crate) coefficients: &'a [f64],
}

impl Interpolant<'_> {
    fn n(&self) -> usize {
        self.coefficients.len() / (self.nodes.len() + 1)
    }

    /// A copy that outlives the step.
    pub fn to_polynomial(&self) -> Polynomial {
        Polynomial {
            end: self.end,
            h: self.h,
            nodes: self.nodes.to_vec(),
            coefficients: self.coefficients.to_vec(),
        }
    }

    /// The unknowns at time t.
    pub fn value(&self, t: f64, into: &mut [f64]) {
        self.value_at((t - self.end) / self.h, into);
    }

    /// The unknowns at s = (t - end) / h.
    pub(crate) fn value_at(&self, s: f64, into: &mut [f64]) {
        let n = self.n();
        let rows = || self.coefficients.chunks_exact(n.max(1)).rev();
        if let Some(last) = rows().next() {
            into.copy_from_slice(last);
        }
        for (&(node, divisor), row) in self.nodes.iter().rev().zip(rows().skip(1)) {
            let factor = (s - node) / divisor;
            for (value, c) in into.iter_mut().zip(row) {
                *value = *value * factor + c;
            }
        }
    }

    /// One unknown at time t and its derivative there.
    pub fn component(&self, unknown: usize, t: f64) -> (f64, f64) {
        let (n, s) = (self.n(), (t - self.end) / self.h);
        let mut value = self.coefficients[self.nodes.len() * n + unknown];
        let mut slope = 0.0;
        for (order, &(node, divisor)) in self.nodes.iter().enumerate().rev() {
            let factor = (s - node) / divisor;
            slope = slope * factor + value / divisor;
            value = value * factor + self.coefficients[order * n + unknown];
        }
        (value, slope / self.h)
    }
}

/// An [`Interpolant`] that owns its numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Polynomial {
    end: f64,
    h: f64,
    nodes: Vec<(f64, f64)>,
    coefficients: Vec<f64>,
}

impl Polynomial {
    /// What evaluates it.
    pub fn view(&self) -> Interpolant<'_> {
        Interpolant {
            end: self.end,
            h: self.h,
            nodes: &self.nodes,
            coefficients: &self.coefficients,
        }
    }
}

/// An accepted step, as the observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The time at its start.
    pub t_old: f64,
    /// The time at its end.
    pub t: f64,
    /// Its length, negative in a backward run.
    pub h: f64,
    /// The unknowns at its end.
    pub x: &'a [f64],
    /// Their derivatives at its end.
    pub xp: &'a [f64],
    /// The unknowns in between.
    pub interpolant: Interpolant<'a>,
}

/// What the observer wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Go on.
    Continue,
    /// End the run here.
    Stop,
}

/// Brings (x, x') at a time onto all constraints, or says why it cannot.
pub type Projection<'a> = dyn FnMut(f64, &mut [f64], &mut [f64]) -> Result<(), String> + 'a;

/// Looks at an accepted step.
pub type Observer<'a> = dyn FnMut(&Step<'_>) -> Control + 'a;

/// Callbacks of a run.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Called for each accepted point before anything else sees it.
    pub projection: Option<&'a mut Projection<'a>>,
    /// Called after each accepted step; this is the place for a monitor of singularities.
    pub observer: Option<&'a mut Observer<'a>>,
}

/// Points that were kept.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Samples {
    n: usize,
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Samples {
    /// Room for some points of n unknowns.
    pub(crate) fn with_capacity(n: usize, n_points: usize) -> Self {
        Self {
            n,
            times: Vec::with_capacity(n_points),
            values: Vec::with_capacity(n * n_points),
        }
    }

    /// Keeps a point.
    pub(crate) fn push(&mut self, t: f64, x: &[f64]) {
        self.times.push(t);
        self.values.extend_from_slice(x);
    }

    /// The times, in the order of the run.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The unknowns at one of the times.
    pub fn point(&self, at: usize) -> &[f64] {
        &self.values[at * self.n..(at + 1) * self.n]
    }
}

/// What a run gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Why it ended.
    pub reason: StopReason,
    /// The last accepted time.
    pub t: f64,
    /// The unknowns there.
    pub x: Vec<f64>,
    /// Their derivatives there.
    pub xp: Vec<f64>,
    /// The points asked for, as far as the run came.
    pub saved: Samples,
    /// What it took.
    pub statistics: Statistics,
}

/// Why a step was not proposed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Failure {
    /// The error test.
    Error,
    /// Newton's method did not converge.
    Newton,
    /// The matrix is singular.
    Singular,
    /// An expression has no value.
    Fault(Fault),
}

/// Proposes steps. It knows nothing of the end, of budgets, of output, or of who looks at the solution.
///
/// The caller limits a step, asks for an [`attempt`](Self::attempt), may bring its end onto constraints, may look at the
/// polynomial in between, and then either [`advance`](Self::advance)s or [`refuse`](Self::refuse)s.
pub trait Stepper {
    /// The time reached.
    fn time(&self) -> f64;
    /// The unknowns there, and their derivatives.
    fn point(&self) -> (&[f64], &[f64]);
    /// The step that it would take next, with its sign.
    fn step(&self) -> f64;
    /// Refuses a start that one step of Newton's method would move by more than the tolerance, (22).
    fn check_start(&mut self) -> Option<StopReason>;
    /// Solves a step that ends at a time, and estimates its error. If that fails, [`step`](Self::step) is what to try next.
    fn attempt(&mut self, step: f64, to: f64) -> Result<(), Failure>;
    /// The unknowns at the end of the step that was solved, and their derivatives.
    fn end_mut(&mut self) -> (&mut [f64], &mut [f64]);
    /// What is left of a change of the end of the step that was solved, as its matrix damps errors, (34).
    fn damp(&mut self, change: &mut [f64]);
    /// The step that was solved, with the end as it is now.
    fn solved(&mut self) -> Step<'_>;
    /// Moves on to the end of the step, and chooses the next one.
    fn advance(&mut self);
    /// Stays where it was; the next step is to be this long.
    fn refuse(&mut self, step: f64);
    /// Takes neither the matrices of an earlier point nor the rate of an earlier iteration for the next step.
    fn distrust(&mut self);
    /// What it took so far.
    fn statistics(&self) -> &Statistics;
}

/// What a stepper needs to know of a run.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) rtol: f64,
    atol: Vec<f64>,
    h0: Option<f64>,
    hmax: f64,
    newton_tolerance: Option<f64>,
    /// 1 forward, -1 backward.
    pub(crate) direction: f64,
    pub(crate) span: f64,
}

impl Setting {
    /// Checks everything that the caller gives.
    pub(crate) fn new(
        problem: &Problem,
        start: Start<'_>,
        end: f64,
        options: &Options,
    ) -> Result<Self, InputError> {
        let n = problem.n();
        expect_length("start values", n, start.x.len())?;
        expect_length("start derivatives", n, start.xp.len())?;
        if options.atol.len() != 1 {
            expect_length("absolute tolerances", n, options.atol.len())?;
        }
        let all_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let direction = if end < start.t { -1.0 } else { 1.0 };
        let rises = |pair: &[f64]| direction * (pair[1] - pair[0]) >= 0.0;
        for (is_good, what) in [
            (start.t.is_finite() && end.is_finite(), "the time"),
            (
                all_finite(start.x) && all_finite(start.xp),
                "the start point",
            ),
            (
                options.rtol.is_finite() && options.rtol >= FINEST && options.rtol < 1.0,
                "the relative tolerance",
            ),
            (
                options.atol.iter().all(|&a| positive(a)),
                "the absolute tolerance",
            ),
            (options.h0.is_none_or(positive), "the first step"),
            (options.hmax.is_none_or(positive), "the largest step"),
            (
                options.newton_tolerance.is_none_or(positive),
                "the tolerance of the iteration",
            ),
            (
                all_finite(&options.save_at) && options.save_at.windows(2).all(rises),
                "the list of save points",
            ),
        ] {
            if !is_good {
                return Err(InputError::BadNumber(what));
            }
        }
        let span = (end - start.t).abs();
        Ok(Self {
            rtol: options.rtol,
            atol: options.atol.clone(),
            h0: options.h0,
            hmax: options.hmax.unwrap_or(span).min(span),
            newton_tolerance: options.newton_tolerance,
            direction,
            span,
        })
    }

    /// The absolute tolerance of an unknown.
    pub(crate) fn atol(&self, unknown: usize) -> f64 {
        self.atol[if self.atol.len() == 1 { 0 } else { unknown }]
    }

    /// The fraction of the tolerance at which an iteration may stop: as asked or as the method says, but above rounding.
    pub(crate) fn newton_tolerance(&self, of_method: f64, rtol: f64) -> f64 {
        let found = self.newton_tolerance.unwrap_or(of_method);
        found.max(10.0 * f64::EPSILON / rtol)
    }

    /// The first step, with its sign: as asked, or so that no unknown of index 1 moves by more than half its tolerance, (18).
    pub(crate) fn first_step(&self, problem: &Problem, start: Start<'_>, rtol: f64) -> f64 {
        let fastest = (0..start.x.len())
            .filter(|&j| problem.indices()[j] == 1)
            .map(|j| {
                let scale = rtol * (start.x[j].abs() + self.atol(j) / self.rtol);
                (start.xp[j] / scale).abs()
            })
            .fold(0.0, f64::max);
        let found = self.h0.unwrap_or((ASIDE * self.span).min(0.5 / fastest));
        found.min(self.hmax) * self.direction
    }
}

/// Judges the correction that the equations ask for at the start, (22).
pub(crate) fn inconsistent(t: f64, correction: &[f64], weights: &[f64]) -> Option<StopReason> {
    let excess = largest(correction, weights, 0.0);
    let unknown = (0..weights.len())
        .find(|&j| (correction[j] * weights[j]).abs() == excess)
        .unwrap_or(0);
    (excess > 1.0).then_some(StopReason::InconsistentStart { t, unknown, excess })
}

/// Counts failures in a row, and says when it is time to give up.
#[derive(Clone, Copy, Default, Debug)]
pub struct Failures {
    n_failures: u32,
    n_singular: u32,
}

impl Failures {
    /// A failure at t, where the next step to be tried is h and the run is `span` long; the reason to give up.
    pub fn add(&mut self, failure: Failure, t: f64, h: f64, span: f64) -> Option<StopReason> {
        self.n_failures += 1;
        self.n_singular = match failure {
            Failure::Singular => self.n_singular + 1,
            _ => 0,
        };
        let smallest = 4.0 * f64::EPSILON * t.abs().max(ASIDE * ASIDE * span);
        if h.abs() > smallest && self.n_failures < MAX_FAILURES && self.n_singular < MAX_SINGULAR {
            return None;
        }
        Some(match failure {
            Failure::Error => StopReason::StepTooSmall { t },
            Failure::Newton => StopReason::NewtonFailed { t, h },
            Failure::Singular => StopReason::SingularMatrix { t },
            Failure::Fault(fault) => StopReason::Fault { t, fault },
        })
    }
}

/// The step to try from t when h would be the natural one, and the time where it lands.
pub fn limited(t: f64, h: f64, target: f64) -> (f64, f64) {
    let left = target - t;
    // A little longer rather than a tiny step at the end; two halves rather than a long and a short one.
    if left.abs() <= 1.01 * h.abs() {
        (left, target)
    } else if left.abs() < 2.0 * h.abs() {
        (0.5 * left, t + 0.5 * left)
    } else {
        // Where the time has few digits left for so short a step, the step is what they make of it: a polynomial whose ends are a tenth of
        // the step off has slopes that are.
        let to = t + h;
        let is_rounded = (to - t - h).abs() > f64::EPSILON.sqrt() * h.abs();
        (if is_rounded { to - t } else { h }, to)
    }
}

/// A run that nobody but its callbacks looks at: the one loop for functions of others.
pub(crate) struct Course<'o, 'h> {
    options: &'o Options,
    hooks: &'o mut Hooks<'h>,
    end: f64,
    setting: Setting,
    saved: Samples,
    point: Vec<f64>,
    deadline: Option<Instant>,
}

impl<'o, 'h> Course<'o, 'h> {
    pub(crate) fn new(
        start: Start<'_>,
        end: f64,
        setting: Setting,
        options: &'o Options,
        hooks: &'o mut Hooks<'h>,
    ) -> Self {
        let n = start.x.len();
        let mut course = Self {
            options,
            hooks,
            end,
            saved: Samples::with_capacity(n, options.save_at.len()),
            point: vec![0.0; n],
            deadline: options
                .budget
                .and_then(|budget| Instant::now().checked_add(budget)),
            setting,
        };
        while let Some(time) = course.next_save()
            && course.setting.direction * (time - start.t) <= 0.0
        {
            course.saved.push(time, start.x);
        }
        course
    }

    /// Steps to the end, or to where something ends the run.
    pub(crate) fn run(mut self, stepper: &mut dyn Stepper) -> Run {
        let reason = if stepper.time() == self.end {
            StopReason::Finished
        } else {
            let refused = stepper.check_start();
            refused.unwrap_or_else(|| self.integrate(stepper))
        };
        let (x, xp) = stepper.point();
        Run {
            reason,
            t: stepper.time(),
            x: x.to_vec(),
            xp: xp.to_vec(),
            saved: self.saved,
            statistics: *stepper.statistics(),
        }
    }

    fn integrate(&mut self, stepper: &mut dyn Stepper) -> StopReason {
        let mut failures = Failures::default();
        loop {
            let t = stepper.time();
            if let Some(reason) = self.exhausted(t, stepper.statistics()) {
                return reason;
            }
            let (step, to) = self.limited(t, stepper.step());
            if let Err(failure) = stepper.attempt(step, to) {
                match failures.add(failure, t, stepper.step(), self.setting.span) {
                    Some(reason) => return reason,
                    None => continue,
                }
            }
            failures = Failures::default();
            if let Err(reason) = self.project(to, stepper.end_mut()) {
                return reason;
            }
            let control = self.look(&stepper.solved());
            stepper.advance();
            if control == Control::Stop {
                return StopReason::Observer;
            }
            if to == self.end {
                return StopReason::Finished;
            }
        }
    }

    fn next_save(&self) -> Option<f64> {
        self.options.save_at.get(self.saved.times.len()).copied()
    }

    /// The step to try from t when h would be the natural one, and the time where it lands.
    fn limited(&self, t: f64, h: f64) -> (f64, f64) {
        let direction = self.setting.direction;
        let target = match self.next_save() {
            Some(time) if self.options.land_on_saves && direction * (self.end - time) > 0.0 => time,
            _ => self.end,
        };
        limited(t, h.abs().min(self.setting.hmax) * direction, target)
    }

    /// Whether the run may go on from t.
    fn exhausted(&self, t: f64, counts: &Statistics) -> Option<StopReason> {
        if counts.steps + counts.rejected + counts.newton_failures >= self.options.max_steps {
            return Some(StopReason::TooManySteps { t });
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some(StopReason::Budget { t }),
            _ => None,
        }
    }

    /// Projects a point that passed the error test, and makes sure that it consists of numbers.
    fn project(&mut self, t: f64, (x, xp): (&mut [f64], &mut [f64])) -> Result<(), StopReason> {
        if let Some(projection) = self.hooks.projection.as_mut() {
            projection(t, x, xp).map_err(|reason| StopReason::ProjectionFailed { t, reason })?;
        }
        if x.iter().chain(xp.iter()).all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(StopReason::NotFinite { t })
        }
    }

    /// Keeps points, and asks the observer.
    fn look(&mut self, step: &Step<'_>) -> Control {
        while let Some(time) = self.next_save()
            && self.setting.direction * (time - step.t) <= 0.0
        {
            if time == step.t {
                self.saved.push(time, step.x);
            } else {
                step.interpolant.value(time, &mut self.point);
                self.saved.push(time, &self.point);
            }
        }
        match self.hooks.observer.as_mut() {
            Some(observer) => observer(step),
            None => Control::Continue,
        }
    }
}

/// The largest weighted value, at least `least`; NaN if there is one.
pub(crate) fn largest(values: &[f64], weights: &[f64], least: f64) -> f64 {
    values.iter().zip(weights).fold(least, |most, (v, w)| {
        let size = (v * w).abs();
        if size > most || size.is_nan() {
            size
        } else {
            most
        }
    })
}
