//! `analyze` against reference values: every index notion, ranks, projectors, conditions, singular points.

use crate::common::{daelight, expected, json, json_of, number, root, stderr, stdout};
use serde_json::Value;

fn analyze(arguments: &[&str]) -> Value {
    let (code, found) = json(&[&["analyze"], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {found}");
    found
}

fn analyze_text(text: &str, arguments: &[&str]) -> Value {
    let (code, found) = json_of(text, &[&["analyze", "-"], arguments].concat());
    assert_eq!(code, 0, "{text}: {found}");
    found
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
        let is_unique = expected["strangeness"]["u"].as_u64().unwrap_or(0) == 0;
        let verdict = if is_unique { "regular" } else { "not-unique" };
        assert_eq!(
            found["verdict"], verdict,
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
    // A file that cannot be read is wrong usage; values that do not suit the model are at fault.
    for (name, text, words, code) in [
        ("name.json", r#"{"xx": 1}"#, "did you mean x?", 1),
        ("value.json", r#"{"x": "one"}"#, "not a finite number", 1),
        ("broken.json", "{", "cannot read", 2),
    ] {
        let path = file(name, text);
        let output = daelight(&["analyze", "pendulum", "--point", &path]);
        assert_eq!(output.status.code(), Some(code), "{name}");
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

/// The loci of the arm as formulas with their kinds, also where the structure had to be repaired.
#[test]
fn the_arm_has_its_loci() {
    let loci = |model: &str| -> Vec<(String, String)> {
        let found = analyze(&[model]);
        let list = found["singular_loci"].as_array().expect("a list");
        let text = |value: &Value| value.as_str().unwrap_or("?").to_string();
        list.iter()
            .map(|l| (text(&l["factor"]), text(&l["kind"])))
            .collect()
    };
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    for model in ["robotic-arm", "robotic-arm-torques"] {
        assert_eq!(
            loci(model),
            [
                pair("sin(x3)", "5-A"),
                pair("cos(x3)^2 - 6*cos(x3) + 4", "3-B")
            ],
            "{model}"
        );
    }
    let general = loci("robotic-arm-general");
    assert_eq!(general[0], pair("sin(x3)", "5-A"));
    assert_eq!(
        general[1],
        pair("4*A2*A3*cos(x3) - A2*A5 + A3^2*cos(x3)^2", "3-B")
    );
    let torques = analyze(&["robotic-arm-torques"]);
    let repaired = &torques["structural"]["repaired"];
    assert_eq!(
        (&repaired["index"], &repaired["dof"]),
        (&5.into(), &0.into())
    );
    assert_eq!(torques["structural"]["index"], 3);
    assert!(
        repaired["text"]
            .as_str()
            .is_some_and(|text| text.contains("line 42")),
        "{repaired}"
    );
    assert!(
        torques["warnings"]
            .to_string()
            .contains("was repaired to index 5")
    );
    assert!(analyze(&["robotic-arm"])["structural"]["repaired"].is_null());
}

/// Loci belong to the model: a singular point, or none at all, does not hide them.
#[test]
fn loci_are_told_without_a_regular_point() {
    let out_of_reach = ["robotic-arm-general", "--set", "l2=0.5"];
    let stretched = ["robotic-arm-torques", "--at", "1.5446260000352114"];
    for (arguments, second) in [
        (out_of_reach, "4*A2*A3*cos(x3) - A2*A5 + A3^2*cos(x3)^2"),
        (stretched, "cos(x3)^2 - 6*cos(x3) + 4"),
    ] {
        let found = analyze(&arguments);
        assert!(found["differentiation"]["index"].is_null(), "{arguments:?}");
        assert!(
            found["structural"]["repaired"].is_null(),
            "nothing confirms the repair: {arguments:?}"
        );
        let factors: Vec<&Value> = found["singular_loci"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|locus| &locus["factor"])
            .collect();
        assert_eq!(factors, ["sin(x3)", second], "{arguments:?}");
        assert!(
            found["warnings"].to_string().contains("does not confirm"),
            "{}",
            found["warnings"]
        );
    }
}

/// Linear models on an interval: where quantities change, and what that means.
#[test]
fn intervals_of_linear_models() {
    let points = |text: &str, interval: &str| -> (Value, Vec<f64>) {
        let found = analyze_text(text, &["--interval", interval, "--at", "0.3"]);
        let list = found["exceptional"].as_array().expect("a list").clone();
        let times = list.iter().map(|p| number(&p["time"])).collect();
        (found, times)
    };
    let (found, times) = points(
        "model M Real x; equation time*der(x) = -x + sin(time); end M;",
        "-1:2",
    );
    assert_eq!(times.len(), 1);
    assert!(times[0].abs() < 1e-10);
    assert_eq!(found["intervals"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&found["intervals"][0]["d"], &found["intervals"][1]["index"]),
        (&1.into(), &0.into())
    );
    let (_, times) = points(
        "model M Real x; equation sin(time)*der(x) + x = 0; end M;",
        "-4:4",
    );
    let exact = [-std::f64::consts::PI, 0.0, std::f64::consts::PI];
    assert_eq!(times.len(), 3);
    assert!(
        times
            .iter()
            .zip(exact)
            .all(|(t, exact)| (t - exact).abs() < 1e-10),
        "{times:?}"
    );
    let output = daelight(&["analyze", "pendulum", "--interval", "0:1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("for linear models"),
        "{}",
        stderr(&output)
    );
    for wrong in ["1", "2:1", "a:b", "0:inf"] {
        assert_eq!(
            daelight(&["analyze", "input-switch", "--interval", wrong])
                .status
                .code(),
            Some(2),
            "{wrong}"
        );
    }
}

/// Where the strangeness index is not defined around the point it is null, and mu-hat and the hypotheses are told.
#[test]
fn a_point_where_the_strangeness_index_is_not_defined() {
    let text =
        "model M Real x1, x2; equation time*der(x2) = x1 + sin(time); 0 = x2 + cos(time); end M;";
    let found = analyze_text(text, &["--at", "0"]);
    assert_eq!(found["verdict"], "singular");
    assert!(found["strangeness"]["index"].is_null());
    let warnings = found["warnings"].to_string();
    assert!(
        warnings.contains("mu-hat = 1") && warnings.contains("A.3 holds"),
        "{warnings}"
    );
    assert_eq!(
        analyze_text(text, &["--at", "0.5"])["strangeness"]["index"],
        1
    );
}

/// Redundant equations put a condition on the right-hand side.
#[test]
fn conditions_on_the_right_hand_side_are_checked() {
    for (defect, words) in [("0", "satisfied"), ("1", "violated"), ("0.001", "violated")] {
        let found = analyze(&["km-singular", "--set", &format!("defect={defect}")]);
        let strangeness = serde_json::json!({"index": 1, "d": 0, "a": 1, "u": 1, "v": 1});
        assert_indices(&found, &Value::Null, &strangeness, defect);
        assert!(
            found["warnings"].to_string().contains(words),
            "{defect}: {}",
            found["warnings"]
        );
    }
}

fn model(declarations: &str, equations: &str) -> String {
    format!("model M {declarations}; equation {equations}; end M;")
}

fn says(found: &Value, words: &str) -> bool {
    found["warnings"].to_string().contains(words)
}

/// Least squares end at singular matrices whether there is a solution or not.
#[test]
fn a_failed_search_proves_no_singularity() {
    // z^2 = -1/2 has no solution; der(x) and der(y) are (3 +- sqrt 5)/2, but the symmetric start stalls between them.
    for (declarations, equations) in [
        ("Real y; Real z", "y = z^2 + 1; y = -z^2"),
        (
            "Real x(start = 1); Real y(start = 1)",
            "der(x)*der(y) = 1; x + y = 2 + 3*time",
        ),
        ("Real x(start = 0, fixed = true)", "der(x)^2 = 1 - x^2"),
    ] {
        let found = analyze_text(&model(declarations, equations), &[]);
        assert_ne!(found["verdict"], "singular", "{equations}");
    }
    // Here the stage is linear: 0*der(x) = 1.
    let impasse = model("Real x(start = 0, fixed = true)", "x*der(x) = 1");
    let found = analyze_text(&impasse, &[]);
    assert_eq!(found["verdict"], "singular");
    assert_eq!(found["critical"]["kind"], "0-A");
    // If the start may move, the search ends close to it, which is said.
    let free = model("Real x(start = 0)", "x*der(x) = 1");
    let found = analyze_text(&free, &[]);
    assert!(
        says(&found, "may count as zero") || says(&found, "known to half their digits only"),
        "{}",
        found["warnings"]
    );
}

/// Coefficients that are rounding and nothing else are not taken for coefficients.
#[test]
fn cancelled_terms_are_noticed() {
    let cancelled = model(
        "Real x(start = 0.4); Real y(start = 0.3)",
        "((x + y)^2 - x^2 - 2*x*y - y^2)*der(y) + y = x; der(x) = -y",
    );
    let found = analyze_text(&cancelled, &[]);
    assert_eq!(found["verdict"], "unknown");
    assert!(says(&found, "0 by algebra"), "{}", found["warnings"]);
    let parameters = "parameter Real a = 0.1; parameter Real b = 0.3; Real x; Real y";
    let text = model(parameters, "(3*a - b)*der(x) + x = y; y = sin(time)");
    let found = analyze_text(&text, &[]);
    assert_eq!(found["verdict"], "unknown");
    assert!(says(&found, "3*a - b"), "{}", found["warnings"]);
    let found = analyze_text(&text, &["--set", "b=0.2"]);
    assert_eq!(found["differentiation"]["dof"], 1);
}

/// A branch that holds elsewhere does not make the structure wrong here, and units do not make a point singular.
#[test]
fn the_structure_is_judged_at_the_point() {
    let text = model(
        "Real x; Real y",
        "der(x) = -y; 0 = if time > 1 then y - x else x - 1",
    );
    let late = analyze_text(&text, &["--at", "2"]);
    assert_eq!(late["structural"]["regular"], true);
    assert_eq!(late["differentiation"]["index"], 1);
    // The equations that hold there are one mode of the model, with a structure of its own.
    let early = analyze_text(&text, &[]);
    assert_eq!(early["structural"]["regular"], true);
    assert_eq!(early["structural"]["index"], 2);
    assert_eq!(early["differentiation"]["index"], 2);
    let pendulum = |sizes: [&str; 3]| {
        let [position, velocity, force] = sizes;
        model(
            &format!(
                "parameter Real m = 1e-20; Real x(start = 6e-10{position}); Real y(start = -8e-10{position}); \
                 Real u(start = 0{velocity}); Real v(start = 0{velocity}); Real f(start = 0{force})"
            ),
            "der(x) = u; der(y) = v; m*der(u) = -f*x; m*der(v) = -f*y - m*9.81; x^2 + y^2 = 1e-18",
        )
    };
    let sized = pendulum([", nominal = 1e-9", ", nominal = 1e-4", ", nominal = 1e-10"]);
    let found = analyze_text(&sized, &[]);
    assert_eq!(
        found["differentiation"]["index"], 3,
        "{}",
        found["warnings"]
    );
    assert_eq!(found["differentiation"]["dof"], 2);
    let found = analyze_text(&pendulum(["", "", ""]), &[]);
    assert_eq!(found["verdict"], "unknown");
    assert!(says(&found, "nominal"), "{}", found["warnings"]);
}

/// Coefficients of parameters do not keep derivatives in hidden constraints.
#[test]
fn hidden_constraints_of_a_capacitor_loop() {
    let text = model(
        "parameter Real C1 = 1e-6; parameter Real C2 = 2e-6; Real v1; Real v2; Real i1; Real i2",
        "C1*der(v1) = i1; C2*der(v2) = i2; v1 = v2; i1 + i2 = -v1/1000",
    );
    let found = analyze_text(&text, &[]);
    assert_eq!(found["differentiation"]["index"], 2);
    assert_eq!(found["hidden_constraints"][0]["text"], "i1/C1 - i2/C2 = 0");
}

/// Equations that a repair finds are hidden constraints.
#[test]
fn hidden_constraints_of_a_repair() {
    let text = model(
        "Real x1; Real x2",
        "der(x1) + time*der(x2) = sin(time); x1 + time*x2 = cos(time)",
    );
    let found = analyze_text(&text, &["--at", "0.7"]);
    let texts = found["hidden_constraints"].to_string();
    assert!(texts.contains("-x2 - 2*sin(time) = 0"), "{texts}");
}

/// x^2 = 0 fixes x, although nothing of it is left in the matrices along x = 0.
#[test]
fn a_constraint_that_vanishes_from_the_matrices_is_noticed() {
    let text = model("Real x; Real y", "der(x) = y; x^2 = 0");
    let found = analyze_text(&text, &[]);
    assert_ne!(found["verdict"], "regular", "{}", found["warnings"]);
    // The same ranks where the freedom is real: the second equation repeats the first.
    let text = model(
        "Real x(start = 1); Real y",
        "x^2 + y^2 = 1; x*der(x) + y*der(y) = 0",
    );
    let found = analyze_text(&text, &[]);
    assert_eq!(found["strangeness"]["u"], 1, "{}", found["warnings"]);
}

/// As many free unknowns as degrees of freedom, also where ranks hold on the constraints only.
#[test]
fn free_unknowns_on_constraints() {
    let text = model(
        "Real x(start = 0.6); Real y(start = 0.8); Real z",
        "der(x) = -y; x^2 + y^2 = 1; (x^2 + y^2 - 1)*der(z) + z = x",
    );
    let found = analyze_text(&text, &[]);
    assert_eq!(found["differentiation"]["dof"], 1);
    assert_eq!(found["free"], serde_json::json!(["x"]));
    assert!(
        !says(&found, "depends on the point"),
        "{}",
        found["warnings"]
    );
}

/// Nothing to analyse is an answer as well.
#[test]
fn models_without_equations() {
    let empty = analyze_text("model M end M;", &[]);
    assert_eq!(
        (&empty["verdict"], &empty["n_unknowns"]),
        (&"regular".into(), &0.into())
    );
    let free = analyze_text("model M Real x; end M;", &[]);
    assert_eq!(free["strangeness"]["u"], 1);
}

/// A start on a switch of time has the index of the side that follows, and the remark says so.
#[test]
fn the_index_at_a_step_is_that_of_the_side_that_follows() {
    for (right, index) in [("s - x", 1), ("s*x - 3*x", 1), ("max(time, 0)*s - x", 1)] {
        let text = format!(
            "model M Real s, x(start = 1, fixed = true); equation s = if time < 0 then 0 else 2; der(x) = {right}; end M;"
        );
        let found = analyze_text(&text, &[]);
        assert_eq!(
            found["differentiation"]["index"], index,
            "{text}: {}",
            found["warnings"]
        );
        assert_eq!(found["strangeness"]["d"], 1, "{text}");
        let said = found["warnings"].to_string();
        assert!(said.contains("later times"), "{said}");
    }
    // A pendulum whose rod is lengthened from the start on keeps its index of 3.
    let text = "model P parameter Real g = 9.81; Real x(start = 1), y(start = 0), u, v, F, L; equation
        L = 1 + 0.1*max(0, time)^4; der(x) = u; der(y) = v; der(u) = -F*x; der(v) = -F*y - g; x^2 + y^2 = L^2; end P;";
    let found = analyze_text(text, &[]);
    assert_eq!(
        found["differentiation"]["index"], 3,
        "{}",
        found["warnings"]
    );
}
