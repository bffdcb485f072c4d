//! A model as x' = f(t, x, u) for solvers of others: model exchange.

use crate::observe::WayBack;
use crate::session::{Seen, Session};
use crate::solve::{START_ORDER, Setup, start_point};
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_analysis::tangent::Tangents;
use daelight_integrate::exchange::{DirectionalForm, OrdinaryForm, states_of};
use daelight_integrate::{Problem, Tolerances};

/// The unknowns of a model that are states when others integrate it; `Err` says why it has none.
pub fn exchange_states(system: &System, setup: &Setup) -> Result<Vec<usize>, String> {
    if system.hybrid().is_some() {
        return Err("the model has events".to_string());
    }
    if !setup.is_regular(system) {
        return Err("the structure of its equations does not hold".to_string());
    }
    let problem = Problem::of_reduced(system, &setup.reduced).map_err(|error| error.to_string())?;
    let named = |&(place, order): &(usize, usize)| {
        let own = setup.reduced.kept_unknowns()[place];
        let stands_for =
            |unknown: &usize| setup.reduced.derivative_of(*unknown) == Some((place, order as u32));
        match order {
            0 => Ok(own),
            _ => (0..system.unknowns().len())
                .find(stands_for)
                .ok_or_else(|| {
                    format!(
                        "a derivative of `{}` has no name",
                        system.unknowns()[own].name
                    )
                }),
        }
    };
    states_of(&problem).iter().map(named).collect()
}

/// A model that others integrate.
#[derive(Clone)]
pub struct Exchange {
    session: Session,
    form: Option<OrdinaryForm>,
    time: f64,
    states: Vec<f64>,
    /// Whether the point is that of the time and the states.
    is_fresh: bool,
    /// What derivatives are found with, once they were asked for.
    nudged: Option<Box<Nudged>>,
}

/// The same model with every input moved by a parameter of its own, and its derivatives.
#[derive(Clone)]
struct Nudged {
    session: Session,
    form: OrdinaryForm,
    directional: DirectionalForm,
}

/// What a direction moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// A state, by its position among the states.
    State(usize),
    /// An input.
    Input(usize),
}

/// How fast values change along a direction.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Slopes {
    /// Those of the unknowns.
    pub unknowns: Vec<f64>,
    /// Those of their rates; NaN where they are not known.
    pub rates: Vec<f64>,
}

impl Exchange {
    /// Before the start.
    pub fn new(session: Session) -> Self {
        Self {
            time: session.time(),
            session,
            form: None,
            states: Vec::new(),
            is_fresh: false,
            nudged: None,
        }
    }

    /// A model at a point of its run.
    pub(crate) fn standing(session: Session, jet: &TaylorJet) -> Result<Self, String> {
        let mut exchange = Self::new(session);
        exchange.session.leave_to_others();
        let form = exchange.form_at(jet)?;
        exchange.states = projected(&form);
        exchange.form = Some(form);
        Ok(exchange)
    }

    /// What is set, and where the run begins.
    pub fn session(&mut self) -> &mut Session {
        self.is_fresh = false;
        if !self.has_begun() {
            (self.form, self.nudged) = (None, None);
        }
        &mut self.session
    }

    /// What is set, to be looked at.
    pub fn settings(&self) -> &Session {
        &self.session
    }

    /// Gives an input a value. One that followed the signal of the text until now is made one that others give.
    pub fn set_input(&mut self, input: usize, value: f64) -> Result<(), String> {
        if !self.has_begun() || self.session.is_live(input) {
            return self.session().set_input(input, value);
        }
        let before = exchange_states(self.session.system(), self.session.setup())?;
        let n_orders = self.evaluated()?.problem().max_unknown_offset() + 1;
        let jet = self.jet(n_orders)?;
        self.session().set_input(input, value)?;
        let (system, setup) = (self.session.system(), self.session.setup());
        if exchange_states(system, setup)? != before {
            return Err("the states would be others; set inputs before the start".to_string());
        }
        self.form = Some(self.form_at(&jet)?);
        self.nudged = None;
        Ok(())
    }

    /// Whether the start is settled.
    pub fn has_begun(&self) -> bool {
        self.session.has_begun()
    }

    /// The time.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Settles the start.
    pub fn begin(&mut self) -> Result<(), String> {
        self.find_start()?;
        self.session.leave_to_others();
        Ok(())
    }

    fn find_start(&mut self) -> Result<(), String> {
        if self.form.is_some() {
            return Ok(());
        }
        self.time = self.session.time();
        let (system, setup) = (self.session.system(), self.session.setup());
        let found = start_point(system, setup, self.session.options(), self.time);
        let (point, _) = found.map_err(|no_run| self.session.refused(no_run))?;
        let mut form = self.form_at(&point.jet)?;
        let states = form.states().iter();
        self.states = states
            .map(|&(unknown, order)| form.derivative(unknown, order))
            .collect();
        form.evaluate(self.time, &self.states)
            .map_err(|failure| failure.to_string())?;
        self.states = projected(&form);
        self.form = Some(form);
        self.is_fresh = true;
        Ok(())
    }

    /// The equations next to a point.
    fn form_at(&self, jet: &TaylorJet) -> Result<OrdinaryForm, String> {
        form_at(&self.session, jet)
    }

    /// All unknowns at the last point.
    fn jet(&mut self, n_orders: usize) -> Result<TaylorJet, String> {
        let form = self.evaluated()?.clone();
        let system = self.session.system();
        let reduced = &self.session.setup().reduced;
        let recovery = reduced.recovery(START_ORDER, system.parameters().values());
        let mut way = WayBack::new(Some(recovery), system.unknowns().len());
        let jet = way.jet_of(self.time, (form.point(), form.problem().n()), n_orders);
        jet.ok_or_else(|| format!("no value at t = {}", self.time))
    }

    /// Sets the time.
    pub fn set_time(&mut self, time: f64) -> Result<(), String> {
        if !time.is_finite() {
            return Err(format!("{time} is not a time"));
        }
        self.is_fresh &= time == self.time;
        self.time = time;
        self.session.lead_to(time);
        Ok(())
    }

    /// Sets the states.
    pub fn set_states(&mut self, states: &[f64]) -> Result<(), String> {
        self.find_start()?;
        if states.len() != self.states.len() {
            return Err(format!(
                "{} values for {} states",
                states.len(),
                self.states.len()
            ));
        }
        self.is_fresh &= states == self.states;
        self.states.copy_from_slice(states);
        Ok(())
    }

    /// The states as they were set.
    pub fn states(&mut self) -> Result<&[f64], String> {
        self.find_start()?;
        Ok(&self.states)
    }

    /// Their typical sizes.
    pub fn nominals(&mut self, unknowns: &[usize]) -> Vec<f64> {
        let infos = self.session.system().unknowns();
        let nominal = |&unknown: &usize| infos[unknown].nominal.unwrap_or(1.0).abs();
        unknowns.iter().map(nominal).collect()
    }

    fn evaluated(&mut self) -> Result<&OrdinaryForm, String> {
        self.find_start()?;
        if !self.is_fresh
            && let Some(form) = &mut self.form
        {
            form.set_parameters(self.session.system().parameters().values());
            let time = self.time;
            form.evaluate(time, &self.states).map_err(|failure| {
                format!(
                    "the equations have no solution next to these states at t = {time}: {failure}"
                )
            })?;
            self.is_fresh = true;
        }
        self.form
            .as_ref()
            .ok_or_else(|| "there is no start".to_string())
    }

    /// The rates of the states.
    pub fn rates(&mut self) -> Result<Vec<f64>, String> {
        let form = self.evaluated()?;
        let states = form.states().iter();
        let rates = states.map(|&(unknown, order)| form.derivative(unknown, order + 1));
        Ok(rates.collect())
    }

    /// How fast everything changes where states and inputs change at these rates: section 13 of `docs/theory/implicit.md`.
    pub fn slopes(&mut self, moved: &[(Moved, f64)]) -> Result<Slopes, String> {
        self.evaluated()?;
        let mut nudged = match self.nudged.take() {
            Some(nudged) => nudged,
            None => Box::new(self.nudge()?),
        };
        let found = self.slopes_of(&mut nudged, moved);
        self.nudged = Some(nudged);
        found
    }

    fn nudge(&mut self) -> Result<Nudged, String> {
        let n_orders = self.evaluated()?.problem().max_unknown_offset() + 1;
        let jet = self.jet(n_orders)?;
        let session = self.session.nudged()?;
        let form = form_at(&session, &jet)?;
        let no_form = || "the equations have no derivatives that can be found".to_string();
        if Some(form.states()) != self.form.as_ref().map(OrdinaryForm::states) {
            return Err(no_form());
        }
        let tangents = Tangents::new(&session.setup().reduced).ok_or_else(no_form)?;
        let directional = DirectionalForm::new(&form, &tangents).ok_or_else(no_form)?;
        Ok(Nudged {
            session,
            form,
            directional,
        })
    }

    fn slopes_of(&self, nudged: &mut Nudged, moved: &[(Moved, f64)]) -> Result<Slopes, String> {
        let own = self.session.system().parameters().values();
        let n = nudged.session.system().parameters().len();
        let mut values = own.to_vec();
        values.resize(n, 0.0);
        nudged.form.set_parameters(&values);
        let mut states = vec![0.0; self.states.len()];
        let mut parameters = vec![0.0; n];
        for &(what, rate) in moved {
            match what {
                Moved::State(at) => states[at] += rate,
                Moved::Input(at) => parameters[own.len() + at] += rate,
            }
        }
        let said = |failure: daelight_integrate::Failure| failure.to_string();
        nudged
            .form
            .evaluate(self.time, &self.states)
            .map_err(said)?;
        let change = (nudged.directional)
            .evaluate(&nudged.form, self.time, (&states, &parameters))
            .map_err(said)?;
        let reduced = &nudged.session.setup().reduced;
        let rate = |unknown: usize| match reduced.derivative_of(unknown) {
            Some((place, order)) => change.derivative(place, order as usize + 1),
            None => f64::NAN,
        };
        Ok(Slopes {
            rates: (0..change.unknowns.len()).map(rate).collect(),
            unknowns: change.unknowns,
        })
    }

    /// How far the states are from the constraints, in tolerances of the run.
    pub fn drift(&mut self) -> Result<f64, String> {
        let rtol = self.session.rtol();
        let onto = projected(self.evaluated()?);
        let off = self.states.iter().zip(&onto);
        Ok(off
            .map(|(state, onto)| (state - onto).abs() / (rtol * onto.abs().max(1.0)))
            .fold(0.0, f64::max))
    }

    /// Moves the states onto the constraints.
    pub fn project(&mut self) -> Result<(), String> {
        self.states = projected(self.evaluated()?);
        Ok(())
    }

    /// All that decides what comes next.
    pub fn numbers(&self) -> Vec<f64> {
        let session = self.session.numbers();
        let point = self.form.as_ref().map_or(&[][..], OrdinaryForm::point);
        let counts = [session.len(), self.states.len(), point.len()];
        let counts = counts.into_iter().map(|n| n as f64);
        let flags = [self.form.is_some(), self.is_fresh].map(|flag| f64::from(u8::from(flag)));
        let mut all: Vec<f64> = counts.chain(flags).chain([self.time]).collect();
        all.extend(session.iter().chain(&self.states).chain(point));
        all
    }

    /// The same model as it was when these numbers were taken; `None` where they are none of this model.
    pub fn with_numbers(&self, numbers: &[f64]) -> Option<Self> {
        let (head, rest) = numbers.split_at_checked(6)?;
        let &[n_session, n_states, n_point, has_form, is_fresh, time] = head else {
            return None;
        };
        let (session, rest) = rest.split_at_checked(n_session as usize)?;
        let (states, point) = rest.split_at_checked(n_states as usize)?;
        let mut session = self.session.with_numbers(session)?;
        if session.has_begun() {
            session.leave_to_others();
        }
        session.lead_to(time);
        let mut copy = Self::new(session);
        copy.time = time;
        if has_form != 0.0 && point.len() == n_point as usize {
            let (problem, tolerances) = equations(&copy.session).ok()?;
            let form = OrdinaryForm::at(problem, tolerances, point)?;
            copy.form = Some(form).filter(|form| form.states().len() == states.len());
            copy.form.as_ref()?;
            (copy.states, copy.is_fresh) = (states.to_vec(), is_fresh != 0.0);
        }
        Some(copy)
    }

    /// Values of the whole model.
    pub fn look(&mut self) -> Result<Seen, String> {
        let jet = self.jet(1)?;
        let form = self.evaluated()?.clone();
        let system = self.session.system();
        let mut seen = Seen {
            time: self.time,
            unknowns: jet.values().to_vec(),
            rates: vec![f64::NAN; jet.n_unknowns()],
            parameters: system.parameters().values().to_vec(),
            ..Seen::default()
        };
        let reduced = &self.session.setup().reduced;
        for (unknown, rate) in seen.rates.iter_mut().enumerate() {
            if let Some((place, order)) = reduced.derivative_of(unknown) {
                *rate = form.derivative(place, order as usize + 1);
            }
        }
        self.session.observe(&mut seen);
        Ok(seen)
    }
}

/// The states on the constraints.
fn projected(form: &OrdinaryForm) -> Vec<f64> {
    let states = form.states().iter();
    states
        .map(|&(unknown, order)| form.derivative(unknown, order))
        .collect()
}

/// The equations of a session, and their tolerances.
fn equations(session: &Session) -> Result<(Problem, Tolerances), String> {
    let (system, setup) = (session.system(), session.setup());
    let problem = Problem::of_reduced(system, &setup.reduced).map_err(|e| e.to_string())?;
    let tolerances = Tolerances::of_model(system, &setup.reduced, session.rtol());
    Ok((problem, tolerances))
}

/// The same next to a point.
fn form_at(session: &Session, jet: &TaylorJet) -> Result<OrdinaryForm, String> {
    let (problem, tolerances) = equations(session)?;
    let kept = session.setup().reduced.kept_unknowns();
    let row = |order| {
        kept.iter()
            .map(|&unknown| jet.get(unknown, order))
            .collect()
    };
    let rows: Vec<Vec<f64>> = (0..=problem.max_unknown_offset()).map(row).collect();
    Ok(OrdinaryForm::new(problem, tolerances, &rows))
}
