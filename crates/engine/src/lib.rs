//! The shared library inside the FMUs of daelight: the C functions of FMI 2.0 and 3.0 around a [`daelight::Session`].
//!
//! One library serves all models: an instance reads the text of its model from the resources of its FMU. No panic crosses the
//! boundary, nothing is printed, and all state belongs to an instance. Unsafe code is confined to `boundary`, `fmi2` and `fmi3`:
//! every pointer is one that the importer gave under the rules of FMI, looked at for null first.

mod boundary;
mod fmi2;
mod fmi3;
mod instance;
