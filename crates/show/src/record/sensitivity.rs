//! Derivatives of runs.

use serde::Serialize;
use serde_json::{Map, Value};

/// Derivatives of a run by parameters and start values.
#[derive(Serialize, Debug, Clone)]
pub struct SensitivityRecord {
    /// What the run is differentiated by.
    pub by: Vec<String>,
    /// Up to when the derivatives are known.
    pub until: f64,
    /// Why they end before the run does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Each unknown with its derivatives at that time, which is held fixed, in the order of `by`.
    #[serde(rename = "final")]
    pub last: Map<String, Value>,
    /// How singular times move.
    pub singular_times: Vec<SingularTimeRecord>,
    /// How the end moves that a stopping condition sets, and the values there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopTimeRecord>,
}

/// How the end of a run moves.
#[derive(Serialize, Debug, Clone)]
pub struct StopTimeRecord {
    /// The time.
    pub time: f64,
    /// Its derivatives in the order of `by`; `null` where there is none.
    pub by: Vec<Option<f64>>,
    /// Why there is none, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Each unknown with the derivatives of its value where the run stops, at the time that moves.
    #[serde(rename = "final")]
    pub last: Map<String, Value>,
}

/// How a singular time moves.
#[derive(Serialize, Debug, Clone)]
pub struct SingularTimeRecord {
    /// The time.
    pub time: f64,
    /// Its derivatives in the order of `by`; `null` where there is none.
    pub by: Vec<Option<f64>>,
    /// Why there is none, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}
