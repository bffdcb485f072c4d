//! The tests of this crate in one program: it is linked once, and its tests share all cores to the end. Those that count allocations or processor time have
//! programs of their own.

mod common;
mod implicit;
mod lanes;
mod library;
mod native;
mod reference;
mod singularities;
mod stiff;
mod switches;
mod watch;
