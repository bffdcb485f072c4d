//! Branches of a model: where they switch, and restarts on their other sides.

use super::Taylor;
use super::tail::Tail;
use crate::monitor::Expansion;
use crate::outcome::{StopReason, Switch};
use crate::stages::Projected;
use crate::tolerances::{SAME_SWITCH, SIDE_VALUE, WINDOW_LEAST};
use crate::trajectory::shift;
use crate::watch::beside::Beside;
use crate::watch::branches::Piece;
use crate::watch::forcing::At;
use crate::watch::rooted::Within;
use crate::watch::sides::{
    Settled, Way, at_zero, beyond, has_left_rest, leads_to, onto_surfaces, rests, settle,
};
use crate::watch::written::{as_written, exact_time};
use std::cmp::Ordering;

impl Taylor<'_> {
    /// The series of the function that decides a branch at the present time.
    fn decide(&mut self, branch: usize) {
        self.expand_here();
        let stages = &self.stages;
        let orders = 0..stages.n_switching();
        self.decider
            .set(orders.map(|order| stages.switching(branch, order)));
    }

    /// Expands the present point again where the stages were used for another one since: a landing point behind a singularity, or a step
    /// that was not taken. What decides branches would be read there, as many seconds off.
    fn expand_here(&mut self) {
        if self.stages.is_expanded_at(self.time) {
            return;
        }
        let n_point = self.stages.n_point().min(self.series.len());
        self.stages.set_point(self.time, &self.series[..n_point]);
        // It was expanded before, with the same sides.
        let _ = self.solve_point(false);
    }

    /// The step, up to h, on which the functions that decide branches are resolved by their own series, (R1).
    pub(super) fn resolved(&mut self, h: f64) -> f64 {
        let rtol = self.options.tolerances.rtol;
        let mut h = h;
        let is_rooted = |taylor: &Self, branch| taylor.stages.problem().is_rooted(branch);
        for branch in 0..self.stages.n_branches() {
            if !is_rooted(self, branch) {
                self.decide(branch);
                h = self.decider.limit(rtol, h);
            }
        }
        if let Some(enclosed) = &mut self.enclosed {
            enclosed.hold(self.stages.sides());
            let piece = Piece {
                centre: self.time,
                series: &self.series,
            };
            h = enclosed.limit(piece, self.direction, rtol, h);
        }
        if self.rooted.is_none() {
            return h;
        }
        for branch in 0..self.stages.n_branches() {
            // Behind a switch of another function it is another one.
            let far = self.first_switch(h).map_or(h, |(s, _)| s.min(h));
            if let Some(Within::Unknown(s)) = self.within(branch, far) {
                h = s;
            }
        }
        h
    }

    /// What ranges say of a function that has no series at the zeros of its roots, (R30); `None` for others.
    fn within(&mut self, branch: usize, h: f64) -> Option<Within> {
        let rooted = self.rooted.as_mut().filter(|rooted| rooted.holds(branch))?;
        let sides = self.stages.sides();
        if sides[branch] == Ordering::Equal {
            return Some(Within::Stays);
        }
        let own_zero = self.at_zero.contains(&branch);
        let piece = Piece {
            centre: self.time,
            series: &self.series,
        };
        let stretch = (self.time, self.direction * h);
        Some(rooted.within((branch, own_zero), sides, piece, stretch))
    }

    /// The step, up to h, on which functions of time alone are their series, by proof, (R3).
    pub(super) fn proved(&mut self, h: f64) -> f64 {
        let Some(forced) = &mut self.forced else {
            return h;
        };
        let (sides, solver) = self.stages.sides_and_solver();
        let at = At {
            time: self.time,
            direction: self.direction,
            series: &self.series,
            sides,
            solver,
        };
        forced.limit(at, &self.options.tolerances, h)
    }

    /// The step, up to h, on which no operation on unknowns does what the series do not know, (R8).
    pub(super) fn featureless(&mut self, h: f64) -> f64 {
        let Some(features) = &mut self.features else {
            return h;
        };
        let (sides, solver) = self.stages.sides_and_solver();
        let at = At {
            time: self.time,
            direction: self.direction,
            series: &self.series,
            sides,
            solver,
        };
        features.limit(at, &self.options.tolerances, h)
    }

    /// The range, up to h, in which samples of determinants follow functions of time, and sines and cosines of unknowns, closely
    /// enough for zeros to be seen; infinite where it is all of h.
    pub(super) fn window(&mut self, h: f64, remaining: f64) -> f64 {
        let of_time = match &mut self.forced {
            Some(forced) => match forced.window(self.time, self.direction, h) {
                range if range < WINDOW_LEAST * h => range,
                _ => f64::INFINITY,
            },
            None => f64::INFINITY,
        };
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let far = h.min(remaining).min(of_time);
        let followed = self.monitor.followed(expansion, self.direction * far).abs();
        match followed < far {
            true => followed,
            false => of_time,
        }
    }

    /// Where a branch leaves its side within h ahead.
    fn leaves_within(&mut self, branch: usize, h: f64) -> Option<f64> {
        let side = match self.stages.sides()[branch] {
            Ordering::Less => -1.0,
            Ordering::Greater => 1.0,
            Ordering::Equal => {
                self.expand_here();
                let rtol = self.options.tolerances.rtol;
                let way = Way::through(self.options.t_end - self.time, rtol, 0.0);
                return has_left_rest(&self.stages, branch, way).then_some(0.0);
            }
        };
        match self.within(branch, h) {
            Some(Within::Leaves(s)) => return Some(s),
            Some(_) => return None,
            None => {}
        }
        self.decide(branch);
        let own_zero = self.at_zero.contains(&branch);
        let root_side = self.stages.problem().root_side(branch);
        let has_root = root_side == Some(self.stages.sides()[branch]);
        if root_side.is_some() && !has_root {
            // What rests beside its root has left when it is more than what it came to rest with.
            let rtol = self.options.tolerances.rtol;
            let way = Way::through(self.options.t_end - self.time, rtol, 0.0);
            if rests(&self.stages, branch, way) {
                return None;
            }
        }
        self.decider
            .leaves((side, self.direction), h, own_zero, has_root)
    }

    /// The first switching time within the next step, and the branch that switches.
    pub(super) fn first_switch(&mut self, h: f64) -> Option<(f64, usize)> {
        let mut first: Option<(f64, usize)> = None;
        for branch in 0..self.stages.n_branches() {
            // A function with roots may have no values behind the zeros of those within it, which come first.
            let far = match self.stages.problem().is_rooted(branch) {
                true => first.map_or(h, |(s, _)| s),
                false => h,
            };
            if let Some(s) = self.leaves_within(branch, far)
                && first.is_none_or(|(held, _)| s < held)
            {
                first = Some((s, branch));
            }
        }
        first
    }

    /// The branches that leave their sides with one of them, within a width of its distance.
    fn together(&mut self, branch: usize, s: f64, width: f64) -> Vec<usize> {
        let beyond = s + 2.0 * width;
        let all = 0..self.stages.n_branches();
        all.filter(|&other| {
            let at = (other != branch).then(|| self.leaves_within(other, beyond));
            at.is_none_or(|at| at.is_some_and(|at| at <= s + width))
        })
        .collect()
    }

    /// Puts what rests onto its surfaces, and gives the values at the switch itself if they are those of neither side, (R26).
    fn written(&mut self, located: &[usize], way: Way) -> Option<Vec<f64>> {
        onto_surfaces(&mut self.stages, located, way, &mut self.next);
        let located = located.iter().copied();
        let exact: Vec<usize> = located.filter(|&branch| self.of_time[branch]).collect();
        as_written(&mut self.stages, &exact, way, &mut self.next)
    }

    /// Restarts on the other side of a branch, at its switching time.
    pub(super) fn switch(&mut self, s: f64, branch: usize) -> Option<StopReason> {
        let time = self.time + self.direction * s;
        // All branches that switch at this very time go together: abs(x) and x > 0, say. Times of picoseconds are no less apart.
        let width = SAME_SWITCH * time.abs().max(s);
        let at_once = SAME_SWITCH * time.abs().max((self.options.t_end - time).abs().min(1.0));
        let together = self.together(branch, s, width);
        let rtol = self.options.tolerances.rtol;
        // How far a zero of the series may be off the switch, which two different switches may not.
        let way = Way::through(self.options.t_end - time, rtol, width.max(SIDE_VALUE * s));
        let sides: Vec<(usize, Ordering)> = together
            .iter()
            .map(|&branch| (branch, beyond(&self.stages, branch, way)))
            .collect();
        self.note_sizes(&together, s);
        if !self.reaches(s) {
            self.stages.statistics.rejected += 1;
            return self.step(0.5 * s, self.options.t_end);
        }
        let n = self.trajectory.n();
        shift(&self.series, n, time - self.time, &mut self.point);
        let time = match self.of_time[branch] {
            true => exact_time(&mut self.stages, branch, (time, &self.point)),
            false => time,
        };
        for &(branch, side) in &sides {
            self.stages.choose(branch, side);
        }
        self.stages.set_point(time, &self.point);
        let settled = settle(&mut self.stages, &together, way, &mut self.next);
        let is_jump = matches!(settled, Ok(Settled::Jumped(_)));
        let (restart, projected) = match settled {
            Ok(
                Settled::One(projected) | Settled::Several(projected) | Settled::Jumped(projected),
            ) => (time, projected),
            Ok(Settled::Meeting { branch }) => {
                let expr = self.branch_expr(branch);
                return Some(self.ended(time, StopReason::Meeting { time, expr }));
            }
            Ok(Settled::None { branch, leads_back }) => {
                let behind = match leads_back && !self.begins_root(&together) {
                    true => None,
                    false => self.behind((time, s), way, &sides),
                };
                match behind {
                    Some(found) => found,
                    None => {
                        self.close(time);
                        self.time = time;
                        return Some(self.chattering(branch, leads_back));
                    }
                }
            }
            Err(failure) => return Some(StopReason::Failed { time, failure }),
        };
        let written = match restart == time {
            true => self.written(&together, way),
            false => None,
        };
        self.switches.push(Switch {
            time,
            branch,
            expr: self.branch_expr(branch),
            state_change: projected.state_change,
            is_jump,
        });
        let quick = if s <= at_once {
            self.quick_switches + 1
        } else {
            0
        };
        self.quick_switches = quick;
        self.forget_ahead();
        self.accept(restart);
        if let Some(point) = written {
            self.trajectory.push_instant(time, point);
        }
        self.at_zero = at_zero(&self.stages, &together, way);
        // Switching is no evidence of sliding, however frequent; only at one and the same time.
        (self.quick_switches > 10).then(|| self.chattering(branch, true))
    }

    /// Ends the last piece at a time.
    fn ended(&mut self, time: f64, why: StopReason) -> StopReason {
        self.close(time);
        self.time = time;
        why
    }

    /// A start a little behind a switch at which no series begins, (R16a).
    fn behind(
        &mut self,
        (time, s): (f64, f64),
        way: Way,
        sides: &[(usize, Ordering)],
    ) -> Option<(f64, Projected)> {
        // From the very beginning of a series it reaches as far as a step.
        let reach = match s > SAME_SWITCH * time.abs() {
            true => s,
            false => self.rule.step(&self.series).step,
        };
        let beside = Beside {
            series: &self.series,
            centre: self.time,
            time,
            reach: reach.min((self.options.t_end - time).abs()),
            tolerances: &self.options.tolerances,
            sides,
        };
        beside.settle(&mut self.stages, way, &mut self.point, &mut self.next)
    }

    /// Whether a root begins on a side of one of some branches: within rounding of its beginning it has a slope that leads back.
    fn begins_root(&self, branches: &[usize]) -> bool {
        let problem = self.stages.problem();
        let mut branches = branches.iter();
        branches.any(|&branch| problem.root_side(branch).is_some())
    }

    /// Begins where roots begin with infinite slopes: a little behind the start, (R16a), up to which nothing is seen of the roots. Whether
    /// there is such a start; if not, everything is as it was.
    pub(super) fn begin_beside_root(&mut self, undecided: &[usize]) -> bool {
        let root_of = |branch: usize| self.stages.problem().root_side(branch);
        let rooted = undecided.iter().copied();
        let rooted = rooted.filter_map(|branch| Some((branch, root_of(branch)?)));
        let rooted: Vec<(usize, Ordering)> = rooted.collect();
        if rooted.is_empty() {
            return false;
        }
        let before: Vec<Ordering> = self.stages.sides().to_vec();
        let point = self.series.clone();
        let restart = self.led_beside_root(&rooted, undecided);
        match restart {
            Some(restart) => self.accept(restart),
            None => {
                for (branch, side) in before.into_iter().enumerate() {
                    self.stages.choose(branch, side);
                }
                self.series = point;
                let n_point = self.stages.n_point().min(self.series.len());
                self.stages.set_point(self.time, &self.series[..n_point]);
                self.stages.compare();
            }
        }
        restart.is_some()
    }

    /// The time behind the start at which roots are on their sides, with the series there in `next` and that of the start in `series`.
    fn led_beside_root(
        &mut self,
        rooted: &[(usize, Ordering)],
        undecided: &[usize],
    ) -> Option<f64> {
        for &(branch, side) in rooted {
            self.stages.choose(branch, side.reverse());
        }
        let left = self.options.t_end - self.time;
        let is_other = |branch: &usize| rooted.iter().all(|(rooted, _)| rooted != branch);
        let others: Vec<usize> = undecided.iter().copied().filter(is_other).collect();
        let from_start = Way::from_start(left);
        let settled = settle(&mut self.stages, &others, from_start, &mut self.next);
        if !matches!(settled, Ok(Settled::One(_))) {
            return None;
        }
        let way = Way::through(left, self.options.tolerances.rtol, 0.0);
        let leaving = rooted.iter().copied();
        let sides: Vec<(usize, Ordering)> = leaving
            .filter(|&(branch, side)| leads_to(&self.stages, branch, side, way))
            .collect();
        if sides.is_empty() {
            return None;
        }
        std::mem::swap(&mut self.series, &mut self.next);
        let reach = self.rule.step(&self.series).step.min(left.abs());
        let (restart, _) = self.behind((self.time, reach), way, &sides)?;
        Some(restart)
    }

    /// Forgets what was seen ahead with the sides before.
    fn forget_ahead(&mut self) {
        self.monitor.forget();
        self.near_misses.clear();
        self.approach = None;
        self.tail = Tail::default();
    }

    /// Keeps what decides branches was made of on the way to their surfaces, at a distance; those that leave one are on none.
    fn note_sizes(&mut self, branches: &[usize], distance: f64) {
        for &branch in branches {
            let is_away = self.stages.sides()[branch] != Ordering::Equal;
            // Where a root begins only the value has a size.
            let orders = match self.stages.problem().is_rooted(branch) {
                true => 0..1,
                false => 0..self.stages.n_switching(),
            };
            let term = |m: usize| self.stages.switching(branch, m).1 * distance.powi(m as i32);
            let size = orders.map(term).fold(0.0, f64::max);
            self.stages
                .note_size(branch, if is_away { size } else { 0.0 });
        }
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

    fn branch_expr(&self, branch: usize) -> daelight_expr::ExprId {
        self.stages.problem().branch_expr(branch)
    }

    pub(super) fn ambiguous(&self, branch: usize) -> StopReason {
        StopReason::Ambiguous {
            time: self.time,
            expr: self.branch_expr(branch),
        }
    }

    pub(super) fn chattering(&self, branch: usize, leads_back: bool) -> StopReason {
        StopReason::Chattering {
            time: self.time,
            leads_back,
            expr: self.branch_expr(branch),
        }
    }
}
