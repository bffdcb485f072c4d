//! The consistent point after an event: what is differentiated stays, the rest follows from the equations of the new mode.

use super::program::Point;
use super::{Driver, HybridEnd};
use daelight_analysis::initial::{
    Closeness, ConsistentPoint, NoPoint, Request, Row, SideChoice, StageOffsets, TaylorJet,
    consistent_point,
};
use std::time::Duration;

/// Sides of a relation that differ by less than this part of their sizes lie on its border: rounding decides there.
pub(super) const BORDER: f64 = 1e-13;

/// A differentiated unknown that has to move by more than this part of its size jumps.
const JUMP: f64 = 1e-6;

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
        let found = match consistent_point(&mode.system, offsets, &request) {
            Ok(found) => found,
            Err(no_point) => {
                return Err(HybridEnd::NoPoint {
                    why: self.why(&no_point),
                });
            }
        };
        let differentiated = mode.system.equations().pattern(1).columns();
        for &unknown in differentiated {
            let unknown = unknown as usize;
            let (from, to) = (guess[unknown], found.jet.values()[unknown]);
            let info = &mode.system.unknowns()[unknown];
            let size = from.abs().max(info.nominal.unwrap_or(1.0).abs());
            if (to - from).abs() > JUMP * size {
                return Err(HybridEnd::Jump {
                    unknown: info.name.clone(),
                    from,
                    to,
                });
            }
        }
        self.take_point(found);
        Ok(())
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
