//! Sparse LU: agrees with dense, reuses pivots while they serve, and never calls NaN a success.

use crate::common::Random;
use daelight_linalg::{CscMat, LinalgError, Lu, Mat, Pivoting, SparseLu};

/// A random sparse matrix with a permuted diagonal, so that its pattern is regular.
fn random_sparse(random: &mut Random, n: usize, per_column: usize) -> CscMat {
    let mut entries = Vec::new();
    for j in 0..n {
        entries.push(((j * 7 + 3) % n, j, 2.0 + random.unit()));
        for _ in 0..per_column {
            let i = ((random.unit() + 1.0) / 2.0 * n as f64) as usize;
            entries.push((i.min(n - 1), j, random.unit()));
        }
    }
    CscMat::from_triplets(n, n, &entries).unwrap()
}

fn check_against_dense(a: &CscMat, lu: &mut SparseLu) {
    let n = a.nrows();
    let dense = a.to_dense();
    let mut reference = Lu::new();
    reference.factor(dense.view()).unwrap();
    let (det, expected) = (lu.log_det().unwrap(), reference.log_det().unwrap());
    assert_eq!(det.sign, expected.sign);
    assert!((det.log_abs - expected.log_abs).abs() < 1e-9 * n as f64);
    let condition = reference.condition_1norm().unwrap();
    let found = lu.condition_1norm().unwrap();
    assert!(
        found <= 3.1 * condition && condition <= 3.1 * found,
        "{found} against {condition}"
    );
    let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
    for (matrix, transposed) in [(dense.clone(), false), (dense.transpose(), true)] {
        let mut b = matrix.mul_vec(&x);
        let solved = if transposed {
            lu.solve_transpose(&mut b)
        } else {
            lu.solve(&mut b)
        }
        .unwrap();
        // Old pivots may be a thousand times smaller than the best ones.
        assert!(solved.backward_error < 1e-12);
        if !(transposed || solved.refined) {
            let mut same = matrix.mul_vec(&x);
            lu.solve_unchecked(&mut same).unwrap();
            assert_eq!(same, b);
        }
        for (b, x) in b.iter().zip(&x) {
            assert!(
                (b - x).abs() < 1e-14 * condition * 10.0,
                "n = {n}, transposed: {transposed}"
            );
        }
    }
}

#[test]
fn agrees_with_dense() {
    let mut random = Random(51);
    for n in [1, 2, 3, 5, 8, 11, 20, 33, 60, 100] {
        let a = random_sparse(&mut random, n, 3);
        let mut lu = SparseLu::new(&a).unwrap();
        assert_eq!(lu.factor(&a).unwrap(), Pivoting::Fresh);
        check_against_dense(&a, &mut lu);
        // Nearby values keep the pivots.
        let mut near = a.clone();
        for v in near.values_mut() {
            *v *= 1.0 + 1e-3 * random.unit();
        }
        assert_eq!(lu.factor(&near).unwrap(), Pivoting::Reused);
        check_against_dense(&near, &mut lu);
        // Unrelated values may need new ones; either way the answer is right.
        let mut far = a.clone();
        for v in far.values_mut() {
            *v = random.unit();
        }
        lu.factor(&far).unwrap();
        check_against_dense(&far, &mut lu);
    }
}

#[test]
fn pivots_that_turn_bad_are_replaced() {
    let pattern = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let build = |values: [f64; 4]| {
        let entries: Vec<_> = pattern
            .iter()
            .zip(values)
            .map(|(&(i, j), v)| (i, j, v))
            .collect();
        CscMat::from_triplets(2, 2, &entries).unwrap()
    };
    let first = build([1.0, 0.5, 0.5, 1.0]);
    let mut lu = SparseLu::new(&first).unwrap();
    for tiny in [1e-12, 0.0] {
        lu.factor_afresh(&first).unwrap();
        let second = build([tiny, 1.0, 1.0, tiny]);
        assert_eq!(lu.factor(&second).unwrap(), Pivoting::Fresh);
        check_against_dense(&second, &mut lu);
    }
}

#[test]
fn singular_values_are_an_error_value_and_do_no_lasting_harm() {
    // Numerically singular, structurally not: faer reports success with NaN on it.
    let build = |corner: f64, coupling: f64| {
        let block = [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, corner)];
        let rest = [(2, 2, 1.0), (2, 0, coupling), (0, 2, coupling)];
        CscMat::from_triplets(3, 3, &[&block[..], &rest[..]].concat()).unwrap()
    };
    let (singular, regular) = (build(1.0, 0.0), build(4.0, 0.5));
    let mut lu = SparseLu::new(&singular).unwrap();
    lu.factor(&singular).unwrap();
    let mut b = [1.0, 2.0, 3.0];
    assert!(matches!(
        lu.solve(&mut b),
        Err(LinalgError::Singular { .. })
    ));
    assert_eq!(b, [1.0, 2.0, 3.0]);
    assert_eq!(lu.log_det().unwrap().sign, 0.0);
    assert_eq!(lu.smallest_pivot().unwrap(), 0.0);
    assert_eq!(lu.condition_1norm().unwrap(), f64::INFINITY);
    assert_eq!(lu.factor(&regular).unwrap(), Pivoting::Fresh);
    check_against_dense(&regular, &mut lu);
    assert_eq!(lu.factor(&regular).unwrap(), Pivoting::Reused);
    lu.factor(&singular).unwrap();
    assert!(matches!(
        lu.solve(&mut b),
        Err(LinalgError::Singular { .. })
    ));
}

#[test]
fn bad_patterns_and_values_are_error_values() {
    let empty_column = CscMat::from_triplets(2, 2, &[(0, 0, 1.0), (1, 0, 1.0)]).unwrap();
    let mut lu = SparseLu::new(&empty_column).unwrap();
    assert!(matches!(
        lu.factor(&empty_column),
        Err(LinalgError::StructurallySingular { .. })
    ));
    assert_eq!(lu.solve(&mut [1.0, 1.0]), Err(LinalgError::NotFactored));

    let wide = CscMat::from_triplets(2, 3, &[]).unwrap();
    assert!(matches!(
        SparseLu::new(&wide),
        Err(LinalgError::Shape { .. })
    ));
    assert!(matches!(
        CscMat::from_triplets(2, 2, &[(2, 0, 1.0)]),
        Err(LinalgError::Shape { .. })
    ));
    for (col_ptr, row_idx) in [
        (vec![0, 1], vec![0]),
        (vec![0, 2, 1], vec![0]),
        (vec![0, 1, 2], vec![0, 2]),
        (vec![0, 2, 2], vec![1, 0]),
        (vec![0, 2, 2], vec![1, 1]),
        (vec![], vec![]),
    ] {
        assert_eq!(
            CscMat::from_pattern(2, 2, col_ptr, row_idx),
            Err(LinalgError::Pattern)
        );
    }

    let good = CscMat::from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, 1.0)]).unwrap();
    let mut lu = SparseLu::new(&good).unwrap();
    let other = CscMat::from_triplets(2, 2, &[(1, 0, 1.0), (0, 1, 1.0)]).unwrap();
    assert_eq!(lu.factor(&other), Err(LinalgError::Pattern));
    let mut bad = good.clone();
    bad.values_mut()[1] = f64::NAN;
    assert_eq!(lu.factor(&bad), Err(LinalgError::InputNotFinite));
    lu.factor(&good).unwrap();
    assert_eq!(
        lu.solve(&mut [f64::NAN, 0.0]),
        Err(LinalgError::InputNotFinite)
    );
    assert_eq!(
        lu.solve(&mut [0.0]),
        Err(LinalgError::Shape {
            expected: (2, 1),
            found: (1, 1)
        })
    );

    let nothing = CscMat::from_triplets(0, 0, &[]).unwrap();
    let mut lu = SparseLu::new(&nothing).unwrap();
    lu.factor(&nothing).unwrap();
    lu.solve(&mut []).unwrap();
    assert_eq!(lu.log_det().unwrap().value(), 1.0);
}

#[test]
fn triplets_are_added_and_keep_their_zeros() {
    let a =
        CscMat::from_triplets(3, 2, &[(2, 1, 1.0), (0, 0, 5.0), (2, 1, 2.5), (1, 0, 0.0)]).unwrap();
    assert_eq!(
        (a.col_ptr(), a.row_idx(), a.values()),
        (&[0, 2, 3][..], &[0, 1, 2][..], &[5.0, 0.0, 3.5][..])
    );
    assert_eq!(
        a.to_dense(),
        Mat::from_rows(&[&[5.0, 0.0], &[0.0, 0.0], &[0.0, 3.5]])
    );
    assert_eq!(a.mul_vec(&[1.0, 2.0]), [5.0, 0.0, 7.0]);
}

#[test]
fn a_long_chain_fills_in_linearly() {
    let mut per_unknown = Vec::new();
    for n in [1000, 10_000] {
        let mut entries = Vec::new();
        for i in 0..n {
            entries.push((i, i, 2.5));
            if i > 0 {
                entries.push((i, i - 1, -1.0));
                entries.push((i - 1, i, -1.0));
            }
        }
        let a = CscMat::from_triplets(n, n, &entries).unwrap();
        let mut lu = SparseLu::new(&a).unwrap();
        lu.factor(&a).unwrap();
        let mut b = vec![0.5; n];
        lu.solve(&mut b).unwrap();
        assert!((b[n / 2] - 1.0).abs() < 1e-14);
        per_unknown.push(lu.n_factor_entries() as f64 / n as f64);
    }
    assert!(per_unknown[1] < 1.05 * per_unknown[0], "{per_unknown:?}");
}
