//! Models that switch, written as a Modelica text would be (`tests/hybrid`), at random constants against closed forms and
//! solutions computed here by other means.

use daelight::hybrid::{Event, HybridEnd, HybridSolution, solve_hybrid};
use daelight::{SolveOptions, system};
use daelight_lang::{Model, Options, load};
use std::f64::consts::{PI, TAU};
use std::path::Path;

struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (high - low) * (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Found {
    model: Model,
    solution: HybridSolution,
}

/// Runs a text of the folder with these values of its parameters.
fn run(name: &str, set: &[(&str, f64)], to: f64) -> Found {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hybrid/{name}.mo"));
    let text = std::fs::read(path).expect("a text");
    let options = Options {
        set: set
            .iter()
            .map(|(p, value)| format!("{p}={value}"))
            .collect(),
        ..Options::default()
    };
    let loaded = load(name, &text, &options);
    let problems: Vec<_> = loaded.diagnostics.iter().map(|d| &d.message).collect();
    let model = loaded
        .model
        .unwrap_or_else(|| panic!("{name}: {problems:?}"));
    let options = SolveOptions {
        to: Some(to),
        rtol: Some(1e-12),
        ..SolveOptions::default()
    };
    let system = system(&model).expect("its equations can be evaluated");
    let solution = solve_hybrid(&model, &system, &options);
    let solution = solution.unwrap_or_else(|_| panic!("{name} has no run"));
    Found { model, solution }
}

impl Found {
    fn finished(self) -> Self {
        let (name, reached) = (&self.model.name, self.solution.reached);
        let is_finished = matches!(self.solution.end, HybridEnd::Finished);
        assert!(is_finished, "{name} ended at {reached}");
        self
    }

    fn last(&self, name: &str) -> f64 {
        let unknown = self.model.unknowns.iter().position(|u| u.name == name);
        if let Some(at) = unknown {
            return self.solution.last[at];
        }
        let hybrid = self.model.hybrid.as_ref().expect("it has events");
        let variable = hybrid.variables.iter().find(|v| v.name == name);
        self.solution.parameters[variable.expect("it is declared").parameter]
    }

    /// Events at which a quantity changes.
    fn changes_of(&self, name: &str) -> Vec<Event> {
        let events = self.solution.events.iter();
        let changes = |event: &Event| event.changed.iter().any(|change| &*change.name == name);
        events.filter(changes).collect()
    }

    /// Checks when a quantity changes.
    fn changes_at(&self, name: &str, wanted: &[f64], tolerance: f64) {
        let found: Vec<f64> = self.changes_of(name).iter().map(|e| e.time).collect();
        assert_eq!(found.len(), wanted.len(), "{found:?} instead of {wanted:?}");
        for (found, wanted) in found.iter().zip(wanted) {
            close(*found, *wanted, tolerance);
        }
    }

    fn modes(&self) -> Vec<(Option<usize>, Option<u64>)> {
        let modes = self.solution.modes.iter();
        modes.map(|mode| (mode.index, mode.dof)).collect()
    }
}

fn close(found: f64, wanted: f64, tolerance: f64) {
    let error = (found - wanted).abs();
    assert!(
        error <= tolerance * wanted.abs().max(1.0),
        "{found} instead of {wanted}"
    );
}

/// Where a function becomes positive, by halving.
fn zero(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    assert!(f(low) <= 0.0 && f(high) >= 0.0, "{} {}", f(low), f(high));
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if f(middle) <= 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// An integral by Gauss's rule of three points on many parts.
fn integral(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let n = 2000;
    let h = (high - low) / f64::from(n);
    let part = |k: i32| {
        let middle = low + (f64::from(k) + 0.5) * h;
        let d = 0.5 * h * 0.6f64.sqrt();
        h / 18.0 * (5.0 * f(middle - d) + 8.0 * f(middle) + 5.0 * f(middle + d))
    };
    (0..n).map(part).sum()
}

/// The classical method of order 4 with small steps.
fn flow<const N: usize>(
    f: impl Fn([f64; N]) -> [f64; N],
    mut x: [f64; N],
    t: f64,
    n: u32,
) -> [f64; N] {
    let h = t / f64::from(n);
    let add = |x: [f64; N], k: [f64; N], h: f64| std::array::from_fn(|i| x[i] + h * k[i]);
    for _ in 0..n {
        let a = f(x);
        let b = f(add(x, a, h / 2.0));
        let c = f(add(x, b, h / 2.0));
        let d = f(add(x, c, h));
        x = std::array::from_fn(|i| x[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]));
    }
    x
}

/// While it is taut the energy tells its speed, in between it flies on a parabola, and the pull takes the speed along the string.
#[test]
fn a_string_pendulum_slackens_and_is_pulled() {
    let mut random = Random(0x5eed_0001);
    for _ in 0..6 {
        let (g, l, m) = (9.81, random.between(0.7, 1.4), random.between(0.5, 3.0));
        let v0: f64 = 5.5;
        // It slackens above the middle and below the top: 2 g L < v0^2 < 5 g L.
        if !(2.2 * g * l..4.8 * g * l).contains(&(v0 * v0)) {
            continue;
        }
        let set = [("L", l), ("m", m)];
        let angle = ((2.0 * g * l - v0 * v0) / (3.0 * g * l)).acos();
        let speed = |a: f64| (v0 * v0 - 2.0 * g * l * (1.0 - a.cos())).sqrt();
        let slack = integral(0.0, angle, |a| l / speed(a));
        let (x, y) = (l * angle.sin(), -l * angle.cos());
        let (vx, vy) = (speed(angle) * angle.cos(), speed(angle) * angle.sin());
        // |p + v t + a t^2/2|^2 = L^2 with v p = 0 and v^2 + a p = 0.
        let flight = 4.0 * vy / g;
        let taut = slack + flight;
        let (px, py) = (x + vx * flight, y + vy * flight - g * flight * flight / 2.0);
        close(px * px + py * py, l * l, 1e-9);
        let along = (vx * px + (vy - g * flight) * py) / l;
        let found = run("string_pendulum", &set, taut + 0.01).finished();
        found.changes_at("taut", &[slack, taut], 1e-10);
        assert_eq!(found.modes(), [(Some(3), Some(2)), (Some(1), Some(4))]);
        let pull = &found.changes_of("taut")[1];
        let lost = pull.energy_lost.expect("the model tells its energy");
        close(lost, 0.5 * m * along * along, 1e-6);
    }
}

/// Free, locked, free: the momentum is kept where it locks.
#[test]
fn a_clutch_has_two_one_and_two_degrees_of_freedom() {
    let mut random = Random(0x5eed_0002);
    for _ in 0..5 {
        let (j1, j2, t) = (
            random.between(0.5, 3.0),
            random.between(0.5, 3.0),
            random.between(-2.0, 2.0),
        );
        let found = run("clutch", &[("J1", j1), ("J2", j2), ("T", t)], 3.0).finished();
        let free = |w: f64| w * (-0.4 / j2).exp();
        let (w1, w2) = (3.0 + t / j1, free(0.5));
        let both = (j1 * w1 + j2 * w2) / (j1 + j2);
        let rest = t / 0.4;
        let locked = rest + (both - rest) * (-0.4 / (j1 + j2)).exp();
        close(found.last("w1"), locked + t / j1, 1e-8);
        close(found.last("w2"), free(locked), 1e-8);
        assert_eq!(found.modes(), [(Some(1), Some(2)), (Some(2), Some(1))]);
        let spans: Vec<usize> = found.solution.spans.iter().map(|span| span.0).collect();
        assert_eq!(spans, [0, 1, 0]);
    }
}

/// It sticks until the spring is stronger, and slips on an arc of a circle in the plane of phases.
#[test]
fn a_mass_on_a_belt_sticks_and_slips_for_a_hundred_periods() {
    let mut random = Random(0x5eed_0003);
    for _ in 0..3 {
        let (m, k) = (random.between(0.5, 2.0), random.between(0.5, 2.0));
        let (fs, fd) = (random.between(1.3, 2.0), random.between(0.7, 1.1));
        let set = [("m", m), ("k", k), ("Fs", fs), ("Fd", fd)];
        let (vb, w) = (0.2, (k / m).sqrt());
        let first = (fs - fd) / k;
        let slips = (TAU - 2.0 * (first * w).atan2(vb)) / w;
        let sticks = 2.0 * first / vb;
        let start = fs / (k * vb);
        let period = slips + sticks;
        let wanted: Vec<f64> = (0..200)
            .map(|n| start + f64::from(n / 2) * period + f64::from(n % 2) * slips)
            .collect();
        let to = start + 99.5 * period + 0.5 * slips;
        let found = run("stick_slip", &set, to).finished();
        found.changes_at("stick", &wanted, 1e-10);
        assert_eq!(found.modes(), [(Some(2), Some(1)), (Some(1), Some(2))]);
    }
}

/// It fires at its angle and goes out where the current is zero.
#[test]
fn a_thyristor_fires_and_goes_out() {
    let mut random = Random(0x5eed_0004);
    for _ in 0..4 {
        let (r, l, alpha) = (
            random.between(5.0, 20.0),
            random.between(0.01, 0.05),
            random.between(0.3, 2.5),
        );
        let w = TAU * 50.0;
        let (z, phi) = ((r * r + w * w * l * l).sqrt(), (w * l / r).atan());
        let fires = alpha / w;
        let current = |t: f64| {
            let decay = (-r / l * (t - fires)).exp();
            325.0 / z * ((w * t - phi).sin() - (alpha - phi).sin() * decay)
        };
        let out = zero(PI / w, 2.0 * PI / w, |t| -current(t));
        let wanted: Vec<f64> = (0..3)
            .flat_map(|k| [fires, out].map(|t| t + f64::from(k) * 0.02))
            .collect();
        let found = run("thyristor", &[("R", r), ("L", l), ("alpha", alpha)], 0.0599).finished();
        found.changes_at("on", &wanted, 1e-11);
    }
}

/// Contact lasts half a period of the spring, play is crossed at the first speed.
#[test]
fn backlash_alternates_between_its_sides() {
    let mut random = Random(0x5eed_0005);
    for _ in 0..4 {
        let (j1, j2) = (random.between(0.5, 2.0), random.between(0.5, 2.0));
        let (b, c) = (random.between(0.05, 0.2), random.between(20.0, 100.0));
        let contact = PI * (j1 * j2 / (j1 + j2) / c).sqrt();
        let mut wanted = vec![b];
        for _ in 0..5 {
            let last = wanted[wanted.len() - 1];
            wanted.extend([last + contact, last + contact + 2.0 * b]);
        }
        let to = wanted[wanted.len() - 1] + 0.5 * contact;
        let set = [("J1", j1), ("J2", j2), ("b", b), ("c", c)];
        run("backlash", &set, to)
            .finished()
            .changes_at("side", &wanted, 1e-11);
    }
}

/// Between impacts the energy is kept, at each the speed falls by cos(2 alpha).
#[test]
fn a_rimless_wheel_rolls_by_its_recursion() {
    let (g, alpha, slope) = (9.81, 0.3f64, 0.1);
    let found = run("rimless_wheel", &[], 8.0).finished();
    let mut speed: f64 = 1.2;
    let mut angle: f64 = -0.15;
    let impacts = found.changes_of("w");
    assert_eq!(found.last("steps"), impacts.len() as f64);
    assert!(impacts.len() > 15);
    for impact in impacts {
        let end = slope + alpha;
        speed = (speed * speed + 2.0 * g * (angle.cos() - end.cos())).sqrt();
        let change = impact.changed.iter().find(|c| &*c.name == "w");
        let change = change.expect("it changes");
        close(change.from, speed, 1e-10);
        speed *= (2.0 * alpha).cos();
        angle = 2.0 * slope - end;
        close(change.to, speed, 1e-10);
    }
}

/// The first two slips against small steps of the classical method.
#[test]
fn friction_that_falls_with_speed() {
    let found = run("stribeck", &[], 6.0).finished();
    let (k, ve, fc, fs, vs) = (10.0, 0.1, 1.0, 1.6, 0.05);
    let motion = |[t, x, v]: [f64; 3]| {
        let force = fc + (fs - fc) * (-(v / vs) * (v / vs)).exp();
        [1.0, v, k * (ve * t - x) - force]
    };
    let mut wanted = Vec::new();
    let mut x = 0.0;
    for _ in 0..2 {
        let t = fs / (k * ve) + x / ve;
        wanted.push(t);
        let n = 4000;
        let at = |d: f64| flow(motion, [t, x, 0.0], d, n);
        let d = zero(0.5, 1.8, |d| -at(d)[2]);
        wanted.push(t + d);
        x = at(d)[1];
    }
    found.changes_at("stuck", &wanted, 1e-8);
}

/// The rod breaks: the angle by small steps, then a parabola.
#[test]
fn a_pendulum_breaks() {
    let (l, g): (f64, f64) = (1.2, 9.81);
    let start = (0.9f64 / l).asin();
    let [a, w] = flow(|[a, w]| [w, -g / l * a.sin()], [start, 0.0], 1.0, 20_000);
    let found = run("breaking_pendulum", &[], 3.0).finished();
    let (vx, vy) = (l * w * a.cos(), l * w * a.sin());
    close(found.last("x"), l * a.sin() + 2.0 * vx, 1e-9);
    close(found.last("y"), -l * a.cos() + 2.0 * vy - 2.0 * g, 1e-9);
    assert_eq!(found.modes(), [(Some(3), Some(2)), (Some(1), Some(4))]);
}

/// The capacitors share one voltage once the diode conducts.
#[test]
fn a_diode_closes_a_loop_of_capacitors() {
    let found = run("capacitor_loop", &[], 3.0).finished();
    let closes = zero(0.0, 2.0, |t| t - (-0.05 * t).exp());
    found.changes_at("on", &[closes], 1e-12);
    let v = 10.0 + (closes - 10.0) * (-(3.0 - closes) / 30.0).exp();
    close(found.last("v1"), v, 1e-9);
    assert_eq!(found.modes(), [(Some(1), Some(2)), (Some(2), Some(1))]);
}

/// Levels rise evenly and fall exponentially.
#[test]
fn two_tanks_and_a_valve() {
    let found = run("two_tanks", &[], 30.0).finished();
    // h1 falls towards 0.6 at the rate 0.5.
    let falls = 2.0 * (0.4f64 / 0.05).ln();
    let rises = 0.35 / 0.3;
    let mut wanted = vec![1.0 / 0.3];
    while let Some(&last) = wanted.last() {
        let next = last + if wanted.len() % 2 == 1 { falls } else { rises };
        if next > 30.0 {
            break;
        }
        wanted.push(next);
    }
    found.changes_at("open", &wanted, 1e-11);
}

/// A controller that samples, against small steps between the samples.
#[test]
fn a_sampled_controller_holds_a_pendulum() {
    let found = run("sampled_pi", &[], 1.005).finished();
    let (mut x, mut i, mut u) = ([0.1, 0.0], 0.0, 0.0);
    for k in 0..=100 {
        i += 0.01 * x[0];
        u = -30.0 * x[0] - 5.0 * i - 8.0 * x[1];
        let long = if k == 100 { 0.005 } else { 0.01 };
        x = flow(|[phi, w]| [w, 9.81 * f64::sin(phi) + u], x, long, 200);
    }
    close(found.last("phi"), x[0], 1e-10);
    close(found.last("u"), u, 1e-10);
}

/// Switched by a clock, out of current within each period: exact pieces by small steps.
#[test]
fn a_buck_converter_runs_out_of_current() {
    let found = run("buck", &[], 0.00395).finished();
    let (source, l, c, r, period) = (24.0, 2e-4, 1e-4, 100.0, 1e-4);
    let flows =
        |u: f64, x: [f64; 2], t: f64| flow(move |[i, v]| [(u - v) / l, (i - v / r) / c], x, t, 200);
    let mut x = [0.0, 0.0];
    for k in 0..40 {
        x = flows(source, x, 0.4 * period);
        let rest = if k == 39 { 0.1 * period } else { 0.6 * period };
        let end = flows(0.0, x, rest);
        x = match end[0] > 0.0 {
            true => end,
            false => {
                let out = zero(0.0, rest, |t| -flows(0.0, x, t)[0]);
                let v = flows(0.0, x, out)[1];
                [0.0, v * (-(rest - out) / (r * c)).exp()]
            }
        };
    }
    close(found.last("v"), x[1], 1e-9);
    close(found.last("i"), x[0], 1e-9);
}

/// Pieces that a ruler tells.
#[test]
fn valves_sawteeth_balls_and_phases() {
    let valve = run("valve", &[], 20.0).finished();
    // Up at 1, at 0.2 from 1 to 2, down at 1.5: through 1 it is half open, and falls no more until it is empty below 0.5 or full.
    let first: Vec<f64> = valve
        .changes_of("p")
        .iter()
        .map(|e| e.time)
        .take(3)
        .collect();
    close(first[0], 0.9, 1e-12);
    close(first[1], 5.9, 1e-12);
    close(first[2], 5.9 + 1.5 / 1.5, 1e-12);

    close(
        run("sawtooth", &[], 3.1).finished().last("s"),
        10.0 * 0.3 + 0.1 * 0.1 / 0.3,
        1e-12,
    );

    let chain = run("chain", &[], 10.0).finished();
    // a = 1, 2; b = 1, 3; c = b + pre(c) where b exceeds 2 c: 1, and again at 3 > 2.
    assert_eq!(
        [chain.last("a"), chain.last("b"), chain.last("c")],
        [2.0, 3.0, 4.0]
    );

    let cradle = run("cradle", &[], 3.0).finished();
    close(cradle.last("v1"), 0.1, 1e-12);
    close(cradle.last("v2"), -0.72, 1e-12);

    let phases = run("three_phase_max", &[], 0.1).finished();
    let wanted: Vec<f64> = (0..15)
        .map(|k| (1.0 + 4.0 * f64::from(k)) / 600.0)
        .collect();
    phases.changes_at("top", &wanted, 1e-12);

    let ball = run("ball", &[], 2.4).finished();
    let first = (2.0f64 / 9.81).sqrt();
    let wanted: Vec<f64> = (0..8)
        .map(|n| first * (1.0 + 2.0 * (1..=n).map(|k| 0.7f64.powi(k)).sum::<f64>()))
        .filter(|t| *t < 2.4)
        .collect();
    ball.changes_at("bounces", &wanted, 1e-12);
}

#[test]
fn a_thermostat_and_a_relay_at_random_constants() {
    let mut random = Random(0x5eed_0006);
    for _ in 0..6 {
        let (low, high, tau) = (
            random.between(0.1, 0.4),
            random.between(0.5, 0.9),
            random.between(0.1, 2.0),
        );
        let (up, down) = (
            tau * ((1.0 - low) / (1.0 - high)).ln(),
            tau * (high / low).ln(),
        );
        let first = -tau * (1.0 - high).ln();
        let wanted: Vec<f64> = (0..12)
            .map(|n| first + f64::from(n / 2) * (up + down) + f64::from(n % 2) * down)
            .collect();
        let found = run(
            "relay",
            &[("low", low), ("high", high), ("tau", tau)],
            wanted[11] + 1e-3 * tau,
        );
        found.finished().changes_at("on", &wanted, 1e-11);

        let (r, c, p) = (
            random.between(1.5, 3.0),
            random.between(1.0, 5.0),
            random.between(11.0, 15.0),
        );
        let hot = 5.0 + r * p;
        let time = |from: f64, to: f64, limit: f64| r * c * ((from - limit) / (to - limit)).ln();
        let (up, down) = (time(19.0, 21.0, hot), time(21.0, 19.0, 5.0));
        let first = time(15.0, 21.0, hot);
        let wanted: Vec<f64> = (0..10)
            .map(|n| first + f64::from(n / 2) * (up + down) + f64::from(n % 2) * down)
            .collect();
        let set = [("R", r), ("C", c), ("P", p)];
        let found = run("thermostat", &set, wanted[9] + 1e-3 * c).finished();
        found.changes_at("heat", &wanted, 1e-11);
        assert_eq!(found.last("n"), 10.0);
    }
}

#[test]
fn an_event_without_end_names_its_variables() {
    let found = run("loop", &[], 3.0);
    let HybridEnd::EndlessEvent { names } = &found.solution.end else {
        panic!("it ended otherwise");
    };
    assert!(!names.is_empty());
    close(found.solution.reached, 1.0, 1e-12);
}
