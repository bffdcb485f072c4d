//! Reading tables of values over time: what `--out` writes, and plain files of others.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::cell::Cell;
use std::sync::Once;

/// A table of numbers: columns with names, the time first.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Names of the columns.
    pub names: Vec<String>,
    /// The columns, all of the same length; NaN where a value is missing.
    pub columns: Vec<Vec<f64>>,
}

impl Table {
    /// Reads `csv`, `json` or `parquet`; what is wrong in one sentence.
    pub fn read(bytes: &[u8], format: &str) -> Result<Self, String> {
        let table = Self::read_list(bytes, format)?;
        if table.columns.len() < 2 {
            return Err("it has no column beside the first, which is the time".to_string());
        }
        Ok(table)
    }

    /// Reads a table whose first column is nothing special, and may be the only one.
    pub fn read_list(bytes: &[u8], format: &str) -> Result<Self, String> {
        match format {
            "csv" | "txt" => from_csv(bytes),
            "json" => from_json(bytes),
            "parquet" => from_parquet(bytes),
            other => Err(format!(
                "tables are read from csv, parquet or json, not from `{other}`"
            )),
        }
    }

    /// The values of a column by name; the first one is the time and does not count.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let position = self.names.iter().skip(1).position(|other| other == name)?;
        Some(&self.columns[position + 1])
    }
}

/// The cells of a line; a quoted cell may hold the separator, and two quotes for one.
pub fn csv_cells(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = cells.len() - 1;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cells[last].push('"');
            }
            '"' => quoted = !quoted,
            letter if letter == separator && !quoted => cells.push(String::new()),
            letter => cells[last].push(letter),
        }
    }
    cells
}

/// The cells of a text of comma-separated values: the names of the columns, then the rows with the numbers of their lines.
///
/// Separators are commas, semicolons or tabs; a cell in quotes may hold them.
#[derive(Clone, PartialEq, Debug)]
pub struct Records {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Each row with its line in the text, as many cells as there are names.
    pub rows: Vec<(usize, Vec<String>)>,
}

impl Records {
    /// Reads a text; what is wrong in one sentence.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_string())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let (_, header) = lines.next().ok_or("it is empty")?;
        let separator = [',', ';', '\t']
            .into_iter()
            .find(|&separator| header.contains(separator))
            .unwrap_or(',');
        let trimmed = |line: &str| -> Vec<String> {
            let cells = csv_cells(line, separator);
            cells.iter().map(|cell| cell.trim().to_string()).collect()
        };
        let names = trimmed(header);
        let mut rows = Vec::new();
        for (line, text) in lines {
            let row = trimmed(text);
            if row.len() != names.len() {
                return Err(format!(
                    "line {} has {} cells, the first one {}",
                    line + 1,
                    row.len(),
                    names.len()
                ));
            }
            rows.push((line + 1, row));
        }
        Ok(Self { names, rows })
    }
}

fn from_csv(bytes: &[u8]) -> Result<Table, String> {
    let Records { names, rows } = Records::read(bytes)?;
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        return Err("its first line does not name the columns".to_string());
    }
    let mut columns = vec![Vec::new(); names.len()];
    for (line, cells) in rows {
        for ((column, name), cell) in columns.iter_mut().zip(&names).zip(&cells) {
            let value = match cell.as_str() {
                "" => f64::NAN,
                cell => cell.parse().map_err(|_| not_a_number(cell, line, name))?,
            };
            column.push(value);
        }
    }
    Ok(Table { names, columns })
}

fn not_a_number(cell: &str, line: usize, column: &str) -> String {
    let with_point = cell.replace(',', ".");
    match with_point.parse::<f64>() {
        Ok(_) => format!("`{cell}` in line {line} is not a number: decimals have a point"),
        Err(_) => format!("`{cell}` in line {line} is not a number (column {column})"),
    }
}

fn from_json(bytes: &[u8]) -> Result<Table, String> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Value::Object(fields) = document else {
        return Err("it is not an object of lists, {\"time\": [...], \"u\": [...]}".to_string());
    };
    let mut table = Table {
        names: Vec::new(),
        columns: Vec::new(),
    };
    for (name, values) in fields {
        let Value::Array(values) = values else {
            return Err(format!("`{name}` is not a list of numbers"));
        };
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        table.columns.push(values.iter().map(number).collect());
        table.names.push(name);
    }
    let lengths = || table.columns.iter().map(Vec::len);
    if lengths().min() != lengths().max() {
        return Err("its lists have different lengths".to_string());
    }
    // The order of fields in a document means nothing.
    if let Some(time) = table.names.iter().position(|name| name == "time") {
        table.names.swap(0, time);
        table.columns.swap(0, time);
    }
    Ok(table)
}

/// A table in a parquet file. Its reader panics on some damaged files; they are an error like any other.
fn from_parquet(bytes: &[u8]) -> Result<Table, String> {
    undisturbed(|| read_parquet(bytes)).unwrap_or_else(|| Err("it is damaged".to_string()))
}

/// The result of work that may panic, without a word on standard error; `None` if it does.
fn undisturbed<T>(work: impl FnOnce() -> T) -> Option<T> {
    thread_local!(static IS_QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                before(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    IS_QUIET.set(false);
    result.ok()
}

fn read_parquet(bytes: &[u8]) -> Result<Table, String> {
    let words = |error: parquet::errors::ParquetError| error.to_string();
    let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).map_err(words)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema
        .columns()
        .iter()
        .map(|column| column.name().to_string())
        .collect();
    let mut columns = vec![Vec::new(); names.len()];
    for row in reader.get_row_iter(None).map_err(words)? {
        let row = row.map_err(words)?;
        for (column, (name, field)) in columns.iter_mut().zip(row.get_column_iter()) {
            column.push(match *field {
                Field::Double(value) => value,
                Field::Float(value) => f64::from(value),
                Field::Int(value) => f64::from(value),
                Field::Long(value) => value as f64,
                Field::Null => f64::NAN,
                _ => return Err(format!("`{name}` is not a column of numbers")),
            });
        }
    }
    Ok(Table { names, columns })
}
