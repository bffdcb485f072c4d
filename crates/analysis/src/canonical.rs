//! The canonical form of a linear system at a regular point, with its transformations and its solutions as series.
//!
//! Numbers in parentheses refer to `docs/theory/linear.md`.

use crate::dense::Dense;
use crate::linear::LinearSeries;
use crate::outcome::{Because, Indices};
use crate::reduction::{Conclusion, Pair, Reduction};
use crate::scaling::Scaling;
use crate::series::{MatrixSeries, NullSeries, Series};
use crate::tolerances::{FAR_OFF, ROUNDING};
use daelight_linalg::Mat;
use std::fmt;

/// Relative residual below which the conditions on f count as satisfied. Rounding leaves 1e-16 to 1e-11 on the random
/// systems of the tests (conditions up to 100, index up to 5).
pub(crate) const SATISFIED: f64 = 1e-9;

/// (E, A) ~ ( [I 0 W; 0 0 F; 0 0 G], [0 L 0; 0 0 0; 0 0 I] ) with F and G nilpotent in blocks (4).
///
/// Rows and columns are those of d differential equations and u free unknowns, v redundant equations, and a constraints
/// that determine a unknowns: the form (4.28) of Kunkel and Mehrmann (2006), of which (4.16) is the coarser partition
/// H = [F; G], B = [0; I]. All series are in time, about the point.
#[derive(Clone, Debug)]
pub struct CanonicalForm {
    /// The indices it shows.
    pub indices: Indices,
    /// P(t), m x m: combinations of equations.
    pub p: Series<Mat>,
    /// Q(t) = [Phi Psi Theta], n x n: the new unknowns are Q^-1 x.
    pub q: Series<Mat>,
    /// L(t), d x u: how the free unknowns drive the differential ones.
    pub l: Series<Mat>,
    /// W(t), d x a.
    pub w: Series<Mat>,
    /// F(t), v x a: what redundant equations ask of the rates of the determined unknowns.
    pub f: Series<Mat>,
    /// G(t), a x a: the couplings between the levels of constraints, nilpotent.
    pub g: Series<Mat>,
    /// The largest deviation of P E Q and P A Q - P E Q' from the form, relative to the sizes of the factors.
    pub defect: f64,
    /// The unit of time in which coefficients are of one size.
    unit_of_time: f64,
}

/// A strangeness-free system with the same solutions: E1 x' = A1 x + f1, 0 = A2 x + f2, 0 = f3 (8).
#[derive(Clone, Debug)]
pub struct ReducedDae {
    /// d x n, of full rank on the kernel of `a2`.
    pub e1: Series<Mat>,
    /// d x n.
    pub a1: Series<Mat>,
    /// a x n, of full rank: all constraints, hidden ones included.
    pub a2: Series<Mat>,
    /// d x 1.
    pub f1: Series<Mat>,
    /// a x 1.
    pub f2: Series<Mat>,
    /// v x 1: vanishes if and only if f is consistent.
    pub f3: Series<Mat>,
}

/// Whether the redundant equations agree with the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConsistencyVerdict {
    /// The conditions hold, to rounding.
    Satisfied,
    /// They do not: no solution exists near the point.
    Violated,
    /// The residual is neither rounding nor clear.
    Unknown,
}

/// The conditions on f that v redundant equations impose, and whether they hold.
#[derive(Clone, Debug)]
pub struct Consistency {
    /// v.
    pub n_conditions: usize,
    /// Taylor coefficients of the residuals of the conditions, v x 1 each.
    pub residual: Series<Mat>,
    /// The largest one relative to the terms it is the sum of.
    pub relative: f64,
    /// What that means.
    pub verdict: ConsistencyVerdict,
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.n_conditions;
        let conditions = if n == 1 {
            "1 condition".to_string()
        } else {
            format!("{n} conditions")
        };
        match self.verdict {
            _ if n == 0 => write!(f, "no condition on the right-hand side"),
            ConsistencyVerdict::Satisfied => write!(
                f,
                "{conditions} on the right-hand side, satisfied (relative residual {:.1e})",
                self.relative
            ),
            ConsistencyVerdict::Violated => write!(
                f,
                "{conditions} on the right-hand side, violated (relative residual {:.1e}): no solution",
                self.relative
            ),
            ConsistencyVerdict::Unknown => write!(
                f,
                "{conditions} on the right-hand side, unclear (relative residual {:.1e})",
                self.relative
            ),
        }
    }
}

/// One level of the reduction as transformations: rows above, constraints, redundant rows; columns kept and determined.
struct LevelForm {
    /// Rows that go on to the next level, cleared of the unknowns determined here.
    rest: Series<Mat>,
    /// Rows that determine unknowns.
    determining: Series<Mat>,
    /// Rows that vanish.
    vanishing: Series<Mat>,
    /// C: unknowns that go on.
    kept: Series<Mat>,
    /// D: unknowns determined here, with `determining` A D = I.
    determined: Series<Mat>,
}

impl CanonicalForm {
    /// Builds the form from series of order mu + 3 at least; every level costs one coefficient.
    pub fn new(series: &MatrixSeries) -> Result<Self, Because> {
        let scaling = Scaling::by_low_orders(series, None);
        let scaled = scaling.apply(series);
        let reduction = Reduction::new(&scaled, 0.0);
        let indices = match reduction.conclusion {
            Conclusion::Regular(ref indices) => indices.clone(),
            Conclusion::Critical { level, .. } => return Err(Because::RankChanges { level }),
            Conclusion::Unknown(because) => return Err(because),
        };
        let too_short = Because::SeriesTooShort {
            order: series.order() + 1,
        };
        let mut pair = Pair::of(&scaled);
        let mut levels = Vec::new();
        for level in &reduction.levels {
            let Some(constraints) = &level.algebraic else {
                break;
            };
            let (form, next) =
                level_form(&pair, level.differential.rank, constraints.rank).ok_or(too_short)?;
            levels.push(form);
            pair = next;
        }
        let (mut p, mut q, mut l) = last_level(&pair).ok_or(too_short)?;
        let d = p.nrows();
        // Rows and columns of later levels stand first, so that F and G become upper triangular.
        let (mut vanishing, mut determining) = (rows(&p, 0, 0), rows(&p, 0, 0));
        let mut determined = q.block(0, 0, q.nrows(), 0);
        for level in levels.iter().rev() {
            p = p.product(&level.rest);
            vanishing = above(&vanishing.product(&level.rest), &level.vanishing);
            determining = above(&determining.product(&level.rest), &level.determining);
            q = level.kept.product(&q);
            determined = beside(&level.kept.product(&determined), &level.determined);
        }
        p = above(&above(&p, &vanishing), &determining);
        q = beside(&q, &determined);

        // Back to the units given (5): rows d in 1/rho, the others in 1; time in rho.
        let rho = scaling.time;
        let m = p.nrows();
        let row_units: Vec<f64> = (0..m)
            .map(|i| if i < d { 1.0 / rho } else { 1.0 })
            .collect();
        let p = in_time(&p, rho).map(|c| c.scaled(&row_units, &scaling.rows, 1.0));
        let ones = vec![1.0; q.ncols()];
        let q = in_time(&q, rho).map(|c| c.scaled(&scaling.columns, &ones, 1.0));
        l = in_time(&l, rho).map(|c| {
            let mut out = Mat::zeros(c.nrows(), c.ncols());
            out.add_multiple(1.0 / rho, c);
            out
        });
        Self::assemble(series, indices, p, q, l, rho).ok_or(too_short)
    }

    /// Forms P E Q and P A Q - P E Q' in full and compares them with the form.
    fn assemble(
        series: &MatrixSeries,
        indices: Indices,
        p: Series<Mat>,
        q: Series<Mat>,
        l: Series<Mat>,
        unit_of_time: f64,
    ) -> Option<Self> {
        let s = indices.strangeness;
        let (d, u, v, a) = (s.n_differential, s.n_free, s.n_redundant, s.n_algebraic);
        let pair = Pair::of(series);
        let pe = p.product(&pair.e);
        let new_e = pe.product(&q);
        let new_a = p
            .product(&pair.a)
            .product(&q)
            .plus(-1.0, &pe.product(&q.derivative()?));
        let w = new_e.block(0, d + u, d, a);
        let f = new_e.block(d, d + u, v, a);
        let g = new_e.block(d + v, d + u, a, a);
        let mut ideal_e = new_e.map(|c| Mat::zeros(c.nrows(), c.ncols()));
        for (k, c) in ideal_e.0.iter_mut().enumerate() {
            c.set_block(0, d + u, w.coefficient(k));
            c.set_block(d, d + u, f.coefficient(k));
            c.set_block(d + v, d + u, g.coefficient(k));
        }
        ideal_e.0[0].set_block(0, 0, &Mat::identity(d));
        let mut ideal_a = new_a.map(|c| Mat::zeros(c.nrows(), c.ncols()));
        for (c, l) in ideal_a.0.iter_mut().zip(&l.0) {
            c.set_block(0, d, l);
        }
        ideal_a.0[0].set_block(d + v, d + u, &Mat::identity(a));
        let size = |x: &Series<Mat>| weighted(x, unit_of_time);
        let known = l.len().min(new_a.len());
        let off_e = size(&new_e.plus(-1.0, &ideal_e).truncated(known));
        let off_a = size(&new_a.plus(-1.0, &ideal_a).truncated(known));
        let defect = (off_e / (size(&p) * size(&pair.e) * size(&q)).max(f64::MIN_POSITIVE))
            .max(off_a / (size(&p) * size(&pair.a) * size(&q)).max(f64::MIN_POSITIVE));
        Some(Self {
            indices,
            p: p.truncated(known),
            q: q.truncated(known),
            l: l.truncated(known),
            w: w.truncated(known),
            f: f.truncated(known),
            g: g.truncated(known),
            defect,
            unit_of_time,
        })
    }

    /// Phi, n x d: solutions of the homogeneous system, one for each degree of freedom.
    pub fn phi(&self) -> Series<Mat> {
        let d = self.indices.strangeness.n_differential;
        self.q.block(0, 0, self.q.nrows(), d)
    }

    /// Psi, n x u: directions of the free unknowns, which E annihilates.
    pub fn psi(&self) -> Series<Mat> {
        let s = self.indices.strangeness;
        self.q.block(0, s.n_differential, self.q.nrows(), s.n_free)
    }

    /// Theta, n x a: directions of the determined unknowns.
    pub fn theta(&self) -> Series<Mat> {
        let (n, a) = (self.q.nrows(), self.indices.strangeness.n_algebraic);
        self.q.block(0, n - a, n, a)
    }

    /// P f cut into the rows of the differential, the redundant and the determining equations.
    fn transformed(&self, f: &[Vec<f64>]) -> Option<[Series<Mat>; 3]> {
        let f = Series((!f.is_empty()).then(|| f.iter().map(|c| column(c)).collect::<Vec<Mat>>())?);
        let s = self.indices.strangeness;
        let pf = self.p.product(&f);
        let (d, v, a) = (s.n_differential, s.n_redundant, s.n_algebraic);
        Some([
            pf.block(0, 0, d, 1),
            pf.block(d, 0, v, 1),
            pf.block(d + v, 0, a, 1),
        ])
    }

    /// The determined unknowns in the new coordinates: the fixed point of x3 = G x3' - f3, reached after mu rounds (6).
    fn determined(&self, f3: &Series<Mat>) -> Option<Series<Mat>> {
        let minus = f3.map(|c| {
            let mut out = Mat::zeros(c.nrows(), 1);
            out.add_multiple(-1.0, c);
            out
        });
        let mut x3 = minus.clone();
        for _ in 0..self.indices.strangeness.index {
            let rate = self.g.product(&x3.derivative()?);
            x3 = rate.plus(1.0, &minus);
        }
        Some(x3)
    }

    /// Checks the conditions f2 = F x3' (7) that the redundant equations impose on f, given by its Taylor coefficients.
    ///
    /// `None` if too few coefficients are known: mu + 2 of f are needed.
    pub fn consistency(&self, f: &[Vec<f64>]) -> Option<Consistency> {
        let [_, f2, f3] = self.transformed(f)?;
        let rate = self.determined(&f3)?.derivative()?;
        let moved = self.f.product(&rate);
        let residual = f2.truncated(moved.len()).plus(-1.0, &moved);
        let rho = self.unit_of_time;
        // What was summed up: rounding is relative to that, not to the sum.
        let (d, v) = (
            self.indices.strangeness.n_differential,
            self.indices.strangeness.n_redundant,
        );
        let columns = Series(f.iter().map(|c| column(c)).collect());
        let terms = absolute(&rows(&self.p, d, v)).product(&absolute(&columns));
        let moved_terms = absolute(&self.f).product(&absolute(&rate));
        let size = weighted(&terms, rho).max(weighted(&moved_terms, rho));
        // A row of P is known to rounding beside its largest entry, whatever the entries of f are that it does not hold.
        let floor = weighted(&absolute(&rows(&self.p, d, v)), rho) * weighted(&columns, rho);
        let size = size.max(ROUNDING / SATISFIED * floor);
        let relative = if size > 0.0 {
            weighted(&residual, rho) / size
        } else {
            0.0
        };
        Some(Consistency {
            n_conditions: self.indices.strangeness.n_redundant,
            residual,
            relative,
            verdict: if relative <= SATISFIED {
                ConsistencyVerdict::Satisfied
            } else if relative >= FAR_OFF {
                ConsistencyVerdict::Violated
            } else {
                ConsistencyVerdict::Unknown
            },
        })
    }

    /// The solution with x1(t0) = `alpha` and free unknowns `free` (Taylor coefficients of u values each) (6).
    ///
    /// `None` if too few coefficients are known. If f is inconsistent it solves all equations but the redundant ones.
    pub fn solution(
        &self,
        f: &[Vec<f64>],
        alpha: &[f64],
        free: &[Vec<f64>],
    ) -> Option<Series<Mat>> {
        let [f1, _, f3] = self.transformed(f)?;
        let x3 = self.determined(&f3)?;
        let rate = x3.derivative()?;
        let mut slope = f1.truncated(rate.len()).plus(-1.0, &self.w.product(&rate));
        let mut x2 = Vec::new();
        for k in 0..slope.len() {
            let u = self.indices.strangeness.n_free;
            x2.push(column(free.get(k).unwrap_or(&vec![0.0; u])));
        }
        let x2 = Series(x2);
        slope = slope.plus(1.0, &self.l.product(&x2));
        let mut x1 = vec![column(alpha)];
        for (k, c) in slope.0.iter().enumerate() {
            let mut next = Mat::zeros(c.nrows(), 1);
            next.add_multiple(1.0 / (k + 1) as f64, c);
            x1.push(next);
        }
        let x1 = Series(x1).truncated(x2.len());
        let y = above(&above(&x1, &x2), &x3.truncated(x2.len()));
        Some(self.q.product(&y))
    }

    /// The reduced system (8), for a right-hand side given with the series.
    pub fn reduced(&self, series: &LinearSeries) -> Option<ReducedDae> {
        let s = self.indices.strangeness;
        let (d, a, n) = (s.n_differential, s.n_algebraic, self.q.nrows());
        let [f1, _, f3] = self.transformed(&series.f)?;
        let x3 = self.determined(&f3)?;
        let first = self.p.block(0, 0, d, self.p.ncols());
        let pair = Pair::of(&series.matrices);
        let inverse = self.q.inverse().ok()?;
        Some(ReducedDae {
            e1: first.product(&pair.e),
            a1: first.product(&pair.a),
            a2: inverse.block(n - a, 0, a, n),
            f1,
            f2: x3.map(|c| {
                let mut out = Mat::zeros(c.nrows(), 1);
                out.add_multiple(-1.0, c);
                out
            }),
            f3: self.consistency(&series.f)?.residual,
        })
    }
}

/// The transformations of one level (4), and the pair of the next.
fn level_form(pair: &Pair<Mat>, r: usize, c: usize) -> Option<(LevelForm, Pair<Mat>)> {
    let factors = pair.e.coefficient(0).decompose().ok()?;
    let constraints = pair.constraints(factors, r);
    let selector = constraints.selector.basis.transposed();
    let matrix = &constraints.matrix;
    let factors = matrix.coefficient(0).decompose().ok()?;
    let kept = NullSeries::new(matrix, &factors, c).basis;
    let range = factors.range(c).transposed();
    let v1 = factors.v.block(0, 0, factors.v.nrows(), c);
    let determining = selector.map(|s| range.product(s));
    let square = matrix.map(|a| range.product(a).product(&v1));
    let determined = square.inverse().ok()?.map(|x| v1.product(x));
    let dependent = NullSeries::new(&matrix.transposed(), &factors.transposed(), c).basis;
    let vanishing = dependent.transposed().product(&selector);
    // Rows of E: cleared of what is determined here, by adding constraints, which hold no derivative.
    let image = constraints.image.transposed();
    let rate = pair.e.product(&determined.derivative()?);
    let coupling = pair
        .a
        .product(&determined)
        .plus(-1.0, &rate)
        .map(|x| image.product(x));
    let image_rows = Series::constant(image, coupling.len());
    let rest = image_rows.plus(-1.0, &coupling.product(&determining));
    let next = pair.restricted(&constraints.image, &kept)?;
    Some((
        LevelForm {
            rest,
            determining,
            vanishing,
            kept,
            determined,
        },
        next,
    ))
}

/// The transformations of what is left, E of full row rank: P, Q = [T1 Y, T2] and L (4).
fn last_level(pair: &Pair<Mat>) -> Option<(Series<Mat>, Series<Mat>, Series<Mat>)> {
    let (d, n) = (pair.e.nrows(), pair.e.ncols());
    let factors = pair.e.coefficient(0).decompose().ok()?;
    let free = NullSeries::new(&pair.e, &factors, d).basis;
    let t1 = factors.v.block(0, 0, n, d);
    let solved = pair.e.map(|e| e.product(&t1)).inverse().ok()?;
    let j = solved.product(&pair.a.map(|a| a.product(&t1)));
    let len = j.len();
    // Y' = J Y, Y(0) = I.
    let mut y = vec![Mat::identity(d)];
    for k in 0..len {
        let mut sum = Mat::zeros(d, d);
        for i in 0..=k {
            sum.add_multiple(1.0 / (k + 1) as f64, &j.coefficient(i).product(&y[k - i]));
        }
        y.push(sum);
    }
    let y = Series(y).truncated(len);
    let back = y.inverse().ok()?;
    let p = back.product(&solved);
    let rate = pair.e.product(&free.derivative()?);
    let drive = pair.a.product(&free).plus(-1.0, &rate);
    let q = beside(&y.map(|y| t1.product(y)), &free);
    Some((p.clone(), q, p.product(&drive)))
}

fn column(values: &[f64]) -> Mat {
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

fn rows(s: &Series<Mat>, row: usize, nrows: usize) -> Series<Mat> {
    s.block(row, 0, nrows, s.ncols())
}

fn above(upper: &Series<Mat>, lower: &Series<Mat>) -> Series<Mat> {
    let pairs = upper.0.iter().zip(&lower.0);
    Series(pairs.map(|(a, b)| a.above(b)).collect())
}

fn beside(left: &Series<Mat>, right: &Series<Mat>) -> Series<Mat> {
    left.beside(right)
}

/// Coefficients in time, of a series in units of rho.
fn in_time(s: &Series<Mat>, rho: f64) -> Series<Mat> {
    let mut factor = 1.0;
    s.map(|c| {
        let mut out = Mat::zeros(c.nrows(), c.ncols());
        out.add_multiple(factor, c);
        factor /= rho;
        out
    })
}

fn absolute(s: &Series<Mat>) -> Series<Mat> {
    s.map(|c| Mat::from_fn(c.nrows(), c.ncols(), |i, j| c[(i, j)].abs()))
}

/// The largest coefficient, in units of rho.
fn weighted(s: &Series<Mat>, rho: f64) -> f64 {
    let powers = std::iter::successors(Some(1.0), |p| Some(p * rho));
    s.0.iter()
        .zip(powers)
        .map(|(c, power)| c.view().norm_max() * power)
        .fold(0.0, f64::max)
}
