//! Pictures of sweeps: a curve over one parameter, a map over two.

use crate::terminal::Wrong;
use daelight::sweep::{BoundaryCurve as Boundary, Measure, Measured, Sweep, SweepRow};
use daelight_plot::{Curve, Figure, Map, Panel, Stroke};
use daelight_show::picture::{self, FAN_QUANTILES, Fan};
use std::collections::BTreeMap;

/// Pixels of a map, and of a panel of curves.
const MAP_SIZE: (u32, u32) = (720, 560);
const CURVE_SIZE: (u32, u32) = (720, 300);

/// Points of curves, with gaps.
type Points = Vec<(f64, f64)>;

/// The words of `status`, in the order of their colours.
const WORDS: [&str; 3] = ["success", "singularity", "failure"];

/// Refuses what cannot be drawn before any work is done.
pub fn check(n_parameters: usize, is_grid: bool) -> Result<(), Wrong> {
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

/// The measures of a sweep: maps over two parameters, curves over one.
pub fn figure(sweep: &Sweep, rows: &[SweepRow]) -> Figure {
    let points = sweep.points();
    let curves = sweep.curves();
    let counts = counts(sweep, rows);
    let mut figure = Figure::new(sweep.name());
    for (at, measure) in sweep.measures().iter().enumerate() {
        let panel = match points.axes() {
            Some([x, y]) => {
                let map = map(measure, at, rows, (x, y), &counts);
                let panel = Panel::new(sweep.label(0), sweep.label(1))
                    .title(words(measure))
                    .map(map);
                (boundaries(measure, &curves).into_iter()).fold(panel, Panel::curve)
            }
            _ => curve_panel(sweep, measure, at, rows),
        };
        figure = figure.panel(panel);
    }
    let (width, height) = match points.names().len() {
        2 => MAP_SIZE,
        _ => CURVE_SIZE,
    };
    figure.size(width, height)
}

/// Quantiles of unknowns over all runs.
pub fn bands(sweep: &Sweep, rows: &[SweepRow], unknowns: &[usize]) -> Figure {
    let fan = |&unknown: &usize| Fan {
        name: sweep.unknowns()[unknown].clone(),
        quantiles: sweep.quantiles(rows, unknown, &FAN_QUANTILES),
    };
    let fans = unknowns.iter().map(fan).collect();
    picture::fans(sweep.name(), sweep.times(), fans)
}

/// What a map of a measure shows.
fn words(measure: &Measure) -> String {
    match measure {
        Measure::SingularCount(None) => "real singular configurations".to_string(),
        Measure::SingularCount(Some(piece)) => {
            format!("real singular configurations of piece {piece}")
        }
        other => other.to_string(),
    }
}

/// All numbers of configurations, so that each has one colour in all maps.
fn counts(sweep: &Sweep, rows: &[SweepRow]) -> Vec<f64> {
    let is_count = |measure: &Measure| matches!(measure, Measure::SingularCount(_));
    let counted = sweep.measures().iter().enumerate();
    let mut counts: Vec<f64> = counted
        .filter(|(_, measure)| is_count(measure))
        .flat_map(|(at, _)| rows.iter().map(move |row| number(&row.measured[at])))
        .filter(|count| count.is_finite())
        .collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    counts
}

/// The curves on which the numbers of a measure change, one for each piece.
fn boundaries(measure: &Measure, curves: &[Boundary]) -> Vec<Curve> {
    let is_shown = |curve: &&Boundary| match measure {
        Measure::SingularCount(None) => true,
        Measure::SingularCount(piece) => curve.piece == *piece,
        _ => false,
    };
    let mut pieces: BTreeMap<Option<usize>, Points> = BTreeMap::new();
    for curve in curves.iter().filter(is_shown) {
        let gap = [(f64::NAN, f64::NAN)];
        for line in &curve.lines {
            let points = pieces.entry(curve.piece).or_default();
            points.extend(line.iter().chain(&gap));
        }
    }
    let others = pieces.remove(&None);
    // Pieces with the same boundary share a curve.
    let mut shared: Vec<(Vec<usize>, Points)> = Vec::new();
    for (piece, points) in pieces {
        let Some(piece) = piece else { continue };
        match shared.iter_mut().find(|(_, other)| is_same(other, &points)) {
            Some((pieces, _)) => pieces.push(piece),
            None => shared.push((vec![piece], points)),
        }
    }
    let boundary = |(pieces, points): (Vec<usize>, Points)| {
        let listed: Vec<String> = pieces.iter().map(usize::to_string).collect();
        let word = if pieces.len() == 1 { "piece" } else { "pieces" };
        let name = format!("boundary of {word} {}", listed.join(", "));
        // The colours after the first, which is that of the areas.
        Curve::line(name, points).colour(pieces[0])
    };
    let others = others.map(|points| {
        let words = "others on the curve itself, perhaps complex";
        Curve::line(words, points).ink().dashed().width(0.8)
    });
    // They may lie close to a boundary, and are drawn over it.
    shared.into_iter().map(boundary).chain(others).collect()
}

/// Whether two curves have the same points and gaps.
fn is_same(one: &[(f64, f64)], other: &[(f64, f64)]) -> bool {
    let is_same = |(a, b): (&(f64, f64), &(f64, f64))| a == b || (a.0.is_nan() && b.0.is_nan());
    one.len() == other.len() && one.iter().zip(other).all(is_same)
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
fn map(
    measure: &Measure,
    at: usize,
    rows: &[SweepRow],
    axes: (&[f64], &[f64]),
    counts: &[f64],
) -> Map {
    let (x, y) = axes;
    let mut values = vec![f64::NAN; x.len() * y.len()];
    for row in rows {
        let (column, line) = (row.number / y.len(), row.number % y.len());
        values[line * x.len() + column] = number(&row.measured[at]);
    }
    let map = Map::new(x, y, values);
    match measure {
        Measure::Status => map.categories(WORDS.iter().enumerate().map(|(k, w)| (k as f64, *w))),
        Measure::SingularCount(_) => {
            let name = |&n: &f64| match n {
                0.0 => (n, "none".to_string()),
                1.0 => (n, "1 configuration".to_string()),
                _ => (n, format!("{n} configurations")),
            };
            map.categories(counts.iter().map(name)).ordered()
        }
        Measure::Index | Measure::Dof => map.ordered(),
        other => map.continuous(other.to_string(), daelight_plot::Scale::Linear),
    }
}

fn curve_panel(sweep: &Sweep, measure: &Measure, at: usize, rows: &[SweepRow]) -> Panel {
    let points = rows
        .iter()
        .map(|row| (row.point[0], number(&row.measured[at])));
    let curve = Curve::line("", points);
    let curve = match sweep.points().axes() {
        Some(_) => curve,
        None => curve.stroke(Stroke::Dots),
    };
    Panel::new(sweep.label(0), measure.to_string()).curve(curve)
}
