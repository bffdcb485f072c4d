//! The command `report`: everything about a model on one HTML page.

use super::models::{asks_for_least_norm, fault_status, load_model, options as options_of};
use super::solve::check_numbers;
use super::values::check_written;
use crate::cli::{Method, OnSingularity, ReportArgs};
use crate::terminal::{Ended, Status, Terminal};
use daelight::record::{self, PageOptions};
use daelight_lang::{Code, Diagnostic};
use daelight_show::page;
use std::path::{Path, PathBuf};

pub fn report(arguments: &ReportArgs, terminal: &Terminal) -> Ended {
    let model = &arguments.model;
    if model.json {
        let usage = "report writes an HTML page; --json has no meaning here";
        return Err(terminal.usage(usage, "analyze, init, solve and singular have --json"));
    }
    check_written(model.out.as_deref(), &["html", "htm"]).map_err(|wrong| terminal.wrong(wrong))?;
    if asks_for_least_norm(model) {
        return Err(terminal.no_least_norm());
    }
    if arguments.method == Method::BdfFixed {
        let usage = "report takes --method auto, taylor, radau or bdf";
        return Err(terminal.usage(usage, "use `daelight solve` for constant steps"));
    }
    let mut options = PageOptions::new(model.model.clone());
    options.reading = options_of(model);
    options.solve.to = arguments.to;
    options.solve.rtol = arguments.rtol;
    options.solve.method = arguments.method.chosen();
    options.solve.continues = arguments.on_singularity == OnSingularity::Continue;
    options.with_run = !arguments.no_run;
    options.time_budget = arguments.time_budget;
    check_numbers(&options.solve).map_err(|wrong| terminal.wrong(wrong))?;
    let mut loaded = load_model(model, daelight::Relations::Modes, terminal)?;
    let shown = loaded.diagnostics.len();
    daelight::check(&mut loaded);
    // Unknowns that nothing determines may be meant; the page says what is free.
    let is_kept = |found: &Diagnostic| found.code != Code::Underdetermined;
    loaded.diagnostics.retain(is_kept);
    terminal.show(&loaded.diagnostics[shown..], &loaded.sources);
    let is_at_fault = loaded.diagnostics.len() > shown;
    if loaded.model.is_none() && loaded.usage_is_wrong() {
        return Err(Status::WrongUsage);
    }
    let shown = record::page(&loaded, &options);
    let no_start = match &shown.start {
        Some(Err(no_start)) if !is_at_fault => Some(no_start),
        _ => None,
    };
    if let Some(no_start) = no_start {
        terminal.tell(&no_start.text);
    }
    // As `init` and `solve` end there.
    let no_start = no_start.map(|no_start| match no_start.code {
        code if code == Code::SingularStart.word() => Status::Singularity,
        code if code == Code::NoConsistentStart.word() => Status::GaveUp,
        _ => Status::ModelAtFault,
    });
    let page = page::model(&shown);
    let chosen = page_file(&model.model);
    let out = model.out.as_deref().unwrap_or(&chosen);
    terminal.answer(page::html(&page).as_bytes(), Some(out))?;
    if model.out.is_none() {
        terminal.note(&[format!("the page is in {}", out.display())]);
    }
    match &loaded.model {
        Some(_) if is_at_fault => Err(Status::ModelAtFault),
        Some(_) => no_start.map_or(Ok(Status::Done), Err),
        None => Err(fault_status(&loaded)),
    }
}

/// The file of a page that was given none: named like the model, in the folder that the user is in.
fn page_file(model: &str) -> PathBuf {
    match Path::new(model).file_stem() {
        Some(name) if model != "-" => Path::new(name).with_extension("html"),
        _ => PathBuf::from("report.html"),
    }
}
