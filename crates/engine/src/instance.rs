//! An instance of a model: what the C functions of both versions do.

use crate::boundary::Log;
use daelight::{Seen, Session, SolveOptions, Stepped};
use daelight_fmu::{Initial, Port, PortChange, PortKind, PortValue, Resources, ports};
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
    ports: Vec<Port>,
    /// How often the model differentiates each input.
    orders: Vec<usize>,
    fresh: Session,
}

/// Models in use, so that many instances of one are read once.
static MODELS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// An instance.
pub(crate) struct Instance {
    shared: Arc<Shared>,
    session: Session,
    seen: Option<Seen>,
    /// Whether the last step ended the run.
    pub is_over: bool,
    pub log: Log,
}

/// A state that an importer keeps.
pub(crate) struct Kept {
    session: Session,
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
        let all: Vec<usize> = (0..model.inputs.len()).collect();
        let orders = daelight::times_differentiated(&model, &all);
        let shared = Arc::new(Self {
            token: own,
            ports: ports(&model, fresh.system()),
            orders: orders.unwrap_or_else(|_| vec![0; all.len()]),
            model,
            fresh,
        });
        models.push(Arc::downgrade(&shared));
        Ok(shared)
    }
}

impl Instance {
    /// Reads the model below a folder of resources.
    pub fn new(folder: &Path, token: &str, log: Log) -> Result<Self, (Log, String)> {
        match Shared::read(folder, token) {
            Ok(shared) => Ok(Self {
                session: shared.fresh.clone(),
                seen: None,
                is_over: false,
                shared,
                log,
            }),
            Err(why) => Err((log, why)),
        }
    }

    /// Back to where it was made.
    pub fn reset(&mut self) -> Answer {
        self.session = self.shared.fresh.clone();
        self.seen = None;
        self.is_over = false;
        Ok(Code::Ok)
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
        self.seen = None;
        self.session.plan(from, to, tolerance);
        Ok(Code::Ok)
    }

    /// The start is settled: the run begins.
    pub fn begin(&mut self) -> Answer {
        self.seen = None;
        self.session.begin()?;
        Ok(Code::Ok)
    }

    fn port(&self, reference: u32) -> Result<&Port, String> {
        let n = self.shared.ports.len();
        let found = self.shared.ports.get(reference as usize);
        found.ok_or_else(|| {
            format!(
                "there is no variable {reference}; value references go from 0 to {}",
                n - 1
            )
        })
    }

    fn seen(&mut self) -> Result<&Seen, String> {
        if self.seen.is_none() {
            self.seen = Some(self.session.look()?);
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
        let is_known = !matches!(quantity, PortValue::Unknown(_) | PortValue::View(_));
        if is_known && !self.session.has_begun() && self.shared.model.hybrid.is_none() {
            // What is set before the start can be read without one.
            match quantity {
                PortValue::Time => return Ok(self.session.time()),
                PortValue::Parameter(at) => {
                    return Ok(self.session.system().parameters().values()[at]);
                }
                _ => {}
            }
        }
        let seen = self.seen()?;
        let value = match quantity {
            PortValue::Time => seen.time,
            PortValue::Parameter(at) => seen.parameters[at],
            PortValue::Input(at) => seen.inputs[at],
            PortValue::Unknown(at) => seen.unknowns[at],
            PortValue::View(at) => seen.views[at],
        };
        match value.is_finite() {
            true => Ok(value),
            false => Err(format!(
                "`{name}` has no value at t = {}",
                self.session.time()
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
        let has_begun = self.session.has_begun();
        let refuse = |when: &str| Err(format!("`{}` cannot be set{when}", port.name));
        let mut code = Code::Ok;
        match (port.quantity, port.causality) {
            (PortValue::Parameter(_), PortKind::Parameter)
                if has_begun && port.variability != PortChange::Tunable =>
            {
                return refuse(" after the start: it is fixed");
            }
            (PortValue::Parameter(at), PortKind::Parameter) => {
                self.session.set_parameter(at, value)?;
            }
            (PortValue::Input(at), _) => {
                code = self.warn_of_jump(at, &port.name, value)?;
                self.session.set_input(at, value)?;
            }
            (PortValue::Unknown(at), _) if port.initial != Some(Initial::Calculated) => {
                self.session.set_start(at, value)?;
            }
            _ => return refuse(""),
        }
        self.seen = None;
        Ok(code)
    }

    /// Tells that an input which the model differentiates jumps: its derivatives would be infinite.
    fn warn_of_jump(&mut self, input: usize, name: &str, value: f64) -> Answer {
        let order = self.shared.orders[input];
        if order == 0 || !self.session.has_begun() {
            return Ok(Code::Ok);
        }
        let rtol = self.session.rtol();
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
        self.session.set_input_derivative(at, order, value)?;
        self.seen = None;
        Ok(Code::Ok)
    }

    /// A derivative of a variable that is an unknown.
    pub fn derivative(&mut self, reference: u32, order: i32) -> Result<f64, String> {
        let port = self.port(reference)?;
        let PortValue::Unknown(at) = port.quantity else {
            return Err(format!("derivatives of `{}` are not known", port.name));
        };
        let list = self.session.derivatives(at)?;
        let found = usize::try_from(order)
            .ok()
            .and_then(|order| list.get(order));
        let found = found.copied().filter(|_| order > 0);
        found.ok_or_else(|| format!("derivatives are known from order 1 to {}", list.len() - 1))
    }

    /// A step, and whether the model ends the run.
    pub fn step(&mut self, from: f64, step: f64) -> Answer {
        let now = self.session.time();
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
        let stepped = self.session.advance(from + step)?;
        self.seen = None;
        match stepped {
            Stepped::Done => Ok(Code::Ok),
            Stepped::Terminated(why) | Stepped::Ended(why) => {
                self.is_over = true;
                self.log.tell(Code::Discard, &why);
                Ok(Code::Discard)
            }
        }
    }

    /// The time reached.
    pub fn time(&self) -> f64 {
        self.session.time()
    }

    /// A copy of the present state.
    pub fn keep(&self) -> Kept {
        Kept {
            session: self.session.clone(),
            is_over: self.is_over,
        }
    }

    /// Back to a state.
    pub fn restore(&mut self, kept: &Kept) -> Answer {
        self.session = kept.session.clone();
        self.is_over = kept.is_over;
        self.seen = None;
        Ok(Code::Ok)
    }

    /// A state as bytes: the token of the model, then numbers.
    pub fn bytes(&self, kept: &Kept) -> Vec<u8> {
        let mut bytes = self.shared.token.as_bytes().to_vec();
        let is_over = f64::from(u8::from(kept.is_over));
        let numbers = [is_over].into_iter().chain(kept.session.numbers());
        bytes.extend(numbers.flat_map(f64::to_le_bytes));
        bytes
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
        let session = self.shared.fresh.with_numbers(numbers);
        let session = session.filter(|_| left.is_empty()).ok_or_else(wrong)?;
        Ok(Kept {
            session,
            is_over: *is_over != 0.0,
        })
    }
}
