//! Findings as records: the only place where they become words and numbers for others.

mod analyze;
mod run;
mod singular;
mod spectrum;
mod start;

pub use analyze::{add_interval, add_spectrum, analyze};
pub use run::{RefusalKind, RunRefusal, phase_warnings, refusal, solve, status_of};
pub use singular::singular;
pub use start::{condition_text, start, start_failure};
