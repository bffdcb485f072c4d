//! Models for the tests.
#![allow(dead_code, reason = "each test uses a part of it")]

use daelight_lang::{Model, Options, load};

/// The model of a text.
pub fn model(text: &str) -> Model {
    read("test.mo", text, &[])
}

/// A model of the library, with parameters set.
pub fn library(name: &str, set: &[String]) -> Model {
    let folder = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_dir(&folder)
        .expect("the library has the model")
        .map(|entry| entry.expect("a file").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "mo"))
        .expect("a Modelica text");
    let text = std::fs::read_to_string(file).expect("the text can be read");
    read(name, &text, set)
}

fn read(name: &str, text: &str, set: &[String]) -> Model {
    let options = Options {
        set: set.to_vec(),
        ..Options::default()
    };
    let loaded = load(name, text.as_bytes(), &options);
    loaded
        .model
        .unwrap_or_else(|| panic!("{name}: {:?}", loaded.diagnostics))
}
