//! LU: the factors rebuild the matrix, solutions satisfy the equations, and bad input gets an answer instead of a panic.

use crate::common::{Random, distance, hilbert};
use daelight_linalg::{LinalgError, Lu, Mat, MatMut, MatRef};

/// Factors, rebuilds, solves with the matrix and its transpose, and compares the determinant of both code paths.
fn check(a: &Mat) {
    let n = a.nrows();
    let mut dets = Vec::new();
    for use_faer in [false, n > 0] {
        let mut lu = Lu::new();
        lu.factor_with(a.view(), use_faer).unwrap();
        let (lower, upper, perm) = lu.factors().unwrap();
        let permuted = Mat::from_fn(n, n, |i, j| a[(perm[i], j)]);
        assert!(
            distance(&lower.matmul(&upper), &permuted) <= 1e-14 * n as f64,
            "n = {n}, faer: {use_faer}"
        );
        let x: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
        let mut b = a.mul_vec(&x);
        let solved = lu.solve(&mut b).unwrap();
        assert!(solved.backward_error < 1e-14);
        let condition = lu.condition_1norm().unwrap();
        for (b, x) in b.iter().zip(&x) {
            assert!(
                (b - x).abs() <= 1e-14 * condition * n as f64,
                "n = {n}: {b} against {x}"
            );
        }
        let mut b = a.transpose().mul_vec(&x);
        lu.solve_transpose(&mut b).unwrap();
        for (b, x) in b.iter().zip(&x) {
            assert!(
                (b - x).abs() <= 1e-14 * condition * n as f64,
                "n = {n}, transposed: {b} against {x}"
            );
        }
        dets.push(lu.log_det().unwrap());
    }
    assert_eq!(dets[0].sign, dets[1].sign);
    assert!((dets[0].log_abs - dets[1].log_abs).abs() < 1e-10);
}

#[test]
fn factors_rebuild_the_matrix_for_every_size_to_40() {
    let mut random = Random(1);
    for n in (0..=40).chain([95, 96, 130]) {
        check(&random.matrix(n, n));
    }
}

#[test]
fn many_right_hand_sides_agree_with_one_at_a_time() {
    let mut random = Random(2);
    for n in [1, 7, 31, 45, 100] {
        let a = random.matrix(n, n);
        let b = random.matrix(n, 37);
        let mut lu = Lu::with_capacity(n);
        lu.factor(a.view()).unwrap();
        let mut all = b.clone();
        let solved = lu.solve_many(all.view_mut()).unwrap();
        assert!(solved.backward_error < 1e-13);
        assert!(distance(&a.matmul(&all), &b) < 1e-10);
        for j in 0..37 {
            let mut one = b.col(j).to_vec();
            lu.solve(&mut one).unwrap();
            let scale = one.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
            assert!(
                one.iter()
                    .zip(all.col(j))
                    .all(|(p, q)| (p - q).abs() < 1e-10 * scale)
            );
        }
    }
}

#[test]
fn columns_behind_a_bad_one_stay_as_they_were() {
    for n in [4, 40] {
        let a = Random(3).matrix(n, n);
        let mut lu = Lu::new();
        lu.factor(a.view()).unwrap();
        let mut b = Mat::from_fn(n, 20, |i, j| if (i, j) == (1, 17) { f64::NAN } else { 1.0 });
        assert_eq!(
            lu.solve_many(b.view_mut()),
            Err(LinalgError::InputNotFinite)
        );
        assert!(b.col(18).iter().all(|v| *v == 1.0));
        assert!(b.col(0).iter().any(|v| *v != 1.0));
    }
}

#[test]
fn strided_views_are_factored_and_solved_in_place() {
    let data: Vec<f64> = vec![2.0, 1.0, 9.0, 1.0, 3.0];
    let a = MatRef::with_stride(&data, 2, 2, 3).unwrap();
    let mut lu = Lu::new();
    lu.factor(a).unwrap();
    let mut rhs = vec![3.0, 4.0, -1.0, 6.0, 8.0];
    lu.solve_many(MatMut::with_stride(&mut rhs, 2, 2, 3).unwrap())
        .unwrap();
    for (found, expected) in rhs.iter().zip([1.0, 1.0, -1.0, 2.0, 2.0]) {
        assert!((found - expected).abs() < 1e-15);
    }
}

#[test]
fn hilbert_8_has_the_known_determinant_and_condition() {
    // The matrix of rounded entries, mpmath with 120 digits: condition in the 1-norm and logarithm of the determinant.
    let mut lu = Lu::new();
    lu.factor(hilbert(8).view()).unwrap();
    let condition = lu.condition_1norm().unwrap();
    // The factors are exact for a matrix 1e-16 away, whose condition differs by up to 1e-16 times 3.4e10.
    assert!(
        (condition / 33_872_791_001.155_113 - 1.0).abs() < 1e-5,
        "{condition}"
    );
    let det = lu.log_det().unwrap();
    assert_eq!(det.sign, 1.0);
    assert!((det.log_abs + 74.978_427_326_250_7).abs() < 1e-6);
    let mut b = vec![1.0; 8];
    assert!(lu.solve(&mut b).unwrap().backward_error < 1e-15);
}

#[test]
fn a_permutation_matrix_is_solved_exactly() {
    let perm = [3, 0, 4, 1, 2];
    let a = Mat::from_fn(5, 5, |i, j| f64::from(perm[i] == j));
    let mut lu = Lu::new();
    lu.factor(a.view()).unwrap();
    let mut b = [0.0, 1.0, 2.0, 3.0, 4.0];
    lu.solve(&mut b).unwrap();
    for (i, &p) in perm.iter().enumerate() {
        assert_eq!(b[p], i as f64);
    }
    // (0 3 1)(2 4) has one cycle of three and one of two.
    assert_eq!(lu.log_det().unwrap().sign, -1.0);
    assert_eq!(lu.log_det().unwrap().value(), -1.0);
}

#[test]
fn scaling_by_powers_of_two_changes_no_digit() {
    let a = Random(4).matrix(12, 12);
    let mut lu = Lu::new();
    lu.factor(a.view()).unwrap();
    let mut x = vec![1.0; 12];
    lu.solve(&mut x).unwrap();
    for power in [-900, -30, 30, 900] {
        let factor = 2f64.powi(power);
        let scaled = Mat::from_fn(12, 12, |i, j| a[(i, j)] * factor);
        lu.factor(scaled.view()).unwrap();
        let mut y = vec![factor; 12];
        lu.solve(&mut y).unwrap();
        assert_eq!(x, y);
    }
}

#[test]
fn determinants_beyond_the_range_of_doubles() {
    let a = Mat::from_fn(50, 50, |i, j| if i == j { 1e-100 } else { 0.0 });
    let mut lu = Lu::new();
    lu.factor(a.view()).unwrap();
    let det = lu.log_det().unwrap();
    assert!((det.log_abs - 50.0 * 1e-100_f64.ln()).abs() < 1e-8);
    assert_eq!(det.value(), 0.0);
    assert_eq!(det.sign, 1.0);
}

#[test]
fn singular_matrices_say_so_when_solved() {
    for n in [3, 40, 100] {
        for use_faer in [false, true] {
            // Column 1 is zero.
            let a = Mat::from_fn(
                n,
                n,
                |i, j| if j == 1 { 0.0 } else { f64::from(i == j) + 0.1 },
            );
            let mut lu = Lu::new();
            lu.factor_with(a.view(), use_faer).unwrap();
            let mut b = vec![1.0; n];
            assert_eq!(lu.solve(&mut b), Err(LinalgError::Singular { step: 1 }));
            assert_eq!(b, vec![1.0; n]);
            assert_eq!(lu.smallest_pivot().unwrap(), 0.0);
            assert_eq!(lu.log_det().unwrap().sign, 0.0);
            assert_eq!(lu.condition_1norm().unwrap(), f64::INFINITY);
        }
    }
}

#[test]
fn a_growing_elimination_is_repaired_by_refinement() {
    // Wilkinson's matrix: the last column doubles in every step, so the growth is 2^(n-1) and the first answer is useless.
    let n = 60;
    let a = Mat::from_fn(n, n, |i, j| match () {
        () if i == j || j == n - 1 => 1.0,
        () if i > j => -1.0,
        () => 0.0,
    });
    let mut lu = Lu::new();
    lu.factor(a.view()).unwrap();
    let x = Random(5).matrix(n, 1);
    let mut b = a.matmul(&x).col(0).to_vec();
    let solved = lu.solve(&mut b).unwrap();
    assert!(
        solved.refined && solved.backward_error < 1e-15,
        "{solved:?}"
    );
    assert!(b.iter().zip(x.col(0)).all(|(p, q)| (p - q).abs() < 1e-13));
}

#[test]
fn bad_input_is_an_error_value() {
    let mut lu = Lu::new();
    assert_eq!(lu.solve(&mut [1.0]), Err(LinalgError::NotFactored));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for n in [1, 5, 40] {
            let mut a = Mat::identity(n);
            a[(n - 1, 0)] = bad;
            assert_eq!(lu.factor(a.view()), Err(LinalgError::InputNotFinite));
            assert_eq!(lu.solve(&mut vec![1.0; n]), Err(LinalgError::NotFactored));
        }
    }
    let rectangle = Mat::zeros(2, 3);
    assert_eq!(
        lu.factor(rectangle.view()),
        Err(LinalgError::Shape {
            expected: (2, 2),
            found: (2, 3)
        })
    );
    lu.factor(Mat::zeros(0, 0).view()).unwrap();
    assert_eq!(lu.solve(&mut []).unwrap().backward_error, 0.0);
    assert_eq!(lu.log_det().unwrap().value(), 1.0);
    lu.factor(Mat::identity(2).view()).unwrap();
    assert_eq!(
        lu.solve(&mut [f64::NAN, 1.0]),
        Err(LinalgError::InputNotFinite)
    );
    assert_eq!(
        lu.solve(&mut [1.0]),
        Err(LinalgError::Shape {
            expected: (2, 1),
            found: (1, 1)
        })
    );
}

#[test]
fn overflow_is_reported_not_returned() {
    let a = Mat::from_rows(&[&[1e-300, 0.0], &[0.0, 1.0]]);
    let mut lu = Lu::new();
    lu.factor(a.view()).unwrap();
    let mut b = [1e300, 1.0];
    assert_eq!(lu.solve(&mut b), Err(LinalgError::ResultNotFinite));
    assert_eq!(b, [1e300, 1.0]);
}
