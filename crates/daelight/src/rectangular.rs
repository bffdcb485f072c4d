//! Linear models whose equations do not match their unknowns: what is free, what contradicts, and the square model that
//! is left when the free part is given. Section 7 of `docs/theory/linear.md`.

use crate::floating::connector_of;
use daelight_analysis::System;
use daelight_analysis::index_reduction::{
    ConditionResidual, IndexReduced, LinearReduction, Refusal,
};
use daelight_lang::{Code, Diagnostic, Span, shorten};
use daelight_show::{count, tidy_number};

/// Times of an interval at which conditions on the right-hand side are looked at.
const N_TIMES: usize = 201;
/// What to do where something is free.
const GIVE: &str =
    "give it with --free NAME=EXPRESSION, or take the smallest with --free least-norm";

/// The reduced equations of a linear model that is rectangular, or square with free unknowns and conditions.
///
/// `None` for all other models, which have ways of their own.
pub fn rectangular(
    system: &System,
    time: f64,
) -> Result<Option<LinearReduction<'_>>, Box<Diagnostic>> {
    linear(system, time).map_err(refused)
}

fn linear(system: &System, time: f64) -> Result<Option<LinearReduction<'_>>, Refusal> {
    if !LinearReduction::may_be_needed(system) {
        return Ok(None);
    }
    match LinearReduction::new(system, time) {
        Ok(reduction) => {
            let [_, _, u, v] = reduction.quantities();
            Ok((u + v > 0).then_some(reduction))
        }
        Err(Refusal::NotLinear(_)) => Ok(None),
        // A square model has no need of this way, and its own one tells what it finds.
        Err(Refusal::Singular | Refusal::StructureFails | Refusal::Undecided(_))
            if is_square(system) =>
        {
            Ok(None)
        }
        Err(refusal) => Err(refusal),
    }
}

fn is_square(system: &System) -> bool {
    system.equations().n_equations() == system.equations().n_unknowns()
}

/// Equally spaced times from one to another.
fn times((from, to): (f64, f64)) -> impl Iterator<Item = f64> {
    let step = (to - from) / (N_TIMES - 1) as f64;
    (0..N_TIMES).map(move |k| from + k as f64 * step)
}

/// What is worth knowing of a reduction, and its conditions between two times.
pub fn notes(reduction: &LinearReduction<'_>, interval: (f64, f64)) -> Vec<String> {
    let mut notes = Vec::new();
    let is_identity =
        |worst: &ConditionResidual| reduction.conditions()[worst.condition].is_identity;
    let worst = reduction.worst_residual(times(interval));
    if let Some(worst) = worst.filter(|worst| !is_identity(worst)) {
        let state = match worst {
            _ if worst.is_satisfied() => "holds",
            _ if worst.is_violated() => "is violated: the model as written has no solution",
            _ => "is unclear",
        };
        notes.push(format!(
            "The condition {} {state} (largest residual {} at t = {}, {:.1e} of its terms).",
            text(reduction, &worst),
            tidy_number(worst.residual),
            tidy_number(worst.time),
            worst.relative
        ));
    }
    notes
}

fn text(reduction: &LinearReduction<'_>, worst: &ConditionResidual) -> String {
    let condition = &reduction.conditions()[worst.condition];
    match &condition.text {
        Some(text) => format!("`{text} = 0`, {},", condition.origin),
        None => format!("on the right-hand side, {},", condition.origin),
    }
}

/// Whether a condition on the right-hand side surely does not hold at some time.
fn is_violated(reduction: &LinearReduction<'_>, interval: (f64, f64)) -> bool {
    let worst = reduction.worst_residual(times(interval));
    worst.is_some_and(|worst| worst.is_violated())
}

/// Says that conditions on the right-hand side do not hold at some times, if they do not.
pub fn contradiction(
    system: &System,
    reduction: &LinearReduction<'_>,
    interval: (f64, f64),
) -> Option<Diagnostic> {
    let worst = reduction.worst_residual(times(interval))?;
    if worst.is_satisfied() {
        return None;
    }
    let condition = &reduction.conditions()[worst.condition];
    let (n, m) = (system.written().len(), system.unknowns().len());
    let components = components_of(system, &condition.equations);
    let subject = match n > m {
        true => format!("{} for {}", count(n, "equation"), count(m, "unknown")),
        false if components.len() > 1 => format!("the components {}", components.join(", ")),
        false => "the equations".to_string(),
    };
    let time = tidy_number(worst.time);
    let message = match worst.is_violated() {
        true => format!("{subject} contradict each other at t = {time}"),
        false => format!("whether {subject} contradict each other at t = {time} is unclear"),
    };
    let help = match n.saturating_sub(m) {
        0 if components.len() > 1 => "leave out one of these components, put another one between them, or change their values".to_string(),
        0 => "change the right-hand sides, or leave out an equation; `daelight reduce` writes what the others determine".to_string(),
        many => format!("remove {}; `daelight check` lists the part that has too many", count(many, "equation")),
    };
    let residual = tidy_number(worst.residual);
    let origin = match components.len() {
        0 | 1 => format!("{} gives", condition.origin.trim_start_matches("from ")),
        _ => "together they say".to_string(),
    };
    // Names of components are easier to read without the quotes of Modelica.
    let text = condition.text.as_ref().map(|text| text.replace('\'', ""));
    let note = match text.as_deref() {
        Some(text) if text == residual => format!("{origin} {text} = 0"),
        Some(text) => format!("{origin} {text} = 0, and that is {residual}"),
        None => format!("{origin} 0 for a function of time that is {residual}"),
    };
    let mut diagnostic = Diagnostic::placeless(Code::Overdetermined, message)
        .note(note)
        .help(help);
    // An equation of a library is told with the component of the model that it belongs to.
    let mut places: Vec<(Span, Vec<String>)> = Vec::new();
    for &equation in &condition.equations {
        let own = system.component_span(equation);
        let span = own.unwrap_or(system.written()[equation].span);
        let text = own.map(|_| format!("`{}`", shorten(&system.equation_text(equation), 60)));
        match places.iter_mut().find(|place| place.0 == span) {
            Some(place) => place.1.extend(text),
            None => places.push((span, Vec::from_iter(text))),
        }
    }
    let takes_part = |texts: &[String], alone: &str| match texts {
        [] => alone.to_string(),
        [one] => format!("{one} takes part"),
        several => format!("{} take part", several.join(", ")),
    };
    let mut places = places.into_iter();
    if let Some((span, texts)) = places.next() {
        diagnostic.span = Some(span);
        diagnostic.label = takes_part(&texts, "this takes part");
    }
    for (span, texts) in places.take(5) {
        diagnostic = diagnostic.related(span, takes_part(&texts, "and this"));
    }
    Some(diagnostic)
}

/// The same at one time: a linear model that no solution goes through then, as [`settled`] sees it.
pub fn contradiction_at(system: &System, time: f64) -> Option<Diagnostic> {
    let reduction = rectangular(system, time).ok().flatten()?;
    let interval = (time, time);
    let is_told = reduction.free().is_empty() || is_violated(&reduction, interval);
    contradiction(system, &reduction, interval).filter(|_| is_told)
}

/// The components that equations belong to, each once; connections belong to none.
fn components_of<'a>(system: &'a System, equations: &[usize]) -> Vec<&'a str> {
    let mut components: Vec<&str> = Vec::new();
    for &equation in equations {
        let instance = &system.written()[equation].instance;
        let component = &*instance.component;
        let is_own = !component.is_empty() && instance.flow.is_none();
        if is_own && !components.contains(&component) {
            components.push(component);
        }
    }
    components
}

/// The square model behind a rectangular one, for a run between two times; `None` for a model that needs none.
pub fn settled(
    system: &System,
    interval: (f64, f64),
) -> Result<Option<(System, Vec<String>)>, Box<Diagnostic>> {
    let Some(reduction) = linear(system, interval.0).map_err(refused_run)? else {
        return Ok(None);
    };
    // A contradiction stays whatever is given; one that is unclear is told where nothing is free.
    let is_told = reduction.free().is_empty() || is_violated(&reduction, interval);
    if let Some(diagnostic) = contradiction(system, &reduction, interval).filter(|_| is_told) {
        return Err(diagnostic.into());
    }
    if !reduction.free().is_empty() {
        let names = reduction
            .free()
            .iter()
            .map(|&j| &*system.unknowns()[j].name);
        let names: Vec<&str> = names.collect();
        let message = match names.as_slice() {
            [name] => format!("the equations leave one unknown free: {name}"),
            _ => format!(
                "the equations leave {} unknowns free: {}",
                names.len(),
                names.join(", ")
            ),
        };
        let connector = names.iter().find_map(|name| connector_of(system, name));
        let help = match connector {
            Some(connector) => format!(
                "nothing fixes it: connect `{connector}` to a ground or another component that does, or give it with --free NAME=EXPRESSION"
            ),
            None => GIVE.to_string(),
        };
        let mut diagnostic = Diagnostic::placeless(Code::Underdetermined, message).help(help);
        let redundant = reduction.conditions().iter();
        if let Some(&last) = redundant.filter_map(|found| found.equations.last()).next() {
            diagnostic.span = Some(system.written()[last].span);
            // A contradiction that is certain was told above.
            let worst = reduction.worst_residual(times(interval));
            let is_certain = worst.is_none_or(|worst| worst.is_satisfied());
            diagnostic.label = match is_certain {
                true => "follows from other equations and determines nothing",
                false => "follows from other equations, or contradicts them: that is unclear",
            }
            .to_string();
        }
        return Err(diagnostic.into());
    }
    let notes = notes(&reduction, interval);
    let reduced = reduction.model().map_err(refused_run)?;
    Ok(Some((system_of(&reduced)?, notes)))
}

/// The model with the smallest free part; `None` where nothing is free.
pub fn least_norm(system: &System, time: f64) -> Result<Option<System>, Box<Diagnostic>> {
    match LinearReduction::new(system, time).map_err(refused)? {
        reduction if reduction.free().is_empty() => Ok(None),
        reduction => {
            let joined = reduction.with_least_norm().map_err(refused)?;
            Ok(Some(system_of(&joined)?))
        }
    }
}

fn system_of(reduced: &IndexReduced) -> Result<System, Box<Diagnostic>> {
    crate::system(&reduced.model)
}

/// Why a model was not reduced, as a message.
pub fn refused(refusal: Refusal) -> Box<Diagnostic> {
    Diagnostic::placeless(Code::NotReducible, refusal.to_string())
        .help(refusal.help())
        .into()
}

/// The same for a run, which has no options of a reduction.
fn refused_run(refusal: Refusal) -> Box<Diagnostic> {
    let help = match &refusal {
        Refusal::Singular
        | Refusal::StructureFails
        | Refusal::Undecided(_)
        | Refusal::NoSelection(_) => {
            "begin at another time with --from, or with other start values"
        }
        Refusal::TooLarge
        | Refusal::NotSolvable { .. }
        | Refusal::NoText(_)
        | Refusal::NotVerified(_) => {
            "write as many equations as unknowns; `daelight check` shows where they do not match"
        }
        _ => refusal.help(),
    };
    Diagnostic::placeless(Code::NotReducible, refusal.to_string())
        .help(help)
        .into()
}
