//! The plain loops of dense LU: factor, substitute, form residuals.

use crate::MatRef;
use crate::kernels::{axpy, axpy4, norm_max, position_of_largest, vectorised};

vectorised! {
    /// Norms by columns and by rows. `row_sums` is scratch space with an entry for each row.
    pub(crate) fn norms<'a>(a: MatRef<'a>, row_sums: &'a mut [f64]) -> (f64, f64) {
        row_sums.fill(0.0);
        for j in 0..a.ncols() {
            for (sum, v) in row_sums.iter_mut().zip(a.col(j)) {
                *sum += v.abs();
            }
        }
        (a.norm_1(), norm_max(row_sums))
    }
}

vectorised! {
    /// Left-looking elimination: column j is updated by all finished columns, then its pivot is chosen. Returns the parity.
    pub(crate) fn factor_by_columns<'a>(a: &'a mut [f64], n: usize, perm: &'a mut [usize]) -> bool {
        for (i, p) in perm.iter_mut().enumerate() {
            *p = i;
        }
        let mut odd = false;
        for j in 0..n {
            let (done, rest) = a.split_at_mut(j * n);
            let column = &mut rest[..n];
            eliminate(done, n, column);
            let p = j + position_of_largest(&column[j..]);
            let pivot = column[p];
            if pivot == 0.0 {
                continue;
            }
            if p != j {
                odd = !odd;
                perm.swap(j, p);
                // Exchange the rows in all columns, the unfinished ones included, so that no later pass is needed.
                for c in a.chunks_exact_mut(n) {
                    c.swap(j, p);
                }
            }
            let inverse = 1.0 / pivot;
            let below = &mut a[j * n + j + 1..(j + 1) * n];
            if inverse.is_finite() {
                for v in below {
                    *v *= inverse;
                }
            } else {
                // The reciprocal of a tiny pivot overflows, the quotients do not.
                for v in below {
                    *v /= pivot;
                }
            }
        }
        odd
    }
}

/// Solves with the first columns of a unit lower triangle, as many as `lower` holds, and updates the rest of x; four
/// columns at a time, so that x is read and written less often.
#[inline(always)]
pub(crate) fn eliminate(lower: &[f64], n: usize, x: &mut [f64]) {
    let mut blocks = lower.chunks_exact(4 * n.max(1));
    let mut k = 0;
    for block in &mut blocks {
        let (c0, block) = block.split_at(n);
        let (c1, block) = block.split_at(n);
        let (c2, c3) = block.split_at(n);
        let (head, tail) = x.split_at_mut(k + 4);
        let [u0, mut u1, mut u2, mut u3] = [head[k], head[k + 1], head[k + 2], head[k + 3]];
        u1 -= c0[k + 1] * u0;
        u2 = u2 - c0[k + 2] * u0 - c1[k + 2] * u1;
        u3 = u3 - c0[k + 3] * u0 - c1[k + 3] * u1 - c2[k + 3] * u2;
        head[k + 1] = u1;
        head[k + 2] = u2;
        head[k + 3] = u3;
        axpy4(
            tail,
            [-u0, -u1, -u2, -u3],
            [&c0[k + 4..], &c1[k + 4..], &c2[k + 4..], &c3[k + 4..]],
        );
        k += 4;
    }
    for column in blocks.remainder().chunks_exact(n.max(1)) {
        let (head, tail) = x.split_at_mut(k + 1);
        axpy(tail, -head[k], &column[k + 1..]);
        k += 1;
    }
}

/// Solves with an upper triangle, four columns at a time from the last.
#[inline(always)]
pub(crate) fn substitute_back(upper: &[f64], n: usize, x: &mut [f64]) {
    let mut k = n;
    while k >= 4 {
        k -= 4;
        let (c0, block) = upper[k * n..(k + 4) * n].split_at(n);
        let (c1, block) = block.split_at(n);
        let (c2, c3) = block.split_at(n);
        let (head, tail) = x.split_at_mut(k);
        let u3 = tail[3] / c3[k + 3];
        let u2 = (tail[2] - c3[k + 2] * u3) / c2[k + 2];
        let u1 = (tail[1] - c3[k + 1] * u3 - c2[k + 1] * u2) / c1[k + 1];
        let u0 = (tail[0] - c3[k] * u3 - c2[k] * u2 - c1[k] * u1) / c0[k];
        tail[..4].copy_from_slice(&[u0, u1, u2, u3]);
        axpy4(head, [-u3, -u2, -u1, -u0], [c3, c2, c1, c0]);
    }
    for k in (0..k).rev() {
        let (head, tail) = x.split_at_mut(k);
        tail[0] /= upper[k * n + k];
        axpy(head, -tail[0], &upper[k * n..k * n + k]);
    }
}

/// y -= A x for an n-column matrix stored without gaps, four columns at a time.
#[inline(always)]
pub(crate) fn subtract_product(a: &[f64], x: &[f64], y: &mut [f64]) {
    let n = y.len();
    let (groups, rest) = x.as_chunks::<4>();
    let mut blocks = a.chunks_exact(4 * n.max(1));
    for (block, x) in (&mut blocks).zip(groups) {
        let (c0, block) = block.split_at(n);
        let (c1, block) = block.split_at(n);
        let (c2, c3) = block.split_at(n);
        axpy4(y, x.map(|v| -v), [c0, c1, c2, c3]);
    }
    for (column, x) in a[a.len() - rest.len() * n..]
        .chunks_exact(n.max(1))
        .zip(rest)
    {
        axpy(y, -x, column);
    }
}
