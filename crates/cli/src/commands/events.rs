//! `solve` for models with events.

use super::plot::Picture;
use super::progress::{ProgressLine, interrupt_by_ctrl_c};
use super::solve::{exit_status, refuse_at_start, requested_times};
use super::values::write_rows;
use crate::cli::SolveArgs;
use crate::terminal::{Ended, STANDARD_OUTPUT, Terminal};
use daelight::hybrid::solve_sampled;
use daelight::{SolveOptions, record};
use daelight_analysis::System;
use daelight_lang::{Model, StopKind};
use daelight_show::{table_value, terminal};
use std::path::Path;

/// Integrates a model with events, reports the run and writes values.
pub fn solve(
    model: &Model,
    system: &System,
    arguments: &SolveArgs,
    options: SolveOptions,
    terminal: &Terminal,
) -> Ended {
    let asked = &arguments.model;
    let stop_when = arguments.stop_when.as_deref();
    if model
        .stop_when
        .is_some_and(|stop| stop.kind != StopKind::Condition)
    {
        return Err(terminal.usage(
            "--stop-when needs a condition where a model has events",
            "write a relation, such as x > 1",
        ));
    }
    if Picture::wanted(&arguments.picture.file).is_ok_and(|wanted| wanted.is_some()) {
        terminal.note(&["Pictures of runs with events are not drawn yet.".to_string()]);
    }
    let span = daelight::span_of_run(system, &options);
    let progress = ProgressLine::new(span.0, span.1, terminal);
    let options = SolveOptions {
        interrupt: Some(interrupt_by_ctrl_c()),
        progress: progress.as_ref().map(ProgressLine::hook),
        ..options
    };
    let in_document = asked.json && (arguments.save_at.is_some() || arguments.points.is_some());
    let is_wanted = in_document || asked.out.is_some();
    let times = match is_wanted {
        true => requested_times(system, (span.0, span.1, span.1), arguments),
        false => Vec::new(),
    };
    let with_events = is_wanted && arguments.save_at.is_none();
    let found = solve_sampled(model, system, &options, (&times, with_events));
    if let Some(progress) = progress {
        progress.clear();
    }
    let (solution, rows) = found.map_err(|(mode, no_run)| {
        let system = mode.as_deref().unwrap_or(system);
        refuse_at_start(system, no_run, &options, asked, terminal)
    })?;
    let mut report = record::hybrid(model, &solution, stop_when);
    let mut status = exit_status(report.status);
    if is_wanted {
        let written = rows
            .map_err(|message| terminal.usage(&message, "choose times within the run"))
            .and_then(|(names, rows)| {
                report.samples = in_document.then(|| table_value(&names, &rows));
                match &asked.out {
                    Some(path) => write_rows(path, &names, &rows, terminal),
                    None => Ok(()),
                }
            });
        status = written.err().unwrap_or(status);
    }
    if asked.out.as_deref() == Some(Path::new(STANDARD_OUTPUT)) {
        terminal.aside(&terminal::solve(&report, system.name()));
        return Ok(status);
    }
    let text = |report: &_| terminal::solve(report, system.name());
    terminal.print(&report, text, asked.json, None)?;
    Ok(status)
}
