//! Random runs with closed forms: switches, pulses, near misses, singular points of every kind, sliding. What happens within a step
//! must neither be missed nor invented.
//!
//! Each is written in one of several ways that mean the same: as it is, multiplied by something that never vanishes, with its
//! right-hand side as an unknown of its own, or between two more unknowns.

use super::{Dice, SelftestOutcome};
use crate::SolveOptions;
use crate::tolerances::RTOL;
use daelight_integrate::implicit::Method;
use daelight_integrate::{Nature, StopReason};
use std::f64::consts::PI;
use std::time::Duration;

/// Most time for a run.
const BUDGET: Duration = Duration::from_secs(20);

/// Values agree within this, and singular times within a hundredth of it: switching times of implicit methods carry their errors, and pulses have heights of a thousand.
pub(super) const AGREES: f64 = 1e-3;

/// What a run has to come to.
#[derive(Clone, PartialEq, Debug)]
enum Truth {
    /// It ends at its end with this value of the first unknown, and without singular points.
    Value(f64),
    /// It passes singular points at these times and ends with this value.
    Passes(Vec<f64>, f64),
    /// It ends at a singular point at this time, of one of these natures.
    Ends(f64, &'static [Nature]),
}

/// A run with a known answer.
#[derive(Clone, PartialEq, Debug)]
pub struct FamilyRun {
    /// What it is about.
    pub family: &'static str,
    /// The model.
    pub text: String,
    truth: Truth,
}

/// One equation for one unknown, before it is disguised.
struct Plain {
    /// `der(x)` or `x`, or a factor times one of them.
    left: String,
    right: String,
    start: f64,
    is_state: bool,
    /// Declarations and equations of further unknowns.
    beside: [String; 2],
    to: f64,
    truth: Truth,
}

/// A name, and how a member is drawn.
type Family = (&'static str, fn(&mut Dice) -> Plain);

/// The run with a number.
pub fn family_run(number: u64) -> FamilyRun {
    let dice = &mut Dice(number.wrapping_mul(0x9fb2_1c65_1e98_df25) ^ 0xfa11);
    let families: [Family; 22] = [
        ("switch", switch),
        ("fast switching", waves),
        ("pulse of time", pulse_of_time),
        ("pulse of a state", pulse_of_state),
        ("near miss of an unknown", near_miss),
        ("near miss of a coefficient", near_coefficient),
        ("removable", removable),
        ("one of three roots", cube),
        ("branch point", branch_point),
        ("pole", pole),
        ("logarithm", logarithm),
        ("family of solutions", many),
        ("friction", friction),
        ("relay", relay),
        ("step up and down", logistic),
        ("soft wall", wall),
        ("narrow barrier", barrier),
        ("smoothed friction", smooth_friction),
        ("fold with an integral", fold),
        ("impasse", impasse),
        ("small denominator", small_denominator),
        ("regularised root", regularised),
    ];
    let (family, make) = families[dice.below(families.len())];
    let plain = make(dice);
    FamilyRun {
        family,
        text: disguised(&plain, dice.below(4)),
        truth: plain.truth,
    }
}

/// The model, written in one of four ways.
fn disguised(plain: &Plain, way: usize) -> String {
    let Plain {
        left,
        right,
        start,
        is_state,
        beside: [declarations, further],
        to,
        ..
    } = plain;
    let fixed = if *is_state { ", fixed = true" } else { "" };
    let declared = format!("Real x(start = {start}{fixed})");
    let (more, equations) = match way {
        0 => (String::new(), format!("{left} = {right};")),
        1 => (
            String::new(),
            format!("(2 + sin(time))*({left}) - (2 + sin(time))*({right}) = 0;"),
        ),
        2 => (", r".to_string(), format!("{left} = r; r - ({right}) = 0;")),
        _ => (
            ", p, q".to_string(),
            format!("{left} + p - 2*q = {right}; p = 2*q; p + q = 3*cos(time);"),
        ),
    };
    format!(
        "model Run\n  {declared}{declarations}{more};\nequation\n  {equations} {further}\n  annotation(experiment(StartTime = 0, StopTime = {to}));\nend Run;\n"
    )
}

fn state(right: String, start: f64, to: f64, truth: Truth) -> Plain {
    Plain {
        left: "der(x)".into(),
        right,
        start,
        is_state: true,
        beside: Default::default(),
        to,
        truth,
    }
}

/// The same for a velocity x, with its position from 0 on.
fn motion(force: String, velocity: f64, to: f64, truth: Truth) -> Plain {
    Plain {
        beside: [
            ", position(start = 0, fixed = true)".into(),
            "der(position) = x;".into(),
        ],
        ..state(force, velocity, to, truth)
    }
}

/// How long cos(a) > c has held up to an angle.
fn held(angle: f64, c: f64) -> f64 {
    let half = c.acos();
    let turns = ((angle + PI) / (2.0 * PI)).floor();
    let rest = angle - 2.0 * PI * turns;
    turns * 2.0 * half + (rest + half).clamp(0.0, 2.0 * half)
}

fn switch(dice: &mut Dice) -> Plain {
    let (w, p, c) = (
        dice.between(1.0, 60.0),
        dice.between(0.0, 6.0),
        dice.between(-0.9, 0.9),
    );
    let to = 5.0;
    let value = (held(w * to + p, c) - held(p, c)) / w;
    let right = format!("if cos({w}*time + {p}) > {c} then 1 else 0");
    state(right, 0.0, to, Truth::Value(value))
}

fn waves(dice: &mut Dice) -> Plain {
    let w = 10f64.powf(dice.between(1.0, 2.8)).round();
    let to = 1.0;
    let turns = |angle: f64| {
        let n = (angle / PI).floor();
        (n, angle - PI * n)
    };
    let (n, rest) = turns(w * to);
    let is_upper = n % 2.0 == 0.0;
    let (right, angle) = match dice.below(3) {
        0 => (format!("abs(sin({w}*time))"), 2.0 * n + 1.0 - rest.cos()),
        1 => (
            format!("max(sin({w}*time), 0)"),
            2.0 * (n / 2.0).ceil() + if is_upper { 1.0 - rest.cos() } else { 0.0 },
        ),
        _ => (
            format!("sign(sin({w}*time))"),
            if is_upper { rest } else { PI - rest },
        ),
    };
    state(right, 0.0, to, Truth::Value(angle / w))
}

/// A pulse of area 1, and its text.
fn pulse(u: &str, w: f64, is_gaussian: bool) -> String {
    match is_gaussian {
        true => format!("exp(-({u})^2)/({w}*{})", PI.sqrt()),
        // The integral of (1 + u^2)^-4 is 5 pi/16.
        false => format!("1/(1 + ({u})^2)^4/({w}*{})", 5.0 * PI / 16.0),
    }
}

fn pulse_of_time(dice: &mut Dice) -> Plain {
    let w = 10f64.powf(dice.between(-2.7, -0.7));
    let at = dice.between(3.0, 7.0);
    let right = pulse(&format!("(time - {at})/{w}"), w, dice.below(2) == 0);
    state(right, 0.0, 10.0, Truth::Value(1.0))
}

fn pulse_of_state(dice: &mut Dice) -> Plain {
    let w = 10f64.powf(dice.between(-2.0, -0.7));
    let at = dice.between(3.0, 7.0);
    // x drives, and is itself moved by what it drives: x' = 1 + pulse(x), so that x = t + 1 behind it, less a little.
    let right = pulse(&format!("(x - {at})/{w}"), w, true);
    let mut time = 0.0;
    let n = 20_000;
    let (low, high) = (at - 10.0 * w, at + 10.0 * w);
    let h = (high - low) / f64::from(n);
    // dt = dx/(1 + f), by Simpson's rule; f is below rounding elsewhere.
    let f = |x: f64| 1.0 / (1.0 + (-((x - at) / w).powi(2)).exp() / (w * PI.sqrt()));
    for k in 0..n {
        let a = low + h * f64::from(k);
        time += h / 6.0 * (f(a) + 4.0 * f(a + 0.5 * h) + f(a + h));
    }
    let value = high + (10.0 - low - time);
    state(format!("1 + {right}"), 0.0, 10.0, Truth::Value(value))
}

fn near_miss(dice: &mut Dice) -> Plain {
    let (c, q) = (dice.between(0.5, 1.5), dice.between(-2.0, 2.0));
    let d = 10f64.powf(dice.between(-7.0, -1.0));
    Plain {
        left: format!("(x - ({q}))^2"),
        right: format!("(time - {c})^2 + ({d})^2"),
        start: q + c.hypot(d),
        is_state: false,
        beside: Default::default(),
        to: 2.0,
        truth: Truth::Value(q + (2.0 - c).hypot(d)),
    }
}

fn near_coefficient(dice: &mut Dice) -> Plain {
    let c = dice.between(0.5, 1.5);
    let d = 10f64.powf(dice.between(-3.0, -0.5));
    Plain {
        left: format!("((time - {c})^2 + {d}^2)*der(x)"),
        right: format!("(time - {c})*x"),
        start: c.hypot(d),
        is_state: true,
        beside: Default::default(),
        to: 2.0,
        truth: Truth::Value((2.0 - c).hypot(d)),
    }
}

fn removable(dice: &mut Dice) -> Plain {
    let (c, m) = (dice.between(0.5, 1.5), 1 + dice.below(6));
    Plain {
        left: format!("(time - {c})^{m}*x"),
        right: format!("(time - {c})^{m}*sin(time)"),
        start: 0.0,
        is_state: false,
        beside: Default::default(),
        to: 2.0,
        truth: Truth::Passes(vec![c], 2f64.sin()),
    }
}

fn cube(dice: &mut Dice) -> Plain {
    let (c, q) = (dice.between(0.5, 1.5), dice.between(-2.0, 2.0));
    Plain {
        left: format!("(x - ({q}))^3"),
        right: format!("(time - {c})^3"),
        start: q - c,
        is_state: false,
        beside: Default::default(),
        to: 2.0,
        truth: Truth::Passes(vec![c], q + 2.0 - c),
    }
}

fn branch_point(dice: &mut Dice) -> Plain {
    let (c, q) = (dice.between(1.0, 1.8), dice.between(-2.0, 2.0));
    let e = dice.between(0.1, 0.6);
    Plain {
        left: format!("(x - ({q}))^2"),
        right: format!("(time - {c})^2 - {e}^2"),
        start: q + (c * c - e * e).sqrt(),
        is_state: false,
        beside: Default::default(),
        to: 3.0,
        truth: Truth::Ends(c - e, &[Nature::Branch]),
    }
}

fn pole(dice: &mut Dice) -> Plain {
    let (c, m) = (dice.between(0.5, 1.5), 1 + dice.below(3));
    let power = 1.0 + 1.0 / m as f64;
    let right = format!("{m}*x^({power})");
    let start = c.powi(-(m as i32));
    state(right, start, 3.0, Truth::Ends(c, &[Nature::Unbounded]))
}

/// Natures of points at which a run must not go on.
const NOT_PASSED: &[Nature] = &[Nature::Family, Nature::Branch];

fn logarithm(dice: &mut Dice) -> Plain {
    let (c, b) = (dice.between(0.5, 1.5), dice.between(0.5, 2.0));
    let k = 1 + dice.below(6);
    Plain {
        left: format!("(time - {c})*der(x)"),
        right: format!("{k}*x + {b}*(time - {c})^{k}"),
        start: 1.0,
        is_state: true,
        beside: Default::default(),
        to: 2.0,
        truth: Truth::Ends(c, NOT_PASSED),
    }
}

fn many(dice: &mut Dice) -> Plain {
    let (c, q) = (dice.between(0.5, 1.5), dice.between(-1.0, 1.0));
    let lambda = [0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0][dice.below(7)];
    Plain {
        left: format!("(time - {c})*der(x)"),
        right: format!("{lambda}*(x - ({q}))"),
        start: q + 1.0,
        is_state: true,
        beside: Default::default(),
        to: 2.0,
        truth: Truth::Ends(c, NOT_PASSED),
    }
}

fn friction(dice: &mut Dice) -> Plain {
    let (mu, v) = (dice.between(1.0, 5.0), dice.between(0.5, 3.0));
    let pull = dice.between(0.0, 0.9) * mu;
    // Stops when v = (mu - pull) t, and stays at rest.
    let right = format!("-{mu}*sign(x) + {pull}");
    let mut plain = state(right, v, 4.0 + v / (mu - pull), Truth::Value(0.0));
    if dice.below(2) == 0 {
        // A second block, which rests before or after it.
        let (other, v) = (dice.between(1.0, 5.0), dice.between(-3.0, 3.0));
        plain.beside = [
            format!(", w(start = {v}, fixed = true)"),
            format!("der(w) = -{other}*sign(w);"),
        ];
    }
    plain
}

fn relay(dice: &mut Dice) -> Plain {
    let (q, w, k) = (
        dice.between(0.3, 1.0),
        dice.between(0.3, 1.0),
        dice.between(1.5, 3.0),
    );
    let right = format!("-{k}*sign(x - {q}*sin({w}*time))");
    state(right, 2.0, 6.0, Truth::Value(q * (w * 6.0).sin()))
}

fn logistic(dice: &mut Dice) -> Plain {
    let (a, b) = (dice.between(5.0, 300.0), dice.between(2.0, 4.0));
    // The integral of 1/(1 + exp(-a (t - b))) from 0 to 5.
    let value = ((a * (5.0 - b)).exp().ln_1p() - (-a * b).exp().ln_1p()) / a;
    let value = if value.is_finite() { value } else { 5.0 - b };
    let right = format!("1/(1 + exp(-{a}*(time - {b})))");
    state(right, 0.0, 5.0, Truth::Value(value))
}

/// Comes back from a wall that is nowhere to be seen until it is reached, as fast as it came.
fn wall(dice: &mut Dice) -> Plain {
    let (at, k) = (dice.between(3.0, 8.0), dice.between(8.0, 100.0));
    let (velocity, force) = (dice.between(0.5, 2.0), 10f64.powf(dice.between(1.0, 3.0)));
    let force = match dice.below(2) {
        0 => format!("-{force}*exp({k}*(position - {at}))"),
        _ => format!("-{force}*(1 + tanh({k}*(position - {at})))"),
    };
    motion(
        force,
        velocity,
        2.0 * at / velocity,
        Truth::Value(-velocity),
    )
}

/// Comes back from a barrier that is higher than its energy, and passes one that is lower.
fn barrier(dice: &mut Dice) -> Plain {
    let (at, w) = (dice.between(4.0, 20.0), dice.between(0.1, 0.5));
    let (velocity, part) = (dice.between(0.5, 2.0), dice.between(0.3, 0.8));
    let is_high = dice.below(2) == 0;
    let height = 0.5 * velocity * velocity * if is_high { 1.0 / part } else { part };
    let u = format!("((position - {at})/{w})");
    let force = format!("2*{height}/{w}*{u}*exp(-{u}^2)");
    let end = if is_high { -velocity } else { velocity };
    // Long enough to slow down before it and to leave it.
    let to = (2.0 * at + 40.0 * w) / velocity;
    motion(force, velocity, to, Truth::Value(end))
}

/// v' = -mu tanh(a v): sinh(a v) falls like exp(-a mu t).
fn smooth_friction(dice: &mut Dice) -> Plain {
    let (a, mu) = (dice.between(5.0, 100.0), dice.between(0.5, 2.0));
    let velocity = dice.between(1.0, 3.0);
    let part = dice.between(0.8, 1.5);
    // asinh(sinh(a v) exp(-u)) is a v - u up to rounding as long as that is large, and ln(1 + ...) behind.
    let left = a * velocity * (1.0 - part);
    let value = match left > 10.0 {
        true => left,
        false => (0.5 * left.exp()).asinh(),
    };
    let to = velocity / mu * part;
    let force = format!("-{mu}*tanh({a}*x)");
    motion(force, velocity, to, Truth::Value(value / a))
}

/// x^2 = c^2 - k t, with an integral of x beside it: the integral alone looks smooth.
fn fold(dice: &mut Dice) -> Plain {
    let (c, k) = (dice.between(0.5, 1.5), dice.between(0.5, 2.0));
    Plain {
        left: "x^2".into(),
        right: format!("{c}^2 - {k}*time"),
        start: c,
        is_state: false,
        beside: [
            ", integral(start = 0, fixed = true)".into(),
            "der(integral) = x;".into(),
        ],
        to: 3.0 * c * c / k,
        truth: Truth::Ends(c * c / k, &[Nature::Branch]),
    }
}

/// p' = -k x, p = x^3/3 - b^2 x: dt = -(x^2 - b^2)/(k x) dx, up to x = b.
fn impasse(dice: &mut Dice) -> Plain {
    let (b, k) = (dice.between(0.5, 1.2), dice.between(0.5, 2.0));
    let start = b * dice.between(1.5, 2.5);
    let momentum = start.powi(3) / 3.0 - b * b * start;
    let end = (0.5 * (start * start - b * b) - b * b * (start / b).ln()) / k;
    Plain {
        left: "x^3/3".into(),
        right: format!("p1 + {b}^2*x"),
        start,
        is_state: false,
        beside: [
            format!(", p1(start = {momentum}, fixed = true)"),
            format!("der(p1) = -{k}*x;"),
        ],
        to: 3.0 * end,
        truth: Truth::Ends(end, &[Nature::Branch]),
    }
}

/// Where a function that rises is zero.
fn zero_of(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        match f(middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

/// Denominators that come near zero and stay clear of it.
fn small_denominator(dice: &mut Dice) -> Plain {
    let (c, e) = (dice.between(0.5, 1.5), 10f64.powf(dice.between(-5.0, -1.0)));
    match dice.below(3) {
        // x^2 - (c - t) x = e.
        0 => Plain {
            left: "x".into(),
            right: format!("{e}/x + {c} - time"),
            start: 0.5 * (c + (c * c + 4.0 * e).sqrt()),
            is_state: false,
            beside: Default::default(),
            to: c + 1.0,
            truth: Truth::Value(0.5 * ((1.0 + 4.0 * e).sqrt() - 1.0)),
        },
        // e ln x + x = c + e ln c - t: uptake that saturates.
        1 => {
            let to = c + 0.5;
            let f = |log: f64| e * log + log.exp() - c - e * c.ln() + to;
            let value = zero_of(f, -40.0, 3.0).exp();
            state(format!("-x/({e} + x)"), c, to, Truth::Value(value))
        }
        // Repulsion e/p^2 of a mass that comes from p = c: v^2/2 + e/p is kept, and it goes as it came.
        _ => {
            let energy = 0.5 + e / c;
            let (b, w) = (e / energy, (2.0 * energy).sqrt());
            // From the turning point p = b to c.
            let part = (c / b).sqrt();
            let time = ((c * (c - b)).sqrt() + b * part.acosh()) / w;
            Plain {
                beside: [
                    format!(", p1(start = {c}, fixed = true)"),
                    "der(p1) = x;".into(),
                ],
                ..state(format!("{e}/p1^2"), -1.0, 2.0 * time, Truth::Value(1.0))
            }
        }
    }
}

/// Roots that are smoothed at zero, and rise everywhere.
fn regularised(dice: &mut Dice) -> Plain {
    let (c, e) = (dice.between(0.5, 1.5), 10f64.powf(dice.between(-6.0, -1.0)));
    let (left, f): (String, Box<dyn Fn(f64) -> f64>) = match dice.below(2) {
        0 => (
            format!("x*sqrt(x^2 + {e})"),
            Box::new(move |x| x * (x * x + e).sqrt()),
        ),
        _ => (format!("x^3 + {e}*x"), Box::new(move |x| x * x * x + e * x)),
    };
    Plain {
        left,
        right: format!("time - {c}"),
        start: zero_of(|x| f(x) + c, -3.0, 3.0),
        is_state: false,
        beside: Default::default(),
        to: c + 1.0,
        truth: Truth::Value(zero_of(|x| f(x) - 1.0, -3.0, 3.0)),
    }
}

/// Tries a run by a method, `None` for the default.
pub fn try_family(run: &FamilyRun, method: Option<Method>) -> SelftestOutcome {
    let loaded = daelight_lang::load("run", run.text.as_bytes(), &Default::default());
    let Some(Ok(system)) = loaded.model.as_ref().map(crate::system) else {
        return SelftestOutcome::Wrong("refused".into());
    };
    let options = SolveOptions {
        rtol: Some(RTOL),
        method,
        budget: Some(BUDGET),
        continues: !matches!(run.truth, Truth::Value(_)),
        ..Default::default()
    };
    let Ok(solution) = crate::solve(&system, &options) else {
        return SelftestOutcome::Open(format!("{}: no run", run.family));
    };
    let found: Vec<(f64, Nature, f64)> = solution
        .singularities
        .iter()
        .map(|s| (s.found.time, s.found.nature, s.uncertainty.unwrap_or(0.0)))
        .collect();
    let values = solution.reader(&system).values(solution.reached());
    let end = values.ok().flatten().map_or(f64::NAN, |values| values[0]);
    let name = |outcome: Result<(), String>, is_open: bool| match outcome {
        Ok(()) => SelftestOutcome::Right(0.0),
        Err(why) if is_open => SelftestOutcome::Open(format!("{}: {why}", run.family)),
        Err(why) => SelftestOutcome::Wrong(format!("{}: {why}", run.family)),
    };
    let (outcome, is_open) = judged(&run.truth, &solution.run.stop, &found, end);
    name(outcome, is_open)
}

/// What came of a run: right or why not, and whether that leaves the answer open.
fn judged(
    truth: &Truth,
    stop: &StopReason,
    found: &[(f64, Nature, f64)],
    end: f64,
) -> (Result<(), String>, bool) {
    let near = |time: f64, wanted: f64, told: f64| (time - wanted).abs() <= told.max(0.01 * AGREES);
    let listed = match truth {
        Truth::Value(_) => Vec::new(),
        Truth::Passes(times, _) => times.clone(),
        Truth::Ends(time, _) => vec![*time],
    };
    let pairs = || found.iter().zip(&listed);
    let is_list = found.len() == listed.len()
        && pairs().all(|((time, _, told), wanted)| near(*time, *wanted, *told));
    let points = || Err(format!("points {found:?}"));
    let last = found.last().map(|(_, nature, _)| *nature);
    match (truth, stop) {
        (Truth::Value(value) | Truth::Passes(_, value), StopReason::Finished) if is_list => {
            let is_right = (end - value).abs() <= AGREES * value.abs().max(1.0);
            let wrong = || format!("{end} instead of {value}");
            (is_right.then_some(()).ok_or_else(wrong), false)
        }
        (Truth::Ends(wanted, natures), StopReason::FiniteEscape { time, .. }) => {
            let is_right = natures.contains(&Nature::Unbounded) && near(*time, *wanted, 0.0);
            let wrong = || format!("escapes at {time} instead of {wanted}");
            (is_right.then_some(()).ok_or_else(wrong), false)
        }
        (Truth::Ends(_, natures), StopReason::Singularity)
            if is_list && last.is_some_and(|last| natures.contains(&last)) =>
        {
            (Ok(()), false)
        }
        (_, StopReason::Singularity) => {
            // A removable point that is not passed, or one that is not understood, is told.
            let is_open =
                last == Some(Nature::Unresolved) || is_list && matches!(truth, Truth::Passes(..));
            (points(), is_open)
        }
        (_, StopReason::Finished | StopReason::FiniteEscape { .. }) => (points(), false),
        _ => (Err("the run stopped".into()), true),
    }
}
