//! The outcome of a sweep.

use serde::Serialize;
use serde_json::{Map, Value};

/// Most values of one measure that are counted one by one.
const MAX_VALUES: usize = 20;

/// What `daelight sweep --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct SweepRecord {
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
