//! Gradients by the adjoint of a run, against forward derivatives, differences of runs and closed forms.

use crate::common;
use crate::common::{daelight, daelight_with_input, document, model_of, number};
use daelight::{Loss, SolveOptions, gradient, system};
use serde_json::Value;
use std::time::Instant;

fn ask(arguments: &[&str], text: Option<&str>) -> Value {
    let output = match text {
        Some(text) => daelight_with_input(arguments, text.as_bytes()),
        None => daelight(arguments),
    };
    assert!(output.status.success(), "{}", common::stderr(&output));
    document(&output)
}

fn close(found: f64, truth: f64, most: f64, what: &str) {
    let size = truth.abs().max(1e-3);
    let is_close = (found - truth).abs() <= most * size;
    assert!(is_close, "{what}: {found} for {truth}");
}

/// A chain of integrators whose first member is prescribed: index 1 to 5.
fn chain(index: usize) -> String {
    let names: Vec<String> = (0..index).map(|k| format!("x{k}")).collect();
    let rows: Vec<String> = (1..index)
        .map(|k| format!("der(x{}) = x{k};", k - 1))
        .collect();
    format!(
        "model C parameter Real p = 0.9, q = 0.3; Real {}, w(start = q, fixed = true); equation {} x0 = sin(p*time); der(w) = -p*w + x{}*q; end C;",
        names.join(", "),
        rows.join(" "),
        index - 1
    )
}

#[test]
fn models_of_index_0_to_5_agree_with_forward_derivatives_and_differences_of_runs() {
    let texts: Vec<String> = [3, 4, 5].map(chain).to_vec();
    let of_text = |at: usize, loss, p| ("-", Some(texts[at].as_str()), "1", loss, p);
    let cases = [
        ("spring-mass", None, "1", "x*der(x)", "k"),
        ("cart-pendulum", None, "0.5", "theta + x^2", "L"),
        ("cstr", None, "0.1", "V", "F"),
        ("akzo-nobel", None, "20", "y1 + 3*y4", "k1"),
        ("pendulum", None, "1", "x*lambda", "L"),
        ("pendulum-3d", None, "1", "p[1]*z", "m"),
        ("delta-robot", None, "0.05", "p[1]", "l1"),
        ("e1-complete", None, "0.1", "x2", "k"),
        of_text(0, "w + x2", "p"),
        of_text(1, "w*x3", "p"),
        of_text(2, "w + x4", "p"),
    ];
    for (model, text, to, loss, wanted) in cases {
        let run = |extra: &[&str]| {
            let all = [
                &["solve", model, "--to", to, "--rtol", "1e-12", "--json"],
                extra,
            ];
            ask(&all.concat(), text)
        };
        let adjoint = run(&["--gradient", loss]);
        let known = adjoint["gradient"].as_object().expect("a table");
        let name = match known.contains_key(wanted) {
            true => wanted.to_string(),
            false => known.keys().next().expect("a parameter").clone(),
        };
        let found = number(&known[&name]);
        let value = |p: f64| {
            let found = run(&[
                "--set",
                &format!("{name}={p:?}"),
                "--gradient",
                loss,
                "--by",
                &name,
            ]);
            number(&found["value"])
        };
        let here = document_parameter(model, text, &name);
        let h = 2e-3 * here.abs().max(1e-3);
        let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|k| value(here + k * h));
        let slope = (8.0 * (c - b) - (d - a)) / (12.0 * h);
        let size = number(&adjoint["value"]).abs() / here.abs().max(1e-3);
        let is_close = (found - slope).abs() <= 1e-7 * slope.abs().max(1e-2 * size);
        assert!(
            is_close,
            "{model}: d({loss})/d({name}) = {found} for {slope}"
        );
    }
}

/// The value of a parameter in a model.
fn document_parameter(model: &str, text: Option<&str>, name: &str) -> f64 {
    let read = match text {
        Some(text) => model_of(model, text),
        None => model_of(model, common::built_in(model)),
    };
    let parameter = read.parameters.iter().find(|p| p.name == name);
    parameter.expect("a parameter").value
}

#[test]
fn library_models_agree_with_forward_derivatives() {
    for (model, to, unknown) in [
        ("pendulum", "2", "x"),
        ("e1", "0.1", "u"),
        ("cart-pendulum", "0.5", "theta"),
        ("delta-robot", "0.05", "p[1]"),
        ("spring-mass", "1", "x"),
    ] {
        let run = |extra: &[&str]| {
            let all = [
                &["solve", model, "--to", to, "--rtol", "1e-11", "--json"],
                extra,
            ];
            ask(&all.concat(), None)
        };
        let adjoint = run(&["--gradient", unknown]);
        let known = adjoint["gradient"].as_object().expect("a table");
        let names: Vec<&str> = known.keys().take(3).map(String::as_str).collect();
        let forward = run(&["--sensitivity", &names.join(",")]);
        let row = forward["sensitivities"]["final"][unknown]
            .as_array()
            .expect("a row")
            .clone();
        let largest = row.iter().map(|x| number(x).abs()).fold(1e-3, f64::max);
        for (name, by) in names.iter().zip(&row) {
            let (found, truth) = (number(&known[*name]), number(by));
            let is_close = (found - truth).abs() <= 1e-8 * truth.abs().max(1e-3 * largest);
            assert!(
                is_close,
                "{model}: {unknown} by {name}: {found} for {truth}"
            );
        }
    }
}

/// 25 nodes that act on each other, with 1000 parameters.
const THOUSAND: &str = "model Thousand
  parameter Real A[25, 25] = {{0.3*sin(3*i + 7*j) for j in 1:25} for i in 1:25};
  parameter Real B[25, 15] = {{0.2*cos(i*j) for j in 1:15} for i in 1:25};
  Real x[25](start = {sin(i) for i in 1:25}, each fixed = true);
equation
  for i in 1:25 loop
    der(x[i]) = tanh(sum(A[i, j]*x[j] for j in 1:25)) - x[i] + sum(B[i, k]*cos(k*time) for k in 1:15);
  end for;
  annotation(experiment(StopTime = 10));
end Thousand;";

#[test]
fn a_thousand_parameters_take_less_than_eight_runs() {
    let options = daelight_lang::Options {
        stop_when: Some("x[1]^2 + x[7]".to_string()),
        ..Default::default()
    };
    let loaded = daelight_lang::load("thousand.mo", THOUSAND.as_bytes(), &options);
    let model = loaded.model.expect("a model");
    let equations = system(&model).expect("equations");
    let loss = Loss::Final(model.stop_when.expect("a number").expr);
    let mut plain = model.clone();
    plain.stop_when = None;
    let plain = system(&plain).expect("equations");
    let names = daelight::all_parameters(&model, &equations);
    assert_eq!(names.len(), 1000);
    let options = SolveOptions::default();
    // Others may be at work: the shortest of three counts.
    let mut times = [f64::INFINITY; 2];
    let mut found = None;
    for _ in 0..3 {
        let began = Instant::now();
        assert!(daelight::solve(&plain, &options).is_ok());
        times[0] = times[0].min(began.elapsed().as_secs_f64());
        let began = Instant::now();
        let result = gradient(&model, &equations, &options, &loss, &names);
        times[1] = times[1].min(began.elapsed().as_secs_f64());
        found = Some(result.unwrap_or_else(|problem| panic!("{}", problem.message)));
    }
    let found = found.expect("a gradient");
    println!("a run {:.3} s, the gradient {:.3} s", times[0], times[1]);
    assert!(times[1] < 8.0 * times[0], "{times:?}");
    let some = ["A[1,2]", "A[20,3]", "B[7,7]"];
    let wanted: Vec<String> = some.map(str::to_string).to_vec();
    let base = daelight::solve(&plain, &options).ok().expect("a run");
    let forward = daelight::sensitivities(&model, &plain, &base, &options, &wanted);
    let forward = forward.unwrap_or_else(|problem| panic!("{}", problem.message));
    let last = forward.at(&mut forward.reader(), 10.0).expect("the end");
    let values = base
        .reader(&plain)
        .values(10.0)
        .ok()
        .flatten()
        .expect("values");
    for (name, s) in some.iter().zip(last) {
        let at = found
            .by
            .iter()
            .position(|other| other == name)
            .expect("a name");
        close(
            found.gradient[at],
            2.0 * values[0] * s[0] + s[6],
            1e-6,
            name,
        );
    }
}

/// x = 2 t up to the level p, then x = p + (t - p/2); y decays, and from q on is driven.
const SWITCHES: &str = "model S parameter Real p = 0.8, q = 0.55; Real x(start = 0, fixed = true), y(start = 1, fixed = true), z; equation der(x) = if x < p then 2 else 1; der(y) = if time < q then -y else -3*y + x; z = x*y; end S;";

#[test]
fn switches_that_move_make_derivatives_jump() {
    // x(1) = 1 + p/2 - x0/2... with x0 = 0; y behind q: (y - a) decays, a the particular solution of y' = -3 y + x, x = t + p/2.
    let (p, q) = (0.8_f64, 0.55_f64);
    let y = |p: f64, q: f64| {
        let particular = |t: f64| (t + p / 2.0) / 3.0 - 1.0 / 9.0;
        particular(1.0) + ((-q).exp() - particular(q)) * (-3.0 * (1.0 - q)).exp()
    };
    let difference = |f: &dyn Fn(f64) -> f64, h: f64| {
        (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
    };
    let by_p = difference(&|h| y(p + h, q), 1e-3);
    let by_q = difference(&|h| y(p, q + h), 1e-3);
    let arguments = ["solve", "-", "--json", "--to", "1", "--rtol", "1e-11"];
    for method in ["taylor", "radau", "bdf"] {
        let exact = if method == "bdf" { 1e-4 } else { 1e-6 };
        let extra = ["--method", method, "--sensitivity", "p,q"];
        let found = ask(&[&arguments[..], &extra].concat(), Some(SWITCHES));
        let row = |name: &str, k: usize| number(&found["sensitivities"]["final"][name][k]);
        assert_eq!(found["sensitivities"]["until"], 1.0, "{found}");
        close(row("x", 0), 0.5, exact, "x by p");
        close(row("y", 0), by_p, exact, "y by p");
        close(row("y", 1), by_q, exact, "y by q");
        let extra = ["--method", method, "--gradient", "y + z", "--by", "p,q,x"];
        let found = ask(&[&arguments[..], &extra].concat(), Some(SWITCHES));
        let x = 1.0 + p / 2.0;
        let truth = by_p * (1.0 + x) + 0.5 * y(p, q);
        close(number(&found["gradient"]["p"]), truth, exact, "y + z by p");
        let truth = by_q * (1.0 + x);
        close(number(&found["gradient"]["q"]), truth, exact, "y + z by q");
    }
}

#[test]
fn two_switches_at_one_time_have_no_derivative() {
    let text = SWITCHES.replace("0.55", "0.4");
    let arguments = ["solve", "-", "--json", "--to", "1", "--sensitivity", "p,q"];
    let found = ask(&arguments, Some(&text));
    let ended = found["sensitivities"]["ended"].as_str().expect("an end");
    assert!(ended.contains("is not the only one"), "{ended}");
    let arguments = ["solve", "-", "--to", "1", "--gradient", "y"];
    let output = daelight_with_input(&arguments, text.as_bytes());
    assert!(common::stderr(&output).contains("is not the only one"));
}

#[test]
fn integrals_samples_and_starts_that_move() {
    // x = a e^(-k t) with a = 2 k: the integral to 1 is 2 (1 - e^-k).
    let text = "model D parameter Real k = 1.3; parameter Real a = 2*k; Real x(start = a), y; initial equation x + y = a + 1; equation der(x) = -k*x; y = 1 + 0*x; end D;";
    let arguments = ["solve", "-", "--json", "--to", "1", "--rtol", "1e-11"];
    let extra = ["--gradient", "integral(x)", "--by", "k"];
    let found = ask(&[&arguments[..], &extra].concat(), Some(text));
    let k = 1.3_f64;
    close(
        number(&found["value"]),
        2.0 * (1.0 - (-k).exp()),
        1e-9,
        "the integral",
    );
    close(
        number(&found["gradient"]["k"]),
        2.0 * (-k).exp(),
        1e-8,
        "by k",
    );
    // A pendulum whose length moves its free start: the same as by forward derivatives.
    let text = "model P parameter Real L = 1.2, g = 9.81; Real x(start = 1), y(start = -0.5), vx(start = 0.2), vy, lambda; equation der(x) = vx; der(y) = vy; der(vx) = -lambda*x; der(vy) = -lambda*y - g; x^2 + y^2 = L^2; end P;";
    let extra = ["--gradient", "x", "--by", "L,g"];
    let adjoint = ask(&[&arguments[..], &extra].concat(), Some(text));
    let extra = ["--sensitivity", "L,g"];
    let forward = ask(&[&arguments[..], &extra].concat(), Some(text));
    for (at, name) in ["L", "g"].into_iter().enumerate() {
        let truth = number(&forward["sensitivities"]["final"]["x"][at]);
        close(number(&adjoint["gradient"][name]), truth, 1e-7, name);
    }
    // Two samples of a decay.
    let text = "model E parameter Real k = 1; Real x(start = 2, fixed = true); equation der(x) = -k*x; end E;";
    let model = model_of("samples", text);
    let equations = system(&model).expect("equations");
    let options = SolveOptions {
        to: Some(1.0),
        rtol: Some(1e-11),
        ..SolveOptions::default()
    };
    let loss = Loss::Squares(vec![(0.5, 0, 1.0), (1.0, 0, 0.9)]);
    let found = gradient(&model, &equations, &options, &loss, &["k".to_string()]);
    let found = found.unwrap_or_else(|problem| panic!("{}", problem.message));
    let x = |t: f64| 2.0 * (-t).exp();
    let truth = 2.0 * (x(0.5) - 1.0) * -0.5 * x(0.5) - 2.0 * (x(1.0) - 0.9) * x(1.0);
    close(found.gradient[0], truth, 1e-8, "samples");
}
