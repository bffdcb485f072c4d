//! `solve --input`: models driven by tables agree with models that hold the expression, and bad data are told.

mod common;

use common::{daelight, json, number, stderr};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder for the files of one test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file");
        text_of(&path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A table of a function of time, named u.
    fn table(&self, name: &str, n: usize, end: f64, u: impl Fn(f64) -> f64) -> String {
        let time = |k: usize| end * k as f64 / (n - 1) as f64;
        let row = |k: usize| format!("{},{}\n", time(k), u(time(k)));
        let rows: String = (0..n).map(row).collect();
        self.write(name, &format!("time,u\n{rows}"))
    }
}

fn text_of(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_string()
}

fn solve(model: &str, arguments: &[&str]) -> (i32, Value) {
    json(&[&["solve", model], arguments].concat())
}

fn last(document: &Value, name: &str) -> f64 {
    number(&document["final"][name])
}

/// der(x) = -x + u with u and its derivatives up to the second as unknowns.
fn follower(input: &str) -> String {
    format!(
        "model Follower  {input}  Real x(start = 1, fixed = true), y, z, w;
         equation  der(x) = -x + u;  y = u;  z = der(y);  w = der(z);
         annotation(experiment(StopTime = 2));  end Follower;"
    )
}

#[test]
fn every_method_and_format_follows_a_smooth_signal() {
    let folder = Folder::new();
    let driven = folder.write("driven.mo", &follower("input Real u;"));
    let producer = folder.write(
        "producer.mo",
        "model Producer  Real u;  equation  u = 2*cos(3*time) + sin(5*time);
         annotation(experiment(StopTime = 2));  end Producer;",
    );
    let (t, u) = (2.0f64, |t: f64| 2.0 * (3.0 * t).cos() + (5.0 * t).sin());
    let slope = -6.0 * (3.0 * t).sin() + 5.0 * (5.0 * t).cos();
    let second = -18.0 * (3.0 * t).cos() - 25.0 * (5.0 * t).sin();
    // x = a cos 3t + b sin 3t + c cos 5t + d sin 5t + e exp(-t).
    let (a, b, c, d) = (0.2, 0.6, -5.0 / 26.0, 1.0 / 26.0);
    let x = a * (3.0 * t).cos()
        + b * (3.0 * t).sin()
        + c * (5.0 * t).cos()
        + d * (5.0 * t).sin()
        + (1.0 - a - c) * (-t).exp();
    for format in ["csv", "json", "parquet"] {
        let table = text_of(&folder.path(&format!("run.{format}")));
        let written = daelight(&["solve", &producer, "--points", "1001", "--out", &table]);
        assert!(written.status.success(), "{}", stderr(&written));
        for method in ["taylor", "radau", "bdf"] {
            let input = format!("u={table}");
            let (code, found) = solve(
                &driven,
                &["--input", &input, "--method", method, "--rtol", "1e-10"],
            );
            let what = format!("{format} {method}");
            assert_eq!((code, &found["status"]), (0, &"success".into()), "{what}");
            assert_eq!(
                found["warnings"].as_array().map(Vec::len),
                Some(0),
                "{what}"
            );
            let error = (last(&found, "x") - x).abs();
            let bound = if method == "taylor" { 1e-11 } else { 1e-8 };
            assert!(error < bound, "{what}: x off by {error:e}");
            let error = (last(&found, "y") - u(t)).abs();
            assert!(error < 1e-12, "{what}: y off by {error:e}");
            let error = (last(&found, "z") - slope).abs();
            assert!(error < 1e-9, "{what}: z off by {error:e}");
            let error = (last(&found, "w") - second).abs();
            assert!(error < 1e-5, "{what}: w off by {error:e}");
        }
    }
}

/// The torque that moves a pendulum along a path, found by the inverse model, moves the forward model along the path.
#[test]
fn a_torque_from_a_run_drives_the_motion_it_came_from() {
    let folder = Folder::new();
    let path = "0.4 + 0.3*sin(2*time) + 0.1*cos(5*time)";
    let inverse = folder.write(
        "inverse.mo",
        &format!(
            "model Inverse  Real phi, w, torque;
             equation  phi = {path};  w = der(phi);  der(w) = -9.81*sin(phi) + torque;
             annotation(experiment(StopTime = 5));  end Inverse;"
        ),
    );
    let forward = folder.write(
        "forward.mo",
        "model Forward  input Real u;
         Real phi(start = 0.5, fixed = true), w(start = 0.6, fixed = true);
         equation  w = der(phi);  der(w) = -9.81*sin(phi) + u;
         annotation(experiment(StopTime = 5));  end Forward;",
    );
    let table = text_of(&folder.path("inverse.csv"));
    let arguments = [
        "solve", &inverse, "--rtol", "1e-12", "--points", "1001", "--out", &table,
    ];
    let written = daelight(&arguments);
    assert!(written.status.success(), "{}", stderr(&written));
    let input = format!("u={table}:torque");
    let (code, found) = solve(&forward, &["--input", &input, "--rtol", "1e-12"]);
    assert_eq!(code, 0, "{}", found["message"]);
    let exact = 0.4 + 0.3 * 10.0f64.sin() + 0.1 * 25.0f64.cos();
    let error = (last(&found, "phi") - exact).abs();
    assert!(error < 1e-10, "off by {error:e}");
}

#[test]
fn a_driven_run_goes_backward_too() {
    let folder = Folder::new();
    let table = folder.table("u.csv", 401, 2.0, f64::sin);
    let input = format!("u={table}");
    let driven = folder.write("driven.mo", &follower("input Real u;"));
    let exact = folder.write("exact.mo", &follower("input Real u = sin(time);"));
    let span = ["--from", "2", "--to", "0.3", "--rtol", "1e-10"];
    let (code, found) = solve(&driven, &[&["--input", &input][..], &span].concat());
    let (_, wanted) = solve(&exact, &span);
    assert_eq!(code, 0);
    for (name, bound) in [("x", 1e-10), ("y", 1e-12), ("z", 1e-9), ("w", 1e-6)] {
        let error = (last(&found, name) - last(&wanted, name)).abs();
        assert!(error < bound, "{name}: {error:e}");
    }
}

/// A zero of the input is a singular point of the model, wherever the input comes from; all solutions of `u x' = -x` pass through x = 0 there.
#[test]
fn a_singularity_of_the_data_is_found_and_named() {
    let folder = Folder::new();
    let table = folder.table("u.csv", 1001, 2.0, f64::cos);
    let (code, found) = solve("input-switch", &["--input", &format!("u={table}")]);
    assert_eq!(code, 3);
    let singularity = &found["singularities"][0];
    let error = (number(&singularity["time"]) - std::f64::consts::FRAC_PI_2).abs();
    assert!(error < 1e-12, "{error:e}");
    assert_eq!(singularity["locus"], "u");
    assert_eq!(singularity["nature"], "family");
    assert_eq!(singularity["kind"], "0-A");
}

#[test]
fn branches_of_the_model_switch_at_times_of_the_data() {
    let folder = Folder::new();
    let table = folder.table("u.csv", 501, 2.0, f64::sin);
    let model = |input: &str| {
        format!(
            "model Relay  {input}  Real x(start = 0, fixed = true);
             equation  der(x) = if u > 0.5 then u else -u;
             annotation(experiment(StopTime = 2));  end Relay;"
        )
    };
    let driven = folder.write("driven.mo", &model("input Real u;"));
    let exact = folder.write("exact.mo", &model("input Real u = sin(time);"));
    let (_, found) = solve(&driven, &["--input", &format!("u={table}")]);
    let (_, wanted) = solve(&exact, &[]);
    assert!((last(&found, "x") - last(&wanted, "x")).abs() < 1e-9);
    let switch = number(&found["switches"][0]["time"]);
    assert!((switch - 0.5f64.asin()).abs() < 1e-11, "{switch}");
    assert_eq!(found["switches"].as_array().map(Vec::len), Some(1));
}

#[test]
fn rough_and_scarce_data_are_told() {
    let folder = Folder::new();
    let driven = folder.write("driven.mo", &follower("input Real u;"));
    let noise = |t: f64| t.sin() + 1e-4 * (1e5 * t * t).sin();
    let rough = folder.table("rough.csv", 401, 2.0, noise);
    let (code, found) = solve(&driven, &["--input", &format!("u={rough}")]);
    assert_eq!(code, 0);
    let warning = found["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("column `u`"), "{warning}");
    assert!(warning.contains("too rough"), "{warning}");
    assert!(warning.contains("derivative of order 2"), "{warning}");
    assert!(warning.contains("with a factor of"), "{warning}");
    let scarce = folder.table("scarce.csv", 5, 2.0, f64::sin);
    let (code, found) = solve(&driven, &["--input", &format!("u={scarce}")]);
    assert_eq!(code, 0);
    let warning = found["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("too few samples"), "{warning}");
}

#[test]
fn unusable_data_are_refused_with_a_reason() {
    let folder = Folder::new();
    let model = folder.write("driven.mo", &follower("input Real u;"));
    let good = folder.table("good.csv", 101, 2.0, f64::sin);
    let files = [
        (
            "hole.csv",
            "time,u\n0,1\n1,NaN\n2,3\n3,4\n",
            "sample 2 is not a number",
        ),
        (
            "back.csv",
            "time,u\n0,1\n1,2\n0.5,3\n3,4\n",
            "does not lie behind",
        ),
        ("short.csv", "time,u\n0,1\n2,2\n", "too few"),
        (
            "word.csv",
            "time,u\n0,one\n",
            "`one` in line 2 is not a number",
        ),
        ("empty.csv", "", "empty"),
        ("list.json", "[1, 2]", "not an object of lists"),
        ("table.xls", "time,u\n", "not from `xls`"),
    ];
    let mut cases: Vec<(String, i32, String)> = files
        .iter()
        .map(|(name, text, reason)| {
            let path = folder.write(name, text);
            (format!("u={path}"), 1, reason.to_string())
        })
        .collect();
    let mut case = |input: String, code: i32, reason: &str| {
        cases.push((input, code, reason.to_string()));
    };
    case(format!("u={good}:v"), 1, "no column `v`");
    case(format!("v={good}"), 1, "error[unknown-input]");
    case("u".to_string(), 2, "holds no `=`");
    case(format!("u={good}.none"), 2, "error[unreadable-file]");
    for (input, code, reason) in cases {
        let output = daelight(&["solve", &model, "--input", &input]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{input}: {said}");
        assert!(said.contains(&reason), "{input}: {said}");
        assert!(said.contains("help: "), "{input}: {said}");
    }
    let input = format!("u={good}");
    let twice = daelight(&["solve", &model, "--input", &input, "--input", &input]);
    assert_eq!(twice.status.code(), Some(1));
    assert!(stderr(&twice).contains("given twice"));
    let long = daelight(&["solve", &model, "--input", &input, "--to", "2.5"]);
    assert_eq!(long.status.code(), Some(1));
    assert!(stderr(&long).contains("leaves the data of the input `u`"));
}

/// The integral of straight lines between samples.
fn area(samples: &[(f64, f64)]) -> f64 {
    let pieces = samples.windows(2);
    pieces
        .map(|two| 0.5 * (two[1].0 - two[0].0) * (two[0].1 + two[1].1))
        .sum()
}

#[test]
fn a_table_of_a_few_points_means_straight_lines_and_jumps() {
    let folder = Folder::new();
    let model = folder.write(
        "drv.mo",
        "model Drv  input Real u;  Real v(start = 0, fixed = true);  equation  der(v) = u;  end Drv;",
    );
    let mut random = common::Random(11);
    for case in 0..12 {
        let mut samples = vec![(0.0, random.between(-5.0, 5.0))];
        for _ in 0..2 + random.below(6) {
            let (time, value) = samples[samples.len() - 1];
            samples.push(match random.below(4) {
                // A steep edge, a jump, a flat stretch, a slope.
                0 => (time + 1e-3, random.between(-5.0, 5.0)),
                1 if samples.len() > 1 && samples[samples.len() - 2].0 < time => {
                    (time, random.between(-5.0, 5.0))
                }
                2 => (time + random.between(0.2, 1.0), value),
                _ => (time + random.between(0.2, 1.0), random.between(-5.0, 5.0)),
            });
        }
        let (last_time, last_value) = samples[samples.len() - 1];
        samples.push((last_time + 0.5, last_value));
        let rows: String = samples
            .iter()
            .map(|(time, value)| format!("{time},{value}\n"))
            .collect();
        let table = folder.write(&format!("t{case}.csv"), &format!("time,u\n{rows}"));
        let (input, to) = (format!("u={table}"), (last_time + 0.5).to_string());
        for method in ["auto", "radau", "bdf"] {
            let arguments = ["--input", &input, "--to", &to, "--method", method];
            let (code, found) = solve(&model, &arguments);
            assert_eq!(code, 0, "{method}: {found}\n{rows}");
            let (v, truth) = (last(&found, "v"), area(&samples));
            assert!(
                (v - truth).abs() < 1e-6 * (1.0 + truth.abs()),
                "{method}: {v} for {truth}\n{rows}"
            );
        }
    }
}
