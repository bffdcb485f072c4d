//! What several tests share: points at which models are evaluated, and the binary.
#![allow(dead_code, reason = "each test uses a part of it")]

use daelight_expr::ExprId;
use daelight_lang::{Loaded, Model, Options, Symbol, load};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The model of a text that must be right.
pub fn model_of(name: &str, text: &str) -> Model {
    model_with(name, text, &[])
}

/// The same with parameters set.
pub fn model_with(name: &str, text: &str, set: &[&str]) -> Model {
    let options = Options {
        set: set.iter().map(|item| item.to_string()).collect(),
        ..Options::default()
    };
    let Loaded {
        model, diagnostics, ..
    } = load(name, text.as_bytes(), &options);
    model.unwrap_or_else(|| panic!("{name}: {diagnostics:#?}\n{text}"))
}

/// The text of a built-in model.
pub fn built_in(name: &str) -> &'static str {
    let found = daelight::built_in_models()
        .iter()
        .find(|model| model.name == name);
    found
        .unwrap_or_else(|| panic!("no built-in model {name}"))
        .text
}

/// The reference values of a built-in model.
pub fn expected(name: &str) -> Value {
    let path = root().join("models").join(name).join("expected.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A number, or a string of more digits than a double holds.
pub fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    }
}

/// Values of unknowns and their derivatives by name, and of time.
#[derive(Default, Clone)]
pub struct Point {
    pub time: f64,
    pub values: HashMap<(String, u32), f64>,
}

impl Point {
    pub fn set(&mut self, name: &str, order: u32, value: f64) {
        self.values.insert((name.to_string(), order), value);
    }

    /// The value of an expression of the model; `None` where the point lacks something.
    pub fn value(&self, model: &Model, expr: ExprId) -> Option<f64> {
        let mut complete = true;
        let value = model
            .graph
            .evaluate(&[expr], |id| match model.symbols.get(id) {
                Symbol::Time => self.time,
                Symbol::Parameter(index) => model.parameters[index].value,
                Symbol::Input { input, order: 0 } => match model.inputs[input].definition {
                    Some(definition) => self.value(model, definition).unwrap_or(f64::NAN),
                    None => f64::NAN,
                },
                Symbol::Input { .. } => f64::NAN,
                Symbol::Unknown { unknown, order } => {
                    let key = (model.unknowns[unknown].name.clone(), order);
                    self.values.get(&key).copied().unwrap_or_else(|| {
                        complete = false;
                        f64::NAN
                    })
                }
            })[0];
        complete.then_some(value)
    }

    /// A point with a value for every unknown and its first two derivatives.
    pub fn random(model: &Model, random: &mut Random) -> Point {
        let mut point = Point {
            time: random.between(0.1, 0.9),
            ..Point::default()
        };
        for unknown in &model.unknowns {
            for order in 0..3 {
                point.set(&unknown.name, order, random.between(0.2, 1.3));
            }
        }
        point
    }
}

/// Numbers that look random and are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Runs the built binary.
pub fn daelight(arguments: &[&str]) -> Output {
    daelight_with_input(arguments, b"")
}

/// Runs the built binary with a text on standard input.
pub fn daelight_with_input(arguments: &[&str], input: &[u8]) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_daelight"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // A command that does not read its input closes it; that is no failure.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("the binary ends")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// What a command ended with.
pub fn status(output: &Output) -> i32 {
    output.status.code().expect("ended by itself")
}

/// The JSON document that a command printed.
pub fn document(output: &Output) -> Value {
    let text = stdout(output);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}{}", stderr(output)))
}

/// Runs a command with `--json`: what it ended with, and its document.
pub fn json(arguments: &[&str]) -> (i32, Value) {
    json_of("", arguments)
}

/// The same with a model on standard input.
pub fn json_of(text: &str, arguments: &[&str]) -> (i32, Value) {
    let all = [arguments, &["--json"]].concat();
    let output = daelight_with_input(&all, text.as_bytes());
    let found = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{all:?}: {e}\n{}{}", stdout(&output), stderr(&output)));
    (status(&output), found)
}

/// Runs a command that ends with a code and says something on standard error.
pub fn assert_says(arguments: &[&str], code: i32, words: &str) -> Output {
    let output = daelight(arguments);
    let said = stderr(&output);
    assert_eq!(status(&output), code, "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}: {said}");
    output
}

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Times and the values of some columns of a run that was written as comma-separated text.
pub fn table(path: &Path, names: &[&str]) -> Vec<(f64, Vec<f64>)> {
    let text = std::fs::read_to_string(path).expect("the run was written");
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let place = |name: &str| head.iter().position(|h| *h == name).expect("a column");
    let columns: Vec<usize> = names.iter().map(|name| place(name)).collect();
    lines
        .map(|line| {
            let row: Vec<f64> = line
                .split(',')
                .map(|v| v.parse().expect("a number"))
                .collect();
            (row[0], columns.iter().map(|&c| row[c]).collect())
        })
        .collect()
}
