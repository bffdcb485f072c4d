//! The command `derive`: a model as flat Modelica.

use super::models::{asks_for_least_norm, fault_status, load_model};
use crate::cli::DeriveArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight_lang::ArrayStyle;

pub fn derive(arguments: &DeriveArgs, terminal: &Terminal) -> Ended {
    let model = &arguments.model;
    if model.json {
        let usage = "derive writes Modelica text; --json has no meaning here";
        return Err(terminal.usage(usage, "use `check --json` for diagnostics"));
    }
    if asks_for_least_norm(model) {
        return Err(terminal.no_least_norm());
    }
    let loaded = load_model(model, daelight::Relations::Kinks, terminal)?;
    let style = match (arguments.base, arguments.scalar) {
        (true, _) => ArrayStyle::Base,
        (false, true) => ArrayStyle::Scalarised,
        (false, false) => ArrayStyle::Kept,
    };
    let flat = loaded.model.as_ref().ok_or(fault_status(&loaded))?;
    let text = daelight::derive(flat, style).map_err(|diagnostic| {
        terminal.show(&[*diagnostic], &loaded.sources);
        Status::ModelAtFault
    })?;
    terminal.answer(text.as_bytes(), model.out.as_deref())?;
    Ok(Status::Done)
}
