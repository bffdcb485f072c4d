//! Accepting a step: what may lie within it, what is stored of it, and what it lets expect.

use super::{Course, Event};
use crate::monitor::{AHEAD, Expansion, Zero};
use crate::options::Output;
use crate::states::{self, STEEP};
use crate::tolerances::SHRUNK;
use crate::trajectory::{SavedPoint, Segment, shift};
use crate::watch::branches::{FirstSwitch, OnSurfaces, Piece};

/// The series look this many times as far as the zero of a determinant that goes on falling like a line: like a square it
/// would vanish at twice that distance.
const FALL: f64 = 3.0;

/// Blocks up to this size have their choice of states looked at in every step.
const QUICK_BLOCK: usize = 60;

impl Course<'_> {
    /// Looks at a step whose end is projected and expanded, and accepts it unless something lies within it.
    ///
    /// The stages hold the factors of the end, `next` its series and `piece` the polynomial in between.
    pub(super) fn accept(&mut self, target: f64) -> Option<Event> {
        let h = target - self.time;
        if let Some(event) = self.within(target) {
            return Some(event);
        }
        let loud = self.is_loud(target);
        self.step = Some(h.abs());
        self.work.steps += 1;
        self.work.implicit_steps += 1;
        self.at_zero.clear();
        self.keep_residuals();
        let there = Expansion {
            time: target,
            series: &self.next,
        };
        self.monitor.record(there, &self.stages);
        self.n_since += 1;
        let is_spaced = self.n_since >= self.method.stride(self.selection.is_some());
        if is_spaced {
            self.n_since = 0;
            let varies = self.monitor.varying_blocks();
            self.trend.record(target, self.stages.solver(), varies);
        }
        let segment = Segment {
            centre: self.time,
            start: self.time,
            end: target,
        };
        self.trajectory.push(segment, &self.piece);
        let is_steep = self.is_steep();
        self.save_points(segment, false);
        self.time = target;
        std::mem::swap(&mut self.series, &mut self.next);
        if is_spaced {
            self.remember();
        }
        if let Some(stop) = self.watch() {
            return Some(Event::Ended(stop));
        }
        if target == self.options.t_end {
            self.trajectory.close(target, &self.series);
            self.end_as_written();
            return Some(Event::End);
        }
        if let Some(kind) = self.out_of_budget() {
            return Some(Event::Budget(kind));
        }
        if loud
            && is_spaced
            && let Some(ahead) = self.vanishing_ahead()
        {
            return Some(Event::Forecast { ahead });
        }
        // Steps that shrink and shrink lead to a singularity of the solution, unless they lead through a transient. Where the
        // series are the other choice, they are asked as that.
        self.longest = self.longest.max(h.abs());
        if self.choice.is_none() && loud && h.abs() * SHRUNK < self.longest {
            self.longest = h.abs();
            return Some(Event::Forecast {
                ahead: SHRUNK * h.abs(),
            });
        }
        is_steep.then_some(Event::Reselect)
    }

    /// What lies within a step: a switch, a zero of a quantity or one that is narrowly missed.
    fn within(&mut self, target: f64) -> Option<Event> {
        let h = target - self.time;
        // Behind a switch the equations are others.
        if let Some(switch) = self.first_switch(target) {
            self.step = Some(h.abs());
            return Some(Event::Switch(switch));
        }
        let expansion = Expansion {
            time: self.time,
            series: &self.piece,
        };
        if let Some(zero) = self.monitor.look_ahead(expansion, h, false) {
            return Some(Event::Zero(zero));
        }
        let missed = self.monitor.near_misses.iter();
        let narrow = missed
            .copied()
            .find(|near| near.longest_step(near.time) < h.abs());
        if let Some(near) = narrow {
            // One that the series did not come past is passed in steps that see it, and is known better then.
            let known = self.beside.filter(|known| {
                let around = 0.1 * (known.time - self.time).abs();
                (near.time - known.time).abs() <= known.width.max(around)
            });
            if known.is_none() {
                return Some(Event::NearMiss(near));
            }
            self.beside = Some(near);
        }
        let changed = self
            .monitor
            .changed(target, &self.next, Some(self.stages.solver()));
        if let Some(quantity) = changed {
            let zero = self
                .monitor
                .locate(expansion, quantity, h)
                .unwrap_or(Zero::crossing(quantity, target));
            return Some(Event::Zero(zero));
        }
        None
    }

    /// Whether the series are asked about what is seen up to a time.
    fn is_loud(&self, target: f64) -> bool {
        (target - self.quiet_until) * self.direction > 0.0
    }

    /// The first switch within the piece up to a time.
    fn first_switch(&mut self, target: f64) -> Option<FirstSwitch> {
        let branches = self.branches.as_mut()?;
        branches.hold(self.stages.sides());
        let piece = Piece {
            centre: self.time,
            series: &self.piece,
        };
        let known = OnSurfaces {
            at_zero: &self.at_zero,
            staying: &self.staying,
            rtol: self.options.tolerances.rtol,
        };
        branches.first_switch(piece, (self.time, target), &self.stages, known)
    }

    /// How far the series should look for the zero of a determinant, if the trend of one leads there.
    fn vanishing_ahead(&mut self) -> Option<f64> {
        let remaining = (self.options.t_end - self.time).abs();
        let ahead = (AHEAD * self.trend.spacing().abs()).min(remaining);
        if self.trend.expects_zero(ahead * self.direction) {
            return Some(2.0 * ahead);
        }
        self.trend.falls().map(|distance| FALL * distance)
    }

    /// Whether the states chosen have become a bad choice at the point that the stages hold.
    fn is_steep(&mut self) -> bool {
        let Some(selection) = self.selection.as_ref().filter(|s| s.is_choice()) else {
            return false;
        };
        self.n_unchecked += 1;
        if self.n_unchecked * QUICK_BLOCK < selection.largest {
            return false;
        }
        self.n_unchecked = 0;
        let (problem, tolerances) = (self.problem, &self.options.tolerances);
        let entries = self.stages.entries();
        selection.steepness(problem, tolerances, &entries) > STEEP
            && states::select(problem, tolerances, &entries)
                .is_ok_and(|better| better.is_some_and(|better| better.states != selection.states))
    }

    /// Solves the points asked for within a piece, or at the present point.
    pub(super) fn save_points(&mut self, segment: Segment, at_point: bool) {
        let Output::Points(times) = &self.options.output else {
            return;
        };
        let n = self.problem.n();
        while let Some(&time) = times.get(self.trajectory.points().len()) {
            if (segment.end - time) * self.direction < 0.0 {
                break;
            }
            let rows = if at_point { &self.series } else { &self.piece };
            shift(rows, n, time - segment.centre, &mut self.point);
            self.stages.set_point(time, &self.point);
            if self.stages.factor().is_ok() && self.stages.project(false).is_ok() {
                self.stages.point(&mut self.point);
            }
            self.trajectory.push_point(SavedPoint {
                time,
                coefficients: self.point.clone(),
            });
        }
    }
}
