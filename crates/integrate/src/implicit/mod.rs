//! Implicit methods with the safety of the series: every accepted point lies on all constraints and is watched.
//!
//! Equations of any index are completed to index 1 ([`Completed`]), the states are chosen at the present point, and
//! [`daelight_stiff`] integrates. Each accepted step is projected by the stages, joined to a piece of the trajectory and
//! looked at by the monitor. Where a determinant vanishes or is about to, at a switching time, and where the implicit
//! method fails, the projected Taylor series of [`taylor`] take over from a point a few steps earlier: they locate and
//! classify, and pass what can be passed. Section 9 of `docs/theory/implicit.md`.

mod accept;
pub(crate) mod choice;
mod consult;
mod follow;
mod leg;
mod switching;

pub use choice::{Chosen, solve_by_choice};
pub use daelight_stiff::FINEST;

use crate::hermite::Pieces;
use crate::monitor::{Expansion, Monitor, NearMiss, Trend, Zero};
use crate::nudges::Nudges;
use crate::options::{Options, Output};
use crate::outcome::{BudgetKind, Expected, Failure, Run, Singularity, StopReason, Switch};
use crate::problem::Problem;
use crate::sliding;
use crate::stages::Stages;
use crate::start::{self, Start, StartError};
use crate::states::Selection;
use crate::taylor;
use crate::tolerances::{
    FINEST_OF_POINTS, FINEST_OF_SERIES, FORCING_FINEST, IMPLICIT_FORCING_DECIDING,
    IMPLICIT_FORCING_TOLERANCES, MAX_RESIDUAL,
};
use crate::trajectory::{Segment, Trajectory};
use crate::watch::branches::{BranchFunctions, FirstSwitch};
use crate::watch::features::{ConfirmedBy, Features};
use crate::watch::forcing::{Allowance, At, Forced};
use crate::watch::sides::{Settled, Way, at_zero, forget_units, note_units, settle, undecided};
use crate::watch::written::of_time;
use choice::Choice;
use consult::Checkpoint;
use daelight_analysis::Completed;
use daelight_analysis::structure::Structure;
use daelight_expr::{ExprId, FaultKind};
use daelight_stiff::Statistics;
use leg::Between;
use std::time::Instant;

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
    /// The finest relative tolerance that a run can keep: the values of series are a few units of rounding off, those of
    /// points that are solved for some hundred.
    pub fn finest(self) -> f64 {
        match self {
            Self::Taylor => FINEST_OF_SERIES,
            Self::Radau | Self::Bdf => FINEST_OF_POINTS,
        }
    }

    /// Whether a relative tolerance means something, and can be kept.
    pub(crate) fn can_keep(self, rtol: f64) -> bool {
        (self.finest()..1.0).contains(&rtol)
    }

    /// The part of the tolerance that one step may use, so that the error of a whole run stays below 100 tolerances.
    ///
    /// Measured on the pendulum and the squeezer, whose errors grow: up to 20 tolerances with Radau, 80 with BDF. Where a
    /// problem of index 1 was found stiff, errors die out: 0.3 with Radau left 4 tolerances at most on ten public test problems
    /// (but 110 in the torques of e12, of index 4).
    fn inner(self, is_stiff: bool) -> f64 {
        match self {
            Self::Bdf => 0.02,
            _ if is_stiff => 0.3,
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

/// Orders of the series beyond the point, for the pieces between two points.
const N_STAGES: usize = 3;

/// What functions of time may be off on a step of an implicit method.
///
/// Below a tolerance of [`FORCING_FINEST`] polynomials of order 4 would need steps without end; the error test alone then guards the rest.
fn allowance(rtol: f64) -> Allowance {
    Allowance {
        order: 4,
        tolerances: IMPLICIT_FORCING_TOLERANCES * (FORCING_FINEST / rtol).max(1.0),
        deciding: IMPLICIT_FORCING_DECIDING,
    }
}

/// Nodes that completing the equations may add to the graph.
const MAX_NODES: usize = 2_000_000;

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
    rtol.min((rtol * FURTHER.powi(beyond as i32)).max(Method::Radau.finest()))
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
    if rtol > 0.0 && rtol < method.finest() {
        return Err(StartError::Unsuitable(
            "radau and bdf keep relative tolerances down to 1e-13, and finer ones were asked for",
        ));
    }
    if !(method.can_keep(rtol) && options.t_end.is_finite()) {
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
    sliding::solve(problem, start, options, &mut |start, options| {
        let mut course = Course::new(problem, options, method, start.time)?;
        start::project(&mut course.stages, start)?;
        let mut begun = course.begin();
        if let Err(Failure::Fault(_)) = begun
            && let Some(led) = course.led_off(start)
        {
            begun = led;
        }
        let stop = match begun.map_err(StartError::NotFound)? {
            Some(stop) => stop,
            None => course.run(completed.as_ref())?,
        };
        Ok(course.finish(stop))
    })
}

/// Why a leg of the run ended.
enum Event {
    /// The end was reached.
    End,
    /// A determinant vanishes within the step that was tried.
    Zero(Zero),
    /// A determinant comes near zero within the step that was tried, and turns.
    NearMiss(NearMiss),
    /// Something is expected to happen within this distance.
    Forecast {
        /// How far the series should look.
        ahead: f64,
    },
    /// Branches change their sides within the step that was tried.
    Switch(FirstSwitch),
    /// Other states would do better.
    Reselect,
    /// An implicit method is to be tried.
    Trial,
    /// The series would come further.
    Return,
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
    /// The series beside the method, if it may give way to them.
    choice: Option<Box<Choice<'p>>>,
    stages: Stages<'p>,
    monitor: Monitor<'p>,
    trend: Trend,
    /// Steps since the last point of the trend.
    n_since: usize,
    /// The longest step since the series were last asked.
    longest: f64,
    pieces: Pieces,
    room: Between,
    nudges: Nudges,
    time: f64,
    direction: f64,
    /// Length of the last accepted step, without sign.
    step: Option<f64>,
    /// The longest step that may be tried, because the pieces of longer ones were not as good as asked.
    longest_piece: Option<f64>,
    /// Coefficients at the present point, at the next one, and of the piece between them.
    series: Vec<f64>,
    next: Vec<f64>,
    piece: Vec<f64>,
    point: Vec<f64>,
    /// What the last projection changed in the highest derivatives, as coefficients.
    moved: Vec<f64>,
    /// The functions that decide the branches, whose sides are held between switches, and those that are on their surfaces.
    branches: Option<BranchFunctions>,
    at_zero: Vec<usize>,
    /// Branches that the motion keeps on their surfaces, with a side.
    staying: Vec<usize>,
    /// Whether time alone decides each branch.
    of_time: Vec<bool>,
    /// Functions of time alone.
    forced: Option<Forced<'p>>,
    features: Option<Features<'p>>,
    selection: Option<Selection>,
    n_unchecked: usize,
    checkpoints: Vec<Checkpoint>,
    /// Until then neither forecasts nor switches call for the series: they were asked in vain.
    quiet_until: f64,
    /// A near miss that the series did not come past: steps beside it are short, (R11).
    beside: Option<NearMiss>,
    n_rescues: usize,
    /// Switches in a row at one and the same time.
    n_at_once: usize,
    /// Forecasts in a row that the series did not come through.
    n_refused: u32,
    /// The order from which on derivatives of each unknown follow from the point: its smallest offset.
    determined_from: Vec<usize>,
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
        let stages = Stages::new(problem, N_STAGES, &options.tolerances).map_err(failed)?;
        let determined_from = problem.structure().smallest_offsets().variable;
        let pieces = Pieces::new(offsets, &determined_from);
        let n_rows = stages.n_rows();
        Ok(Self {
            problem,
            options,
            method,
            choice: None,
            monitor: Monitor::new(problem, &options.tolerances).map_err(failed)?,
            trend: Trend::default(),
            n_since: 0,
            longest: 0.0,
            room: Between::default(),
            nudges: Nudges::new(options),
            time,
            direction: if options.t_end >= time { 1.0 } else { -1.0 },
            step: None,
            longest_piece: None,
            series: vec![0.0; n_rows * n],
            next: vec![0.0; n_rows * n],
            piece: vec![0.0; pieces.n_rows() * n],
            pieces,
            determined_from,
            point: vec![0.0; (problem.max_unknown_offset() + 1) * n],
            moved: vec![0.0; n],
            branches: BranchFunctions::new(problem),
            at_zero: Vec::new(),
            staying: Vec::new(),
            of_time: of_time(problem),
            forced: Forced::new(problem, allowance(options.tolerances.rtol)),
            features: Features::new(problem, ConfirmedBy::Value),
            selection: None,
            n_unchecked: 0,
            checkpoints: Vec::new(),
            quiet_until: time,
            beside: None,
            n_rescues: 0,
            n_at_once: 0,
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
    ///
    /// The sides of the branches follow the values there, and are held from then on.
    fn begin(&mut self) -> Result<Option<StopReason>, Failure> {
        self.stages.hold(false);
        self.stages.forget_surfaces();
        self.staying.clear();
        self.stages.factor()?;
        let mut from = vec![0.0; self.stages.n_point()];
        self.stages.point(&mut from);
        match self.stages.project(true) {
            // On a switch the sides come first.
            Err(Failure::Fault(fault)) if fault.kind == FaultKind::Kink => {}
            Err(Failure::NoConvergence { .. }) if self.stages.n_branches() > 0 => {
                self.stages.set_point(self.time, &from);
                self.stages.compare();
            }
            projected => drop(projected?),
        }
        note_units(&mut self.stages, &self.options.tolerances);
        let undecided = undecided(&mut self.stages);
        let way = Way::from_start(self.options.t_end - self.time);
        let settled = settle(&mut self.stages, &undecided, way, &mut self.series)?;
        let (time, first) = (self.time, undecided.first().copied());
        self.at_zero = at_zero(&self.stages, &undecided, way);
        forget_units(&mut self.stages, way);
        self.watch_from_here();
        Ok(match (settled, first) {
            (Settled::None { branch, leads_back }, _) => Some(StopReason::Chattering {
                time,
                expr: self.branch_expr(branch),
                leads_back,
            }),
            (Settled::Several(_), Some(branch)) => Some(StopReason::Ambiguous {
                time,
                expr: self.branch_expr(branch),
            }),
            _ => None,
        })
    }

    fn branch_expr(&self, branch: usize) -> ExprId {
        self.problem.branch_expr(branch)
    }

    /// Starts to watch from the present point, whose series is there.
    fn watch_from_here(&mut self) {
        self.keep_residuals();
        if let Some(forced) = &mut self.forced {
            forced.forget();
        }
        self.monitor.forget();
        let here = Expansion {
            time: self.time,
            series: &self.series,
        };
        self.monitor.record(here, &self.stages);
        self.trend.forget();
        let varies = self.monitor.varying_blocks();
        self.trend.record(self.time, self.stages.solver(), varies);
        self.n_since = 0;
        self.longest = 0.0;
        self.checkpoints.clear();
        self.remember();
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
        statistics += self.work;
        statistics.jacobians += self.monitor.n_evaluations;
        let mut run = Run {
            trajectory: self.trajectory,
            stop,
            singularities: self.singularities,
            slides: Vec::new(),
            switches: self.switches,
            expected: self.expected,
            residuals: self.residuals,
            statistics,
        };
        run.forget_beyond_stop();
        run.put_in_order();
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
        let late = |deadline| Instant::now() > deadline;
        let out = self.options.deadline.is_some_and(late);
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
                _ if self.is_by_series() => self.series_leg(),
                None => self.follow(),
                Some(completed) => self.leg(completed)?,
            };
            if let Some(stop) = self.answer(event) {
                return Ok(stop);
            }
        }
    }

    /// The longest step from the present point, whose factors the stages hold, that no function of time forbids, (R3).
    fn longest_forced(&mut self) -> Option<f64> {
        let forced = self.forced.as_mut()?;
        let (sides, solver) = self.stages.sides_and_solver();
        let at = At {
            time: self.time,
            direction: self.direction,
            series: &self.series,
            sides,
            solver,
        };
        let left = (self.options.t_end - self.time).abs();
        Some(forced.limit(at, &self.options.tolerances, left))
    }

    /// Whether no operation on unknowns does within a piece what it does at neither end, (R8); the stages hold the factors of its end.
    fn is_featureless(&mut self, h: f64) -> bool {
        let Some(features) = &mut self.features else {
            return true;
        };
        let (sides, solver) = self.stages.sides_and_solver();
        let at = At {
            time: self.time,
            direction: self.direction,
            series: &self.piece,
            sides,
            solver,
        };
        features.limit(at, &self.options.tolerances, h.abs()) == h.abs()
    }

    /// Shows the run to who watches it; the reason if that ends it.
    fn watch(&mut self) -> Option<StopReason> {
        let watch = self.options.watch.as_ref()?;
        watch.look(&mut self.trajectory)
    }
}
