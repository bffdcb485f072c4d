//! Looking at a run: values of unknowns and expressions along it, where a condition begins to hold, and who may end it.

use crate::solve::START_ORDER;
use daelight_analysis::initial::TaylorJet;
use daelight_analysis::{Recovery, System};
use daelight_expr::{ExprId, Fault, Jet, Values};
use daelight_integrate::Trajectory;
use daelight_lang::{StopCondition, StopKind};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Points of a step at which a stopping condition is looked at.
const N_SAMPLES: usize = 16;

/// Halvings of an interval that bring any double to its neighbour.
const MAX_HALVINGS: usize = 1100;

/// From the integrated unknowns to those of the model.
pub(crate) struct WayBack {
    /// `None` when the integrated unknowns begin with those of the model.
    recovery: Option<Recovery<Jet>>,
    n_unknowns: usize,
}

impl WayBack {
    pub(crate) fn new(recovery: Option<Recovery<Jet>>, n_unknowns: usize) -> Self {
        Self {
            recovery,
            n_unknowns,
        }
    }

    fn values(&mut self, trajectory: &Trajectory, time: f64) -> Result<Option<Vec<f64>>, Fault> {
        let mut values = vec![0.0; self.n_unknowns];
        match &mut self.recovery {
            Some(recovery) => Ok(trajectory
                .recover(recovery, time, &mut values)?
                .then_some(values)),
            None => {
                let mut all = vec![0.0; trajectory.n()];
                Ok(trajectory.coefficients(time, &mut all).then(|| {
                    all.truncate(self.n_unknowns);
                    all
                }))
            }
        }
    }

    /// The jet of all unknowns, `n_orders` long, at a time that may lie a little beyond the end.
    pub(crate) fn jet(
        &mut self,
        trajectory: &Trajectory,
        time: f64,
        n_orders: usize,
    ) -> Option<TaylorJet> {
        let n = trajectory.n();
        let mut jet = TaylorJet::at_rest(&vec![0.0; self.n_unknowns], n_orders);
        match &mut self.recovery {
            Some(recovery) => {
                let room = recovery.inputs().n_orders();
                let mut coefficients = vec![0.0; room * n];
                if !trajectory.extrapolate(time, &mut coefficients) {
                    return None;
                }
                let inputs = recovery.inputs_mut();
                inputs.set_time(time);
                for (order, row) in coefficients.chunks_exact(n.max(1)).enumerate() {
                    inputs.row_mut(order).copy_from_slice(row);
                }
                let mut row = vec![0.0; self.n_unknowns];
                for order in 0..n_orders {
                    recovery.extend(order).ok()?;
                    recovery.row(order, &mut row);
                    for (unknown, &value) in row.iter().enumerate() {
                        jet.set(unknown, order, value);
                    }
                }
            }
            None => {
                let mut all = vec![0.0; n * n_orders];
                if !trajectory.extrapolate(time, &mut all) {
                    return None;
                }
                for order in 0..n_orders {
                    for unknown in 0..self.n_unknowns {
                        jet.set(unknown, order, all[order * n + unknown]);
                    }
                }
            }
        }
        Some(jet)
    }
}

/// Evaluates the model's unknowns along a run.
pub struct Reader<'a> {
    pub(crate) trajectory: &'a Trajectory,
    pub(crate) way: WayBack,
}

impl Reader<'_> {
    /// Values of all unknowns at a time within the run; `None` outside.
    pub fn values(&mut self, time: f64) -> Result<Option<Vec<f64>>, Fault> {
        self.way.values(self.trajectory, time)
    }

    /// The jet of all unknowns at a time that may lie a little beyond the end.
    pub fn jet(&mut self, time: f64) -> Option<TaylorJet> {
        self.way.jet(self.trajectory, time, START_ORDER + 1)
    }
}

/// Evaluates expressions of a model along a run; derivatives of its unknowns may occur.
pub struct Observer {
    values: Values,
    way: WayBack,
}

impl Observer {
    pub(crate) fn new(system: &System, exprs: &[ExprId], way: WayBack) -> Self {
        let tape = system.equations().compile(exprs);
        let mut values = Values::new(Arc::new(tape));
        values
            .inputs_mut()
            .parameters_mut()
            .copy_from_slice(system.parameters().values());
        Self { values, way }
    }

    /// The values at a time within the run; `None` outside, and where an expression has none.
    pub fn values(&mut self, trajectory: &Trajectory, time: f64) -> Option<Vec<f64>> {
        trajectory.find(time)?;
        let n_orders = self.values.tape().max_slot_order() + 1;
        let jet = self.way.jet(trajectory, time, n_orders)?;
        let inputs = self.values.inputs_mut();
        inputs.set_time(time);
        for order in 0..n_orders {
            for unknown in 0..jet.n_unknowns() {
                inputs.set(unknown, order, jet.get(unknown, order));
            }
        }
        self.values.evaluate().ok()?;
        let n = self.values.tape().n_roots();
        Some((0..n).map(|root| self.values.root(root)).collect())
    }
}

/// Looks for the time at which a stopping condition begins to hold, or a number changes its sign.
pub(crate) struct StopScan {
    observer: Observer,
    kind: StopKind,
    /// The last time looked at, and what was found: whether the condition holds or the number is positive.
    seen: Option<(f64, Option<bool>)>,
    no_value_at: Option<f64>,
}

impl StopScan {
    pub(crate) fn new(system: &System, stop: StopCondition, way: WayBack) -> Self {
        Self {
            observer: Observer::new(system, &[stop.expr], way),
            kind: stop.kind,
            seen: None,
            no_value_at: None,
        }
    }

    /// Where the expression had no value, if that happened.
    pub(crate) fn no_value_at(&self) -> Option<f64> {
        self.no_value_at
    }

    fn value(&mut self, trajectory: &Trajectory, time: f64) -> Option<f64> {
        let values = self.observer.values(trajectory, time);
        if values.is_none() {
            self.no_value_at.get_or_insert(time);
        }
        values.map(|values| values[0])
    }

    fn is_condition(&self) -> bool {
        self.kind == StopKind::Condition
    }

    /// Whether the condition holds, or the number is positive; `None` without a value and for zero.
    fn state(&mut self, trajectory: &Trajectory, time: f64) -> Option<bool> {
        match self.value(trajectory, time)? {
            value if self.is_condition() => Some(value != 0.0),
            0.0 => None,
            value => Some(value > 0.0),
        }
    }

    /// Whether the run is to end where it begins.
    fn holds_at_once(&mut self, trajectory: &Trajectory, start: f64) -> bool {
        match (self.kind, self.value(trajectory, start)) {
            (StopKind::Condition, Some(value)) => value != 0.0,
            (StopKind::Equality, Some(value)) => value == 0.0,
            _ => false,
        }
    }

    /// The first time at which the run is to end, within what is new of the trajectory.
    pub(crate) fn look(&mut self, trajectory: &Trajectory) -> Option<f64> {
        let (start, end) = trajectory.span()?;
        let direction = if end >= start { 1.0 } else { -1.0 };
        let (mut time, mut state) = match self.seen {
            Some(seen) => seen,
            None => {
                if self.holds_at_once(trajectory, start) {
                    return Some(start);
                }
                (start, self.state(trajectory, start))
            }
        };
        let first = trajectory.find(time).unwrap_or(0);
        for segment in &trajectory.segments()[first..] {
            let from = if (segment.start - time) * direction > 0.0 {
                segment.start
            } else {
                time
            };
            if (segment.end - from) * direction <= 0.0 {
                continue;
            }
            for k in 1..=N_SAMPLES {
                let next = if k == N_SAMPLES {
                    segment.end
                } else {
                    from + (segment.end - from) * k as f64 / N_SAMPLES as f64
                };
                let found = self.state(trajectory, next);
                let crossed = match (state, found) {
                    (Some(before), Some(now)) => before != now && (now || !self.is_condition()),
                    _ => false,
                };
                if crossed {
                    return Some(self.locate(trajectory, time, next, found));
                }
                // A zero that is met exactly does not hide the sign before it.
                state = found.or(state);
                time = next;
            }
        }
        self.seen = Some((time, state));
        None
    }

    /// The first of the neighbouring times between which the state changes, by halving.
    fn locate(
        &mut self,
        trajectory: &Trajectory,
        mut before: f64,
        mut after: f64,
        wanted: Option<bool>,
    ) -> f64 {
        for _ in 0..MAX_HALVINGS {
            let middle = 0.5 * (before + after);
            if middle == before || middle == after {
                break;
            }
            match self.state(trajectory, middle) {
                // Zero itself: no time is better.
                None if !self.is_condition() => return middle,
                state if state == wanted => after = middle,
                _ => before = middle,
            }
        }
        after
    }
}

/// Ends a run from outside: what was computed up to then is kept.
#[derive(Debug, Default)]
pub struct Interrupt {
    running: AtomicBool,
    asked: AtomicBool,
}

impl Interrupt {
    /// Asks the run to end. False if that has no effect: there is no run yet, or it was asked before.
    pub fn ask(&self) -> bool {
        let is_new = !self.asked.swap(true, Ordering::Relaxed);
        is_new && self.running.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.running.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// Is told the time reached after every step.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(f64) + Send + Sync>);

impl Progress {
    /// Calls a function with the time reached.
    pub fn new(tell: impl Fn(f64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, time: f64) {
        (self.0)(time);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}
