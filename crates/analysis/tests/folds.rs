//! Starts where fixed values lie on a fold of a constraint: values are known to the root of the rounding there, and what is divided by
//! them is not known. Every truth is in closed form.

use crate::common::system;
use daelight_analysis::System;
use daelight_analysis::initial::{ArrayFault, NoPoint, Request, Row};
use daelight_analysis::start::{Others, Outcome, StartRequest, find_start};
use daelight_expr::FaultKind;

struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = (self.0)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

fn start(system: &System) -> Outcome {
    let mut request = Request::of_model(system, 0.0, 2);
    // Time is not what is asked about.
    request.budget = std::time::Duration::from_secs(300);
    find_start(system, &StartRequest::of(&request, Others::Glance))
}

/// The names of the conditions of a conflict.
fn conflicting(system: &System, outcome: &Outcome) -> Vec<String> {
    let Outcome::Conflict(conflict) = outcome else {
        return Vec::new();
    };
    let rows = conflict.conditions.iter().map(|condition| condition.row);
    rows.filter_map(|row| match row {
        Row::Value { unknown, .. } => Some(system.unknowns()[unknown].name.clone()),
        _ => None,
    })
    .collect()
}

fn expect(system: &System, outcome: &Outcome, text: &str, truth: &[(&str, f64, f64)]) {
    let Outcome::Found(start) = outcome else {
        panic!("no start: {outcome:?}\n{text}");
    };
    for &(name, value, within) in truth {
        let unknown = system.unknowns().iter().position(|u| u.name == name);
        let found = start.point.jet.get(unknown.unwrap(), 0);
        assert!(
            (found - value).abs() <= within * value.abs().max(1.0),
            "{name} = {found:e} for {value:e}\n{text}"
        );
    }
}

/// A mass on the ellipse a x^2 + b y^2 = L^2, its x and the velocity of x fixed. At x = L/sqrt(a) every velocity of x but 0 contradicts
/// 2 a x x' + 2 b y y' = 0; elsewhere y and y' follow.
#[test]
fn velocities_across_a_fold_are_contradictions() {
    let mut random = Random(11);
    for case in 0..60 {
        let [a, b, l] = [0.5, 0.5, 0.3].map(|low| random.between(low, 3.0));
        let [m, g] = [random.between(0.2, 5.0), random.between(1.0, 20.0)];
        // Names change places, so that no order of unknowns is the usual one.
        let [x, y] = [["x", "y"], ["y", "x"]][case / 4 % 2];
        let angle = match case % 4 {
            0 | 1 => 0.0,
            2 => random.between(0.1, 1.4),
            _ => 1e-3,
        };
        let v = match case % 4 {
            1 => 0.0,
            _ => random.between(0.2, 3.0) * [1.0, -1.0][case / 8 % 2],
        };
        let place = l / f64::sqrt(a) * f64::cos(angle);
        let across = l / f64::sqrt(b) * f64::sin(angle);
        let text = format!(
            "model M  parameter Real a = {a}, b = {b}, L = {l}, m = {m}, g = {g};
             Real {x}(start = {place}, fixed = true), {y}(start = {across}), v{x}(start = {v}, fixed = true), v{y}, S;
             equation  v{x} = der({x}); v{y} = der({y});
             m*der(v{x}) = -2*a*S*{x}; m*der(v{y}) = -2*b*S*{y} - m*g; a*{x}^2 + b*{y}^2 = L^2;  end M;"
        );
        let system = system(&text);
        let outcome = start(&system);
        let names = [x.to_string(), format!("v{x}")];
        match case % 4 {
            0 => {
                let mut found = conflicting(&system, &outcome);
                found.sort();
                let mut names = names.to_vec();
                names.sort();
                assert_eq!(found, names, "{outcome:?}\n{text}");
            }
            1 => expect(
                &system,
                &outcome,
                &text,
                &[(x, place, 1e-14), (y, 0.0, 1e-6)],
            ),
            _ => {
                let vy = format!("v{y}");
                let rate = -a * place * v / (b * across);
                // The place is known to rounding, and y to that divided by its slope.
                let within = 1e-14 / angle.powi(2);
                expect(
                    &system,
                    &outcome,
                    &text,
                    &[(y, across, within), (&vy, rate, within)],
                );
            }
        }
    }
}

/// A crank and a rod in their dead centre: the slide cannot move there, and everywhere else it moves as it likes.
#[test]
fn a_slide_moves_in_no_dead_centre() {
    let mut random = Random(5);
    for case in 0..40 {
        let r = random.between(0.2, 2.0);
        let l = r * random.between(1.2, 4.0);
        let p = if case % 2 == 0 {
            0.0
        } else {
            random.between(0.2, 1.2)
        };
        let v = random.between(0.1, 2.0);
        let q = f64::asin(r * f64::sin(p) / l);
        let place = r * f64::cos(p) + l * f64::cos(q);
        let text = format!(
            "model M  parameter Real r = {r}, l = {l};
             Real s(start = {place}, fixed = true), w(start = {v}, fixed = true), p(start = {p}), q(start = {q}), u, F;
             equation  w = der(s); u = der(p); s = r*cos(p) + l*cos(q); r*sin(p) = l*sin(q); der(w) = F; F = -u;  end M;"
        );
        let system = system(&text);
        let outcome = start(&system);
        if p == 0.0 {
            // Nothing else moves the crank: the equations themselves are singular there.
            let is_singular = matches!(outcome, Outcome::Singular(_));
            assert!(is_singular, "{outcome:?}\n{text}");
        } else {
            // der(s) = -r sin(p) u - l sin(q) der(q), der(q) = r cos(p) u/(l cos(q))
            let rate = -v / (r * f64::sin(p) + f64::tan(q) * r * f64::cos(p));
            expect(
                &system,
                &outcome,
                &text,
                &[("p", p, 1e-9), ("u", rate, 1e-9)],
            );
        }
    }
}

/// The slope of a wire as the quotient of velocities: 0/0 at rest, whatever the numbers.
#[test]
fn a_quotient_of_velocities_has_no_value_at_rest() {
    let mut random = Random(3);
    for case in 0..40 {
        let [m, g, k] = [0.1, 1.0, 0.3].map(|low| random.between(low, 10.0 * low));
        let x = random.between(0.1, 2.0);
        let v = if case % 2 == 0 {
            0.0
        } else {
            random.between(0.1, 2.0)
        };
        let text = format!(
            "model M  parameter Real m = {m}, g = {g}, k = {k};
             Real x(start = {x}, fixed = true), y, vx(start = {v}, fixed = true), vy, s, N;
             equation  y = 0.5*k*x^2; s = der(y)/der(x); vx = der(x); vy = der(y); m*der(vx) = -N*s; m*der(vy) = N - m*g;  end M;"
        );
        let system = system(&text);
        let outcome = start(&system);
        if v > 0.0 {
            // m (k x'^2 + k x x'') = N - m g with m x'' = -N k x
            let force = m * (g + k * v * v) / (1.0 + k * k * x * x);
            let truth = [("s", k * x, 1e-12), ("N", force, 1e-11)];
            expect(&system, &outcome, &text, &truth);
            continue;
        }
        let is_division = match &outcome {
            Outcome::Missing {
                no_point: NoPoint::Fault(ArrayFault::Equation(fault)),
                ..
            } => fault.kind == FaultKind::DivisionByZero,
            _ => false,
        };
        assert!(is_division, "{outcome:?}\n{text}");
    }
}

/// A bead on a parabola whose wire pulls the wrong way: N (1 - k^2 x^2) = m (g + k x'^2), singular at k x = 1.
#[test]
fn a_start_on_a_singular_point_is_told_as_one() {
    let mut random = Random(17);
    for case in 0..30 {
        let [m, g] = [random.between(0.1, 2.0), random.between(1.0, 20.0)];
        let k = random.between(0.3, 3.0);
        let v = if case % 4 == 0 {
            0.0
        } else {
            random.between(0.1, 1.0)
        };
        let part = if case % 2 == 0 {
            1.0
        } else {
            random.between(0.1, 0.8)
        };
        let x = part / k;
        let text = format!(
            "model M  parameter Real m = {m}, g = {g}, k = {k};
             Real x(start = {x}, fixed = true), y, vx(start = {v}, fixed = true), vy, s, N;
             equation  y = 0.5*k*x^2; s = k*x; vx = der(x); vy = der(y); m*der(vx) = N*s; m*der(vy) = N - m*g;  end M;"
        );
        let system = system(&text);
        let outcome = start(&system);
        if part < 1.0 {
            let force = m * (g + k * v * v) / (1.0 - part * part);
            expect(&system, &outcome, &text, &[("N", force, 1e-9)]);
            continue;
        }
        let Outcome::Singular(singular) = &outcome else {
            panic!("not singular: {outcome:?}\n{text}");
        };
        let locus = singular.locus.as_ref().map(|locus| locus.factor.as_str());
        assert_eq!(locus, Some("k*x*s - 1"), "{text}");
    }
}

/// A pendulum that hangs, or is level: the fixed place is a fold, a velocity of 0 across it follows, and the other velocity is free.
#[test]
fn a_place_on_a_fold_uses_up_one_value() {
    for power in -3..4 {
        let l = f64::powi(2.0, power);
        for (x, y) in [("x", "y"), ("y", "x")] {
            for place in [l, -l] {
                let text = format!(
                    "model M  parameter Real L = {l}, g = 9.81;
                     Real {x}(start = {place}, fixed = true), {y}, v{x}(start = 0, fixed = true), v{y}, S;
                     equation  vx = der(x); vy = der(y); der(vx) = -S*x; der(vy) = -S*y - g; x^2 + y^2 = L^2;  end M;"
                );
                let system = system(&text);
                let Outcome::Found(start) = start(&system) else {
                    panic!("no start\n{text}");
                };
                assert_eq!(start.n_free, 1, "{:?}\n{text}", start.freedom);
                let free = start
                    .freedom
                    .map(|freedom| freedom.free)
                    .unwrap_or_default();
                let names: Vec<&str> = free
                    .iter()
                    .map(|&j| system.unknowns()[j].name.as_str())
                    .collect();
                assert_eq!(names, [format!("v{y}")], "{text}");
            }
        }
    }
}
