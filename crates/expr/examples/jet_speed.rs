//! Times of the jet back ends, after their results were compared.
//!
//! `cargo run --release -p daelight-expr --example jet_speed`

#[path = "../tests/support/mod.rs"]
mod support;

use daelight_expr::{
    ExprId, Graph, InstructionSet, JacobianSeries, Jet, JetEvaluator, PackedJet, Slot, SymbolId,
    Tape, UnaryOp, Values,
};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use support::andrews;

/// The shortest of several runs, in nanoseconds.
fn best(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..30 {
        let start = Instant::now();
        for _ in 0..20 {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 20.0);
    }
    best
}

fn fill(jet: &mut impl JetEvaluator, rows: usize) {
    for order in 0..rows {
        for unknown in 0..andrews::N_UNKNOWNS {
            let wave = ((order * 13 + unknown) as f64).sin() * 0.8f64.powi(order as i32);
            jet.inputs_mut().set(unknown, order, wave);
        }
    }
}

fn all_orders(jet: &mut impl JetEvaluator, order: usize) {
    for k in 0..=order {
        jet.extend(k as i32).expect("a regular point");
    }
    black_box(jet.root(0, order));
}

fn squeezer(order: usize) {
    let mut graph = Graph::new();
    let residuals = andrews::residuals(&mut graph);
    let tape = Arc::new(Tape::compile(&graph, &residuals, andrews::slot));
    let size = tape.size();
    println!("squeezer, order {order}: {size:?}");
    let mut plain = Jet::new(Arc::clone(&tape), order);
    fill(&mut plain, order + 3);
    all_orders(&mut plain, order);
    let per = |time: f64| time / (size.n_operations as f64 * (order + 1) as f64);
    let time = best(|| all_orders(&mut plain, order));
    println!(
        "  plain          {:8.2} us, {:.2} ns per operation and order",
        time / 1e3,
        per(time)
    );
    for set in [
        InstructionSet::Best,
        InstructionSet::AtMostAvx2,
        InstructionSet::Plain,
    ] {
        let start = Instant::now();
        let mut packed = PackedJet::with_instruction_set(Arc::clone(&tape), order, set);
        let made = start.elapsed();
        fill(&mut packed, order + 3);
        all_orders(&mut packed, order);
        for root in 0..13 {
            for k in 0..=order {
                assert_eq!(plain.root(root, k), packed.root(root, k));
            }
        }
        let time = best(|| all_orders(&mut packed, order));
        println!(
            "  {:14} {:8.2} us, {:.2} ns per operation and order; {:?} groups and members, planned in {made:.1?}",
            format!("{set:?}"),
            time / 1e3,
            per(time),
            packed.n_groups(),
        );
        let zeroth = best(|| packed.extend(0).expect("a regular point"));
        println!("    of which order 0: {:.2} us", zeroth / 1e3);
        packed.extend(0).expect("a regular point");
        for k in 1..=order {
            packed.extend(k as i32).expect("a regular point");
        }
        let corrected = best(|| packed.correct(order as i32).expect("a regular point"));
        println!("    one correction: {:.2} us", corrected / 1e3);
    }
    let mut values = Values::new(Arc::clone(&tape));
    for unknown in 0..13 {
        for k in 0..3 {
            values
                .inputs_mut()
                .set(unknown, k, plain.inputs().get(unknown, k));
        }
    }
    let time = best(|| values.evaluate().expect("a regular point"));
    println!("  values alone   {:8.2} us", time / 1e3);
    let mut series: JacobianSeries<PackedJet> =
        JacobianSeries::new(&mut graph, &residuals, 13, order, andrews::slot);
    fill(series.jet_mut(), order + 3);
    let time = best(|| {
        for k in 0..=order {
            series.extend(k).expect("a regular point");
        }
    });
    println!(
        "  with matrices  {:8.2} us for {:?}",
        time / 1e3,
        series.jet().tape().size()
    );
}

/// A chain of `n` equations of about 15 nodes each.
fn chain(graph: &mut Graph, n: u32) -> Vec<ExprId> {
    (0..n)
        .map(|i| {
            let [x, before, rate] =
                [i, (i + n - 1) % n, n + i].map(|symbol| graph.symbol(SymbolId(symbol)));
            let shift = graph.constant(f64::from(i) * 1e-3 + 0.5);
            let angle = graph.sub(x, before);
            let sine = graph.unary(UnaryOp::Sin, angle);
            let square = graph.mul(rate, rate);
            let drag = graph.mul(shift, square);
            let product = graph.mul(sine, drag);
            let cosine = graph.unary(UnaryOp::Cos, angle);
            let mixed = graph.mul(cosine, x);
            let sum = graph.add(product, mixed);
            let scaled = graph.mul(shift, before);
            let sum = graph.add(sum, scaled);
            graph.sub(rate, sum)
        })
        .collect()
}

fn growth() {
    for n in [10_000u32, 100_000] {
        let mut graph = Graph::new();
        let start = Instant::now();
        let residuals = chain(&mut graph, n);
        let built = start.elapsed();
        let slot = |symbol: SymbolId| Slot::Variable {
            index: symbol.0 % n,
            order: symbol.0 / n,
        };
        let start = Instant::now();
        let tape = Tape::compile(&graph, &residuals, slot);
        let compiled = start.elapsed();
        let start = Instant::now();
        let packed = PackedJet::new(Arc::new(tape), 4);
        let planned = start.elapsed();
        let nodes = graph.len();
        let start = Instant::now();
        let symbols: Vec<SymbolId> = (0..2 * n).map(SymbolId).collect();
        let jacobian = graph.sparse_jacobian(&residuals, &symbols);
        let differentiated = start.elapsed();
        let mut roots = residuals.clone();
        roots.extend(&jacobian.entries);
        let start = Instant::now();
        let tape = Tape::compile(&graph, &roots, slot);
        println!(
            "chain of {n}: {nodes} nodes built in {built:.1?}, tape in {compiled:.1?}, plan in {planned:.1?}, \
             {} Jacobian entries in {differentiated:.1?}, tape of both ({} operations) in {:.1?}; {:?}",
            jacobian.entries.len(),
            tape.size().n_operations,
            start.elapsed(),
            packed.n_groups()
        );
        let tape = Arc::new(Tape::compile(&graph, &residuals, slot));
        let mut plain = Jet::new(Arc::clone(&tape), 12);
        let mut packed = PackedJet::new(Arc::clone(&tape), 12);
        for k in 0..14 {
            for i in 0..n as usize {
                let wave = ((k * 7 + i) as f64).sin() * 0.7f64.powi(k as i32);
                plain.inputs_mut().set(i, k, wave);
                packed.inputs_mut().set(i, k, wave);
            }
        }
        let time = |jet: &mut dyn FnMut(i32)| {
            let start = Instant::now();
            (0..=12).for_each(jet);
            start.elapsed().as_nanos() as f64 / (13.0 * tape.size().n_operations as f64)
        };
        let mut run = |k: i32| plain.extend(k).expect("smooth");
        time(&mut run);
        let first = time(&mut run);
        let mut run = |k: i32| packed.extend(k).expect("smooth");
        time(&mut run);
        let second = time(&mut run);
        println!("  order 12, ns per operation and order: plain {first:.2}, packed {second:.2}");
    }
}

fn main() {
    squeezer(20);
    squeezer(14);
    growth();
}
