//! Every model of the library: complete, balanced as expected, and true to its reference values.

use crate::common::{Point, built_in, expected, model_with, number, root};
use serde_json::Value;

#[test]
fn every_model_is_complete_and_has_the_expected_size() {
    let models = daelight::built_in_models();
    assert!(models.len() >= 21);
    for model in models {
        let source = root().join("models").join(model.name).join("SOURCE.md");
        assert!(source.exists(), "{} has no SOURCE.md", model.name);
        let mut read = daelight::load(model.name, &Default::default()).expect("a built-in model");
        let balance = daelight::check(&mut read);
        let loaded = read.model.as_ref().expect(model.name);
        let expected = expected(model.name);
        assert_eq!(
            loaded.equations.len() as u64,
            expected["n_equations"],
            "{}",
            model.name
        );
        assert_eq!(
            loaded.unknowns.len() as u64,
            expected["n_unknowns"],
            "{}",
            model.name
        );
        let square = loaded.equations.len() == loaded.unknowns.len();
        assert_eq!(balance.unwrap().is_balanced(), square, "{}", model.name);
        let warnings = read.diagnostics.len();
        assert_eq!(
            warnings,
            usize::from(!square),
            "{}: {warnings} warnings",
            model.name
        );
        assert!(
            !loaded.comment.is_empty(),
            "{} has no description",
            model.name
        );
    }
}

/// Equations that can be evaluated at the listed points of the solution hold there.
#[test]
fn reference_solutions_satisfy_the_equations() {
    let mut evaluated = Vec::new();
    for model in daelight::built_in_models() {
        let expected = expected(model.name);
        let mut count = 0;
        for entry in expected["solution"].as_array().into_iter().flatten() {
            let mut set = Vec::new();
            for (name, value) in entry["set"].as_object().into_iter().flatten() {
                set.push(format!("{name}={}", number(value)));
            }
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            let loaded = model_with(model.name, built_in(model.name), &set);
            // Mechanisms without motion have no time.
            let time = if entry["time"].is_null() {
                0.0
            } else {
                number(&entry["time"])
            };
            let mut point = Point {
                time,
                ..Point::default()
            };
            for (name, value) in entry["values"].as_object().into_iter().flatten() {
                point.set(name, 0, number(value));
            }
            for (name, value) in entry["derivatives"].as_object().into_iter().flatten() {
                match value {
                    Value::Array(list) => {
                        for (order, value) in list.iter().enumerate() {
                            point.set(name, order as u32, number(value));
                        }
                    }
                    single => point.set(name, 1, number(single)),
                }
            }
            // Velocities that daelight names stand for first derivatives.
            for unknown in &loaded.unknowns {
                let velocity = (format!("der({})", unknown.name), 0);
                if let Some(&value) = point.values.get(&velocity) {
                    point.set(&unknown.name, 1, value);
                }
            }
            for equation in &loaded.equations {
                let Some(residual) = point.value(&loaded, equation.residual) else {
                    continue;
                };
                let sides = [equation.left, equation.right]
                    .map(|side| point.value(&loaded, side).map_or(0.0, f64::abs));
                let scale = 1.0 + sides[0].max(sides[1]);
                // References of simulated points carry their own error.
                let digits = if model.name == "e12" { 1e-6 } else { 1e-9 };
                assert!(
                    residual.abs() <= digits * scale,
                    "{} at t = {}: {} leaves {residual:e}",
                    model.name,
                    point.time,
                    loaded.equation_text(equation)
                );
                count += 1;
            }
        }
        if count > 0 {
            evaluated.push((model.name, count));
        }
    }
    let names: Vec<&str> = evaluated.iter().map(|(name, _)| *name).collect();
    for name in [
        "robotic-arm",
        "robotic-arm-torques",
        "robotic-arm-safe-path",
        "robotic-arm-general",
        "pendulum-3d",
        "delta-robot",
        "cstr",
        "pendulum",
        "andrews",
        "akzo-nobel",
        "e1",
        "e1-complete",
        "e12",
    ] {
        assert!(
            names.contains(&name),
            "{name} was not evaluated: {evaluated:?}"
        );
    }
}
