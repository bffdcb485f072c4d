//! Parameters from data.

use serde::Serialize;

/// What `daelight fit --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct FitRecord {
    /// Whether the sum of squares is at a minimum.
    pub settled: bool,
    /// How many steps it took.
    pub steps: usize,
    /// The part of all trials whose intervals hold the truth.
    pub confidence: f64,
    /// The parameters.
    pub parameters: Vec<FittedRecord>,
    /// The columns of the data.
    pub columns: Vec<FittedColumnRecord>,
    /// Changes of the parameters that the data do not see, in units of their values and in their order.
    pub unseen: Vec<Vec<f64>>,
    /// What decided how many there are.
    pub rank: String,
    /// Correlations of the errors; empty where a parameter is not determined.
    pub correlations: Vec<Vec<f64>>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

/// A parameter that was fitted.
#[derive(Serialize, Debug, Clone)]
pub struct FittedRecord {
    /// Its name.
    pub name: String,
    /// Its value before.
    pub start: f64,
    /// Its value now.
    pub value: f64,
    /// Its standard error; `null` where it has no interval.
    pub error: Option<f64>,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// Why it has none: `not determined`, `at its bound` or `no minimum`.
    pub no_interval: Option<String>,
}

/// A column of the data.
#[derive(Serialize, Debug, Clone)]
pub struct FittedColumnRecord {
    /// Its name.
    pub name: String,
    /// How many values it has.
    pub n: usize,
    /// Root of the mean square of what the fit leaves.
    pub rms: f64,
}
