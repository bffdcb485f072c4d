//! Values along a run with events: continuous unknowns and discrete variables, with both sides of every event.

use super::program::{Point, Program};
use super::{HybridSolution, Stretch};
use crate::samples::NamedRows;
use daelight_analysis::System;
use daelight_expr::{ExprId, Walker};
use daelight_lang::{Hybrid, Model, Symbol};

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
pub(super) struct Sampler {
    names: Vec<String>,
    /// Parameters that are shown beside the unknowns.
    shown: Vec<usize>,
    held: Vec<usize>,
    views: (Program, usize),
    /// Times that are wanted, later ones first.
    wanted: Vec<f64>,
    with_events: bool,
    has_past: bool,
    n_legs: usize,
    rows: Result<Vec<(f64, Vec<f64>)>, String>,
}

impl Sampler {
    /// For values at these times; times outside the run are left out.
    pub fn new(model: &Model, hybrid: Option<&Hybrid>, times: &[f64], with_events: bool) -> Self {
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
        Self {
            names,
            shown,
            held,
            views: (
                Program::new(model, &model.symbols, &views, 0..0),
                views.len(),
            ),
            wanted: times.iter().rev().copied().collect(),
            with_events,
            has_past: hybrid.is_some_and(|hybrid| !hybrid.delays.is_empty()),
            n_legs: 0,
            rows: Ok(Vec::new()),
        }
    }

    /// Adds the values along a leg.
    pub fn add(&mut self, leg: &Stretch, mode: &System, is_last: bool) {
        let Some((from, to)) = leg.trajectory.span() else {
            return;
        };
        let is_first = self.n_legs == 0;
        self.n_legs += 1;
        let mut here: Vec<f64> = Vec::new();
        if self.with_events && !is_first {
            here.push(from);
        }
        // A time at an event is that of the side behind it.
        let is_here = |t: &f64| *t < to || (is_last && *t <= to);
        while let Some(time) = self.wanted.pop_if(|t| is_here(t)) {
            if time >= from && here.last() != Some(&time) {
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

    /// Names, and the values for each time.
    pub fn finish(self) -> Result<NamedRows, String> {
        Ok((self.names, self.rows?))
    }

    fn rows_of(&mut self, leg: &Stretch, mode: &System, times: &[f64]) -> Result<(), String> {
        let Ok(rows) = &mut self.rows else {
            return Ok(());
        };
        if times.is_empty() {
            return Ok(());
        }
        let mut system = mode.clone();
        let held: Vec<(usize, f64)> = self.held.iter().map(|&p| (p, leg.parameters[p])).collect();
        system
            .set_parameters(&held)
            .map_err(|error| error.to_string())?;
        let mut reader = crate::observe::Reader {
            trajectory: &leg.trajectory,
            way: leg.route.way_back(&system),
        };
        let end = leg.trajectory.span().map(|span| span.1);
        for &time in times {
            // What is delayed may jump at the end of a leg, which is still before that.
            let at = match self.has_past && Some(time) == end && times.len() > 1 {
                true => time.next_down(),
                false => time,
            };
            let values = reader
                .values(at)
                .map_err(|fault| format!("no value at t = {time}: {:?}", fault.kind))?;
            let Some(mut values) = values else { continue };
            let point = Point {
                time,
                rates: vec![f64::NAN; values.len()],
                values: values.clone(),
            };
            values.extend(self.shown.iter().map(|&p| leg.parameters[p]));
            let (views, n_views) = &mut self.views;
            values.extend((0..*n_views).map(|at| views.value(at, &point, &leg.parameters)));
            rows.push((time, values));
        }
        Ok(())
    }
}

impl HybridSolution {
    /// All unknowns and parameters at a time, behind an event that happens there.
    pub fn look(&self, time: f64) -> Result<(Vec<f64>, Vec<f64>), String> {
        let begins = |leg: &&Stretch| leg.trajectory.span().is_some_and(|(from, _)| from <= time);
        let (true, Some(leg)) = (
            time < self.reached,
            self.legs.iter().rev().find(|leg| begins(leg)),
        ) else {
            return Ok((self.last.clone(), self.parameters.clone()));
        };
        let mut system = self.modes[leg.mode].system.clone();
        let held: Vec<(usize, f64)> = self.held.iter().map(|&p| (p, leg.parameters[p])).collect();
        system
            .set_parameters(&held)
            .map_err(|error| error.to_string())?;
        let mut reader = crate::observe::Reader {
            trajectory: &leg.trajectory,
            way: leg.route.way_back(&system),
        };
        match reader.values(time) {
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
        let mut sampler = Sampler::new(model, model.hybrid.as_deref(), times, with_events);
        for (at, leg) in self.legs.iter().enumerate() {
            let mode = &self.modes[leg.mode].system;
            sampler.add(leg, mode, at + 1 == self.legs.len());
        }
        sampler.finish()
    }
}
