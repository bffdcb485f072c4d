//! Derivatives through an event: section 7 of `docs/theory/sensitivities.md`.
//!
//! A run that is traced keeps what its events did, round by round; a shadow follows the rounds with small changes.

use super::program::{Point, without_inputs};
use super::{Driver, HybridSolution, MAX_ROUNDS, Mode, Stop, forward_only, mode};
use crate::solve::{NoRun, SAME_START_TOLERANCES, SolveOptions};
use crate::stop_time::compared;
use daelight_analysis::System;
use daelight_expr::{ExprId, Graph, Node, Walker};
use daelight_lang::{ChangedBy, Hybrid, Model, Rule, Symbol, Symbols, Type};
use std::collections::HashMap;

/// What the events of a run did.
#[derive(Default)]
pub(crate) struct Trace {
    pub events: Vec<TracedEvent>,
    /// Whether relations were taken out of the run, which slides or rests from there on.
    pub is_over: bool,
}

/// An event.
pub(crate) struct TracedEvent {
    /// The stretch that begins behind it.
    pub leg: usize,
    pub point: Point,
    /// Values of all parameters before.
    pub before: Vec<f64>,
    rounds: Vec<Round>,
    /// Whether the mode had to be searched, or values jumped as the equations of a new mode say.
    pub is_odd: bool,
    /// The mode behind it, and values of all parameters.
    pub mode: usize,
}

/// A round of an event: where rules were evaluated.
struct Round {
    point: Point,
    values: Vec<f64>,
}

/// How everything changes: in time, or with a direction.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub time: f64,
    pub values: Vec<f64>,
    pub rates: Vec<f64>,
    pub parameters: Vec<f64>,
}

impl Change {
    /// This one and so many times another.
    pub fn plus(&self, factor: f64, other: &Self) -> Self {
        let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + factor * b).collect();
        Self {
            time: self.time + factor * other.time,
            values: add(&self.values, &other.values),
            rates: add(&self.rates, &other.rates),
            parameters: add(&self.parameters, &other.parameters),
        }
    }
}

/// A run, or the equations that have none and why.
type Traced = Result<(HybridSolution, Trace), (Option<Box<System>>, NoRun)>;

/// Runs a model with events and keeps what they did.
pub(crate) fn solve_traced(model: &Model, system: &System, options: &SolveOptions) -> Traced {
    let Some(hybrid) = model.hybrid.as_deref() else {
        let why = "the model has no events".to_string();
        return Err((None, NoRun::Equations(why)));
    };
    forward_only(system, options)?;
    let mut driver = Driver::new(model, hybrid, system, options);
    let end = match driver.initialise() {
        Ok(()) => {
            driver.trace = Some(Trace::default());
            driver.run()
        }
        Err(Stop::NoRun(system, no_run)) => return Err((system, no_run)),
        Err(Stop::End(end)) => end,
    };
    let mut trace = driver.trace.take().unwrap_or_default();
    trace.is_over = !driver.modes.over.is_empty() || driver.out.accumulated > 0;
    Ok((driver.finish(end), trace))
}

/// The equations of a mode as a model.
pub(crate) fn model_in_mode(model: &Model, hybrid: &Hybrid, mode: &Mode) -> Model {
    mode::in_mode(model, hybrid, &mode.key, (&[], &[], None)).0
}

impl Driver<'_> {
    /// Notes that an event begins.
    pub(super) fn trace_event(&mut self) {
        let (leg, mode) = (self.out.legs.len(), self.mode);
        if let Some(trace) = &mut self.trace {
            trace.events.push(TracedEvent {
                leg,
                point: self.point.clone(),
                before: self.values.clone(),
                rounds: Vec::new(),
                is_odd: false,
                mode,
            });
        }
    }

    /// Notes where rules are evaluated.
    pub(super) fn trace_round(&mut self) {
        let last = self
            .trace
            .as_mut()
            .and_then(|trace| trace.events.last_mut());
        if let Some(event) = last {
            let (point, values) = (self.point.clone(), self.values.clone());
            event.rounds.push(Round { point, values });
            event.mode = self.mode;
        }
    }

    /// Notes that the event did what no round tells.
    pub(super) fn trace_oddity(&mut self) {
        let last = self
            .trace
            .as_mut()
            .and_then(|trace| trace.events.last_mut());
        if let Some(event) = last {
            event.is_odd = true;
        }
    }

    /// Notes where the event led to.
    pub(super) fn trace_mode(&mut self) {
        let mode = self.mode;
        let last = self
            .trace
            .as_mut()
            .and_then(|trace| trace.events.last_mut());
        if let Some(event) = last {
            event.mode = mode;
        }
    }
}

/// Expressions of a hybrid model with their slopes.
pub(crate) struct Shadow<'m> {
    model: &'m Model,
    hybrid: &'m Hybrid,
    graph: Graph,
    symbols: Symbols,
    /// What an expression is without inputs, and its slopes.
    known: HashMap<ExprId, (ExprId, Vec<(Symbol, ExprId)>)>,
}

impl<'m> Shadow<'m> {
    pub fn new(model: &'m Model, hybrid: &'m Hybrid, system: &System) -> Self {
        let mut symbols = model.symbols.clone();
        let signals = system.equations().symbols().signals().to_vec();
        symbols.set_signals(signals);
        Self {
            model,
            hybrid,
            graph: model.graph.clone(),
            symbols,
            known: HashMap::new(),
        }
    }

    fn prepare(&mut self, expr: ExprId) -> &(ExprId, Vec<(Symbol, ExprId)>) {
        if !self.known.contains_key(&expr) {
            let inputs = &self.model.inputs;
            let plain = without_inputs(&mut self.graph, &self.symbols, inputs, &[expr])[0];
            let along = Walker::new().symbols(&self.graph, &[plain]);
            let slopes = self.graph.gradient(plain, &along);
            let along = along.into_iter().map(|id| self.symbols.get(id));
            let found = (plain, along.zip(slopes).collect());
            self.known.insert(expr, found);
        }
        &self.known[&expr]
    }

    fn evaluate(&self, exprs: &[ExprId], (point, values): (&Point, &[f64])) -> Vec<f64> {
        self.graph.evaluate(exprs, |id| match self.symbols.get(id) {
            Symbol::Parameter(at) => values[at],
            Symbol::Unknown { unknown, order: 0 } => point.values[unknown],
            Symbol::Unknown { unknown, order: 1 } => point.rates[unknown],
            other => self.symbols.value_at(other, point.time),
        })
    }

    fn value(&mut self, expr: ExprId, at: (&Point, &[f64])) -> f64 {
        let plain = self.prepare(expr).0;
        self.evaluate(&[plain], at)[0]
    }

    /// How an expression changes.
    fn change(&mut self, expr: ExprId, at: (&Point, &[f64]), change: &Change) -> f64 {
        let slopes = self.prepare(expr).1.clone();
        let exprs: Vec<ExprId> = slopes.iter().map(|(_, slope)| *slope).collect();
        let values = self.evaluate(&exprs, at);
        let terms = slopes.iter().zip(values).filter(|(_, slope)| *slope != 0.0);
        let terms = terms.map(|((symbol, _), slope)| {
            let moved = match *symbol {
                Symbol::Time => change.time,
                Symbol::Parameter(at) => change.parameters[at],
                Symbol::Unknown { unknown, order: 0 } => change.values[unknown],
                Symbol::Unknown { unknown, order: 1 } => change.rates[unknown],
                Symbol::Input { input, order } => {
                    let order = order + 1;
                    let next = Symbol::Input { input, order };
                    change.time * self.symbols.value_at(next, at.0.time)
                }
                Symbol::Unknown { .. } => f64::NAN,
            };
            slope * moved
        });
        terms.sum()
    }

    /// How discrete variables change at the start, where unknowns and parameters change so.
    pub fn begin(&mut self, at: (&Point, &[f64]), change: &mut Change) {
        let hybrid = self.hybrid;
        for &(of, expr) in &hybrid.starts {
            let moved = self.change(expr, at, change);
            let variable = &hybrid.variables[of];
            change.parameters[variable.parameter] = moved;
            change.parameters[variable.previous] = moved;
        }
        for &position in &hybrid.order {
            let variable = &hybrid.variables[position];
            let moved = match (variable.rule, variable.ty) {
                (Rule::Expression(expr), Type::Real) => self.change(expr, at, change),
                _ => 0.0,
            };
            change.parameters[variable.parameter] = moved;
            change.parameters[variable.previous] = moved;
        }
    }

    /// How fast a difference of expressions changes.
    fn difference(
        &mut self,
        (a, b): (ExprId, Option<ExprId>),
        at: (&Point, &[f64]),
        change: &Change,
    ) -> f64 {
        let less = b.map_or(0.0, |b| self.change(b, at, change));
        self.change(a, at, change) - less
    }

    /// How the time of an event moves, by each of its causes; `moved` is how everything before it moves at a fixed time, `passing` how
    /// it changes in time.
    fn causes(
        &mut self,
        event: &TracedEvent,
        (moved, passing): (&Change, &Change),
    ) -> Vec<(String, f64)> {
        let Some(round) = event.rounds.first() else {
            return Vec::new();
        };
        let (hybrid, at) = (self.hybrid, (&event.point, &event.before[..]));
        let name = |p: usize| self.model.parameters[p].name.clone();
        let mut differences = Vec::new();
        let mut found: Vec<(String, f64)> = Vec::new();
        let mut scheduled = Vec::new();
        for relation in &hybrid.relations {
            let p = relation.parameter;
            if round.values[p] == event.before[p] {
                continue;
            }
            match (relation.by, self.graph.node(relation.expr)) {
                (ChangedBy::Time { limit, .. }, _) => scheduled.push((name(p), limit)),
                (ChangedBy::Unknowns, Node::Binary(_, a, b)) => {
                    differences.push((name(p), (a, Some(b))));
                }
                _ => {}
            }
        }
        for variable in &hybrid.variables {
            if let Rule::Floor(a) = variable.rule {
                let after = event.rounds.get(1).map(|r| r.values[variable.parameter]);
                if after.is_some_and(|after| after != event.before[variable.parameter]) {
                    differences.push((variable.name.clone(), (a, None)));
                }
            }
        }
        for (name, sides) in differences {
            let rate = self.difference(sides, at, passing);
            found.push((name, -self.difference(sides, at, moved) / rate));
        }
        for (name, limit) in scheduled {
            found.push((name, self.change(limit, at, moved)));
        }
        for sample in &hybrid.samples {
            if round.values[sample.parameter] != 0.0 {
                let start = self.value(sample.start, at);
                let n = (event.point.time - start) / self.value(sample.interval, at);
                let slope = n.round() * self.change(sample.interval, at, moved);
                let slope = slope + self.change(sample.start, at, moved);
                found.push((self.model.sources.slice(sample.span).to_string(), slope));
            }
        }
        found
    }

    /// How the time moves at which a stopping condition begins to hold, by each of its relations whose sides are equal there.
    pub fn stop_moves(
        &mut self,
        event: &TracedEvent,
        (moved, passing): (&Change, &Change),
        rtol: f64,
    ) -> Vec<f64> {
        let Some(stop) = self.model.stop_when else {
            return Vec::new();
        };
        let at = (&event.point, &event.before[..]);
        let mut found = Vec::new();
        for (a, b) in compared(&self.graph, stop.expr) {
            let (left, right) = (self.value(a, at), self.value(b, at));
            let size = left.abs().max(right.abs()).max(1.0);
            if (left - right).abs() <= SAME_START_TOLERANCES * rtol * size {
                let rate = self.difference((a, Some(b)), at, passing);
                found.push(-self.difference((a, Some(b)), at, moved) / rate);
            }
        }
        found
    }

    /// How the time of an event moves; `None` where nothing causes it, as one that goes on with another at the same time.
    pub fn time_moves(
        &mut self,
        event: &TracedEvent,
        along: (&Change, &Change),
        rtol: f64,
    ) -> Result<Option<f64>, String> {
        let found = self.causes(event, along);
        let Some((name, first)) = found.first() else {
            return Ok(None);
        };
        if let Some((name, _)) = found.iter().find(|(_, moves)| !moves.is_finite()) {
            return Err(format!(
                "`{name}` is only touched there, and its time has no derivative"
            ));
        }
        let most = SAME_START_TOLERANCES * rtol * first.abs().max(1.0);
        match found.iter().find(|(_, moves)| (moves - first).abs() > most) {
            Some((other, _)) => Err(format!(
                "`{name}` and `{other}` happen at one time there, and part when parameters change"
            )),
            None => Ok(Some(*first)),
        }
    }

    /// Leads changes through an event: those of everything before it, at its moving time, become those behind it; which unknowns
    /// were set.
    pub fn through(&mut self, event: &TracedEvent, change: &mut Change) -> Vec<usize> {
        let hybrid = self.hybrid;
        let mut all = Vec::new();
        for round in event.rounds.iter().take(MAX_ROUNDS) {
            for variable in &hybrid.variables {
                change.parameters[variable.previous] = change.parameters[variable.parameter];
            }
            let mut values = round.values.clone();
            for &position in &hybrid.order {
                let variable = &hybrid.variables[position];
                let at = (&round.point, &values[..]);
                let (value, moved) = match (variable.rule, variable.ty) {
                    (Rule::Expression(expr), Type::Real) => {
                        (self.value(expr, at), self.change(expr, at, change))
                    }
                    (Rule::Expression(expr), _) => (self.value(expr, at), 0.0),
                    (Rule::Floor(expr), _) => (self.value(expr, at).floor(), 0.0),
                };
                values[variable.parameter] = value;
                change.parameters[variable.parameter] = moved;
            }
            let mut set = Vec::new();
            for reinit in &hybrid.reinits {
                let at = (&round.point, &values[..]);
                let symbol = self.model.graph.as_symbol(reinit.unknown);
                let symbol = symbol.map(|id| self.model.symbols.get(id));
                if let Some(Symbol::Unknown { unknown, .. }) = symbol
                    && self.value(reinit.condition, at) != 0.0
                {
                    set.push((unknown, self.change(reinit.value, at, change)));
                }
            }
            for (unknown, moved) in set {
                change.values[unknown] = moved;
                all.push(unknown);
            }
        }
        all
    }
}
