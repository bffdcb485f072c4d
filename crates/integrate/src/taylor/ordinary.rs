//! An ordinary step: predict, project, expand; shorter if it fails.

use super::{MAX_RESIDUAL, STREAK, Taylor};
use crate::blocks::BlockSolver;
use crate::monitor::{Expansion, Zero};
use crate::nudges::Nudges;
use crate::outcome::{Failure, Nature, StopReason};
use crate::stages::Projected;
use crate::tolerances::{MAX_HALVINGS, REJECT, TRANSMITTED, UNEVEN};

/// What rounding leaves of slopes, relative to the change that they stand for.
pub(crate) const ROUNDED_SLOPE: f64 = 1e-8;

/// A half step that leaves more than this part of the change shows rounding.
const LESSENED: f64 = 0.5;

/// Attempts at one step that may run into a zero before the run gives up.
const MAX_SURPRISES: usize = 8;

impl Taylor<'_> {
    /// Shortens a step to the next knot of a signal, behind which the series would not be those of the equations.
    ///
    /// Gives the time at which the step ends exactly, if it goes that far.
    pub(super) fn before_knot(&mut self, h: f64) -> (f64, f64) {
        let knot = self.stages.problem().next_knot(self.time, self.side());
        let distance = knot.map_or(f64::INFINITY, |knot| (knot - self.time).abs());
        self.cut_short = h > 0.5 * distance;
        match knot {
            Some(knot) if h >= distance => (distance, knot),
            // Two even steps rather than a long one and a sliver.
            Some(_) if self.cut_short => (0.5 * distance, self.options.t_end),
            _ => (h, self.options.t_end),
        }
    }

    /// An ordinary step of size h, or less if it fails; it ends at `end` exactly where it would reach it.
    pub(super) fn step(&mut self, h: f64, end: f64) -> Option<StopReason> {
        let remaining = (end - self.time).abs();
        let mut h = h;
        let mut failure = None;
        let mut transmitted = f64::INFINITY;
        for n_halvings in 0..MAX_HALVINGS {
            let target = if h >= remaining {
                end
            } else {
                self.time + self.direction * h
            };
            if target == self.time {
                break;
            }
            self.stages
                .predict(&self.series, target - self.time, &mut self.point);
            self.stages.set_point(target, &self.point);
            match self.attempt(target) {
                Ok(Some(zero)) => {
                    self.n_surprises += 1;
                    if self.n_surprises > MAX_SURPRISES {
                        let size = self.rule.step(&self.series);
                        return Some(self.end_at(zero, Nature::Unresolved, size));
                    }
                    self.surprise = Some(zero);
                    return None;
                }
                Ok(None) => match self.stages.project(false) {
                    Ok(projected) if self.fits(target, &projected, n_halvings, transmitted) => {
                        match self.expand_next(target, &projected) {
                            Ok(()) if self.ends_agree(target - self.time) => {
                                self.accept(target);
                                return None;
                            }
                            Ok(()) => {}
                            Err(error) => failure = Some(error),
                        }
                    }
                    Ok(projected) => {
                        transmitted = projected.algebraic_change;
                        failure = Some(Failure::NoConvergence {
                            stage: 0,
                            residual: projected.residual,
                        });
                    }
                    Err(error) => failure = Some(error),
                },
                Err(error) => failure = Some(error),
            }
            self.stages.statistics.rejected += 1;
            h *= 0.5;
        }
        if self.tail.streak >= STREAK && !self.has_no_branch() {
            let size = self.rule.step(&self.series);
            return self.end_of_tail(size);
        }
        Some(match failure {
            Some(failure @ Failure::Fault(_)) => StopReason::Failed {
                time: self.time,
                failure,
            },
            _ => StopReason::AccuracyLost {
                time: self.time,
                step: h,
                residual: self.stages.levels.iter().copied().fold(0.0, f64::max),
            },
        })
    }

    /// Factors at the predicted point; a zero that lies between there and here is looked up.
    fn attempt(&mut self, target: f64) -> Result<Option<Zero>, Failure> {
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let mut locate = |solver: Option<&BlockSolver>| {
            let changed = self.monitor.changed(target, &self.point, solver);
            changed
                .and_then(|quantity| self.monitor.locate(expansion, quantity, target - self.time))
        };
        if let Some(zero) = locate(None) {
            return Ok(Some(zero));
        }
        self.stages.factor()?;
        Ok(locate(Some(self.stages.solver())))
    }

    /// Whether the point at the end of a step, after some halvings, fits: what it was moved by is what the tolerances allow, unless a step of
    /// twice the length, which moved its algebraic unknowns by so much, shows that a shorter one does not lessen that.
    fn fits(
        &mut self,
        target: f64,
        projected: &Projected,
        n_halvings: usize,
        transmitted: f64,
    ) -> bool {
        self.is_within(target, projected, n_halvings > 0)
            && projected.residual <= MAX_RESIDUAL
            && (!self.is_transmitted(projected)
                || projected.algebraic_change > LESSENED * transmitted)
    }

    /// Whether algebraic unknowns were moved by more than their series and the tolerances of the states account for.
    fn is_transmitted(&self, projected: &Projected) -> bool {
        projected.algebraic_change > TRANSMITTED * self.options.tolerances.rtol
    }

    /// Whether the series reach a switch at a distance, (R1a): an ordinary step to it would be accepted, or a shorter one would be no better.
    ///
    /// Where the equations have no value or no Jacobian at the switch, as where a root begins, nothing is known against the series.
    pub(super) fn reaches(&mut self, s: f64) -> bool {
        let mut moved = [f64::INFINITY; 2];
        for (moved, part) in moved.iter_mut().zip([1.0, 0.5]) {
            let target = self.time + self.direction * part * s;
            if target == self.time {
                return true;
            }
            self.stages
                .predict(&self.series, target - self.time, &mut self.point);
            self.stages.set_point(target, &self.point);
            let solved = self.stages.factor();
            let projected = match solved.and_then(|()| self.stages.project(false)) {
                Ok(projected) => projected,
                Err(Failure::NoConvergence { .. }) => continue,
                Err(_) => return true,
            };
            *moved = projected.algebraic_change;
            let fits = self.is_within(target, &projected, part < 1.0)
                && projected.residual <= MAX_RESIDUAL
                && !self.is_transmitted(&projected);
            if fits {
                // The highest derivatives that are compared are part of the point.
                let n_point = self.stages.n_point().min(self.next.len());
                self.stages.point(&mut self.next[..n_point]);
                return part == 1.0 && self.ends_agree(target - self.time);
            }
        }
        moved[1] > LESSENED * moved[0] && moved[1] < f64::INFINITY
    }

    /// Whether a projection moved the states by no more than the tolerances allow, or no more than rounding makes it.
    ///
    /// Rounding of functions of time counts once a shorter step has shown that truncation is not what moves them.
    fn is_within(&mut self, target: f64, projected: &Projected, is_shorter: bool) -> bool {
        let change = projected.state_change;
        let before = match self.direction > 0.0 {
            true => target.next_down(),
            false => target.next_up(),
        };
        change <= REJECT * self.options.tolerances.rtol
            || change <= REJECT * self.rounded(target, target)
            || is_shorter && change <= REJECT * self.rounded(target, before)
    }

    /// What rounding of the predicted states, at a time that may be one beside, moves the projected ones by, (5a); the projected point
    /// stays as it was.
    fn rounded(&mut self, target: f64, beside: f64) -> f64 {
        let mut projected = self.point.clone();
        self.stages.point(&mut projected);
        let mut aside = self.point.clone();
        let mut signs = Nudges::new(&self.options);
        for (value, before) in aside.iter_mut().zip(&self.series) {
            let unit = f64::EPSILON * value.abs().max(before.abs());
            *value += unit.copysign(signs.draw());
        }
        self.stages.set_point(beside, &aside);
        let moved = self.stages.project(false);
        let moved = moved.map_or(0.0, |_| self.stages.states_moved(&projected));
        self.stages.set_point(target, &projected);
        let again = self.stages.project(false);
        again.map_or(0.0, |_| moved)
    }

    /// Moves the projected point a little, in runs that look what becomes of that: no unknown and no state by more than the size of the
    /// nudges.
    ///
    /// A position that is moved by 1e-13 moves an acceleration by 1e-6 where a spring is stiff; no step is off by as much.
    fn nudge(&mut self, target: f64) -> Result<(), Failure> {
        if self.options.nudge == 0.0 {
            return Ok(());
        }
        let mut projected = self.point.clone();
        self.stages.point(&mut projected);
        let (allowed, rtol) = (self.options.nudge, self.options.tolerances.rtol);
        let (mut part, n) = (1.0, self.stages.problem().n());
        loop {
            let mut nudged = projected.clone();
            self.nudges.point(&self.stages, &self.options, &mut nudged);
            for (nudged, from) in nudged.iter_mut().zip(&projected) {
                *nudged = from + part * (*nudged - from);
            }
            self.stages.set_point(target, &nudged);
            self.stages.project(false)?;
            let states = self.stages.states_moved(&projected) / rtol;
            self.stages.point(&mut nudged);
            let moved = Nudges::distance(&self.options, n, [&projected, &nudged]).max(states);
            if moved <= REJECT * allowed || part < 1.0 {
                return Ok(());
            }
            part = allowed / moved;
        }
    }

    fn expand_next(&mut self, target: f64, projected: &Projected) -> Result<(), Failure> {
        self.nudge(target)?;
        let rtol = self.options.tolerances.rtol;
        if projected.needs_new_jacobian(rtol) {
            self.stages.factor()?;
        }
        self.stages.expand(&mut self.next)
    }

    /// Whether the new series begins with the highest derivatives that the present one ends with, (R18).
    ///
    /// Steps are as long as the last coefficients allow; where they happen to be small, only the equations at the end tell. What they
    /// tell is x^(d): lower derivatives are states, which the step has carried there.
    fn ends_agree(&self, h: f64) -> bool {
        let n = self.trajectory.n();
        let tolerances = &self.options.tolerances;
        (0..n).filter(|&j| self.rule.is_differentiated(j)).all(|j| {
            let d = self.rule.offset(j);
            // x^(d - 1) over (d - 1)!, whose slope is d times the coefficient above it.
            let below = (1..d).map(|f| f as f64).product::<f64>();
            let at = (d - 1) * n + j;
            // The predicted point begins with the coefficients of the present series there.
            let slope = d as f64 * self.point[at + n];
            let (value, there) = (self.next[at], d as f64 * self.next[at + n]);
            let size = tolerances.rtol * value.abs() + tolerances.absolute(d - 1, j) / below;
            let rounding = ROUNDED_SLOPE * (value.abs() + (there * h).abs());
            ((slope - there) * h).abs() <= UNEVEN * size + rounding
        })
    }

    /// Makes `next` the present expansion.
    pub(super) fn accept(&mut self, target: f64) {
        self.stages.statistics.steps += 1;
        self.n_surprises = 0;
        self.at_zero.clear();
        self.keep_residuals();
        let there = Expansion {
            time: target,
            series: &self.next,
        };
        self.monitor.record(there, &self.stages);
        self.close(target);
        self.time = target;
        std::mem::swap(&mut self.series, &mut self.next);
    }
}
