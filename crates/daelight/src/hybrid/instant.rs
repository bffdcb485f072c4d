//! Which events are one instant, and where it is: times that differ by rounding alone are one.
//!
//! Section 2 of `docs/theory/hybrid.md`, (H3f).

use super::scan::neighbours;
use super::{Driver, ROUNDING};
use crate::observe::WayBack;
use daelight_integrate::Trajectory;
use daelight_lang::ChangedBy;
use std::sync::PoisonError;

impl Driver<'_> {
    /// How long an instant is: times closer than that are one as far as numbers tell. Next to zero numbers are closer than any
    /// time that can be told from the start.
    pub(super) fn instant_long(&self) -> f64 {
        let span = (self.out.to - self.out.from).abs();
        ROUNDING * self.point.time.abs().max(f64::EPSILON * span)
    }

    pub(super) fn is_now(&self, time: f64) -> bool {
        (self.point.time - time).abs() <= self.instant_long()
    }

    /// Takes together what happens at one instant, which begins at the present point: with a relation that has changed, or with something
    /// that is due. It is at the last of the scheduled times, or where all relations that change within it have changed.
    pub(super) fn gather(&mut self, way: &mut WayBack, trajectory: &Trajectory) {
        let is_due = self.next_time() <= self.point.time;
        let first = self.point.time;
        let scheduled = self.last_scheduled(!is_due);
        let near: Vec<usize> = (0..self.hybrid.relations.len())
            .filter(|&at| self.may_change(at))
            .collect();
        if scheduled.is_none() && near.is_empty() {
            return;
        }
        let mut crossed: Vec<usize> = (0..self.hybrid.relations.len())
            .filter(|&at| !self.resting[at] && self.has_changed(at))
            .collect();
        let here = (self.point.clone(), self.start.take());
        let end = first + self.instant_long();
        self.go_along(end, (way, trajectory));
        let late: Vec<usize> = near
            .into_iter()
            .filter(|&at| self.has_changed(at))
            .collect();
        let is_settled = match scheduled {
            Some(time) => self.go_along(time, (way, trajectory)),
            None if is_due || late.is_empty() => false,
            None => {
                let both: Vec<usize> = crossed.iter().chain(&late).copied().collect();
                let behind = neighbours([(first, 1.0), (end, -1.0)], 0.0, |time| {
                    self.look_along(time, (way, trajectory));
                    (both.iter().all(|&at| self.has_changed(at)), f64::NAN)
                });
                self.go_along(behind, (way, trajectory))
            }
        };
        if !is_settled {
            (self.point, self.start) = here;
        }
        if is_settled || !late.is_empty() {
            crossed.extend(late);
            self.crossed = crossed;
        }
    }

    /// The last time behind the present one, within its instant, for which something is scheduled.
    fn last_scheduled(&mut self, with_samples: bool) -> Option<f64> {
        let (now, end) = (self.point.time, self.point.time + self.instant_long());
        let mut times = vec![self.next_jump()];
        for at in 0..self.hybrid.samples.len() {
            if with_samples {
                times.push(self.instant(at, self.instants[at]));
            }
        }
        for at in 0..self.hybrid.relations.len() {
            if matches!(self.hybrid.relations[at].by, ChangedBy::Time { .. }) {
                let limit = self.layout.limits + at;
                times.push(self.program.value(limit, &self.point, &self.values));
            }
        }
        let within = times.into_iter().filter(|&time| time > now && time <= end);
        within.reduce(f64::max)
    }

    /// Whether a relation that has not changed is near its border, and was not kept there or changed just now.
    fn may_change(&mut self, relation: usize) -> bool {
        let is_free = self.hybrid.relations[relation].by == ChangedBy::Unknowns
            && !self.modes.over.contains(&relation)
            && !self.resting[relation]
            && !self.staying[relation]
            && !self.is_now(self.flips[relation].0);
        let place = self.layout.relations + relation;
        is_free && !self.has_changed(relation) && self.is_near(place)
    }

    /// Takes the values and rates at a time next to the end of a leg, to ask relations there and no more.
    fn look_along(&mut self, time: f64, (way, trajectory): (&mut WayBack, &Trajectory)) {
        let Some(jet) = way.jet(trajectory, time, crate::solve::START_ORDER + 1) else {
            return;
        };
        let makings = self.modes.list[self.mode].events.makings.lock();
        let found = makings
            .unwrap_or_else(PoisonError::into_inner)
            .settled_values(&self.values, time, &jet);
        self.point.time = time;
        self.take_point(crate::solve::unchecked(time, found.unwrap_or(jet)));
    }

    /// Goes to a time next to the end of a leg, where the equations hold if they can be solved there.
    fn go_along(&mut self, time: f64, (way, trajectory): (&mut WayBack, &Trajectory)) -> bool {
        if self.settle_at(time, (way, trajectory), &[]).is_some() {
            return true;
        }
        let jet = way.jet(trajectory, time, crate::solve::START_ORDER + 1);
        let is_known = jet.is_some();
        if let Some(jet) = jet {
            self.point.time = time;
            self.take_point(crate::solve::unchecked(time, jet));
        }
        is_known
    }
}
