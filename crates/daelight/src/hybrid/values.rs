//! Values along a run with events: continuous unknowns and discrete variables, with both sides of every event.

use super::program::{Point, Program};
use super::{HybridSolution, Stretch};
use crate::samples::NamedRows;
use daelight_analysis::System;
use daelight_expr::{ExprId, Walker};
use daelight_lang::{ChangedBy, Hybrid, Model, Rule, Symbol, Symbols};

/// Held parameters that the continuous equations read.
pub(super) fn read_by_equations(model: &Model, hybrid: &Hybrid) -> Vec<usize> {
    let residuals: Vec<ExprId> = model.equations.iter().map(|e| e.residual).collect();
    let symbols = Walker::new().symbols(&model.graph, &residuals);
    let held: std::collections::HashSet<usize> = hybrid.held_parameters().collect();
    let mut found: Vec<usize> = symbols
        .into_iter()
        .filter_map(|id| match model.symbols.get(id) {
            Symbol::Parameter(index) if held.contains(&index) => Some(index),
            _ => None,
        })
        .collect();
    found.sort_unstable();
    found
}

/// Which discrete variables have a rule that reads no relation of unknowns and no unknown.
pub(super) fn by_previous(model: &Model, hybrid: &Hybrid) -> Vec<bool> {
    let relations = hybrid.relations.iter();
    let of_unknowns = relations.filter(|r| r.by == ChangedBy::Unknowns);
    let of_unknowns: std::collections::HashSet<usize> = of_unknowns.map(|r| r.parameter).collect();
    let mut walker = Walker::new();
    let is_discrete = |rule: &Rule| {
        let symbols = walker.symbols(&model.graph, &[rule.expr()]);
        symbols.into_iter().all(|id| match model.symbols.get(id) {
            Symbol::Parameter(index) => !of_unknowns.contains(&index),
            Symbol::Unknown { .. } | Symbol::Input { .. } => false,
            _ => true,
        })
    };
    let rules = hybrid.variables.iter().map(|v| &v.rule);
    rules.map(is_discrete).collect()
}

/// Tells which inputs are 0 because nobody gives them a signal, read by equations or by what happens at events.
pub(super) fn silent_inputs(
    model: &Model,
    symbols: &Symbols,
    discrete: &[ExprId],
) -> Option<String> {
    let mut roots: Vec<ExprId> = model.equations.iter().map(|e| e.residual).collect();
    roots.extend(discrete);
    roots.extend(model.inputs.iter().filter_map(|input| input.definition));
    let mut silent: Vec<usize> = (Walker::new().symbols(&model.graph, &roots).into_iter())
        .filter_map(|id| match symbols.get(id) {
            Symbol::Input { input, .. } => Some(input),
            _ => None,
        })
        .filter(|&input| model.inputs[input].definition.is_none())
        .filter(|&input| symbols.signal_of(input).is_none())
        .collect();
    silent.sort_unstable();
    silent.dedup();
    let names = silent.iter().map(|&input| &model.inputs[input].name[..]);
    crate::analyze::silent(&names.collect::<Vec<_>>())
}

pub(super) fn keep_greatest(all: &mut Vec<f64>, more: &[f64]) {
    all.resize(all.len().max(more.len()), 0.0);
    for (kept, new) in all.iter_mut().zip(more) {
        *kept = kept.max(*new);
    }
}

pub(super) fn note_once(all: &mut Vec<String>, text: &str) {
    if !all.iter().any(|known| known == text) {
        all.push(text.to_string());
    }
}

/// Takes values along a run while it goes on: unknowns and discrete variables, with both sides of events.
pub(super) struct Sampler<'m> {
    names: Vec<String>,
    /// Parameters that are shown beside the unknowns.
    shown: Vec<usize>,
    held: Vec<usize>,
    views: (Program, usize),
    /// Times that are wanted, later ones first; and as they were asked for, if that is another order.
    wanted: Vec<f64>,
    asked: Option<Vec<f64>>,
    with_events: bool,
    has_past: bool,
    n_legs: usize,
    rows: Result<Vec<(f64, Vec<f64>)>, String>,
    /// What takes rows as they come; without it they are kept.
    sink: Option<&'m mut dyn TakesRows>,
    /// The last row that it took.
    last: Option<(f64, Vec<f64>)>,
}

/// Takes rows of values as they come.
pub trait TakesRows {
    /// Names of the columns, and a time with their values.
    fn take(&mut self, names: &[String], time: f64, values: &[f64]);
}

/// What is taken from a run while it goes on.
#[derive(Default)]
pub struct Taken<'s> {
    /// Values at these times.
    pub times: &'s [f64],
    /// Both sides of events between them.
    pub with_events: bool,
    /// Of the events those that are told in words are kept, of the modes their first stretches; all are counted.
    pub told_only: bool,
    /// What takes rows as they come, in the order of their times; without it they are kept.
    pub sink: Option<&'s mut dyn TakesRows>,
}

impl<'m> Sampler<'m> {
    /// For values at these times; times outside the run are left out.
    pub fn new(model: &Model, hybrid: Option<&Hybrid>, taken: Taken<'m>) -> Self {
        let Taken {
            times, with_events, ..
        } = taken;
        let mut names: Vec<String> = model.unknowns.iter().map(|u| u.name.clone()).collect();
        let held: Vec<usize> = hybrid.iter().flat_map(|h| h.held_parameters()).collect();
        let variables = hybrid.iter().flat_map(|h| &h.variables);
        let variables = variables.filter(|v| !v.is_hidden);
        names.extend(variables.clone().map(|v| v.name.clone()));
        let mut shown: Vec<usize> = variables.map(|v| v.parameter).collect();
        let has_components = model.unknowns.iter().any(|u| u.name.contains('.'));
        let parameters = model.parameters.iter().enumerate();
        for (at, parameter) in parameters.filter(|(at, _)| has_components && !held.contains(at)) {
            names.push(parameter.name.clone());
            shown.push(at);
        }
        names.extend(model.views.iter().map(|view| view.name.clone()));
        let views: Vec<ExprId> = model.views.iter().map(|view| view.value).collect();
        let mut wanted = times.to_vec();
        wanted.sort_by(|a, b| b.total_cmp(a));
        Self {
            names,
            shown,
            held,
            views: (
                Program::new(model, &model.symbols, &views, 0..0),
                views.len(),
            ),
            wanted,
            asked: (!times.is_sorted()).then(|| times.to_vec()),
            with_events,
            has_past: hybrid.is_some_and(|hybrid| !hybrid.delays.is_empty()),
            n_legs: 0,
            rows: Ok(Vec::new()),
            sink: taken.sink,
            last: None,
        }
    }

    /// Adds the values along a leg; the last one has those of its end, unless an event there has others.
    pub fn add(&mut self, leg: &Stretch, mode: &System, is_last: bool) {
        let Some((from, to)) = leg.trajectory.span() else {
            return;
        };
        let is_first = self.n_legs == 0;
        self.n_legs += 1;
        let mut here: Vec<f64> = Vec::new();
        // A leg may begin a little behind the end of the last one.
        while let Some(time) = self.wanted.pop_if(|t| *t < from) {
            if !is_first && here.last() != Some(&time) {
                here.push(time);
            }
        }
        if self.with_events && !is_first {
            here.push(from);
        }
        // A time at an event is that of the side behind it.
        let is_here = |t: &f64| *t < to || (is_last && *t <= to);
        while let Some(time) = self.wanted.pop_if(|t| is_here(t)) {
            if here.last() != Some(&time) {
                here.push(time);
            }
        }
        if self.with_events && here.last() != Some(&to) {
            here.push(to);
        }
        if let Err(message) = self.rows_of(leg, mode, &here) {
            self.rows = self.rows.clone().and(Err(message));
        }
    }

    /// Adds what an event at the very end left.
    pub fn close(&mut self, time: f64, values: &[f64], parameters: &[f64]) {
        let is_wanted = self.wanted.pop_if(|t| *t <= time).is_some();
        if is_wanted || self.with_events {
            let row = self.row(time, values.to_vec(), parameters);
            self.last = None;
            self.put(time, row);
        }
    }

    /// Adds a row, unless it repeats the last one: legs meet where nothing happens, too.
    fn put(&mut self, time: f64, row: Vec<f64>) {
        let last = match &self.rows {
            Err(_) => return,
            Ok(rows) => rows.last().or(self.last.as_ref()),
        };
        if last.is_some_and(|last| (last.0, &last.1) == (time, &row)) {
            return;
        }
        if let Some(sink) = &mut self.sink {
            sink.take(&self.names, time, &row);
            self.last = Some((time, row));
        } else if let Ok(rows) = &mut self.rows {
            rows.push((time, row));
        }
    }

    /// What is shown at a time.
    fn row(&mut self, time: f64, mut values: Vec<f64>, parameters: &[f64]) -> Vec<f64> {
        let point = Point {
            time,
            rates: vec![f64::NAN; values.len()],
            values: values.clone(),
        };
        values.extend(self.shown.iter().map(|&p| parameters[p]));
        let (views, n_views) = &mut self.views;
        values.extend((0..*n_views).map(|at| views.value(at, &point, parameters)));
        values
    }

    /// Names, and the values for each time.
    pub fn finish(self) -> Result<NamedRows, String> {
        let rows = self.rows?;
        let Some(asked) = self.asked else {
            return Ok((self.names, rows));
        };
        let found = asked.iter().filter_map(|time| {
            let row = rows.iter().rev().find(|row| row.0 == *time);
            row.cloned()
        });
        Ok((self.names, found.collect()))
    }

    fn rows_of(&mut self, leg: &Stretch, mode: &System, times: &[f64]) -> Result<(), String> {
        if times.is_empty() || self.rows.is_err() {
            return Ok(());
        }
        let mut system = mode.clone();
        let held: Vec<(usize, f64)> = self.held.iter().map(|&p| (p, leg.parameters[p])).collect();
        system
            .set_parameters(&held)
            .map_err(|error| error.to_string())?;
        let mut reader = crate::observe::Reader {
            trajectory: &leg.trajectory,
            way: crate::observe::Way::Own(leg.route.way_back(&system).into()),
            settles: None,
        };
        let span = leg.trajectory.span();
        let end = span.map(|span| span.1);
        for &time in times {
            // What is delayed may jump at the end of a leg, which is still before that.
            let at = match self.has_past && Some(time) == end && times.len() > 1 {
                true => time.next_down(),
                false => within(span, time),
            };
            let values = reader
                .values(at)
                .map_err(|fault| format!("no value at t = {time}: {:?}", fault.kind))?;
            let Some(values) = values else { continue };
            let row = self.row(time, values, &leg.parameters);
            self.put(time, row);
        }
        Ok(())
    }
}

/// A time within a leg, or its end that is closest: legs may be a little apart.
fn within(span: Option<(f64, f64)>, time: f64) -> f64 {
    span.map_or(time, |(from, to)| time.max(from).min(to))
}

/// The discrete variables that a model names.
fn discrete(model: &Model) -> impl Iterator<Item = &daelight_lang::DiscreteVariable> {
    let variables = model.hybrid.iter().flat_map(|h| &h.variables);
    variables.filter(|v| !v.is_hidden)
}

/// A time of a run, and the stretch on which it is looked at; none is behind the last of them.
pub type Instant = (Option<usize>, f64);

impl HybridSolution {
    /// Where the steps begin and end: both sides of each event, and what is behind the last one.
    pub fn steps(&self) -> Vec<Instant> {
        let legs = self.legs.iter().enumerate();
        let mut all: Vec<Instant> = Vec::new();
        for (at, leg) in legs {
            let segments = leg.trajectory.segments().iter();
            all.extend(segments.map(|segment| (Some(at), segment.start)));
            all.extend(leg.trajectory.span().map(|(_, to)| (Some(at), to)));
        }
        self.close(&mut all);
        all
    }

    /// Ends a list of instants behind the last leg, and keeps both sides of what is an event alone: legs meet elsewhere too, where a
    /// relation changes without consequences.
    fn close(&self, all: &mut Vec<Instant>) {
        all.push((None, self.reached));
        let is_event = |time: f64| {
            let times = self.events.times();
            times.binary_search_by(|t| t.total_cmp(&time)).is_ok()
        };
        let mut kept: Vec<Instant> = Vec::with_capacity(all.len());
        for same in all.chunk_by(|a, b| a.1 == b.1) {
            if same.len() > 1 && is_event(same[0].1) {
                kept.push(same[0]);
            }
            kept.extend(same.last());
        }
        *all = kept;
    }

    /// Where times are looked at: behind events that happen there. Times outside the run are left out.
    pub fn instants(&self, times: &[f64]) -> Vec<Instant> {
        let inside = times
            .iter()
            .filter(|&&t| t >= self.from && t <= self.reached);
        inside
            .map(|&time| (self.leg_at(time).filter(|_| time < self.reached), time))
            .collect()
    }

    /// Ascending times, and both sides of each event between them.
    pub fn with_sides(&self, times: &[f64]) -> Vec<Instant> {
        let mut wanted = times.iter().copied().peekable();
        let mut all: Vec<Instant> = Vec::new();
        for (at, leg) in self.legs.iter().enumerate() {
            let Some((from, to)) = leg.trajectory.span() else {
                continue;
            };
            all.push((Some(at), from));
            while let Some(time) = wanted.next_if(|time| *time < to) {
                if time > from {
                    all.push((Some(at), time));
                }
            }
            all.push((Some(at), to));
        }
        self.close(&mut all);
        all
    }

    /// Whether an event happens where the run ends.
    pub(crate) fn ends_with_event(&self) -> bool {
        let last = self.events.last();
        last.is_some_and(|event| event.time == self.reached)
    }

    /// The last leg that begins at a time or before.
    pub(super) fn leg_at(&self, time: f64) -> Option<usize> {
        let begins = |leg: &Stretch| leg.trajectory.span().is_none_or(|(from, _)| from <= time);
        self.legs.partition_point(begins).checked_sub(1)
    }

    /// Names of what [`HybridSolution::rows`] gives: unknowns, then discrete variables.
    pub fn names(model: &Model) -> Vec<String> {
        let unknowns = model.unknowns.iter().map(|u| u.name.clone());
        let discrete = discrete(model).map(|v| v.name.clone());
        unknowns.chain(discrete).collect()
    }

    /// Unknowns and discrete variables, or their first derivatives, at instants of the run; NaN where there is no value.
    pub fn rows(&self, model: &Model, instants: &[Instant], derivative: bool) -> Vec<Vec<f64>> {
        let shown: Vec<usize> = discrete(model).map(|v| v.parameter).collect();
        let mut rows = Vec::with_capacity(instants.len());
        for here in instants.chunk_by(|a, b| a.0 == b.0) {
            let at = here[0].0.or(self.legs.len().checked_sub(1));
            let leg = at.map(|at| &self.legs[at]);
            let system = leg.and_then(|leg| self.equations_of(leg));
            let mut reader = leg.zip(system.as_ref()).map(|(leg, system)| {
                let (trajectory, way) = (&leg.trajectory, leg.route.way_back(system));
                crate::observe::Reader {
                    trajectory,
                    way: crate::observe::Way::Own(way.into()),
                    settles: None,
                }
            });
            for &(place, time) in here {
                let found = match (&mut reader, derivative) {
                    (_, false) if place.is_none() => Some(self.last.clone()),
                    (None, _) => None,
                    (Some(reader), false) => {
                        let time = within(reader.trajectory.span(), time);
                        reader.values(time).ok().flatten()
                    }
                    (Some(reader), true) => reader.jet(time).map(|jet| {
                        let unknowns = 0..jet.n_unknowns();
                        unknowns.map(|u| jet.derivative(u, 1)).collect()
                    }),
                };
                let mut row = found.unwrap_or_else(|| vec![f64::NAN; model.unknowns.len()]);
                let parameters = match (place, leg) {
                    (Some(_), Some(leg)) => &leg.parameters,
                    _ => &self.parameters,
                };
                let value = |&p: &usize| if derivative { 0.0 } else { parameters[p] };
                row.extend(shown.iter().map(value));
                rows.push(row);
            }
        }
        rows
    }

    /// The equations of a leg, with all that is discrete at its value.
    pub(crate) fn equations_of(&self, leg: &Stretch) -> Option<System> {
        let mut system = self.modes[leg.mode].system.clone();
        let changes = settings(&system, &self.held, &leg.parameters);
        system.set_parameters(&changes).ok()?;
        Some(system)
    }

    /// All unknowns and parameters at a time, behind an event that happens there.
    pub fn look(&self, time: f64) -> Result<(Vec<f64>, Vec<f64>), String> {
        let (true, Some(at)) = (time < self.reached, self.leg_at(time)) else {
            return Ok((self.last.clone(), self.parameters.clone()));
        };
        let leg = &self.legs[at];
        let system = self.equations_of(leg);
        let system = system.ok_or_else(|| format!("no value at t = {time}"))?;
        let mut reader = crate::observe::Reader {
            trajectory: &leg.trajectory,
            way: crate::observe::Way::Own(leg.route.way_back(&system).into()),
            settles: None,
        };
        match reader.values(within(leg.trajectory.span(), time)) {
            Ok(Some(values)) => Ok((values, leg.parameters.clone())),
            Ok(None) => Err(format!("no value at t = {time}")),
            Err(fault) => Err(format!("no value at t = {time}: {}", fault.kind)),
        }
    }

    /// Unknowns and discrete variables at these times; both sides of events between them. Times outside the run are left out.
    pub fn samples(
        &self,
        model: &Model,
        times: &[f64],
        with_events: bool,
    ) -> Result<NamedRows, String> {
        let mut sampler = Sampler::new(
            model,
            model.hybrid.as_deref(),
            Taken {
                times,
                with_events,
                ..Taken::default()
            },
        );
        let happens = self.ends_with_event();
        for (at, leg) in self.legs.iter().enumerate() {
            let mode = &self.modes[leg.mode].system;
            sampler.add(leg, mode, at + 1 == self.legs.len() && !happens);
        }
        if happens {
            sampler.close(self.reached, &self.last, &self.parameters);
        }
        sampler.finish()
    }
}

/// What a system of a mode is to be given so that its parameters have these values: what is held, and what was set from outside.
pub(crate) fn settings(system: &System, held: &[usize], values: &[f64]) -> Vec<(usize, f64)> {
    let own = system.parameters();
    let differs = |&p: &usize| own.values()[p] != values[p] && own.settable(p).is_ok();
    let set = held.iter().copied().chain((0..own.len()).filter(differs));
    set.map(|p| (p, values[p])).collect()
}
