//! Backward differentiation of constant order and step on a model as it is written, to compare forms of one model.
//!
//! [`daelight_stiff::bdf_fixed`] needs as many start values as its order; here they come from a solution that is known
//! better, usually one by series. Section 6 of `docs/theory/implicit.md`.

use crate::options::{Options, Tolerances};
use crate::problem::Problem;
use crate::start::{Start, StartError};
use crate::taylor;
use daelight_analysis::Equations;
use daelight_analysis::index_reduction::StrangenessFree;
use daelight_analysis::initial::TaylorJet;
use daelight_stiff::{
    Control, FixedOptions, InputError, bdf_decoupled, bdf_fixed, bdf_strangeness,
};
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
    let mut problem = daelight_stiff::Problem::new(equations, parameters)?;
    let steps = Steps::new(problem.n(), start, &mut value, request)?;
    steps.run(|history, options, observer| {
        bdf_fixed(&mut problem, start, history, options, observer)
    })
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
    let mut problem = daelight_stiff::Problem::new(equations, parameters)?;
    let steps = Steps::new(problem.n(), start, &mut value, request)?;
    steps.run(|history, options, observer| {
        bdf_decoupled(&mut problem, states, start, history, options, observer)
    })
}

/// The same on the strangeness-free form as values; `jet` gives all unknowns and their derivatives at a time.
pub fn solve_strangeness(
    form: &mut StrangenessFree<'_>,
    start: f64,
    mut jet: impl FnMut(f64) -> Option<TaylorJet>,
    request: &FixedSteps,
) -> Result<FixedRun, FixedError> {
    let mut last = None;
    let mut value = |time: f64, into: &mut [f64]| {
        last = jet(time);
        match &last {
            Some(jet) => into.copy_from_slice(jet.values()),
            None => return false,
        }
        true
    };
    let steps = Steps::new(form.n_unknowns(), start, &mut value, request)?;
    let last = last.ok_or(FixedError::History { time: start })?;
    steps.run(|history, options, observer| {
        bdf_strangeness(form, &last, start, history, options, observer)
    })
}

/// The first points of a run, and its numbers.
struct Steps {
    history: Vec<Vec<f64>>,
    options: FixedOptions,
    budget: Option<Duration>,
}

impl Steps {
    fn new(
        n: usize,
        start: f64,
        value: &mut dyn FnMut(f64, &mut [f64]) -> bool,
        request: &FixedSteps,
    ) -> Result<Self, FixedError> {
        let length = request.whole_steps(start)?;
        if length.saturating_mul(n) > MAX_NUMBERS {
            return Err(FixedError::TooLong { n_steps: length });
        }
        // Steps that end exactly where the interval does.
        let step = (request.t_end - start) / length as f64;
        let mut history = vec![vec![0.0; n]; request.order];
        for (k, place) in history.iter_mut().enumerate() {
            let time = start + k as f64 * step;
            if !value(time, place) {
                return Err(FixedError::History { time });
            }
        }
        Ok(Self {
            history,
            options: FixedOptions {
                order: request.order,
                step,
                n_steps: length + 1 - request.order,
                scale: request.scale,
                condition_every: (length / 10).max(1),
                ..FixedOptions::default()
            },
            budget: request.budget,
        })
    }

    /// Makes the steps by a method, as long as the time allows.
    fn run(
        &self,
        method: impl FnOnce(
            &[&[f64]],
            &FixedOptions,
            &mut dyn FnMut(f64, &[f64]) -> Control,
        ) -> Result<FixedRun, InputError>,
    ) -> Result<FixedRun, FixedError> {
        let points: Vec<&[f64]> = self.history.iter().map(Vec::as_slice).collect();
        let begin = Instant::now();
        let mut observer = |_: f64, _: &[f64]| match self.budget {
            Some(budget) if begin.elapsed() > budget => Control::Stop,
            _ => Control::Continue,
        };
        Ok(method(&points, &self.options, &mut observer)?)
    }
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
        let fits = (length - length.round()).abs() <= WHOLE.max(4096.0 * f64::EPSILON * length);
        if fits && length >= self.order as f64 - 0.5 && length <= MAX_STEPS {
            Ok(length.round() as usize)
        } else {
            Err(FixedError::Steps { length })
        }
    }
}
