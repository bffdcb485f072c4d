//! Libraries that are broken: random edits of their files, circles, missing files. A model or a diagnostic, in bounded time
//! and memory. `DAELIGHT_EDITS=100000` asks for more edits, `DAELIGHT_EDITS_IN=DIR` for those of another library.

use crate::common::{Random, root};
use daelight_lang::{Files, Loaded, Options, UnitCheck, balance, check_units};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Texts in memory, by path below the one root.
#[derive(Clone, Debug, Default)]
struct Texts(BTreeMap<String, Arc<Vec<u8>>>);

const ROOT: &str = "root";

impl Files for Texts {
    fn roots(&self) -> Vec<String> {
        vec![ROOT.to_string()]
    }

    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>> {
        let inside = self.0.range(format!("{folder}/")..format!("{folder}0"));
        let mut entries: Vec<(String, bool)> = inside
            .map(|(path, _)| match path[folder.len() + 1..].split_once('/') {
                Some((name, _)) => (name.to_string(), true),
                None => (path[folder.len() + 1..].to_string(), false),
            })
            .collect();
        entries.dedup();
        Some(entries)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let found = self.0.get(path).ok_or("there is no such file")?;
        Ok(found.as_ref().clone())
    }
}

fn read(folder: &Path, below: &str, texts: &mut Texts) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().expect("a name");
        let below = format!("{below}/{name}");
        if path.is_dir() {
            read(&path, &below, texts);
        } else if name.ends_with(".mo") {
            let bytes = std::fs::read(&path).expect("a text");
            texts.0.insert(below, Arc::new(bytes));
        }
    }
}

fn load(texts: Texts, text: &str) -> Loaded {
    let options = Options {
        files: Some(Arc::new(texts)),
        ..Options::default()
    };
    let loaded = daelight_lang::load("model.mo", text.as_bytes(), &options);
    let errors = loaded.diagnostics.iter();
    let errors = errors.filter(|d| d.severity == daelight_lang::Severity::Error);
    match &loaded.model {
        Some(model) => {
            balance(model).diagnostics(model);
            check_units(model, UnitCheck::Warn);
        }
        None => assert!(errors.count() > 0, "no model and no word: {text}"),
    }
    loaded
}

const WORDS: &[&str] = &[
    "extends ",
    "redeclare ",
    "replaceable ",
    "connect(",
    ");",
    "end ",
    "model ",
    "partial ",
    "equation\n",
    "der(",
    "Real ",
    "inner ",
    "outer ",
    "each ",
    "final ",
    "import ",
    "package ",
    "[:]",
    "[3]",
    "(start = 1)",
    "if ",
    "then ",
    "for i in 1:3 loop ",
    "parameter Integer ",
    ".",
    ",",
    "{",
    "}",
    "\"",
    "'",
    "/*",
    "//",
    "=",
    "*",
    "^",
    "-",
    "1e308",
    "0",
    "function ",
    "flow ",
    "stream ",
    "constrainedby ",
    "connector ",
    "record ",
    "type ",
    "annotation(",
    "when ",
    "\u{0}",
    "ß",
    "encapsulated ",
    "within ",
    "a.b.c",
];

/// A text with some random edits: pieces lost, moved, doubled, words put in, names exchanged.
fn edited(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let to = (at + 1 + random.below(30)).min(bytes.len());
        match random.below(7) {
            0 => {
                bytes.drain(at..to);
            }
            1 => {
                let piece = bytes[at..to].to_vec();
                let there = random.below(bytes.len());
                bytes.splice(there..there, piece);
            }
            2 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            3 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..to, word.bytes());
            }
            4 => bytes[at] = random.next() as u8,
            5 => {
                // A whole line at another place.
                let begin = bytes[..at]
                    .iter()
                    .rposition(|&b| b == b'\n')
                    .map_or(0, |p| p + 1);
                let end = bytes[at..]
                    .iter()
                    .position(|&b| b == b'\n')
                    .map_or(bytes.len(), |p| at + p + 1);
                let line: Vec<u8> = bytes.drain(begin..end).collect();
                let there = random.below(bytes.len() + 1);
                bytes.splice(there..there, line);
            }
            _ => {
                let there = random.below(bytes.len());
                bytes.swap(at, there);
            }
        }
    }
    bytes
}

fn count() -> usize {
    let asked = std::env::var("DAELIGHT_EDITS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1500)
}

/// What is loaded, and the files that this reads.
fn try_edits(texts: &Texts, names: &[String], seed: u64) {
    let mut random = Random(seed);
    let (mut models, mut slowest) = (0, Duration::ZERO);
    let n = count();
    for round in 0..n {
        let name = &names[random.below(names.len())];
        // A file that the model reads: one of its packages, or a neighbour.
        let parts: Vec<&str> = name.split('.').collect();
        let depth = 1 + random.below(parts.len() - 1);
        let folder = format!("{ROOT}/{}", parts[..depth].join("/"));
        let inside: Vec<&String> = texts
            .0
            .range(folder.clone()..format!("{folder}0"))
            .map(|(p, _)| p)
            .collect();
        let own = format!("{ROOT}/{}.mo", parts.join("/"));
        let path = match random.below(3) {
            0 if texts.0.contains_key(&own) => own,
            1 => format!("{folder}/package.mo"),
            _ if inside.is_empty() => continue,
            _ => inside[random.below(inside.len())].clone(),
        };
        let Some(text) = texts.0.get(&path) else {
            continue;
        };
        let mut broken = texts.clone();
        match random.below(40) {
            0 => {
                broken.0.remove(&path);
            }
            _ => {
                let bytes = edited(text, &mut random);
                if let Some(folder) = std::env::var_os("DAELIGHT_EDITS_KEEP") {
                    // What a run that is killed was reading.
                    let header = format!("// round {round}: {name}, {path}\n");
                    let kept = [header.as_bytes(), &bytes].concat();
                    std::fs::write(Path::new(&folder).join("last.mo"), kept).expect("a file");
                }
                broken.0.insert(path.clone(), Arc::new(bytes));
            }
        }
        let last = parts[parts.len() - 1];
        let begin = Instant::now();
        let loaded = load(broken, &format!("model {last} extends {name}; end {last};"));
        let took = begin.elapsed();
        slowest = slowest.max(took);
        assert!(
            took < Duration::from_secs(30),
            "{took:?}: round {round}, {path}"
        );
        models += usize::from(loaded.model.is_some());
    }
    println!("{n} edits: {models} models, the others have diagnostics; slowest {slowest:?}");
}

#[test]
fn edited_libraries_give_a_model_or_a_diagnostic() {
    let mut texts = Texts::default();
    read(&root().join("crates/daelight/library"), ROOT, &mut texts);
    let examples = daelight::parts_examples();
    let names: Vec<String> = examples.into_iter().map(|example| example.name).collect();
    try_edits(&texts, &names, 20_261_117);
}

/// Another library, where one is given with the names of its models: `DIR:A.B,A.C`.
#[test]
fn edits_of_another_library_give_a_model_or_a_diagnostic() {
    let Ok(given) = std::env::var("DAELIGHT_EDITS_IN") else {
        return;
    };
    let (folder, names) = given.split_once(':').expect("DIR:NAMES");
    let mut texts = Texts::default();
    read(Path::new(folder), ROOT, &mut texts);
    let names: Vec<String> = names.split(',').map(str::to_string).collect();
    try_edits(&texts, &names, 4_061_226);
}

/// A library of one file `L.mo` and a model that uses it.
fn with_library(library: &str, text: &str) -> Loaded {
    let mut texts = Texts::default();
    let bytes = Arc::new(library.as_bytes().to_vec());
    texts.0.insert(format!("{ROOT}/L.mo"), bytes);
    let begin = Instant::now();
    let loaded = load(texts, text);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}: {text}");
    loaded
}

#[test]
fn circles_and_great_sizes_are_told() {
    let cases = [
        // Classes that extend each other, directly, through aliases and through packages.
        (
            "package L model A extends B; end A; model B extends C; end B; model C extends A; end C; end L;",
            "L.A a;",
        ),
        ("package L model A = B; model B = A; end L;", "L.A a;"),
        (
            "package L extends L.P; package P extends L; end P; end L;",
            "L.P.x y;",
        ),
        ("package L model A A a; end A; end L;", "L.A a;"),
        (
            "package L model A B b; end A; model B A a; end B; end L;",
            "L.A a;",
        ),
        ("package L model A A a, b, c; end A; end L;", "L.A a;"),
        // Redeclarations that lead back.
        (
            "package L model A replaceable model M = A; M m; end A; model B extends A(redeclare model M = B); end B; end L;",
            "L.B b;",
        ),
        (
            "package L model A replaceable A m; end A; end L;",
            "L.A a(redeclare L.A m(redeclare L.A m));",
        ),
        (
            "package L package P replaceable package Q = P; Q.R r; end P; end L;",
            "L.P.Q.Q.Q.R r;",
        ),
        // Recursion in functions and parameters.
        (
            "package L function f input Real x; output Real y; algorithm y := f(x - 1); end f; end L;",
            "Real y = L.f(3);",
        ),
        (
            "package L function f input Real x; output Real y; algorithm y := g(x); end f; function g input Real x; output Real y; algorithm y := f(x); end g; end L;",
            "Real y = L.f(time);",
        ),
        (
            "package L model A parameter Integer n = size(x, 1); Real x[n]; end A; end L;",
            "L.A a;",
        ),
        (
            "package L constant Integer n = m; constant Integer m = n; end L;",
            "Real x[L.n];",
        ),
        // Two classes of one name, and none.
        (
            "package L model A Real x = 1; end A; model A Real y = 2; end A; end L;",
            "L.A a;",
        ),
        (
            "package L end L; package L model A Real x = 1; end A; end L;",
            "L.A a;",
        ),
        ("package L end L;", "L.A a;"),
        ("package Other end Other;", "L.A a;"),
        ("", "L.A a;"),
        (
            "within Wrong; package L model A Real x = 1; end A; end L;",
            "L.A a;",
        ),
        // Too much of something.
        (
            "package L model A Real x[1000000] = fill(time, 1000000); end A; end L;",
            "L.A a;",
        ),
        (
            "package L model A Real x; equation x = time; end A; end L;",
            "L.A a[30000];",
        ),
        (
            "package L model A Real x[100000, 100000]; end A; end L;",
            "L.A a;",
        ),
        (
            "package L model A B b[200]; end A; model B C c[200]; end B; model C Real x = 1; end C; end L;",
            "L.A a;",
        ),
        (
            "package L connector C Real v; flow Real i; end C; model A C c[30000]; equation for i in 1:29999 loop connect(c[i], c[i + 1]); end for; end A; end L;",
            "L.A a;",
        ),
        (
            "package L function f input Integer n; output Real y; algorithm y := 0; while true loop y := y + 1; end while; end f; end L;",
            "parameter Real y = L.f(3); Real x = y;",
        ),
    ];
    for (library, component) in cases {
        with_library(library, &format!("model M {component} end M;"));
    }
}
