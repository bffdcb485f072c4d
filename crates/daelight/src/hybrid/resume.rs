//! A run that goes on from its middle, where inputs and parameters may have become others.

use super::{Driver, HybridEnd, HybridSolution, forward_only};
use crate::observe::Reader;
use crate::solve::{NoRun, START_ORDER, SolveOptions, unchecked};
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_lang::Model;

/// A point of a run with events: the derivatives of all unknowns, and what is held there.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Middle {
    pub time: f64,
    pub jet: TaylorJet,
    /// Values of all parameters, of which those that are held count.
    pub parameters: Vec<f64>,
}

impl HybridSolution {
    /// The point at a time, behind an event that happens there.
    pub(crate) fn middle(&self, time: f64) -> Result<Middle, String> {
        let no_value = || format!("no value at t = {time}");
        let (values, parameters) = self.look(time)?;
        let leg = self.leg_at(time).map(|at| &self.legs[at]);
        let leg = leg.ok_or_else(no_value)?;
        let system = self.equations_of(leg).ok_or_else(no_value)?;
        let mut reader = Reader {
            trajectory: &leg.trajectory,
            way: crate::observe::Way::Own(leg.route.way_back(&system).into()),
            settles: None,
        };
        let jet = reader.jet(time).ok_or_else(no_value)?;
        // Where an event ends the stretch its derivatives are those of the other side.
        let jet = match jet.values() == values && leg.parameters == parameters {
            true => jet,
            false => TaylorJet::at_rest(&values, START_ORDER + 1),
        };
        Ok(Middle {
            time,
            jet,
            parameters,
        })
    }
}

/// Runs a model with events from a point in the middle: first what was set from outside takes effect, as an event.
pub(crate) fn resume_hybrid(
    model: &Model,
    system: &System,
    options: &SolveOptions,
    from: &Middle,
) -> Result<HybridSolution, (Option<Box<System>>, NoRun)> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        let why = "the model has no events".to_string();
        return Err((None, NoRun::Equations(why)));
    };
    forward_only(system, options)?;
    let mut driver = Driver::new(model, hybrid, system, options);
    let end = match driver.enter(from) {
        Ok(()) => driver.run(),
        Err(end) => end,
    };
    Ok(driver.finish(end))
}

impl Driver<'_> {
    /// Goes to a point, and lets happen what happens there.
    fn enter(&mut self, from: &Middle) -> Result<(), HybridEnd> {
        for parameter in self.hybrid.held_parameters() {
            self.values[parameter] = from.parameters[parameter];
        }
        self.point.time = from.time;
        self.point.values.copy_from_slice(from.jet.values());
        let n = self.point.values.len();
        self.point.rates = (0..n).map(|unknown| from.jet.get(unknown, 1)).collect();
        self.start = Some(unchecked(from.time, from.jet.clone()));
        let no_mode = |fault: Box<daelight_lang::Diagnostic>| HybridEnd::NoPoint {
            why: fault.message.clone(),
        };
        self.mode = self.modes.at(&self.values).map_err(no_mode)?;
        self.hold()?;
        for at in 0..self.hybrid.samples.len() {
            let mut n = 0;
            // What was due now has happened.
            while self.instant(at, n) <= from.time + self.instant_long() && n < u64::from(u32::MAX)
            {
                n += 1;
            }
            self.instants[at] = n;
        }
        self.restart(&[])?;
        self.event()
    }
}
