//! Derivatives of a run for a terminal.

use super::{table, wrapped};
use crate::record::SensitivityRecord;
use crate::words::short;

/// The derivatives of a run by parameters and start values.
pub(super) fn sensitivities(found: &SensitivityRecord) -> String {
    let mut page = format!("\nDerivatives at t = {}\n", found.until);
    if found.last.len() <= 40 && found.by.len() <= 8 {
        let mut header = vec!["of".to_string()];
        header.extend(found.by.iter().map(|name| format!("by {name}")));
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut printed = table(&header);
        for (name, row) in &found.last {
            let cells = row.as_array().into_iter().flatten();
            let cells = cells.map(|value| value.as_f64().map_or("?".to_string(), short));
            printed.add_row(std::iter::once(name.clone()).chain(cells));
        }
        page.push_str(&format!("{printed}\n"));
    } else {
        page.push_str(&wrapped("Too many to print: --json and --out have all."));
    }
    for time in &found.singular_times {
        let known = found.by.iter().zip(&time.by);
        let known: Vec<String> = known
            .filter_map(|(name, by)| Some(format!("{} by {name}", short((*by)?))))
            .collect();
        let because = time.because.as_deref();
        let text = match (known.is_empty(), because) {
            (true, _) => format!("has no derivative: {}", because.unwrap_or("not known")),
            (false, None) => format!("moves by {}", known.join(", ")),
            (false, Some(why)) => {
                format!("moves by {}; for the others: {why}", known.join(", "))
            }
        };
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
