//! What kind of differential-algebraic equation is this?
//!
//! [`structure`] answers from the pattern alone: which unknown occurs where, and how often differentiated.

pub mod structure;
