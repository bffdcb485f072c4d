//! The command `init`: consistent initial values.

use super::models::{load_system, refuse_time};
use crate::cli::InitArgs;
use crate::terminal::{Status, Terminal};
use daelight::{InitOptions, record};
use daelight_analysis::start::Outcome;
use daelight_show::record::{DiagnosticRecord, to_json};
use daelight_show::terminal;

pub fn init(arguments: &InitArgs, terminal: &Terminal) -> Status {
    let model = &arguments.model;
    if let Err(status) = refuse_time(arguments.at, terminal) {
        return status;
    }
    let options = InitOptions {
        at: arguments.at,
        point: arguments.point.clone(),
        order: usize::from(arguments.order),
        all: arguments.all,
        nearest_regular: arguments.nearest_regular,
        budget: arguments.budget,
    };
    let system = match load_system(model, arguments.at, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let request = match daelight::start_request(&system, &options) {
        Ok(request) => request,
        Err(diagnostic) => return terminal.refuse(*diagnostic, system.sources()),
    };
    let time = request.time;
    let outcome = daelight::init(&system, &request);
    let (status, word, conflict, passport, diagnostic) = match &outcome {
        Outcome::Found(start) => {
            let report = record::start(&system, start, &request.guess);
            let answer = if model.json {
                to_json(&report)
            } else {
                terminal::init(&report, options.all)
            };
            return terminal.answer(answer.as_bytes(), model.out.as_deref());
        }
        Outcome::Conflict(conflict) => {
            let diagnostic = daelight::conflict_diagnostic(&system, conflict);
            (
                Status::ModelAtFault,
                "conflict",
                Some(&**conflict),
                None,
                diagnostic,
            )
        }
        Outcome::Singular(singular) => {
            let passport = &singular.passport;
            let mut diagnostic = daelight::singular_diagnostic(&system, singular);
            if options.nearest_regular {
                diagnostic = diagnostic.help("no regular start was found nearby: start at another time with --at, or free a fixed value");
            }
            (
                Status::Singularity,
                "singular",
                None,
                Some(passport),
                diagnostic,
            )
        }
        Outcome::Missing {
            no_point,
            budget_reached,
        } => {
            let budget = budget_reached.then_some(request.budget);
            let rectangular = daelight::rectangular(&system, time).ok().flatten();
            let contradiction = rectangular
                .and_then(|found| daelight::contradiction(&system, &found, (time, time)));
            if let Some(diagnostic) = contradiction {
                (Status::ModelAtFault, "conflict", None, None, diagnostic)
            } else {
                let diagnostic = daelight::missing_diagnostic(&system, time, no_point, budget);
                (Status::GaveUp, "failure", None, None, diagnostic)
            }
        }
    };
    if model.json {
        let said = DiagnosticRecord::new(&diagnostic, system.sources());
        let report = record::start_failure(&system, word, time, conflict, passport, said);
        // The file of --out is for a start; a failure must not replace one.
        terminal.answer(to_json(&report).as_bytes(), None);
    } else {
        terminal.show(&[diagnostic], system.sources());
    }
    status
}
