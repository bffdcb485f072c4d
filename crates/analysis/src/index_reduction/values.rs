//! The strangeness-free form as values: [Z1'F; Z2'F_mu] with selectors that are continued smoothly.

use crate::initial::{ArrayFault, ConstraintArray, Row, Selection, TaylorJet};
use crate::outcome::Strangeness;
use crate::system::System;
use daelight_linalg::{LinalgError, Mat, Svd};
use std::fmt;

/// Why there are no values.
#[derive(Clone, Debug)]
pub enum NoValues {
    /// An expression has no value.
    Fault(ArrayFault),
    /// A factorisation failed.
    Numbers(LinalgError),
    /// The ranks are not those of the quantities given.
    Ranks {
        /// The smallest singular value kept as a part of the largest.
        kept: f64,
        /// The largest one dropped, likewise.
        dropped: f64,
    },
}

impl fmt::Display for NoValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(_) => write!(f, "an expression has no value"),
            Self::Numbers(error) => write!(f, "{error}"),
            Self::Ranks { kept, dropped } => write!(
                f,
                "the ranks are others here: singular values {kept:.1e} kept, {dropped:.1e} dropped"
            ),
        }
    }
}

impl std::error::Error for NoValues {}

/// Orthonormal bases that single out constraints and dynamics, (7) of `docs/theory/reduction.md`.
#[derive(Clone, Debug)]
pub struct Selectors {
    /// Z2: combinations of the derivative array without derivatives; (mu+1) m x a.
    pub algebraic: Mat,
    /// T2: directions along the constraints; n x (n - a).
    pub kernel: Mat,
    /// Z1: combinations of the equations that are independent along these; m x d.
    pub differential: Mat,
}

/// Evaluates the strangeness-free form of a system of any shape.
pub struct StrangenessFree<'a> {
    system: &'a System,
    quantities: Strangeness,
}

/// The form at a point: residuals and matrices by x' and x.
#[derive(Clone, Debug)]
pub struct FormValues {
    /// Z1'F, then Z2'F_mu; Taylor coefficients of the equations, not derivatives.
    pub residuals: Vec<f64>,
    /// The derivative by x': Z1'E above zeros.
    pub leading: Mat,
    /// The derivative by x, selectors held.
    pub trailing: Mat,
}

impl<'a> StrangenessFree<'a> {
    /// The form of a system with these characteristic quantities.
    pub fn new(system: &'a System, quantities: Strangeness) -> Self {
        Self { system, quantities }
    }

    fn shape(&self) -> (usize, usize) {
        let equations = self.system.equations();
        (equations.n_equations(), equations.n_unknowns())
    }

    /// The derivative array at a jet: residuals, and the matrices by x and by the higher coefficients.
    fn array(&self, time: f64, jet: &TaylorJet) -> Result<(Vec<f64>, Mat, Mat), NoValues> {
        let (m, n) = self.shape();
        let order = self.quantities.index;
        let mut array = ConstraintArray::new(self.system, time, order);
        let selection = Selection::whole(m, n, order);
        array.evaluate(jet, &selection).map_err(NoValues::Fault)?;
        array.differentiate(&selection);
        debug_assert!(matches!(selection.rows[0], Row::Equation { order: 0, .. }));
        let mut by_values = Mat::zeros((order + 1) * m, n);
        let mut by_higher = Mat::zeros((order + 1) * m, (order + 1) * n);
        for &(row, column, value) in &array.entries {
            if column < n {
                by_values[(row, column)] += value;
            } else {
                by_higher[(row, column - n)] += value;
            }
        }
        Ok((array.residuals.clone(), by_values, by_higher))
    }

    /// The selectors at a consistent jet; close to those before, if there are any, so that they depend smoothly on
    /// the jet along a run.
    pub fn selectors(
        &self,
        time: f64,
        jet: &TaylorJet,
        before: Option<&Selectors>,
    ) -> Result<Selectors, NoValues> {
        let (m, n) = self.shape();
        let Strangeness {
            n_algebraic,
            n_differential,
            n_redundant,
            ..
        } = self.quantities;
        let (_, by_values, by_higher) = self.array(time, jet)?;
        // Rows that repeat others belong to the null space of the whole array and say nothing.
        let n_null = n_algebraic + n_redundant;
        let mut svd = Svd::new();
        svd.factor(by_higher.view()).map_err(NoValues::Numbers)?;
        let rank = by_higher.nrows() - n_null;
        check(&svd, rank)?;
        let null = svd.left_null_basis(rank).map_err(NoValues::Numbers)?;
        let null = null.to_owned();
        svd.factor(null.transpose().matmul(&by_values).view())
            .map_err(NoValues::Numbers)?;
        check(&svd, n_algebraic)?;
        let range = svd.range_basis(n_algebraic).map_err(NoValues::Numbers)?;
        let algebraic = null.matmul(&range.to_owned());
        let kernel = svd.kernel_basis(n_algebraic).map_err(NoValues::Numbers)?;
        let kernel = kernel.to_owned();
        let leading = Mat::from_fn(m, n, |i, j| by_higher[(i, j)]);
        svd.factor(leading.matmul(&kernel).view())
            .map_err(NoValues::Numbers)?;
        check(&svd, n_differential)?;
        let differential = svd.range_basis(n_differential).map_err(NoValues::Numbers)?;
        let differential = differential.to_owned();
        Ok(match before {
            None => Selectors {
                algebraic,
                kernel,
                differential,
            },
            Some(before) => Selectors {
                algebraic: aligned(&algebraic, &before.algebraic)?,
                kernel: aligned(&kernel, &before.kernel)?,
                differential: aligned(&differential, &before.differential)?,
            },
        })
    }

    /// Residuals and matrices of the form with given selectors.
    pub fn values(
        &self,
        time: f64,
        jet: &TaylorJet,
        selectors: &Selectors,
    ) -> Result<FormValues, NoValues> {
        let (m, n) = self.shape();
        let (residuals, by_values, by_higher) = self.array(time, jet)?;
        let first = |matrix: &Mat| Mat::from_fn(m, n, |i, j| matrix[(i, j)]);
        let z1 = selectors.differential.transpose();
        let z2 = selectors.algebraic.transpose();
        let mut all = z1.mul_vec(&residuals[..m]);
        all.extend(z2.mul_vec(&residuals));
        let stacked = |above: &Mat, below: Option<&Mat>| {
            let rows = above.nrows() + z2.nrows();
            Mat::from_fn(rows, n, |i, j| match i.checked_sub(above.nrows()) {
                None => above[(i, j)],
                Some(i) => below.map_or(0.0, |below| below[(i, j)]),
            })
        };
        Ok(FormValues {
            residuals: all,
            leading: stacked(&z1.matmul(&first(&by_higher)), None),
            trailing: stacked(&z1.matmul(&first(&by_values)), Some(&z2.matmul(&by_values))),
        })
    }
}

/// A rank that is given must be visible: singular values kept and dropped at least a factor of 1000 apart.
fn check(svd: &Svd, rank: usize) -> Result<(), NoValues> {
    const GAP: f64 = 1e3;
    let values = svd.singular_values();
    let largest = values.first().copied().unwrap_or(0.0);
    let part = |at: Option<usize>| {
        at.and_then(|at| values.get(at))
            .map(|value| value / largest)
    };
    let kept = part(rank.checked_sub(1)).unwrap_or(1.0);
    let dropped = part(Some(rank)).filter(|_| largest > 0.0).unwrap_or(0.0);
    let missing = rank > values.len();
    if missing || kept.is_nan() || kept <= GAP * dropped.max(f64::EPSILON) {
        return Err(NoValues::Ranks { kept, dropped });
    }
    Ok(())
}

/// The orthonormal basis of the same space that is closest to another one: Q U V' with Q' Q_before = U S V'.
fn aligned(basis: &Mat, before: &Mat) -> Result<Mat, NoValues> {
    if basis.ncols() == 0 {
        return Ok(basis.clone());
    }
    let mut svd = Svd::new();
    svd.factor(basis.transpose().matmul(before).view())
        .map_err(NoValues::Numbers)?;
    let u = svd.u().map_err(NoValues::Numbers)?.to_owned();
    let v = svd.v().map_err(NoValues::Numbers)?.to_owned();
    Ok(basis.matmul(&u.matmul(&v.transpose())))
}
