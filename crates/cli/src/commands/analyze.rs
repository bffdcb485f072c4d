//! The command `analyze`: the passport of a model.

use super::models::{load_system, refuse_time};
use super::plot::Picture;
use crate::cli::{AnalyzeArgs, StructurePictureWord};
use crate::terminal::{Status, Terminal};
use daelight::Place;
use daelight_report::{AnalyzeReport, passport_page, to_json};

pub fn analyze(arguments: &AnalyzeArgs, terminal: &Terminal) -> Status {
    let model = &arguments.model;
    let picture = match Picture::wanted(&arguments.picture) {
        Ok(picture) => picture,
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
    let mut report = AnalyzeReport::new(&system, &passport, arguments.projectors);
    report.add_paths(&system, &daelight::paths(&system, &passport));
    if arguments.eigenvalues {
        report.add_spectrum(&passport.spectrum(&system));
    }
    if let Some(times) = arguments.interval {
        match daelight::analyze_interval(&system, times, arguments.budget) {
            Ok(found) => report.add_interval(&found),
            Err(not_linear) => {
                return terminal.usage(
                    &format!("--interval is for linear models; {}", not_linear.sentence),
                    "leave it out, or use --at for single times",
                );
            }
        }
    }
    if let Some(picture) = picture {
        let figure = match arguments.plot_what {
            StructurePictureWord::Structure => daelight::structure_picture(&system, &passport),
            StructurePictureWord::Projectors => daelight::projector_picture(&system, &passport),
            StructurePictureWord::Eigenvalues => (passport.spectrum(&system))
                .and_then(|spectrum| daelight::eigenvalue_picture(&system, &spectrum)),
        };
        match picture.write_or_note(figure, terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    let answer = if model.json {
        to_json(&report)
    } else {
        passport_page(&report, arguments.projectors)
    };
    let is_known = passport.point.is_ok() || passport.indices().is_some();
    match terminal.answer(answer.as_bytes(), model.out.as_deref()) {
        Status::Done if passport.budget_reached && !is_known => Status::GaveUp,
        status => status,
    }
}
