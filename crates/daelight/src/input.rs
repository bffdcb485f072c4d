//! Where a model's text comes from: a file, the library, or standard input.

use crate::built_in::built_in_models;
use crate::parts::parts_examples;
use daelight_lang::{Code, Diagnostic, Loaded, MAX_SOURCE_BYTES, nearest};
use std::io::Read;
use std::path::Path;

/// The text of a model and the name under which messages speak of it.
#[derive(Clone, Debug)]
pub struct ModelText {
    /// A path, the name of a built-in model, or `<stdin>`.
    pub name: String,
    /// The text, not yet known to be UTF-8.
    pub bytes: Vec<u8>,
}

/// The text behind `MODEL`. The library comes first: `./pendulum` names a file.
pub fn find_text(model: &str) -> Result<ModelText, Box<Diagnostic>> {
    if model == "-" {
        return read("<stdin>", std::io::stdin().lock());
    }
    if let Some(built_in) = built_in_models()
        .iter()
        .find(|built_in| built_in.name == model)
    {
        return Ok(ModelText {
            name: model.to_string(),
            bytes: built_in.text.as_bytes().to_vec(),
        });
    }
    let path = Path::new(model);
    if path.is_dir() {
        return Err(
            Diagnostic::placeless(Code::UnreadableFile, format!("`{model}` is a folder"))
                .help("name a .mo file in it")
                .into(),
        );
    }
    if let Some(what) = other_kind(path).filter(|_| path.is_file()) {
        let message = format!("`{model}` is {what}, not a model");
        let diagnostic = Diagnostic::placeless(Code::UnreadableFile, message);
        return Err(diagnostic.help("name a .mo file").into());
    }
    match std::fs::File::open(path) {
        Ok(file) => read(model, file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(unknown(model).into()),
        Err(error) => Err(unreadable(model, &error).into()),
    }
}

/// What a file that cannot be a model is, by the end of its name.
fn other_kind(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "png" | "svg" | "jpg" | "jpeg" | "gif" => Some("a picture"),
        "csv" | "parquet" => Some("a table"),
        "html" | "htm" => Some("a page"),
        "pdf" => Some("a document"),
        _ => None,
    }
}

fn read(name: &str, from: impl Read) -> Result<ModelText, Box<Diagnostic>> {
    let mut bytes = Vec::new();
    // One byte more than allowed, so that too much is seen as too much.
    match from
        .take(MAX_SOURCE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
    {
        Ok(_) => Ok(ModelText {
            name: name.to_string(),
            bytes,
        }),
        Err(error) => Err(unreadable(name, &error).into()),
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::placeless(
        Code::UnreadableFile,
        format!("`{name}` cannot be read: {error}"),
    )
    .help("check the path and its permissions")
}

fn unknown(model: &str) -> Diagnostic {
    let parts = parts_examples();
    let names = built_in_models().iter().map(|built_in| built_in.name);
    let names = names.chain(parts.iter().map(|example| example.name.as_str()));
    let is_path = model.contains('/') || model.ends_with(".mo");
    let beside = Path::new(model)
        .parent()
        .filter(|folder| folder.is_dir() || folder.as_os_str().is_empty());
    let near_file = beside.and_then(|folder| nearest_file(folder, model));
    let with_ending = format!("{model}.mo");
    let help = match (near_file, nearest(model, names)) {
        _ if Path::new(&with_ending).is_file() => format!("did you mean {with_ending}?"),
        (Some(near), _) => format!("did you mean {near}?"),
        (None, Some(near)) if !is_path => format!("did you mean the built-in model {near}?"),
        _ if is_path => "check the path".to_string(),
        _ if model.contains('.') => format!(
            "give the folder that holds `{}` with --library, or MODELICAPATH",
            model.split('.').next().unwrap_or(model)
        ),
        _ => "name a .mo file, or see `daelight examples`".to_string(),
    };
    let message = if is_path {
        format!("there is no file `{model}`")
    } else {
        format!("`{model}` is neither a file nor a built-in model")
    };
    Diagnostic::placeless(Code::UnknownModel, message).help(help)
}

/// Says that a library has no class of the name that was given for a model: the text around it is not the user's.
pub fn unknown_class(model: &str, loaded: &Loaded) -> Option<Diagnostic> {
    let is_it = |found: &&Diagnostic| {
        found.code == Code::UnknownType && found.message.starts_with(&format!("`{model}` is not"))
    };
    let found = loaded.diagnostics.iter().find(is_it)?;
    let first = model.split('.').next().unwrap_or(model);
    let examples = parts_examples();
    let near = nearest(model, examples.iter().map(|example| example.name.as_str()));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => found.help.clone().unwrap_or_default(),
    };
    let message = format!("the library `{first}` has no class `{model}`");
    Some(Diagnostic::placeless(Code::UnknownModel, message).help(help))
}

/// A Modelica file with a similar name in the same folder.
fn nearest_file(folder: &Path, model: &str) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let wanted = Path::new(model).file_name()?.to_str()?.to_string();
    let names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .take(1000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".mo"))
        .collect();
    let wanted = match wanted.contains('.') {
        true => wanted,
        false => format!("{wanted}.mo"),
    };
    let near = nearest(&wanted, names.iter().map(String::as_str))?.to_string();
    let near_path = Path::new(model).with_file_name(near);
    near_path.to_str().map(str::to_string)
}
