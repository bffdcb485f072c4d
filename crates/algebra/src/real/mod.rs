//! Real points of zero-dimensional ideals, with proofs.

mod enclosure;
mod univariate;

pub use enclosure::Enclosure;
pub use univariate::{Root, Univariate};
