//! The consistent point after an event: what is differentiated stays, the rest follows from the equations of the new mode.

use super::program::Point;
use super::{Driver, HybridEnd};
use crate::record::JUMP;
use crate::solve::unchecked;
use daelight_analysis::initial::{
    ConsistentPoint, NoPoint, Request, Row, StageOffsets, TaylorJet, consistent_point,
};
use daelight_lang::Symbol;
use std::time::Duration;

/// A point that nobody has checked: the integrator projects it.
pub(super) fn guess(point: &Point) -> ConsistentPoint {
    let mut jet = TaylorJet::at_rest(&point.values, 3);
    for (unknown, &rate) in point.rates.iter().enumerate() {
        jet.set(unknown, 1, rate);
    }
    unchecked(point.time, jet)
}

impl Driver<'_> {
    /// Finds the point that goes with the present discrete values; `set` are unknowns with new values.
    ///
    /// In the same mode, what the equations tie to a value that was set follows it, unless they differentiate it more often: a
    /// velocity that is set takes other velocities along, and leaves positions where they are.
    pub(super) fn restart(&mut self, set: &[(usize, f64)]) -> Result<(), HybridEnd> {
        let is_same = self.enter_mode()?;
        let mode = &self.modes.list[self.mode];
        let mut guess = self.point.values.clone();
        for &(unknown, value) in set {
            guess[unknown] = value;
        }
        let structure = mode.setup.structure.as_ref();
        let regular = mode.setup.is_regular(&mode.system);
        let offsets = structure.filter(|_| regular).map(StageOffsets::of);
        let deepest = structure.and_then(|s| s.offsets().equation.iter().copied().max());
        let (follows, conditions) = self.tied(set, is_same && !set.is_empty(), &guess);
        let request = Request {
            time: self.point.time,
            guess: guess.clone(),
            given: Vec::new(),
            conditions,
            order: deepest.unwrap_or(0).clamp(1, crate::solve::START_ORDER),
            budget: Duration::from_secs(10),
        };
        let found = consistent_point(&mode.system, offsets, &request);
        let moved = found
            .as_ref()
            .ok()
            .map(|found| self.moved(&guess, found, &follows));
        if matches!(moved, Some(None))
            && let Ok(found) = found
        {
            let led = (0..guess.len()).filter(|&u| follows[u]);
            let led = led.filter(|&u| !set.iter().any(|(unknown, _)| *unknown == u));
            let led = led.filter(|&u| self.is_jump(u, guess[u], found.jet.values()[u]));
            let differentiated = mode.system.equations().pattern(1).columns();
            let led = led.filter(|&u| differentiated.contains(&(u as u32)));
            self.jumped.extend(led.collect::<Vec<_>>());
            self.take_point(found);
            return Ok(());
        }
        // What the new equations forbid jumps as they say themselves.
        let span = (self.out.to - self.out.from).abs();
        let index = mode.index.unwrap_or(1);
        let jumped = match set.is_empty() || !is_same {
            true => super::impulse::jump(&mode.system, index, self.point.time, &guess, span),
            false => None,
        };
        if let Some(jumped) = jumped {
            let request = Request {
                guess: jumped.values.clone(),
                ..request
            };
            if let Ok(found) = consistent_point(&mode.system, offsets, &request)
                && self.moved(&jumped.values, &found, &follows).is_none()
            {
                jumped.tell(&mode.system, self.point.time, &mut self.out.warnings);
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
                why: self.why(&no_point) + &self.what_is_set(&no_point, set),
            },
            (Ok(_), Some((unknown, from, to))) => HybridEnd::Jump { unknown, from, to },
            (Ok(_), None) => HybridEnd::NoPoint {
                why: "the point after the event is not settled".to_string(),
            },
        })
    }

    /// The present point with more derivatives than a restart asks for.
    pub(super) fn deeper_jet(&self) -> Option<TaylorJet> {
        let mode = &self.modes.list[self.mode];
        let regular = mode.setup.is_regular(&mode.system);
        let structure = mode.setup.structure.as_ref().filter(|_| regular)?;
        let request = Request {
            time: self.point.time,
            guess: self.point.values.clone(),
            given: Vec::new(),
            conditions: Vec::new(),
            order: crate::solve::START_ORDER,
            budget: Duration::from_secs(10),
        };
        let offsets = Some(StageOffsets::of(structure));
        let found = consistent_point(&mode.system, offsets, &request).ok()?;
        Some(found.jet)
    }

    /// Takes the mode of the present values, if it can be run: whether it is the one before.
    fn enter_mode(&mut self) -> Result<bool, HybridEnd> {
        let before = self.mode;
        let mode = self.modes.at(&self.values);
        self.mode = mode.map_err(|fault| HybridEnd::NoPoint {
            why: fault.message.to_string(),
        })?;
        self.hold()?;
        let mode = &self.modes.list[self.mode];
        if let Some(why) = mode.why.as_ref().filter(|why| !why.is_empty()) {
            let conditions = super::conditions(self.model, mode).join(" and ");
            let why = format!(
                "the mode where {conditions} is singular: {why}; `analyze --modes` lists the modes"
            );
            return Err(HybridEnd::NoPoint { why });
        }
        Ok(self.mode == before)
    }

    /// Which unknowns may follow those that are set, and what holds beside the equations: the values that are set, and where
    /// others follow, those of differentiated unknowns that do not.
    fn tied(&self, set: &[(usize, f64)], is_led: bool, guess: &[f64]) -> (Vec<bool>, Vec<Row>) {
        let mode = &self.modes.list[self.mode];
        let follows = match &mode.setup.structure {
            Some(structure) if is_led => {
                let offsets = &structure.offsets().variable;
                let most = set.iter().map(|&(unknown, _)| offsets[unknown]).max();
                offsets.iter().map(|&d| Some(d) <= most).collect()
            }
            _ => vec![false; guess.len()],
        };
        let rows = set.iter();
        let rows = rows.map(|&(unknown, value)| Row::Value { unknown, value });
        let mut rows: Vec<Row> = rows.collect();
        if is_led {
            let differentiated = mode.system.equations().pattern(1).columns().iter();
            let kept = differentiated.map(|&u| u as usize).filter(|&u| !follows[u]);
            rows.extend(kept.map(|unknown| {
                let value = guess[unknown];
                Row::Value { unknown, value }
            }));
        }
        (follows, rows)
    }

    /// The first differentiated unknown that is elsewhere than wanted, with both values; beside those that follow others.
    fn moved(
        &self,
        wanted: &[f64],
        found: &ConsistentPoint,
        follows: &[bool],
    ) -> Option<(String, f64, f64)> {
        let system = &self.modes.list[self.mode].system;
        let differentiated = system.equations().pattern(1).columns().iter();
        let differentiated = differentiated.map(|&u| u as usize);
        differentiated.filter(|&u| !follows[u]).find_map(|unknown| {
            let (from, to) = (wanted[unknown], found.jet.values()[unknown]);
            let name = &system.unknowns()[unknown].name;
            self.is_jump(unknown, from, to)
                .then(|| (name.clone(), from, to))
        })
    }

    fn is_jump(&self, unknown: usize, from: f64, to: f64) -> bool {
        let info = &self.modes.list[self.mode].system.unknowns()[unknown];
        let size = from.abs().max(info.nominal.unwrap_or(1.0).abs());
        (to - from).abs() > JUMP * size
    }

    pub(super) fn take_point(&mut self, found: ConsistentPoint) {
        self.point.values.copy_from_slice(found.jet.values());
        let n = found.jet.n_unknowns();
        self.point.rates = (0..n).map(|u| found.jet.get(u, 1)).collect();
        self.start = Some(found);
        self.read_at = self.read_now();
    }

    /// What `reinit` sets, and where, unless that is said already.
    fn what_is_set(&self, no_point: &NoPoint, set: &[(usize, f64)]) -> String {
        let row = match no_point {
            NoPoint::Stalled { row, .. } => Some(row),
            _ => None,
        };
        if matches!(row, Some(Row::Value { .. })) {
            return String::new();
        }
        let said = set.iter().map(|&(unknown, value)| {
            let name = &self.model.unknowns[unknown].name;
            let line = self.reinit_line(unknown).unwrap_or(0);
            format!("; `reinit` sets {name} = {value} in line {line}")
        });
        said.collect()
    }

    /// Where a `reinit` of an unknown stands.
    fn reinit_line(&self, unknown: usize) -> Option<usize> {
        let reinit = self.hybrid.reinits.iter().find(|reinit| {
            let symbol = self.model.graph.as_symbol(reinit.unknown);
            let symbol = symbol.map(|id| self.model.symbols.get(id));
            symbol == Some(Symbol::Unknown { unknown, order: 0 })
        });
        self.line_of(reinit?.span)
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
                        let name = &system.unknowns()[unknown].name;
                        return match self.reinit_line(unknown) {
                            Some(line) => format!(
                                "the equations forbid `{name}` = {value}, which `reinit` sets in line {line} (residual {residual:.1e}); set values that meet them"
                            ),
                            None => format!(
                                "`{name}` cannot keep its value {value}; set it with reinit({name}, …)"
                            ),
                        };
                    }
                };
                format!(
                    "{what} does not hold together with the others (residual {residual:.1e}); change this mode or the condition that leads to it"
                )
            }
            NoPoint::Fault(_) => "an expression has no value there".to_string(),
            NoPoint::Budget { .. } => "the search took too long".to_string(),
            NoPoint::TooLarge { rows } => format!("{rows} rows are too many to solve"),
        }
    }
}
