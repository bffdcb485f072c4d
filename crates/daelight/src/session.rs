//! A run that others lead: it stops at times that they choose, and inputs and parameters may change there.
//!
//! A session computes ahead, as far as nothing is known to change, and values at a time are read from what was computed. All that
//! decides what comes next is a few numbers ([`Session::numbers`]), so that a copy made of them goes on bit for bit;
//! `docs/decisions/0014-fmus.md`.

use crate::analyze::system_error;
use crate::exchange::Exchange;
use crate::hybrid::{
    HybridEnd, HybridSolution, Indicator, Middle, indicators, resume_hybrid, solve_hybrid,
};
use crate::record::{RunRefusal, refusal};
use crate::solve::{
    NoRun, START_ORDER, Setup, Solution, SolveOptions, going_on, run_from, solve_prepared,
    span_of_run,
};
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{ExprId, Graph, Walker};
use daelight_integrate::StopReason;
use daelight_lang::{Diagnostic, Model, Parameter, Symbol, Type};
use std::sync::{Arc, OnceLock};

/// What an input is between two times: its value and derivatives there, as parameters behind those of the model.
type Live = Vec<usize>;

/// The highest derivative of an input that can be given.
pub const MOST_INPUT_DERIVATIVES: usize = 4;

/// How many parameters an input has that somebody gives: when, its value, its derivatives.
fn per_input() -> usize {
    2 + MOST_INPUT_DERIVATIVES
}

/// The equations of a session; others share them until something is set.
struct Plant {
    model: Arc<Model>,
    system: System,
    /// Whatever the values of parameters are.
    setup: Arc<OnceLock<Setup>>,
}

/// Where what was computed ahead begins.
#[derive(Clone, PartialEq, Debug)]
enum Origin {
    /// At the start of the model.
    Start,
    /// At a point of the run, with the derivatives there.
    Point(f64, Vec<Vec<f64>>),
    /// The same for a model with events.
    Middle(Box<Middle>),
}

/// What was computed ahead.
enum Ahead {
    Plain(Box<Solution>),
    Events(Box<HybridSolution>),
}

/// How a step ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Stepped {
    /// At the time asked for.
    Done,
    /// Before it, because the model ends the run (`terminate`).
    Terminated(String),
    /// Before it, and why: the values are those of the last time that was reached.
    Ended(String),
}

/// Values of a model at a time.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Seen {
    /// The time.
    pub time: f64,
    /// The unknowns.
    pub unknowns: Vec<f64>,
    /// Their rates; NaN where they are not known.
    pub rates: Vec<f64>,
    /// The parameters, with what is held between events.
    pub parameters: Vec<f64>,
    /// The inputs.
    pub inputs: Vec<f64>,
    /// What no equation needs.
    pub views: Vec<f64>,
}

impl Seen {
    fn of(&self, symbol: Symbol) -> f64 {
        match symbol {
            Symbol::Time => self.time,
            Symbol::Parameter(at) => self.parameters[at],
            Symbol::Unknown { unknown, order: 0 } => self.unknowns[unknown],
            Symbol::Unknown { unknown, order: 1 } => self.rates[unknown],
            Symbol::Input { input, order: 0 } => self.inputs.get(input).copied().unwrap_or(0.0),
            _ => f64::NAN,
        }
    }
}

/// Slopes of the differences that are event indicators, symbol by symbol.
#[derive(Clone)]
pub(crate) struct Slanted {
    graph: Graph,
    slopes: Vec<Vec<(Symbol, ExprId)>>,
}

impl Slanted {
    /// How fast the differences change at a point, where `change` tells how fast symbols do.
    pub fn along(
        &self,
        session: &Session,
        seen: &Seen,
        change: impl Fn(Symbol) -> f64,
    ) -> Vec<f64> {
        let symbols = &session.plant.model.symbols;
        let slope = |slopes: &Vec<(Symbol, ExprId)>| {
            let exprs: Vec<ExprId> = slopes.iter().map(|(_, slope)| *slope).collect();
            let values = self.graph.evaluate(&exprs, |id| seen.of(symbols.get(id)));
            let terms = slopes.iter().zip(values);
            terms
                .map(|((symbol, _), slope)| match change(*symbol) {
                    0.0 => 0.0,
                    change => slope * change,
                })
                .sum()
        };
        self.slopes.iter().map(slope).collect()
    }
}

/// A run that others lead.
#[derive(Clone)]
pub struct Session {
    base: Arc<Model>,
    plant: Arc<Plant>,
    options: SolveOptions,
    starts: Vec<(usize, f64)>,
    live: Live,
    set: Vec<(usize, f64)>,
    origin: Origin,
    time: f64,
    until: f64,
    has_begun: bool,
    /// Whether others integrate.
    is_led: bool,
    ahead: Option<Arc<Ahead>>,
    end: Option<Stepped>,
}

impl Session {
    /// A session of a model, before its start.
    pub fn new(model: Arc<Model>, options: SolveOptions) -> Result<Self, Box<Diagnostic>> {
        let plant = Plant::new(Arc::clone(&model))?;
        let (from, to) = span_of_run(&plant.system, &options);
        Ok(Self {
            base: model,
            plant: Arc::new(plant),
            starts: Vec::new(),
            live: Vec::new(),
            set: Vec::new(),
            origin: Origin::Start,
            time: from,
            until: to.max(from),
            has_begun: false,
            is_led: false,
            ahead: None,
            end: None,
            options,
        })
    }

    /// The model as it was read.
    pub fn model(&self) -> &Model {
        &self.base
    }

    /// The same with start values and inputs as they were set.
    pub(crate) fn present(&self) -> &Model {
        &self.plant.model
    }

    /// Differences of the sides of the relations that are event indicators, at values of the model.
    pub(crate) fn differences(&self, seen: &Seen) -> Vec<f64> {
        self.plant.differences(seen)
    }

    /// How fast these differences change where unknowns, their rates and inputs do.
    pub(crate) fn slopes_of_differences(&self) -> Slanted {
        self.plant.slanted()
    }

    /// The equations with what was set.
    pub fn system(&self) -> &System {
        &self.plant.system
    }

    pub(crate) fn setup(&self) -> &Setup {
        self.plant.setup()
    }

    pub(crate) fn options(&self) -> &SolveOptions {
        &self.options
    }

    pub(crate) fn observe(&self, seen: &mut Seen) {
        self.plant.observe(seen);
    }

    /// Others integrate from now on: nothing is computed ahead.
    pub(crate) fn leave_to_others(&mut self) {
        self.has_begun = true;
        self.is_led = true;
    }

    /// The time of others.
    pub(crate) fn lead_to(&mut self, time: f64) {
        self.time = time;
    }

    /// Why there is no start, in words.
    pub(crate) fn refused(&self, no_run: NoRun) -> String {
        self.plant.refused(no_run)
    }

    /// The present time.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Says when the run begins, when it is to end if that is known, and how exact it is to be.
    pub fn plan(&mut self, from: f64, to: Option<f64>, rtol: Option<f64>) {
        self.options.from = Some(from);
        self.options.to = to.or(self.options.to);
        self.options.rtol = rtol.or(self.options.rtol);
        let (from, to) = span_of_run(&self.plant.system, &self.options);
        (self.time, self.until) = (from, to.max(from));
        self.ahead = None;
    }

    /// Whether the run has begun.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// From now on what is set holds from the present time on.
    pub fn begin(&mut self) -> Result<(), String> {
        self.look()?;
        self.has_begun = true;
        Ok(())
    }

    /// Gives an unknown another start value.
    pub fn set_start(&mut self, unknown: usize, value: f64) -> Result<(), String> {
        if self.has_begun {
            let name = &self.base.unknowns[unknown].name;
            return Err(format!("`{name}` can be set before the run begins only"));
        }
        finite(&self.base.unknowns[unknown].name, value)?;
        put(&mut self.starts, unknown, value);
        self.rebuild()
    }

    /// Gives a parameter another value.
    pub fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), String> {
        self.change(&[(parameter, value)])
    }

    /// Whether somebody gave an input a value.
    pub(crate) fn is_live(&self, input: usize) -> bool {
        self.live.contains(&input)
    }

    /// Gives an input a value, constant from the present time on.
    pub fn set_input(&mut self, input: usize, value: f64) -> Result<(), String> {
        finite(&self.base.inputs[input].name, value)?;
        let first = self.place_of(input)?;
        let known = &self.plant.system.parameters().values()[first + 1..first + per_input()];
        // A value that repeats is no change, whenever it was given.
        if known[0] == value && known[1..].iter().all(|derivative| *derivative == 0.0) {
            return Ok(());
        }
        let mut changes = vec![(first, self.time), (first + 1, value)];
        changes.extend((2..per_input()).map(|at| (first + at, 0.0)));
        self.change(&changes)
    }

    /// Gives a derivative of an input at the present time.
    pub fn set_input_derivative(
        &mut self,
        input: usize,
        order: usize,
        value: f64,
    ) -> Result<(), String> {
        let name = self.base.inputs[input].name.clone();
        finite(&name, value)?;
        if !(1..=MOST_INPUT_DERIVATIVES).contains(&order) {
            return Err(format!(
                "derivatives of `{name}` can be given up to order {MOST_INPUT_DERIVATIVES}, not {order}"
            ));
        }
        let is_new = !self.live.contains(&input);
        if is_new {
            let value = self.look()?.inputs[input];
            self.set_input(input, value)?;
        }
        let first = self.place_of(input)?;
        self.change(&[(first + 1 + order, value)])
    }

    /// The relative tolerance.
    pub fn rtol(&self) -> f64 {
        crate::solve::tolerance(&self.plant.system, &self.options)
    }

    /// The first of the parameters of an input, which is made when it is set first.
    fn place_of(&mut self, input: usize) -> Result<usize, String> {
        let at = match self.live.iter().position(|other| *other == input) {
            Some(at) => at,
            None => {
                self.settle()?;
                self.live.push(input);
                self.rebuild()?;
                self.live.len() - 1
            }
        };
        Ok(self.base.parameters.len() + per_input() * at)
    }

    fn change(&mut self, changes: &[(usize, f64)]) -> Result<(), String> {
        let known = self.plant.system.parameters().values();
        if changes.iter().all(|&(at, value)| known[at] == value) {
            return Ok(());
        }
        self.settle()?;
        let mut set = self.set.clone();
        for &(at, value) in changes {
            put(&mut set, at, value);
        }
        let mut system = self.plant.system.clone();
        system
            .set_parameters(changes)
            .map_err(|error| error.to_string())?;
        self.set = set;
        self.plant = Arc::new(Plant {
            model: Arc::clone(&self.plant.model),
            setup: Arc::clone(&self.plant.setup),
            system,
        });
        Ok(())
    }

    /// Leaves what was computed ahead: what comes next begins at the present time.
    fn settle(&mut self) -> Result<(), String> {
        if !self.has_begun || self.is_led {
            self.ahead = None;
            return Ok(());
        }
        if self.ahead.is_none() && self.origin_time() == self.time {
            return Ok(());
        }
        let hybrid = self.base.hybrid.as_deref();
        if hybrid.is_some_and(|hybrid| !hybrid.delays.is_empty()) {
            return Err(
                "inputs and parameters of a model with `delay` cannot change during a run yet; \
                        set them before it begins"
                    .to_string(),
            );
        }
        self.origin = self.point()?;
        self.ahead = None;
        Ok(())
    }

    /// The equations again, with start values and inputs as they were set.
    fn rebuild(&mut self) -> Result<(), String> {
        let mut model = (*self.base).clone();
        for &(unknown, value) in &self.starts {
            let start = model.graph.constant(value);
            let info = &mut model.unknowns[unknown];
            (info.start, info.start_is_default) = (Some(start), false);
        }
        for &input in &self.live {
            give_by_parameters(&mut model, input);
        }
        let mut plant = Plant::new(Arc::new(model)).map_err(|error| error.message)?;
        plant
            .system
            .set_parameters(&self.set)
            .map_err(|error| error.to_string())?;
        self.plant = Arc::new(plant);
        if !self.has_begun {
            self.ahead = None;
        }
        Ok(())
    }

    /// The present point with its derivatives.
    fn point(&mut self) -> Result<Origin, String> {
        let ahead = self.compute(self.time)?;
        let solution = match &*ahead {
            Ahead::Plain(solution) => solution,
            Ahead::Events(solution) => {
                let middle = solution.middle(self.time)?;
                return Ok(Origin::Middle(Box::new(middle)));
            }
        };
        let mut way = solution.route.way_back(&self.plant.system);
        let jet = way.jet(&solution.run.trajectory, self.time, START_ORDER + 1);
        let jet = jet.ok_or_else(|| format!("no value at t = {}", self.time))?;
        let rows = (0..jet.n_orders()).filter_map(|order| jet.row(order).map(<[f64]>::to_vec));
        Ok(Origin::Point(self.time, rows.collect()))
    }

    /// What was computed ahead, as far as a time if it gets there.
    fn compute(&mut self, to: f64) -> Result<Arc<Ahead>, String> {
        let slack = 64.0 * f64::EPSILON * to.abs().max(self.until.abs());
        let mut length = 0.0;
        if let Some(ahead) = &self.ahead {
            if to <= self.until + slack || !ahead.is_finished() {
                return Ok(Arc::clone(ahead));
            }
            let from = self.origin_time();
            length = self.until - from;
            if let Ahead::Plain(_) = **ahead {
                let now = std::mem::replace(&mut self.time, self.until);
                let point = self.point();
                self.time = now;
                self.origin = point?;
            }
        }
        let (_, planned) = span_of_run(&self.plant.system, &self.options);
        let begin = self.origin_time();
        let is_open = self.origin == Origin::Start && self.live.is_empty();
        self.until = match (is_open, &self.ahead) {
            (true, None) => planned.max(to),
            // Values at the beginning need no more than a little of what comes.
            (false, None) if to <= begin => begin + (planned - begin).abs().max(1.0) / 1024.0,
            (false, None) => to,
            (_, Some(_)) => to + length,
        };
        let found = Arc::new(self.run()?);
        self.ahead = Some(Arc::clone(&found));
        Ok(found)
    }

    fn origin_time(&self) -> f64 {
        match &self.origin {
            Origin::Start => span_of_run(&self.plant.system, &self.options).0,
            Origin::Point(time, _) => *time,
            Origin::Middle(middle) => middle.time,
        }
    }

    /// Integrates from the origin as far as it is planned.
    fn run(&self) -> Result<Ahead, String> {
        let Plant { model, system, .. } = &*self.plant;
        let from = self.origin_time();
        let options = SolveOptions {
            from: Some(from),
            to: Some(self.until),
            rtol: Some(self.rtol()),
            ..self.options.clone()
        };
        if model.hybrid.is_some() {
            let found = match &self.origin {
                Origin::Middle(middle) => resume_hybrid(model, system, &options, middle),
                _ => solve_hybrid(model, system, &options),
            };
            let found = found.map_err(|(mode, no_run)| {
                let system = mode.as_deref().unwrap_or(system);
                refused(system, no_run)
            })?;
            return Ok(Ahead::Events(Box::new(found)));
        }
        let setup = self.plant.setup();
        let found = match &self.origin {
            Origin::Start | Origin::Middle(_) => {
                solve_prepared(system, setup, &options, &mut |_| {})
            }
            Origin::Point(time, rows) => {
                let start = going_on(*time, jet_of(rows));
                run_from(system, setup, &options, start, &mut |_| {})
            }
        };
        let found = found.map_err(|no_run| self.refused(no_run))?;
        Ok(Ahead::Plain(Box::new(found)))
    }

    /// The first event behind the present time, up to a time.
    pub fn next_event(&mut self, to: f64) -> Result<Option<f64>, String> {
        let now = self.time;
        let ahead = self.compute(to)?;
        let Ahead::Events(solution) = &*ahead else {
            return Ok(None);
        };
        let mut times = solution.events.times().iter().copied();
        Ok(times.find(|&time| time > now && time <= to))
    }

    /// Goes to a time, or as far towards it as the solution goes.
    pub fn advance(&mut self, to: f64) -> Result<Stepped, String> {
        if let Some(end) = &self.end {
            return Ok(end.clone());
        }
        let ahead = self.compute(to)?;
        let reached = ahead.reached();
        if to <= reached || ahead.is_finished() {
            self.time = to;
            return Ok(Stepped::Done);
        }
        self.time = reached;
        let end = ahead.ending(&self.plant);
        self.end = Some(end.clone());
        Ok(end)
    }

    /// Values at the present time.
    pub fn look(&mut self) -> Result<Seen, String> {
        let ahead = self.compute(self.time)?;
        let time = self.time.min(ahead.reached());
        let no_value = || format!("no value at t = {time}");
        let mut seen = match &*ahead {
            Ahead::Plain(solution) => {
                let mut way = solution.route.way_back(&self.plant.system);
                let jet = way.jet(&solution.run.trajectory, time, 2);
                let jet = jet.ok_or_else(no_value)?;
                let n = jet.n_unknowns();
                Seen {
                    unknowns: jet.values().to_vec(),
                    rates: (0..n).map(|unknown| jet.get(unknown, 1)).collect(),
                    parameters: self.plant.system.parameters().values().to_vec(),
                    ..Seen::default()
                }
            }
            Ahead::Events(solution) => {
                let (unknowns, parameters) = solution.look(time)?;
                let jet = solution.middle(time)?.jet;
                Seen {
                    rates: (0..unknowns.len()).map(|u| jet.get(u, 1)).collect(),
                    unknowns,
                    parameters,
                    ..Seen::default()
                }
            }
        };
        seen.time = self.time;
        self.plant.observe(&mut seen);
        Ok(seen)
    }

    /// Derivatives of an unknown at the present time, from order 0 on.
    pub fn derivatives(&mut self, unknown: usize) -> Result<Vec<f64>, String> {
        let Origin::Point(_, rows) = self.point()? else {
            return Ok(Vec::new());
        };
        let mut factorial = 1.0;
        let derivative = rows.iter().enumerate().map(|(order, row)| {
            factorial *= order.max(1) as f64;
            factorial * row[unknown]
        });
        Ok(derivative.collect())
    }

    /// The model at the present time as others would integrate it on with these states, for its derivatives.
    pub fn standing(&mut self, states: Arc<[usize]>) -> Result<Exchange, String> {
        let middle = match self.point()? {
            Origin::Start => return Err("there is no point to differentiate at".to_string()),
            Origin::Point(time, rows) => Middle {
                time,
                jet: jet_of(&rows),
                parameters: Vec::new(),
            },
            Origin::Middle(middle) => *middle,
        };
        Exchange::standing(self.clone(), states, &middle)
    }

    /// The same with every input moved by a parameter, zero for now, behind all others.
    pub(crate) fn nudged(&self) -> Result<Self, String> {
        let mut model = (*self.plant.model).clone();
        let n_inputs = model.inputs.len();
        if n_inputs == 0 {
            return Ok(self.clone());
        }
        let first = model.parameters.len();
        for input in 0..n_inputs {
            push_parameter(&mut model, input, "nudge");
            let nudge = model.symbols.id(Symbol::Parameter(first + input));
            let nudge = model.graph.symbol(nudge);
            let signal = match model.inputs[input].definition {
                Some(signal) => model.graph.add(signal, nudge),
                None => nudge,
            };
            model.inputs[input].definition = Some(signal);
        }
        let mut plant = Plant::new(Arc::new(model)).map_err(|error| error.message)?;
        let set = plant.system.set_parameters(&self.set);
        set.map_err(|error| error.to_string())?;
        Ok(Self {
            plant: Arc::new(plant),
            ..self.clone()
        })
    }

    /// All that decides what comes next.
    pub fn numbers(&self) -> Vec<f64> {
        let mut out = vec![self.time, self.until];
        let flags = [self.ahead.is_some(), self.has_begun, self.end.is_some()];
        out.extend(flags.map(|flag| f64::from(u8::from(flag))));
        let options = [self.options.from, self.options.to, self.options.rtol];
        out.extend(options.map(|value| value.unwrap_or(f64::NAN)));
        let mut list = |numbers: &[f64]| {
            out.push(numbers.len() as f64);
            out.extend(numbers);
        };
        let pairs = |pairs: &[(usize, f64)]| -> Vec<f64> {
            pairs
                .iter()
                .flat_map(|&(at, value)| [at as f64, value])
                .collect()
        };
        list(&pairs(&self.starts));
        list(&self.live.iter().map(|&at| at as f64).collect::<Vec<_>>());
        list(&pairs(&self.set));
        match &self.origin {
            Origin::Start => list(&[]),
            Origin::Point(time, rows) => {
                let n = rows.first().map_or(0, Vec::len) as f64;
                list(&[&[*time, n, 0.0], rows.concat().as_slice()].concat());
            }
            Origin::Middle(middle) => {
                let Middle {
                    time,
                    jet,
                    parameters,
                } = &**middle;
                let rows = (0..jet.n_orders()).filter_map(|order| jet.row(order));
                let counts = [*time, jet.n_unknowns() as f64, parameters.len() as f64];
                list(&[&counts, &parameters[..], &rows.collect::<Vec<_>>().concat()].concat());
            }
        }
        out
    }

    /// The same session as it was when these numbers were taken; `None` where they are none of this model.
    pub fn with_numbers(&self, numbers: &[f64]) -> Option<Self> {
        let flag = |at: usize| Some(*numbers.get(at)? != 0.0);
        let given = |at: usize| Some(Some(*numbers.get(at)?).filter(|value| !value.is_nan()));
        let mut rest = numbers.get(8..)?;
        let mut list = || -> Option<&[f64]> {
            let (n, behind) = rest.split_first()?;
            let (list, behind) = behind.split_at_checked(*n as usize)?;
            rest = behind;
            Some(list)
        };
        let pairs = |list: &[f64]| {
            list.chunks_exact(2)
                .map(|p| (p[0] as usize, p[1]))
                .collect()
        };
        let mut copy = self.clone();
        copy.starts = pairs(list()?);
        copy.live = list()?.iter().map(|&at| at as usize).collect();
        copy.set = pairs(list()?);
        let n_parameters = self.base.parameters.len() + per_input() * copy.live.len();
        let within = copy.live.iter().all(|&at| at < self.base.inputs.len())
            && copy.starts.iter().all(|p| p.0 < self.base.unknowns.len())
            && copy.set.iter().all(|p| p.0 < n_parameters);
        copy.origin = match list()? {
            [] => Origin::Start,
            [time, n, held, rest @ ..] if *n as usize == self.base.unknowns.len() => {
                let (parameters, rows) = rest.split_at_checked(*held as usize)?;
                let rows = rows.chunks_exact((*n as usize).max(1));
                let rows: Vec<Vec<f64>> = rows.map(<[f64]>::to_vec).collect();
                rows.first()?;
                match parameters.len() {
                    0 => Origin::Point(*time, rows),
                    n if n == n_parameters => Origin::Middle(Box::new(Middle {
                        time: *time,
                        jet: jet_of(&rows),
                        parameters: parameters.to_vec(),
                    })),
                    _ => return None,
                }
            }
            _ => return None,
        };
        if !within || !rest.is_empty() {
            return None;
        }
        (copy.time, copy.until) = (numbers[0], numbers[1]);
        (copy.options.from, copy.options.to) = (given(5)?, given(6)?);
        copy.options.rtol = given(7)?;
        copy.ahead = None;
        copy.rebuild().ok()?;
        copy.has_begun = flag(3)?;
        copy.end = None;
        // What was computed ahead is computed again, up to where it ended.
        if flag(2)? {
            let ahead = copy.run().ok()?;
            copy.end = flag(4)?.then(|| ahead.ending(&copy.plant));
            copy.ahead = Some(Arc::new(ahead));
        }
        Some(copy)
    }
}

impl Plant {
    fn new(model: Arc<Model>) -> Result<Self, Box<Diagnostic>> {
        Ok(Self {
            system: System::new(&model).map_err(system_error)?,
            model,
            setup: Arc::default(),
        })
    }

    fn refused(&self, no_run: NoRun) -> String {
        refused(&self.system, no_run)
    }

    fn setup(&self) -> &Setup {
        self.setup.get_or_init(|| Setup::new(&self.system))
    }

    /// Values of expressions at values of the unknowns.
    fn value(&self, exprs: &[ExprId], seen: &Seen) -> Vec<f64> {
        let Model { graph, symbols, .. } = &*self.model;
        graph.evaluate(exprs, |id| seen.of(symbols.get(id)))
    }

    /// Inputs and views at values of the unknowns.
    fn observe(&self, seen: &mut Seen) {
        let model = &self.model;
        let inputs = model.inputs.iter().map(|input| match input.definition {
            Some(expr) => self.value(&[expr], seen)[0],
            None => 0.0,
        });
        seen.inputs = inputs.collect();
        let views = model.views.iter();
        let views = views.map(|view| self.value(&[view.value], seen)[0]);
        seen.views = views.collect();
    }

    fn slanted(&self) -> Slanted {
        let Model { graph, symbols, .. } = &*self.model;
        let mut graph = graph.clone();
        let all = indicators(&self.model).unwrap_or_default();
        let mut walker = Walker::new();
        let slopes = all.iter().map(|one| {
            let mut difference = match one.b {
                Ok(b) => graph.sub(one.a, b),
                Err(_) => one.a,
            };
            if one.sign < 0.0 {
                difference = graph.neg(difference);
            }
            let along = walker.symbols(&graph, &[difference]);
            let slopes = graph.gradient(difference, &along);
            let along = along.into_iter().map(|id| symbols.get(id));
            along.zip(slopes).collect()
        });
        Slanted {
            slopes: slopes.collect(),
            graph,
        }
    }

    fn differences(&self, seen: &Seen) -> Vec<f64> {
        let all = indicators(&self.model).unwrap_or_default();
        let sides = |one: &Indicator| [one.a, one.b.unwrap_or(one.a)];
        let sides: Vec<ExprId> = all.iter().flat_map(sides).collect();
        let values = self.value(&sides, seen);
        let difference = |(one, sides): (&Indicator, &[f64])| match one.b {
            Ok(_) => one.sign * (sides[0] - sides[1]),
            Err((held, offset)) => one.sign * (sides[0] - seen.parameters[held] - offset),
        };
        all.iter()
            .zip(values.chunks_exact(2))
            .map(difference)
            .collect()
    }
}

impl Ahead {
    fn reached(&self) -> f64 {
        match self {
            Self::Plain(solution) => solution.reached(),
            Self::Events(solution) => solution.reached,
        }
    }

    /// Whether it came to where it was to end.
    fn is_finished(&self) -> bool {
        match self {
            Self::Plain(solution) => solution.run.stop == StopReason::Finished,
            Self::Events(solution) => matches!(solution.end, HybridEnd::Finished),
        }
    }

    fn ending(&self, plant: &Plant) -> Stepped {
        match self {
            Self::Plain(solution) => {
                let report = crate::record::solve(&plant.system, solution, None);
                let singular = report.singularities.last();
                let singular = singular.map(daelight_show::terminal::singularity_text);
                Stepped::Ended(singular.unwrap_or(report.message))
            }
            Self::Events(solution) => {
                let report = crate::record::hybrid(&plant.model, solution, None);
                match solution.end {
                    HybridEnd::Terminated { .. } => Stepped::Terminated(report.message),
                    _ => Stepped::Ended(report.message),
                }
            }
        }
    }
}

/// Why there is no run, in words.
pub(crate) fn refused(system: &System, no_run: NoRun) -> String {
    match refusal(system, no_run, system.name()) {
        RunRefusal::Diagnostic(diagnostic) => diagnostic.message,
        RunRefusal::Said { message, .. } => message,
    }
}

fn put(list: &mut Vec<(usize, f64)>, at: usize, value: f64) {
    match list.iter_mut().find(|pair| pair.0 == at) {
        Some(pair) => pair.1 = value,
        None => list.push((at, value)),
    }
}

fn finite(name: &str, value: f64) -> Result<(), String> {
    match value.is_finite() {
        true => Ok(()),
        false => Err(format!("`{name}` would be {value}, no finite number")),
    }
}

/// A jet from its rows.
fn jet_of(rows: &[Vec<f64>]) -> TaylorJet {
    let mut jet = TaylorJet::at_rest(&rows[0], rows.len());
    for (order, row) in rows.iter().enumerate() {
        for (unknown, &value) in row.iter().enumerate() {
            jet.set(unknown, order, value);
        }
    }
    jet
}

/// Adds a parameter of an input, zero for now.
fn push_parameter(model: &mut Model, input: usize, what: &str) {
    let definition = model.graph.constant(0.0);
    model.parameters.push(Parameter {
        name: format!("{}.{what}", model.inputs[input].name),
        value: 0.0,
        definition,
        ty: Type::Real,
        is_constant: false,
        min: None,
        max: None,
        is_structural: false,
        declaration: model.inputs[input].declaration,
    });
}

/// Makes an input a polynomial in time whose coefficients are parameters: u0 + s (u1 + s/2 (u2 + …)), s = time - t0.
fn give_by_parameters(model: &mut Model, input: usize) {
    let first = model.parameters.len();
    for at in 0..per_input() {
        push_parameter(model, input, &at.to_string());
    }
    let parameter = |model: &mut Model, at: usize| {
        let id = model.symbols.id(Symbol::Parameter(first + at));
        model.graph.symbol(id)
    };
    let time = model.symbols.id(Symbol::Time);
    let time = model.graph.symbol(time);
    let begin = parameter(model, 0);
    let since = model.graph.sub(time, begin);
    let mut sum = parameter(model, per_input() - 1);
    for at in (1..per_input() - 1).rev() {
        let order = model.graph.constant(at as f64);
        let step = model.graph.div(since, order);
        let product = model.graph.mul(step, sum);
        let coefficient = parameter(model, at);
        sum = model.graph.add(coefficient, product);
    }
    model.inputs[input].definition = Some(sum);
}
