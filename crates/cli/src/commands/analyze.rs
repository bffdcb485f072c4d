//! The command `analyze`: the passport of a model.

use super::models::{load_system, refuse_time};
use super::plot::Picture;
use crate::cli::{AnalyzeArgs, StructurePictureWord};
use crate::terminal::{Status, Terminal};
use daelight::{Place, record};
use daelight_show::record::to_json;
use daelight_show::{picture, terminal};

pub fn analyze(arguments: &AnalyzeArgs, terminal: &Terminal) -> Status {
    let model = &arguments.model;
    let file = match Picture::wanted(&arguments.picture) {
        Ok(file) => file,
        Err((message, help)) => return terminal.usage(&message, &help),
    };
    if let Err(status) = refuse_time(arguments.at, terminal) {
        return status;
    }
    let place = Place {
        at: arguments.at,
        point: arguments.point.clone(),
        budget: Some(arguments.budget),
        ..Default::default()
    };
    let system = match load_system(model, arguments.at, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let passport = match daelight::analyze(&system, &place) {
        Ok(passport) => passport,
        Err(diagnostic) => return terminal.refuse(*diagnostic, system.sources()),
    };
    let mut report = record::analyze(&system, &passport, arguments.projectors);
    if arguments.eigenvalues {
        record::add_spectrum(&mut report, &passport.spectrum(&system));
    }
    if let Some(times) = arguments.interval {
        match daelight::analyze_interval(&system, times, arguments.budget) {
            Ok(found) => record::add_interval(&mut report, &found),
            Err(not_linear) => {
                return terminal.usage(
                    &format!("--interval is for linear models; {}", not_linear.sentence),
                    "leave it out, or use --at for single times",
                );
            }
        }
    }
    if let Some(file) = file {
        let figure = match arguments.plot_what {
            StructurePictureWord::Structure => {
                picture::structure(&report, &record::signature(&system, &passport))
            }
            StructurePictureWord::Projectors => {
                picture::projectors(&record::analyze(&system, &passport, true))
            }
            StructurePictureWord::Eigenvalues => passport.spectrum(&system).and_then(|found| {
                let mut report = report.clone();
                record::add_spectrum(&mut report, &Ok(found));
                picture::eigenvalues(&report)
            }),
        };
        match file.write_or_note(figure, terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    let answer = if model.json {
        to_json(&report)
    } else {
        terminal::analyze(&report, arguments.projectors)
    };
    let is_known = passport.point.is_ok() || passport.indices().is_some();
    match terminal.answer(answer.as_bytes(), model.out.as_deref()) {
        Status::Done if passport.budget_reached && !is_known => Status::GaveUp,
        status => status,
    }
}
