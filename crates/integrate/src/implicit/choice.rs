//! Which method suits a problem, here and now: series or an implicit method, and back.
//!
//! The series begin. Where stability and not accuracy bounds their steps, an implicit method is tried from the present
//! point; it goes on if it comes further at the same cost, and gives way again where the series would. Nothing is begun
//! again. Section 12 of `docs/theory/implicit.md`.

use super::{Course, Event, MAX_NODES, Method};
use crate::options::Options;
use crate::outcome::{Run, StopReason};
use crate::problem::Problem;
use crate::sliding;
use crate::start::{Start, StartError};
use crate::taylor::Taylor;
use crate::tolerances::SHRUNK;
use daelight_analysis::Completed;
use daelight_stiff::Statistics;
use std::collections::VecDeque;

/// Steps of the series in a row, less two for each that is not, that call for a trial.
const HITS: usize = 4;

/// Steps after which a trial is considered in any case, if more than [`MANY`] are forecast.
const REGULAR: usize = 40;
const MANY: f64 = 5000.0;

/// Steps of the series that the pace is read off, and the fewest between two trials.
const PACE: usize = 8;

/// Part of the cost of the whole run that trials may waste.
const ALLOWED: f64 = 0.3;

/// An implicit method goes on if it comes this many times as far at the same cost.
const BETTER: f64 = 1.3;

/// Its steps in a trial at most, and those between two looks at its pace.
const TRIAL: usize = 20;
const LOOK: usize = 3;

/// Its steps between two looks at the series, and how many times as far these must come to go on instead; where stability
/// bounds them, the second number.
const RETURN: usize = 15;
const BACK: f64 = 1.5;
const BACK_STIFF: f64 = 2.0;

/// A failed trial says nothing once the pace of the series has fallen to this part.
const STALE: f64 = 0.5;

/// Steps of the series, in units of what a failed trial cost, before the next one; doubled each time.
const WAIT: f64 = 5.0;
pub(super) const MOST_PATIENT: u32 = 6;

/// A run by the methods that suit the problem.
#[derive(Debug)]
pub struct Chosen {
    /// The run.
    pub run: Run,
    /// The method that covered most of it.
    pub method: Method,
    /// Why by this one.
    pub why: String,
}

/// Integrates by the method that suits, changes it on the way, and says why.
///
/// The tolerances are those of the series; implicit methods have ones that are `coarser` times as large, and use the part of
/// them that suits stiff problems.
pub fn solve_by_choice(
    problem: &Problem,
    start: &Start,
    options: &Options,
    coarser: f64,
) -> Result<Chosen, StartError> {
    let mut told = None;
    let run = sliding::solve(problem, start, options, &mut |start, options| {
        let chosen = choose(problem, start, options, coarser)?;
        told.get_or_insert((chosen.method, chosen.why));
        Ok(chosen.run)
    })?;
    let (method, why) = told.unwrap_or((Method::Taylor, String::new()));
    Ok(Chosen { run, method, why })
}

/// The same between switching surfaces along which the solution slides.
fn choose(
    problem: &Problem,
    start: &Start,
    options: &Options,
    coarser: f64,
) -> Result<Chosen, StartError> {
    let mut choice = Choice::new(problem, options)?;
    let began = choice.taylor.start(start)?;
    let run = choice.follow(began);
    let is_stuck = is_stuck(&run.stop);
    if !(choice.is_due || is_stuck) {
        return Ok(choice.by_series(run));
    }
    let mut coarse = options.clone();
    coarse.tolerances.rtol *= coarser;
    for atol in coarse.tolerances.atol.iter_mut().flatten() {
        *atol *= coarser;
    }
    let completed = choice.completed(coarse.tolerances.rtol);
    let course = Course::new(problem, &coarse, Method::Radau, start.time);
    let (Some(completed), Ok(mut course)) = (completed, course) else {
        // No implicit method can take the problem: the series go on alone.
        choice.is_closed = true;
        choice.is_refused = true;
        if is_stuck {
            return Ok(choice.by_series(run));
        }
        let began = choice.taylor.start(start)?;
        let run = choice.follow(began);
        return Ok(choice.by_series(run));
    };
    let stuck = run.stop.clone();
    course.choice = Some(Box::new(choice));
    let stop = match course.take_over(0, 0, run, true) {
        Some(stop) => stop,
        None => match course.begin_trial() {
            Ok(()) => course.run(Some(&completed))?,
            Err(_) if is_stuck => stuck,
            Err(failure) => StopReason::Failed {
                time: course.time,
                failure,
            },
        },
    };
    let choice = course.choice.take();
    let run = course.finish(stop);
    match choice {
        Some(choice) => Ok(choice.told(run)),
        None => Err(StartError::Options),
    }
}

/// Whether series come no further where an implicit method might.
fn is_stuck(stop: &StopReason) -> bool {
    matches!(
        stop,
        StopReason::AccuracyLost { .. } | StopReason::Failed { .. }
    )
}

/// The pace of a run by series beside others: when it is due for a trial of another method, or sooner.
///
/// Only every second step is asked whether stability bounds it; the others are taken to be such steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    n_steps: usize,
    /// At least the hits that there are.
    hits: usize,
    /// The length of the last steps, and whether many more are forecast.
    length: f64,
    is_slow: bool,
}

impl Pace {
    /// Takes a step of length h, after which a part of the run remains; whether it is to be asked.
    pub fn step(&mut self, h: f64, remaining: f64) -> bool {
        self.n_steps += 1;
        self.length += h;
        if self.n_steps.is_multiple_of(PACE) {
            // Of every piece of steps, not of the last ones alone: sooner in doubt.
            self.is_slow |=
                self.n_steps >= REGULAR && remaining * PACE as f64 > 0.5 * MANY * self.length;
            self.length = 0.0;
        }
        self.n_steps.is_multiple_of(2)
    }

    /// Takes what was asked.
    pub fn hit(&mut self, is_stiff: bool) {
        self.hits = if is_stiff {
            self.hits + 2
        } else {
            self.hits.saturating_sub(1)
        };
    }

    /// Whether a trial may be due, here or after the next step.
    pub fn calls_for_trial(&self) -> bool {
        self.hits + 1 >= HITS || self.is_slow
    }
}

/// What a method is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Series,
    /// An implicit method that has to show that it is better.
    Trial,
    Implicit,
}

/// Where a trial began, and where the series go on if it fails.
struct Mark {
    time: f64,
    series: Vec<f64>,
    n_segments: usize,
    n_points: usize,
    n_singularities: usize,
    n_switches: usize,
    steps: usize,
    implicit_steps: usize,
}

/// The series, and what is known of the costs of both ways. Costs are counted in steps of the series.
pub(super) struct Choice<'p> {
    problem: &'p Problem,
    taylor: Taylor<'p>,
    role: Role,
    /// Where the present trial began.
    mark: Option<Mark>,
    /// Whether a trial is due, and whether none will ever be, perhaps because no implicit method takes the problem.
    is_due: bool,
    is_closed: bool,
    is_refused: bool,
    hits: usize,
    /// Steps of the series since the last trial, and those to wait for.
    n_since: usize,
    wait: f64,
    n_failed: u32,
    /// Lengths of the last steps of the series.
    lengths: VecDeque<f64>,
    /// Length and cost of the last steps of the implicit method.
    paces: VecDeque<(f64, f64)>,
    /// Time per cost of the series when the trial began.
    pace: f64,
    /// Costs so far, those of the present trial, and those that trials wasted.
    cost: f64,
    trial_cost: f64,
    n_trial: usize,
    wasted: f64,
    /// The time that the series covered; where the implicit method first took over, with the steps of both there.
    length: f64,
    taken_over: Option<(f64, f64, f64)>,
}

impl<'p> Choice<'p> {
    fn new(problem: &'p Problem, options: &Options) -> Result<Self, StartError> {
        let taylor = Taylor::new(problem, options).map_err(|e| StartError::NotFound(e.into()))?;
        Ok(Self {
            problem,
            taylor,
            role: Role::Series,
            mark: None,
            is_due: false,
            is_refused: false,
            // Without states there is nothing to integrate.
            is_closed: problem.structure().n_degrees_of_freedom() == 0,
            hits: 0,
            n_since: 0,
            wait: 0.0,
            n_failed: 0,
            lengths: VecDeque::new(),
            paces: VecDeque::new(),
            pace: 0.0,
            cost: 0.0,
            trial_cost: 0.0,
            n_trial: 0,
            wasted: 0.0,
            length: 0.0,
            taken_over: None,
        })
    }

    /// The completed equations, if an implicit method can take the problem at a tolerance.
    fn completed(&self, rtol: f64) -> Option<Completed> {
        let takes = Method::Radau.can_keep(rtol) && !self.is_closed;
        let completed = takes.then(|| {
            Completed::new(
                self.problem.equations(),
                self.problem.structure(),
                MAX_NODES,
            )
        });
        completed.flatten()
    }

    /// Lets the series go on until a trial is due, or to the end.
    fn follow(&mut self, began: Option<StopReason>) -> Run {
        self.is_due = false;
        let mut stop = began;
        while stop.is_none() && !self.is_due {
            stop = self.taylor.proceed();
            if stop.is_none() && !self.is_closed {
                self.look();
            }
        }
        // A run that gives way to a trial ends where it is, without a reason of its own.
        self.taylor.finish(stop.unwrap_or(StopReason::Finished))
    }

    /// Looks at the last step of the series.
    fn look(&mut self) {
        let Some((is_stiff, h)) = self.taylor.last_step() else {
            return;
        };
        self.cost += 1.0;
        self.length += h;
        self.n_since += 1;
        self.lengths.push_back(h);
        if self.lengths.len() > PACE {
            self.lengths.pop_front();
        }
        self.hits = if is_stiff {
            self.hits + 1
        } else {
            self.hits.saturating_sub(2)
        };
        let forecast = self.taylor.remaining() / self.series_pace();
        let is_called = self.hits >= HITS
            || self.n_since.is_multiple_of(REGULAR) && self.n_since > 0 && forecast > MANY;
        let allowance = ALLOWED * (self.cost + forecast) - self.wasted;
        self.is_due = is_called
            && self.lengths.len() == PACE
            && (self.n_since as f64 >= self.wait || self.series_pace() < STALE * self.pace)
            && LOOK as f64 * self.implicit_cost() < allowance;
    }

    /// Time per step of the series.
    fn series_pace(&self) -> f64 {
        self.lengths.iter().sum::<f64>() / self.lengths.len().max(1) as f64
    }

    /// A guess of what a step of the implicit method costs.
    fn implicit_cost(&self) -> f64 {
        (3.0 + self.factor_cost()) / self.series_cost()
    }

    /// What a step of the series costs beside the same work in a small problem: its jets grow with the unknowns, what comes
    /// with every residual and matrix does not. Measured 1 for 3 unknowns, 2 for 8, 5 for 15, 3.5 for 400, 4 for 2000.
    fn series_cost(&self) -> f64 {
        (0.25 * self.problem.n() as f64).clamp(1.0, 4.0)
    }

    /// A factorisation of Radau's matrices in steps of the series, which factor a matrix too.
    fn factor_cost(&self) -> f64 {
        let n = self.problem.n() as f64;
        (0.01 * n * n).clamp(1.0, 5.0)
    }

    /// What work of the implicit method costs: measured 3.9 to 4.6 for a step of Radau with three stages, for 2 to 8 unknowns.
    ///
    /// With s stages an iteration has s residuals, and a factorisation counts as 2 s - 1 real ones.
    fn cost_of(&self, before: &Statistics, after: &Statistics) -> f64 {
        let count = |a: usize, b: usize| (b - a) as f64;
        let residuals = count(before.residuals, after.residuals);
        let iterations = count(before.iterations, after.iterations).max(1.0);
        let share = (2.0 * (residuals / iterations).round() - 1.0).max(1.0) / 5.0;
        let cost = 0.5
            + 0.8 / 3.0 * residuals
            + self.factor_cost() * share * count(before.factorizations, after.factorizations)
            + 0.5 * count(before.jacobians, after.jacobians);
        cost / self.series_cost()
    }

    /// A run by series alone, and why.
    fn by_series(&self, run: Run) -> Chosen {
        let n_steps = run.statistics.steps;
        let why = match &run.stop {
            StopReason::Budget(_) => format!("the budget ended the series after {n_steps} steps"),
            _ if self.is_refused => {
                "the series, since no implicit method can take the problem".to_string()
            }
            _ => format!("the series need only {n_steps} steps: not stiff"),
        };
        Chosen {
            run,
            method: Method::Taylor,
            why,
        }
    }

    /// A run by both, and why.
    fn told(&self, run: Run) -> Chosen {
        // A trial that comes to the end has shown enough.
        let at_end = || {
            let (mark, (h, _)) = (self.mark.as_ref()?, self.paces.back()?);
            Some((mark.time, self.pace, *h))
        };
        let Some((time, h, longer)) = self.taken_over.or_else(at_end) else {
            return Chosen {
                run,
                method: Method::Taylor,
                why: "not stiff: radau was tried and came no further".to_string(),
            };
        };
        let span = run.trajectory.span().map_or(0.0, |(a, b)| (b - a).abs());
        let is_mostly_series = self.length > 0.5 * span;
        Chosen {
            run,
            method: if is_mostly_series {
                Method::Taylor
            } else {
                Method::Radau
            },
            why: format!(
                "stiff: from t = {time:.1e} the series were bound to steps of {h:.1e}, where radau took {longer:.1e}"
            ),
        }
    }
}

impl Course<'_> {
    /// A leg by series, until they end or a trial is due.
    pub(super) fn series_leg(&mut self) -> Event {
        let Some(mut choice) = self.choice.take() else {
            return Event::Failed(None);
        };
        let spent = self.work.steps + self.work.rejected;
        let n_stored = self.trajectory.n_stored();
        let options = choice.taylor.options_mut();
        options.max_steps = self.options.max_steps.saturating_sub(spent).max(1);
        options.max_stored = self.options.max_stored.saturating_sub(n_stored);
        if let crate::Output::Points(times) = &self.options.output {
            let n_saved = self.trajectory.points().len().min(times.len());
            options.output = crate::Output::Points(times[n_saved..].to_vec());
        }
        let begun = choice.taylor.start(&self.here());
        let event = match begun {
            Ok(began) => {
                let run = choice.follow(began);
                let is_stuck = is_stuck(&run.stop);
                let (n_segments, n_points) = (
                    self.trajectory.segments().len(),
                    self.trajectory.points().len(),
                );
                match self.take_over(n_segments, n_points, run, choice.is_due || is_stuck) {
                    Some(stop) => Event::Ended(stop),
                    None => Event::Trial,
                }
            }
            // The point is one for the implicit method only.
            Err(_) => Event::Trial,
        };
        self.choice = Some(choice);
        event
    }

    /// The present point, as the start of another leg.
    fn here(&self) -> Start {
        let n = self.problem.n();
        let n_orders = self.problem.max_unknown_offset() + 1;
        let rows = self.series.chunks_exact(n.max(1)).take(n_orders);
        Start::new(self.time, rows.map(<[f64]>::to_vec).collect())
    }

    /// Lets the implicit method show what it can do from the present point.
    pub(super) fn begin_trial(&mut self) -> Result<(), crate::Failure> {
        // What ends a run here ends the trial, and the series know it too.
        let _ = self.begin()?;
        let mark = Mark {
            time: self.time,
            series: self.series.clone(),
            n_segments: self.trajectory.segments().len(),
            n_points: self.trajectory.points().len(),
            n_singularities: self.singularities.len(),
            n_switches: self.switches.len(),
            steps: self.work.steps,
            implicit_steps: self.work.implicit_steps,
        };
        if let Some(choice) = &mut self.choice {
            choice.role = Role::Trial;
            choice.mark = Some(mark);
            choice.pace = choice.series_pace();
            (choice.trial_cost, choice.n_trial) = (0.0, 0);
            choice.hits = 0;
            choice.paces.clear();
            self.step = Some(choice.pace).filter(|h| *h > 0.0);
        }
        self.longest_piece = None;
        Ok(())
    }

    /// Whether the series are doing the work.
    pub(super) fn is_by_series(&self) -> bool {
        let choice = self.choice.as_ref();
        choice.is_some_and(|choice| choice.role == Role::Series)
    }

    /// Whether the implicit method has to show that it is better.
    pub(super) fn is_on_trial(&self) -> bool {
        let choice = self.choice.as_ref();
        choice.is_some_and(|choice| choice.role == Role::Trial)
    }

    /// Goes back to the series; to where a trial began, if one failed. Its steps are forgotten: where errors do not die out
    /// those of the series are smaller.
    pub(super) fn return_to_series(&mut self) {
        let Some(choice) = &mut self.choice else {
            return;
        };
        if choice.role == Role::Trial {
            choice.lose();
        }
        choice.role = Role::Series;
        choice.n_since = 0;
        choice.lengths.clear();
        if let Some(mark) = choice.mark.take() {
            self.trajectory.truncate(mark.n_segments, mark.n_points);
            self.singularities.truncate(mark.n_singularities);
            self.switches.truncate(mark.n_switches);
            self.time = mark.time;
            self.series = mark.series;
            self.work.steps = mark.steps;
            self.work.implicit_steps = mark.implicit_steps;
        }
    }

    /// Weighs a step of the implicit method that was accepted; says whether the series should go on.
    pub(super) fn weigh_step(&mut self, h: f64, before: &Statistics, after: &Statistics) -> bool {
        let Some(mut choice) = self.choice.take() else {
            return false;
        };
        let cost = choice.cost_of(before, after);
        choice.cost += cost;
        choice.paces.push_back((h, cost));
        if choice.paces.len() > RETURN {
            choice.paces.pop_front();
        }
        let goes_back = match choice.role {
            Role::Trial => choice.is_lost(self.time, h, cost),
            _ => {
                choice.n_trial += 1;
                let has_shrunk = h * SHRUNK < self.longest;
                if has_shrunk {
                    self.longest = h;
                }
                let looks = has_shrunk || choice.n_trial.is_multiple_of(RETURN);
                looks && self.series_are_better(&mut choice, h)
            }
        };
        self.choice = Some(choice);
        goes_back
    }

    /// Whether the series would come further from here.
    fn series_are_better(&mut self, choice: &mut Choice<'_>, h: f64) -> bool {
        let (length, cost) = choice
            .paces
            .iter()
            .fold((0.0, 0.0), |(l, c), (h, cost)| (l + h, c + cost));
        let per_step = cost / choice.paces.len().max(1) as f64;
        let n = self.problem.n();
        let point = &self.series[..n * (self.problem.max_unknown_offset() + 1)];
        self.work += Statistics {
            jets: 1,
            factorizations: 1,
            ..Statistics::default()
        };
        let Some((is_stiff, step)) = choice.taylor.step_from(self.time, point) else {
            return false;
        };
        let times = if is_stiff { BACK_STIFF } else { BACK };
        step > times * length / cost && step > times * h / per_step
    }
}

impl Choice<'_> {
    /// Counts a step of a trial; says whether the trial failed.
    fn is_lost(&mut self, time: f64, h: f64, cost: f64) -> bool {
        self.trial_cost += cost;
        self.n_trial += 1;
        let per_step = self.trial_cost / self.n_trial as f64;
        if self.n_trial.is_multiple_of(LOOK) && h / per_step > BETTER * self.pace {
            self.role = Role::Implicit;
            self.taken_over.get_or_insert((time, self.pace, h));
            self.n_failed = 0;
            self.n_trial = 0;
            self.wait = 0.0;
            self.mark = None;
            return false;
        }
        let forecast = self.taylor.remaining_from(time) / self.pace;
        let allowance = ALLOWED * (self.cost + forecast) - self.wasted;
        self.n_trial >= TRIAL || self.trial_cost >= allowance
    }

    /// A trial failed: the next one has to wait.
    fn lose(&mut self) {
        self.wasted += self.trial_cost;
        self.wait = WAIT * self.trial_cost * f64::from(1 << self.n_failed.min(MOST_PATIENT));
        self.n_failed += 1;
    }
}
