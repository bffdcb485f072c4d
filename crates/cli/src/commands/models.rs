//! Reading the model of a command, and saying what is wrong where it cannot be read.

use crate::cli::ModelArgs;
use crate::terminal::{Status, Terminal};
use daelight::InputColumn;
use daelight::Relations;
use daelight::hybrid::{StartMode, equations_at_start};
use daelight_analysis::System;
use daelight_lang::{Diagnostic, Hybrid, Loaded, Model, Options, SourceMap};
use daelight_show::record::{CheckRecord, to_json};

/// The word of `--free` that asks for the smallest free part.
const LEAST_NORM: &str = "least-norm";

pub fn asks_for_least_norm(arguments: &ModelArgs) -> bool {
    arguments.free.iter().any(|item| item == LEAST_NORM)
}

pub fn options(arguments: &ModelArgs) -> Options {
    Options {
        model: arguments.class.clone(),
        set: arguments.set.clone(),
        free: arguments
            .free
            .iter()
            .filter(|item| *item != LEAST_NORM)
            .cloned()
            .collect(),
        files: Some(daelight::library_folders(
            &arguments.library,
            &arguments.model,
        )),
        ..Options::default()
    }
}

/// Reads a model for a command that works with its equations; says what is wrong where it cannot.
pub fn load_system(
    arguments: &ModelArgs,
    (at, relations): (Option<f64>, Relations),
    terminal: &Terminal,
) -> Result<System, Status> {
    let (loaded, driven) = load_driven(arguments, &[], (None, relations), at, terminal)?;
    daelight::without_events(driven.system.hybrid())
        .map_err(|diagnostic| terminal.refuse(*diagnostic, &loaded.sources))?;
    Ok(driven.system)
}

/// The same where a model may have events: the equations that hold at its start, and what is discrete there.
pub fn load_at_start(
    arguments: &ModelArgs,
    at: Option<f64>,
    terminal: &Terminal,
) -> Result<(System, Option<StartMode>), Status> {
    let (loaded, driven) = load_driven(arguments, &[], (None, Relations::Modes), at, terminal)?;
    let model = loaded.model.as_ref().ok_or(fault_status(&loaded))?;
    equations_at_start(model, driven.system, at)
        .map_err(|diagnostic| terminal.refuse(*diagnostic, &loaded.sources))
}

/// A model and its events, if it has them.
pub fn with_events(loaded: &Loaded) -> Option<(&Model, &Hybrid)> {
    let model = loaded.model.as_ref()?;
    Some((model, model.hybrid.as_deref()?))
}

/// An expression that is given beside a model.
#[derive(Clone, Copy)]
pub enum Number<'a> {
    /// Where a run ends.
    StopWhen(&'a str),
    /// What is differentiated.
    Gradient(&'a str),
}

impl<'a> Number<'a> {
    fn text(self) -> &'a str {
        let (Self::StopWhen(text) | Self::Gradient(text)) = self;
        text
    }
}

/// Reads the text of a model; says what is wrong where it cannot.
pub fn load_model(
    arguments: &ModelArgs,
    relations: Relations,
    terminal: &Terminal,
) -> Result<Loaded, Status> {
    load_with(arguments, (None, relations), terminal)
}

/// The same, where relations may be conditions of modes.
fn load_with(
    arguments: &ModelArgs,
    (number, relations): (Option<Number<'_>>, Relations),
    terminal: &Terminal,
) -> Result<Loaded, Status> {
    let options = Options {
        stop_when: number.map(|number| number.text().to_string()),
        gradient: match number {
            Some(Number::Gradient(_)) => Some(daelight_lang::GRADIENT),
            _ => None,
        },
        ..options(arguments)
    };
    let loaded = match daelight::load_with(&arguments.model, &options, relations) {
        Ok(loaded) => loaded,
        Err(diagnostic) => {
            tell_in_json(
                arguments,
                &[*diagnostic.clone()],
                &SourceMap::default(),
                terminal,
            )?;
            terminal.show(&[*diagnostic], &SourceMap::default());
            return Err(Status::WrongUsage);
        }
    };
    if loaded.model.is_none() {
        tell_in_json(arguments, &loaded.diagnostics, &loaded.sources, terminal)?;
    }
    terminal.show(&loaded.diagnostics, &loaded.sources);
    Ok(loaded)
}

/// With `--json`, what is wrong with a text as the document that `check --json` prints.
fn tell_in_json(
    arguments: &ModelArgs,
    diagnostics: &[Diagnostic],
    sources: &SourceMap,
    terminal: &Terminal,
) -> Result<(), Status> {
    if arguments.json {
        let record = CheckRecord::new(false, diagnostics, sources);
        terminal.answer(to_json(&record).as_bytes(), None)?;
    }
    Ok(())
}

/// The same with inputs from files and a condition that ends runs.
pub fn load_driven(
    arguments: &ModelArgs,
    inputs: &[String],
    number: (Option<Number<'_>>, Relations),
    at: Option<f64>,
    terminal: &Terminal,
) -> Result<(Loaded, daelight::Driven), Status> {
    let loaded = load_with(arguments, number, terminal)?;
    let model = loaded.model.as_ref().ok_or(fault_status(&loaded))?;
    let at_fault = |diagnostic: Box<Diagnostic>| terminal.refuse(*diagnostic, &loaded.sources);
    let columns = inputs.iter().map(|text| {
        InputColumn::read(model, text).map_err(|diagnostic| {
            match (text.contains('='), diagnostic) {
                (true, diagnostic) => at_fault(diagnostic),
                (false, diagnostic) => {
                    at_fault(diagnostic);
                    Status::WrongUsage
                }
            }
        })
    });
    let columns: Vec<InputColumn> = columns.collect::<Result<_, _>>()?;
    let mut driven = daelight::drive(model, &columns).map_err(at_fault)?;
    if asks_for_least_norm(arguments) {
        if !inputs.is_empty() || number.0.is_some() {
            return Err(terminal.not_rectangular());
        }
        let system = &driven.system;
        let time = at.or(system.experiment().start_time).unwrap_or(0.0);
        if let Some(joined) = daelight::least_norm(system, time).map_err(at_fault)? {
            driven.system = joined;
        }
    }
    Ok((loaded, driven))
}

/// Whether the model or its values are at fault, or how the command was written.
pub fn fault_status(loaded: &Loaded) -> Status {
    if loaded.usage_is_wrong() {
        Status::WrongUsage
    } else {
        Status::ModelAtFault
    }
}

/// Refuses a time of `--at` that is none.
pub fn refuse_time(at: Option<f64>, terminal: &Terminal) -> Result<(), Status> {
    match at.filter(|time| !time.is_finite()) {
        Some(time) => Err(terminal.usage(
            &format!("--at {time} is not a time"),
            "give a finite number",
        )),
        None => Ok(()),
    }
}
