//! The one place where text becomes HTML.

use super::{Block, Equation, Fact, Page, Section, Span, Table, Tone};

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
const PLOT_STYLE: &str = include_str!("../../assets/uPlot.min.css");
const PLOT_SCRIPT: &str = include_str!("../../assets/uPlot.iife.min.js");

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
    to.open("nav", &[("aria-label", "Sections")]);
    to.open("ol", &[]);
    for section in &page.sections {
        to.open("li", &[]);
        to.element(
            "a",
            &[("href", &format!("#{}", section.id))],
            &section.title,
        );
        to.close("li");
    }
    to.close("ol");
    to.close("nav");
    to.open("main", &[("id", "content"), ("tabindex", "-1")]);
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

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
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

    pub(crate) fn spans(&mut self, spans: &[Span]) {
        for span in spans {
            self.span(span);
        }
    }

    fn span(&mut self, span: &Span) {
        let wrapped = |this: &mut Self, name: &str, text: &str| {
            this.open(name, &[]);
            this.escaped(text);
            // No space may follow.
            this.text.push_str(&format!("</{name}>"));
        };
        match span {
            Span::Text(text) => self.escaped(text),
            Span::Code(text) => wrapped(self, "code", text),
            Span::Strong(text) => wrapped(self, "strong", text),
            Span::Math(math) => self.raw(&format!("<math xmlns=\"{MATH}\">{}</math>", math.0)),
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(spans) => self.wrapped("p", spans),
            Block::Hint(text) => {
                self.element("p", &[("class", "hint screen"), ("hidden", "")], text);
            }
            Block::Heading(text) => self.element("h3", &[], text),
            Block::List(items) => {
                self.open("ul", &[]);
                for item in items {
                    self.wrapped("li", item);
                }
                self.close("ul");
            }
            Block::Table(table) => self.table(table),
            Block::Code { label, text } => {
                self.element(
                    "pre",
                    &[("tabindex", "0"), ("role", "region"), ("aria-label", label)],
                    text,
                );
            }
            Block::Equations(equations) => self.equations(equations),
            Block::Details {
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
            Block::Notice { tone, blocks } => {
                let class = format!("notice {}", tone_class(*tone));
                self.open("div", &[("class", &class), ("role", "note")]);
                self.blocks(blocks);
                self.close("div");
            }
            Block::Picture(picture) => picture.write(false, self),
            Block::Gallery(pictures) => {
                self.open("div", &[("class", "gallery")]);
                for picture in pictures {
                    picture.write(true, self);
                }
                self.close("div");
            }
            Block::Chart(chart) => {
                self.n_charts += 1;
                chart.write(self.n_charts, self);
            }
            Block::Film(film) => {
                self.n_films += 1;
                film.write(self.n_films, self);
            }
        }
    }

    fn wrapped(&mut self, name: &str, spans: &[Span]) {
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

    fn table(&mut self, table: &Table) {
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

    fn equations(&mut self, equations: &[Equation]) {
        self.open("ol", &[("class", "equations")]);
        for (number, equation) in (1..).zip(equations) {
            self.open("li", &[]);
            match &equation.math {
                Some(math) => self.scrolling(&format!("Equation {number}"), |to| {
                    let class = match math.width() {
                        0..=60 => "plain",
                        61..=150 => "wide",
                        _ => "vast",
                    };
                    to.raw(&format!(
                        "<math display=\"block\" class=\"{class}\" xmlns=\"{MATH}\">{}</math>",
                        math.0
                    ));
                }),
                None => self.element("p", &[("class", "long")], "too long to be set as a formula"),
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

#[cfg(test)]
mod tests {
    use super::super::{Chart, Film, MathMl, Picture};
    use super::*;
    use crate::record::Series;
    use crate::scene::{Bounds, Scene, Stage};
    use daelight_plot::Mark;

    /// A page with every kind of block, all texts hostile.
    fn page() -> Page {
        let text = || "</script>&<b a=\"'\">]]>\u{1}".to_string();
        let spans = || vec![Span::Text(text()), Span::Code(text()), Span::Strong(text())];
        let mut table = Table::new(text(), &[&text(), "number"]).numeric(&[1]);
        table.row([
            Span::Text(text()),
            Span::Math(MathMl::new("<mi>x</mi><mo>-</mo>")),
        ]);
        let stage = Stage {
            bounds: Bounds {
                min: [0.0, 0.0],
                max: [1.0, 0.0],
            },
            fixed: vec![vec![true, false], vec![true, true]],
            unit: Some(text()),
            axes: Some([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]),
        };
        let frame = vec![
            vec![[0.0, 0.0], [f64::NAN, 1.0]],
            vec![[0.0, 0.0], [1.0, 0.0]],
        ];
        let picture = Picture {
            stage: stage.clone(),
            frame: frame.clone(),
            ghosts: vec![frame.clone()],
            caption: spans(),
            description: text(),
        };
        let mark = || Mark {
            at: 0.5,
            label: text(),
        };
        let film = Film {
            scene: Scene {
                stage,
                times: vec![0.0, 1.0],
                frames: vec![frame.clone(), frame],
            },
            marks: vec![mark()],
            caption: spans(),
            description: text(),
        };
        let chart = Chart {
            caption: text(),
            x_label: text(),
            y_label: text(),
            times: vec![0.0, 0.5, 1.0],
            series: vec![Series {
                name: text(),
                unit: String::new(),
                values: vec![1.0, f64::NAN, 2.0],
            }],
            marks: vec![mark()],
            is_logarithmic: true,
            y_limits: None,
        };
        let equation = Equation {
            math: None,
            source: text(),
            line: Some(3),
        };
        let notice = |tone| Block::notice(tone, [text()]);
        let mut page = Page::new(text());
        page.lead = text();
        page.footer = text();
        page.facts.push(Fact {
            name: text(),
            value: text(),
            remark: text(),
            tone: Tone::Bad,
        });
        page.sections.push(Section {
            id: "all",
            title: text(),
            blocks: vec![
                Block::Text(spans()),
                Block::Hint(text()),
                Block::Heading(text()),
                Block::List(vec![spans()]),
                Block::Table(table),
                Block::code(text(), text()),
                Block::Equations(vec![equation]),
                Block::details(text(), vec![notice(Tone::Good), notice(Tone::Warning)]),
                Block::Picture(picture.clone()),
                Block::Gallery(vec![picture]),
                Block::Chart(chart),
                Block::Film(film),
            ],
        });
        page
    }

    #[test]
    fn whatever_the_texts_are_the_page_is_well_formed() {
        let text = html(&page());
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        let document = match roxmltree::Document::parse_with_options(&text, options) {
            Ok(document) => document,
            Err(error) => panic!("{error}"),
        };
        assert!(!document.descendants().any(|node| node.has_tag_name("b")));
        let programs = document
            .descendants()
            .filter(|node| node.tag_name().name() == "script" && node.attribute("type").is_none());
        assert_eq!(programs.count(), 1);
        // In HTML the first end of a script ends it, whatever XML thinks.
        assert_eq!(text.matches("</script").count(), 3);
        assert!(text.contains("<mo>\u{2212}</mo>"));
    }

    #[test]
    fn sentences_set_what_is_quoted() {
        let spans = Span::sentence("use `init --all` now");
        assert!(
            matches!(&spans[..], [Span::Text(_), Span::Code(code), Span::Text(_)] if code == "init --all")
        );
        assert!(matches!(
            &Span::sentence("one ` alone")[..],
            [Span::Text(_)]
        ));
    }
}
