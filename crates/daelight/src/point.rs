//! Points given as JSON files: `{"x": 1.0, "p[2]": 0.5}`, or what `init --json` prints.

use crate::files::{read_at_most, reason};
use daelight_analysis::System;
use daelight_lang::{Code, Diagnostic, nearest};
use serde_json::Value;
use std::path::Path;

/// Longest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Reads values of unknowns by name.
pub(crate) fn read_point(
    path: &Path,
    system: &System,
) -> Result<Vec<(usize, f64)>, Box<Diagnostic>> {
    let place = path.display();
    let unreadable = |error: &dyn std::fmt::Display| {
        Box::new(
            Diagnostic::placeless(
                Code::UnreadableFile,
                format!("cannot read {place}: {error}"),
            )
            .help("give a JSON file such as {\"x\": 1.0, \"p[2]\": 0.5}"),
        )
    };
    let bytes = read_at_most(path, MAX_BYTES).map_err(|error| unreadable(&reason(&error)))?;
    let document: Value = serde_json::from_slice(&bytes).map_err(|error| match error.is_eof() {
        true => unreadable(&format!("it ends too early, in line {}", error.line())),
        false => unreadable(&error),
    })?;
    let values = match &document {
        Value::Object(fields) => match (fields.get("values"), fields.get("point")) {
            (Some(Value::Object(values)), _) | (_, Some(Value::Object(values))) => values,
            _ => fields,
        },
        _ => return Err(unreadable(&"the document is not an object")),
    };
    let names = || {
        system
            .unknowns()
            .iter()
            .map(|unknown| unknown.name.as_str())
    };
    let mut found = Vec::new();
    for (name, value) in values {
        let Some(unknown) = names().position(|other| other == name) else {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("its unknowns are {}", crate::sweep::few(names())),
            };
            let message =
                format!("{place} gives a value to `{name}`, which is not an unknown of the model");
            return Err(Diagnostic::placeless(Code::UndeclaredName, message)
                .help(help)
                .into());
        };
        let Some(value) = value.as_f64().filter(|value| value.is_finite()) else {
            let message =
                format!("{place} gives `{name}` the value {value}, which is not a finite number");
            return Err(Diagnostic::placeless(Code::BadValue, message)
                .help("give a number")
                .into());
        };
        found.push((unknown, value));
    }
    Ok(found)
}
