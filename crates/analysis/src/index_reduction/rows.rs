//! Equations in derivatives of any order as expressions, and the few operations a reduction is made of.

use crate::equations::Equations;
use crate::tolerances::BESIDE;
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, Walker};
use daelight_lang::{Symbol, Symbols};
use std::collections::BTreeSet;

/// A derivative of an unknown: which unknown, and how often it is differentiated.
pub(super) type Key = (usize, usize);

/// Largest number of nodes that a reduction may add to the graph.
pub(super) const MAX_NODES: usize = 400_000;

/// A factor below this at the point is taken for zero.
pub(super) const VANISHING: f64 = 1e-10;

/// An equation `left = right` on its way into the reduced model.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub left: ExprId,
    pub right: ExprId,
    /// Where it comes from, for the comment above it; empty for an equation as written.
    pub note: String,
    /// The equation it was made from, and how often that was differentiated.
    pub equation: usize,
    pub times: usize,
    /// The derivative that it was solved for.
    pub solved: Option<Key>,
    /// What was divided by on the way, where that is no number.
    pub divisors: Vec<ExprId>,
}

impl Row {
    /// Remembers what was divided by in an expression that was put into the row.
    pub fn note_divisors(&mut self, divisors: &[ExprId]) {
        for &divisor in divisors {
            if !self.divisors.contains(&divisor) {
                self.divisors.push(divisor);
            }
        }
    }
}

/// The graph that rows live in, and the point at which they are looked at.
pub(super) struct Work<'a> {
    pub graph: Graph,
    pub symbols: Symbols,
    walker: Walker,
    parameters: &'a [f64],
    time: f64,
    values: &'a FastMap<Key, f64>,
    most_nodes: usize,
}

impl<'a> Work<'a> {
    pub fn new(
        equations: &Equations,
        parameters: &'a [f64],
        time: f64,
        values: &'a FastMap<Key, f64>,
    ) -> Self {
        let graph = Graph::clone(equations.graph());
        Self {
            most_nodes: graph.len() + MAX_NODES,
            graph,
            symbols: Symbols::clone(equations.symbols()),
            walker: Walker::new(),
            parameters,
            time,
            values,
        }
    }

    /// Whether the graph has outgrown its budget.
    pub fn is_too_large(&self) -> bool {
        self.graph.len() > self.most_nodes
    }

    /// The derivative as an expression.
    pub fn symbol(&mut self, (unknown, order): Key) -> ExprId {
        let order = order as u32;
        let id = self.symbols.id(Symbol::Unknown { unknown, order });
        self.graph.symbol(id)
    }

    /// The derivatives that occur in an expression, ascending.
    pub fn keys(&mut self, expr: ExprId) -> Vec<Key> {
        let symbols = &self.symbols;
        let key = |id| match symbols.get(id) {
            Symbol::Unknown { unknown, order } => Some((unknown, order as usize)),
            _ => None,
        };
        let found = self.walker.symbols(&self.graph, &[expr]);
        let mut keys: Vec<Key> = found.into_iter().filter_map(key).collect();
        keys.sort_unstable();
        keys
    }

    /// The derivatives that occur in a row.
    pub fn row_keys(&mut self, row: &Row) -> Vec<Key> {
        let mut keys = self.keys(row.left);
        keys.extend(self.keys(row.right));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Number of nodes of an expression.
    pub fn size(&mut self, expr: ExprId) -> usize {
        self.walker.reachable(&self.graph, &[expr]).len()
    }

    /// The value at the point; NaN where something has none.
    pub fn value(&self, expr: ExprId) -> f64 {
        self.value_at(expr, |value, _| value)
    }

    /// The value where time and unknowns, numbered, are changed.
    fn value_at(&self, expr: ExprId, changed: impl Fn(f64, usize) -> f64) -> f64 {
        self.graph
            .evaluate(&[expr], |id| match self.symbols.get(id) {
                Symbol::Time => changed(self.time, 0),
                Symbol::Parameter(index) => self.parameters[index],
                Symbol::Unknown { unknown, order } => {
                    let value = self.values.get(&(unknown, order as usize));
                    let number = 1 + 31 * unknown + order as usize;
                    changed(value.copied().unwrap_or(f64::NAN), number)
                }
                symbol @ Symbol::Input { .. } => self.symbols.value_at(symbol, self.time),
            })[0]
    }

    /// The value of the derivative by a key at the point, and the largest of those at three places beside it.
    pub fn partial_here_and_beside(&mut self, expr: ExprId, (unknown, order): Key) -> [f64; 2] {
        let order = order as u32;
        let id = self.symbols.id(Symbol::Unknown { unknown, order });
        let partial = self.graph.partial(expr, id);
        let beside = (1..=3).map(|place| {
            let value = self.value_at(partial, |value, number| {
                // In directions without a pattern.
                let direction = (0.7 + 1.3 * number as f64 + 2.9 * f64::from(place)).sin();
                value + BESIDE * (1.0 + value.abs()) * direction
            });
            if value.is_finite() { value.abs() } else { 0.0 }
        });
        let beside = beside.fold(0.0, f64::max);
        [self.value(partial), beside]
    }

    /// The total time derivative, like terms collected.
    pub fn derivative(&mut self, expr: ExprId) -> ExprId {
        let symbols = &mut self.symbols;
        let rate = self
            .graph
            .derivatives_along(&[expr], |graph, id| symbols.rate(graph, id));
        self.graph.tidy(&rate)[0]
    }

    /// `left - right`.
    pub fn residual(&mut self, row: &Row) -> ExprId {
        self.graph.sub(row.left, row.right)
    }

    /// The factor of a derivative in an expression that is linear in it; `None` when it is not.
    pub fn factor(&mut self, expr: ExprId, key: Key) -> Option<ExprId> {
        let (unknown, order) = (key.0, key.1 as u32);
        let id = self.symbols.id(Symbol::Unknown { unknown, order });
        let partial = self.graph.partial(expr, id);
        let factor = self.graph.tidy(&[partial])[0];
        (!self.keys(factor).contains(&key)).then_some(factor)
    }

    /// The value at the point of the derivative by a key.
    pub fn partial_value(&mut self, expr: ExprId, (unknown, order): Key) -> f64 {
        let order = order as u32;
        let id = self.symbols.id(Symbol::Unknown { unknown, order });
        let partial = self.graph.partial(expr, id);
        self.value(partial)
    }

    /// What a derivative equals by an equation in which it has this factor.
    pub fn solution(&mut self, residual: ExprId, key: Key, factor: ExprId) -> ExprId {
        let rest = self.without(residual, key);
        let value = match self.graph.as_constant(factor) {
            Some(-1.0) => rest,
            _ => {
                let minus = self.graph.neg(rest);
                self.graph.div(minus, factor)
            }
        };
        self.graph.tidy(&[value])[0]
    }

    /// A linear expression without the term of a derivative. 0/b is left out: the factor 1/b of that term has no value
    /// either where b is zero.
    fn without(&mut self, expr: ExprId, (unknown, order): Key) -> ExprId {
        let order = order as u32;
        let symbol = self.symbols.id(Symbol::Unknown { unknown, order });
        let graph = &mut self.graph;
        let mut images: FastMap<ExprId, ExprId> = FastMap::default();
        for &id in self.walker.reachable(graph, &[expr]) {
            let image = match graph.node(id) {
                Node::Symbol(found) if found == symbol => graph.constant(0.0),
                Node::Constant(_) | Node::Symbol(_) => id,
                Node::Unary(op, a) => graph.unary(op, images[&a]),
                Node::Binary(BinaryOp::Div, a, _) if graph.as_constant(images[&a]) == Some(0.0) => {
                    images[&a]
                }
                Node::Binary(op, a, b) => graph.binary(op, images[&a], images[&b]),
                Node::Select(c, a, b) => graph.select(images[&c], images[&a], images[&b]),
            };
            images.insert(id, image);
        }
        images[&expr]
    }

    fn replaced(&mut self, exprs: &[ExprId], (unknown, order): Key, by: ExprId) -> Vec<ExprId> {
        let order = order as u32;
        let symbol = self.symbols.id(Symbol::Unknown { unknown, order });
        self.graph
            .substitute(exprs, |_, id| (id == symbol).then_some(by))
    }

    /// Puts an expression for a derivative into a row.
    pub fn substitute(&mut self, row: &mut Row, key: Key, by: ExprId) {
        let sides = [row.left, row.right];
        let new = self.replaced(&sides, key, by);
        if new != sides {
            let tidy = self.graph.tidy(&new);
            (row.left, row.right) = (tidy[0], tidy[1]);
        }
    }

    /// Turns a row into `key = solution`.
    pub fn solve(&mut self, row: &mut Row, key: Key, factor: ExprId) -> ExprId {
        let residual = self.residual(row);
        row.right = self.solution(residual, key, factor);
        row.left = self.symbol(key);
        row.solved = Some(key);
        if self.graph.as_constant(factor).is_none() {
            row.note_divisors(&[factor]);
        }
        row.right
    }
}

/// How derivatives are named in the reduced model.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Derivatives 0 to `n_states - 1` of each unknown are states.
    pub n_states: Vec<usize>,
    /// Derivatives of states that get a name of their own.
    pub named: BTreeSet<Key>,
    /// Whether `der(x)` stays as it is for unknowns that are no states too.
    pub keeps_derivatives: bool,
}

impl Layout {
    pub fn of_states(n_states: &[usize]) -> Self {
        Self {
            n_states: n_states.to_vec(),
            named: BTreeSet::new(),
            keeps_derivatives: false,
        }
    }

    /// Whether it is a state.
    pub fn is_state(&self, (unknown, order): Key) -> bool {
        order < self.n_states[unknown]
    }

    /// Whether it is the derivative of the last state of its unknown.
    pub fn leads(&self, (unknown, order): Key) -> bool {
        order > 0 && order == self.n_states[unknown]
    }

    /// Whether it is an unknown of the reduced model by itself.
    pub fn has_name(&self, key: Key) -> bool {
        key.1 == 0 || self.named.contains(&key) || !(self.keeps_derivatives || self.leads(key))
    }
}
