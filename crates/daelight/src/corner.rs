//! Switches of a run at which rates jump: section 4 of `docs/theory/sensitivities.md`.

use crate::Solution;
use crate::solve::SAME_START_TOLERANCES;
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{BinaryOp, ExprId, Graph, Node, SymbolId, UnaryOp, Walker};
use daelight_integrate::Beside;
use daelight_lang::{Symbol, Symbols};
use std::sync::Arc;

/// A switch at which rates jump.
pub(crate) struct Corner {
    /// When.
    pub(crate) time: f64,
    /// f- - f+ of (7), for each unknown that is differentiated.
    pub(crate) falls: Vec<f64>,
    /// The rate of g before the switch.
    pub(crate) rate: f64,
    /// g and where it is evaluated.
    g: ExprId,
    graph: Arc<Graph>,
    symbols: Arc<Symbols>,
    parameters: Vec<f64>,
    jet: TaylorJet,
}

/// The switches of a run at which rates jump, in the order of the run, up to one that cannot be differentiated: when, and why not.
pub(crate) fn corners(system: &System, base: &Solution) -> (Vec<Corner>, Option<(f64, String)>) {
    let mut found = Vec::new();
    let mut reader = base.reader(system);
    let pattern = system.equations().pattern(1);
    let mut is_differentiated = vec![false; system.unknowns().len()];
    for &j in pattern.columns() {
        is_differentiated[j as usize] = true;
    }
    let most = SAME_START_TOLERANCES * base.rtol;
    for switch in &base.run.switches {
        // At the time itself the values are those of the text, which may be on neither side.
        let side = |side| (switch.time, side);
        let jets = (
            reader.jet_beside(side(Beside::Before)),
            reader.jet_beside(side(Beside::Behind)),
        );
        let (Some(left), Some(right)) = jets else {
            continue;
        };
        let jumps = |j: usize, order: usize| {
            let (a, b) = (left.derivative(j, order), right.derivative(j, order));
            is_differentiated[j] && (a - b).abs() > most * a.abs().max(b.abs()).max(1.0)
        };
        let n = is_differentiated.len();
        if !(0..n).any(|j| jumps(j, 1)) {
            continue;
        }
        let text = base.expression_text(system, switch.expr);
        let place = format!(
            "at t = {} the switch `{text}`",
            daelight_show::short(switch.time)
        );
        if let Some(j) = (0..n).find(|&j| jumps(j, 0)) {
            let name = &system.unknowns()[j].name;
            return (
                found,
                Some((switch.time, format!("{place} makes {name} jump"))),
            );
        }
        if another_decides(system, base, switch.expr, (switch.time, &left)) {
            let why = format!("{place} is not the only one");
            return (found, Some((switch.time, why)));
        }
        let falls = (0..n).map(|j| match is_differentiated[j] {
            true => left.derivative(j, 1) - right.derivative(j, 1),
            false => 0.0,
        });
        let equations = base.problem.equations();
        let mut graph = Graph::clone(equations.graph());
        let Some(g) = decider(&mut graph, switch.expr) else {
            let why = format!("{place} is no comparison of two numbers");
            return (found, Some((switch.time, why)));
        };
        let mut corner = Corner {
            time: switch.time,
            falls: falls.collect(),
            rate: 0.0,
            g,
            symbols: Arc::clone(equations.symbols()),
            graph: Arc::new(graph),
            parameters: system.parameters().values().to_vec(),
            jet: left,
        };
        let why = match corner.rate_of_g() {
            None => format!("{place} reads a derivative"),
            Some(rate) if rate == 0.0 || !rate.is_finite() => format!("{place} is only touched"),
            Some(rate) => {
                corner.rate = rate;
                found.push(corner);
                continue;
            }
        };
        return (found, Some((switch.time, why)));
    }
    (found, None)
}

/// Whether something else switches at the same time: then no side is the one before both.
fn another_decides(
    system: &System,
    base: &Solution,
    expr: ExprId,
    (time, jet): (f64, &TaylorJet),
) -> bool {
    let equations = base.problem.equations();
    let (symbols, parameters) = (equations.symbols(), system.parameters().values());
    let mut graph = Graph::clone(equations.graph());
    let nodes = Walker::new()
        .reachable(&graph, equations.residuals())
        .to_vec();
    let own = decider(&mut graph, expr);
    let deciders = nodes
        .into_iter()
        .filter_map(|node| decider(&mut graph, node));
    let mut deciders: Vec<ExprId> = deciders.collect();
    let negative = own.map(|own| graph.neg(own));
    deciders.retain(|&g| Some(g) != own && Some(g) != negative);
    let values = graph.evaluate(&deciders, |id| value(symbols, id, parameters, (time, jet)));
    let most = SAME_START_TOLERANCES * base.rtol;
    let sizes = deciders.iter().map(|&g| match graph.node(g) {
        Node::Binary(_, a, b) => {
            let sides = graph.evaluate(&[a, b], |id| value(symbols, id, parameters, (time, jet)));
            sides.iter().fold(1.0, |most, side| side.abs().max(most))
        }
        _ => 1.0,
    });
    values
        .iter()
        .zip(sizes)
        .any(|(value, size): (&f64, f64)| value.abs() <= most * size)
}

/// What a symbol is at a point.
fn value(
    symbols: &Symbols,
    id: SymbolId,
    parameters: &[f64],
    (time, jet): (f64, &TaylorJet),
) -> f64 {
    match symbols.get(id) {
        Symbol::Time => time,
        Symbol::Parameter(p) => parameters[p],
        Symbol::Unknown { unknown, order } => jet.derivative(unknown, order as usize),
        Symbol::Input { input, order } => {
            let mut signals = symbols.signals().iter();
            let signal = signals.find(|(at, _)| *at == input);
            signal.map_or(f64::NAN, |(_, s)| s.derivative(time, order as usize))
        }
    }
}

/// What changes its sign where an expression switches.
fn decider(graph: &mut Graph, expr: ExprId) -> Option<ExprId> {
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, Max, Min, NotEqual};
    match graph.node(expr) {
        Node::Unary(UnaryOp::Abs | UnaryOp::Sign, a) => Some(a),
        Node::Binary(
            Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual | Min | Max,
            a,
            b,
        ) => Some(graph.sub(a, b)),
        _ => None,
    }
}

impl Corner {
    fn held(&self) -> Vec<SymbolId> {
        Walker::new().symbols(&self.graph, &[self.g])
    }

    /// Whether something of this kind decides.
    pub(crate) fn reads(&self, what: impl Fn(Symbol) -> bool) -> bool {
        self.held().into_iter().any(|id| what(self.symbols.get(id)))
    }

    /// The derivatives of g by symbols; zero for those that it does not read.
    pub(crate) fn slopes(&self, by: impl Iterator<Item = Symbol>) -> Vec<f64> {
        let held = self.held();
        let ids: Vec<Option<SymbolId>> = by
            .map(|symbol| {
                held.iter()
                    .copied()
                    .find(|id| self.symbols.get(*id) == symbol)
            })
            .collect();
        let known: Vec<SymbolId> = ids.iter().flatten().copied().collect();
        let mut graph = Graph::clone(&self.graph);
        let slopes = graph.gradient(self.g, &known);
        let at = (self.time, &self.jet);
        let values = graph.evaluate(&slopes, |id| value(&self.symbols, id, &self.parameters, at));
        let mut values = values.into_iter();
        let next = |id: Option<SymbolId>| match id {
            Some(_) => values.next().unwrap_or(0.0),
            None => 0.0,
        };
        ids.into_iter().map(next).collect()
    }

    /// g_t + g_x f-; `None` where g holds derivatives.
    fn rate_of_g(&self) -> Option<f64> {
        let moving: Vec<Symbol> = (self.held().into_iter())
            .map(|id| self.symbols.get(id))
            .filter(|symbol| !matches!(symbol, Symbol::Parameter(_)))
            .collect();
        let slopes = self.slopes(moving.iter().copied());
        let rate = |symbol: &Symbol| match *symbol {
            Symbol::Time => Some(1.0),
            Symbol::Unknown { unknown, order: 0 } => Some(self.jet.derivative(unknown, 1)),
            Symbol::Input { input, order } => {
                let mut signals = self.symbols.signals().iter();
                let signal = signals.find(|(at, _)| *at == input);
                signal.map(|(_, s)| s.derivative(self.time, order as usize + 1))
            }
            _ => None,
        };
        let rates: Option<Vec<f64>> = moving.iter().map(rate).collect();
        Some(
            rates?
                .iter()
                .zip(slopes)
                .map(|(rate, slope)| rate * slope)
                .sum(),
        )
    }

    /// dt*/dp of (7): from the derivatives s- of all unknowns, and how fast each parameter moves.
    pub(crate) fn time_moves(&self, s: &[f64], rates: &[f64]) -> f64 {
        let n = s.len();
        let by_value = self.slopes((0..n).map(|unknown| Symbol::Unknown { unknown, order: 0 }));
        let by_parameter = self.slopes((0..rates.len()).map(Symbol::Parameter));
        let moves = by_value.iter().zip(s).chain(by_parameter.iter().zip(rates));
        -moves.map(|(slope, rate)| slope * rate).sum::<f64>() / self.rate
    }
}
