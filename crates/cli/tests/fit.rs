//! Fits of noisy runs: how often the truth is within the interval, and what the data do not determine.

use crate::common::{Random, daelight, document, model_with, number};
use daelight::FitOptions;
use std::fmt::Write;
use std::path::PathBuf;

const SWING: &str = "model Swing
  parameter Real L = 1, g = 9.81, d = 0.1, m = 1;
  Real x(start = L, fixed = true), y, v, w(start = 0, fixed = true), f;
equation
  der(x) = v;
  der(y) = w;
  m*der(v) = -f*x - m*d*v;
  m*der(w) = -f*y - m*d*w - m*g;
  x^2 + y^2 = L^2;
end Swing;
";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("daelight-fit-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A number of mean 0 and variance 1: the sum of twelve even ones.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.between(0.0, 1.0)).sum::<f64>() - 6.0
}

/// A run of the swing at 0, 0.05, …, 2 as names and rows.
fn truth(set: &[&str]) -> (Vec<f64>, Vec<f64>) {
    let model = model_with("swing.mo", SWING, set);
    let system = daelight::system(&model).expect("equations");
    let options = daelight::SolveOptions {
        to: Some(2.0),
        rtol: Some(1e-11),
        ..Default::default()
    };
    let solution = daelight::solve(&system, &options).ok().expect("a run");
    let times: Vec<f64> = (0..=40).map(|k| 0.05 * f64::from(k)).collect();
    let mut reader = solution.reader(&system);
    let x = |time: &f64| reader.values(*time).ok().flatten().expect("inside")[0];
    let values = times.iter().map(x).collect();
    (times, values)
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let folder = folder("intervals");
    let (truths, noise) = ([1.3, 9.4, 0.25], 0.01);
    let set = ["L=1.3", "g=9.4", "d=0.25"];
    let (times, values) = truth(&set);
    let model = model_with("swing.mo", SWING, &["L=1.2", "g=9.0", "d=0.1"]);
    let system = daelight::system(&model).expect("equations");
    let options = FitOptions {
        parameters: ["L", "g", "d"].map(str::to_string).to_vec(),
        confidence: 0.95,
        ..Default::default()
    };
    let mut random = Random(95);
    let mut held = [0; 3];
    for trial in 0..100 {
        let mut table = String::from("time,x\n");
        for (time, value) in times.iter().zip(&values) {
            let measured = value + noise * normal(&mut random);
            writeln!(table, "{time},{measured}").expect("room");
        }
        let path = folder.join("run.csv");
        std::fs::write(&path, table).expect("a file");
        let found = daelight::fit(&model, &system, &path, &options).expect("a fit");
        assert!(
            found.end == daelight::FitEnd::Settled && found.unseen.is_empty(),
            "trial {trial}: {found:?}"
        );
        for (k, fitted) in found.parameters.iter().enumerate() {
            let (_, half) = fitted.error.expect("an interval");
            held[k] += usize::from((fitted.value - truths[k]).abs() <= half);
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
    println!("held {held:?} of 100");
    // 95 are expected with a standard deviation of 2.2: 88 and 100 are three and more away.
    assert!(held.iter().all(|n| (89..=100).contains(n)), "{held:?}");
    let all: usize = held.iter().sum();
    assert!((275..=296).contains(&all), "{held:?}");
}

#[test]
fn what_the_data_do_not_determine_is_named() {
    let folder = folder("unseen");
    let (times, values) = truth(&["L=1.3", "g=9.4"]);
    let mut table = String::from("time,x\n");
    let mut random = Random(7);
    for (time, value) in times.iter().zip(&values) {
        let measured = value + 0.01 * normal(&mut random);
        writeln!(table, "{time},{measured}").expect("room");
    }
    let (data, text) = (folder.join("run.csv"), folder.join("swing.mo"));
    std::fs::write(&data, table).expect("a file");
    // The mass moves nothing; q and r occur as a product.
    let twice = SWING
        .replace("m = 1;", "m = 1, q = 2, r = 5;")
        .replace("m*d*w - m*g", "m*d*w - m*q*r");
    std::fs::write(&text, twice).expect("a file");
    let (data, text) = (data.to_string_lossy(), text.to_string_lossy());
    let run = |names: &str| {
        let asked = [
            "fit",
            &text,
            "--data",
            &data,
            "--parameters",
            names,
            "--json",
        ];
        document(&daelight(&asked))
    };
    let found = run("L,m");
    assert!(found["parameters"][1]["interval"].is_null(), "{found}");
    assert!(!found["parameters"][0]["interval"].is_null(), "{found}");
    let found = run("L,q,r");
    assert_eq!(found["unseen"].as_array().map(Vec::len), Some(1), "{found}");
    let change: Vec<f64> = (0..3).map(|k| number(&found["unseen"][0][k])).collect();
    // q up and r down by the same part.
    assert!(
        (change[1] + change[2]).abs() < 1e-6 && change[0].abs() < 1e-6,
        "{change:?}"
    );
    let told = found["warnings"][0].as_str().expect("words");
    assert!(
        told.contains("q") && told.contains("r") && told.contains("do not determine"),
        "{told}"
    );
    let found = run("L,q");
    assert!(
        found["settled"] == true && found["warnings"].as_array().is_some_and(Vec::is_empty),
        "{found}"
    );
    std::fs::remove_dir_all(&folder).expect("the folder");
}

#[test]
fn two_columns_count_by_their_noise() {
    let folder = folder("columns");
    let line = folder.join("line.mo");
    std::fs::write(&line, "model L parameter Real a = 1, b = 1; Real x(start = 0, fixed = true), y; equation der(x) = a; y = 1000*(b + x); end L;").expect("a file");
    let data = folder.join("run.csv");
    let mut table = String::from("time,x,y\n");
    let mut random = Random(3);
    for k in 0..=50 {
        let t = 0.1 * f64::from(k);
        let (x, y) = (
            2.0 * t + 0.01 * normal(&mut random),
            1000.0 * (3.0 + 2.0 * t) + 50.0 * normal(&mut random),
        );
        writeln!(table, "{t},{x},{y}").expect("room");
    }
    std::fs::write(&data, table).expect("a file");
    let (line, data) = (line.to_string_lossy(), data.to_string_lossy());
    let found = document(&daelight(&[
        "fit",
        &line,
        "--data",
        &data,
        "--parameters",
        "a,b",
        "--json",
    ]));
    // By hand: the weights are 1/0.01 and 1/50, x alone gives a to 0.01/sqrt(sum t^2) = 4.8e-4.
    let error = number(&found["parameters"][0]["error"]);
    assert!((3.6e-4..6.0e-4).contains(&error), "{found}");
    for (k, truth) in [2.0, 3.0].into_iter().enumerate() {
        let value = number(&found["parameters"][k]["value"]);
        assert!(
            (value - truth).abs() < 4.0 * number(&found["parameters"][k]["error"]),
            "{found}"
        );
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// The sum of squares falls towards values that are not allowed, or with which nothing runs: no minimum is claimed there.
#[test]
fn a_fit_that_meets_a_border_says_so() {
    let folder = folder("border");
    let mut random = Random(5);
    for _ in 0..4 {
        let rate = random.between(0.2, 0.6);
        let case = |name: &str, text: &str, truth: f64| {
            let (data, model) = (folder.join("data.csv"), folder.join(format!("{name}.mo")));
            let rows = (0..=10).map(|k| 0.1 * f64::from(k));
            let rows: Vec<String> = rows
                .map(|t| format!("{t},{}", (-truth * t).exp()))
                .collect();
            std::fs::write(&data, format!("time,x\n{}\n", rows.join("\n"))).expect("a file");
            std::fs::write(&model, text).expect("a file");
            let (data, model) = (data.to_string_lossy(), model.to_string_lossy());
            document(&daelight(&[
                "fit",
                &model,
                "--data",
                &data,
                "--parameters",
                "k",
                "--json",
            ]))
        };
        let with = |more: &str, equation: &str| {
            format!(
                "model M parameter Real k({more}) = 1; Real x(start = 1, fixed = true); equation {equation} end M;"
            )
        };
        // The data grow; k may not be negative: it rests at its bound.
        let found = case("bound", &with("min = 0", "der(x) = -k*x;"), -rate);
        let fitted = &found["parameters"][0];
        assert!(
            found["settled"] == true && number(&fitted["value"]) == 0.0,
            "{found}"
        );
        assert!(
            fitted["interval"].is_null() && fitted["no_interval"] == "at its bound",
            "{found}"
        );
        // Values beyond a border have no run.
        for (name, text) in [
            ("root", with("", "der(x) = -sqrt(k)*x;")),
            (
                "asserted",
                with(
                    "",
                    &format!(
                        "assert(k > {}, \"too small\"); der(x) = -k*x;",
                        2.0 * rate - 0.1
                    ),
                ),
            ),
        ] {
            let truth = if name == "root" { -rate } else { rate - 0.15 };
            let found = case(name, &text, truth);
            assert!(found["settled"] == false, "{name}: {found}");
            assert!(
                found["parameters"][0]["interval"].is_null(),
                "{name}: {found}"
            );
            let value = number(&found["parameters"][0]["value"]);
            let allowed = if name == "root" {
                0.0
            } else {
                2.0 * rate - 0.1
            };
            assert!(value >= allowed, "{name}: {found}");
        }
        // An assertion along the run.
        let limit = 0.5 * (1.0 + (-rate).exp());
        let text = with(
            "",
            &format!("assert(x > {limit}, \"too small\"); der(x) = -k*x;"),
        )
        .replace("= 1;", "= 0.01;");
        let found = case("along", &text, rate);
        assert!(found["settled"] == false, "{found}");
        let value = number(&found["parameters"][0]["value"]);
        assert!((-value).exp() >= limit - 1e-9, "{found}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// A tank that fills at one rate up to a level and at another beyond it.
const TANK: &str = "model Tank
  parameter Real level = 0.7, fast = 2, slow = 0.5;
  Real h(start = 0, fixed = true);
equation
  der(h) = if h < level then fast else slow;
  annotation(experiment(StopTime = 1));
end Tank;
";

/// Writes the tank and a table of its level, times multiplied.
fn tank(name: &str, unit: f64) -> (String, String) {
    let folder = folder(name);
    let (level, fast, slow) = (0.9, 1.8, 0.4);
    let mut table = String::from("time,h\n");
    for k in 0..=20 {
        let t = 0.05 * f64::from(k);
        let h = (fast * t).min(level + slow * (t - level / fast));
        let h = if t < level / fast { fast * t } else { h };
        writeln!(table, "{},{h}", t * unit).expect("room");
    }
    let (model, data) = (folder.join("tank.mo"), folder.join("tank.csv"));
    std::fs::write(&model, TANK).expect("a file");
    std::fs::write(&data, table).expect("a file");
    (model.display().to_string(), data.display().to_string())
}

#[test]
fn a_fit_goes_on_behind_switches_that_move() {
    let (model, data) = tank("switch", 1.0);
    let arguments = [
        "fit",
        &model,
        "--data",
        &data,
        "--parameters",
        "level,fast,slow",
        "--json",
    ];
    let found = document(&daelight(&arguments));
    for (at, truth) in [0.9, 1.8, 0.4].into_iter().enumerate() {
        let value = number(&found["parameters"][at]["value"]);
        assert!((value - truth).abs() < 1e-6, "{found}");
    }
}

#[test]
fn data_in_another_unit_of_time_are_told() {
    let (model, data) = tank("unit", 1000.0);
    let arguments = [
        "fit",
        &model,
        "--data",
        &data,
        "--parameters",
        "level",
        "--json",
    ];
    let found = document(&daelight(&arguments));
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("have the same unit"), "{warnings}");
    assert!(
        warnings.contains("a constant would fit as well"),
        "{warnings}"
    );
}

#[test]
fn a_fit_goes_on_behind_events() {
    let text = "model Ball parameter Real e = 0.75, g = 9; Real h(start = 1, fixed = true), v(start = 0, fixed = true); \
                equation der(h) = v; der(v) = -g; when h < 0 then reinit(v, -e*pre(v)); end when; end Ball;";
    let mut random = Random(5);
    let (e, g) = (0.83, 9.5_f64);
    let (fall, mut data) = ((2.0 / g).sqrt(), "time,h\n".to_string());
    for k in 0..40 {
        let time = 0.03 * f64::from(k);
        let h = match time < fall {
            true => 1.0 - 0.5 * g * time * time,
            false => e * g * fall * (time - fall) - 0.5 * g * (time - fall).powi(2),
        };
        writeln!(data, "{time},{}", h + 0.002 * normal(&mut random)).expect("a line");
    }
    let folder = folder("events");
    std::fs::write(folder.join("ball.mo"), text).expect("a model");
    std::fs::write(folder.join("ball.csv"), data).expect("data");
    let path = |name: &str| folder.join(name).display().to_string();
    let found = document(&daelight(&[
        "fit",
        &path("ball.mo"),
        "--data",
        &path("ball.csv"),
        "--parameters",
        "e,g",
        "--json",
    ]));
    for (at, truth) in [(0, e), (1, g)] {
        let fitted = &found["parameters"][at];
        let off = (number(&fitted["value"]) - truth).abs();
        assert!(
            off <= 4.0 * number(&fitted["error"]) && off < 0.05,
            "{found}"
        );
    }
}

#[test]
fn a_maximum_is_left() {
    let folder = folder("maximum");
    let text = "model W parameter Real w = 0; Real x(start = 0, fixed = true); equation der(x) = w^2; end W;";
    std::fs::write(folder.join("w.mo"), text).expect("a model");
    std::fs::write(
        folder.join("w.csv"),
        "time,x\n0.5,0.52\n1,1.01\n1.5,1.49\n2,2.02\n",
    )
    .expect("data");
    let path = |name: &str| folder.join(name).display().to_string();
    let found = document(&daelight(&[
        "fit",
        &path("w.mo"),
        "--data",
        &path("w.csv"),
        "--parameters",
        "w",
        "--json",
    ]));
    let w = number(&found["parameters"][0]["value"]).abs();
    assert!((w - 1.003).abs() < 0.01, "{found}");
}

/// Two columns of six values, one five times as noisy as the other: the intervals of three parameters.
#[test]
fn few_values_in_several_columns_have_wide_enough_intervals() {
    let text = "model F parameter Real k = 1, a = 1, b = 0.5; Real x(start = a, fixed = true), y(start = 0, fixed = true); \
                equation der(x) = -k*x; der(y) = b*x - 0.3*y; end F;";
    let model = model_with("f.mo", text, &[]);
    let system = daelight::system(&model).expect("equations");
    let (k, a, b) = (1.3_f64, 1.7, 0.8);
    let folder = folder("few");
    let (mut random, mut held, trials) = (Random(11), [0; 3], 100);
    for _ in 0..trials {
        let mut data = "time,x,y\n".to_string();
        for at in 1..=6 {
            let t = 0.4 * f64::from(at);
            let x = a * (-k * t).exp() + 0.01 * normal(&mut random);
            let y = b * a * ((-k * t).exp() - (-0.3 * t).exp()) / (0.3 - k);
            writeln!(data, "{t},{x},{}", y + 0.05 * normal(&mut random)).expect("a line");
        }
        let path = folder.join("f.csv");
        std::fs::write(&path, data).expect("data");
        let options = FitOptions {
            parameters: ["k", "a", "b"].map(String::from).to_vec(),
            confidence: 0.95,
            ..FitOptions::default()
        };
        let fit = daelight::fit(&model, &system, &path, &options).expect("a fit");
        for (at, truth) in [k, a, b].into_iter().enumerate() {
            let fitted = &fit.parameters[at];
            let (_, half) = fitted.error.expect("an interval");
            held[at] += usize::from((fitted.value - truth).abs() <= half);
        }
    }
    // 95 of 100; 88 and less happen once in two hundred such tests. With the noise taken as known it was 81 to 90.
    assert!(held.iter().all(|held| *held >= 89), "{held:?}");
}

/// A force that begins at p: the derivative by p is that of the moving switch, and the fit goes to the truth.
#[test]
fn the_time_of_a_switch_is_fitted() {
    let folder = folder("switch-time");
    let mut random = Random(32);
    for relation in ["time > p", "time >= p", "not time <= p"] {
        let (p, k) = (random.between(0.6, 1.4), random.between(0.5, 2.0));
        let begin = p + 0.07;
        let text = format!(
            "model S parameter Real p = {begin}, k = {}; Real x(start = 0, fixed = true); equation der(x) = -k*x + (if {relation} then 1 else 0); end S;",
            1.1 * k
        );
        std::fs::write(folder.join("s.mo"), text).expect("a model");
        let mut data = "time,x\n".to_string();
        for step in 0..=60 {
            let time = 0.05 * f64::from(step);
            let x = (1.0 - (-k * (time - p).max(0.0)).exp()) / k;
            let _ = writeln!(data, "{time},{x}");
        }
        std::fs::write(folder.join("s.csv"), data).expect("data");
        let path = |name: &str| folder.join(name).display().to_string();
        let (model, data) = (path("s.mo"), path("s.csv"));
        let arguments = [
            "fit",
            &model,
            "--data",
            &data,
            "--parameters",
            "p,k",
            "--json",
        ];
        let found = document(&daelight(&arguments));
        for (at, truth) in [p, k].into_iter().enumerate() {
            let value = number(&found["parameters"][at]["value"]);
            assert!((value - truth).abs() < 1e-4, "{relation}: {found}");
            assert!(found["parameters"][at]["interval"].is_array(), "{found}");
        }
    }
}
