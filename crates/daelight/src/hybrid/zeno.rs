//! Events that accumulate: intervals that shrink like a geometric series have a limit.

use super::{Driver, HybridEnd};
use crate::estimate::TOLD;
use daelight_lang::{Model, Origin, Symbol};
use std::sync::Arc;

/// Intervals that must shrink alike.
const INTERVALS: usize = 8;

impl Driver<'_> {
    /// The limit of events that follow each other ever faster, once it is near.
    pub(super) fn accumulation(&self) -> Option<f64> {
        let events = &self.out.events;
        let last = events.last()?;
        let alike = events.iter().rev().filter(|e| e.causes == last.causes);
        let times: Vec<f64> = alike.take(INTERVALS + 1).map(|e| e.time).collect();
        if times.len() <= INTERVALS {
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
        let rest = gaps[0] * ratio / (1.0 - ratio);
        // What is left then lies within the tolerance of the run.
        (rest <= self.out.rtol * (self.out.to - self.out.from).abs()).then_some(times[0] + rest)
    }

    /// Goes on at rest behind accumulated events: what they set keeps its limit. False if the equations do not say how.
    pub(super) fn come_to_rest(&mut self) -> Result<bool, HybridEnd> {
        let events = &self.out.events;
        let Some(last) = events.last().cloned() else {
            return Ok(false);
        };
        let mut model: Model = (*self.modes.model).clone();
        let mut set = Vec::new();
        for change in &last.changed {
            let Some(unknown) = model.unknowns.iter().position(|u| u.name == change.name) else {
                continue;
            };
            let alike = events.iter().rev().filter(|e| e.causes == last.causes);
            let values = alike.filter_map(|e| e.changed.iter().find(|c| c.name == change.name));
            let values: Vec<f64> = values.take(2).map(|c| c.to).collect();
            let &[now, before] = &values[..] else {
                return Ok(false);
            };
            let gaps: Vec<f64> = events.iter().rev().take(3).map(|e| e.time).collect();
            let &[a, b, c] = &gaps[..] else {
                return Ok(false);
            };
            let ratio = (a - b) / (b - c);
            let limit = now + (now - before) * ratio / (1.0 - ratio);
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
        let relations = self.hybrid.relations.iter().enumerate();
        let over: Vec<usize> = relations
            .filter(|(_, r)| {
                last.causes
                    .contains(&self.model.parameters[r.parameter].name)
            })
            .map(|(at, _)| at)
            .collect();
        self.rested.extend(&over);
        self.modes.replace(Arc::new(model), over);
        self.restart(&set)?;
        Ok(true)
    }

    /// Tells where what rests behind accumulated events is no longer where they happened: a floor that moves away from a ball, or up
    /// against it. The sides of their relations are the same at rest.
    pub(super) fn tell_unrest(&mut self) {
        for at in std::mem::take(&mut self.rested) {
            let place = self.layout.relations + at;
            self.program.value(place, &self.point, &self.values);
            let Some((left, right)) = self.program.sides(place) else {
                continue;
            };
            let size = left.abs().max(right.abs()).max(1.0);
            if (left - right).abs() > TOLD * self.out.rtol * size {
                let name = &self.model.parameters[self.hybrid.relations[at].parameter].name;
                self.out.warnings.push(format!(
                    "What came to rest by `{name}` does not stay there: its sides are {left:.3e} and {right:.3e} at the end. Behind that the values are \
                     not those of the model, which says nothing of how a rest ends; let `--on-zeno stop` end the run, or write the contact as an equation."
                ));
            }
        }
    }
}

/// Puts der(x) = 0 in the place of the one equation with der(x).
fn rests(model: &mut Model, unknown: usize) -> bool {
    let id = model.symbols.id(Symbol::Unknown { unknown, order: 1 });
    let mut walker = daelight_expr::Walker::new();
    let with: Vec<usize> = (0..model.equations.len())
        .filter(|&at| {
            let residual = model.equations[at].residual;
            walker.symbols(&model.graph, &[residual]).contains(&id)
        })
        .collect();
    let &[at] = &with[..] else {
        return false;
    };
    let rate = model.graph.symbol(id);
    let zero = model.graph.constant(0.0);
    let equation = &mut model.equations[at];
    (equation.left, equation.right, equation.residual) = (rate, zero, rate);
    equation.origin = Origin::Written;
    true
}
