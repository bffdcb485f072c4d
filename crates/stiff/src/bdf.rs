//! Backward differentiation of order 1 to 5 with variable step for F(t, x, x') = 0.
//!
//! Backward differences on a grid of equal steps, interpolated to a new grid when the step changes (Shampine and Reichelt,
//! The MATLAB ODE suite, 1997), with their modified formulas; (14) to (17) of `docs/theory/implicit.md`. The iteration keeps
//! its matrix while the leading coefficient stays within a factor, as DASSL and IDA do.

use crate::pencil::{Pencil, RealFactor};
use crate::problem::{InputError, Problem};
use crate::run::{
    Course, Failure, Hooks, Interpolant, Options, Run, Start, Step, StopReason, largest,
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
    let mut course = Course::new(problem, start, end, options, hooks)?;
    problem.expect_index(if course.projects() { 2 } else { 1 })?;
    let mut method = Method::new(problem, start)?;
    let reason = method.integrate(&mut course);
    Ok(course.finish(reason, method.t, method.x, method.xp))
}

struct Method<'p> {
    problem: &'p mut Problem,
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
}

impl<'p> Method<'p> {
    fn new(problem: &'p mut Problem, start: Start<'_>) -> Result<Self, InputError> {
        let n = problem.n();
        let pencil = problem.pencil();
        let zeros = || vec![0.0; n];
        Ok(Self {
            factor: RealFactor::new(&pencil).map_err(InputError::Layout)?,
            pencil,
            problem,
            n,
            t: start.t,
            x: start.x.to_vec(),
            xp: start.xp.to_vec(),
            order: 1,
            differences: vec![0.0; (MAX_ORDER + 3) * n],
            h: 0.0,
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
        })
    }

    fn integrate(&mut self, course: &mut Course<'_, '_>) -> StopReason {
        if self.t == course.end {
            return StopReason::Finished;
        }
        self.begin(course);
        if let Some(reason) = self.check_start(course) {
            return reason;
        }
        loop {
            if let Some(reason) = course.exhausted(self.t) {
                return reason;
            }
            let (step, t_new) = course.limited(self.t, self.h);
            if step != self.h {
                self.change_step(step / self.h);
                self.h = step;
            }
            self.predict();
            self.weigh(course, true);
            let iterations = match self.solve(course, t_new) {
                Ok(iterations) => iterations,
                Err(failure) => {
                    // With matrices of an earlier point, try again with fresh ones before giving up the step.
                    if self.age != Some(0) && failure == Failure::Newton {
                        self.age = None;
                        continue;
                    }
                    // The matrices belong to the prediction of the longer step.
                    self.age = None;
                    self.shrink(0.25);
                    match course.failed(failure, self.t, self.h) {
                        Some(reason) => return reason,
                        None => continue,
                    }
                }
            };
            let error =
                error_constant(self.order) * largest(&self.correction, &self.weights, 1e-30);
            let safety =
                0.9 * (2 * MAX_ITERATIONS + 1) as f64 / (2 * MAX_ITERATIONS + iterations) as f64;
            if error > 1.0 || error.is_nan() {
                let exponent = -1.0 / (self.order as f64 + 1.0);
                self.shrink((safety * error.powf(exponent)).max(0.2));
                match course.failed(Failure::Error, self.t, self.h) {
                    Some(reason) => return reason,
                    None => continue,
                }
            }
            let t_old = self.t;
            if let Err(reason) = self.accept(course, t_new) {
                return reason;
            }
            let interpolant = Interpolant {
                end: t_new,
                h: self.h,
                nodes: &NODES[..self.order],
                coefficients: &self.differences[..(self.order + 1) * self.n],
            };
            let accepted = Step {
                t_old,
                t: t_new,
                h: self.h,
                x: &self.x,
                xp: &self.xp,
                interpolant,
            };
            if let Some(reason) = course.accepted(&accepted) {
                return reason;
            }
            self.adapt(course, error, safety);
        }
    }

    /// The first step at order 1.
    fn begin(&mut self, course: &Course<'_, '_>) {
        let start = Start {
            t: self.t,
            x: &self.x,
            xp: &self.xp,
        };
        self.h = course.first_step(self.problem, start, course.rtol()) * course.direction;
        let (values, slopes) = self.differences.split_at_mut(self.n);
        values.copy_from_slice(&self.x);
        for (slope, xp) in slopes.iter_mut().zip(&self.xp) {
            *slope = self.h * xp;
        }
    }

    /// Refuses a start that one step of Newton's method would move by more than the tolerance, (22).
    fn check_start(&mut self, course: &mut Course<'_, '_>) -> Option<StopReason> {
        let fault = |t, fault| Some(StopReason::Fault { t, fault });
        course.statistics.residuals += 1;
        course.statistics.jacobians += 1;
        course.statistics.factorizations += 1;
        let (t, x, xp) = (self.t, &self.x, &self.xp);
        if let Err(why) = self.problem.residuals(t, x, xp, &mut self.increment) {
            return fault(t, why);
        }
        if let Err(why) = self.problem.linearise(t, x, xp, &mut self.pencil) {
            return fault(t, why);
        }
        self.weigh(course, false);
        let (leading, weights) = (self.leading(), &self.weights);
        self.pencil.equilibrate(leading, |j| 1.0 / weights[j]);
        // A matrix that cannot be factored or solved with shows in the first step too.
        self.factor.factor(&self.pencil, leading).ok()?;
        self.age = Some(0);
        self.factored = Some(leading);
        self.factor.solve(&self.pencil, &mut self.increment).ok()?;
        course.inconsistent(t, &self.increment, &self.weights)
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
    fn weigh(&mut self, course: &Course<'_, '_>, from_prediction: bool) {
        let values = if from_prediction {
            &self.predicted
        } else {
            &self.x
        };
        for (j, weight) in self.weights.iter_mut().enumerate() {
            let tolerance = course.rtol() * values[j].abs() + course.atol(j);
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
    fn prepare(&mut self, course: &mut Course<'_, '_>, t_new: f64) -> Result<(), Failure> {
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
            course.statistics.jacobians += 1;
            self.age = None;
            self.problem
                .linearise(t_new, &self.predicted, &self.increment, &mut self.pencil)
                .map_err(Failure::Fault)?;
            self.age = Some(0);
        }
        course.statistics.factorizations += 1;
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
    fn solve(&mut self, course: &mut Course<'_, '_>, t_new: f64) -> Result<usize, Failure> {
        self.prepare(course, t_new)?;
        let leading = self.leading();
        let factored = self.factored.unwrap_or(leading);
        // Increments of a matrix for another coefficient, corrected as in DASSL.
        let adjust = 2.0 / (1.0 + leading / factored);
        let tolerance = course.newton_tolerance(NEWTON_TOLERANCE, course.rtol());
        self.correction.fill(0.0);
        let (mut old_size, mut first_size) = (0.0, 0.0);
        for iteration in 1..=MAX_ITERATIONS {
            course.statistics.iterations += 1;
            course.statistics.residuals += 1;
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

    /// Moves on to the new point.
    fn accept(&mut self, course: &mut Course<'_, '_>, t_new: f64) -> Result<(), StopReason> {
        let (n, order, leading) = (self.n, self.order, self.leading());
        for j in 0..n {
            self.work[j] = self.predicted[j] + self.correction[j];
            self.increment[j] = self.rate[j] / self.h + leading * self.correction[j];
        }
        let point = &mut self.work[..n];
        course.project(t_new, point, &mut self.increment)?;
        self.t = t_new;
        self.x.copy_from_slice(point);
        self.xp.copy_from_slice(&self.increment);
        self.n_equal += 1;
        self.age = self.age.map(|age| age + 1);
        for j in 0..n {
            let at = |order: usize| order * n + j;
            let d = self.correction[j];
            self.differences[at(order + 2)] = d - self.differences[at(order + 1)];
            self.differences[at(order + 1)] = d;
            for i in (0..=order).rev() {
                self.differences[at(i)] += self.differences[at(i + 1)];
            }
            // A projection moves the newest value; its effect on the higher differences is left out.
            self.differences[j] = self.x[j];
        }
        Ok(())
    }

    /// Chooses order and step for the next steps.
    fn adapt(&mut self, course: &Course<'_, '_>, error: f64, safety: f64) {
        let order = self.order;
        if course.statistics.steps == 1 {
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
        self.weigh(course, false);
        let error_of = |row: usize, order: usize| {
            let size = largest(self.row(row), &self.weights, 1e-30);
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
