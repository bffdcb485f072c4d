//! Findings as records: the only place where they become words and numbers for others.

mod analyze;
mod model;
mod page;
mod run;
mod singular;
mod spectrum;
mod start;
mod view;

pub use analyze::{add_interval, add_spectrum, analyze, signature};
pub use model::equation_mathml;
pub use page::{PageOptions, page};
pub use run::{RefusalKind, RunRefusal, phase_warnings, refusal, solve, status_of};
pub use singular::singular;
pub use start::{condition_text, start, start_failure};
pub use view::{fixed_samples, run_picture};
