//! The lane-packed back end gives the bits of the plain interpreter, faults included.

use crate::support;
use crate::support::{random, runner};
use daelight_expr::{
    Graph, InstructionSet, Jet, JetEvaluator, PackedJet, Slot, SymbolId, Tape, Values,
};
use proptest::prelude::*;
use std::cell::Cell;
use std::sync::Arc;

const ORDER: usize = 12;

fn same_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a == 0.0 && b == 0.0
}

/// Evaluates stage by stage on all instruction sets; the first fault must be the same one.
fn compare(tape: &Arc<Tape>, coefficients: &[f64], order: usize) -> Result<usize, TestCaseError> {
    let room = order + tape.n_roots().min(4);
    let mut plain = Jet::new(Arc::clone(tape), room);
    random::set_inputs(&mut plain, coefficients);
    let mut packed: Vec<PackedJet> = [
        InstructionSet::Best,
        InstructionSet::AtMostAvx2,
        InstructionSet::Plain,
    ]
    .map(|set| PackedJet::with_instruction_set(Arc::clone(tape), room, set))
    .into();
    for jet in &mut packed {
        random::set_inputs(jet, coefficients);
    }
    if tape.first_stage() == 0 {
        // Order 0 is what the interpreter for values gives.
        let mut values = Values::new(Arc::clone(tape));
        for variable in 0..3 {
            for order in 0..=tape.max_slot_order() {
                let coefficient = plain.inputs().get(variable, order);
                values.inputs_mut().set(variable, order, coefficient);
            }
        }
        let time = plain.inputs().time();
        values.inputs_mut().set_time(time);
        values
            .inputs_mut()
            .parameters_mut()
            .copy_from_slice(plain.inputs().parameters());
        prop_assert_eq!(values.evaluate(), plain.extend(0));
        for root in 0..tape.n_roots() {
            let (a, b) = (values.root(root), plain.root(root, 0));
            prop_assert!(same_bits(a, b) || a.is_nan() && b.is_nan());
        }
    }
    let mut n_stages = 0;
    for stage in tape.first_stage()..=order as i32 {
        let outcome = plain.extend(stage);
        for jet in &mut packed {
            prop_assert_eq!(outcome, jet.extend(stage));
            prop_assert_eq!(plain.branches().sides(), jet.branches().sides());
            for root in 0..tape.n_roots() {
                let Ok(k) = usize::try_from(stage + tape.root_lead(root) as i32) else {
                    continue;
                };
                let (a, b) = (plain.root(root, k), jet.root(root, k));
                prop_assert!(
                    same_bits(a, b) || outcome.is_err(),
                    "root {} order {}: {:e} against {:e}",
                    root,
                    k,
                    a,
                    b
                );
            }
        }
        if outcome.is_err() {
            break;
        }
        n_stages += 1;
    }
    Ok(n_stages)
}

#[test]
fn random_smooth_graphs_agree() {
    let inputs = (random::choices(80), random::coefficients(ORDER + 2));
    runner(200)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let roots = random::build(&mut graph, &choices, true);
            let roots = &roots[roots.len().saturating_sub(10)..];
            let tape = Arc::new(Tape::compile(&graph, roots, random::slot).with_counts(3, 1));
            prop_assert_eq!(compare(&tape, &coefficients, ORDER)?, ORDER + 1);
            Ok(())
        })
        .unwrap();
    // A long graph with everything in it does reach the last order.
    let choices: Vec<_> = (0..200u16)
        .map(|i| ((i % 18) as u8, i * 7 % 23, i * 5 % 19, 0))
        .collect();
    let mut graph = Graph::new();
    let roots = random::build(&mut graph, &choices, true);
    let tape = Arc::new(Tape::compile(&graph, &roots, random::slot).with_counts(3, 1));
    let coefficients: Vec<f64> = (0..3 * (ORDER + 2))
        .map(|i| (i as f64).sin() * 0.3)
        .collect();
    let n_stages = compare(&tape, &coefficients, ORDER).unwrap();
    assert_eq!(n_stages, ORDER + 1);
}

#[test]
fn random_wild_graphs_agree_on_values_and_faults() {
    let inputs = (random::choices(40), random::coefficients(ORDER + 2));
    let n_complete = Cell::new(0);
    let n_faults = Cell::new(0);
    runner(1500)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, false);
            let root = *pool.last().expect("never empty");
            let tape = Arc::new(Tape::compile(&graph, &[root], random::slot).with_counts(3, 1));
            if compare(&tape, &coefficients, ORDER)? > ORDER {
                n_complete.set(n_complete.get() + 1);
            } else {
                n_faults.set(n_faults.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    // Both outcomes are well represented.
    assert!(n_complete.get() > 300 && n_faults.get() > 300);
}

#[test]
fn staged_evaluation_gives_the_coefficients_of_the_plain_one() {
    let inputs = (
        random::choices(60),
        random::coefficients(ORDER + 6),
        prop::collection::vec(0u32..4, 4),
    );
    runner(200)
        .run(&inputs, |(choices, coefficients, leads)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, true);
            let roots = &pool[pool.len() - 4..];
            let staged = Tape::compile_staged(&graph, roots, &leads, random::slot);
            let staged = Arc::new(staged.with_counts(3, 1));
            compare(&staged, &coefficients, ORDER)?;
            let flat = Arc::new(Tape::compile(&graph, roots, random::slot).with_counts(3, 1));
            let mut expected = Jet::new(flat, ORDER + 3);
            random::set_inputs(&mut expected, &coefficients);
            let mut jet = Jet::new(Arc::clone(&staged), ORDER + 3);
            random::set_inputs(&mut jet, &coefficients);
            for order in 0..=ORDER as i32 + 3 {
                if expected.extend(order).is_err() {
                    return Ok(());
                }
            }
            for stage in staged.first_stage()..=ORDER as i32 {
                jet.extend(stage).unwrap();
            }
            for (root, &lead) in leads.iter().enumerate() {
                for k in 0..=ORDER + lead as usize {
                    prop_assert!(same_bits(jet.root(root, k), expected.root(root, k)));
                }
            }
            Ok(())
        })
        .unwrap();
}

/// The values are those of the graph's own evaluation, up to the rounding of whole powers.
#[test]
fn values_agree_with_the_graph() {
    let inputs = (random::choices(60), random::coefficients(3));
    runner(300)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, true);
            let tape = Arc::new(Tape::compile(&graph, &pool, random::slot));
            let mut jet = Jet::new(tape, 0);
            random::set_inputs(&mut jet, &coefficients);
            prop_assert_eq!(jet.extend(0), Ok(()));
            let expected = graph.evaluate(&pool, |symbol| match random::slot(symbol) {
                Slot::Variable { index, order } => jet.inputs().get(index as usize, order as usize),
                Slot::Parameter(_) => 0.75,
                Slot::Time => 0.3,
                Slot::Signal { .. } => f64::NAN,
            });
            let largest = expected.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
            for (root, value) in expected.into_iter().enumerate() {
                prop_assert!((jet.root(root, 0) - value).abs() <= 1e-12 * largest);
            }
            Ok(())
        })
        .unwrap();
}

/// Changing top coefficients and correcting equals evaluating the stage anew, up to rounding.
#[test]
fn corrections_agree_with_a_new_evaluation() {
    /// With `remember` only what later stages read is corrected before the last stage, and only that is compared.
    fn check<J: JetEvaluator>(
        tape: &Arc<Tape>,
        coefficients: &[f64],
        remember: bool,
    ) -> Result<(), TestCaseError> {
        let mut jet = J::new(Arc::clone(tape), ORDER + 3);
        let mut anew = Jet::new(Arc::clone(tape), ORDER + 3);
        random::set_inputs(&mut jet, coefficients);
        random::set_inputs(&mut anew, coefficients);
        let tops: Vec<(usize, usize)> = tape
            .tops()
            .into_iter()
            .enumerate()
            .filter_map(|(variable, top)| Some((variable, top?)))
            .collect();
        for stage in tape.first_stage()..=ORDER as i32 {
            let top_of = |top: usize| stage.max(0) as usize + top;
            if stage >= 1 {
                // The stage is evaluated with zeros on top first, as a solver does.
                for &(variable, top) in &tops {
                    jet.inputs_mut().set(variable, top_of(top), 0.0);
                }
            }
            prop_assert_eq!(jet.extend(stage), Ok(()));
            if stage >= 1 {
                for &(variable, top) in &tops {
                    let coefficient = anew.inputs().get(variable, top_of(top));
                    jet.inputs_mut().set(variable, top_of(top), coefficient);
                }
                if remember && stage < ORDER as i32 {
                    prop_assert_eq!(jet.remember(stage), Ok(()));
                } else {
                    prop_assert_eq!(jet.correct(stage), Ok(()));
                }
            }
            prop_assert_eq!(anew.extend(stage), Ok(()));
        }
        // Only the roots of the greatest lead have all their registers at their newest order.
        let greatest = -tape.first_stage() as usize;
        for root in (0..tape.n_roots()).filter(|&r| remember && tape.root_lead(r) == greatest) {
            let register = tape.root(root);
            let k = ORDER + tape.root_lead(root);
            let rate = (1..=k)
                .map(|k| anew.coefficient(register, k).abs().powf(1.0 / k as f64))
                .fold(1.0, f64::max);
            let (a, b) = (jet.root(root, k), anew.root(root, k));
            let size = anew.root(root, 0).abs().max(1.0);
            prop_assert!(
                (a - b).abs() <= 1e-10 * size * rate.powi(k as i32),
                "{a:e} {b:e} at {k}"
            );
        }
        for register in (0..tape.n_registers()).filter(|_| !remember) {
            let register = tape.register(register);
            // Rounding is judged in the time unit in which the series has size 1.
            let rate = (1..=ORDER)
                .map(|k| anew.coefficient(register, k).abs().powf(1.0 / k as f64))
                .fold(1.0, f64::max);
            for k in 0..=ORDER {
                let (a, b) = (jet.coefficient(register, k), anew.coefficient(register, k));
                let size = anew.coefficient(register, 0).abs().max(1.0);
                prop_assert!(
                    (a - b).abs() <= 1e-10 * size * rate.powi(k as i32),
                    "{a:e} {b:e} at {k}"
                );
            }
        }
        Ok(())
    }
    let inputs = (
        random::choices(60),
        random::coefficients(ORDER + 6),
        prop::collection::vec(0u32..4, 4),
    );
    runner(200)
        .run(&inputs, |(choices, coefficients, leads)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, true);
            let roots = &pool[pool.len() - 4..];
            let tape = Tape::compile_staged(&graph, roots, &leads, random::slot);
            let tape = Arc::new(tape.with_counts(3, 1));
            check::<Jet>(&tape, &coefficients, false)?;
            check::<PackedJet>(&tape, &coefficients, false)?;
            check::<PackedJet>(&tape, &coefficients, true)
        })
        .unwrap();
}

/// The mechanism is the one of the book: its consistent initial values leave no residual.
#[test]
fn the_squeezer_starts_where_the_book_says() {
    let mut graph = Graph::new();
    let residuals = support::andrews::residuals(&mut graph);
    let tape = Tape::compile(&graph, &residuals, support::andrews::slot);
    let mut values = Values::new(Arc::new(tape));
    for (unknown, &angle) in support::andrews::ANGLES.iter().enumerate() {
        values.inputs_mut().set(unknown, 0, angle);
    }
    // Coefficient 2 is half the acceleration.
    for (unknown, acceleration) in [14222.443919954114, -10666.832939965585]
        .into_iter()
        .enumerate()
    {
        values.inputs_mut().set(unknown, 2, acceleration / 2.0);
    }
    for (unknown, multiplier) in [(7, 98.56687039624109), (8, -6.122688344255663)] {
        values.inputs_mut().set(unknown, 0, multiplier);
    }
    values.evaluate().unwrap();
    // Spring forces of 100 act on levers of 0.02, and the spring constant magnifies rounding.
    for root in 0..support::andrews::N_UNKNOWNS {
        let residual = values.root(root);
        assert!(residual.abs() < 1e-14, "equation {root}: {residual:e}");
    }
}

/// A mechanism whose lanes are wide: all orders, after a stage was repeated as well.
#[test]
fn the_squeezer_agrees_to_the_bit() {
    let mut graph = Graph::new();
    let residuals = support::andrews::residuals(&mut graph);
    let slot = |symbol: SymbolId| -> Slot { support::andrews::slot(symbol) };
    let tape = Arc::new(Tape::compile(&graph, &residuals, slot));
    let mut plain = Jet::new(Arc::clone(&tape), 20);
    let mut packed = PackedJet::new(Arc::clone(&tape), 20);
    for order in 0..=22 {
        for unknown in 0..13 {
            let wave = ((order * 13 + unknown) as f64).sin() * 0.8f64.powi(order as i32);
            let value = match support::andrews::ANGLES.get(unknown) {
                Some(&angle) if order == 0 => angle,
                _ => wave,
            };
            plain.inputs_mut().set(unknown, order, value);
            packed.inputs_mut().set(unknown, order, value);
        }
    }
    for order in 0..=20 {
        plain.extend(order).unwrap();
        packed.extend(order).unwrap();
        packed.extend(order).unwrap();
        for root in 0..13 {
            let order = order as usize;
            assert!(same_bits(plain.root(root, order), packed.root(root, order)));
        }
    }
}
