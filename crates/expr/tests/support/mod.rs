//! Random models and a mechanism, shared by the tests and the speed example.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod andrews;
pub mod random;
