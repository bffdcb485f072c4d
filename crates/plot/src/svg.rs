//! From a figure to SVG: where its panels lie.

use crate::axis::Range;
use crate::canvas::{Anchor, cut, drawn};
use crate::chart::{Chart, LABEL_SIZE};
use crate::figure::{Figure, Panel};
use crate::grid;
use crate::theme::Theme;

const TITLE_HEIGHT: f64 = 34.0;
const TITLE_SIZE: f64 = 14.5;
/// No picture is smaller or larger, in pixels.
const SIZES: std::ops::RangeInclusive<u32> = 60..=20_000;

/// A rectangle in pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

/// The SVG text of a figure. The same figure gives the same text everywhere.
pub fn svg(figure: &Figure, theme: Theme) -> String {
    let title = if figure.title.is_empty() {
        0.0
    } else {
        TITLE_HEIGHT
    };
    let n_columns = figure.n_columns.min(figure.panels.len()).max(1);
    let width = figure.width.clamp(*SIZES.start(), *SIZES.end());
    let column_width = f64::from(width) / n_columns as f64;
    let rows: Vec<&[Panel]> = figure.panels.chunks(n_columns).collect();
    let heights: Vec<f64> = match figure.height {
        Some(height) => {
            let height = height.clamp(*SIZES.start(), *SIZES.end());
            let height = (f64::from(height) - title) / rows.len().max(1) as f64;
            vec![height; rows.len()]
        }
        None => rows
            .iter()
            .map(|row| row_height(row, figure, column_width))
            .collect(),
    };
    let height = (title + heights.iter().sum::<f64>()).round();
    let height = (height as u32).clamp(*SIZES.start(), *SIZES.end());
    let columns = columns(&figure.panels, n_columns, &heights, column_width);
    drawn((width, height), |canvas| {
        let corner = (f64::from(width), f64::from(height));
        canvas.fill((0.0, 0.0), corner, theme.page());
        let words = cut(&figure.title, TITLE_SIZE, corner.0 - 32.0);
        canvas.text(&words, (16.0, 20.0), Anchor::Left, TITLE_SIZE, theme.ink());
        let mut top = title;
        for (row, (panels, height)) in rows.iter().zip(&heights).enumerate() {
            for (column, panel) in panels.iter().enumerate() {
                let area = Area {
                    left: column as f64 * column_width,
                    top,
                    right: (column + 1) as f64 * column_width,
                    bottom: top + height,
                };
                match (&panel.matrix, &columns[column].charts[row]) {
                    (Some(matrix), _) => grid::draw(matrix, area, theme, canvas),
                    (None, Some(chart)) => {
                        let sides = (columns[column].left, columns[column].right);
                        chart.draw(area, sides, theme, canvas);
                    }
                    (None, None) => {}
                }
            }
            top += height;
        }
    })
}

fn row_height(row: &[Panel], figure: &Figure, column_width: f64) -> f64 {
    let height = |panel: &Panel| match &panel.matrix {
        Some(matrix) => grid::natural_height(matrix, column_width),
        None => f64::from(figure.panel_height.clamp(*SIZES.start(), *SIZES.end())),
    };
    row.iter().map(height).fold(0.0, f64::max)
}

/// The charts of a column, and the room that the widest words beside them need.
struct Column<'a> {
    charts: Vec<Option<Chart<'a>>>,
    left: f64,
    right: f64,
}

fn columns<'a>(
    panels: &'a [Panel],
    n_columns: usize,
    heights: &[f64],
    width: f64,
) -> Vec<Column<'a>> {
    let column = |first: usize| {
        let mut charts: Vec<Option<Chart>> = (panels.iter().skip(first).step_by(n_columns))
            .map(|panel| panel.matrix.is_none().then(|| Chart::new(panel)))
            .collect();
        share_axes(&mut charts);
        for (chart, height) in charts.iter_mut().zip(heights) {
            if let Some(chart) = chart {
                chart.find_ticks(width, *height);
            }
        }
        let known = || charts.iter().flatten();
        let left = known().map(|chart| chart.left()).fold(0.0, f64::max);
        let right = known().map(|chart| chart.right()).fold(0.0, f64::max);
        Column {
            left,
            right,
            charts,
        }
    };
    (0..n_columns).map(column).collect()
}

/// Panels above each other over the same quantity show the same part of it, and name it once.
fn share_axes(charts: &mut [Option<Chart>]) {
    for first in 0..charts.len() {
        let Some(chart) = &charts[first] else {
            continue;
        };
        let is_same =
            |other: &Option<Chart>| other.as_ref().is_some_and(|o| chart.shares_axis_with(o));
        let ranges = charts.iter().filter(|other| is_same(other)).flatten();
        let joined = ranges
            .filter_map(|other| other.x_data)
            .reduce(Range::joined);
        let is_named_below = charts.get(first + 1).is_some_and(is_same);
        if let Some(chart) = &mut charts[first] {
            chart.x_data = joined.or(chart.x_data);
            chart.has_x_label = !is_named_below;
        }
    }
}

/// The size of words beside axes.
pub(crate) const WORDS: f64 = LABEL_SIZE;
