//! The command `report`: everything about a model on one HTML page.

use crate::cli::{Method, ModelArgs};
use crate::{Status, Terminal, asks_for_least_norm, fault_status, options as options_of, run};
use daelight::PageOptions;
use daelight_lang::SourceMap;
use daelight_page::html;
use std::time::Duration;

/// What the page is asked for.
pub struct Wanted {
    pub to: Option<f64>,
    pub rtol: Option<f64>,
    pub method: Method,
    pub continues: bool,
    pub with_run: bool,
    pub time_budget: Duration,
}

pub fn report(arguments: &ModelArgs, wanted: &Wanted, terminal: &Terminal) -> Status {
    if arguments.json {
        let usage = "report writes an HTML page; --json has no meaning here";
        return terminal.usage(usage, "analyze, init, solve and singular have --json");
    }
    if asks_for_least_norm(arguments) {
        return terminal.no_least_norm();
    }
    if wanted.method == Method::BdfFixed {
        let usage = "report takes --method auto, taylor, radau or bdf";
        return terminal.usage(usage, "use `daelight solve` for constant steps");
    }
    let mut options = PageOptions::new(arguments.model.clone());
    options.reading = options_of(arguments);
    options.solve.to = wanted.to;
    options.solve.rtol = wanted.rtol;
    options.solve.method = wanted.method.chosen();
    options.solve.continues = wanted.continues;
    options.with_run = wanted.with_run;
    options.time_budget = wanted.time_budget;
    if let Err((message, help)) = run::check_numbers(&options.solve) {
        return terminal.usage(&message, &help);
    }
    let loaded = match daelight::load(&options.model, &options.reading) {
        Ok(loaded) => loaded,
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], &SourceMap::default());
            return Status::WrongUsage;
        }
    };
    terminal.show(&loaded.diagnostics, &loaded.sources);
    if loaded.model.is_none() && loaded.usage_is_wrong() {
        return Status::WrongUsage;
    }
    let page = daelight::page_of(&loaded, &options);
    match terminal.answer(html(&page).as_bytes(), arguments.out.as_deref()) {
        Status::Done if loaded.model.is_none() => fault_status(&loaded),
        status => status,
    }
}
