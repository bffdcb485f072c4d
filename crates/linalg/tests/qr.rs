//! Pivoted QR: the factors rebuild the matrix, bases are orthonormal and right, least squares are shortest and optimal.

use crate::common::{Random, distance, orthonormality, shapes};
use daelight_linalg::{GapRule, LinalgError, Magnitudes, Mat, Qr};

fn check_rebuild(a: &Mat, use_faer: bool) {
    let (m, n) = (a.nrows(), a.ncols());
    let mut qr = Qr::new();
    qr.factor_with(a.view(), use_faer).unwrap();
    let mut q = Mat::zeros(m, m);
    qr.q_columns(0, q.view_mut()).unwrap();
    let size = m.max(n).max(1) as f64;
    assert!(orthonormality(q.view()) <= 1e-14 * size, "{m} x {n}");
    let r = qr.r().unwrap();
    let thin = Mat::from_fn(m, m.min(n), |i, j| q[(i, j)]);
    let perm = qr.permutation().unwrap();
    let permuted = Mat::from_fn(m, n, |i, j| a[(i, perm[j])]);
    assert!(
        distance(&thin.matmul(&r), &permuted) <= 1e-14 * size,
        "{m} x {n}"
    );
    let pivots: Vec<f64> = qr.pivots().unwrap().collect();
    assert!(
        pivots
            .windows(2)
            .all(|w| w[1] <= w[0] * (1.0 + 1e-12) + 1e-13),
        "{m} x {n}: {pivots:?}"
    );
}

#[test]
fn factors_rebuild_the_matrix() {
    let mut random = Random(11);
    for (m, n) in shapes() {
        let a = random.matrix(m, n);
        check_rebuild(&a, false);
        check_rebuild(&a, true);
    }
}

/// Bases and least squares of a matrix with known rank.
fn check_rank(a: &Mat, rank: usize, use_faer: bool) {
    let (m, n) = (a.nrows(), a.ncols());
    let mut qr = Qr::new();
    qr.factor_with(a.view(), use_faer).unwrap();
    let decision = qr.rank(&GapRule::new(m, n, a.view().norm_frobenius()));
    assert_eq!(decision.decided(), Some(rank), "{m} x {n}: {decision}");
    assert_eq!(decision.kind, Magnitudes::Pivots);
    let size = 1e-12;
    let mut kernel = Mat::zeros(n, n - rank);
    qr.kernel_basis(rank, kernel.view_mut()).unwrap();
    assert!(orthonormality(kernel.view()) < size);
    assert!(
        a.matmul(&kernel).view().norm_max() < size,
        "{m} x {n} of rank {rank}"
    );
    let mut left = Mat::zeros(m, m - rank);
    qr.left_null_basis(rank, left.view_mut()).unwrap();
    assert!(left.transpose().matmul(a).view().norm_max() < size);
    let mut range = Mat::zeros(m, rank);
    qr.range_basis(rank, range.view_mut()).unwrap();
    let projected = range.matmul(&range.transpose()).matmul(a);
    assert!(distance(&projected, a) < size);

    let b: Vec<f64> = (0..m).map(|i| (i as f64 * 0.7).sin() + 0.3).collect();
    let mut x = vec![0.0; n];
    let solved = qr.least_squares(rank, &b, &mut x).unwrap();
    assert!(solved.backward_error < 1e-13);
    // Optimal: the residual is orthogonal to the range. Shortest: x is orthogonal to the kernel.
    let residual: Vec<f64> = a.mul_vec(&x).iter().zip(&b).map(|(p, q)| q - p).collect();
    let x_size = x.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
    assert!(
        a.transpose()
            .mul_vec(&residual)
            .iter()
            .all(|v| v.abs() < 1e-11 * x_size)
    );
    assert!(
        kernel
            .transpose()
            .mul_vec(&x)
            .iter()
            .all(|v| v.abs() < 1e-12 * x_size)
    );
}

#[test]
fn bases_and_least_squares_for_known_ranks() {
    let mut random = Random(12);
    for (m, n) in shapes() {
        let most = m.min(n);
        for rank in [0, 1, most / 2, most.saturating_sub(1)] {
            if rank < most {
                let a = random.of_rank(m, n, rank);
                check_rank(&a, rank, false);
                check_rank(&a, rank, true);
            }
        }
    }
}

#[test]
fn a_zero_matrix_has_rank_zero() {
    let mut qr = Qr::new();
    qr.factor(Mat::zeros(3, 4).view()).unwrap();
    assert_eq!(qr.rank(&GapRule::new(3, 4, 0.0)).decided(), Some(0));
    assert_eq!(qr.rank(&GapRule::new(3, 4, 1.0)).decided(), Some(0));
    let mut x = [1.0; 4];
    qr.least_squares(0, &[1.0, 2.0, 3.0], &mut x).unwrap();
    assert_eq!(x, [0.0; 4]);
    let mut kernel = Mat::zeros(4, 4);
    qr.kernel_basis(0, kernel.view_mut()).unwrap();
    assert_eq!(orthonormality(kernel.view()), 0.0);
}

#[test]
fn extreme_scales_do_not_matter() {
    let a = Random(13).of_rank(6, 5, 3);
    for power in [-1000, 1000] {
        let scaled = Mat::from_fn(6, 5, |i, j| a[(i, j)] * 2f64.powi(power));
        let mut qr = Qr::new();
        qr.factor(scaled.view()).unwrap();
        let decision = qr.rank(&GapRule::new(6, 5, scaled.view().norm_frobenius()));
        assert_eq!(decision.decided(), Some(3), "{decision}");
    }
}

#[test]
fn permuting_columns_permutes_the_solution() {
    let a = Random(14).matrix(7, 4);
    let order = [2, 0, 3, 1];
    let b: Vec<f64> = (0..7).map(|i| i as f64).collect();
    let mut qr = Qr::new();
    let (mut x, mut y) = ([0.0; 4], [0.0; 4]);
    qr.factor(a.view()).unwrap();
    qr.least_squares(4, &b, &mut x).unwrap();
    qr.factor(Mat::from_fn(7, 4, |i, j| a[(i, order[j])]).view())
        .unwrap();
    qr.least_squares(4, &b, &mut y).unwrap();
    for (j, &from) in order.iter().enumerate() {
        assert!((y[j] - x[from]).abs() < 1e-14);
    }
}

#[test]
fn bad_input_is_an_error_value() {
    let mut qr = Qr::new();
    assert_eq!(qr.rank(&GapRule::new(2, 2, 1.0)).decided(), None);
    for n in [2, 40] {
        let mut a = Mat::identity(n);
        a[(0, 1)] = f64::NAN;
        assert_eq!(qr.factor(a.view()), Err(LinalgError::InputNotFinite));
        assert_eq!(qr.apply_q(&mut vec![0.0; n]), Err(LinalgError::NotFactored));
    }
    qr.factor(Mat::identity(2).view()).unwrap();
    let mut x = [0.0; 2];
    assert!(matches!(
        qr.least_squares(3, &[1.0, 1.0], &mut x),
        Err(LinalgError::Shape { .. })
    ));
    assert!(matches!(
        qr.least_squares(2, &[1.0], &mut x),
        Err(LinalgError::Shape { .. })
    ));
    assert_eq!(
        qr.least_squares(2, &[1.0, f64::INFINITY], &mut x),
        Err(LinalgError::InputNotFinite)
    );
    // A rank that the matrix does not have.
    qr.factor(Mat::zeros(2, 2).view()).unwrap();
    assert_eq!(
        qr.least_squares(1, &[1.0, 1.0], &mut x),
        Err(LinalgError::Singular { step: 0 })
    );
}
