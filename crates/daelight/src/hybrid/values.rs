//! Values along a run with events: continuous unknowns and discrete variables, with both sides of every event.

use super::program::{Point, Program};
use super::{HybridSolution, Stretch};
use crate::samples::NamedRows;
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

impl HybridSolution {
    /// Unknowns and discrete variables at these times; both sides of events between them. Times outside the run are left out.
    pub fn samples(
        &self,
        model: &Model,
        times: &[f64],
        with_events: bool,
    ) -> Result<NamedRows, String> {
        let mut names: Vec<String> = model.unknowns.iter().map(|u| u.name.clone()).collect();
        let discrete: Vec<usize> = match &model.hybrid {
            Some(hybrid) => {
                let shown = hybrid.variables.iter().filter(|v| !v.is_hidden);
                names.extend(shown.clone().map(|v| v.name.clone()));
                shown.map(|v| v.parameter).collect()
            }
            None => Vec::new(),
        };
        let has_components = model.unknowns.iter().any(|u| u.name.contains('.'));
        let parameters = model.parameters.iter().enumerate();
        let parameters = parameters.filter(|(at, _)| has_components && !self.held.contains(at));
        let mut shown = discrete;
        for (at, parameter) in parameters {
            names.push(parameter.name.clone());
            shown.push(at);
        }
        let discrete = shown;
        names.extend(model.views.iter().map(|view| view.name.clone()));
        let views: Vec<ExprId> = model.views.iter().map(|view| view.value).collect();
        let mut views = (
            Program::new(model, &model.symbols, &views, 0..0),
            views.len(),
        );
        let mut rows: Vec<(f64, Vec<f64>)> = Vec::new();
        let mut wanted = times.iter().copied().peekable();
        let n_legs = self.legs.len();
        for (at, leg) in self.legs.iter().enumerate() {
            let Some((from, to)) = leg.trajectory.span() else {
                continue;
            };
            let is_last = at + 1 == n_legs;
            let mut here: Vec<f64> = Vec::new();
            if with_events && at > 0 {
                here.push(from);
            }
            // A time at an event is that of the side behind it.
            while let Some(time) = wanted.next_if(|t| *t < to || (is_last && *t <= to)) {
                if time >= from && here.last() != Some(&time) {
                    here.push(time);
                }
            }
            if with_events && !is_last && here.last() != Some(&to) {
                here.push(to);
            }
            self.rows_of(leg, &here, &discrete, &mut views, &mut rows)?;
        }
        Ok((names, rows))
    }

    fn rows_of(
        &self,
        leg: &Stretch,
        times: &[f64],
        discrete: &[usize],
        (views, n_views): &mut (Program, usize),
        rows: &mut Vec<(f64, Vec<f64>)>,
    ) -> Result<(), String> {
        if times.is_empty() {
            return Ok(());
        }
        let mut system = self.modes[leg.mode].system.clone();
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
            values.extend(discrete.iter().map(|&p| leg.parameters[p]));
            values.extend((0..*n_views).map(|at| views.value(at, &point, &leg.parameters)));
            rows.push((time, values));
        }
        Ok(())
    }
}
