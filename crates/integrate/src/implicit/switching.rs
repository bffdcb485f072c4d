//! A switch within a step of an implicit method: the step is cut there, and the run begins again on the other side.

use super::Course;
use crate::locate;
use crate::outcome::{Failure, StopReason, Switch};
use crate::stages::Projected;
use crate::tolerances::{JUST_SWITCHED, SAME_SWITCH, SIDE_SURFACE};
use crate::trajectory::{Segment, shift};
use crate::watch::beside::Beside;
use crate::watch::branches::{FirstSwitch, Piece};
use crate::watch::sides::{Settled, Way, at_zero, beyond, onto_surfaces, rests, settle};
use crate::watch::written::{as_written, exact_time};
use std::cmp::Ordering;

/// Switches in a row at one and the same time.
const MOST_AT_ONCE: usize = 10;

impl Course<'_> {
    /// Keeps the piece up to a switch, and begins again there; the reason if the run ends.
    pub(super) fn switch(&mut self, switch: &FirstSwitch) -> Option<StopReason> {
        let time = self.exact_time(switch);
        let size = time.abs().max((self.options.t_end - time).abs().min(1.0));
        let is_there = (time - self.time).abs() <= SAME_SWITCH * size;
        self.n_at_once = if is_there { self.n_at_once + 1 } else { 0 };
        let rtol = self.options.tolerances.rtol;
        let way = Way::through(self.options.t_end - time, rtol, switch.width);
        self.work.steps += 1;
        self.work.implicit_steps += 1;
        let before = self.stages.sides().to_vec();
        let (restart, settled) = self.enter((time, &switch.branches), way);
        let segment = Segment {
            centre: self.time,
            start: self.time,
            end: restart,
        };
        self.trajectory.push(segment, &self.piece);
        self.save_points(segment, false);
        self.time = restart;
        let is_jump = matches!(settled, Ok(Settled::Jumped(_)));
        let projected = match self.goes_on(time, settled) {
            Ok(projected) => projected,
            Err(stop) => return Some(stop),
        };
        let (branch, expr) = (switch.branches[0], self.branch_expr(switch.branches[0]));
        let located = switch.branches.iter().copied();
        let exact: Vec<usize> = located.filter(|&branch| self.of_time[branch]).collect();
        if restart == time
            && let Some(point) = as_written(&mut self.stages, &exact, way, &mut self.series)
        {
            self.trajectory.push_instant(time, point);
        }
        // Where the equations have all sides as they were, only the piece was off: nothing has switched.
        let sides = self.stages.sides();
        let has_switched = switch.branches.iter().any(|&at| sides[at] != before[at]);
        if has_switched || is_jump {
            self.switches.push(Switch {
                time,
                branch,
                expr,
                state_change: projected.state_change,
                is_jump,
            });
        }
        onto_surfaces(&mut self.stages, &switch.branches, way, &mut self.series);
        self.at_zero = at_zero(&self.stages, &switch.branches, way);
        self.staying.extend(&switch.branches);
        self.staying.sort_unstable();
        self.staying.dedup();
        let stages = &self.stages;
        self.staying.retain(|&branch| rests(stages, branch, way));
        self.watch_from_here();
        // A short step first: nothing is known of the other side, and behind an infinite slope the estimate of a longer one is
        // damped by that slope.
        let distance = (restart - time).abs();
        self.step = self.step.map(|step| match distance > 0.0 {
            true => distance,
            false => 0.1 * step,
        });
        if let Some(stop) = self.watch() {
            return Some(stop);
        }
        (self.n_at_once > MOST_AT_ONCE).then_some(StopReason::Chattering {
            time,
            expr,
            leads_back: true,
        })
    }

    /// The point from which the run goes on behind a switch, or why it ends there.
    fn goes_on(
        &self,
        time: f64,
        settled: Result<Settled, Failure>,
    ) -> Result<Projected, StopReason> {
        match settled {
            Ok(Settled::One(to) | Settled::Several(to) | Settled::Jumped(to)) => Ok(to),
            Ok(Settled::Meeting { branch }) => {
                let expr = self.branch_expr(branch);
                Err(StopReason::Meeting { time, expr })
            }
            Ok(Settled::None { branch, leads_back }) => Err(StopReason::Chattering {
                time,
                expr: self.branch_expr(branch),
                leads_back,
            }),
            Err(failure) => Err(StopReason::Failed { time, failure }),
        }
    }

    /// The time of a switch: the number itself where time alone decides, otherwise that at which the equations have it.
    fn exact_time(&mut self, switch: &FirstSwitch) -> f64 {
        let branch = switch.branches[0];
        if !self.of_time[branch] {
            return self.solved_time(switch).unwrap_or(switch.time);
        }
        let n = self.problem.n();
        shift(&self.piece, n, switch.time - self.time, &mut self.point);
        exact_time(&mut self.stages, branch, (switch.time, &self.point))
    }

    /// Where the function of the first branch that switches is zero at points of the piece that are brought onto the equations, (R16b): algebraic
    /// unknowns of a piece are off by tolerances, and with them the point would lie beside the surface, where sides that agree on it differ.
    /// `None` if it is zero at none of them.
    fn solved_time(&mut self, switch: &FirstSwitch) -> Option<f64> {
        let branch = switch.branches[0];
        let held = match self.stages.sides()[branch] {
            Ordering::Less => -1.0,
            Ordering::Greater => 1.0,
            Ordering::Equal => return None,
        };
        let (value, size) = self.solved_function(branch, switch.time)?;
        if value.abs() <= SIDE_SURFACE * size {
            return Some(switch.time);
        }
        // Not there yet, or beyond already.
        let is_ahead = value * held > 0.0;
        let step = self.step?;
        let towards = if is_ahead {
            self.direction
        } else {
            -self.direction
        };
        let most = match is_ahead {
            true => step - (switch.time - self.time).abs(),
            false => (switch.time - self.time).abs(),
        };
        // No farther than the function takes to zero along the piece, a few times: what is farther is another zero.
        let aside = f64::EPSILON.sqrt() * step;
        let piece = Piece {
            centre: self.time,
            series: &self.piece,
        };
        let branches = self.branches.as_mut()?;
        let mut along = |time| branches.value(piece, time, branch);
        let rise = along(switch.time + aside)? - along(switch.time - aside)?;
        let most = most.min(4.0 * (value * 2.0 * aside / rise).abs());
        let mut near = (switch.time, value);
        let mut distance = (f64::EPSILON.sqrt() * step).min(most);
        loop {
            let time = switch.time + towards * distance;
            let (there, _) = self.solved_function(branch, time)?;
            if (there * held > 0.0) != is_ahead {
                let length = time - near.0;
                let found = locate::zero(0.0, 1.0, near.1, there, |s| {
                    let solved = self.solved_function(branch, near.0 + s * length);
                    solved.map_or(f64::NAN, |(value, _)| value)
                });
                return Some(near.0 + found * length);
            }
            if distance >= most {
                return None;
            }
            near = (time, there);
            distance = (4.0 * distance).min(most);
        }
    }

    /// The function of a branch, with the size of its operands, at a time of the piece that is brought onto the equations with the sides that
    /// are held.
    fn solved_function(&mut self, branch: usize, time: f64) -> Option<(f64, f64)> {
        let n = self.problem.n();
        shift(&self.piece, n, time - self.time, &mut self.point);
        self.stages.set_point(time, &self.point);
        self.stages.factor().ok()?;
        self.stages.project(false).ok()?;
        self.stages.compare();
        let (value, size) = self.stages.switching(branch, 0);
        value.is_finite().then_some((value, size))
    }

    /// Keeps the values of the very end where branches switch at it, (R26).
    pub(super) fn end_as_written(&mut self) {
        let Some((start, end)) = self.trajectory.span() else {
            return;
        };
        let way = Way::through(end - start, self.options.tolerances.rtol, 0.0);
        let all: Vec<usize> = (0..self.stages.n_branches()).collect();
        if let Some(point) = as_written(&mut self.stages, &all, way, &mut self.series) {
            self.trajectory.push_instant(self.time, point);
        }
    }

    /// Puts branches on their other sides and expands the solution there: at the switch, or just behind it where a branch begins
    /// with an infinite slope. The time of the expansion, and what was found.
    fn enter(
        &mut self,
        (time, branches): (f64, &[usize]),
        way: Way,
    ) -> (f64, Result<Settled, Failure>) {
        let n = self.problem.n();
        shift(&self.piece, n, time - self.time, &mut self.point);
        let sides: Vec<(usize, Ordering)> = branches
            .iter()
            .map(|&branch| (branch, beyond(&self.stages, branch, way)))
            .collect();
        self.note_sizes(branches);
        for &(branch, side) in &sides {
            self.stages.choose(branch, side);
        }
        self.stages.set_point(time, &self.point);
        let mut settled = settle(&mut self.stages, branches, way, &mut self.series);
        let mut restart = time;
        // From the very beginning of a piece it reaches as far as a step.
        let left = (self.options.t_end - time).abs();
        let reach = match (time - self.time).abs() {
            0.0 => self.step.unwrap_or(left),
            reach => reach,
        };
        let begins_nowhere = match settled {
            // Within rounding of its beginning a root has a slope that leads back.
            Ok(Settled::None { leads_back, .. }) => !leads_back || self.begins_root(branches),
            // Within rounding of an infinite slope: its Jacobian is no guide to what follows.
            Ok(Settled::One(_)) => self
                .steep_step()
                .is_some_and(|step| step < JUST_SWITCHED * reach),
            _ => false,
        };
        if begins_nowhere {
            let beside = Beside {
                series: &self.piece,
                centre: self.time,
                time,
                reach: reach.min(left),
                tolerances: &self.options.tolerances,
                sides: &sides,
            };
            let (stages, point) = (&mut self.stages, &mut self.point);
            if let Some(found) = beside.settle(stages, way, point, &mut self.series) {
                (restart, settled) = (found.0, Ok(Settled::One(found.1)));
            } else if settled.is_ok() {
                // At the switch itself Newton's corrections would look converged long before they are.
                let branch = branches[0];
                settled = Ok(Settled::None {
                    branch,
                    leads_back: false,
                });
            }
        }
        (restart, settled)
    }

    /// Whether a root begins on a side of one of some branches.
    fn begins_root(&self, branches: &[usize]) -> bool {
        let mut branches = branches.iter();
        branches.any(|&branch| self.problem.root_side(branch).is_some())
    }

    /// Keeps what decides branches was made of where the piece begins; those that leave their surfaces are on none.
    fn note_sizes(&mut self, switched: &[usize]) {
        let Some(branches) = &mut self.branches else {
            return;
        };
        let piece = Piece {
            centre: self.time,
            series: &self.piece,
        };
        for &branch in switched {
            let size = match self.stages.sides()[branch] {
                Ordering::Equal => 0.0,
                _ => branches.size(piece, self.time, branch),
            };
            // A piece may begin where the branch was on its surface already.
            let size = match self.staying.contains(&branch) {
                true => size.max(self.stages.noted_size(branch)),
                false => size,
            };
            self.stages.note_size(branch, size);
        }
    }

    /// The step on which the second terms of the highest derivatives of states stay below a tenth of the first, or below the
    /// tolerances.
    fn steep_step(&self) -> Option<f64> {
        let (n, tolerances) = (self.problem.n(), &self.options.tolerances);
        let steps = (0..n).filter_map(|j| {
            let order = self.problem.unknown_offset(j);
            let [state, top, next] = [order.checked_sub(1)?, order, order + 1]
                .map(|row| self.series.get(row * n + j).map_or(0.0, |c| c.abs()));
            let allowed = tolerances.absolute(order - 1, j) + tolerances.rtol * state;
            (next > 0.0).then(|| (0.1 * top / next).max((allowed / next).sqrt()))
        });
        steps.reduce(f64::min)
    }
}
