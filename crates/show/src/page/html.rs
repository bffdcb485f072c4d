//! The one place where text becomes HTML.

use super::{Element, Fact, Formula, Grid, Inline, Mood, Page, Section};

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
/// The style of plots that can be zoomed.
pub const PLOT_STYLE: &str = include_str!("../../assets/uPlot.min.css");
/// The script of plots that can be zoomed: uPlot.
pub const PLOT_SCRIPT: &str = include_str!("../../assets/uPlot.iife.min.js");

/// No request leaves the page, whatever a model's text says.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The page as one HTML file.
pub fn html(page: &Page) -> String {
    let mut to = Writer::default();
    to.raw("<!DOCTYPE html>\n");
    to.open(
        "html",
        &[("lang", "en"), ("xmlns", "http://www.w3.org/1999/xhtml")],
    );
    to.open("head", &[]);
    to.open_close("meta", &[("charset", "utf-8")]);
    to.open_close(
        "meta",
        &[
            ("http-equiv", "Content-Security-Policy"),
            ("content", POLICY),
        ],
    );
    to.open_close(
        "meta",
        &[
            ("name", "viewport"),
            ("content", "width=device-width, initial-scale=1"),
        ],
    );
    to.open_close(
        "meta",
        &[("name", "color-scheme"), ("content", "light dark")],
    );
    to.open_close("link", &[("rel", "icon"), ("href", "data:,")]);
    to.element("title", &[], &page.title);
    to.raw(&format!(
        "<style>/*<![CDATA[*/\n{PLOT_STYLE}\n{STYLE}/*]]>*/</style>\n"
    ));
    to.close("head");
    to.open("body", &[]);
    to.element(
        "a",
        &[("class", "skip"), ("href", "#content")],
        "Skip to the content",
    );
    to.open("header", &[]);
    to.element("h1", &[], &page.title);
    if !page.lead.is_empty() {
        to.element("p", &[("class", "lead")], &page.lead);
    }
    facts(&page.facts, &mut to);
    to.close("header");
    navigation(page, &mut to);
    to.open("main", &[("id", "content"), ("tabindex", "-1")]);
    if !page.summary.is_empty() {
        to.open("section", &[("id", "summary"), ("aria-label", "Summary")]);
        to.blocks(&page.summary);
        to.close("section");
    }
    for section in &page.sections {
        self::section(section, &mut to);
    }
    to.close("main");
    to.open("footer", &[]);
    to.element("p", &[], &page.footer);
    to.close("footer");
    to.raw(&format!(
        "<script>//<![CDATA[\n{PLOT_SCRIPT}\n{SCRIPT}//]]></script>\n"
    ));
    to.close("body");
    to.close("html");
    to.text
}

fn navigation(page: &Page, to: &mut Writer) {
    to.open("nav", &[("aria-label", "Sections")]);
    to.open("ol", &[]);
    for section in &page.sections {
        to.open("li", &[]);
        let target = format!("#{}", section.id);
        to.element("a", &[("href", &target)], &section.title);
        to.close("li");
    }
    to.close("ol");
    to.close("nav");
}

fn section(section: &Section, to: &mut Writer) {
    let heading = format!("{}-heading", section.id);
    to.open(
        "section",
        &[("id", section.id), ("aria-labelledby", &heading)],
    );
    to.element("h2", &[("id", &heading)], &section.title);
    to.blocks(&section.blocks);
    to.close("section");
}

fn facts(facts: &[Fact], to: &mut Writer) {
    if facts.is_empty() {
        return;
    }
    to.open("dl", &[("class", "facts")]);
    for fact in facts {
        to.open("div", &[("class", tone_class(fact.tone))]);
        to.element("dt", &[], &fact.name);
        to.element("dd", &[("class", "value")], &fact.value);
        if !fact.remark.is_empty() {
            to.element("dd", &[("class", "remark")], &fact.remark);
        }
        to.close("div");
    }
    to.close("dl");
}

fn tone_class(tone: Mood) -> &'static str {
    match tone {
        Mood::Plain => "plain",
        Mood::Good => "good",
        Mood::Warning => "warning",
        Mood::Bad => "bad",
    }
}

/// Data for scripts. Nothing in it can end the element.
pub(crate) fn json(class: &str, data: &serde_json::Value) -> String {
    let text = data.to_string();
    let text = text
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    format!("<script type=\"application/json\" class=\"{class}\">{text}</script>\n")
}

/// Elements with escaped text.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    n_charts: usize,
    n_films: usize,
}

impl Writer {
    pub(crate) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, ">");
    }

    /// An element without content.
    pub(crate) fn open_close(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, "/>\n");
    }

    pub(crate) fn close(&mut self, name: &str) {
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push_str(">\n");
    }

    /// An element with text alone.
    pub(crate) fn element(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.escaped(text);
        self.close(name);
    }

    /// What is HTML already.
    pub(crate) fn raw(&mut self, html: &str) {
        self.text.push_str(html);
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        self.text.push('<');
        self.text.push_str(name);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.escaped(value);
            self.text.push('"');
        }
        self.text.push_str(end);
    }

    /// Text; characters that no document may hold are replaced.
    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\n' | '\t' => self.text.push(character),
                c if c.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&c) => {
                    self.text.push('\u{fffd}')
                }
                c => self.text.push(c),
            }
        }
    }

    pub(crate) fn spans(&mut self, spans: &[Inline]) {
        for span in spans {
            self.span(span);
        }
    }

    fn span(&mut self, span: &Inline) {
        let wrapped = |this: &mut Self, name: &str, text: &str| {
            this.open(name, &[]);
            this.escaped(text);
            // No space may follow.
            this.text.push_str(&format!("</{name}>"));
        };
        match span {
            Inline::Text(text) => self.escaped(text),
            Inline::Code(text) => wrapped(self, "code", text),
            Inline::Strong(text) => wrapped(self, "strong", text),
            Inline::Math(math) => self.raw(&format!("<math xmlns=\"{MATH}\">{}</math>", math.0)),
        }
    }

    fn blocks(&mut self, blocks: &[Element]) {
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Element) {
        match block {
            Element::Text(spans) => self.wrapped("p", spans),
            Element::Hint(text) => {
                self.element("p", &[("class", "hint screen"), ("hidden", "")], text);
            }
            Element::Heading(text) => self.element("h3", &[], text),
            Element::List(items) => {
                self.open("ul", &[]);
                for item in items {
                    self.wrapped("li", item);
                }
                self.close("ul");
            }
            Element::Grid(table) => self.table(table),
            Element::Code { label, text } => {
                self.element(
                    "pre",
                    &[("tabindex", "0"), ("role", "region"), ("aria-label", label)],
                    text,
                );
            }
            Element::Equations(equations) => self.equations(equations),
            Element::Details {
                summary,
                blocks,
                is_printed,
            } => {
                let class = if *is_printed { "plain" } else { "screen" };
                self.open("details", &[("class", class)]);
                self.element("summary", &[], summary);
                self.blocks(blocks);
                self.close("details");
            }
            Element::Notice { tone, blocks } => {
                let class = format!("notice {}", tone_class(*tone));
                self.open("div", &[("class", &class), ("role", "note")]);
                self.blocks(blocks);
                self.close("div");
            }
            Element::Still(picture) => picture.write(false, self),
            Element::Gallery(pictures) => {
                self.open("div", &[("class", "gallery")]);
                for picture in pictures {
                    picture.write(true, self);
                }
                self.close("div");
            }
            Element::Columns(columns) => {
                self.open("div", &[("class", "columns")]);
                for column in columns.iter().filter(|column| !column.is_empty()) {
                    self.open("div", &[]);
                    self.blocks(column);
                    self.close("div");
                }
                self.close("div");
            }
            Element::Chart(chart) => {
                self.n_charts += 1;
                chart.write(self.n_charts, self);
            }
            Element::Film(film) => {
                self.n_films += 1;
                film.write(self.n_films, self);
            }
        }
    }

    fn wrapped(&mut self, name: &str, spans: &[Inline]) {
        self.open(name, &[]);
        self.spans(spans);
        self.close(name);
    }

    /// A box that scrolls sideways when the screen is narrow.
    fn scrolling(&mut self, label: &str, write: impl FnOnce(&mut Self)) {
        self.open(
            "div",
            &[
                ("class", "scroll"),
                ("tabindex", "0"),
                ("role", "region"),
                ("aria-label", label),
            ],
        );
        write(self);
        self.close("div");
    }

    fn table(&mut self, table: &Grid) {
        let class = |column: usize| {
            if table.numeric.contains(&column) {
                "number"
            } else {
                "word"
            }
        };
        self.scrolling(&table.caption, |to| {
            to.open("table", &[]);
            to.element("caption", &[], &table.caption);
            to.open("thead", &[]);
            to.open("tr", &[]);
            for (column, name) in table.header.iter().enumerate() {
                to.element("th", &[("scope", "col"), ("class", class(column))], name);
            }
            to.close("tr");
            to.close("thead");
            to.open("tbody", &[]);
            for row in &table.rows {
                to.open("tr", &[]);
                for (column, cell) in row.iter().enumerate() {
                    let name = if column == 0 { "th" } else { "td" };
                    let attributes: &[(&str, &str)] = match column {
                        0 => &[("scope", "row"), ("class", class(0))],
                        _ => &[("class", class(column))],
                    };
                    to.open(name, attributes);
                    to.span(cell);
                    to.close(name);
                }
                to.close("tr");
            }
            to.close("tbody");
            to.close("table");
        });
    }

    fn equations(&mut self, equations: &[Formula]) {
        self.open("ol", &[("class", "equations")]);
        for (number, equation) in (1..).zip(equations) {
            self.open("li", &[]);
            if let Some(math) = &equation.math {
                self.scrolling(&format!("Equation {number}"), |to| {
                    // Each piece is a formula of its own, so that lines break between them.
                    for piece in math.pieces() {
                        let piece = format!("<math xmlns=\"{MATH}\"><mrow>{piece}</mrow></math> ");
                        to.raw(&piece);
                    }
                });
            }
            self.open("p", &[("class", "source")]);
            if let Some(line) = equation.line {
                self.element("span", &[("class", "line")], &format!("line {line}"));
            }
            self.element("code", &[], &equation.source);
            self.close("p");
            self.close("li");
        }
        self.close("ol");
    }
}

const MATH: &str = "http://www.w3.org/1998/Math/MathML";
