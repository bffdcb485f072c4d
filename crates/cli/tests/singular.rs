//! `daelight singular`: pages, documents, exit codes.

use crate::common;
use crate::common::{daelight, json, root, stdout};
use serde_json::Value;

fn document(arguments: &[&str]) -> Value {
    json(&[&["singular"], arguments].concat()).1
}

#[test]
fn andrews_is_free_of_singularities_and_has_six_with_other_rods() {
    let document = document(&["andrews-constraints"]);
    assert_eq!(document["n_configurations"], 0);
    assert_eq!(document["empty"], true);
    assert_eq!(document["verdict"], "proved");
    let set = [
        "andrews-constraints",
        "--set",
        "a[1]=0.03",
        "--set",
        "a[2]=0.055",
    ];
    let document = self::document(&set);
    assert_eq!(document["n_configurations"], 6);
    for configuration in document["configurations"].as_array().unwrap() {
        assert_eq!(configuration["certified"], true);
        assert_eq!(configuration["corank"], 1);
        assert!(
            configuration["unique_within"]
                .as_f64()
                .is_some_and(|w| w > 1e-6)
        );
        assert!(configuration["residual"].as_f64().unwrap() < 1e-15);
        // Rods 4 and 5, and 6 and 7, are on one line.
        let angle = |name: &str| configuration["angles"][name].as_f64().unwrap();
        assert!(angle("y[4]").cos().abs() < 1e-15 && angle("y[6]").cos().abs() < 1e-15);
    }
}

#[test]
fn every_field_is_documented() {
    let documented = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    let section = documented
        .split("## `daelight singular")
        .nth(1)
        .expect("a section");
    let section = section.split("\n## ").next().unwrap();
    let locus = document(&["four-bar", "--parameters", "all"]);
    let points = document(&["slider-crank", "--set", "e=0.2"]);
    assert_eq!(points["n_configurations"], 1);
    let empty = serde_json::Map::new();
    let rods = ["andrews-constraints", "--parameters", "a[1],a[2]"];
    let regions = document(&rods);
    assert_eq!(regions["counts"][4]["count"], 8);
    let arcs = ["four-bar", "--parameters", "l[1],l[2]", "--curves"];
    let arcs = document(&arcs);
    assert_eq!(arcs["curve_counts"][0]["count"], 1);
    // Nothing moves: all configurations are singular.
    let locked = document(&["four-bar", "--locked", "q[1],q[2],q[3]"]);
    assert_eq!(locked["sets"][0]["real_dimension"], 1);
    assert_eq!(locked["empty"], false);
    let lists = [
        "curve_counts",
        "sets",
        "cases",
        "locus",
        "components",
        "configurations",
        "regions",
        "counts",
    ];
    let records = [&locus, &points, &regions, &arcs, &locked]
        .into_iter()
        .flat_map(|document| {
            let parts = lists.iter().map(|list| document[list][0].as_object());
            parts.chain([document.as_object()])
        });
    let mut n_fields = 0;
    for field in records.flat_map(|record| record.unwrap_or(&empty).keys()) {
        assert!(
            section.contains(&format!("`{field}`")),
            "docs/json.md lacks {field}"
        );
        n_fields += 1;
    }
    assert!(n_fields > 60);
}

#[test]
fn the_page_tells_cases_and_factors() {
    let page = stdout(&daelight(&["singular", "four-bar", "--parameters", "all"]));
    for line in [
        "1. q[1], q[2], q[3] aligned",
        "sin(q[1] - q[2]) = 0",
        "l[1] - l[2] - l[3] + l[4]",
        "verdict: proved",
    ] {
        assert!(page.contains(line), "{line}:\n{page}");
    }
    let page = stdout(&daelight(&[
        "singular",
        "three-rrr",
        "--locked",
        "q[1],q[2],q[3]",
        "--time-budget",
        "1s",
    ]));
    assert!(page.contains("locked: q[1], q[2], q[3]"), "{page}");
}

#[test]
fn exit_codes() {
    for (arguments, code) in [
        (&["singular", "slider-crank"][..], 0),
        (&["singular", "spring-mass"], 1),
        (&["singular", "four-bar", "--locked", "z"], 1),
        (&["singular", "no-such-model"], 2),
        (&["singular", "four-bar", "--time-budget", "soon"], 2),
        (&["singular", "four-bar", "--curves"], 2),
        (&["singular", "four-bar", "--parameters", "k"], 1),
        (&["singular", "four-bar", "--set", "l[1]=sqrt(-1)"], 1),
        (&["singular", "four-bar", "--set", "l[1]=0"], 0),
        (&["singular", "four-bar", "--memory-budget", "much"], 2),
        (
            &[
                "singular",
                "stephenson",
                "--parameters",
                "all",
                "--time-budget",
                "0s",
            ],
            4,
        ),
    ] {
        assert_eq!(
            daelight(arguments).status.code(),
            Some(code),
            "{arguments:?}"
        );
    }
}

/// What is added to an angle everywhere and is no number is told with it: its values hold whatever it is.
#[test]
fn shifts_by_symbols_are_told_with_their_angles() {
    let ask = |text: &str, more: &[&str]| {
        let arguments = [&["singular", "-", "--json"], more].concat();
        common::document(&common::daelight_with_input(&arguments, text.as_bytes()))
    };
    let found = ask(
        "model M Real q; equation cos(q - 0.5*time) = 1; end M;",
        &[],
    );
    assert_eq!(found["n_configurations"], 1, "{found}");
    assert_eq!(found["configurations"][0]["angles"]["q - 0.5*time"], 0.0);
    let text = "model M parameter Real f = 0.3; Real p, r; equation cos(p + f) + cos(r) = 2; sin(p + f) + sin(r) = 0; end M;";
    let kept = ask(text, &["--parameters", "f"]);
    assert_eq!(kept["configurations"][0]["angles"]["p + f"], 0.0, "{kept}");
    let at_number = ask(text, &[]);
    let p = at_number["configurations"][0]["angles"]["p"].as_f64();
    assert!(p.is_some_and(|p| (p + 0.3).abs() < 1e-15), "{at_number}");
}
