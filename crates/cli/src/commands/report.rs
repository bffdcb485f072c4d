//! The command `report`: everything about a model on one HTML page.

use super::models::{asks_for_least_norm, fault_status, load_model, options as options_of};
use super::solve::check_numbers;
use crate::cli::{Method, OnSingularity, ReportArgs};
use crate::terminal::{Status, Terminal};
use daelight::record::{self, PageOptions};
use daelight_show::page;
use std::path::{Path, PathBuf};

pub fn report(arguments: &ReportArgs, terminal: &Terminal) -> Status {
    let model = &arguments.model;
    if model.json {
        let usage = "report writes an HTML page; --json has no meaning here";
        return terminal.usage(usage, "analyze, init, solve and singular have --json");
    }
    if asks_for_least_norm(model) {
        return terminal.no_least_norm();
    }
    if arguments.method == Method::BdfFixed {
        let usage = "report takes --method auto, taylor, radau or bdf";
        return terminal.usage(usage, "use `daelight solve` for constant steps");
    }
    let mut options = PageOptions::new(model.model.clone());
    options.reading = options_of(model);
    options.solve.to = arguments.to;
    options.solve.rtol = arguments.rtol;
    options.solve.method = arguments.method.chosen();
    options.solve.continues = arguments.on_singularity == OnSingularity::Continue;
    options.with_run = !arguments.no_run;
    options.time_budget = arguments.time_budget;
    if let Err((message, help)) = check_numbers(&options.solve) {
        return terminal.usage(&message, &help);
    }
    let loaded = match load_model(model, None, terminal) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    if loaded.model.is_none() && loaded.usage_is_wrong() {
        return Status::WrongUsage;
    }
    let page = page::model(&record::page(&loaded, &options));
    let chosen = page_file(&model.model);
    let out = model.out.as_deref().unwrap_or(&chosen);
    let written = terminal.answer(page::html(&page).as_bytes(), Some(out));
    if matches!(written, Status::Done) && model.out.is_none() {
        terminal.note(&[format!("the page is in {}", out.display())]);
    }
    match written {
        Status::Done if loaded.model.is_none() => fault_status(&loaded),
        status => status,
    }
}

/// The file of a page that was given none: named like the model, in the folder that the user is in.
fn page_file(model: &str) -> PathBuf {
    match Path::new(model).file_stem() {
        Some(name) if model != "-" => Path::new(name).with_extension("html"),
        _ => PathBuf::from("report.html"),
    }
}
