//! The tests of this crate in one program: it is linked once, and its tests share all cores to the end. Those that count allocations or processor time have
//! programs of their own.

mod classes;
mod components;
mod error_pages;
mod loops;
mod meaning;
mod others;
