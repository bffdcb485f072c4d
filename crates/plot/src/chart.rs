//! Curves, marks and maps over a pair of axes.

use crate::axis::{Axis, Range, Tick, place};
use crate::canvas::{Anchor, Canvas, Place, cut, text_width};
use crate::figure::{Curve, Panel, Scale, Stroke};
use crate::map::{Map, Shades, contour, patches};
use crate::svg::Area;
use crate::theme::{N_COLOURS, Theme, mix, viridis};
use plotters::style::RGBColor;

/// Sizes of words, in pixels.
pub(crate) const LABEL_SIZE: f64 = 12.0;
const TICK_SIZE: f64 = 11.0;
/// About the distance of ticks on a vertical axis.
const TICK_DISTANCE: f64 = 32.0;
/// Height of the title of a panel, of a line of the legend and of the words of marks.
const TITLE_LINE: f64 = 22.0;
const LEGEND_LINE: f64 = 19.0;
const MARK_LINE: f64 = 14.0;
/// Marks a little beyond the ends are drawn there: a run ends just before its pole.
const SEEN: std::ops::RangeInclusive<f64> = -0.005..=1.005;
/// More lines of words above marks are not written.
const MOST_MARK_LINES: usize = 3;
/// Width of curves and of what lies around them on a map.
const CURVE_WIDTH: f64 = 1.8;
const HALO_WIDTH: f64 = 3.6;
/// The dashes of marks with the first, second, … word.
const MARK_DASHES: [(f64, f64); 4] = [(6.0, 4.0), (1.5, 3.0), (10.0, 3.0), (3.0, 6.0)];
/// Number of shades between the smallest and the largest value of a map.
const N_SHADES: usize = 48;
/// Curves with more points are thinned to those that can be seen.
const MANY_POINTS: usize = 4000;
/// Names in a legend beyond these are counted only.
const MOST_NAMES: usize = 24;

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

/// The word of a mark with where it is written.
struct MarkWord {
    x: f64,
    line: usize,
    label: String,
}

/// An entry of a legend with where it is written.
struct Entry {
    curve: usize,
    x: f64,
    line: usize,
    words: String,
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
                curve.stroke == Stroke::Line
                    && xs.all(|x| {
                        let ascends = x >= last;
                        last = x;
                        ascends
                    })
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
        let legend = self.legend(width).last().map_or(0, |entry| entry.line + 1);
        let marks = (self.mark_words(0.0, width).iter())
            .map(|word| word.line + 1)
            .max()
            .unwrap_or(0);
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

    fn draw_grid(&self, frame: &Area, theme: Theme, canvas: &mut Canvas) {
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

    fn draw_axes(&self, area: &Area, frame: &Area, theme: Theme, canvas: &mut Canvas) {
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

    fn draw_marks(&self, frame: &Area, theme: Theme, canvas: &mut Canvas) {
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

    /// The colour of a curve, and whether it is dashed because the colours are used up.
    fn pen(&self, number: usize, theme: Theme) -> (RGBColor, bool) {
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
        let is_dashed = curve.is_dashed || colour / N_COLOURS % 2 == 1;
        (faded(theme.colour(colour)), is_dashed)
    }

    fn draw_curve(&self, number: usize, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        let curve = &self.panel.curves[number];
        let (colour, is_dashed) = self.pen(number, theme);
        let points: Vec<Option<Place>> = (self.curves[number].iter())
            .map(|point| point.map(|point| self.to_pixels(frame, point)))
            .collect();
        let is_single = |stretch: &[Place]| stretch.len() == 1;
        let width = curve.width * CURVE_WIDTH;
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

    fn draw_legend(&self, area: &Area, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        for entry in self.legend(frame.width()) {
            let curve = &self.panel.curves[entry.curve];
            let width = curve.width * CURVE_WIDTH + 0.4;
            let is_line = matches!(curve.stroke, Stroke::Line | Stroke::Links);
            let (colour, is_dashed) = self.pen(entry.curve, theme);
            let x = frame.left + entry.x;
            let first = area.top + self.title_height() + 13.0;
            let y = first + entry.line as f64 * LEGEND_LINE;
            let ends = [(x, y), (x + 18.0, y)];
            if is_line && is_dashed {
                canvas.dashes(&ends, (7.0, 4.0), colour, width);
            } else if is_line {
                canvas.line(&ends, colour, width);
            }
            if curve.stroke != Stroke::Line {
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

    fn draw_map(&self, map: &Map, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        let shading = Shading::new(map, theme);
        let columns = edges(&map.x, self.panel.x_scale);
        let rows = edges(&map.y, self.panel.y_scale);
        if columns.len() == map.x.len() + 1 && rows.len() == map.y.len() + 1 {
            let tone = |row: usize, column: usize| shading.tone(map.value(row, column));
            for patch in patches(map.y.len(), map.x.len(), tone) {
                let from = (columns[patch.columns.0], rows[patch.rows.1]);
                let to = (columns[patch.columns.1], rows[patch.rows.0]);
                let (from, to) = (self.to_pixels(frame, from), self.to_pixels(frame, to));
                // Whole pixels leave no gaps between neighbours.
                let whole = |(x, y): Place| (x.round(), y.round());
                canvas.fill(whole(from), whole(to), shading.colours[patch.tone]);
            }
        }
        let x: Vec<Option<f64>> = map
            .x
            .iter()
            .map(|&v| place(v, self.panel.x_scale))
            .collect();
        let y: Vec<Option<f64>> = map
            .y
            .iter()
            .map(|&v| place(v, self.panel.y_scale))
            .collect();
        for &level in &map.contours {
            for line in contour(map, level) {
                let point = |&(column, row): &Place| {
                    let point = (between(&x, column)?, between(&y, row)?);
                    Some(self.to_pixels(frame, point))
                };
                let line: Vec<Place> = line.iter().filter_map(point).collect();
                canvas.line(&line, theme.page(), 2.2);
                canvas.line(&line, theme.ink(), 1.0);
            }
        }
        shading.draw_legend(map, frame, theme, canvas);
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

/// How the values of a map become colours; the last colour is for points without a value.
struct Shading {
    colours: Vec<RGBColor>,
    kind: ShadingKind,
}

enum ShadingKind {
    Categories(Vec<f64>),
    Continuous(Range, Scale),
}

impl Shading {
    fn new(map: &Map, theme: Theme) -> Self {
        match &map.shades {
            Shades::Categories(categories) => {
                let n = categories.len();
                Self {
                    colours: (0..n)
                        .map(|number| match map.is_ordered {
                            true => theme.amount(number as f64 / n.max(2).saturating_sub(1) as f64),
                            false => theme.area(number),
                        })
                        .chain([theme.missing()])
                        .collect(),
                    kind: ShadingKind::Categories(categories.iter().map(|(v, _)| *v).collect()),
                }
            }
            Shades::Continuous { scale, .. } => {
                let places = map.values.iter().filter_map(|&value| place(value, *scale));
                let range = Range::around(places).unwrap_or(Range {
                    low: 0.0,
                    high: 1.0,
                });
                let middle = |shade: usize| (shade as f64 + 0.5) / N_SHADES as f64;
                Self {
                    colours: (0..N_SHADES)
                        .map(|shade| viridis(middle(shade)))
                        .chain([theme.missing()])
                        .collect(),
                    kind: ShadingKind::Continuous(range.with_margin(0.0, *scale), *scale),
                }
            }
        }
    }

    fn tone(&self, value: f64) -> usize {
        let missing = self.colours.len() - 1;
        match &self.kind {
            ShadingKind::Categories(known) => {
                known.iter().position(|&v| v == value).unwrap_or(missing)
            }
            ShadingKind::Continuous(range, scale) => match place(value, *scale) {
                Some(place) => ((range.share(place) * N_SHADES as f64) as usize).min(N_SHADES - 1),
                None => missing,
            },
        }
    }

    fn draw_legend(&self, map: &Map, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        let left = frame.right + 16.0;
        let ink = theme.ink();
        let has_missing = map
            .values
            .iter()
            .any(|&v| self.tone(v) == self.colours.len() - 1);
        let mut square = |y: f64, colour: RGBColor, words: &str| {
            canvas.fill((left, y), (left + 14.0, y + 14.0), colour);
            canvas.outline((left, y), (left + 14.0, y + 14.0), theme.faint_ink(), 0.8);
            canvas.text(words, (left + 21.0, y + 7.0), Anchor::Left, TICK_SIZE, ink);
        };
        let missing = self.colours[self.colours.len() - 1];
        match (&map.shades, &self.kind) {
            (Shades::Categories(categories), _) => {
                let mut y = frame.top;
                for (number, (value, name)) in categories.iter().enumerate() {
                    if map.values.contains(value) {
                        square(y, self.colours[number], &cut(name, TICK_SIZE, 200.0));
                        y += 22.0;
                    }
                }
                if has_missing {
                    square(y, missing, &map.missing);
                }
            }
            (Shades::Continuous { label, .. }, ShadingKind::Continuous(range, scale)) => {
                let room = if has_missing { 30.0 } else { 0.0 };
                if has_missing {
                    square(
                        frame.bottom - 14.0,
                        missing,
                        &cut(&map.missing, TICK_SIZE, 72.0),
                    );
                }
                let (top, bottom) = (frame.top, frame.bottom - room);
                let height = bottom - top;
                for shade in 0..N_SHADES {
                    let y =
                        |shade: usize| (bottom - height * shade as f64 / N_SHADES as f64).round();
                    canvas.fill(
                        (left, y(shade + 1)),
                        (left + 14.0, y(shade)),
                        self.colours[shade],
                    );
                }
                canvas.outline((left, top), (left + 14.0, bottom), theme.faint_ink(), 0.8);
                let axis = Axis::new(*range, *scale, (height / TICK_DISTANCE).max(2.0) as usize);
                let mut widest: f64 = 0.0;
                for tick in &axis.ticks {
                    let y = bottom - range.share(tick.place) * height;
                    canvas.line(
                        &[(left + 14.0, y), (left + 18.0, y)],
                        theme.faint_ink(),
                        1.0,
                    );
                    canvas.text(&tick.label, (left + 21.0, y), Anchor::Left, TICK_SIZE, ink);
                    widest = widest.max(text_width(&tick.label, TICK_SIZE));
                }
                for &level in &map.contours {
                    let Some(at) =
                        place(level, *scale).filter(|&at| (range.low..=range.high).contains(&at))
                    else {
                        continue;
                    };
                    let y = bottom - range.share(at) * height;
                    canvas.line(&[(left, y), (left + 14.0, y)], theme.page(), 2.2);
                    canvas.line(&[(left, y), (left + 14.0, y)], ink, 1.0);
                }
                canvas.text(
                    &axis.factor,
                    (left, top - 9.0),
                    Anchor::Left,
                    TICK_SIZE,
                    ink,
                );
                let words = cut(label, LABEL_SIZE, height);
                let place = (
                    (left + 36.0 + widest).min(frame.right + 100.0),
                    0.5 * (top + bottom),
                );
                canvas.upward_text(&words, place, Anchor::Middle, LABEL_SIZE, ink);
            }
            // The kind was made from the shades.
            (Shades::Continuous { .. }, ShadingKind::Categories(_)) => {}
        }
    }
}

/// The places between the points of a grid, and those beyond its ends; nothing if a value has no place.
fn edges(values: &[f64], scale: Scale) -> Vec<f64> {
    let places: Option<Vec<f64>> = values.iter().map(|&value| place(value, scale)).collect();
    let Some(places) = places.filter(|places| !places.is_empty()) else {
        return Vec::new();
    };
    let n = places.len();
    let first_half = if n > 1 {
        0.5 * (places[1] - places[0])
    } else {
        0.5
    };
    let last_half = if n > 1 {
        0.5 * (places[n - 1] - places[n - 2])
    } else {
        0.5
    };
    let inner = places.windows(2).map(|pair| 0.5 * pair[0] + 0.5 * pair[1]);
    std::iter::once(places[0] - first_half)
        .chain(inner)
        .chain([places[n - 1] + last_half])
        .collect()
}

/// The place at a point between two of a list.
fn between(places: &[Option<f64>], at: f64) -> Option<f64> {
    let below = (at.floor() as usize).min(places.len().checked_sub(1)?);
    let low = places[below]?;
    let share = at - below as f64;
    if share <= 0.0 {
        return Some(low);
    }
    let high = (*places.get(below + 1)?)?;
    Some(low + share * (high - low))
}

/// The room that the words of ticks take, each with a gap.
fn words_width(ticks: &[Tick], gap: f64) -> f64 {
    let widest = (ticks.iter())
        .map(|tick| text_width(&tick.label, TICK_SIZE) + gap)
        .fold(0.0, f64::max);
    widest * ticks.len() as f64
}

fn contains(frame: &Area, (x, y): Place) -> bool {
    (frame.left - 0.5..=frame.right + 0.5).contains(&x)
        && (frame.top - 0.5..=frame.bottom + 0.5).contains(&y)
}

/// A line with the points that can be seen: in each half pixel of its direction the first, lowest, highest and last.
fn thinned(points: Vec<Place>) -> Vec<Place> {
    if points.len() <= MANY_POINTS {
        return points;
    }
    let is_monotonic = points.windows(2).all(|pair| pair[0].0 <= pair[1].0);
    let mut kept: Vec<Place> = Vec::new();
    if is_monotonic {
        let half_pixel = |point: &Place| (2.0 * point.0).floor() as i64;
        for group in points.chunk_by(|a, b| half_pixel(a) == half_pixel(b)) {
            let by_height = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
            let all = || 0..group.len();
            let ends = [
                Some(0),
                all().min_by(by_height),
                all().max_by(by_height),
                Some(group.len() - 1),
            ];
            let mut ends: Vec<usize> = ends.into_iter().flatten().collect();
            ends.sort_unstable();
            ends.dedup();
            kept.extend(ends.into_iter().map(|place| group[place]));
        }
        return kept;
    }
    let last = points.len() - 1;
    for (number, point) in points.into_iter().enumerate() {
        let is_far = kept
            .last()
            .is_none_or(|kept| (kept.0 - point.0).hypot(kept.1 - point.1) > 0.4);
        if is_far || number == last {
            kept.push(point);
        }
    }
    kept
}

/// Points of a line are left out if it moves by less than this many pixels.
const UNSEEN: f64 = 0.06;
/// Lines are simplified in pieces of this many points, which bounds the work.
const PIECE: usize = 1000;

/// A line without the points that lie on it anyway (Douglas and Peucker 1973).
fn simplified(points: &[Place]) -> Vec<Place> {
    let Some(&last) = points.last() else {
        return Vec::new();
    };
    let mut kept = Vec::new();
    let mut first = 0;
    while first + 1 < points.len() {
        let end = (first + PIECE).min(points.len() - 1);
        // Pieces between two points that are kept, the next one on top.
        let mut open = vec![(first, end)];
        while let Some((from, to)) = open.pop() {
            let farthest = (from + 1..to)
                .map(|at| (at, distance(points[at], points[from], points[to])))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            match farthest {
                Some((at, distance)) if distance > UNSEEN => open.extend([(at, to), (from, at)]),
                _ => kept.push(points[from]),
            }
        }
        first = end;
    }
    kept.push(last);
    kept
}

/// How far a point is from the segment between two others.
fn distance(point: Place, from: Place, to: Place) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (px, py) = (point.0 - from.0, point.1 - from.1);
    let square = dx * dx + dy * dy;
    let share = if square > 0.0 {
        ((px * dx + py * dy) / square).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (px - share * dx).hypot(py - share * dy)
}

/// The parts of a line inside a frame.
fn clipped(points: &[Place], frame: &Area) -> Vec<Vec<Place>> {
    let mut lines: Vec<Vec<Place>> = Vec::new();
    let mut is_open = false;
    for pair in points.windows(2) {
        let Some((from, to)) = clipped_segment(pair[0], pair[1], frame) else {
            is_open = false;
            continue;
        };
        match lines.last_mut() {
            Some(line) if is_open && from == pair[0] => line.push(to),
            _ => lines.push(vec![from, to]),
        }
        is_open = to == pair[1];
    }
    lines
}

/// The part of a segment inside a frame (Liang and Barsky 1984).
fn clipped_segment(from: Place, to: Place, frame: &Area) -> Option<(Place, Place)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0f64, 1.0f64);
    for (speed, room) in [
        (-dx, from.0 - frame.left),
        (dx, frame.right - from.0),
        (-dy, from.1 - frame.top),
        (dy, frame.bottom - from.1),
    ] {
        // Half a tenth of a pixel outside is inside: ends of ranges are rounded.
        let room = room + 0.05;
        if speed == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if speed < 0.0 {
            enter = enter.max(room / speed);
        } else {
            leave = leave.min(room / speed);
        }
    }
    let at = |share: f64| (from.0 + share * dx, from.1 + share * dy);
    let inside = enter <= leave;
    let start = if enter > 0.0 { at(enter) } else { from };
    let end = if leave < 1.0 { at(leave) } else { to };
    inside.then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Area = Area {
        left: 0.0,
        top: 0.0,
        right: 100.0,
        bottom: 100.0,
    };

    #[test]
    fn a_line_is_cut_at_the_frame() {
        let line = [
            (-50.0, 50.0),
            (50.0, 50.0),
            (50.0, 150.0),
            (150.0, 150.0),
            (150.0, 50.0),
            (60.0, 50.0),
        ];
        let parts = clipped(&line, &FRAME);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].len(), 3);
        assert!((parts[0][0].0 + 0.05).abs() < 1e-9);
        assert!((parts[1][0].0 - 100.05).abs() < 1e-9);
        assert!(clipped(&[(-1.0, -5.0), (200.0, -5.0)], &FRAME).is_empty());
    }

    #[test]
    fn a_simplified_line_stays_where_it_was() {
        let points: Vec<Place> = (0..=3000)
            .map(|i| 0.2 * f64::from(i))
            .map(|x| (x, 50.0 * (0.02 * x).sin()))
            .collect();
        let kept = simplified(&points);
        assert!(kept.len() < 200, "{}", kept.len());
        assert_eq!((kept.first(), kept.last()), (points.first(), points.last()));
        for &point in &points {
            let nearest = kept
                .windows(2)
                .map(|pair| distance(point, pair[0], pair[1]))
                .fold(f64::INFINITY, f64::min);
            assert!(nearest <= UNSEEN);
        }
        assert_eq!(simplified(&[]), []);
        assert_eq!(simplified(&points[..1]), points[..1]);
    }

    #[test]
    fn a_thinned_line_keeps_its_extremes() {
        let n = 100_000;
        let points: Vec<Place> = (0..n)
            .map(|i| {
                (
                    100.0 * f64::from(i) / f64::from(n),
                    if i == 777 { 99.0 } else { 1.0 },
                )
            })
            .collect();
        let kept = thinned(points);
        assert!(kept.len() < 1000);
        assert!(kept.iter().any(|point| point.1 == 99.0));
    }
}
