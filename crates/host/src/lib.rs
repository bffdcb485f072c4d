//! FMUs of others, run by co-simulation.
//!
//! A library that somebody else compiled can crash, hang or print. So it is loaded in a process of its own ([`work`]), which tells line by
//! line what it finds; [`run`] starts that process, collects the lines, and has everything that was told when the process dies. Unsafe
//! code is confined to `two` and `three`, the functions of FMI 2.0 and 3.0, and to `guest`, which loads the library.

mod guest;
mod job;
mod run;
mod three;
mod two;
mod work;

pub use job::{GuestEnd, GuestInput, GuestJob, GuestValue, GuestVariable, ValueType};
pub use run::{GuestRun, run};
pub use work::work;
