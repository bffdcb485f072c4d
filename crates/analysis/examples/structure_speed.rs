//! Measures the structural analysis of large systems.
//!
//! `cargo run --release -p daelight-analysis --example structure_speed` prints milliseconds, the least of several
//! runs. Index and degrees of freedom are printed beside them, so that a wrong answer is seen.

use daelight_analysis::System;
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

/// Integrators run backwards, in chains of the lengths 1, 2, 3, ...
fn staircase(n: usize) -> (usize, Entries) {
    let mut entries = Entries::new();
    let mut first = 0;
    let mut length = 1;
    while first + length <= n {
        for i in first..first + length - 1 {
            entries.extend([(i, i, 1), (i, i + 1, 0)]);
        }
        entries.push((first + length - 1, first, 0));
        first += length;
        length += 1;
    }
    (first, entries)
}

/// A square grid whose equations hold the unknowns beside and around them.
fn grid(side: usize, highest: usize) -> Entries {
    let mut random = random(13);
    let mut entries = Entries::new();
    for at in 0..side * side {
        let (x, y) = (at % side, at / side);
        let around = [
            Some(at),
            (x > 0).then(|| at - 1),
            (x + 1 < side).then(|| at + 1),
            (y > 0).then(|| at - side),
            (y + 1 < side).then(|| at + side),
        ];
        for unknown in around.into_iter().flatten() {
            entries.push((at, unknown, random(highest + 1) as u32));
        }
    }
    entries
}

fn banded(n: usize, width: usize, highest: usize) -> Entries {
    let mut random = random(9);
    let mut entries = Entries::new();
    for i in 0..n {
        for j in i.saturating_sub(width)..(i + width + 1).min(n) {
            entries.push((i, j, random(highest + 1) as u32));
        }
    }
    entries
}

fn main() {
    for links in [1000, 20_000, 40_000] {
        let model = chain(links);
        report("pendulum-chain", model.equations.len(), 5, || {
            Structure::of_signature(SignatureMatrix::from_model(&model)).expect("a transversal")
        });
        let structure =
            Structure::of_signature(SignatureMatrix::from_model(&model)).expect("a transversal");
        let system = System::new(&model).expect("a system");
        let start = Instant::now();
        let jacobian =
            SystemJacobian::new(system.equations(), &structure, system.parameters().values());
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
        let (size, entries) = staircase(n);
        matrix("chains of many lengths", size, entries);
        matrix("banded, width 2, orders 0 to 2", n, banded(n, 2, 2));
        matrix("banded, width 2, orders 0 to 1000", n, banded(n, 2, 1000));
        let side = n.isqrt();
        matrix("grid, orders 0, 1", side * side, grid(side, 1));
        matrix("grid, orders 0 to 1000", side * side, grid(side, 1000));
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
