//! Singular value decomposition: the values a rank decision rests on, and orthonormal bases of all four subspaces.
//!
//! A = U S V^T with square orthogonal U and V. Below [`CROSSOVER`] by pivoted QR followed by one-sided Jacobi rotations on
//! R^T (Drmač and Veselić 2008), which finds small singular values to high relative accuracy whenever a column scaling of
//! the matrix is well conditioned; from there on by faer, whose errors are a modest multiple of u times the largest value.

use crate::kernels::{all_finite, axpy, dot, norm_2, power_of_two_below, vectorised};
use crate::scratch::Scratch;
use crate::{LinalgError, Magnitudes, Mat, MatRef, Qr, RankDecision, RankRule};
use faer::Par;
use faer::diag::DiagMut;
use faer::linalg::svd as faer_svd;

/// Smaller side from which faer is used.
///
/// `examples/crossover.rs` on one core of an AMD EPYC with AVX2, November 2026: time of the rotations over time of faer 0.52
/// at n = 4, 0.88 at 8, 1.04 at 13, 1.09 at 16, 1.34 at 24, 1.53 at 32, 2.1 at 64. Up to a third more time is a fair price
/// for accurate small values; twice is not.
pub const CROSSOVER: usize = 24;

/// Sweeps before the rotations give up. Five or six are usual; dgesvj of LAPACK allows 30.
const MAX_SWEEPS: usize = 30;

/// Values below this fraction of the largest are returned as zero, since their squares underflow or nearly so.
const NEGLIGIBLE: f64 = 1e-140;

/// Decomposes matrices of any shape, without allocating after the first matrix of a size.
///
/// ```
/// use daelight_linalg::{Mat, Svd, ThresholdRule};
/// let a = Mat::from_rows(&[&[3.0, 0.0, 0.0], &[0.0, 2.0, 0.0]]);
/// let mut svd = Svd::new();
/// svd.factor(a.view())?;
/// assert_eq!(svd.singular_values(), &[3.0, 2.0]);
/// let rank = svd.rank(&ThresholdRule::new(svd.norm())).decided();
/// assert_eq!(rank, Some(2));
/// assert_eq!(svd.kernel_basis(2)?.col(0)[2].abs(), 1.0);
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
#[derive(Debug, Default)]
pub struct Svd {
    nrows: usize,
    ncols: usize,
    values: Vec<f64>,
    u: Mat,
    v: Mat,
    has_vectors: bool,
    factored: bool,
    /// The matrix, scaled and turned so that it is not wider than high.
    tall: Mat,
    /// R^T, whose columns the rotations make orthogonal.
    rotated: Mat,
    /// The product of the rotations.
    rotations: Mat,
    norms: Vec<f64>,
    qr: Qr,
    scratch: Scratch,
}

impl Svd {
    /// An empty workspace; the first `factor` allocates.
    pub fn new() -> Self {
        Self::default()
    }

    /// A workspace that serves matrices of up to this size without allocating.
    pub fn with_capacity(nrows: usize, ncols: usize) -> Self {
        let mut svd = Self::default();
        svd.resize(nrows, ncols, nrows.min(ncols) >= CROSSOVER);
        svd
    }

    fn resize(&mut self, m: usize, n: usize, use_faer: bool) {
        let (high, low) = (m.max(n), m.min(n));
        self.nrows = m;
        self.ncols = n;
        self.values.resize(low, 0.0);
        self.u.reshape(m, m);
        self.v.reshape(n, n);
        self.tall.reshape(high, low);
        if use_faer {
            let vectors = faer_svd::ComputeSvdVectors::Full;
            let request = faer_svd::svd_scratch::<f64>(
                high,
                low,
                vectors,
                vectors,
                Par::Seq,
                Default::default(),
            );
            self.scratch.reserve(request);
        } else {
            self.rotated.reshape(low, low);
            self.rotations.reshape(low, low);
            self.norms.resize(low, 0.0);
            self.qr.reserve(high, low);
        }
    }

    /// Computes singular values and the full square U and V.
    pub fn factor(&mut self, a: MatRef<'_>) -> Result<(), LinalgError> {
        self.factor_with(a, true, a.nrows().min(a.ncols()) >= CROSSOVER)
    }

    /// Computes the singular values alone: 15 % cheaper by rotations, 40 % by faer.
    pub fn factor_values(&mut self, a: MatRef<'_>) -> Result<(), LinalgError> {
        self.factor_with(a, false, a.nrows().min(a.ncols()) >= CROSSOVER)
    }

    /// Factors with a forced choice between rotations and faer. For measuring the crossover and for tests.
    #[doc(hidden)]
    pub fn factor_with(
        &mut self,
        a: MatRef<'_>,
        vectors: bool,
        use_faer: bool,
    ) -> Result<(), LinalgError> {
        self.factored = false;
        self.has_vectors = vectors;
        let (m, n) = (a.nrows(), a.ncols());
        let size = a.norm_max();
        if !size.is_finite() {
            return Err(LinalgError::InputNotFinite);
        }
        let use_faer = use_faer && m > 0 && n > 0;
        self.resize(m, n, use_faer);
        // A power of two changes no digit and keeps squares away from overflow and underflow.
        let scale = power_of_two_below(size);
        let wide = m < n;
        for j in 0..n {
            for (i, &value) in a.col(j).iter().enumerate() {
                let target = if wide { (j, i) } else { (i, j) };
                self.tall[target] = value / scale;
            }
        }
        if use_faer {
            self.by_faer(wide)?;
        } else {
            self.by_rotations(wide)?;
        }
        for value in &mut self.values {
            *value *= scale;
        }
        if !(all_finite(&self.values)
            && all_finite(self.u.as_slice())
            && all_finite(self.v.as_slice()))
        {
            return Err(LinalgError::ResultNotFinite);
        }
        self.factored = true;
        Ok(())
    }

    /// Singular values, largest first; empty if the last factorisation failed.
    pub fn singular_values(&self) -> &[f64] {
        if self.factored { &self.values } else { &[] }
    }

    /// The 2-norm of the matrix: its largest singular value, 0 if there is none.
    pub fn norm(&self) -> f64 {
        self.singular_values().first().copied().unwrap_or(0.0)
    }

    /// Decides the rank from the singular values by a rule; allocates the list it returns.
    pub fn rank(&self, rule: &impl RankRule) -> RankDecision {
        if self.factored {
            rule.decide(self.values.clone(), Magnitudes::Singular)
        } else {
            RankDecision::not_finite(Magnitudes::Singular)
        }
    }

    /// Left singular vectors, `nrows` x `nrows`.
    pub fn u(&self) -> Result<MatRef<'_>, LinalgError> {
        if self.factored && self.has_vectors {
            Ok(self.u.view())
        } else {
            Err(LinalgError::NotFactored)
        }
    }

    /// Right singular vectors, `ncols` x `ncols`.
    pub fn v(&self) -> Result<MatRef<'_>, LinalgError> {
        if self.factored && self.has_vectors {
            Ok(self.v.view())
        } else {
            Err(LinalgError::NotFactored)
        }
    }

    /// Orthonormal basis of the range for rank r: the first r columns of U.
    pub fn range_basis(&self, rank: usize) -> Result<MatRef<'_>, LinalgError> {
        self.expect_rank(rank)?;
        Ok(self.u()?.submatrix(0, 0, self.nrows, rank))
    }

    /// Orthonormal basis of the vectors y with y^T A = 0 for rank r: the other columns of U.
    pub fn left_null_basis(&self, rank: usize) -> Result<MatRef<'_>, LinalgError> {
        self.expect_rank(rank)?;
        Ok(self.u()?.submatrix(0, rank, self.nrows, self.nrows - rank))
    }

    /// Orthonormal basis of the vectors x with A x = 0 for rank r: the last columns of V.
    pub fn kernel_basis(&self, rank: usize) -> Result<MatRef<'_>, LinalgError> {
        self.expect_rank(rank)?;
        Ok(self.v()?.submatrix(0, rank, self.ncols, self.ncols - rank))
    }

    fn expect_rank(&self, rank: usize) -> Result<(), LinalgError> {
        let most = self.values.len();
        if rank <= most {
            Ok(())
        } else {
            Err(LinalgError::Shape {
                expected: (most, most),
                found: (rank, rank),
            })
        }
    }

    fn by_faer(&mut self, wide: bool) -> Result<(), LinalgError> {
        let (left, right) = if wide {
            (&mut self.v, &mut self.u)
        } else {
            (&mut self.u, &mut self.v)
        };
        if !self.has_vectors {
            left.as_mut_slice().fill(0.0);
            right.as_mut_slice().fill(0.0);
        }
        let (high, low) = (self.tall.nrows(), self.tall.ncols());
        let matrix = faer::MatRef::from_column_major_slice(self.tall.as_slice(), high, low);
        faer_svd::svd(
            matrix,
            DiagMut::from_slice_mut(&mut self.values),
            self.has_vectors.then(|| left.view_mut().into_faer()),
            self.has_vectors.then(|| right.view_mut().into_faer()),
            Par::Seq,
            self.scratch.stack(),
            Default::default(),
        )
        .map_err(|_| LinalgError::NoConvergence)
    }

    fn by_rotations(&mut self, wide: bool) -> Result<(), LinalgError> {
        let (left, right) = if wide {
            (&mut self.v, &mut self.u)
        } else {
            (&mut self.u, &mut self.v)
        };
        let (high, low) = (self.tall.nrows(), self.tall.ncols());
        self.qr.factor_with(self.tall.view(), false)?;
        self.qr.r_transpose_into(&mut self.rotated);
        let rotations = self.has_vectors.then_some(&mut self.rotations);
        orthogonalise(&mut self.rotated, rotations, &mut self.norms)?;
        for (j, value) in self.values.iter_mut().enumerate() {
            *value = norm_2(self.rotated.col(j));
        }
        sort_columns(&mut self.values, &mut self.rotated, &mut self.rotations);
        let largest = self.values.first().copied().unwrap_or(0.0);
        let mut n_nonzero = low;
        while n_nonzero > 0 && self.values[n_nonzero - 1] <= NEGLIGIBLE * largest {
            n_nonzero -= 1;
            self.values[n_nonzero] = 0.0;
        }
        if !self.has_vectors {
            left.as_mut_slice().fill(0.0);
            right.as_mut_slice().fill(0.0);
            return Ok(());
        }
        for j in 0..n_nonzero {
            let value = self.values[j];
            for v in self.rotated.view_mut().col_mut(j) {
                *v /= value;
            }
        }
        complete_basis(&mut self.rotated, n_nonzero, &mut self.norms);
        // R^T W = X S gives A P = Q R = (Q W) S X^T.
        let perm = self.qr.permutation()?;
        for j in 0..low {
            for (i, &p) in perm.iter().enumerate() {
                right[(p, j)] = self.rotated[(i, j)];
            }
        }
        for j in 0..high {
            let mut view = left.view_mut();
            let column = view.col_mut(j);
            column.fill(0.0);
            if j < low {
                column[..low].copy_from_slice(self.rotations.col(j));
            } else {
                column[j] = 1.0;
            }
            self.qr.apply_q(column)?;
        }
        Ok(())
    }
}

vectorised! {
    /// Rotates pairs of columns until all are orthogonal, in the same way the columns of `rotations` (set to the identity).
    fn orthogonalise<'a>(
        x: &'a mut Mat,
        rotations: Option<&'a mut Mat>,
        norms: &'a mut [f64],
    ) -> Result<(), LinalgError> {
        let mut rotations = rotations;
        let n = x.ncols();
        if let Some(rotations) = rotations.as_deref_mut() {
            rotations.as_mut_slice().fill(0.0);
            for j in 0..n {
                rotations[(j, j)] = 1.0;
            }
        }
        let tolerance = f64::EPSILON * (n as f64).sqrt();
        for _ in 0..MAX_SWEEPS {
            for (j, norm) in norms.iter_mut().enumerate() {
                *norm = norm_2(x.col(j));
            }
            let floor = NEGLIGIBLE * norms.iter().fold(0.0_f64, |largest, norm| largest.max(*norm));
            let mut rotated = false;
            for i in 0..n {
                for j in i + 1..n {
                    let (xi, xj) = columns(x, i, j);
                    // The larger column first makes the columns come out nearly sorted (de Rijk 1989).
                    if norms[i] < norms[j] {
                        xi.swap_with_slice(xj);
                        norms.swap(i, j);
                        if let Some(rotations) = rotations.as_deref_mut() {
                            let (wi, wj) = columns(rotations, i, j);
                            wi.swap_with_slice(wj);
                        }
                    }
                    let (ni, nj) = (norms[i], norms[j]);
                    let product = dot(xi, xj);
                    if nj <= floor || product.abs() <= tolerance * ni * nj {
                        continue;
                    }
                    let zeta = (nj - ni) * (nj + ni) / (2.0 * product);
                    // Where the square overflows, the rotation is below anything representable.
                    let tangent = (1.0 / (zeta.abs() + (1.0 + zeta * zeta).sqrt())).copysign(zeta);
                    if tangent == 0.0 {
                        continue;
                    }
                    rotated = true;
                    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                    rotate(xi, xj, cosine, cosine * tangent);
                    norms[i] = (ni * ni - tangent * product).sqrt();
                    let left = nj * nj + tangent * product;
                    // Where much cancels, the formula has lost digits.
                    norms[j] = if left > 0.5 * nj * nj {
                        left.sqrt()
                    } else {
                        norm_2(xj)
                    };
                    if let Some(rotations) = rotations.as_deref_mut() {
                        let (wi, wj) = columns(rotations, i, j);
                        rotate(wi, wj, cosine, cosine * tangent);
                    }
                }
            }
            if !rotated {
                return Ok(());
            }
        }
        Err(LinalgError::NoConvergence)
    }
}

/// Columns i < j of a matrix.
#[inline(always)]
fn columns(x: &mut Mat, i: usize, j: usize) -> (&mut [f64], &mut [f64]) {
    let m = x.nrows();
    let (left, right) = x.as_mut_slice().split_at_mut(j * m);
    (&mut left[i * m..(i + 1) * m], &mut right[..m])
}

/// (x, y) becomes (c x - s y, s x + c y).
#[inline(always)]
fn rotate(x: &mut [f64], y: &mut [f64], c: f64, s: f64) {
    for (x, y) in x.iter_mut().zip(y.iter_mut()) {
        let (a, b) = (*x, *y);
        *x = c * a - s * b;
        *y = s * a + c * b;
    }
}

/// Sorts by falling values and exchanges the columns of both matrices along.
fn sort_columns(values: &mut [f64], x: &mut Mat, w: &mut Mat) {
    for i in 0..values.len() {
        let mut best = i;
        for j in i + 1..values.len() {
            if values[j] > values[best] {
                best = j;
            }
        }
        if best != i {
            values.swap(i, best);
            for matrix in [&mut *x, &mut *w] {
                let (a, b) = columns(matrix, i, best);
                a.swap_with_slice(b);
            }
        }
    }
}

/// Replaces the columns from `n_good` on so that all columns of a square matrix are orthonormal.
///
/// Each new column starts as the unit vector farthest from the span so far, whose distance is at least 1/sqrt(n), so two
/// rounds of Gram-Schmidt suffice.
fn complete_basis(x: &mut Mat, n_good: usize, row_squares: &mut [f64]) {
    let n = x.ncols();
    for j in n_good..n {
        row_squares.fill(0.0);
        for k in 0..j {
            for (sum, v) in row_squares.iter_mut().zip(x.col(k)) {
                *sum += v * v;
            }
        }
        let start = (0..n)
            .min_by(|&a, &b| row_squares[a].total_cmp(&row_squares[b]))
            .unwrap_or(0);
        let (done, rest) = x.as_mut_slice().split_at_mut(j * n);
        let column = &mut rest[..n];
        column.fill(0.0);
        column[start] = 1.0;
        for _ in 0..2 {
            for other in done.chunks_exact(n) {
                let share = dot(other, column);
                axpy(column, -share, other);
            }
            let norm = norm_2(column);
            for v in column.iter_mut() {
                *v /= norm;
            }
        }
    }
}
