//! The library against its references.

use super::SelftestOutcome;
use crate::tolerances::RTOL;
use crate::{SolveOptions, built_in_models};
use daelight_analysis::System;
use daelight_analysis::passport::PointVerdict;
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;
use serde_json::Value;
use std::time::Duration;

/// The methods that every listed solution is computed by.
const METHODS: [Method; 3] = [Method::Taylor, Method::Radau, Method::Bdf];
/// The error that still counts as right: 100 times the tolerance.
pub(super) const RIGHT: f64 = 1e-6;
/// Most time for a run.
const BUDGET: Duration = Duration::from_secs(10);

/// One reference of the library, tried.
pub struct LibraryRow {
    /// The model, with the parameters that were changed.
    pub model: String,
    /// What was asked: an index, or a solution by a method.
    pub question: String,
    /// What came of it.
    pub outcome: SelftestOutcome,
}

/// Tries every reference of the library, one row for each, as they come.
pub fn library(mut tell: impl FnMut(LibraryRow)) {
    for model in built_in_models() {
        let Ok(expected) = serde_json::from_str::<Value>(model.expected) else {
            tell(LibraryRow {
                model: model.name.into(),
                question: "expected.json".into(),
                outcome: SelftestOutcome::Wrong("it is not JSON".into()),
            });
            continue;
        };
        if expected["differentiation"]["index"].is_u64() {
            tell(LibraryRow {
                model: model.name.into(),
                question: "index".into(),
                outcome: index(model.name, &expected),
            });
        }
        for (set, listed) in groups(&expected) {
            let label = match set.as_object().filter(|set| !set.is_empty()) {
                None => model.name.to_string(),
                Some(set) => {
                    let changes: Vec<String> = set
                        .iter()
                        .map(|(name, value)| format!("{name}={value}"))
                        .collect();
                    format!("{} {}", model.name, changes.join(" "))
                }
            };
            for method in METHODS {
                tell(LibraryRow {
                    model: label.clone(),
                    question: format!("solution by {}", word(method)),
                    outcome: solution(model.name, set, &listed, method),
                });
            }
        }
    }
}

fn word(method: Method) -> &'static str {
    match method {
        Method::Taylor => "taylor",
        Method::Radau => "radau",
        Method::Bdf => "bdf",
    }
}

/// A number, or a string of more digits than a double holds.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    }
}

/// The solutions listed, those for the same parameters together.
fn groups(expected: &Value) -> Vec<(&Value, Vec<&Value>)> {
    let mut groups: Vec<(&Value, Vec<&Value>)> = Vec::new();
    let listed = expected["solution"].as_array().into_iter().flatten();
    for solution in listed.filter(|s| s["values"].is_object() && number(&s["time"]).is_some()) {
        match groups.iter_mut().find(|(set, _)| **set == solution["set"]) {
            Some((_, group)) => group.push(solution),
            None => groups.push((&solution["set"], vec![solution])),
        }
    }
    groups
}

fn system(name: &str, set: &Value) -> Result<System, String> {
    let changes = set.as_object().into_iter().flatten();
    let options = daelight_lang::Options {
        set: changes
            .map(|(name, value)| format!("{name}={value}"))
            .collect(),
        ..Default::default()
    };
    let loaded = crate::load(name, &options).map_err(|fault| fault.message)?;
    let model = loaded.model.ok_or("the model has errors")?;
    crate::system(&model).map_err(|fault| fault.message)
}

fn index(name: &str, expected: &Value) -> SelftestOutcome {
    let system = match system(name, &Value::Null) {
        Ok(system) => system,
        Err(message) => return SelftestOutcome::Wrong(message),
    };
    match crate::analyze(&system, &crate::Place::default()) {
        Ok(passport) => match &passport.verdict {
            PointVerdict::Regular => {
                let wanted = &expected["differentiation"];
                let Some(found) = passport.indices() else {
                    return SelftestOutcome::Open("the structure alone answers".into());
                };
                let dof = wanted["dof"].as_u64();
                let index = found.differentiation_index.map(|index| index as u64);
                let found_dof = found.degrees_of_freedom();
                if index == wanted["index"].as_u64()
                    && dof.is_none_or(|dof| dof == found_dof as u64)
                {
                    SelftestOutcome::Right(0.0)
                } else {
                    SelftestOutcome::Wrong(format!(
                        "index {index:?}, {found_dof} degrees of freedom"
                    ))
                }
            }
            PointVerdict::Singular { .. } => SelftestOutcome::Wrong("a singular point".into()),
            PointVerdict::Unknown { because } => SelftestOutcome::Open(because.clone()),
        },
        Err(fault) => SelftestOutcome::Open(fault.message),
    }
}

/// One run serves all times that are listed.
fn solution(name: &str, set: &Value, listed: &[&Value], method: Method) -> SelftestOutcome {
    let system = match system(name, set) {
        Ok(system) => system,
        Err(message) => return SelftestOutcome::Wrong(message),
    };
    let times = listed
        .iter()
        .filter_map(|solution| number(&solution["time"]));
    let options = SolveOptions {
        to: Some(times.fold(f64::NEG_INFINITY, f64::max)),
        rtol: Some(RTOL),
        method: Some(method),
        budget: Some(BUDGET),
        ..Default::default()
    };
    let Ok(run) = crate::solve(&system, &options) else {
        return SelftestOutcome::Open("no run by this method".into());
    };
    let mut reader = run.reader(&system);
    let mut worst: Option<f64> = None;
    for wanted in listed {
        let Some(time) = number(&wanted["time"]).filter(|time| *time >= run.from) else {
            continue;
        };
        // Between the points of an implicit method high derivatives are read off its pieces; the points are what it claims.
        if method != Method::Taylor && Some(time) != options.to {
            continue;
        }
        if time > run.reached() {
            match run.run.stop {
                StopReason::Finished => {
                    return SelftestOutcome::Wrong(format!("finished before t = {time}"));
                }
                _ => continue,
            }
        }
        let Ok(Some(values)) = reader.values(time) else {
            return SelftestOutcome::Open(format!("no values at t = {time}"));
        };
        let error = error(&system, &values, wanted);
        if error.is_nan() || error > RIGHT {
            return SelftestOutcome::Wrong(format!("error {error:.1e} at t = {time}"));
        }
        worst = Some(worst.unwrap_or(0.0).max(error));
    }
    match worst {
        Some(worst) => SelftestOutcome::Right(worst),
        None => SelftestOutcome::Open(format!("stopped at t = {}", run.reached())),
    }
}

/// The largest error in units of `nominal`, or of the value where that is larger.
fn error(system: &System, values: &[f64], wanted: &Value) -> f64 {
    let unknowns = system.unknowns().iter().zip(values);
    let errors = unknowns.filter_map(|(unknown, value)| {
        let exact = number(wanted["values"].get(&unknown.name)?)?;
        let unit = unknown.nominal.unwrap_or(1.0).max(exact.abs());
        Some((value - exact).abs() / unit)
    });
    // A value that is not a number must not pass.
    errors.fold(0.0, |worst, error| {
        if error > worst || error.is_nan() {
            error
        } else {
            worst
        }
    })
}
