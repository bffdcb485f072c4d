//! daelight from Python: the compiled half of the package `daelight`.
//!
//! Documents cross the boundary as the JSON of `docs/json.md`, numbers as numpy arrays. Everything that users see is in
//! `python/daelight`; this crate holds models, runs and the integrators for residuals written in Python.

mod command;
mod errors;
mod files;
mod linear;
mod model;
mod picture;
mod residual;
mod run;

use pyo3::prelude::*;

/// The compiled half of daelight.
#[pymodule]
mod _daelight {
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::files::write_whole;
    #[pymodule_export]
    use crate::linear::linearize;
    #[pymodule_export]
    use crate::model::{Model, built_in_models, explanation};
    #[pymodule_export]
    use crate::picture::{fan_picture, picture};
    #[pymodule_export]
    use crate::residual::{Polynomials, integrate_residual};
    #[pymodule_export]
    use crate::run::Run;

    /// The version of daelight.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The quantiles of `fan_picture`.
    #[pymodule_export]
    const FAN_LEVELS: [f64; 5] = daelight_show::picture::FAN_QUANTILES;
}
