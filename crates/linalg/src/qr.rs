//! QR factorisation with column pivoting: ranks from pivots, bases of range and null spaces, least squares.
//!
//! A P = Q R with the largest remaining column first, so the diagonal of R falls in size and shows the rank (Businger and
//! Golub 1965). The pivots can miss a rank by a constructed example (Kahan 1966); where a rank matters, [`crate::Svd`]
//! decides. For a given rank r the complete orthogonal decomposition A P = Q [T 0; 0 0] Z adds the kernel and the
//! shortest least-squares solution (Golub and Van Loan 2013, section 5.4.7).

use crate::dense::expect_shape;
use crate::error::{backward_error, residual_tolerance};
use crate::kernels::{all_finite, axpy, dot, norm_2, norm_max, vectorised};
use crate::scratch::Scratch;
use crate::{LinalgError, Magnitudes, Mat, MatMut, MatRef, RankDecision, RankRule, Solved};
use faer::Par;
use faer::linalg::qr::col_pivoting::factor as faer_factor;

/// Number of columns (or rows, if fewer) from which faer's factorisation is used.
///
/// `examples/crossover.rs` on one core of an AMD EPYC with AVX2, November 2026: time of the loop over time of faer 0.70 at
/// n = 8, 0.81 at 16, 0.79 at 30, 0.96 at 32, 1.02 at 36, 1.05 at 40, 1.24 at 64.
pub const CROSSOVER: usize = 40;

/// Factors matrices of any shape, without allocating after the first matrix of a size.
///
/// ```
/// use daelight_linalg::{Mat, Qr};
/// // Two equal columns: the rank is 1 and the kernel is (1, -1).
/// let a = Mat::from_rows(&[&[1.0, 1.0], &[2.0, 2.0], &[2.0, 2.0]]);
/// let mut qr = Qr::new();
/// qr.factor(a.view())?;
/// let mut kernel = Mat::zeros(2, 1);
/// qr.kernel_basis(1, kernel.view_mut())?;
/// assert!((kernel[(0, 0)] + kernel[(1, 0)]).abs() < 1e-15);
/// // The shortest x with A x = b.
/// let mut x = [0.0; 2];
/// qr.least_squares(1, &[3.0, 6.0, 6.0], &mut x)?;
/// assert!((x[0] - 1.5).abs() < 1e-15 && (x[1] - 1.5).abs() < 1e-15);
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
#[derive(Debug, Default)]
pub struct Qr {
    /// The matrix itself, for the residual.
    matrix: Mat,
    /// R on and above the diagonal; below it the reflectors without their leading 1.
    packed: Mat,
    /// Reflector k is I - beta[k] v v^T.
    beta: Vec<f64>,
    /// Column `perm[j]` of the matrix is column j of Q R.
    perm: Vec<usize>,
    perm_inverse: Vec<usize>,
    /// Norms of what is left of the columns, now and when last computed afresh.
    norms: Vec<[f64; 2]>,
    /// The first `cod_rank` rows of R made triangular from the right; reflectors in the last columns.
    cod: Mat,
    cod_beta: Vec<f64>,
    cod_rank: Option<usize>,
    rhs: Vec<f64>,
    work: Vec<f64>,
    norm: f64,
    factored: bool,
    scratch: Scratch,
}

impl Qr {
    /// An empty workspace; the first `factor` allocates.
    pub fn new() -> Self {
        Self::default()
    }

    /// A workspace that serves matrices of up to this size without allocating.
    pub fn with_capacity(nrows: usize, ncols: usize) -> Self {
        let mut qr = Self::default();
        qr.resize(nrows, ncols);
        qr
    }

    /// Makes room for matrices of this size.
    pub(crate) fn reserve(&mut self, nrows: usize, ncols: usize) {
        if (nrows, ncols) != (self.nrows(), self.ncols()) {
            self.factored = false;
            self.resize(nrows, ncols);
        }
    }

    /// Writes R^T of a matrix that is not wider than high; `out` is square.
    pub(crate) fn r_transpose_into(&self, out: &mut Mat) {
        let n = self.ncols();
        for j in 0..n {
            for i in 0..n {
                out[(i, j)] = if i >= j { self.packed[(j, i)] } else { 0.0 };
            }
        }
    }

    fn resize(&mut self, m: usize, n: usize) {
        self.matrix.reshape(m, n);
        self.packed.reshape(m, n);
        self.cod.reshape(m.min(n), n);
        self.beta.resize(m.min(n), 0.0);
        self.cod_beta.resize(m.min(n), 0.0);
        self.perm.resize(n, 0);
        self.perm_inverse.resize(n, 0);
        self.norms.resize(n, [0.0; 2]);
        self.rhs.resize(m.max(n), 0.0);
        self.work.resize(m.max(n), 0.0);
        if m.min(n) >= CROSSOVER {
            self.reserve_faer(m, n);
        }
    }

    fn reserve_faer(&mut self, m: usize, n: usize) {
        let request =
            faer_factor::qr_in_place_scratch::<usize, f64>(m, n, 1, Par::Seq, Default::default());
        self.scratch.reserve(request);
    }

    /// Factors a matrix of any shape.
    pub fn factor(&mut self, a: MatRef<'_>) -> Result<(), LinalgError> {
        self.factor_with(a, a.nrows().min(a.ncols()) >= CROSSOVER)
    }

    /// Factors with a forced choice between the plain loop and faer. For measuring the crossover and for tests.
    #[doc(hidden)]
    pub fn factor_with(&mut self, a: MatRef<'_>, use_faer: bool) -> Result<(), LinalgError> {
        self.factored = false;
        self.cod_rank = None;
        let (m, n) = (a.nrows(), a.ncols());
        self.norm = a.norm_frobenius();
        if !self.norm.is_finite() {
            return Err(LinalgError::InputNotFinite);
        }
        self.resize(m, n);
        self.matrix.assign(a);
        self.packed.assign(a);
        let by_faer = use_faer && m > 0 && n > 0 && self.factor_by_faer();
        if !by_faer {
            self.packed.assign(a);
            let (packed, beta) = (&mut self.packed, &mut self.beta);
            factor_by_columns(packed, beta, &mut self.perm, &mut self.norms);
        }
        if !all_finite(self.packed.as_slice()) || !all_finite(&self.beta) {
            return Err(LinalgError::ResultNotFinite);
        }
        self.factored = true;
        Ok(())
    }

    /// Lets faer factor the packed matrix. False if the result is not finite, which happens for a matrix of zeros.
    fn factor_by_faer(&mut self) -> bool {
        let (m, n) = (self.nrows(), self.ncols());
        if m.min(n) < CROSSOVER {
            self.reserve_faer(m, n);
        }
        // With block size 1 faer leaves plain reflectors, so everything below serves both factorisations.
        faer_factor::qr_in_place(
            self.packed.view_mut().into_faer(),
            faer::MatMut::from_column_major_slice_mut(&mut self.beta, 1, m.min(n)),
            &mut self.perm,
            &mut self.perm_inverse,
            Par::Seq,
            self.scratch.stack(),
            Default::default(),
        );
        for beta in &mut self.beta {
            *beta = 1.0 / *beta;
        }
        all_finite(self.packed.as_slice()) && all_finite(&self.beta)
    }

    /// Number of rows of the factored matrix.
    pub fn nrows(&self) -> usize {
        self.packed.nrows()
    }

    /// Number of columns of the factored matrix.
    pub fn ncols(&self) -> usize {
        self.packed.ncols()
    }

    /// Column `permutation()[j]` of the matrix stands at position j: the columns in order of importance.
    pub fn permutation(&self) -> Result<&[usize], LinalgError> {
        self.ready()?;
        Ok(&self.perm)
    }

    /// Absolute pivots |R(k, k)|, which never grow by more than rounding.
    pub fn pivots(&self) -> Result<impl Iterator<Item = f64> + '_, LinalgError> {
        self.ready()?;
        Ok((0..self.beta.len()).map(|k| self.packed[(k, k)].abs()))
    }

    /// Decides the rank from the pivots by a rule; allocates the list it returns.
    ///
    /// Pivots overestimate the small singular values by up to a factor growing with n, about 3 on the matrices of
    /// `docs/theory/indices.md`.
    pub fn rank(&self, rule: &impl RankRule) -> RankDecision {
        match self.pivots() {
            Ok(pivots) => rule.decide(pivots.collect(), Magnitudes::Pivots),
            Err(_) => RankDecision::not_finite(Magnitudes::Pivots),
        }
    }

    /// Overwrites a vector of length `nrows` by Q times it.
    pub fn apply_q(&self, x: &mut [f64]) -> Result<(), LinalgError> {
        self.ready()?;
        expect_shape((self.nrows(), 1), (x.len(), 1))?;
        for k in (0..self.beta.len()).rev() {
            reflect(&self.packed.col(k)[k + 1..], self.beta[k], &mut x[k..]);
        }
        Ok(())
    }

    /// Overwrites a vector of length `nrows` by Q^T times it.
    pub(crate) fn apply_q_transpose(&self, x: &mut [f64]) -> Result<(), LinalgError> {
        self.ready()?;
        expect_shape((self.nrows(), 1), (x.len(), 1))?;
        for k in 0..self.beta.len() {
            reflect(&self.packed.col(k)[k + 1..], self.beta[k], &mut x[k..]);
        }
        Ok(())
    }

    /// Writes columns `first..` of the square matrix Q, as many as `out` has.
    ///
    /// With rank r, columns 0..r are an orthonormal basis of the range, the others of the left null space.
    pub fn q_columns(&self, first: usize, mut out: MatMut<'_>) -> Result<(), LinalgError> {
        self.ready()?;
        let m = self.nrows();
        let count = out.ncols();
        expect_shape(
            (m, count.min(m.saturating_sub(first))),
            (out.nrows(), count),
        )?;
        for j in 0..count {
            let column = out.col_mut(j);
            column.fill(0.0);
            column[first + j] = 1.0;
            self.apply_q(column)?;
        }
        Ok(())
    }

    /// Writes an orthonormal basis of the range for rank r; `out` is `nrows` x r.
    pub fn range_basis(&self, rank: usize, out: MatMut<'_>) -> Result<(), LinalgError> {
        self.expect_rank(rank)?;
        expect_shape((self.nrows(), rank), (out.nrows(), out.ncols()))?;
        self.q_columns(0, out)
    }

    /// Writes an orthonormal basis of the vectors y with y^T A = 0 for rank r; `out` is `nrows` x (`nrows` - r).
    pub fn left_null_basis(&self, rank: usize, out: MatMut<'_>) -> Result<(), LinalgError> {
        self.expect_rank(rank)?;
        expect_shape(
            (self.nrows(), self.nrows() - rank),
            (out.nrows(), out.ncols()),
        )?;
        self.q_columns(rank, out)
    }

    /// Writes an orthonormal basis of the vectors x with A x = 0 for rank r; `out` is `ncols` x (`ncols` - r).
    pub fn kernel_basis(&mut self, rank: usize, mut out: MatMut<'_>) -> Result<(), LinalgError> {
        self.complete(rank)?;
        let n = self.ncols();
        expect_shape((n, n - rank), (out.nrows(), out.ncols()))?;
        for j in 0..n - rank {
            self.work[..n].fill(0.0);
            self.work[rank + j] = 1.0;
            self.apply_z_transpose(rank);
            for (&p, &v) in self.perm.iter().zip(&self.work) {
                out.set(p, j, v);
            }
        }
        Ok(())
    }

    /// Finds the shortest x that minimises ‖b - A x‖, taking the rank as r, and checks it.
    ///
    /// What lies beyond the rank is taken as zero. The check asks that the result is finite and that the part of the
    /// residual inside the range, Q1^T (b - A x), is small against ‖A‖ ‖x‖ + ‖b‖: a backward error of the least-squares
    /// problem. On error `x` holds nothing of use.
    pub fn least_squares(
        &mut self,
        rank: usize,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, LinalgError> {
        self.complete(rank)?;
        let (m, n) = (self.nrows(), self.ncols());
        expect_shape((m, n), (b.len(), x.len()))?;
        let rhs_norm = norm_2(b);
        if !rhs_norm.is_finite() {
            return Err(LinalgError::InputNotFinite);
        }
        if let Some(step) = (0..rank).find(|&k| self.cod[(k, k)] == 0.0) {
            return Err(LinalgError::Singular { step });
        }
        let tolerance = residual_tolerance(m.max(n));
        let mut rhs = std::mem::take(&mut self.rhs);
        rhs[..m].copy_from_slice(b);
        x.fill(0.0);
        let mut outcome = Err(LinalgError::ResultNotFinite);
        // The second round is a step of refinement.
        for round in 0..2 {
            self.apply_q_transpose(&mut rhs[..m])?;
            for k in (0..rank).rev() {
                rhs[k] /= self.cod[(k, k)];
                let (head, tail) = rhs.split_at_mut(k);
                axpy(head, -tail[0], &self.cod.col(k)[..k]);
            }
            self.work[..rank].copy_from_slice(&rhs[..rank]);
            self.work[rank..n].fill(0.0);
            self.apply_z_transpose(rank);
            for (&p, &v) in self.perm.iter().zip(&self.work) {
                x[p] += v;
            }
            let x_norm = norm_2(x);
            if !x_norm.is_finite() {
                break;
            }
            rhs[..m].copy_from_slice(b);
            for (j, &xj) in x.iter().enumerate() {
                axpy(&mut rhs[..m], -xj, self.matrix.col(j));
            }
            self.work[..m].copy_from_slice(&rhs[..m]);
            let mut inside = std::mem::take(&mut self.work);
            self.apply_q_transpose(&mut inside[..m])?;
            let size = norm_max(&inside[..rank]);
            self.work = inside;
            if !size.is_finite() {
                break;
            }
            let error = backward_error(size, self.norm, x_norm, rhs_norm);
            outcome = if error <= tolerance {
                Ok(Solved {
                    backward_error: error,
                    refined: round == 1,
                })
            } else {
                Err(LinalgError::Residual {
                    backward_error: error,
                    tolerance,
                })
            };
            if outcome.is_ok() {
                break;
            }
        }
        self.rhs = rhs;
        outcome
    }

    /// The upper triangular (or trapezoidal) factor R, `min(nrows, ncols)` x `ncols`. Allocates.
    pub fn r(&self) -> Result<Mat, LinalgError> {
        self.ready()?;
        Ok(Mat::from_fn(self.beta.len(), self.ncols(), |i, j| {
            if i <= j { self.packed[(i, j)] } else { 0.0 }
        }))
    }

    fn ready(&self) -> Result<(), LinalgError> {
        if self.factored {
            Ok(())
        } else {
            Err(LinalgError::NotFactored)
        }
    }

    fn expect_rank(&self, rank: usize) -> Result<(), LinalgError> {
        self.ready()?;
        if rank <= self.beta.len() {
            return Ok(());
        }
        Err(LinalgError::Shape {
            expected: (self.beta.len(), self.beta.len()),
            found: (rank, rank),
        })
    }

    /// Zeroes the columns behind the rank in the first `rank` rows of R by reflectors from the right.
    fn complete(&mut self, rank: usize) -> Result<(), LinalgError> {
        self.expect_rank(rank)?;
        if self.cod_rank == Some(rank) {
            return Ok(());
        }
        let n = self.ncols();
        for j in 0..n {
            let rows = rank.min(j + 1);
            for i in 0..rank {
                self.cod[(i, j)] = if i < rows { self.packed[(i, j)] } else { 0.0 };
            }
        }
        for k in (0..rank).rev() {
            // Row k is nonzero at k and from `rank` on; mix those columns so that only the first is left.
            let tail = &mut self.work[..n - rank];
            for (j, v) in tail.iter_mut().enumerate() {
                *v = self.cod[(k, rank + j)];
            }
            let mut head = self.cod[(k, k)];
            let beta = make_reflector(&mut head, tail);
            for i in 0..k {
                let mut sum = self.cod[(i, k)];
                for (j, v) in tail.iter().enumerate() {
                    sum += v * self.cod[(i, rank + j)];
                }
                sum *= beta;
                self.cod[(i, k)] -= sum;
                for (j, v) in tail.iter().enumerate() {
                    self.cod[(i, rank + j)] -= sum * v;
                }
            }
            self.cod[(k, k)] = head;
            for (j, v) in tail.iter().enumerate() {
                self.cod[(k, rank + j)] = *v;
            }
            self.cod_beta[k] = beta;
        }
        self.cod_rank = Some(rank);
        Ok(())
    }

    /// Overwrites `work[..n]` by Z^T times it.
    fn apply_z_transpose(&mut self, rank: usize) {
        // R H_{r-1} ... H_0 = [T 0], so Z = H_0 ... H_{r-1} and Z^T applies H_0 first.
        for k in 0..rank {
            let mut sum = self.work[k];
            for j in rank..self.ncols() {
                sum += self.cod[(k, j)] * self.work[j];
            }
            sum *= self.cod_beta[k];
            self.work[k] -= sum;
            for j in rank..self.ncols() {
                self.work[j] -= sum * self.cod[(k, j)];
            }
        }
    }
}

/// Makes the reflector I - beta v v^T, v = (1, tail), that maps (head, tail) to a multiple of the first unit vector.
/// On return `head` is that multiple, `tail` the rest of v.
#[inline(always)]
fn make_reflector(head: &mut f64, tail: &mut [f64]) -> f64 {
    let tail_norm = norm_2(tail);
    if tail_norm == 0.0 {
        return 0.0;
    }
    let norm = head.hypot(tail_norm);
    let target = if *head >= 0.0 { -norm } else { norm };
    let lead = *head - target;
    for v in tail.iter_mut() {
        *v /= lead;
    }
    let beta = -lead / target;
    *head = target;
    beta
}

/// Applies I - beta v v^T with v = (1, tail).
#[inline(always)]
fn reflect(tail: &[f64], beta: f64, x: &mut [f64]) {
    if beta == 0.0 {
        return;
    }
    let (head, rest) = x.split_at_mut(1);
    let sum = beta * (head[0] + dot(tail, rest));
    head[0] -= sum;
    axpy(rest, -sum, tail);
}

vectorised! {
    /// Householder elimination with column exchanges; remaining norms are updated, and recomputed when cancellation has eaten
    /// half the digits (Drmač and Bujanović 2008, the safeguard LAPACK uses).
    fn factor_by_columns<'a>(
        a: &'a mut Mat,
        beta: &'a mut [f64],
        perm: &'a mut [usize],
        norms: &'a mut [[f64; 2]],
    ) -> () {
        let (m, n) = (a.nrows(), a.ncols());
        for j in 0..n {
            perm[j] = j;
            norms[j] = [norm_2(a.col(j)); 2];
        }
        for k in 0..m.min(n) {
            let mut p = k;
            for j in k + 1..n {
                if norms[j][0] > norms[p][0] {
                    p = j;
                }
            }
            if p != k {
                perm.swap(k, p);
                norms.swap(k, p);
                let (left, right) = a.as_mut_slice().split_at_mut(p * m);
                left[k * m..(k + 1) * m].swap_with_slice(&mut right[..m]);
            }
            let (done, rest) = a.as_mut_slice().split_at_mut((k + 1) * m);
            let (head, tail) = done[k * m + k..].split_at_mut(1);
            beta[k] = make_reflector(&mut head[0], tail);
            for (column, norm) in rest.chunks_exact_mut(m).zip(&mut norms[k + 1..]) {
                reflect(tail, beta[k], &mut column[k..]);
                if norm[0] == 0.0 {
                    continue;
                }
                let share = (column[k] / norm[0]).abs();
                let left = (1.0 - share * share).max(0.0);
                let since = norm[0] / norm[1];
                if left * since * since <= f64::EPSILON.sqrt() {
                    *norm = [norm_2(&column[k + 1..]); 2];
                } else {
                    norm[0] *= left.sqrt();
                }
            }
        }
    }
}
