//! The command line as a user meets it: answers, messages, exit status.

use crate::common::{
    assert_says, daelight, daelight_with_input, document, json, root, status, stderr, stdout,
};
use serde_json::Value;

#[test]
fn check_counts_equations_and_unknowns() {
    let output = daelight(&["check", "pendulum"]);
    assert_eq!(status(&output), 0);
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    assert!(
        text.contains("5 equations for 5 unknowns (4 differentiated)"),
        "{text}"
    );
    assert!(
        text.contains("every unknown can be matched with an equation"),
        "{text}"
    );
}

/// `docs/json.md` promises these fields and no others.
#[test]
fn check_json_has_exactly_the_documented_fields() {
    let text = "model A\n  Real x, y;\nequation\n  x = 1 + z;\nend A;\n";
    let output = daelight_with_input(&["check", "-", "--json"], text.as_bytes());
    assert_eq!(status(&output), 1);
    assert_eq!(stderr(&output), "");
    let document = document(&output);
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&document), ["diagnostics", "ok"]);
    assert_eq!(document["ok"], false);
    let diagnostic = &document["diagnostics"][0];
    assert_eq!(
        keys(diagnostic),
        [
            "code", "column", "file", "help", "line", "message", "severity"
        ]
    );
    assert_eq!(diagnostic["severity"], "error");
    assert_eq!(diagnostic["code"], "undeclared-name");
    assert_eq!(diagnostic["file"], "<stdin>");
    assert_eq!(
        (&diagnostic["line"], &diagnostic["column"]),
        (&4.into(), &11.into())
    );

    let documented = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    for field in [
        "ok",
        "diagnostics",
        "severity",
        "code",
        "message",
        "file",
        "line",
        "column",
        "help",
    ] {
        assert!(
            documented.contains(&format!("`{field}`")),
            "docs/json.md lacks {field}"
        );
    }
}

#[test]
fn too_many_equations_are_a_fault_and_too_few_a_warning() {
    let few = "model A\n  Real x, y;\nequation\n  x + y = 1;\nend A;\n";
    assert_eq!(
        status(&daelight_with_input(&["check", "-"], few.as_bytes())),
        0
    );
    let text = "model A\n  Real x, y, w;\nequation\n  x = 1;\n  x = 2;\n  y + w = x;\nend A;\n";
    let output = daelight_with_input(&["check", "-", "--json"], text.as_bytes());
    assert_eq!(status(&output), 1);
    let document = document(&output);
    assert_eq!(document["ok"], false);
    let codes: Vec<&str> = document["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["overdetermined", "underdetermined"]);
    let output = daelight_with_input(&["check", "-"], text.as_bytes());
    let text = stderr(&output);
    assert!(text.contains("2 equations for 1 unknown: x"), "{text}");
    assert!(text.contains("1 equation for 2 unknowns: y, w"), "{text}");
    assert!(
        text.contains("line 4: x = 1") && text.contains("line 5: x = 2"),
        "{text}"
    );
}

#[test]
fn derive_feeds_check() {
    for model in daelight::built_in_models() {
        for style in [&[][..], &["--scalar"][..]] {
            let derived = daelight(&[&["derive", model.name], style].concat());
            assert_eq!(status(&derived), 0, "{}", model.name);
            let checked = daelight_with_input(&["check", "-", "-q"], &derived.stdout);
            assert_eq!(status(&checked), 0, "{}: {}", model.name, stderr(&checked));
            assert_eq!(stderr(&checked), "", "{}", model.name);
        }
    }
}

#[test]
fn derive_names_velocities_after_their_coordinates() {
    let text = stdout(&daelight(&["derive", "pendulum-3d"]));
    assert!(text.contains("Real 'der(p[1])';"), "{text}");
    assert!(text.contains("m*der('der(p[1])') = u[1]"), "{text}");
    assert!(text.contains("der(p[1]) = 'der(p[1])';"), "{text}");
}

#[test]
fn files_are_written_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("flat.mo");
    let output = daelight(&["derive", "cstr", "--out", path.to_str().unwrap()]);
    assert_eq!((status(&output), stdout(&output).as_str()), (0, ""));
    let written = std::fs::read_to_string(&path).expect("the file is there");
    assert_eq!(written, stdout(&daelight(&["derive", "cstr"])));
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no other file is left"
    );
    let missing = folder.path().join("nowhere/flat.mo");
    let output = daelight(&["derive", "cstr", "--out", missing.to_str().unwrap()]);
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).contains("cannot write"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn wrong_usage_says_what_to_do() {
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["check", "no/such/file.mo"],
            2,
            "there is no file `no/such/file.mo`",
        ),
        (
            &["check", "pendulm"],
            2,
            "did you mean the built-in model pendulum?",
        ),
        (&["check", "/"], 2, "is a folder"),
        (&["check"], 2, "required arguments"),
        (&["chek", "pendulum"], 2, "check"),
        (
            &["check", "pendulum", "--set", "gg=1"],
            1,
            "did you mean `g`?",
        ),
        (&["check", "pendulum", "--set", "g"], 2, "--set name=value"),
        (
            &["check", "pendulum", "--set", "g=1e400"],
            1,
            "too large for double precision",
        ),
        (
            &["check", "pendulum", "--set", "g=0/0"],
            1,
            "not a finite number",
        ),
        (
            &["check", "pendulum", "--set", "g=true"],
            1,
            "expected a number",
        ),
        (
            &["check", "pendulum", "--set", "g="],
            2,
            "expected an expression",
        ),
        (
            &["check", "pendulum", "--set", "x=1"],
            1,
            "is a variable, not a parameter",
        ),
        (
            &["check", "pendulum-chain", "--set", "N=-1"],
            1,
            "`N` = -1 is below its minimum 1",
        ),
        (
            &["check", "pendulum-chain", "--set", "N=2.5"],
            1,
            "not a whole number",
        ),
        (
            &["check", "pendulum-chain", "--set", "N=1e9"],
            1,
            "more than",
        ),
        (
            &["check", "andrews-constraints", "--set", "a[8]=1"],
            1,
            "use a subscript from 1 to 7",
        ),
        (&["check", "pendulum", "--model", "Pendel"], 1, "Pendulum"),
        (&["examples", "penduum"], 2, "did you mean pendulum?"),
        (&["derive", "pendulum", "--json"], 2, "check --json"),
    ];
    for (arguments, code, words) in cases {
        let output = assert_says(arguments, *code, words);
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn parameters_can_be_set() {
    let text = stdout(&daelight(&[
        "derive",
        "pendulum",
        "--set",
        "g=1.62",
        "--set",
        "L=sqrt(2)",
    ]));
    assert!(text.contains("g(unit = \"m/s2\") = 1.62"), "{text}");
    let text = stdout(&daelight(&[
        "derive",
        "andrews-constraints",
        "--set",
        "a[3]=0.02",
    ]));
    assert!(
        text.contains("{0.007, 0.028, 0.02, 0.02, 0.04, 0.02, 0.04}"),
        "{text}"
    );
    let text = stdout(&daelight(&["derive", "index3-toy", "--set", "signal=2"]));
    assert!(text.contains("exp(time)"), "{text}");
    let text = stdout(&daelight(&["check", "pendulum-chain", "--set", "N=3"]));
    assert!(text.contains("15 equations for 15 unknowns"), "{text}");
}

#[test]
fn several_models_in_one_text() {
    let text =
        "model A Real x; equation x = 1; end A; model B Real x, y; equation x = f(y); y = 2; end B;
        function f input Real u; output Real v; algorithm v := 2*u; end f;";
    let names = |arguments: &[&str]| stdout(&daelight_with_input(arguments, text.as_bytes()));
    assert!(names(&["check", "-"]).starts_with("B\n"));
    assert!(names(&["check", "-", "--model", "A"]).starts_with("A\n"));
}

#[test]
fn examples_are_listed_and_printed() {
    let list = stdout(&daelight(&["examples"]));
    for model in daelight::built_in_models() {
        assert!(list.contains(model.name));
        assert_eq!(stdout(&daelight(&["examples", model.name])), model.text);
    }
    let parts = daelight::parts_examples();
    for example in &parts {
        assert!(list.contains(&example.name));
        assert_eq!(
            stdout(&daelight(&["examples", &example.name])),
            example.text
        );
    }
    let (_, document) = json(&["examples"]);
    assert_eq!(
        document.as_array().unwrap().len(),
        daelight::built_in_models().len() + parts.len()
    );
}

#[test]
fn manual_pages_have_the_words_of_the_help() {
    let page = stdout(&daelight(&["man"]));
    assert!(page.contains(".TH daelight 1"), "{page}");
    let page = stdout(&daelight(&["man", "solve"]));
    assert!(page.contains("\\-\\-on\\-singularity"), "{page}");
    assert_eq!(daelight(&["man", "sovle"]).status.code(), Some(2));
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = daelight(&["completions", shell]);
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).contains("daelight"), "{shell}");
    }
}

#[test]
fn colours_only_when_asked_for() {
    let bad = b"model A Real x; equation x = y; end A;";
    let plain = stderr(&daelight_with_input(&["check", "-"], bad));
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let coloured = stderr(&daelight_with_input(
        &["check", "-", "--color", "always"],
        bad,
    ));
    assert!(coloured.contains('\u{1b}'));
}

#[test]
fn help_has_examples() {
    for arguments in [
        &["--help"][..],
        &["check", "--help"],
        &["derive", "--help"],
        &["examples", "--help"],
    ] {
        let output = daelight(arguments);
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).contains("Example"), "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_daelight"))
        .args(["derive", "pendulum-chain", "--set", "N=3000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

/// What newcomers typed, and what the answer must name.
#[test]
fn slips_are_told_with_what_to_write() {
    let model = |line: &str, annotation: &str| {
        format!(
            "model A Real x(start = 1, fixed = true), y; equation der(x) = -x; {line} annotation({annotation}); end A;"
        )
    };
    let plain = model("y = 2*x;", "experiment(StopTime = 1)");
    for (arguments, text, word) in [
        (
            &["check", "-"][..],
            model("y = 2*x;", "experimnt(StopTime = 5)"),
            "did you mean `experiment`?",
        ),
        (&["check", "-"], model("y = 0,5*x;", ""), "`0.5`"),
        (&["check", "-"], model("y = x'';", ""), "der(der(x))"),
        (
            &["check", "-"],
            model("y = a*b;", ""),
            "`b` is not declared",
        ),
        (
            &["check", "-"],
            model("y = 2*x;", "experiment(StopTime = \"5\")"),
            "without quotes",
        ),
        (
            &["check", "-", "--to", "4"],
            plain.clone(),
            "'daelight solve' takes --to",
        ),
        (&["solve", "-", "--until", "3"], plain.clone(), "use '--to'"),
        (
            &["solve", "-", "--stop", "x"],
            plain.clone(),
            "use '--to' for a time, '--stop-when' for a condition",
        ),
        (
            &["solve", "-", "--points", "-3"],
            plain.clone(),
            "not a whole number",
        ),
        (
            &["solve", "-", "--to", "-1"],
            plain.clone(),
            "backwards in time",
        ),
        (
            &["solve", "-", "--gradient", "x", "--to", "0"],
            plain.clone(),
            "has no length",
        ),
        (
            &["solve", "-", "--sensitivity", "x.start"],
            plain.clone(),
            "write x for its start value",
        ),
        (&["help", "solve"], plain, "Integrate a model"),
    ] {
        let output = daelight_with_input(arguments, text.as_bytes());
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

/// What newcomers write first, and what helps them: each was told something that did not.
#[test]
fn first_mistakes_are_told_with_what_was_meant() {
    let bead = "model Bead
  parameter Real m = 0.1, k = 1, g = 9.81;
  Real x(start = 1), y, vx, vy, N;
equation
  vx = der(x);
  vy = der(y);
  m*der(vx) = -N*2*k*x;
  m*der(vy) = N - m*g;
  y = k*x^2;
end Bead;
";
    let cases = [
        (
            "vx = der(x)",
            "vx = 2; vx = der(x)",
            "declare `vx(start = 2, fixed = true)` instead",
        ),
        (
            "vx = der(x)",
            "Real q; vx = der(x)",
            "before the word `equation`",
        ),
        (
            "vx = der(x)",
            "parameter Real q = 1; vx = der(x)",
            "before the word `equation`",
        ),
        (
            "m*der(vx)",
            "m der(vx)",
            "put an operator such as `*` before it",
        ),
        (
            "vx = der(x)",
            "vx = dx/dt",
            "write `der(x)` for the derivative of x by time",
        ),
    ];
    for (from, to, help) in cases {
        let text = bead.replace(from, to);
        let said = stderr(&daelight_with_input(&["check", "-"], text.as_bytes()));
        assert!(said.contains(help), "{to}: {said}");
    }
    let commands: [(&[&str], &str); 3] = [
        (&["run", "pendulum"], "use `daelight solve`"),
        (&["solve", "pendulum", "--set", "L", "2"], "as in --set k=2"),
        (
            &[
                "solve",
                "pendulum",
                "--plot",
                "a.svg",
                "--plot-what",
                "velocity",
            ],
            "possible values: trajectory",
        ),
    ];
    for (words, help) in commands {
        let output = daelight(words);
        assert_eq!(status(&output), 2, "{words:?}");
        let said = stderr(&output);
        assert!(said.contains(help), "{words:?}: {said}");
        assert!(!said.contains("'loci'\n"), "{said}");
    }
}
