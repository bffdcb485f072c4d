//! Values over a grid: areas of colour with lines of equal value.

use crate::figure::Scale;
use std::collections::BTreeMap;

/// Values at the points of a grid.
///
/// ```
/// use daelight_plot::{Figure, Map, Panel, Theme, svg};
///
/// let map = Map::new([0.0, 1.0, 2.0], [0.0, 1.0], [2.0, 2.0, 4.0, 2.0, 4.0, f64::NAN])
///     .categories([(2.0, "2 real solutions"), (4.0, "4 real solutions")]);
/// let figure = Figure::new("").panel(Panel::new("a [m]", "b [m]").map(map));
/// assert!(svg(&figure, Theme::Light).contains("4 real solutions"));
/// ```
#[derive(Clone, Debug)]
pub struct Map {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// Row by row, a row for each value of `y`.
    pub(crate) values: Vec<f64>,
    pub(crate) shades: Shades,
    pub(crate) contours: Vec<f64>,
    pub(crate) missing: String,
    /// Whether the colours of categories grow stronger in their order.
    pub(crate) is_ordered: bool,
}

/// What colours stand for.
#[derive(Clone, Debug)]
pub(crate) enum Shades {
    /// Each of these values has a colour and a name.
    Categories(Vec<(f64, String)>),
    /// A bar from the smallest to the largest value.
    Continuous { label: String, scale: Scale },
}

impl Map {
    /// Over ascending values of the axes; `values` go row by row, a row for each `y`, NaN where there is none. Values that are
    /// missing at the end count as NaN. Integers are shown as categories, other values by a continuous bar.
    pub fn new(
        x: impl Into<Vec<f64>>,
        y: impl Into<Vec<f64>>,
        values: impl Into<Vec<f64>>,
    ) -> Self {
        let (x, y, mut values) = (x.into(), y.into(), values.into());
        values.resize(x.len() * y.len(), f64::NAN);
        let shades = match categories(&values) {
            Some(categories) => Shades::Categories(categories),
            None => Shades::Continuous {
                label: String::new(),
                scale: Scale::Linear,
            },
        };
        Self {
            x,
            y,
            values,
            shades,
            contours: Vec::new(),
            missing: "no value".to_owned(),
            is_ordered: false,
        }
    }

    /// With names for its values. Others are named by their numbers, after these.
    pub fn categories<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = (f64, S)>,
    ) -> Self {
        let mut named: Vec<(f64, String)> = names
            .into_iter()
            .map(|(v, name)| (v, name.into()))
            .collect();
        for (value, name) in categories(&self.values).unwrap_or_default() {
            if named.iter().all(|(known, _)| *known != value) {
                named.push((value, name));
            }
        }
        self.shades = Shades::Categories(named);
        self
    }

    /// With colours of categories that grow stronger in their order, from almost that of the page: numbers of something.
    pub fn ordered(mut self) -> Self {
        self.is_ordered = true;
        self
    }

    /// With a continuous bar that has this label.
    pub fn continuous(mut self, label: impl Into<String>, scale: Scale) -> Self {
        self.shades = Shades::Continuous {
            label: label.into(),
            scale,
        };
        self
    }

    /// With lines of equal value.
    pub fn contours(mut self, levels: impl Into<Vec<f64>>) -> Self {
        self.contours = levels.into();
        self
    }

    /// With other words than "no value" for points without one.
    pub fn missing(mut self, words: impl Into<String>) -> Self {
        self.missing = words.into();
        self
    }

    /// The value in a row and a column.
    pub(crate) fn value(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.x.len() + column]
    }
}

/// Most different values that are told apart by colours.
const MOST_CATEGORIES: usize = 12;

/// The different values in ascending order, if they are few integers.
fn categories(values: &[f64]) -> Option<Vec<(f64, String)>> {
    let mut found: Vec<f64> = Vec::new();
    for &value in values.iter().filter(|value| value.is_finite()) {
        if value.fract() != 0.0 || value.abs() > 1e9 {
            return None;
        }
        if let Err(place) = found.binary_search_by(|known| known.total_cmp(&value)) {
            found.insert(place, value);
        }
        if found.len() > MOST_CATEGORIES {
            return None;
        }
    }
    let name = |value: f64| (value, format!("{value}"));
    Some(found.into_iter().map(name).collect())
}

/// A rectangle of points of one colour: columns and rows, ends not included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Patch {
    pub(crate) columns: (usize, usize),
    pub(crate) rows: (usize, usize),
    pub(crate) tone: usize,
}

/// Covers a grid by rectangles of one tone each, so that a picture has few of them.
pub(crate) fn patches(
    n_rows: usize,
    n_columns: usize,
    tone: impl Fn(usize, usize) -> usize,
) -> Vec<Patch> {
    let mut done = Vec::new();
    let mut open: Vec<Patch> = Vec::new();
    for row in 0..n_rows {
        let mut next = Vec::new();
        let mut from = 0;
        while from < n_columns {
            let shade = tone(row, from);
            let to = (from..n_columns)
                .find(|&column| tone(row, column) != shade)
                .unwrap_or(n_columns);
            let same = |p: &Patch| p.columns == (from, to) && p.tone == shade;
            let begin = match open.iter().position(same) {
                Some(place) => open.swap_remove(place).rows.0,
                None => row,
            };
            next.push(Patch {
                columns: (from, to),
                rows: (begin, row + 1),
                tone: shade,
            });
            from = to;
        }
        done.append(&mut open);
        open = next;
    }
    done.append(&mut open);
    done.sort_by_key(|patch| (patch.rows, patch.columns));
    done
}

/// An edge of the grid: from point (row, column) to the next in its row or its column.
type Edge = (usize, usize, bool);

/// The lines on which the map has a value, by linear interpolation between the points of the grid. Points are in units of the
/// grid: (1.5, 0.0) lies between the second and the third column in the first row.
pub(crate) fn contour(map: &Map, level: f64) -> Vec<Vec<(f64, f64)>> {
    let (n_rows, n_columns) = (map.y.len(), map.x.len());
    // A crossing of the level lies on an edge; each cell joins two or four of them.
    let mut links: BTreeMap<Edge, Vec<Edge>> = BTreeMap::new();
    for row in 0..n_rows.saturating_sub(1) {
        for column in 0..n_columns.saturating_sub(1) {
            let corners =
                [(0, 0), (0, 1), (1, 1), (1, 0)].map(|(r, c)| map.value(row + r, column + c));
            if corners.iter().any(|value| !value.is_finite()) {
                continue;
            }
            let edges: [Edge; 4] = [
                (row, column, true),
                (row, column + 1, false),
                (row + 1, column, true),
                (row, column, false),
            ];
            let above = corners.map(|value| value >= level);
            let crossed: Vec<Edge> = (0..4)
                .filter(|&k| above[k] != above[(k + 1) % 4])
                .map(|k| edges[k])
                .collect();
            // At a saddle the mean decides which corners belong together.
            let is_turned =
                crossed.len() == 4 && (corners.iter().sum::<f64>() >= 4.0 * level) == above[0];
            let pairs: Vec<(Edge, Edge)> = match crossed[..] {
                [a, b] => vec![(a, b)],
                [a, b, c, d] if is_turned => vec![(a, b), (c, d)],
                [a, b, c, d] => vec![(d, a), (b, c)],
                _ => Vec::new(),
            };
            for (a, b) in pairs {
                links.entry(a).or_default().push(b);
                links.entry(b).or_default().push(a);
            }
        }
    }
    let point = |(row, column, along_row): Edge| {
        let from = map.value(row, column);
        let to = if along_row {
            map.value(row, column + 1)
        } else {
            map.value(row + 1, column)
        };
        let share = ((level - from) / (to - from)).clamp(0.0, 1.0);
        if along_row {
            (column as f64 + share, row as f64)
        } else {
            (column as f64, row as f64 + share)
        }
    };
    // Open lines begin at an end; what is left are closed ones.
    let mut starts: Vec<Edge> = links
        .iter()
        .filter(|(_, to)| to.len() == 1)
        .map(|(&e, _)| e)
        .collect();
    starts.extend(links.keys().copied());
    let mut lines = Vec::new();
    for start in starts {
        let mut line = vec![point(start)];
        let mut at = start;
        while let Some(next) = links.get_mut(&at).and_then(Vec::pop) {
            if let Some(back) = links.get_mut(&next)
                && let Some(place) = back.iter().position(|&e| e == at)
            {
                back.swap_remove(place);
            }
            line.push(point(next));
            at = next;
        }
        if line.len() > 1 {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: usize, value: impl Fn(f64, f64) -> f64) -> Map {
        let axis: Vec<f64> = (0..n)
            .map(|i| 2.0 * i as f64 / (n - 1) as f64 - 1.0)
            .collect();
        let values: Vec<f64> = (axis.iter())
            .flat_map(|&y| axis.iter().map(move |&x| (x, y)))
            .map(|(x, y)| value(x, y))
            .collect();
        Map::new(axis.clone(), axis, values)
    }

    #[test]
    fn a_circle_is_one_closed_line() {
        let map = grid(41, |x, y| x * x + y * y);
        let lines = contour(&map, 0.5);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
        for &(column, row) in &lines[0] {
            let (x, y) = (column / 20.0 - 1.0, row / 20.0 - 1.0);
            assert!((x * x + y * y - 0.5).abs() < 1.5e-3, "{x} {y}");
        }
        assert!(contour(&map, 5.0).is_empty());
    }

    #[test]
    fn a_saddle_has_two_lines_and_missing_values_interrupt() {
        let map = grid(20, |x, y| x * y);
        assert_eq!(contour(&map, 0.1).len(), 2);
        let map = grid(20, |x, y| if x.abs() < 0.1 { f64::NAN } else { y });
        assert_eq!(contour(&map, 0.01).len(), 2);
    }

    #[test]
    fn patches_cover_every_point_once() {
        let tone = |row: usize, column: usize| (row / 3 + column * column / 5) % 3;
        let found = patches(10, 12, tone);
        let mut seen = [[0; 12]; 10];
        for patch in &found {
            for (row, seen) in seen
                .iter_mut()
                .enumerate()
                .take(patch.rows.1)
                .skip(patch.rows.0)
            {
                for (column, seen) in seen
                    .iter_mut()
                    .enumerate()
                    .take(patch.columns.1)
                    .skip(patch.columns.0)
                {
                    *seen += 1;
                    assert_eq!(tone(row, column), patch.tone);
                }
            }
        }
        assert!(seen.iter().flatten().all(|&n| n == 1));
        assert!(found.len() < 60);
    }

    #[test]
    fn few_integers_are_categories() {
        let is_categorical = |values: Vec<f64>| {
            matches!(
                Map::new([0.0], [0.0, 1.0], values).shades,
                Shades::Categories(_)
            )
        };
        assert!(is_categorical(vec![1.0, 2.0]));
        assert!(is_categorical(vec![f64::NAN]));
        assert!(!is_categorical(vec![0.5, 2.0]));
    }
}
