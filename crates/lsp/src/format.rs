//! Equations and statements with even spaces and indentation; every word stays, and comments too.

use crate::document::{Encoding, Text};
use daelight_lang::{Span, retokenizes};
use serde_json::{Value, json};

/// A piece of text and what comes in its place.
struct Change {
    start: usize,
    end: usize,
    new: String,
}

/// The answer to `textDocument/formatting`, or to `rangeFormatting` with a range of bytes.
pub fn format(text: &Text, only: Option<(usize, usize)>, encoding: Encoding) -> Value {
    let (changes, _) = changed(text, only);
    let edit = |change: &Change| {
        json!({
            "range": {
                "start": text.position(change.start, encoding),
                "end": text.position(change.end, encoding),
            },
            "newText": change.new,
        })
    };
    Value::Array(changes.iter().map(edit).collect())
}

/// A text with its equations and statements formatted.
pub fn formatted(text: &str) -> String {
    changed(&Text::new("text.mo", text.to_string()), None).1
}

/// What formatting changes, and the text behind it.
fn changed(text: &Text, only: Option<(usize, usize)>) -> (Vec<Change>, String) {
    let as_it_is = || (Vec::new(), text.text.clone());
    // What cannot be read is left alone.
    if !text.outline.is_whole {
        return as_it_is();
    }
    let mut changes = Vec::new();
    for class in &text.outline.classes {
        for span in &class.equations {
            spaced(text, *span, &mut changes);
        }
    }
    indented(text, &mut changes);
    if let Some((from, to)) = only {
        changes.retain(|change| change.start >= from && change.end <= to);
    }
    changes.sort_by_key(|change| (change.start, change.end));
    changes.dedup_by(|later, earlier| later.start < earlier.end);
    let mut after = String::with_capacity(text.text.len());
    let mut from = 0;
    for change in &changes {
        after.push_str(&text.text[from..change.start]);
        after.push_str(&change.new);
        from = change.end;
    }
    after.push_str(&text.text[from..]);
    match retokenizes(&text.text, &after) {
        true => (changes, after),
        false => as_it_is(),
    }
}

/// Indents the lines that begin equations and statements, or end them.
fn indented(text: &Text, changes: &mut Vec<Change>) {
    for (at, class) in text.outline.classes.iter().enumerate() {
        let mut level = 1;
        let mut outer = class.around;
        while let Some(around) = outer {
            level += 1;
            outer = text.outline.classes[around].around;
        }
        let depth = |byte: u32, strictly: bool| {
            let inside = class.statements.iter().filter(|span| {
                let begins = if strictly {
                    span.start < byte
                } else {
                    span.start <= byte
                };
                begins && byte < span.end
            });
            level + inside.count()
        };
        let starts = class.equations.iter().chain(&class.statements);
        for span in starts {
            indent(text, span.start as usize, depth(span.start, true), changes);
        }
        for span in &class.statements {
            let first = text.line_of(span.start) + 1;
            let last = text.line_of(span.end.saturating_sub(1));
            for line in first..=last {
                let written = text.line(line);
                let word = written.trim_start();
                let start = text.byte(line, written.len() - word.len(), Encoding::Utf8);
                let word = word.split(|c: char| !c.is_ascii_alphabetic()).next();
                let ends = ["end", "else", "elseif", "elsewhen"];
                let is_end = word.is_some_and(|word| ends.contains(&word));
                // The innermost statement around the line is the one that it ends or continues.
                if is_end && text.class_at(start) == Some(at) {
                    let inside = depth(start as u32, true).saturating_sub(1);
                    let innermost = class
                        .statements
                        .iter()
                        .filter(|other| other.start < start as u32 && (start as u32) < other.end);
                    let is_own = innermost.max_by_key(|other| other.start) == Some(span);
                    if is_own {
                        indent(text, start, inside, changes);
                    }
                }
            }
        }
    }
}

/// Gives a line that begins at a byte its indentation, if nothing stands before that byte.
fn indent(text: &Text, byte: usize, depth: usize, changes: &mut Vec<Change>) {
    let start = text.text[..byte].rfind('\n').map_or(0, |at| at + 1);
    let written = &text.text[start..byte];
    let wanted = "  ".repeat(depth);
    if written.trim().is_empty() && written != wanted {
        changes.push(Change {
            start,
            end: byte,
            new: wanted,
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lexeme {
    Word,
    Keyword,
    Operator,
    Open,
    Close,
    Comma,
    Comment,
}

/// Puts even spaces into an equation, line by line; one with a comment or a string over several lines is left alone.
fn spaced(text: &Text, span: Span, changes: &mut Vec<Change>) {
    let written = text.slice(span);
    if !written.split('\n').all(is_whole) {
        return;
    }
    let mut brackets = 0usize;
    let mut before: Option<Lexeme> = None;
    let mut lines = Vec::new();
    for line in written.split('\n') {
        let inside = line.trim();
        let indentation = &line[..line.len() - line.trim_start().len()];
        let end = &line[line.trim_end().len()..];
        let end = if end.contains('\r') { "\r" } else { "" };
        let even = even(inside, &mut before, &mut brackets);
        lines.push(format!("{indentation}{even}{end}"));
    }
    let new = lines.join("\n");
    if new != written {
        changes.push(Change {
            start: span.start as usize,
            end: span.end as usize,
            new,
        });
    }
}

/// Whether every comment and every string of a line ends on it.
fn is_whole(line: &str) -> bool {
    let mut rest = line.trim();
    while let Some((lexeme, length)) = next(rest) {
        let (word, behind) = rest.split_at(length);
        let closed = |mark: &str| word.len() > 2 * mark.len() - 1 && word.ends_with(mark);
        let is_cut = match (lexeme, word.chars().next()) {
            (Lexeme::Comment, _) => word.starts_with("/*") && !(word.len() > 3 && closed("*/")),
            (_, Some('"')) => !closed("\""),
            (_, Some('\'')) => !closed("'"),
            _ => false,
        };
        if is_cut {
            return false;
        }
        rest = behind.trim_start();
    }
    true
}

const OPERATORS: [&str; 20] = [
    ":=", "==", "<>", "<=", ">=", ".+", ".-", ".*", "./", ".^", "=", "<", ">", "+", "-", "*", "/",
    "^", ":", ".",
];

const WORDS_BETWEEN: [&str; 11] = [
    "and", "or", "not", "if", "then", "else", "elseif", "for", "in", "each", "loop",
];

/// A line with even spaces. `before` is what stands at the end of the line before, `brackets` how many are open.
fn even(line: &str, before: &mut Option<Lexeme>, brackets: &mut usize) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let mut rest = line;
    // Whether the last lexeme wants no space behind it.
    let mut tight = true;
    while !rest.is_empty() {
        let trimmed = rest.trim_start();
        let written = &rest[..rest.len() - trimmed.len()];
        let had_space = !written.is_empty();
        rest = trimmed;
        let Some((lexeme, length)) = next(rest) else {
            break;
        };
        let word = &rest[..length];
        rest = &rest[length..];
        if lexeme == Lexeme::Comment {
            // It stands where it was put, and what stands before it is what the next word follows.
            if !out.is_empty() {
                out.push_str(if had_space { written } else { " " });
            }
            out.push_str(word);
            tight = false;
            continue;
        }
        let is_operand = matches!(before, Some(Lexeme::Word | Lexeme::Close));
        let (space, then_tight) = match lexeme {
            Lexeme::Operator => {
                let as_written = *brackets > 0 && matches!(word, "+" | "-");
                match word {
                    "." | ":" | "^" | ".^" | "*" | "/" | ".*" | "./" => (false, true),
                    "+" | "-" | ".+" | ".-" if !is_operand => (!tight, true),
                    _ if as_written => (had_space, !rest.starts_with(' ')),
                    _ => (true, false),
                }
            }
            Lexeme::Comma => (false, false),
            Lexeme::Close => (false, false),
            Lexeme::Open => {
                let calls = is_operand && matches!(before, Some(Lexeme::Word)) && word != "{";
                (!tight && !calls, true)
            }
            Lexeme::Word | Lexeme::Keyword | Lexeme::Comment => (!tight, false),
        };
        if space && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        tight = then_tight;
        match word {
            "[" => *brackets += 1,
            "]" => *brackets = brackets.saturating_sub(1),
            _ => {}
        }
        *before = Some(lexeme);
    }
    out
}

/// The lexeme that a text begins with, and its length.
fn next(text: &str) -> Option<(Lexeme, usize)> {
    let first = text.chars().next()?;
    if text.starts_with("//") {
        return Some((Lexeme::Comment, text.len()));
    }
    if let Some(inside) = text.strip_prefix("/*") {
        let length = inside.find("*/").map_or(text.len(), |end| end + 4);
        return Some((Lexeme::Comment, length));
    }
    if first == '"' || first == '\'' {
        return Some((Lexeme::Word, quoted(text, first)));
    }
    let digit_follows = text[first.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
    if first.is_ascii_digit() || (first == '.' && digit_follows) {
        return Some((Lexeme::Word, number(text)));
    }
    if first.is_alphanumeric() || first == '_' {
        let length = text
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(text.len());
        let kind = match WORDS_BETWEEN.contains(&&text[..length]) {
            true => Lexeme::Keyword,
            false => Lexeme::Word,
        };
        return Some((kind, length));
    }
    if let Some(operator) = OPERATORS
        .iter()
        .find(|operator| text.starts_with(**operator))
    {
        return Some((Lexeme::Operator, operator.len()));
    }
    let kind = match first {
        '(' | '[' | '{' => Lexeme::Open,
        ')' | ']' | '}' => Lexeme::Close,
        ',' | ';' => Lexeme::Comma,
        _ => Lexeme::Word,
    };
    Some((kind, first.len_utf8()))
}

/// The length of a string or a quoted name, up to the end of the text where it does not end.
fn quoted(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == mark => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The length of a number, its exponent included.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end > at + 1 + sign {
            at = end;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> String {
        let text = Text::new("a.mo", text.to_string());
        let edits = format(&text, None, Encoding::Utf8);
        let mut out = text.text.clone();
        for edit in edits.as_array().expect("edits").iter().rev() {
            let from = text.byte_of(&edit["range"]["start"], Encoding::Utf8);
            let to = text.byte_of(&edit["range"]["end"], Encoding::Utf8);
            out.replace_range(from..to, edit["newText"].as_str().expect("a text"));
        }
        out
    }

    #[test]
    fn equations_are_spaced_and_indented() {
        let text = "model M\n  Real x[2];\nequation\n der( x[1] )=-x[1 ]+ 2 *sin( 1e-3*time )^2 ;\nfor i in 2:2 loop\nx[i]=if x[i-1]>0 then -1 else 1;  // a remark\n      end for;\nend M;\n";
        let wanted = "model M\n  Real x[2];\nequation\n  der(x[1]) = -x[1] + 2*sin(1e-3*time)^2 ;\n  for i in 2:2 loop\n    x[i] = if x[i-1] > 0 then -1 else 1;  // a remark\n  end for;\nend M;\n";
        assert_eq!(edited(text), wanted);
        assert_eq!(edited(wanted), wanted);
        assert_eq!(formatted(text), wanted);
    }

    #[test]
    fn comments_and_strings_inside_equations_stay_where_they_are() {
        let text = "model M\n  Real x, 'a+b';\nequation\n  x=1+ /* one */2   // and\n    -'a+b'*( 3/*three*/ ) \"a = \\\"b\\\"+c\";\n  'a+b'=x// none\n    +1;\n  x=/* two\n lines */  1;\nend M;\n";
        let wanted = "model M\n  Real x, 'a+b';\nequation\n  x = 1 + /* one */ 2   // and\n    - 'a+b'*(3 /*three*/) \"a = \\\"b\\\"+c\";\n  'a+b' = x // none\n    + 1;\n  x=/* two\n lines */  1;\nend M;\n";
        assert_eq!(edited(text), wanted);
        assert_eq!(edited(wanted), wanted);
    }
}
