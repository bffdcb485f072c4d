//! Tables and counts of values.

use daelight_show::record::MeasureRecord;
use daelight_show::{Table, csv, parquet, table_json};

#[test]
fn what_is_written_reads_back_to_the_last_digit() {
    let names = ["u".to_string(), "p[1,2]".to_string()];
    let rows: Vec<(f64, Vec<f64>)> = (0..5)
        .map(|k| (f64::from(k) / 3.0, vec![f64::from(k).sin(), 1e-300]))
        .collect();
    let written = [
        ("csv", csv(&names, &rows).into_bytes()),
        ("json", table_json(&names, &rows).into_bytes()),
        ("parquet", parquet(&names, &rows).expect("a table")),
    ];
    for (format, bytes) in written {
        let table = Table::read(&bytes, format).expect(format);
        assert_eq!(table.names, ["time", "u", "p[1,2]"], "{format}");
        for (k, (time, values)) in rows.iter().enumerate() {
            let row: Vec<f64> = table.columns.iter().map(|column| column[k]).collect();
            assert_eq!(row, [*time, values[0], values[1]], "{format}");
        }
    }
}

#[test]
fn files_of_others_are_read_or_refused_with_a_reason() {
    let table = Table::read(b"t;u\r\n0;1\r\n1;\r\n", "csv").expect("a table");
    assert_eq!(table.column("u").map(<[f64]>::len), Some(2));
    assert!(table.columns[1][1].is_nan());
    assert_eq!(table.column("t"), None);
    for (text, reason) in [
        ("", "empty"),
        ("0,1\n1,2\n", "does not name the columns"),
        ("time,u\n0\n", "line 2 has 1 cells"),
        ("time,u\n0,x\n", "`x` in line 2"),
        ("time\n0\n", "no column beside"),
    ] {
        let error = Table::read(text.as_bytes(), "csv").expect_err(text);
        assert!(error.contains(reason), "{text:?}: {error}");
    }
    assert!(Table::read(b"{\"time\": 1}", "json").is_err());
    assert!(Table::read(b"no parquet", "parquet").is_err());
    assert!(Table::read(b"", "xls").is_err());
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
