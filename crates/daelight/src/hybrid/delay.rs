//! Delays: what an expression was in the past of a run, as signals that grow with it.
//!
//! Section 5 of `docs/theory/hybrid.md`.

use super::{Driver, HybridEnd, ROUNDING};
use crate::estimate::TOLD;
use crate::observe::WayBack;
use crate::solve::{SAFETY, Solution};
use crate::tolerances::SAME;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{ExprId, Jet, JetEvaluator, Side, Signal, Tape, Walker};
use daelight_integrate::Trajectory;
use daelight_integrate::watch::SCAN_ORDER;
use daelight_lang::{Delay, Hybrid, Model, Symbol};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// The past of a delayed expression.
pub(super) struct Past {
    /// The expression as it was `by` earlier.
    signal: Arc<Signal>,
    by: f64,
    /// Times at which it jumps, and the values of what changes at events alone.
    jumps: VecDeque<(f64, f64)>,
    /// Whether it changes at events alone: then it is known however long a leg is.
    is_discrete: bool,
    /// What it was last, if so.
    latest: f64,
    /// The greatest that it was.
    size: f64,
}

/// The signals that stand for calls of `delay`, and the inputs they are.
pub(super) fn signals(hybrid: &Hybrid, from: f64) -> Vec<(usize, Arc<Signal>)> {
    let signal = |input| (input, Arc::new(Signal::growing(rest(0.0, from, 1.0))));
    hybrid.delays.iter().map(|d| signal(d.input)).collect()
}

/// A signal that rests.
fn rest(value: f64, from: f64, long: f64) -> Signal {
    let mut coefficients = vec![0.0; SCAN_ORDER + 1];
    coefficients[0] = value;
    Signal::new(vec![from, from + long], SCAN_ORDER, coefficients)
}

impl Past {
    pub fn all(model: &Model, hybrid: &Hybrid, signals: &[(usize, Arc<Signal>)]) -> Vec<Self> {
        let rests = Resting::of(model, hybrid);
        let past = |((_, signal), delay): (&(usize, Arc<Signal>), &Delay)| Self {
            signal: Arc::clone(signal),
            by: f64::NAN,
            jumps: VecDeque::new(),
            is_discrete: rests.inputs.contains(&delay.input),
            latest: f64::NAN,
            size: 0.0,
        };
        signals.iter().zip(&hybrid.delays).map(past).collect()
    }

    /// Adds what the expression was along a leg: polynomials over as many of its steps as one serves for.
    fn record(
        &mut self,
        tape: &Arc<Tape>,
        parameters: &[f64],
        leg: &mut Leg<'_>,
        (most, deadline): (f64, Option<Instant>),
    ) -> Option<()> {
        let mut jet = Jet::new(Arc::clone(tape), SCAN_ORDER);
        jet.inputs_mut()
            .parameters_mut()
            .copy_from_slice(parameters);
        let steps = leg.trajectory.segments();
        let ends: Vec<f64> = steps.iter().map(|step| step.end).collect();
        let begins = steps.first()?.start;
        let before = self.value_before(begins + self.by);
        let first = leg.series(&mut jet, begins)?[0];
        // What is zero but for what the run may be off by does not jump.
        let least = TOLD / SAFETY * most * self.size.max(first.abs());
        if (first - before).abs() > (SAME * first.abs().max(before.abs())).max(least) {
            self.jumps.push_back((begins + self.by, first));
        }
        let mut from = begins;
        let mut at = 0;
        // What is tried, as an end among the steps, or beyond them halves of one step.
        while at < ends.len() {
            let mut n_steps = ends.len() - at;
            let mut to = ends[at + n_steps - 1];
            let mut halvings = 0;
            loop {
                let is_late = || deadline.is_some_and(|deadline| Instant::now() > deadline);
                let middle = 0.5 * (from + to);
                let is_short = middle == from || middle == to;
                let is_least = n_steps == 1 && (halvings == SCAN_ORDER || is_short || is_late());
                let series = leg.series(&mut jet, middle)?;
                if is_least
                    || leg.fits(&mut jet, &series, (from, to), (most, ROUNDING * self.size))?
                {
                    self.signal.extend(to + self.by, &series);
                    self.size = self.size.max(series[0].abs());
                    break;
                }
                if n_steps > 1 {
                    n_steps = n_steps.div_ceil(2);
                    to = ends[at + n_steps - 1];
                } else {
                    halvings += 1;
                    to = middle;
                }
            }
            from = to;
            while at < ends.len() && ends[at] <= from {
                at += 1;
            }
        }
        Some(())
    }

    fn value_before(&self, time: f64) -> f64 {
        let mut value = [0.0];
        self.signal.expand(time, Side::Before, &mut value);
        value[0]
    }
}

/// What keeps its value between events, beside what is held.
struct Resting {
    unknowns: Vec<bool>,
    /// The inputs that are delays of it.
    inputs: Vec<usize>,
}

impl Resting {
    /// The unknowns that equations determine from what changes at events alone, one after the other, and the delays of these.
    fn of(model: &Model, hybrid: &Hybrid) -> Self {
        let mut walker = Walker::new();
        let mut read = |expr: ExprId| -> Vec<Symbol> {
            let read = walker.symbols(&model.graph, &[expr]).into_iter();
            read.map(|id| model.symbols.get(id)).collect()
        };
        let equations = model.equations.iter();
        let equations: Vec<_> = equations.map(|one| read(one.residual)).collect();
        let delays = hybrid.delays.iter();
        let delays: Vec<_> = delays.map(|one| (one.input, read(one.expr))).collect();
        let mut found = Self {
            unknowns: vec![false; model.unknowns.len()],
            inputs: Vec::new(),
        };
        loop {
            let mut grows = false;
            for read in &equations {
                let mut moving = read.iter().filter(|symbol| !found.has(**symbol));
                if let (Some(&Symbol::Unknown { unknown, order: 0 }), None) =
                    (moving.next(), moving.next())
                {
                    found.unknowns[unknown] = true;
                    grows = true;
                }
            }
            for (input, read) in &delays {
                let is_new = !found.inputs.contains(input);
                if is_new && read.iter().all(|symbol| found.has(*symbol)) {
                    found.inputs.push(*input);
                    grows = true;
                }
            }
            if !grows {
                return found;
            }
        }
    }

    fn has(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Parameter(_) => true,
            Symbol::Unknown { unknown, order: 0 } => self.unknowns[unknown],
            Symbol::Input { input, order: 0 } => self.inputs.contains(&input),
            _ => false,
        }
    }
}

/// A leg of a run, and the way to its unknowns.
struct Leg<'a> {
    trajectory: &'a Trajectory,
    way: WayBack,
}

impl Leg<'_> {
    /// Whether a series around the middle of a stretch is the expression up to its ends, as far as `most` of its size.
    fn fits(
        &mut self,
        jet: &mut Jet,
        series: &[f64],
        (from, to): (f64, f64),
        (most, least): (f64, f64),
    ) -> Option<bool> {
        let long = 0.5 * (to - from);
        let size = |order: usize| series[order].abs() * long.powi(order as i32);
        let greatest = (0..=SCAN_ORDER).map(size).fold(0.0, f64::max);
        let most = (most * greatest).max(least);
        if size(SCAN_ORDER) + size(SCAN_ORDER - 1) > most {
            return Some(false);
        }
        // Up to the end of its own step: the piece behind it meets it within rounding, which no halving lessens.
        for (time, offset) in [(from, -long), (to.next_down(), long)] {
            let value = series.iter().rev().fold(0.0, |sum, c| c + offset * sum);
            if (self.series(jet, time)?[0] - value).abs() > most {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The series of an expression at a time.
    fn series(&mut self, jet: &mut Jet, time: f64) -> Option<Vec<f64>> {
        let n_orders = SCAN_ORDER + jet.tape().max_slot_order() + 1;
        let along: TaylorJet = self.way.jet(self.trajectory, time, n_orders)?;
        let inputs = jet.inputs_mut();
        inputs.set_time(time);
        for order in 0..n_orders {
            for unknown in 0..along.n_unknowns() {
                inputs.set(unknown, order, along.get(unknown, order));
            }
        }
        for order in 0..=SCAN_ORDER {
            jet.extend(order as i32).ok()?;
        }
        let series: Vec<f64> = (0..=SCAN_ORDER).map(|order| jet.root(0, order)).collect();
        series.iter().all(|c| c.is_finite()).then_some(series)
    }
}

impl Driver<'_> {
    /// Begins the past of delayed expressions at their values here: whether one of them moved.
    pub(super) fn begin_pasts(&mut self) -> Result<bool, HybridEnd> {
        let mut has_moved = false;
        for at in 0..self.pasts.len() {
            let place = self.layout.delays + 2 * at;
            let value = self.program.value(place, &self.point, &self.values);
            let by = self.program.value(place + 1, &self.point, &self.values);
            if !(by > 0.0 && by.is_finite()) || self.out.to < self.out.from {
                let text = self.model.sources.slice(self.hybrid.delays[at].span);
                let why = match by > 0.0 {
                    true => format!("`{text}` looks back, and this run goes backwards"),
                    false => format!("`{text}` is a delay by {by}; give it a time above 0"),
                };
                return Err(HybridEnd::NoPoint { why });
            }
            let past = &mut self.pasts[at];
            let before = past.signal.derivative(self.point.time, 0);
            let is_same = (value - before).abs() <= ROUNDING * value.abs().max(before.abs());
            has_moved |= !(is_same || value.is_nan()) || past.by.is_nan();
            past.by = by;
            past.latest = value;
            past.signal.set(rest(value, self.point.time, by));
        }
        Ok(has_moved)
    }

    /// Adds the present values of what changes at events alone.
    pub(super) fn keep_discrete_pasts(&mut self) {
        let discrete = (0..self.pasts.len()).filter(|&at| self.pasts[at].is_discrete);
        for at in discrete.collect::<Vec<usize>>() {
            let place = self.layout.delays + 2 * at;
            let value = self.program.value(place, &self.point, &self.values);
            let past = &mut self.pasts[at];
            if value != past.latest {
                past.latest = value;
                past.jumps.push_back((self.point.time + past.by, value));
            }
        }
    }

    /// How far the past reaches: a leg ends there at the latest.
    pub(super) fn known_until(&self) -> f64 {
        let moving = self.pasts.iter().filter(|past| !past.is_discrete);
        let ends = moving.map(|past| self.point.time + past.by);
        ends.fold(f64::INFINITY, f64::min)
    }

    /// The next time at which a delayed expression jumps.
    pub(super) fn next_jump(&self) -> f64 {
        let jumps = self.pasts.iter().filter_map(|past| past.jumps.front());
        jumps.map(|jump| jump.0).fold(f64::INFINITY, f64::min)
    }

    /// Whether a delayed expression jumps at this very time; it has, from now on.
    pub(super) fn passes_jump(&mut self) -> bool {
        let now = self.point.time;
        let mut has_passed = false;
        for past in &mut self.pasts {
            while let Some((time, value)) = past.jumps.pop_front_if(|jump| jump.0 <= now) {
                has_passed = true;
                if past.is_discrete {
                    past.signal.rest_from(time, value);
                }
            }
        }
        has_passed
    }

    /// Keeps what delayed expressions were along a leg; false if one has no value.
    pub(super) fn keep_past(&mut self, solution: &Solution) -> bool {
        let mode = &self.modes.list[self.mode];
        let parameters = mode.system.parameters().values();
        let orders = mode.delayed.iter().map(|tape| tape.max_slot_order());
        let Some(order) = orders.max() else {
            return true;
        };
        let mut leg = Leg {
            trajectory: &solution.run.trajectory,
            way: solution.route.way_back_to(&mode.system, SCAN_ORDER + order),
        };
        let most = (SAFETY * self.out.rtol).max(ROUNDING);
        let deadline = self.options.budget.map(|budget| self.since + budget);
        let mut pasts = self.pasts.iter_mut().zip(&mode.delayed);
        pasts.all(|(past, tape)| {
            let limits = (most, deadline);
            past.is_discrete || past.record(tape, parameters, &mut leg, limits).is_some()
        })
    }
}
