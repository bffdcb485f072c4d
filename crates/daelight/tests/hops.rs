//! Events that are easily missed: impacts that numbers do not tell apart, impacts behind a rest, pulses of time; against closed forms.

use daelight::hybrid::{HybridEnd, HybridSolution, solve_hybrid};
use daelight::{SolveOptions, system};
use daelight_integrate::implicit::Method;
use daelight_lang::{Model, Options, load};

fn model(text: &str) -> Model {
    let loaded = load("hops.mo", text.as_bytes(), &Options::default());
    loaded.model.unwrap_or_else(|| panic!("{text} is not read"))
}

fn run(text: &str, to: f64, method: Option<Method>, rests_at_zeno: bool) -> HybridSolution {
    let model = model(text);
    let system = system(&model).expect("its equations can be evaluated");
    let options = SolveOptions {
        to: Some(to),
        method,
        rests_at_zeno,
        ..SolveOptions::default()
    };
    match solve_hybrid(&model, &system, &options) {
        Ok(solution) => solution,
        Err(_) => panic!("{text} has no run"),
    }
}

fn random(state: &mut u64, low: f64, high: f64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
    low + (high - low) * (bits as f64 / (1u64 << 53) as f64)
}

/// With a small coefficient of restitution e the hops soon are lower than what numbers tell: impacts accumulate at sqrt(2 d/g) (1 + e)/(1 - e)
/// all the same, and the ball rests on the floor behind that. It fell through the floor without a word.
#[test]
fn balls_that_hardly_bounce_do_not_fall_through_the_floor() {
    let mut state = 0x6a09_e667_f3bc_c908_u64;
    for trial in 0..40 {
        let mut draw = |low, high| random(&mut state, low, high);
        let (g, d) = (draw(1.0, 20.0), 10f64.powf(draw(-2.0, 2.0)));
        let e = [
            0.0,
            10f64.powf(draw(-12.0, -1.0)),
            draw(0.0, 0.2),
            draw(0.0, 0.6),
        ][trial % 4];
        let f = if trial % 3 == 0 { 0.0 } else { draw(-3.0, 3.0) };
        let condition = [
            format!("h < {f}"),
            format!("h - ({f}) < 0"),
            format!("not h > {f}"),
        ];
        let condition = &condition[trial / 4 % 3];
        let methods = [
            None,
            Some(Method::Taylor),
            Some(Method::Radau),
            Some(Method::Bdf),
        ];
        let method = methods[trial / 3 % 4];
        let text = format!(
            "model M Real h(start = {f} + {d}, fixed = true), v(start = 0, fixed = true); equation der(h) = v; der(v) = -{g};
             when {condition} then reinit(v, -{e}*pre(v)); end when; end M;"
        );
        let wanted = (2.0 * d / g).sqrt() * (1.0 + e) / (1.0 - e);
        let solution = run(&text, 2.0 * wanted + 1.0, method, false);
        let HybridEnd::Zeno {
            limit, is_single, ..
        } = &solution.end
        else {
            panic!("{text}: ended otherwise, at {}", solution.reached);
        };
        assert_eq!(*is_single, e == 0.0, "{text}");
        assert!(
            (limit - wanted).abs() < 1e-5 * wanted,
            "{text}: {limit} {wanted}"
        );
        let solution = run(&text, 2.0 * wanted + 1.0, method, true);
        assert!(matches!(solution.end, HybridEnd::Finished), "{text}");
        let &[h, v] = &solution.last[..] else {
            panic!("two unknowns")
        };
        assert!((h - f).abs() < 1e-6 && v.abs() < 1e-6, "{text}: {h} {v}");
    }
}

/// What passes through a surface more slowly than before does not bounce: x = t up to 1, x = 1 + c (t - 1) behind it.
#[test]
fn what_is_braked_at_a_surface_passes_it() {
    let mut state = 0xbb67_ae85_84ca_a73b_u64;
    for _ in 0..10 {
        let (c, a) = (random(&mut state, 1e-6, 1.0), random(&mut state, 0.0, 3.0));
        let text = format!(
            "model M Real x(start = 0, fixed = true), v(start = 1, fixed = true); equation der(x) = v; der(v) = if time < 1 then 0 else {a};
             when x > 1 then reinit(v, {c}*pre(v)); end when; end M;"
        );
        let solution = run(&text, 2.0, None, false);
        assert!(matches!(solution.end, HybridEnd::Finished), "{text}");
        assert!(
            (solution.last[0] - (1.0 + c + 0.5 * a)).abs() < 1e-6,
            "{text}"
        );
    }
}

/// A ball rests on a plate at -A cos(w t), leaves it where the plate falls faster than it, at cos(w t) = -g/(A w^2), and strikes it again: that impact
/// is as any other. It was plastic, since the limit of the impacts before the rest was kept.
#[test]
fn impacts_behind_a_rest_are_as_any_other() {
    let mut state = 0x3c6e_f372_fe94_f82b_u64;
    for _ in 0..10 {
        let (w, e) = (random(&mut state, 5.0, 12.0), random(&mut state, 0.05, 0.4));
        let g = 9.81;
        let a = random(&mut state, 1.2, 2.5) * g / (w * w);
        let text = format!(
            "model M Real h(start = -{a} + 1e-3, fixed = true), v(start = 0, fixed = true), f, u; equation f = -{a}*cos({w}*time); u = {a}*{w}*sin({w}*time);
             der(h) = v; der(v) = -{g}; when h < f then reinit(v, u - {e}*(pre(v) - u)); end when; end M;"
        );
        let plate = |t: f64| (-a * (w * t).cos(), a * w * (w * t).sin());
        let leaves = (-g / (a * w * w)).acos() / w;
        let (from, speed) = plate(leaves);
        let ball = |s: f64| from + speed * s - 0.5 * g * s * s;
        let above = |s: f64| ball(s) - plate(leaves + s).0;
        let mut low = 0.05 / w;
        while above(low + 0.01 / w) > 0.0 {
            low += 0.01 / w;
        }
        let mut high = low + 0.01 / w;
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            (low, high) = match above(middle) > 0.0 {
                true => (middle, high),
                false => (low, middle),
            };
        }
        let u = plate(leaves + high).1;
        let after = u - e * (speed - g * high - u);
        let solution = run(&text, leaves + high + 1e-6, None, true);
        assert!(matches!(solution.end, HybridEnd::Finished), "{text}");
        let v = solution.last[1];
        assert!((v - after).abs() < 1e-3, "{text}: {v} {after}");
        let told = solution.warnings.iter();
        assert_eq!(
            told.filter(|w| w.contains("accumulate")).count(),
            1,
            "{text}"
        );
    }
}

/// Pulses of time that only conditions read, exp(-((t - c)/w)^2) > k: one rising edge each, at c - w sqrt(log(1/k)). Without states, or with states that have
/// nothing to do with them, they were missed.
#[test]
fn pulses_of_time_that_only_conditions_read_are_met() {
    let mut state = 0xa54f_f53a_5f1d_36f1_u64;
    for trial in 0..24 {
        let mut draw = |low, high| random(&mut state, low, high);
        let (c, w, k) = (
            draw(0.5, 19.0),
            10f64.powf(draw(-3.5, -1.0)),
            draw(0.1, 0.9),
        );
        let pulse = format!("exp(-((time - {c})/{w})^2)");
        let body = [
            format!("y = {pulse}; when y > {k}"),
            format!("2*y - 3*{pulse} = 0; when y > 1.5*{k}"),
            format!("y = time; when {pulse} > {k}"),
            format!("der(y) = -y; when {pulse} > {k}"),
            format!("der(y) = 0; when y + {pulse} > {k}"),
            format!("y = z; z = {pulse} + 1; when y - 1 > {k}"),
        ];
        let body = &body[trial % 6];
        let z = if trial % 6 == 5 { ", z" } else { "" };
        let text = format!(
            "model M Real y(start = 0){z}; Integer n(start = 0, fixed = true); equation {body} then n = pre(n) + 1; end when; end M;"
        );
        let methods = [
            None,
            Some(Method::Taylor),
            Some(Method::Radau),
            Some(Method::Bdf),
        ];
        let solution = run(&text, 20.0, methods[trial / 6], false);
        assert!(matches!(solution.end, HybridEnd::Finished), "{text}");
        let wanted = c - w * (1.0 / k).ln().sqrt();
        let found: Vec<f64> = solution.events.iter().map(|e| e.time).collect();
        assert_eq!(found.len(), 2, "{text}: {found:?}");
        assert!(
            (found[0] - wanted).abs() < 1e-9,
            "{text}: {found:?} {wanted}"
        );
    }
}
