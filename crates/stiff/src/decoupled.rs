//! Backward differentiation of constant step on the decoupled form: an ordinary differential equation for the states, and
//! algebraic unknowns that follow from them.
//!
//! For equations F(t, s, z, s') = 0 of index 1 the pair (s', z) is a function of (t, s), found by Newton's method wherever it is
//! needed: s' = g(t, s), z = k(t, s). The formula is put into s' = g(t, s) alone, (26) of `docs/theory/implicit.md`.

use crate::bdf_fixed::{
    FixedOptions, FixedRun, MAX_ITERATIONS, Stepper, Work, is_rounding, march, predict,
    start_points, unsolved,
};
use crate::pencil::Pencil;
use crate::problem::{InputError, Problem};
use crate::run::{Control, Samples, StopReason};
use daelight_linalg::{LinalgError, Lu, Mat};

/// The algebraic unknowns are found to this part of the tolerance of the states.
const INNER: f64 = 1e-2;

/// Runs with constant order and step on the states alone.
///
/// `history` holds all unknowns at t, t + h, ..., oldest first; of those that are no states the last ones serve as a guess.
pub fn bdf_decoupled(
    problem: &mut Problem,
    states: &[usize],
    t: f64,
    history: &[&[f64]],
    options: &FixedOptions,
    observer: &mut dyn FnMut(f64, &[f64]) -> Control,
) -> Result<FixedRun, InputError> {
    let n = problem.n();
    let points = start_points(n, t, history, options)?;
    let mut is_state = vec![false; n];
    for &state in states {
        *is_state
            .get_mut(state)
            .ok_or(InputError::BadNumber("a state"))? = true;
    }
    if let Some(unknown) = (0..n).find(|&j| problem.is_differentiated(j) && !is_state[j]) {
        return Err(InputError::NotAState(unknown));
    }
    let mut method = Decoupled {
        pencil: problem.pencil(),
        problem,
        options,
        is_state,
        states: states.to_vec(),
        x: vec![0.0; n],
        xp: vec![0.0; n],
        past: vec![0.0; n],
        predicted: vec![0.0; n],
        matrix: Mat::zeros(n, n),
        by_states: Mat::zeros(n, states.len()),
        inner: Lu::new(),
        outer: Lu::new(),
        work: Work::default(),
    };
    Ok(march(&mut method, t, points, options, observer))
}

struct Decoupled<'p> {
    problem: &'p mut Problem,
    pencil: Pencil,
    options: &'p FixedOptions,
    is_state: Vec<bool>,
    states: Vec<usize>,
    x: Vec<f64>,
    /// The rates of the states; zero for the others.
    xp: Vec<f64>,
    past: Vec<f64>,
    predicted: Vec<f64>,
    /// dF/d(s', z), and the derivative of (s', z) by s.
    matrix: Mat,
    by_states: Mat,
    inner: Lu,
    outer: Lu,
    work: Work,
}

/// What keeps the algebraic unknowns from being found.
enum Unsolved {
    Linear(LinalgError),
    Stopped(StopReason),
}

impl Stepper for Decoupled<'_> {
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
        let stop = |why| match why {
            Unsolved::Linear(error) => unsolved(&error, t_old, h),
            Unsolved::Stopped(reason) => reason,
        };
        let leading = predict(points, self.options, &mut self.past, &mut self.predicted);
        // The algebraic unknowns start where the last step left them.
        let last = points.point(points.times().len() - 1);
        for j in 0..self.x.len() {
            self.x[j] = if self.is_state[j] {
                self.predicted[j]
            } else {
                last[j]
            };
        }
        let d = self.states.len();
        let mut increment = vec![0.0; d];
        let mut outer = Mat::zeros(d, d);
        for iteration in 1..=MAX_ITERATIONS {
            self.work.statistics.iterations += 1;
            self.find_rates(t_old, t_new).map_err(stop)?;
            if d == 0 {
                self.work.statistics.steps += 1;
                return Ok(());
            }
            self.differentiate()
                .map_err(Unsolved::Linear)
                .map_err(stop)?;
            for (a, &state) in self.states.iter().enumerate() {
                increment[a] = leading * self.x[state] + self.past[state] - self.xp[state];
                for b in 0..d {
                    let unit = if a == b { leading } else { 0.0 };
                    outer[(a, b)] = unit - self.by_states[(state, b)];
                }
            }
            let gone = |why: LinalgError| unsolved(&why, t_old, h);
            self.work.statistics.factorizations += 1;
            self.outer.factor(outer.view()).map_err(gone)?;
            let every = self.options.condition_every;
            if iteration == 1 && every > 0 && number.is_multiple_of(every) {
                let condition = self.outer.condition_1norm().map_err(gone)?;
                let worst = self.work.conditioning.get_or_insert_default();
                worst.plain = worst.plain.max(condition);
                worst.scaled = worst.plain;
            }
            self.outer.solve(&mut increment).map_err(gone)?;
            let mut size = 0.0_f64;
            for (&state, increment) in self.states.iter().zip(&increment) {
                self.x[state] -= increment;
                size = size.max(increment.abs() / self.x[state].abs().max(1.0));
            }
            if size <= self.options.newton_tolerance {
                self.find_rates(t_old, t_new).map_err(stop)?;
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

impl Decoupled<'_> {
    /// Solves F(t, s, z, s') = 0 for s' and z; the matrix of the last iteration stays factored.
    fn find_rates(&mut self, t_old: f64, t_new: f64) -> Result<(), Unsolved> {
        let n = self.x.len();
        let mut residuals = vec![0.0; n];
        let fault = |fault| Unsolved::Stopped(StopReason::Fault { t: t_old, fault });
        let mut before = f64::INFINITY;
        for _ in 0..MAX_ITERATIONS {
            self.work.statistics.residuals += 1;
            self.work.statistics.jacobians += 1;
            self.work.statistics.factorizations += 1;
            self.problem
                .residuals(t_new, &self.x, &self.xp, &mut residuals)
                .map_err(fault)?;
            self.problem
                .linearise(t_new, &self.x, &self.xp, &mut self.pencil)
                .map_err(fault)?;
            self.matrix.as_mut_slice().fill(0.0);
            let (matrix, is_state) = (&mut self.matrix, &self.is_state);
            self.pencil.for_each_entry(|row, column, b, e| {
                matrix[(row, column)] = if is_state[column] { e } else { b };
            });
            self.inner
                .factor(self.matrix.view())
                .map_err(Unsolved::Linear)?;
            self.inner.solve(&mut residuals).map_err(Unsolved::Linear)?;
            let mut size = 0.0_f64;
            for (j, increment) in residuals.iter().enumerate() {
                let place = if self.is_state[j] {
                    &mut self.xp[j]
                } else {
                    &mut self.x[j]
                };
                *place -= increment;
                size = size.max(increment.abs() / place.abs().max(1.0));
            }
            if size <= INNER * self.options.newton_tolerance || is_rounding(size, before) {
                return Ok(());
            }
            if !size.is_finite() {
                break;
            }
            before = size;
        }
        self.work.statistics.newton_failures += 1;
        let h = self.options.step;
        Err(Unsolved::Stopped(StopReason::NewtonFailed { t: t_old, h }))
    }

    /// The derivative of (s', z) by s, from the factored matrix.
    fn differentiate(&mut self) -> Result<(), LinalgError> {
        let n = self.x.len();
        let mut column_of = vec![usize::MAX; n];
        for (a, &state) in self.states.iter().enumerate() {
            column_of[state] = a;
        }
        self.by_states.as_mut_slice().fill(0.0);
        let (by_states, is_state) = (&mut self.by_states, &self.is_state);
        self.pencil.for_each_entry(|row, column, b, _| {
            if is_state[column] {
                by_states[(row, column_of[column])] = -b;
            }
        });
        for column in self.by_states.as_mut_slice().chunks_exact_mut(n.max(1)) {
            self.inner.solve(column)?;
        }
        Ok(())
    }
}
