//! Linear models for a terminal.

use super::analyze::MAX_LISTED;
use super::{table, wrapped};
use crate::record::{EigenvalueRecord, LinearRecord, Rows};
use crate::words::short;

fn eigenvalues(list: &[EigenvalueRecord]) -> String {
    let one = |found: &EigenvalueRecord| match found.im {
        0.0 => short(found.re),
        im if im < 0.0 => format!("{} - {}i", short(found.re), short(-im)),
        im => format!("{} + {}i", short(found.re), short(im)),
    };
    list.iter().map(one).collect::<Vec<String>>().join(", ")
}

fn matrix(title: &str, rows: &Rows, of: &[String], by: &[String], page: &mut String) {
    if rows.is_empty() || by.is_empty() {
        return;
    }
    if rows.len() > MAX_LISTED || by.len() > MAX_LISTED {
        page.push_str(&format!(
            "{title}: {} by {}, see --json\n",
            rows.len(),
            by.len()
        ));
        return;
    }
    let mut header = vec![title];
    header.extend(by.iter().map(String::as_str));
    let mut printed = table(&header);
    for (name, row) in of.iter().zip(rows) {
        let cells = row.iter().map(|value| short(*value));
        printed.add_row(std::iter::once(name.clone()).chain(cells));
    }
    page.push_str(&format!("{printed}\n"));
}

/// A linear model as a page for a terminal.
pub fn linearize(report: &LinearRecord, name: &str) -> String {
    let place = match report.at_rest {
        true => "at rest at",
        false => "at",
    };
    let mut page = format!(
        "{name}: a linear model {place} t = {} with {} and {}\n\n",
        report.time,
        crate::words::count(report.states.len(), "state"),
        crate::words::count(report.inputs.len(), "input")
    );
    let rates: Vec<String> = report.states.iter().map(|s| format!("der({s})")).collect();
    matrix("A", &report.a, &rates, &report.states, &mut page);
    matrix("B", &report.b, &rates, &report.inputs, &mut page);
    matrix("C", &report.c, &report.outputs, &report.states, &mut page);
    for (power, d) in report.d.iter().enumerate() {
        let title = match power {
            0 => "D".to_string(),
            1 => "D, times s".to_string(),
            _ => format!("D, times s^{power}"),
        };
        matrix(&title, d, &report.outputs, &report.inputs, &mut page);
    }
    if !report.poles.is_empty() {
        page.push_str(&wrapped(&format!("Poles: {}.", eigenvalues(&report.poles))));
    }
    match &report.zeros {
        Some(zeros) if zeros.is_empty() => page.push_str(&wrapped("No zeros.")),
        Some(zeros) => page.push_str(&wrapped(&format!("Zeros: {}.", eigenvalues(zeros)))),
        None => {}
    }
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page
}
