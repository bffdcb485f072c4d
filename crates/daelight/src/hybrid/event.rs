//! What happens at an event: discrete variables in their order until nothing changes, `reinit`, asserts.

use super::{Driver, HybridEnd, MAX_ROUNDS, Point, ROUNDING, Stop};
use crate::solve::{NoRun, start_point};
use daelight_expr::{Node, UnaryOp};
use daelight_lang::{ChangedBy, CheckKind, Hybrid, Model, Rule, Symbol, Type};
use daelight_show::record::{Change, EventRecord as Event};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

/// What a relation on its border is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnBorder {
    /// As if its sides were equal: at the start.
    Equal,
    /// What its numbers say, unless the last leg was on the border all along: a located event.
    Located,
    /// What it was, unless the event itself took it there from beside: then as if its sides were equal.
    Kept,
}

/// Words that events share: names of what they change, and lists of causes. Runs have many events of few kinds.
#[derive(Default)]
pub(super) struct Words {
    unknowns: Vec<Arc<str>>,
    variables: Vec<Arc<str>>,
    causes: HashMap<Arc<[String]>, Arc<str>>,
}

impl Words {
    pub fn new(model: &Model, hybrid: &Hybrid) -> Self {
        Self {
            unknowns: model.unknowns.iter().map(|u| u.name[..].into()).collect(),
            variables: (hybrid.variables.iter())
                .map(|v| v.name[..].into())
                .collect(),
            causes: HashMap::new(),
        }
    }

    /// The list with these causes, and how they are written together.
    pub fn causes(&mut self, list: Vec<String>) -> (Arc<[String]>, Arc<str>) {
        if let Some((known, text)) = self.causes.get_key_value(&list[..]) {
            return (Arc::clone(known), Arc::clone(text));
        }
        let text: Arc<str> = list.join(", ").into();
        let new: Arc<[String]> = list.into();
        self.causes.insert(Arc::clone(&new), Arc::clone(&text));
        (new, text)
    }

    /// The name of an unknown.
    pub fn unknown(&self, unknown: usize) -> Arc<str> {
        Arc::clone(&self.unknowns[unknown])
    }
}

impl Driver<'_> {
    /// The discrete values at the start, and the point they go with.
    pub(super) fn initialise(&mut self) -> Result<(), Stop> {
        if let Some(initial) = self.hybrid.initial {
            self.values[initial] = 1.0;
        }
        for round in 0.. {
            let before = self.values.clone();
            let conflict = self.evaluate_starts();
            self.evaluate_relations(OnBorder::Equal);
            self.evaluate_variables(true);
            self.evaluate_held();
            let has_moved = self.begin_pasts()?;
            if round > 0 && before == self.values && !has_moved {
                if let Some(conflict) = conflict {
                    return Err(conflict.into());
                }
                break;
            }
            if round > MAX_ROUNDS {
                return Err(self.endless(&before).into());
            }
            if let Err(stop) = self.find_start() {
                match self.find_mode(true) {
                    true => break,
                    false => return Err(stop),
                }
            }
        }
        self.remember();
        for at in 0..self.hybrid.samples.len() {
            let (mut n, now) = (0, self.point.time);
            while self.instant(at, n) < now && n < u64::from(u32::MAX) {
                n += 1;
            }
            self.instants[at] = n;
        }
        let mut changed = Vec::new();
        if let Some(initial) = self.hybrid.initial {
            self.values[initial] = 0.0;
        }
        self.settle(&mut changed)?;
        self.terminated.take().map_or(Ok(()), |end| Err(end.into()))
    }

    /// What initial equations say of discrete variables, at the present point; and the first that contradicts another or a fixed
    /// start.
    fn evaluate_starts(&mut self) -> Option<HybridEnd> {
        let mut conflict = None;
        for at in 0..self.hybrid.starts.len() {
            let of = self.hybrid.starts[at].0;
            let variable = &self.hybrid.variables[of];
            let place = self.layout.starts + at;
            let value = self.program.value(place, &self.point, &self.values);
            let is_second = self.hybrid.starts[..at].iter().any(|start| start.0 == of);
            let other = match is_second {
                true => Some(self.values[variable.parameter]),
                false => {
                    (variable.is_fixed).then(|| self.model.parameters[variable.parameter].value)
                }
            };
            if let Some(other) = other.filter(|other| *other != value && conflict.is_none()) {
                let (name, span) = (variable.name.clone(), variable.span);
                let values = [other, value];
                conflict = Some(HybridEnd::StartConflict { name, values, span });
            }
            self.values[variable.parameter] = value;
            self.values[variable.previous] = value;
        }
        conflict
    }

    /// The consistent start in the present mode.
    pub(super) fn find_start(&mut self) -> Result<(), Stop> {
        let no_run = |fault| Stop::NoRun(None, NoRun::Fault(fault));
        self.mode = self.modes.at(&self.values).map_err(no_run)?;
        self.hold()?;
        let mode = &self.modes.list[self.mode];
        let options = crate::SolveOptions {
            from: Some(self.point.time),
            ..self.options.clone()
        };
        let found = start_point(&mode.system, &options, self.point.time);
        let no_start = |no_run| Stop::NoRun(Some(Box::new(mode.system.clone())), no_run);
        let (point, _) = found.map_err(no_start)?;
        self.take_point(point);
        Ok(())
    }

    /// Gives the equations of the present mode the held values.
    pub(super) fn hold(&mut self) -> Result<(), HybridEnd> {
        let system = &mut self.modes.list[self.mode].system;
        let changes = super::values::settings(system, &self.out.held, &self.values);
        system
            .set_parameters(&changes)
            .map_err(|error| HybridEnd::NoPoint {
                why: error.to_string(),
            })
    }

    /// Whether a relation of time holds now.
    fn holds_by_time(&mut self, relation: usize, after: bool) -> bool {
        let limit = self.layout.limits + relation;
        let limit = self.program.value(limit, &self.point, &self.values);
        (self.point.time >= limit) == after
    }

    /// Truths of relations of time: those of unknowns are asked at the point that goes with these.
    pub(super) fn evaluate_times(&mut self) {
        for (at, relation) in self.hybrid.relations.iter().enumerate() {
            if let ChangedBy::Time { after, .. } = relation.by
                && !self.modes.over.contains(&at)
            {
                let holds = self.holds_by_time(at, after);
                self.values[relation.parameter] = f64::from(u8::from(holds));
            }
        }
    }

    /// Truths of relations at the present point.
    fn evaluate_relations(&mut self, on_border: OnBorder) {
        for (at, relation) in self.hybrid.relations.iter().enumerate() {
            if self.modes.over.contains(&at) {
                continue;
            }
            let holds = match relation.by {
                ChangedBy::Events => continue,
                ChangedBy::Unknowns if self.crossed.contains(&at) => {
                    match self.crosses(at, on_border) {
                        Some(holds) => holds,
                        None => continue,
                    }
                }
                ChangedBy::Time { after, .. } => self.holds_by_time(at, after),
                ChangedBy::Unknowns => {
                    let place = self.layout.relations + at;
                    let value = self.program.value(place, &self.point, &self.values);
                    let is_kept = match on_border {
                        OnBorder::Equal | OnBorder::Kept => true,
                        OnBorder::Located => self.resting[at] || self.is_slack(at, place),
                    };
                    let otherwise = match on_border {
                        OnBorder::Equal => self.program.holds_at_equality(place),
                        _ => self.values[relation.parameter] != 0.0,
                    };
                    // Only where it matters: the border is not cheap.
                    let is_released = on_border == OnBorder::Kept && self.resting[at];
                    let is_led = on_border == OnBorder::Kept && self.was_led(place);
                    let is_on_border = is_kept
                        && (otherwise != (value != 0.0) || is_released || is_led)
                        && (self.is_slack(at, place) || self.is_on_border(place));
                    let behind = match is_on_border && is_released {
                        true => self.truth_behind(at),
                        false => None,
                    };
                    if behind.is_some() && !self.released.contains(&at) {
                        self.released.push(at);
                    }
                    match (is_on_border, on_border) {
                        _ if value.is_nan() => continue,
                        (true, OnBorder::Equal) => otherwise,
                        (true, _) if behind.is_some() => behind == Some(true),
                        (true, _) if is_led => self.program.holds_at_equality(place),
                        // The mode keeps its sides equal.
                        (true, OnBorder::Kept)
                            if !self.moves(place) && self.truth_behind(at).is_none() =>
                        {
                            self.program.holds_at_equality(place)
                        }
                        (true, _) => continue,
                        (false, _) => value != 0.0,
                    }
                }
            };
            let holds = f64::from(u8::from(holds));
            if on_border != OnBorder::Equal && holds != self.values[relation.parameter] {
                if self.has_flipped(at) {
                    continue;
                }
                let (time, count) = self.flips[at];
                self.flips[at] = match self.is_now(time) {
                    true => (time, count + 1),
                    false => (self.point.time, 1),
                };
            }
            self.values[relation.parameter] = holds;
        }
    }

    /// What a relation is that changes within the present instant: what it says, if the event has moved its sides. If not, it has
    /// changed, whatever the numbers of the time of the instant say, and keeps that.
    fn crosses(&mut self, relation: usize, on_border: OnBorder) -> Option<bool> {
        let place = self.layout.relations + relation;
        let held = self.values[self.hybrid.relations[relation].parameter] != 0.0;
        let holds = self.program.value(place, &self.point, &self.values) != 0.0;
        if self.was_moved(place) {
            // What rounding left on the wrong side is no longer where it was.
            self.released.retain(|&released| released != relation);
            return Some(holds);
        }
        if on_border != OnBorder::Located {
            return None;
        }
        if holds == held {
            self.released.push(relation);
        }
        Some(!held)
    }

    /// Whether a relation by its position is on its border, in the present mode and at the present point.
    pub(super) fn is_on_border(&mut self, place: usize) -> bool {
        let (point, values) = (self.point.clone(), self.values.clone());
        let stays = (place.checked_sub(self.layout.relations))
            .and_then(|at| self.staying.get(at))
            .is_some_and(|stays| *stays);
        let widths = match stays && !self.was_moved(place) {
            true => super::scan::wide(self.out.rtol),
            false => 1.0,
        };
        self.is_on_border_at((place, widths), &point, &values)
    }

    /// Whether the present event has moved the sides of a relation apart or together: what it sets is exact.
    fn was_moved(&mut self, place: usize) -> bool {
        let Some((point, parameters)) = &self.began else {
            return false;
        };
        self.program.value(place, point, parameters);
        let before = self.program.sides(place);
        self.program.value(place, &self.point, &self.values);
        let now = self.program.sides(place);
        before.zip(now).is_none_or(|((a, b), (c, d))| {
            let size = a.abs() + b.abs() + c.abs() + d.abs();
            ((a - b) - (c - d)).abs() > ROUNDING * size
        })
    }

    /// Finds the relations that the motion from here keeps on their border, (H3d).
    pub(super) fn look_who_stays(&mut self) {
        for (at, relation) in self.hybrid.relations.iter().enumerate() {
            let place = self.layout.relations + at;
            let is_looked_at = relation.by == ChangedBy::Unknowns && !self.modes.over.contains(&at);
            // What is cheap first.
            self.staying[at] = is_looked_at
                && self.is_near(place)
                && !self.moves(place)
                && self.is_located(at)
                && self.truth_behind(at).is_none();
        }
    }

    /// Whether a relation is on its border, or has changed just now within what the point may be off.
    fn is_located(&mut self, relation: usize) -> bool {
        let place = self.layout.relations + relation;
        if self.is_on_border(place) {
            return true;
        }
        let (point, values) = (self.point.clone(), self.values.clone());
        let wide = super::scan::wide(self.out.rtol);
        self.is_now(self.flips[relation].0) && self.is_on_border_at((place, wide), &point, &values)
    }

    /// Whether the sides of a relation are near each other, or both are no larger than what rounding leaves.
    pub(super) fn is_near(&mut self, place: usize) -> bool {
        self.program.value(place, &self.point, &self.values);
        let near = f64::EPSILON.powf(0.25);
        let is_near = |(a, b): (f64, f64)| (a - b).abs() <= near * (a.abs() + b.abs()).max(near);
        self.program.sides(place).is_some_and(is_near)
    }

    /// Whether the difference of a relation's sides has a first derivative that is more than rounding, or that is not known here.
    fn moves(&mut self, place: usize) -> bool {
        let slopes = self.program.slopes(place, &self.point, &self.values);
        let Some(slopes) = slopes else {
            return true;
        };
        let (mut sum, mut size) = (0.0, 0.0f64);
        for (unknown, _, slope) in slopes.iter().filter(|slope| slope.1 == 0) {
            let term = slope * self.point.rates[*unknown];
            sum += term;
            size += term.abs();
        }
        let is_known = slopes.iter().all(|slope| slope.1 == 0);
        is_known && sum.abs() > f64::EPSILON.sqrt() * size
    }

    /// The same at another point, with other parameters and so many times the width; sizes are those of the present mode.
    pub(super) fn is_on_border_at(
        &mut self,
        place: (usize, f64),
        point: &Point,
        parameters: &[f64],
    ) -> bool {
        let (start, mode) = (self.start.as_ref(), self.modes.list.get(self.mode));
        let (time, values) = (self.point.time, &self.values);
        self.program
            .is_on_border(place, point, (parameters, self.out.rtol), |slopes| {
                let makings = mode?.events.makings.lock();
                let mut makings = makings.unwrap_or_else(PoisonError::into_inner);
                makings.size(values, (time, &start?.jet), slopes)
            })
    }

    /// What a relation that the last leg kept on its border is where it leaves it, in the present mode; `None` where it stays.
    fn truth_behind(&self, relation: usize) -> Option<bool> {
        let jet = self.deeper_jet()?;
        let events = &self.modes.list[self.mode].events;
        events.truth_behind(relation, &self.values, (self.point.time, &jet))
    }

    /// Whether a relation is near its border because the present event has led it there: it was farther beside it, when the event began,
    /// than a located zero is off.
    fn was_led(&mut self, place: usize) -> bool {
        if !self.is_near(place) || !self.was_moved(place) {
            return false;
        }
        let Some((point, parameters)) = self.began.take() else {
            return false;
        };
        let far = f64::EPSILON.sqrt() / ROUNDING;
        let is_clear = !self.is_on_border_at((place, far), &point, &parameters);
        self.began = Some((point, parameters));
        is_clear
    }

    /// Whether a relation changed back and forth at this instant though nothing was set: then its numbers are rounding, and it rests.
    pub(super) fn has_flipped(&self, relation: usize) -> bool {
        let (time, count) = self.flips[relation];
        count > 1 && self.is_now(time) && !self.is_now(self.set_at)
    }

    /// What its rule says that a discrete variable is now.
    pub(super) fn ruled(&mut self, position: usize) -> f64 {
        let place = self.layout.rules + position;
        let value = self.program.value(place, &self.point, &self.values);
        match self.hybrid.variables[position].rule {
            Rule::Expression(_) => value,
            Rule::Floor(_) => value.floor(),
        }
    }

    /// Discrete variables in their order.
    pub(super) fn evaluate_variables(&mut self, at_start: bool) {
        for &position in &self.hybrid.order {
            let variable = &self.hybrid.variables[position];
            let value = self.ruled(position);
            self.values[variable.parameter] = value;
            // At the start only conditions with `initial()` fire.
            if at_start && let Some(with_initial) = variable.when {
                self.values[variable.previous] = if with_initial { 0.0 } else { value };
            }
        }
    }

    /// Beyond 2^53 not every whole number is one of those that are kept: n + 1 may be n.
    fn check_whole_numbers(&self) -> Result<(), HybridEnd> {
        let most = 1.0 / f64::EPSILON * 2.0;
        let variables = self.hybrid.variables.iter();
        let mut whole = variables.filter(|v| v.ty == Type::Integer);
        match whole.find(|v| self.values[v.parameter].abs() > most) {
            Some(variable) => Err(HybridEnd::TooLarge {
                name: variable.name.clone(),
                value: self.values[variable.parameter],
            }),
            None => Ok(()),
        }
    }

    /// Held relations between discrete variables.
    pub(super) fn evaluate_held(&mut self) {
        for (at, relation) in self.hybrid.relations.iter().enumerate() {
            if relation.by == ChangedBy::Events {
                let place = self.layout.relations + at;
                let value = self.program.value(place, &self.point, &self.values);
                self.values[relation.parameter] = f64::from(u8::from(value != 0.0));
            }
        }
    }

    /// What is now was before, from now on.
    pub(super) fn remember(&mut self) {
        for variable in &self.hybrid.variables {
            self.values[variable.previous] = self.values[variable.parameter];
        }
    }

    /// Names of discrete quantities that differ from earlier values.
    fn changing(&self, before: &[f64]) -> Vec<String> {
        let parameters = self.hybrid.held_parameters();
        let changed = parameters.filter(|&p| before[p] != self.values[p]);
        let mut names: Vec<String> = changed
            .map(|p| self.model.parameters[p].name.clone())
            .filter(|name| !name.starts_with("pre("))
            .collect();
        names.dedup();
        names.truncate(6);
        names
    }

    /// One event at the present point.
    pub(super) fn event(&mut self) -> Result<(), HybridEnd> {
        let before = self.values.clone();
        let point_before = self.point.clone();
        self.jumped.clear();
        self.impulses.clear();
        self.released.clear();
        let time = self.point.time;
        self.trace_event();
        self.remember();
        let mut causes = Vec::new();
        if self.passes_jump() {
            causes.push("delay".to_string());
            self.restart(&[])?;
        }
        let mut line = self.take_samples(&mut causes);
        let mut reinitialised = Vec::new();
        self.began = Some((self.point.clone(), self.values.clone()));
        self.evaluate_times();
        self.follow_previous();
        self.evaluate_relations(OnBorder::Located);
        for relation in &self.hybrid.relations {
            if before[relation.parameter] != self.values[relation.parameter] {
                causes.push(self.model.parameters[relation.parameter].name.clone());
                line = line.or(self.line_of(relation.span));
            }
        }
        self.settle(&mut reinitialised)?;
        let mut flags = self.hybrid.samples.iter().map(|s| s.parameter);
        let is_set = flags.any(|p| self.values[p] != 0.0);
        if is_set || self.hybrid.terminal.is_some_and(|p| self.values[p] != 0.0) {
            for p in self.hybrid.samples.iter().map(|s| s.parameter) {
                self.values[p] = 0.0;
            }
            if let Some(terminal) = self.hybrid.terminal {
                self.values[terminal] = 0.0;
            }
            self.settle(&mut reinitialised)?;
        }
        self.crossed.clear();
        self.look_for_hidden_hop(&before, !reinitialised.is_empty());
        self.trace_mode();
        reinitialised.append(&mut self.jumped);
        let changed = self.changes(&before, &point_before.values, &reinitialised);
        let energy_lost = match (self.model.energy, reinitialised.is_empty()) {
            (Some(_), false) => {
                let at = self.layout.energy;
                let earlier = self.program.value(at, &point_before, &before);
                Some(earlier - self.program.value(at, &self.point, &self.values))
            }
            _ => None,
        };
        // The located time lies just behind a zero: where the motion turns round there, the relation changes back at once.
        let last = self.out.events.last();
        let is_here = last.is_some_and(|last| time - last.time <= self.instant_long());
        let follows = is_here && changed.is_empty();
        if !follows {
            let (causes, condition) = self.words.causes(causes);
            let impulses = std::mem::take(&mut self.impulses).into();
            self.note(Event {
                time,
                condition,
                causes,
                line,
                changed,
                impulses,
                energy_lost,
                mode: self.mode,
            });
        }
        self.terminated.take().map_or(Ok(()), Err)
    }

    /// Lets the `sample`s tick that are due at this instant; the line of the first.
    fn take_samples(&mut self, causes: &mut Vec<String>) -> Option<usize> {
        let mut line = None;
        let end = self.point.time + self.instant_long();
        for at in 0..self.hybrid.samples.len() {
            // Instants that differ by rounding are one: a clock and a multiple of it tick together.
            if self.instant(at, self.instants[at]) <= end {
                self.instants[at] += 1;
                self.values[self.hybrid.samples[at].parameter] = 1.0;
                let span = self.hybrid.samples[at].span;
                causes.push(self.model.sources.slice(span).to_string());
                line = line.or(self.line_of(span));
            }
        }
        line
    }

    pub(super) fn line_of(&self, span: daelight_lang::Span) -> Option<usize> {
        let source = self.model.sources.get(span.source);
        Some(source.line_column(span.start).0)
    }

    /// Rounds until nothing changes.
    fn settle(&mut self, reinitialised: &mut Vec<usize>) -> Result<(), HybridEnd> {
        for round in 0.. {
            let before = self.values.clone();
            if round > 0 {
                self.follow_previous();
                self.evaluate_relations(OnBorder::Kept);
            }
            self.trace_round();
            self.evaluate_variables(false);
            self.check_whole_numbers()?;
            self.evaluate_held();
            self.guarded_checks()?;
            let set = self.reinits()?;
            if !set.is_empty() {
                self.set_at = self.point.time;
            }
            let is_new = self.read_now() != self.read_at;
            if (is_new || !set.is_empty())
                && let Err(end) = self.restart(&set)
            {
                self.trace_oddity();
                if !(set.is_empty() && self.find_mode(false)) {
                    return Err(end);
                }
            }
            reinitialised.extend(set.iter().map(|&(unknown, _)| unknown));
            let is_settled = set.is_empty()
                && (round > 0 || !is_new)
                && before == self.values
                && self.hybrid.variables.iter().all(|v| {
                    self.values[v.parameter] == self.values[v.previous]
                        || self.values[v.parameter].is_nan()
                });
            if is_settled {
                return Ok(());
            }
            if round >= MAX_ROUNDS {
                let end = self.endless(&before);
                self.trace_oddity();
                return match self.find_mode(false) {
                    true => Ok(()),
                    false => Err(end),
                };
            }
            self.remember();
        }
        Ok(())
    }

    pub(super) fn read_now(&self) -> Vec<f64> {
        self.read.iter().map(|&p| self.values[p]).collect()
    }

    /// The unknowns that `reinit` sets in this round, with their values.
    fn reinits(&mut self) -> Result<Vec<(usize, f64)>, HybridEnd> {
        let mut set: Vec<(usize, f64)> = Vec::new();
        let mut lines: Vec<Option<usize>> = Vec::new();
        for (at, reinit) in self.hybrid.reinits.iter().enumerate() {
            let place = self.layout.reinits + 2 * at;
            if self.program.value(place, &self.point, &self.values) == 0.0 {
                continue;
            }
            let value = self.program.value(place + 1, &self.point, &self.values);
            let symbol = self.model.graph.as_symbol(reinit.unknown);
            let symbol = symbol.map(|id| self.model.symbols.get(id));
            let Some(Symbol::Unknown { unknown, .. }) = symbol else {
                continue;
            };
            let line = self.line_of(reinit.span);
            match set.iter().position(|(other, _)| *other == unknown) {
                None => {
                    set.push((unknown, value));
                    lines.push(line);
                }
                Some(first) if set[first].1 != value => {
                    let place = |line: Option<usize>| line.map_or(0, |line| line);
                    let why = format!(
                        "`{}` is set to {} in line {} and to {value} in line {} at once; remove one, or join two `when`s with `elsewhen`",
                        self.model.unknowns[unknown].name,
                        set[first].1,
                        place(lines[first]),
                        place(line)
                    );
                    return Err(HybridEnd::NoPoint { why });
                }
                Some(_) => {}
            }
        }
        Ok(set)
    }

    /// Asserts and `terminate` inside a `when` that fires. The event at which a run is terminated happens as any other: values are those behind it.
    fn guarded_checks(&mut self) -> Result<(), HybridEnd> {
        for at in 0..self.hybrid.checks.len() {
            let check = &self.hybrid.checks[at];
            let place = self.layout.checks + 2 * at;
            let condition = self.program.value(place, &self.point, &self.values) != 0.0;
            if check.kind == CheckKind::Terminate {
                if condition {
                    let (message, span) = (check.message.clone(), check.span);
                    let end = HybridEnd::Terminated { message, span };
                    self.terminated.get_or_insert(end);
                }
                continue;
            }
            let fires = check.guard.is_some()
                && self.program.value(place + 1, &self.point, &self.values) != 0.0;
            if fires && !condition {
                self.fails(at)?;
            }
        }
        Ok(())
    }

    fn fails(&mut self, check: usize) -> Result<(), HybridEnd> {
        let check = &self.hybrid.checks[check];
        let (message, span) = (check.message.clone(), check.span);
        if check.kind == CheckKind::Error {
            return Err(HybridEnd::Asserted { message, span });
        }
        let line = self.line_of(span).unwrap_or(0);
        let text = format!("At t = {}, line {line}: {message}", self.point.time);
        // Once for each assert.
        let tail = format!(", line {line}: {message}");
        if !self.out.warnings.iter().any(|w| w.ends_with(&tail)) {
            self.out.warnings.push(text);
        }
        Ok(())
    }

    /// Why an event does not settle: something changes in every round, or has no value.
    fn endless(&self, before: &[f64]) -> HybridEnd {
        let mut variables = self.hybrid.variables.iter();
        let Some(variable) = variables.find(|v| self.values[v.parameter].is_nan()) else {
            let names = self.changing(before);
            return HybridEnd::EndlessEvent { names };
        };
        // A loop that is not at its end after all rounds that are written out is a number without a value, with the place of its condition.
        let rule = [variable.rule.expr()];
        let mut walker = daelight_expr::Walker::new();
        let parts = walker.reachable(&self.model.graph, &rule);
        let span = parts
            .iter()
            .find_map(|id| match self.model.graph.node(*id) {
                Node::Unary(UnaryOp::Sqrt, below) => {
                    self.model.graph.as_constant(below)?;
                    let span = self.model.spans.get(id).copied();
                    span.filter(|span| self.model.sources.is_of_while(*span))
                }
                _ => None,
            });
        HybridEnd::NoValue {
            name: variable.name.clone(),
            line: self.line_of(span.unwrap_or(variable.span)),
            endless: span.map(|span| self.model.sources.slice(span).to_string()),
        }
    }

    /// What an event changed, as far as the model names it.
    fn changes(
        &self,
        before: &[f64],
        unknowns_before: &[f64],
        reinitialised: &[usize],
    ) -> Box<[Change]> {
        let mut changed = Vec::new();
        let variables = self.hybrid.variables.iter().zip(&self.words.variables);
        for (variable, name) in variables.filter(|(v, _)| !v.is_hidden) {
            let (from, to) = (before[variable.parameter], self.values[variable.parameter]);
            if from != to {
                let name = Arc::clone(name);
                changed.push(Change { name, from, to });
            }
        }
        let mut seen = reinitialised.to_vec();
        seen.sort_unstable();
        seen.dedup();
        for unknown in seen {
            changed.push(Change {
                name: self.words.unknown(unknown),
                from: unknowns_before[unknown],
                to: self.point.values[unknown],
            });
        }
        changed.into()
    }
}
