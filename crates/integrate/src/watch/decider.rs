//! A function whose sign decides, by its series along the solution: how far that serves, and where the side is left.

use super::Isolation;
use crate::tolerances::{DECIDER_ROUNDING, DECIDER_TOLERANCES, MOST_SHRUNK};

/// A function that decides, expanded beside the unknowns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decider {
    /// Coefficients, and those of its operands by absolute value: what it cancels from.
    series: Vec<f64>,
    sizes: Vec<f64>,
    scaled: Vec<f64>,
    isolation: Isolation,
}

impl Decider {
    /// Takes the series `[order]` of a function as (coefficient, size of its operands).
    pub fn set(&mut self, series: impl Iterator<Item = (f64, f64)>) {
        self.series.clear();
        self.sizes.clear();
        for (coefficient, size) in series {
            self.series.push(coefficient);
            self.sizes.push(size);
        }
    }

    /// The step, up to h, on which the last two terms are small beside the function itself, (R1).
    pub fn limit(&self, rtol: f64, h: f64) -> f64 {
        let Some(top) = self.series.len().checked_sub(1).filter(|&top| top > 1) else {
            return h;
        };
        let mut h = h;
        for _ in 0..MAX_SHRINKS {
            let (mut power, mut greatest, mut noise) = (1.0f64, 0.0f64, 0.0f64);
            let mut tail = 0.0f64;
            for (m, (x, size)) in self.series.iter().zip(&self.sizes).enumerate() {
                let term = x.abs() * power;
                greatest = greatest.max(term);
                noise = noise.max(size * power);
                if m + 1 >= top {
                    tail = tail.max(term);
                }
                power *= h;
            }
            // What the operands cancel to is rounding: it has no tail.
            let allowed = (DECIDER_TOLERANCES * rtol * greatest).max(DECIDER_ROUNDING * noise);
            if tail <= allowed {
                return h;
            }
            // A tail that overflows says only that the step is far too long.
            let shrink = match (allowed / tail).powf(1.0 / top as f64) {
                factor if factor.is_finite() && factor > 0.0 => factor.clamp(MOST_SHRUNK, 0.95),
                _ => MOST_SHRUNK,
            };
            h *= shrink;
        }
        h
    }

    /// Where the function leaves the side that is held, within h ahead in a direction.
    ///
    /// With `own_zero` the point lies on the switching surface. With `has_root` a touch of zero leaves the side, too: the
    /// root there goes on as the negative one.
    pub fn leaves(
        &mut self,
        (side, direction): (f64, f64),
        h: f64,
        own_zero: bool,
        has_root: bool,
    ) -> Option<f64> {
        self.scaled.clear();
        let (mut power, mut noise) = (1.0, 0.0f64);
        for (m, (x, size)) in self.series.iter().zip(&self.sizes).enumerate() {
            self.scaled.push(x * power);
            // At its own zero the rest is looked at, which is regular there, or rounding as well.
            if m > 0 || !own_zero {
                noise += (size * power).abs();
            }
            power *= direction * h;
        }
        if self.scaled.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let n = self.scaled.len();
        let tail: f64 = self.scaled[n.saturating_sub(2)..]
            .iter()
            .map(|x| x.abs())
            .sum();
        let tail = if n > 2 { tail } else { 0.0 };
        let rounding = DECIDER_ROUNDING * noise;
        if n > 1 && own_zero {
            self.isolation.find(&self.scaled[1..], rounding);
        } else {
            self.isolation.find(&self.scaled, tail + rounding);
        }
        let left = self.isolation.leaves(side);
        let touched = match has_root && !own_zero {
            true => self.isolation.touches(side),
            false => None,
        };
        let first = match (left, touched) {
            (Some(left), Some(touched)) => Some(left.min(touched)),
            (left, touched) => left.or(touched),
        };
        first.map(|s| s * h)
    }
}

/// Attempts at a shorter step.
const MAX_SHRINKS: usize = 60;
