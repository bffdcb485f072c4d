//! Axes, ticks and the grid around a chart.

use super::{Chart, LABEL_SIZE, TICK_DISTANCE, TICK_SIZE};
use crate::axis::{Axis, Range, Tick};
use crate::canvas::{Anchor, Canvas, cut, text_width};
use crate::figure::{Scale, Stroke};
use crate::svg::Area;
use crate::theme::Theme;

impl Chart<'_> {
    /// Chooses ranges and ticks for a panel of about this size.
    pub(crate) fn find_ticks(&mut self, width: f64, height: f64) {
        let panel = self.panel;
        let unit = Range {
            low: 0.0,
            high: 1.0,
        };
        let (mut x, mut y) = (self.x_data.unwrap_or(unit), self.y_data.unwrap_or(unit));
        if panel.map.is_none() {
            // Curves over time fill the frame; others keep away from it.
            let is_over_time = (panel.curves.iter().zip(&self.curves)).all(|(curve, points)| {
                let mut xs = points.iter().flatten().map(|point| point.0);
                let mut last = f64::NEG_INFINITY;
                let mut ascend = || {
                    xs.all(|x| {
                        let ascends = x >= last;
                        last = x;
                        ascends
                    })
                };
                // An area goes with the curves in it.
                curve.stroke == Stroke::Area || (curve.stroke == Stroke::Line && ascend())
            });
            let share = if is_over_time && !panel.has_equal_axes {
                0.0
            } else {
                0.04
            };
            x = x.with_margin(share, panel.x_scale);
            y = y.with_margin(0.06, panel.y_scale);
        } else {
            x = x.with_margin(0.0, panel.x_scale);
            y = y.with_margin(0.0, panel.y_scale);
        }
        self.y = Axis::new(
            y,
            panel.y_scale,
            ((height - 70.0) / TICK_DISTANCE).max(2.0) as usize,
        );
        let inner = (width - self.left() - self.right()).max(40.0);
        if panel.has_equal_axes {
            // One of the ranges is widened so that a unit has the same length on both axes.
            let tall = (height - self.top(inner) - self.bottom()).max(40.0);
            let unit = (x.width() / inner).max(y.width() / tall);
            (x, y) = (x.with_width(unit * inner), y.with_width(unit * tall));
            // Ticks of both axes have about the same distance.
            self.y = Axis::new(y, panel.y_scale, (tall / 45.0).max(2.0) as usize);
        }
        let mut n = (inner / 60.0).clamp(2.0, 12.0) as usize;
        self.x = Axis::new(x, panel.x_scale, n);
        // Fewer ticks as long as their words touch each other.
        while n > 1 && words_width(&self.x.ticks, 18.0) > inner {
            n -= 1;
            self.x = Axis::new(x, panel.x_scale, n);
        }
    }

    pub(super) fn draw_grid(&self, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        for tick in &self.x.ticks {
            let x = self.to_pixels(frame, (tick.place, 0.0)).0;
            canvas.line(&[(x, frame.top), (x, frame.bottom)], theme.grid(), 1.0);
        }
        for tick in &self.y.ticks {
            let y = self.to_pixels(frame, (0.0, tick.place)).1;
            // Where values change their sign is seen at a glance.
            let is_zero = self.panel.y_scale == Scale::Linear && tick.place == 0.0;
            let colour = if is_zero {
                theme.missing()
            } else {
                theme.grid()
            };
            canvas.line(&[(frame.left, y), (frame.right, y)], colour, 1.0);
        }
    }

    pub(super) fn draw_axes(&self, area: &Area, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        if !self.panel.is_bare {
            self.draw_ticks(frame, theme, canvas);
        }
        let ink = theme.ink();
        let below = frame.bottom + if self.panel.is_bare { 17.0 } else { 33.0 };
        if self.has_x_label {
            let middle = 0.5 * (frame.left + frame.right);
            let words = cut(&self.panel.x_label, LABEL_SIZE, frame.width());
            canvas.text(&words, (middle, below), Anchor::Middle, LABEL_SIZE, ink);
        }
        let middle = 0.5 * (frame.top + frame.bottom);
        let words = cut(&self.panel.y_label, LABEL_SIZE, area.height() - 8.0);
        canvas.upward_text(
            &words,
            (area.left + 16.0, middle),
            Anchor::Middle,
            LABEL_SIZE,
            ink,
        );
    }

    fn draw_ticks(&self, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        let (ink, faint) = (theme.ink(), theme.faint_ink());
        for tick in &self.x.ticks {
            let x = self.to_pixels(frame, (tick.place, 0.0)).0;
            canvas.line(&[(x, frame.bottom), (x, frame.bottom + 5.0)], faint, 1.0);
            canvas.text(
                &tick.label,
                (x, frame.bottom + 14.0),
                Anchor::Middle,
                TICK_SIZE,
                ink,
            );
        }
        for &small in &self.x.small_ticks {
            let x = self.to_pixels(frame, (small, 0.0)).0;
            canvas.line(&[(x, frame.bottom), (x, frame.bottom + 2.5)], faint, 0.8);
        }
        for tick in &self.y.ticks {
            let y = self.to_pixels(frame, (0.0, tick.place)).1;
            canvas.line(&[(frame.left - 5.0, y), (frame.left, y)], faint, 1.0);
            canvas.text(
                &tick.label,
                (frame.left - 8.0, y),
                Anchor::Right,
                TICK_SIZE,
                ink,
            );
        }
        for &small in &self.y.small_ticks {
            let y = self.to_pixels(frame, (0.0, small)).1;
            canvas.line(&[(frame.left - 2.5, y), (frame.left, y)], faint, 0.8);
        }
        canvas.text(
            &self.x.factor,
            (frame.right, frame.bottom + 33.0),
            Anchor::Right,
            TICK_SIZE,
            ink,
        );
        canvas.text(
            &self.y.factor,
            (frame.left - 4.0, frame.top - 9.0),
            Anchor::Right,
            TICK_SIZE,
            ink,
        );
    }
}

/// The room that the words of ticks take, each with a gap.
fn words_width(ticks: &[Tick], gap: f64) -> f64 {
    let widest = (ticks.iter())
        .map(|tick| text_width(&tick.label, TICK_SIZE) + gap)
        .fold(0.0, f64::max);
    widest * ticks.len() as f64
}
