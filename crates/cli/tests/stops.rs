//! How runs end and what is kept of them: `--stop-when`, Ctrl-C, the columns of `--out`, the energy.

use crate::common::{
    Random, daelight, daelight_with_input, document, json, json_of, number, status, stderr, stdout,
};
use serde_json::Value;

fn solve(arguments: &[&str]) -> (i32, Value) {
    json(&[&["solve"], arguments].concat())
}

fn solve_text(text: &str, arguments: &[&str]) -> (i32, Value) {
    json_of(text, &[&["solve", "-"], arguments].concat())
}

const DECAY: &str = "model Decay  parameter Real k = 1;  Real x(start = 1, fixed = true);
    equation  der(x) = -k*x;  annotation(experiment(StopTime = 5));  end Decay;";

#[test]
fn runs_end_where_a_condition_begins_to_hold() {
    let half = 2f64.ln();
    for (when, extra, time) in [
        ("x < 0.5", &[][..], half),
        ("x - 0.5", &[], half),
        ("der(x) + 0.5", &[], half),
        ("x == 0.5", &[], half),
        ("0.5*k == x", &["--to", "5"], half),
        ("x < 0.5*k", &["--set", "k=2"], 0.0),
        ("x < 0.5 and time > 1", &[], 1.0),
        ("not x > 0.5 or time > 3", &[], half),
        ("der(der(x)) < 0.25", &[], 2.0 * half),
        ("x > 2", &["--to", "-5"], -half),
        ("x < 0.5", &["--method", "radau"], half),
        ("x < 0.5", &["--method", "bdf"], half),
    ] {
        let arguments = [&["--rtol", "1e-11", "--stop-when", when], extra].concat();
        let (code, found) = solve_text(DECAY, &arguments);
        let what = format!("{when} {extra:?}");
        assert_eq!(code, 0, "{what}: {}", found["message"]);
        assert_eq!(found["status"], "success", "{what}");
        assert_eq!(found["reason"], "stopped", "{what}");
        assert_eq!(found["stopped"]["when"], when, "{what}");
        let stopped = number(&found["stopped"]["time"]);
        assert_eq!(stopped, number(&found["time"]), "{what}");
        let bound = if extra.contains(&"--method") {
            1e-9
        } else {
            1e-12
        };
        if extra.contains(&"--set") {
            // x < 1 begins to hold at once, and not before.
            assert!(stopped > 0.0 && stopped < 1e-10, "{what}: {stopped}");
        } else {
            assert!((stopped - time).abs() < bound, "{what}: {stopped}");
        }
    }
}

#[test]
fn conditions_that_do_not_come_change_nothing() {
    let (code, found) = solve_text(DECAY, &["--stop-when", "x > 1.5"]);
    assert_eq!((code, &found["reason"]), (0, &"finished".into()));
    assert!(found["stopped"].is_null());
    assert_eq!(number(&found["time"]), 5.0);
    // Equalities of what does not change are no matter of single times.
    let (_, found) = solve_text(DECAY, &["--stop-when", "k == 2 and x < 0.5"]);
    assert_eq!(found["reason"], "finished");
}

#[test]
fn a_condition_that_holds_at_the_start_ends_the_run_there() {
    for when in ["y <= 0", "y == 0"] {
        let (code, found) = solve(&["pendulum", "--stop-when", when]);
        assert_eq!((code, number(&found["time"])), (0, 0.0), "{when}");
    }
}

/// The run ends at its condition, and does not speak of a singularity that lies behind.
#[test]
fn what_lies_behind_the_condition_is_not_told() {
    for method in ["taylor", "radau", "bdf"] {
        let (code, found) = solve(&[
            "robotic-arm",
            "--stop-when",
            "time > 1.5",
            "--method",
            method,
        ]);
        assert_eq!(code, 0, "{method}: {}", found["message"]);
        assert!((number(&found["time"]) - 1.5).abs() < 1e-14, "{method}");
        assert_eq!(found["singularities"].as_array().map(Vec::len), Some(0));
    }
}

#[test]
fn mistakes_in_a_condition_are_shown_in_their_place() {
    for (when, code) in [
        ("xx < 1", "undeclared-name"),
        ("x <", "syntax"),
        ("sin(x", "syntax"),
        ("{x, x}", "wrong-size"),
        ("\"x\"", "type-mismatch"),
        ("x == 0.5 and time > 0.1", "type-mismatch"),
        ("x <> 0.5", "type-mismatch"),
        ("if x == 0.5 then 1 else -1", "type-mismatch"),
    ] {
        let output = daelight_with_input(&["solve", "-", "--stop-when", when], DECAY.as_bytes());
        assert_eq!(output.status.code(), Some(2), "{when}");
        let said = stderr(&output);
        assert!(said.contains(&format!("error[{code}]")), "{when}: {said}");
        assert!(said.contains("--stop-when:1:"), "{when}: {said}");
    }
}

#[test]
fn a_condition_without_a_value_is_told() {
    let (code, found) = solve_text(DECAY, &["--stop-when", "sqrt(x - 0.5) > 2"]);
    assert_eq!(code, 0);
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("has no value at t = "), "{warnings}");
}

/// Ctrl-C keeps what was computed: a whole file, and a document that says how far the run came.
#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_has() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run.csv");
    let child = Command::new(env!("CARGO_BIN_EXE_daelight"))
        .args(["solve", "pendulum", "--json", "--method", "taylor"])
        .args([
            "--to",
            "1e7",
            "--max-steps",
            "1000000000",
            "--points",
            "100001",
        ])
        .args(["--out", out.to_str().expect("UTF-8")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    std::thread::sleep(Duration::from_millis(1500));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let (code, found) = (status(&output), document(&output));
    assert_eq!(code, 4, "{}", found["message"]);
    assert_eq!(found["status"], "failure");
    assert_eq!(found["reason"], "interrupted");
    let reached = number(&found["time"]);
    assert!(reached > 0.0 && reached < 1e7, "{reached}");
    let text = std::fs::read_to_string(&out).expect("the file is there");
    let last = text.lines().last().expect("rows");
    let row: Vec<f64> = last
        .split(',')
        .map(|cell| cell.parse().expect("a number"))
        .collect();
    assert!((row[0] / reached - 1.0).abs() < 1e-15);
    assert!((row[1] / number(&found["final"]["x"]) - 1.0).abs() < 1e-15);
}

#[test]
fn files_tell_what_every_point_is_worth() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run.csv");
    let out = out.to_str().expect("UTF-8");
    let arguments = [
        "solve",
        "input-switch",
        "--to",
        "1.5",
        "--points",
        "4",
        "--out",
        out,
    ];
    assert!(daelight(&arguments).status.success());
    let text = std::fs::read_to_string(out).expect("a file");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time,x,u,residual_level_0,sigma_min"));
    for line in lines {
        let row: Vec<f64> = line
            .split(',')
            .map(|cell| cell.parse().expect("a number"))
            .collect();
        let (t, u, residual, sigma) = (row[0], row[2], row[3], row[4]);
        assert!((u - t.cos()).abs() < 1e-15, "{line}");
        assert!(residual < 1e-10, "{line}");
        // The block is u itself, scaled by its value at the start.
        assert!((sigma - t.cos()).abs() < 1e-12, "{line}");
    }
    let arguments = ["solve", "pendulum", "--to", "1", "--out", out];
    assert!(daelight(&arguments).status.success());
    let text = std::fs::read_to_string(out).expect("a file");
    let header = text.lines().next().expect("a header");
    let wanted =
        "time,x,y,vx,vy,lambda,residual_level_0,residual_level_1,residual_level_2,sigma_min";
    assert_eq!(header, wanted);
}

#[test]
fn a_long_swing_keeps_its_constraints_and_its_energy() {
    let (code, found) = solve(&["pendulum", "--to", "1000", "--rtol", "1e-9"]);
    assert_eq!(code, 0);
    let residuals = found["residuals"].as_array().expect("levels");
    assert_eq!(residuals.len(), 3);
    assert!(residuals.iter().all(|residual| number(residual) < 1e-10));
    let drift = number(&found["energy"]["max_drift"]);
    assert!(drift > 0.0 && drift < 1e-8, "{drift:e}");
    assert!(number(&found["energy"]["start"]).abs() < 1e-14);
    let page = stdout(&daelight(&["solve", "pendulum", "--to", "10"]));
    assert!(page.contains("Energy T + V: "), "{page}");
}

/// Energies of `lagrange` add up, bindings and velocities included.
#[test]
fn the_energy_of_a_lagrangian_is_known_without_being_asked() {
    let text = "model Bob  parameter Real m = 2, L = 1.5, g = 9.81;
        Real phi(start = 1, fixed = true), s(start = 0.3, fixed = true);
        Real height = -L*cos(phi);
        initial equation  der(phi) = 0.5;  der(s) = 0;
        equation  lagrange(0.5*m*L^2*der(phi)^2, m*g*height, {phi});
                  lagrange(0.5*der(s)^2, 2*s^2, {s});
        annotation(experiment(StopTime = 10, Tolerance = 1e-10));  end Bob;";
    let (code, found) = solve_text(text, &[]);
    assert_eq!(code, 0, "{}", found["message"]);
    let start = 0.5 * 2.0 * 1.5 * 1.5 * 0.25 - 2.0 * 9.81 * 1.5 * 1f64.cos() + 2.0 * 0.09;
    assert!((number(&found["energy"]["start"]) - start).abs() < 1e-12);
    assert!(number(&found["energy"]["max_drift"]) < 1e-8);
    // A damped one loses what it loses.
    let text = "model Damped  Real x(start = 1, fixed = true);
        initial equation  der(x) = 0;
        equation  lagrange(0.5*der(x)^2, 0.5*x^2, {x}, F = {-0.2*der(x)});
        annotation(experiment(StopTime = 1));  end Damped;";
    let (_, found) = solve_text(text, &[]);
    let (start, end) = (&found["energy"]["start"], &found["energy"]["end"]);
    assert!((number(start) - 0.5).abs() < 1e-12 && number(end) < 0.49);
    let (_, found) = solve_text(DECAY, &[]);
    assert!(found["energy"].is_null());
}

/// A condition of the model that fails ends the run, or is told, when it begins to fail; those in branches hold in their branch.
#[test]
fn assertions_are_looked_at_along_the_run() {
    let model = |extra: &str| {
        format!(
            "model Grows  Real x(start = 1, fixed = true), y;
             equation  der(x) = 1;  y = x^2;  {extra}
             annotation(experiment(StopTime = 2));  end Grows;"
        )
    };
    for (extra, time, text) in [
        (
            "assert(x < 1.5, \"too long\");",
            Some(0.5),
            "too long (`x < 1.5`)",
        ),
        (
            "assert(y < 4 and x > 0, \"area\" + String(x));",
            Some(1.0),
            "area…",
        ),
        ("assert(x > 2, \"at once\");", Some(0.0), "at once"),
        (
            "if time > 1 then assert(x < 1.5, \"late\"); end if;",
            Some(1.0),
            "late",
        ),
        (
            "if time > 3 then assert(x < 1.5, \"never\"); end if;",
            None,
            "",
        ),
        ("assert(x < 4, \"wide\");", None, ""),
    ] {
        let (code, found) = solve_text(&model(extra), &[]);
        let Some(time) = time else {
            assert_eq!((code, &found["reason"]), (0, &"finished".into()), "{extra}");
            continue;
        };
        assert_eq!(
            (code, &found["reason"]),
            (4, &"assertion".into()),
            "{extra}: {found}"
        );
        assert!(
            (number(&found["time"]) - time).abs() < 1e-8,
            "{extra}: {found}"
        );
        assert!(
            found["message"].as_str().is_some_and(|m| m.contains(text)),
            "{found}"
        );
    }
    let warned = "assert(x < 1.5, \"soft\", AssertionLevel.warning);";
    let (code, found) = solve_text(&model(warned), &[]);
    assert_eq!(code, 0, "{found}");
    let remarks = found["warnings"].to_string();
    assert!(
        remarks.contains("does not hold: soft") && remarks.contains("t = 0.5"),
        "{remarks}"
    );
    // The earlier of two ends counts.
    let (_, found) = solve_text(
        &model("assert(x < 1.5, \"no\");"),
        &["--stop-when", "x > 1.25"],
    );
    assert_eq!(found["reason"], "stopped", "{found}");
}

/// Errors are measured against 1 where no size is given: values that stay far below are told.
#[test]
fn small_unknowns_without_a_size_are_told() {
    let text = |attributes: &str| {
        format!(
            "model Small  Real x(start = 1e-12, fixed = true{attributes}), y(start = 1, fixed = true);
             equation  der(x) = -x + 1e-12*sin(5*time);  der(y) = -y;  end Small;"
        )
    };
    let (_, found) = solve_text(&text(""), &[]);
    let remarks = found["warnings"].to_string();
    assert!(remarks.contains("`x` stays below 1.0e-12"), "{remarks}");
    let (_, found) = solve_text(&text(", nominal = 1e-12"), &[]);
    assert!(
        !found["warnings"].to_string().contains("stays below"),
        "{found}"
    );
    let (_, found) = solve_text(&text(""), &["--atol", "1e-20"]);
    assert!(
        !found["warnings"].to_string().contains("stays below"),
        "{found}"
    );
}

/// Pulses of time that nothing but the condition reads end runs where they begin, and assertions are broken there.
#[test]
fn pulses_of_time_end_runs_and_break_assertions() {
    let mut random = Random(67);
    for case in 0..12 {
        let [at, level] = [random.between(0.2, 3.5), random.between(0.2, 0.8)];
        let width = 10f64.powf(random.between(-5.0, -1.5));
        let truth = at - width * f64::sqrt(-f64::ln(level));
        let counts = ["", "  when x < 0.5 then n = pre(n) + 1; end when;"][case % 2];
        let text = |check: &str| {
            format!(
                "model Pulse\n  Real x(start = 1, fixed = true), y, z;\n  discrete Integer n(start = 0, fixed = true);\nequation\n  \
                 der(x) = -x;\n  y = exp(-((time - {at})/{width})^2);\n  z = 3 + 2*y;\n{counts}\n{check}\nend Pulse;\n"
            )
        };
        let plain = match counts {
            "" => text("").replace("discrete Integer n(start = 0, fixed = true);", ""),
            _ => text(""),
        };
        let method = ["auto", "radau", "bdf"][case % 3];
        let whens = [
            format!("y > {level}"),
            format!("z - {}", 3.0 + 2.0 * level),
            format!("x > 0 and z > {}", 3.0 + 2.0 * level),
        ];
        // Models with events take relations alone.
        let is_taken = |when: &&String| counts.is_empty() || when.contains('>');
        for when in whens.iter().filter(is_taken) {
            let arguments = ["--to", "4", "--method", method, "--stop-when", when];
            let (_, found) = solve_text(&plain, &arguments);
            let time = number(&found["time"]);
            assert!(
                (time - truth).abs() < 1e-12,
                "{when}: {time} for {truth}\n{plain}"
            );
        }
        let (_, found) = solve_text(&plain, &["--to", "4", "--stop-when", "y > 1.1"]);
        assert_eq!(number(&found["time"]), 4.0, "{plain}");
        let checked = plain.replace(
            "end Pulse",
            &format!("  assert(y < {level}, \"high\");\nend Pulse"),
        );
        let (_, found) = solve_text(&checked, &["--to", "4", "--method", method]);
        let time = number(&found["time"]);
        assert!(
            (time - truth).abs() < 1e-12,
            "{time} for {truth}\n{checked}"
        );
        let warned = checked.replace("\"high\"", "\"high\", AssertionLevel.warning");
        let (_, found) = solve_text(&warned, &["--to", "4", "--method", method]);
        assert_eq!(number(&found["time"]), 4.0, "{warned}");
        assert!(
            found["warnings"].to_string().contains("high"),
            "{found}\n{warned}"
        );
    }
}
