//! Runs of models with events: legs of continuous motion between them, and what happens at each.
//!
//! A leg integrates the equations of the present mode with all that is discrete held, and ends at the next scheduled time or
//! where a held relation changes (`scan.rs`). Then discrete variables are evaluated in their order
//! until nothing changes, `reinit` is applied, and the consistent point of the new mode begins the next leg.
//! `docs/theory/hybrid.md`.

mod border;
mod delay;
mod event;
mod impulse;
mod instant;
mod lead;
mod mode;
mod program;
mod restart;
mod resume;
mod scan;
mod search;
mod shadow;
mod start;
mod timed;
mod values;
mod zeno;

pub use daelight_show::record::{Change, EventRecord as Event};
pub use lead::indicator_texts;
pub(crate) use lead::{
    Indicator, Resting, Stand, equations_resting, indicators, jet_next_to, lead, states_of_modes,
};
pub use mode::Mode;
pub(crate) use resume::{Middle, resume_hybrid};
pub(crate) use scan::EventScan;
pub use scan::Events;
pub(crate) use shadow::{Change as Moving, Shadow, TracedEvent, model_in_mode, solve_traced};
pub(crate) use start::conditions;
pub use start::{
    DiscreteStart, Given, ListedMode, StartMode, changes_kind, equations_at_start, list_modes,
    start_mode, switches_unknowns,
};

pub(crate) use timed::{Bounds, Parts, Timed};
pub(crate) use values::settings;
pub use values::{Instant, Taken, TakesRows};

use crate::samples::NamedRows;
use crate::solve::{
    NoRun, Route, START_ORDER, Solution, SolveOptions, run_from, tolerance, unchecked,
};
use daelight_analysis::System;
use daelight_analysis::initial::{ConsistentPoint, Request};
use daelight_integrate::implicit::Method;
use daelight_integrate::{Statistics, StopReason, Trajectory};
use daelight_lang::{ChangedBy, Code, Diagnostic, Hybrid, Model, Span, StopKind};
use daelight_show::record::{EventList, SingularityRecord, Spans, SwitchRecord};
use mode::Modes;
pub(crate) use program::Point;
use program::{Layout, Program};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Rounds of an event before it is called endless.
const MAX_ROUNDS: usize = 100;

/// Sides of a relation, and times of events, that differ by less than this part of their sizes are the same as far as numbers tell: some
/// operations lie between them.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// A continuous stretch between two events.
pub struct Stretch {
    /// The mode, in [`HybridSolution::modes`].
    pub mode: usize,
    /// The series.
    pub trajectory: Trajectory,
    pub(crate) route: Route,
    /// Values of all parameters, held quantities among them.
    pub parameters: Vec<f64>,
}

/// Why a run with events ended.
pub enum HybridEnd {
    /// At the end asked for.
    Finished,
    /// Where the stopping condition holds.
    Stopped,
    /// By `terminate`.
    Terminated {
        /// Its message.
        message: String,
        /// Its place.
        span: Span,
    },
    /// By an assert.
    Asserted {
        /// Its message.
        message: String,
        /// Its place.
        span: Span,
    },
    /// Two start values of a discrete variable contradict each other.
    StartConflict {
        /// The variable.
        name: String,
        /// Both values.
        values: [f64; 2],
        /// Its declaration.
        span: Span,
    },
    /// The event never settles.
    EndlessEvent {
        /// What still changes.
        names: Vec<String>,
    },
    /// A discrete variable has no value.
    NoValue {
        /// The variable.
        name: String,
        /// The line of what has none.
        line: Option<usize>,
        /// The condition of the `while` that does not come to its end, if that is why.
        endless: Option<String>,
    },
    /// Events follow each other without progress.
    Accumulation {
        /// The conditions.
        names: Vec<String>,
    },
    /// Events follow each other ever faster towards a limit.
    Zeno {
        /// The limit.
        limit: f64,
        /// The conditions.
        names: Vec<String>,
        /// Whether one event alone stops what it sets: a plastic impact.
        is_single: bool,
    },
    /// A whole number is too large to be known.
    TooLarge {
        /// The variable.
        name: String,
        /// Its value.
        value: f64,
    },
    /// There is no consistent point after the event.
    NoPoint {
        /// Why.
        why: String,
    },
    /// A differentiated unknown would have to jump, and nothing says how.
    Jump {
        /// The unknown, what it was, and what the new equations ask for.
        unknown: String,
        /// Its value before.
        from: f64,
        /// The value next to it that is consistent.
        to: f64,
    },
    /// An integral of more than an impulse, such as its square, would grow beyond all bounds.
    Boundless {
        /// The integral.
        unknown: String,
        /// Its equation.
        equation: String,
        /// The line of that.
        line: usize,
    },
    /// As a continuous run ends.
    Continuous(Box<(System, Solution)>),
    /// The equations of a mode cannot be run.
    NoRun(Box<(System, NoRun)>),
}

/// A run of a model with events.
pub struct HybridSolution {
    /// Where it began.
    pub from: f64,
    /// Where it was to end.
    pub to: f64,
    /// The time reached.
    pub reached: f64,
    /// The relative tolerance.
    pub rtol: f64,
    /// The continuous stretches.
    pub legs: Vec<Stretch>,
    /// What happened between them.
    pub events: Arc<EventList>,
    /// The modes met.
    pub modes: Vec<Mode>,
    /// How often accumulated events were passed.
    pub accumulated: usize,
    /// When it was in which mode.
    pub spans: Arc<Spans>,
    /// Why it ended.
    pub end: HybridEnd,
    /// The work.
    pub statistics: Statistics,
    /// Greatest scaled residuals, level by level.
    pub residuals: Vec<f64>,
    /// The method that did the work.
    pub method: Method,
    /// Singular points in the order they were met.
    pub singularities: Vec<SingularityRecord>,
    /// Times at which the equations changed a branch without an event.
    pub switches: Vec<SwitchRecord>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
    /// Positions of all parameters that are held between events.
    pub held: Vec<usize>,
    /// Values of all parameters at the end.
    pub parameters: Vec<f64>,
    /// Values of all unknowns at the end.
    pub last: Vec<f64>,
}

impl HybridSolution {
    /// A run of which nothing is done yet.
    fn begun((from, to): (f64, f64), rtol: f64) -> Self {
        Self {
            from,
            to,
            reached: from,
            rtol,
            legs: Vec::new(),
            events: Arc::default(),
            modes: Vec::new(),
            accumulated: 0,
            spans: Arc::default(),
            end: HybridEnd::Finished,
            statistics: Statistics::default(),
            residuals: Vec::new(),
            method: Method::Taylor,
            singularities: Vec::new(),
            switches: Vec::new(),
            warnings: Vec::new(),
            held: Vec::new(),
            parameters: Vec::new(),
            last: Vec::new(),
        }
    }
}

/// The state of a run.
struct Driver<'m> {
    model: &'m Model,
    hybrid: &'m Hybrid,
    options: &'m SolveOptions,
    program: Program,
    layout: Layout,
    modes: Modes<'m>,
    /// Values of all parameters.
    values: Vec<f64>,
    point: Point,
    /// What the next leg begins with.
    start: Option<ConsistentPoint>,
    mode: usize,
    /// The jet with more derivatives that was asked for last.
    deeper: std::cell::RefCell<Option<restart::Deeper>>,
    /// Held parameters that the continuous equations read, and their values at the present point.
    read: Vec<usize>,
    read_at: Vec<f64>,
    /// Which discrete variables no relation of unknowns decides, directly.
    by_previous: Vec<bool>,
    /// What jumped at the present event, and the impulses that made it.
    jumped: Vec<usize>,
    impulses: Vec<(Arc<str>, f64)>,
    /// What events are told with.
    words: event::Words,
    /// Relations that the last leg kept on their border.
    resting: Vec<bool>,
    /// Relations that the motion of the present leg keeps on their border.
    staying: Vec<bool>,
    /// Relations that left their border at the last event: they are what they are behind it.
    released: Vec<usize>,
    /// Relations that change within the present instant, whatever their numbers at its time say.
    crossed: Vec<usize>,
    /// When the work began.
    since: std::time::Instant,
    /// The point and the parameters when the present event began.
    began: Option<(Point, Vec<f64>)>,
    /// For each relation the instant at which it changed last, and how often there.
    flips: Vec<(f64, usize)>,
    /// When the last leg with quiet relations began, and how long they were so.
    quiet: (f64, f64),
    /// When an unknown was last set.
    set_at: f64,
    /// A `terminate` that the present event fires: the run ends behind it.
    terminated: Option<HybridEnd>,
    /// Relations whose events accumulated, at which the run goes on at rest.
    rested: Vec<usize>,
    /// For causes of events that change something the last of them.
    alike: HashMap<Arc<[String]>, VecDeque<Event>>,
    /// Causes of events that accumulate, and their limit.
    foretold: Option<(Arc<[String]>, zeno::Limit)>,
    /// How long the hop is behind the last event, if numbers do not show it.
    hidden: Option<f64>,
    /// A relation whose events accumulated, whose sides stay equal since.
    contact: Option<zeno::Contact>,
    /// Differences of the sides of relations that count as none, where others locate events.
    slack: Vec<f64>,
    /// The next instant of each `sample`.
    instants: Vec<u64>,
    /// What takes values while the run goes on; without it all legs are kept.
    sampler: Option<values::Sampler<'m>>,
    /// What events did, where that is kept.
    trace: Option<shadow::Trace>,
    /// What delayed expressions were.
    pasts: Vec<delay::Past>,
    out: HybridSolution,
}

/// Runs a model with events; where there is no run, the equations of the mode that has no start tell why.
pub fn solve_hybrid(
    model: &Model,
    system: &System,
    options: &SolveOptions,
) -> Result<HybridSolution, (Option<Box<System>>, NoRun)> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        let why = "the model has no events".to_string();
        return Err((None, NoRun::Equations(why)));
    };
    forward_only(system, options)?;
    let driver = Driver::new(model, hybrid, system, options);
    driver.solve().map(|(solution, _)| solution)
}

/// A number to stop at says nothing of the side from which an event is to be met.
pub fn needs_condition(model: &Model) -> Result<(), Box<Diagnostic>> {
    match model.stop_when {
        Some(stop) if stop.kind != StopKind::Condition => {
            let message = "--stop-when needs a condition where a model has events";
            let help = "say from which side: `x > 1` ends the run where x rises to 1, `x < 1` where it falls to it";
            Err(Diagnostic::placeless(Code::BadInput, message)
                .help(help)
                .into())
        }
        _ => Ok(()),
    }
}

/// Events happen forwards in time.
fn forward_only(
    system: &System,
    options: &SolveOptions,
) -> Result<(), (Option<Box<System>>, NoRun)> {
    let (from, to) = crate::span_of_run(system, options);
    if to >= from {
        return Ok(());
    }
    let message = format!("a model with events runs forwards only, not from t = {from} to {to}");
    let refused = Diagnostic::placeless(Code::BadInput, message);
    let refused = refused.help("give a later end with --to, or an earlier start with --from");
    Err((None, NoRun::Fault(Box::new(refused))))
}

/// A run, and values along it.
pub type Sampled = (HybridSolution, Result<NamedRows, String>);

/// Runs a model with events and takes values at times while it goes on, with both sides of events if wanted; what lies behind
/// is not kept.
pub fn solve_sampled<'m>(
    model: &'m Model,
    system: &System,
    options: &'m SolveOptions,
    taken: Taken<'m>,
) -> Result<Sampled, (Option<Box<System>>, NoRun)> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        let why = "the model has no events".to_string();
        return Err((None, NoRun::Equations(why)));
    };
    forward_only(system, options)?;
    let mut driver = Driver::new(model, hybrid, system, options);
    if taken.told_only {
        driver.out.events = Arc::new(EventList::of_told());
        driver.out.spans = Arc::new(Spans::of_first());
    }
    driver.sampler = Some(values::Sampler::new(model, Some(hybrid), taken));
    let (solution, rows) = driver.solve()?;
    Ok((solution, rows.unwrap_or(Ok((Vec::new(), Vec::new())))))
}

/// A run, and values along it if they were taken.
type Kept = (HybridSolution, Option<Result<NamedRows, String>>);

/// What ends the work.
enum Stop {
    NoRun(Option<Box<System>>, NoRun),
    End(HybridEnd),
}

impl From<HybridEnd> for Stop {
    fn from(end: HybridEnd) -> Self {
        Self::End(end)
    }
}

impl<'m> Driver<'m> {
    fn new(
        model: &'m Model,
        hybrid: &'m Hybrid,
        system: &System,
        options: &'m SolveOptions,
    ) -> Self {
        let symbols = system.equations().symbols();
        let (from, to) = crate::solve::span_of_run(system, options);
        let delayed = delay::signals(hybrid, from);
        let mut signals = symbols.signals().to_vec();
        signals.extend(delayed.iter().cloned());
        let mut driven = model.symbols.clone();
        driven.set_signals(signals.clone());
        let stop = model.stop_when.map(|stop| stop.expr);
        let zero = model.parameters.first().map(|p| p.definition);
        let zero = zero.unwrap_or_else(|| model.graph.id(0));
        let (layout, mut exprs) = Layout::of(hybrid, stop, zero);
        exprs.extend(model.energy);
        let values = system.parameters().values().to_vec();
        let unknowns = system.unknowns();
        let point = Point {
            time: from,
            values: unknowns.iter().map(|u| u.start.unwrap_or(0.0)).collect(),
            rates: vec![0.0; unknowns.len()],
        };
        let read = values::read_by_equations(model, hybrid);
        let warnings = Vec::from_iter(values::silent_inputs(model, &driven, &exprs));
        let modes = Modes::new(model, hybrid, signals, tolerance(system, options));
        Self {
            // Inputs without a signal are 0 there.
            program: Program::new(
                &modes.model,
                &driven,
                &exprs,
                layout.relations..layout.limits,
            )
            .with_nominals(border::nominals(unknowns.iter().map(|u| u.nominal))),
            layout,
            resting: vec![false; hybrid.relations.len()],
            staying: vec![false; hybrid.relations.len()],
            released: Vec::new(),
            crossed: Vec::new(),
            since: std::time::Instant::now(),
            began: None,
            flips: vec![(f64::NAN, 0); hybrid.relations.len()],
            quiet: (f64::NAN, 0.0),
            set_at: f64::NAN,
            terminated: None,
            modes,
            read_at: read.iter().map(|&p| values[p]).collect(),
            by_previous: values::by_previous(model, hybrid),
            read,
            start: None,
            deeper: std::cell::RefCell::default(),
            jumped: Vec::new(),
            impulses: Vec::new(),
            words: event::Words::new(model, hybrid),
            mode: 0,
            rested: Vec::new(),
            alike: HashMap::new(),
            foretold: None,
            hidden: None,
            contact: None,
            slack: Vec::new(),
            instants: vec![0; hybrid.samples.len()],
            sampler: None,
            trace: None,
            pasts: delay::Past::all(model, hybrid, &delayed),
            out: HybridSolution {
                warnings,
                held: hybrid.held_parameters().collect(),
                ..HybridSolution::begun((from, to), tolerance(system, options))
            },
            model,
            hybrid,
            options,
            values,
            point,
        }
    }

    /// Leg after leg, event after event.
    fn run(&mut self) -> HybridEnd {
        let mut recent: VecDeque<f64> = VecDeque::new();
        loop {
            self.keep_discrete_pasts();
            let next = self.next_time();
            if next > self.point.time && self.point.time >= self.out.to {
                if next > self.out.to + self.instant_long() {
                    return self.at_the_end();
                }
                // What is due within the instant of the end happens at it.
                self.out.to = next;
            }
            // Events that accumulate end where they have their limit, however well rounding lets the last of them be seen.
            let limit = self.limit().filter(|&limit| limit > self.point.time);
            if next > self.point.time {
                match self.leg(next.min(self.out.to).min(limit.unwrap_or(f64::INFINITY))) {
                    Ok(true) => {}
                    Ok(false) if limit.is_some_and(|limit| limit < next.min(self.out.to)) => {
                        if let Some(end) = self.end_of_accumulation() {
                            return end;
                        }
                        continue;
                    }
                    // The end, unless something is scheduled just there.
                    Ok(false) if next > self.point.time => continue,
                    Ok(false) => {}
                    Err(end) => return end,
                }
            }
            match self.contact_ends() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(end) => return end,
            }
            if let Err(end) = self.event() {
                return end;
            }
            // So many events within a time that hardly differs from none lead nowhere.
            let now = self.point.time;
            recent.push_back(now);
            let flips = (0..self.flips.len()).any(|at| self.has_flipped(at));
            let window = MAX_ROUNDS * if flips { MAX_ROUNDS } else { 1 };
            if recent.len() > MAX_ROUNDS
                && let Some(first) = recent.pop_front()
                && now - first <= window as f64 * self.instant_long()
            {
                match self.loosen(first) {
                    Ok(true) => recent.clear(),
                    Ok(false) => {
                        let names = self.last_causes();
                        return HybridEnd::Accumulation { names };
                    }
                    Err(end) => return end,
                }
            }
            if self.is_stopped() {
                return HybridEnd::Stopped;
            }
            if let Some(end) = self.end_of_accumulation() {
                return end;
            }
        }
    }

    /// How the run ends by events that accumulate here; `None` if there are none, or the run goes on at rest.
    fn end_of_accumulation(&mut self) -> Option<HybridEnd> {
        let limit = self.accumulation()?;
        let names = self.last_causes();
        if limit.is_infinite() {
            return Some(HybridEnd::Accumulation { names });
        }
        let is_single = self.is_plastic();
        let rests = match self.options.rests_at_zeno {
            true => self.come_to_rest(),
            false => Ok(false),
        };
        match rests {
            Ok(true) => {
                self.forget_accumulation();
                self.out.accumulated += 1;
                let how = match self.contact {
                    Some(_) => "its sides stay equal, as long as that takes a push and no pull",
                    None => "what they set rests",
                };
                let causes = names.join(", ");
                self.out.warnings.push(match is_single {
                    true => format!("At t = {limit} ({causes}) something is stopped and led back at once; from there on {how}."),
                    false => format!("Events ({causes}) accumulate at t = {limit}; from there on {how}."),
                });
                None
            }
            Ok(false) => Some(HybridEnd::Zeno {
                limit,
                names,
                is_single,
            }),
            Err(end) => Some(end),
        }
    }

    fn last_causes(&self) -> Vec<String> {
        let last = self.out.events.last();
        last.map(|event| event.causes.to_vec()).unwrap_or_default()
    }

    /// Whether the stopping condition of the user holds.
    fn is_stopped(&mut self) -> bool {
        self.model.stop_when.is_some()
            && self
                .program
                .value(self.layout.stop, &self.point, &self.values)
                != 0.0
    }

    /// A last event where the run ends.
    fn at_the_end(&mut self) -> HybridEnd {
        let Some(terminal) = self.hybrid.terminal else {
            return HybridEnd::Finished;
        };
        self.values[terminal] = 1.0;
        match self.event() {
            Ok(()) => HybridEnd::Finished,
            Err(end) => end,
        }
    }

    /// The next time at which something is scheduled, or the present time if it is due.
    fn next_time(&mut self) -> f64 {
        let now = self.point.time;
        let mut next = self.next_jump().max(now);
        for at in 0..self.hybrid.samples.len() {
            next = next.min(self.instant(at, self.instants[at]));
        }
        // A `sample` that differs from the end by rounding falls on it, (H3f).
        let end = self.out.to;
        if next > end && next <= end + ROUNDING * end.abs() {
            next = end;
        }
        for (at, relation) in self.hybrid.relations.iter().enumerate() {
            let ChangedBy::Time { after, .. } = relation.by else {
                continue;
            };
            let limit = self.layout.limits + at;
            let limit = self.program.value(limit, &self.point, &self.values);
            let holds = (now >= limit) == after;
            if holds != (self.values[relation.parameter] != 0.0) {
                next = next.min(now);
            } else if limit > now {
                next = next.min(limit);
            }
        }
        next
    }

    /// Instant n of a `sample`: by counting, never by adding.
    fn instant(&mut self, sample: usize, n: u64) -> f64 {
        let at = self.layout.samples + 2 * sample;
        let start = self.program.value(at, &self.point, &self.values);
        let interval = self.program.value(at + 1, &self.point, &self.values);
        start + n as f64 * interval
    }

    /// Integrates to a time, or to the first event before it: whether there was one.
    fn leg(&mut self, to: f64) -> Result<bool, HybridEnd> {
        self.hold()?;
        self.enter_behind(to);
        let from = self.point.time;
        let is_implicit = matches!(self.options.method, Some(Method::Radau | Method::Bdf));
        let low = is_implicit.then(|| self.low_hop()).flatten();
        let to = to.min(low.unwrap_or(f64::INFINITY));
        let options = SolveOptions {
            from: Some(from),
            to: Some(to.min(self.known_until())),
            method: low.map_or(self.options.method, |_| Some(Method::Taylor)),
            rtol: Some(self.out.rtol),
            events: Some(Arc::clone(&self.modes.list[self.mode].events)),
            ..self.options.after(self.since)
        };
        self.look_who_stays();
        let start = self.start.take();
        let point = start.unwrap_or_else(|| restart::guess(&self.point));
        let request = Request {
            time: from,
            guess: self.point.values.clone(),
            given: Vec::new(),
            conditions: Vec::new(),
            order: point.order,
            budget: std::time::Duration::from_secs(10),
        };
        let quiet = (0..self.flips.len()).filter(|&at| self.has_flipped(at));
        let quiet: Vec<usize> = quiet.collect();
        let mode = &self.modes.list[self.mode];
        let least = self.instant_long();
        if !quiet.is_empty() {
            let (before, long) = self.quiet;
            let long = match from - before <= 4.0 * long {
                true => (2.0 * long).min(MAX_ROUNDS as f64 * least),
                false => least,
            };
            self.quiet = (from, long);
        }
        mode.events.set_quiet(quiet, self.quiet.1);
        let staying = (0..self.staying.len()).filter(|&at| self.staying[at]);
        mode.events.set_staying(staying.collect());
        mode.events.set_released(self.released.clone());
        let found = (point, request);
        let run = run_from(&mode.system, &mode.setup, &options, found, &mut |_| {});
        for (at, rests) in self.resting.iter_mut().enumerate() {
            *rests = !mode.events.was_decided(at);
        }
        match run {
            Ok(solution) => self.take_leg(solution),
            Err(no_run) => Err(HybridEnd::NoRun(Box::new((mode.system.clone(), no_run)))),
        }
    }

    /// Adds a leg to the run and goes to its end: whether that is an event.
    fn take_leg(&mut self, mut solution: Solution) -> Result<bool, HybridEnd> {
        self.out.statistics += solution.run.statistics;
        values::keep_greatest(&mut self.out.residuals, &solution.run.residuals);
        if solution.method != Method::Taylor {
            self.out.method = solution.method;
        }
        for warning in &solution.warnings {
            values::note_once(&mut self.out.warnings, warning);
        }
        let struck = self.struck_within(&solution);
        if let Some(time) = struck {
            solution.run.trajectory.end_at(time);
            solution.run.stop = StopReason::Stopped { time };
        }
        self.end_leg(&mut solution, struck.is_none());
        let reached = self.point.time;
        self.out.reached = reached;
        Arc::make_mut(&mut self.out.spans).go(self.mode, (solution.from, reached));
        if !self.keep_past(&solution) {
            let why = "a delayed expression has no value".to_string();
            return Err(HybridEnd::NoPoint { why });
        }
        if struck.is_some() {
            self.part();
            self.restart(&[])?;
        }
        let system = &self.modes.list[self.mode].system;
        let (singularities, switches) = crate::record::met(system, &solution);
        self.out.singularities.extend(singularities);
        self.out.switches.extend(switches);
        let leg = |trajectory, route| Stretch {
            mode: self.mode,
            trajectory,
            route,
            parameters: self.values.clone(),
        };
        let is_event = match solution.run.stop {
            StopReason::Finished => false,
            StopReason::Stopped { .. } if solution.broken.is_empty() => true,
            _ => {
                let kept = leg(solution.run.trajectory.clone(), solution.route.clone());
                self.out.legs.push(kept);
                let ended = Box::new((system.clone(), solution));
                return Err(HybridEnd::Continuous(ended));
            }
        };
        let leg = leg(solution.run.trajectory, solution.route);
        self.out.legs.push(leg);
        if let Some(sampler) = &mut self.sampler
            && self.out.legs.len() > 1
        {
            let leg = self.out.legs.remove(0);
            sampler.add(&leg, &self.modes.list[leg.mode].system, false);
        }
        Ok(is_event)
    }

    /// Goes to the end of a leg; where something happens there, to the point and the time at which it does.
    fn end_leg(&mut self, solution: &mut Solution, happens: bool) {
        let reached = solution.reached();
        let system = &self.modes.list[self.mode].system;
        let mut way = solution.route.way_back(system);
        let trajectory = &mut solution.run.trajectory;
        if let Some(jet) = way.jet(trajectory, reached, START_ORDER + 1) {
            self.point.values.copy_from_slice(jet.values());
            self.point.rates = (0..jet.n_unknowns()).map(|u| jet.get(u, 1)).collect();
            self.start = Some(unchecked(reached, jet));
        }
        self.point.time = reached;
        let is_due = match solution.run.stop {
            _ if !happens => false,
            StopReason::Stopped { .. } if solution.broken.is_empty() => {
                self.arrive(&mut way, trajectory);
                true
            }
            StopReason::Finished => self.next_time() <= reached,
            _ => false,
        };
        if is_due {
            self.gather(&mut way, trajectory);
            trajectory.reach(self.point.time);
        }
    }

    /// Runs to the end, and tells the values that were taken.
    fn solve(mut self) -> Result<Kept, (Option<Box<System>>, NoRun)> {
        let end = match self.initialise() {
            Ok(()) => self.run(),
            Err(Stop::NoRun(system, no_run)) => return Err((system, no_run)),
            Err(Stop::End(end)) => end,
        };
        let rows = self.sampler.take().map(|mut sampler| {
            let happens = self.out.ends_with_event();
            for leg in &self.out.legs {
                sampler.add(leg, &self.modes.list[leg.mode].system, !happens);
            }
            if happens {
                sampler.close(self.out.reached, &self.point.values, &self.values);
            }
            sampler.finish()
        });
        Ok((self.finish(end), rows))
    }

    fn finish(mut self, end: HybridEnd) -> HybridSolution {
        self.tell_unrest();
        self.out.end = end;
        self.out.modes = std::mem::take(&mut self.modes.list);
        self.out.parameters = self.values;
        self.out.last = self.point.values;
        self.out
    }
}
