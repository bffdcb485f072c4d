//! Backward differentiation of order 1 to 5 with variable step for F(t, x, x') = 0.
//!
//! Backward differences on a grid of equal steps, interpolated to a new grid when the step changes (Shampine and Reichelt,
//! The MATLAB ODE suite, 1997), with their modified formulas; (14) to (17) of `docs/theory/implicit.md`. The iteration keeps
//! its matrix while the leading coefficient stays within a factor, as DASSL and IDA do.

use crate::pencil::{Pencil, RealFactor};
use crate::problem::{InputError, Problem};
use crate::run::{
    Course, Failure, Hooks, Interpolant, Options, Run, Setting, Start, Statistics, Step, Stepper,
    StopReason, inconsistent, largest,
};

/// The highest order.
const MAX_ORDER: usize = 5;

/// Most iterations of a step.
const MAX_ITERATIONS: usize = 4;

/// Iterations stop when what is left is below this fraction of the tolerance.
///
/// Of 0.02, 0.05, 0.1 and 0.3 the one with the fewest evaluations of F at equal error on akzo-nobel, 1e-4 to 1e-9.
const NEWTON_TOLERANCE: f64 = 0.1;

/// An increment below this fraction of what may be left ends the iteration, whatever the rate.
const NEGLIGIBLE: f64 = 1e-3;

/// The iteration is never believed to contract faster than this: a single lucky step proves nothing.
const LEAST_CONTRACTION: f64 = 0.05;

/// The matrix is kept while the leading coefficient over the step stays within this factor.
const KEEP: f64 = 5.0 / 3.0;

/// Accepted steps after which E and B are evaluated anew when the matrix is factored anyway.
const MAX_AGE: usize = 20;

/// A longer step is taken only if it is longer by this factor: changing it costs a factorisation.
const WORTHWHILE: f64 = 1.2;

/// The modification of each order's formula, chosen by Shampine and Reichelt for the largest step that keeps stability.
const KAPPA: [f64; MAX_ORDER + 1] = [0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0];

/// Sums of 1/i up to each order.
const GAMMA: [f64; MAX_ORDER + 1] = [0.0, 1.0, 1.5, 11.0 / 6.0, 25.0 / 12.0, 137.0 / 60.0];

/// Nodes of the interpolant: equal steps back from the end.
const NODES: [(f64, f64); MAX_ORDER] = [
    (0.0, 1.0),
    (-1.0, 2.0),
    (-2.0, 3.0),
    (-3.0, 4.0),
    (-4.0, 5.0),
];

/// The factor of the correction in the error of a formula, (16).
fn error_constant(order: usize) -> f64 {
    KAPPA[order.min(MAX_ORDER)] * GAMMA[order.min(MAX_ORDER)] + 1.0 / (order as f64 + 1.0)
}

/// Integrates from a consistent start to `end`, forward or backward.
///
/// Takes unknowns of index 1; of index 2 as well if there is a projection, which then brings each accepted point onto the
/// hidden constraints.
pub fn bdf(
    problem: &mut Problem,
    start: Start<'_>,
    end: f64,
    options: &Options,
    hooks: &mut Hooks<'_>,
) -> Result<Run, InputError> {
    let setting = Setting::new(problem, start, end, options)?;
    let projects = hooks.projection.is_some();
    let mut stepper = Bdf::new(problem, start, end, options, projects)?;
    Ok(Course::new(start, end, setting, options, hooks).run(&mut stepper))
}

/// Backward differentiation of variable order and step as a stepper.
pub struct Bdf<'p> {
    problem: &'p mut Problem,
    setting: Setting,
    statistics: Statistics,
    pencil: Pencil,
    factor: RealFactor,
    n: usize,
    t: f64,
    x: Vec<f64>,
    xp: Vec<f64>,
    order: usize,
    /// Backward differences 0 to order + 2 on a grid of step h, row by row.
    differences: Vec<f64>,
    h: f64,
    /// Accepted steps since step or order changed.
    n_equal: usize,
    /// The leading coefficient for which the matrix was factored, if there is a factorisation.
    factored: Option<f64>,
    /// The leading coefficient of the last step tried.
    used: Option<f64>,
    /// Accepted steps since E and B were evaluated; `None` if they never were.
    age: Option<usize>,
    /// theta / (1 - theta) as last seen with the present matrix.
    contraction: Option<f64>,
    predicted: Vec<f64>,
    /// h x' as predicted.
    rate: Vec<f64>,
    correction: Vec<f64>,
    increment: Vec<f64>,
    weights: Vec<f64>,
    /// Two copies of the differences while the grid changes.
    work: Vec<f64>,
    /// The step that was solved: where it ends, the point there, the differences there and its error.
    solved_t: f64,
    end: Vec<f64>,
    end_xp: Vec<f64>,
    solved: Vec<f64>,
    error: f64,
    safety: f64,
}

impl<'p> Bdf<'p> {
    /// Begins at a point that satisfies the equations, for a run up to `end`.
    ///
    /// Unknowns of index 2 are taken if the caller `projects` every point onto the constraints.
    pub fn new(
        problem: &'p mut Problem,
        start: Start<'_>,
        end: f64,
        options: &Options,
        projects: bool,
    ) -> Result<Self, InputError> {
        let setting = Setting::new(problem, start, end, options)?;
        problem.expect_index(if projects { 2 } else { 1 })?;
        let n = problem.n();
        let pencil = problem.pencil();
        let zeros = || vec![0.0; n];
        let h = setting.first_step(problem, start, setting.rtol);
        let mut differences = vec![0.0; (MAX_ORDER + 3) * n];
        for j in 0..n {
            differences[j] = start.x[j];
            differences[n + j] = h * start.xp[j];
        }
        Ok(Self {
            factor: RealFactor::new(&pencil).map_err(InputError::Layout)?,
            pencil,
            problem,
            setting,
            statistics: Statistics::default(),
            n,
            t: start.t,
            x: start.x.to_vec(),
            xp: start.xp.to_vec(),
            order: 1,
            solved: differences.clone(),
            differences,
            h,
            n_equal: 0,
            factored: None,
            used: None,
            age: None,
            contraction: None,
            predicted: zeros(),
            rate: zeros(),
            correction: zeros(),
            increment: zeros(),
            weights: zeros(),
            work: vec![0.0; (MAX_ORDER + 1) * n],
            solved_t: start.t,
            end: zeros(),
            end_xp: zeros(),
            error: 0.0,
            safety: 1.0,
        })
    }

    fn row(&self, order: usize) -> &[f64] {
        &self.differences[order * self.n..(order + 1) * self.n]
    }

    /// Prediction of x and of h x' for the correction 0, (14).
    fn predict(&mut self) {
        let n = self.n;
        self.predicted.copy_from_slice(&self.differences[..n]);
        self.rate.fill(0.0);
        for order in 1..=self.order {
            let row = &self.differences[order * n..(order + 1) * n];
            for ((x, rate), d) in self.predicted.iter_mut().zip(&mut self.rate).zip(row) {
                *x += d;
                *rate += GAMMA[order] * d;
            }
        }
    }

    /// Weights from the predicted or the corrected values, (9).
    fn weigh(&mut self, from_prediction: bool) {
        let values = if from_prediction {
            &self.predicted
        } else {
            &self.x
        };
        for (j, weight) in self.weights.iter_mut().enumerate() {
            let tolerance = self.setting.rtol * values[j].abs() + self.setting.atol(j);
            let lift = if self.problem.indices()[j] > 1 {
                self.h.abs()
            } else {
                1.0
            };
            *weight = lift / tolerance;
        }
    }

    /// The leading coefficient of x', (15).
    fn leading(&self) -> f64 {
        (1.0 - KAPPA[self.order]) * GAMMA[self.order] / self.h
    }

    /// Makes sure that there is a matrix that fits well enough.
    fn prepare(&mut self, t_new: f64) -> Result<(), Failure> {
        let leading = self.leading();
        if self.used != Some(leading) {
            // The rate was seen with another coefficient.
            self.contraction = None;
            self.used = Some(leading);
        }
        let fits = |old: f64| {
            let ratio = leading / old;
            ratio < KEEP && ratio > 1.0 / KEEP
        };
        if self.age.is_some() && self.factored.is_some_and(fits) {
            return Ok(());
        }
        if self.age.is_none_or(|age| age > MAX_AGE) {
            for (xp, rate) in self.increment.iter_mut().zip(&self.rate) {
                *xp = rate / self.h;
            }
            self.statistics.jacobians += 1;
            self.age = None;
            self.problem
                .linearise(t_new, &self.predicted, &self.increment, &mut self.pencil)
                .map_err(Failure::Fault)?;
            self.age = Some(0);
        }
        self.statistics.factorizations += 1;
        self.factored = None;
        self.contraction = None;
        let weights = &self.weights;
        self.pencil.equilibrate(leading, |j| 1.0 / weights[j]);
        self.factor
            .factor(&self.pencil, leading)
            .map_err(|_| Failure::Singular)?;
        self.factored = Some(leading);
        Ok(())
    }

    /// Solves for the correction; leaves x and x' of the new point in place. Returns the number of iterations.
    fn solve(&mut self, t_new: f64) -> Result<usize, Failure> {
        self.prepare(t_new)?;
        let leading = self.leading();
        let factored = self.factored.unwrap_or(leading);
        // Increments of a matrix for another coefficient, corrected as in DASSL.
        let adjust = 2.0 / (1.0 + leading / factored);
        let tolerance = self
            .setting
            .newton_tolerance(NEWTON_TOLERANCE, self.setting.rtol);
        self.correction.fill(0.0);
        let (mut old_size, mut first_size) = (0.0, 0.0);
        for iteration in 1..=MAX_ITERATIONS {
            self.statistics.iterations += 1;
            self.statistics.residuals += 1;
            for j in 0..self.n {
                let d = self.correction[j];
                self.increment[j] = self.predicted[j] + d;
                self.work[j] = self.rate[j] / self.h + leading * d;
            }
            let (residual, xp) = self.work[..2 * self.n].split_at_mut(self.n);
            xp.copy_from_slice(residual);
            self.problem
                .residuals(t_new, &self.increment, xp, residual)
                .map_err(Failure::Fault)?;
            for (into, value) in self.increment.iter_mut().zip(residual.iter()) {
                *into = -adjust * value;
            }
            self.factor
                .solve(&self.pencil, &mut self.increment)
                .map_err(|_| Failure::Singular)?;
            for (d, increment) in self.correction.iter_mut().zip(&self.increment) {
                *d += increment;
            }
            let size = largest(&self.increment, &self.weights, 0.0);
            // So small an increment shows no rate: it is noise, or the prediction was that good.
            if size <= NEGLIGIBLE * tolerance {
                return Ok(iteration);
            }
            if iteration == 1 {
                first_size = size;
            } else {
                let rate = (size / first_size).powf(1.0 / (iteration - 1) as f64);
                if rate >= 0.9 || rate.is_nan() || size > 2.0 * old_size {
                    return Err(Failure::Newton);
                }
                self.contraction = Some((rate / (1.0 - rate)).max(LEAST_CONTRACTION));
            }
            old_size = size;
            if self.contraction.is_some_and(|c| c * size <= tolerance) {
                return Ok(iteration);
            }
        }
        Err(Failure::Newton)
    }

    /// Shortens the step.
    fn shrink(&mut self, factor: f64) {
        self.change_step(factor);
        self.h *= factor;
    }

    /// Moves the differences to a grid whose step is longer by a factor, (17).
    fn change_step(&mut self, factor: f64) {
        let (n, order) = (self.n, self.order);
        let to = step_matrix(order, factor);
        let from = step_matrix(order, 1.0);
        self.work.fill(0.0);
        for (row, into) in self
            .work
            .chunks_exact_mut(n.max(1))
            .take(order + 1)
            .enumerate()
        {
            for k in 0..=order {
                let entry: f64 = (0..=order).map(|i| to[k][i] * from[i][row]).sum();
                for (into, d) in into.iter_mut().zip(&self.differences[k * n..(k + 1) * n]) {
                    *into += entry * d;
                }
            }
        }
        self.differences[..(order + 1) * n].copy_from_slice(&self.work[..(order + 1) * n]);
        self.n_equal = 0;
    }

    /// Chooses order and step for the next steps.
    fn adapt(&mut self, error: f64, safety: f64) {
        let order = self.order;
        if self.statistics.steps == 1 {
            // The first step was chosen without any knowledge of the second derivative.
            let factor = (safety / error.sqrt()).min(1e3);
            if factor > WORTHWHILE {
                self.shrink(factor);
            }
            return;
        }
        if self.n_equal <= order {
            return;
        }
        self.weigh(false);
        let error_of = |row: usize, order: usize| {
            let size = largest(self.row(row), &self.weights, f64::MIN_POSITIVE);
            (error_constant(order) * size).powf(-1.0 / (order as f64 + 1.0))
        };
        let mut factor = error.powf(-1.0 / (order as f64 + 1.0));
        let mut best = order;
        if order > 1 {
            let lower = error_of(order, order - 1);
            if lower > factor {
                (factor, best) = (lower, order - 1);
            }
        }
        if order < MAX_ORDER {
            let higher = error_of(order + 2, order + 1);
            if higher > factor {
                (factor, best) = (higher, order + 1);
            }
        }
        let factor = (safety * factor).min(10.0);
        if best != order {
            self.order = best;
            self.n_equal = 0;
        }
        if !(0.9..WORTHWHILE).contains(&factor) {
            self.shrink(factor);
        }
    }
}

impl Stepper for Bdf<'_> {
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
        let fault = |t, fault| Some(StopReason::Fault { t, fault });
        self.statistics.residuals += 1;
        self.statistics.jacobians += 1;
        self.statistics.factorizations += 1;
        let (t, x, xp) = (self.t, &self.x, &self.xp);
        if let Err(why) = self.problem.residuals(t, x, xp, &mut self.increment) {
            return fault(t, why);
        }
        if let Err(why) = self.problem.linearise(t, x, xp, &mut self.pencil) {
            return fault(t, why);
        }
        self.weigh(false);
        let (leading, weights) = (self.leading(), &self.weights);
        self.pencil.equilibrate(leading, |j| 1.0 / weights[j]);
        // A matrix that cannot be factored or solved with shows in the first step too.
        self.factor.factor(&self.pencil, leading).ok()?;
        self.age = Some(0);
        self.factored = Some(leading);
        self.factor.solve(&self.pencil, &mut self.increment).ok()?;
        inconsistent(t, &self.increment, &self.weights)
    }

    fn attempt(&mut self, step: f64, to: f64) -> Result<(), Failure> {
        if step != self.h {
            self.change_step(step / self.h);
            self.h = step;
        }
        self.predict();
        self.weigh(true);
        let mut solved = self.solve(to);
        if solved == Err(Failure::Newton) && self.age != Some(0) {
            // With matrices of an earlier point, try again with fresh ones before giving up the step.
            self.age = None;
            solved = self.solve(to);
        }
        let iterations = match solved {
            Ok(iterations) => iterations,
            Err(failure) => {
                // The matrices belong to the prediction of the longer step.
                self.age = None;
                self.shrink(0.25);
                self.statistics.newton_failures += 1;
                return Err(failure);
            }
        };
        let error = error_constant(self.order)
            * largest(&self.correction, &self.weights, f64::MIN_POSITIVE);
        let most = 2 * MAX_ITERATIONS;
        let safety = 0.9 * (most + 1) as f64 / (most + iterations) as f64;
        if error > 1.0 || error.is_nan() {
            let exponent = -1.0 / (self.order as f64 + 1.0);
            self.shrink((safety * error.powf(exponent)).max(0.2));
            self.statistics.rejected += 1;
            return Err(Failure::Error);
        }
        let leading = self.leading();
        for j in 0..self.n {
            self.end[j] = self.predicted[j] + self.correction[j];
            self.end_xp[j] = self.rate[j] / self.h + leading * self.correction[j];
        }
        (self.error, self.safety, self.solved_t) = (error, safety, to);
        Ok(())
    }

    fn end_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.end, &mut self.end_xp)
    }

    fn damp(&mut self, change: &mut [f64]) {
        if let Some(leading) = self.factored {
            self.factor.damp(&self.pencil, leading, change);
        }
    }

    fn solved(&mut self) -> Step<'_> {
        let (n, order) = (self.n, self.order);
        self.solved.copy_from_slice(&self.differences);
        for j in 0..n {
            let at = |order: usize| order * n + j;
            let d = self.correction[j];
            self.solved[at(order + 2)] = d - self.solved[at(order + 1)];
            self.solved[at(order + 1)] = d;
            for i in (0..=order).rev() {
                self.solved[at(i)] += self.solved[at(i + 1)];
            }
            // A projection moves the newest value; its effect on the higher differences is left out.
            self.solved[j] = self.end[j];
        }
        Step {
            t_old: self.t,
            t: self.solved_t,
            h: self.h,
            x: &self.end,
            xp: &self.end_xp,
            interpolant: Interpolant {
                end: self.solved_t,
                h: self.h,
                nodes: &NODES[..order],
                coefficients: &self.solved[..(order + 1) * n],
            },
        }
    }

    fn advance(&mut self) {
        self.statistics.steps += 1;
        self.t = self.solved_t;
        std::mem::swap(&mut self.x, &mut self.end);
        std::mem::swap(&mut self.xp, &mut self.end_xp);
        std::mem::swap(&mut self.differences, &mut self.solved);
        self.n_equal += 1;
        self.age = self.age.map(|age| age + 1);
        self.adapt(self.error, self.safety);
    }

    fn refuse(&mut self, step: f64) {
        self.statistics.rejected += 1;
        let factor = (step / self.h).abs();
        self.shrink(factor);
    }

    fn distrust(&mut self) {
        self.age = None;
        self.contraction = None;
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

/// The matrix that takes backward differences to values on a grid stretched by a factor, up to a constant one, (17).
fn step_matrix(order: usize, factor: f64) -> [[f64; MAX_ORDER + 1]; MAX_ORDER + 1] {
    let mut matrix = [[0.0; MAX_ORDER + 1]; MAX_ORDER + 1];
    matrix[0] = [1.0; MAX_ORDER + 1];
    for i in 1..=order {
        for j in 1..=order {
            let entry = (i as f64 - 1.0 - factor * j as f64) / i as f64;
            matrix[i][j] = matrix[i - 1][j] * entry;
        }
    }
    matrix
}
