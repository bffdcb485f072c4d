//! Everything about a model in one record: what its text says, passport, start, run, singular configurations, and how to repeat
//! it. A stage that fails leaves its message in its place.
//!
//! The same model and options give the same record, unless a budget of time ends a stage.

use super::view::{illustrate, illustrate_events};
use super::{RunRefusal, model, outcome, refusal, singular, solve};
use crate::drawing::Drawing;
use crate::hybrid::{StartMode, equations_at_start, solve_hybrid};
use crate::{InitOptions, Place, SolveOptions, span_of_run, start_request};
use daelight_analysis::System;
use daelight_analysis::start::Outcome;
use daelight_integrate::implicit::Method;
use daelight_lang::{Diagnostic, Loaded, Model, Severity, SourceId, SourceMap};
use daelight_show::record::{
    AnalyzeRecord, FramedRecord, NoRunRecord, PageRecord, SingularRecord, SolveRecord, StartRecord,
};
use daelight_show::terminal::frame;
use daelight_show::unit_text;
use daelight_singular::{Kept, Question, SearchLimits};
use std::time::Duration;

/// What a page is made of.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// The model as it was named: a path or the name of a built-in model.
    pub model: String,
    /// What the text is read with.
    pub reading: daelight_lang::Options,
    /// The run.
    pub solve: SolveOptions,
    /// Whether there is to be one.
    pub with_run: bool,
    /// Most time for the passport and for the start, each.
    pub budget: Duration,
    /// Most time for the singular configurations.
    pub time_budget: Duration,
}

impl PageOptions {
    /// The page of a model with nothing changed; removable singularities are passed, so that all of a run is shown.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            reading: daelight_lang::Options::default(),
            solve: SolveOptions {
                continues: true,
                ..SolveOptions::default()
            },
            with_run: true,
            budget: Duration::from_secs(10),
            time_budget: Duration::from_secs(20),
        }
    }
}

/// Everything about a model that has been read.
pub fn page(loaded: &Loaded, options: &PageOptions) -> PageRecord {
    let messages = loaded.diagnostics.iter();
    let errors = messages.clone().filter(|d| d.severity == Severity::Error);
    let mut record = PageRecord {
        title: options.model.clone(),
        n_errors: errors.count(),
        messages: messages
            .chain(
                &loaded
                    .model
                    .as_ref()
                    .map_or_else(Vec::new, crate::own_units),
            )
            .map(|d| framed(d, &loaded.sources))
            .collect(),
        text: loaded.sources.get(SourceId(0)).text().to_string(),
        version: env!("CARGO_PKG_VERSION"),
        commands: commands(options),
        ..PageRecord::default()
    };
    let Some(text) = &loaded.model else {
        return record;
    };
    let system = crate::system(text);
    let unit = |unknown: usize| {
        system
            .as_ref()
            .map_or(String::new(), |s| unit_text(&s.unit(unknown)))
    };
    record.model = Some(model::model(text, unit));
    match system {
        Ok(system) => calculate(text, system, options, &mut record),
        Err(diagnostic) => record.passport = Some(Err(framed(&diagnostic, &text.sources))),
    }
    record.singular = Some(configurations(text, options));
    record
}

/// The parts that work with numbers.
fn calculate(text: &Model, system: System, options: &PageOptions, record: &mut PageRecord) {
    let at_start = equations_at_start(text, system.clone(), options.solve.from);
    match at_start.map_err(|diagnostic| framed(&diagnostic, &text.sources)) {
        Ok((here, start)) => {
            record.passport = Some(passport(&here, start.as_ref(), options));
            record.start = Some(consistent_start(text, (&here, start.as_ref()), options));
        }
        Err(said) => {
            record.passport = Some(Err(said.clone()));
            record.start = Some(Err(said));
        }
    }
    if !options.with_run {
        return;
    }
    if text.hybrid.is_some() {
        record.run = Some(run_with_events(text, &system, options));
        return;
    }
    // A linear model with free unknowns is run with what `--free` says, in equations of its own.
    let (system, notes) = match crate::settled(&system, span_of_run(&system, &options.solve)) {
        Ok(Some((square, said))) => (square, said),
        Ok(None) | Err(_) => (system, Vec::new()),
    };
    record.run = Some(run(text, &system, options, notes));
}

fn passport(
    system: &System,
    start: Option<&StartMode>,
    options: &PageOptions,
) -> Result<AnalyzeRecord, FramedRecord> {
    let place = Place {
        budget: Some(options.budget),
        ..options.solve.place.clone()
    };
    let passport = crate::analyze(system, &place)
        .map_err(|diagnostic| framed(&diagnostic, system.sources()))?;
    let mut record = super::analyze(system, &passport, false);
    record.warnings.extend(start.map(super::start_conditions));
    Ok(record)
}

fn consistent_start(
    text: &Model,
    (system, start): (&System, Option<&StartMode>),
    options: &PageOptions,
) -> Result<StartRecord, FramedRecord> {
    let said = |diagnostic: Diagnostic| framed(&diagnostic, system.sources());
    let wanted = InitOptions {
        at: options.solve.from,
        point: options.solve.place.point.clone(),
        order: 1,
        all: false,
        nearest_regular: false,
        budget: options.budget,
    };
    let request = start_request(system, &wanted).map_err(|diagnostic| said(*diagnostic))?;
    let found = crate::start(system, &request);
    let mut record =
        outcome(system, &request, &found).map_err(|no_start| said(no_start.diagnostic))?;
    if let Some(start) = start {
        super::add_discrete_start(&mut record, start);
    }
    if let Outcome::Found(found) = found {
        let point = &found.point;
        record.scene = Drawing::of(text).and_then(|drawing| {
            let value = |unknown, order: u32| point.jet.derivative(unknown, order as usize);
            let frame = drawing.frame(point.time, value);
            drawing.scene(vec![point.time], vec![frame], &[])
        });
    }
    Ok(record)
}

fn run(
    text: &Model,
    system: &System,
    options: &PageOptions,
    notes: Vec<String>,
) -> Result<SolveRecord, NoRunRecord> {
    match crate::solve(system, &options.solve) {
        Ok(solution) => {
            let mut record = solve(system, &solution, None);
            record.warnings.extend(notes);
            crate::add_other_starts(&mut record, system, &options.solve, &solution);
            illustrate(&mut record, text, system, &solution);
            Ok(record)
        }
        Err(no_run) => Err(refused(system, no_run, options)),
    }
}

/// The run of a model with events.
fn run_with_events(
    text: &Model,
    system: &System,
    options: &PageOptions,
) -> Result<SolveRecord, NoRunRecord> {
    let solution = solve_hybrid(text, system, &options.solve).map_err(|(mode, no_run)| {
        let system = mode.as_deref().unwrap_or(system);
        refused(system, no_run, options)
    })?;
    let mut record = super::hybrid(text, &solution, None);
    illustrate_events(&mut record, text, system, &solution);
    Ok(record)
}

fn refused(system: &System, no_run: crate::NoRun, options: &PageOptions) -> NoRunRecord {
    match refusal(system, no_run, &options.model) {
        RunRefusal::Diagnostic(diagnostic) => {
            NoRunRecord::Framed(framed(&diagnostic, system.sources()))
        }
        RunRefusal::Said { message, help, .. } => NoRunRecord::Said { message, help },
    }
}

fn configurations(text: &Model, options: &PageOptions) -> Result<SingularRecord, Vec<Vec<String>>> {
    let question = Question {
        on_curves: false,
        paths_locked: false,
        parameters: Kept::None,
        locked: Vec::new(),
    };
    let limits = SearchLimits {
        time: options.time_budget,
        ..SearchLimits::default()
    };
    let said = |diagnostic: Diagnostic| {
        let mut said = diagnostic.notes;
        said.insert(0, diagnostic.message);
        said
    };
    match crate::singular(text, &question, &limits, &|_| {}) {
        Ok(answer) => Ok(singular(text, &answer)),
        Err(diagnostics) => Err(diagnostics.into_iter().map(said).collect()),
    }
}

/// A diagnostic, framed as on a terminal.
fn framed(diagnostic: &Diagnostic, sources: &SourceMap) -> FramedRecord {
    FramedRecord {
        is_error: diagnostic.severity == Severity::Error,
        label: format!("{} {}", diagnostic.severity.word(), diagnostic.code.word()),
        code: diagnostic.code.word(),
        text: frame(diagnostic, sources, false),
    }
}

/// The commands that repeat a page.
fn commands(options: &PageOptions) -> Vec<String> {
    let solve = &options.solve;
    let reading = &options.reading;
    let mut model = vec![options.model.clone()];
    if let Some(name) = &reading.model {
        model.extend(["--model".to_string(), name.clone()]);
    }
    for set in &reading.set {
        model.extend(["--set".to_string(), set.clone()]);
    }
    for free in &reading.free {
        model.extend(["--free".to_string(), free.clone()]);
    }
    let mut run = Vec::new();
    let mut give = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            run.extend([name.to_string(), value]);
        }
    };
    give("--to", solve.to.map(|time| time.to_string()));
    give("--rtol", solve.rtol.map(|value| format!("{value:e}")));
    let method = solve.method.map(|method| match method {
        Method::Taylor => "taylor",
        Method::Radau => "radau",
        Method::Bdf => "bdf",
    });
    give("--method", method.map(str::to_string));
    let on_singularity = if solve.continues { "continue" } else { "stop" };
    give("--on-singularity", Some(on_singularity.to_string()));
    let seconds = |duration: Duration| format!("{}s", duration.as_secs_f64());
    let time_budget = ["--time-budget".to_string(), seconds(options.time_budget)];
    let mut all = [model.clone(), run.clone(), time_budget.to_vec()].concat();
    if !options.with_run {
        all.push("--no-run".to_string());
    }
    let name = options.model.rsplit(['/', '\\']).next().unwrap_or("model");
    let stem = name.strip_suffix(".mo").unwrap_or(name);
    let stem = if stem == "-" { "page" } else { stem };
    all.extend(["--out".to_string(), format!("{stem}.html")]);
    let mut commands = vec![command("report", &all), command("check", &model)];
    commands.push(command("analyze", &model));
    commands.push(command("init", &model));
    if options.with_run {
        commands.push(command("solve", &[model.clone(), run].concat()));
    }
    commands.push(command("singular", &[model, time_budget.to_vec()].concat()));
    commands
}

/// A command as a shell reads it.
fn command(name: &str, arguments: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = arguments.iter().map(|argument| {
        if !argument.is_empty() && argument.chars().all(is_plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    });
    let words: Vec<String> = quoted.collect();
    format!("daelight {name} {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_written_as_a_shell_reads_them() {
        let arguments = ["a b.mo", "--set", "a[1]=0.03", "it's"].map(str::to_string);
        assert_eq!(
            command("solve", &arguments),
            r"daelight solve 'a b.mo' --set 'a[1]=0.03' 'it'\''s'"
        );
    }
}
