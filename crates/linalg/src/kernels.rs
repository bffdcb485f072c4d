//! The inner loops on contiguous slices.
//!
//! Sums are taken in a fixed order and nothing is fused or reordered, so the results are the same on every machine,
//! whichever vector instructions it has.

/// Defines a function whose body is compiled once plainly and once for wide vector registers, and which picks at run time.
///
/// Only what is inlined into the body gains, so everything it calls in a loop must be `#[inline(always)]`.
macro_rules! vectorised {
    ($(#[$meta:meta])* $visible:vis fn $name:ident<$a:lifetime>($($arg:ident: $type:ty),* $(,)?) -> $out:ty $body:block) => {
        $(#[$meta])*
        $visible fn $name<$a>($($arg: $type),*) -> $out {
            struct Job<$a> { $($arg: $type),* }
            impl<$a> pulp::WithSimd for Job<$a> {
                type Output = $out;
                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) -> $out {
                    let Job { $($arg),* } = self;
                    $body
                }
            }
            pulp::Arch::new().dispatch(Job { $($arg),* })
        }
    };
}
pub(crate) use vectorised;

/// y += a x.
#[inline(always)]
pub(crate) fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// y += a[0] x[0] + ... + a[3] x[3], one after the other: four updates for one pass over y.
#[inline(always)]
pub(crate) fn axpy4(y: &mut [f64], a: [f64; 4], x: [&[f64]; 4]) {
    let n = y.len();
    let [x0, x1, x2, x3] = x.map(|x| &x[..n]);
    for i in 0..n {
        y[i] = (((y[i] + a[0] * x0[i]) + a[1] * x1[i]) + a[2] * x2[i]) + a[3] * x3[i];
    }
}

/// Adds up with four interleaved sums, which lets it run in vector registers.
#[inline(always)]
fn sum_by_lanes(x: &[f64], y: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let n = x.len().min(y.len());
    let (x4, x_rest) = x[..n].as_chunks::<4>();
    let (y4, y_rest) = y[..n].as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (x, y) in x4.iter().zip(y4) {
        for lane in 0..4 {
            sums[lane] += term(x[lane], y[lane]);
        }
    }
    let mut rest = 0.0;
    for (x, y) in x_rest.iter().zip(y_rest) {
        rest += term(*x, *y);
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

/// Scalar product.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    sum_by_lanes(x, y, |x, y| x * y)
}

/// Sum of absolute values.
#[inline(always)]
pub(crate) fn norm_1(x: &[f64]) -> f64 {
    sum_by_lanes(x, x, |x, _| x.abs())
}

/// Largest absolute value; NaN if there is one.
#[inline(always)]
pub(crate) fn norm_max(x: &[f64]) -> f64 {
    // Without their sign, doubles are ordered like their bits, infinity behind the finite ones and NaN behind infinity.
    let largest = x.iter().fold(0, |largest: i64, v| {
        largest.max((v.to_bits() & (u64::MAX >> 1)) as i64)
    });
    f64::from_bits(largest as u64)
}

/// Position of the first largest absolute value; 0 for an empty slice.
#[inline(always)]
pub(crate) fn position_of_largest(x: &[f64]) -> usize {
    let largest = norm_max(x);
    x.iter().position(|v| v.abs() == largest).unwrap_or(0)
}

/// Euclidean norm by scaling, so that neither tiny nor huge entries are lost.
#[inline(always)]
pub(crate) fn norm_2(x: &[f64]) -> f64 {
    let plain = dot(x, x);
    // No square that mattered is lost or overflows.
    if plain > f64::MIN_POSITIVE / f64::EPSILON && plain < f64::MAX {
        plain.sqrt()
    } else {
        norm_2_scaled(x)
    }
}

#[cold]
fn norm_2_scaled(x: &[f64]) -> f64 {
    let largest = norm_max(x);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let scale = power_of_two_below(largest);
    let sum: f64 = x.iter().map(|v| (v / scale) * (v / scale)).sum();
    scale * sum.sqrt()
}

/// True if every entry is finite.
#[inline(always)]
pub(crate) fn all_finite(x: &[f64]) -> bool {
    x.iter().fold(true, |finite, v| finite & v.is_finite())
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
        for scale in [1e200, 1.0, 1e-200] {
            let relative = norm_2(&[3.0 * scale, 4.0 * scale]) / scale / 5.0;
            assert!((relative - 1.0).abs() < 1e-15);
        }
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
