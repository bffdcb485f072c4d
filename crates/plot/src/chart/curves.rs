//! Curves of a chart, and the legend above them.

use super::lines::{clipped, contains, simplified, thinned};
use super::{Chart, LEGEND_LINE, TICK_SIZE};
use crate::canvas::{Anchor, Canvas, Place, cut, text_width};
use crate::figure::{Curve, Stroke};
use crate::svg::Area;
use crate::theme::{N_COLOURS, Theme, mix};
use plotters::style::RGBColor;

/// Width of curves and of what lies around them on a map.
const CURVE_WIDTH: f64 = 1.8;

const HALO_WIDTH: f64 = 3.6;

/// Names in a legend beyond these are counted only.
const MOST_NAMES: usize = 24;

/// An entry of a legend with where it is written.
struct Entry {
    curve: usize,
    x: f64,
    line: usize,
    words: String,
}

impl Chart<'_> {
    /// Whether a curve would hide an earlier one: over more than half of their points they are closer than a line is wide. Of more than
    /// three curves none is dashed for that: dashes are lines of their own, and a page of many panels would double.
    fn hides_another(&self, number: usize, frame: &Area) -> bool {
        let is_line = |at: usize| self.panel.curves[at].stroke == Stroke::Line;
        let are_few = self.panel.curves.len() <= 3;
        if !are_few || self.panel.map.is_some() || self.panel.has_equal_axes || !is_line(number) {
            return false;
        }
        let own = &self.curves[number];
        let n = own.iter().flatten().count();
        let height = |point: &Option<Place>| point.map(|point| self.to_pixels(frame, point).1);
        (0..number).filter(|&at| is_line(at)).any(|at| {
            let pairs = own.iter().zip(&self.curves[at]);
            let is_same = |(a, b): &(&Option<Place>, &Option<Place>)| {
                a.map(|a| a.0) == b.map(|b| b.0)
                    && (height(a).zip(height(b))).is_some_and(|(a, b)| (a - b).abs() < CURVE_WIDTH)
            };
            own.len() == self.curves[at].len() && 2 * pairs.filter(is_same).count() > n
        })
    }

    /// The colour of a curve, and whether it is dashed because the colours are used up or another curve lies below it.
    fn pen(&self, number: usize, frame: &Area, theme: Theme) -> (RGBColor, bool) {
        let curve = &self.panel.curves[number];
        let faded = |colour| mix(colour, theme.page(), curve.strength);
        // Over the areas of a map the first curve has the colour of the ink.
        let is_over_map = self.panel.map.is_some() && curve.colour.is_none();
        if curve.is_ink || (is_over_map && number == 0) {
            return (faded(theme.ink()), curve.is_dashed);
        }
        let others = self.panel.curves[..number].iter();
        let n_ink = others.filter(|other| other.is_ink).count();
        let colour =
            (curve.colour).unwrap_or((number - n_ink).saturating_sub(usize::from(is_over_map)));
        let is_dashed =
            curve.is_dashed || (colour / N_COLOURS % 2 == 1) != self.hides_another(number, frame);
        (faded(theme.colour(colour)), is_dashed)
    }

    pub(super) fn draw_curve(
        &self,
        number: usize,
        frame: &Area,
        theme: Theme,
        canvas: &mut Canvas,
    ) {
        let curve = &self.panel.curves[number];
        let (colour, is_dashed) = self.pen(number, frame, theme);
        let points: Vec<Option<Place>> = (self.curves[number].iter())
            .map(|point| point.map(|point| self.to_pixels(frame, point)))
            .collect();
        let is_single = |stretch: &[Place]| stretch.len() == 1;
        let width = curve.width * CURVE_WIDTH;
        if curve.stroke == Stroke::Area {
            let inside = |place: &Place| {
                let x = place.0.clamp(frame.left, frame.right);
                (x, place.1.clamp(frame.top, frame.bottom))
            };
            let outline: Vec<Place> = points.iter().flatten().map(inside).collect();
            canvas.area(&outline, colour);
            return;
        }
        if matches!(curve.stroke, Stroke::Line | Stroke::Links) {
            for stretch in points.split(Option::is_none) {
                let stretch: Vec<Place> = stretch.iter().flatten().copied().collect();
                if is_single(&stretch) && contains(frame, stretch[0]) {
                    canvas.disc(stretch[0], 0.7 * width, colour);
                }
                for line in clipped(&simplified(&thinned(stretch)), frame) {
                    if self.panel.map.is_some() && !curve.is_ink {
                        canvas.line(&line, theme.page(), HALO_WIDTH);
                    }
                    if is_dashed {
                        canvas.dashes(&line, (7.0, 4.0), colour, width);
                    } else {
                        canvas.line(&line, colour, width);
                    }
                }
            }
        }
        if curve.stroke != Stroke::Line {
            let mut last = None;
            for &point in points
                .iter()
                .flatten()
                .filter(|point| contains(frame, **point))
            {
                // A dot on a dot is not seen.
                let key = (
                    (point.0 * 2.0).round() as i64,
                    (point.1 * 2.0).round() as i64,
                );
                if last != Some(key) {
                    draw_point(curve, point, colour, canvas);
                }
                last = Some(key);
            }
        }
    }

    /// Named curves, if there is something to tell apart.
    fn named(&self) -> Vec<usize> {
        let has_name = |&number: &usize| !self.panel.curves[number].name.is_empty();
        let named: Vec<usize> = (0..self.panel.curves.len()).filter(has_name).collect();
        let is_enough = named.len() > 1 || (named.len() == 1 && self.panel.map.is_some());
        if is_enough { named } else { Vec::new() }
    }

    /// Number of lines of the legend above a frame of this width.
    pub(super) fn n_legend_lines(&self, width: f64) -> usize {
        self.legend(width).last().map_or(0, |entry| entry.line + 1)
    }

    /// The legend in lines above a frame of this width.
    fn legend(&self, width: f64) -> Vec<Entry> {
        let named = self.named();
        let mut entries: Vec<Entry> = Vec::new();
        let (mut x, mut line) = (0.0, 0);
        for &curve in named.iter().take(MOST_NAMES) {
            let words = cut(
                &self.panel.curves[curve].name,
                TICK_SIZE,
                (width - 40.0).max(40.0),
            );
            let length = 24.0 + text_width(&words, TICK_SIZE);
            if x > 0.0 && x + length > width {
                (x, line) = (0.0, line + 1);
            }
            entries.push(Entry {
                curve,
                x,
                line,
                words,
            });
            x += length + 16.0;
        }
        if let Some(last) = entries.last_mut().filter(|_| named.len() > MOST_NAMES) {
            let more = named.len() - MOST_NAMES;
            last.words = format!("{} and {more} more", last.words);
        }
        entries
    }

    pub(super) fn draw_legend(&self, area: &Area, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        for entry in self.legend(frame.width()) {
            let curve = &self.panel.curves[entry.curve];
            let width = curve.width * CURVE_WIDTH + 0.4;
            let is_line = matches!(curve.stroke, Stroke::Line | Stroke::Links);
            let (colour, is_dashed) = self.pen(entry.curve, frame, theme);
            let x = frame.left + entry.x;
            let first = area.top + self.title_height() + 13.0;
            let y = first + entry.line as f64 * LEGEND_LINE;
            let ends = [(x, y), (x + 18.0, y)];
            if is_line && is_dashed {
                canvas.dashes(&ends, (7.0, 4.0), colour, width);
            } else if is_line {
                canvas.line(&ends, colour, width);
            }
            if curve.stroke == Stroke::Area {
                let half = 0.35 * TICK_SIZE;
                canvas.fill((x, y - half), (x + 18.0, y + half), colour);
            } else if curve.stroke != Stroke::Line {
                draw_point(curve, (x + 9.0, y), colour, canvas);
            }
            canvas.text(
                &entry.words,
                (x + 24.0, y),
                Anchor::Left,
                TICK_SIZE,
                theme.ink(),
            );
        }
    }
}

/// A point of a curve: a disc, or a square for one that rests, as large as its line asks for.
fn draw_point(curve: &Curve, (x, y): Place, colour: RGBColor, canvas: &mut Canvas) {
    let radius = 1.9 + 0.5 * curve.width * CURVE_WIDTH;
    if curve.stroke == Stroke::Squares {
        let half = radius + 1.2;
        canvas.fill((x - half, y - half), (x + half, y + half), colour);
    } else {
        canvas.disc((x, y), radius, colour);
    }
}
