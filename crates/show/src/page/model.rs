//! Everything about a model on one page: equations, passport, start, run, singularities, singular configurations, and how to repeat
//! it. A stage that failed leaves its message in its place.

use super::{
    Element, Fact, Mood, Page, Section, equations, framed, passport, run, singular, start,
};
use crate::record::{ModelRecord, PageRecord};
use crate::words::count;

/// The page of a model.
pub fn model(record: &PageRecord) -> Page {
    let mut page = Page::new(record.title.clone());
    page.footer = format!("Made by daelight {}.", record.version);
    if !record.messages.is_empty() {
        let mut section = Section::new("messages", "Messages");
        section.blocks.extend(record.messages.iter().map(framed));
        page.sections.push(section);
    }
    match &record.model {
        Some(model) => describe(model, record, &mut page),
        None => {
            page.facts.push(Fact {
                name: "Model".to_string(),
                value: "not understood".to_string(),
                remark: count(record.n_errors, "error"),
                tone: Mood::Bad,
            });
            page.sections.extend(equations::source(&record.text));
        }
    }
    page.sections.push(repetition(record));
    page
}

/// The sections of a model without mistakes: answers first, then what they rest on, the equations last.
fn describe(model: &ModelRecord, record: &PageRecord, page: &mut Page) {
    page.title = model.name.clone();
    page.lead = model.comment.clone();
    page.facts.push(Fact {
        name: "Model".to_string(),
        value: count(model.n_equations, "equation"),
        remark: format!("for {}", count(model.n_unknowns, "unknown")),
        tone: Mood::Plain,
    });
    // A mechanism without a drive has nothing to run, and nothing is wrong with it.
    let is_free = model.n_equations < model.n_unknowns;
    let mut words = Vec::new();
    let (mut film, mut chart) = (Vec::new(), Vec::new());
    if let Some(found) = &record.passport {
        page.facts.extend(found.as_ref().ok().map(passport::fact));
        words.extend(found.as_ref().ok().map(passport::sentence));
    }
    if let Some(found) = &record.run {
        page.facts.extend(run::facts(found, is_free));
        let sections = run::sections(found, &model.name, is_free);
        words.extend(sections.words);
        film.extend(sections.film);
        chart.extend(sections.first);
        page.sections.extend(sections.sections);
    }
    if let (true, Some(Ok(found))) = (film.is_empty(), &record.start) {
        film.extend(start::drawn(found));
    }
    if let Some(found) = &record.singular {
        page.facts.extend(found.as_ref().ok().map(singular::fact));
        words.extend(found.as_ref().ok().map(singular::sentence));
        page.sections.push(singular::section(found));
    }
    let mut said = vec![Element::List(words)];
    said.append(&mut chart);
    page.summary.push(Element::Columns(vec![film, said]));
    if let Some(Ok(found)) = &record.singular {
        page.summary.extend(singular::few(found));
    }
    if let Some(found) = &record.passport {
        page.sections.extend(passport::sections(found));
    }
    if let Some(found) = &record.start {
        page.sections.push(start::section(found));
    }
    page.sections.push(equations::section(model, &record.text));
}

/// Version, options and commands.
fn repetition(record: &PageRecord) -> Section {
    let version = format!(
        "daelight {}, with the options that the first command spells out. The others print the sections one by one.",
        record.version
    );
    let mut text = record.commands.join("\n");
    text.push('\n');
    Section::new("repeat", "How to repeat it")
        .block(Element::text(version))
        .block(Element::code("Commands that repeat this page", text))
}
