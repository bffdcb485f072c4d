//! What is told of the name or equation under the mouse.

use crate::document::{Encoding, Text};
use crate::facts::Facts;
use crate::names::{BUILT_IN, HERE, Meaning, World};
use daelight_lang::{PARAGRAPH, Span, WordRole, shorten};
use serde_json::{Value, json};

/// The answer to `textDocument/hover`. Facts are those of this very text, if they are known yet.
pub fn hover(world: &World, facts: Option<&Facts>, byte: usize, encoding: Encoding) -> Value {
    let text = world.text(HERE);
    let word = text.word_at(byte).filter(|&word| text.is_name(word));
    if let Some(word) = word
        && let Some(meaning) = world.meaning(word)
        && let Some(lines) = describe(world, &text, word, &meaning, facts)
    {
        return answer(&lines, text.range(text.outline.words[word].span, encoding));
    }
    equation(&text, facts, byte, encoding).unwrap_or(Value::Null)
}

fn answer(lines: &[String], range: Value) -> Value {
    json!({
        "contents": {"kind": "markdown", "value": lines.join("\n\n")},
        "range": range,
    })
}

fn code(text: &str) -> String {
    format!("```modelica\n{}\n```", shorten(text, PARAGRAPH))
}

fn describe(
    world: &World,
    text: &Text,
    word: usize,
    meaning: &Meaning,
    facts: Option<&Facts>,
) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    match meaning {
        Meaning::Declaration(class, at) => {
            let declared = world.declaration(*class, *at);
            let (place, _) = world.place(meaning)?;
            let before = match declared.kind {
                "variable" => String::new(),
                kind => format!("{kind} "),
            };
            let written = place.slice(declared.span);
            lines.push(code(&format!("{before}{} {written}", declared.type_name)));
            let array = if declared.is_array { ", array" } else { "" };
            let kind = format!("{}{array} of `{}`", declared.kind, world.class(*class).name);
            let comment = match declared.comment.is_empty() {
                true => String::new(),
                false => format!(": {}", declared.comment),
            };
            lines.push(format!("{kind}{comment}"));
            let class = world.class_behind(meaning).map(|class| world.class(class));
            if let Some(class) = class.filter(|class| !class.comment.is_empty()) {
                lines.push(format!("`{}`: {}", class.name, class.comment));
            }
            let flat = dotted(text, word);
            if let Some(known) = facts.and_then(|facts| facts.names.get(&flat)) {
                lines.extend(known_of_name(known));
            }
        }
        Meaning::Class(class) => {
            let class = world.class(*class);
            lines.push(code(&format!("{} {}", class.kind, class.name)));
            if !class.comment.is_empty() {
                lines.push(class.comment.clone());
            }
            let is_model = class.kind == "model" && class.around.is_none();
            if let Some(summary) = facts.and_then(|facts| facts.summary.as_ref())
                && is_model
            {
                lines.push(summary.clone());
            }
        }
        Meaning::Literal(class, at) => {
            let class = world.class(*class);
            lines.push(code(&format!("{}.{}", class.name, class.literals[*at])));
        }
        Meaning::Loop { .. } => lines.push(format!("loop variable `{}`", text.name(word))),
        Meaning::Attribute(name) => lines.push(format!("`{name}`: {}", attribute(name))),
        Meaning::BuiltIn(name) => {
            let known = BUILT_IN.iter().find(|(known, _)| known == name);
            let words = known.map_or("built-in function", |(_, words)| words);
            lines.push(format!("`{name}`: {words}"));
        }
    }
    Some(lines)
}

fn known_of_name(known: &crate::facts::NameFacts) -> Vec<String> {
    let mut parts = Vec::new();
    if !known.unit.is_empty() {
        parts.push(format!("unit {}", known.unit));
    }
    if !known.value.is_empty() {
        parts.push(known.value.clone());
    }
    if !known.lines.is_empty() {
        let lines: Vec<String> = known.lines.iter().map(usize::to_string).collect();
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let lines = crate::facts::list(&lines).replace(';', ",");
        parts.push(format!("in the equations of {word} {lines}"));
    }
    let first = (!parts.is_empty()).then(|| parts.join("; "));
    let mut lines: Vec<String> = first.into_iter().collect();
    lines.extend(known.analysed.iter().map(|words| format!("- {words}")));
    lines
}

/// The equation around a byte.
fn equation(text: &Text, facts: Option<&Facts>, byte: usize, encoding: Encoding) -> Option<Value> {
    let holds = |span: &Span| (span.start as usize..=span.end as usize).contains(&byte);
    let classes = text.outline.classes.iter();
    let span = classes
        .flat_map(|class| &class.equations)
        .find(|span| holds(span))?;
    let known = facts?.equations.iter().find(|known| known.span == *span)?;
    let mut lines = vec![code(text.slice(*span))];
    if known.n_scalars > 1 {
        lines.push(format!("{} scalar equations", known.n_scalars));
    }
    lines.extend(known.analysed.iter().map(|words| format!("- {words}")));
    Some(answer(&lines, text.range(*span, encoding)))
}

/// The dotted name that ends with a word, without subscripts.
fn dotted(text: &Text, word: usize) -> String {
    let mut parts = vec![text.name(word)];
    let mut at = word;
    while let WordRole::Member(Some(before)) = text.outline.words[at].role {
        parts.push(text.name(before));
        at = before;
    }
    parts.reverse();
    parts.join(".")
}

/// What an attribute means.
pub fn attribute(name: &str) -> &'static str {
    match name {
        "start" => "the value at the start: a guess, unless fixed",
        "fixed" => "whether the start value must hold",
        "nominal" => "the typical magnitude",
        "min" => "the lower bound",
        "max" => "the upper bound",
        "unit" => "the unit, as in \"m/s2\"",
        "displayUnit" => "the unit for people, kept for other tools",
        "quantity" => "what is measured, kept for other tools",
        "stateSelect" => "a wish for states, kept for other tools",
        _ => "kept for other tools",
    }
}
