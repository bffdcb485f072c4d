//! The command `solve`: options checked, the run reported, values written.

use crate::cli::ModelArgs;
use crate::{Status, Terminal, load_system};
use daelight::{Explained, NoRun, Solution, SolveOptions};
use daelight_analysis::System;
use daelight_analysis::passport::{Passport, PointVerdict};
use daelight_integrate::implicit::Method;
use daelight_integrate::{BudgetKind, Failure, Nature, StopReason};
use daelight_report::{
    AnalyzeReport, IndexChangeRecord, SingularityRecord, SolveReport, StatisticsRecord,
    SwitchRecord, csv, named_values, parquet, run_page, table_json, to_json,
};

/// Points of a run that are written unless asked otherwise.
const DEFAULT_POINTS: usize = 201;
/// Most points that are written.
const MAX_POINTS: usize = 10_000_000;

/// What is kept of a run.
pub struct Output {
    pub points: Option<usize>,
    pub save_at: Option<Vec<f64>>,
    pub estimate_error: bool,
}

pub fn solve(
    arguments: &ModelArgs,
    options: &SolveOptions,
    output: &Output,
    terminal: &Terminal,
) -> Status {
    if let Err((message, help)) = check(options, output) {
        return terminal.usage(&message, &help);
    }
    let system = match load_system(arguments, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let solution = match daelight::solve(&system, options) {
        Ok(solution) => solution,
        Err(no_run) => return refuse(&system, no_run, arguments, terminal),
    };
    let mut report = report(&system, &solution);
    if output.estimate_error {
        match estimate(&system, options, &solution) {
            Ok(error) => report.estimated_error = Some(error),
            Err(because) => report.warnings.push(because),
        }
    }
    let rows = match rows(&system, &solution, output) {
        Ok(rows) => rows,
        Err(message) => return terminal.usage(&message, "choose times within the run"),
    };
    if let Err(failed) = write_rows(&system, &rows, arguments, terminal) {
        return failed;
    }
    let answer = if arguments.json {
        to_json(&report)
    } else {
        run_page(&report, system.name())
    };
    let status = match report.status {
        "success" => Status::Done,
        "singularity" => Status::Singularity,
        _ => Status::GaveUp,
    };
    match terminal.answer(answer.as_bytes(), None) {
        Status::Done => status,
        failed => failed,
    }
}

/// Writes the values to the file of `--out`, if there is one.
pub(crate) fn write_rows(
    system: &System,
    rows: &[(f64, Vec<f64>)],
    arguments: &ModelArgs,
    terminal: &Terminal,
) -> Result<(), Status> {
    let Some(path) = &arguments.out else {
        return Ok(());
    };
    let names: Vec<String> = system.unknowns().iter().map(|u| u.name.clone()).collect();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let bytes = match extension {
        "csv" => csv(&names, rows).into_bytes(),
        "json" => table_json(&names, rows).into_bytes(),
        "parquet" => parquet(&names, rows)
            .map_err(|because| terminal.usage(&because, "write the values as run.csv instead"))?,
        other => {
            return Err(terminal.usage(
                &format!("values are written as csv, parquet or json, not as `{other}`"),
                "name the file run.csv, run.parquet or run.json",
            ));
        }
    };
    match terminal.answer(&bytes, Some(path)) {
        Status::Done => Ok(()),
        failed => Err(failed),
    }
}

fn check(options: &SolveOptions, output: &Output) -> Result<(), (String, String)> {
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
    if let Some(points) = output
        .points
        .filter(|points| !(2..=MAX_POINTS).contains(points))
    {
        return Err((
            format!("--points {points} is no number of output points"),
            format!("give a number from 2 to {MAX_POINTS}"),
        ));
    }
    if let Some(order) = options.order.filter(|order| !(4..=60).contains(order)) {
        return Err((
            format!("--order {order} is out of range"),
            "give an order from 4 to 60".to_string(),
        ));
    }
    Ok(())
}

/// Why there is no run, in the words of whoever knows.
pub(crate) fn refuse(
    system: &System,
    no_run: NoRun,
    arguments: &ModelArgs,
    terminal: &Terminal,
) -> Status {
    let passport_words = |passport: &Passport| {
        let report = AnalyzeReport::new(system, passport, false);
        report.warnings.join("\n  ")
    };
    let (status, message, help) = match no_run {
        NoRun::Fault(diagnostic) => {
            terminal.show(&[*diagnostic], system.sources());
            return Status::ModelAtFault;
        }
        NoRun::NotSquare => (
            Status::ModelAtFault,
            format!(
                "{} equations for {} unknowns do not match",
                system.equations().n_equations(),
                system.equations().n_unknowns()
            ),
            format!(
                "see `daelight check {}` for what is missing or too much",
                arguments.model
            ),
        ),
        NoRun::NoStart(passport) => (
            Status::ModelAtFault,
            format!(
                "no consistent start was found\n  {}",
                passport_words(&passport)
            ),
            "change the start values, or free some that are fixed".to_string(),
        ),
        NoRun::SingularStart(passport) => {
            let kind = match &passport.verdict {
                PointVerdict::Singular { kind: Some(kind) } => format!(" of kind {kind}"),
                _ => String::new(),
            };
            (
                Status::Singularity,
                format!(
                    "the start is a singular point{kind}\n  {}",
                    passport_words(&passport)
                ),
                "start at another time or from other values".to_string(),
            )
        }
        NoRun::Equations(because) => (
            Status::ModelAtFault,
            format!("the equations cannot be integrated as they stand: {because}"),
            format!(
                "see `daelight analyze {}` for what kind of system it is",
                arguments.model
            ),
        ),
        NoRun::Start(error) => (
            Status::GaveUp,
            error.to_string(),
            "change the start values or the tolerances".to_string(),
        ),
    };
    if arguments.json {
        let report = SolveReport {
            status: if matches!(status, Status::Singularity) {
                "singularity"
            } else {
                "failure"
            },
            message: message.replace("\n  ", " "),
            method: "none".to_string(),
            time: system.experiment().start_time.unwrap_or(0.0),
            last: Default::default(),
            singularities: Vec::new(),
            statistics: StatisticsRecord::default(),
            max_constraint_residual: 0.0,
            residuals: Vec::new(),
            index_changes: Vec::new(),
            switches: Vec::new(),
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

/// Values at the times asked for, as far as the run goes.
fn rows(
    system: &System,
    solution: &Solution,
    output: &Output,
) -> Result<Vec<(f64, Vec<f64>)>, String> {
    let (from, reached) = (solution.from, solution.reached());
    let times: Vec<f64> = match (&output.save_at, output.points) {
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
    };
    let mut reader = solution.reader(system);
    let mut rows = Vec::with_capacity(times.len());
    for time in times {
        match reader.values(time) {
            Ok(Some(values)) => rows.push((time, values)),
            Ok(None) => {}
            Err(fault) => return Err(format!("no value at t = {time}: {:?}", fault.kind)),
        }
    }
    Ok(rows)
}

/// The largest difference at the end to a run with a hundredth of the tolerance, against the size of each unknown.
fn estimate(system: &System, options: &SolveOptions, solution: &Solution) -> Result<f64, String> {
    let finer = SolveOptions {
        rtol: Some((solution.rtol * 1e-2).max(1e-15)),
        ..options.clone()
    };
    let unknown = |_| "The error could not be estimated: the finer run failed.".to_string();
    let other = daelight::solve(system, &finer).map_err(unknown)?;
    let (a, b) = (solution.reached(), other.reached());
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
        _ => Err("The error could not be estimated: the runs have no common end.".to_string()),
    }
}

fn report(system: &System, solution: &Solution) -> SolveReport {
    let run = &solution.run;
    let reached = solution.reached();
    let mut reader = solution.reader(system);
    let last = reader.values(reached).ok().flatten().unwrap_or_default();
    let names = system.unknowns().iter().map(|u| u.name.as_str());
    let finite = last.iter().all(|value| value.is_finite());
    let residual = run.residual();
    let (mut status, mut message, time) = ending(system, solution, reached);
    if status == "success" && !(residual < 1e-10 && finite) {
        status = "failure";
        message = format!(
            "the end was reached, but a constraint has the residual {residual:.1e}: the values cannot be relied on"
        );
    }
    let s = &run.statistics;
    let method = match solution.method {
        Method::Taylor => "taylor",
        Method::Radau => "radau",
        Method::Bdf => "bdf",
    };
    let mut warnings = Vec::new();
    if let (Some(reason), true) = (&solution.reason, solution.method != Method::Taylor) {
        warnings.push(format!("The method {method} was chosen: {reason}."));
    }
    if let Some(text) = solution.repair_text() {
        warnings.push(format!("The equations were rewritten: {text}."));
    }
    SolveReport {
        status,
        message,
        method: method.to_string(),
        time,
        last: named_values(names.zip(last.iter().copied())),
        singularities: solution
            .singularities
            .iter()
            .map(|explained| singularity(system, explained))
            .collect(),
        statistics: StatisticsRecord {
            steps: s.steps,
            rejected: s.rejected,
            residuals: s.residuals,
            jacobians: s.jacobians,
            factorizations: s.factorizations,
            jets: s.jets,
        },
        max_constraint_residual: residual,
        residuals: run.residuals.clone(),
        index_changes: solution
            .singularities
            .iter()
            .filter(|explained| explained.found.nature == Nature::Removable)
            .map(|explained| IndexChangeRecord {
                time: explained.found.time,
                what: "the index is not defined at this point; before and after it is the same"
                    .to_string(),
            })
            .collect(),
        switches: run
            .switches
            .iter()
            .map(|switch| SwitchRecord {
                time: switch.time,
                expression: solution.expression_text(system, switch.expr),
            })
            .collect(),
        estimated_error: None,
        discretisation: None,
        warnings,
    }
}

/// Status, sentence and time of the end of a run.
fn ending(system: &System, solution: &Solution, reached: f64) -> (&'static str, String, f64) {
    let run = &solution.run;
    match &run.stop {
        StopReason::Finished => (
            "success",
            match solution.singularities.len() {
                0 => format!("solved from t = {} to {reached}", solution.from),
                1 => format!(
                    "solved from t = {} to {reached}, over a singularity",
                    solution.from
                ),
                n => format!(
                    "solved from t = {} to {reached}, over {n} singularities",
                    solution.from
                ),
            },
            reached,
        ),
        StopReason::Singularity => {
            let last = solution.singularities.last();
            let time = last.map_or(reached, |explained| explained.found.time);
            let advice = match last.map(|explained| explained.found.nature) {
                Some(Nature::Removable) => "; --on-singularity continue passes it",
                _ => "",
            };
            (
                "singularity",
                format!("the run ended at a singularity at t = {time}{advice}"),
                time,
            )
        }
        StopReason::FiniteEscape { time, fits } => {
            let names: Vec<String> = fits
                .iter()
                .map(|fit| solution.unknown_name(system, fit.unknown))
                .collect();
            (
                "singularity",
                format!(
                    "the solution grows without bound towards t = {time} ({}), although its equations stay regular",
                    names.join(", ")
                ),
                *time,
            )
        }
        StopReason::AccuracyLost {
            time,
            step,
            residual,
        } => (
            "failure",
            format!(
                "the accuracy asked for cannot be kept at t = {time}: step {step:.1e}, residual {residual:.1e}; ask for less with --rtol"
            ),
            *time,
        ),
        StopReason::Chattering { time, expr } => (
            "failure",
            format!(
                "the model chatters at t = {time}: `{}` switches back at once, so the solution slides along the switch",
                solution.expression_text(system, *expr)
            ),
            *time,
        ),
        StopReason::Budget(kind) => (
            "failure",
            format!(
                "the run ended at t = {reached}: {}",
                match kind {
                    BudgetKind::Steps => "all steps are used up; allow more with --max-steps",
                    BudgetKind::Time => "the time is used up; allow more with --budget",
                    BudgetKind::Memory =>
                        "its series take too much memory; ask for fewer points with --save-at",
                }
            ),
            reached,
        ),
        StopReason::Failed { time, failure } => {
            let why = match failure {
                Failure::Fault(fault) => solution.explain_fault(system, fault),
                other => other.to_string(),
            };
            (
                "failure",
                format!("the run ended at t = {time}: {why}"),
                *time,
            )
        }
        other => (
            "failure",
            format!("the run ended at t = {reached}: {other:?}"),
            reached,
        ),
    }
}

fn singularity(system: &System, explained: &Explained) -> SingularityRecord {
    let found = &explained.found;
    let names = explained.unknowns.iter().map(String::as_str);
    SingularityRecord {
        time: found.time,
        kind: explained.kind.map(|kind| kind.to_string()),
        nature: found.nature.to_string(),
        locus: explained.locus.clone(),
        equations: explained
            .equations
            .iter()
            .map(|&i| system.equation_text(i))
            .collect(),
        unknowns: explained.unknowns.clone(),
        null_vector: named_values(names.zip(found.null_vector.iter().copied())),
    }
}
