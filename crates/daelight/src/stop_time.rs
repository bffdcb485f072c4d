//! How the time at which a stopping condition ends a run moves, and the values there: section 8 of `docs/theory/sensitivities.md`.

use crate::Solution;
use crate::sensitivity::{Sensitivities, rates_of};
use crate::solve::{SAME_START_TOLERANCES, START_ORDER};
use daelight_analysis::System;
use daelight_analysis::initial::{Request, StageOffsets, TaylorJet, consistent_point};
use daelight_expr::{BinaryOp, ExprId, Graph, Node, Walker};
use daelight_integrate::StopReason;
use daelight_lang::{Model, StopKind, Symbol, Symbols};

/// How the end of a run moves that a stopping condition sets.
pub struct StopDerivative {
    /// The time.
    pub time: f64,
    /// Its derivative by each direction, or why there is none.
    pub by: Vec<Result<f64, String>>,
    /// The derivatives of all unknowns where the run stops, at the time that moves, by each direction that has one.
    pub values: Vec<Option<Vec<f64>>>,
}

impl StopDerivative {
    /// From how the time moves, and x_p and x' at the stop: (18).
    pub(crate) fn new(
        time: f64,
        by: Vec<Result<f64, String>>,
        (moved, rates): (&[Vec<f64>], &[f64]),
    ) -> Self {
        let total = |(delay, moved): (&Result<f64, String>, &Vec<f64>)| {
            let delay = *delay.as_ref().ok()?;
            let terms = moved.iter().zip(rates);
            Some(terms.map(|(s, rate)| s + rate * delay).collect())
        };
        let values = by.iter().zip(moved).map(total).collect();
        Self { time, by, values }
    }
}

/// How the end of a run without events moves; `None` where no stopping condition ended it on its way.
pub(crate) fn stop_derivative(
    (model, system): (&Model, &System),
    base: &Solution,
    along: &Sensitivities,
) -> Option<StopDerivative> {
    let StopReason::Stopped { time } = base.run.stop else {
        return None;
    };
    let is_whole = base.broken.is_empty() && along.ended.is_none() && time != base.from;
    let stop = system.stop_when().filter(|_| is_whole)?;
    let jet = jet_at(along, time)?;
    let equations = system.equations();
    let mut end = End {
        graph: Graph::clone(equations.graph()),
        symbols: Symbols::clone(equations.symbols()),
        parameters: system.parameters().values(),
        n: system.unknowns().len(),
        time,
        jet: &jet,
    };
    let deciders = match stop.kind {
        StopKind::Condition => end.deciders(stop.expr, SAME_START_TOLERANCES * base.rtol),
        StopKind::Number | StopKind::Equality => vec![stop.expr],
    };
    let rates = rates_of(model, system, &along.directions);
    let by = rates.iter().enumerate().map(|(k, rates)| {
        let moves = |&g: &ExprId| end.moves(g, rates, along.first(k));
        let found: Vec<f64> = deciders.iter().map(moves).collect();
        agreed(&found, SAME_START_TOLERANCES * base.rtol)
    });
    let by = by.collect();
    let values = |first: usize, order: usize| {
        let value = |j: usize| jet.derivative(first + j, order);
        (0..system.unknowns().len()).map(value).collect::<Vec<_>>()
    };
    let moved: Vec<Vec<f64>> = (0..along.directions.len())
        .map(|k| values(along.first(k), 0))
        .collect();
    Some(StopDerivative::new(time, by, (&moved, &values(0, 1))))
}

/// The sides of the relations that a condition is made of.
pub(crate) fn compared(graph: &Graph, condition: ExprId) -> Vec<(ExprId, ExprId)> {
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let nodes = Walker::new().reachable(graph, &[condition]).to_vec();
    let sides = |node: ExprId| match graph.node(node) {
        Node::Binary(Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual, a, b) => {
            Some((a, b))
        }
        _ => None,
    };
    nodes.into_iter().filter_map(sides).collect()
}

/// What all that decides says of the time.
pub(crate) fn agreed(found: &[f64], rtol: f64) -> Result<f64, String> {
    let none = |why: &str| Err(why.to_string());
    match found.first() {
        None => none("what makes the condition hold there is not known"),
        Some(_) if found.iter().any(|moves| !moves.is_finite()) => {
            none("the condition is only touched there")
        }
        Some(first) => {
            let most = rtol * first.abs().max(1.0);
            match found.iter().all(|moves| (moves - first).abs() <= most) {
                true => Ok(*first),
                false => none("two relations change there at one time, and part when it moves"),
            }
        }
    }
}

/// The jet of all unknowns and their derivatives that satisfies the equations at the end of the run: pieces of implicit methods join
/// derivatives less well than values.
fn jet_at(along: &Sensitivities, time: f64) -> Option<TaylorJet> {
    let request = Request {
        time,
        guess: along.reader().values(time)?,
        given: Vec::new(),
        conditions: Vec::new(),
        order: START_ORDER,
        budget: std::time::Duration::from_secs(10),
    };
    let offsets = along.system.dae().sound();
    let found = consistent_point(&along.system, offsets.map(StageOffsets::of), &request);
    Some(found.ok()?.jet)
}

/// The end of a run, where a condition is looked at.
struct End<'a> {
    graph: Graph,
    symbols: Symbols,
    parameters: &'a [f64],
    /// Unknowns of the model; symbols from here on are those of derivatives by a direction.
    n: usize,
    time: f64,
    jet: &'a TaylorJet,
}

impl End<'_> {
    /// Values of expressions, with the derivatives by a direction from this unknown on.
    fn values(&self, exprs: &[ExprId], first: usize) -> Vec<f64> {
        self.graph.evaluate(exprs, |id| match self.symbols.get(id) {
            Symbol::Parameter(at) => self.parameters[at],
            Symbol::Unknown { unknown, order } => {
                let place = match unknown.checked_sub(self.n) {
                    Some(own) => first + own,
                    None => unknown,
                };
                self.jet.derivative(place, order as usize)
            }
            other => self.symbols.value_at(other, self.time),
        })
    }

    /// The differences that vanish here, of relations that a condition is made of.
    fn deciders(&mut self, condition: ExprId, most: f64) -> Vec<ExprId> {
        let sides = compared(&self.graph, condition);
        let vanish = |&(a, b): &(ExprId, ExprId)| {
            let [left, right] = self.values(&[a, b], 0)[..] else {
                return false;
            };
            (left - right).abs() <= most * left.abs().max(right.abs()).max(1.0)
        };
        let sides: Vec<(ExprId, ExprId)> = sides.into_iter().filter(vanish).collect();
        let graph = &mut self.graph;
        sides.into_iter().map(|(a, b)| graph.sub(a, b)).collect()
    }

    /// dt/dp = -(g_p + g_x x_p)/(g_t + g_x x'), with rates of the parameters and derivatives from an unknown on.
    fn moves(&mut self, g: ExprId, rates: &[f64], first: usize) -> f64 {
        let (n, symbols) = (self.n, &mut self.symbols);
        let rate = |graph: &mut Graph, id| symbols.rate(graph, id);
        let in_time = self.graph.derivatives_along(&[g], rate)[0];
        let symbols = &mut self.symbols;
        let by = self
            .graph
            .derivatives_along(&[g], |graph, id| match symbols.get(id) {
                Symbol::Parameter(at) => Some(graph.constant(rates[at])),
                Symbol::Unknown { unknown, order } => {
                    let unknown = n + unknown;
                    let id = symbols.id(Symbol::Unknown { unknown, order });
                    Some(graph.symbol(id))
                }
                Symbol::Time | Symbol::Input { .. } => None,
            })[0];
        let found = self.values(&[by, in_time], first);
        -found[0] / found[1]
    }
}
