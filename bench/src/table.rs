//! Times and tables for a terminal.

use std::time::{Duration, Instant};

/// The shortest time of a call in nanoseconds, over 300 repeats of about 0.2 ms each.
pub fn best(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..10 {
        work();
    }
    let once = start.elapsed().as_nanos() as f64 / 10.0 + 1.0;
    let calls = (2e5 / once) as usize + 1;
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / calls as f64);
    }
    best
}

/// The shortest of 3 to 20 runs of something long, about a second in all, with the last result.
pub fn timed<T>(mut work: impl FnMut() -> T) -> (T, f64) {
    let mut shortest = Duration::MAX;
    let mut result = None;
    let begin = Instant::now();
    for run in 0..20 {
        if run >= 3 && begin.elapsed() > Duration::from_secs(1) {
            break;
        }
        let start = Instant::now();
        let made = work();
        shortest = shortest.min(start.elapsed());
        result = Some(made);
    }
    let result = result.expect("three runs were made");
    (result, shortest.as_nanos() as f64)
}

/// A time in a unit that suits it.
pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        t if !t.is_finite() => "-".to_string(),
        t if t < 1e3 => format!("{t:.1} ns"),
        t if t < 1e6 => format!("{:.2} us", t / 1e3),
        t if t < 1e9 => format!("{:.2} ms", t / 1e6),
        t => format!("{:.2} s", t / 1e9),
    }
}

pub fn ratio(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.2}")
    } else {
        "-".to_string()
    }
}

/// Prints rows as a Markdown table, columns aligned.
pub fn print(header: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].len())
            .chain([header[column].len()])
            .max()
            .unwrap_or(0)
    };
    let line = |cells: Vec<&str>| {
        let cells: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(column, cell)| format!("{cell:<width$}", width = width(column)))
            .collect();
        println!("| {} |", cells.join(" | "));
    };
    line(header.to_vec());
    let rule: Vec<String> = (0..header.len()).map(|c| "-".repeat(width(c))).collect();
    println!("|-{}-|", rule.join("-|-"));
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
    println!();
}
