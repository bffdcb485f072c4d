//! Null vectors of a small matrix of expressions, by elimination.

use super::cancel::{simplified, whole_ratio};
use super::jets::{Jets, Zero};
use super::{NotRepaired, RepairBudget};
use crate::tolerances::ROUNDING;
use daelight_expr::{ExprId, Graph, Node, ReverseSweep, Walker};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::{Mat, Qr, ThresholdRule};
use std::time::Instant;

/// Expressions in the making, with what is needed to test them.
pub(super) struct Algebra {
    pub graph: Graph,
    pub symbols: Symbols,
    pub jets: Jets,
    pub walker: Walker,
    pub sweep: ReverseSweep,
    /// Largest number of nodes that the graph may have.
    pub max_nodes: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
}

/// How welcome an expression is as a pivot: numbers, then parameters, then few operations.
pub(super) type Cost = (u8, usize);

impl Algebra {
    pub fn zeros(&self, exprs: &[ExprId]) -> Vec<Zero> {
        self.jets.zeros(&self.graph, &self.symbols, exprs)
    }

    /// Whether the budget of nodes or of time is used up.
    pub fn check_size(&self) -> Result<(), NotRepaired> {
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() > deadline)
        {
            return Err(NotRepaired::Budget("time"));
        }
        if self.graph.len() > self.max_nodes {
            return Err(NotRepaired::Budget("nodes of expressions"));
        }
        Ok(())
    }

    /// The same value in a simpler form, if there is one; fractions may be cancelled.
    pub fn simplify(&mut self, expr: ExprId) -> ExprId {
        match simplified(&mut self.graph, expr) {
            Some((simple, _)) if self.agree(expr, simple) => simple,
            _ => expr,
        }
    }

    pub fn agree(&self, a: ExprId, b: ExprId) -> bool {
        self.jets.agree(&self.graph, &self.symbols, a, b)
    }

    pub fn cost(&mut self, expr: ExprId) -> Cost {
        let (graph, symbols) = (&self.graph, &self.symbols);
        let nodes = self.walker.reachable(graph, &[expr]);
        let moves = nodes.iter().any(|&id| match graph.node(id) {
            Node::Symbol(symbol) => !matches!(symbols.get(symbol), Symbol::Parameter(_)),
            _ => false,
        });
        let kind = match graph.as_constant(expr) {
            Some(_) => 0,
            None if !moves => 1,
            None => 2,
        };
        (kind, nodes.len())
    }

    /// The unknowns, by position in the model, and the orders of their derivatives in an expression.
    pub fn unknowns(&mut self, expr: ExprId) -> Vec<(usize, u32)> {
        let symbols = self.walker.symbols(&self.graph, &[expr]);
        let unknown = |id| match self.symbols.get(id) {
            Symbol::Unknown { unknown, order } => Some((unknown, order)),
            _ => None,
        };
        symbols.into_iter().filter_map(unknown).collect()
    }

    /// The total time derivative of a given order.
    pub fn derivative(&mut self, expr: ExprId, order: usize) -> ExprId {
        let symbols = &mut self.symbols;
        (0..order).fold(expr, |expr, _| {
            self.graph
                .derivatives_along(&[expr], |graph, id| symbols.rate(graph, id))[0]
        })
    }
}

/// Vectors u with u^T M = 0 whose entries are polynomials where that was possible, one for each missing rank.
///
/// Rows are added to each other until some vanish; what a vanished row was combined from is the vector. Each vector is
/// the only combination, up to a factor, of its rows (section 3 of `docs/theory/repair.md`).
pub(super) fn left_null_vectors(
    algebra: &mut Algebra,
    matrix: &[Vec<ExprId>],
    budget: &RepairBudget,
) -> Result<Vec<Vec<ExprId>>, NotRepaired> {
    let n = matrix.len();
    if n > budget.block {
        return Err(NotRepaired::BlockTooLarge {
            n,
            most: budget.block,
        });
    }
    if let Some(numbers) = numbers(&algebra.graph, matrix) {
        let vectors = null_vectors_of_numbers(numbers)?;
        let expressions = |vector: Vec<f64>| -> Vec<ExprId> {
            let entries = vector.into_iter();
            entries
                .map(|number| algebra.graph.constant(number))
                .collect()
        };
        return Ok(vectors.into_iter().map(expressions).collect());
    }
    let zero = algebra.graph.constant(0.0);
    let one = algebra.graph.constant(1.0);
    let mut rows: Vec<Vec<ExprId>> = matrix.to_vec();
    for row in &mut rows {
        test_row(algebra, row, zero)?;
    }
    let mut combined: Vec<Vec<ExprId>> = (0..n)
        .map(|i| (0..n).map(|j| if i == j { one } else { zero }).collect())
        .collect();
    let mut open: Vec<usize> = (0..n).collect();
    while let Some((pivot, column)) = choose_pivot(algebra, &rows, &open, zero) {
        open.retain(|&row| row != pivot);
        let pivot_row = rows[pivot].clone();
        let pivot_combination = combined[pivot].clone();
        for &row in &open {
            if rows[row][column] == zero {
                continue;
            }
            let graph = &mut algebra.graph;
            let factor = graph.div(rows[row][column], pivot_row[column]);
            let factor = algebra.simplify(factor);
            for (at, &other) in pivot_row.iter().enumerate() {
                if at != column {
                    rows[row][at] = subtract(algebra, rows[row][at], factor, other, zero);
                }
            }
            rows[row][column] = zero;
            test_row(algebra, &mut rows[row], zero)?;
            for (entry, &other) in combined[row].iter_mut().zip(&pivot_combination) {
                *entry = subtract(algebra, *entry, factor, other, zero);
            }
            algebra.check_size()?;
        }
    }
    let mut vectors = Vec::new();
    for row in open {
        vectors.push(normalised(algebra, &combined[row]));
    }
    Ok(vectors)
}

/// The matrix, if it is one of numbers.
fn numbers(graph: &Graph, matrix: &[Vec<ExprId>]) -> Option<Vec<Vec<f64>>> {
    let row = |row: &Vec<ExprId>| row.iter().map(|&entry| graph.as_constant(entry)).collect();
    matrix.iter().map(row).collect()
}

/// The same for numbers, whose differences do not tell what cancelled in them: their rank is decided by `linalg`.
fn null_vectors_of_numbers(mut rows: Vec<Vec<f64>>) -> Result<Vec<Vec<f64>>, NotRepaired> {
    let n = rows.len();
    let mut scales = Vec::with_capacity(n);
    for row in &mut rows {
        let largest = row
            .iter()
            .fold(0.0, |size: f64, entry| size.max(entry.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        row.iter_mut().for_each(|entry| *entry /= scale);
        scales.push(scale);
    }
    let unclear = |_| NotRepaired::RankUnclear { n };
    let mut qr = Qr::new();
    let matrix = Mat::from_fn(n, n, |i, j| rows[i][j]);
    qr.factor(matrix.view()).map_err(unclear)?;
    let decision = qr.rank(&ThresholdRule::with_error(1.0, ROUNDING));
    let rank = decision.decided().ok_or(NotRepaired::RankUnclear { n })?;
    let mut basis = Mat::zeros(n, n - rank);
    qr.left_null_basis(rank, basis.view_mut())
        .map_err(unclear)?;
    let mut vectors: Vec<Vec<f64>> = (0..n - rank)
        .map(|k| (0..n).map(|i| basis[(i, k)]).collect())
        .collect();
    eliminate(&mut vectors);
    for vector in &mut vectors {
        for (entry, scale) in vector.iter_mut().zip(&scales) {
            *entry /= scale;
        }
        in_whole_numbers(vector);
    }
    Ok(vectors)
}

/// Writes a vector in small whole numbers, if it is a multiple of such: they read well, and sums with them are exact.
fn in_whole_numbers(vector: &mut [f64]) {
    let entries = || vector.iter().copied().filter(|&entry| entry != 0.0);
    let least = entries().map(f64::abs).fold(f64::INFINITY, f64::min);
    let sign = entries().next().map_or(1.0, f64::signum);
    let is_whole = |unit: f64| {
        let parts = || entries().map(|entry| entry / unit);
        parts().all(|part| {
            part.abs() < 1000.0 && (part - part.round()).abs() <= 10.0 * ROUNDING * part.abs()
        })
    };
    let units = (1..=60).map(|k| sign * least / f64::from(k));
    if let Some(unit) = units.into_iter().find(|&unit| is_whole(unit)) {
        for entry in vector {
            *entry = (*entry / unit).round();
        }
    }
}

/// Combines vectors until each has an entry 1 where all others have none, so that each is the only combination of its rows.
fn eliminate(vectors: &mut [Vec<f64>]) {
    let n = vectors.first().map_or(0, Vec::len);
    for k in 0..vectors.len() {
        let places = (k..vectors.len()).flat_map(|v| (0..n).map(move |i| (v, i)));
        let size = |&(v, i): &(usize, usize)| vectors[v][i].abs();
        let largest = places.max_by(|a, b| size(a).total_cmp(&size(b)));
        let Some((at, column)) = largest else {
            return;
        };
        vectors.swap(k, at);
        let pivot = vectors[k][column];
        vectors[k].iter_mut().for_each(|entry| *entry /= pivot);
        let row = vectors[k].clone();
        for (v, vector) in vectors.iter_mut().enumerate() {
            let factor = vector[column];
            if v != k {
                for (entry, other) in vector.iter_mut().zip(&row) {
                    *entry -= factor * other;
                }
            }
        }
    }
    for entry in vectors.iter_mut().flatten() {
        if entry.abs() <= ROUNDING {
            *entry = 0.0;
        }
    }
}

fn subtract(
    algebra: &mut Algebra,
    entry: ExprId,
    factor: ExprId,
    other: ExprId,
    zero: ExprId,
) -> ExprId {
    if other == zero {
        return entry;
    }
    let product = algebra.graph.mul(factor, other);
    let difference = algebra.graph.sub(entry, product);
    algebra.simplify(difference)
}

/// Puts zero for the entries that test zero.
fn test_row(algebra: &Algebra, row: &mut [ExprId], zero: ExprId) -> Result<(), NotRepaired> {
    let zeros = algebra.zeros(row);
    for (entry, found) in row.iter_mut().zip(zeros) {
        match found {
            Zero::Yes => *entry = zero,
            Zero::No => {}
            Zero::Unclear => return Err(NotRepaired::ZeroUnclear),
        }
    }
    Ok(())
}

/// The cheapest entry of the open rows; among equals one with few neighbours.
fn choose_pivot(
    algebra: &mut Algebra,
    rows: &[Vec<ExprId>],
    open: &[usize],
    zero: ExprId,
) -> Option<(usize, usize)> {
    let mut in_column = vec![0usize; rows.first().map_or(0, Vec::len)];
    for &row in open {
        for (count, &entry) in in_column.iter_mut().zip(&rows[row]) {
            *count += usize::from(entry != zero);
        }
    }
    let mut best: Option<((Cost, usize), (usize, usize))> = None;
    for &row in open {
        let in_row = rows[row].iter().filter(|&&entry| entry != zero).count();
        for (column, &entry) in rows[row].iter().enumerate() {
            if entry != zero {
                let key = (algebra.cost(entry), (in_row - 1) * (in_column[column] - 1));
                if best.is_none_or(|(least, _)| key < least) {
                    best = Some((key, (row, column)));
                }
            }
        }
    }
    best.map(|(_, place)| place)
}

/// The same direction without denominators and common factors, if the entries are small enough for that.
fn normalised(algebra: &mut Algebra, vector: &[ExprId]) -> Vec<ExprId> {
    let Some(simple) = whole_ratio(&mut algebra.graph, vector) else {
        return vector.to_vec();
    };
    // The ratios to the vanished row's own entry, which is 1, must have survived.
    let number = |&entry: &ExprId| algebra.graph.as_constant(entry);
    let own = |entry| number(entry).is_some_and(|number| number != 0.0);
    let Some(first) = vector.iter().position(own) else {
        return vector.to_vec();
    };
    for (&old, &new) in vector.iter().zip(&simple) {
        let left = algebra.graph.mul(old, simple[first]);
        let right = algebra.graph.mul(new, vector[first]);
        if left != right && !algebra.agree(left, right) {
            return vector.to_vec();
        }
    }
    simple
}
