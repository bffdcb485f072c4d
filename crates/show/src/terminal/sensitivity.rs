//! Derivatives of a run for a terminal.

use super::{table, wrapped};
use crate::record::SensitivityRecord;
use crate::words::short;
use serde_json::{Map, Value};

/// The derivatives of a run by parameters and start values.
pub(super) fn sensitivities(found: &SensitivityRecord) -> String {
    let held = match &found.stop {
        Some(_) => ", with that time held fixed",
        None => "",
    };
    let mut page = format!("\nDerivatives at t = {}{held}\n", found.until);
    page.push_str(&derivatives(found, &found.last));
    if let Some(stop) = &found.stop {
        let text = moves(found, &stop.by, stop.because.as_deref());
        page.push_str(&wrapped(&format!(
            "The run stops at t = {}. This time {text}.",
            stop.time
        )));
        if stop.by.iter().any(Option::is_some) {
            page.push_str(
                "\nDerivatives of the values where the run stops, at the time that moves\n",
            );
            page.push_str(&derivatives(found, &stop.last));
        }
    }
    for time in &found.singular_times {
        let text = moves(found, &time.by, time.because.as_deref());
        page.push_str(&wrapped(&format!(
            "The singular time {} {text}.",
            time.time
        )));
    }
    if let Some(why) = &found.ended {
        page.push_str(&wrapped(&format!(
            "The derivatives end at t = {}: {why}.",
            found.until
        )));
    }
    page.push('\n');
    page
}

/// A table of derivatives.
fn derivatives(found: &SensitivityRecord, of: &Map<String, Value>) -> String {
    if of.len() > 40 || found.by.len() > 8 {
        return wrapped("Too many to print: --json and --out have all.");
    }
    let mut header = vec!["of".to_string()];
    header.extend(found.by.iter().map(|name| format!("by {name}")));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut printed = table(&header);
    for (name, row) in of {
        let cells = row.as_array().into_iter().flatten();
        let cells = cells.map(|value| value.as_f64().map_or("?".to_string(), short));
        printed.add_row(std::iter::once(name.clone()).chain(cells));
    }
    format!("{printed}\n")
}

/// How a time moves, in words.
fn moves(found: &SensitivityRecord, by: &[Option<f64>], because: Option<&str>) -> String {
    let known = found.by.iter().zip(by);
    let known: Vec<String> = known
        .filter_map(|(name, by)| Some(format!("{} by {name}", short((*by)?))))
        .collect();
    match (known.is_empty(), because) {
        (true, _) => format!("has no derivative: {}", because.unwrap_or("not known")),
        (false, None) => format!("moves by {}", known.join(", ")),
        (false, Some(why)) => format!("moves by {}; for the others: {why}", known.join(", ")),
    }
}
