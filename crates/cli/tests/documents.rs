//! The documents are true: their commands print what they show, their paths exist.

mod common;

use common::{daelight, root};
use std::collections::BTreeMap;
use std::path::Path;

/// Fenced blocks of a page: what stands behind the fence, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((kind.to_string(), text.join("\n")));
        }
    }
    blocks
}

/// Writes the models of a page to files named after them, runs its commands and compares.
fn check_commands(page: &Path) -> usize {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut files = BTreeMap::new();
    let mut commands = 0;
    for (kind, block) in blocks(&text) {
        if kind == "modelica" {
            let name = block
                .split_whitespace()
                .nth(1)
                .expect("a model has a name")
                .to_lowercase();
            files.insert(name, block);
        } else if kind == "console" {
            for (name, text) in &files {
                std::fs::write(
                    folder.path().join(format!("{name}.mo")),
                    format!("{text}\n"),
                )
                .unwrap();
            }
            let (command, expected) = block.split_once('\n').expect("a command and its output");
            let arguments: Vec<&str> = command
                .strip_prefix("$ daelight ")
                .expect("a daelight command")
                .split(' ')
                .collect();
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_daelight"))
                .args(&arguments)
                .current_dir(folder.path())
                .output()
                .expect("the binary runs");
            let printed = [output.stderr, output.stdout].concat();
            let printed = String::from_utf8(printed).expect("UTF-8");
            assert_eq!(
                printed.trim_end(),
                expected.trim_end(),
                "{}: {command}",
                page.display()
            );
            commands += 1;
        }
    }
    commands
}

#[test]
fn the_readme_shows_real_output() {
    assert!(check_commands(&root().join("README.md")) >= 3);
}

#[test]
fn the_guides_show_real_output() {
    let folder = root().join("docs/guide");
    let pages = std::fs::read_dir(&folder).expect("the folder of guides");
    for page in pages {
        let page = page.expect("an entry").path();
        // The page about Python is run by the Python tests.
        if page.ends_with("python.md") {
            continue;
        }
        assert!(check_commands(&page) >= 1, "{}", page.display());
    }
}

#[test]
fn the_readme_names_every_command() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let help = common::stdout(&daelight(&["--help"]));
    let commands = help.split("Commands:").nth(1).expect("a list of commands");
    for line in commands
        .lines()
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
    {
        let command = line.split_whitespace().next().expect("a command");
        assert!(
            readme.contains(&format!("`daelight {command}")),
            "README.md lacks {command}"
        );
    }
}

#[test]
fn the_architecture_page_names_every_crate_and_existing_paths() {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            page.contains(&format!("`crates/{name}`")),
            "docs/architecture.md lacks {name}"
        );
    }
    let mut paths = 0;
    for piece in page.split('`').skip(1).step_by(2) {
        if piece.contains('/') && !piece.contains(' ') && !piece.contains('<') {
            assert!(
                root().join(piece).exists(),
                "docs/architecture.md names {piece}"
            );
            paths += 1;
        }
    }
    assert!(paths > 20);
}
