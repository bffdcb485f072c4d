//! A consistent jet with twice the digits: what a second look at a real model rests on.
//!
//! Numbers in parentheses refer to `docs/theory/indices.md`, section 9.

use crate::array::DerivativeArray;
use crate::equations::Equations;
use crate::scaling::Scaling;
use crate::series::MatrixSeries;
use daelight_expr::{Dd, DdJet, Fault, JacobianSeries, Jet};
use daelight_linalg::{DdMat, LinalgError, Qr};
use std::fmt;

/// Steps allowed; each one gains about as many digits as the array's condition leaves of sixteen.
const MOST_STEPS: usize = 12;
/// The largest residual that is called sharp.
const SHARP: f64 = 1e-26;
/// A step that does not reduce the residual at least by this factor is the last one.
const PROGRESS: f64 = 0.25;

/// A jet that satisfies the derivative array in double-double, and the matrices along it.
#[derive(Clone, Debug)]
pub struct Sharpened {
    /// x_0, x_1, ..., one row per order.
    pub jet: Vec<Vec<Dd>>,
    /// E and B along the jet.
    pub series: MatrixSeries<DdMat>,
    /// The largest residual in scaled equations, relative to the terms of its order (29).
    pub residual: f64,
    /// The largest change of a coefficient, relative to its order, in the units of the unknowns.
    pub moved: f64,
    /// Steps taken.
    pub n_steps: usize,
}

/// Why a jet has no sharper version.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NotSharper {
    /// Fewer than two rows, a row of another length than the unknowns, or equations of higher order.
    Shape,
    /// The equations have no value along the jet.
    Evaluation(Fault),
    /// The array has an entry that is no number.
    Array(LinalgError),
    /// The residual stopped shrinking: the jet is not close to a consistent one, or the array is too close to singular.
    NoConvergence {
        /// The smallest relative residual reached.
        residual: f64,
        /// Steps taken.
        n_steps: usize,
    },
}

impl fmt::Display for NotSharper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => write!(f, "the jet does not fit the equations"),
            Self::Evaluation(_) => write!(f, "the equations have no value along the jet"),
            Self::Array(error) => write!(f, "the derivative array cannot be used: {error}"),
            Self::NoConvergence { residual, n_steps } => write!(
                f,
                "the residual of the jet stays at {residual:.1e} after {n_steps} steps"
            ),
        }
    }
}

impl std::error::Error for NotSharper {}

/// Improves a jet x_0, ..., x_{K+1} that nearly satisfies F_0 = ... = F_K = 0 until it does so in double-double.
///
/// Gauss-Newton with the shortest step: the residuals in double-double, the inverse by one QR factorisation of the array in
/// doubles, as in iterative refinement. Parameters and time are taken as exact. The caller judges from
/// [`Sharpened::moved`] whether it is still the same point.
pub fn sharpen(
    equations: &Equations,
    parameters: &[f64],
    time: f64,
    jet: &[Vec<f64>],
) -> Result<Sharpened, NotSharper> {
    sharpen_beside(equations, parameters, time, jet, jet)
}

/// The same from a jet `beside` a consistent one, with the array of the latter: its rank is the one on the constraints.
pub(crate) fn sharpen_beside(
    equations: &Equations,
    parameters: &[f64],
    time: f64,
    jet: &[Vec<f64>],
    beside: &[Vec<f64>],
) -> Result<Sharpened, NotSharper> {
    let n = equations.n_unknowns();
    let fits = |row: &Vec<f64>| row.len() == n;
    let same_shape = jet.len() == beside.len() && jet.iter().chain(beside).all(fits);
    if jet.len() < 2 || !same_shape || equations.order() != 1 {
        return Err(NotSharper::Shape);
    }
    let order = jet.len() - 2;
    let mut inverse = Inverse::new(equations, parameters, time, jet)?;
    let mut exact = equations.sharp_series(order, parameters);
    exact.inputs_mut().set_time(Dd::from(time));
    for (k, row) in beside.iter().enumerate() {
        for (place, &value) in exact.inputs_mut().row_mut(k).iter_mut().zip(row) {
            *place = Dd::from(value);
        }
    }
    let mut moved = 0.0_f64;
    let mut n_steps = 0;
    let mut reached = inverse.residual(&mut exact, order)?;
    while reached > 0.0 && n_steps < MOST_STEPS {
        let before = rows(&exact, order);
        let step = inverse.step(&mut exact, order)?;
        let residual = inverse.residual(&mut exact, order)?;
        n_steps += 1;
        if residual.is_nan() || residual >= reached {
            // Worse than before: back to what was reached, matrices included.
            for (k, row) in before.iter().enumerate() {
                exact.inputs_mut().row_mut(k).copy_from_slice(row);
            }
            reached = inverse.residual(&mut exact, order)?;
            break;
        }
        moved += step;
        let slow = residual > PROGRESS * reached;
        reached = residual;
        if slow {
            break;
        }
    }
    if reached.is_nan() || reached > SHARP {
        return Err(NotSharper::NoConvergence {
            residual: reached,
            n_steps,
        });
    }
    Ok(Sharpened {
        jet: rows(&exact, order),
        series: MatrixSeries::along(&exact, order).map_err(|_| NotSharper::Shape)?,
        residual: reached,
        moved,
        n_steps,
    })
}

fn rows(exact: &JacobianSeries<DdJet, Dd>, order: usize) -> Vec<Vec<Dd>> {
    (0..order + 2)
        .map(|k| exact.inputs().row(k).to_vec())
        .collect()
}

/// The array in doubles, scaled and factorised, as an approximate inverse.
struct Inverse {
    scaling: Scaling,
    qr: Qr,
    rank: usize,
    /// Residuals of all orders in scaled equations, as last evaluated.
    residuals: Vec<f64>,
    step: Vec<f64>,
}

impl Inverse {
    fn new(
        equations: &Equations,
        parameters: &[f64],
        time: f64,
        jet: &[Vec<f64>],
    ) -> Result<Self, NotSharper> {
        let order = jet.len() - 2;
        let mut series = equations.series::<Jet>(order, parameters);
        series.inputs_mut().set_time(time);
        for (k, row) in jet.iter().enumerate() {
            series.inputs_mut().row_mut(k).copy_from_slice(row);
        }
        for k in 0..=order {
            series.extend(k).map_err(NotSharper::Evaluation)?;
        }
        let matrices = MatrixSeries::along(&series, order).map_err(|_| NotSharper::Shape)?;
        let scaling = Scaling::by_low_orders(&matrices, None);
        let array = DerivativeArray::new(&scaling.apply(&matrices), 0.0);
        let whole = array.whole(order);
        let mut qr = Qr::new();
        qr.factor(whole).map_err(NotSharper::Array)?;
        // Where the rank is unclear the residual will tell: a direction left out does not shrink.
        let rank = qr.rank(&array.rule(whole.norm_frobenius())).rank;
        Ok(Self {
            residuals: vec![0.0; whole.nrows()],
            step: vec![0.0; whole.ncols()],
            scaling,
            qr,
            rank,
        })
    }

    /// Evaluates everything along the present jet; the largest residual, relative to the terms of its order (29).
    fn residual(
        &mut self,
        exact: &mut JacobianSeries<DdJet, Dd>,
        order: usize,
    ) -> Result<f64, NotSharper> {
        let m = exact.n_equations();
        let mut largest = 0.0_f64;
        for k in 0..=order {
            exact.extend(k).map_err(NotSharper::Evaluation)?;
            let rate = (k + 1) as f64 * self.scaling.time;
            let size = self.size(exact, k).max(rate * self.size(exact, k + 1));
            let power = self.scaling.time.powi(k as i32);
            for i in 0..m {
                let residual = exact.residual(i, k).hi() * self.scaling.rows[i];
                self.residuals[k * m + i] = residual * power;
                largest = largest.max(residual.abs() / size.max(1.0));
            }
        }
        Ok(largest)
    }

    /// The largest coefficient of one order in the units of the unknowns.
    fn size(&self, exact: &JacobianSeries<DdJet, Dd>, k: usize) -> f64 {
        let row = exact.inputs().row(k).iter();
        row.zip(&self.scaling.columns)
            .fold(0.0, |size: f64, (value, unit)| {
                size.max(value.hi().abs() / unit)
            })
    }

    /// Takes the shortest step that removes the linear part of the residual; its largest change relative to its order.
    fn step(
        &mut self,
        exact: &mut JacobianSeries<DdJet, Dd>,
        order: usize,
    ) -> Result<f64, NotSharper> {
        // The check of the solver is that of a single solution; here the next residual is the check.
        match self
            .qr
            .least_squares(self.rank, &self.residuals, &mut self.step)
        {
            Ok(_) | Err(LinalgError::Residual { .. }) => {}
            Err(error) => return Err(NotSharper::Array(error)),
        }
        let n = exact.n_unknowns();
        let mut largest = 0.0_f64;
        for k in 0..order + 2 {
            let power = self.scaling.time.powi(-(k as i32));
            let size = self.size(exact, k).max(1.0);
            let row = exact.inputs_mut().row_mut(k);
            for (j, place) in row.iter_mut().enumerate() {
                let change = self.step[k * n + j] * power;
                *place -= Dd::from(change * self.scaling.columns[j]);
                largest = largest.max(change.abs() / size);
            }
        }
        Ok(largest)
    }
}
