//! Zeros of functions of time: Brent's method, and the derivative of an interpolant for zeros that are touched.

/// Finds a zero between a and b, where f has different signs, to the last digits (Brent 1973, chapter 4).
///
/// A value without a number ends the search where it is.
pub(crate) fn zero(mut a: f64, mut b: f64, fa: f64, fb: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let (mut fa, mut fb) = (fa, fb);
    let (mut c, mut fc) = (a, fa);
    let mut step = b - a;
    let mut last = step;
    for _ in 0..120 {
        if (fb > 0.0) == (fc > 0.0) {
            (c, fc) = (a, fa);
            step = b - a;
            last = step;
        }
        if fc.abs() < fb.abs() {
            (a, b, c) = (b, c, b);
            (fa, fb, fc) = (fb, fc, fb);
        }
        let tolerance = 2.0 * f64::EPSILON * b.abs();
        let half = 0.5 * (c - b);
        if half.abs() <= tolerance || fb == 0.0 {
            return b;
        }
        if last.abs() >= tolerance && fa.abs() > fb.abs() {
            let s = fb / fa;
            let (mut p, mut q);
            if a == c {
                p = 2.0 * half * s;
                q = 1.0 - s;
            } else {
                let r = fb / fc;
                let t = fa / fc;
                p = s * (2.0 * half * t * (t - r) - (b - a) * (r - 1.0));
                q = (t - 1.0) * (r - 1.0) * (s - 1.0);
            }
            if p > 0.0 {
                q = -q;
            }
            p = p.abs();
            if 2.0 * p < (3.0 * half * q - (tolerance * q).abs()).min((last * q).abs()) {
                last = step;
                step = p / q;
            } else {
                step = half;
                last = half;
            }
        } else {
            step = half;
            last = half;
        }
        (a, fa) = (b, fb);
        b += if step.abs() > tolerance {
            step
        } else {
            tolerance.copysign(half)
        };
        fb = f(b);
        if !fb.is_finite() {
            return a;
        }
    }
    b
}

/// Number of nodes of the interpolant of [`touching_zero`].
const NODES: usize = 12;

/// Finds the zero of f' near the middle of an interval, where f itself does not change its sign.
///
/// f is interpolated at Chebyshev nodes; the zero of the interpolant's derivative is good to rounding over the
/// curvature of f in units of the interval, where a search for the least value would lose half of the digits.
pub(crate) fn touching_zero(centre: f64, radius: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let angle = |k: usize| std::f64::consts::PI * (k as f64 + 0.5) / NODES as f64;
    let values: Vec<f64> = (0..NODES)
        .map(|k| f(centre + radius * angle(k).cos()))
        .collect();
    if values.iter().any(|value| !value.is_finite()) {
        return centre;
    }
    let coefficients: Vec<f64> = (0..NODES)
        .map(|j| {
            let sum: f64 = values
                .iter()
                .enumerate()
                .map(|(k, value)| value * (j as f64 * angle(k)).cos())
                .sum();
            2.0 * sum / NODES as f64
        })
        .collect();
    // T_j' = j U_(j-1), with U by its recurrence.
    let slope = |u: f64| {
        let (mut before, mut now) = (0.0, 1.0);
        let mut sum = 0.0;
        for (j, coefficient) in coefficients.iter().enumerate().skip(1) {
            sum += coefficient * j as f64 * now;
            (before, now) = (now, 2.0 * u * now - before);
        }
        sum
    };
    let (left, right) = (slope(-0.9), slope(0.9));
    if (left > 0.0) == (right > 0.0) {
        return centre;
    }
    // Shifted by one, so that the relative stopping rule of the search is one of the interval.
    let u = zero(0.1, 1.9, left, right, |u| slope(u - 1.0)) - 1.0;
    centre + radius * u
}

/// Narrows down the least value of f between a and c (golden section).
pub(crate) fn least(mut a: f64, mut c: f64, mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.381_966_011_250_105;
    let (mut x, mut y) = (a + GOLDEN * (c - a), c - GOLDEN * (c - a));
    let (mut fx, mut fy) = (f(x), f(y));
    for _ in 0..45 {
        if fx <= fy {
            (c, y, fy) = (y, x, fx);
            x = a + GOLDEN * (c - a);
            fx = f(x);
        } else {
            (a, x, fx) = (x, y, fy);
            y = c - GOLDEN * (c - a);
            fy = f(y);
        }
    }
    if fx <= fy { (x, fx) } else { (y, fy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_is_found_to_the_last_digit() {
        let f = |x: f64| x.cos() - x;
        let found = zero(0.0, 1.0, f(0.0), f(1.0), f);
        assert!((found - 0.739_085_133_215_160_6).abs() < 3e-16);
    }

    #[test]
    fn a_touched_zero_is_found_far_beyond_half_of_the_digits() {
        let f = |x: f64| (1.0 - (x - 0.3).cos()) * (2.0 + x);
        let (near, _) = least(0.0, 1.0, f);
        assert!((near - 0.3).abs() < 1e-6);
        let found = touching_zero(near, 0.1, f);
        assert!((found - 0.3).abs() < 1e-13, "{found}");
    }
}
