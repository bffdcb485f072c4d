//! The record of a run, and why there is none, in words.

use super::spectrum::{eigenvalue_record, spectrum_words};
use crate::floating::without_ground;
use crate::init::lacking;
use crate::solve::{Explained, NoRun, Solution};
use crate::tolerances::{SAME, SLIGHT};
use crate::zero_dynamics::ZeroDynamics;
use daelight_analysis::System;
use daelight_analysis::chain::CriticalKind;
use daelight_analysis::initial::{NoPoint, Request};
use daelight_analysis::judgement::{Judgement, PointVerdict};
use daelight_analysis::passport::Passport;
use daelight_integrate::implicit::Method;
use daelight_integrate::{
    BudgetKind, Failure, MAX_RESIDUAL, Nature, RatioFit, StartError, StopReason,
};
use daelight_lang::{Code, Diagnostic, FREE, Span, StopKind};
use daelight_show::record::{
    EnergyRecord, IndexChangeRecord, PhaseChangeRecord, PhaseRecord, SingularityRecord,
    SolveRecord, StatisticsRecord, StoppedRecord, SwitchRecord, Worth, ZeroDynamicsRecord,
    named_values,
};
use daelight_show::terminal::time_words;
use daelight_show::{count, told_time};
use std::time::Instant;

/// A factor this close to zero at a singular start is its locus.
const ON_LOCUS: f64 = 1e-8;
/// Switches that are looked at for jumps.
const MAX_SWITCHES: usize = 1000;

/// How a run went: the document of `solve --json`; `stop_when` is the condition that may have ended it, as written.
pub fn solve(system: &System, solution: &Solution, stop_when: Option<&str>) -> SolveRecord {
    let run = &solution.run;
    let reached = solution.reached();
    let mut reader = solution.reader(system);
    let last = reader.values(reached).ok().flatten().unwrap_or_default();
    let names = system.unknowns().iter().map(|u| u.name.as_str());
    let finite = last.iter().all(|value| value.is_finite());
    let residual = run.residual();
    let (mut status, mut reason, mut message, time) = ending(system, solution, reached);
    let stopped = match (&run.stop, stop_when) {
        (StopReason::Stopped { time }, Some(when)) if solution.broken.is_empty() => {
            let words = stop_words(system.stop_when().map(|stop| stop.kind), when);
            message = stopped_message(*time, solution.from, &words);
            Some(StoppedRecord {
                when: when.to_string(),
                time: *time,
            })
        }
        _ => None,
    };
    if status == "success" && !(residual <= MAX_RESIDUAL && finite) {
        (status, reason) = ("failure", "residual");
        message = format!(
            "the end was reached, but a constraint has the residual {residual:.1e}: the values cannot be relied on"
        );
    }
    let s = &run.statistics;
    let method = match solution.method {
        Method::Taylor => "taylor",
        Method::Radau => "radau",
        Method::Bdf => "bdf",
    };
    let mut warnings = remarks(system, solution, method);
    if let (Some(when), "success", None) = (stop_when, status, &stopped) {
        warnings.push(never_held(when));
    }
    let (singularities, switches) = met(system, solution);
    SolveRecord {
        status,
        reason,
        message,
        stopped,
        energy: solution.energy(system).map(|energy| EnergyRecord {
            start: energy.start,
            end: energy.end,
            max_drift: energy.max_drift,
        }),
        method: method.to_string(),
        time,
        last: named_values(names.zip(last.iter().copied())),
        singularities,
        statistics: StatisticsRecord {
            steps: s.steps,
            implicit_steps: s.implicit_steps,
            rejected: s.rejected,
            residuals: s.residuals,
            jacobians: s.jacobians,
            factorizations: s.factorizations,
            jets: s.jets,
        },
        max_constraint_residual: residual,
        residuals: run.residuals.clone(),
        index_changes: index_changes(solution),
        switches,
        events: None,
        modes: None,
        zero_dynamics: solution.zero_dynamics.as_ref().map(zero_dynamics_record),
        estimated_error: None,
        sensitivities: None,
        reliable_until: None,
        discretisation: None,
        samples: None,
        warnings,
        view: None,
    }
}

/// What is to be said of a run that ended as its record tells.
fn remarks(system: &System, solution: &Solution, method: &str) -> Vec<String> {
    let mut remarks = solution.warnings.clone();
    remarks.extend(super::start::followed(&solution.start));
    if let (Some(reason), true) = (&solution.reason, solution.method != Method::Taylor) {
        remarks.push(format!("The method {method} was chosen: {reason}."));
    }
    if let Some(text) = solution.repair_text() {
        remarks.push(format!("The equations were rewritten: {text}."));
    }
    if let Some(found) = &solution.zero_dynamics {
        remarks.extend(phase_warnings(found));
    }
    // Further ahead than the run is long, an extrapolation says nothing.
    let length = (solution.reached() - solution.from).abs();
    let expected = solution.run.expected.as_ref();
    if let Some(expected) = expected.filter(|e| e.distance <= length) {
        remarks.push(format!(
            "A singularity lies ahead, at about t = {}; the run ended before it.",
            forecast(expected.time, expected.distance),
        ));
    }
    remarks.extend(impulses(system, solution));
    remarks
}

/// What is said of a condition to stop at that the run did not meet.
pub(crate) fn never_held(when: &str) -> String {
    format!("`{when}` did not begin to hold.")
}

/// What a run met: singular points, and times at which its equations changed a branch.
pub(crate) fn met(
    system: &System,
    solution: &Solution,
) -> (Vec<SingularityRecord>, Vec<SwitchRecord>) {
    let singularities = solution.singularities.iter();
    let singularities = singularities.map(|found| singularity(system, solution, found));
    let switches = solution.run.switches.iter().map(|switch| SwitchRecord {
        time: switch.time,
        expression: solution.expression_text(system, switch.expr),
        worth: match solution.is_of_time(switch.expr) {
            true => Worth::Proved,
            false => Worth::Likely,
        },
    });
    (singularities.collect(), switches.collect())
}

/// `success`, `singularity` or `failure`.
pub fn status_of(solution: &Solution) -> &'static str {
    match solution.run.stop {
        StopReason::Finished => "success",
        StopReason::Singularity | StopReason::FiniteEscape { .. } => "singularity",
        _ => "failure",
    }
}

/// What to know of the start of an inverse model before it is run.
pub fn phase_warnings(found: &ZeroDynamics) -> Vec<String> {
    let start = found.points.first();
    match start.map(|point| (&point.spectrum, point.minimum_phase())) {
        Some((Ok(spectrum), Some(false))) => vec![format!(
            "This inverse model is not minimum phase at its start. {}",
            spectrum_words(spectrum, true)
        )],
        _ => Vec::new(),
    }
}

/// The zero dynamics of a run as a record.
fn zero_dynamics_record(found: &ZeroDynamics) -> ZeroDynamicsRecord {
    ZeroDynamicsRecord {
        points: found
            .points
            .iter()
            .map(|point| PhaseRecord {
                time: point.time,
                minimum_phase: point.minimum_phase(),
                eigenvalues: point
                    .spectrum
                    .as_ref()
                    .ok()
                    .map(|found| found.eigenvalues.iter().map(eigenvalue_record).collect()),
            })
            .collect(),
        changes: found
            .changes()
            .iter()
            .map(|change| PhaseChangeRecord {
                from: change.from,
                to: change.to,
                minimum_phase: change.minimum_phase,
            })
            .collect(),
    }
}

/// Points of a run at which no index is defined, and the change that ended it.
fn index_changes(solution: &Solution) -> Vec<IndexChangeRecord> {
    let passed = solution.singularities.iter();
    let passed = passed.filter(|explained| explained.found.nature == Nature::Removable);
    let passed = passed.map(|explained| IndexChangeRecord {
        time: explained.found.time,
        what: "the index is not defined at this point; before and after it is the same".to_string(),
    });
    passed.chain(change_of_index(&solution.run.stop)).collect()
}

/// The change of index that ended a run.
fn change_of_index(stop: &StopReason) -> Option<IndexChangeRecord> {
    let StopReason::IndexChange {
        time,
        before,
        after: Some(after),
    } = stop
    else {
        return None;
    };
    Some(IndexChangeRecord {
        time: *time,
        what: format!(
            "ranks of the derivative array change: {before} degrees of freedom before, {after} here"
        ),
    })
}

/// Status, reason, sentence and time of the end of a run.
pub(super) type Ending = (&'static str, &'static str, String, f64);

pub(super) fn ending(system: &System, solution: &Solution, reached: f64) -> Ending {
    let stop = &solution.run.stop;
    let (status, reason) = match stop {
        StopReason::Stopped { .. } if !solution.broken.is_empty() => ("failure", "assertion"),
        StopReason::Stopped { .. } => ("success", "stopped"),
        StopReason::Interrupted => ("failure", "interrupted"),
        StopReason::Finished => ("success", "finished"),
        StopReason::Singularity => return singular_ending(system, solution, reached),
        StopReason::FiniteEscape { .. } => ("singularity", "escape"),
        StopReason::ErrorsGrow { .. } => ("failure", "errors"),
        StopReason::AccuracyLost { .. } => ("failure", "accuracy"),
        StopReason::Chattering {
            leads_back: true, ..
        } => ("failure", "chattering"),
        StopReason::Chattering { .. } | StopReason::Meeting { .. } => ("failure", "no-side"),
        StopReason::Ambiguous { .. } => ("failure", "ambiguous"),
        StopReason::IndexChange { after: None, .. } | StopReason::Rewriting { .. } => {
            ("failure", "unclear")
        }
        StopReason::IndexChange { .. } => ("singularity", "index_change"),
        StopReason::Budget(_) => ("failure", "budget"),
        StopReason::Failed { .. } => ("failure", "fault"),
        _ => ("failure", "unknown"),
    };
    let (words, time) = words_of_end(system, solution, reached);
    (status, reason, words, time)
}

/// Where a run ended, and why, in a sentence.
fn words_of_end(system: &System, solution: &Solution, reached: f64) -> (String, f64) {
    let from = solution.from;
    match &solution.run.stop {
        StopReason::Stopped { time } if !solution.broken.is_empty() => {
            let broken = solution.broken.join("; ");
            let when = significant(*time);
            let words = format!(
                "the run ended at t = {when}, where an assertion of the model fails: {broken}"
            );
            (words, *time)
        }
        StopReason::Stopped { time } => (format!("stopped at t = {}", told_time(*time)), *time),
        StopReason::Interrupted => (
            format!("interrupted at t = {reached}; what was computed up to there is kept"),
            reached,
        ),
        StopReason::Finished => {
            let over = match solution.singularities.len() {
                0 => String::new(),
                1 => ", over a singularity".to_string(),
                n => format!(", over {n} singularities"),
            };
            (
                format!("solved from t = {from} to {reached}{over}"),
                reached,
            )
        }
        StopReason::FiniteEscape { time, fits } => {
            (words_of_escape(system, solution, *time, fits), *time)
        }
        StopReason::ErrorsGrow { time, finer } => (words_of_errors(from, *time, *finer), reached),
        StopReason::AccuracyLost {
            time,
            step,
            residual,
        } => (
            format!(
                "the accuracy asked for cannot be kept at t = {time}: step {step:.1e}, residual {residual:.1e}; ask for less with --rtol"
            ),
            *time,
        ),
        StopReason::Chattering { time, expr, .. }
        | StopReason::Meeting { time, expr }
        | StopReason::Ambiguous { time, expr } => {
            let switch = solution.expression_text(system, *expr);
            (words_at_switch(&solution.run.stop, *time, &switch), *time)
        }
        StopReason::IndexChange { time, .. } | StopReason::Rewriting { time, .. } => {
            (words_of_change(&solution.run.stop, *time), *time)
        }
        StopReason::Budget(kind) => (
            format!(
                "the run ended at t = {reached}: {}",
                words_of_budget(solution, *kind)
            ),
            reached,
        ),
        StopReason::Failed { time, failure } => {
            let why = match failure {
                Failure::Fault(fault) => solution.explain_fault(system, fault),
                other => other.to_string(),
            };
            (format!("the run ended at t = {time}: {why}"), *time)
        }
        other => (
            format!("the run ended at t = {reached}: {other:?}"),
            reached,
        ),
    }
}

/// That a solution leaves every bound.
fn words_of_escape(system: &System, solution: &Solution, time: f64, fits: &[RatioFit]) -> String {
    let names = fits
        .iter()
        .map(|fit| solution.unknown_name(system, fit.unknown));
    let names: Vec<String> = names.collect();
    format!(
        "the solution grows without bound towards t = {} ({}), although its equations stay regular",
        told_time(time),
        names.join(", ")
    )
}

/// That what grows are errors: a finer run grows at another time.
fn words_of_errors(from: f64, time: f64, finer: f64) -> String {
    let [when, other] = [time, finer].map(daelight_show::short);
    let it_comes = match (finer - from).abs() < (time - from).abs() {
        true => format!("already towards t = {other}"),
        false => format!("it comes to t = {other}"),
    };
    format!(
        "errors take over: what was computed grows without bound towards t = {when}, and with a hundredth of the tolerance {it_comes}"
    )
}

/// That a run cannot go on beyond a switch.
fn words_at_switch(stop: &StopReason, time: f64, switch: &str) -> String {
    match stop {
        StopReason::Chattering {
            leads_back: true, ..
        } => format!(
            "the model chatters at t = {time}: `{switch}` switches back at once, so the solution slides along the switch"
        ),
        StopReason::Chattering { .. } => format!(
            "the run ends at t = {time}, where `{switch}` switches: no solution of the equations beyond it was found that begins at the values there; if unknowns jump there, let a `when` change a discrete variable and let the equations read that"
        ),
        StopReason::Meeting { .. } => format!(
            "the run ends at t = {time}, where `{switch}` switches: two solutions meet there and end, and not exactly one other was found to jump to; let a `when` change a discrete variable and let the equations read that"
        ),
        _ => format!(
            "at t = {time} the start lies where `{switch}` switches, and a different solution begins on each side"
        ),
    }
}

/// That the equations are of another kind from here on, or may be.
fn words_of_change(stop: &StopReason, time: f64) -> String {
    match stop {
        StopReason::IndexChange { after: Some(_), .. } => {
            format!("the run ended at t = {time}: index or degrees of freedom change there")
        }
        StopReason::Rewriting {
            model_is_regular, ..
        } => format!(
            "the run ended at t = {time}, where the rewritten equations are singular: {}",
            match model_is_regular {
                true =>
                    "the model itself is regular there, but no other way past this point was found",
                false => "whether the model itself is singular there is unknown",
            }
        ),
        _ => format!(
            "the run ended at t = {time}: the singular values of its derivative array leave no gap there, so its ranks are unknown"
        ),
    }
}

/// What was used up, and how to allow more.
fn words_of_budget(solution: &Solution, kind: BudgetKind) -> &'static str {
    match kind {
        BudgetKind::Steps | BudgetKind::Time if makes_no_headway(solution) => {
            "the steps lead nowhere any more: a flow that stops with an infinite slope, sqrt(x) at x = 0, or \
             switching without end are the usual causes; stop before it with --stop-when, or make the law linear near zero"
        }
        BudgetKind::Steps => "all steps are used up; allow more with --max-steps",
        BudgetKind::Time => "the time is used up; allow more with --budget",
        BudgetKind::Memory => {
            "its series take too much memory; ask for fewer points with --save-at"
        }
    }
}

/// The end of a run at a singularity: what vanishes there, and where that stands.
fn singular_ending(system: &System, solution: &Solution, reached: f64) -> Ending {
    let last = solution.singularities.last();
    let time = last.map_or(reached, |explained| explained.found.time);
    let when = time_words(time, last.and_then(|explained| explained.uncertainty));
    let advice = last.map_or("", |explained| {
        passing_advice(solution, explained.found.nature)
    });
    let cause = last.and_then(|explained| Some((explained, explained.role.as_ref()?)));
    let cause = cause.map_or(String::new(), |(explained, role)| {
        let equation = explained.equations.first();
        let place = equation.map_or(String::new(), |&i| {
            format!(" in {}", equation_place(system, i))
        });
        format!(": {role} vanishes{place}")
    });
    (
        "singularity",
        "singularity",
        format!("the run ended at a singularity at t = {when}{cause}{advice}"),
        time,
    )
}

/// How to pass a singularity that ended a run, if the solution passes it.
fn passing_advice(solution: &Solution, nature: Nature) -> &'static str {
    let is_by_series = solution.method == Method::Taylor;
    match (nature, solution.continues) {
        (Nature::Removable, false) => "; --on-singularity continue passes it",
        (Nature::Steep, false) => "; --method taylor --on-singularity continue passes it",
        (Nature::Removable | Nature::Steep, true) if is_by_series => {
            "; the solution goes on behind it, but the steps found no way past: try another --rtol"
        }
        (Nature::Removable | Nature::Steep, true) => {
            "; the solution goes on behind it, but the steps found no way past: try --method taylor or another --rtol"
        }
        _ => "",
    }
}

/// An equation with its line.
fn equation_place(system: &System, equation: usize) -> String {
    let written = &system.written()[equation];
    let source = system.sources().get(written.span.source);
    let (line, _) = source.line_column(written.span.start);
    format!("`{}`, line {line}", system.equation_text(equation))
}

/// Differentiated unknowns that jump where the model switches: their derivatives have impulses that no number shows.
fn impulses(system: &System, solution: &Solution) -> Vec<String> {
    let mut reader = solution.reader(system);
    let mut differentiated: Vec<usize> = system
        .equations()
        .pattern(1)
        .columns()
        .iter()
        .map(|&j| j as usize)
        .collect();
    differentiated.sort_unstable();
    differentiated.dedup();
    let mut found = Vec::new();
    let switches = solution.run.switches.iter().map(|s| (s.time, s.expr));
    let entries = solution.run.slides.iter().map(|s| (s.from, s.expr));
    for (time, expr) in switches.chain(entries).take(MAX_SWITCHES) {
        let aside = f64::EPSILON.sqrt() * time.abs().max(1.0);
        let mut at = |steps: f64| reader.values(time + steps * aside).ok().flatten();
        let (Some(a), Some(b), Some(c), Some(d)) = (at(-3.0), at(-1.0), at(1.0), at(3.0)) else {
            continue;
        };
        let jumps = |&j: &usize| {
            let size = b[j].abs() + system.unknowns()[j].nominal.unwrap_or(1.0).abs();
            let smooth = (b[j] - a[j]).abs() + (d[j] - c[j]).abs();
            (c[j] - b[j]).abs() > SAME * size + 10.0 * smooth
        };
        let jumped: Vec<usize> = differentiated.iter().copied().filter(jumps).collect();
        let left_out = left_out(system, &differentiated, &jumped);
        found.extend(jumped.into_iter().map(|j| {
            format!(
                "At t = {} `{}` jumps, where `{}` switches: its derivative has an impulse there.",
                told_time(time),
                system.unknowns()[j].name,
                solution.expression_text(system, expr)
            )
        }));
        found.extend(left_out.into_iter().map(|(j, row)| {
            let name = &system.unknowns()[j].name;
            let place = equation_place(system, row);
            let time = told_time(time);
            format!("At t = {time} that impulse is in {place}, too: what it adds to `{name}` is left out.")
        }));
    }
    found
}

/// Integrals that nothing else reads and that do not jump though an impulse is in their equation, with that equation. Impulses are the derivatives of
/// what jumps, and unknowns without a derivative that an equation ties to them.
fn left_out(system: &System, differentiated: &[usize], jumped: &[usize]) -> Vec<(usize, usize)> {
    if jumped.is_empty() {
        return Vec::new();
    }
    let [values, rates] = [0, 1].map(|order| system.equations().pattern(order));
    let in_row = |pattern: &daelight_expr::Sparsity, row: usize| -> Vec<usize> {
        let columns = pattern.row(row).map(|at| pattern.columns()[at] as usize);
        columns.collect()
    };
    let mut tied: Vec<usize> = Vec::new();
    let has_impulse = |row: usize, tied: &[usize]| {
        in_row(rates, row).iter().any(|j| jumped.contains(j))
            || in_row(values, row).iter().any(|j| tied.contains(j))
    };
    loop {
        let before = tied.len();
        for row in 0..system.equations().n_equations() {
            if has_impulse(row, &tied) {
                let more = in_row(values, row).into_iter();
                let more = more.filter(|j| !differentiated.contains(j) && !tied.contains(j));
                let more: Vec<usize> = more.collect();
                tied.extend(more);
            }
        }
        if tied.len() == before {
            break;
        }
    }
    let is_read = |unknown: &usize| {
        let of = |column: &&u32| **column as usize == *unknown;
        values.columns().iter().any(|column| of(&column))
            || rates.columns().iter().filter(of).count() > 1
    };
    let rows = 0..system.equations().n_equations();
    rows.filter(|&row| has_impulse(row, &tied))
        .flat_map(|row| in_row(rates, row).into_iter().map(move |j| (j, row)))
        .filter(|(j, _)| !jumped.contains(j) && !is_read(j))
        .collect()
}

/// A time ahead, to a thousandth of how far ahead it is: a forecast is worth no more. One of a lift by 1/3 was off by 7e-5.
fn forecast(time: f64, distance: f64) -> String {
    let digits = 2.0 - distance.log10().floor();
    format!("{time:.0$}", digits.clamp(0.0, 15.0) as usize)
}

/// Five digits.
fn significant(value: f64) -> String {
    let text = format!("{value:.4e}");
    let rounded: f64 = text.parse().unwrap_or(value);
    rounded.to_string()
}

/// Whether the last half of the steps, or all that were tried since, covered hardly any of the run.
fn makes_no_headway(solution: &Solution) -> bool {
    let segments = solution.run.trajectory.segments();
    let statistics = &solution.run.statistics;
    let Some(middle) = segments.get(segments.len() / 2) else {
        return true;
    };
    let covered = (solution.reached() - middle.start).abs();
    statistics.rejected > segments.len()
        || covered < SLIGHT * (solution.reached() - solution.from).abs()
}

/// A direction, which has no sign of its own, with its largest component positive: rounding must not turn it about.
fn directed(vector: &[f64]) -> Vec<f64> {
    let largest =
        vector.iter().copied().fold(
            0.0,
            |largest: f64, v| {
                if v.abs() > largest.abs() { v } else { largest }
            },
        );
    let sign = if largest < 0.0 { -1.0 } else { 1.0 };
    vector.iter().map(|v| sign * v + 0.0).collect()
}

fn singularity(system: &System, solution: &Solution, explained: &Explained) -> SingularityRecord {
    let found = &explained.found;
    let names = explained.unknowns.iter().map(String::as_str);
    let equations = explained.equations.iter();
    SingularityRecord {
        time: found.time,
        uncertainty: explained.uncertainty,
        kind: explained.kind.map(|kind| kind.to_string()),
        nature: found.nature.to_string(),
        // Beyond every bound no point satisfies the equations, so nothing is checked there.
        worth: match found.nature {
            Nature::Unbounded | Nature::Unresolved | Nature::Steep => Worth::Likely,
            _ => Worth::Confirmed,
        },
        locus: explained.locus.clone(),
        role: explained.role.clone(),
        equations: equations
            .clone()
            .map(|&i| system.equation_text(i))
            .collect(),
        unknowns: explained.unknowns.clone(),
        null_vector: named_values(names.zip(directed(&found.null_vector))),
        kind_words: explained.kind.map(|kind| match kind {
            CriticalKind::RankDrop(k) => {
                format!("Kind {kind}: the matrix chain loses rank at its level {k}.")
            }
            CriticalKind::KernelsMeet(k) => {
                format!(
                    "Kind {kind}: at level {k} of the matrix chain a kernel meets the earlier ones."
                )
            }
        }),
        lines: equations.map(|&i| system.equation_line(i)).collect(),
        numbers: evidence(system, solution, explained),
        scene: None,
    }
}

/// The numbers behind a singularity.
fn evidence(system: &System, solution: &Solution, explained: &Explained) -> Vec<(String, String)> {
    let evidence = &explained.found.evidence;
    let yes = |is: bool| if is { "yes" } else { "no" }.to_string();
    let mut rows = vec![
        ("time", format!("{}", explained.found.time)),
        (
            "least over greatest singular value of the equilibrated block there",
            format!("{:.1e}", evidence.singular_ratio),
        ),
        (
            "the determinant changes its sign",
            yes(evidence.sign_change),
        ),
        (
            "distance at which the nature was decided",
            format!("{:.1e}", evidence.distance),
        ),
        (
            "step that the series allow there",
            format!("{:.1e}", evidence.step),
        ),
    ];
    if let Some(jump) = &evidence.jump {
        rows.push(("last expansion before", format!("{}", jump.from)));
        rows.push(("first expansion after", format!("{}", jump.to)));
        rows.push(("residual after the jump", format!("{:.1e}", jump.residual)));
        let mismatch = format!("{:.1e}", jump.mismatch);
        rows.push(("difference of the series from both sides", mismatch));
    }
    let rows = rows
        .into_iter()
        .map(|(name, value)| (name.to_string(), value));
    let fits = evidence.fits.iter().map(|fit| {
        let unknown = solution.unknown_name(system, fit.unknown);
        (
            format!("exponent of {unknown} towards the singularity"),
            format!("{:.3}", fit.exponent),
        )
    });
    rows.chain(fits).collect()
}

/// Whose fault it is that there is no run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// That of the model or of its values.
    ModelAtFault,
    /// The start is singular.
    SingularStart,
    /// The numerics gave up.
    GaveUp,
}

/// What a stopping expression did where it ended a run.
fn stop_words(kind: Option<StopKind>, when: &str) -> String {
    match kind {
        Some(StopKind::Number) => format!("`{when}` changes its sign"),
        _ => format!("`{when}`"),
    }
}

/// That a condition ended a run; one that holds at the start leaves nothing to run.
pub(super) fn stopped_message(time: f64, from: f64, words: &str) -> String {
    match time == from {
        true => format!("stopped at t = {time}: {words} already at the start"),
        false => format!("stopped at t = {time}, where {words}"),
    }
}

/// Why there is no run, in words.
#[derive(Clone, Debug)]
pub enum RunRefusal {
    /// A mistake with a place or a code.
    Diagnostic(Box<Diagnostic>),
    /// A sentence, maybe with more lines, and one thing to do.
    Said {
        /// Whose fault it is.
        kind: RefusalKind,
        /// What is wrong.
        message: String,
        /// One thing to do.
        help: String,
    },
}

/// A parameter that is 0 and whose value 1 makes the equations determine all unknowns: a mass or a length that was left out.
fn vanished_parameter(system: &System, time: f64) -> Option<String> {
    let parameters = system.parameters();
    let zeros = (0..parameters.len())
        .filter(|&at| parameters.values()[at] == 0.0 && parameters.settable(at).is_ok());
    let determines = |at: &usize| {
        let mut other = system.clone();
        if other.set_parameters(&[(*at, 1.0)]).is_err() {
            return false;
        }
        let judgement = Judgement::new(&other, &Request::of_model(&other, time, 0));
        let indices = judgement.indices();
        indices.is_some_and(|all| all.strangeness.n_free == 0)
    };
    let deadline = Instant::now() + Request::of_model(system, time, 0).budget;
    let mut zeros = zeros.take_while(|_| Instant::now() < deadline);
    let at = zeros.find(determines)?;
    Some(parameters.name(at).to_string())
}

fn has_fixed(system: &System) -> bool {
    system.unknowns().iter().any(|unknown| unknown.fixed)
}

/// Says why there is no run of `model`, the name under which the user knows it.
pub fn refusal(system: &System, no_run: NoRun, model: &str) -> RunRefusal {
    let of_equations = matches!(
        no_run,
        NoRun::NoStart(_)
            | NoRun::SingularStart(_)
            | NoRun::Undetermined(_)
            | NoRun::Equations(_)
            | NoRun::Start(_)
    );
    if let Some(diagnostic) = without_ground(system).filter(|_| of_equations) {
        return RunRefusal::Diagnostic(diagnostic.into());
    }
    let (kind, (message, help)) = match no_run {
        NoRun::Fault(diagnostic) => return RunRefusal::Diagnostic(diagnostic),
        NoRun::NotSquare => (RefusalKind::ModelAtFault, not_square(system, model)),
        NoRun::NoStart(passport) if passport.budget_reached => {
            let found = words_of_start(system, &passport);
            let message = format!("no consistent start was found in time\n  {found}");
            let help = "allow more time with --budget".to_string();
            (RefusalKind::GaveUp, (message, help))
        }
        NoRun::NoStart(passport) => (RefusalKind::ModelAtFault, no_start(system, &passport)),
        NoRun::SingularStart(passport) => (
            RefusalKind::SingularStart,
            singular_start(system, &passport, model),
        ),
        NoRun::Undetermined(passport) => (
            RefusalKind::ModelAtFault,
            undetermined(system, &passport, model),
        ),
        NoRun::Equations(because) => {
            let message = format!("the equations cannot be integrated as they stand: {because}");
            let from = system.experiment().start_time.unwrap_or(0.0);
            let help = determined_by_parameter(system, from).unwrap_or_else(|| {
                format!("see `daelight analyze {model}` for what kind of system it is")
            });
            (RefusalKind::ModelAtFault, (message, help))
        }
        NoRun::BeyondData { input, data, run } => {
            let message = format!(
                "the run from t = {} to {} leaves the data of the input `{input}`, which go from t = {} to {}",
                run.0, run.1, data.0, data.1
            );
            let diagnostic = Diagnostic::placeless(Code::BadInput, message)
                .help("end the run earlier with --to, or give data for all of it");
            return RunRefusal::Diagnostic(diagnostic.into());
        }
        NoRun::Start(error) => {
            let help = help_against(&error).to_string();
            (RefusalKind::GaveUp, (error.to_string(), help))
        }
    };
    RunRefusal::Said {
        kind,
        message,
        help,
    }
}

/// What is wrong, and one thing to do.
type Advice = (String, String);

fn words_of_start(system: &System, passport: &Passport) -> String {
    super::analyze::warnings_of_start(system, passport).join("\n  ")
}

/// That equations and unknowns do not match, in number or in place.
fn not_square(system: &System, model: &str) -> Advice {
    let equations = system.equations();
    let (n, m) = (equations.n_equations(), equations.n_unknowns());
    let source_of = |span: Span| system.sources().get(span.source).name();
    let written = system.written().iter();
    let n_joined = written.filter(|e| source_of(e.span) == FREE).count();
    let message = match n_joined {
        _ if n == m => format!(
            "the {n} equations do not match the {n} unknowns: some have too many equations, others too few"
        ),
        0 => format!("{n} equations for {m} unknowns do not match"),
        joined => {
            format!("{n} equations for {m} unknowns do not match, {joined} of them from --free")
        }
    };
    let help = if n < m {
        format!(
            "write {} more, in the model or with --free \"NAME=EXPRESSION\"; `daelight check {model}` shows where",
            count(m - n, "equation")
        )
    } else if n_joined > 0 {
        "leave out --free, or an equation of the model that the others imply: what --free gives takes the place of a \
         missing one, and none is missing"
            .to_string()
    } else {
        format!("see `daelight check {model}` for what is too much")
    };
    (message, help)
}

/// That no consistent start was found.
fn no_start(system: &System, passport: &Passport) -> Advice {
    let found = words_of_start(system, passport);
    let help = match &passport.point {
        Err(NoPoint::Fault(_)) => {
            "start where every equation and its derivatives have a value: with other start values, or at another time with --from"
        }
        _ if has_fixed(system) => {
            "give start values closer to a consistent point, or free some that are fixed"
        }
        _ => "give start values closer to a consistent point, or other parameters if there is none",
    };
    let message = format!("no consistent start was found\n  {found}");
    (message, help.to_string())
}

/// That the start is singular, and where that stands.
fn singular_start(system: &System, passport: &Passport, model: &str) -> Advice {
    let kind = match &passport.verdict {
        PointVerdict::Singular { kind: Some(kind) } => format!(" of kind {kind}"),
        _ => String::new(),
    };
    let locus = passport.jet().and_then(|jet| {
        let (locus, distance) = passport.nearest_locus(system, passport.time, jet)?;
        (distance < ON_LOCUS).then(|| locus.factor.clone())
    });
    let place = locus.map_or(String::new(), |factor| format!(", where {factor} = 0"));
    let found = words_of_start(system, passport);
    let message = format!("the start is a singular point{kind}{place}\n  {found}");
    let by_parameter = || {
        let name = vanished_parameter(system, passport.time)?;
        Some(format!(
            "give `{name}` another value than 0: the start is regular then"
        ))
    };
    let help = lacking(system, passport).or_else(by_parameter);
    let help = help.unwrap_or_else(|| {
        format!("start at another time with --from, from other values or with other parameters; `daelight init {model} --nearest-regular` finds the nearest regular start")
    });
    (message, help)
}

/// That the equations leave unknowns free.
fn undetermined(system: &System, passport: &Passport, model: &str) -> Advice {
    let found = passport.indices().map(|all| all.strangeness);
    let (free, implied) = found.map_or((0, 0), |s| (s.n_free, s.n_redundant));
    let message = format!(
        "the equations leave {} free, and {} from the others: no run begins",
        count(free, "unknown"),
        match implied {
            1 => "1 equation follows".to_string(),
            n => format!("{n} equations follow"),
        }
    );
    let help = determined_by_parameter(system, passport.time)
        .or_else(|| lacking(system, passport))
        .unwrap_or_else(|| format!("see `daelight analyze {model}` for what is free"));
    (message, help)
}

fn determined_by_parameter(system: &System, time: f64) -> Option<String> {
    let name = vanished_parameter(system, time)?;
    Some(format!(
        "give `{name}` another value than 0: the equations determine all unknowns then"
    ))
}

/// What to do where the integrator cannot start.
fn help_against(error: &StartError) -> &'static str {
    match error {
        StartError::StructureFails => {
            "start elsewhere, with other start values or another --from; where --method is radau or bdf, taylor may go on"
        }
        StartError::Options => "give --rtol and --atol between 0 and 1, and a finite --to",
        StartError::Unsuitable(_) => "choose another --method, such as taylor",
        StartError::Guess => "give every start value as a finite number",
        _ => "give start values closer to a consistent point; `daelight init` looks for one",
    }
}
