//! What can still be chosen at a consistent point, and what each condition uses up; section 7 of
//! `docs/theory/initial.md`.

use crate::System;
use crate::initial::{Finder, Limits, Request, Row, Selection, TaylorJet, nominal};
use crate::judgement::free_unknowns;
use crate::tolerances::{BESIDE, DEPENDENT, MAX_NEWTON_STEPS};
use daelight_linalg::{ConditionRule, Mat, Qr, Svd};
use std::time::Instant;

/// Most rows of the array for which free values are looked for one by one.
const MAX_ROWS: usize = 600;
/// Directions of an orthonormal basis that change the values by less than this do not change them.
const STILL: f64 = 1e-8;

/// The degrees of freedom of a point and where they go.
#[derive(Clone, Debug, PartialEq)]
pub struct Freedom {
    /// How many values the equations leave open.
    pub n_open: usize,
    /// Positions of the conditions that use up one of them each.
    pub using: Vec<usize>,
    /// Positions of the conditions that follow from the equations and the conditions before them.
    pub redundant: Vec<usize>,
    /// Unknowns whose values can be chosen beside the conditions, as many as are left open.
    pub free: Vec<usize>,
}

/// Directions in which the rows without conditions let a jet move: those that change coefficients up to an order.
struct Directions {
    /// One column a direction, in units.
    kernel: Mat,
    columns: Vec<f64>,
}

fn directions(
    finder: &mut Finder<'_>,
    selection: &Selection,
    jet: &TaylorJet,
    highest: usize,
) -> Option<Directions> {
    if selection.rows.len() > MAX_ROWS {
        return None;
    }
    let (matrix, units) = finder.matrix(selection, jet)?;
    let n_columns = selection.columns.len();
    let mut qr = Qr::new();
    let full = finder.has_structure();
    let rank = if selection.rows.is_empty() {
        0
    } else {
        qr.factor(matrix.view()).ok()?;
        // Where the structure holds the rows are independent, however small a pivot is.
        let zero = if full { 0.0 } else { DEPENDENT };
        qr.rank(&ConditionRule::new(zero)).rank
    };
    let mut kernel = Mat::zeros(n_columns, n_columns - rank);
    qr.kernel_basis(rank, kernel.view_mut()).ok()?;
    let seen: Vec<usize> = (0..n_columns)
        .filter(|j| selection.columns[*j].order <= highest)
        .collect();
    let change = Mat::from_fn(seen.len(), kernel.ncols(), |i, k| kernel[(seen[i], k)]);
    let mut svd = Svd::new();
    svd.factor(change.view()).ok()?;
    let still = if full { 0.0 } else { STILL };
    let count = svd.rank(&ConditionRule::of(1.0, still)).rank;
    let v = svd.v().ok()?;
    let v = v.submatrix(0, 0, kernel.ncols(), count).to_owned();
    Some(Directions {
        kernel: kernel.matmul(&v),
        columns: units.columns,
    })
}

/// In how many independent ways the coefficients up to `highest` can change on the rows of a request without its
/// conditions.
pub fn n_undetermined(
    finder: &mut Finder<'_>,
    request: &Request,
    jet: &TaylorJet,
    highest: usize,
) -> Option<usize> {
    let mut selection = finder.base(request);
    selection
        .rows
        .retain(|row| matches!(row, Row::Equation { .. }));
    Some(directions(finder, &selection, jet, highest)?.kernel.ncols())
}

/// What is free at a jet on the rows of a request; `None` where the system is too large to tell.
pub fn freedom(
    system: &System,
    finder: &mut Finder<'_>,
    request: &Request,
    jet: &TaylorJet,
) -> Option<Freedom> {
    let mut selection = finder.base(request);
    selection
        .rows
        .retain(|row| matches!(row, Row::Equation { .. }));
    let open = directions(finder, &selection, jet, 0)?;
    let n_open = open.kernel.ncols();
    let conditions = Selection {
        rows: request.conditions.clone(),
        columns: selection.columns.clone(),
    };
    let (gradients, _) = finder.matrix(&conditions, jet)?;
    // Gram and Schmidt, twice for accuracy, in the order of the conditions.
    let effect = gradients.matmul(&open.kernel);
    let mut spanned: Vec<Vec<f64>> = Vec::new();
    let (mut using, mut redundant) = (Vec::new(), Vec::new());
    for at in 0..conditions.rows.len() {
        let whole: f64 = (0..gradients.ncols())
            .map(|j| gradients[(at, j)].powi(2))
            .sum();
        let mut row: Vec<f64> = (0..n_open).map(|k| effect[(at, k)]).collect();
        for _ in 0..2 {
            for other in &spanned {
                let share: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= share * b);
            }
        }
        let size = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        if size > STILL * whole.sqrt() {
            row.iter_mut().for_each(|v| *v /= size);
            spanned.push(row);
            using.push(at);
        } else {
            redundant.push(at);
        }
    }
    // Directions that the conditions leave, as changes of the values in the user's units.
    let left = if spanned.is_empty() {
        Mat::identity(n_open)
    } else {
        let rows = Mat::from_fn(spanned.len(), n_open, |i, k| spanned[i][k]);
        let mut qr = Qr::new();
        qr.factor(rows.view()).ok()?;
        let mut left = Mat::zeros(n_open, n_open - spanned.len());
        qr.kernel_basis(spanned.len(), left.view_mut()).ok()?;
        left
    };
    let moves = open.kernel.matmul(&left);
    let n = jet.n_unknowns();
    let mut change = Mat::zeros(n, left.ncols());
    for (j, column) in selection.columns.iter().enumerate() {
        if column.order == 0 {
            for k in 0..left.ncols() {
                change[(column.unknown, k)] = open.columns[j] * moves[(j, k)];
            }
        }
    }
    let mut units = vec![1.0; n];
    for (column, unit) in selection.columns.iter().zip(&open.columns) {
        if column.order == 0 {
            units[column.unknown] = *unit;
        }
    }
    Some(Freedom {
        n_open,
        using,
        redundant,
        free: free_unknowns(system, &change, &units),
    })
}

/// The same at a jet on which the conditions hold, conditions on a fold counted: to first order y = -1 follows from x^2 + y^2 = 1 at (0, -1) and leaves x free, and no x
/// but 0 goes with it.
///
/// An unknown that cannot be moved beside all conditions, and can without one that seemed to follow, is what that one uses up.
pub fn freedom_at_start(
    system: &System,
    finder: &mut Finder<'_>,
    request: &Request,
    jet: &TaylorJet,
) -> Option<Freedom> {
    let mut found = freedom(system, finder, request, jet)?;
    let selection = finder.base(request);
    let sizes = nominal(system);
    let limits = Limits {
        steps: MAX_NEWTON_STEPS,
        deadline: Instant::now() + request.budget,
    };
    let mut can_move = |unknown: usize, without: Option<Row>| {
        let value = jet.get(unknown, 0);
        let size = sizes[unknown].max(value.abs());
        [BESIDE, -BESIDE].into_iter().any(|step| {
            let value = value + step * size;
            let mut moved = jet.clone();
            moved.set(unknown, 0, value);
            let mut selection = selection.clone();
            selection.rows.retain(|row| Some(*row) != without);
            selection.rows.push(Row::Value { unknown, value });
            finder.settle(&selection, &mut moved, &limits).is_ok()
        })
    };
    for unknown in found.free.clone() {
        if found.redundant.is_empty() || can_move(unknown, None) {
            continue;
        }
        let holds = |at: &usize| can_move(unknown, Some(request.conditions[*at]));
        if let Some(place) = found.redundant.iter().position(holds) {
            found.using.push(found.redundant.remove(place));
            found.free.retain(|other| *other != unknown);
        }
    }
    found.using.sort_unstable();
    Some(found)
}
