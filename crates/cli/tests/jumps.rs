//! Solutions that end where two of them meet at a kink: triggers and oscillators with saturated amplifiers, against closed forms. Starts on
//! switches that other relations follow, and rates that rise from an essential zero.

use crate::common::{Random, daelight_with_input, json_of, status, stderr, stdout};

const METHODS: [&str; 3] = ["auto", "radau", "bdf"];

/// An amplifier of finite gain between two limits, written in three ways.
fn amplifier(case: usize) -> &'static str {
    match case % 3 {
        0 => "vo = if V0*vin > Vs then Vs elseif V0*vin < -Vs then -Vs else V0*vin;",
        1 => "vo = max(-Vs, min(Vs, V0*vin));",
        _ => {
            "0 = vo - (if noEvent(V0*vin < -Vs) then -Vs else if noEvent(V0*vin > Vs) then Vs else V0*vin);"
        }
    }
}

/// A trigger switches where its input passes k Vs - Vs/V0 upwards, and the negative of that downwards.
#[test]
fn triggers_switch_at_their_two_thresholds() {
    let mut random = Random(3);
    for case in 0..36 {
        let (gain, limit) = (
            10_f64.powf(random.between(2.0, 6.0)),
            random.between(0.5, 20.0),
        );
        let k = random.between(0.1, 0.4);
        let (size, w) = (
            limit * k * random.between(1.2, 4.0),
            random.between(1.0, 30.0),
        );
        let text = format!(
            "model Trigger parameter Real V0 = {gain}, Vs = {limit}, k = {k}; Real vi, vin, vo(start = {limit}), x(start = 0, fixed = true);
             equation vi = {size}*sin({w}*time); vin = k*vo - vi; {} der(x) = vo; end Trigger;",
            amplifier(case)
        );
        let period = std::f64::consts::TAU / w;
        let end = 2.25 * period;
        // Upwards at first, later by half a period each; the area under the output follows.
        let first = ((k * limit - limit / gain) / size).asin() / w;
        let end_text = end.to_string();
        let method = METHODS[case % 3];
        let arguments = ["solve", "-", "--to", &end_text, "--method", method];
        let (code, found) = json_of(&text, &arguments);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        let mut times: Vec<f64> = (0..5).map(|n| first + n as f64 * period / 2.0).collect();
        times.retain(|time| *time < end);
        let (mut area, mut level, mut before) = (0.0, limit, 0.0);
        for &time in &times {
            area += level * (time - before);
            (level, before) = (-level, time);
        }
        area += level * (end - before);
        let x = found["final"]["x"].as_f64().expect("a value");
        assert!(
            (x - area).abs() <= 1e-6 * limit * end,
            "{method}: {x} {area}\n{text}"
        );
        let said = found["warnings"].to_string();
        assert!(said.contains("two solutions meet"), "{said}\n{text}");
    }
}

/// The oscillator charges towards the limits of its amplifier between two thresholds.
#[test]
fn oscillators_have_the_period_of_their_thresholds() {
    let mut random = Random(8);
    for case in 0..24 {
        let (gain, limit) = (
            10_f64.powf(random.between(2.5, 5.5)),
            random.between(2.0, 20.0),
        );
        let (k, tau) = (random.between(0.15, 0.7), random.between(0.01, 3.0));
        let text = format!(
            "model Oscillator parameter Real V0 = {gain}, Vs = {limit}, k = {k}, tau = {tau};
             Real vc(start = 0, fixed = true), vin, vo(start = {limit});
             equation tau*der(vc) = vo - vc; vin = k*vo - vc; {} end Oscillator;",
            amplifier(case)
        );
        let top = k * limit - limit / gain;
        let first = tau * (limit / (limit - top)).ln();
        let half = tau * ((limit + top) / (limit - top)).ln();
        // In the middle of a discharge.
        let end = first + 4.5 * half;
        let end_text = end.to_string();
        let method = METHODS[case % 3];
        let arguments = ["solve", "-", "--to", &end_text, "--method", method];
        let (code, found) = json_of(&text, &arguments);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        let expected = -limit + (limit + top) * (-half / 2.0 / tau).exp();
        let vc = found["final"]["vc"].as_f64().expect("a value");
        assert!(
            (vc - expected).abs() <= 1e-5 * limit,
            "{method}: {vc} {expected}\n{text}"
        );
    }
}

/// Behind the first meeting a staircase of three steps has one other solution, far below; a curve of seven pieces has two, and the run
/// ends in words.
#[test]
fn a_jump_goes_far_and_is_not_guessed() {
    let stairs = "model Stairs Real u, y(start = 12), v; equation u = time; v = y - u;
        y = max(-4, min(4, 50*(v - 2))) + max(-4, min(4, 50*v)) + max(-4, min(4, 50*(v + 2))); end Stairs;";
    for method in METHODS {
        let arguments = ["solve", "-", "--to", "30", "--method", method];
        let (code, found) = json_of(stairs, &arguments);
        assert_eq!(code, 0, "{method}: {}", found["message"]);
        let y = found["final"]["y"].as_f64().expect("a value");
        assert!((y + 12.0).abs() < 1e-9, "{method}: {y}");
    }
    // y falls from 3 to 2 as t rises to 1; beyond, there are y = 1 - t, 1 + (t - 1)/2 and what lies between them.
    let several = "model Several Real y(start = 3), f; equation f = time;
        f = if y > 2 then 3 - y elseif y > 1.5 then 2*y - 3 elseif y > 1 then 3 - 2*y + 0.5 elseif y > 0 then 1 + 0.5*y else 1 - y; end Several;";
    for method in METHODS {
        let arguments = ["solve", "-", "--to", "1.2", "--method", method];
        let output = daelight_with_input(&arguments, several.as_bytes());
        let said = stdout(&output) + &stderr(&output);
        assert!(!said.contains("slides"), "{said}");
        assert_ne!(status(&output), 0, "{said}");
    }
}

/// Which of two solutions a loop starts from is decided by the written value, however the loop is written: the limit of the amplifier is
/// consistent, and the capacitor is charged from it.
#[test]
fn written_values_decide_in_all_writings_of_a_loop() {
    let mut random = Random(17);
    let loops = [
        "w = o; k*w - c - v = 0;",
        "v = k*o - c; w = o;",
        "v + c = k*w; w - o = 0;",
        "w = k*o; v/2 = (w - c)/2;",
        "2*w = o; 0 = 2*k*w - c - v;",
    ];
    for case in 0..30 {
        let (gain, limit) = (
            10_f64.powf(random.between(2.5, 5.5)),
            random.between(2.0, 20.0),
        );
        let (k, tau) = (random.between(0.15, 0.7), random.between(0.01, 3.0));
        let amplifier = amplifier(case).replace("vin", "v").replace("vo", "o");
        let feedback = loops[case % loops.len()];
        let charging = "tau*der(c) = o - c;";
        let mut rows = [amplifier.as_str(), feedback, charging];
        rows.rotate_left(case % 3);
        let text = format!(
            "model Loop parameter Real V0 = {gain}, Vs = {limit}, k = {k}, tau = {tau};
             Real c(start = 0, fixed = true), v, w, o(start = {limit}); equation {} end Loop;",
            rows.join(" ")
        );
        let top = k * limit - limit / gain;
        let first = tau * (limit / (limit - top)).ln();
        let end = 0.9 * first;
        let end_text = end.to_string();
        let (code, found) = json_of(&text, &["solve", "-", "--to", &end_text]);
        assert_eq!(code, 0, "{}\n{text}", found["message"]);
        let expected = limit * (1.0 - (-end / tau).exp());
        let c = found["final"]["c"].as_f64().expect("a value");
        assert!(
            (c - expected).abs() <= 1e-5 * limit,
            "{c} {expected}\n{text}"
        );
    }
}

/// A run that starts from another solution than the closest one says so, and starts there if it is asked to.
#[test]
fn a_closer_solution_on_another_branch_is_told() {
    let stairs = |start: &str| {
        format!(
            "model Stairs Real u, y(start = {start}), v, x(start = 0, fixed = true); equation u = time; v = y - u; der(x) = y;
             y = max(-4, min(4, 50*(v - 2))) + max(-4, min(4, 50*v)) + max(-4, min(4, 50*(v + 2))); end Stairs;"
        )
    };
    let (code, found) = json_of(&stairs("4"), &["solve", "-", "--to", "1"]);
    assert_eq!(code, 0, "{}", found["message"]);
    let said = found["warnings"].to_string();
    assert!(said.contains("it has y = 0"), "{said}");
    assert!(!said.contains("the closest consistent values"), "{said}");
    let (_, found) = json_of(&stairs("0"), &["solve", "-", "--to", "0.01"]);
    let x = found["final"]["x"].as_f64().expect("a value");
    assert!(x.abs() < 0.1, "{x}");
}

/// What is 1 where a relation with 0 holds for a number of this sign, else 2.
fn taken(relation: &str, is_positive: bool) -> usize {
    if relation.starts_with('>') == is_positive {
        1
    } else {
        2
    }
}

/// A start on a switch, with relations and limits that follow the unknown it decides: all have the values of later times.
#[test]
fn what_follows_a_switch_at_the_start_has_the_values_of_later_times() {
    let mut random = Random(61);
    for case in 0..150 {
        let rate = random.between(0.3, 2.0) * if random.below(2) == 0 { 1.0 } else { -1.0 };
        let decides = [
            format!("sin({rate}*time)"),
            "x".to_string(),
            format!("{rate}*time + time^2"),
        ];
        let decides = &decides[random.below(3)];
        let relation = [">", ">=", "<", "<="][random.below(4)];
        let [first, second] = [random.between(-3.0, 3.0), random.between(-3.0, 3.0)];
        let mut values = vec![[first, second][taken(relation, rate > 0.0) - 1]];
        let mut equations = vec![
            format!("a0 = if {decides} {relation} 0 then {first} else {second}"),
            format!("der(x) = {rate}"),
        ];
        for at in 1..2 + random.below(3) {
            let from = random.below(at);
            let before = values[from];
            let [first, second] = [random.between(-3.0, 3.0), random.between(-3.0, 3.0)];
            let aside = random.between(0.2, 1.5) * if random.below(2) == 0 { 1.0 } else { -1.0 };
            let border = before + aside;
            let (formula, value) = match random.below(3) {
                0 => {
                    let relation = [">", "<"][random.below(2)];
                    let value = [first, second][taken(relation, aside < 0.0) - 1];
                    let formula = format!(
                        "a{at} = if a{from} {relation} {border} then {first} else {second}"
                    );
                    (formula, value)
                }
                1 => (
                    format!("a{at} = max(a{from}, {border})"),
                    before.max(border),
                ),
                _ => (
                    format!("a{at} = abs(a{from} - {first}) + x"),
                    (before - first).abs(),
                ),
            };
            equations.push(formula);
            values.push(value);
        }
        for at in (1..equations.len()).rev() {
            equations.swap(at, random.below(at + 1));
        }
        let names: Vec<String> = (0..values.len()).map(|at| format!("a{at}")).collect();
        let text = format!(
            "model S Real {}, x(start = 0, fixed = true); equation {}; end S;",
            names.join(", "),
            equations.join("; ")
        );
        let method = METHODS[case % 3];
        let arguments = ["solve", "-", "--to", "1e-7", "--method", method];
        let (code, found) = json_of(&text, &arguments);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        for (name, value) in names.iter().zip(&values) {
            let end = found["final"][name].as_f64().expect("a value");
            assert!(
                (end - value).abs() <= 1e-5,
                "{method}: {name} = {end}, not {value}\n{text}"
            );
        }
    }
}

/// A rate that the daylight switches, `if sin(w*time) > 0 then exp(-c/sin(w*time)) else 0`, from its dawn on and through its nights, in four
/// writings, against sums over its smooth course.
#[test]
fn rates_that_rise_from_an_essential_zero_are_followed_from_there() {
    let mut random = Random(62);
    for case in 0..40 {
        let (w, c) = (
            10_f64.powf(random.between(-4.0, 1.0)),
            10_f64.powf(random.between(-1.0, 1.3)),
        );
        let power = 1 + i32::from(random.below(3) == 0);
        let most = random.between(-1.0, 1.0);
        let end = random.between(0.3, 2.6) * std::f64::consts::PI / w;
        let exponent = |s: &str| match power {
            1 => format!("{most} - {c}/{s}"),
            _ => format!("{most} - {c}/{s}^2"),
        };
        let sine = format!("sin({w}*time)");
        let of_s = format!("if s > 0 then exp({}) else 0", exponent("s"));
        let (names, equations) = match case % 4 {
            0 => (
                "",
                format!("k = if {sine} > 0 then exp({}) else 0", exponent(&sine)),
            ),
            1 => ("Real s;", format!("s = {sine}; k = {of_s}")),
            2 => (
                "Real s;",
                format!(
                    "s = {sine}; k = if s <= 0 then 0 else exp({})",
                    exponent("s")
                ),
            ),
            _ => (
                "Real s(start = 0, fixed = true), q(start = q0, fixed = true);",
                format!("der(s) = q; der(q) = -w^2*s; k = {of_s}"),
            ),
        };
        let text = format!(
            "model D parameter Real w = {w}, q0 = {w}; Real k, y(start = 0, fixed = true); {names}
             equation {equations}; der(y) = w*k; end D;"
        );
        // All derivatives are the same, or zero, at both ends of the light: middles of even parts leave nothing out there.
        let n_parts = 20_000;
        let part = end / f64::from(n_parts);
        let rate = |at: i32| match (w * (f64::from(at) + 0.5) * part).sin() {
            s if s > 0.0 => (most - c / s.powi(power)).exp(),
            _ => 0.0,
        };
        let wanted = w * part * (0..n_parts).map(rate).sum::<f64>();
        let method = METHODS[(case / 4) % 3];
        let to = end.to_string();
        let (code, found) = json_of(&text, &["solve", "-", "--to", &to, "--method", method]);
        assert_eq!(code, 0, "{method}: {}\n{text}", found["message"]);
        let y = found["final"]["y"].as_f64().expect("a value");
        assert!(
            (y - wanted).abs() <= 2e-5 * (1.0 + wanted),
            "{method}: {y}, not {wanted}\n{text}"
        );
    }
}
