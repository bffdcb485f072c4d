//! Setting a parameter gives what reading the model again with that value gives.

use crate::common;
use crate::common::{Random, random_jet, time};
use daelight_analysis::{ParameterError, System};

/// Everything that depends on parameters: their values, attributes, F, E and B at a random point.
fn numbers(system: &System) -> Vec<f64> {
    let mut list = system.parameters().values().to_vec();
    for unknown in system.unknowns() {
        list.extend(unknown.start);
        list.extend(unknown.nominal);
        list.extend(unknown.min);
        list.extend(unknown.max);
    }
    let mut evaluator = system.evaluator();
    evaluator.set_time(time(system));
    let jet = random_jet(system, 2, &mut Random(0x9E37_79B9_7F4A_7C15));
    evaluator.set(0, &jet[0]);
    evaluator.set(1, &jet[1]);
    let mut residuals = vec![0.0; system.equations().n_equations()];
    evaluator
        .residuals(&mut residuals)
        .expect("a regular point");
    list.extend(residuals);
    evaluator.jacobians().expect("a regular point");
    for derivative in 0..=1 {
        let mut entries = vec![0.0; system.equations().pattern(derivative).n_entries()];
        evaluator.entries(derivative, &mut entries);
        list.extend(entries);
    }
    list
}

#[test]
fn setting_equals_reading_again() {
    let mut n_set = 0;
    let mut n_refused = 0;
    for (name, text) in common::library() {
        let model = common::model(&text, &[]);
        let system = System::new(&model).expect("a system");
        for (index, parameter) in model.parameters.iter().enumerate() {
            let value = 1.125 * parameter.value + 0.0625;
            let mut changed = system.clone();
            match changed.set_parameter(&parameter.name, value) {
                Ok(()) => n_set += 1,
                Err(error) => {
                    let is_final = model.declarations[parameter.declaration].is_final;
                    assert!(
                        parameter.is_constant || is_final || parameter.is_structural,
                        "{name}: {error}"
                    );
                    assert_eq!(changed.parameters().values(), system.parameters().values());
                    n_refused += 1;
                    continue;
                }
            }
            assert_eq!(changed.parameters().values()[index], value);
            let set = format!("{}={value:?}", parameter.name);
            let again = System::new(&common::model(&text, &[set])).expect("a system");
            assert_eq!(
                numbers(&changed),
                numbers(&again),
                "{name}: {}",
                parameter.name
            );
        }
    }
    println!("{n_set} parameters set, {n_refused} refused");
    assert!(n_set > 100 && n_refused > 3);
}

const CHAIN: &str = "model Chain
  parameter Integer n = 2;
  parameter Integer rows = n + 1;
  parameter Real a = 1, b(max = 10) = 2*a, c = 1/(b - 4);
  final parameter Real f = 3;
  constant Real k = 2;
  parameter Integer whole = 1;
  Real x[rows](each start = sqrt(3 - a));
equation
  for i in 1:rows loop
    der(x[i]) = -c*whole*k*f*x[i];
  end for;
end Chain;";

#[test]
fn definitions_follow_until_they_are_set() {
    let mut system = common::system(CHAIN);
    let value = |system: &System, name: &str| {
        let index = system.parameters().find(name).expect("a parameter");
        system.parameters().values()[index]
    };
    system.set_parameter("a", 1.5).expect("it can be set");
    assert_eq!((value(&system, "b"), value(&system, "c")), (3.0, -1.0));
    assert_eq!(system.unknowns()[0].start, Some(1.5f64.sqrt()));
    system.set_parameter("b", 5.0).expect("it can be set");
    system.set_parameter("a", 2.5).expect("it can be set");
    assert_eq!((value(&system, "b"), value(&system, "c")), (5.0, 1.0));
}

#[test]
fn what_cannot_be_set_says_why_and_changes_nothing() {
    let mut system = common::system(CHAIN);
    let before = system.parameters().values().to_vec();
    let cases = [
        ("nobody", 1.0, "the model has no parameter `nobody`"),
        ("k", 1.0, "`k` is a constant"),
        ("f", 1.0, "`f` is final"),
        ("rows", 4.0, "the shape of the model depends on `rows`"),
        ("n", 4.0, "the shape of the model depends on `n`"),
        ("whole", 1.5, "`whole` would be 1.5, no whole number"),
        ("a", f64::NAN, "`a` would be NaN, no finite number"),
        ("a", 2.0, "`c` would be inf, no finite number"),
        ("a", 6.0, "`b` would be 12, beyond its bound 10"),
        ("a", 3.5, "`start` of `x[1]` would be NaN, no finite number"),
    ];
    for (name, value, message) in cases {
        let error: ParameterError = system.set_parameter(name, value).expect_err(message);
        assert_eq!(error.to_string(), message);
        assert_eq!(system.parameters().values(), before);
    }
}
