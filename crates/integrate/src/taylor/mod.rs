//! Integration by projected Taylor series: any index, any order, one factorisation per step.
//!
//! One step: predict the point from the old series, factor the system Jacobian there, project onto all constraints,
//! expand. What lies ahead decides what happens next: an ordinary step, a restart at a switching time, a jump over a
//! removable singularity, or the end. The formulas are in `docs/theory/integration.md`.

mod approach;
mod family;
mod jump;
pub(crate) mod ordinary;
mod output;
mod steep;
mod switching;
pub(crate) mod tail;

use crate::monitor::{AHEAD, Expansion, Monitor, NearMiss, Reads, Zero};
use crate::nudges::Nudges;
use crate::options::{Options, Output};
use crate::outcome::{BudgetKind, Failure, RatioFit, Run, Singularity, StopReason, Switch};
use crate::problem::Problem;
use crate::sliding;
use crate::stages::{Projected, Stages};
use crate::start::{self, Start, StartError};
use crate::step::{self, StepRule};
use crate::tolerances::{
    FORCING_DECIDING, FORCING_TOLERANCES, MAX_RESIDUAL, SAME_SWITCH, UNCONFIRMED,
};
use crate::trajectory::Trajectory;
use crate::watch::decider::Decider;
use crate::watch::enclosed::EnclosedBranches;
use crate::watch::features::{ConfirmedBy, Features};
use crate::watch::forcing::{Allowance, Forced};
use crate::watch::rooted::Rooted;
use crate::watch::sides::{Settled, Way, at_zero, forget_units, note_units, settle, undecided};
use crate::watch::written::of_time;
use approach::{Approach, Verdict};
use daelight_expr::Side;
use daelight_linalg::LinalgError;
use daelight_native::NativeError;
use std::time::Instant;
use tail::Tail;

/// Expansions in a row whose fits must point at the same singularity.
pub(crate) const STREAK: usize = 3;

/// Zeros whose distances differ by less than this part are at the same time.
const SAME_TIME: f64 = 1e-6;

/// How near the run goes to a singularity that only the series see, relative to the time, or to this part of what is left of
/// the run: there is no other scale of time, least of all a second. With it 2 x x' = -k ends after 26 steps for k = 1e-6 to
/// 1e9 alike.
pub(crate) const NEAR_END: f64 = 1e-6;

/// The highest order that can be asked for: beyond it rounding takes over.
const MAX_ORDER: usize = 60;

/// Steps of all runs of the same equations after which native code is made: that takes as long as some hundreds of steps.
const LONG_RUN: usize = 2000;

/// The number of stages of series above 0.
pub(crate) fn n_stages(problem: &Problem, options: &Options) -> usize {
    let max_d = problem.max_unknown_offset();
    // The series must at least cover the derivatives that a point consists of.
    let by_rule = step::order(options.tolerances.rtol)
        .saturating_sub(max_d)
        .max(6);
    let wanted = options.order.unwrap_or(by_rule);
    wanted.clamp(max_d.max(3), MAX_ORDER)
}

/// What functions of time may be off on a step of series.
fn allowance(n_stages: usize, rtol: f64) -> Allowance {
    Allowance {
        order: n_stages,
        tolerances: FORCING_TOLERANCES,
        deciding: FORCING_DECIDING * rtol,
    }
}

/// Integrates from a start to the end of the options, or to where the solution ends.
pub fn solve(problem: &Problem, start: &Start, options: &Options) -> Result<Run, StartError> {
    sliding::solve(problem, start, options, &mut |start, options| {
        let taylor = Taylor::new(problem, options);
        taylor
            .map_err(|error| StartError::NotFound(error.into()))?
            .run(start)
    })
}

/// The workspace of runs with the same options.
pub struct Taylor<'p> {
    options: Options,
    stages: Stages<'p>,
    rule: StepRule,
    monitor: Monitor<'p>,
    /// The present expansion, and room for the next one.
    time: f64,
    series: Vec<f64>,
    next: Vec<f64>,
    point: Vec<f64>,
    decider: Decider,
    rooted: Option<Rooted>,
    enclosed: Option<EnclosedBranches>,
    forced: Option<Forced<'p>>,
    features: Option<Features<'p>>,
    /// Branches that switched at the present point: it lies on their switching surfaces.
    at_zero: Vec<usize>,
    /// Whether time alone decides each branch.
    of_time: Vec<bool>,
    direction: f64,
    approach: Option<Approach>,
    /// A quantity, and what it reads.
    reads: Option<(usize, Reads)>,
    tail: Tail,
    fits: Vec<RatioFit>,
    /// Whether the last step was shortened by a knot of a signal.
    cut_short: bool,
    /// Near misses ahead, or not far behind.
    near_misses: Vec<NearMiss>,
    /// A zero that the last attempt ran into.
    surprise: Option<Zero>,
    /// Attempts since the last accepted step that ran into a zero.
    n_surprises: usize,
    quick_switches: usize,
    /// Number of steps, of this run and those before it, after which native code pays.
    compile_at: usize,
    nudges: Nudges,
    trajectory: Trajectory,
    n_saved: usize,
    singularities: Vec<Singularity>,
    switches: Vec<Switch>,
    residuals: Vec<f64>,
}

impl<'p> Taylor<'p> {
    /// Allocates everything a run needs; the runs themselves only store their results.
    pub fn new(problem: &'p Problem, options: &Options) -> Result<Self, LinalgError> {
        let tolerances = &options.tolerances;
        let max_d = problem.max_unknown_offset();
        let n_stages = n_stages(problem, options);
        let stages = Stages::new(problem, n_stages, tolerances)?;
        let n = problem.n();
        let n_rows = stages.n_rows();
        Ok(Self {
            rule: StepRule::new(problem, n_stages, tolerances),
            monitor: Monitor::new(problem, tolerances)?,
            time: 0.0,
            series: vec![0.0; n_rows * n],
            next: vec![0.0; n_rows * n],
            point: vec![0.0; (max_d + 1) * n],
            decider: Decider::default(),
            rooted: Rooted::new(problem),
            enclosed: EnclosedBranches::new(problem, n_stages),
            forced: Forced::new(problem, allowance(n_stages, tolerances.rtol)),
            features: Features::new(problem, ConfirmedBy::Defect),
            at_zero: Vec::new(),
            of_time: of_time(problem),
            direction: 1.0,
            approach: None,
            reads: None,
            tail: Tail::default(),
            fits: Vec::new(),
            cut_short: false,
            near_misses: Vec::new(),
            surprise: None,
            n_surprises: 0,
            quick_switches: 0,
            compile_at: LONG_RUN,
            nudges: Nudges::new(options),
            trajectory: Trajectory::new(n, options.output == Output::Dense),
            n_saved: 0,
            singularities: Vec::new(),
            switches: Vec::new(),
            residuals: vec![0.0; problem.max_equation_offset() + 1],
            options: options.clone(),
            stages,
        })
    }

    /// Evaluates by native code from now on, with the same results: for long runs and for many of them.
    ///
    /// Models with branches, signals given by data or general powers, and very large ones, stay with the interpreter.
    pub fn compile(&mut self) -> Result<(), NativeError> {
        self.compile_at = usize::MAX;
        let jacobian = self.stages.compile()?;
        self.monitor.use_native(jacobian);
        Ok(())
    }

    /// Makes native code, or takes what another run made, once enough steps were taken by this run and those before it.
    fn compile_if_due(&mut self) {
        if self.compile_at != usize::MAX {
            let before = self.stages.problem().code().n_steps();
            if before + self.stages.statistics.steps >= self.compile_at {
                // Without native code the run goes on as it was.
                self.compile_at = usize::MAX;
                let _ = self.compile();
            }
        }
    }

    /// Runs from a start; what an earlier run left is forgotten.
    pub fn run(&mut self, start: &Start) -> Result<Run, StartError> {
        let mut stop = self.start(start)?;
        loop {
            match stop {
                Some(stop) => return Ok(self.finish(stop)),
                None => stop = self.proceed(),
            }
        }
    }

    /// Begins a run; the reason if it ends at once.
    pub(crate) fn start(&mut self, start: &Start) -> Result<Option<StopReason>, StartError> {
        let rtol = self.options.tolerances.rtol;
        if !(rtol > 0.0 && rtol < 1.0 && self.options.t_end.is_finite()) {
            return Err(StartError::Options);
        }
        self.reset(start.time);
        start::project(&mut self.stages, start)?;
        self.begin().map_err(StartError::NotFound)
    }

    /// One step, jump or restart of a run that was begun; the reason if it ends.
    pub(crate) fn proceed(&mut self) -> Option<StopReason> {
        let mut stop = self.out_of_budget().or_else(|| self.advance());
        self.compile_if_due();
        if let Some(watch) = &self.options.watch
            && let Some(ended) = watch.look(&mut self.trajectory)
            && (stop.is_none() || ended != StopReason::Interrupted)
        {
            stop = Some(ended);
        }
        stop
    }

    /// Closes a run that was begun.
    pub(crate) fn finish(&mut self, stop: StopReason) -> Run {
        if self.trajectory.segments().is_empty() {
            self.close(self.time);
        }
        let expected = match stop {
            StopReason::Finished => self.expected(),
            _ => None,
        };
        let fresh = Trajectory::new(self.trajectory.n(), self.options.output == Output::Dense);
        let mut statistics = self.stages.statistics;
        self.stages.problem().code().count(statistics.steps);
        statistics.jacobians += self.monitor.n_evaluations;
        let mut run = Run {
            trajectory: std::mem::replace(&mut self.trajectory, fresh),
            stop,
            singularities: std::mem::take(&mut self.singularities),
            slides: Vec::new(),
            switches: std::mem::take(&mut self.switches),
            expected,
            residuals: self.residuals.clone(),
            statistics,
        };
        run.forget_beyond_stop();
        run.put_in_order();
        run
    }

    /// What the run is asked for; to be changed before it begins.
    pub(crate) fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// What is left of the run from the present point.
    pub(crate) fn remaining(&self) -> f64 {
        self.remaining_from(self.time)
    }

    /// What is left of the run from a time.
    pub(crate) fn remaining_from(&self, time: f64) -> f64 {
        (self.options.t_end - time).abs()
    }

    /// Whether stability bounded the last step, and its length.
    pub(crate) fn last_step(&self) -> Option<(bool, f64)> {
        let last = self.trajectory.segments().last()?;
        let h = last.end - last.start;
        let series = self.trajectory.series(self.trajectory.segments().len() - 1);
        Some((self.rule.is_stiff(&series, h), h.abs()))
    }

    /// The step that series would take from a point, and whether stability would bound it. No run may be under way.
    pub(crate) fn step_from(&mut self, time: f64, point: &[f64]) -> Option<(bool, f64)> {
        self.stages.hold(false);
        self.stages.set_point(time, point);
        self.solve_point(false).ok()?;
        let h = self.rule.step(&self.next).step;
        let direction = (self.options.t_end - time).signum();
        Some((self.rule.is_stiff(&self.next, direction * h), h))
    }

    fn reset(&mut self, time: f64) {
        self.time = time;
        self.direction = if self.options.t_end >= time {
            1.0
        } else {
            -1.0
        };
        self.approach = None;
        self.tail = Tail::default();
        self.cut_short = false;
        self.near_misses.clear();
        self.surprise = None;
        self.n_surprises = 0;
        self.quick_switches = 0;
        self.at_zero.clear();
        self.stages.forget_surfaces();
        if let Some(forced) = &mut self.forced {
            forced.forget();
        }
        self.n_saved = 0;
        self.residuals.fill(0.0);
        self.stages.statistics = Default::default();
        self.compile_if_due();
        self.stages.hold(false);
        self.stages.set_side(self.side());
        self.monitor.forget();
        self.monitor.n_evaluations = 0;
    }

    fn out_of_budget(&self) -> Option<StopReason> {
        let steps = self.stages.statistics.steps + self.stages.statistics.rejected;
        if steps >= self.options.max_steps {
            return Some(StopReason::Budget(BudgetKind::Steps));
        }
        if self.trajectory.n_stored() > self.options.max_stored {
            return Some(StopReason::Budget(BudgetKind::Memory));
        }
        // The clock is read now and then only.
        let late = |deadline| steps.is_multiple_of(8) && Instant::now() > deadline;
        let out = self.options.deadline.is_some_and(late);
        out.then_some(StopReason::Budget(BudgetKind::Time))
    }

    /// Expands the first point; chooses sides where a branch begins at its switching point.
    fn begin(&mut self) -> Result<Option<StopReason>, Failure> {
        note_units(&mut self.stages, &self.options.tolerances);
        let undecided = undecided(&mut self.stages);
        let way = Way::from_start(self.options.t_end - self.time);
        // Where no side goes on the point is all there is.
        self.series.fill(0.0);
        let n_point = self.stages.n_point().min(self.series.len());
        self.stages.point(&mut self.series[..n_point]);
        // Within rounding of its beginning a root has a series, which reaches nowhere.
        if self.begin_beside_root(&undecided) {
            return Ok(None);
        }
        match settle(&mut self.stages, &undecided, way, &mut self.next) {
            Ok(Settled::One(_) | Settled::Jumped(_) | Settled::Meeting { .. }) => {}
            Ok(Settled::Several(_)) => return Ok(Some(self.ambiguous(undecided[0]))),
            Ok(Settled::None { branch, leads_back }) => {
                return Ok(Some(self.chattering(branch, leads_back)));
            }
            Err(failure) => return Err(failure),
        }
        self.at_zero = at_zero(&self.stages, &undecided, way);
        forget_units(&mut self.stages, way);
        self.keep_residuals();
        std::mem::swap(&mut self.series, &mut self.next);
        let here = Expansion {
            time: self.time,
            series: &self.series,
        };
        self.monitor.record(here, &self.stages);
        Ok(None)
    }

    /// Projects the point that was set, from afar if need be, and expands it into `next`.
    fn solve_point(&mut self, far: bool) -> Result<Projected, Failure> {
        self.stages.factor()?;
        let projected = self.stages.project(far)?;
        if far {
            self.stages.factor()?;
        }
        self.stages.expand(&mut self.next)?;
        Ok(projected)
    }

    fn keep_residuals(&mut self) {
        for (kept, level) in self.residuals.iter_mut().zip(&self.stages.levels) {
            *kept = kept.max(*level);
        }
    }

    /// One step, jump or restart; the reason if the run ends.
    fn advance(&mut self) -> Option<StopReason> {
        let remaining = (self.options.t_end - self.time).abs();
        if remaining == 0.0 {
            // A piece of no length, so that the last point is the projected one.
            self.close(self.time);
            self.end_as_written();
            return Some(StopReason::Finished);
        }
        let size = self.rule.step(&self.series);
        let window = self.window(AHEAD * size.reach, remaining);
        if self.follow_tail() {
            return self.end_of_tail(size);
        }
        let zero = match self.surprise.take() {
            Some(zero) => Some(zero),
            None => self.zero_ahead(size, remaining.min(window)),
        };
        // A zero is to be seen before the run comes close to it.
        let mut h = size.step.min(remaining).min(window / AHEAD);
        match self.judge(zero, size) {
            Verdict::Go { limit } => h = h.min(limit),
            Verdict::Jump { landing } => return self.jump(landing, size),
            Verdict::End(stop) => return Some(stop),
        }
        if self.tail.streak >= STREAK {
            // Not past its own singular point, however small the series is there.
            h = h.min(0.5 * self.tail.distance.abs());
        }
        let natural = h;
        h = self.beside(h);
        h = self.resolved(h);
        h = self.proved(h);
        h = self.featureless(h);
        let is_shorter = h < 0.5 * natural;
        let (h, end) = self.before_knot(h);
        self.cut_short |= is_shorter;
        if self.stages.n_branches() > 0
            && let Some((s, branch)) = self.first_switch(h)
            // What begins at the very end is not part of the run.
            && remaining - s > SAME_SWITCH * self.options.t_end.abs().max(s)
        {
            return self.switch(s, branch);
        }
        self.step(h, end)
    }

    /// Whether a distance is so short that the run has come to what lies there.
    ///
    /// Values that grow without bound lose their digits sooner than others, and what has grown is no near miss.
    fn is_near_end(&self, distance: f64) -> bool {
        let left = (self.options.t_end - self.time).abs();
        let near = if self.has_grown() {
            NEAR_END
        } else {
            UNCONFIRMED
        };
        distance.abs() <= near * self.time.abs().max(near * left)
    }

    /// The side of the present time that lies ahead.
    fn side(&self) -> Side {
        if self.direction > 0.0 {
            Side::After
        } else {
            Side::Before
        }
    }
}
