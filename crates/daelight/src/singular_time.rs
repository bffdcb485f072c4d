//! How singular times move with parameters and start values: section 3 of `docs/theory/sensitivities.md`.

use crate::Solution;
use crate::sensitivity::Sensitivities;
use crate::solve::Route;
use daelight_analysis::System;
use daelight_analysis::initial::TaylorJet;
use daelight_expr::{ExprId, Graph, Slot};
use daelight_integrate::{Nature, Singularity};
use daelight_lang::{Model, Symbol, Symbols};
use daelight_linalg::{Mat, Svd};

/// How a singular time moves.
pub struct TimeDerivative {
    /// The time.
    pub time: f64,
    /// Its derivative by each direction, or why there is none.
    pub by: Vec<Result<f64, String>>,
}

/// How the singular times of a run move.
pub(crate) fn time_derivatives(
    model: &Model,
    system: &System,
    base: &Solution,
    along: &Sensitivities,
) -> Vec<TimeDerivative> {
    let one = |found: &Singularity| {
        let none = |because: &str| TimeDerivative {
            time: found.time,
            by: vec![Err(because.to_string()); along.directions.len()],
        };
        if matches!(base.route, Route::Array) || found.block.is_none() {
            return none("no determinant of the written equations vanishes there");
        }
        let at = |time: f64| {
            let mut point = Point::new(model, system, (base, along), found, time)?;
            let by = (0..along.directions.len()).map(|k| point.derivative(k));
            Some(by.collect::<Vec<Result<f64, String>>>())
        };
        let by = match found.nature {
            Nature::Branch => limits(base.from, found.time, along.until, at),
            _ => at(found.time),
        };
        match by {
            Some(by) => TimeDerivative {
                time: found.time,
                by,
            },
            None => none("the equations have no values there"),
        }
    };
    base.run.singularities.iter().map(one).collect()
}

/// At which distances from a branch point (5) is looked at, and how well its limit has to be known.
struct Distances {
    /// How many, each a quarter of the one before.
    n: i32,
    /// The first one, as a part of the run.
    first: f64,
    /// What is not known to this part is not told.
    known: f64,
}

/// Fourteen reach the rounding of the time from half of the run; limits of five families are right to six digits where the tableau
/// confirms four, and roots of higher order (x^3 x' = -a) to five.
const DISTANCES: Distances = Distances {
    n: 14,
    first: 0.5,
    known: 0.0001,
};

/// The limits of (5) at a branch point. Along the solution it is a function of the root of the distance in time, so that halving this
/// root and extrapolating gives the limit; the entry of the tableau that its neighbour confirms best is taken.
fn limits(
    from: f64,
    time: f64,
    until: f64,
    at: impl Fn(f64) -> Option<Vec<Result<f64, String>>>,
) -> Option<Vec<Result<f64, String>>> {
    let times = (0..DISTANCES.n).map(|k| time - DISTANCES.first * (time - from) * 0.25_f64.powi(k));
    let is_known = |at: &f64| (until - at) * (time - from) >= 0.0;
    let rows: Vec<Vec<Result<f64, String>>> = times.filter(is_known).map_while(at).collect();
    let n = rows.first()?.len();
    let limit = |k: usize| {
        let values: Vec<f64> = (rows.iter().map(|row| row[k].clone())).collect::<Result<_, _>>()?;
        let (value, error) = extrapolated(&values);
        match error <= DISTANCES.known * value.abs() || error <= f64::EPSILON {
            true => Ok(value),
            false => Err("the run does not come close enough to it".to_string()),
        }
    };
    Some((0..n).map(limit).collect())
}

/// The limit of values at h, h/2, h/4, … that are a power series in h, and how well it is known.
fn extrapolated(values: &[f64]) -> (f64, f64) {
    let mut best = (f64::NAN, f64::INFINITY);
    let mut column = values.to_vec();
    let mut factor = 2.0;
    while column.len() > 1 {
        let next: Vec<f64> = (column.windows(2))
            .map(|two| two[1] + (two[1] - two[0]) / (factor - 1.0))
            .collect();
        for (at, two) in next.windows(2).enumerate() {
            let error = (two[1] - two[0]).abs().max((two[1] - column[at + 2]).abs());
            if error < best.1 {
                best = (two[1], error);
            }
        }
        column = next;
        factor *= 2.0;
    }
    best
}

/// The rows of a singular block at the stage at which they first determine all its unknowns.
struct Point<'a> {
    graph: Graph,
    symbols: Symbols,
    found: &'a Singularity,
    /// The time of the point: the singular one, or one before it.
    time: f64,
    parameters: &'a [f64],
    /// Values of the rates of parameters, for each direction.
    rates: Vec<Vec<f64>>,
    rows: Vec<ExprId>,
    /// The unknowns of the block in the model's numbering, and the order at which they are determined.
    unknowns: Vec<(usize, u32)>,
    x: TaylorJet,
    s: TaylorJet,
    first: Vec<usize>,
    /// From this number on symbols of unknowns are those of derivatives by a direction.
    moved: usize,
    /// The null vectors, left and right.
    null: [Vec<f64>; 2],
}

impl<'a> Point<'a> {
    fn new(
        model: &Model,
        system: &'a System,
        (base, along): (&Solution, &Sensitivities),
        found: &'a Singularity,
        time: f64,
    ) -> Option<Self> {
        let equations = base.problem.equations();
        let mut graph = Graph::clone(equations.graph());
        let mut symbols = Symbols::clone(equations.symbols());
        let offsets = base.problem.structure().offsets();
        let c = |i: &usize| offsets.equation[*i];
        let least = found.equations.iter().map(c).min()?;
        let mut rows = Vec::new();
        for i in &found.equations {
            let mut row = [equations.residuals()[*i]];
            for _ in least..c(i) {
                let next = graph.derivatives_along(&row, |graph, id| symbols.rate(graph, id));
                row = [next[0]];
            }
            rows.push(row[0]);
        }
        // Positions among the integrated unknowns are those of slots; symbols have the model's numbers.
        let numbers =
            daelight_expr::Walker::new().symbols(equations.graph(), equations.residuals());
        let number = |position: usize| {
            numbers.iter().find_map(|id| {
                match (equations.slot(*id), equations.symbols().get(*id)) {
                    (Slot::Variable { index, .. }, Symbol::Unknown { unknown, .. })
                        if index as usize == position =>
                    {
                        Some(unknown)
                    }
                    _ => None,
                }
            })
        };
        let determined = |j: &usize| {
            let order = offsets.variable[*j].checked_sub(least)?;
            Some((number(*j)?, order as u32))
        };
        let unknowns = found
            .unknowns
            .iter()
            .map(determined)
            .collect::<Option<_>>()?;
        let mut scratch = model.clone();
        let rates = along.directions.iter().map(|&direction| {
            let rates = scratch.rates_of_parameters(direction, &[]);
            let value = |rate: Option<ExprId>| rate.map_or(0.0, |e| scratch.parameter_value(e));
            rates.into_iter().map(value).collect()
        });
        // Rewritten equations have unknowns of their own behind those of the model.
        let numbers = numbers.iter().map(|id| match equations.symbols().get(*id) {
            Symbol::Unknown { unknown, .. } => unknown + 1,
            _ => 0,
        });
        let mut point = Self {
            null: Default::default(),
            moved: numbers.max()?,
            rates: rates.collect(),
            x: base.reader(system).jet(time)?,
            s: along.reader().jet(time)?,
            first: (0..along.directions.len())
                .map(|k| along.first(k))
                .collect(),
            parameters: system.parameters().values(),
            graph,
            symbols,
            found,
            time,
            rows,
            unknowns,
        };
        point.reach()?;
        Some(point)
    }

    /// Values of expressions at the point; what the block determines later counts as 0 where it is not `known`.
    fn values(&self, exprs: &[ExprId], direction: Option<usize>, known: bool) -> Vec<f64> {
        let beyond = |unknown: usize, order: u32, from: u32| {
            let own = self.unknowns.iter().find(|(j, _)| *j == unknown);
            !known && own.is_some_and(|(_, highest)| order >= highest + from)
        };
        let n = self.moved;
        self.graph.evaluate(exprs, |id| match self.symbols.get(id) {
            Symbol::Parameter(at) => self.parameters[at],
            Symbol::Unknown { unknown, order } if unknown >= n => {
                let (own, first) = (unknown - n, self.first[direction.unwrap_or(0)]);
                if own >= self.x.n_unknowns() {
                    return f64::NAN;
                }
                if beyond(own, order, 0) || order as usize >= self.s.n_orders() {
                    return 0.0;
                }
                self.s.derivative(first + own, order as usize)
            }
            Symbol::Unknown { unknown, order } => {
                if unknown >= self.x.n_unknowns() {
                    return f64::NAN;
                }
                if beyond(unknown, order, 1) || order as usize >= self.x.n_orders() {
                    return 0.0;
                }
                self.x.derivative(unknown, order as usize)
            }
            symbol => self.symbols.value_at(symbol, self.time),
        })
    }

    /// Derivatives of expressions in time.
    fn in_time(&mut self, exprs: &[ExprId]) -> Vec<ExprId> {
        let symbols = &mut self.symbols;
        let rate = |graph: &mut Graph, id| symbols.rate(graph, id);
        self.graph.derivatives_along(exprs, rate)
    }

    /// Derivatives of expressions by a direction.
    fn by(&mut self, exprs: &[ExprId], direction: usize) -> Vec<ExprId> {
        let n = self.moved;
        let (symbols, rates) = (&mut self.symbols, &self.rates[direction]);
        self.graph
            .derivatives_along(exprs, |graph, id| match symbols.get(id) {
                Symbol::Parameter(at) => Some(graph.constant(rates[at])),
                Symbol::Unknown { unknown, order } => {
                    let unknown = n + unknown;
                    let id = symbols.id(Symbol::Unknown { unknown, order });
                    Some(graph.symbol(id))
                }
                Symbol::Time | Symbol::Input { .. } => None,
            })
    }

    /// The matrix of the rows by what they determine, row by row.
    fn matrix(&mut self) -> Vec<ExprId> {
        let mut entries = Vec::new();
        for row in self.rows.clone() {
            for &(unknown, order) in &self.unknowns {
                let id = self.symbols.id(Symbol::Unknown { unknown, order });
                entries.push(self.graph.partial(row, id));
            }
        }
        entries
    }

    /// Finds the null vectors, or those closest to them.
    fn reach(&mut self) -> Option<()> {
        let entries = self.matrix();
        let n = self.unknowns.len();
        let at = self.values(&entries, None, false);
        let null = |by_row: bool| {
            let entry = |i: usize, j: usize| if by_row { at[i * n + j] } else { at[j * n + i] };
            let mut svd = Svd::new();
            svd.factor(Mat::from_fn(n, n, entry).view()).ok()?;
            let v = svd.v().ok()?.to_owned();
            Some((0..n).map(|i| v[(i, n - 1)]).collect::<Vec<f64>>())
        };
        self.null = [null(false)?, null(true)?];
        Some(())
    }

    /// w A v of a matrix, row by row.
    fn weighted(&self, entries: &[f64]) -> f64 {
        let n = self.unknowns.len();
        let [left, right] = &self.null;
        (0..n * n)
            .map(|k| left[k / n] * right[k % n] * entries[k])
            .sum()
    }

    /// The derivative of the singular time by a direction.
    fn derivative(&mut self, direction: usize) -> Result<f64, String> {
        let left = self.null[0].clone();
        let rows = self.rows.clone();
        let (in_time, by) = (self.in_time(&rows), self.by(&rows, direction));
        let in_time = self.values(&in_time, None, false);
        let by = self.values(&by, Some(direction), false);
        if self.found.nature == Nature::Branch {
            return ratio(dot(&left, &by), dot(&left, &in_time));
        }
        // Where the solution is bounded the rows hold at this time, and go on to do so only if w F_p = 0, up to what the point is known to.
        let size: f64 = left.iter().zip(&by).map(|(w, b)| (w * b).abs()).sum();
        let is_bounded = self.found.nature != Nature::Unbounded;
        if is_bounded && dot(&left, &by).abs() > f64::EPSILON.sqrt() * size {
            return Err("the singular point splits or vanishes when it moves".to_string());
        }
        let entries = self.matrix();
        let (in_time, by) = (self.in_time(&entries), self.by(&entries, direction));
        // What grows without bound has no value to differentiate by.
        let in_time = self.values(&in_time, None, is_bounded);
        let by = self.values(&by, Some(direction), is_bounded);
        ratio(self.weighted(&by), self.weighted(&in_time))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// -above/below, where that is a number.
fn ratio(above: f64, below: f64) -> Result<f64, String> {
    let found = -above / below;
    match found.is_finite() {
        true => Ok(found),
        false => Err("the determinant touches zero there".to_string()),
    }
}
