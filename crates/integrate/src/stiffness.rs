//! Whether stability or accuracy bounds the steps of a series.
//!
//! Near a slow solution a series is its slow part and a exp(lambda s) with a of the size of errors, and its last coefficients
//! are those of the mode: x_m = a lambda^m / m!. Section 12 of `docs/theory/implicit.md`.

/// Coefficients that a mode is read off.
pub(crate) const WINDOW: usize = 6;

/// How much lower the second window lies; a pole gives (K - 3)/K of the rate there.
const LOWER: usize = 3;

/// What ratios of a real mode and of a pair may leave, relative. Set on 16 stiff problems and 9 others, of which none was
/// called stiff twice in a row.
pub(crate) const REAL: f64 = 0.03;
pub(crate) const PAIR: f64 = 0.01;

/// Rates from both windows agree within this.
const SAME: f64 = 0.08;

/// Modes that decay by less than this part of their rate are oscillations.
const DAMPED: f64 = 0.02;

/// |lambda| h over (K!)^(1/K) from which stability bounds the step: 1.05 to 1.10 where it does, 0.6 at most elsewhere.
pub(crate) const BOUND: f64 = 0.9;

/// A mode: real and imaginary part of its rate.
#[derive(Clone, Copy, Debug)]
struct Mode {
    re: f64,
    im: f64,
}

impl Mode {
    fn size(self) -> f64 {
        self.re.hypot(self.im)
    }
}

/// Whether a series is long enough to read a mode off it.
pub(crate) fn is_readable(top: usize) -> bool {
    top > WINDOW + LOWER
}

/// Whether the mode of the unknown that bounds a step of length h decays and is what bounds it, (31).
///
/// `coefficient` gives those of that unknown up to the order `top`, `root` is [`factorial_root`] of it. `h` has the sign of the run.
pub(crate) fn is_bound(
    (top, root): (usize, f64),
    coefficient: impl Fn(usize) -> f64,
    h: f64,
) -> bool {
    let (Some(mode), Some(lower)) = (mode(top, &coefficient), mode(top - LOWER, &coefficient))
    else {
        return false;
    };
    let size = mode.size();
    mode.re * h.signum() < -DAMPED * size
        && size * h.abs() > BOUND * root
        && (mode.re - lower.re).hypot(mode.im - lower.im) <= SAME * size
}

/// (K!)^(1/K)
pub(crate) fn factorial_root(top: usize) -> f64 {
    let log_factorial: f64 = (2..=top).map(|m| (m as f64).ln()).sum();
    (log_factorial / top as f64).exp()
}

/// The mode of the coefficients up to an order, if they are those of one.
fn mode(top: usize, coefficient: impl Fn(usize) -> f64) -> Option<Mode> {
    let (last, before) = (coefficient(top), coefficient(top - 1));
    let scale = (top as f64 * last / before).abs();
    if !(scale.is_finite() && scale > 0.0) {
        return None;
    }
    // y_m = m! x_m over scale^m, up to a common factor.
    let mut y = [0.0; WINDOW];
    let mut factor = 1.0;
    for k in (0..WINDOW).rev() {
        let m = top + k + 1 - WINDOW;
        y[k] = coefficient(m) / last * factor;
        factor *= scale / m as f64;
    }
    if !y.iter().all(|y| y.is_finite()) {
        return None;
    }
    real(&y).or_else(|| pair(&y)).map(|Mode { re, im }| Mode {
        re: re * scale,
        im: im * scale,
    })
}

/// y_{m+1} = r y_m by least squares.
fn real(y: &[f64; WINDOW]) -> Option<Mode> {
    let (mut cross, mut square, mut total) = (0.0, 0.0, 0.0);
    for pair in y.windows(2) {
        cross += pair[0] * pair[1];
        square += pair[0] * pair[0];
        total += pair[1] * pair[1];
    }
    let r: f64 = cross / square;
    let left: f64 = y.windows(2).map(|p| (p[1] - r * p[0]).powi(2)).sum();
    (left <= REAL * REAL * total).then_some(Mode { re: r, im: 0.0 })
}

/// y_{m+2} = p y_{m+1} - q y_m by least squares; the larger root of z^2 - p z + q.
fn pair(y: &[f64; WINDOW]) -> Option<Mode> {
    let mut sums = [0.0; 5];
    let mut total = 0.0;
    for w in y.windows(3) {
        let terms = [
            w[1] * w[1],
            w[0] * w[1],
            w[0] * w[0],
            w[1] * w[2],
            w[0] * w[2],
        ];
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
        total += w[2] * w[2];
    }
    let [a, b, c, f, g] = sums;
    let determinant = b * b - a * c;
    let (p, q) = ((b * g - c * f) / determinant, (a * g - b * f) / determinant);
    let left: f64 = y
        .windows(3)
        .map(|w| (w[2] - p * w[1] + q * w[0]).powi(2))
        .sum();
    // NaN is no mode.
    if left.is_nan() || left > PAIR * PAIR * total {
        return None;
    }
    let under = 0.25 * p * p - q;
    Some(if under < 0.0 {
        Mode {
            re: 0.5 * p,
            im: (-under).sqrt(),
        }
    } else {
        Mode {
            re: 0.5 * p + under.sqrt().copysign(p),
            im: 0.0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: usize = 14;

    fn series(coefficient: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..=TOP).map(coefficient).collect()
    }

    fn is_stiff(series: &[f64], h: f64) -> bool {
        is_bound((TOP, factorial_root(TOP)), |m| series[m], h)
    }

    fn over_factorial(value: f64, m: usize) -> f64 {
        (1..=m).fold(value, |value, k| value / k as f64)
    }

    #[test]
    fn modes_are_seen_and_poles_and_oscillations_are_not() {
        // (K!)^(1/K) is 6.0 for K = 14.
        let decay = series(|m| over_factorial(1e-9 * (-1000.0f64).powi(m as i32), m));
        assert!(is_stiff(&decay, 6.3e-3));
        assert!(!is_stiff(&decay, 3e-3), "accuracy bounds it");
        assert!(!is_stiff(&decay, -6.3e-3), "it grows backwards");
        // The real part of exp((-300 + 950 i) s).
        let (size, angle) = (300.0f64.hypot(950.0), 950.0f64.atan2(-300.0));
        let damped = series(|m| over_factorial(size.powi(m as i32) * (m as f64 * angle).cos(), m));
        assert!(is_stiff(&damped, 6.3e-3));
        let pole = series(|m| 1000f64.powi(m as i32));
        assert!(!is_stiff(&pole, 1e-3));
        let alternating = series(|m| (-1000f64).powi(m as i32));
        assert!(!is_stiff(&alternating, 1e-3));
        let oscillation = series(|m| {
            over_factorial(
                1000f64.powi(m as i32) * (1.3 + m as f64 * std::f64::consts::FRAC_PI_2).cos(),
                m,
            )
        });
        assert!(!is_stiff(&oscillation, 6.3e-3));
    }
}
