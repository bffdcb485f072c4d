//! Frequency and step responses of linear models, against closed forms with random constants.

use daelight::LinearizeOptions;
use daelight_lang::{Options, load};

/// A number between two, from a generator of its own.
fn between(state: &mut u64, low: f64, high: f64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    low + (high - low) * ((*state >> 11) as f64 / (1_u64 << 53) as f64)
}

fn responses(text: &str) -> daelight_show::record::ResponsesRecord {
    let loaded = load("test.mo", text.as_bytes(), &Options::default());
    let model = loaded.model.expect("a model");
    let found = daelight::linearize(&model, &LinearizeOptions::default()).expect("a linear model");
    daelight::responses(&found, 400).expect("responses")
}

/// m x'' + d x' + c x = u with poles that swing.
#[test]
fn a_swing_answers_as_its_formula_says() {
    let mut state = 7;
    for _ in 0..20 {
        let (m, c) = (
            between(&mut state, 0.2, 5.0),
            between(&mut state, 1.0, 50.0),
        );
        let damping = between(&mut state, 0.05, 0.9);
        let d = 2.0 * damping * (m * c).sqrt();
        let found = responses(&format!(
            "model Swing input Real u; output Real x(start = 0); Real v(start = 0); equation der(x) = v; {m}*der(v) + {d}*v + {c}*x = u; end Swing;"
        ));
        let curve = &found.curves[0];
        for (k, &w) in found.frequencies.iter().enumerate() {
            let (re, im) = (c - m * w * w, d * w);
            let gain = 1.0 / re.hypot(im);
            assert!((curve.gain[k] / gain - 1.0).abs() < 1e-10, "gain at {w}");
            let phase = -im.atan2(re).to_degrees();
            assert!((curve.phase[k] - phase).abs() < 1e-8, "phase at {w}");
        }
        let (decay, turn) = (d / (2.0 * m), (c / m - (d / (2.0 * m)).powi(2)).sqrt());
        let step = curve.step.as_ref().expect("a step response");
        for (&t, &x) in found.times.iter().zip(step) {
            let swing = (turn * t).cos() + decay / turn * (turn * t).sin();
            let expected = (1.0 - (-decay * t).exp() * swing) / c;
            assert!(
                (x - expected).abs() < 1e-11 / c.min(1.0),
                "{x} {expected} at {t}"
            );
        }
    }
}

/// The force for a motion is a polynomial of s, and a step of the motion has no response.
#[test]
fn an_improper_model_has_a_gain_and_no_step() {
    let found = responses(
        "model Servo input Real u; output Real f; Real x, v; equation x = u; v = der(x); f = 2.5*der(v) + 3*v + 7*x; end Servo;",
    );
    let curve = &found.curves[0];
    assert!(curve.step.is_none());
    for (k, &w) in found.frequencies.iter().enumerate() {
        let gain = (7.0 - 2.5 * w * w).hypot(3.0 * w);
        assert!((curve.gain[k] / gain - 1.0).abs() < 1e-12);
    }
}
