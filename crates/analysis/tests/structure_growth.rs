//! Large and nested systems: offsets as large as the system, and time that grows like it.

use crate::common::library_model;
use daelight_analysis::structure::{SignatureMatrix, Structure};
use std::time::{Duration, Instant};

fn timed(n: usize, entries: impl Iterator<Item = (usize, usize, u32)>) -> (Structure, Duration) {
    let signature = SignatureMatrix::from_entries(n, n, entries).expect("inside");
    let start = Instant::now();
    let structure = Structure::of_signature(signature).expect("a transversal");
    (structure, start.elapsed())
}

/// x1' = x2, ..., x(n-1)' = xn, and `last` prescribed.
fn integrators(n: usize, last: usize) -> impl Iterator<Item = (usize, usize, u32)> {
    (0..n - 1)
        .flat_map(|i| [(i, i, 1), (i, i + 1, 0)])
        .chain([(n - 1, last, 0)])
}

/// Run backwards, n integrators have index n; forwards, all but one unknown are states.
#[test]
fn a_chain_of_integrators_has_the_index_of_its_length() {
    for n in [1, 2, 3, 50, 2000] {
        let (backwards, time) = timed(n, integrators(n, 0));
        assert_eq!(backwards.structural_index(), n);
        assert_eq!(backwards.n_degrees_of_freedom(), 0);
        assert_eq!(backwards.blocks().len(), n);
        let indices: Vec<usize> = (1..=n).collect();
        assert_eq!(backwards.unknown_indices(), indices);
        println!("{n} integrators backwards: {time:?}");
        assert!(time < Duration::from_millis(200), "{time:?}");
        let (forwards, _) = timed(n, integrators(n, n - 1));
        assert_eq!(forwards.structural_index(), 1);
        assert_eq!(forwards.n_degrees_of_freedom(), n as u64 - 1);
    }
}

/// A ring where the best transversal is one full turn away from what each row likes best.
#[test]
fn a_ring_that_must_turn_stays_quick() {
    // Row i holds x_i with order 1 and x_(i+1) with order 0; row 0 holds x_1 with the order n.
    let n = 2000;
    let ring = (0..n).flat_map(|i| {
        [
            (i, i, 1),
            (i, (i + 1) % n, if i == 0 { n as u32 } else { 0 }),
        ]
    });
    let (structure, time) = timed(n, ring);
    println!("a ring of {n}: {time:?}");
    assert!(time < Duration::from_millis(500), "{time:?}");
    // Both transversals have the value n, so both are tight and all is one block.
    assert_eq!(structure.n_degrees_of_freedom(), n as u64);
    assert_eq!(structure.blocks().len(), 1);
    assert_eq!(structure.offsets().equation[1], n - 1);
}

/// A pendulum chain: one block, offsets known for each kind of equation.
#[test]
fn pendulum_chains_are_analysed_in_linear_time() {
    for (links, limit) in [(1, 1000), (10, 1000), (1000, 1000), (20_000, 10_000)] {
        let model = library_model("pendulum-chain", &[format!("N={links}")]);
        let start = Instant::now();
        let structure =
            Structure::of_signature(SignatureMatrix::from_model(&model)).expect("a transversal");
        let time = start.elapsed();
        println!("{links} links: {time:?}");
        assert!(time < Duration::from_millis(limit), "{time:?}");
        assert_eq!(structure.structural_index(), 3);
        assert_eq!(structure.n_degrees_of_freedom(), 2 * links as u64);
        for (unknown, &d) in structure.offsets().variable.iter().enumerate() {
            assert_eq!(d, 2usize.saturating_sub(unknown / (2 * links)));
        }
        assert_eq!(structure.blocks().len(), 1);
    }
}
