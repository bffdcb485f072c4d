//! LU factorisation with partial pivoting: solve square systems, size up determinants and condition.
//!
//! P A = L U with rows exchanged so that the largest entry of each column becomes the pivot (Higham 2002, chapter 9).
//! Below [`CROSSOVER`] a left-looking loop works column by column, from there on faer's blocked factorisation.

use crate::condition::estimate_inverse_norm;
use crate::dense::expect_shape;
use crate::error::{backward_error, residual_tolerance};
use crate::kernels::{all_finite, axpy, dot, norm_max, vectorised};
use crate::lu_loops::{eliminate, factor_by_columns, norms, substitute_back, subtract_product};
use crate::scratch::Scratch;
use crate::{LinalgError, Mat, MatMut, MatRef, Solved};
use faer::Par;
use faer::dyn_stack::StackReq;
use faer::linalg::lu::partial_pivoting::{factor as faer_factor, solve as faer_solve};
use faer::perm::PermRef;

/// Size from which faer's factorisation is used.
///
/// `examples/crossover.rs` on one core of an AMD EPYC with AVX2, November 2026: time of the loop over time of faer 0.67 at
/// n = 16, 0.79 at 30, 0.84 at 48, 0.92 at 64, 0.94 at 80, 0.95 to 1.3 at 96. Compiled without
/// AVX2 the loop draws level at n = 48.
pub const CROSSOVER: usize = 96;

/// Number of unknowns and of right-hand sides from which faer solves several at once.
///
/// Measured there for 16 right-hand sides: 0.80 against 1.5 microseconds one by one at n = 4, 2.4 against 3.4 at 16.
const CROSSOVER_MANY: usize = 4;

/// Right-hand sides are solved by faer in blocks of this many, so that the workspace has a fixed size.
const RHS_BLOCK: usize = 16;

/// A determinant as sign and logarithm, which neither overflows nor underflows.
///
/// For a matrix with a zero pivot the sign is 0 and the logarithm is minus infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogDet {
    /// 1, -1 or 0.
    pub sign: f64,
    /// Natural logarithm of the absolute determinant.
    pub log_abs: f64,
}

impl LogDet {
    /// The determinant as a plain number, which may overflow.
    pub fn value(&self) -> f64 {
        if self.sign == 0.0 {
            0.0
        } else {
            self.sign * self.log_abs.exp()
        }
    }

    /// Collects a determinant from its pivots.
    pub(crate) fn from_pivots(odd: bool, pivots: impl Iterator<Item = f64>) -> Self {
        let mut sign = if odd { -1.0 } else { 1.0 };
        let mut log_abs = 0.0;
        for pivot in pivots {
            sign *= if pivot == 0.0 { 0.0 } else { pivot.signum() };
            log_abs += pivot.abs().ln();
        }
        Self { sign, log_abs }
    }
}

/// Factors square matrices and solves with them, without allocating after the first matrix of a size.
///
/// The object is the workspace: keep it and factor again. Every solve is checked (see [`Lu::solve`]).
///
/// ```
/// use daelight_linalg::{Lu, Mat};
/// let a = Mat::from_rows(&[&[0.0, 2.0], &[4.0, 1.0]]);
/// let mut lu = Lu::with_capacity(2);
/// lu.factor(a.view())?;
/// let mut x = [2.0, 5.0];
/// lu.solve(&mut x)?;
/// assert_eq!(x, [1.0, 1.0]);
/// assert_eq!(lu.log_det()?.sign, -1.0);
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
#[derive(Debug, Default)]
pub struct Lu {
    /// The matrix itself, for the residual.
    matrix: Mat,
    /// L below the diagonal (its unit diagonal is not stored), U on and above it.
    packed: Mat,
    /// Row `perm[i]` of the matrix is row i of the factors.
    perm: Vec<usize>,
    perm_inverse: Vec<usize>,
    odd: bool,
    /// First step with a zero pivot.
    singular_step: Option<usize>,
    norm_inf: f64,
    norm_1: f64,
    factored: bool,
    rhs: Vec<f64>,
    work: Vec<f64>,
    signs: Vec<f64>,
    block: Mat,
    scratch: Scratch,
}

impl Lu {
    /// An empty workspace; the first `factor` allocates.
    pub fn new() -> Self {
        Self::default()
    }

    /// A workspace that factors and solves up to `n` unknowns without allocating.
    pub fn with_capacity(n: usize) -> Self {
        let mut lu = Self::default();
        lu.resize(n);
        lu
    }

    fn resize(&mut self, n: usize) {
        self.matrix.reshape(n, n);
        self.packed.reshape(n, n);
        self.perm.resize(n, 0);
        self.perm_inverse.resize(n, 0);
        self.rhs.resize(n, 0.0);
        self.work.resize(n, 0.0);
        self.signs.resize(n, 0.0);
        if n >= CROSSOVER.min(CROSSOVER_MANY) {
            self.block.reshape(n, RHS_BLOCK);
            let factor =
                faer_factor::lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, Default::default());
            let solve = faer_solve::solve_in_place_scratch::<usize, f64>(n, RHS_BLOCK, Par::Seq);
            self.scratch.reserve(StackReq::or(factor, solve));
        }
    }

    /// Factors a square matrix. A zero pivot is not an error here (see [`Lu::smallest_pivot`]); solving with it is.
    pub fn factor(&mut self, a: MatRef<'_>) -> Result<(), LinalgError> {
        self.factor_with(a, a.nrows() >= CROSSOVER)
    }

    /// Factors with a forced choice between the plain loop and faer. For measuring the crossover and for tests.
    #[doc(hidden)]
    pub fn factor_with(&mut self, a: MatRef<'_>, use_faer: bool) -> Result<(), LinalgError> {
        self.factored = false;
        let n = a.nrows();
        expect_shape((n, n), (n, a.ncols()))?;
        self.resize(n);
        self.matrix.assign(a);
        // Norms first: they also notice every entry that is not finite.
        (self.norm_1, self.norm_inf) = norms(self.matrix.view(), &mut self.work);
        if !(self.norm_1.is_finite() && self.norm_inf.is_finite()) {
            return Err(LinalgError::InputNotFinite);
        }
        self.packed.assign(self.matrix.view());
        if use_faer {
            if n < CROSSOVER {
                self.scratch
                    .reserve(faer_factor::lu_in_place_scratch::<usize, f64>(
                        n,
                        n,
                        Par::Seq,
                        Default::default(),
                    ));
            }
            let packed =
                faer::MatMut::from_column_major_slice_mut(self.packed.as_mut_slice(), n, n);
            let (info, _) = faer_factor::lu_in_place(
                packed,
                &mut self.perm,
                &mut self.perm_inverse,
                Par::Seq,
                self.scratch.stack(),
                Default::default(),
            );
            self.odd = info.transposition_count % 2 == 1;
        } else {
            self.odd = factor_by_columns(self.packed.as_mut_slice(), n, &mut self.perm);
            for (i, &p) in self.perm.iter().enumerate() {
                self.perm_inverse[p] = i;
            }
        }
        self.singular_step = (0..n).find(|&k| self.packed[(k, k)] == 0.0);
        // What faer leaves behind a zero pivot is meaningless, so there only the pivots up to it must be finite.
        let finite = match self.singular_step {
            None => all_finite(self.packed.as_slice()),
            Some(step) => (0..step).all(|k| self.packed[(k, k)].is_finite()),
        };
        if !finite {
            return Err(LinalgError::ResultNotFinite);
        }
        self.factored = true;
        Ok(())
    }

    /// Size of the factored matrix.
    pub fn n(&self) -> usize {
        self.packed.nrows()
    }

    /// Solves A x = b in place and checks the answer.
    ///
    /// Accepts a backward error (see [`Solved`]) of at most 1000 n u with n counted up to 64, if necessary after one step of
    /// iterative refinement; otherwise `b` stays as it was and the error says why. A matrix that is singular up to rounding
    /// still passes, with a huge but consistent x: ask [`Lu::condition_1norm`].
    pub fn solve(&mut self, b: &mut [f64]) -> Result<Solved, LinalgError> {
        self.solve_either(b, false)
    }

    /// Solves A x = b in place without a look at what came out: for callers that saw with one solution that the factors are good.
    pub fn solve_unchecked(&mut self, b: &mut [f64]) -> Result<(), LinalgError> {
        self.ready()?;
        expect_shape((self.n(), 1), (b.len(), 1))?;
        solve_alone(self, b);
        Ok(())
    }

    /// Solves A^T x = b in place. Checked like [`Lu::solve`].
    pub fn solve_transpose(&mut self, b: &mut [f64]) -> Result<Solved, LinalgError> {
        self.solve_either(b, true)
    }

    /// Solves A X = B in place, all columns; each is checked like in [`Lu::solve`].
    ///
    /// On error each column holds either its checked solution or what it held before, and the failing one and all behind it
    /// hold the latter.
    pub fn solve_many(&mut self, mut b: MatMut<'_>) -> Result<Solved, LinalgError> {
        self.ready()?;
        let n = self.n();
        expect_shape((n, b.ncols()), (b.nrows(), b.ncols()))?;
        let mut total = Solved {
            backward_error: 0.0,
            refined: false,
        };
        let mut start = 0;
        while start < b.ncols() {
            let left = b.ncols() - start;
            let width = if n.min(left) >= CROSSOVER_MANY {
                left.min(RHS_BLOCK)
            } else {
                1
            };
            if width == 1 {
                total.include(self.solve_either(b.col_mut(start), false)?);
            } else {
                self.solve_block(b.cols_mut(start, width), &mut total)?;
            }
            start += width;
        }
        Ok(total)
    }

    /// Solves a few columns at once with faer, then checks them one by one.
    fn solve_block(&mut self, mut b: MatMut<'_>, total: &mut Solved) -> Result<(), LinalgError> {
        let (n, width) = (b.nrows(), b.ncols());
        let mut saved = std::mem::take(&mut self.block);
        saved.assign(b.view());
        let mut outcome = if b.view().is_finite() {
            Ok(())
        } else {
            Err(LinalgError::InputNotFinite)
        };
        if outcome.is_ok() {
            let packed = faer::MatRef::from_column_major_slice(self.packed.as_slice(), n, n);
            let perm = PermRef::new_checked(&self.perm, &self.perm_inverse, n);
            faer_solve::solve_in_place(
                packed,
                packed,
                perm,
                b.reborrow().into_faer(),
                Par::Seq,
                self.scratch.stack(),
            );
        }
        let mut n_good = 0;
        let mut residual = std::mem::take(&mut self.work);
        while outcome.is_ok() && n_good < width {
            let (x, rhs) = (b.col_mut(n_good), saved.col(n_good));
            match check(self, x, rhs, &mut residual) {
                Ok(solved) => {
                    total.include(solved);
                    n_good += 1;
                }
                Err(error) => outcome = Err(error),
            }
        }
        self.work = residual;
        for j in n_good..width {
            b.col_mut(j).copy_from_slice(saved.col(j));
        }
        self.block = saved;
        outcome
    }

    /// Pivots of the elimination, the diagonal of U.
    pub fn pivots(&self) -> Result<impl Iterator<Item = f64> + '_, LinalgError> {
        if !self.factored {
            return Err(LinalgError::NotFactored);
        }
        let stop = self.singular_step.unwrap_or(self.n());
        Ok((0..self.n()).map(move |k| if k <= stop { self.packed[(k, k)] } else { 0.0 }))
    }

    /// Smallest absolute pivot; zero for a singular matrix, infinite for an empty one.
    ///
    /// A cheap sign of trouble, not a distance to singularity: triangular factors can hide it (Higham 2002, section 8.3).
    pub fn smallest_pivot(&self) -> Result<f64, LinalgError> {
        Ok(self.pivots()?.map(f64::abs).fold(f64::INFINITY, f64::min))
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
        Ok(LogDet::from_pivots(self.odd, self.pivots()?))
    }

    /// Estimates the condition number ‖A‖ ‖A⁻¹‖ in the 1-norm; infinite for a singular matrix, 0 for an empty one.
    ///
    /// A lower bound, in practice within a factor of 3 (Higham 1988, algorithm 2.4 of Hager's method with the alternating
    /// vector as safeguard). Costs a handful of solves.
    pub fn condition_1norm(&mut self) -> Result<f64, LinalgError> {
        if !self.factored {
            return Err(LinalgError::NotFactored);
        }
        let n = self.n();
        if n == 0 {
            return Ok(0.0);
        }
        if self.singular_step.is_some() {
            return Ok(f64::INFINITY);
        }
        let mut x = std::mem::take(&mut self.work);
        let mut signs = std::mem::take(&mut self.signs);
        let inverse_norm = estimate_inverse_norm(&mut x, &mut signs, |x, transposed| {
            if transposed {
                self.raw_solve_transpose(x)
            } else {
                self.raw_solve(x)
            }
        });
        self.work = x;
        self.signs = signs;
        let condition = inverse_norm * self.norm_1;
        Ok(if condition.is_nan() {
            f64::INFINITY
        } else {
            condition
        })
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
        let n = self.n();
        expect_shape((n, 1), (b.len(), 1))?;
        let rhs_norm = norm_max(b);
        if !rhs_norm.is_finite() {
            return Err(LinalgError::InputNotFinite);
        }
        let mut rhs = std::mem::take(&mut self.signs);
        let mut residual = std::mem::take(&mut self.work);
        rhs.copy_from_slice(b);
        let outcome = solve_and_check(self, b, transposed, &rhs, rhs_norm, &mut residual);
        if outcome.is_err() {
            b.copy_from_slice(&rhs);
        }
        self.signs = rhs;
        self.work = residual;
        outcome
    }

    /// Accepts a solution, or improves it once and looks again.
    #[inline(always)]
    fn check_and_refine(
        &mut self,
        x: &mut [f64],
        transposed: bool,
        rhs: &[f64],
        rhs_norm: f64,
        residual: &mut [f64],
    ) -> Result<Solved, LinalgError> {
        let tolerance = residual_tolerance(x.len());
        let norm = if transposed {
            self.norm_1
        } else {
            self.norm_inf
        };
        let first = self.residual_into(x, transposed, rhs, rhs_norm, norm, residual)?;
        if first <= tolerance {
            return Ok(Solved {
                backward_error: first,
                refined: false,
            });
        }
        if transposed {
            self.raw_solve_transpose(residual)
        } else {
            self.raw_solve(residual)
        }
        axpy(x, 1.0, residual);
        let second = self.residual_into(x, transposed, rhs, rhs_norm, norm, residual)?;
        if second <= tolerance {
            Ok(Solved {
                backward_error: second,
                refined: true,
            })
        } else {
            Err(LinalgError::Residual {
                backward_error: second,
                tolerance,
            })
        }
    }

    /// Forms b - A x and returns the backward error.
    #[inline(always)]
    fn residual_into(
        &self,
        x: &[f64],
        transposed: bool,
        rhs: &[f64],
        rhs_norm: f64,
        norm: f64,
        residual: &mut [f64],
    ) -> Result<f64, LinalgError> {
        let x_norm = norm_max(x);
        if !x_norm.is_finite() {
            return Err(LinalgError::ResultNotFinite);
        }
        residual.copy_from_slice(rhs);
        if transposed {
            for (j, r) in residual.iter_mut().enumerate() {
                *r -= dot(self.matrix.col(j), x);
            }
        } else {
            subtract_product(self.matrix.as_slice(), x, residual);
        }
        let size = norm_max(residual);
        if !size.is_finite() {
            return Err(LinalgError::ResultNotFinite);
        }
        Ok(backward_error(size, norm, x_norm, rhs_norm))
    }

    /// Solves with the factors, unchecked.
    #[inline(always)]
    fn raw_solve(&mut self, x: &mut [f64]) {
        let n = x.len();
        for (target, &p) in self.rhs.iter_mut().zip(&self.perm) {
            *target = x[p];
        }
        x.copy_from_slice(&self.rhs);
        let packed = self.packed.as_slice();
        eliminate(packed, n, x);
        substitute_back(packed, n, x);
    }

    /// Solves with the transposed factors, unchecked.
    #[inline(always)]
    fn raw_solve_transpose(&mut self, x: &mut [f64]) {
        let n = x.len();
        let packed = self.packed.as_slice();
        for k in 0..n {
            let (head, tail) = x.split_at_mut(k);
            tail[0] = (tail[0] - dot(head, &packed[k * n..k * n + k])) / packed[k * n + k];
        }
        for k in (0..n).rev() {
            let (head, tail) = x.split_at_mut(k + 1);
            head[k] -= dot(tail, &packed[k * n + k + 1..(k + 1) * n]);
        }
        for (&p, &v) in self.perm.iter().zip(x.iter()) {
            self.rhs[p] = v;
        }
        x.copy_from_slice(&self.rhs);
    }

    /// The factors and the row permutation, as (L, U, p) with row `p[i]` of A equal to row i of L U. Allocates.
    pub fn factors(&self) -> Result<(Mat, Mat, Vec<usize>), LinalgError> {
        if !self.factored {
            return Err(LinalgError::NotFactored);
        }
        let n = self.n();
        let lower = Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Greater => self.packed[(i, j)],
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Less => 0.0,
        });
        let upper = Mat::from_fn(n, n, |i, j| if i <= j { self.packed[(i, j)] } else { 0.0 });
        Ok((lower, upper, self.perm.clone()))
    }
}

vectorised! {
    /// Checks a solution of A x = b found elsewhere.
    fn check<'a>(
        lu: &'a mut Lu,
        x: &'a mut [f64],
        rhs: &'a [f64],
        residual: &'a mut [f64],
    ) -> Result<Solved, LinalgError> {
        lu.check_and_refine(x, false, rhs, norm_max(rhs), residual)
    }
}

vectorised! {
    /// Solves.
    fn solve_alone<'a>(lu: &'a mut Lu, x: &'a mut [f64]) -> () {
        lu.raw_solve(x)
    }
}

vectorised! {
    /// Solves and checks.
    fn solve_and_check<'a>(
        lu: &'a mut Lu,
        x: &'a mut [f64],
        transposed: bool,
        rhs: &'a [f64],
        rhs_norm: f64,
        residual: &'a mut [f64],
    ) -> Result<Solved, LinalgError> {
        if transposed { lu.raw_solve_transpose(x) } else { lu.raw_solve(x) }
        lu.check_and_refine(x, transposed, rhs, rhs_norm, residual)
    }
}
