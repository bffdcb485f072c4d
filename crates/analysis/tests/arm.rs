//! The exact solution of the robotic arm, as a jet, satisfies its equations and their derivatives.

use crate::common;
use daelight_analysis::Reduced;
use daelight_expr::{Jet, JetEvaluator, PackedJet};

/// F_0..F_6 vanish to 1e-10, as they are: nothing is divided by a scale.
fn check<J: JetEvaluator>(name: &str, n_times: usize) {
    let system = common::system(&common::text(name));
    let reduced = Reduced::new(&system);
    let mut series = system.series::<J>(6);
    let mut reduced_series = reduced.series::<J>(6, system.parameters().values());
    let solutions = common::solutions(name, &system, 8);
    assert_eq!(solutions.len(), n_times);
    let mut worst: f64 = 0.0;
    for (time, rows) in solutions {
        for inputs in [series.inputs_mut(), reduced_series.inputs_mut()] {
            inputs.set_time(time);
        }
        for (order, row) in rows.iter().enumerate() {
            series.inputs_mut().row_mut(order).copy_from_slice(row);
            reduced.restrict(row, reduced_series.inputs_mut().row_mut(order));
        }
        for k in 0..7 {
            series.extend(k).expect("a regular point");
            for equation in 0..series.n_equations() {
                let error = series.residual(equation, k).abs();
                worst = worst.max(error);
                assert!(
                    error < 1e-10,
                    "{name}, t = {time}: F_{k}[{equation}] {error:e}"
                );
            }
            // The reduced equations read one order more, x'' for x'.
            if k < 6 {
                reduced_series.extend(k).expect("a regular point");
                for equation in 0..reduced_series.n_equations() {
                    let error = reduced_series.residual(equation, k).abs();
                    assert!(
                        error < 1e-10,
                        "{name}, reduced, t = {time}: F_{k} {error:e}"
                    );
                }
            }
        }
    }
    // The test would notice: a change of 1e-9 in one coefficient is not accepted.
    let before = series.inputs().get(3, 2);
    series.inputs_mut().set(3, 2, before + 1e-9);
    let noticed = (0..3).any(|k| {
        series.extend(k).expect("a regular point");
        (0..series.n_equations()).any(|equation| series.residual(equation, k).abs() > 1e-10)
    });
    assert!(noticed, "{name}");
    println!("{name}: largest coefficient of a residual {worst:.1e}");
}

#[test]
fn the_exact_solution_satisfies_all_derivatives() {
    for (name, n_times) in [
        ("robotic-arm", 5),
        ("robotic-arm-torques", 5),
        ("robotic-arm-safe-path", 6),
    ] {
        check::<Jet>(name, n_times);
        check::<PackedJet>(name, n_times);
    }
}
