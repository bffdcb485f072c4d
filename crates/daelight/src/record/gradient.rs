//! The record of a gradient.

use crate::gradient::Gradient;
use daelight_show::record::GradientRecord;
use serde_json::Value;

/// A gradient as a record; the number as it was written.
pub fn gradient(found: &Gradient, loss: &str) -> GradientRecord {
    let pairs = found.by.iter().zip(&found.gradient);
    GradientRecord {
        loss: loss.to_string(),
        value: found.value,
        gradient: pairs
            .map(|(name, x)| (name.clone(), Value::from(*x)))
            .collect(),
        time: found.time,
        steps: found.n_steps,
        adjoint_steps: found.n_adjoint_steps,
        warnings: found.warnings.clone(),
    }
}
