//! From a model to the bytes of an FMU.

use crate::description::{Version, description, identifier};
use crate::engine::{EngineLibrary, platforms};
use crate::resources::Prepared;
use crate::variables::{Interface, PortKind};
use daelight_show::zip::zip;

/// An FMU, and what it is.
pub struct Fmu {
    /// The archive.
    pub bytes: Vec<u8>,
    /// How many parameters can be set, inputs, outputs, and other variables it has.
    pub counts: [usize; 4],
    /// Whether it is for model exchange too.
    pub has_exchange: bool,
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
    let interface = Interface::new(model, &system);
    let ports = &interface.ports;
    let token = prepared.resources.token();
    let xml = description((model, &system), &interface, &token, version);
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
        has_exchange: interface.states.is_ok(),
        notes: notes(model, &interface),
    })
}

/// Why it is not for model exchange, and inputs that the model differentiates.
fn notes(model: &daelight_lang::Model, interface: &Interface) -> Vec<String> {
    let mut notes = Vec::new();
    if let Err(why) = &interface.states {
        notes.push(format!("The FMU is for co-simulation alone: {why}."));
    }
    let inputs = model.inputs.iter().zip(&interface.orders);
    notes.extend(inputs.filter(|(_, order)| **order > 0).map(|(input, order)| {
        let times = match order {
            1 => "once".to_string(),
            order => format!("{order} times"),
        };
        format!(
            "The model differentiates the input `{}` {times}: a value that jumps between steps is told with a warning, and its derivatives count (fmi2SetRealInputDerivatives).",
            input.name
        )
    }));
    notes
}
