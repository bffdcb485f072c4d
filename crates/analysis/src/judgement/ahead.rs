//! Whether a solution stays in a singular set, or only begins there; section 4 of `docs/theory/structure.md`.

use crate::System;
use crate::dae::Regularity;
use crate::initial::{ConsistentPoint, Request, StageOffsets, consistent_point, nominal};
use crate::tolerances::{BESIDE, LONG_STEP};
use std::time::Instant;

/// Whether the system Jacobian is regular a little later on the solution through a point at which it is singular.
///
/// The coefficients of a jet that are looked at can be those of a solution in the set: x = t^6 rests up to order 5. The equations at
/// a later time know better.
pub(super) fn leaves_the_set(
    system: &System,
    point: &ConsistentPoint,
    request: &Request,
    unit: f64,
    deadline: Instant,
) -> bool {
    let dae = system.dae();
    let offsets = dae.sound().map(StageOffsets::of);
    let sizes = nominal(system);
    let n_orders = (point.order + 1).min(point.jet.n_orders());
    let is_regular = |step: f64| {
        let expected = |unknown: usize| {
            let coefficients = (0..n_orders).rev();
            coefficients.fold(0.0, |sum, k| sum * step + point.jet.get(unknown, k))
        };
        let guess: Vec<f64> = (0..point.jet.n_unknowns()).map(expected).collect();
        let ahead = Request {
            time: point.time + step,
            guess: guess.clone(),
            given: Vec::new(),
            conditions: Vec::new(),
            order: request.order,
            budget: deadline.saturating_duration_since(Instant::now()),
        };
        let Ok(found) = consistent_point(system, offsets, &ahead) else {
            return false;
        };
        // What is not differentiated follows from the rest, and is known to less.
        let differentiated = system.equations().pattern(1).columns();
        let is_near = |(unknown, value): (usize, &f64)| {
            let moved = (found.jet.get(unknown, 0) - value).abs();
            !differentiated.contains(&(unknown as u32))
                || moved <= LONG_STEP * value.abs().max(sizes[unknown])
        };
        let standing = || dae.standing_at(ahead.time, &found.jet);
        !found.structure_fails
            && guess.iter().enumerate().all(is_near)
            && matches!(standing(), Some(Regularity::Regular))
            && dae.is_certain_at(ahead.time, &found.jet)
    };
    // Two steps a decade, from a tenth of the unit of time to ten.
    [0.0, 0.5, 1.0, 1.5, 2.0].into_iter().any(|decades: f64| {
        let part = BESIDE.sqrt() * 10_f64.powf(decades);
        Instant::now() < deadline && is_regular(part * unit)
    })
}
