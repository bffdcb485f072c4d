//! Events that accumulate: intervals that shrink like a geometric series have a limit.

use super::{Driver, Event, HybridEnd};
use crate::estimate::TOLD;
use daelight_lang::{Model, Origin, Symbol};
use std::sync::Arc;

/// Intervals that must shrink alike.
const INTERVALS: usize = 8;

impl Driver<'_> {
    /// The last events that changed something by the same causes, the latest first. That a condition ends to hold changes nothing.
    fn alike(&self) -> impl Iterator<Item = &Event> {
        let acting = || (self.out.events.iter().rev()).filter(|event| !event.changed.is_empty());
        let last = acting().next();
        acting().filter(move |event| last.is_some_and(|last| event.causes == last.causes))
    }

    /// The limit of events that follow each other ever faster: (H5) of `docs/theory/hybrid.md`.
    pub(super) fn limit(&self) -> Option<f64> {
        let times: Vec<f64> = self.alike().take(INTERVALS + 1).map(|e| e.time).collect();
        let is_at_rest = || (self.relations_behind().iter()).any(|at| self.rested.contains(at));
        if times.len() <= INTERVALS || is_at_rest() {
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
        Some(times[0] + gaps[0] * ratio / (1.0 - ratio))
    }

    /// The limit of events that accumulate, once it is near or reached: what is left lies within the tolerance of the run, or no event
    /// was found up to the limit and the sides of their relations are still the same, so that rounding hides the events that are left.
    pub(super) fn accumulation(&mut self) -> Option<f64> {
        let limit = self.limit()?;
        let rest = limit - self.alike().next()?.time;
        let is_near = rest <= self.out.rtol * (self.out.to - self.out.from).abs();
        let is_hidden = self.point.time >= limit
            && (self.relations_behind().into_iter()).all(|at| self.apart(at).is_none());
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
            let Some(unknown) = model.unknowns.iter().position(|u| u.name == change.name) else {
                continue;
            };
            let values =
                (self.alike()).filter_map(|e| e.changed.iter().find(|c| c.name == change.name));
            let values: Vec<f64> = values.take(2).map(|c| c.to).collect();
            let &[now, before] = &values[..] else {
                return Ok(false);
            };
            let times: Vec<f64> = self.alike().take(3).map(|e| e.time).collect();
            let &[a, b, c] = &times[..] else {
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
        let over = self.relations_behind();
        self.rested.extend(&over);
        self.modes.replace(Arc::new(model), over);
        self.restart(&set)?;
        Ok(true)
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
