//! What runs say: how they ended, and their measures.

use super::along::{Along, reached};
use super::measure::{Answer, Measure, Measured, number};
use crate::Reader;
use crate::hybrid::{HybridSolution, solve_hybrid};
use crate::record;
use crate::solve::{NoRun, Setup, Solution, SolveOptions, solve_prepared};
use daelight_analysis::System;
use daelight_integrate::{BudgetKind, StopReason};
use daelight_lang::Model;

/// A run, with events or without.
pub(super) enum Ran {
    Plain(Box<Solution>),
    WithEvents(Box<HybridSolution>),
}

/// Runs a model; one with events comes with its text as a model.
pub(super) fn run(
    model: Option<&Model>,
    system: &System,
    setup: Option<&Setup>,
    options: &SolveOptions,
) -> Result<Ran, NoRun> {
    if let Some(model) = model.filter(|model| model.hybrid.is_some()) {
        let found = solve_hybrid(model, system, options);
        return found
            .map(|solution| Ran::WithEvents(solution.into()))
            .map_err(|(_, no_run)| no_run);
    }
    let is_square = system.equations().n_equations() == system.equations().n_unknowns();
    let found = match setup {
        _ if !is_square => return Err(NoRun::NotSquare),
        Some(setup) => solve_prepared(system, setup, options, &mut |_| {}),
        None => solve_prepared(system, &Setup::new(system), options, &mut |_| {}),
    };
    found.map(|solution| Ran::Plain(solution.into()))
}

/// What a run says; one with events is asked with its model.
pub(super) fn of_run(
    measure: &Measure,
    (model, system): (Option<&Model>, &System),
    run: &Result<Ran, NoRun>,
) -> Answer {
    let run = match run {
        Ok(run) => run,
        Err(_) if *measure == Measure::Status => return word("failure"),
        Err(no_run) => return Err(no_run_words(no_run)),
    };
    let end = Ending::of(model, run);
    match (measure, run) {
        (Measure::Status, _) => word(end.status),
        (Measure::FirstSingularTime, _) => match run.first_singular_time().or(end.singular_time) {
            Some(time) => number(time),
            None if end.status == "success" => Err(no_singularity(run.reached())),
            None => Err(end.words),
        },
        (Measure::SigmaMin, Ran::Plain(solution)) => sigma_min(solution),
        _ if end.status != "success" => Err(end.words),
        (_, Ran::Plain(solution)) => {
            let of = (system, system.parameters().values());
            of_values(measure, |name| {
                Along::of_reader(of, name, solution.reader(system))
            })
        }
        (_, Ran::WithEvents(solution)) => {
            of_values(measure, |name| Along::of_events(system, name, solution))
        }
    }
}

/// What a run says that was done beside others with these parameters and came to its end, along which `reader` reads.
pub(super) fn of_success(measure: &Measure, of: (&System, &[f64]), reader: Reader<'_>) -> Answer {
    match measure {
        Measure::Status => word("success"),
        Measure::FirstSingularTime => Err(no_singularity(reached(&reader))),
        _ => of_values(measure, |name| Along::of_reader(of, name, reader)),
    }
}

impl Ran {
    /// The time reached.
    pub fn reached(&self) -> f64 {
        match self {
            Self::Plain(solution) => solution.reached(),
            Self::WithEvents(solution) => solution.reached,
        }
    }

    fn first_singular_time(&self) -> Option<f64> {
        match self {
            Self::Plain(solution) => solution.singularities.first().map(|s| s.found.time),
            Self::WithEvents(solution) => solution.singularities.first().map(|s| s.time),
        }
    }
}

fn no_singularity(reached: f64) -> String {
    format!("no singularity up to t = {reached}")
}

/// What one quantity along a run says.
fn of_values<'a>(
    measure: &Measure,
    along: impl FnOnce(&str) -> Result<Along<'a>, String>,
) -> Answer {
    match measure {
        Measure::Final(name) => along(name)?.at_end(),
        Measure::Max(name) => along(name)?.greatest(|x| x),
        Measure::Min(name) => {
            // The greatest value of the negative; without the sign of a zero.
            let least = along(name)?.greatest(|x| -x)?;
            least
                .number()
                .map_or(Ok(Measured::Missing), |x| number(0.0 - x))
        }
        Measure::MaxAbs(name) => along(name)?.greatest(f64::abs),
        _ => Err(format!("{measure} is not a matter of runs")),
    }
}

fn word(word: &str) -> Answer {
    Ok(Measured::Word(word.to_string()))
}

fn sigma_min(solution: &Solution) -> Answer {
    let mut inspector = solution
        .inspector()
        .ok_or("the structure does not hold along the run")?;
    let trajectory = &solution.run.trajectory;
    let mut coefficients = vec![0.0; inspector.n_coefficients()];
    let mut least = f64::INFINITY;
    let segments = trajectory.segments().iter();
    for time in segments
        .map(|segment| segment.start)
        .chain([solution.reached()])
    {
        if !trajectory.extrapolate(time, &mut coefficients) {
            continue;
        }
        let inspection = inspector.inspect(time, &coefficients);
        let inspection = inspection.map_err(|failure| format!("at t = {time}: {failure}"))?;
        if inspection.sigma_min.is_nan() {
            return Err("a block is too large".to_string());
        }
        least = least.min(inspection.sigma_min);
    }
    number(least)
}

/// How a run ended.
struct Ending {
    status: &'static str,
    words: String,
    /// The time of a singularity that ended it without being met.
    singular_time: Option<f64>,
}

impl Ending {
    fn of(model: Option<&Model>, run: &Ran) -> Self {
        match (run, model) {
            (Ran::Plain(solution), _) => Self::of_plain(solution),
            (Ran::WithEvents(solution), Some(model)) => Self::of_events(model, solution),
            (Ran::WithEvents(_), None) => Self::failure("the run has no model".to_string()),
        }
    }

    fn failure(words: String) -> Self {
        Self {
            status: "failure",
            words,
            singular_time: None,
        }
    }

    /// In the words of `solve`.
    fn of_events(model: &Model, solution: &HybridSolution) -> Self {
        let told = record::hybrid(model, solution, None);
        Self {
            status: told.status,
            words: match told.status {
                "success" => String::new(),
                _ => told.message,
            },
            singular_time: (told.status == "singularity").then_some(told.time),
        }
    }

    fn of_plain(solution: &Solution) -> Self {
        let reached = solution.reached();
        let failure = Self::failure;
        let singular = |words: String, time: f64| Self {
            status: "singularity",
            words,
            singular_time: Some(time),
        };
        match &solution.run.stop {
            StopReason::Stopped { time } if !solution.broken.is_empty() => failure(format!(
                "an assertion of the model fails at t = {time}: {}",
                solution.broken.join("; ")
            )),
            StopReason::Finished | StopReason::Stopped { .. } => Self {
                status: "success",
                words: String::new(),
                singular_time: None,
            },
            StopReason::Singularity => {
                let met = solution.singularities.last().map(|s| s.found.time);
                let time = met.unwrap_or(reached);
                singular(format!("singularity at t = {time}"), time)
            }
            StopReason::FiniteEscape { time, .. } => {
                singular(format!("grows without bound towards t = {time}"), *time)
            }
            StopReason::IndexChange { time, .. } => {
                singular(format!("the index changes at t = {time}"), *time)
            }
            StopReason::ErrorsGrow { time, .. } => {
                failure(format!("errors take over towards t = {time}"))
            }
            StopReason::Interrupted => failure("interrupted".to_string()),
            StopReason::AccuracyLost { time, .. } => {
                failure(format!("the accuracy cannot be kept at t = {time}"))
            }
            StopReason::Rewriting { time, .. } => failure(format!(
                "the rewritten equations are singular at t = {time}, perhaps not the model"
            )),
            StopReason::Chattering {
                time,
                leads_back: true,
                ..
            } => failure(format!("the model chatters at t = {time}")),
            StopReason::Chattering { time, .. } => {
                failure(format!("no solution goes on from the switch at t = {time}"))
            }
            StopReason::Meeting { time, .. } => {
                failure(format!("two solutions meet at t = {time} and end"))
            }
            StopReason::Budget(kind) => {
                let what = match kind {
                    BudgetKind::Steps => "steps are",
                    BudgetKind::Time => "time is",
                    BudgetKind::Memory => "memory is",
                };
                failure(format!("the {what} used up at t = {reached}"))
            }
            StopReason::Failed { time, failure: why } => {
                failure(format!("the run ended at t = {time}: {why}"))
            }
            other => failure(format!("the run ended at t = {reached}: {other:?}")),
        }
    }
}

/// Why there is no run, in a few words.
fn no_run_words(no_run: &NoRun) -> String {
    match no_run {
        NoRun::Fault(diagnostic) => diagnostic.message.clone(),
        NoRun::NotSquare => "equations and unknowns do not match".to_string(),
        NoRun::NoStart(_) => "no consistent start was found".to_string(),
        NoRun::SingularStart(_) => "the start is a singular point".to_string(),
        NoRun::Undetermined(_) => "the equations leave unknowns free".to_string(),
        NoRun::Equations(why) => why.clone(),
        NoRun::Start(error) => error.to_string(),
        NoRun::BeyondData { input, .. } => format!("the data of `{input}` do not cover the run"),
    }
}

/// Why a run did not succeed, for its status.
pub(super) fn reason_of_run(model: Option<&Model>, run: &Result<Ran, NoRun>) -> Option<String> {
    match run {
        Err(no_run) => Some(no_run_words(no_run)),
        Ok(run) => Some(Ending::of(model, run).words).filter(|words| !words.is_empty()),
    }
}
