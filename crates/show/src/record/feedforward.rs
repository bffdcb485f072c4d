//! Inverse dynamics verified.

use super::run::SolveRecord;
use serde::Serialize;

/// What `daelight feedforward --json` prints.
#[derive(Serialize, Debug, Clone, Default)]
pub struct FeedforwardRecord {
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
    pub inverse: SolveRecord,
    /// How the run of the forward model went; `null` if there was none.
    pub forward: Option<SolveRecord>,
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
