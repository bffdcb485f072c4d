//! A run that goes on from its middle, where inputs and parameters may have become others.

use super::lead::jet_next_to;
use super::values::settings;
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
            false => {
                let behind = self.jet_behind(time, &values);
                behind.unwrap_or_else(|| TaylorJet::at_rest(&values, START_ORDER + 1))
            }
        };
        Ok(Middle {
            time,
            jet,
            parameters,
        })
    }
}

impl HybridSolution {
    /// The derivatives behind the event that ends the run.
    fn jet_behind(&self, time: f64, values: &[f64]) -> Option<TaylorJet> {
        let mode = &self.modes[self.events.last()?.mode];
        let mut system = mode.system.clone();
        let changes = settings(&system, &self.held, &self.parameters);
        system.set_parameters(&changes).ok()?;
        jet_next_to(&system, time, values)
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
        self.go_to(from.time, &from.jet, &from.parameters)?;
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

    /// Goes to a point; of the values of all parameters those that are held count.
    pub(super) fn go_to(
        &mut self,
        time: f64,
        jet: &TaylorJet,
        parameters: &[f64],
    ) -> Result<(), HybridEnd> {
        for parameter in self.hybrid.held_parameters() {
            self.values[parameter] = parameters[parameter];
        }
        self.point.time = time;
        self.point.values.copy_from_slice(jet.values());
        let n = self.point.values.len();
        self.point.rates = (0..n).map(|unknown| jet.get(unknown, 1)).collect();
        self.start = Some(unchecked(time, jet.clone()));
        let no_mode = |fault: Box<daelight_lang::Diagnostic>| HybridEnd::NoPoint {
            why: fault.message.clone(),
        };
        self.mode = self.modes.at(&self.values).map_err(no_mode)?;
        self.read_at = self.read_now();
        self.hold()
    }
}
