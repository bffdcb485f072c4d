//! Points at which an unknown has an infinite slope and the solution goes on, like the cubic root of the time.
//!
//! Section 4 of `docs/theory/runs.md`, (R23).

use super::tail::LEAST_POWER;
use super::{MAX_RESIDUAL, Taylor};
use crate::stages::Passage;
use crate::step::AGREEMENT;
use crate::tolerances::{DIP, FAMILY_AGREES, STEEP_GUESSES};
use crate::trajectory::shift;
use std::cmp::Ordering;

/// The highest derivative of an unknown that ends like a root of the distance, as a coefficient of its series.
#[derive(Clone, Copy)]
struct Root {
    unknown: usize,
    order: usize,
    /// What it is at the point, and how far off that it is now.
    there: f64,
    away: f64,
    /// The exponent of the distance.
    power: f64,
}

impl Taylor<'_> {
    /// The time as far behind a point as the run is before it, with the series there in `next`: where one solution goes on from the point at
    /// which the series end like roots, and no other, (R23).
    pub(super) fn landing_behind(&mut self, time: f64) -> Option<f64> {
        let distance = time - self.time;
        let landing = time + distance;
        if (landing - self.options.t_end) * self.direction >= 0.0 {
            return None;
        }
        let roots = self.roots(distance)?;
        let sides: Vec<Ordering> = self.stages.sides().to_vec();
        let found = self.one_behind(landing, &roots);
        let is_good = found.is_some_and(|part| self.solved_behind(landing, &roots, part).is_some());
        if is_good {
            self.stages.hold(true);
            return Some(landing);
        }
        for (branch, side) in sides.into_iter().enumerate() {
            self.stages.choose(branch, side);
        }
        None
    }

    /// The solutions through a point at which the series end like roots, counted further off than its time is known, (R13).
    pub(super) fn passage_of_roots(&mut self, time: f64) -> Option<Passage> {
        let n = self.trajectory.n();
        let distance = time - self.time;
        let roots = self.roots(distance)?;
        let mut series = self.series.clone();
        for root in &roots {
            for row in root.order..series.len() / n {
                series[row * n + root.unknown] = 0.0;
            }
            series[root.order * n + root.unknown] = root.there;
        }
        let n_point = self.stages.n_point();
        let base = |s: f64, point: &mut Vec<f64>| {
            point.resize(n_point, 0.0);
            shift(&series, n, distance + s, point);
        };
        // The sizes of the rows are those here.
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        self.stages.factor().ok()?;
        base(0.0, &mut self.point);
        self.stages.set_point(time, &self.point);
        // Sides of branches follow the values there.
        let sides: Vec<Ordering> = self.stages.sides().to_vec();
        self.stages.hold(false);
        // The time is known to a part of the distance only.
        let farther = 2.0 / AGREEMENT * distance;
        let found = self.stages.passage(farther, DIP, base);
        for (branch, side) in sides.into_iter().enumerate() {
            self.stages.choose(branch, side);
        }
        self.stages.hold(true);
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        let _ = self.solve_point(false);
        found
    }

    /// What ends like a root, from the fits that point there; `None` if a highest derivative is not bounded.
    fn roots(&self, distance: f64) -> Option<Vec<Root>> {
        let n = self.trajectory.n();
        let roots = self.fits.iter().map(|fit| {
            let order = self.rule.offset(fit.unknown);
            let power = fit.exponent - order as f64;
            let coefficient = |m: usize| self.series.get(m * n + fit.unknown).copied();
            let value = coefficient(order)?;
            // a + b (t* - t)^p has the slope -p b (t* - t)^(p - 1).
            let away = -((order + 1) as f64) * coefficient(order + 1)? * distance / power;
            (power > LEAST_POWER).then_some(Root {
                unknown: fit.unknown,
                order,
                there: value - away,
                away,
                power,
            })
        });
        let roots: Vec<Root> = roots.collect::<Option<_>>()?;
        (!roots.is_empty()).then_some(roots)
    }

    /// How far behind the point the only solution is, in units of how far it is before it; `None` if there is none, or several.
    fn one_behind(&mut self, landing: f64, roots: &[Root]) -> Option<f64> {
        let mut found: Option<f64> = None;
        for part in STEEP_GUESSES {
            let Some(solved) = self.solved_behind(landing, roots, part) else {
                continue;
            };
            match found {
                None => found = Some(solved),
                Some(other) if (solved - other).abs() > FAMILY_AGREES * other.abs() => return None,
                Some(_) => {}
            }
        }
        found
    }

    /// Solves the point behind from a guess and expands it; where it is in the same units.
    fn solved_behind(&mut self, landing: f64, roots: &[Root], part: f64) -> Option<f64> {
        let n = self.trajectory.n();
        let mut series = self.series.clone();
        for root in roots {
            // What is integrated has the mean of both sides on the way.
            for row in root.order..series.len() / n {
                series[row * n + root.unknown] = 0.0;
            }
            series[root.order * n + root.unknown] = root.there;
        }
        shift(&series, n, landing - self.time, &mut self.point);
        self.stages.hold(false);
        for root in roots {
            self.point[root.order * n + root.unknown] = root.there + part * root.away;
        }
        self.stages.set_point(landing, &self.point);
        let projected = self.solve_point(true).ok()?;
        let widest = roots
            .iter()
            .max_by(|a, b| a.away.abs().total_cmp(&b.away.abs()))?;
        let at = widest.order * n + widest.unknown;
        let moved = self.next[at] - widest.there;
        let slope = (widest.order + 1) as f64 * self.next[at + n];
        // It leaves the point like the same root as it came: at a fold, where nothing is solved, it does not.
        let power = slope * 0.5 * (landing - self.time) / moved;
        let is_same_root = (power / widest.power - 1.0).abs() < FAMILY_AGREES;
        let solved = moved / widest.away;
        let is_near = (0.03..10.0).contains(&solved.abs());
        (is_near && is_same_root && projected.residual <= MAX_RESIDUAL).then_some(solved)
    }
}
