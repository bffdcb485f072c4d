//! The run of derivatives from switch to switch, with (7) in between.

use super::{Start, fault, refused};
use crate::corner::Corner;
use crate::solve::{START_ORDER, run_from};
use crate::{Setup, Solution, SolveOptions};
use daelight_analysis::System;
use daelight_analysis::initial::{Request, Row, StageOffsets, consistent_point};
use daelight_analysis::linearize::Variations;
use daelight_lang::{Diagnostic, Model, MovedBy, Symbol};

pub(super) struct Legs<'a> {
    pub(super) model: &'a Model,
    pub(super) system: &'a System,
    pub(super) base: &'a Solution,
    pub(super) varied: &'a System,
    pub(super) setup: &'a Setup,
    pub(super) options: &'a SolveOptions,
    /// Unknowns of the model, those with inputs that became unknowns, and the directions.
    pub(super) shape: (usize, usize, &'a [MovedBy]),
    pub(super) done: Vec<Solution>,
}

impl Legs<'_> {
    /// Runs up to each switch, and goes on behind it.
    pub(super) fn run(
        &mut self,
        start: Start,
        corners: Vec<Corner>,
    ) -> Result<(), Box<Diagnostic>> {
        let (_, _, directions) = self.shape;
        let rates = rates_of(self.model, self.system, directions);
        let moves = |corner: &Corner| {
            corner.reads(|symbol| match symbol {
                Symbol::Parameter(p) => rates.iter().any(|rates| rates[p] != 0.0),
                Symbol::Unknown { .. } => true,
                _ => false,
            })
        };
        let corners: Vec<Corner> = corners.into_iter().filter(moves).collect();
        let mut start = start;
        for at in 0..=corners.len() {
            let next = corners.get(at);
            let options = SolveOptions {
                from: Some(start.0.time),
                to: Some(next.map_or(self.base.reached(), |corner| corner.time)),
                ..self.options.clone()
            };
            let to = options.to;
            let run = run_from(self.varied, self.setup, &options, start, &mut |_| {});
            let leg = run.map_err(|no_run| refused(self.varied, no_run))?;
            let is_whole = Some(leg.reached()) == to;
            self.done.push(leg);
            match next {
                Some(corner) if is_whole => start = self.behind(corner, &rates)?,
                _ => break,
            }
        }
        Ok(())
    }

    /// The start behind a switch: states stay, and their derivatives change by (7).
    fn behind(&self, corner: &Corner, rates: &[Vec<f64>]) -> Result<Start, Box<Diagnostic>> {
        let lost = |because: String| {
            fault(
                format!(
                    "the derivatives do not come past t = {}: {because}",
                    corner.time
                ),
                "end the run before this time with --to",
            )
        };
        let (n, stride, directions) = self.shape;
        let last = &self.done[self.done.len() - 1];
        // At the time itself the values are those with which the equations hold as written, perhaps behind the switch.
        let before = super::before(corner.time, last.reached() - last.from);
        let values = last.reader(self.varied).values(before).ok().flatten();
        let values = values.ok_or_else(|| lost("they have no values there".to_string()))?;
        let time = off_the_switch(corner.time, self.base.reached());
        let jet = self.base.reader(self.system).jet(time);
        let jet = jet.ok_or_else(|| lost("the run has no values there".to_string()))?;
        let structure = self.system.structure();
        let structure = structure.map_err(|_| lost("the structure is singular".to_string()))?;
        let states = Variations::new(self.system, structure, (time, &jet)).map_err(lost)?;
        let mut guess = values.clone();
        guess[..n].copy_from_slice(jet.values());
        let held = |unknown: usize, value: f64| Row::Value { unknown, value };
        let own = states.chosen().iter().map(|&j| held(j, jet.values()[j]));
        let mut conditions: Vec<Row> = own.collect();
        for (k, rates) in rates.iter().enumerate().take(directions.len()) {
            let first = stride * (k + 1);
            let moves = corner.time_moves(&values[first..first + n], rates);
            for j in 0..n {
                guess[first + j] += corner.falls[j] * moves;
            }
            conditions.extend(
                states
                    .chosen()
                    .iter()
                    .map(|&j| held(first + j, guess[first + j])),
            );
        }
        let request = Request {
            time,
            guess,
            given: Vec::new(),
            conditions,
            order: START_ORDER,
            budget: self
                .options
                .budget
                .unwrap_or(std::time::Duration::from_secs(10)),
        };
        let offsets = self.varied.structure().ok().map(StageOffsets::of);
        let found = consistent_point(self.varied, offsets, &request);
        let point = found.map_err(|_| lost("no start behind it was found".to_string()))?;
        Ok((point, request))
    }
}

/// A time a little behind a switch, on the way to the end: on the switch itself both sides are possible.
fn off_the_switch(time: f64, end: f64) -> f64 {
    let left = end - time;
    // At least a few numbers on, where as many are left.
    let least = (4.0 * f64::EPSILON * time.abs()).min(0.5 * left.abs());
    time + (f64::EPSILON.powf(0.75) * left.abs())
        .max(least)
        .copysign(left)
}

/// How fast each parameter moves with each direction.
pub(crate) fn rates_of(model: &Model, system: &System, directions: &[MovedBy]) -> Vec<Vec<f64>> {
    rates_with(model, system, directions, &[])
}

/// The same where definitions of some parameters do not count.
pub(super) fn rates_with(
    model: &Model,
    system: &System,
    directions: &[MovedBy],
    held: &[usize],
) -> Vec<Vec<f64>> {
    let mut scratch = model.clone();
    let values = system.parameters().values();
    let rates = |&direction: &MovedBy| {
        let rates = scratch.rates_of_parameters(direction, held);
        let value = |rate: Option<_>| match rate {
            None => 0.0,
            Some(rate) => {
                let graph = &scratch.graph;
                graph.evaluate(&[rate], |id| match scratch.symbols.get(id) {
                    Symbol::Parameter(p) => values[p],
                    _ => f64::NAN,
                })[0]
            }
        };
        rates.into_iter().map(value).collect()
    };
    directions.iter().map(rates).collect()
}
