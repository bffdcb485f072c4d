//! Answers to the questions of the page, made of the façade's records.

mod evidence;
mod extent;
mod files;
mod map;
mod pull;
mod run;
mod text;

use crate::folder::Folder;
use crate::question::PageQuestion;
use crate::worker::Lines;
use daelight::{ModelText, Relations};
use daelight_lang::{Diagnostic, Loaded, Options, Severity, SourceMap};
use daelight_lsp::Glance;
use daelight_show::scene::{Frame, Scene};
use daelight_show::terminal::frame;
use serde_json::{Value, json};

/// The answer to a question.
pub fn answer(question: &PageQuestion, folder: &Folder, out: &Lines) -> Value {
    let found = match question.ask.as_str() {
        "text" => Ok(text::text(question, folder)),
        "complete" => Ok(glance(question, folder).completion()),
        "hover" => Ok(glance(question, folder).hover()),
        "format" => Ok(json!({ "text": daelight_lsp::formatted(&question.text) })),
        "run" => run::run(question, folder, out),
        "remarks" => run::remarks(question, folder),
        "passport" => evidence::passport(question, folder),
        "singular" => evidence::singular(question, folder),
        "pull" => pull::pull(question, folder),
        "map" => map::map(question, folder, out),
        "report" => files::report(question, folder),
        "csv" => files::csv(question, folder),
        "flat" => files::flat(question, folder),
        "picture" => files::picture(question, folder),
        other => Err(json!({ "refused": format!("Nobody knows how to answer `{other}`.") })),
    };
    found.unwrap_or_else(|refused| refused)
}

/// How much of an answer a page is given.
struct Sizes {
    /// Times of a run, beside those where something happens.
    times: usize,
    /// Quantities of a run, and names of others.
    series: usize,
    names: usize,
    /// Rows of a file of values.
    rows: usize,
    /// Points of a map.
    points: usize,
}

const SIZES: Sizes = Sizes {
    times: 321,
    series: 120,
    names: 4000,
    rows: 1001,
    points: 10_000,
};

/// An answer, or why there is none.
type Answered = Result<Value, Value>;

/// A place of the text, as the language server sees it.
fn glance<'q>(question: &'q PageQuestion, folder: &Folder) -> Glance<'q> {
    Glance {
        text: &question.text,
        place: question.place,
        files: folder.libraries(&question.name),
    }
}

/// What a text is read with.
fn options(question: &PageQuestion, folder: &Folder) -> Options {
    Options {
        set: (question.set.iter())
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect(),
        files: Some(folder.libraries(&question.name)),
        ..Options::default()
    }
}

/// Reads the text of a question, with the start values that it asks for.
fn read(question: &PageQuestion, folder: &Folder, relations: Relations) -> Loaded {
    let text = ModelText {
        name: question.name.clone(),
        bytes: question.text.clone().into_bytes(),
    };
    let mut loaded = daelight::load_text(&text, options(question, folder), relations);
    if let Some(model) = &mut loaded.model {
        for (name, value) in question.start.iter().filter(|(_, value)| value.is_finite()) {
            let start = model.graph.constant(*value);
            let named = model.unknowns.iter_mut().find(|u| u.name == *name);
            if let Some(unknown) = named {
                (unknown.start, unknown.start_is_default) = (Some(start), false);
            }
        }
    }
    loaded
}

/// The text whose model is the one that is shown: the one that was asked about, or a flat one where start values differ.
fn shown_text(question: &PageQuestion, folder: &Folder) -> Result<(ModelText, Options), Value> {
    let mut text = ModelText {
        name: question.name.clone(),
        bytes: question.text.clone().into_bytes(),
    };
    let mut options = options(question, folder);
    if !question.start.is_empty() {
        let loaded = read(question, folder, Relations::Kinks);
        let model = loaded.model.as_ref().ok_or_else(|| wrong(&loaded))?;
        let flat = daelight::derive(model, daelight_lang::ArrayStyle::Kept);
        text.bytes = flat.map_err(|d| said(&d, &loaded.sources))?.into_bytes();
        options.set.clear();
    }
    Ok((text, options))
}

/// Why there is no model: its first error.
fn wrong(loaded: &Loaded) -> Value {
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    match loaded.diagnostics.iter().find(is_error) {
        Some(diagnostic) => said(diagnostic, &loaded.sources),
        None => json!({ "refused": "The text is no model." }),
    }
}

/// A diagnostic as a refusal, framed as on a terminal.
fn said(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    json!({
        "refused": diagnostic.message,
        "help": diagnostic.help,
        "frame": frame(diagnostic, sources, false),
    })
}

/// A number with the digits that a picture shows; what is no number is null.
fn number(value: f64) -> Value {
    let short: f64 = format!("{value:.8e}").parse().unwrap_or(f64::NAN);
    json!(short.is_finite().then_some(short))
}

fn numbers(values: impl IntoIterator<Item = f64>) -> Value {
    values.into_iter().map(number).collect()
}

fn frame_value(frame: &Frame) -> Value {
    let line = |line: &Vec<[f64; 2]>| numbers(line.iter().flatten().copied());
    frame.iter().map(line).collect()
}

/// A mechanism at instants, each polyline as `x, y, x, y, …`.
fn scene_value(scene: &Scene) -> Value {
    let stage = &scene.stage;
    json!({
        "min": stage.bounds.min,
        "max": stage.bounds.max,
        "fixed": stage.fixed,
        "unit": stage.unit,
        "axes": stage.axes,
        "times": numbers(scene.times.iter().copied()),
        "frames": scene.frames.iter().map(frame_value).collect::<Vec<_>>(),
    })
}
