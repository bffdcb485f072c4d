//! Branches of a model: where they switch, and restarts on their other sides.

use super::Taylor;
use super::tail::Tail;
use crate::locate;
use crate::outcome::{StopReason, Switch};
use crate::trajectory::shift;
use std::cmp::Ordering;

/// Points of a step at which switching quantities are looked at.
const N_SWITCH_SAMPLES: usize = 16;

impl Taylor<'_> {
    /// The first switching time within the next step, and the branch that switches.
    pub(super) fn first_switch(&mut self, h: f64) -> Option<(f64, usize)> {
        let mut first: Option<(f64, usize)> = None;
        for branch in 0..self.stages.n_branches() {
            let side = match self.stages.sides()[branch] {
                Ordering::Less => -1.0,
                Ordering::Greater => 1.0,
                Ordering::Equal => continue,
            };
            self.stages.switching(branch, &mut self.switching);
            let switching = &self.switching;
            let quantity = |s: f64| {
                let value = switching.iter().rev().fold(0.0, |sum, x| sum * s + x);
                side * value
            };
            let end = first.map_or(h, |(s, _)| s);
            let mut before = 0.0;
            for k in 1..=N_SWITCH_SAMPLES {
                let s = end * k as f64 / N_SWITCH_SAMPLES as f64;
                let f = quantity(self.direction * s);
                if f < 0.0 {
                    let start = quantity(self.direction * before).max(f64::MIN_POSITIVE);
                    let zero = locate::zero(before, s, start, f, |s| quantity(self.direction * s));
                    first = Some((zero, branch));
                    break;
                }
                before = s;
            }
        }
        first
    }

    /// Restarts on the other side of a branch, at its switching time.
    pub(super) fn switch(&mut self, s: f64, branch: usize) -> Option<StopReason> {
        let time = self.time + self.direction * s;
        let scale = time.abs().max(1.0);
        // All branches that switch at this very time go together: abs(x) and x > 0, say.
        let together: Vec<usize> = (0..self.stages.n_branches())
            .filter(|&other| other == branch || self.switches_at(other, s, 1e-12 * scale))
            .collect();
        shift(
            &self.series,
            self.trajectory.n(),
            time - self.time,
            &mut self.point,
        );
        for &branch in &together {
            let side = self.stages.sides()[branch].reverse();
            self.stages.choose(branch, side);
        }
        self.stages.set_point(time, &self.point);
        let projected = match self.solve_point(true) {
            Ok(projected) => projected,
            Err(failure) => return Some(StopReason::Failed { time, failure }),
        };
        let expr = self.branch_expr(branch);
        self.switches.push(Switch {
            time,
            branch,
            expr,
            state_change: projected.state_change,
        });
        self.quick_switches = if s < 1e-10 * scale {
            self.quick_switches + 1
        } else {
            0
        };
        self.monitor.forget();
        self.approach = None;
        self.tail = Tail::default();
        self.accept(time);
        let back = together
            .into_iter()
            .find(|&branch| self.leaves(branch) == Some(false));
        match back {
            Some(branch) => Some(self.chattering(branch)),
            None if self.quick_switches > 10 => Some(self.chattering(branch)),
            None => None,
        }
    }

    fn switches_at(&mut self, branch: usize, s: f64, within: f64) -> bool {
        self.stages.switching(branch, &mut self.switching);
        let at = |s: f64| self.switching.iter().rev().fold(0.0, |sum, x| sum * s + x);
        let width = within.max(1e-9 * s);
        let (a, b) = (
            at(self.direction * (s - width)),
            at(self.direction * (s + width)),
        );
        a * b < 0.0
    }

    /// Whether the quantity of a branch at its switching point moves to the side chosen; `None` if it rests.
    pub(super) fn leaves(&mut self, branch: usize) -> Option<bool> {
        self.stages.switching(branch, &mut self.switching);
        let side = match self.stages.sides()[branch] {
            Ordering::Less => -1.0,
            Ordering::Equal => return None,
            Ordering::Greater => 1.0,
        };
        let mut power = side;
        self.switching.iter().skip(1).find_map(|x| {
            power *= self.direction;
            (*x != 0.0).then_some(x * power > 0.0)
        })
    }

    fn branch_expr(&self, branch: usize) -> daelight_expr::ExprId {
        let tape = self.stages.problem().residual_tape();
        tape.branches().nth(branch).expect("a branch of the tape")
    }

    pub(super) fn chattering(&self, branch: usize) -> StopReason {
        StopReason::Chattering {
            time: self.time,
            expr: self.branch_expr(branch),
        }
    }
}
