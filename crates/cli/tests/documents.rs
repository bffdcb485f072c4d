//! The documents are true: their commands print what they show, their paths exist.

use crate::common;
use crate::common::{daelight, root};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// A folder to look for programs in that holds nothing but these, under the names given.
fn folder_with(programs: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, place) in programs {
        std::os::unix::fs::symlink(place, folder.path().join(name)).expect("a link");
    }
    folder
}

/// Where a shell is installed.
fn place_of(shell: &str) -> Option<PathBuf> {
    ["/bin", "/usr/bin", "/usr/local/bin"]
        .map(|folder| Path::new(folder).join(shell))
        .into_iter()
        .find(|place| place.exists())
}

/// The shells that commands are pasted into. Where zsh is not installed bash alone reads them; the checks of a clean
/// checkout install it.
fn shells() -> Vec<&'static str> {
    let zsh = place_of("zsh").map(|_| "zsh");
    ["bash"].into_iter().chain(zsh).collect()
}

/// What a shell does with a line as it stands, where it finds the programs of one folder and no others.
fn pasted_into(shell: &str, line: &str, programs: &tempfile::TempDir, at: &Path) -> Output {
    Command::new(place_of(shell).unwrap_or_else(|| PathBuf::from(shell)))
        .args(["-c", line])
        .env("PATH", programs.path())
        .current_dir(at)
        .output()
        .unwrap_or_else(|error| panic!("{shell} does not run: {error}"))
}

/// Writes the models of a page to files named after them, runs its commands and compares.
fn check_commands(page: &Path) -> usize {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder_with(&[("daelight", env!("CARGO_BIN_EXE_daelight"))]);
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
            let pasted = command.strip_prefix("$ ").expect("a command");
            for shell in shells() {
                let output = pasted_into(shell, pasted, &program, folder.path());
                let printed = [output.stderr, output.stdout].concat();
                let printed = String::from_utf8(printed).expect("UTF-8");
                assert_eq!(
                    printed.trim_end(),
                    expected.trim_end(),
                    "{}, by {shell}: {command}",
                    page.display()
                );
            }
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
fn refusals_are_what_they_are_said_to_be() {
    assert!(check_commands(&root().join("docs/refusals.md")) >= 20);
}

#[test]
fn the_guides_show_real_output() {
    let folder = root().join("docs/guide");
    let pages = std::fs::read_dir(&folder).expect("the folder of guides");
    for page in pages {
        let page = page.expect("an entry").path();
        if page.extension().is_none_or(|e| e != "md") {
            continue;
        }
        // The page about Python is run by the Python tests.
        if page.ends_with("python.md") {
            continue;
        }
        assert!(check_commands(&page) >= 1, "{}", page.display());
    }
}

/// The commands that a text shows: in blocks, indented, and in the middle of sentences. Options alone count as well.
fn shown_commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indented = line.strip_prefix("  ").map(str::trim_start);
        let start = line.strip_prefix("$ ").or(indented);
        if let Some(start) = start.filter(|start| start.starts_with("daelight ")) {
            let mut command = start.to_string();
            while let Some(kept) = command.strip_suffix('\\') {
                let next = lines.next().expect("a line that goes on");
                command = format!("{kept}{}", next.trim_start());
            }
            // What stands far to the right in a list of examples is an explanation.
            let command = command.split("   ").next().expect("a part");
            commands.push(command.to_string());
        } else {
            commands.extend(
                line.split('`')
                    .skip(1)
                    .step_by(2)
                    .filter(|piece| piece.starts_with("daelight ") || piece.starts_with("--"))
                    .map(|piece| match piece.strip_prefix("--") {
                        Some(_) => format!("daelight {piece}"),
                        None => piece.to_string(),
                    }),
            );
        }
    }
    commands
}

/// The words of a line as its author means them: blanks part words, quotes hold them together. Of several programs
/// in a row the last one prints, to a file if there is a `>`.
fn words_meant(line: &str) -> Vec<String> {
    let last = line.rsplit(" | ").next().expect("a part");
    if last.contains(" > ") {
        return Vec::new();
    }
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in last.trim().chars() {
        match quote {
            Some(open) if character == open => quote = None,
            None if character == '"' || character == '\'' => quote = Some(character),
            None if character == ' ' => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(character),
        }
    }
    words
        .into_iter()
        .skip(1)
        .filter(|word| !word.is_empty())
        .collect()
}

/// Every file below a folder with this ending.
fn below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            below(&path, ending, found);
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
}

/// Shells read `[`, `{`, `<`, `*` and `!` in ways of their own. A command that survives bash and zsh means the same to both.
#[test]
fn commands_survive_being_pasted_into_bash_and_zsh() {
    let shells = shells();
    let mut pages = vec![root().join("README.md"), root().join("python/README.md")];
    for folder in ["docs", "models", "bench"] {
        below(&root().join(folder), "md", &mut pages);
    }
    let mut texts: Vec<(String, String)> = pages
        .iter()
        .map(|page| {
            (
                page.display().to_string(),
                std::fs::read_to_string(page).expect("a page"),
            )
        })
        .collect();
    let help = common::stdout(&daelight(&["--help"]));
    for command in commands_of(&help) {
        let help = common::stdout(&daelight(&[&command, "--help"]));
        texts.push((format!("daelight {command} --help"), help));
    }
    texts.push(("daelight --help".to_string(), help));

    // Stands for every program: prints its words, one to a line.
    let words = tempfile::tempdir().expect("a temporary folder");
    let script = words.path().join("words");
    std::fs::write(
        &script,
        "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done\n",
    )
    .expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("runnable");
    let script = script.to_str().expect("UTF-8");
    let programs = folder_with(&[("daelight", script), ("man", script), ("cat", script)]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut n = 0;
    for (page, text) in &texts {
        for command in shown_commands(text) {
            // A home folder stands for the temporary one.
            let line = command.replace("~/.local/share", "share");
            let line = line.split(" > share").next().expect("a part");
            let outputs = shells.iter().map(|shell| {
                let output = pasted_into(shell, line, &programs, folder.path());
                (*shell, output)
            });
            let outputs: Vec<(&str, Output)> = outputs.collect();
            for (shell, output) in &outputs {
                assert!(
                    output.status.success(),
                    "{page}: {shell} refuses {line}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
            let meant: String = words_meant(line)
                .iter()
                .map(|word| format!("{word}\n"))
                .collect();
            for (_, output) in &outputs {
                let read = String::from_utf8_lossy(&output.stdout);
                assert_eq!(
                    read, meant,
                    "{page}: a shell reads this in another way: {line}"
                );
            }
            n += 1;
        }
    }
    assert!(n > 200, "only {n} commands were found");
}

/// The commands that a help page lists.
fn commands_of(help: &str) -> Vec<String> {
    let list = help.split("Commands:").nth(1).expect("a list of commands");
    list.lines()
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .map(|line| {
            line.split_whitespace()
                .next()
                .expect("a command")
                .to_string()
        })
        .collect()
}

#[test]
fn the_readme_names_every_command() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let help = common::stdout(&daelight(&["--help"]));
    for command in commands_of(&help) {
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
