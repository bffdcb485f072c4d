//! Pictures of tables that others or earlier runs wrote.

use super::run::MARGIN_MEANS;
use super::{MOST_PANELS, RESIDUAL, SINGULAR_VALUE, TIME, grouped};
use crate::record::TimeSeries;
use crate::terminal::MAX_LISTED;
use crate::{Records, Table};
use daelight_lang::nearest;
use daelight_plot::{Curve, Figure, Panel, Scale, Stroke, TimeMark};

/// Columns of a table over its first one; all that are no measure of quality if none is named.
///
/// A name may stand for all elements of an array. `Err` tells a name that is no column, or that there is nothing to show.
pub fn table(
    table: &Table,
    names: &[String],
    scale: Scale,
    marks: &[TimeMark],
) -> Result<Figure, String> {
    let is_quantity = |name: &&String| !name.starts_with(RESIDUAL) && *name != SINGULAR_VALUE;
    let chosen = match names {
        [] => table
            .names
            .iter()
            .skip(1)
            .filter(is_quantity)
            .cloned()
            .collect(),
        names => columns(table, names)?,
    };
    let series = chosen.iter().map(|name| TimeSeries {
        name: name.clone(),
        unit: String::new(),
        values: table.column(name).unwrap_or_default().to_vec(),
    });
    let (panels, n_left_out) = grouped(&table.columns[0], series.collect(), marks, scale);
    let quality = table.column(SINGULAR_VALUE).filter(|_| names.is_empty());
    let quality = quality.map(|values| {
        let points = table.columns[0].iter().copied().zip(values.iter().copied());
        let panel = Panel::new(TIME, "least singular value")
            .title(MARGIN_MEANS)
            .y_scale(Scale::Log)
            .curve(Curve::line("", points));
        marks.iter().cloned().fold(panel, Panel::mark)
    });
    let title = match n_left_out {
        0 => String::new(),
        n => format!("{n} columns more are not shown"),
    };
    figure(
        Figure::new(title).size(840, 220),
        panels.into_iter().chain(quality),
    )
}

/// A table with the words of a legend for it.
#[derive(Clone, Debug)]
pub struct LabelledTable {
    /// What the legend calls it.
    pub label: String,
    /// The table.
    pub table: Table,
}

/// Points on each side of a time that a value between rows is interpolated from.
const N_AROUND: usize = 3;
/// The first of several tables is drawn below the others, wide and pale, so that it is seen where they agree.
const BELOW: (f64, f64) = (2.6, 0.45);

/// Columns of several tables, a panel for each column and a curve for each table; all columns that are in every table if
/// none is named. With `is_difference` the first table is subtracted from the others, interpolated at their times.
pub fn comparison(
    tables: &[LabelledTable],
    names: &[String],
    scale: Scale,
    is_difference: bool,
    marks: &[TimeMark],
) -> Result<Figure, String> {
    let [first, others @ ..] = tables else {
        return Err("there is no table".to_string());
    };
    let chosen = chosen(tables, names)?;
    let shown = if is_difference { others } else { tables };
    let is_below = !is_difference && others.iter().any(|other| overlap(first, other));
    let panel = |name: &String| {
        let series = shown.iter().filter_map(|shown| {
            let values = shown.table.column(name)?;
            let times = &shown.table.columns[0];
            let values = match is_difference {
                false => values.to_vec(),
                true => differences((times, values), &first.table, name)?,
            };
            let series = TimeSeries {
                name: shown.label.clone(),
                unit: String::new(),
                values,
            };
            Some((times, series))
        });
        let series: Vec<(&Vec<f64>, TimeSeries)> = series.collect();
        let name = match is_difference {
            true => format!("difference of {name}"),
            false => name.clone(),
        };
        let is_negative = |(_, one): &(&Vec<f64>, TimeSeries)| one.values.iter().any(|&v| v < 0.0);
        let label = match scale == Scale::Log && series.iter().any(is_negative) {
            true => format!("|{name}|"),
            false => name,
        };
        let mut panel = Panel::new(TIME, label).y_scale(scale);
        for (number, (times, one)) in series.into_iter().enumerate() {
            let size = |value: f64| {
                if scale == Scale::Log {
                    value.abs()
                } else {
                    value
                }
            };
            let points = (times.iter().copied()).zip(one.values.into_iter().map(size));
            let curve = Curve::line(one.name, points).colour(number + usize::from(is_difference));
            panel = panel.curve(match number {
                0 if is_below => curve.width(BELOW.0).faded(BELOW.1),
                _ => curve,
            });
        }
        marks.iter().cloned().fold(panel, Panel::mark)
    };
    let n_left_out = chosen.len().saturating_sub(MOST_PANELS);
    let title = match (is_difference, n_left_out) {
        (true, 0) => format!("difference from {}", first.label),
        (true, n) => format!("difference from {} ({n} columns more)", first.label),
        (false, 0) => String::new(),
        (false, n) => format!("{n} columns more are not shown"),
    };
    figure(
        Figure::new(title).size(840, 220),
        chosen.iter().take(MOST_PANELS).map(panel),
    )
}

/// Whether two tables have times in common.
fn overlap(one: &LabelledTable, other: &LabelledTable) -> bool {
    let ends = |table: &LabelledTable| {
        let times = &table.table.columns[0];
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        times
            .iter()
            .fold(start, |(low, high), &time| (low.min(time), high.max(time)))
    };
    let ((low, high), (other_low, other_high)) = (ends(one), ends(other));
    low < other_high && other_low < high
}

/// The columns to compare: those that names stand for in one of the tables, or else those that all tables have.
fn chosen(tables: &[LabelledTable], names: &[String]) -> Result<Vec<String>, String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let sought = tables.iter().map(|one| {
            columns(&one.table, std::slice::from_ref(name))
                .map_err(|because| format!("{}: {because}", one.label))
        });
        let sought: Vec<Result<Vec<String>, String>> = sought.collect();
        let names = match sought.iter().find_map(|one| one.as_ref().ok()) {
            Some(names) => names.clone(),
            None => sought.into_iter().next().unwrap_or(Ok(Vec::new()))?,
        };
        for name in names {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    if names.is_empty()
        && let [first, others @ ..] = tables
    {
        let is_common = |name: &&String| others.iter().all(|one| one.table.column(name).is_some());
        let is_quantity = |name: &&String| !name.starts_with(RESIDUAL) && *name != SINGULAR_VALUE;
        let common = first.table.names.iter().skip(1).filter(is_common);
        found.extend(common.filter(is_quantity).cloned());
        if found.is_empty() {
            return Err("these tables have no column in common".to_string());
        }
    }
    Ok(found)
}

/// Values minus those of another table at the same times; `None` if that has no such column.
fn differences((times, values): (&[f64], &[f64]), other: &Table, name: &str) -> Option<Vec<f64>> {
    let (other_times, other) = (&other.columns[0], other.column(name)?);
    let difference = |(&time, value): (&f64, &f64)| value - interpolated(other_times, other, time);
    Some(times.iter().zip(values).map(difference).collect())
}

/// The value of a column at a time between its rows, by the polynomial through the rows around it (Neville's scheme); NaN
/// outside, and where times do not ascend.
fn interpolated(times: &[f64], values: &[f64], time: f64) -> f64 {
    if let Some(at) = times.iter().position(|&known| known == time) {
        return values[at];
    }
    let above = times.partition_point(|&known| known < time);
    if above == 0 || above == times.len() {
        return f64::NAN;
    }
    let from = above.saturating_sub(N_AROUND);
    let to = (above + N_AROUND).min(times.len());
    let around = &times[from..to];
    if !around.windows(2).all(|pair| pair[0] < pair[1]) {
        return f64::NAN;
    }
    let mut column = values[from..to].to_vec();
    for level in 1..column.len() {
        for at in 0..column.len() - level {
            let (left, right) = (around[at], around[at + level]);
            let share = (time - left) / (right - left);
            column[at] += share * (column[at + 1] - column[at]);
        }
    }
    column[0]
}

/// Columns of tables over another one.
pub fn phase(
    tables: &[LabelledTable],
    names: &[String],
    against: &str,
    scale: Scale,
) -> Result<Figure, String> {
    let mut panel: Option<Panel> = None;
    for (number, LabelledTable { label, table }) in tables.iter().enumerate() {
        let [x_name] = &columns(table, &[against.to_string()])?[..] else {
            return Err(format!("`{against}` is an array; name one element"));
        };
        let chosen = columns(table, names)?;
        let x = table.column(x_name).unwrap_or_default();
        let y_label = match &chosen[..] {
            [only] => only.as_str(),
            _ => "",
        };
        let mut on = match panel {
            Some(panel) => panel,
            None => Panel::new(x_name.as_str(), y_label).y_scale(scale),
        };
        for name in &chosen {
            let y = table.column(name).unwrap_or_default();
            let points = x.iter().copied().zip(y.iter().copied());
            let curve = Curve::line(
                match (tables.len(), chosen.len()) {
                    (1, _) => name.clone(),
                    (_, 1) => label.clone(),
                    _ => format!("{label}: {name}"),
                },
                points,
            );
            on = on.curve(match number {
                0 if tables.len() > 1 => curve.width(BELOW.0).faded(BELOW.1),
                _ => curve,
            });
        }
        panel = Some(on);
    }
    figure(Figure::new("").size(600, 480), panel)
}

/// A figure with the panels that show anything; `Err` if none does.
fn figure(empty: Figure, panels: impl IntoIterator<Item = Panel>) -> Result<Figure, String> {
    let mut panels = panels.into_iter().filter(Panel::shows_something).peekable();
    if panels.peek().is_none() {
        return Err("these columns hold no finite value that could be shown".to_string());
    }
    Ok(panels.fold(empty, Figure::panel))
}

/// The columns that names stand for.
fn columns(table: &Table, names: &[String]) -> Result<Vec<String>, String> {
    let known = || table.names.iter().skip(1);
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let elements: Vec<&String> = match known().find(|column| *column == name) {
            Some(column) => vec![column],
            None => {
                let start = format!("{name}[");
                known()
                    .filter(|column| column.starts_with(&start))
                    .collect()
            }
        };
        if elements.is_empty() {
            let near = nearest(name, known().map(String::as_str));
            return Err(match near {
                Some(near) => format!("there is no column `{name}`; did you mean `{near}`?"),
                None => format!("there is no column `{name}`; there are {}", listed(known())),
            });
        }
        for element in elements {
            if !found.contains(element) {
                found.push(element.clone());
            }
        }
    }
    Ok(found)
}

/// The first names of a list.
fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let all: Vec<&str> = names.map(String::as_str).collect();
    let shown = all[..all.len().min(MAX_LISTED)].join(", ");
    match all.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The points of each tool, error and time.
type ToolCurves = Vec<(String, Vec<(f64, f64)>)>;

/// Error against time for each tool, a panel for each model.
///
/// The columns are `tool`, `model` (or `problem`), `error` and `time` in seconds (or `solve_ns` in nanoseconds); a column
/// `equations` tells forms of a model apart. Rows without error or time are left out.
pub fn work_precision(records: &Records) -> Result<Figure, String> {
    // A colour belongs to a tool in all panels.
    let mut known: Vec<String> = Vec::new();
    let mut panels = Vec::new();
    for (model, tools) in curves_by_model(records)? {
        let mut panel = Panel::new(format!("error ({model})"), "time [s]")
            .x_scale(Scale::Log)
            .y_scale(Scale::Log);
        for (name, mut points) in tools {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let colour = known
                .iter()
                .position(|other| *other == name)
                .unwrap_or_else(|| {
                    known.push(name.clone());
                    known.len() - 1
                });
            panel = panel.curve(
                Curve::line(name, points)
                    .stroke(Stroke::Links)
                    .colour(colour),
            );
        }
        panels.push(panel);
    }
    let n_columns = if panels.len() > 1 { 2 } else { 1 };
    let empty = Figure::new("Work and precision")
        .columns(n_columns)
        .size(420 * n_columns as u32 + 120, 340);
    figure(empty, panels)
}

/// Error and time of each run, by model and by tool, in the order in which they come.
fn curves_by_model(records: &Records) -> Result<Vec<(&str, ToolCurves)>, String> {
    let column = |names: &[&str]| {
        let found = names
            .iter()
            .find_map(|name| records.names.iter().position(|n| n == name));
        found.ok_or_else(|| {
            format!(
                "there is no column `{}`; there are {}",
                names[0],
                listed(records.names.iter())
            )
        })
    };
    let (tool, model, error) = (
        column(&["tool"])?,
        column(&["model", "problem"])?,
        column(&["error"])?,
    );
    let (time, unit) = match column(&["time"]) {
        Ok(time) => (time, 1.0),
        Err(missing) => (column(&["solve_ns"]).map_err(|_| missing)?, 1.0 / 1e9),
    };
    let form = column(&["equations"]).ok();
    let mut models: Vec<(&str, ToolCurves)> = Vec::new();
    for (line, row) in &records.rows {
        let number = |at: usize| match row[at].as_str() {
            "" => Ok(f64::NAN),
            cell => cell
                .parse::<f64>()
                .map_err(|_| format!("`{cell}` in line {line} is not a number")),
        };
        let point = (number(error)?, unit * number(time)?);
        if !(point.0 > 0.0 && point.1 > 0.0 && point.0.is_finite() && point.1.is_finite()) {
            continue;
        }
        let name = match form.map(|form| row[form].as_str()) {
            None | Some("") => row[tool].clone(),
            Some(form) => format!("{}, {form}", row[tool]),
        };
        let place = models.iter().position(|(known, _)| *known == row[model]);
        let place = place.unwrap_or_else(|| {
            models.push((&row[model], Vec::new()));
            models.len() - 1
        });
        let tools = &mut models[place].1;
        match tools.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => tools.push((name, vec![point])),
        }
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(label: &str, n: usize, f: impl Fn(f64) -> f64) -> LabelledTable {
        let times: Vec<f64> = (0..n).map(|k| k as f64 / (n - 1) as f64).collect();
        let values = times.iter().map(|&time| f(time)).collect();
        LabelledTable {
            label: label.to_string(),
            table: Table {
                names: vec!["time".to_string(), "x".to_string()],
                columns: vec![times, values],
            },
        }
    }

    #[test]
    fn polynomials_of_the_fifth_degree_are_interpolated_exactly() {
        let f = |t: f64| 1.0 - t + 3.0 * t.powi(3) - 2.0 * t.powi(5);
        let LabelledTable { table, .. } = table("", 11, f);
        let (times, values) = (&table.columns[0], &table.columns[1]);
        for time in [0.23, 0.5, 0.77] {
            assert!((interpolated(times, values, time) - f(time)).abs() < 1e-15);
        }
        assert_eq!(interpolated(times, values, 1.0), f(1.0));
        assert!(interpolated(times, values, 1.001).is_nan());
        assert!(interpolated(times, values, -0.001).is_nan());
        assert!(interpolated(&[0.0, 1.0, 1.0, 2.0], &[1.0; 4], 0.5).is_nan());
    }

    #[test]
    fn tables_are_compared_by_column() {
        let tables = [table("fine", 101, f64::sin), table("coarse", 7, f64::sin)];
        let drawn = |names: &[String], is_difference| {
            let figure = comparison(&tables, names, Scale::Linear, is_difference, &[]);
            figure.map(|figure| daelight_plot::svg(&figure, Default::default()))
        };
        let both = drawn(&[], false).expect("a picture");
        assert!(both.contains("fine") && both.contains("coarse"));
        let difference = drawn(&["x".to_string()], true).expect("a picture");
        assert!(difference.contains("difference from fine"));
        let because = drawn(&["y".to_string()], false).expect_err("no such column");
        assert_eq!(because, "fine: there is no column `y`; there are x");
    }
}
