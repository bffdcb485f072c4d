//! Random DAEs with planted answers.
//!
//! A core of differential equations x' = f(x, t) and chains of unknowns y_1, ..., y_k, whose first is given by an algebraic
//! equation and each further one by the derivative of the one before: such a chain has index k. Right-hand sides are chosen so
//! that every unknown is a given wave. Then the unknowns are replaced by combinations of each other, and equations by
//! combinations of equations with coefficients that depend on the unknowns; neither changes index, degrees of freedom or
//! solutions. One problem in five has an equation whose coefficient vanishes at a given time: a run has to end there.

use super::library::RIGHT;
use super::{Dice, SelftestOutcome};
use crate::SolveOptions;
use crate::tolerances::RTOL;
use daelight_analysis::passport::PointVerdict;
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;
use std::fmt::Write;
use std::time::Duration;

/// Where runs end.
const END: f64 = 2.0;
/// How exactly a singular time has to be met by the series.
const SAME_TIME: f64 = 1e-8;
/// Most time for a run.
pub(super) const BUDGET: Duration = Duration::from_secs(20);

/// A constant and sines of time.
#[derive(Clone, Debug)]
struct Wave {
    constant: f64,
    /// Amplitude, frequency and phase.
    sines: Vec<[f64; 3]>,
}

impl Wave {
    fn random(dice: &mut Dice) -> Self {
        let sine = |dice: &mut Dice| {
            let frequency = dice.between(0.3, 2.0);
            [dice.between(0.2, 1.0), frequency, dice.between(-3.0, 3.0)]
        };
        Self {
            constant: dice.between(-1.0, 1.0),
            sines: vec![sine(dice)],
        }
    }

    fn value(&self, time: f64) -> f64 {
        let sines = self.sines.iter();
        self.constant + sines.map(|[a, w, p]| a * (w * time + p).sin()).sum::<f64>()
    }

    /// With a multiple of another wave taken away.
    fn less(&self, factor: f64, other: &Self) -> Self {
        let mut sines = self.sines.clone();
        sines.extend(other.sines.iter().map(|[a, w, p]| [-factor * a, *w, *p]));
        Self {
            constant: self.constant - factor * other.constant,
            sines,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("({}", self.constant);
        for [a, w, p] in &self.sines {
            write!(text, " + ({a})*sin({w}*time + ({p}))").expect("writing to a string");
        }
        text + ")"
    }

    fn derivative_text(&self) -> String {
        let mut text = String::from("(0");
        for [a, w, p] in &self.sines {
            write!(text, " + ({})*cos({w}*time + ({p}))", a * w).expect("writing to a string");
        }
        text + ")"
    }
}

/// A DAE with its answers.
pub struct Planted {
    /// Its Modelica text.
    pub text: String,
    /// Its differentiation index.
    pub index: usize,
    /// Its degrees of freedom.
    pub degrees_of_freedom: usize,
    /// When a run from 0 to 2 meets a singularity.
    pub singular_time: Option<f64>,
    waves: Vec<Wave>,
}

/// A model whose unknowns start at their waves, and whose equations are what vanishes.
fn model_of(waves: &[Wave], equations: &[String]) -> String {
    let declarations = waves.iter().enumerate().map(|(i, wave)| {
        let (start, wave) = (wave.value(0.0), wave.text());
        format!("  Real z{i}(start = {start}); // {wave}\n")
    });
    let declarations: String = declarations.collect();
    let equations: String = equations.iter().map(|e| format!("  {e} = 0;\n")).collect();
    let experiment = format!("experiment(StartTime = 0, StopTime = {END})");
    format!(
        "model Planted\n{declarations}equation\n{equations}  annotation({experiment});\nend Planted;\n"
    )
}

/// The unknowns combined at random, in turn: what stands for each in the text, and the waves of the new ones.
fn mixed(waves: &[Wave], dice: &mut Dice) -> (Vec<String>, Vec<Wave>) {
    let n = waves.len();
    let mut terms: Vec<String> = (0..n).map(|i| format!("z{i}")).collect();
    let mut steps = Vec::new();
    for _ in 0..if n > 1 { dice.below(n) } else { 0 } {
        let (i, j) = (dice.below(n), dice.below(n));
        if i != j {
            let factor = [-1.0, 0.5, 1.0][dice.below(3)];
            terms[i] = format!("({} + ({factor})*{})", terms[i], terms[j]);
            steps.push((i, j, factor));
        }
    }
    // The waves of the new unknowns: the same steps undone, the last one first.
    let mut mixed = waves.to_vec();
    for (i, j, factor) in steps.into_iter().rev() {
        mixed[i] = mixed[i].less(factor, &mixed[j]);
    }
    (terms, mixed)
}

/// The problem with this number.
pub fn planted(number: u64) -> Planted {
    let dice = &mut Dice(number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
    let n_core = dice.below(4);
    let mut lengths: Vec<usize> = (0..dice.below(3)).map(|_| 1 + dice.below(4)).collect();
    if n_core + lengths.len() == 0 {
        lengths.push(2);
    }
    let n = n_core + lengths.iter().sum::<usize>();
    let waves: Vec<Wave> = (0..n).map(|_| Wave::random(dice)).collect();
    let (terms, mixed) = mixed(&waves, dice);
    // A nonlinear function of an unknown less the same of its wave: zero along the solution.
    let deviation = |i: usize, dice: &mut Dice| {
        let (z, wave) = (&terms[i], waves[i].text());
        match dice.below(3) {
            0 => format!("(sin({z}) - sin({wave}))"),
            1 => format!("({z}^2 - {wave}^2)"),
            _ => format!("({z} - {wave})"),
        }
    };
    // What is right along the solution: (rate less that of the wave), with the value less the wave.
    let apart = |i: usize| format!("({} - {})", terms[i], waves[i].text());
    let rate = |i: usize| format!("der({}) - {}", terms[i], waves[i].derivative_text());
    // Left minus right of every equation.
    let mut equations = Vec::with_capacity(n);
    for i in 0..n_core {
        let j = dice.below(n_core);
        let (other, factor) = (deviation(j, dice), dice.between(-0.5, 0.5));
        equations.push(format!("{} + {} - ({factor})*{other}", rate(i), apart(i)));
    }
    let singular_time = (!lengths.is_empty() && dice.below(5) == 0).then(|| dice.between(0.4, 1.6));
    let mut first = n_core;
    for (chain, length) in lengths.iter().enumerate() {
        let coefficient = match singular_time.filter(|_| chain == 0) {
            Some(time) => format!("sin(time - {time})*"),
            None => String::new(),
        };
        let coupling = match n_core {
            0 => String::new(),
            n_core => format!(" + ({})*{}", dice.between(-1.0, 1.0), {
                let i = dice.below(n_core);
                deviation(i, dice)
            }),
        };
        // The vanishing coefficient multiplies everything: its solution is smooth.
        equations.push(format!(
            "{coefficient}({} - {}{coupling})",
            terms[first],
            waves[first].text()
        ));
        for k in first + 1..first + length {
            let (before, factor) = (deviation(k - 1, dice), dice.between(-1.0, 1.0));
            equations.push(format!(
                "{} - {} + ({factor})*{before}",
                rate(k - 1),
                apart(k)
            ));
        }
        first += length;
    }
    for _ in 0..dice.below(3) {
        let (i, j) = (dice.below(n), dice.below(n));
        // A row with the vanishing coefficient is left alone: its locus stays readable.
        if i != j && (singular_time.is_none() || i != n_core && j != n_core) {
            let k = dice.below(n);
            equations[i] = format!("{} + cos(z{k})*({})", equations[i], equations[j]);
        }
    }
    Planted {
        text: model_of(&mixed, &equations),
        index: lengths.iter().copied().max().unwrap_or(0),
        degrees_of_freedom: n_core,
        singular_time,
        waves: mixed,
    }
}

/// Tries one problem: its index, and its solution by a method, `None` for the default.
pub fn try_planted(
    planted: &Planted,
    method: Option<Method>,
) -> [(&'static str, SelftestOutcome); 2] {
    let name = "planted";
    let loaded = daelight_lang::load(name, planted.text.as_bytes(), &Default::default());
    let system = loaded.model.as_ref().map(crate::system);
    let Some(Ok(system)) = system else {
        let messages = loaded.diagnostics.iter().map(|fault| fault.message.clone());
        let messages: Vec<String> = messages.collect();
        let wrong = SelftestOutcome::Wrong(format!("refused: {}", messages.join("; ")));
        return [("index", wrong.clone()), ("solution", wrong)];
    };
    [
        ("index", index(planted, &system)),
        ("solution", solution(planted, &system, method)),
    ]
}

fn index(planted: &Planted, system: &daelight_analysis::System) -> SelftestOutcome {
    let passport = match crate::analyze(system, &crate::Place::default()) {
        Ok(passport) => passport,
        Err(fault) => return SelftestOutcome::Open(fault.message),
    };
    match &passport.verdict {
        PointVerdict::Unknown { because } => return SelftestOutcome::Open(because.clone()),
        PointVerdict::Singular { .. } => return SelftestOutcome::Wrong("a singular point".into()),
        PointVerdict::Regular => {}
    }
    let Some(found) = passport.indices() else {
        return SelftestOutcome::Open("the structure alone answers".into());
    };
    let dof = found.degrees_of_freedom();
    if found.differentiation_index == Some(planted.index) && dof == planted.degrees_of_freedom {
        return SelftestOutcome::Right(0.0);
    }
    SelftestOutcome::Wrong(format!(
        "index {:?} with {dof} degrees of freedom instead of {} with {}",
        found.differentiation_index, planted.index, planted.degrees_of_freedom
    ))
}

fn solution(
    planted: &Planted,
    system: &daelight_analysis::System,
    method: Option<Method>,
) -> SelftestOutcome {
    let options = SolveOptions {
        rtol: Some(RTOL),
        method,
        budget: Some(BUDGET),
        ..Default::default()
    };
    let Ok(run) = crate::solve(system, &options) else {
        return SelftestOutcome::Open("no run".into());
    };
    let reached = run.reached();
    match (&run.run.stop, planted.singular_time) {
        (StopReason::Finished, None) => {}
        (StopReason::Finished, Some(time)) => {
            return SelftestOutcome::Wrong(format!("crossed the singularity at t = {time}"));
        }
        (StopReason::Singularity, Some(time)) => {
            let last = run.singularities.last();
            let found = last.map_or(f64::NAN, |last| last.found.time);
            let told = last.and_then(|last| last.uncertainty).unwrap_or(0.0);
            // A time is as good as the solution: Radau and BDF keep 100 tolerances.
            let same = match run.method {
                Method::Taylor => SAME_TIME,
                Method::Radau | Method::Bdf => RIGHT,
            };
            if found.is_nan() || (found - time).abs() > same.max(told) {
                return SelftestOutcome::Wrong(format!("a singularity at t = {found}, not {time}"));
            }
            if told > same {
                return SelftestOutcome::Open("the singular time is known to few digits".into());
            }
        }
        (StopReason::Singularity, None) => {
            return SelftestOutcome::Wrong(format!(
                "a singularity at t = {reached} that is not there"
            ));
        }
        (reason, _) => {
            let reason = format!("{reason:?}");
            let end = reason.find([' ', '(', '{']).unwrap_or(reason.len());
            return SelftestOutcome::Open(format!("run stopped: {}", &reason[..end]));
        }
    }
    // Before a singular time the solution is that of the regular problem.
    let time = if planted.singular_time.is_some() {
        0.9 * reached
    } else {
        reached
    };
    let Ok(Some(values)) = run.reader(system).values(time) else {
        return SelftestOutcome::Wrong(format!("no values at t = {time}"));
    };
    let mut worst = 0.0;
    for (value, wave) in values.iter().zip(&planted.waves) {
        let exact = wave.value(time);
        let error = (value - exact).abs() / exact.abs().max(1.0);
        if error.is_nan() || error > RIGHT {
            return SelftestOutcome::Wrong(format!("error {error:.1e} at t = {time}"));
        }
        worst = f64::max(worst, error);
    }
    SelftestOutcome::Right(worst)
}
