//! What the errors of a run have become at its end, by a finer run.

use crate::{Solution, SolveOptions};
use daelight_analysis::System;
use daelight_integrate::StopReason;
use daelight_show::record::SolveRecord;

/// A run is repeated with a hundredth of the tolerance, to see what its errors have become, if its evaluations and
/// factorisations times its unknowns are no more than this: that took 0.2 s when it was set.
const CHEAP: usize = 1_000_000;
/// A finer run that ends earlier by this part of the run has not reached the same end.
const EARLIER: f64 = 1e-6;
/// A series counts as this many evaluations.
const SERIES: usize = 20;
/// A difference of more than this many tolerances is told.
const TOLD: f64 = 100.0;

/// Adds the error of a run to its report: where it was asked for, or where it costs nothing and is worth telling.
pub fn add_estimate(
    report: &mut SolveRecord,
    system: &System,
    options: &SolveOptions,
    solution: &Solution,
    is_wanted: bool,
) {
    if is_wanted && solution.run.stop != StopReason::Interrupted {
        match estimate(system, options, solution) {
            Ok(error) => report.estimated_error = Some(error),
            Err(because) => report.warnings.push(because.to_string()),
        }
    } else if report.status == "success" && is_cheap(system, solution) {
        match estimate(system, options, solution) {
            Ok(error) if error > TOLD * solution.rtol => report.estimated_error = Some(error),
            Err(because @ NoEstimate::EndsAt(_)) => report.warnings.push(because.to_string()),
            _ => {}
        }
    }
    report.warnings.extend(large_error(report, solution.rtol));
}

/// Whether another run of the same kind takes no time that anybody notices.
fn is_cheap(system: &System, solution: &Solution) -> bool {
    let statistics = &solution.run.statistics;
    let work = statistics.factorizations + statistics.residuals + SERIES * statistics.jets;
    work.saturating_mul(system.unknowns().len()) <= CHEAP
}

/// Says that errors have grown beyond what the tolerance promises.
fn large_error(report: &SolveRecord, rtol: f64) -> Option<String> {
    let error = report
        .estimated_error
        .filter(|error| *error > TOLD * rtol)?;
    Some(format!(
        "Small errors grow in this model: the values at the end are off by about {error:.1e}, and the tolerance is {rtol:.0e}. Ask for \
         more with --rtol; if unknowns are much smaller than 1, give their sizes by `nominal`."
    ))
}

/// Why the error of a run is not known.
enum NoEstimate {
    /// The finer run did not begin or gave up.
    Failed,
    /// The finer run found that the solution ends here.
    EndsAt(f64),
}

impl std::fmt::Display for NoEstimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed => write!(f, "The error could not be estimated: the finer run failed."),
            Self::EndsAt(time) => write!(
                f,
                "A run with a hundredth of the tolerance ends at a singularity at t = {time}: values behind it cannot be relied on."
            ),
        }
    }
}

/// The largest difference at the end to a run with a hundredth of the tolerance, against the size of each unknown.
fn estimate(
    system: &System,
    options: &SolveOptions,
    solution: &Solution,
) -> Result<f64, NoEstimate> {
    let finer = SolveOptions {
        rtol: Some((solution.rtol * 1e-2).max(1e-15)),
        method: Some(solution.method),
        progress: None,
        ..options.clone()
    };
    let other = crate::solve(system, &finer).map_err(|_| NoEstimate::Failed)?;
    let (a, b) = (solution.reached(), other.reached());
    let is_shorter = (b - solution.from).abs() < (1.0 - EARLIER) * (a - solution.from).abs();
    match other.run.stop {
        StopReason::Singularity | StopReason::FiniteEscape { .. } if is_shorter => {
            return Err(NoEstimate::EndsAt(b));
        }
        _ if is_shorter => return Err(NoEstimate::Failed),
        _ => {}
    }
    let until = if solution.to >= solution.from {
        a.min(b)
    } else {
        a.max(b)
    };
    let [here, there] = [solution, &other].map(|run| run.reader(system).values(until));
    match (here, there) {
        (Ok(Some(here)), Ok(Some(there))) => Ok(here
            .iter()
            .zip(&there)
            .zip(system.unknowns())
            .map(|((x, y), info)| (x - y).abs() / y.abs().max(info.nominal.unwrap_or(1.0).abs()))
            .fold(0.0, f64::max)),
        _ => Err(NoEstimate::Failed),
    }
}
