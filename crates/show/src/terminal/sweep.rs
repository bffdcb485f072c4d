//! A sweep for a terminal.

use super::analyze::MAX_LISTED;
use super::wrapped;
use crate::record::SweepRecord;
use crate::words::{count, short};
use serde_json::{Map, Value};

/// The sweep as a page for a terminal.
pub fn sweep(report: &SweepRecord) -> String {
    let mut page = format!(
        "{}: {} over {}",
        report.model,
        count(report.n_measured, "point"),
        report.parameters.join(", ")
    );
    if report.n_measured < report.n_points {
        page.push_str(&format!(" of {}", report.n_points));
    }
    page.push('\n');
    let mut table = super::table(&["measure", "values", "least", "greatest", "how often"]);
    for measure in &report.measures {
        let counts: Vec<String> = (measure.counts.iter())
            .map(|(value, count)| format!("{value}: {count}"))
            .collect();
        let number = |value: Option<f64>| value.map_or("–".to_string(), short);
        table.add_row([
            measure.name.clone(),
            measure.n.to_string(),
            number(measure.min),
            number(measure.max),
            counts.join(", "),
        ]);
    }
    page.push_str(&format!("{table}\n"));
    let rows = report.rows.as_ref();
    if let Some(rows) = rows.filter(|_| report.n_measured <= MAX_LISTED) {
        page.push_str(&row_table(rows, report.n_measured));
    }
    if !report.reasons.is_empty() {
        page.push_str("\nRows with a reason\n");
        for record in report.reasons.iter().take(MAX_LISTED) {
            let text = format!(
                "{}: {} (first at point {})",
                count(record.count, "row"),
                record.reason,
                record.first
            );
            page.push_str(&wrapped(&text));
        }
        if let Some(more) = report.reasons.len().checked_sub(MAX_LISTED + 1) {
            page.push_str(&format!("  and {} more; --json lists them\n", more + 1));
        }
    }
    if let Some(out) = &report.out {
        page.push_str(&wrapped(&format!("The rows are in {out}.")));
    }
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page
}

/// A few rows, without what the page tells elsewhere.
fn row_table(rows: &Map<String, Value>, n: usize) -> String {
    let is_told = |name: &&String| ["sweep", "reason"].contains(&name.as_str());
    let names: Vec<&String> = rows.keys().filter(|name| !is_told(name)).collect();
    let header: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let mut table = super::table(&header);
    for at in 0..n {
        let cell = |name: &&String| match &rows[name.as_str()][at] {
            Value::Number(number) => number.as_f64().map_or(String::new(), short),
            Value::String(word) => word.clone(),
            _ => "–".to_string(),
        };
        table.add_row(names.iter().map(cell));
    }
    format!("{table}\n")
}
