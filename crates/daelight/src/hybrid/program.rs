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

/// An expression, and the nodes below it, arguments first.
type List = (ExprId, Box<[ExprId]>);

/// Expressions of the discrete part of a model, ready to be evaluated one after the other.
pub(super) struct Program {
    graph: Graph,
    symbols: Symbols,
    lists: Vec<List>,
    /// The same for the sizes of what relations are made of, from the position of the first relation on.
    sizes: (usize, Vec<List>),
    scratch: Vec<f64>,
}

impl Program {
    /// Reads expressions, some of them relations; inputs are replaced by what defines them.
    pub fn new(
        model: &Model,
        symbols: &Symbols,
        exprs: &[ExprId],
        relations: std::ops::Range<usize>,
    ) -> Self {
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
        let mut sizes = Vec::with_capacity(relations.len());
        for &root in &roots[relations.clone()] {
            sizes.push(match graph.node(root) {
                Node::Binary(_, a, b) => {
                    let difference = graph.sub(a, b);
                    super::border::size_of(&mut graph, difference)
                }
                _ => graph.constant(0.0),
            });
        }
        let mut walker = Walker::new();
        let mut list = |root: ExprId| {
            let below = walker.reachable(&graph, &[root]);
            (root, below.to_vec().into_boxed_slice())
        };
        let lists = roots.iter().map(|&root| list(root)).collect();
        let sizes = sizes.into_iter().map(list).collect();
        Self {
            sizes: (relations.start, sizes),
            scratch: vec![0.0; graph.len()],
            graph,
            symbols: symbols.clone(),
            lists,
        }
    }

    /// The value of an expression by its position.
    pub fn value(&mut self, at: usize, point: &Point, parameters: &[f64]) -> f64 {
        let list = &self.lists[at];
        evaluate(
            (&self.graph, &self.symbols),
            list,
            (point, parameters),
            &mut self.scratch,
        )
    }

    /// Whether a relation by its position is on its border.
    pub fn is_on_border(&mut self, at: usize, point: &Point, parameters: &[f64]) -> bool {
        self.value(at, point, parameters);
        let Some(sides) = self.sides(at) else {
            return false;
        };
        let list = &self.sizes.1[at - self.sizes.0];
        let known = (&self.graph, &self.symbols);
        let size = evaluate(known, list, (point, parameters), &mut self.scratch);
        super::border::is_border(sides, Some(size))
    }

    /// The sides of a relation by its position, as they were evaluated last.
    pub fn sides(&self, at: usize) -> Option<(f64, f64)> {
        match self.graph.node(self.lists[at].0) {
            Node::Binary(_, a, b) => Some((self.scratch[a.index()], self.scratch[b.index()])),
            _ => None,
        }
    }

    /// Whether a relation by its position holds where its sides are equal.
    pub fn holds_at_equality(&self, at: usize) -> bool {
        use daelight_expr::BinaryOp::{Equal, GreaterEqual, LessEqual};
        let node = self.graph.node(self.lists[at].0);
        matches!(node, Node::Binary(Equal | GreaterEqual | LessEqual, _, _))
    }
}

fn evaluate(
    (graph, symbols): (&Graph, &Symbols),
    (root, below): &(ExprId, Box<[ExprId]>),
    (point, parameters): (&Point, &[f64]),
    scratch: &mut [f64],
) -> f64 {
    for &id in below {
        let value = match graph.node(id) {
            Node::Symbol(symbol) => match symbols.get(symbol) {
                Symbol::Time => point.time,
                Symbol::Parameter(index) => parameters[index],
                Symbol::Unknown { unknown, order: 0 } => point.values[unknown],
                Symbol::Unknown { unknown, order: 1 } => point.rates[unknown],
                other => symbols.value_at(other, point.time),
            },
            _ => graph.node_value(id, |argument| scratch[argument.index()]),
        };
        scratch[id.index()] = value;
    }
    scratch[root.index()]
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
