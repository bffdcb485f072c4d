//! Index reduction: from a system to the text of an equivalent model of index 1 or 0.

use crate::analyze::{Place, request, silent_inputs};
use crate::rectangular::{notes, rectangular, refused};
use daelight_analysis::System;
use daelight_analysis::index_reduction::{Form, Groundwork, Method, Refusal};
use daelight_lang::{Code, Diagnostic};

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
        notes.extend(silent_inputs(system));
        return Ok(Written { text, notes });
    }
    let groundwork = Groundwork::new(system, &request).map_err(refused)?;
    let reduced = groundwork.reduce(method, form).map_err(refused)?;
    let text = reduced.text().map_err(|_| refused(Refusal::TooLarge))?;
    let mut notes = reduced.remarks.head.clone();
    notes.extend(inputs_written_out(system, &groundwork, (method, form))?);
    let new = reduced.new_names(system);
    if !new.is_empty() {
        notes.push(format!("New unknowns: {}.", new.join(", ")));
    }
    Ok(Written { text, notes })
}

/// What to know of inputs whose signals stand in the reduced equations; those without a signal cannot.
fn inputs_written_out(
    system: &System,
    groundwork: &Groundwork<'_>,
    (method, form): (Method, Form),
) -> Result<Option<String>, Box<Diagnostic>> {
    let names = groundwork.inputs_written_out(method);
    let names: Vec<&str> = names.iter().map(|&at| system.input_name(at)).collect();
    // A model of index 1 that is asked for as it is keeps its equations.
    let is_unchanged = form == Form::Implicit && groundwork.index() <= 1;
    if names.is_empty() || is_unchanged {
        return Ok(None);
    }
    if let Some(silent) = system.silent_inputs().find(|name| names.contains(name)) {
        let message =
            format!("the reduction needs the signal of the input `{silent}`, and there is none");
        let help = format!(
            "give one in the text, as in `input Real {silent} = sin(time)`, or declare `{silent}` as a variable with an equation"
        );
        return Err(Box::new(
            Diagnostic::placeless(Code::BadInput, message).help(help),
        ));
    }
    let list = names.join("`, `");
    Ok(Some(format!(
        "The equations hold the signal of `{list}` as the text gives it: `--input` does not change it in the reduced model."
    )))
}
