//! Singularities that the coefficients of the series alone point at.

use super::{SAME_TIME, STREAK, Taylor};
use crate::monitor::{Expansion, Zero};
use crate::outcome::{Nature, RatioFit, StopReason};
use crate::stages::Passage;
use crate::step::{AGREEMENT, StepSize};

/// Exponents below this are those of poles and logarithms.
pub(super) const LEAST_POWER: f64 = 0.05;

/// A singularity that the coefficients alone point at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tail {
    pub time: f64,
    pub distance: f64,
    pub streak: usize,
}

impl Tail {
    /// Takes what an expansion at a time points at, the nearest singularity of all; whether it points at any.
    pub fn follow(&mut self, time: f64, fits: &[RatioFit]) -> bool {
        let nearest = fits
            .iter()
            .map(|fit| fit.distance)
            .min_by(|a, b| a.abs().total_cmp(&b.abs()));
        let Some(distance) = nearest else {
            self.streak = 0;
            return false;
        };
        let ahead = time + distance;
        let same = (ahead - self.time).abs() < AGREEMENT * distance.abs();
        *self = Self {
            time: ahead,
            distance,
            streak: if same { self.streak + 1 } else { 1 },
        };
        true
    }
}

impl Taylor<'_> {
    /// Watches a singularity that the coefficients point at, with or without a zero of a determinant; whether the run has come to it.
    pub(super) fn follow_tail(&mut self) -> bool {
        self.rule.fits(&self.series, self.direction, &mut self.fits);
        if !self.tail.follow(self.time, &self.fits) {
            return false;
        }
        let distance = self.tail.distance;
        let is_there = self.is_near_end(distance) && self.tail.streak >= STREAK;
        is_there && !self.has_no_branch() && !self.switches_before(distance)
    }

    /// Whether a side is left before a singular point: it is one of equations that do not hold there. Coefficients know it to [`AGREEMENT`];
    /// a side that is left as near as that is left before it if what vanishes there has not vanished yet.
    fn switches_before(&mut self, distance: f64) -> bool {
        if self.stages.n_branches() == 0 {
            return false;
        }
        let distance = distance.abs();
        let Some((s, _)) = self.first_switch((1.0 + 2.0 * AGREEMENT) * distance) else {
            return false;
        };
        let quantity = match self.vanishing_at_tail() {
            _ if s < (1.0 - 2.0 * AGREEMENT) * distance => return true,
            Some(quantity) => quantity,
            None => return false,
        };
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let mut size = |s: f64| self.monitor.value(expansion, quantity, s);
        match (size(0.0), size(self.direction * s)) {
            (Some(here), Some(there)) => there.log_abs > here.log_abs + SAME_TIME.ln(),
            _ => false,
        }
    }

    /// Whether the coefficients point at a singular point of the equations where they have none: nothing vanishes there, (R21).
    pub(super) fn has_no_branch(&mut self) -> bool {
        self.keep_fits_of_tail();
        let powers = self.fits.iter().map(|fit| fit.exponent);
        let power = powers.fold(1.0, f64::min).max(LEAST_POWER);
        let quantity = match nature_of(&self.fits) {
            Nature::Branch => None,
            // Without a quantity that vanishes it is an escape, which needs none.
            _ => match self.vanishing_at_tail() {
                Some(quantity) => Some(quantity),
                None => return false,
            },
        };
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let at = (self.tail.distance, power);
        self.monitor
            .has_no_branch(expansion, at, quantity, self.stages.sides())
    }

    /// Whether what seems to grow without bound has grown beyond the size of its unknown: a pole that is faint so far may be passed
    /// beside it, (R22).
    pub(super) fn has_grown(&self) -> bool {
        let tolerances = &self.options.tolerances;
        let n = self.trajectory.n();
        let is_large = |fit: &RatioFit| {
            let nominal = tolerances.absolute(0, fit.unknown) / tolerances.rtol;
            (self.series[n + fit.unknown] * fit.distance).abs() > nominal
        };
        let mut poles = self.fits.iter().filter(|fit| is_pole(fit));
        poles.any(is_large)
    }

    /// The nature of a singular point that the run has come to: a pole that is still faint is none that was confirmed, (R22).
    pub(super) fn confirmed(&self, nature: Nature) -> Nature {
        // Logarithms are small as near as the run goes.
        let is_slow = self.fits.iter().all(|fit| fit.exponent > -LEAST_POWER);
        match nature {
            Nature::Unbounded if !is_slow && !self.has_grown() => Nature::Unresolved,
            _ => nature,
        }
    }

    /// Leaves the fits that point at the singularity.
    fn keep_fits_of_tail(&mut self) {
        self.rule.fits(&self.series, self.direction, &mut self.fits);
        self.fits
            .retain(|fit| (fit.distance / self.tail.distance - 1.0).abs() < 2.0 * AGREEMENT);
    }

    /// A quantity that vanishes like a power of the distance makes it a singularity of the equations.
    fn vanishing_at_tail(&self) -> Option<usize> {
        let vanishing = self.monitor.vanishing(self.tail.time);
        vanishing
            .filter(|&(_, exponent)| exponent > 0.1)
            .map(|(quantity, _)| quantity)
    }

    /// Ends the run at the singularity that the coefficients point at, or passes it where the solution goes on.
    pub(super) fn end_of_tail(&mut self, size: StepSize) -> Option<StopReason> {
        let time = self.tail.time;
        self.keep_fits_of_tail();
        let nature = nature_of(&self.fits);
        let (quantity, mut nature) = match (self.vanishing_at_tail(), nature) {
            (None, Nature::Unbounded) => {
                return Some(StopReason::FiniteEscape {
                    time,
                    fits: self.fits.clone(),
                });
            }
            (quantity, nature) => (quantity, self.confirmed(nature)),
        };
        let is_block = quantity.is_some_and(|quantity| self.monitor.block(quantity).is_some());
        let mut landing = None;
        if nature == Nature::Branch && is_block {
            let passage = self.passage_of_roots(time);
            (landing, nature) = match passage {
                Some(Passage::Several) => (None, Nature::Bifurcation),
                Some(Passage::Wide) => (None, Nature::Unresolved),
                Some(Passage::Ends) => (None, Nature::Branch),
                _ => (self.landing_behind(time), Nature::Branch),
            };
            nature = match (landing, passage) {
                (Some(_), _) => Nature::Steep,
                (None, Some(Passage::Rough)) => Nature::Unresolved,
                _ => nature,
            };
        }
        let stop = self.end_with(quantity, Zero::touching(0, time), nature, size);
        match landing {
            Some(landing) if self.options.on_singularity.goes_on() => {
                self.approach = None;
                self.near_misses.clear();
                self.tail = Tail::default();
                self.land(time, landing, size)
            }
            _ => Some(stop),
        }
    }
}

/// What exponents say: growth without bound if one is negative, or zero as of a logarithm; a branch point otherwise.
pub(super) fn nature_of(fits: &[RatioFit]) -> Nature {
    if fits.iter().any(is_pole) {
        Nature::Unbounded
    } else {
        Nature::Branch
    }
}

/// Whether an unknown looks like a pole or a logarithm.
fn is_pole(fit: &RatioFit) -> bool {
    fit.exponent < LEAST_POWER
}
