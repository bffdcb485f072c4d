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

/// Rows to which a multiple of another one is added by a factor of unknowns: without the trivial equations their system Jacobian is rounding, and runs ended
/// at singular points that are not there. The last one is of index 4.
const MIXED: [u64; 10] = [848, 888, 1440, 2344, 3137, 6325, 9167, 10512, 10812, 12448];

#[test]
fn rows_mixed_by_factors_of_unknowns_are_answered_rightly() {
    for first in MIXED {
        let tally = random_problems(first, 1);
        assert!(tally.wrong.is_empty(), "{first}: {:?}", tally.wrong);
    }
}
