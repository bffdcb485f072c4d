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

/// Number of nodes of the interpolants.
pub(crate) const NODES: usize = 12;

/// The angle of a Chebyshev node.
pub(crate) fn angle(k: usize) -> f64 {
    std::f64::consts::PI * (k as f64 + 0.5) / NODES as f64
}

/// Coefficients of the interpolant in Chebyshev polynomials, from the values at the nodes; the first one counts half.
pub(crate) fn chebyshev(values: &[f64]) -> Vec<f64> {
    let coefficient = |j: usize| {
        let terms = values.iter().enumerate();
        let sum: f64 = terms
            .map(|(k, value)| value * (j as f64 * angle(k)).cos())
            .sum();
        2.0 * sum / NODES as f64
    };
    (0..NODES).map(coefficient).collect()
}

/// A zero that other values around it were asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Refined {
    pub at: f64,
    /// How far off it may be; 0 for a simple zero, which is as good as it was.
    pub uncertainty: f64,
}

/// Halvings of the surroundings that a zero is looked at in.
const MAX_RADII: usize = 8;

/// The highest power that is told from others.
const MAX_POWER: f64 = 24.0;

/// A power that differs more than this from a whole number is none.
const WHOLE: f64 = 0.3;

/// Values below this part of those at the edge of the surroundings may be rounding.
const ROUNDING: f64 = 1e-12;

/// The last coefficients of a smooth root are below this part of its slope.
const SMOOTH: f64 = 1e-3;

/// Looks at a zero of f that may be a multiple one, (17).
///
/// f ~ s^m says where it vanishes to eps^(1/m) only. Its m-th root has a simple zero there; it is interpolated from values at a
/// distance, which are good to rounding. The last coefficients of the interpolant tell how good it is.
pub(crate) fn refined(near: f64, radius: f64, mut f: impl FnMut(f64) -> f64) -> Refined {
    let edge = f(near - radius).abs().max(f(near + radius).abs());
    for part in [SMOOTH, 0.01 * SMOOTH] {
        let r = part * radius;
        let [left, right] = [-r, r].map(|s| (f(near + s), f(near + 0.5 * s)));
        let is_line = |(far, close): (f64, f64)| {
            ((far / close).log2() - 1.0).abs() < WHOLE && far.abs() > 1e3 * ROUNDING * edge
        };
        if is_line(left) && is_line(right) {
            return Refined {
                at: near,
                uncertainty: 0.0,
            };
        }
    }
    let mut best: Option<Refined> = None;
    let mut r = radius;
    // Where values are rounding, nothing says where the zero is.
    let mut flat = 0.0;
    for _ in 0..MAX_RADII {
        let centre = best.map_or(near, |best| best.at);
        let mut slope = |side: f64| {
            let (far, close) = (f(centre + side * r), f(centre + 0.5 * side * r));
            if close.abs() <= ROUNDING * edge {
                flat = f64::max(flat, 0.5 * r);
            }
            (far / close).abs().log2()
        };
        let power = 0.5 * (slope(1.0) + slope(-1.0));
        let whole = power.round();
        if (2.0..=MAX_POWER).contains(&whole)
            && (power - whole).abs() < WHOLE
            && let Some(found) = root_of_power(centre, r, whole, edge, &mut f)
            && best.is_none_or(|best| found.uncertainty < best.uncertainty)
        {
            best = Some(found);
        }
        r *= 0.5;
    }
    best.unwrap_or(Refined {
        at: near,
        uncertainty: flat,
    })
}

/// The zero of the interpolant of |f|^(1/m), with the sign of the side; `None` if f is no such power.
fn root_of_power(
    centre: f64,
    radius: f64,
    power: f64,
    edge: f64,
    mut f: impl FnMut(f64) -> f64,
) -> Option<Refined> {
    let mut root = |side: f64| {
        let size = f(centre + radius * side).abs();
        size.powf(1.0 / power).copysign(side)
    };
    let values: Vec<f64> = (0..NODES).map(|k| root(angle(k).cos())).collect();
    let coefficients = chebyshev(&values);
    let value = |u: f64| {
        let (mut b1, mut b2) = (0.0, 0.0);
        for coefficient in coefficients[1..].iter().rev() {
            (b1, b2) = (2.0 * u * b1 - b2 + coefficient, b1);
        }
        u * b1 - b2 + 0.5 * coefficients[0]
    };
    let slope = coefficients[1];
    let tail = coefficients[NODES - 4..].iter();
    let tail = tail.map(|c| c.abs()).fold(0.0, f64::max) / slope;
    let (left, right) = (value(-0.9), value(0.9));
    if !(left < 0.0 && right > 0.0 && tail < SMOOTH) {
        return None;
    }
    let u = zero(0.1, 1.9, left, right, |u| value(u - 1.0)) - 1.0;
    // Close to the zero, but above rounding: several zeros side by side would show.
    let aside = (10.0 * ROUNDING * edge).powf(1.0 / power) / slope;
    let is_one = [-aside, aside].into_iter().all(|aside| {
        let (found, expected) = (root(u + aside).abs(), value(u + aside).abs());
        (0.5..2.0).contains(&(found / expected))
    });
    is_one.then_some(Refined {
        at: centre + radius * u,
        // Rounding leaves as much in every coefficient as in the last ones.
        uncertainty: NODES as f64 * radius * (tail + f64::EPSILON),
    })
}

/// Finds the zero of f' near the middle of an interval, where f itself does not change its sign.
///
/// f is interpolated at Chebyshev nodes; the zero of the interpolant's derivative is good to rounding over the
/// curvature of f in units of the interval, where a search for the least value would lose half of the digits.
pub(crate) fn touching_zero(centre: f64, radius: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let values: Vec<f64> = (0..NODES)
        .map(|k| f(centre + radius * angle(k).cos()))
        .collect();
    if values.iter().any(|value| !value.is_finite()) {
        return centre;
    }
    let coefficients = chebyshev(&values);
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
    let golden = 0.5 * (3.0 - 5f64.sqrt());
    let (mut x, mut y) = (a + golden * (c - a), c - golden * (c - a));
    let (mut fx, mut fy) = (f(x), f(y));
    for _ in 0..45 {
        if fx <= fy {
            (c, y, fy) = (y, x, fx);
            x = a + golden * (c - a);
            fx = f(x);
        } else {
            (a, x, fx) = (x, y, fy);
            y = c - golden * (c - a);
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
    fn a_multiple_zero_is_found_to_many_digits() {
        for power in 2..=7 {
            // Rounding of 1e-16 of the terms that cancel.
            let f = |x: f64| {
                let power = (x - 0.3).sin().powi(power) * (2.0 + x + x * x);
                (power + 1.0) - 1.0
            };
            let off = 0.3 + 0.3 * 1e-16f64.powf(1.0 / f64::from(power));
            let found = refined(off, 0.2, f);
            let error = (found.at - 0.3).abs();
            assert!(error <= found.uncertainty, "{power}: {found:?}");
            // A search for the change of sign alone is off by 0.3 times this power, 5e-3 for m = 7.
            let wanted = if power < 6 { 1e-9 } else { 1e-7 };
            assert!(found.uncertainty < wanted, "{power}: {found:?}");
        }
    }

    #[test]
    fn simple_zeros_stay_where_they_are() {
        for apart in [10.0, 0.1, 1e-2, 1e-3, 1e-4] {
            let f = |x: f64| (x - 0.3) * (x - 0.3 - apart) * (2.0 + x);
            let found = refined(0.3, 0.2, f);
            assert!(
                (found.at - 0.3).abs() <= found.uncertainty,
                "{apart}: {found:?}"
            );
        }
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
