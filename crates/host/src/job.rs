//! What the process of an FMU is asked, and what it answers.

use daelight_fmu::FmuVariable;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a value is passed.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of FMI 3.0")]
pub enum ValueType {
    Float64,
    Float32,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Boolean,
    String,
}

impl ValueType {
    /// That of a variable in version 2.0 or 3.0; `None` for what is no value here: clocks and binary data.
    pub fn of(variable: &FmuVariable) -> Option<Self> {
        Some(match variable.ty.as_str() {
            "Real" | "Float64" => Self::Float64,
            "Float32" => Self::Float32,
            "Int8" => Self::Int8,
            "UInt8" => Self::UInt8,
            "Int16" => Self::Int16,
            "UInt16" => Self::UInt16,
            "Integer" | "Int32" => Self::Int32,
            "UInt32" => Self::UInt32,
            "Int64" | "Enumeration" => Self::Int64,
            "UInt64" => Self::UInt64,
            "Boolean" => Self::Boolean,
            "String" => Self::String,
            _ => return None,
        })
    }
}

/// A variable by its number and type.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestVariable {
    /// Its value reference.
    pub reference: u32,
    /// How its value is passed.
    pub ty: ValueType,
    /// How many values it has: those of an array follow each other, the last index first.
    pub length: usize,
}

/// A value that a variable is given before the start.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub enum GuestValue {
    /// A number, or 0 and 1 for false and true.
    Number(f64),
    /// A text.
    Text(String),
}

/// A run that is asked for.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct GuestJob {
    /// Whether the FMU is of version 3.0.
    pub is_three: bool,
    /// The library.
    pub library: PathBuf,
    /// The folder with the resources.
    pub resources: PathBuf,
    /// What the FMU calls itself.
    pub name: String,
    /// Its token.
    pub token: String,
    /// Times of a run: first the start; values are told at each.
    pub times: Vec<f64>,
    /// When it is to end.
    pub to: f64,
    /// The tolerance.
    pub tolerance: Option<f64>,
    /// What is set before the start.
    pub set: Vec<(GuestVariable, GuestValue)>,
    /// What is told.
    pub shown: Vec<GuestVariable>,
    /// What moves.
    pub inputs: Vec<GuestInput>,
    /// Whether the FMU takes rates of its inputs, by a function that version 2.0 has.
    pub takes_rates: bool,
}

/// An input that moves.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct GuestInput {
    /// Which one.
    pub variable: GuestVariable,
    /// Its value at each time of the run, behind a jump there and before one.
    pub values: Vec<(f64, f64)>,
}

/// How a run ended.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub enum GuestEnd {
    /// At the last time.
    Finished,
    /// The FMU ended it, at this time.
    Ended(f64),
    /// A call failed: what it was, the status in words, and why where that is known.
    Failed(String),
    /// The process died: how.
    Died(String),
    /// It took longer than was allowed.
    TooLong,
}

/// A line from the process.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) enum Line {
    /// A time and the values there.
    Row(f64, Vec<Option<f64>>),
    /// Status and text of a message.
    Message(String),
    /// The end.
    End(GuestEnd),
}
