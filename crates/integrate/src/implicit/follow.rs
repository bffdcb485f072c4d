//! Following constraints that alone determine everything, where there is nothing to integrate.

use super::{Course, Event, MAX_RESIDUAL, N_STAGES};
use crate::outcome::Failure;
use crate::tolerances::MAX_HALVINGS;
use crate::trajectory::shift;

/// Rounding of the values of a piece as its derivatives see it, relative: powers of 2q + 1 come with them.
const PIECE_ROUNDING: f64 = 1e4 * f64::EPSILON;

impl Course<'_> {
    /// Steps through time where the constraints alone determine everything.
    pub(super) fn follow(&mut self) -> Event {
        loop {
            if let Some(event) = self.follow_step() {
                return event;
            }
        }
    }

    /// One such step: as long as the piece between its ends is as good as asked.
    fn follow_step(&mut self) -> Option<Event> {
        let span = (self.options.t_end - self.time).abs();
        let mut h = self.step.unwrap_or(0.01 * span).min(span);
        h = self.longest_forced().map_or(h, |most| h.min(most));
        let exponent = -1.0 / (2 * N_STAGES + 2) as f64;
        let mut failure = None;
        let mut before = f64::INFINITY;
        for _ in 0..MAX_HALVINGS {
            let target = if h >= 0.99 * span {
                self.options.t_end
            } else {
                self.time + self.direction * h
            };
            if target == self.time {
                break;
            }
            let error = self.attempt(target).unwrap_or_else(|why| {
                failure = Some(why);
                f64::INFINITY
            });
            let factor = 0.9 * error.max(f64::MIN_POSITIVE).powf(exponent);
            if error <= 1.0 {
                let event = self.accept(target);
                self.step = Some(h * factor.clamp(0.3, 3.0));
                return event;
            }
            self.work.rejected += 1;
            if let Some(kind) = self.out_of_budget() {
                return Some(Event::Budget(kind));
            }
            // What does not fall with the step is rounding, which grows near a singular point: the series know better.
            if error.is_finite() && error > 0.5 * before {
                break;
            }
            before = error;
            h *= factor.clamp(0.1, 0.7);
        }
        Some(Event::Failed(failure))
    }

    /// Solves the point at a time and the one half-way; gives the error of the piece there, in tolerances.
    fn attempt(&mut self, target: f64) -> Result<f64, Failure> {
        let n = self.problem.n();
        let h = target - self.time;
        shift(&self.series, n, h, &mut self.point);
        self.solve_at(target)?;
        self.stages.expand(&mut self.next)?;
        self.keep_residuals();
        self.pieces
            .between(&self.series, &self.next, h, &mut self.piece);
        shift(&self.piece, n, 0.5 * h, &mut self.point);
        let guess = self.point.clone();
        self.solve_at(self.time + 0.5 * h)?;
        self.stages.point(&mut self.point);
        let tolerances = &self.options.tolerances;
        let mut worst = 0.0f64;
        for j in 0..n {
            let mut factorial = 1.0;
            // What rounding of x_j makes of its s-th derivative.
            let mut noise = PIECE_ROUNDING * self.point[j].abs();
            // Unknowns that are derivatives of others are told too: highest ones are as good as values.
            for s in 0..=self.problem.unknown_offset(j) {
                let (found, wanted) = (guess[s * n + j], self.point[s * n + j]);
                let size = tolerances.rtol * factorial * wanted.abs() + tolerances.absolute(s, j);
                let error = (factorial * (found - wanted).abs() - noise).max(0.0);
                worst = worst.max(error / size);
                factorial *= (s + 1) as f64;
                noise *= (s + 1) as f64 / h.abs();
            }
        }
        // Back to the end, whose factors the monitor reads.
        self.point.copy_from_slice(&self.next[..guess.len()]);
        self.stages.set_point(target, &self.point);
        self.stages.factor()?;
        Ok(if worst.is_nan() { f64::INFINITY } else { worst })
    }

    fn solve_at(&mut self, time: f64) -> Result<(), Failure> {
        self.stages.set_point(time, &self.point);
        self.stages.factor()?;
        let projected = self.stages.project(false)?;
        if projected.residual > MAX_RESIDUAL {
            return Err(Failure::NoConvergence {
                stage: 0,
                residual: projected.residual,
            });
        }
        Ok(())
    }
}
