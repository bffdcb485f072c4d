//! The tests of this crate in one program: it is linked once, and its tests share all cores to the end. Those that count allocations or processor time have
//! programs of their own.

mod back_ends;
mod faults;
mod jet_accuracy;
mod laws;
mod oracle;
mod signals;
mod support;
