//! Measuring the points, several at the same time, and handing out the rows in order.

use super::measure::{Measure, Measured, of_passport, of_run, reason_of_run};
use super::{Prepared, Sweep, SweepRow, Way, assignments, with_set};
use crate::analyze::request;
use crate::estimate::grown;
use crate::observe::Interrupt;
use crate::solve::{NoRun, Setup, Solution, SolveOptions, solve_prepared};
use crate::system;
use daelight_analysis::System;
use daelight_analysis::passport::Passport;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

/// Rows that may wait for an earlier one or for whoever takes them.
const MOST_WAITING: usize = 4096;

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
        let (sender, receiver) = sync_channel::<SweepRow>(MOST_WAITING);
        let asks = self.errors_grow(interrupt);
        let work = |sender: std::sync::mpsc::SyncSender<SweepRow>| {
            let mut worker = Worker::new(self, interrupt, asks);
            while !is_over.load(Ordering::Relaxed) {
                let number = taken.fetch_add(1, Ordering::Relaxed);
                if number >= range.end {
                    break;
                }
                let Some(row) = worker.row(number) else { break };
                if sender.send(row).is_err() {
                    break;
                }
            }
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
            'all: while let Ok(row) = receiver.recv() {
                waiting.insert(row.number, row);
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
        match (&sweep.way, &mut self.system) {
            (Way::Set(prepared), Some(system)) => {
                let values: Vec<(usize, f64)> =
                    (prepared.places.iter().copied().zip(point.iter().copied())).collect();
                system
                    .set_parameters(&values)
                    .map_err(|error| error.to_string())?;
                found.look(sweep, system, Some(prepared), &self.options);
                found.ask(self.asks, system, &self.options);
                let values = found.values(sweep, system);
                Ok((found.answers(sweep, point, Some(system)), values))
            }
            _ if needs_system => {
                let system = read(sweep, point)?;
                found.look(sweep, &system, None, &self.options);
                found.ask(self.asks, &system, &self.options);
                let values = found.values(sweep, &system);
                Ok((found.answers(sweep, point, Some(&system)), values))
            }
            _ => Ok((found.answers(sweep, point, None), Vec::new())),
        }
    }
}

/// The model with the values of a point, read again.
fn read(sweep: &Sweep, point: &[f64]) -> Result<System, String> {
    let set = assignments(sweep.points.names(), point, &sweep.types);
    let options = with_set(&sweep.options, set);
    let loaded = daelight_lang::load(&sweep.text.name, &sweep.text.bytes, &options);
    let fault = |diagnostic: &daelight_lang::Diagnostic| diagnostic.message.clone();
    match &loaded.model {
        Some(model) => system(model).map_err(|diagnostic| fault(&diagnostic)),
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
    run: Option<Result<Solution, NoRun>>,
    passport: Option<Result<Passport, String>>,
    /// What errors that grow have done to the run.
    grown: Option<String>,
}

impl Found {
    /// Asks a run that came to its end what has become of its errors.
    fn ask(&mut self, asks: bool, system: &System, options: &SolveOptions) {
        if let Some(Ok(solution)) = self.run.as_ref().filter(|_| asks) {
            self.grown = grown(system, options, solution);
        }
    }

    fn look(
        &mut self,
        sweep: &Sweep,
        system: &System,
        prepared: Option<&Prepared>,
        options: &SolveOptions,
    ) {
        let began = Instant::now();
        if sweep.settings.needs_run(&sweep.measures) {
            let setup = prepared.and_then(|prepared| prepared.setup.as_ref());
            let is_square = system.equations().n_equations() == system.equations().n_unknowns();
            self.run = Some(match setup {
                _ if !is_square => Err(NoRun::NotSquare),
                Some(setup) => solve_prepared(system, setup, options, &mut |_| {}),
                None => solve_prepared(system, &Setup::new(system), options, &mut |_| {}),
            });
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
    fn values(&self, sweep: &Sweep, system: &System) -> Vec<f64> {
        let times = &sweep.settings.times;
        let none = vec![f64::NAN; system.unknowns().len()];
        let mut reader = match &self.run {
            Some(Ok(solution)) => Some(solution.reader(system)),
            _ => None,
        };
        let at = |&time: &f64| match reader.as_mut().map(|reader| reader.values(time)) {
            Some(Ok(Some(values))) => values,
            _ => none.clone(),
        };
        times.iter().flat_map(at).collect()
    }

    /// One answer for each measure, and why some are missing.
    fn answers(&self, sweep: &Sweep, point: &[f64], system: Option<&System>) -> Answers {
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
                of_run(measure, system, run)
            }
            (measure, _, Some(passport), _) if measure.needs_passport() => match passport {
                Ok(passport) => of_passport(measure, passport, &zeros),
                Err(why) => Err(why.clone()),
            },
            _ => Err("there is nothing to measure".to_string()),
        };
        let mut reasons: Vec<String> = self.grown.iter().cloned().collect();
        let mut measured = Vec::with_capacity(sweep.measures.len());
        for measure in &sweep.measures {
            let why = match answer(measure) {
                Ok(value) => {
                    measured.push(value);
                    let run = self.run.as_ref().filter(|_| *measure == Measure::Status);
                    run.and_then(reason_of_run)
                }
                Err(why) => {
                    measured.push(Measured::Missing);
                    Some(why)
                }
            };
            reasons.extend(why.filter(|why| !reasons.contains(why)));
        }
        (measured, reasons.join("; "))
    }
}
