//! The consistent point after an event: what is differentiated stays, the rest follows from the equations of the new mode.

use super::impulse::NoJump;
use super::program::Point;
use super::scan::neighbours;
use super::{Driver, HybridEnd, zeno};
use crate::estimate::TOLD;
use crate::observe::WayBack;
use crate::solve::unchecked;
use crate::tolerances::SAME;
use daelight_analysis::initial::{
    ConsistentPoint, NoPoint, Request, Row, StageOffsets, TaylorJet, consistent_point,
};
use daelight_integrate::Trajectory;
use daelight_lang::{ChangedBy, Symbol};
use std::sync::PoisonError;
use std::time::Duration;

/// A point that nobody has checked: the integrator projects it.
pub(super) fn guess(point: &Point) -> ConsistentPoint {
    let mut jet = TaylorJet::at_rest(&point.values, 3);
    for (unknown, &rate) in point.rates.iter().enumerate() {
        jet.set(unknown, 1, rate);
    }
    unchecked(point.time, jet)
}

/// A point with more derivatives than a restart asks for, or that there is none: it follows from the mode and its numbers.
pub(super) struct Deeper {
    mode: usize,
    time: f64,
    values: Vec<f64>,
    parameters: Vec<f64>,
    jet: Option<TaylorJet>,
}

impl Driver<'_> {
    /// Finds the point that goes with the present discrete values; `set` are unknowns with new values.
    ///
    /// In the same mode, what the equations tie to a value that was set follows it, unless they differentiate it more often: a
    /// velocity that is set takes other velocities along, and leaves positions where they are.
    pub(super) fn restart(&mut self, set: &[(usize, f64)]) -> Result<(), HybridEnd> {
        let earlier = self.differentiated();
        let is_same = self.enter_mode()?;
        let mode = &self.modes.list[self.mode];
        let mut guess = self.point.values.clone();
        for &(unknown, value) in set {
            guess[unknown] = value;
        }
        let offsets = mode.system.dae().sound().map(StageOffsets::of);
        let (follows, conditions) = self.tied(set, is_same && !set.is_empty(), &guess);
        let request = Request {
            time: self.point.time,
            guess: guess.clone(),
            given: Vec::new(),
            conditions,
            order: self.usual_order(),
            budget: Duration::from_secs(10),
        };
        let found = consistent_point(&mode.system, offsets, &request);
        let moved = (found.as_ref().ok()).map(|found| self.moved(&guess, found, &follows));
        if self.is_struck(&guess, found.as_ref().ok()) {
            self.part();
            return self.restart(set);
        }
        if matches!(moved, Some(None))
            && let Ok(found) = found
        {
            let mut led = self.differentiated();
            led.retain(|&u| follows[u] && set.iter().all(|known| known.0 != u));
            led.retain(|&u| self.is_jump(u, guess[u], found.jet.values()[u]));
            self.jumped.extend(led);
            self.tell_let_go(&earlier, &guess, &found);
            self.take_point(found);
            return Ok(());
        }
        // What the new equations forbid jumps as they say themselves.
        let span = (self.out.to - self.out.from).abs();
        let (index, time) = (mode.index.unwrap_or(1), self.point.time);
        let jumped = match set.is_empty() || !is_same {
            true => super::impulse::jump(&mode.system, index, time, (&guess, set), span),
            false => Err(NoJump::NoLimit),
        };
        if let Some(end) = jumped.as_ref().err().and_then(|no| no.end(&mode.system)) {
            return Err(end);
        }
        if let Ok(jumped) = jumped {
            let request = Request {
                guess: jumped.values.clone(),
                ..request
            };
            if let Ok(found) = consistent_point(&mode.system, offsets, &request)
                && self.moved(&jumped.values, &found, &follows).is_none()
            {
                jumped.tell(&mode.system, self.point.time, &mut self.out.warnings);
                let named = |&(u, size): &(usize, f64)| (self.words.unknown(u), size);
                self.impulses.extend(jumped.impulses.iter().map(named));
                let mut jumps = self.differentiated();
                jumps.retain(|&u| self.is_jump(u, guess[u], found.jet.values()[u]));
                self.jumped.extend(jumps);
                self.set_at = self.point.time;
                self.trace_oddity();
                self.tell_let_go(&earlier, &guess, &found);
                self.take_point(found);
                return Ok(());
            }
        }
        Err(match (found, moved.flatten()) {
            (Err(no_point), _) => HybridEnd::NoPoint {
                why: self.why(&no_point) + &self.what_is_set(&no_point, set),
            },
            (Ok(_), Some((unknown, from, to))) => HybridEnd::Jump { unknown, from, to },
            (Ok(_), None) => HybridEnd::NoPoint {
                why: "the point after the event is not settled".to_string(),
            },
        })
    }

    /// Goes to the point of the equations with the values before that hold now: relations of unknowns are asked there, not at the point of the
    /// round before (H3g). What relations decide keeps its value; where that leads to no point, or to a jump, everything stays as it is.
    pub(super) fn follow_previous(&mut self) {
        if self.contact.is_some() || self.read.is_empty() {
            return;
        }
        let (values, mode) = (self.values.clone(), self.mode);
        for &position in &self.hybrid.order {
            if self.by_previous[position] {
                let value = self.ruled(position);
                self.values[self.hybrid.variables[position].parameter] = value;
            }
        }
        self.evaluate_held();
        self.evaluate_times();
        if self.read_now() == self.read_at {
            self.values = values;
            return;
        }
        let (earlier, before) = (self.differentiated(), self.point.values.clone());
        if let Some(found) = self.point_of_values() {
            self.tell_let_go(&earlier, &before, &found);
            self.take_point(found);
            return;
        }
        (self.values, self.mode) = (values, mode);
        // The mode before had these values.
        let _: Result<(), HybridEnd> = self.hold();
    }

    /// The point of the mode that the present values ask for, if it can be run and nothing has to jump there.
    fn point_of_values(&mut self) -> Option<ConsistentPoint> {
        self.enter_mode().ok()?;
        let place = (self.point.time, &self.point.values[..]);
        let found = self.consistent(place, self.usual_order())?;
        let follows = vec![false; self.point.values.len()];
        let moved = self.moved(&self.point.values, &found, &follows);
        moved.is_none().then_some(found)
    }

    /// The order to which a leg asks for its first point: as far as the hidden constraints of the present mode reach.
    fn usual_order(&self) -> usize {
        let structure = self.modes.list[self.mode].system.structure().ok();
        let deepest = structure.and_then(|s| s.offsets().equation.iter().copied().max());
        deepest.unwrap_or(0).clamp(1, crate::solve::START_ORDER)
    }

    /// The unknowns that the equations of the present mode differentiate.
    fn differentiated(&self) -> Vec<usize> {
        let mode = self.modes.list.get(self.mode);
        let columns = mode.map(|mode| mode.system.equations().pattern(1).columns().iter());
        columns.into_iter().flatten().map(|&u| u as usize).collect()
    }

    /// Tells of unknowns that the mode before differentiated and this one does not, and that jump where it begins.
    fn tell_let_go(&mut self, earlier: &[usize], before: &[f64], found: &ConsistentPoint) {
        let now = self.differentiated();
        for &unknown in earlier.iter().filter(|u| !now.contains(u)) {
            let (from, to) = (before[unknown], found.jet.values()[unknown]);
            if !self.is_jump(unknown, from, to) {
                continue;
            }
            self.jumped.push(unknown);
            let begins = format!(
                "`{}` jumps where the mode changes",
                self.words.unknown(unknown)
            );
            if !self.out.warnings.iter().any(|w| w.starts_with(&begins)) {
                self.out.warnings.push(format!(
                    "{begins}: at t = {} from {from} to {to}. The equations differentiate it before that, and determine it behind.",
                    self.point.time
                ));
            }
        }
    }

    /// Whether a contact would have to strike, which it does not: what its `when` says of a blow holds again.
    fn is_struck(&self, guess: &[f64], found: Option<&ConsistentPoint>) -> bool {
        let held = self.contact.as_ref().map(zeno::Contact::unknown);
        held.is_some_and(|u| {
            found.is_none_or(|found| self.is_jump(u, guess[u], found.jet.values()[u]))
        })
    }

    /// Goes from the end of a leg to the consistent point next to it, (H3c): what the pieces of the run are off by between its steps
    /// is no value of the model. The event is where the relations that have changed change at consistent points.
    pub(super) fn arrive(&mut self, way: &mut WayBack, trajectory: &Trajectory) {
        let changed: Vec<usize> = (0..self.hybrid.relations.len())
            .filter(|&at| self.has_changed(at))
            .collect();
        let (located, began) = (self.point.clone(), self.start.take());
        let Some(ends) = self.around(&located, (way, trajectory), &changed) else {
            self.point = located;
            self.start = began;
            return;
        };
        let behind = neighbours(ends, 0.0, |time| {
            let has_changed = self.settle_at(time, (way, trajectory), &changed);
            (has_changed == Some(true), self.first_difference(&changed))
        });
        if self.point.time != behind {
            self.settle_at(behind, (way, trajectory), &changed);
        }
    }

    /// Times next to a located one between which relations change at consistent points, each with the difference of the sides of the first; the same
    /// twice if they change just there.
    fn around(
        &mut self,
        located: &Point,
        (way, trajectory): (&mut WayBack, &Trajectory),
        changed: &[usize],
    ) -> Option<[(f64, f64); 2]> {
        let time = located.time;
        let has_changed = self.settle_at(time, (way, trajectory), changed)?;
        let here = (time, self.first_difference(changed));
        let relations = self.layout.relations;
        if has_changed && changed.iter().all(|at| self.is_on_border(relations + at)) {
            return Some([here, here]);
        }
        let direction = if has_changed { -1.0 } else { 1.0 };
        let (began, _) = trajectory.span()?;
        // As far as a motion through its own size along the run takes for what the pieces may be off by.
        let most = TOLD * self.out.rtol * (self.out.to - self.out.from).abs();
        let most = if has_changed {
            most.min(time - began)
        } else {
            most
        };
        // As far as the motion takes to the border, at first.
        let far = changed.first().and_then(|&at| self.distance(at));
        let far = far.filter(|far| *far <= most).unwrap_or(0.0);
        let (mut distance, mut last) = (self.instant_long().max(far), here);
        while distance <= most {
            let next = time + direction * distance;
            let there = self.settle_at(next, (way, trajectory), changed)?;
            let next = (next, self.first_difference(changed));
            if there != has_changed {
                return Some(if has_changed {
                    [next, last]
                } else {
                    [last, next]
                });
            }
            (distance, last) = (2.0 * distance, next);
        }
        None
    }

    /// The difference of a relation's sides at the present point.
    fn difference(&mut self, relation: usize) -> Option<f64> {
        let place = self.layout.relations + relation;
        self.program.value(place, &self.point, &self.values);
        let (left, right) = self.program.sides(place)?;
        Some(left - right)
    }

    /// The same of the first of some relations; no number without one.
    fn first_difference(&mut self, relations: &[usize]) -> f64 {
        let first = relations.first().and_then(|&at| self.difference(at));
        first.unwrap_or(f64::NAN)
    }

    /// Twice the time in which the motion takes the sides of a relation together, by their rates at the present point.
    fn distance(&mut self, relation: usize) -> Option<f64> {
        let apart = self.difference(relation)?;
        let place = self.layout.relations + relation;
        let slopes = self.program.slopes(place, &self.point, &self.values)?;
        let slopes = slopes.iter().filter(|slope| slope.1 == 0);
        let rate: f64 = slopes
            .map(|slope| slope.2 * self.point.rates[slope.0])
            .sum();
        Some(2.0 * (apart / rate).abs())
    }

    /// Takes the consistent point next to a leg's values at a time: whether relations have changed there. `None`
    /// where there is no such point, or nothing to settle.
    pub(super) fn settle_at(
        &mut self,
        time: f64,
        (way, trajectory): (&mut WayBack, &Trajectory),
        changed: &[usize],
    ) -> Option<bool> {
        let jet = way.jet(trajectory, time, crate::solve::START_ORDER + 1)?;
        let makings = self.modes.list[self.mode].events.makings.lock();
        let found =
            makings
                .unwrap_or_else(PoisonError::into_inner)
                .settled(&self.values, time, &jet)?;
        self.point.time = time;
        self.take_point(found);
        Some(changed.iter().all(|&at| self.has_changed(at)))
    }

    /// Enters a mode whose equations have an infinite slope where it begins (the square root of a head that rises from zero), from a
    /// point behind the event, (R16a) of `docs/theory/runs.md`: the differentiated unknowns go on with their rates before it, and
    /// what the new rates change on the way must be below a hundredth of the tolerance. Nothing is moved where there is no such
    /// point, or where the mode does not begin so.
    pub(super) fn enter_behind(&mut self, until: f64) {
        let Some((before, _)) = self.began.clone() else {
            return;
        };
        // Which slopes are looked at decides no more than the work: what follows bounds the error.
        let steep = f64::EPSILON.powf(-0.25);
        let (began, values) = (self.point.time, self.point.values.clone());
        let is_steep = |u: usize| {
            (self.point.rates[u] * (until - began)).abs() > steep * self.size(u, values[u])
        };
        let steep: Vec<usize> = (0..values.len()).filter(|&u| is_steep(u)).collect();
        if steep.is_empty() {
            return;
        }
        let mode = &self.modes.list[self.mode];
        let differentiated = mode.system.equations().pattern(1).columns().iter();
        let differentiated: Vec<usize> = differentiated.map(|&u| u as usize).collect();
        let jumps = |&u: &usize| self.is_jump(u, before.values[u], values[u]);
        if !self.is_now(before.time) || differentiated.iter().any(jumps) {
            return;
        }
        let order = self.usual_order();
        let behind = |distance: f64| {
            let mut guess = values.clone();
            for &u in &differentiated {
                guess[u] += distance * before.rates[u];
            }
            guess
        };
        // A slope that takes its unknown through a tolerance unabated is a fast motion; an infinite one is another number at every distance.
        let within =
            |&u: &usize| self.out.rtol * self.size(u, values[u]) / self.point.rates[u].abs();
        let least = steep
            .iter()
            .map(within)
            .fold(4.0 * self.instant_long(), f64::max);
        let beside = self.consistent((began + least, &behind(least)), order);
        let is_lasting = |u: &usize| {
            let (here, there) = (
                self.point.rates[*u],
                beside.as_ref().map(|p| p.jet.get(*u, 1)),
            );
            there.is_some_and(|there| (there - here).abs() <= 0.5 * here.abs())
        };
        if steep.iter().all(is_lasting) {
            return;
        }
        let mut distance = 0.01 * (until - began);
        while distance > self.instant_long() {
            let time = began + distance;
            let guess = behind(distance);
            let found = self.consistent((time, &guess), order);
            if let Some(found) = found {
                let change = differentiated.iter().map(|&u| {
                    let jet = &found.jet;
                    let turned = distance * (jet.derivative(u, 1) - before.rates[u]).abs();
                    let moved = (jet.values()[u] - guess[u]).abs();
                    (turned + moved) / (self.out.rtol * self.size(u, guess[u]))
                });
                let is_slight = change.fold(0.0, f64::max) <= 0.01;
                let here = (self.point.clone(), self.start.take());
                self.point.time = time;
                self.take_point(found);
                let mut all = 0..self.hybrid.relations.len();
                if is_slight && !all.any(|at| self.has_changed(at)) {
                    return;
                }
                (self.point, self.start) = here;
            }
            distance /= 10.0;
        }
    }

    /// The consistent point of the present mode next to values.
    fn consistent(&self, (time, values): (f64, &[f64]), order: usize) -> Option<ConsistentPoint> {
        let mode = &self.modes.list[self.mode];
        let structure = mode.system.dae().sound()?;
        let request = Request {
            time,
            guess: values.to_vec(),
            given: Vec::new(),
            conditions: Vec::new(),
            order,
            budget: Duration::from_secs(10),
        };
        let offsets = Some(StageOffsets::of(structure));
        consistent_point(&mode.system, offsets, &request).ok()
    }

    /// Whether a relation is not what is held, at the present point.
    pub(super) fn has_changed(&mut self, relation: usize) -> bool {
        let held = &self.hybrid.relations[relation];
        if held.by != ChangedBy::Unknowns || self.modes.over.contains(&relation) {
            return false;
        }
        let place = self.layout.relations + relation;
        let value = self.program.value(place, &self.point, &self.values);
        !value.is_nan() && (value != 0.0) != (self.values[held.parameter] != 0.0)
    }

    /// The present point with more derivatives than a restart asks for.
    pub(super) fn deeper_jet(&self) -> Option<TaylorJet> {
        let place = (self.point.time, &self.point.values[..]);
        let parameters = self.modes.list[self.mode].system.parameters().values();
        let mut known = self.deeper.borrow_mut();
        // Every relation on its border asks.
        if let Some(known) = known.as_ref()
            && known.mode == self.mode
            && (known.time, &known.values[..]) == place
            && known.parameters == parameters
        {
            return known.jet.clone();
        }
        let found = self.consistent(place, crate::solve::START_ORDER);
        let jet = found.map(|found| found.jet);
        *known = Some(Deeper {
            mode: self.mode,
            time: self.point.time,
            values: self.point.values.clone(),
            parameters: parameters.to_vec(),
            jet: jet.clone(),
        });
        jet
    }

    /// Takes the mode of the present values, if it can be run: whether it is the one before.
    fn enter_mode(&mut self) -> Result<bool, HybridEnd> {
        let before = self.mode;
        let mode = self.modes.at(&self.values);
        self.mode = mode.map_err(|fault| HybridEnd::NoPoint {
            why: fault.message.to_string(),
        })?;
        self.hold()?;
        let mode = &self.modes.list[self.mode];
        if let Some(why) = mode.why.as_ref().filter(|why| !why.is_empty()) {
            let conditions = super::conditions(self.model, mode).join(" and ");
            let why = format!(
                "the mode where {conditions} is singular: {why}; `analyze --modes` lists the modes"
            );
            return Err(HybridEnd::NoPoint { why });
        }
        Ok(self.mode == before)
    }

    /// Which unknowns may follow those that are set, and what holds beside the equations: the values that are set, and where
    /// others follow, those of differentiated unknowns that do not.
    fn tied(&self, set: &[(usize, f64)], is_led: bool, guess: &[f64]) -> (Vec<bool>, Vec<Row>) {
        let mode = &self.modes.list[self.mode];
        let follows = match mode.system.structure() {
            Ok(structure) if is_led => {
                let offsets = &structure.offsets().variable;
                let most = set.iter().map(|&(unknown, _)| offsets[unknown]).max();
                offsets.iter().map(|&d| Some(d) <= most).collect()
            }
            _ => vec![false; guess.len()],
        };
        let rows = set.iter();
        let rows = rows.map(|&(unknown, value)| Row::Value { unknown, value });
        let mut rows: Vec<Row> = rows.collect();
        if is_led {
            let differentiated = mode.system.equations().pattern(1).columns().iter();
            let kept = differentiated.map(|&u| u as usize).filter(|&u| !follows[u]);
            rows.extend(kept.map(|unknown| {
                let value = guess[unknown];
                Row::Value { unknown, value }
            }));
        }
        (follows, rows)
    }

    /// The first differentiated unknown that is elsewhere than wanted, with both values; beside those that follow others.
    fn moved(
        &self,
        wanted: &[f64],
        found: &ConsistentPoint,
        follows: &[bool],
    ) -> Option<(String, f64, f64)> {
        let system = &self.modes.list[self.mode].system;
        let differentiated = system.equations().pattern(1).columns().iter();
        let differentiated = differentiated.map(|&u| u as usize);
        differentiated.filter(|&u| !follows[u]).find_map(|unknown| {
            let (from, to) = (wanted[unknown], found.jet.values()[unknown]);
            let name = &system.unknowns()[unknown].name;
            self.is_jump(unknown, from, to)
                .then(|| (name.clone(), from, to))
        })
    }

    pub(super) fn is_jump(&self, unknown: usize, from: f64, to: f64) -> bool {
        (to - from).abs() > SAME * self.size(unknown, from)
    }

    /// How large an unknown is: its value, or its nominal one if that is larger.
    fn size(&self, unknown: usize, value: f64) -> f64 {
        let info = &self.modes.list[self.mode].system.unknowns()[unknown];
        value.abs().max(info.nominal.unwrap_or(1.0).abs())
    }

    pub(super) fn take_point(&mut self, found: ConsistentPoint) {
        self.point.values.copy_from_slice(found.jet.values());
        let n = found.jet.n_unknowns();
        self.point.rates = (0..n).map(|u| found.jet.get(u, 1)).collect();
        self.start = Some(found);
        self.read_at = self.read_now();
    }

    /// What `reinit` sets, and where, unless that is said already.
    fn what_is_set(&self, no_point: &NoPoint, set: &[(usize, f64)]) -> String {
        let row = match no_point {
            NoPoint::Stalled { row, .. } => Some(row),
            _ => None,
        };
        if matches!(row, Some(Row::Value { .. })) {
            return String::new();
        }
        let said = set.iter().map(|&(unknown, value)| {
            let name = &self.model.unknowns[unknown].name;
            let line = self.reinit_line(unknown).unwrap_or(0);
            format!("; `reinit` sets {name} = {value} in line {line}")
        });
        said.collect()
    }

    /// Where a `reinit` of an unknown stands.
    fn reinit_line(&self, unknown: usize) -> Option<usize> {
        let reinit = self.hybrid.reinits.iter().find(|reinit| {
            let symbol = self.model.graph.as_symbol(reinit.unknown);
            let symbol = symbol.map(|id| self.model.symbols.get(id));
            symbol == Some(Symbol::Unknown { unknown, order: 0 })
        });
        self.line_of(reinit?.span)
    }

    fn why(&self, no_point: &NoPoint) -> String {
        let system = &self.modes.list[self.mode].system;
        match no_point {
            NoPoint::Stalled { row, residual, .. } => {
                let by = match residual.is_finite() {
                    true => format!(" (residual {residual:.1e})"),
                    false => String::new(),
                };
                let what = match *row {
                    Row::Equation { equation, .. } => {
                        let line = system.equation_line(equation);
                        format!("`{}`, line {line}", system.equation_text(equation))
                    }
                    Row::Initial { equation } => {
                        format!("`{}`", system.initial_equation_text(equation))
                    }
                    Row::Value { unknown, value } => {
                        let name = &system.unknowns()[unknown].name;
                        return match self.reinit_line(unknown) {
                            Some(line) => format!(
                                "the equations forbid `{name}` = {value}, which `reinit` sets in line {line}{by}; set values that meet them"
                            ),
                            None => format!(
                                "`{name}` cannot keep its value {value}; set it with reinit({name}, …)"
                            ),
                        };
                    }
                };
                format!(
                    "{what} does not hold together with the others{by}; change this mode or the condition that leads to it"
                )
            }
            NoPoint::Fault(_) => "an expression has no value there".to_string(),
            NoPoint::Budget { .. } => "the search took too long".to_string(),
            NoPoint::TooLarge { rows } => format!("{rows} rows are too many to solve"),
        }
    }
}
