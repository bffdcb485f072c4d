//! Bounds on the unknowns: values beyond one are put on it, and left again where that leads closer.

use super::Search;
use super::conflict::{Condition, Conflict, Resolution};
use crate::System;
use crate::initial::{ConsistentPoint, Finder, Request, Row, nominal};

/// A bound is kept when it is exceeded by less than this, relative to the size of the value.
const ALLOWED: f64 = 1e-9;

/// Unknowns beyond a bound, each with the bound.
pub fn violated(system: &System, values: &[f64]) -> Vec<Row> {
    let sizes = nominal(system);
    let mut rows = Vec::new();
    for (unknown, info) in system.unknowns().iter().enumerate() {
        let value = values[unknown];
        let allowed = ALLOWED * sizes[unknown].max(value.abs());
        let below = info.min.filter(|min| value < min - allowed);
        let above = info.max.filter(|max| value > max + allowed);
        rows.extend(below.or(above).map(|value| Row::Value { unknown, value }));
    }
    rows
}

impl Search<'_> {
    /// Leads a point inside the bounds, section 9 of `docs/theory/initial.md`; the conditions then include the bounds reached.
    pub(super) fn within_bounds(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        point: ConsistentPoint,
        conditions: Vec<Condition>,
    ) -> Result<(ConsistentPoint, Vec<Condition>), Box<Conflict>> {
        let first = violated(self.system, point.jet.values());
        if first.is_empty() {
            return Ok((point, conditions));
        }
        let bare = point.jet.clone();
        if let Some(found) = self.on_bounds(finder, request, point, &conditions) {
            return Ok(found);
        }
        // Another branch may lie inside.
        let request = Request {
            budget: self.remaining(),
            ..request.clone()
        };
        let inside = self.inside(finder, &request);
        if let Some(point) = inside {
            return Ok((point, conditions));
        }
        let mut all = conditions;
        all.extend(first.into_iter().map(|row| Condition {
            row,
            is_bound: true,
        }));
        match self.judge(finder, &request, &bare).resolve(&all) {
            Resolution::Accepted(point) => Ok((*point, all)),
            Resolution::Conflict(conflict) => Err(conflict),
        }
    }

    /// Puts what is beyond a bound on it until nothing is, then leaves bounds as long as that leads closer.
    fn on_bounds(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        mut point: ConsistentPoint,
        conditions: &[Condition],
    ) -> Option<(ConsistentPoint, Vec<Condition>)> {
        let mut active: Vec<Row> = Vec::new();
        let solve = |finder: &mut Finder<'_>, active: &[Row]| {
            let mut request = request.clone();
            request.conditions.extend(active);
            finder.from_beside(&request, 0, 0.0, self.deadline).ok()
        };
        loop {
            let beyond = violated(self.system, point.jet.values());
            if beyond.is_empty() {
                break;
            }
            let before = active.len();
            let new = |row: &&Row| !active.contains(row);
            active = active
                .iter()
                .chain(beyond.iter().filter(new))
                .copied()
                .collect();
            if active.len() == before || self.out_of_time() {
                return None;
            }
            point = solve(finder, &active)?;
        }
        let mut at = 0;
        while at < active.len() && !self.out_of_time() {
            let mut fewer = active.clone();
            fewer.remove(at);
            match solve(finder, &fewer) {
                Some(closer)
                    if violated(self.system, closer.jet.values()).is_empty()
                        && closer.distance <= point.distance =>
                {
                    point = closer;
                    active = fewer;
                }
                _ => at += 1,
            }
        }
        let bounds = active.into_iter().map(|row| Condition {
            row,
            is_bound: true,
        });
        let all = conditions.iter().copied().chain(bounds).collect();
        Some((point, all))
    }

    /// The closest solution inside all bounds among those found from several starts, the guess moved inside first.
    fn inside(&self, finder: &mut Finder<'_>, request: &Request) -> Option<ConsistentPoint> {
        let mut moved = request.clone();
        for (unknown, info) in self.system.unknowns().iter().enumerate() {
            let value = moved.guess[unknown];
            let low = info.min.map_or(value, |min| value.max(min));
            moved.guess[unknown] = info.max.map_or(low, |max| low.min(max));
        }
        let mut best: Option<ConsistentPoint> = None;
        for attempt in 0..super::N_ALL / 2 {
            let size = if attempt == 0 {
                0.0
            } else {
                super::SPREAD[attempt % super::SPREAD.len()]
            };
            if self.out_of_time() {
                break;
            }
            let found = finder.from_beside(&moved, 200 + attempt, size, self.deadline);
            let Ok(found) = found else { continue };
            let closer = best
                .as_ref()
                .is_none_or(|best| found.distance < best.distance);
            if closer && violated(self.system, found.jet.values()).is_empty() {
                best = Some(found);
            }
        }
        best
    }
}
