//! Inverse dynamics verified: one document for programs, one page for people.

use crate::page::{short, table, wrapped};
use crate::run::{SolveReport, run_page};
use crate::words::{count, cut};
use serde::Serialize;

/// What `daelight feedforward --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct FeedforwardReport {
    /// `success`, `singularity` or `failure`.
    pub status: &'static str,
    /// One sentence: how well the motion is followed.
    pub message: String,
    /// The forces that were fed forward.
    pub inputs: Vec<String>,
    /// How far each prescribed motion is missed.
    pub paths: Vec<PathErrorRecord>,
    /// Times at which the motions were compared.
    pub times: Vec<f64>,
    /// How the run of the inverse model went.
    pub inverse: SolveReport,
    /// How the run of the forward model went; `null` if there was none.
    pub forward: Option<SolveReport>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

/// How far a prescribed motion is missed.
#[derive(Serialize, Debug, Clone)]
pub struct PathErrorRecord {
    /// The equation that prescribes it, as written.
    pub equation: String,
    /// The largest error.
    pub largest: f64,
    /// Its time.
    pub time: f64,
    /// The error at the end.
    pub last: f64,
    /// The error at each of the times.
    pub errors: Vec<f64>,
}

/// The verification as a page for a terminal.
pub fn feedforward_page(report: &FeedforwardReport, inverse: &str, forward: &str) -> String {
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
            "{} fed forward: {}.",
            count(report.inputs.len(), "force"),
            cut(&report.inputs.join(", "), 80)
        )));
    }
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page.push('\n');
    page.push_str(&run_page(&report.inverse, inverse));
    if let Some(run) = &report.forward {
        page.push('\n');
        page.push_str(&run_page(run, forward));
    }
    page
}
