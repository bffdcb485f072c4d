//! What is taken along: the report, values, flat Modelica, and pictures.

use super::{Answered, SIZES, read, said, shown_text, wrong};
use crate::folder::Folder;
use crate::question::PageQuestion;
use daelight::hybrid::{HybridSolution, Taken, solve_sampled};
use daelight::record::{self, PageOptions, RunRefusal};
use daelight::{NamedRows, Relations, SolveOptions};
use daelight_analysis::System;
use daelight_lang::{ArrayStyle, Model};
use daelight_plot::Theme;
use daelight_show::picture::{self, RunPicture};
use daelight_show::{csv as as_csv, page};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a run may take.
const BUDGET: Duration = Duration::from_secs(60);

fn solve_options(question: &PageQuestion) -> SolveOptions {
    SolveOptions {
        to: question.to,
        continues: question.passes,
        budget: Some(BUDGET),
        ..SolveOptions::default()
    }
}

/// The page of `daelight report`.
pub fn report(question: &PageQuestion, folder: &Folder) -> Answered {
    let (text, reading) = shown_text(question, folder)?;
    let loaded = daelight::load_text(&text, reading.clone(), Relations::Kinks);
    let mut options = PageOptions::new(question.name.clone());
    options.reading = reading;
    options.solve = solve_options(question);
    Ok(json!({ "text": page::html(&page::model(&record::page(&loaded, &options))) }))
}

/// Flat Modelica, with the values that are shown.
pub fn flat(question: &PageQuestion, folder: &Folder) -> Answered {
    let loaded = read(question, folder, Relations::Kinks);
    let model = loaded.model.as_ref().ok_or_else(|| wrong(&loaded))?;
    let text = daelight::derive(model, ArrayStyle::Kept).map_err(|d| said(&d, &loaded.sources))?;
    Ok(json!({ "text": text }))
}

/// The values of the run, as `daelight solve --out run.csv` writes them.
pub fn csv(question: &PageQuestion, folder: &Folder) -> Answered {
    let (model, system) = equations(question, folder)?;
    let options = solve_options(question);
    let times = times(&system, &options);
    let (names, rows) = match model.hybrid {
        Some(_) => run_with_events(&model, &system, question)?.1,
        None => {
            let solution = daelight::solve(&system, &options)
                .map_err(|no_run| no_values(&system, no_run, question))?;
            let rows = daelight::samples(&system, &solution, &times);
            rows.map_err(|why| json!({ "refused": why }))?
        }
    };
    Ok(json!({ "text": as_csv(&names, &rows) }))
}

/// Times all over a run.
fn times(system: &System, options: &SolveOptions) -> Vec<f64> {
    let (from, to) = daelight::span_of_run(system, options);
    let share = |k: usize| k as f64 / (SIZES.rows - 1) as f64;
    let time = |k| from + (to - from) * share(k);
    (0..SIZES.rows).map(time).collect()
}

/// A run with events, and its values with both sides of each.
fn run_with_events(
    model: &Model,
    system: &System,
    question: &PageQuestion,
) -> Result<(HybridSolution, NamedRows), Value> {
    let options = solve_options(question);
    let times = times(system, &options);
    let taken = Taken {
        times: &times,
        with_events: true,
        ..Taken::default()
    };
    let found = solve_sampled(model, system, &options, taken);
    let (solution, rows) = found.map_err(|(_, no_run)| no_values(system, no_run, question))?;
    let rows = rows.map_err(|why| json!({ "refused": why }))?;
    Ok((solution, rows))
}

/// A picture of the run, or of the singular configurations, as SVG.
pub fn picture(question: &PageQuestion, folder: &Folder) -> Answered {
    if question.what == "configurations" {
        return configurations(question, folder);
    }
    let (model, system) = equations(question, folder)?;
    if model.hybrid.is_some() {
        let (solution, rows) = run_with_events(&model, &system, question)?;
        let report = record::hybrid(&model, &solution, None);
        let report = record::with_rows(report, &model, &rows);
        let figure = picture::run(&report, RunPicture::Trajectory);
        let figure = figure.map_err(|why| json!({ "refused": why }))?;
        return Ok(json!({ "text": daelight_plot::svg(&figure, Theme::Light) }));
    }
    let what = match question.what.as_str() {
        "drawing" => RunPicture::Drawing,
        "margin" => RunPicture::SingularValue,
        _ => RunPicture::Trajectory,
    };
    let solution = daelight::solve(&system, &solve_options(question))
        .map_err(|no_run| no_values(&system, no_run, question))?;
    let report = record::solve(&system, &solution, None);
    let figure = record::run_picture(&report, &model, &system, &solution, what)
        .and_then(|shown| picture::run(&shown, what));
    let figure = figure.map_err(|why| json!({ "refused": why }))?;
    Ok(json!({ "text": daelight_plot::svg(&figure, Theme::Light) }))
}

/// The singular configurations as a picture.
fn configurations(question: &PageQuestion, folder: &Folder) -> Answered {
    let report = super::evidence::configurations(question, folder)?;
    let figure = picture::configurations(&report).map_err(|why| json!({ "refused": why }))?;
    Ok(json!({ "text": daelight_plot::svg(&figure, Theme::Light) }))
}

fn equations(question: &PageQuestion, folder: &Folder) -> Result<(Model, System), Value> {
    let loaded = read(question, folder, Relations::Modes);
    let no_model = || wrong(&loaded);
    let model = loaded.model.clone().ok_or_else(no_model)?;
    let system = daelight::system(&model).map_err(|d| said(&d, &loaded.sources))?;
    Ok((model, system))
}

fn no_values(system: &System, no_run: daelight::NoRun, question: &PageQuestion) -> Value {
    match record::refusal(system, no_run, &question.name) {
        RunRefusal::Diagnostic(diagnostic) => said(&diagnostic, system.sources()),
        RunRefusal::Said { message, help, .. } => json!({ "refused": message, "help": help }),
    }
}
