//! The `daelight` command.

mod cli;
mod commands;
mod terminal;

use clap::{ColorChoice, Parser};
use cli::Cli;
use daelight::files::check_writable;
use std::io::IsTerminal;
use std::process::ExitCode;
use terminal::Terminal;

fn main() -> ExitCode {
    let cli = Cli::parse();
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
            return ExitCode::from(status as u8);
        }
    }
    let (Ok(status) | Err(status)) = commands::execute(&cli.command, &terminal);
    ExitCode::from(status as u8)
}
