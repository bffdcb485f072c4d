//! Splines of odd degree through data, and how far the data determine their derivatives.
//!
//! With k = degree + 1 the knots are the times of the data, the first and the last k/2 - 1 interior ones left out (not-a-knot), so that
//! there are as many B-splines as values. The system for their coefficients is banded and totally positive: elimination
//! without pivoting is stable (C. de Boor, A Practical Guide to Splines, chapters 13 and 14).

use std::fmt;

/// Highest degree that is tried: beyond it rounding outweighs what smooth data gain.
pub const MAX_DEGREE: usize = 13;

/// A spline may differ from its own data by this part of their size.
const FITS: f64 = 1e-11;

/// A higher degree must predict the values left out better by this factor to be preferred.
const GAIN: f64 = 0.5;

/// Why data have no spline.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum SplineError {
    /// A time or value is no finite number.
    NotFinite {
        /// Which sample.
        sample: usize,
    },
    /// A time does not lie behind the one before.
    NotIncreasing {
        /// Which sample.
        sample: usize,
    },
    /// There are fewer samples than a spline of the degree needs.
    TooFew {
        /// How many there are.
        n_samples: usize,
        /// How many it takes.
        needed: usize,
    },
    /// Rounding takes over: the samples lie too unevenly for the degree.
    TooUneven,
}

impl fmt::Display for SplineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { sample } => write!(f, "sample {} is not a number", sample + 1),
            Self::NotIncreasing { sample } => write!(
                f,
                "the time of sample {} does not lie behind the one before",
                sample + 1
            ),
            Self::TooFew { n_samples, needed } => {
                write!(f, "{n_samples} samples are too few, it takes {needed}")
            }
            Self::TooUneven => write!(f, "the samples lie too unevenly"),
        }
    }
}

impl std::error::Error for SplineError {}

/// A spline as polynomials between knots.
#[derive(Clone, PartialEq, Debug)]
pub struct Spline {
    /// Degree of the polynomials; derivatives up to one less are continuous.
    pub degree: usize,
    /// Where the pieces begin and end.
    pub knots: Vec<f64>,
    /// Coefficients in powers of the time from the middle of each piece, `[piece][order]`.
    pub coefficients: Vec<f64>,
}

/// How well data determine a derivative: the spline through all samples against that through every second one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Roughness {
    /// The derivative looked at.
    pub derivative: usize,
    /// Greatest difference of a value left out from what the others predict.
    pub value_change: f64,
    /// Greatest difference of the derivative between the two splines.
    pub derivative_change: f64,
    /// Greatest size of the derivative; at least that of a function of this size that changes once over the whole time.
    pub derivative_size: f64,
}

impl Roughness {
    /// The part of the derivative that the samples leave open.
    pub fn relative(&self) -> f64 {
        if self.derivative_size == 0.0 {
            0.0
        } else {
            self.derivative_change / self.derivative_size
        }
    }

    /// How many times larger an error of the values is in the derivative.
    pub fn amplification(&self) -> f64 {
        if self.value_change == 0.0 {
            0.0
        } else {
            self.derivative_change / self.value_change
        }
    }
}

/// Samples of a function of time, checked.
#[derive(Clone, Copy, Debug)]
pub struct SplineSamples<'a> {
    times: &'a [f64],
    values: &'a [f64],
}

impl<'a> SplineSamples<'a> {
    /// Checks that all are numbers and that the times increase.
    pub fn new(times: &'a [f64], values: &'a [f64]) -> Result<Self, SplineError> {
        for (sample, (time, value)) in times.iter().zip(values).enumerate() {
            if !(time.is_finite() && value.is_finite()) {
                return Err(SplineError::NotFinite { sample });
            }
            if sample > 0 && *time <= times[sample - 1] {
                return Err(SplineError::NotIncreasing { sample });
            }
        }
        let n = times.len().min(values.len());
        Ok(Self {
            times: &times[..n],
            values: &values[..n],
        })
    }

    /// The spline of the odd degree, at least `least`, that predicts samples left out best.
    pub fn best_spline(&self, least: usize) -> Result<Spline, SplineError> {
        let least = least | 1;
        let mut best = self.spline(least)?;
        let mut error = self.prediction_error(least);
        for degree in (least + 2..=MAX_DEGREE).step_by(2) {
            let Some(next) = self.prediction_error(degree) else {
                break;
            };
            // Data that a cubic predicts no better than straight lines have corners.
            let gain = if best.degree == 1 { 1.0 } else { GAIN };
            if error.is_some_and(|error| next < gain * error)
                && let Ok(better) = self.spline(degree)
            {
                best = better;
                error = Some(next);
            }
        }
        Ok(best)
    }

    /// The spline of an odd degree through all samples.
    pub fn spline(&self, degree: usize) -> Result<Spline, SplineError> {
        let (times, n) = (self.times, self.times.len());
        let order = degree + 1;
        if n < order {
            return Err(SplineError::TooFew {
                n_samples: n,
                needed: order,
            });
        }
        let knots: Vec<f64> = std::iter::repeat_n(times[0], order)
            .chain(times[order / 2..n - order / 2].iter().copied())
            .chain(std::iter::repeat_n(times[n - 1], order))
            .collect();
        let coefficients = self.interpolate(&knots, degree)?;
        let inner = &knots[degree..=n];
        let mut pieces = Vec::with_capacity((inner.len() - 1) * order);
        for piece in 0..inner.len() - 1 {
            let interval = degree + piece;
            let middle = 0.5 * (inner[piece] + inner[piece + 1]);
            taylor(&knots, &coefficients, degree, interval, middle, &mut pieces);
        }
        let spline = Spline {
            degree,
            knots: inner.to_vec(),
            coefficients: pieces,
        };
        let size = self.values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let misfit = self.largest(|t, value| (spline.derivative(t, 0) - value).abs());
        if misfit <= FITS * size {
            Ok(spline)
        } else {
            Err(SplineError::TooUneven)
        }
    }

    /// Coefficients of the B-splines whose sum takes the values.
    fn interpolate(&self, knots: &[f64], degree: usize) -> Result<Vec<f64>, SplineError> {
        let n = self.times.len();
        let width = 2 * degree + 1;
        // Row i holds columns i - degree to i + degree.
        let mut band = vec![0.0; n * width];
        let mut basis = vec![0.0; degree + 1];
        for (i, &time) in self.times.iter().enumerate() {
            let interval = interval(knots, degree, n, time);
            b_splines(knots, degree, interval, time, &mut basis);
            for (k, &value) in basis.iter().enumerate() {
                let column = interval - degree + k;
                if value != 0.0 {
                    band[i * width + column + degree - i] = value;
                }
            }
        }
        let mut x = self.values.to_vec();
        for pivot in 0..n {
            let diagonal = band[pivot * width + degree];
            if diagonal <= 0.0 || diagonal.is_nan() {
                return Err(SplineError::TooUneven);
            }
            for row in pivot + 1..n.min(pivot + degree + 1) {
                let place = row * width + pivot + degree - row;
                let factor = band[place] / diagonal;
                if factor == 0.0 {
                    continue;
                }
                for column in pivot + 1..n.min(pivot + degree + 1) {
                    band[row * width + column + degree - row] -=
                        factor * band[pivot * width + column + degree - pivot];
                }
                x[row] -= factor * x[pivot];
            }
        }
        for row in (0..n).rev() {
            let mut sum = x[row];
            for column in row + 1..n.min(row + degree + 1) {
                sum -= band[row * width + column + degree - row] * x[column];
            }
            x[row] = sum / band[row * width + degree];
        }
        Ok(x)
    }

    /// The spline through every second sample, if there are enough.
    fn halved(&self, degree: usize) -> Option<Spline> {
        let every_second = |all: &[f64]| all.iter().copied().step_by(2).collect::<Vec<f64>>();
        let (times, values) = (every_second(self.times), every_second(self.values));
        let samples = SplineSamples {
            times: &times,
            values: &values,
        };
        samples.spline(degree).ok()
    }

    /// How far the samples left out lie from the spline through every second one.
    fn prediction_error(&self, degree: usize) -> Option<f64> {
        let half = self.halved(degree)?;
        let (_, last) = half.span();
        Some(self.largest(|t, value| {
            if t <= last {
                (half.derivative(t, 0) - value).abs()
            } else {
                0.0
            }
        }))
    }

    /// Compares a derivative of the spline with that of the spline through every second sample; `None` without enough
    /// samples to compare.
    pub fn roughness(&self, spline: &Spline, derivative: usize) -> Option<Roughness> {
        let half = self.halved(spline.degree)?;
        let (_, last) = half.span();
        let mut found = Roughness {
            derivative,
            value_change: self.prediction_error(spline.degree)?,
            derivative_change: 0.0,
            derivative_size: self.largest(|_, value| value.abs())
                / (last - self.times[0]).powi(derivative as i32),
        };
        for pair in self.times.windows(2) {
            let time = 0.5 * (pair[0] + pair[1]);
            if time > last {
                break;
            }
            let here = spline.derivative(time, derivative);
            let there = half.derivative(time, derivative);
            found.derivative_change = found.derivative_change.max((here - there).abs());
            found.derivative_size = found.derivative_size.max(here.abs());
        }
        Some(found)
    }

    fn largest(&self, f: impl Fn(f64, f64) -> f64) -> f64 {
        let all = self.times.iter().zip(self.values);
        all.map(|(&time, &value)| f(time, value))
            .fold(0.0, f64::max)
    }
}

impl Spline {
    fn span(&self) -> (f64, f64) {
        (self.knots[0], self.knots[self.knots.len() - 1])
    }

    /// A derivative at a time.
    pub fn derivative(&self, time: f64, derivative: usize) -> f64 {
        let after = self.knots.partition_point(|&knot| knot <= time);
        let piece = after.clamp(1, self.knots.len() - 1) - 1;
        let offset = time - 0.5 * (self.knots[piece] + self.knots[piece + 1]);
        let coefficients = &self.coefficients[piece * (self.degree + 1)..][..self.degree + 1];
        let mut value = 0.0;
        for m in (derivative..=self.degree).rev() {
            let falling: f64 = (m - derivative + 1..=m).map(|f| f as f64).product();
            value = value * offset + falling * coefficients[m];
        }
        value
    }
}

/// The interval t_l <= time < t_(l+1) with degree <= l < n; the last one at the end.
fn interval(knots: &[f64], degree: usize, n: usize, time: f64) -> usize {
    let after = knots.partition_point(|&knot| knot <= time);
    after.clamp(degree + 1, n) - 1
}

/// The B-splines that do not vanish on an interval, by their recurrence.
fn b_splines(knots: &[f64], degree: usize, interval: usize, time: f64, into: &mut [f64]) {
    into.fill(0.0);
    into[0] = 1.0;
    for d in 1..=degree {
        let mut saved = 0.0;
        for k in 0..d {
            let right = knots[interval + k + 1];
            let left = knots[interval + k + 1 - d];
            let term = into[k] / (right - left);
            into[k] = saved + (right - time) * term;
            saved = (time - left) * term;
        }
        into[d] = saved;
    }
}

/// Appends the Taylor coefficients of a spline at a time within an interval.
fn taylor(
    knots: &[f64],
    coefficients: &[f64],
    degree: usize,
    interval: usize,
    time: f64,
    into: &mut Vec<f64>,
) {
    let first = interval - degree;
    let mut differences = coefficients[first..=interval].to_vec();
    let mut basis = vec![0.0; degree + 1];
    for order in 0..=degree {
        let rest = degree - order;
        b_splines(knots, rest, interval, time, &mut basis[..rest + 1]);
        let sum = basis.iter().zip(&differences).take(rest + 1);
        into.push(sum.map(|(b, c)| b * c).sum());
        // Coefficients of the derivative over its factorial: one B-spline less, of one degree less.
        for k in 0..rest {
            let j = first + order + k + 1;
            let width = knots[j + rest] - knots[j];
            differences[k] =
                (differences[k + 1] - differences[k]) * rest as f64 / (width * (order + 1) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(n: usize, end: f64, f: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<f64>) {
        let times: Vec<f64> = (0..n).map(|k| end * k as f64 / (n - 1) as f64).collect();
        let values = times.iter().map(|&t| f(t)).collect();
        (times, values)
    }

    #[test]
    fn polynomials_of_the_degree_are_reproduced_with_all_derivatives() {
        for degree in [3, 5, 7, 9, 11, 13] {
            // Uneven samples of (t - 1)^degree.
            let times: Vec<f64> = (0..20)
                .map(|k| f64::from(k) * (1.0 + 0.03 * f64::from(k)) / 20.0)
                .collect();
            let values: Vec<f64> = times
                .iter()
                .map(|t| (t - 1.0).powi(degree as i32))
                .collect();
            let samples = SplineSamples::new(&times, &values).expect("sound");
            let spline = samples.spline(degree).expect("enough");
            for derivative in 0..3 {
                let falling: f64 = (degree - derivative + 1..=degree)
                    .map(|f| f as f64)
                    .product();
                for t in [0.01, 0.3, 0.77, 1.2] {
                    let exact = falling * (t - 1.0f64).powi((degree - derivative) as i32);
                    let found = spline.derivative(t, derivative);
                    let bound = 1e-12 * 100f64.powi(derivative as i32);
                    assert!(
                        (found - exact).abs() < bound,
                        "{degree} {derivative} {t}: {found} {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_thousand_points_of_a_smooth_torque_are_good_to_ten_digits() {
        let f = |t: f64| 40.0 * (3.0 * t).sin() + 9.0 * (7.0 * t + 1.0).cos() * (-0.1 * t).exp();
        let (times, values) = sampled(1000, 10.0, f);
        let samples = SplineSamples::new(&times, &values).expect("sound");
        let spline = samples.best_spline(3).expect("enough");
        let worst = (0..5000)
            .map(|k| 10.0 * (f64::from(k) + 0.5) / 5000.0)
            .map(|t| (spline.derivative(t, 0) - f(t)).abs())
            .fold(0.0, f64::max);
        assert!(
            worst < 1e-11 * 49.0,
            "{worst:e} with degree {}",
            spline.degree
        );
        let rough = samples.roughness(&spline, 3).expect("enough");
        assert!(rough.relative() < 1e-3, "{rough:?}");
    }

    #[test]
    fn noise_is_told_by_the_derivative_that_it_spoils() {
        // Noise of 1e-4 from a fixed sequence.
        let noise = |k: usize| 1e-4 * ((k * k * 7919 % 1009) as f64 / 504.5 - 1.0);
        let (times, mut values) = sampled(400, 4.0, f64::sin);
        for (k, value) in values.iter_mut().enumerate() {
            *value += noise(k);
        }
        let samples = SplineSamples::new(&times, &values).expect("sound");
        let spline = samples.best_spline(5).expect("enough");
        assert_eq!(spline.degree, 5, "noise is no reason for a high degree");
        let [value, third] = [0, 3].map(|m| samples.roughness(&spline, m).expect("enough"));
        assert!(value.relative() < 1e-2, "{value:?}");
        assert!(third.relative() > 0.5, "{third:?}");
        assert!(third.amplification() > 1e4, "{third:?}");
    }

    #[test]
    fn rounding_of_a_constant_is_not_rough() {
        let (times, values) = sampled(1000, 2.0, |_| 0.1);
        let samples = SplineSamples::new(&times, &values).expect("sound");
        let spline = samples.best_spline(5).expect("enough");
        let rough = samples.roughness(&spline, 3).expect("enough");
        assert!(rough.relative() < 1e-3, "{rough:?}");
    }

    #[test]
    fn unusable_samples_are_told() {
        let times = [0.0, 1.0, 1.0, 2.0];
        let found = SplineSamples::new(&times, &[0.0; 4]).err();
        assert_eq!(found, Some(SplineError::NotIncreasing { sample: 2 }));
        let found = SplineSamples::new(&[0.0, 1.0], &[0.0, f64::NAN]).err();
        assert_eq!(found, Some(SplineError::NotFinite { sample: 1 }));
        let samples = SplineSamples::new(&[0.0, 1.0, 2.0], &[0.0; 3]).expect("sound");
        let found = samples.best_spline(3).err();
        assert_eq!(
            found,
            Some(SplineError::TooFew {
                n_samples: 3,
                needed: 4
            })
        );
    }
}
