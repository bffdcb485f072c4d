//! Events of a model that others integrate: what rests between them, what tells of the next one, and what happens there.
//!
//! Section 8 of `docs/theory/hybrid.md`.

use super::values::settings;
use super::{Driver, HybridEnd, MAX_ROUNDS, Middle, Mode, Stop};
use crate::session::refused;
use crate::solve::{START_ORDER, Setup, SolveOptions};
use daelight_analysis::System;
use daelight_analysis::initial::{Request, StageOffsets, TaylorJet, consistent_point};
use daelight_expr::{BinaryOp, ExprId, Node};
use daelight_lang::{ChangedBy, Hybrid, Model, Rule, Span};
use std::sync::Arc;
use std::time::Duration;

/// What rests between two events, and when the next one is scheduled.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Resting {
    /// The values of [`Hybrid::held_parameters`].
    pub held: Vec<f64>,
    instants: Vec<u64>,
    /// How far the sides of each indicator must part on the other side before it has changed, (H6).
    shifts: Vec<f64>,
    /// The next scheduled time; infinite where nothing is scheduled.
    pub next: f64,
}

/// A model behind an event, or at its start.
pub(crate) struct Stand {
    pub resting: Resting,
    pub jet: TaylorJet,
    /// The equations that hold, with all that is held at its value.
    pub system: System,
    pub setup: Arc<Setup>,
    /// Why the model ends the run there, if it does.
    pub ends: Option<String>,
}

/// What an event indicator is made of: sign (a - b), b an expression or a whole number that is held, plus an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indicator {
    pub sign: f64,
    pub a: ExprId,
    pub b: Result<ExprId, (usize, f64)>,
    /// The parameter that is true where the indicator is positive, or where it is negative if the second is true; none where it is
    /// positive whatever is held.
    truth: Option<(usize, bool)>,
    span: Span,
}

/// The event indicators of a model: one for each relation of unknowns, two for each `floor`. `Err` names one that no sign tells.
pub(crate) fn indicators(model: &Model) -> Result<Vec<Indicator>, String> {
    use BinaryOp::{Greater, GreaterEqual, Less, LessEqual};
    let mut all = Vec::new();
    let Some(hybrid) = model.hybrid.as_deref() else {
        return Ok(all);
    };
    let relations = hybrid.relations.iter();
    for relation in relations.filter(|relation| relation.by == ChangedBy::Unknowns) {
        let span = relation.span;
        let (a, b, is_less) = match model.graph.node(relation.expr) {
            Node::Binary(Less | LessEqual, a, b) => (a, b, true),
            Node::Binary(Greater | GreaterEqual, a, b) => (a, b, false),
            _ => {
                let text = model.sources.slice(span);
                return Err(format!(
                    "`{text}` compares for equality, which no sign tells"
                ));
            }
        };
        all.push(Indicator {
            sign: 1.0,
            a,
            b: Ok(b),
            truth: Some((relation.parameter, is_less)),
            span,
        });
    }
    for variable in &hybrid.variables {
        let Rule::Floor(a) = variable.rule else {
            continue;
        };
        all.extend([(1.0, 0.0), (-1.0, 1.0)].map(|(sign, offset)| Indicator {
            sign,
            a,
            b: Err((variable.parameter, offset)),
            truth: None,
            span: variable.span,
        }));
    }
    Ok(all)
}

/// The event indicators of a model as they are written, one text each.
pub fn indicator_texts(model: &Model) -> Vec<String> {
    let all = indicators(model).unwrap_or_default();
    let text = |indicator: &Indicator| model.sources.slice(indicator.span).to_string();
    all.iter().map(text).collect()
}

impl Resting {
    /// Values of all parameters, with what is held in its place.
    pub fn over(&self, hybrid: &Hybrid, values: &[f64]) -> Vec<f64> {
        let mut all = values.to_vec();
        for (parameter, value) in hybrid.held_parameters().zip(&self.held) {
            all[parameter] = *value;
        }
        all
    }

    /// Gives the equations of a mode these values, and others that were set.
    pub fn hold(&self, hybrid: &Hybrid, system: &mut System, values: &[f64]) -> Result<(), String> {
        let held: Vec<usize> = hybrid.held_parameters().collect();
        let changes = settings(system, &held, &self.over(hybrid, values));
        let done = system.set_parameters(&changes);
        done.map_err(|error| error.to_string())
    }

    /// The event indicators (H6), from their differences.
    pub fn indicate(&self, model: &Model, differences: &[f64]) -> Vec<f64> {
        let Some(hybrid) = model.hybrid.as_deref() else {
            return Vec::new();
        };
        let values = self.over(hybrid, &vec![0.0; model.parameters.len()]);
        let all = indicators(model).unwrap_or_default();
        let all = all.iter().zip(differences).zip(&self.shifts);
        let indicate = |((one, difference), shift): ((&Indicator, &f64), &f64)| {
            let is_above = one
                .truth
                .is_none_or(|(p, turned)| (values[p] != 0.0) != turned);
            let shift = if is_above { *shift } else { -shift };
            if difference.is_nan() {
                shift
            } else {
                difference + shift
            }
        };
        all.map(indicate).collect()
    }

    /// Those of a point of a run.
    pub fn of_middle(hybrid: &Hybrid, middle: &Middle) -> Self {
        Self {
            held: hybrid
                .held_parameters()
                .map(|p| middle.parameters[p])
                .collect(),
            next: f64::INFINITY,
            ..Self::default()
        }
    }

    /// All of it as numbers.
    pub fn numbers(&self) -> Vec<f64> {
        let counts = [self.held.len(), self.instants.len(), self.shifts.len()];
        let counts = counts.into_iter().map(|n| n as f64);
        let instants = self.instants.iter().map(|&n| n as f64);
        (counts.chain([self.next]))
            .chain(self.held.iter().copied())
            .chain(instants)
            .chain(self.shifts.iter().copied())
            .collect()
    }

    /// The same from numbers of this model.
    pub fn of_numbers(model: &Model, numbers: &[f64]) -> Option<Self> {
        let hybrid = model.hybrid.as_deref()?;
        let (&[n_held, n_instants, n_shifts, next], rest) = numbers.split_first_chunk::<4>()?;
        let (held, rest) = rest.split_at_checked(n_held as usize)?;
        let (instants, shifts) = rest.split_at_checked(n_instants as usize)?;
        let fits = held.len() == hybrid.held_parameters().count()
            && instants.len() == hybrid.samples.len()
            && shifts.len() == n_shifts as usize
            && shifts.len() == indicators(model).ok()?.len();
        fits.then(|| Self {
            held: held.to_vec(),
            instants: instants.iter().map(|&n| n as u64).collect(),
            shifts: shifts.to_vec(),
            next,
        })
    }
}

/// The unknowns that are states when others integrate a model with events, in all modes that differ from the first by one truth;
/// `Err` says why it has none.
pub(crate) fn states_of_modes(
    model: &Model,
    system: &System,
    states: impl Fn(&System, &Setup) -> Result<Vec<usize>, String>,
) -> Result<Vec<usize>, String> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        return Err("the model has no events".to_string());
    };
    if !hybrid.delays.is_empty() {
        return Err("it has a `delay`, whose past is no state".to_string());
    }
    indicators(model)?;
    let options = SolveOptions::default();
    let mut driver = Driver::new(model, hybrid, system, &options);
    let mut all: Vec<usize> = Vec::new();
    let mut first = None;
    let begin = driver.values.clone();
    let flips = hybrid.mode.iter().map(|&p| Some(p));
    for flipped in std::iter::once(None).chain(flips) {
        driver.values.clone_from(&begin);
        if let Some(parameter) = flipped {
            driver.values[parameter] = 1.0 - driver.values[parameter];
        }
        let mode = driver.modes.at(&driver.values);
        let found = mode.map_err(|fault| fault.message.clone()).and_then(|at| {
            let mode = &driver.modes.list[at];
            states(&mode.system, &mode.setup)
        });
        if let Ok(found) = &found {
            let new = found.iter().filter(|unknown| !all.contains(unknown));
            let new: Vec<usize> = new.copied().collect();
            all.extend(new);
        }
        // A mode without a structure may never be met.
        first = match first {
            Some(Ok(())) => first,
            _ => Some(found.map(|_| ())),
        };
    }
    match first {
        Some(Err(why)) => Err(why),
        _ => Ok(all),
    }
}

/// The equations of the mode in which these values rest.
pub(crate) fn equations_resting(
    model: &Model,
    system: &System,
    resting: &Resting,
) -> Result<(System, Arc<Setup>), String> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        return Err("the model has no events".to_string());
    };
    let options = SolveOptions::default();
    let mut driver = Driver::new(model, hybrid, system, &options);
    driver.values = resting.over(hybrid, &driver.values);
    let mode = driver.modes.at(&driver.values);
    driver.mode = mode.map_err(|fault| fault.message.clone())?;
    let (held, time) = (driver.hold(), driver.point.time);
    held.map_err(|end| crate::record::end_words(model, &end, time))?;
    let mode = driver.modes.list.swap_remove(driver.mode);
    Ok((mode.system, mode.setup))
}

/// The derivatives of all unknowns at values that satisfy the equations.
pub(crate) fn jet_next_to(system: &System, time: f64, values: &[f64]) -> Option<TaylorJet> {
    let structure = system.dae().sound()?;
    let request = Request {
        time,
        guess: values.to_vec(),
        given: Vec::new(),
        conditions: Vec::new(),
        order: START_ORDER,
        budget: Duration::from_secs(10),
    };
    let offsets = Some(StageOffsets::of(structure));
    let found = consistent_point(system, offsets, &request).ok()?;
    Some(found.jet)
}

/// The start of a model, or an event where it stands: a time, the derivatives of all unknowns, and what rests. `known` are modes met
/// before, of the same equations.
pub(crate) fn lead(
    (model, system): (&Model, &System),
    options: &SolveOptions,
    from: Option<(f64, &TaylorJet, &Resting)>,
    known: &mut Vec<Mode>,
) -> Result<Stand, String> {
    let Some(hybrid) = model.hybrid.as_deref() else {
        return Err("the model has no events".to_string());
    };
    let mut driver = Driver::new(model, hybrid, system, options);
    driver.modes.adopt(std::mem::take(known));
    let found = match from {
        None => driver.initialise(),
        Some((time, jet, resting)) => {
            driver.instants.clone_from(&resting.instants);
            driver.set_slack(&resting.shifts);
            let values = resting.over(hybrid, &driver.values);
            let happened = driver.go_to(time, jet, &values);
            happened.and_then(|()| driver.happen()).map_err(Stop::End)
        }
    };
    let ends = match found {
        Ok(()) => None,
        Err(Stop::End(HybridEnd::Terminated { message, .. })) => Some(message),
        Err(Stop::End(end)) => {
            return Err(crate::record::end_words(model, &end, driver.point.time));
        }
        Err(Stop::NoRun(mode, no_run)) => {
            return Err(refused(mode.as_deref().unwrap_or(system), no_run));
        }
    };
    let stand = driver.stand(ends);
    if driver.modes.over.is_empty() {
        *known = std::mem::take(&mut driver.modes.list);
    }
    stand.ok_or_else(|| "there is no point behind the event".to_string())
}

/// The width w of (H6) of something of a size.
fn width(size: f64) -> f64 {
    f64::EPSILON.powf(2.0 / 3.0) * size
}

impl Driver<'_> {
    /// Events at the present point until nothing is due.
    fn happen(&mut self) -> Result<(), HybridEnd> {
        for _ in 0..MAX_ROUNDS {
            self.event()?;
            if self.next_time() > self.point.time {
                return Ok(());
            }
        }
        let names = self.last_causes();
        Err(HybridEnd::EndlessEvent { names })
    }

    fn set_slack(&mut self, shifts: &[f64]) {
        let mut shifts = shifts.iter();
        let relations = self.hybrid.relations.iter();
        let slack = relations.map(|relation| match relation.by {
            ChangedBy::Unknowns => shifts.next().copied().unwrap_or(0.0),
            _ => 0.0,
        });
        self.slack = slack.collect();
    }

    /// Where the model stands now.
    fn stand(&mut self, ends: Option<String>) -> Option<Stand> {
        let next = self.next_time();
        let hybrid = self.hybrid;
        let mut shifts = Vec::new();
        for (at, relation) in hybrid.relations.iter().enumerate() {
            if relation.by == ChangedBy::Unknowns {
                shifts.push(self.shift(at));
            }
        }
        for (at, variable) in hybrid.variables.iter().enumerate() {
            if let Rule::Floor(_) = variable.rule {
                let place = self.layout.rules + at;
                let value = self.program.value(place, &self.point, &self.values);
                shifts.extend([width(value.abs().max(1.0)); 2]);
            }
        }
        let held = hybrid.held_parameters().map(|p| self.values[p]);
        let resting = Resting {
            held: held.collect(),
            instants: self.instants.clone(),
            shifts,
            next,
        };
        let mode = &self.modes.list[self.mode];
        Some(Stand {
            resting,
            jet: self.start.as_ref()?.jet.clone(),
            system: mode.system.clone(),
            setup: Arc::clone(&mode.setup),
            ends,
        })
    }

    /// How far the sides of a relation must part before it has changed, (H6).
    fn shift(&mut self, relation: usize) -> f64 {
        let place = self.layout.relations + relation;
        let unknowns = &self.modes.list[self.mode].system.unknowns();
        let (point, nominal) = (&self.point, |u: usize| unknowns[u].nominal.unwrap_or(1.0));
        let scale = |unknown: usize, order: usize| match order {
            0 => point.values[unknown].abs().max(nominal(unknown).abs()),
            _ => point.rates[unknown].abs().max(nominal(unknown).abs()),
        };
        let size = self.program.size(place, point, &self.values, scale);
        let size = if size.is_finite() { size } else { 0.0 };
        width(size.max(self.out.rtol))
    }

    /// Whether a relation's sides are closer than what others are asked to part them by.
    pub(super) fn is_slack(&self, relation: usize, place: usize) -> bool {
        let slack = self.slack.get(relation).copied().unwrap_or(0.0);
        let sides = self.program.sides(place);
        slack > 0.0 && sides.is_some_and(|(a, b)| (a - b).abs() <= slack)
    }
}
