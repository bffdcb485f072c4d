//! The command `init`: consistent initial values.

use super::models::{load_at_start, refuse_time};
use super::solve::status_of;
use crate::cli::InitArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight::{InitOptions, record};
use daelight_show::record::to_json;
use daelight_show::terminal;

pub fn init(arguments: &InitArgs, terminal: &Terminal) -> Ended {
    let model = &arguments.model;
    refuse_time(arguments.at, terminal)?;
    let options = InitOptions {
        at: arguments.at,
        point: arguments.point.clone(),
        order: usize::from(arguments.order),
        all: arguments.all,
        nearest_regular: arguments.nearest_regular,
        budget: arguments.budget,
    };
    let (system, discrete) = load_at_start(model, arguments.at, terminal)?;
    let request = daelight::start_request(&system, &options)
        .map_err(|diagnostic| terminal.refuse(*diagnostic, system.sources()))?;
    match record::outcome(&system, &request, &daelight::start(&system, &request)) {
        Ok(mut report) => {
            if let Some(discrete) = &discrete {
                record::add_discrete_start(&mut report, discrete);
            }
            let text = |report: &_| terminal::init(report, options.all);
            terminal.print(&report, text, model.json, model.out.as_deref())?;
            Ok(Status::Done)
        }
        Err(no_start) => {
            if model.json {
                // The file of --out is for a start; a failure must not replace one.
                terminal.answer(to_json(&no_start.record).as_bytes(), None)?;
            } else {
                terminal.show(&[no_start.diagnostic], system.sources());
            }
            Ok(status_of(no_start.kind))
        }
    }
}
