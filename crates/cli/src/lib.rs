//! The `daelight` command, to be called by its program and by `python -m daelight`.

mod cli;
mod commands;
mod terminal;

use clap::error::{ContextKind, ContextValue};
use clap::{ColorChoice, Parser};
use cli::Cli;
use daelight::files::check_writable;
use std::ffi::OsString;
use std::io::IsTerminal;
use terminal::Terminal;

/// Carries out the command that these words ask for, the first of which is the program's own name; gives its exit status.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(asked) => {
            // Help and versions are printed this way, too. Nobody is left to tell if standard output is closed.
            if let Some(ContextValue::String(file)) = asked.get(ContextKind::InvalidSubcommand)
                && file.ends_with(".mo")
            {
                eprintln!(
                    "error: `{file}` is a file, and no command\n  help: say what to do with it, as in `daelight solve {file}`"
                );
                return asked.exit_code() as u8;
            }
            let asked = with_near_tips(asked);
            let _ = asked.print();
            return asked.exit_code() as u8;
        }
    };
    let terminal = Terminal {
        color: match cli.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
            }
        },
        quiet: cli.quiet,
    };
    let outputs = cli.command.outputs();
    if !outputs.is_empty() {
        commands::interrupt_by_ctrl_c();
    }
    for path in outputs {
        if path == std::path::Path::new(terminal::STANDARD_OUTPUT) {
            continue;
        }
        if let Err(error) = check_writable(path) {
            let status = terminal.unwritable(&path.display().to_string(), &error);
            return status as u8;
        }
    }
    let (Ok(status) | Err(status)) = commands::execute(&cli.command, &terminal);
    status as u8
}

/// The same message without an option that only looks a little like the one asked for: `--to` is no help for `--stop-when`.
fn with_near_tips(mut asked: clap::Error) -> clap::Error {
    let text = |asked: &clap::Error, kind| match asked.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let wrong = text(&asked, ContextKind::InvalidArg);
    let offered = text(&asked, ContextKind::SuggestedArg);
    if let (Some(wrong), Some(offered)) = (wrong, offered)
        && daelight_lang::nearest(&wrong, [offered.as_str()]).is_none()
    {
        asked.remove(ContextKind::SuggestedArg);
        asked.remove(ContextKind::Usage);
    }
    asked
}
