//! Inverse dynamics verified: the forces that an inverse model finds drive a forward model, and its motion is compared
//! with the one prescribed.

use crate::analyze::Place;
use crate::samples::NamedRows;
use crate::signals::{InputColumn, drive};
use crate::solve::{NoRun, Solution, SolveOptions, solve_announced};
use crate::zero_dynamics::ZeroDynamics;
use daelight_analysis::System;
use daelight_analysis::prescribed::Prescribed;
use daelight_expr::Walker;
use daelight_integrate::StopReason;
use daelight_lang::{Code, Diagnostic, Model, Symbol};
use daelight_show::short;

/// What a verification is asked for.
#[derive(Clone, Debug)]
pub struct FeedforwardOptions {
    /// Options of both runs.
    pub solve: SolveOptions,
    /// Samples through which the forces are splined.
    pub n_samples: usize,
    /// Times at which the motions are compared.
    pub n_points: usize,
}

/// Both runs and how far the motion is from the prescribed one.
pub struct Feedforward {
    /// The run of the inverse model.
    pub inverse: Solution,
    /// The equations of the forward model, driven by the forces found.
    pub forward_system: System,
    /// Its run.
    pub forward: Solution,
    /// The inputs of the forward model that are unknowns of the inverse one.
    pub inputs: Vec<String>,
    /// Times at which the motions were compared.
    pub times: Vec<f64>,
    /// The values of the inputs at these times.
    pub forces: Vec<Vec<f64>>,
    /// The motions that could be compared.
    pub paths: Vec<PathError>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

impl Feedforward {
    /// Forces and errors over time, with the names of their columns.
    pub fn table(&self) -> NamedRows {
        let errors = (1..=self.paths.len()).map(|k| format!("error {k}"));
        let names: Vec<String> = self.inputs.iter().cloned().chain(errors).collect();
        let row = |(k, time): (usize, &f64)| {
            let errors = self.paths.iter().map(|path| path.errors[k]);
            (
                *time,
                self.forces[k].iter().copied().chain(errors).collect(),
            )
        };
        let rows: Vec<(f64, Vec<f64>)> = self.times.iter().enumerate().map(row).collect();
        (names, rows)
    }
}

/// How far a prescribed motion is missed.
#[derive(Clone, Debug)]
pub struct PathError {
    /// The equation of the inverse model that prescribes it.
    pub equation: usize,
    /// By how much the forward run misses it at each time, in the unit of the equation.
    pub errors: Vec<f64>,
}

impl PathError {
    /// Position of the largest error.
    pub fn worst(&self) -> Option<usize> {
        let sizes = self.errors.iter().map(|error| error.abs());
        let largest = sizes.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        largest.map(|(at, _)| at)
    }
}

/// Why there is no verification.
pub enum NoFeedforward {
    /// The models do not fit together, or one of them is at fault.
    Fault(Box<Diagnostic>),
    /// The inverse model has no run.
    Inverse(NoRun),
    /// The forward model has no run; its equations tell the names.
    Forward(Box<System>, NoRun),
    /// The inverse run ended before its end.
    Ended(Box<Solution>),
}

/// Solves an inverse model, feeds its forces to a forward model from the same start, and compares the motions.
///
/// An input of the forward model takes its values from the unknown of the inverse model with the same name. The motions
/// compared are the equations of the inverse model that hold the time and are differentiated; the values of the forward run
/// are put into them by name.
pub fn feedforward(
    inverse: &System,
    forward: &Model,
    options: &FeedforwardOptions,
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Feedforward, NoFeedforward> {
    let inputs = shared_inputs(inverse, forward).map_err(NoFeedforward::Fault)?;
    let of_inverse = SolveOptions {
        is_inverse: true,
        ..options.solve.clone()
    };
    let solution =
        solve_announced(inverse, &of_inverse, announce).map_err(NoFeedforward::Inverse)?;
    if !matches!(solution.run.stop, StopReason::Finished) {
        return Err(NoFeedforward::Ended(Box::new(solution)));
    }
    let (from, to) = (solution.from, solution.reached());
    let columns = samples(inverse, &solution, &inputs, options.n_samples);
    let driven = drive(forward, &columns).map_err(NoFeedforward::Fault)?;
    let forward_system = driven.system;
    let start = solution.start.jet.values();
    let names = inverse
        .unknowns()
        .iter()
        .map(|unknown| unknown.name.clone());
    let wanted = SolveOptions {
        from: Some(from),
        to: Some(to),
        rtol: Some(solution.rtol),
        place: Place {
            values: names.zip(start.iter().copied()).collect(),
            ..Place::default()
        },
        ..options.solve.clone()
    };
    let forward = match solve_announced(&forward_system, &wanted, &mut |_| {}) {
        Ok(run) => run,
        Err(no_run) => return Err(NoFeedforward::Forward(Box::new(forward_system), no_run)),
    };
    let reached = forward.reached();
    let n = options.n_points.max(2);
    let times: Vec<f64> = (0..n)
        .map(|k| from + (reached - from) * k as f64 / (n - 1) as f64)
        .collect();
    let mut warnings = driven.warnings;
    warnings.extend(values_set_aside(&forward_system, &forward));
    let (paths, forces) = compare(
        inverse,
        &solution,
        &forward_system,
        &forward,
        &inputs,
        &times,
        &mut warnings,
    );
    Ok(Feedforward {
        inverse: solution,
        forward_system,
        forward,
        inputs,
        times,
        forces,
        paths,
        warnings,
    })
}

/// Says which values the forward model fixes and does not start from, since it starts where the inverse model does.
fn values_set_aside(system: &System, run: &Solution) -> Option<String> {
    let values = run.start.jet.values();
    let moved: Vec<String> = (system.unknowns().iter().zip(values))
        .filter(|(info, _)| info.fixed)
        .filter_map(|(info, value)| Some((&info.name, info.start?, *value)))
        .filter(|(_, fixed, value)| (fixed - value).abs() > run.rtol * value.abs().max(1.0))
        .map(|(name, fixed, value)| {
            format!("{name} = {} instead of {}", short(value), short(fixed))
        })
        .collect();
    (!moved.is_empty()).then(|| {
        format!(
            "The values that {} fixes do not count here: {}.",
            system.name(),
            moved.join(", ")
        )
    })
}

/// Inputs of the forward model that are unknowns of the inverse one; there must be some, and none may be left open.
fn shared_inputs(inverse: &System, forward: &Model) -> Result<Vec<String>, Box<Diagnostic>> {
    let is_unknown = |name: &str| inverse.unknowns().iter().any(|u| u.name == name);
    let inputs = forward.inputs.iter().map(|input| input.name.clone());
    let shared: Vec<String> = inputs.filter(|name| is_unknown(name)).collect();
    if shared.is_empty() {
        let message = format!(
            "no input of {} is an unknown of {}",
            forward.name,
            inverse.name()
        );
        return Err(Box::new(
            Diagnostic::placeless(Code::UnknownInput, message).help(
                "declare the forces as inputs of the forward model, as in `input Real F;`, under their names in the inverse one",
            ),
        ));
    }
    Ok(shared)
}

/// Values of some unknowns at equally spaced times of a run.
fn samples(system: &System, solution: &Solution, names: &[String], n: usize) -> Vec<InputColumn> {
    let (from, to) = (solution.from, solution.reached());
    let mut reader = solution.reader(system);
    let time = |k: usize| match k + 1 == n {
        true => to,
        false => from + (to - from) * k as f64 / (n - 1) as f64,
    };
    let times: Vec<f64> = (0..n).map(time).collect();
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
    for &time in &times {
        let missing = || vec![f64::NAN; system.unknowns().len()];
        rows.push(reader.values(time).ok().flatten().unwrap_or_else(missing));
    }
    let place = |name: &String| system.unknowns().iter().position(|u| u.name == *name);
    let places = names.iter().filter_map(|name| Some((name, place(name)?)));
    places
        .map(|(name, place)| InputColumn {
            input: name.clone(),
            name: name.clone(),
            source: "the inverse run".to_string(),
            times: times.clone(),
            values: rows.iter().map(|row| row[place]).collect(),
        })
        .collect()
}

/// The equations whose errors are told: prescribed motions, and what the inverse model holds in place without the time, such as the
/// height of a horizontal line, where the forward model does not say the same.
fn compared(inverse: &System, forward: &System, prescribed: &Prescribed) -> Vec<usize> {
    let equations = inverse.equations();
    let is_rate = |equation: usize| !equations.pattern(1).row(equation).is_empty();
    let Ok(structure) = inverse.structure() else {
        return Vec::new();
    };
    let times = &structure.offsets().equation;
    let kept: Vec<String> = (0..forward.equations().n_equations())
        .map(|equation| forward.equation_text(equation))
        .collect();
    let is_held = |equation: usize| {
        let is_name = prescribed.names.iter().any(|(_, by)| *by == equation);
        times[equation] > 0
            && !is_rate(equation)
            && !is_name
            && !kept.contains(&inverse.equation_text(equation))
    };
    (0..equations.n_equations())
        .filter(|equation| prescribed.equations.contains(equation) || is_held(*equation))
        .collect()
}

/// The residuals of the prescribed motions with the values of the forward run, and the forces.
fn compare(
    inverse: &System,
    inverse_run: &Solution,
    forward: &System,
    forward_run: &Solution,
    inputs: &[String],
    times: &[f64],
    warnings: &mut Vec<String>,
) -> (Vec<PathError>, Vec<Vec<f64>>) {
    let equations = inverse.equations();
    let place = |name: &str| forward.unknowns().iter().position(|u| u.name == name);
    let places: Vec<Option<usize>> = inverse.unknowns().iter().map(|u| place(&u.name)).collect();
    let mut paths = Vec::new();
    let Ok(structure) = inverse.structure() else {
        return (paths, Vec::new());
    };
    let prescribed = Prescribed::new(equations, structure, &structure.offsets().equation);
    for equation in compared(inverse, forward, &prescribed) {
        let residual = &equations.residuals()[equation..=equation];
        let symbols = Walker::new().symbols(equations.graph(), residual);
        let is_known = |symbol: Symbol| match symbol {
            Symbol::Unknown { unknown, order } => {
                order == 0 && (places[unknown].is_some() || prescribed.is_name(unknown))
            }
            _ => true,
        };
        if symbols
            .into_iter()
            .all(|id| is_known(equations.symbols().get(id)))
        {
            paths.push(PathError {
                equation,
                errors: Vec::with_capacity(times.len()),
            });
        } else {
            warnings.push(format!(
                "The motion of `{}` was not compared: the forward model lacks some of its unknowns.",
                inverse.equation_text(equation)
            ));
        }
    }
    let mut evaluator = inverse.evaluator();
    let (mut here, mut there) = (inverse_run.reader(inverse), forward_run.reader(forward));
    let mut residuals = vec![0.0; equations.n_equations()];
    let forces_at: Vec<usize> = inputs
        .iter()
        .filter_map(|name| inverse.unknowns().iter().position(|u| u.name == *name))
        .collect();
    let mut forces = Vec::with_capacity(times.len());
    for &time in times {
        let planned = here.values(time).ok().flatten();
        let reached = there.values(time).ok().flatten();
        let (Some(mut values), Some(reached)) = (planned, reached) else {
            paths.iter_mut().for_each(|path| path.errors.push(f64::NAN));
            forces.push(vec![f64::NAN; forces_at.len()]);
            continue;
        };
        forces.push(forces_at.iter().map(|&j| values[j]).collect());
        for (value, place) in values.iter_mut().zip(&places) {
            if let Some(place) = place {
                *value = reached[*place];
            }
        }
        evaluator.set_time(time);
        evaluator.set(0, &values);
        let known = evaluator.residuals(&mut residuals).is_ok();
        for path in &mut paths {
            let error = if known {
                residuals[path.equation]
            } else {
                f64::NAN
            };
            path.errors.push(error);
        }
    }
    (paths, forces)
}
