//! Jumping over a removable singularity, and the checks that both sides belong together.
//!
//! Section 5 of `docs/theory/integration.md`.

use super::ordinary::ROUNDED_SLOPE;
use super::{MAX_RESIDUAL, SAME_TIME, Taylor};
use crate::monitor::{Expansion, Zero};
use crate::outcome::{Failure, Jump, Nature, StopReason};
use crate::step::StepSize;
use crate::tolerances::CONFIRM_LEAST;
use crate::trajectory::{Segment, shift};

/// Jumps over one zero that are tried, each from half the distance.
const MAX_JUMPS: usize = 3;

/// Highest derivatives behind a jump differ from those of the series by at most this part of what they change by on the way; where they
/// take the other branch of a root the part is 1.
const UNLIKE: f64 = 0.1;

/// What the series before a zero and that of a landing point behind it say of each other.
struct Sides {
    /// The residual that is left at the landing point.
    residual: f64,
    /// The greatest relative difference of both series at the singular times.
    mismatch: f64,
    /// Whether they are two sides of one solution.
    sound: bool,
    /// Other blocks that become singular at the same time.
    companions: Vec<usize>,
    /// Another zero of the same quantity, close behind the first one.
    second: Option<Zero>,
}

impl Default for Sides {
    /// Nothing is known of a landing point that was not reached.
    fn default() -> Self {
        Self {
            residual: f64::INFINITY,
            mismatch: f64::INFINITY,
            sound: false,
            companions: Vec::new(),
            second: None,
        }
    }
}

impl Taylor<'_> {
    /// Jumps over a removable singularity, and checks that both sides belong together, section 5.
    pub(super) fn jump(&mut self, landing: f64, size: StepSize) -> Option<StopReason> {
        let approach = self.approach.take()?;
        let zero = self.refined(approach.zero, size);
        let n = self.trajectory.n();
        shift(&self.series, n, landing - self.time, &mut self.point);
        self.stages.set_point(landing, &self.point);
        let landed = self.solve_point(true);
        let may_fail = approach.failed_jumps < MAX_JUMPS;
        let sides = match landed {
            Ok(projected) => self.compare_sides(zero, landing, projected.residual),
            Err(_) => Sides::default(),
        };
        if !sides.sound && may_fail {
            self.approach = Some(approach.with_failed_jump());
            let distance = (zero.time - self.time).abs();
            return self.step(size.step.min(0.5 * distance), self.options.t_end);
        }
        let nature = match sides.sound {
            true => approach.passage.nature(),
            false => Nature::Unresolved,
        };
        let stop = self.record_jump(zero, landing, nature, &sides, size);
        if sides.sound {
            self.land(zero.time, landing, size)
        } else {
            Some(stop)
        }
    }

    /// Whether the series before a zero and that of the landing point, with its residual, belong together.
    fn compare_sides(&mut self, zero: Zero, landing: f64, residual: f64) -> Sides {
        let second = self.second_zero(zero, landing);
        let mut mismatch = self.mismatch(zero, landing);
        if let Some(second) = second {
            mismatch = mismatch.max(self.mismatch(second, landing));
        }
        let limit = 1e4 * self.options.tolerances.rtol.max(CONFIRM_LEAST);
        let companions = self.companions(zero, landing, second.is_some());
        Sides {
            residual,
            mismatch,
            sound: residual <= MAX_RESIDUAL
                && mismatch <= limit
                && companions.is_some()
                && self.goes_on(landing),
            companions: companions.unwrap_or_default(),
            second,
        }
    }

    /// Whether the highest derivatives of the states at the landing point go on as the series says, (R14a).
    ///
    /// Where a root in another block reaches zero at the same time, the series follows its other branch: h = (c - t)^2 rises again,
    /// and der(h) = -2*sqrt(h) says that it falls.
    fn goes_on(&self, landing: f64) -> bool {
        // Without freedom nothing is carried over, and jumps reach as far as the values serve, further than their derivatives do.
        if self.stages.problem().structure().n_degrees_of_freedom() == 0 {
            return true;
        }
        let n = self.trajectory.n();
        let h = landing - self.time;
        let tolerances = &self.options.tolerances;
        let rtol = tolerances.rtol.max(CONFIRM_LEAST);
        (0..n).filter(|&j| self.rule.is_differentiated(j)).all(|j| {
            let d = self.rule.offset(j);
            let at = (d - 1) * n + j;
            let factor = d as f64;
            let (before, expected) = (factor * self.series[at + n], factor * self.point[at + n]);
            let found = factor * self.next[at + n];
            let rounding = ROUNDED_SLOPE * (self.next[at] / h).abs();
            let nominal = tolerances.absolute(d, j) / tolerances.rtol;
            let tolerance = rtol * (1e4 * expected.abs() + 1e2 * nominal);
            let limit = UNLIKE * (expected - before).abs() + tolerance + rounding;
            (found - expected).abs() <= limit
        })
    }

    /// Whether the equations go on as the series says at a place behind a point at which the run ends all the same.
    pub(super) fn goes_on_behind(&mut self, distance: f64, size: StepSize) -> bool {
        let is_free = self.stages.problem().structure().n_degrees_of_freedom() > 0;
        let far = self.before_switch(distance, 0.9 * size.step);
        if !is_free || far <= 1.1 * distance {
            return true;
        }
        let landing = self.time + self.direction * far;
        shift(
            &self.series,
            self.trajectory.n(),
            landing - self.time,
            &mut self.point,
        );
        self.stages.set_point(landing, &self.point);
        match self.solve_point(true) {
            Ok(_) => self.goes_on(landing),
            Err(failure) => !matches!(failure, Failure::Fault(_)),
        }
    }

    /// Records the singular points that were jumped over, or at which the run ends because the sides do not fit.
    fn record_jump(
        &mut self,
        zero: Zero,
        landing: f64,
        nature: Nature,
        sides: &Sides,
        size: StepSize,
    ) -> StopReason {
        let stop = self.end_at(zero, nature, size);
        let structure = self.stages.problem().structure();
        if let Some(singularity) = self.singularities.last_mut() {
            for &block in &sides.companions {
                let members = &structure.blocks()[block];
                singularity.equations.extend_from_slice(&members.equations);
                singularity.unknowns.extend_from_slice(&members.unknowns);
                let n_unknowns = singularity.unknowns.len();
                singularity.null_vector.resize(n_unknowns, 0.0);
            }
            singularity.evidence.jump = Some(Jump {
                from: self.time,
                to: landing,
                residual: sides.residual,
                mismatch: sides.mismatch,
            });
        }
        if let Some(second) = sides.second {
            self.end_at(second, nature, size);
        }
        stop
    }

    /// Goes on from the landing point, whose series is in `next`; the reason if the run ends before it.
    pub(super) fn land(&mut self, zero: f64, landing: f64, size: StepSize) -> Option<StopReason> {
        self.stages.statistics.steps += 1;
        self.at_zero.clear();
        self.keep_residuals();
        self.monitor.forget();
        let landed = Expansion {
            time: landing,
            series: &self.next,
        };
        self.monitor.record(landed, &self.stages);
        let past_end = (landing - self.options.t_end) * self.direction >= 0.0;
        let width = 0.4 * size.reach;
        let (before, beyond) = ((zero - self.time).abs(), (landing - zero).abs());
        let free = self.stages.problem().structure().n_degrees_of_freedom() > 0;
        let filled = !free
            && !past_end
            && before.min(beyond) > 2.0 * width
            && self.fill_gap(zero, landing, self.direction * width);
        if !filled {
            self.close_at(zero, Some(zero));
            let segment = Segment {
                centre: landing,
                start: zero,
                end: if past_end {
                    self.options.t_end
                } else {
                    landing
                },
            };
            self.trajectory.push(segment, &self.next);
            self.save_points(segment, true, Some(zero));
        }
        self.time = landing;
        std::mem::swap(&mut self.series, &mut self.next);
        past_end.then_some(StopReason::Finished)
    }

    /// Covers the surroundings of a singular time that was jumped over by two expansions nearer to it.
    ///
    /// The series of both ends converge there, but slowly for the unknowns of high index. Nothing is carried on from
    /// these expansions. Says whether they could be made.
    fn fill_gap(&mut self, zero: f64, landing: f64, width: f64) -> bool {
        let n = self.trajectory.n();
        let (left, right) = (zero - width, zero + width);
        let landed = self.next.clone();
        let (mut before, mut after) = (landed.clone(), landed.clone());
        let mut solve = |from: &[f64], centre: f64, time: f64, into: &mut [f64]| {
            shift(from, n, time - centre, &mut self.point);
            self.stages.set_point(time, &self.point);
            let solved = self
                .stages
                .factor()
                .and_then(|()| self.stages.project(true));
            solved.is_ok_and(|projected| projected.residual <= MAX_RESIDUAL)
                && self.stages.factor().is_ok()
                && self.stages.expand(into).is_ok()
        };
        let sound = solve(&self.series, self.time, left, &mut before)
            && solve(&landed, landing, right, &mut after);
        if sound {
            self.close(zero - 2.0 * width);
            let add = |taylor: &mut Self, centre: f64, start: f64, end: f64| {
                let segment = Segment { centre, start, end };
                taylor.trajectory.push(segment, &taylor.next);
                taylor.save_points(segment, true, Some(zero));
            };
            self.next = before;
            add(self, left, zero - 2.0 * width, zero);
            self.next = after;
            add(self, right, zero, zero + 2.0 * width);
            self.next.clone_from(&landed);
            add(self, landing, zero + 2.0 * width, landing);
        }
        self.next = landed;
        sound
    }

    /// Another sign change of the same quantity between a zero and the landing point, close behind it.
    fn second_zero(&mut self, zero: Zero, landing: f64) -> Option<Zero> {
        if !zero.sign_change {
            return None;
        }
        let there = Expansion {
            time: landing,
            series: &self.next,
        };
        let behind = zero.time + SAME_TIME * (zero.time - self.time);
        let second = self
            .monitor
            .locate(there, zero.quantity, behind - landing)?;
        Some(second).filter(|second| second.time != behind)
    }

    /// The other blocks whose determinants change their signs at the same time; `None` if signs change elsewhere.
    ///
    /// The quantity that vanishes may do so `twice`, and then has the same sign on both sides.
    fn companions(&mut self, zero: Zero, landing: f64, twice: bool) -> Option<Vec<usize>> {
        let here = Expansion {
            time: self.time,
            series: &self.series,
        };
        let there = Expansion {
            time: landing,
            series: &self.next,
        };
        let mut flipped = self.monitor.flipped(there, self.stages.solver())?;
        let place = flipped.iter().position(|&other| other == zero.quantity);
        if place.is_some() != (zero.sign_change && !twice) {
            return None;
        }
        if let Some(place) = place {
            flipped.remove(place);
        }
        let distance = zero.time - self.time;
        let around = [1.0 - SAME_TIME, 1.0 + SAME_TIME].map(|factor| factor * distance);
        if !self.monitor.change_between(here, &flipped, around) {
            return None;
        }
        flipped.retain(|&quantity| self.monitor.block(quantity).is_some());
        Some(flipped)
    }

    /// The difference of both series at a singular time, over the unknowns of its block, or over all without one.
    fn mismatch(&self, zero: Zero, landing: f64) -> f64 {
        let n = self.trajectory.n();
        let (mut left, mut right) = (vec![0.0; n], vec![0.0; n]);
        shift(&self.series, n, zero.time - self.time, &mut left);
        shift(&self.next, n, zero.time - landing, &mut right);
        let tolerances = &self.options.tolerances;
        let relative = |&j: &usize| {
            let size = left[j].abs() + tolerances.absolute(0, j) / tolerances.rtol;
            (left[j] - right[j]).abs() / size
        };
        let blocks = self.stages.problem().structure().blocks();
        match blocks.get(zero.quantity) {
            Some(block) => block.unknowns.iter().map(relative).fold(0.0, f64::max),
            None => (0..n).map(|j| relative(&j)).fold(0.0, f64::max),
        }
    }
}
