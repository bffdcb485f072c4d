//! Matrices of double-doubles and their singular value decomposition: the second look when a rank stays unknown.
//!
//! It helps only where the data are known that well: repeat the computation that formed the matrix in double-double, then
//! decide with [`GapRule::in_double_double`](crate::GapRule::in_double_double) or
//! [`ThresholdRule::in_double_double`](crate::ThresholdRule::in_double_double).

pub use daelight_dd::Dd;

use crate::kernels::power_of_two_below;
use crate::{LinalgError, Magnitudes, Mat, MatRef, RankDecision, RankRule};
use std::cmp::Ordering;
use std::ops::{Index, IndexMut};

/// Owns a matrix of double-doubles, stored column after column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DdMat {
    data: Vec<Dd>,
    nrows: usize,
    ncols: usize,
}

impl DdMat {
    /// A matrix of zeros.
    pub fn zeros(nrows: usize, ncols: usize) -> Self {
        Self {
            data: vec![Dd::ZERO; nrows * ncols],
            nrows,
            ncols,
        }
    }

    /// A matrix from a rule for its entries (i, j).
    pub fn from_fn(nrows: usize, ncols: usize, mut entry: impl FnMut(usize, usize) -> Dd) -> Self {
        let mut out = Self::zeros(nrows, ncols);
        for j in 0..ncols {
            for i in 0..nrows {
                out[(i, j)] = entry(i, j);
            }
        }
        out
    }

    /// The doubles of a matrix, taken as exact.
    pub fn from_f64(a: MatRef<'_>) -> Self {
        Self::from_fn(a.nrows(), a.ncols(), |i, j| Dd::from(a.at(i, j)))
    }

    /// Rounds every entry to a double.
    pub fn to_f64(&self) -> Mat {
        Mat::from_fn(self.nrows, self.ncols, |i, j| self[(i, j)].hi())
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Column j as a slice.
    pub fn col(&self, j: usize) -> &[Dd] {
        &self.data[j * self.nrows..(j + 1) * self.nrows]
    }

    /// The transposed matrix, as a copy.
    pub fn transpose(&self) -> Self {
        Self::from_fn(self.ncols, self.nrows, |i, j| self[(j, i)])
    }

    /// The product with another matrix. The inner sizes must agree.
    pub fn matmul(&self, other: &DdMat) -> Self {
        assert_eq!(self.ncols, other.nrows, "inner sizes of the product");
        let mut out = Self::zeros(self.nrows, other.ncols);
        for j in 0..other.ncols {
            for k in 0..self.ncols {
                let factor = other[(k, j)];
                for i in 0..self.nrows {
                    out[(i, j)] += self[(i, k)] * factor;
                }
            }
        }
        out
    }

    /// Columns i < j.
    fn columns(&mut self, i: usize, j: usize) -> (&mut [Dd], &mut [Dd]) {
        let m = self.nrows;
        let (left, right) = self.data.split_at_mut(j * m);
        (&mut left[i * m..(i + 1) * m], &mut right[..m])
    }
}

impl Index<(usize, usize)> for DdMat {
    type Output = Dd;
    fn index(&self, (i, j): (usize, usize)) -> &Dd {
        assert!(
            i < self.nrows && j < self.ncols,
            "entry ({i}, {j}) of {} x {}",
            self.nrows,
            self.ncols
        );
        &self.data[i + j * self.nrows]
    }
}

impl IndexMut<(usize, usize)> for DdMat {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut Dd {
        assert!(
            i < self.nrows && j < self.ncols,
            "entry ({i}, {j}) of {} x {}",
            self.nrows,
            self.ncols
        );
        &mut self.data[i + j * self.nrows]
    }
}

/// Decomposes a matrix as U S V^T with square orthogonal U and V, in double-double, by one-sided Jacobi rotations.
///
/// 14 to 35 times slower than in doubles for n = 6 to 20, and it allocates: meant for the few matrices whose rank stays
/// unknown.
///
/// ```
/// use daelight_linalg::{Dd, DdMat, DdSvd, ThresholdRule};
/// // Rank 2 by 1e-20, invisible in doubles.
/// let a = DdMat::from_fn(2, 2, |i, j| Dd::from(1.0) + Dd::from(if i + j == 2 { 1e-20 } else { 0.0 }));
/// let svd = DdSvd::new(&a)?;
/// assert_eq!(svd.rank(&ThresholdRule::in_double_double(2.0)).decided(), Some(2));
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DdSvd {
    /// Left singular vectors, all of them.
    pub u: DdMat,
    /// Singular values, largest first.
    pub values: Vec<Dd>,
    /// Right singular vectors, all of them.
    pub v: DdMat,
}

impl DdSvd {
    /// Decomposes a matrix of any shape.
    pub fn new(a: &DdMat) -> Result<Self, LinalgError> {
        if !a.data.iter().all(|v| v.is_finite()) {
            return Err(LinalgError::InputNotFinite);
        }
        if a.nrows < a.ncols {
            let Self { u, values, v } = Self::new(&a.transpose())?;
            return Ok(Self { u: v, values, v: u });
        }
        let n = a.ncols;
        let scale = power_of_two_below(
            a.data
                .iter()
                .fold(0.0, |largest, v| v.hi().abs().max(largest)),
        );
        let mut x = a.clone();
        for value in &mut x.data {
            *value = value.scale(1.0 / scale);
        }
        let mut v = DdMat::from_fn(n, n, |i, j| if i == j { Dd::ONE } else { Dd::ZERO });
        orthogonalise(&mut x, &mut v)?;
        let norms: Vec<Dd> = (0..n).map(|j| dot(x.col(j), x.col(j)).sqrt()).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| norms[j].partial_cmp(&norms[i]).unwrap_or(Ordering::Equal));
        let v = DdMat::from_fn(n, n, |i, j| v[(i, order[j])]);
        let mut u = DdMat::zeros(a.nrows, a.nrows);
        let mut values = Vec::with_capacity(n);
        let mut n_good = 0;
        let largest = order.first().map_or(0.0, |&j| norms[j].hi());
        for (j, &from) in order.iter().enumerate() {
            if norms[from].hi() <= NEGLIGIBLE * largest {
                values.push(Dd::ZERO);
                continue;
            }
            for i in 0..a.nrows {
                u[(i, j)] = x[(i, from)] / norms[from];
            }
            values.push(norms[from].scale(scale));
            n_good = j + 1;
        }
        complete_basis(&mut u, n_good);
        Ok(Self { u, values, v })
    }

    /// Decides the rank from the singular values by a rule.
    pub fn rank(&self, rule: &impl RankRule) -> RankDecision {
        rule.decide(
            self.values.iter().map(|v| v.hi()).collect(),
            Magnitudes::Singular,
        )
    }
}

/// Values below this fraction of the largest are returned as zero: their squares have no room for 32 digits.
const NEGLIGIBLE: f64 = 1e-120;

fn dot(x: &[Dd], y: &[Dd]) -> Dd {
    x.iter().zip(y).fold(Dd::ZERO, |sum, (x, y)| sum + *x * *y)
}

/// Rotates pairs of columns of x until all are orthogonal, and those of v along.
fn orthogonalise(x: &mut DdMat, v: &mut DdMat) -> Result<(), LinalgError> {
    let n = x.ncols;
    // Twice the rounding error of the scalar products.
    let tolerance = 4.0 * Dd::EPSILON * x.nrows.max(1) as f64;
    for _ in 0..60 {
        let largest = (0..n).fold(0.0_f64, |largest, j| {
            largest.max(dot(x.col(j), x.col(j)).hi())
        });
        let floor = NEGLIGIBLE * largest.sqrt();
        let mut rotated = false;
        for i in 0..n {
            for j in i + 1..n {
                let (xi, xj) = x.columns(i, j);
                let (mut square_i, mut square_j) = (dot(xi, xi), dot(xj, xj));
                let (vi, vj) = v.columns(i, j);
                if square_i < square_j {
                    xi.swap_with_slice(xj);
                    vi.swap_with_slice(vj);
                    (square_i, square_j) = (square_j, square_i);
                }
                let product = dot(xi, xj);
                let (norm_i, norm_j) = (square_i.hi().sqrt(), square_j.hi().sqrt());
                if norm_j <= floor || product.hi().abs() <= tolerance * norm_i * norm_j {
                    continue;
                }
                rotated = true;
                let zeta = (square_j - square_i) / (product + product);
                let root = (Dd::ONE + zeta * zeta).sqrt();
                // For a huge zeta the square overflows, and the rotation is its limit.
                let root = if root.is_finite() { root } else { zeta.abs() };
                let tangent = Dd::ONE / (zeta.abs() + root);
                let tangent = if zeta.hi() < 0.0 { -tangent } else { tangent };
                let cosine = Dd::ONE / (Dd::ONE + tangent * tangent).sqrt();
                let sine = cosine * tangent;
                for (a, b) in [(xi, xj), (vi, vj)] {
                    for (a, b) in a.iter_mut().zip(b.iter_mut()) {
                        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
                    }
                }
            }
        }
        if !rotated {
            return Ok(());
        }
    }
    Err(LinalgError::NoConvergence)
}

/// Fills the columns from `n_good` on so that all columns of a square matrix are orthonormal.
fn complete_basis(u: &mut DdMat, n_good: usize) {
    let n = u.ncols;
    for j in n_good..n {
        let row_square = |i: usize| (0..j).map(|k| u[(i, k)].hi().powi(2)).sum::<f64>();
        let start = (0..n)
            .min_by(|&a, &b| row_square(a).total_cmp(&row_square(b)))
            .unwrap_or(0);
        let (done, rest) = u.data.split_at_mut(j * n);
        let column = &mut rest[..n];
        column.fill(Dd::ZERO);
        column[start] = Dd::ONE;
        for _ in 0..2 {
            for other in done.chunks_exact(n) {
                let share = dot(other, column);
                for (c, o) in column.iter_mut().zip(other) {
                    *c -= share * *o;
                }
            }
            let norm = dot(column, column).sqrt();
            for c in column.iter_mut() {
                *c = *c / norm;
            }
        }
    }
}
