//! A diagnostic as a frame around the source text it points at.

use ariadne::{Cache, CharSet, Color, Config, Label, Report, ReportKind, Source};
use daelight_lang::{Diagnostic, LINE, PARAGRAPH, Severity, SourceId, SourceMap, Span, shorten};
use std::fmt;

/// Characters shown before the place on a line that is cut.
const BEFORE_PLACE: usize = 60;

/// A label over more lines than this is drawn on its first line only.
const MAX_LABEL_LINES: usize = 8;

/// Renders a diagnostic with its frame, notes and help.
pub fn frame(diagnostic: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let tint = match diagnostic.severity {
        Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
    };
    let title = format!("{}[{}]", diagnostic.severity.word(), diagnostic.code.word());
    let Some(span) = diagnostic.span else {
        return without_place(&title, diagnostic);
    };
    let mut excerpts = Excerpts::new(sources, diagnostic, span);
    let place = excerpts.locate(span);
    let mut report = Report::build(ReportKind::Custom(&title, tint), place.clone())
        .with_config(
            Config::new()
                .with_color(color)
                .with_char_set(CharSet::Unicode)
                .with_compact(false),
        )
        .with_message(shorten(&diagnostic.message, PARAGRAPH))
        .with_label(
            Label::new(place)
                .with_message(&diagnostic.label)
                .with_color(tint)
                .with_order(-1),
        );
    for (other, remark) in by_texts(diagnostic, span) {
        let place = excerpts.locate(other);
        report = report.with_label(
            Label::new(place)
                .with_message(remark)
                .with_color(Color::Cyan),
        );
    }
    let (_, column) = sources.get(span.source).line_column(span.start);
    if excerpts.is_cut(span) {
        report = report.with_note(format!(
            "the line is shown in part; the place is column {column}"
        ));
    }
    if !diagnostic.notes.is_empty() {
        report = report.with_note(diagnostic.notes.join("\n"));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(shorten(help, PARAGRAPH));
    }
    let mut text = Vec::new();
    match report.finish().write(&mut excerpts, &mut text) {
        Ok(()) => {
            let text = with_places(&String::from_utf8_lossy(&text), diagnostic, span, sources);
            if color { text } else { without_escapes(&text) }
        }
        // Writing to memory does not fail; the message must not be lost if it ever does.
        Err(_) => without_place(&title, diagnostic),
    }
}

/// The related places, those of one text together: first those of the main one, then as the texts come.
fn by_texts(diagnostic: &Diagnostic, main: Span) -> Vec<(Span, &str)> {
    let mut texts = vec![main.source];
    for (span, _) in &diagnostic.related {
        if !texts.contains(&span.source) {
            texts.push(span.source);
        }
    }
    let related = diagnostic.related.iter();
    let mut places: Vec<(Span, &str)> = related
        .map(|(span, remark)| (*span, remark.as_str()))
        .collect();
    places.sort_by_key(|(span, _)| texts.iter().position(|text| *text == span.source));
    places
}

/// Puts the places of the original text into the headers of the frame: the first is the place itself, each further one
/// the first related place of another text. Excerpts of long lines have other columns.
fn with_places(text: &str, diagnostic: &Diagnostic, main: Span, sources: &SourceMap) -> String {
    let header = |span: Span| {
        let source = sources.get(span.source);
        let (line, column) = source.line_column(span.start);
        format!("[ {}:{line}:{column} ]", source.name())
    };
    let mut firsts = vec![main];
    for (span, _) in by_texts(diagnostic, main) {
        if firsts.last().is_some_and(|last| last.source != span.source) {
            firsts.push(span);
        }
    }
    let mut places = firsts.into_iter();
    let mut lines = Vec::new();
    for line in text.lines() {
        // Headers are the only lines with a bracket right behind a corner or a branch of the frame.
        let corner = ["╭─", "├─"].iter().find_map(|corner| line.find(*corner));
        let open = corner.and_then(|corner| line[corner..].find("[ ").map(|at| corner + at));
        match (open, line.rfind(" ]")) {
            (Some(open), Some(close)) if close > open => match places.next() {
                Some(span) => {
                    lines.push(format!(
                        "{}{}{}",
                        &line[..open],
                        header(span),
                        &line[close + 2..]
                    ));
                }
                None => lines.push(line.to_string()),
            },
            _ => lines.push(line.to_string()),
        }
    }
    lines.join("\n") + "\n"
}

/// The text without colour sequences: the headline's colour does not follow the configuration.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        rest = rest[at..].split_once('m').map_or("", |(_, behind)| behind);
    }
    plain.push_str(rest);
    plain
}

fn without_place(title: &str, diagnostic: &Diagnostic) -> String {
    let mut text = format!("{title}: {}\n", shorten(&diagnostic.message, PARAGRAPH));
    for note in &diagnostic.notes {
        text.push_str(&format!("  note: {note}\n"));
    }
    if let Some(help) = &diagnostic.help {
        text.push_str(&format!("  help: {help}\n"));
    }
    text
}

/// The lines of the texts that one diagnostic needs, cut to a readable width.
struct Excerpts {
    parts: Vec<Excerpt>,
}

struct Excerpt {
    id: SourceId,
    name: String,
    source: Source<String>,
    lines: Vec<Line>,
}

/// A line of the original text and what is shown of it.
struct Line {
    /// Bytes of the original that are shown.
    shown: std::ops::Range<usize>,
    /// Offset of the shown part in characters of the excerpt.
    at: usize,
    /// The original text of the shown part.
    text: String,
    is_cut: bool,
}

type Place = (SourceId, std::ops::Range<usize>);

impl Excerpts {
    fn new(sources: &SourceMap, diagnostic: &Diagnostic, main: Span) -> Self {
        let spans: Vec<Span> = std::iter::once(main)
            .chain(diagnostic.related.iter().map(|(span, _)| *span))
            .collect();
        let mut ids: Vec<SourceId> = spans.iter().map(|span| span.source).collect();
        ids.dedup();
        ids.sort_by_key(|id| id.0);
        ids.dedup();
        let parts = ids
            .into_iter()
            .map(|id| {
                let own: Vec<Span> = spans
                    .iter()
                    .copied()
                    .filter(|span| span.source == id)
                    .collect();
                Excerpt::new(sources.get(id), id, &own)
            })
            .collect();
        Self { parts }
    }

    fn part(&self, id: SourceId) -> Option<&Excerpt> {
        self.parts.iter().find(|part| part.id == id)
    }

    fn locate(&self, span: Span) -> Place {
        let Some(part) = self.part(span.source) else {
            return (span.source, 0..0);
        };
        let start = part.offset(span.start as usize);
        let end = part.offset(span.end as usize).max(start);
        // A label over many lines would fill the screen: keep its first line.
        let first = part.line_of(span.start as usize);
        let last = part.line_of(span.end.max(span.start + 1) as usize - 1);
        let end = if last - first > MAX_LABEL_LINES {
            part.lines[first].at + part.lines[first].text.chars().count()
        } else {
            end
        };
        (span.source, start..end.max(start))
    }

    fn is_cut(&self, span: Span) -> bool {
        self.part(span.source)
            .is_some_and(|part| part.lines[part.line_of(span.start as usize)].is_cut)
    }
}

impl Excerpt {
    fn new(source: &daelight_lang::Source, id: SourceId, spans: &[Span]) -> Self {
        let line_of = |byte: u32| source.line_column(byte).0;
        let first = spans
            .iter()
            .map(|span| line_of(span.start))
            .min()
            .unwrap_or(1);
        let last = spans
            .iter()
            .map(|span| {
                line_of(span.end.max(span.start + 1) - 1)
                    .min(line_of(span.start) + MAX_LABEL_LINES + 1)
            })
            .max()
            .unwrap_or(1);
        let mut lines = Vec::new();
        // Empty lines stand for those before, so that line numbers come out right.
        let mut text = "\n".repeat(first - 1);
        let mut at = first - 1;
        for number in first..=last.max(first) {
            let range = source.line_range(number);
            let whole = &source.text()[range.clone()];
            let place = spans
                .iter()
                .map(|span| span.start as usize)
                .find(|start| range.contains(start))
                .unwrap_or(range.start);
            let shown = cut(source.text(), range.clone(), place);
            let is_cut = shown.len() < whole.len();
            let prefix = if shown.start > range.start { "…" } else { "" };
            let suffix = if shown.end < range.end { "…" } else { "" };
            // Tabs and other control characters would shift the marks.
            let piece: String = source.text()[shown.clone()]
                .chars()
                .map(|c| if c == '\t' || c.is_control() { ' ' } else { c })
                .collect();
            let at_piece = at + prefix.chars().count();
            text.push_str(prefix);
            text.push_str(&piece);
            text.push_str(suffix);
            text.push('\n');
            at = at_piece + piece.chars().count() + suffix.chars().count() + 1;
            let original = source.text()[shown.clone()].to_string();
            lines.push(Line {
                shown,
                at: at_piece,
                text: original,
                is_cut,
            });
        }

        Self {
            id,
            name: source.name().to_string(),
            source: Source::from(text),
            lines,
        }
    }

    /// Position in `lines` of a byte of the original.
    fn line_of(&self, byte: usize) -> usize {
        self.lines
            .partition_point(|line| line.shown.start <= byte)
            .max(1)
            - 1
    }

    /// Characters before a byte of the original, in the excerpt.
    fn offset(&self, byte: usize) -> usize {
        let line = &self.lines[self.line_of(byte)];
        let inside = byte.clamp(line.shown.start, line.shown.end) - line.shown.start;
        let inside = line.text.floor_char_boundary(inside);
        line.at + line.text[..inside].chars().count()
    }
}

/// The part of a line to show: all of it, or a window around the place.
fn cut(text: &str, line: std::ops::Range<usize>, place: usize) -> std::ops::Range<usize> {
    if line.len() <= LINE {
        return line;
    }
    let start = text.floor_char_boundary(place.saturating_sub(BEFORE_PLACE).max(line.start));
    let end = text.floor_char_boundary((start + LINE).min(line.end));
    start.max(line.start)..end.max(start)
}

impl Cache<SourceId> for &mut Excerpts {
    type Storage = String;

    fn fetch(&mut self, id: &SourceId) -> Result<&Source<String>, impl fmt::Debug> {
        self.parts
            .iter()
            .find(|part| part.id == *id)
            .map(|part| &part.source)
            .ok_or("no such text")
    }

    fn display<'a>(&self, id: &'a SourceId) -> Option<impl fmt::Display + 'a> {
        self.part(*id).map(|part| part.name.clone())
    }
}
