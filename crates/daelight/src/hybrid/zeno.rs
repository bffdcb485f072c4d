//! Events that accumulate: intervals that shrink like a geometric series have a limit.

use super::program::{Point, Program};
use super::{Driver, Event, HybridEnd, ROUNDING};
use crate::estimate::TOLD;
use crate::solve::Solution;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{Node, UnaryOp};
use daelight_lang::{ChangedBy, Model, Origin, Symbol};
use std::sync::Arc;

/// A relation whose sides stay equal since its events accumulated, in place of an equation: a ball on a table.
pub(super) struct Contact {
    /// The equations without it.
    model: Arc<Model>,
    relation: usize,
    /// What its events set.
    unknown: usize,
    /// How much is missing in the equation that it replaces: what the contact gives.
    push: Program,
    /// The same when it began.
    first: f64,
}

impl Contact {
    /// What its events set.
    pub fn unknown(&self) -> usize {
        self.unknown
    }
}

/// Where events accumulate, and what that may be off by: as much as the ratios of their intervals differ.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    time: f64,
    off: f64,
}

/// Intervals that must shrink alike.
const INTERVALS: usize = 8;

impl Driver<'_> {
    /// The last events that changed something by the causes of those that accumulate, or of the last event, the latest first. That a condition
    /// ends to hold changes nothing.
    fn alike(&self) -> impl Iterator<Item = &Event> {
        let causes = self.foretold.as_ref().map(|(causes, _)| causes);
        let causes = causes.or(self.out.events.last().map(|last| &last.causes));
        let alike = causes.and_then(|causes| self.alike.get(causes));
        alike.into_iter().flatten().rev()
    }

    /// Lists an event. Keeps those that are alike, as many as are looked at; forgets a limit that others end.
    pub(super) fn note(&mut self, event: Event) {
        if !event.changed.is_empty() {
            if (self.foretold.as_ref()).is_some_and(|(causes, _)| *causes != event.causes) {
                self.foretold = None;
            }
            let alike = self.alike.entry(Arc::clone(&event.causes)).or_default();
            alike.push_back(event.clone());
            if alike.len() > INTERVALS + 1 {
                alike.pop_front();
            }
        }
        Arc::make_mut(&mut self.out.events).push(event);
    }

    /// Events that have accumulated say nothing of those behind the rest that they led to.
    pub(super) fn forget_accumulation(&mut self) {
        self.hidden = None;
        self.foretold = None;
        self.alike.clear();
    }

    /// The limit of events that follow each other ever faster: (H5) of `docs/theory/hybrid.md`. Once it is foretold it holds as long as no other
    /// event changes something and it lies ahead, the best of those that the events tell: where flights are shorter than what times are off by,
    /// the last of them say nothing.
    pub(super) fn limit(&mut self) -> Option<f64> {
        let last = self.alike().next().map(|event| Arc::clone(&event.causes));
        let best = self.foretold.as_ref().map_or(f64::INFINITY, |(_, f)| f.off);
        match (self.limit_now(), last) {
            (Some(found), Some(causes)) if found.off <= best => {
                self.foretold = Some((causes, found));
            }
            _ if self.has_come_to_rest() => self.foretold = None,
            _ => {}
        }
        self.foretold.as_ref().map(|(_, found)| found.time)
    }

    /// Whether what the last events are about is at rest already.
    fn has_come_to_rest(&self) -> bool {
        let rests = |at: &usize| {
            let is_held = self.contact.as_ref().is_some_and(|c| c.relation == *at);
            is_held || self.rested.contains(at)
        };
        self.relations_behind().iter().any(rests)
    }

    /// The same by the last events alone.
    fn limit_now(&self) -> Option<Limit> {
        let times: Vec<f64> = self.alike().take(INTERVALS + 1).map(|e| e.time).collect();
        if times.len() <= INTERVALS || self.has_come_to_rest() {
            return None;
        }
        // From the last one back.
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[0] - pair[1]).collect();
        let ratios: Vec<f64> = gaps.windows(2).map(|pair| pair[0] / pair[1]).collect();
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        if !(low > 0.0 && high < 1.0 && high - low < (1.0 - high) / INTERVALS as f64) {
            return None;
        }
        let n = ratios.len() as f64;
        let ratio = (gaps[0] / gaps[gaps.len() - 1]).powf(1.0 / n);
        Some(Limit {
            time: times[0] + gaps[0] * ratio / (1.0 - ratio),
            off: gaps[0] * (high - low) / (1.0 - ratio).powi(2),
        })
    }

    /// The limit of events that accumulate, once it is near or reached: what is left lies within the tolerance of the run, or no event
    /// was found up to the limit and the sides of their relations are still the same, so that rounding hides the events that are left.
    pub(super) fn accumulation(&mut self) -> Option<f64> {
        if let Some(limit) = self.hidden_limit() {
            return Some(limit);
        }
        let limit = self.limit()?;
        let rest = limit - self.alike().next()?.time;
        let is_near = rest <= self.out.rtol * (self.out.to - self.out.from).abs();
        let is_hidden = self.point.time >= limit
            && (self.relations_behind().into_iter()).all(|at| self.apart(at).is_none());
        // A limit that is passed with the sides apart was none.
        if self.point.time >= limit && !is_near && !is_hidden {
            self.foretold = None;
        }
        (is_near || is_hidden).then_some(limit)
    }

    /// The relations that cause the last events.
    fn relations_behind(&self) -> Vec<usize> {
        let causes = self.alike().next().map_or(&[][..], |event| &event.causes);
        let relations = self.hybrid.relations.iter().enumerate();
        relations
            .filter(|(_, r)| causes.contains(&self.model.parameters[r.parameter].name))
            .map(|(at, _)| at)
            .collect()
    }

    /// Goes on at rest behind accumulated events: what they set keeps its limit. False if the equations do not say how.
    pub(super) fn come_to_rest(&mut self) -> Result<bool, HybridEnd> {
        let Some(last) = self.alike().next().cloned() else {
            return Ok(false);
        };
        let mut model: Model = (*self.modes.model).clone();
        let mut set = Vec::new();
        for change in &last.changed {
            let Some(unknown) = model.unknowns.iter().position(|u| *u.name == *change.name) else {
                continue;
            };
            let values =
                (self.alike()).filter_map(|e| e.changed.iter().find(|c| c.name == change.name));
            let values: Vec<f64> = values.take(2).map(|c| c.to).collect();
            let times: Vec<f64> = self.alike().take(3).map(|e| e.time).collect();
            let limit = match (&values[..], &times[..], self.hidden_ratio()) {
                (&[now, before, ..], _, Some(ratio)) => {
                    now + (now - before) * ratio / (1.0 - ratio)
                }
                (&[now, ..], _, None) if self.hidden.is_some() => now,
                (&[now, before, ..], &[a, b, c, ..], None) => {
                    let ratio = (a - b) / (b - c);
                    now + (now - before) * ratio / (1.0 - ratio)
                }
                _ => return Ok(false),
            };
            // Nearly nothing is nothing.
            let is_nothing = limit.abs() <= self.out.rtol;
            let limit = if is_nothing { 0.0 } else { limit };
            if !rests(&mut model, unknown) {
                return Ok(false);
            }
            set.push((unknown, limit));
        }
        if set.is_empty() {
            return Ok(false);
        }
        let over = self.relations_behind();
        if let (&[relation], &[(unknown, limit)]) = (&over[..], &set[..])
            && self.touch(relation, unknown, limit)?
        {
            return Ok(true);
        }
        self.rested.extend(&over);
        self.modes.replace(Arc::new(model), over);
        self.restart(&set)?;
        Ok(true)
    }

    /// Goes on with the sides of a relation equal, (H6): they take the place of the equation that holds the derivative of the unknown that
    /// the events set. False if there is no such motion.
    fn touch(&mut self, relation: usize, unknown: usize, limit: f64) -> Result<bool, HybridEnd> {
        let before = Arc::clone(&self.modes.model);
        let mut model: Model = (*before).clone();
        let expr = self.hybrid.relations[relation].expr;
        let (Some(at), Node::Binary(_, left, right)) =
            (with_rate(&model, unknown), model.graph.node(expr))
        else {
            return Ok(false);
        };
        let missing = model.equations[at].residual;
        let against = model.graph.unary(UnaryOp::Neg, missing);
        let residual = model.graph.sub(left, right);
        let equation = &mut model.equations[at];
        (equation.left, equation.right, equation.residual) = (left, right, residual);
        equation.origin = Origin::Written;
        let pushes = [missing, against];
        let mut push = Program::new(&model, &model.symbols, &pushes, 0..0);
        let here = (self.point.clone(), self.start.clone(), self.values.clone());
        let (mode, read_at) = (self.mode, self.read_at.clone());
        let parameter = self.hybrid.relations[relation].parameter;
        let place = self.layout.relations + relation;
        self.values[parameter] = f64::from(u8::from(self.program.holds_at_equality(place)));
        self.evaluate_variables(false);
        self.remember();
        self.point.values[unknown] = limit;
        self.modes.replace(Arc::new(model), vec![relation]);
        let found = self.restart(&[]);
        let first = push.value(0, &self.point, &self.values);
        let is_up = first > 0.0;
        if found.is_ok() && first.abs() > 0.0 && first.is_finite() {
            self.modes.press(pushes[usize::from(!is_up)]);
            if !is_up {
                push.swap(0, 1);
            }
            self.contact = Some(Contact {
                model: before,
                relation,
                unknown,
                push,
                first: first.abs(),
            });
            self.restart(&[])?;
            return Ok(true);
        }
        self.modes.put_back(before, &[relation]);
        (self.point, self.start, self.values) = here;
        (self.mode, self.read_at) = (mode, read_at);
        Ok(false)
    }

    /// The last time before a switch of the equations at which what a contact holds would jump: a table that moves away at once leaves the
    /// ball behind, and one that moves up strikes it.
    pub(super) fn struck_within(&self, solution: &Solution) -> Option<f64> {
        let contact = self.contact.as_ref()?;
        let system = &self.modes.list[self.mode].system;
        let mut reader = solution.reader(system);
        let mut value = |time: f64| {
            let values = reader.values(time).ok().flatten()?;
            Some(values[contact.unknown])
        };
        let mut switches = solution.run.switches.iter().map(|switch| switch.time);
        switches.find_map(|time| {
            let before = time.next_down();
            let (a, b) = (value(before)?, value(time.next_up())?);
            self.is_jump(contact.unknown, a, b).then_some(before)
        })
    }

    /// Ends a contact, if there is one: the equations hold again as they are written.
    pub(super) fn part(&mut self) {
        let Some(contact) = self.contact.take() else {
            return;
        };
        self.modes.put_back(contact.model, &[contact.relation]);
        // It is on its border, and goes from there where the equations lead it.
        self.resting[contact.relation] = true;
    }

    /// Lets a contact end that would have to pull: whether it did.
    pub(super) fn contact_ends(&mut self) -> Result<bool, HybridEnd> {
        let Some(contact) = &mut self.contact else {
            return Ok(false);
        };
        let push = contact.push.value(0, &self.point, &self.values);
        if push > self.out.rtol * contact.first {
            return Ok(false);
        }
        let parameter = self.hybrid.relations[contact.relation].parameter;
        self.part();
        self.restart(&[])?;
        let cause = self.model.parameters[parameter].name.clone();
        let (causes, condition) = self.words.causes(vec![cause]);
        self.note(Event {
            time: self.point.time,
            condition,
            causes,
            line: None,
            changed: Box::default(),
            impulses: Box::default(),
            energy_lost: None,
            mode: self.mode,
        });
        Ok(true)
    }

    /// Looks whether an event that has just set something leads back at once to the side where the relations that it changed hold: then they
    /// never change again, and the next event is due all the same, (H5b).
    pub(super) fn look_for_hidden_hop(&mut self, before: &[f64], has_set: bool) {
        self.hidden = None;
        if !has_set {
            return;
        }
        let relations = self.hybrid.relations.iter().enumerate();
        let changed = relations.filter(|(at, relation)| {
            relation.by == ChangedBy::Unknowns
                && before[relation.parameter] != self.values[relation.parameter]
                && !self.modes.over.contains(at)
        });
        let changed: Vec<usize> = changed.map(|(at, _)| at).collect();
        let changed = changed.into_iter().filter(|&at| !self.goes_on(at));
        let changed: Vec<usize> = changed.collect();
        let jet = (!changed.is_empty()).then(|| self.deeper_jet()).flatten();
        self.hidden = jet.and_then(|jet| {
            let mut changed = changed.into_iter();
            changed.find_map(|at| self.hidden_hop(at, &jet))
        });
    }

    /// Whether the sides of a relation that has changed clearly move on to the side where it has: whatever bends them later, it does not hop. Rates at the
    /// present point tell that, without more derivatives.
    fn goes_on(&mut self, relation: usize) -> bool {
        let place = self.layout.relations + relation;
        let holds = self.values[self.hybrid.relations[relation].parameter] != 0.0;
        let slopes = self.program.slopes(place, &self.point, &self.values);
        let Some(slopes) = slopes.filter(|slopes| slopes.iter().all(|slope| slope.1 == 0)) else {
            return false;
        };
        let terms = slopes
            .iter()
            .map(|slope| slope.2 * self.point.rates[slope.0]);
        let (rate, size) = terms.fold((0.0, 0.0f64), |(sum, size), term| {
            (sum + term, size + term.abs())
        });
        let events = &self.modes.list[self.mode].events;
        rate.abs() > f64::EPSILON.sqrt() * size && events.truth_where(relation, rate) == Some(holds)
    }

    /// How long it takes until a relation on its border is there again, if its way back is lower than what numbers tell: `None` where it
    /// clearly leaves the border to either side.
    fn hidden_hop(&mut self, relation: usize, jet: &TaylorJet) -> Option<f64> {
        let place = self.layout.relations + relation;
        let holds = self.values[self.hybrid.relations[relation].parameter] != 0.0;
        let events = &self.modes.list[self.mode].events;
        let series = events.difference(relation, &self.values, (self.point.time, jet))?;
        let &[_, slope, bend, ..] = &series[..] else {
            return None;
        };
        let bends = jet.row(2)?.iter().map(|x| x.abs());
        let is_bent = bend.abs() > f64::EPSILON.sqrt() * bends.fold(0.0, f64::max);
        if !is_bent || events.truth_where(relation, bend) != Some(holds) {
            return None;
        }
        let rates: Vec<f64> = jet.row(1)?.iter().map(|x| x.abs()).collect();
        let size = |u: usize, _| rates[u];
        let size = self.program.size(place, &self.point, &self.values, size);
        if slope * bend > 0.0 && slope.abs() > ROUNDING * size {
            return None;
        }
        let long = (-slope / bend).max(0.0);
        let height = 0.25 * long * slope.abs();
        if height > TOLD * self.out.rtol * size.max(1.0) {
            return None;
        }
        let top = point_along(jet, self.point.time, 0.5 * long);
        let values = self.values.clone();
        let is_seen = (self.program.value(place, &top, &values) != 0.0) != holds
            && !self.is_on_border_at((place, 1.0), &top, &values);
        (long <= self.instant_long() || !is_seen).then_some(long)
    }

    /// Where events accumulate whose hops are hidden, by the last interval that was seen; infinite where they do not shrink.
    fn hidden_limit(&self) -> Option<f64> {
        let long = self.hidden?;
        let ratio = self.hidden_ratio().unwrap_or(0.0);
        Some(match ratio < 1.0 {
            true => self.point.time + long / (1.0 - ratio),
            false => f64::INFINITY,
        })
    }

    /// Whether one event alone has stopped what it sets, up to rounding: there are no hops that shrink.
    pub(super) fn is_plastic(&self) -> bool {
        self.hidden.is_some_and(|long| long <= self.instant_long())
            && self.hidden_ratio().is_none_or(|ratio| ratio <= ROUNDING)
    }

    /// How much shorter a hidden hop is than the last interval.
    fn hidden_ratio(&self) -> Option<f64> {
        let long = self.hidden?;
        let mut times = self.alike().map(|event| event.time);
        let last = times.next()?;
        Some(long / (last - times.next()?))
    }

    /// The end of a hop that is too low for the pieces of an implicit method, twice as far: an event has just set something and left a
    /// relation on its border, and its difference d_1 s + d_2 s^2 + … leads away from there and back within what the pieces may be off, (H5a).
    pub(super) fn low_hop(&mut self) -> Option<f64> {
        if self.set_at.is_nan() {
            return None;
        }
        let mut jet = None;
        for (at, relation) in self.hybrid.relations.iter().enumerate() {
            let place = self.layout.relations + at;
            let is_held = relation.by == ChangedBy::Unknowns && !self.modes.over.contains(&at);
            if !is_held || !self.is_near(place) {
                continue;
            }
            if jet.is_none() {
                jet = Some(self.deeper_jet()?);
            }
            let events = &self.modes.list[self.mode].events;
            let along = (self.point.time, jet.as_ref()?);
            let series = events.difference(at, &self.values, along);
            let Some(&[_, slope, bend, ..]) = series.as_deref() else {
                continue;
            };
            let long = 2.0 * (slope / bend).abs();
            if slope * bend >= 0.0 || self.point.time - self.set_at > long {
                continue;
            }
            let sizes: Vec<f64> = self.point.values.iter().map(|x| x.abs()).collect();
            let size = |u: usize, _| sizes[u];
            let size = self.program.size(place, &self.point, &self.values, size);
            let height = 0.25 * slope * slope / bend.abs();
            if height <= TOLD * self.out.rtol * size.max(1.0) {
                return Some(self.point.time + long);
            }
        }
        None
    }

    /// The sides of a relation, if they differ by more than the tolerance.
    fn apart(&mut self, relation: usize) -> Option<(f64, f64)> {
        let place = self.layout.relations + relation;
        self.program.value(place, &self.point, &self.values);
        let (left, right) = self.program.sides(place)?;
        let size = left.abs().max(right.abs()).max(1.0);
        ((left - right).abs() > TOLD * self.out.rtol * size).then_some((left, right))
    }

    /// Tells where what rests behind accumulated events is no longer where they happened: a floor that moves away from a ball, or up
    /// against it. The sides of their relations are the same at rest.
    pub(super) fn tell_unrest(&mut self) {
        for at in std::mem::take(&mut self.rested) {
            if let Some((left, right)) = self.apart(at) {
                let name = &self.model.parameters[self.hybrid.relations[at].parameter].name;
                self.out.warnings.push(format!(
                    "What came to rest by `{name}` does not stay there: its sides are {left:.3e} and {right:.3e} at the end. Behind that the values are \
                     not those of the model, which says nothing of how a rest ends; let `--on-zeno stop` end the run, or write the contact as an equation."
                ));
            }
        }
    }
}

/// The point of a series at a distance.
fn point_along(jet: &TaylorJet, time: f64, s: f64) -> Point {
    let sum = |u: usize, order: usize| {
        let terms = (order..jet.n_orders()).rev();
        terms.fold(0.0, |sum, k| {
            let factor = if order == 0 { 1.0 } else { k as f64 };
            sum * s + factor * jet.get(u, k)
        })
    };
    let unknowns = 0..jet.n_unknowns();
    Point {
        time: time + s,
        values: unknowns.clone().map(|u| sum(u, 0)).collect(),
        rates: unknowns.map(|u| sum(u, 1)).collect(),
    }
}

/// The one equation that holds the derivative of an unknown.
fn with_rate(model: &Model, unknown: usize) -> Option<usize> {
    let rate = Symbol::Unknown { unknown, order: 1 };
    let mut walker = daelight_expr::Walker::new();
    let with = (0..model.equations.len()).filter(|&at| {
        let read = walker.symbols(&model.graph, &[model.equations[at].residual]);
        read.into_iter().any(|id| model.symbols.get(id) == rate)
    });
    let with: Vec<usize> = with.collect();
    match with[..] {
        [at] => Some(at),
        _ => None,
    }
}

/// Puts der(x) = 0 in the place of the one equation with der(x).
fn rests(model: &mut Model, unknown: usize) -> bool {
    let Some(at) = with_rate(model, unknown) else {
        return false;
    };
    let id = model.symbols.id(Symbol::Unknown { unknown, order: 1 });
    let rate = model.graph.symbol(id);
    let zero = model.graph.constant(0.0);
    let equation = &mut model.equations[at];
    (equation.left, equation.right, equation.residual) = (rate, zero, rate);
    equation.origin = Origin::Written;
    true
}
