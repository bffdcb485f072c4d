//! Evaluating a system allocates nothing, in the written and in the reduced form.

mod common;
#[path = "../../../tests/support/counting.rs"]
mod counting;

use common::{Random, random_jet};
use counting::allocations;
use daelight_analysis::{Assembly, Reduced};
use daelight_expr::{Jet, JetEvaluator, PackedJet};

const ORDER: usize = 6;

fn series_allocate_nothing<J: JetEvaluator>() {
    let system = common::system(&common::text("andrews"));
    let reduced = Reduced::new(&system);
    let jet = random_jet(&system, ORDER + 3, &mut Random(7));
    let parameters = system.parameters().values();
    let mut full = system.series::<J>(ORDER);
    let mut short = reduced.series::<J>(ORDER, parameters);
    let mut back = reduced.recovery::<J>(ORDER, parameters);
    let mut all = vec![0.0; system.unknowns().len()];
    let mut entries = vec![0.0; full.pattern(0).n_entries()];
    let count = allocations(|| {
        for (order, row) in jet.iter().enumerate() {
            if order < ORDER + 2 {
                full.inputs_mut().row_mut(order).copy_from_slice(row);
            }
            reduced.restrict(row, short.inputs_mut().row_mut(order));
            reduced.restrict(row, back.inputs_mut().row_mut(order));
        }
        for k in 0..=ORDER {
            full.extend(k).expect("a regular point");
            short.extend(k).expect("a regular point");
            back.extend(k).expect("a regular point");
            back.row(k, &mut all);
            full.residuals(k, &mut all);
            full.entries(0, k, &mut entries);
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn evaluation_allocates_nothing() {
    assert_eq!(allocations(|| drop(vec![1])), 1, "the counter counts");
    series_allocate_nothing::<Jet>();
    series_allocate_nothing::<PackedJet>();

    let system = common::system(&common::text("andrews"));
    let mut evaluator = system.evaluator();
    let mut assembly = Assembly::new(system.equations()).expect("a small matrix");
    let jet = random_jet(&system, 2, &mut Random(7));
    let mut residuals = vec![0.0; system.equations().n_equations()];
    let mut entries = vec![0.0; system.equations().pattern(1).n_entries()];
    let count = allocations(|| {
        evaluator.set_time(0.1);
        evaluator.set(0, &jet[0]);
        evaluator.set(1, &jet[1]);
        evaluator
            .residuals(&mut residuals)
            .expect("a regular point");
        evaluator.jacobians().expect("a regular point");
        evaluator.entries(1, &mut entries);
        assembly.fill(&[1.0, 0.5], |derivative, position| {
            evaluator.entry(derivative, position)
        });
        // A fault allocates nothing either.
        residuals[0] = f64::NAN;
        evaluator.set(0, &residuals);
        evaluator.residuals(&mut residuals).expect_err("a fault");
    });
    assert_eq!(count, 0);
}

/// The assembled matrix is B + 0.5 E, entry by entry.
#[test]
fn an_assembly_adds_the_matrices() {
    let system = common::system(&common::text("pendulum"));
    let mut evaluator = system.evaluator();
    evaluator.set(0, &[1.0, 2.0, 3.0, 4.0, 5.0]);
    evaluator.jacobians().expect("a regular point");
    let mut assembly = Assembly::new(system.equations()).expect("a small matrix");
    let matrix = assembly.fill(&[1.0, 0.5], |derivative, position| {
        evaluator.entry(derivative, position)
    });
    // x' - vx, y' - vy, vx' + lambda x, vy' + lambda y + g, x^2 + y^2 - L^2 by x, y, vx, vy, lambda
    let expected = [
        [0.5, 0.0, -1.0, 0.0, 0.0],
        [0.0, 0.5, 0.0, -1.0, 0.0],
        [5.0, 0.0, 0.5, 0.0, 1.0],
        [0.0, 5.0, 0.0, 0.5, 2.0],
        [2.0, 4.0, 0.0, 0.0, 0.0],
    ];
    for column in 0..5 {
        let mut unit = [0.0; 5];
        unit[column] = 1.0;
        let found = matrix.mul_vec(&unit);
        for row in 0..5 {
            assert_eq!(
                found[row], expected[row][column],
                "row {row}, column {column}"
            );
        }
    }
}
