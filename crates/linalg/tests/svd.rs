//! SVD: factors rebuild the matrix, known singular values come out to their digits, null spaces are null spaces.

use crate::common::{Random, distance, hilbert, orthonormality, shapes};
use daelight_linalg::{DdMat, DdSvd, GapRule, LinalgError, Mat, Svd, ThresholdRule};

/// Singular values of the 8 x 8 Hilbert matrix with entries rounded to doubles; mpmath 1.3, 120 digits, as the roots of
/// the eigenvalues of A^T A.
const HILBERT_8: [f64; 8] = [
    1.695_938_996_921_949_4,
    0.298_125_211_316_930_7,
    0.026_212_843_578_119_05,
    0.001_467_688_117_741_847,
    0.000_054_369_433_697_508_96,
    1.294_332_091_874_179_3e-6,
    1.798_873_746_006_301_2e-8,
    1.111_538_969_488_808_2e-10,
];

/// The same for 12 x 12.
const HILBERT_12: [f64; 12] = [
    1.795_372_059_561_997_3,
    0.380_275_245_955_037_1,
    0.044_738_548_752_181_07,
    0.003_722_312_237_891_162_5,
    0.000_233_089_089_021_772_86,
    0.000_011_163_357_483_233_02,
    4.082_376_110_391_211e-7,
    1.122_861_066_833_641_9e-8,
    2.251_964_537_362_741_6e-10,
    3.111_348_067_691_508e-12,
    2.649_276_206_402_993e-14,
    1.067_489_754_744_172_3e-16,
];

fn check_rebuild(a: &Mat, use_faer: bool) {
    let (m, n) = (a.nrows(), a.ncols());
    let mut svd = Svd::new();
    svd.factor_with(a.view(), true, use_faer).unwrap();
    let (u, v) = (svd.u().unwrap().to_owned(), svd.v().unwrap().to_owned());
    let size = 2e-14 * m.max(n).max(1) as f64;
    assert!(
        orthonormality(u.view()) <= size,
        "{m} x {n}, faer: {use_faer}: {}",
        orthonormality(u.view())
    );
    assert!(
        orthonormality(v.view()) <= size,
        "{m} x {n}, faer: {use_faer}: {}",
        orthonormality(v.view())
    );
    let values = svd.singular_values().to_vec();
    assert!(values.windows(2).all(|w| w[0] >= w[1]));
    let middle = Mat::from_fn(m, n, |i, j| if i == j { values[i] } else { 0.0 });
    let rebuilt = u.matmul(&middle).matmul(&v.transpose());
    assert!(
        distance(&rebuilt, a) <= size * svd.norm().max(1.0),
        "{m} x {n}, faer: {use_faer}"
    );
    let mut alone = Svd::new();
    alone.factor_with(a.view(), false, use_faer).unwrap();
    for (p, q) in alone.singular_values().iter().zip(&values) {
        assert!((p - q).abs() <= size * svd.norm());
    }
    assert_eq!(alone.u().err(), Some(LinalgError::NotFactored));
}

#[test]
fn factors_rebuild_the_matrix() {
    let mut random = Random(21);
    for (m, n) in shapes() {
        let most = m.min(n);
        for rank in [most, most / 2, 0] {
            let a = if rank == most {
                random.matrix(m, n)
            } else {
                random.of_rank(m, n, rank)
            };
            check_rebuild(&a, false);
            check_rebuild(&a, true);
        }
    }
}

#[test]
fn repeated_and_zero_columns_converge() {
    let mut random = Random(22);
    for n in 1..=20 {
        let base = random.matrix(n, n);
        check_rebuild(&Mat::from_fn(n, n, |i, j| base[(i, j / 3 * 3)]), false);
        check_rebuild(
            &Mat::from_fn(n, n, |i, j| if j % 2 == 0 { 0.0 } else { base[(i, j)] }),
            false,
        );
        check_rebuild(&Mat::from_fn(n, n, |_, _| 1.0), false);
    }
}

#[test]
fn hilbert_singular_values_to_their_digits() {
    let mut svd = Svd::new();
    for (reference, n) in [(&HILBERT_8[..], 8), (&HILBERT_12[..], 12)] {
        let a = hilbert(n);
        for use_faer in [false, true] {
            svd.factor_with(a.view(), true, use_faer).unwrap();
            for (found, expected) in svd.singular_values().iter().zip(reference) {
                // A backward stable method: a few roundings of the largest value.
                assert!(
                    (found - expected).abs() < 10.0 * f64::EPSILON * reference[0],
                    "{found} against {expected}"
                );
            }
        }
        let exact = DdSvd::new(&DdMat::from_f64(a.view())).unwrap();
        for (found, expected) in exact.values.iter().zip(reference) {
            // Double-double leaves 32 - 16 digits even for the smallest; the reference is rounded to a double.
            assert!(
                (found.hi() / expected - 1.0).abs() < 3e-15,
                "{found:?} against {expected}"
            );
        }
    }
}

#[test]
fn rotations_keep_relative_accuracy_of_graded_columns() {
    // Column j is scaled by 2^(-16 j): singular values from 7 to 1e-24. mpmath 1.3, 120 digits.
    let reference = [
        7.483_314_773_618_999,
        0.000_174_930_268_621_742_56,
        2.037_130_742_783_034_1e-9,
        9.209_222_723_517_046e-15,
        1.510_945_595_552_568e-19,
        1.473_426_526_087_678_5e-24,
    ];
    let entry = |i: usize, j: usize| {
        ((i * 7 + j * 11 + i * j * 3) % 13) as f64 - 6.0 + if i == j { 5.0 } else { 0.0 }
    };
    let a = Mat::from_fn(6, 6, |i, j| entry(i, j) * 2f64.powi(-16 * j as i32));
    for matrix in [a.clone(), a.transpose()] {
        let mut svd = Svd::new();
        svd.factor(matrix.view()).unwrap();
        for (found, expected) in svd.singular_values().iter().zip(reference) {
            assert!(
                (found / expected - 1.0).abs() < 1e-14,
                "{found} against {expected}"
            );
        }
    }
}

#[test]
fn null_spaces_of_known_rank() {
    let mut random = Random(23);
    for (m, n, rank) in [
        (5, 5, 3),
        (4, 9, 2),
        (9, 4, 3),
        (40, 36, 20),
        (33, 50, 32),
        (3, 3, 0),
    ] {
        let a = random.of_rank(m, n, rank);
        let mut svd = Svd::new();
        svd.factor(a.view()).unwrap();
        for decision in [
            svd.rank(&GapRule::new(m, n, 1.0)),
            svd.rank(&ThresholdRule::new(svd.norm())),
        ] {
            assert_eq!(decision.decided(), Some(rank), "{decision}");
        }
        let kernel = svd.kernel_basis(rank).unwrap().to_owned();
        let left = svd.left_null_basis(rank).unwrap().to_owned();
        assert_eq!((kernel.ncols(), left.ncols()), (n - rank, m - rank));
        assert!(a.matmul(&kernel).view().norm_max() < 1e-13);
        assert!(left.transpose().matmul(&a).view().norm_max() < 1e-13);
        let range = svd.range_basis(rank).unwrap().to_owned();
        assert!(distance(&range.matmul(&range.transpose()).matmul(&a), &a) < 1e-13);
    }
}

#[test]
fn noise_of_an_exact_rank_stays_below_the_band_of_doubt() {
    // Products of small integers are exact, so every value behind the rank is pure rounding.
    let mut random = Random(25);
    let mut integers =
        |m: usize, n: usize| Mat::from_fn(m, n, |_, _| (9.0 * random.unit()).round());
    for n in [6, 12, 20, 30, 60] {
        let rank = 2 * n / 3;
        let a = integers(n, rank).matmul(&integers(rank, n));
        for use_faer in [false, true] {
            let mut svd = Svd::new();
            svd.factor_with(a.view(), true, use_faer).unwrap();
            let noise = svd.singular_values()[rank] / svd.norm();
            assert!(
                noise < 3.0 * f64::EPSILON,
                "n = {n}, faer: {use_faer}: {noise:e}"
            );
            assert_eq!(
                svd.rank(&ThresholdRule::new(svd.norm())).decided(),
                Some(rank)
            );
        }
    }
}

#[test]
fn rows_that_fade_into_underflow_still_converge() {
    // Squares of such columns underflow; rotating them went on for ever.
    let mut random = Random(26);
    for _ in 0..50 {
        let base = random.of_rank(13, 12, 8);
        let powers: Vec<i32> = (0..13)
            .map(|_| (100.0 * (random.unit() - 1.0)) as i32)
            .collect();
        let a = Mat::from_fn(13, 12, |i, j| base[(i, j)] * 10f64.powi(powers[i]));
        check_rebuild(&a, false);
        let exact = DdSvd::new(&DdMat::from_f64(a.view())).unwrap();
        let mut svd = Svd::new();
        svd.factor(a.view()).unwrap();
        for (found, expected) in svd.singular_values().iter().zip(&exact.values) {
            assert!((found - expected.hi()).abs() < 1e-14 * svd.norm());
        }
    }
}

#[test]
fn scaling_by_powers_of_two_scales_the_values_exactly() {
    let a = Random(24).matrix(7, 5);
    let mut svd = Svd::new();
    svd.factor(a.view()).unwrap();
    let values = svd.singular_values().to_vec();
    for power in [-1010, -3, 1010] {
        let factor = 2f64.powi(power);
        svd.factor(Mat::from_fn(7, 5, |i, j| a[(i, j)] * factor).view())
            .unwrap();
        // Entries near the underflow limit lose digits before they get here.
        let tolerance = if power == -1010 { 1e-14 } else { 0.0 };
        for (found, expected) in svd.singular_values().iter().zip(&values) {
            assert!((found / factor / expected - 1.0).abs() <= tolerance);
        }
    }
}

#[test]
fn bad_input_is_an_error_value() {
    let mut svd = Svd::new();
    for n in [1, 5, 40] {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut a = Mat::identity(n);
            a[(0, n - 1)] = bad;
            assert_eq!(svd.factor(a.view()), Err(LinalgError::InputNotFinite));
            assert!(svd.singular_values().is_empty());
            assert_eq!(svd.rank(&ThresholdRule::new(1.0)).decided(), None);
            assert!(svd.kernel_basis(0).is_err());
        }
    }
    svd.factor(Mat::zeros(0, 4).view()).unwrap();
    assert_eq!(svd.rank(&ThresholdRule::new(svd.norm())).decided(), Some(0));
    assert_eq!(orthonormality(svd.kernel_basis(0).unwrap()), 0.0);
    assert!(svd.kernel_basis(1).is_err());
}
