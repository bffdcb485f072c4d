//! The command `fmu`: a model as a file that other tools run.

use super::models::{fault_status, options};
use crate::cli::FmuArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight_fmu::{Resources, Version, export, find_engine};
use daelight_lang::SourceMap;
use daelight_show::count;
use std::path::PathBuf;

pub fn fmu(arguments: &FmuArgs, terminal: &Terminal) -> Ended {
    let asked = &arguments.model;
    if super::models::asks_for_least_norm(asked) {
        return Err(terminal.no_least_norm());
    }
    let engine = find_engine().map_err(|wrong| terminal.wrong(wrong))?;
    let mut options = options(asked);
    let text = daelight::text_of(&asked.model, &mut options).map_err(|diagnostic| {
        terminal.show(&[*diagnostic], &SourceMap::default());
        Status::WrongUsage
    })?;
    let prepared = Resources::of(text, options);
    let loaded = &prepared.loaded;
    terminal.show(&loaded.diagnostics, &loaded.sources);
    let model = loaded.model.as_ref().ok_or(fault_status(loaded))?;
    if model.equations.len() != model.unknowns.len() {
        let message = format!(
            "{} for {} do not match",
            count(model.equations.len(), "equation"),
            count(model.unknowns.len(), "unknown")
        );
        let help = format!(
            "see `daelight check {}`; --free adds equations",
            asked.model
        );
        terminal.usage(&message, &help);
        return Err(Status::ModelAtFault);
    }
    let version = match arguments.fmi {
        2 => Version::Two,
        _ => Version::Three,
    };
    let made = export(&prepared, &engine, version).map_err(|message| {
        terminal.usage(&message, "see `daelight check`");
        Status::ModelAtFault
    })?;
    let place = match &asked.out {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.fmu", model.name)),
    };
    terminal.answer(&made.bytes, Some(&place))?;
    terminal.note(&made.notes);
    let [parameters, inputs, outputs, others] = made.counts;
    let kinds = match made.has_exchange {
        true => "co-simulation and model exchange",
        false => "co-simulation",
    };
    terminal.aside(&format!(
        "{}: FMI {}.0 for {kinds}: {}, {}, {}, {}\n",
        place.display(),
        arguments.fmi,
        count(parameters, "parameter"),
        count(inputs, "input"),
        count(outputs, "output"),
        count(others, "other variable"),
    ));
    Ok(Status::Done)
}
