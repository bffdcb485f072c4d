//! Pictures: curves over axes, marked times, maps over parameters, matrices, polylines in space, as SVG and PNG that look the
//! same on every machine.
//!
//! A [`Figure`] says what is shown; [`svg`] draws it, and [`png`] turns that into pixels. Colours are those of Okabe and Ito,
//! which people with colour-blindness can tell apart, for a light and for a dark page.
//!
//! ```
//! use daelight_plot::{Curve, Figure, Panel, Theme, svg};
//!
//! let curve = Curve::line("sin t", (0..100).map(|i| 0.1 * f64::from(i)).map(|t| (t, t.sin())));
//! let figure = Figure::new("A sine").panel(Panel::new("t [s]", "x [m]").curve(curve));
//! assert!(svg(&figure, Theme::Light).contains("<polyline"));
//! ```

#![forbid(unsafe_code)]

mod axis;
mod canvas;
mod chart;
mod figure;
mod grid;
mod map;
mod matrix;
mod png;
mod svg;
mod theme;

pub use figure::{Curve, Figure, Panel, Scale, Stroke, TimeMark};
pub use map::Map;
pub use matrix::{MatrixDrawing, Tone};
pub use png::{PngError, png};
pub use svg::svg;
pub use theme::Theme;
