//! `solve --gradient`: the derivatives of one number by many parameters.

use super::models::{Number, load_driven};
use crate::cli::{SolveArgs, joined_names};
use crate::terminal::{Ended, Status, Terminal};
use daelight::{Loss, Relations, SolveOptions, record};
use daelight_show::terminal;

pub fn gradient(arguments: &SolveArgs, options: SolveOptions, terminal: &Terminal) -> Ended {
    let written = arguments.gradient.as_deref().unwrap_or("").trim();
    let inside = daelight::inside_integral(written);
    let asked = &arguments.model;
    let number = Number::Gradient(inside.unwrap_or(written));
    let number = (Some(number), Relations::Modes);
    let (loaded, driven) = load_driven(asked, &arguments.input, number, options.from, terminal)?;
    let Some(model) = &loaded.model else {
        return Err(Status::ModelAtFault);
    };
    let Some(expr) = model.stop_when.map(|number| number.expr) else {
        return Err(terminal.usage(
            "--gradient takes a number",
            "give an expression of the model",
        ));
    };
    let (from, to) = daelight::span_of_run(&driven.system, &options);
    if from == to {
        return Err(terminal.usage(
            &format!("the run from t = {from} to {to} has no length"),
            "give an end behind the start with --to",
        ));
    }
    let loss = match inside {
        Some(_) => Loss::Integral(expr),
        None => Loss::Final(expr),
    };
    let names = match arguments.by.is_empty() {
        true => daelight::all_parameters(model, &driven.system),
        false => joined_names(&arguments.by),
    };
    let found = daelight::gradient(model, &driven.system, &options, &loss, &names)
        .map_err(|diagnostic| terminal.refuse(*diagnostic, &loaded.sources))?;
    let mut report = record::gradient(&found, written);
    report.warnings.extend(driven.warnings);
    let text = |report: &_| terminal::gradient(report, &model.name);
    terminal.print(&report, text, asked.json, asked.out.as_deref())?;
    Ok(Status::Done)
}
