//! The tests of this crate in one program: it is linked once, and its tests share all cores to the end. Those that count allocations or processor time have
//! programs of their own.

mod arm;
mod common;
mod elimination;
mod faults;
mod folds;
mod identity;
mod indices;
mod initial;
mod initial_large;
mod linear_canonical;
mod linear_interval;
mod locus;
mod narrow_features;
mod parameters;
mod rectangular;
mod repair;
mod repair_mixings;
mod sharpen;
mod spectrum;
mod starts;
mod strangeness_free;
mod structure_growth;
mod structure_laws;
mod structure_reference;
mod trimming;
