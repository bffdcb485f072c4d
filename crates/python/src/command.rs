//! The command line from Python.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Carries out the command of these words, the first of which is the program's own name; gives its exit status.
#[pyfunction]
pub fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| daelight_cli::run(words))
}
