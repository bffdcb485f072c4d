//! Nothing within a step may be missed: functions that decide are resolved by the step that they decide about.
//!
//! `docs/theory/runs.md` derives the rules and says what is proved and what is only checked.

pub(crate) mod beside;
pub(crate) mod branches;
pub(crate) mod decider;
mod effect;
pub(crate) mod enclosed;
pub(crate) mod features;
pub(crate) mod forcing;
mod isolate;
mod remainders;
pub(crate) mod rooted;
mod scan;
pub(crate) mod sides;
pub(crate) mod written;

pub use enclosed::Enclosed;
pub use isolate::{Isolation, ZeroPlace};
pub use scan::{Cell, Expand, MAX_EXPANSIONS, SCAN_ORDER, Scan};
