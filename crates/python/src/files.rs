//! Files of users.

use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a text as a file, whole or not at all.
#[pyfunction]
pub fn write_whole(path: PathBuf, text: &str) -> PyResult<()> {
    Ok(daelight::files::write_whole(&path, text.as_bytes())?)
}
