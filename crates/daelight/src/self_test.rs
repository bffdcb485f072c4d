//! `selftest`: the table of the library and the tally of random problems.

use crate::{Status, Terminal};
use daelight::selftest::{LibraryRow, Outcome, RandomTally, library, planted, try_planted};
use daelight_integrate::implicit::Method;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Problems tried between two looks at the counter.
const PORTION: u64 = 16;

/// Tries everything, prints what came of it; wrong answers are a failure.
pub fn self_test(random: u64, first: u64, json: bool, terminal: &Terminal) -> Status {
    let mut rows = Vec::new();
    library(|row| rows.push(row));
    let tally = random_problems(random, first);
    let n_wrong = rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Wrong(_)))
        .count()
        + tally.wrong.len();
    let answer = match json {
        true => document(&rows, &tally),
        false => page(&rows, &tally, random),
    };
    let status = terminal.answer(answer.as_bytes(), None);
    match (status, n_wrong) {
        (Status::Done, 1..) => Status::GaveUp,
        _ => status,
    }
}

/// Random problems on all cores; the tally does not depend on how they are shared.
fn random_problems(random: u64, first: u64) -> RandomTally {
    let next = AtomicU64::new(0);
    let outcomes = Mutex::new(Vec::new());
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    let begin = next.fetch_add(PORTION, Ordering::Relaxed);
                    if begin >= random {
                        break;
                    }
                    let end = (begin + PORTION).min(random);
                    let tried: Vec<_> = (begin..end)
                        .map(|k| {
                            let number = first.wrapping_add(k);
                            (number, tried(number))
                        })
                        .collect();
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.extend(tried);
                    }
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes.sort_by_key(|(number, _)| *number);
    let mut tally = RandomTally::default();
    for (number, tried) in outcomes {
        for (question, outcome) in tried {
            tally.count(number, question, outcome);
        }
    }
    tally
}

/// One problem; a panic is a wrong answer, not the end of all others.
fn tried(number: u64) -> [(&'static str, Outcome); 2] {
    let attempt = || try_planted(&planted(number), method_of(number));
    std::panic::catch_unwind(attempt).unwrap_or_else(|_| {
        let wrong = || Outcome::Wrong("a panic".into());
        [("index", wrong()), ("solution", wrong())]
    })
}

/// Half of the problems by the default method, the others in turn by the implicit ones.
fn method_of(number: u64) -> Option<Method> {
    match number % 4 {
        1 => Some(Method::Radau),
        3 => Some(Method::Bdf),
        _ => None,
    }
}

fn page(rows: &[LibraryRow], tally: &RandomTally, random: u64) -> String {
    let mut page = String::from("The library against its references\n");
    let width = rows.iter().map(|row| row.model.len()).max().unwrap_or(0);
    let (mut right, mut open, mut wrong) = (0, 0, 0);
    for row in rows {
        let outcome = match &row.outcome {
            Outcome::Right(_) if row.question == "index" => {
                right += 1;
                "right".to_string()
            }
            Outcome::Right(error) => {
                right += 1;
                format!("right, error {error:.1e}")
            }
            Outcome::Open(reason) => {
                open += 1;
                format!("open: {reason}")
            }
            Outcome::Wrong(found) => {
                wrong += 1;
                format!("WRONG: {found}")
            }
        };
        let (model, question) = (&row.model, &row.question);
        let _ = writeln!(page, "  {model:width$}  {question:18}  {outcome}");
    }
    let _ = writeln!(page, "  {right} right, {open} open, {wrong} wrong\n");
    let n_open: usize = tally.open.values().sum();
    let n_wrong = tally.wrong.len();
    let _ = writeln!(
        page,
        "{random} random DAEs, each asked for its index and its solution\n  {} right (largest error {:.1e}), {n_open} open, \
         {n_wrong} wrong",
        tally.right, tally.worst
    );
    for (reason, times) in &tally.open {
        let _ = writeln!(page, "  open {times} times: {reason}");
    }
    for (number, question, found) in tally.wrong.iter().take(20) {
        let _ = writeln!(
            page,
            "  WRONG {question} of problem {number}: {found} (daelight selftest --print {number})"
        );
    }
    page
}

fn document(rows: &[LibraryRow], tally: &RandomTally) -> String {
    let outcome = |outcome: &Outcome| match outcome {
        Outcome::Right(error) => serde_json::json!({"verdict": "right", "error": error}),
        Outcome::Open(reason) => serde_json::json!({"verdict": "open", "because": reason}),
        Outcome::Wrong(found) => serde_json::json!({"verdict": "wrong", "found": found}),
    };
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "model": row.model, "question": row.question, "outcome": outcome(&row.outcome),
            })
        })
        .collect();
    let wrong: Vec<_> = tally
        .wrong
        .iter()
        .map(|(number, question, found)| {
            serde_json::json!({"number": number, "question": question, "found": found})
        })
        .collect();
    let document = serde_json::json!({
        "command": "selftest",
        "library": rows,
        "random": {
            "right": tally.right, "largest_error": tally.worst, "open": tally.open, "wrong": wrong,
        },
    });
    format!("{document:#}\n")
}
