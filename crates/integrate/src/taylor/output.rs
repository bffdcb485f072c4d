//! What a run stores: pieces of series, and the points asked for.

use super::Taylor;
use crate::options::Output;
use crate::trajectory::{SavedPoint, Segment, shift};

impl Taylor<'_> {
    /// Adds the piece of the present series up to `end`, and the points asked for in it.
    pub(super) fn close(&mut self, end: f64) {
        self.close_at(end, None);
    }

    /// The same for a piece that ends at a singular time.
    pub(super) fn close_at(&mut self, end: f64, zero: Option<f64>) {
        let segment = Segment {
            centre: self.time,
            start: self.time,
            end,
        };
        // Once a quarter of the memory is used; the last piece is whole, since its end is where the run goes on.
        if self.trajectory.n_stored() > self.options.max_stored / 4 {
            let rule = &self.rule;
            self.trajectory
                .thin_last(|series, h, unknown| rule.n_needed(series, h, unknown));
        }
        self.trajectory.push(segment, &self.series);
        self.save_points(segment, false, zero);
    }

    /// Solves the points asked for up to the end of a piece of the present (or the next) series.
    ///
    /// Close to a singular time the system Jacobian would magnify rounding; there the series itself is better.
    pub(super) fn save_points(&mut self, segment: Segment, from_next: bool, zero: Option<f64>) {
        let Output::Points(times) = &self.options.output else {
            return;
        };
        while let Some(&time) = times.get(self.n_saved) {
            if (segment.end - time) * self.direction < 0.0 {
                break;
            }
            self.n_saved += 1;
            let series = if from_next { &self.next } else { &self.series };
            shift(
                series,
                self.trajectory.n(),
                time - segment.centre,
                &mut self.point,
            );
            self.stages.set_point(time, &self.point);
            // Projected where possible: then even a coarse series gives a point on all constraints.
            let far = |zero: f64| (time - zero).abs() > 0.25 * (segment.centre - zero).abs();
            let solvable = zero.is_none_or(far);
            if solvable && self.stages.factor().is_ok() && self.stages.project(false).is_ok() {
                self.stages.point(&mut self.point);
            }
            self.trajectory.push_point(SavedPoint {
                time,
                coefficients: self.point.clone(),
            });
        }
    }
}
