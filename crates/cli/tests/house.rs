//! The order of the house: who may depend on whom, and how often a decision is made outside its owner.
//!
//! Each count is a limit that may only fall: lower it with the change that lowers the count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, into);
        } else if path.extension().is_some_and(|e| e == ending) {
            into.push(path);
        }
    }
}

/// Path from the root and text of every source file of the crates.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join("crates")).expect("crates").flatten() {
        files(&entry.path().join("src"), "rs", &mut paths);
    }
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("below the root");
        let name = name.to_string_lossy().replace('\\', "/");
        (name, fs::read_to_string(&path).expect("a text"))
    };
    paths.into_iter().map(read).collect()
}

/// Lines that are code: no comments, and nothing from the first module of tests on.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .filter(|line| !line.trim_start().starts_with("//"))
}

fn at_most(what: &str, found: &[String], limit: usize) {
    println!("{what}: {} of {limit}", found.len());
    assert!(
        found.len() <= limit,
        "{what}: {} are more than {limit}\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Which crates of the project a crate may depend on: arrows go down only.
const MAY_USE: &[(&str, &[&str])] = &[
    ("dd", &[]),
    ("expr", &["dd"]),
    ("linalg", &["dd"]),
    ("algebra", &[]),
    ("native", &["expr"]),
    ("lang", &["expr"]),
    ("analysis", &["algebra", "expr", "lang", "linalg"]),
    ("stiff", &["analysis", "expr", "lang", "linalg", "native"]),
    (
        "integrate",
        &["analysis", "expr", "lang", "linalg", "native", "stiff"],
    ),
    ("singular", &["algebra", "analysis", "expr", "lang"]),
    ("plot", &[]),
    ("show", &["lang", "plot"]),
];

#[test]
fn arrows_between_crates_go_down() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    for entry in fs::read_dir(root().join("crates"))
        .expect("crates")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(allowed) = allowed.get(name.as_str()) else {
            continue;
        };
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).expect("a manifest");
        let mut section = String::new();
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line.to_string();
            }
            let Some(used) = line.strip_prefix("daelight-") else {
                continue;
            };
            if section == "[dependencies]" {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric()).collect();
                assert!(allowed.contains(&used.as_str()), "{name} depends on {used}");
            }
        }
    }
}

#[test]
fn a_structure_is_made_in_few_places() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        for line in code(&text) {
            let makes = [
                "Structure::of_equations(",
                "Structure::of_model(",
                "Structure::of(",
            ];
            if makes.iter().any(|call| line.contains(call)) {
                found.push(format!("{path}: {}", line.trim()));
            }
        }
    }
    at_most("constructions of a structure", &found, 15);
}

#[test]
fn ranks_are_counted_in_linalg() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if path.starts_with("crates/linalg") {
            continue;
        }
        let lines: Vec<&str> = code(&text).collect();
        for (at, line) in lines.iter().enumerate() {
            if !(line.contains("singular_values()") || line.contains(".pivots()")) {
                continue;
            }
            let after = lines[at..lines.len().min(at + 9)].concat();
            if after.contains(".filter(") && after.contains(".count()") {
                found.push(format!("{path}: {}", line.trim()));
            }
        }
    }
    at_most("ranks counted outside linalg", &found, 7);
}

#[test]
fn thresholds_have_names_and_places() {
    let mut inline = Vec::new();
    let mut constants = Vec::new();
    for (path, text) in sources() {
        for line in code(&text) {
            let plain = line
                .trim_start()
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ");
            let plain = plain.trim_start_matches("pub(super) ");
            let is_number = [
                ": f64 =",
                ": f32 =",
                ": usize =",
                ": u32 =",
                ": u64 =",
                ": i32 =",
                ": i64 =",
            ]
            .iter()
            .any(|kind| plain.contains(kind));
            if plain.starts_with("const ") && is_number {
                constants.push(format!("{path}: {plain}"));
            } else if line.contains("1e-")
                && !path.ends_with("tolerances.rs")
                && !line.contains("assert")
            {
                inline.push(format!("{path}: {}", line.trim()));
            }
        }
    }
    at_most("thresholds without a name", &inline, 125);
    at_most("numeric constants", &constants, 720);
}

#[test]
fn functions_fit_on_a_screen_or_two() {
    let mut long = Vec::new();
    for (path, text) in sources() {
        let mut begin = None;
        for (at, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let is_function = line.contains("fn ") && !line.trim_start().starts_with("//");
            if is_function && line.trim_end().ends_with(['{', '(']) && begin.is_none() {
                begin = Some((at, indent, line.trim().to_string()));
            }
            if let Some((first, outer, name)) = &begin
                && line.starts_with(&" ".repeat(*outer))
                && line[*outer..].starts_with('}')
            {
                if at - first + 1 > 80 {
                    long.push(format!("{path}: {} lines: {name}", at - first + 1));
                }
                begin = None;
            }
        }
    }
    at_most("functions of more than 80 lines", &long, 55);
}

#[test]
fn documents_that_the_code_cites_exist() {
    for (path, text) in sources() {
        for part in text.split("`docs/").skip(1) {
            let Some(cited) = part
                .split('`')
                .next()
                .filter(|p| p.ends_with(".md") && !p.contains('<'))
            else {
                continue;
            };
            let file = root().join("docs").join(cited);
            assert!(
                file.exists(),
                "{path} cites docs/{cited}, which does not exist"
            );
        }
    }
}
