//! All uses of a name, and another name for it.
//!
//! A new name is proposed only if the changed texts, read again, mean what they meant: every changed word stands for the same
//! declaration, and no other word does.

use crate::document::Text;
use crate::library::{Cache, Overlay};
use crate::names::{HERE, Meaning, World};
use daelight_lang::{Span, outline};
use std::collections::HashMap;
use std::sync::Arc;

/// A declaration, known by its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub path: String,
    pub start: u32,
    pub name: String,
}

/// The texts among which uses are looked for.
pub(crate) struct Texts<'t> {
    pub list: Vec<Arc<Text>>,
    pub open: Arc<HashMap<String, Arc<Text>>>,
    pub cache: &'t Cache,
    /// How many lookups each name may cost.
    pub budget: usize,
}

/// The declaration behind a word of a document.
pub fn target(world: &World, word: usize) -> Option<Target> {
    let meaning = world.meaning(word)?;
    // The values of an enumeration have no place of their own.
    let is_place = !matches!(meaning, Meaning::Literal(..));
    let (text, span) = world.place(&meaning).filter(|_| is_place)?;
    Some(Target {
        path: text.path.clone(),
        start: span.start,
        name: text.slice(span).trim_matches('\'').to_string(),
    })
}

impl Texts<'_> {
    /// The words that stand for a declaration, text by text.
    pub fn uses(&self, target: &Target) -> Vec<(Arc<Text>, Vec<Span>)> {
        let found = self.list.iter().map(|text| {
            let files = Overlay::new(&text.path, self.open.clone());
            (text.clone(), self.uses_in(text, &files, target))
        });
        found.filter(|(_, spans)| !spans.is_empty()).collect()
    }

    fn uses_in(&self, text: &Arc<Text>, files: &Overlay, target: &Target) -> Vec<Span> {
        let mut spans = Vec::new();
        for (word, found) in text.outline.words.iter().enumerate() {
            if text.name(word) != target.name {
                continue;
            }
            let world = World::new(text.clone(), files, self.cache, self.budget);
            let is_it = target_is(&world, word, target);
            if is_it {
                spans.push(found.span);
            }
        }
        spans
    }

    /// The edits of a rename, or why there are none.
    pub fn rename(
        &self,
        target: &Target,
        new: &str,
    ) -> Result<Vec<(Arc<Text>, Vec<Span>)>, String> {
        if !is_name(new) {
            return Err(format!("`{new}` is not a name"));
        }
        if !self.list.iter().any(|text| text.path == target.path) {
            return Err(format!(
                "`{}` is declared in {}; rename it there",
                target.name, target.path
            ));
        }
        let uses = self.uses(target);
        if let Some((text, _)) = uses.iter().find(|(text, _)| !text.outline.is_whole) {
            return Err(format!(
                "{} has mistakes of syntax; mend them first, so that all uses are seen",
                text.path
            ));
        }
        self.verify(target, new, &uses)?;
        Ok(uses)
    }

    /// Reads the changed texts again and looks whether they mean the same.
    fn verify(
        &self,
        target: &Target,
        new: &str,
        uses: &[(Arc<Text>, Vec<Span>)],
    ) -> Result<(), String> {
        let mut open = (*self.open).clone();
        let mut renamed = target.clone();
        renamed.name = new.trim_matches('\'').to_string();
        for (text, spans) in uses {
            let changed = Arc::new(Text::new(&text.path, replaced(&text.text, spans, new)));
            if text.path == target.path {
                renamed.start = moved(target.start, spans, new);
            }
            open.insert(text.path.clone(), changed);
        }
        let after = Texts {
            list: Vec::new(),
            open: Arc::new(open),
            cache: self.cache,
            budget: self.budget,
        };
        for text in &self.list {
            let spans = uses.iter().find(|(other, _)| other.path == text.path);
            let spans = spans.map_or(&[][..], |(_, spans)| spans);
            let changed = after.open.get(&text.path).unwrap_or(text);
            let files = Overlay::new(&text.path, after.open.clone());
            let found = after.uses_in(changed, &files, &renamed);
            let found: Vec<u32> = found.iter().map(|span| span.start).collect();
            let expected: Vec<u32> = (spans.iter())
                .map(|span| moved(span.start, spans, new))
                .collect();
            if found != expected {
                return Err(format!(
                    "`{new}` has another meaning in {} already",
                    text.path
                ));
            }
            let names = |text: &Text| {
                let count = |name: &str| {
                    let words = 0..text.outline.words.len();
                    words.filter(|&word| text.name(word) == name).count()
                };
                count(&renamed.name)
            };
            // Words that had the new name before keep their meaning only if none of them stood beside the declaration.
            if names(changed) != names(text) + spans.len() {
                return Err(format!("`{new}` cannot be told apart in {}", text.path));
            }
        }
        Ok(())
    }
}

fn target_is(world: &World, word: usize, target: &Target) -> bool {
    let Some(meaning) = world.meaning(word) else {
        return false;
    };
    let is_place = !matches!(meaning, Meaning::Literal(..));
    let place = world.place(&meaning).filter(|_| is_place);
    place.is_some_and(|(text, span)| text.path == target.path && span.start == target.start)
}

/// A text with other words at some places.
pub fn replaced(text: &str, spans: &[Span], new: &str) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        changed.push_str(&text[from..span.start as usize]);
        changed.push_str(new);
        from = span.end as usize;
    }
    changed + &text[from..]
}

/// Where a byte is after the replacements.
fn moved(byte: u32, spans: &[Span], new: &str) -> u32 {
    let before = spans.iter().filter(|span| span.start < byte);
    let change: i64 = before
        .map(|span| new.len() as i64 - i64::from(span.end - span.start))
        .sum();
    (i64::from(byte) + change) as u32
}

/// Whether a word can be the name of something.
fn is_name(word: &str) -> bool {
    let found = outline(&format!("model {word} end {word};"));
    let is_one = found.classes.len() == 1 && found.words.len() == 2;
    let stays = found.classes.first().is_some_and(|class| {
        let span = class.name_span;
        (span.end - span.start) as usize == word.len() && !class.name.contains('.')
    });
    found.is_whole && is_one && stays && word != "time"
}

/// Whether a world knows the name at a class already: a second declaration would be an error.
pub fn is_taken(world: &World, target: &Target, new: &str) -> bool {
    let text = world.text(HERE);
    if text.path != target.path {
        return false;
    }
    let byte = target.start as usize;
    let around = world.class_around(byte);
    let member = around.and_then(|class| world.member(class, new));
    member.is_some()
}
