//! Sliding motions: where both sides of a branch push back to its switching surface, the run goes on along the surface.
//!
//! The share of the two sides is one unknown more and the surface one equation more, which raises the index by one; the series do the
//! rest. The motion ends where the share leaves [0, 1], or comes to a further surface. Section 5 of `docs/theory/runs.md`.

use crate::options::{Options, Output, Watch, Watched};
use crate::outcome::{BudgetKind, Run, Slide, StopReason};
use crate::problem::Problem;
use crate::start::{Start, StartError};
use crate::taylor::Taylor;
use crate::trajectory::{SavedPoint, Segment, Trajectory};
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
    let mut surfaces = Surfaces {
        problem,
        known: Vec::new(),
    };
    // The surfaces that the run is on.
    let mut held: Vec<ExprId> = Vec::new();
    let mut n_idle = 0;
    for _ in 0..MOST_SLIDES {
        let StopReason::Chattering { time, expr, .. } = run.stop else {
            break;
        };
        // A surface that is left is one less; one that is come to is one more, or frees the run from the others.
        let tried = match held.iter().position(|&known| known == expr) {
            Some(_) => vec![held.clone()],
            None => vec![[&held[..], &[expr]].concat(), vec![expr]],
        };
        let legs = tried.into_iter();
        let Some(leg) = legs
            .filter_map(|on| surfaces.slide(on, &run, time, options))
            .next()
        else {
            break;
        };
        let reached = leg.run.trajectory.span().map_or(time, |(_, end)| end);
        // At one time each branch is entered and left once at most.
        n_idle = if reached == time { n_idle + 1 } else { 0 };
        if n_idle > 2 * problem.residual_tape().branches().count() {
            break;
        }
        let is_further = matches!(leg.run.stop, StopReason::Chattering { .. });
        if reached == time && (is_further || leg.left.is_some()) {
            // Nothing but the reason: a further surface, or a share that leaves at once.
            run.stop = leg.run.stop;
        } else {
            join(&mut run, leg.run);
            stretch(&mut run.slides, &leg.on, time, reached);
        }
        held = leg.on;
        let Some(left) = leg.left.filter(|_| reached != options.t_end) else {
            // The run is at its end, or at a further surface.
            continue;
        };
        held.remove(left);
        if let Some(&expr) = held.first() {
            run.stop = StopReason::Chattering {
                time: reached,
                expr,
                leads_back: true,
            };
            continue;
        }
        away(problem, &mut run, reached, options, method)?;
    }
    run.put_in_order();
    Ok(run)
}

/// Tells of the surfaces of a leg, which may have been those of the last.
fn stretch(slides: &mut Vec<Slide>, on: &[ExprId], from: f64, to: f64) {
    for &expr in on {
        let same = |slide: &&mut Slide| slide.expr == expr && slide.to == from;
        match slides.iter_mut().find(same) {
            Some(slide) => slide.to = to,
            None => slides.push(Slide { expr, from, to }),
        }
    }
}

/// Goes on from the last surface that was left.
fn away(
    problem: &Problem,
    run: &mut Run,
    time: f64,
    options: &Options,
    method: &mut dyn FnMut(&Start, &Options) -> Result<Run, StartError>,
) -> Result<(), StartError> {
    let Some(start) = last_point(run, problem, time) else {
        return Ok(());
    };
    // What decides leaves its surface like a square: below the errors of other methods, so that the series go first.
    let first = Options {
        max_steps: 3,
        ..left(options, run)
    };
    let mut away =
        Taylor::new(problem, &first).map_err(|error| StartError::NotFound(error.into()))?;
    join(run, away.run(&start)?);
    if run.stop != StopReason::Budget(BudgetKind::Steps) {
        return Ok(());
    }
    let reached = run.trajectory.span().map_or(time, |(_, end)| end);
    if let Some(start) = last_point(run, problem, reached) {
        let next = method(&start, &left(options, run))?;
        join(run, next);
    }
    Ok(())
}

/// The equations on each set of surfaces that a run came to.
struct Surfaces<'a> {
    problem: &'a Problem,
    /// `None` where there are none.
    known: Vec<(Vec<ExprId>, Option<Surface>)>,
}

/// The equations on some surfaces, and what the branches of the model have become there.
struct Surface {
    problem: Problem,
    branches: Vec<ExprId>,
}

/// A motion along some surfaces, and the one that it leaves at its end.
struct Leg {
    on: Vec<ExprId>,
    run: Run,
    left: Option<usize>,
}

impl Surfaces<'_> {
    /// The motion along some surfaces from the end of a run; `None` if there is none.
    fn slide(&mut self, on: Vec<ExprId>, run: &Run, time: f64, options: &Options) -> Option<Leg> {
        let branches: Vec<ExprId> = self.problem.residual_tape().branches().collect();
        let known = self.known.iter().position(|(known, _)| *known == on);
        let known = known.unwrap_or_else(|| {
            let equations = self.problem.equations().on_surfaces(&on, &branches);
            let made = equations.and_then(|(equations, branches)| {
                let problem = Problem::new(&equations, self.problem.parameters()).ok()?;
                if !problem.holds_anywhere() {
                    return None;
                }
                Some(Surface { problem, branches })
            });
            self.known.push((on.clone(), made));
            self.known.len() - 1
        });
        let surface = self.known[known].1.as_ref()?;
        let (mut run, left) = slide(self.problem, &surface.problem, run, time, options)?;
        // Branches are told as those of the model.
        let own = |expr: ExprId| surface.branches.iter().position(|&image| image == expr);
        for switch in &mut run.switches {
            if let Some(branch) = own(switch.expr) {
                (switch.branch, switch.expr) = (branch, branches[branch]);
            }
        }
        if let StopReason::Chattering { expr, .. } | StopReason::Ambiguous { expr, .. } =
            &mut run.stop
            && let Some(branch) = own(*expr)
        {
            *expr = branches[branch];
        }
        Some(Leg { on, run, left })
    }
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

/// The motion along surfaces from the end of a run, and the one that it leaves at its end; `None` if there is none.
fn slide(
    problem: &Problem,
    surface: &Problem,
    run: &Run,
    time: f64,
    options: &Options,
) -> Option<(Run, Option<usize>)> {
    let (n, n_all) = (problem.n(), surface.n());
    let mut start = last_point(run, problem, time)?;
    for row in &mut start.coefficients {
        row.resize(n_all, 0.0);
    }
    start.coefficients[0][n..].fill(0.5);
    let mut sliding = left(options, run);
    // The shares are of size 1; the other unknowns keep their tolerances.
    let rtol = sliding.tolerances.rtol;
    for row in &mut sliding.tolerances.atol {
        row.resize(n_all, rtol);
    }
    let seen = Arc::new(Mutex::new(Seen::new(n, n_all)));
    let (shared, outer) = (Arc::clone(&seen), options.watch.clone());
    sliding.watch = Some(Watch::new(move |trajectory| {
        let mut seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
        seen.look(trajectory, outer.as_ref())
    }));
    let mut taylor = Taylor::new(surface, &sliding).ok()?;
    let mut found = taylor.run(&start).ok()?;
    let first = found.trajectory.segments().first()?.start;
    let mut point = vec![0.0; n_all];
    found.trajectory.coefficients(first, &mut point);
    let between = -0.5 * SHARE..=1.0 + 0.5 * SHARE;
    if !point[n..].iter().all(|share| between.contains(share)) {
        return None;
    }
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    found.trajectory = found.trajectory.first_unknowns(n, n_all);
    // Findings name equations and unknowns of the surface; those of the model come first.
    for point in &mut found.singularities {
        point.unknowns.retain(|&unknown| unknown < n);
        point.equations.retain(|&equation| equation < n);
        point.null_vector.truncate(point.unknowns.len());
    }
    Some((found, seen.left))
}

/// Looks at the shares of the sides along a motion, and shows the rest of it to whoever watches the run.
struct Seen {
    n: usize,
    n_all: usize,
    n_segments: usize,
    shown: Trajectory,
    isolation: Isolation,
    /// The surface that is left.
    left: Option<usize>,
}

impl Seen {
    fn new(n: usize, n_all: usize) -> Self {
        Self {
            n,
            n_all,
            n_segments: 0,
            shown: Trajectory::new(n, true),
            isolation: Isolation::default(),
            left: None,
        }
    }

    fn look(&mut self, trajectory: &Trajectory, outer: Option<&Watch>) -> Watched {
        let mut leaves = None;
        for k in self.n_segments..trajectory.segments().len() {
            let segment = trajectory.segments()[k];
            let rows = trajectory.series(k);
            self.shown
                .push(segment, &first_of_rows(&rows, self.n, self.n_all));
            leaves = self.leaves(&rows, segment);
            if leaves.is_some() {
                break;
            }
        }
        self.n_segments = trajectory.segments().len();
        if let Some((time, _)) = leaves {
            self.shown.end_at(time);
        }
        let asked = outer.map_or(Watched::GoOn, |watch| watch.ask(&self.shown));
        match (asked, leaves) {
            (Watched::GoOn, Some((time, surface))) => {
                self.left = Some(surface);
                Watched::StopAt(time)
            }
            _ => asked,
        }
    }

    /// The first time on a segment at which a share leaves [0, 1], and of which surface.
    fn leaves(&mut self, rows: &[f64], segment: Segment) -> Option<(f64, usize)> {
        let h = segment.end - segment.centre;
        if h == 0.0 {
            return None;
        }
        let mut first: Option<(f64, usize)> = None;
        for surface in 0..self.n_all - self.n {
            let mut power = 1.0;
            let share: Vec<f64> = rows
                .chunks_exact(self.n_all)
                .map(|row| {
                    power *= h;
                    row[self.n + surface] * power / h
                })
                .collect();
            let mut other: Vec<f64> = share.iter().map(|x| -x).collect();
            other[0] += 1.0;
            for mut function in [share, other] {
                function[0] += SHARE;
                self.isolation.find(&function, 0.0);
                if let Some(s) = self.isolation.leaves(1.0)
                    && first.is_none_or(|(held, _)| s < held)
                {
                    first = Some((s, surface));
                }
            }
        }
        first.map(|(s, surface)| (segment.centre + s * h, surface))
    }
}

/// The first n of all unknowns, order by order.
fn first_of_rows(rows: &[f64], n: usize, n_all: usize) -> Vec<f64> {
    let rows = rows.chunks_exact(n_all);
    rows.flat_map(|row| row[..n].to_vec()).collect()
}

impl Trajectory {
    /// The same with the first n of all unknowns.
    fn first_unknowns(&self, n: usize, n_all: usize) -> Self {
        let keep = |rows: &[f64]| first_of_rows(rows, n, n_all);
        let mut kept = Self::new(n, true);
        for (k, &segment) in self.segments().iter().enumerate() {
            kept.push(segment, &keep(&self.series(k)));
        }
        for point in self.points() {
            kept.push_point(SavedPoint {
                time: point.time,
                coefficients: keep(&point.coefficients),
            });
        }
        for known in self.instants() {
            kept.push_instant(known.time, keep(&known.coefficients));
        }
        if let Some((end, last)) = self.end().zip(self.segments().last()) {
            kept.close(last.end, &keep(end));
        }
        kept
    }
}
