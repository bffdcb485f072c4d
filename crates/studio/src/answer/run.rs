//! A run with its curves, its singular times in words, and the mechanism along it; the start alone where there is no run.

use super::extent::{between, extents};
use super::{Answered, SIZES, number, numbers, read, said, scene_value, wrong};
use crate::folder::Folder;
use crate::question::PageQuestion;
use crate::worker::{Lines, write};
use daelight::hybrid::{Taken, solve_sampled};
use daelight::record::{self, RunRefusal};
use daelight::{Drawing, InitOptions, NamedRows, NoRun, Progress, Relations, SolveOptions};
use daelight_analysis::System;
use daelight_analysis::start::Outcome;
use daelight_lang::{Model, SourceMap};
use daelight_show::record::{RunView, SolveRecord, TimeSeries};
use daelight_show::terminal::{freedom_sentences, nature_words, singularity_text, time_words};
use daelight_show::unit_text;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long a run and the search for its start may take: a page shows what was reached.
const BUDGET: Duration = Duration::from_secs(30);

/// A run.
pub fn run(question: &PageQuestion, folder: &Folder, out: &Lines) -> Answered {
    let began = Instant::now();
    let loaded = read(question, folder, Relations::Modes);
    let model = loaded.model.as_ref().ok_or_else(|| wrong(&loaded))?;
    let system = daelight::system(model).map_err(|d| said(&d, &loaded.sources))?;
    let mut options = options(question);
    let span = daelight::span_of_run(&system, &options);
    options.progress = Some(progress(out, span));
    let mut document = match model.hybrid {
        Some(_) => with_events(model, &system, &options, question),
        None => without_events(model, system, &options, question),
    }?;
    document["from"] = number(span.0);
    document["to"] = number(span.1);
    document["seconds"] = number(began.elapsed().as_secs_f64());
    Ok(document)
}

/// What `solve` says of a run beside it, which takes longer than the run: other starts, and how far it may be off.
pub fn remarks(question: &PageQuestion, folder: &Folder) -> Answered {
    let loaded = read(question, folder, Relations::Modes);
    let model = loaded.model.as_ref().ok_or_else(|| wrong(&loaded))?;
    let mut system = daelight::system(model).map_err(|d| said(&d, &loaded.sources))?;
    let options = options(question);
    let mut report = SolveRecord::default();
    if model.hybrid.is_some() {
        if let Ok((solution, _)) = solve_sampled(model, &system, &options, Taken::default()) {
            let of = (model, &system);
            report = record::hybrid(model, &solution, None);
            daelight::add_estimate_with_events(&mut report, of, &options, &solution, false);
        }
        return Ok(json!({ "warnings": report.warnings }));
    }
    let span = daelight::span_of_run(&system, &options);
    if let Ok(Some((square, _))) = daelight::settled(&system, span) {
        system = square;
    }
    if let Ok(solution) = daelight::solve(&system, &options) {
        report = record::solve(&system, &solution, None);
        daelight::add_other_starts(&mut report, &system, &options, &solution);
        daelight::add_estimate(&mut report, &system, &options, &solution, false);
    }
    Ok(json!({ "warnings": report.warnings }))
}

fn options(question: &PageQuestion) -> SolveOptions {
    SolveOptions {
        to: question.to,
        continues: question.passes,
        unexplained: question.quick,
        budget: Some(BUDGET),
        ..SolveOptions::default()
    }
}

/// Tells how far a run is, at most a few times a second.
fn progress(out: &Lines, (from, to): (f64, f64)) -> Progress {
    let out = out.clone();
    let began = Instant::now();
    let told = std::sync::atomic::AtomicU64::new(2);
    Progress::new(move |reached| {
        let due = 100 * told.load(std::sync::atomic::Ordering::Relaxed);
        if began.elapsed().as_millis() as u64 >= due {
            told.store(due / 100 + 1, std::sync::atomic::Ordering::Relaxed);
            let part = ((reached - from) / (to - from)).clamp(0.0, 1.0);
            let _ = write(&out, &format!("progress {}", (1000.0 * part) as u32));
        }
    })
}

fn without_events(
    model: &Model,
    mut system: System,
    options: &SolveOptions,
    question: &PageQuestion,
) -> Answered {
    let mut notes = Vec::new();
    match daelight::settled(&system, daelight::span_of_run(&system, options)) {
        Ok(Some((square, words))) => (system, notes) = (square, words),
        Ok(None) => {}
        Err(diagnostic) => {
            let no_run = NoRun::Fault(diagnostic);
            return Ok(start_alone(model, &system, no_run, question));
        }
    }
    let solution = match daelight::solve(&system, options) {
        Ok(solution) => solution,
        Err(no_run) => return Ok(start_alone(model, &system, no_run, question)),
    };
    let mut report = record::solve(&system, &solution, None);
    report.warnings.extend(notes);
    let wanted = (question.part, SIZES.times);
    let report = record::live(report, model, &system, &solution, wanted)
        .map_err(|why| json!({ "refused": why }))?;
    let times = report.view.as_deref().map(|view| &view.samples.times[..]);
    let (from, to) = ends(times.unwrap_or_default());
    let steps = solution.run.trajectory.segments().iter();
    let n_steps = steps.filter(|s| from <= s.end && s.start <= to).count();
    let mut reader = solution.reader(&system);
    let rows = between(times.unwrap_or_default(), n_steps).into_iter();
    let rows = rows.filter_map(|time| Some((time, reader.values(time).ok()??)));
    let names = system.unknowns().iter().map(|u| u.name.clone());
    let rows = (names.collect(), rows.collect());
    Ok(document(model, &report, &rows, question))
}

/// The first and the last of times in their order.
fn ends(times: &[f64]) -> (f64, f64) {
    let first = times.first().copied();
    first.zip(times.last().copied()).unwrap_or((0.0, 0.0))
}

fn with_events(
    model: &Model,
    system: &System,
    options: &SolveOptions,
    question: &PageQuestion,
) -> Answered {
    let span = daelight::span_of_run(system, options);
    let (from, to) = question.part.unwrap_or(span);
    let share = |k: usize| k as f64 / (SIZES.times - 1) as f64;
    let times: Vec<f64> = (0..SIZES.times)
        .map(|k| from + (to - from) * share(k))
        .collect();
    let taken = Taken {
        times: &times,
        with_events: true,
        ..Taken::default()
    };
    let (solution, rows) = match solve_sampled(model, system, options, taken) {
        Ok(found) => found,
        Err((mode, no_run)) => {
            let system = mode.as_deref().unwrap_or(system);
            return Ok(start_alone(model, system, no_run, question));
        }
    };
    let report = record::hybrid(model, &solution, None);
    let (names, mut rows) = rows.map_err(|why| json!({ "refused": why }))?;
    rows.retain(|(time, _)| (from..=to).contains(time));
    let drawn: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let share = (to - from) / (span.1 - span.0);
    let n_steps = (report.statistics.steps as f64 * share) as usize;
    let fine = match &between(&drawn, n_steps)[..] {
        [] => Default::default(),
        times => {
            let taken = Taken {
                times,
                ..Taken::default()
            };
            match solve_sampled(model, system, options, taken) {
                Ok((_, Ok(rows))) => rows,
                _ => Default::default(),
            }
        }
    };
    let report = record::with_rows(report, model, &(names, rows));
    Ok(document(model, &report, &fine, question))
}

/// The quantities of a run, those that are wanted first.
fn quantities<'v>(model: &Model, view: &'v RunView, wanted: &[String]) -> Vec<&'v TimeSeries> {
    // Parameters of components are among the values of a run; they are on the sliders.
    let given: HashSet<&str> = match model.hybrid {
        Some(_) => HashSet::new(),
        None => model.parameters.iter().map(|p| &p.name[..]).collect(),
    };
    let is_shown = |s: &&TimeSeries| !given.contains(&s.name[..]);
    let mut all: Vec<&TimeSeries> = view.samples.series.iter().filter(is_shown).collect();
    all.sort_by_key(|series| !wanted.contains(&series.name));
    all
}

/// The document of a run; `fine` are its values at more times than are drawn, where it has more steps.
fn document(
    model: &Model,
    report: &SolveRecord,
    fine: &NamedRows,
    question: &PageQuestion,
) -> Value {
    let empty = RunView::default();
    let view = report.view.as_deref().unwrap_or(&empty);
    let all = quantities(model, view, &question.wanted);
    let series = all.iter().take(SIZES.series).map(|one| {
        let mut document = json!({
            "name": one.name,
            "unit": unit_text(&one.unit),
            "values": numbers(one.values.iter().copied()),
        });
        if let Some((low, high)) = extents(&view.samples.times, fine, &one.name) {
            document["low"] = numbers(low);
            document["high"] = numbers(high);
        }
        document
    });
    let others = all.iter().skip(SIZES.series).take(SIZES.names);
    let others: Vec<&str> = others.map(|one| &one.name[..]).collect();
    let marks = report.singularities.iter().map(|found| {
        json!({
            "time": found.time,
            "title": format!("Singular at t = {}", time_words(found.time, found.uncertainty)),
            "nature": nature_words(found),
            "kind": found.kind,
            "locus": found.locus,
            "words": singularity_text(found),
            "kind_words": found.kind_words,
            "lines": found.lines,
        })
    });
    let events = report.events.iter().flat_map(|all| all.iter()).map(
        |event| json!({ "time": event.time, "condition": &*event.condition, "line": event.line }),
    );
    let mut warnings = report.warnings.clone();
    if all.len() > SIZES.series {
        warnings.push(format!(
            "The first {} of {} quantities are drawn. Others can be chosen below the plots.",
            SIZES.series,
            all.len()
        ));
    }
    let (n_steps, n_times) = (report.statistics.steps, view.samples.times.len());
    if !fine.1.is_empty() {
        warnings.push(format!(
            "The run has {n_steps} steps and is drawn at {n_times} times, with bands for what lies between. Zoom in to see more."
        ));
    }
    json!({
        "status": report.status,
        "reason": report.reason,
        "message": report.message,
        "method": report.method,
        "time": report.time,
        "steps": report.statistics.steps,
        "residual": report.max_constraint_residual,
        "warnings": warnings,
        "marks": marks.collect::<Vec<_>>(),
        "switches": report.switches,
        "events": events.collect::<Vec<_>>(),
        "times": numbers(view.samples.times.iter().copied()),
        "series": series.collect::<Vec<_>>(),
        "others": others,
        "margins": {
            "times": numbers(view.margins.iter().map(|(time, _)| *time)),
            "values": numbers(view.margins.iter().map(|(_, value)| *value)),
        },
        "scene": view.scene.as_ref().map(scene_value),
    })
}

/// Why there is no run, and the start, if there is one: a linkage has positions although nothing drives it.
fn start_alone(model: &Model, system: &System, no_run: NoRun, question: &PageQuestion) -> Value {
    let mut document = match record::refusal(system, no_run, &question.name) {
        RunRefusal::Diagnostic(diagnostic) => said(&diagnostic, system.sources()),
        RunRefusal::Said { message, help, .. } => json!({ "refused": message, "help": help }),
    };
    document["start"] = start(model, system, system.sources()).unwrap_or_else(|refused| refused);
    document
}

fn start(model: &Model, system: &System, sources: &SourceMap) -> Answered {
    let wanted = InitOptions {
        at: None,
        point: None,
        order: 1,
        all: false,
        nearest_regular: false,
        budget: BUDGET / 6,
    };
    let request = daelight::start_request(system, &wanted).map_err(|d| said(&d, sources))?;
    let found = daelight::start(system, &request);
    let report = record::outcome(system, &request, &found)
        .map_err(|no_start| said(&no_start.diagnostic, sources))?;
    let mut document = json!({
        "time": report.time,
        "values": report.values,
        "dof": report.dof,
        "n_free": report.n_free,
        "free": report.free,
        "words": freedom_sentences(&report),
    });
    let Outcome::Found(found) = found else {
        return Ok(document);
    };
    let point = &found.point;
    let scene = Drawing::of(model).and_then(|drawing| {
        let value = |unknown, order: u32| point.jet.derivative(unknown, order as usize);
        let frame = drawing.frame(point.time, value);
        drawing.scene(vec![point.time], vec![frame], &[])
    });
    document["list"] = numbers(point.jet.values().iter().copied());
    document["scene"] = scene.as_ref().map_or(Value::Null, scene_value);
    Ok(document)
}
