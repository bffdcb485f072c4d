//! Flat text reads back to the same model: names, equations, and values at random points.

use crate::common::{Point, Random, built_in, model_of};
use daelight_lang::{ArrayStyle, Model, flat_modelica};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Writes the model, reads it back and compares all residuals at some points.
fn check(name: &str, model: &Model, random: &mut Random) {
    for style in [ArrayStyle::Kept, ArrayStyle::Scalarised] {
        let text = flat_modelica(model, style).expect("not too long");
        let again = model_of(name, &text);
        let names = |model: &Model| {
            let mut names: Vec<String> = model.unknowns.iter().map(|u| u.name.clone()).collect();
            names.sort();
            names
        };
        assert_eq!(names(model), names(&again), "{name}\n{text}");
        assert_eq!(model.equations.len(), again.equations.len(), "{name}");
        assert_eq!(
            model.initial_equations.len(),
            again.initial_equations.len(),
            "{name}"
        );
        assert_eq!(model.experiment, again.experiment, "{name}");
        assert_eq!(model.drawing.len(), again.drawing.len(), "{name}");
        for _ in 0..5 {
            let point = Point::random(model, random);
            for (old, new) in model.equations.iter().zip(&again.equations) {
                let a = point
                    .value(model, old.residual)
                    .expect("all values are given");
                let b = point
                    .value(&again, new.residual)
                    .expect("all values are given");
                let scale = [old.left, old.right]
                    .map(|side| point.value(model, side).unwrap().abs())
                    .into_iter()
                    .fold(1.0, f64::max);
                let equal = (a - b).abs() <= 1e-13 * scale || (!a.is_finite() && !b.is_finite());
                assert!(
                    equal,
                    "{name}: {a:e} against {b:e} in\n{}",
                    model.equation_text(old)
                );
            }
        }
        for (old, new) in model.unknowns.iter().zip(&again.unknowns) {
            let start = |model: &Model, unknown: &daelight_lang::Unknown| {
                unknown.start.map(|start| model.parameter_value(start))
            };
            if old.name == new.name {
                assert_eq!(
                    start(model, old),
                    start(&again, new),
                    "{name}: start of {}",
                    old.name
                );
                assert_eq!(old.fixed, new.fixed, "{name}: fixed of {}", old.name);
            }
        }
    }
}

#[test]
fn every_built_in_model_reads_back() {
    let mut random = Random(1);
    for model in daelight::built_in_models() {
        check(
            model.name,
            &model_of(model.name, built_in(model.name)),
            &mut random,
        );
    }
}

/// Random expressions over three variables, a parameter and time, as Modelica text.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("x".to_string()),
        Just("v[1]".to_string()),
        Just("v[2]".to_string()),
        Just("der(x)".to_string()),
        Just("p".to_string()),
        Just("time".to_string()),
        (-50..50i32).prop_map(|n| format!("({n})")),
        (0.01f64..9.0).prop_map(|x| format!("{x}")),
        Just("1e-7".to_string()),
        Just("2.5e20".to_string()),
    ];
    leaf.prop_recursive(6, 60, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| format!("{a} + {b}")),
            pair.clone().prop_map(|(a, b)| format!("{a} - ({b})")),
            pair.clone().prop_map(|(a, b)| format!("({a})*({b})")),
            pair.clone().prop_map(|(a, b)| format!("({a})/({b})")),
            pair.clone().prop_map(|(a, b)| format!("min({a}, {b})")),
            pair.clone().prop_map(|(a, b)| format!("atan2({a}, {b})")),
            (inner.clone(), 0..5i32).prop_map(|(a, n)| format!("({a})^{n}")),
            (inner.clone(), 1..4i32).prop_map(|(a, n)| format!("({a})^(-{n})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            inner.clone().prop_map(|a| format!("sin({a})")),
            inner.clone().prop_map(|a| format!("exp(-abs({a}))")),
            inner.clone().prop_map(|a| format!("sqrt(({a})^2)")),
            inner.clone().prop_map(|a| format!("tanh({a})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("(if {a} < {b} and not {b} >= 1 then {c} else {a})")),
        ]
    })
}

#[test]
fn random_models_read_back() {
    let config = Config {
        cases: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = runner.run(&(expression(), expression(), expression()), |(a, b, c)| {
        let text = format!(
            "model M parameter Real p = 0.7; Real x(start = p, fixed = true); \
             Real v[2](each start = 2*p); \
             equation {a} = {b}; v[1] + der(v[1]) = {c}; der(der(v[2])) = v[1]*der(v[2]); end M;"
        );
        check("random", &model_of("random", &text), &mut Random(7));
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
