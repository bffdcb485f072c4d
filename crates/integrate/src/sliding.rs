//! Sliding motions: where both sides of a branch push back to its switching surface, the run goes on along the surface.
//!
//! The share of the two sides is one unknown more and the surface one equation more, which raises the index by one; the series do the
//! rest. The motion ends where the share leaves [0, 1]. Section 5 of `docs/theory/runs.md`.

use crate::options::{Options, Output, Watch, Watched};
use crate::outcome::{BudgetKind, Run, Slide, StopReason};
use crate::problem::Problem;
use crate::start::{Start, StartError};
use crate::taylor::Taylor;
use crate::trajectory::{SavedPoint, Trajectory};
use crate::watch::Isolation;
use daelight_expr::ExprId;
use std::sync::{Arc, Mutex, PoisonError};

/// Sliding motions of one run.
const MOST_SLIDES: usize = 10_000;

/// A motion ends where the share of a side is this far beyond 0 or 1: from there one side clearly pulls away. The time between is of no
/// account, since nothing moves off the surface at the very end.
const SHARE: f64 = 1e-6;

/// Runs from a start by some method, and along switching surfaces where the solution slides.
pub(crate) fn solve(
    problem: &Problem,
    start: &Start,
    options: &Options,
    method: &mut dyn FnMut(&Start, &Options) -> Result<Run, StartError>,
) -> Result<Run, StartError> {
    let mut run = method(start, options)?;
    let mut surfaces: Vec<(ExprId, Option<Problem>)> = Vec::new();
    for _ in 0..MOST_SLIDES {
        let StopReason::Chattering { time, expr } = run.stop else {
            break;
        };
        if !surfaces.iter().any(|(known, _)| *known == expr) {
            let equations = problem.equations().on_surface(expr);
            let made = equations.and_then(|e| Problem::new(&e, problem.parameters()).ok());
            surfaces.push((expr, made));
        }
        let surface = surfaces.iter().find(|(known, _)| *known == expr);
        let Some((slid, leaves)) = surface
            .and_then(|(_, surface)| surface.as_ref())
            .and_then(|surface| slide(problem, surface, &run, time, options))
        else {
            break;
        };
        let reached = slid.trajectory.span().map_or(time, |(_, end)| end);
        if leaves && reached == time {
            break;
        }
        join(&mut run, slid);
        run.slides.push(Slide {
            expr,
            from: time,
            to: reached,
        });
        if !leaves || reached == options.t_end {
            break;
        }
        let Some(start) = last_point(&run, problem, reached) else {
            break;
        };
        // What decides leaves its surface like a square: below the errors of other methods, so that the series go first.
        let first = Options {
            max_steps: 3,
            ..left(options, &run)
        };
        let mut away =
            Taylor::new(problem, &first).map_err(|error| StartError::NotFound(error.into()))?;
        join(&mut run, away.run(&start)?);
        if run.stop != StopReason::Budget(BudgetKind::Steps) {
            continue;
        }
        let reached = run.trajectory.span().map_or(reached, |(_, end)| end);
        let Some(start) = last_point(&run, problem, reached) else {
            break;
        };
        let next = method(&start, &left(options, &run))?;
        join(&mut run, next);
    }
    run.put_in_order();
    Ok(run)
}

/// What is left to be asked for.
fn left(options: &Options, run: &Run) -> Options {
    let mut options = options.clone();
    if let Output::Points(times) = &mut options.output {
        times.drain(..run.trajectory.points().len().min(times.len()));
    }
    let spent = run.statistics.steps + run.statistics.rejected;
    options.max_steps = options.max_steps.saturating_sub(spent).max(1);
    options
}

/// Adds a run that begins where another ends.
fn join(run: &mut Run, next: Run) {
    run.trajectory.append(&next.trajectory);
    run.stop = next.stop;
    run.singularities.extend(next.singularities);
    run.switches.extend(next.switches);
    run.slides.extend(next.slides);
    run.expected = next.expected;
    for (kept, level) in run.residuals.iter_mut().zip(&next.residuals) {
        *kept = kept.max(*level);
    }
    run.statistics += next.statistics;
}

/// The last point of a run, as a start of the equations without a surface.
fn last_point(run: &Run, problem: &Problem, time: f64) -> Option<Start> {
    let n = problem.n();
    let mut point = vec![0.0; (problem.max_unknown_offset() + 1) * n];
    let found = run.trajectory.coefficients(time, &mut point);
    found.then(|| {
        Start::new(
            time,
            point.chunks_exact(n.max(1)).map(<[f64]>::to_vec).collect(),
        )
    })
}

/// The motion along a surface from the end of a run, and whether it leaves the surface at its end; `None` if there is none.
fn slide(
    problem: &Problem,
    surface: &Problem,
    run: &Run,
    time: f64,
    options: &Options,
) -> Option<(Run, bool)> {
    let n = problem.n();
    let mut start = last_point(run, problem, time)?;
    for row in &mut start.coefficients {
        row.push(0.0);
    }
    start.coefficients[0][n] = 0.5;
    let mut sliding = left(options, run);
    // The share is of size 1; the other unknowns keep their tolerances.
    let rtol = sliding.tolerances.rtol;
    for row in &mut sliding.tolerances.atol {
        row.push(rtol);
    }
    let seen = Arc::new(Mutex::new(Seen::new(n)));
    let (shared, outer) = (Arc::clone(&seen), options.watch.clone());
    sliding.watch = Some(Watch::new(move |trajectory| {
        let mut seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
        seen.look(trajectory, outer.as_ref())
    }));
    let mut taylor = Taylor::new(surface, &sliding).ok()?;
    let mut found = taylor.run(&start).ok()?;
    let first = found.trajectory.segments().first()?.start;
    let mut share = vec![0.0; n + 1];
    found.trajectory.coefficients(first, &mut share);
    if !(-0.5 * SHARE..=1.0 + 0.5 * SHARE).contains(&share[n]) {
        return None;
    }
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    found.trajectory = found.trajectory.without_last(n);
    // Findings name equations and unknowns of the surface; those of the model come first.
    for point in &mut found.singularities {
        point.unknowns.retain(|&unknown| unknown < n);
        point.equations.retain(|&equation| equation < n);
        point.null_vector.truncate(point.unknowns.len());
    }
    Some((found, seen.left))
}

/// Looks at the share of the sides along a motion, and shows the rest of it to whoever watches the run.
struct Seen {
    n: usize,
    n_segments: usize,
    shown: Trajectory,
    isolation: Isolation,
    left: bool,
}

impl Seen {
    fn new(n: usize) -> Self {
        Self {
            n,
            n_segments: 0,
            shown: Trajectory::new(n, true),
            isolation: Isolation::default(),
            left: false,
        }
    }

    fn look(&mut self, trajectory: &Trajectory, outer: Option<&Watch>) -> Watched {
        let mut leaves = None;
        for k in self.n_segments..trajectory.segments().len() {
            let segment = trajectory.segments()[k];
            let rows = trajectory.series(k);
            let kept: Vec<f64> = rows
                .chunks_exact(self.n + 1)
                .flat_map(|row| row[..self.n].to_vec())
                .collect();
            self.shown.push(segment, &kept);
            let h = segment.end - segment.centre;
            if h == 0.0 {
                continue;
            }
            let mut power = 1.0;
            let share: Vec<f64> = rows
                .chunks_exact(self.n + 1)
                .map(|row| {
                    power *= h;
                    row[self.n] * power / h
                })
                .collect();
            let mut other: Vec<f64> = share.iter().map(|x| -x).collect();
            other[0] += 1.0;
            for mut function in [share, other] {
                function[0] += SHARE;
                self.isolation.find(&function, 0.0);
                if let Some(s) = self.isolation.leaves(1.0) {
                    let time = segment.centre + s * h;
                    let is_first = leaves.is_none_or(|held: f64| (time - held) * h < 0.0);
                    leaves = if is_first { Some(time) } else { leaves };
                }
            }
            if leaves.is_some() {
                break;
            }
        }
        self.n_segments = trajectory.segments().len();
        if let Some(time) = leaves {
            self.shown.end_at(time);
        }
        let asked = outer.map_or(Watched::GoOn, |watch| watch.ask(&self.shown));
        match (asked, leaves) {
            (Watched::GoOn, Some(time)) => {
                self.left = true;
                Watched::StopAt(time)
            }
            _ => asked,
        }
    }
}

impl Trajectory {
    /// The same without its last unknown.
    fn without_last(&self, n: usize) -> Self {
        let drop = |rows: &[f64]| -> Vec<f64> {
            let rows = rows.chunks_exact(n + 1);
            rows.flat_map(|row| row[..n].to_vec()).collect()
        };
        let mut without = Self::new(n, true);
        for (k, &segment) in self.segments().iter().enumerate() {
            without.push(segment, &drop(self.series(k)));
        }
        for point in self.points() {
            without.push_point(SavedPoint {
                time: point.time,
                coefficients: drop(&point.coefficients),
            });
        }
        if let Some((end, last)) = self.end().zip(self.segments().last()) {
            without.close(last.end, &drop(end));
        }
        without
    }
}
