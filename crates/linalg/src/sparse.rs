//! Sparse LU factorisation with a reused pattern: ordering once, pivots rarely, numbers every time.
//!
//! The work is in three stages. The column ordering (COLAMD, from faer) depends on the pattern alone and is done once by
//! [`SparseLu::new`]. Row pivots and the patterns of L and U come from faer's left-looking factorisation with partial
//! pivoting (Gilbert and Peierls 1988), run for the first matrix and whenever the old pivots have become poor. Every other
//! matrix is refactored on the known pattern by a plain loop that does not allocate (the way of KLU, Davis and Palamadai
//! Natarajan 2010). faer may call a factorisation with NaN a success, so nothing is believed before the residual is checked.

use crate::condition::estimate_inverse_norm;
use crate::csc::add_product;
use crate::dense::expect_shape;
use crate::error::{backward_error, residual_tolerance};
use crate::kernels::{all_finite, norm_max};
use crate::lu::LogDet;
use crate::scratch::Scratch;
use crate::{CscMat, LinalgError, Solved};
use faer::perm::PermRef;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::colamd;
use faer::sparse::linalg::lu::simplicial::{
    SimplicialLu, factorize_simplicial_numeric_lu, factorize_simplicial_numeric_lu_scratch,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};

/// Old pivots are kept while each is at least this fraction of the largest entry it could be exchanged for.
///
/// 0.001 is KLU's default tolerance for preferring the diagonal: growth of a step is then at most 1000, and the residual
/// check stands behind it.
const PIVOT_RATIO: f64 = 1e-3;

/// Says whether a factorisation could keep the pivots of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pivoting {
    /// Pivots were chosen afresh; this may have allocated.
    Fresh,
    /// The pivots of an earlier matrix still served; nothing was allocated.
    Reused,
}

/// Factors square sparse matrices of one pattern and solves with them.
///
/// Allocation: a factorisation with reused pivots and every solve allocate nothing. Fresh pivots allocate for the first
/// matrix, and later only if the factors become larger than they ever were.
///
/// ```
/// use daelight_linalg::{CscMat, SparseLu};
/// let a = CscMat::from_triplets(2, 2, &[(0, 1, 2.0), (1, 0, 4.0), (1, 1, 1.0)])?;
/// let mut lu = SparseLu::new(&a)?;
/// lu.factor(&a)?;
/// let mut x = [2.0, 5.0];
/// lu.solve(&mut x)?;
/// assert_eq!(x, [1.0, 1.0]);
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
#[derive(Debug)]
pub struct SparseLu {
    /// The matrix last factored; its pattern is the one analysed.
    matrix: CscMat,
    /// Column `col_perm[j]` of the matrix is column j of the factors.
    col_perm: Vec<u32>,
    col_perm_inverse: Vec<u32>,
    row_perm: Vec<u32>,
    /// Row i of the matrix is row `row_perm_inverse[i]` of the factors.
    row_perm_inverse: Vec<u32>,
    has_pivots: bool,
    odd: bool,
    faer_lu: SimplicialLu<u32, f64>,
    lower: Triangle,
    upper: Triangle,
    pivots: Vec<f64>,
    singular_step: Option<usize>,
    norm_1: f64,
    norm_inf: f64,
    factored: bool,
    /// Zero between factorisations.
    spread: Vec<f64>,
    rhs: Vec<f64>,
    residual: Vec<f64>,
    scratch: Scratch,
}

/// A strict triangle by columns, rows rising.
#[derive(Debug, Default)]
struct Triangle {
    ptr: Vec<u32>,
    idx: Vec<u32>,
    val: Vec<f64>,
}

impl Triangle {
    fn range(&self, j: usize) -> std::ops::Range<usize> {
        self.ptr[j] as usize..self.ptr[j + 1] as usize
    }

    /// Takes over the off-diagonal pattern of a factor.
    fn copy_pattern(&mut self, factor: SparseColMatRef<'_, u32, f64>) {
        self.ptr.clear();
        self.idx.clear();
        self.ptr.push(0);
        for j in 0..factor.ncols() {
            let start = self.idx.len();
            let rows = factor.symbolic().row_idx_of_col_raw(j);
            self.idx.extend(rows.iter().filter(|&&i| i as usize != j));
            // Rising order is a valid order of elimination, whatever order the search found the rows in.
            self.idx[start..].sort_unstable();
            self.ptr.push(self.idx.len() as u32);
        }
        self.val.resize(self.idx.len(), 0.0);
    }

    /// x -= x_j column_j, for column j.
    #[inline(always)]
    fn eliminate(&self, j: usize, xj: f64, x: &mut [f64]) {
        let range = self.range(j);
        for (&i, v) in self.idx[range.clone()].iter().zip(&self.val[range]) {
            x[i as usize] -= v * xj;
        }
    }

    /// Scalar product of column j with x.
    #[inline(always)]
    fn column_dot(&self, j: usize, x: &[f64]) -> f64 {
        let range = self.range(j);
        self.idx[range.clone()]
            .iter()
            .zip(&self.val[range])
            .map(|(&i, v)| v * x[i as usize])
            .sum()
    }
}

impl SparseLu {
    /// Finds the column ordering for a square pattern. Values do not matter here.
    pub fn new(pattern: &CscMat) -> Result<Self, LinalgError> {
        let n = pattern.nrows;
        expect_shape((n, n), (n, pattern.ncols))?;
        let mut scratch = Scratch::default();
        let mut col_perm = vec![0; n];
        let mut col_perm_inverse = vec![0; n];
        if n > 0 {
            scratch.reserve(colamd::order_scratch::<u32>(n, n, pattern.n_entries()));
            let symbolic = SymbolicSparseColMatRef::new_checked(
                n,
                n,
                &pattern.col_ptr,
                None,
                &pattern.row_idx,
            );
            colamd::order(
                &mut col_perm,
                &mut col_perm_inverse,
                symbolic,
                Default::default(),
                scratch.stack(),
            )
            .map_err(|_| LinalgError::TooLarge)?;
            scratch.reserve(factorize_simplicial_numeric_lu_scratch::<u32, f64>(n, n));
        }
        Ok(Self {
            matrix: pattern.clone(),
            col_perm,
            col_perm_inverse,
            row_perm: vec![0; n],
            row_perm_inverse: vec![0; n],
            has_pivots: false,
            odd: false,
            faer_lu: SimplicialLu::new(),
            lower: Triangle::default(),
            upper: Triangle::default(),
            pivots: vec![0.0; n],
            singular_step: None,
            norm_1: 0.0,
            norm_inf: 0.0,
            factored: false,
            spread: vec![0.0; n],
            rhs: vec![0.0; n],
            residual: vec![0.0; n],
            scratch,
        })
    }

    /// Factors a matrix of the analysed pattern, with the old pivots if they still serve and with new ones otherwise.
    ///
    /// A zero pivot is not an error here; solving with it is.
    pub fn factor(&mut self, a: &CscMat) -> Result<Pivoting, LinalgError> {
        self.load(a)?;
        if self.has_pivots && self.eliminate(PIVOT_RATIO) {
            return self.finish(Pivoting::Reused);
        }
        self.choose_pivots()?;
        self.eliminate(0.0);
        self.finish(Pivoting::Fresh)
    }

    /// Factors with pivots chosen for this very matrix.
    pub fn factor_afresh(&mut self, a: &CscMat) -> Result<(), LinalgError> {
        self.load(a)?;
        self.choose_pivots()?;
        self.eliminate(0.0);
        self.finish(Pivoting::Fresh).map(|_| ())
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.pivots.len()
    }

    /// Entries of L and U together, the diagonal of U included; 0 before the first factorisation.
    pub fn n_factor_entries(&self) -> usize {
        if self.has_pivots {
            self.lower.idx.len() + self.upper.idx.len() + self.n()
        } else {
            0
        }
    }

    /// Solves A x = b in place and checks the answer; see [`crate::Lu::solve`] for what is accepted.
    pub fn solve(&mut self, b: &mut [f64]) -> Result<Solved, LinalgError> {
        self.solve_either(b, false)
    }

    /// Solves A x = b in place and believes the answer, for callers that look at residuals of their own: half the time.
    ///
    /// Use it after a checked [`SparseLu::solve`] with the same factors that needed no refinement.
    pub fn solve_unchecked(&mut self, b: &mut [f64]) -> Result<(), LinalgError> {
        self.ready()?;
        expect_shape((self.n(), 1), (b.len(), 1))?;
        self.raw_solve(b, false);
        Ok(())
    }

    /// Solves A^T x = b in place, checked.
    pub fn solve_transpose(&mut self, b: &mut [f64]) -> Result<Solved, LinalgError> {
        self.solve_either(b, true)
    }

    /// Determinant as sign and logarithm.
    pub fn log_det(&self) -> Result<LogDet, LinalgError> {
        if !self.factored {
            return Err(LinalgError::NotFactored);
        }
        if self.singular_step.is_some() {
            return Ok(LogDet {
                sign: 0.0,
                log_abs: f64::NEG_INFINITY,
            });
        }
        Ok(LogDet::from_pivots(self.odd, self.pivots.iter().copied()))
    }

    /// Smallest absolute pivot; zero for a singular matrix, infinite for an empty one.
    pub fn smallest_pivot(&self) -> Result<f64, LinalgError> {
        match (self.factored, self.singular_step) {
            (false, _) => Err(LinalgError::NotFactored),
            (true, Some(_)) => Ok(0.0),
            (true, None) => Ok(self
                .pivots
                .iter()
                .fold(f64::INFINITY, |least, p| least.min(p.abs()))),
        }
    }

    /// Estimates the condition number in the 1-norm from below; see [`crate::Lu::condition_1norm`].
    pub fn condition_1norm(&mut self) -> Result<f64, LinalgError> {
        if !self.factored {
            return Err(LinalgError::NotFactored);
        }
        if self.n() == 0 {
            return Ok(0.0);
        }
        if self.singular_step.is_some() {
            return Ok(f64::INFINITY);
        }
        let mut x = std::mem::take(&mut self.residual);
        let mut signs = std::mem::take(&mut self.rhs);
        let inverse_norm = estimate_inverse_norm(&mut x, &mut signs, |x, transposed| {
            self.raw_solve(x, transposed)
        });
        self.residual = x;
        self.rhs = signs;
        let condition = inverse_norm * self.norm_1;
        Ok(if condition.is_nan() {
            f64::INFINITY
        } else {
            condition
        })
    }

    /// Takes over the values and norms of a matrix.
    fn load(&mut self, a: &CscMat) -> Result<(), LinalgError> {
        self.factored = false;
        let n = self.n();
        expect_shape((n, n), (a.nrows, a.ncols))?;
        if a.col_ptr != self.matrix.col_ptr || a.row_idx != self.matrix.row_idx {
            return Err(LinalgError::Pattern);
        }
        self.matrix.values.copy_from_slice(&a.values);
        self.norm_1 = 0.0;
        self.residual.fill(0.0);
        for w in a.col_ptr.windows(2) {
            let (start, end) = (w[0] as usize, w[1] as usize);
            let mut sum = 0.0;
            for (&i, v) in a.row_idx[start..end].iter().zip(&a.values[start..end]) {
                sum += v.abs();
                self.residual[i as usize] += v.abs();
            }
            self.norm_1 = self.norm_1.max(sum);
        }
        self.norm_inf = norm_max(&self.residual);
        if all_finite(&a.values) && self.norm_1.is_finite() && self.norm_inf.is_finite() {
            Ok(())
        } else {
            Err(LinalgError::InputNotFinite)
        }
    }

    /// Lets faer choose the pivots for the loaded matrix and takes over the patterns of its factors.
    fn choose_pivots(&mut self) -> Result<(), LinalgError> {
        self.has_pivots = false;
        let n = self.n();
        if n > 0 {
            let a = &self.matrix;
            let symbolic = SymbolicSparseColMatRef::new_checked(n, n, &a.col_ptr, None, &a.row_idx);
            let outcome = factorize_simplicial_numeric_lu(
                &mut self.row_perm,
                &mut self.row_perm_inverse,
                &mut self.faer_lu,
                SparseColMatRef::new(symbolic, &a.values),
                PermRef::new_checked(&self.col_perm, &self.col_perm_inverse, n),
                self.scratch.stack(),
            );
            outcome.map_err(|error| match error {
                LuError::SymbolicSingular { index } => {
                    LinalgError::StructurallySingular { step: index }
                }
                LuError::Generic(_) => LinalgError::TooLarge,
            })?;
            self.lower.copy_pattern(self.faer_lu.l_factor_unsorted());
            self.upper.copy_pattern(self.faer_lu.u_factor_unsorted());
            // `residual` is free here and serves to mark visited rows.
            self.odd = parity(&self.row_perm, &mut self.residual)
                != parity(&self.col_perm, &mut self.residual);
        }
        self.has_pivots = true;
        Ok(())
    }

    /// Eliminates on the known pattern. False if a pivot is too small against its column, or a number is not finite.
    fn eliminate(&mut self, pivot_ratio: f64) -> bool {
        self.singular_step = None;
        for j in 0..self.n() {
            let column = self.col_perm[j] as usize;
            for p in self.matrix.col_ptr[column] as usize..self.matrix.col_ptr[column + 1] as usize
            {
                let row = self.row_perm_inverse[self.matrix.row_idx[p] as usize] as usize;
                self.spread[row] = self.matrix.values[p];
            }
            for p in self.upper.range(j) {
                let k = self.upper.idx[p] as usize;
                let value = std::mem::take(&mut self.spread[k]);
                self.upper.val[p] = value;
                self.lower.eliminate(k, value, &mut self.spread);
            }
            let pivot = std::mem::take(&mut self.spread[j]);
            self.pivots[j] = pivot;
            let mut largest = 0.0_f64;
            for p in self.lower.range(j) {
                let value = std::mem::take(&mut self.spread[self.lower.idx[p] as usize]);
                largest = if value.abs() > largest {
                    value.abs()
                } else {
                    largest
                };
                self.lower.val[p] = value / pivot;
            }
            if pivot == 0.0 || !pivot.is_finite() || pivot.abs() < pivot_ratio * largest {
                self.singular_step = Some(j);
                return false;
            }
        }
        true
    }

    fn finish(&mut self, pivoting: Pivoting) -> Result<Pivoting, LinalgError> {
        if let Some(step) = self.singular_step {
            if self.pivots[step] != 0.0 {
                return Err(LinalgError::ResultNotFinite);
            }
            // Pivots chosen around a zero are no good for the next matrix.
            self.has_pivots = false;
        }
        self.factored = true;
        Ok(pivoting)
    }

    fn ready(&self) -> Result<(), LinalgError> {
        match (self.factored, self.singular_step) {
            (false, _) => Err(LinalgError::NotFactored),
            (true, Some(step)) => Err(LinalgError::Singular { step }),
            (true, None) => Ok(()),
        }
    }

    fn solve_either(&mut self, b: &mut [f64], transposed: bool) -> Result<Solved, LinalgError> {
        self.ready()?;
        expect_shape((self.n(), 1), (b.len(), 1))?;
        let rhs_norm = norm_max(b);
        if !rhs_norm.is_finite() {
            return Err(LinalgError::InputNotFinite);
        }
        let tolerance = residual_tolerance(self.n());
        let mut residual = std::mem::take(&mut self.residual);
        let mut rhs = std::mem::take(&mut self.rhs);
        rhs.copy_from_slice(b);
        self.raw_solve(b, transposed);
        let mut outcome = self.residual_into(b, transposed, &rhs, rhs_norm, &mut residual);
        let mut refined = false;
        if outcome.is_ok_and(|error| error > tolerance) {
            refined = true;
            self.raw_solve(&mut residual, transposed);
            for (x, dx) in b.iter_mut().zip(&residual) {
                *x += dx;
            }
            outcome = self.residual_into(b, transposed, &rhs, rhs_norm, &mut residual);
        }
        let outcome = match outcome {
            Ok(backward_error) if backward_error <= tolerance => Ok(Solved {
                backward_error,
                refined,
            }),
            Ok(backward_error) => Err(LinalgError::Residual {
                backward_error,
                tolerance,
            }),
            Err(error) => Err(error),
        };
        if outcome.is_err() {
            b.copy_from_slice(&rhs);
        }
        self.residual = residual;
        self.rhs = rhs;
        outcome
    }

    /// Forms b - A x and returns the backward error.
    fn residual_into(
        &self,
        x: &[f64],
        transposed: bool,
        rhs: &[f64],
        rhs_norm: f64,
        residual: &mut [f64],
    ) -> Result<f64, LinalgError> {
        let a = &self.matrix;
        residual.copy_from_slice(rhs);
        if transposed {
            for (w, r) in a.col_ptr.windows(2).zip(residual.iter_mut()) {
                let (start, end) = (w[0] as usize, w[1] as usize);
                for (&i, v) in a.row_idx[start..end].iter().zip(&a.values[start..end]) {
                    *r -= v * x[i as usize];
                }
            }
        } else {
            add_product(&a.col_ptr, &a.row_idx, &a.values, x, -1.0, residual);
        }
        let (x_norm, size) = (norm_max(x), norm_max(residual));
        if !(x_norm.is_finite() && size.is_finite()) {
            return Err(LinalgError::ResultNotFinite);
        }
        let norm = if transposed {
            self.norm_1
        } else {
            self.norm_inf
        };
        Ok(backward_error(size, norm, x_norm, rhs_norm))
    }

    /// Solves with the factors, unchecked. `spread` is the buffer and left at zero.
    fn raw_solve(&mut self, x: &mut [f64], transposed: bool) {
        let n = self.n();
        let mut y = std::mem::take(&mut self.spread);
        if transposed {
            for (target, &p) in y.iter_mut().zip(&self.col_perm) {
                *target = x[p as usize];
            }
            for j in 0..n {
                y[j] = (y[j] - self.upper.column_dot(j, &y)) / self.pivots[j];
            }
            for j in (0..n).rev() {
                y[j] -= self.lower.column_dot(j, &y);
            }
            for (value, &p) in x.iter_mut().zip(&self.row_perm_inverse) {
                *value = y[p as usize];
            }
        } else {
            for (target, &p) in y.iter_mut().zip(&self.row_perm) {
                *target = x[p as usize];
            }
            for j in 0..n {
                self.lower.eliminate(j, y[j], &mut y);
            }
            for j in (0..n).rev() {
                y[j] /= self.pivots[j];
                self.upper.eliminate(j, y[j], &mut y);
            }
            for (value, &p) in x.iter_mut().zip(&self.col_perm_inverse) {
                *value = y[p as usize];
            }
        }
        y.fill(0.0);
        self.spread = y;
    }
}

/// True for an odd permutation. `visited` is scratch space of the same length.
fn parity(perm: &[u32], visited: &mut [f64]) -> bool {
    visited.fill(0.0);
    let mut odd = false;
    for start in 0..perm.len() {
        let mut i = start;
        let mut length = 0;
        while visited[i] == 0.0 {
            visited[i] = 1.0;
            i = perm[i] as usize;
            length += 1;
        }
        odd ^= length > 0 && length % 2 == 0;
    }
    odd
}
