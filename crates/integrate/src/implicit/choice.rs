//! Which method suits a problem.

use super::Method;
use crate::options::{Options, Output, Watch, Watched};
use crate::outcome::{Run, StopReason};
use crate::problem::Problem;
use crate::start::{Start, StartError};
use crate::taylor;
use crate::trajectory::Trajectory;
use std::sync::{Arc, OnceLock};

/// Steps of the series to judge from.
const PROBE: usize = 40;
/// Steps in all from which a problem counts as stiff.
const MANY: f64 = 20_000.0;
/// How much longer the steps of an implicit method have to be.
const LONGER: f64 = 2.0;
/// Unknowns from which complex factorisations cost too much.
const LARGE: usize = 200;

/// A run by the method that suits the problem.
#[derive(Debug)]
pub struct Chosen {
    /// The run.
    pub run: Run,
    /// By which method.
    pub method: Method,
    /// Why by this one.
    pub why: String,
}

/// Integrates by the method that suits, and says why.
///
/// The series begin. Their first steps tell whether they go on; if not, the run begins again by an implicit method. What
/// watches the run is asked for anew each time it begins, in place of the options' own watch.
pub fn solve_by_choice(
    problem: &Problem,
    start: &Start,
    options: &Options,
    watch: &mut dyn FnMut() -> Option<Watch>,
) -> Result<Chosen, StartError> {
    let forecast = Arc::new(OnceLock::new());
    let mut series = options.clone();
    series.output = Output::Dense;
    series.watch = Some(doubt(watch(), Arc::clone(&forecast), options.t_end));
    let run = taylor::solve(problem, start, &series)?;
    let (implicit, size) = if problem.n() < LARGE {
        (Method::Radau, "fewer than")
    } else {
        (Method::Bdf, "at least")
    };
    let by_series = |run, why| {
        Ok(Chosen {
            run,
            method: Method::Taylor,
            why,
        })
    };
    let (method, why) = match (forecast.get(), &run.stop) {
        (None, StopReason::AccuracyLost { time, .. } | StopReason::Failed { time, .. }) => {
            let why =
                format!("the series come no further than t = {time}; {size} {LARGE} unknowns");
            (implicit, why)
        }
        (None, stop) => {
            let n_steps = run.statistics.steps;
            let why = match stop {
                StopReason::Budget(_) => {
                    format!("the budget ended the series after {n_steps} steps")
                }
                _ => format!("the series need only {n_steps} steps: not stiff"),
            };
            return by_series(run, why);
        }
        (Some(Forecast { longest, steps }), _) if *steps <= MANY => {
            let why = format!(
                "the series take steps of {longest:.1e}, about {steps:.0} in all: not stiff"
            );
            return by_series(run, why);
        }
        (Some(Forecast { longest, steps }), _) => {
            // A long run of a fast motion takes many steps whatever the method.
            let mut probe = options.clone();
            probe.max_steps = 8 * PROBE;
            probe.output = Output::Dense;
            probe.watch = None;
            let beside = super::solve(problem, start, &probe, implicit);
            let is_longer = |run: &Run| longest_late_step(&run.trajectory) > LONGER * longest;
            if beside.is_ok_and(|run| !is_longer(&run)) {
                let why = format!(
                    "the series take steps of {longest:.1e}, about {steps:.1e} in all, and implicit ones are no longer: not stiff"
                );
                (Method::Taylor, why)
            } else {
                let why = format!(
                    "stiff: the series take steps of {longest:.1e}, about {steps:.1e} in all; {size} {LARGE} unknowns"
                );
                (implicit, why)
            }
        }
    };
    let options = Options {
        watch: watch(),
        ..options.clone()
    };
    match super::solve(problem, start, &options, method) {
        Ok(run) => Ok(Chosen { run, method, why }),
        // An implicit method may refuse the tolerance or the equations; then what the series found is the answer.
        Err(_) if forecast.get().is_none() => {
            let why = "the series, since no implicit method can take the problem".to_string();
            by_series(run, why)
        }
        Err(error) => Err(error),
    }
}

/// What the first steps of the series say of the rest.
#[derive(Clone, Copy, Debug)]
struct Forecast {
    /// The longest late step.
    longest: f64,
    /// Steps in all.
    steps: f64,
}

/// Watches a run of the series as asked, and ends it if its first steps promise too many.
fn doubt(watch: Option<Watch>, forecast: Arc<OnceLock<Forecast>>, t_end: f64) -> Watch {
    Watch::new(move |trajectory| {
        let watched = watch
            .as_ref()
            .map_or(Watched::GoOn, |watch| watch.ask(trajectory));
        if watched != Watched::GoOn
            || trajectory.segments().len() < PROBE
            || forecast.get().is_some()
        {
            return watched;
        }
        let ended = trajectory.span().map_or(t_end, |(_, end)| end);
        let longest = longest_late_step(trajectory);
        let steps = (t_end - ended).abs() / longest;
        let found = forecast.get_or_init(|| Forecast { longest, steps });
        if found.steps > MANY {
            Watched::Interrupt
        } else {
            Watched::GoOn
        }
    })
}

/// The longest step of the second half of a run: the first ones may be short on a transient that dies out.
fn longest_late_step(trajectory: &Trajectory) -> f64 {
    let segments = trajectory.segments();
    segments[segments.len() / 2..]
        .iter()
        .map(|piece| (piece.end - piece.start).abs())
        .fold(0.0, f64::max)
}
