//! The gradient of a run with events: derivatives are carried forwards, section 7 of `docs/theory/sensitivities.md`, and added.

use super::{Gradient, Loss, fault, refused};
use crate::SolveOptions;
use crate::hybrid::HybridEnd;
use crate::sensitivity::{directions, sensitivities_with_events, take_values};
use daelight_analysis::System;
use daelight_expr::{ExprId, Walker};
use daelight_lang::{Diagnostic, Model, MovedBy, Symbol};

pub(super) fn gradient(
    model: &Model,
    given: &System,
    options: &SolveOptions,
    loss: &Loss,
    names: &[String],
) -> Result<Gradient, Box<Diagnostic>> {
    let (mut model, mut system) = (model.clone(), given.clone());
    model.stop_when = None;
    if let Loss::Integral(of) = *loss {
        model = model.with_integral(of);
        let signals = given.equations().symbols().signals().to_vec();
        system = System::driven(&model, signals).map_err(crate::analyze::system_error)?;
        take_values(&mut system, given);
    }
    let (run, found) = sensitivities_with_events(&model, &system, options, names)?;
    if !matches!(run.end, HybridEnd::Finished) {
        return Err(refused(format!("it ends at t = {}", run.reached)));
    }
    if let Some(why) = &found.ended {
        return Err(refused(format!(
            "its derivatives end at t = {}: {why}",
            found.until
        )));
    }
    let wanted = directions(&model, &system, names)?;
    let none = |time: f64| refused(format!("there are no derivatives at t = {time}"));
    let mut reader = found.reader();
    let mut at = |time: f64| found.at(&mut reader, time).ok_or_else(|| none(time));
    let end = run.reached;
    let (mut value, mut sum) = (0.0, vec![0.0; wanted.len()]);
    match loss {
        Loss::Integral(_) => {
            let last = model.unknowns.len() - 1;
            value = run.last[last];
            sum = at(end)?.iter().map(|part| part[last]).collect();
        }
        Loss::Final(expr) => {
            let rates = crate::sensitivity::rates_of(&model, &system, &wanted);
            let parts = at(end)?;
            let number = Number::new(&mut model, *expr)?;
            let point = (end, &run.last[..], &run.parameters[..]);
            value = number.value(&model, point);
            for (k, part) in parts.iter().enumerate() {
                sum[k] = number.change(&model, point, (part, &rates[k]));
            }
        }
        Loss::Squares(samples) => {
            for &(time, unknown, wanted) in samples {
                let seen = run.look(time).map_err(refused)?.0;
                let apart = seen[unknown] - wanted;
                value += apart * apart;
                for (total, part) in sum.iter_mut().zip(at(time)?) {
                    *total += 2.0 * apart * part[unknown];
                }
            }
        }
    }
    let by = |direction: &MovedBy| model.direction_name(*direction);
    Ok(Gradient {
        value,
        by: wanted.iter().map(by).collect(),
        gradient: sum,
        time: end,
        n_steps: run
            .legs
            .iter()
            .map(|leg| leg.trajectory.segments().len())
            .sum(),
        n_adjoint_steps: 0,
        warnings: found.warnings.clone(),
    })
}

/// An expression of values at the end, with its slopes.
struct Number {
    expr: ExprId,
    slopes: Vec<(Symbol, ExprId)>,
}

/// A time, values of the unknowns, and values of the parameters.
type At<'a> = (f64, &'a [f64], &'a [f64]);

impl Number {
    fn new(model: &mut Model, expr: ExprId) -> Result<Self, Box<Diagnostic>> {
        let along = Walker::new().symbols(&model.graph, &[expr]);
        let strange = along
            .iter()
            .map(|&id| model.symbols.get(id))
            .find(|symbol| {
                matches!(symbol, Symbol::Input { .. })
                    || matches!(symbol, Symbol::Unknown { order, .. } if *order > 0)
            });
        if strange.is_some() {
            let message = "the number holds an input or a derivative, and the model has events";
            return Err(fault(
                message.to_string(),
                "give it a variable of its own in the model",
            ));
        }
        let slopes = model.graph.gradient(expr, &along);
        let along = along.into_iter().map(|id| model.symbols.get(id));
        Ok(Self {
            expr,
            slopes: along.zip(slopes).collect(),
        })
    }

    fn values(model: &Model, exprs: &[ExprId], (time, unknowns, parameters): At<'_>) -> Vec<f64> {
        model
            .graph
            .evaluate(exprs, |id| match model.symbols.get(id) {
                Symbol::Time => time,
                Symbol::Parameter(p) => parameters[p],
                Symbol::Unknown { unknown, .. } => unknowns[unknown],
                Symbol::Input { .. } => f64::NAN,
            })
    }

    fn value(&self, model: &Model, at: At<'_>) -> f64 {
        Self::values(model, &[self.expr], at)[0]
    }

    /// How it changes where unknowns and parameters do.
    fn change(&self, model: &Model, at: At<'_>, (part, rates): (&[f64], &[f64])) -> f64 {
        let exprs: Vec<ExprId> = self.slopes.iter().map(|(_, slope)| *slope).collect();
        let slopes = Self::values(model, &exprs, at);
        let terms = self.slopes.iter().zip(slopes);
        let terms = terms.map(|((symbol, _), slope)| match *symbol {
            Symbol::Unknown { unknown, .. } => slope * part[unknown],
            Symbol::Parameter(p) => slope * rates[p],
            _ => 0.0,
        });
        terms.sum()
    }
}
