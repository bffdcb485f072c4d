//! Pictures on the command line: files, messages, exit status.

mod common;

use common::{daelight, status, stderr};
use std::path::Path;
use std::process::Output;

/// Runs in a folder whose files are named without a path.
fn within(folder: &Path, arguments: &[&str]) -> Output {
    let place = |word: &&str| {
        let is_file = [".csv", ".svg", ".png", ".json", ".parquet", ".txt", ".gif"]
            .iter()
            .any(|ending| word.ends_with(ending));
        match is_file {
            true => folder.join(word).display().to_string(),
            false => word.to_string(),
        }
    };
    let arguments: Vec<String> = arguments.iter().map(place).collect();
    daelight(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_is_drawn_with_its_units_and_singular_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let run = [
        "solve",
        "robotic-arm",
        "--on-singularity",
        "continue",
        "--to",
        "2",
        "--out",
        "arm.csv",
    ];
    for (what, words) in [
        (
            "trajectory",
            vec!["[rad/s]", "least singular value", "time [s]", "5-A"],
        ),
        ("singular-value", vec!["condition of the array", "5-A"]),
        ("steps", vec!["step [s]", "order of the series"]),
        ("residuals", vec!["scaled residual", "4th derivatives"]),
        ("loci", vec!["sin(x3)", "cos(x3)^2 - 6*cos(x3) + 4", "5-A"]),
        ("drawing", vec!["at 9 instants", "0.25 s", "horizontal"]),
    ] {
        let output = within(
            at,
            &[&run[..], &["--plot", "arm.svg", "--plot-what", what]].concat(),
        );
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let picture = text(at, "arm.svg");
        for word in words {
            assert!(picture.contains(word), "{what}: {word}");
        }
    }
    // The table that the run wrote, as a quick look and as a phase plot.
    let output = within(at, &["plot", "arm.csv", "x3", "x1", "--out", "look.svg"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let picture = text(at, "look.svg");
    assert!(picture.contains("x3") && picture.contains("x1") && !picture.contains("x2"));
    let output = within(at, &["plot", "arm.csv", "x3", "--against", "x1", "--dark"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(text(at, "arm-x3-x1.svg").contains("x1"));
    let output = within(
        at,
        &["plot", "arm.csv", "--out", "all.png", "--size", "500x700"],
    );
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let bytes = std::fs::read(at.join("all.png")).expect("a picture");
    assert_eq!(bytes[16..24], [0, 0, 1, 244, 0, 0, 2, 188]);
}

#[test]
fn tables_are_compared_in_one_frame() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let euler = ["--method", "bdf-fixed", "--order", "1", "--form", "dummy"];
    let euler = [&euler[..], &["--scale", "1", "--step", "0.01"]].concat();
    for (out, more) in [
        ("exact.csv", &["--points", "101"][..]),
        ("euler.csv", &euler),
    ] {
        let output = within(at, &[&["solve", "e1", "--out", out], more].concat());
        assert_eq!(status(&output), 0, "{}", stderr(&output));
    }
    let tables = ["plot", "exact.csv", "euler.csv", "--out", "both.svg"];
    let draw = |more: &[&str]| {
        let output = within(at, &[&tables[..], more].concat());
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        text(at, "both.svg")
    };
    let picture = draw(&["u", "x2"]);
    for word in ["exact", "euler", "u\n", "x2\n"] {
        assert!(picture.contains(word), "{word}");
    }
    // Without names: what both have. Further unknowns of the reduced form are not among them.
    let picture = draw(&["--labels", "exact,implicit Euler"]);
    assert!(picture.contains("x4\n") && picture.contains("implicit Euler"));
    assert!(!picture.contains("der_x1\n"));
    let picture = draw(&["u", "--difference", "--log", "--from", "0.05"]);
    assert!(picture.contains("difference from exact") && picture.contains("|difference of u|"));
    assert!(!picture.contains("\n0.04\n"));
    let picture = draw(&["x2", "--against", "x1"]);
    assert!(picture.contains("euler") && picture.contains("x1\n"));
    for (arguments, words) in [
        (&["exact.csv", "--difference"][..], "there is one"),
        (
            &["exact.csv", "euler.csv", "--labels", "a,b,c"],
            "3 labels for 2 tables",
        ),
        (&["exact.csv", "none.csv"], "cannot read"),
        (&["exact.csv", "euler.csv", "uu"], "did you mean `u`?"),
    ] {
        let output = within(at, &[&["plot"], arguments].concat());
        assert_eq!(status(&output), 2, "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn structures_and_forces_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (what, words) in [
        (
            "structure",
            ["Signature matrix", "in the order of solution"],
        ),
        ("projectors", ["T1, rank 1", "V3, rank 2"]),
        ("eigenvalues", ["real part [1/s]", "imaginary part [1/s]"]),
    ] {
        let output = within(
            at,
            &[
                "analyze",
                "pendulum",
                "--plot",
                "p.svg",
                "--plot-what",
                what,
            ],
        );
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let picture = text(at, "p.svg");
        assert!(words.iter().all(|word| picture.contains(word)), "{what}");
    }
    let output = within(
        at,
        &[
            "feedforward",
            "e1",
            "--forward",
            "e1-forward",
            "--plot",
            "e1.svg",
        ],
    );
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(text(at, "e1.svg").contains("[N·m]"));
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let files = [
        ("run.csv", "time,position,p[1],p[2]\n0,1,2,3\n1,2,3,4\n"),
        ("empty.csv", "time,x\n0,\n1,\n"),
        ("words.csv", "time,x\n0,a\n"),
        (
            "report.json",
            "{\"singularities\": [{\"time\": 0.5, \"kind\": \"3-B\"}]}",
        ),
        (
            "bench.csv",
            "tool,model,error,time\ndaelight,arm,1e-6,0.01\ndaelight,arm,1e-9,0.02\nother,arm,,\n",
        ),
    ];
    for (name, text) in files {
        std::fs::write(at.join(name), text).expect("a file");
    }
    for (arguments, words) in [
        (vec!["missing.csv"], "cannot read"),
        (vec!["run.csv", "positoin"], "did you mean `position`?"),
        (vec!["run.csv", "zz"], "there are position, p[1], p[2]"),
        (
            vec!["run.csv", "--out", "run.gif"],
            "svg or png, not as `gif`",
        ),
        (
            vec!["run.csv", "--against", "p[1]"],
            "needs a column to draw",
        ),
        (vec!["run.csv", "position", "--against", "p"], "is an array"),
        (vec!["empty.csv"], "no finite value"),
        (vec!["words.csv"], "`a` in line 2 is not a number"),
        (
            vec!["run.csv", "--report", "run.csv"],
            "tells no singular times",
        ),
        (
            vec!["run.csv", "--work-precision"],
            "there is no column `tool`",
        ),
        (vec!["run.csv", "--size", "5x5"], "not a size of a picture"),
    ] {
        let output = within(at, &[&["plot"][..], &arguments].concat());
        assert_eq!(status(&output), 2, "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let output = within(
        at,
        &[
            "plot",
            "run.csv",
            "p",
            "--report",
            "report.json",
            "--out",
            "p.svg",
        ],
    );
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let picture = text(at, "p.svg");
    assert!(picture.contains("p[1]") && picture.contains("p[2]") && picture.contains("3-B"));
    let output = within(at, &["plot", "bench.csv", "--work-precision"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(text(at, "bench.svg").contains("error (arm)"));
    let output = within(at, &["solve", "pendulum", "--plot", "p.txt"]);
    assert_eq!(status(&output), 2);
    let output = within(
        at,
        &[
            "solve",
            "pendulum",
            "--plot",
            "q.svg",
            "--plot-what",
            "eigenvalues",
        ],
    );
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("no picture was made"));
    assert!(!at.join("q.svg").exists());
}
