//! Linear models whose equations do not match their unknowns: the reduced equations as formulas, against reference problems.
//!
//! Example 6.1 and the quantities: P. Kunkel and V. Mehrmann, *Characterization of Classes of Singular Linear
//! Differential-Algebraic Equations*, ELA 13, 2006; the solutions of the others are hand computations.

use crate::common::system;
use daelight_analysis::System;
use daelight_analysis::index_reduction::{LinearReduction, Refusal};

/// Declarations, equations, d, a, u, v, and the reduced equations.
struct Case {
    unknowns: &'static str,
    equations: &'static str,
    time: f64,
    quantities: [usize; 4],
    reduced: &'static [&'static str],
    condition: Option<&'static str>,
}

const CASES: [Case; 7] = [
    Case {
        unknowns: "x1, x2",
        equations: "-time*der(x1) + time^2*der(x2) = -x1 + time*cos(time) + exp(time);
                    -der(x1) + time*der(x2) = -x2 + cos(time);",
        time: 0.5,
        quantities: [0, 1, 1, 1],
        reduced: &["x1 = time*x2 + exp(time);"],
        // h1' - t h2' with h1 = t cos t + e^t, h2 = cos t.
        condition: Some("cos(time) + exp(time)"),
    },
    Case {
        unknowns: "x1, x2, x3",
        equations: "(time^3/2 - time)*der(x1) + (1 - time^2)*der(x2) + time*der(x3)
                        = (2 - 2*time^2)*x1 + 2*time*x2 + sin(time) + time*cos(time);
                    time^2/2*der(x1) - time*der(x2) + der(x3) = -2*time*x1 + 2*x2 + cos(time);
                    time^3/2*der(x1) - time^2*der(x2) + time*der(x3)
                        = -1.5*time^2*x1 + time*x2 + x3 + time*cos(time) + time^3;",
        time: 0.7,
        quantities: [0, 3, 0, 0],
        reduced: &[],
        condition: None,
    },
    Case {
        unknowns: "x1, x2",
        equations: "der(x1) = x2 + cos(time); 0 = x1 - sin(time); 0 = x2;",
        time: 0.0,
        quantities: [0, 2, 0, 1],
        reduced: &["x1 = sin(time);", "x2 = 0;"],
        condition: Some("0"),
    },
    Case {
        unknowns: "x1, x2",
        equations: "der(x1) = x2; 0 = x1 - sin(time); 0 = x2 - 1;",
        time: 0.3,
        quantities: [0, 2, 0, 1],
        reduced: &["x1 = sin(time);", "x2 = 1;"],
        condition: Some("cos(time) - 1"),
    },
    Case {
        unknowns: "x1, x2",
        equations: "der(x1) = time*x2 + sin(time);",
        time: 0.0,
        quantities: [1, 0, 1, 0],
        reduced: &["der(x1) = time*x2 + sin(time);"],
        condition: None,
    },
    Case {
        unknowns: "x1, x2, x3",
        equations: "der(x1) = x2 + exp(time); 0 = x1 + sin(time);",
        time: 0.0,
        quantities: [0, 2, 1, 0],
        reduced: &["x1 = -sin(time);", "x2 = -exp(time) - cos(time);"],
        condition: None,
    },
    Case {
        unknowns: "x1, x2",
        equations: "time*der(x2) = x1 + sin(time); 0 = x2 + cos(time);",
        time: 0.4,
        quantities: [0, 2, 0, 0],
        reduced: &[
            "x2 = -cos(time);",
            "x1 = time*(sin(time) - sin(time)/time);",
        ],
        condition: None,
    },
];

fn of_case(case: &Case) -> System {
    system(&format!(
        "model M Real {}; equation {} end M;",
        case.unknowns, case.equations
    ))
}

#[test]
fn reduced_equations_are_those_of_the_references() {
    for case in &CASES {
        let system = of_case(case);
        let reduction = LinearReduction::new(&system, case.time).expect("linear");
        assert_eq!(
            reduction.quantities(),
            case.quantities,
            "{}",
            case.equations
        );
        let found = reduction.conditions().first();
        let text = found.and_then(|condition| condition.text.as_deref());
        // The sign of a condition is open.
        let opposite = case.condition.map(|text| format!("-({text})"));
        let other = case.condition.map(|text| text.replace(" - 1", "") + " - 1");
        assert!(
            text == case.condition || text == opposite.as_deref() || text == other.as_deref(),
            "{text:?} for {:?}",
            case.condition
        );
        if let Some(worst) = reduction.worst_residual([case.time]) {
            let expected = match case.condition {
                Some("0") => 0.0,
                Some("cos(time) - 1") => 1.0 - case.time.cos(),
                _ => case.time.cos() + case.time.exp(),
            };
            assert!((worst.residual.abs() - expected).abs() < 1e-12, "{worst:?}");
            assert_eq!(worst.is_violated(), expected > 0.0);
        }
        let reduced = reduction.model().expect("verified");
        let text = reduced.text().expect("short");
        for equation in case.reduced {
            assert!(text.contains(equation), "{equation} in\n{text}");
        }
    }
}

#[test]
fn a_disguised_chain_is_solved_to_its_known_solution() {
    // x = T y with T = [[1,0,0],[t,1,0],[t^2/2,t,1]] and y = (-6 t, -3 t^2 - cos t, -t^3).
    let system = of_case(&CASES[1]);
    let reduced = LinearReduction::new(&system, 0.7)
        .expect("linear")
        .model()
        .expect("verified");
    let square = System::new(&reduced.model).expect("a system");
    for t in [0.2_f64, 0.7, 1.3] {
        let y = [-6.0 * t, -3.0 * t * t - t.cos(), -t.powi(3)];
        let x = [y[0], t * y[0] + y[1], t * t / 2.0 * y[0] + t * y[1] + y[2]];
        let mut evaluator = square.evaluator();
        evaluator.set_time(t);
        evaluator.set(0, &x);
        evaluator.set(1, &[0.0; 3]);
        let mut residuals = [1.0; 3];
        evaluator.residuals(&mut residuals).expect("values");
        assert!(residuals.iter().all(|r| r.abs() < 1e-10), "{residuals:?}");
    }
}

#[test]
fn the_smallest_free_part_is_orthogonal_to_what_is_free() {
    let consistent = "-time*der(x1) + time^2*der(x2) = -x1 + time*cos(time) - sin(time);
                      -der(x1) + time*der(x2) = -x2 + cos(time);";
    for (sizes, weight) in [("", 1.0), ("(nominal = 10)", 100.0)] {
        let text = format!("model M Real x1, x2{sizes}; equation {consistent} end M;");
        let system = system(&text);
        let joined = LinearReduction::new(&system, 0.5).expect("linear");
        let joined = joined.with_least_norm().expect("one more equation");
        let joined = System::new(&joined.model).expect("a system");
        assert_eq!(joined.equations().n_equations(), 3);
        let reduction = LinearReduction::new(&joined, 0.5).expect("linear");
        assert_eq!(reduction.quantities(), [0, 2, 0, 1]);
        assert!(reduction.conditions()[0].is_identity);
        let square = System::new(&reduction.model().expect("verified").model).expect("a system");
        for t in [0.1_f64, 0.5, 1.9] {
            // x1 = t x2 - sin t, and t x1 + x2/weight = 0.
            let x2 = t * t.sin() / (t * t + 1.0 / weight);
            let mut evaluator = square.evaluator();
            evaluator.set_time(t);
            evaluator.set(0, &[t * x2 - t.sin(), x2]);
            evaluator.set(1, &[0.0; 2]);
            let mut residuals = [1.0; 2];
            evaluator.residuals(&mut residuals).expect("values");
            assert!(residuals.iter().all(|r| r.abs() < 1e-12), "{residuals:?}");
        }
    }
}

#[test]
fn what_cannot_be_reduced_is_refused() {
    let nonlinear = system("model M Real x, y; equation der(x) = x*y; end M;");
    let refusal = LinearReduction::new(&nonlinear, 0.0).err();
    assert!(
        matches!(refusal, Some(Refusal::NotLinear(_))),
        "{refusal:?}"
    );
    // The rank of E falls at t = 0.
    let singular = system("model M Real x, y; equation time*der(x) = y; end M;");
    let refusal = LinearReduction::new(&singular, 0.0).err();
    assert!(matches!(refusal, Some(Refusal::Singular)), "{refusal:?}");
    assert!(LinearReduction::new(&singular, 1.0).is_ok());
}
