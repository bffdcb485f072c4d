//! Quantiles of an unknown over the runs of a sweep, time by time.

use super::{Sweep, SweepRow};

impl Sweep {
    /// The times at which rows hold the values of all unknowns.
    pub fn times(&self) -> &[f64] {
        &self.settings.times
    }

    /// Quantiles of an unknown, by its position among [`Sweep::unknowns`], over all runs that came so far: for each time one value for each
    /// level between 0 and 1, NaN where no run came. Between two runs they are interpolated.
    pub fn quantiles<const N: usize>(
        &self,
        rows: &[SweepRow],
        unknown: usize,
        levels: &[f64; N],
    ) -> Vec<[f64; N]> {
        let n = self.unknowns.len();
        let at_time = |time: usize| {
            let values = rows
                .iter()
                .filter_map(|row| row.values.get(time * n + unknown));
            let mut known: Vec<f64> = values.copied().filter(|value| value.is_finite()).collect();
            known.sort_by(f64::total_cmp);
            levels.map(|level| quantile(&known, level))
        };
        (0..self.times().len()).map(at_time).collect()
    }
}

/// A quantile of ascending values.
fn quantile(values: &[f64], level: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = level.clamp(0.0, 1.0) * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(last);
    values[below] + part * (values[above] - values[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        let values = [1.0, 2.0, 4.0, 8.0];
        let found = [0.0, 0.5, 0.75, 1.0].map(|level| quantile(&values, level));
        assert_eq!(found, [1.0, 3.0, 5.0, 8.0]);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(quantile(&[7.0], 0.95), 7.0);
    }
}
