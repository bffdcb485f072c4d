//! Measures the structural analysis of large systems.
//!
//! `cargo run --release -p daelight-analysis --example structure_speed` prints milliseconds, the least of several
//! runs. Index and degrees of freedom are printed beside them, so that a wrong answer is seen.

use daelight_analysis::structure::{SignatureMatrix, Structure, SystemJacobian};
use daelight_lang::{Model, Options, load};
use std::time::Instant;

type Entries = Vec<(usize, usize, u32)>;

fn report(name: &str, n: usize, rounds: usize, mut run: impl FnMut() -> Structure) {
    let mut best = f64::INFINITY;
    let mut answer = (0, 0, 0);
    for _ in 0..rounds {
        let start = Instant::now();
        let structure = run();
        best = best.min(start.elapsed().as_secs_f64());
        answer = (
            structure.structural_index(),
            structure.n_degrees_of_freedom(),
            structure.blocks().len(),
        );
    }
    let (index, freedom, blocks) = answer;
    println!(
        "{name:<44} n = {n:>6}  {:>9.2} ms  index {index}, freedom {freedom}, blocks {blocks}",
        best * 1e3
    );
}

fn matrix(name: &str, n: usize, entries: Entries) {
    let signature = SignatureMatrix::from_entries(n, n, entries).expect("inside");
    report(name, n, 3, || {
        Structure::of_signature(signature.clone()).expect("a transversal")
    });
}

fn chain(links: usize) -> Model {
    let text = include_str!("../../../models/pendulum-chain/PendulumChain.mo");
    let options = Options {
        set: vec![format!("N={links}")],
        ..Options::default()
    };
    load("pendulum-chain", text.as_bytes(), &options)
        .model
        .expect("a library model")
}

/// A sequence that looks random, the same in every run.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    }
}

/// A planted transversal and `extra` random entries in each row.
fn scattered(n: usize, extra: usize, highest: usize) -> Entries {
    let mut random = random(5);
    let mut entries: Entries = (0..n).map(|i| (i, (i * 7 + 3) % n, 0)).collect();
    for i in 0..n {
        for _ in 0..extra {
            entries.push((i, random(n), random(highest + 1) as u32));
        }
    }
    entries
}

/// Integrators run backwards, in chains of the lengths 1, 2, 3, ..., all closed to one block.
fn staircase(n: usize) -> (usize, Entries) {
    let mut entries = Entries::new();
    let mut first = 0;
    let mut length = 1;
    while first + length <= n {
        for i in first..first + length - 1 {
            entries.extend([(i, i, 1), (i, i + 1, 0)]);
        }
        entries.push((first + length - 1, first, 0));
        // The last unknown of a chain feeds the first equation of the next, and back.
        let next = first + length;
        if next + length < n {
            entries.push((next, first, 0));
            entries.push((first + length - 1, next, 0));
        }
        first = next;
        length += 1;
    }
    (first, entries)
}

fn banded(n: usize, width: usize) -> Entries {
    let mut random = random(9);
    let mut entries = Entries::new();
    for i in 0..n {
        for j in i.saturating_sub(width)..(i + width + 1).min(n) {
            entries.push((i, j, random(3) as u32));
        }
    }
    entries
}

fn main() {
    for links in [1000, 20_000, 40_000] {
        let model = chain(links);
        report("pendulum-chain", model.equations.len(), 5, || {
            Structure::of_model(&model).expect("a transversal")
        });
        let structure = Structure::of_model(&model).expect("a transversal");
        let start = Instant::now();
        let jacobian = SystemJacobian::new(&model, &structure);
        let built = start.elapsed();
        let start = Instant::now();
        let values = jacobian.evaluate(|_| 0.5);
        println!(
            "    system Jacobian: {} entries, built in {built:.1?}, evaluated in {:.1?}",
            values.len(),
            start.elapsed()
        );
    }
    for n in [2000, 100_000] {
        let backwards = (0..n - 1).flat_map(|i| [(i, i, 1), (i, i + 1, 0)]);
        matrix(
            "integrators backwards",
            n,
            backwards.chain([(n - 1, 0, 0)]).collect(),
        );
        let closed = (0..n - 1).flat_map(|i| [(i, i, 1), (i, i + 1, 0), (i, n - 1, 0)]);
        matrix(
            "integrators backwards, one block",
            n,
            closed.chain([(n - 1, 0, 0)]).collect(),
        );
        matrix("banded, width 2, orders 0 to 2", n, banded(n, 2));
        let (size, entries) = staircase(n);
        matrix("chains of many lengths, one block", size, entries);
        matrix(
            "scattered, 2 more in a row, orders 0, 1",
            n,
            scattered(n, 2, 1),
        );
        matrix(
            "scattered, 4 more in a row, orders 0, 1",
            n,
            scattered(n, 4, 1),
        );
        matrix(
            "scattered, 4 more in a row, orders 0 to 9",
            n,
            scattered(n, 4, 9),
        );
    }
}
