//! The stiff problems of the public test sets: steps, time and error in tolerances of every method.
//!
//! Models and references are those of `crates/integrate/tests/stiff`. Peers are not run here.

use crate::table::{print, ratio, time, timed};
use daelight::{SolveOptions, solve};
use daelight_analysis::System;
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;

/// Tolerances that are asked for.
const RTOLS: [f64; 3] = [1e-4, 1e-7, 1e-10];

/// Steps after which a single method counts as hopeless.
const HOPELESS: usize = 50_000;

const METHODS: [(&str, Option<Method>); 4] = [
    ("auto", None),
    ("taylor", Some(Method::Taylor)),
    ("radau", Some(Method::Radau)),
    ("bdf", Some(Method::Bdf)),
];

/// Runs all problems by all methods.
pub fn run() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/integrate/tests/stiff"
    );
    let references = std::fs::read_to_string(format!("{folder}/references.txt"));
    let mut rows = Vec::new();
    for line in references.expect("the references are there").lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(end)) = (words.next(), words.next()) else {
            continue;
        };
        let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
        let (Ok(end), Ok(wanted)) = (end.parse::<f64>(), numbers) else {
            continue;
        };
        let file = format!("{folder}/{name}.mo");
        let source = if std::path::Path::new(&file).exists() {
            &file
        } else {
            name
        };
        let loaded = daelight::load(source, &Default::default()).expect("a model");
        let system = daelight::system(&loaded.model.expect("a model")).expect("a system");
        for rtol in RTOLS {
            for (label, method) in METHODS {
                let mut row = vec![
                    format!("{name} to {end:e}"),
                    format!("{rtol:e}"),
                    label.to_string(),
                ];
                row.extend(measure(&system, end, rtol, method, &wanted));
                rows.push(row);
            }
        }
    }
    let header = ["problem", "rtol", "method", "steps", "time", "error/tol"];
    print(&header, &rows);
}

/// Steps, time and error of one run; what ended it, if it did not come to the end.
fn measure(
    system: &System,
    end: f64,
    rtol: f64,
    method: Option<Method>,
    wanted: &[f64],
) -> [String; 3] {
    let options = SolveOptions {
        to: Some(end),
        rtol: Some(rtol),
        method,
        max_steps: method.map(|_| HOPELESS),
        ..SolveOptions::default()
    };
    let (solution, nanoseconds) = timed(|| solve(system, &options).ok());
    let Some(solution) = solution else {
        return ["-".into(), "-".into(), "no start".into()];
    };
    let steps = solution.run.statistics.steps.to_string();
    if solution.run.stop != StopReason::Finished {
        return [steps, "-".into(), "not solved".into()];
    }
    let values = solution.reader(system).values(end).ok().flatten();
    let error = values.map_or(f64::NAN, |values| {
        let unknowns = system.unknowns().iter().zip(&values).zip(wanted);
        unknowns
            .map(|((unknown, value), wanted)| {
                let unit = wanted.abs() + unknown.nominal.unwrap_or(1.0);
                (value - wanted).abs() / (rtol * unit)
            })
            .fold(0.0, f64::max)
    });
    [steps, time(nanoseconds), ratio(error)]
}
