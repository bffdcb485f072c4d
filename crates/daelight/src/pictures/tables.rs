//! Pictures of tables that others or earlier runs wrote.

use super::{Series, grouped};
use crate::samples::{RESIDUAL, SINGULAR_VALUE};
use daelight_lang::nearest;
use daelight_plot::{Curve, Figure, Mark, Panel, Scale, Stroke};
use daelight_report::{Records, Table};

/// Columns of a table over its first one; all that are no measure of quality if none is named.
///
/// A name may stand for all elements of an array. `Err` tells a name that is no column, or that there is nothing to show.
pub fn table_picture(
    table: &Table,
    names: &[String],
    scale: Scale,
    marks: &[Mark],
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
    let series = chosen.iter().map(|name| Series {
        name: name.clone(),
        unit: String::new(),
        values: table.column(name).unwrap_or_default().to_vec(),
    });
    let (panels, n_left_out) = grouped(&table.columns[0], series.collect(), marks, scale);
    let quality = table.column(SINGULAR_VALUE).filter(|_| names.is_empty());
    let quality = quality.map(|values| {
        let points = table.columns[0].iter().copied().zip(values.iter().copied());
        let panel = Panel::new(super::TIME, "least singular value")
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

/// Columns of a table over another one.
pub fn phase_picture(
    table: &Table,
    names: &[String],
    against: &str,
    scale: Scale,
) -> Result<Figure, String> {
    let [x_name] = &columns(table, &[against.to_string()])?[..] else {
        return Err(format!("`{against}` is an array; name one element"));
    };
    let chosen = columns(table, names)?;
    let x = table.column(x_name).unwrap_or_default();
    let label = match &chosen[..] {
        [only] => only.clone(),
        _ => String::new(),
    };
    let panel = Panel::new(x_name.as_str(), label).y_scale(scale);
    let panel = chosen.iter().fold(panel, |panel, name| {
        let y = table.column(name).unwrap_or_default();
        let points = x.iter().copied().zip(y.iter().copied());
        panel.curve(Curve::line(name.as_str(), points))
    });
    figure(Figure::new("").size(600, 480), [panel])
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
    const MOST: usize = 12;
    let all: Vec<&str> = names.map(String::as_str).collect();
    let shown = all[..all.len().min(MOST)].join(", ");
    match all.len().saturating_sub(MOST) {
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
pub fn work_precision_picture(records: &Records) -> Result<Figure, String> {
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
        Err(missing) => (column(&["solve_ns"]).map_err(|_| missing)?, 1e-9),
    };
    let form = column(&["equations"]).ok();
    // Models and tools in the order in which they come.
    let mut models: Vec<(&str, ToolCurves)> = Vec::new();
    for (line, row) in &records.rows {
        let number = |at: usize| match row[at].as_str() {
            "" => Ok(f64::NAN),
            cell => cell
                .parse::<f64>()
                .map_err(|_| format!("`{cell}` in line {line} is no number")),
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
    // A colour belongs to a tool in all panels.
    let mut known: Vec<String> = Vec::new();
    let mut panels = Vec::new();
    for (model, tools) in models {
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
