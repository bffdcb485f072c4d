//! What cannot be evaluated is named by its line and in the user's words.

use crate::common;
use daelight_analysis::{FaultPlace, Reduced, System};
use daelight_expr::Jet;

/// Line and sentence for the point `x = values`, `x' = 0` at time 0.
fn check(text: &str, values: &[f64], line: usize, sentence: &str) {
    let system = common::system(text);
    let place = explain(&system, values);
    assert_eq!((place.line, place.sentence.as_str()), (line, sentence));
    let (found, _) = system
        .sources()
        .get(place.span.source)
        .line_column(place.span.start);
    assert_eq!(found, line);
}

fn explain(system: &System, values: &[f64]) -> FaultPlace {
    let mut evaluator = system.evaluator();
    evaluator.set(0, values);
    let mut residuals = vec![0.0; system.equations().n_equations()];
    let fault = evaluator.residuals(&mut residuals).expect_err("a fault");
    system.explain(&fault)
}

#[test]
fn faults_name_their_line() {
    let text = "model Tank
  Real y(start = 1), z;
equation
  z^2 = sqrt(y);
  der(y) = -z/(y + 1);
end Tank;";
    check(
        text,
        &[-0.5, 0.0],
        4,
        "sqrt of a negative number at `sqrt(y)` in `z^2 = sqrt(y)`, line 4",
    );
    let text = "model M
  Real x, y;
equation
  der(x) = -x
    + 1/(x - y);
  y = log(x);
end M;";
    check(
        text,
        &[2.0, 2.0],
        5,
        "division by zero at `1/(x - y)` in `der(x) = -x + 1/(x - y)`, line 5",
    );
    check(
        text,
        &[-2.0, 1.0],
        6,
        "log of a number that is not positive at `log(x)` in `y = log(x)`, line 6",
    );
}

#[test]
fn the_copy_of_an_equation_is_named() {
    let text = "model M
  Real x[3];
equation
  for i in 1:3 loop
    der(x[i]) = sqrt(x[i]);
  end for;
end M;";
    let system = common::system(text);
    let place = explain(&system, &[1.0, -1.0, 1.0]);
    assert_eq!((place.line, place.equation), (5, 1));
    assert!(
        place.sentence.contains("`sqrt(x[2])`"),
        "{}",
        place.sentence
    );
    assert!(place.sentence.contains("i = 2"), "{}", place.sentence);
}

#[test]
fn a_fault_inside_a_function_names_both_lines() {
    let text = "function f
  input Real a;
  output Real b;
algorithm
  b := 2*sqrt(a);
end f;
model M
  Real x;
equation
  der(x) = f(x - 1);
end M;";
    check(
        text,
        &[0.0],
        5,
        "sqrt of a negative number at `sqrt(x - 1)`, line 5, in `der(x) = f(x - 1)`, line 10",
    );
}

#[test]
fn an_expression_shared_with_an_initial_equation_is_named_where_it_is_needed() {
    let text = "model M
  Real x, y;
initial equation
  y = sqrt(x);
equation
  der(x) = y;
  y = x + sqrt(x);
end M;";
    let system = common::system(text);
    assert_eq!(explain(&system, &[-1.0, 0.0]).line, 7);
    let mut initial = system
        .initial_equations()
        .evaluator(system.parameters().values());
    initial.set(0, &[-1.0, 0.0]);
    let fault = initial.residuals(&mut [0.0]).expect_err("a fault");
    assert_eq!(system.explain_initial(&fault).line, 4);
}

#[test]
fn slopes_and_series_name_equation_and_unknown() {
    let text = "model M
  Real x(start = 0), y;
equation
  der(y) = x;
  y = sqrt(x);
end M;";
    let system = common::system(text);
    let mut evaluator = system.evaluator();
    let fault = evaluator.jacobians().expect_err("no slope at 0");
    let place = system.explain(&fault);
    assert_eq!((place.line, place.equation), (5, 1));
    assert!(
        place
            .sentence
            .contains("the derivative by `x` of `y = sqrt(x)`"),
        "{}",
        place.sentence
    );
    let mut series = system.series::<Jet>(1);
    series.inputs_mut().set(0, 1, 1.0);
    let fault = series
        .extend(0)
        .and_then(|()| series.extend(1))
        .expect_err("no series at 0");
    assert_eq!(system.explain(&fault).line, 5);
}

#[test]
fn faults_of_the_reduced_form_name_the_written_line() {
    let text = "model M
  Real x, v, p;
equation
  der(x) = v;
  p = x*v;
  der(v) = -p
    + sqrt(v);
end M;";
    let system = common::system(text);
    let reduced = Reduced::new(&system);
    assert_eq!(reduced.equations().n_unknowns(), 1);
    let mut series = reduced.series::<Jet>(0, system.parameters().values());
    series.inputs_mut().set(0, 1, -1.0);
    let fault = series.extend(0).expect_err("a fault");
    let place = reduced.explain(&system, &fault);
    assert_eq!((place.line, place.equation), (7, 2));
    assert!(
        place.sentence.contains("`sqrt(der(x))`"),
        "{}",
        place.sentence
    );
    let mut back = reduced.recovery::<Jet>(0, system.parameters().values());
    back.inputs_mut().set(0, 1, f64::INFINITY);
    let fault = back.extend(0).expect_err("a fault");
    let place = reduced
        .explain_recovery(&system, &fault)
        .expect("a removed unknown");
    assert_eq!((place.line, place.equation), (4, 0));
    assert_eq!(
        place.sentence,
        "`der(x)` is not a finite number in `der(x) = v`, line 4"
    );
}

#[test]
fn inputs_are_their_definitions() {
    let text = "model M
  parameter Real a = 3;
  input Real u = sin(a*time);
  input Real w(start = a);
  Real x;
equation
  x = u + 2*der(u) + w*der(der(u));
end M;";
    let system = common::system(text);
    let mut evaluator = system.evaluator();
    evaluator.set_time(0.4);
    let mut residual = [0.0];
    evaluator.residuals(&mut residual).expect("a value");
    let angle: f64 = 3.0 * 0.4;
    let expected = -(angle.sin() + 6.0 * angle.cos() - 27.0 * angle.sin());
    assert!((residual[0] - expected).abs() < 1e-13);
}

#[test]
fn an_input_without_a_signal_is_zero_and_told() {
    let text = "model M
  Real x;
  input Real force, unused;
equation
  der(x) = 2 + force;
end M;";
    let system = System::new(&common::model(text, &[])).expect("a system");
    assert_eq!(system.silent_inputs().collect::<Vec<_>>(), ["force"]);
    let mut residual = [0.0];
    let mut evaluator = system.evaluator();
    evaluator.residuals(&mut residual).expect("a value");
    assert_eq!(residual[0].abs(), 2.0);
}
