//! Measuring the points, several at the same time, and handing out the rows in order.

use super::measure::{Answer, Measure, Measured, of_passport};
use super::run::{Ran, of_run, of_success, reason_of_run, run};
use super::{Prepared, Sweep, SweepRow, Way, assignments, with_set};
use crate::analyze::request;
use crate::estimate::grown;
use crate::hybrid::HybridSolution;
use crate::observe::{Interrupt, Reader};
use crate::solve::{Bench, Ensemble, NoRun, SolveOptions};
use crate::{load_text, system};
use daelight_analysis::System;
use daelight_analysis::passport::Passport;
use daelight_integrate::lanes::LaneEnd;
use daelight_lang::Model;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Rows that go from thread to thread together (one by one took a seventh of a sweep of the pendulum), and blocks of them that may wait for
/// an earlier one or for whoever takes them.
const BLOCK: usize = 64;

/// A row does not wait longer than this for the others of its block, as long as rows come.
const MOST_DELAY: Duration = Duration::from_millis(50);

/// Bytes of stack of a thread, as of the first one.
const STACK: usize = 8 << 20;

/// How a sweep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SweepEnd {
    /// All rows were handed out.
    Finished,
    /// It was interrupted, or nobody wanted more rows.
    Interrupted,
}

impl Sweep {
    /// Measures some points and hands out their rows in order. `each` may end the sweep.
    pub fn rows(
        &self,
        range: Range<usize>,
        interrupt: Option<&Arc<Interrupt>>,
        each: &mut dyn FnMut(SweepRow) -> ControlFlow<()>,
    ) -> SweepEnd {
        let range = range.start..range.end.min(self.points.len());
        let n_threads = self.settings.n_threads().min(range.len().max(1));
        if let Some(interrupt) = interrupt {
            interrupt.begin();
        }
        let is_over = AtomicBool::new(false);
        let taken = AtomicUsize::new(range.start);
        let (sender, receiver) = sync_channel::<Vec<SweepRow>>(BLOCK);
        let asks = self.errors_grow(interrupt);
        let work = |sender: SyncSender<Vec<SweepRow>>| {
            let worker = Worker::new(self, interrupt, asks);
            let next = || {
                let number = taken.fetch_add(1, Ordering::Relaxed);
                (number < range.end && !is_over.load(Ordering::Relaxed)).then_some(number)
            };
            let block = RefCell::new(Block::new(sender));
            let take = |row: Option<SweepRow>| row.is_some_and(|row| block.borrow_mut().take(row));
            worker.work(&next, &take);
            block.borrow_mut().send();
        };
        std::thread::scope(|scope| {
            let mut n_started = 0;
            for _ in 0..n_threads {
                let sender = sender.clone();
                let thread = std::thread::Builder::new().stack_size(STACK);
                n_started += usize::from(thread.spawn_scoped(scope, || work(sender)).is_ok());
            }
            drop(sender);
            debug_assert!(n_started > 0, "there is no thread left");
            let mut next = range.start;
            let mut waiting: BTreeMap<usize, SweepRow> = BTreeMap::new();
            'all: while let Ok(rows) = receiver.recv() {
                waiting.extend(rows.into_iter().map(|row| (row.number, row)));
                while let Some(row) = waiting.remove(&next) {
                    next += 1;
                    if each(row).is_break() {
                        break 'all;
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
            // Whoever waits with a row is let go.
            drop(receiver);
            if next >= range.end {
                SweepEnd::Finished
            } else {
                SweepEnd::Interrupted
            }
        })
    }

    /// All rows at once.
    pub fn all_rows(&self) -> Vec<SweepRow> {
        let mut rows = Vec::new();
        self.rows(0..self.points.len(), None, &mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        rows
    }
}

/// Rows of one thread on their way to whoever takes them.
struct Block {
    sender: SyncSender<Vec<SweepRow>>,
    rows: Vec<SweepRow>,
    sent: Instant,
}

impl Block {
    fn new(sender: SyncSender<Vec<SweepRow>>) -> Self {
        Self {
            sender,
            rows: Vec::new(),
            sent: Instant::now(),
        }
    }

    /// Takes a row; false if no more are wanted.
    fn take(&mut self, row: SweepRow) -> bool {
        self.rows.push(row);
        let is_due = self.rows.len() >= BLOCK || self.sent.elapsed() >= MOST_DELAY;
        !is_due || self.send()
    }

    /// Sends the rows that there are; false if no more are wanted.
    fn send(&mut self) -> bool {
        self.sent = Instant::now();
        let rows = std::mem::take(&mut self.rows);
        rows.is_empty() || self.sender.send(rows).is_ok()
    }
}

/// What one thread has.
pub(super) struct Worker<'a> {
    sweep: &'a Sweep,
    /// Whether each run is asked what has become of its errors.
    asks: bool,
    interrupt: Option<&'a Arc<Interrupt>>,
    options: SolveOptions,
    /// A copy of the prepared system whose values change from point to point.
    system: Option<System>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(sweep: &'a Sweep, interrupt: Option<&'a Arc<Interrupt>>, asks: bool) -> Self {
        Self {
            asks,
            options: SolveOptions {
                interrupt: interrupt.cloned(),
                unexplained: true,
                ..sweep.settings.solve.clone()
            },
            system: match &sweep.way {
                Way::Set(prepared) => Some(prepared.system.clone()),
                Way::Read => None,
            },
            sweep,
            interrupt,
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.is_asked())
    }

    /// Measures points until there are no more, or their rows are not wanted.
    fn work(mut self, next: &dyn Fn() -> Option<usize>, take: &dyn Fn(Option<SweepRow>) -> bool) {
        match self.ensemble() {
            Some(ensemble) => self.side_by_side(&ensemble, next, take),
            None => while next().is_some_and(|number| take(self.row(number))) {},
        }
    }

    /// What runs side by side share, if the points are measured that way.
    fn ensemble(&self) -> Option<Ensemble<'a>> {
        let sweep = self.sweep;
        let (Way::Set(prepared), Some(system)) = (&sweep.way, &self.system) else {
            return None;
        };
        let is_told_by_run = sweep.measures.iter().all(Measure::is_told_by_run);
        let is_dense =
            !sweep.settings.times.is_empty() || sweep.measures.iter().any(Measure::is_along);
        // Runs that are asked what became of their errors are asked alone.
        let is_let_in = is_told_by_run && !self.asks;
        let setup = prepared.setup.as_ref().filter(|_| is_let_in)?;
        Ensemble::new(system, setup, &sweep.settings.solve, is_dense)
    }

    /// The same with runs side by side; those that meet something are begun again alone.
    fn side_by_side(
        &mut self,
        ensemble: &Ensemble<'_>,
        next: &dyn Fn() -> Option<usize>,
        take: &dyn Fn(Option<SweepRow>) -> bool,
    ) {
        let bench = self.system.as_ref().and_then(|s| ensemble.bench(s));
        let Some(bench) = bench else {
            while next().is_some_and(|number| take(self.row(number))) {}
            return;
        };
        let both = RefCell::new((self, bench));
        let mut feed = || {
            while let Some(number) = next() {
                let (worker, bench) = &mut *both.borrow_mut();
                let point = worker.sweep.points.point(number);
                let is_set = worker.set(&point).is_ok();
                let system = worker.system.as_ref().filter(|_| is_set);
                if let Some(start) = system.and_then(|system| bench.start(system, number)) {
                    return Some(start);
                }
                if !take(worker.row(number)) {
                    return None;
                }
            }
            None
        };
        let mut done = |end: LaneEnd| {
            let (worker, bench) = &mut *both.borrow_mut();
            take(match &end.reached {
                Ok(_) => worker.row_of(bench, &end),
                Err(_) => worker.row(end.number),
            })
        };
        ensemble.run(&mut feed, &mut done);
    }

    /// The row of a point whose run came to its end beside others.
    fn row_of(&self, bench: &mut Bench<'_>, end: &LaneEnd) -> Option<SweepRow> {
        let sweep = self.sweep;
        let (system, reached) = (self.system.as_ref()?, end.reached.as_ref().ok()?);
        bench.set_parameters(&end.parameters);
        let (measured, reason) = answers(&sweep.measures, Vec::new(), |measure| {
            let reader = bench.reader(&reached.trajectory);
            (of_success(measure, (system, &end.parameters), reader), None)
        });
        let values = match sweep.settings.times.is_empty() {
            true => Vec::new(),
            false => values(sweep, system, Some(bench.reader(&reached.trajectory))),
        };
        (!self.is_interrupted()).then_some(SweepRow {
            number: end.number,
            point: sweep.points.point(end.number),
            measured,
            reason,
            values,
        })
    }

    /// Gives the prepared system the values of a point.
    fn set(&mut self, point: &[f64]) -> Result<(), String> {
        let (Way::Set(prepared), Some(system)) = (&self.sweep.way, &mut self.system) else {
            return Ok(());
        };
        let values: Vec<(usize, f64)> =
            (prepared.places.iter().copied().zip(point.iter().copied())).collect();
        system
            .set_parameters(&values)
            .map_err(|error| error.to_string())
    }

    /// The row of a point; `None` when the sweep was interrupted before it was complete.
    pub(super) fn row(&mut self, number: usize) -> Option<SweepRow> {
        let point = self.sweep.points.point(number);
        let missing = || vec![Measured::Missing; self.sweep.measures.len()];
        let (measured, reason, values) = match self.measure(&point) {
            Ok(((measured, reason), values)) => (measured, reason, values),
            Err(why) => (missing(), why, Vec::new()),
        };
        (!self.is_interrupted()).then_some(SweepRow {
            number,
            point,
            measured,
            reason,
            values,
        })
    }

    fn measure(&mut self, point: &[f64]) -> Result<(Answers, Vec<f64>), String> {
        let sweep = self.sweep;
        let needs_system = sweep.settings.needs_run(&sweep.measures)
            || sweep.measures.iter().any(Measure::needs_passport);
        let mut found = Found::default();
        self.set(point)?;
        match (&sweep.way, &self.system) {
            (Way::Set(prepared), Some(system)) => {
                found.look((sweep, None), system, Some(prepared), &self.options);
                found.ask(self.asks, system, &self.options);
                let values = found.values((sweep, None), system);
                Ok((found.answers((sweep, None), point, Some(system)), values))
            }
            _ if needs_system => {
                let (model, system) = read(sweep, point)?;
                let of = (sweep, Some(&model));
                found.look(of, &system, None, &self.options);
                found.ask(self.asks, &system, &self.options);
                let values = found.values(of, &system);
                Ok((found.answers(of, point, Some(&system)), values))
            }
            _ => Ok((found.answers((sweep, None), point, None), Vec::new())),
        }
    }
}

/// The model with the values of a point, read again.
fn read(sweep: &Sweep, point: &[f64]) -> Result<(Model, System), String> {
    let set = assignments(sweep.points.names(), point, &sweep.types);
    let options = with_set(&sweep.options, set);
    let loaded = load_text(&sweep.text, options, sweep.relations);
    let fault = |diagnostic: &daelight_lang::Diagnostic| diagnostic.message.clone();
    match loaded.model {
        Some(model) => match system(&model) {
            Ok(system) => Ok((model, system)),
            Err(diagnostic) => Err(fault(&diagnostic)),
        },
        None => {
            let is_error =
                |d: &&daelight_lang::Diagnostic| d.severity == daelight_lang::Severity::Error;
            let first = loaded.diagnostics.iter().find(is_error);
            Err(first.map_or("the model is at fault".to_string(), fault))
        }
    }
}

/// One answer for each measure, and why some are missing.
type Answers = (Vec<Measured>, String);

/// What the measures of a point are taken from, each computed once.
#[derive(Default)]
struct Found {
    run: Option<Result<Ran, NoRun>>,
    passport: Option<Result<Passport, String>>,
    /// What errors that grow have done to the run.
    grown: Option<String>,
}

impl Found {
    /// Asks a run that came to its end what has become of its errors.
    fn ask(&mut self, asks: bool, system: &System, options: &SolveOptions) {
        if let Some(Ok(Ran::Plain(solution))) = self.run.as_ref().filter(|_| asks) {
            self.grown = grown(system, options, solution);
        }
    }

    fn look(
        &mut self,
        (sweep, model): (&Sweep, Option<&Model>),
        system: &System,
        prepared: Option<&Prepared>,
        options: &SolveOptions,
    ) {
        let began = Instant::now();
        if sweep.settings.needs_run(&sweep.measures) {
            let setup = prepared.and_then(|prepared| prepared.setup.as_ref());
            self.run = Some(run(model, system, setup, options));
        }
        if sweep.measures.iter().any(Measure::needs_passport) {
            let mut place = sweep.settings.place.clone();
            place.budget = (place.budget).map(|all| all.saturating_sub(began.elapsed()));
            let request = request(system, &place);
            self.passport = Some(match request {
                Ok(request) => Ok(Passport::new(system, &request)),
                Err(diagnostic) => Err(diagnostic.message),
            });
        }
    }

    /// All unknowns at the times that were asked for; NaN outside the run.
    fn values(&self, (sweep, model): (&Sweep, Option<&Model>), system: &System) -> Vec<f64> {
        let reader = match (&self.run, model) {
            (Some(Ok(Ran::WithEvents(solution))), Some(model)) => {
                return values_with_events(sweep, model, solution);
            }
            (Some(Ok(Ran::Plain(solution))), _) => Some(solution.reader(system)),
            _ => None,
        };
        values(sweep, system, reader)
    }

    /// One answer for each measure, and why some are missing.
    fn answers(
        &self,
        (sweep, model): (&Sweep, Option<&Model>),
        point: &[f64],
        system: Option<&System>,
    ) -> Answers {
        let wants_zeros = |measure: &Measure| matches!(measure, Measure::LocusZero(_));
        let zeros = match (&self.passport, system) {
            (Some(Ok(passport)), Some(system)) if sweep.measures.iter().any(wants_zeros) => {
                let budget = sweep.settings.place.budget;
                passport.factor_zeros(system, budget.unwrap_or(super::Settings::BUDGET))
            }
            _ => Vec::new(),
        };
        let answer = |measure: &Measure| match (measure, &self.run, &self.passport, system) {
            (Measure::SingularCount(piece), ..) => match &sweep.counts {
                Some(counts) => counts.count(*piece, sweep, point),
                None => Err("configurations were not prepared".to_string()),
            },
            (measure, Some(run), _, Some(system)) if measure.needs_run() => {
                of_run(measure, (model, system), run)
            }
            (measure, _, Some(passport), _) if measure.needs_passport() => match passport {
                Ok(passport) => of_passport(measure, passport, &zeros),
                Err(why) => Err(why.clone()),
            },
            _ => Err("there is nothing to measure".to_string()),
        };
        let told = self.grown.iter().cloned().collect();
        answers(&sweep.measures, told, |measure| {
            let run = self.run.as_ref().filter(|_| *measure == Measure::Status);
            let remark = run.and_then(|run| reason_of_run(model, run));
            (answer(measure), remark)
        })
    }
}

/// The answers of all measures, each with what there is to say of it beside; and what is told already, with why some are missing.
fn answers(
    measures: &[Measure],
    told: Vec<String>,
    mut answer: impl FnMut(&Measure) -> (Answer, Option<String>),
) -> Answers {
    let mut reasons = told;
    let mut measured = Vec::with_capacity(measures.len());
    for measure in measures {
        let why = match answer(measure) {
            (Ok(value), remark) => {
                measured.push(value);
                remark
            }
            (Err(why), _) => {
                measured.push(Measured::Missing);
                Some(why)
            }
        };
        reasons.extend(why.filter(|why| !reasons.contains(why)));
    }
    (measured, reasons.join("; "))
}

/// All unknowns at the times that were asked for; NaN outside the run.
fn values(sweep: &Sweep, system: &System, mut reader: Option<Reader<'_>>) -> Vec<f64> {
    let none = vec![f64::NAN; system.unknowns().len()];
    let at = |&time: &f64| match reader.as_mut().map(|reader| reader.values(time)) {
        Some(Ok(Some(values))) => values,
        _ => none.clone(),
    };
    sweep.settings.times.iter().flat_map(at).collect()
}

/// The same along a run with events, discrete variables too; behind an event where one happens.
fn values_with_events(sweep: &Sweep, model: &Model, solution: &HybridSolution) -> Vec<f64> {
    let n = sweep.unknowns().len();
    let times = &sweep.settings.times;
    let instants = solution.instants(times);
    let mut rows = solution.rows(model, &instants, false).into_iter();
    let is_inside = |time: f64| (solution.from..=solution.reached).contains(&time);
    let row = |&time: &f64| {
        let row = if is_inside(time) { rows.next() } else { None };
        row.unwrap_or_else(|| vec![f64::NAN; n])
    };
    times.iter().flat_map(row).collect()
}
