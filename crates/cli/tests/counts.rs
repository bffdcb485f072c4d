//! How often something happens, by all methods: thresholds of velocities, accelerations and algebraic unknowns, behind events that set, count and
//! sample. At random constants against closed forms.

use crate::common::{Random, daelight_with_input, document};
use std::f64::consts::PI;

/// A model, where it ends, and its counters there.
struct Case {
    text: String,
    to: f64,
    counts: Vec<(&'static str, usize)>,
}

/// Runs cases by every method, at the tolerances.
fn assert_counts(cases: &[Case], tolerances: &[&str]) {
    for case in cases {
        let to = case.to.to_string();
        for method in ["auto", "taylor", "radau", "bdf"] {
            for tolerance in tolerances {
                let more = ["--to", &to, "--method", method, "--rtol", tolerance];
                let arguments = [&["solve", "-", "--json"][..], &more].concat();
                let text = format!("model M\n{}\nend M;\n", case.text);
                let found = document(&daelight_with_input(&arguments, text.as_bytes()));
                assert_eq!(found["reason"], "finished", "{method} {found}\n{text}");
                for &(name, count) in &case.counts {
                    let counted = found["final"][name].as_f64();
                    let told = format!("{name} by {method} at {tolerance}, to {to}\n{text}");
                    assert_eq!(counted, Some(count as f64), "{told}");
                }
            }
        }
    }
}

fn state(name: &str, start: f64) -> String {
    format!("Real {name}(start = {start}, fixed = true);")
}

fn counter(name: &str) -> String {
    format!("discrete Integer {name}(start = 0, fixed = true);")
}

/// How many of the times phase + n 2 pi over w lie before an end.
fn rounds(phase: f64, w: f64, to: f64) -> usize {
    let times = (0..100).map(|n| (phase + 2.0 * PI * f64::from(n)) / w);
    times.filter(|time| *time < to).count()
}

/// The velocity of a body falls through a threshold, and an integral of an integral of it goes on with what was counted.
#[test]
fn a_falling_body_passes_a_velocity_once() {
    let mut random = Random(71);
    let cases: Vec<Case> = (0..6)
        .map(|case| {
            let [g, k] = [random.between(5.0, 15.0), random.between(0.05, 0.5)];
            let [v, c] = [random.between(0.0, 2.0), random.between(1.0, 4.0)];
            let passes = f64::ln((v + g / k) / (g / k - c)) / k;
            Case {
                text: [state("h", 1.0), state("v", v), state("x", 0.0), counter("n")].concat()
                    + &format!(
                        "equation der(h) = v; der(x) = h - n; der(v) = -{g} - {k}*v; when v < -{c} then n = pre(n) + 1; end when;"
                    ),
                to: passes + [1e-4, 1e-2, 1.0][case % 3],
                counts: vec![("n", 1)],
            }
        })
        .collect();
    assert_counts(&cases, &["1e-5", "1e-8", "1e-10"]);
}

/// Velocity and place of an oscillator pass thresholds in every round.
#[test]
fn an_oscillator_passes_its_thresholds_once_a_round() {
    let mut random = Random(72);
    let cases: Vec<Case> = (0..4)
        .map(|_| {
            let [w, to] = [random.between(1.0, 9.0), random.between(3.0, 6.0)];
            let [c, d] = [0; 2].map(|_| random.between(0.1, 0.9));
            let text = format!(
                "equation der(y) = x - n; der(x) = v; der(v) = -{}*x; when v > {} then n = pre(n) + 1; end when; when x > {d} then m = pre(m) + 1; end when;",
                w * w,
                c * w
            );
            let states = [state("x", 1.0), state("v", 0.0), state("y", 0.0)].concat();
            Case {
                text: [states, counter("n"), counter("m"), text].concat(),
                to,
                counts: vec![
                    ("n", rounds(PI + f64::asin(c), w, to)),
                    ("m", rounds(2.0 * PI - f64::acos(d), w, to)),
                ],
            }
        })
        .collect();
    assert_counts(&cases, &["1e-8"]);
}

/// A force that turns where the velocity passes one of two thresholds, and a velocity that is set to zero where it passes one.
#[test]
fn thresholds_of_velocities_turn_and_reset() {
    let mut random = Random(73);
    let mut cases = Vec::new();
    for _ in 0..3 {
        let [a, c] = [random.between(1.0, 20.0), random.between(0.5, 2.0)];
        let (v, n) = (random.between(-0.4, 0.4), 3 + random.below(8));
        let turns = (c - v) / a + (n - 1) as f64 * 2.0 * c / a;
        let states = [state("x", 0.0), state("y", 0.0), state("v", v)].concat();
        cases.push(Case {
            text: [states, counter("n")].concat()
                + &format!(
                    "discrete Real a(start = {a}, fixed = true);\nequation der(x) = y; der(y) = v; der(v) = a; \
                     when v > {c} then a = -{a}; n = pre(n) + 1; elsewhen v < -{c} then a = {a}; n = pre(n) + 1; end when;"
                ),
            to: turns + random.between(0.2, 0.8) * 2.0 * c / a,
            counts: vec![("n", n)],
        });
        let [g, k] = [random.between(5.0, 15.0), random.between(0.05, 0.5)];
        let period = -f64::ln(1.0 - c * k / g) / k;
        let states = [state("x", 0.0), state("h", 1.0), state("v", 0.0)].concat();
        cases.push(Case {
            text: [states, counter("n")].concat()
                + &format!(
                    "equation der(x) = h - n; der(h) = v; der(v) = -{g} - {k}*v; \
                     when v < -{c} then reinit(v, 0); n = pre(n) + 1; end when;"
                ),
            to: (n as f64 + random.between(0.2, 0.8)) * period,
            counts: vec![("n", n)],
        });
    }
    assert_counts(&cases, &["1e-8"]);
}

/// Balls that bounce, and forces that samples turn.
#[test]
fn velocities_pass_thresholds_between_impacts_and_samples() {
    let mut random = Random(74);
    let mut cases = Vec::new();
    for _ in 0..3 {
        let [g, e] = [random.between(5.0, 15.0), random.between(0.5, 0.9)];
        let [h, c] = [random.between(0.5, 2.0), random.between(0.3, 2.0)];
        let (mut t, mut speed) = (f64::sqrt(2.0 * h / g), f64::sqrt(2.0 * h * g));
        let (mut n, mut m) = (1, usize::from(speed > c));
        for _ in 0..2 + random.below(5) {
            speed *= e;
            t += 2.0 * speed / g;
            n += 1;
            m += usize::from(speed > c);
        }
        cases.push(Case {
            text: [state("h", h), state("v", 0.0), counter("n"), counter("m")].concat()
                + &format!(
                    "equation der(h) = v; der(v) = -{g}; when h <= 0 then reinit(v, -{e}*pre(v)); n = pre(n) + 1; end when; \
                     when v < -{c} then m = pre(m) + 1; end when;"
                ),
            to: t + 0.4 * e * speed / g,
            counts: vec![("n", n), ("m", m)],
        });
        let (period, n) = (random.between(0.05, 0.3), 3 + 2 * random.below(5));
        let c = random.between(0.2, 0.8) * g * period;
        cases.push(Case {
            text: [state("h", 1.0), state("v", 0.0), counter("n"), counter("m")].concat()
                + &format!(
                    "discrete Real u(start = {g}, fixed = true);\nequation der(h) = v; der(v) = u; \
                     when sample({period}, {period}) then u = -pre(u); n = pre(n) + 1; end when; \
                     when v > {c} then m = pre(m) + 1; end when;"
                ),
            to: (n as f64 + 0.5) * period,
            counts: vec![("n", n), ("m", n / 2 + 1)],
        });
    }
    assert_counts(&cases, &["1e-8"]);
}

/// Unknowns that follow from the states: what the pieces between steps say of them is not what the states say, and one crossing was two.
#[test]
fn algebraic_unknowns_pass_thresholds_once() {
    let mut random = Random(75);
    let mut cases = Vec::new();
    for case in 0..4 {
        // v = v0/sqrt(1 + 2 k v0^2 t)
        let [k, v] = [random.between(0.5, 3.0), random.between(0.5, 2.0)];
        let c = random.between(0.2, 0.8) * k * v.powi(3);
        let passes = ((v / f64::cbrt(c / k)).powi(2) - 1.0) / (2.0 * k * v * v);
        cases.push(Case {
            text: [state("h", 1.0), state("v", v), state("x", 0.0), counter("n")].concat()
                + &format!(
                    "Real a;\nequation der(x) = h*(1 + n); der(h) = v; der(v) = a; a = -{k}*v^3; when a > -{c} then n = pre(n) + 1; end when;"
                ),
            to: passes + [1e-3, 0.1][case % 2],
            counts: vec![("n", 1)],
        });
        let [w, d] = [random.between(1.0, 6.0), random.between(0.2, 2.0)];
        let [c, to] = [random.between(0.1, 0.8), random.between(3.0, 6.0)];
        let x = c + d * c.powi(3);
        let amplitude = x * random.between(1.1, 2.0);
        cases.push(Case {
            text: [state("x", amplitude), state("v", 0.0), counter("n")].concat()
                + &format!(
                    "Real y(start = {c});\nequation der(x) = v; der(v) = -{}*x; y + {d}*y^3 = x; when y > {c} then n = pre(n) + 1; end when;",
                    w * w
                ),
            to,
            counts: vec![("n", rounds(2.0 * PI - f64::acos(x / amplitude), w, to))],
        });
        let (a, n) = (random.between(1.0, 10.0), 3 + random.below(8));
        cases.push(Case {
            text: [state("x", 0.0), counter("n")].concat()
                + &format!(
                    "Real y(start = 0); discrete Real a(start = {a}, fixed = true);\nequation der(x) = a; y + {d}*y^3 = x; \
                     when y > {c} then a = -{a}; n = pre(n) + 1; elsewhen y < -{c} then a = {a}; n = pre(n) + 1; end when;"
                ),
            to: (2.0 * n as f64 - 1.0 + random.between(0.4, 1.6)) * x / a,
            counts: vec![("n", n)],
        });
    }
    assert_counts(&cases, &["1e-5", "1e-8"]);
}

/// A velocity that follows another one fast: its integral and the integral of that go on smoothly.
#[test]
fn fast_velocities_pass_thresholds_once() {
    let mut random = Random(76);
    let cases: Vec<Case> = (0..4)
        .map(|case| {
            let [fast, c] = [10f64.powf(random.between(2.0, 6.0)), random.between(0.2, 0.8)];
            let states = ["x", "v", "y"].map(|name| state(name, 0.0)).concat();
            Case {
                text: [states, state("z", 1.0), counter("n"), counter("m")].concat()
                    + &format!(
                        "equation der(y) = x - n; der(x) = v; der(v) = -{fast}*(v - z); der(z) = -z; \
                         when v > {c} then m = pre(m) + 1; end when; when v < {c} then n = pre(n) + 1; end when;"
                    ),
                // v is z fast/(fast - 1) soon.
                to: f64::ln(fast / (fast - 1.0) / c) + [1e-3, 0.1][case % 2],
                counts: vec![("n", 1), ("m", 1)],
            }
        })
        .collect();
    assert_counts(&cases, &["1e-8"]);
}
