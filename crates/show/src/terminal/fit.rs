//! A fit for a terminal.

use super::{table, wrapped};
use crate::record::FitRecord;
use crate::words::{count, short};

/// A fit as a page for a terminal.
pub fn fit(report: &FitRecord, name: &str) -> String {
    let n = report.columns.iter().map(|column| column.n).sum();
    let mut page = format!(
        "{name}: {} fitted to {} in {}\n",
        count(report.parameters.len(), "parameter"),
        count(n, "value"),
        count(report.steps, "step")
    );
    let interval = format!("{} % interval", short(100.0 * report.confidence));
    let mut printed = table(&["parameter", "before", "value", "standard error", &interval]);
    for fitted in &report.parameters {
        let none = fitted.no_interval.as_deref().unwrap_or("not determined");
        let error = fitted.error.map_or(none.to_string(), short);
        let interval = match fitted.interval {
            Some([low, high]) => format!("{} to {}", short(low), short(high)),
            None => none.to_string(),
        };
        printed.add_row([
            fitted.name.clone(),
            short(fitted.start),
            short(fitted.value),
            error,
            interval,
        ]);
    }
    page.push_str(&format!("{printed}\n"));
    let left = report.columns.iter();
    let left: Vec<String> = left
        .map(|column| format!("{} {}", column.name, short(column.rms)))
        .collect();
    page.push_str(&wrapped(&format!(
        "Left over, root mean square: {}.",
        left.join(", ")
    )));
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page
}
