//! Marks at places of the horizontal axis, with their words.

use super::{Chart, MARK_LINE, TICK_SIZE};
use crate::axis::place;
use crate::canvas::{Anchor, Canvas, text_width};
use crate::svg::Area;
use crate::theme::Theme;

/// Marks a little beyond the ends are drawn there: a run ends just before its pole.
const SEEN: std::ops::RangeInclusive<f64> = -0.005..=1.005;

/// More lines of words above marks are not written.
const MOST_MARK_LINES: usize = 3;

/// The dashes of marks with the first, second, … word.
const MARK_DASHES: [(f64, f64); 4] = [(6.0, 4.0), (1.5, 3.0), (10.0, 3.0), (3.0, 6.0)];

/// The word of a mark with where it is written.
struct MarkWord {
    x: f64,
    line: usize,
    label: String,
}

impl Chart<'_> {
    /// Number of lines of words above a frame of this width.
    pub(super) fn n_mark_lines(&self, width: f64) -> usize {
        let words = self.mark_words(0.0, width);
        words.iter().map(|word| word.line + 1).max().unwrap_or(0)
    }

    /// The words of marks in lines above the frame, so that none covers another; those without room are left out.
    fn mark_words(&self, left: f64, width: f64) -> Vec<MarkWord> {
        let mut marks: Vec<(f64, &str)> = (self.panel.marks.iter())
            .filter_map(|mark| {
                let share = self.x.range.share(place(mark.at, self.panel.x_scale)?);
                let is_seen = SEEN.contains(&share) && !mark.label.is_empty();
                is_seen.then_some((left + share * width, mark.label.as_str()))
            })
            .collect();
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ends = [f64::NEG_INFINITY; MOST_MARK_LINES];
        let mut words = Vec::new();
        for (at, label) in marks {
            let half = 0.5 * text_width(label, TICK_SIZE);
            let x = at.min(left + width - half).max(left + half);
            if let Some(line) = ends.iter().position(|&end| end + 6.0 <= x - half) {
                ends[line] = x + half;
                words.push(MarkWord {
                    x,
                    line,
                    label: label.to_owned(),
                });
            }
        }
        words
    }

    pub(super) fn draw_marks(&self, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        let mut kinds: Vec<&str> = Vec::new();
        for mark in &self.panel.marks {
            let kind = match kinds.iter().position(|kind| *kind == mark.label) {
                Some(kind) => kind,
                None => {
                    kinds.push(&mark.label);
                    kinds.len() - 1
                }
            };
            let Some(at) = place(mark.at, self.panel.x_scale) else {
                continue;
            };
            let share = self.x.range.share(at);
            if SEEN.contains(&share) {
                let x = frame.left + share.clamp(0.0, 1.0) * frame.width();
                let dashes = MARK_DASHES[kind % MARK_DASHES.len()];
                let ends = [(x, frame.bottom), (x, frame.top)];
                canvas.dashes(&ends, dashes, theme.faint_ink(), 1.2);
            }
        }
        for word in self.mark_words(frame.left, frame.width()) {
            let y = frame.top - 8.0 - word.line as f64 * MARK_LINE;
            canvas.text(
                &word.label,
                (word.x, y),
                Anchor::Middle,
                TICK_SIZE,
                theme.ink(),
            );
        }
    }
}
