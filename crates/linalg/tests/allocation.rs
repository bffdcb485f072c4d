//! Factoring and solving allocate nothing once a workspace has its size.

use daelight_linalg::{CscMat, Lu, Mat, Qr, SparseLu, Svd};

#[path = "../../../tests/support/counting.rs"]
mod counting;

use counting::allocations;

/// Runs twice; the first time may allocate, the second must not.
fn check(what: &str, n: usize, mut run: impl FnMut()) {
    run();
    let count = allocations(&mut run);
    assert_eq!(count, 0, "{what}, n = {n}: {count} allocations");
}

/// Runs once and must not allocate: the workspace was made large enough beforehand.
fn check_first(what: &str, n: usize, mut run: impl FnMut()) {
    let count = allocations(&mut run);
    assert_eq!(
        count, 0,
        "{what}, n = {n}: {count} allocations at the first call"
    );
}

#[test]
fn factor_and_solve_do_not_allocate() {
    check_everything();
    std::thread::spawn(check_everything).join().unwrap();
}

fn check_everything() {
    // faer keeps a packing buffer for each thread, made at the thread's first blocked product. A full
    // matrix, since the products of a diagonal one may be skipped.
    let full = Mat::from_fn(128, 128, |i, j| {
        1.0 / (1 + i + 2 * j) as f64 + f64::from(i == j)
    });
    let mut warm = Svd::new();
    warm.factor(full.view()).unwrap();
    warm.factor_values(full.view()).unwrap();
    for n in [1, 8, 27, 31, 32, 40, 64, 100] {
        let a = Mat::from_fn(n, n, |i, j| {
            ((i * 5 + j * 3) % 11) as f64 - 4.0 + if i == j { 20.0 } else { 0.0 }
        });
        let b: Vec<f64> = (0..n).map(|i| i as f64 + 1.0).collect();
        let mut x = b.clone();
        let mut y = vec![0.0; n];
        let mut many = Mat::from_fn(n, 20, |i, j| (i + j) as f64);

        let mut lu = Lu::with_capacity(n);
        let mut use_lu = || {
            lu.factor(a.view()).unwrap();
            x.copy_from_slice(&b);
            lu.solve(&mut x).unwrap();
            lu.solve_transpose(&mut x).unwrap();
            lu.solve_many(many.view_mut()).unwrap();
            assert!(lu.log_det().unwrap().sign != 0.0);
            assert!(lu.condition_1norm().unwrap() > 0.5);
        };
        check_first("lu", n, &mut use_lu);
        check("lu", n, use_lu);

        let mut qr = Qr::with_capacity(n, n);
        let mut kernel = Mat::zeros(n, 1);
        let mut use_qr = || {
            qr.factor(a.view()).unwrap();
            qr.least_squares(n, &b, &mut y).unwrap();
            qr.kernel_basis(n - 1, kernel.view_mut()).unwrap();
            qr.left_null_basis(n - 1, kernel.view_mut()).unwrap();
        };
        check_first("qr", n, &mut use_qr);
        check("qr", n, use_qr);

        let mut svd = Svd::with_capacity(n, n);
        let mut use_svd = || {
            svd.factor(a.view()).unwrap();
            assert!(svd.norm() > 0.0);
            svd.factor_values(a.view()).unwrap();
        };
        check_first("svd", n, &mut use_svd);
        check("svd", n, use_svd);

        // A smaller matrix in a workspace that has seen a larger one.
        let small = Mat::from_fn(n / 2, n / 2, |i, j| {
            1.0 / (1 + i + 2 * j) as f64 + f64::from(i == j)
        });
        check("smaller", n, || {
            lu.factor(small.view()).unwrap();
            qr.factor(small.view()).unwrap();
            svd.factor(small.view()).unwrap();
            lu.factor(a.view()).unwrap();
            qr.factor(a.view()).unwrap();
            svd.factor(a.view()).unwrap();
        });
    }

    for n in [5, 50, 500] {
        let mut entries = Vec::new();
        for i in 0..n {
            entries.push((i, i, 4.0));
            entries.push((i, (i + 1) % n, -1.0));
            entries.push((i, (i * 3 + 1) % n, 0.5));
        }
        let a = CscMat::from_triplets(n, n, &entries).unwrap();
        let mut lu = SparseLu::new(&a).unwrap();
        let mut x = vec![1.0; n];
        check("sparse lu", n, || {
            lu.factor(&a).unwrap();
            lu.solve(&mut x).unwrap();
            lu.solve_transpose(&mut x).unwrap();
            assert!(lu.condition_1norm().unwrap() >= 1.0);
        });
        check("sparse lu with fresh pivots", n, || {
            lu.factor_afresh(&a).unwrap()
        });
    }
}
