//! Dense matrices, column by column: an owned [`Mat`] and the borrowed views [`MatRef`] and [`MatMut`].
//!
//! Entry (i, j) is stored at `i + j * stride` with `stride >= nrows`, so every column is a contiguous slice. That suits the
//! eliminations here, and faer. There is no transposed view; [`Mat::transpose`] copies.

use crate::LinalgError;
use crate::kernels::{all_finite, axpy, norm_1, norm_2, norm_max};
use std::ops::{Index, IndexMut};

/// Borrows a matrix for reading.
///
/// ```
/// use daelight_linalg::MatRef;
/// let a = MatRef::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)?;
/// assert_eq!(a.at(0, 1), 4.0);
/// assert_eq!(a.submatrix(1, 0, 2, 2).col(1), &[5.0, 6.0]);
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MatRef<'a> {
    data: &'a [f64],
    nrows: usize,
    ncols: usize,
    stride: usize,
}

impl<'a> MatRef<'a> {
    /// Views a slice as `nrows` x `ncols`, one column after another.
    pub fn new(data: &'a [f64], nrows: usize, ncols: usize) -> Result<Self, LinalgError> {
        Self::with_stride(data, nrows, ncols, nrows)
    }

    /// Views a slice whose columns start every `stride` entries; entries between columns are ignored.
    pub fn with_stride(
        data: &'a [f64],
        nrows: usize,
        ncols: usize,
        stride: usize,
    ) -> Result<Self, LinalgError> {
        if stride < nrows || data.len() < span(nrows, ncols, stride) {
            return Err(LinalgError::Shape {
                expected: (nrows, ncols),
                found: (stride, data.len() / stride.max(1)),
            });
        }
        Ok(Self {
            data,
            nrows,
            ncols,
            stride,
        })
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
    #[inline(always)]
    pub fn col(&self, j: usize) -> &'a [f64] {
        assert!(j < self.ncols, "column {j} of {}", self.ncols);
        // A matrix without rows may have no storage at all.
        if self.nrows == 0 {
            &[]
        } else {
            &self.data[j * self.stride..][..self.nrows]
        }
    }

    /// Entry in row i, column j.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.col(j)[i]
    }

    /// The `nrows` x `ncols` block whose first entry is (row, col).
    pub fn submatrix(&self, row: usize, col: usize, nrows: usize, ncols: usize) -> MatRef<'a> {
        assert!(
            row + nrows <= self.nrows && col + ncols <= self.ncols,
            "block outside the matrix"
        );
        if nrows == 0 || ncols == 0 {
            return MatRef {
                data: &[],
                nrows,
                ncols,
                stride: nrows,
            };
        }
        MatRef {
            data: &self.data[row + col * self.stride..],
            nrows,
            ncols,
            stride: self.stride,
        }
    }

    /// True if no entry is NaN or infinite.
    #[inline(always)]
    pub fn is_finite(&self) -> bool {
        (0..self.ncols).all(|j| all_finite(self.col(j)))
    }

    /// Largest absolute entry.
    #[inline(always)]
    pub fn norm_max(&self) -> f64 {
        (0..self.ncols)
            .map(|j| norm_max(self.col(j)))
            .fold(0.0, larger)
    }

    /// Largest column sum of absolute values.
    #[inline(always)]
    pub(crate) fn norm_1(&self) -> f64 {
        (0..self.ncols)
            .map(|j| norm_1(self.col(j)))
            .fold(0.0, larger)
    }

    /// Root of the sum of squares.
    #[inline(always)]
    pub fn norm_frobenius(&self) -> f64 {
        let scale = self.norm_max();
        if scale == 0.0 || !scale.is_finite() {
            return scale;
        }
        let sum: f64 = (0..self.ncols)
            .map(|j| (norm_2(self.col(j)) / scale).powi(2))
            .sum();
        scale * sum.sqrt()
    }

    /// Copies into an owned matrix.
    pub fn to_owned(&self) -> Mat {
        Mat::from_fn(self.nrows, self.ncols, |i, j| self.at(i, j))
    }

    /// out = A x.
    #[inline]
    pub(crate) fn mul_vec_into(&self, x: &[f64], out: &mut [f64]) {
        assert!(
            x.len() == self.ncols && out.len() == self.nrows,
            "sizes of the product"
        );
        out.fill(0.0);
        for (j, &xj) in x.iter().enumerate() {
            axpy(out, xj, self.col(j));
        }
    }
}

/// Borrows a matrix for writing. Layout as in [`MatRef`].
#[derive(Debug)]
pub struct MatMut<'a> {
    data: &'a mut [f64],
    nrows: usize,
    ncols: usize,
    stride: usize,
}

impl<'a> MatMut<'a> {
    /// Views a slice as `nrows` x `ncols`, one column after another.
    pub fn new(data: &'a mut [f64], nrows: usize, ncols: usize) -> Result<Self, LinalgError> {
        Self::with_stride(data, nrows, ncols, nrows)
    }

    /// Views a slice whose columns start every `stride` entries; entries between columns are left alone.
    pub fn with_stride(
        data: &'a mut [f64],
        nrows: usize,
        ncols: usize,
        stride: usize,
    ) -> Result<Self, LinalgError> {
        MatRef::with_stride(data, nrows, ncols, stride)?;
        Ok(Self {
            data,
            nrows,
            ncols,
            stride,
        })
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The same matrix for reading.
    pub fn view(&self) -> MatRef<'_> {
        MatRef {
            data: self.data,
            nrows: self.nrows,
            ncols: self.ncols,
            stride: self.stride,
        }
    }

    /// A shorter borrow of the same matrix.
    pub(crate) fn reborrow(&mut self) -> MatMut<'_> {
        MatMut {
            data: self.data,
            nrows: self.nrows,
            ncols: self.ncols,
            stride: self.stride,
        }
    }

    /// Column j as a slice.
    #[inline]
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        assert!(j < self.ncols, "column {j} of {}", self.ncols);
        if self.nrows == 0 {
            &mut []
        } else {
            &mut self.data[j * self.stride..][..self.nrows]
        }
    }

    /// The columns from `start`, `count` of them.
    pub(crate) fn cols_mut(&mut self, start: usize, count: usize) -> MatMut<'_> {
        assert!(start + count <= self.ncols, "block outside the matrix");
        let data = if self.nrows == 0 || count == 0 {
            &mut []
        } else {
            &mut self.data[start * self.stride..]
        };
        MatMut {
            data,
            nrows: self.nrows,
            ncols: count,
            stride: self.stride,
        }
    }

    /// The same matrix as faer sees it, for as long as the borrow lasts.
    pub(crate) fn into_faer(self) -> faer::MatMut<'a, f64> {
        let used = span(self.nrows, self.ncols, self.stride);
        let data = &mut self.data[..used];
        faer::MatMut::from_column_major_slice_with_stride_mut(
            data,
            self.nrows,
            self.ncols,
            self.stride,
        )
    }

    /// Writes entry (i, j).
    #[inline]
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.col_mut(j)[i] = value;
    }
}

/// Owns a matrix, stored column after column without gaps.
///
/// ```
/// use daelight_linalg::Mat;
/// let a = Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0]]);
/// assert_eq!(a.as_slice(), &[1.0, 3.0, 2.0, 4.0]);
/// assert_eq!(a.matmul(&Mat::identity(2)), a);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mat {
    data: Vec<f64>,
    nrows: usize,
    ncols: usize,
}

impl Mat {
    /// A matrix of zeros.
    pub fn zeros(nrows: usize, ncols: usize) -> Self {
        Self {
            data: vec![0.0; nrows * ncols],
            nrows,
            ncols,
        }
    }

    /// The n x n identity.
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |i, j| f64::from(i == j))
    }

    /// A matrix from a rule for its entries (i, j).
    pub fn from_fn(nrows: usize, ncols: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(nrows * ncols);
        for j in 0..ncols {
            for i in 0..nrows {
                data.push(entry(i, j));
            }
        }
        Self { data, nrows, ncols }
    }

    /// A matrix written row by row, as on paper. All rows must have the length of the first.
    pub fn from_rows(rows: &[&[f64]]) -> Self {
        let ncols = rows.first().map_or(0, |row| row.len());
        assert!(
            rows.iter().all(|row| row.len() == ncols),
            "rows of different lengths"
        );
        Self::from_fn(rows.len(), ncols, |i, j| rows[i][j])
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Borrows for reading.
    pub fn view(&self) -> MatRef<'_> {
        MatRef {
            data: &self.data,
            nrows: self.nrows,
            ncols: self.ncols,
            stride: self.nrows,
        }
    }

    /// Borrows for writing.
    pub fn view_mut(&mut self) -> MatMut<'_> {
        MatMut {
            data: &mut self.data,
            nrows: self.nrows,
            ncols: self.ncols,
            stride: self.nrows,
        }
    }

    /// All entries, column after column.
    #[inline(always)]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries for writing, column after column.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Column j as a slice.
    #[inline(always)]
    pub fn col(&self, j: usize) -> &[f64] {
        self.view().col(j)
    }

    /// Changes the size and sets every entry to zero; allocates only if the matrix was never this large.
    pub fn reset(&mut self, nrows: usize, ncols: usize) {
        self.reshape(nrows, ncols);
        self.data.fill(0.0);
    }

    /// Changes the size and leaves the entries unspecified.
    #[inline]
    pub(crate) fn reshape(&mut self, nrows: usize, ncols: usize) {
        self.data.resize(nrows * ncols, 0.0);
        self.nrows = nrows;
        self.ncols = ncols;
    }

    /// Takes over the size and entries of another matrix, within the present storage if it suffices.
    #[inline]
    pub fn assign(&mut self, other: MatRef<'_>) {
        self.reshape(other.nrows, other.ncols);
        if other.stride == other.nrows {
            self.data
                .copy_from_slice(&other.data[..other.nrows * other.ncols]);
            return;
        }
        for j in 0..other.ncols {
            self.data[j * other.nrows..(j + 1) * other.nrows].copy_from_slice(other.col(j));
        }
    }

    /// The transposed matrix, as a copy.
    pub fn transpose(&self) -> Mat {
        Mat::from_fn(self.ncols, self.nrows, |i, j| self[(j, i)])
    }

    /// The product with another matrix. The inner sizes must agree.
    pub fn matmul(&self, other: &Mat) -> Mat {
        assert_eq!(self.ncols, other.nrows, "inner sizes of the product");
        let mut out = Mat::zeros(self.nrows, other.ncols);
        for j in 0..other.ncols {
            self.view()
                .mul_vec_into(other.col(j), out.view_mut().col_mut(j));
        }
        out
    }

    /// The product with a vector.
    pub fn mul_vec(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.nrows];
        self.view().mul_vec_into(x, &mut out);
        out
    }
}

impl Index<(usize, usize)> for Mat {
    type Output = f64;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        assert!(
            i < self.nrows && j < self.ncols,
            "entry ({i}, {j}) of {} x {}",
            self.nrows,
            self.ncols
        );
        &self.data[i + j * self.nrows]
    }
}

impl IndexMut<(usize, usize)> for Mat {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        assert!(
            i < self.nrows && j < self.ncols,
            "entry ({i}, {j}) of {} x {}",
            self.nrows,
            self.ncols
        );
        &mut self.data[i + j * self.nrows]
    }
}

/// The wrong size as an error.
pub(crate) fn expect_shape(
    expected: (usize, usize),
    found: (usize, usize),
) -> Result<(), LinalgError> {
    if expected == found {
        Ok(())
    } else {
        Err(LinalgError::Shape { expected, found })
    }
}

/// Entries from the first to the last of a strided matrix.
fn span(nrows: usize, ncols: usize, stride: usize) -> usize {
    if nrows == 0 || ncols == 0 {
        0
    } else {
        (ncols - 1).saturating_mul(stride).saturating_add(nrows)
    }
}

/// Maximum that keeps NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}
