//! The command `analyze`: the passport of a model.

use super::models::{load_at_start, load_driven, options, refuse_time, with_events};
use super::plot::Picture;
use crate::cli::{AnalyzeArgs, StructurePictureWord};
use crate::terminal::{Ended, Status, Terminal};
use daelight::{Place, record};
use daelight_analysis::System;
use daelight_analysis::passport::Passport;
use daelight_lang::Code;
use daelight_plot::Figure;
use daelight_show::record::AnalyzeRecord;
use daelight_show::{picture, terminal};
use std::time::Instant;

pub fn analyze(arguments: &AnalyzeArgs, terminal: &Terminal) -> Ended {
    let model = &arguments.model;
    let wanted = Picture::wanted(&arguments.picture).map_err(|wrong| terminal.wrong(wrong))?;
    refuse_time(arguments.at, terminal)?;
    if arguments.modes {
        return modes(arguments, terminal);
    }
    let began = Instant::now();
    let left = || arguments.budget.saturating_sub(began.elapsed());
    let (system, start) = load_at_start(model, arguments.at, terminal)?;
    let place = Place {
        at: arguments.at,
        point: arguments.point.clone(),
        budget: Some(left()),
        ..Default::default()
    };
    let has_modes = start.is_some();
    if let Some(start) = start.filter(|_| !model.json) {
        terminal.note(&[record::start_conditions(&start)]);
    }
    let passport = daelight::analyze(&system, &place)
        .map_err(|diagnostic| terminal.refuse(*diagnostic, system.sources()))?;
    let mut report = record::analyze(&system, &passport, arguments.projectors);
    if arguments.eigenvalues {
        record::add_spectrum(&mut report, &passport.spectrum(&system));
    }
    if let Some(times) = arguments.interval {
        let found = match has_modes {
            true => daelight::analyze_interval(&of_all_times(arguments, terminal)?, times, left()),
            false => daelight::analyze_interval(&system, times, left()),
        };
        let found = found.map_err(|not_linear| {
            terminal.usage(
                &format!("--interval is for linear models; {}", not_linear.sentence),
                "leave it out, or use --at for single times",
            )
        })?;
        record::add_interval(&mut report, &found);
    }
    if let Some(wanted) = wanted {
        let figure = figure(arguments.plot_what, &report, &system, &passport);
        wanted.write_or_note(figure, terminal)?;
    }
    let text = |report: &_| terminal::analyze(report, arguments.projectors);
    terminal.print(&report, text, model.json, model.out.as_deref())?;
    let is_known = passport.point.is_ok() || passport.indices().is_some();
    if passport.budget_reached && !is_known {
        return Ok(Status::GaveUp);
    }
    match passport.point.is_err() && arguments.point.is_none() && !model.json {
        true => Ok(contradiction(&system, arguments, terminal)),
        false => Ok(Status::Done),
    }
}

/// Shows what keeps the model from a consistent point, as `init` does, where that can be named.
fn contradiction(system: &System, arguments: &AnalyzeArgs, terminal: &Terminal) -> Status {
    if let Ok(mut loaded) = daelight::load(&arguments.model.model, &options(&arguments.model)) {
        let told = loaded.diagnostics.len();
        daelight::check(&mut loaded);
        let found = &loaded.diagnostics[told..];
        if found.iter().any(|one| one.code == Code::Overdetermined) {
            terminal.show(found, &loaded.sources);
            return Status::ModelAtFault;
        }
    }
    match daelight::refused_at_start(system, arguments.at, Some(arguments.budget)) {
        Some(found) if found.code != Code::NoConsistentStart => {
            terminal.refuse(found, system.sources())
        }
        // The remarks say it.
        _ => Status::Done,
    }
}

/// The equations with their branches, where conditions of time decide: those of one mode hold at some times only.
fn of_all_times(arguments: &AnalyzeArgs, terminal: &Terminal) -> Result<System, Status> {
    let relations = daelight::Relations::Kinks;
    let (loaded, driven) = load_driven(&arguments.model, &[], (None, relations), None, terminal)?;
    match with_events(&loaded) {
        Some(_) => Err(terminal.usage(
            "--interval is for models without events, whose equations change with them",
            "leave it out, and ask for each mode with --modes",
        )),
        None => Ok(driven.system),
    }
}

/// The modes of a model with events.
fn modes(arguments: &AnalyzeArgs, terminal: &Terminal) -> Ended {
    let asked = &arguments.model;
    let relations = daelight::Relations::AllModes;
    let (loaded, driven) = load_driven(asked, &[], (None, relations), None, terminal)?;
    let Some((model, hybrid)) = with_events(&loaded) else {
        return Err(terminal.usage(
            "--modes is for models with conditions, and this one has none",
            "leave it out",
        ));
    };
    let (listed, is_whole) = daelight::hybrid::list_modes(model, hybrid, &driven.system)
        .map_err(|diagnostic| terminal.refuse(*diagnostic, &loaded.sources))?;
    let report = record::modes(model, &listed, is_whole);
    terminal.print(&report, terminal::modes, asked.json, asked.out.as_deref())?;
    Ok(Status::Done)
}

fn figure(
    what: StructurePictureWord,
    report: &AnalyzeRecord,
    system: &System,
    passport: &Passport,
) -> Result<Figure, String> {
    match what {
        StructurePictureWord::Structure => {
            picture::structure(report, &record::signature(system, passport))
        }
        StructurePictureWord::Projectors => {
            picture::projectors(&record::analyze(system, passport, true))
        }
        StructurePictureWord::Eigenvalues => {
            let mut report = report.clone();
            record::add_spectrum(&mut report, &Ok(passport.spectrum(system)?));
            picture::eigenvalues(&report)
        }
    }
}
