//! The commands `man` and `completions`: what packagers take from the command line's own words.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::terminal::{Ended, Status, Terminal};
use clap::CommandFactory;

/// Prints a completion script for a shell.
pub fn completions(arguments: &CompletionsArgs, terminal: &Terminal) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "daelight",
        &mut script,
    );
    terminal.answer(&script, None)?;
    Ok(Status::Done)
}

/// Prints a manual page, made of the same words as `--help`.
pub fn manual(arguments: &ManArgs, terminal: &Terminal) -> Ended {
    let name = arguments.command.as_deref();
    let mut whole = Cli::command();
    whole.build();
    let page = match name {
        None => Some(whole),
        Some(name) => whole.find_subcommand(name).cloned(),
    };
    let Some(page) = page else {
        let name = name.unwrap_or_default();
        return Err(terminal.usage(
            &format!("daelight has no command `{name}`"),
            "`daelight --help` lists them",
        ));
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| {
            let message = format!("the page cannot be written: {error}");
            terminal.usage(&message, "use --help instead");
            Status::GaveUp
        })?;
    terminal.answer(&text, None)?;
    Ok(Status::Done)
}
