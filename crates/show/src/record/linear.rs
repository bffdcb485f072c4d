//! Linear models.

use super::spectrum::EigenvalueRecord;
use serde::Serialize;
use serde_json::{Map, Value};

/// A matrix by rows.
pub type Rows = Vec<Vec<f64>>;

/// What `daelight linearize --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct LinearRecord {
    /// The time of the point.
    pub time: f64,
    /// Whether the point is at rest, so that the poles decide about stability.
    pub at_rest: bool,
    /// Values of all unknowns and inputs at the point.
    pub point: Map<String, Value>,
    /// The unknowns whose changes are the states.
    pub states: Vec<String>,
    /// The inputs.
    pub inputs: Vec<String>,
    /// The outputs.
    pub outputs: Vec<String>,
    /// States by states.
    pub a: Rows,
    /// States by inputs.
    pub b: Rows,
    /// Outputs by states.
    pub c: Rows,
    /// Outputs by inputs: the coefficients of 1, s, s^2, …
    pub d: Vec<Rows>,
    /// What is taken off the states: the coefficients of the inputs, of their rates, …; empty where they are the changes themselves.
    pub shifts: Vec<Rows>,
    /// The poles.
    pub poles: Vec<EigenvalueRecord>,
    /// The zeros; `null` where they are not known.
    pub zeros: Option<Vec<EigenvalueRecord>>,
    /// E x' = A x + B u of the equations as written.
    pub descriptor: DescriptorRecord,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

/// The equations as written, linearised with the coefficients of the point.
#[derive(Serialize, Debug, Clone)]
pub struct DescriptorRecord {
    /// Names of x.
    pub unknowns: Vec<String>,
    /// E.
    pub e: Rows,
    /// A.
    pub a: Rows,
    /// B.
    pub b: Rows,
}

/// Frequency and step responses of a linear model, for pictures.
#[derive(Debug, Clone)]
pub struct ResponsesRecord {
    /// Angular frequencies.
    pub frequencies: Vec<f64>,
    /// Times after a step.
    pub times: Vec<f64>,
    /// One for each output and input.
    pub curves: Vec<ResponseRecord>,
}

/// The response of an output to an input.
#[derive(Debug, Clone)]
pub struct ResponseRecord {
    /// Output and input.
    pub name: String,
    /// The gain at each frequency.
    pub gain: Vec<f64>,
    /// The phase at each frequency, in degrees.
    pub phase: Vec<f64>,
    /// The output after a step of the input by 1; none where the output would hold an impulse.
    pub step: Option<Vec<f64>>,
}
