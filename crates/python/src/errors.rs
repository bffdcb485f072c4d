//! Failures as the exceptions of `daelight.errors`, with the same frames as in a terminal.

use daelight::record::{RefusalKind, RunRefusal};
use daelight_lang::{Diagnostic, Loaded, SourceMap};
use daelight_show::record::{DiagnosticRecord, to_json};
use daelight_show::terminal::frame;
use pyo3::prelude::*;

/// An exception by the name of its class, with a text and records as JSON.
pub fn exception(
    class: &str,
    rendered: &str,
    diagnostics: &[DiagnosticRecord],
    document: Option<&str>,
) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("daelight.errors")
            .and_then(|module| module.getattr("from_core"))
            .and_then(|make| make.call1((class, rendered, to_json(&diagnostics), document)));
        match made {
            Ok(value) => PyErr::from_value(value),
            Err(error) => error,
        }
    })
}

/// Wrong usage of a call.
pub fn usage(message: impl Into<String>) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(message.into())
}

/// Diagnostics of a text as one exception.
pub fn of_diagnostics(
    class: &str,
    diagnostics: &[Diagnostic],
    sources: &SourceMap,
    document: Option<&str>,
) -> PyErr {
    let rendered: String = diagnostics
        .iter()
        .map(|diagnostic| frame(diagnostic, sources, false))
        .collect();
    let records: Vec<DiagnosticRecord> = diagnostics
        .iter()
        .map(|diagnostic| DiagnosticRecord::new(diagnostic, sources))
        .collect();
    exception(class, rendered.trim_end(), &records, document)
}

/// The mistakes of a text that gave no model.
pub fn of_text(loaded: &Loaded) -> PyErr {
    of_diagnostics("ModelError", &loaded.diagnostics, &loaded.sources, None)
}

/// Why there is no run; `document` is the passport of a singular start.
pub fn of_refusal(refusal: RunRefusal, sources: &SourceMap, document: Option<&str>) -> PyErr {
    match refusal {
        RunRefusal::Diagnostic(diagnostic) => {
            of_diagnostics("ModelError", &[*diagnostic], sources, document)
        }
        RunRefusal::Said {
            kind,
            message,
            help,
        } => {
            let class = match kind {
                RefusalKind::ModelAtFault => "StartError",
                RefusalKind::SingularStart => "SingularityError",
                RefusalKind::GaveUp => "NumericsError",
            };
            let rendered = format!("error: {message}\n  help: {help}");
            exception(class, &rendered, &[], document)
        }
    }
}
