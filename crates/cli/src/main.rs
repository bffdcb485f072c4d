//! The program `daelight`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(daelight_cli::run(std::env::args_os()))
}
