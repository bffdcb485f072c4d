//! Solutions beside a singular one: is it isolated, or does the equation leave a direction open?
//!
//! The bordered system (14) of `docs/theory/integration.md`.

use daelight_analysis::dense::Dense;
use daelight_linalg::{ConditionRule, Lu, Mat, Svd};

/// Singular values of a scaled matrix below this count as zero at a point located on a series.
const FLAT: f64 = 1e-5;

/// How far from the point other values are tried, relative to the sizes of the unknowns.
pub(crate) const ASIDE: f64 = 0.05;

/// What is curved of a multiplier at that distance and at twice that, and no error of the point: a fifth power leaves 4e-6.
pub(crate) const CURVED: f64 = 1e-8;

/// Rounds of Newton's method for one such value.
const MAX_ROUNDS: usize = 25;

/// The matrix [J W; V' 0] with bases of the kernels of J' and J, factored.
pub(crate) struct Bordered {
    lu: Lu,
    left: Mat,
    right: Mat,
}

impl Bordered {
    /// Borders a square scaled matrix that is singular, or nearly so: singular values count as zero that are small, or that have fallen
    /// to a part of those of a regular matrix beside it.
    pub fn new(matrix: &Mat, regular: &Mat, falling: f64) -> Option<Self> {
        let n = matrix.nrows();
        let mut svd = Svd::new();
        svd.factor_values(regular.view()).ok()?;
        let before = svd.singular_values().to_vec();
        svd.factor(matrix.view()).ok()?;
        let values = svd.singular_values().iter().zip(&before);
        let first = values.take_while(|(now, before)| **now > falling * **before);
        let rank = svd.rank(&ConditionRule::of(1.0, FLAT)).rank.min(n - 1);
        let rank = rank.min(first.fold(0, |n, _| n + 1));
        let left = svd.left_null_basis(rank).ok()?.to_owned();
        let right = svd.kernel_basis(rank).ok()?.to_owned();
        let mut bordered = Mat::zeros(2 * n - rank, 2 * n - rank);
        bordered.set_block(0, 0, matrix);
        bordered.set_block(0, n, &left);
        bordered.set_block(n, 0, &right.transpose());
        let mut lu = Lu::new();
        lu.factor(bordered.view()).ok()?;
        Some(Self { lu, left, right })
    }

    /// Displacements along the kernel, in units: along each vector of its basis and along sums of two.
    pub fn displacements(&self) -> Vec<Vec<f64>> {
        let (n, corank) = (self.right.nrows(), self.right.ncols());
        let along = |k: usize, length: f64| (0..n).map(move |j| length * self.right[(j, k)]);
        let mut all = Vec::new();
        for k in 0..corank {
            all.push(along(k, ASIDE).collect());
            if k > 0 {
                for length in [ASIDE, -ASIDE] {
                    let other = along(k - 1, ASIDE);
                    all.push(along(k, length).zip(other).map(|(x, y)| x + y).collect());
                }
            }
        }
        all
    }

    /// The kernel, if it has one dimension.
    pub fn kernel(&self) -> Option<Vec<f64>> {
        let n = self.right.nrows();
        (self.right.ncols() == 1).then(|| (0..n).map(|j| self.right[(j, 0)]).collect())
    }

    /// Solves G(z + xi) + W mu = 0 with V' xi = 0 for a displacement z, and gives mu; `None` without convergence.
    pub fn multiplier(
        &mut self,
        displacement: &[f64],
        mut residual: impl FnMut(&[f64], &mut [f64]) -> Option<()>,
    ) -> Option<Vec<f64>> {
        let (n, corank) = (self.left.nrows(), self.left.ncols());
        let mut z = displacement.to_vec();
        let mut mu = vec![0.0; corank];
        let mut step = vec![0.0; n + corank];
        let (mut last, small) = (f64::INFINITY, f64::EPSILON.sqrt());
        for _ in 0..MAX_ROUNDS {
            residual(&z, &mut step[..n])?;
            for (i, place) in step[..n].iter_mut().enumerate() {
                let pushed: f64 = (0..corank).map(|k| self.left[(i, k)] * mu[k]).sum();
                *place = -*place - pushed;
            }
            step[n..].fill(0.0);
            self.lu.solve(&mut step).ok()?;
            let unknowns = z.iter_mut().chain(&mut mu);
            unknowns.zip(&step).for_each(|(x, step)| *x += step);
            // Rows are in units of a point beside, and a multiplier may be large.
            let sizes = (0..n)
                .map(|_| 1.0)
                .chain(mu.iter().map(|mu| mu.abs().max(1.0)));
            let relative = step.iter().zip(sizes).map(|(x, size)| x.abs() / size);
            let size = relative.fold(0.0, f64::max);
            // The matrix stays as it is, so steps fall evenly, down to rounding.
            if size <= small && (size <= f64::EPSILON || size > 0.5 * last) {
                return Some(mu);
            }
            if !step.iter().all(|x| x.is_finite()) {
                return None;
            }
            last = size;
        }
        (last <= small).then_some(mu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greatest multiplier of one equation in two unknowns beside the origin, the other being z = 0.
    fn greatest(g: impl Fn(f64) -> f64) -> f64 {
        let mut matrix = Mat::zeros(2, 2);
        matrix[(1, 1)] = 1.0;
        let mut bordered = Bordered::new(&matrix, &matrix.clone(), 0.0).expect("corank 1");
        let mut worst = 0.0f64;
        for displacement in bordered.displacements() {
            let mu = bordered.multiplier(&displacement, |z, into| {
                into.copy_from_slice(&[g(z[0]), z[1]]);
                Some(())
            });
            worst = worst.max(mu.expect("it converges")[0].abs());
        }
        worst
    }

    #[test]
    fn multiple_zeros_are_told_from_open_directions() {
        assert!(greatest(|y| y * y) > 1e-3);
        assert!(greatest(|y| y * y * y) > 1e-4);
        assert!(greatest(|_| 0.0) < 1e-15);
    }
}
