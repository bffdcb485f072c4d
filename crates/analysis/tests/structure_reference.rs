//! Offsets, structural index and degrees of freedom of known models.

use crate::common;
use crate::common::library_model;
use daelight_analysis::System;
use daelight_analysis::initial::Request;
use daelight_analysis::passport::Passport;
use daelight_analysis::structure::{SignatureMatrix, Structure, SystemJacobian};
use daelight_lang::{Model, Symbol};
use daelight_linalg::{GapRule, Svd};
use serde_json::Value;

fn model(text: &str) -> Model {
    common::model(text, &[])
}

fn numbers<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    let list = value.as_array().expect("a list");
    list.iter()
        .map(|item| read(item).expect("a number"))
        .collect()
}

fn counts(value: &Value) -> Vec<usize> {
    numbers(value, |item| item.as_u64().map(|count| count as usize))
}

/// Blocks whose matrix has less than full rank at the point.
fn singular_blocks(structure: &Structure, values: &[f64]) -> Vec<usize> {
    (0..structure.blocks().len())
        .filter(|&block| {
            let matrix = structure.block_matrix(block, values);
            let n = matrix.nrows();
            let mut svd = Svd::new();
            svd.factor_values(matrix.view()).expect("finite entries");
            let decision = svd.rank(&GapRule::new(n, n, svd.norm()));
            decision.decided().expect("a clear rank") < n
        })
        .collect()
}

fn cases() -> Vec<Value> {
    let text = include_str!("data/structure.json");
    let data: Value = serde_json::from_str(text).expect("JSON");
    let cases = data["cases"].as_array().expect("a list").clone();
    assert_eq!(cases.len(), 6);
    cases
}

fn text(case: &Value) -> String {
    let list = |field: &str| numbers(&case[field], |item| item.as_str().map(str::to_string));
    format!(
        "model M Real {}; equation {}; end M;",
        list("unknowns").join(", "),
        list("equations").join("; ")
    )
}

#[test]
fn recomputed_references_come_out() {
    for case in cases() {
        let name = case["name"].as_str().expect("a name");
        let model = model(&text(&case));
        let structure = Structure::of_signature(SignatureMatrix::from_model(&model)).expect(name);
        let offsets = structure.offsets();
        assert_eq!(
            offsets.equation,
            counts(&case["equation_offsets"]),
            "{name}"
        );
        assert_eq!(
            offsets.variable,
            counts(&case["variable_offsets"]),
            "{name}"
        );
        let index = structure.structural_index();
        assert_eq!(
            Some(index as u64),
            case["structural_index"].as_u64(),
            "{name}"
        );
        let freedom = structure.n_degrees_of_freedom();
        assert_eq!(Some(freedom), case["degrees_of_freedom"].as_u64(), "{name}");

        let jacobian = system_jacobian(&model, &structure);
        let time = case["time"].as_f64().expect("a time");
        let point = ["values", "derivatives"].map(|field| numbers(&case[field], Value::as_f64));
        let values = jacobian.evaluate(|symbol| match symbol {
            Symbol::Time => time,
            Symbol::Unknown { unknown, order } => point[order as usize][unknown],
            other => panic!("{other:?} in {name}"),
        });
        let singular = singular_blocks(&structure, &values);
        assert_eq!(
            Some(singular.is_empty()),
            case["regular"].as_bool(),
            "{name}: {singular:?}"
        );
    }
}

/// All numerical index notions of the same models, from the points given.
#[test]
fn recomputed_indices_come_out() {
    for case in cases() {
        let name = case["name"].as_str().expect("a name");
        let system = System::new(&model(&text(&case))).expect("a system");
        let time = case["time"].as_f64().expect("a time");
        let mut request = Request::of_model(&system, time, 0);
        request.guess = numbers(&case["values"], Value::as_f64);
        request.given.clear();
        let passport = Passport::new(&system, &request);
        let indices = passport
            .indices()
            .unwrap_or_else(|| panic!("{name}: {:?}", passport.verdict));
        let strangeness = indices.strangeness;
        let found = [
            indices.differentiation_index.unwrap_or(usize::MAX),
            strangeness.index,
            strangeness.n_algebraic,
            strangeness.n_differential,
        ];
        let fields = ["differentiation_index", "strangeness_index", "a", "d"];
        let expected = fields.map(|field| case[field].as_u64().expect("a number") as usize);
        assert_eq!(found, expected, "{name}");
    }
}

/// The system Jacobian of a model with its own parameters; the matrices tell the same structure as the text.
fn system_jacobian(model: &Model, structure: &Structure) -> SystemJacobian {
    let system = System::new(model).expect("a system");
    let again = Structure::of_equations(system.equations()).expect("a transversal");
    assert_eq!(&again, structure);
    SystemJacobian::new(system.equations(), structure, system.parameters().values())
}

/// Structural index and degrees of freedom of a library model.
fn check(name: &str, index: usize, freedom: u64) -> Structure {
    let structure = Structure::of_signature(SignatureMatrix::from_model(&library_model(name, &[])))
        .expect(name);
    assert_eq!(structure.structural_index(), index, "{name}");
    assert_eq!(structure.n_degrees_of_freedom(), freedom, "{name}");
    structure
}

#[test]
fn library_models_have_their_index_and_freedom() {
    check("robotic-arm-safe-path", 5, 0);
    check("robotic-arm-general", 3, 2);
    check("pendulum", 3, 2);
    check("pendulum-3d", 3, 4);
    check("delta-robot", 3, 6);
    check("e12", 4, 4);
    check("spring-mass", 0, 2);
    check("cart-pendulum", 0, 4);
    check("index3-toy", 3, 0);
    let andrews = check("andrews", 3, 2);
    let count = |index: usize| {
        let indices = andrews.unknown_indices().iter();
        indices.filter(|&&other| other == index).count()
    };
    assert_eq!([count(1), count(2), count(3)], [7, 7, 13]);
}

/// The arm in the difference of its torques: triangular, with the two blocks whose determinants vanish on the way.
#[test]
fn the_arm_falls_into_blocks() {
    let structure = check("robotic-arm", 5, 0);
    assert_eq!(structure.offsets().equation, [3, 1, 3, 2, 0, 2, 4, 4]);
    assert_eq!(structure.offsets().variable, [4, 2, 4, 3, 1, 3, 2, 0]);
    assert_eq!(structure.unknown_indices(), [1, 3, 1, 2, 4, 2, 3, 5]);
    let blocks: Vec<(&[usize], &[usize])> = structure
        .blocks()
        .iter()
        .map(|block| (&block.equations[..], &block.unknowns[..]))
        .collect();
    assert_eq!(blocks.len(), 6);
    let place = |equations: &[usize], unknowns: &[usize]| {
        let found = blocks
            .iter()
            .position(|&block| block == (equations, unknowns));
        found.unwrap_or_else(|| panic!("{equations:?} in {blocks:?}"))
    };
    let path = place(&[6, 7], &[0, 2]);
    let velocities = [place(&[0], &[3]), place(&[2], &[5])];
    let motor = place(&[3, 5], &[1, 6]);
    let [motor_velocity, torque] = [place(&[1], &[4]), place(&[4], &[7])];
    assert!(
        velocities
            .iter()
            .all(|&block| path < block && block < motor)
    );
    assert!(motor < motor_velocity && motor_velocity < torque);
}

/// In the torques themselves the structure is wrong, and the system Jacobian says so.
#[test]
fn the_arm_in_its_torques_is_singular_everywhere() {
    let model = library_model("robotic-arm-torques", &[]);
    let structure = check("robotic-arm-torques", 3, 2);
    let jacobian = system_jacobian(&model, &structure);
    let values = jacobian.evaluate(|symbol| match symbol {
        Symbol::Time => 0.1,
        Symbol::Unknown { unknown, order } => 0.3 + 0.17 * unknown as f64 + 0.4 * f64::from(order),
        other => panic!("{other:?}"),
    });
    assert_eq!(singular_blocks(&structure, &values).len(), 1);
    let model = library_model("robotic-arm", &[]);
    let structure = Structure::of_signature(SignatureMatrix::from_model(&model)).expect("regular");
    let values = system_jacobian(&model, &structure).evaluate(|symbol| match symbol {
        Symbol::Unknown { unknown, order } => 0.3 + 0.17 * unknown as f64 + 0.4 * f64::from(order),
        _ => 0.1,
    });
    assert_eq!(singular_blocks(&structure, &values), [0usize; 0]);
}

/// An unknown that is computed from another takes over the differentiations that one needs, less the slack.
#[test]
fn the_index_of_an_unknown_counts_what_it_is_computed_from() {
    let model = model(
        "model M Real x, y, u, v, f, a, b, c, d, e;
         equation der(x) = u; der(y) = v; der(u) = -f*x; der(v) = -f*y - 9.81; x^2 + y^2 = 1;
         a = x; b = der(x); c = u; d = f; der(e) = f; end M;",
    );
    let structure = Structure::of_signature(SignatureMatrix::from_model(&model)).expect("regular");
    assert_eq!(structure.unknown_indices(), [1, 1, 2, 2, 3, 1, 2, 2, 3, 2]);
}

#[test]
fn matrices_agree_with_the_pattern() {
    let model = library_model("andrews", &[]);
    let structure = Structure::of_signature(SignatureMatrix::from_model(&model)).expect("regular");
    let values: Vec<f64> = (1..=structure.n_jacobian_entries())
        .map(|k| k as f64)
        .collect();
    let whole = structure.matrix(&values).expect("a pattern").to_dense();
    let mut sum = 0.0;
    for (block, members) in structure.blocks().iter().enumerate() {
        let part = structure.block_matrix(block, &values);
        for (row, &equation) in members.equations.iter().enumerate() {
            assert_eq!(structure.block_of_equation(equation), block);
            for (column, &unknown) in members.unknowns.iter().enumerate() {
                assert_eq!(structure.block_of_unknown(unknown), block);
                assert_eq!(
                    part.view().at(row, column),
                    whole.view().at(equation, unknown)
                );
            }
        }
    }
    for equation in 0..structure.n() {
        for unknown in structure.jacobian_row(equation) {
            sum += whole.view().at(equation, unknown);
            assert!(structure.jacobian_order(equation, unknown).is_some());
            // Nothing stands above the blocks.
            assert!(structure.block_of_unknown(unknown) <= structure.block_of_equation(equation));
        }
    }
    let n = values.len() as f64;
    assert_eq!(sum, n * (n + 1.0) / 2.0);
}

#[test]
fn parameters_and_defined_inputs_are_filled_in() {
    let model = model(
        "model M parameter Real k = 2; input Real u = sin(time); Real x;
         equation k*der(u)*der(x) = x; end M;",
    );
    let structure = Structure::of_signature(SignatureMatrix::from_model(&model)).expect("regular");
    let jacobian = system_jacobian(&model, &structure);
    let at = |symbol: Symbol| match symbol {
        Symbol::Time => 0.5,
        other => panic!("{other:?} is not needed"),
    };
    assert_eq!(jacobian.evaluate(at), [2.0 * 0.5f64.cos()]);
    let system = System::new(&model).expect("a system");
    let other = SystemJacobian::new(system.equations(), &structure, &[3.0]);
    assert_eq!(other.evaluate(at), [3.0 * 0.5f64.cos()]);
}

/// An unknown in a condition only is determined by nothing.
#[test]
fn conditions_do_not_count() {
    let model = model(
        "model M Real x, y; equation
         x = if y > 1 then 2 else 3; der(x) = if x > 0 then 1 else sign(y); end M;",
    );
    let signature = SignatureMatrix::from_model(&model);
    assert_eq!(signature.order(0, 1), None);
    assert_eq!(signature.order(1, 1), None);
    assert_eq!(signature.order(1, 0), Some(1));
    let singular =
        Structure::of_signature(SignatureMatrix::from_model(&model)).expect_err("y is free");
    assert_eq!(singular.balance.underdetermined[0].unknowns, [1]);
    assert_eq!(singular.balance.overdetermined[0].equations, [0, 1]);
    assert!(singular.to_string().contains("1 overdetermined"));
}

#[test]
fn rectangular_and_empty_models_have_an_outcome() {
    let empty = model("model M equation end M;");
    let structure =
        Structure::of_signature(SignatureMatrix::from_model(&empty)).expect("nothing is missing");
    assert_eq!(structure.structural_index(), 0);
    assert_eq!(structure.n_degrees_of_freedom(), 0);
    assert!(structure.blocks().is_empty());
    let jacobian = system_jacobian(&empty, &structure);
    assert!(jacobian.evaluate(|_| 1.0).is_empty());
    assert_eq!(structure.matrix(&[]).expect("empty").nrows(), 0);

    for (equations, unknowns) in [(0, 3), (3, 0), (2, 3), (3, 2), (2, 2)] {
        let entries = (equations.min(unknowns) > 0).then_some((0, 0, 1));
        let signature =
            SignatureMatrix::from_entries(equations, unknowns, entries).expect("inside");
        let singular = Structure::of_signature(signature).expect_err("no transversal");
        assert!(!singular.balance.is_balanced());
    }
    let outside = SignatureMatrix::from_entries(1, 1, [(0, 1, 0)]).expect_err("outside");
    assert_eq!(
        outside.to_string(),
        "the entry (0, 1) lies outside the matrix"
    );
    assert!(SignatureMatrix::from_entries(1, 1, [(1, 0, 0)]).is_err());
    assert!(
        Structure::of_signature(SignatureMatrix::from_model(&library_model(
            "andrews-constraints",
            &[]
        )))
        .is_err()
    );
    assert!(
        Structure::of_signature(SignatureMatrix::from_model(&library_model(
            "km-singular",
            &[]
        )))
        .is_ok()
    );
}
