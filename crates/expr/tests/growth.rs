//! Tapes, patterns and Jacobians of large models cost what their size says.

use daelight_expr::{ExprId, Graph, PackedJet, Slot, SymbolId, Tape, UnaryOp};
use daelight_expr::{Jet, JetEvaluator};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Equation i: x_i' = sin(x_i - x_{i-1}) c_i x_i'^2 + cos(x_i - x_{i-1}) x_i + c_i x_{i-1}.
fn chain(graph: &mut Graph, n: u32) -> Vec<ExprId> {
    (0..n)
        .map(|i| {
            let [x, before, rate] =
                [i, (i + n - 1) % n, n + i].map(|symbol| graph.symbol(SymbolId(symbol)));
            let factor = graph.constant(f64::from(i) * 1e-3 + 0.5);
            let angle = graph.sub(x, before);
            let sine = graph.unary(UnaryOp::Sin, angle);
            let square = graph.mul(rate, rate);
            let drag = graph.mul(factor, square);
            let product = graph.mul(sine, drag);
            let cosine = graph.unary(UnaryOp::Cos, angle);
            let mixed = graph.mul(cosine, x);
            let sum = graph.add(product, mixed);
            let scaled = graph.mul(factor, before);
            let sum = graph.add(sum, scaled);
            graph.sub(rate, sum)
        })
        .collect()
}

fn slot(n: u32) -> impl Fn(SymbolId) -> Slot {
    move |symbol| Slot::Variable {
        index: symbol.0 % n,
        order: symbol.0 / n,
    }
}

/// 100,000 equations, 1.4 million nodes. A pass with quadratic cost would take hours, so the bound on
/// the time is loose on purpose.
#[test]
fn a_hundred_thousand_equations_are_no_problem() {
    const N: u32 = 100_000;
    let start = Instant::now();
    let mut graph = Graph::new();
    let mut residuals = chain(&mut graph, N);
    // One equation with everything in it must not slow down the others.
    let all: Vec<ExprId> = (0..N).map(|i| graph.symbol(SymbolId(i))).collect();
    residuals.insert(0, graph.sum(all));
    let symbols: Vec<SymbolId> = (0..2 * N).map(SymbolId).collect();
    let pattern = graph.sparsity(&residuals, &symbols);
    let jacobian = graph.sparse_jacobian(&residuals, &symbols);
    assert_eq!(pattern, jacobian.pattern);
    assert_eq!(pattern.n_entries(), 4 * N as usize);
    let mut roots = residuals.clone();
    roots.extend(&jacobian.entries);
    let tape = Arc::new(Tape::compile(&graph, &roots, slot(N)));
    let mut jet = PackedJet::new(tape, 1);
    jet.extend(0).unwrap();
    jet.extend(1).unwrap();
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// The work per equation does not depend on their number.
#[test]
fn operations_grow_with_the_model() {
    let size = |n: u32| {
        let mut graph = Graph::new();
        let residuals = chain(&mut graph, n);
        let symbols: Vec<SymbolId> = (0..2 * n).map(SymbolId).collect();
        let jacobian = graph.sparse_jacobian(&residuals, &symbols);
        let mut roots = residuals;
        roots.extend(jacobian.entries);
        Tape::compile(&graph, &roots, slot(n)).size()
    };
    let (small, large) = (size(100), size(1000));
    assert!(large.n_operations <= 10 * small.n_operations);
    assert_eq!(large.n_convolutions, 10 * small.n_convolutions);
}

/// What no root needs is not on the tape, and what two roots share is there once.
#[test]
fn tapes_hold_what_is_needed_once() {
    let mut graph = Graph::new();
    let [x, y] = [0, 1].map(|symbol| graph.symbol(SymbolId(symbol)));
    let sine = graph.unary(UnaryOp::Sin, x);
    let cosine = graph.unary(UnaryOp::Cos, x);
    graph.mul(y, y);
    let sum = graph.add(sine, cosine);
    let size = Tape::compile(&graph, &[sum, sine], slot(2)).size();
    // x, its sine and cosine, each the companion of the other, and the sum.
    assert_eq!((size.n_operations, size.n_auxiliary), (4, 0));
    let size = Tape::compile(&graph, &[sine], slot(2)).size();
    assert_eq!((size.n_operations, size.n_auxiliary), (3, 1));
    // The slope of asin is shared with its symbolic derivative.
    let arcsine = graph.unary(UnaryOp::Asin, x);
    let slope = graph.partial(arcsine, SymbolId(0));
    let both = Tape::compile(&graph, &[arcsine, slope], slot(2)).size();
    let alone = Tape::compile(&graph, &[slope], slot(2)).size();
    assert_eq!(both.n_operations, alone.n_operations + 1);
}

/// More room later keeps what was computed.
#[test]
fn a_jet_grows() {
    let mut graph = Graph::new();
    let x = graph.symbol(SymbolId(0));
    let root = graph.unary(UnaryOp::Exp, x);
    let tape = Arc::new(Tape::compile(&graph, &[root], |_| Slot::Time));
    let mut jet = Jet::new(tape, 2);
    for order in 0..=2 {
        jet.extend(order).unwrap();
    }
    jet.reserve(5);
    for order in 3..=5 {
        jet.extend(order).unwrap();
    }
    assert_eq!(
        jet.root_series(0),
        [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0]
    );
}
