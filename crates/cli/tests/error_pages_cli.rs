//! The commands shown on the pages of `docs/errors/` print exactly what the pages show.

use crate::common::{root, stderr, stdout};
use daelight_lang::Code;
use std::process::{Command, Output};

/// Runs a command line of a page in the root of the project.
fn run(line: &str) -> Output {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("$"), "{line}");
    assert_eq!(words.next(), Some("daelight"), "{line}");
    Command::new(env!("CARGO_BIN_EXE_daelight"))
        .args(words)
        .current_dir(root())
        .output()
        .expect("the program runs")
}

/// Without blanks at the ends of lines, which frames carry and pages do not.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_string()
}

/// Runs all `console` blocks of a page; how many there were, and what they printed.
fn check(code: Code) -> (usize, String) {
    let path = root().join(format!("docs/errors/{}.md", code.word()));
    let page = std::fs::read_to_string(&path).expect("every code has a page");
    let mut count = 0;
    let mut printed = String::new();
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the block is closed");
        let (line, expected) = block.split_once('\n').expect("a command");
        let output = run(line);
        let errors = stderr(&output);
        let shown = format!("{}{errors}", stdout(&output));
        assert_eq!(trimmed(&shown), trimmed(expected), "{line}");
        let failed = errors.contains("error[");
        assert_eq!(
            output.status.success(),
            !failed,
            "{line}: {}",
            output.status
        );
        let has_help = errors.to_lowercase().contains("help: ");
        assert!(!failed || has_help, "{line}: no help");
        count += 1;
        printed += &shown;
    }
    (count, printed)
}

#[test]
fn pages_show_what_the_commands_print() {
    let total: usize = Code::ALL.iter().map(|&code| check(code).0).sum();
    assert!(total >= 4, "{total} commands");
}

#[test]
fn codes_of_the_command_line_are_shown_as_commands() {
    for code in [
        Code::UnreadableFile,
        Code::UnknownModel,
        Code::UnknownParameter,
        Code::MalformedSet,
        Code::NotReducible,
        Code::UnknownInput,
        Code::BadInput,
        Code::BadFmu,
        Code::InconsistentInitial,
        Code::SingularStart,
        Code::NoConsistentStart,
    ] {
        let (_, printed) = check(code);
        let headline = format!("error[{}]", code.word());
        assert!(printed.contains(&headline), "no command gives {headline}");
    }
}
