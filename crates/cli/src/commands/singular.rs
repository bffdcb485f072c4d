//! The command `singular`: where the constraints of a model lose rank.

use super::models::load_model;
use super::plot::Picture;
use super::progress::StageLine;
use crate::cli::{ModelArgs, Names, SingularArgs};
use crate::terminal::{Ended, Status, Terminal};
use daelight_show::{picture, terminal};
use daelight_singular::{Kept, Question, SearchLimits};

pub fn singular(arguments: &SingularArgs, terminal: &Terminal) -> Ended {
    let wanted = Picture::wanted(&arguments.picture).map_err(|wrong| terminal.wrong(wrong))?;
    let question = Question {
        parameters: kept_parameters(arguments.parameters.as_ref()),
        locked: (arguments.locked.iter())
            .flat_map(|names| names.0.iter().cloned())
            .collect(),
        on_curves: arguments.curves,
        paths_locked: false,
    };
    let limits = SearchLimits {
        time: arguments.time_budget,
        memory: arguments.memory_budget,
        ..SearchLimits::default()
    };
    let loaded = load_model(&arguments.model, daelight::Relations::Kinks, terminal)?;
    let model = loaded.model.as_ref().ok_or(Status::ModelAtFault)?;
    let line = StageLine::new("", terminal);
    let tell = |progress| {
        if let Some(line) = &line {
            line.tell(progress);
        }
    };
    let answer = daelight::singular(model, &question, &limits, &tell);
    drop(line);
    let answer = answer.map_err(|diagnostics| {
        terminal.show(&diagnostics, &loaded.sources);
        Status::ModelAtFault
    })?;
    let report = daelight::record::singular(model, &answer);
    let ModelArgs { json, out, .. } = &arguments.model;
    terminal.print(&report, terminal::singular, *json, out.as_deref())?;
    if let Some(wanted) = wanted {
        wanted.write_or_note(picture::configurations(&report), terminal)?;
    }
    Ok(match report.time_budget_reached {
        true => Status::GaveUp,
        false => Status::Done,
    })
}

/// The parameters that `--parameters` names.
fn kept_parameters(names: Option<&Names>) -> Kept {
    match names.map(|names| names.0.as_slice()) {
        None => Kept::None,
        Some([all]) if all == "all" => Kept::All,
        Some(names) => Kept::Named(names.to_vec()),
    }
}
