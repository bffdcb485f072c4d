//! The way to a point by rewritten equations, where those of the model have no order to be solved in; section 2d of
//! `docs/theory/initial.md`.

use super::{ConsistentPoint, Finder, NoPoint, Request, StageOffsets};
use crate::System;
use crate::judgement::MAX_NUMERICAL;
use std::time::{Duration, Instant};

/// The consistent point that equations lead to which are rewritten so that their structure holds, after a search that ended without one.
///
/// The point is one of the equations as written: all rows of their array hold there.
pub(crate) fn by_rewriting(
    system: &System,
    request: &Request,
    end: &NoPoint,
    budget: Duration,
) -> Option<ConsistentPoint> {
    let deadline = Instant::now() + budget;
    let NoPoint::Stalled { jet, .. } = end else {
        return None;
    };
    if system.equations().n_unknowns() > MAX_NUMERICAL {
        return None;
    }
    let choice = system.dae().form_near(request.time, Some(jet), deadline);
    let repaired = choice.repair.repaired()?;
    let rewritten = system.rewritten(repaired)?;
    let structure = repaired.structure();
    let deepest = structure.offsets().equation.iter().max().copied();
    let left = || deadline.saturating_duration_since(Instant::now());
    let wanted = Request {
        order: request.order.max(deepest.unwrap_or(0)),
        budget: left(),
        ..request.clone()
    };
    let offsets = Some(StageOffsets::of(structure));
    let mut finder = Finder::new(&rewritten, offsets, wanted.time, wanted.order);
    let found = finder.closest(&wanted).ok()?;
    let there = Request {
        guess: found.jet.values().to_vec(),
        given: Vec::new(),
        budget: left(),
        ..request.clone()
    };
    let mut array = Finder::new(system, None, there.time, there.order);
    let point = array.closest(&there).ok()?;
    Some(ConsistentPoint {
        distance: found.distance,
        closeness: found.closeness,
        attempt: found.attempt,
        structure_fails: system.dae().sound().is_some(),
        ..point
    })
}
