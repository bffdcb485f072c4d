//! Numbers that decide, each with its reason.

/// What differs by less, relative to its size, reads as the same to a user, although rounding and the tolerances of runs may
/// tell it apart: values that a start moved, unknowns before and after a switch, instants that were asked for.
pub(crate) const SAME: f64 = 1e-6;

/// What is smaller than this part of another does not matter beside it: a change of parameters beside their standard
/// error, the last steps of a run beside the way it came.
pub(crate) const SLIGHT: f64 = 1e-3;

/// The relative tolerance of a run where neither options nor the model give one.
pub(crate) const RTOL: f64 = 1e-8;

/// A factor of rewritten equations that is below this part of its greatest value along the run, at a singular point of theirs, vanishes
/// there: what rounding and the time of the point leave of a zero.
pub(crate) const FACTOR_VANISHES: f64 = 1e-4;
