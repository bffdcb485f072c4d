//! Measures the plain loops against faer for n = 4 to 96, to place the crossovers of `lu`, `qr` and `svd`.
//!
//! `cargo run --release -p daelight-linalg --example crossover` prints nanoseconds per call, the least of several rounds,
//! and the ratio plain / faer: below 1 the plain loop wins. Every factorisation is checked before it is timed.

use daelight_linalg::{CscMat, Lu, Mat, Qr, SparseLu, Svd};
use std::hint::black_box;
use std::time::Instant;

/// Least time of a call in nanoseconds.
fn time(mut call: impl FnMut()) -> f64 {
    call();
    let start = Instant::now();
    call();
    let once = start.elapsed().as_nanos().max(20) as f64;
    let repeats = (400_000.0 / once).ceil() as usize;
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        for _ in 0..repeats {
            call();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / repeats as f64);
    }
    best
}

fn random(n: usize) -> Mat {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ n as u64;
    Mat::from_fn(n, n, |_, _| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn main() {
    println!(
        "  n | lu plain     faer ratio | solve | 16 rhs | qr plain     faer ratio | svd plain      faer ratio"
    );
    for n in [
        4, 8, 13, 16, 20, 24, 27, 28, 30, 32, 36, 40, 48, 56, 64, 72, 80, 96,
    ] {
        let a = random(n);
        let b: Vec<f64> = (0..n).map(|i| i as f64 - 2.5).collect();
        let mut lu = Lu::with_capacity(n);
        let mut x = b.clone();
        let mut lu_times = [0.0; 2];
        for (slot, use_faer) in [false, true].into_iter().enumerate() {
            lu.factor_with(a.view(), use_faer)
                .expect("a random matrix is finite");
            x.copy_from_slice(&b);
            assert!(
                lu.solve(&mut x)
                    .expect("a random matrix is regular")
                    .backward_error
                    < 1e-14
            );
            lu_times[slot] = time(|| {
                lu.factor_with(black_box(a.view()), use_faer)
                    .expect("checked above")
            });
        }
        let solve = time(|| {
            x.copy_from_slice(&b);
            lu.solve(black_box(&mut x)).expect("checked above");
        });
        let many = Mat::from_fn(n, 16, |i, j| (i + 2 * j) as f64);
        let mut xs = many.clone();
        let solve_many = time(|| {
            xs.assign(many.view());
            lu.solve_many(black_box(xs.view_mut()))
                .expect("checked above");
        });
        let mut qr = Qr::with_capacity(n, n);
        let mut qr_times = [0.0; 2];
        for (slot, use_faer) in [false, true].into_iter().enumerate() {
            qr.factor_with(a.view(), use_faer)
                .expect("a random matrix is finite");
            assert!(
                qr.least_squares(n, &b, &mut x)
                    .expect("a random matrix is regular")
                    .backward_error
                    < 1e-14
            );
            qr_times[slot] = time(|| {
                qr.factor_with(black_box(a.view()), use_faer)
                    .expect("checked above")
            });
        }
        let mut svd = Svd::new();
        let mut svd_times = [0.0; 2];
        for (slot, use_faer) in [false, true].into_iter().enumerate() {
            svd.factor_with(a.view(), true, use_faer)
                .expect("a random matrix is finite");
            let product: f64 = svd.singular_values().iter().map(|s| s.ln()).sum();
            assert!((product - lu.log_det().expect("factored").log_abs).abs() < 1e-10);
            svd_times[slot] = time(|| {
                svd.factor_with(black_box(a.view()), true, use_faer)
                    .expect("checked above")
            });
        }
        println!(
            "{n:3} | {:8.0} {:8.0} {:5.2} | {solve:5.0} | {solve_many:6.0} | {:8.0} {:8.0} {:5.2} | {:9.0} {:9.0} {:5.2}",
            lu_times[0],
            lu_times[1],
            lu_times[0] / lu_times[1],
            qr_times[0],
            qr_times[1],
            qr_times[0] / qr_times[1],
            svd_times[0],
            svd_times[1],
            svd_times[0] / svd_times[1],
        );
    }
    println!("\nsparse, block tridiagonal with blocks of 5: microseconds");
    println!("     n | analyse | fresh pivots | reused pivots | solve");
    for blocks in [20, 200, 2000] {
        let a = block_tridiagonal(blocks);
        let n = a.nrows();
        let analyse = time(|| drop(black_box(SparseLu::new(&a))));
        let mut lu = SparseLu::new(&a).expect("the pattern is square");
        let fresh = time(|| lu.factor_afresh(&a).expect("diagonally dominant"));
        let reused = time(|| {
            lu.factor(&a).expect("diagonally dominant");
        });
        let mut x = vec![1.0; n];
        let solve = time(|| {
            x.fill(1.0);
            lu.solve(&mut x).expect("diagonally dominant");
        });
        let [analyse, fresh, reused, solve] = [analyse, fresh, reused, solve].map(|t| t / 1e3);
        println!("{n:6} | {analyse:7.1} | {fresh:12.1} | {reused:13.1} | {solve:5.1}");
    }
}

fn block_tridiagonal(blocks: usize) -> CscMat {
    let n = 5 * blocks;
    let mut entries = Vec::new();
    for i in 0..n {
        for j in (i / 5 * 5).saturating_sub(5)..(i / 5 * 5 + 10).min(n) {
            if i == j || (i * 7 + j * 3) % 4 == 0 {
                entries.push((
                    i,
                    j,
                    if i == j {
                        10.0
                    } else {
                        ((i * 5 + j) % 7) as f64 / 3.0 - 1.0
                    },
                ));
            }
        }
    }
    CscMat::from_triplets(n, n, &entries).expect("indices are in range")
}
