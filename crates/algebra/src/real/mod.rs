//! Real points of zero-dimensional ideals, with proofs: nothing here rounds except outwards.

mod enclosure;
mod matrix;
mod points;
mod quotient;
mod univariate;

pub use enclosure::Enclosure;
pub use points::{RealPoint, Representation};
pub use quotient::Quotient;
pub use univariate::{Root, Univariate};
