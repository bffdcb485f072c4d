//! The command `singular`: where the constraints of a model lose rank.

use super::models::load_model;
use super::plot::Picture;
use super::progress::StageLine;
use crate::cli::{Names, SingularArgs};
use crate::terminal::{Status, Terminal};
use daelight_show::record::to_json;
use daelight_show::{picture, terminal};
use daelight_singular::{Kept, Limits, Question};

pub fn singular(arguments: &SingularArgs, terminal: &Terminal) -> Status {
    let picture = match Picture::wanted(&arguments.picture) {
        Ok(picture) => picture,
        Err((message, help)) => return terminal.usage(&message, &help),
    };
    let question = Question {
        parameters: kept_parameters(arguments.parameters.as_ref()),
        locked: arguments
            .locked
            .as_ref()
            .map(|names| names.0.clone())
            .unwrap_or_default(),
        on_curves: arguments.curves,
    };
    let limits = Limits {
        time: arguments.time_budget,
        memory: arguments.memory_budget,
        ..Limits::default()
    };
    let loaded = match load_model(&arguments.model, None, terminal) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    let Some(model) = &loaded.model else {
        return Status::ModelAtFault;
    };
    let line = StageLine::new("", terminal);
    let tell = |progress| {
        if let Some(line) = &line {
            line.tell(progress);
        }
    };
    let answer = daelight_singular::answer_with_progress(model, &question, &limits, &tell);
    drop(line);
    let answer = match answer {
        Ok(answer) => answer,
        Err(diagnostics) => {
            terminal.show(&diagnostics, &loaded.sources);
            return Status::ModelAtFault;
        }
    };
    let report = daelight::record::singular(model, &answer);
    let text = if arguments.model.json {
        to_json(&report)
    } else {
        terminal::singular(&report)
    };
    let mut status = terminal.answer(text.as_bytes(), arguments.model.out.as_deref());
    if let (Status::Done, Some(picture)) = (status, &picture) {
        let figure = picture::configurations(&report);
        status = picture.write_or_note(figure, terminal);
    }
    match status {
        Status::Done if report.time_budget_reached => Status::GaveUp,
        status => status,
    }
}

/// The parameters that `--parameters` names.
fn kept_parameters(names: Option<&Names>) -> Kept {
    match names.map(|names| names.0.as_slice()) {
        None => Kept::None,
        Some([all]) if all == "all" => Kept::All,
        Some(names) => Kept::Named(names.to_vec()),
    }
}
