//! The tests of this crate in one program: it is linked once, and its tests share all cores to the end. Those that count allocations or processor time have
//! programs of their own.

mod agreement;
mod clocks;
mod constrained;
mod drawing;
mod ensembles;
mod expressions;
mod files;
mod hops;
mod hybrid;
mod kinks;
mod loops;
mod pencils;
mod sweep_points;
mod switching;
mod verdicts;
