//! Events of models with constraints: random pendulums that hit a stop, and masses on strings that become taut, against closed
//! forms, by every method from coarse to fine. Modes that begin with an infinite slope.

use daelight::hybrid::{HybridEnd, HybridSolution, solve_hybrid};
use daelight::{Relations, SolveOptions};
use daelight_integrate::implicit::Method;
use daelight_lang::{Model, Options};

const METHODS: [Method; 3] = [Method::Taylor, Method::Radau, Method::Bdf];

fn model(text: &str) -> Model {
    let text = daelight::ModelText {
        name: "test.mo".to_string(),
        bytes: text.as_bytes().to_vec(),
    };
    let loaded = daelight::load_text(&text, Options::default(), Relations::Modes);
    assert!(loaded.model.is_some(), "{:?}", loaded.diagnostics);
    loaded.model.expect("a model")
}

fn run(model: &Model, to: f64, method: Method, rtol: f64) -> HybridSolution {
    let system = daelight::system(model).expect("equations");
    let options = SolveOptions {
        to: Some(to),
        method: Some(method),
        rtol: Some(rtol),
        ..SolveOptions::default()
    };
    match solve_hybrid(model, &system, &options) {
        Ok(solution) => solution,
        Err(_) => panic!("{} has no run", model.name),
    }
}

fn last(model: &Model, solution: &HybridSolution, name: &str) -> f64 {
    let at = model.unknowns.iter().position(|u| u.name == name);
    solution.last[at.expect("an unknown")]
}

/// Numbers between 0 and 1, the same in every run.
struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The complete elliptic integral K(k), by means.
fn quarter(k: f64) -> f64 {
    let (mut a, mut b) = (1.0, (1.0 - k * k).sqrt());
    while (a - b) / a > 1e-15 {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    0.5 * std::f64::consts::PI / a
}

/// A pendulum that starts at rest and hits a stop below its pivot n times: with k = sin(phi/2) it falls for K(k), and comes back
/// each time with e k.
#[test]
fn pendulums_of_index_three_bounce_off_a_stop() {
    let mut random = Random(5);
    for case in 0..4 {
        let (l, g) = (random.between(0.3, 3.0), random.between(1.0, 20.0));
        let (phi, e) = (random.between(0.3, 1.4), random.between(0.3, 0.9));
        let text = format!(
            "model Stop
              Real x(start = {x}, fixed = true), y(start = {y}), vx(start = 0, fixed = true), vy, T;
            equation
              der(x) = vx; der(y) = vy; der(vx) = -T*x; der(vy) = -T*y - {g};
              x^2 + y^2 = {l}^2;
              when x < 0 then
                reinit(vx, -{e}*pre(vx));
              end when;
            end Stop;",
            x = l * phi.sin(),
            y = -l * phi.cos(),
        );
        let model = model(&text);
        let rate = (g / l).sqrt();
        let k = (0.5 * phi).sin();
        let mut wanted = vec![quarter(k) / rate];
        for n in 1..3 {
            let swing = 2.0 * quarter(k * e.powi(n)) / rate;
            wanted.push(wanted[wanted.len() - 1] + swing);
        }
        let to = wanted[2] + quarter(k * e.powi(3)) / rate;
        for method in METHODS {
            for rtol in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8] {
                let found = run(&model, to, method, rtol);
                let said = format!("case {case}, {method:?} at {rtol:e}");
                assert!(matches!(found.end, HybridEnd::Finished), "{said}");
                let times: Vec<f64> = found.events.iter().map(|event| event.time).collect();
                assert_eq!(
                    times.len(),
                    wanted.len(),
                    "{said}: {:?}, {wanted:?}",
                    found.events
                );
                for (time, wanted) in times.iter().zip(&wanted) {
                    let off = (time - wanted).abs() / wanted;
                    assert!(off <= 200.0 * rtol, "{said}: {time}, {wanted}");
                }
                // What the equations keep is kept to rounding behind every event.
                let [x, y] = ["x", "y"].map(|name| last(&model, &found, name));
                assert!((x.hypot(y) / l - 1.0).abs() < 1e-9, "{said}");
            }
        }
    }
}

/// A mass falls from the side until its string is taut, and swings from there on with its speed along the circle: one event, and the
/// energy behind it stays.
#[test]
fn a_string_that_stays_taut_has_one_event() {
    let mut random = Random(9);
    for case in 0..4 {
        let (l, g) = (random.between(0.5, 2.0), random.between(2.0, 20.0));
        let x = l * random.between(0.2, 0.9);
        let text = format!(
            "model Taut
              Real x(start = {x}, fixed = true), y(start = 0, fixed = true);
              Real vx(start = 0, fixed = true), vy(start = 0, fixed = true), T;
              Boolean taut(start = false, fixed = true);
            equation
              der(x) = vx; der(y) = vy; der(vx) = -T*x; der(vy) = -T*y - {g};
              when x^2 + y^2 > {l}^2 then
                taut = true;
              end when;
              if taut then x^2 + y^2 = {l}^2; else T = 0; end if;
            end Taut;"
        );
        let model = model(&text);
        let down = (l * l - x * x).sqrt();
        let pulls = (2.0 * down / g).sqrt();
        // The part of the speed along the circle stays.
        let speed = (2.0 * g * down).sqrt() * x / l;
        let energy = 0.5 * speed * speed - g * down;
        for method in METHODS {
            for rtol in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8] {
                let found = run(&model, 2.0 * pulls, method, rtol);
                let said = format!("case {case}, {method:?} at {rtol:e}");
                assert!(matches!(found.end, HybridEnd::Finished), "{said}");
                let times: Vec<f64> = found.events.iter().map(|event| event.time).collect();
                assert_eq!(times.len(), 1, "{said}: {times:?}");
                assert!((times[0] - pulls).abs() <= 200.0 * rtol * pulls, "{said}");
                let [vx, vy, y] = ["vx", "vy", "y"].map(|name| last(&model, &found, name));
                let off = (0.5 * (vx * vx + vy * vy) + g * y - energy).abs();
                assert!(off <= 200.0 * rtol * g * l, "{said}: {off:.1e}");
            }
        }
    }
}

/// h rises at the rate r up to a weir, which then takes c sqrt(h - 1): with s = sqrt(h - 1), t - 1/r = -2 s/c - 2 r/c^2 ln(1 - c s/r).
#[test]
fn a_mode_that_begins_with_an_infinite_slope_is_entered() {
    let mut random = Random(11);
    for case in 0..5 {
        let (r, c) = (random.between(0.5, 2.0), random.between(0.3, 3.0));
        let text = format!(
            "model Weir
              Real h(start = 0, fixed = true), q;
              Integer n(start = 0, fixed = true);
            equation
              q = if h > 1 then {c}*sqrt(h - 1) else 0;
              der(h) = {r} - q;
              when h > 1 then
                n = pre(n) + 1;
              end when;
            end Weir;"
        );
        let model = model(&text);
        let to = 1.0 / r + random.between(0.5, 2.0);
        for method in METHODS {
            for rtol in [1e-4, 1e-6, 1e-8] {
                let found = run(&model, to, method, rtol);
                let said = format!("case {case}, {method:?} at {rtol:e}");
                assert!(matches!(found.end, HybridEnd::Finished), "{said}");
                assert_eq!(found.events.len(), 1, "{said}");
                assert!(
                    (found.events.times()[0] - 1.0 / r).abs() <= 10.0 * rtol,
                    "{said}"
                );
                let s = (last(&model, &found, "h") - 1.0).sqrt();
                let time = 1.0 / r - 2.0 * s / c - 2.0 * r / (c * c) * (1.0 - c * s / r).ln();
                // The time that the end value belongs to, as far as the slope there tells.
                let off = (time - to).abs() * (r - c * s);
                assert!(off <= 100.0 * rtol, "{said}: {off:.1e}");
            }
        }
    }
}
