//! A surface to draw on, in pixels with one decimal.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The backend knows whole numbers only; a tenth of a pixel is one of them, so that curves are smooth.
const TENTHS: f64 = 10.0;
/// Coordinates are cut off here; nothing that is seen is that far away.
const FAR: f64 = 1e6;
/// The backend divides sizes of fonts by this number.
const FONT_FACTOR: f64 = 1.24;
/// The font of the pictures, then fonts of the same widths.
const FONT: &str = "DejaVu Sans, Verdana, sans-serif";

/// A place in pixels from the upper left corner.
pub(crate) type Place = (f64, f64);

/// Where a text lies around its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Left,
    Middle,
    Right,
}

/// An SVG text in the making.
pub(crate) struct Canvas<'a> {
    backend: SVGBackend<'a>,
}

fn whole(value: f64) -> i32 {
    (value.clamp(-FAR, FAR) * TENTHS).round() as i32
}

fn at((x, y): Place) -> (i32, i32) {
    (whole(x), whole(y))
}

fn pen(colour: RGBColor, width: f64) -> ShapeStyle {
    colour.stroke_width((width * TENTHS).round() as u32)
}

/// Draws on a canvas of this size and returns the SVG text.
pub(crate) fn drawn(size: (u32, u32), draw: impl FnOnce(&mut Canvas)) -> String {
    let mut text = String::new();
    let tenths = |pixels: u32| pixels.saturating_mul(TENTHS as u32);
    let inner = (tenths(size.0), tenths(size.1));
    let mut canvas = Canvas {
        backend: SVGBackend::with_string(&mut text, inner),
    };
    draw(&mut canvas);
    ignore(canvas.backend.present());
    drop(canvas);
    // The picture has its size in pixels and counts in tenths.
    let head = |size: (u32, u32)| format!("width=\"{}\" height=\"{}\"", size.0, size.1);
    let text = text.replacen(&head(inner), &head(size), 1);
    // Areas that touch leave no hairline between them.
    text.replace("<rect ", "<rect shape-rendering=\"crispEdges\" ")
}

/// Writing into a string does not fail.
fn ignore<E: std::fmt::Debug>(result: Result<(), E>) {
    debug_assert!(result.is_ok(), "{result:?}");
}

impl Canvas<'_> {
    /// A line through points.
    pub(crate) fn line(&mut self, points: &[Place], colour: RGBColor, width: f64) {
        if points.len() >= 2 {
            let points = points.iter().map(|&p| at(p));
            ignore(self.backend.draw_path(points, &pen(colour, width)));
        }
    }

    /// A line of dashes through points.
    pub(crate) fn dashes(
        &mut self,
        points: &[Place],
        (on, off): (f64, f64),
        colour: RGBColor,
        width: f64,
    ) {
        for dash in dashed(points, on, off) {
            self.line(&dash, colour, width);
        }
    }

    /// A filled rectangle between two corners.
    pub(crate) fn fill(&mut self, from: Place, to: Place, colour: RGBColor) {
        let style = colour.filled();
        ignore(self.backend.draw_rect(at(from), at(to), &style, true));
    }

    /// The area that points go round.
    pub(crate) fn area(&mut self, points: &[Place], colour: RGBColor) {
        if points.len() >= 3 {
            let points = points.iter().map(|&p| at(p));
            ignore(self.backend.fill_polygon(points, &colour.filled()));
        }
    }

    /// The outline of a rectangle.
    pub(crate) fn outline(&mut self, from: Place, to: Place, colour: RGBColor, width: f64) {
        let corners = [from, (to.0, from.1), to, (from.0, to.1), from];
        self.line(&corners, colour, width);
    }

    /// A filled disc.
    pub(crate) fn disc(&mut self, centre: Place, radius: f64, colour: RGBColor) {
        let radius = (radius * TENTHS).round() as u32;
        ignore(
            self.backend
                .draw_circle(at(centre), radius, &colour.filled(), true),
        );
    }

    /// A text on a line whose middle has the height of `place`.
    pub(crate) fn text(
        &mut self,
        text: &str,
        place: Place,
        anchor: Anchor,
        size: f64,
        colour: RGBColor,
    ) {
        self.write(text, place, anchor, size, colour, FontTransform::None);
    }

    /// A text that reads upwards; its anchor is along its own direction.
    pub(crate) fn upward_text(
        &mut self,
        text: &str,
        place: Place,
        anchor: Anchor,
        size: f64,
        colour: RGBColor,
    ) {
        self.write(text, place, anchor, size, colour, FontTransform::Rotate270);
    }

    fn write(
        &mut self,
        text: &str,
        place: Place,
        anchor: Anchor,
        size: f64,
        colour: RGBColor,
        turn: FontTransform,
    ) {
        if text.is_empty() {
            return;
        }
        let horizontal = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::Right => HPos::Right,
        };
        let style = (FONT, size * TENTHS * FONT_FACTOR)
            .into_font()
            .transform(turn)
            .color(&colour)
            .pos(Pos::new(horizontal, VPos::Center));
        // Letters that XML does not know are not written.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        ignore(self.backend.draw_text(&text, &style, at(place)));
    }
}

/// Pieces of a line, `on` pixels long with `off` pixels between them.
fn dashed(points: &[Place], on: f64, off: f64) -> Vec<Vec<Place>> {
    let mut dashes = Vec::new();
    let mut dash = Vec::new();
    let (mut is_on, mut left) = (true, on);
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        if is_on && dash.is_empty() {
            dash.push(from);
        }
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length <= left {
                left -= length;
                if is_on {
                    dash.push(to);
                }
                break;
            }
            let share = left / length;
            from = (
                from.0 + share * (to.0 - from.0),
                from.1 + share * (to.1 - from.1),
            );
            if is_on {
                dash.push(from);
                dashes.push(std::mem::take(&mut dash));
            } else {
                dash.push(from);
            }
            is_on = !is_on;
            left = if is_on { on } else { off };
        }
    }
    if dash.len() >= 2 {
        dashes.push(dash);
    }
    dashes
}

/// Widths of the letters from space to tilde, in units of 1/2048 of the size of the font.
const WIDTHS: [u16; 95] = [
    651, 821, 942, 1716, 1303, 1946, 1597, 563, 799, 799, 1024, 1716, 651, 739, 651, 690, 1303,
    1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 690, 690, 1716, 1716, 1716, 1087, 2048,
    1401, 1405, 1430, 1577, 1294, 1178, 1587, 1540, 604, 604, 1343, 1141, 1767, 1532, 1612, 1235,
    1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403, 799, 690, 799, 1716, 1024, 1024,
    1255, 1300, 1126, 1300, 1260, 721, 1300, 1298, 569, 569, 1186, 569, 1995, 1298, 1253, 1300,
    1300, 842, 1067, 803, 1298, 1212, 1675, 1212, 1212, 1075, 1303, 690, 1303, 1716,
];

/// The width of a text in pixels.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let units: u32 = text
        .chars()
        .map(|letter| match letter {
            '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 821,
            '\u{2212}' | '×' => 1716,
            letter => {
                let place = (letter as usize).wrapping_sub(' ' as usize);
                WIDTHS.get(place).map_or(1350, |&width| u32::from(width))
            }
        })
        .sum();
    f64::from(units) / 2048.0 * size
}

/// The text cut to a width, with an ellipsis if something is missing.
pub(crate) fn cut(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        let longer = format!("{kept}{letter}");
        if text_width(&longer, size) + text_width("…", size) > width {
            break;
        }
        kept = longer;
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_have_their_lengths_around_corners() {
        let corner = [(0.0, 0.0), (7.0, 0.0), (7.0, 20.0)];
        let dashes = dashed(&corner, 5.0, 4.0);
        assert_eq!(dashes[0], [(0.0, 0.0), (5.0, 0.0)]);
        assert_eq!(dashes[1], [(7.0, 2.0), (7.0, 7.0)]);
        let length: f64 = dashes
            .iter()
            .flat_map(|dash| dash.windows(2))
            .map(|p| (p[1].0 - p[0].0).hypot(p[1].1 - p[0].1))
            .sum();
        // 27 pixels are three whole periods of nine.
        assert!((length - 15.0).abs() < 1e-12, "{length}");
    }

    #[test]
    fn a_text_is_cut_to_its_width() {
        assert_eq!(cut("short", 12.0, 100.0), "short");
        let long = cut("a rather long name of a variable", 12.0, 100.0);
        assert!(long.ends_with('…') && text_width(&long, 12.0) <= 100.0);
    }
}
