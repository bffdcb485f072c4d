//! When a relation is on its border: its sides differ by no more than the rounding of what they are made of.
//!
//! Section 2 of `docs/theory/hybrid.md`.

use super::ROUNDING;
use daelight_expr::{ExprId, Graph, UnaryOp, Walker};

/// The size of what a difference is made of: the sum of |dg/ds| |s| over its symbols s.
pub(super) fn size_of(graph: &mut Graph, difference: ExprId) -> ExprId {
    let symbols = Walker::new().symbols(graph, &[difference]);
    let slopes = graph.gradient(difference, &symbols);
    let mut terms = Vec::with_capacity(slopes.len());
    for (symbol, slope) in symbols.into_iter().zip(slopes) {
        let symbol = graph.symbol(symbol);
        let term = graph.mul(slope, symbol);
        terms.push(graph.unary(UnaryOp::Abs, term));
    }
    graph.sum(terms)
}

/// Whether two sides agree as far as numbers tell; `size` is that of what they are made of, where it has a value.
pub(super) fn is_border((a, b): (f64, f64), size: Option<f64>) -> bool {
    let size = size.filter(|size| size.is_finite());
    let size = size.map_or(0.0, f64::abs).max(a.abs() + b.abs());
    (a - b).abs() <= ROUNDING * size
}
