//! Roots that come to rest: tanks that run empty, are filled again and become level, against closed forms.

use crate::common::{Random, json_of};

const METHODS: [&str; 4] = ["auto", "taylor", "radau", "bdf"];

/// The outflow a sqrt(x), nothing where there is nothing, in several writings.
fn outflow(case: usize, a: f64, x: &str) -> String {
    match case % 7 {
        0 => format!("(if {x} > 0 then {a}*sqrt({x}) else 0)"),
        1 => format!("{a}*sqrt(max(0, {x}))"),
        2 => format!("(if {x} <= 0 then 0 else {a}*({x})^0.5)"),
        3 => format!("{a}*sqrt(max({x}, 0))"),
        4 => format!("(if noEvent({x} > 0) then {a}*sqrt({x}) else 0)"),
        5 => format!("(if {x} >= 0 then {a}*sqrt({x}) else 0)"),
        _ => format!("(if 0 < {x} then sqrt({}*{x}) else 0)", a * a),
    }
}

/// The level after a time of h' = u - a sqrt(h) from an empty tank: t = -2 s/a - 2 u/a^2 ln(1 - a s/u) with s = sqrt(h).
fn filled(a: f64, u: f64, time: f64) -> f64 {
    let (mut low, mut high) = (0.0, u / a);
    for _ in 0..200 {
        let s = 0.5 * (low + high);
        let needed = -2.0 * s / a - 2.0 * u / (a * a) * (-a * s / u).ln_1p();
        if needed < time {
            low = s;
        } else {
            high = s;
        }
    }
    low * low
}

fn expect(text: &str, end: f64, method: &str, wanted: &[(&str, f64)]) {
    let end = end.to_string();
    let (code, found) = json_of(text, &["solve", "-", "--to", &end, "--method", method]);
    assert_eq!(code, 0, "{method} {end}: {}\n{text}", found["message"]);
    let warnings = found["warnings"].to_string();
    let grow = warnings.contains("Small errors grow");
    assert!(!grow, "{method} {end}: {warnings}\n{text}");
    for (name, value) in wanted {
        let got = found["final"][*name].as_f64().expect("a value");
        assert!(
            (got - value).abs() < 3e-7,
            "{method} {end}: {name} = {got}, not {value}\n{text}"
        );
    }
}

#[test]
fn an_empty_tank_stays_empty_until_it_is_filled() {
    let mut random = Random(41);
    for case in 0..48 {
        let (a, h) = (random.between(0.2, 2.0), random.between(0.2, 3.0));
        let empty = 2.0 * h.sqrt() / a;
        let (again, u) = (empty * random.between(1.05, 2.0), random.between(0.1, 2.0));
        let out = outflow(case, a, "h");
        let count = match case % 4 {
            // A model with events holds other relations, and not this one.
            3 => "when time > 0.1 then n = pre(n) + 1; end when;",
            _ => "n = 0;",
        };
        let text = format!(
            "model Tank Real h(start = {h}, fixed = true), q; Integer n(start = 0);
             equation q = {out}; der(h) = (if time < {again} then 0 else {u}) - q; {count} end Tank;"
        );
        let method = METHODS[(case / 6) % 4];
        let pause = empty + 0.5 * (again - empty);
        expect(&text, pause, method, &[("h", 0.0)]);
        let end = again + random.between(0.1, 3.0);
        expect(&text, end, method, &[("h", filled(a, u, end - again))]);
    }
}

#[test]
fn an_empty_tank_is_a_start() {
    let mut random = Random(42);
    for case in 0..28 {
        let (a, u) = (random.between(0.2, 2.0), random.between(0.1, 2.0));
        let out = outflow(case, a, "h");
        let text = format!(
            "model Tank Real h(start = 0, fixed = true); equation der(h) = {u} - {out}; end Tank;"
        );
        let end = random.between(0.1, 5.0);
        expect(&text, end, METHODS[case % 4], &[("h", filled(a, u, end))]);
    }
}

#[test]
fn tanks_become_level_and_stay_so() {
    let mut random = Random(43);
    for case in 0..40 {
        let a = random.between(0.2, 2.0);
        let h = [random.between(0.2, 3.0), random.between(0.05, 2.0)];
        let area = [random.between(0.5, 2.0), random.between(0.5, 2.0)];
        let flow = match case % 5 {
            0 => format!("{a}*sign(h1 - h2)*sqrt(abs(h1 - h2))"),
            1 => format!("if h1 >= h2 then {a}*sqrt(h1 - h2) else -{a}*sqrt(h2 - h1)"),
            2 => format!("if h1 > h2 then {a}*sqrt(h1 - h2) else -{a}*sqrt(h2 - h1)"),
            3 => format!("sign(h1 - h2)*{a}*abs(h1 - h2)^0.5"),
            _ => format!("if h1 < h2 then -{a}*sqrt(h2 - h1) else {a}*sqrt(h1 - h2)"),
        };
        let text = format!(
            "model Tanks Real h1(start = {}, fixed = true), h2(start = {}, fixed = true), q;
             equation q = {flow}; {}*der(h1) = -q; {}*der(h2) = q; end Tanks;",
            h[0], h[1], area[0], area[1]
        );
        let (difference, rate) = (h[0] - h[1], a * (1.0 / area[0] + 1.0 / area[1]));
        let part = [0.5, 0.9, 1.1, 2.0, 5.0][(case / 5) % 5];
        let end = part * 2.0 * difference.abs().sqrt() / rate;
        let left = (difference.abs().sqrt() - 0.5 * rate * end)
            .max(0.0)
            .powi(2);
        let left = left.copysign(difference);
        let (water, both) = (area[0] * h[0] + area[1] * h[1], area[0] + area[1]);
        let levels = [
            (water + area[1] * left) / both,
            (water - area[0] * left) / both,
        ];
        let method = METHODS[case % 4];
        expect(&text, end, method, &[("h1", levels[0]), ("h2", levels[1])]);
    }
}

/// Several solutions leave h = 0 where the rate has one sign on both sides, and a root that no condition guards has no say on what follows,
/// whatever is compared with h elsewhere: all end when the tank is empty.
#[test]
fn what_follows_an_unguarded_root_is_not_guessed() {
    let mut random = Random(43);
    for case in 0..28 {
        let (a, b) = (random.between(0.5, 2.0), random.between(0.5, 2.0));
        let h = random.between(0.2, 3.0);
        let empty = 2.0 * h.sqrt() / a;
        let again = 1.5 * empty;
        let (out, other) = match case % 7 {
            0 => (format!("{a}*sqrt(abs(h))"), "0"),
            1 => (format!("(if time < 100 then {a}*sqrt(h) else 0)"), "0"),
            2 => (
                format!("(if time < 100 then {a}*sqrt(h) else 0)"),
                "if h > 0 then 1 else 0",
            ),
            3 => (format!("{a}*sqrt(h)"), "if h > 0 then 1 else 0"),
            4 => (
                format!("(if h >= 0 then {a}*sqrt(h) else {b}*sqrt(-h))"),
                "0",
            ),
            5 => (format!("{a}*sqrt(abs(h))"), "sign(h)"),
            _ => (
                format!("(if h > 0 or time < 100 then {a}*sqrt(h) else 0)"),
                "0",
            ),
        };
        let text = format!(
            "model Root Real h(start = {h}, fixed = true), y; equation y = {other};
             der(h) = (if time < {again} then 0 else 1) - {out}; end Root;"
        );
        for method in METHODS {
            let end = (2.0 * empty).to_string();
            let (code, found) = json_of(&text, &["solve", "-", "--to", &end, "--method", method]);
            assert_ne!(code, 0, "{method}: {found}\n{text}");
            let t = found["final"]["time"].as_f64();
            let is_then = t.is_none_or(|t| (t - empty).abs() < 1e-6);
            assert!(is_then, "{method}: {t:?}, not {empty}\n{text}");
        }
    }
}

/// A prescribed path that ends while a removable point is passed: the switch is where the text has it.
#[test]
fn switches_behind_a_removable_point_are_kept() {
    for (end, rtol) in [
        (1.0, "1e-8"),
        (2.0, "1e-8"),
        (3.0, "1e-8"),
        (3.0, "1e-9"),
        (5.0, "1e-10"),
    ] {
        let text = format!(
            "model Boom parameter Real m = 50, I = 20, J = 4, k = 3000, T = {end}; Real r(start = 1.4), q(start = -0.78), th(start = -0.78), F, tau, p;
             equation lagrange(0.5*m*(der(r)^2 + r^2*der(q)^2) + 0.5*I*der(q)^2 + 0.5*J*der(th)^2, 0.5*k*(th - q)^2, {{r, q, th}}, {{}}, {{}}, {{F, 0, tau}});
             r*cos(q) = 0; r*sin(q) = -1 + 2*p;
             p = if time < T then (time/T)^5*(126 - 420*time/T + 540*(time/T)^2 - 315*(time/T)^3 + 70*(time/T)^4) else 1; end Boom;"
        );
        let to = (end + 1.0).to_string();
        let arguments = [
            "solve",
            "-",
            "--to",
            &to,
            "--rtol",
            rtol,
            "--on-singularity",
            "continue",
        ];
        let (code, found) = json_of(&text, &arguments);
        assert_eq!(code, 0, "{}", found["message"]);
        let time = found["switches"][0]["time"].as_f64().expect("a switch");
        assert!((time - end).abs() < 1e-9, "{time} {end}");
        let force = found["final"]["F"].as_f64().expect("a value");
        assert!(force.abs() < 1e-6, "{force}");
    }
}

/// A root of a size in a condition has a value everywhere: nothing is singular where the size passes zero, and the run passes it.
#[test]
fn roots_of_sizes_in_conditions_are_no_branch_points() {
    let mut random = Random(47);
    for case in 0..36 {
        let (a, w) = (random.between(0.5, 2.0), random.between(1.0, 3.0));
        let (c, k) = (random.between(0.05, 0.4), random.between(1.0, 5.0));
        let (size, factor) = [("abs(x)", 1.0), ("abs(2*abs(x))", 2.0), ("4*abs(x)", 4.0)][case % 3];
        // Within a choice of time alone, so that no condition on x stands around it.
        let condition = [
            format!("sqrt({size}) < {c}"),
            format!("not {c} <= sqrt({size})"),
            format!("not sqrt({size}) > c"),
        ];
        let inner = format!("if {} then {k}*x else x", condition[case / 6 % 3]);
        let y = match case % 2 {
            0 => inner,
            _ => format!("if time < 100 then ({inner}) else 0"),
        };
        let text = format!(
            "model Sizes parameter Real c = {c}; Real x(start = {a}, fixed = true), y; equation der(x) = -{a}*{w}*sin({w}*time); y = {y}; end Sizes;"
        );
        // x = a cos(w t): behind its first zero, within the condition.
        let x = -0.5 * c * c / factor;
        let end = ((x / a).acos() / w).to_string();
        let method = METHODS[(case / 3) % 4];
        let (code, found) = json_of(&text, &["solve", "-", "--to", &end, "--method", method]);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        let y = found["final"]["y"].as_f64().expect("a value");
        assert!(
            (y - k * x).abs() < 3e-7,
            "{method}: {y}, not {}\n{text}",
            k * x
        );
    }
}

/// A condition on x with a root that has no slope at x = 0, and whether it holds.
type Rooted = (String, Box<dyn Fn(f64, f64) -> bool>);

/// Roots of sizes within other functions, around the size c, which sways by a sin(w t).
fn rooted(case: usize, c: f64, a: f64, w: f64) -> Rooted {
    let sway = format!("{c} + {a}*sin({w}*time)");
    let limit = move |t: f64| c + a * (w * t).sin();
    match case % 10 {
        0 => (
            format!("sqrt(abs(x)) < {sway}"),
            Box::new(move |x, t| x.abs().sqrt() < limit(t)),
        ),
        1 => (
            format!("sqrt(abs(x))*sqrt(abs(x)) < {sway}"),
            Box::new(move |x, t| x.abs() < limit(t)),
        ),
        2 => (
            format!("exp(-sqrt(abs(x))) > exp(-({sway}))"),
            Box::new(move |x, t| x.abs().sqrt() < limit(t)),
        ),
        3 => (
            format!("abs(x)^0.3 < {sway}"),
            Box::new(move |x, t| x.abs().powf(0.3) < limit(t)),
        ),
        4 => (
            format!("log(1 + sqrt(abs(x))) < {sway}"),
            Box::new(move |x, t| x.abs().sqrt().ln_1p() < limit(t)),
        ),
        5 => (
            format!("max(x, 0)^(1/2) + sqrt(max(0, -x)) < {sway}"),
            Box::new(move |x, t| x.abs().sqrt() < limit(t)),
        ),
        6 => (
            format!("(x^2)^0.25 < {sway}"),
            Box::new(move |x, t| x.abs().sqrt() < limit(t)),
        ),
        7 => (
            format!("sqrt(x^2) < {sway}"),
            Box::new(move |x, t| x.abs() < limit(t)),
        ),
        8 => (
            format!("abs(min(sqrt(sqrt(abs(x))), 1) - {c}) < {}*({sway})", 0.5),
            Box::new(move |x, t| (x.abs().powf(0.25).min(1.0) - c).abs() < 0.5 * limit(t)),
        ),
        _ => (
            format!("sign(x)*sqrt(abs(x)) < {sway}"),
            Box::new(move |x, t| x.signum() * x.abs().sqrt() < limit(t)),
        ),
    }
}

/// The time up to an end at which a condition holds along x = a cos(w t + p), from samples with bisected edges.
fn time_held(holds: &dyn Fn(f64) -> bool, end: f64) -> f64 {
    const N: usize = 400_000;
    let at = |i: usize| end * i as f64 / N as f64;
    let mut sum = 0.0;
    for i in 0..N {
        let (mut low, mut high) = (at(i), at(i + 1));
        let (before, behind) = (holds(low), holds(high));
        if before != behind {
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if holds(middle) == before {
                    low = middle;
                } else {
                    high = middle;
                }
            }
        }
        sum += match (before, behind) {
            (true, true) => at(i + 1) - at(i),
            (true, false) => low - at(i),
            (false, true) => at(i + 1) - low,
            (false, false) => 0.0,
        };
    }
    sum
}

/// Whatever the function around a root of a size in a condition, its switches are met on both sides of zero.
#[test]
fn roots_of_sizes_within_conditions_decide_on_both_sides_of_zero() {
    let mut random = Random(53);
    for case in 0..80 {
        let (amplitude, w) = (random.between(1.0, 2.5), random.between(1.0, 3.0));
        let phase = random.between(0.0, 6.0);
        let (c, a) = (random.between(0.3, 0.9), random.between(0.05, 0.15));
        let (condition, holds) = rooted(case, c, a, random.between(0.5, 3.0));
        let held = match case / 10 % 3 {
            0 => format!("if {condition} then 1 else 0"),
            1 => format!("if not ({condition}) then 0 else 1"),
            _ => format!("if time < 100 then (if {condition} then 1 else 0) else 0"),
        };
        let x = move |t: f64| amplitude * (w * t + phase).cos();
        let text = format!(
            "model Rooted Real x(start = {}, fixed = true), s(start = 0, fixed = true); equation der(x) = -{}*sin({w}*time + {phase}); der(s) = {held}; end Rooted;",
            x(0.0),
            amplitude * w
        );
        let end = random.between(2.0, 4.0);
        let wanted = time_held(&|t| holds(x(t), t), end);
        let method = METHODS[(case + case / 10) % 4];
        let told = end.to_string();
        let (code, found) = json_of(&text, &["solve", "-", "--to", &told, "--method", method]);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        let s = found["final"]["s"].as_f64().expect("a value");
        assert!(
            (s - wanted).abs() < 1e-5,
            "{method} {end}: {s}, not {wanted}\n{text}"
        );
    }
}
