//! `daelight sweep`: files, interruptions, pages, documents, exit codes.

use crate::common::{assert_says, daelight, json, root, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PENDULUM: [&str; 6] = [
    "sweep",
    "pendulum",
    "--over",
    "L=0.5:2:60",
    "--measure",
    "final:x",
];

/// Runs a sweep of the pendulum into a file and gives its bytes.
fn written(out: &Path, more: &[&str]) -> Vec<u8> {
    let path = out.to_str().expect("a plain path");
    let output = daelight(&[&PENDULUM[..], more, &["--out", path]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    std::fs::read(out).expect("the file")
}

/// Starts a long sweep and waits until some of its rows are in the partial file.
fn started(out: &Path, measures: &[&str]) -> Child {
    let partial = daelight::sweep::partial_path(out);
    let mut child = Command::new(env!("CARGO_BIN_EXE_daelight"))
        .args(measures)
        .args(["--threads", "1", "--out"])
        .arg(out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let began = Instant::now();
    loop {
        let rows = std::fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
        if rows > 3 {
            return child;
        }
        let ended = child.try_wait().expect("a process");
        assert!(ended.is_none() && began.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_sweep_that_is_killed_goes_on_with_the_same_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let [whole, cut] = ["whole.csv", "cut.csv"].map(|name| folder.path().join(name));
    // Long runs, so that the sweep is far from its end when the first rows are written.
    let long = ["sweep", "pendulum", "--to", "200", "--over", "L=0.5:2:1500"];
    let long = [&long[..], &["--measure", "final:x", "--measure", "status"]].concat();
    let in_one = |out: &Path, more: &[&str]| {
        let path = out.to_str().expect("a plain path");
        let output = daelight(&[&long[..], more, &["--out", path]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (std::fs::read(out).expect("the file"), stderr(&output))
    };
    let (expected, _) = in_one(&whole, &[]);
    // No time to write anything more.
    let mut child = started(&cut, &long);
    child.kill().expect("a process");
    child.wait().expect("an end");
    assert!(!cut.exists());
    let (found, notes) = in_one(&cut, &["--resume"]);
    assert_eq!(found, expected);
    assert!(
        notes.contains("of 1500 points are there already"),
        "{notes}"
    );
    // Ctrl-C: what was measured is kept, and the page says how to go on.
    #[cfg(unix)]
    {
        std::fs::remove_file(&cut).expect("the file");
        let child = started(&cut, &long);
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill").success());
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(
            stdout(&output).contains("--resume goes on"),
            "{}",
            stdout(&output)
        );
        // The page names the file that is there.
        assert!(
            stdout(&output).contains("cut.csv.partial."),
            "{}",
            stdout(&output)
        );
        assert!(!cut.exists() && folder.path().join("cut.csv.partial").exists());
        assert_eq!(in_one(&cut, &["--resume"]).0, expected);
    }
    // A complete file is left as it is.
    assert_eq!(in_one(&cut, &["--resume"]).0, expected);
    let path = cut.to_str().expect("a plain path");
    let other = [
        "sweep",
        "pendulum",
        "--over",
        "L=0.5:2:9",
        "--measure",
        "dof",
        "--out",
        path,
    ];
    let output = daelight(&[&other[..], &["--resume"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("cannot go on with"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn parts_are_the_whole_and_tables_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let whole = written(&file("whole.csv"), &[]);
    let mut joined = Vec::new();
    for part in ["1/3", "2/3", "3/3"] {
        let bytes = written(&file("part.csv"), &["--shard", part]);
        let text = String::from_utf8(bytes).expect("text");
        let lines = text
            .split_inclusive('\n')
            .skip(usize::from(!joined.is_empty()));
        joined.extend(lines.flat_map(str::bytes));
    }
    assert_eq!(joined, whole);
    let text = String::from_utf8(whole).expect("text");
    assert!(
        text.starts_with("point,L,final:x,reason,sweep\n0,0.5,"),
        "{text}"
    );
    let rows = written(&file("rows.json"), &[]);
    let rows: Value = serde_json::from_slice(&rows).expect("a document");
    let parquet = written(&file("rows.parquet"), &[]);
    assert!(parquet.starts_with(b"PAR1"));
    let lengths: Vec<f64> = (rows["L"].as_array().expect("a list").iter())
        .filter_map(Value::as_f64)
        .collect();
    assert_eq!((lengths.len(), lengths[59]), (60, 2.0));
    // The list of a file is a grid of its own.
    let table: String = lengths.iter().map(|length| format!("{length}\n")).collect();
    std::fs::write(file("list.csv"), format!("L\n{table}")).expect("room");
    let list = file("list.csv");
    let arguments = [
        "sweep",
        "pendulum",
        "--list",
        list.to_str().expect("a plain path"),
    ];
    let (_, document) = json(&[&arguments[..], &["--measure", "final:x"]].concat());
    assert_eq!(document["rows"]["final:x"], rows["final:x"]);
}

#[test]
fn every_field_is_documented() {
    let documented = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    let section = documented
        .split("## `daelight sweep")
        .nth(1)
        .expect("a section");
    let section = section.split("\n## ").next().expect("a section");
    let failing = ["sweep", "robotic-arm-general", "--over", "l2=0.3:1:2"];
    let (_, document) = json(&[&failing[..], &["--measure", "locus-zero"]].concat());
    assert_eq!(document["n_failed"], 1);
    let records = [&document, &document["measures"][0], &document["reasons"][0]];
    let mut n_fields = 0;
    for field in records
        .iter()
        .flat_map(|record| record.as_object().expect("fields").keys())
    {
        assert!(
            section.contains(&format!("`{field}`")),
            "docs/json.md lacks {field}"
        );
        n_fields += 1;
    }
    assert!(n_fields > 15);
}

#[test]
fn pictures_and_exit_codes() {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = folder.path().join("map.svg");
    let svg = svg.to_str().expect("a plain path");
    let map = [
        "sweep",
        "four-bar",
        "--locked",
        "q[1]",
        "--over",
        "l[1]=0.05:0.8:16",
    ];
    let map = [
        &map[..],
        &["--over", "l[4]=0.05:0.8:16", "--measure", "singular-count"],
    ]
    .concat();
    let output = daelight(&[&map[..], &["--plot", svg]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let picture = std::fs::read_to_string(svg).expect("a picture");
    for words in ["l[1]", "4 configurations", "boundary of piece"] {
        assert!(picture.contains(words), "{words}");
    }
    let png = svg.replace(".svg", ".png");
    let curve = [
        "sweep",
        "pendulum",
        "--over",
        "L=1:2:3",
        "--measure",
        "dof",
        "--plot",
        &png,
    ];
    assert_eq!(daelight(&curve).status.code(), Some(0));
    assert!(
        std::fs::read(&png)
            .expect("a picture")
            .starts_with(b"\x89PNG")
    );
    for (arguments, code, words) in [
        (
            &["--over", "l=1:2:2", "--measure", "dof"][..],
            2,
            "did you mean L?",
        ),
        (
            &["--over", "L=1:2:0", "--measure", "dof"],
            2,
            "no value at all",
        ),
        (&["--over", "L=2:1:5", "--measure", "dof"], 2, "is empty"),
        (
            &["--over", "L=nan:1:5", "--measure", "dof"],
            2,
            "not a finite number",
        ),
        (
            &["--over", "L=1:2", "--measure", "dof"],
            2,
            "needs a number of values",
        ),
        (&["--measure", "dof"], 2, "no points"),
        (&["--over", "L=1:2:2"], 2, "--measure"),
        (
            &["--over", "L=1:2:2", "--measure", "idnex"],
            2,
            "did you mean index?",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "dof", "--measure", "dof"],
            2,
            "twice",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "dof", "--resume"],
            2,
            "--out",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "dof", "--shard", "3/2"],
            2,
            "3/2",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "dof", "--set", "L=1"],
            2,
            "leave one",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "dof", "--out", "x.txt"],
            2,
            "csv",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "dof", "--plot", "x.pdf"],
            2,
            "svg or png",
        ),
        (
            &["--list", "/nowhere/list.csv", "--measure", "dof"],
            2,
            "cannot read",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "singular-count:3"],
            1,
            "no piece 3",
        ),
        (
            &["--over", "L=1:2:2", "--measure", "final:z9"],
            1,
            "no unknown `z9`",
        ),
        (
            &["--over", "L=1:2", "--random", "2", "--measure", "dof"],
            0,
            "",
        ),
    ] {
        assert_says(&[&["sweep", "pendulum"], arguments].concat(), code, words);
    }
}
