//! `analyze` against reference values: every index notion, ranks, projectors, conditions, singular points.

mod common;

use common::{daelight, daelight_with_input, root, stderr, stdout};
use serde_json::Value;

fn expected(name: &str) -> Value {
    let path = root().join("models").join(name).join("expected.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn document(output: &std::process::Output, what: &str) -> Value {
    let text = stdout(output);
    assert_eq!(output.status.code(), Some(0), "{what}: {}", stderr(output));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"))
}

fn analyze(arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["analyze", "--json"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    document(&daelight(&all), &arguments.join(" "))
}

fn analyze_text(text: &str, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["analyze", "-", "--json"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    document(&daelight_with_input(&all, text.as_bytes()), text)
}

/// A number, or a string of more digits than a double holds.
fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    }
}

fn assert_indices(found: &Value, index: &Value, strangeness: &Value, what: &str) {
    assert_eq!(
        found["differentiation"]["index"], *index,
        "{what}: {}",
        found["warnings"]
    );
    assert_eq!(found["tractability"]["index"], *index, "{what}");
    for field in ["index", "d", "a", "u", "v"] {
        if !strangeness[field].is_null() {
            assert_eq!(
                found["strangeness"][field], strangeness[field],
                "{what}: {field}"
            );
        }
    }
}

#[test]
fn library_models_have_their_indices() {
    let mut n_checked = 0;
    for model in daelight::built_in_models() {
        let expected = expected(model.name);
        if expected["strangeness"].is_null() {
            continue;
        }
        let found = analyze(&[model.name]);
        assert_eq!(
            found["verdict"], "regular",
            "{}: {}",
            model.name, found["warnings"]
        );
        assert_indices(
            &found,
            &expected["differentiation"]["index"],
            &expected["strangeness"],
            model.name,
        );
        if let Some(dof) = expected["differentiation"]["dof"].as_u64() {
            assert_eq!(found["differentiation"]["dof"], dof, "{}", model.name);
            assert_eq!(
                found["free"].as_array().map(Vec::len),
                Some(dof as usize),
                "{}",
                model.name
            );
        }
        let structural = &expected["structural"];
        for field in ["index", "dof", "regular"] {
            if !structural[field].is_null() {
                assert_eq!(
                    found["structural"][field], structural[field],
                    "{}: {field}",
                    model.name
                );
            }
        }
        n_checked += 1;
    }
    assert!(n_checked >= 17, "{n_checked}");
}

#[test]
fn variants_of_the_manipulator_have_their_indices() {
    let mut n_checked = 0;
    for variant in expected("e12")["variants"].as_array().expect("a list") {
        // Variants that leave equations out are other models.
        let what = variant["what"].as_str().expect("words");
        let mut arguments = vec!["e12".to_string()];
        match variant["set"].as_object() {
            Some(set) => {
                for (name, value) in set {
                    arguments.extend(["--set".to_string(), format!("{name}={value}")]);
                }
            }
            None if what != "this model" => continue,
            None => {}
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let found = analyze(&arguments);
        let strangeness = serde_json::json!({
            "index": variant["strangeness_index"], "a": variant["a"], "d": variant["d"],
        });
        assert_indices(
            &found,
            &variant["differentiation_index"],
            &strangeness,
            what,
        );
        n_checked += 1;
    }
    assert_eq!(n_checked, 2);
}

/// Ranks, projectors and condition numbers of both forms of the arm, at points of the exact solution.
#[test]
fn the_arm_has_its_ranks_projectors_and_conditions() {
    for name in ["robotic-arm", "robotic-arm-torques"] {
        let expected = expected(name);
        let mut n_conditions = 0;
        for condition in expected["condition"].as_array().expect("a list") {
            let time = condition["time"].as_str().expect("digits");
            let at: f64 = time.parse().expect("a number");
            // Beyond the singular times next to the start another branch of the solution is the closest.
            if !(-3.0..1.5).contains(&at) {
                continue;
            }
            let found = analyze(&[name, "--at", time]);
            let value = found["differentiation"]["condition"]
                .as_f64()
                .expect("a condition");
            let exact = number(&condition["condition"]);
            assert!(
                (value / exact - 1.0).abs() < 1e-6,
                "{name}, t = {time}: {value} {exact}"
            );
            assert_eq!(
                found["tractability"]["characteristic_values"],
                expected["tractability"]["characteristic_values"]
            );
            n_conditions += 1;
        }
        assert!(n_conditions >= 6, "{name}: {n_conditions}");
        for projectors in expected["projectors"].as_array().expect("a list") {
            let found = analyze(&[name, "--at", projectors["time"].as_str().expect("digits")]);
            let levels = projectors["levels"].as_array().expect("a list");
            let shown = found["differentiation"]["levels"]
                .as_array()
                .expect("a list");
            assert_eq!(shown.len(), 5);
            for (k, (level, shown)) in levels.iter().zip(shown).enumerate() {
                for field in ["order", "rank_T", "rank_V", "one_full"] {
                    assert_eq!(shown[field], level[field], "{name}, level {}", k + 1);
                }
                for (matrix, diagonal) in [("T", "diagonal_T"), ("V", "diagonal_V")] {
                    for (j, value) in level[diagonal].as_array().into_iter().flatten().enumerate() {
                        let entry = number(&found["differentiation"][matrix][k][j][j]);
                        let exact = number(value);
                        assert!(
                            (entry - exact).abs() < 1e-10,
                            "{name} {matrix}_{}[{j}]: {entry} {exact}",
                            k + 1
                        );
                    }
                }
            }
        }
    }
}

/// At a singular point no index is claimed, and its kind is named.
#[test]
fn singular_points_of_the_arm_are_named() {
    for (time, kind) in [
        ("1.5446260000352114", "5-A"),
        ("2.02965026816982", "3-B"),
        ("-3.096380081228228", "5-A"),
    ] {
        let found = analyze(&["robotic-arm", "--at", time]);
        assert_eq!(
            found["verdict"], "singular",
            "{time}: {}",
            found["warnings"]
        );
        assert_eq!(found["critical"]["kind"], kind, "{time}");
        assert!(found["differentiation"]["index"].is_null(), "{time}");
        assert!(found["tractability"]["index"].is_null(), "{time}");
        assert!(found["strangeness"]["index"].is_null(), "{time}");
        assert_eq!(found["structural"]["regular"], false, "{time}");
    }
    let found = analyze(&["robotic-arm-torques", "--at", "1.5446260000352114"]);
    assert_eq!(found["critical"]["kind"], "5-A");
}

/// Close to a singularity the answer is right or none, never another one.
#[test]
fn near_singularities_no_wrong_index_is_claimed() {
    for (name, time) in [
        ("robotic-arm", 1.544_626_000_035_211_4),
        ("robotic-arm", 2.029_650_268_169_82),
    ] {
        for distance in [1e-2, 1e-4, 1e-6, 1e-8] {
            let at = format!("{}", time - distance);
            let found = analyze(&[name, "--at", &at]);
            let index = &found["differentiation"]["index"];
            assert!(index.is_null() || *index == 5, "{name} at {at}: {index}");
            assert!(
                index.is_null() || found["differentiation"]["dof"] == 0,
                "{name} at {at}"
            );
            if time > 2.0 && distance <= 1e-6 {
                assert!(
                    index.is_null(),
                    "{name} at {at}: a confident answer beside a blow-up"
                );
            }
        }
    }
}

/// The lecture's two equations whose kind depends on the input or on the start.
#[test]
fn the_kind_of_a_model_may_depend_on_the_point() {
    assert_eq!(analyze(&["input-switch"])["differentiation"]["index"], 0);
    let switched = analyze(&["input-switch", "--at", "1.5707963267948966"]);
    assert_eq!(switched["verdict"], "singular");
    assert_eq!(switched["critical"]["kind"], "0-A");
    let apart = analyze(&["branch-choice"]);
    assert_eq!(
        (
            &apart["differentiation"]["index"],
            &apart["strangeness"]["d"]
        ),
        (&0.into(), &2.into())
    );
    let together = analyze(&["branch-choice", "--set", "x20=0.5"]);
    assert_eq!(together["differentiation"]["index"], 1);
    assert_eq!(
        (&together["strangeness"]["a"], &together["strangeness"]["d"]),
        (&1.into(), &1.into())
    );
    assert!(
        together["warnings"]
            .to_string()
            .contains("depends on the point")
    );
    assert_eq!(together["point"]["x1"], 0.5);
    let constant = |u: &str| {
        format!("model M input Real u = {u}; Real x(start = 1); equation u*der(x) + x = 0; end M;")
    };
    let zero = analyze_text(&constant("0"), &[]);
    assert_eq!(
        (&zero["differentiation"]["index"], &zero["strangeness"]["a"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        analyze_text(&constant("1"), &[])["differentiation"]["index"],
        0
    );
    assert_eq!(
        analyze_text(&constant("time"), &["--at", "0.3"])["differentiation"]["index"],
        0
    );
    assert_eq!(
        analyze_text(&constant("time"), &["--at", "0"])["verdict"],
        "singular"
    );
}

/// Equations and unknowns renamed, reordered and rescaled give the same answer.
#[test]
fn the_answer_does_not_depend_on_names_order_or_units() {
    let plain = analyze(&["pendulum"]);
    let other = analyze_text(
        "model M
           Real tension(start = 0), b(start = 0), a(start = 1000), v(start = 0), u(start = 0);
         equation
           1e-6*(a^2 + b^2) = 1;
           1e6*der(u) = -1e6*tension*a;
           der(v) = -tension*b - 9810;
           der(b) = v;
           1e-3*der(a) = 1e-3*u;
         end M;",
        &[],
    );
    for field in ["differentiation", "tractability", "strangeness"] {
        assert_eq!(
            plain[field]["index"], other[field]["index"],
            "{field}: {}",
            other["warnings"]
        );
    }
    assert_eq!(
        plain["differentiation"]["dof"],
        other["differentiation"]["dof"]
    );
    let mut names: Vec<&str> = other["free"]
        .as_array()
        .expect("names")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["b", "v"]);
}

/// A structure that is wrong is told from one that is right, with the reason.
#[test]
fn a_wrong_structural_index_is_not_believed() {
    let found = analyze_text(
        "model M Real x1, x2; equation
           der(x1) + time*der(x2) = sin(time);
           x1 + time*x2 = cos(time);
         end M;",
        &["--at", "0.3"],
    );
    assert_eq!(found["structural"]["index"], 1);
    assert_eq!(found["structural"]["regular"], false);
    assert_eq!(found["differentiation"]["index"], 2);
    assert_eq!(found["differentiation"]["dof"], 0);
    let warnings = found["warnings"].to_string();
    assert!(
        warnings.contains("Believe the differentiation index 2"),
        "{warnings}"
    );
}

/// The point of a file is looked at instead of the start; its mistakes are told.
#[test]
fn points_come_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let good = file("good.json", r#"{"values": {"x": 0.6, "y": -0.8}}"#);
    let found = analyze(&["pendulum", "--point", &good]);
    assert!((number(&found["point"]["x"]) - 0.6).abs() < 1e-9);
    for (name, text, words) in [
        ("name.json", r#"{"xx": 1}"#, "did you mean x?"),
        ("value.json", r#"{"x": "one"}"#, "no finite number"),
        ("broken.json", "{", "cannot read"),
    ] {
        let path = file(name, text);
        let output = daelight(&["analyze", "pendulum", "--point", &path]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(
            stderr(&output).contains(words),
            "{name}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
}

/// `docs/json.md` documents every field, and the page shows the verdicts.
#[test]
fn fields_are_documented() {
    let documented = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    let found = analyze(&["robotic-arm-torques"]);
    let mut fields: Vec<String> = Vec::new();
    fn collect(value: &Value, fields: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    fields.push(key.clone());
                    if key != "point" {
                        collect(value, fields);
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, fields)),
            _ => {}
        }
    }
    collect(&found, &mut fields);
    for field in fields {
        assert!(
            documented.contains(&format!("`{field}`")),
            "docs/json.md lacks {field}"
        );
    }
    let page = stdout(&daelight(&["analyze", "pendulum", "--projectors"]));
    for words in [
        "A regular DAE of index 3 with 2 degrees of freedom",
        "Free to choose together: y, vy",
        "Hidden constraints (2)",
        "T_1",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}
