//! Random runs with closed forms, by every method: nothing missed, nothing invented. `DAELIGHT_FAMILIES=3000` tries more of them.

use daelight::selftest::{SelftestOutcome, family_run, try_family};
use daelight_integrate::implicit::Method;

/// How many are tried unless more are asked for.
const FEW: u64 = 240;

#[test]
fn no_run_of_the_families_is_silently_wrong() {
    let asked = std::env::var("DAELIGHT_FAMILIES").ok();
    let count = asked.and_then(|n| n.parse().ok()).unwrap_or(FEW);
    let methods = [
        None,
        Some(Method::Radau),
        Some(Method::Bdf),
        Some(Method::Taylor),
    ];
    let mut wrong = Vec::new();
    let mut open = Vec::new();
    for number in 0..count {
        let run = family_run(number);
        let method = methods[(number % 4) as usize];
        match try_family(&run, method) {
            SelftestOutcome::Right(_) => {}
            SelftestOutcome::Open(why) => open.push((number, method, why)),
            SelftestOutcome::Wrong(found) => wrong.push((number, method, found, run.text)),
        }
    }
    println!("{count} runs, {} open: {open:#?}", open.len());
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
    assert!(open.len() as u64 * 20 <= count, "{open:#?}");
}
