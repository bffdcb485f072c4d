//! Values at the very time of a switch or an event, and relations that a motion keeps on their border. At random constants against
//! closed forms.

use crate::common::{Random, daelight_with_input, document};
use serde_json::Value;

pub const METHODS: [&str; 4] = ["auto", "taylor", "radau", "bdf"];

pub fn solve(text: &str, more: &[&str]) -> Value {
    let mut arguments = vec!["solve", "-", "--json"];
    arguments.extend(more);
    let found = document(&daelight_with_input(&arguments, text.as_bytes()));
    assert_eq!(found["reason"], "finished", "{found}\n{text}");
    found
}

/// The last sample at a time.
fn sample(found: &Value, time: f64, name: &str) -> f64 {
    let rows = found["samples"]["time"].as_array().expect("times");
    let at = rows.iter().rposition(|t| t.as_f64() == Some(time));
    let at = at.unwrap_or_else(|| panic!("no sample at {time}: {found}"));
    found["samples"][name][at].as_f64().expect("a value")
}

pub fn last(found: &Value, name: &str) -> f64 {
    found["final"][name].as_f64().expect("a value")
}

/// As written, at the time of the switch itself: at the end of a run, inside it, forwards and backwards, by every method.
#[test]
fn values_at_a_switch_are_those_written() {
    let mut random = Random(71);
    for n in 0..96 {
        let at = (random.between(0.2, 3.0) * 1e3).round() / 1e3;
        let slope = random.between(-2.0, 2.0);
        let factor = [1.0, 2.0, -4.0][random.below(3)];
        let limit = factor * at;
        let (relation, holds) = [("<", false), ("<=", true), (">", false), (">=", true)][n % 4];
        let text = format!(
            "model M\n  Real x(start = {slope}, fixed = true), z, s, u;\nequation\n  der(x) = {slope};\n  \
             z = if {factor}*time {relation} {limit} then x else -x;\n  s = sign(time - {at});\n  u + z = 2*s;\nend M;\n"
        );
        let method = METHODS[random.below(4)];
        let (from, to) = [(0.0, at), (0.0, at + 1.0), (at + 1.0, at), (at + 1.0, 0.0)][(n / 4) % 4];
        let mut times = vec![from, at, to];
        times.dedup();
        let times: Vec<String> = times.iter().map(f64::to_string).collect();
        let [from_text, to_text] = [from, to].map(|t| t.to_string());
        let found = solve(
            &text,
            &[
                "--from",
                &from_text,
                "--to",
                &to_text,
                "--method",
                method,
                "--save-at",
                &times.join(","),
            ],
        );
        let x = sample(&found, at, "x");
        let said = format!("{method} from {from} to {to}: {found}\n{text}");
        let truth = slope + slope * (at - from);
        assert!((x - truth).abs() < 1e-6, "{x} for {truth}: {said}");
        let z = if holds { x } else { -x };
        assert_eq!(sample(&found, at, "z"), z, "{said}");
        assert_eq!(sample(&found, at, "s"), 0.0, "{said}");
        assert_eq!(sample(&found, at, "u"), -z, "{said}");
        let residual = sample(&found, at, "residual_level_0");
        assert!(residual < 1e-12, "{residual}: {said}");
        if to == at {
            assert_eq!(last(&found, "z"), z, "{said}");
        }
    }
}

/// Where an unknown decides, its own number at the end does.
#[test]
fn the_end_at_a_switch_of_an_unknown_agrees_with_its_value() {
    let mut random = Random(72);
    for n in 0..60 {
        let (rate, limit) = (random.between(0.3, 3.0), random.between(0.5, 2.0));
        let text = format!(
            "model M\n  Real x(start = 0, fixed = true), z;\nequation\n  der(x) = {rate};\n  z = if x < {limit} then 1 else 2;\nend M;\n"
        );
        let to = (limit / rate).to_string();
        let found = solve(&text, &["--to", &to, "--method", METHODS[n % 4]]);
        let z = if last(&found, "x") < limit { 1.0 } else { 2.0 };
        assert_eq!(last(&found, "z"), z, "{found}\n{text}");
    }
}

/// What happens at the end is the last row, as at any other time.
#[test]
fn an_event_at_the_end_is_in_the_last_row() {
    let mut random = Random(73);
    for n in 0..60 {
        let period = (1 + random.below(16)) as f64 / 8.0;
        let count = 1 + random.below(5);
        let text = format!(
            "model M\n  Real x(start = 0, fixed = true);\n  Integer n(start = 0, fixed = true);\nequation\n  der(x) = n;\n  \
             when sample(0, {period}) then n = pre(n) + 1; end when;\nend M;\n"
        );
        let to = period * count as f64;
        let to_text = to.to_string();
        let points = (count + 1).to_string();
        let ways: [&[&str]; 2] = [&["--save-at", &to_text], &["--points", &points]];
        let mut arguments = vec!["--to", &to_text, "--method", METHODS[n % 4]];
        arguments.extend(ways[n % 2]);
        let found = solve(&text, &arguments);
        let times = found["samples"]["time"].as_array().expect("times");
        let here = times.iter().filter(|t| t.as_f64() == Some(to)).count();
        assert_eq!(here, 1 + n % 2, "{found}");
        assert_eq!(sample(&found, to, "n"), (count + 1) as f64, "{found}");
        assert_eq!(last(&found, "n"), (count + 1) as f64, "{found}");
        let area = period * (count * (count + 1)) as f64 / 2.0;
        assert!((sample(&found, to, "x") - area).abs() < 1e-6, "{found}");
    }
}

/// x' = -a x(t - T) with x = 1 before: polynomials on each stretch.
#[test]
fn delays_end_at_fine_tolerances() {
    let mut random = Random(74);
    for n in 0..60 {
        let (a, long) = (random.between(0.2, 2.0), random.between(0.1, 1.0));
        let text = format!(
            "model M\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -{a}*delay(x, {long});\nend M;\n"
        );
        let rtol = f64::powi(10.0, -9 - (n as i32) % 4);
        let method = ["bdf", "bdf", "radau", "auto"][n % 4];
        let to = 2.5 * long;
        let (to_text, rtol_text) = (to.to_string(), rtol.to_string());
        let found = solve(
            &text,
            &[
                "--to", &to_text, "--method", method, "--rtol", &rtol_text, "--budget", "20s",
            ],
        );
        // The sum of (-a)^k (t - (k - 1) T)^k/k! while t > (k - 1) T.
        let (mut truth, mut factorial) = (0.0, 1.0);
        for k in 0..=3 {
            factorial *= f64::from(k.max(1));
            let since = to - (f64::from(k) - 1.0) * long;
            truth += (-a).powi(k) * since.powi(k) / factorial;
        }
        let x = last(&found, "x");
        assert!(
            (x - truth).abs() <= 100.0 * rtol + 1e-12,
            "{method} {rtol}: {x} for {truth}\n{text}"
        );
    }
}

/// Out to a circle, then along it, where the relation that led there stays on its border: one event, however small the errors are.
#[test]
fn a_motion_along_the_border_of_its_relation_has_one_event() {
    let mut random = Random(75);
    for n in 0..64 {
        let (radius, speed, w) = (
            random.between(0.5, 2.0),
            random.between(0.5, 2.0),
            random.between(0.5, 3.0),
        );
        let begin = radius * random.between(0.1, 0.9);
        let relation = match random.below(2) {
            0 => format!("x^2 + y^2 >= {radius}^2"),
            _ => format!("{radius} <= sqrt(x^2 + y^2)"),
        };
        let text = format!(
            "model M\n  Real x(start = {begin}, fixed = true), y(start = 0, fixed = true);\n  Integer n(start = 0, fixed = true);\nequation\n  \
             der(x) = if n > 0 then -{w}*y else {speed};\n  der(y) = if n > 0 then {w}*x else 0;\n  \
             when {relation} then n = pre(n) + 1; end when;\nend M;\n"
        );
        let rtol = f64::powi(10.0, -3 - (n as i32 / 4) % 6);
        let arrival = (radius - begin) / speed;
        let to = arrival + 3.0;
        let (to_text, rtol_text) = (to.to_string(), rtol.to_string());
        let method = METHODS[n % 4];
        let found = solve(
            &text,
            &[
                "--to", &to_text, "--method", method, "--rtol", &rtol_text, "--budget", "20s",
            ],
        );
        let said = format!("{method} {rtol}: {found}\n{text}");
        assert_eq!(last(&found, "n"), 1.0, "{said}");
        assert_eq!(found["events"].as_array().map(Vec::len), Some(1), "{said}");
        let truth = radius * f64::cos(3.0 * w);
        assert!(
            (last(&found, "x") - truth).abs() < 100.0 * rtol * radius,
            "{said}"
        );
    }
}

/// The size of an unknown is its nominal value, down to the charge of an electron and up to a star's mass.
#[test]
fn relations_of_unknowns_of_every_size_fire() {
    let mut random = Random(76);
    for n in 0..72 {
        let size = f64::powf(10.0, random.between(-30.0, 30.0));
        let part = random.between(0.2, 0.8);
        let (rate, limit) = (size * random.between(0.9, 1.1), part * size);
        let text = format!(
            "model M\n  Real q(start = 0, fixed = true, nominal = {size:e}), y(start = 0, fixed = true);\n  \
             Integer n(start = 0, fixed = true);\nequation\n  der(q) = {rate:e};\n  der(y) = n;\n  \
             when q > {limit:e} then n = pre(n) + 1; end when;\nend M;\n"
        );
        let rtol = ["1e-2", "1e-3", "1e-4", "1e-8"][n / 4 % 4];
        let found = solve(
            &text,
            &["--to", "1", "--method", METHODS[n % 4], "--rtol", rtol],
        );
        assert_eq!(last(&found, "n"), 1.0, "{found}\n{text}");
        let truth = 1.0 - limit / rate;
        assert!((last(&found, "y") - truth).abs() < 1e-6, "{found}\n{text}");
    }
}

/// A motion that is prescribed, and the force that it takes: as good between the steps of implicit methods as at their ends, with a stiff
/// part beside it and without.
#[test]
fn derivatives_that_are_unknowns_are_right_between_steps() {
    let mut random = Random(77);
    for n in 0..60 {
        let (a, w) = (random.between(0.1, 0.7), random.between(0.5, 4.0));
        let phase = random.between(0.0, 6.0);
        let stiff = match random.below(2) {
            0 => "",
            _ => "  der(q) = -1e4*(q - cos(time));\n",
        };
        let declared = if stiff.is_empty() {
            ""
        } else {
            ", q(start = 1, fixed = true)"
        };
        let text = format!(
            "model M\n  Real x(start = 1), v, F{declared};\nequation\n  x^2 = 1 + {a}*sin({w}*time + {phase});\n  v = der(x);\n  F = der(v);\n\
             {stiff}end M;\n"
        );
        let rtol = f64::powi(10.0, -4 - 2 * (n as i32 % 5));
        let method = ["radau", "bdf", "auto"][n % 3];
        let times: Vec<f64> = (0..20).map(|_| random.between(0.0, 2.0)).collect();
        let mut times: Vec<f64> = times.iter().map(|t| (t * 1e4).round() / 1e4).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let list: Vec<String> = times.iter().map(f64::to_string).collect();
        let rtol_text = rtol.to_string();
        let found = solve(
            &text,
            &[
                "--to",
                "2",
                "--method",
                method,
                "--rtol",
                &rtol_text,
                "--save-at",
                &list.join(","),
            ],
        );
        for &t in &times {
            let (sin, cos) = f64::sin_cos(w * t + phase);
            let (g, g1, g2) = (1.0 + a * sin, a * w * cos, -a * w * w * sin);
            let truth = g2 / (2.0 * g.sqrt()) - g1 * g1 / (4.0 * g.powf(1.5));
            let off = (sample(&found, t, "F") - truth).abs() / (rtol * truth.abs().max(1.0));
            assert!(
                off < 1.0,
                "{method} {rtol}: off by {off} tolerances at {t}\n{text}"
            );
        }
    }
}

/// A rectifier with a coil: the current comes to rest at zero, where its relation is a part of the condition, and goes on when the voltage
/// is positive again.
#[test]
fn a_current_rests_at_zero_until_the_voltage_returns() {
    let mut random = Random(78);
    for n in 0..60 {
        let (a, w, first) = (
            random.between(0.5, 3.0),
            random.between(1.0, 4.0),
            random.between(0.05, 0.5),
        );
        let text = format!(
            "model M\n  Real i(start = {first}, fixed = true), u;\nequation\n  u = {a}*cos({w}*time);\n  \
             der(i) = if i > 0 or u > 0 then u - i else 0;\nend M;\n"
        );
        // i = c exp(-t) + p (cos + w sin), p = a/(1 + w^2), up to its zero, and again from where u returns.
        let p = a / (1.0 + w * w);
        let flow = |t: f64| p * ((w * t).cos() + w * (w * t).sin());
        let to = 5.5 * std::f64::consts::PI / w;
        let mut current = first;
        let mut since = 0.0;
        let mut rises = 1.5 * std::f64::consts::PI / w;
        let truth = loop {
            let c = (current - flow(since)) * f64::exp(since);
            let i = |t: f64| c * f64::exp(-t) + flow(t);
            // The first zero while the voltage is negative, before it returns.
            let (mut low, mut high) = (rises - std::f64::consts::PI / w, rises.min(to));
            if i(high) > 0.0 && rises >= to || rises > to && i(low) <= 0.0 {
                break i(to).max(0.0);
            }
            if i(high) > 0.0 {
                // It flows through; the same formula goes on.
                rises += 2.0 * std::f64::consts::PI / w;
                continue;
            }
            for _ in 0..100 {
                let middle = 0.5 * (low + high);
                if i(middle) > 0.0 {
                    low = middle
                } else {
                    high = middle
                }
            }
            if rises >= to {
                break 0.0;
            }
            (current, since) = (0.0, rises);
            rises += 2.0 * std::f64::consts::PI / w;
        };
        let rtol = ["1e-4", "1e-6", "1e-8", "1e-10"][n / 4 % 4];
        let to_text = to.to_string();
        let found = solve(
            &text,
            &["--to", &to_text, "--method", METHODS[n % 4], "--rtol", rtol],
        );
        let off = (last(&found, "i") - truth).abs();
        let allowed = 200.0 * rtol.parse::<f64>().expect("a number");
        assert!(
            off < allowed,
            "{}: {off}, {truth}: {found}\n{text}",
            METHODS[n % 4]
        );
    }
}

/// Play: the follower stays where it is until the leader has taken up the slack.
#[test]
fn play_is_followed_by_every_method() {
    let mut random = Random(79);
    for n in 0..60 {
        let (amplitude, w) = (random.between(0.5, 2.0), random.between(0.5, 3.0));
        let slack = amplitude * random.between(0.1, 0.8);
        let text = format!(
            "model M\n  Real u, y(start = 0, fixed = true), r;\nequation\n  u = {amplitude}*sin({w}*time);\n  r = {amplitude}*{w}*cos({w}*time);\n  \
             der(y) = if u - y >= {slack} and r > 0 or u - y <= -{slack} and r < 0 then r else 0;\nend M;\n"
        );
        let rtol = ["1e-3", "1e-4", "1e-6", "1e-8"][n / 4 % 4];
        let to = random.between(0.3, 14.0) / w;
        // Turn by turn: at a peak the follower is a slack behind.
        let (mut truth, mut turn) = (0.0f64, std::f64::consts::FRAC_PI_2 / w);
        loop {
            let u = amplitude * f64::sin(w * turn.min(to));
            truth = truth.max(u - slack).min(u + slack);
            if turn >= to {
                break;
            }
            turn += std::f64::consts::PI / w;
        }
        let to_text = to.to_string();
        let found = solve(
            &text,
            &["--to", &to_text, "--method", METHODS[n % 4], "--rtol", rtol],
        );
        let off = (last(&found, "y") - truth).abs();
        let allowed = 300.0 * rtol.parse::<f64>().expect("a number");
        assert!(
            off < allowed,
            "{}: {off}, {truth}: {found}\n{text}",
            METHODS[n % 4]
        );
    }
}

/// A ball that has come to rest on a table: it follows the table as long as that takes a push, falls freely where the table falls faster,
/// leaves it where it is thrown, and is struck again where the table moves at once.
#[test]
fn a_ball_rests_on_its_table_as_long_as_it_is_pushed() {
    let mut random = Random(80);
    for n in 0..80 {
        let (g, e) = (random.between(5.0, 20.0), random.between(0.3, 0.6));
        let first = random.between(0.3, 1.0);
        // The ball rests from sqrt(2 h/g) (1 + e)/(1 - e) on.
        let rests = f64::sqrt(2.0 * first / g) * (1.0 + e) / (1.0 - e);
        let moves = rests + random.between(0.2, 1.0);
        let a = random.between(0.2, 0.9);
        let (c, w) = (random.between(0.5, 2.0), random.between(3.0, 6.0));
        let height = g / (w * w) * random.between(1.2, 3.0);
        let (table, speed, after, truth) = match n % 4 {
            0 => {
                let after = random.between(0.1, 1.0);
                let fall = 0.5 * a * g;
                let table = format!("-{fall}*(time - {moves})^2");
                (table, 0.0, after, -fall * after * after)
            }
            1 => {
                let after = random.between(0.1, 1.0);
                let fall = 0.5 * g / a;
                let table = format!("-{fall}*(time - {moves})^2");
                (table, 0.0, after, -0.5 * g * after * after)
            }
            2 => {
                let leaves = f64::acos(-g / (height * w * w)) / w;
                let s = random.between(0.01, 0.1);
                let table = format!("{height}*(1 - cos({w}*(time - {moves})))");
                let h = height * (1.0 - f64::cos(w * leaves));
                let v = height * w * f64::sin(w * leaves);
                (table, 0.0, leaves + s, h + v * s - 0.5 * g * s * s)
            }
            _ => {
                let s = c * e / g;
                let table = format!("{c}*(time - {moves})");
                (table, c, s, c * (1.0 + e) * s - 0.5 * g * s * s)
            }
        };
        let text = format!(
            "model M\n  Real h(start = {first}, fixed = true), v(start = 0, fixed = true), f, c;\nequation\n  \
             f = if time < {moves} then 0 else {table};\n  c = if time < {moves} then 0 else {speed};\n  der(h) = v;\n  der(v) = -{g};\n  \
             when h < f then reinit(v, c - {e}*(pre(v) - c)); end when;\nend M;\n"
        );
        let to = (moves + after).to_string();
        // The flights of the last bounces are below what `bdf` resolves.
        let method = METHODS[n / 4 % 3];
        let found = solve(
            &text,
            &["--to", &to, "--on-zeno", "rest", "--method", method],
        );
        let off = (last(&found, "h") - truth).abs();
        assert!(off < 1e-5, "{method}: {off}, {truth}: {found}\n{text}");
    }
}

/// Truths and whole numbers that are names for conditions, by binding or by equation, with events and without.
#[test]
fn names_for_conditions_have_their_values() {
    let mut random = Random(29);
    for n in 0..16 {
        let (low, high) = (random.between(0.2, 0.45), random.between(0.55, 0.9));
        let with_event = n % 2 == 1;
        // A discrete variable that looks back makes events of the relations.
        let (declared, rule) = match with_event {
            true => ("Boolean rose;", "rose = below and not pre(below);"),
            false => ("", ""),
        };
        let text = format!(
            "model M Real x(start = 1, fixed = true); Boolean above = x > {high}; Boolean below; Boolean both = above or not below;
             Integer level = if above then 2 elseif below then 0 else 1; {declared}
             equation der(x) = -x; below = x < {low}; {rule} end M;"
        );
        let [first, second] = [high, low].map(|limit: f64| -limit.ln());
        let times = [0.5 * first, 0.5 * (first + second), second + 0.1];
        let list = times.map(|time| time.to_string()).join(",");
        let end = (second + 0.2).to_string();
        let found = solve(&text, &["--to", &end, "--save-at", &list]);
        let truths = [
            [1.0, 0.0, 1.0, 2.0],
            [0.0, 0.0, 1.0, 1.0],
            [0.0, 1.0, 0.0, 0.0],
        ];
        for (time, expected) in times.into_iter().zip(truths) {
            let names = ["above", "below", "both", "level"];
            for (name, expected) in names.into_iter().zip(expected) {
                let value = sample(&found, time, name);
                assert_eq!(value, expected, "{name} at {time}: {text}");
            }
        }
    }
}

/// A counter that ticks every p seconds, d later, through one delay or through a chain of three: z is the integral of the delayed count.
/// The delay is far shorter than the time between ticks, and steps are not as short as it is.
#[test]
fn what_changes_at_events_alone_is_delayed_at_no_cost() {
    let mut random = Random(72);
    for case in 0..24 {
        let (p, d) = (random.between(0.5, 2.0), random.between(1e-4, 0.1));
        let end = random.between(3.0, 12.0);
        let late = match case % 3 {
            0 => format!("y = delay(n, {d})"),
            1 => format!("r = n; y = delay(r, {d})"),
            _ => format!("y = delay(delay(delay(n, {d}/3), {d}/3), {d}/3)"),
        };
        let r = if case % 3 == 1 { ", r" } else { "" };
        let text = format!(
            "model M\n  Real z(start = 0, fixed = true), y{r};\n  discrete Real n(start = 0, fixed = true);\nequation\n  \
             when sample({p}, {p}) then n = pre(n) + 1; end when;\n  {late};\n  der(z) = y;\nend M;\n"
        );
        let method = METHODS[case % 4];
        let found = solve(&text, &["--to", &end.to_string(), "--method", method]);
        let n_ticks = ((end - d) / p).floor().max(0.0);
        // Every tick adds the time since it came.
        let wanted = n_ticks * (end - d) - p * n_ticks * (n_ticks + 1.0) / 2.0;
        let z = last(&found, "z");
        assert!(
            (z - wanted).abs() < 1e-6 * (1.0 + wanted),
            "{z}, not {wanted}\n{text}"
        );
        let n_steps = found["statistics"]["steps"].as_f64().expect("steps");
        assert!(
            n_steps < 160.0 * (n_ticks + 1.0),
            "{n_steps} steps, {method}\n{text}"
        );
    }
}

/// A wheel that turns freely one way and is held the other: it comes to rest at w = 0, stays while it is pushed back, and leaves when the push
/// exceeds a threshold. The sign of w at rest is rounding, and the state machine of the text is that of component libraries.
#[test]
fn freewheels_hold_and_let_go() {
    let mut random = Random(73);
    for case in 0..24 {
        let (a, om, j) = (
            random.between(1.0, 20.0),
            random.between(1.0, 10.0),
            random.between(0.5, 3.0),
        );
        let least = 10f64.powf(random.between(-6.0, -2.0));
        let w = random.between(0.2, 0.9) * 2.0 * a / om;
        let leaves = (std::f64::consts::PI + (least / a).asin()) / om;
        let end = random.between(leaves + 0.05 / om, 2.0 * std::f64::consts::PI / om);
        let text = format!(
            "model Wheel\n  Real w(start = {w}, fixed = true), sa, tau;\n  \
             Boolean forward(start = false, fixed = true), locked(start = false), stuck(start = false, fixed = true);\n\
             equation\n  forward = pre(stuck) and (sa > {} or pre(forward) and sa > 0);\n  \
             locked = pre(stuck) and not forward;\n  der(w) = if locked then 0 else sa;\n  \
             tau = if locked then sa else 0;\n  {j}*der(w) = {}*sin({om}*time) - tau;\n  \
             stuck = locked or w <= 0;\nend Wheel;\n",
            least * j,
            -a * j
        );
        let method = METHODS[case % 4];
        let found = solve(&text, &["--to", &end.to_string(), "--method", method]);
        let wanted = a / om * ((om * end).cos() - (om * leaves).cos());
        let w = last(&found, "w");
        assert!(
            (w - wanted).abs() < 1e-5 * a,
            "{method}: {w}, not {wanted}\n{text}"
        );
    }
}

/// Two events at one time T up to a few roundings, each written in several ways: a state that passes a threshold, and a time or another state that does.
/// They are one instant, so the second reads the first one's new value, and its value before; rows of values are in the order of time.
#[test]
fn events_that_differ_by_rounding_are_one() {
    let mut random = Random(29);
    for n in 0..72 {
        let [t, a] = [random.between(0.1, 3.0), random.between(0.3, 3.0)];
        let x0 = random.between(-1.0, 1.0);
        let roundings = random.below(7) as f64 - 3.0;
        let beside = t + roundings * f64::EPSILON * t;
        let first = match n % 4 {
            0 => format!(
                "Real x(start = {x0}, fixed = true); parameter Real c = {x0} + {a}*{t}; equation der(x) = {a};"
            ),
            1 => format!("Real x; parameter Real c = sin({t}/4); equation x = sin(time/4);"),
            2 => format!(
                "Real x(start = 0, fixed = true), z; parameter Real c = {}; equation z + 0.5*z^3 = {a}*time; der(x) = {a}*z;",
                integral(a * t)
            ),
            _ => format!(
                "Real x(start = 1, fixed = true), y(start = 0, fixed = true); parameter Real c = sin({t}/4); equation der(x) = -y/4; der(y) = x/4;"
            ),
        };
        let first_condition = if n % 4 == 3 { "y >= c" } else { "x >= c" };
        let second = match n / 4 % 6 {
            0 => format!("time > {beside}"),
            1 => format!("3*time >= {}", 3.0 * beside),
            2 => format!("sample({beside}, 100)"),
            3 => format!("time >= {}*3", beside / 3.0),
            4 => format!("w >= {}", 2.0 * beside),
            _ => format!("w^2 > {}^2", 2.0 * beside),
        };
        let count = format!("when {first_condition} then n = pre(n) + 1; end when;");
        let read = format!("when {second} then m = n; q = pre(n); end when;");
        let whens = [format!("{count} {read}"), format!("{read} {count}")];
        let text = format!(
            "model M discrete Integer n(start = 0, fixed = true), m(start = 0, fixed = true), q(start = 7, fixed = true); Real w(start = 0, fixed = true);\n{first}\nder(w) = 2; {}\nend M;",
            whens[n / 24 % 2]
        );
        let to = format!("{}", 1.5 * t);
        let times = format!(
            "{},{},{},{}",
            0.5 * t,
            t.min(beside),
            t.max(beside),
            1.2 * t
        );
        // What radau and bdf integrate is off by more than rounding, unless it is linear in time.
        for method in &METHODS[..if n % 4 < 2 { 4 } else { 2 }] {
            let more = [
                "--to",
                &to,
                "--method",
                method,
                "--save-at",
                &times,
                "--rtol",
                "1e-12",
            ];
            let found = solve(&text, &more);
            let values = ["n", "m", "q"].map(|name| last(&found, name));
            assert_eq!(values, [1.0, 1.0, 0.0], "{roundings} by {method}\n{text}");
            assert_eq!(found["events"].as_array().map(Vec::len), Some(1), "{text}");
            let times = found["samples"]["time"].as_array().expect("times");
            let times: Vec<f64> = times.iter().filter_map(Value::as_f64).collect();
            assert!(times.is_sorted(), "{text}\n{times:?}");
        }
    }
}

/// The integral of a z over time for z + z^3/2 = a t, up to s = a t: of z (1 + 3/2 z^2).
fn integral(s: f64) -> f64 {
    let mut z = s;
    for _ in 0..100 {
        z -= (z + 0.5 * z.powi(3) - s) / (1.0 + 1.5 * z * z);
    }
    z * z / 2.0 + 3.0 / 8.0 * z.powi(4)
}

/// Times that are asked for in any order have their values, in that order: with events as without.
#[test]
fn times_may_be_asked_for_in_any_order() {
    for when in ["", "when sample(0.5, 1) then n = pre(n) + 1; end when;"] {
        let declared = if when.is_empty() {
            ""
        } else {
            "discrete Integer n(start = 0, fixed = true);"
        };
        let text = format!(
            "model M Real x(start = 0, fixed = true); {declared} equation der(x) = 1; {when} end M;"
        );
        let found = solve(&text, &["--to", "4", "--save-at", "3,1.25,2,0.2,3"]);
        let row = |name: &str| {
            let values = found["samples"][name].as_array().expect("values");
            values
                .iter()
                .filter_map(Value::as_f64)
                .collect::<Vec<f64>>()
        };
        assert_eq!(row("time"), [3.0, 1.25, 2.0, 0.2, 3.0], "{found}");
        let off = row("x")
            .into_iter()
            .zip(row("time"))
            .map(|(x, t)| (x - t).abs());
        assert!(off.fold(0.0, f64::max) < 1e-9, "{found}");
    }
}

/// The height of a ball, delayed: it touches zero at each impact, where its pieces are as short as the last digits of the time. No event is added
/// by it, and runs end (they did not).
#[test]
fn the_delayed_height_of_a_ball_is_its_height_earlier() {
    let mut random = Random(37);
    for _ in 0..8 {
        let [h, e] = [random.between(0.5, 3.0), random.between(0.5, 0.9)];
        let [by, g] = [random.between(0.02, 0.6), random.between(5.0, 12.0)];
        let fall = f64::sqrt(2.0 * h / g);
        let (mut impacts, mut speeds) = (vec![fall], vec![e * g * fall]);
        for _ in 0..3 {
            impacts.push(impacts[impacts.len() - 1] + 2.0 * speeds[speeds.len() - 1] / g);
            speeds.push(e * speeds[speeds.len() - 1]);
        }
        let height = |t: f64| match impacts.iter().rposition(|impact| *impact <= t) {
            None => h - 0.5 * g * t.max(0.0).powi(2),
            Some(last) => (speeds[last] - 0.5 * g * (t - impacts[last])) * (t - impacts[last]),
        };
        let to = impacts[3] - 0.1 * speeds[2] / g;
        let text = format!(
            "model M Real x(start = {h}, fixed = true), v(start = 0, fixed = true), d; equation der(x) = v; der(v) = -{g}; d = delay(x, {by});\n\
             when x <= 0 then reinit(v, -{e}*pre(v)); end when; end M;"
        );
        for method in METHODS {
            let found = solve(&text, &["--to", &to.to_string(), "--method", method]);
            assert_eq!(
                found["events"].as_array().map(Vec::len),
                Some(3),
                "{method}\n{text}"
            );
            let off = last(&found, "d") - height(to - by);
            assert!(off.abs() < 1e-6, "{off} by {method}\n{text}");
        }
    }
}
