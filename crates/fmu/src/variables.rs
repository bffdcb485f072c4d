//! The port variables of a model as an FMU shows them, in an order that the text of the model decides.

use daelight_analysis::System;
use daelight_expr::{ExprId, Walker};
use daelight_lang::{Model, Symbol, Type};

/// What a variable is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// The time.
    Independent,
    /// Can be set.
    Parameter,
    /// Follows from parameters.
    CalculatedParameter,
    /// Comes from outside.
    Input,
    /// Declared `output`.
    Output,
    /// All others.
    Local,
}

/// When a variable changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortChange {
    /// Never.
    Constant,
    /// Not after the start.
    Fixed,
    /// Whenever somebody sets it.
    Tunable,
    /// At events.
    Discrete,
    /// Always.
    Continuous,
}

/// What the start value of a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    /// It holds.
    Exact,
    /// It is a guess.
    Approx,
    /// There is none.
    Calculated,
}

/// What a variable stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortValue {
    /// The time.
    Time,
    /// A parameter, or what is held between events.
    Parameter(usize),
    /// An input.
    Input(usize),
    /// An unknown.
    Unknown(usize),
    /// The rate of an unknown that is a state.
    Rate(usize),
    /// What no equation needs.
    View(usize),
    /// An event indicator.
    Indicator(usize),
}

/// A port variable; its value reference is its position.
#[derive(Clone, Debug)]
pub struct Port {
    /// The name.
    pub name: String,
    /// The comment in the text.
    pub comment: String,
    /// The unit, or nothing.
    pub unit: String,
    /// The type.
    pub ty: Type,
    /// What it is for.
    pub causality: PortKind,
    /// When it changes.
    pub variability: PortChange,
    /// What its start value is, where that has to be said.
    pub initial: Option<Initial>,
    /// The start value.
    pub start: Option<f64>,
    /// The typical magnitude.
    pub nominal: Option<f64>,
    /// Its bounds.
    pub bounds: [Option<f64>; 2],
    /// What it stands for.
    pub quantity: PortValue,
    /// The position of the state whose rate it is.
    pub rate_of: Option<usize>,
    /// Whether it is a state.
    pub is_state: bool,
}

impl Port {
    fn new(name: &str, quantity: PortValue, causality: PortKind) -> Self {
        Self {
            name: name.to_string(),
            comment: String::new(),
            unit: String::new(),
            ty: Type::Real,
            causality,
            variability: PortChange::Continuous,
            initial: None,
            start: None,
            nominal: None,
            bounds: [None, None],
            quantity,
            rate_of: None,
            is_state: false,
        }
    }

    /// With what its declaration says.
    fn declared(mut self, model: &Model, declaration: usize) -> Self {
        let declared = &model.declarations[declaration];
        self.comment.clone_from(&declared.comment);
        self.unit.clone_from(&declared.unit);
        self
    }
}

/// The variables of a model, and what others need to integrate it.
pub struct Interface {
    /// The variables.
    pub ports: Vec<Port>,
    /// The unknowns that are states in model exchange; `Err` says why there is none.
    pub states: Result<Vec<usize>, String>,
    /// How often the model differentiates each input.
    pub orders: Vec<usize>,
}

impl Interface {
    /// How many event indicators there are.
    pub fn n_indicators(&self) -> usize {
        let is_one = |port: &&Port| matches!(port.quantity, PortValue::Indicator(_));
        self.ports.iter().filter(is_one).count()
    }
}

impl Interface {
    /// That of a model.
    pub fn new(model: &Model, system: &System) -> Self {
        let all: Vec<usize> = (0..model.inputs.len()).collect();
        let orders = daelight::times_differentiated(model, &all);
        let orders = orders.unwrap_or_else(|_| vec![0; all.len()]);
        let differentiated = model
            .inputs
            .iter()
            .zip(&orders)
            .find(|(_, order)| **order > 0);
        let states = match differentiated {
            Some((input, _)) => Err(format!(
                "it differentiates its input `{}`, whose derivatives nobody tells there",
                input.name
            )),
            None => daelight::exchange_states(model, system),
        };
        let mut ports = ports(model, system);
        if let Ok(states) = &states {
            add_rates(&mut ports, states);
            add_indicators(&mut ports, model);
        }
        Self {
            ports,
            states,
            orders,
        }
    }
}

/// Marks the states, and adds their rates behind all others.
fn add_rates(ports: &mut Vec<Port>, states: &[usize]) {
    for &unknown in states {
        let is_it = |port: &Port| port.quantity == PortValue::Unknown(unknown);
        let Some(at) = ports.iter().position(is_it) else {
            continue;
        };
        ports[at].is_state = true;
        let name = format!("der({})", ports[at].name);
        match ports.iter_mut().find(|port| port.name == name) {
            Some(known) => known.rate_of = Some(at),
            None => {
                let mut rate = Port::new(&name, PortValue::Rate(unknown), PortKind::Local);
                rate.rate_of = Some(at);
                rate.initial = Some(Initial::Calculated);
                ports.push(rate);
            }
        }
    }
}

/// Adds the event indicators, which version 3.0 wants as variables, behind all others.
fn add_indicators(ports: &mut Vec<Port>, model: &Model) {
    for (at, text) in daelight::indicator_texts(model).into_iter().enumerate() {
        let mut name = format!("eventIndicator{}", at + 1);
        while ports.iter().any(|port| port.name == name) {
            name.push('_');
        }
        let mut port = Port::new(&name, PortValue::Indicator(at), PortKind::Local);
        port.comment = text;
        port.initial = Some(Initial::Calculated);
        ports.push(port);
    }
}

/// All variables of a model, the time first.
fn ports(model: &Model, system: &System) -> Vec<Port> {
    let mut time = Port::new("time", PortValue::Time, PortKind::Independent);
    time.unit = "s".to_string();
    time.comment = "the time".to_string();
    let mut all = vec![time];
    parameters(model, system, &mut all);
    inputs(model, system, &mut all);
    unknowns(model, system, &mut all);
    discrete(model, &mut all);
    for (at, view) in model.views.iter().enumerate() {
        let mut port = Port::new(&view.name, PortValue::View(at), PortKind::Local);
        port.ty = view.ty;
        port.initial = Some(Initial::Calculated);
        if view.ty != Type::Real {
            port.variability = PortChange::Discrete;
        }
        all.push(port);
    }
    // The first of a name counts: what a run shows under it.
    let mut names = std::collections::HashSet::new();
    all.retain(|port| names.insert(port.name.clone()));
    all
}

fn parameters(model: &Model, system: &System, all: &mut Vec<Port>) {
    let held: std::collections::HashSet<usize> = (model.hybrid.iter())
        .flat_map(|hybrid| hybrid.held_parameters())
        .collect();
    let parameters = system.parameters();
    for (at, parameter) in model.parameters.iter().enumerate() {
        let declared = &model.declarations[parameter.declaration];
        if held.contains(&at) || declared.is_protected {
            continue;
        }
        let is_free = model.graph.as_constant(parameter.definition).is_some();
        let quantity = PortValue::Parameter(at);
        let mut port = Port::new(&parameter.name, quantity, PortKind::Parameter);
        port.ty = parameter.ty;
        port.start = Some(parameters.values()[at]);
        port.variability = PortChange::Fixed;
        if parameters.settable(at).is_err() {
            port.causality = PortKind::Local;
            port.variability = PortChange::Constant;
        } else if !is_free {
            port.causality = PortKind::CalculatedParameter;
            port.initial = Some(Initial::Calculated);
            port.start = None;
        } else if parameter.ty == Type::Real && !has_delays(model) {
            port.variability = PortChange::Tunable;
        }
        let bound = |expr: Option<ExprId>| expr.and_then(|expr| model.graph.as_constant(expr));
        port.bounds = [bound(parameter.min), bound(parameter.max)];
        all.push(port.declared(model, parameter.declaration));
    }
}

/// Whether the model remembers its past: then parameters do not change during a run.
fn has_delays(model: &Model) -> bool {
    (model.hybrid.iter()).any(|hybrid| !hybrid.delays.is_empty())
}

fn inputs(model: &Model, system: &System, all: &mut Vec<Port>) {
    let begin = system.experiment().start_time.unwrap_or(0.0);
    let delayed: Vec<usize> = (model.hybrid.iter())
        .flat_map(|hybrid| hybrid.delays.iter().map(|delay| delay.input))
        .collect();
    for (at, input) in model.inputs.iter().enumerate() {
        if delayed.contains(&at) {
            continue;
        }
        let mut port = Port::new(&input.name, PortValue::Input(at), PortKind::Input);
        let value = |expr: ExprId| {
            model
                .graph
                .evaluate(&[expr], |id| match model.symbols.get(id) {
                    Symbol::Time => begin,
                    Symbol::Parameter(index) => system.parameters().values()[index],
                    _ => f64::NAN,
                })[0]
        };
        let start = input.definition.map(value);
        port.start = Some(start.filter(|value| value.is_finite()).unwrap_or(0.0));
        all.push(port.declared(model, input.declaration));
    }
}

fn unknowns(model: &Model, system: &System, all: &mut Vec<Port>) {
    for (at, info) in system.unknowns().iter().enumerate() {
        let unknown = &model.unknowns[at];
        let declared = &model.declarations[unknown.declaration];
        let is_own = unknown.velocity_of.is_none();
        let causality = match declared.is_output && is_own {
            true => PortKind::Output,
            false => PortKind::Local,
        };
        let mut port = Port::new(&info.name, PortValue::Unknown(at), causality);
        let start = info.start.filter(|_| !unknown.start_is_default);
        port.initial = Some(match start {
            Some(_) if unknown.fixed => Initial::Exact,
            Some(_) => Initial::Approx,
            None => Initial::Calculated,
        });
        port.start = start;
        port.nominal = info.nominal.filter(|nominal| *nominal != 0.0);
        let bound = |expr: Option<ExprId>| expr.and_then(|expr| model.graph.as_constant(expr));
        port.bounds = [bound(unknown.min), bound(unknown.max)];
        all.push(match is_own {
            true => port.declared(model, unknown.declaration),
            false => port,
        });
    }
}

fn discrete(model: &Model, all: &mut Vec<Port>) {
    let variables = model.hybrid.iter().flat_map(|hybrid| &hybrid.variables);
    for variable in variables.filter(|variable| !variable.is_hidden) {
        let quantity = PortValue::Parameter(variable.parameter);
        let declared = &model.declarations[model.parameters[variable.parameter].declaration];
        let causality = match declared.is_output {
            true => PortKind::Output,
            false => PortKind::Local,
        };
        let mut port = Port::new(&variable.name, quantity, causality);
        port.ty = variable.ty;
        port.variability = PortChange::Discrete;
        port.initial = Some(Initial::Calculated);
        all.push(port);
    }
}

/// The inputs in an expression.
pub(crate) fn inputs_in(model: &Model, walker: &mut Walker, expr: ExprId) -> Vec<usize> {
    let symbols = walker.symbols(&model.graph, &[expr]).into_iter();
    let inputs = symbols.filter_map(|id| match model.symbols.get(id) {
        Symbol::Input { input, .. } => Some(input),
        _ => None,
    });
    inputs.collect()
}
