//! Steps for large systems: the augmented matrix of a quadratic problem with linear conditions, factored sparsely,
//! section 6 of `docs/theory/initial.md`.

use super::array::{ConstraintArray, Selection, Units};
use super::closest::{Closeness, Target, stationary};
use super::jet::TaylorJet;
use super::newton::{Limits, SHORTEST, land, moved};
use crate::tolerances::{DENSE_BLOCK, MAX_NEWTON_STEPS};
use daelight_linalg::{CscMat, Lu, Mat, SparseLu};
use std::time::Instant;

/// Dependent rows make the matrix singular. They are allowed to disagree by this part of their multipliers.
const DUAL: f64 = 1e-11;
/// Rows are dependent when a pivot is below this.
const ZERO_PIVOT: f64 = 1e-14;
/// Weight of a step in coefficients that the distance does not see.
const PROXIMAL: f64 = 1e-6;

/// Rows as many as columns are solved as they stand when no pivot is below this.
const SQUARE_PIVOT: f64 = 1e-9;

/// Factored matrices of steps. Their symbolic parts are kept: the same selections come again and again.
#[derive(Default)]
pub struct SparseSteps {
    /// A itself, where it is square.
    square: Option<SparseLu>,
    /// The matrix of (10).
    augmented: Option<SparseLu>,
    /// The columns that determine the others, where an order of the rows has told them.
    chosen: Option<Vec<usize>>,
    /// A with a row for each chosen column, (10a).
    bordered: Option<SparseLu>,
    /// The quadratic problem in the chosen columns: how all columns follow from them, and its matrix.
    along: Option<(Vec<Vec<f64>>, Lu)>,
    form: Form,
    n_columns: usize,
}

/// Which matrix was factored last.
#[derive(Clone, Copy, Default, PartialEq)]
enum Form {
    Square,
    Bordered,
    #[default]
    Augmented,
}

/// Factors a matrix, in the room and with the pivots of the one before where the pattern is the same.
fn factored(kept: &mut Option<SparseLu>, matrix: &CscMat) -> Option<f64> {
    let again = kept.as_mut().is_some_and(|lu| lu.factor(matrix).is_ok());
    if !again {
        let lu = kept.insert(SparseLu::new(matrix).ok()?);
        lu.factor(matrix).ok()?;
    }
    kept.as_ref()?.smallest_pivot().ok()
}

impl SparseSteps {
    /// From now on these columns determine the others, in selections that have as many columns more than rows.
    pub fn choose(&mut self, columns: Option<Vec<usize>>) {
        self.chosen = columns.filter(|columns| columns.len() <= DENSE_BLOCK);
        self.bordered = None;
        self.along = None;
    }

    /// Factors the matrix of short steps onto the rows last differentiated; `false` where that fails. They are the shortest ones, or
    /// those that leave the chosen columns where they are.
    pub fn onto_rows(&mut self, array: &ConstraintArray, units: &Units) -> bool {
        let (n_columns, n_rows) = (units.columns.len(), units.rows.len());
        self.n_columns = n_columns;
        if n_columns == n_rows {
            let entries: Vec<_> = array.scaled_entries(units).collect();
            let matrix = CscMat::from_triplets(n_rows, n_columns, &entries).ok();
            let pivot = matrix.and_then(|matrix| factored(&mut self.square, &matrix));
            if pivot.is_some_and(|pivot| pivot > SQUARE_PIVOT) {
                self.form = Form::Square;
                return true;
            }
        } else if self.border(array, units) {
            self.along = None;
            return true;
        }
        self.augment(array, units, &vec![1.0; n_columns])
    }

    /// Factors (10a) for the rows last differentiated; `false` where no columns were chosen or they do not determine the others.
    pub(super) fn border(&mut self, array: &ConstraintArray, units: &Units) -> bool {
        let (n_columns, n_rows) = (units.columns.len(), units.rows.len());
        self.n_columns = n_columns;
        let Some(chosen) = self
            .chosen
            .as_ref()
            .filter(|c| n_rows + c.len() == n_columns)
        else {
            return false;
        };
        let mut triplets: Vec<_> = array.scaled_entries(units).collect();
        triplets.extend((chosen.iter().enumerate()).map(|(at, &j)| (n_rows + at, j, 1.0)));
        let matrix = CscMat::from_triplets(n_columns, n_columns, &triplets).ok();
        let pivot = matrix.and_then(|matrix| factored(&mut self.bordered, &matrix));
        self.form = Form::Bordered;
        pivot.is_some_and(|pivot| pivot > SQUARE_PIVOT)
    }

    /// Factors the problem of steps along the rows last differentiated with a diagonal D; `false` where that fails.
    fn along_rows(&mut self, array: &ConstraintArray, units: &Units, diagonal: &[f64]) -> bool {
        self.n_columns = units.columns.len();
        if self.border(array, units) {
            self.along = self.in_chosen(units.rows.len(), diagonal);
            if self.along.is_some() {
                return true;
            }
        }
        self.augment(array, units, diagonal)
    }

    /// The quadratic problem in the chosen columns, (10a).
    fn in_chosen(&mut self, n_rows: usize, diagonal: &[f64]) -> Option<(Vec<Vec<f64>>, Lu)> {
        let bordered = self.bordered.as_mut()?;
        let mut columns = Vec::with_capacity(self.n_columns - n_rows);
        for at in n_rows..self.n_columns {
            let mut column = vec![0.0; self.n_columns];
            column[at] = 1.0;
            bordered.solve(&mut column).ok()?;
            columns.push(column);
        }
        let n = columns.len();
        let mut matrix = Mat::zeros(n, n);
        for (i, left) in columns.iter().enumerate() {
            let left: Vec<f64> = left.iter().zip(diagonal).map(|(v, d)| v * d).collect();
            for (k, right) in columns.iter().enumerate().skip(i) {
                let product = left.iter().zip(right).map(|(a, b)| a * b).sum();
                matrix[(i, k)] = product;
                matrix[(k, i)] = product;
            }
        }
        let mut lu = Lu::with_capacity(n);
        lu.factor(matrix.view()).ok()?;
        Some((columns, lu))
    }

    /// Factors (10) for the rows last differentiated and a diagonal D; `false` where that fails.
    fn augment(&mut self, array: &ConstraintArray, units: &Units, diagonal: &[f64]) -> bool {
        let (n_columns, n_rows) = (units.columns.len(), units.rows.len());
        let size = n_columns + n_rows;
        self.form = Form::Augmented;
        let mut pivot = |dual: f64| {
            let mut triplets = Vec::with_capacity(2 * array.entries.len() + size);
            for (i, j, value) in array.scaled_entries(units) {
                triplets.push((n_columns + i, j, value));
                triplets.push((j, n_columns + i, value));
            }
            triplets.extend(diagonal.iter().enumerate().map(|(j, d)| (j, j, *d)));
            triplets.extend((n_columns..size).map(|i| (i, i, -dual)));
            let matrix = CscMat::from_triplets(size, size, &triplets).ok()?;
            factored(&mut self.augmented, &matrix)
        };
        pivot(0.0).is_some_and(|pivot| pivot > ZERO_PIVOT) || pivot(DUAL).is_some()
    }

    /// The step of (10) with a pull on the coefficients and a change asked of the rows; there is no pull on steps of
    /// [`SparseSteps::onto_rows`], and no change on steps along the rows.
    pub fn solve(&mut self, pull: &[f64], change: &[f64]) -> Option<Vec<f64>> {
        match (self.form, &mut self.along) {
            (Form::Square, _) => {
                let mut step = change.to_vec();
                self.square.as_mut()?.solve(&mut step).ok()?;
                Some(step)
            }
            (Form::Bordered, Some((columns, lu))) => {
                let products =
                    |column: &Vec<f64>| column.iter().zip(pull).map(|(a, b)| a * b).sum();
                let mut part: Vec<f64> = columns.iter().map(products).collect();
                let _ = lu.solve(&mut part);
                let mut step = vec![0.0; self.n_columns];
                for (column, part) in columns.iter().zip(part) {
                    step.iter_mut()
                        .zip(column)
                        .for_each(|(s, v)| *s += part * v);
                }
                Some(step)
            }
            (Form::Bordered, None) => {
                let mut step = change.to_vec();
                step.resize(self.n_columns, 0.0);
                self.bordered.as_mut()?.solve(&mut step).ok()?;
                Some(step)
            }
            (Form::Augmented, _) => {
                let mut solution: Vec<f64> = pull.iter().chain(change).copied().collect();
                self.augmented.as_mut()?.solve(&mut solution).ok()?;
                solution.truncate(self.n_columns);
                Some(solution)
            }
        }
    }

    /// The step that leaves the chosen columns where they are, by the last factors of (10a), believed: for those who look at what it does.
    pub(super) fn correction(&mut self, mut change: Vec<f64>) -> Option<Vec<f64>> {
        change.resize(self.n_columns, 0.0);
        self.bordered.as_mut()?.solve_unchecked(&mut change).ok()?;
        Some(change)
    }
}

/// Moves along the rows to the point closest to the target, without the curvature of the rows.
///
/// The jet satisfies the rows before and after.
pub fn minimise(
    array: &mut ConstraintArray,
    selection: &Selection,
    units_of: &dyn Fn(&ConstraintArray) -> Units,
    jet: &mut TaylorJet,
    target: &Target,
    limits: &Limits,
) -> Closeness {
    for _ in 0..MAX_NEWTON_STEPS {
        if Instant::now() > limits.deadline {
            return Closeness::Budget;
        }
        let distance = target.distance(jet);
        if distance <= stationary(0.0) {
            return Closeness::Closest;
        }
        if array.evaluate(jet, selection).is_err() {
            return Closeness::Stopped;
        }
        array.differentiate(selection);
        let units = units_of(array);
        let mut diagonal = vec![PROXIMAL; units.columns.len()];
        let mut pull = vec![0.0; units.columns.len()];
        let gradient = target.gradient(jet);
        for (j, column) in selection.columns.iter().enumerate() {
            if column.order == 0 {
                let weight = target.weights[column.unknown] * units.columns[j];
                diagonal[j] += weight * weight;
                pull[j] = -units.columns[j] * gradient[column.unknown];
            }
        }
        let still = vec![0.0; units.rows.len()];
        let mut steps = std::mem::take(&mut array.steps);
        let step = steps
            .along_rows(array, &units, &diagonal)
            .then(|| steps.solve(&pull, &still));
        array.steps = steps;
        let Some(step) = step.flatten() else {
            return Closeness::Stopped;
        };
        // How far the guessed components would move.
        let squares = selection.columns.iter().enumerate().map(|(j, column)| {
            let seen = column.order == 0;
            if seen {
                step[j] * units.columns[j] * target.weights[column.unknown]
            } else {
                0.0
            }
        });
        let length = squares.map(|v| v * v).sum::<f64>().sqrt();
        let nearly = length <= 1e4 * stationary(distance);
        if length <= stationary(distance) {
            return Closeness::Closest;
        }
        let mut factor = 1.0;
        loop {
            let mut next = moved(jet, selection, &units, &step, factor);
            let landed = land(array, selection, units_of, &mut next, limits).landed();
            if landed && target.distance(&next) < distance {
                *jet = next;
                break;
            }
            factor *= 0.5;
            if factor < SHORTEST {
                return if nearly {
                    Closeness::Closest
                } else {
                    Closeness::Stopped
                };
            }
        }
    }
    Closeness::Budget
}
