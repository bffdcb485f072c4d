//! The strangeness-free form as values: [Z1'F; Z2'F_mu] with selectors that are continued smoothly.

use crate::initial::{ArrayFault, ConstraintArray, Row, Selection, TaylorJet, Units, nominal};
use crate::outcome::Strangeness;
use crate::scaling::Scaling;
use crate::system::System;
use daelight_linalg::{GivenRule, LinalgError, Mat, Svd};
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
    /// Z2: combinations of the derivative array without derivatives, rows in units; (mu+1) m x a.
    pub algebraic: Mat,
    /// T2: directions along the constraints, unknowns in units; n x (n - a).
    pub kernel: Mat,
    /// Z1: combinations of the equations that are independent along these; m x d.
    pub differential: Mat,
}

/// Evaluates the strangeness-free form of a system of any shape.
pub struct StrangenessFree<'a> {
    system: &'a System,
    quantities: Strangeness,
    array: ConstraintArray,
    /// Orders 0 to mu of the equations, and F alone.
    whole: Selection,
    first: Selection,
    /// Of the whole array.
    units: Units,
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

/// The derivative array at a jet, with the combinations Z2 that are free of derivatives there.
pub struct ArrayParts {
    residuals: Vec<f64>,
    by_values: Mat,
    /// Of the matrix by x', x'', ..., whose smallest singular values count as zero.
    by_higher: Svd,
    rank: usize,
    /// Units of the columns x', x'', ...
    units: Vec<f64>,
}

impl ArrayParts {
    /// Z2'F_mu and its derivative by x.
    pub fn constraints(&self) -> Result<(Vec<f64>, Mat), NoValues> {
        let null = self.by_higher.left_null_basis(self.rank);
        let z2 = null.map_err(NoValues::Numbers)?.to_owned().transpose();
        Ok((z2.mul_vec(&self.residuals), z2.matmul(&self.by_values)))
    }

    /// The smallest changes dy of x', x'', ... with F_mu - (dF_mu/dx) dx - (dF_mu/dy) dy = 0, up to what the
    /// constraints leave: as coefficients, order by order, and the largest of them in their units.
    pub fn higher(&self, dx: &[f64]) -> Result<(Vec<f64>, f64), NoValues> {
        let moved = self.by_values.mul_vec(dx);
        let rest: Vec<f64> = self
            .residuals
            .iter()
            .zip(moved)
            .map(|(r, m)| r - m)
            .collect();
        let u = self.by_higher.u().map_err(NoValues::Numbers)?.to_owned();
        let v = self.by_higher.v().map_err(NoValues::Numbers)?.to_owned();
        let mut change = vec![0.0; v.nrows()];
        for (k, &size) in self.by_higher.singular_values()[..self.rank]
            .iter()
            .enumerate()
        {
            let part: f64 = u.col(k).iter().zip(&rest).map(|(u, r)| u * r).sum();
            for (change, v) in change.iter_mut().zip(v.col(k)) {
                *change += part / size * v;
            }
        }
        let largest = change
            .iter()
            .fold(0.0, |largest: f64, c| largest.max(c.abs()));
        for (change, unit) in change.iter_mut().zip(&self.units) {
            *change *= unit;
        }
        Ok((change, largest))
    }
}

impl<'a> StrangenessFree<'a> {
    /// The form of a system with these characteristic quantities.
    pub fn new(system: &'a System, quantities: Strangeness) -> Self {
        let equations = system.equations();
        let (m, n) = (equations.n_equations(), equations.n_unknowns());
        let whole = Selection::whole(m, n, quantities.index);
        let ones = |n: usize| vec![1.0; n];
        Self {
            system,
            quantities,
            array: ConstraintArray::new(system, 0.0, quantities.index),
            units: Units {
                rows: ones(whole.rows.len()),
                columns: ones(whole.columns.len()),
            },
            whole,
            first: Selection::whole(m, n, 0),
        }
    }

    /// The characteristic quantities.
    pub fn quantities(&self) -> Strangeness {
        self.quantities
    }

    /// Number of unknowns.
    pub fn n_unknowns(&self) -> usize {
        self.shape().1
    }

    /// Takes the units of rows and columns from a jet, so that ranks are seen in models with stiff springs and large
    /// torques. Selectors found before belong to the units before.
    pub fn rescale(&mut self, time: f64, jet: &TaylorJet) -> Result<(), NoValues> {
        self.array.set_time(time);
        let series = self.array.matrix_series(jet, self.quantities.index);
        let series = series.map_err(NoValues::Fault)?;
        let scaling = Scaling::by_low_orders(&series, Some(&nominal(self.system)));
        self.units = Units::of_scaling(&scaling, &self.whole);
        Ok(())
    }

    fn shape(&self) -> (usize, usize) {
        let equations = self.system.equations();
        (equations.n_equations(), equations.n_unknowns())
    }

    /// The derivative array at a jet: residuals, and the matrices by x as given and by the higher coefficients in units.
    fn array(&mut self, time: f64, jet: &TaylorJet) -> Result<(Vec<f64>, Mat, Mat), NoValues> {
        let n = self.shape().1;
        self.array.set_time(time);
        self.array
            .evaluate(jet, &self.whole)
            .map_err(NoValues::Fault)?;
        self.array.differentiate(&self.whole);
        debug_assert!(matches!(self.whole.rows[0], Row::Equation { order: 0, .. }));
        let rows = self.whole.rows.len();
        let mut by_values = Mat::zeros(rows, n);
        let mut by_higher = Mat::zeros(rows, self.whole.columns.len() - n);
        for &(row, column, value) in &self.array.entries {
            let value = self.units.rows[row] * value;
            if column < n {
                by_values[(row, column)] += value;
            } else {
                by_higher[(row, column - n)] += value * self.units.columns[column];
            }
        }
        Ok((self.scaled_residuals(), by_values, by_higher))
    }

    /// Residuals of the rows last evaluated, in units.
    fn scaled_residuals(&self) -> Vec<f64> {
        let residuals = self.array.residuals.iter();
        residuals
            .zip(&self.units.rows)
            .map(|(residual, unit)| residual * unit)
            .collect()
    }

    /// The derivative array at any jet, its rank taken from the characteristic quantities.
    pub fn parts(&mut self, time: f64, jet: &TaylorJet) -> Result<ArrayParts, NoValues> {
        let n = self.shape().1;
        let (residuals, by_values, matrix) = self.array(time, jet)?;
        let Strangeness {
            n_algebraic,
            n_redundant,
            ..
        } = self.quantities;
        let mut by_higher = Svd::new();
        by_higher.factor(matrix.view()).map_err(NoValues::Numbers)?;
        Ok(ArrayParts {
            rank: matrix.nrows() - n_algebraic - n_redundant,
            residuals,
            by_values,
            by_higher,
            units: self.units.columns[n..].to_vec(),
        })
    }

    /// Z1'F with its derivatives by x' and x, at values and rates that need not fit the constraints.
    pub fn dynamics(
        &mut self,
        time: f64,
        jet: &TaylorJet,
        selectors: &Selectors,
    ) -> Result<FormValues, NoValues> {
        let (m, n) = self.shape();
        self.array.set_time(time);
        self.array
            .evaluate(jet, &self.first)
            .map_err(NoValues::Fault)?;
        self.array.differentiate(&self.first);
        let mut both = Mat::zeros(m, 2 * n);
        for &(row, column, value) in &self.array.entries {
            both[(row, column)] += self.units.rows[row] * value;
        }
        let z1 = selectors.differential.transpose();
        let both = z1.matmul(&both);
        let part = |first: usize| Mat::from_fn(both.nrows(), n, |i, j| both[(i, first + j)]);
        Ok(FormValues {
            residuals: z1.mul_vec(&self.scaled_residuals()),
            leading: part(n),
            trailing: part(0),
        })
    }

    /// The selectors at a consistent jet; close to those before, if there are any, so that they depend smoothly on
    /// the jet along a run.
    pub fn selectors(
        &mut self,
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
        let by_values = Mat::from_fn(by_values.nrows(), n, |i, j| {
            by_values[(i, j)] * self.units.columns[j]
        });
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
        &mut self,
        time: f64,
        jet: &TaylorJet,
        selectors: &Selectors,
    ) -> Result<FormValues, NoValues> {
        let dynamics = self.dynamics(time, jet, selectors)?;
        let (residuals, by_values, _) = self.array(time, jet)?;
        let z2 = selectors.algebraic.transpose();
        let constraints = z2.matmul(&by_values);
        let mut all = dynamics.residuals;
        all.extend(z2.mul_vec(&residuals));
        Ok(FormValues {
            residuals: all,
            leading: stacked(
                &dynamics.leading,
                &Mat::zeros(z2.nrows(), by_values.ncols()),
            ),
            trailing: stacked(&dynamics.trailing, &constraints),
        })
    }
}

/// One matrix above another.
fn stacked(above: &Mat, below: &Mat) -> Mat {
    let rows = above.nrows() + below.nrows();
    Mat::from_fn(rows, above.ncols(), |i, j| {
        match i.checked_sub(above.nrows()) {
            None => above[(i, j)],
            Some(i) => below[(i, j)],
        }
    })
}

/// A rank that is given must be visible in the singular values.
fn check(svd: &Svd, rank: usize) -> Result<(), NoValues> {
    let decision = svd.rank(&GivenRule { rank });
    match decision.decided() {
        Some(_) => Ok(()),
        None => Err(NoValues::Ranks {
            kept: decision.smallest_kept(),
            dropped: decision.largest_dropped(),
        }),
    }
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
