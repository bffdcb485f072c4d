//! The tests of this crate in one program: it is linked once, and its tests share all cores to the end. Those that count allocations or processor time have
//! programs of their own.

mod common;
mod contract;
mod fixed_steps;
mod function;
mod orders;
mod reference;
