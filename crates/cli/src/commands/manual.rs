//! The commands `man` and `completions`: what packagers take from the command line's own words.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::terminal::{Status, Terminal};
use clap::CommandFactory;

/// Prints a completion script for a shell.
pub fn completions(arguments: &CompletionsArgs, terminal: &Terminal) -> Status {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "daelight",
        &mut script,
    );
    terminal.answer(&script, None)
}

/// Prints a manual page, made of the same words as `--help`.
pub fn manual(arguments: &ManArgs, terminal: &Terminal) -> Status {
    let name = arguments.command.as_deref();
    let mut whole = Cli::command();
    whole.build();
    let page = match name {
        None => Some(whole),
        Some(name) => whole.find_subcommand(name).cloned(),
    };
    let Some(page) = page else {
        let name = name.unwrap_or_default();
        return terminal.usage(
            &format!("daelight has no command `{name}`"),
            "`daelight --help` lists them",
        );
    };
    let mut text = Vec::new();
    match clap_mangen::Man::new(page).render(&mut text) {
        Ok(()) => terminal.answer(&text, None),
        Err(error) => {
            terminal.usage(
                &format!("the page cannot be written: {error}"),
                "use --help instead",
            );
            Status::GaveUp
        }
    }
}
