//! Numbers of singular configurations over parameters: by Hermite's forms where one or two parameters change, by the exact
//! answer at single points otherwise.

use super::measure::{Answer, Measure, Measured};
use super::points::SweepPoints;
use super::{Settings, Sweep, assignments, with_set};
use daelight_lang::{Code, Diagnostic, Model};
use daelight_singular::{
    Constraints, Counted, Counter, Kept, Number, Question, SearchLimits, number,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Squares along each side of a map on which curves are looked for.
const N_SQUARES: usize = 240;

/// Halvings of an edge that a curve crosses: enough for a picture.
const N_HALVINGS: usize = 20;

/// How long forms over the parameters may take in any case.
const LEAST_PREPARATION: Duration = Duration::from_secs(2);

/// The part of the time of all points, each asked for alone, that forms over the parameters may take: one of so many. What
/// is spent in vain is no more than that.
const PARTS_OF_POINTS: u32 = 4;

/// A curve on which the number of singular configurations changes, or is another one than beside it.
#[derive(Clone, Debug)]
pub struct BoundaryCurve {
    /// The piece whose number changes, from 1; `None` for a curve that has configurations of its own, at least over the
    /// complex numbers, and is no boundary.
    pub piece: Option<usize>,
    /// Lines through points of the curve.
    pub lines: Vec<Vec<(f64, f64)>>,
}

/// How singular configurations are counted.
pub(super) struct Counts {
    counter: Option<Counter>,
    /// For each parameter of the counter its place in a point.
    places: Vec<usize>,
    /// Why there is no counter.
    why_each: String,
}

impl Counts {
    /// Every point is asked for alone.
    pub(super) fn each(why: String) -> Self {
        Self {
            counter: None,
            places: Vec::new(),
            why_each: why,
        }
    }

    /// Prepares counting over the parameters of points; refuses constraints that are not algebraic. Forms over the
    /// parameters have a part of the time that the points would take one by one, and the whole budget if measures are about
    /// pieces, which have no numbers without them. The numbers themselves are the same either way.
    pub(super) fn new(
        model: &Model,
        points: &SweepPoints,
        measures: &[Measure],
        settings: &Settings,
    ) -> Result<Self, Vec<Diagnostic>> {
        let at_numbers = question(Kept::None, settings);
        Constraints::new(model, &at_numbers)?;
        let names = points.names();
        if names.len() > 2 {
            return Ok(Self::each("more than two parameters change".to_string()));
        }
        let is_of_piece = |measure: &Measure| matches!(measure, Measure::SingularCount(Some(_)));
        let limits = match measures.iter().any(is_of_piece) {
            true => settings.limits,
            false => match preparation(model, &at_numbers, points.len(), settings) {
                Ok(limits) => limits,
                Err(why) => return Ok(Self::each(why)),
            },
        };
        let over_names = question(Kept::Named(names.to_vec()), settings);
        let counter = match Counter::new(model, &over_names, &limits) {
            Ok(counter) => counter,
            Err(why) => {
                let why = format!("forms over the parameters were not found ({why})");
                return Ok(Self::each(why));
            }
        };
        let place = |name: &String| names.iter().position(|other| other == name);
        let places: Option<Vec<usize>> = counter.names().iter().map(place).collect();
        Ok(match places {
            Some(places) => Self {
                counter: Some(counter),
                places,
                why_each: String::new(),
            },
            None => Self::each("a symbol is not a parameter of the sweep".to_string()),
        })
    }

    pub(super) fn why_each(&self) -> Option<&str> {
        self.counter.is_none().then_some(self.why_each.as_str())
    }

    /// Whether all that the counter rests on is proved; points that are asked for alone are not told apart.
    pub(super) fn is_proved(&self) -> bool {
        (self.counter.as_ref()).is_none_or(|counter| counter.regions().is_proved)
    }

    /// Refuses pieces that do not exist.
    pub(super) fn check(&self, measures: &[Measure]) -> Result<(), Box<Diagnostic>> {
        let n = (self.counter.as_ref()).map_or(0, |counter| counter.regions().pieces.len());
        for measure in measures {
            if let Measure::SingularCount(Some(piece)) = measure
                && *piece > n
            {
                let why = match self.why_each() {
                    Some(why) => format!(": {why}"),
                    None => String::new(),
                };
                let message =
                    format!("there is no piece {piece} of the singular configurations{why}");
                let help = match n {
                    0 => {
                        "ask for singular-count, over one or two parameters for pieces".to_string()
                    }
                    n => format!("there are pieces 1 to {n}; `daelight singular` lists them"),
                };
                return Err(Diagnostic::placeless(Code::BadValue, message)
                    .help(help)
                    .into());
            }
        }
        Ok(())
    }

    /// The number at a point.
    pub(super) fn count(&self, piece: Option<usize>, sweep: &Sweep, point: &[f64]) -> Answer {
        let counted = piece.map_or(Counted::All, |piece| Counted::Piece(piece - 1));
        let quickly = self.counter.as_ref().and_then(|counter| {
            let values: Vec<f64> = self.places.iter().map(|&place| point[place]).collect();
            counter.count(counted, &values)
        });
        match (quickly, piece) {
            (Some(count), _) => Ok(Measured::Number(count as f64)),
            (None, None) => count_alone(sweep, point),
            (None, Some(piece)) => Err(format!(
                "piece {piece} has no number of its own at this point"
            )),
        }
    }

    /// The curves within the ranges of two parameters.
    pub(super) fn curves(&self, points: &SweepPoints) -> Vec<BoundaryCurve> {
        let (Some(counter), Some([x, y])) = (&self.counter, points.axes()) else {
            return Vec::new();
        };
        let [Some(x), Some(y)] = [x, y].map(|values| Some((*values.first()?, *values.last()?)))
        else {
            return Vec::new();
        };
        let ordered = |a: f64, b: f64| -> Vec<f64> {
            self.places.iter().map(|&place| [a, b][place]).collect()
        };
        let mut curves = Vec::new();
        let mut seen: HashMap<Edge, Vec<(f64, f64)>> = HashMap::new();
        // Boundaries of pieces come first.
        for (piece, polynomial) in counter.curves() {
            let mut parts = zero_set([x, y], &|a, b| {
                counter.curve_value(&polynomial, &ordered(a, b))
            });
            match piece {
                Some(piece) => {
                    // The polynomial has rational coefficients: conjugates of the boundary are among its zeros.
                    let count = |(a, b)| counter.count(Counted::Piece(piece), &ordered(a, b));
                    parts.retain(|part| {
                        // At one of two places no other boundary is close.
                        [0.25, 0.75].into_iter().any(|share| {
                            let [one, other] = beside([x, y], part, share).map(count);
                            one.is_none() || one != other
                        })
                    });
                    for crossing in parts.iter().flatten() {
                        seen.entry(crossing.edge).or_default().push(crossing.point);
                    }
                }
                None => parts.retain(|part| !part.iter().all(|end| is_seen([x, y], &seen, end))),
            }
            let lines = joined(&parts);
            if !lines.is_empty() {
                curves.push(BoundaryCurve {
                    piece: piece.map(|piece| piece + 1),
                    lines,
                });
            }
        }
        curves
    }
}

/// Two points close to a part of a curve, one on each side, at a share of its length.
fn beside(ranges: [(f64, f64); 2], [a, b]: &[Crossing; 2], share: f64) -> [(f64, f64); 2] {
    /// Squares between the points and the curve.
    const ASIDE: f64 = 0.05;
    let [width, height] = ranges.map(|(from, to)| (to - from) / N_SQUARES as f64);
    let (dx, dy) = (
        (b.point.0 - a.point.0) / width,
        (b.point.1 - a.point.1) / height,
    );
    let length = dx.hypot(dy).max(f64::MIN_POSITIVE);
    let (x, y) = (
        a.point.0 + share * (b.point.0 - a.point.0),
        a.point.1 + share * (b.point.1 - a.point.1),
    );
    let (right, up) = (ASIDE * width * dy / length, ASIDE * height * dx / length);
    [(x + right, y - up), (x - right, y + up)]
}

/// Whether a crossing is, up to what a picture shows, one of those of another curve.
fn is_seen(
    ranges: [(f64, f64); 2],
    seen: &HashMap<Edge, Vec<(f64, f64)>>,
    crossing: &Crossing,
) -> bool {
    /// Squares between crossings that are taken for one.
    const SAME: f64 = 1e-3;
    let [width, height] = ranges.map(|(from, to)| (to - from) / N_SQUARES as f64);
    let (x, y) = crossing.point;
    let others = seen.get(&crossing.edge).map_or(&[][..], Vec::as_slice);
    let is_same = |other: &(f64, f64)| ((other.0 - x) / width).hypot((other.1 - y) / height) < SAME;
    others.iter().any(is_same)
}

fn question(parameters: Kept, settings: &Settings) -> Question {
    Question {
        on_curves: false,
        paths_locked: true,
        parameters,
        locked: settings.locked.clone(),
    }
}

/// How much work forms over the parameters may take, from the time of the model with the values of its text; `Err` says
/// why there will be none.
fn preparation(
    model: &Model,
    at_numbers: &Question,
    n_points: usize,
    settings: &Settings,
) -> Result<SearchLimits, String> {
    let within = |time: Duration| SearchLimits {
        time: time.min(settings.limits.time),
        ..settings.limits
    };
    let began = Instant::now();
    if let Ok(Number::Infinite { .. }) = number(model, at_numbers, &within(LEAST_PREPARATION)) {
        return Err("there can be infinitely many".to_string());
    }
    let n_threads = u32::try_from(settings.n_threads()).unwrap_or(u32::MAX);
    let n_points = u32::try_from(n_points).unwrap_or(u32::MAX);
    let of_points = began.elapsed().saturating_mul(n_points) / n_threads / PARTS_OF_POINTS;
    Ok(within(of_points.max(LEAST_PREPARATION)))
}

/// The exact answer at one point; what is not decided is no number.
fn count_alone(sweep: &Sweep, point: &[f64]) -> Answer {
    let set = assignments(sweep.points.names(), point, &sweep.types);
    let options = with_set(&sweep.options, set);
    let loaded = daelight_lang::load(&sweep.text.name, &sweep.text.bytes, &options);
    let first = |diagnostics: Vec<Diagnostic>| {
        let first = diagnostics.into_iter().next();
        first.map_or("the model is at fault".to_string(), |d| d.message)
    };
    let Some(model) = &loaded.model else {
        return Err(first(loaded.diagnostics));
    };
    let at_numbers = question(Kept::None, &sweep.settings);
    match number(model, &at_numbers, &sweep.settings.limits).map_err(first)? {
        Number::Finite(count) => Ok(Measured::Number(count as f64)),
        Number::Infinite { dimension } => Err(format!(
            "infinitely many singular configurations: a set of dimension {dimension}"
        )),
        Number::Unknown(reasons) => Err(format!("unknown: {}", reasons.join("; "))),
    }
}

/// An edge of a grid: its two corners.
type Edge = [(usize, usize); 2];

/// An edge of a grid between two corners, and the point where a curve crosses it.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    edge: Edge,
    point: (f64, f64),
}

/// Where a function of two numbers changes its sign, square by square.
fn zero_set(ranges: [(f64, f64); 2], f: &dyn Fn(f64, f64) -> f64) -> Vec<[Crossing; 2]> {
    let [x, y] =
        ranges.map(|(from, to)| move |k: usize| from + (to - from) * k as f64 / N_SQUARES as f64);
    let values: Vec<Vec<f64>> = (0..=N_SQUARES)
        .map(|i| (0..=N_SQUARES).map(|j| f(x(i), y(j))).collect())
        .collect();
    let crossing = |one: (usize, usize), other: (usize, usize)| {
        // In one sense, so that the squares on both sides find the same point.
        let ((i, j), (k, l)) = (one.min(other), one.max(other));
        let (mut a, mut b) = ((x(i), y(j)), (x(k), y(l)));
        let is_positive = values[i][j] > 0.0;
        if is_positive == (values[k][l] > 0.0) {
            return None;
        }
        for _ in 0..N_HALVINGS {
            let middle = (0.5 * (a.0 + b.0), 0.5 * (a.1 + b.1));
            if (f(middle.0, middle.1) > 0.0) == is_positive {
                a = middle;
            } else {
                b = middle;
            }
        }
        Some(Crossing {
            edge: [(i, j), (k, l)],
            point: a,
        })
    };
    let mut parts = Vec::new();
    for i in 0..N_SQUARES {
        for j in 0..N_SQUARES {
            let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
            let edges = (0..4).map(|k| crossing(corners[k], corners[(k + 1) % 4]));
            let found: Vec<Crossing> = edges.flatten().collect();
            // Two crossings, or four at a saddle.
            parts.extend(found.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
        }
    }
    parts
}

/// Parts that meet at an edge as lines.
fn joined(parts: &[[Crossing; 2]]) -> Vec<Vec<(f64, f64)>> {
    let mut meeting: HashMap<Edge, Vec<usize>> = HashMap::new();
    for (at, part) in parts.iter().enumerate() {
        for crossing in part {
            meeting.entry(crossing.edge).or_default().push(at);
        }
    }
    let is_end = |crossing: &Crossing| meeting[&crossing.edge].len() == 1;
    // Lines that end at the border are begun there.
    let (open, closed): (Vec<usize>, Vec<usize>) =
        (0..parts.len()).partition(|&at| parts[at].iter().any(is_end));
    let mut is_used = vec![false; parts.len()];
    let mut lines = Vec::new();
    for start in open.into_iter().chain(closed) {
        if is_used[start] {
            continue;
        }
        is_used[start] = true;
        let [mut first, mut last] = parts[start];
        if is_end(&last) {
            (first, last) = (last, first);
        }
        let mut line = vec![first.point, last.point];
        while let Some(&next) = meeting[&last.edge].iter().find(|&&at| !is_used[at]) {
            is_used[next] = true;
            let [a, b] = parts[next];
            last = if a.edge == last.edge { b } else { a };
            line.push(last.point);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_where_its_equation_changes_sign() {
        let parts = zero_set([(-2.0, 2.0), (-2.0, 2.0)], &|x, y| x * x + y * y - 1.0);
        let length: f64 = (parts.iter())
            .map(|[a, b]| (a.point.0 - b.point.0).hypot(a.point.1 - b.point.1))
            .sum();
        assert!((length - std::f64::consts::TAU).abs() < 1e-3, "{length}");
        let is_on = |c: &Crossing| (c.point.0.hypot(c.point.1) - 1.0).abs() < 1e-6;
        assert!(parts.iter().flatten().all(is_on));
        let lines = joined(&parts);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
        // A hyperbola leaves the square at four places.
        let parts = zero_set([(-2.0, 2.0), (-2.0, 2.0)], &|x, y| x * y - 0.1);
        assert_eq!(joined(&parts).len(), 2);
    }
}
