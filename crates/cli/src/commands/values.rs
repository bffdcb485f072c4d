//! Values in files: csv, json or parquet, as the name of the file asks for.

use crate::terminal::{STANDARD_OUTPUT, Status, Terminal, Wrong};
use daelight::files::Spool;
use daelight::hybrid::TakesRows;
use daelight_show::{csv, csv_names, csv_row, parquet, table_json};
use std::io::Write;
use std::path::Path;

/// The formats that values are written in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Json,
    Parquet,
}

impl Format {
    /// The format that the name of a file asks for.
    pub fn of(path: &Path) -> Result<Self, Wrong> {
        if path == Path::new(STANDARD_OUTPUT) {
            return Ok(Self::Csv);
        }
        match path.extension().and_then(|e| e.to_str()).unwrap_or("") {
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            "parquet" => Ok(Self::Parquet),
            other => Err((
                match other {
                    "" => format!("`{}` does not say in which format to write", path.display()),
                    _ => format!("values are written as csv, parquet or json, not as `{other}`"),
                },
                "name the file run.csv, run.parquet or run.json".to_string(),
            )),
        }
    }
}

/// Refuses a file for values whose name does not tell a format that is written.
pub fn check_ending(out: Option<&Path>) -> Result<(), Wrong> {
    out.map_or(Ok(()), |path| Format::of(path).map(|_| ()))
}

/// `Err` for a file whose name asks for a format that the command does not write; names without an ending are taken.
pub fn check_written(out: Option<&Path>, endings: &[&str]) -> Result<(), Wrong> {
    let ending = out.and_then(Path::extension).and_then(|e| e.to_str());
    match ending {
        Some(ending) if !endings.contains(&ending) => Err((
            format!("this command does not write a file of the kind `.{ending}`"),
            format!("name it with .{}", endings.join(" or .")),
        )),
        _ => Ok(()),
    }
}

/// Lines of a file of values that are written while a run goes on.
pub struct Lines {
    spool: Spool,
    has_names: bool,
    result: std::io::Result<()>,
}

impl Lines {
    /// For a file, if its format has lines.
    pub fn of(path: &Path, terminal: &Terminal) -> Result<Option<Self>, Status> {
        let format = Format::of(path).map_err(|wrong| terminal.wrong(wrong))?;
        if format != Format::Csv {
            return Ok(None);
        }
        let file = (path != Path::new(STANDARD_OUTPUT)).then_some(path);
        let spool = Spool::beside(file);
        let unwritable = |error| terminal.unwritable(&path.display().to_string(), &error);
        Ok(Some(Self {
            spool: spool.map_err(unwritable)?,
            has_names: false,
            result: Ok(()),
        }))
    }

    /// Makes them the file.
    pub fn finish(
        mut self,
        names: &[String],
        path: &Path,
        terminal: &Terminal,
    ) -> Result<(), Status> {
        if !self.has_names {
            self.result = self.spool.write_all(csv_names(names).as_bytes());
        }
        let place = path.display().to_string();
        (self.result).map_err(|error| terminal.unwritable(&place, &error))?;
        terminal.answer_spooled(self.spool, path)
    }
}

impl TakesRows for Lines {
    fn take(&mut self, names: &[String], time: f64, values: &[f64]) {
        let row = csv_row(time, values);
        let text = match self.has_names {
            true => row,
            false => csv_names(names) + &row,
        };
        self.has_names = true;
        if self.result.is_ok() {
            self.result = self.spool.write_all(text.as_bytes());
        }
    }
}

/// Writes a table in the format that the name of the file asks for.
pub fn write_rows(
    path: &Path,
    names: &[String],
    rows: &[(f64, Vec<f64>)],
    terminal: &Terminal,
) -> Result<(), Status> {
    let format = Format::of(path).map_err(|wrong| terminal.wrong(wrong))?;
    let bytes = match format {
        Format::Csv => csv(names, rows).into_bytes(),
        Format::Json => table_json(names, rows).into_bytes(),
        Format::Parquet => parquet(names, rows)
            .map_err(|because| terminal.usage(&because, "write the values as run.csv instead"))?,
    };
    terminal.answer(&bytes, Some(path))
}
