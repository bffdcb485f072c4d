//! The command `init`: what it prints, its exit status, and what it leaves alone.

use crate::common;
use crate::common::{Random, daelight, daelight_with_input, json, root, status, stdout};
use serde_json::Value;
use std::path::Path;

fn overfixed() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/init/overfixed.mo");
    path.display().to_string()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_document_has_exactly_the_documented_fields() {
    let (code, start) = json(&["init", "robotic-arm", "--order", "3", "--all"]);
    assert_eq!(code, 0);
    let of_start = [
        "adjusted",
        "computed",
        "conditions",
        "derivatives",
        "distance",
        "dof",
        "free",
        "from_written",
        "higher",
        "levels",
        "model",
        "n_free",
        "notes",
        "others",
        "residual",
        "status",
        "time",
        "values",
    ];
    assert_eq!(keys(&start), of_start);
    assert_eq!(
        keys(&start["others"][0]),
        ["derivatives", "distance", "from_written", "values"]
    );
    assert_eq!(start["higher"]["x1"].as_array().expect("a list").len(), 2);
    let (code, failure) = json(&["init", &overfixed()]);
    assert_eq!(code, 1);
    let of_failure = [
        "conflict",
        "critical",
        "diagnostics",
        "model",
        "status",
        "time",
    ];
    assert_eq!(keys(&failure), of_failure);
    let of_conflict = [
        "conditions",
        "constraint",
        "from_equation",
        "remedies",
        "times_differentiated",
        "value",
    ];
    assert_eq!(keys(&failure["conflict"]), of_conflict);
    let documented = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    for field in of_start.iter().chain(&of_failure).chain(&of_conflict) {
        assert!(
            documented.contains(&format!("`{field}`")),
            "docs/json.md lacks {field}"
        );
    }
}

#[test]
fn the_pendulum_starts_as_its_fixed_values_say() {
    let (code, start) = json(&["init", "pendulum"]);
    assert_eq!((code, start["status"].as_str()), (0, Some("success")));
    assert_eq!(
        (start["n_free"].as_u64(), start["dof"].as_u64()),
        (Some(0), Some(2))
    );
    assert_eq!(start["values"]["x"], 1.0);
    assert_eq!(start["derivatives"]["vy"], -9.81);
    let used: Vec<&Value> = start["conditions"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(used.len(), 2);
    assert!(
        used.iter()
            .all(|condition| condition["uses_freedom"] == true)
    );
    let page = stdout(&daelight(&["init", "pendulum"]));
    assert!(
        page.contains("2 degrees of freedom; used up by y = 0, vy = 0."),
        "{page}"
    );
    assert!(page.contains("Other solutions exist"), "{page}");
}

#[test]
fn a_point_file_takes_the_place_of_the_start_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("zeros.json");
    let zeros: Vec<String> = (1..=8).map(|k| format!("\"x{k}\": 0")).collect();
    std::fs::write(&path, format!("{{{}}}", zeros.join(", "))).expect("a file");
    let path = path.display().to_string();
    let (code, start) = json(&[
        "init",
        "robotic-arm",
        "--at",
        "0.5",
        "--point",
        &path,
        "--all",
    ]);
    assert_eq!(code, 0);
    assert_eq!(start["adjusted"]["x3"]["from"], 0.0);
    // The elbow bends by the same angle to either side.
    let x3 = start["values"]["x3"].as_f64().expect("a number");
    let other = start["others"][0]["values"]["x3"]
        .as_f64()
        .expect("a number");
    assert!((x3 + other).abs() < 1e-10, "{x3} and {other}");
    // What init prints is a point again, and consistent.
    let written = folder.path().join("start.json");
    let written = written.display().to_string();
    assert_eq!(
        status(&daelight(&[
            "init",
            "robotic-arm",
            "--json",
            "--out",
            &written
        ])),
        0
    );
    let (_, again) = json(&["init", "robotic-arm", "--point", &written]);
    assert_eq!(keys(&again["adjusted"]), [""; 0], "{}", again["adjusted"]);
}

#[test]
fn a_conflict_names_the_constraint_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("start.json");
    std::fs::write(&out, "before").expect("a file");
    let name = out.display().to_string();
    for json in [&["--json"][..], &[]] {
        let model = overfixed();
        let arguments = [&["init", &model, "--out", &name][..], json].concat();
        assert_eq!(status(&daelight(&arguments)), 1);
        assert_eq!(std::fs::read_to_string(&out).expect("the file"), "before");
    }
    let (_, failure) = json(&["init", &overfixed()]);
    assert_eq!(failure["status"], "conflict");
    let conflict = &failure["conflict"];
    assert_eq!(conflict["constraint"], "2*x*u + 2*y*v = 0");
    assert_eq!(conflict["times_differentiated"], 1);
    assert!((conflict["value"].as_f64().expect("a number") - 1.2).abs() < 1e-12);
    // Freeing u or v solves it.
    let remedies = conflict["remedies"].as_array().expect("a list");
    let value = |name: &str| {
        let remedy = remedies
            .iter()
            .find(|r| r["condition"].as_str().is_some_and(|c| c.starts_with(name)));
        remedy.and_then(|r| r["value"].as_f64()).expect("a value")
    };
    assert!(value("u").abs() < 1e-12 && (value("v") - 0.75).abs() < 1e-12);
    assert_eq!(failure["diagnostics"][0]["code"], "inconsistent-initial");
}

/// At a fold a value is known to the root of the rounding; the round one is told.
#[test]
fn a_value_at_a_fold_is_told_as_a_round_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("circle.mo");
    let text = "model Circle  Real x(start = 1, fixed = true), y(start = 1, fixed = true), u, v, z;
        equation  x^2 + y^2 = 1;  der(x) = u;  der(y) = v;  der(u) = -z*x;  der(v) = -z*y - 9.81;  end Circle;";
    std::fs::write(&path, text).expect("a file");
    let (code, failure) = json(&["init", &path.display().to_string()]);
    assert_eq!((code, failure["status"].as_str()), (1, Some("conflict")));
    for remedy in failure["conflict"]["remedies"].as_array().expect("a list") {
        assert_eq!(remedy["value"].as_f64(), Some(0.0), "{remedy}");
    }
}

#[test]
fn a_singular_start_ends_with_three_and_can_be_avoided() {
    let at = "1.5446260000352114";
    let (code, failure) = json(&["init", "robotic-arm", "--at", at]);
    assert_eq!((code, failure["status"].as_str()), (3, Some("singular")));
    assert_eq!(failure["critical"]["kind"], "5-A");
    assert_eq!(
        failure["critical"]["unknowns"],
        serde_json::json!(["x1", "x3"])
    );
    let (code, start) = json(&["init", "robotic-arm", "--at", at, "--nearest-regular"]);
    assert_eq!(code, 0);
    let time = start["time"].as_f64().expect("a time");
    assert!((time - 1.544626).abs() < 2e-2 && time.to_string() != at);
}

#[test]
fn the_budget_ends_with_four() {
    let (code, failure) = json(&["init", "andrews", "--budget", "0s"]);
    assert_eq!((code, failure["status"].as_str()), (4, Some("failure")));
    let message = failure["diagnostics"][0]["message"]
        .as_str()
        .expect("a text");
    assert!(message.contains("budget"), "{message}");
    for wrong in ["ten", "-1s", "1h", "nan"] {
        let output = daelight(&["init", "pendulum", "--budget", wrong]);
        assert_eq!(status(&output), 2, "{wrong}");
    }
}

#[test]
fn large_chains_start() {
    let (code, start) = json(&["init", "pendulum-chain", "--set", "N=300"]);
    assert_eq!(code, 0);
    assert!(start["residual"].as_f64().expect("a number") < 1e-12);
    assert_eq!(start["n_free"], 0);
}

/// A linkage whose crank is held has two poses; angles that differ by whole turns make none more.
#[test]
fn a_pose_is_listed_once() {
    let text = "model Wiper Real p, q(start = 0.3), r(start = 1.5); equation p = 1; \
                0.2*cos(p) + 0.6*cos(q) = 0.7 + 0.4*cos(r); 0.2*sin(p) + 0.6*sin(q) = 0.4*sin(r); end Wiper;";
    let (status, start) = common::json_of(text, &["init", "-", "--all"]);
    assert_eq!(status, 0);
    let others = start["others"].as_array().expect("a list");
    assert_eq!(others.len(), 1, "{others:?}");
    let turned = others[0]["values"]["q"].as_f64().expect("a number");
    assert!((turned + 0.947262).abs() < 1e-6, "{turned}");
}

/// Fixed values beside a step at the start: they hold on the side that follows, or both commands say that they contradict each other.
#[test]
fn fixed_values_at_a_step_are_kept_or_refused() {
    let mut random = common::Random(5);
    for case in 0..30 {
        let (before, after) = (random.between(-3.0, 3.0), random.between(4.0, 9.0));
        let x = random.between(-2.0, 2.0);
        // 2 w = u + x on the side that follows; every third case fits that of the side before, every third none.
        let (w, fits) = match case % 3 {
            0 => ((after + x) / 2.0, true),
            1 => ((before + x) / 2.0, false),
            _ => (random.between(20.0, 30.0), false),
        };
        let text = format!(
            "model Step Real u, w(start = {w}, fixed = true), x(start = {x}, fixed = true);
             equation u = if time < 0 then {before} else {after}; u - w + x = w; der(x) = u - w; end Step;"
        );
        for command in [&["init", "-"][..], &["solve", "-", "--to", "0.5"]] {
            let output = common::daelight_with_input(command, text.as_bytes());
            let said = common::stderr(&output) + &stdout(&output);
            assert_eq!(status(&output) == 0, fits, "{command:?}: {said}\n{text}");
            assert!(!said.contains("slides"), "{said}\n{text}");
            if !fits {
                assert!(
                    said.contains("w = ") && said.contains("must hold"),
                    "{said}\n{text}"
                );
            }
        }
    }
}

/// Values of any size agree or contradict each other by their own decimals: y = c x with whole numbers times a power of ten.
#[test]
fn fixed_values_of_any_size_contradict_each_other_by_their_decimals() {
    let mut random = Random(41);
    for power in (-18..=9).step_by(3) {
        let (x, c) = (2 + random.below(98), 2 + random.below(8));
        let (c, y) = (c as u64, (x * c) as u64);
        for (y, agrees) in [(y, true), (y + 1, false), (2 * y, false)] {
            let text = format!(
                "model U Real x(start = {x}e{power}, fixed = true), y(start = {y}e{power}, fixed = true); equation der(x) = -x; y = {c}*x; end U;"
            );
            for command in ["init", "solve"] {
                let found = daelight_with_input(&[command, "-"], text.as_bytes());
                let shown = common::stderr(&found);
                assert_eq!(found.status.success(), agrees, "{command}: {text}{shown}");
            }
        }
    }
    // Decimals of parameters that cancel, and values beside them, are not asked for more than their rounding.
    let text = "model R parameter Real a = 0.1, b = 0.2, c = 0.3; Real x(start = 1e-9, fixed = true), y(start = 1e-9, fixed = true); equation der(x) = -x; y = x + a + b - c; end R;";
    let found = daelight_with_input(&["init", "-"], text.as_bytes());
    assert!(found.status.success(), "{}", common::stderr(&found));
}
