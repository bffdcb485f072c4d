//! How smooth the prescribed motions of a model are, beside how often they are differentiated.
//!
//! An equation that holds the time and is differentiated c times leaves the c-th derivative of its path in the answer. Where
//! the path is pieced together (`if`, `abs`, `min`, `max`, `sign` of the time), the pieces must fit up to that order, or
//! the forces jump. Section 4 of `docs/theory/spectrum.md`.

use crate::equations::Equations;
use crate::spectrum::prescribed_motions;
use daelight_expr::{BinaryOp, ExprId, Graph, Jet, JetEvaluator, Node, Tape, UnaryOp, Walker};
use daelight_lang::Symbol;
use std::sync::Arc;

/// Equally spaced times between which seams of a path are looked for.
const N_SAMPLES: usize = 512;
/// Orders beyond those needed that are compared at a seam.
const EXTRA_ORDERS: usize = 4;
/// Pieces fit at an order if they differ by less than this part of the largest coefficient.
const FITS: f64 = 1e-9;
/// Most seams of one equation that are looked at.
const MAX_SEAMS: usize = 1000;

/// A prescribed motion of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The equation that prescribes it.
    pub equation: usize,
    /// How often it is differentiated: the forces hold this derivative of the path.
    pub times_differentiated: usize,
    /// The seam where the pieces fit worst; `None` if the path is smooth between the times looked at.
    pub seam: Option<Seam>,
}

impl Path {
    /// Whether the derivatives that are needed exist and are continuous.
    pub fn is_smooth_enough(&self) -> bool {
        self.seam
            .as_ref()
            .is_none_or(|seam| seam.n_continuous > self.times_differentiated)
    }
}

/// A time where a path goes from one formula to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seam {
    /// When.
    pub time: f64,
    /// How many derivatives are continuous there, the path itself counted as the first: 6 for five continuous derivatives,
    /// 0 for a jump.
    pub n_continuous: usize,
}

/// What two pieces meet where: their difference, and what changes its sign there.
struct Piece {
    difference: ExprId,
    switch: ExprId,
}

/// The prescribed motions of equations between two times; `times` says how often each equation is differentiated.
pub fn paths(
    equations: &Equations,
    times: &[usize],
    parameters: &[f64],
    (from, to): (f64, f64),
) -> Vec<Path> {
    prescribed_motions(equations, times)
        .into_iter()
        .map(|equation| Path {
            equation,
            times_differentiated: times[equation],
            seam: worst_seam(equations, equation, times[equation], parameters, from, to),
        })
        .collect()
}

fn worst_seam(
    equations: &Equations,
    equation: usize,
    times: usize,
    parameters: &[f64],
    from: f64,
    to: f64,
) -> Option<Seam> {
    let mut graph = Graph::clone(equations.graph());
    let pieces = pieces(&mut graph, equations, equation);
    let mut worst: Option<Seam> = None;
    let mut n_seams = 0;
    for piece in pieces {
        let roots = [piece.switch, piece.difference];
        let tape = Tape::compile(&graph, &roots, |id| equations.slot(id))
            .with_counts(equations.n_unknowns(), equations.n_parameters());
        let order = times + EXTRA_ORDERS;
        let mut jet = Jet::new(Arc::new(tape), order);
        jet.inputs_mut()
            .parameters_mut()
            .copy_from_slice(parameters);
        for time in zeros(&mut jet, from, to) {
            n_seams += 1;
            if n_seams > MAX_SEAMS {
                return worst;
            }
            let n_continuous = continuous_orders(&mut jet, time, to - from, order);
            let is_worse = worst.is_none_or(|seam| n_continuous < seam.n_continuous);
            if n_continuous <= order && is_worse {
                worst = Some(Seam { time, n_continuous });
            }
        }
    }
    worst
}

/// All pieces of an equation that the time alone chooses between.
fn pieces(graph: &mut Graph, equations: &Equations, equation: usize) -> Vec<Piece> {
    let mut walker = Walker::new();
    let reachable = walker
        .reachable(graph, &equations.residuals()[equation..=equation])
        .to_vec();
    let symbols = equations.symbols();
    // Of the time: depends on it, and on no unknown.
    let mut known = vec![(false, true); graph.len()];
    for &id in &reachable {
        known[id.index()] = match graph.node(id) {
            Node::Constant(_) => (false, true),
            Node::Symbol(symbol) => match symbols.get(symbol) {
                Symbol::Time => (true, true),
                Symbol::Parameter(_) => (false, true),
                _ => (false, false),
            },
            node => node.arguments().fold((false, true), |(time, alone), a| {
                let (t, o) = known[a.index()];
                (time || t, alone && o)
            }),
        };
    }
    let is_of_time = |id: ExprId| known[id.index()] == (true, true);
    let mut found = Vec::new();
    for id in reachable {
        match graph.node(id) {
            Node::Select(condition, a, b) if is_of_time(condition) => {
                // Branches may hold unknowns; then nothing is said about them.
                if [a, b].into_iter().all(|branch| known[branch.index()].1) {
                    let difference = graph.sub(a, b);
                    for switch in switches(graph, condition) {
                        found.push(Piece { difference, switch });
                    }
                }
            }
            Node::Unary(UnaryOp::Abs, a) if is_of_time(a) => found.push(Piece {
                difference: a,
                switch: a,
            }),
            Node::Unary(UnaryOp::Sign, a) if is_of_time(a) => found.push(Piece {
                difference: graph.constant(1.0),
                switch: a,
            }),
            Node::Binary(BinaryOp::Min | BinaryOp::Max, a, b) if is_of_time(id) => {
                let difference = graph.sub(a, b);
                found.push(Piece {
                    difference,
                    switch: difference,
                });
            }
            _ => {}
        }
    }
    found
}

/// The differences of sides of all relations in a condition.
fn switches(graph: &mut Graph, condition: ExprId) -> Vec<ExprId> {
    let mut open = vec![condition];
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        match graph.node(id) {
            Node::Binary(
                BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Equal
                | BinaryOp::NotEqual,
                a,
                b,
            ) => found.push(graph.sub(a, b)),
            node => open.extend(node.arguments()),
        }
    }
    found
}

/// Times at which root 0 of a jet changes its sign, within the interval.
fn zeros(jet: &mut Jet, from: f64, to: f64) -> Vec<f64> {
    let mut value = |time: f64| {
        jet.inputs_mut().set_time(time);
        match jet.extend(0) {
            Ok(()) => jet.root(0, 0),
            Err(_) => f64::NAN,
        }
    };
    let at = |k: usize| from + (to - from) * k as f64 / N_SAMPLES as f64;
    let mut found = Vec::new();
    let mut before = value(from);
    for k in 1..=N_SAMPLES {
        let (mut low, mut high) = (at(k - 1), at(k));
        let after = value(high);
        let (start, end) = (before, after);
        before = after;
        // A seam at the very start or end of a run does no harm.
        if start * end < 0.0 {
            while low < high {
                let middle = 0.5 * (low + high);
                if middle <= low || middle >= high {
                    break;
                }
                let here = value(middle);
                if here == 0.0 {
                    low = middle;
                    high = middle;
                } else if here * start < 0.0 {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            found.push(high);
        } else if end == 0.0 && k < N_SAMPLES {
            found.push(at(k));
        }
    }
    found
}

/// At how many orders from 0 the difference, root 1 of a jet, vanishes; `order` + 1 if at all that were looked at.
fn continuous_orders(jet: &mut Jet, time: f64, unit: f64, order: usize) -> usize {
    jet.inputs_mut().set_time(time);
    let mut sizes = Vec::with_capacity(order + 1);
    let mut power = 1.0;
    for k in 0..=order {
        if jet.extend(k as i32).is_err() {
            break;
        }
        sizes.push(jet.root(1, k).abs() * power);
        power *= unit;
    }
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    let fits = |size: &f64| *size <= FITS * largest;
    sizes
        .iter()
        .position(|size| !fits(size))
        .unwrap_or(order + 1)
}
