//! Points at the edge of the domain of a function: it has a value there, and no derivative.
//!
//! Such a point is singular whatever the ranks say that finite neighbours suggest. Section 11 of
//! `docs/theory/initial.md`.

use crate::System;
use crate::initial::{TaylorJet, nominal};
use crate::tolerances::ROUNDING;
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};
use daelight_lang::{PHRASE, Symbol};

/// An expression whose argument is at the edge of its domain.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The equation it stands in.
    pub equation: usize,
    /// The expression as text.
    pub text: String,
    /// Its argument as text.
    pub argument: String,
    /// The argument's value.
    pub value: f64,
    /// The unknowns of the argument.
    pub unknowns: Vec<usize>,
}

impl Edge {
    /// One sentence without its end.
    pub fn sentence(&self) -> String {
        format!(
            "`{}` is at the edge of its domain, where it has no derivative: `{}` is {}",
            self.text,
            self.argument,
            daelight_expr::number(self.value)
        )
    }
}

/// How far an argument may go.
#[derive(Clone, Copy)]
enum Domain {
    /// Not below zero.
    NotNegative,
    /// Between -1 and 1.
    UnitInterval,
}

/// The argument of a function with a derivative that is infinite at the edge of its domain.
fn limited(graph: &Graph, id: ExprId) -> Option<(ExprId, Domain)> {
    match graph.node(id) {
        Node::Unary(UnaryOp::Sqrt | UnaryOp::Log | UnaryOp::Log10, a) => {
            Some((a, Domain::NotNegative))
        }
        Node::Unary(UnaryOp::Asin | UnaryOp::Acos, a) => Some((a, Domain::UnitInterval)),
        Node::Binary(BinaryOp::Pow, a, b) => {
            let exponent = graph.as_constant(b)?;
            (exponent.fract() != 0.0).then_some((a, Domain::NotNegative))
        }
        _ => None,
    }
}

/// All expressions below one that have a say at a point: what stands in the other branch of an `if` has none, and on its switch neither
/// side has, as long as nobody says which one it is.
fn taken(graph: &Graph, root: ExprId, value_of: impl Fn(SymbolId) -> f64) -> Vec<ExprId> {
    let nodes = Walker::new().reachable(graph, &[root]).to_vec();
    let has_choices = |id: &ExprId| matches!(graph.node(*id), Node::Select(..));
    if !nodes.iter().any(has_choices) {
        return nodes;
    }
    let mut seen: FastMap<ExprId, ()> = FastMap::default();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if seen.insert(id, ()).is_some() {
            continue;
        }
        match graph.node(id) {
            Node::Select(condition, a, b) => {
                stack.push(condition);
                if !is_on_switch(graph, condition, &value_of) {
                    let holds = graph.evaluate(&[condition], &value_of)[0] != 0.0;
                    stack.push(if holds { a } else { b });
                }
            }
            node => stack.extend(node.arguments()),
        }
    }
    nodes
        .into_iter()
        .filter(|id| seen.contains_key(id))
        .collect()
}

/// Whether both sides of a relation in a condition are equal.
fn is_on_switch(graph: &Graph, condition: ExprId, value_of: &impl Fn(SymbolId) -> f64) -> bool {
    match graph.node(condition) {
        Node::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            is_on_switch(graph, a, value_of) || is_on_switch(graph, b, value_of)
        }
        Node::Unary(UnaryOp::Not, a) => is_on_switch(graph, a, value_of),
        Node::Binary(_, a, b) => {
            let values = graph.evaluate(&[a, b], value_of);
            values[0] == values[1]
        }
        _ => false,
    }
}

/// The expressions of a system that are at the edge of their domain at a jet, each once.
pub(crate) fn edges(system: &System, time: f64, jet: &TaylorJet) -> Vec<Edge> {
    let equations = system.equations();
    let (graph, symbols) = (equations.graph(), equations.symbols());
    let parameters = system.parameters().values();
    let sizes = nominal(system);
    let value_of = |id| match symbols.get(id) {
        Symbol::Time => time,
        Symbol::Parameter(index) => parameters[index],
        Symbol::Unknown { unknown, order } => jet.derivative(unknown, order as usize),
        symbol @ Symbol::Input { .. } => symbols.value_at(symbol, time),
    };
    // The size of what an argument is the sum of; a plain unknown is measured by its typical size.
    let size_of = |expr: ExprId| {
        let mut size = 0.0;
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            match graph.node(expr) {
                Node::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => open.extend([a, b]),
                Node::Unary(UnaryOp::Neg, a) => open.push(a),
                Node::Symbol(id) => {
                    let typical = match symbols.get(id) {
                        Symbol::Unknown { unknown, .. } => sizes[unknown],
                        Symbol::Time => 1.0,
                        _ => 0.0,
                    };
                    size += value_of(id).abs().max(typical);
                }
                _ => size += graph.evaluate(&[expr], value_of)[0].abs(),
            }
        }
        size
    };
    let mut walker = Walker::new();
    let mut found: Vec<(ExprId, Edge)> = Vec::new();
    for (equation, &residual) in equations.residuals().iter().enumerate() {
        for id in taken(graph, residual, value_of) {
            let Some((argument, domain)) = limited(graph, id) else {
                continue;
            };
            let held = walker.symbols(graph, &[argument]);
            let moves = |id| !matches!(symbols.get(id), Symbol::Parameter(_));
            let value = graph.evaluate(&[argument], value_of)[0];
            let (distance, size) = match domain {
                Domain::NotNegative => (value, size_of(argument)),
                Domain::UnitInterval => (1.0 - value.abs(), 1.0),
            };
            let is_known = found.iter().any(|(known, _)| *known == id);
            if is_known || !held.iter().any(|&id| moves(id)) || distance.abs() > ROUNDING * size {
                continue;
            }
            let text = |expr| {
                let text = system.text(expr, PHRASE);
                text.unwrap_or_else(|| "a long expression".to_string())
            };
            let unknowns = held.iter().filter_map(|&id| match symbols.get(id) {
                Symbol::Unknown { unknown, .. } => Some(unknown),
                _ => None,
            });
            let edge = Edge {
                equation,
                text: text(id),
                argument: text(argument),
                value,
                unknowns: unknowns.collect(),
            };
            found.push((id, edge));
        }
    }
    found.into_iter().map(|(_, edge)| edge).collect()
}
