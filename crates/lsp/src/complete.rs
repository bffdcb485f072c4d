//! What can be written at a place.

use crate::document::Text;
use crate::hover::attribute;
use crate::names::{BUILT_IN, HERE, Meaning, World};
use daelight_lang::ATTRIBUTES;
use serde_json::{Value, json};

const KEYWORDS: &[&str] = &[
    "algorithm",
    "annotation",
    "connect",
    "constant",
    "discrete",
    "each",
    "else",
    "elseif",
    "end",
    "equation",
    "extends",
    "false",
    "final",
    "flow",
    "for",
    "function",
    "if",
    "import",
    "initial",
    "inner",
    "input",
    "loop",
    "model",
    "outer",
    "output",
    "package",
    "parameter",
    "protected",
    "record",
    "redeclare",
    "replaceable",
    "then",
    "true",
    "type",
    "when",
    "within",
];

/// Numbers of the protocol for kinds of items.
mod kind {
    pub const FUNCTION: i8 = 3;
    pub const VARIABLE: i8 = 6;
    pub const CLASS: i8 = 7;
    pub const PROPERTY: i8 = 10;
    pub const KEYWORD: i8 = 14;
    pub const LITERAL: i8 = 20;
    pub const CONSTANT: i8 = 21;
}

/// The items for a place, and whether some were left out.
struct Items<'p> {
    prefix: &'p str,
    most: usize,
    list: Vec<Value>,
    is_cut: bool,
}

impl Items<'_> {
    fn add(&mut self, name: &str, kind: i8, detail: &str) {
        let fits = (name.get(..self.prefix.len()))
            .is_some_and(|begin| begin.eq_ignore_ascii_case(self.prefix));
        if !fits {
            return;
        }
        if self.list.len() >= self.most {
            self.is_cut = true;
            return;
        }
        self.list
            .push(json!({"label": name, "kind": kind, "detail": detail}));
    }

    fn add_meaning(&mut self, world: &World, name: &str, meaning: &Meaning) {
        match meaning {
            Meaning::Declaration(class, at) => {
                let declared = world.declaration(*class, *at);
                let kind = match declared.kind {
                    "parameter" | "constant" => kind::CONSTANT,
                    _ => kind::VARIABLE,
                };
                let words = match declared.comment.is_empty() {
                    true => format!("{} {}", declared.kind, declared.type_name),
                    false => format!("{}: {}", declared.type_name, declared.comment),
                };
                self.add(name, kind, &words);
            }
            Meaning::Literal(..) => self.add(name, kind::LITERAL, ""),
            Meaning::Class(class) => {
                let class = world.class(*class);
                self.add(name, kind::CLASS, class.kind);
            }
            _ => self.add(name, kind::CLASS, ""),
        }
    }
}

/// The answer to `textDocument/completion`, of at most `most` items.
pub fn complete(world: &World, byte: usize, most: usize) -> Value {
    let text = world.text(HERE);
    let before = &text.text[..byte];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let prefix = &before[before.trim_end_matches(is_part).len()..];
    let head = &before[..byte - prefix.len()];
    let mut items = Items {
        prefix,
        most,
        list: Vec::new(),
        is_cut: false,
    };
    if is_comment(head) {
        // Nothing is looked for inside comments and strings.
    } else if let Some(dot) = head.strip_suffix('.') {
        members(world, &text, dot.len(), &mut items);
    } else {
        if let Some(type_word) = modified_type(&text, head) {
            let meaning = world.meaning(type_word);
            let class = meaning.and_then(|meaning| world.class_behind(&meaning));
            for (name, meaning) in class.iter().flat_map(|&class| world.visible(class, true)) {
                items.add_meaning(world, &name, &meaning);
            }
            for name in ATTRIBUTES {
                items.add(name, kind::PROPERTY, attribute(name));
            }
        }
        names(world, byte, &mut items);
    }
    json!({"isIncomplete": items.is_cut, "items": items.list})
}

/// Whether a place is inside a comment that ends with its line, or in a string.
fn is_comment(head: &str) -> bool {
    let line = &head[head.rfind('\n').map_or(0, |at| at + 1)..];
    let mut in_string = false;
    let mut previous = ' ';
    for c in line.chars() {
        match c {
            '"' if previous != '\\' => in_string = !in_string,
            '/' if !in_string && previous == '/' => return true,
            _ => {}
        }
        previous = c;
    }
    in_string
}

/// The parts of what stands before a dot.
fn members(world: &World, text: &Text, dot: usize, items: &mut Items) {
    let mut end = dot;
    if text.text[..end].ends_with(']') {
        let Some(open) = text.text[..end].rfind('[') else {
            return;
        };
        end = open;
    }
    let words = &text.outline.words;
    let found = words.partition_point(|word| (word.span.end as usize) < end);
    let is_it = |&at: &usize| words.get(at).is_some_and(|w| w.span.end as usize == end);
    let Some(word) = Some(found).filter(is_it) else {
        return;
    };
    let meaning = world.meaning(word);
    let Some(class) = meaning.and_then(|meaning| world.class_behind(&meaning)) else {
        return;
    };
    for (name, meaning) in world.visible(class, true) {
        items.add_meaning(world, &name, &meaning);
    }
}

/// The type of the declaration in whose parentheses a name is to be written.
fn modified_type(text: &Text, head: &str) -> Option<usize> {
    let trimmed = head.trim_end();
    let trimmed = match trimmed.strip_suffix("each") {
        Some(rest) => rest.trim_end(),
        None => trimmed,
    };
    if !trimmed.ends_with(['(', ',']) {
        return None;
    }
    let mut depth = 0;
    let open = head.char_indices().rev().find_map(|(at, c)| {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(Some(at)),
            '(' => depth -= 1,
            ';' => return Some(None),
            _ => {}
        }
        None
    })??;
    let words = &text.outline.words;
    let name = words
        .partition_point(|word| (word.span.end as usize) <= open)
        .checked_sub(1)?;
    let gap = text.text.get(words[name].span.end as usize..open)?;
    let is_subscripts = gap.trim().is_empty() || gap.trim().starts_with('[');
    let type_word = name.checked_sub(1).filter(|_| is_subscripts)?;
    let between = text.slice(words[type_word].span.to(words[name].span));
    let type_name = text.name(type_word);
    let between = between.get(type_name.len()..between.len() - text.name(name).len())?;
    let is_type = !between.is_empty() && between.trim().is_empty();
    is_type.then_some(type_word)
}

/// Everything that can be named at a place.
fn names(world: &World, byte: usize, items: &mut Items) {
    let text = world.text(HERE);
    for variable in &text.outline.loops {
        let scope = variable.scope;
        if (scope.start as usize..=scope.end as usize).contains(&byte) {
            items.add(&variable.name, kind::VARIABLE, "loop variable");
        }
    }
    if let Some(class) = world.class_around(byte) {
        for (name, meaning) in world.visible(class, false) {
            items.add_meaning(world, &name, &meaning);
        }
    }
    for (name, words) in BUILT_IN {
        items.add(name, kind::CLASS, words);
    }
    for name in daelight_lang::built_in_functions() {
        items.add(name, kind::FUNCTION, "built-in function");
    }
    for name in world.tops() {
        items.add(&name, kind::CLASS, "");
    }
    for name in KEYWORDS {
        items.add(name, kind::KEYWORD, "");
    }
}
