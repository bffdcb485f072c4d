//! The tests of this crate in one program: it is linked once, and its tests share all cores to the end. Those that count allocations or processor time have
//! programs of their own.

mod common;
mod dd;
mod lu;
mod properties;
mod qr;
mod rank;
mod sparse;
mod svd;
