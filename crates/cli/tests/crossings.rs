//! Relations that are crossed, left and rested on: small thresholds of forced quantities, a mass that sticks to a belt and slips, an
//! integrator with limits. At random constants against closed forms.

use crate::common::{Random, daelight_with_input, document};
use serde_json::Value;
use std::f64::consts::PI;

fn solve(text: &str, to: f64, more: &[&str]) -> Value {
    let to = to.to_string();
    let mut arguments = vec!["solve", "-", "--json", "--to", &to];
    arguments.extend(more);
    let found = document(&daelight_with_input(&arguments, text.as_bytes()));
    assert_eq!(found["reason"], "finished", "{found}\n{text}");
    found
}

fn event_times(found: &Value) -> Vec<f64> {
    let events = found["events"].as_array().expect("events");
    let times = events.iter().map(|event| event["time"].as_f64());
    times.map(|time| time.expect("a time")).collect()
}

fn assert_times(found: &Value, truth: &[f64], within: f64, text: &str) {
    let times = event_times(found);
    assert_eq!(times.len(), truth.len(), "{times:?} for {truth:?}\n{text}");
    for (time, truth) in times.iter().zip(truth) {
        assert!((time - truth).abs() < within, "{time} for {truth}\n{text}");
    }
}

/// A force that a sine drives crosses a threshold that is small beside it: its rounding is that of the sine's argument.
#[test]
fn crossings_of_a_small_threshold_are_counted_once() {
    let mut random = Random(23);
    for _ in 0..16 {
        let [force, f] = [random.between(1.0, 20.0), random.between(1.0, 5.0)];
        let [j1, j2] = [0; 2].map(|_| random.between(0.2, 5.0));
        let small = f64::powf(10.0, random.between(-6.0, -2.0));
        let threshold = if random.below(2) == 0 { small } else { -small };
        let w = 2.0 * PI * f;
        let text = format!(
            "model M\n  Real w1(start = 0, fixed = true), w2(start = 0, fixed = true), F, T;\n  Boolean b(start = false);\n  \
             discrete Integer n(start = 0, fixed = true);\nequation\n  T = {force}*sin({w}*time);\n  {j1}*der(w1) = T - F;\n  \
             {j2}*der(w2) = F;\n  der(w1) - der(w2) = 2*F;\n  b = F > {threshold};\n  when change(b) then n = pre(n) + 1; end when;\nend M;\n"
        );
        let amplitude = force / j1 / (2.0 + 1.0 / j1 + 1.0 / j2);
        let phase = f64::asin(threshold / amplitude);
        let to = 6.1 / f;
        let rounds = (-1..8).map(|n| 2.0 * PI * f64::from(n));
        let times = rounds.flat_map(|turns| [(turns + phase) / w, (turns + PI - phase) / w]);
        let truth: Vec<f64> = times.filter(|t| *t > 0.0 && *t < to).collect();
        let found = solve(&text, to, &[]);
        assert_times(&found, &truth, 1e-12, &text);
        assert_eq!(found["final"]["n"].as_f64(), Some(truth.len() as f64));
    }
}

/// The relation that ends the slip is on its border while the mass sticks; where it begins to slip again, the mass falls behind the
/// belt, whatever the relation was when it was last crossed.
#[test]
fn a_mass_on_a_belt_sticks_and_slips_for_ever() {
    let mut random = Random(4);
    for _ in 0..4 {
        let [m, c] = [random.between(0.5, 2.0), random.between(5.0, 50.0)];
        let [belt, slipping] = [random.between(0.05, 0.3), random.between(0.3, 1.0)];
        let sticking = slipping * random.between(1.2, 2.0);
        let text = format!(
            "model M\n  Real x(start = 0, fixed = true), v(start = {belt}), F;\n  Boolean stick(start = true, fixed = true);\nequation\n  \
             der(x) = v;\n  {m}*der(v) = F - {c}*x;\n  when pre(stick) and F >= {sticking} then\n    stick = false;\n  \
             elsewhen (not pre(stick)) and v > {belt} then\n    stick = true;\n  end when;\n  \
             if stick then v = {belt}; else F = {slipping}; end if;\nend M;\n"
        );
        // Slip: x = e + a cos(w t) + b sin(w t), until v is that of the belt again.
        let w = f64::sqrt(c / m);
        let (a, b) = ((sticking - slipping) / c, belt / w);
        let slip = (2.0 * PI - 2.0 * f64::atan2(a, b)) / w;
        let end = slipping / c + a * f64::cos(w * slip) + b * f64::sin(w * slip);
        let period = slip + (sticking / c - end) / belt;
        let first = sticking / c / belt;
        let starts = (0..8).map(|n| first + f64::from(n) * period);
        let truth: Vec<f64> = starts.flat_map(|t| [t, t + slip]).collect();
        let found = solve(&text, truth[15] + 1e-3, &[]);
        assert_times(&found, &truth, 1e-9, &text);
    }
}

/// der(y) = if y > limit and u > 0 then 0 else u: at its limit y rests with the rate of the side beyond.
#[test]
fn an_integrator_rests_at_its_limits() {
    let mut random = Random(31);
    for case in 0..12 {
        let [a, f] = [random.between(0.5, 3.0), random.between(0.5, 3.0)];
        let mean = random.between(-0.4, 0.4);
        let [high, low] = [0; 2].map(|_| random.between(0.1, 0.6));
        let no_event = ["", "noEvent"][case % 2];
        let (w, to) = (2.0 * PI * f, 2.45 / f);
        let text = format!(
            "model L\n  Real y(start = 0, fixed = true), u;\nequation\n  u = {a}*sin({w}*time) + {mean};\n  \
             der(y) = if {no_event}(y > {high} and 3*u > 0 or y < -{low} and 3*u < 0) then 0 else 3*u;\nend L;\n"
        );
        // Between the zeros of u the integral is monotonic, and cut off at the limit ahead.
        let phase = f64::asin(-mean / a);
        let rounds = (-1..5).map(|n| 2.0 * PI * f64::from(n));
        let zeros = rounds.flat_map(|turns| [(turns + phase) / w, (turns + PI - phase) / w]);
        let mut times: Vec<f64> = zeros.filter(|t| *t > 0.0 && *t < to).collect();
        times.push(to);
        let integral = |t: f64| 3.0 * (mean * t - a / w * f64::cos(w * t));
        let (mut y, mut from) = (0.0f64, 0.0);
        for t in times {
            y = (y + integral(t) - integral(from)).clamp(-low, high);
            from = t;
        }
        for method in ["auto", "radau"] {
            let found = solve(&text, to, &["--method", method]);
            let last = found["final"]["y"].as_f64().expect("a value at the end");
            assert!(
                (last - y).abs() < 1e-6,
                "{method}: {last} for {y}\n{text}\n{found}"
            );
        }
    }
}

/// Two inertias that lock, and one that is held: each integral of torque times speed takes the kinetic energy that the impulse gives
/// or takes, whatever its course.
#[test]
fn the_work_of_an_impulse_is_the_kinetic_energy() {
    let mut random = Random(17);
    for case in 0..8 {
        let [j1, j2] = [0; 2].map(|_| random.between(0.1, 10.0));
        let [w1, w2] = [0; 2].map(|_| random.between(-9.0, 9.0));
        let at = random.between(0.2, 0.8);
        let (lock, behind) = match case % 2 {
            0 => ("w1 = w2", (j1 * w1 + j2 * w2) / (j1 + j2)),
            _ => ("w1 = 0", 0.0),
        };
        let other = if case % 2 == 0 { "T" } else { "0" };
        let text = format!(
            "model C\n  Real w1(start = {w1}, fixed = true), w2(start = {w2}, fixed = true), T;\n  \
             Real A(start = 0, fixed = true), B(start = 0, fixed = true), I(start = 0, fixed = true);\n  \
             Boolean locked(start = false, fixed = true);\nequation\n  {j1}*der(w1) = -T;\n  {j2}*der(w2) = {other};\n  \
             der(A) = T*w1;\n  2*der(B) = {other}*w2;\n  der(I) = T;\n  when time >= {at} then locked = true; end when;\n  \
             if locked then {lock}; else T = 0; end if;\nend C;\n"
        );
        let found = solve(&text, 1.0, &[]);
        let second = if case % 2 == 0 { behind } else { w2 };
        let truths = [
            ("A", 0.5 * j1 * (w1 * w1 - behind * behind)),
            ("B", 0.25 * j2 * (second * second - w2 * w2)),
            ("I", j1 * (w1 - behind)),
            ("w1", behind),
        ];
        for (name, truth) in truths {
            let last = found["final"][name].as_f64().expect("a value at the end");
            assert!(
                (last - truth).abs() < 1e-6 * (1.0 + truth.abs()),
                "{name} = {last} for {truth}\n{text}"
            );
        }
    }
}

/// The same by names for products, and sums of them: P = T w1 has the impulse T (w1 before + w1 behind)/2, whichever way it is written, and nothing is warned
/// of. A product of P is named, as is the square of an impulse, which has none.
#[test]
fn names_for_products_have_their_impulses() {
    let mut random = Random(23);
    for case in 0..12 {
        let [j1, j2] = [0; 2].map(|_| random.between(0.1, 10.0));
        let [w1, w2] = [0; 2].map(|_| random.between(-9.0, 9.0));
        let at = random.between(0.2, 0.8);
        let (lock, behind) = match case % 2 {
            0 => ("w1 = w2", (j1 * w1 + j2 * w2) / (j1 + j2)),
            _ => ("w1 = 0", 0.0),
        };
        let other = if case % 2 == 0 { "T" } else { "0" };
        let more = ["", "U = P*w1;", "U = T^2;"][case / 2 % 3];
        let declared = if more.is_empty() { "" } else { "Real U;" };
        let names = [
            "P = T*w1; S = P + 2*T; der(W) = S;",
            "der(W) = S; S - 2*T = P; T*w1 - P = 0;",
        ];
        let text = format!(
            "model C\n  Real w1(start = {w1}, fixed = true), w2(start = {w2}, fixed = true), T, P, S, W(start = 0, fixed = true); {declared}\n  \
             equation\n  {j1}*der(w1) = -T;\n  {j2}*der(w2) = {other};\n  {} {more}\n  if time >= {at} then {lock}; else T = 0; end if;\nend C;\n",
            names[case / 6]
        );
        let found = solve(&text, 1.0, &[]);
        let pull = j1 * (w1 - behind);
        let work = 0.5 * j1 * (w1 * w1 - behind * behind);
        let impulses = &found["events"][0]["impulses"];
        for (name, truth) in [("T", pull), ("P", work), ("S", work + 2.0 * pull)] {
            let told = impulses[name].as_f64().unwrap_or(f64::NAN);
            assert!(
                (told - truth).abs() < 1e-5 * (1.0 + truth.abs()),
                "{name} = {told} for {truth}\n{text}\n{found}"
            );
        }
        let integral = found["final"]["W"].as_f64().unwrap_or(f64::NAN);
        assert!(
            (integral - work - 2.0 * pull).abs() < 1e-5 * (1.0 + work.abs()),
            "{text}"
        );
        let told = found["warnings"].to_string();
        let wanted = ["", "`U = P*w1`", "`U` grows beyond all bounds"][case / 2 % 3];
        assert_eq!(told.contains("impulse"), !more.is_empty(), "{told}");
        assert!(
            told.contains(wanted) && impulses["U"].is_null() != (case / 2 % 3 == 1),
            "{found}"
        );
    }
}

/// What an impulse adds to an integral that the run does not follow is told.
#[test]
fn work_that_is_left_out_is_told() {
    let text = "model P\n  Real x, v, F, W(start = 0, fixed = true), I(start = 0, fixed = true);\nequation\n  \
                x = max(0, time - 1);\n  v = der(x);\n  F = 2*der(v);\n  der(W) = F*v;\n  der(I) = F;\nend P;\n";
    let found = solve(text, 2.0, &[]);
    let told = found["warnings"].to_string();
    assert!(told.contains("what it adds to `W` is left out"), "{found}");
    assert!(!told.contains("to `I` is left out"), "{found}");
}

/// Behind an impact the first steps of `bdf` at fine tolerances are as short as the last digits of the time: they were a tenth longer or
/// shorter than the time that passed, and a ball was 0.1 off at 1e-13.
#[test]
fn balls_bounce_at_the_finest_tolerances() {
    let mut random = Random(31);
    for _ in 0..6 {
        let [g, h, e] = [(2.0, 15.0), (0.3, 3.0), (0.5, 0.9)].map(|(a, b)| random.between(a, b));
        let fall = f64::sqrt(2.0 * h / g);
        let mut impacts = vec![fall];
        let mut speed = g * fall;
        for _ in 0..3 {
            speed *= e;
            impacts.push(impacts[impacts.len() - 1] + 2.0 * speed / g);
        }
        let rest = 0.6 * e * speed / g;
        let to = impacts[3] + rest;
        let height = rest * (e * speed - 0.5 * g * rest);
        let text = format!(
            "model Ball\n  Real h(start = {h}, fixed = true), v(start = 0, fixed = true);\nequation\n  der(h) = v;\n  der(v) = -{g};\n  \
             when h < 0 then reinit(v, -{e}*pre(v)); end when;\nend Ball;\n"
        );
        for method in ["taylor", "radau", "bdf"] {
            for rtol in ["1e-9", "1e-11", "1e-13"] {
                let found = solve(&text, to, &["--method", method, "--rtol", rtol]);
                // Impacts are 100 tolerances off at most, times what speeds make of them, or the rounding of the time.
                let within = 1e3 * rtol.parse::<f64>().expect("a number").max(1e-13);
                assert_times(&found, &impacts, within, &text);
                let off = (found["final"]["h"].as_f64().expect("a height") - height).abs();
                assert!(off < 20.0 * within, "{method} {rtol}: {off}\n{text}");
            }
        }
    }
}

/// A square wave of time that drives a second relation, at coarse tolerances: the relation jumps with the wave. It was said to chatter.
#[test]
fn relations_of_what_jumps_follow_at_once() {
    let mut random = Random(37);
    for _ in 0..6 {
        let [w, edge, to, phase] =
            [(2.0, 12.0), (-0.8, 0.8), (2.0, 5.0), (0.2, 3.0)].map(|(a, b)| random.between(a, b));
        let [high, low] = [0; 2].map(|_| random.between(-5.0, 5.0));
        let text = format!(
            "model M\n  Real a, b, x(start = 0, fixed = true);\nequation\n  a = if sin({w}*time + {phase}) > 0 then 1 else -1;\n  \
             b = if a > {edge} then {high} else {low};\n  der(x) = b;\nend M;\n"
        );
        // Between the switches at (k PI - phase)/w, the first half-wave is high.
        let switch = |k: i32| ((f64::from(k) * PI - phase) / w).clamp(0.0, to);
        let half_waves = (0..40).map(|k| {
            let rate = if k % 2 == 0 { high } else { low };
            rate * (switch(k + 1) - switch(k))
        });
        let truth: f64 = half_waves.sum();
        for method in ["taylor", "radau", "bdf"] {
            for rtol in ["1e-3", "1e-4", "1e-6"] {
                let found = solve(&text, to, &["--method", method, "--rtol", rtol]);
                let x = found["final"]["x"].as_f64().expect("a value");
                let within = 100.0 * rtol.parse::<f64>().expect("a number");
                assert!(
                    (x - truth).abs() < within,
                    "{method} {rtol}: {x} for {truth}\n{text}"
                );
            }
        }
    }
}

/// What jumps by little beside its size, rests just above a relation, or is true for an instant only: a tolerance has no say in that.
/// They were passed over without a word by the default method.
#[test]
fn small_jumps_near_rests_and_short_flashes_count() {
    let mut random = Random(41);
    for _ in 0..6 {
        let [at, to] = [(0.2, 0.8), (1.5, 3.0)].map(|(a, b)| random.between(a, b));
        let code = 10 + random.below(5000);
        let size = f64::powf(10.0, random.between(0.0, 9.0));
        let part = f64::powf(10.0, random.between(-9.0, -8.0));
        let (above, limit) = (size * (1.0 + part), size * (1.0 + 0.5 * part));
        let flash = f64::powf(10.0, random.between(-9.9, -7.0));
        let height = 1.0 / flash;
        let next = code + 1;
        let models = [
            // An integer, and a number that jumps by a part of 1e-8.
            (
                format!(
                    "s = if x > {at} then {next} else {code}; der(y) = if s == {code} then 1 else 0;"
                ),
                ("Integer s", at),
            ),
            (
                format!(
                    "s = if x > {at} then {above:?} else {size:?}; der(y) = if s > {limit:?} then 1 else 0;"
                ),
                ("Real s", to - at),
            ),
            // A constant just above what it is compared with.
            (
                format!("der(s) = 0; der(y) = if s > {size:?} then 1 else -1;"),
                (
                    &*format!("Real s(start = {above:?}, fixed = true, nominal = {size:?})"),
                    to,
                ),
            ),
            // A flash of area 1.
            (
                format!(
                    "s = 0; der(y) = if time > {at} and time < {:?} then {height:?} else 0;",
                    at + flash
                ),
                ("Real s", height * (at + flash - at)),
            ),
        ];
        for (equations, (declared, truth)) in models {
            let text = format!(
                "model M\n  Real x(start = 0, fixed = true), y(start = 0, fixed = true);\n  {declared};\nequation\n  der(x) = 1;\n  \
                 {equations}\nend M;\n"
            );
            for method in ["taylor", "radau", "bdf"] {
                for rtol in ["1e-2", "1e-3", "1e-6", "1e-8"] {
                    let found = solve(&text, to, &["--method", method, "--rtol", rtol]);
                    let y = found["final"]["y"].as_f64().expect("a value");
                    let within = 10.0 * rtol.parse::<f64>().expect("a number") + 1e-5;
                    assert!(
                        (y - truth).abs() < within,
                        "{method} {rtol}: {y} for {truth}\n{text}"
                    );
                }
            }
        }
    }
}

/// A ball at rest is left behind by a floor that moves away at once, and stays on one that does not.
#[test]
fn a_rest_ends_where_the_floor_leaves() {
    for (slope, truth) in [(-0.5, -0.0125), (0.0, 0.0)] {
        let text = format!(
            "model Z\n  Real h(start = 1, fixed = true), v(start = 0, fixed = true), f;\nequation\n  f = if time < 4 then 0 else {slope}*(time - 4);\n  \
             der(h) = v;\n  der(v) = -10;\n  when h < f then reinit(v, -0.5*pre(v)); end when;\nend Z;\n"
        );
        let found = solve(&text, 4.05, &["--on-zeno", "rest"]);
        let h = found["final"]["h"].as_f64().expect("a height");
        assert!((h - truth).abs() < 1e-8, "{h} for {truth}: {found}");
    }
}

/// A pulse has its area in seconds, in picoseconds and in years: the unit of time is no size of its own.
#[test]
fn pulses_have_their_area_in_every_unit_of_time() {
    let mut random = Random(29);
    for unit in [1e-15, 1e-12, 1e-9, 1e-6, 1.0, 1e6, 1e9] {
        let [from, long] = [random.between(1.0, 6.0), random.between(1e-4, 2.0)];
        let [a, b] = [from * unit, (from + long) * unit];
        let text = format!(
            "model M\n  Real y(start = 0, fixed = true);\nequation\n  der(y) = if time > {a:e} and time < {b:e} then {:e} else 0;\nend M;\n",
            1.0 / unit
        );
        for method in ["auto", "taylor", "radau", "bdf"] {
            let found = solve(&text, 10.0 * unit, &["--method", method]);
            let y = found["final"]["y"].as_f64().expect("a value");
            assert!(
                (y - long).abs() < 1e-7,
                "{y} for {long} by {method}\n{text}"
            );
        }
    }
}

/// Two inertias with a friction clutch written as a machine of modes, as the Standard Library does: it closes at t0 with the torque c, both are at one speed
/// after J1 J2/(J1 + J2) |w1 - w2|/(c - s T J2/(J1 + J2)) and turn together from there. The path parameter `sa` of sliding says nothing of the locked clutch: each round
/// asks its relations where the equations with the new modes hold.
#[test]
fn friction_clutches_lock_where_their_speeds_meet() {
    let mut random = Random(41);
    for case in 0..24 {
        let [j1, j2] = [0; 2].map(|_| 10f64.powf(random.between(-1.5, 0.7)));
        let [w1, w2] = [0; 2].map(|_| random.between(-8.0, 8.0));
        let (t0, drive) = (random.between(0.1, 0.5), random.between(-1.0, 1.0));
        let (c, peak) = (
            random.between(1.5, 8.0),
            [1.0, random.between(1.0, 1.3)][case % 2],
        );
        let free = if case % 3 == 0 {
            "time < t0"
        } else {
            "fn <= 0"
        };
        let text = format!(
            "model C\n  parameter Real J1 = {j1}, J2 = {j2}, t0 = {t0}, T = {drive};\n  \
             Real w1(start = {w1}, fixed = true), w2(start = {w2}, fixed = true), tau, fn, most, wr, a, sa;\n  \
             Boolean free, forward(start = false, fixed = true), backward(start = false, fixed = true), locked(start = false);\n  \
             Integer mode(start = 3, fixed = true);\nequation\n  \
             J1*der(w1) = T - tau; J2*der(w2) = tau; wr = w1 - w2; a = der(wr);\n  \
             fn = if time < t0 then 0 else {c}; free = {free}; most = {peak}*fn;\n  \
             forward = pre(mode) == 0 and (sa > most or pre(forward) and sa > fn) or initial() and wr > 0;\n  \
             backward = pre(mode) == 0 and (sa < -most or pre(backward) and sa < -fn) or initial() and wr < 0;\n  \
             locked = not free and not (pre(mode) == 1 or forward or pre(mode) == -1 or backward);\n  \
             a = if locked then 0 else if free then sa else if forward then sa - most else if backward then sa + most\n    \
             else if pre(mode) == 1 then sa - most else if pre(mode) == -1 then sa + most else sa - sign(wr)*most;\n  \
             tau = if locked then sa else if free then 0 else if forward then fn else if backward then -fn\n    \
             else if pre(mode) == 1 then fn else if pre(mode) == -1 then -fn else sign(wr)*fn;\n  \
             mode = if free then 2 else if (pre(mode) == 1 or pre(mode) == 2 or forward) and wr > 0 then 1\n    \
             else if (pre(mode) == -1 or pre(mode) == 2 or backward) and wr < 0 then -1 else 0;\nend C;\n"
        );
        let before = [w1 + drive * t0 / j1, w2];
        let apart = before[0] - before[1];
        // Towards each other with (c - s T J2/(J1 + J2)) (J1 + J2)/(J1 J2), above zero since the torque of the locked clutch is below c.
        let closing = (c - apart.signum() * drive * j2 / (j1 + j2)) * (j1 + j2) / (j1 * j2);
        let locks = t0 + apart.abs() / closing;
        let to = locks + 0.7;
        let speed = (j1 * before[0] + j2 * before[1] + drive * (to - t0)) / (j1 + j2);
        let found = solve(&text, to, &[]);
        let value = |name: &str| found["final"][name].as_f64().unwrap_or(f64::NAN);
        for (name, truth) in [
            ("w1", speed),
            ("w2", speed),
            ("sa", drive * j2 / (j1 + j2)),
            ("mode", 0.0),
        ] {
            assert!(
                (value(name) - truth).abs() < 1e-6 * (1.0 + truth.abs()),
                "{name} = {} for {truth}\n{text}",
                value(name)
            );
        }
        let times = found["events"]
            .as_array()
            .expect("events")
            .iter()
            .filter_map(|e| e["time"].as_f64());
        assert!(
            times.into_iter().any(|t| (t - locks).abs() < 1e-8),
            "{locks}\n{text}\n{found}"
        );
    }
}

/// Two flows meet and their mixture goes on; where one of them turns round, its part is held at 1e-10, and the mixture's denominator points at
/// a pole 2e-10 behind that kink, which is none. The truth is Simpson's rule on the flows as they are.
#[test]
fn flows_that_turn_round_in_a_mixture_are_no_poles() {
    let mut random = Random(24);
    for _ in 0..6 {
        let k = [0; 3].map(|_| random.between(0.5e-5, 2e-5));
        let p = [random.between(1.8e5, 2.2e5), random.between(1.3e5, 1.6e5)];
        let [mean, swing] = [random.between(1.5e5, 1.7e5), random.between(0.8e5, 1.2e5)];
        let w = random.between(0.8, 1.5);
        let [a, b, back] = [1e5, 2e5, 5e5];
        let carried = |t: f64| {
            let behind = mean + swing * (w * t).sin();
            let sum: f64 = k.iter().sum();
            let joint = (k[0] * p[0] + k[1] * p[1] + k[2] * behind) / sum;
            let [first, second] = [0, 1].map(|i| (k[i] * (p[i] - joint)).max(1e-10));
            let flow = k[2] * (joint - behind);
            let mixed = (first * a + second * b) / (first + second);
            1e-5 * flow * if flow > 0.0 { mixed } else { back }
        };
        let n = 60_000;
        let h = 6.0 / f64::from(n);
        let piece = |i: i32| {
            let t = h * f64::from(i);
            h / 6.0 * (carried(t) + 4.0 * carried(t + 0.5 * h) + carried(t + h))
        };
        let truth: f64 = (0..n).map(piece).sum();
        let text = format!(
            "model M\n  Real p3, pj, m1, m2, m3, hm, H(start = 0, fixed = true);\nequation\n  p3 = {mean} + {swing}*sin({w}*time);\n  \
             m1 = {}*({} - pj);\n  m2 = {}*({} - pj);\n  m3 = {}*(pj - p3);\n  m1 + m2 = m3;\n  \
             hm = (max(m1, 1e-10)*{a} + max(m2, 1e-10)*{b})/(max(m1, 1e-10) + max(m2, 1e-10));\n  \
             der(H) = 1e-5*(if m3 > 0 then m3*hm else m3*{back});\nend M;\n",
            k[0], p[0], k[1], p[1], k[2]
        );
        for method in ["auto", "taylor", "radau", "bdf"] {
            let found = solve(&text, 6.0, &["--method", method]);
            let end = found["final"]["H"].as_f64().expect("a value");
            assert!(
                (end - truth).abs() < 3e-6,
                "{method}: {end} for {truth}\n{text}"
            );
            let warnings = found["warnings"].to_string();
            assert!(!warnings.contains("lies ahead"), "{warnings}\n{text}");
        }
    }
}
