//! Sparse matrices by columns.

use crate::{LinalgError, Mat};

/// Owns a sparse matrix by columns: the row indices of each column rise, values beside them.
///
/// ```
/// use daelight_linalg::CscMat;
/// let a = CscMat::from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, 2.0), (1, 1, 3.0)])?;
/// assert_eq!(a.mul_vec(&[1.0, 1.0]), [1.0, 5.0]);
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CscMat {
    pub(crate) nrows: usize,
    pub(crate) ncols: usize,
    pub(crate) col_ptr: Vec<u32>,
    pub(crate) row_idx: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl CscMat {
    /// Collects entries (row, column, value) in any order; equal positions are added, explicit zeros stay in the pattern.
    pub fn from_triplets(
        nrows: usize,
        ncols: usize,
        entries: &[(usize, usize, f64)],
    ) -> Result<Self, LinalgError> {
        let limit = i32::MAX as usize;
        if nrows > limit || ncols > limit || entries.len() > limit {
            return Err(LinalgError::TooLarge);
        }
        if let Some(&(i, j, _)) = entries.iter().find(|(i, j, _)| *i >= nrows || *j >= ncols) {
            return Err(LinalgError::Shape {
                expected: (nrows, ncols),
                found: (i + 1, j + 1),
            });
        }
        let mut sorted: Vec<(usize, usize, f64)> = entries.to_vec();
        // A stable sort keeps sums of duplicates independent of anything but the order given.
        sorted.sort_by_key(|&(i, j, _)| (j, i));
        let mut out = Self {
            nrows,
            ncols,
            col_ptr: vec![0; ncols + 1],
            row_idx: Vec::new(),
            values: Vec::new(),
        };
        let mut last = None;
        for (i, j, value) in sorted {
            if last == Some((i, j)) {
                let end = out.values.len() - 1;
                out.values[end] += value;
                continue;
            }
            last = Some((i, j));
            out.row_idx.push(i as u32);
            out.values.push(value);
            out.col_ptr[j + 1] += 1;
        }
        for j in 0..ncols {
            out.col_ptr[j + 1] += out.col_ptr[j];
        }
        Ok(out)
    }

    /// Takes over a pattern: column j holds the rows `row_idx[col_ptr[j]..col_ptr[j + 1]]`, strictly rising. Values are 0.
    pub fn from_pattern(
        nrows: usize,
        ncols: usize,
        col_ptr: Vec<u32>,
        row_idx: Vec<u32>,
    ) -> Result<Self, LinalgError> {
        let ends = col_ptr.first() == Some(&0)
            && col_ptr.last().map(|&e| e as usize) == Some(row_idx.len());
        if !ends
            || col_ptr.len() != ncols + 1
            || row_idx.len() > i32::MAX as usize
            || !col_ptr.is_sorted()
        {
            return Err(LinalgError::Pattern);
        }
        let rising = col_ptr.windows(2).all(|w| {
            let rows = &row_idx[w[0] as usize..w[1] as usize];
            rows.windows(2).all(|r| r[0] < r[1])
                && rows.last().is_none_or(|&r| (r as usize) < nrows)
        });
        if !rising {
            return Err(LinalgError::Pattern);
        }
        let values = vec![0.0; row_idx.len()];
        Ok(Self {
            nrows,
            ncols,
            col_ptr,
            row_idx,
            values,
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

    /// Number of stored entries.
    pub fn n_entries(&self) -> usize {
        self.values.len()
    }

    /// Where each column starts, and the end of the last.
    pub fn col_ptr(&self) -> &[u32] {
        &self.col_ptr
    }

    /// Row of each entry.
    pub fn row_idx(&self) -> &[u32] {
        &self.row_idx
    }

    /// Values of the entries, in the order of [`CscMat::row_idx`].
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Values for writing; the pattern stays.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// out = A x.
    pub(crate) fn mul_vec_into(&self, x: &[f64], out: &mut [f64]) {
        assert!(
            x.len() == self.ncols && out.len() == self.nrows,
            "sizes of the product"
        );
        out.fill(0.0);
        add_product(&self.col_ptr, &self.row_idx, &self.values, x, 1.0, out);
    }

    /// A x.
    pub fn mul_vec(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.nrows];
        self.mul_vec_into(x, &mut out);
        out
    }

    /// The same matrix with all its zeros.
    pub fn to_dense(&self) -> Mat {
        let mut out = Mat::zeros(self.nrows, self.ncols);
        for j in 0..self.ncols {
            for p in self.col_ptr[j] as usize..self.col_ptr[j + 1] as usize {
                out[(self.row_idx[p] as usize, j)] = self.values[p];
            }
        }
        out
    }
}

/// out += factor A x.
pub(crate) fn add_product(
    col_ptr: &[u32],
    row_idx: &[u32],
    values: &[f64],
    x: &[f64],
    factor: f64,
    out: &mut [f64],
) {
    for (w, &xj) in col_ptr.windows(2).zip(x) {
        let (start, end) = (w[0] as usize, w[1] as usize);
        let scaled = factor * xj;
        for (&i, v) in row_idx[start..end].iter().zip(&values[start..end]) {
            out[i as usize] += scaled * v;
        }
    }
}
