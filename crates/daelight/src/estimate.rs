//! What the errors of a run have become at its end, by runs with small errors of our own, (R15).

use crate::hybrid::{HybridEnd, HybridSolution, Taken, solve_sampled};
use crate::observe::Reader;
use crate::solve::{run_from, start_request};
use crate::{Setup, Solution, SolveOptions};
use daelight_analysis::System;
use daelight_integrate::implicit::Method;
use daelight_integrate::{Statistics, StopReason};
use daelight_lang::Model;
use daelight_show::record::SolveRecord;

/// A run is repeated with a hundredth of the tolerance, to see what its errors have become, if its evaluations and
/// factorisations times its unknowns are no more than this: that took 0.2 s when it was set.
const CHEAP: usize = 1_000_000;
/// A series counts as this many evaluations.
const SERIES: usize = 20;
/// A run that is not repeated has a nudged twin of this part of its steps, or of its time where that is more: a stiff run has gone a thousandth
/// of its time after a third of its steps, and what its transient does would be continued as if it went on.
const SHARE: usize = 3;
/// What runs are nudged by after every step, in tolerances of their steps: about what the methods themselves are off by. With ten times as much
/// Kepler's orbits at 1e-4 were said to be off by forty times as much as they were.
const NUDGE: f64 = 0.1;
/// Values that differ by this part have lost their accuracy.
const LOST: f64 = 0.01;
/// The finer run has a tolerance this many times finer, and a difference of more than this many tolerances is told.
pub(crate) const TOLD: f64 = 100.0;

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
        match estimate(system, options, solution, options.max_steps) {
            Ok(error) => report.estimated_error = Some(error),
            Err(because) => report.warnings.push(because.to_string()),
        }
    } else if report.status == "success" && is_cheap(system, &solution.run.statistics) {
        let estimated = estimate(system, options, solution, Some(most_steps(solution)));
        is_compared = !matches!(estimated, Err(NoEstimate::Failed));
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
                "Small errors grow in this model: {since} nothing is left of the accuracy asked, as runs with and without small errors show. \
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

/// A hundredth of the tolerance takes some three times as many steps; a run that takes many more than that tells nothing in time.
fn most_steps(solution: &Solution) -> usize {
    let statistics = &solution.run.statistics;
    SERIES * (statistics.steps + statistics.rejected + 1)
}

/// How the reason of a row begins whose errors have grown.
pub(crate) const GROWN: &str = "small errors grow";

/// What errors that grow have done to a run of a sweep; `None` if it keeps its accuracy, or did not come to its end.
pub(crate) fn grown(
    system: &System,
    options: &SolveOptions,
    solution: &Solution,
) -> Option<String> {
    if solution.run.stop != StopReason::Finished {
        return None;
    }
    let off = |error: f64| {
        format!("{GROWN}: the values at the end are off by about {error:.1e} of their sizes")
    };
    let lost = |time: f64| {
        format!("{GROWN}: from about t = {time:.4} on nothing is left of the accuracy asked")
    };
    match estimate(system, options, solution, Some(most_steps(solution))) {
        Ok(error) => (error > TOLD * solution.rtol).then(|| off(error)),
        Err(NoEstimate::EndsAt(time)) => Some(format!(
            "{GROWN}: a run with a finer tolerance ends at a singularity at t = {time}"
        )),
        Err(NoEstimate::Failed) => match fate(system, options, solution)? {
            Fate::Lost(time) => Some(lost(time)),
            Fate::Grown(error) => Some(off(error)),
        },
    }
}

/// The same for a run with events that came to its end: another one with a finer tolerance has the same events.
pub fn add_estimate_with_events(
    report: &mut SolveRecord,
    (model, system): (&Model, &System),
    options: &SolveOptions,
    solution: &HybridSolution,
    is_wanted: bool,
) {
    let mut work = solution.statistics;
    // What happens at an event costs about as much as so many series.
    work.jets += SERIES * solution.events.len();
    let is_cheap = is_cheap(system, &work);
    if !matches!(solution.end, HybridEnd::Finished) || !(is_wanted || is_cheap) {
        return;
    }
    let finer = SolveOptions {
        rtol: Some(solution.rtol / TOLD),
        progress: None,
        ..options.clone()
    };
    let taken = Taken {
        told_only: true,
        ..Taken::default()
    };
    let Ok((other, _)) = solve_sampled(model, system, &finer, taken) else {
        return;
    };
    if !matches!(other.end, HybridEnd::Finished) {
        return;
    }
    let (found, finer) = (solution.events.len(), other.events.len());
    // How many of those that accumulate are met is the tolerance's affair.
    if found != finer && solution.accumulated == 0 {
        report.warnings.push(format!(
            "A run with a finer tolerance has {finer} events, this one {found}: some of them hang on small errors. Compare with a smaller --rtol."
        ));
    }
    let pairs = solution.last.iter().zip(&other.last);
    let pairs = pairs.zip(system.unknowns());
    let error = pairs
        .map(|((x, y), info)| (x - y).abs() / y.abs().max(info.nominal.unwrap_or(1.0).abs()))
        .fold(0.0, f64::max);
    let is_large = error > TOLD * solution.rtol;
    if is_wanted || is_large {
        report.estimated_error = Some(error);
    }
    if is_large {
        report.warnings.push(large_error(error, solution.rtol));
    }
}

/// What has become of the accuracy of a long run.
enum Fate {
    /// Nothing is left of it from this time on.
    Lost(f64),
    /// The error at the end.
    Grown(f64),
}

/// Whether another run of the same kind takes no time that anybody notices.
fn is_cheap(system: &System, statistics: &Statistics) -> bool {
    let work = statistics.factorizations + statistics.residuals + SERIES * statistics.jets;
    work.saturating_mul(system.unknowns().len()) <= CHEAP
}

/// What errors that grow do to a long run, (R15); `None` if it keeps its accuracy.
///
/// The run and a shorter twin with small errors after every step come apart as errors grow.
fn fate(system: &System, options: &SolveOptions, solution: &Solution) -> Option<Fate> {
    let (statistics, from) = (&solution.run.statistics, solution.from);
    // What is continued behind the twin's end is a guess: where it costs nothing, it comes to the end of the run.
    let is_cheap = is_cheap(system, statistics);
    let shorter = SolveOptions {
        rtol: Some(solution.rtol),
        max_steps: Some(match is_cheap {
            true => most_steps(solution),
            false => statistics.steps / SHARE,
        }),
        ..options.clone()
    };
    let mut moved = again(system, &shorter, solution)?;
    let third = from + (solution.reached() - from) / SHARE as f64;
    if !is_cheap && (moved.reached() - from).abs() < (third - from).abs() {
        let longer = SolveOptions {
            to: Some(third),
            max_steps: Some(statistics.steps),
            ..shorter
        };
        moved = again(system, &longer, solution)?;
    }
    let reached = |run: &Solution| (run.reached() - from).abs();
    let span = (solution.reached() - from).signum() * reached(solution).min(reached(&moved));
    let n_looks = 200;
    let mut apart = Apart::new(system, solution, &moved);
    let samples: Vec<(f64, f64)> = (1..=n_looks)
        .map(|k| from + span * f64::from(k) / f64::from(n_looks))
        .filter_map(|time| Some((time - from, apart.at(time)?)))
        .map(|(passed, difference)| (passed.abs(), difference))
        .collect();
    let growth = Growth::of(&samples)?;
    let (passed, direction) = (reached(solution), span.signum());
    let grown = |error: f64| (error > TOLD * solution.rtol).then_some(Fate::Grown(error));
    // Both at the end: nothing is left to guess.
    if span.abs() == passed {
        let lost = growth.lost.map(|lost| Fate::Lost(from + direction * lost));
        return lost.or_else(|| grown(samples.last()?.1));
    }
    match growth.lost.or_else(|| growth.time_of(LOST)) {
        Some(lost) if lost < passed => Some(Fate::Lost(from + direction * lost)),
        _ => grown(growth.at(passed)),
    }
}

/// How two runs come apart.
struct Growth {
    /// The time passed until they differ by a hundredth for good.
    lost: Option<f64>,
    /// The time passed at the last look, and the difference there.
    last: (f64, f64),
    /// Whether the difference grows like an exponential of the time, or like a power of it.
    is_exponential: bool,
    /// The rate or the power.
    rate: f64,
}

impl Growth {
    /// Of the differences at some times after the start; `None` if there are none.
    fn of(samples: &[(f64, f64)]) -> Option<Self> {
        let is_lost = |(_, difference): &(f64, f64)| *difference >= LOST;
        let first = samples.iter().position(is_lost);
        // Jumps at slightly different times are no loss: the values agree again behind them.
        let for_good = first.filter(|&first| {
            let behind = &samples[first..];
            2 * behind.iter().filter(|sample| is_lost(sample)).count() >= behind.len()
        });
        // Differences that oscillate grow as the greatest ones do; one that its neighbours do not have is that of a jump at slightly
        // different times.
        let mut greatest = 0.0_f64;
        let mut envelope: Vec<(f64, f64)> = Vec::with_capacity(samples.len());
        for (at, (time, difference)) in samples.iter().enumerate() {
            let before = samples[at.saturating_sub(1)].1;
            let behind = samples.get(at + 1).map_or(*difference, |next| next.1);
            let usual = difference.clamp(before.min(behind), before.max(behind));
            greatest = greatest.max(usual);
            envelope.push((*time, greatest));
        }
        let (end, difference) = *envelope.last()?;
        let factor = |from: f64, to: f64| {
            let at = |part: f64| envelope.iter().find(|(time, _)| *time >= part * end);
            let [before, behind] = [at(from)?.1, at(to)?.1];
            (before > 0.0).then(|| (behind / before).ln())
        };
        // A power of the time grows by the same factor in each octave, an exponential by the square of the one before.
        let (earlier, later) = (factor(0.25, 0.5), factor(0.5, 1.0).unwrap_or(0.0));
        let is_faster = earlier.is_none_or(|earlier| later > 1.4 * earlier);
        let octaves = later / 2.0_f64.ln();
        // What grows by itself grows all the time. A switch at which differences begin makes one jump of them, and no rate.
        let halves = [(0.5, 0.75), (0.75, 1.0)].map(|(from, to)| factor(from, to).unwrap_or(0.0));
        // Of Lorenz's system the halves of an octave have 0.3 to 0.7 of its growth.
        let is_sustained = halves.iter().all(|half| *half > 0.2 * later);
        // Phases of oscillators grow with the power 1.5.
        let is_exponential = is_sustained && (octaves > 4.0 || octaves > 2.0 && is_faster);
        Some(Self {
            lost: for_good.map(|at| samples[at].0),
            last: (end, difference),
            is_exponential,
            rate: match is_exponential {
                true => later / (0.5 * end),
                false if is_sustained => octaves,
                false => octaves.min(1.5),
            },
        })
    }

    /// The difference at a time, continued behind the last look.
    fn at(&self, time: f64) -> f64 {
        let (end, difference) = self.last;
        match self.is_exponential {
            true => difference * (self.rate * (time - end).max(0.0)).exp(),
            false => difference * (time / end).max(1.0).powf(self.rate.max(0.0)),
        }
    }

    /// When an exponential comes to a difference.
    fn time_of(&self, difference: f64) -> Option<f64> {
        let (end, last) = self.last;
        (self.is_exponential && self.rate > 0.0).then(|| end + (difference / last).ln() / self.rate)
    }
}

/// The method that repeats a run with nudges.
fn one_step(method: Method) -> Method {
    match method {
        Method::Bdf => Method::Radau,
        other => other,
    }
}

/// The run once more from the same start, with nudges; by a method of one step, since nudges are noise in the history of bdf.
fn again(system: &System, options: &SolveOptions, solution: &Solution) -> Option<Solution> {
    // A run that chose its methods on the way chooses them again.
    let method = match (options.method, solution.method) {
        (None, Method::Taylor | Method::Radau) => None,
        (_, method) => Some(one_step(method)),
    };
    let options = SolveOptions {
        method,
        progress: None,
        nudge: NUDGE,
        ..options.clone()
    };
    let setup = Setup::new(system);
    let request = start_request(system, &options, solution.from).ok()?;
    let start = (solution.start.clone(), request);
    run_from(system, &setup, &options, start, &mut |_| {}).ok()
}

/// Says that errors have grown beyond what the tolerance promises.
fn large_error(error: f64, rtol: f64) -> String {
    if rtol < Method::Taylor.finest() {
        return format!(
            "The tolerance {rtol:.0e} is finer than numbers of 16 digits can show: the values at the end are off by about {error:.1e} of \
             their sizes. Ask for {:.0e} at most.",
            Method::Taylor.finest()
        );
    }
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
    max_steps: Option<usize>,
) -> Result<f64, NoEstimate> {
    let finer = SolveOptions {
        rtol: Some((solution.rtol / TOLD).max(solution.method.finest())),
        max_steps,
        ..options.clone()
    };
    let other = again(system, &finer, solution).ok_or(NoEstimate::Failed)?;
    let (a, b) = (solution.reached(), other.reached());
    // A finer run that ends earlier by a tolerance of the run has not reached the same end.
    let is_shorter = (b - solution.from).abs() < (1.0 - solution.rtol) * (a - solution.from).abs();
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
    let mut apart = Apart::new(system, solution, &other);
    apart.at(until).ok_or(NoEstimate::Failed)
}

/// Two runs that are compared; what reads them is made once.
struct Apart<'r> {
    readers: [Reader<'r>; 2],
    nominals: Vec<f64>,
}

impl<'r> Apart<'r> {
    fn new(system: &System, one: &'r Solution, other: &'r Solution) -> Self {
        let unknowns = system.unknowns().iter();
        Self {
            readers: [one, other].map(|run| run.reader(system)),
            nominals: unknowns
                .map(|info| info.nominal.unwrap_or(1.0).abs())
                .collect(),
        }
    }

    /// The largest difference at a time, against the size of each unknown; `None` where one has no values.
    fn at(&mut self, time: f64) -> Option<f64> {
        let [here, there] = self.readers.each_mut().map(|reader| reader.values(time));
        let (Ok(Some(here)), Ok(Some(there))) = (here, there) else {
            return None;
        };
        let pairs = here.iter().zip(&there).zip(&self.nominals);
        let differences = pairs.map(|((x, y), nominal)| (x - y).abs() / y.abs().max(*nominal));
        Some(differences.fold(0.0, f64::max))
    }
}
