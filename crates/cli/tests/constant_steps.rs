//! `solve --method bdf-fixed` as a user meets it: the table of implicit Euler, orders by halving, forms that agree, constraints
//! that drift and are told, bad input.

use crate::common::{assert_says, daelight, expected, json, number, stderr, stdout, table};
use serde_json::Value;

fn run(arguments: &[&str]) -> Value {
    let (code, document) = json(&[&["solve", "--method", "bdf-fixed"], arguments].concat());
    let is_success = document["status"] == "success";
    assert_eq!(code == 0, is_success, "{arguments:?}");
    document
}

/// A value at the end. Forms of a higher index drift, by the error of the formula: that is what they are compared for.
fn final_value(document: &Value, name: &str) -> f64 {
    assert!(
        document["status"] == "success" || document["status"] == "drifted",
        "{document}"
    );
    number(&document["final"][name])
}

/// Errors of the first, the second and the last step of implicit Euler on the index-3 chain, from consistent values.
#[test]
fn implicit_euler_reproduces_the_reference_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.csv");
    let listed = expected("index3-toy")["implicit_euler"].clone();
    type Exact = fn(f64) -> [f64; 3];
    let cases: [(&str, &str, Exact); 2] = [
        ("consistent_sin", "signal=1", |t| {
            [t.sin(), -t.cos(), -t.sin()]
        }),
        ("consistent_exp", "signal=2", |t| [-t.exp(); 3]),
    ];
    for (name, set, exact) in cases {
        let rows = listed[name].as_array().expect("rows");
        assert_eq!(rows.len(), 4);
        for row in rows {
            let step = row["h"].to_string();
            let out = path.to_str().expect("a path");
            run(&["index3-toy", "--set", set, "--step", &step, "--out", out]);
            let points = table(&path, &["x1", "x2", "x3"]);
            let places = [
                ("err_first", 1),
                ("err_second", 2),
                ("err_end", points.len() - 1),
            ];
            for (word, at) in places {
                let (time, values) = &points[at];
                for (j, exact) in exact(*time).into_iter().enumerate() {
                    let printed = number(&row[word][j]);
                    let error = values[j] - exact;
                    // Rounding of x3 reaches x1 with 1/h^2.
                    assert!(
                        (error - printed).abs() < 1e-11,
                        "{set} {step} {word}: {error} {printed}"
                    );
                }
            }
        }
    }
}

/// Halving the step divides errors by 2^k: the largest error of an index-1 model with a known solution, and positions and
/// force of the pendulum as written, index 3.
#[test]
fn every_order_shows_its_slope() {
    let folder = tempfile::tempdir().expect("a folder");
    let (model, out) = (folder.path().join("cube.mo"), folder.path().join("run.csv"));
    let text = "model Cube  Real x(start = 8, fixed = true), y(start = 2);
        equation  der(x) = 3*y^2*cos(time);  y^3 = x;  annotation(experiment(StopTime = 2));  end Cube;";
    std::fs::write(&model, text).expect("a file");
    let [model, path] = [&model, &out].map(|path| path.to_str().expect("a path"));
    let (_, exact) = json(&["solve", "pendulum", "--to", "0.5", "--rtol", "1e-12"]);
    for order in 1..=6 {
        let order_text = order.to_string();
        let check = |coarse: f64, fine: f64, what: &str| {
            let slope = (coarse / fine).log2();
            assert!(
                (slope - f64::from(order)).abs() < 0.5,
                "order {order}, {what}: {slope}"
            );
        };
        let cube = ["0.05", "0.025"].map(|step| {
            run(&[model, "--order", &order_text, "--step", step, "--out", path]);
            let points = table(&out, &["y"]);
            let error = |(t, y): &(f64, Vec<f64>)| (y[0] - 2.0 - t.sin()).abs();
            points.iter().map(error).fold(0.0, f64::max)
        });
        check(cube[0], cube[1], "index 1");
        let [coarse, fine] = ["0.005", "0.0025"].map(|step| {
            let arguments = [
                "pendulum",
                "--to",
                "0.5",
                "--order",
                &order_text,
                "--step",
                step,
            ];
            let found = run(&arguments);
            ["x", "lambda"].map(|n| (final_value(&found, n) - final_value(&exact, n)).abs())
        });
        check(coarse[0], fine[0], "position");
        check(coarse[1], fine[1], "force");
    }
}

/// All forms of the flexible arm converge to the same solution; the decoupled one is the dummy one with other matrices; the
/// model as written violates its hidden constraints, which is told, and scaling lowers its condition.
#[test]
fn forms_agree_and_hidden_constraints_are_watched() {
    let solution = expected("e1")["solution"][2].clone();
    assert_eq!(solution["time"], "0.05");
    let names = [("x1", 1.0), ("x2", 1.0), ("x3", 1.0), ("u", 1e5)];
    let solve = |form: &str, step: &str, more: &[&str]| {
        let mut arguments = vec!["e1", "--to", "0.05", "--order", "3"];
        arguments.extend(["--form", form, "--step", step]);
        arguments.extend(more);
        run(&arguments)
    };
    let errors = |found: &Value| {
        names.map(|(name, unit)| {
            (final_value(found, name) - number(&solution["values"][name])).abs() / unit
        })
    };
    let condition = |found: &Value, name: &str| number(&found["discretisation"][name]);
    for form in ["original", "dummy", "strangeness", "decoupled"] {
        let found = ["0.0005", "0.00025"].map(|step| solve(form, step, &[]));
        let [coarse, fine] = [0, 1].map(|at| errors(&found[at]));
        for (coarse, fine) in coarse.iter().zip(&fine) {
            assert!(
                *fine < 2e-3 && (2.5..3.5).contains(&(coarse / fine).log2()),
                "{form}: {coarse} {fine}"
            );
        }
        let residuals: Vec<f64> = found[1]["residuals"]
            .as_array()
            .expect("levels")
            .iter()
            .map(number)
            .collect();
        assert_eq!(residuals.len(), 3, "{form}");
        assert!(residuals[0] < 1e-14, "{form}: {residuals:?}");
        let told = found[1]["warnings"]
            .to_string()
            .contains("violate derivative 1");
        let status = if form == "original" {
            "drifted"
        } else {
            "success"
        };
        assert_eq!(found[1]["status"], status, "{form}");
        if form == "original" {
            assert!(
                residuals[1] > 1e-8 && residuals[2] > 1e-5 && told,
                "{residuals:?}"
            );
        } else {
            assert!(
                residuals[1] < 1e-10 && residuals[2] < 1e-10 && !told,
                "{form}: {residuals:?}"
            );
        }
    }
    let [dummy, decoupled] = ["dummy", "decoupled"].map(|form| solve(form, "0.001", &[]));
    for (name, unit) in names {
        let difference = final_value(&dummy, name) - final_value(&decoupled, name);
        assert!(difference.abs() < 1e-9 * unit, "{name}: {difference}");
    }
    assert_eq!(decoupled["discretisation"]["n_unknowns"], 2);
    assert!(condition(&decoupled, "condition") < 1e3);
    assert!(condition(&dummy, "condition") > 1e6);
    let scaled = solve("original", "0.0005", &["--scale", "1"]);
    assert!(condition(&scaled, "condition_scaled") < 0.01 * condition(&scaled, "condition"));
    let page = stdout(&daelight(&[
        "solve",
        "e1",
        "--method",
        "bdf-fixed",
        "--step",
        "0.001",
    ]));
    assert!(
        page.contains("Form original: 5 equations, 1 without derivatives"),
        "{page}"
    );
}

/// The strangeness-free form of e12, with which no solution was found when it was published, gives all states to 1e-6 and has the
/// order of the formula: by elimination and as values.
#[test]
fn the_strangeness_free_form_of_e12_has_a_solution() {
    let listed = expected("e12")["solution"].clone();
    let mut solutions = listed.as_array().expect("a list").iter();
    let exact = solutions
        .find(|s| s["time"] == "0.10")
        .expect("a solution at 0.1");
    for form in ["strangeness", "strangeness-values"] {
        let found = ["0.001", "0.0005"].map(|step| {
            let mut arguments = vec!["e12", "--to", "0.1", "--order", "5"];
            arguments.extend(["--form", form, "--step", step]);
            run(&arguments)
        });
        let [coarse, fine] = [0, 1].map(|at| {
            let values = exact["values"].as_object().expect("values");
            let states = values.iter().filter(|(name, _)| !name.starts_with('u'));
            let errors =
                states.map(|(name, value)| (final_value(&found[at], name) - number(value)).abs());
            errors.fold(0.0, f64::max)
        });
        assert!(fine < 1e-6, "{form}: {coarse:e} {fine:e}");
        assert!((coarse / fine).log2() > 4.0, "{form}: {coarse:e} {fine:e}");
        assert_eq!(found[1]["discretisation"]["n_algebraic"], 8, "{form}");
        // All hidden constraints hold at the computed points.
        let residual = number(&found[1]["max_constraint_residual"]);
        assert!(residual < 1e-8, "{form}: {residual:e}");
        assert_eq!(found[1]["status"], "success", "{form}");
    }
}

/// Equations of another file: the arm with its torque left out and the constraint differentiated once.
#[test]
fn equations_written_by_hand_are_a_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("reduced.mo");
    let text = daelight::built_in_models()
        .iter()
        .find(|model| model.name == "e1")
        .expect("built in")
        .text;
    let text = text
        .replace("  J11*der(x3) + J12*der(x4) - k*x2 - d*x4 = u;\n", "")
        .replace(
            "  Real u(start = 0, nominal = 1e5, unit = \"N.m\") \"torque at the first joint\";\n",
            "",
        );
    std::fs::write(&file, &text).expect("a file");
    let form = file.to_str().expect("a path");
    let arguments = [
        "e1", "--set", "k=2e6", "--to", "0.05", "--order", "3", "--step", "0.001",
    ];
    let mut with_form = arguments.to_vec();
    with_form.extend(["--form", form]);
    let [whole, part] = [run(&arguments), run(&with_form)];
    assert!(part["final"]["u"].is_null());
    for name in ["x1", "x2", "x3", "x4"] {
        let difference = final_value(&whole, name) - final_value(&part, name);
        assert!(difference.abs() < 1e-8, "{name}: {difference}");
    }
    let warnings = part["warnings"].to_string();
    assert!(
        warnings.contains("1 constraints contain unknowns that the form leaves out"),
        "{warnings}"
    );
    std::fs::write(&file, text.replace("x4", "w4")).expect("a file");
    let refused = daelight(&[
        "solve",
        "e1",
        "--method",
        "bdf-fixed",
        "--step",
        "0.01",
        "--form",
        form,
    ]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("differentiates `w4`"),
        "{}",
        stderr(&refused)
    );
}

/// The reduced pendulum has one choice of states, which fails where the rod hangs down: implicit Euler comes to rest there.
#[test]
fn a_singular_form_is_told() {
    let told = |document: &Value| {
        document["warnings"]
            .to_string()
            .contains("singular to working precision")
    };
    let stuck = run(&["pendulum", "--step", "0.01", "--form", "dummy"]);
    let condition = number(&stuck["discretisation"]["condition"]);
    assert_eq!(told(&stuck), condition >= 1e16, "{stuck}");
    assert!(told(&stuck), "{stuck}");
    assert_eq!(stuck["status"], "failure", "{stuck}");
    assert!(!told(&run(&["pendulum", "--step", "0.01", "--order", "2"])));
}

/// The dummy form of e12 has matrices of condition 1e17 with short steps: rounding ends its iterations, which is told, and the
/// states still converge like the formula.
#[test]
fn badly_conditioned_steps_end_in_rounding() {
    let listed = expected("e12")["solution"].clone();
    let mut solutions = listed.as_array().expect("a list").iter();
    let exact = solutions.find(|s| s["time"] == "0.10").expect("at 0.1");
    let found = ["0.002", "0.001"]
        .map(|step| run(&["e12", "--to", "0.1", "--form", "dummy", "--step", step]));
    assert!(
        found[1]["warnings"].to_string().contains("rounding ended"),
        "{}",
        found[1]
    );
    let errors = [0, 1].map(|at| {
        let values = exact["values"].as_object().expect("values");
        let states = values.iter().filter(|(name, _)| !name.starts_with('u'));
        let errors =
            states.map(|(name, value)| (number(&found[at]["final"][name]) - number(value)).abs());
        errors.fold(0.0, f64::max)
    });
    let slope = (errors[0] / errors[1]).log2();
    assert!((0.8..1.2).contains(&slope), "{errors:?}");
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let cases: [(&[&str], i32, &str); 16] = [
        (
            &["--order", "7", "--step", "0.1"],
            2,
            "--order 7 is out of range",
        ),
        (
            &["--order", "0", "--step", "0.1"],
            2,
            "--order 0 is out of range",
        ),
        (&[], 2, "needs a step"),
        (&["--step", "0"], 2, "--step 0 is not a step"),
        (&["--step", "-0.1"], 2, "--step -0.1 is not a step"),
        (&["--step", "NaN"], 2, "is not a step"),
        (&["--step", "2"], 2, "longer than the interval"),
        (&["--step", "0.3"], 2, "choose a step that divides it"),
        (
            &["--step", "0.5", "--order", "3"],
            2,
            "at least as many steps as the order",
        ),
        (&["--step", "1e-12"], 2, "steps"),
        (
            &["--step", "0.1", "--scale", "-1"],
            2,
            "--scale -1 is out of range",
        ),
        (
            &["--step", "0.1", "--scale", "1", "--form", "decoupled"],
            2,
            "no equation without derivatives",
        ),
        (
            &["--step", "0.1", "--form", "no-such-file.mo"],
            2,
            "no-such-file.mo",
        ),
        (
            &["--step", "0.1", "--rtol", "1e-6"],
            2,
            "--rtol has no meaning",
        ),
        (
            &["--step", "0.1", "--points", "11"],
            2,
            "--points has no meaning",
        ),
        (&["--step", "0.1", "--out", "run.txt"], 2, "not as `txt`"),
    ];
    for (arguments, code, words) in cases {
        let fixed = ["solve", "index3-toy", "--method", "bdf-fixed"];
        let output = assert_says(&[&fixed, arguments].concat(), code, words);
        assert!(stderr(&output).contains("help:"), "{arguments:?}");
    }
    let varying = ["solve", "index3-toy", "--step", "0.1"];
    assert_says(&varying, 2, "add --method bdf-fixed");
}

/// A model whose structure misleads has no strangeness-free form by elimination; as values it has, and the arm's solution is
/// known: x1 = 1 - e^t, x3 = e^t - t.
#[test]
fn what_cannot_be_eliminated_is_evaluated() {
    let mut arguments = vec!["robotic-arm-torques", "--to", "1", "--order", "3"];
    arguments.extend(["--step", "0.01", "--form", "strangeness"]);
    let found = run(&arguments);
    let e = 1.0_f64.exp();
    assert!((final_value(&found, "x1") - 1.0 + e).abs() < 1e-12);
    assert!((final_value(&found, "x3") - e + 1.0).abs() < 1e-12);
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("evaluated as values"), "{warnings}");
}
