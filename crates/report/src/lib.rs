//! Findings for people and for programs: frames around source text, and the JSON documents.
//!
//! This crate holds the only serialised types; `docs/json.md` documents their fields.

mod frame;
mod json;

pub use frame::frame;
pub use json::{CheckReport, DiagnosticRecord, ExampleRecord, to_json};
