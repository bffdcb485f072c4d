//! Inputs whose equations are differentiated: they keep their names, and their derivatives become inputs of the reduced model.

use super::finish::{Names, declared};
use super::rows::Work;
use crate::judgement::MAX_ORDER;
use crate::system::System;
use daelight_expr::{ExprId, FastMap, Jet, JetEvaluator, Signal, Walker};
use daelight_lang::{DeclaredKind, Input, Model, Symbol};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The same equations with inputs as names: what they are worth and their derivatives near a time follow from their signals, section 5 of
/// `docs/theory/reduction.md`. `Err` names an input whose signal has no derivatives there.
pub fn with_inputs_kept(system: &System, inputs: &[usize], time: f64) -> Result<System, String> {
    let mut model = system.whole_model();
    let mut signals = Vec::with_capacity(inputs.len());
    for &input in inputs {
        let Some(signal) = system.signal(input) else {
            // One that nobody gives a signal rests at 0.
            signals.push((input, Arc::new(around(time, &[0.0]))));
            continue;
        };
        let coefficients =
            taylor(system, signal, time).ok_or_else(|| system.input_name(input).to_string())?;
        signals.push((input, Arc::new(around(time, &coefficients))));
        let written = model.inputs[input].definition;
        let held = Walker::new().symbols(&model.graph, written.as_slice());
        let is_input = |id| matches!(model.symbols.get(id), Symbol::Input { .. });
        if held.into_iter().any(is_input) {
            model.inputs[input].definition = Some(signal);
        }
    }
    let driven = System::driven(&model, signals).map_err(|error| error.to_string())?;
    Ok(driven.at_values_of(system))
}

/// A polynomial in the time from a middle; further away than a unit it rests.
fn around(middle: f64, coefficients: &[f64]) -> Signal {
    let knots = vec![middle - 1.0, middle + 1.0];
    Signal::new(knots, coefficients.len() - 1, coefficients.to_vec())
}

/// The Taylor coefficients of a function of time, as many as anything at a point looks at, twice: values beside it follow too.
fn taylor(system: &System, signal: ExprId, time: f64) -> Option<Vec<f64>> {
    let order = 2 * MAX_ORDER;
    let mut jet = Jet::new(Arc::new(system.equations().compile(&[signal])), order);
    let inputs = jet.inputs_mut();
    inputs
        .parameters_mut()
        .copy_from_slice(system.parameters().values());
    inputs.set_time(time);
    (0..=order).try_for_each(|k| jet.extend(k as i32)).ok()?;
    let coefficients: Vec<f64> = (0..=order).map(|k| jet.root(0, k)).collect();
    coefficients
        .iter()
        .all(|c| c.is_finite())
        .then_some(coefficients)
}

/// Declares the derivatives of inputs that expressions hold as inputs, each with the derivative of the signal; `images` tells where.
pub(super) fn declare_derivatives(
    work: &mut Work<'_>,
    model: &mut Model,
    roots: &[ExprId],
    images: &mut FastMap<Symbol, Symbol>,
) {
    let mut found = BTreeSet::new();
    for id in Walker::new().symbols(&work.graph, roots) {
        if let Symbol::Input { input, order } = work.symbols.get(id)
            && order > 0
        {
            found.insert((input, order));
        }
    }
    let mut names = Names::of(model);
    for (input, order) in found {
        let name = names.of_derivative(&model.inputs[input].name, order as usize);
        let mut definition = model.inputs[input].definition;
        for _ in 0..order {
            definition = definition.map(|expr| work.derivative(expr));
        }
        let first = model.inputs.len();
        let declaration = declared(model, name.clone(), DeclaredKind::Input, first);
        model.inputs.push(Input {
            name,
            definition,
            declaration,
        });
        let image = Symbol::Input {
            input: first,
            order: 0,
        };
        images.insert(Symbol::Input { input, order }, image);
    }
}
