//! The record of a run with events.

use super::run::{Ending, ending, stopped_message};
use crate::hybrid::{Given, HybridEnd, HybridSolution, ListedMode, StartMode};
use daelight_integrate::implicit::Method;
use daelight_lang::{Model, Span, Type};
use daelight_show::record::{
    DiscreteStartRecord, ListedModeRecord, ModeList, ModeRecord, ModesRecord, SolveRecord,
    StartRecord, StatisticsRecord, StoppedRecord, named_values,
};

use std::sync::Arc;

/// How a run with events went: the document of `solve --json`.
pub fn hybrid(model: &Model, solution: &HybridSolution, stop_when: Option<&str>) -> SolveRecord {
    let (status, reason, message, time) = words(model, solution, stop_when);
    let names = model.unknowns.iter().map(|u| u.name.as_str());
    let mut last = named_values(names.zip(solution.last.iter().copied()));
    if let Some(hybrid) = &model.hybrid {
        let shown = hybrid.variables.iter().filter(|v| !v.is_hidden);
        let shown = shown.map(|v| (v.name.as_str(), solution.parameters[v.parameter]));
        last.extend(named_values(shown));
    }
    let residual = solution.residuals.iter().copied().fold(0.0, f64::max);
    let s = &solution.statistics;
    SolveRecord {
        status,
        reason,
        message,
        method: match solution.method {
            Method::Taylor => "taylor",
            Method::Radau => "radau",
            Method::Bdf => "bdf",
        }
        .to_string(),
        time,
        last,
        statistics: StatisticsRecord {
            steps: s.steps,
            implicit_steps: s.implicit_steps,
            rejected: s.rejected,
            residuals: s.residuals,
            jacobians: s.jacobians,
            factorizations: s.factorizations,
            jets: s.jets,
        },
        stopped: match (&solution.end, stop_when) {
            (HybridEnd::Stopped, Some(when)) => Some(StoppedRecord {
                when: when.to_string(),
                time,
            }),
            _ => None,
        },
        max_constraint_residual: residual,
        residuals: solution.residuals.clone(),
        singularities: solution.singularities.clone(),
        switches: solution.switches.clone(),
        events: Some(Arc::clone(&solution.events)),
        modes: Some(mode_list(model, solution)),
        warnings: {
            let mut warnings = solution.warnings.clone();
            if let (Some(when), "success", false) = (
                stop_when,
                status,
                matches!(solution.end, HybridEnd::Stopped),
            ) {
                warnings.push(super::run::never_held(when));
            }
            warnings
        },
        ..SolveRecord::default()
    }
}

fn mode_list(model: &Model, solution: &HybridSolution) -> ModeList {
    // Modes count in the order in which they were met; others were tried only.
    let mut met: Vec<usize> = Vec::new();
    for &(mode, ..) in solution.spans.iter() {
        if !met.contains(&mode) {
            met.push(mode);
        }
    }
    let number = |mode: usize| met.iter().position(|known| *known == mode);
    let modes = solution.modes.iter().enumerate();
    let modes = modes.map(|(at, mode)| ModeRecord {
        from: solution.from,
        to: solution.reached,
        mode: number(at).map_or(0, |at| at + 1),
        conditions: crate::hybrid::conditions(model, mode).into(),
        index: mode.index,
        dof: mode.dof,
    });
    ModeList {
        modes: modes.collect(),
        spans: Arc::clone(&solution.spans),
    }
}

/// Why there is no start, or why a run ended at an event.
pub(crate) fn end_words(model: &Model, end: &HybridEnd, time: f64) -> String {
    match end {
        HybridEnd::StartConflict { name, values, span } => {
            let line = model.sources.get(span.source).line_column(span.start).0;
            format!(
                "the start of `{name}`, line {line}, contradicts itself: {} and {}; drop `fixed = true` or an initial equation",
                values[0], values[1]
            )
        }
        other => at_event(other, time).2,
    }
}

/// Status, reason, sentence and time of the end.
fn words(model: &Model, solution: &HybridSolution, stop_when: Option<&str>) -> Ending {
    let reached = solution.reached;
    let line = |span: &Span| {
        let source = model.sources.get(span.source);
        source.line_column(span.start).0
    };
    let failure = |reason, message| ("failure", reason, message, reached);
    match &solution.end {
        HybridEnd::Finished => {
            let n = solution.events.len();
            let what = if n == 1 { "event" } else { "events" };
            let message = format!(
                "solved from t = {} to {reached}, with {n} {what}",
                solution.from
            );
            ("success", "finished", message, reached)
        }
        HybridEnd::Stopped => {
            let when = stop_when.unwrap_or("the stopping condition holds");
            let message = stopped_message(reached, solution.from, &format!("`{when}`"));
            ("success", "stopped", message, reached)
        }
        HybridEnd::Terminated { message, span } => {
            let message = format!(
                "terminated at t = {reached}, line {}: {message}",
                line(span)
            );
            ("success", "terminated", message, reached)
        }
        HybridEnd::Asserted { message, span } => failure(
            "assert",
            format!(
                "an assert fails at t = {reached}, line {}: {message}",
                line(span)
            ),
        ),
        HybridEnd::Continuous(ended) => ending(&ended.0, &ended.1, reached),
        HybridEnd::NoRun(refused) => {
            let (system, _) = &**refused;
            let message = match refused_words(&refused.1) {
                Some(said) => said,
                None => format!("the equations of `{}` cannot be run", system.name()),
            };
            failure(
                "no-run",
                format!("the run ended at t = {reached}: {message}"),
            )
        }
        HybridEnd::StartConflict { .. } => {
            failure("conflict", end_words(model, &solution.end, reached))
        }
        other => at_event(other, reached),
    }
}

/// The modes that the conditions in a text allow.
pub fn modes(model: &Model, listed: &[ListedMode], is_whole: bool) -> ModesRecord {
    let record = |mode: &ListedMode| ListedModeRecord {
        conditions: mode.conditions.clone(),
        index: mode.index,
        dof: mode.dof,
        singular: mode.singular.clone(),
        differentiated: mode.differentiated.clone(),
    };
    ModesRecord {
        model: model.name.clone(),
        is_whole,
        modes: listed.iter().map(record).collect(),
    }
}

/// Which equations hold at the start of a model with events.
pub fn start_conditions(start: &StartMode) -> String {
    let conditions = match start.conditions.is_empty() {
        true => "the same equations hold between all of them".to_string(),
        false => format!(
            "these are the equations where {}",
            start.conditions.join(" and ")
        ),
    };
    format!("The model has events; {conditions}. --modes lists all modes.")
}

/// Discrete values at the start, and a sentence on what they are.
pub fn add_discrete_start(report: &mut StartRecord, start: &StartMode) {
    let mut texts = Vec::new();
    for variable in &start.discrete {
        let given = match variable.given {
            Given::Fixed => "fixed",
            Given::Equation => "initial equation",
            Given::Computed => "computed",
            Given::Free => "free",
        };
        let value = match variable.ty {
            Type::Boolean => (variable.value != 0.0).to_string(),
            _ => variable.value.to_string(),
        };
        texts.push(format!("{} = {value} ({given})", variable.name));
        report.discrete.push(DiscreteStartRecord {
            name: variable.name.clone(),
            value: variable.value,
            given: given.to_string(),
        });
    }
    if !texts.is_empty() {
        let text = format!("Discrete values: {}.", texts.join(", "));
        report.notes.push(text);
    }
    if !start.conditions.is_empty() {
        let conditions = start.conditions.join(" and ");
        report
            .notes
            .push(format!("These are the equations where {conditions}."));
    }
}

/// The end of a run at an event that leads nowhere.
fn at_event(end: &HybridEnd, reached: f64) -> Ending {
    let listed = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let failure = |reason, message| ("failure", reason, message, reached);
    match end {
        HybridEnd::EndlessEvent { names } => failure(
            "event-loop",
            format!(
                "the event at t = {reached} never settles: {} {} in every round; put the equation into a `when`, or use pre(…) for the value before",
                listed(names),
                if names.len() == 1 {
                    "changes"
                } else {
                    "change"
                }
            ),
        ),
        HybridEnd::Accumulation { names } => failure(
            "event-loop",
            format!(
                "events follow each other without end at t = {reached}: {}",
                listed(names)
            ),
        ),
        HybridEnd::Zeno {
            limit,
            names,
            is_single,
        } => (
            "success",
            "zeno",
            match is_single {
                true => format!(
                    "at t = {limit} {} stops what it sets, and the equations lead it back at once: they do not say what holds it; --on-zeno rest goes on at rest",
                    listed(names)
                ),
                false => format!(
                    "events accumulate at t = {limit}: {} comes ever faster; --on-zeno rest goes on at rest",
                    listed(names)
                ),
            },
            *limit,
        ),
        HybridEnd::TooLarge { name, value } => failure(
            "number-range",
            format!(
                "at t = {reached} the whole number `{name}` would be {value:e}: beyond 2^53 not all of them are told apart; declare it as Real, or keep it smaller"
            ),
        ),
        HybridEnd::NoPoint { why } => failure(
            "no-point",
            format!("after the event at t = {reached} there is no consistent point: {why}"),
        ),
        HybridEnd::Jump { unknown, from, to } => failure(
            "jump",
            format!(
                "at the event at t = {reached} `{unknown}` has to jump from {from} (to {to} or elsewhere), and the model does not say how; set it with reinit({unknown}, …)"
            ),
        ),
        other => without_value(other, reached),
    }
}

/// The end of a run at an event behind which something has no value.
fn without_value(end: &HybridEnd, reached: f64) -> Ending {
    let failure = |reason, message| ("failure", reason, message, reached);
    match end {
        HybridEnd::NoValue {
            name,
            line,
            endless,
        } => {
            let place = line.map_or(String::new(), |line| format!(", line {line}"));
            let message = match endless {
                Some(condition) => format!(
                    "at t = {reached} `{name}` has no value: the loop `while {condition}`{place} is not at its end after as many rounds as are looked at; write it as a `for` with an `if`, or with `mod`, `floor` or an equation"
                ),
                None => format!(
                    "at t = {reached} `{name}`{place}, has no value: what it is set to divides by zero, or is a root or logarithm of a negative number; keep it in its range with `if`, `max` or `min`"
                ),
            };
            failure("no-value", message)
        }
        HybridEnd::Boundless {
            unknown,
            equation,
            line,
        } => failure(
            "jump",
            format!(
                "at the event at t = {reached} `{unknown}` grows beyond all bounds: `{equation}`, line {line}, integrates more than an impulse, such as its square, and the model does not say how long the impulse takes; set it there with reinit({unknown}, …), or let the equations spread the impulse over a time"
            ),
        ),
        _ => failure("unknown", format!("the run ended at t = {reached}")),
    }
}

fn refused_words(no_run: &crate::NoRun) -> Option<String> {
    match no_run {
        crate::NoRun::Equations(why) => Some(why.clone()),
        crate::NoRun::Start(error) => Some(error.to_string()),
        crate::NoRun::Undetermined(_) => {
            Some("the equations after the event leave unknowns free".to_string())
        }
        crate::NoRun::SingularStart(_) => Some("the point after the event is singular".to_string()),
        crate::NoRun::NoStart(_) => Some("there is no start after the event".to_string()),
        crate::NoRun::NotSquare => {
            Some("equations and unknowns of this mode do not match".to_string())
        }
        _ => None,
    }
}
