//! Pages of models: well-formed, self-contained, small, and there whatever fails.

use daelight::record::{self, PageOptions};
use daelight_show::page::{html, model};
use roxmltree::{Document, ParsingOptions};
use std::process::Command;
use std::time::Duration;

/// The page as a strict reader sees it, after checking what holds for every page.
fn check<'a>(name: &str, text: &'a str) -> Document<'a> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => panic!("{name}: {error}"),
    };
    assert!(text.len() < 3_000_000, "{name}: {} bytes", text.len());
    let mut n_programs = 0;
    for node in document.descendants().filter(|node| node.is_element()) {
        let tag = node.tag_name().name();
        assert!(
            !matches!(tag, "img" | "iframe" | "object" | "embed" | "base" | "form"),
            "{name}: {tag}"
        );
        if tag == "script" && node.attribute("type").is_none() {
            n_programs += 1;
        }
        for attribute in node.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            assert!(!key.starts_with("on"), "{name}: {tag} {key}");
            match key {
                "src" | "srcset" | "action" | "data" => panic!("{name}: {tag} {key}={value}"),
                "href" => assert!(
                    value.starts_with('#') || value == "data:,",
                    "{name}: {value}"
                ),
                _ => {}
            }
        }
    }
    assert_eq!(n_programs, 1, "{name}: programs on the page");
    document
}

/// All text that is read on the page.
fn words(document: &Document<'_>) -> String {
    let is_read = |node: &roxmltree::Node<'_, '_>| {
        node.is_text()
            && !node
                .ancestors()
                .any(|a| matches!(a.tag_name().name(), "script" | "style"))
    };
    let texts = document.descendants().filter(is_read);
    texts
        .filter_map(|node| node.text())
        .collect::<Vec<_>>()
        .join(" ")
}

fn options(model: &str, set: &[&str]) -> PageOptions {
    let mut options = PageOptions::new(model);
    options.reading.set = set.iter().map(|text| text.to_string()).collect();
    options
}

fn page_text(options: &PageOptions) -> String {
    let loaded = daelight::load(&options.model, &options.reading).expect("there is a text");
    html(&model(&record::page(&loaded, options)))
}

fn of_text(text: &str) -> String {
    let loaded = daelight_lang::load("test.mo", text.as_bytes(), &Default::default());
    html(&model(&record::page(&loaded, &PageOptions::new("test.mo"))))
}

#[test]
fn pages_of_mechanisms_show_what_the_commands_say() {
    let cases: [(&str, &[&str], &[&str]); 4] = [
        (
            "robotic-arm",
            &[],
            &[
                "A regular DAE of index 5 with 0 degrees of freedom.",
                "1. t = 1.544626",
                "kind 5-A",
                "sin(x3) = 0",
                "These equations do not determine x1, x3 there:",
                "verdict: proved.",
                "daelight solve robotic-arm --on-singularity continue",
            ],
        ),
        (
            "andrews-constraints",
            &["a[1]=0.03", "a[2]=0.055"],
            &[
                "6 real singular configurations found; verdict: proved.",
                "Configuration 6",
                "1.880198026",
                "6 equations for 7 unknowns do not match",
                "--set 'a[1]=0.03' --set 'a[2]=0.055'",
            ],
        ),
        (
            "e12",
            &[],
            &[
                "A regular DAE of index 4 with 4 degrees of freedom.",
                "Solved from t = 0 to 0.3.",
                "[N·m]",
            ],
        ),
        (
            "pendulum",
            &[],
            &[
                "A regular DAE of index 3 with 2 degrees of freedom.",
                "Solved from t = 0 to 10.",
                "There is no real singular configuration",
                "Energy T + V",
            ],
        ),
    ];
    for (model, set, expected) in cases {
        let text = page_text(&options(model, set));
        let document = check(model, &text);
        let words = words(&document);
        for part in expected {
            assert!(words.contains(part), "{model}: {part}");
        }
        assert!(text.contains("<math "), "{model}");
        assert!(text.len() < 600_000, "{model}: {} bytes", text.len());
    }
}

#[test]
fn a_robot_in_space_is_drawn() {
    let mut options = options("delta-robot", &[]);
    // Its 24 configurations take longer in this profile; the browser tests have them.
    options.time_budget = Duration::from_millis(10);
    let text = page_text(&options);
    let document = check("delta-robot", &text);
    let words = words(&document);
    assert!(words.contains("Solved from t = 0 to 0.25."));
    assert!(words.contains("The time budget was reached"));
    let has_class = |class: &'static str| {
        move |node: &roxmltree::Node<'_, '_>| node.attribute("class") == Some(class)
    };
    assert_eq!(document.descendants().filter(has_class("film")).count(), 1);
    assert_eq!(
        document.descendants().filter(has_class("ground")).count(),
        3
    );
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let options = options("robotic-arm", &[]);
    assert!(page_text(&options) == page_text(&options));
}

#[test]
fn names_and_comments_stay_text() {
    let hostile = include_str!("../../../tests/browser/hostile.mo");
    let text = of_text(hostile);
    let document = check("hostile", &text);
    let words = words(&document);
    for part in [
        "<img src=x onerror=alert(1)>",
        "x</script>",
        "</h2>",
        "<!-- ]]> & 'quoted'",
    ] {
        assert!(words.contains(part), "{part}");
    }
}

#[test]
fn a_page_comes_whatever_fails() {
    let cases = [
        (
            "a model without a drawing",
            "model M Real x(start = 1, fixed = true); equation der(x) = -x; end M;",
            vec!["Solved from t = 0 to 1.", "At the end"],
        ),
        (
            "a text with a mistake",
            "model M Real x; equation der(x) = lenght; end M;",
            vec!["undeclared-name", "not understood", "How to repeat it"],
        ),
        ("no text", "", vec!["not understood"]),
        (
            "contradicting start values",
            "model M Real x(start = 1, fixed = true), y(start = 2, fixed = true); \
             equation der(x) = y; x = y; end M;",
            vec!["inconsistent-initial", "Index notions"],
        ),
        (
            "too few equations",
            "model M Real x, y; equation x + y^3 = time; end M;",
            vec!["do not match"],
        ),
        (
            "a parameter without a value",
            "model M parameter Real k; Real x; equation der(x) = k; end M;",
            vec!["missing-value"],
        ),
        (
            "an input without a signal",
            "model M input Real u; Real x; equation der(x) = u; end M;",
            vec![
                "Solved from t = 0 to 1.",
                "The input `u` has no signal and is 0.",
            ],
        ),
        (
            "a drawing that has no value",
            "model M Real x(start = 1, fixed = true); equation der(x) = 1; \
             annotation(__daelight(draw = {{{0, 0}, {log(x - 2), x}}})); end M;",
            vec!["Solved from t = 0 to 1.", "the thin line is the path"],
        ),
        (
            "a singular start",
            "model M Real x(start = 0, fixed = true); equation x*der(x) = 1; end M;",
            vec!["singular"],
        ),
    ];
    for (name, text, expected) in cases {
        let text = of_text(text);
        let document = check(name, &text);
        let words = words(&document);
        for part in expected {
            assert!(words.contains(part), "{name}: {part}");
        }
    }
}

#[test]
fn the_command_writes_a_file_and_refuses_what_makes_no_sense() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("page.html");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_daelight"));
        command
            .arg("report")
            .args(arguments)
            .current_dir(folder.path());
        command.output().expect("the program runs")
    };
    let path = out.to_str().expect("a plain path");
    let done = run(&["pendulum", "--no-run", "--out", path]);
    assert_eq!(done.status.code(), Some(0));
    let text = std::fs::read_to_string(&out).expect("the page");
    let document = check("pendulum", &text);
    assert!(words(&document).contains("--no-run"));
    assert!(!words(&document).contains("the thin line is the path"));
    for (arguments, status) in [
        (&["pendulum", "--json"][..], 2),
        (&["pendulum", "--to", "nan"], 2),
        (&["pendulum", "--rtol", "-1"], 2),
        (&["pendulum", "--method", "bdf-fixed"], 2),
        (&["pendulum", "--set", "nothing=1"], 1),
        (&["no-such-model"], 2),
        (
            &["pendulum", "--no-run", "--out", "/no/such/folder/page.html"],
            2,
        ),
    ] {
        assert_eq!(run(arguments).status.code(), Some(status), "{arguments:?}");
    }
}

#[test]
fn a_page_of_a_model_with_events_draws_steps_as_steps() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "model Ball
      Real h(start = 1, fixed = true), v(start = 0, fixed = true);
      Integer n(start = 0, fixed = true);
    equation
      der(h) = v;
      der(v) = -9.81;
      when h < 0 then
        reinit(v, -0.7*pre(v));
        n = pre(n) + 1;
      end when;
      annotation(experiment(StopTime = 1.5), __daelight(draw = {{{0, 0}, {0, h}}}));
    end Ball;";
    std::fs::write(folder.path().join("ball.mo"), text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_daelight"));
    let done = command
        .args(["report", "ball.mo"])
        .current_dir(folder.path());
    assert_eq!(
        done.output().expect("the program runs").status.code(),
        Some(0)
    );
    let text = std::fs::read_to_string(folder.path().join("ball.html")).expect("the page");
    let document = check("ball", &text);
    let words = words(&document);
    for part in [
        "with 2 events",
        "Events and modes",
        "0.45152364098573",
        "n: 1 → 2",
        "Discrete values: n = 0",
    ] {
        assert!(words.contains(part), "{part}");
    }
    assert!(text.contains("Moving drawing of Ball"));
    let mut charts = text.split("\"names\":");
    let data = charts.find(|part| part.starts_with("[\"n\"]"));
    let list = |key: &str| -> Vec<f64> {
        let data = data.expect("a chart of n");
        let list = data.split(key).nth(1).expect("a list");
        let list = list.split(']').next().expect("its end");
        list.split(',')
            .map(|x| x.parse().expect("a number"))
            .collect()
    };
    let (times, values) = (list("\"times\":["), list("\"values\":[["));
    let steps = (1..times.len()).filter(|&k| values[k - 1] != values[k]);
    let steps: Vec<bool> = steps.map(|k| times[k - 1] == times[k]).collect();
    assert_eq!(steps, [true, true]);
}

/// a = 1, then 2 from t = 1/2 on; y^2 = 2 - x, x = 2 t - 1/2, ends at t = 5/4.
#[test]
fn a_run_with_events_that_ends_at_a_singularity_is_kept_and_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "model Ends
      Real x(start = 0, fixed = true), y(start = 1);
      discrete Real a(start = 1, fixed = true);
    equation
      der(x) = a;
      when time >= 0.5 then
        a = 2;
      end when;
      y^2 = 2 - x;
    end Ends;";
    std::fs::write(folder.path().join("ends.mo"), text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_daelight"));
    command.args([
        "solve", "ends.mo", "--to", "3", "--json", "--out", "ends.csv",
    ]);
    let done = command.current_dir(folder.path()).output();
    let done = done.expect("the program runs");
    assert_eq!(done.status.code(), Some(3));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("a document");
    let found = &report["singularities"][0];
    assert_eq!(found["nature"], "branch");
    assert_eq!(found["unknowns"], serde_json::json!(["y"]));
    let table = std::fs::read_to_string(folder.path().join("ends.csv")).expect("a table");
    let last = table.lines().last().expect("a row");
    let last: Vec<f64> = last
        .split(',')
        .map(|x| x.parse().expect("a number"))
        .collect();
    assert!((last[0] - 1.25).abs() < 1e-6 && (last[1] - 2.0).abs() < 1e-6 && last[3] == 2.0);
}
