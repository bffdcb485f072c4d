//! The command `solve`: options checked, the run reported, values written.

use super::constant_steps;
use super::models::{Number, load_driven};
use super::plot::Picture;
use super::progress::{ProgressLine, interrupt_by_ctrl_c};
use super::values::{check_ending, write_rows};
use crate::cli::{Method, ModelArgs, OnSingularity, OnZeno, SolveArgs, joined_names};
use crate::terminal::{Ended, STANDARD_OUTPUT, Status, Terminal, Wrong};
use daelight::record::{self, RefusalKind, RunRefusal};
use daelight::{NoRun, Place, Sensitivities, Solution, SolveOptions, ZeroDynamics};
use daelight_analysis::System;
use daelight_lang::{Code, Loaded, Model, Severity};
use daelight_show::record::{SolveRecord, to_json};
use daelight_show::{picture, table_value, terminal};
use std::path::Path;
use std::time::Instant;

/// Points of a run that are written unless asked otherwise.
pub(super) const DEFAULT_POINTS: usize = 201;

/// Most points that are written, of a run or of a sweep, whose rows are kept for the summary and the picture.
pub(super) const MAX_POINTS: usize = 10_000_000;

/// Integrates a model, by constant steps if they are asked for.
pub fn solve(arguments: &SolveArgs, terminal: &Terminal) -> Ended {
    if daelight_fmu::is_fmu(&arguments.model.model) {
        return super::foreign::solve(arguments, terminal);
    }
    let options = SolveOptions {
        from: arguments.from,
        to: arguments.to,
        rtol: arguments.rtol,
        atol: arguments.atol,
        method: arguments.method.chosen(),
        order: arguments.order,
        continues: arguments.on_singularity == OnSingularity::Continue,
        rests_at_zeno: arguments.on_zeno == OnZeno::Rest,
        max_steps: arguments.max_steps,
        budget: arguments.budget,
        place: Place {
            point: arguments.point.clone(),
            budget: arguments.budget,
            ..Default::default()
        },
        ..Default::default()
    };
    if arguments.method == Method::BdfFixed {
        return constant_steps::solve(arguments, &options, terminal);
    }
    constant_steps::refuse_without(&arguments.fixed, terminal)?;
    if arguments.gradient.is_some() {
        check(arguments, &options).map_err(|wrong| terminal.wrong(wrong))?;
        return super::gradient::gradient(arguments, options, terminal);
    }
    solve_varying(arguments, options, terminal)
}

/// Integrates a model by steps of varying length.
fn solve_varying(arguments: &SolveArgs, options: SolveOptions, terminal: &Terminal) -> Ended {
    let model = &arguments.model;
    let began = Instant::now();
    let wanted = check(arguments, &options).and_then(|()| Picture::wanted(&arguments.picture.file));
    let wanted = wanted.map_err(|wrong| terminal.wrong(wrong))?;
    let stop_when = arguments.stop_when.as_deref();
    let condition = (stop_when.map(Number::StopWhen), daelight::Relations::Modes);
    let (loaded, driven) = load_driven(model, &arguments.input, condition, options.from, terminal)?;
    let (mut system, mut notes) = (driven.system, driven.warnings);
    if let Some(model) = loaded.model.as_ref().filter(|model| model.hybrid.is_some()) {
        return super::events::solve(model, (&system, notes), arguments, options, terminal);
    }
    let span = daelight::span_of_run(&system, &options);
    // The free part of a rectangular model is settled in a model of its own, which has neither.
    if arguments.input.is_empty() && stop_when.is_none() {
        match daelight::settled(&system, span) {
            Ok(None) => {}
            Ok(Some((square, said))) => (system, notes) = (square, said),
            Err(diagnostic) => {
                let is_told = diagnostic.code == Code::Underdetermined && !model.json;
                let told = loaded.model.as_ref().filter(|_| is_told);
                if let Some(status) = told.and_then(|model| refuse_unbalanced(model, terminal)) {
                    return Err(status);
                }
                let no_run = NoRun::Fault(diagnostic);
                return Err(refuse(&system, no_run, options.from, model, terminal));
            }
        }
    }
    let mut announce = |found: &ZeroDynamics| terminal.note(&record::phase_warnings(found));
    let progress = ProgressLine::new(span.0, span.1, terminal);
    let options = SolveOptions {
        interrupt: Some(interrupt_by_ctrl_c()),
        progress: progress.as_ref().map(ProgressLine::hook),
        ..options
    };
    let solution = daelight::solve_announced(&system, &options.after(began), &mut announce);
    if let Some(progress) = progress {
        progress.clear();
    }
    let left = || options.after(began);
    let refused = |no_run| {
        let is_told = matches!(no_run, NoRun::NotSquare) && !model.json;
        let told = loaded.model.as_ref().filter(|_| is_told);
        told.and_then(|model| refuse_unbalanced(model, terminal))
            .unwrap_or_else(|| refuse_at_start(&system, no_run, &left(), model, terminal))
    };
    let solution = solution.map_err(refused)?;
    let mut report = record::solve(&system, &solution, stop_when);
    let outside = times_outside(span, arguments);
    report.warnings.extend(notes.into_iter().chain(outside));
    daelight::add_other_starts(&mut report, &system, &left(), &solution);
    let is_wanted = arguments.estimate_error;
    daelight::add_estimate(&mut report, &system, &left(), &solution, is_wanted);
    let run = (&system, &solution);
    let derivatives = differentiate(arguments, &loaded, run, &left(), terminal)?;
    if let Some(found) = &derivatives {
        record::add_sensitivities(&mut report, &system, found);
    }
    // A file that cannot be written does not take the answer away.
    let mut status = exit_status(report.status);
    let written = write_samples(arguments, &mut report, run, derivatives.as_ref(), terminal);
    status = written.err().unwrap_or(status);
    if let (Some(wanted), Some(drawn)) = (wanted, &loaded.model) {
        let what = arguments.picture.what();
        let figure = record::run_picture(&report, drawn, &system, &solution, what)
            .and_then(|shown| picture::run(&shown, what));
        let written = wanted.write_or_note(figure, terminal);
        status = written.err().unwrap_or(status);
    }
    if to_standard_output(model) {
        // The values are there already.
        terminal.aside(&terminal::solve(&report, system.name()));
        return Ok(status);
    }
    let text = |report: &_| terminal::solve(report, system.name());
    terminal.print(&report, text, model.json, None)?;
    Ok(status)
}

/// Puts values along the run into the document and into a file, as they are asked for.
fn write_samples(
    arguments: &SolveArgs,
    report: &mut SolveRecord,
    (system, solution): (&System, &Solution),
    derivatives: Option<&Sensitivities>,
    terminal: &Terminal,
) -> Result<(), Status> {
    let model = &arguments.model;
    let in_document = model.json && (arguments.save_at.is_some() || arguments.points.is_some());
    if !in_document && model.out.is_none() {
        return Ok(());
    }
    let run = (solution.from, solution.to, solution.reached());
    let times = requested_times(system, run, arguments);
    let mut table = daelight::samples(system, solution, &times)
        .map_err(|message| terminal.usage(&message, "choose times within the run"))?;
    if let Some(found) = derivatives {
        found.add_columns(&mut table);
    }
    let (names, rows) = table;
    report.samples = in_document.then(|| table_value(&names, &rows));
    match &model.out {
        Some(path) => write_rows(path, &names, &rows, terminal),
        None => Ok(()),
    }
}

/// The derivatives of a run, if they are asked for.
fn differentiate(
    arguments: &SolveArgs,
    loaded: &Loaded,
    (system, solution): (&System, &Solution),
    options: &SolveOptions,
    terminal: &Terminal,
) -> Result<Option<Sensitivities>, Status> {
    let (Some(model), false) = (&loaded.model, arguments.sensitivity.is_empty()) else {
        return Ok(None);
    };
    let names = joined_names(&arguments.sensitivity);
    let found = daelight::sensitivities(model, system, solution, options, &names);
    let found = found.map_err(|diagnostic| terminal.refuse(*diagnostic, &loaded.sources))?;
    Ok(Some(found))
}

/// Whether the values themselves are asked for on standard output.
pub fn to_standard_output(model: &ModelArgs) -> bool {
    model.out.as_deref() == Some(Path::new(STANDARD_OUTPUT))
}

/// Shows which components have too many or too few equations, where that is why there is no run.
pub fn refuse_unbalanced(model: &Model, terminal: &Terminal) -> Option<Status> {
    if model.components.is_empty() {
        return None;
    }
    let mut found = daelight_lang::balance(model).diagnostics(model);
    found.first_mut()?.severity = Severity::Error;
    terminal.show(&found, &model.sources);
    Some(Status::ModelAtFault)
}

/// Why there is no run; values and equations that stand in the way of a start are shown where they are, as `init` does.
pub fn refuse_at_start(
    system: &System,
    no_run: NoRun,
    options: &SolveOptions,
    model: &ModelArgs,
    terminal: &Terminal,
) -> Status {
    let at_start = options.place.point.is_none();
    let conflict = match &no_run {
        NoRun::NoStart(passport) if at_start && !passport.budget_reached && !model.json => {
            daelight::refused_at_start(system, options.from, options.budget)
        }
        _ => None,
    };
    match conflict {
        Some(diagnostic) => terminal.refuse(diagnostic, system.sources()),
        None => refuse(system, no_run, options.from, model, terminal),
    }
}

pub fn exit_status(status: &str) -> Status {
    match status {
        "success" => Status::Done,
        "singularity" => Status::Singularity,
        _ => Status::GaveUp,
    }
}

/// What a command ends with where there is no run or no start.
pub fn status_of(kind: RefusalKind) -> Status {
    match kind {
        RefusalKind::ModelAtFault => Status::ModelAtFault,
        RefusalKind::SingularStart => Status::Singularity,
        RefusalKind::GaveUp => Status::GaveUp,
    }
}

/// Refuses times, tolerances and orders that no run can have.
pub fn check_numbers(options: &SolveOptions) -> Result<(), Wrong> {
    for (name, value) in [("--from", options.from), ("--to", options.to)] {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            let help = "give a finite number".to_string();
            return Err((format!("{name} {value} is not a time"), help));
        }
    }
    for (name, value) in [("--rtol", options.rtol), ("--atol", options.atol)] {
        if let Some(value) = value.filter(|value| !(*value > 0.0 && *value < 1.0)) {
            return Err((
                format!("{name} {value} is not a tolerance"),
                "give a number between 0 and 1, such as 1e-8".to_string(),
            ));
        }
    }
    if let Some(order) = options.order.filter(|order| !(4..=60).contains(order)) {
        return Err((
            format!("--order {order} is out of range"),
            "give an order from 4 to 60".to_string(),
        ));
    }
    Ok(())
}

/// Refuses what cannot be done before any work is done.
pub fn check(arguments: &SolveArgs, options: &SolveOptions) -> Result<(), Wrong> {
    check_ending(arguments.model.out.as_deref())?;
    if arguments.model.json && to_standard_output(&arguments.model) {
        return Err((
            "--json and --out - both write to standard output".to_string(),
            "leave out --out -: with --json, --points and --save-at put values into the document"
                .to_string(),
        ));
    }
    check_numbers(options)?;
    let strange = |times: &Vec<f64>| times.iter().copied().find(|time| !time.is_finite());
    if let Some(time) = arguments.save_at.as_ref().and_then(strange) {
        let help = "give finite numbers".to_string();
        return Err((format!("--save-at: {time} is not a time"), help));
    }
    if let Some(points) = arguments
        .points
        .filter(|points| !(2..=MAX_POINTS).contains(points))
    {
        return Err((
            format!("--points {points} is not a number of output points"),
            format!("give a number from 2 to {MAX_POINTS}"),
        ));
    }
    Ok(())
}

/// The model as a command names it, with the values that it was given: without them the command would look at another model.
fn named(arguments: &ModelArgs) -> String {
    let mut words = vec![arguments.model.clone()];
    if let Some(class) = &arguments.class {
        words.push(format!("--model {class}"));
    }
    words.extend(
        arguments
            .set
            .iter()
            .map(|set| match set.contains(['[', '{', ' ']) {
                true => format!("--set \"{set}\""),
                false => format!("--set {set}"),
            }),
    );
    words.join(" ")
}

/// Why there is no run, in the words of whoever knows.
pub fn refuse(
    system: &System,
    no_run: NoRun,
    from: Option<f64>,
    arguments: &ModelArgs,
    terminal: &Terminal,
) -> Status {
    let (kind, message, help) = match record::refusal(system, no_run, &named(arguments)) {
        RunRefusal::Diagnostic(diagnostic) => {
            return terminal.refuse(*diagnostic, system.sources());
        }
        RunRefusal::Said {
            kind,
            message,
            help,
        } => (kind, message, help),
    };
    let status = status_of(kind);
    if arguments.json {
        let report = SolveRecord {
            status: if matches!(status, Status::Singularity) {
                "singularity"
            } else {
                "failure"
            },
            reason: "no-run",
            message: message.replace("\n  ", " "),
            method: "none".to_string(),
            time: from.or(system.experiment().start_time).unwrap_or(0.0),
            warnings: vec![help],
            ..SolveRecord::default()
        };
        let printed = terminal.answer(to_json(&report).as_bytes(), None);
        return printed.err().unwrap_or(status);
    }
    terminal.usage(&message, &help);
    status
}

/// Says that times asked for lie outside the run, if they do.
pub fn times_outside((from, to): (f64, f64), arguments: &SolveArgs) -> Option<String> {
    let inside = from.min(to)..=from.max(to);
    let times = arguments.save_at.iter().flatten();
    let first = times.copied().find(|time| !inside.contains(time))?;
    Some(format!(
        "The run goes from t = {from} to {to}; times of --save-at outside, such as {first}, are left out."
    ))
}

/// The times asked for, as far as the run goes.
pub fn requested_times(system: &System, run: (f64, f64, f64), arguments: &SolveArgs) -> Vec<f64> {
    output_times(system.experiment().interval, run, arguments)
}

/// The same where an experiment has an interval, or none.
pub fn output_times(
    interval: Option<f64>,
    (from, to, reached): (f64, f64, f64),
    arguments: &SolveArgs,
) -> Vec<f64> {
    match (&arguments.save_at, arguments.points) {
        (Some(times), _) => {
            let (low, high) = (from.min(reached), from.max(reached));
            times
                .iter()
                .copied()
                .filter(|t| (low..=high).contains(t))
                .collect()
        }
        (None, points) => {
            let n = points.unwrap_or(match interval {
                Some(step) if step > 0.0 => {
                    let n = ((to - from).abs() / step).round() + 1.0;
                    if n.is_finite() {
                        (n as usize).clamp(2, MAX_POINTS)
                    } else {
                        DEFAULT_POINTS
                    }
                }
                _ => DEFAULT_POINTS,
            });
            let step = (to - from) / (n - 1) as f64;
            let inside = |t: &f64| (*t - from).abs() <= (reached - from).abs();
            let mut times: Vec<f64> = (0..n)
                .map(|k| {
                    if k == n - 1 {
                        to
                    } else {
                        from + k as f64 * step
                    }
                })
                .filter(inside)
                .collect();
            if times.last().is_some_and(|last| *last != reached) {
                times.push(reached);
            }
            times
        }
    }
}
