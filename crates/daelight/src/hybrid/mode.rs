//! Modes: for each combination of conditions met the equations that hold, analysed once and kept.

use super::border::size_of;
use super::program::without_inputs;
use super::scan::{Events, Held};
use super::timed::given_functions;
use crate::solve::Setup;
use daelight_analysis::System;
use daelight_expr::{BinaryOp, ExprId, Graph, Node, Signal, Tape, UnaryOp};
use daelight_lang::{ChangedBy, Diagnostic, Hybrid, Model, Rule, Symbol, Symbols};
use std::collections::HashMap;
use std::sync::Arc;

/// The equations that hold under a combination of conditions.
pub struct Mode {
    /// The conditions, in the order of [`Hybrid::mode`].
    pub key: Vec<bool>,
    /// The equations.
    pub system: System,
    pub(super) setup: Arc<Setup>,
    /// What ends a leg in this mode.
    pub(super) events: Arc<Events>,
    /// Delayed expressions.
    pub(super) delayed: Vec<Arc<Tape>>,
    /// The structural index, where the equations have one.
    pub index: Option<usize>,
    /// Degrees of freedom.
    pub dof: Option<u64>,
    /// What is wrong with equations that have no structure.
    pub(super) why: Option<String>,
}

/// All modes met so far.
pub(super) struct Modes<'m> {
    pub model: Arc<Model>,
    hybrid: &'m Hybrid,
    /// Relations that are over: they keep their truth.
    pub over: Vec<usize>,
    /// Those among them that equations decide at every instant anew.
    loose: Vec<usize>,
    /// What is positive as long as a contact pushes.
    pub pushes: Option<ExprId>,
    /// What the run takes for nothing.
    least: f64,
    signals: Vec<(usize, Arc<Signal>)>,
    pub list: Vec<Mode>,
    by_key: HashMap<Vec<bool>, usize>,
}

impl<'m> Modes<'m> {
    pub fn new(
        model: &Model,
        hybrid: &'m Hybrid,
        signals: Vec<(usize, Arc<Signal>)>,
        least: f64,
    ) -> Self {
        let mut model = model.clone();
        model.symbols.set_signals(signals.clone());
        // Inputs without a signal are 0, in conditions too.
        let zero = model.graph.constant(0.0);
        for (at, input) in model.inputs.iter_mut().enumerate() {
            if !signals.iter().any(|(driven, _)| *driven == at) {
                input.definition.get_or_insert(zero);
            }
        }
        Self {
            model: Arc::new(model),
            hybrid,
            over: Vec::new(),
            loose: Vec::new(),
            pushes: None,
            least,
            signals,
            list: Vec::new(),
            by_key: HashMap::new(),
        }
    }

    /// Takes modes that were met before, of the same equations.
    pub fn adopt(&mut self, list: Vec<Mode>) {
        let keys = list.iter().map(|mode| mode.key.clone());
        self.by_key = keys.zip(0..).collect();
        self.list = list;
    }

    /// Other equations from now on, without some relations.
    pub fn replace(&mut self, model: Arc<Model>, over: Vec<usize>) {
        self.model = model;
        self.over.extend(over);
        self.by_key.clear();
    }

    /// Ends legs where an expression of the present equations becomes negative.
    pub fn press(&mut self, pushes: ExprId) {
        self.pushes = Some(pushes);
        self.by_key.clear();
    }

    /// The equations before others took their place, with the relations that were left out for them.
    pub fn put_back(&mut self, model: Arc<Model>, over: &[usize]) {
        self.model = model;
        self.over.retain(|at| !over.contains(at));
        self.pushes = None;
        self.by_key.clear();
    }

    /// Does not hold relations any more: the equations read them as they are.
    pub fn loosen(&mut self, relations: Vec<usize>) {
        self.over.extend(&relations);
        self.loose.extend(relations);
        self.by_key.clear();
    }

    /// The mode of these values of all parameters; made where it is met first.
    pub fn at(&mut self, values: &[f64]) -> Result<usize, Box<Diagnostic>> {
        let key: Vec<bool> = self.hybrid.mode.iter().map(|&p| values[p] != 0.0).collect();
        if let Some(&known) = self.by_key.get(&key) {
            return Ok(known);
        }
        let relations = (&self.over[..], &self.loose[..], self.pushes);
        let (model, held, delayed) = in_mode(&self.model, self.hybrid, &key, relations);
        let system =
            System::driven(&model, self.signals.clone()).map_err(crate::analyze::system_error)?;
        let setup = Setup::new(&system);
        let structure = system.structure().ok();
        self.list.push(Mode {
            key: key.clone(),
            index: structure.map(|s| s.structural_index()),
            dof: structure.map(|s| s.n_degrees_of_freedom()),
            why: structure.is_none().then(|| {
                let balance = daelight_lang::balance(&model);
                let found = balance.diagnostics(&model);
                let said: Vec<_> = found.iter().map(|d| d.message.to_string()).collect();
                said.join("; ")
            }),
            events: Arc::new(Events::new(
                (&system, system.dae().sound().is_some()),
                held,
                self.least,
            )),
            delayed: (delayed.into_iter())
                .map(|delayed| Arc::new(system.equations().compile(&[delayed])))
                .collect(),
            system,
            setup: Arc::new(setup),
        });
        self.by_key.insert(key, self.list.len() - 1);
        Ok(self.list.len() - 1)
    }
}

/// The continuous model under a combination of conditions, what ends a leg of it, and what is delayed.
pub(super) fn in_mode(
    model: &Model,
    hybrid: &Hybrid,
    key: &[bool],
    (over, loose, pushes): (&[usize], &[usize], Option<ExprId>),
) -> (Model, Vec<Held>, Vec<ExprId>) {
    let mut model = model.clone();
    let mut graph = std::mem::take(&mut model.graph);
    let mut symbols = std::mem::take(&mut model.symbols);
    let truth: HashMap<usize, bool> = hybrid
        .mode
        .iter()
        .copied()
        .zip(key.iter().copied())
        .collect();
    let loose = loose.iter().map(|&at| &hybrid.relations[at]);
    let loose: HashMap<usize, ExprId> = loose.map(|r| (r.parameter, r.expr)).collect();
    let equations = model.equations.iter().chain(&model.initial_equations);
    let mut roots: Vec<ExprId> = equations.flat_map(|e| [e.left, e.right]).collect();
    roots.extend(model.energy);
    let images = graph.substitute(&roots, |graph, id| match symbols.get(id) {
        Symbol::Parameter(index) if loose.contains_key(&index) => loose.get(&index).copied(),
        Symbol::Parameter(index) => {
            let holds = truth.get(&index)?;
            Some(graph.constant(f64::from(u8::from(*holds))))
        }
        _ => None,
    });
    let mut pairs = images.chunks(2);
    for equation in model
        .equations
        .iter_mut()
        .chain(&mut model.initial_equations)
    {
        if let Some(&[left, right]) = pairs.next() {
            equation.residual = graph.sub(left, right);
            (equation.left, equation.right) = (left, right);
        }
    }
    if let (Some(energy), Some(&image)) = (&mut model.energy, images.last()) {
        *energy = image;
    }
    let mut held = held_conditions(&mut graph, &mut symbols, (&model, hybrid), over);
    if let Some(pushes) = pushes {
        let pushes = without_inputs(&mut graph, &symbols, &model.inputs, &[pushes])[0];
        let zero = graph.constant(0.0);
        let pulls = graph.binary(BinaryOp::Less, pushes, zero);
        let (sides, text) = ([pushes, zero], "contact".to_string());
        held.push(held_condition(
            (&mut graph, &symbols),
            pulls,
            sides,
            None,
            text,
        ));
    }
    let known = match held.is_empty() {
        true => HashMap::new(),
        false => {
            let residuals: Vec<ExprId> = model.equations.iter().map(|e| e.residual).collect();
            given_functions(&mut graph, &symbols, &residuals)
        }
    };
    for held in &mut held {
        let sides = graph.substitute(&held.sides, |_, id| match symbols.get(id) {
            Symbol::Unknown { unknown, order: 0 } => known.get(&unknown).copied(),
            _ => None,
        });
        held.of_time.copy_from_slice(&sides);
    }
    let delayed: Vec<ExprId> = hybrid.delays.iter().map(|delay| delay.expr).collect();
    let delayed = without_inputs(&mut graph, &symbols, &model.inputs, &delayed);
    model.hybrid = None;
    model.graph = graph;
    model.symbols = symbols;
    (model, held, delayed)
}

/// What is held: relations, and the unit that the argument of a `floor` lies in.
fn held_conditions(
    graph: &mut Graph,
    symbols: &mut Symbols,
    (model, hybrid): (&Model, &Hybrid),
    over: &[usize],
) -> Vec<Held> {
    let mut all = Vec::new();
    let plain = |graph: &mut Graph, symbols: &Symbols, expr| {
        without_inputs(graph, symbols, &model.inputs, &[expr])[0]
    };
    for (at, relation) in hybrid.relations.iter().enumerate() {
        let expr = plain(graph, symbols, relation.expr);
        let Node::Binary(op, left, right) = graph.node(expr) else {
            continue;
        };
        if relation.by != ChangedBy::Unknowns || over.contains(&at) {
            continue;
        }
        let id = symbols.id(Symbol::Parameter(relation.parameter));
        let held = graph.symbol(id);
        let not_held = graph.unary(UnaryOp::Not, held);
        let not_now = graph.unary(UnaryOp::Not, expr);
        let rises = graph.binary(BinaryOp::And, expr, not_held);
        let falls = graph.binary(BinaryOp::And, not_now, held);
        let changed = graph.binary(BinaryOp::Or, rises, falls);
        let text = model.parameters[relation.parameter].name.clone();
        let sides = [left, right];
        let is_above = matches!(op, BinaryOp::Greater | BinaryOp::GreaterEqual);
        all.push(Held {
            is_above,
            ..held_condition((graph, symbols), changed, sides, Some(at), text)
        });
    }
    for variable in &hybrid.variables {
        let Rule::Floor(x) = variable.rule else {
            continue;
        };
        let x = plain(graph, symbols, x);
        let id = symbols.id(Symbol::Parameter(variable.parameter));
        let floor = graph.symbol(id);
        let one = graph.constant(1.0);
        let next = graph.add(floor, one);
        let below = graph.binary(BinaryOp::Less, x, floor);
        let above = graph.binary(BinaryOp::GreaterEqual, x, next);
        for (changed, limit) in [(below, floor), (above, next)] {
            let text = variable.name.clone();
            let sides = [x, limit];
            all.push(held_condition((graph, symbols), changed, sides, None, text));
        }
    }
    all
}

fn held_condition(
    (graph, symbols): (&mut Graph, &Symbols),
    changed: ExprId,
    sides: [ExprId; 2],
    relation: Option<usize>,
    text: String,
) -> Held {
    let difference = graph.sub(sides[0], sides[1]);
    let (size, slopes) = size_of(graph, symbols, difference);
    Held {
        changed,
        sides,
        size,
        slopes,
        of_time: sides,
        relation,
        is_above: false,
        text,
    }
}
