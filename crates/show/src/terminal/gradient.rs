//! Gradients for a terminal.

use super::{table, wrapped};
use crate::record::GradientRecord;
use crate::words::short;

/// A number that a run leads to, and its derivatives.
pub fn gradient(found: &GradientRecord, model: &str) -> String {
    let mut page = format!(
        "{model}: {} = {} at t = {}\n\n",
        found.loss,
        short(found.value),
        short(found.time)
    );
    let most = 40;
    let mut printed = table(&["by", "derivative"]);
    for (name, value) in found.gradient.iter().take(most) {
        let value = value.as_f64().map_or("?".to_string(), short);
        printed.add_row([name.clone(), value]);
    }
    page.push_str(&format!("{printed}\n"));
    let n_left = found.gradient.len().saturating_sub(most);
    if n_left > 0 {
        page.push_str(&wrapped(&format!("And {n_left} more: --json has all.")));
    }
    let steps = match found.adjoint_steps {
        0 => format!("{} steps forward, with the derivatives.", found.steps),
        back => format!(
            "{} steps forward, {back} steps of the adjoint back.",
            found.steps
        ),
    };
    page.push_str(&wrapped(&steps));
    for warning in &found.warnings {
        page.push_str(&wrapped(warning));
    }
    page
}
