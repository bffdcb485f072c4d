//! The outcome of a run.

use super::events::{EventList, ModeList, shared};
use super::sensitivity::SensitivityRecord;
use super::spectrum::ZeroDynamicsRecord;
use super::view::RunView;
use crate::scene::Scene;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What `daelight solve --json` prints.
#[derive(Serialize, Debug, Clone, Default)]
pub struct SolveRecord {
    /// `success`, `singularity` or `failure`.
    pub status: &'static str,
    /// Why the run ended, in a word.
    pub reason: &'static str,
    /// One sentence: why the run ended.
    pub message: String,
    /// The method that did the work.
    pub method: String,
    /// The time reached, or of the singularity that ended the run.
    pub time: f64,
    /// Values of all unknowns at the last point computed.
    #[serde(rename = "final")]
    pub last: Map<String, Value>,
    /// Singular points in the order they were met.
    pub singularities: Vec<SingularityRecord>,
    /// What it cost.
    pub statistics: StatisticsRecord,
    /// The largest scaled residual of any equation and of its derivatives at accepted points.
    pub max_constraint_residual: f64,
    /// The same level by level: position m is the m-th derivative.
    pub residuals: Vec<f64>,
    /// Points at which index or degrees of freedom change.
    pub index_changes: Vec<IndexChangeRecord>,
    /// Times at which an `if`, `abs`, `min`, `max` or `sign` changed its branch.
    pub switches: Vec<SwitchRecord>,
    /// What happened at events, for a model that has them.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared")]
    pub events: Option<Arc<EventList>>,
    /// The modes that such a model went through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<ModeList>,
    /// Eigenvalues along the run of a model that prescribes a motion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_dynamics: Option<ZeroDynamicsRecord>,
    /// Where `--stop-when` ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedRecord>,
    /// The energy along the run, if the model tells one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyRecord>,
    /// Largest difference to a run with a hundredth of the tolerance, with `--estimate-error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_error: Option<f64>,
    /// Derivatives by parameters and start values, with `--sensitivity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivities: Option<SensitivityRecord>,
    /// From about this time on nothing is left of the accuracy asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliable_until: Option<f64>,
    /// What was discretised, with `--method bdf-fixed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discretisation: Option<DiscretisationRecord>,
    /// Values at the times of `--save-at` or `--points`: a list for the time and for each name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Value>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
    /// What pages and pictures show of it, where they ask for it.
    #[serde(skip)]
    pub view: Option<Box<RunView>>,
}

/// Where a run was to end.
#[derive(Serialize, Debug, Clone)]
pub struct StoppedRecord {
    /// The condition or expression, as it was given.
    pub when: String,
    /// When it was met.
    pub time: f64,
}

/// The energy T + V along a run.
#[derive(Serialize, Debug, Clone)]
pub struct EnergyRecord {
    /// At the start.
    pub start: f64,
    /// At the end.
    pub end: f64,
    /// Greatest difference to the start at any step.
    pub max_drift: f64,
}

/// What a statement about a run rests on, `docs/theory/runs.md`.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Worth {
    /// By interval arithmetic.
    Proved,
    /// By two independent ways.
    Confirmed,
    /// By one that tolerances can lead astray.
    Likely,
}

/// A singular point.
#[derive(Serialize, Debug, Clone)]
pub struct SingularityRecord {
    /// When.
    pub time: f64,
    /// How far off the time may be, where it could not be located to all digits that are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<f64>,
    /// k-A or k-B, or `null`.
    pub kind: Option<String>,
    /// `removable`, `branch`, `steep`, `unbounded`, `bifurcation`, `family` or `unresolved`.
    pub nature: String,
    /// How sure it is that the point is singular.
    pub worth: Worth,
    /// The expression that vanishes, or `null`.
    pub locus: Option<String>,
    /// What it is to an operation that has no value there, such as "the denominator of `1/x`".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Equations that are singular together.
    pub equations: Vec<String>,
    /// Unknowns that they do not determine there.
    pub unknowns: Vec<String>,
    /// A direction of these unknowns that the equations leave open.
    pub null_vector: Map<String, Value>,
    /// What the kind means, in a sentence.
    #[serde(skip)]
    pub kind_words: Option<String>,
    /// The lines of the equations.
    #[serde(skip)]
    pub lines: Vec<usize>,
    /// What it rests on: quantities and their values.
    #[serde(skip)]
    pub numbers: Vec<(String, String)>,
    /// The mechanism at the instant, then a little before and after.
    #[serde(skip)]
    pub scene: Option<Scene>,
}

/// What a run cost.
#[derive(Serialize, Debug, Clone, Copy, Default)]
pub struct StatisticsRecord {
    /// Accepted steps.
    pub steps: usize,
    /// Those of them by an implicit method.
    pub implicit_steps: usize,
    /// Steps tried again.
    pub rejected: usize,
    /// Evaluations of the equations.
    pub residuals: usize,
    /// Evaluations of the system Jacobian.
    pub jacobians: usize,
    /// Factorisations.
    pub factorizations: usize,
    /// Expansions into series.
    pub jets: usize,
}

/// How a run with constant steps was discretised.
#[derive(Serialize, Debug, Clone)]
pub struct DiscretisationRecord {
    /// The form of the equations: `original`, `dummy`, `strangeness`, `decoupled` or a file.
    pub form: String,
    /// The order of the formula.
    pub order: usize,
    /// The step.
    pub step: f64,
    /// Equations without derivatives are multiplied by step^-scale.
    pub scale: f64,
    /// Number of unknowns that the formula is applied to.
    pub n_unknowns: usize,
    /// Number of equations without derivatives.
    pub n_algebraic: usize,
    /// Largest condition number seen of the discretised Jacobian as it stands, in the 1-norm; `null` if none was.
    pub condition: Option<f64>,
    /// The same with the equations scaled.
    pub condition_scaled: Option<f64>,
}

/// A point where index or degrees of freedom change.
#[derive(Serialize, Debug, Clone)]
pub struct IndexChangeRecord {
    /// When.
    pub time: f64,
    /// What changes.
    pub what: String,
}

/// A switching time.
#[derive(Serialize, Debug, Clone)]
pub struct SwitchRecord {
    /// When.
    pub time: f64,
    /// The expression that decides.
    pub expression: String,
    /// How sure it is that it switches, and that no other switching was missed.
    pub worth: Worth,
}

/// What `daelight analyze --modes --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct ModesRecord {
    /// Name of the model.
    pub model: String,
    /// Whether all combinations of conditions were tried.
    pub is_whole: bool,
    /// The modes in which the model can be between two events.
    pub modes: Vec<ListedModeRecord>,
}

/// A mode that the conditions in a text allow.
#[derive(Serialize, Debug, Clone)]
pub struct ListedModeRecord {
    /// The conditions that hold, as written.
    pub conditions: Vec<String>,
    /// The structural index; `null` for a singular mode.
    pub index: Option<usize>,
    /// Degrees of freedom; `null` for a singular mode.
    pub dof: Option<u64>,
    /// Why it is singular, if it is.
    pub singular: Option<String>,
    /// Equations that are differentiated in it, as written.
    pub differentiated: Vec<String>,
}
