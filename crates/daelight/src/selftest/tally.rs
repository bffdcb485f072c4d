//! Many random problems, and how often each outcome came.

use super::SelftestOutcome;
use super::families::{family_run, try_family};
use super::hybrid::{hybrid_run, try_hybrid};
use super::random::{planted, try_planted};
use daelight_integrate::implicit::Method;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Problems tried between two looks at the counter.
const PORTION: u64 = 16;

/// How often each outcome came.
#[derive(Clone, Default, Debug)]
pub struct RandomTally {
    /// Right.
    pub right: usize,
    /// Open, by reason.
    pub open: BTreeMap<String, usize>,
    /// Wrong, by the number of the problem and what was asked.
    pub wrong: Vec<(u64, &'static str, String)>,
    /// The largest error of a solution that counts as right.
    pub worst: f64,
}

impl RandomTally {
    /// Counts one outcome.
    pub fn count(&mut self, number: u64, question: &'static str, outcome: SelftestOutcome) {
        match outcome {
            SelftestOutcome::Right(error) => {
                self.right += 1;
                self.worst = self.worst.max(error);
            }
            SelftestOutcome::Open(reason) => *self.open.entry(reason).or_default() += 1,
            SelftestOutcome::Wrong(found) => self.wrong.push((number, question, found)),
        }
    }
}

/// Tries as many random problems from a number on, on all cores; the tally does not depend on how they are shared.
pub fn random_problems(first: u64, count: u64) -> RandomTally {
    let next = AtomicU64::new(0);
    let outcomes = Mutex::new(Vec::new());
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    let begin = next.fetch_add(PORTION, Ordering::Relaxed);
                    if begin >= count {
                        break;
                    }
                    let end = (begin + PORTION).min(count);
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

/// What a number stands for.
enum Kind {
    /// A DAE with a planted solution.
    Planted,
    /// A run with a closed form.
    Family,
    /// A hybrid DAE with planted events.
    Hybrid,
}

fn kind(number: u64) -> Kind {
    match number % 16 {
        6 | 14 => Kind::Family,
        2 | 7 | 10 | 13 => Kind::Hybrid,
        _ => Kind::Planted,
    }
}

/// The text of a random problem.
pub fn problem_text(number: u64) -> String {
    match kind(number) {
        Kind::Family => family_run(number).text,
        Kind::Hybrid => hybrid_run(number).text,
        Kind::Planted => planted(number).text,
    }
}

/// One problem; a panic is a wrong answer, not the end of all others.
fn tried(number: u64) -> Vec<(&'static str, SelftestOutcome)> {
    let attempt = || match kind(number) {
        Kind::Family => vec![(
            "run",
            try_family(&family_run(number), method_of(number / 8)),
        )],
        Kind::Hybrid => {
            let run = hybrid_run(number);
            let methods = [
                ("run", None),
                ("run by radau", Some(Method::Radau)),
                ("run by bdf", Some(Method::Bdf)),
            ];
            let tried = methods.map(|(question, method)| (question, try_hybrid(&run, method)));
            tried.to_vec()
        }
        Kind::Planted => try_planted(&planted(number), method_of(number)).to_vec(),
    };
    std::panic::catch_unwind(attempt)
        .unwrap_or_else(|_| vec![("run", SelftestOutcome::Wrong("a panic".into()))])
}

/// Half of the problems by the default method, the others in turn by the implicit ones.
fn method_of(number: u64) -> Option<Method> {
    match number % 4 {
        1 => Some(Method::Radau),
        3 => Some(Method::Bdf),
        _ => None,
    }
}
