//! Pages to send to a colleague: one HTML file that opens from disk, asks no network for anything, can be printed, and is read by
//! keyboard and screen reader.
//!
//! A [`Page`] says what is shown, as sections of [`Element`]s; [`html`] writes it. Everything that comes from outside is text and is
//! escaped there; only [`MathMl`] is taken as it stands. The file is well-formed XML too, so that its tests can be strict.
//!
//! ```
//! use daelight_show::page::{Element, Page, Section, html};
//!
//! let mut page = Page::new("A & B");
//! page.sections.push(Section::new("run", "Run").block(Element::text("x < 1")));
//! let text = html(&page);
//! assert!(text.contains("<h1>A &amp; B</h1>") && text.contains("x &lt; 1"));
//! ```

mod chart;
mod equations;
mod events;
mod html;
mod model;
mod passport;
mod run;
mod singular;
mod sketch;
mod start;

pub use chart::Chart;
pub use html::{PLOT_SCRIPT, PLOT_STYLE, html};
pub use model::model;
pub use run::MAX_EXPLAINED;
pub use singular::MAX_DRAWN;
pub use sketch::{Film, Still};

use crate::record::FramedRecord;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// A sentence below the title.
    pub lead: String,
    /// What a reader wants to know first.
    pub facts: Vec<Fact>,
    /// What is seen on the first screen, before the sections.
    pub summary: Vec<Element>,
    /// Its sections.
    pub sections: Vec<Section>,
    /// The last line.
    pub footer: String,
}

impl Page {
    /// A page without sections.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }
}

/// A name with a value in large letters.
#[derive(Clone, Debug)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// The value.
    pub value: String,
    /// A remark below.
    pub remark: String,
    /// Its colour.
    pub tone: Mood,
}

/// What a message means to the reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mood {
    /// Neither good nor bad.
    #[default]
    Plain,
    /// As wished.
    Good,
    /// To be looked at.
    Warning,
    /// A failure.
    Bad,
}

/// A section with a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// The fragment by which it is linked: letters and hyphens.
    pub id: &'static str,
    /// The heading.
    pub title: String,
    /// What it holds.
    pub blocks: Vec<Element>,
}

impl Section {
    /// An empty section.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self {
            id,
            title: title.into(),
            blocks: Vec::new(),
        }
    }

    /// With one block more.
    pub fn block(mut self, block: Element) -> Self {
        self.blocks.push(block);
        self
    }
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Element {
    /// A paragraph.
    Text(Vec<Inline>),
    /// How to use what scripts bring to life; not seen without them, nor on paper.
    Hint(String),
    /// A heading inside the section.
    Heading(String),
    /// Items with dots.
    List(Vec<Vec<Inline>>),
    /// Rows and columns.
    Grid(Grid),
    /// Text of a program or a terminal, with a name for those who cannot see it.
    Code {
        /// What it is.
        label: String,
        /// The text.
        text: String,
    },
    /// Equations with what they came from.
    Equations(Vec<Formula>),
    /// What is opened on demand.
    Details {
        /// The line that is always seen.
        summary: String,
        /// The rest.
        blocks: Vec<Element>,
        /// Whether paper has it too.
        is_printed: bool,
    },
    /// A message in a box.
    Notice {
        /// Its colour.
        tone: Mood,
        /// The message.
        blocks: Vec<Element>,
    },
    /// A drawing of a mechanism.
    Still(Still),
    /// Drawings side by side.
    Gallery(Vec<Still>),
    /// Elements side by side where there is room, else below each other.
    Columns(Vec<Vec<Element>>),
    /// Curves over time.
    Chart(Chart),
    /// A moving drawing.
    Film(Film),
}

impl Element {
    /// A paragraph; what stands between backticks is text of a program.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Inline::sentence(text.as_ref()))
    }

    /// A message of plain sentences.
    pub fn notice<T: AsRef<str>>(tone: Mood, sentences: impl IntoIterator<Item = T>) -> Self {
        let blocks = sentences.into_iter().map(Self::text).collect();
        Self::Notice { tone, blocks }
    }

    /// Text of a program.
    pub fn code(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Code {
            label: label.into(),
            text: text.into(),
        }
    }

    /// What is opened on demand.
    pub fn details(summary: impl Into<String>, blocks: Vec<Element>) -> Self {
        Self::Details {
            summary: summary.into(),
            blocks,
            is_printed: true,
        }
    }
}

/// A part of a line.
#[derive(Clone, Debug)]
pub enum Inline {
    /// Plain text.
    Text(String),
    /// Text of a program.
    Code(String),
    /// What matters most.
    Strong(String),
    /// A formula.
    Math(MathMl),
}

impl Inline {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Text of a program.
    pub fn code(text: impl Into<String>) -> Self {
        Self::Code(text.into())
    }

    /// A sentence; what stands between backticks is text of a program.
    pub fn sentence(text: &str) -> Vec<Self> {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return vec![Self::text(text)];
        }
        let spans = parts
            .into_iter()
            .enumerate()
            .filter(|(_, part)| !part.is_empty());
        spans
            .map(|(k, part)| match k % 2 {
                0 => Self::text(part),
                _ => Self::code(part),
            })
            .collect()
    }
}

/// Presentation MathML, without the `math` element around it. Names in it are escaped by whoever made it.
#[derive(Clone, Debug)]
pub struct MathMl(String);

impl MathMl {
    /// Markup as it stands, with signs as people set them.
    pub fn new(markup: &str) -> Self {
        Self(dotted(&markup.replace("<mo>-</mo>", "<mo>\u{2212}</mo>")))
    }

    /// The formula cut where a line may end: before relations and the signs of a sum outside all parentheses.
    fn pieces(&self) -> Vec<String> {
        let mut pieces = vec![String::new()];
        for element in elements(unwrapped(&self.0)) {
            // A side of an equation is a row of its own, if it is a sum.
            let row = match is_sum(element) {
                true => pieces_of_row(element),
                false => vec![element.to_string()],
            };
            if element == "<mo>=</mo>" {
                pieces.push("<mo form=\"infix\">=</mo>".to_string());
                continue;
            }
            let last = pieces.len() - 1;
            pieces[last].push_str(&row[0]);
            pieces.extend_from_slice(&row[1..]);
        }
        pieces
    }
}

/// The sign between factors that stand side by side.
const SIDE_BY_SIDE: &str = "<mo lspace=\"0.17em\" rspace=\"0\">&#x2062;</mo>";

/// With a dot between factors one of which is a name of several letters: `rr w` could be three factors.
fn dotted(markup: &str) -> String {
    let mut parts = markup.split(SIDE_BY_SIDE);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let is_long = |name: &str| name.chars().count() > 1;
        // Powers and subscripts stand between a name and the sign.
        let ends = ["</mi>", "</msub>", "</msup>", "</mrow>", "</mover>"];
        let left = out.rsplit_once("<mi>").map(|(_, rest)| rest);
        let left = left.filter(|rest| ends.iter().any(|end| rest.ends_with(end)));
        let left = left.filter(|rest| !rest.contains("<mo>)</mo>"));
        let left = left.and_then(|rest| rest.split_once("</mi>"));
        let left = left.is_some_and(|(name, _)| is_long(name));
        let mut right = part;
        while let Some(rest) = ["<mrow>", "<msub>", "<msup>", "<mover>"]
            .iter()
            .find_map(|begin| right.strip_prefix(begin))
        {
            right = rest;
        }
        let right = right
            .strip_prefix("<mi>")
            .and_then(|rest| rest.split_once("</mi>"));
        let right =
            right.is_some_and(|(name, rest)| is_long(name) && !rest.starts_with("<mo>(</mo>"));
        out.push_str(match left || right {
            true => "<mo>\u{22C5}</mo>",
            false => SIDE_BY_SIDE,
        });
        out.push_str(part);
    }
    out
}

/// What is inside a single row.
fn unwrapped(markup: &str) -> &str {
    let mut inside = markup;
    while let Some(inner) = inside
        .strip_prefix("<mrow>")
        .filter(|_| elements(inside).len() == 1)
        .and_then(|rest| rest.strip_suffix("</mrow>"))
    {
        inside = inner;
    }
    inside
}

/// A row cut before the signs of its sum. The beginning of a sum is a row of its own: `((a + b) + c) + d`.
fn pieces_of_row(row: &str) -> Vec<String> {
    let mut inside = elements(unwrapped(row));
    let mut tails: Vec<Vec<&str>> = Vec::new();
    while let Some(first) = inside.first().copied().filter(|first| is_sum(first)) {
        tails.push(inside.split_off(1));
        inside = elements(unwrapped(first));
    }
    let mut pieces = vec![String::new()];
    for element in inside.into_iter().chain(tails.into_iter().rev().flatten()) {
        if SIGNS.contains(&element) && pieces.last().is_some_and(|piece| !piece.is_empty()) {
            // At the beginning of a piece it would be set as the sign of a number.
            pieces.push(element.replace("<mo>", "<mo form=\"infix\">"));
            continue;
        }
        let last = pieces.len() - 1;
        pieces[last].push_str(element);
    }
    pieces
}

const SIGNS: [&str; 2] = ["<mo>+</mo>", "<mo>\u{2212}</mo>"];

/// Whether markup is a row with signs between its elements, without parentheses around it.
fn is_sum(markup: &str) -> bool {
    let is_row = markup.starts_with("<mrow>") && !markup.starts_with("<mrow><mo>");
    is_row
        && elements(unwrapped(markup))
            .iter()
            .any(|element| SIGNS.contains(element))
}

/// The elements of markup that stand side by side.
fn elements(markup: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut begin, mut at) = (0usize, 0, 0);
    while let Some(open) = markup[at..].find('<').map(|k| at + k) {
        let Some(close) = markup[open..].find('>').map(|k| open + k + 1) else {
            break;
        };
        let tag = &markup[open..close];
        if tag.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if !tag.ends_with("/>") {
            depth += 1;
        }
        at = close;
        if depth == 0 {
            found.push(&markup[begin..close]);
            begin = close;
        }
    }
    if begin < markup.len() {
        found.push(&markup[begin..]);
    }
    found
}

/// An equation.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The formula; `None` where it is too long to be read.
    pub math: Option<MathMl>,
    /// How it was written, or where it came from.
    pub source: String,
    /// The line of the text, from 1.
    pub line: Option<usize>,
}

/// A table. The first column names the rows.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// The cells.
    pub rows: Vec<Vec<Inline>>,
    /// Which columns hold numbers and are aligned to the right.
    pub numeric: Vec<usize>,
}

impl Grid {
    /// An empty table.
    pub fn new(caption: impl Into<String>, header: &[&str]) -> Self {
        Self {
            caption: caption.into(),
            header: header.iter().map(|name| (*name).to_string()).collect(),
            ..Self::default()
        }
    }

    /// With columns of numbers.
    pub fn numeric(mut self, columns: &[usize]) -> Self {
        self.numeric = columns.to_vec();
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Inline>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// A message in a box, framed as on a terminal.
fn framed(message: &FramedRecord) -> Element {
    Element::Notice {
        tone: match message.is_error {
            true => Mood::Bad,
            false => Mood::Warning,
        },
        blocks: vec![Element::code(
            message.label.clone(),
            message.text.trim_end(),
        )],
    }
}

/// With a capital letter.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// Bytes of what a command prints that a page repeats.
const MOST_PRINTED: usize = 12_000;

/// What a command prints, word for word; paper has the same in the tables.
fn verbatim(command: &str, text: String) -> Element {
    let summary = format!("As printed by daelight {command}");
    let mut text = text.trim_end().to_string();
    if text.len() > MOST_PRINTED {
        text.truncate(text.floor_char_boundary(MOST_PRINTED));
        text.push_str(&format!("\n… `daelight {command}` prints the rest."));
    }
    let code = Element::code(summary.clone(), text);
    Element::Details {
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
    section.blocks.push(Element::Heading("Remarks".to_string()));
    let items = sentences.iter().map(|text| Inline::sentence(text));
    section.blocks.push(Element::List(items.collect()));
}
