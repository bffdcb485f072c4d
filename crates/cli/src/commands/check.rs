//! The command `check`: what a model consists of, and what is wrong with it.

use super::models::{asks_for_least_norm, fault_status, options};
use crate::cli::{CheckArgs, ModelArgs};
use crate::terminal::{Ended, Status, Terminal};
use daelight_lang::{Balance, Code, Diagnostic, Model, Severity, SourceMap, Symbol, shorten};
use daelight_show::count;
use daelight_show::record::{CheckRecord, to_json};

pub fn check(arguments: &CheckArgs, terminal: &Terminal) -> Ended {
    let units = arguments.units.meaning();
    let arguments = &arguments.model;
    if daelight_fmu::is_fmu(&arguments.model) {
        return super::foreign::check(arguments, terminal);
    }
    if asks_for_least_norm(arguments) {
        return Err(terminal.no_least_norm());
    }
    let ModelArgs { json, out, .. } = arguments;
    let mut loaded = match daelight::load(&arguments.model, &options(arguments)) {
        Ok(loaded) => loaded,
        Err(diagnostic) if *json => {
            let record = CheckRecord::new(false, &[*diagnostic], &SourceMap::default());
            terminal.answer(to_json(&record).as_bytes(), out.as_deref())?;
            return Err(Status::WrongUsage);
        }
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], &SourceMap::default());
            return Err(Status::WrongUsage);
        }
    };
    let balance = daelight::check(&mut loaded);
    daelight::check_units(&mut loaded, units);
    if !json {
        terminal.show(&loaded.diagnostics, &loaded.sources);
    }
    let too_many = |found: &Diagnostic| found.code == Code::Overdetermined;
    let too_many = loaded.diagnostics.iter().any(too_many);
    let wrong_units =
        |found: &Diagnostic| found.code == Code::UnitMismatch && found.severity == Severity::Error;
    let wrong_units = loaded.diagnostics.iter().any(wrong_units);
    let floats = |found: &Diagnostic| {
        found.code == Code::Underdetermined && balance.as_ref().is_some_and(Balance::is_balanced)
    };
    let floats = loaded.diagnostics.iter().any(floats);
    let is_at_fault = too_many || wrong_units || floats;
    let ok = balance.is_some() && !is_at_fault;
    let record = CheckRecord::new(ok, &loaded.diagnostics, &loaded.sources);
    let text = |_: &_| match (&loaded.model, &balance) {
        (Some(model), Some(balance)) if !terminal.quiet => summary(model, balance, floats),
        _ => String::new(),
    };
    terminal.print(&record, text, *json, out.as_deref())?;
    match balance {
        Some(_) if is_at_fault => Err(Status::ModelAtFault),
        Some(_) => Ok(Status::Done),
        None => Err(fault_status(&loaded)),
    }
}

/// What the model consists of, in a few lines.
fn summary(model: &Model, balance: &Balance, floats: bool) -> String {
    let title = if model.comment.is_empty() {
        model.name.clone()
    } else {
        format!("{}: {}", model.name, shorten(&model.comment, 200))
    };
    let differentiated = differentiated(model);
    let mut lines = vec![
        title,
        format!(
            "  {} for {} ({differentiated} differentiated)",
            count(model.equations.len(), "equation"),
            count(model.unknowns.len(), "unknown"),
        ),
    ];
    let mut rest = vec![count(model.own_parameters().count(), "parameter")];
    let discrete = model.hybrid.iter().flat_map(|hybrid| &hybrid.variables);
    let discrete = discrete.filter(|variable| !variable.is_hidden).count();
    if discrete > 0 {
        rest.push(count(discrete, "discrete variable"));
    }
    if !model.inputs.is_empty() {
        rest.push(count(model.inputs.len(), "input"));
    }
    if !model.initial_equations.is_empty() {
        rest.push(count(model.initial_equations.len(), "initial equation"));
    }
    lines.push(format!("  {}", rest.join(", ")));
    lines.push(match balance.is_balanced() {
        true if floats => "  some unknowns are fixed by no equation; see the message".to_string(),
        true => "  every unknown can be matched with an equation".to_string(),
        false => "  equations and unknowns do not match; see the messages".to_string(),
    });
    lines.join("\n") + "\n"
}

/// How many unknowns occur differentiated.
fn differentiated(model: &Model) -> usize {
    let residuals: Vec<_> = model
        .equations
        .iter()
        .map(|equation| equation.residual)
        .collect();
    daelight_expr::Walker::new()
        .symbols(&model.graph, &residuals)
        .into_iter()
        .filter(|&id| matches!(model.symbols.get(id), Symbol::Unknown { order: 1, .. }))
        .count()
}
