//! Whether small errors grow in the runs of a sweep, (R15): some points are asked first, and all of them if one says so.

use super::execution::Worker;
use super::{Measure, Sweep};
use crate::estimate::GROWN;
use crate::observe::Interrupt;
use std::sync::Arc;

/// Of so many points one is asked, both ends too, and no more than this: a run that is asked takes some three times as long, so that all take an
/// eighth more, and a region of chaos that is smaller than a part in so many of all points may be missed.
const ASKED: usize = 16;

impl Sweep {
    /// Whether errors of one of some runs, spread over all points, have grown. The same for every part of the sweep.
    pub(super) fn errors_grow(&self, interrupt: Option<&Arc<Interrupt>>) -> bool {
        let is_of_values = !self.settings.times.is_empty()
            || self
                .measures
                .iter()
                .any(|m: &Measure| m.quantity().is_some());
        is_of_values && *self.grows.get_or_init(|| self.asked(interrupt))
    }

    fn asked(&self, interrupt: Option<&Arc<Interrupt>>) -> bool {
        let n = self.points.len();
        let n_asked = (2 + n / ASKED).min(ASKED).min(n);
        let mut worker = Worker::new(self, interrupt, true);
        (0..n_asked).any(|k| {
            let number = k * (n - 1) / (n_asked - 1).max(1);
            let row = worker.row(number);
            row.is_some_and(|row| row.reason.contains(GROWN))
        })
    }
}
