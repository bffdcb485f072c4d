//! Drawing a figure as SVG.

use crate::figure::{Curve, Figure, Panel, Scale, Stroke};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fmt::Write;
use std::ops::Range;

/// Colours for a light or a dark page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Theme {
    /// Dark ink on white.
    #[default]
    Light,
    /// Light ink on near-black.
    Dark,
}

/// The colours of Okabe and Ito (2008) without black and yellow, which vanish on one of the pages.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

/// Space for titles and words, in pixels.
const TITLE_HEIGHT: u32 = 34;
const FONT: &str = "DejaVu Sans, sans-serif";

impl Theme {
    fn page(self) -> RGBColor {
        match self {
            Self::Light => WHITE,
            Self::Dark => RGBColor(24, 26, 31),
        }
    }

    fn ink(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(40, 40, 40),
            Self::Dark => RGBColor(222, 222, 222),
        }
    }

    fn grid(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(228, 228, 228),
            Self::Dark => RGBColor(58, 62, 70),
        }
    }
}

/// The SVG text of a figure.
pub fn svg(figure: &Figure, theme: Theme) -> String {
    let n = figure.panels.len().max(1) as u32;
    let title = if figure.title.is_empty() {
        0
    } else {
        TITLE_HEIGHT
    };
    let mut text = String::new();
    {
        let size = (figure.width, title + n * figure.panel_height);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        // Writing into a string does not fail.
        let _ = draw(figure, theme, title, &root);
    }
    text
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(figure: &Figure, theme: Theme, title: u32, root: &Area) -> Drawn {
    root.fill(&theme.page())?;
    let (head, body) = root.split_vertically(title);
    if title > 0 {
        let style = (FONT, 15).into_font().color(&theme.ink());
        head.draw_text(&figure.title, &style, (16, 12))?;
    }
    let areas = body.split_evenly((figure.panels.len().max(1), 1));
    for (panel, area) in figure.panels.iter().zip(&areas) {
        draw_panel(panel, theme, area)?;
    }
    root.present()?;
    Ok(())
}

/// A value on an axis, and what is written there.
fn place(value: f64, scale: Scale) -> Option<f64> {
    let place = match scale {
        Scale::Linear => value,
        Scale::Log if value > 0.0 => value.log10(),
        Scale::Log => return None,
    };
    place.is_finite().then_some(place)
}

fn label(place: f64, scale: Scale, step: f64) -> String {
    match scale {
        Scale::Linear => number(place, step),
        Scale::Log => format!("1e{}", number(place, step)),
    }
}

/// A number with the digits that tell it from its neighbours on the axis.
fn number(value: f64, step: f64) -> String {
    if value.abs() < 1e-9 * step {
        return "0".to_owned();
    }
    if value.abs() >= 1e5 || step < 1e-4 {
        return format!("{value:.3e}").replace(".000e", "e");
    }
    let digits = (-step.log10()).ceil().clamp(0.0, 6.0) as usize;
    let mut text = String::new();
    let _ = write!(text, "{value:.digits$}");
    text
}

/// The range of values with a margin; something to see even if all are equal or there are none.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    if low > high {
        return 0.0..1.0;
    }
    let width = high - low;
    let size = low.abs().max(high.abs());
    if width <= 1e-12 * size || width == 0.0 {
        let half = if size > 0.0 { 0.1 * size } else { 1.0 };
        return low - half..high + half;
    }
    low - margin * width..high + margin * width
}

/// Widens one of two ranges so that a unit has the same length on both axes of an area of this size.
fn equalised(x: Range<f64>, y: Range<f64>, size: (f64, f64)) -> (Range<f64>, Range<f64>) {
    let unit = ((x.end - x.start) / size.0).max((y.end - y.start) / size.1);
    let widened = |range: Range<f64>, pixels: f64| {
        let middle = 0.5 * (range.start + range.end);
        let half = 0.5 * unit * pixels;
        middle - half..middle + half
    };
    (widened(x, size.0), widened(y, size.1))
}

/// About this many lines across an axis.
const LINES: f64 = 6.0;

/// 1, 2 or 5 times a power of ten.
fn tick_step(range: &Range<f64>) -> f64 {
    let raw = (range.end - range.start) / LINES;
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= raw);
    factor.unwrap_or(10.0) * power
}

fn draw_panel(panel: &Panel, theme: Theme, area: &Area) -> Drawn {
    let curves: Vec<Vec<Option<(f64, f64)>>> = (panel.curves.iter())
        .map(|curve| {
            let points = curve.points.iter();
            points
                .map(|&(x, y)| Some((place(x, panel.x_scale)?, place(y, panel.y_scale)?)))
                .collect()
        })
        .collect();
    let points = || curves.iter().flatten().flatten();
    let mut x = range(points().map(|p| p.0), 0.0);
    let mut y = range(points().map(|p| p.1), 0.06);
    let (left, bottom) = (74, 44);
    let (width, height) = area.dim_in_pixel();
    if panel.has_equal_axes {
        let inner = |pixels: u32, label: i32| f64::from(pixels) - f64::from(label) - 24.0;
        x = range(points().map(|p| p.0), 0.06);
        (x, y) = equalised(x, y, (inner(width, left), inner(height, bottom)));
    }
    let (x_step, y_step) = (tick_step(&x), tick_step(&y));
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .set_label_area_size(LabelAreaPosition::Left, left)
        .set_label_area_size(LabelAreaPosition::Bottom, bottom)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let words = (FONT, 12).into_font().color(&theme.ink());
    chart
        .configure_mesh()
        .x_desc(panel.x_label.as_str())
        .y_desc(panel.y_label.as_str())
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|&at| label(at, panel.x_scale, x_step))
        .y_label_formatter(&|&at| label(at, panel.y_scale, y_step))
        .label_style(words.clone())
        .axis_desc_style(words.clone())
        .axis_style(theme.ink())
        .bold_line_style(theme.grid())
        .light_line_style(TRANSPARENT)
        .draw()?;
    for mark in &panel.marks {
        let Some(at) = place(mark.at, panel.x_scale) else {
            continue;
        };
        if !(x.start..=x.end).contains(&at) {
            continue;
        }
        let line = DashedLineSeries::new([(at, y.start), (at, y.end)], 5, 4, theme.ink().into());
        chart.draw_series(line)?;
        // Beside the line, on the side with more room.
        let is_right = at > 0.5 * (x.start + x.end);
        let offset = if is_right {
            -(8 * mark.label.len() as i32) - 4
        } else {
            6
        };
        let word = EmptyElement::at((at, y.end))
            + Text::new(mark.label.clone(), (offset, 4), words.clone());
        chart.draw_series(std::iter::once(word))?;
    }
    for (place, (curve, points)) in panel.curves.iter().zip(&curves).enumerate() {
        let colour = COLOURS[curve.colour.unwrap_or(place) % COLOURS.len()];
        draw_curve(&mut chart, curve, points, colour)?;
    }
    let has_names = panel.curves.iter().any(|curve| !curve.name.is_empty());
    if has_names && panel.curves.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(theme.page().mix(0.8))
            .border_style(theme.grid())
            .label_font(words)
            .draw()?;
    }
    Ok(())
}

type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

fn draw_curve(
    chart: &mut Chart,
    curve: &Curve,
    points: &[Option<(f64, f64)>],
    colour: RGBColor,
) -> Drawn {
    let line = colour.stroke_width(2);
    if curve.stroke != Stroke::Dots {
        for (piece, stretch) in points.split(Option::is_none).enumerate() {
            let series = LineSeries::new(stretch.iter().flatten().copied(), line);
            let drawn = chart.draw_series(series)?;
            if piece == 0 && !curve.name.is_empty() {
                drawn
                    .label(curve.name.as_str())
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], line));
            }
        }
    }
    if curve.stroke != Stroke::Line {
        let dots = points.iter().flatten();
        let drawn = chart.draw_series(dots.map(|&at| Circle::new(at, 3, colour.filled())))?;
        if curve.stroke == Stroke::Dots && !curve.name.is_empty() {
            drawn
                .label(curve.name.as_str())
                .legend(move |at| Circle::new((at.0 + 9, at.1), 3, colour.filled()));
        }
    }
    Ok(())
}
