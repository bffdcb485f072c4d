//! Index notions from matrix series: published linear problems, the robotic arm, and random systems with known answers.

#[path = "../common/mod.rs"]
mod common;
mod invariance;
mod linear;
mod random;
mod robotic_arm;
