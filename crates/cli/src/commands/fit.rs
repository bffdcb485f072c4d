//! The command `fit`: parameters of a model from measured runs.

use super::models::load_driven;
use super::progress::interrupt_by_ctrl_c;
use super::solve::check_numbers;
use super::values::check_written;
use crate::cli::{FitArgs, joined_names};
use crate::terminal::{Ended, Status, Terminal};
use daelight::{FitOptions, Place, Relations, SolveOptions, record};
use daelight_show::terminal;

pub fn fit(arguments: &FitArgs, terminal: &Terminal) -> Ended {
    let asked = &arguments.model;
    check_written(asked.out.as_deref(), &["json", "txt"]).map_err(|wrong| terminal.wrong(wrong))?;
    if !(arguments.confidence > 0.0 && arguments.confidence < 1.0) {
        let usage = format!("--confidence {} is no probability", arguments.confidence);
        return Err(terminal.usage(&usage, "give a number between 0 and 1, such as 0.95"));
    }
    let run = SolveOptions {
        from: arguments.from,
        rtol: arguments.rtol,
        method: arguments.method.chosen(),
        budget: Some(arguments.budget),
        place: Place {
            budget: Some(arguments.budget),
            ..Default::default()
        },
        interrupt: Some(interrupt_by_ctrl_c()),
        ..Default::default()
    };
    check_numbers(&run).map_err(|wrong| terminal.wrong(wrong))?;
    let condition = (None, Relations::Modes);
    let (loaded, driven) = load_driven(asked, &arguments.input, condition, run.from, terminal)?;
    let Some(model) = &loaded.model else {
        return Err(Status::ModelAtFault);
    };
    let options = FitOptions {
        parameters: joined_names(&arguments.parameters),
        columns: arguments.columns.clone(),
        confidence: arguments.confidence,
        run,
    };
    let found = daelight::fit(model, &driven.system, &arguments.data, &options)
        .map_err(|diagnostic| terminal.refuse(*diagnostic, &loaded.sources))?;
    let mut report = record::fit(&found, arguments.confidence);
    report.warnings.extend(driven.warnings);
    let text = |report: &_| terminal::fit(report, &model.name);
    terminal.print(&report, text, asked.json, asked.out.as_deref())?;
    Ok(match report.settled {
        true => Status::Done,
        false => Status::GaveUp,
    })
}
