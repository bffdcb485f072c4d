//! Messages on a stream: a header with the length, then JSON.

use serde_json::Value;
use std::io::{self, BufRead, Read, Write};

/// A message as it came.
pub(crate) enum Received {
    Message(Value),
    /// A message that is no JSON.
    Broken(String),
}

/// The next message; `None` at the end of the stream.
///
/// Fails where the header tells no length, or one beyond `most`: from there on nothing on the stream can be trusted.
pub fn read(input: &mut impl BufRead, most: usize) -> io::Result<Option<Received>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let mut bounded = input.by_ref().take(most as u64);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            if length.is_some() {
                break;
            }
            continue;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length.filter(|&length| length <= most).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "a message without a usable length",
        )
    })?;
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(match serde_json::from_slice(&body) {
        Ok(message) => Received::Message(message),
        Err(error) => Received::Broken(error.to_string()),
    }))
}

/// Writes a message, which is JSON already.
pub fn write(output: &mut impl Write, body: &str) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}
