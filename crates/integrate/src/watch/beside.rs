//! Branches that begin with an infinite slope, `if h > 1 then (h - 1)^1.5 else 0`: no series begins at the switch itself, and the
//! run goes on from a point just behind it, section 5 of `docs/theory/runs.md`.

use super::sides::{Settled, Way, settle};
use crate::options::Tolerances;
use crate::stages::{Projected, Stages};
use crate::tolerances::SAME_SWITCH;
use crate::trajectory::shift;
use std::cmp::Ordering;

/// A switch behind which no solution was found that begins there.
pub(crate) struct Beside<'a> {
    /// The solution up to the switch, which goes on a little as if nothing switched.
    pub series: &'a [f64],
    /// Where that series is centred.
    pub centre: f64,
    /// The time of the switch.
    pub time: f64,
    /// How far behind the switch the series still holds.
    pub reach: f64,
    /// The tolerances of the step.
    pub tolerances: &'a Tolerances,
    /// The branches that switch, with their new sides.
    pub sides: &'a [(usize, Ordering)],
}

impl Beside<'_> {
    /// A point behind the switch at which the new sides hold, with its time; its series goes into `next`.
    ///
    /// The states there are those of the old sides: what the new ones change on the way, the difference of the highest
    /// derivatives times the distance, must be below a hundredth of the tolerances, (R16a). The distance is the longest power of
    /// ten of the reach for which that holds.
    pub fn settle(
        &self,
        stages: &mut Stages<'_>,
        way: Way,
        point: &mut [f64],
        next: &mut [f64],
    ) -> Option<(f64, Projected)> {
        let nearest = SAME_SWITCH * (self.time.abs() + self.reach);
        // Farther on, the function may have come back: a place with the new sides is asked for first, however near.
        for with_new_sides in [true, false] {
            let mut distance = self.reach / 100.0;
            while distance > nearest {
                let found = self.settle_at(stages, (way, distance), point, next);
                let sides = stages.sides();
                let mut located = self.sides.iter();
                if !with_new_sides || located.all(|&(branch, side)| sides[branch] == side) {
                    let time = self.time + way.direction * distance;
                    if let Some(projected) = found {
                        return Some((time, projected));
                    }
                }
                distance /= 10.0;
            }
        }
        None
    }

    /// The same at one distance.
    fn settle_at(
        &self,
        stages: &mut Stages<'_>,
        (way, distance): (Way, f64),
        point: &mut [f64],
        next: &mut [f64],
    ) -> Option<Projected> {
        let n = stages.problem().n();
        let branches: Vec<usize> = self.sides.iter().map(|&(branch, _)| branch).collect();
        let time = self.time + way.direction * distance;
        shift(self.series, n, time - self.centre, point);
        for &(branch, side) in self.sides {
            stages.choose(branch, side);
        }
        stages.set_point(time, point);
        let off_the_switch = Way { width: 0.0, ..way };
        match settle(stages, &branches, off_the_switch, next) {
            Ok(Settled::One(projected)) => {
                let changed = self.change(stages, point, next, distance);
                (changed <= 0.01).then_some(projected)
            }
            _ => None,
        }
    }

    /// What the new sides change in the states on the way, in tolerances.
    fn change(&self, stages: &Stages<'_>, old: &[f64], new: &[f64], distance: f64) -> f64 {
        let problem = stages.problem();
        let n = problem.n();
        let changes = (0..n).filter_map(|unknown| {
            let order = problem.unknown_offset(unknown);
            let below = order.checked_sub(1)?;
            let [top, state] = [order, below].map(|row| row * n + unknown);
            let moved = distance * order as f64 * (new[top] - old[top]).abs();
            let kept = (new[state] - old[state]).abs();
            let allowed =
                self.tolerances.absolute(below, unknown) + self.tolerances.rtol * old[state].abs();
            Some((moved + kept) / allowed)
        });
        changes.fold(0.0, f64::max)
    }
}
