//! The command `derive`: a model as flat Modelica.

use super::models::{asks_for_least_norm, fault_status, load_model};
use crate::cli::DeriveArgs;
use crate::terminal::{Status, Terminal};
use daelight_lang::ArrayStyle;

pub fn derive(arguments: &DeriveArgs, terminal: &Terminal) -> Status {
    let model = &arguments.model;
    if model.json {
        let usage = "derive writes Modelica text; --json has no meaning here";
        return terminal.usage(usage, "use `check --json` for diagnostics");
    }
    if asks_for_least_norm(model) {
        return terminal.no_least_norm();
    }
    let loaded = match load_model(model, None, terminal) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    let style = if arguments.scalar {
        ArrayStyle::Scalarised
    } else {
        ArrayStyle::Kept
    };
    match daelight::derive(&loaded, style) {
        None => fault_status(&loaded),
        Some(Ok(text)) => terminal.answer(text.as_bytes(), model.out.as_deref()),
        Some(Err(diagnostic)) => {
            terminal.show(&[*diagnostic], &loaded.sources);
            Status::ModelAtFault
        }
    }
}
