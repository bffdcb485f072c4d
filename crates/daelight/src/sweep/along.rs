//! One quantity along a run: its value at the end, its greatest and least.

use super::measure::{Answer, number};
use crate::hybrid::{HybridSolution, settings};
use crate::observe::{Gauge, Reader, Way};
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;

/// Places within a step at which the greatest value is looked for.
const N_SAMPLES: usize = 8;

/// Steps of the search for the greatest value between two places; each takes a third off, to rounding.
const N_THIRDS: usize = 90;

/// What is looked at: an unknown by its position, or a view.
enum Quantity {
    Unknown(usize),
    View(Box<Gauge>),
}

impl Quantity {
    /// A quantity by its name: with these values of all parameters.
    fn named(system: &System, name: &str, parameters: &[f64]) -> Result<Self, String> {
        if let Some(place) = system.unknowns().iter().position(|u| u.name == name) {
            return Ok(Self::Unknown(place));
        }
        let view = system.views().iter().find(|view| view.name == name);
        let view = view.ok_or_else(|| format!("the model has no unknown `{name}`"))?;
        let gauge = Gauge::new(system, &[view.value], parameters);
        Ok(Self::View(gauge.into()))
    }
}

/// One quantity along a stretch of a run without events.
struct Stretch<'a> {
    reader: Reader<'a>,
    quantity: Quantity,
}

impl Stretch<'_> {
    fn at(&mut self, time: f64) -> Result<f64, String> {
        let found = match &mut self.quantity {
            Quantity::Unknown(place) => {
                let values = self.reader.values(time);
                values.map(|values| values.map(|values| values[*place]))
            }
            Quantity::View(gauge) => self.reader.measured(gauge, time),
        };
        match found {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(format!("t = {time} is outside the run")),
            Err(fault) => Err(format!("no value at t = {time}: {}", fault.kind)),
        }
    }

    /// Where the steps begin and end, and places between them.
    fn places(&self) -> Vec<f64> {
        let segments = self.reader.trajectory.segments();
        let mut times: Vec<f64> = segments.first().map(|s| s.start).into_iter().collect();
        for segment in segments {
            let step = segment.end - segment.start;
            let part = |k: usize| segment.start + step * k as f64 / N_SAMPLES as f64;
            times.extend((1..N_SAMPLES).map(part));
            times.push(segment.end);
        }
        times
    }
}

/// One quantity along a run, stretch by stretch.
pub(super) struct Along<'a> {
    stretches: Vec<Stretch<'a>>,
    /// What an event where the run ends left.
    last: Option<Result<f64, String>>,
}

impl<'a> Along<'a> {
    /// Along a run without events, with these values of all parameters.
    pub fn of_reader(
        (system, parameters): (&System, &[f64]),
        name: &str,
        reader: Reader<'a>,
    ) -> Result<Self, String> {
        let quantity = Quantity::named(system, name, parameters)?;
        Ok(Self {
            stretches: vec![Stretch { reader, quantity }],
            last: None,
        })
    }

    /// Along a run with events; `system` has all that is discrete as parameters.
    pub fn of_events(
        system: &System,
        name: &str,
        solution: &'a HybridSolution,
    ) -> Result<Self, String> {
        let mut stretches = Vec::with_capacity(solution.legs.len());
        for leg in &solution.legs {
            let Some(mode) = solution.equations_of(leg) else {
                continue;
            };
            stretches.push(Stretch {
                reader: Reader {
                    trajectory: &leg.trajectory,
                    way: Way::Own(leg.route.way_back(&mode).into()),
                    settles: None,
                },
                quantity: Quantity::named(system, name, &leg.parameters)?,
            });
        }
        let is_over = stretches.is_empty() || solution.ends_with_event();
        let last = is_over.then(|| behind_last_event(system, name, solution));
        Ok(Self { stretches, last })
    }

    /// The value at the end.
    pub fn at_end(mut self) -> Answer {
        if let Some(last) = self.last {
            return number(last?);
        }
        let stretch = self.stretches.last_mut().ok_or("the run has no step")?;
        let end = reached(&stretch.reader);
        number(stretch.at(end)?)
    }

    /// The greatest value of something of the quantity: the best of some places in every step, then a search beside it.
    pub fn greatest(mut self, of: impl Fn(f64) -> f64) -> Answer {
        let mut best: Option<(usize, Vec<f64>, usize)> = None;
        let mut most = f64::NEG_INFINITY;
        for (at, stretch) in self.stretches.iter_mut().enumerate() {
            let times = stretch.places();
            let mut here = None;
            for (place, &time) in times.iter().enumerate() {
                let value = of(stretch.at(time)?);
                if value > most {
                    most = value;
                    here = Some(place);
                }
            }
            if let Some(place) = here {
                best = Some((at, times, place));
            }
        }
        if let Some((at, times, place)) = best {
            most = most.max(peak(&mut self.stretches[at], (&times, place), &of)?);
        }
        if let Some(last) = self.last {
            most = most.max(of(last?));
        }
        number(most)
    }
}

/// The greatest value beside one place of some.
fn peak(
    stretch: &mut Stretch<'_>,
    (times, place): (&[f64], usize),
    of: &impl Fn(f64) -> f64,
) -> Result<f64, String> {
    let mut left = times[place.saturating_sub(1)];
    let mut right = times[(place + 1).min(times.len() - 1)];
    let mut found = f64::NEG_INFINITY;
    for _ in 0..N_THIRDS {
        let (a, b) = (left + (right - left) / 3.0, right - (right - left) / 3.0);
        if a == left || b == right {
            break;
        }
        let (low, high) = (of(stretch.at(a)?), of(stretch.at(b)?));
        found = found.max(low).max(high);
        if low < high {
            left = a;
        } else {
            right = b;
        }
    }
    Ok(found)
}

/// Where a run ended.
pub(super) fn reached(reader: &Reader<'_>) -> f64 {
    reader.trajectory.span().map_or(f64::NAN, |(_, end)| end)
}

/// A quantity behind the event at which a run ended.
fn behind_last_event(
    system: &System,
    name: &str,
    solution: &HybridSolution,
) -> Result<f64, String> {
    let mut system = system.clone();
    let changes = settings(&system, &solution.held, &solution.parameters);
    let set = system.set_parameters(&changes);
    set.map_err(|error| error.to_string())?;
    let mut gauge = match Quantity::named(&system, name, &solution.parameters)? {
        Quantity::Unknown(place) => return Ok(solution.last[place]),
        Quantity::View(gauge) => gauge,
    };
    if gauge.n_orders() > 1 {
        return Err(format!(
            "an event at the end, t = {}, leaves no rate of it",
            solution.reached
        ));
    }
    let values = gauge.values(solution.reached, &TaylorJet::at_rest(&solution.last, 1));
    let values =
        values.map_err(|fault| format!("no value at t = {}: {}", solution.reached, fault.kind))?;
    Ok(values[0])
}
