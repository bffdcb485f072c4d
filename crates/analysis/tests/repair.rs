//! Repair of structures that are wrong as written: the robotic arm in its torques, examples, and what cannot be repaired.

use crate::common::{expected, library, model, system, text};
use daelight_analysis::repair::{
    EquationOrigin, Names, NotRepaired, Repair, RepairBudget, Repaired, StepKind, repair,
};
use daelight_analysis::structure::{Structure, SystemJacobian};
use daelight_analysis::{Reduced, System};
use daelight_lang::Symbol;
use daelight_linalg::Verdict;
use std::time::{Duration, Instant};

fn outcome(system: &System, budget: &RepairBudget) -> Repair {
    let structure = Structure::of_equations(system.equations()).expect("a transversal");
    let parameters = system.parameters().values();
    let names = Names::of_system(system);
    repair(
        system.equations(),
        &structure,
        parameters,
        None,
        &names,
        budget,
    )
}

fn expect_repaired(outcome: Repair) -> Repaired {
    match outcome {
        Repair::Repaired(repaired) => *repaired,
        Repair::NotNeeded | Repair::SingularHere { .. } => panic!("a repair is needed"),
        Repair::Unknown { because, steps } => panic!("{because} after {steps:?}"),
    }
}

fn failure(text: &str, budget: &RepairBudget) -> NotRepaired {
    match outcome(&system(text), budget) {
        Repair::Unknown { because, .. } => because,
        Repair::Repaired(repaired) => panic!("repaired: {}", repaired.text()),
        Repair::NotNeeded | Repair::SingularHere { .. } => panic!("regular"),
    }
}

/// The determinant of a block of the repaired system Jacobian, which has at most two equations.
fn determinant(repaired: &Repaired, system: &System, block: usize, x3: f64) -> f64 {
    let parameters = system.parameters().values();
    let jacobian = SystemJacobian::new(repaired.equations(), repaired.structure(), parameters);
    let values = jacobian.evaluate(|symbol| match symbol {
        Symbol::Unknown {
            unknown: 2,
            order: 0,
        } => x3,
        Symbol::Unknown { unknown, order } => 0.3 + 0.1 * unknown as f64 - 0.2 * f64::from(order),
        _ => 0.7,
    });
    let matrix = repaired.structure().block_matrix(block, &values);
    let at = |i, j| matrix.view().at(i, j);
    match matrix.nrows() {
        1 => at(0, 0),
        2 => at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0),
        n => panic!("a block of {n} equations"),
    }
}

/// Structural 3/2 as written, 5/0 after the repair, with the two loci of the arm in x7.
fn check_arm(name: &str, step: &str) {
    let system = system(&text(name));
    let written = Structure::of_equations(system.equations()).expect("a transversal");
    assert_eq!(written.structural_index(), 3);
    assert_eq!(written.n_degrees_of_freedom(), 2);
    let repaired = expect_repaired(outcome(&system, &RepairBudget::default()));
    assert_eq!(repaired.structural_index(), 5);
    assert_eq!(repaired.n_degrees_of_freedom(), 0);
    assert_eq!(repaired.steps().len(), 1);
    assert!(repaired.text().starts_with(step), "{}", repaired.text());
    assert_eq!(
        repaired.suspects(),
        [],
        "the factor of equation 6 cannot vanish"
    );
    let origin = |equation| EquationOrigin {
        equation,
        times_differentiated: 0,
    };
    assert_eq!(repaired.origins(5), [origin(3), origin(5)]);
    assert_eq!(
        repaired.verdict(),
        Verdict::Unknown,
        "no consistent point was given"
    );

    // At the zeros of the factors, and only there, a determinant vanishes.
    let structure = repaired.structure();
    let path = structure.block_of_equation(6);
    let motion = structure.block_of_equation(5);
    for x3 in [0.2f64, 0.9, 2.0, -1.3] {
        let ratio = determinant(&repaired, &system, path, x3) / x3.sin();
        let reference = determinant(&repaired, &system, path, 1.0) / 1f64.sin();
        assert!((ratio / reference - 1.0).abs() < 1e-13, "sin(x3)");
        // The common denominator of the equations of motion is a(x3)/2 = 1/(2 - cos(x3)^2).
        let shape = |x3: f64| {
            let c = x3.cos();
            (c * c - 6.0 * c + 4.0) / (2.0 - c * c)
        };
        let ratio = determinant(&repaired, &system, motion, x3) / shape(x3);
        let reference = determinant(&repaired, &system, motion, 1.0) / shape(1.0);
        assert!(
            (ratio / reference - 1.0).abs() < 1e-12,
            "cos(x3)^2 - 6*cos(x3) + 4"
        );
    }
    let critical = (3.0 - 5f64.sqrt()).acos();
    assert!(determinant(&repaired, &system, path, 0.0).abs() < 1e-15);
    assert!(determinant(&repaired, &system, motion, critical).abs() < 1e-14);
    for block in 0..structure.blocks().len() {
        if block != path && block != motion {
            let at = |x3| determinant(&repaired, &system, block, x3).abs();
            assert!(at(0.0) > 0.1 && at(critical) > 0.1 && at(2.0) > 0.1);
        }
    }
}

#[test]
fn the_arm_in_its_torques() {
    check_arm(
        "robotic-arm-torques",
        "(1 + 0.5*cos(x3))*(line 42) + (line 44) replaces line 44",
    );
}

/// For each set of parameters with a reference value, the determinant vanishes at that value of cos(x3).
#[test]
fn the_arm_in_general_parameters() {
    let name = "robotic-arm-general";
    let step = "(A2 + A3*cos(x3))*(line 43) + A2*(line 47) replaces line 47";
    let expected = expected(name);
    let sets = expected["critical_cosines"].as_array().expect("a list");
    assert_eq!(sets.len(), 8);
    for case in sets {
        let set = case["set"].as_object().expect("parameters");
        let set: Vec<String> = set.iter().map(|(p, v)| format!("{p}={v}")).collect();
        let system = System::new(&model(&text(name), &set)).expect("a system");
        let repaired = expect_repaired(outcome(&system, &RepairBudget::default()));
        assert_eq!(repaired.structural_index(), 5);
        assert_eq!(repaired.n_degrees_of_freedom(), 0);
        assert!(repaired.text().starts_with(step), "{}", repaired.text());
        let path = repaired.structure().block_of_equation(6);
        assert!(determinant(&repaired, &system, path, 0.0).abs() < 1e-15);
        let cosine = case["cos_x3"].as_str().expect("digits");
        let cosine: f64 = cosine.parse().expect("a number");
        if cosine <= 1.0 {
            let motion = repaired.structure().block_of_equation(5);
            let at = |x3: f64| determinant(&repaired, &system, motion, x3);
            assert!((at(cosine.acos()) / at(2.0)).abs() < 1e-13, "{set:?}");
        }
    }
}

#[test]
fn the_arm_without_its_velocities() {
    let system = system(&text("robotic-arm-torques"));
    let reduced = Reduced::new(&system);
    let structure = Structure::of_equations(reduced.equations()).expect("a transversal");
    let names = Names::of_reduced(&system, &reduced);
    let parameters = system.parameters().values();
    let budget = RepairBudget::default();
    let outcome = repair(
        reduced.equations(),
        &structure,
        parameters,
        None,
        &names,
        &budget,
    );
    let repaired = expect_repaired(outcome);
    assert_eq!(repaired.n_degrees_of_freedom(), 0);
    let step = "(1 + 0.5*cos(x3))*(line 42) + (line 44) replaces line 44";
    assert!(repaired.text().starts_with(step), "{}", repaired.text());
}

#[test]
fn a_combination_counts_the_derivatives_inside_it() {
    let system = system(
        "model Hidden  Real x, y;  equation
         der(x) + time*der(y) = sin(time);  x + time*y = cos(time);  end Hidden;",
    );
    let repaired = expect_repaired(outcome(&system, &RepairBudget::default()));
    // The new offsets alone would say 1.
    assert_eq!(repaired.structure().structural_index(), 1);
    assert_eq!(repaired.structural_index(), 2);
    assert_eq!(repaired.times_differentiated(), [0, 1]);
    assert_eq!(repaired.n_degrees_of_freedom(), 0);
}

/// a + exp(-a' - b b'') = sin t, a + b b' + b^2 = cos t: no combination is allowed, a new unknown is.
#[test]
fn a_new_unknown_where_no_combination_helps() {
    let system = system(
        "model Exponent  Real a, b, w;  equation
         der(b) = w;  a + exp(-der(a) - b*der(w)) = sin(time);
         a + b*w + b^2 = cos(time);  end Exponent;",
    );
    let reduced = Reduced::new(&system);
    let structure = Structure::of_equations(reduced.equations()).expect("a transversal");
    let names = Names::of_reduced(&system, &reduced);
    let parameters = system.parameters().values();
    let budget = RepairBudget::default();
    let outcome = repair(
        reduced.equations(),
        &structure,
        parameters,
        None,
        &names,
        &budget,
    );
    let repaired = expect_repaired(outcome);
    assert_eq!(repaired.structural_index(), 2);
    assert_eq!(repaired.n_degrees_of_freedom(), 1);
    assert!(matches!(
        repaired.steps()[0].kind,
        StepKind::Substitution { n_new: 1, .. }
    ));
    let extra = &repaired.extra_unknowns()[0];
    assert_eq!(extra.name, "y1");
    let texts: Vec<&str> = repaired
        .steps()
        .iter()
        .map(|step| step.text.as_str())
        .collect();
    assert_eq!(
        texts,
        ["new unknown y1 = a + b*der(b), put into equation 2, line 3"]
    );
    // The new unknown and its derivative follow a jet of the old ones.
    let point = |symbol: Symbol| match symbol {
        Symbol::Unknown { unknown, order } => 1.5 + unknown as f64 + 0.25 * f64::from(order),
        _ => 0.0,
    };
    let lift = repaired.lift(&point);
    let value = |order| {
        lift.value(Symbol::Unknown {
            unknown: extra.unknown,
            order,
        })
    };
    // a = 1.5, b = 2.5, b' = 2.75, b'' = 3, a' = 1.75
    assert_eq!(value(0), 1.5 + 2.5 * 2.75);
    assert_eq!(value(1), 1.75 + 2.75 * 2.75 + 2.5 * 3.0);
    assert!(repaired.irregular_blocks(&point).is_empty());
}

#[test]
fn names_of_new_unknowns_are_new() {
    let system = system(
        "model Taken  Real y1, b, y2;  equation
         der(b) = y2;  y1 + exp(-der(y1) - b*der(y2)) = sin(time);
         y1 + b*y2 + b^2 = cos(time);  end Taken;",
    );
    let repaired = expect_repaired(outcome(&system, &RepairBudget::default()));
    assert_eq!(repaired.n_degrees_of_freedom(), 1);
    for extra in repaired.extra_unknowns() {
        assert!(!["y1", "y2", "b"].contains(&extra.name.as_str()));
    }
}

#[test]
fn what_cancels_is_taken_out() {
    // The first equation is x^2 = 1 + t^2.
    let system = system(
        "model Spurious  Real x, y;  equation
         (der(x) + x)^2 - der(x)^2 - 2*x*der(x) = 1 + time^2;  y + x = 0;  end Spurious;",
    );
    let repaired = expect_repaired(outcome(&system, &RepairBudget::default()));
    assert!(matches!(
        repaired.steps()[0].kind,
        StepKind::Cancellation { .. }
    ));
    assert_eq!(repaired.steps()[0].text, "der(x) cancels in equation 1");
    assert_eq!(repaired.n_degrees_of_freedom(), 0);
    assert_eq!(repaired.structural_index(), 1);
}

#[test]
fn a_singular_point_is_no_fault_of_structure() {
    let system = system("model Root  Real x, y;  equation  der(x) = y;  y^2 = x;  end Root;");
    let structure = Structure::of_equations(system.equations()).expect("a transversal");
    let at = |y: f64| {
        let point = move |symbol: Symbol| match symbol {
            Symbol::Unknown {
                unknown: 1,
                order: 0,
            } => y,
            _ => y * y,
        };
        let names = Names::of_system(&system);
        repair(
            system.equations(),
            &structure,
            &[],
            Some(&point),
            &names,
            &RepairBudget::default(),
        )
    };
    assert!(matches!(at(0.5), Repair::NotNeeded));
    let Repair::SingularHere { blocks } = at(0.0) else {
        panic!("2*y is zero");
    };
    assert_eq!(blocks, [structure.block_of_equation(1)]);
}

/// cos(y) times the second equation is added to the first: only along solutions is the system Jacobian singular.
#[test]
fn a_consistent_point_shows_what_random_jets_do_not() {
    let system = system(
        "model Mixed  Real x, y;  equation
         x - sin(time) + cos(y)*(der(x) - y) = 0;  der(x) - y = 0;  end Mixed;",
    );
    let structure = Structure::of_equations(system.equations()).expect("a transversal");
    assert_eq!(structure.n_degrees_of_freedom(), 1);
    // x = sin(time) at the time 0.4
    let point = |symbol: Symbol| {
        let order = match symbol {
            Symbol::Unknown { unknown, order } => unknown as u32 + order,
            _ => return 0.4,
        };
        (0.4 + f64::from(order) * std::f64::consts::FRAC_PI_2).sin()
    };
    let names = Names::of_system(&system);
    let attempt = |point| {
        let budget = RepairBudget::default();
        repair(system.equations(), &structure, &[], point, &names, &budget)
    };
    assert!(matches!(attempt(None), Repair::NotNeeded));
    let repaired = expect_repaired(attempt(Some(&point)));
    assert_eq!(repaired.n_degrees_of_freedom(), 0);
    assert_eq!(repaired.structural_index(), 2);
    assert_eq!(repaired.verdict(), Verdict::Observed);
    assert_eq!(
        repaired.text(),
        "(equation 1) - cos(y)*(equation 2) replaces equation 1: x - sin(time) = 0"
    );
}

#[test]
fn equations_that_depend_on_each_other_are_named() {
    let dependent = "model Twice  Real x, y;  equation
                     x + y = sin(time);  2*x + 2*y = cos(time);  end Twice;";
    let because = failure(dependent, &RepairBudget::default());
    let NotRepaired::Dependent { text } = &because else {
        panic!("{because}");
    };
    assert_eq!(
        text,
        "2*(equation 1) - (equation 2), which is cos(time) - 2*sin(time),"
    );
}

#[test]
fn branches_that_jets_may_miss_decide_nothing() {
    // At random jets x stays below 100, where the first equation has no der(x).
    let late = "model Late  Real x, y;  equation
                (if x > 100 then 1 else 0)*der(x) + x = sin(time);  x + y = 0;  end Late;";
    assert_eq!(
        failure(late, &RepairBudget::default()),
        NotRepaired::ZeroUnclear
    );
}

#[test]
fn budgets_are_reported() {
    let arm = text("robotic-arm-torques");
    let check = |budget: RepairBudget, expected: &str| {
        assert_eq!(failure(&arm, &budget).to_string(), expected);
    };
    let budget = RepairBudget::default();
    check(
        RepairBudget { steps: 0, ..budget },
        "the budget of steps is used up",
    );
    check(
        RepairBudget {
            nodes: 10,
            ..budget
        },
        "the budget of nodes of expressions is used up",
    );
    check(
        RepairBudget { block: 1, ..budget },
        "the singular block has 2 equations; expressions are eliminated up to 1",
    );
}

#[test]
fn regular_models_are_left_alone() {
    let mut repaired = Vec::new();
    for (name, text) in library() {
        let system = system(&text);
        if Structure::of_equations(system.equations()).is_err() {
            continue;
        }
        match outcome(&system, &RepairBudget::default()) {
            Repair::NotNeeded => {}
            Repair::Repaired(_) => repaired.push(name),
            Repair::Unknown { because, .. } => {
                // One unknown is free, and one combination is a condition on the right-hand side.
                assert_eq!(name, "km-singular");
                let text = "der(line 20 as replaced) + (line 21), which is -defect,".to_string();
                assert_eq!(because, NotRepaired::Dependent { text });
            }
            Repair::SingularHere { .. } => panic!("no point was given"),
        }
    }
    assert_eq!(repaired, ["robotic-arm-general", "robotic-arm-torques"]);
}

#[test]
fn a_long_chain_costs_one_look() {
    let chain = model(&text("pendulum-chain"), &["N=1000".to_string()]);
    let system = System::new(&chain).expect("a system");
    let structure = Structure::of_equations(system.equations()).expect("a transversal");
    let names = Names::of_system(&system);
    let parameters = system.parameters().values();
    let start = Instant::now();
    let outcome = repair(
        system.equations(),
        &structure,
        parameters,
        None,
        &names,
        &RepairBudget::default(),
    );
    let time = start.elapsed();
    println!("{time:?}");
    assert!(matches!(outcome, Repair::NotNeeded));
    assert!(time < Duration::from_secs(3), "{time:?}");
}
