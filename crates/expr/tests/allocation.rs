//! Evaluating, extending and correcting allocate nothing.

#[path = "../../../tests/support/counting.rs"]
mod counting;
mod support;

use counting::allocations;
use daelight_expr::{
    Graph, InstructionSet, JacobianSeries, Jet, JetEvaluator, PackedJet, Tape, Values,
};
use std::sync::Arc;
use support::andrews;

const ORDER: usize = 8;

fn fill(jet: &mut impl JetEvaluator) {
    for order in 0..ORDER + 3 {
        for unknown in 0..andrews::N_UNKNOWNS {
            let wave = ((order * 13 + unknown) as f64).sin() * 0.8f64.powi(order as i32);
            jet.inputs_mut().set(unknown, order, wave);
        }
    }
}

fn run(jet: &mut impl JetEvaluator) {
    for order in 0..=ORDER as i32 {
        jet.extend(order).expect("a regular point");
        if order > 0 {
            let top = order as usize + 2;
            let before = jet.inputs().get(0, top);
            jet.inputs_mut().set(0, top, before + 0.125);
            jet.correct(order).expect("a regular point");
        }
    }
    // A fault allocates nothing either.
    jet.inputs_mut().set(2, 0, f64::NAN);
    assert!(jet.extend(0).is_err());
}

#[test]
fn evaluation_allocates_nothing() {
    assert_eq!(allocations(|| drop(vec![1])), 1, "the counter counts");
    let mut graph = Graph::new();
    let residuals = andrews::residuals(&mut graph);
    let tape = Arc::new(Tape::compile(&graph, &residuals, andrews::slot));

    let mut values = Values::new(Arc::clone(&tape));
    values.inputs_mut().set(0, 0, 0.3);
    assert_eq!(allocations(|| values.evaluate().expect("regular")), 0);

    let mut jet = Jet::new(Arc::clone(&tape), ORDER);
    fill(&mut jet);
    assert_eq!(allocations(|| run(&mut jet)), 0);

    for set in [
        InstructionSet::Best,
        InstructionSet::AtMostAvx2,
        InstructionSet::Plain,
    ] {
        let mut jet = PackedJet::with_instruction_set(Arc::clone(&tape), ORDER, set);
        fill(&mut jet);
        assert_eq!(allocations(|| run(&mut jet)), 0);
    }

    let mut series: JacobianSeries<PackedJet> =
        JacobianSeries::new(&mut graph, &residuals, 13, ORDER, andrews::slot);
    fill(series.jet_mut());
    let mut entries = vec![0.0; series.pattern(0).n_entries()];
    let mut values = vec![0.0; series.n_equations()];
    let count = allocations(|| {
        for k in 0..=ORDER {
            series.extend(k).expect("a regular point");
            series.residuals(k, &mut values);
            series.entries(0, k, &mut entries);
        }
        series.array_block(2, 1, |_, _, value| assert!(value.is_finite()));
    });
    assert_eq!(count, 0);
}
