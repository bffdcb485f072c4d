//! Damped Gauss-Newton steps of minimum norm onto the selected rows, (4) of `docs/theory/initial.md`.

use super::array::{ArrayFault, ConstraintArray, Selection, Units};
use super::jet::TaylorJet;
use crate::tolerances::{LONG_STEP, NEARLY_LINEAR};
use daelight_linalg::{ConditionRule, Qr};
use std::time::Instant;

/// Pivots below this part of the largest count as zero in a step. The step of a nearly singular matrix is
/// shortened to what its other directions ask for, and the rest is left to the following steps.
const PIVOT_CUT: f64 = 1e-11;
/// A residual is rounding when it is below this part of its terms.
const ROUNDING: f64 = 4e-14;
/// Shortest part of a step, and of the way of [`follow`], that is tried.
pub(super) const SHORTEST: f64 = 1e-4;

/// Rows below this size, or above its inverse, are in wild units: no singular point makes rows so small.
pub(super) const WILD: f64 = 1e-30;

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most steps of one search.
    pub steps: usize,
    /// The time at which all work ends.
    pub deadline: Instant,
}

/// How a search for a point on the rows ended.
#[derive(Clone, Debug)]
pub enum Landing {
    /// All rows hold to rounding.
    Landed,
    /// No step makes the residuals smaller.
    Stalled {
        /// The largest residual, relative to its terms.
        residual: f64,
        /// Its row.
        row: usize,
    },
    /// An expression has no value where the search stands.
    Fault(ArrayFault),
    /// The steps or the time are used up.
    Budget {
        /// The largest relative residual.
        residual: f64,
    },
}

impl Landing {
    /// Whether all rows hold.
    pub fn landed(&self) -> bool {
        matches!(self, Self::Landed)
    }
}

/// Most rows whose matrix is factored densely where a sparse factorisation would serve as well.
pub const DENSE_ROWS: usize = 300;

/// The matrix of the rows at a jet, factored.
pub struct Linearised {
    pub units: Units,
    factors: Factors,
}

enum Factors {
    Dense(Box<DenseFactors>),
    /// In the array's own room; `false` where the factorisation failed.
    Sparse(bool),
}

/// A pivoted QR factorisation and its numerical rank.
pub struct DenseFactors {
    pub qr: Qr,
    pub rank: usize,
}

impl Linearised {
    /// The shortest step, in units, whose change of the rows is closest to `right`; `None` where there is none.
    fn shortest_step(&mut self, array: &mut ConstraintArray, right: &[f64]) -> Option<Vec<f64>> {
        let mut step = vec![0.0; self.units.columns.len()];
        match &mut self.factors {
            Factors::Dense(factors) => {
                let DenseFactors { qr, rank } = &mut **factors;
                // A warning about accuracy is no failure as long as there is a step.
                let _ = qr.least_squares(*rank, right, &mut step);
            }
            Factors::Sparse(false) => return None,
            Factors::Sparse(true) => step = array.steps.solve(&step, right)?,
        }
        step.iter().all(|s| s.is_finite()).then_some(step)
    }

    /// The dense factors; `None` for a matrix that was factored sparsely.
    pub fn dense(&mut self) -> Option<&mut DenseFactors> {
        match &mut self.factors {
            Factors::Dense(factors) => Some(factors),
            Factors::Sparse(_) => None,
        }
    }
}

/// Size of each residual against the terms it is made of, in the units of its row. A coefficient below its unit counts
/// as one unit: a sum is not asked to vanish more exactly than its unknowns have sizes.
pub fn relative_residuals(
    array: &ConstraintArray,
    units: &Units,
    selection: &Selection,
    jet: &TaylorJet,
) -> Vec<f64> {
    let mut terms = vec![0.0_f64; selection.rows.len()];
    for &(i, j, value) in &array.entries {
        let column = selection.columns[j];
        let size = jet.get(column.unknown, column.order).abs();
        terms[i] += (units.rows[i] * value).abs() * size.max(units.columns[j]);
    }
    let sizes = array.residuals.iter().zip(&units.rows).zip(terms);
    sizes
        .map(|((f, unit), terms)| {
            let size = (f * unit).abs();
            // A row of usual size 1 has terms of size 1; one that vanishes at the point keeps that measure, and so does one whose
            // unknowns are all held.
            if terms > 0.0 && !(WILD..=1.0 / WILD).contains(&terms) {
                size / terms.max(f64::MIN_POSITIVE)
            } else {
                size / (1.0 + terms)
            }
        })
        .collect()
}

/// The largest relative residual and its row; NaN counts as the largest.
fn worst_residual(
    array: &ConstraintArray,
    units: &Units,
    selection: &Selection,
    jet: &TaylorJet,
) -> (f64, usize) {
    let mut worst = (0.0, 0);
    for (row, size) in relative_residuals(array, units, selection, jet)
        .into_iter()
        .enumerate()
    {
        if size.is_nan() {
            return (f64::INFINITY, row);
        }
        if size > worst.0 {
            worst = (size, row);
        }
    }
    worst
}

/// Norm of the residuals in the units of their rows.
fn merit(array: &ConstraintArray, units: &Units) -> f64 {
    let squares = array.residuals.iter().zip(&units.rows);
    squares.map(|(f, r)| (f * r) * (f * r)).sum::<f64>().sqrt()
}

/// Evaluates and factors the rows at a jet.
pub fn linearise(
    array: &mut ConstraintArray,
    selection: &Selection,
    units_of: &dyn Fn(&ConstraintArray) -> Units,
    jet: &TaylorJet,
) -> Result<Linearised, ArrayFault> {
    array.evaluate(jet, selection)?;
    array.differentiate(selection);
    let units = units_of(array);
    Ok(factored(array, selection, units))
}

/// Factors the rows last differentiated.
fn factored(array: &mut ConstraintArray, selection: &Selection, units: Units) -> Linearised {
    let factors = if array.is_sparse() && selection.rows.len() > DENSE_ROWS {
        let mut steps = std::mem::take(&mut array.steps);
        let succeeded = steps.onto_rows(array, &units);
        array.steps = steps;
        Factors::Sparse(succeeded)
    } else {
        let mut qr = Qr::new();
        let matrix = array.dense(&units);
        let mut rank = 0;
        if qr.factor(matrix.view()).is_ok() {
            rank = qr.rank(&ConditionRule::new(PIVOT_CUT)).rank;
        }
        Factors::Dense(Box::new(DenseFactors { qr, rank }))
    };
    Linearised { units, factors }
}

/// Adds `factor` times a step, given in units, to the selected coefficients.
pub fn moved(
    jet: &TaylorJet,
    selection: &Selection,
    units: &Units,
    step: &[f64],
    factor: f64,
) -> TaylorJet {
    let mut next = jet.clone();
    for (j, column) in selection.columns.iter().enumerate() {
        let value = jet.get(column.unknown, column.order) + factor * step[j] * units.columns[j];
        next.set(column.unknown, column.order, value);
    }
    next
}

/// The largest change of a value, coefficient 0 of an unknown, by a step; in units, but in none larger than 1.
fn step_length(selection: &Selection, units: &Units, step: &[f64]) -> f64 {
    let columns = selection.columns.iter().zip(&units.columns).zip(step);
    columns
        .filter(|((column, _), _)| column.order == 0)
        .map(|((_, unit), step)| step.abs() * unit.min(1.0))
        .fold(0.0, f64::max)
}

/// Moves the jet onto the rows by the shortest steps, in the units given.
///
/// The jet is changed to the best point reached, whatever the outcome.
pub fn land(
    array: &mut ConstraintArray,
    selection: &Selection,
    units_of: &dyn Fn(&ConstraintArray) -> Units,
    jet: &mut TaylorJet,
    limits: &Limits,
) -> Landing {
    if selection.rows.is_empty() {
        return Landing::Landed;
    }
    let mut best = f64::INFINITY;
    let mut worst = (f64::INFINITY, 0);
    if let Err(fault) = array.evaluate(jet, selection) {
        return Landing::Fault(fault);
    }
    // The rows are evaluated at the jet whenever a step begins.
    for _ in 0..limits.steps {
        if Instant::now() > limits.deadline {
            break;
        }
        array.differentiate(selection);
        let units = units_of(array);
        worst = worst_residual(array, &units, selection, jet);
        let size = merit(array, &units);
        if !size.is_finite() {
            return Landing::Stalled {
                residual: worst.0,
                row: worst.1,
            };
        }
        if size == 0.0 || (worst.0 <= ROUNDING && size >= 0.3 * best) {
            return Landing::Landed;
        }
        best = best.min(size);
        let mut here = factored(array, selection, units);
        let right: Vec<f64> = array
            .residuals
            .iter()
            .zip(&here.units.rows)
            .map(|(f, r)| -f * r)
            .collect();
        let Some(step) = here.shortest_step(array, &right) else {
            return Landing::Stalled {
                residual: worst.0,
                row: worst.1,
            };
        };
        // A long step is taken whole where the rows are nearly linear along it; otherwise it could jump to another
        // branch of the constraints, past the closest one.
        let length = step_length(selection, &here.units, &step);
        let mut factor = 1.0;
        let mut fault = None;
        loop {
            let next = moved(jet, selection, &here.units, &step, factor);
            let enough = if factor * length > LONG_STEP {
                NEARLY_LINEAR
            } else {
                1.0 - 0.05 * factor
            };
            match array.evaluate(&next, selection) {
                Ok(()) if merit(array, &here.units) <= enough * size => {
                    *jet = next;
                    break;
                }
                Ok(()) => {}
                Err(found) => fault = Some(found),
            }
            // Rounding is the end of all steps: where a whole step gains nothing, parts of it gain hardly more than noise, and
            // on large systems each of them costs as much as a step.
            if worst.0 <= 2.0 * ROUNDING && selection.rows.len() > DENSE_ROWS {
                return Landing::Landed;
            }
            factor *= 0.5;
            if factor < SHORTEST {
                if worst.0 <= 100.0 * ROUNDING {
                    return Landing::Landed;
                }
                return match fault {
                    Some(fault) => Landing::Fault(fault),
                    None => Landing::Stalled {
                        residual: worst.0,
                        row: worst.1,
                    },
                };
            }
        }
    }
    if worst.0 <= 100.0 * ROUNDING {
        return Landing::Landed;
    }
    Landing::Budget { residual: worst.0 }
}

/// One more step on rows that hold to rounding.
///
/// The norm by which steps are judged does not see the small rows; their coefficients become as accurate as the others by
/// a step that is taken whatever the norm says.
pub fn polish(
    array: &mut ConstraintArray,
    selection: &Selection,
    units_of: &dyn Fn(&ConstraintArray) -> Units,
    jet: &mut TaylorJet,
) {
    let Ok(mut here) = linearise(array, selection, units_of, jet) else {
        return;
    };
    let rows = array.residuals.iter().zip(&here.units.rows);
    let right: Vec<f64> = rows.map(|(f, r)| -f * r).collect();
    let Some(step) = here.shortest_step(array, &right) else {
        return;
    };
    let next = moved(jet, selection, &here.units, &step, 1.0);
    if array.evaluate(&next, selection).is_ok()
        && worst_residual(array, &here.units, selection, &next).0 <= ROUNDING
    {
        *jet = next;
    }
}

/// Most parts that the way of [`follow`] is cut into.
const MAX_PARTS: usize = 60;

/// Moves the jet onto the rows along a path of easier problems: the residuals are led to zero in parts, section 2 of
/// `docs/theory/initial.md`.
pub fn follow(
    array: &mut ConstraintArray,
    selection: &Selection,
    units_of: &dyn Fn(&ConstraintArray) -> Units,
    jet: &mut TaylorJet,
    limits: &Limits,
) -> Landing {
    if let Err(fault) = array.evaluate(jet, selection) {
        return Landing::Fault(fault);
    }
    let first = array.residuals.clone();
    let (mut done, mut part) = (0.0, 0.1);
    let mut outcome = Landing::Budget {
        residual: f64::INFINITY,
    };
    for _ in 0..MAX_PARTS {
        let share = f64::min(done + part, 1.0);
        let mut next = jet.clone();
        array.aim(first.iter().map(|f| (1.0 - share) * f).collect());
        outcome = land(array, selection, units_of, &mut next, limits);
        if outcome.landed() {
            *jet = next;
            done = share;
            part *= 2.0;
            if done == 1.0 {
                break;
            }
        } else {
            part *= 0.25;
            if part < SHORTEST || Instant::now() > limits.deadline {
                break;
            }
        }
    }
    array.aim(Vec::new());
    if done == 1.0 {
        land(array, selection, units_of, jet, limits)
    } else {
        outcome
    }
}
