//! Estimates how large an inverse is, without forming it.

use crate::kernels::{norm_1, position_of_largest};

/// Estimates the 1-norm of an inverse from solves with the matrix and its transpose; see [`crate::Lu::condition_1norm`].
pub(crate) fn estimate_inverse_norm(
    x: &mut [f64],
    signs: &mut [f64],
    mut solve: impl FnMut(&mut [f64], bool),
) -> f64 {
    let n = x.len();
    x.fill(1.0 / n as f64);
    signs.fill(0.0);
    let mut estimate = 0.0_f64;
    let mut last = usize::MAX;
    for _ in 0..5 {
        solve(x, false);
        let norm = norm_1(x);
        let same_signs = x.iter().zip(signs.iter()).all(|(v, s)| v.signum() == *s);
        if norm <= estimate || same_signs {
            estimate = estimate.max(norm);
            break;
        }
        estimate = norm;
        for (s, v) in signs.iter_mut().zip(x.iter_mut()) {
            *s = v.signum();
            *v = *s;
        }
        solve(x, true);
        let j = position_of_largest(x);
        if j == last {
            break;
        }
        last = j;
        x.fill(0.0);
        x[j] = 1.0;
    }
    for (i, v) in x.iter_mut().enumerate() {
        let size = if n > 1 {
            1.0 + i as f64 / (n - 1) as f64
        } else {
            1.0
        };
        *v = if i % 2 == 0 { size } else { -size };
    }
    solve(x, false);
    estimate.max(2.0 * norm_1(x) / (3.0 * n as f64))
}
