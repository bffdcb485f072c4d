//! The stiff problems of the public test sets: error in tolerances first, then steps and time of every method, beside the peers.
//!
//! Models and references are those of `crates/integrate/tests/stiff`. `stiff NAME …` runs some of them. `stiff --peers` compares `auto` with RADAU5,
//! CVODE, IDA and diffsol on equations written by hand (`peers/stiff_problems.hpp`) at the error that is achieved (with `--kept` by what they answered the last time), `stiff --scipy` tells what SciPy's
//! Radau, BDF and LSODA take (`peers/stiff_scipy.py`).

use crate::peers::Peers;
use crate::table::{print, ratio, time, timed};
use daelight::{Setup, Solution, SolveOptions, solve, solve_prepared};
use daelight_analysis::System;
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;
use serde_json::Value;
use std::time::{Duration, Instant};

#[path = "../../tests/support/processor.rs"]
mod processor;

/// Tolerances that are asked for.
const RTOLS: [f64; 3] = [1e-4, 1e-7, 1e-10];

/// Steps and time after which a single method counts as hopeless.
const HOPELESS: usize = 50_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs that take longer than this are made once.
const LONG: Duration = Duration::from_millis(300);

/// Short runs are timed together, for as long as this.
const BATCH: Duration = Duration::from_millis(5);

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

/// Runs problems by all methods, or beside the peers.
pub fn run(arguments: &[&str]) {
    let asks = |flag: &str| arguments.contains(&flag);
    let names = arguments.iter().copied().filter(|n| !n.starts_with("--"));
    let names: Vec<&str> = names.collect();
    if asks("--peers") {
        return beside_peers(&names, asks("--kept"));
    }
    if asks("--scipy") {
        return scipy();
    }
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
    let error = error_of(problem, &solution).map(|error| error / rtol);
    Measured {
        steps,
        nanoseconds,
        error: error.ok_or("no values"),
    }
}

/// The least time of a run that is as exact as a level asks for, with the tolerance that took it.
type Best = Option<(f64, f64)>;

/// The errors that runs are compared at, as parts of |x| + nominal.
const LEVELS: [f64; 3] = RTOLS;

/// Error, nanoseconds and tolerance of a run.
type Scanned = (f64, f64, f64);

/// The quickest run for each level, of (error, time, tolerance).
fn quickest(runs: &[Scanned]) -> [Best; 3] {
    LEVELS.map(|level| {
        let good = runs.iter().filter(|(error, ..)| *error <= level);
        good.map(|(_, time, tolerance)| (*time, *tolerance))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    })
}

/// Runs of `auto` at tolerances from 1e-3 to 1e-12: error, processor time with the start and without reading and analysis, tolerance.
fn own_scan(problem: &Listed) -> Vec<Scanned> {
    let setup = Setup::new(&problem.system);
    let mut runs = Vec::new();
    for k in 6..=24 {
        let rtol = 10f64.powf(-f64::from(k) / 2.0);
        let options = SolveOptions {
            to: Some(problem.end),
            rtol: Some(rtol),
            budget: Some(PATIENCE),
            ..SolveOptions::default()
        };
        let run = || solve_prepared(&problem.system, &setup, &options, &mut |_| {}).ok();
        let begin = Instant::now();
        let (solution, mut shortest) = processor::timed(run);
        // Telling the time takes as long as a short run.
        let n_runs = (BATCH.as_nanos() / shortest.as_nanos().max(1)).clamp(1, 100) as u32;
        while shortest < LONG && begin.elapsed() < LONG {
            let ((), took) = processor::timed(|| (0..n_runs).for_each(|_| drop(run())));
            shortest = shortest.min(took / n_runs);
        }
        let error = solution.and_then(|solution| error_of(problem, &solution));
        runs.extend(error.map(|error| (error, shortest.as_nanos() as f64, rtol)));
    }
    runs
}

/// The largest error at the end as a part of |x| + nominal; `None` for a run that did not come to its end.
fn error_of(problem: &Listed, solution: &Solution) -> Option<f64> {
    let is_finished = solution.run.stop == StopReason::Finished;
    let mut reader = is_finished.then(|| solution.reader(&problem.system))?;
    let values = reader.values(problem.end).ok().flatten()?;
    Some(largest_error(problem, &values))
}

fn largest_error(problem: &Listed, values: &[f64]) -> f64 {
    let unknowns = problem.system.unknowns().iter();
    let pairs = unknowns.zip(values).zip(&problem.wanted);
    pairs
        .map(|((unknown, value), wanted)| {
            (value - wanted).abs() / (wanted.abs() + unknown.nominal.unwrap_or(1.0))
        })
        .fold(0.0, f64::max)
}

/// `auto` beside the peers: the quickest run of each that is as exact as asked, and the ratio to the best peer.
fn beside_peers(names: &[&str], reuse: bool) {
    let peers = Peers::environment();
    let mut theirs = Vec::new();
    for (tool, documents) in [
        (
            "RADAU5",
            peers.kept("radau5", reuse, || peers.stiff_radau5()),
        ),
        (
            "CVODE and IDA",
            peers.kept("sundials", reuse, || peers.stiff_sundials()),
        ),
        (
            "diffsol",
            peers.kept("diffsol", reuse, || peers.stiff_diffsol()),
        ),
    ] {
        match documents {
            Ok(documents) => theirs.extend(documents),
            Err(why) => println!("PEER MISSING: {tool}: {why}"),
        }
    }
    let (mut ratios, mut n_ahead) = (Vec::new(), 0);
    for problem in listed(names) {
        let ours = quickest(&own_scan(&problem));
        let mut tools: Vec<(String, Vec<Scanned>)> = Vec::new();
        let same = |found: &&Value| {
            found["problem"] == problem.name.as_str() && found["end"] == problem.end
        };
        for found in theirs.iter().filter(same) {
            let text = |key: &str| found[key].as_str().unwrap_or("").to_string();
            let label = format!("{} {}, {}", text("tool"), text("version"), text("form"));
            let values: Vec<f64> = match found["values"].as_array() {
                Some(values) => values.iter().filter_map(Value::as_f64).collect(),
                None => Vec::new(),
            };
            let number = |key: &str| found[key].as_f64().unwrap_or(f64::NAN);
            if found["success"] == true && values.len() >= problem.wanted.len().min(8) {
                let run = (
                    largest_error(&problem, &values),
                    1e9 * number("solve"),
                    number("tolerance"),
                );
                match tools.iter_mut().find(|(name, _)| *name == label) {
                    Some((_, runs)) => runs.push(run),
                    None => tools.push((label, vec![run])),
                }
            }
        }
        let quickest: Vec<_> = tools.iter().map(|(l, runs)| (l, quickest(runs))).collect();
        let mut rows = Vec::new();
        for (at, level) in LEVELS.iter().enumerate() {
            let found = quickest
                .iter()
                .filter_map(|(label, best)| Some((label, best[at]?)));
            let best = found.clone().map(|(_, (time, _))| time);
            let best = best.fold(f64::INFINITY, f64::min);
            let what = format!("{} to {:e}", problem.name, problem.end);
            let mut row = |tool: &str, (nanoseconds, tolerance): (f64, f64)| {
                rows.push(vec![
                    what.clone(),
                    format!("{level:e}"),
                    tool.to_string(),
                    format!("{tolerance:.0e}"),
                    time(nanoseconds),
                    ratio(nanoseconds / best),
                ]);
            };
            match ours[at] {
                Some(run) => {
                    row("daelight auto", run);
                    if best.is_finite() {
                        n_ahead += usize::from(run.0 < best);
                        ratios.push((run.0 / best, format!("{} {level:e}", problem.name)));
                    }
                }
                None => row("daelight auto", (f64::NAN, f64::NAN)),
            }
            found.for_each(|(label, run)| row(label, run));
        }
        print(
            &[
                "problem",
                "error",
                "tool",
                "tolerance",
                "time",
                "over best peer",
            ],
            &rows,
        );
    }
    println!("ahead of every peer in {n_ahead} of {}", ratios.len());
    summary("auto over the best peer", ratios, 1.5);
}

/// SciPy's methods at the same tolerances.
fn scipy() {
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
