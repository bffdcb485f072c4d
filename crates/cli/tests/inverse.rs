//! Inverse dynamics end to end: forms and their indices, torques, zero dynamics, verification by a forward run.

use crate::common::{daelight, document, expected, json, json_of, number, root, stderr, table};
use serde_json::Value;

/// `--set` for each entry of a list of texts or an object of values.
fn settings(set: &Value) -> Vec<String> {
    let texts: Vec<String> = match set {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_string().replace('"', "")))
            .collect(),
        Value::Array(list) => list
            .iter()
            .filter_map(|text| text.as_str().map(str::to_string))
            .collect(),
        _ => Vec::new(),
    };
    texts
        .into_iter()
        .flat_map(|text| ["--set".to_string(), text])
        .collect()
}

/// Indices of every published form, damped and undamped, full and linearised.
#[test]
fn published_forms_have_their_indices() {
    let mut n_checked = 0;
    for model in ["e1-forms", "e12-forms"] {
        for form in expected(model)["forms"].as_array().expect("a list") {
            let set = settings(&form["set"]);
            let mut arguments = vec!["analyze", model];
            arguments.extend(set.iter().map(String::as_str));
            let (_, found) = json(&arguments);
            for (part, field) in [
                ("differentiation", "index"),
                ("differentiation", "dof"),
                ("strangeness", "index"),
                ("strangeness", "a"),
                ("strangeness", "d"),
            ] {
                assert_eq!(
                    found[part][field], form[part][field],
                    "{arguments:?}: {part} {field}"
                );
            }
            n_checked += 1;
        }
    }
    assert_eq!(n_checked, 12);
}

/// The largest value that a name takes in a list of solutions, 1 at least.
fn size(solutions: &[Value], name: &str) -> f64 {
    let parts = solutions
        .iter()
        .flat_map(|s| [&s["values"][name], &s["torques"][name]]);
    let values = parts.filter(|v| !v.is_null()).map(|v| number(v).abs());
    values.fold(1.0, f64::max)
}

/// States within 1e-8 and torques within 1e-6 of their largest values, by the default method and tolerance.
#[test]
fn torques_of_the_published_models_are_right() {
    let mut n_checked = 0;
    let mut check = |model: &str, set: &[String], solution: &Value, all: &[Value]| {
        let time = number(&solution["time"]).to_string();
        let mut arguments = vec!["solve", model, "--to", &time];
        arguments.extend(set.iter().map(String::as_str));
        let (code, found) = json(&arguments);
        assert_eq!(code, 0, "{arguments:?}");
        let listed = [&solution["values"], &solution["torques"]].map(|part| part.as_object());
        for (name, value) in listed.into_iter().flatten().flatten() {
            let (exact, value) = (number(value), number(&found["final"][name.as_str()]));
            let digits = if name.starts_with('u') { 1e-6 } else { 1e-8 };
            assert!(
                (value - exact).abs() <= digits * size(all, name),
                "{arguments:?}: {name} is {value}, not {exact}"
            );
            n_checked += 1;
        }
    };
    for model in [
        "e1",
        "e1-complete",
        "e12",
        "e1-forms",
        "e12-forms",
        "flexible-arm-3d",
    ] {
        let expected = expected(model);
        let all = expected["solution"].as_array().expect("a list");
        for solution in all {
            check(model, &settings(&solution["set"]), solution, all);
        }
    }
    let chain = &expected("flexible-chain")["as_e12"];
    let all = chain["solution"].as_array().expect("a list");
    for solution in all {
        check("flexible-chain", &settings(&chain["set"]), solution, all);
    }
    assert!(n_checked > 250, "{n_checked}");
}

/// Form 48 of e1 is singular at rest: its terms tell x1 and x2 apart by velocities only.
#[test]
fn a_form_without_a_solution_is_refused_with_the_reason() {
    let output = daelight(&["solve", "e1-forms", "--set", "form=48"]);
    assert_eq!(output.status.code(), Some(3));
    let text = stderr(&output);
    for words in [
        "the start is a singular point of kind 1-A",
        "*x4 + sin(x2)*x3 = 0",
        "rank 1 of 2",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn zero_dynamics_are_told_before_and_along_a_run() {
    // The inertia of the zero dynamics of e12 is 40 at the start: s^2 + 50/40 s + 1e5/40 = 0, and k/d of the gears.
    let (_, found) = json(&["analyze", "e12", "--eigenvalues"]);
    assert_eq!(found["minimum_phase"], true);
    let eigenvalues = found["eigenvalues"].as_array().expect("a list");
    assert_eq!(eigenvalues.len(), 4);
    let im = (2500.0_f64 - 0.625 * 0.625).sqrt();
    for (value, (re, im)) in
        eigenvalues
            .iter()
            .zip([(-0.625, im), (-0.625, -im), (-2000.0, 0.0), (-2000.0, 0.0)])
    {
        let distance = f64::hypot(number(&value["re"]) - re, number(&value["im"]) - im);
        assert!(distance < 1e-6 * f64::hypot(re, im), "{value}");
    }
    // Every point of the run is minimum phase, as was published; in the form I2 too.
    for arguments in [
        &["solve", "e12"][..],
        &["solve", "e12-forms", "--set", "form=2"],
    ] {
        let (_, found) = json(arguments);
        let points = found["zero_dynamics"]["points"].as_array().expect("a list");
        assert!(points.len() > 10);
        assert!(
            points.iter().all(|point| point["minimum_phase"] == true),
            "{arguments:?}"
        );
        assert_eq!(found["zero_dynamics"]["changes"], serde_json::json!([]));
    }
    // Undamped they are on the axis; the structure is repaired, and the ranks decide.
    let (_, found) = json(&["analyze", "e12", "--eigenvalues", "--set", "d={0,0,0}"]);
    assert_eq!(found["minimum_phase"], Value::Null);
    assert_eq!(found["eigenvalues"].as_array().map(Vec::len), Some(2));
    assert!(found["warnings"].to_string().contains("imaginary axis"));
    // (600 - 0.5*J12) s^2 + 1000 s + 1e6 = 0: a large coupling turns the spring round.
    let output = daelight(&["solve", "e1", "--set", "J12=1400", "--json"]);
    let found = document(&output);
    assert!(
        stderr(&output).contains("not minimum phase"),
        "{}",
        stderr(&output)
    );
    assert!(found["warnings"].to_string().contains("not minimum phase"));
    let first = &found["zero_dynamics"]["points"][0];
    assert_eq!(first["minimum_phase"], false);
    let growth = 5.0 + 10025.0_f64.sqrt();
    assert!((number(&first["eigenvalues"][0]["re"]) - growth).abs() < 1e-9 * growth);
    // The torque grows with that eigenvalue: twice as long after the path has ended.
    let torque = |time: &str| {
        let (_, found) = json(&[
            "solve",
            "e1",
            "--set",
            "J12=1400",
            "--set",
            "rise=1e-10",
            "--to",
            time,
        ]);
        number(&found["final"]["u"]).abs()
    };
    let rate = (torque("0.16") / torque("0.13")).ln() / 0.03;
    assert!((rate - growth).abs() < 1e-3 * growth, "{rate} {growth}");
}

#[test]
fn rough_paths_are_told_beside_the_index() {
    let text = |path: &str| {
        format!(
            "model M Real x, v, u; equation der(x) = v; der(v) = u; x = {path};
             annotation(experiment(StopTime = 1)); end M;"
        )
    };
    let rough = text("if time < 0.5 then 0 else (time - 0.5)^2");
    let (_, found) = json_of(&rough, &["analyze", "-"]);
    assert_eq!(found["paths"][0]["times_differentiated"], 2);
    assert_eq!(found["paths"][0]["smoothness"], 1);
    assert_eq!(found["paths"][0]["seam"], 0.5);
    assert!(found["warnings"].to_string().contains("not smooth enough"));
    let (_, found) = json(&["analyze", "e12", "--set", "T=0.2"]);
    assert_eq!(found["paths"][0]["times_differentiated"], 3);
    assert_eq!(found["paths"][0]["smoothness"], 5);
    assert!(!found["warnings"].to_string().contains("not smooth enough"));
}

#[test]
fn torques_lead_the_forward_models_along_the_path() {
    let runs: [(&[&str], f64); 6] = [
        (&["e1", "--forward", "e1-forward"], 1e-8),
        (&["e1", "--forward", "e1-forward", "--to", "0.8"], 1e-7),
        (
            &["e1", "--forward", "e1-forward", "--method", "radau"],
            1e-6,
        ),
        (&["e12", "--forward", "e12-forward"], 1e-6),
        (
            &[
                "e12",
                "--forward",
                "e12-forward",
                "--set",
                "g=9.81",
                "--set",
                "elbow=-1",
            ],
            1e-6,
        ),
        (
            &["flexible-chain", "--forward", "flexible-chain-forward"],
            1e-6,
        ),
    ];
    for (arguments, bound) in runs {
        let all: Vec<&str> = ["feedforward"].iter().chain(arguments).copied().collect();
        let (code, found) = json(&all);
        assert_eq!(code, 0, "{arguments:?}: {}", found["message"]);
        assert_eq!(found["status"], "success", "{arguments:?}");
        let paths = found["paths"].as_array().expect("a list");
        assert!(!paths.is_empty(), "{arguments:?}");
        for path in paths {
            let largest = number(&path["largest"]);
            assert!(largest < bound, "{arguments:?}: {largest:e}");
            assert_eq!(path["errors"].as_array().map(Vec::len), Some(201));
        }
    }
    // The fields are documented.
    let documented = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    let (_, found) = json(&["feedforward", "e1", "--forward", "e1-forward"]);
    for (field, value) in found.as_object().expect("an object") {
        assert!(documented.contains(&format!("`{field}`")), "{field}");
        for inner in value[0].as_object().into_iter().flatten() {
            assert!(
                documented.contains(&format!("`{}`", inner.0)),
                "{field}: {}",
                inner.0
            );
        }
    }
}

/// The spatial arm: its forward model is the same text without the path, the torques made inputs.
#[test]
fn torques_of_the_spatial_arm_follow_its_path() {
    let text = daelight::built_in_models()
        .iter()
        .find(|model| model.name == "flexible-arm-3d")
        .expect("built in")
        .text;
    let without = |text: &str, from: &str, to: &str| {
        let (first, rest) = text.split_once(from).expect("the beginning");
        let (_, last) = rest.split_once(to).expect("the end");
        format!("{first}{to}{last}")
    };
    let forward = without(text, "  // the tool is on the line", "  annotation(");
    let forward = without(&forward, "initial equation\n", "equation\n  lagrange");
    let forward = forward.replace("  Real u[3](", "  input Real u[3](");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("forward.mo");
    std::fs::write(&path, forward).expect("a file");
    let path = path.to_str().expect("a path");
    let (code, found) = json(&["feedforward", "flexible-arm-3d", "--forward", path]);
    assert_eq!(code, 0, "{}", found["message"]);
    for run in ["inverse", "forward"] {
        let residual = number(&found[run]["max_constraint_residual"]);
        assert!(residual < 1e-10, "{run}: {residual:e}");
    }
    let paths = found["paths"].as_array().expect("a list");
    assert_eq!(paths.len(), 3);
    for path in paths {
        let largest = number(&path["largest"]);
        assert!(largest < 1e-7, "{largest:e}");
    }
}

/// The tool of a forward model, (time, [x, z]), when its torques come from implicit Euler with a constant step.
fn driven_by_implicit_euler(
    (model, form, forward): (&str, &str, &str),
    inputs: &[&str],
    (step, end): (&str, &str),
) -> Vec<(f64, Vec<f64>)> {
    let folder = tempfile::tempdir().expect("a folder");
    let [torques, motion] = ["torques.csv", "motion.csv"].map(|name| {
        let path = folder.path().join(name);
        path.to_str().expect("a path").to_string()
    });
    let mut arguments = vec!["solve", model, "--to", end, "--out", &torques];
    arguments.extend(["--method", "bdf-fixed", "--form", form, "--step", step]);
    let (code, found) = json(&arguments);
    assert_eq!(code, 0, "{arguments:?}: {}", found["message"]);
    let drives: Vec<String> = inputs.iter().map(|u| format!("{u}={torques}")).collect();
    let mut arguments = vec!["solve", forward, "--to", end, "--out", &motion];
    arguments.extend(["--points", "801"]);
    arguments.extend(drives.iter().flat_map(|drive| ["--input", drive]));
    let (code, found) = json(&arguments);
    assert_eq!(code, 0, "{arguments:?}: {}", found["message"]);
    table(motion.as_ref(), &["x", "z"])
}

/// Half the distance between the highest and the lowest value of a column behind a time.
fn vibration(motion: &[(f64, Vec<f64>)], column: usize, from: f64) -> f64 {
    let behind = motion.iter().filter(|(time, _)| *time >= from);
    let values = behind.map(|(_, values)| values[column]);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    0.5 * (high - low)
}

/// The published figure 10: torques by implicit Euler with dummy derivatives and 10 ms make the tool of e1 vibrate in Z when the
/// path has ended; accurate ones leave small vibrations in X, which nothing controls, and none in Z.
#[test]
fn long_steps_make_the_tool_vibrate() {
    let models = ("e1", "dummy", "e1-forward");
    let [long, short] =
        ["0.01", "0.001"].map(|step| driven_by_implicit_euler(models, &["u"], (step, "0.8")));
    let [long, short] = [long, short].map(|motion| vibration(&motion, 1, 0.1));
    assert!((long - 0.0171).abs() < 2e-4, "{long}");
    assert!((short - 0.00318).abs() < 1e-4, "{short}");
    let (_, found) = json(&[
        "feedforward",
        "e1",
        "--forward",
        "e1-forward",
        "--to",
        "0.8",
    ]);
    let largest = number(&found["paths"][0]["largest"]);
    assert!(largest < 1e-6 * short, "{largest:e}");
}

/// The effect of the step, as in the published figure 9: a tenth of the step leaves a sixth to a tenth of the error of the tool.
#[test]
fn a_tenth_of_the_step_leaves_about_a_tenth_of_the_path_error() {
    let smooth = |t: f64, duration: f64| {
        let s = (t / duration).min(1.0);
        s.powi(6)
            * (462.0 + s * (-1980.0 + s * (3465.0 + s * (-3080.0 + s * (1386.0 - 252.0 * s)))))
    };
    type Path<'a> = &'a dyn Fn(f64) -> [f64; 2];
    let e1 = |t: f64| [f64::NAN, 2.0_f64.sqrt() + 0.1 * smooth(t, 0.1)];
    let e12 = |t: f64| [2.146 - smooth(t, 0.3), -0.345 + 1.99 * smooth(t, 0.3)];
    let cases: [(_, &[&str], &str, Path<'_>, [f64; 2]); 2] = [
        (
            ("e1", "dummy", "e1-forward"),
            &["u"],
            "0.1",
            &e1,
            [0.0262, 0.00429],
        ),
        (
            ("e12", "strangeness", "e12-forward"),
            &["u1", "u2"],
            "0.3",
            &e12,
            [0.0885, 0.0134],
        ),
    ];
    for (models, inputs, end, path, listed) in cases {
        for (step, listed) in ["0.01", "0.001"].into_iter().zip(listed) {
            let motion = driven_by_implicit_euler(models, inputs, (step, end));
            let miss = |(time, tool): &(f64, Vec<f64>)| {
                let wanted = path(*time);
                // Only the height of e1 is prescribed; the other difference is no number, and max leaves it out.
                (tool[0] - wanted[0]).abs().max((tool[1] - wanted[1]).abs())
            };
            let error = motion.iter().map(miss).fold(0.0, f64::max);
            assert!(
                (error - listed).abs() < 0.01 * listed,
                "{models:?} {step}: {error}"
            );
        }
    }
}

#[test]
fn models_that_do_not_fit_together_are_refused() {
    for (arguments, words) in [
        (
            &["feedforward", "e1", "--forward", "pendulum"][..],
            "no input of Pendulum is an unknown of E1",
        ),
        (&["feedforward", "e1", "--forward", "nowhere"], "nowhere"),
        (
            &[
                "feedforward",
                "e1",
                "--forward",
                "e1-forward",
                "--rtol",
                "2",
            ],
            "--rtol 2",
        ),
        (
            &[
                "feedforward",
                "e1",
                "--forward",
                "e1-forward",
                "--method",
                "bdf-fixed",
            ],
            "does not take constant steps",
        ),
    ] {
        let output = daelight(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            stderr(&output).contains(words),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

/// A nearly stretched chain keeps its elbow.
#[test]
fn a_nearly_stretched_start_keeps_its_elbow() {
    for sign in [1.0, -1.0] {
        let start = format!("start={{{},{}}}", 0.8 + 0.02 * sign, 0.8 - 0.02 * sign);
        let (code, found) = json(&[
            "solve",
            "flexible-chain",
            "--set",
            "E={1,1}",
            "--set",
            &start,
            "--set",
            "move={-0.3,-0.3}",
        ]);
        assert_eq!(code, 0, "{}", found["message"]);
        let bend = number(&found["final"]["phi[1]"]) - number(&found["final"]["phi[4]"]);
        assert!(bend * sign > 0.1, "{sign}: {bend}");
    }
}

/// A load that the wrong mass lifts off its horizontal line: the height is compared though no time stands in its equation.
#[test]
fn a_height_that_is_held_is_compared_too() {
    let text = |name: &str, mass: f64, path: &str, forces: &str| {
        format!(
            "model {name}
               parameter Real mt = 20, ml = {mass}, J = 0.1, rd = 0.1, g = 9.81;
               Real s(start = 0), l(start = 4), x(start = 0), z(start = -4), vx, vz, S;
               {forces}
             equation
               der(x) = vx;  der(z) = vz;
               ml*der(vx) = -S*(x - s)/l;  ml*der(vz) = -S*z/l - ml*g;
               mt*der(der(s)) = F + S*(x - s)/l;
               J/rd^2*der(der(l)) = M/rd + S;
               (x - s)^2 + z^2 = l^2;
               {path}
               annotation(experiment(StopTime = 1));
             end {name};"
        )
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (mass, forward) in [(80.0, 80.0), (80.0, 90.0), (120.0, 100.0)] {
        let inverse = text(
            "Inverse",
            mass,
            "x = 0.01*time^5*(1 - time/6);  z = -4;",
            "Real F, M;",
        );
        let plant = text("Plant", forward, "", "input Real F, M;");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path.to_str().expect("a path").to_string()
        };
        let (inverse, plant) = (file("inverse.mo", &inverse), file("plant.mo", &plant));
        let (_, found) = json(&["feedforward", &inverse, "--forward", &plant]);
        let paths = found["paths"].as_array().expect("a list");
        let told: Vec<&str> = paths
            .iter()
            .filter_map(|p| p["equation"].as_str())
            .collect();
        assert_eq!(told.len(), 2, "{told:?}");
        let height = paths.iter().find(|p| p["equation"] == "z = -4");
        let error = number(&height.expect("the height")["largest"]);
        // The drum holds the weight of the mass it was computed for: its inertia, J/rd^2 = 10, falls with the difference.
        let fall = 9.81 * (forward - mass).abs() / (forward + 10.0) / 2.0;
        assert!((error - fall).abs() <= 0.01 * fall + 1e-6, "{error} {fall}");
    }
}

/// A path that rests is a constraint like any other; that its forces are fed to a model makes it an inverse one. The plant has a zero
/// where 2.5/(s + 3) + k/(s + 1) vanishes.
#[test]
fn a_path_that_rests_is_told_to_be_no_minimum_phase() {
    let plant = "der(a) = -a + u; der(b) = -3*b + u;";
    let folder = tempfile::tempdir().expect("a folder");
    let forward = folder.path().join("forward.mo");
    let text =
        format!("model F input Real u; Real a(start = 0), b(start = 0); equation {plant} end F;");
    std::fs::write(&forward, text).expect("written");
    for (k, is_told) in [(-1.5, true), (1.5, false)] {
        let text = format!(
            "model I Real a(start = 0), b(start = 0), u; equation {plant} 2.5*b + {k}*a = 0; end I;"
        );
        let inverse = folder.path().join("inverse.mo");
        std::fs::write(&inverse, text).expect("written");
        let paths = [&inverse, &forward].map(|path| path.display().to_string());
        let output = daelight(&["feedforward", &paths[0], "--forward", &paths[1], "--json"]);
        let found = document(&output);
        let told = stderr(&output).contains("not minimum phase");
        assert_eq!(told, is_told, "{}", stderr(&output));
        let first = &found["inverse"]["zero_dynamics"]["points"][0];
        let zero = -(2.5 + 3.0 * k) / (2.5 + k);
        let eigenvalue = number(&first["eigenvalues"][0]["re"]);
        assert!((eigenvalue - zero).abs() < 1e-12, "{eigenvalue}");
        // By itself the same equations are constraints.
        let alone = document(&daelight(&["solve", &paths[0], "--json"]));
        assert_eq!(alone["zero_dynamics"], Value::Null);
    }
}

/// The forward model starts where the inverse one does, and that is told with the fixed values that it sets aside.
#[test]
fn fixed_values_that_do_not_count_are_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("a path").to_string()
    };
    let inverse = write(
        "inverse.mo",
        "model Inverse Real x, v, F; equation der(x) = v; 2*der(v) = F - 3*x; x = 1 + 0.1*sin(time)^4; end Inverse;",
    );
    let forward = |start: &str| {
        format!(
            "model Forward input Real F; Real x(start = {start}, fixed = true), v(start = 0, fixed = true); \
             equation der(x) = v; 2*der(v) = F - 3*x; end Forward;"
        )
    };
    let other = write("other.mo", &forward("0"));
    let said = crate::common::stdout(&daelight(&["feedforward", &inverse, "--forward", &other]));
    for words in [
        "The forward model starts from the values of the inverse one.",
        "The values that Forward fixes do not count here: x = 1 instead of 0.",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let same = write("same.mo", &forward("1"));
    let said = crate::common::stdout(&daelight(&["feedforward", &inverse, "--forward", &same]));
    assert!(!said.contains("do not count"), "{said}");
    let refused = stderr(&daelight(&["feedforward", &inverse, &same]));
    assert!(
        refused.contains("name the forward model with --forward"),
        "{refused}"
    );
}
