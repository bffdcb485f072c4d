//! Pictures of values over time, as SVG.

use daelight_plot::{Curve, Figure, Panel, Theme, TimeMark, svg};
use daelight_show::picture::{Fan, fans};
use pyo3::prelude::*;

/// Curves with a name, horizontal and vertical values.
type Curves = Vec<(String, Vec<f64>, Vec<f64>)>;

/// Panels of curves above each other, with lines at marked times.
#[pyfunction]
pub fn picture(
    py: Python<'_>,
    title: String,
    x_label: String,
    panels: Vec<(String, Curves)>,
    marks: Vec<(f64, String)>,
    dark: bool,
) -> String {
    py.detach(|| {
        let mut figure = Figure::new(title);
        for (y_label, curves) in panels {
            let mut panel = Panel::new(x_label.clone(), y_label);
            for (name, x, y) in curves {
                panel = panel.curve(Curve::line(name, x.into_iter().zip(y)));
            }
            for (at, label) in &marks {
                let (at, label) = (*at, label.clone());
                panel = panel.mark(TimeMark { at, label });
            }
            figure = figure.panel(panel);
        }
        svg(&figure, theme(dark))
    })
}

/// Quantiles of quantities over many runs, as [`fans`] draws them: for each quantity its name and, for each time, the
/// quantiles at `FAN_LEVELS`.
#[pyfunction]
pub fn fan_picture(
    py: Python<'_>,
    title: String,
    times: Vec<f64>,
    rows: Vec<(String, Vec<[f64; 5]>)>,
    dark: bool,
) -> String {
    py.detach(|| {
        let fan = |(name, quantiles)| Fan { name, quantiles };
        let shown = rows.into_iter().map(fan).collect();
        svg(&fans(&title, &times, shown), theme(dark))
    })
}

fn theme(dark: bool) -> Theme {
    if dark { Theme::Dark } else { Theme::Light }
}
