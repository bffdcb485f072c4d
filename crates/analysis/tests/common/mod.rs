//! Models of the library, points near their start, and random numbers.
#![allow(dead_code, reason = "each test uses a part")]

use daelight_analysis::System;
use daelight_lang::{Model, Options, load};
use serde_json::Value;
use std::path::PathBuf;

/// Names and texts of all models of the library.
pub fn library() -> Vec<(String, String)> {
    let mut models: Vec<(String, String)> = std::fs::read_dir(folder())
        .expect("the library is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.to_string(), text(&name))
        })
        .collect();
    models.sort();
    assert!(models.len() > 15, "the library has many models");
    models
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// The text of one model of the library.
pub fn text(name: &str) -> String {
    let files = std::fs::read_dir(folder().join(name)).expect("the model is there");
    let path = files
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|e| e == "mo"))
        .expect("a Modelica file");
    std::fs::read_to_string(path).expect("a text")
}

/// The expected answers of one model of the library.
pub fn expected(name: &str) -> Value {
    let path = folder().join(name).join("expected.json");
    let text = std::fs::read_to_string(path).expect("a text");
    serde_json::from_str(&text).expect("JSON")
}

/// Times and coefficients x_k = x^(k)/k! of the solutions listed with a model, `[order][unknown]`.
pub fn solutions(name: &str, system: &System, n_orders: usize) -> Vec<(f64, Vec<Vec<f64>>)> {
    let expected = expected(name);
    let number = |value: &Value| -> f64 { value.as_str().expect("digits").parse().expect("f64") };
    let listed = expected["solution"].as_array().expect("a list");
    let with_derivatives = listed.iter().filter(|s| s["derivatives"].is_object());
    with_derivatives
        .map(|solution| {
            let mut factorial = 1.0;
            let rows = (0..n_orders)
                .map(|order| {
                    factorial *= f64::max(order as f64, 1.0);
                    let derivative = |name: &str| number(&solution["derivatives"][name][order]);
                    let unknowns = system.unknowns().iter();
                    unknowns.map(|u| derivative(&u.name) / factorial).collect()
                })
                .collect();
            (number(&solution["time"]), rows)
        })
        .collect()
}

/// A model of the library with parameters set.
pub fn library_model(name: &str, set: &[String]) -> Model {
    model(&text(name), set)
}

/// Elaborates a text with parameters set.
pub fn model(text: &str, set: &[String]) -> Model {
    let options = Options {
        set: set.to_vec(),
        ..Options::default()
    };
    let loaded = load("model.mo", text.as_bytes(), &options);
    let messages: Vec<&String> = loaded.diagnostics.iter().map(|d| &d.message).collect();
    loaded
        .model
        .unwrap_or_else(|| panic!("the text is right: {messages:?}"))
}

/// The system of a text.
pub fn system(text: &str) -> System {
    System::new(&model(text, &[])).expect("a system")
}

/// Repeatable random numbers (xorshift64*).
pub struct Random(pub u64);

impl Random {
    /// A number between -1 and 1.
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        bits as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A number between 0 and 1.
    pub fn share(&mut self) -> f64 {
        (self.next() + 1.0) / 2.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((self.share() * n as f64) as usize).min(n - 1)
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The scale of each unknown: its start value and its typical magnitude.
pub fn scales(system: &System) -> Vec<f64> {
    system
        .unknowns()
        .iter()
        .map(|unknown| {
            let start = unknown.start.unwrap_or(0.0).abs();
            start.max(0.1 * unknown.nominal.unwrap_or(1.0)).min(1e3)
        })
        .collect()
}

/// Random coefficients near the start values, where the models of the library are defined.
pub fn random_jet(system: &System, n_orders: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let scales = scales(system);
    (0..n_orders)
        .map(|order| {
            let unknowns = system.unknowns().iter().zip(&scales);
            unknowns
                .map(|(unknown, &scale)| {
                    let start = if order == 0 {
                        unknown.start.unwrap_or(0.0)
                    } else {
                        0.0
                    };
                    start + 0.3 * random.next() * scale.min(start.abs().max(0.1))
                })
                .collect()
        })
        .collect()
}

/// A time of the experiment that is no switching point.
pub fn time(system: &System) -> f64 {
    let experiment = system.experiment();
    let start = experiment.start_time.unwrap_or(0.0);
    let stop = experiment.stop_time.unwrap_or(start + 1.0);
    start + 0.37 * (stop - start)
}
