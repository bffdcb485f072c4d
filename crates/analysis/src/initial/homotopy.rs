//! `homotopy(actual, simplified)` at the start: section 13 of `docs/theory/initial.md`.

use super::{Request, StageOffsets, consistent_point};
use crate::System;
use daelight_lang::Homotopy;
use std::time::Instant;

/// A start that was reached from the simplified equations.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Values of all unknowns.
    pub values: Vec<f64>,
    /// How many steps led there.
    pub n_steps: usize,
}

/// Leads from the start of the simplified equations to values that satisfy the actual ones; `None` where the model has no `homotopy`,
/// and where the way ends.
pub fn follow(system: &System, request: &Request) -> Option<Followed> {
    let deadline = Instant::now() + request.budget;
    let Homotopy { model, parameter } = system.model().homotopy.as_ref()?;
    let signals = system.equations().symbols().signals().to_vec();
    let mut led = System::driven(model, signals).ok()?;
    let names = |system: &System| -> Vec<String> {
        let unknowns = system.unknowns().iter();
        unknowns.map(|unknown| unknown.name.clone()).collect()
    };
    if names(&led) != names(system) {
        return None;
    }
    let own = system.parameters();
    let changes = (0..own.len()).filter_map(|at| {
        let place = led.parameters().find(own.name(at)).ok()?;
        let differs = led.parameters().values()[place] != own.values()[at];
        (differs && led.parameters().settable(place).is_ok()).then(|| (place, own.values()[at]))
    });
    let changes: Vec<(usize, f64)> = changes.collect();
    led.set_parameters(&changes).ok()?;
    let mut at = |share: f64, guess: Vec<f64>| {
        // Below 0 the actual expressions are not looked at: they need have no values there.
        let place = if share > 0.0 { share } else { -1.0 };
        led.set_parameters(&[(*parameter, place)]).ok()?;
        let request = Request {
            guess,
            budget: deadline.saturating_duration_since(Instant::now()),
            ..request.clone()
        };
        let offsets = led.structure().ok().map(StageOffsets::of);
        consistent_point(&led, offsets, &request).ok()
    };
    let mut values = at(0.0, request.guess.clone())?.jet.values().to_vec();
    let (mut share, mut step, mut n_steps) = (0.0, 1.0, 0);
    while share < 1.0 {
        let next = f64::min(1.0, share + step);
        // What another guess leads to is not on the way.
        match at(next, values.clone()).filter(|point| point.attempt == 0) {
            Some(point) => {
                values = point.jet.values().to_vec();
                (share, step) = (next, 2.0 * step);
                n_steps += 1;
            }
            None => step *= 0.5,
        }
        if step < f64::EPSILON.sqrt() || Instant::now() > deadline {
            return None;
        }
    }
    Some(Followed { values, n_steps })
}
