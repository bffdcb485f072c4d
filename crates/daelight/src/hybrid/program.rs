//! Values of discrete expressions at a point: the time, the unknowns and their rates, and all parameters.

use super::border::{Slope, is_border, least_of, size_of};
use daelight_expr::{ExprId, Graph, Node, Walker};
use daelight_lang::{ChangedBy, Hybrid, Input, Model, Symbol, Symbols};

/// Where expressions are evaluated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub time: f64,
    pub values: Vec<f64>,
    pub rates: Vec<f64>,
}

/// An expression, and the nodes below it, arguments first.
type List = (ExprId, Box<[ExprId]>);

/// The size of what a relation is made of, and its slopes along unknowns.
type SizeAndSlopes = (List, Vec<Slope<List>>);

/// Expressions of the discrete part of a model, ready to be evaluated one after the other.
pub(super) struct Program {
    graph: Graph,
    symbols: Symbols,
    lists: Vec<List>,
    /// The same for the sizes of what relations are made of and their slopes along unknowns, from the first relation on.
    sizes: (usize, Vec<SizeAndSlopes>),
    /// Nominal values of the unknowns, if they are told.
    nominals: Vec<f64>,
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
        let roots = without_inputs(&mut graph, symbols, &model.inputs, exprs);
        let mut sizes = Vec::with_capacity(relations.len());
        for &root in &roots[relations.clone()] {
            sizes.push(match graph.node(root) {
                Node::Binary(_, a, b) => {
                    let difference = graph.sub(a, b);
                    size_of(&mut graph, symbols, difference)
                }
                _ => (graph.constant(0.0), Vec::new()),
            });
        }
        let mut walker = Walker::new();
        let mut list = |root: ExprId| {
            let below = walker.reachable(&graph, &[root]);
            (root, below.to_vec().into_boxed_slice())
        };
        let lists = roots.iter().map(|&root| list(root)).collect();
        let sizes = sizes.into_iter().map(|(size, slopes)| {
            let slopes = slopes
                .into_iter()
                .map(|(u, order, slope)| (u, order, list(slope)));
            let slopes = slopes.collect();
            (list(size), slopes)
        });
        let sizes = sizes.collect();
        Self {
            sizes: (relations.start, sizes),
            nominals: Vec::new(),
            scratch: vec![0.0; graph.len()],
            graph,
            symbols: symbols.clone(),
            lists,
        }
    }

    /// Exchanges two expressions.
    pub fn swap(&mut self, a: usize, b: usize) {
        self.lists.swap(a, b);
    }

    /// Sizes unknowns by their nominal values.
    pub fn with_nominals(mut self, nominals: Vec<f64>) -> Self {
        self.nominals = nominals;
        self
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

    /// Whether a relation by its position is on its border, or within so many times its width; `makings` tells the size of what its
    /// slopes along unknowns are made of.
    pub fn is_on_border(
        &mut self,
        (at, widths): (usize, f64),
        point: &Point,
        (parameters, rtol): (&[f64], f64),
        makings: impl FnOnce(&[Slope<f64>]) -> Option<f64>,
    ) -> bool {
        self.value(at, point, parameters);
        let Some((left, right)) = self.sides(at) else {
            return false;
        };
        let sides = (right + (left - right) / widths, right);
        let (size, slopes) = &self.sizes.1[at - self.sizes.0];
        let known = (&self.graph, &self.symbols);
        let mut value = |list| evaluate(known, list, (point, parameters), &mut self.scratch);
        let size = value(size);
        let slopes = slopes
            .iter()
            .map(|(u, order, slope)| (*u, *order, value(slope)));
        let slopes: Vec<Slope<f64>> = slopes.collect();
        let least = least_of(&slopes, &self.nominals, rtol);
        is_border(sides, Some(size), least) || is_border(sides, makings(&slopes), least)
    }

    /// How large a relation's sides are: their own sizes, what they are made of, and what unknowns of these sizes make of them.
    pub fn size(
        &mut self,
        at: usize,
        point: &Point,
        parameters: &[f64],
        scale: impl Fn(usize, usize) -> f64,
    ) -> f64 {
        self.value(at, point, parameters);
        let (a, b) = self.sides(at).unwrap_or_default();
        let (size, slopes) = &self.sizes.1[at - self.sizes.0];
        let known = (&self.graph, &self.symbols);
        let mut value = |list| evaluate(known, list, (point, parameters), &mut self.scratch);
        let made = value(size);
        let terms = slopes.iter();
        let terms = terms.map(|(u, order, slope)| value(slope).abs() * scale(*u, *order));
        let moved: f64 = terms.sum();
        made.max(moved).max(a.abs() + b.abs())
    }

    /// Slopes of a relation's difference along unknowns and their rates; `None` where it looks at the time itself.
    pub fn slopes(
        &mut self,
        at: usize,
        point: &Point,
        parameters: &[f64],
    ) -> Option<Vec<Slope<f64>>> {
        let is_time = |&node: &ExprId| {
            let symbol = self.graph.as_symbol(node);
            symbol.is_some_and(|symbol| self.symbols.get(symbol) == Symbol::Time)
        };
        if self.lists[at].1.iter().any(is_time) {
            return None;
        }
        let known = (&self.graph, &self.symbols);
        let slopes = self.sizes.1[at - self.sizes.0].1.iter();
        let slopes = slopes.map(|(unknown, order, slope)| {
            let value = evaluate(known, slope, (point, parameters), &mut self.scratch);
            (*unknown, *order, value)
        });
        Some(slopes.collect())
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

/// Expressions with inputs replaced by what defines them; those given by data stay.
pub(super) fn without_inputs(
    graph: &mut Graph,
    symbols: &Symbols,
    inputs: &[Input],
    exprs: &[ExprId],
) -> Vec<ExprId> {
    let mut roots = exprs.to_vec();
    for _ in 0..=inputs.len() {
        let next = graph.substitute(&roots, |_, id| match symbols.get(id) {
            Symbol::Input { input, order: 0 } if symbols.signal_of(input).is_none() => {
                inputs[input].definition
            }
            _ => None,
        });
        if next == roots {
            break;
        }
        roots = next;
    }
    roots
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
    pub delays: usize,
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
        let delays = all.len();
        all.extend(hybrid.delays.iter().flat_map(|d| [d.expr, d.by]));
        let layout = Self {
            rules: 0,
            relations,
            limits,
            samples,
            reinits,
            checks,
            starts,
            delays,
            stop: all.len(),
            energy: all.len() + usize::from(stop.is_some()),
        };
        all.extend(stop);
        (layout, all)
    }
}
