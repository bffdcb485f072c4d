//! What is known of expressions before a run: whether they vary, and their values where they do not.
//!
//! Both are kept for every node of the graph and found once, from the arguments, so that asking
//! costs nothing however long the expression has grown.

use super::Elaborator;
use crate::model::{Symbol, Type};
use daelight_expr::{ExprId, FastMap, Node};

#[derive(Default)]
pub(super) struct Knowledge {
    nodes: Vec<Fact>,
    /// Expressions whose parameters have been marked structural.
    structural: FastMap<ExprId, ()>,
}

#[derive(Clone, Copy)]
struct Fact {
    /// Depends on time, an input or an unknown.
    varies: bool,
    /// Depends on a Real parameter.
    has_real: bool,
    /// The value; meaningless where it varies.
    value: f64,
}

impl Elaborator<'_> {
    fn fact(&mut self, expr: ExprId) -> Fact {
        for position in self.knowledge.nodes.len()..=expr.index() {
            let id = self.graph.id(position);
            let fact = self.new_fact(id);
            self.knowledge.nodes.push(fact);
        }
        self.knowledge.nodes[expr.index()]
    }

    fn new_fact(&self, id: ExprId) -> Fact {
        let node = self.graph.node(id);
        if let Node::Symbol(symbol) = node {
            return match self.symbols.get(symbol) {
                Symbol::Parameter(index) => Fact {
                    varies: false,
                    has_real: self.parameters[index].ty == Type::Real,
                    value: self.parameters[index].value,
                },
                _ => Fact {
                    varies: true,
                    has_real: false,
                    value: f64::NAN,
                },
            };
        }
        let known = |argument: ExprId| self.knowledge.nodes[argument.index()];
        let varies = node.arguments().any(|argument| known(argument).varies);
        Fact {
            varies,
            has_real: node.arguments().any(|argument| known(argument).has_real),
            value: match varies {
                true => f64::NAN,
                false => self.graph.node_value(id, |argument| known(argument).value),
            },
        }
    }

    /// Whether an expression depends on time, an input or an unknown.
    pub(super) fn varies(&mut self, expr: ExprId) -> bool {
        self.fact(expr).varies
    }

    /// The number behind an expression of parameters; NaN where it varies.
    pub(super) fn parameter_value(&mut self, expr: ExprId) -> f64 {
        self.fact(expr).value
    }

    /// The number behind an expression of parameters; the parameters become structural.
    ///
    /// `None` when it depends on anything that changes during a run.
    pub(super) fn known(&mut self, expr: ExprId) -> Option<f64> {
        let fact = self.fact(expr);
        if fact.varies {
            return None;
        }
        self.make_structural(expr);
        Some(fact.value)
    }

    /// Marks the parameters that decide the structure, and those that decide them.
    fn make_structural(&mut self, expr: ExprId) {
        let mut pending = vec![expr];
        while let Some(expr) = pending.pop() {
            let is_leaf = self.graph.as_constant(expr).is_some();
            if is_leaf || self.knowledge.structural.insert(expr, ()).is_some() {
                continue;
            }
            for id in self.walker.symbols(&self.graph, &[expr]) {
                if let Symbol::Parameter(index) = self.symbols.get(id) {
                    self.parameters[index].is_structural = true;
                    pending.push(self.parameters[index].definition);
                }
            }
        }
    }

    /// Whether a condition is settled by numbers and by Boolean or Integer parameters.
    ///
    /// Conditions on Real parameters stay in the model, so that they can be swept.
    pub(super) fn decided(&mut self, condition: ExprId) -> Option<bool> {
        let fact = self.fact(condition);
        if fact.varies || fact.has_real {
            return None;
        }
        self.make_structural(condition);
        Some(fact.value != 0.0)
    }

    /// The first few parameters that an expression depends on, for messages.
    pub(super) fn parameters_in(&mut self, expr: ExprId) -> Vec<String> {
        let symbols = self.walker.symbols(&self.graph, &[expr]);
        let mut indices: Vec<usize> = symbols
            .into_iter()
            .filter_map(|id| match self.symbols.get(id) {
                Symbol::Parameter(index) => Some(index),
                _ => None,
            })
            .collect();
        indices.sort_unstable();
        indices
            .into_iter()
            .take(6)
            .map(|index| self.parameters[index].name.clone())
            .collect()
    }

    /// Operations on numbers and parameters that have no value, where equations need them.
    ///
    /// Branches that are not taken do not count; nor do those behind a condition that varies, which
    /// may guard against just this.
    pub(super) fn undefined_constants(&mut self) -> Vec<ExprId> {
        let mut pending: Vec<ExprId> = self
            .equations
            .iter()
            .map(|equation| equation.residual)
            .collect();
        let mut seen: FastMap<ExprId, ()> = FastMap::default();
        let mut found = Vec::new();
        while let Some(id) = pending.pop() {
            if seen.insert(id, ()).is_some() {
                continue;
            }
            let fact = self.fact(id);
            let node = self.graph.node(id);
            if let Node::Select(condition, a, b) = node {
                pending.push(condition);
                let condition = self.fact(condition);
                if !condition.varies {
                    pending.push(if condition.value != 0.0 { a } else { b });
                }
                continue;
            }
            let arguments: Vec<ExprId> = node.arguments().collect();
            let from_numbers = arguments.iter().all(|&a| self.fact(a).value.is_finite());
            if !fact.varies && !fact.value.is_finite() && from_numbers {
                found.push(id);
            }
            pending.extend(arguments);
        }
        found.sort_unstable();
        found
    }
}
