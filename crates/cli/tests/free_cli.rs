//! `--free`: equations for what a model leaves free, and what happens without them.

use crate::common::{daelight_with_input, json_of, stderr, stdout};

const D3: &str = "model D3 Real x1(start = 1, fixed = true), x2; equation
    der(x1) = time*x2 + sin(time); end D3;";
const CONSISTENT: &str = "model C Real x1, x2; equation
    -time*der(x1) + time^2*der(x2) = -x1 + time*cos(time) - sin(time);
    -der(x1) + time*der(x2) = -x2 + cos(time);
    annotation(experiment(StartTime = 0.5, StopTime = 2)); end C;";

/// Exit status, standard output and standard error of a command on a text.
fn run(text: &str, arguments: &[&str]) -> (i32, String, String) {
    let output = daelight_with_input(arguments, text.as_bytes());
    let status = output.status.code().expect("a status");
    (status, stdout(&output), stderr(&output))
}

fn last_values(text: &str, free: &[&str]) -> serde_json::Value {
    let mut arguments = vec!["solve", "-"];
    free.iter()
        .for_each(|item| arguments.extend(["--free", item]));
    let (status, document) = json_of(text, &arguments);
    assert_eq!(status, 0, "{document}");
    document["final"].clone()
}

#[test]
fn a_free_function_settles_a_run() {
    // x1 = 1 + sin t - t cos t + 1 - cos t.
    let end = last_values(D3, &["x2=sin(time)"]);
    let exact = 2.0 + 1_f64.sin() - 2.0 * 1_f64.cos();
    assert!(
        (end["x1"].as_f64().expect("a number") - exact).abs() < 1e-9,
        "{end}"
    );
    // The other way round: x1 is given, x2 follows from a derivative, except at t = 0.
    let given = D3.replace("(start = 1, fixed = true)", "");
    let (status, _, errors) = run(&given, &["solve", "-", "--free", "x1=time^3"]);
    assert_eq!(status, 3, "{errors}");
    assert!(errors.contains("singular"), "{errors}");
    let later = given.replace(
        "end D3",
        "annotation(experiment(StartTime = 0.5, StopTime = 1)); end D3",
    );
    let end = last_values(&later, &["x1=time^3"]);
    let exact = 3.0 - 1_f64.sin();
    assert!(
        (end["x2"].as_f64().expect("a number") - exact).abs() < 1e-9,
        "{end}"
    );
    let end = last_values(D3, &["least-norm"]);
    assert!(
        (end["x1"].as_f64().expect("a number") - 2.0 + 1_f64.cos()).abs() < 1e-9,
        "{end}"
    );
    // One equation is redundant, one unknown free.
    let end = last_values(CONSISTENT, &["x2=time^2"]);
    let exact = 8.0 - 2_f64.sin();
    assert!(
        (end["x1"].as_f64().expect("a number") - exact).abs() < 1e-9,
        "{end}"
    );
    let end = last_values(CONSISTENT, &["least-norm"]);
    let exact = 2.0 * 2_f64.sin() / 5.0;
    assert!(
        (end["x2"].as_f64().expect("a number") - exact).abs() < 1e-9,
        "{end}"
    );
}

#[test]
fn what_is_free_or_contradicts_is_told() {
    let (status, _, errors) = run(D3, &["solve", "-"]);
    assert_eq!(status, 1);
    assert!(errors.contains("leave one unknown free: x2"), "{errors}");
    let inconsistent = CONSISTENT.replace("- sin(time);", "+ exp(time);");
    for command in [&["init", "-"][..], &["solve", "-", "--free", "x2=1"]] {
        let (status, _, errors) = run(&inconsistent, command);
        assert_eq!(status, 1, "{errors}");
        assert!(errors.contains("contradict each other"), "{errors}");
        assert!(errors.contains("cos(time) + exp(time) = 0"), "{errors}");
    }
    let (status, text, notes) = run(&inconsistent, &["reduce", "-"]);
    assert_eq!(status, 0, "{notes}");
    assert!(text.contains("x1 = time*x2 + exp(time);"), "{text}");
    assert!(notes.contains("has no solution"), "{notes}");
}

#[test]
fn reduced_rectangular_models_are_models() {
    for text in [D3, CONSISTENT] {
        for free in ["least-norm", "x2=cos(time)"] {
            let (status, reduced, errors) = run(text, &["reduce", "-", "--free", free]);
            assert_eq!(status, 0, "{errors}");
            let (status, answer, errors) = run(&reduced, &["analyze", "-"]);
            assert_eq!(status, 0, "{errors}");
            assert!(
                answer.contains("A regular DAE of index 1"),
                "{reduced}{answer}"
            );
        }
    }
}

#[test]
fn mistakes_beside_the_text_are_wrong_usage() {
    let cases = [
        ("--free", "x2", 2),
        ("--free", "x2=sin(", 2),
        ("--free", "x2==1", 2),
        ("--free", "y=1", 2),
        ("--set", "p", 2),
        ("--set", "p=1", 1),
    ];
    for (option, wrong, expected) in cases {
        let (status, _, errors) = run(D3, &["check", "-", option, wrong]);
        assert_eq!(status, expected, "{option} {wrong}: {errors}");
    }
    let (status, _, _) = run(
        "model M Real x; equation x = y; end M;",
        &["check", "-", "--set", "p"],
    );
    assert_eq!(status, 1, "the text is at fault too");
    let (status, _, errors) = run(D3, &["check", "-", "--free", "least-norm"]);
    assert_eq!(status, 2, "{errors}");
}
