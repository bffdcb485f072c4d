//! Pictures of sweeps: a curve over one parameter, a map over two.

use daelight::sweep::{Curve as Boundary, Measure, Measured, Row, Sweep};
use daelight_plot::{Curve, Figure, Map, Panel, Stroke, Theme, png, svg};
use std::collections::BTreeMap;
use std::path::Path;

/// Pixels of a map, and of a panel of curves.
const MAP_SIZE: (u32, u32) = (720, 560);
const CURVE_SIZE: (u32, u32) = (720, 300);

/// Pixels of a PNG for each unit of the drawing.
const SCALE: f32 = 2.0;

/// The words of `status`, in the order of their colours.
const WORDS: [&str; 3] = ["success", "singularity", "failure"];

/// Refuses what cannot be drawn before any work is done.
pub fn check(path: &Path, n_parameters: usize, is_grid: bool) -> Result<(), (String, String)> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if !["svg", "png"].contains(&ending) {
        return Err((
            format!("pictures are drawn as svg or png, not as `{ending}`"),
            "name the file map.svg or map.png".to_string(),
        ));
    }
    match (n_parameters, is_grid) {
        (1, _) | (2, true) => Ok(()),
        (2, false) => Err((
            "a map needs a grid of points".to_string(),
            "name both ranges with --over P=FROM:TO:N".to_string(),
        )),
        (n, _) => Err((
            format!("a picture has one or two axes, and {n} parameters change"),
            "sweep over fewer parameters, or leave --plot out".to_string(),
        )),
    }
}

/// The picture as a file.
pub fn bytes(sweep: &Sweep, rows: &[Row], path: &Path) -> Result<Vec<u8>, String> {
    let drawn = svg(&figure(sweep, rows), Theme::Light);
    if path.extension().is_some_and(|ending| ending == "png") {
        png(&drawn, SCALE).map_err(|error| error.to_string())
    } else {
        Ok(drawn.into_bytes())
    }
}

fn figure(sweep: &Sweep, rows: &[Row]) -> Figure {
    let names = sweep.points().names();
    let axes = sweep.points().axes();
    let mut figure = Figure::new(sweep.name());
    let curves = sweep.curves();
    for (at, measure) in sweep.measures().iter().enumerate() {
        let panel = match axes {
            Some([x, y]) => {
                let panel = Panel::new(&names[0], &names[1]).map(map(measure, at, rows, x, y));
                (boundaries(measure, &curves).into_iter()).fold(panel, Panel::curve)
            }
            _ => curve_panel(sweep, measure, at, rows),
        };
        figure = figure.panel(panel);
    }
    let (width, height) = if names.len() == 2 {
        MAP_SIZE
    } else {
        CURVE_SIZE
    };
    figure.size(width, height)
}

/// The curves on which the numbers of a measure change, one for each piece.
fn boundaries(measure: &Measure, curves: &[Boundary]) -> Vec<Curve> {
    let is_shown = |curve: &&Boundary| match measure {
        Measure::SingularCount(None) => true,
        Measure::SingularCount(piece) => curve.piece == *piece,
        _ => false,
    };
    let mut pieces: BTreeMap<Option<usize>, Vec<(f64, f64)>> = BTreeMap::new();
    for curve in curves.iter().filter(is_shown) {
        let gap = [(f64::NAN, f64::NAN)];
        for line in &curve.lines {
            let points = pieces.entry(curve.piece).or_default();
            points.extend(line.iter().chain(&gap));
        }
    }
    let named = |(piece, points): (Option<usize>, Vec<(f64, f64)>)| match piece {
        Some(piece) => Curve::line(format!("boundary of piece {piece}"), points).colour(piece - 1),
        None => Curve::line("more on the curve itself", points).colour(5),
    };
    pieces.into_iter().map(named).collect()
}

fn number(measured: &Measured) -> f64 {
    match measured {
        Measured::Number(value) => *value,
        Measured::Word(word) => {
            let place = WORDS.iter().position(|other| other == word);
            place.map_or(f64::NAN, |place| place as f64)
        }
        Measured::Missing => f64::NAN,
    }
}

/// A map; the first parameter goes to the right, points that were not measured have no value.
fn map(measure: &Measure, at: usize, rows: &[Row], x: &[f64], y: &[f64]) -> Map {
    let mut values = vec![f64::NAN; x.len() * y.len()];
    for row in rows {
        let (column, line) = (row.number / y.len(), row.number % y.len());
        values[line * x.len() + column] = number(&row.measured[at]);
    }
    let map = Map::new(x, y, values.as_slice());
    match measure {
        Measure::Status => map.categories(WORDS.iter().enumerate().map(|(k, w)| (k as f64, *w))),
        Measure::SingularCount(_) | Measure::Index | Measure::Dof => {
            let mut counts: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
            counts.sort_by(f64::total_cmp);
            counts.dedup();
            map.categories(counts.into_iter().map(|n| (n, format!("{measure} = {n}"))))
        }
        other => map.continuous(other.to_string(), daelight_plot::Scale::Linear),
    }
}

fn curve_panel(sweep: &Sweep, measure: &Measure, at: usize, rows: &[Row]) -> Panel {
    let points = rows
        .iter()
        .map(|row| (row.point[0], number(&row.measured[at])));
    let curve = Curve::line("", points);
    let curve = match sweep.points().axes() {
        Some(_) => curve,
        None => curve.stroke(Stroke::Dots),
    };
    Panel::new(&sweep.points().names()[0], measure.to_string()).curve(curve)
}
