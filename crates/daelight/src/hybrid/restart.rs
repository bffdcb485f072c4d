//! The consistent point after an event: what is differentiated stays, the rest follows from the equations of the new mode.

use super::program::Point;
use super::{Driver, HybridEnd};
use crate::record::JUMP;
use daelight_analysis::initial::{
    Closeness, ConsistentPoint, NoPoint, Request, Row, SideChoice, StageOffsets, TaylorJet,
    consistent_point,
};
use std::time::Duration;

/// A point that nobody has checked: the integrator projects it.
pub(super) fn guess(point: &Point) -> ConsistentPoint {
    let mut jet = TaylorJet::at_rest(&point.values, 3);
    for (unknown, &rate) in point.rates.iter().enumerate() {
        jet.set(unknown, 1, rate);
    }
    ConsistentPoint {
        time: point.time,
        jet,
        order: 0,
        residual: f64::NAN,
        residuals: Vec::new(),
        closeness: Closeness::Stopped,
        distance: 0.0,
        attempt: 0,
        structure_fails: false,
        pins: Vec::new(),
        choice: SideChoice::Decided,
    }
}

impl Driver<'_> {
    /// Finds the point that goes with the present discrete values; `set` are unknowns with new values.
    pub(super) fn restart(&mut self, set: &[(usize, f64)]) -> Result<(), HybridEnd> {
        self.mode = self
            .modes
            .at(&self.values)
            .map_err(|fault| HybridEnd::NoPoint {
                why: fault.message.to_string(),
            })?;
        self.hold()?;
        let mode = &self.modes.list[self.mode];
        let mut guess = self.point.values.clone();
        for &(unknown, value) in set {
            guess[unknown] = value;
        }
        let structure = mode.setup.structure.as_ref();
        let regular = mode.setup.is_regular(&mode.system);
        let offsets = structure.filter(|_| regular).map(StageOffsets::of);
        let deepest = structure.and_then(|s| s.offsets().equation.iter().copied().max());
        let values = set
            .iter()
            .map(|&(unknown, value)| Row::Value { unknown, value });
        let request = Request {
            time: self.point.time,
            guess: guess.clone(),
            given: Vec::new(),
            conditions: values.collect(),
            order: deepest.unwrap_or(0).clamp(1, crate::solve::START_ORDER),
            budget: Duration::from_secs(10),
        };
        let found = consistent_point(&mode.system, offsets, &request);
        let moved = found.as_ref().ok().map(|found| self.moved(&guess, found));
        if matches!(moved, Some(None))
            && let Ok(found) = found
        {
            self.take_point(found);
            return Ok(());
        }
        // What the new equations forbid jumps as they say themselves.
        let span = (self.out.to - self.out.from).abs();
        let index = mode.index.unwrap_or(1);
        let jumped = match set.is_empty() {
            true => super::impulse::jump(&mode.system, index, self.point.time, &guess, span),
            false => None,
        };
        if let Some(jumped) = jumped {
            let request = Request {
                guess: jumped.values.clone(),
                ..request
            };
            if let Ok(found) = consistent_point(&mode.system, offsets, &request)
                && self.moved(&jumped.values, &found).is_none()
            {
                let unknowns = mode.system.unknowns();
                let named = jumped.impulses.iter();
                let named = named.map(|&(u, size)| (unknowns[u].name.clone(), size));
                self.impulses.extend(named);
                let differentiated = mode.system.equations().pattern(1).columns().iter();
                let jumps = differentiated
                    .map(|&u| u as usize)
                    .filter(|&u| guess[u] != found.jet.values()[u]);
                self.jumped.extend(jumps);
                self.set_at = self.point.time;
                self.take_point(found);
                return Ok(());
            }
        }
        Err(match (found, moved.flatten()) {
            (Err(no_point), _) => HybridEnd::NoPoint {
                why: self.why(&no_point),
            },
            (Ok(_), Some((unknown, from, to))) => HybridEnd::Jump { unknown, from, to },
            (Ok(_), None) => HybridEnd::NoPoint {
                why: "the point after the event is not settled".to_string(),
            },
        })
    }

    /// The first differentiated unknown that is elsewhere than wanted, with both values.
    fn moved(&self, wanted: &[f64], found: &ConsistentPoint) -> Option<(String, f64, f64)> {
        let system = &self.modes.list[self.mode].system;
        let differentiated = system.equations().pattern(1).columns().iter();
        differentiated.map(|&u| u as usize).find_map(|unknown| {
            let (from, to) = (wanted[unknown], found.jet.values()[unknown]);
            let info = &system.unknowns()[unknown];
            let size = from.abs().max(info.nominal.unwrap_or(1.0).abs());
            let jumps = (to - from).abs() > JUMP * size;
            jumps.then(|| (info.name.clone(), from, to))
        })
    }

    pub(super) fn take_point(&mut self, found: ConsistentPoint) {
        self.point.values.copy_from_slice(found.jet.values());
        let n = found.jet.n_unknowns();
        self.point.rates = (0..n).map(|u| found.jet.get(u, 1)).collect();
        self.start = Some(found);
        self.read_at = self.read_now();
    }

    fn why(&self, no_point: &NoPoint) -> String {
        let system = &self.modes.list[self.mode].system;
        match no_point {
            NoPoint::Stalled { row, residual, .. } => {
                let what = match *row {
                    Row::Equation { equation, .. } => {
                        let line = system.equation_line(equation);
                        format!("`{}`, line {line}", system.equation_text(equation))
                    }
                    Row::Initial { equation } => {
                        format!("`{}`", system.initial_equation_text(equation))
                    }
                    Row::Value { unknown, value } => {
                        format!("`{}` = {value}", system.unknowns()[unknown].name)
                    }
                };
                format!("{what} does not hold together with the others (residual {residual:.1e})")
            }
            NoPoint::Fault(_) => "an expression has no value there".to_string(),
            NoPoint::Budget { .. } => "the search took too long".to_string(),
            NoPoint::TooLarge { rows } => format!("{rows} rows are too many to solve"),
        }
    }
}
