//! The exact solution of the robotic arm, as a jet, satisfies its equations and their derivatives.

mod common;

use daelight_analysis::{Reduced, System};
use daelight_expr::{Jet, JetEvaluator, PackedJet};
use serde_json::Value;

/// Time and coefficients x_k = x^(k)/k! of every listed solution, `[order][unknown]`.
fn solutions(name: &str, system: &System) -> Vec<(f64, Vec<Vec<f64>>)> {
    let expected = common::expected(name);
    let number = |value: &Value| -> f64 { value.as_str().expect("digits").parse().expect("f64") };
    let listed = expected["solution"].as_array().expect("a list");
    let with_derivatives = listed.iter().filter(|s| s["derivatives"].is_object());
    with_derivatives
        .map(|solution| {
            let mut factorial = 1.0;
            let rows = (0..8)
                .map(|order| {
                    factorial *= f64::max(order as f64, 1.0);
                    let unknowns = system.unknowns().iter();
                    unknowns
                        .map(|unknown| {
                            let derivatives = &solution["derivatives"][&unknown.name];
                            number(&derivatives[order]) / factorial
                        })
                        .collect()
                })
                .collect();
            (number(&solution["time"]), rows)
        })
        .collect()
}

/// F_0..F_6 vanish to 1e-10, as they are: nothing is divided by a scale.
fn check<J: JetEvaluator>(name: &str, n_times: usize) {
    let system = common::system(&common::text(name));
    let reduced = Reduced::new(&system);
    let mut series = system.series::<J>(6);
    let mut reduced_series = reduced.series::<J>(6, system.parameters().values());
    let solutions = solutions(name, &system);
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
