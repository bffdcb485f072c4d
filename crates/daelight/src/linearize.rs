//! The linear model of a DAE at a point, in the user's names.

use crate::analyze::{Place, system_error};
use daelight_analysis::initial::{Spot, TaylorJet};
use daelight_analysis::linearize::{LinearForm, LinearModel, linearize as linear_model};
use daelight_analysis::prescribed::Prescribed;
use daelight_analysis::spectrum::{Separation, Spectrum, rest_point, spectrum};
use daelight_analysis::{FiniteEigenvalue, System};
use daelight_expr::Node;
use daelight_lang::{Code, Diagnostic, Model, nearest};

/// What `daelight linearize` is asked for.
#[derive(Clone, Debug, Default)]
pub struct LinearizeOptions {
    /// Where.
    pub place: Place,
    /// Names of the inputs; all of the model where none is given.
    pub inputs: Vec<String>,
    /// Names of the outputs; those declared `output` where none is given.
    pub outputs: Vec<String>,
    /// Whether to go to the point at rest first.
    pub at_rest: bool,
}

/// A linear model with its names.
pub struct Linearization {
    /// The equations, inputs as unknowns.
    pub system: System,
    /// When.
    pub time: f64,
    /// Values of all unknowns and inputs at the point.
    pub values: Vec<f64>,
    /// Whether nothing moves at the point.
    pub is_at_rest: bool,
    /// Whether the poles decide about stability: at rest, and where all coefficients are constant.
    pub decides: bool,
    /// The switch of the time that the point lies on, if there is one; the matrices are those of later times.
    pub switch: Option<String>,
    /// The matrices.
    pub model: LinearModel,
    /// Positions of the inputs among the unknowns of the system.
    pub inputs: Vec<usize>,
    /// Positions of the outputs.
    pub outputs: Vec<usize>,
    /// The zeros from all inputs to all outputs, or why there are none.
    pub zeros: Result<Vec<FiniteEigenvalue>, String>,
    /// E and A, B of E x' = A x + B u for all unknowns that are no inputs, row by row.
    pub descriptor: [Vec<Vec<f64>>; 3],
}

fn fault(message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::placeless(Code::BadInput, message).help(help))
}

fn positions<'a>(
    names: &[String],
    known: impl Fn() -> Box<dyn Iterator<Item = &'a str> + 'a>,
    what: &str,
    model: &Model,
) -> Result<Vec<usize>, Box<Diagnostic>> {
    let position = |name: &String| {
        known().position(|other| other == name).ok_or_else(|| {
            let is_unknown = model.unknowns.iter().any(|unknown| unknown.name == *name);
            let help = match nearest(name, known()) {
                _ if is_unknown => format!(
                    "`{name}` is an unknown of the equations: declare it `input Real {name};` and take its equation out"
                ),
                Some(near) => format!("did you mean {near}?"),
                None => match known().next() {
                    Some(first) => format!("give a name of the model, such as {first}"),
                    None => format!("declare one, as in `{what} Real {name};`"),
                },
            };
            fault(format!("the model has no {what} `{name}`"), &help)
        })
    };
    names.iter().map(position).collect()
}

fn on_switch(time: f64, switch: &str) -> Box<Diagnostic> {
    fault(
        format!(
            "there is no one linear model at t = {time}: the point lies on the switch where `{switch}`, and the equations are not the same on both sides"
        ),
        "move the point to one side with --point or --set, or the time with --at",
    )
}

/// The inputs asked for, or all of them.
fn inputs(model: &Model, options: &LinearizeOptions) -> Result<Vec<usize>, Box<Diagnostic>> {
    if options.inputs.is_empty() {
        return Ok((0..model.inputs.len()).collect());
    }
    let names = || -> Box<dyn Iterator<Item = &str>> {
        Box::new(model.inputs.iter().map(|i| i.name.as_str()))
    };
    positions(&options.inputs, names, "input", model)
}

/// The unknowns asked for, or all that are declared as outputs.
fn outputs(model: &Model, options: &LinearizeOptions) -> Result<Vec<usize>, Box<Diagnostic>> {
    if options.outputs.is_empty() {
        let is_output = |j: &usize| model.declarations[model.unknowns[*j].declaration].is_output;
        return Ok((0..model.unknowns.len()).filter(is_output).collect());
    }
    let names = || -> Box<dyn Iterator<Item = &str>> {
        Box::new(model.unknowns.iter().map(|u| u.name.as_str()))
    };
    positions(&options.outputs, names, "unknown", model)
}

/// The jet of the point at rest nearby, which may be the point itself.
fn at_rest(system: &System, near: Spot<'_>, n: usize) -> Result<TaylorJet, Box<Diagnostic>> {
    if is_at_rest(system, near.jet) {
        return Ok(TaylorJet::at_rest(near.jet.values(), n));
    }
    let rest = rest_point(system, near).ok_or_else(|| {
        fault(
            "no isolated point at rest was found nearby".to_string(),
            "give values near it with --point, or leave out --rest",
        )
    })?;
    Ok(TaylorJet::at_rest(rest.values(), n))
}

/// The linear model of a model at a point, `docs/theory/linearize.md`.
pub fn linearize(
    model: &Model,
    options: &LinearizeOptions,
) -> Result<Linearization, Box<Diagnostic>> {
    crate::without_events(model.hybrid.as_deref())?;
    let inputs = inputs(model, options)?;
    let outputs = outputs(model, options)?;
    let released = model.with_inputs_as_unknowns(&inputs).map_err(|name| {
        fault(
            format!("the second derivative of the input `{name}` stands in an equation"),
            "give its first derivative a variable of its own",
        )
    })?;
    let system = System::new(&released).map_err(system_error)?;
    let passport = crate::analyze(&system, &options.place)?;
    let time = passport.time;
    let Ok(point) = &passport.point else {
        return Err(fault(
            format!("no consistent point was found at t = {time}"),
            "`daelight init` tells what stands against one",
        ));
    };
    let refused = |because: String| {
        fault(
            format!("there is no linear model at t = {time}: {because}"),
            "choose another point with --at or --point; `daelight analyze` tells more about this one",
        )
    };
    let separation = passport.separation().map_err(refused)?;
    let index = passport.indices();
    let index = index.and_then(|found| found.differentiation_index);
    let form = match separation {
        Separation::Structure(structure) => LinearForm::Structure(structure),
        Separation::Ranks {
            n_degrees_of_freedom,
        } => LinearForm::Array {
            order: index.unwrap_or(1),
            n_states: n_degrees_of_freedom,
        },
    };
    let sides = point.sides_of_time(&system);
    let mut jet = point.jet.clone();
    if options.at_rest {
        let near = Spot {
            time,
            jet: &jet,
            sides: &sides,
        };
        jet = at_rest(&system, near, form.n_coefficients())?;
    }
    let n = model.unknowns.len();
    let rows: Vec<usize> = (0..inputs.len())
        .map(|k| model.equations.len() + k)
        .collect();
    let at = Spot {
        time,
        jet: &jet,
        sides: &sides,
    };
    if let Some(switch) = switch_at(&system, at) {
        return Err(on_switch(time, &switch));
    }
    let found = linear_model(&system, &form, at, &rows, &outputs).map_err(refused)?;
    let decides = spectrum(&system, separation, at).is_ok_and(|found: Spectrum| found.is_decisive);
    let is_at_rest = is_at_rest(&system, &jet);
    Ok(Linearization {
        zeros: zeros(&released, &outputs, inputs.len(), at, &options.place),
        descriptor: descriptor(&system, (n, model.equations.len()), at),
        values: jet.values().to_vec(),
        inputs: (n..n + inputs.len()).collect(),
        outputs,
        is_at_rest,
        decides: decides || is_at_rest,
        switch: switch_at(&system, Spot::plain((time, &jet))),
        model: found,
        time,
        system,
    })
}

/// Whether nothing moves at a point; rates are as exact as the point.
fn is_at_rest(system: &System, jet: &TaylorJet) -> bool {
    (0..system.unknowns().len()).all(|j| {
        jet.derivative(j, 1).abs() <= f64::EPSILON.sqrt() * jet.derivative(j, 0).abs().max(1.0)
    })
}

impl Linearization {
    /// What to declare as an input where a model has none: a path that its text prescribes, or anything where nothing can change.
    pub fn what_could_drive(&self) -> Option<String> {
        if !self.inputs.is_empty() {
            return None;
        }
        let prescribed = self.system.structure().ok().map(|structure| {
            Prescribed::new(
                self.system.equations(),
                structure,
                &structure.offsets().equation,
            )
        });
        let (names, equations) =
            prescribed.map_or_else(Default::default, |found| (found.names, found.equations));
        let to_see = "to see how the other unknowns follow it";
        if let (Some(&(name, _)), false) = (names.first(), equations.is_empty()) {
            let name = &self.system.unknowns()[name].name;
            return Some(format!(
                "There is no input: the text prescribes `{name}` as a function of time. Declare it `input Real {name} = …;` instead of its equation, {to_see}."
            ));
        }
        if let Some(&equation) = equations.first() {
            let text = self.system.equation_text(equation);
            return Some(format!(
                "There is no input: `{text}` prescribes a motion. Declare its function of time as an input, `input Real path = …;`, {to_see}."
            ));
        }
        self.model.states.is_empty().then(|| {
            "Nothing can change here: there are no states and no inputs. Declare a force or a path as an input, such as `input Real u = 0;`."
                .to_string()
        })
    }
}

/// The finite eigenvalues of the model with its outputs prescribed, section 4.
fn zeros(
    released: &Model,
    outputs: &[usize],
    n_inputs: usize,
    at: Spot<'_>,
    place: &Place,
) -> Result<Vec<FiniteEigenvalue>, String> {
    if outputs.len() != n_inputs || n_inputs == 0 {
        return Err("zeros are those of as many outputs as inputs".to_string());
    }
    let mut inverse = released.clone();
    inverse.prescribe_instead(outputs);
    let system = System::new(&inverse).map_err(|error| error.to_string())?;
    system
        .structure()
        .map_err(|_| "the inputs do not act on the outputs".to_string())?;
    let passport = crate::analyze(&system, place).map_err(|found| found.message)?;
    let found = spectrum(&system, passport.separation()?, at)?;
    Ok(found.eigenvalues)
}

/// The switch that a point lies on, where the equations or their derivatives are not the same on both sides.
fn switch_at(system: &System, at: Spot<'_>) -> Option<String> {
    let kink = at.evaluator(system).kink()?;
    let (left, right) = match system.equations().graph().node(kink.expr) {
        Node::Unary(_, a) => (a, None),
        Node::Binary(_, a, b) => (a, Some(b)),
        _ => return None,
    };
    let text = |expr| system.text(expr, 80).unwrap_or_else(|| "…".to_string());
    Some(format!(
        "{} = {}",
        text(left),
        right.map_or("0".to_string(), text)
    ))
}

/// E, A and B of the written equations, coefficients of the point.
fn descriptor(system: &System, (n, m): (usize, usize), at: Spot<'_>) -> [Vec<Vec<f64>>; 3] {
    let mut evaluator = at.evaluator(system);
    let all = system.unknowns().len();
    let mut found = [
        vec![vec![0.0; n]; m],
        vec![vec![0.0; n]; m],
        vec![vec![0.0; all - n]; m],
    ];
    if evaluator.jacobians().is_err() {
        return found;
    }
    for derivative in 0..2 {
        for (i, j, at) in system.equations().pattern(derivative).iter() {
            let value = evaluator.entry(derivative, at);
            match (derivative, i < m, j < n) {
                (1, true, true) => found[0][i][j] += value,
                (0, true, true) => found[1][i][j] -= value,
                (0, true, false) => found[2][i][j - n] -= value,
                _ => {}
            }
        }
    }
    found
}
