//! Which method suits a problem.

use super::Method;
use crate::options::{Options, Output};
use crate::outcome::{BudgetKind, Run, StopReason};
use crate::problem::Problem;
use crate::start::{Start, StartError};
use crate::taylor;

/// Chooses a method and says why, from the first steps of the series.
pub fn choose(
    problem: &Problem,
    start: &Start,
    options: &Options,
) -> Result<(Method, String), StartError> {
    /// Steps of the series to judge from.
    const PROBE: usize = 40;
    /// Steps in all from which a problem counts as stiff.
    const MANY: f64 = 20_000.0;
    /// How much longer the steps of an implicit method have to be.
    const LONGER: f64 = 2.0;
    /// Unknowns from which complex factorisations cost too much.
    const LARGE: usize = 200;
    let mut probe = options.clone();
    probe.max_steps = PROBE;
    probe.output = Output::Dense;
    probe.watch = None;
    let run = taylor::solve(problem, start, &probe)?;
    let ended = run.trajectory.span().map_or(start.time, |(_, end)| end);
    let (implicit, size) = if problem.n() < LARGE {
        (Method::Radau, "fewer than")
    } else {
        (Method::Bdf, "at least")
    };
    match run.stop {
        StopReason::Budget(BudgetKind::Steps) => {}
        StopReason::AccuracyLost { time, .. } | StopReason::Failed { time, .. } => {
            let why =
                format!("the series come no further than t = {time}; {size} {LARGE} unknowns");
            return Ok((implicit, why));
        }
        _ => {
            let n_steps = run.statistics.steps;
            let why = format!("the series need only {n_steps} steps: not stiff");
            return Ok((Method::Taylor, why));
        }
    }
    let longest = longest_late_step(&run);
    let forecast = (options.t_end - ended).abs() / longest;
    if forecast <= MANY {
        let why = format!(
            "the series take steps of {longest:.1e}, about {forecast:.0} in all: not stiff"
        );
        return Ok((Method::Taylor, why));
    }
    // A long run of a fast motion takes many steps whatever the method.
    probe.max_steps = 8 * PROBE;
    let beside = super::solve(problem, start, &probe, implicit);
    let is_longer = |run: &Run| longest_late_step(run) > LONGER * longest;
    if beside.is_ok_and(|run| !is_longer(&run)) {
        let why = format!(
            "the series take steps of {longest:.1e}, about {forecast:.1e} in all, and implicit ones are no longer: not stiff"
        );
        return Ok((Method::Taylor, why));
    }
    let why = format!(
        "stiff: the series take steps of {longest:.1e}, about {forecast:.1e} in all; {size} {LARGE} unknowns"
    );
    Ok((implicit, why))
}

/// The longest step of the second half of a run: the first ones may be short on a transient that dies out.
fn longest_late_step(run: &Run) -> f64 {
    let segments = run.trajectory.segments();
    segments[segments.len() / 2..]
        .iter()
        .map(|piece| (piece.end - piece.start).abs())
        .fold(0.0, f64::max)
}
