//! What README and the tutorials say about models, computed. Each test finds the sentence first, so that none is left alone.

use crate::common;
use crate::common::{daelight, json, number, root};
use serde_json::Value;
use std::f64::consts::PI;

/// Fails unless the page says this, line breaks aside.
fn says(page: &str, sentence: &str) {
    let text = std::fs::read_to_string(root().join(page)).expect("the page");
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line(&text).contains(&one_line(sentence)),
        "{page} no longer says: {sentence}"
    );
}

fn close(found: f64, expected: f64, within: f64) {
    assert!(
        (found - expected).abs() <= within,
        "{found} is not {expected}"
    );
}

/// Times of the singularities of a run with a kind.
fn times(run: &Value, kind: &str) -> Vec<f64> {
    let all = run["singularities"].as_array().expect("a list").iter();
    all.filter(|found| found["kind"] == kind)
        .map(|found| found["time"].as_f64().expect("a time"))
        .collect()
}

/// Distance of the arm's tip from its base, by its two angles.
fn reach(x1: f64, x3: f64) -> f64 {
    (x1.cos() + (x1 + x3).cos()).hypot(x1.sin() + (x1 + x3).sin())
}

#[test]
fn the_arm_is_folded_where_its_first_run_ends() {
    says(
        "README.md",
        "At t = 1.5446 it is folded, with its tip on the base",
    );
    says(
        "docs/guide/arm.md",
        "At t = 1.5446 the arm is folded: x3 = π, and the tip lies on the base.",
    );
    says(
        "docs/guide/what-is-an-index.md",
        "At t = 1.5446 the same arm is folded, with its tip on its base.",
    );
    says(
        "docs/gallery.md",
        "where the arm is folded (x3 = π, the tip on the base)",
    );
    let (status, run) = json(&["solve", "robotic-arm"]);
    assert_eq!(status, 3);
    close(run["time"].as_f64().unwrap(), 1.5446, 5e-5);
    let last = |name: &str| number(&run["final"][name]);
    close(last("x3"), PI, 1e-6);
    close(reach(last("x1"), last("x3")), 0.0, 1e-6);
}

#[test]
fn the_marks_of_the_pictures_are_where_the_captions_say() {
    says(
        "README.md",
        "falls to zero at t = -3.10 and 1.54, where the arm is folded, and at 2.03,",
    );
    says(
        "docs/gallery.md",
        "The elbow is folded (x3 = π) at the first two marks, of kind 5-A.",
    );
    says(
        "docs/gallery.md",
        "it is neither folded nor stretched: cos(x3) = 3 - √5.",
    );
    says(
        "docs/gallery.md",
        "at t = 2.1298 the arm is stretched (x3 = 2π)",
    );
    // On this path x3 = exp(t) - t.
    let x3 = |t: f64| t.exp() - t;
    let arm = |from, to| {
        let flags = ["--on-singularity", "continue", "--from", from, "--to", to];
        json(&[&["solve", "robotic-arm"], &flags[..]].concat()).1
    };
    let run = arm("-5.5", "2.2");
    let folded = times(&run, "5-A");
    assert_eq!(folded.len(), 2);
    close(folded[0], -3.10, 5e-3);
    close(folded[1], 1.54, 5e-3);
    for &time in &folded {
        close(x3(time), PI, 1e-6);
    }
    let [pole] = times(&run, "3-B")[..] else {
        panic!("one pole");
    };
    close(pole, 2.03, 5e-3);
    close(x3(pole).cos(), 3.0 - 5f64.sqrt(), 1e-6);
    let [stretched] = times(&arm("2.035", "2.3"), "5-A")[..] else {
        panic!("one stretched position");
    };
    close(stretched, 2.1298, 5e-5);
    close(x3(stretched), 2.0 * PI, 1e-6);
}

#[test]
fn the_notions_of_the_index_of_the_arm_agree_as_told() {
    says(
        "docs/guide/arm.md",
        "Three say 5; the strangeness index says 4, since in a model with constraints it is one less than the others",
    );
    says(
        "docs/guide/arm.md",
        "*Hidden constraints (8)*: the path equations differentiated up to four times.",
    );
    let (_, passport) = json(&["analyze", "robotic-arm"]);
    for notion in ["structural", "differentiation", "tractability"] {
        assert_eq!(passport[notion]["index"], 5, "{notion}");
    }
    assert_eq!(passport["strangeness"]["index"], 4);
    assert_eq!(passport["differentiation"]["dof"], 0);
    let hidden = passport["hidden_constraints"].as_array().expect("a list");
    assert_eq!(hidden.len(), 8);
    let most = hidden
        .iter()
        .map(|c| c["times_differentiated"].as_u64().unwrap())
        .max();
    assert_eq!(most, Some(4));
    assert!(hidden.iter().all(|c| {
        let from = c["from_equation"].as_str().unwrap();
        from.starts_with("cos(x1)") || from.starts_with("sin(x1)")
    }));
}

#[test]
fn the_safe_path_keeps_its_distance() {
    says(
        "docs/guide/arm.md",
        "distance is 0 (the arm folded) or 2 (the arm stretched).",
    );
    let (status, run) = json(&["solve", "robotic-arm-safe-path", "--points", "201"]);
    assert_eq!(status, 0);
    assert!(run["singularities"].as_array().unwrap().is_empty());
    for x3 in run["samples"]["x3"].as_array().expect("values") {
        let reach = reach(0.0, x3.as_f64().unwrap());
        assert!(reach > 0.6 && reach < 1.5, "{reach}");
    }
}

/// A model of a page, as the last block of that name has it.
fn model_of_page(page: &str, name: &str) -> tempfile::NamedTempFile {
    let text = std::fs::read_to_string(root().join(page)).expect("the page");
    let head = format!("```modelica\nmodel {name} ");
    let block = text.rsplit(&head).next().expect("the model");
    let block = block.split("\n```").next().expect("its end");
    let file = tempfile::Builder::new()
        .suffix(".mo")
        .tempfile()
        .expect("a file");
    std::fs::write(file.path(), format!("model {name} {block}\n")).expect("written");
    file
}

#[test]
fn the_plotter_of_the_tutorial_does_what_is_told() {
    let page = "docs/guide/tutorial.md";
    let file = model_of_page(page, "Plotter");
    let path = file.path().to_str().unwrap();
    let solve = |more: &[&str]| json(&[&["solve", path], more].concat());
    says(
        page,
        "The run ended at t = 1.5, when the pen is on the shoulder.",
    );
    let (status, run) = solve(&["--set", "h=0"]);
    assert_eq!(
        (status, run["singularities"][0]["nature"].as_str()),
        (3, Some("removable"))
    );
    close(run["time"].as_f64().unwrap(), 1.5, 1e-8);
    close(number(&run["final"]["b"]), PI, 1e-6);
    says(
        page,
        "But look at the end: a = 2.41 and b = 1.45. Through the shoulder it was a = -2.42 and b = 4.84, which is -1.45 and a whole turn",
    );
    let (_, through) = solve(&["--set", "h=0", "--on-singularity", "continue"]);
    close(number(&through["final"]["a"]), -2.42, 5e-3);
    close(number(&through["final"]["b"]), 4.84, 5e-3);
    close(number(&through["final"]["b"]) - 2.0 * PI, -1.45, 5e-3);
    let (status, beside) = solve(&["--set", "h=0.01", "--save-at", "1.45,1.55"]);
    assert_eq!(status, 0);
    close(number(&beside["final"]["a"]), 2.41, 5e-3);
    close(number(&beside["final"]["b"]), 1.45, 5e-3);
    says(
        page,
        "near the shoulder, the arm now turns by nearly half a turn within a tenth of a second.",
    );
    let turned = &beside["samples"]["a"];
    let turn = turned[1].as_f64().unwrap() - turned[0].as_f64().unwrap();
    assert!(turn > 0.8 * PI && turn < PI, "{turn}");
    says(page, "A *branch point*: the arm is stretched (b = 0)");
    let (status, end) = solve(&["--to", "4"]);
    assert_eq!(
        (status, end["singularities"][0]["nature"].as_str()),
        (3, Some("branch"))
    );
    close(number(&end["final"]["b"]), 0.0, 0.05);
    // The pen is at the reach of the arm: x^2 + h^2 = 2^2.
    close(end["time"].as_f64().unwrap(), 1.5 + 3.75f64.sqrt(), 1e-6);
}

#[test]
fn the_other_tutorials_are_right() {
    let circuit = model_of_page("docs/guide/circuit.md", "Ramp");
    says(
        "docs/guide/circuit.md",
        "by C1 C2/(C1 + C2) times the change of the slope: 0.67 mA.",
    );
    let path = circuit.path().to_str().unwrap();
    let (_, run) = json(&["solve", path, "--save-at", "0.0099999999,0.0100000001"]);
    let current = &run["samples"]["i1"];
    close(
        current[0].as_f64().unwrap() - current[1].as_f64().unwrap(),
        0.67e-3,
        0.5e-5,
    );
    let crane = model_of_page("docs/guide/crane.md", "Crane");
    says(
        "docs/guide/crane.md",
        "At the end the trolley stands above the load, and everything is at rest",
    );
    let (status, run) = json(&["solve", crane.path().to_str().unwrap()]);
    assert_eq!(status, 0);
    for (name, value) in [
        ("s", 5.0),
        ("x", 5.0),
        ("z", 2.0),
        ("F", 0.0),
        ("der(s)", 0.0),
        ("der(r)", 0.0),
    ] {
        close(number(&run["final"][name]), value, 1e-6);
    }
    let drop = model_of_page("docs/guide/crane.md", "Drop");
    says(
        "docs/guide/crane.md",
        "At this instant the load is to fall freely.",
    );
    let (status, run) = json(&["solve", drop.path().to_str().unwrap()]);
    assert_eq!(status, 3);
    // z'' = g: 30 p''(t) with p'' = 2520 s^3 (1 - s)^3 (1 - 2 s) / T^2, T = 2, s = t/T.
    let s = run["time"].as_f64().unwrap() / 2.0;
    let polynomial = |s: f64| {
        126.0 * s.powi(5) - 420.0 * s.powi(6) + 540.0 * s.powi(7) - 315.0 * s.powi(8)
            + 70.0 * s.powi(9)
    };
    let h = 1e-4;
    let bent = |s: f64| (polynomial(s + h) - 2.0 * polynomial(s) + polynomial(s - h)) / (h * h);
    close(30.0 * bent(s) / 4.0, 9.81, 1e-3);
    says(
        "docs/guide/crane.md",
        "in six seconds the load never falls freely.",
    );
    let most = (1..1000)
        .map(|k| bent(f64::from(k) / 1000.0))
        .fold(0.0, f64::max);
    assert!(30.0 * most / 36.0 < 9.81, "{most}");
}

#[test]
fn the_crane_without_a_smooth_path_and_with_its_forces_is_as_told() {
    let page = "docs/guide/crane.md";
    says(
        page,
        "the run can only begin with the trolley 0.71 m ahead of the load, and moving",
    );
    let jerky = model_of_page(page, "Jerky");
    let (_, start) = json(&["init", jerky.path().to_str().unwrap()]);
    let values = &start["values"];
    close(number(&values["s"]) - number(&values["x"]), 0.71, 5e-3);
    assert!(number(&values["der(s)"]).abs() > 0.1, "{values}");
    says(
        page,
        "After five seconds the load is off by a hundredth of a millimetre",
    );
    let (crane, machine) = (
        model_of_page(page, "Crane"),
        model_of_page(page, "CraneMachine"),
    );
    let paths = [&crane, &machine].map(|file| file.path().to_str().unwrap());
    let (_, found) = json(&["feedforward", paths[0], "--forward", paths[1]]);
    let last = found["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| number(&path["last"]));
    close(last.fold(0.0, f64::max), 1.2e-5, 1e-6);
}

#[test]
fn series_and_radau_take_the_steps_that_are_told() {
    let page = "docs/guide/solve.md";
    says(
        page,
        "542 steps for the transistor amplifier of the tests where Radau takes 1210.",
    );
    says(page, "The series alone take 7620 steps for the whole run.");
    let amplifier = root().join("crates/integrate/tests/stiff/TransistorAmplifier.mo");
    let oscillator = model_of_page(page, "Oscillator");
    let paths = [&*amplifier, oscillator.path()].map(|path| path.to_str().unwrap().to_string());
    for (path, method, steps) in [
        (&paths[0], "taylor", 542.0),
        (&paths[0], "radau", 1210.0),
        (&paths[1], "taylor", 7620.0),
    ] {
        let (_, run) = json(&["solve", path, "--method", method]);
        // The last bits of a step differ from machine to machine.
        close(number(&run["statistics"]["steps"]) / steps, 1.0, 0.01);
    }
}

#[test]
fn the_curve_of_the_pendulum_is_as_told() {
    says(
        "docs/guide/what-is-an-index.md",
        "This one begins at y = 0 with vy = 0, at its right end, and goes round and round",
    );
    let (_, run) = json(&["solve", "pendulum", "--points", "2001"]);
    let values = |name: &str| -> Vec<f64> {
        let all = run["samples"][name].as_array().unwrap();
        all.iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let (y, vy) = (values("y"), values("vy"));
    assert_eq!((y[0], vy[0]), (0.0, 0.0));
    close(y.iter().copied().fold(f64::MIN, f64::max), 0.0, 1e-9);
    let turns = vy.windows(2).filter(|pair| pair[0] < 0.0 && pair[1] >= 0.0);
    assert!(turns.count() > 5);
}

#[test]
fn the_gallery_is_right() {
    let page = "docs/gallery.md";
    let run = |words: &[&str]| json(&[&["solve"], words].concat()).1;
    says(
        page,
        "Poles cut the solution into three pieces, with six singular times in all",
    );
    says(page, "another one of that kind lies just before its start.");
    let pieces = [("-6", "-5.5"), ("-5.57", "2.2"), ("2.035", "3")].map(|(from, to)| {
        let flags = ["--on-singularity", "continue", "--from", from, "--to", to];
        run(&[&["robotic-arm"], &flags[..]].concat())
    });
    let n = |run: &Value| run["singularities"].as_array().unwrap().len();
    assert_eq!(pieces.iter().map(n).sum::<usize>(), 6);
    let [before] = times(&pieces[0], "3-B")[..] else {
        panic!("one pole before the others");
    };
    close(before, -5.578, 5e-4);
    says(
        page,
        "On another path, x3 = 2 + sin(t)/2, nothing is singular:",
    );
    let safe = run(&[
        "robotic-arm-safe-path",
        "--from",
        "-5",
        "--to",
        "5",
        "--points",
        "11",
    ]);
    assert_eq!(n(&safe), 0);
    for (at, x3) in safe["samples"]["x3"].as_array().unwrap().iter().enumerate() {
        let t = at as f64 - 5.0;
        close(x3.as_f64().unwrap(), 2.0 + t.sin() / 2.0, 1e-7);
    }
    says(page, "All six singular configurations for two lengths:");
    let lengths = ["--set", "a[1]=0.03", "--set", "a[2]=0.055"];
    let (_, found) = json(&[&["singular", "andrews-constraints"], &lengths[..]].concat());
    assert_eq!(found["configurations"].as_array().unwrap().len(), 6);
    says(
        page,
        "reach 1.3e9 N.m, ten thousand times those of the ordinary machine:",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let largest = |words: &[&str]| {
        let file = folder.path().join("values.json");
        let out = ["--quiet", "--out", file.to_str().unwrap()];
        common::daelight(&[&["solve", "e12"], words, &out].concat());
        let table: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let table = table.get("columns").unwrap_or(&table);
        let values = ["u1", "u2"].map(|name| table[name].as_array().unwrap());
        let values = values.into_iter().flatten().filter_map(Value::as_f64);
        values.fold(0.0, |most: f64, value| most.max(value.abs()))
    };
    let usual = largest(&["--points", "301"]);
    let fixed = ["--method", "bdf-fixed", "--order", "1", "--step", "0.003"];
    let unstable = largest(&[&["--set", "j[3]=1.5"], &fixed[..]].concat());
    close(unstable / 1.3e9, 1.0, 0.04);
    close((unstable / usual).log10(), 4.0, 0.3);
}

#[test]
fn the_comparison_names_the_time_of_the_arm() {
    says("docs/comparison.md", "daelight stops at 1.5446260000352,");
    let (_, run) = json(&["solve", "robotic-arm"]);
    close(run["time"].as_f64().unwrap(), 1.5446260000352, 1e-12);
}

/// Index and degrees of freedom of a model of a page.
fn kind_of(page: &str, name: &str) -> (u64, u64) {
    let file = model_of_page(page, name);
    let (_, passport) = json(&["analyze", file.path().to_str().unwrap()]);
    let found = &passport["differentiation"];
    (
        found["index"].as_u64().expect("an index"),
        found["dof"].as_u64().expect("degrees of freedom"),
    )
}

#[test]
fn indices_are_as_the_pages_say() {
    let page = "docs/guide/what-is-an-index.md";
    says(page, "The swing has index 3.");
    says(page, "two values are free, such as y and its velocity.");
    assert_eq!(kind_of(page, "Swing"), (3, 2));
    says(
        page,
        "The structural line says one degree of freedom, and daelight marks it *not valid here*; the ranks say none.",
    );
    let pair = model_of_page(page, "Pair");
    let (_, passport) = json(&["analyze", pair.path().to_str().unwrap()]);
    assert_eq!(passport["structural"]["dof"], 1);
    assert_eq!(passport["differentiation"]["dof"], 0);
    for (name, nature) in [
        ("Quotient", "removable"),
        ("Fold", "branch"),
        ("Pole", "unbounded"),
        ("Crossing", "bifurcation"),
    ] {
        let file = model_of_page(page, name);
        let (status, run) = json(&["solve", file.path().to_str().unwrap()]);
        assert_eq!(status, 3, "{name}");
        assert_eq!(run["singularities"][0]["nature"], nature, "{name}");
    }
    let page = "docs/guide/circuit.md";
    says(
        page,
        "index 1, two degrees of freedom, and both start voltages may be fixed.",
    );
    assert_eq!(kind_of(page, "Divider"), (2, 1));
    assert_eq!(kind_of(page, "Wired"), (1, 2));
    let page = "docs/guide/crane.md";
    says(
        page,
        "says *a regular DAE of index 5 with 0 degrees of freedom*.",
    );
    assert_eq!(kind_of(page, "Crane"), (5, 0));
    let page = "docs/guide/inverse-dynamics.md";
    says(
        page,
        "With a motor behind an elastic, damped gear it is 4 (`e12`), without the damper 5.",
    );
    for (damping, index) in [("d={50,50,50}", 4), ("d={0,0,0}", 5)] {
        let (_, passport) = json(&["analyze", "e12", "--set", damping]);
        assert_eq!(passport["differentiation"]["index"], index, "{damping}");
    }
    let page = "docs/guide/tutorial.md";
    says(
        page,
        "the path has to be differentiated twice before the force is known.",
    );
    assert_eq!(kind_of(page, "Plotter"), (3, 0));
    says(
        page,
        "There are as many facts to give as there are degrees of freedom, here two.",
    );
    assert_eq!(kind_of(page, "Ball").1, 2);
}

/// What the tutorial says of the least singular value: equally bent poses have different ones.
#[test]
fn the_least_singular_value_is_no_distance() {
    says("docs/guide/tutorial.md", "It is no distance");
    let file = model_of_page("docs/guide/tutorial.md", "Plotter");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = folder.path().join("run.csv");
    let words = ["solve", file.path().to_str().unwrap(), "--quiet", "--out"];
    daelight(&[&words[..], &[table.to_str().unwrap()]].concat());
    let text = std::fs::read_to_string(table).expect("a table");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().expect("a header");
    let column = |name| {
        header
            .iter()
            .position(|own| *own == name)
            .expect("a column")
    };
    let (b, sigma) = (column("b"), column("sigma_min"));
    let rows: Vec<[f64; 2]> = rows
        .map(|row| [b, sigma].map(|at| row[at].parse().expect("a number")))
        .collect();
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    close(first[0], last[0], 1e-6);
    assert!((first[1] - last[1]).abs() > 0.1, "{first:?}, {last:?}");
}

#[test]
fn the_circuit_and_the_linkage_are_right() {
    let page = "docs/guide/circuit.md";
    says(page, "with the time constant R (C1 + C2) = 3 ms");
    let file = model_of_page(page, "Divider");
    let (_, linear) = json(&["linearize", file.path().to_str().unwrap()]);
    close(
        linear["poles"][0]["re"].as_f64().expect("a pole"),
        -1.0 / 3e-3,
        1e-6,
    );
    says(page, "changes to `radau` by itself and says when.");
    let file = model_of_page(page, "Wired");
    let (_, run) = json(&["solve", file.path().to_str().unwrap()]);
    assert_eq!(run["method"], "radau");
    let page = "docs/guide/linkage.md";
    let file = model_of_page(page, "Wiper");
    let ask = |d: &str| {
        json(&[
            "singular",
            file.path().to_str().unwrap(),
            "--locked",
            "p",
            "--set",
            d,
        ])
        .1
    };
    says(page, "try `--set d=5`");
    assert_eq!(ask("d=5")["has_solutions"], false);
    assert_eq!(ask("d=0.7")["has_solutions"], true);
    says(
        page,
        "both pivots are in one place and all positions are singular.",
    );
    assert_eq!(ask("d=0")["sets"][0]["real_dimension"], 1);
    says(page, "beyond 1.2 m the links do not close at all.");
    assert_eq!(ask("d=1.21")["has_solutions"], false);
    assert_eq!(ask("d=1.2")["n_configurations"], 1);
}

#[test]
fn the_notebooks_are_right() {
    says(
        "docs/notebooks/robotic-arm.ipynb",
        "A DAE of index 5, whose solution passes a point where the arm is folded, its tip on its base.",
    );
    says(
        "docs/notebooks/squeezer.ipynb",
        "Seven bodies in a plane, driven by a constant torque: a mechanism of index 3",
    );
    let (_, passport) = json(&["analyze", "andrews"]);
    assert_eq!(passport["differentiation"]["index"], 3);
    let text = |path: &str| std::fs::read_to_string(root().join(path)).expect("a file");
    let model = text("models/andrews/Andrews.mo");
    assert!(model.contains("q[7]"), "an angle for each of seven bodies");
    // The reference values that the notebook compares with are those of the library.
    let notebook = text("docs/notebooks/squeezer.ipynb");
    let expected: Value = serde_json::from_str(&text("models/andrews/expected.json")).unwrap();
    let known = expected["solution"].as_array().unwrap().iter();
    let end = known.clone().find(|known| known["time"] == "0.03");
    let end = &end.expect("values at the end")["values"];
    for k in 1..=7 {
        let value = end[format!("q[{k}]")].as_str().unwrap();
        assert!(notebook.contains(value), "q[{k}] = {value}");
    }
    says(
        "docs/notebooks/flexible-manipulator.ipynb",
        "Two motors behind elastic gears move an arm of three links; the third joint has a spring and no motor.",
    );
    let manipulator = text("models/e12/E12.mo");
    for name in ["q1", "q2", "q3", "qm1", "qm2", "u1", "u2"] {
        assert!(manipulator.contains(name), "{name}");
    }
    assert!(!manipulator.contains("qm3") && !manipulator.contains("u3"));
    says(
        "docs/notebooks/linkage.ipynb",
        "here 0.2 + 0.9 = 0.6 + 0.5, and all links fit on one line.",
    );
}

/// What the comparison says that daelight has: a gradient by the adjoint. On the rod x^2 + y^2 is L^2, whose derivative is 2 L.
#[test]
fn gradients_are_there_as_the_comparison_says() {
    says(
        "docs/comparison.md",
        "daelight has derivatives, gradients by adjoints and fits",
    );
    let (code, found) = json(&["solve", "pendulum", "--gradient", "x^2 + y^2", "--by", "L"]);
    assert_eq!(code, 0);
    close(number(&found["gradient"]["L"]), 2.0, 1e-6);
}

/// What the guides of events and components say beside their output.
#[test]
fn events_and_components_do_as_told() {
    let page = "docs/guide/hybrid.md";
    says(page, "for the ball above sqrt(2/g)·(1 + e)/(1 - e)");
    let ball = "model Ball parameter Real g = 9.81, e = 0.7; Real h(start = 1, fixed = true), v(start = 0, fixed = true);
        equation der(h) = v; der(v) = -g; when h < 0 then reinit(v, -e*pre(v)); end when; end Ball;";
    let (code, found) = common::json_of(ball, &["solve", "-", "--to", "5"]);
    assert_eq!((code, &found["reason"]), (0, &Value::from("zeno")));
    close(
        number(&found["time"]),
        (2.0 / 9.81f64).sqrt() * 1.7 / 0.3,
        1e-6,
    );
    let page = "docs/guide/components.md";
    says(page, "`daelight examples` lists 31 examples of the library");
    assert_eq!(daelight::parts_examples().len(), 31);
    says(page, "both speed up together at 6 rad/s².");
    let gears = ["solve", "Parts.Rotational.Examples.GearTrain", "--to", "1"];
    let (_, found) = json(&gears);
    close(number(&found["final"]["fast.w"]), 6.0, 1e-8);
    says(
        page,
        "by t = 100 the body is as warm as with the first value at t = 50.",
    );
    let warmth = |arguments: &[&str]| {
        let solve = ["solve", "Parts.Thermal.Examples.RadiantBody"];
        let (_, found) = json(&[&solve, arguments].concat());
        number(&found["final"]["body.T"])
    };
    let slow = warmth(&["--set", "body.C=1800", "--to", "100"]);
    close(slow, warmth(&["--to", "50"]), 1e-6 * slow);
}

/// How far a singular time moves with a length, beside a difference of runs.
#[test]
fn a_singular_time_moves_as_told() {
    says(
        "docs/guide/sensitivity.md",
        "ends at t = 0.373, where the torques of the arm grow without bound, and says that this time moves by -4.75362 for each metre of the first link",
    );
    let time = |length: &str| {
        let set = format!("l1={length}");
        let (_, found) = json(&["solve", "robotic-arm-general", "--to", "1", "--set", &set]);
        number(&found["time"])
    };
    let (before, behind) = (time("0.9999"), time("1.0001"));
    close(0.5 * (before + behind), 0.373, 5e-4);
    close((behind - before) / 2e-4, -4.75362, 1e-3);
}

/// The first row of the table of chains.
#[test]
fn a_chain_takes_the_steps_of_its_table() {
    let page = "docs/guide/inverse-dynamics.md";
    says(page, "| 12 | 26 | 80 | 0.08 | 7.3e-13 m |");
    says(page, "The chain has 2N + sum(E) degrees of freedom");
    let (code, found) = json(&["solve", "flexible-chain", "--set", "E={4,4}"]);
    assert_eq!(code, 0);
    assert_eq!(found["statistics"]["steps"], 80);
}
