//! Values of discrete expressions at a point: the time, the unknowns and their rates, and all parameters.

use daelight_expr::{ExprId, Graph, Node, Walker};
use daelight_lang::{ChangedBy, Hybrid, Model, Symbol, Symbols};

/// Where expressions are evaluated.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub time: f64,
    pub values: Vec<f64>,
    pub rates: Vec<f64>,
}

/// Expressions of the discrete part of a model, ready to be evaluated one after the other.
pub(super) struct Program {
    graph: Graph,
    symbols: Symbols,
    /// For each expression the nodes below it, arguments first.
    lists: Vec<(ExprId, Box<[ExprId]>)>,
    scratch: Vec<f64>,
}

impl Program {
    /// Reads expressions; inputs are replaced by what defines them.
    pub fn new(model: &Model, symbols: &Symbols, exprs: &[ExprId]) -> Self {
        let mut graph = model.graph.clone();
        let mut roots = exprs.to_vec();
        for _ in 0..=model.inputs.len() {
            let next = graph.substitute(&roots, |_, id| match symbols.get(id) {
                Symbol::Input { input, order: 0 } => model.inputs[input].definition,
                _ => None,
            });
            if next == roots {
                break;
            }
            roots = next;
        }
        let mut walker = Walker::new();
        let lists = roots.iter().map(|&root| {
            let below = walker.reachable(&graph, &[root]);
            (root, below.to_vec().into_boxed_slice())
        });
        let lists: Vec<_> = lists.collect();
        Self {
            scratch: vec![0.0; graph.len()],
            graph,
            symbols: symbols.clone(),
            lists,
        }
    }

    /// The value of an expression by its position.
    pub fn value(&mut self, at: usize, point: &Point, parameters: &[f64]) -> f64 {
        let (root, below) = &self.lists[at];
        for &id in below {
            let value = match self.graph.node(id) {
                Node::Symbol(symbol) => match self.symbols.get(symbol) {
                    Symbol::Time => point.time,
                    Symbol::Parameter(index) => parameters[index],
                    Symbol::Unknown { unknown, order: 0 } => point.values[unknown],
                    Symbol::Unknown { unknown, order: 1 } => point.rates[unknown],
                    other => self.symbols.value_at(other, point.time),
                },
                _ => self
                    .graph
                    .node_value(id, |argument| self.scratch[argument.index()]),
            };
            self.scratch[id.index()] = value;
        }
        self.scratch[root.index()]
    }

    /// The sides of a relation by its position, as they were evaluated last.
    pub fn sides(&self, at: usize) -> Option<(f64, f64)> {
        match self.graph.node(self.lists[at].0) {
            Node::Binary(_, a, b) => Some((self.scratch[a.index()], self.scratch[b.index()])),
            _ => None,
        }
    }
}

/// Positions of the expressions of a hybrid model in its program.
pub(super) struct Layout {
    pub rules: usize,
    pub relations: usize,
    pub limits: usize,
    pub samples: usize,
    pub reinits: usize,
    pub checks: usize,
    pub starts: usize,
    pub stop: usize,
    pub energy: usize,
}

impl Layout {
    /// The expressions in their order, and where each kind begins.
    pub fn of(hybrid: &Hybrid, stop: Option<ExprId>, zero: ExprId) -> (Self, Vec<ExprId>) {
        let mut all: Vec<ExprId> = hybrid.variables.iter().map(|v| v.rule.expr()).collect();
        let relations = all.len();
        all.extend(hybrid.relations.iter().map(|r| r.expr));
        let limits = all.len();
        all.extend(hybrid.relations.iter().map(|r| match r.by {
            ChangedBy::Time { limit, .. } => limit,
            _ => zero,
        }));
        let samples = all.len();
        all.extend(hybrid.samples.iter().flat_map(|s| [s.start, s.interval]));
        let reinits = all.len();
        all.extend(hybrid.reinits.iter().flat_map(|r| [r.condition, r.value]));
        let checks = all.len();
        let checked = hybrid.checks.iter();
        all.extend(checked.flat_map(|c| [c.condition, c.guard.unwrap_or(zero)]));
        let starts = all.len();
        all.extend(hybrid.starts.iter().map(|(_, expr)| *expr));
        let layout = Self {
            rules: 0,
            relations,
            limits,
            samples,
            reinits,
            checks,
            starts,
            stop: all.len(),
            energy: all.len() + usize::from(stop.is_some()),
        };
        all.extend(stop);
        (layout, all)
    }
}
