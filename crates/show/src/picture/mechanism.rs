//! Pictures of a mechanism: at several instants of a run, and in its singular configurations.

use crate::record::{RunView, SingularRecord};
use crate::scene::{Backdrop, Frame, Rectangle, Scene};
use crate::words::{short, unit_text};
use daelight_plot::{Curve, Figure, Panel, Stroke};

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

/// The mechanism of a model at several instants of a run, the later the stronger, with the paths of the ends of its
/// polylines; `Err` says why there is no picture.
pub(super) fn instants(view: &RunView) -> Result<Figure, String> {
    let Some(Scene {
        stage,
        times,
        frames,
    }) = &view.scene
    else {
        return Err("no point of the drawing has a value along the run".to_string());
    };
    let Rectangle { min, max } = stage.bounds;
    let mut panel = empty(stage);
    let paths = paths(stage, &view.along);
    for (number, path) in paths.iter().enumerate() {
        let name = if number == 0 {
            "path of the last point"
        } else {
            ""
        };
        let line = Curve::line(name, path.iter().copied());
        panel = panel.curve(line.ink().faded(0.5).width(0.6));
    }
    if let Some(first) = frames.first() {
        panel = resting(stage, first).into_iter().fold(panel, Panel::curve);
    }
    let last = frames.len().saturating_sub(1).max(1) as f64;
    for (number, (frame, time)) in frames.iter().zip(times).enumerate() {
        let strength = FIRST_STRENGTH + (1.0 - FIRST_STRENGTH) * (number as f64 / last);
        let time = format!("{} s", instant(*time, times));
        for curve in polylines(stage, frame, (strength, WIDER_AMONG_MANY), &time) {
            panel = panel.curve(curve);
        }
    }
    let size = (max[0] - min[0]).max(max[1] - min[1]);
    for arrow in paths.iter().filter_map(|path| arrow(path, size)) {
        panel = panel.curve(Curve::line("", arrow).ink().width(0.9));
    }
    let shape = (max[1] - min[1]) / (max[0] - min[0]).max(0.1 * size);
    let height = (780.0 * shape + 90.0).clamp(340.0, 640.0);
    let title = format!("{} at {} instants", view.model, frames.len());
    Ok(Figure::new(title).panel(panel).size(840, height as u32))
}

/// A panel for drawings of a mechanism.
fn empty(stage: &Backdrop) -> Panel {
    let unit = stage.unit.as_deref().map(unit_text);
    if stage.axes.is_some() {
        return Panel::new("seen from above", "").equal_axes().bare();
    }
    let label = |axis: &str| match &unit {
        Some(unit) => format!("{axis} [{unit}]"),
        None => axis.to_string(),
    };
    Panel::new(label("horizontal"), label("vertical")).equal_axes()
}

/// A time among others, without digits that do not tell them apart.
fn instant(time: f64, all: &[f64]) -> String {
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return short(time);
    };
    let digit = 10f64.powf(((last - first).abs() / 1000.0).log10().floor());
    match digit > 0.0 && digit.is_finite() {
        true => short((time / digit).round() * digit),
        false => short(time),
    }
}

/// Whether all points of a polyline are fixed.
fn rests(line: &[bool]) -> bool {
    line.iter().all(|&is_fixed| is_fixed)
}

/// The polylines that rest, as dashes, to be drawn below the others.
fn resting(stage: &Backdrop, frame: &Frame) -> Vec<Curve> {
    let lines = frame.iter().zip(&stage.fixed);
    let lines = lines.filter(|(_, fixed)| rests(fixed));
    let points =
        |line: &[[f64; 2]]| -> Vec<(f64, f64)> { line.iter().map(|&[x, y]| (x, y)).collect() };
    lines
        .map(|(line, _)| {
            Curve::line("", points(line))
                .ink()
                .faded(0.6)
                .dashed()
                .width(0.7)
        })
        .collect()
}

/// The polylines of a frame that move: links with their joints, squares at joints that rest. The first one has the name.
fn polylines(
    stage: &Backdrop,
    frame: &Frame,
    (strength, wider): (f64, f64),
    name: &str,
) -> Vec<Curve> {
    let mut curves = Vec::new();
    let mut name = Some(name);
    let n_moving = stage.fixed.iter().filter(|line| !rests(line)).count();
    let mut n_drawn = 0;
    for (number, (line, fixed)) in frame.iter().zip(&stage.fixed).enumerate() {
        let points = line.iter().map(|&[x, y]| (x, y));
        if rests(fixed) {
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
fn paths(stage: &Backdrop, along: &[Frame]) -> Vec<Vec<(f64, f64)>> {
    let mut paths: Vec<Vec<(f64, f64)>> = Vec::new();
    for (number, fixed) in stage.fixed.iter().enumerate() {
        if fixed.last() != Some(&false) {
            continue;
        }
        let end = |frame: &Frame| frame[number].last().map_or([f64::NAN; 2], |point| *point);
        let path: Vec<(f64, f64)> = along.iter().map(end).map(|[x, y]| (x, y)).collect();
        let is_same = |other: &Vec<(f64, f64)>| {
            let mut pairs = other.iter().zip(&path);
            let rounding = f64::EPSILON.sqrt();
            pairs.all(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1) < rounding * (1.0 + a.0.hypot(a.1)))
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
pub fn configurations(report: &SingularRecord) -> Result<Figure, String> {
    let Some(scene) = &report.scene else {
        let none = report
            .has_drawing
            .then_some("there is no real singular configuration");
        return Err(none.unwrap_or(NO_DRAWING).to_string());
    };
    let isolated = report.configurations.iter();
    let samples = report.sets.iter().flat_map(|set| &set.samples);
    let n = scene.frames.len().min(MOST_PANELS);
    let is_seen = |point: &[f64; 2]| point.iter().all(|x| x.is_finite());
    let is_drawn = |frame: &Frame| frame.iter().flatten().any(is_seen);
    if !scene.frames[..n].iter().all(is_drawn) {
        return Err("the configurations do not determine the unknowns of the drawing".into());
    }
    // All in the same frame, so that they can be compared.
    let Some(Scene { stage, frames, .. }) = scene.part(0..n) else {
        return Err("there is no real singular configuration".into());
    };
    let Rectangle { min, max } = stage.bounds;
    let n_columns = match n {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let unit = stage.unit.as_deref().map(unit_text);
    let unit = unit.map_or(String::new(), |unit| format!(" (lengths in {unit})"));
    let title = format!("{} in its singular configurations{unit}", report.model);
    let mut figure = Figure::new(title).columns(n_columns);
    for ((number, configuration), frame) in (1..).zip(isolated.chain(samples)).zip(&frames) {
        let cases: Vec<String> = configuration.cases.iter().map(usize::to_string).collect();
        let panel = Panel::new("", "")
            .title(format!("{number}: case {}", cases.join(", ")))
            .equal_axes()
            .x_limits(min[0], max[0])
            .y_limits(min[1], max[1]);
        let panel = match stage.axes {
            Some(_) => panel.bare(),
            None => panel,
        };
        let mut curves = resting(&stage, frame);
        curves.extend(polylines(&stage, frame, (1.0, WIDER_ALONE), ""));
        figure = figure.panel(curves.into_iter().fold(panel, Panel::curve));
    }
    Ok(figure.size(840, if n_columns == 1 { 480 } else { 270 }))
}

/// Why a model cannot be drawn.
pub const NO_DRAWING: &str = "the model does not say how to draw it; write annotation(__daelight(draw = {{{0, 0}, {x, y}}})) before its end, with the points of its links";

#[cfg(test)]
mod tests {
    use super::*;

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
}
