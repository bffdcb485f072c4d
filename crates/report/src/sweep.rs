//! The outcome of a sweep: one document for programs, one page for people, columns of values for both.

use crate::page::{self, short, wrapped};
use crate::words::count;
use serde::Serialize;
use serde_json::{Map, Value};

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

#[cfg(test)]
mod tests {
    use super::*;

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
