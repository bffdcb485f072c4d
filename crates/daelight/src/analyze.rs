//! Where to look at a model, and what belongs to its passport.

use crate::point::read_point;
use daelight_analysis::initial::Request;
use daelight_analysis::interval::{DEFAULT_BUDGET, IntervalAnalysis};
use daelight_analysis::linear::{LinearSystem, NotLinear};
use daelight_analysis::passport::Passport;
use daelight_analysis::smoothness::{self, Path};
use daelight_analysis::{System, SystemError};
use daelight_lang::{Code, Diagnostic};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where to look at a model.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The time; by default the start of the experiment.
    pub at: Option<f64>,
    /// A file with values to start from instead of the model's start values.
    pub point: Option<PathBuf>,
    /// Values to start from by name; names that are no unknowns do not count.
    pub values: Vec<(String, f64)>,
    /// How long to work; by default that of a request.
    pub budget: Option<Duration>,
}

/// Tells which inputs are 0 because nobody gives them a signal.
pub(crate) fn silent_inputs(system: &System) -> Option<String> {
    silent(&system.silent_inputs().collect::<Vec<_>>())
}

/// The same by their names.
pub(crate) fn silent(inputs: &[&str]) -> Option<String> {
    let first = inputs.first()?;
    let names: Vec<String> = inputs.iter().map(|name| format!("`{name}`")).collect();
    let (what, are) = match names.len() {
        1 => ("The input", "has no signal and is 0"),
        _ => ("The inputs", "have no signals and are 0"),
    };
    Some(format!(
        "{what} {} {are}. Give one in the text, as in `{first} = sin(time)`, or drive it with `solve --input {first}=run.csv`.",
        names.join(", ")
    ))
}

/// Why there are no equations, in the user's terms.
pub(crate) fn system_error(error: SystemError) -> Box<Diagnostic> {
    Box::new(match &error {
        SystemError::CyclicInput { span, .. } => {
            Diagnostic::error(Code::CyclicParameters, *span, error.to_string())
                .label("its binding leads back to it")
                .help("define it by time and parameters")
        }
        _ => Diagnostic::placeless(Code::Unsupported, error.to_string()),
    })
}

/// What to look for: the start of the model, or the point of a file.
pub fn request(system: &System, place: &Place) -> Result<Request, Box<Diagnostic>> {
    let time = place.at.or(system.experiment().start_time).unwrap_or(0.0);
    let mut request = Request::of_model(system, time, 0);
    request.budget = place.budget.unwrap_or(request.budget);
    if let Some(path) = &place.point {
        for (unknown, value) in read_point(path, system)? {
            request.give(unknown, value);
        }
        // A point given is a place to look at; conditions of the model's own start do not belong to it.
        request.conditions.clear();
    } else if !place.values.is_empty() {
        for (unknown, info) in system.unknowns().iter().enumerate() {
            if let Some((_, value)) = place.values.iter().find(|(name, _)| *name == info.name) {
                request.give(unknown, *value);
            }
        }
        request.conditions.clear();
    } else if place.at.is_some() {
        let start = system.experiment().start_time.unwrap_or(0.0);
        if time != start {
            request.conditions.clear();
        }
    }
    Ok(request)
}

/// The prescribed motions of a model within its experiment: how often they are differentiated, how smooth they are.
pub fn paths(system: &System, passport: &Passport) -> Vec<Path> {
    let Some(part) = passport.structure() else {
        return Vec::new();
    };
    let experiment = system.experiment();
    let from = experiment.start_time.unwrap_or(0.0);
    let to = experiment.stop_time.unwrap_or(from + 1.0);
    let parameters = system.parameters().values();
    let times = part.times_differentiated();
    let start: Vec<f64> = (system.unknowns().iter())
        .map(|unknown| unknown.start.unwrap_or(0.0))
        .collect();
    let values = passport.values().unwrap_or(&start);
    let structure = &part.structure;
    let equations = system.equations();
    smoothness::paths(equations, structure, &times, parameters, values, (from, to))
}

/// The characteristic quantities of a linear model between two times; for others the reason why there are none.
pub fn analyze_interval(
    system: &System,
    (from, to): (f64, f64),
    budget: Duration,
) -> Result<IntervalAnalysis, NotLinear> {
    let deadline = Instant::now() + budget;
    let mut linear = LinearSystem::new(system)?;
    let evaluations = DEFAULT_BUDGET;
    Ok(IntervalAnalysis::until(
        Some(deadline),
        &mut linear,
        from,
        to,
        evaluations,
    ))
}
