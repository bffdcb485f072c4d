//! Unknowns that nothing fixes, in words: a circuit without a ground, a mechanism that nobody holds.

use crate::init::first_of;
use daelight_analysis::System;
use daelight_analysis::floating::floating;
use daelight_lang::{Code, Diagnostic};

/// Says which unknowns the equations see only through their differences, if there are some.
pub fn without_ground(system: &System) -> Option<Diagnostic> {
    let moving = floating(system);
    let first = *moving.first()?;
    let name = |j: usize| system.unknowns()[j].name.as_str();
    let has_connectors = connector_of(system, name(first)).is_some();
    let names: Vec<&str> = match has_connectors {
        true => (moving.iter())
            .filter_map(|&j| connector_of(system, name(j)))
            .collect(),
        false => moving.iter().map(|&j| name(j)).collect(),
    };
    let listed = first_of(&names);
    let what = match names.len() {
        _ if has_connectors => {
            format!("nothing fixes the potentials of {listed}: only their differences count")
        }
        1 => format!("nothing fixes {listed}: no equation changes with it"),
        _ => format!("nothing fixes {listed}: moved together they change no equation"),
    };
    let joins = |flows: &str| {
        let mut flows = flows.split(", ");
        flows.any(|flow| names.iter().any(|name| is_of(flow, name)))
    };
    let of_model = system.written().iter().rev().find(|equation| {
        let flow = equation.instance.flow.as_deref();
        equation.instance.component.is_empty() && flow.is_some_and(joins)
    });
    let span = of_model.map_or(system.unknown_span(first), |equation| equation.span);
    let help = match of_model {
        Some(_) => format!(
            "connect one of them, such as `{}`, to a ground or to another part that fixes it",
            names[0]
        ),
        None => "add an equation that fixes one of them, in the place of one that follows from the others".to_string(),
    };
    let diagnostic = Diagnostic::error(Code::Underdetermined, span, what);
    let label = match of_model {
        Some(_) => "joins parts, and fixes none",
        None => "no equation fixes this",
    };
    Some(diagnostic.label(label).help(help))
}

/// The connector that an unknown is the potential of, if flows are balanced there.
pub(crate) fn connector_of<'a>(system: &System, name: &'a str) -> Option<&'a str> {
    let (connector, _) = name.rsplit_once('.')?;
    let balances = |flows: &str| flows.split(", ").any(|flow| is_of(flow, connector));
    let mut written = system.written().iter();
    written
        .any(|equation| equation.instance.flow.as_deref().is_some_and(balances))
        .then_some(connector)
}

/// Whether a flow is one of a connector.
fn is_of(flow: &str, connector: &str) -> bool {
    let rest = flow.strip_prefix(connector);
    rest.is_some_and(|rest| rest.starts_with('.'))
}
