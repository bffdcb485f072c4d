//! Looking at a run: values of unknowns and expressions along it, where a condition begins to hold, and who may end it.

use crate::hybrid::{Bounds, Parts, Timed};
use crate::solve::START_ORDER;
use daelight_analysis::initial::TaylorJet;
use daelight_analysis::{Recovery, System};
use daelight_expr::{ExprId, Fault, Jet, JetEvaluator, Values, Walker};
use daelight_integrate::watch::{Cell, Expand, SCAN_ORDER, Scan};
use daelight_integrate::{Beside, Inspector, Trajectory};
use daelight_lang::{StopCondition, StopKind, Symbol};
use std::fmt;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

    /// Leads back at other values of the parameters.
    pub(crate) fn set_parameters(&mut self, parameters: &[f64]) {
        if let Some(recovery) = &mut self.recovery {
            let into = recovery.inputs_mut().parameters_mut();
            into.copy_from_slice(parameters);
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

    /// The same at a point between two steps that is brought onto the equations, (24a); `None` where there is none so near.
    fn settled(
        &mut self,
        trajectory: &Trajectory,
        time: f64,
        settles: &mut Settles<'_>,
    ) -> Option<Vec<f64>> {
        let joined = self.values(trajectory, time).ok()??;
        let n = trajectory.n();
        let Settles {
            inspector,
            nominals,
        } = settles;
        let n_point = inspector.n_coefficients();
        let room = self.recovery.as_ref().map_or(0, |r| r.inputs().n_orders());
        let mut coefficients = vec![0.0; n_point.max(room * n)];
        if !trajectory.coefficients(time, &mut coefficients)
            || !inspector.settle(time, &mut coefficients[..n_point])
        {
            return None;
        }
        let jet = self.jet_of(time, (&coefficients, n), 1)?;
        let most = inspector.most_apart();
        let pairs = jet.values().iter().zip(&joined).zip(nominals);
        let mut near = pairs.map(|((x, y), nominal)| (x - y).abs() <= most * nominal.max(x.abs()));
        near.all(|near| near).then(|| jet.values().to_vec())
    }

    /// The jet of all unknowns, `n_orders` long, at a time that may lie a little beyond the end.
    pub(crate) fn jet(
        &mut self,
        trajectory: &Trajectory,
        time: f64,
        n_orders: usize,
    ) -> Option<TaylorJet> {
        let n = trajectory.n();
        let mut coefficients = self.room(n, n_orders);
        if !trajectory.extrapolate(time, &mut coefficients) {
            return None;
        }
        self.jet_of(time, (&coefficients, n), n_orders)
    }

    /// Room for the coefficients of `n` integrated unknowns that a jet needs.
    fn room(&self, n: usize, n_orders: usize) -> Vec<f64> {
        let n_rows = match &self.recovery {
            Some(recovery) => recovery.rows_for(n_orders),
            None => n_orders,
        };
        vec![0.0; n_rows * n]
    }

    /// The same as the piece on one side of a time has it, whatever is written at the time itself.
    fn jet_beside(
        &mut self,
        trajectory: &Trajectory,
        (time, side): (f64, Beside),
        n_orders: usize,
    ) -> Option<TaylorJet> {
        let n = trajectory.n();
        let mut coefficients = self.room(n, n_orders);
        let time = trajectory.beside(time, side, &mut coefficients)?;
        self.jet_of(time, (&coefficients, n), n_orders)
    }

    /// The same from coefficients `[order][unknown]` of the integrated unknowns; orders that are missing are taken for 0.
    pub(crate) fn jet_of(
        &mut self,
        time: f64,
        (coefficients, n): (&[f64], usize),
        n_orders: usize,
    ) -> Option<TaylorJet> {
        let mut jet = TaylorJet::at_rest(&vec![0.0; self.n_unknowns], n_orders);
        match &mut self.recovery {
            Some(recovery) => {
                let inputs = recovery.inputs_mut();
                inputs.set_time(time);
                let room = inputs.n_orders();
                for (order, row) in coefficients.chunks_exact(n.max(1)).enumerate().take(room) {
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
                for order in 0..n_orders {
                    for unknown in 0..self.n_unknowns {
                        let value = coefficients.get(order * n + unknown);
                        jet.set(unknown, order, value.copied().unwrap_or(0.0));
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
    pub(crate) way: Way<'a>,
    /// What brings points between steps onto the equations, where pieces join derivatives less well than values.
    pub(crate) settles: Option<Box<Settles<'a>>>,
}

/// What brings points between steps onto the equations, and the sizes of the unknowns.
pub(crate) struct Settles<'a> {
    pub inspector: Inspector<'a>,
    pub nominals: Vec<f64>,
}

/// The way back of one reader, or of many.
pub(crate) enum Way<'a> {
    Own(Box<WayBack>),
    Shared(&'a mut WayBack),
}

impl Deref for Way<'_> {
    type Target = WayBack;

    fn deref(&self) -> &WayBack {
        match self {
            Self::Own(way) => way,
            Self::Shared(way) => way,
        }
    }
}

impl DerefMut for Way<'_> {
    fn deref_mut(&mut self) -> &mut WayBack {
        match self {
            Self::Own(way) => way,
            Self::Shared(way) => way,
        }
    }
}

impl Reader<'_> {
    /// Values of all unknowns at a time within the run; `None` outside.
    pub fn values(&mut self, time: f64) -> Result<Option<Vec<f64>>, Fault> {
        if let Some(settles) = &mut self.settles
            && let Some(values) = self.way.settled(self.trajectory, time, settles)
        {
            return Ok(Some(values));
        }
        self.way.values(self.trajectory, time)
    }

    /// An expression at a time within the run; `None` outside.
    pub(crate) fn measured(&mut self, gauge: &mut Gauge, time: f64) -> Result<Option<f64>, Fault> {
        let n_orders = gauge.n_orders();
        let jet = match n_orders {
            1 => self.values(time)?.map(|x| TaylorJet::at_rest(&x, 1)),
            _ => self.way.jet(self.trajectory, time, n_orders),
        };
        let value = jet.map(|jet| gauge.values(time, &jet));
        Ok(value.transpose()?.map(|values| values[0]))
    }

    /// The jet of all unknowns at a time that may lie a little beyond the end.
    pub fn jet(&mut self, time: f64) -> Option<TaylorJet> {
        self.way.jet(self.trajectory, time, START_ORDER + 1)
    }

    /// The jet of all unknowns on one side of a time at which two pieces meet.
    pub(crate) fn jet_beside(&mut self, at: (f64, Beside)) -> Option<TaylorJet> {
        self.way.jet_beside(self.trajectory, at, START_ORDER + 1)
    }
}

/// Expressions of a model at jets of its unknowns, whose derivatives may occur.
pub(crate) struct Gauge {
    values: Values,
    n_orders: usize,
}

impl Gauge {
    /// With these values of all parameters.
    pub(crate) fn new(system: &System, exprs: &[ExprId], parameters: &[f64]) -> Self {
        let tape = system.equations().compile(exprs);
        let mut values = Values::new(Arc::new(tape));
        let into = values.inputs_mut().parameters_mut();
        into.copy_from_slice(parameters);
        let equations = system.equations();
        let orders = Walker::new().symbols(equations.graph(), exprs).into_iter();
        let orders = orders.map(|id| match equations.symbols().get(id) {
            Symbol::Unknown { order, .. } => order as usize,
            _ => 0,
        });
        let n_orders = orders.max().unwrap_or(0) + 1;
        Self { values, n_orders }
    }

    /// How many orders of the unknowns are read.
    pub(crate) fn n_orders(&self) -> usize {
        self.n_orders
    }

    /// The values at a jet with as many orders.
    pub(crate) fn values(&mut self, time: f64, jet: &TaylorJet) -> Result<Vec<f64>, Fault> {
        let inputs = self.values.inputs_mut();
        inputs.set_time(time);
        for order in 0..self.n_orders {
            for unknown in 0..jet.n_unknowns() {
                inputs.set(unknown, order, jet.get(unknown, order));
            }
        }
        self.values.evaluate()?;
        let n = self.values.tape().n_roots();
        Ok((0..n).map(|root| self.values.root(root)).collect())
    }
}

/// Evaluates expressions of a model along a run; derivatives of its unknowns may occur.
pub struct ExpressionReader {
    gauge: Gauge,
    way: WayBack,
}

impl ExpressionReader {
    pub(crate) fn new(system: &System, exprs: &[ExprId], way: WayBack) -> Self {
        let gauge = Gauge::new(system, exprs, system.parameters().values());
        Self { gauge, way }
    }

    /// The values at a time within the run; `None` outside, and where an expression has none.
    pub fn values(&mut self, trajectory: &Trajectory, time: f64) -> Option<Vec<f64>> {
        trajectory.find(time)?;
        let jet = self.way.jet(trajectory, time, self.gauge.n_orders())?;
        self.gauge.values(time, &jet).ok()
    }
}

/// The functions whose signs decide a stopping condition, along a trajectory.
struct Deciders<'a> {
    jet: &'a mut Jet,
    way: &'a mut WayBack,
    trajectory: &'a Trajectory,
    /// Whether the number itself decides, beside the relations and branches in it.
    with_root: bool,
}

impl Expand for Deciders<'_> {
    fn n_functions(&self) -> usize {
        self.jet.tape().branches().len() + usize::from(self.with_root)
    }

    fn expand(&mut self, time: f64, into: &mut [Vec<(f64, f64)>]) -> bool {
        let n_orders = SCAN_ORDER + self.jet.tape().max_slot_order() + 1;
        let Some(found) = self.way.jet(self.trajectory, time, n_orders) else {
            return false;
        };
        expand_deciders(self.jet, &found, time, into)
    }
}

/// Series of the functions that decide the branches of a tape along a jet, then of its number if there is room for it, with
/// the sizes of their operands; `false` where one has none.
pub(crate) fn expand_deciders(
    jet: &mut Jet,
    along: &TaylorJet,
    time: f64,
    into: &mut [Vec<(f64, f64)>],
) -> bool {
    let n_orders = SCAN_ORDER + jet.tape().max_slot_order() + 1;
    let inputs = jet.inputs_mut();
    inputs.set_time(time);
    for order in 0..n_orders {
        for unknown in 0..along.n_unknowns() {
            inputs.set(unknown, order, along.get(unknown, order));
        }
    }
    if (0..=SCAN_ORDER).any(|order| jet.extend(order as i32).is_err()) {
        return false;
    }
    for (branch, series) in into.iter_mut().enumerate() {
        let coefficient = |order: usize| {
            if branch < jet.tape().branches().len() {
                let (left, right) = jet.compared(branch, order);
                (left - right, left.abs() + right.abs())
            } else {
                let value = jet.root(0, order);
                (value, value.abs())
            }
        };
        series.clear();
        series.extend((0..=SCAN_ORDER).map(coefficient));
        if series.iter().any(|(x, _)| !x.is_finite()) {
            return false;
        }
    }
    true
}

/// How far a condition was looked at, and what it last was: whether it holds, or the number is positive.
#[derive(Clone, Copy)]
struct Seen {
    until: f64,
    at: f64,
    state: Option<bool>,
}

/// Looks for the time at which a stopping condition begins to hold, or a number changes its sign.
///
/// Every relation in the condition, and every argument of `abs`, `min` and `max`, is resolved by its own series, so that nothing
/// between the steps is missed; section 2 of `docs/theory/runs.md`.
pub(crate) struct StopScan {
    observer: ExpressionReader,
    /// Jets of the condition, and the way to those of the unknowns.
    jet: Jet,
    way: WayBack,
    scan: Scan,
    /// Ranges of what functions of time decide, over parts of the run.
    bounds: Vec<Bounds>,
    rtol: f64,
    kind: StopKind,
    seen: Option<Seen>,
    no_value_at: Option<f64>,
    unresolved_at: Option<f64>,
}

impl StopScan {
    /// `way` leads back at least to [`SCAN_ORDER`] and the derivatives in the condition.
    pub(crate) fn new(
        system: &System,
        (stop, timed): (StopCondition, &[Timed]),
        rtol: f64,
        way: impl Fn(usize) -> WayBack,
    ) -> Self {
        let parameters = system.parameters().values();
        let tape = Arc::new(system.equations().compile(&[stop.expr]));
        let order = SCAN_ORDER + tape.max_slot_order();
        let mut jet = Jet::new(tape, SCAN_ORDER);
        jet.inputs_mut()
            .parameters_mut()
            .copy_from_slice(system.parameters().values());
        Self {
            observer: ExpressionReader::new(system, &[stop.expr], way(order)),
            jet,
            way: way(order),
            scan: Scan::default(),
            bounds: (timed.iter().filter_map(|t| t.bounds(parameters))).collect(),
            rtol,
            kind: stop.kind,
            seen: None,
            no_value_at: None,
            unresolved_at: None,
        }
    }

    /// Where the expression had no value, if that happened.
    pub(crate) fn no_value_at(&self) -> Option<f64> {
        self.no_value_at
    }

    /// Where the expression changes too fast to be followed, if that happened.
    pub(crate) fn unresolved_at(&self) -> Option<f64> {
        self.unresolved_at
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

    /// The cells between two times of one piece: in none of them does anything in the condition change.
    fn cells(&mut self, trajectory: &Trajectory, span: (f64, f64)) -> Vec<Cell> {
        let mut parts = Parts::new(span);
        let mut cells = Vec::new();
        while let Some((part, serves)) = parts.next(|part| self.serves(trajectory, part)) {
            if !serves {
                self.unresolved_at.get_or_insert(part.0);
            }
            let mut functions = Deciders {
                jet: &mut self.jet,
                way: &mut self.way,
                trajectory,
                with_root: self.kind != StopKind::Condition,
            };
            let _: ControlFlow<()> = self.scan.cells(&mut functions, part, &mut |_, cell| {
                cells.push(cell);
                ControlFlow::Continue(())
            });
        }
        cells
    }

    /// Whether the condition can be looked at in one part: what time alone does to it there is what its series say, (H3e).
    fn serves(&mut self, trajectory: &Trajectory, (from, to): (f64, f64)) -> bool {
        if self.bounds.is_empty() {
            return true;
        }
        let n_orders = SCAN_ORDER + self.jet.tape().max_slot_order() + 1;
        let jet = self.way.jet(trajectory, 0.5 * (from + to), n_orders);
        jet.is_none_or(|jet| {
            let mut bounds = self.bounds.iter_mut();
            bounds.all(|bounds| bounds.serves((from, to), &jet, self.rtol))
        })
    }

    /// The first time at which the run is to end, within what is new of the trajectory.
    pub(crate) fn look(&mut self, trajectory: &Trajectory) -> Option<f64> {
        let (start, end) = trajectory.span()?;
        let direction = if end >= start { 1.0 } else { -1.0 };
        let mut seen = match self.seen {
            Some(seen) => seen,
            None => {
                if self.holds_at_once(trajectory, start) {
                    return Some(start);
                }
                Seen {
                    until: start,
                    at: start,
                    state: self.state(trajectory, start),
                }
            }
        };
        let first = trajectory.find(seen.until).unwrap_or(0);
        for segment in &trajectory.segments()[first..] {
            let from = if (segment.start - seen.until) * direction > 0.0 {
                segment.start
            } else {
                seen.until
            };
            if (segment.end - from) * direction <= 0.0 {
                continue;
            }
            let mut cells = Vec::new();
            for piece in pieces((from, segment.end), from == start) {
                cells.extend(self.cells(trajectory, piece));
            }
            for cell in cells {
                let next = cell.middle();
                let found = self.state(trajectory, next);
                if !cell.resolved && found.is_some() {
                    self.unresolved_at.get_or_insert(next);
                }
                let crossed = match (seen.state, found) {
                    (Some(before), Some(now)) => before != now && (now || !self.is_condition()),
                    _ => false,
                };
                if crossed {
                    return Some(self.locate(trajectory, seen.at, next, found));
                }
                // A zero that is met exactly does not hide the sign before it.
                seen.state = found.or(seen.state);
                seen.at = next;
            }
            seen.until = segment.end;
        }
        self.seen = Some(seen);
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
        // Each round halves what is between them, until they are neighbours.
        loop {
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

/// A piece of a run, or parts of it that shrink towards its start: where a run begins, something may happen on any scale of time
/// (a ball that still bounces a little), and over a long piece rounding hides it.
pub(crate) fn pieces((from, to): (f64, f64), is_first: bool) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    let mut end = to;
    if is_first {
        // Next to zero numbers are closer than any time that can be told from the start.
        let least = f64::EPSILON * f64::EPSILON * (to - from).abs();
        loop {
            let middle = from + (end - from) / 32.0;
            if middle == from || middle == end || (end - from).abs() <= least {
                break;
            }
            all.push((middle, end));
            end = middle;
        }
    }
    all.push((from, end));
    all.reverse();
    all
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
