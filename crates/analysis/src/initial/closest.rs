//! The consistent point closest to the guess: minimisation over the points that satisfy the rows, section 3 of
//! `docs/theory/initial.md`.

use super::array::{ConstraintArray, Selection, Units};
use super::jet::TaylorJet;
use super::newton::{Limits, Linearised, SHORTEST, land, linearise, moved};
use crate::tolerances::{DIFFERENCE, FLAT, MAX_NEWTON_STEPS, NEAR};
use daelight_linalg::{ConditionRule, Lu, Mat, Qr, Svd};
use std::time::Instant;

/// Most directions along which the curvature of the constraints is measured; beyond, it is left out.
const MAX_CURVED: usize = 40;
/// The gradient along the constraints is zero below this part of the distance, and a step that moves less than this, in units
/// of the unknowns, is the last one.
const STATIONARY: f64 = 1e-11;
/// Directions that move the guessed components less than this part of what they could do not count.
const INEFFECTIVE: f64 = 1e-9;
/// What is to be close to what: `weights * (x - values)`, one weight for each unknown, (6).
#[derive(Clone, Debug)]
pub struct Target {
    /// Inverse sizes of the unknowns that count, 0 for the others.
    pub weights: Vec<f64>,
    /// The guess.
    pub values: Vec<f64>,
}

impl Target {
    fn error(&self, jet: &TaylorJet) -> Vec<f64> {
        let apart = jet.values().iter().zip(&self.values).map(|(x, a)| x - a);
        apart.zip(&self.weights).map(|(x, w)| x * w).collect()
    }

    /// The distance of a jet's values from the target.
    pub fn distance(&self, jet: &TaylorJet) -> f64 {
        norm(&self.error(jet))
    }

    /// Gradient of half the squared distance by the values.
    pub(super) fn gradient(&self, jet: &TaylorJet) -> Vec<f64> {
        let error = self.error(jet);
        error
            .iter()
            .zip(&self.weights)
            .map(|(e, w)| e * w)
            .collect()
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// How the minimisation ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closeness {
    /// No direction along the constraints leads closer.
    Closest,
    /// Steps along the constraints stopped leading closer before the gradient vanished, or the distance falls towards a fold,
    /// where no point is consistent.
    Stopped,
    /// The time or the steps are used up.
    Budget,
}

/// The directions along the rows that change the guessed components.
struct Tangent {
    /// In units, one column a direction.
    directions: Mat,
    /// Gradient of half the squared distance along them.
    gradient: Vec<f64>,
    /// How the guessed components change along them.
    effect: Mat,
    /// The rounding of an entry of the gradient over the distance: directions are known to units of rounding, each of which moves
    /// a component by the largest weight at most.
    rounding: f64,
}

fn tangent(
    here: &mut Linearised,
    selection: &Selection,
    target: &Target,
    error: &[f64],
) -> Option<Tangent> {
    let n_columns = selection.columns.len();
    let factors = here.dense()?;
    let n_free = n_columns - factors.rank;
    let mut kernel = Mat::zeros(n_columns, n_free);
    factors
        .qr
        .kernel_basis(factors.rank, kernel.view_mut())
        .ok()?;
    // How the guessed components change along the kernel, and the largest change that a unit step could make.
    let mut effect = Mat::zeros(target.values.len(), n_free);
    let mut largest = 0.0_f64;
    for (j, column) in selection.columns.iter().enumerate() {
        if column.order == 0 {
            let weight = here.units.columns[j] * target.weights[column.unknown];
            largest = largest.max(weight);
            for k in 0..n_free {
                effect[(column.unknown, k)] = weight * kernel[(j, k)];
            }
        }
    }
    let mut svd = Svd::new();
    svd.factor(effect.view()).ok()?;
    let rank = svd.rank(&ConditionRule::of(largest, INEFFECTIVE)).rank;
    let v = svd.v().ok()?.submatrix(0, 0, n_free, rank).to_owned();
    let effect = effect.matmul(&v);
    let gradient = (0..rank).map(|k| dot(effect.col(k), error)).collect();
    Some(Tangent {
        directions: kernel.matmul(&v),
        gradient,
        effect,
        rounding: f64::EPSILON * largest * n_columns as f64,
    })
}

/// The length of a step, or of a gradient, at which a distance is as short as it gets.
pub(super) fn stationary(distance: f64) -> f64 {
    STATIONARY * distance.max(NEAR)
}

/// Second derivatives of the Lagrangian along the tangent directions, (8): the constraints' curvature by differences of
/// the rows' derivatives, times their multipliers.
fn hessian(
    array: &mut ConstraintArray,
    selection: &Selection,
    here: &mut Linearised,
    jet: &TaylorJet,
    target: &Target,
    tangent: &Tangent,
) -> Option<Mat> {
    let rank = here.dense()?.rank;
    let n_directions = tangent.gradient.len();
    let mut h = tangent.effect.transpose().matmul(&tangent.effect);
    if n_directions > MAX_CURVED {
        return Some(h);
    }
    array.evaluate(jet, selection).ok()?;
    array.differentiate(selection);
    let at = array.dense(&here.units).transpose();
    // The multipliers balance the gradient of the distance.
    let pull = target.gradient(jet);
    let gradient: Vec<f64> = selection
        .columns
        .iter()
        .zip(&here.units.columns)
        .map(|(c, unit)| {
            if c.order == 0 {
                -unit * pull[c.unknown]
            } else {
                0.0
            }
        })
        .collect();
    let mut qr = Qr::new();
    qr.factor(at.view()).ok()?;
    let mut multipliers = vec![0.0; selection.rows.len()];
    qr.least_squares(rank, &gradient, &mut multipliers).ok()?;
    let before = at.mul_vec(&multipliers);
    for k in 0..n_directions {
        let direction = tangent.directions.col(k).to_vec();
        let largest = direction.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        let h_step = DIFFERENCE / largest.max(f64::MIN_POSITIVE);
        let beside = moved(jet, selection, &here.units, &direction, h_step);
        array.evaluate(&beside, selection).ok()?;
        array.differentiate(selection);
        let after = array.dense(&here.units).transpose().mul_vec(&multipliers);
        let bend: Vec<f64> = after
            .iter()
            .zip(&before)
            .map(|(a, b)| (a - b) / h_step)
            .collect();
        for i in 0..n_directions {
            h[(i, k)] += dot(tangent.directions.col(i), &bend);
        }
    }
    Some(Mat::from_fn(n_directions, n_directions, |i, j| {
        0.5 * (h[(i, j)] + h[(j, i)])
    }))
}

/// The step along the tangent: Newton's where it leads down, else the Gauss-Newton step.
fn direction(hessian: Option<&Mat>, tangent: &Tangent) -> Vec<f64> {
    let n = tangent.gradient.len();
    let opposite: Vec<f64> = tangent.gradient.iter().map(|g| -g).collect();
    for matrix in [
        hessian.cloned(),
        Some(tangent.effect.transpose().matmul(&tangent.effect)),
    ] {
        let Some(matrix) = matrix else { continue };
        let mut lu = Lu::with_capacity(n);
        let mut step = opposite.clone();
        if lu.factor(matrix.view()).is_ok()
            && lu.solve(&mut step).is_ok()
            && dot(&step, &tangent.gradient) < 0.0
        {
            return step;
        }
    }
    opposite
}

/// Moves along the rows to the point closest to the target. The jet satisfies the rows before and after.
pub fn minimise(
    array: &mut ConstraintArray,
    selection: &Selection,
    units_of: &dyn Fn(&ConstraintArray) -> Units,
    jet: &mut TaylorJet,
    target: &Target,
    limits: &Limits,
) -> Closeness {
    let mut length_before = f64::INFINITY;
    let mut n_directions = None;
    for _ in 0..MAX_NEWTON_STEPS {
        if Instant::now() > limits.deadline {
            return Closeness::Budget;
        }
        let error = target.error(jet);
        let distance = norm(&error);
        if distance == 0.0 {
            return Closeness::Closest;
        }
        let Ok(mut here) = linearise(array, selection, units_of, jet) else {
            return Closeness::Stopped;
        };
        let Some(tangent) = tangent(&mut here, selection, target, &error) else {
            return Closeness::Stopped;
        };
        // A direction that stops moving the components has reached a fold.
        if tangent.gradient.len() < *n_directions.get_or_insert(tangent.gradient.len()) {
            return Closeness::Stopped;
        }
        // The gradient in the metric of the distance, as far as it is more than rounding.
        let size = (0..tangent.gradient.len())
            .filter(|k| tangent.gradient[*k].abs() > tangent.rounding * distance)
            .map(|k| tangent.gradient[k] / norm(tangent.effect.col(k)).max(f64::MIN_POSITIVE))
            .fold(0.0_f64, |m, g| m.max(g.abs()));
        if size <= stationary(distance) {
            return Closeness::Closest;
        }
        let curved = hessian(array, selection, &mut here, jet, target, &tangent);
        let along = direction(curved.as_ref(), &tangent);
        // The directions are orthonormal in units, so this is how far the step moves the point.
        let length = norm(&along);
        let step = tangent.directions.mul_vec(&along);
        let mut factor = 1.0;
        let is_flat = loop {
            let mut next = moved(jet, selection, &here.units, &step, factor);
            let landed = land(array, selection, units_of, &mut next, limits).landed();
            // The distance is flat around its minimum and tells half of the digits; the steps tell the others.
            let now = target.distance(&next);
            let is_flat = factor == 1.0 && (now - distance).abs() <= FLAT * distance;
            if landed && (now < distance || is_flat) {
                *jet = next;
                break is_flat;
            }
            factor *= 0.5;
            if factor < SHORTEST {
                return match length <= 1e4 * STATIONARY {
                    true => Closeness::Closest,
                    false => Closeness::Stopped,
                };
            }
        };
        if length <= STATIONARY || (is_flat && length > 0.5 * length_before) {
            return Closeness::Closest;
        }
        length_before = length;
    }
    Closeness::Budget
}
