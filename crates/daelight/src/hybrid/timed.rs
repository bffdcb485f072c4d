//! Conditions that functions of time decide: along a run they are looked at in parts on which these functions are their series, by proof.
//!
//! Section 2 of `docs/theory/hybrid.md`, (H3e). What the equations of a run hold of time is bounded there, (R3) of `docs/theory/runs.md`; what only
//! conditions read, or unknowns that nothing else needs, is not.

use crate::estimate::TOLD;
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{ExprId, Graph, Interval, JetEvaluator, Node, PlainJet, Tape, Walker};
use daelight_integrate::watch::{MAX_EXPANSIONS, SCAN_ORDER};
use daelight_lang::{StopCondition, StopKind, Symbol, Symbols};
use std::collections::HashMap;
use std::sync::Arc;

/// The sides of a condition, and the functions of time in them.
#[derive(Debug)]
pub(crate) struct Timed {
    sides: Arc<Tape>,
    functions: Arc<Tape>,
}

impl Timed {
    /// `None` for a condition without functions of time, and for one with signals: these end steps at their knots.
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
        let functions: Vec<ExprId> = tape.forcing().iter().map(|f| f.expr).collect();
        (!functions.is_empty()).then(|| Self {
            sides: Arc::new(tape),
            functions: Arc::new(equations.compile_in(graph, &functions)),
        })
    }

    /// What decides a stopping condition: the sides of each relation, branch by branch, and the number itself if it is one.
    pub fn of_stop(system: &System, stop: StopCondition) -> Vec<Self> {
        let equations = system.equations();
        let mut graph = Graph::clone(equations.graph());
        let symbols = equations.symbols();
        let known = functions_of_time(&mut graph, symbols, equations.residuals());
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
    pub fn bounds(&self, parameters: &[f64]) -> Bounds {
        let fill = |into: &mut [f64]| into.copy_from_slice(&parameters[..into.len()]);
        let mut sides = PlainJet::new(Arc::clone(&self.sides), 0);
        let mut functions = PlainJet::new(Arc::clone(&self.functions), SCAN_ORDER + 1);
        fill(sides.inputs_mut().parameters_mut());
        fill(functions.inputs_mut().parameters_mut());
        Bounds {
            n_functions: self.functions.n_roots(),
            sides,
            functions,
        }
    }
}

/// Ranges of a condition over a part of a run.
pub(crate) struct Bounds {
    n_functions: usize,
    sides: PlainJet<Interval>,
    functions: PlainJet<Interval>,
}

impl Bounds {
    /// Whether a part can be looked at by series around its middle: the sides are proved to stay apart, or every function of time is its
    /// series there. `jet` holds the unknowns around the middle.
    pub fn serves(&mut self, (from, to): (f64, f64), jet: &TaylorJet, rtol: f64) -> bool {
        let radius = 0.5 * (to - from).abs();
        let stretch = Interval::new(from.min(to), from.max(to));
        let n_slots = self.sides.tape().max_slot_order() + 1;
        let inputs = self.sides.inputs_mut();
        inputs.set_time(stretch);
        for order in 0..n_slots {
            for unknown in 0..jet.n_unknowns() {
                let centre = jet.get(unknown, order);
                let spread = spread(jet, unknown, order, radius);
                inputs.set(
                    unknown,
                    order,
                    Interval::new(centre - spread, centre + spread),
                );
            }
        }
        if self.sides.extend(0).is_ok() {
            let (a, b) = (self.sides.root(0, 0), self.sides.root(1, 0));
            if a.lo() > b.hi() || a.hi() < b.lo() {
                return true;
            }
        }
        self.functions.inputs_mut().set_time(stretch);
        if (0..=SCAN_ORDER + 1).any(|k| self.functions.extend(k as i32).is_err()) {
            return false;
        }
        let power = radius.powi(SCAN_ORDER as i32 + 1);
        (0..self.n_functions).all(|which| {
            let rest = self.functions.root(which, SCAN_ORDER + 1).magnitude() * power;
            rest <= TOLD * rtol * self.functions.root(which, 0).magnitude()
        })
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

/// Unknowns that one equation gives as a function of time, with that function: equations that are linear in the one unknown they have left.
pub(crate) fn functions_of_time(
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
            let slope = graph.gradient(residual, &[id])[0];
            let is_constant = walker.symbols(graph, &[slope]).into_iter().all(|id| {
                let symbol = symbols.get(id);
                matches!(symbol, Symbol::Parameter(_) | Symbol::Time)
            });
            if !is_constant || graph.as_constant(slope) == Some(0.0) {
                return true;
            }
            let zero = graph.constant(0.0);
            let rest = graph.substitute(&[residual], |_, symbol| match symbols.get(symbol) {
                _ if symbol == id => Some(zero),
                Symbol::Unknown { unknown, order: 0 } => known.get(&unknown).copied(),
                _ => None,
            })[0];
            let rest = graph.neg(rest);
            let value = graph.div(rest, slope);
            known.insert(unknown, value);
            false
        });
        if known.len() == before {
            return known;
        }
    }
}
