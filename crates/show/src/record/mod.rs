//! One record for each answer. It is complete: JSON, terminal, page, picture and Python are made from it and ask nobody else.
//!
//! These are the only serialised types; `docs/json.md` documents their fields.

mod analyze;
mod events;
mod feedforward;
mod fit;
mod gradient;
mod linear;
mod run;
mod sensitivity;
mod singular;
mod spectrum;
mod start;
mod sweep;
mod view;

pub use analyze::*;
pub use events::*;
pub use feedforward::*;
pub use fit::*;
pub use gradient::*;
pub use linear::*;
pub use run::*;
pub use sensitivity::*;
pub use singular::*;
pub use spectrum::*;
pub use start::*;
pub use sweep::*;
pub use view::*;

pub use crate::columns::finite;

use daelight_lang::{Diagnostic, SourceMap};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::Write;

/// What `daelight check --json` prints.
#[derive(Serialize, Debug)]
pub struct CheckRecord {
    /// Whether there is a model; warnings do not change that.
    pub ok: bool,
    /// Errors and warnings.
    pub diagnostics: Vec<DiagnosticRecord>,
}

impl CheckRecord {
    /// The record of all diagnostics of a text.
    pub fn new(ok: bool, diagnostics: &[Diagnostic], sources: &SourceMap) -> Self {
        let record = |diagnostic| DiagnosticRecord::new(diagnostic, sources);
        Self {
            ok,
            diagnostics: diagnostics.iter().map(record).collect(),
        }
    }
}

/// One diagnostic.
#[derive(Serialize, Debug)]
pub struct DiagnosticRecord {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The kind, as in `docs/errors`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The text it is in: a path, the name of a built-in model, or `--set`.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// One thing to do.
    pub help: Option<String>,
}

impl DiagnosticRecord {
    /// The record of a diagnostic.
    pub fn new(diagnostic: &Diagnostic, sources: &SourceMap) -> Self {
        let place = diagnostic.span.map(|span| {
            let source = sources.get(span.source);
            let (line, column) = source.line_column(span.start);
            (source.name().to_string(), line, column)
        });
        let (file, line, column) = match place {
            Some((file, line, column)) => (Some(file), Some(line), Some(column)),
            None => (None, None, None),
        };
        Self {
            severity: diagnostic.severity.word(),
            code: diagnostic.code.word(),
            message: diagnostic.message.clone(),
            file,
            line,
            column,
            help: diagnostic.help.clone(),
        }
    }
}

/// One row of `daelight examples --json`.
#[derive(Serialize, Debug)]
pub struct ExampleRecord {
    /// The name to use as MODEL.
    pub name: String,
    /// What it describes.
    pub description: String,
}

/// The document as text, with a newline at the end.
pub fn to_json(document: &impl Serialize) -> String {
    match serde_json::to_string_pretty(document) {
        Ok(text) => text + "\n",
        // Our documents have string keys and no failing parts.
        Err(error) => unreachable!("a document that cannot be written: {error}"),
    }
}

/// Writes the document as [`to_json`] makes it, piece by piece.
pub fn write_json(document: &impl Serialize, to: &mut impl Write) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, document)?;
    to.write_all(b"\n")
}

/// Names and values as a JSON object, in order.
pub fn named_values<'a>(pairs: impl IntoIterator<Item = (&'a str, f64)>) -> Map<String, Value> {
    let entry = |(name, value): (&str, f64)| (name.to_string(), finite(value));
    pairs.into_iter().map(entry).collect()
}
