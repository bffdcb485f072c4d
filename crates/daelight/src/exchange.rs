//! A model as x' = f(t, x, u) for solvers of others: model exchange.

use crate::hybrid::{
    Middle, Mode, Resting, Stand, equations_resting, jet_next_to, lead, states_of_modes,
};
use crate::observe::WayBack;
use crate::session::{Seen, Session, Slanted};
use crate::solve::{START_ORDER, Setup, start_point};
use daelight_analysis::initial::TaylorJet;
use daelight_analysis::tangent::Tangents;
use daelight_analysis::{Reduced, System};
use daelight_integrate::exchange::{DirectionalForm, OrdinaryForm, states_of};
use daelight_integrate::{Problem, Tolerances};
use daelight_lang::{Model, Symbol};
use std::sync::Arc;

/// The unknowns of a model that are states when others integrate it; `Err` says why it has none.
pub fn exchange_states(model: &Model, system: &System) -> Result<Vec<usize>, String> {
    match model.hybrid {
        Some(_) => states_of_modes(model, system, states_without_events),
        None => states_without_events(system, &Setup::new(system)),
    }
}

/// The same of equations that hold between events.
fn states_without_events(system: &System, setup: &Setup) -> Result<Vec<usize>, String> {
    if system.dae().sound().is_none() {
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
    /// The unknowns that are states.
    unknowns: Arc<[usize]>,
    form: Option<OrdinaryForm>,
    /// Where each state is found in the form.
    sources: Vec<Source>,
    time: f64,
    states: Vec<f64>,
    /// Whether the point is that of the time and the states.
    is_fresh: bool,
    /// The mode of a model with events, and what rests in it.
    mode: Option<Box<InMode>>,
    known: Known,
    /// What derivatives are found with, once they were asked for.
    nudged: Option<Box<Nudged>>,
}

/// Where a state is found in the equations that hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// A derivative of an integrated unknown, and its position among the states of the form if it is one of them.
    Integrated(usize, usize, Option<usize>),
    /// It follows from others.
    Follows,
}

/// The equations that hold between two events.
#[derive(Clone)]
struct InMode {
    system: System,
    setup: Arc<Setup>,
    resting: Resting,
    /// Whether something was set that the equations do not know yet.
    is_stale: bool,
}

/// Modes met before. Nothing that decides a result is in them: copies meet their own.
#[derive(Default)]
struct Known(Vec<Mode>);

impl Clone for Known {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// What an event did.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Updated {
    /// Whether states have other values.
    pub has_moved: bool,
    /// Why the model ends the run, if it does.
    pub ends: Option<String>,
    /// The next scheduled time.
    pub next: Option<f64>,
}

/// The same model with every input moved by a parameter of its own, and its derivatives.
#[derive(Clone)]
struct Nudged {
    n_parameters: usize,
    slanted: Slanted,
    reduced: Arc<Reduced>,
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
    /// Those of the event indicators.
    pub indicators: Vec<f64>,
}

impl Exchange {
    /// Before the start, with the unknowns that are states.
    pub fn new(session: Session, unknowns: Arc<[usize]>) -> Self {
        Self {
            time: session.time(),
            session,
            unknowns,
            form: None,
            sources: Vec::new(),
            states: Vec::new(),
            is_fresh: false,
            mode: None,
            known: Known::default(),
            nudged: None,
        }
    }

    /// A model at a point of its run.
    pub(crate) fn standing(
        session: Session,
        unknowns: Arc<[usize]>,
        at: &Middle,
    ) -> Result<Self, String> {
        let mut exchange = Self::new(session, unknowns);
        exchange.session.leave_to_others();
        if let Some(hybrid) = exchange.session.model().hybrid.as_deref() {
            let resting = Resting::of_middle(hybrid, at);
            exchange.mode = Some(Box::new(in_mode(&exchange.session, resting)?));
        }
        exchange.take_form(&at.jet)?;
        Ok(exchange)
    }

    /// The equations that hold.
    fn here(&self) -> (&System, &Setup) {
        match &self.mode {
            Some(mode) => (&mode.system, &mode.setup),
            None => (self.session.system(), self.session.setup()),
        }
    }

    /// What is set, and where the run begins.
    pub fn session(&mut self) -> &mut Session {
        self.is_fresh = false;
        if !self.has_begun() {
            (self.form, self.mode, self.nudged) = (None, None, None);
            self.known.0.clear();
        }
        if let Some(mode) = &mut self.mode {
            mode.is_stale = true;
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
        let n_orders = self.evaluated()?.problem().max_unknown_offset() + 1;
        let jet = self.jet(n_orders)?;
        self.session().set_input(input, value)?;
        self.known.0.clear();
        if let Some(mode) = self.mode.take() {
            self.mode = Some(Box::new(in_mode(&self.session, mode.resting)?));
        }
        let states = std::mem::take(&mut self.states);
        self.nudged = None;
        self.take_form(&jet)?;
        self.states = states;
        Ok(())
    }

    /// Takes the equations next to a point, and the states from it.
    fn take_form(&mut self, jet: &TaylorJet) -> Result<(), String> {
        let (system, setup) = self.here();
        let form = form_at((system, setup), self.session.rtol(), jet)?;
        self.sources = sources(&form, (system, setup), &self.unknowns)?;
        self.states = self.unknowns.iter().map(|&u| jet.values()[u]).collect();
        for (state, source) in self.states.iter_mut().zip(&self.sources) {
            if let Source::Integrated(place, order, _) = *source {
                *state = form.derivative(place, order);
            }
        }
        self.form = Some(form);
        self.is_fresh = false;
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
        let jet = match self.session.model().hybrid {
            Some(_) => {
                let stand = self.lead(None)?;
                let jet = stand.jet.clone();
                self.take_mode(stand);
                jet
            }
            None => {
                let system = self.session.system();
                let found = start_point(system, self.session.options(), self.time);
                let (point, _) = found.map_err(|no_run| self.session.refused(no_run))?;
                point.jet
            }
        };
        self.take_form(&jet)?;
        let found = self.evaluated().map(|_| ());
        if let Err(why) = found {
            self.form = None;
            return Err(why);
        }
        self.project()
    }

    /// The start of a model with events, or an event where it stands.
    fn lead(&mut self, jet: Option<&TaylorJet>) -> Result<Stand, String> {
        let options = crate::SolveOptions {
            rtol: Some(self.session.rtol()),
            ..self.session.options().clone()
        };
        let of = (self.session.present(), self.session.system());
        let resting = self.mode.as_ref().map(|mode| &mode.resting);
        let from = jet.zip(resting);
        let from = from.map(|(jet, resting)| (self.time, jet, resting));
        lead(of, &options, from, &mut self.known.0)
    }

    fn take_mode(&mut self, stand: Stand) {
        self.mode = Some(Box::new(InMode {
            system: stand.system,
            setup: stand.setup,
            resting: stand.resting,
            is_stale: false,
        }));
    }

    /// All unknowns at the last point.
    fn jet(&mut self, n_orders: usize) -> Result<TaylorJet, String> {
        let form = self.evaluated()?.clone();
        let (system, setup) = self.here();
        let recovery = setup
            .reduced
            .recovery(START_ORDER, system.parameters().values());
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
            let own = self.session.system().parameters().values();
            let values = match (&mut self.mode, self.session.model().hybrid.as_deref()) {
                (Some(mode), Some(hybrid)) => {
                    if std::mem::take(&mut mode.is_stale) {
                        mode.resting.hold(hybrid, &mut mode.system, own)?;
                    }
                    mode.system.parameters().values()
                }
                _ => own,
            };
            form.set_parameters(values);
            let time = self.time;
            let mut states = vec![0.0; form.states().len()];
            for (source, value) in self.sources.iter().zip(&self.states) {
                if let Source::Integrated(_, _, Some(at)) = source {
                    states[*at] = *value;
                }
            }
            form.evaluate(time, &states).map_err(|failure| {
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

    /// A derivative of each state at the last point; what follows from others, from the derivatives of all unknowns.
    fn of_states(&mut self, further: usize) -> Result<Vec<f64>, String> {
        self.evaluated()?;
        let follows = self.sources.contains(&Source::Follows);
        let jet = match (follows, further) {
            (false, _) => None,
            (true, 0) => Some(self.jet(1)?),
            _ => {
                let jet = self.jet(1)?;
                let found = jet_next_to(self.here().0, self.time, jet.values());
                Some(found.ok_or_else(|| format!("no rates at t = {}", self.time))?)
            }
        };
        let form = self.evaluated()?.clone();
        let states = self.sources.iter().zip(&*self.unknowns);
        let value = |(source, unknown): (&Source, &usize)| match (*source, &jet) {
            (Source::Integrated(place, order, _), _) => form.derivative(place, order + further),
            (Source::Follows, Some(jet)) => jet.derivative(*unknown, further),
            (Source::Follows, None) => f64::NAN,
        };
        Ok(states.map(value).collect())
    }

    /// The rates of the states.
    pub fn rates(&mut self) -> Result<Vec<f64>, String> {
        self.of_states(1)
    }

    /// How fast everything changes where states and inputs change at these rates: section 13 of `docs/theory/implicit.md`.
    pub fn slopes(&mut self, moved: &[(Moved, f64)]) -> Result<Slopes, String> {
        self.evaluated()?;
        let mut nudged = match self.nudged.take() {
            Some(nudged) => nudged,
            None => Box::new(self.nudge()?),
        };
        let found = self.slopes_of(&mut nudged, moved);
        let found = found.and_then(|mut slopes| {
            if self.mode.is_some() {
                let seen = self.look()?;
                let change = |symbol: Symbol| match symbol {
                    Symbol::Unknown { unknown, order: 0 } => slopes.unknowns[unknown],
                    Symbol::Unknown { unknown, order: 1 } => slopes.rates[unknown],
                    Symbol::Input { input, order: 0 } => {
                        let rates = moved.iter().filter(|(m, _)| *m == Moved::Input(input));
                        rates.map(|(_, rate)| rate).sum()
                    }
                    _ => 0.0,
                };
                slopes.indicators = nudged.slanted.along(&self.session, &seen, change);
            }
            Ok(slopes)
        });
        self.nudged = Some(nudged);
        found
    }

    fn nudge(&mut self) -> Result<Nudged, String> {
        let n_orders = self.evaluated()?.problem().max_unknown_offset() + 1;
        let jet = self.jet(n_orders)?;
        let session = self.session.nudged()?;
        let (system, setup) = match &self.mode {
            Some(mode) => {
                let held = equations_resting(session.present(), session.system(), &mode.resting)?;
                (held.0, Some(held.1))
            }
            None => (session.system().clone(), None),
        };
        let here = (&system, setup.as_deref().unwrap_or(session.setup()));
        let form = form_at(here, session.rtol(), &jet)?;
        let no_form = || "the equations have no derivatives that can be found".to_string();
        if Some(form.states()) != self.form.as_ref().map(OrdinaryForm::states) {
            return Err(no_form());
        }
        let reduced = Arc::clone(&here.1.reduced);
        let tangents = Tangents::new(&reduced).ok_or_else(no_form)?;
        let directional = DirectionalForm::new(&form, &tangents).ok_or_else(no_form)?;
        Ok(Nudged {
            n_parameters: system.parameters().len(),
            slanted: self.session.slopes_of_differences(),
            reduced,
            form,
            directional,
        })
    }

    fn slopes_of(&self, nudged: &mut Nudged, moved: &[(Moved, f64)]) -> Result<Slopes, String> {
        let own = self.here().0.parameters().values();
        let n = nudged.n_parameters;
        let mut values = own.to_vec();
        values.resize(n, 0.0);
        nudged.form.set_parameters(&values);
        let n_states = nudged.form.states().len();
        let (mut values_of, mut states) = (vec![0.0; n_states], vec![0.0; n_states]);
        for (source, value) in self.sources.iter().zip(&self.states) {
            if let Source::Integrated(_, _, Some(at)) = *source {
                values_of[at] = *value;
            }
        }
        let mut parameters = vec![0.0; n];
        for &(what, rate) in moved {
            match what {
                // Where it follows from others, nothing follows from it.
                Moved::State(at) => {
                    if let Source::Integrated(_, _, Some(at)) = self.sources[at] {
                        states[at] += rate;
                    }
                }
                Moved::Input(at) => parameters[own.len() + at] += rate,
            }
        }
        let said = |failure: daelight_integrate::Failure| failure.to_string();
        nudged.form.evaluate(self.time, &values_of).map_err(said)?;
        let change = (nudged.directional)
            .evaluate(&nudged.form, self.time, (&states, &parameters))
            .map_err(said)?;
        let reduced = &nudged.reduced;
        let rate = |unknown: usize| match reduced.derivative_of(unknown) {
            Some((place, order)) => change.derivative(place, order as usize + 1),
            None => f64::NAN,
        };
        Ok(Slopes {
            rates: (0..change.unknowns.len()).map(rate).collect(),
            unknowns: change.unknowns,
            indicators: Vec::new(),
        })
    }

    /// How far the states are from the constraints, in tolerances of the run.
    pub fn drift(&mut self) -> Result<f64, String> {
        let rtol = self.session.rtol();
        let onto = self.of_states(0)?;
        let off = self.states.iter().zip(&onto);
        Ok(off
            .map(|(state, onto)| (state - onto).abs() / (rtol * onto.abs().max(1.0)))
            .fold(0.0, f64::max))
    }

    /// Moves the states onto the constraints.
    fn project(&mut self) -> Result<(), String> {
        self.states = self.of_states(0)?;
        Ok(())
    }

    /// An event: the states are moved onto the constraints, and what is due happens.
    pub fn update(&mut self) -> Result<Updated, String> {
        let before = self.states()?.to_vec();
        self.project()?;
        let mut updated = Updated::default();
        if self.mode.is_some() {
            let n_orders = self.evaluated()?.problem().max_unknown_offset() + 1;
            let mut jet = self.jet(n_orders.max(2))?;
            let rates = self.look()?.rates;
            for (unknown, rate) in rates.into_iter().enumerate() {
                if rate.is_finite() {
                    jet.set(unknown, 1, rate);
                }
            }
            let stand = self.lead(Some(&jet))?;
            updated.ends.clone_from(&stand.ends);
            updated.next = Some(stand.resting.next).filter(|time| time.is_finite());
            let held = self.mode.as_ref().map(|mode| &mode.resting.held);
            let rests = held == Some(&stand.resting.held) && stand.jet.values() == jet.values();
            let behind = stand.jet.clone();
            self.take_mode(stand);
            if !rests {
                self.nudged = None;
                self.take_form(&behind)?;
                self.project()?;
            }
        }
        updated.has_moved = self.states()? != before;
        Ok(updated)
    }

    /// The event indicators at the present point.
    pub fn indicators(&mut self) -> Result<Vec<f64>, String> {
        let seen = self.look()?;
        let differences = self.session.differences(&seen);
        let resting = self.mode.as_ref().map(|mode| &mode.resting);
        let indicate = |resting: &Resting| resting.indicate(self.session.model(), &differences);
        Ok(resting.map(indicate).unwrap_or_default())
    }

    /// All that decides what comes next.
    pub fn numbers(&self) -> Vec<f64> {
        let session = self.session.numbers();
        let point = self.form.as_ref().map_or(&[][..], OrdinaryForm::point);
        let resting = self.mode.as_ref().map(|mode| mode.resting.numbers());
        let resting = resting.unwrap_or_default();
        let counts = [session.len(), self.states.len(), resting.len(), point.len()];
        let counts = counts.into_iter().map(|n| n as f64);
        let flags = [self.form.is_some(), self.is_fresh].map(|flag| f64::from(u8::from(flag)));
        let mut all: Vec<f64> = counts.chain(flags).chain([self.time]).collect();
        for part in [&session[..], &self.states, &resting, point] {
            all.extend(part);
        }
        all
    }

    /// The same model as it was when these numbers were taken; `None` where they are none of this model.
    pub fn with_numbers(&self, numbers: &[f64]) -> Option<Self> {
        let (head, rest) = numbers.split_first_chunk::<7>()?;
        let &[
            n_session,
            n_states,
            n_resting,
            n_point,
            has_form,
            is_fresh,
            time,
        ] = head;
        let (session, rest) = rest.split_at_checked(n_session as usize)?;
        let (states, rest) = rest.split_at_checked(n_states as usize)?;
        let (resting, point) = rest.split_at_checked(n_resting as usize)?;
        let mut session = self.session.with_numbers(session)?;
        if session.has_begun() {
            session.leave_to_others();
        }
        session.lead_to(time);
        let mut copy = Self::new(session, Arc::clone(&self.unknowns));
        copy.time = time;
        if has_form != 0.0 && point.len() == n_point as usize {
            if copy.session.model().hybrid.is_some() {
                let resting = Resting::of_numbers(copy.session.model(), resting)?;
                copy.mode = Some(Box::new(in_mode(&copy.session, resting).ok()?));
            }
            let (problem, tolerances) = equations(copy.here(), copy.session.rtol()).ok()?;
            let form = OrdinaryForm::at(problem, tolerances, point)?;
            copy.sources = sources(&form, copy.here(), &copy.unknowns).ok()?;
            copy.form = Some(form).filter(|_| copy.unknowns.len() == states.len());
            copy.form.as_ref()?;
            (copy.states, copy.is_fresh) = (states.to_vec(), is_fresh != 0.0);
        }
        Some(copy)
    }

    /// Values of the whole model.
    pub fn look(&mut self) -> Result<Seen, String> {
        let jet = self.jet(1)?;
        let form = self.evaluated()?.clone();
        let (system, setup) = self.here();
        let mut seen = Seen {
            time: self.time,
            unknowns: jet.values().to_vec(),
            rates: vec![f64::NAN; jet.n_unknowns()],
            parameters: system.parameters().values().to_vec(),
            ..Seen::default()
        };
        let reduced = &setup.reduced;
        for (unknown, rate) in seen.rates.iter_mut().enumerate() {
            if let Some((place, order)) = reduced.derivative_of(unknown) {
                *rate = form.derivative(place, order as usize + 1);
            }
        }
        self.session.observe(&mut seen);
        Ok(seen)
    }
}

/// The equations in which something rests, in a session.
fn in_mode(session: &Session, resting: Resting) -> Result<InMode, String> {
    let (system, setup) = equations_resting(session.present(), session.system(), &resting)?;
    Ok(InMode {
        system,
        setup,
        resting,
        is_stale: false,
    })
}

/// Where states are found among the equations; `Err` names one of theirs that is none of the model's.
fn sources(
    form: &OrdinaryForm,
    (system, setup): (&System, &Setup),
    unknowns: &[usize],
) -> Result<Vec<Source>, String> {
    let offsets = form.problem().structure().offsets();
    let source = |&unknown: &usize| match setup.reduced.derivative_of(unknown) {
        Some((place, order)) if (order as usize) < offsets.variable[place] => {
            let order = order as usize;
            let states = form.states().iter();
            let at = states.clone().position(|state| *state == (place, order));
            Source::Integrated(place, order, at)
        }
        _ => Source::Follows,
    };
    let found: Vec<Source> = unknowns.iter().map(source).collect();
    for (at, &(place, _)) in form.states().iter().enumerate() {
        let is_it =
            |source: &Source| matches!(source, Source::Integrated(_, _, Some(own)) if *own == at);
        if !found.iter().any(is_it) {
            let name = &system.unknowns()[setup.reduced.kept_unknowns()[place]].name;
            return Err(format!(
                "`{name}` has become a state, and was none when the run began; use co-simulation"
            ));
        }
    }
    Ok(found)
}

/// Equations for others, and their tolerances.
fn equations(
    (system, setup): (&System, &Setup),
    rtol: f64,
) -> Result<(Problem, Tolerances), String> {
    let problem = Problem::of_reduced(system, &setup.reduced).map_err(|e| e.to_string())?;
    let tolerances = Tolerances::of_model(system, &setup.reduced, rtol);
    Ok((problem, tolerances))
}

/// The same next to a point.
fn form_at(here: (&System, &Setup), rtol: f64, jet: &TaylorJet) -> Result<OrdinaryForm, String> {
    let (problem, tolerances) = equations(here, rtol)?;
    let kept = here.1.reduced.kept_unknowns();
    let row = |order| {
        kept.iter()
            .map(|&unknown| jet.get(unknown, order))
            .collect()
    };
    let rows: Vec<Vec<f64>> = (0..=problem.max_unknown_offset()).map(row).collect();
    Ok(OrdinaryForm::new(problem, tolerances, &rows))
}
