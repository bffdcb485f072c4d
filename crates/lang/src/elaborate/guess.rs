//! Guesses for unknowns of components that must not be zero: what their own equations say (`docs/theory/components.md`,
//! section 6).
//!
//! A component that divides by one of its variables seldom gives it a start value, since an equation tells it. The search for
//! a consistent point begins there, not at zero.

use super::Elaborator;
use crate::model::Symbol;
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp};
use std::collections::{BTreeSet, HashMap};

impl Elaborator<'_> {
    /// Gives unknowns of components without a start value one, where an equation divides by them.
    pub(super) fn guess_by_definitions(&mut self) {
        if self.has_errors() {
            return;
        }
        let mut definitions: HashMap<usize, ExprId> = HashMap::new();
        for equation in &self.equations {
            for (side, other) in [
                (equation.left, equation.right),
                (equation.right, equation.left),
            ] {
                if let Some(Symbol::Unknown { unknown, order: 0 }) =
                    self.graph.as_symbol(side).map(|id| self.symbols.get(id))
                {
                    definitions.entry(unknown).or_insert(other);
                }
            }
        }
        let mut known: HashMap<usize, f64> = HashMap::new();
        for unknown in self.must_not_vanish() {
            let it = &self.unknowns[unknown];
            if it.start.is_some() || it.fixed || !it.name.contains('.') {
                continue;
            }
            let guess = self.guess(unknown, &definitions, &mut known, 0);
            if guess != 0.0 && guess.is_finite() {
                let start = self.graph.constant(guess);
                self.unknowns[unknown].start = Some(start);
                self.unknowns[unknown].start_is_default = true;
            }
        }
    }

    /// Unknowns below which an equation has no value where they are zero.
    fn must_not_vanish(&mut self) -> BTreeSet<usize> {
        let residuals: Vec<ExprId> = self.equations.iter().map(|e| e.residual).collect();
        let mut below = Vec::new();
        for id in self.walker.reachable(&self.graph, &residuals).to_vec() {
            match self.graph.node(id) {
                Node::Binary(BinaryOp::Div, _, b) => below.push(b),
                Node::Binary(BinaryOp::Pow, a, _) => below.push(a),
                Node::Unary(UnaryOp::Log | UnaryOp::Log10 | UnaryOp::Sqrt, a) => below.push(a),
                _ => {}
            }
        }
        let symbols = self.walker.symbols(&self.graph, &below);
        let unknown = |id| match self.symbols.get(id) {
            Symbol::Unknown { unknown, order: 0 } => Some(unknown),
            _ => None,
        };
        symbols.into_iter().filter_map(unknown).collect()
    }

    /// The start value of an unknown, or what its equation says at those of the others; zero where nothing is said.
    fn guess(
        &mut self,
        unknown: usize,
        definitions: &HashMap<usize, ExprId>,
        known: &mut HashMap<usize, f64>,
        depth: usize,
    ) -> f64 {
        if let Some(&value) = known.get(&unknown) {
            return value;
        }
        if let Some(start) = self.unknowns[unknown].start {
            return self.parameter_value(start);
        }
        // Where definitions go round in a circle they say nothing.
        known.insert(unknown, 0.0);
        let Some(&definition) = definitions.get(&unknown) else {
            return 0.0;
        };
        if depth >= super::MAX_DEPTH {
            return 0.0;
        }
        let mut values: HashMap<ExprId, f64> = HashMap::new();
        for id in self.walker.reachable(&self.graph, &[definition]).to_vec() {
            let value = match self.graph.node(id) {
                Node::Symbol(symbol) => match self.symbols.get(symbol) {
                    Symbol::Unknown { unknown, order: 0 } => {
                        self.guess(unknown, definitions, known, depth + 1)
                    }
                    Symbol::Parameter(_) => self.parameter_value(id),
                    _ => 0.0,
                },
                _ => self.graph.node_value(id, |argument| values[&argument]),
            };
            values.insert(id, value);
        }
        let value = values[&definition];
        let value = if value.is_finite() { value } else { 0.0 };
        known.insert(unknown, value);
        value
    }
}
