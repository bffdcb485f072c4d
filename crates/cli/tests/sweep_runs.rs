//! Sweeps of models with events, of expressions, with conditions that end runs, and quantiles over all runs: against closed forms.

use crate::common::{daelight, json, stdout};
use daelight::ModelText;
use daelight::sweep::{Axis, Measure, Settings, Sweep, SweepPoints, SweepRow};
use daelight_lang::Options;

/// A sweep over random points of these ranges.
fn random(
    model: &str,
    over: &[&str],
    n: usize,
    measures: &[&str],
    more: (Options, Settings),
) -> Sweep {
    let axes = over.iter().map(|text| Axis::read(text).expect("an axis"));
    let points = SweepPoints::random(&axes.collect::<Vec<_>>(), n, 7).expect("points");
    let measures = measures
        .iter()
        .map(|word| Measure::read(word).expect("a measure"));
    let text = ModelText {
        name: "test.mo".to_string(),
        bytes: model.as_bytes().to_vec(),
    };
    let sweep = Sweep::new(text, &more.0, points, measures.collect(), more.1);
    sweep.unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// The numbers of a row.
fn numbers<const N: usize>(row: &SweepRow) -> [f64; N] {
    let of = |at: usize| row.measured[at].number();
    std::array::from_fn(|at| of(at).unwrap_or_else(|| panic!("{:?}: {}", row.point, row.reason)))
}

fn near(found: f64, wanted: f64, row: &SweepRow) {
    let within = 1e-7 * (1.0 + wanted.abs());
    assert!(
        (found - wanted).abs() < within,
        "{:?}: {found} for {wanted}",
        row.point
    );
}

const BALL: &str = "model Ball
  parameter Real e = 0.8, g = 9.81, h0 = 1;
  Real h(start = h0, fixed = true), v(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(h) = v;  der(v) = -g;
  when h <= 0 then
    reinit(v, -e*pre(v));
    n = pre(n) + 1;
  end when;
  annotation(experiment(StopTime = 1.5));
end Ball;";

/// Height, velocity and number of bounces of a ball, and the greatest height behind the first bounce.
fn ball(e: f64, g: f64, h0: f64, end: f64) -> (f64, f64, f64, f64) {
    let (mut time, mut speed, mut bounces) = ((2.0 * h0 / g).sqrt(), (2.0 * g * h0).sqrt(), 0.0);
    if end < time {
        return (h0 - g * end * end / 2.0, -g * end, 0.0, f64::NAN);
    }
    let mut highest: f64 = 0.0;
    loop {
        (speed, bounces) = (e * speed, bounces + 1.0);
        let (left, hop) = (end - time, 2.0 * speed / g);
        highest = highest.max(speed * speed / (2.0 * g));
        if left < hop {
            return (
                speed * left - g * left * left / 2.0,
                speed - g * left,
                bounces,
                highest,
            );
        }
        time += hop;
    }
}

#[test]
fn balls_bounce_in_sweeps_as_they_do_alone() {
    let measures = [
        "final:h",
        "final:v",
        "final:n",
        "max:v",
        "final:m*g*h + 0.5*m*v^2",
        "status",
    ];
    let model = BALL.replace("h0 = 1;", "h0 = 1, m = 2;");
    // Behind nine times the fall they would have come to rest.
    let over = ["e=0.8:0.95", "g=5:15", "h0=0.5:2"];
    let sweep = random(&model, &over, 40, &measures, Default::default());
    assert!(sweep.notes().is_empty(), "{:?}", sweep.notes());
    let mut n_many = 0;
    for row in sweep.all_rows() {
        let [e, g, h0] = row.point[..] else {
            panic!("three parameters")
        };
        let (h, v, n, _) = ball(e, g, h0, 1.5);
        let [found_h, found_v, found_n, fastest, energy] = numbers(&row);
        near(found_h, h, &row);
        near(found_v, v, &row);
        assert_eq!(found_n, n, "{:?}", row.point);
        near(energy, 2.0 * g * h + v * v, &row);
        // It is fastest upwards behind the first bounce.
        near(fastest, e * (2.0 * g * h0).sqrt(), &row);
        n_many += usize::from(n > 1.0);
    }
    assert!(n_many > 5);
}

#[test]
fn rows_with_events_are_single_runs() {
    let model = "model Thermostat
  parameter Real low = 19, high = 21, P = 8;
  Real T(start = 15, fixed = true);
  Boolean on(start = true, fixed = true);
equation
  der(T) = (if on then P else 0) - 0.3*(T - 5);
  on = T < low or pre(on) and T < high;
  annotation(experiment(StopTime = 20));
end Thermostat;";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("thermostat.mo");
    std::fs::write(&path, model).expect("a file");
    let path = path.to_str().expect("a plain path");
    let rows = random(
        model,
        &["high=20:23", "P=6:12"],
        12,
        &["final:T", "final:time"],
        Default::default(),
    );
    for row in rows.all_rows() {
        let [found, time] = numbers(&row);
        let set = [
            format!("high={:e}", row.point[0]),
            format!("P={:e}", row.point[1]),
        ];
        let args = ["solve", path, "--set", &set[0], "--set", &set[1]];
        let (_, alone) = json(&args);
        assert_eq!(alone["final"]["T"].as_f64(), Some(found), "{set:?}");
        assert_eq!(time, 20.0);
    }
}

#[test]
fn conditions_end_the_runs_of_a_sweep() {
    let fall = "model Fall
  parameter Real h0 = 1, g = 9.81;
  Real h(start = h0, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;  der(v) = -g;
  annotation(experiment(StopTime = 10));
end Fall;";
    let stop = |text: &str| Options {
        stop_when: Some(text.to_string()),
        ..Options::default()
    };
    let measures = ["final:time", "min:der(h)", "max-abs:der(v)*h0"];
    let sweep = random(
        fall,
        &["h0=0.1:4", "g=1:12"],
        60,
        &measures,
        (stop("h < 0"), Settings::default()),
    );
    for row in sweep.all_rows() {
        let [time, fastest, product] = numbers(&row);
        let [h0, g] = row.point[..] else {
            panic!("two parameters")
        };
        near(time, (2.0 * h0 / g).sqrt(), &row);
        near(fastest, -(2.0 * h0 * g).sqrt(), &row);
        near(product, g * h0, &row);
    }
    // The same where there are events.
    let sweep = random(
        BALL,
        &["e=0.5:0.9"],
        20,
        &["final:time"],
        (stop("n >= 2"), Settings::default()),
    );
    for row in sweep.all_rows() {
        let first = (2.0_f64 / 9.81).sqrt();
        near(
            numbers::<1>(&row)[0],
            first * (1.0 + 2.0 * row.point[0]),
            &row,
        );
    }
}

#[test]
fn quantiles_of_runs_are_those_of_what_they_follow() {
    let decay = "model Decay
  parameter Real k = 1;
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x;
  annotation(experiment(StopTime = 2));
end Decay;";
    let settings = Settings {
        n_times: 9,
        ..Settings::default()
    };
    let sweep = random(
        decay,
        &["k=0.5:2"],
        101,
        &["status"],
        (Options::default(), settings),
    );
    let rows = sweep.all_rows();
    let mut rates: Vec<f64> = rows.iter().map(|row| row.point[0]).collect();
    rates.sort_by(|a, b| b.total_cmp(a));
    let levels = [0.05, 0.5, 0.95];
    let found = sweep.quantiles(&rows, 0, &levels);
    assert_eq!((found.len(), sweep.times()[8]), (9, 2.0));
    for (values, time) in found.iter().zip(sweep.times()) {
        // Of 101 runs these are runs themselves: the faster it decays, the less is left.
        for (value, at) in values.iter().zip([5, 50, 95]) {
            assert!((value - (-rates[at] * time).exp()).abs() < 1e-8);
        }
    }
}

#[test]
fn measures_that_have_no_meaning_are_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ball.mo");
    std::fs::write(&path, BALL).expect("a file");
    let path = path.to_str().expect("a plain path");
    let picture = folder.path().join("ball.svg");
    let picture = picture.to_str().expect("a plain path");
    for (arguments, code, words) in [
        (&["--measure", "index"][..], 1, "measure its runs"),
        (&["--measure", "final:hh"], 1, "did you mean h?"),
        (&["--measure", "final:h +"], 2, "an expression is missing"),
        (&["--measure", "final:h + q"], 2, "`q` is not declared"),
        (
            &["--measure", "status", "--stop-when", "h"],
            1,
            "from which side",
        ),
        (&["--bands", "z", "--plot", picture], 1, "no unknown `z`"),
        (&["--bands", "h"], 2, "--plot"),
    ] {
        let all = [&["sweep", path, "--over", "e=0.5:0.9:3"], arguments].concat();
        crate::common::assert_says(&all, code, words);
    }
    let drawn = [
        "sweep",
        path,
        "--over",
        "e=0.5:0.9:9",
        "--bands",
        "h,n",
        "--plot",
        picture,
    ];
    let said = daelight(&drawn);
    assert_eq!(said.status.code(), Some(0));
    assert!(stdout(&said).contains("success: 9"));
    let drawn = std::fs::read_to_string(picture).expect("a picture");
    assert!(drawn.contains("polygon") && drawn.contains("25 to 75 %"));
}
