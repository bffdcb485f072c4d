//! A consistent start for a terminal.

use super::run::NO_COMPONENT;
use super::{table, wrapped};
use crate::record::StartRecord;
use crate::words::{count, magnitude, short, tidy_number};
use serde_json::Value;

/// Most rows of a list on a page; JSON has them all.
pub(super) const MAX_LISTED: usize = 40;
/// The start as a page.
pub fn init(report: &StartRecord, asked_for_all: bool) -> String {
    let mut page = format!(
        "{}: consistent values at t = {}\n",
        report.model, report.time
    );
    let number = |value: &Value| value.as_f64().map_or("–".to_string(), tidy_number);
    let mut header = vec!["unknown", "value", "derivative", "start"];
    let higher = report.higher.as_ref();
    let orders: Vec<String> = match higher.and_then(|map| map.values().next()) {
        Some(Value::Array(list)) => (2..2 + list.len())
            .map(|k| format!("derivative {k}"))
            .collect(),
        _ => Vec::new(),
    };
    header.extend(orders.iter().map(String::as_str));
    let mut rows = table(&header);
    for (name, value) in report.values.iter().take(MAX_LISTED) {
        let start = match report.adjusted.get(name) {
            Some(record) => format!("{} adjusted", number(&record["from"])),
            None if report.computed.contains(name) => "computed".to_string(),
            None => "kept".to_string(),
        };
        let mut row = vec![
            name.clone(),
            number(value),
            number(&report.derivatives[name]),
            start,
        ];
        if let Some(Value::Array(list)) = higher.and_then(|map| map.get(name)) {
            row.extend(list.iter().map(number));
        }
        rows.add_row(row);
    }
    page.push_str(&format!("{rows}\n"));
    if report.values.len() > MAX_LISTED {
        let more = report.values.len() - MAX_LISTED;
        page.push_str(&format!("  and {more} more; --json has them all\n"));
    }
    page.push('\n');
    for sentence in freedom_sentences(report) {
        page.push_str(&wrapped(&sentence));
    }
    let levels: Vec<String> = report
        .levels
        .iter()
        // Below the last digit of its terms a sum is zero.
        .map(|level| match level.residual < f64::EPSILON {
            true => "0".to_string(),
            false => magnitude(level.residual),
        })
        .collect();
    page.push_str(&wrapped(&format!(
        "Largest relative residual of the equations and of their derivatives 1, 2, ...: {}.",
        levels.join(", ")
    )));
    if let Some(sentence) = adjusted_sentence(report) {
        page.push_str(&wrapped(&sentence));
    }
    if !report.others.is_empty() {
        if asked_for_all {
            page.push_str(&others(report));
        } else {
            page.push_str(&wrapped(
                "Other solutions exist for these start values; --all lists those that are found.",
            ));
        }
    }
    if !report.notes.is_empty() {
        page.push_str("\nRemarks\n");
        for note in &report.notes {
            page.push_str(&wrapped(note));
        }
    }
    page
}

/// Other solutions, with what tells them from the one that was taken.
fn others(report: &StartRecord) -> String {
    let mut rows = table(&["distance", "values"]);
    for other in report.others.iter().take(MAX_LISTED) {
        let values = other.values.iter().take(MAX_LISTED);
        let number = |value: &Value| value.as_f64().map_or("–".to_string(), short);
        let is_same = |(name, value): (&String, &Value)| {
            let here = report.values.get(name).and_then(Value::as_f64);
            let pair = here.zip(value.as_f64());
            pair.is_some_and(|(a, b)| (a - b).abs() <= NO_COMPONENT * (1.0 + a.abs()))
        };
        // A branch that begins at the same values goes another way.
        let by_rates = other.values.iter().all(is_same);
        let values: Vec<String> = values
            .map(|(name, value)| {
                let rate = match other.derivatives.get(name) {
                    Some(rate) if by_rates => format!(" with derivative {}", number(rate)),
                    _ => String::new(),
                };
                format!("{name} = {}{rate}", number(value))
            })
            .collect();
        rows.add_row([short(other.from_written), values.join(", ")]);
    }
    format!("\nOther solutions\n{rows}\n")
}

/// What start values were adjusted to: `closest` is said of one point alone.
pub fn closest_words(report: &StartRecord) -> &'static str {
    let own = report.from_written;
    let others = || report.others.iter().map(|other| other.from_written);
    let is_as_close = |distance: f64| (distance - own).abs() <= NO_COMPONENT * own;
    let is_closer = |distance: f64| distance < (1.0 - NO_COMPONENT) * own;
    match own > 0.0 {
        true if others().any(is_closer) => "a consistent point",
        true if others().any(is_as_close) => "a consistent point, as close as other solutions",
        _ => "the closest consistent point",
    }
}

/// What became of the start values that are written.
pub(crate) fn adjusted_sentence(report: &StartRecord) -> Option<String> {
    if report.adjusted.is_empty() {
        return None;
    }
    let adjusted = count(report.adjusted.len(), "start value");
    let closest = closest_words(report);
    Some(format!(
        "{adjusted} adjusted, to {closest}: distance {} from the start values.",
        short(report.from_written)
    ))
}

/// What was free and what used it up, as sentences.
pub fn freedom_sentences(report: &StartRecord) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(dof) = report.dof {
        let using: Vec<&str> = report
            .conditions
            .iter()
            .filter(|condition| condition.uses_freedom == Some(true))
            .map(|condition| condition.text.as_str())
            .collect();
        let used = match using.len() {
            0 => String::new(),
            _ => format!("; used up by {}", using.join(", ")),
        };
        sentences.push(format!("{} of freedom{used}.", count(dof, "degree")));
    }
    sentences.push(match (report.n_free, report.free.is_empty()) {
        (0, _) => "Nothing is left free.".to_string(),
        (n, true) => format!("{} left free.", count(n, "value")),
        (n, false) => format!(
            "{} left free; fix for example {}.",
            count(n, "value"),
            report.free.join(", ")
        ),
    });
    sentences
}
