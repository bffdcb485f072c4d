//! The inner loops on contiguous slices.
//!
//! Nothing here is reordered by the compiler, so the results are the same on every machine.

/// y += a x.
#[inline(always)]
pub(crate) fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Scalar product with four interleaved sums, which lets it run in vector registers.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    let mut sums = [0.0; 4];
    let (x4, x_rest) = x.as_chunks::<4>();
    let (y4, y_rest) = y.as_chunks::<4>();
    for (x, y) in x4.iter().zip(y4) {
        for lane in 0..4 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let mut rest = 0.0;
    for (x, y) in x_rest.iter().zip(y_rest) {
        rest += x * y;
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

/// Largest absolute value; NaN if there is one.
#[inline(always)]
pub(crate) fn norm_max(x: &[f64]) -> f64 {
    let mut largest = 0.0_f64;
    let mut poison = 0.0;
    for &v in x {
        largest = if v.abs() > largest { v.abs() } else { largest };
        // 0 * v is zero for every finite v and NaN otherwise.
        poison += 0.0 * v;
    }
    largest + poison
}

/// Euclidean norm by scaling, so that neither tiny nor huge entries are lost.
pub(crate) fn norm_2(x: &[f64]) -> f64 {
    let plain = dot(x, x);
    if plain > 1e-280 && plain < 1e300 {
        return plain.sqrt();
    }
    let largest = norm_max(x);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let sum: f64 = x.iter().map(|v| (v / largest) * (v / largest)).sum();
    largest * sum.sqrt()
}

/// True if every entry is finite.
#[inline(always)]
pub(crate) fn all_finite(x: &[f64]) -> bool {
    let mut poison = 0.0;
    for &v in x {
        poison += 0.0 * v;
    }
    poison == 0.0
}

/// Largest power of two not above `x`, for scaling without rounding; 1 for zero and for values that are not finite.
pub(crate) fn power_of_two_below(x: f64) -> f64 {
    if !(x.is_finite() && x > 0.0) {
        return 1.0;
    }
    if x < f64::MIN_POSITIVE {
        return f64::MIN_POSITIVE;
    }
    f64::from_bits(x.to_bits() & (0x7ff << 52))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_survive_extreme_entries() {
        assert_eq!(norm_2(&[3e200, 4e200]), 5e200);
        assert_eq!(norm_2(&[3e-200, 4e-200]), 5e-200);
        assert_eq!(norm_2(&[]), 0.0);
        assert!(norm_max(&[1.0, f64::NAN, 2.0]).is_nan());
        assert!(!all_finite(&[1.0, f64::INFINITY]));
    }

    #[test]
    fn powers_of_two_are_exact() {
        for (x, p) in [
            (1.0, 1.0),
            (1.5, 1.0),
            (4.0, 4.0),
            (0.3, 0.25),
            (0.0, 1.0),
            (f64::NAN, 1.0),
        ] {
            assert_eq!(power_of_two_below(x), p);
        }
    }
}
