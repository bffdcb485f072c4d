//! From a model to the bytes of an FMU.

use crate::description::{Version, description, identifier};
use crate::engine::{EngineLibrary, platforms};
use crate::resources::Prepared;
use crate::variables::{PortKind, ports};
use daelight_show::zip::zip;

/// An FMU, and what it is.
pub struct Fmu {
    /// The archive.
    pub bytes: Vec<u8>,
    /// How many parameters can be set, inputs, outputs, and other variables it has.
    pub counts: [usize; 4],
    /// What to know about it.
    pub notes: Vec<String>,
}

/// Makes an FMU of a model that was read without mistakes.
pub fn export(
    prepared: &Prepared,
    engine: &EngineLibrary,
    version: Version,
) -> Result<Fmu, String> {
    let model = prepared.loaded.model.as_ref();
    let model = model.ok_or("the model has mistakes; `daelight check` tells them")?;
    let system = daelight::system(model).map_err(|diagnostic| diagnostic.message)?;
    let ports = ports(model, &system);
    let token = prepared.resources.token();
    let xml = description((model, &system), &ports, &token, version);
    let ([two, three], ending) = platforms()?;
    let folder = match version {
        Version::Two => two,
        Version::Three => three,
    };
    let binary = format!("binaries/{folder}/{}{ending}", identifier(&model.name));
    let mut files = vec![
        (binary, engine.bytes.clone()),
        ("modelDescription.xml".to_string(), xml.into_bytes()),
    ];
    let resources = prepared.resources.files().into_iter();
    files.extend(resources.map(|(name, bytes)| (format!("resources/{name}"), bytes)));
    let count = |causality| ports.iter().filter(|s| s.causality == causality).count();
    let shown = [PortKind::Parameter, PortKind::Input, PortKind::Output].map(count);
    Ok(Fmu {
        bytes: zip(&files, true),
        counts: [
            shown[0],
            shown[1],
            shown[2],
            ports.len() - shown.iter().sum::<usize>(),
        ],
        notes: notes(model),
    })
}

/// Inputs that the model differentiates, which an importer has to know.
fn notes(model: &daelight_lang::Model) -> Vec<String> {
    let all: Vec<usize> = (0..model.inputs.len()).collect();
    let Ok(orders) = daelight::times_differentiated(model, &all) else {
        return Vec::new();
    };
    let named = model
        .inputs
        .iter()
        .zip(orders)
        .filter(|(_, order)| *order > 0);
    named
        .map(|(input, order)| {
            format!(
                "The model differentiates the input `{}` {}: a value that jumps between steps is told with a warning, and its derivatives count (fmi2SetRealInputDerivatives).",
                input.name,
                if order == 1 { "once".to_string() } else { format!("{order} times") }
            )
        })
        .collect()
}
