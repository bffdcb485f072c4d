//! The record of a sweep, and its rows as columns.

use crate::sweep::{Measure, Measured, Sweep, SweepRow};
use daelight_show::record::{MeasureRecord, ReasonRecord, SweepRecord};
use daelight_show::{ColumnValues, TableColumn, columns_json};
use std::path::Path;

/// What a sweep measured; its rows too, unless they are in a file.
pub fn sweep(sweep: &Sweep, rows: &[SweepRow], n_points: usize, out: Option<&Path>) -> SweepRecord {
    let measures = sweep.measures().iter().enumerate().map(|(at, measure)| {
        let values = rows.iter().filter_map(|row| match &row.measured[at] {
            Measured::Number(value) => Some(Ok(*value)),
            Measured::Word(word) => Some(Err(word.as_str())),
            Measured::Missing => None,
        });
        MeasureRecord::new(measure.to_string(), values)
    });
    let is_missing = |measured: &Measured| matches!(measured, Measured::Missing);
    let mut reasons: Vec<ReasonRecord> = Vec::new();
    for row in rows.iter().filter(|row| !row.reason.is_empty()) {
        let reason = without_numbers(&row.reason);
        match (reasons.iter_mut()).find(|record| without_numbers(&record.reason) == reason) {
            Some(record) => {
                record.count += 1;
                if record.reason != row.reason {
                    record.reason = reason;
                }
            }
            // The reason of one row, and one that all rows share, is told in full.
            None => reasons.push(ReasonRecord {
                reason: row.reason.clone(),
                count: 1,
                first: row.number,
            }),
        }
    }
    reasons.sort_by_key(|record| std::cmp::Reverse(record.count));
    SweepRecord {
        model: sweep.name().to_string(),
        parameters: sweep.points().names().to_vec(),
        n_points,
        n_measured: rows.len(),
        n_failed: (rows.iter())
            .filter(|row| row.measured.iter().any(is_missing))
            .count(),
        measures: measures.collect(),
        reasons,
        out: out.map(|path| path.display().to_string()),
        rows: (out.is_none()).then(|| columns_json(&sweep_columns(sweep, rows))),
        fingerprint: sweep.fingerprint(),
        warnings: Vec::new(),
    }
}

/// The rows as columns.
pub fn sweep_columns(sweep: &Sweep, rows: &[SweepRow]) -> Vec<TableColumn> {
    let column = |name: &str, values: ColumnValues| TableColumn {
        name: name.to_string(),
        values,
    };
    let numbers = rows.iter().map(|row| row.number as i64).collect();
    let mut columns = vec![column("point", ColumnValues::Whole(numbers))];
    for (at, name) in sweep.points().names().iter().enumerate() {
        let values = rows.iter().map(|row| Some(row.point[at])).collect();
        columns.push(column(name, ColumnValues::Numbers(values)));
    }
    for (at, measure) in sweep.measures().iter().enumerate() {
        let values = match measure {
            Measure::Status => {
                let word = |row: &SweepRow| match &row.measured[at] {
                    Measured::Word(word) => Some(word.clone()),
                    _ => None,
                };
                ColumnValues::Words(rows.iter().map(word).collect())
            }
            _ => ColumnValues::Numbers(rows.iter().map(|row| row.measured[at].number()).collect()),
        };
        columns.push(column(&measure.to_string(), values));
    }
    let reasons = rows
        .iter()
        .map(|row| Some(row.reason.clone()).filter(|r| !r.is_empty()));
    columns.push(column("reason", ColumnValues::Words(reasons.collect())));
    let fingerprint = sweep.fingerprint();
    let same = rows.iter().map(|_| Some(fingerprint.clone()));
    columns.push(column("sweep", ColumnValues::Words(same.collect())));
    columns
}

/// A reason with `…` for its decimals: rows that differ in a time only have the same reason.
fn without_numbers(reason: &str) -> String {
    let mut text = String::with_capacity(reason.len());
    for (at, word) in reason.split(' ').enumerate() {
        if at > 0 {
            text.push(' ');
        }
        let bare = word.trim_end_matches([':', ';', ',']);
        let is_decimal = bare.contains(['.', 'e', '-']) && bare.parse::<f64>().is_ok();
        text.push_str(if is_decimal { "…" } else { bare });
        text.push_str(&word[bare.len()..]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_a_number_are_one() {
        assert_eq!(
            without_numbers("singularity at t = 1.5446; 3 rows, x = -2e-3, e"),
            "singularity at t = …; 3 rows, x = …, e"
        );
    }
}
