//! Findings as records: the only place where they become words and numbers for others.

mod analyze;
mod constant_steps;
mod feedforward;
mod fit;
mod gradient;
mod hybrid;
mod linear;
mod model;
mod page;
mod run;
mod sensitivity;
mod singular;
mod spectrum;
mod start;
mod sweep;
mod view;

pub use analyze::{add_interval, add_spectrum, analyze, signature};
pub use constant_steps::constant_steps;
pub use feedforward::{feedforward, forces, no_feedforward};
pub use fit::fit;
pub use gradient::gradient;
pub(crate) use hybrid::end_words;
pub use hybrid::{add_discrete_start, hybrid, modes, start_conditions};
pub use linear::linearize;
pub use model::equation_mathml;
pub use page::{PageOptions, page};
pub(crate) use run::met;
pub use run::{RefusalKind, RunRefusal, phase_warnings, refusal, solve, status_of};
pub use sensitivity::add_sensitivities;
pub use singular::singular;
pub use start::{NoStart, condition_text, outcome};
pub(crate) use start::{different_poses, side_note};
pub use sweep::{sweep, sweep_columns};
pub use view::{fixed_samples, live, run_picture, with_rows};
