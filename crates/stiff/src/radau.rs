//! Radau IIA of orders 5 and 9 for F(t, x, x') = 0, up to index 3.
//!
//! Collocation at three or five points, solved by simplified Newton iteration in the eigenvectors of the inverse of its
//! matrix: one real and one or two complex systems per iteration, (1) to (7) of `docs/theory/implicit.md`. The logic of the step size and of the
//! convergence test is that of RADAU5 (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8), with
//! weights that know the index of each unknown.

use crate::collocation::{Coefficients, FIVE, THREE};
use crate::pencil::{ComplexFactor, Pencil, RealFactor};
use crate::problem::{InputError, Problem};
use crate::run::{
    Course, Failure, Hooks, Interpolant, Options, Run, Setting, Start, Statistics, Step, Stepper,
    StopReason, inconsistent, largest,
};
use crate::stages::{At, Bundle};
use daelight_expr::Fault;
use daelight_linalg::LinalgError;

/// The highest index of an unknown for which the method converges, (10).
const HIGHEST_INDEX: usize = 3;

/// Most iterations of a step.
const MAX_ITERATIONS: u32 = 12;

/// The matrices are evaluated anew for the next step if Newton contracts by less than this.
const GOOD_RATE: f64 = 1e-3;

/// An error below this says nothing of the next one.
const LEAST_ERROR: f64 = 1e-2;

/// Steps are chosen smaller than the error estimate asks for by this factor.
const SAFETY: f64 = 0.9;

/// Bounds of the quotient of a step and the next: at most 8 times as long, at least a fifth.
const LEAST_QUOTIENT: f64 = 0.125;
const MOST_QUOTIENT: f64 = 5.0;

/// A factorisation is kept if the next step would be longer by at most this factor.
const KEEP: f64 = 1.2;

/// Integrates from a consistent start to `end`, forward or backward.
///
/// Unknowns up to index 3 are taken as they stand. Without a projection, velocities and forces of an index-3 model are less
/// accurate than positions, (10).
pub fn radau(
    problem: &mut Problem,
    start: Start<'_>,
    end: f64,
    options: &Options,
    hooks: &mut Hooks<'_>,
) -> Result<Run, InputError> {
    let setting = Setting::new(problem, start, end, options)?;
    let mut stepper = Radau::new(problem, start, end, options)?;
    Ok(Course::new(start, end, setting, options, hooks).run(&mut stepper))
}

/// How the iteration of a step ended without failing.
struct Converged {
    iterations: u32,
    rate: f64,
}

/// Why the iteration of a step failed, and by which factor the next step should be shorter.
struct Stuck {
    failure: Failure,
    factor: f64,
}

impl Stuck {
    fn half(failure: Failure) -> Self {
        Self {
            failure,
            factor: 0.5,
        }
    }
}

/// A step that was solved.
#[derive(Clone, Copy, Default)]
struct Trial {
    error: f64,
    /// 1 over one more than the number of stages: the error is of that order in the step.
    exponent: f64,
    iterations: u32,
    rate: f64,
}

impl Trial {
    /// Whether the error test is passed; NaN does not pass.
    fn is_good(&self) -> bool {
        self.error < 1.0
    }

    /// By how much the next step should be shorter, from this step's error alone; first term of (11).
    fn quotient(&self) -> f64 {
        let most = f64::from(2 * MAX_ITERATIONS);
        let safety = SAFETY * (most + 1.0) / (most + f64::from(self.iterations));
        (self.error.powf(self.exponent) / safety).clamp(LEAST_QUOTIENT, MOST_QUOTIENT)
    }
}

/// Length and error of the last accepted step.
struct Pace {
    h: f64,
    error: f64,
}

impl Pace {
    /// By how much the step should be shorter when errors go on as they did; second term of (11).
    fn trend(
        &self,
        h: f64,
        Trial {
            error, exponent, ..
        }: Trial,
    ) -> f64 {
        let growth = (error * error / self.error).powf(exponent);
        (self.h / h * growth / SAFETY).clamp(LEAST_QUOTIENT, MOST_QUOTIENT)
    }
}

/// Where the matrices E and B were evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matrices {
    Absent,
    /// At an earlier point.
    Old,
    /// At the present point.
    Current,
}

/// Radau IIA as a stepper.
pub struct Radau<'p> {
    problem: &'p mut Problem,
    setting: Setting,
    statistics: Statistics,
    pencil: Pencil,
    real: RealFactor,
    complex: Vec<ComplexFactor>,
    method: &'static Coefficients,
    bundle: Bundle,
    /// Nodes of the collocation polynomial in s = (t - end) / h, beginning with the end.
    nodes: Vec<(f64, f64)>,
    t: f64,
    x: Vec<f64>,
    xp: Vec<f64>,
    /// The tolerance of the error estimate, which is of lower order than the method, (9).
    rtol: f64,
    /// Transformed stages W, and stages Z = X - x.
    w: Vec<Vec<f64>>,
    z: Vec<Vec<f64>>,
    /// Residuals of the stages, then their transforms.
    g: Vec<Vec<f64>>,
    /// A stage; the end of a step that was solved.
    stage: Vec<f64>,
    stage_xp: Vec<f64>,
    error: Vec<f64>,
    work: Vec<f64>,
    /// What errors are multiplied with to be compared with 1: |h|^(index - 1) over the tolerance.
    weights: Vec<f64>,
    /// What rounding of the equations leaves of each unknown, (13a), and the increments below which it has converged.
    noise: Vec<f64>,
    increments: Vec<f64>,
    /// Newton form of the collocation polynomial of the last accepted step, and its length.
    coefficients: Vec<f64>,
    last_h: Option<f64>,
    /// theta / (1 - theta) of the last iteration.
    contraction: f64,
    matrices: Matrices,
    /// The step for which the matrices are factored.
    factored: Option<f64>,
    /// The step to try next.
    h: f64,
    /// Length and error of the last accepted step, and whether an attempt failed since.
    last: Option<Pace>,
    was_rejected: bool,
    /// The step that was solved: what it found, its length and its polynomial.
    trial: Trial,
    solved_h: f64,
    solved_t: f64,
    solved: Vec<f64>,
}

impl<'p> Radau<'p> {
    /// Begins at a point that satisfies the equations, for a run up to `end`.
    pub fn new(
        problem: &'p mut Problem,
        start: Start<'_>,
        end: f64,
        options: &Options,
    ) -> Result<Self, InputError> {
        problem.expect_index(HIGHEST_INDEX)?;
        let setting = Setting::new(problem, start, end, options)?;
        let n = problem.n();
        let pencil = problem.pencil();
        let method = match options.stages {
            3 => &THREE,
            5 => &FIVE,
            _ => return Err(InputError::BadNumber("the number of stages")),
        };
        let rtol = match problem.highest_index() {
            1 => 0.1 * setting.rtol.powf(method.exponent),
            _ => setting.rtol,
        };
        let zeros = || vec![0.0; n];
        let stages = || vec![zeros(); method.n()];
        let complex = method.pairs.iter().map(|_| ComplexFactor::new(&pencil));
        Ok(Self {
            real: RealFactor::new(&pencil).map_err(InputError::Layout)?,
            complex: complex
                .collect::<Result<_, _>>()
                .map_err(InputError::Layout)?,
            nodes: method.c.iter().rev().map(|c| (c - 1.0, 1.0)).collect(),
            bundle: Bundle::new(method, problem),
            method,
            pencil,
            h: setting.first_step(problem, start, rtol),
            problem,
            setting,
            statistics: Statistics::default(),
            t: start.t,
            x: start.x.to_vec(),
            xp: start.xp.to_vec(),
            rtol,
            w: stages(),
            z: stages(),
            g: stages(),
            stage: zeros(),
            stage_xp: zeros(),
            error: zeros(),
            work: zeros(),
            weights: zeros(),
            noise: zeros(),
            increments: zeros(),
            coefficients: vec![0.0; (method.n() + 1) * n],
            last_h: None,
            contraction: 1.0,
            matrices: Matrices::Absent,
            factored: None,
            last: None,
            was_rejected: false,
            trial: Trial::default(),
            solved_h: 0.0,
            solved_t: start.t,
            solved: vec![0.0; (method.n() + 1) * n],
        })
    }

    /// Evaluates the matrices at the present point.
    fn linearise(&mut self) -> Result<(), Fault> {
        self.statistics.jacobians += 1;
        self.factored = None;
        self.problem
            .linearise(self.t, &self.x, &self.xp, &mut self.pencil)?;
        self.matrices = Matrices::Current;
        Ok(())
    }

    /// Solves the stages of a step and estimates its error.
    fn try_step(&mut self, h: f64, may_filter: bool) -> Result<Trial, Stuck> {
        if self.matrices == Matrices::Absent {
            // They are evaluated at an accepted point: if that fails, no shorter step helps.
            self.linearise().map_err(|fault| Stuck {
                failure: Failure::Fault(fault),
                factor: 0.0,
            })?;
        }
        self.weigh(h);
        if self.factored != Some(h) {
            self.factor(h).map_err(|_| Stuck::half(Failure::Singular))?;
        }
        let tolerance = self.newton_tolerance(h);
        let unknowns = self.weights.iter().zip(&self.noise);
        for (increment, (weight, noise)) in self.increments.iter_mut().zip(unknowns) {
            *increment = (tolerance / weight).max(*noise);
        }
        let outcome = self.solve_stages(h).and_then(|newton| {
            let error = self
                .estimate(h, may_filter)
                .map_err(|_| Stuck::half(Failure::Singular))?;
            Ok(Trial {
                exponent: 1.0 / (self.method.n() + 1) as f64,
                error,
                iterations: newton.iterations,
                rate: newton.rate,
            })
        });
        // Matrices of an earlier point are not tried twice.
        let has_failed = !outcome.as_ref().is_ok_and(Trial::is_good);
        if has_failed && self.matrices == Matrices::Old {
            self.matrices = Matrices::Absent;
        }
        outcome
    }

    /// Weights for a step of length h, (9).
    fn weigh(&mut self, h: f64) {
        let ratio = self.rtol / self.setting.rtol;
        let powers = [1.0, h.abs(), h * h];
        for (j, weight) in self.weights.iter_mut().enumerate() {
            let tolerance = self.rtol * self.x[j].abs() + ratio * self.setting.atol(j);
            *weight = powers[self.problem.indices()[j] - 1] / tolerance;
        }
    }

    /// Factors both matrices for a step of length h.
    fn factor(&mut self, h: f64) -> Result<(), LinalgError> {
        self.statistics.factorizations += 1;
        self.factored = None;
        let weights = &self.weights;
        let gamma = self.method.gamma / h;
        self.pencil.equilibrate(gamma, |j| 1.0 / weights[j]);
        self.real.factor(&self.pencil, gamma)?;
        for (complex, (alpha, beta)) in self.complex.iter_mut().zip(self.method.pairs) {
            complex.factor(&self.pencil, alpha / h, beta / h)?;
        }
        self.factored = Some(h);
        self.measure_noise()
    }

    /// What rounding of the terms of the equations makes of each unknown, as far as that is worth it, (13a).
    fn measure_noise(&mut self) -> Result<(), LinalgError> {
        self.pencil.rounding(&self.x, &self.xp, &mut self.noise);
        self.real.solve(&self.pencil, &mut self.noise)?;
        for (j, noise) in self.noise.iter_mut().enumerate() {
            // One rounding for each of some eight operations. No more than the tolerance: what the iteration leaves is looked at beside it, (R24).
            let asked = self.setting.rtol * self.x[j].abs() + self.setting.atol(j);
            *noise = (8.0 * noise.abs()).min(asked);
        }
        Ok(())
    }

    /// Stops the iteration when what is left is below this, in units of the weights, (13).
    fn newton_tolerance(&self, h: f64) -> f64 {
        let found = if self.problem.highest_index() == 1 {
            // Three stages: as in RADAU5. Five: what is left is a tenth of a tolerance. A whole one added up over the steps: the
            // pollution problem was off by 50 tolerances at 1e-10.
            match self.method.n() {
                3 => 0.03_f64.min(self.rtol.sqrt()),
                _ => 0.03_f64.min(0.1 * self.setting.rtol / self.rtol),
            }
        } else {
            0.01_f64.min(h.abs() / self.setting.span)
        };
        self.setting.newton_tolerance(found, self.rtol)
    }

    /// Iterates the stages of a step of length h to convergence, (4) to (7).
    fn solve_stages(&mut self, h: f64) -> Result<Converged, Stuck> {
        self.guess(h);
        let mut contraction = self.contraction.max(f64::EPSILON).powf(0.8);
        let mut rate = GOOD_RATE;
        let (mut old_size, mut old_quotient) = (0.0, 0.0);
        for iteration in 1..=MAX_ITERATIONS {
            self.statistics.iterations += 1;
            let size = self.iterate(h)?;
            if iteration > 1 && !self.is_noise() {
                let quotient: f64 = size / old_size;
                rate = if iteration == 2 {
                    quotient
                } else {
                    (quotient * old_quotient).sqrt()
                };
                old_quotient = quotient;
                if rate >= 0.99 || rate.is_nan() {
                    return Err(Stuck::half(Failure::Newton));
                }
                contraction = rate / (1.0 - rate);
                let left = (MAX_ITERATIONS - iteration) as i32;
                let expected = contraction * size * rate.powi(left);
                if expected >= 1.0 && left > 0 {
                    let excess = expected.min(20.0);
                    return Err(Stuck {
                        failure: Failure::Newton,
                        factor: 0.8 * excess.powf(-1.0 / f64::from(4 + left)),
                    });
                }
            }
            old_size = size.max(f64::MIN_POSITIVE);
            if contraction * size <= 1.0 || iteration > 1 && self.is_noise() {
                if self.problem.highest_index() > 1 {
                    // What is left in a constraint is divided by h in the velocities, in every step, (13).
                    self.statistics.iterations += 1;
                    self.iterate(h)?;
                }
                self.contraction = contraction;
                return Ok(Converged {
                    iterations: iteration,
                    rate,
                });
            }
        }
        Err(Stuck::half(Failure::Newton))
    }

    /// The stages that the last step's polynomial predicts, in transformed form.
    fn guess(&mut self, h: f64) {
        let Some(last_h) = self.last_h else {
            for w in &mut self.w {
                w.fill(0.0);
            }
            return;
        };
        let polynomial = Interpolant {
            end: self.t,
            h: last_h,
            nodes: &self.nodes,
            coefficients: &self.coefficients,
        };
        for (z, c) in self.z.iter_mut().zip(self.method.c) {
            polynomial.value_at(c * h / last_h, z);
            for (z, x) in z.iter_mut().zip(&self.x) {
                *z -= x;
            }
        }
        transform(self.method.t_inverse, &self.z, &mut self.w);
    }

    /// Whether no increment of the last iteration is more than rounding.
    fn is_noise(&self) -> bool {
        let is_small = |g: &Vec<f64>| {
            g.iter()
                .zip(&self.noise)
                .all(|(g, noise)| g.abs() <= *noise)
        };
        self.g.iter().all(is_small)
    }

    /// One iteration; returns the size of the increment, 1 for what may be left.
    fn iterate(&mut self, h: f64) -> Result<f64, Stuck> {
        self.statistics.residuals += self.method.n();
        let at = At {
            t: self.t,
            h,
            x: &self.x,
        };
        self.bundle
            .right_hand_sides(self.problem, at, &self.w, &mut self.g)
            .map_err(|fault| Stuck::half(Failure::Fault(fault)))?;
        let mut outcome = self.real.solve(&self.pencil, &mut self.g[0]);
        for (complex, pair) in self.complex.iter_mut().zip(self.g[1..].chunks_exact_mut(2)) {
            if let [re, im] = pair {
                outcome = outcome.and_then(|()| complex.solve(&self.pencil, re, im));
            }
        }
        if outcome.is_err() {
            return Err(Stuck::half(Failure::Singular));
        }
        let mut size = 0.0;
        for (w, g) in self.w.iter_mut().zip(&self.g) {
            for (g, most) in g.iter().zip(&self.increments) {
                let part = (g / most).abs();
                if part > size || part.is_nan() {
                    size = part;
                }
            }
            for (w, g) in w.iter_mut().zip(g) {
                *w += g;
            }
        }
        Ok(size)
    }

    /// The weighted error of the step, (8); filtered a second time where the first estimate is not to be trusted.
    fn estimate(&mut self, h: f64, may_filter: bool) -> Result<f64, LinalgError> {
        transform(self.method.t, &self.w, &mut self.z);
        let weights = self.method.estimate;
        let combine = |z: &[Vec<f64>], j: usize| {
            z.iter().zip(weights).map(|(z, e)| e * z[j]).sum::<f64>() / h
        };
        for j in 0..self.x.len() {
            self.work[j] = self.xp[j] + combine(&self.z, j);
        }
        self.pencil.e_times(&self.work, &mut self.error);
        self.real.solve(&self.pencil, &mut self.error)?;
        let error = largest(&self.error, &self.weights, f64::MIN_POSITIVE);
        if error < 1.0 || !may_filter {
            return Ok(error);
        }
        for j in 0..self.x.len() {
            self.stage[j] = self.x[j] + self.error[j];
            self.work[j] = -combine(&self.z, j);
        }
        self.statistics.residuals += 1;
        let outcome = self
            .problem
            .residuals(self.t, &self.stage, &self.work, &mut self.error);
        if outcome.is_err() {
            return Ok(error);
        }
        self.real.solve(&self.pencil, &mut self.error)?;
        Ok(largest(&self.error, &self.weights, f64::MIN_POSITIVE))
    }

    /// The end of the step whose stages were solved.
    fn propose(&mut self, h: f64) {
        let last = self.method.n() - 1;
        let slopes = self.method.slopes(last);
        for j in 0..self.x.len() {
            self.stage[j] = self.x[j] + self.z[last][j];
            let sum: f64 = self
                .w
                .iter()
                .zip(slopes)
                .map(|(w, slope)| slope * w[j])
                .sum();
            self.stage_xp[j] = sum / h;
        }
    }
}

impl Stepper for Radau<'_> {
    fn time(&self) -> f64 {
        self.t
    }

    fn point(&self) -> (&[f64], &[f64]) {
        (&self.x, &self.xp)
    }

    fn step(&self) -> f64 {
        self.h
    }

    fn check_start(&mut self) -> Option<StopReason> {
        let h = self.h;
        self.statistics.residuals += 1;
        let outcome = self
            .problem
            .residuals(self.t, &self.x, &self.xp, &mut self.error)
            .and_then(|()| self.linearise());
        if let Err(fault) = outcome {
            return Some(StopReason::Fault { t: self.t, fault });
        }
        self.weigh(h);
        // A matrix that cannot be factored or solved with shows in the first step too.
        self.factor(h).ok()?;
        self.real.solve(&self.pencil, &mut self.error).ok()?;
        inconsistent(self.t, &self.error, &self.weights)
    }

    fn attempt(&mut self, step: f64, to: f64) -> Result<(), Failure> {
        let may_filter = self.last.is_none() || self.was_rejected;
        let trial = match self.try_step(step, may_filter) {
            Ok(trial) => trial,
            Err(stuck) => {
                self.was_rejected = true;
                self.h = stuck.factor * step;
                self.statistics.newton_failures += 1;
                return Err(stuck.failure);
            }
        };
        if !trial.is_good() {
            self.was_rejected = true;
            self.h = match self.last {
                None => 0.1 * step,
                Some(_) => step / trial.quotient(),
            };
            self.statistics.rejected += 1;
            return Err(Failure::Error);
        }
        self.propose(step);
        self.trial = trial;
        (self.solved_h, self.solved_t) = (step, to);
        Ok(())
    }

    fn end_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.stage, &mut self.stage_xp)
    }

    fn damp(&mut self, change: &mut [f64]) {
        if let Some(h) = self.factored {
            self.real.damp(&self.pencil, self.method.gamma / h, change);
        }
    }

    fn solved(&mut self) -> Step<'_> {
        let (n, n_stages) = (self.x.len(), self.method.n());
        // Divided differences over the points 1, ..., c2, c1, 0, all unknowns of a row at a time.
        let point = |k: usize| match n_stages.checked_sub(k + 1) {
            Some(stage) => self.method.c[stage],
            None => 0.0,
        };
        let (first, others) = self.solved.split_at_mut(n);
        for ((first, end), x) in first.iter_mut().zip(&self.stage).zip(&self.x) {
            *first = end - x;
        }
        let later = self.z[..n_stages - 1].iter().rev();
        for (row, z) in others.chunks_exact_mut(n.max(1)).zip(later) {
            row.copy_from_slice(z);
        }
        self.solved[n_stages * n..].fill(0.0);
        for level in 1..=n_stages {
            for k in (level..=n_stages).rev() {
                let width = point(k - level) - point(k);
                let (before, row) = self.solved[(k - 1) * n..(k + 1) * n].split_at_mut(n);
                for (difference, before) in row.iter_mut().zip(before) {
                    *difference = (*before - *difference) / width;
                }
            }
        }
        self.solved[..n].copy_from_slice(&self.stage);
        Step {
            t_old: self.t,
            t: self.solved_t,
            h: self.solved_h,
            x: &self.stage,
            xp: &self.stage_xp,
            interpolant: Interpolant {
                end: self.solved_t,
                h: self.solved_h,
                nodes: &self.nodes,
                coefficients: &self.solved,
            },
        }
    }

    fn advance(&mut self) {
        self.statistics.steps += 1;
        let step = self.solved_h;
        std::mem::swap(&mut self.x, &mut self.stage);
        std::mem::swap(&mut self.xp, &mut self.stage_xp);
        std::mem::swap(&mut self.coefficients, &mut self.solved);
        self.t = self.solved_t;
        self.last_h = Some(step);
        let mut quotient = self.trial.quotient();
        if let Some(last) = &self.last {
            quotient = quotient.max(last.trend(step, self.trial));
        }
        let mut next = step / quotient;
        if self.was_rejected && next.abs() > step.abs() {
            next = step;
        }
        // A step cut short to land somewhere does not bind the next one.
        if step.abs() < self.h.abs() && quotient <= 1.0 {
            next = next.abs().max(self.h.abs()) * self.setting.direction;
        }
        if self.trial.rate > GOOD_RATE {
            self.matrices = Matrices::Absent;
        } else {
            self.matrices = Matrices::Old;
            if next.abs() >= step.abs() && next.abs() <= KEEP * step.abs() {
                next = step;
            }
        }
        self.last = Some(Pace {
            h: step,
            error: self.trial.error.max(LEAST_ERROR),
        });
        self.was_rejected = false;
        self.h = next;
    }

    fn refuse(&mut self, step: f64) {
        self.statistics.rejected += 1;
        self.was_rejected = true;
        self.h = step.abs() * self.setting.direction;
    }

    fn distrust(&mut self) {
        if self.matrices == Matrices::Old {
            self.matrices = Matrices::Absent;
        }
        self.contraction = 1.0;
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

/// into = matrix * from, for each unknown.
fn transform(matrix: &[&[f64]], from: &[Vec<f64>], into: &mut [Vec<f64>]) {
    for (row, into) in matrix.iter().zip(into) {
        into.fill(0.0);
        for (factor, from) in row.iter().zip(from) {
            for (into, from) in into.iter_mut().zip(from) {
                *into += factor * from;
            }
        }
    }
}
