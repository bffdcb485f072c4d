//! Whole runs: error against time of daelight and its peers, tolerances tuned to the accuracy that is achieved.

use crate::peers::Peers;
use crate::table::{print, ratio, time, timed};
use daelight_analysis::{Reduced, System};
use daelight_expr::Jet;
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::taylor::Taylor;
use daelight_integrate::{Options, Problem, Run, Start, StopReason, Tolerances};
use daelight_lang::Options as Reading;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The accuracies that runs are compared at.
const TARGETS: [f64; 2] = [1e-6, 1e-9];
/// The accuracy that is asked of the robotic arm.
const ARM_TARGET: f64 = 1e-10;
/// x1 to x8 of the robotic arm at t = 1.5: x1 = 1 - e^t, x3 = e^t - t, the others from the equations and their derivatives in
/// 60-digit arithmetic, which gives all listed digits of the model's reference at t = 1 and 1.4.
const ARM_END: [f64; 8] = [
    -3.481_689_070_338_065,
    5.311_338_020_351_911,
    2.981_689_070_338_065,
    -4.481_689_070_338_065,
    15.980_656_522_571_287,
    3.481_689_070_338_065,
    -0.886_555_289_157_735_1,
    36.773_568_640_429_93,
];
/// The tolerance of the runs that serve as reference where the library has none.
const REFERENCE: f64 = 1e-13;

/// A problem: a model of the library, where it ends, and what is compared there.
struct Case {
    /// The name under which peers know it.
    name: String,
    model: &'static str,
    set: Vec<String>,
    end: f64,
    compared: Vec<String>,
    reference: Vec<f64>,
    /// Errors are relative to the values, or to this where they are smaller.
    least_size: f64,
    source: &'static str,
}

/// One run of one tool with one tolerance. Times in nanoseconds.
#[derive(Clone)]
struct Sample {
    tool: String,
    form: String,
    tolerance: f64,
    setup: f64,
    solve: f64,
    /// From text to answer: for a peer set-up and run, its text being a program.
    whole: f64,
    /// `None` for a run that says that it failed.
    error: Option<f64>,
    message: String,
}

/// The tolerances that are tried.
fn tolerances() -> impl Iterator<Item = f64> {
    (6..=26).map(|k| 10f64.powf(-f64::from(k) / 2.0))
}

/// Runs everything; all runs are written to the file, or to `bench/results/solve.csv`.
pub fn run(csv: Option<&str>) {
    let peers = Peers::environment();
    let mut cases = cases();
    let mut theirs = Vec::new();
    let scripts: [(&str, &str, &[&str]); 3] = [
        ("heyoka", "solve_heyoka.py", &["heyoka", "numpy"]),
        ("casadi", "solve_casadi.py", &["casadi", "numpy"]),
        (
            "scipy_dae",
            "solve_scipy_dae.py",
            &["numpy", "scipy", "scipy_dae"],
        ),
    ];
    let mut keep = |tool: &str, documents: Result<Vec<Value>, String>| match documents {
        Ok(documents) => theirs.extend(documents),
        Err(why) => println!("PEER MISSING: {tool}: {why}"),
    };
    for (tool, script, packages) in scripts {
        println!("running {tool} ...");
        keep(tool, peers.solver(script, packages, &[]));
    }
    println!("building and running diffsol ...");
    keep("diffsol", peers.built_solver("diffsol"));
    println!("compiling and running RADAU5 ...");
    keep("RADAU5", peers.radau5());
    println!();
    let mut all = Vec::new();
    for case in &mut cases {
        println!("## {}, t = {}", case.name, case.end);
        let mut samples = own(case);
        let documents = theirs.iter().filter(|d| d["problem"] == case.name.as_str());
        samples.extend(documents.map(|document| sample(case, document)));
        println!("reference: {}", case.source);
        if case.source.starts_with("own") {
            confirm(&samples);
        }
        report(&samples);
        all.push((case.name.clone(), samples));
    }
    targets(&all);
    match write_csv(&all, csv) {
        Ok(path) => println!("\nall runs: {path}"),
        Err(why) => eprintln!("the runs were not written: {why}"),
    }
}

/// The problems with their reference values.
fn cases() -> Vec<Case> {
    let names = |words: &[&str]| words.iter().map(|w| w.to_string()).collect::<Vec<_>>();
    let case = |model: &'static str, end: f64, compared: Vec<String>| Case {
        name: model.to_string(),
        model,
        set: Vec::new(),
        end,
        reference: listed(model, end, &compared).unwrap_or_default(),
        compared,
        least_size: 1.0,
        source: "the model's expected.json",
    };
    let angles = (1..=7).map(|i| format!("q[{i}]")).collect();
    let mut akzo = case(
        "akzo-nobel",
        180.0,
        (1..=6).map(|i| format!("y{i}")).collect(),
    );
    akzo.least_size = 1e-3;
    let mut arm = case(
        "robotic-arm",
        1.5,
        (1..=8).map(|i| format!("x{i}")).collect(),
    );
    arm.reference = ARM_END.to_vec();
    arm.source = "closed form";
    let mut cases = vec![
        case("pendulum", 10.0, names(&["x", "y"])),
        case("andrews", 0.03, angles),
        akzo,
        arm,
        case("index3-toy", 1.0, names(&["x1", "x2", "x3"])),
    ];
    for n in [10, 100, 1000] {
        let places = ["x", "y"].into_iter();
        let compared = places.flat_map(|word| (1..=n).map(move |i| format!("{word}[{i}]")));
        let mut chain = case("pendulum-chain", 1.0, compared.collect());
        chain.name = format!("pendulum-chain {n}");
        chain.set = vec![format!("N={n}")];
        if n != 10 {
            chain.reference.clear();
        }
        cases.push(chain);
    }
    for case in cases.iter_mut().filter(|case| case.reference.is_empty()) {
        let prepared = Prepared::new(case);
        case.reference = prepared.end(case, &prepared.run(case, REFERENCE));
        case.source = "own run with tolerance 1e-13";
    }
    cases
}

/// The values that the library lists for a model at a time.
fn listed(model: &str, end: f64, compared: &[String]) -> Option<Vec<f64>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let text = std::fs::read_to_string(folder.join(model).join("expected.json")).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    let is_meant = |solution: &&Value| {
        let is_plain = solution["set"].as_object().is_none_or(|set| set.is_empty());
        is_plain && number(&solution["time"]) == Some(end)
    };
    let mut solutions = document["solution"].as_array()?.iter().filter(is_meant);
    solutions.find_map(|solution| {
        let values = compared
            .iter()
            .map(|name| number(&solution["values"][name]));
        values.collect()
    })
}

/// A model made ready to run.
struct Prepared {
    system: System,
    reduced: Reduced,
    problem: Problem,
    start: Start,
}

impl Prepared {
    fn new(case: &Case) -> Self {
        let reading = Reading {
            set: case.set.clone(),
            ..Reading::default()
        };
        let loaded = daelight::load(case.model, &reading).expect("a built-in model");
        let model = loaded.model.expect("built-in models are right");
        let system = daelight::system(&model).unwrap_or_else(|why| panic!("{why:?}"));
        let reduced = Reduced::new(&system);
        let problem = Problem::of_reduced(&system, &reduced).expect("a regular structure");
        let start = Start::of_model(&system, &reduced, &problem, 0.0);
        Self {
            system,
            reduced,
            problem,
            start,
        }
    }

    fn options(&self, case: &Case, tolerance: f64) -> Options {
        let tolerances = Tolerances::of_model(&self.system, &self.reduced, tolerance);
        Options::new(case.end, tolerances)
    }

    fn run(&self, case: &Case, tolerance: f64) -> Run {
        let options = self.options(case, tolerance);
        implicit::solve(&self.problem, &self.start, &options, Method::Taylor)
            .expect("a consistent start")
    }

    /// The run alone by native code, and what it took to make the code; `None` for models that have none.
    fn run_natively(&self, case: &Case, tolerance: f64) -> Option<(Run, f64, f64)> {
        let options = self.options(case, tolerance);
        let (taylor, compiling) = timed(|| {
            let mut taylor = Taylor::new(&self.problem, &options).ok()?;
            taylor.compile().ok()?;
            Some(taylor)
        });
        let mut taylor = taylor?;
        let (run, solve) = timed(|| taylor.run(&self.start).expect("a consistent start"));
        Some((run, compiling, solve))
    }

    /// The compared values at the end.
    fn end(&self, case: &Case, run: &Run) -> Vec<f64> {
        let parameters = self.system.parameters().values();
        let mut recovery = self.reduced.recovery::<Jet>(0, parameters);
        let mut values = vec![f64::NAN; self.system.unknowns().len()];
        let found = run.trajectory.recover(&mut recovery, case.end, &mut values);
        if found != Ok(true) {
            return vec![f64::NAN; case.compared.len()];
        }
        compared(case, &self.system, &values)
    }
}

fn compared(case: &Case, system: &System, values: &[f64]) -> Vec<f64> {
    let place = |name: &String| {
        let mut unknowns = system.unknowns().iter();
        unknowns.position(|unknown| unknown.name == *name)
    };
    let value = |name| place(name).map_or(f64::NAN, |place| values[place]);
    case.compared.iter().map(value).collect()
}

/// The largest error, infinite where a value is missing or no number.
fn error(case: &Case, values: &[f64]) -> f64 {
    if values.len() != case.reference.len() {
        return f64::INFINITY;
    }
    let pairs = values.iter().zip(&case.reference);
    pairs.fold(0.0, |worst: f64, (value, exact)| {
        let error = (value - exact).abs() / exact.abs().max(case.least_size);
        if error.is_nan() {
            f64::INFINITY
        } else {
            worst.max(error)
        }
    })
}

/// daelight on the model as it stands: the run alone, what precedes it, and from text to answer as the command does it.
fn own(case: &Case) -> Vec<Sample> {
    let (prepared, setup) = timed(|| Prepared::new(case));
    let mut samples = Vec::new();
    for tolerance in tolerances() {
        let mut push = |tool: &str, run: &Run, setup: f64, solve: f64| {
            let is_finished = run.stop == StopReason::Finished;
            samples.push(Sample {
                tool: tool.to_string(),
                form: "as it stands".to_string(),
                tolerance,
                setup,
                solve,
                whole: f64::NAN,
                error: is_finished.then(|| error(case, &prepared.end(case, run))),
                message: format!("{:?}", run.stop),
            });
        };
        let (run, solve) = timed(|| prepared.run(case, tolerance));
        if let Some((native, compiling, native_solve)) = prepared.run_natively(case, tolerance) {
            push("daelight", &native, setup + compiling, native_solve);
            push("daelight, interpreter", &run, setup, solve);
        } else {
            push("daelight", &run, setup, solve);
        }
        let wanted = daelight::SolveOptions {
            to: Some(case.end),
            rtol: Some(tolerance),
            ..daelight::SolveOptions::default()
        };
        let reading = Reading {
            set: case.set.clone(),
            ..Reading::default()
        };
        let mut message = String::new();
        let (answer, whole) = timed(|| {
            let loaded = daelight::load(case.model, &reading).expect("a built-in model");
            let model = loaded.model.expect("built-in models are right");
            let system = daelight::system(&model).unwrap_or_else(|why| panic!("{why:?}"));
            let solution = daelight::solve(&system, &wanted).ok()?;
            message = format!("{:?}", solution.run.stop);
            let finished = solution.run.stop == StopReason::Finished;
            let values = solution.reader(&system).values(case.end).ok().flatten()?;
            finished.then(|| compared(case, &system, &values))
        });
        samples.push(Sample {
            tool: "daelight, whole command".to_string(),
            form: "as it stands".to_string(),
            tolerance,
            setup: f64::NAN,
            solve: f64::NAN,
            whole,
            error: answer.map(|values| error(case, &values)),
            message,
        });
    }
    samples
}

/// What a peer says of one run.
fn sample(case: &Case, document: &Value) -> Sample {
    let text = |name: &str| document[name].as_str().unwrap_or("").to_string();
    let seconds = |name: &str| document[name].as_f64().unwrap_or(f64::NAN) * 1e9;
    let values: Option<Vec<f64>> = document["values"]
        .as_array()
        .map(|values| values.iter().filter_map(Value::as_f64).collect());
    let is_success = document["success"] == true;
    Sample {
        tool: format!("{} {}", text("tool"), text("version")),
        form: text("form"),
        tolerance: document["tolerance"].as_f64().unwrap_or(f64::NAN),
        setup: seconds("setup"),
        solve: seconds("solve"),
        whole: seconds("setup") + seconds("solve"),
        error: values
            .filter(|_| is_success)
            .map(|values| error(case, &values)),
        message: text("message"),
    }
}

/// Where the reference is our own, the best of the peers must come close to it.
fn confirm(samples: &[Sample]) {
    let peers = samples.iter().filter(|s| !s.tool.starts_with("daelight"));
    let best = peers
        .filter_map(|s| Some((s.error?, &s.tool)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((error, tool)) if error < 1e-5 => {
            println!("  confirmed by {tool} to {error:.1e}");
        }
        Some((error, tool)) => {
            println!("  NOT CONFIRMED: the closest peer, {tool}, differs by {error:.1e}")
        }
        None => println!("  NOT CONFIRMED: no peer gave an answer"),
    }
}

/// The cheapest of some runs that achieves an accuracy, by a figure.
fn cheapest<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    target: f64,
    figure: impl Fn(&Sample) -> f64,
) -> Option<&'a Sample> {
    samples
        .filter(|s| s.error.is_some_and(|error| error <= target))
        .filter(|s| figure(s).is_finite())
        .min_by(|a, b| figure(a).total_cmp(&figure(b)))
}

/// One row for each tool, form and accuracy; tools that fail, or err with success, have a row that says so.
fn report(samples: &[Sample]) {
    let mut tools: Vec<(&str, &str)> = Vec::new();
    for sample in samples {
        let tool = (sample.tool.as_str(), sample.form.as_str());
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for (tool, form) in tools {
        let is_meant = |s: &&Sample| s.tool == tool && s.form == form;
        let runs: Vec<&Sample> = samples.iter().filter(is_meant).collect();
        for target in TARGETS {
            let figure = |s: &Sample| {
                if s.solve.is_finite() {
                    s.solve
                } else {
                    s.whole
                }
            };
            let Some(found) = cheapest(runs.iter().copied(), target, figure) else {
                continue;
            };
            rows.push(vec![
                tool.to_string(),
                form.to_string(),
                format!("{target:.0e}"),
                format!("{:.1e}", found.error.unwrap_or(f64::NAN)),
                format!("{:.1e}", found.tolerance),
                time(found.solve),
                time(found.setup),
                time(found.whole),
            ]);
        }
        let n_failed = runs.iter().filter(|s| s.error.is_none()).count();
        // A tolerance is missed by so much only by a run that should not have been called a success.
        let wrong = runs.iter().filter(|s| {
            s.error
                .is_some_and(|error| error > (1e4 * s.tolerance).max(0.1))
        });
        let mut tell = |text: String| {
            let mut row = vec![tool.to_string(), form.to_string(), text];
            row.resize(8, String::new());
            rows.push(row);
        };
        if n_failed > 0 {
            let failed = runs.iter().find(|s| s.error.is_none());
            let why = failed.map_or("", |s| s.message.as_str());
            tell(format!("FAILED {n_failed} of {}", runs.len()));
            notes.push(format!("{tool}: {why}"));
        }
        if let n @ 1.. = wrong.clone().count() {
            let worst = wrong.filter_map(|s| s.error).fold(0.0, f64::max);
            tell(format!("WRONG WITH SUCCESS {n} of {}", runs.len()));
            notes.push(format!("{tool}: success with an error of {worst:.1e}"));
        }
    }
    print(
        &[
            "tool",
            "equations",
            "accuracy",
            "error",
            "tolerance",
            "solve",
            "set-up",
            "text to answer",
        ],
        &rows,
    );
    for note in notes {
        println!("{note}");
    }
    println!();
}

/// The ratios that are aimed at.
fn targets(all: &[(String, Vec<Sample>)]) {
    println!("### Targets");
    let samples = |name: &str| {
        let found = all.iter().find(|(case, _)| case == name);
        found.map_or(&[][..], |(_, samples)| samples)
    };
    let solve = |s: &Sample| s.solve;
    let whole = |s: &Sample| s.whole;
    let time_of = |case: &str, tool: &str, target: f64, figure: fn(&Sample) -> f64| {
        let runs = samples(case).iter().filter(|s| s.tool.starts_with(tool));
        cheapest(runs, target, figure).map_or(f64::NAN, figure)
    };
    let verdict = |what: String, value: f64, most: f64| {
        let word = match value {
            value if !value.is_finite() => "NOT MEASURED",
            value if value <= most => "met",
            _ => "MISSED",
        };
        println!("{word}: {what}: {} (at most {most})", ratio(value));
    };
    for target in TARGETS {
        for case in ["pendulum", "andrews"] {
            let own = time_of(case, "daelight", target, solve);
            let heyoka = time_of(case, "heyoka", target, solve);
            verdict(
                format!("{case} at {target:.0e} over heyoka's hand-made ODE"),
                own / heyoka,
                1.0,
            );
            let radau = time_of(case, "RADAU5", target, solve);
            verdict(
                format!("{case} at {target:.0e} over RADAU5 in its best form"),
                own / radau,
                0.2,
            );
            let is_whole = |s: &&Sample| s.tool.starts_with("RADAU5") && s.form == "as it stands";
            let whole: Vec<&Sample> = samples(case).iter().filter(is_whole).collect();
            match cheapest(whole.iter().copied(), target, solve) {
                None if !whole.is_empty() => {
                    println!("NOT REACHED by RADAU5 as it stands: {case} at {target:.0e}");
                }
                radau => verdict(
                    format!("{case} at {target:.0e} over RADAU5 as it stands"),
                    own / radau.map_or(f64::NAN, solve),
                    0.2,
                ),
            }
        }
        let own = time_of("akzo-nobel", "daelight", target, solve);
        let diffsol = time_of("akzo-nobel", "diffsol", target, solve);
        verdict(
            format!("akzo-nobel at {target:.0e} over diffsol"),
            own / diffsol,
            1.0,
        );
    }
    let arm = time_of("robotic-arm", "daelight", ARM_TARGET, solve);
    verdict(
        "robotic-arm to 1.5 at 1e-10, in milliseconds".to_string(),
        arm / 1e6,
        1.0,
    );
    let chain = "pendulum-chain 1000";
    let (own, text) = (
        time_of(chain, "daelight", 1e-6, solve),
        time_of(chain, "daelight, whole", 1e-6, whole),
    );
    let (diffsol, both) = (
        time_of(chain, "diffsol", 1e-6, solve),
        time_of(chain, "diffsol", 1e-6, whole),
    );
    verdict(
        format!("{chain} at 1e-6 over diffsol's solve time"),
        own / diffsol,
        0.5,
    );
    verdict(
        format!("{chain} at 1e-6, text to answer over diffsol's set-up and solve"),
        text / both,
        0.2,
    );
    let smaller = time_of("pendulum-chain 100", "daelight", 1e-6, solve);
    verdict(
        "growth from N = 100 to 1000 at 1e-6".to_string(),
        own / smaller,
        40.0,
    );
}

/// All runs as comma-separated text, for plots of error against time.
fn write_csv(all: &[(String, Vec<Sample>)], file: Option<&str>) -> Result<String, std::io::Error> {
    let path = match file {
        Some(file) => PathBuf::from(file),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("results/solve.csv"),
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut text = String::from(
        "problem,tool,equations,tolerance,error,solve_ns,setup_ns,text_to_answer_ns,message\n",
    );
    let number = |value: f64| {
        if value.is_finite() {
            value.to_string()
        } else {
            String::new()
        }
    };
    for (name, samples) in all {
        for s in samples {
            let _ = writeln!(
                text,
                "{name},\"{}\",{},{},{},{},{},{},\"{}\"",
                s.tool,
                s.form,
                s.tolerance,
                s.error.map(number).unwrap_or_default(),
                number(s.solve),
                number(s.setup),
                number(s.whole),
                s.message.replace('"', "'")
            );
        }
    }
    std::fs::write(&path, text)?;
    Ok(path.display().to_string())
}
