//! The consistent point closest to the guess: minimisation over the points that satisfy the rows, section 3 of
//! `docs/theory/initial.md`.

use super::array::{ConstraintArray, Selection, Units};
use super::jet::TaylorJet;
use super::newton::{Limits, Linearised, land, linearise, moved};
use crate::tolerances::{FLAT, SAME_JET};
use daelight_linalg::{Lu, Mat, Qr, Svd};
use std::time::Instant;

/// Most directions along which the curvature of the constraints is measured; beyond, it is left out.
const MAX_CURVED: usize = 40;
/// The gradient along the constraints is zero below this part of the distance.
pub(super) const STATIONARY: f64 = 1e-11;
/// Directions that move the guessed components less than this part of what they could do not count.
const INEFFECTIVE: f64 = 1e-9;
/// Most steps along the constraints.
pub(super) const MAX_STEPS: usize = 60;

/// Which components count, and how much.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Projector onto the components that count, over their sizes.
    Projector(Mat),
    /// One weight for each unknown: for systems too large for a projector.
    Diagonal(Vec<f64>),
}

/// What is to be close to what: `weights * (x - values)`.
#[derive(Clone, Debug)]
pub struct Target {
    /// The weights of the components.
    pub weights: Weights,
    /// The guess.
    pub values: Vec<f64>,
    /// Components that keep their value while others approach the guess.
    pub frozen: Vec<Weights>,
}

impl Weights {
    /// The weights times a matrix of changes.
    fn times(&self, changes: &Mat) -> Mat {
        match self {
            Self::Projector(matrix) => matrix.matmul(changes),
            Self::Diagonal(weights) => Mat::from_fn(changes.nrows(), changes.ncols(), |i, j| {
                weights[i] * changes[(i, j)]
            }),
        }
    }

    /// The same for some unknowns alone.
    pub(super) fn of_some(&self, counts: impl Fn(usize) -> bool) -> Self {
        match self {
            Self::Projector(matrix) => {
                Self::Projector(Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| {
                    if counts(j) { matrix[(i, j)] } else { 0.0 }
                }))
            }
            Self::Diagonal(weights) => {
                let weights = weights.iter().enumerate();
                Self::Diagonal(
                    weights
                        .map(|(j, w)| if counts(j) { *w } else { 0.0 })
                        .collect(),
                )
            }
        }
    }

    /// Whether an unknown counts by itself, and not only together with others.
    pub(super) fn counts_alone(&self, unknown: usize, nominal: f64) -> bool {
        match self {
            Self::Projector(matrix) => {
                (matrix[(unknown, unknown)] * nominal - 1.0).abs() < SAME_JET
            }
            Self::Diagonal(weights) => weights[unknown] > 0.0,
        }
    }

    /// How far the weighted components move with an unknown.
    fn of(&self, unknown: usize) -> f64 {
        match self {
            Self::Projector(matrix) => norm(matrix.col(unknown)),
            Self::Diagonal(weights) => weights[unknown],
        }
    }
}

impl Target {
    fn error(&self, jet: &TaylorJet) -> Vec<f64> {
        let apart = jet.values().iter().zip(&self.values).map(|(x, a)| x - a);
        match &self.weights {
            Weights::Projector(matrix) => matrix.mul_vec(&apart.collect::<Vec<f64>>()),
            Weights::Diagonal(weights) => apart.zip(weights).map(|(x, w)| x * w).collect(),
        }
    }

    /// The distance of a jet's values from the target.
    pub fn distance(&self, jet: &TaylorJet) -> f64 {
        norm(&self.error(jet))
    }

    /// Gradient of half the squared distance by the values.
    pub(super) fn gradient(&self, jet: &TaylorJet) -> Vec<f64> {
        let error = self.error(jet);
        match &self.weights {
            Weights::Projector(matrix) => matrix.transpose().mul_vec(&error),
            Weights::Diagonal(weights) => error.iter().zip(weights).map(|(e, w)| e * w).collect(),
        }
    }

    /// How far the error moves with an unknown.
    pub(super) fn weight(&self, unknown: usize) -> f64 {
        self.weights.of(unknown)
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
    /// Steps along the constraints stopped leading closer before the gradient vanished.
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
}

/// Directions that move some components, and those that do not.
struct Split {
    effective: Mat,
    ineffective: Mat,
}

impl Split {
    /// Of the effects of directions, and the largest effect that one could have.
    fn new(effect: &Mat, largest: f64) -> Option<Self> {
        let n = effect.ncols();
        let mut svd = Svd::new();
        svd.factor(effect.view()).ok()?;
        let values = svd.singular_values();
        let rank = values
            .iter()
            .filter(|s| **s > INEFFECTIVE * largest)
            .count();
        let v = svd.v().ok()?;
        Some(Self {
            effective: v.submatrix(0, 0, n, rank).to_owned(),
            ineffective: v.submatrix(0, rank, n, n - rank).to_owned(),
        })
    }
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
    // How the values change along the kernel.
    let n = target.values.len();
    let mut change = Mat::zeros(n, n_free);
    for (j, column) in selection.columns.iter().enumerate() {
        if column.order == 0 {
            for k in 0..n_free {
                change[(column.unknown, k)] = here.units.columns[j] * kernel[(j, k)];
            }
        }
    }
    // The kernel is orthonormal in units, so the weights in units are the size that an effect can have.
    let largest = |weights: &Weights| {
        let units = selection.columns.iter().zip(&here.units.columns);
        units
            .filter(|(column, _)| column.order == 0)
            .map(|(column, unit)| unit * weights.of(column.unknown))
            .fold(0.0, f64::max)
    };
    for frozen in &target.frozen {
        let split = Split::new(&frozen.times(&change), largest(frozen))?;
        kernel = kernel.matmul(&split.ineffective);
        change = change.matmul(&split.ineffective);
    }
    let effect = target.weights.times(&change);
    let v = Split::new(&effect, largest(&target.weights))?.effective;
    let rank = v.ncols();
    let effect = effect.matmul(&v);
    let gradient = (0..rank).map(|k| dot(effect.col(k), error)).collect();
    Some(Tangent {
        directions: kernel.matmul(&v),
        gradient,
        effect,
    })
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
        let h_step = 1e-6 / largest.max(1e-300);
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
    let mut size_before = f64::INFINITY;
    for _ in 0..MAX_STEPS {
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
        // The gradient in the metric of the distance.
        let size = (0..tangent.gradient.len())
            .map(|k| tangent.gradient[k] / norm(tangent.effect.col(k)).max(1e-300))
            .fold(0.0_f64, |m, g| m.max(g.abs()));
        if size <= STATIONARY * distance.max(1e-3) {
            return Closeness::Closest;
        }
        let curved = hessian(array, selection, &mut here, jet, target, &tangent);
        let step = tangent
            .directions
            .mul_vec(&direction(curved.as_ref(), &tangent));
        let mut factor = 1.0;
        loop {
            let mut next = moved(jet, selection, &here.units, &step, factor);
            let landed = land(array, selection, units_of, &mut next, limits).landed();
            // The distance is flat around its minimum and tells half of the digits; the gradient tells the others.
            let now = target.distance(&next);
            let is_flat = factor == 1.0 && now <= distance * (1.0 + FLAT);
            let is_nearing = size_before.is_finite() && size <= 0.5 * size_before;
            if landed && (now < distance || (is_flat && is_nearing)) {
                *jet = next;
                break;
            }
            factor *= 0.5;
            if factor < 1e-6 {
                let stationary = size <= 1e4 * STATIONARY * distance.max(1e-3);
                return if stationary {
                    Closeness::Closest
                } else {
                    Closeness::Stopped
                };
            }
        }
        let now = target.distance(jet);
        if (distance - now).abs() <= FLAT * now && size > 0.5 * size_before {
            return Closeness::Closest;
        }
        size_before = size;
    }
    Closeness::Budget
}
