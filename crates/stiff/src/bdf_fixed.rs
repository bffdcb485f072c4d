//! Backward differentiation of constant order and step: to compare forms of one model, whatever their index.
//!
//! x'_i = (a_0 x_i + a_1 x_{i-1} + ... + a_k x_{i-k}) / h is put into F(t_i, x_i, x'_i) = 0 and solved by Newton's method, (19) of
//! `docs/theory/implicit.md`. The matrix (a_0 / h) E + B is the worse conditioned the higher the index; algebraic equations
//! multiplied by h^-p mend some of that, (20).

use crate::pencil::{Pencil, RealFactor};
use crate::problem::{InputError, Problem, expect_length};
use crate::run::{Control, Samples, Statistics, StopReason, largest};
use crate::tolerances::{ASIDE, NEWTON};
use daelight_linalg::LinalgError;

/// The highest order that is stable.
const MAX_ORDER: usize = 6;

/// Most iterations of a step.
pub(crate) const MAX_ITERATIONS: usize = 25;

/// Increments that no longer shrink are rounding up to this size: derivatives of high order are sums of large terms.
const STAGNANT: f64 = 1e-5;

/// The coefficients a_0, a_1, ... of each order.
const COEFFICIENTS: [&[f64]; MAX_ORDER] = [
    &[1.0, -1.0],
    &[1.5, -2.0, 0.5],
    &[11.0 / 6.0, -3.0, 1.5, -1.0 / 3.0],
    &[25.0 / 12.0, -4.0, 3.0, -4.0 / 3.0, 0.25],
    &[137.0 / 60.0, -5.0, 5.0, -10.0 / 3.0, 1.25, -0.2],
    &[2.45, -6.0, 7.5, -20.0 / 3.0, 3.75, -1.2, 1.0 / 6.0],
];

/// How a run with constant steps is to be made.
#[derive(Clone, PartialEq, Debug)]
pub struct FixedOptions {
    /// The order, 1 to 6; 1 is implicit Euler.
    pub order: usize,
    /// The step, negative for a backward run.
    pub step: f64,
    /// Number of steps after the start values.
    pub n_steps: usize,
    /// Algebraic equations are multiplied by |h|^-scale.
    pub scale: f64,
    /// Newton's method stops when the last increment, relative to max(1, |x|) and times |h|^(index - 1), is below this.
    pub newton_tolerance: f64,
    /// The conditioning is looked at in every step that is a multiple of this; 0 for never.
    pub condition_every: usize,
}

impl Default for FixedOptions {
    fn default() -> Self {
        Self {
            order: 1,
            step: ASIDE,
            n_steps: 1000,
            scale: 0.0,
            newton_tolerance: NEWTON,
            condition_every: 0,
        }
    }
}

/// Condition numbers of the discretised Jacobian in the 1-norm, estimated.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Conditioning {
    /// As it stands.
    pub plain: f64,
    /// With the algebraic equations scaled.
    pub scaled: f64,
}

/// What a run with constant steps gave.
#[derive(Clone, PartialEq, Debug)]
pub struct FixedRun {
    /// Why it ended.
    pub reason: StopReason,
    /// Start values and all steps.
    pub points: Samples,
    /// The derivatives of the formula at the last point; empty without a step.
    pub xp: Vec<f64>,
    /// The worst condition numbers seen, if any were looked at.
    pub conditioning: Option<Conditioning>,
    /// Steps whose iterations ended in rounding, above the tolerance of Newton's method.
    pub n_stagnant: usize,
    /// What it took.
    pub statistics: Statistics,
}

/// What the steps of a run took, and what was seen of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub statistics: Statistics,
    pub conditioning: Option<Conditioning>,
    pub n_stagnant: usize,
}

/// Runs with constant order and step from as many start values as the order asks for.
///
/// `history` holds x at t, t + h, ..., oldest first. The observer sees each time and point.
pub fn bdf_fixed(
    problem: &mut Problem,
    t: f64,
    history: &[&[f64]],
    options: &FixedOptions,
    observer: &mut dyn FnMut(f64, &[f64]) -> Control,
) -> Result<FixedRun, InputError> {
    let points = start_points(problem.n(), t, history, options)?;
    let n = problem.n();
    let pencil = problem.pencil();
    let mut method = Method {
        factor: RealFactor::new(&pencil).map_err(InputError::Layout)?,
        pencil,
        problem,
        options,
        x: vec![0.0; n],
        xp: vec![0.0; n],
        past: vec![0.0; n],
        increment: vec![0.0; n],
        weights: vec![0.0; n],
        work: Work::default(),
    };
    Ok(march(&mut method, t, points, options, observer))
}

/// Checks the numbers of a run and keeps its start values.
pub(crate) fn start_points(
    n: usize,
    t: f64,
    history: &[&[f64]],
    options: &FixedOptions,
) -> Result<Samples, InputError> {
    if !(1..=MAX_ORDER).contains(&options.order) {
        return Err(InputError::BadNumber("the order"));
    }
    if !(options.step.is_finite() && options.step != 0.0 && t.is_finite()) {
        return Err(InputError::BadNumber("the step"));
    }
    let is_tolerance = options.newton_tolerance > 0.0 && options.newton_tolerance < 1.0;
    if !(options.scale.is_finite() && is_tolerance) {
        return Err(InputError::BadNumber("the scale or the tolerance"));
    }
    expect_length("start points", options.order, history.len())?;
    let mut points = Samples::with_capacity(n, options.order + options.n_steps);
    for (i, x) in history.iter().enumerate() {
        expect_length("start values", n, x.len())?;
        if !x.iter().all(|value| value.is_finite()) {
            return Err(InputError::BadNumber("a start value"));
        }
        points.push(t + i as f64 * options.step, x);
    }
    Ok(points)
}

/// What solves one step of a run with constant steps.
pub(crate) trait Stepper {
    /// Solves the step that follows the points, the `number`-th of the run.
    fn step(
        &mut self,
        points: &Samples,
        number: usize,
        t_old: f64,
        t_new: f64,
    ) -> Result<(), StopReason>;

    /// The point that the last step led to.
    fn x(&self) -> &[f64];

    /// The derivatives of the formula there.
    fn rates(&self) -> &[f64];

    /// What all steps took.
    fn work(&self) -> Work;
}

/// Makes all steps, or as many as can be made.
pub(crate) fn march(
    stepper: &mut impl Stepper,
    t: f64,
    mut points: Samples,
    options: &FixedOptions,
    observer: &mut dyn FnMut(f64, &[f64]) -> Control,
) -> FixedRun {
    let mut reason = StopReason::Finished;
    for step in 1..=options.n_steps {
        let t_new = t + (options.order - 1 + step) as f64 * options.step;
        if let Err(why) = stepper.step(&points, step, t_new - options.step, t_new) {
            reason = why;
            break;
        }
        points.push(t_new, stepper.x());
        if observer(t_new, stepper.x()) == Control::Stop {
            reason = StopReason::Observer;
            break;
        }
    }
    let work = stepper.work();
    FixedRun {
        reason,
        points,
        xp: match work.statistics.steps {
            0 => Vec::new(),
            _ => stepper.rates().to_vec(),
        },
        conditioning: work.conditioning,
        n_stagnant: work.n_stagnant,
        statistics: work.statistics,
    }
}

/// Whether an increment is no smaller than the one before it because of rounding.
pub(crate) fn is_rounding(size: f64, before: f64) -> bool {
    size <= STAGNANT && size > 0.25 * before
}

/// a_0 / h, with the rest of the formula, (a_1 x_{i-1} + ... + a_k x_{i-k}) / h, in `past`, and in `x` the point that the
/// polynomial through the last k points leads to.
pub(crate) fn predict(
    points: &Samples,
    options: &FixedOptions,
    past: &mut [f64],
    x: &mut [f64],
) -> f64 {
    let (order, h) = (options.order, options.step);
    let coefficients = COEFFICIENTS[order - 1];
    let last = points.times().len() - 1;
    past.fill(0.0);
    x.fill(0.0);
    let mut binomial = 1.0;
    for back in 1..=order {
        binomial *= (order + 1 - back) as f64 / back as f64;
        let sign = if back % 2 == 1 { 1.0 } else { -1.0 };
        for (j, &value) in points.point(last + 1 - back).iter().enumerate() {
            past[j] += coefficients[back] / h * value;
            x[j] += sign * binomial * value;
        }
    }
    coefficients[0] / h
}

/// Why a step was not solved when a factorisation or a solve failed.
pub(crate) fn unsolved(why: &LinalgError, t: f64, h: f64) -> StopReason {
    match why {
        LinalgError::Singular { .. } | LinalgError::StructurallySingular { .. } => {
            StopReason::SingularMatrix { t }
        }
        _ => StopReason::NewtonFailed { t, h },
    }
}

struct Method<'p> {
    problem: &'p mut Problem,
    pencil: Pencil,
    factor: RealFactor,
    options: &'p FixedOptions,
    x: Vec<f64>,
    xp: Vec<f64>,
    /// (a_1 x_{i-1} + ... + a_k x_{i-k}) / h.
    past: Vec<f64>,
    increment: Vec<f64>,
    weights: Vec<f64>,
    work: Work,
}

impl Stepper for Method<'_> {
    fn x(&self) -> &[f64] {
        &self.x
    }

    fn rates(&self) -> &[f64] {
        &self.xp
    }

    fn work(&self) -> Work {
        self.work
    }

    fn step(
        &mut self,
        points: &Samples,
        number: usize,
        t_old: f64,
        t_new: f64,
    ) -> Result<(), StopReason> {
        let h = self.options.step;
        let leading = predict(points, self.options, &mut self.past, &mut self.x);
        let gone = |why: LinalgError| unsolved(&why, t_old, h);
        let mut before = f64::INFINITY;
        for iteration in 1..=MAX_ITERATIONS {
            for ((xp, x), past) in self.xp.iter_mut().zip(&self.x).zip(&self.past) {
                *xp = leading * x + past;
            }
            let fault = |fault| StopReason::Fault { t: t_old, fault };
            self.work.statistics.iterations += 1;
            self.work.statistics.residuals += 1;
            self.work.statistics.jacobians += 1;
            self.problem
                .residuals(t_new, &self.x, &self.xp, &mut self.increment)
                .map_err(fault)?;
            self.problem
                .linearise(t_new, &self.x, &self.xp, &mut self.pencil)
                .map_err(fault)?;
            let every = self.options.condition_every;
            if iteration == 1 && every > 0 && number.is_multiple_of(every) {
                self.look_at_condition(leading).map_err(gone)?;
            }
            self.scale();
            self.work.statistics.factorizations += 1;
            self.factor.factor(&self.pencil, leading).map_err(gone)?;
            self.factor
                .solve(&self.pencil, &mut self.increment)
                .map_err(gone)?;
            for (j, increment) in self.increment.iter().enumerate() {
                self.x[j] -= increment;
                let exponent = self.problem.indices()[j] as i32 - 1;
                self.weights[j] = h.abs().powi(exponent) / self.x[j].abs().max(1.0);
            }
            let size = largest(&self.increment, &self.weights, 0.0);
            let is_rounding = is_rounding(size, before);
            before = size;
            if size <= self.options.newton_tolerance || is_rounding {
                if size > self.options.newton_tolerance {
                    self.work.n_stagnant += 1;
                }
                for ((xp, x), past) in self.xp.iter_mut().zip(&self.x).zip(&self.past) {
                    *xp = leading * x + past;
                }
                self.work.statistics.steps += 1;
                return Ok(());
            }
            if !size.is_finite() {
                break;
            }
        }
        self.work.statistics.newton_failures += 1;
        Err(StopReason::NewtonFailed { t: t_old, h })
    }
}

impl Method<'_> {
    /// Scales the algebraic equations, (20).
    fn scale(&mut self) {
        let factor = self.options.step.abs().powf(-self.options.scale);
        let problem = &*self.problem;
        self.pencil.scale_rows(|row| {
            if problem.is_algebraic(row) {
                factor
            } else {
                1.0
            }
        });
    }

    fn look_at_condition(&mut self, leading: f64) -> Result<(), LinalgError> {
        self.pencil.scale_rows(|_| 1.0);
        self.factor.factor(&self.pencil, leading)?;
        let plain = self.factor.condition()?;
        self.scale();
        self.factor.factor(&self.pencil, leading)?;
        let scaled = self.factor.condition()?;
        self.work.statistics.factorizations += 2;
        let worst = self.work.conditioning.get_or_insert_default();
        worst.plain = worst.plain.max(plain);
        worst.scaled = worst.scaled.max(scaled);
        Ok(())
    }
}
