//! Index notions from matrix series: published linear problems, the robotic arm, and random systems with known answers.

mod invariance;
mod linear;
pub mod random;
mod robotic_arm;
