//! Finite eigenvalues of the linearised equations at a point: growth and oscillation of neighbouring solutions.
//!
//! E y' + B y = 0 with the matrices of the point has as many finite eigenvalues lambda, det(lambda E + B) = 0, as the DAE
//! has degrees of freedom; all others are infinite. For an inverse model, which prescribes a motion and asks for the forces,
//! they are the zeros of the linearised plant: its zero dynamics. Numbers in parentheses refer to `docs/theory/spectrum.md`.

use crate::initial::{Spot, TaylorJet, nominal};
use crate::passport::{Passport, PointVerdict, Regularity};
use crate::reduction::Reduction;
use crate::scaling::Scaling;
use crate::series::MatrixSeries;
use crate::structure::{Offsets, Structure};
use crate::tolerances::{HOLDS, MAX_NEWTON_STEPS};
use crate::{Equations, System};
use daelight_expr::Walker;
use daelight_lang::Symbol;
use daelight_linalg::{Eigenvalue, Lu, Mat, Qr, balancing, eigenvalues};

/// Most derivatives x_j^(s) for which the infinite eigenvalues are separated; the cost grows with the third power.
pub(crate) const MAX_DERIVATIVES: usize = 1500;
/// Largest residual of an eigenvector in the pencil, relative to its terms, with which an eigenvalue is believed.
const MAX_RESIDUAL: f64 = 1e-7;
/// Real parts below this part of an eigenvalue, and velocities below this part of the unknown in the unit of time, are 0 for all
/// that a model can say.
const NOTHING: f64 = 1e-9;
/// Random changes of a matrix that show how its eigenvalues move.
const N_CHANGES: usize = 3;
/// By how much the largest of these movements may be too small.
const MARGIN: f64 = 10.0;
/// Longest of these steps, in units of the unknowns.
const MAX_MOVE: f64 = 10.0;
/// A finite eigenvalue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiniteEigenvalue {
    /// Real part, per unit of time.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
    /// By how much rounding may have moved it.
    pub uncertainty: f64,
}

impl FiniteEigenvalue {
    /// Whether its real part cannot be told from zero.
    fn is_on_axis(&self) -> bool {
        self.re.abs() <= self.uncertainty + NOTHING * f64::hypot(self.re, self.im)
    }
}

/// All finite eigenvalues at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// The eigenvalues, the largest real part first, as many as degrees of freedom.
    pub eigenvalues: Vec<FiniteEigenvalue>,
    /// Whether they decide about stability: at rest, and for constant coefficients. Elsewhere they belong to coefficients
    /// frozen in motion, which decide nothing.
    pub is_decisive: bool,
}

impl Spectrum {
    /// Whether all eigenvalues have negative real parts: for an inverse model, whether it is minimum phase.
    ///
    /// `Err` tells why that is not decided.
    pub fn minimum_phase(&self) -> Result<bool, String> {
        if !self.is_decisive && !self.eigenvalues.is_empty() {
            return Err(
                "the point is in motion, where frozen coefficients decide nothing".to_string(),
            );
        }
        let unstable = |e: &FiniteEigenvalue| e.re > 0.0 && !e.is_on_axis();
        if self.eigenvalues.iter().any(unstable) {
            return Ok(false);
        }
        match self.eigenvalues.iter().find(|e| e.is_on_axis()) {
            Some(e) => Err(format!(
                "the eigenvalue {} is on the imaginary axis within rounding",
                written(e)
            )),
            None => Ok(true),
        }
    }
}

/// An eigenvalue as text with six digits.
pub fn written(e: &FiniteEigenvalue) -> String {
    let digits = |v: f64| {
        let v = if v.abs() <= e.uncertainty { 0.0 } else { v };
        let text = format!("{v:.5e}");
        let number: f64 = text.parse().unwrap_or(v);
        number.to_string()
    };
    match digits(e.im) {
        im if im == "0" || im == "-0" => digits(e.re),
        im if im.starts_with('-') => format!("{} - {}i", digits(e.re), &im[1..]),
        im => format!("{} + {im}i", digits(e.re)),
    }
}

/// How the infinite eigenvalues are separated.
#[derive(Clone, Copy, Debug)]
pub enum Separation<'a> {
    /// By the structure, whose system Jacobian is nonsingular at the point (2).
    Structure(&'a Structure),
    /// By ranks, where the structure does not hold (4); the degrees of freedom are known.
    Ranks {
        /// Degrees of freedom, and so the number of finite eigenvalues.
        n_degrees_of_freedom: usize,
    },
}

impl Passport {
    /// The finite eigenvalues at the point of the passport; `Err` tells why there are none to rely on.
    pub fn spectrum(&self, system: &System) -> Result<Spectrum, String> {
        let Ok(point) = &self.point else {
            return Err("no consistent point was found".to_string());
        };
        let spot = Spot {
            time: self.time,
            jet: &point.jet,
            sides: point.sides(),
        };
        spectrum(system, self.separation()?, spot)
    }

    /// How the infinite eigenvalues are separated at the point of the passport; `Err` tells why they are not.
    pub fn separation(&self) -> Result<Separation<'_>, String> {
        let Some(part) = self.structure() else {
            return Err("equations and unknowns do not match".to_string());
        };
        if let PointVerdict::Singular { .. } = self.verdict {
            return Err("the point is singular".to_string());
        }
        match (&part.regularity, self.indices()) {
            (Regularity::Regular, _) => Ok(Separation::Structure(&part.structure)),
            (_, Some(indices)) if self.verdict == PointVerdict::Regular => Ok(Separation::Ranks {
                n_degrees_of_freedom: indices.strangeness.n_differential,
            }),
            _ => Err("the structure does not hold at the point".to_string()),
        }
    }
}

/// The finite eigenvalues of a system at a point, values and first derivatives taken from a jet.
pub fn spectrum(
    system: &System,
    separation: Separation<'_>,
    spot: Spot<'_>,
) -> Result<Spectrum, String> {
    let equations = system.equations();
    let n = equations.n_unknowns();
    let jet = spot.jet;
    let mut evaluator = spot.evaluator(system);
    evaluator
        .jacobians()
        .map_err(|fault| system.explain(&fault).sentence)?;
    let entries = |derivative: usize| -> Vec<(usize, usize, f64)> {
        let pattern = equations.pattern(derivative);
        let value = |(i, j, at)| (i, j, evaluator.entry(derivative, at));
        pattern.iter().map(value).collect()
    };
    let (mut e, mut b) = (entries(1), entries(0));
    let sizes = nominal(system);
    let scaling = Scaling::of_entries(equations.n_equations(), &e, &b, &sizes);
    for (list, factor) in [(&mut e, 1.0 / scaling.time), (&mut b, 1.0)] {
        for (i, j, value) in list.iter_mut() {
            *value *= scaling.rows[*i] * scaling.columns[*j] * factor;
        }
    }
    let pencil = Pencil { n, e, b };
    let motion = match separation {
        Separation::Structure(structure) => pencil.motion_by_structure(structure.offsets())?,
        Separation::Ranks {
            n_degrees_of_freedom,
        } => pencil.motion_by_ranks(n_degrees_of_freedom)?,
    };
    let is_at_rest = equations.pattern(1).columns().iter().all(|&j| {
        let j = j as usize;
        let size = sizes[j].max(jet.get(j, 0).abs());
        jet.get(j, 1).abs() * scaling.time <= NOTHING * size
    });
    Ok(Spectrum {
        eigenvalues: pencil.eigenvalues(&motion, scaling.time)?,
        is_decisive: is_at_rest || has_constant_coefficients(equations),
    })
}

/// Whether no entry of E and B depends on the time or on unknowns.
fn has_constant_coefficients(equations: &Equations) -> bool {
    let entries: Vec<_> = (0..=equations.order())
        .flat_map(|order| equations.jacobian(order).entries.iter().copied())
        .collect();
    Walker::new()
        .symbols(equations.graph(), &entries)
        .into_iter()
        .all(|id| matches!(equations.symbols().get(id), Symbol::Parameter(_)))
}

/// The point at rest closest to a guess, all motions stopped at a time: F(time, x, 0) = 0 (7).
///
/// `None` when Newton's method does not arrive, or when the point is not isolated.
pub fn rest_point(system: &System, near: Spot<'_>) -> Option<TaylorJet> {
    let guess = near.jet.values();
    let n = guess.len();
    let sizes = nominal(system);
    let mut evaluator = near.evaluator(system);
    evaluator.set(1, &vec![0.0; n]);
    let mut x = guess.to_vec();
    let mut lu = Lu::new();
    let mut last = f64::INFINITY;
    for _ in 0..MAX_NEWTON_STEPS {
        evaluator.set(0, &x);
        let mut step = vec![0.0; n];
        evaluator.residuals(&mut step).ok()?;
        evaluator.jacobians().ok()?;
        let mut matrix = Mat::zeros(n, n);
        for (i, j, at) in system.equations().pattern(0).iter() {
            matrix[(i, j)] += evaluator.entry(0, at);
        }
        for (i, residual) in step.iter_mut().enumerate() {
            let largest = (0..n)
                .map(|j| (matrix[(i, j)] * sizes[j]).abs())
                .fold(0.0, f64::max);
            if largest > 0.0 {
                *residual /= largest;
                (0..n).for_each(|j| matrix[(i, j)] *= sizes[j] / largest);
            }
        }
        lu.factor(matrix.view()).ok()?;
        lu.solve(&mut step).ok()?;
        let length = step.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        // Far from the solution a full step may jump to another branch.
        let factor = (MAX_MOVE / length).min(1.0);
        for ((x, step), size) in x.iter_mut().zip(&step).zip(&sizes) {
            *x -= factor * step * size;
        }
        if length <= HOLDS || (length <= NOTHING && length >= last) {
            return Some(TaylorJet::at_rest(&x, 2));
        }
        last = length;
    }
    None
}

/// E and B in scaled units, by their entries (i, j, value).
struct Pencil {
    n: usize,
    e: Vec<(usize, usize, f64)>,
    b: Vec<(usize, usize, f64)>,
}

/// A basis of the solutions of E y' + B y = 0, and how they move.
struct Motion {
    /// Values of all unknowns, n x dof.
    values: Mat,
    /// Quantities whose values determine a solution, for each of the basis.
    states: Mat,
    /// Their rates.
    rates: Mat,
}

impl Pencil {
    /// Solutions as the kernel of the equations and their derivatives that the structure asks for (2), (3).
    fn motion_by_structure(&self, offsets: &Offsets) -> Result<Motion, String> {
        let mut first = Vec::with_capacity(self.n);
        let mut n_columns = 0;
        for d in &offsets.variable {
            first.push(n_columns);
            n_columns += d + 1;
        }
        if n_columns > MAX_DERIVATIVES {
            return Err(format!(
                "{n_columns} derivatives are more than {MAX_DERIVATIVES}"
            ));
        }
        let mut row = Vec::with_capacity(self.n);
        let mut n_rows = 0;
        for c in &offsets.equation {
            row.push(n_rows);
            n_rows += c + 1;
        }
        // The transposed matrix: its left null space is the kernel.
        let mut prolonged = Mat::zeros(n_columns, n_rows);
        for (list, order) in [(&self.b, 0), (&self.e, 1)] {
            for &(i, j, value) in list {
                for k in 0..=offsets.equation[i] {
                    // An entry may vanish identically at an order the structure does not have.
                    if k + order <= offsets.variable[j] {
                        prolonged[(first[j] + k + order, row[i] + k)] += value;
                    }
                }
            }
        }
        let mut qr = Qr::new();
        qr.factor(prolonged.view())
            .map_err(|error| error.to_string())?;
        let pivots: Vec<f64> = qr.pivots().map_err(|error| error.to_string())?.collect();
        let size = |pivot: Option<&f64>| pivot.map_or(1.0, |value| value.abs());
        if size(pivots.last()) <= n_columns as f64 * f64::EPSILON * size(pivots.first()) {
            return Err("the equations are too close to a singular point".to_string());
        }
        let mut kernel = Mat::zeros(n_columns, n_columns - n_rows);
        qr.left_null_basis(n_rows, kernel.view_mut())
            .map_err(|error| error.to_string())?;
        let places: Vec<usize> = (0..self.n)
            .flat_map(|j| first[j]..first[j] + offsets.variable[j])
            .collect();
        let dof = kernel.ncols();
        Ok(Motion {
            values: Mat::from_fn(self.n, dof, |j, k| kernel[(first[j], k)]),
            states: Mat::from_fn(places.len(), dof, |i, k| kernel[(places[i], k)]),
            rates: Mat::from_fn(places.len(), dof, |i, k| kernel[(places[i] + 1, k)]),
        })
    }

    /// Solutions as the consistent directions of constant matrices (4).
    fn motion_by_ranks(&self, n_degrees_of_freedom: usize) -> Result<Motion, String> {
        let dense = |list: &[(usize, usize, f64)]| {
            let mut out = Mat::zeros(self.n, self.n);
            for &(i, j, value) in list {
                out[(i, j)] += value;
            }
            out
        };
        let (e, b) = (dense(&self.e), dense(&self.b));
        let order = self.n + 1;
        let series = MatrixSeries::constant(e.clone(), b.clone(), order.min(16))
            .map_err(|error| error.to_string())?;
        let reduction = Reduction::new(&series, 0.0);
        let unit = Scaling {
            rows: vec![1.0; self.n],
            columns: vec![1.0; self.n],
            time: 1.0,
        };
        let values = reduction
            .consistent_directions(&unit)
            .ok_or("the ranks of the linearised equations are not decided")?;
        if values.ncols() != n_degrees_of_freedom {
            return Err(format!(
                "the linearised equations have {} finite eigenvalues, the model has {n_degrees_of_freedom} degrees of freedom",
                values.ncols()
            ));
        }
        let mut rates = b.matmul(&values);
        rates.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
        Ok(Motion {
            states: e.matmul(&values),
            rates,
            values,
        })
    }

    /// The eigenvalues of the motion, checked in the pencil itself (5), (6).
    fn eigenvalues(&self, motion: &Motion, time: f64) -> Result<Vec<FiniteEigenvalue>, String> {
        let dof = motion.states.ncols();
        if dof == 0 {
            return Ok(Vec::new());
        }
        let words = |error: daelight_linalg::LinalgError| error.to_string();
        let mut qr = Qr::new();
        qr.factor(motion.states.view()).map_err(words)?;
        let pivots: Vec<f64> = qr.pivots().map_err(words)?.map(f64::abs).collect();
        let condition = pivots[0] / pivots[dof - 1];
        if condition.is_nan() || condition > 1e12 {
            return Err("the states of the linearised equations are not decided".to_string());
        }
        let mut matrix = Mat::zeros(dof, dof);
        for k in 0..dof {
            let mut view = matrix.view_mut();
            qr.least_squares(dof, motion.rates.col(k), view.col_mut(k))
                .map_err(words)?;
        }
        let product = motion.states.matmul(&matrix);
        let misfit = (product.as_slice().iter().zip(motion.rates.as_slice()))
            .map(|(a, b)| (a - b) * (a - b))
            .sum::<f64>()
            .sqrt();
        let rounding = motion.states.nrows() as f64 * f64::EPSILON;
        let error = (misfit + rounding * matrix.view().norm_frobenius()) / pivots[dof - 1];
        let found = eigenvalues(matrix.view()).map_err(words)?;
        for value in &found {
            let residual = self.residual(motion, value);
            if residual.is_nan() || residual > MAX_RESIDUAL {
                return Err(format!(
                    "an eigenvalue leaves the residual {residual:.0e} in the linearised equations"
                ));
            }
        }
        let moved = moved_by(&matrix, &found, error)?;
        Ok((found.iter().zip(moved))
            .map(|(value, moved)| FiniteEigenvalue {
                re: value.re / time,
                im: value.im / time,
                uncertainty: MARGIN * moved / time,
            })
            .collect())
    }

    /// ‖(lambda E + B) v‖ relative to the largest entries of lambda E and B times that of v, for the vector v of an eigenvalue (6):
    /// of a rest all terms may be rounding.
    fn residual(&self, motion: &Motion, value: &Eigenvalue) -> f64 {
        let part = |k: usize| {
            let w: Vec<f64> = value.vector.iter().map(|v| v[k]).collect();
            motion.values.mul_vec(&w)
        };
        let (x, y) = (part(0), part(1));
        let mut sum = vec![[0.0_f64; 2]; self.n];
        let mut size = 0.0_f64;
        for (list, [re, im]) in [(&self.b, [1.0, 0.0]), (&self.e, [value.re, value.im])] {
            for &(i, j, entry) in list {
                sum[i][0] += entry * (re * x[j] - im * y[j]);
                sum[i][1] += entry * (re * y[j] + im * x[j]);
                size = size.max(entry.abs() * f64::hypot(re, im));
            }
        }
        let vector = x.iter().zip(&y).map(|(x, y)| f64::hypot(*x, *y));
        size *= vector.fold(0.0, f64::max);
        let largest = sum
            .iter()
            .map(|[a, b]| f64::hypot(*a, *b))
            .fold(0.0, f64::max);
        if size > 0.0 { largest / size } else { 0.0 }
    }
}

/// The eigenvalues of a matrix whose entries have these errors, in units in which its rows and columns are of one size.
pub(crate) fn eigenvalues_within(
    matrix: &Mat,
    errors: &Mat,
) -> Result<Vec<FiniteEigenvalue>, String> {
    let d = balancing(matrix.view());
    let n = matrix.nrows();
    let balanced = |of: &Mat| Mat::from_fn(n, n, |i, j| of[(i, j)] * d[j] / d[i]);
    let (matrix, errors) = (balanced(matrix), balanced(errors));
    let found = eigenvalues(matrix.view()).map_err(|error| error.to_string())?;
    let rounding = f64::EPSILON * matrix.view().norm_frobenius();
    let moved = moved_by(&matrix, &found, errors.view().norm_frobenius() + rounding)?;
    let one = |(value, moved): (&Eigenvalue, f64)| FiniteEigenvalue {
        re: value.re,
        im: value.im,
        uncertainty: MARGIN * moved,
    };
    Ok(found.iter().zip(moved).map(one).collect())
}

/// How far each eigenvalue moves when the matrix is changed by an error of this size (6).
///
/// Neighbouring eigenvalues with nearly the same vector move with the root of the error; a first-order bound would be far
/// too large for them, so that random changes are tried instead.
fn moved_by(matrix: &Mat, found: &[Eigenvalue], error: f64) -> Result<Vec<f64>, String> {
    let n = matrix.nrows();
    let mut moved = vec![0.0_f64; n];
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..N_CHANGES {
        let changed = Mat::from_fn(n, n, |i, j| {
            // Numbers of a linear congruence, between -1 and 1.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let number = (seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
            matrix[(i, j)] + error / n as f64 * number
        });
        let others = eigenvalues(changed.view()).map_err(|error| error.to_string())?;
        for (value, moved) in found.iter().zip(&mut moved) {
            let distance =
                |other: &Eigenvalue| f64::hypot(value.re - other.re, value.im - other.im);
            let nearest = others.iter().map(distance).fold(f64::INFINITY, f64::min);
            *moved = moved.max(nearest);
        }
    }
    Ok(moved)
}
