//! A small complex LU factorisation with partial pivoting, real and imaginary parts in separate arrays.

use daelight_linalg::LinalgError;

/// Factors a dense complex matrix in place and solves with it; nothing allocates after `new`.
///
/// Solutions are not checked against the matrix: the caller is an iteration that checks itself, and
/// rejects what is not finite.
pub(crate) struct ComplexLu {
    n: usize,
    /// By columns.
    re: Vec<f64>,
    im: Vec<f64>,
    /// Row exchanged with row k in step k.
    exchanges: Vec<usize>,
}

impl ComplexLu {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            re: vec![0.0; n * n],
            im: vec![0.0; n * n],
            exchanges: vec![0; n],
        }
    }

    /// Makes all entries zero.
    pub(crate) fn clear(&mut self) {
        self.re.fill(0.0);
        self.im.fill(0.0);
    }

    /// Sets an entry.
    pub(crate) fn set(&mut self, row: usize, column: usize, re: f64, im: f64) {
        let place = column * self.n + row;
        self.re[place] = re;
        self.im[place] = im;
    }

    /// Replaces the matrix by its factors. Pivots are compared by |re| + |im|.
    pub(crate) fn factor(&mut self) -> Result<(), LinalgError> {
        let Self {
            n,
            re,
            im,
            exchanges,
        } = self;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || eliminate(*n, re, im, exchanges),
        )
    }

    /// Solves in place.
    pub(crate) fn solve(&self, re: &mut [f64], im: &mut [f64]) -> Result<(), LinalgError> {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || self.substitute(re, im),
        );
        if re.iter().chain(im.iter()).all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(LinalgError::ResultNotFinite)
        }
    }

    #[inline(always)]
    fn substitute(&self, re: &mut [f64], im: &mut [f64]) {
        let n = self.n;
        for (k, &other) in self.exchanges.iter().enumerate() {
            re.swap(k, other);
            im.swap(k, other);
        }
        for k in 0..n {
            let below = k * n + k + 1..(k + 1) * n;
            let factor = (re[k], im[k]);
            let (lower_re, lower_im) = (&self.re[below.clone()], &self.im[below]);
            subtract(
                factor,
                lower_re,
                lower_im,
                &mut re[k + 1..n],
                &mut im[k + 1..n],
            );
        }
        for k in (0..n).rev() {
            let diagonal = k * n + k;
            let pivot = (self.re[diagonal], self.im[diagonal]);
            // The reciprocal of the pivot is stored in its place.
            let factor = product((re[k], im[k]), pivot);
            (re[k], im[k]) = factor;
            let above = k * n..diagonal;
            let (upper_re, upper_im) = (&self.re[above.clone()], &self.im[above]);
            subtract(factor, upper_re, upper_im, &mut re[..k], &mut im[..k]);
        }
    }
}

#[inline(always)]
fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// y -= factor x.
#[inline(always)]
fn subtract(factor: (f64, f64), x_re: &[f64], x_im: &[f64], y_re: &mut [f64], y_im: &mut [f64]) {
    let n = y_re.len();
    let (x_re, x_im, y_im) = (&x_re[..n], &x_im[..n], &mut y_im[..n]);
    for i in 0..n {
        y_re[i] -= factor.0 * x_re[i] - factor.1 * x_im[i];
        y_im[i] -= factor.0 * x_im[i] + factor.1 * x_re[i];
    }
}

/// Right-looking elimination. The reciprocals of the pivots are left on the diagonal.
#[inline(always)]
fn eliminate(
    n: usize,
    re: &mut [f64],
    im: &mut [f64],
    exchanges: &mut [usize],
) -> Result<(), LinalgError> {
    for k in 0..n {
        let column = k * n..(k + 1) * n;
        let (column_re, column_im) = (&mut re[column.clone()], &mut im[column]);
        let (mut best, mut size) = (k, 0.0);
        for i in k..n {
            let here = column_re[i].abs() + column_im[i].abs();
            if here > size {
                (best, size) = (i, here);
            }
        }
        if size == 0.0 {
            return Err(LinalgError::Singular { step: k });
        }
        exchanges[k] = best;
        if best != k {
            for (row_re, row_im) in re.chunks_exact_mut(n).zip(im.chunks_exact_mut(n)) {
                row_re.swap(k, best);
                row_im.swap(k, best);
            }
        }
        let (head_re, tail_re) = re.split_at_mut((k + 1) * n);
        let (head_im, tail_im) = im.split_at_mut((k + 1) * n);
        let (column_re, column_im) = (&mut head_re[k * n..], &mut head_im[k * n..]);
        // Divided by its larger part first, so that squares neither overflow nor underflow.
        let (a, b) = (column_re[k] / size, column_im[k] / size);
        let square = (a * a + b * b) * size;
        let inverse = (a / square, -b / square);
        if !(inverse.0.is_finite() && inverse.1.is_finite()) {
            return Err(LinalgError::ResultNotFinite);
        }
        (column_re[k], column_im[k]) = inverse;
        for i in k + 1..n {
            (column_re[i], column_im[i]) = product((column_re[i], column_im[i]), inverse);
        }
        let (lower_re, lower_im) = (&column_re[k + 1..], &column_im[k + 1..]);
        for (y_re, y_im) in tail_re.chunks_exact_mut(n).zip(tail_im.chunks_exact_mut(n)) {
            let factor = (y_re[k], y_im[k]);
            if factor != (0.0, 0.0) {
                subtract(
                    factor,
                    lower_re,
                    lower_im,
                    &mut y_re[k + 1..],
                    &mut y_im[k + 1..],
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves with random matrices and multiplies back.
    #[test]
    fn solutions_satisfy_the_equations() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        for n in [1, 2, 3, 7, 20] {
            let entries: Vec<(f64, f64)> = (0..n * n).map(|_| (random(), random())).collect();
            let solution: Vec<(f64, f64)> = (0..n).map(|_| (random(), random())).collect();
            let mut lu = ComplexLu::new(n);
            let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
            for column in 0..n {
                for row in 0..n {
                    let entry = entries[column * n + row];
                    lu.set(row, column, entry.0, entry.1);
                    let term = product(entry, solution[column]);
                    re[row] += term.0;
                    im[row] += term.1;
                }
            }
            lu.factor().expect("regular");
            lu.solve(&mut re, &mut im).expect("regular");
            for row in 0..n {
                let error = (re[row] - solution[row].0).hypot(im[row] - solution[row].1);
                assert!(error < 1e-11, "{error} at n = {n}");
            }
        }
    }

    #[test]
    fn a_singular_matrix_is_noticed() {
        let mut lu = ComplexLu::new(2);
        for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            lu.set(row, column, 0.0, 2.0);
        }
        assert_eq!(lu.factor(), Err(LinalgError::Singular { step: 1 }));
    }
}
