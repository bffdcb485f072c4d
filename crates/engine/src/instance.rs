//! An instance of a model: what the C functions of both versions do.

use crate::boundary::{Log, category};
use daelight::{Exchange, Moved, Seen, Session, Slopes, SolveOptions, Stepped, Updated};
use daelight_fmu::{
    CATEGORIES, Initial, Interface, Port, PortChange, PortKind, PortValue, Resources,
};
use daelight_lang::{Model, Severity, Type};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What calls return; the numbers are those of FMI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    Ok = 0,
    Warning = 1,
    Discard = 2,
    Error = 3,
    Fatal = 4,
}

/// A call that went through, or why it did not.
pub(crate) type Answer = Result<Code, String>;

/// What all instances of a model share.
struct Shared {
    token: String,
    model: Arc<Model>,
    interface: Interface,
    /// The states of model exchange; none where there is none.
    states: Arc<[usize]>,
    fresh: Session,
}

/// Models in use, so that many instances of one are read once.
static MODELS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// An instance.
pub(crate) struct Instance {
    shared: Arc<Shared>,
    run: Lead,
    seen: Option<Seen>,
    /// A run of its own at the present time, for its derivatives.
    standing: Option<Box<Exchange>>,
    /// Whether the last step ended the run.
    pub is_over: bool,
    /// Whether the importer handles events between steps, and lets steps end at them.
    pub stops_at_events: bool,
    pub log: Log,
}

/// Who integrates.
#[derive(Clone)]
enum Lead {
    /// The session itself: co-simulation.
    Own(Box<Session>),
    /// The importer: model exchange.
    Other(Box<Exchange>),
}

/// A state that an importer keeps.
pub(crate) struct Kept {
    run: Lead,
    is_over: bool,
}

impl Shared {
    fn read(folder: &Path, token: &str) -> Result<Arc<Self>, String> {
        let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
        models.retain(|known| known.strong_count() > 0);
        let resources = Resources::read(folder)?;
        let own = resources.token();
        if own != token {
            return Err(format!(
                "the token {token} is not that of the model in resources, {own}: files of different FMUs were mixed"
            ));
        }
        let known = models.iter().filter_map(Weak::upgrade);
        if let Some(known) = known.into_iter().find(|known| known.token == own) {
            return Ok(known);
        }
        let loaded = resources.load();
        let Some(model) = loaded.model else {
            let is_error = |d: &&daelight_lang::Diagnostic| d.severity == Severity::Error;
            let first = loaded.diagnostics.iter().find(is_error);
            let first = first.map_or("it has no model", |d| d.message.as_str());
            return Err(format!("model.mo: {first}"));
        };
        let model = Arc::new(model);
        let fresh = Session::new(Arc::clone(&model), SolveOptions::default())
            .map_err(|diagnostic| diagnostic.message)?;
        let interface = Interface::new(&model, fresh.system());
        let shared = Arc::new(Self {
            token: own,
            states: interface.states.clone().unwrap_or_default().into(),
            interface,
            model,
            fresh,
        });
        models.push(Arc::downgrade(&shared));
        Ok(shared)
    }
}

impl Shared {
    fn exchange(&self) -> Exchange {
        Exchange::new(self.fresh.clone(), Arc::clone(&self.states))
    }
}

impl Lead {
    fn new(shared: &Shared, is_exchange: bool) -> Self {
        match is_exchange {
            true => Self::Other(Box::new(shared.exchange())),
            false => Self::Own(Box::new(shared.fresh.clone())),
        }
    }

    fn session(&self) -> &Session {
        match self {
            Self::Own(session) => session,
            Self::Other(exchange) => exchange.settings(),
        }
    }

    fn session_mut(&mut self) -> &mut Session {
        match self {
            Self::Own(session) => session,
            Self::Other(exchange) => exchange.session(),
        }
    }

    fn set_input(&mut self, input: usize, value: f64) -> Result<(), String> {
        match self {
            Self::Own(session) => session.set_input(input, value),
            Self::Other(exchange) => exchange.set_input(input, value),
        }
    }

    fn look(&mut self) -> Result<Seen, String> {
        match self {
            Self::Own(session) => session.look(),
            Self::Other(exchange) => exchange.look(),
        }
    }
}

impl Instance {
    /// Reads the model below a folder of resources.
    pub fn new(
        folder: &Path,
        token: &str,
        is_exchange: bool,
        log: Log,
    ) -> Result<Self, (Log, String)> {
        let usable = |shared: &Arc<Shared>| match &shared.interface.states {
            Err(why) if is_exchange => Err(format!("this FMU is for co-simulation alone: {why}")),
            _ => Ok(()),
        };
        match Shared::read(folder, token).and_then(|shared| usable(&shared).map(|()| shared)) {
            Ok(shared) => Ok(Self {
                run: Lead::new(&shared, is_exchange),
                seen: None,
                standing: None,
                is_over: false,
                stops_at_events: false,
                shared,
                log,
            }),
            Err(why) => Err((log, why)),
        }
    }

    /// Back to where it was made.
    pub fn reset(&mut self) -> Answer {
        let is_exchange = matches!(self.run, Lead::Other(_));
        self.run = Lead::new(&self.shared, is_exchange);
        self.forget();
        self.is_over = false;
        Ok(Code::Ok)
    }

    /// Values are no longer those of the present.
    fn forget(&mut self) {
        (self.seen, self.standing) = (None, None);
    }

    /// Says when the run begins and ends, and how exact it is to be.
    pub fn plan(&mut self, from: f64, to: Option<f64>, tolerance: Option<f64>) -> Answer {
        let is_time = from.is_finite() && to.is_none_or(|to| to.is_finite() && to >= from);
        if !is_time {
            return Err(format!("a run from t = {from} to {to:?} is none"));
        }
        let is_tolerance = |value: &f64| *value > 0.0 && *value < 1.0;
        if let Some(value) = tolerance.filter(|value| !is_tolerance(value)) {
            return Err(format!(
                "{value} is not a relative tolerance between 0 and 1"
            ));
        }
        self.forget();
        self.run.session_mut().plan(from, to, tolerance);
        Ok(Code::Ok)
    }

    /// The start is settled: the run begins.
    pub fn begin(&mut self) -> Answer {
        self.forget();
        match &mut self.run {
            Lead::Own(session) => session.begin()?,
            Lead::Other(exchange) => exchange.begin()?,
        }
        Ok(Code::Ok)
    }

    fn port(&self, reference: u32) -> Result<&Port, String> {
        let n = self.shared.interface.ports.len();
        let found = self.shared.interface.ports.get(reference as usize);
        found.ok_or_else(|| {
            format!(
                "there is no variable {reference}; value references go from 0 to {}",
                n - 1
            )
        })
    }

    fn seen(&mut self) -> Result<&Seen, String> {
        if self.seen.is_none() {
            self.seen = Some(self.run.look()?);
        }
        self.seen.as_ref().ok_or_else(|| "no values".to_string())
    }

    /// The value of a variable of a type.
    pub fn get(&mut self, reference: u32, ty: Type) -> Result<f64, String> {
        let port = self.port(reference)?;
        if port.ty != ty {
            return Err(format!(
                "`{}` is {}, not {}",
                port.name,
                port.ty.word(),
                ty.word()
            ));
        }
        let (quantity, name) = (port.quantity, port.name.clone());
        let is_known = !matches!(
            quantity,
            PortValue::Unknown(_)
                | PortValue::Rate(_)
                | PortValue::View(_)
                | PortValue::Indicator(_)
        );
        if is_known && !self.run.session().has_begun() && self.shared.model.hybrid.is_none() {
            // What is set before the start can be read without one.
            match quantity {
                PortValue::Time => return Ok(self.run.session().time()),
                PortValue::Parameter(at) => {
                    return Ok(self.run.session().system().parameters().values()[at]);
                }
                _ => {}
            }
        }
        if let PortValue::Indicator(at) = quantity {
            return self.indicator(at);
        }
        let seen = self.seen()?;
        let value = match quantity {
            PortValue::Time => seen.time,
            PortValue::Parameter(at) => seen.parameters[at],
            PortValue::Input(at) => seen.inputs[at],
            PortValue::Unknown(at) => seen.unknowns[at],
            PortValue::Rate(at) => seen.rates[at],
            PortValue::View(at) => seen.views[at],
            PortValue::Indicator(_) => f64::NAN,
        };
        match value.is_finite() {
            true => Ok(value),
            false => Err(format!(
                "`{name}` has no value at t = {}",
                self.run.session().time()
            )),
        }
    }

    /// Gives a variable of a type a value.
    pub fn set(&mut self, reference: u32, ty: Type, value: f64) -> Answer {
        let port = self.port(reference)?.clone();
        if port.ty != ty {
            return Err(format!(
                "`{}` is {}, not {}",
                port.name,
                port.ty.word(),
                ty.word()
            ));
        }
        let has_begun = self.run.session().has_begun();
        let refuse = |when: &str| Err(format!("`{}` cannot be set{when}", port.name));
        let mut code = Code::Ok;
        match (port.quantity, port.causality) {
            (PortValue::Parameter(_), PortKind::Parameter)
                if has_begun && port.variability != PortChange::Tunable =>
            {
                return refuse(" after the start: it is fixed");
            }
            (PortValue::Parameter(at), PortKind::Parameter) => {
                self.run.session_mut().set_parameter(at, value)?;
            }
            (PortValue::Input(at), _) => {
                code = self.warn_of_jump(at, &port.name, value)?;
                self.run.set_input(at, value)?;
            }
            (PortValue::Unknown(at), _) if port.initial != Some(Initial::Calculated) => {
                self.run.session_mut().set_start(at, value)?;
            }
            _ => return refuse(""),
        }
        self.forget();
        Ok(code)
    }

    /// Tells that an input which the model differentiates jumps: its derivatives would be infinite.
    fn warn_of_jump(&mut self, input: usize, name: &str, value: f64) -> Answer {
        let order = self.shared.interface.orders[input];
        if order == 0 || !self.run.session().has_begun() {
            return Ok(Code::Ok);
        }
        let rtol = self.run.session().rtol();
        let seen = self.seen()?;
        let (before, time) = (seen.inputs[input], seen.time);
        if (value - before).abs() <= rtol * before.abs().max(value.abs()) {
            return Ok(Code::Ok);
        }
        self.log.tell(
            Code::Warning,
            &format!(
                "the input `{name}` jumps from {before} to {value} at t = {time}, and the model differentiates it {order} times: what \
                 depends on its derivatives is that of the smooth pieces beside the jump; give derivatives with the values"
            ),
        );
        Ok(Code::Warning)
    }

    /// Gives a derivative of an input.
    pub fn set_input_derivative(&mut self, reference: u32, order: i32, value: f64) -> Answer {
        let port = self.port(reference)?;
        let PortValue::Input(at) = port.quantity else {
            return Err(format!("`{}` is no input", port.name));
        };
        let order = usize::try_from(order).unwrap_or(0);
        self.run
            .session_mut()
            .set_input_derivative(at, order, value)?;
        self.forget();
        Ok(Code::Ok)
    }

    /// A derivative of a variable that is an unknown.
    pub fn derivative(&mut self, reference: u32, order: i32) -> Result<f64, String> {
        let port = self.port(reference)?;
        let PortValue::Unknown(at) = port.quantity else {
            return Err(format!("derivatives of `{}` are not known", port.name));
        };
        let list = self.run.session_mut().derivatives(at)?;
        let found = usize::try_from(order)
            .ok()
            .and_then(|order| list.get(order));
        let found = found.copied().filter(|_| order > 0);
        found.ok_or_else(|| format!("derivatives are known from order 1 to {}", list.len() - 1))
    }

    /// A step, and whether the model ends the run.
    pub fn step(&mut self, from: f64, step: f64) -> Answer {
        self.step_to(from, step, from + step)
    }

    fn step_to(&mut self, from: f64, step: f64, to: f64) -> Answer {
        let now = self.run.session().time();
        let slack = 1e3 * f64::EPSILON * now.abs().max(from.abs()).max(step.abs());
        if (from - now).abs() > slack {
            return Err(format!(
                "a step from t = {from}, but the model is at t = {now}"
            ));
        }
        if !(step >= 0.0 && step.is_finite()) {
            return Err(format!("a step of {step} is none"));
        }
        if self.is_over {
            return Err(format!("the run ended at t = {now}"));
        }
        let Lead::Own(session) = &mut self.run else {
            return Err("steps are those of the importer in model exchange".to_string());
        };
        let stepped = session.advance(to)?;
        self.forget();
        match stepped {
            Stepped::Done => Ok(Code::Ok),
            Stepped::Terminated(why) | Stepped::Ended(why) => {
                self.is_over = true;
                self.log.tell(Code::Discard, &why);
                Ok(Code::Discard)
            }
        }
    }

    /// A step that ends at the first event, where the importer wants that; whether it did.
    pub fn step_to_event(&mut self, from: f64, step: f64) -> (Answer, bool) {
        let event = match &mut self.run {
            Lead::Own(session) if self.stops_at_events && step > 0.0 && !self.is_over => {
                session.next_event(from + step)
            }
            _ => Ok(None),
        };
        match event {
            Err(why) => (Err(why), false),
            Ok(None) => (self.step(from, step), false),
            Ok(Some(time)) => {
                let answer = self.step_to(from, time - from, time);
                let is_there = answer == Ok(Code::Ok);
                (answer, is_there)
            }
        }
    }

    /// The time reached.
    pub fn time(&self) -> f64 {
        self.run.session().time()
    }

    /// A copy of the present state.
    pub fn keep(&self) -> Kept {
        Kept {
            run: self.run.clone(),
            is_over: self.is_over,
        }
    }

    /// Back to a state.
    pub fn restore(&mut self, kept: &Kept) -> Answer {
        self.run = kept.run.clone();
        self.is_over = kept.is_over;
        self.forget();
        Ok(Code::Ok)
    }

    /// A state as bytes: the token of the model, then numbers.
    pub fn bytes(&self, kept: &Kept) -> Result<Vec<u8>, String> {
        let numbers = match &kept.run {
            Lead::Own(session) => session.numbers(),
            Lead::Other(exchange) => exchange.numbers(),
        };
        let mut bytes = self.shared.token.as_bytes().to_vec();
        let is_over = f64::from(u8::from(kept.is_over));
        let numbers = [is_over].into_iter().chain(numbers);
        bytes.extend(numbers.flat_map(f64::to_le_bytes));
        Ok(bytes)
    }

    /// A state from bytes.
    pub fn state_of(&self, bytes: &[u8]) -> Result<Kept, String> {
        let wrong = || "these bytes are no state of this model".to_string();
        let rest = bytes
            .strip_prefix(self.shared.token.as_bytes())
            .ok_or_else(wrong)?;
        let (numbers, left) = rest.as_chunks::<8>();
        let numbers: Vec<f64> = numbers.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let (is_over, numbers) = numbers.split_first().ok_or_else(wrong)?;
        let run = match (&self.run, left.is_empty()) {
            (_, false) => None,
            (Lead::Own(_), _) => (self.shared.fresh.with_numbers(numbers))
                .map(|session| Lead::Own(Box::new(session))),
            (Lead::Other(_), _) => (self.shared.exchange())
                .with_numbers(numbers)
                .map(|exchange| Lead::Other(Box::new(exchange))),
        };
        Ok(Kept {
            run: run.ok_or_else(wrong)?,
            is_over: *is_over != 0.0,
        })
    }
}

/// Messages.
impl Instance {
    /// Which messages are told: those of some categories, all, or those that explain errors.
    pub fn choose_messages(&mut self, is_on: bool, categories: &[String]) -> Answer {
        let known = |name: &&String| CATEGORIES.iter().any(|(word, _)| word == name);
        if let Some(strange) = categories.iter().find(|name| !known(name)) {
            return Err(format!("there is no category `{strange}` of messages"));
        }
        self.log.wanted = match (is_on, categories.is_empty()) {
            (true, true) => None,
            (true, false) => Some(categories.to_vec()),
            (false, _) => Some(vec![
                category(Code::Error).to_string(),
                category(Code::Fatal).to_string(),
            ]),
        };
        Ok(Code::Ok)
    }
}

/// Derivatives.
impl Instance {
    /// What moves when a variable does.
    fn moved(&self, reference: u32) -> Result<Moved, String> {
        let port = self.port(reference)?;
        let states = self.shared.interface.states.iter().flatten();
        match port.quantity {
            PortValue::Input(at) => Some(Moved::Input(at)),
            PortValue::Unknown(at) => {
                let mut states = states;
                states.position(|state| *state == at).map(Moved::State)
            }
            _ => None,
        }
        .ok_or_else(|| {
            let name = &port.name;
            format!("`{name}` is neither a state nor an input: there is no derivative by it")
        })
    }

    fn slopes(&mut self, moved: &[(Moved, f64)]) -> Result<Slopes, String> {
        match &mut self.run {
            Lead::Other(exchange) => exchange.slopes(moved),
            Lead::Own(session) => {
                let standing = match self.standing.take() {
                    Some(standing) => standing,
                    None => Box::new(session.standing(Arc::clone(&self.shared.states))?),
                };
                self.standing.insert(standing).slopes(moved)
            }
        }
    }

    /// The slope of a variable among all.
    fn slope(&self, reference: u32, slopes: &Slopes) -> Result<f64, String> {
        let port = self.port(reference)?;
        let found = match port.quantity {
            PortValue::Unknown(at) => slopes.unknowns[at],
            PortValue::Rate(at) => slopes.rates[at],
            PortValue::Time | PortValue::Parameter(_) => 0.0,
            PortValue::Indicator(at) => slopes.indicators.get(at).copied().unwrap_or(0.0),
            PortValue::Input(_) | PortValue::View(_) => f64::NAN,
        };
        match found.is_finite() {
            true => Ok(found),
            false => Err(format!("`{}` has no derivative here", port.name)),
        }
    }

    /// How fast unknowns change where knowns change at rates.
    pub fn directional(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        rates: &[f64],
        into: &mut [f64],
    ) -> Answer {
        let moved = knowns.iter().map(|&known| self.moved(known));
        let moved = moved.collect::<Result<Vec<_>, _>>()?;
        let moved: Vec<(Moved, f64)> = moved.into_iter().zip(rates.iter().copied()).collect();
        let slopes = self.slopes(&moved)?;
        for (&unknown, place) in unknowns.iter().zip(into) {
            *place = self.slope(unknown, &slopes)?;
        }
        Ok(Code::Ok)
    }

    /// The same from the other side: how fast a sum of unknowns with weights changes with each known.
    pub fn adjoint(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        weights: &[f64],
        into: &mut [f64],
    ) -> Answer {
        for (&known, place) in knowns.iter().zip(into) {
            let moved = self.moved(known)?;
            let slopes = self.slopes(&[(moved, 1.0)])?;
            *place = 0.0;
            for (&unknown, weight) in unknowns.iter().zip(weights) {
                *place += weight * self.slope(unknown, &slopes)?;
            }
        }
        Ok(Code::Ok)
    }
}

/// Model exchange.
impl Instance {
    fn exchange(&mut self) -> Result<&mut Exchange, String> {
        match &mut self.run {
            Lead::Own(_) => Err("this instance is for co-simulation".to_string()),
            Lead::Other(exchange) => Ok(exchange),
        }
    }

    /// How many states there are.
    pub fn n_states(&self) -> usize {
        self.shared.interface.states.as_ref().map_or(0, Vec::len)
    }

    pub fn set_time(&mut self, time: f64) -> Answer {
        self.forget();
        self.exchange()?.set_time(time)?;
        Ok(Code::Ok)
    }

    pub fn set_states(&mut self, states: &[f64]) -> Answer {
        self.forget();
        self.exchange()?.set_states(states)?;
        Ok(Code::Ok)
    }

    /// Fills a list of as many values as there are states.
    fn fill(&self, into: &mut [f64], values: &[f64]) -> Answer {
        if into.len() != values.len() {
            return Err(format!("{} values for {} states", into.len(), values.len()));
        }
        into.copy_from_slice(values);
        Ok(Code::Ok)
    }

    pub fn states(&mut self, into: &mut [f64]) -> Answer {
        let values = self.exchange()?.states()?.to_vec();
        self.fill(into, &values)
    }

    pub fn rates(&mut self, into: &mut [f64]) -> Answer {
        let values = self.exchange()?.rates()?;
        self.fill(into, &values)
    }

    pub fn nominals(&mut self, into: &mut [f64]) -> Answer {
        let states = self.shared.interface.states.clone().unwrap_or_default();
        let values = self.exchange()?.nominals(&states);
        self.fill(into, &values)
    }

    /// Whether the states have drifted from the constraints by more than the tolerance, so that an event has to move them back.
    pub fn has_drifted(&mut self) -> Result<bool, String> {
        Ok(self.exchange()?.drift()? > 1.0)
    }

    /// How many event indicators there are.
    pub fn n_indicators(&self) -> usize {
        self.shared.interface.n_indicators()
    }

    /// The event indicators.
    pub fn indicators(&mut self, into: &mut [f64]) -> Answer {
        let values = self.exchange()?.indicators()?;
        if into.len() != values.len() {
            let n = values.len();
            return Err(format!("{} values for {n} event indicators", into.len()));
        }
        into.copy_from_slice(&values);
        Ok(Code::Ok)
    }

    /// One of them. In co-simulation events happen inside the steps, and nothing is indicated.
    fn indicator(&mut self, at: usize) -> Result<f64, String> {
        if let Lead::Own(_) = self.run {
            return Ok(0.0);
        }
        let values = self.exchange()?.indicators()?;
        let found = values.get(at).copied();
        found.ok_or_else(|| format!("there is no event indicator {at}"))
    }

    /// An event: the states are moved onto the constraints, and what is due happens.
    pub fn update(&mut self) -> Result<Updated, String> {
        self.forget();
        if let Lead::Own(_) = self.run {
            // What an event changes has happened within the step that led to it.
            return Ok(Updated::default());
        }
        let updated = self.exchange()?.update()?;
        if let Some(why) = &updated.ends {
            self.is_over = true;
            self.log.tell(Code::Warning, why);
        }
        Ok(updated)
    }
}
