//! Conditions that functions of time and of unknowns decide: along a run they are looked at in parts on which these functions are their series, by proof.
//!
//! Section 2 of `docs/theory/hybrid.md`, (H3e). What the equations of a run hold is bounded there, (R3) and (R8) of `docs/theory/runs.md`; what only
//! conditions read, or unknowns that nothing else needs, is not.

use crate::estimate::TOLD;
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{
    BinaryOp, ExprId, Graph, Interval, JetEvaluator, Node, SymbolId, Tape, UnaryOp, Walker,
};
use daelight_integrate::watch::{Enclosed, MAX_EXPANSIONS, SCAN_ORDER};
use daelight_lang::{StopCondition, StopKind, Symbol, Symbols};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The sides of a condition that holds functions which are no polynomials of time and the unknowns.
#[derive(Debug)]
pub(crate) struct Timed {
    sides: Arc<Tape>,
}

impl Timed {
    /// `None` for a condition without such functions, and for one with signals: these end steps at their knots.
    ///
    /// The sides are expressions of a graph that has grown from that of the equations.
    pub fn new(system: &System, graph: &Graph, sides: &[ExprId; 2]) -> Option<Self> {
        let equations = system.equations();
        let symbols = Walker::new().symbols(graph, sides);
        let is_input = |id| matches!(equations.symbols().get(id), Symbol::Input { .. });
        if symbols.into_iter().any(is_input) {
            return None;
        }
        let tape = equations.compile_in(graph, sides);
        let has_functions = !tape.smooth_functions(&[0, 1], true).is_empty();
        has_functions.then(|| Self {
            sides: Arc::new(tape),
        })
    }

    /// What decides a stopping condition: the sides of each relation, branch by branch, and the number itself if it is one.
    pub fn of_stop(system: &System, stop: StopCondition) -> Vec<Self> {
        let equations = system.equations();
        let mut graph = Graph::clone(equations.graph());
        let symbols = equations.symbols();
        let known = given_functions(&mut graph, symbols, equations.residuals());
        let zero = graph.constant(0.0);
        let branches = equations.compile(&[stop.expr]);
        let sides = branches.branches().map(|branch| match graph.node(branch) {
            Node::Binary(_, left, right) => [left, right],
            Node::Unary(_, argument) => [argument, zero],
            _ => [branch, zero],
        });
        let mut sides: Vec<[ExprId; 2]> = sides.collect();
        if stop.kind != StopKind::Condition {
            sides.push([stop.expr, zero]);
        }
        let timed = sides.into_iter().filter_map(|sides| {
            let put = graph.substitute(&sides, |_, id| match symbols.get(id) {
                Symbol::Unknown { unknown, order: 0 } => known.get(&unknown).copied(),
                _ => None,
            });
            Self::new(system, &graph, &[put[0], put[1]])
        });
        timed.collect()
    }

    /// Ready to be evaluated.
    pub fn bounds(&self, parameters: &[f64]) -> Option<Bounds> {
        let sides = Arc::clone(&self.sides);
        let mut enclosed = Enclosed::new(sides, [vec![0, 1]], SCAN_ORDER, true)?;
        let into = enclosed.jet_mut().inputs_mut().parameters_mut();
        into.copy_from_slice(&parameters[..into.len()]);
        Some(Bounds { enclosed })
    }
}

/// Ranges of a condition over a part of a run.
pub(crate) struct Bounds {
    enclosed: Enclosed,
}

impl Bounds {
    /// Whether a part can be looked at by series around its middle: the sides are proved to stay apart, or every function in them is its
    /// series there. `jet` holds the unknowns around the middle.
    pub fn serves(&mut self, (from, to): (f64, f64), jet: &TaylorJet, rtol: f64) -> bool {
        let radius = 0.5 * (to - from).abs();
        let time = Interval::new(from, to);
        self.enclosed.set(time, |unknown, order| {
            if order >= jet.n_orders() {
                return Interval::from(0.0);
            }
            let centre = jet.get(unknown, order);
            let spread = spread(jet, unknown, order, radius);
            Interval::new(centre - spread, centre + spread)
        });
        self.enclosed.rest(0, radius) <= TOLD * rtol
    }
}

/// Parts of a stretch in its order, halved until each serves.
pub(crate) struct Parts {
    open: Vec<(f64, f64)>,
    n_looks: usize,
}

impl Parts {
    pub fn new(stretch: (f64, f64)) -> Self {
        Self {
            open: vec![stretch],
            n_looks: 0,
        }
    }

    /// The next part, and whether it does: after so many looks the rest is taken as it is.
    pub fn next(
        &mut self,
        mut serves: impl FnMut((f64, f64)) -> bool,
    ) -> Option<((f64, f64), bool)> {
        while let Some((from, to)) = self.open.pop() {
            let middle = 0.5 * (from + to);
            self.n_looks += 1;
            let is_given_up = self.n_looks > MAX_EXPANSIONS;
            if middle == from || middle == to || is_given_up || serves((from, to)) {
                return Some(((from, to), !is_given_up));
            }
            self.open.extend([(middle, to), (from, middle)]);
        }
        None
    }
}

/// What a coefficient of an unknown moves by within a radius.
fn spread(jet: &TaylorJet, unknown: usize, order: usize, radius: f64) -> f64 {
    let (mut sum, mut weight) = (0.0, 1.0);
    for m in order + 1..jet.n_orders() {
        weight *= radius * m as f64 / (m - order) as f64;
        sum += jet.get(unknown, m).abs() * weight;
    }
    sum
}

/// Unknowns that one equation gives, and that are never differentiated, with what it gives them as: functions of time, and functions of other
/// unknowns that are no polynomials. Equations are linear in the unknown that they give, with a slope that only time may change.
pub(crate) fn given_functions(
    graph: &mut Graph,
    symbols: &Symbols,
    residuals: &[ExprId],
) -> HashMap<usize, ExprId> {
    let mut walker = Walker::new();
    let differentiated: HashSet<usize> = (walker.symbols(graph, residuals).into_iter())
        .filter_map(|id| match symbols.get(id) {
            Symbol::Unknown { unknown, order } => (order > 0).then_some(unknown),
            _ => None,
        })
        .collect();
    let mut known = functions_of_time(graph, symbols, residuals);
    let mut given: Vec<usize> = Vec::new();
    let mut open = residuals.to_vec();
    loop {
        let before = given.len();
        open.retain(|&residual| {
            let put = |_: &mut Graph, id| match symbols.get(id) {
                Symbol::Unknown { unknown, order: 0 } => known.get(&unknown).copied(),
                _ => None,
            };
            let residual = graph.substitute(&[residual], put)[0];
            if !is_curved(graph, &mut walker, residual) {
                return true;
            }
            let read = walker.symbols(graph, &[residual]);
            let is_value = |id: &SymbolId| match symbols.get(*id) {
                Symbol::Unknown { order, .. } => order == 0,
                Symbol::Input { .. } => false,
                _ => true,
            };
            if !read.iter().all(is_value) {
                return false;
            }
            for id in read {
                let Symbol::Unknown { unknown, .. } = symbols.get(id) else {
                    continue;
                };
                if differentiated.contains(&unknown) {
                    continue;
                }
                if let Some(value) = solved_for(graph, &mut walker, symbols, (residual, id)) {
                    known.insert(unknown, value);
                    given.push(unknown);
                    return false;
                }
            }
            false
        });
        if given.len() == before {
            break;
        }
    }
    // What was found first may hold what was found later, never the other way round.
    for at in (0..given.len()).rev() {
        let value = known[&given[at]];
        let put = |_: &mut Graph, id| match symbols.get(id) {
            Symbol::Unknown { unknown, order: 0 } => known.get(&unknown).copied(),
            _ => None,
        };
        let value = graph.substitute(&[value], put)[0];
        known.insert(given[at], value);
    }
    known
}

/// Whether an expression holds an operation that is none of polynomials.
fn is_curved(graph: &Graph, walker: &mut Walker, expr: ExprId) -> bool {
    use UnaryOp::{Abs, Neg, Not, Sign};
    let mut nodes = walker.reachable(graph, &[expr]).iter();
    nodes.any(|&id| match graph.node(id) {
        Node::Unary(op, _) => !matches!(op, Abs | Neg | Not | Sign),
        Node::Binary(op, _, b) => {
            matches!(op, BinaryOp::Div | BinaryOp::Pow) && graph.as_constant(b).is_none()
                || matches!(op, BinaryOp::Atan2)
        }
        _ => false,
    })
}

/// What an equation gives a symbol as, if it is linear in it with a slope that only time may change.
fn solved_for(
    graph: &mut Graph,
    walker: &mut Walker,
    symbols: &Symbols,
    (residual, id): (ExprId, SymbolId),
) -> Option<ExprId> {
    let slope = graph.gradient(residual, &[id])[0];
    let is_constant = walker.symbols(graph, &[slope]).into_iter().all(|id| {
        let symbol = symbols.get(id);
        matches!(symbol, Symbol::Parameter(_) | Symbol::Time)
    });
    if !is_constant || graph.as_constant(slope) == Some(0.0) {
        return None;
    }
    let zero = graph.constant(0.0);
    let put = |_: &mut Graph, symbol| (symbol == id).then_some(zero);
    let rest = graph.substitute(&[residual], put)[0];
    let rest = graph.neg(rest);
    Some(graph.div(rest, slope))
}

/// Unknowns that one equation gives as a function of time, with that function: equations that are linear in the one unknown they have left.
fn functions_of_time(
    graph: &mut Graph,
    symbols: &Symbols,
    residuals: &[ExprId],
) -> HashMap<usize, ExprId> {
    let mut known: HashMap<usize, ExprId> = HashMap::new();
    let mut walker = Walker::new();
    let mut open = residuals.to_vec();
    loop {
        let before = known.len();
        open.retain(|&residual| {
            let read = walker.symbols(graph, &[residual]);
            let read = read.into_iter().filter_map(|id| match symbols.get(id) {
                Symbol::Unknown { unknown, order } => Some((unknown, order, id)),
                Symbol::Input { .. } => Some((usize::MAX, 1, id)),
                _ => None,
            });
            let mut left = read.filter(|(u, order, _)| *order > 0 || !known.contains_key(u));
            let (Some((unknown, 0, id)), None) = (left.next(), left.next()) else {
                return true;
            };
            let put = |_: &mut Graph, symbol| match symbols.get(symbol) {
                Symbol::Unknown { unknown, order: 0 } => known.get(&unknown).copied(),
                _ => None,
            };
            let residual = graph.substitute(&[residual], put)[0];
            let Some(value) = solved_for(graph, &mut walker, symbols, (residual, id)) else {
                return true;
            };
            known.insert(unknown, value);
            false
        });
        if known.len() == before {
            return known;
        }
    }
}
