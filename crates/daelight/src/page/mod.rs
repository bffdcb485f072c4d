//! Everything about a model on one page: equations, passport, start, run, singularities, singular configurations, and how to repeat
//! it. A stage that fails leaves its message in its place.
//!
//! The same model and options give the same page, byte for byte, unless a budget of time ends a stage.

mod equations;
mod passport;
mod run;
mod singular;
mod sketch;
mod start;

use crate::{SolveOptions, span_of_run};
use daelight_analysis::System;
use daelight_integrate::implicit::Method;
use daelight_lang::{Diagnostic, Loaded, Model, Severity, SourceMap};
use daelight_show::count;
use daelight_show::page::{Block, Fact, Page, Section, Span, Tone};
use daelight_show::terminal::frame;
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

/// Makes the page of a model. Fails only when there is no text; a model with mistakes has a page that shows them.
pub fn model_page(options: &PageOptions) -> Result<Page, Box<Diagnostic>> {
    let loaded = crate::load(&options.model, &options.reading)?;
    Ok(page_of(&loaded, options))
}

/// The page of a model that has been read.
pub fn page_of(loaded: &Loaded, options: &PageOptions) -> Page {
    let mut page = Page::new(options.model.clone());
    page.footer = format!("Made by daelight {}.", env!("CARGO_PKG_VERSION"));
    if !loaded.diagnostics.is_empty() {
        page.sections.push(messages(loaded));
    }
    match &loaded.model {
        Some(model) => describe(model, options, &mut page),
        None => {
            let errors = loaded.diagnostics.iter();
            let n = errors.filter(|d| d.severity == Severity::Error).count();
            page.facts.push(Fact {
                name: "Model".to_string(),
                value: "not understood".to_string(),
                remark: count(n, "error"),
                tone: Tone::Bad,
            });
            page.sections.extend(equations::source(&loaded.sources));
        }
    }
    page.sections.push(repetition(options));
    page
}

/// The sections of a model without mistakes.
fn describe(model: &Model, options: &PageOptions, page: &mut Page) {
    page.title = model.name.clone();
    page.lead = model.comment.clone();
    page.facts.push(Fact {
        name: "Model".to_string(),
        value: count(model.equations.len(), "equation"),
        remark: format!("for {}", count(model.unknowns.len(), "unknown")),
        tone: Tone::Plain,
    });
    page.sections.push(equations::section(model));
    match crate::system(model) {
        Ok(system) => calculate(model, system, options, page),
        Err(diagnostic) => {
            let section = Section::new("passport", "Passport");
            page.sections
                .push(section.block(refusal(&diagnostic, &model.sources)));
        }
    }
    let found = singular::section(model, options);
    page.facts.extend(found.fact);
    page.sections.push(found.section);
}

/// The sections that work with numbers.
fn calculate(model: &Model, system: System, options: &PageOptions, page: &mut Page) {
    let passport = passport::sections(&system, options);
    page.facts.extend(passport.fact);
    page.sections.extend(passport.sections);
    let start = start::section(model, &system, options);
    page.sections.push(start.section);
    if !options.with_run {
        if let Some(picture) = start.picture {
            let section = Section::new("drawing", "Drawing");
            page.sections.push(section.block(picture));
        }
        return;
    }
    // A linear model with free unknowns is run with what `--free` says, in equations of its own.
    let mut notes = Vec::new();
    let system = match crate::settled(&system, span_of_run(&system, &options.solve)) {
        Ok(Some((square, said))) => {
            notes = said;
            square
        }
        Ok(None) | Err(_) => system,
    };
    let run = run::sections(model, &system, options, notes);
    page.facts.extend(run.facts);
    let has_film = run.has_film;
    page.sections.extend(run.sections);
    if let (false, Some(picture)) = (has_film, start.picture) {
        let section = Section::new("drawing", "Drawing");
        page.sections.push(section.block(picture));
    }
}

/// What was said when the model was read.
fn messages(loaded: &Loaded) -> Section {
    let mut section = Section::new("messages", "Messages");
    for diagnostic in &loaded.diagnostics {
        section.blocks.push(refusal(diagnostic, &loaded.sources));
    }
    section
}

/// A diagnostic in a box, framed as on a terminal.
fn refusal(diagnostic: &Diagnostic, sources: &SourceMap) -> Block {
    let tone = match diagnostic.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Warning,
    };
    let text = frame(diagnostic, sources, false);
    let label = format!("{} {}", diagnostic.severity.word(), diagnostic.code.word());
    Block::Notice {
        tone,
        blocks: vec![Block::code(label, text.trim_end())],
    }
}

/// With a capital letter.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// What a command prints, word for word; paper has the same in the tables.
fn verbatim(command: &str, text: String) -> Block {
    let summary = format!("As printed by daelight {command}");
    let code = Block::code(summary.clone(), text.trim_end());
    Block::Details {
        summary,
        blocks: vec![code],
        is_printed: false,
    }
}

/// Sentences with a heading, if there are any.
fn remarks(sentences: &[String], section: &mut Section) {
    if sentences.is_empty() {
        return;
    }
    section.blocks.push(Block::Heading("Remarks".to_string()));
    let items = sentences.iter().map(|text| Span::sentence(text));
    section.blocks.push(Block::List(items.collect()));
}

/// Version, options and commands.
fn repetition(options: &PageOptions) -> Section {
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
    let mut section = Section::new("repeat", "How to repeat it");
    let version = format!(
        "daelight {}, with the options that the first command spells out. The others print the sections one by one.",
        env!("CARGO_PKG_VERSION")
    );
    section.blocks.push(Block::text(version));
    let mut text = commands.join("\n");
    text.push('\n');
    section
        .blocks
        .push(Block::code("Commands that repeat this page", text));
    section
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

/// A unit as people write it: `N·m`, `m/s²`.
fn unit_text(unit: &str) -> String {
    let mut text = String::new();
    let mut last = ' ';
    for character in unit.chars() {
        let raised = match character {
            '2' => '²',
            '3' => '³',
            other => other,
        };
        match character {
            '.' => text.push('·'),
            '2' | '3' if last.is_ascii_alphabetic() => text.push(raised),
            _ => text.push(character),
        }
        last = character;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_commands_are_written_as_usual() {
        for (unit, text) in [
            ("N.m", "N·m"),
            ("m/s2", "m/s²"),
            ("kg.m2", "kg·m²"),
            ("1", "1"),
        ] {
            assert_eq!(unit_text(unit), text);
        }
        let arguments = ["a b.mo", "--set", "a[1]=0.03", "it's"].map(str::to_string);
        assert_eq!(
            command("solve", &arguments),
            r"daelight solve 'a b.mo' --set 'a[1]=0.03' 'it'\''s'"
        );
    }
}
