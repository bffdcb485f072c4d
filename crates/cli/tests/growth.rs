//! Large models: time and memory grow like the model.

mod common;
#[path = "../../../tests/support/processor.rs"]
mod processor;

use processor::timed;
use std::time::Duration;

fn check(n: usize) -> Duration {
    let options = daelight_lang::Options {
        set: vec![format!("N={n}")],
        ..Default::default()
    };
    let (balance, elapsed) = timed(|| {
        let mut loaded = daelight::load("pendulum-chain", &options).expect("a built-in model");
        daelight::check(&mut loaded)
    });
    assert!(balance.expect("a model").is_balanced());
    elapsed
}

/// Twice the links cost at most 2.3 times the time. The best of several tries is compared, so that
/// other work on the machine matters little.
#[test]
fn time_and_memory_grow_with_the_number_of_equations() {
    // Both sizes in turn, so that a busy moment of the machine meets both.
    let mut best = [Duration::MAX; 2];
    let mut ratio = f64::INFINITY;
    for attempt in 0..40 {
        for (best, n) in best.iter_mut().zip([20_000, 40_000]) {
            *best = check(n).min(*best);
        }
        ratio = best[1].as_secs_f64() / best[0].as_secs_f64();
        // On a busy machine it takes more tries until both sizes had a quiet moment.
        if attempt >= 4 && ratio < 2.25 {
            break;
        }
    }
    let [once, twice] = best;
    println!("100,000 equations: {once:?}; 200,000: {twice:?}; ratio {ratio:.2}");
    assert!(once < Duration::from_secs(3), "{once:?}");
    assert!(ratio < 2.3, "ratio {ratio:.2}");
    fits_in_two_gigabytes();
}

/// Part of the test above: run beside it, it would disturb the clock.
fn fits_in_two_gigabytes() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let binary = env!("CARGO_BIN_EXE_daelight");
    let command = format!("ulimit -v 2097152; exec {binary} check pendulum-chain --set N=20000");
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .output()
        .expect("sh runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("100000 equations for 100000 unknowns")
    );
}
