//! Commands that rest exactly on the threshold of a relation: a closed valve, a pump that is switched off, a gear number. At random
//! levels and thresholds, in several writings, against the text taken literally.

use crate::common::{Random, daelight_with_input, document};

fn level(random: &mut Random) -> f64 {
    [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 0.25][random.below(7)]
}

/// A relation between the command and a threshold, as text and as what it means.
fn relation(random: &mut Random, threshold: f64) -> (String, Box<dyn Fn(f64) -> bool>) {
    let c = threshold;
    match random.below(6) {
        0 => (format!("y > {c}"), Box::new(move |y| y > c)),
        1 => (format!("y >= {c}"), Box::new(move |y| y >= c)),
        2 => (format!("y < {c}"), Box::new(move |y| y < c)),
        3 => (format!("{c} >= y"), Box::new(move |y| y <= c)),
        4 => (format!("y - {c} > 0"), Box::new(move |y| y > c)),
        _ => (format!("sign(y - {c}) < 0.5"), Box::new(move |y| y <= c)),
    }
}

#[test]
fn a_command_that_rests_on_a_threshold_is_taken_as_the_text_says() {
    let mut random = Random(7);
    for case in 0..60 {
        let levels = [0; 3].map(|_| level(&mut random));
        let thresholds = [levels[random.below(3)], levels[random.below(3)]];
        let (first, is_first) = relation(&mut random, thresholds[0]);
        let (second, is_second) = relation(&mut random, thresholds[1]);
        let sign_at = levels[random.below(3)];
        let command = match random.below(3) {
            0 => format!(
                "if time < 1 then {} else if time < 2.5 then {} else {}",
                levels[0], levels[1], levels[2]
            ),
            1 => format!(
                "(if time >= 2.5 then {} else if time >= 1 then {} else {})",
                levels[2], levels[1], levels[0]
            ),
            // The same by steps that are added.
            _ => format!(
                "{} + (if time < 1 then 0 else {}) + (if time < 2.5 then 0 else {})",
                levels[0],
                levels[1] - levels[0],
                levels[2] - levels[1]
            ),
        };
        let text = format!(
            "model M\n  Real x(start = 0, fixed = true), y, q;\nequation\n  y = {command};\n  \
             q = (if {first} then 3 else if {second} then 7 else -4) + 2*sign(y - {sign_at});\n  der(x) = q - 0.5*x;\nend M;\n"
        );
        let sign = |v: f64| if v == 0.0 { 0.0 } else { v.signum() };
        let q = |y: f64| {
            let chosen = match (is_first(y), is_second(y)) {
                (true, _) => 3.0,
                (false, true) => 7.0,
                (false, false) => -4.0,
            };
            chosen + 2.0 * sign(y - sign_at)
        };
        // x' = q - x/2 with constant q over each stretch.
        let mut truth = 0.0;
        for (y, length) in levels.into_iter().zip([1.0, 1.5, 1.0]) {
            let limit = 2.0 * q(y);
            truth = limit + (truth - limit) * f64::exp(-0.5 * length);
        }
        for method in ["auto", "radau", "bdf"] {
            let arguments = ["solve", "-", "--json", "--to", "3.5", "--method", method];
            let found = document(&daelight_with_input(&arguments, text.as_bytes()));
            assert_eq!(
                found["reason"], "finished",
                "case {case}, {method}: {found}\n{text}"
            );
            let x = found["final"]["x"].as_f64().expect("a value at the end");
            assert!(
                (x - truth).abs() < 1e-5 * (1.0 + truth.abs()),
                "case {case}, {method}: {x} for {truth}\n{text}"
            );
        }
        let start = document(&daelight_with_input(
            &["init", "-", "--json"],
            text.as_bytes(),
        ));
        let found = start["values"]["q"].as_f64();
        assert_eq!(found, Some(q(levels[0])), "case {case}: {start}\n{text}");
    }
}

#[test]
fn ramps_that_begin_and_end_on_a_threshold_switch_there() {
    // y rises from rest at 1, falls back to rest at 3; the valve is open only in between.
    let texts = [
        "y = max(0, 1 - abs(time - 2)); q = if y > 0 then 2 else 5;",
        "y = if time < 1 then 0 else if time < 2 then time - 1 else if time < 3 then 3 - time else 0; q = if y <= 0 then 5 else 2;",
        "y = max(0, min(time - 1, 3 - time)); q = 5 - 3*sign(y);",
    ];
    for text in texts {
        let text = format!(
            "model M\n  Real x(start = 0, fixed = true), y, q;\nequation\n  {text}\n  der(x) = q;\nend M;\n"
        );
        for method in ["auto", "taylor", "radau", "bdf"] {
            let arguments = ["solve", "-", "--json", "--to", "4", "--method", method];
            let found = document(&daelight_with_input(&arguments, text.as_bytes()));
            let x = found["final"]["x"].as_f64().expect("a value at the end");
            assert!((x - 14.0).abs() < 1e-6, "{method}: {x}\n{text}");
        }
    }
}

#[test]
fn a_when_counts_each_time_a_command_leaves_a_threshold_and_comes_back() {
    let mut random = Random(3);
    for case in 0..12 {
        let n_steps = 3 + random.below(5);
        let levels: Vec<f64> = (0..n_steps)
            .map(|k| if k % 2 == 0 { 0.0 } else { 1.0 })
            .collect();
        let mut command = format!("{}", levels[n_steps - 1]);
        for (k, level) in levels.iter().enumerate().rev().skip(1) {
            command = format!("if time < {} then {level} else {command}", k + 1);
        }
        let text = format!(
            "model S\n  discrete Real n(start = 0, fixed = true), m(start = 0, fixed = true);\n  \
             Real u, x(start = 0, fixed = true);\nequation\n  u = {command};\n  \
             when u > 0 then n = pre(n) + 1; end when;\n  when u <= 0 then m = pre(m) + 1; end when;\n  \
             der(x) = if u > 0 then 1 else 0;\nend S;\n"
        );
        let (ups, downs) = (n_steps / 2, (n_steps - 1) / 2);
        let to = n_steps.to_string();
        let found = document(&daelight_with_input(
            &["solve", "-", "--json", "--to", &to],
            text.as_bytes(),
        ));
        let last = |name: &str| found["final"][name].as_f64().expect("a value at the end");
        assert_eq!(
            (last("n"), last("m")),
            (ups as f64, downs as f64),
            "case {case}\n{text}"
        );
        assert!(
            (last("x") - ups as f64).abs() < 1e-9,
            "case {case}: {}\n{text}",
            last("x")
        );
    }
}

#[test]
fn state_events_that_end_on_a_threshold_are_taken_literally() {
    let mut random = Random(9);
    for _ in 0..6 {
        let [at, a, b] = [0; 3].map(|_| random.between(0.3, 1.5));
        let texts = [
            format!(
                "Real x(start = 0, fixed = true), v(start = -1, fixed = true), h(start = {at}, fixed = true);
                 equation  der(h) = v;  der(v) = 0;  when h <= 0 then reinit(v, 0); end when;
                 der(x) = if v < 0 then {a} else {b};"
            ),
            format!(
                "Real x(start = 0, fixed = true), s(start = 0, fixed = true), u;
                 discrete Real n(start = 0, fixed = true);
                 equation  der(s) = 1;  u = if s < {at} then 1 else 0;
                 when u <= 0 then n = pre(n) + 1; end when;  der(x) = if u > 0 then {a} else {b};"
            ),
            format!(
                "Real x(start = 0, fixed = true), s(start = 0, fixed = true), w;
                 discrete Real u(start = 1, fixed = true);
                 equation  der(s) = 1;  w = u*(2 + s);  when s >= {at} then u = 0; end when;
                 der(x) = if w > 0 then {a} else {b};"
            ),
        ];
        let truth = a * at + b * (3.0 - at);
        for text in texts {
            let text = format!("model M  {text}  end M;");
            let output =
                daelight_with_input(&["solve", "-", "--json", "--to", "3"], text.as_bytes());
            let x = document(&output)["final"]["x"].as_f64().expect("a value");
            assert!((x - truth).abs() < 1e-6, "{x} for {truth}\n{text}");
        }
    }
}

/// Two formulas of one number, with roots behind guards as libraries write them: what decides is rounding all along, and never switches.
#[test]
fn operands_that_are_one_number_rest_on_each_other() {
    let mut random = Random(41);
    for _ in 0..12 {
        let [a, b, c, d, x] = [0; 5].map(|_| random.between(0.2, 3.0));
        let root = |k: &str| format!("(if {k} > 0 then sqrt({k}) else 0)");
        let (one, other) = (root("k1"), root("k2"));
        let least = format!("min({one}*sqrt(8.75/{x}), {other}*sqrt(8.75/abs(-{x}*(k2/k1))))");
        let choice = format!("if abs({one} - {other}*sqrt(k1/k2)) < 1e-9 then y else -y");
        let text = format!(
            "model M  Real k1, k2, y, z;  equation  k1 = {a}/({c} + time);  k2 = {b}/({d} + 0.5*time);
             y = time*{least};  z = {choice};  end M;"
        );
        let output = daelight_with_input(&["solve", "-", "--json", "--to", "2"], text.as_bytes());
        let record = document(&output);
        let truth = 2.0 * (a / (c + 2.0) * 8.75 / x).sqrt();
        for name in ["y", "z"] {
            let found = record["final"][name].as_f64().expect("a value");
            assert!(
                (found - truth).abs() < 1e-6 * truth,
                "{name} = {found} for {truth}\n{text}"
            );
        }
    }
}
