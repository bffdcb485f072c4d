//! Backward differentiation of constant order and step on a model as it is written, to compare forms of one model.
//!
//! [`daelight_stiff::bdf_fixed`] needs as many start values as its order; here they come from a solution that is known
//! better, usually one by series. Section 6 of `docs/theory/implicit.md`.

use crate::options::{Options, Tolerances};
use crate::problem::Problem;
use crate::start::{Start, StartError};
use crate::taylor;
use daelight_analysis::Equations;
use daelight_stiff::{Control, FixedOptions, InputError, bdf_decoupled, bdf_fixed};
use std::fmt;
use std::time::{Duration, Instant};

pub use daelight_stiff::{Conditioning, FixedRun, StopReason};

/// Relative tolerance of the series that give the start values.
const HISTORY: f64 = 1e-13;

/// A run of steps fits into an interval if it misses its end by no more than this part of a step.
const WHOLE: f64 = 1e-6;

/// Most numbers that the points of a run hold.
const MAX_NUMBERS: usize = 200_000_000;

/// A run is refused when it would take more steps.
const MAX_STEPS: f64 = 1e8;

/// What is asked of a run with constant steps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FixedSteps {
    /// The order, 1 to 6; 1 is implicit Euler.
    pub order: usize,
    /// The step, without sign. The interval must be a whole number of steps.
    pub step: f64,
    /// Equations without derivatives are multiplied by step^-scale.
    pub scale: f64,
    /// Where the run ends; before the start for a backward run.
    pub t_end: f64,
    /// Most time the steps may take; a run that takes longer ends with [`StopReason::Observer`].
    pub budget: Option<Duration>,
}

/// Why there is no run with constant steps.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum FixedError {
    /// The equations or the numbers do not suit the method.
    Input(InputError),
    /// The interval is not a whole number of steps, or too many, or fewer than the order.
    Steps {
        /// Its length in steps.
        length: f64,
    },
    /// The points of the run would take too much memory.
    TooLong {
        /// Number of steps.
        n_steps: usize,
    },
    /// There is no start value at a time.
    History {
        /// The time.
        time: f64,
    },
    /// There is no consistent start.
    Start(StartError),
}

impl fmt::Display for FixedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Steps { length } => {
                write!(f, "the interval has a length of {length} steps")
            }
            Self::TooLong { n_steps } => {
                write!(f, "the points of {n_steps} steps take too much memory")
            }
            Self::History { time } => write!(f, "no start value is known at t = {time}"),
            Self::Start(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FixedError {}

impl From<InputError> for FixedError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// Runs with constant order and step on a problem of first order; its own series give the first values.
pub fn solve(
    problem: &Problem,
    start: &Start,
    request: &FixedSteps,
) -> Result<FixedRun, FixedError> {
    let length = request.whole_steps(start.time)?;
    let direction = (request.t_end - start.time).signum();
    let reach = (request.order.max(2) - 1).min(length) as f64;
    let tolerances = Tolerances::uniform(problem, HISTORY, HISTORY);
    let options = Options::new(start.time + direction * reach * request.step, tolerances);
    let known = taylor::solve(problem, start, &options).map_err(FixedError::Start)?;
    let value = |time: f64, into: &mut [f64]| known.trajectory.coefficients(time, into);
    solve_from(
        problem.equations(),
        problem.parameters(),
        start.time,
        value,
        request,
    )
}

/// Runs with constant order and step; `value` gives all unknowns at a time, or says that it cannot.
pub fn solve_from(
    equations: &Equations,
    parameters: &[f64],
    start: f64,
    mut value: impl FnMut(f64, &mut [f64]) -> bool,
    request: &FixedSteps,
) -> Result<FixedRun, FixedError> {
    run(equations, parameters, None, start, &mut value, request)
}

/// The same on the states alone; the other unknowns follow from them in equations of index 1.
pub fn solve_decoupled(
    equations: &Equations,
    parameters: &[f64],
    states: &[usize],
    start: f64,
    mut value: impl FnMut(f64, &mut [f64]) -> bool,
    request: &FixedSteps,
) -> Result<FixedRun, FixedError> {
    run(
        equations,
        parameters,
        Some(states),
        start,
        &mut value,
        request,
    )
}

fn run(
    equations: &Equations,
    parameters: &[f64],
    states: Option<&[usize]>,
    start: f64,
    value: &mut dyn FnMut(f64, &mut [f64]) -> bool,
    request: &FixedSteps,
) -> Result<FixedRun, FixedError> {
    let mut problem = daelight_stiff::Problem::new(equations, parameters)?;
    let length = request.whole_steps(start)?;
    if length.saturating_mul(problem.n()) > MAX_NUMBERS {
        return Err(FixedError::TooLong { n_steps: length });
    }
    // Steps that end exactly where the interval does.
    let step = (request.t_end - start) / length as f64;
    let mut history = vec![vec![0.0; problem.n()]; request.order];
    for (k, place) in history.iter_mut().enumerate() {
        let time = start + k as f64 * step;
        if !value(time, place) {
            return Err(FixedError::History { time });
        }
    }
    let points: Vec<&[f64]> = history.iter().map(Vec::as_slice).collect();
    let options = FixedOptions {
        order: request.order,
        step,
        n_steps: length + 1 - request.order,
        scale: request.scale,
        condition_every: (length / 10).max(1),
        ..FixedOptions::default()
    };
    let begin = Instant::now();
    let mut observer = |_: f64, _: &[f64]| match request.budget {
        Some(budget) if begin.elapsed() > budget => Control::Stop,
        _ => Control::Continue,
    };
    Ok(match states {
        None => bdf_fixed(&mut problem, start, &points, &options, &mut observer)?,
        Some(states) => bdf_decoupled(
            &mut problem,
            states,
            start,
            &points,
            &options,
            &mut observer,
        )?,
    })
}

impl FixedSteps {
    /// The number of steps from a start to the end.
    pub fn whole_steps(&self, start: f64) -> Result<usize, FixedError> {
        if !(1..=6).contains(&self.order) {
            return Err(InputError::BadNumber("the order").into());
        }
        if !(self.step.is_finite() && self.step > 0.0) {
            return Err(InputError::BadNumber("the step").into());
        }
        let length = (self.t_end - start).abs() / self.step;
        let fits = (length - length.round()).abs() <= WHOLE.max(1e-12 * length);
        if fits && length >= self.order as f64 - 0.5 && length <= MAX_STEPS {
            Ok(length.round() as usize)
        } else {
            Err(FixedError::Steps { length })
        }
    }
}
