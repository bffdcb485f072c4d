//! The pages under `docs/errors/` are tests: every example says exactly what its page claims.
//!
//! A page holds fenced blocks. A `modelica` block, with `--set`, `--model` or `latin-1` behind the
//! word where needed, is followed by a `text` block with one line for each diagnostic. A block
//! `modelica fixed` must load without any. Blocks marked `console` run the command itself and are
//! checked by the crate `daelight`.

use daelight_lang::{
    Code, Diagnostic, Loaded, Options, Severity, UnitCheck, balance, check_units, load,
};
use std::path::{Path, PathBuf};

/// Codes of the command line: no text of a model can produce them.
const COMMAND_LINE_ONLY: &[Code] = &[
    Code::UnreadableFile,
    Code::UnknownModel,
    Code::InconsistentInitial,
    Code::SingularStart,
    Code::NoConsistentStart,
    Code::NotReducible,
    Code::UnknownInput,
    Code::BadInput,
    Code::BadFmu,
];

const FILE: &str = "example.mo";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors")
}

fn page_text(name: &str) -> String {
    let path = folder().join(format!("{name}.md"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A fenced block: what stands behind the fence, its text, and the line where it begins.
struct Block {
    info: String,
    text: String,
    line: usize,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Block {
                    info: info.trim().to_string(),
                    text: String::new(),
                    line: number + 1,
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// Loads an example the way `daelight check` does, diagnostics of the balance included.
fn run(block: &Block) -> Loaded {
    let mut options = Options::default();
    let mut bytes = block.text.clone().into_bytes();
    let mut words = block.info.split_whitespace().skip(1);
    while let Some(word) = words.next() {
        match word {
            "--set" => options.set.extend(words.next().map(str::to_string)),
            "--model" => options.model = words.next().map(str::to_string),
            // One byte for each character, as old editors save it.
            "latin-1" => {
                bytes = block
                    .text
                    .chars()
                    .map(|c| u8::try_from(u32::from(c)).expect("a character of Latin-1"))
                    .collect();
            }
            "fixed" => {}
            other => panic!(
                "line {}: `{other}` has no meaning behind a fence",
                block.line
            ),
        }
    }
    let mut loaded = load(FILE, &bytes, &options);
    if let Some(model) = &loaded.model {
        let mut more = balance(model).diagnostics(model);
        more.extend(check_units(model, UnitCheck::Warn));
        loaded.diagnostics.extend(more);
    }
    loaded
}

/// `severity[code] line:column message | help: the help text`.
fn line_of(diagnostic: &Diagnostic, loaded: &Loaded) -> String {
    let mut line = format!(
        "{}[{}] ",
        diagnostic.severity.word(),
        diagnostic.code.word()
    );
    if let Some(span) = diagnostic.span {
        let source = loaded.sources.get(span.source);
        if source.name() != FILE {
            line += &format!("{} ", source.name());
        }
        let (row, column) = source.line_column(span.start);
        line += &format!("{row}:{column} ");
    }
    line += &diagnostic.message;
    if let Some(help) = &diagnostic.help {
        line += &format!(" | help: {help}");
    }
    line
}

fn lines_of(loaded: &Loaded) -> Vec<String> {
    loaded
        .diagnostics
        .iter()
        .map(|diagnostic| line_of(diagnostic, loaded))
        .collect()
}

/// Every diagnostic has one help, a short headline and a place inside its text.
fn check_form(diagnostic: &Diagnostic, loaded: &Loaded, at: &str) {
    let help = diagnostic.help.as_deref().unwrap_or("");
    assert!(!help.trim().is_empty(), "{at}: no help");
    assert!(!help.contains('\n'), "{at}: a help is one line");
    let message = &diagnostic.message;
    assert!(!message.ends_with('.'), "{at}: a headline has no full stop");
    assert!(message.len() < 120, "{at}: a headline is short");
    let span = diagnostic.span.unwrap_or_else(|| panic!("{at}: no place"));
    let source = loaded.sources.get(span.source);
    let inside = span.start <= span.end && span.end as usize <= source.text().len();
    assert!(inside, "{at}: the place is outside");
    let (row, column) = source.line_column(span.start);
    let width = source.text()[source.line_range(row)].chars().count();
    assert!(
        column <= width,
        "{at}: column {column} of a line of {width} characters"
    );
    for (place, _) in &diagnostic.related {
        let length = loaded.sources.get(place.source).text().len();
        assert!(place.end as usize <= length, "{at}: a related place");
    }
}

/// Checks all examples of the page of a code.
fn check(code: Code) {
    let name = code.word();
    let page = page_text(name);
    assert!(page.starts_with(&format!("# {name}\n\n")), "{name}: title");
    let blocks = blocks(&page);
    let mut produced = COMMAND_LINE_ONLY.contains(&code);
    let mut rest = blocks.iter().peekable();
    while let Some(block) = rest.next() {
        let at = format!("docs/errors/{name}.md:{}", block.line);
        if block.info.split_whitespace().next() != Some("modelica") {
            assert_eq!(block.info, "console", "{at}: a block that nothing checks");
            continue;
        }
        let loaded = run(block);
        let lines = lines_of(&loaded);
        for diagnostic in &loaded.diagnostics {
            check_form(diagnostic, &loaded, &at);
        }
        if block.info.split_whitespace().any(|word| word == "fixed") {
            assert!(loaded.diagnostics.is_empty(), "{at}: {lines:#?}");
            assert!(loaded.model.is_some(), "{at}: no model");
            continue;
        }
        let expected = rest.next_if(|next| next.info == "text");
        let expected = expected.unwrap_or_else(|| panic!("{at}: no `text` block follows"));
        assert_eq!(lines.join("\n"), expected.text.trim_end(), "{at}");
        // Equations that are too many are found in a model.
        let errors = loaded.diagnostics.iter().any(|diagnostic| {
            diagnostic.severity == Severity::Error && diagnostic.code != Code::Overdetermined
        });
        assert_eq!(loaded.model.is_none(), errors, "{at}: errors and no model");
        produced |= loaded
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.code == code);
    }
    assert!(produced, "{name}: no example produces the code");
}

#[test]
fn every_page_says_what_daelight_says() {
    for &code in Code::ALL {
        check(code);
    }
}

#[test]
fn every_page_belongs_to_a_code_and_the_index_lists_all() {
    let mut pages: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of pages")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("a plain name"))
        .filter(|name| name != "README.md")
        .collect();
    pages.sort();
    let words: Vec<&str> = Code::ALL.iter().map(|code| code.word()).collect();
    let mut expected: Vec<String> = words.iter().map(|word| format!("{word}.md")).collect();
    expected.sort();
    assert_eq!(pages, expected);

    let index = page_text("README");
    let rows: Vec<&str> = index
        .lines()
        .filter_map(|line| line.strip_prefix("| [")?.split(']').next())
        .collect();
    assert_eq!(rows, words, "one row for each code, in the order of stages");
    for word in words {
        let link = format!("| [{word}]({word}.md) |");
        assert!(index.contains(&link), "{word}: the link");
    }
}

#[test]
fn three_mistakes_of_one_file_are_reported_as_three() {
    let loaded = run(&Block {
        info: "modelica".into(),
        text: include_str!("three_errors.mo").into(),
        line: 1,
    });
    let expected = [
        "error[syntax] 4:30 expected `;`, found `parameter` | help: put `;` here",
        "error[wrong-size] 5:31 `inertia` is a vector of 2 elements, its value is a vector of 3 \
         elements | help: give both the same sizes",
        "error[undeclared-name] 10:47 `dampng` is not declared | help: did you mean `damping`?",
    ];
    assert_eq!(lines_of(&loaded), expected);
}
