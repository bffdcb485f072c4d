//! Decides what kind of differential-algebraic equation it is, from matrices evaluated along a point's Taylor series.
//!
//! Everything here works on E = dF/dx' and B = dF/dx as matrix series ([`MatrixSeries`]); the formulas are numbered in
//! `docs/theory/indices.md`. [`decide::decide`] asks the deciders below and answers only where they agree:
//!
//! - [`reduction`]: eliminates constraints level by level, in series. One small computation yields every index.
//! - [`array`](mod@array): ranks of the derivative array, 1-fullness and projectors.
//! - [`chain`]: the tractability matrix chain, and the kind of a critical point.

#![forbid(unsafe_code)]

pub mod array;
pub mod chain;
pub mod decide;
pub mod dense;
pub mod fullness;
pub mod outcome;
pub mod reduction;
pub mod scaling;
pub mod series;

pub use decide::{Answer, Decision, Outcome, Question, decide};
pub use outcome::{Because, Indices, Stage, Strangeness};
pub use reduction::Reduction;
pub use series::MatrixSeries;
