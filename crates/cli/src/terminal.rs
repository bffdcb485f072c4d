//! Where answers and messages go, and what commands end with.

use daelight::files::{Spool, write_whole};
use daelight_lang::{Code, Diagnostic, Severity, SourceMap};
use daelight_show::record::{to_json, write_json};
use daelight_show::terminal::frame;
use serde::Serialize;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

/// What a command ends with; the numbers are part of the interface.
#[derive(Clone, Copy)]
pub enum Status {
    Done = 0,
    ModelAtFault = 1,
    WrongUsage = 2,
    Singularity = 3,
    GaveUp = 4,
}

/// The name under which `--out` means standard output.
pub const STANDARD_OUTPUT: &str = "-";

/// What a command ends with: `Err` at once, `Ok` when it went through.
pub type Ended = Result<Status, Status>;

/// What is wrong with how a command was written, and what to do.
pub type Wrong = (String, String);

/// Where answers and messages go.
pub struct Terminal {
    pub color: bool,
    pub quiet: bool,
}

impl Terminal {
    /// Whether somebody sees what is written to standard error while a command works.
    pub fn is_watched(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Prints diagnostics to standard error; warnings only when not quiet.
    pub fn show(&self, diagnostics: &[Diagnostic], sources: &SourceMap) {
        let mut text = String::new();
        for diagnostic in diagnostics {
            if self.quiet && diagnostic.severity == Severity::Warning {
                continue;
            }
            text.push_str(&frame(diagnostic, sources, self.color));
        }
        // Nobody is left to tell if standard error is closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Prints why there is no answer; a file that cannot be read is a matter of how the command was written.
    pub fn refuse(&self, diagnostic: Diagnostic, sources: &SourceMap) -> Status {
        let status = match diagnostic.code {
            Code::UnreadableFile => Status::WrongUsage,
            Code::NoConsistentStart => Status::GaveUp,
            Code::SingularStart => Status::Singularity,
            _ => Status::ModelAtFault,
        };
        self.show(&[diagnostic], sources);
        status
    }

    /// Prints remarks on an answer to standard error, unless quiet.
    pub fn note(&self, lines: &[String]) {
        if !self.quiet {
            let text: String = lines.iter().map(|line| format!("note: {line}\n")).collect();
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }

    /// Says, quiet or not, that a part of what was asked for is missing.
    pub fn warn(&self, line: &str) {
        let _ = std::io::stderr().write_all(format!("note: {line}\n").as_bytes());
    }

    /// Prints a message that is framed already.
    pub fn tell(&self, text: &str) {
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Prints what accompanies an answer to standard error, unless quiet.
    pub fn aside(&self, text: &str) {
        if !self.quiet {
            self.tell(text);
        }
    }

    /// For commands that do not look at a point.
    pub fn no_least_norm(&self) -> Status {
        self.usage(
            "--free least-norm has no meaning here",
            "it is for analyze, init, reduce and solve",
        )
    }

    /// For what only square models take.
    pub fn not_rectangular(&self) -> Status {
        self.usage(
            "--input and --stop-when are for models with as many equations as unknowns",
            "write what --free gives as equations of the model",
        )
    }

    /// Prints what is wrong with how a command was written.
    pub fn wrong(&self, (message, help): Wrong) -> Status {
        self.usage(&message, &help)
    }

    pub fn usage(&self, message: &str, help: &str) -> Status {
        let _ = writeln!(std::io::stderr(), "error: {message}\n  help: {help}");
        Status::WrongUsage
    }

    /// Writes the answer to a file or to standard output.
    pub fn answer(&self, bytes: &[u8], out: Option<&Path>) -> Result<(), Status> {
        let written = match out {
            Some(path) if path != Path::new(STANDARD_OUTPUT) => write_whole(path, bytes),
            _ => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
        };
        self.written(written, out)
    }

    /// The same for values that were written as they came.
    pub fn answer_spooled(&self, spool: Spool, out: &Path) -> Result<(), Status> {
        let written = match out != Path::new(STANDARD_OUTPUT) {
            true => spool.write_whole(out),
            false => spool.write_to(&mut std::io::stdout().lock()),
        };
        self.written(written, Some(out))
    }

    /// What became of an answer that was written.
    fn written(&self, result: std::io::Result<()>, out: Option<&Path>) -> Result<(), Status> {
        match result {
            Ok(()) => Ok(()),
            // The reader of a pipe has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => {
                let place = out.map_or("standard output".to_string(), |path| {
                    path.display().to_string()
                });
                Err(self.unwritable(&place, &error))
            }
        }
    }

    /// Prints a record, as JSON or as text for people.
    pub fn print<R: Serialize>(
        &self,
        record: &R,
        text: impl FnOnce(&R) -> String,
        json: bool,
        out: Option<&Path>,
    ) -> Result<(), Status> {
        match (json, out) {
            (false, _) => self.answer(text(record).as_bytes(), out),
            (true, Some(_)) => self.answer(to_json(record).as_bytes(), out),
            // A document may be long: it is written as it is made.
            (true, None) => {
                let mut stdout = BufWriter::new(std::io::stdout().lock());
                let written = write_json(record, &mut stdout).and_then(|()| stdout.flush());
                self.written(written, out)
            }
        }
    }

    pub fn unwritable(&self, place: &str, error: &std::io::Error) -> Status {
        self.usage(
            &format!("cannot write {place}: {error}"),
            "choose another place",
        )
    }
}
