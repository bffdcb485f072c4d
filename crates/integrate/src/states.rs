//! Which coefficients of a point are states, and which follow from the constraints.
//!
//! At stage k < 0 the equations that have begun determine as many of the x_j^(k + d_j); the others are free. Section 9 of
//! `docs/theory/implicit.md`.

use crate::options::Tolerances;
use crate::problem::Problem;
use daelight_linalg::{LinalgError, Lu, Mat, Qr};

/// Blocks beyond this size in which a choice is to be made are refused: the choice takes full matrices.
pub(crate) const MAX_BLOCK: usize = 600;

/// A dependent quantity moves at most this many times as fast as the states, or states are chosen anew.
pub(crate) const STEEP: f64 = 10.0;

/// States of a point, and where each choice was made.
pub(crate) struct Selection {
    /// Unknown and order of each state, as many as there are degrees of freedom.
    pub states: Vec<(usize, usize)>,
    choices: Vec<Choice>,
    /// The largest block in which a choice was made.
    pub largest: usize,
}

/// One choice: rows and columns within a diagonal block.
struct Choice {
    block: usize,
    /// Derivatives that columns stand for are d_j - behind.
    behind: usize,
    rows: Vec<usize>,
    dependent: Vec<usize>,
    free: Vec<usize>,
}

/// Chooses the states so that everything else moves as little as possible with them: pivoted columns are dependent.
///
/// `entries` are those of the system Jacobian at the point. `None` when a block is too large.
pub(crate) fn select(
    problem: &Problem,
    tolerances: &Tolerances,
    entries: &[f64],
) -> Result<Option<Selection>, LinalgError> {
    let structure = problem.structure();
    let offsets = structure.offsets();
    let mut selection = Selection {
        states: Vec::new(),
        choices: Vec::new(),
        largest: 0,
    };
    let mut qr = Qr::new();
    for (block, members) in structure.blocks().iter().enumerate() {
        let order = |column: usize| offsets.variable[members.unknowns[column]];
        let n = members.unknowns.len();
        let most = (0..n).map(order).max().unwrap_or(0);
        for behind in 1..=most {
            let rows: Vec<usize> = (0..n)
                .filter(|&row| offsets.equation[members.equations[row]] >= behind)
                .collect();
            let columns: Vec<usize> = (0..n).filter(|&column| order(column) >= behind).collect();
            if rows.len() == columns.len() {
                continue;
            }
            let mut choice = Choice {
                block,
                behind,
                dependent: Vec::new(),
                free: columns.clone(),
                rows,
            };
            if !choice.rows.is_empty() {
                if n > MAX_BLOCK {
                    return Ok(None);
                }
                let matrix = choice.matrix(problem, tolerances, entries, &columns);
                qr.factor(matrix.view())?;
                let order = qr.permutation()?;
                let (dependent, free) = order.split_at(choice.rows.len());
                choice.dependent = dependent.iter().map(|&at| columns[at]).collect();
                choice.free = free.iter().map(|&at| columns[at]).collect();
                choice.dependent.sort_unstable();
                choice.free.sort_unstable();
                selection.largest = selection.largest.max(n);
            }
            for &column in &choice.free {
                let unknown = members.unknowns[column];
                selection.states.push((unknown, order(column) - behind));
            }
            if !choice.rows.is_empty() {
                selection.choices.push(choice);
            }
        }
    }
    Ok(Some(selection))
}

impl Choice {
    /// Rows of the choice in some columns, scaled by the sizes of the unknowns.
    fn matrix(
        &self,
        problem: &Problem,
        tolerances: &Tolerances,
        entries: &[f64],
        columns: &[usize],
    ) -> Mat {
        let structure = problem.structure();
        let members = &structure.blocks()[self.block];
        let full = structure.block_matrix(self.block, entries);
        let size = |column: usize| {
            let unknown = members.unknowns[column];
            let order = problem.unknown_offset(unknown) - self.behind;
            tolerances.absolute(order, unknown) / tolerances.rtol
        };
        let row_size = |row: usize| {
            let entry = |&column: &usize| (full[(row, column)] * size(column)).abs();
            let greatest = columns.iter().map(entry).fold(0.0, f64::max);
            if greatest > 0.0 { greatest } else { 1.0 }
        };
        let scale: Vec<f64> = self.rows.iter().map(|&row| row_size(row)).collect();
        Mat::from_fn(self.rows.len(), columns.len(), |i, j| {
            full[(self.rows[i], columns[j])] * size(columns[j]) / scale[i]
        })
    }
}

impl Selection {
    /// Whether other states could have been chosen.
    pub fn is_choice(&self) -> bool {
        !self.choices.is_empty()
    }

    /// The greatest rate at which a dependent quantity moves with a state, in units of their sizes.
    pub fn steepness(&self, problem: &Problem, tolerances: &Tolerances, entries: &[f64]) -> f64 {
        let mut worst = 0.0f64;
        for choice in &self.choices {
            let columns = [choice.dependent.as_slice(), &choice.free].concat();
            let all = choice.matrix(problem, tolerances, entries, &columns);
            let n = choice.rows.len();
            let mut lu = Lu::with_capacity(n);
            let square = Mat::from_fn(n, n, |i, j| all[(i, j)]);
            if lu.factor(square.view()).is_err() {
                return f64::INFINITY;
            }
            for column in n..columns.len() {
                let mut rates: Vec<f64> = (0..n).map(|i| all[(i, column)]).collect();
                if lu.solve(&mut rates).is_err() {
                    return f64::INFINITY;
                }
                worst = rates.iter().map(|rate| rate.abs()).fold(worst, f64::max);
            }
        }
        worst
    }
}
