//! The command `check`: what a model consists of, and what is wrong with it.

use super::models::{asks_for_least_norm, fault_status, options};
use crate::cli::ModelArgs;
use crate::terminal::{Status, Terminal};
use daelight::Checked;
use daelight_lang::{Diagnostic, Model, SourceMap, Symbol, shorten};
use daelight_show::count;
use daelight_show::record::{CheckRecord, DiagnosticRecord, to_json};

pub fn check(arguments: &ModelArgs, terminal: &Terminal) -> Status {
    if asks_for_least_norm(arguments) {
        return terminal.no_least_norm();
    }
    let (report, status, summary) = match daelight::check(&arguments.model, &options(arguments)) {
        Err(diagnostic) => {
            if !arguments.json {
                terminal.show(&[*diagnostic], &SourceMap::default());
                return Status::WrongUsage;
            }
            (
                record(false, &[*diagnostic], &SourceMap::default()),
                Status::WrongUsage,
                String::new(),
            )
        }
        Ok(checked) => {
            let loaded = &checked.loaded;
            let status = if checked.is_ok() {
                Status::Done
            } else {
                fault_status(loaded)
            };
            if !arguments.json {
                terminal.show(&loaded.diagnostics, &loaded.sources);
            }
            let report = record(checked.is_ok(), &loaded.diagnostics, &loaded.sources);
            (report, status, summary(&checked))
        }
    };
    let answer = if arguments.json {
        to_json(&report)
    } else if terminal.quiet {
        String::new()
    } else {
        summary
    };
    match terminal.answer(answer.as_bytes(), arguments.out.as_deref()) {
        Status::Done => status,
        failed => failed,
    }
}

fn record(ok: bool, diagnostics: &[Diagnostic], sources: &SourceMap) -> CheckRecord {
    let diagnostics = diagnostics
        .iter()
        .map(|diagnostic| DiagnosticRecord::new(diagnostic, sources));
    CheckRecord {
        ok,
        diagnostics: diagnostics.collect(),
    }
}

/// What the model consists of, in a few lines.
fn summary(checked: &Checked) -> String {
    let Some(model) = &checked.loaded.model else {
        return String::new();
    };
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
    let free = model
        .parameters
        .iter()
        .filter(|parameter| !parameter.is_constant)
        .count();
    let mut rest = vec![count(free, "parameter")];
    if !model.inputs.is_empty() {
        rest.push(count(model.inputs.len(), "input"));
    }
    if !model.initial_equations.is_empty() {
        rest.push(count(model.initial_equations.len(), "initial equation"));
    }
    lines.push(format!("  {}", rest.join(", ")));
    if checked
        .balance
        .as_ref()
        .is_some_and(daelight_lang::Balance::is_balanced)
    {
        lines.push("  every unknown can be matched with an equation".to_string());
    } else {
        lines.push("  equations and unknowns do not match; see the warnings".to_string());
    }
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
