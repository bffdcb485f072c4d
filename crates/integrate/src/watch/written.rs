//! Values at the time of a switch itself: those with which the equations hold there as they are written.
//!
//! (R26), section 5 of `docs/theory/runs.md`.

use super::sides::{Way, decisive, leave, side_of};
use crate::problem::Problem;
use crate::stages::Stages;
use crate::tolerances::CONFIRM_WIDTH;
use daelight_expr::{Slot, Walker};
use std::cmp::Ordering;

/// Whether time and parameters alone decide each branch: it switches at a number, and not within an accuracy.
pub(crate) fn of_time(problem: &Problem) -> Vec<bool> {
    let equations = problem.equations();
    let graph = equations.graph();
    let mut walker = Walker::new();
    let branches = problem.residual_tape().branches();
    branches
        .map(|branch| {
            let read = walker.symbols(graph, &[branch]);
            let is_variable = |symbol| matches!(equations.slot(symbol), Slot::Variable { .. });
            !read.into_iter().any(is_variable)
        })
        .collect()
}

/// The number next to a located time, with the values there, at which the function of a branch is exactly zero; the located time if there
/// is none.
///
/// What the stages hold of series is lost.
pub(crate) fn exact_time(
    stages: &mut Stages<'_>,
    branch: usize,
    (time, point): (f64, &[f64]),
) -> f64 {
    let mut is_zero = |at: f64| {
        stages.set_point(at, point);
        stages.compare();
        stages.switching(branch, 0).0 == 0.0
    };
    let (mut below, mut above) = (time, time);
    while above - time <= CONFIRM_WIDTH * time.abs() {
        if let Some(&found) = [below, above].iter().find(|&&at| is_zero(at)) {
            return found;
        }
        (below, above) = (below.next_down(), above.next_up());
    }
    time
}

/// The point that the stages hold and have expanded, with those of some branches that move there on the sides that they have at its values;
/// `None` if these are the sides that are held, or if there is no such point.
///
/// Afterwards the stages hold what they held, and its series.
pub(crate) fn as_written(
    stages: &mut Stages<'_>,
    branches: &[usize],
    way: Way,
    series: &mut [f64],
) -> Option<Vec<f64>> {
    let held = stages.sides().to_vec();
    let other = |&branch: &usize| {
        let side = match side_of(stages.switching(branch, 0).0) {
            Ordering::Equal => stages.side_at_equality(branch),
            side => side,
        };
        let moves = stages.jumps(branch) && decisive(stages, branch, way).is_some();
        (moves && held[branch] != Ordering::Equal && side != held[branch]).then_some((branch, side))
    };
    let (changed, sides): (Vec<usize>, Vec<Ordering>) = branches.iter().filter_map(other).unzip();
    if changed.is_empty() {
        return None;
    }
    // A look at one instant, which is no part of the way.
    let statistics = stages.statistics;
    let time = stages.time();
    let mut before = vec![0.0; stages.n_point()];
    stages.point(&mut before);
    for (&branch, &side) in changed.iter().zip(&sides) {
        stages.choose(branch, side);
    }
    let mut found = None;
    // What jumps may take others along, through all of them at most.
    for _ in 0..=stages.n_branches() {
        stages.set_point(time, &before);
        if stages.factor().is_err() || stages.project(true).is_err() {
            break;
        }
        if !leave(stages, &changed, way) {
            let mut point = before.clone();
            stages.point(&mut point);
            found = Some(point);
            break;
        }
    }
    for (branch, &side) in held.iter().enumerate() {
        stages.choose(branch, side);
    }
    // The very point, not one next to it that is solved again.
    stages.set_point(time, &before);
    stages.compare();
    let back = stages.factor().and_then(|()| stages.expand(series));
    stages.statistics = statistics;
    found.filter(|point| back.is_ok() && *point != before)
}
