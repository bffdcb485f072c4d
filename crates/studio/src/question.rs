//! What the page asks a worker.

use serde::Deserialize;

/// A question about a text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageQuestion {
    /// What is asked: the name of an answer.
    pub ask: String,
    /// The name under which messages speak of the text.
    pub name: String,
    /// The text, as it stands in the editor.
    pub text: String,
    /// Values of parameters.
    pub set: Vec<(String, f64)>,
    /// Start values that replace those of the text; what is fixed stays fixed, at the new value.
    pub start: Vec<(String, f64)>,
    /// Where the run ends.
    pub to: Option<f64>,
    /// Whether removable singularities are passed.
    pub passes: bool,
    /// Whether the picture is wanted at once, and what singular points are by name alone.
    pub quick: bool,
    /// The part of the run that is looked at closely.
    pub part: Option<(f64, f64)>,
    /// Quantities that are wanted before all others.
    pub wanted: Vec<String>,
    /// The place in the text that completions or words are wanted for, in units of the editor (UTF-16).
    pub place: usize,
    /// The time of a mechanism that is pulled.
    pub time: f64,
    /// The values of its unknowns, in the order of the model.
    pub values: Vec<f64>,
    /// The polyline and the point that is pulled.
    pub vertex: (usize, usize),
    /// Where to.
    pub target: [f64; 2],
    /// The parameters of a map, each as `name=from:to:n`.
    pub over: Vec<String>,
    /// What a map measures.
    pub measure: String,
    /// What a picture shows.
    pub what: String,
}
