//! Many runs of the same equations side by side, each with its own parameters, start, steps and end: section 4 of
//! `docs/theory/ensembles.md`.
//!
//! A pack holds one number of each of several runs, and every operation of a step is done for all of them at once. A run that meets
//! anything but an ordinary step leaves the pack: it is for a single run to say what that is. Its place is taken by the next one.

mod drive;
mod known;
mod linear;
mod pack;
mod plan;
mod program;
mod solve;

use crate::options::{OnSingularity, Options};
use crate::problem::Problem;
use crate::trajectory::Trajectory;
use drive::Drive;

/// A run that is to be done beside others.
#[derive(Clone, Debug)]
pub struct LaneStart {
    /// What tells it from the others.
    pub number: usize,
    /// Where it begins.
    pub time: f64,
    /// Where it is to end.
    pub end: f64,
    /// A consistent point: coefficients `[order][unknown]` up to the greatest offset.
    pub point: Vec<f64>,
    /// The values of its parameters.
    pub parameters: Vec<f64>,
}

/// A run that came to its end, or left the others.
#[derive(Clone, Debug)]
pub struct LaneEnd {
    /// What tells it from the others.
    pub number: usize,
    /// The values of its parameters.
    pub parameters: Vec<f64>,
    /// The solution up to its end, or what it met that only a single run can tell.
    pub reached: Result<LaneReached, &'static str>,
}

/// What a run beside others came to.
#[derive(Clone, Debug)]
pub struct LaneReached {
    /// The pieces of the solution, or the last one alone.
    pub trajectory: Trajectory,
    /// Number of steps.
    pub n_steps: usize,
}

/// How runs are done side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneSettings {
    /// How many runs share a pack: 8 or 16.
    pub width: usize,
    /// Whether all pieces of the solutions are kept, not the last ones alone.
    pub is_dense: bool,
}

impl Default for LaneSettings {
    fn default() -> Self {
        Self {
            width: 16,
            is_dense: false,
        }
    }
}

/// Hands out the next run, if there is one.
pub type LaneFeed<'f> = dyn FnMut() -> Option<LaneStart> + 'f;

/// Takes a run that came to its end, or left; false if no more are wanted.
pub type LaneDone<'f> = dyn FnMut(LaneEnd) -> bool + 'f;

/// Does runs side by side until there are no more; false if the equations or the options are such that none can be.
///
/// The parameters of the problem do not count, and neither does the end of the options: each run has its own.
pub fn solve_many(
    problem: &Problem,
    options: &Options,
    settings: LaneSettings,
    feed: &mut LaneFeed<'_>,
    done: &mut LaneDone<'_>,
) -> bool {
    match settings.width {
        ..=8 => run::<8>(problem, options, settings, feed, done),
        _ => run::<16>(problem, options, settings, feed, done),
    }
}

/// Whether runs of a problem can be done side by side: polynomials, quotients, roots and functions of unknowns, in blocks that are
/// inverted. Branches, signals and functions of time are looked at one run at a time.
pub fn suits(problem: &Problem, options: &Options) -> bool {
    can_be(problem, options) && Drive::<8>::new(problem, options, LaneSettings::default()).is_some()
}

fn can_be(problem: &Problem, options: &Options) -> bool {
    problem.forcing().is_empty()
        && problem.n() > 0
        && options.on_singularity == OnSingularity::Stop
        && options.watch.is_none()
        && options.nudge == 0.0
}

fn run<const W: usize>(
    problem: &Problem,
    options: &Options,
    settings: LaneSettings,
    feed: &mut LaneFeed<'_>,
    done: &mut LaneDone<'_>,
) -> bool {
    let drive = can_be(problem, options).then(|| Drive::<W>::new(problem, options, settings));
    let Some(mut drive) = drive.flatten() else {
        return false;
    };
    drive.run(feed, done);
    true
}
