//! The outcome of a sweep: one document for programs, one page for people, columns of values for both.

use crate::page::{self, short, wrapped};
use crate::run::finite;
use crate::words::count;
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Most reasons on a page; JSON has them all.
const MAX_LISTED: usize = 12;

/// Most values of one measure that are counted one by one.
const MAX_VALUES: usize = 20;

/// What `daelight sweep --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct SweepReport {
    /// Name of the model.
    pub model: String,
    /// The parameters that change.
    pub parameters: Vec<String>,
    /// How many points there are.
    pub n_points: usize,
    /// How many of them were measured; fewer only if the sweep was interrupted.
    pub n_measured: usize,
    /// How many rows have a measure without a value.
    pub n_failed: usize,
    /// What was measured.
    pub measures: Vec<MeasureRecord>,
    /// Why values are missing or runs did not succeed.
    pub reasons: Vec<ReasonRecord>,
    /// The file that the rows were written to.
    pub out: Option<String>,
    /// The columns of the rows; `null` when they were written to a file.
    pub rows: Option<Map<String, Value>>,
    /// What other sweeps do not have.
    pub fingerprint: String,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

/// A measure over all points.
#[derive(Serialize, Debug, Clone)]
pub struct MeasureRecord {
    /// The measure.
    pub name: String,
    /// How many points have a value.
    pub n: usize,
    /// The least number.
    pub min: Option<f64>,
    /// The greatest number.
    pub max: Option<f64>,
    /// How often each value occurs, where these are words or few whole numbers.
    pub counts: Map<String, Value>,
}

impl MeasureRecord {
    /// The record of values, each a number or a word.
    pub fn new<'a>(name: String, values: impl Iterator<Item = Result<f64, &'a str>>) -> Self {
        let (mut n, mut range) = (0, None::<(f64, f64)>);
        let mut numbers: Vec<(f64, u64)> = Vec::new();
        let mut words: Vec<(&str, u64)> = Vec::new();
        for value in values {
            n += 1;
            match value {
                Ok(number) => {
                    range = Some(range.map_or((number, number), |(least, most)| {
                        (least.min(number), most.max(number))
                    }));
                    let n_different = numbers.len();
                    match numbers.iter_mut().find(|(other, _)| *other == number) {
                        Some((_, count)) => *count += 1,
                        // One more than is listed shows that there are too many.
                        None if n_different <= MAX_VALUES => numbers.push((number, 1)),
                        None => {}
                    }
                }
                Err(word) => match words.iter_mut().find(|(other, _)| *other == word) {
                    Some((_, count)) => *count += 1,
                    None => words.push((word, 1)),
                },
            }
        }
        let is_decimal = |(number, _): &(f64, u64)| number.fract() != 0.0;
        if numbers.len() > MAX_VALUES || numbers.iter().any(is_decimal) {
            numbers.clear();
        }
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let numbers = (numbers.into_iter()).map(|(number, count)| (number.to_string(), count));
        let words = words
            .into_iter()
            .map(|(word, count)| (word.to_string(), count));
        Self {
            name,
            n,
            min: range.map(|(least, _)| least),
            max: range.map(|(_, most)| most),
            counts: (numbers.chain(words))
                .map(|(value, count)| (value, Value::from(count)))
                .collect(),
        }
    }
}

/// A reason with the number of its rows.
#[derive(Serialize, Debug, Clone)]
pub struct ReasonRecord {
    /// The reason; of several rows without their decimals, which differ from row to row.
    pub reason: String,
    /// How many rows have it.
    pub count: usize,
    /// The first of these points.
    pub first: usize,
}

/// The sweep as a page for a terminal.
pub fn sweep_page(report: &SweepReport) -> String {
    let mut page = format!(
        "{}: {} over {}",
        report.model,
        count(report.n_measured, "point"),
        report.parameters.join(", ")
    );
    if report.n_measured < report.n_points {
        page.push_str(&format!(" of {}", report.n_points));
    }
    page.push('\n');
    let mut table = page::table(&["measure", "values", "least", "greatest", "how often"]);
    for measure in &report.measures {
        let counts: Vec<String> = (measure.counts.iter())
            .map(|(value, count)| format!("{value}: {count}"))
            .collect();
        let number = |value: Option<f64>| value.map_or("–".to_string(), short);
        table.add_row([
            measure.name.clone(),
            measure.n.to_string(),
            number(measure.min),
            number(measure.max),
            counts.join(", "),
        ]);
    }
    page.push_str(&format!("{table}\n"));
    let rows = report.rows.as_ref();
    if let Some(rows) = rows.filter(|_| report.n_measured <= MAX_LISTED) {
        page.push_str(&row_table(rows, report.n_measured));
    }
    if !report.reasons.is_empty() {
        page.push_str("\nRows with a reason\n");
        for record in report.reasons.iter().take(MAX_LISTED) {
            let text = format!(
                "{}: {} (first at point {})",
                count(record.count, "row"),
                record.reason,
                record.first
            );
            page.push_str(&wrapped(&text));
        }
        if let Some(more) = report.reasons.len().checked_sub(MAX_LISTED + 1) {
            page.push_str(&format!("  and {} more; --json lists them\n", more + 1));
        }
    }
    if let Some(out) = &report.out {
        page.push_str(&wrapped(&format!("The rows are in {out}.")));
    }
    for warning in &report.warnings {
        page.push_str(&wrapped(warning));
    }
    page
}

/// A few rows, without what the page tells elsewhere.
fn row_table(rows: &Map<String, Value>, n: usize) -> String {
    let is_told = |name: &&String| ["sweep", "reason"].contains(&name.as_str());
    let names: Vec<&String> = rows.keys().filter(|name| !is_told(name)).collect();
    let header: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let mut table = page::table(&header);
    for at in 0..n {
        let cell = |name: &&String| match &rows[name.as_str()][at] {
            Value::Number(number) => number.as_f64().map_or(String::new(), short),
            Value::String(word) => word.clone(),
            _ => "–".to_string(),
        };
        table.add_row(names.iter().map(cell));
    }
    format!("{table}\n")
}

/// A column of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: ColumnValues,
}

/// The values of a column, all columns of a table having equally many.
#[derive(Clone, PartialEq, Debug)]
pub enum ColumnValues {
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers, some of which may be missing.
    Numbers(Vec<Option<f64>>),
    /// Words, some of which may be missing.
    Words(Vec<Option<String>>),
}

/// Columns as JSON: one list for each.
pub fn columns_json(columns: &[Column]) -> Map<String, Value> {
    let list = |values: &ColumnValues| match values {
        ColumnValues::Whole(values) => values.iter().map(|&v| Value::from(v)).collect(),
        ColumnValues::Numbers(values) => (values.iter())
            .map(|v| v.map_or(Value::Null, finite))
            .collect(),
        ColumnValues::Words(values) => (values.iter())
            .map(|v| v.as_deref().map_or(Value::Null, Value::from))
            .collect(),
    };
    (columns.iter())
        .map(|column| (column.name.clone(), Value::Array(list(&column.values))))
        .collect()
}

/// Columns as a Parquet file.
pub fn columns_parquet(columns: &[Column]) -> Result<Vec<u8>, String> {
    let words = |error: ParquetError| error.to_string();
    let field = |column: &Column| {
        let (physical, meaning, repetition) = match column.values {
            ColumnValues::Whole(_) => (
                PhysicalType::INT64,
                ConvertedType::NONE,
                Repetition::REQUIRED,
            ),
            ColumnValues::Numbers(_) => (
                PhysicalType::DOUBLE,
                ConvertedType::NONE,
                Repetition::OPTIONAL,
            ),
            ColumnValues::Words(_) => (
                PhysicalType::BYTE_ARRAY,
                ConvertedType::UTF8,
                Repetition::OPTIONAL,
            ),
        };
        Type::primitive_type_builder(&column.name, physical)
            .with_repetition(repetition)
            .with_converted_type(meaning)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>();
    let schema = Type::group_type_builder("sweep")
        .with_fields(fields.map_err(words)?)
        .build()
        .map_err(words)?;
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file =
        SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties).map_err(words)?;
    let mut group = file.next_row_group().map_err(words)?;
    for column in columns {
        let Some(mut writer) = group.next_column().map_err(words)? else {
            return Err("a column is missing".to_string());
        };
        match &column.values {
            ColumnValues::Whole(values) => {
                let typed = writer.typed::<Int64Type>();
                typed.write_batch(values, None, None).map_err(words)?;
            }
            ColumnValues::Numbers(values) => {
                let present: Vec<f64> = values.iter().copied().flatten().collect();
                let typed = writer.typed::<DoubleType>();
                let levels = levels(values);
                typed
                    .write_batch(&present, Some(&levels), None)
                    .map_err(words)?;
            }
            ColumnValues::Words(values) => {
                let present: Vec<ByteArray> = (values.iter().flatten())
                    .map(|word| ByteArray::from(word.as_str()))
                    .collect();
                let typed = writer.typed::<ByteArrayType>();
                let levels = levels(values);
                typed
                    .write_batch(&present, Some(&levels), None)
                    .map_err(words)?;
            }
        }
        writer.close().map_err(words)?;
    }
    group.close().map_err(words)?;
    file.close().map_err(words)?;
    Ok(bytes)
}

/// 1 where there is a value, 0 where it is missing.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|v| i16::from(v.is_some())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn missing_values_stay_missing() {
        let columns = [
            Column {
                name: "point".to_string(),
                values: ColumnValues::Whole(vec![3, 4]),
            },
            Column {
                name: "final:x".to_string(),
                values: ColumnValues::Numbers(vec![Some(0.1), None]),
            },
            Column {
                name: "reason".to_string(),
                values: ColumnValues::Words(vec![None, Some("no start".to_string())]),
            },
        ];
        let bytes = columns_parquet(&columns).expect("a table");
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a file");
        let rows: Vec<String> = (reader.get_row_iter(None).expect("rows"))
            .map(|row| row.expect("a row").to_string())
            .collect();
        assert_eq!(
            rows,
            [
                "{point: 3, final:x: 0.1, reason: null}",
                "{point: 4, final:x: null, reason: \"no start\"}"
            ]
        );
        let json = Value::Object(columns_json(&columns));
        assert_eq!(json["final:x"], serde_json::json!([0.1, null]));
    }

    #[test]
    fn few_values_are_counted_and_many_are_not() {
        let few = [Ok(2.0), Ok(0.0), Ok(2.0), Err("failure")];
        let record = MeasureRecord::new("m".to_string(), few.into_iter());
        assert_eq!(
            (record.n, record.min, record.max),
            (4, Some(0.0), Some(2.0))
        );
        let counts = serde_json::to_string(&record.counts).expect("a map");
        assert_eq!(counts, r#"{"0":1,"2":2,"failure":1}"#);
        let many = (0..100).map(|k| Ok(f64::from(k)));
        let record = MeasureRecord::new("m".to_string(), many);
        assert!(record.counts.is_empty());
    }
}
