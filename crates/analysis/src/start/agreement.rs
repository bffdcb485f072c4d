//! Whether fixed values that follow from others agree with them as they are written, (13) and (13a) of `docs/theory/initial.md`.

use super::conflict::ACCEPTED;
use super::freedom::Freedom;
use crate::System;
use crate::initial::{Finder, Request, Row, Selection, TaylorJet};
use crate::tolerances::{DEPENDENT, HOLDS, LARGEST_DENSE, MAX_NEWTON_STEPS};
use daelight_expr::{BinaryOp, ExprId, FastMap, Node, UnaryOp, Walker};
use daelight_lang::Symbol;
use daelight_linalg::{ConditionRule, Svd};

/// The independent rows of a start, with what they say of small changes.
struct Rows {
    svd: Svd,
    rank: usize,
    selection: Selection,
    /// What is left of each row, in its units.
    left: Vec<f64>,
    /// Units of rows and columns.
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Rows {
    fn new(finder: &mut Finder<'_>, selection: &Selection, jet: &TaylorJet) -> Option<Self> {
        let (matrix, units) = finder.matrix(selection, jet)?;
        let left = finder.residuals(&selection.rows, jet)?;
        let left = left.iter().zip(&units.rows);
        let left = left.map(|((_, off), unit)| off * unit).collect();
        let mut svd = Svd::new();
        svd.factor(matrix.view()).ok()?;
        let rank = svd.rank(&ConditionRule::new(DEPENDENT)).rank;
        Some(Self {
            svd,
            rank,
            selection: selection.clone(),
            left,
            rows: units.rows,
            columns: units.columns,
        })
    }

    /// The shortest step onto the rows, and how far it moves an unknown relative to its value.
    fn step(&self, jet: &mut TaylorJet) -> Option<f64> {
        let (u, v) = (self.svd.u().ok()?, self.svd.v().ok()?);
        let mut steps = vec![0.0; self.selection.columns.len()];
        for (k, sigma) in self
            .svd
            .singular_values()
            .iter()
            .enumerate()
            .take(self.rank)
        {
            let along: f64 = u.col(k).iter().zip(&self.left).map(|(u, r)| u * r).sum();
            for (step, v) in steps.iter_mut().zip(v.col(k)) {
                *step += v * along / sigma;
            }
        }
        let mut farthest = 0.0_f64;
        for ((column, unit), step) in self.selection.columns.iter().zip(&self.columns).zip(steps) {
            let value = jet.get(column.unknown, column.order);
            jet.set(column.unknown, column.order, value - step * unit);
            let relative = (step * unit).abs() / value.abs().max(f64::MIN_POSITIVE);
            farthest = farthest.max(if step == 0.0 { 0.0 } else { relative });
        }
        Some(farthest)
    }

    /// The coefficients by which the value of an unknown is a sum of the rows, in their units; `None` where it is not.
    fn shares(&self, unknown: usize) -> Option<Vec<f64>> {
        let columns = &self.selection.columns;
        let at = columns
            .iter()
            .position(|c| c.unknown == unknown && c.order == 0)?;
        let (u, v) = (self.svd.u().ok()?, self.svd.v().ok()?);
        let mut shares = vec![0.0; self.left.len()];
        let mut seen = 0.0_f64;
        for (k, sigma) in self
            .svd
            .singular_values()
            .iter()
            .enumerate()
            .take(self.rank)
        {
            let part = v.col(k)[at];
            seen += part * part;
            for (share, u) in shares.iter_mut().zip(u.col(k)) {
                *share += part / sigma * self.columns[at] * u;
            }
        }
        // To first order it follows from the rows, or a fold ties it to them.
        ((1.0 - seen).abs() <= DEPENDENT.max(HOLDS)).then_some(shares)
    }
}

/// Whether the conditions that follow from others hold as their decimals tell, (13) and (13a); `None` where that cannot be told.
pub fn agrees_as_written(
    system: &System,
    finder: &mut Finder<'_>,
    request: &Request,
    jet: &TaylorJet,
    found: &Freedom,
) -> Option<bool> {
    let mut selection = finder.base(request);
    let is_equation = |row: &Row| matches!(row, Row::Equation { .. });
    selection.rows.retain(is_equation);
    let using = found.using.iter().map(|&at| request.conditions[at]);
    selection.rows.extend(using);
    if selection.rows.len().max(selection.columns.len()) > LARGEST_DENSE {
        return None;
    }
    let mut jet = jet.clone();
    let mut rows = Rows::new(finder, &selection, &jet)?;
    // Each step squares what the point is off by.
    let mut before = f64::INFINITY;
    for _ in 0..MAX_NEWTON_STEPS {
        let moved = rows.step(&mut jet)?;
        rows = Rows::new(finder, &selection, &jet)?;
        // What no longer gets smaller is rounding.
        if moved <= HOLDS || moved >= before {
            break;
        }
        before = moved;
    }
    let sizes = sizes(system, finder, &rows, (request.time, &jet))?;
    let agrees = |&at: &usize| -> Option<bool> {
        let Row::Value { unknown, value } = request.conditions[at] else {
            return Some(true);
        };
        let Some(shares) = rows.shares(unknown) else {
            return Some(true);
        };
        let follows: f64 = shares.iter().zip(&rows.left).map(|(a, b)| a * b).sum();
        let off = jet.get(unknown, 0) - follows - value;
        // In units of the values a share is that of the row times its unit.
        let shares = shares.iter().zip(&rows.rows);
        let parts: Vec<(f64, f64)> = shares.map(|(share, unit)| (*share, share * unit)).collect();
        let given = || {
            let pairs = selection.rows.iter().zip(&parts);
            pairs.filter_map(|(row, (_, share))| match *row {
                Row::Value { value, .. } => Some((share.abs(), value)),
                _ => None,
            })
        };
        let natural = value.abs() + given().map(|(share, of)| share * of.abs()).sum::<f64>();
        let inherited = given().map(|(share, of)| share * written_rounding(of, natural));
        let decimals = written_rounding(value, natural) + inherited.sum::<f64>();
        let noise = parts
            .iter()
            .zip(&sizes)
            .map(|((share, _), size)| share.abs() * size);
        let noise = HOLDS * value.abs() + noise.sum::<f64>();
        Some(off.abs() <= noise + decimals)
    };
    let all: Option<Vec<bool>> = found.redundant.iter().map(agrees).collect();
    Some(all?.into_iter().all(|agrees| agrees))
}

/// Half a unit of the last decimal of a value, where that may have been rounded: a shorter decimal is meant as it stands.
fn written_rounding(value: f64, natural: f64) -> f64 {
    let text = format!("{value:e}");
    let half = text.split_once('e').and_then(|(digits, exponent)| {
        let n_decimals = digits
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let exponent: i32 = exponent.parse().ok()?;
        Some(0.5 * 10_f64.powi(exponent - n_decimals as i32))
    });
    half.filter(|half| *half <= ACCEPTED * natural)
        .unwrap_or(0.0)
}

/// How far each row may be off for rounding, in its units: 1e-12 of what its unknowns make of it, and the rounding of its terms.
fn sizes(
    system: &System,
    finder: &mut Finder<'_>,
    rows: &Rows,
    (time, jet): (f64, &TaylorJet),
) -> Option<Vec<f64>> {
    let (matrix, _) = finder.matrix(&rows.selection, jet)?;
    let terms = terms(system, (time, jet));
    let columns = &rows.selection.columns;
    let size = |(i, row): (usize, &Row)| {
        let by_unknowns = columns.iter().enumerate().map(|(j, column)| {
            let value = jet.get(column.unknown, column.order) / rows.columns[j];
            (matrix[(i, j)] * value).abs()
        });
        let by_unknowns = HOLDS * by_unknowns.sum::<f64>();
        by_unknowns
            + match row {
                Row::Equation { equation, order: 0 } => terms[*equation] * rows.rows[i],
                Row::Value { .. } => 0.0,
                // What derivatives and initial equations are made of is not looked into.
                _ => HOLDS,
            }
    };
    Some(rows.selection.rows.iter().enumerate().map(size).collect())
}

/// What each equation is rounded to when it is evaluated: one rounding of its terms for each operation. Sums count all of their terms.
fn terms(system: &System, (time, jet): (f64, &TaylorJet)) -> Vec<f64> {
    let equations = system.equations();
    let (graph, symbols) = (equations.graph(), equations.symbols());
    let mut walker = Walker::new();
    let nodes = walker.reachable(graph, equations.residuals()).to_vec();
    let parameters = system.parameters().values();
    let values = graph.evaluate(&nodes, |id| match symbols.get(id) {
        Symbol::Parameter(at) => parameters[at],
        Symbol::Unknown { unknown, order } => jet.derivative(unknown, order as usize),
        other => symbols.value_at(other, time),
    });
    let mut sizes: FastMap<ExprId, f64> = FastMap::default();
    for (&node, value) in nodes.iter().zip(&values) {
        let size = match graph.node(node) {
            Node::Unary(UnaryOp::Neg, a) => sizes[&a],
            Node::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => sizes[&a] + sizes[&b],
            Node::Binary(BinaryOp::Mul, a, b) => sizes[&a] * sizes[&b],
            _ => value.abs(),
        };
        sizes.insert(node, size);
    }
    let rounding = |root: &ExprId| {
        let n_operations = walker.reachable(graph, &[*root]).len();
        n_operations as f64 * f64::EPSILON * sizes[root]
    };
    equations.residuals().iter().map(rounding).collect()
}
