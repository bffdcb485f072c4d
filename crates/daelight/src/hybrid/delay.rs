//! Delays: what an expression was in the past of a run, as signals that grow with it.
//!
//! Section 5 of `docs/theory/hybrid.md`.

use super::{Driver, HybridEnd, ROUNDING};
use crate::observe::WayBack;
use crate::record::JUMP;
use crate::solve::{SAFETY, Solution};
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{Jet, JetEvaluator, Side, Signal, Tape};
use daelight_integrate::Trajectory;
use daelight_integrate::watch::SCAN_ORDER;
use daelight_lang::Hybrid;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// The past of a delayed expression.
pub(super) struct Past {
    /// The expression as it was `by` earlier.
    signal: Arc<Signal>,
    by: f64,
    /// Times at which it jumps.
    jumps: VecDeque<f64>,
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
    pub fn all(signals: &[(usize, Arc<Signal>)]) -> Vec<Self> {
        let past = |(_, signal): &(usize, Arc<Signal>)| Self {
            signal: Arc::clone(signal),
            by: f64::NAN,
            jumps: VecDeque::new(),
        };
        signals.iter().map(past).collect()
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
        if (first - before).abs() > JUMP * first.abs().max(before.abs()) {
            self.jumps.push_back(begins + self.by);
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
                let is_least = n_steps == 1 && (halvings == SCAN_ORDER || is_late());
                let series = leg.series(&mut jet, 0.5 * (from + to))?;
                if is_least || leg.fits(&mut jet, &series, (from, to), most)? {
                    self.signal.extend(to + self.by, &series);
                    break;
                }
                if n_steps > 1 {
                    n_steps = n_steps.div_ceil(2);
                    to = ends[at + n_steps - 1];
                } else {
                    halvings += 1;
                    to = 0.5 * (from + to);
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
        most: f64,
    ) -> Option<bool> {
        let long = 0.5 * (to - from);
        let size = |order: usize| series[order].abs() * long.powi(order as i32);
        let greatest = (0..=SCAN_ORDER).map(size).fold(0.0, f64::max);
        if size(SCAN_ORDER) + size(SCAN_ORDER - 1) > most * greatest {
            return Some(false);
        }
        // Up to the end of its own step: the piece behind it meets it within rounding, which no halving lessens.
        for (time, offset) in [(from, -long), (to.next_down(), long)] {
            let value = series.iter().rev().fold(0.0, |sum, c| c + offset * sum);
            if (self.series(jet, time)?[0] - value).abs() > most * greatest {
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
            past.signal.set(rest(value, self.point.time, by));
        }
        Ok(has_moved)
    }

    /// How far the past reaches: a leg ends there at the latest.
    pub(super) fn known_until(&self) -> f64 {
        let ends = self.pasts.iter().map(|past| self.point.time + past.by);
        ends.fold(f64::INFINITY, f64::min)
    }

    /// The next time at which a delayed expression jumps.
    pub(super) fn next_jump(&self) -> f64 {
        let jumps = self.pasts.iter().filter_map(|past| past.jumps.front());
        jumps.copied().fold(f64::INFINITY, f64::min)
    }

    /// Whether a delayed expression jumps at this very time; it has, from now on.
    pub(super) fn passes_jump(&mut self) -> bool {
        let now = self.point.time;
        let mut has_passed = false;
        for past in &mut self.pasts {
            while past.jumps.front().is_some_and(|jump| *jump <= now) {
                past.jumps.pop_front();
                has_passed = true;
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
        let pasts = self.pasts.iter_mut().zip(&mode.delayed);
        pasts
            .map(|(past, tape)| past.record(tape, parameters, &mut leg, (most, deadline)))
            .all(|kept| kept.is_some())
    }
}
