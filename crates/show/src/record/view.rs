//! What pages and pictures show of answers beside their documents.

use super::{AnalyzeRecord, SingularRecord, SolveRecord, StartRecord};
use crate::scene::{Frame, Scene};

/// A quantity over time.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    /// Its name.
    pub name: String,
    /// Its unit as the model writes it, or empty.
    pub unit: String,
    /// A value for each time; what is not finite interrupts the curve.
    pub values: Vec<f64>,
}

/// Quantities over the same times.
#[derive(Clone, Debug, Default)]
pub struct RunSamples {
    /// The times, ascending.
    pub times: Vec<f64>,
    /// The quantities.
    pub series: Vec<TimeSeries>,
}

/// A number for each of several times.
pub type TimePoints = Vec<(f64, f64)>;

/// What is shown of a run; each view fills what it needs.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    /// Name of the model.
    pub model: String,
    /// Where the run began.
    pub from: f64,
    /// Where it ended.
    pub reached: f64,
    /// Its relative tolerance.
    pub rtol: f64,
    /// How many unknowns there are.
    pub n_unknowns: usize,
    /// How many of the last series are discrete.
    pub n_discrete: usize,
    /// Unknowns and inputs.
    pub samples: RunSamples,
    /// The scaled residual of each level.
    pub residuals: Vec<TimePoints>,
    /// The least singular value of the blocks that decide.
    pub margins: TimePoints,
    /// The condition of the derivative array.
    pub conditions: TimePoints,
    /// What vanishes where the model is singular.
    pub loci: Vec<(String, TimePoints)>,
    /// Begin, end and degree of each step.
    pub steps: Vec<(f64, f64, usize)>,
    /// The mechanism at some instants.
    pub scene: Option<Scene>,
    /// The same at many, for the ways of its points.
    pub along: Vec<Frame>,
}

/// What the text of a model says.
#[derive(Clone, Debug, Default)]
pub struct ModelRecord {
    /// Its name.
    pub name: String,
    /// Its comment.
    pub comment: String,
    /// How many equations there are.
    pub n_equations: usize,
    /// Those that bring second derivatives to first order, which are not listed.
    pub n_velocities: usize,
    /// The first equations.
    pub equations: Vec<EquationRecord>,
    /// Those that hold at the start only.
    pub initial: Vec<EquationRecord>,
    /// How many unknowns there are.
    pub n_unknowns: usize,
    /// The first unknowns: name, unit, start value, meaning.
    pub unknowns: Vec<[String; 4]>,
    /// How many parameters there are.
    pub n_parameters: usize,
    /// The first parameters: name, value, unit, meaning.
    pub parameters: Vec<[String; 4]>,
}

/// An equation.
#[derive(Clone, Debug)]
pub struct EquationRecord {
    /// The formula as MathML; `None` where it is too long to be read.
    pub mathml: Option<String>,
    /// How it was written, or where it came from.
    pub source: String,
    /// The line of the text, from 1.
    pub line: usize,
}

/// A message framed as on a terminal.
#[derive(Clone, Debug)]
pub struct FramedRecord {
    /// Whether it is an error, not a warning.
    pub is_error: bool,
    /// `error code` or `warning code`.
    pub label: String,
    /// The code.
    pub code: &'static str,
    /// The frame.
    pub text: String,
}

/// Why there is no run.
#[derive(Clone, Debug)]
pub enum NoRunRecord {
    /// A mistake with a place.
    Framed(FramedRecord),
    /// Sentences, and one thing to do.
    Said {
        /// What is wrong.
        message: String,
        /// One thing to do.
        help: String,
    },
}

/// Everything about a model.
#[derive(Clone, Debug, Default)]
pub struct PageRecord {
    /// The model as it was named.
    pub title: String,
    /// What was said when it was read.
    pub messages: Vec<FramedRecord>,
    /// How many of these are errors.
    pub n_errors: usize,
    /// The text.
    pub text: String,
    /// What it says, if it was understood.
    pub model: Option<ModelRecord>,
    /// The passport, or why there is none.
    pub passport: Option<Result<AnalyzeRecord, FramedRecord>>,
    /// The start, or why there is none.
    pub start: Option<Result<StartRecord, FramedRecord>>,
    /// The run, or why there is none.
    pub run: Option<Result<SolveRecord, NoRunRecord>>,
    /// The singular configurations, or why there are none: messages as sentences.
    pub singular: Option<Result<SingularRecord, Vec<Vec<String>>>>,
    /// The version of daelight.
    pub version: &'static str,
    /// Commands that repeat it.
    pub commands: Vec<String>,
}

/// The signature matrix of a model.
#[derive(Clone, Debug, Default)]
pub struct SignatureRecord {
    /// The equations as written; empty for a large model.
    pub equations: Vec<String>,
    /// The unknowns; empty for a large model.
    pub unknowns: Vec<String>,
    /// Its entries, row by row.
    pub entries: Vec<SignatureEntry>,
    /// Equations and unknowns of each diagonal block, in the order of solution.
    pub blocks: Vec<(Vec<usize>, Vec<usize>)>,
}

/// How often an unknown is differentiated in an equation.
#[derive(Clone, Copy, Debug)]
pub struct SignatureEntry {
    /// The equation.
    pub equation: usize,
    /// The unknown.
    pub unknown: usize,
    /// The order of its highest derivative.
    pub order: u32,
    /// Whether the equation is matched with the unknown.
    pub is_matched: bool,
    /// Whether it is of the order that enters the system Jacobian.
    pub is_in_jacobian: bool,
}
