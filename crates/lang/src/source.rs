//! Source texts, places in them, and lines and columns for people.

use std::sync::Arc;

/// Which text a [`Span`] points into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceId(pub u16);

/// A piece of one source text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The smallest span that covers both, which must lie in one text.
    pub fn to(self, other: Span) -> Span {
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A text with a name and an index of its lines.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

/// Largest text that is read, in bytes: spans are 32 bits wide.
pub const MAX_SOURCE_BYTES: usize = 1 << 30;

impl Source {
    /// A text under the name that messages show.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(
            text.bytes()
                .enumerate()
                .filter(|&(_, byte)| byte == b'\n')
                .map(|(at, _)| at as u32 + 1),
        );
        Self {
            name: name.into(),
            text,
            line_starts,
        }
    }

    /// The name that messages show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub fn line_column(&self, byte: u32) -> (usize, usize) {
        let line = self
            .line_starts
            .partition_point(|&start| start <= byte)
            .max(1)
            - 1;
        let start = self.line_starts[line] as usize;
        let end = floor_boundary(&self.text, byte as usize);
        (line + 1, self.text[start.min(end)..end].chars().count() + 1)
    }

    /// The bytes of a line (from 1), without its end.
    pub fn line_range(&self, line: usize) -> std::ops::Range<usize> {
        let start = self.line_starts[line - 1] as usize;
        let end = self
            .line_starts
            .get(line)
            .map_or(self.text.len(), |&next| next as usize - 1);
        start..end.max(start)
    }

    /// The text of a span, cut to character boundaries.
    pub fn slice(&self, span: Span) -> &str {
        let start = floor_boundary(&self.text, span.start as usize);
        let end = floor_boundary(&self.text, span.end as usize);
        &self.text[start..end.max(start)]
    }
}

fn floor_boundary(text: &str, byte: usize) -> usize {
    text.floor_char_boundary(byte)
}

/// All texts that took part in making a model: the file, one text per `--set`, and the files of libraries.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Arc<Source>>,
}

impl SourceMap {
    /// Adds a text.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.sources.push(Arc::new(source));
        SourceId((self.sources.len() - 1) as u16)
    }

    /// The text with this id.
    pub fn get(&self, id: SourceId) -> &Source {
        &self.sources[id.0 as usize]
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.source).slice(span)
    }

    /// Whether a span is the condition of a `while`.
    pub fn is_of_while(&self, span: Span) -> bool {
        let text = self.get(span.source).text();
        let before = text.get(..span.start as usize).unwrap_or("");
        before.trim_end().ends_with("while")
    }

    /// Where a span begins, in words: `line 7`, with the file where it is not the model's own.
    pub fn place(&self, span: Span) -> String {
        let source = self.get(span.source);
        let (line, _) = source.line_column(span.start);
        if span.source.0 == 0 {
            return format!("line {line}");
        }
        let mut ends = source.name().rsplit('/').take(2);
        let file = ends.next().unwrap_or_default();
        match ends.next() {
            Some(folder) => format!("{folder}/{file}, line {line}"),
            None => format!("{file}, line {line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = Source::new("a.mo", "α = β;\n  γ\n");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column("α = ".len() as u32), (1, 5));
        assert_eq!(source.line_column("α = β;\n  ".len() as u32), (2, 3));
        assert_eq!(source.line_column(1000), (3, 1));
        assert_eq!(&source.text()[source.line_range(2)], "  γ");
    }
}
