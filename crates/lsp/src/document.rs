//! A text that is open in an editor, and places in it as editors count them.

use daelight_lang::{Outline, Span, WordRole, outline};
use serde_json::{Value, json};
use std::sync::Arc;

/// How an editor counts columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
}

/// A text with its names and the beginnings of its lines.
#[derive(Debug)]
pub(crate) struct Text {
    /// Its path, as diagnostics show it.
    pub path: String,
    pub text: String,
    pub outline: Outline,
    lines: Vec<usize>,
}

/// An open document.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub uri: String,
    pub version: i64,
    pub text: Arc<Text>,
}

impl Text {
    pub fn new(path: &str, text: String) -> Self {
        let outline = outline(&text);
        let mut lines = vec![0];
        // A line ends with `\n`, `\r\n` or a lone `\r`, as the protocol says.
        let bytes = text.as_bytes();
        let ends = |&at: &usize| match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        lines.extend((0..bytes.len()).filter(ends).map(|at| at + 1));
        Self {
            path: path.to_string(),
            text,
            outline,
            lines,
        }
    }

    /// The byte at a position of the editor; positions outside are moved to the nearest place inside.
    pub fn byte(&self, line: usize, column: usize, encoding: Encoding) -> usize {
        let Some(&start) = self.lines.get(line) else {
            return self.text.len();
        };
        let end = match self.lines.get(line + 1) {
            Some(&next) => next - 1,
            None => self.text.len(),
        };
        let inside = &self.text[start..end];
        let inside = inside.strip_suffix('\r').unwrap_or(inside);
        let mut counted = 0;
        for (at, character) in inside.char_indices() {
            if counted >= column {
                return start + at;
            }
            counted += match encoding {
                Encoding::Utf8 => character.len_utf8(),
                Encoding::Utf16 => character.len_utf16(),
            };
        }
        start + inside.len()
    }

    pub fn byte_of(&self, position: &Value, encoding: Encoding) -> usize {
        let part = |name: &str| position[name].as_u64().unwrap_or(0) as usize;
        self.byte(part("line"), part("character"), encoding)
    }

    /// Line and column of a byte, as the editor counts them.
    pub fn line_column(&self, byte: usize, encoding: Encoding) -> (usize, usize) {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.lines.partition_point(|&start| start <= byte) - 1;
        let before = &self.text[self.lines[line]..byte];
        let column = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        (line, column)
    }

    pub fn position(&self, byte: usize, encoding: Encoding) -> Value {
        let (line, column) = self.line_column(byte, encoding);
        json!({"line": line, "character": column})
    }

    pub fn range(&self, span: Span, encoding: Encoding) -> Value {
        json!({
            "start": self.position(span.start as usize, encoding),
            "end": self.position(span.end as usize, encoding),
        })
    }

    /// The text of a line, from 0, without its end.
    pub fn line(&self, line: usize) -> &str {
        let start = self.lines.get(line).copied().unwrap_or(self.text.len());
        self.text[start..].lines().next().unwrap_or("")
    }

    pub fn line_of(&self, byte: u32) -> usize {
        self.lines.partition_point(|&start| start <= byte as usize) - 1
    }

    /// The word that a byte touches, by position among the words.
    pub fn word_at(&self, byte: usize) -> Option<usize> {
        let words = &self.outline.words;
        let at = words.partition_point(|word| (word.span.end as usize) < byte);
        let inside = |at: &usize| {
            let span = words[*at].span;
            (span.start as usize..=span.end as usize).contains(&byte)
        };
        // Between two words that touch, the one that begins here.
        let next = Some(at + 1).filter(|at| *at < words.len()).filter(inside);
        next.or(Some(at).filter(|at| *at < words.len()).filter(inside))
    }

    pub fn name(&self, word: usize) -> &str {
        self.outline.words[word].name(&self.text)
    }

    pub fn slice(&self, span: Span) -> &str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// The innermost class around a byte.
    pub fn class_at(&self, byte: usize) -> Option<usize> {
        let holds = |span: Span| (span.start as usize..=span.end as usize).contains(&byte);
        self.outline.classes.iter().rposition(|c| holds(c.span))
    }

    /// Whether a word is a name that can stand for something of the text.
    pub fn is_name(&self, word: usize) -> bool {
        self.outline.words[word].role != WordRole::Foreign
    }
}

impl Document {
    /// The document after one change, as the client tells it: a range and its new text, or the whole text.
    pub fn changed(&self, change: &Value, encoding: Encoding) -> String {
        let new = change["text"].as_str().unwrap_or("");
        let range = &change["range"];
        if !range.is_object() {
            return new.to_string();
        }
        let start = self.text.byte_of(&range["start"], encoding);
        let end = self.text.byte_of(&range["end"], encoding).max(start);
        let old = &self.text.text;
        [&old[..start], new, &old[end..]].concat()
    }
}

/// The path behind a `file:` address; other addresses are kept as they are.
pub fn path_of(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else {
        return uri.to_string();
    };
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.as_bytes();
    while let Some((&first, tail)) = left.split_first() {
        let code = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = code.and_then(|two| u8::from_str_radix(two, 16).ok());
        match code.filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                left = &tail[2..];
            }
            None => {
                bytes.push(first);
                left = tail;
            }
        }
    }
    let path = String::from_utf8_lossy(&bytes).into_owned();
    // `/C:/models` on Windows.
    let is_drive = path.len() > 2 && path.as_bytes()[2] == b':';
    match path.strip_prefix('/') {
        Some(rest) if is_drive => rest.to_string(),
        _ => path,
    }
}

/// The address of a path.
pub fn uri_of(path: &str) -> String {
    let mut uri = String::from("file://");
    if !path.starts_with('/') {
        uri.push('/');
    }
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_as_the_editor_does() {
        let text = Text::new("a.mo", "αβ = 😀x;\r\n  y\n".into());
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (byte, _) in text.text.char_indices() {
                // No position stands between the two bytes of a line's end.
                if text.text[byte..].starts_with('\n') && text.text[..byte].ends_with('\r') {
                    continue;
                }
                let position = text.position(byte, encoding);
                assert_eq!(text.byte_of(&position, encoding), byte, "{encoding:?}");
            }
        }
        let x = text.text.find('x').expect("an x");
        assert_eq!(text.position(x, Encoding::Utf16)["character"], 7);
        assert_eq!(text.byte(9, 9, Encoding::Utf16), text.text.len());
    }

    #[test]
    fn addresses_are_paths() {
        assert_eq!(path_of("file:///a%20b/%CE%B1.mo"), "/a b/α.mo");
        assert_eq!(uri_of("/a b/α.mo"), "file:///a%20b/%CE%B1.mo");
        assert_eq!(path_of("file:///C:/m.mo"), "C:/m.mo");
        assert_eq!(path_of("untitled:1"), "untitled:1");
    }
}
