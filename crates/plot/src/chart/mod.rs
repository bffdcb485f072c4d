//! Curves, marks and maps over a pair of axes.

mod curves;
mod frame;
mod lines;
mod marks;
mod shading;

use crate::axis::{Axis, Range, place};
use crate::canvas::{Anchor, Canvas, Place, cut, text_width};
use crate::figure::{Panel, Scale};
use crate::map::Shades;
use crate::svg::Area;
use crate::theme::Theme;
use shading::edges;

/// Sizes of words, in pixels.
pub(crate) const LABEL_SIZE: f64 = 12.0;

const TICK_SIZE: f64 = 11.0;

/// About the distance of ticks on a vertical axis.
const TICK_DISTANCE: f64 = 32.0;

/// Height of the title of a panel, of a line of the legend and of the words of marks.
const TITLE_LINE: f64 = 22.0;

const LEGEND_LINE: f64 = 19.0;

const MARK_LINE: f64 = 14.0;

/// A panel with the values that it shows on its axes.
pub(crate) struct Chart<'a> {
    panel: &'a Panel,
    /// Places of the points of each curve; `None` interrupts it.
    curves: Vec<Vec<Option<Place>>>,
    pub(crate) x_data: Option<Range>,
    y_data: Option<Range>,
    /// Whether the horizontal axis is named below this panel.
    pub(crate) has_x_label: bool,
    x: Axis,
    y: Axis,
}

impl<'a> Chart<'a> {
    pub(crate) fn new(panel: &'a Panel) -> Self {
        let to_place =
            |&(x, y): &(f64, f64)| Some((place(x, panel.x_scale)?, place(y, panel.y_scale)?));
        let curves: Vec<Vec<Option<Place>>> = (panel.curves.iter())
            .map(|curve| curve.points.iter().map(to_place).collect())
            .collect();
        let points = || curves.iter().flatten().flatten();
        let (x_data, y_data) = match &panel.map {
            Some(map) => (
                Range::around(edges(&map.x, panel.x_scale)),
                Range::around(edges(&map.y, panel.y_scale)),
            ),
            None => (
                Range::around(points().map(|point| point.0)),
                Range::around(points().map(|point| point.1)),
            ),
        };
        let between = |limits: Option<(f64, f64)>, scale: Scale| {
            let (low, high) = limits?;
            Range::around([place(low, scale)?, place(high, scale)?])
        };
        let unit = Range {
            low: 0.0,
            high: 1.0,
        };
        Self {
            panel,
            x_data: between(panel.x_limits, panel.x_scale).or(x_data),
            y_data: between(panel.y_limits, panel.y_scale).or(y_data),
            curves,
            has_x_label: true,
            x: Axis::new(unit, Scale::Linear, 1),
            y: Axis::new(unit, Scale::Linear, 1),
        }
    }

    /// Whether both show the same quantity on their horizontal axes.
    pub(crate) fn shares_axis_with(&self, other: &Self) -> bool {
        let is_plain = |chart: &Self| chart.panel.map.is_none() && !chart.panel.has_equal_axes;
        is_plain(self)
            && is_plain(other)
            && self.panel.x_label == other.panel.x_label
            && self.panel.x_scale == other.panel.x_scale
            && !self.panel.x_label.is_empty()
    }

    /// Room for words to the left of the frame.
    pub(crate) fn left(&self) -> f64 {
        let ticks = self.y.ticks.iter().filter(|_| !self.panel.is_bare);
        let widest = ticks
            .map(|tick| text_width(&tick.label, TICK_SIZE))
            .fold(0.0, f64::max);
        let label = if self.panel.y_label.is_empty() {
            10.0
        } else {
            28.0
        };
        label + widest + 8.0
    }

    /// Room for the legend of a map to the right.
    pub(crate) fn right(&self) -> f64 {
        match &self.panel.map {
            None => 20.0,
            Some(map) => match &map.shades {
                Shades::Categories(categories) => {
                    let names = categories.iter().map(|(_, name)| name.as_str());
                    let widest = names
                        .chain([map.missing.as_str()])
                        .map(|name| text_width(name, TICK_SIZE))
                        .fold(0.0, f64::max);
                    (widest + 48.0).min(240.0)
                }
                Shades::Continuous { .. } => 110.0,
            },
        }
    }

    /// Room above a frame of this width: the legend, the words of marks, a common factor.
    fn top(&self, width: f64) -> f64 {
        let legend = self.n_legend_lines(width);
        let marks = self.n_mark_lines(width);
        let factor = if self.y.factor.is_empty() || marks > 0 || self.panel.is_bare {
            0.0
        } else {
            12.0
        };
        10.0 + self.title_height() + legend as f64 * LEGEND_LINE + marks as f64 * MARK_LINE + factor
    }

    fn title_height(&self) -> f64 {
        if self.panel.title.is_empty() {
            0.0
        } else {
            TITLE_LINE
        }
    }

    fn has_x_words(&self) -> bool {
        (self.has_x_label && !self.panel.x_label.is_empty()) || !self.x.factor.is_empty()
    }

    fn bottom(&self) -> f64 {
        let ticks = if self.panel.is_bare { 8.0 } else { 24.0 };
        ticks + if self.has_x_words() { 20.0 } else { 0.0 }
    }

    /// Draws the panel; `sides` is the room to the left and right of its frame.
    pub(crate) fn draw(&self, area: Area, sides: (f64, f64), theme: Theme, canvas: &mut Canvas) {
        // Whole pixels keep lines of the frame sharp.
        let width = area.width() - sides.0 - sides.1;
        let frame = Area {
            left: (area.left + sides.0).round(),
            top: (area.top + self.top(width)).round(),
            right: (area.right - sides.1).round(),
            bottom: (area.bottom - self.bottom()).round(),
        };
        if frame.width() < 10.0 || frame.height() < 10.0 {
            return;
        }
        match &self.panel.map {
            Some(map) => self.draw_map(map, &frame, theme, canvas),
            None if self.panel.is_bare => {}
            None => self.draw_grid(&frame, theme, canvas),
        }
        self.draw_marks(&frame, theme, canvas);
        for number in 0..self.curves.len() {
            self.draw_curve(number, &frame, theme, canvas);
        }
        let corners = ((frame.left, frame.top), (frame.right, frame.bottom));
        canvas.outline(corners.0, corners.1, theme.faint_ink(), 1.0);
        self.draw_axes(&area, &frame, theme, canvas);
        let title = cut(&self.panel.title, LABEL_SIZE, area.right - frame.left - 8.0);
        let above = (frame.left, area.top + 14.0);
        canvas.text(&title, above, Anchor::Left, LABEL_SIZE, theme.ink());
        self.draw_legend(&area, &frame, theme, canvas);
    }

    fn to_pixels(&self, frame: &Area, (x, y): Place) -> Place {
        (
            frame.left + self.x.range.share(x) * frame.width(),
            frame.bottom - self.y.range.share(y) * frame.height(),
        )
    }
}
