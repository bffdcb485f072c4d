//! Kinks that are continuous: no method slides along them, nor chatters.

use daelight::{SolveOptions, solve, system};
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;
use daelight_lang::{Model, Options, load};

fn model(text: &str) -> Model {
    let loaded = load("kinks.mo", text.as_bytes(), &Options::default());
    loaded.model.unwrap_or_else(|| panic!("{text}"))
}

/// A number of a sequence, between two numbers that are not negative, evenly by its logarithm.
fn random(state: &mut u64, low: f64, high: f64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
    low * (high / low).powf(bits as f64 / (1u64 << 53) as f64)
}

/// The first unknowns at the end.
fn at_end(text: &str, method: Option<Method>, rtol: f64) -> Vec<f64> {
    let model = model(text);
    let system = system(&model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(3.0),
        rtol: Some(rtol),
        method,
        ..SolveOptions::default()
    };
    let solution = solve(&system, &options).unwrap_or_else(|_| panic!("{text}: no run"));
    let stop = &solution.run.stop;
    assert_eq!(
        *stop,
        StopReason::Finished,
        "{text} by {method:?} at {rtol}"
    );
    let mut reader = solution.reader(&system);
    reader.values(3.0).expect("values").expect("the end")
}

/// A slew limiter whose output is limited again by its rate: (u - y)/T is off by the error of y over T, which may be more than what it is
/// compared with.
#[test]
fn slew_limiters_in_a_row_do_not_chatter() {
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    let rtols = [1e-4, 1e-6, 3e-7, 1e-8];
    for trial in 0..40 {
        let mut draw = |low, high| random(&mut state, low, high);
        let (a, b) = (draw(1e-5, 1e-2), draw(1e-5, 1e-2));
        let (v, w, t) = (draw(0.7, 5.0), draw(4.0, 50.0), draw(0.05, 0.3));
        let text = format!(
            "model M Real y(start = 0, fixed = true), f, u, z(start = 0, fixed = true), g, s(start = 0, fixed = true); equation
             u = if time < {t} then 0 else 1; f = (u - y)/{a}; der(y) = if f < -{v} then -{v} else if f > {v} then {v} else f;
             g = (der(y) - z)/{b}; der(z) = if g < -{w} then -{w} else if g > {w} then {w} else g; der(s) = z; end M;"
        );
        let rtol = rtols[trial % 4];
        let wanted = at_end(&text, Some(Method::Taylor), 1e-10);
        let methods = [Some(Method::Bdf), Some(Method::Radau), None];
        for method in &methods[..if trial % 4 == 0 { 3 } else { 1 }] {
            let found = at_end(&text, *method, rtol);
            let off = (found[5] - wanted[5])
                .abs()
                .max((found[0] - wanted[0]).abs());
            assert!(off <= 1e-2, "{text} by {method:?}: {found:?} {wanted:?}");
        }
    }
}

/// A slew limiter that follows a step of height A: y = R t up to A - R T, and A - R T exp(-(t - t1)/T) behind.
#[test]
fn a_slew_limiter_follows_a_step() {
    let mut state = 0xda3e_39cb_94b9_5bdb_u64;
    for trial in 0..24 {
        let mut draw = |low, high| random(&mut state, low, high);
        let (limit, height, t) = (draw(0.5, 5.0), draw(0.2, 1.0), draw(1e-5, 1e-1));
        let text = format!(
            "model M Real y(start = 0, fixed = true), f; equation f = ({height} - y)/{t};
             der(y) = if f < -{limit} then -{limit} else if f > {limit} then {limit} else f; end M;"
        );
        let first = (height / limit - t).max(0.0);
        let wanted = height - (height - limit * first) * (-(3.0 - first) / t).exp();
        for method in [Method::Taylor, Method::Radau, Method::Bdf] {
            let rtol = [1e-5, 1e-7][trial % 2];
            let found = at_end(&text, Some(method), rtol)[0];
            assert!(
                (found - wanted).abs() <= 100.0 * rtol,
                "{text} by {method:?}: {found} {wanted}"
            );
        }
    }
}
