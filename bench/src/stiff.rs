//! The stiff problems of the public test sets: error in tolerances first, then steps and time of every method, beside SciPy.
//!
//! Models and references are those of `crates/integrate/tests/stiff`. `stiff NAME …` runs some of them, `stiff --peers` runs
//! SciPy's Radau, BDF and LSODA on equations of their own as well (`peers/stiff_scipy.py`).

use crate::peers::Peers;
use crate::table::{print, ratio, time, timed};
use daelight::{SolveOptions, solve};
use daelight_analysis::System;
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;
use std::time::{Duration, Instant};

/// Tolerances that are asked for.
const RTOLS: [f64; 3] = [1e-4, 1e-7, 1e-10];

/// Steps and time after which a single method counts as hopeless.
const HOPELESS: usize = 50_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs that take longer than this are made once.
const LONG: Duration = Duration::from_millis(300);

const METHODS: [(&str, Option<Method>); 4] = [
    ("auto", None),
    ("taylor", Some(Method::Taylor)),
    ("radau", Some(Method::Radau)),
    ("bdf", Some(Method::Bdf)),
];

/// What a run gave.
struct Measured {
    steps: usize,
    nanoseconds: f64,
    /// The largest error at the end in tolerances rtol (|x| + nominal), or why there is none.
    error: Result<f64, &'static str>,
}

/// A problem with its end and its values there.
struct Listed {
    name: String,
    end: f64,
    wanted: Vec<f64>,
    system: System,
}

fn folder() -> String {
    format!(
        "{}/../crates/integrate/tests/stiff",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// The problems that are asked for, or all.
fn listed(names: &[&str]) -> Vec<Listed> {
    let folder = folder();
    let references = std::fs::read_to_string(format!("{folder}/references.txt"));
    let mut found = Vec::new();
    for line in references.expect("the references are there").lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(end)) = (words.next(), words.next()) else {
            continue;
        };
        let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
        let (Ok(end), Ok(wanted)) = (end.parse::<f64>(), numbers) else {
            continue;
        };
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let file = format!("{folder}/{name}.mo");
        let source = if std::path::Path::new(&file).exists() {
            &file
        } else {
            name
        };
        let loaded = daelight::load(source, &Default::default()).expect("a model");
        found.push(Listed {
            name: name.to_string(),
            end,
            wanted,
            system: daelight::system(&loaded.model.expect("a model")).expect("a system"),
        });
    }
    found
}

/// Runs problems by all methods, those of SciPy if asked for.
pub fn run(names: &[&str]) {
    let with_peers = names.contains(&"--peers");
    let names: Vec<&str> = names.iter().copied().filter(|n| *n != "--peers").collect();
    let (mut over_best, mut errors) = (Vec::new(), Vec::new());
    for problem in listed(&names) {
        let mut rows = Vec::new();
        for rtol in RTOLS {
            let all = METHODS.map(|(label, method)| (label, measure(&problem, rtol, method)));
            let best = all[1..]
                .iter()
                .filter(|(_, found)| found.error.is_ok())
                .map(|(_, found)| found.nanoseconds)
                .fold(f64::INFINITY, f64::min);
            for (label, found) in &all {
                if let Ok(error) = found.error {
                    errors.push((error, format!("{} {rtol:e} {label}", problem.name)));
                }
                rows.push(vec![
                    format!("{} to {:e}", problem.name, problem.end),
                    format!("{rtol:e}"),
                    (*label).to_string(),
                    found
                        .error
                        .map_or_else(str::to_string, |error| format!("{error:.1e}")),
                    found.steps.to_string(),
                    time(found.nanoseconds),
                    ratio(found.nanoseconds / best),
                ]);
            }
            if all[0].1.error.is_ok() && best.is_finite() {
                let label = format!("{} {rtol:e}", problem.name);
                over_best.push((all[0].1.nanoseconds / best, label));
            }
        }
        print(&HEADER, &rows);
    }
    summary("auto over the best of our methods", over_best, 1.5);
    let (small, large) = errors.into_iter().partition(|(error, _)| *error < 1.0);
    summary("errors of at least one tolerance", large, 10.0);
    let inverse = |(error, label): (f64, String)| (1.0 / error, label);
    let small: Vec<_> = Vec::into_iter(small).map(inverse).collect();
    summary("tolerance over error, of the others", small, 100.0);
    if with_peers {
        peers();
    }
}

const HEADER: [&str; 7] = [
    "problem",
    "rtol",
    "method",
    "error/tol",
    "steps",
    "time",
    "over best",
];

/// Number, median and greatest of a list, and what is above a bound.
fn summary(what: &str, mut list: Vec<(f64, String)>, bound: f64) {
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(middle), Some(last)) = (list.get(list.len() / 2), list.last()) else {
        return;
    };
    let above = list.iter().filter(|(x, _)| *x > bound);
    let above: Vec<String> = above.map(|(x, label)| format!("{label} {x:.1e}")).collect();
    println!(
        "{what}: {} runs, median {:.2e}, greatest {:.2e} ({}); above {bound}: {}",
        list.len(),
        middle.0,
        last.0,
        last.1,
        if above.is_empty() {
            "none".to_string()
        } else {
            above.join(", ")
        }
    );
}

/// Error, steps and time of one run; what ended it, if it did not come to the end.
fn measure(problem: &Listed, rtol: f64, method: Option<Method>) -> Measured {
    let system = &problem.system;
    let options = SolveOptions {
        to: Some(problem.end),
        rtol: Some(rtol),
        method,
        max_steps: method.map(|_| HOPELESS),
        budget: Some(PATIENCE),
        ..SolveOptions::default()
    };
    let begin = Instant::now();
    let first = solve(system, &options).ok();
    let took = begin.elapsed();
    let (solution, nanoseconds) = match took {
        _ if took > LONG => (first, took.as_nanos() as f64),
        _ => timed(|| solve(system, &options).ok()),
    };
    let Some(solution) = solution else {
        return Measured {
            steps: 0,
            nanoseconds: f64::NAN,
            error: Err("no start"),
        };
    };
    let steps = solution.run.statistics.steps;
    if solution.run.stop != StopReason::Finished {
        return Measured {
            steps,
            nanoseconds,
            error: Err("not solved"),
        };
    }
    let values = solution.reader(system).values(problem.end).ok().flatten();
    let error = values.map(|values| {
        let unknowns = system.unknowns().iter().zip(&values).zip(&problem.wanted);
        unknowns
            .map(|((unknown, value), wanted)| {
                let unit = wanted.abs() + unknown.nominal.unwrap_or(1.0);
                (value - wanted).abs() / (rtol * unit)
            })
            .fold(0.0, f64::max)
    });
    Measured {
        steps,
        nanoseconds,
        error: error.ok_or("no values"),
    }
}

/// SciPy's methods at the same tolerances.
fn peers() {
    let peers = Peers::environment();
    let mut rows = Vec::new();
    for rtol in RTOLS {
        for method in ["Radau", "BDF", "LSODA"] {
            let arguments = [
                format!("{}/references.txt", folder()).into(),
                method.into(),
                rtol.to_string().into(),
            ];
            match peers.solver("stiff_scipy.py", &["numpy", "scipy"], &arguments) {
                Ok(documents) => rows.extend(documents.into_iter().map(|found| {
                    let text = |key: &str| found[key].to_string().replace('"', "");
                    let error = match found["error"].as_f64() {
                        Some(error) => format!("{error:.1e}"),
                        None => text("error"),
                    };
                    let seconds = found["seconds"].as_f64().unwrap_or(f64::NAN);
                    let problem = format!("{} to {}", text("name"), text("to"));
                    let label = format!("SciPy {method}");
                    vec![
                        problem,
                        format!("{rtol:e}"),
                        label,
                        error,
                        time(1e9 * seconds),
                    ]
                })),
                Err(why) => eprintln!("PEER MISSING: SciPy: {why}"),
            }
        }
    }
    rows.sort();
    print(&["problem", "rtol", "method", "error/tol", "time"], &rows);
}
