//! Maps: areas in colours, contours, and the legend of the colours.

use super::{Chart, LABEL_SIZE, TICK_DISTANCE, TICK_SIZE};
use crate::axis::{Axis, Range, place};
use crate::canvas::{Anchor, Canvas, Place, cut, text_width};
use crate::figure::Scale;
use crate::map::{Map, Shades, contour, patches};
use crate::svg::Area;
use crate::theme::{Theme, viridis};
use plotters::style::RGBColor;

/// Room between a map and its legend, and the width of the colours there.
const BESIDE: f64 = 16.0;
const SQUARE: f64 = 14.0;
/// Number of shades between the smallest and the largest value of a map.
const N_SHADES: usize = 48;

impl Chart<'_> {
    pub(super) fn draw_map(&self, map: &Map, frame: &Area, theme: Theme, canvas: &mut Canvas) {
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
    pub(super) fn new(map: &Map, theme: Theme) -> Self {
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

    /// Explains the colours to the right of the frame.
    fn draw_legend(&self, map: &Map, frame: &Area, theme: Theme, canvas: &mut Canvas) {
        match (&map.shades, &self.kind) {
            (Shades::Categories(categories), _) => {
                self.draw_categories(map, categories, frame, theme, canvas);
            }
            (Shades::Continuous { label, .. }, ShadingKind::Continuous(range, scale)) => {
                let values = (*range, *scale);
                self.draw_scale(map, label, values, frame, theme, canvas);
            }
            // The kind was made from the shades.
            (Shades::Continuous { .. }, ShadingKind::Categories(_)) => {}
        }
    }

    /// The colour of points without a value, if there are any.
    fn missing(&self, map: &Map) -> Option<RGBColor> {
        let missing = self.colours.len() - 1;
        let has_missing = map.values.iter().any(|&v| self.tone(v) == missing);
        has_missing.then(|| self.colours[missing])
    }

    /// A square for each category that occurs.
    fn draw_categories(
        &self,
        map: &Map,
        categories: &[(f64, String)],
        frame: &Area,
        theme: Theme,
        canvas: &mut Canvas,
    ) {
        let left = frame.right + BESIDE;
        let mut y = frame.top;
        for (number, (value, name)) in categories.iter().enumerate() {
            if map.values.contains(value) {
                let words = cut(name, TICK_SIZE, 200.0);
                draw_square((left, y), self.colours[number], &words, theme, canvas);
                y += 22.0;
            }
        }
        if let Some(missing) = self.missing(map) {
            draw_square((left, y), missing, &map.missing, theme, canvas);
        }
    }

    /// A bar of all shades with an axis and the levels of the contours.
    fn draw_scale(
        &self,
        map: &Map,
        label: &str,
        (range, scale): (Range, Scale),
        frame: &Area,
        theme: Theme,
        canvas: &mut Canvas,
    ) {
        let left = frame.right + BESIDE;
        let ink = theme.ink();
        let missing = self.missing(map);
        let room = if missing.is_some() { 30.0 } else { 0.0 };
        if let Some(missing) = missing {
            let words = cut(&map.missing, TICK_SIZE, 72.0);
            draw_square(
                (left, frame.bottom - SQUARE),
                missing,
                &words,
                theme,
                canvas,
            );
        }
        let (top, bottom) = (frame.top, frame.bottom - room);
        let height = bottom - top;
        for shade in 0..N_SHADES {
            let y = |shade: usize| (bottom - height * shade as f64 / N_SHADES as f64).round();
            canvas.fill(
                (left, y(shade + 1)),
                (left + SQUARE, y(shade)),
                self.colours[shade],
            );
        }
        canvas.outline((left, top), (left + SQUARE, bottom), theme.faint_ink(), 0.8);
        let axis = Axis::new(range, scale, (height / TICK_DISTANCE).max(2.0) as usize);
        let mut widest: f64 = 0.0;
        for tick in &axis.ticks {
            let y = bottom - range.share(tick.place) * height;
            canvas.line(
                &[(left + SQUARE, y), (left + 18.0, y)],
                theme.faint_ink(),
                1.0,
            );
            canvas.text(&tick.label, (left + 21.0, y), Anchor::Left, TICK_SIZE, ink);
            widest = widest.max(text_width(&tick.label, TICK_SIZE));
        }
        for &level in &map.contours {
            let Some(at) = place(level, scale).filter(|at| (range.low..=range.high).contains(at))
            else {
                continue;
            };
            let y = bottom - range.share(at) * height;
            canvas.line(&[(left, y), (left + SQUARE, y)], theme.page(), 2.2);
            canvas.line(&[(left, y), (left + SQUARE, y)], ink, 1.0);
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
}

/// A square of the legend with its words.
fn draw_square((left, y): Place, colour: RGBColor, words: &str, theme: Theme, canvas: &mut Canvas) {
    let (from, to) = ((left, y), (left + SQUARE, y + SQUARE));
    canvas.fill(from, to, colour);
    canvas.outline(from, to, theme.faint_ink(), 0.8);
    let place = (left + 21.0, y + 7.0);
    canvas.text(words, place, Anchor::Left, TICK_SIZE, theme.ink());
}

/// The places between the points of a grid, and those beyond its ends; nothing if a value has no place.
pub(super) fn edges(values: &[f64], scale: Scale) -> Vec<f64> {
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
