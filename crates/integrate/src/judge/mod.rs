//! What a singular point is worth: nothing is told before it was put to the test.
//!
//! Section 4 of `docs/theory/runs.md`.

mod confirm;
mod time_alone;

pub(crate) use confirm::{Claim, Confirm, Standing};
pub(crate) use time_alone::TimeAlone;
