//! `selftest`: the table of the library and the tally of random problems.

use crate::cli::SelftestArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight::selftest::{
    LibraryRow, RandomTally, SelftestOutcome, library, problem_text, random_problems,
};
use std::fmt::Write;

/// Tries everything, prints what came of it; wrong answers are a failure.
pub fn selftest(arguments: &SelftestArgs, terminal: &Terminal) -> Ended {
    if let Some(number) = arguments.print {
        terminal.answer(problem_text(number).as_bytes(), None)?;
        return Ok(Status::Done);
    }
    let mut rows = Vec::new();
    library(|row| rows.push(row));
    let tally = random_problems(arguments.first, arguments.random);
    let n_wrong = rows
        .iter()
        .filter(|row| matches!(row.outcome, SelftestOutcome::Wrong(_)))
        .count()
        + tally.wrong.len();
    let answer = match arguments.json {
        true => document(&rows, &tally),
        false => page(&rows, &tally, arguments.random),
    };
    terminal.answer(answer.as_bytes(), None)?;
    Ok(match n_wrong {
        0 => Status::Done,
        _ => Status::GaveUp,
    })
}

fn page(rows: &[LibraryRow], tally: &RandomTally, random: u64) -> String {
    let mut page = String::from("The library against its references\n");
    let width = rows.iter().map(|row| row.model.len()).max().unwrap_or(0);
    let (mut right, mut open, mut wrong) = (0, 0, 0);
    for row in rows {
        let outcome = match &row.outcome {
            SelftestOutcome::Right(_) if row.question == "index" => {
                right += 1;
                "right".to_string()
            }
            SelftestOutcome::Right(error) => {
                right += 1;
                format!("right, error {error:.1e}")
            }
            SelftestOutcome::Open(reason) => {
                open += 1;
                format!("open: {reason}")
            }
            SelftestOutcome::Wrong(found) => {
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
        "{random} random problems: DAEs asked for index and solution, runs with closed forms, hybrid DAEs\n  {} right (largest error {:.1e}), {n_open} open, \
         {n_wrong} wrong",
        tally.right, tally.worst
    );
    for (reason, times) in &tally.open {
        let s = if *times == 1 { "" } else { "s" };
        let _ = writeln!(page, "  open {times} time{s}: {reason}");
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
    let outcome = |outcome: &SelftestOutcome| match outcome {
        SelftestOutcome::Right(error) => serde_json::json!({"verdict": "right", "error": error}),
        SelftestOutcome::Open(reason) => serde_json::json!({"verdict": "open", "because": reason}),
        SelftestOutcome::Wrong(found) => serde_json::json!({"verdict": "wrong", "found": found}),
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
