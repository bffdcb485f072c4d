//! Random DAEs with planted answers: none may be answered wrongly. `daelight selftest` tries more of them.

use daelight::selftest::random_problems;

/// The first problem, and how many are tried.
const PROBLEMS: (u64, u64) = (0, 600);

#[test]
fn no_random_problem_is_answered_wrongly() {
    let (first, count) = PROBLEMS;
    let tally = random_problems(first, count);
    let n_open: usize = tally.open.values().sum();
    println!("{} right, {n_open} open: {:?}", tally.right, tally.open);
    assert!(tally.wrong.is_empty(), "wrong: {:?}", tally.wrong);
    // An answer left open is honest, but most of these problems are easy.
    assert!(n_open * 10 <= tally.right, "open: {:?}", tally.open);
}
