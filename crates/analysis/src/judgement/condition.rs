//! How well the derivative array is conditioned: at a regular point, and from afar at singular ones.

use crate::System;
use crate::fullness::{Fullness, condition};
use crate::initial::{ConstraintArray, TaylorJet};
use crate::passport::Passport;
use crate::series::MatrixSeries;

/// The condition of the derivative array at other points of a model, with the index and the ranks of a regular one.
///
/// Where a point is singular the ranks are smaller, and this condition grows without bound: it shows singularities from afar.
#[derive(Clone, Copy, Debug)]
pub struct ArrayCondition {
    index: usize,
    leading_rank: usize,
    whole_rank: usize,
}

impl ArrayCondition {
    /// Takes index and ranks from a regular point; `None` if it has none.
    pub fn of(passport: &Passport) -> Option<Self> {
        Self::of_fullness(&passport.numerical.as_ref().ok()?.fullness)
    }

    pub(super) fn of_fullness(fullness: &Fullness) -> Option<Self> {
        let (index, _) = fullness.conclusion.ok().flatten()?;
        let level = fullness.levels.get(index.checked_sub(1)?)?;
        Some(Self {
            index,
            leading_rank: fullness.leading.as_ref()?.rank,
            whole_rank: level.whole.rank,
        })
    }

    /// The condition along a jet; `None` where the equations have no value, or the jet is too short for the index.
    pub fn at(&self, system: &System, time: f64, jet: &TaylorJet) -> Option<f64> {
        let order = self.index - 1;
        if jet.n_orders() < order + 2 {
            return None;
        }
        let mut array = ConstraintArray::new(system, time, order);
        let series = array.matrix_series(jet, order).ok()?;
        self.of_series(&series)
    }

    pub(super) fn of_series(&self, series: &MatrixSeries) -> Option<f64> {
        condition(series, self.index, self.leading_rank, self.whole_rank, true)
    }
}
