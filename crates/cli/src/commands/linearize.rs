//! The command `linearize`: A, B, C and D of a model of any index at a point.

use super::models::{fault_status, load_model, refuse_time};
use super::plot::Picture;
use super::values::check_written;
use crate::cli::LinearizeArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight::{LinearizeOptions, Place, record};
use daelight_show::{matrices, picture, terminal};

pub fn linearize(arguments: &LinearizeArgs, terminal: &Terminal) -> Ended {
    let asked = &arguments.model;
    refuse_time(arguments.at, terminal)?;
    check_written(asked.out.as_deref(), &["json", "mat", "npz", "txt"])
        .map_err(|wrong| terminal.wrong(wrong))?;
    let wanted = Picture::wanted(&arguments.picture).map_err(|wrong| terminal.wrong(wrong))?;
    let loaded = load_model(asked, daelight::Relations::Kinks, terminal)?;
    let model = loaded.model.as_ref().ok_or(fault_status(&loaded))?;
    let options = LinearizeOptions {
        place: Place {
            at: arguments.at,
            point: arguments.point.clone(),
            budget: Some(arguments.budget),
            ..Default::default()
        },
        inputs: arguments.inputs.clone(),
        outputs: arguments.outputs.clone(),
        at_rest: arguments.rest,
    };
    let found = daelight::linearize(model, &options)
        .map_err(|diagnostic| terminal.refuse(*diagnostic, &loaded.sources))?;
    let report = record::linearize(&found);
    let ending = asked.out.as_ref().and_then(|path| path.extension());
    match ending.and_then(|ending| ending.to_str()) {
        Some("mat") => terminal.answer(&matrices::mat(&report), asked.out.as_deref())?,
        Some("npz") => terminal.answer(&matrices::npz(&report), asked.out.as_deref())?,
        ending => {
            let as_json = asked.json || ending == Some("json");
            let text = |report: &_| terminal::linearize(report, &model.name);
            terminal.print(&report, text, as_json, asked.out.as_deref())?;
        }
    }
    if let Some(wanted) = wanted {
        let found = daelight::responses(&found, 400);
        let figure = found.map(|found| picture::responses(&found, &model.name));
        wanted.write_or_note(figure, terminal)?;
    }
    Ok(Status::Done)
}
