//! The command `solve`: options checked, the run reported, values written.

use crate::cli::{ModelArgs, PictureArgs, RunPictureArgs};
use crate::plot::Picture;
use crate::progress::{ProgressLine, interrupt_by_ctrl_c};
use crate::{Status, Terminal, load_driven, load_model, load_system, options as options_of};
use daelight::{
    Feedforward, FeedforwardOptions, NoFeedforward, NoRun, Refusal, RefusalKind, Solution,
    SolveOptions, ZeroDynamics, phase_warnings, solve_report, status_of,
};
use daelight_analysis::System;
use daelight_integrate::StopReason;
use daelight_report::{
    FeedforwardReport, PathErrorRecord, SolveReport, StatisticsRecord, csv, feedforward_page,
    parquet, run_page, table_json, to_json,
};
use std::path::Path;

/// Points of a run that are written unless asked otherwise.
const DEFAULT_POINTS: usize = 201;
/// A run is repeated with a hundredth of the tolerance, to see what its errors have become, if its evaluations and
/// factorisations times its unknowns are no more than this: that took 0.2 s when it was set.
const CHEAP: usize = 1_000_000;
/// A finer run that ends earlier by this part of the run has not reached the same end.
const EARLIER: f64 = 1e-6;
/// A series counts as this many evaluations.
const SERIES: usize = 20;
/// A difference of more than this many tolerances is told.
const TOLD: f64 = 100.0;
/// Most points that are written.
const MAX_POINTS: usize = 10_000_000;

/// What is kept of a run.
pub struct Output {
    pub points: Option<usize>,
    pub save_at: Option<Vec<f64>>,
    pub estimate_error: bool,
    /// `NAME=FILE` or `NAME=FILE:COLUMN`.
    pub inputs: Vec<String>,
    /// The condition that ends the run, as it was written.
    pub stop_when: Option<String>,
}

pub fn solve(
    arguments: &ModelArgs,
    options: &SolveOptions,
    output: &Output,
    picture: &RunPictureArgs,
    terminal: &Terminal,
) -> Status {
    let checked = check(options, output, arguments.out.as_deref());
    let wanted = match checked.and_then(|()| Picture::wanted(&picture.file)) {
        Ok(wanted) => wanted,
        Err((message, help)) => return terminal.usage(&message, &help),
    };
    let (loaded, driven) = match load_driven(
        arguments,
        &output.inputs,
        output.stop_when.as_deref(),
        options.from,
        terminal,
    ) {
        Ok(driven) => driven,
        Err(status) => return status,
    };
    let (mut system, mut notes) = (driven.system, driven.warnings);
    let span = daelight::span_of_run(&system, options);
    // The free part of a rectangular model is settled in a model of its own, which has neither.
    if output.inputs.is_empty() && output.stop_when.is_none() {
        match daelight::settled(&system, span) {
            Ok(None) => {}
            Ok(Some((square, said))) => (system, notes) = (square, said),
            Err(diagnostic) => {
                return refuse(
                    &system,
                    NoRun::Fault(diagnostic),
                    options.from,
                    arguments,
                    terminal,
                );
            }
        }
    }
    let mut announce = |found: &ZeroDynamics| terminal.note(&phase_warnings(found));
    let progress = ProgressLine::new(span.0, span.1, terminal);
    let options = &SolveOptions {
        interrupt: Some(interrupt_by_ctrl_c()),
        progress: progress.as_ref().map(ProgressLine::hook),
        ..options.clone()
    };
    let solution = daelight::solve_announced(&system, options, &mut announce);
    if let Some(progress) = progress {
        progress.clear();
    }
    let solution = match solution {
        Ok(solution) => solution,
        Err(no_run) => {
            // Fixed values that contradict the model are shown where they are, as `init` does.
            let at_start = options.from.is_none() && options.place.point.is_none();
            let conflict = match &no_run {
                NoRun::NoStart(passport)
                    if at_start && !passport.budget_reached && !arguments.json =>
                {
                    daelight::conflict_at_start(&system)
                }
                _ => None,
            };
            return match conflict {
                Some(diagnostic) => terminal.refuse(diagnostic, system.sources()),
                None => refuse(&system, no_run, options.from, arguments, terminal),
            };
        }
    };
    let mut report = solve_report(&system, &solution, output.stop_when.as_deref());
    report.warnings.extend(notes);
    report.warnings.extend(times_outside(span, output));
    if output.estimate_error && solution.run.stop != StopReason::Interrupted {
        match estimate(&system, options, &solution) {
            Ok(error) => report.estimated_error = Some(error),
            Err(because) => report.warnings.push(because.to_string()),
        }
    } else if report.status == "success" && is_cheap(&system, &solution) {
        match estimate(&system, options, &solution) {
            Ok(error) if error > TOLD * solution.rtol => report.estimated_error = Some(error),
            Err(because @ NoEstimate::EndsAt(_)) => report.warnings.push(because.to_string()),
            _ => {}
        }
    }
    report.warnings.extend(large_error(&report, solution.rtol));
    // A file that cannot be written does not take the answer away.
    let mut status = exit_status(report.status);
    if let Some(path) = &arguments.out {
        let times = times(&system, &solution, output);
        let written = match daelight::samples(&system, &solution, &times) {
            Ok((names, rows)) => write_rows(path, &names, &rows, terminal),
            Err(message) => terminal.usage(&message, "choose times within the run"),
        };
        if !matches!(written, Status::Done) {
            status = written;
        }
    }
    if let Some(wanted) = wanted {
        let figure = match &loaded.model {
            Some(model) => daelight::run_picture(model, &system, &solution, picture.what()),
            None => Err("there is no model".to_string()),
        };
        let written = wanted.write_or_note(figure, terminal);
        if !matches!(written, Status::Done) {
            status = written;
        }
    }
    let answer = if arguments.json {
        to_json(&report)
    } else {
        run_page(&report, system.name())
    };
    match terminal.answer(answer.as_bytes(), None) {
        Status::Done => status,
        failed => failed,
    }
}

/// Solves an inverse model and verifies its forces with a forward model.
pub fn feedforward(
    arguments: &ModelArgs,
    mut forward: ModelArgs,
    options: &FeedforwardOptions,
    picture: &PictureArgs,
    terminal: &Terminal,
) -> Status {
    let nothing = Output {
        points: None,
        save_at: None,
        estimate_error: false,
        inputs: Vec::new(),
        stop_when: None,
    };
    let checked = check(&options.solve, &nothing, arguments.out.as_deref());
    let wanted = match checked.and_then(|()| Picture::wanted(picture)) {
        Ok(wanted) => wanted,
        Err((message, help)) => return terminal.usage(&message, &help),
    };
    let system = match load_system(arguments, None, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    // What both models have is the same in both.
    let mut plain = options_of(&forward);
    plain.set.clear();
    let known = daelight::load(&forward.model, &plain);
    let names: Vec<String> = match known.as_ref().map(|loaded| &loaded.model) {
        Ok(Some(model)) => model.parameters.iter().map(|p| p.name.clone()).collect(),
        _ => Vec::new(),
    };
    let base = |text: &str| {
        text.split(['=', '['])
            .next()
            .unwrap_or("")
            .trim()
            .to_string()
    };
    let shared = arguments
        .set
        .iter()
        .filter(|text| names.iter().any(|name| base(name) == base(text)));
    forward.set.splice(0..0, shared.cloned());
    let loaded = match load_model(&forward, None, terminal) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    let Some(forward_model) = &loaded.model else {
        return Status::ModelAtFault;
    };
    let mut announce = |found: &ZeroDynamics| terminal.note(&phase_warnings(found));
    let found = match daelight::feedforward(&system, forward_model, options, &mut announce) {
        Ok(found) => found,
        Err(NoFeedforward::Fault(diagnostic)) => {
            terminal.show(&[*diagnostic], &loaded.sources);
            return Status::ModelAtFault;
        }
        Err(NoFeedforward::Inverse(no_run)) => {
            return refuse(&system, no_run, options.solve.from, arguments, terminal);
        }
        Err(NoFeedforward::Forward(driven, no_run)) => {
            return refuse(&driven, no_run, options.solve.from, &forward, terminal);
        }
        Err(NoFeedforward::Ended(solution)) => {
            let report = FeedforwardReport {
                status: status_of(&solution),
                message: "the run of the inverse model did not reach its end".to_string(),
                inputs: Vec::new(),
                paths: Vec::new(),
                times: Vec::new(),
                inverse: solve_report(&system, &solution, None),
                forward: None,
                warnings: Vec::new(),
            };
            return feedforward_answer(&report, &system, &forward_model.name, arguments, terminal);
        }
    };
    let report = feedforward_report(&system, &found);
    if let Some(path) = &arguments.out {
        let errors = (1..=found.paths.len()).map(|k| format!("error {k}"));
        let names: Vec<String> = found.inputs.iter().cloned().chain(errors).collect();
        let row = |(k, time): (usize, &f64)| {
            let errors = found.paths.iter().map(|path| path.errors[k]);
            (
                *time,
                found.forces[k].iter().copied().chain(errors).collect(),
            )
        };
        let rows: Vec<(f64, Vec<f64>)> = found.times.iter().enumerate().map(row).collect();
        match write_rows(path, &names, &rows, terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    if let Some(wanted) = wanted {
        match wanted.write(daelight::feedforward_picture(&system, &found), terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    feedforward_answer(&report, &system, &forward_model.name, arguments, terminal)
}

fn feedforward_report(system: &System, found: &Feedforward) -> FeedforwardReport {
    let paths: Vec<PathErrorRecord> = found
        .paths
        .iter()
        .filter_map(|path| {
            let worst = path.worst()?;
            Some(PathErrorRecord {
                equation: system.equation_text(path.equation),
                largest: path.errors[worst].abs(),
                time: found.times[worst],
                last: path.errors.last()?.abs(),
                errors: path.errors.clone(),
            })
        })
        .collect();
    let largest = paths.iter().map(|path| path.largest).fold(0.0, f64::max);
    let status = status_of(&found.forward);
    let message = match (status, paths.is_empty()) {
        ("success", false) => {
            format!("the forward model follows the prescribed motion within {largest:.1e}")
        }
        ("success", true) => "no prescribed motion could be compared".to_string(),
        _ => "the run of the forward model did not reach its end".to_string(),
    };
    FeedforwardReport {
        status,
        message,
        inputs: found.inputs.clone(),
        paths,
        times: found.times.clone(),
        inverse: solve_report(system, &found.inverse, None),
        forward: Some(solve_report(&found.forward_system, &found.forward, None)),
        warnings: found.warnings.clone(),
    }
}

fn feedforward_answer(
    report: &FeedforwardReport,
    system: &System,
    forward: &str,
    arguments: &ModelArgs,
    terminal: &Terminal,
) -> Status {
    let answer = if arguments.json {
        to_json(report)
    } else {
        feedforward_page(report, system.name(), forward)
    };
    match terminal.answer(answer.as_bytes(), None) {
        Status::Done => exit_status(report.status),
        failed => failed,
    }
}

fn exit_status(status: &str) -> Status {
    match status {
        "success" => Status::Done,
        "singularity" => Status::Singularity,
        _ => Status::GaveUp,
    }
}

/// Writes a table in the format that the name of the file asks for.
pub(crate) fn write_rows(
    path: &Path,
    names: &[String],
    rows: &[(f64, Vec<f64>)],
    terminal: &Terminal,
) -> Status {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let bytes = match extension {
        "csv" => csv(names, rows).into_bytes(),
        "json" => table_json(names, rows).into_bytes(),
        "parquet" => match parquet(names, rows) {
            Ok(bytes) => bytes,
            Err(because) => {
                return terminal.usage(&because, "write the values as run.csv instead");
            }
        },
        other => unreachable!("the ending `{other}` was refused before the run"),
    };
    terminal.answer(&bytes, Some(path))
}

/// Refuses a file for values whose name does not tell a format that is written.
pub(crate) fn check_ending(out: Option<&Path>) -> Result<(), (String, String)> {
    let Some(path) = out else { return Ok(()) };
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if ["csv", "json", "parquet"].contains(&ending) {
        return Ok(());
    }
    Err((
        format!("values are written as csv, parquet or json, not as `{ending}`"),
        "name the file run.csv, run.parquet or run.json".to_string(),
    ))
}

/// Refuses times, tolerances and orders that no run can have.
pub(crate) fn check_numbers(options: &SolveOptions) -> Result<(), (String, String)> {
    for (name, value) in [("--from", options.from), ("--to", options.to)] {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            let help = "give a finite number".to_string();
            return Err((format!("{name} {value} is no time"), help));
        }
    }
    for (name, value) in [("--rtol", options.rtol), ("--atol", options.atol)] {
        if let Some(value) = value.filter(|value| !(*value > 0.0 && *value < 1.0)) {
            return Err((
                format!("{name} {value} is no tolerance"),
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
fn check(
    options: &SolveOptions,
    output: &Output,
    out: Option<&Path>,
) -> Result<(), (String, String)> {
    check_ending(out)?;
    check_numbers(options)?;
    let strange = |times: &Vec<f64>| times.iter().copied().find(|time| !time.is_finite());
    if let Some(time) = output.save_at.as_ref().and_then(strange) {
        let help = "give finite numbers".to_string();
        return Err((format!("--save-at: {time} is no time"), help));
    }
    if let Some(points) = output
        .points
        .filter(|points| !(2..=MAX_POINTS).contains(points))
    {
        return Err((
            format!("--points {points} is no number of output points"),
            format!("give a number from 2 to {MAX_POINTS}"),
        ));
    }
    Ok(())
}

/// Why there is no run, in the words of whoever knows.
pub(crate) fn refuse(
    system: &System,
    no_run: NoRun,
    from: Option<f64>,
    arguments: &ModelArgs,
    terminal: &Terminal,
) -> Status {
    let (kind, message, help) = match daelight::refusal(system, no_run, &arguments.model) {
        Refusal::Diagnostic(diagnostic) => return terminal.refuse(*diagnostic, system.sources()),
        Refusal::Said {
            kind,
            message,
            help,
        } => (kind, message, help),
    };
    let status = match kind {
        RefusalKind::ModelAtFault => Status::ModelAtFault,
        RefusalKind::SingularStart => Status::Singularity,
        RefusalKind::GaveUp => Status::GaveUp,
    };
    if arguments.json {
        let report = SolveReport {
            status: if matches!(status, Status::Singularity) {
                "singularity"
            } else {
                "failure"
            },
            reason: "no-run",
            stopped: None,
            energy: None,
            message: message.replace("\n  ", " "),
            method: "none".to_string(),
            time: from.or(system.experiment().start_time).unwrap_or(0.0),
            last: Default::default(),
            singularities: Vec::new(),
            statistics: StatisticsRecord::default(),
            max_constraint_residual: 0.0,
            residuals: Vec::new(),
            index_changes: Vec::new(),
            switches: Vec::new(),
            zero_dynamics: None,
            estimated_error: None,
            discretisation: None,
            warnings: vec![help],
        };
        return match terminal.answer(to_json(&report).as_bytes(), None) {
            Status::Done => status,
            failed => failed,
        };
    }
    terminal.usage(&message, &help);
    status
}

/// Says that times asked for lie outside the run, if they do.
fn times_outside((from, to): (f64, f64), output: &Output) -> Option<String> {
    let inside = from.min(to)..=from.max(to);
    let times = output.save_at.iter().flatten();
    let first = times.copied().find(|time| !inside.contains(time))?;
    Some(format!(
        "The run goes from t = {from} to {to}; times of --save-at outside, such as {first}, are left out."
    ))
}

/// The times asked for, as far as the run goes.
fn times(system: &System, solution: &Solution, output: &Output) -> Vec<f64> {
    let (from, reached) = (solution.from, solution.reached());
    match (&output.save_at, output.points) {
        (Some(times), _) => {
            let (low, high) = (from.min(reached), from.max(reached));
            times
                .iter()
                .copied()
                .filter(|t| (low..=high).contains(t))
                .collect()
        }
        (None, points) => {
            let n = points.unwrap_or(match system.experiment().interval {
                Some(step) if step > 0.0 => {
                    let n = ((solution.to - from).abs() / step).round() + 1.0;
                    if n.is_finite() {
                        (n as usize).clamp(2, MAX_POINTS)
                    } else {
                        DEFAULT_POINTS
                    }
                }
                _ => DEFAULT_POINTS,
            });
            let step = (solution.to - from) / (n - 1) as f64;
            let inside = |t: &f64| (*t - from).abs() <= (reached - from).abs();
            let mut times: Vec<f64> = (0..n)
                .map(|k| {
                    if k == n - 1 {
                        solution.to
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

/// Whether another run of the same kind takes no time that anybody notices.
fn is_cheap(system: &System, solution: &Solution) -> bool {
    let statistics = &solution.run.statistics;
    let work = statistics.factorizations + statistics.residuals + SERIES * statistics.jets;
    work.saturating_mul(system.unknowns().len()) <= CHEAP
}

/// Says that errors have grown beyond what the tolerance promises.
fn large_error(report: &SolveReport, rtol: f64) -> Option<String> {
    let error = report
        .estimated_error
        .filter(|error| *error > TOLD * rtol)?;
    Some(format!(
        "Small errors grow in this model: the values at the end are off by about {error:.1e}, and the tolerance is {rtol:.0e}. Ask for \
         more with --rtol; if unknowns are much smaller than 1, give their sizes by `nominal`."
    ))
}

/// Why the error of a run is not known.
enum NoEstimate {
    /// The finer run did not begin or gave up.
    Failed,
    /// The finer run found that the solution ends here.
    EndsAt(f64),
}

impl std::fmt::Display for NoEstimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed => write!(f, "The error could not be estimated: the finer run failed."),
            Self::EndsAt(time) => write!(
                f,
                "A run with a hundredth of the tolerance ends at a singularity at t = {time}: values behind it cannot be relied on."
            ),
        }
    }
}

/// The largest difference at the end to a run with a hundredth of the tolerance, against the size of each unknown.
fn estimate(
    system: &System,
    options: &SolveOptions,
    solution: &Solution,
) -> Result<f64, NoEstimate> {
    let finer = SolveOptions {
        rtol: Some((solution.rtol * 1e-2).max(1e-15)),
        method: Some(solution.method),
        progress: None,
        ..options.clone()
    };
    let other = daelight::solve(system, &finer).map_err(|_| NoEstimate::Failed)?;
    let (a, b) = (solution.reached(), other.reached());
    let is_shorter = (b - solution.from).abs() < (1.0 - EARLIER) * (a - solution.from).abs();
    match other.run.stop {
        StopReason::Singularity | StopReason::FiniteEscape { .. } if is_shorter => {
            return Err(NoEstimate::EndsAt(b));
        }
        _ if is_shorter => return Err(NoEstimate::Failed),
        _ => {}
    }
    let until = if solution.to >= solution.from {
        a.min(b)
    } else {
        a.max(b)
    };
    let [here, there] = [solution, &other].map(|run| run.reader(system).values(until));
    match (here, there) {
        (Ok(Some(here)), Ok(Some(there))) => Ok(here
            .iter()
            .zip(&there)
            .zip(system.unknowns())
            .map(|((x, y), info)| (x - y).abs() / y.abs().max(info.nominal.unwrap_or(1.0).abs()))
            .fold(0.0, f64::max)),
        _ => Err(NoEstimate::Failed),
    }
}
