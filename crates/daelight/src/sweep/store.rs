//! Rows in a file: written in order while the sweep goes on, so that one that was interrupted can go on later.
//!
//! The rows are lines of CSV in `OUT.partial`, which becomes `OUT` when the last one is there. Every line ends with the
//! fingerprint of its sweep: rows of other models, points or measures are never mixed, and parts of one sweep can be
//! joined line by line.

use super::measure::{Measure, Measured};
use super::{Sweep, SweepRow};
use daelight_show::csv_cells;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two writes.
const INTERVAL: Duration = Duration::from_millis(500);

/// Bytes that are written at the latest.
const MOST_BYTES: usize = 1 << 20;

/// Why rows cannot be kept or read.
#[derive(Debug)]
pub enum StoreError {
    /// The file cannot be read or written.
    File(io::Error),
    /// The file is not one of this sweep, and why.
    Foreign(String),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Foreign(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}

/// Where rows are kept until the sweep is complete.
pub fn partial_path(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// The first line of a file of rows.
pub fn header(sweep: &Sweep) -> String {
    let mut line = String::from("point");
    let measures = sweep.measures().iter().map(Measure::to_string);
    for name in sweep.points().names().iter().cloned().chain(measures) {
        line.push(',');
        line.push_str(&quoted(&name));
    }
    line.push_str(",reason,sweep\n");
    line
}

/// A row as a line.
pub fn line(row: &SweepRow, fingerprint: &str) -> String {
    let mut line = row.number.to_string();
    for value in &row.point {
        // Writing to a string does not fail.
        let _ = write!(line, ",{value}");
    }
    for measured in &row.measured {
        let _ = match measured {
            Measured::Number(value) => write!(line, ",{value}"),
            Measured::Word(word) => write!(line, ",{}", quoted(word)),
            Measured::Missing => write!(line, ","),
        };
    }
    let _ = writeln!(line, ",{},{fingerprint}", quoted(&row.reason));
    line
}

/// A cell; it never holds the end of a line, so that a line is a row.
fn quoted(cell: &str) -> String {
    let cell = cell.replace(['\n', '\r'], " ");
    if cell.contains([',', '"']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

/// The rows of a file of this sweep, from the first point of a range on; a last line that was cut off does not count.
///
/// Also the number of bytes that the rows take.
pub fn read_rows(
    text: &str,
    sweep: &Sweep,
    range: Range<usize>,
) -> Result<(Vec<SweepRow>, usize), StoreError> {
    let foreign = |why: String| StoreError::Foreign(why);
    let fingerprint = sweep.fingerprint();
    let first = header(sweep);
    if text.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let Some(body) = text.strip_prefix(first.as_str()) else {
        // The very first line may have been cut off.
        if first.starts_with(text) {
            return Ok((Vec::new(), 0));
        }
        return Err(foreign("its columns are others".to_string()));
    };
    let n_parameters = sweep.points().names().len();
    let n_measures = sweep.measures().len();
    let (mut rows, mut length) = (Vec::new(), first.len());
    for line in body.split_inclusive('\n') {
        if !line.ends_with('\n') {
            break;
        }
        let cells = csv_cells(line.trim_end_matches('\n'), ',');
        let number = range.start + rows.len();
        let broken = || foreign(format!("the row of point {number} is broken"));
        if cells.len() != n_parameters + n_measures + 3 {
            return Err(broken());
        }
        if cells.last() != Some(&fingerprint) {
            return Err(foreign(
                "its rows are of another sweep: the model, the points, the measures or options have changed"
                    .to_string(),
            ));
        }
        if cells[0].parse() != Ok(number) || number >= range.end {
            return Err(foreign("its rows are of other points".to_string()));
        }
        let point: Vec<f64> = (cells[1..=n_parameters].iter())
            .map(|cell| cell.parse().map_err(|_| broken()))
            .collect::<Result<_, _>>()?;
        if point != sweep.points().point(number) {
            return Err(foreign("its rows are of other points".to_string()));
        }
        let after = &cells[1 + n_parameters..];
        let read = |(cell, measure): (&String, &Measure)| match (measure, cell.as_str()) {
            (_, "") => Ok(Measured::Missing),
            (Measure::Status, word) => Ok(Measured::Word(word.to_string())),
            (_, cell) => cell.parse().map(Measured::Number).map_err(|_| broken()),
        };
        rows.push(SweepRow {
            number,
            point,
            measured: (after.iter().zip(sweep.measures()))
                .map(read)
                .collect::<Result<_, _>>()?,
            reason: after[n_measures].clone(),
            values: Vec::new(),
        });
        length += line.len();
    }
    Ok((rows, length))
}

/// The file that rows are appended to.
pub struct Store {
    partial: PathBuf,
    file: File,
    fingerprint: String,
    waiting: String,
    written: Instant,
}

impl Store {
    /// Opens the partial file of `out`. With `resume` the rows that are there, or in `out` itself, are given back.
    pub fn open(
        out: &Path,
        sweep: &Sweep,
        range: Range<usize>,
        resume: bool,
    ) -> Result<(Self, Vec<SweepRow>), StoreError> {
        let partial = partial_path(out);
        let mut rows = Vec::new();
        let mut length = 0;
        if resume && partial.exists() {
            let text = std::fs::read_to_string(&partial)?;
            (rows, length) = read_rows(&text, sweep, range)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&partial)?;
        // What comes after the last whole row is lost work of less than a row.
        file.set_len(length as u64)?;
        if length == 0 {
            file.write_all(header(sweep).as_bytes())?;
        }
        use std::io::Seek as _;
        file.seek(io::SeekFrom::End(0))?;
        let store = Self {
            partial,
            file,
            fingerprint: sweep.fingerprint(),
            waiting: String::new(),
            written: Instant::now(),
        };
        Ok((store, rows))
    }

    /// Adds a row; it is written soon.
    pub fn push(&mut self, row: &SweepRow) -> io::Result<()> {
        self.waiting.push_str(&line(row, &self.fingerprint));
        if self.waiting.len() > MOST_BYTES || self.written.elapsed() > INTERVAL {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(self.waiting.as_bytes())?;
        self.waiting.clear();
        self.written = Instant::now();
        Ok(())
    }

    /// Where the rows are.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// The complete rows become the file `out`.
    pub fn finish(mut self, out: &Path) -> io::Result<()> {
        self.flush()?;
        self.file.sync_all()?;
        std::fs::rename(&self.partial, out)
    }

    /// Takes the partial file away, after its rows were written elsewhere.
    pub fn remove(mut self) -> io::Result<()> {
        self.flush()?;
        std::fs::remove_file(&self.partial)
    }
}
