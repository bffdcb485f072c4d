//! Zeros of a function of time that comes with its first two Taylor coefficients, double zeros included.

use crate::tolerances::{HOLDS, SAME_INSTANT};

/// Samples per search. Of zeros between two samples a pair is seen by the rate between them; more can be missed.
const N_SAMPLES: usize = 400;

/// Where a function given by its coefficients 0, 1, 2 vanishes between two times, ends included (3).
///
/// Sign changes of the function and, where it touches zero, of its rate are bisected to the last digit. Samples at which
/// the function has no value separate the intervals that are searched.
pub(super) fn zeros(
    mut function: impl FnMut(f64) -> Option<[f64; 3]>,
    from: f64,
    to: f64,
) -> Vec<f64> {
    let times: Vec<f64> = (0..=N_SAMPLES)
        .map(|i| {
            let fraction = i as f64 / N_SAMPLES as f64;
            from + fraction * (to - from)
        })
        .collect();
    let samples: Vec<Option<[f64; 3]>> = times.iter().map(|&t| function(t)).collect();
    let largest = samples
        .iter()
        .flatten()
        .map(|s| s[0].abs())
        .fold(0.0, f64::max);
    let mut found = Vec::new();
    for (&t, sample) in times.iter().zip(&samples) {
        if sample.is_some_and(|s| s[0] == 0.0) {
            found.push(t);
        }
    }
    for (pair, t) in samples.windows(2).zip(times.windows(2)) {
        let [Some(left), Some(right)] = pair else {
            continue;
        };
        if left[0] * right[0] < 0.0 {
            let zero = bisect(&mut |t| function(t).map(|s| s[0]), t[0], t[1], left[0]);
            // A pole changes sign as well.
            let value = function(zero).map_or(0.0, |s| s[0].abs());
            if value <= left[0].abs().max(right[0].abs()) {
                found.push(zero);
            }
        } else if left[1] * right[1] < 0.0 && left[0] * left[1] < 0.0 {
            let place = bisect(&mut |t| function(t).map(|s| s[1]), t[0], t[1], left[1]);
            let Some([value, _, bend]) = function(place) else {
                continue;
            };
            // A least value is a pair of complex zeros, (value/bend)^(1/2) beside the place: the range of cosh(t/w)^2 says nothing of 1.
            let aside = HOLDS * (to - from).powi(2) * bend.abs();
            if value.abs() <= aside.min(HOLDS * largest) {
                found.push(place);
            } else if value * left[0] < 0.0 {
                // Two zeros between two samples, one on each side of the extreme value.
                let mut of_value = |t| function(t).map(|s| s[0]);
                found.push(bisect(&mut of_value, t[0], place, left[0]));
                found.push(bisect(&mut of_value, place, t[1], value));
            }
        }
    }
    for zero in &mut found {
        // Bisection ends beside a zero at t = 0, whose neighbours are tiny numbers.
        let is_tiny = zero.abs() <= SAME_INSTANT * (to - from);
        if is_tiny && function(0.0).is_none_or(|s| s[0].abs() <= HOLDS * largest) {
            *zero = 0.0;
        }
    }
    found.sort_by(f64::total_cmp);
    found.dedup_by(|a, b| (*a - *b).abs() <= SAME_INSTANT * (to - from));
    found
}

/// The place of a sign change, to the last digit; a value that does not exist counts as one.
fn bisect(value: &mut impl FnMut(f64) -> Option<f64>, mut a: f64, mut b: f64, at_a: f64) -> f64 {
    // A bracket of doubles is halved at most some 1100 times; 64 halvings exhaust the digits of a sample's width.
    for _ in 0..64 {
        let middle = 0.5 * (a + b);
        if middle <= a || middle >= b {
            break;
        }
        match value(middle) {
            Some(v) if v != 0.0 => {
                if (v > 0.0) == (at_a > 0.0) {
                    a = middle;
                } else {
                    b = middle;
                }
            }
            _ => return middle,
        }
    }
    if value(a).map_or(f64::INFINITY, f64::abs) < value(b).map_or(f64::INFINITY, f64::abs) {
        a
    } else {
        b
    }
}

#[cfg(test)]
mod tests {
    use super::zeros;

    /// Two zeros closer than two samples, at random places, to the last digits.
    #[test]
    fn pairs_between_samples_are_found() {
        for k in 1..200 {
            let middle = (f64::from(k) * 0.618_034).fract();
            let apart = 1e-3 * 0.9_f64.powi(k % 60);
            let f = |t: f64| {
                let s = t - middle;
                Some([s * s - apart * apart, 2.0 * s, 1.0])
            };
            let expected = [middle - apart, middle + apart];
            let expected: Vec<f64> = expected
                .into_iter()
                .filter(|t| (0.0..=1.0).contains(t))
                .collect();
            let found = zeros(f, 0.0, 1.0);
            assert_eq!(found.len(), expected.len(), "{middle} {apart}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-11, "{found} {expected}");
            }
        }
    }

    /// What is least at 1 is no zero, however large it is elsewhere; one less it is.
    #[test]
    fn least_values_are_no_zeros() {
        for k in 1..200 {
            let middle = (f64::from(k) * 0.618_034).fract();
            let width = 0.1 * 0.97_f64.powi(k);
            let power = 1 + k % 4;
            let f = |t: f64, floor: f64| {
                // (1 + u^2)^power, with its rate and half its second derivative.
                let (u, n) = ((t - middle) / width, f64::from(power));
                let base = 1.0 + u * u;
                let rate = 2.0 * n * u * base.powi(power - 1) / width;
                let second = base.powi(power - 1) + 2.0 * (n - 1.0) * u * u * base.powi(power - 2);
                Some([base.powi(power) - floor, rate, n * second / width.powi(2)])
            };
            assert!(
                zeros(|t| f(t, 0.0), 0.0, 1.0).is_empty(),
                "{middle} {width}"
            );
            let found = zeros(|t| f(t, 1.0), 0.0, 1.0);
            assert!(
                found.len() == 1 && (found[0] - middle).abs() < 1e-6 * width,
                "{found:?} {middle} {width}"
            );
        }
    }

    #[test]
    fn simple_double_and_end_zeros_are_found() {
        let sine = |t: f64| Some([t.sin(), t.cos(), -t.sin() / 2.0]);
        let found = zeros(sine, 0.0, 7.0);
        let expected = [0.0, std::f64::consts::PI, std::f64::consts::TAU];
        assert_eq!(found.len(), 3);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14);
        }
        let square = |t: f64| Some([(t - 0.3).powi(2), 2.0 * (t - 0.3), 1.0]);
        let found = zeros(square, -1.0, 1.0);
        assert!(found.len() == 1 && (found[0] - 0.3).abs() < 1e-14);
        assert!(zeros(|t| Some([t * t + 1e-3, 2.0 * t, 1.0]), -1.0, 1.1).is_empty());
        assert!(zeros(|t| Some([1.0 / t, -1.0 / (t * t), 0.0]), -1.0, 1.1).is_empty());
    }
}
