//! Linear models: the document of `linearize --json` and its page.

use crate::model::Model;
use daelight::{LinearizeOptions, record};
use daelight_show::record::to_json;
use daelight_show::terminal;
use pyo3::prelude::*;

/// Time of the point, its values, whether to go to rest first, and how long to work.
type Asked = (Option<f64>, Vec<(String, f64)>, bool, Option<f64>);

/// The linear model of a model at a point, as the command has it; no names are all inputs, and the declared outputs.
#[pyfunction]
pub fn linearize(
    py: Python<'_>,
    model: &Model,
    inputs: Vec<String>,
    outputs: Vec<String>,
    asked: Asked,
) -> PyResult<(String, String)> {
    let (at, point, at_rest, budget) = asked;
    py.detach(|| {
        let options = LinearizeOptions {
            place: model.place(at, point, Some(budget.unwrap_or(crate::model::BUDGET)))?,
            inputs,
            outputs,
            at_rest,
        };
        let equations = model.model();
        let found = daelight::linearize(equations, &options)
            .map_err(|diagnostic| model.at_fault(*diagnostic))?;
        let report = record::linearize(&found);
        Ok((
            to_json(&report),
            terminal::linearize(&report, &equations.name),
        ))
    })
}
