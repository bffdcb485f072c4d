//! Singularities that the coefficients of the series alone point at.

use super::{STREAK, Taylor};
use crate::monitor::Zero;
use crate::outcome::{Nature, RatioFit, StopReason};
use crate::step::{AGREEMENT, StepSize};

/// A singularity that the coefficients alone point at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    pub time: f64,
    pub distance: f64,
    pub streak: usize,
}

impl Taylor<'_> {
    /// Watches a singularity that the coefficients point at, with or without a zero of a determinant.
    pub(super) fn follow_tail(&mut self, size: StepSize) -> Option<StopReason> {
        self.rule.fits(&self.series, self.direction, &mut self.fits);
        let nearest = self
            .fits
            .iter()
            .map(|fit| fit.distance)
            .min_by(|a, b| a.abs().total_cmp(&b.abs()));
        let Some(distance) = nearest else {
            self.tail.streak = 0;
            return None;
        };
        let time = self.time + distance;
        let same = (time - self.tail.time).abs() < AGREEMENT * distance.abs();
        self.tail = Tail {
            time,
            distance,
            streak: if same { self.tail.streak + 1 } else { 1 },
        };
        (self.is_near_end(distance) && self.tail.streak >= STREAK).then(|| self.end_of_tail(size))
    }

    /// Ends the run at the singularity that the coefficients point at.
    pub(super) fn end_of_tail(&mut self, size: StepSize) -> StopReason {
        let time = self.tail.time;
        self.fits
            .retain(|fit| (fit.distance / self.tail.distance - 1.0).abs() < 2.0 * AGREEMENT);
        let nature = nature_of(&self.fits);
        // A quantity that vanishes like a power of the distance makes it a singularity of the equations.
        let quantity = self
            .monitor
            .vanishing(time)
            .filter(|&(_, exponent)| exponent > 0.1);
        match (quantity, nature) {
            (None, Nature::Unbounded) => StopReason::FiniteEscape {
                time,
                fits: self.fits.clone(),
            },
            (quantity, nature) => {
                let quantity = quantity.map(|(quantity, _)| quantity);
                let zero = Zero::touching(0, time);
                self.end_with(quantity, zero, nature, size)
            }
        }
    }
}

/// What exponents say: growth without bound if one is negative, or zero as of a logarithm; a branch point otherwise.
pub(super) fn nature_of(fits: &[RatioFit]) -> Nature {
    if fits.iter().any(|fit| fit.exponent < 0.05) {
        Nature::Unbounded
    } else {
        Nature::Branch
    }
}
