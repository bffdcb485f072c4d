//! What the analysis needs of a dense matrix, so that the same formulas run in doubles and in double-doubles.

use daelight_expr::Scalar;
use daelight_linalg::{Dd, DdMat, DdSvd, GapRule, LinalgError, Mat, Svd};
use std::fmt::Debug;

/// A dense matrix of some precision.
///
/// Implemented by [`Mat`] and [`DdMat`]. Scale factors are plain doubles: they are powers of two or small integers, which
/// both precisions multiply exactly or to full accuracy.
pub trait Dense: Clone + Debug {
    /// What its entries are.
    type Entry: Scalar;

    /// Noise of a well-conditioned result of a size, relative to its data: that of [`daelight_linalg::GapRule`].
    fn noise(nrows: usize, ncols: usize) -> f64;

    /// A matrix of zeros.
    fn zeros(nrows: usize, ncols: usize) -> Self;
    /// An entry, to be written.
    fn entry_mut(&mut self, row: usize, col: usize) -> &mut Self::Entry;
    /// The doubles of a matrix, taken as exact.
    fn from_mat(a: &Mat) -> Self;
    /// The entries rounded to doubles.
    fn to_mat(&self) -> Mat;
    /// Number of rows.
    fn nrows(&self) -> usize;
    /// Number of columns.
    fn ncols(&self) -> usize;
    /// The product with another matrix.
    fn product(&self, other: &Self) -> Self;
    /// The transposed matrix.
    fn transposed(&self) -> Self;
    /// Adds a multiple of a matrix of the same size.
    fn add_multiple(&mut self, factor: f64, other: &Self);
    /// Copies the block whose first entry is (row, col).
    fn block(&self, row: usize, col: usize, nrows: usize, ncols: usize) -> Self;
    /// Overwrites the block whose first entry is (row, col).
    fn set_block(&mut self, row: usize, col: usize, block: &Self);
    /// Multiplies row i by `rows[i]`, column j by `cols[j]`, everything by `factor`.
    fn scaled(&self, rows: &[f64], cols: &[f64], factor: f64) -> Self;
    /// Root of the sum of squares, to double precision.
    fn norm(&self) -> f64;
    /// True if no entry is NaN or infinite.
    fn is_finite(&self) -> bool;
    /// The singular value decomposition.
    fn decompose(&self) -> Result<Factors<Self>, LinalgError>;

    /// The n x n identity.
    fn identity(n: usize) -> Self {
        Self::from_mat(&Mat::identity(n))
    }

    /// Two matrices of equal height side by side.
    fn beside(&self, right: &Self) -> Self {
        let mut out = Self::zeros(self.nrows(), self.ncols() + right.ncols());
        out.set_block(0, 0, self);
        out.set_block(0, self.ncols(), right);
        out
    }

    /// Two matrices of equal width, one above the other.
    fn above(&self, below: &Self) -> Self {
        let mut out = Self::zeros(self.nrows() + below.nrows(), self.ncols());
        out.set_block(0, 0, self);
        out.set_block(self.nrows(), 0, below);
        out
    }
}

/// A singular value decomposition U S V^T with square orthogonal U and V.
#[derive(Clone, Debug)]
pub struct Factors<M> {
    /// Left singular vectors, all of them.
    pub u: M,
    /// Right singular vectors, all of them.
    pub v: M,
    /// Singular values to double precision, largest first.
    pub values: Vec<f64>,
    /// S in full precision, of the shape of the matrix.
    pub sigma: M,
    /// The pseudo-inverse of S: reciprocals of what is not exactly zero.
    pub reciprocal: M,
}

impl<M: Dense> Factors<M> {
    /// The decomposition of the transposed matrix.
    pub fn transposed(self) -> Self {
        Self {
            u: self.v,
            v: self.u,
            values: self.values,
            sigma: self.sigma.transposed(),
            reciprocal: self.reciprocal.transposed(),
        }
    }

    /// The 2-norm of the matrix.
    pub fn norm(&self) -> f64 {
        self.values.first().copied().unwrap_or(0.0)
    }

    /// Orthonormal basis of the range for rank r.
    pub fn range(&self, rank: usize) -> M {
        self.u.block(0, 0, self.u.nrows(), rank)
    }

    /// Orthonormal basis of the vectors that the matrix annihilates, for rank r.
    pub fn kernel(&self, rank: usize) -> M {
        self.v.block(0, rank, self.v.nrows(), self.v.ncols() - rank)
    }

    /// Orthonormal basis of the vectors y with y^T A = 0, for rank r.
    pub fn left_kernel(&self, rank: usize) -> M {
        self.u.block(0, rank, self.u.nrows(), self.u.ncols() - rank)
    }

    /// V S^+ U^T, the inverse of a regular matrix.
    pub fn inverse(&self) -> M {
        self.v
            .product(&self.reciprocal)
            .product(&self.u.transposed())
    }
}

impl Dense for Mat {
    type Entry = f64;

    fn noise(nrows: usize, ncols: usize) -> f64 {
        GapRule::new(nrows, ncols, 1.0).noise
    }

    fn zeros(nrows: usize, ncols: usize) -> Self {
        Mat::zeros(nrows, ncols)
    }
    fn entry_mut(&mut self, row: usize, col: usize) -> &mut f64 {
        &mut self[(row, col)]
    }
    fn from_mat(a: &Mat) -> Self {
        a.clone()
    }
    fn to_mat(&self) -> Mat {
        self.clone()
    }
    fn nrows(&self) -> usize {
        Mat::nrows(self)
    }
    fn ncols(&self) -> usize {
        Mat::ncols(self)
    }
    fn product(&self, other: &Self) -> Self {
        // High coefficients are mostly zeros, and zeros of a finite matrix change no sum.
        let mut out = Mat::zeros(self.nrows(), other.ncols());
        let mut view = out.view_mut();
        for j in 0..other.ncols() {
            let column = view.col_mut(j);
            for (k, &factor) in other.col(j).iter().enumerate() {
                if factor != 0.0 {
                    for (sum, value) in column.iter_mut().zip(self.col(k)) {
                        *sum += factor * value;
                    }
                }
            }
        }
        out
    }
    fn transposed(&self) -> Self {
        self.transpose()
    }
    fn add_multiple(&mut self, factor: f64, other: &Self) {
        for (a, b) in self.as_mut_slice().iter_mut().zip(other.as_slice()) {
            *a += factor * b;
        }
    }
    fn block(&self, row: usize, col: usize, nrows: usize, ncols: usize) -> Self {
        self.view().submatrix(row, col, nrows, ncols).to_owned()
    }
    fn set_block(&mut self, row: usize, col: usize, block: &Self) {
        let mut view = self.view_mut();
        for j in 0..block.ncols() {
            view.col_mut(col + j)[row..row + block.nrows()].copy_from_slice(block.col(j));
        }
    }
    fn scaled(&self, rows: &[f64], cols: &[f64], factor: f64) -> Self {
        Mat::from_fn(self.nrows(), self.ncols(), |i, j| {
            self[(i, j)] * rows[i] * cols[j] * factor
        })
    }
    fn norm(&self) -> f64 {
        self.view().norm_frobenius()
    }
    fn is_finite(&self) -> bool {
        self.view().is_finite()
    }
    fn decompose(&self) -> Result<Factors<Self>, LinalgError> {
        let mut svd = Svd::new();
        svd.factor(self.view())?;
        let values = svd.singular_values().to_vec();
        let (m, n) = (self.nrows(), self.ncols());
        let mut sigma = Mat::zeros(m, n);
        let mut reciprocal = Mat::zeros(n, m);
        for (k, &value) in values.iter().enumerate() {
            sigma[(k, k)] = value;
            reciprocal[(k, k)] = if value == 0.0 { 0.0 } else { 1.0 / value };
        }
        Ok(Factors {
            u: svd.u()?.to_owned(),
            v: svd.v()?.to_owned(),
            values,
            sigma,
            reciprocal,
        })
    }
}

impl Dense for DdMat {
    type Entry = Dd;

    fn noise(nrows: usize, ncols: usize) -> f64 {
        GapRule::in_double_double(nrows, ncols, 1.0).noise
    }

    fn zeros(nrows: usize, ncols: usize) -> Self {
        DdMat::zeros(nrows, ncols)
    }
    fn entry_mut(&mut self, row: usize, col: usize) -> &mut Dd {
        &mut self[(row, col)]
    }
    fn from_mat(a: &Mat) -> Self {
        DdMat::from_f64(a.view())
    }
    fn to_mat(&self) -> Mat {
        self.to_f64()
    }
    fn nrows(&self) -> usize {
        DdMat::nrows(self)
    }
    fn ncols(&self) -> usize {
        DdMat::ncols(self)
    }
    fn product(&self, other: &Self) -> Self {
        self.matmul(other)
    }
    fn transposed(&self) -> Self {
        self.transpose()
    }
    fn add_multiple(&mut self, factor: f64, other: &Self) {
        let factor = Dd::from(factor);
        for j in 0..self.ncols() {
            for i in 0..self.nrows() {
                self[(i, j)] += factor * other[(i, j)];
            }
        }
    }
    fn block(&self, row: usize, col: usize, nrows: usize, ncols: usize) -> Self {
        DdMat::from_fn(nrows, ncols, |i, j| self[(row + i, col + j)])
    }
    fn set_block(&mut self, row: usize, col: usize, block: &Self) {
        for j in 0..block.ncols() {
            for i in 0..block.nrows() {
                self[(row + i, col + j)] = block[(i, j)];
            }
        }
    }
    fn scaled(&self, rows: &[f64], cols: &[f64], factor: f64) -> Self {
        DdMat::from_fn(self.nrows(), self.ncols(), |i, j| {
            self[(i, j)] * Dd::from(rows[i]) * Dd::from(cols[j]) * Dd::from(factor)
        })
    }
    fn norm(&self) -> f64 {
        self.to_f64().view().norm_frobenius()
    }
    fn is_finite(&self) -> bool {
        (0..self.ncols()).all(|j| self.col(j).iter().all(|v| v.is_finite()))
    }
    fn decompose(&self) -> Result<Factors<Self>, LinalgError> {
        let DdSvd { u, values, v } = DdSvd::new(self)?;
        let (m, n) = (self.nrows(), self.ncols());
        let mut sigma = DdMat::zeros(m, n);
        let mut reciprocal = DdMat::zeros(n, m);
        for (k, &value) in values.iter().enumerate() {
            sigma[(k, k)] = value;
            if value.hi() != 0.0 {
                reciprocal[(k, k)] = Dd::from(1.0) / value;
            }
        }
        Ok(Factors {
            u,
            v,
            values: values.iter().map(|v| v.hi()).collect(),
            sigma,
            reciprocal,
        })
    }
}
