//! Integration by projected Taylor series: any index, any order, one factorisation per step.
//!
//! One step: predict the point from the old series, factor the system Jacobian there, project onto all constraints,
//! expand. What lies ahead decides what happens next: an ordinary step, a restart at a switching time, a jump over a
//! removable singularity, or the end. The formulas are in `docs/theory/integration.md`.

use crate::arguments::Argument;
use crate::blocks::BlockSolver;
use crate::locate;
use crate::monitor::{AHEAD, Expansion, Monitor, Zero};
use crate::options::{OnSingularity, Options, Output};
use crate::outcome::{
    BudgetKind, Expected, Failure, Jump, Nature, RatioFit, Run, Singularity, StopReason, Switch,
};
use crate::problem::Problem;
use crate::stages::Stages;
use crate::start::{self, Start, StartError};
use crate::step::{self, AGREEMENT, StepRule, StepSize};
use crate::trajectory::{SavedPoint, Segment, Trajectory, shift};
use daelight_expr::Side;
use daelight_linalg::LinalgError;
use daelight_native::NativeError;
use std::cmp::Ordering;
use std::time::Instant;

/// A step is tried again with half its size at most this often.
const MAX_HALVINGS: usize = 40;

/// A step is rejected when the slopes of both series at its end differ by more than this many tolerances over the step.
const UNEVEN: f64 = 1e3;
/// What rounding leaves of slopes, relative to the change that they stand for.
const ROUNDED_SLOPE: f64 = 1e-8;
/// A step is rejected when the projection moves a state by more than this many tolerances.
const REJECT: f64 = 10.0;

/// A step is rejected when errors of the states move an algebraic unknown by more than this many tolerances, as long as a
/// shorter step lessens that; ten of them come from its own series.
const TRANSMITTED: f64 = 100.0;
/// A half step that leaves more than this part of the change shows rounding.
const LESSENED: f64 = 0.5;

/// No point with a scaled residual above this is accepted, whatever the tolerance.
const MAX_RESIDUAL: f64 = 1e-10;

/// The Jacobian of the predicted point serves the series if the projection moved no state by more than this many
/// tolerances: the coefficients are then as good as the point.
const FRESH: f64 = 1.0;

/// A series reaches past a zero nearer than this many steps. Set on the arm's point at 1.5446 and checked on others:
/// a true singularity lies at least 2.5 steps away, because the step is below 0.4 of the radius of convergence.
const REACHES: f64 = 1.6;

/// Expansions in a row whose fits must point at the same singularity.
const STREAK: usize = 3;

/// Expansions without getting nearer, in steps, after which a zero ahead counts as unresolved.
const MAX_STUCK: usize = 6;

/// Without a verdict the run does not come nearer to a zero than this part of the longest reach since it was seen:
/// rounding would make any zero look like a pole.
const NEAREST: f64 = 0.5;

/// Zeros whose distances differ by less than this part are at the same time.
const SAME_TIME: f64 = 1e-6;

/// Jumps over one zero that are tried, each from half the distance.
const MAX_JUMPS: usize = 3;

/// A jump is judged as if no series reached further than this many times the distance of the zero.
const LONGEST_JUMP: f64 = 10.0;

/// A multiple zero is located by what lies around it, up to this part of the reach of the series.
const AROUND: f64 = 0.3;

/// How near the run goes to a pole whose time is known, as a part of the distance at which it was recognised.
const NEAR_POLE: f64 = 0.02;

/// How near the run goes to a singularity that only the series see, relative to the time.
const NEAR_END: f64 = 1e-6;

/// The highest order that can be asked for: beyond it rounding takes over.
const MAX_ORDER: usize = 60;

/// Attempts at one step that may run into a zero before the run gives up.
const MAX_SURPRISES: usize = 8;

/// Steps of a run after which native code is made: that takes as long as some hundreds of steps.
const LONG_RUN: usize = 2000;

/// Points of a step at which switching quantities are looked at.
const N_SWITCH_SAMPLES: usize = 16;

/// Integrates from a start to the end of the options, or to where the solution ends.
pub fn solve(problem: &Problem, start: &Start, options: &Options) -> Result<Run, StartError> {
    let mut taylor = Taylor::new(problem, options).map_err(|e| StartError::NotFound(e.into()))?;
    taylor.run(start)
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
    switching: Vec<f64>,
    direction: f64,
    approach: Option<Approach>,
    tail: Tail,
    fits: Vec<RatioFit>,
    /// Whether the last step was shortened by a knot of a signal.
    cut_short: bool,
    /// A zero that the last attempt ran into.
    surprise: Option<Zero>,
    /// Attempts since the last accepted step that ran into a zero.
    n_surprises: usize,
    quick_switches: usize,
    /// Number of steps after which native code pays.
    compile_at: usize,
    trajectory: Trajectory,
    n_saved: usize,
    singularities: Vec<Singularity>,
    switches: Vec<Switch>,
    residuals: Vec<f64>,
}

/// A zero of a determinant ahead, and what is known of it.
#[derive(Clone, Copy, Debug)]
struct Approach {
    zero: Zero,
    nature: Option<Nature>,
    /// Distance at which the nature was recognised.
    decided_at: f64,
    /// Expansions in a row whose fits point at the zero.
    streak: usize,
    /// Expansions in a row that came no nearer in steps.
    stuck: usize,
    /// Distance in steps at the last expansion.
    ratio: f64,
    /// The longest reach of a series since the zero was seen.
    longest: f64,
    /// Whether the last step before the end was taken.
    last_step: bool,
    /// Jumps that were tried and did not fit.
    failed_jumps: usize,
    /// Whether other solutions go through the zero that is to be jumped over.
    bifurcates: bool,
}

/// A singularity that the coefficients alone point at.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    time: f64,
    distance: f64,
    streak: usize,
}

/// What the zeros ahead allow.
enum Verdict {
    Go { limit: f64 },
    Jump { landing: f64 },
    End(StopReason),
}

impl<'p> Taylor<'p> {
    /// Allocates everything a run needs; the runs themselves only store their results.
    pub fn new(problem: &'p Problem, options: &Options) -> Result<Self, LinalgError> {
        let tolerances = &options.tolerances;
        let max_d = problem.max_unknown_offset();
        // The series must at least cover the derivatives that a point consists of.
        let by_rule = step::order(tolerances.rtol).saturating_sub(max_d).max(6);
        let n_stages = options
            .order
            .unwrap_or(by_rule)
            .clamp(max_d.max(3), MAX_ORDER);
        let stages = Stages::new(problem, n_stages, tolerances)?;
        let n = problem.n();
        let n_rows = stages.n_rows();
        Ok(Self {
            rule: StepRule::new(problem, n_stages, tolerances),
            monitor: Monitor::new(problem, tolerances.rtol)?,
            time: 0.0,
            series: vec![0.0; n_rows * n],
            next: vec![0.0; n_rows * n],
            point: vec![0.0; (max_d + 1) * n],
            switching: vec![0.0; stages.n_switching()],
            direction: 1.0,
            approach: None,
            tail: Tail::default(),
            fits: Vec::new(),
            cut_short: false,
            surprise: None,
            n_surprises: 0,
            quick_switches: 0,
            compile_at: LONG_RUN,
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

    /// Runs from a start; what an earlier run left is forgotten.
    pub fn run(&mut self, start: &Start) -> Result<Run, StartError> {
        let rtol = self.options.tolerances.rtol;
        if !(rtol > 0.0 && rtol < 1.0 && self.options.t_end.is_finite()) {
            return Err(StartError::Options);
        }
        self.reset(start.time);
        let began = Instant::now();
        start::project(&mut self.stages, start)?;
        let mut stop = self.begin().map_err(StartError::NotFound)?;
        while stop.is_none() {
            stop = self.out_of_budget(began).or_else(|| self.advance());
            if self.stages.statistics.steps >= self.compile_at {
                // Without native code the run goes on as it was.
                self.compile_at = usize::MAX;
                let _ = self.compile();
            }
            if let Some(watch) = &self.options.watch
                && let Some(ended) = watch.look(&mut self.trajectory)
                && (stop.is_none() || ended != StopReason::Interrupted)
            {
                stop = Some(ended);
            }
        }
        if self.trajectory.segments().is_empty() {
            self.close(self.time);
        }
        let expected = match stop {
            Some(StopReason::Finished) => self.expected(),
            _ => None,
        };
        let fresh = Trajectory::new(self.trajectory.n(), self.options.output == Output::Dense);
        let mut statistics = self.stages.statistics;
        statistics.jacobians += self.monitor.n_evaluations;
        let mut run = Run {
            trajectory: std::mem::replace(&mut self.trajectory, fresh),
            stop: stop.expect("the loop ends with a reason"),
            singularities: std::mem::take(&mut self.singularities),
            switches: std::mem::take(&mut self.switches),
            expected,
            residuals: self.residuals.clone(),
            statistics,
        };
        run.forget_beyond_stop();
        Ok(run)
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
        self.surprise = None;
        self.n_surprises = 0;
        self.quick_switches = 0;
        self.n_saved = 0;
        self.residuals.fill(0.0);
        self.stages.statistics = Default::default();
        self.stages.hold(false);
        self.stages.set_side(self.side());
        self.monitor.forget();
        self.monitor.n_evaluations = 0;
    }

    fn out_of_budget(&self, began: Instant) -> Option<StopReason> {
        let steps = self.stages.statistics.steps + self.stages.statistics.rejected;
        if steps >= self.options.max_steps {
            return Some(StopReason::Budget(BudgetKind::Steps));
        }
        if self.trajectory.n_stored() > self.options.max_stored {
            return Some(StopReason::Budget(BudgetKind::Memory));
        }
        // The clock is read now and then only.
        let late = |budget| steps.is_multiple_of(8) && began.elapsed() > budget;
        let out = self.options.time_budget.is_some_and(late);
        out.then_some(StopReason::Budget(BudgetKind::Time))
    }

    /// Expands the first point; chooses sides where a branch begins at its switching point.
    fn begin(&mut self) -> Result<Option<StopReason>, Failure> {
        self.stages.hold(true);
        let undecided: Vec<usize> = (0..self.stages.n_branches())
            .filter(|&branch| self.stages.sides()[branch] == Ordering::Equal)
            .collect();
        for &branch in &undecided {
            self.stages.choose(branch, Ordering::Greater);
        }
        self.solve_point(true)?;
        for branch in undecided {
            if self.leaves(branch) == Some(false) {
                self.stages.choose(branch, Ordering::Less);
                self.solve_point(true)?;
                if self.leaves(branch) == Some(false) {
                    return Ok(Some(self.chattering(branch)));
                }
            }
        }
        self.keep_residuals();
        std::mem::swap(&mut self.series, &mut self.next);
        let here = Expansion {
            time: self.time,
            series: &self.series,
        };
        self.monitor.record(here, self.stages.solver());
        Ok(None)
    }

    /// Projects the point that was set, from afar if need be, and expands it into `next`.
    fn solve_point(&mut self, far: bool) -> Result<crate::stages::Projected, Failure> {
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
            return Some(StopReason::Finished);
        }
        let size = self.rule.step(&self.series);
        if let Some(stop) = self.follow_tail(size) {
            return Some(stop);
        }
        let zero = match self.surprise.take() {
            Some(zero) => Some(zero),
            None => self.zero_ahead(size, remaining),
        };
        let mut h = size.step.min(remaining);
        match self.judge(zero, size) {
            Verdict::Go { limit } => h = h.min(limit),
            Verdict::Jump { landing } => return self.jump(landing, size),
            Verdict::End(stop) => return Some(stop),
        }
        let (h, end) = self.before_knot(h);
        if self.stages.n_branches() > 0
            && let Some((s, branch)) = self.first_switch(h)
            // What begins at the very end is not part of the run.
            && remaining - s > 1e-12 * self.options.t_end.abs().max(1.0)
        {
            return self.switch(s, branch);
        }
        self.step(h, end)
    }

    /// Shortens a step to the next knot of a signal, behind which the series would not be those of the equations.
    ///
    /// Gives the time at which the step ends exactly, if it goes that far.
    fn before_knot(&mut self, h: f64) -> (f64, f64) {
        let knot = self.stages.problem().next_knot(self.time, self.side());
        let distance = knot.map_or(f64::INFINITY, |knot| (knot - self.time).abs());
        self.cut_short = h > 0.5 * distance;
        match knot {
            Some(knot) if h >= distance => (distance, knot),
            // Two even steps rather than a long one and a sliver.
            Some(_) if self.cut_short => (0.5 * distance, self.options.t_end),
            _ => (h, self.options.t_end),
        }
    }

    /// The side of the present time that lies ahead.
    fn side(&self) -> Side {
        if self.direction > 0.0 {
            Side::After
        } else {
            Side::Before
        }
    }

    /// The singular point that the last series sees behind the end of the run.
    fn expected(&mut self) -> Option<Expected> {
        let size = self.rule.step(&self.series);
        let end = self.options.t_end;
        let window = self.direction * AHEAD * size.reach;
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let zero = window
            .is_finite()
            .then(|| self.monitor.look_ahead(expansion, window, false))
            .flatten();
        let tail = (self.tail.streak >= STREAK).then_some(self.tail.time);
        let time = zero.map(|zero| zero.time).or(tail)?;
        let distance = (time - end) * self.direction;
        (distance > 0.0).then_some(Expected { time, distance })
    }

    /// Looks for the next zero of a determinant, a little further than one that is already known.
    fn zero_ahead(&mut self, size: StepSize, remaining: f64) -> Option<Zero> {
        let known = self
            .approach
            .map_or(0.0, |a| 1.1 * (a.zero.time - self.time).abs());
        let window = (AHEAD * size.reach).max(known).min(remaining);
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let always = self.approach.is_some();
        self.monitor
            .look_ahead(expansion, self.direction * window, always)
    }

    /// Decides what a zero ahead means, section 5.
    fn judge(&mut self, zero: Option<Zero>, size: StepSize) -> Verdict {
        let go = Verdict::Go {
            limit: f64::INFINITY,
        };
        let Some(zero) = zero else {
            self.approach = None;
            return go;
        };
        let distance = (zero.time - self.time).abs();
        let ratio = distance / size.reach;
        let switch = match self.stages.n_branches() {
            0 => None,
            _ => self.first_switch(distance * (1.0 + SAME_TIME)),
        };
        if let Some((s, _)) = switch
            && (s < distance * (1.0 - SAME_TIME) || self.monitor.block(zero.quantity).is_none())
        {
            // Behind a switch the equations are others; and an argument that vanishes there may be guarded by it.
            self.approach = None;
            return go;
        }
        let tail = self.tail.distance.abs();
        // Behind a singularity of the series themselves a determinant means nothing.
        if self.tail.streak >= STREAK && tail < (1.0 - AGREEMENT) * distance {
            self.approach = None;
            return Verdict::Go { limit: 0.5 * tail };
        }
        let doubtful = self.tail.streak > 0 && tail < 1.2 * distance;
        let mut approach = match self.approach {
            Some(known)
                if known.zero.quantity == zero.quantity
                    && (known.zero.time - zero.time).abs() < 0.05 * distance.max(1e-9) =>
            {
                Approach { zero, ..known }
            }
            _ => Approach {
                zero,
                nature: None,
                decided_at: distance,
                streak: 0,
                stuck: 0,
                ratio: f64::INFINITY,
                longest: 0.0,
                last_step: false,
                failed_jumps: 0,
                bifurcates: false,
            },
        };
        self.rule.fits(&self.series, self.direction, &mut self.fits);
        let signed = zero.time - self.time;
        self.fits
            .retain(|fit| (fit.distance / signed - 1.0).abs() < AGREEMENT);
        approach.streak = if self.fits.is_empty() {
            0
        } else {
            approach.streak + 1
        };
        // A step that a knot cut short says nothing about what it could have come nearer.
        if !self.cut_short {
            approach.stuck = if ratio > approach.ratio - 0.2 {
                approach.stuck + 1
            } else {
                0
            };
            approach.ratio = ratio;
        }
        approach.longest = approach.longest.max(size.reach);
        let too_near = distance < NEAREST * approach.longest;
        if self
            .monitor
            .argument(zero.quantity)
            .is_some_and(Argument::is_edge)
        {
            self.approach = Some(approach);
            return self.judge_edge(zero, distance, size);
        }
        if approach.nature.is_none() {
            if approach.streak >= STREAK {
                approach.nature = Some(nature_of(&self.fits));
                approach.decided_at = distance;
            } else if ratio < REACHES && !doubtful {
                // A side that changes at this very time leaves no analytic solution to go on with.
                approach.nature = Some(match switch {
                    None => Nature::Removable,
                    Some(_) => Nature::Unresolved,
                });
                approach.decided_at = distance;
            } else if approach.stuck >= MAX_STUCK || too_near {
                approach.nature = Some(Nature::Unresolved);
            }
        }
        self.approach = Some(approach);
        match approach.nature {
            Some(Nature::Removable) => self.judge_removable(approach, distance, size),
            Some(Nature::Unbounded) if distance <= NEAR_POLE * approach.decided_at => {
                Verdict::End(self.end_at(
                    zero.time,
                    Some(zero.quantity),
                    Nature::Unbounded,
                    zero,
                    size,
                ))
            }
            Some(Nature::Unresolved) => {
                let zero = match ratio < REACHES {
                    true => self.refined(zero, size),
                    false => zero,
                };
                let (time, quantity) = (zero.time, Some(zero.quantity));
                Verdict::End(self.end_at(time, quantity, Nature::Unresolved, zero, size))
            }
            _ => go,
        }
    }

    /// Goes up to the zero of an argument beyond which its operation has no value, and ends there, section 5.
    fn judge_edge(&mut self, zero: Zero, distance: f64, size: StepSize) -> Verdict {
        let reached = distance <= 0.65 * size.step;
        if !reached && distance > NEAR_END * self.time.abs().max(1.0) {
            return Verdict::Go {
                limit: (0.5 * distance).max(distance - 0.55 * size.step),
            };
        }
        let nature = match self.fits.is_empty() {
            true => Nature::Branch,
            false => nature_of(&self.fits),
        };
        let stop = self.end_at(zero.time, Some(zero.quantity), nature, zero, size);
        if reached {
            self.close_at(zero.time, Some(zero.time));
        }
        Verdict::End(stop)
    }

    fn judge_removable(
        &mut self,
        mut approach: Approach,
        distance: f64,
        size: StepSize,
    ) -> Verdict {
        let zero = approach.zero;
        // The series of a polynomial reaches to infinity; a landing point must not.
        let size = StepSize {
            step: size.step.min(LONGEST_JUMP * distance),
            reach: size.reach.min(LONGEST_JUMP * distance),
        };
        let proceed = self.options.on_singularity.goes_on();
        let free = self.stages.problem().structure().n_degrees_of_freedom() > 0;
        let near = distance <= 0.65 * size.step;
        let decides = near || proceed && !free || approach.last_step && !proceed;
        let bifurcates = decides && self.bifurcates(zero);
        let stops = bifurcates && self.options.on_singularity != OnSingularity::Pass;
        if proceed && !stops && (near || !free) {
            approach.bifurcates = bifurcates;
            self.approach = Some(approach);
            // States cross with the accuracy of the series itself, hence not further than a careful step.
            let far = if free {
                0.9 * size.step
            } else {
                (distance + distance.max(0.3 * size.reach)).min(3.0 * size.reach)
            };
            return Verdict::Jump {
                landing: self.time + self.direction * self.before_switch(distance, far),
            };
        }
        if decides {
            let nature = if bifurcates {
                Nature::Bifurcation
            } else {
                Nature::Removable
            };
            let zero = self.refined(zero, size);
            let stop = self.end_at(zero.time, Some(zero.quantity), nature, zero, size);
            self.close_at(zero.time, Some(zero.time));
            return Verdict::End(stop);
        }
        // One more step, to a point from which the series serves up to the zero.
        approach.last_step = true;
        self.approach = Some(approach);
        Verdict::Go {
            limit: (distance - 0.55 * size.step).max(0.1 * size.step),
        }
    }

    /// A zero that the series reaches past, once more as a multiple one.
    fn refined(&mut self, zero: Zero, size: StepSize) -> Zero {
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let distance = (zero.time - self.time).abs();
        let radius = AROUND * size.reach.min(LONGEST_JUMP * distance);
        self.monitor.refined(expansion, zero, radius)
    }

    /// A distance behind a zero, but not behind the next switch.
    fn before_switch(&mut self, zero: f64, far: f64) -> f64 {
        let switch = match self.stages.n_branches() {
            0 => None,
            _ => self.first_switch(far),
        };
        switch.map_or(far, |(s, _)| zero + 0.5 * (s - zero).max(0.0))
    }

    /// Whether other solutions go through the point at which a determinant vanishes, (14).
    fn bifurcates(&mut self, zero: Zero) -> bool {
        if self.monitor.block(zero.quantity).is_none() {
            return false;
        }
        let n = self.trajectory.n();
        shift(&self.series, n, zero.time - self.time, &mut self.point);
        self.stages.set_point(zero.time, &self.point);
        let found = self.stages.is_isolated();
        // The series are left as they were: nothing reads the stages but the switching quantities.
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        if self.stages.n_branches() > 0 {
            let _ = self.solve_point(false);
        }
        found.unwrap_or(false)
    }

    /// Records a singular point at which the run ends.
    fn end_at(
        &mut self,
        time: f64,
        quantity: Option<usize>,
        nature: Nature,
        zero: Zero,
        size: StepSize,
    ) -> StopReason {
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let mut singularity = self.monitor.describe(expansion, time, quantity, nature);
        singularity.evidence.step = size.step;
        singularity.evidence.sign_change = zero.sign_change;
        singularity.evidence.uncertainty = zero.uncertainty;
        singularity.evidence.fits.clone_from(&self.fits);
        self.singularities.push(singularity);
        StopReason::Singularity
    }

    /// Watches a singularity that the coefficients point at, with or without a zero of a determinant.
    fn follow_tail(&mut self, size: StepSize) -> Option<StopReason> {
        self.rule.fits(&self.series, self.direction, &mut self.fits);
        let nearest = self
            .fits
            .iter()
            .map(|fit| fit.distance)
            .min_by(|a, b| a.abs().total_cmp(&b.abs()));
        let Some(distance) = nearest else {
            self.tail.streak = 0;
            return None;
        };
        let time = self.time + distance;
        let same = (time - self.tail.time).abs() < AGREEMENT * distance.abs();
        self.tail = Tail {
            time,
            distance,
            streak: if same { self.tail.streak + 1 } else { 1 },
        };
        let near = distance.abs() <= NEAR_END * self.time.abs().max(1.0);
        (near && self.tail.streak >= STREAK).then(|| self.end_of_tail(size))
    }

    /// Ends the run at the singularity that the coefficients point at.
    fn end_of_tail(&mut self, size: StepSize) -> StopReason {
        let time = self.tail.time;
        self.fits
            .retain(|fit| (fit.distance / self.tail.distance - 1.0).abs() < 2.0 * AGREEMENT);
        let nature = nature_of(&self.fits);
        // A quantity that vanishes like a power of the distance makes it a singularity of the equations.
        let quantity = self
            .monitor
            .vanishing(time)
            .filter(|&(_, exponent)| exponent > 0.1);
        match (quantity, nature) {
            (None, Nature::Unbounded) => StopReason::FiniteEscape {
                time,
                fits: self.fits.clone(),
            },
            (quantity, nature) => {
                let quantity = quantity.map(|(quantity, _)| quantity);
                let zero = Zero::touching(0, time);
                self.end_at(time, quantity, nature, zero, size)
            }
        }
    }

    /// An ordinary step of size h, or less if it fails; it ends at `end` exactly where it would reach it.
    fn step(&mut self, h: f64, end: f64) -> Option<StopReason> {
        let remaining = (end - self.time).abs();
        let rtol = self.options.tolerances.rtol;
        let mut h = h;
        let mut failure = None;
        let mut transmitted = f64::INFINITY;
        for _ in 0..MAX_HALVINGS {
            let target = if h >= remaining {
                end
            } else {
                self.time + self.direction * h
            };
            if target == self.time {
                break;
            }
            self.stages
                .predict(&self.series, target - self.time, &mut self.point);
            self.stages.set_point(target, &self.point);
            match self.attempt(target) {
                Ok(Some(zero)) => {
                    self.n_surprises += 1;
                    if self.n_surprises > MAX_SURPRISES {
                        let size = self.rule.step(&self.series);
                        let quantity = Some(zero.quantity);
                        let nature = Nature::Unresolved;
                        return Some(self.end_at(zero.time, quantity, nature, zero, size));
                    }
                    self.surprise = Some(zero);
                    return None;
                }
                Ok(None) => match self.stages.project(false) {
                    Ok(projected)
                        if projected.state_change <= REJECT * rtol
                            && projected.residual <= MAX_RESIDUAL
                            && (projected.algebraic_change <= TRANSMITTED * rtol
                                || projected.algebraic_change > LESSENED * transmitted) =>
                    {
                        match self.expand_next(projected.state_change) {
                            Ok(()) if self.slopes_agree(target - self.time) => {
                                self.accept(target);
                                return None;
                            }
                            Ok(()) => {}
                            Err(error) => failure = Some(error),
                        }
                    }
                    Ok(projected) => {
                        transmitted = projected.algebraic_change;
                        failure = Some(Failure::NoConvergence {
                            stage: 0,
                            residual: projected.residual,
                        });
                    }
                    Err(error) => failure = Some(error),
                },
                Err(error) => failure = Some(error),
            }
            self.stages.statistics.rejected += 1;
            h *= 0.5;
        }
        if self.tail.streak >= STREAK {
            let size = self.rule.step(&self.series);
            return Some(self.end_of_tail(size));
        }
        Some(match failure {
            Some(failure @ Failure::Fault(_)) => StopReason::Failed {
                time: self.time,
                failure,
            },
            _ => StopReason::AccuracyLost {
                time: self.time,
                step: h,
                residual: self.stages.levels.iter().copied().fold(0.0, f64::max),
            },
        })
    }

    /// Factors at the predicted point; a zero that lies between there and here is looked up.
    fn attempt(&mut self, target: f64) -> Result<Option<Zero>, Failure> {
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let mut locate = |solver: Option<&BlockSolver>| {
            let changed = self.monitor.changed(target, &self.point, solver);
            changed
                .and_then(|quantity| self.monitor.locate(expansion, quantity, target - self.time))
        };
        if let Some(zero) = locate(None) {
            return Ok(Some(zero));
        }
        self.stages.factor()?;
        Ok(locate(Some(self.stages.solver())))
    }

    fn expand_next(&mut self, change: f64) -> Result<(), Failure> {
        if change > FRESH * self.options.tolerances.rtol {
            self.stages.factor()?;
        }
        self.stages.expand(&mut self.next)
    }

    /// Whether the new series begins with the slopes that the present one ends with.
    ///
    /// Steps are as long as the last coefficients allow; where they happen to be small, only the equations at the end tell.
    fn slopes_agree(&self, h: f64) -> bool {
        let n = self.trajectory.n();
        let tolerances = &self.options.tolerances;
        (0..n).filter(|&j| self.rule.is_differentiated(j)).all(|j| {
            // The predicted point begins with the values and slopes of the present series there.
            let slope = self.point[n + j];
            let (value, there) = (self.next[j], self.next[n + j]);
            let size = tolerances.rtol * value.abs() + tolerances.absolute(0, j);
            let rounding = ROUNDED_SLOPE * (value.abs() + (there * h).abs());
            ((slope - there) * h).abs() <= UNEVEN * size + rounding
        })
    }

    /// Makes `next` the present expansion.
    fn accept(&mut self, target: f64) {
        self.stages.statistics.steps += 1;
        self.n_surprises = 0;
        self.keep_residuals();
        let there = Expansion {
            time: target,
            series: &self.next,
        };
        self.monitor.record(there, self.stages.solver());
        self.close(target);
        self.time = target;
        std::mem::swap(&mut self.series, &mut self.next);
    }

    /// Adds the piece of the present series up to `end`, and the points asked for in it.
    fn close(&mut self, end: f64) {
        self.close_at(end, None);
    }

    /// The same for a piece that ends at a singular time.
    fn close_at(&mut self, end: f64, zero: Option<f64>) {
        let segment = Segment {
            centre: self.time,
            start: self.time,
            end,
        };
        self.trajectory.push(segment, &self.series);
        self.save_points(segment, false, zero);
    }

    /// Solves the points asked for up to the end of a piece of the present (or the next) series.
    ///
    /// Close to a singular time the system Jacobian would magnify rounding; there the series itself is better.
    fn save_points(&mut self, segment: Segment, from_next: bool, zero: Option<f64>) {
        let Output::Points(times) = &self.options.output else {
            return;
        };
        while let Some(&time) = times.get(self.n_saved) {
            if (segment.end - time) * self.direction < 0.0 {
                break;
            }
            self.n_saved += 1;
            let series = if from_next { &self.next } else { &self.series };
            shift(
                series,
                self.trajectory.n(),
                time - segment.centre,
                &mut self.point,
            );
            self.stages.set_point(time, &self.point);
            // Projected where possible: then even a coarse series gives a point on all constraints.
            let far = |zero: f64| (time - zero).abs() > 0.25 * (segment.centre - zero).abs();
            let solvable = zero.is_none_or(far);
            if solvable && self.stages.factor().is_ok() && self.stages.project(false).is_ok() {
                self.stages.point(&mut self.point);
            }
            self.trajectory.push_point(SavedPoint {
                time,
                coefficients: self.point.clone(),
            });
        }
    }

    /// Jumps over a removable singularity, and checks that both sides belong together, section 5.
    fn jump(&mut self, landing: f64, size: StepSize) -> Option<StopReason> {
        let approach = self.approach.take()?;
        let zero = self.refined(approach.zero, size);
        let n = self.trajectory.n();
        shift(&self.series, n, landing - self.time, &mut self.point);
        self.stages.set_point(landing, &self.point);
        let landed = self.solve_point(true);
        let mut mismatch = f64::INFINITY;
        let mut residual = f64::INFINITY;
        let mut sound = false;
        let (mut companions, mut second) = (None, None);
        if let Ok(projected) = landed {
            if approach.failed_jumps < MAX_JUMPS
                && let Some(touched) = self.touched_behind(zero, landing)
            {
                // Another singular point lies in the way: the jump ends before it.
                self.approach = Some(Approach {
                    failed_jumps: approach.failed_jumps + 1,
                    ..approach
                });
                return self.jump(0.5 * (zero.time + touched), size);
            }
            residual = projected.residual;
            second = self.second_zero(zero, landing);
            mismatch = self.mismatch(zero, landing);
            if let Some(second) = second {
                mismatch = mismatch.max(self.mismatch(second, landing));
            }
            let limit = (1e4 * self.options.tolerances.rtol).max(1e-8);
            companions = self.companions(zero, landing, second.is_some());
            sound = residual <= MAX_RESIDUAL && mismatch <= limit && companions.is_some();
        }
        let distance = (zero.time - self.time).abs();
        if !sound && approach.failed_jumps < MAX_JUMPS {
            self.approach = Some(Approach {
                failed_jumps: approach.failed_jumps + 1,
                ..approach
            });
            return self.step(size.step.min(0.5 * distance), self.options.t_end);
        }
        let nature = match (sound, approach.bifurcates) {
            (true, false) => Nature::Removable,
            (true, true) => Nature::Bifurcation,
            (false, _) => Nature::Unresolved,
        };
        let stop = self.end_at(zero.time, Some(zero.quantity), nature, zero, size);
        let structure = self.stages.problem().structure();
        if let Some(singularity) = self.singularities.last_mut() {
            for block in companions.into_iter().flatten() {
                let members = &structure.blocks()[block];
                singularity.equations.extend_from_slice(&members.equations);
                singularity.unknowns.extend_from_slice(&members.unknowns);
                let n_unknowns = singularity.unknowns.len();
                singularity.null_vector.resize(n_unknowns, 0.0);
            }
            singularity.evidence.jump = Some(Jump {
                from: self.time,
                to: landing,
                residual,
                mismatch,
            });
        }
        if let Some(second) = second {
            self.end_at(second.time, Some(second.quantity), nature, second, size);
        }
        if !sound {
            return Some(stop);
        }
        self.stages.statistics.steps += 1;
        self.keep_residuals();
        self.monitor.forget();
        let landed = Expansion {
            time: landing,
            series: &self.next,
        };
        self.monitor.record(landed, self.stages.solver());
        let past_end = (landing - self.options.t_end) * self.direction >= 0.0;
        let width = 0.4 * size.reach;
        let beyond = (landing - zero.time).abs();
        let free = self.stages.problem().structure().n_degrees_of_freedom() > 0;
        let filled = !free && !past_end && distance.min(beyond) > 2.0 * width && {
            self.fill_gap(zero.time, landing, self.direction * width)
        };
        if !filled {
            self.close_at(zero.time, Some(zero.time));
            let segment = Segment {
                centre: landing,
                start: zero.time,
                end: if past_end {
                    self.options.t_end
                } else {
                    landing
                },
            };
            self.trajectory.push(segment, &self.next);
            self.save_points(segment, true, Some(zero.time));
        }
        self.time = landing;
        std::mem::swap(&mut self.series, &mut self.next);
        past_end.then_some(StopReason::Finished)
    }

    /// Covers the surroundings of a singular time that was jumped over by two expansions nearer to it.
    ///
    /// The series of both ends converge there, but slowly for the unknowns of high index. Nothing is carried on from
    /// these expansions. Says whether they could be made.
    fn fill_gap(&mut self, zero: f64, landing: f64, width: f64) -> bool {
        let n = self.trajectory.n();
        let (left, right) = (zero - width, zero + width);
        let landed = self.next.clone();
        let (mut before, mut after) = (landed.clone(), landed.clone());
        let mut solve = |from: &[f64], centre: f64, time: f64, into: &mut [f64]| {
            shift(from, n, time - centre, &mut self.point);
            self.stages.set_point(time, &self.point);
            let solved = self
                .stages
                .factor()
                .and_then(|()| self.stages.project(true));
            solved.is_ok_and(|projected| projected.residual <= MAX_RESIDUAL)
                && self.stages.factor().is_ok()
                && self.stages.expand(into).is_ok()
        };
        let sound = solve(&self.series, self.time, left, &mut before)
            && solve(&landed, landing, right, &mut after);
        if sound {
            self.close(zero - 2.0 * width);
            let add = |taylor: &mut Self, centre: f64, start: f64, end: f64| {
                let segment = Segment { centre, start, end };
                taylor.trajectory.push(segment, &taylor.next);
                taylor.save_points(segment, true, Some(zero));
            };
            self.next = before;
            add(self, left, zero - 2.0 * width, zero);
            self.next = after;
            add(self, right, zero, zero + 2.0 * width);
            self.next.clone_from(&landed);
            add(self, landing, zero + 2.0 * width, landing);
        }
        self.next = landed;
        sound
    }

    /// Another sign change of the same quantity between a zero and the landing point, close behind it.
    fn second_zero(&mut self, zero: Zero, landing: f64) -> Option<Zero> {
        if !zero.sign_change {
            return None;
        }
        let there = Expansion {
            time: landing,
            series: &self.next,
        };
        let behind = zero.time + SAME_TIME * (zero.time - self.time);
        let second = self
            .monitor
            .locate(there, zero.quantity, behind - landing)?;
        Some(second).filter(|second| second.time != behind)
    }

    /// Where a quantity vanishes without a change of its sign, between a zero and a landing point behind it.
    fn touched_behind(&mut self, zero: Zero, landing: f64) -> Option<f64> {
        let there = Expansion {
            time: landing,
            series: &self.next,
        };
        let within = SAME_TIME * (zero.time - self.time).abs();
        let window = zero.time + self.direction * within - landing;
        let touched = self.monitor.look_ahead(there, window, true)?;
        let is_other = !touched.sign_change && (touched.time - zero.time).abs() > within;
        is_other.then_some(touched.time)
    }

    /// The other blocks whose determinants change their signs at the same time; `None` if signs change elsewhere.
    ///
    /// The quantity that vanishes may do so `twice`, and then has the same sign on both sides.
    fn companions(&mut self, zero: Zero, landing: f64, twice: bool) -> Option<Vec<usize>> {
        let here = Expansion {
            time: self.time,
            series: &self.series,
        };
        let there = Expansion {
            time: landing,
            series: &self.next,
        };
        let mut flipped = self.monitor.flipped(there, self.stages.solver())?;
        let place = flipped.iter().position(|&other| other == zero.quantity);
        if place.is_some() != (zero.sign_change && !twice) {
            return None;
        }
        place.map(|place| flipped.remove(place));
        let distance = zero.time - self.time;
        let around = [1.0 - SAME_TIME, 1.0 + SAME_TIME].map(|factor| factor * distance);
        if !self.monitor.change_between(here, &flipped, around) {
            return None;
        }
        flipped.retain(|&quantity| self.monitor.block(quantity).is_some());
        Some(flipped)
    }

    /// The difference of both series at a singular time, over the unknowns of its block, or over all without one.
    fn mismatch(&self, zero: Zero, landing: f64) -> f64 {
        let n = self.trajectory.n();
        let (mut left, mut right) = (vec![0.0; n], vec![0.0; n]);
        shift(&self.series, n, zero.time - self.time, &mut left);
        shift(&self.next, n, zero.time - landing, &mut right);
        let tolerances = &self.options.tolerances;
        let relative = |&j: &usize| {
            let size = left[j].abs() + tolerances.absolute(0, j) / tolerances.rtol;
            (left[j] - right[j]).abs() / size
        };
        let blocks = self.stages.problem().structure().blocks();
        match blocks.get(zero.quantity) {
            Some(block) => block.unknowns.iter().map(relative).fold(0.0, f64::max),
            None => (0..n).map(|j| relative(&j)).fold(0.0, f64::max),
        }
    }

    /// The first switching time within the next step, and the branch that switches.
    fn first_switch(&mut self, h: f64) -> Option<(f64, usize)> {
        let mut first: Option<(f64, usize)> = None;
        for branch in 0..self.stages.n_branches() {
            let side = match self.stages.sides()[branch] {
                Ordering::Less => -1.0,
                Ordering::Greater => 1.0,
                Ordering::Equal => continue,
            };
            self.stages.switching(branch, &mut self.switching);
            let switching = &self.switching;
            let quantity = |s: f64| {
                let value = switching.iter().rev().fold(0.0, |sum, x| sum * s + x);
                side * value
            };
            let end = first.map_or(h, |(s, _)| s);
            let mut before = 0.0;
            for k in 1..=N_SWITCH_SAMPLES {
                let s = end * k as f64 / N_SWITCH_SAMPLES as f64;
                let f = quantity(self.direction * s);
                if f < 0.0 {
                    let start = quantity(self.direction * before).max(f64::MIN_POSITIVE);
                    let zero = locate::zero(before, s, start, f, |s| quantity(self.direction * s));
                    first = Some((zero, branch));
                    break;
                }
                before = s;
            }
        }
        first
    }

    /// Restarts on the other side of a branch, at its switching time.
    fn switch(&mut self, s: f64, branch: usize) -> Option<StopReason> {
        let time = self.time + self.direction * s;
        let scale = time.abs().max(1.0);
        // All branches that switch at this very time go together: abs(x) and x > 0, say.
        let together: Vec<usize> = (0..self.stages.n_branches())
            .filter(|&other| other == branch || self.switches_at(other, s, 1e-12 * scale))
            .collect();
        shift(
            &self.series,
            self.trajectory.n(),
            time - self.time,
            &mut self.point,
        );
        for &branch in &together {
            let side = self.stages.sides()[branch].reverse();
            self.stages.choose(branch, side);
        }
        self.stages.set_point(time, &self.point);
        let projected = match self.solve_point(true) {
            Ok(projected) => projected,
            Err(failure) => return Some(StopReason::Failed { time, failure }),
        };
        let expr = self.branch_expr(branch);
        self.switches.push(Switch {
            time,
            branch,
            expr,
            state_change: projected.state_change,
        });
        self.quick_switches = if s < 1e-10 * scale {
            self.quick_switches + 1
        } else {
            0
        };
        self.monitor.forget();
        self.approach = None;
        self.tail = Tail::default();
        self.accept(time);
        let back = together
            .into_iter()
            .find(|&branch| self.leaves(branch) == Some(false));
        match back {
            Some(branch) => Some(self.chattering(branch)),
            None if self.quick_switches > 10 => Some(self.chattering(branch)),
            None => None,
        }
    }

    fn switches_at(&mut self, branch: usize, s: f64, within: f64) -> bool {
        self.stages.switching(branch, &mut self.switching);
        let at = |s: f64| self.switching.iter().rev().fold(0.0, |sum, x| sum * s + x);
        let width = within.max(1e-9 * s);
        let (a, b) = (
            at(self.direction * (s - width)),
            at(self.direction * (s + width)),
        );
        a * b < 0.0
    }

    /// Whether the quantity of a branch at its switching point moves to the side chosen; `None` if it rests.
    fn leaves(&mut self, branch: usize) -> Option<bool> {
        self.stages.switching(branch, &mut self.switching);
        let side = match self.stages.sides()[branch] {
            Ordering::Less => -1.0,
            Ordering::Equal => return None,
            Ordering::Greater => 1.0,
        };
        let mut power = side;
        self.switching.iter().skip(1).find_map(|x| {
            power *= self.direction;
            (*x != 0.0).then_some(x * power > 0.0)
        })
    }

    fn branch_expr(&self, branch: usize) -> daelight_expr::ExprId {
        let tape = self.stages.problem().residual_tape();
        tape.branches().nth(branch).expect("a branch of the tape")
    }

    fn chattering(&self, branch: usize) -> StopReason {
        StopReason::Chattering {
            time: self.time,
            expr: self.branch_expr(branch),
        }
    }
}

/// What exponents say: growth without bound if one is negative, or zero as of a logarithm; a branch point otherwise.
fn nature_of(fits: &[RatioFit]) -> Nature {
    if fits.iter().any(|fit| fit.exponent < 0.05) {
        Nature::Unbounded
    } else {
        Nature::Branch
    }
}
