//! A worker: reads questions, one a line, and answers each with one line.

use crate::answer::answer;
use crate::folder::Folder;
use crate::question::PageQuestion;
use serde_json::json;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

/// Where lines are written, also while a question is worked on.
pub type Lines = Arc<Mutex<dyn Write + Send>>;

/// Answers questions until there are no more. A reader of its own sees when whoever asks is gone, and ends the process then,
/// whatever it works on.
pub fn work(folder: &Folder, out: impl Write + Send + 'static) -> io::Result<()> {
    let out: Lines = Arc::new(Mutex::new(out));
    let (sender, receiver) = channel::<String>();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_err() || line.is_ok_and(|line| sender.send(line).is_err()) {
                break;
            }
        }
        std::process::exit(0);
    });
    for line in receiver {
        let document = match serde_json::from_str::<PageQuestion>(&line) {
            Ok(question) => answer(&question, folder, &out),
            Err(error) => json!({ "refused": format!("The question is not understood: {error}.") }),
        };
        write(&out, &document.to_string())?;
    }
    Ok(())
}

/// Writes a line.
pub fn write(out: &Lines, line: &str) -> io::Result<()> {
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(out, "{line}")?;
    out.flush()
}
