//! `solve` as a user meets it: reference solutions, singularities with their times, kinds and causes, bad input.

use crate::common;
use crate::common::{
    assert_says, daelight, daelight_with_input, expected, json, json_of, number, root, stderr,
    stdout,
};
use daelight::SolveOptions;
use daelight_analysis::System;
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;
use serde_json::Value;
use std::time::Duration;

fn solve(arguments: &[&str]) -> (i32, Value) {
    json(&[&["solve"], arguments].concat())
}

fn solve_text(text: &str, arguments: &[&str]) -> (i32, Value) {
    json_of(text, &[&["solve", "-"], arguments].concat())
}

/// The largest error of values against a listed solution, in units of `nominal`, or of the value where that is larger.
fn error(system: &System, values: &[f64], solution: &Value) -> f64 {
    let listed = solution["values"].as_object().expect("values");
    let unknowns = system.unknowns().iter().zip(values);
    let errors = unknowns.filter_map(|(unknown, value)| {
        let exact = number(listed.get(&unknown.name)?);
        let unit = unknown.nominal.unwrap_or(1.0).max(exact.abs());
        Some((value - exact).abs() / unit)
    });
    errors.fold(0.0, f64::max)
}

/// Every listed solution of the library by every method and at tolerances from 1e-3 to 1e-12: right within 100 rtol, or a
/// stop that says what went wrong; never a success with a wrong value.
#[test]
fn no_silent_wrong_answer_over_the_library() {
    let methods = [
        None,
        Some(Method::Taylor),
        Some(Method::Radau),
        Some(Method::Bdf),
    ];
    let (mut n_runs, mut n_right) = (0, 0);
    for model in daelight::built_in_models() {
        let expected = expected(model.name);
        let listed: Vec<&Value> = expected["solution"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|solution| solution["values"].is_object() && !solution["time"].is_null())
            .collect();
        // One run serves all times listed for the same parameters.
        let mut groups: Vec<(&Value, Vec<&Value>)> = Vec::new();
        for solution in listed {
            match groups.iter_mut().find(|(set, _)| **set == solution["set"]) {
                Some((_, group)) => group.push(solution),
                None => groups.push((&solution["set"], vec![solution])),
            }
        }
        for (set, group) in groups {
            let changes = set.as_object().into_iter().flatten();
            let reading = daelight_lang::Options {
                set: changes
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect(),
                ..Default::default()
            };
            let loaded = daelight::load(model.name, &reading).expect("a built-in model");
            let system = daelight::system(loaded.model.as_ref().expect("a model"));
            let system = system.expect("a system");
            let times = group.iter().map(|solution| number(&solution["time"]));
            let to = times.fold(f64::NEG_INFINITY, f64::max);
            for method in methods {
                for rtol in [1e-3, 1e-6, 1e-9, 1e-12] {
                    let options = SolveOptions {
                        to: Some(to),
                        rtol: Some(rtol),
                        method,
                        budget: Some(Duration::from_secs(2)),
                        ..Default::default()
                    };
                    let label = format!("{} {set} by {method:?} at {rtol:e}", model.name);
                    n_runs += 1;
                    let Ok(solution) = daelight::solve(&system, &options) else {
                        continue;
                    };
                    let reached = solution.reached();
                    let mut reader = solution.reader(&system);
                    for wanted in &group {
                        let time = number(&wanted["time"]);
                        // Between the points of implicit methods rounding shows in derivatives read off the pieces: 1e-9
                        // on e1. Their points count.
                        let implicit = solution.method != Method::Taylor;
                        if time < solution.from || time != to && implicit {
                            continue;
                        }
                        if time > reached {
                            // It did not get there, and does not say that it did.
                            assert_ne!(solution.run.stop, StopReason::Finished, "{label}");
                            continue;
                        }
                        let values = reader.values(time).expect("values").expect("inside");
                        // The bound of the implicit methods: rounding of thousands of steps with tolerances of 1e-14.
                        let floor = match (&expected["rounding"]["relative"], implicit) {
                            (Value::Number(floor), _) => floor.as_f64().expect("a number"),
                            (_, true) => 1e-9,
                            (_, false) => 1e-11,
                        };
                        let error = error(&system, &values, wanted);
                        assert!(
                            error < (100.0 * rtol).max(floor),
                            "{label}, t = {time}: error {error:e}"
                        );
                        n_right += 1;
                    }
                    if solution.run.stop == StopReason::Finished {
                        assert!(solution.run.residual() < 1e-10, "{label}");
                    }
                }
            }
        }
    }
    assert!(n_runs > 250 && n_right > 300, "{n_runs} {n_right}");
}

#[test]
fn the_arm_stops_at_its_first_singularity() {
    for model in ["robotic-arm", "robotic-arm-torques"] {
        let (code, found) = solve(&[model]);
        assert_eq!(code, 3, "{model}");
        assert_eq!(found["status"], "singularity", "{model}");
        assert!(
            (number(&found["time"]) - 1.5446260000352114).abs() < 1e-12,
            "{model}: {}",
            found["time"]
        );
        let singularity = &found["singularities"][0];
        assert_eq!(singularity["kind"], "5-A", "{model}");
        assert_eq!(singularity["locus"], "sin(x3)", "{model}");
        assert_eq!(singularity["nature"], "removable", "{model}");
        let equations = singularity["equations"].to_string();
        assert!(
            equations.contains("cos(x1) + cos(x1 + x3)")
                && equations.contains("sin(x1) + sin(x1 + x3)")
        );
        assert_eq!(
            singularity["unknowns"],
            serde_json::json!(["x1", "x3"]),
            "{model}"
        );
    }
    let page = stdout(&daelight(&["solve", "robotic-arm"]));
    for words in [
        "kind 5-A at t = 1.544626000035",
        "where sin(x3) = 0",
        "--on-singularity continue passes it",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[test]
fn the_arm_passes_on_the_exact_branch_and_stops_where_it_blows_up() {
    let exact = |t: f64| [1.0 - t.exp(), t.exp() - t, -t.exp(), t.exp() - 1.0];
    let (code, found) = solve(&["robotic-arm", "--on-singularity", "continue", "--to", "2"]);
    assert_eq!((code, found["status"].as_str()), (0, Some("success")));
    assert_eq!(found["singularities"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["index_changes"].as_array().map(Vec::len), Some(1));
    for (name, exact) in ["x1", "x3", "x4", "x6"].into_iter().zip(exact(2.0)) {
        let value = number(&found["final"][name]);
        assert!((value - exact).abs() < 1e-8, "{name}: {value} {exact}");
    }
    let (code, found) = solve(&["robotic-arm", "--on-singularity", "continue", "--to", "2.2"]);
    assert_eq!(code, 3);
    let last = &found["singularities"][1];
    assert!(
        (number(&last["time"]) - 2.02965026816982).abs() < 1e-10,
        "{}",
        last["time"]
    );
    assert_eq!(
        (&last["kind"], &last["nature"]),
        (&"3-B".into(), &"unbounded".into())
    );
    assert_eq!(last["locus"], "cos(x3)^2 - 6*cos(x3) + 4");
    let (code, found) = solve(&["robotic-arm-general"]);
    assert_eq!(code, 3);
    assert!(
        (number(&found["time"]) - 0.372_999_460_773_572_6).abs() < 1e-10,
        "{}",
        found["time"]
    );
    assert_eq!(found["singularities"][0]["kind"], "3-B");
}

/// All singular times of the arm, forward from the left and backward from the start.
#[test]
fn all_singular_times_of_the_arm_are_met() {
    let times = expected("robotic-arm")["singular_times"]["times"].clone();
    let mut listed: Vec<f64> = times
        .as_array()
        .expect("a list")
        .iter()
        .map(|t| number(&t["time"]))
        .collect();
    listed.sort_by(f64::total_cmp);
    let mut met: Vec<f64> = Vec::new();
    let runs: [&[&str]; 3] = [
        &["robotic-arm", "--on-singularity", "continue", "--to", "2.2"],
        &["robotic-arm", "--on-singularity", "continue", "--to", "-6"],
        &[
            "robotic-arm",
            "--on-singularity",
            "continue",
            "--from",
            "2.07",
            "--to",
            "2.2215",
        ],
    ];
    for arguments in runs {
        let (_, found) = solve(arguments);
        met.extend(
            found["singularities"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|s| number(&s["time"])),
        );
    }
    for time in listed {
        assert!(
            met.iter().any(|t| (t - time).abs() < 1e-9),
            "{time} was not met: {met:?}"
        );
    }
}

#[test]
fn branch_points_and_finite_escapes_end_a_run() {
    let text = "model M Real x(start = 1, fixed = true), y(start = 1);
                equation y^2 = x; der(x) = -1; annotation(experiment(StopTime = 2)); end M;";
    let (code, found) = solve_text(text, &[]);
    assert_eq!(code, 3);
    assert!((number(&found["time"]) - 1.0).abs() < 1e-8);
    assert_eq!(found["singularities"][0]["nature"], "branch");
    assert_eq!(found["singularities"][0]["locus"], "y");
    let text = "model M Real x(start = 1, fixed = true); equation der(x) = x^2;
                annotation(experiment(StopTime = 2)); end M;";
    let (code, found) = solve_text(text, &[]);
    assert_eq!(code, 3);
    assert!(
        (number(&found["time"]) - 1.0).abs() < 1e-6,
        "{}",
        found["time"]
    );
    assert!(
        found["message"]
            .as_str()
            .is_some_and(|m| m.contains("grows without bound"))
    );
}

#[test]
fn the_kind_of_a_run_may_depend_on_input_and_start() {
    let (code, found) = solve(&["input-switch"]);
    assert_eq!(code, 3);
    assert!((number(&found["time"]) - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    assert_eq!(found["singularities"][0]["locus"], "cos(time)");
    assert_eq!(found["singularities"][0]["kind"], "0-A");
    let (code, found) = solve(&["branch-choice"]);
    assert_eq!(code, 0);
    assert!((number(&found["final"]["x2"]) + 1.0).abs() < 1e-9);
}

/// A long run keeps every constraint.
#[test]
fn constraints_hold_over_a_long_run() {
    let (code, found) = solve(&["pendulum", "--to", "1000", "--rtol", "1e-9"]);
    assert_eq!(code, 0);
    for residual in found["residuals"].as_array().expect("a list") {
        assert!(number(residual) < 1e-10);
    }
    let value = |name: &str| number(&found["final"][name]);
    let energy = 0.5 * (value("vx").powi(2) + value("vy").powi(2)) + 9.81 * value("y");
    assert!(energy.abs() < 1e-4, "{energy:e}");
}

#[test]
fn values_are_written_at_the_times_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let csv = path("run.csv");
    let output = daelight(&["solve", "pendulum", "--points", "11", "--out", &csv]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(&csv).expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("time,x,y,vx,vy,lambda,residual_level_0,"));
    assert_eq!(lines.len(), 12);
    assert!(lines[11].starts_with("10,0.27508746"), "{}", lines[11]);
    let json = path("run.json");
    let output = daelight(&[
        "solve",
        "robotic-arm",
        "--save-at",
        "0,1,1.5,1.9",
        "--out",
        &json,
    ]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let table: Value =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("a file")).expect("JSON");
    assert_eq!(table["time"], serde_json::json!([0.0, 1.0, 1.5]));
    assert!((number(&table["x3"][1]) - (1.0f64.exp() - 1.0)).abs() < 1e-9);
    let columns = path("run.parquet");
    let output = daelight(&["solve", "pendulum", "--points", "11", "--out", &columns]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let bytes = std::fs::read(&columns).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let output = daelight(&["solve", "pendulum", "--out", &path("run.txt")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!folder.path().join("run.txt").exists());
}

#[test]
fn wrong_input_is_told() {
    for (arguments, code, words) in [
        (
            &["solve", "pendulum", "--rtol", "2"][..],
            2,
            "not a tolerance",
        ),
        (&["solve", "pendulum", "--to", "nan"][..], 2, "not a time"),
        (
            &["solve", "pendulum", "--points", "1"][..],
            2,
            "output points",
        ),
        (
            &["solve", "pendulum", "--budget", "soon"][..],
            2,
            "not a duration",
        ),
        (&["solve", "pendulumm"][..], 2, "pendulum"),
        (
            &["solve", "andrews-constraints"][..],
            1,
            "6 equations for 7 unknowns",
        ),
        (
            &["solve", "km-singular"][..],
            1,
            "leave one unknown free: x2",
        ),
        (&["solve", "pendulum", "--max-steps", "3"][..], 4, ""),
        (
            &["solve", "pendulum", "--point", "no-such-file.json"][..],
            2,
            "no-such-file.json",
        ),
        (
            &["init", "pendulum", "--point", "no-such-file.json"][..],
            2,
            "no-such-file.json",
        ),
        (
            &["solve", "pendulum", "--save-at", "1,nan"][..],
            2,
            "NaN is not a time",
        ),
        (
            &["reduce", "andrews", "--budget", "0s"][..],
            4,
            "the budget of 0ns",
        ),
    ] {
        assert_says(arguments, code, words);
    }
    let (code, found) = solve_text(
        "model M Real x(start = 1); equation der(x) = sqrt(0.5 - time); end M;",
        &["--to", "1"],
    );
    assert_ne!(code, 0);
    assert!(!found["message"].as_str().unwrap_or("").is_empty());
    let (code, found) = solve(&["pendulum", "--max-steps", "3"]);
    assert_eq!((code, found["status"].as_str()), (4, Some("failure")));
    let (code, found) = solve(&["pendulum", "--to", "1", "--save-at", "0.5,7"]);
    assert_eq!(code, 0);
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("such as 7, are left out"), "{warnings}");
    // Nothing is offered that was asked for already.
    let singular = "model S Real x(fixed = true), y; equation der(x) = 1; y^2 = x; end S;";
    let output = daelight_with_input(&["init", "-", "--nearest-regular"], singular.as_bytes());
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("no regular start was found"));
}

/// Series whose last coefficients vanish say nothing by these of how long a step may be.
#[test]
fn gaps_in_a_series_do_not_lengthen_steps() {
    type Exact = fn(f64) -> f64;
    let models: [(&str, f64, Exact); 4] = [
        (
            "Real x(fixed = true), y, z; equation der(x) + der(y) = z; x + y = sin(time); der(x) = z - x;",
            5.0,
            |t| (t.sin() + t.cos() - (-t).exp()) / 2.0,
        ),
        (
            "Real x(fixed = true); equation der(x) = 3*time^2*cos(time^3);",
            2.0,
            |t| t.powi(3).sin(),
        ),
        (
            "Real x(fixed = true); equation der(x) = 4*time^3*cos(time^4);",
            1.5,
            |t| t.powi(4).sin(),
        ),
        (
            "Real x(fixed = true); equation der(x) = 5*time^4*cos(time^5);",
            1.5,
            |t| t.powi(5).sin(),
        ),
    ];
    for (body, end, exact) in models {
        let text = format!("model M {body} end M;");
        for digits in 3..=12 {
            let rtol = 10f64.powi(-digits);
            let (code, found) = solve_text(
                &text,
                &["--to", &end.to_string(), "--rtol", &rtol.to_string()],
            );
            assert_eq!(code, 0, "{found}");
            let error = (number(&found["final"]["x"]) - exact(end)).abs();
            assert!(error < 100.0 * rtol, "{body} at {rtol}: {error:e}");
        }
    }
}

#[test]
fn fields_are_documented() {
    let documented = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    let (_, found) = solve(&["robotic-arm", "--estimate-error"]);
    let fields = found.as_object().expect("an object").keys();
    let inner = ["singularities", "statistics"].map(|field| match &found[field] {
        Value::Array(list) => list[0].as_object().expect("an object").clone(),
        other => other.as_object().expect("an object").clone(),
    });
    for field in fields.chain(inner.iter().flat_map(|map| map.keys())) {
        assert!(
            documented.contains(&format!("`{field}`")),
            "docs/json.md lacks {field}"
        );
    }
    let (_, found) = solve(&["pendulum", "--estimate-error"]);
    let estimated = number(&found["estimated_error"]);
    assert!(estimated > 1e-13 && estimated < 1e-6, "{estimated:e}");
}

/// Steps are long where the states move in a simple way; what follows from them moves as it likes in between.
#[test]
fn implicit_methods_are_right_between_their_steps() {
    type Exact = fn(f64) -> f64;
    let crank: Exact = |t| (2.0 * t).cos() + (4.0 - (2.0 * t).sin().powi(2)).sqrt();
    let cases: [(&str, &str, Exact); 2] = [
        (
            "model Crank Real th(start = 0, fixed = true), w, x, v; equation
               der(th) = 2; w = der(th); x = cos(th) + sqrt(4 - sin(th)^2); v = der(x);
               annotation(experiment(StopTime = 5)); end Crank;",
            "x",
            crank,
        ),
        (
            "model Stiff Real x(start = 1, fixed = true), y; equation
               der(x) = -1e5*(x - y) - sin(time); y = cos(time);
               annotation(experiment(StopTime = 5)); end Stiff;",
            "y",
            f64::cos,
        ),
    ];
    for (text, name, exact) in cases {
        let model = common::model_of("between", text);
        let system = daelight::system(&model).expect("a system");
        let place = system.unknowns().iter().position(|u| u.name == name);
        let place = place.expect("an unknown");
        for method in [Method::Radau, Method::Bdf] {
            for rtol in [1e-4, 1e-6, 1e-8] {
                let options = SolveOptions {
                    rtol: Some(rtol),
                    method: Some(method),
                    ..Default::default()
                };
                let Ok(solution) = daelight::solve(&system, &options) else {
                    panic!("{name} by {method:?} does not start");
                };
                assert_eq!(solution.run.stop, StopReason::Finished);
                let mut reader = solution.reader(&system);
                let worst = (0..=500)
                    .map(|k| 0.01 * f64::from(k))
                    .map(|t| {
                        (reader.values(t).expect("values").expect("inside")[place] - exact(t)).abs()
                    })
                    .fold(0.0, f64::max);
                assert!(
                    worst < 100.0 * rtol,
                    "{name} by {method:?} at {rtol:e}: {worst:e}"
                );
            }
        }
    }
}

/// Many steps alone are no stiffness.
#[test]
fn long_runs_of_smooth_motions_stay_with_the_series() {
    let (code, found) = solve(&["pendulum", "--to", "3000"]);
    assert_eq!(code, 0, "{found}");
    assert_eq!(found["method"], "taylor");
    let stiff = "model Stiff Real x(start = 1, fixed = true); equation
        der(x) = -1e6*(x - cos(time)); annotation(experiment(StopTime = 5)); end Stiff;";
    let (code, found) = solve_text(stiff, &[]);
    assert_eq!(code, 0, "{found}");
    assert_ne!(found["method"], "taylor");
}

/// Small unknowns that decide on others, and errors that grow: right, or told.
#[test]
fn errors_that_grow_are_told() {
    let model = |equations: &str| {
        format!("model M  Real x(start = 1, fixed = true), y;  equation  {equations}  end M;")
    };
    // y is 1, or -t, whatever small number x is; the last x has a neighbour that grows like exp(10 t).
    for (equations, to, name, exact) in [
        ("der(x) = -x;  y*x = exp(-time);", "20", "y", 1.0),
        ("der(x) = -x;  exp(y) = x;", "20", "y", -20.0),
        ("der(x) = -x;  y = exp(time)*x;", "20", "y", 1.0),
        (
            "der(x) = 10*(x - cos(time)) - sin(time);  y = 2*x;",
            "3",
            "x",
            3.0_f64.cos(),
        ),
    ] {
        for method in ["taylor", "radau", "bdf"] {
            for rtol in [1e-3, 1e-6, 1e-9] {
                let wanted = rtol.to_string();
                let arguments = ["--to", to, "--method", method, "--rtol", &wanted];
                let (code, found) = solve_text(&model(equations), &arguments);
                let what = format!("{equations} {method} {rtol:e}");
                assert_eq!(code, 0, "{what}");
                let error = (number(&found["final"][name]) - exact).abs() / exact.abs().max(1.0);
                let is_told = found["estimated_error"].is_number()
                    && found["warnings"].to_string().contains("Small errors grow");
                assert!(error < 100.0 * rtol || is_told, "{what}: {error:e}");
            }
        }
    }
}

/// Fast parts that decay keep no error: x' = k (y - x) + y', y' = -a y has x = y = exp(-a t), whatever k is. Runs with small errors of our own
/// that left the slow motion at every step told of errors of 1e4 sizes.
#[test]
fn errors_of_stiff_decays_do_not_grow() {
    let mut seed = 11u64;
    let mut draw = |low: f64, high: f64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        low + (high - low) * (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..4 {
        let (k, a) = (10f64.powf(draw(3.0, 8.0)), draw(0.3, 2.0));
        let text = format!(
            "model Decay  Real x(start = 1, fixed = true), y(start = 1, fixed = true), z(start = 0, fixed = true);
            equation  der(x) = {k}*(y - x) - {a}*y;  der(y) = -{a}*y;  der(z) = {k}/7*(x*y - z);  end Decay;"
        );
        for method in ["auto", "radau", "bdf"] {
            for rtol in ["1e-3", "1e-5", "1e-8"] {
                let arguments = ["--to", "4", "--method", method, "--rtol", rtol];
                let (code, found) = solve_text(&text, &arguments);
                let what = format!("k = {k}, a = {a}, {method} {rtol}: {}", found["warnings"]);
                assert_eq!(code, 0, "{what}");
                let (error, allowed) = (
                    number(&found["final"]["x"]) - (-4.0 * a).exp(),
                    10.0 * rtol.parse::<f64>().expect("a number"),
                );
                assert!(error.abs() < allowed, "{what}: {error:e}");
                assert!(!found["warnings"].to_string().contains("grow"), "{what}");
            }
        }
    }
}

/// Lorenz's equations with other numbers: what is left of 1e-12 at t = 45 is told.
#[test]
fn chaotic_runs_are_told() {
    let mut seed = 7u64;
    let mut draw = |low: f64, high: f64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        low + (high - low) * (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..3 {
        let (r, x, y) = (draw(27.0, 32.0), draw(1.0, 5.0), draw(1.0, 5.0));
        let text = format!(
            "model Chaos  Real x(start = {x}, fixed = true), y(start = {y}, fixed = true), z(start = 10, fixed = true);
            equation  der(x) = 10*(y - x);  der(y) = x*({r} - z) - y;  der(z) = x*y - 8/3*z;  end Chaos;"
        );
        for (method, rtol) in [("taylor", "1e-12"), ("radau", "1e-12"), ("bdf", "1e-10")] {
            let arguments = ["--to", "45", "--method", method, "--rtol", rtol];
            let (code, found) = solve_text(&text, &arguments);
            let is_told = found["warnings"].to_string().contains("Small errors grow");
            assert!(code == 0 && is_told, "{method}: {text}");
        }
    }
}

/// A chaotic run by `bdf` whose errors do not grow evenly, and a pendulum that comes back to its unstable rest, where runs that errors
/// have led astray agree again: 40 digits give th = 3.133292654.
#[test]
fn errors_that_grow_are_told_where_runs_agree() {
    let lorenz = "model L  Real x(start = 3.2790813626642095, fixed = true), y(start = 4.246635389025656, fixed = true),
        z(start = 10, fixed = true);
        equation  der(x) = 10*(y - x);  der(y) = x*(29.26320567145301 - z) - y;  der(z) = x*y - 8/3*z;  end L;";
    let (_, found) = solve_text(
        lorenz,
        &["--to", "45", "--method", "bdf", "--rtol", "1e-10"],
    );
    let until = number(&found["reliable_until"]);
    assert!((10.0..30.0).contains(&until), "{until}");
    let top = "model P  Real th(start = 3.1415926, fixed = true), w(start = 0, fixed = true);
        equation  der(th) = w;  der(w) = -9.81*sin(th);  end P;";
    for method in ["auto", "radau", "bdf"] {
        let (_, found) = solve_text(top, &["--to", "20", "--method", method]);
        let error = (number(&found["final"]["th"]) - 3.133292654).abs();
        let said = number(&found["estimated_error"]);
        assert!(said > 0.3 * error, "{method}: {said:e} for {error:e}");
    }
}

/// A logistic function of an unknown that follows time is 1, then 0, then 1 again: by quadrature x = 6.5706547 at t = 8.4576. Ranges of
/// (2 + sin s)(s - time) say nothing.
#[test]
fn gaps_that_unknowns_drive_are_met() {
    for follows in ["der(s) = 1;", "(2 + sin(s))*(s - time) = 0;"] {
        let text = format!(
            "model Gap  Real x(start = 0, fixed = true), s(start = 0);
            equation  der(x) = 1/(1 + exp(-190.548393*(sin(s) + 0.58693953)));  {follows}  end Gap;"
        );
        for method in ["auto", "radau", "bdf"] {
            let (code, found) = solve_text(&text, &["--to", "8.4576", "--method", method]);
            let x = number(&found["final"]["x"]);
            assert!(
                code == 0 && (x - 6.5706547).abs() < 1e-5,
                "{follows} {method}: {x}"
            );
        }
    }
}

/// Hydrogen ions far below the size of everything else: 1e-14/h says how large h is.
#[test]
fn a_titration_runs_through() {
    let text = "model PH  Real h(start = 1e-3), ca(start = 0.1, fixed = true), na;
        equation  der(ca) = -0.02*ca;  na = 0.01*time;  na + h = 1e-14/h + ca*1.8e-5/(1.8e-5 + h);  end PH;";
    for method in ["auto", "radau", "bdf"] {
        let (code, found) = solve_text(text, &["--to", "9", "--method", method]);
        let (h, excess) = (number(&found["final"]["h"]), 0.09 - 0.1 * (-0.18_f64).exp());
        let error = (h * excess - 1e-14).abs();
        assert!(code == 0 && error < 1e-18, "{method}: {h:e}");
    }
}

/// One switching surface in many writings.
#[test]
fn a_surface_is_one_however_it_is_written() {
    for relation in ["0 < v", "v > 0", "-2*v < 0", "v/3 >= 0"] {
        let text = format!(
            "model Rest  Real v(start = 1.3, fixed = true);
            equation  der(v) = -sign(v) - (if {relation} then 2 else -2);  end Rest;"
        );
        let (code, found) = solve_text(&text, &["--to", "2"]);
        let v = number(&found["final"]["v"]);
        assert!(code == 0 && v.abs() < 1e-9, "{relation}: {v}");
    }
}

/// Two singular times so close together that one jump passes both.
#[test]
fn close_singular_times_are_passed_together() {
    let text = "model Two  Real x, y(start = 0, fixed = true);
        equation  (time - 1)*(time - 1.05)*x = (time - 1)*(time - 1.05)*cos(time);  der(y) = x;  end Two;";
    let arguments = ["--to", "2", "--on-singularity", "continue"];
    let (code, found) = solve_text(text, &arguments);
    assert_eq!((code, found["status"].as_str()), (0, Some("success")));
    let listed = found["singularities"].as_array().expect("a list");
    let times: Vec<f64> = listed.iter().map(|s| number(&s["time"])).collect();
    assert_eq!(times.len(), 2, "{times:?}");
    for (time, exact) in times.iter().zip([1.0, 1.05]) {
        assert!((time - exact).abs() < 1e-10, "{time}");
    }
    let error = number(&found["final"]["y"]) - 2.0_f64.sin();
    assert!(error.abs() < 1e-8, "{error:e}");
}

/// A start that `init` calls singular is one for `solve`; a run that did not begin says where it was to begin.
#[test]
fn singular_starts_and_usage_are_told_alike() {
    for command in ["init", "solve"] {
        let output = daelight(&[command, "pendulum", "--set", "L=0"]);
        assert_eq!(output.status.code(), Some(3), "{command}");
    }
    let (code, found) = solve(&["pendulum", "--set", "L=0", "--from", "2", "--to", "3"]);
    assert_eq!((code, number(&found["time"])), (3, 2.0));
    for option in ["--set", "--input"] {
        let output = daelight(&["solve", "input-switch", option, "u"]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(stderr(&output).contains("`u` holds no `=`"), "{option}");
    }
}

/// Where nothing tells which of several solutions is meant, the run says which one it took; where the start values do, it is silent.
#[test]
fn a_start_that_nobody_chose_is_told() {
    let pendulum = |declared: &str| {
        format!(
            "model P Real {declared}, vx, vy, F; equation der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - 9.81; x^2 + y^2 = 1; end P;"
        )
    };
    let root = |declared: &str| format!("model R Real {declared}; equation y^2 - 1 = time; end R;");
    let line = |declared: &str| {
        format!("model L Real {declared}, z; equation der(x) = 1 - x; z = 2 + x; end L;")
    };
    let (unwritten, as_close, closest) = (
        "No start value of",
        "Other solutions are as close",
        "the closest",
    );
    for (text, told) in [
        (pendulum("x, y"), &[unwritten][..]),
        (pendulum("x(start = 0), y(start = 0)"), &[closest, as_close]),
        (pendulum("x(start = 0.6), y(start = 0.6)"), &[closest]),
        (pendulum("x(start = 1), y(start = 0)"), &[]),
        (root("y"), &[unwritten]),
        (root("y(start = 0)"), &[closest, as_close]),
        (root("y(start = -2)"), &[closest]),
        (root("y(start = -1)"), &[]),
        (line("x"), &[]),
        (line("x(start = 3, fixed = true)"), &[]),
    ] {
        let (code, report) = solve_text(&text, &["--to", "0.1"]);
        let warnings = report["warnings"].to_string();
        assert_eq!(code, 0, "{text}: {warnings}");
        for words in [unwritten, as_close, closest] {
            assert_eq!(
                warnings.contains(words),
                told.contains(&words),
                "{text}: {warnings}"
            );
        }
    }
}

/// A mass of zero makes a constraint of an equation of motion: `solve` says the same of it as `analyze`.
#[test]
fn a_parameter_that_is_zero_changes_the_index_and_not_the_answer() {
    let text = "model M parameter Real m = 0; Real x(start = 1), v; equation der(x) = v; m*der(v) = -x; end M;";
    let (code, report) = solve_text(text, &[]);
    assert_eq!((code, number(&report["final"]["x"])), (0, 0.0), "{report}");
}

#[test]
fn a_run_that_goes_backwards_says_so() {
    let text = "model B Real x(start = 1, fixed = true); equation der(x) = -x; annotation(experiment(StopTime = -1)); end B;";
    for (arguments, is_told) in [
        (&[][..], "`StopTime = -1`"),
        (&["--to", "-2"], "backwards in time, from t = 0 to -2"),
    ] {
        let (code, report) = solve_text(text, arguments);
        let warnings = report["warnings"].to_string();
        assert_eq!((code, warnings.contains(is_told)), (0, true), "{warnings}");
    }
}
