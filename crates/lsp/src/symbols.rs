//! The classes and declarations of a text, as a tree.

use crate::document::{Encoding, Text};
use daelight_lang::Span;
use serde_json::Value;

/// Numbers of the protocol for kinds of symbols.
fn symbol_kind(word: &str) -> u32 {
    match word {
        "package" => 4,
        "function" => 12,
        "record" => 23,
        "connector" => 11,
        "type" => 26,
        "parameter" | "constant" => 14,
        "model" | "operator" => 5,
        _ => 13,
    }
}

/// A name with its place and what is inside it.
struct Symbol<'t> {
    name: &'t str,
    detail: &'t str,
    kind: &'t str,
    span: Span,
    name_span: Span,
}

impl Symbol<'_> {
    /// As JSON. Texts of thousands of lines have thousands of symbols, so that no tree is built for it.
    fn write(&self, text: &Text, encoding: Encoding, inside: &str, to: &mut String) {
        let quoted = |text: &str| Value::from(text).to_string();
        let range = |span: Span| {
            let [from, to] = [span.start, span.end].map(|b| text.line_column(b as usize, encoding));
            format!(
                r#"{{"start":{{"line":{},"character":{}}},"end":{{"line":{},"character":{}}}}}"#,
                from.0, from.1, to.0, to.1
            )
        };
        if !to.is_empty() {
            to.push(',');
        }
        // A name belongs to what it declares, whatever the reader made of broken text.
        let whole = range(self.span.to(self.name_span));
        let (name, detail) = (quoted(self.name), quoted(self.detail));
        let (kind, selection) = (symbol_kind(self.kind), range(self.name_span));
        to.push_str(&format!(
            r#"{{"name":{name},"detail":{detail},"kind":{kind},"range":{whole},"selectionRange":{selection},"children":[{inside}]}}"#
        ));
    }
}

/// The answer to `textDocument/documentSymbol`, as JSON.
pub fn symbols(text: &Text, encoding: Encoding) -> String {
    let classes = &text.outline.classes;
    let mut inside = vec![String::new(); classes.len()];
    let mut top = Vec::new();
    // Inner classes come behind those around them.
    for (at, class) in classes.iter().enumerate().rev() {
        let mut children = String::new();
        for declared in &class.declarations {
            let symbol = Symbol {
                name: &declared.name,
                detail: &declared.type_name,
                kind: declared.kind,
                span: declared.span,
                name_span: declared.name_span,
            };
            symbol.write(text, encoding, "", &mut children);
        }
        if !children.is_empty() && !inside[at].is_empty() {
            children.push(',');
        }
        children.push_str(&inside[at]);
        let symbol = Symbol {
            name: &class.name,
            detail: &class.comment,
            kind: class.kind,
            span: class.span,
            name_span: class.name_span,
        };
        match class.around {
            Some(around) => symbol.write(text, encoding, &children, &mut inside[around]),
            None => {
                let mut written = String::new();
                symbol.write(text, encoding, &children, &mut written);
                top.push(written);
            }
        }
    }
    top.reverse();
    format!("[{}]", top.join(","))
}
