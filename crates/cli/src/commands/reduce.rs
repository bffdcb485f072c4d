//! The command `reduce`: an equivalent model of index 1 or 0.

use super::models::{load_system, refuse_time};
use crate::cli::{ReduceArgs, ReduceForm, ReduceMethod};
use crate::terminal::{Ended, Status, Terminal};
use daelight::{Place, Relations};
use daelight_analysis::index_reduction::{Form, ReduceBy};
use daelight_lang::{Code, Diagnostic};
use std::time::Instant;

pub fn reduce(arguments: &ReduceArgs, terminal: &Terminal) -> Ended {
    let model = &arguments.model;
    if model.json {
        let usage = "reduce writes Modelica text; --json has no meaning here";
        return Err(terminal.usage(usage, "use `analyze --json` for the index and the point"));
    }
    refuse_time(arguments.at, terminal)?;
    let place = Place {
        at: arguments.at,
        budget: Some(arguments.budget),
        ..Default::default()
    };
    let system = load_system(model, (arguments.at, Relations::Modes), terminal)?;
    let method = match arguments.method {
        ReduceMethod::Dummy => ReduceBy::Dummy,
        ReduceMethod::Strangeness => ReduceBy::Strangeness,
        ReduceMethod::Minimal => ReduceBy::Minimal,
    };
    let form = match arguments.form {
        ReduceForm::Implicit => Form::Implicit,
        ReduceForm::SemiExplicit => Form::SemiExplicit,
        ReduceForm::Explicit => Form::Explicit,
    };
    let began = Instant::now();
    match daelight::reduce(&system, &place, method, form) {
        Ok(written) => {
            terminal.note(&written.notes);
            terminal.answer(written.text.as_bytes(), model.out.as_deref())?;
            Ok(Status::Done)
        }
        Err(refusal) if began.elapsed() > arguments.budget => {
            let budget = arguments.budget;
            let message = format!("the budget of {budget:?} ended the analysis of the model");
            let diagnostic = Diagnostic::placeless(Code::NotReducible, message)
                .note(refusal.message)
                .help("allow more time with --budget");
            terminal.show(&[diagnostic], system.sources());
            Err(Status::GaveUp)
        }
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], system.sources());
            Err(Status::ModelAtFault)
        }
    }
}
