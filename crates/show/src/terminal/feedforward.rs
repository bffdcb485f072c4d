//! Inverse dynamics verified, for a terminal.

use super::{solve, table, wrapped};
use crate::record::FeedforwardRecord;
use crate::words::{count, cut, short};

/// The verification as a page for a terminal.
pub fn feedforward(report: &FeedforwardRecord, inverse: &str, forward: &str) -> String {
    let mut page = format!("{inverse} → {forward}: {}\n\n", report.message);
    if !report.paths.is_empty() {
        let mut table = table(&["prescribed motion", "largest error", "at t", "at the end"]);
        for path in &report.paths {
            table.add_row([
                cut(&path.equation, 56),
                format!("{:.2e}", path.largest),
                short(path.time),
                format!("{:.2e}", path.last),
            ]);
        }
        page.push_str(&format!("{table}\n"));
        page.push_str(&wrapped(&format!(
            "{} fed forward: {}. The forward model starts from the values of the inverse one.",
            count(report.inputs.len(), "force"),
            cut(&report.inputs.join(", "), 80)
        )));
    }
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page.push('\n');
    page.push_str(&solve(&report.inverse, inverse));
    if let Some(run) = &report.forward {
        page.push('\n');
        page.push_str(&solve(run, forward));
    }
    page
}
