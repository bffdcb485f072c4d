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
        match Point::new(model, system, base, along, found) {
            Some(mut point) => TimeDerivative {
                time: found.time,
                by: (0..along.directions.len())
                    .map(|k| point.derivative(k))
                    .collect(),
            },
            None => none("the equations have no values there"),
        }
    };
    base.run.singularities.iter().map(one).collect()
}

/// The rows of a singular block at the stage at which they first determine all its unknowns.
struct Point<'a> {
    graph: Graph,
    symbols: Symbols,
    found: &'a Singularity,
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
    /// What is added to the unknowns of the block to reach the singular point, and the null vectors there, left and right.
    shift: Vec<f64>,
    null: [Vec<f64>; 2],
}

impl<'a> Point<'a> {
    fn new(
        model: &Model,
        system: &'a System,
        base: &Solution,
        along: &Sensitivities,
        found: &'a Singularity,
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
            shift: vec![0.0; found.unknowns.len()],
            null: Default::default(),
            moved: numbers.max()?,
            rates: rates.collect(),
            x: base.reader(system).jet(found.time)?,
            s: along.reader().jet(found.time)?,
            first: (0..along.directions.len())
                .map(|k| along.first(k))
                .collect(),
            parameters: system.parameters().values(),
            graph,
            symbols,
            found,
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
                let own = self
                    .unknowns
                    .iter()
                    .position(|own| *own == (unknown, order));
                let shift = own.map_or(0.0, |at| self.shift[at]);
                self.x.derivative(unknown, order as usize) + shift
            }
            symbol => self.symbols.value_at(symbol, self.found.time),
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

    /// Finds the null vectors. Near a branch point unknowns are known to the root of what the time is: along v, where w J v falls to zero,
    /// they are moved onto it.
    fn reach(&mut self) -> Option<()> {
        let entries = self.matrix();
        let n = self.unknowns.len();
        for _ in 0..4 {
            let at = self.values(&entries, None, false);
            let null = |by_row: bool| {
                let entry = |i: usize, j: usize| if by_row { at[i * n + j] } else { at[j * n + i] };
                let mut svd = Svd::new();
                svd.factor(Mat::from_fn(n, n, entry).view()).ok()?;
                let v = svd.v().ok()?.to_owned();
                Some((0..n).map(|i| v[(i, n - 1)]).collect::<Vec<f64>>())
            };
            self.null = [null(false)?, null(true)?];
            if self.found.nature != Nature::Branch {
                break;
            }
            let right = self.null[1].clone();
            let mut turning = entries.clone();
            let (own, symbols) = (&self.unknowns, &self.symbols);
            turning = self.graph.derivatives_along(&turning, |graph, id| {
                let Symbol::Unknown { unknown, order } = symbols.get(id) else {
                    return None;
                };
                let at = own.iter().position(|own| *own == (unknown, order))?;
                Some(graph.constant(right[at]))
            });
            let step = -self.weighted(&at) / self.weighted(&self.values(&turning, None, false));
            if !step.is_finite() {
                break;
            }
            let shift = self.shift.iter_mut().zip(&right);
            shift.for_each(|(shift, v)| *shift += step * v);
        }
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
