//! Outside the process of an FMU: it is started, listened to, and mourned.

use crate::job::{GuestEnd, GuestJob, Line};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Error, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What came of a run.
pub struct GuestRun {
    /// Times and values; NaN where a value is none.
    pub rows: Vec<(f64, Vec<f64>)>,
    /// What the FMU said, and what its library printed.
    pub messages: Vec<String>,
    /// How it ended.
    pub end: GuestEnd,
}

/// Runs a job in a process that these words start, within a time if one is given.
pub fn run(
    words: &[OsString],
    job: &GuestJob,
    budget: Option<Duration>,
) -> Result<GuestRun, Error> {
    let began = Instant::now();
    let mark = format!("{:x}:", std::process::id());
    let (program, rest) = words
        .split_first()
        .ok_or_else(|| Error::other("no program"))?;
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = listen(&mut child);
    if let Some(mut into) = child.stdin.take() {
        let job = serde_json::to_string(job).map_err(Error::other)?;
        // A process that died already is told about below.
        let _ = write!(into, "{mark}\n{job}");
    }
    let mut found = GuestRun {
        rows: Vec::new(),
        messages: Vec::new(),
        end: GuestEnd::TooLong,
    };
    loop {
        let left = budget.map(|budget| budget.saturating_sub(began.elapsed()));
        let line = match left {
            Some(left) => lines.recv_timeout(left),
            None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match line {
            Ok(line) => found.hear(&line, &mark),
            Err(RecvTimeoutError::Timeout) => {
                // It may have ended just now; then there is nothing to end.
                let _ = child.kill();
                child.wait()?;
                found.end = GuestEnd::TooLong;
                return Ok(found);
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait()?;
    if found.end == GuestEnd::TooLong {
        found.end = GuestEnd::Died(death(status));
    }
    Ok(found)
}

/// The lines that a process writes on both its outputs.
fn listen(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    let outputs: [Option<Box<dyn std::io::Read + Send>>; 2] = [
        child.stdout.take().map(|out| Box::new(out) as _),
        child.stderr.take().map(|out| Box::new(out) as _),
    ];
    for output in outputs.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_string();
                if sender.send(text).is_err() {
                    return;
                }
                line.clear();
            }
        });
    }
    lines
}

impl GuestRun {
    /// Takes in a line: what stands before the mark is the library's own.
    fn hear(&mut self, line: &str, mark: &str) {
        let (printed, told) = match line.split_once(mark) {
            Some((printed, told)) => (printed, Some(told)),
            None => (line, None),
        };
        if !printed.trim().is_empty() && self.messages.len() < usize::from(u8::MAX) {
            self.messages.push(printed.to_string());
        }
        match told.and_then(|told| serde_json::from_str(told).ok()) {
            Some(Line::Row(time, values)) => {
                let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
                self.rows
                    .push((time, values.into_iter().map(number).collect()));
            }
            Some(Line::Message(text)) => self.messages.push(text),
            Some(Line::End(end)) => self.end = end,
            None => {}
        }
    }
}

/// How a process died.
fn death(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        let name = match status.signal() {
            Some(11) => "a memory fault, signal 11",
            Some(6) => "it gave up, signal 6",
            Some(8) => "an arithmetic fault, signal 8",
            Some(_) => "a signal",
            None => "",
        };
        if !name.is_empty() {
            return name.to_string();
        }
    }
    format!("{status}")
}
