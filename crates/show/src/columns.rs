//! Values as tables: comma-separated text, JSON and Parquet.

use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Number, Value};
use std::sync::Arc;

/// A column of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableColumn {
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

/// A number of a document; `null` where it is not finite.
pub fn finite(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A table of values over time as comma-separated text, numbers with all their digits.
pub fn csv(names: &[String], rows: &[(f64, Vec<f64>)]) -> String {
    let mut text = csv_names(names);
    for (time, values) in rows {
        text.push_str(&csv_row(*time, values));
    }
    text
}

/// The first line of such a table.
pub fn csv_names(names: &[String]) -> String {
    let quoted = |name: &str| {
        if name.contains([',', '"', '\n']) {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            name.to_string()
        }
    };
    let mut text = String::from("time");
    for name in names {
        text.push(',');
        text.push_str(&quoted(name));
    }
    text.push('\n');
    text
}

/// Another line of it.
pub fn csv_row(time: f64, values: &[f64]) -> String {
    let mut text = time.to_string();
    for value in values {
        text.push(',');
        text.push_str(&value.to_string());
    }
    text.push('\n');
    text
}

/// The same table as a JSON document: `time` and one list for each name.
pub fn table_json(names: &[String], rows: &[(f64, Vec<f64>)]) -> String {
    crate::record::to_json(&table_value(names, rows))
}

/// The table as a value of a larger document.
pub fn table_value(names: &[String], rows: &[(f64, Vec<f64>)]) -> Value {
    let mut columns = Map::new();
    let times = rows.iter().map(|(time, _)| finite(*time)).collect();
    columns.insert("time".to_string(), Value::Array(times));
    for (at, name) in names.iter().enumerate() {
        let column = rows.iter().map(|(_, values)| finite(values[at])).collect();
        columns.insert(name.clone(), Value::Array(column));
    }
    Value::Object(columns)
}

/// The same table as a Parquet file: one column of doubles for the time and for each name.
pub fn parquet(names: &[String], rows: &[(f64, Vec<f64>)]) -> Result<Vec<u8>, String> {
    let column = |name: &str| {
        Type::primitive_type_builder(name, PhysicalType::DOUBLE)
            .with_repetition(Repetition::REQUIRED)
            .build()
            .map(Arc::new)
    };
    let all = std::iter::once("time").chain(names.iter().map(String::as_str));
    parquet_file("run", all.map(column), |at, writer| {
        let values: Vec<f64> = rows
            .iter()
            .map(|(time, values)| if at == 0 { *time } else { values[at - 1] })
            .collect();
        let typed = writer.typed::<DoubleType>();
        typed.write_batch(&values, None, None)
    })
    .map_err(|error| error.to_string())
}

/// Columns as JSON: one list for each.
pub fn columns_json(columns: &[TableColumn]) -> Map<String, Value> {
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
pub fn columns_parquet(columns: &[TableColumn]) -> Result<Vec<u8>, String> {
    let field = |column: &TableColumn| {
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
    let fields = columns.iter().map(field);
    parquet_file("sweep", fields, |at, writer| match &columns[at].values {
        ColumnValues::Whole(values) => {
            let typed = writer.typed::<Int64Type>();
            typed.write_batch(values, None, None)
        }
        ColumnValues::Numbers(values) => {
            let present: Vec<f64> = values.iter().copied().flatten().collect();
            let typed = writer.typed::<DoubleType>();
            typed.write_batch(&present, Some(&levels(values)), None)
        }
        ColumnValues::Words(values) => {
            let present: Vec<ByteArray> = (values.iter().flatten())
                .map(|word| ByteArray::from(word.as_str()))
                .collect();
            let typed = writer.typed::<ByteArrayType>();
            typed.write_batch(&present, Some(&levels(values)), None)
        }
    })
    .map_err(|error| error.to_string())
}

/// 1 where there is a value, 0 where it is missing.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|v| i16::from(v.is_some())).collect()
}

/// A file of one row group; `write` is asked for each column in turn.
fn parquet_file(
    name: &str,
    fields: impl Iterator<Item = Result<TypePtr, ParquetError>>,
    mut write: impl FnMut(usize, &mut SerializedColumnWriter<'_>) -> Result<usize, ParquetError>,
) -> Result<Vec<u8>, ParquetError> {
    let schema = Type::group_type_builder(name)
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()?;
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    let mut at = 0;
    while let Some(mut writer) = group.next_column()? {
        write(at, &mut writer)?;
        writer.close()?;
        at += 1;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn missing_values_stay_missing() {
        let columns = [
            TableColumn {
                name: "point".to_string(),
                values: ColumnValues::Whole(vec![3, 4]),
            },
            TableColumn {
                name: "final:x".to_string(),
                values: ColumnValues::Numbers(vec![Some(0.1), None]),
            },
            TableColumn {
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
}
