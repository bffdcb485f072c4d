//! The unknowns of a run as polynomials between its steps, and the rule by which integrals along it are taken.

use super::refused;
use crate::Solution;
use crate::solve::START_ORDER;
use daelight_analysis::System;
use daelight_expr::{Signal, Walker};
use daelight_integrate::Trajectory;
use daelight_lang::{AdjointModel, Diagnostic, Symbol};
use std::f64::consts::PI;
use std::sync::Arc;

/// An input that is given by data.
type Curve = (usize, Arc<Signal>);

/// The unknowns that the adjoint equations read, as signals.
pub(super) fn along(
    system: &System,
    base: &Solution,
    adjoint: &AdjointModel,
) -> Result<Vec<Curve>, Box<Diagnostic>> {
    let model = &adjoint.model;
    let mut exprs: Vec<_> = model.equations.iter().map(|e| e.residual).collect();
    exprs.extend_from_slice(&adjoint.by_parameter);
    let mut read: Vec<usize> = Walker::new()
        .symbols(&model.graph, &exprs)
        .into_iter()
        .filter_map(|id| match model.symbols.get(id) {
            Symbol::Input { input, .. } => input.checked_sub(adjoint.first_input),
            _ => None,
        })
        .collect();
    read.sort_unstable();
    read.dedup();
    let trajectory = &base.run.trajectory;
    let n = trajectory.n();
    // Implicit methods have polynomials of degree 3 to 6, and functions of them need more.
    let n_orders = most_orders(trajectory).max(2 * START_ORDER);
    let mut way = base.route.way_back_to(system, n_orders);
    let mut pieces = Vec::new();
    for (k, segment) in trajectory.segments().iter().enumerate() {
        let (from, to) = (
            segment.start.min(segment.end),
            segment.start.max(segment.end),
        );
        if from == to {
            continue;
        }
        let mut rows = trajectory.series(k).into_owned();
        rows.resize((n_orders + 1) * n, 0.0);
        let jet = way.jet_of(segment.centre, (&rows, n), n_orders);
        let jet = jet.ok_or_else(|| {
            let time = segment.centre;
            refused(format!("it has no derivatives at t = {time}"))
        })?;
        let offset = 0.5 * (from + to) - segment.centre;
        let curve = |&unknown: &usize| {
            let series: Vec<f64> = (0..n_orders).map(|order| jet.get(unknown, order)).collect();
            shifted(&series, offset)
        };
        let curves: Vec<Vec<f64>> = read.iter().map(curve).collect();
        pieces.push(((from, to), curves));
    }
    pieces.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
    let mut knots: Vec<f64> = pieces.iter().map(|piece| piece.0.0).collect();
    knots.extend(pieces.last().map(|piece| piece.0.1));
    let curve = |(at, unknown): (usize, &usize)| {
        let pieces = pieces.iter().flat_map(|piece| piece.1[at].iter().copied());
        let signal = Signal::new(knots.clone(), n_orders - 1, pieces.collect());
        (adjoint.first_input + unknown, Arc::new(signal))
    };
    Ok(read.iter().enumerate().map(curve).collect())
}

/// The most coefficients of a step.
pub(super) fn most_orders(trajectory: &Trajectory) -> usize {
    let n = trajectory.n().max(1);
    let lengths = (0..trajectory.segments().len()).map(|k| trajectory.series(k).len() / n);
    lengths.max().unwrap_or(0)
}

/// A polynomial in powers of the distance from another point.
fn shifted(series: &[f64], offset: f64) -> Vec<f64> {
    let mut into = vec![0.0; series.len()];
    for &coefficient in series.iter().rev() {
        for order in (1..into.len()).rev() {
            into[order] = into[order] * offset + into[order - 1];
        }
        into[0] = into[0] * offset + coefficient;
    }
    into
}

/// Nodes and weights of Gauss and Legendre on [-1, 1], exact for polynomials of a degree and a few more.
pub(crate) fn gauss(degree: usize) -> Vec<(f64, f64)> {
    let n = degree / 2 + 3;
    // The Legendre polynomial and its derivative by the recurrence of three terms.
    let legendre = |x: f64| {
        let (mut before, mut now) = (1.0, x);
        for k in 2..=n {
            let k = k as f64;
            (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
        }
        (now, n as f64 * (before - x * now) / (1.0 - x * x))
    };
    let node = |k: usize| {
        let guess = (PI * (k as f64 + 0.75) / (n as f64 + 0.5)).cos();
        // Newton's method doubles its digits from two on.
        let x = (0..6).fold(guess, |x, _| {
            let (value, slope) = legendre(x);
            x - value / slope
        });
        let (_, slope) = legendre(x);
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..n).map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_and_integrals_of_their_degree_are_exact() {
        // 1 + 2 t + 3 t^2 from t = 2 on.
        assert_eq!(shifted(&[1.0, 2.0, 3.0], 2.0), [17.0, 14.0, 3.0]);
        let integral: f64 = gauss(18).iter().map(|(x, w)| w * x.powi(20)).sum();
        assert!((integral - 2.0 / 21.0).abs() < 1e-14);
    }
}
