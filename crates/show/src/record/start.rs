//! Consistent starts, and why there is none.

use super::DiagnosticRecord;
use super::analyze::CriticalRecord;
use crate::scene::Scene;
use serde::Serialize;
use serde_json::{Map, Value};

/// What `daelight init --json` prints when there is a start.
#[derive(Serialize, Debug, Clone)]
pub struct StartRecord {
    /// Name of the model.
    pub model: String,
    /// `success`.
    pub status: &'static str,
    /// The time of the start.
    pub time: f64,
    /// The consistent values, in the order of the model.
    pub values: Map<String, Value>,
    /// Their first derivatives.
    pub derivatives: Map<String, Value>,
    /// Derivatives 2, 3, ... of each unknown, with `--order`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub higher: Option<Map<String, Value>>,
    /// Largest residual of all levels, relative to its terms.
    pub residual: f64,
    /// Largest relative residual of the equations, level by level.
    pub levels: Vec<StartLevelRecord>,
    /// How many values can be chosen beside the conditions.
    pub n_free: usize,
    /// Unknowns whose values can be chosen together, that many of them; empty for large systems.
    pub free: Vec<String>,
    /// How many values the equations leave open, before any condition; `null` for large systems.
    pub dof: Option<usize>,
    /// What holds beside the equations, and whether it uses up a degree of freedom.
    pub conditions: Vec<StartConditionRecord>,
    /// Values that differ from the start values, from and to.
    pub adjusted: Map<String, Value>,
    /// Unknowns without a start value: theirs are computed.
    pub computed: Vec<String>,
    /// Weighted distance from the start values, in the components that are differentiated.
    pub distance: f64,
    /// Distance from the start values that are written in the model, each in units of its `nominal`.
    pub from_written: f64,
    /// Other solutions that were found, the closest first.
    pub others: Vec<OtherRecord>,
    /// Discrete variables of a model with events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discrete: Vec<DiscreteStartRecord>,
    /// What to know beside the numbers.
    pub notes: Vec<String>,
    /// The mechanism at the start, where a page asks for it.
    #[serde(skip)]
    pub scene: Option<Scene>,
}

/// A discrete variable at the start.
#[derive(Serialize, Debug, Clone)]
pub struct DiscreteStartRecord {
    /// Its name.
    pub name: String,
    /// Its value; truths are 1 and 0.
    pub value: f64,
    /// `fixed`, `initial equation`, `computed` by its own equation, or `free`: a guess that may be chosen.
    pub given: String,
}

/// The residual of one level.
#[derive(Serialize, Debug, Clone)]
pub struct StartLevelRecord {
    /// How often the equations are differentiated.
    pub order: usize,
    /// The largest relative residual.
    pub residual: f64,
}

/// A condition.
#[derive(Serialize, Debug, Clone)]
pub struct StartConditionRecord {
    /// `y = 0`, or an initial equation as written.
    pub text: String,
    /// Whether it uses up a degree of freedom; `false` when it follows from the others, `null` when not known.
    pub uses_freedom: Option<bool>,
}

/// Another solution.
#[derive(Serialize, Debug, Clone)]
pub struct OtherRecord {
    /// Its values.
    pub values: Map<String, Value>,
    /// Its derivatives.
    pub derivatives: Map<String, Value>,
    /// Its weighted distance from the start values.
    pub distance: f64,
    /// Distance from the start values that are written in the model, each in units of its `nominal`.
    pub from_written: f64,
}

/// What `daelight init --json` prints when there is no start.
#[derive(Serialize, Debug)]
pub struct StartFailure {
    /// Name of the model.
    pub model: String,
    /// `conflict`, `singular` or `failure`.
    pub status: &'static str,
    /// The time of the start asked for.
    pub time: f64,
    /// The contradiction, if there is one.
    pub conflict: Option<ConflictRecord>,
    /// The singularity, if it is one.
    pub critical: Option<CriticalRecord>,
    /// The message, as in `check --json`.
    pub diagnostics: Vec<DiagnosticRecord>,
}

/// Conditions that cannot hold together.
#[derive(Serialize, Debug, Clone)]
pub struct ConflictRecord {
    /// The conditions.
    pub conditions: Vec<String>,
    /// The constraint that they break, or `null`.
    pub constraint: Option<String>,
    /// The equation it comes from, as written.
    pub from_equation: Option<String>,
    /// How often that was differentiated.
    pub times_differentiated: Option<usize>,
    /// What the constraint gives instead of 0, where the conditions determine it.
    pub value: Option<f64>,
    /// What can be freed, the smallest change first.
    pub remedies: Vec<RemedyRecord>,
}

/// A condition to drop.
#[derive(Serialize, Debug, Clone)]
pub struct RemedyRecord {
    /// The condition.
    pub condition: String,
    /// The value that its unknown then takes; `null` for an initial equation.
    pub value: Option<f64>,
}
