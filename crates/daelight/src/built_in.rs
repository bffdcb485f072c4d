//! The model library, built into the program.

/// A model of the library.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The name of its folder in `models/`.
    pub name: &'static str,
    /// Its Modelica text.
    pub text: &'static str,
    /// Its answers known beforehand, as JSON (`models/README.md`).
    pub expected: &'static str,
}

impl BuiltIn {
    /// The comment of its model: what it describes.
    pub fn description(&self) -> String {
        let loaded = daelight_lang::load(self.name, self.text.as_bytes(), &Default::default());
        loaded.model.map(|model| model.comment).unwrap_or_default()
    }
}

include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// All models of the library, by name.
pub fn built_in_models() -> &'static [BuiltIn] {
    BUILT_IN
}
