//! Curves over time: data for the interactive plot, and the same as a picture for paper and for browsers without scripts.

use super::html::{Writer, json};
use crate::record::TimeSeries;
use daelight_plot::{Curve, Figure, Panel, Scale, Theme, TimeMark, svg};

/// Points of a curve in the picture; the interactive plot has them all.
const MAX_PICTURE_POINTS: usize = 420;

/// Curves over one time axis.
///
/// ```
/// use daelight_show::page::{Element, Chart, Page, Section, html};
/// use daelight_show::record::TimeSeries;
///
/// let times: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
/// let chart = Chart {
///     caption: "A sine".to_string(),
///     series: vec![TimeSeries {
///         name: "x".to_string(),
///         unit: String::new(),
///         values: times.iter().map(|t| t.sin()).collect(),
///     }],
///     times,
///     ..Chart::default()
/// };
/// let mut page = Page::new("Run");
/// page.sections.push(Section::new("run", "Run").block(Element::Chart(chart)));
/// assert!(html(&page).contains("A sine"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it shows.
    pub caption: String,
    /// The horizontal axis.
    pub x_label: String,
    /// The vertical axis.
    pub y_label: String,
    /// The times, ascending.
    pub times: Vec<f64>,
    /// The curves.
    pub series: Vec<TimeSeries>,
    /// Times to be marked.
    pub marks: Vec<TimeMark>,
    /// Whether the vertical axis shows powers of ten.
    pub is_logarithmic: bool,
    /// Values between which the vertical axis stays unless all that is seen is beyond them.
    pub y_limits: Option<(f64, f64)>,
}

impl Chart {
    /// At most `limit` positions of points that show the curves: evenly spread ones, and the extremes of each curve, first over
    /// all, then in as many parts as there is room for. Times that occur twice are steps: both of their sides are kept, as far
    /// as half of the room allows.
    pub fn thinned(curves: &[&[f64]], times: &[f64], limit: usize) -> Vec<usize> {
        let n_points = times.len();
        if n_points <= limit {
            return (0..n_points).collect();
        }
        let steps = (1..n_points).filter(|&k| times[k - 1] == times[k]);
        let mut sides: Vec<usize> = steps.flat_map(|k| [k - 1, k]).collect();
        sides.truncate(limit / 2);
        let limit = limit - sides.len();
        let n_even = (2 * limit).div_ceil(3).max(2);
        let even = (0..n_even).map(|k| k * (n_points - 1) / (n_even - 1));
        let mut kept: Vec<usize> = even.collect();
        let room = limit.saturating_sub(n_even);
        let n_parts = (room / (2 * curves.len().max(1))).max(1);
        let extremes = |values: &[f64], first: usize| {
            let finite = || values.iter().enumerate().filter(|(_, v)| v.is_finite());
            let least = finite().min_by(|a, b| a.1.total_cmp(b.1));
            let most = finite().max_by(|a, b| a.1.total_cmp(b.1));
            [least, most].map(|found| found.map(|(k, _)| first + k))
        };
        for values in curves {
            let size = values.len().div_ceil(n_parts).max(1);
            for (part, values) in values.chunks(size).enumerate() {
                kept.extend(extremes(values, part * size).into_iter().flatten());
            }
        }
        kept.extend(sides);
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// The chart with fewer points.
    fn at(&self, positions: &[usize]) -> Self {
        let pick = |values: &[f64]| positions.iter().map(|&k| values[k]).collect();
        Self {
            times: pick(&self.times),
            series: (self.series.iter())
                .map(|series| TimeSeries {
                    values: pick(&series.values),
                    ..series.clone()
                })
                .collect(),
            ..self.clone()
        }
    }

    /// The picture.
    fn svg(&self) -> String {
        let curves: Vec<&[f64]> = self.series.iter().map(|s| &s.values[..]).collect();
        let points = (MAX_PICTURE_POINTS / curves.len().div_ceil(3).max(1)).max(60);
        let positions = Self::thinned(&curves, &self.times, points);
        let thin = self.at(&positions);
        let mut panel = Panel::new(self.x_label.as_str(), self.y_label.as_str());
        if self.is_logarithmic {
            panel = panel.y_scale(Scale::Log);
        }
        if let Some((low, high)) = self.y_limits {
            panel = panel.y_limits(low, high);
        }
        for series in &thin.series {
            let points = thin
                .times
                .iter()
                .copied()
                .zip(series.values.iter().copied());
            panel = panel.curve(Curve::line(series.name.as_str(), points));
        }
        for mark in &self.marks {
            panel = panel.mark(mark.clone());
        }
        svg(&Figure::new("").panel(panel).size(840, 300), Theme::Light)
    }

    pub(crate) fn write(&self, number: usize, to: &mut Writer) {
        let names: Vec<&str> = self.series.iter().map(|s| s.name.as_str()).collect();
        to.open(
            "figure",
            &[("class", "chart"), ("id", &format!("chart-{number}"))],
        );
        to.element("figcaption", &[], &self.caption);
        let label = format!("Plot over time of {}", names.join(", "));
        to.open(
            "div",
            &[("class", "still"), ("role", "img"), ("aria-label", &label)],
        );
        to.raw(&self.svg());
        to.close("div");
        let hint = "arrow keys move the cursor, plus and minus zoom, 0 shows all";
        let label = format!("{label}; {hint}");
        to.open(
            "div",
            &[
                ("class", "live"),
                ("role", "group"),
                ("tabindex", "0"),
                ("hidden", ""),
                ("aria-label", &label),
            ],
        );
        to.close("div");
        to.element("p", &[("class", "readout"), ("aria-live", "polite")], "");
        let values = |values: &[f64]| values.iter().map(|v| rounded(*v)).collect::<Vec<_>>();
        let data = serde_json::json!({
            "x": self.x_label,
            "y": self.y_label,
            "log": self.is_logarithmic,
            "limits": self.y_limits.map(|(low, high)| [low, high]),
            "names": names,
            "times": values(&self.times),
            "values": self.series.iter().map(|s| values(&s.values)).collect::<Vec<_>>(),
            "marks": self.marks.iter().map(|m| serde_json::json!([m.at, m.label])).collect::<Vec<_>>(),
        });
        to.raw(&json("data", &data));
        to.close("figure");
    }
}

/// Six digits: more than a screen shows, and short.
fn rounded(value: f64) -> serde_json::Value {
    let short: f64 = format!("{value:.5e}").parse().unwrap_or(f64::NAN);
    serde_json::Number::from_f64(short).map_or(serde_json::Value::Null, serde_json::Value::Number)
}
