//! Numbers that the language fixes.

/// `Modelica.Constants.small`: no value that a model means is smaller.
pub const SMALL: f64 = 1e-60;
