//! Jets of models in double-double: residuals to 26 digits, and a second look where doubles are undecided.

use crate::common;
use daelight_analysis::{
    Comparison, IndexQuestion, MatrixSeries, NotSharper, System, compare_with_random_jets, decide,
};
use daelight_expr::{Dd, Jet};

/// Highest order of the array; coefficients 0..=K+1 of the jet are needed.
const K: usize = 6;

fn close(found: Dd, expected: Dd, tolerance: f64) -> bool {
    (found - expected).abs().hi() <= tolerance
}

#[test]
fn arm_jets_satisfy_all_orders_to_26_digits() {
    for name in ["robotic-arm", "robotic-arm-torques"] {
        let system = common::system(&common::text(name));
        for (time, jet) in common::solutions(name, &system, K + 2) {
            let sharp = system.sharpen(time, &jet).expect("a regular point");
            println!(
                "{name}, t = {time}: residual {:.1e}, moved {:.1e}, {} steps",
                sharp.residual, sharp.moved, sharp.n_steps
            );
            assert!(sharp.residual < 1e-28 && sharp.moved < 1e-10);
            // Again from outside, with a series of its own.
            let mut series = system.sharp_series(K);
            series.inputs_mut().set_time(Dd::from(time));
            for (k, row) in sharp.jet.iter().enumerate() {
                series.inputs_mut().row_mut(k).copy_from_slice(row);
            }
            for k in 0..=K {
                series.extend(k).expect("a regular point");
                for equation in 0..series.n_equations() {
                    let residual = series.residual(equation, k).abs().hi();
                    assert!(residual < 1e-26, "F_{k}[{equation}] = {residual:e}");
                }
            }
            // x1 = 1 - exp(t), x3 = exp(t) - t; index 5 determines x_0, x_1 and x_2 with derivatives to order 6.
            let exp = Dd::from(time).exp();
            let one = Dd::from(1.0);
            assert!(close(sharp.jet[0][0], one - exp, 1e-27));
            assert!(close(sharp.jet[0][2], exp - Dd::from(time), 1e-27));
            assert!(close(sharp.jet[1][0], -exp, 1e-27));
            assert!(close(sharp.jet[1][2], exp - one, 1e-27));
            assert!(close(sharp.jet[2][2], exp / Dd::from(2.0), 1e-26));
        }
    }
}

#[test]
fn a_crude_jet_is_sharpened_as_well() {
    let system = common::system(&common::text("robotic-arm"));
    let (time, mut jet) = common::solutions("robotic-arm", &system, K + 2).swap_remove(0);
    for (k, row) in jet.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value += 1e-9 * f64::sin((8 * k + j) as f64);
        }
    }
    let sharp = system.sharpen(time, &jet).expect("close enough");
    assert!(sharp.residual < 1e-28);
    assert!(close(
        sharp.jet[0][0],
        Dd::from(1.0) - Dd::from(time).exp(),
        1e-27
    ));
}

#[test]
fn what_cannot_be_sharpened_says_so() {
    let system =
        common::system("model Twice  Real x, y; equation der(x) = y; x = sin(time); end Twice;");
    let row = vec![0.0, 0.0];
    assert_eq!(
        system.sharpen(0.0, std::slice::from_ref(&row)).err(),
        Some(NotSharper::Shape)
    );
    assert_eq!(
        system.sharpen(0.0, &[row.clone(), vec![0.0]]).err(),
        Some(NotSharper::Shape)
    );
    let fault = system.sharpen(0.0, &[row, vec![f64::NAN, 0.0]]).err();
    assert!(
        matches!(fault, Some(NotSharper::Evaluation(_))),
        "{fault:?}"
    );

    // Redundant equations that contradict each other by 1e-15: no jet satisfies both.
    let system = common::system(
        "model Contradiction  Real x, y;
         equation x + y = 1; 2*x + 2*y = 2 + 1e-15; end Contradiction;",
    );
    let jet = vec![vec![0.5, 0.5], vec![0.0, 0.0], vec![0.0, 0.0]];
    match system.sharpen(0.0, &jet) {
        Err(error @ NotSharper::NoConvergence { residual, .. }) => {
            assert!(residual > 1e-17 && residual < 1e-14, "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn arm_is_decided_with_the_second_look_at_hand() {
    let system = common::system(&common::text("robotic-arm"));
    for (time, jet) in common::solutions("robotic-arm", &system, K + 2) {
        let sharp = system.sharpen(time, &jet).expect("a regular point");
        let matrices = matrices(&system, time, &jet);
        let question = IndexQuestion {
            sharper: &|| Some(sharp.series.clone()),
            ..IndexQuestion::new(&matrices)
        };
        let outcome = decide(&question).outcome;
        let indices = outcome.indices().expect("a regular point");
        assert_eq!(indices.differentiation_index, Some(5));
        let random = |i: usize| system.series_at_random_jet(time, &jet[0], K, i as u64);
        assert_eq!(
            compare_with_random_jets(&outcome, &random),
            Comparison::Usual
        );
    }
}

/// E and B along a jet in doubles.
fn matrices(system: &System, time: f64, jet: &[Vec<f64>]) -> MatrixSeries {
    let mut series = system.series::<Jet>(K);
    series.inputs_mut().set_time(time);
    for (k, row) in jet.iter().enumerate() {
        series.inputs_mut().row_mut(k).copy_from_slice(row);
    }
    for k in 0..=K {
        series.extend(k).expect("a regular point");
    }
    MatrixSeries::along(&series, K).expect("first order")
}

#[test]
fn ranks_that_hold_on_the_constraints_only_are_noticed() {
    // A pendulum with its velocity constraint written out: one equation too many, which only consistent jets know.
    let system = common::system(
        "model Twice  Real x, y, u, v, f; equation
           der(x) = u; der(y) = v; der(u) = -f*x; der(v) = -f*y - 1;
           x^2 + y^2 = 1; x*u + y*v = 0;  end Twice;",
    );
    // At rest below, all along.
    let mut jet = vec![vec![0.0; 5]; K + 2];
    jet[0] = vec![0.0, -1.0, 0.0, 0.0, 1.0];
    let sharp = system.sharpen(0.0, &jet).expect("exact already");
    assert!(sharp.moved < 1e-15);
    let series = matrices(&system, 0.0, &jet);
    let outcome = decide(&IndexQuestion::new(&series)).outcome;
    let strangeness = outcome.indices().expect("constant ranks").strangeness;
    assert_eq!(
        strangeness.to_string(),
        "mu = 1, d = 2, a = 3, u = 0, v = 1"
    );
    let random = |i: usize| system.series_at_random_jet(0.0, &jet[0], K, i as u64);
    match compare_with_random_jets(&outcome, &random) {
        Comparison::Special { usual } => assert_ne!(usual.strangeness, strangeness),
        other => panic!("{other:?}"),
    }
}
