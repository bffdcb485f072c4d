//! Models as FMUs, files of the Functional Mock-up Interface (FMI) 2.0 and 3.0.
//!
//! An FMU is an archive: a description of variables ([`description`]), the text of the model ([`Resources`]) and the library that
//! runs it, which is the same for all models (`crates/engine`). `docs/decisions/0014-fmus.md`. FMUs of others are read and checked by
//! [`ForeignFmu`].

#![forbid(unsafe_code)]

mod dependencies;
mod description;
mod engine;
mod export;
mod foreign;
mod resources;
mod variables;

pub use description::{CATEGORIES, Version, description};
pub use engine::{EngineLibrary, find_engine};
pub use export::{Fmu, export};
pub use foreign::{
    FmuArchive, FmuBinary, FmuDescription, FmuKind, FmuSize, FmuVariable, ForeignFmu, binaries,
    is_fmu, system_word,
};
pub use resources::{Prepared, Resources};
pub use variables::{Initial, Interface, Port, PortChange, PortKind, PortValue};
