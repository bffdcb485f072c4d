//! `solve` for models with events.

use super::plot::Picture;
use super::progress::{ProgressLine, interrupt_by_ctrl_c};
use super::solve::{
    exit_status, refuse_at_start, refuse_unbalanced, requested_times, times_outside,
};
use super::values::{Lines, write_rows};
use crate::cli::{ModelArgs, SolveArgs, joined_names};
use crate::terminal::{Ended, STANDARD_OUTPUT, Status, Terminal};
use daelight::hybrid::{Taken, TakesRows, solve_sampled};
use daelight::{NamedRows, NoRun, SolveOptions, record};
use daelight_analysis::System;
use daelight_lang::Model;
use daelight_plot::Figure;
use daelight_show::picture::{self, RunPicture};
use daelight_show::record::SolveRecord;
use daelight_show::{table_value, terminal};
use std::path::Path;

/// Integrates a model with events, reports the run and writes values; `notes` are what was to be said of it before.
pub fn solve(
    model: &Model,
    (system, notes): (&System, Vec<String>),
    arguments: &SolveArgs,
    options: SolveOptions,
    terminal: &Terminal,
) -> Ended {
    let (asked, stop_when) = (&arguments.model, arguments.stop_when.as_deref());
    daelight::hybrid::needs_condition(model)
        .map_err(|found| terminal.usage(&found.message, found.help.as_deref().unwrap_or("")))?;
    let picture = Picture::wanted(&arguments.picture.file).map_err(|w| terminal.wrong(w))?;
    let span = daelight::span_of_run(system, &options);
    let progress = ProgressLine::new(span.0, span.1, terminal);
    let options = SolveOptions {
        interrupt: Some(interrupt_by_ctrl_c()),
        progress: progress.as_ref().map(ProgressLine::hook),
        ..options
    };
    let in_document = asked.json && (arguments.save_at.is_some() || arguments.points.is_some());
    let is_wanted = in_document || asked.out.is_some() || picture.is_some();
    let times = is_wanted.then(|| requested_times(system, (span.0, span.1, span.1), arguments));
    let times = times.unwrap_or_default();
    // Lines are written as they come, where nobody else looks at the values and they come in the order of the file.
    let is_alone = picture.is_none() && !in_document && arguments.sensitivity.is_empty();
    let mut lines = match &asked.out {
        Some(path) if is_alone && arguments.save_at.is_none() => Lines::of(path, terminal)?,
        _ => None,
    };
    let taken = Taken {
        times: &times,
        with_events: is_wanted && arguments.save_at.is_none(),
        told_only: !asked.json,
        sink: lines.as_mut().map(|lines| lines as &mut dyn TakesRows),
    };
    let began = std::time::Instant::now();
    let found = solve_sampled(model, system, &options, taken);
    if let Some(progress) = progress {
        progress.clear();
    }
    let (solution, rows) = found.map_err(|(mode, no_run)| {
        let of = (model, mode.as_deref().unwrap_or(system));
        refuse(of, no_run, &options, asked, terminal)
    })?;
    let mut report = record::hybrid(model, &solution, stop_when);
    let outside = times_outside(span, arguments);
    (report.warnings).extend(notes.into_iter().chain(outside));
    let of = (model, system);
    let (left, is_asked) = (options.after(began), arguments.estimate_error);
    daelight::add_estimate_with_events(&mut report, of, &left, &solution, is_asked);
    let mut derivatives = None;
    if !arguments.sensitivity.is_empty() {
        let names = joined_names(&arguments.sensitivity);
        let found = daelight::sensitivities_with_events(model, system, &options, &names);
        let found = found.map_err(|diagnostic| terminal.refuse(*diagnostic, &model.sources))?;
        record::add_sensitivities(&mut report, system, &found.1);
        derivatives = Some(found.1);
    }
    let mut status = exit_status(report.status);
    if is_wanted {
        let taken = rows.map_err(|message| terminal.usage(&message, "choose times within the run"));
        let written = taken.and_then(|mut taken| {
            if let Some(picture) = picture {
                let drawn = drawn(&report, model, &taken, arguments.picture.what());
                picture.write_or_note(drawn, terminal)?;
            }
            if let Some(found) = &derivatives {
                found.add_columns(&mut taken);
            }
            report.samples = in_document.then(|| table_value(&taken.0, &taken.1));
            write(asked, lines, &taken, terminal)
        });
        status = written.err().unwrap_or(status);
    }
    let text = |report: &_| terminal::solve(report, system.name());
    match asked.out.as_deref() == Some(Path::new(STANDARD_OUTPUT)) {
        true => terminal.aside(&text(&report)),
        false => terminal.print(&report, text, asked.json, None)?,
    }
    Ok(status)
}

/// Writes values to the file asked for, if their lines are not there already.
fn write(
    asked: &ModelArgs,
    lines: Option<Lines>,
    (names, rows): &NamedRows,
    terminal: &Terminal,
) -> Result<(), Status> {
    match (&asked.out, lines) {
        (Some(path), Some(lines)) => lines.finish(names, path, terminal),
        (Some(path), None) => write_rows(path, names, rows, terminal),
        (None, _) => Ok(()),
    }
}

/// Says why a model, or the mode in which it failed, does not run.
fn refuse(
    (model, system): (&Model, &System),
    no_run: NoRun,
    options: &SolveOptions,
    asked: &ModelArgs,
    terminal: &Terminal,
) -> Status {
    if matches!(no_run, NoRun::NotSquare)
        && !asked.json
        && let Some(status) = refuse_unbalanced(model, terminal)
    {
        return status;
    }
    refuse_at_start(system, no_run, options, asked, terminal)
}

/// Values over time, by their units; both sides of an event are drawn as a step.
fn drawn(
    report: &SolveRecord,
    model: &Model,
    rows: &NamedRows,
    what: RunPicture,
) -> Result<Figure, String> {
    if what != RunPicture::Trajectory {
        return Err("of a run with events only the trajectory is drawn".to_string());
    }
    picture::run(&record::with_rows(report.clone(), model, rows), what)
}
