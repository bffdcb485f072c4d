//! When a relation is on its border: its sides differ by no more than the rounding of what they are made of.
//!
//! Section 2 of `docs/theory/hybrid.md`.

use super::ROUNDING;
use crate::solve::unchecked;
use daelight_analysis::initial::{
    ConsistentPoint, NearPoints, Request, StageOffsets, TaylorJet, consistent_point,
};
use daelight_analysis::structure::Offsets;
use daelight_analysis::{Evaluator, System};
use daelight_expr::{ExprId, Graph, UnaryOp, Walker};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::{CscMat, SparseLu};

/// A derivative of an unknown, and the slope of a relation along it.
pub(super) type Slope<T> = (usize, usize, T);

/// The size of what a difference is made of, the sum of |dg/ds| |s| over its symbols s, and its slopes along unknowns.
pub(super) fn size_of(
    graph: &mut Graph,
    known: &Symbols,
    difference: ExprId,
) -> (ExprId, Vec<Slope<ExprId>>) {
    let symbols = Walker::new().symbols(graph, &[difference]);
    let slopes = graph.gradient(difference, &symbols);
    let mut terms = Vec::with_capacity(slopes.len());
    let mut along = Vec::new();
    for (id, slope) in symbols.into_iter().zip(slopes) {
        if let Symbol::Unknown { unknown, order } = known.get(id) {
            along.push((unknown, order as usize, slope));
        }
        let symbol = graph.symbol(id);
        let term = graph.mul(slope, symbol);
        terms.push(graph.unary(UnaryOp::Abs, term));
    }
    (graph.sum(terms), along)
}

/// What a run with a relative tolerance takes for nothing in a relation with these slopes, given the nominal values of the unknowns.
pub(super) fn least_of(slopes: &[Slope<f64>], nominals: &[f64], rtol: f64) -> f64 {
    let parts = slopes.iter();
    let sum: f64 = parts
        .map(|s| s.2.abs() * nominals.get(s.0).copied().unwrap_or(1.0))
        .sum();
    rtol * sum
}

/// The nominal values of unknowns; 1 where none is given.
pub(super) fn nominals(of: impl Iterator<Item = Option<f64>>) -> Vec<f64> {
    of.map(|nominal| nominal.unwrap_or(1.0).abs()).collect()
}

/// Whether two sides agree as far as numbers tell; `size` is that of what they are made of, where it has a value, and `least`
/// what the run takes for nothing.
pub(super) fn is_border((a, b): (f64, f64), size: Option<f64>, least: f64) -> bool {
    let size = size.filter(|size| size.is_finite());
    let size = size.map_or(least, |size| size.abs().max(least));
    let size = size.max(a.abs() + b.abs());
    (a - b).abs() <= ROUNDING * size
}

/// What the unknowns are made of that the equations of a mode determine, (H3b).
pub(super) struct Makings {
    system: System,
    offsets: Option<Offsets>,
    /// Whether the structure holds.
    is_regular: bool,
    evaluator: Option<Evaluator>,
    /// Factors of the system Jacobian where it was last asked for, and the sizes of the terms of the equations there.
    factored: Option<Factored>,
    /// Of a large system, what finds points next to others, and the parameters with which it was made.
    neighbours: Option<(Vec<f64>, Option<NearPoints>)>,
}

/// The system Jacobian at a point.
struct Factored {
    parameters: Vec<f64>,
    time: f64,
    jet: TaylorJet,
    lu: SparseLu,
    terms: Vec<f64>,
}

impl std::fmt::Debug for Makings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Makings").finish_non_exhaustive()
    }
}

impl Makings {
    pub fn new(system: &System, is_regular: bool) -> Self {
        let structure = system.structure().ok();
        Self {
            system: system.clone(),
            offsets: structure.map(|structure| structure.offsets().clone()),
            is_regular,
            evaluator: None,
            factored: None,
            neighbours: None,
        }
    }

    /// The size of what a relation with these slopes is made of, at a point.
    pub fn size(
        &mut self,
        parameters: &[f64],
        (time, jet): (f64, &TaylorJet),
        slopes: &[Slope<f64>],
    ) -> Option<f64> {
        let offsets = self.offsets.as_ref()?;
        let mut weights = vec![0.0; jet.n_unknowns()];
        for &(unknown, order, slope) in slopes {
            if offsets.variable[unknown] == order {
                weights[unknown] += slope;
            }
        }
        if weights.iter().all(|slope| *slope == 0.0) {
            return None;
        }
        let factored = self.factored(parameters, (time, jet))?;
        factored.lu.solve_transpose(&mut weights).ok()?;
        let parts = weights.iter().zip(&factored.terms);
        Some(parts.map(|(weight, term)| weight.abs() * term).sum())
    }

    /// The factors at a point: of all relations there, one after the other.
    fn factored(
        &mut self,
        parameters: &[f64],
        (time, jet): (f64, &TaylorJet),
    ) -> Option<&mut Factored> {
        let is_known = self.factored.as_ref().is_some_and(|known| {
            known.time == time && known.parameters == parameters && known.jet == *jet
        });
        if !is_known {
            self.factored = None;
            let (matrix, terms) = self.jacobian(parameters, (time, jet))?;
            let mut lu = SparseLu::new(&matrix).ok()?;
            lu.factor(&matrix).ok()?;
            self.factored = Some(Factored {
                parameters: parameters.to_vec(),
                time,
                jet: jet.clone(),
                lu,
                terms,
            });
        }
        self.factored.as_mut()
    }

    /// The values and rates of the consistent point next to a jet, where they are asked for once more than the point is: between the times
    /// between which a relation changes.
    pub fn settled_values(
        &mut self,
        parameters: &[f64],
        time: f64,
        jet: &TaylorJet,
    ) -> Option<TaylorJet> {
        let next = self.next_to(parameters, time, jet);
        next.or_else(|| Some(self.settled(parameters, time, jet)?.jet))
    }

    /// The same of a large system, with what was made for the last one.
    fn next_to(&mut self, parameters: &[f64], time: f64, jet: &TaylorJet) -> Option<TaylorJet> {
        let is_known = (self.neighbours.as_ref()).is_some_and(|(known, _)| known == parameters);
        if !is_known {
            self.take_parameters(parameters)?;
            let offsets = self.offsets.as_ref().filter(|_| self.is_regular)?;
            let has_hidden = offsets.equation.iter().any(|c| *c > 0);
            let stages = StageOffsets {
                equation: &offsets.equation,
                variable: &offsets.variable,
            };
            let neighbours = has_hidden.then(|| NearPoints::new(&self.system, stages));
            self.neighbours = Some((parameters.to_vec(), neighbours.flatten()));
        }
        let (_, neighbours) = self.neighbours.as_mut()?;
        neighbours.as_mut()?.next_to(time, jet)
    }

    /// Sets the parameters of the system.
    fn take_parameters(&mut self, parameters: &[f64]) -> Option<()> {
        let known = self.system.parameters().values().iter().zip(parameters);
        let changes = known.enumerate().filter(|(_, (known, now))| known != now);
        let changes: Vec<(usize, f64)> = changes.map(|(at, (_, now))| (at, *now)).collect();
        self.system.set_parameters(&changes).ok()
    }

    /// The consistent point next to a jet, (H3c); `None` where there is none.
    pub fn settled(
        &mut self,
        parameters: &[f64],
        time: f64,
        jet: &TaylorJet,
    ) -> Option<ConsistentPoint> {
        let offsets = self.offsets.as_ref().filter(|_| self.is_regular)?;
        if offsets.equation.iter().all(|c| *c == 0) {
            return self.followed(parameters, (time, jet));
        }
        self.take_parameters(parameters)?;
        let offsets = self.offsets.as_ref()?;
        let deepest = offsets.equation.iter().copied().max().unwrap_or(0);
        let stages = StageOffsets {
            equation: &offsets.equation,
            variable: &offsets.variable,
        };
        let request = Request {
            time,
            guess: jet.values().to_vec(),
            given: Vec::new(),
            conditions: Vec::new(),
            order: deepest.clamp(1, crate::solve::START_ORDER),
            budget: std::time::Duration::from_secs(10),
        };
        consistent_point(&self.system, Some(stages), &request).ok()
    }

    /// The same without hidden constraints: every value of the states is consistent, and the rest follows from them.
    ///
    /// By Newton's method, as long as each correction is less than half the last: the end is rounding, or there is no point.
    fn followed(
        &mut self,
        parameters: &[f64],
        (time, jet): (f64, &TaylorJet),
    ) -> Option<ConsistentPoint> {
        let highest = self.offsets.as_ref()?.variable.clone();
        if highest.iter().any(|order| *order >= jet.n_orders()) {
            return None;
        }
        let nominals = nominals(self.system.unknowns().iter().map(|u| u.nominal));
        let (matrix, _) = self.jacobian(parameters, (time, jet))?;
        let mut lu = SparseLu::new(&matrix).ok()?;
        lu.factor(&matrix).ok()?;
        let mut found = jet.clone();
        let mut corrections = vec![0.0; jet.n_unknowns()];
        let mut last = f64::INFINITY;
        loop {
            self.put(parameters, (time, &found))
                .residuals(&mut corrections)
                .ok()?;
            lu.solve(&mut corrections).ok()?;
            let parts = corrections.iter().enumerate().map(|(u, correction)| {
                let value = found.derivative(u, highest[u]);
                correction.abs() / (value.abs() + nominals[u])
            });
            let size = parts.fold(0.0, f64::max);
            if size.is_nan() || size >= 0.5 * last {
                break;
            }
            last = size;
            for (u, correction) in corrections.iter().enumerate() {
                let factorial: f64 = (1..=highest[u]).map(|f| f as f64).product();
                let value = found.get(u, highest[u]) - correction / factorial;
                found.set(u, highest[u], value);
            }
        }
        (last <= f64::EPSILON.sqrt()).then(|| unchecked(time, found))
    }

    /// An evaluator at a point.
    fn put(&mut self, parameters: &[f64], (time, jet): (f64, &TaylorJet)) -> &mut Evaluator {
        let equations = self.system.equations();
        let fresh = || equations.evaluator(parameters);
        let evaluator = self.evaluator.get_or_insert_with(fresh);
        evaluator.set_parameters(parameters);
        evaluator.set_time(time);
        for order in 0..=equations.order() {
            let values = (0..jet.n_unknowns()).map(|u| jet.derivative(u, order));
            evaluator.set(order, &values.collect::<Vec<_>>());
        }
        evaluator
    }

    /// The system Jacobian at a point, and the sizes of the terms of its equations, each differentiated as often as the
    /// structure asks for.
    fn jacobian(
        &mut self,
        parameters: &[f64],
        (time, jet): (f64, &TaylorJet),
    ) -> Option<(CscMat, Vec<f64>)> {
        self.put(parameters, (time, jet)).jacobians().ok()?;
        let evaluator = self.evaluator.as_ref()?;
        let equations = self.system.equations();
        let offsets = self.offsets.as_ref()?;
        let n = equations.n_equations();
        let mut entries = Vec::new();
        let mut terms = vec![0.0f64; n];
        // What a row changes by with the time alone: along a solution the opposite of what its unknowns make of it.
        let mut rates = vec![0.0f64; n];
        for order in 0..=equations.order() {
            for (row, column, position) in equations.pattern(order).iter() {
                let entry = evaluator.entry(order, position);
                let reached = order + offsets.equation[row];
                terms[row] += (entry * jet.derivative(column, reached)).abs();
                rates[row] += entry * jet.derivative(column, reached + 1);
                if reached == offsets.variable[column] {
                    entries.push((row, column, entry));
                }
            }
        }
        for (term, rate) in terms.iter_mut().zip(rates) {
            *term += (rate * time).abs();
        }
        Some((CscMat::from_triplets(n, n, &entries).ok()?, terms))
    }
}
