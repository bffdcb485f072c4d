//! Index reduction: from a system to the text of an equivalent model of index 1 or 0.

use crate::analyze::{Place, request, silent_inputs};
use crate::rectangular::{notes, rectangular, refused};
use daelight_analysis::System;
use daelight_analysis::index_reduction::{Form, Groundwork, ReduceBy, Refusal, with_inputs_kept};
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
    method: ReduceBy,
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
    let kept = inputs_to_keep(&groundwork, (method, form));
    let (reduced, names) = if kept.is_empty() {
        (groundwork.reduce(method, form), Vec::new())
    } else {
        let time = request.time;
        let kept_system = with_inputs_kept(system, &kept, time)
            .map_err(|input| without_derivatives(&input, time))?;
        let groundwork = Groundwork::new(&kept_system, &request).map_err(refused)?;
        let names = kept.iter().map(|&at| system.input_name(at)).collect();
        (groundwork.reduce(method, form), names)
    };
    let reduced = reduced.map_err(refused)?;
    let text = reduced.text().map_err(|_| refused(Refusal::TooLarge))?;
    let mut notes = reduced.remarks.head.clone();
    let new_inputs = reduced.new_inputs(system);
    if !new_inputs.is_empty() {
        let names: Vec<&str> = names;
        notes.push(format!(
            "New inputs: {}, derivatives of {}. Data for the one need data for the others.",
            new_inputs.join(", "),
            names.join(", ")
        ));
    }
    let new = reduced.new_names(system);
    if !new.is_empty() {
        notes.push(format!("New unknowns: {}.", new.join(", ")));
    }
    Ok(Written { text, notes })
}

/// Inputs that stand in equations that change: they keep their names.
fn inputs_to_keep(groundwork: &Groundwork<'_>, (method, form): (ReduceBy, Form)) -> Vec<usize> {
    // A model of index 1 that is asked for as it is keeps its equations.
    let is_unchanged = form == Form::Implicit && groundwork.index() <= 1;
    match is_unchanged {
        true => Vec::new(),
        false => groundwork.inputs_written_out(method),
    }
}

fn without_derivatives(input: &str, time: f64) -> Box<Diagnostic> {
    let message = format!(
        "the reduction needs derivatives of the input `{input}`, whose signal has none at t = {time}"
    );
    let help = "choose another time with --at, or give it a smooth signal";
    Box::new(Diagnostic::placeless(Code::BadInput, message).help(help))
}
