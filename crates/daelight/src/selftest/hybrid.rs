//! Random hybrid DAEs with planted event times and modes: a relay with hysteresis, a saw that is set back or a clock decides which end
//! of a chain of derivatives is given, so that the index changes between 1 and the length of the chain, and the solution does not.

use super::families::AGREES;
use super::random::BUDGET;
use super::{Dice, SelftestOutcome};
use crate::SolveOptions;
use crate::hybrid::{HybridEnd, HybridSolution, solve_hybrid};
use crate::tolerances::RTOL;
use daelight_integrate::implicit::Method;
use daelight_lang::Model;

/// A hybrid DAE with a known answer.
#[derive(Clone, PartialEq, Debug)]
pub struct HybridRun {
    /// The model.
    pub text: String,
    /// When the relay switches.
    events: Vec<f64>,
    /// Index and degrees of freedom of the modes.
    modes: Vec<(usize, u64)>,
    /// Values at the end, by name.
    last: Vec<(String, f64)>,
    to: f64,
}

/// What switches: its equations, when it does, and what becomes of x.
struct Driver {
    equations: Vec<String>,
    events: Vec<f64>,
    /// The end of the run, between two events, and x there.
    end: (f64, f64),
    is_saw: bool,
}

impl Driver {
    /// x' = a (1 - x) while it is on, up to `high`, and -a x down to `low`.
    fn relay(dice: &mut Dice, x: &str, on: &str) -> Self {
        let (a, low, high) = (
            dice.between(0.2, 8.0),
            dice.between(0.1, 0.4),
            dice.between(0.5, 0.9),
        );
        let (up, down) = (((1.0 - low) / (1.0 - high)).ln() / a, (high / low).ln() / a);
        let mut events = vec![-(1.0 - high).ln() / a];
        for k in 0..1 + dice.below(8) {
            let last = events[events.len() - 1];
            events.push(last + if k % 2 == 0 { down } else { up });
        }
        let rest = 0.5 * up.min(down);
        let value = match events.len() % 2 {
            1 => high * (-a * rest).exp(),
            _ => 1.0 - (1.0 - low) * (-a * rest).exp(),
        };
        Self {
            equations: vec![
                format!("der({x}) = if {on} then {a}*(1 - {x}) else -{a}*{x};"),
                format!(
                    "when {x} > {high} then {on} = false; elsewhen {x} < {low} then {on} = true; end when;"
                ),
            ],
            end: (events[events.len() - 1] + rest, value),
            events,
            is_saw: false,
        }
    }

    /// x' = a up to `high`, from where it is set back to `low`.
    fn saw(dice: &mut Dice, x: &str, on: &str) -> Self {
        let (a, low, high) = (
            dice.between(0.2, 8.0),
            dice.between(-1.0, 0.4),
            dice.between(0.5, 0.9),
        );
        let period = (high - low) / a;
        let events: Vec<f64> = (0..2 + dice.below(8))
            .map(|k| high / a + k as f64 * period)
            .collect();
        let condition = match dice.below(2) {
            0 => format!("{x} >= {high}"),
            _ => format!("{a}*{x} > {}", a * high),
        };
        Self {
            equations: vec![
                format!("der({x}) = {a};"),
                format!(
                    "when {condition} then reinit({x}, {low}); {on} = not pre({on}); end when;"
                ),
            ],
            end: (
                events[events.len() - 1] + 0.5 * period,
                low + 0.5 * a * period,
            ),
            events,
            is_saw: true,
        }
    }

    /// x' = a, or -b, by a clock.
    fn clock(dice: &mut Dice, x: &str, on: &str) -> Self {
        let (a, b) = (dice.between(0.2, 3.0), dice.between(0.2, 3.0));
        let (first, period) = (dice.between(0.1, 2.0), dice.between(0.1, 1.0));
        let n = 2 + dice.below(8);
        let events: Vec<f64> = (0..n).map(|k| first + k as f64 * period).collect();
        let on_for = first + (n - 1).div_euclid(2) as f64 * period;
        let off_for = (n / 2) as f64 * period;
        let rest = 0.5 * period;
        let value = a * on_for - b * off_for
            + if n.is_multiple_of(2) {
                a * rest
            } else {
                -b * rest
            };
        Self {
            equations: vec![
                format!("der({x}) = if {on} then {a} else -{b};"),
                format!("when sample({first}, {period}) then {on} = not pre({on}); end when;"),
            ],
            end: (events[n - 1] + rest, value),
            events,
            is_saw: false,
        }
    }
}

/// The run with a number.
///
/// The chain w_1' = w_2, …, is f = A sin(b t + c) with its derivatives: by w_1 = f while it is on (index n), by w_n = f^(n-1)
/// otherwise (index 1).
pub fn hybrid_run(number: u64) -> HybridRun {
    let dice = &mut Dice(number.wrapping_mul(0x9fb2_1c65_1e98_df25) ^ 0x4b1d);
    let n = dice.below(5);
    let names = [["x", "w", "on"], ["level", "z", "filling"], ["s", "q", "b"]][dice.below(3)];
    let [x, w, on] = names;
    let driver = match dice.below(3) {
        0 => Driver::relay(dice, x, on),
        1 => Driver::saw(dice, x, on),
        _ => Driver::clock(dice, x, on),
    };
    let (size, b, c) = (
        dice.between(0.5, 3.0),
        dice.between(0.3, 2.0),
        dice.between(0.0, 6.0),
    );
    let derivative = |k: usize, t: f64| {
        let quarter = std::f64::consts::FRAC_PI_2;
        size * b.powi(k as i32) * (b * t + c + k as f64 * quarter).sin()
    };
    let function = |k: usize| {
        let sign = if k % 4 > 1 { "-" } else { "" };
        let shape = if k % 2 == 1 { "cos" } else { "sin" };
        format!("{sign}{size}*{b}^{k}*{shape}({b}*time + {c})")
    };
    let mut parts = driver.equations;
    for k in 1..n {
        let factor = dice.between(0.2, 5.0);
        parts.push(format!("{factor}*der({w}{k}) = {factor}*{w}{};", k + 1));
    }
    if n > 0 {
        let (first, last) = (function(0), function(n - 1));
        parts.push(match dice.below(2) {
            0 => format!("if {on} then {w}1 = {first}; else {w}{n} = {last}; end if;"),
            _ => format!("0 = if {on} then {w}1 - ({first}) else {w}{n} - ({last});"),
        });
    }
    for at in (1..parts.len()).rev() {
        parts.swap(at, dice.below(at + 1));
    }
    let unknowns: String = (1..=n)
        .map(|k| format!(", {w}{k}(start = {})", derivative(k - 1, 0.0)))
        .collect();
    let text = format!(
        "model Hybrid{number}\n  Real {x}(start = 0, fixed = true){unknowns};\n  Boolean {on}(start = true, fixed = true);\nequation\n  {}\nend Hybrid{number};\n",
        parts.join("\n  ")
    );
    let (to, value) = driver.end;
    let mut modes = vec![(n, 1), (n.min(1), n.max(1) as u64)];
    // The equations of a saw are the same in both, and so is a chain of one.
    modes.truncate(if driver.is_saw && n < 2 { 1 } else { 2 });
    let mut last = vec![(x.to_string(), value)];
    last.extend((1..=n).map(|k| (format!("{w}{k}"), derivative(k - 1, to))));
    HybridRun {
        text,
        events: driver.events,
        modes,
        last,
        to,
    }
}

/// Tries a hybrid run by a method, `None` for the default.
pub fn try_hybrid(run: &HybridRun, method: Option<Method>) -> SelftestOutcome {
    let loaded = daelight_lang::load("run", run.text.as_bytes(), &Default::default());
    let Some(model) = loaded.model else {
        return SelftestOutcome::Wrong("hybrid: refused".into());
    };
    let Ok(system) = crate::system(&model) else {
        return SelftestOutcome::Wrong("hybrid: refused".into());
    };
    let options = SolveOptions {
        rtol: Some(RTOL),
        to: Some(run.to),
        method,
        budget: Some(BUDGET),
        ..Default::default()
    };
    match solve_hybrid(&model, &system, &options) {
        Err(_) => SelftestOutcome::Open("hybrid: no run".into()),
        Ok(solution) => judged(run, &model, &solution),
    }
}

fn judged(run: &HybridRun, model: &Model, solution: &HybridSolution) -> SelftestOutcome {
    if !matches!(solution.end, HybridEnd::Finished) {
        let said = crate::record::end_words(model, &solution.end, solution.reached);
        return SelftestOutcome::Open(format!(
            "hybrid: {}",
            said.split(" at t = ").next().unwrap_or("")
        ));
    }
    let near =
        |found: f64, wanted: f64| (found - wanted).abs() <= 0.01 * AGREES * wanted.abs().max(1.0);
    let switches = solution
        .events
        .iter()
        .filter(|event| !event.changed.is_empty());
    let times: Vec<f64> = switches.map(|event| event.time).collect();
    let pairs = || times.iter().zip(&run.events);
    if times.len() != run.events.len() || !pairs().all(|(found, wanted)| near(*found, *wanted)) {
        return SelftestOutcome::Wrong(format!(
            "hybrid: events {times:?} instead of {:?}",
            run.events
        ));
    }
    let modes: Vec<_> = solution.modes.iter().map(|m| (m.index, m.dof)).collect();
    let planted = run.modes.iter();
    let planted: Vec<_> = planted.map(|(i, d)| (Some(*i), Some(*d))).collect();
    if modes != planted {
        return SelftestOutcome::Wrong(format!(
            "hybrid: modes {modes:?} instead of {:?}",
            run.modes
        ));
    }
    let mut worst = 0.0f64;
    for (name, wanted) in &run.last {
        let at = model.unknowns.iter().position(|u| u.name == *name);
        let found = at.map_or(f64::NAN, |at| solution.last[at]);
        if !near(found, *wanted) {
            return SelftestOutcome::Wrong(format!("hybrid: {name} = {found} instead of {wanted}"));
        }
        worst = worst.max((found - wanted).abs() / wanted.abs().max(1.0));
    }
    SelftestOutcome::Right(worst)
}
