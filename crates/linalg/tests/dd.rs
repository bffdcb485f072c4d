//! Double-double: digits of known constants, and a decomposition that rebuilds the matrix to 30 digits.

use crate::common::Random;
use daelight_linalg::{Dd, DdMat, DdSvd, LinalgError, Mat};

#[test]
fn square_root_of_two_to_32_digits() {
    let root = Dd::from(2.0).sqrt();
    // sqrt(2) = 1.4142135623730951 - 9.667293313452913e-17, mpmath 1.3.
    assert_eq!(root.hi(), std::f64::consts::SQRT_2);
    assert!((root.lo() + 9.667_293_313_452_913e-17).abs() < 1e-31);
    assert!((root * root - Dd::from(2.0)).abs().hi() < 4.0 * Dd::EPSILON);
    assert_eq!(Dd::ZERO.sqrt(), Dd::ZERO);
    assert!(!Dd::from(-1.0).sqrt().is_finite());
}

#[test]
fn sums_and_products_of_doubles_are_exact() {
    let mut random = Random(41);
    for _ in 0..1000 {
        let (a, b) = (random.unit(), random.unit() * 1e-9);
        assert_eq!(Dd::sum(a, b) - Dd::from(a), Dd::from(b));
        let (p, q) = ((a * 1e6).round(), (b * 1e15).round());
        assert_eq!(
            Dd::product(p, q).hi() as i128 + Dd::product(p, q).lo() as i128,
            p as i128 * q as i128
        );
    }
}

#[test]
fn the_field_laws_hold_to_30_digits() {
    let mut random = Random(42);
    for _ in 0..1000 {
        let mut next = || Dd::sum(random.unit(), random.unit() * 1e-17);
        let (a, b, c) = (next(), next(), next());
        let close = |x: Dd, y: Dd, size: f64| (x - y).abs().hi() <= 16.0 * Dd::EPSILON * size;
        assert!(close((a + b) + c, a + (b + c), 3.0));
        assert!(close((a * b) * c, a * (b * c), 1.0));
        assert!(close(a * (b + c), a * b + a * c, 2.0));
        assert!(close(a / b * b, a, 1.0));
        assert!((a < b) != (b <= a));
    }
}

/// Largest entry of U S V^T - A, of U^T U - 1 and of V^T V - 1.
fn defect(a: &DdMat, svd: &DdSvd) -> f64 {
    let middle = DdMat::from_fn(a.nrows(), a.ncols(), |i, j| {
        if i == j { svd.values[i] } else { Dd::ZERO }
    });
    let largest = |m: DdMat, n: &DdMat| {
        let mut worst = 0.0_f64;
        for j in 0..m.ncols() {
            for i in 0..m.nrows() {
                worst = worst.max((m[(i, j)] - n[(i, j)]).abs().hi());
            }
        }
        worst
    };
    let one = |n: usize| DdMat::from_f64(Mat::identity(n).view());
    largest(svd.u.matmul(&middle).matmul(&svd.v.transpose()), a)
        .max(largest(svd.u.transpose().matmul(&svd.u), &one(a.nrows())))
        .max(largest(svd.v.transpose().matmul(&svd.v), &one(a.ncols())))
}

#[test]
fn the_decomposition_rebuilds_the_matrix() {
    let mut random = Random(43);
    for (m, n, rank) in [
        (0, 0, 0),
        (0, 3, 0),
        (1, 1, 1),
        (4, 4, 4),
        (7, 3, 2),
        (3, 7, 3),
        (9, 9, 5),
        (6, 6, 0),
        (14, 12, 11),
    ] {
        let left = DdMat::from_f64(random.matrix(m, rank).view());
        let right = DdMat::from_f64(random.matrix(rank, n).view());
        let a = left.matmul(&right);
        let svd = DdSvd::new(&a).unwrap();
        assert!(defect(&a, &svd) < 1e-29, "{m} x {n}: {}", defect(&a, &svd));
        assert!(svd.values.windows(2).all(|w| w[0] >= w[1]));
        let n_small = svd.values.iter().filter(|v| v.hi() < 1e-28).count();
        assert_eq!(n_small, m.min(n) - rank);
    }
}

#[test]
fn nan_is_an_error_value() {
    let a = DdMat::from_fn(2, 3, |i, _| Dd::from(if i == 0 { f64::NAN } else { 1.0 }));
    assert_eq!(DdSvd::new(&a), Err(LinalgError::InputNotFinite));
}
