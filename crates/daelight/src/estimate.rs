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
/// A run that is not repeated is compared with one of at most a fifth of its steps. Its tolerance is the square root of that of the run, but no coarser than this, and at least a hundred times coarser.
const COARSEST: f64 = 1e-4;
/// Values that differ by this part have lost their accuracy.
const LOST: f64 = 0.01;
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
    let mut is_compared = false;
    if is_wanted && solution.run.stop != StopReason::Interrupted {
        match estimate(system, options, solution) {
            Ok(error) => report.estimated_error = Some(error),
            Err(because) => report.warnings.push(because.to_string()),
        }
    } else if report.status == "success" && is_cheap(system, solution) {
        let estimated = estimate(system, options, solution);
        // A run at the finest tolerance of its method is repeated as it was.
        is_compared = match estimated {
            Ok(error) => error > 0.0,
            Err(NoEstimate::EndsAt(_)) => true,
            Err(NoEstimate::Failed) => false,
        };
        match estimated {
            Ok(error) if error > TOLD * solution.rtol => report.estimated_error = Some(error),
            Err(because @ NoEstimate::EndsAt(_)) => report.warnings.push(because.to_string()),
            _ => {}
        }
    }
    let is_open = report.estimated_error.is_none() && report.status == "success" && !is_compared;
    match is_open.then(|| fate(system, options, solution)).flatten() {
        Some(Fate::Lost(time)) => {
            let is_inside = (time - solution.from) * (solution.reached() - solution.from) > 0.0;
            let (time, since) = match is_inside {
                true => (time, format!("from about t = {time:.4} on")),
                false => (solution.from, "from the start on".to_string()),
            };
            report.reliable_until = Some(time);
            report.warnings.push(format!(
                "Small errors grow in this model: {since} nothing is left of the accuracy asked, as a comparison with a coarser run shows. \
                 With a smaller --rtol the values hold longer."
            ));
        }
        Some(Fate::Grown(error)) => report.warnings.push(large_error(error, solution.rtol)),
        None => {}
    }
    let told = report.estimated_error;
    let told = told.filter(|error| *error > TOLD * solution.rtol);
    let told = told.map(|error| large_error(error, solution.rtol));
    report.warnings.extend(told);
}

/// What has become of the accuracy of a long run.
enum Fate {
    /// Nothing is left of it from this time on.
    Lost(f64),
    /// The error at the end.
    Grown(f64),
}

/// Whether another run of the same kind takes no time that anybody notices.
fn is_cheap(system: &System, solution: &Solution) -> bool {
    let statistics = &solution.run.statistics;
    let work = statistics.factorizations + statistics.residuals + SERIES * statistics.jets;
    work.saturating_mul(system.unknowns().len()) <= CHEAP
}

/// What errors that grow do to a long run, by a coarser one, (R15); `None` if it keeps its accuracy.
///
/// The difference of the two grows to a hundredth of the values in some time; if it grows like an exponential, that of the run itself,
/// smaller by the ratio of the tolerances, is behind by the time for this factor.
fn fate(system: &System, options: &SolveOptions, solution: &Solution) -> Option<Fate> {
    let coarse = solution.rtol.sqrt().min(COARSEST).max(TOLD * solution.rtol);
    let steps = solution.run.statistics.steps;
    let shorter = SolveOptions {
        rtol: Some(coarse),
        method: Some(solution.method),
        progress: None,
        max_steps: Some(steps / 5),
        ..options.clone()
    };
    let other = crate::solve(system, &shorter).ok()?;
    let (from, to) = (solution.from, other.reached());
    let n_looks = 200;
    let samples: Vec<(f64, f64)> = (1..=n_looks)
        .map(|k| from + (to - from) * f64::from(k) / f64::from(n_looks))
        .filter_map(|time| Some((time, difference(system, solution, &other, time)?)))
        .collect();
    let growth = Growth::of(&samples, from, coarse)?;
    let lost = growth.lost + growth.time_for((coarse / solution.rtol).ln());
    if (solution.reached() - lost) * (to - from) > 0.0 {
        return Some(Fate::Lost(lost));
    }
    let error = LOST * (growth.rate * (solution.reached() - lost)).exp();
    (error > TOLD * solution.rtol).then_some(Fate::Grown(error))
}

/// How two runs come apart.
struct Growth {
    /// When they differ by a hundredth.
    lost: f64,
    /// Logarithm of the factor for each unit of time.
    rate: f64,
}

impl Growth {
    /// `None` if they do not come apart, or not like an exponential.
    fn of(samples: &[(f64, f64)], from: f64, tolerance: f64) -> Option<Self> {
        let is_lost = |(_, difference): &(f64, f64)| *difference >= LOST;
        let first = samples.iter().position(is_lost)?;
        let behind = &samples[first..];
        // Jumps at slightly different times are no loss: the values agree again behind them.
        if 2 * behind.iter().filter(|sample| is_lost(sample)).count() < behind.len() {
            return None;
        }
        let lost = samples[first].0;
        let whole = (LOST / tolerance).ln();
        let half = samples[..first].iter().rfind(|(time, _)| {
            let part = (time - from) / (lost - from);
            part <= 0.5
        });
        let (time, difference) = half?;
        // Half the time makes half the logarithm; for a line that grows a hundredfold it makes 0.85 of it.
        let is_exponential = (difference / tolerance).ln() < 0.8 * whole;
        is_exponential.then_some(Self {
            lost,
            // Runs are finer than their tolerances by an unknown factor: the second half tells the rate.
            rate: (LOST / difference).ln() / (lost - time),
        })
    }

    fn time_for(&self, logarithm: f64) -> f64 {
        logarithm / self.rate
    }
}

/// Says that errors have grown beyond what the tolerance promises.
fn large_error(error: f64, rtol: f64) -> String {
    format!(
        "Small errors grow in this model: the values at the end are off by about {error:.1e} of their sizes (of `nominal`, or 1, where a \
         value is smaller), and the tolerance is {rtol:.0e}. Ask for more with --rtol; if unknowns are much smaller than 1, give their \
         sizes by `nominal`."
    )
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
    difference(system, solution, &other, until).ok_or(NoEstimate::Failed)
}

/// The largest difference of two runs at a time, against the size of each unknown; `None` where one has no values.
fn difference(system: &System, one: &Solution, other: &Solution, time: f64) -> Option<f64> {
    let [here, there] = [one, other].map(|run| run.reader(system).values(time));
    let (Ok(Some(here)), Ok(Some(there))) = (here, there) else {
        return None;
    };
    let pairs = here.iter().zip(&there).zip(system.unknowns());
    let differences =
        pairs.map(|((x, y), info)| (x - y).abs() / y.abs().max(info.nominal.unwrap_or(1.0).abs()));
    Some(differences.fold(0.0, f64::max))
}
