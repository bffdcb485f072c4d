//! Where a leg ends: the first time at which something that is held has clearly changed.
//!
//! Each condition is looked at alone. One that the equations of a mode keep on its border (a string that is taut, a block that
//! sticks) is never decided, and hides nothing of the others.

use super::ROUNDING;
use super::border::{Makings, Slope, is_border, least_of, nominals};
use super::timed::{Bounds, Parts, Timed};
use crate::estimate::TOLD;
use crate::observe::{WayBack, expand_deciders, pieces};
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{ExprId, Jet, JetEvaluator, Tape, Values};
use daelight_integrate::Trajectory;
use daelight_integrate::watch::{Cell, Expand, SCAN_ORDER, Scan};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// A condition of a mode that ends a leg, in expressions of its graph.
pub(super) struct Held {
    /// That it has changed.
    pub changed: ExprId,
    /// Its sides.
    pub sides: [ExprId; 2],
    /// The size of what its sides are made of.
    pub size: ExprId,
    /// Its slopes along unknowns.
    pub slopes: Vec<Slope<ExprId>>,
    /// Its sides, with unknowns that follow time alone as functions of it.
    pub of_time: [ExprId; 2],
    /// Its relation, if it is one.
    pub relation: Option<usize>,
    /// Whether it holds where its left side is the greater.
    pub is_above: bool,
    /// As written.
    pub text: String,
}

/// What ends the legs of a mode.
#[derive(Debug)]
pub struct Events {
    conditions: Vec<Condition>,
    order: usize,
    pub(super) makings: Mutex<Makings>,
    /// The tolerance of the run, and the nominal values of the unknowns.
    rtol: f64,
    nominals: Vec<f64>,
    /// Relations that the last leg was beside the border of.
    decided: Mutex<Vec<usize>>,
    /// Relations that the next leg does not look at where it begins, and for how long.
    quiet: Mutex<(Vec<usize>, f64)>,
    /// Relations that the motion of the next leg keeps on their border.
    staying: Mutex<Vec<usize>>,
    /// Relations that leave their border where the next leg begins.
    released: Mutex<Vec<usize>>,
}

#[derive(Debug)]
struct Condition {
    /// That it has changed, and its sides.
    tape: Arc<Tape>,
    /// Its sides alone, which have series on the border too.
    sides: Arc<Tape>,
    /// The size of what it is made of, and its slopes along unknowns.
    size: Arc<Tape>,
    along: Vec<(usize, usize)>,
    timed: Option<Timed>,
    relation: Option<usize>,
    /// Whether it holds where its left side is the greater.
    is_above: bool,
    text: String,
}

impl Events {
    pub(super) fn new((system, is_regular): (&System, bool), held: Vec<Held>, rtol: f64) -> Self {
        let equations = system.equations();
        let conditions: Vec<Condition> = held
            .into_iter()
            .map(|held| {
                let mut sizes = vec![held.size];
                sizes.extend(held.slopes.iter().map(|slope| slope.2));
                Condition {
                    tape: Arc::new(equations.compile(&[
                        held.changed,
                        held.sides[0],
                        held.sides[1],
                    ])),
                    sides: Arc::new(equations.compile(&held.sides)),
                    size: Arc::new(equations.compile(&sizes)),
                    along: held.slopes.iter().map(|s| (s.0, s.1)).collect(),
                    timed: Timed::new(system, equations.graph(), &held.of_time),
                    relation: held.relation,
                    is_above: held.is_above,
                    text: held.text,
                }
            })
            .collect();
        let orders = conditions.iter().map(|c| c.tape.max_slot_order());
        Self {
            order: SCAN_ORDER + orders.max().unwrap_or(0),
            makings: Mutex::new(Makings::new(system, is_regular)),
            rtol,
            nominals: nominals(system.unknowns().iter().map(|u| u.nominal)),
            conditions,
            decided: Mutex::default(),
            quiet: Mutex::default(),
            staying: Mutex::default(),
            released: Mutex::default(),
        }
    }

    /// Does not look at relations where the next leg begins: their numbers changed back and forth there.
    pub(super) fn set_quiet(&self, relations: Vec<usize>, long: f64) {
        let quiet = self.quiet.lock();
        *quiet.unwrap_or_else(PoisonError::into_inner) = (relations, long);
    }

    /// Says which relations leave their border where the next leg begins, to the side that they are on behind it.
    pub(super) fn set_released(&self, relations: Vec<usize>) {
        let released = self.released.lock();
        *released.unwrap_or_else(PoisonError::into_inner) = relations;
    }

    /// Relations that the motion of the next leg keeps on their border, (H3d).
    pub(super) fn set_staying(&self, relations: Vec<usize>) {
        let staying = self.staying.lock();
        *staying.unwrap_or_else(PoisonError::into_inner) = relations;
    }

    /// What a relation on its border is just behind a point: by the first coefficient of its difference that is more than
    /// rounding.
    pub(super) fn truth_behind(
        &self,
        relation: usize,
        parameters: &[f64],
        (time, along): (f64, &TaylorJet),
    ) -> Option<bool> {
        let series = self.difference(relation, parameters, (time, along))?;
        let terms = series.iter().enumerate().skip(1);
        for (k, difference) in terms {
            let sizes = along.row(k)?.iter().map(|x| x.abs());
            if difference.abs() > f64::EPSILON.sqrt() * sizes.fold(0.0, f64::max) {
                return self.truth_where(relation, *difference);
            }
        }
        None
    }

    /// The coefficients of the difference of a relation's sides along a jet.
    pub(super) fn difference(
        &self,
        relation: usize,
        parameters: &[f64],
        (time, along): (f64, &TaylorJet),
    ) -> Option<Vec<f64>> {
        let condition = self.condition(relation)?;
        let most = along
            .n_orders()
            .checked_sub(condition.sides.max_slot_order() + 1)?;
        let order = most.min(SCAN_ORDER);
        let mut jet = Jet::new(Arc::clone(&condition.sides), order);
        jet.inputs_mut()
            .parameters_mut()
            .copy_from_slice(parameters);
        jet.inputs_mut().set_time(time);
        for k in 0..=order + condition.sides.max_slot_order() {
            for unknown in 0..along.n_unknowns() {
                jet.inputs_mut().set(unknown, k, along.get(unknown, k));
            }
        }
        for k in 0..=order {
            jet.extend(k as i32).ok()?;
        }
        Some(
            (0..=order)
                .map(|k| jet.root(0, k) - jet.root(1, k))
                .collect(),
        )
    }

    /// What a relation is where the difference of its sides has a sign.
    pub(super) fn truth_where(&self, relation: usize, difference: f64) -> Option<bool> {
        Some((difference > 0.0) == self.condition(relation)?.is_above)
    }

    fn condition(&self, relation: usize) -> Option<&Condition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|c| c.relation == Some(relation))
    }

    /// The order of the jets of unknowns that are needed.
    pub(crate) fn order(&self) -> usize {
        self.order
    }

    /// Whether the last leg was beside the border of a relation somewhere.
    pub(super) fn was_decided(&self, relation: usize) -> bool {
        let decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        decided.contains(&relation)
    }
}

/// How many times as wide the border of a relation is that the motion keeps on it: what a run may be off by, in units of rounding.
pub(super) fn wide(rtol: f64) -> f64 {
    (TOLD * rtol / ROUNDING).max(1.0)
}

/// A condition along a trajectory.
struct Looked {
    jet: Jet,
    values: Values,
    size: Values,
    /// Its ranges over parts of the run, if functions of time decide it.
    bounds: Option<Bounds>,
    /// The last place at which it had clearly not changed.
    at: f64,
    /// Whether it is not looked at where the leg begins.
    is_quiet: bool,
    /// Whether it was on its border all along: then only what consistent points say counts, since the pieces between them are
    /// off by more than rounding.
    rests: bool,
    /// Whether the motion keeps it on its border.
    stays: bool,
    /// Whether it leaves its border where the leg begins.
    is_released: bool,
    /// What its sides may differ by on the other side, if so: rounding may have left them there, and no more than that.
    slack: f64,
}

impl Looked {
    /// Whether it has changed, as evaluated last.
    fn has_changed(&self) -> bool {
        let difference = self.values.root(1) - self.values.root(2);
        self.values.root(0) != 0.0 && !(self.is_released && difference.abs() <= self.slack)
    }
}

/// Jets of the unknowns along a trajectory, kept where several conditions need them.
struct Jets {
    way: WayBack,
    n_orders: usize,
    known: HashMap<u64, TaylorJet>,
    /// The consistent points next to them, where they were asked for.
    settled: HashMap<u64, TaylorJet>,
}

impl Jets {
    fn at(&mut self, trajectory: &Trajectory, time: f64) -> Option<&TaylorJet> {
        let key = time.to_bits();
        if !self.known.contains_key(&key) {
            let jet = self.way.jet(trajectory, time, self.n_orders)?;
            // One condition may ask for thousands of them: those kept are as many as some conditions share, 32 MB at most.
            if self.known.len() * jet.n_unknowns() * self.n_orders > 1 << 22 {
                self.known.clear();
            }
            self.known.insert(key, jet);
        }
        self.known.get(&key)
    }

    /// The same at the consistent point next to it.
    fn settled(
        &mut self,
        trajectory: &Trajectory,
        time: f64,
        (events, parameters): (&Events, &[f64]),
    ) -> Option<&TaylorJet> {
        let key = time.to_bits();
        if !self.settled.contains_key(&key) {
            let jet = self.at(trajectory, time)?.clone();
            let makings = events.makings.lock();
            let mut makings = makings.unwrap_or_else(PoisonError::into_inner);
            let settled = makings.settled_values(parameters, time, &jet);
            let settled = settled.unwrap_or(jet);
            self.settled.insert(key, settled);
        }
        self.settled.get(&key)
    }

    fn clear(&mut self) {
        self.known.clear();
        self.settled.clear();
    }
}

fn set(values: &mut Values, jet: &TaylorJet, time: f64) {
    let n_orders = values.tape().max_slot_order() + 1;
    let inputs = values.inputs_mut();
    inputs.set_time(time);
    for order in 0..n_orders {
        for unknown in 0..jet.n_unknowns() {
            inputs.set(unknown, order, jet.get(unknown, order));
        }
    }
}

/// The functions whose signs decide one condition.
struct Deciders<'a> {
    jet: &'a mut Jet,
    jets: &'a mut Jets,
    trajectory: &'a Trajectory,
}

impl Expand for Deciders<'_> {
    fn n_functions(&self) -> usize {
        self.jet.tape().branches().len()
    }

    fn expand(&mut self, time: f64, into: &mut [Vec<(f64, f64)>]) -> bool {
        let Some(found) = self.jets.at(self.trajectory, time) else {
            return false;
        };
        expand_deciders(self.jet, found, time, into)
    }
}

/// What of a segment a condition has still to be looked at.
struct Coming {
    from: f64,
    /// Up to this distance from the start it is looked at in one piece.
    whole: f64,
}

/// Whether a function with this series stays beside zero up to a distance, or moves one way.
fn is_plain(series: &[(f64, f64)], h: f64) -> bool {
    let mut power = 1.0;
    let (mut all, mut bends) = (0.0, 0.0);
    for (m, (x, _)) in series.iter().enumerate().skip(1) {
        power *= h;
        all += x.abs() * power;
        if m > 1 {
            bends += m as f64 * x.abs() * power;
        }
    }
    let (value, _) = series[0];
    let (slope, size) = series.get(1).copied().unwrap_or_default();
    let moves = slope.abs() > f64::EPSILON.sqrt() * size && slope.abs() * h > 2.0 * bends;
    moves || value.abs() > f64::EPSILON.sqrt() * all
}

/// Looks for the first change along a run.
pub(crate) struct EventScan {
    events: Arc<Events>,
    parameters: Vec<f64>,
    looked: Vec<Looked>,
    jets: Jets,
    scan: Scan,
    until: Option<f64>,
    /// How long quiet conditions are so.
    quiet: f64,
    unresolved: Vec<(usize, f64)>,
}

impl EventScan {
    /// `way` leads back to [`Events::order`].
    pub(crate) fn new(system: &System, events: Arc<Events>, way: WayBack) -> Self {
        let parameters = system.parameters().values();
        let value = |tape: &Arc<Tape>| {
            let mut values = Values::new(Arc::clone(tape));
            values
                .inputs_mut()
                .parameters_mut()
                .copy_from_slice(parameters);
            values
        };
        let quiet = events.quiet.lock();
        let (quiet, long) = std::mem::take(&mut *quiet.unwrap_or_else(PoisonError::into_inner));
        let staying = events.staying.lock();
        let staying = staying.unwrap_or_else(PoisonError::into_inner).clone();
        let released = events.released.lock();
        let released = released.unwrap_or_else(PoisonError::into_inner).clone();
        let looked = events.conditions.iter().map(|condition| {
            let mut jet = Jet::new(Arc::clone(&condition.tape), SCAN_ORDER);
            jet.inputs_mut()
                .parameters_mut()
                .copy_from_slice(parameters);
            Looked {
                jet,
                values: value(&condition.tape),
                size: value(&condition.size),
                bounds: (condition.timed.as_ref()).and_then(|t| t.bounds(parameters)),
                at: f64::NAN,
                is_quiet: condition.relation.is_some_and(|r| quiet.contains(&r)),
                rests: false,
                stays: condition.relation.is_some_and(|r| staying.contains(&r)),
                is_released: condition.relation.is_some_and(|r| released.contains(&r)),
                slack: f64::INFINITY,
            }
        });
        let looked = looked.collect();
        let decided = events.decided.lock();
        decided.unwrap_or_else(PoisonError::into_inner).clear();
        Self {
            looked,
            jets: Jets {
                way,
                n_orders: events.order + 1,
                known: HashMap::new(),
                settled: HashMap::new(),
            },
            events,
            parameters: parameters.to_vec(),
            scan: Scan::default(),
            until: None,
            quiet: long,
            unresolved: Vec::new(),
        }
    }

    /// Conditions that change too fast to be followed, and where.
    pub(crate) fn unresolved(&self) -> impl Iterator<Item = (&str, f64)> {
        let text = |&(at, time): &(usize, f64)| (self.events.conditions[at].text.as_str(), time);
        self.unresolved.iter().map(text)
    }

    /// Whether a condition has changed at a time, along the trajectory or at the consistent point next to it.
    fn has_changed(
        &mut self,
        trajectory: &Trajectory,
        at: usize,
        (time, settled): (f64, bool),
    ) -> Option<bool> {
        let jet = match settled {
            true => {
                let of = (&*self.events, &self.parameters[..]);
                self.jets.settled(trajectory, time, of)?
            }
            false => self.jets.at(trajectory, time)?,
        };
        let looked = &mut self.looked[at];
        set(&mut looked.values, jet, time);
        looked.values.evaluate().ok()?;
        Some(looked.has_changed())
    }

    /// Whether it is beside its border there, as evaluated last; not where the leg begins, if it is quiet there.
    fn is_clear(
        &mut self,
        trajectory: &Trajectory,
        at: usize,
        (time, settled): (f64, bool),
    ) -> bool {
        let looked = &mut self.looked[at];
        let began = trajectory.span().map_or(time, |span| span.0);
        if looked.is_quiet && (time - began).abs() <= self.quiet {
            return false;
        }
        let (left, right) = (looked.values.root(1), looked.values.root(2));
        let widths = match looked.stays {
            true => wide(self.events.rtol),
            false => 1.0,
        };
        let sides = (right + (left - right) / widths, right);
        let of = (&*self.events, &self.parameters[..]);
        let jet = match settled {
            true => self.jets.settled(trajectory, time, of),
            false => self.jets.at(trajectory, time),
        };
        let Some(jet) = jet else {
            return false;
        };
        set(&mut looked.size, jet, time);
        if looked.size.evaluate().is_err() {
            return !is_border(sides, None, self.events.rtol);
        }
        let size = looked.size.root(0);
        let along = self.events.conditions[at].along.iter().enumerate();
        let slopes = along.map(|(k, &(unknown, order))| (unknown, order, looked.size.root(k + 1)));
        let slopes: Vec<Slope<f64>> = slopes.collect();
        let least = least_of(&slopes, &self.events.nominals, self.events.rtol);
        if is_border(sides, Some(size), least) {
            return false;
        }
        let makings = self.events.makings.lock();
        let mut makings = makings.unwrap_or_else(PoisonError::into_inner);
        let size = makings.size(&self.parameters, (time, jet), &slopes);
        !is_border(sides, size, least)
    }

    /// The first time at which something has changed, within what is new of the trajectory.
    pub(crate) fn look(&mut self, trajectory: &Trajectory) -> Option<f64> {
        let (start, end) = trajectory.span()?;
        let direction = if end >= start { 1.0 } else { -1.0 };
        let mut until = match self.until {
            Some(until) => until,
            None => {
                for at in 0..self.looked.len() {
                    self.looked[at].at = start;
                    let has_changed = self.has_changed(trajectory, at, (start, false));
                    let looked = &mut self.looked[at];
                    looked.slack = 2.0 * (looked.values.root(1) - looked.values.root(2)).abs();
                    let is_clear =
                        has_changed.is_some() && self.is_clear(trajectory, at, (start, false));
                    self.looked[at].rests = !is_clear;
                    if is_clear && has_changed == Some(true) {
                        self.note(at);
                        return Some(start);
                    }
                }
                start
            }
        };
        let first = trajectory.find(until).unwrap_or(0);
        for segment in &trajectory.segments()[first..] {
            let from = match (segment.start - until) * direction > 0.0 {
                true => segment.start,
                false => until,
            };
            if (segment.end - from) * direction <= 0.0 {
                continue;
            }
            let pieces = pieces((from, segment.end), from == start);
            let mut coming: Vec<Coming> = (0..self.looked.len())
                .map(|at| Coming {
                    from,
                    whole: self.whole(trajectory, at, &pieces),
                })
                .collect();
            for &(_, to) in &pieces {
                self.jets.clear();
                let is_due = |coming: &Coming| (to - start).abs() >= coming.whole;
                let mut found = self.changes(trajectory, (start, to), &mut coming, is_due);
                if found.is_some() {
                    // What was left for later may have changed before that.
                    let others = self.changes(trajectory, (start, to), &mut coming, |_| true);
                    found = [found, others].into_iter().flatten().min_by(|a, b| {
                        let distance = |time: &f64| (time - start).abs();
                        distance(a).total_cmp(&distance(b))
                    });
                    return found;
                }
            }
            until = segment.end;
        }
        self.until = Some(until);
        None
    }

    /// The first change up to a time, of conditions that are due and were not looked at so far.
    fn changes(
        &mut self,
        trajectory: &Trajectory,
        (start, to): (f64, f64),
        coming: &mut [Coming],
        is_due: impl Fn(&Coming) -> bool,
    ) -> Option<f64> {
        let mut first: Option<f64> = None;
        for (at, coming) in coming.iter_mut().enumerate() {
            if coming.from == to || !is_due(coming) {
                continue;
            }
            let from = std::mem::replace(&mut coming.from, to);
            let found = self.change(trajectory, at, (from, to));
            let is_first =
                |time: &f64| first.is_none_or(|first| (time - start).abs() < (first - start).abs());
            first = found.filter(is_first).or(first);
        }
        first
    }

    /// How far from the start of a leg a condition can be looked at as a whole: where its functions are far from zero beside what they move by,
    /// or move one way, no change hides on a smaller scale of time. One that is on its border and moves back is looked at on all scales.
    fn whole(&mut self, trajectory: &Trajectory, at: usize, pieces: &[(f64, f64)]) -> f64 {
        let &[(start, _), _, ..] = pieces else {
            return 0.0;
        };
        if self.looked[at].stays || self.looked[at].is_quiet {
            return 0.0;
        }
        let mut functions = Deciders {
            jet: &mut self.looked[at].jet,
            jets: &mut self.jets,
            trajectory,
        };
        let mut series = vec![Vec::new(); functions.n_functions()];
        if !functions.expand(start, &mut series) {
            return 0.0;
        }
        let reaches = |h: &f64| series.iter().all(|f| is_plain(f, *h));
        let ends = pieces.iter().rev().map(|(_, to)| (to - start).abs());
        ends.into_iter().find(reaches).unwrap_or(0.0)
    }

    fn note(&mut self, at: usize) {
        let Some(relation) = self.events.conditions[at].relation else {
            return;
        };
        let decided = self.events.decided.lock();
        let mut decided = decided.unwrap_or_else(PoisonError::into_inner);
        if !decided.contains(&relation) {
            decided.push(relation);
        }
    }

    /// The first time in a piece at which a condition has clearly changed.
    fn change(&mut self, trajectory: &Trajectory, at: usize, piece: (f64, f64)) -> Option<f64> {
        if self.looked[at].stays && self.stays_within(trajectory, at, piece) {
            return None;
        }
        let mut parts = Parts::new(piece);
        while let Some((part, serves)) = parts.next(|part| self.serves(trajectory, at, part)) {
            if !serves {
                self.note_unresolved(at, part.0);
            }
            if let Some(found) = self.change_within(trajectory, at, part) {
                return Some(found);
            }
        }
        None
    }

    /// Whether a condition can be looked at in one part: what time alone does to it there is what its series says, (H3e).
    fn serves(&mut self, trajectory: &Trajectory, at: usize, (from, to): (f64, f64)) -> bool {
        let Some(bounds) = &mut self.looked[at].bounds else {
            return true;
        };
        let middle = 0.5 * (from + to);
        let jet = self.jets.at(trajectory, middle);
        jet.is_none_or(|jet| bounds.serves((from, to), jet, self.events.rtol))
    }

    fn note_unresolved(&mut self, at: usize, time: f64) {
        if self.unresolved.iter().all(|(known, _)| *known != at) {
            self.unresolved.push((at, time));
        }
    }

    /// The same in a part on which its series say what there is.
    fn change_within(
        &mut self,
        trajectory: &Trajectory,
        at: usize,
        piece: (f64, f64),
    ) -> Option<f64> {
        let mut functions = Deciders {
            jet: &mut self.looked[at].jet,
            jets: &mut self.jets,
            trajectory,
        };
        let mut cells: Vec<Cell> = Vec::new();
        let _: ControlFlow<()> = self.scan.cells(&mut functions, piece, &mut |_, cell| {
            cells.push(cell);
            ControlFlow::Continue(())
        });
        for cell in cells {
            let next = cell.middle();
            if let Some(has_changed) = self.decided(trajectory, at, next) {
                self.note(at);
                if !cell.resolved {
                    self.note_unresolved(at, next);
                }
                if has_changed {
                    return Some(self.locate(trajectory, at, next));
                }
                self.looked[at].at = next;
                self.looked[at].rests = false;
            }
        }
        None
    }

    /// Whether a condition that the motion keeps on its border is there all along a piece: its zeros are errors, and are not looked for.
    fn stays_within(&mut self, trajectory: &Trajectory, at: usize, (from, to): (f64, f64)) -> bool {
        let parts = [0.0, 0.25, 0.5, 0.75, 1.0];
        parts.iter().all(|part| {
            let place = (from + part * (to - from), false);
            self.has_changed(trajectory, at, place).is_some()
                && !self.is_clear(trajectory, at, place)
        })
    }

    /// Whether a condition has changed at a time, if it is clear of its border there. One that was on it all along is looked at
    /// where the equations hold, (H3c).
    fn decided(&mut self, trajectory: &Trajectory, at: usize, time: f64) -> Option<bool> {
        let mut found = None;
        let ways = [false, true];
        for settled in &ways[..1 + usize::from(self.looked[at].rests)] {
            let place = (time, *settled);
            found = self.has_changed(trajectory, at, place);
            if found.is_none() || !self.is_clear(trajectory, at, place) {
                return None;
            }
        }
        found
    }

    /// The first of the neighbouring times between which a condition changes.
    fn locate(&mut self, trajectory: &Trajectory, at: usize, after: f64) -> f64 {
        let before = self.looked[at].at;
        let (start, end) = trajectory.span().unwrap_or((before, after));
        // Next to zero numbers are closer than any time that can be told from the start.
        let least = f64::EPSILON * f64::EPSILON * (end - start).abs();
        let mut probe = |time| {
            let has_changed = self.has_changed_at(trajectory, at, time) == Some(true);
            let values = &self.looked[at].values;
            (has_changed, values.root(1) - values.root(2))
        };
        let ends = [before, after].map(|time| (time, probe(time).1));
        let found = neighbours(ends, least, probe);
        // What is quiet where the leg begins changes behind that.
        let loud = start + self.quiet.copysign(end - start);
        let is_within = (found - start).abs() < self.quiet && (after - start).abs() > self.quiet;
        match self.looked[at].is_quiet && is_within {
            true => loud,
            false => found,
        }
    }

    /// The same as [`Self::has_changed`], where a time is looked at once.
    fn has_changed_at(&mut self, trajectory: &Trajectory, at: usize, time: f64) -> Option<bool> {
        if self.looked[at].rests {
            self.jets.clear();
            return self.has_changed(trajectory, at, (time, true));
        }
        let looked = &mut self.looked[at];
        let n_orders = looked.values.tape().max_slot_order() + 1;
        let jet = self.jets.way.jet(trajectory, time, n_orders)?;
        set(&mut looked.values, &jet, time);
        looked.values.evaluate().ok()?;
        Some(looked.has_changed())
    }
}

/// The second of two neighbouring times between which something changes, in an interval at whose end it has changed; `probe` tells whether it
/// has at a time, and a number that has its zero where it changes, which is known at the ends.
///
/// Along the secant, then at a distance from its end that is the geometric mean of the interval and of one number, then halved: the zero
/// is next to the secant's, and both of its neighbours are looked for.
pub(super) fn neighbours(
    [(mut before, mut low), (mut after, mut high)]: [(f64, f64); 2],
    least: f64,
    mut probe: impl FnMut(f64) -> (bool, f64),
) -> f64 {
    let mut was_after = false;
    for round in 0.. {
        let middle = 0.5 * (before + after);
        let width = after - before;
        if middle == before || middle == after || width.abs() <= least {
            break;
        }
        let ulp = f64::EPSILON * before.abs().max(after.abs()).max(least / f64::EPSILON);
        let next = match round % 3 {
            0 => before + width * (low / (low - high)),
            // From the end that the secant moved.
            1 if was_after => after - (ulp * width.abs()).sqrt().copysign(width),
            1 => before + (ulp * width.abs()).sqrt().copysign(width),
            _ => middle,
        };
        let is_inside = (next - before) * width > 0.0 && (after - next) * width > 0.0;
        let next = if is_inside { next } else { middle };
        let (has_changed, value) = probe(next);
        (before, after) = if has_changed {
            (before, next)
        } else {
            (next, after)
        };
        (low, high) = if has_changed {
            (low, value)
        } else {
            (value, high)
        };
        was_after = has_changed;
    }
    after
}
