//! Consistent starts: the library against its reference values, closest points against another minimiser, contradictions,
//! singular points, bounds, and random systems.

use crate::common;
use crate::common::{expected, library, model, system, text};
use crate::indices::random;
use daelight_analysis::System;
use daelight_analysis::initial::{Closeness, ConsistentPoint, Finder, Request, Row, SideChoice};
use daelight_analysis::start::{Conflict, Others, Outcome, Start, StartRequest, find_start};
use daelight_linalg::{Lu, Mat};
use std::time::Duration;

fn request(system: &System, time: f64, order: usize) -> StartRequest {
    let of_model = Request::of_model(system, time, order);
    StartRequest {
        time,
        guess: of_model.guess,
        given: of_model.given,
        conditions: of_model.conditions,
        order,
        budget: Duration::from_secs(60),
        others: Others::Glance,
        nearest_regular: false,
    }
}

fn found(outcome: Outcome) -> Start {
    match outcome {
        Outcome::Found(start) => *start,
        other => panic!("no start: {other:?}"),
    }
}

fn conflict(outcome: Outcome) -> Conflict {
    match outcome {
        Outcome::Conflict(conflict) => *conflict,
        other => panic!("no conflict: {other:?}"),
    }
}

fn index(system: &System, name: &str) -> usize {
    let position = system.unknowns().iter().position(|u| u.name == name);
    position.unwrap_or_else(|| panic!("no unknown {name}"))
}

fn number(value: &serde_json::Value) -> f64 {
    match value {
        serde_json::Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    }
}

/// Compares with the solution of `expected.json` at a time, relative to `nominal` and the size of the value.
fn assert_solution(name: &str, system: &System, start: &Start, time: &str, tolerance: f64) {
    let document = expected(name);
    let solutions = document["solution"].as_array().expect("a list");
    let is_meant = |s: &&serde_json::Value| {
        s["time"] == time && s["set"].as_object().is_some_and(serde_json::Map::is_empty)
    };
    let solution = solutions.iter().find(is_meant).expect("the time");
    let values = solution["values"].as_object().expect("values");
    assert_eq!(values.len(), system.unknowns().len(), "{name}");
    for (unknown, value) in values {
        let j = index(system, unknown);
        let (x, value) = (start.point.jet.get(j, 0), number(value));
        let size = value.abs().max(system.unknowns()[j].nominal.unwrap_or(1.0));
        let error = (x - value).abs() / size;
        assert!(error < tolerance, "{name} {unknown}: {x} for {value}");
    }
}

#[test]
fn every_model_of_the_library_starts() {
    for (name, text) in library() {
        let system = system(&text);
        let time = system.experiment().start_time.unwrap_or(0.0);
        let start = found(find_start(&system, &request(&system, time, 1)));
        assert!(
            start.point.residual < 1e-12,
            "{name}: {:?}",
            start.point.residuals
        );
        // Relative to the terms of an initial equation, which are rounding themselves where accelerations are 0.
        assert!(
            start.condition_residual < 1e-10,
            "{name}: conditions by {:e}",
            start.condition_residual
        );
        assert_eq!(start.point.closeness, Closeness::Closest, "{name}");
        // Fixed values hold exactly.
        for condition in &start.conditions {
            if let Row::Value { unknown, value } = condition.row {
                let x = start.point.jet.get(unknown, 0);
                assert!(
                    (x - value).abs() <= 1e-14 * value.abs().max(1.0),
                    "{name}: {x} for {value}"
                );
            }
        }
        let open = start.freedom.as_ref().expect("a small system").n_open;
        if let Some(dof) = expected(&name)["differentiation"]["dof"].as_u64() {
            assert_eq!(open as u64, dof, "{name}");
        }
    }
}

#[test]
fn the_arm_from_zeros_has_one_of_its_two_positions() {
    let system = system(&text("robotic-arm"));
    let document = expected("robotic-arm");
    for time in ["0", "0.5", "1.0", "1.4"] {
        let solutions = document["solution"].as_array().expect("a list");
        let solution = solutions
            .iter()
            .find(|s| s["time"] == time)
            .expect("the time");
        let mut request = request(&system, number(&solution["time"]), 7);
        // A stretched arm: a singular guess for a regular point.
        request.guess.fill(0.0);
        request.given.clear();
        request.others = Others::All;
        let start = found(find_start(&system, &request));
        assert_eq!(start.n_free, 0);
        let derivatives = solution["derivatives"].as_object().expect("derivatives");
        let distance = |jet: &daelight_analysis::initial::TaylorJet| {
            let mut worst = 0.0_f64;
            for (name, list) in derivatives {
                let j = index(&system, name);
                for (order, value) in list.as_array().expect("a list").iter().enumerate() {
                    let value = number(value);
                    let error = (jet.derivative(j, order) - value).abs() / value.abs().max(1.0);
                    worst = worst.max(error);
                }
            }
            worst
        };
        let others = start.others.iter().map(|other| &other.jet);
        let best = others
            .chain([&start.point.jet])
            .map(distance)
            .fold(f64::INFINITY, f64::min);
        assert!(best < 1e-10, "t = {time}: {best:e}");
        let value_error = |jet: &daelight_analysis::initial::TaylorJet| {
            let values = solution["values"].as_object().expect("values").iter();
            values
                .map(|(name, value)| (jet.get(index(&system, name), 0) - number(value)).abs())
                .fold(0.0, f64::max)
        };
        let others = start.others.iter().map(|other| &other.jet);
        let best = others
            .chain([&start.point.jet])
            .map(value_error)
            .fold(f64::INFINITY, f64::min);
        assert!(best < 1e-10, "t = {time}: {best:e}");
        assert!(!start.others.is_empty(), "t = {time}: the other elbow");
    }
}

#[test]
fn steady_starts_are_those_of_the_references() {
    for name in ["cstr", "e1", "e1-complete", "e12"] {
        let system = system(&text(name));
        let start = found(find_start(&system, &request(&system, 0.0, 1)));
        assert_solution(name, &system, &start, "0", 1e-10);
    }
}

#[test]
fn andrews_from_three_digits_has_the_published_start() {
    let system = system(&text("andrews"));
    let mut request = request(&system, 0.0, 1);
    request.given.clear();
    for value in &mut request.guess {
        *value = format!("{value:.2e}").parse().expect("a number");
    }
    let start = found(find_start(&system, &request));
    assert!(start.point.residual < 1e-12);
    assert_solution("andrews", &system, &start, "0", 1e-10);
}

/// Minimises by Newton's method with differences; the parameters are free.
fn minimise(f: &dyn Fn(&[f64]) -> f64, mut x: Vec<f64>) -> Vec<f64> {
    let n = x.len();
    let h = 1e-4;
    let shifted = |x: &[f64], moves: &[(usize, f64)]| {
        let mut y = x.to_vec();
        moves.iter().for_each(|(i, d)| y[*i] += d);
        f(&y)
    };
    for _ in 0..60 {
        let gradient: Vec<f64> = (0..n)
            .map(|i| {
                let d = |k: f64| shifted(&x, &[(i, k * h)]);
                (8.0 * (d(1.0) - d(-1.0)) - (d(2.0) - d(-2.0))) / (12.0 * h)
            })
            .collect();
        let hessian = Mat::from_fn(n, n, |i, j| {
            let d = |a: f64, b: f64| shifted(&x, &[(i, a * h), (j, b * h)]);
            (d(1.0, 1.0) - d(1.0, -1.0) - d(-1.0, 1.0) + d(-1.0, -1.0)) / (4.0 * h * h)
        });
        let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut lu = Lu::new();
        lu.factor(hessian.view()).expect("finite");
        lu.solve(&mut step).expect("regular");
        let slope: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
        if slope > 0.0 {
            step = gradient.iter().map(|g| -g).collect();
        }
        let mut factor = 1.0;
        while factor > 1e-6 {
            let next: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x + factor * s).collect();
            if f(&next) < f(&x) {
                x = next;
                break;
            }
            factor *= 0.5;
        }
        if factor <= 1e-6 {
            break;
        }
    }
    x
}

#[test]
fn the_closest_pendulum_is_that_of_another_minimiser() {
    // On the sphere by two angles, tangent to it by two components: no constraint is left.
    let system = system(&text("pendulum-3d"));
    let guesses = [
        ([0.9, 0.3, -0.7], [0.4, 1.2, -0.5]),
        ([0.2, -0.4, -1.3], [1.0, 0.0, 2.0]),
        ([-1.0, 1.0, -1.0], [0.3, -0.2, 0.8]),
    ];
    for (a, b) in guesses {
        let mut request = request(&system, 0.0, 1);
        request.conditions.clear();
        let names = [
            "p[1]",
            "p[2]",
            "p[3]",
            "der(p[1])",
            "der(p[2])",
            "der(p[3])",
        ];
        for (name, value) in names.iter().zip(a.iter().chain(&b)) {
            request.guess[index(&system, name)] = *value;
            request.given.clear();
        }
        let start = found(find_start(&system, &request));
        assert_eq!(start.n_free, 4);
        let position = |u: &[f64]| {
            let ((s, c), (t, d)) = (u[0].sin_cos(), u[1].sin_cos());
            let p = [c * d, c * t, s];
            let east = [-t, d, 0.0];
            let north = [-s * d, -s * t, c];
            let v: Vec<f64> = (0..3).map(|i| u[2] * east[i] + u[3] * north[i]).collect();
            [p.to_vec(), v].concat()
        };
        let distance = |u: &[f64]| {
            let x = position(u);
            let apart = x
                .iter()
                .zip(a.iter().chain(&b))
                .map(|(x, a)| (x - a).powi(2));
            apart.sum::<f64>()
        };
        let size = a.iter().map(|v| v * v).sum::<f64>().sqrt();
        let (height, turn) = ((a[2] / size).asin(), a[1].atan2(a[0]));
        let starts = (0..25).map(|k| {
            let (i, j) = (f64::from(k % 5) - 2.0, f64::from(k / 5) - 2.0);
            minimise(&distance, vec![height + 0.5 * i, turn + 0.5 * j, 0.0, 0.0])
        });
        let closest = starts
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .expect("one start");
        let other = position(&closest);
        for (name, value) in names.iter().zip(&other) {
            let x = start.point.jet.get(index(&system, name), 0);
            assert!((x - value).abs() < 1e-8, "{name}: {x} for {value}");
        }
        let squared = start.point.distance * start.point.distance;
        assert!((squared - distance(&closest)).abs() < 1e-12 * squared.max(1.0));
    }
}

/// The nacelle below three arms: where three spheres meet.
fn nacelle(alpha: &[f64]) -> Option<[f64; 3]> {
    let (rod, arm, base) = (0.5, 0.3, 0.15);
    let elbow = |k: usize| {
        let gamma = 2.0 * std::f64::consts::PI * k as f64 / 3.0;
        let radius = base + arm * alpha[k].cos();
        [
            gamma.cos() * radius,
            gamma.sin() * radius,
            -arm * alpha[k].sin(),
        ]
    };
    let c: Vec<[f64; 3]> = (0..3).map(elbow).collect();
    let minus = |a: &[f64; 3], b: &[f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let cross = |a: &[f64; 3], b: &[f64; 3]| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    // The centre of the circle through the elbows, and down from it.
    let (u, v) = (minus(&c[1], &c[0]), minus(&c[2], &c[0]));
    let w = cross(&u, &v);
    let ww = dot(&w, &w);
    let (uu, vv) = (dot(&u, &u), dot(&v, &v));
    let (vw, wu) = (cross(&v, &w), cross(&w, &u));
    let radius: Vec<f64> = (0..3)
        .map(|i| (uu * vw[i] + vv * wu[i]) / (2.0 * ww))
        .collect();
    let height = rod * rod - radius.iter().map(|r| r * r).sum::<f64>();
    let down = -height.max(0.0).sqrt() / ww.sqrt();
    (height > 0.0).then(|| [0, 1, 2].map(|i| c[0][i] + radius[i] + down * w[i]))
}

#[test]
fn the_closest_delta_robot_is_that_of_another_minimiser() {
    let system = system(&text("delta-robot"));
    let mut request = request(&system, 0.0, 1);
    request.conditions.clear();
    let position = ["p[1]", "p[2]", "p[3]", "alpha[1]", "alpha[2]", "alpha[3]"];
    let velocity: Vec<String> = position.iter().map(|name| format!("der({name})")).collect();
    let a = [0.1, 0.05, -0.45, 0.2, 0.7, 0.3];
    let b = [0.2, -0.1, 0.3, 0.4, -0.2, 0.1];
    for (names, values) in [
        (position.map(String::from).to_vec(), a),
        (velocity.clone(), b),
    ] {
        for (name, value) in names.iter().zip(values) {
            request.guess[index(&system, name)] = value;
            request.given.clear();
        }
    }
    let start = found(find_start(&system, &request));
    assert_eq!(start.n_free, 6);
    // By the angles and their velocities, with the nacelle where three spheres meet.
    let state = |u: &[f64]| -> Option<Vec<f64>> {
        let p = nacelle(&u[..3])?;
        let h = 1e-3;
        let along = |k: f64| {
            nacelle(&[
                u[0] + k * h * u[3],
                u[1] + k * h * u[4],
                u[2] + k * h * u[5],
            ])
        };
        let (d1, d2, e1, e2) = (along(1.0)?, along(2.0)?, along(-1.0)?, along(-2.0)?);
        let rate = [0, 1, 2].map(|i| (8.0 * (d1[i] - e1[i]) - (d2[i] - e2[i])) / (12.0 * h));
        Some([&p[..], &u[..3], &rate, &u[3..]].concat())
    };
    let distance = |u: &[f64]| match state(u) {
        Some(x) => x
            .iter()
            .zip(a.iter().chain(&b))
            .map(|(x, a)| (x - a).powi(2))
            .sum(),
        None => 1e3,
    };
    let closest = minimise(&distance, vec![0.2, 0.7, 0.3, 0.0, 0.0, 0.0]);
    let other = state(&closest).expect("a position");
    for (name, value) in position
        .iter()
        .map(ToString::to_string)
        .chain(velocity)
        .zip(&other)
    {
        let x = start.point.jet.get(index(&system, &name), 0);
        assert!((x - value).abs() < 1e-7, "{name}: {x} for {value}");
    }
    let squared = start.point.distance * start.point.distance;
    assert!(squared <= distance(&closest) * (1.0 + 1e-9));
}

const PENDULUM: &str = "model P
  parameter Real g = 9.81;
  Real x(start = X, fixed = true), y(start = Y, fixed = true);
  Real vx(start = U, fixed = true), vy(start = V, fixed = true), lambda;
equation
  der(x) = vx;  der(y) = vy;  der(vx) = -lambda*x;  der(vy) = -lambda*y - g;
  x^2 + y^2 = 1;
end P;";

fn pendulum(x: &str, y: &str, u: &str, v: &str) -> System {
    let text = PENDULUM
        .replace("= X", &format!("= {x}"))
        .replace("= Y", &format!("= {y}"));
    system(
        &text
            .replace("= U", &format!("= {u}"))
            .replace("= V", &format!("= {v}")),
    )
}

#[test]
fn a_velocity_that_breaks_the_hidden_constraint_is_named() {
    let system = pendulum("0.6", "0.8", "1", "0.75");
    let conflict = conflict(find_start(&system, &request(&system, 0.0, 1)));
    assert_eq!(conflict.conditions.len(), 4, "{conflict:?}");
    assert!(conflict.is_smallest && conflict.is_dependent);
    assert_eq!((conflict.n_open, conflict.n_conditions), (Some(2), 4));
    let broken = conflict.broken.expect("a constraint");
    assert_eq!((broken.equation, broken.times_differentiated), (4, 1));
    assert_eq!(broken.text.as_deref(), Some("2*x*vx + 2*y*vy = 0"));
    assert!((broken.value.expect("a value") - 2.4).abs() < 1e-12);
    let remedy = &conflict.remedies[0];
    let freed = conflict.conditions[remedy.condition].row;
    assert!(matches!(freed, Row::Value { unknown: 3, .. }), "{freed:?}");
    assert!((remedy.value.expect("a value") + 0.75).abs() < 1e-12);
}

#[test]
fn a_position_off_the_circle_is_named() {
    let system = pendulum("0.7", "0.8", "0", "0");
    let conflict = conflict(find_start(&system, &request(&system, 0.0, 1)));
    let rows: Vec<Row> = conflict.conditions.iter().map(|c| c.row).collect();
    let value = |unknown, value| Row::Value { unknown, value };
    assert_eq!(rows, [value(0, 0.7), value(1, 0.8)]);
    let broken = conflict.broken.expect("a constraint");
    assert_eq!((broken.equation, broken.times_differentiated), (4, 0));
    assert!((broken.value.expect("a value") - 0.13).abs() < 1e-12);
    let remedy = &conflict.remedies[0];
    assert_eq!(remedy.condition, 1);
    assert!((remedy.value.expect("a value") - 0.51_f64.sqrt()).abs() < 1e-12);
}

#[test]
fn a_value_out_of_reach_is_a_conflict_without_proof() {
    let system = pendulum("2", "0.8", "0", "0");
    let conflict = conflict(find_start(&system, &request(&system, 0.0, 1)));
    assert_eq!(conflict.conditions.len(), 1);
    assert!(!conflict.is_dependent);
    assert_eq!(conflict.broken.map(|broken| broken.value), Some(None));
}

#[test]
fn a_value_fixed_where_nothing_is_free_is_a_conflict() {
    let text = text("robotic-arm").replace("x1(start =  0.00,", "x1(start = 0.5, fixed = true,");
    let system = system(&text);
    let conflict = conflict(find_start(&system, &request(&system, 0.0, 1)));
    assert_eq!(conflict.n_open, Some(0));
    assert_eq!(conflict.conditions.len(), 1);
    // The true value is 0: the arm starts along the path cos(0) + cos(1), sin(0) + sin(1).
    assert!(conflict.remedies[0].value.expect("a value").abs() < 1e-12);
    // x1 = 0.5 and sin(x1) + sin(x1 + x3) = sin(1) leave this difference in the other equation.
    let rest = (1_f64.sin() - 0.5_f64.sin()).asin();
    let value = 0.5_f64.cos() + rest.cos() - 1.0 - 1_f64.cos();
    let broken = conflict.broken.expect("a constraint");
    assert!((broken.value.expect("a value") - value).abs() < 1e-10);
}

#[test]
fn more_fixed_values_than_needed_are_accepted_when_they_agree() {
    let system = pendulum("0.6", "0.8", "1", "-0.75");
    let start = found(find_start(&system, &request(&system, 0.0, 1)));
    let freedom = start.freedom.expect("a small system");
    assert_eq!(freedom.redundant.len(), 2, "{freedom:?}");
    assert_eq!(start.n_free, 0);
    assert!(start.condition_residual < 1e-8);
    for v in ["-0.7501", "-0.7500000001"] {
        let system = pendulum("0.6", "0.8", "1", v);
        conflict(find_start(&system, &request(&system, 0.0, 1)));
    }
}

#[test]
fn too_few_fixed_values_are_no_error() {
    let system = pendulum("0.8", "0.7", "1", "0");
    let mut request = request(&system, 0.0, 1);
    request.conditions.clear();
    let start = found(find_start(&system, &request));
    assert_eq!(start.n_free, 2);
    let freedom = start.freedom.expect("a small system");
    assert_eq!((freedom.n_open, freedom.free.len()), (2, 2));
    // One position and one velocity.
    assert!(
        freedom.free[0] < 2 && (2..4).contains(&freedom.free[1]),
        "{freedom:?}"
    );
}

#[test]
fn bounds_are_respected() {
    // The closest point of the circle to (2, 1) is beyond the bound of y.
    let text = "model B
      Real x(start = 2), y(start = 1, max = 0.3), w;
    equation
      der(x) = w;  der(y) = -w*x;  x^2 + y^2 = 1;
    end B;";
    let system = system(text);
    let start = found(find_start(&system, &request(&system, 0.0, 1)));
    let y = start.point.jet.get(1, 0);
    assert!((y - 0.3).abs() < 1e-14, "{y}");
    assert!(start.conditions.iter().any(|c| c.is_bound));
    assert!((start.point.jet.get(0, 0) - 0.91_f64.sqrt()).abs() < 1e-12);

    // No bound is reached on the other branch.
    let text = "model R  Real x(start = 4, fixed = true), z(start = -1, min = 0);
                equation  der(x) = z;  z^2 = x;  end R;";
    let system = common::system(text);
    let start = found(find_start(&system, &request(&system, 0.0, 1)));
    assert!((start.point.jet.get(1, 0) - 2.0).abs() < 1e-12);
    assert!(start.conditions.iter().all(|c| !c.is_bound));

    // Nothing is inside.
    let text = "model C  Real x(start = 1, fixed = true), y(start = 1, min = 3);
                equation  der(x) = y;  y = x + 1;  end C;";
    let system = common::system(text);
    let conflict = conflict(find_start(&system, &request(&system, 0.0, 1)));
    assert_eq!(conflict.conditions.len(), 2);
    assert!(conflict.conditions[1].is_bound);
    let bound = conflict
        .remedies
        .iter()
        .find(|r| r.condition == 1)
        .expect("the bound");
    assert!((bound.value.expect("a value") - 2.0).abs() < 1e-12);
}

fn arm_on(x: &str, y: &str) -> System {
    let text = text("robotic-arm")
        .replace("cos(exp(time) - 1) + cos(time - 1)", x)
        .replace("sin(1 - exp(time)) + sin(1 - time)", y);
    system(&text)
}

#[test]
fn a_start_on_the_stretched_arm_is_singular() {
    let on_path = system(&text("robotic-arm"));
    let cases = [
        (on_path, 1.544_626_000_035_211_4, Some("5-A")),
        (arm_on("2*cos(time)", "2*sin(time)*cos(time)"), 0.0, None),
        (arm_on("2 - time", "time"), 0.0, None),
    ];
    for (system, time, kind) in cases {
        let mut request = request(&system, time, 1);
        let singular = match find_start(&system, &request) {
            Outcome::Singular(singular) => singular,
            other => panic!("not singular: {other:?}"),
        };
        if let Some(kind) = kind {
            let found = singular.kind.map(|kind| kind.to_string());
            assert_eq!(found.as_deref(), Some(kind));
        }
        let locus = singular.locus.as_ref().expect("the stretched arm");
        assert_eq!(locus.factor, "sin(x3)");
        request.nearest_regular = true;
        let start = found(find_start(&system, &request));
        assert!(start.beside_singular);
        let apart = (start.point.time - time).abs();
        assert!(apart > 0.0 && apart < 2e-2, "{apart}");
        assert!(
            start.margin.is_some_and(|margin| margin >= 0.03),
            "{:?}",
            start.margin
        );
        assert!(start.point.residual < 1e-9, "{}", start.point.residual);
        assert_eq!(start.n_free, 0);
    }
}

#[test]
fn branches_of_rates_are_found_from_values_that_hold() {
    let system = system("model B  Real x(start = 0);  equation  der(x)^2 = 1 - x^2;  end B;");
    let mut request = request(&system, 0.0, 1);
    request.others = Others::All;
    let start = found(find_start(&system, &request));
    assert_eq!(start.point.attempt, 0);
    let rate = start.point.jet.get(0, 1);
    assert!(start.point.jet.get(0, 0).abs() < 1e-12 && (rate.abs() - 1.0).abs() < 1e-12);
    let opposite = |other: &ConsistentPoint| {
        other.jet.get(0, 0).abs() < 1e-8 && (other.jet.get(0, 1) + rate).abs() < 1e-8
    };
    assert!(start.others.iter().any(opposite), "{:?}", start.others);
}

#[test]
fn edges_of_domains_are_singular() {
    let cases = [
        "Real x(start = 1), y; equation der(x) = -y; y = asin(x);",
        "Real x(start = 0, fixed = true), y; equation der(x) = 1 - y; y = sqrt(x);",
        "Real x(start = 1e-300, fixed = true), y; equation der(x) = 1 + y; y = log(x);",
        "Real y(start = 0.9); equation asin(y) = 1.5707963267948966;",
        "Real x(start = 0, fixed = true); equation der(x) = sqrt(x) + 1;",
        "Real x(start = 0, fixed = true); equation der(x) = x^0.5 + 1;",
        "Real x; equation der(x) = 1 + sqrt(time);",
    ];
    for case in cases {
        let system = system(&format!("model E {case} end E;"));
        match find_start(&system, &request(&system, 0.0, 1)) {
            Outcome::Singular(singular) => assert!(!singular.edges.is_empty(), "{case}"),
            other => panic!("{case}: {other:?}"),
        }
    }
    // Small is no edge where `nominal` says so, and a guess at an edge is only a guess.
    for case in [
        "Real x(start = 1e-20, fixed = true, nominal = 1e-20), y; equation der(x) = 1 + y; y = log(x);",
        "Real x(start = 4, fixed = true), y(start = 0); equation der(x) = 1; sqrt(y) = x;",
    ] {
        let system = system(&format!("model E {case} end E;"));
        found(find_start(&system, &request(&system, 0.0, 1)));
    }
}

#[test]
fn what_is_free_is_as_close_to_the_guess_as_can_be() {
    // Example 6.1 of Kunkel and Mehrmann 2006 with h = (t cos t - sin t, cos t): x1 = t x2 - sin t, x2 free.
    let example = "model F  Real x1, x2;  equation
        -time*der(x1) + time^2*der(x2) = -x1 + time*cos(time) - sin(time);
        -der(x1) + time*der(x2) = -x2 + cos(time);  end F;";
    let t: f64 = 0.5;
    let of_example = system(example);
    let start = found(find_start(&of_example, &request(&of_example, t, 1)));
    let values = start.point.jet.values();
    assert!((values[0] - t * values[1] + t.sin()).abs() < 1e-12);
    let least = t * t.sin() / (1.0 + t * t);
    assert!((values[1] - least).abs() < 1e-9, "{values:?} for {least}");
    let free = system(
        "model D  Real x1(start = 1, fixed = true), x2(start = 3);
        equation  der(x1) = time*x2 + sin(time);  end D;",
    );
    let start = found(find_start(&free, &request(&free, 0.0, 1)));
    let values = start.point.jet.values();
    assert!(
        (values[0] - 1.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-9,
        "{values:?}"
    );
}

#[test]
fn units_hundreds_of_powers_apart_are_no_matter() {
    let system = system(
        "model W  Real a(start = 1e300, nominal = 1e300), b(start = 1e-300, nominal = 1e-300),
            c(nominal = 1e150), d(nominal = 1e-150), e(nominal = 1e30);
         equation  der(a) = -a;  der(b) = -b;  c = a*1e-150;  d = b*1e150;  e = c*1e-120 + d*1e150*1e30;  end W;",
    );
    let start = found(find_start(&system, &request(&system, 0.0, 1)));
    for (name, value) in [
        ("a", 1e300),
        ("b", 1e-300),
        ("c", 1e150),
        ("d", 1e-150),
        ("e", 2e30),
    ] {
        let x = start.point.jet.get(index(&system, name), 0);
        assert!((x - value).abs() < 1e-10 * value, "{name}: {x:e}");
    }
}

#[test]
fn a_start_on_a_switch_is_no_contradiction() {
    let system = system(
        "model K  Real x(fixed = true), y(start = 1);
         equation  der(x) = if x > 0 then y else -y;  y = 1 + x;  end K;",
    );
    // Fixed without a start value means fixed at 0.
    let asked = request(&system, 0.0, 1);
    assert!(matches!(
        asked.conditions[..],
        [Row::Value {
            unknown: 0,
            value: 0.0
        }]
    ));
    // Both sides lead away from the switch; the text takes the one of `x > 0` that is false there, and it is told.
    let start = found(find_start(&system, &asked));
    assert_eq!(start.point.choice, SideChoice::Several(2));
    assert_eq!(start.point.jet.get(0, 1), -1.0);
}

#[test]
fn the_budget_ends_every_search() {
    let system = system(&text("andrews"));
    let mut request = request(&system, 0.0, 1);
    request.budget = Duration::ZERO;
    match find_start(&system, &request) {
        Outcome::Missing { budget_reached, .. } => assert!(budget_reached),
        other => panic!("found without time: {other:?}"),
    }
}

#[test]
fn stalled_searches_are_continued_from_easier_problems() {
    // Newton's steps cycle or leave; the path of residuals does not.
    let text = "model A  Real x(start = 3), z(start = 30);
                equation  der(x) = z;  atan(10*(z - x)) + 0.01*(z - x) = 0.3;  end A;";
    let system = system(text);
    let start = found(find_start(&system, &request(&system, 0.0, 1)));
    assert!(start.point.residual < 1e-12);
}

/// A linear system with polynomial coefficients as a model.
fn text_of(system: &random::System) -> String {
    const ORDER: usize = 12;
    let series = system.rounded_at(0.0, ORDER);
    let (m, n) = (system.n_equations(), system.n_unknowns());
    let polynomial = |list: &[Mat], i: usize, j: usize| {
        let degree = list.iter().rposition(|c| c[(i, j)] != 0.0).unwrap_or(0);
        list[..=degree].iter().rev().fold(String::new(), |text, c| {
            let value = format!("({:e})", c[(i, j)]);
            if text.is_empty() {
                value
            } else {
                format!("({value} + time*{text})")
            }
        })
    };
    let mut text = format!("model R Real x[{n}]; equation ");
    for i in 0..m {
        let terms: Vec<String> = (0..n)
            .flat_map(|j| {
                [
                    format!(
                        "{}*der(x[{}])",
                        polynomial(series.e().coefficients(), i, j),
                        j + 1
                    ),
                    format!(
                        "{}*x[{}]",
                        polynomial(series.b().coefficients(), i, j),
                        j + 1
                    ),
                ]
            })
            .collect();
        text.push_str(&format!("{} = 0;", terms.join(" + ")));
    }
    text + " end R;"
}

/// A consistent point of a random system at t = 0: what constraints determine is zero in canonical unknowns.
fn consistent_values(canonical: &random::System, random: &mut random::Random) -> Vec<f64> {
    let to = &canonical.to_canonical;
    let mut x: Vec<f64> = (0..to.ncols())
        .map(|j| {
            let free = !canonical.algebraic.contains(&j);
            if free { random.between(-1.0, 1.0) } else { 0.0 }
        })
        .collect();
    let mut lu = Lu::new();
    lu.factor(to.view()).expect("finite");
    lu.solve(&mut x).expect("regular");
    x
}

/// The largest part of a canonical unknown that constraints determine to be zero, relative to its terms.
fn off_constraints(canonical: &random::System, values: &[f64], size: f64) -> f64 {
    let to = &canonical.to_canonical;
    let y = to.mul_vec(values);
    let relative = canonical.algebraic.iter().map(|&j| {
        let terms: f64 = (0..to.ncols())
            .map(|k| (to[(j, k)] * values[k]).abs())
            .sum();
        y[j].abs() / terms.max(1e-3 * size)
    });
    relative.fold(0.0, f64::max)
}

/// Canonical forms of up to 12 equations and unknowns and index up to 5, square or not, in disguise.
#[test]
fn random_systems_start_from_disturbed_values() {
    const SYSTEMS: usize = 100;
    const STARTS: usize = 20;
    let (mut failures, mut n) = (Vec::new(), 0);
    let mut largest = 0;
    for seed in 0..SYSTEMS as u64 {
        let mut random = random::Random::new(9_000 + seed);
        let disguise = random::Disguise {
            condition: [10.0, 100.0][(seed % 2) as usize],
            scaling: 1.0,
            time: 0.5,
            shape: random::Shape::Far,
        };
        let canonical = random::System::regular(&mut random, seed % 4 != 0, disguise);
        largest = largest.max(canonical.n_unknowns());
        let system = System::new(&model(&text_of(&canonical), &[])).expect("a system");
        let index = canonical.indices.strangeness.index;
        let mut finder = Finder::new(&system, None, 0.0, index + 1);
        for start in 0..STARTS {
            n += 1;
            let x = consistent_values(&canonical, &mut random);
            let size = x.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            let disturbed = x
                .iter()
                .map(|x| x + 0.1 * random.between(-1.0, 1.0) * x.abs().max(0.1 * size));
            let mut asked = request(&system, 0.0, 1);
            asked.guess = disturbed.collect();
            asked.given.clear();
            asked.others = Others::No;
            // The first start finds out for itself how many orders of the array count; the others search with these.
            let values = if start == 0 {
                match find_start(&system, &asked) {
                    Outcome::Found(start) => Ok(start.point.jet.values().to_vec()),
                    other => Err(format!("{other:?}")),
                }
            } else {
                let request = Request {
                    time: 0.0,
                    guess: asked.guess,
                    given: Vec::new(),
                    conditions: Vec::new(),
                    order: index + 1,
                    budget: asked.budget,
                };
                match finder.closest(&request) {
                    Ok(point) => Ok(point.jet.values().to_vec()),
                    Err(no_point) => Err(format!("{no_point:?}")),
                }
            };
            match values {
                Ok(values) => {
                    let off = off_constraints(&canonical, &values, size);
                    assert!(off <= 1e-10, "seed {seed}, start {start}: wrong by {off:e}");
                }
                Err(why) => failures.push((seed, why)),
            }
        }
    }
    assert_eq!((n, largest), (2000, 12));
    assert!(
        failures.len() * 100 < n,
        "{} of {n}: {failures:?}",
        failures.len()
    );
}
