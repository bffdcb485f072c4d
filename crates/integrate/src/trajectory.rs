//! A solution as pieces of series, which can be evaluated at any time between its ends.

use daelight_analysis::Recovery;
use daelight_expr::{Fault, JetEvaluator};
use std::borrow::Cow;

/// A piece of a trajectory: a series around `centre` that counts from `start` to `end`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Segment {
    /// Where the series is expanded.
    pub centre: f64,
    /// Where the piece begins.
    pub start: f64,
    /// Where it ends; before `start` in a backward run.
    pub end: f64,
}

/// Values at a time of [`Output::Points`](crate::Output::Points).
#[derive(Clone, PartialEq, Debug)]
pub struct SavedPoint {
    /// When.
    pub time: f64,
    /// Coefficients `[order][unknown]`, up to the greatest offset d.
    pub coefficients: Vec<f64>,
}

/// Which of two pieces that meet at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    /// That from which the run comes.
    Before,
    /// That to which it goes.
    Behind,
}

/// A solution: pieces in the order of the run, or points.
#[derive(Clone, PartialEq, Debug)]
pub struct Trajectory {
    n: usize,
    segments: Vec<Segment>,
    /// Series of all pieces, each `[order][unknown]`, and where each ends.
    data: Vec<f64>,
    ends: Vec<usize>,
    /// Of pieces that were thinned: how many coefficients of each unknown are left, one unknown after the other, and the number of
    /// orders that there were.
    thin: Vec<Option<(Box<[u8]>, usize)>>,
    points: Vec<SavedPoint>,
    /// What is known of its very end better than the last piece tells it.
    end: Option<SavedPoint>,
    /// Values at single times that neither piece beside them tells, in the order of the run.
    instants: Vec<SavedPoint>,
    dense: bool,
}

impl Trajectory {
    pub(crate) fn new(n: usize, dense: bool) -> Self {
        Self {
            n,
            segments: Vec::new(),
            data: Vec::new(),
            ends: Vec::new(),
            thin: Vec::new(),
            points: Vec::new(),
            end: None,
            instants: Vec::new(),
            dense,
        }
    }

    /// Keeps the series of the very end: a short last piece gives derivatives there with the rounding of its values, divided by
    /// powers of its length.
    pub(crate) fn close(&mut self, time: f64, series: &[f64]) {
        if self.span().is_some_and(|(_, last)| last == time) {
            self.end = Some(SavedPoint {
                time,
                coefficients: series.to_vec(),
            });
        }
    }

    /// Adds a piece; when points alone are wanted it replaces the one before.
    pub(crate) fn push(&mut self, segment: Segment, rows: &[f64]) {
        if !self.dense {
            self.segments.clear();
            self.data.clear();
            self.ends.clear();
            self.thin.clear();
        }
        self.segments.push(segment);
        self.data.extend_from_slice(rows);
        self.ends.push(self.data.len());
        self.thin.push(None);
        self.end = None;
    }

    /// Keeps the values at the end so far, which no piece that follows tells.
    pub(crate) fn push_instant(&mut self, time: f64, coefficients: Vec<f64>) {
        self.instants.push(SavedPoint { time, coefficients });
    }

    /// Values at single times that no piece tells.
    pub(crate) fn instants(&self) -> &[SavedPoint] {
        &self.instants
    }

    /// Whether the values at a time are those of the text, beside what the pieces lead to.
    pub fn is_written(&self, time: f64) -> bool {
        self.instants.iter().any(|known| known.time == time)
    }

    /// What is known at a time beside the pieces.
    fn known_at(&self, time: f64) -> Option<&SavedPoint> {
        let (first, last) = self.span()?;
        let direction = if last >= first { 1.0 } else { -1.0 };
        let is_before = |known: &SavedPoint| (known.time - time) * direction < 0.0;
        let instant = self.instants.get(self.instants.partition_point(is_before));
        instant
            .or(self.end.as_ref())
            .filter(|known| known.time == time)
    }

    /// The series of the very end, where one was kept.
    pub(crate) fn end(&self) -> Option<&[f64]> {
        self.end.as_ref().map(|end| &end.coefficients[..])
    }

    /// Forgets the pieces and points behind the first ones.
    pub(crate) fn truncate(&mut self, n_segments: usize, n_points: usize) {
        if self.dense {
            self.segments.truncate(n_segments);
            self.ends.truncate(n_segments);
            self.thin.truncate(n_segments);
            self.data.truncate(self.ends.last().copied().unwrap_or(0));
            self.end = None;
            self.forget_instants();
        }
        self.points.truncate(n_points);
    }

    /// Adds all pieces and points of another trajectory that begins where this one ends.
    pub(crate) fn append(&mut self, other: &Self) {
        for (k, &segment) in other.segments.iter().enumerate() {
            self.push(segment, &other.series(k));
        }
        self.points.extend_from_slice(&other.points);
        self.instants.extend_from_slice(&other.instants);
        self.end.clone_from(&other.end);
    }

    /// Forgets what is known beyond the last piece.
    fn forget_instants(&mut self) {
        let Some((first, last)) = self.span() else {
            self.instants.clear();
            return;
        };
        let direction = if last >= first { 1.0 } else { -1.0 };
        let inside = |known: &SavedPoint| (known.time - last) * direction < 0.0;
        self.instants.retain(inside);
    }

    /// Ends it at a time within its span.
    pub fn end_at(&mut self, time: f64) {
        if let Some(segment) = self.find(time) {
            self.segments[segment].end = time;
            self.truncate(segment + 1, self.points.len());
        }
        let Some((first, last)) = self.span() else {
            return;
        };
        let direction = if last >= first { 1.0 } else { -1.0 };
        self.points
            .retain(|point| (point.time - time) * direction <= 0.0);
    }

    /// Ends it at a time within its span or next to its end: beyond that its last series holds.
    pub fn reach(&mut self, time: f64) {
        self.end_at(time);
        if let Some(last) = self.segments.last_mut().filter(|last| last.end != time) {
            last.end = time;
            self.end = None;
        }
    }

    pub(crate) fn push_point(&mut self, point: SavedPoint) {
        self.points.push(point);
    }

    /// Number of numbers held.
    pub(crate) fn n_stored(&self) -> usize {
        self.data.len()
            + self.points.len() * self.points.first().map_or(0, |p| p.coefficients.len())
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The pieces.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The points asked for that were reached.
    pub fn points(&self) -> &[SavedPoint] {
        &self.points
    }

    /// The times between which it can be evaluated.
    pub fn span(&self) -> Option<(f64, f64)> {
        Some((self.segments.first()?.start, self.segments.last()?.end))
    }

    /// The series of a piece, `[order][unknown]`; what was thinned out of it is 0.
    pub fn series(&self, segment: usize) -> Cow<'_, [f64]> {
        let stored = self.stored(segment);
        let Some((left, n_orders)) = &self.thin[segment] else {
            return Cow::Borrowed(stored);
        };
        let mut rows = vec![0.0; n_orders * self.n];
        let mut stored = stored.iter();
        for (unknown, &left) in left.iter().enumerate() {
            for (order, &x) in stored.by_ref().take(usize::from(left)).enumerate() {
                rows[order * self.n + unknown] = x;
            }
        }
        Cow::Owned(rows)
    }

    /// What is held of a piece.
    fn stored(&self, segment: usize) -> &[f64] {
        let start = match segment {
            0 => 0,
            _ => self.ends[segment - 1],
        };
        &self.data[start..self.ends[segment]]
    }

    /// Leaves of each unknown only the first coefficients of the last piece, as many as `n_needed` says for its series, its length
    /// and the unknown.
    pub(crate) fn thin_last(&mut self, n_needed: impl Fn(&[f64], f64, usize) -> usize) {
        let Some((last, segment)) = self.segments.len().checked_sub(1).zip(self.segments.last())
        else {
            return;
        };
        let (rows, n) = (self.stored(last), self.n);
        let n_orders = rows.len() / n.max(1);
        if self.thin[last].is_some() || n_orders > usize::from(u8::MAX) {
            return;
        }
        let h = segment.end - segment.centre;
        let left: Box<[u8]> = (0..n)
            .map(|unknown| n_needed(rows, h, unknown).min(n_orders) as u8)
            .collect();
        let kept = |(unknown, &left): (usize, &u8)| {
            (0..usize::from(left)).map(move |order| rows[order * n + unknown])
        };
        let kept: Vec<f64> = left.iter().enumerate().flat_map(kept).collect();
        let start = self.ends[last] - rows.len();
        self.data.truncate(start);
        self.data.extend_from_slice(&kept);
        self.ends[last] = self.data.len();
        self.thin[last] = Some((left, n_orders));
    }

    /// The piece that counts at a time; at a time where two meet, the later one.
    pub fn find(&self, time: f64) -> Option<usize> {
        let (first, last) = self.span()?;
        let forward = last >= first;
        let before = |a: f64, b: f64| if forward { a < b } else { a > b };
        if before(time, first) || before(last, time) || time.is_nan() {
            return None;
        }
        let after = self.segments.partition_point(|s| !before(time, s.start));
        Some(after.saturating_sub(1))
    }

    /// Coefficients 0.. of all unknowns at a time, `[order][unknown]` as many as fit; false outside the span.
    pub fn coefficients(&self, time: f64, into: &mut [f64]) -> bool {
        self.find(time).is_some() && self.extrapolate(time, into)
    }

    /// Coefficients 0.. of all unknowns at a time that may lie beyond the end, from the last series; false without any.
    pub fn extrapolate(&self, time: f64, into: &mut [f64]) -> bool {
        let Some(last) = self.segments.len().checked_sub(1) else {
            return false;
        };
        let segment = self.find(time).unwrap_or(last);
        let offset = time - self.segments[segment].centre;
        shift(&self.series(segment), self.n, offset, into);
        if let Some(end) = self.known_at(time) {
            let known = into.iter_mut().zip(&end.coefficients);
            known.for_each(|(place, known)| *place = *known);
        }
        true
    }

    /// The same from the piece that ends at a time, or from the one that begins there, whatever is written at the time itself. The time at
    /// which they are: that of the next piece where none begins at once. `None` where there is no piece on that side.
    pub fn beside(&self, time: f64, side: Beside, into: &mut [f64]) -> Option<f64> {
        let (first, last) = self.span()?;
        let direction = if last >= first { 1.0 } else { -1.0 };
        let distance = |segment: &Segment| direction * (segment.start - time);
        let n_before = self.segments.partition_point(|s| distance(s) < 0.0);
        let n_begun = self.segments.partition_point(|s| distance(s) <= 0.0);
        let at = match side {
            Beside::Before => n_before.checked_sub(1)?,
            Beside::Behind if n_begun > n_before => n_begun - 1,
            Beside::Behind => n_begun,
        };
        let segment = self.segments.get(at)?;
        let time = match side {
            Beside::Before => time,
            Beside::Behind => segment.start,
        };
        shift(&self.series(at), self.n, time - segment.centre, into);
        Some(time)
    }

    /// A derivative of an unknown at a time; `None` outside the span.
    pub fn evaluate(&self, time: f64, unknown: usize, derivative: usize) -> Option<f64> {
        let segment = self.find(time)?;
        let mut series = self.series(segment);
        let mut s = time - self.segments[segment].centre;
        let end = self.known_at(time);
        if let Some(end) = end.filter(|end| end.coefficients.len() > derivative * self.n) {
            (series, s) = (Cow::Borrowed(&end.coefficients[..]), 0.0);
        }
        let mut value = 0.0;
        for m in (derivative..series.len() / self.n.max(1)).rev() {
            let falling: f64 = (m - derivative + 1..=m).map(|f| f as f64).product();
            value = value * s + falling * series[m * self.n + unknown];
        }
        Some(value)
    }

    /// All unknowns of the model at a time, through the way back of a reduced system; false outside the span.
    pub fn recover<J: JetEvaluator>(
        &self,
        recovery: &mut Recovery<J>,
        time: f64,
        into: &mut [f64],
    ) -> Result<bool, Fault> {
        // Values need no more orders than the formulas read; without unknowns there is room for any number of them.
        let n_orders = if self.n == 0 { 0 } else { recovery.rows_for(1) };
        let mut coefficients = vec![0.0; n_orders * self.n];
        if !self.coefficients(time, &mut coefficients) {
            return Ok(false);
        }
        let inputs = recovery.inputs_mut();
        inputs.set_time(time);
        for (order, row) in coefficients.chunks_exact(self.n.max(1)).enumerate() {
            inputs.row_mut(order).copy_from_slice(row);
        }
        recovery.extend(0)?;
        recovery.row(0, into);
        Ok(true)
    }
}

/// Moves the expansion point of series by s: the first coefficients of sum_m a_m (s + e)^m in powers of e, (5).
///
/// `rows` and `into` are `[order][unknown]`. Nested Horner schemes: all unknowns of a row at a time.
pub(crate) fn shift(rows: &[f64], n: usize, s: f64, into: &mut [f64]) {
    pulp::Arch::new().dispatch(Shift { rows, n, s, into });
}

struct Shift<'a> {
    rows: &'a [f64],
    n: usize,
    s: f64,
    into: &'a mut [f64],
}

impl pulp::WithSimd for Shift<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { rows, n, s, into } = self;
        into.fill(0.0);
        if n == 0 {
            return;
        }
        let n_out = into.len() / n;
        for (taken, row) in rows.chunks_exact(n).rev().enumerate() {
            // Of so many rows there is nothing to carry to higher orders yet.
            for r in (1..n_out.min(taken + 1)).rev() {
                let (low, high) = into.split_at_mut(r * n);
                for (x, y) in high[..n].iter_mut().zip(&low[(r - 1) * n..]) {
                    *x = *x * s + y;
                }
            }
            for (x, a) in into[..n].iter_mut().zip(row) {
                *x = *x * s + a;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_expands_a_polynomial_at_another_point() {
        // 1 + 2 s + 3 s^2 + s^3 and s^3, at s = 2.
        let rows = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 1.0, 1.0];
        let mut into = [0.0; 6];
        shift(&rows, 2, 2.0, &mut into);
        assert_eq!(into, [25.0, 8.0, 26.0, 12.0, 9.0, 6.0]);
    }

    #[test]
    fn a_thinned_piece_is_the_same_without_what_was_left_out() {
        let mut trajectory = Trajectory::new(2, true);
        let segment = |k: f64| Segment {
            centre: k,
            start: k,
            end: k + 1.0,
        };
        let rows = [1.0, 5.0, 2.0, 0.0, 3.0, 1e-30];
        trajectory.push(segment(0.0), &rows);
        trajectory.thin_last(|series, _, unknown| {
            let significant = |m: &usize| series[m * 2 + unknown].abs() > 1e-20;
            (0..3).rev().find(significant).map_or(0, |m| m + 1)
        });
        trajectory.push(segment(1.0), &rows);
        assert_eq!(trajectory.n_stored(), 4 + 6);
        assert_eq!(*trajectory.series(0), [1.0, 5.0, 2.0, 0.0, 3.0, 0.0]);
        assert_eq!(*trajectory.series(1), rows);
        assert_eq!(trajectory.evaluate(0.5, 0, 0), Some(2.75));
        trajectory.truncate(1, 0);
        assert_eq!(trajectory.n_stored(), 4);
    }

    #[test]
    fn pieces_are_found_forward_and_backward() {
        for direction in [1.0, -1.0] {
            let mut trajectory = Trajectory::new(1, true);
            for k in 0..3 {
                let start = direction * f64::from(k);
                let segment = Segment {
                    centre: start,
                    start,
                    end: start + direction,
                };
                trajectory.push(segment, &[start, 1.0]);
            }
            assert_eq!(trajectory.find(direction * 3.5), None);
            assert_eq!(trajectory.find(direction * -0.1), None);
            assert_eq!(trajectory.find(direction * 1.5), Some(1));
            assert_eq!(trajectory.find(direction * 3.0), Some(2));
            assert_eq!(
                trajectory.evaluate(direction * 2.25, 0, 0),
                Some(direction * 2.25)
            );
            assert_eq!(trajectory.evaluate(direction * 2.25, 0, 1), Some(1.0));
        }
    }
}
