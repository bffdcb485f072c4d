//! Narrow features that the unknowns drive: exp(-((x - 5)/w)^2) with x' = 1 says nothing of x = 5 in any coefficient at x = 0.
//!
//! Section 3 of `docs/theory/runs.md`, (R8): ranges of operations over parts of a step, by ramps. What they let suspect is looked at.

use super::effect::{Effect, Stretch};
use super::forcing::At;
use super::remainders::Remainders;
use crate::options::Tolerances;
use crate::problem::Problem;
use crate::stages::same_branches;
use crate::tolerances::{FEATURE, FEATURE_DISCS};
use crate::trajectory::shift;
use daelight_expr::{Disc, Interval, Jet, JetEvaluator, PlainJet, Ramp, Register};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// Times that a step is shortened; five times as many parts of it are looked at each time.
const MOST_HALVINGS: usize = 16;

/// Models with more such operations are not looked at: ranges of all of them, part by part, cost more than the step. The flexible
/// chain took 10 s instead of 0.4 s.
const MOST_OPERATIONS: usize = 300;

/// What a coefficient of an unknown, given with their number and its order, varies by within a radius around the point of a series.
pub(super) fn spread(rows: &[f64], (n, unknown, order): (usize, usize, usize), radius: f64) -> f64 {
    let mut spread = 0.0;
    let (mut power, mut binomial) = (1.0, 1.0);
    for k in order + 1..rows.len() / n {
        power *= radius;
        binomial *= k as f64 / (k - order) as f64;
        spread += binomial * rows[k * n + unknown].abs() * power;
    }
    spread
}

/// The same for a coefficient of all unknowns, unknown by unknown the same bits; by the terms of an order on alone.
fn spreads(rows: &[f64], n: usize, (order, from): (usize, usize), radius: f64, into: &mut [f64]) {
    into.fill(0.0);
    let (mut power, mut binomial) = (1.0, 1.0);
    for (k, row) in rows.chunks_exact(n).enumerate().skip(order + 1) {
        power *= radius;
        binomial *= k as f64 / (k - order) as f64;
        if k < from {
            continue;
        }
        for (spread, x) in into.iter_mut().zip(row) {
            *spread += binomial * x.abs() * power;
        }
    }
}

fn width(range: Interval) -> f64 {
    range.hi() - range.lo()
}

/// How it is confirmed that a polynomial does not know what an operation does in the middle of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConfirmedBy {
    /// The equations do not hold there: for series.
    Defect,
    /// The operation has a value there that it has at neither end: for implicit methods, whose polynomials do not satisfy stiff
    /// equations between the ends.
    Value,
}

impl ConfirmedBy {
    /// How many tolerances a feature has to matter by. Implicit methods judge smaller ones by their own errors: with 1 the ring modulator took six
    /// times as many steps as before, with 1000 a tenth more.
    fn tolerances(self) -> f64 {
        match self {
            Self::Defect => 1.0,
            Self::Value => 1000.0,
        }
    }
}

/// The operations of the equations, as values and as ranges.
pub(crate) struct Features<'p> {
    problem: &'p Problem,
    confirmed_by: ConfirmedBy,
    /// Operations that are not linear, and behind them the sums of such.
    nodes: Vec<Register>,
    n_operations: usize,
    values: Jet,
    ranges: PlainJet<Ramp>,
    discs: PlainJet<Disc>,
    /// What bounds the remainders of all operations, once that was asked.
    remainders: Option<Remainders>,
    same_branch: Vec<Option<usize>>,
    n_slots: usize,
    rows: Vec<f64>,
    /// The series around the middle of a part.
    beside: Vec<f64>,
    /// What a coefficient of each unknown varies by.
    spreads: Vec<f64>,
    right: Vec<f64>,
    /// Those of equations that are differentiated equally often.
    of_lag: Vec<f64>,
    /// What the equations are off by at the end of the step.
    at_end: Vec<f64>,
    effect: Effect,
    /// Operations without a value where the step begins: those of a side that is not taken.
    is_idle: Vec<bool>,
    /// The range of each operation at the points of a step that were looked at.
    seen: Vec<Interval>,
    /// The same without the last one.
    known: Vec<Interval>,
}

/// A part of a step with the values of all operations at its ends.
struct Part {
    from: f64,
    to: f64,
    before: Vec<f64>,
    behind: Vec<f64>,
}

impl Part {
    fn halves(self, middle: f64, inside: Vec<f64>) -> [Self; 2] {
        [
            Self {
                from: self.from,
                to: middle,
                before: self.before,
                behind: inside.clone(),
            },
            Self {
                from: middle,
                to: self.to,
                before: inside,
                behind: self.behind,
            },
        ]
    }
}

/// What a look at a part of a step tells.
enum Look {
    /// The polynomial does not know what happens in the middle.
    Confirmed(f64),
    /// It may not know what happens in these parts.
    Suspicious([Part; 2]),
    Clear,
}

impl<'p> Features<'p> {
    /// `None` for equations whose operations on unknowns are all polynomials, or very many.
    pub fn new(problem: &'p Problem, confirmed_by: ConfirmedBy) -> Option<Self> {
        if problem.is_resolved() {
            return None;
        }
        let plain = problem.plain_tape();
        let (mut nodes, sums) = plain.features();
        if nodes.is_empty() || nodes.len() > MOST_OPERATIONS {
            return None;
        }
        let n_operations = nodes.len();
        nodes.extend(sums);
        let n_slots = plain.max_slot_order() + 1;
        let values = Jet::new(Arc::clone(&plain), 0);
        let ranges = PlainJet::<Ramp>::new(Arc::clone(&plain), 0);
        let discs = PlainJet::<Disc>::new(Arc::clone(&plain), 0);
        let graph = problem.equations().graph();
        let n = problem.n();
        let mut features = Self {
            same_branch: same_branches(graph, problem.residual_tape(), &plain),
            is_idle: Vec::new(),
            seen: Vec::new(),
            known: Vec::new(),
            nodes,
            n_operations,
            values,
            ranges,
            discs,
            remainders: None,
            n_slots,
            rows: Vec::new(),
            beside: Vec::new(),
            spreads: vec![0.0; n],
            right: vec![0.0; n],
            of_lag: Vec::new(),
            at_end: Vec::new(),
            effect: Effect::new(n),
            problem,
            confirmed_by,
        };
        features.set_parameters(problem.parameters());
        Some(features)
    }

    /// The operations that discs have to bound, of the residuals without stages.
    pub fn nodes(&self) -> &[Register] {
        &self.nodes[..self.n_operations]
    }

    /// Looks at the same equations with other values of their parameters.
    pub fn set_parameters(&mut self, parameters: &[f64]) {
        let fill = |into: &mut [f64]| into.copy_from_slice(&parameters[..into.len()]);
        fill(self.values.inputs_mut().parameters_mut());
        fill(self.ranges.inputs_mut().parameters_mut());
        fill(self.discs.inputs_mut().parameters_mut());
        if let Some(remainders) = &mut self.remainders {
            remainders.set_parameters(parameters);
        }
    }

    /// The step, up to h, on which no operation does what the polynomial does not know.
    pub fn limit(&mut self, mut at: At<'_>, tolerances: &Tolerances, h: f64) -> f64 {
        if !h.is_finite() || self.problem.n() == 0 {
            return h;
        }
        for (branch, same) in self.same_branch.iter().enumerate() {
            if let Some(&side) = same.and_then(|same| at.sides.get(same)) {
                self.values.branches_mut().choose(branch, side);
                self.ranges.branches_mut().choose(branch, side);
                self.discs.branches_mut().choose(branch, side);
            }
        }
        self.values.branches_mut().hold(true);
        self.ranges.branches_mut().hold(true);
        self.discs.branches_mut().hold(true);
        let mut step = h;
        for _ in 0..MOST_HALVINGS {
            match self.first(&mut at, tolerances, step) {
                Some(s) => step = 0.9 * s,
                None => break,
            }
        }
        step
    }

    /// The distance of the first place within a step that the polynomial does not know.
    fn first(&mut self, at: &mut At<'_>, tolerances: &Tolerances, h: f64) -> Option<f64> {
        self.seen.clear();
        self.is_idle.clear();
        let before = self.values_at(at, 0.0)?;
        let behind = self.values_at(at, h)?;
        self.at_end = self.residuals();
        let part = Part {
            from: 0.0,
            to: h,
            before,
            behind,
        };
        if self.confirmed_by == ConfirmedBy::Value && self.is_uneven(at, tolerances, &part) {
            return Some(0.5 * h);
        }
        if self.confirmed_by == ConfirmedBy::Defect && self.is_known(at, tolerances, &part) {
            return None;
        }
        // Breadth first: where ranges are too wide to say anything all parts of the step are looked at alike.
        let mut parts = VecDeque::from([part]);
        for n_left in (0..5 * MOST_HALVINGS).rev() {
            let Some(part) = parts.pop_front() else {
                break;
            };
            let has_turn = parts.len() < n_left;
            match self.look(at, tolerances, part, has_turn) {
                Look::Confirmed(middle) => return Some(middle),
                Look::Suspicious(halves) => parts.extend(halves),
                Look::Clear => {}
            }
        }
        None
    }

    /// Whether the series of all operations leave out less on a step than they vary by: by Cauchy's estimate on a disc of times, (R7), or by
    /// what their coefficients satisfy, (R32).
    fn is_known(&mut self, at: &mut At<'_>, tolerances: &Tolerances, step: &Part) -> bool {
        let h = step.to;
        let n = self.problem.n();
        let n_rows = at.series.len() / n;
        // The middle counts too: what is even has the same value at both ends. It counts here alone: (R8) asks whether it is a feature.
        let ends = self.seen.clone();
        let has_middle = n_rows > self.n_slots && self.values_at(at, 0.5 * h).is_some();
        let seen = std::mem::replace(&mut self.seen, ends);
        if !has_middle {
            return false;
        }
        self.is_known_by_discs(at, h, &seen)
            || self.is_known_by_remainders(at, tolerances, step, &seen)
    }

    fn is_known_by_discs(&mut self, at: &At<'_>, h: f64, seen: &[Interval]) -> bool {
        let n_known = (at.series.len() / self.problem.n() - self.n_slots) as i32;
        // Where all operations are known, so are their sums.
        let n_operations = self.n_operations;
        FEATURE_DISCS.into_iter().any(|times| {
            self.encircle(at, times * h);
            let part = 1.0 / times;
            let left = part.powi(n_known + 1) / (1.0 - part);
            self.discs.extend(0).is_ok()
                && self.nodes[..n_operations]
                    .iter()
                    .zip(seen.iter().zip(&self.is_idle))
                    .all(|(&node, (seen, is_idle))| {
                        let rest = self.discs.register(node, 0).radius() * left;
                        *is_idle || rest <= FEATURE * width(*seen)
                    })
        })
    }

    fn is_known_by_remainders(
        &mut self,
        at: &mut At<'_>,
        tolerances: &Tolerances,
        step: &Part,
        seen: &[Interval],
    ) -> bool {
        let n = self.problem.n();
        let order = at.series.len() / n - self.n_slots;
        let held = self.remainders.take().filter(|held| held.order() == order);
        let remainders = self.remainders.insert(held.unwrap_or_else(|| {
            let mut fresh = Remainders::new(self.problem.plain_tape(), order);
            fresh.set_parameters(self.values.inputs().parameters());
            fresh
        }));
        let sides = self.same_branch.iter().enumerate();
        remainders
            .hold(sides.filter_map(|(branch, same)| Some((branch, *at.sides.get((*same)?)?))));
        if !remainders.bound(at.time, at.series, step.to) {
            return false;
        }
        let nodes = self.nodes[..self.n_operations].iter().zip(&self.is_idle);
        let at_work = nodes.zip(seen).filter(|((_, is_idle), _)| !**is_idle);
        let left = at_work.map(|((&node, _), seen)| ((node, remainders.left(node)), seen));
        let beyond = left.filter(|((_, left), seen)| {
            let most = FEATURE * width(**seen);
            left.partial_cmp(&most).is_none_or(Ordering::is_gt)
        });
        let beyond: Vec<_> = beyond.map(|(left, _)| left).collect();
        // What is left of two operations might make up for each other.
        beyond.iter().all(|change| {
            let change = std::slice::from_ref(change);
            !self.matter(at, tolerances, change, step)
        })
    }

    /// Sets the unknowns on a disc of complex times around the beginning of the step.
    fn encircle(&mut self, at: &At<'_>, radius: f64) {
        let n = self.problem.n();
        let n_rows = at.series.len() / n;
        let inputs = self.discs.inputs_mut();
        inputs.set_time(Disc::new(at.time, radius));
        for order in 0..self.n_slots.min(n_rows) {
            spreads(at.series, n, (order, 0), radius, &mut self.spreads);
            let known = at.series[order * n..].iter().zip(&self.spreads);
            for (input, (&centre, &spread)) in inputs.row_mut(order).iter_mut().zip(known) {
                *input = Disc::new(centre, spread);
            }
        }
    }

    /// Whether operations at five points of a step have a fourth difference that is greater than what they vary by, which matters: what is even
    /// at the ends is not so between them.
    fn is_uneven(&mut self, at: &mut At<'_>, tolerances: &Tolerances, step: &Part) -> bool {
        let inside = [0.25, 0.5, 0.75].map(|part| self.values_at(at, part * step.to));
        let [Some(left), Some(middle), Some(right)] = inside else {
            return true;
        };
        let mut uneven = Vec::new();
        for (which, &node) in self.nodes.iter().enumerate() {
            let ends = step.before[which] + step.behind[which];
            let fourth = ends - 4.0 * (left[which] + right[which]) + 6.0 * middle[which];
            if fourth.abs() > width(self.seen[which]) {
                // A wave of amplitude 1 with two periods has a fourth difference of 16.
                uneven.push((node, fourth.abs() / (16.0 * self.confirmed_by.tolerances())));
            }
        }
        self.matter(at, tolerances, &uneven, step)
    }

    /// Looks at a part. Whether it is suspicious is asked only where its halves have their turn, or a
    /// feature is to be confirmed.
    fn look(
        &mut self,
        at: &mut At<'_>,
        tolerances: &Tolerances,
        part: Part,
        halves_have_turn: bool,
    ) -> Look {
        let middle = 0.5 * (part.from + part.to);
        self.known.clone_from(&self.seen);
        let Some(inside) = self.values_at(at, middle) else {
            // It has values at both ends: a root whose argument falls below zero in between.
            return Look::Confirmed(middle);
        };
        let is_confirmed = match self.confirmed_by {
            ConfirmedBy::Defect => {
                self.is_wrong(at, tolerances, &part)
                    && (self.is_lively(at, tolerances, &part, &inside)
                        || self.is_suspicious(at, tolerances, &part, &inside))
            }
            ConfirmedBy::Value => self.is_lively(at, tolerances, &part, &inside),
        };
        if is_confirmed {
            return Look::Confirmed(middle);
        }
        let is_followed = halves_have_turn && self.is_suspicious(at, tolerances, &part, &inside);
        match is_followed {
            true => Look::Suspicious(part.halves(middle, inside)),
            false => Look::Clear,
        }
    }

    /// Whether operations may do more in a part than at its ends and its middle, which matters.
    fn is_suspicious(
        &mut self,
        at: &mut At<'_>,
        tolerances: &Tolerances,
        part: &Part,
        inside: &[f64],
    ) -> bool {
        self.enclose(at, part);
        let mut beyond = Vec::new();
        for (which, &node) in self.nodes.iter().enumerate() {
            let range = self.ranges.register(node, 0).range();
            let [a, b, c] = [part.before[which], inside[which], part.behind[which]];
            let excess = (range.hi() - a.max(b).max(c)).max(a.min(b).min(c) - range.lo());
            let is_beyond = excess.is_nan() || excess > FEATURE * width(self.seen[which]);
            if is_beyond && !self.is_idle[which] {
                beyond.push((node, excess));
            }
        }
        self.matter(at, tolerances, &beyond, part)
    }

    /// Whether operations do in the middle of a part, at which the values were set last, what they do at no other point so far, which matters.
    fn is_lively(
        &mut self,
        at: &mut At<'_>,
        tolerances: &Tolerances,
        part: &Part,
        inside: &[f64],
    ) -> bool {
        let mut lively = Vec::new();
        for ((&node, known), b) in self.nodes.iter().zip(&self.known).zip(inside) {
            let aside = (b - known.hi()).max(known.lo() - b);
            if aside > FEATURE * width(*known) {
                lively.push((node, aside / self.confirmed_by.tolerances()));
            }
        }
        self.matter(at, tolerances, &lively, part)
    }

    /// What the equations are off by where the values were set last.
    fn residuals(&self) -> Vec<f64> {
        (0..self.right.len())
            .map(|i| self.values.root(i, 0))
            .collect()
    }

    /// Whether the equations fail in the middle of a part, at which the values were set last, and by more than at the end of the step: what a
    /// series leaves out grows towards the end, and is judged there.
    fn is_wrong(&mut self, at: &mut At<'_>, tolerances: &Tolerances, part: &Part) -> bool {
        self.right = self.residuals();
        let here = self.effect_on(at, tolerances, part);
        if here <= 1.0 {
            return false;
        }
        self.right.clone_from(&self.at_end);
        here > FEATURE * self.effect_on(at, tolerances, part)
    }

    /// Whether changes of some operations over a part move the solution by more than is allowed.
    fn matter(
        &mut self,
        at: &mut At<'_>,
        tolerances: &Tolerances,
        changes: &[(Register, f64)],
        part: &Part,
    ) -> bool {
        if changes.iter().any(|(_, change)| !change.is_finite()) {
            return true;
        }
        if changes.is_empty() {
            return false;
        }
        self.values.response_to(changes, &mut self.right);
        self.effect_on(at, tolerances, part) > 1.0
    }

    /// What the equations being off by `right` moves the solution by within a part, in units of what is allowed.
    ///
    /// An equation that is differentiated c times for the stage pins derivatives that much lower.
    fn effect_on(&mut self, at: &mut At<'_>, tolerances: &Tolerances, part: &Part) -> f64 {
        let offsets = &self.problem.structure().offsets().equation;
        let lags = offsets.iter().copied().max().unwrap_or(0);
        let mut excess = 0.0f64;
        for lag in 0..=lags {
            let given = self.right.iter().zip(offsets);
            let right = given.map(|(x, &c)| if c == lag { *x } else { 0.0 });
            self.of_lag.clear();
            self.of_lag.extend(right);
            let stretch = Stretch {
                h: part.to - part.from,
                power: 0,
                lag,
                tolerances: FEATURE,
            };
            let effect = &mut self.effect;
            let found = effect.of(self.problem, at, tolerances, &self.of_lag, stretch);
            excess = excess.max(found);
        }
        excess
    }

    /// Values of all operations at a distance; `None` where one is missing.
    fn values_at(&mut self, at: &At<'_>, s: f64) -> Option<Vec<f64>> {
        let n = self.problem.n();
        let signed = at.direction * s;
        self.rows.resize(self.n_slots * n, 0.0);
        shift(at.series, n, signed, &mut self.rows);
        let inputs = self.values.inputs_mut();
        inputs.set_time(at.time + signed);
        for (order, row) in self.rows.chunks_exact(n).enumerate() {
            inputs.row_mut(order).copy_from_slice(row);
        }
        self.values.extend(0).ok()?;
        let values = self.nodes.iter().map(|&node| self.values.register(node, 0));
        let values: Vec<f64> = values.collect();
        if self.is_idle.is_empty() {
            self.is_idle = values.iter().map(|x| !x.is_finite()).collect();
        }
        if self.seen.is_empty() {
            self.seen = values.iter().map(|&x| Interval::new(x, x)).collect();
        }
        for (seen, &value) in self.seen.iter_mut().zip(&values) {
            *seen = Interval::new(seen.lo().min(value), seen.hi().max(value));
        }
        let mut known = values.iter().zip(&self.is_idle);
        known
            .all(|(x, is_idle)| x.is_finite() || *is_idle)
            .then_some(values)
    }

    /// Ranges of all operations over a part: the polynomial around its middle, its first term as it is and the sizes of the others.
    fn enclose(&mut self, at: &At<'_>, part: &Part) {
        let n = self.problem.n();
        let middle = at.direction * 0.5 * (part.from + part.to);
        let radius = 0.5 * (part.to - part.from);
        let n_rows = at.series.len() / n;
        self.beside.resize(n_rows * n, 0.0);
        shift(at.series, n, middle, &mut self.beside);
        let inputs = self.ranges.inputs_mut();
        inputs.set_time(Ramp::new(at.time + middle, radius, 0.0));
        for order in 0..self.n_slots.min(n_rows) {
            let behind_slopes = (order, order + 2);
            spreads(&self.beside, n, behind_slopes, radius, &mut self.spreads);
            let slopes = self.beside.get((order + 1) * n..).unwrap_or_default();
            let per_radius = (order + 1) as f64 * radius;
            let known = self.beside[order * n..].iter().zip(&self.spreads);
            let known = inputs.row_mut(order).iter_mut().zip(known);
            for (j, (input, (&centre, &spread))) in known.enumerate() {
                let slope = slopes.get(j).map_or(0.0, |slope| per_radius * slope);
                *input = Ramp::new(centre, slope, spread);
            }
        }
        // An operation without a range may do anything.
        let _ = self.ranges.extend(0);
    }
}
