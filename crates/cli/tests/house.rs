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

/// A text without comments and without what stands in quotes: numbers that words name decide nothing.
fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let after = |end: &str| {
            rest[1..]
                .find(end)
                .map_or("", |at| &rest[1 + at + end.len()..])
        };
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest = &rest[1..][rest[1..].find('\'').expect("its end") + 1..];
        } else if letter == '"' && out.ends_with("r#") {
            rest = after("\"#");
        } else if letter == '"' && out.ends_with('r') {
            rest = after("\"");
        } else if letter == '"' {
            let mut inside = rest[1..].char_indices();
            rest = loop {
                match inside.next() {
                    Some((_, '\\')) => drop(inside.next()),
                    Some((at, '"')) => break &rest[at + 2..],
                    Some(_) => {}
                    None => break "",
                }
            };
        } else {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    out
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
    ("symbolic", &["algebra", "expr"]),
    ("native", &["expr"]),
    ("lang", &["expr"]),
    (
        "analysis",
        &["algebra", "expr", "lang", "linalg", "symbolic"],
    ),
    ("stiff", &["analysis", "expr", "lang", "linalg", "native"]),
    (
        "integrate",
        &["analysis", "expr", "lang", "linalg", "native", "stiff"],
    ),
    (
        "singular",
        &["algebra", "analysis", "expr", "lang", "symbolic"],
    ),
    ("plot", &[]),
    ("show", &["lang", "plot"]),
    (
        "daelight",
        &[
            "algebra",
            "analysis",
            "expr",
            "integrate",
            "lang",
            "linalg",
            "show",
            "singular",
        ],
    ),
    ("fmu", &["analysis", "expr", "lang", "show"]),
    ("engine", &["fmu", "lang"]),
    ("host", &["fmu"]),
    ("lsp", &["lang"]),
    (
        "studio",
        &["analysis", "lang", "lsp", "plot", "show", "singular"],
    ),
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
    at_most("constructions of a structure", &found, 1);
}

/// Lines of code outside some files that hold one of these words.
fn lines_outside(homes: &[&str], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if homes.iter().any(|home| path.starts_with(home)) {
            continue;
        }
        let lines = code(&text).filter(|line| words.iter().any(|word| line.contains(word)));
        found.extend(lines.map(|line| format!("{path}: {}", line.trim())));
    }
    found
}

/// `Dae::form_at` alone says which form holds; others may ask how far rounding reaches.
#[test]
fn blocks_are_judged_in_one_place() {
    let judges = [".anywhere(", ".anywhere_in(", "form.at(", "repair("];
    let found = lines_outside(&["crates/analysis/src/dae/"], &judges);
    let found: Vec<String> = found.into_iter().filter(|l| !l.contains("fn ")).collect();
    // Of what a repair makes, twice, and of equations on surfaces, behind which there is no model.
    at_most("judgements of blocks outside their owner", &found, 4);
}

/// A passport is made where an answer is shown, of a judgement that was made before; nobody reads a decision off it.
#[test]
fn passports_are_shown() {
    let shown = [
        "crates/analysis/src/passport/",
        "crates/daelight/src/lib.rs",
        "crates/daelight/src/record/view.rs",
        "crates/daelight/src/sweep/execution.rs",
        "crates/daelight/src/solve/explain.rs",
    ];
    let found = lines_outside(&shown, &["Passport::new("]);
    at_most("passports that are asked", &found, 0);
    let told = [
        "crates/daelight/src/solve/start.rs",
        "crates/analysis/src/start/mod.rs",
    ];
    let found = lines_outside(&[&shown[..], &told].concat(), &["Passport::of("]);
    at_most("passports made of judgements elsewhere", &found, 0);
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
    at_most("ranks counted outside linalg", &found, 0);
}

#[test]
fn thresholds_have_names_and_places() {
    let mut inline = Vec::new();
    let mut constants = Vec::new();
    for (path, text) in sources() {
        let text = unquoted(&text);
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
            let is_named = plain.starts_with("const ");
            if is_named && is_number {
                constants.push(format!("{path}: {plain}"));
            } else if line.contains("1e-")
                && !is_named
                && !path.ends_with("tolerances.rs")
                && !line.contains("assert")
            {
                inline.push(format!("{path}: {}", line.trim()));
            }
        }
    }
    at_most("thresholds without a name", &inline, 0);
    at_most("numeric constants", &constants, 684);
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
    at_most("functions of more than 80 lines", &long, 10);
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

/// The walks of the map: from a command to its answer in at most twelve stops, each with its file and function.
#[test]
fn walks_lead_from_commands_to_answers() {
    let map = fs::read_to_string(root().join("docs/architecture.md")).expect("the map");
    let walks = map.split("## Three walks").nth(1).expect("the walks");
    let walks = walks.split("\n## ").next().expect("their end");
    let mut names = Vec::new();
    for walk in walks.split("\n### ").skip(1) {
        let (name, text) = walk.split_once('\n').expect("a title");
        names.push(name);
        let stops: Vec<Vec<&str>> = (text.lines())
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(|line| line.split('`').collect())
            .collect();
        assert!((3..=12).contains(&stops.len()), "{name}: {}", stops.len());
        for (at, stop) in stops.iter().enumerate() {
            let [_, file, _, function, ..] = stop[..] else {
                panic!("{name}: {stop:?}");
            };
            let again = |other: &Vec<&str>| other[1] == file && other[3] == function;
            assert!(
                !stops[..at].iter().any(again),
                "{name} meets {file} {function} twice"
            );
            let source = fs::read_to_string(root().join(file));
            let source = source.unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
            let is_there = [format!("fn {function}("), format!("fn {function}<")]
                .iter()
                .any(|begin| source.contains(begin.as_str()));
            assert!(is_there, "{name}: {file} has no function {function}");
        }
        let command = format!("crates/cli/src/commands/{name}.rs");
        assert_eq!((stops[0][1], stops[0][3]), (command.as_str(), name));
        let last = stops[stops.len() - 1][1];
        assert!(last.starts_with("crates/show/src/terminal/"), "{last}");
    }
    assert_eq!(names, ["analyze", "solve", "singular"]);
}

/// What a library must not bring along: the parts of a command line are in the program alone.
#[test]
fn only_the_program_has_a_command_line() {
    for entry in fs::read_dir(root().join("crates"))
        .expect("crates")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).expect("a manifest");
        let has = |package: &str| manifest.lines().any(|line| line.starts_with(package));
        if name != "cli" {
            for package in ["clap", "ctrlc", "indicatif"] {
                assert!(!has(package), "{name} depends on {package}");
            }
        }
        // Drawing, tables for people and HTML have one home each.
        for (package, home) in [
            ("plotters", "plot"),
            ("resvg", "plot"),
            ("comfy-table", "show"),
            ("ariadne", "show"),
            ("parquet", "show"),
            ("pyo3", "python"),
            ("cranelift", "native"),
        ] {
            assert!(name == home || !has(package), "{name} depends on {package}");
        }
    }
}

/// Libraries return what they have to say.
#[test]
fn only_the_program_prints() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if path.starts_with("crates/cli/") {
            continue;
        }
        for line in code(&text) {
            let prints = ["println!(", "print!(", "eprintln!(", "eprint!("];
            if prints.iter().any(|call| line.contains(call)) {
                found.push(format!("{path}: {}", line.trim()));
            }
        }
    }
    at_most("lines that print outside the program", &found, 0);
}

/// Names of public types that stand for two things; a limit that may only fall.
#[test]
fn a_name_means_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        // The program and the extension have no surface of their own in Rust.
        if path.starts_with("crates/cli/") || path.starts_with("crates/python/") {
            continue;
        }
        for line in code(&text) {
            let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
            let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else {
                continue;
            };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            places.entry(name).or_default().push(path.clone());
        }
    }
    let twice = places.iter().filter(|(_, files)| files.len() > 1);
    let found: Vec<String> = twice
        .map(|(name, files)| format!("{name}: {}", files.join(", ")))
        .collect();
    at_most("names of two public types", &found, 7);
}
