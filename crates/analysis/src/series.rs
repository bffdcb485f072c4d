//! Matrix power series: products, derivatives, inverses, and the null space of a series of constant rank.
//!
//! Numbers in parentheses refer to `docs/theory/indices.md`.

use crate::dense::{Dense, Factors};
use daelight_expr::{JacobianSeries, JetEvaluator};
use daelight_linalg::{LinalgError, Mat};
use std::fmt;

/// The data of an index analysis: E = dF/dx' and B = dF/dx along a jet, as Taylor coefficients 0..=K (1).
///
/// m equations in n unknowns; any shape, also empty. The linearised equation is E y' + B y = 0.
///
/// ```
/// use daelight_analysis::MatrixSeries;
/// use daelight_linalg::Mat;
/// // x1' = x2, x1 = f(t): constant matrices, followed by zeros.
/// let e = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 0.0]]);
/// let b = Mat::from_rows(&[&[0.0, -1.0], &[1.0, 0.0]]);
/// let series = MatrixSeries::constant(e, b, 4)?;
/// assert_eq!((series.nrows(), series.ncols(), series.order()), (2, 2, 4));
/// # Ok::<(), daelight_analysis::series::ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MatrixSeries<M = Mat> {
    pub(crate) e: Series<M>,
    pub(crate) b: Series<M>,
}

/// Says that coefficients do not form a pair of matrix series: none at all, different numbers, or different shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError;

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the coefficients of E and B differ in number or shape")
    }
}

impl std::error::Error for ShapeError {}

impl<M: Dense> MatrixSeries<M> {
    /// Takes the coefficients of E and B, equally many and at least one, all of one shape.
    pub fn new(e: Vec<M>, b: Vec<M>) -> Result<Self, ShapeError> {
        let Some(first) = e.first() else {
            return Err(ShapeError);
        };
        let shape = (first.nrows(), first.ncols());
        let fits = e.iter().chain(&b).all(|c| (c.nrows(), c.ncols()) == shape);
        if !fits || e.len() != b.len() {
            return Err(ShapeError);
        }
        Ok(Self {
            e: Series(e),
            b: Series(b),
        })
    }

    /// E and B of a first-order system along the jet of its series, whose orders 0..=order have been computed.
    ///
    /// Equations of higher order have more than two matrices and do not fit.
    pub fn along<J: JetEvaluator<M::Entry>>(
        series: &JacobianSeries<J, M::Entry>,
        order: usize,
    ) -> Result<Self, ShapeError> {
        if series.n_matrices() != 2 {
            return Err(ShapeError);
        }
        let coefficient = |derivative: usize, k: usize| {
            let mut out = M::zeros(series.n_equations(), series.n_unknowns());
            for (row, column, position) in series.pattern(derivative).iter() {
                *out.entry_mut(row, column) = series.entry(derivative, position, k);
            }
            out
        };
        let all = |derivative| (0..=order).map(|k| coefficient(derivative, k)).collect();
        Self::new(all(1), all(0))
    }

    /// Constant matrices as series of this order.
    pub fn constant(e: M, b: M, order: usize) -> Result<Self, ShapeError> {
        let padded = |first: M| {
            let zero = M::zeros(first.nrows(), first.ncols());
            let mut out = vec![first];
            out.resize(order + 1, zero);
            out
        };
        Self::new(padded(e), padded(b))
    }

    /// The series of dF/dx'.
    pub fn e(&self) -> &Series<M> {
        &self.e
    }

    /// The series of dF/dx.
    pub fn b(&self) -> &Series<M> {
        &self.b
    }

    /// Number of equations.
    pub fn nrows(&self) -> usize {
        self.e.nrows()
    }

    /// Number of unknowns.
    pub fn ncols(&self) -> usize {
        self.e.ncols()
    }

    /// The highest coefficient, K.
    pub fn order(&self) -> usize {
        self.e.len() - 1
    }

    /// True if no entry is NaN or infinite.
    pub fn is_finite(&self) -> bool {
        self.e.0.iter().chain(&self.b.0).all(M::is_finite)
    }

    /// The coefficients up to a lower order.
    pub fn truncated(&self, order: usize) -> Self {
        Self {
            e: self.e.truncated(order + 1),
            b: self.b.truncated(order + 1),
        }
    }
}

/// A power series with matrix coefficients, all of one shape, at least one.
#[derive(Clone, Debug)]
pub struct Series<M>(pub(crate) Vec<M>);

impl<M: Dense> Series<M> {
    /// A constant, as a series of this many coefficients (at least one).
    pub fn constant(value: M, len: usize) -> Self {
        let zero = M::zeros(value.nrows(), value.ncols());
        let mut out = vec![value];
        out.resize(len.max(1), zero);
        Self(out)
    }

    /// Number of coefficients known.
    #[expect(clippy::len_without_is_empty, reason = "a series is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All coefficients, lowest first.
    pub fn coefficients(&self) -> &[M] {
        &self.0
    }

    /// The coefficient of s^q.
    pub fn coefficient(&self, q: usize) -> &M {
        &self.0[q]
    }

    /// Rows of every coefficient.
    pub fn nrows(&self) -> usize {
        self.0[0].nrows()
    }

    /// Columns of every coefficient.
    pub fn ncols(&self) -> usize {
        self.0[0].ncols()
    }

    /// The first coefficients, at least one.
    pub fn truncated(&self, len: usize) -> Self {
        Self(self.0[..len.clamp(1, self.len())].to_vec())
    }

    /// Applies the same linear map to every coefficient.
    pub fn map(&self, f: impl FnMut(&M) -> M) -> Self {
        Self(self.0.iter().map(f).collect())
    }

    /// The transposed series.
    pub fn transposed(&self) -> Self {
        self.map(M::transposed)
    }

    /// The product, as long as the shorter factor.
    pub fn product(&self, other: &Self) -> Self {
        let len = self.len().min(other.len());
        let zero = M::zeros(self.nrows(), other.ncols());
        let mut out = vec![zero; len];
        for (k, c) in out.iter_mut().enumerate() {
            for i in 0..=k {
                c.add_multiple(1.0, &self.0[i].product(&other.0[k - i]));
            }
        }
        Self(out)
    }

    /// Self + factor * other, as long as the shorter term.
    pub fn plus(&self, factor: f64, other: &Self) -> Self {
        let mut out = self.truncated(other.len());
        for (a, b) in out.0.iter_mut().zip(&other.0) {
            a.add_multiple(factor, b);
        }
        out
    }

    /// The derivative (2): one coefficient shorter. `None` if only one coefficient is known.
    pub fn derivative(&self) -> Option<Self> {
        let out: Vec<M> = (1..self.len())
            .map(|q| {
                let mut c = M::zeros(self.nrows(), self.ncols());
                c.add_multiple(q as f64, &self.0[q]);
                c
            })
            .collect();
        (!out.is_empty()).then_some(Self(out))
    }

    /// The inverse (9) of a square series, given the inverse of its first coefficient.
    pub(crate) fn inverse_from(&self, first: M) -> Self {
        let mut out = vec![first];
        for k in 1..self.len() {
            let mut sum = M::zeros(self.nrows(), self.nrows());
            for i in 1..=k {
                sum.add_multiple(-1.0, &self.0[i].product(&out[k - i]));
            }
            out.push(out[0].product(&sum));
        }
        Self(out)
    }

    /// The inverse of a square series whose first coefficient is regular.
    pub fn inverse(&self) -> Result<Self, LinalgError> {
        Ok(self.inverse_from(self.0[0].decompose()?.inverse()))
    }

    /// Two series of equal height side by side.
    pub fn beside(&self, right: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(&right.0)
                .map(|(a, b)| a.beside(b))
                .collect(),
        )
    }

    /// The same block of every coefficient.
    pub fn block(&self, row: usize, col: usize, nrows: usize, ncols: usize) -> Self {
        self.map(|c| c.block(row, col, nrows, ncols))
    }
}

/// The null space of a matrix series, and the measure of whether its rank is constant.
#[derive(Clone, Debug)]
pub struct NullSeries<M> {
    /// Columns that the series annihilates (10); the first coefficient is orthonormal.
    pub basis: Series<M>,
    /// The Schur series (11): zero in all coefficients if and only if the rank is constant along the jet.
    pub schur: Series<M>,
}

impl<M: Dense> NullSeries<M> {
    /// Builds the null space of G for rank r of G_0, from the decomposition of G_0. Nothing is lost in length.
    pub fn new(g: &Series<M>, factors: &Factors<M>, rank: usize) -> Self {
        let (m, n, r) = (g.nrows(), g.ncols(), rank);
        let ut = factors.u.transposed();
        let mut h = g.map(|c| ut.product(c).product(&factors.v));
        // The decomposition is exact for a matrix that differs from G_0 by rounding. Taking S itself adds no further error
        // and keeps the relative accuracy of small singular values.
        h.0[0] = factors.sigma.clone();
        let x = h
            .block(0, 0, r, r)
            .inverse_from(factors.reciprocal.block(0, 0, r, r));
        let x_h12 = x.product(&h.block(0, r, r, n - r));
        let schur = h
            .block(r, r, m - r, n - r)
            .plus(-1.0, &h.block(r, 0, m - r, r).product(&x_h12));
        let v1 = factors.v.block(0, 0, n, r);
        let mut basis = x_h12.map(|c| {
            let mut out = M::zeros(n, n - r);
            out.add_multiple(-1.0, &v1.product(c));
            out
        });
        basis.0[0].add_multiple(1.0, &factors.v.block(0, r, n, n - r));
        Self { basis, schur }
    }

    /// The largest norm among the Schur coefficients 0 to 2: noise if the rank is constant, of order one if it is not.
    pub fn schur_norm(&self) -> f64 {
        self.schur
            .0
            .iter()
            .take(3)
            .map(M::norm)
            .fold(0.0, |a: f64, b| if a.is_nan() || a > b { a } else { b })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seed: usize, m: usize, n: usize, len: usize) -> Series<Mat> {
        Series(
            (0..len)
                .map(|q| {
                    Mat::from_fn(m, n, |i, j| {
                        ((seed + 7 * q + 3 * i * i + 5 * j + i * j * q) as f64 * 0.7).sin()
                    })
                })
                .collect(),
        )
    }

    fn size(s: &Series<Mat>) -> f64 {
        s.0.iter().map(|c| c.view().norm_max()).fold(0.0, f64::max)
    }

    #[test]
    fn inverse_times_series_is_one() {
        let mut a = sample(1, 4, 4, 6);
        a.0[0].add_multiple(4.0, &Mat::identity(4));
        let one = a.product(&a.inverse().expect("regular"));
        assert!(size(&one.plus(-1.0, &Series::constant(Mat::identity(4), 6))) < 1e-10);
    }

    #[test]
    fn derivative_of_a_product_is_leibniz() {
        let (a, b) = (sample(2, 3, 4, 6), sample(5, 4, 2, 6));
        let (da, db) = (a.derivative().expect("long"), b.derivative().expect("long"));
        let left = a.product(&b).derivative().expect("long");
        let right = da.product(&b).plus(1.0, &a.product(&db));
        assert!(size(&left.plus(-1.0, &right)) < 1e-13);
        assert!(a.truncated(1).derivative().is_none());
    }

    #[test]
    fn null_series_of_constant_rank_is_annihilated() {
        let g = sample(3, 5, 2, 6).product(&sample(4, 2, 4, 6));
        let factors = g.coefficient(0).decompose().expect("finite");
        let null = NullSeries::new(&g, &factors, 2);
        assert_eq!(null.basis.ncols(), 2);
        assert!(size(&g.product(&null.basis)) < 1e-10);
        assert!(null.schur_norm() < 1e-10);
    }

    #[test]
    fn schur_series_sees_a_moving_rank() {
        // diag(1, s) has rank 1 at s = 0 and 2 beside it.
        let g = Series(vec![
            Mat::from_rows(&[&[1.0, 0.0], &[0.0, 0.0]]),
            Mat::from_rows(&[&[0.0, 0.0], &[0.0, 1.0]]),
        ]);
        let factors = g.coefficient(0).decompose().expect("finite");
        assert_eq!(NullSeries::new(&g, &factors, 1).schur_norm(), 1.0);
    }
}
