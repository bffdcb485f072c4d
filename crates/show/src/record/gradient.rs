//! Gradients of numbers that runs lead to.

use serde::Serialize;
use serde_json::{Map, Value};

/// A number and its derivatives.
#[derive(Serialize, Debug, Clone)]
pub struct GradientRecord {
    /// The number, as it was written.
    pub loss: String,
    /// Its value.
    pub value: f64,
    /// Its derivative by each parameter or start value.
    pub gradient: Map<String, Value>,
    /// Where the run ended.
    pub time: f64,
    /// Steps of the run.
    pub steps: usize,
    /// Steps of its adjoint.
    pub adjoint_steps: usize,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}
