//! Numbers that decide, each with its reason.

/// What is asked for where nothing is said: relative and absolute tolerance.
pub(crate) const DEFAULT: f64 = 1e-6;

/// Steps are never asked for more digits than these: rounding of a step is some ten units.
pub const FINEST: f64 = 1e-14;

/// A point is looked at this far beside itself, in sizes, and a first step takes at most this part of the span: far enough
/// to see what is there, near enough to be like the point.
pub(crate) const ASIDE: f64 = 1e-3;

/// Where Newton's method for constant steps ends, in units of the weights.
pub(crate) const NEWTON: f64 = 1e-10;
