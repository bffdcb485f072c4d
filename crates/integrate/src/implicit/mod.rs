//! Implicit methods with the safety of the series: every accepted point lies on all constraints and is watched.
//!
//! Equations of any index are completed to index 1 ([`Completed`]), the states are chosen at the present point, and
//! [`daelight_stiff`] integrates. Each accepted step is projected by the stages, joined to a piece of the trajectory and
//! looked at by the monitor. Where a determinant vanishes or is about to, at a switching time, and where the implicit
//! method fails, the projected Taylor series of [`taylor`] take over from a point a few steps earlier: they locate and
//! classify, and pass what can be passed. Section 9 of `docs/theory/implicit.md`.

mod choice;
mod consult;

pub use choice::{Chosen, solve_by_choice};

use crate::hermite::{N_NODES, Pieces};
use crate::monitor::{AHEAD, Expansion, Monitor, Trend, Zero};
use crate::options::{Options, Output};
use crate::outcome::{
    BudgetKind, Expected, Failure, Run, Singularity, Statistics, StopReason, Switch,
};
use crate::problem::Problem;
use crate::stages::Stages;
use crate::start::{self, Start, StartError};
use crate::states::{self, STEEP, Selection};
use crate::taylor;
use crate::trajectory::{SavedPoint, Segment, Trajectory, shift};
use consult::Checkpoint;
use daelight_analysis::structure::Structure;
use daelight_analysis::{Completed, FirstOrder};
use daelight_stiff as stiff;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// How a problem is integrated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Projected Taylor series: smooth problems that are not stiff.
    Taylor,
    /// Radau IIA of order 5: stiff problems.
    Radau,
    /// Backward differentiation of variable order and step: large stiff problems.
    Bdf,
}

impl Method {
    /// The part of the tolerance that one step may use, so that the error of a whole run stays below 100 tolerances.
    ///
    /// Measured on the pendulum and the squeezer, whose errors grow: up to 20 tolerances with Radau, 80 with BDF.
    fn inner(self) -> f64 {
        match self {
            Self::Bdf => 0.02,
            _ => 0.1,
        }
    }

    /// Steps between two points from which zeros of determinants are forecast: the steps of BDF are short.
    ///
    /// Without states no method integrates, and steps are long.
    fn stride(self, has_states: bool) -> usize {
        match self {
            Self::Bdf if has_states => 8,
            _ => 1,
        }
    }
}

/// A piece may be off by this many tolerances in the middle of a step.
const BETWEEN: f64 = 10.0;
/// Pieces shorter than this part of what is left of the run are not looked at.
const SHORTEST_PIECE: f64 = 1e-7;
/// Steps of limited length after which a longer one is tried.
const PATIENCE: usize = 20;

/// Orders of the series beyond the point, for the pieces between two points.
const N_STAGES: usize = 3;

/// No point with a scaled residual above this is accepted, whatever the tolerance.
const MAX_RESIDUAL: f64 = 1e-10;

/// The series look this many times as far as the zero of a determinant that goes on falling like a line: like a square it
/// would vanish at twice that distance.
const FALL: f64 = 3.0;

/// A step that is this many times shorter than earlier ones calls for the series.
const SHRUNK: f64 = 32.0;

/// Nodes that completing the equations may add to the graph.
const MAX_NODES: usize = 2_000_000;

/// Blocks up to this size have their choice of states looked at in every step.
const QUICK_BLOCK: usize = 60;

/// Halvings of one step of a problem without states.
const MAX_HALVINGS: usize = 40;

/// Absolute tolerances are never coarser than this part of the nominal values. Stiff kinetics are unstable for negative
/// amounts: Robertson's reactions run away with 1e-6 and a tolerance of 1e-4.
const COARSEST: f64 = 3e-8;

/// Steps are never asked for more digits than these.
const FINEST: f64 = 1e-14;

/// Rounding of the values of a piece as its derivatives see it, relative: powers of 2q + 1 come with them.
const PIECE_ROUNDING: f64 = 1e4 * f64::EPSILON;

/// Highest derivatives of differential unknowns are not carried on: this many times their tolerance serves.
const RELAXED: f64 = 1e3;

/// The tolerances of the implicit methods keep errors of all unknowns in bounds up to this index. Beyond, more unknowns are
/// derivatives of states: the torques of e12, of index 4, were off by 4000 tolerances with Radau and 280 with BDF.
const MARGIN_SERVES: usize = 3;
/// Part of the tolerance for each further index.
const FURTHER: f64 = 0.02;

/// The tolerance for steps of an implicit method on a model, given its structure as written.
pub fn step_tolerance(rtol: f64, written: &Structure) -> f64 {
    let beyond = match written.n_degrees_of_freedom() {
        // Nothing is integrated.
        0 => 0,
        _ => written.structural_index().saturating_sub(MARGIN_SERVES),
    };
    rtol.min((rtol * FURTHER.powi(beyond as i32)).max(1e-13))
}

/// Integrates by any method from a start to the end of the options, or to where the solution ends.
pub fn solve(
    problem: &Problem,
    start: &Start,
    options: &Options,
    method: Method,
) -> Result<Run, StartError> {
    if method == Method::Taylor {
        return taylor::solve(problem, start, options);
    }
    let rtol = options.tolerances.rtol;
    if !((1e-13..1.0).contains(&rtol) && options.t_end.is_finite()) {
        return Err(StartError::Options);
    }
    let completed = if problem.structure().n_degrees_of_freedom() == 0 {
        None
    } else {
        let found = Completed::new(problem.equations(), problem.structure(), MAX_NODES);
        Some(found.ok_or(StartError::Unsuitable(
            "the derivatives of the equations are too large for an implicit method; use taylor",
        ))?)
    };
    let mut course = Course::new(problem, options, method, start.time)?;
    start::project(&mut course.stages, start)?;
    course.begin().map_err(StartError::NotFound)?;
    let stop = course.run(completed.as_ref())?;
    Ok(course.finish(stop))
}

fn add(to: &mut Statistics, more: &Statistics) {
    to.steps += more.steps;
    to.rejected += more.rejected;
    to.residuals += more.residuals;
    to.jacobians += more.jacobians;
    to.factorizations += more.factorizations;
    to.jets += more.jets;
}

/// Why a leg of the run ended.
enum Event {
    /// The end was reached.
    End,
    /// A determinant vanishes within the step that was tried.
    Zero(Zero),
    /// Something is expected to happen within this distance.
    Forecast {
        /// How far the series should look.
        ahead: f64,
    },
    /// A branch changes its side within the step that was tried.
    Switch,
    /// Other states would do better.
    Reselect,
    /// Steps, time or memory ran out.
    Budget(BudgetKind),
    /// Who watches the run ended it.
    Ended(StopReason),
    /// The method gave up.
    Failed(Option<Failure>),
}

struct Course<'p> {
    problem: &'p Problem,
    options: &'p Options,
    method: Method,
    stages: Stages<'p>,
    monitor: Monitor<'p>,
    trend: Trend,
    /// Steps since the last point of the trend.
    n_since: usize,
    /// The longest step since the series were last asked.
    longest: f64,
    pieces: Pieces,
    began: Instant,
    time: f64,
    direction: f64,
    /// Length of the last accepted step, without sign.
    step: Option<f64>,
    /// The longest step between whose ends the pieces are as good as asked, and the steps taken with it.
    longest_piece: Option<f64>,
    n_pieces: usize,
    /// Coefficients at the present point, at the next one, and of the piece between them.
    series: Vec<f64>,
    next: Vec<f64>,
    piece: Vec<f64>,
    point: Vec<f64>,
    sides: Vec<Ordering>,
    selection: Option<Selection>,
    n_unchecked: usize,
    checkpoints: Vec<Checkpoint>,
    /// Until then neither forecasts nor switches call for the series: they were asked in vain.
    quiet_until: f64,
    event: Option<Event>,
    n_rescues: usize,
    /// Forecasts in a row that the series did not come through.
    n_refused: u32,
    trajectory: Trajectory,
    singularities: Vec<Singularity>,
    switches: Vec<Switch>,
    /// What the series saw behind the end.
    expected: Option<Expected>,
    residuals: Vec<f64>,
    /// Steps, and work that is not counted by the stages.
    work: Statistics,
}

impl<'p> Course<'p> {
    fn new(
        problem: &'p Problem,
        options: &'p Options,
        method: Method,
        time: f64,
    ) -> Result<Self, StartError> {
        let failed = |error| StartError::NotFound(Failure::Linalg(error));
        let n = problem.n();
        let offsets = &problem.structure().offsets().variable;
        let wanted = problem.highest_derivatives();
        let beyond = wanted.iter().zip(offsets).map(|(r, d)| r - d).max();
        let n_stages = beyond.unwrap_or(0).max(N_STAGES);
        let stages = Stages::new(problem, n_stages, &options.tolerances).map_err(failed)?;
        let pieces = Pieces::new(offsets, wanted);
        let n_rows = stages.n_rows();
        Ok(Self {
            problem,
            options,
            method,
            monitor: Monitor::new(problem, options.tolerances.rtol).map_err(failed)?,
            trend: Trend::default(),
            n_since: 0,
            longest: 0.0,
            began: Instant::now(),
            time,
            direction: if options.t_end >= time { 1.0 } else { -1.0 },
            step: None,
            longest_piece: None,
            n_pieces: 0,
            series: vec![0.0; n_rows * n],
            next: vec![0.0; n_rows * n],
            piece: vec![0.0; pieces.n_rows() * n],
            pieces,
            point: vec![0.0; (problem.max_unknown_offset() + 1) * n],
            sides: Vec::new(),
            selection: None,
            n_unchecked: 0,
            checkpoints: Vec::new(),
            quiet_until: time,
            event: None,
            n_rescues: 0,
            n_refused: 0,
            trajectory: Trajectory::new(n, options.output == Output::Dense),
            singularities: Vec::new(),
            switches: Vec::new(),
            expected: None,
            residuals: vec![0.0; problem.max_equation_offset() + 1],
            work: Statistics::default(),
            stages,
        })
    }

    /// Expands the point that the stages hold, and starts to watch from there.
    fn begin(&mut self) -> Result<(), Failure> {
        self.stages.factor()?;
        self.stages.project(true)?;
        self.stages.factor()?;
        self.stages.expand(&mut self.series)?;
        self.keep_residuals();
        self.sides = self.stages.sides().to_vec();
        self.monitor.forget();
        let here = Expansion {
            time: self.time,
            series: &self.series,
        };
        self.monitor.record(here, self.stages.solver());
        self.trend.forget();
        self.trend.record(self.time, self.stages.solver());
        self.n_since = 0;
        self.longest = 0.0;
        self.checkpoints.clear();
        self.remember();
        Ok(())
    }

    fn finish(mut self, stop: StopReason) -> Run {
        if self.trajectory.segments().is_empty() {
            let segment = Segment {
                centre: self.time,
                start: self.time,
                end: self.time,
            };
            self.trajectory.push(segment, &self.series);
            self.save_points(segment, true);
        }
        let mut statistics = self.stages.statistics;
        add(&mut statistics, &self.work);
        statistics.jacobians += self.monitor.n_evaluations;
        let mut run = Run {
            trajectory: self.trajectory,
            stop,
            singularities: self.singularities,
            switches: self.switches,
            expected: self.expected,
            residuals: self.residuals,
            statistics,
        };
        run.forget_beyond_stop();
        run
    }

    fn keep_residuals(&mut self) {
        for (kept, level) in self.residuals.iter_mut().zip(&self.stages.levels) {
            *kept = kept.max(*level);
        }
    }

    fn out_of_budget(&self) -> Option<BudgetKind> {
        if self.work.steps + self.work.rejected >= self.options.max_steps {
            return Some(BudgetKind::Steps);
        }
        if self.trajectory.n_stored() > self.options.max_stored {
            return Some(BudgetKind::Memory);
        }
        let late = |budget: Duration| self.began.elapsed() > budget;
        let out = self.options.time_budget.is_some_and(late);
        out.then_some(BudgetKind::Time)
    }

    fn run(&mut self, completed: Option<&Completed>) -> Result<StopReason, StartError> {
        loop {
            if self.time == self.options.t_end {
                return Ok(StopReason::Finished);
            }
            if let Some(kind) = self.out_of_budget() {
                return Ok(StopReason::Budget(kind));
            }
            let event = match completed {
                None => self.follow(),
                Some(completed) => self.leg(completed)?,
            };
            if let Some(stop) = self.answer(event) {
                return Ok(stop);
            }
        }
    }

    /// Looks at a step whose end is projected and expanded, and accepts it unless something lies within it.
    ///
    /// The stages hold the factors of the end, `next` its series and `piece` the polynomial in between.
    fn accept(&mut self, target: f64) -> Option<Event> {
        let h = target - self.time;
        let expansion = Expansion {
            time: self.time,
            series: &self.piece,
        };
        if let Some(zero) = self.monitor.look_ahead(expansion, h, false) {
            return Some(Event::Zero(zero));
        }
        let changed = self
            .monitor
            .changed(target, &self.next, Some(self.stages.solver()));
        if let Some(quantity) = changed {
            let zero = self
                .monitor
                .locate(expansion, quantity, h)
                .unwrap_or(Zero::crossing(quantity, target));
            return Some(Event::Zero(zero));
        }
        let loud = (target - self.quiet_until) * self.direction > 0.0;
        let switched = self
            .sides
            .iter()
            .zip(self.stages.sides())
            .any(|(a, b)| *a != *b && *a != Ordering::Equal);
        self.step = Some(h.abs());
        if switched && loud {
            return Some(Event::Switch);
        }
        self.work.steps += 1;
        self.sides.copy_from_slice(self.stages.sides());
        self.keep_residuals();
        let there = Expansion {
            time: target,
            series: &self.next,
        };
        self.monitor.record(there, self.stages.solver());
        self.n_since += 1;
        let is_spaced = self.n_since >= self.method.stride(self.selection.is_some());
        if is_spaced {
            self.n_since = 0;
            self.trend.record(target, self.stages.solver());
        }
        let segment = Segment {
            centre: self.time,
            start: self.time,
            end: target,
        };
        self.trajectory.push(segment, &self.piece);
        let is_steep = self.is_steep();
        self.save_points(segment, false);
        self.time = target;
        std::mem::swap(&mut self.series, &mut self.next);
        if is_spaced {
            self.remember();
        }
        if let Some(stop) = self.watch() {
            return Some(Event::Ended(stop));
        }
        if target == self.options.t_end {
            return Some(Event::End);
        }
        if let Some(kind) = self.out_of_budget() {
            return Some(Event::Budget(kind));
        }
        let remaining = (self.options.t_end - self.time).abs();
        let ahead = (AHEAD * self.trend.spacing().abs()).min(remaining);
        if loud && is_spaced && self.trend.expects_zero(ahead * self.direction) {
            return Some(Event::Forecast { ahead: 2.0 * ahead });
        }
        if loud
            && is_spaced
            && let Some(distance) = self.trend.falls()
        {
            let ahead = FALL * distance;
            return Some(Event::Forecast { ahead });
        }
        // Steps that shrink and shrink lead to a singularity of the solution, unless they lead through a transient.
        self.longest = self.longest.max(h.abs());
        if loud && h.abs() * SHRUNK < self.longest {
            self.longest = h.abs();
            return Some(Event::Forecast {
                ahead: SHRUNK * h.abs(),
            });
        }
        is_steep.then_some(Event::Reselect)
    }

    /// Shows the run to who watches it; the reason if that ends it.
    fn watch(&mut self) -> Option<StopReason> {
        let watch = self.options.watch.as_ref()?;
        watch.look(&mut self.trajectory)
    }

    /// Whether the states chosen have become a bad choice at the point that the stages hold.
    fn is_steep(&mut self) -> bool {
        let Some(selection) = self.selection.as_ref().filter(|s| s.is_choice()) else {
            return false;
        };
        self.n_unchecked += 1;
        if self.n_unchecked * QUICK_BLOCK < selection.largest {
            return false;
        }
        self.n_unchecked = 0;
        let (problem, tolerances) = (self.problem, &self.options.tolerances);
        let entries = self.stages.entries();
        selection.steepness(problem, tolerances, &entries) > STEEP
            && states::select(problem, tolerances, &entries)
                .is_ok_and(|better| better.is_some_and(|better| better.states != selection.states))
    }

    /// Solves the points asked for within a piece, or at the present point.
    fn save_points(&mut self, segment: Segment, at_point: bool) {
        let Output::Points(times) = &self.options.output else {
            return;
        };
        let n = self.problem.n();
        while let Some(&time) = times.get(self.trajectory.points().len()) {
            if (segment.end - time) * self.direction < 0.0 {
                break;
            }
            let rows = if at_point { &self.series } else { &self.piece };
            shift(rows, n, time - segment.centre, &mut self.point);
            self.stages.set_point(time, &self.point);
            if self.stages.factor().is_ok() && self.stages.project(false).is_ok() {
                self.stages.point(&mut self.point);
            }
            self.trajectory.push_point(SavedPoint {
                time,
                coefficients: self.point.clone(),
            });
        }
    }

    /// One leg of the implicit method, with the states that suit the present point.
    fn leg(&mut self, completed: &Completed) -> Result<Event, StartError> {
        let tolerances = &self.options.tolerances;
        let n = self.problem.n();
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        if let Err(failure) = self.stages.factor() {
            return Ok(Event::Failed(Some(failure)));
        }
        let entries = self.stages.entries();
        let selection = match states::select(self.problem, tolerances, &entries) {
            Ok(Some(selection)) => selection,
            Ok(None) => {
                return Err(StartError::Unsuitable(
                    "too many equations depend on each other for a choice of states; use taylor",
                ));
            }
            Err(error) => return Ok(Event::Failed(Some(error.into()))),
        };
        let first_order = completed.with_states(&selection.states);
        let equations = first_order.equations();
        self.selection = Some(selection);
        self.n_unchecked = 0;
        let size = equations.n_unknowns();
        let (mut x, mut xp) = (vec![0.0; size], vec![0.0; size]);
        let mut atol = vec![0.0; size];
        let inner = self.method.inner();
        for j in 0..n {
            let d = self.problem.unknown_offset(j);
            let mut factorial = 1.0;
            for s in 0..=d {
                let value = factorial * self.series[s * n + j];
                factorial *= (s + 1) as f64;
                let Some(place) = first_order.place(j, s) else {
                    continue;
                };
                x[place] = value;
                xp[place] = factorial * self.series[(s + 1) * n + j];
                let nominal = tolerances.absolute(s, j) / tolerances.rtol;
                atol[place] = (inner * tolerances.rtol).min(COARSEST) * nominal;
                if s == d && d > 0 {
                    atol[place] = RELAXED * atol[place] + inner * tolerances.rtol * x[place].abs();
                }
            }
        }
        let mut problem =
            stiff::Problem::with_indices(equations, self.problem.parameters(), &vec![1; size])
                .map_err(|_| StartError::Options)?;
        let spent = self.work.steps + self.work.rejected;
        let options = stiff::Options {
            rtol: (inner * tolerances.rtol).max(FINEST),
            atol,
            h0: self.step,
            hmax: self.longest_piece,
            max_steps: self.options.max_steps.saturating_sub(spent).max(1),
            budget: self
                .options
                .time_budget
                .map(|budget| budget.saturating_sub(self.began.elapsed())),
            ..stiff::Options::default()
        };
        self.event = None;
        let t = self.time;
        let end = self.options.t_end;
        let method = self.method;
        let course = RefCell::new(&mut *self);
        let mut projection = |t: f64, x: &mut [f64], xp: &mut [f64]| {
            course.borrow_mut().project(&first_order, t, x, xp)
        };
        let mut observer = |step: &stiff::Step<'_>| {
            let course = &mut *course.borrow_mut();
            course.event = course.observe(&first_order, step);
            if course.event.is_some() {
                stiff::Control::Stop
            } else {
                stiff::Control::Continue
            }
        };
        let mut hooks = stiff::Hooks {
            projection: Some(&mut projection),
            observer: Some(&mut observer),
        };
        let start = stiff::Start { t, x: &x, xp: &xp };
        let run = match method {
            Method::Bdf => stiff::bdf(&mut problem, start, end, &options, &mut hooks),
            _ => stiff::radau(&mut problem, start, end, &options, &mut hooks),
        };
        let run = run.map_err(|_| StartError::Options)?;
        self.work.rejected += run.statistics.rejected + run.statistics.newton_failures;
        self.work.residuals += run.statistics.residuals;
        self.work.jacobians += run.statistics.jacobians;
        self.work.factorizations += run.statistics.factorizations;
        if let Some(event) = self.event.take() {
            return Ok(event);
        }
        Ok(match run.reason {
            stiff::StopReason::Finished => Event::End,
            stiff::StopReason::TooManySteps { .. } => Event::Budget(BudgetKind::Steps),
            stiff::StopReason::Budget { .. } => Event::Budget(BudgetKind::Time),
            // Its place is one in the completed equations, which nobody wrote.
            stiff::StopReason::Fault { fault, .. } => {
                Event::Failed(Some(Failure::Undefined(fault.kind)))
            }
            _ => Event::Failed(None),
        })
    }

    /// Brings a point of the completed equations onto all constraints.
    fn project(
        &mut self,
        first_order: &FirstOrder,
        t: f64,
        x: &mut [f64],
        xp: &mut [f64],
    ) -> Result<(), String> {
        let n = self.problem.n();
        self.point.fill(0.0);
        for j in 0..n {
            let mut factorial = 1.0;
            let mut rate = 0.0;
            for s in 0..=self.problem.unknown_offset(j) {
                let value = match first_order.place(j, s) {
                    Some(place) => {
                        rate = xp[place];
                        x[place]
                    }
                    None => rate,
                };
                self.point[s * n + j] = value / factorial;
                factorial *= (s + 1) as f64;
            }
        }
        self.stages.set_point(t, &self.point);
        let projected = self
            .stages
            .factor()
            .and_then(|()| self.stages.project(false))
            .map_err(|failure| failure.to_string())?;
        if projected.residual > MAX_RESIDUAL {
            return Err(format!("residual {:.1e}", projected.residual));
        }
        self.stages.point(&mut self.point);
        for j in 0..n {
            let mut factorial = 1.0;
            let mut before = None;
            for s in 0..=self.problem.unknown_offset(j) {
                let value = factorial * self.point[s * n + j];
                if let Some(place) = before {
                    xp[place] = value;
                }
                before = first_order.place(j, s);
                if let Some(place) = before {
                    x[place] = value;
                }
                factorial *= (s + 1) as f64;
            }
        }
        Ok(())
    }

    /// Makes a piece of an accepted step and looks at it.
    fn observe(&mut self, first_order: &FirstOrder, step: &stiff::Step<'_>) -> Option<Event> {
        if let Err(failure) = self.stages.expand(&mut self.next) {
            return Some(Event::Failed(Some(failure)));
        }
        let n = self.problem.n();
        let h = step.t - self.time;
        self.pieces
            .between(&self.series, &self.next, h, &mut self.piece);
        // The method's own polynomial tells whether the derivatives at the ends mean anything.
        let rtol = self.options.tolerances.rtol;
        let slack = match self.method {
            Method::Radau => rtol.powf(2.0 / 3.0),
            _ => 10.0 * rtol,
        };
        let mut nodes = vec![0.0; N_NODES * n];
        let mut own = vec![0.0; first_order.equations().n_unknowns()];
        let (mut agrees, mut is_close) = (true, true);
        for (k, row) in nodes.chunks_exact_mut(n.max(1)).enumerate() {
            let s = k as f64 / (N_NODES - 1) as f64;
            step.interpolant.value(self.time + s * h, &mut own);
            for (j, place) in row.iter_mut().enumerate() {
                *place = match k {
                    0 => self.series[j],
                    _ if k == N_NODES - 1 => self.next[j],
                    // x_j itself is always an unknown.
                    _ => first_order.place(j, 0).map_or(f64::NAN, |place| own[place]),
                };
            }
            if k == 0 || k == N_NODES - 1 {
                continue;
            }
            shift(&self.piece, n, s * h, &mut self.point);
            let tolerances = &self.options.tolerances;
            let differs_by = |part: f64| {
                (0..n).all(|j| {
                    let size = row[j].abs() + tolerances.absolute(0, j) / rtol;
                    (self.point[j] - row[j]).abs() <= part * size
                })
            };
            agrees &= differs_by(slack);
            is_close &= differs_by(BETWEEN * rtol);
        }
        if !agrees {
            self.pieces
                .stiff(&self.series, &self.next, &nodes, h, &mut self.piece);
        }
        if !self.piece.iter().all(|x| x.is_finite()) {
            return Some(Event::Failed(None));
        }
        // The error test looks at the ends of a step: where the motion is simple there, nothing bounds what is in between.
        let is_long = h.abs() > SHORTEST_PIECE * (self.options.t_end - self.time).abs();
        if self.method == Method::Radau && !is_close && is_long {
            match self.holds_between(first_order, step) {
                Ok(true) => {}
                Ok(false) => {
                    self.longest_piece = Some(0.5 * h.abs());
                    self.step = self.longest_piece;
                    self.longest = 0.0;
                    self.n_pieces = 0;
                    self.work.rejected += 1;
                    return Some(Event::Reselect);
                }
                Err(failure) => return Some(Event::Failed(Some(failure))),
            }
        }
        let event = self.accept(step.t);
        if event.is_some() {
            return event;
        }
        let longest = self.longest_piece?;
        self.n_pieces += 1;
        if self.n_pieces < PATIENCE {
            return None;
        }
        self.longest_piece = Some(2.0 * longest);
        self.n_pieces = 0;
        Some(Event::Reselect)
    }

    /// Whether the piece is right in the middle, where the method's own polynomial is brought onto the constraints. The stages
    /// hold the end of the step again afterwards.
    fn holds_between(
        &mut self,
        first_order: &FirstOrder,
        step: &stiff::Step<'_>,
    ) -> Result<bool, Failure> {
        let n = self.problem.n();
        let h = step.t - self.time;
        let middle = self.time + 0.5 * h;
        let size = first_order.equations().n_unknowns();
        let [mut x, mut before, mut rates] = [(); 3].map(|()| vec![0.0; size]);
        let aside = 1e-3 * h;
        step.interpolant.value(middle - aside, &mut before);
        step.interpolant.value(middle + aside, &mut rates);
        for (rate, before) in rates.iter_mut().zip(&before) {
            *rate = (*rate - before) / (2.0 * aside);
        }
        step.interpolant.value(middle, &mut x);
        // A middle that cannot be projected is no middle of a good piece.
        let is_projected = self
            .project(first_order, middle, &mut x, &mut rates)
            .is_ok();
        let wanted = self.point.clone();
        shift(&self.piece, n, 0.5 * h, &mut self.point);
        let tolerances = &self.options.tolerances;
        let holds = is_projected
            && (0..n).all(|j| {
                let size = tolerances.rtol * wanted[j].abs() + tolerances.absolute(0, j);
                (self.point[j] - wanted[j]).abs() <= BETWEEN * size
            });
        shift(&self.next, n, 0.0, &mut self.point);
        self.stages.set_point(step.t, &self.point);
        self.stages.factor()?;
        self.stages.project(false)?;
        Ok(holds)
    }

    /// Steps through time where the constraints alone determine everything.
    fn follow(&mut self) -> Event {
        loop {
            if let Some(event) = self.follow_step() {
                return event;
            }
        }
    }

    /// One such step: as long as the piece between its ends is as good as asked.
    fn follow_step(&mut self) -> Option<Event> {
        let span = (self.options.t_end - self.time).abs();
        let mut h = self.step.unwrap_or(0.01 * span).min(span);
        let exponent = -1.0 / (2 * N_STAGES + 2) as f64;
        let mut failure = None;
        let mut before = f64::INFINITY;
        for _ in 0..MAX_HALVINGS {
            let target = if h >= 0.99 * span {
                self.options.t_end
            } else {
                self.time + self.direction * h
            };
            if target == self.time {
                break;
            }
            let error = self.attempt(target).unwrap_or_else(|why| {
                failure = Some(why);
                f64::INFINITY
            });
            let factor = 0.9 * error.max(1e-10).powf(exponent);
            if error <= 1.0 {
                let event = self.accept(target);
                self.step = Some(h * factor.clamp(0.3, 3.0));
                return event;
            }
            self.work.rejected += 1;
            if let Some(kind) = self.out_of_budget() {
                return Some(Event::Budget(kind));
            }
            // What does not fall with the step is rounding, which grows near a singular point: the series know better.
            if error.is_finite() && error > 0.5 * before {
                break;
            }
            before = error;
            h *= factor.clamp(0.1, 0.7);
        }
        Some(Event::Failed(failure))
    }

    /// Solves the point at a time and the one half-way; gives the error of the piece there, in tolerances.
    fn attempt(&mut self, target: f64) -> Result<f64, Failure> {
        let n = self.problem.n();
        let h = target - self.time;
        shift(&self.series, n, h, &mut self.point);
        self.solve_at(target)?;
        self.stages.expand(&mut self.next)?;
        self.keep_residuals();
        self.pieces
            .between(&self.series, &self.next, h, &mut self.piece);
        shift(&self.piece, n, 0.5 * h, &mut self.point);
        let guess = self.point.clone();
        self.solve_at(self.time + 0.5 * h)?;
        self.stages.point(&mut self.point);
        let tolerances = &self.options.tolerances;
        let mut worst = 0.0f64;
        for j in 0..n {
            let mut factorial = 1.0;
            // What rounding of x_j makes of its s-th derivative.
            let mut noise = PIECE_ROUNDING * self.point[j].abs();
            for s in 0..self.problem.unknown_offset(j).max(1) {
                let (found, wanted) = (guess[s * n + j], self.point[s * n + j]);
                let size = tolerances.rtol * factorial * wanted.abs() + tolerances.absolute(s, j);
                let error = (factorial * (found - wanted).abs() - noise).max(0.0);
                worst = worst.max(error / size);
                factorial *= (s + 1) as f64;
                noise *= (s + 1) as f64 / h.abs();
            }
        }
        // Back to the end, whose factors the monitor reads.
        self.point.copy_from_slice(&self.next[..guess.len()]);
        self.stages.set_point(target, &self.point);
        self.stages.factor()?;
        Ok(if worst.is_nan() { f64::INFINITY } else { worst })
    }

    fn solve_at(&mut self, time: f64) -> Result<(), Failure> {
        self.stages.set_point(time, &self.point);
        self.stages.factor()?;
        let projected = self.stages.project(false)?;
        if projected.residual > MAX_RESIDUAL {
            return Err(Failure::NoConvergence {
                stage: 0,
                residual: projected.residual,
            });
        }
        Ok(())
    }
}
