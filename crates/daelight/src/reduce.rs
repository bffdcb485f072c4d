//! Index reduction: from a system to the text of an equivalent model of index 1 or 0.

use crate::analyze::{Place, request};
use crate::rectangular::{notes, rectangular, refused};
use daelight_analysis::System;
use daelight_analysis::index_reduction::{Form, Groundwork, Method, Refusal};
use daelight_lang::Diagnostic;

/// A reduced model as text.
#[derive(Clone, Debug)]
pub struct Written {
    /// The model as Modelica.
    pub text: String,
    /// What is worth knowing of it: the states, new unknowns.
    pub notes: Vec<String>,
}

/// Reduces the index of a model and writes the result.
pub fn reduce(
    system: &System,
    place: &Place,
    method: Method,
    form: Form,
) -> Result<Written, Box<Diagnostic>> {
    let request = request(system, place)?;
    if let Some(reduction) = rectangular(system, request.time)? {
        let experiment = system.experiment();
        let to = experiment.stop_time.filter(|&to| to > request.time);
        let mut notes = notes(&reduction, (request.time, to.unwrap_or(request.time + 1.0)));
        let reduced = reduction.model().map_err(refused)?;
        let text = reduced.text().map_err(|_| refused(Refusal::TooLarge))?;
        notes.splice(0..0, reduced.remarks.head);
        return Ok(Written { text, notes });
    }
    let groundwork = Groundwork::new(system, &request).map_err(refused)?;
    let reduced = groundwork.reduce(method, form).map_err(refused)?;
    let text = reduced.text().map_err(|_| refused(Refusal::TooLarge))?;
    let mut notes = reduced.remarks.head.clone();
    let new = reduced.new_names(system);
    if !new.is_empty() {
        notes.push(format!("New unknowns: {}.", new.join(", ")));
    }
    Ok(Written { text, notes })
}
