//! Pictures of a mechanism: at several instants of a run, and in its singular configurations.

use super::unit_text;
use crate::drawing::{Bounds, Drawing, Frame};
use crate::solve::Solution;
use daelight_analysis::System;
use daelight_lang::Model;
use daelight_plot::{Curve, Figure, Panel, Stroke};
use daelight_show::record::{ConfigurationRecord, SingularRecord};
use daelight_show::short;

/// Instants of a run that are drawn, and points of the paths between them.
const N_STILLS: usize = 9;
const N_PATH_POINTS: usize = 601;
/// How strong the first instant is drawn; the last one has the whole colour.
const FIRST_STRENGTH: f64 = 0.22;
/// The first of several polylines is wider than the last one by these shares, so that it is seen below: in a picture of one
/// configuration, and of many instants.
const WIDER_ALONE: f64 = 2.6;
const WIDER_AMONG_MANY: f64 = 0.8;
/// Paths beyond this number would hide the mechanism.
const MOST_PATHS: usize = 6;
/// Most configurations in one picture.
const MOST_PANELS: usize = 24;

/// Why a model cannot be drawn.
const NO_DRAWING: &str = "the model has no annotation `__daelight(draw = ...)` to draw from";

/// The mechanism of a model at several instants of a run, the later the stronger, with the paths of the ends of its
/// polylines; `Err` says why there is no picture.
pub fn drawing_picture(
    model: &Model,
    system: &System,
    solution: &Solution,
) -> Result<Figure, String> {
    let drawing = Drawing::of(model).ok_or(NO_DRAWING)?;
    let (from, to) = (solution.from, solution.reached());
    let times = |n: usize| -> Vec<f64> {
        let share = |k: usize| k as f64 / (n - 1) as f64;
        (0..n).map(|k| from + (to - from) * share(k)).collect()
    };
    let stills = times(N_STILLS);
    let frames = drawing.frames(system, solution, &stills);
    let along = drawing.frames(system, solution, &times(N_PATH_POINTS));
    let Some(bounds) = Bounds::of(frames.iter().chain(&along)) else {
        return Err("no point of the drawing has a value along the run".to_string());
    };
    let mut panel = stage(&drawing);
    let paths = paths(&drawing, &along);
    for path in &paths {
        let line = Curve::line("", path.iter().copied());
        panel = panel.curve(line.ink().faded(0.5).width(0.6));
    }
    for (number, (frame, time)) in frames.iter().zip(&stills).enumerate() {
        let share = number as f64 / (N_STILLS - 1) as f64;
        let strength = FIRST_STRENGTH + (1.0 - FIRST_STRENGTH) * share;
        let time = format!("{} s", short(*time));
        for curve in polylines(&drawing, frame, (strength, WIDER_AMONG_MANY), &time) {
            panel = panel.curve(curve);
        }
    }
    let size = (bounds.max[0] - bounds.min[0]).max(bounds.max[1] - bounds.min[1]);
    for arrow in paths.iter().filter_map(|path| arrow(path, size)) {
        panel = panel.curve(Curve::line("", arrow).ink().width(0.9));
    }
    let shape = (bounds.max[1] - bounds.min[1]) / (bounds.max[0] - bounds.min[0]).max(0.1 * size);
    let height = (780.0 * shape + 90.0).clamp(340.0, 640.0);
    let title = format!("{} at {N_STILLS} instants", system.name());
    Ok(Figure::new(title).panel(panel).size(840, height as u32))
}

/// A panel for drawings of a mechanism.
fn stage(drawing: &Drawing<'_>) -> Panel {
    let unit = drawing.unit().map(unit_text);
    if drawing.is_spatial() {
        return Panel::new("seen from above", "").equal_axes().bare();
    }
    let label = |axis: &str| match &unit {
        Some(unit) => format!("{axis} [{unit}]"),
        None => axis.to_string(),
    };
    Panel::new(label("horizontal"), label("vertical")).equal_axes()
}

/// The polylines of a frame: links with their joints, squares at joints that rest, dashes for lines that rest. The first
/// line that moves has the name.
fn polylines(
    drawing: &Drawing<'_>,
    frame: &Frame,
    (strength, wider): (f64, f64),
    name: &str,
) -> Vec<Curve> {
    let mut curves = Vec::new();
    let mut name = Some(name);
    let fixed = drawing.fixed();
    let rests = |line: &[bool]| line.iter().all(|&is_fixed| is_fixed);
    let n_moving = fixed.iter().filter(|line| !rests(line)).count();
    let mut n_drawn = 0;
    for (number, (line, fixed)) in frame.iter().zip(&fixed).enumerate() {
        let points = line.iter().map(|&[x, y]| (x, y));
        if rests(fixed) {
            curves.push(Curve::line("", points).ink().faded(0.6).dashed().width(0.7));
            continue;
        }
        n_drawn += 1;
        let width = match n_moving {
            1 => 1.3,
            n => 1.0 + wider * (n - n_drawn) as f64 / (n - 1) as f64,
        };
        let styled = |curve: Curve| curve.colour(number).faded(strength).width(width);
        let links = Curve::line(name.take().unwrap_or(""), points.clone());
        curves.push(styled(links.stroke(Stroke::Links)));
        let resting = points.zip(fixed).filter(|(_, is_fixed)| **is_fixed);
        let resting: Vec<(f64, f64)> = resting.map(|(point, _)| point).collect();
        if !resting.is_empty() {
            let squares = Curve::line("", resting).stroke(Stroke::Squares);
            curves.push(squares.ink().faded(0.75).width(width));
        }
    }
    curves
}

/// The paths of the last points of polylines, each once.
fn paths(drawing: &Drawing<'_>, along: &[Frame]) -> Vec<Vec<(f64, f64)>> {
    let mut paths: Vec<Vec<(f64, f64)>> = Vec::new();
    for (number, fixed) in drawing.fixed().iter().enumerate() {
        if fixed.last() != Some(&false) {
            continue;
        }
        let end = |frame: &Frame| frame[number].last().map_or([f64::NAN; 2], |point| *point);
        let path: Vec<(f64, f64)> = along.iter().map(end).map(|[x, y]| (x, y)).collect();
        let is_same = |other: &Vec<(f64, f64)>| {
            let mut pairs = other.iter().zip(&path);
            pairs.all(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1) < 1e-9 * (1.0 + a.0.hypot(a.1)))
        };
        if paths.len() < MOST_PATHS && !paths.iter().any(is_same) {
            paths.push(path);
        }
    }
    paths
}

/// The head of an arrow a little before the middle of a path, where an instant is often drawn, in a drawing of this size; `None` for a point that rests.
fn arrow(path: &[(f64, f64)], size: f64) -> Option<[(f64, f64); 3]> {
    let length = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1);
    let whole: f64 = path.windows(2).map(length).sum();
    // Also where a path has points without a value.
    if !whole.is_finite() || whole < 0.02 * size {
        return None;
    }
    let mut passed = 0.0;
    let middle = path.windows(2).find(|pair| {
        passed += length(pair);
        passed >= 0.42 * whole
    })?;
    let step = length(middle);
    let (x, y) = (
        (middle[1].0 - middle[0].0) / step,
        (middle[1].1 - middle[0].1) / step,
    );
    let tip = middle[1];
    let side = |sign: f64| {
        let (back, aside) = (0.022 * size, sign * 0.011 * size);
        (tip.0 - back * x - aside * y, tip.1 - back * y + aside * x)
    };
    (step > 0.0).then(|| [side(1.0), tip, side(-1.0)])
}

/// The polylines of a model in each singular configuration, and in samples of sets of them; `Err` says why there is no
/// picture.
pub fn configurations_picture(model: &Model, report: &SingularRecord) -> Result<Figure, String> {
    let drawing = Drawing::of(model).ok_or(NO_DRAWING)?;
    let isolated = report.configurations.iter();
    let samples = report.sets.iter().flat_map(|set| &set.samples);
    let mut titles = Vec::new();
    let mut frames = Vec::new();
    for (number, configuration) in (1..).zip(isolated.chain(samples).take(MOST_PANELS)) {
        let frame = drawing.frame_of_named(0.0, |name| value(configuration, name));
        let is_seen = |point: &[f64; 2]| point.iter().all(|x| x.is_finite());
        if !frame.iter().flatten().any(is_seen) {
            return Err("the configurations do not determine the unknowns of the drawing".into());
        }
        let cases: Vec<String> = configuration.cases.iter().map(usize::to_string).collect();
        titles.push(format!("{number}: case {}", cases.join(", ")));
        frames.push(frame);
    }
    // All in the same frame, so that they can be compared.
    let Some(Bounds { min, max }) = Bounds::of(&frames) else {
        return Err("there is no real singular configuration".into());
    };
    let n_columns = match frames.len() {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let unit = drawing.unit().map(unit_text);
    let unit = unit.map_or(String::new(), |unit| format!(" (lengths in {unit})"));
    let title = format!("{} in its singular configurations{unit}", report.model);
    let mut figure = Figure::new(title).columns(n_columns);
    for (title, frame) in titles.into_iter().zip(&frames) {
        let panel = Panel::new("", "")
            .title(title)
            .equal_axes()
            .x_limits(min[0], max[0])
            .y_limits(min[1], max[1]);
        let panel = if drawing.is_spatial() {
            panel.bare()
        } else {
            panel
        };
        let curves = polylines(&drawing, frame, (1.0, WIDER_ALONE), "");
        figure = figure.panel(curves.into_iter().fold(panel, Panel::curve));
    }
    Ok(figure.size(840, if n_columns == 1 { 480 } else { 270 }))
}

fn value(configuration: &ConfigurationRecord, name: &str) -> Option<f64> {
    let angle = configuration.angles.get(name);
    let value = angle.or_else(|| configuration.values.get(name))?;
    value.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SolveOptions;

    #[test]
    fn an_arrow_points_along_its_path() {
        let path: Vec<(f64, f64)> = (0..=10).map(|k| (0.1 * f64::from(k), 0.0)).collect();
        let [above, tip, below] = arrow(&path, 1.0).expect("a path");
        assert!((tip.0 - 0.45).abs() < 0.11 && tip.1 == 0.0, "{tip:?}");
        assert!(above.0 < tip.0 && below.0 < tip.0);
        assert!(above.1 > 0.0 && (above.1 + below.1).abs() < 1e-15);
        assert_eq!(arrow(&[(1.0, 1.0); 5], 1.0), None);
        assert_eq!(arrow(&[(0.0, 0.0), (f64::NAN, 1.0)], 1.0), None);
    }

    #[test]
    fn ends_that_meet_have_one_path() {
        let loaded = crate::load("delta-robot", &Default::default()).expect("built in");
        let model = loaded.model.expect("a right model");
        let system = crate::system(&model).expect("a system");
        let options = SolveOptions {
            to: Some(0.2),
            ..SolveOptions::default()
        };
        let solution = crate::solve(&system, &options).ok().expect("a run");
        let drawing = Drawing::of(&model).expect("a drawing");
        let along = drawing.frames(&system, &solution, &[0.0, 0.1, 0.2]);
        let moving = (drawing.fixed().into_iter()).filter(|line| line.last() == Some(&false));
        assert!(moving.count() >= 3);
        assert_eq!(paths(&drawing, &along).len(), 1);
        assert!(drawing_picture(&model, &system, &solution).is_ok());
    }
}
