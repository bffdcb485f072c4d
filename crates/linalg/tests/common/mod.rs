//! Random matrices with a fixed seed, and the measures the tests use.
#![allow(dead_code)]

use daelight_linalg::{Mat, MatRef};

/// Knuth's linear congruential generator: the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    /// Uniform in [-1, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn matrix(&mut self, nrows: usize, ncols: usize) -> Mat {
        Mat::from_fn(nrows, ncols, |_, _| self.unit())
    }

    /// A matrix of the given rank whose nonzero singular values are of size one.
    pub fn of_rank(&mut self, nrows: usize, ncols: usize, rank: usize) -> Mat {
        self.matrix(nrows, rank).matmul(&self.matrix(rank, ncols))
    }
}

/// Largest absolute difference.
pub fn distance(a: &Mat, b: &Mat) -> f64 {
    assert_eq!((a.nrows(), a.ncols()), (b.nrows(), b.ncols()));
    a.as_slice()
        .iter()
        .zip(b.as_slice())
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

/// Distance of the columns from being orthonormal.
pub fn orthonormality(q: MatRef<'_>) -> f64 {
    let q = q.to_owned();
    distance(&q.transpose().matmul(&q), &Mat::identity(q.ncols()))
}

/// The Hilbert matrix with entries rounded to doubles.
pub fn hilbert(n: usize) -> Mat {
    Mat::from_fn(n, n, |i, j| 1.0 / (i + j + 1) as f64)
}

/// Sizes that cover empty, single, both sides of every crossover, and rectangles.
pub fn shapes() -> Vec<(usize, usize)> {
    let mut shapes: Vec<(usize, usize)> = (0..=40).map(|n| (n, n)).collect();
    for (m, n) in [
        (0, 3),
        (1, 4),
        (2, 9),
        (5, 7),
        (12, 30),
        (29, 33),
        (33, 40),
        (36, 37),
        (30, 31),
        (3, 40),
    ] {
        shapes.push((m, n));
        shapes.push((n, m));
    }
    shapes
}
