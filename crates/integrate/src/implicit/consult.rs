//! What an implicit run asks the series, and what it does with their answers.

use super::choice::MOST_PATIENT;
use super::{Course, Event};
use crate::monitor::{Expansion, Zero};
use crate::options::{OnSingularity, Output};
use crate::outcome::{Failure, Nature, Run, StopReason};
use crate::start::Start;
use crate::taylor;
use daelight_stiff::Statistics;

/// Accepted points that are kept for the series to start from: the last ones, and others at growing distances.
const N_CHECKPOINTS: usize = 14;

/// The series start this many of them back, so that they see a zero from a distance.
const N_BACK: usize = 6;

/// Points from which the series are asked about one place.
const MAX_LOOKS: usize = 4;

/// The part of a forecast's range in which it is not repeated, if the series did not come through it.
const QUIET: f64 = 0.25;

/// Steps that the series may take at a place where they are needed.
const HARD_STEPS: usize = 600;

/// Steps that the series may take because a zero is expected.
const FORECAST_STEPS: usize = 100;

/// The series run at least as tight as this, whatever was asked: times of singular points depend on it.
const TIGHT: f64 = 1e-10;

/// The part of the way that series lead off.
const LED_OFF: f64 = 1e-3;

/// The series look at least this far behind a failure, relative to the time or to this part of what is left.
const REACH: f64 = 1e-6;

/// Failures of the implicit method that the series may mend in one run.
const MAX_RESCUES: usize = 40;

/// What came of asking the series.
enum Handed {
    /// The run ends where they ended.
    Over(StopReason),
    /// They went some way, and the implicit method goes on from there.
    Passed,
    /// They did not get through.
    Refused,
}

/// An accepted point from which the series may start.
pub(super) struct Checkpoint {
    time: f64,
    series: Vec<f64>,
    n_segments: usize,
    n_points: usize,
}

impl Course<'_> {
    pub(super) fn remember(&mut self) {
        let mut series = self.least_checkpoint().unwrap_or_default();
        series.clone_from(&self.series);
        self.checkpoints.push(Checkpoint {
            time: self.time,
            series,
            n_segments: self.trajectory.segments().len(),
            n_points: self.trajectory.points().len(),
        });
    }

    /// Takes out what has to go before another one is kept, if there are as many as there may be.
    ///
    /// The first and the last ones stay; of the others the one goes that leaves the least gap, seen from here.
    fn least_checkpoint(&mut self) -> Option<Vec<f64>> {
        if self.checkpoints.len() < N_CHECKPOINTS {
            return None;
        }
        let gap = |k: usize| {
            let time = |k: usize| self.checkpoints.get(k).map_or(self.time, |kept| kept.time);
            (time(k + 1) - time(k - 1)).abs() / (self.time - time(k)).abs()
        };
        let least = (1..=N_CHECKPOINTS - N_BACK).min_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
        Some(self.checkpoints.remove(least).series)
    }

    /// What follows from the end of a leg; the reason if the run ends.
    pub(super) fn answer(&mut self, event: Event) -> Option<StopReason> {
        match event {
            // What a trial runs into is for the series, which judge it from where they were.
            Event::Zero(_)
            | Event::NearMiss(_)
            | Event::Forecast { .. }
            | Event::Switch(_)
            | Event::Failed(_)
                if self.is_on_trial() =>
            {
                self.return_to_series();
                None
            }
            Event::End => Some(StopReason::Finished),
            Event::Reselect => None,
            Event::Trial => match self.begin_trial() {
                Ok(()) => None,
                Err(failure) => Some(StopReason::Failed {
                    time: self.time,
                    failure,
                }),
            },
            Event::Return => {
                self.return_to_series();
                None
            }
            Event::Budget(kind) => Some(StopReason::Budget(kind)),
            Event::Ended(stop) => Some(stop),
            Event::Zero(zero) => {
                let from = self.steps_back();
                let far = 2.0 * zero.time - self.checkpoints[from].time;
                match self.consult(from, far) {
                    Handed::Over(stop) => Some(stop),
                    Handed::Passed => None,
                    Handed::Refused => Some(self.unresolved(zero)),
                }
            }
            Event::NearMiss(near) => {
                let from = self.steps_back();
                let far = 2.0 * near.time - self.checkpoints[from].time;
                match self.consult(from, far) {
                    Handed::Over(stop) => return Some(stop),
                    Handed::Passed => {}
                    // The method passes it in steps of its own that see it.
                    Handed::Refused => {
                        self.beside = Some(near);
                        self.quiet_until = near.time + self.direction * near.width;
                    }
                }
                None
            }
            Event::Forecast { ahead } => {
                let far = self.time + self.direction * ahead;
                let from = self.checkpoints.len().saturating_sub(3);
                if let Some(run) = self.ask(from, far, FORECAST_STEPS)
                    && is_clear(&run)
                    // Fast growth in a stiff problem looks like an escape from afar.
                    && !matches!(run.stop, StopReason::FiniteEscape { .. })
                {
                    self.n_refused = 0;
                    return match self.adopt(from, run) {
                        Handed::Over(stop) => Some(stop),
                        _ => None,
                    };
                }
                // Asked in vain again and again, the series are asked more and more seldom.
                let patience = QUIET * f64::from(1 << self.n_refused.min(MOST_PATIENT));
                self.n_refused += 1;
                self.quiet_until = self.time + self.direction * patience * ahead;
                None
            }
            Event::Switch(switch) => self.switch(&switch),
            Event::Failed(failure) => self.rescue(failure),
        }
    }

    /// Asks the series what it is that the implicit method cannot pass.
    fn rescue(&mut self, failure: Option<Failure>) -> Option<StopReason> {
        let step = self.step.unwrap_or(0.0);
        let from = self.steps_back();
        let back = self.checkpoints[from].time;
        let left = (self.options.t_end - self.time).abs();
        let least = REACH * self.time.abs().max(REACH * left);
        let ahead = (10.0 * step).max((self.time - back).abs()).max(least);
        self.n_rescues += 1;
        if self.n_rescues <= MAX_RESCUES {
            match self.consult(from, self.time + self.direction * ahead) {
                Handed::Over(stop) => return Some(stop),
                Handed::Passed => return None,
                Handed::Refused => {}
            }
        }
        Some(match failure {
            Some(failure @ (Failure::Fault(_) | Failure::Undefined(_))) => StopReason::Failed {
                time: self.time,
                failure,
            },
            _ => StopReason::AccuracyLost {
                time: self.time,
                step,
                residual: self.stages.levels.iter().copied().fold(0.0, f64::max),
            },
        })
    }

    /// Ends the run before a zero of a determinant that the series cannot judge.
    fn unresolved(&mut self, zero: Zero) -> StopReason {
        let expansion = Expansion {
            time: self.time,
            series: &self.piece,
        };
        let nature = Nature::Unresolved;
        let mut found = self
            .monitor
            .describe(expansion, zero.time, Some(zero.quantity), nature);
        found.evidence.step = self.step.unwrap_or(0.0);
        found.evidence.sign_change = zero.sign_change;
        found.evidence.uncertainty = (zero.time - self.time).abs();
        self.singularities.push(found);
        StopReason::Singularity
    }

    /// The checkpoint from which the series usually see what lies in the next step.
    fn steps_back(&self) -> usize {
        self.checkpoints.len().saturating_sub(N_BACK)
    }

    /// Asks the series what lies before `far`, from further and further away until they know.
    fn consult(&mut self, from: usize, far: f64) -> Handed {
        let mut from = from;
        let mut unclear = None;
        for _ in 0..MAX_LOOKS {
            if let Some(run) = self.ask(from, far, HARD_STEPS) {
                if is_clear(&run) {
                    return self.adopt(from, run);
                }
                unclear = unclear.or(Some((from, run)));
            }
            if from == 0 {
                break;
            }
            from = from.saturating_sub(2);
        }
        match unclear {
            Some((from, run)) => self.adopt(from, run),
            None => Handed::Refused,
        }
    }

    /// Lets the series run from an accepted point to `far`; `None` if they come neither there nor to a finding.
    fn ask(&mut self, checkpoint: usize, far: f64, max_steps: usize) -> Option<Run> {
        let from = self.checkpoints.get(checkpoint)?;
        let end = self.options.t_end;
        let far = if (far - end) * self.direction >= 0.0 {
            end
        } else {
            far
        };
        if (far - from.time) * self.direction <= 0.0 {
            return None;
        }
        let mut options = self.options.clone();
        let tighter = (TIGHT / options.tolerances.rtol).min(1.0);
        options.tolerances.rtol *= tighter;
        for atol in options.tolerances.atol.iter_mut().flatten() {
            *atol *= tighter;
        }
        options.t_end = far;
        options.order = None;
        // What they find is shown once it is adopted.
        options.watch = None;
        options.max_steps = max_steps;
        if let Output::Points(times) = &mut options.output {
            times.drain(..from.n_points.min(times.len()));
        }
        let n = self.problem.n();
        let n_orders = self.problem.max_unknown_offset() + 1;
        let rows = from.series.chunks_exact(n.max(1)).take(n_orders);
        let start = Start::new(from.time, rows.map(<[f64]>::to_vec).collect());
        let mut run = taylor::solve(self.problem, &start, &options).ok()?;
        let mut asked = vec![run.statistics];
        if !is_finding(&run) && options.on_singularity.goes_on() {
            // What cannot be passed may still be named.
            let goes_on = std::mem::replace(&mut options.on_singularity, OnSingularity::Stop);
            run = taylor::solve(self.problem, &start, &options).ok()?;
            asked.push(run.statistics);
            let last = run.singularities.last();
            if last.is_some_and(|point| point.nature == Nature::Steep) && max_steps < HARD_STEPS {
                // On both sides of an infinite slope steps are short.
                options.on_singularity = goes_on;
                options.max_steps = HARD_STEPS;
                run = taylor::solve(self.problem, &start, &options).ok()?;
                asked.push(run.statistics);
            }
        }
        for statistics in asked {
            // Steps count only if they are adopted.
            self.work += Statistics {
                steps: 0,
                rejected: 0,
                ..statistics
            };
        }
        is_finding(&run).then_some(run)
    }

    /// Lets the series lead the run off from a start at which formulas have no derivatives, a thousandth of the way; `None` if they do not
    /// come through.
    pub(super) fn led_off(&mut self, start: &Start) -> Option<Result<Option<StopReason>, Failure>> {
        let mut options = self.options.clone();
        options.t_end = self.time + LED_OFF * (self.options.t_end - self.time);
        options.order = None;
        options.watch = None;
        let run = taylor::solve(self.problem, start, &options).ok()?;
        if !is_finding(&run) {
            return None;
        }
        Some(match self.take_over(0, 0, run, false) {
            Some(stop) => Ok(Some(stop)),
            None => self.begin(),
        })
    }

    /// Takes over what the series found from an accepted point on.
    fn adopt(&mut self, checkpoint: usize, run: Run) -> Handed {
        let from = &self.checkpoints[checkpoint];
        let (n_segments, n_points) = (from.n_segments, from.n_points);
        // The rest of the work was counted when they were asked.
        let counted = Run {
            statistics: Statistics {
                steps: run.statistics.steps,
                rejected: run.statistics.rejected,
                ..Statistics::default()
            },
            ..run
        };
        if let Some(stop) = self.take_over(n_segments, n_points, counted, false) {
            return Handed::Over(stop);
        }
        match self.begin() {
            Ok(None) => Handed::Passed,
            Ok(Some(stop)) => Handed::Over(stop),
            Err(failure) => Handed::Over(StopReason::Failed {
                time: self.time,
                failure,
            }),
        }
    }

    /// Puts what the series found behind the first pieces and points; the reason if the run ends with it. Otherwise the
    /// stages hold its last point. A run that only `gives_way` ends nothing by its reason.
    pub(super) fn take_over(
        &mut self,
        n_segments: usize,
        n_points: usize,
        run: Run,
        gives_way: bool,
    ) -> Option<StopReason> {
        self.trajectory.truncate(n_segments, n_points);
        self.trajectory.append(&run.trajectory);
        self.singularities.extend_from_slice(&run.singularities);
        self.switches.extend_from_slice(&run.switches);
        for (kept, level) in self.residuals.iter_mut().zip(&run.residuals) {
            *kept = kept.max(*level);
        }
        self.work += run.statistics;
        if let Some(stop) = self.watch() {
            return Some(stop);
        }
        if run.stop != StopReason::Finished && !gives_way {
            return Some(run.stop);
        }
        self.time = run.trajectory.span().map_or(self.time, |(_, end)| end);
        if self.time == self.options.t_end
            || !run.trajectory.coefficients(self.time, &mut self.point)
        {
            self.expected = run.expected;
            return Some(StopReason::Finished);
        }
        self.stages.set_point(self.time, &self.point);
        None
    }
}

/// Whether a run by series came to its end, or to something that ends the solution.
fn is_finding(run: &Run) -> bool {
    matches!(
        run.stop,
        StopReason::Finished
            | StopReason::Singularity
            | StopReason::FiniteEscape { .. }
            | StopReason::Chattering { .. }
            | StopReason::Meeting { .. }
    )
}

/// Whether a run by series knows what ended it.
fn is_clear(run: &Run) -> bool {
    let last = run.singularities.last();
    last.is_none_or(|point| point.nature != Nature::Unresolved)
}
