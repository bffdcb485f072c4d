//! The command `lsp`: the language server, on standard input and output.

use crate::cli::LspArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight_lsp::{ServerSettings, serve};

pub fn lsp(_arguments: &LspArgs, terminal: &Terminal) -> Ended {
    match serve(
        std::io::stdin(),
        std::io::stdout(),
        ServerSettings::default(),
    ) {
        Ok(true) => Ok(Status::Done),
        Ok(false) => Err(Status::ModelAtFault),
        Err(error) => {
            let message = format!("what came on standard input is no message: {error}");
            Err(terminal.usage(&message, "start the server from an editor"))
        }
    }
}
