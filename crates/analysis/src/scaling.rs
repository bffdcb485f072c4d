//! Scaling before any rank decision: rows, columns and time, in powers of two.
//!
//! Badly scaled problems have no readable ranks. On random systems with scalings 1e-6..1e6 and a fixed threshold, 494 of
//! 598 array ranks were wrong unscaled, 13 with rows and columns scaled, none with time scaled as well. Numbers in
//! parentheses refer to `docs/theory/indices.md`.

use crate::dense::Dense;
use crate::series::{MatrixSeries, Series};
use daelight_linalg::Mat;

/// The factors that make a system well scaled: equation i times `rows[i]`, unknown j in units of `columns[j]`, time in
/// units of `time`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// R, one factor per equation.
    pub rows: Vec<f64>,
    /// C, one unit per unknown.
    pub columns: Vec<f64>,
    /// rho, the unit of time.
    pub time: f64,
}

/// Longest unit of time tried; a system whose coefficients all vanish but the first has none of its own.
const LONGEST: f64 = 1e6;
/// The same when E vanishes at the point, where nothing but the decay of the coefficients suggests a unit.
const LONGEST_ALGEBRAIC: f64 = 1e3;

impl Scaling {
    /// Scales by the lowest coefficients first, S: the choice for decisions.
    ///
    /// Near a pole of the solution the high coefficients are huge and would hide the low ones, on which ranks rest.
    /// `nominal` are sizes of the unknowns to start from.
    pub fn by_low_orders<M: Dense>(series: &MatrixSeries<M>, nominal: Option<&[f64]>) -> Self {
        let sizes = Sizes::new(series);
        let mut s = Self::start(series, nominal);
        for _ in 0..4 {
            for _ in 0..4 {
                s.sweep(&sizes, sizes.lowest + 1);
            }
            s.time = s.unit_of_time(&sizes);
        }
        for _ in 0..4 {
            s.sweep(&sizes, usize::MAX);
        }
        s.rounded()
    }

    /// Scales by all coefficients alike, S': the second opinion, which differs near poles of the solution.
    pub fn by_all_orders<M: Dense>(series: &MatrixSeries<M>, nominal: Option<&[f64]>) -> Self {
        let sizes = Sizes::new(series);
        let mut s = Self::start(series, nominal);
        for _ in 0..3 {
            for _ in 0..2 {
                s.sweep(&sizes, usize::MAX);
            }
            s.time = s.unit_of_time(&sizes);
        }
        s.rounded()
    }

    /// Scales the matrices E_0 and B_0 alone, given by their entries `(equation, unknown, value)`: the choice for systems
    /// too large for dense series.
    pub fn of_entries(
        n_equations: usize,
        e: &[(usize, usize, f64)],
        b: &[(usize, usize, f64)],
        nominal: &[f64],
    ) -> Self {
        let mut s = Self {
            rows: vec![1.0; n_equations],
            columns: nominal.to_vec(),
            time: 1.0,
        };
        for _ in 0..4 {
            for _ in 0..4 {
                let mut row_max = vec![0.0_f64; n_equations];
                let mut col_max = vec![0.0_f64; nominal.len()];
                for (list, power) in [(e, 1.0 / s.time), (b, 1.0)] {
                    for &(i, j, value) in list {
                        let value = (s.rows[i] * value * s.columns[j]).abs() * power;
                        row_max[i] = row_max[i].max(value);
                        col_max[j] = col_max[j].max(value);
                    }
                }
                s.divide(&row_max, &col_max);
            }
            let size = |list: &[(usize, usize, f64)]| {
                let squares = list.iter().map(|&(i, j, v)| s.rows[i] * v * s.columns[j]);
                squares.map(|v| v * v).sum::<f64>().sqrt()
            };
            let unit = size(e) / size(b);
            if unit > 0.0 && unit.is_finite() {
                s.time = unit;
            }
        }
        s.rounded()
    }

    fn start<M: Dense>(series: &MatrixSeries<M>, nominal: Option<&[f64]>) -> Self {
        let n = series.ncols();
        let usable = |v: &&[f64]| v.len() == n && v.iter().all(|c| *c > 0.0 && c.is_finite());
        Self {
            rows: vec![1.0; series.nrows()],
            columns: nominal
                .filter(usable)
                .map_or_else(|| vec![1.0; n], <[f64]>::to_vec),
            time: 1.0,
        }
    }

    /// The series in the new units (5).
    pub fn apply<M: Dense>(&self, series: &MatrixSeries<M>) -> MatrixSeries<M> {
        let apply = |s: &Series<M>, lowest: i32| -> Vec<M> {
            (lowest..)
                .zip(s.coefficients())
                .map(|(power, c)| c.scaled(&self.rows, &self.columns, self.time.powi(power)))
                .collect()
        };
        MatrixSeries {
            e: Series(apply(series.e(), -1)),
            b: Series(apply(series.b(), 0)),
        }
    }

    /// Maps vectors of column block j, given in the new units, back to coefficient j of the unknowns (8).
    pub fn unknowns_back(&self, vectors: &Mat, block: usize) -> Mat {
        let power = self.time.powi(-(block as i32));
        Mat::from_fn(vectors.nrows(), vectors.ncols(), |i, j| {
            vectors[(i, j)] * self.columns[i] * power
        })
    }

    /// Maps combinations of row block i, found in the new units, back to the equations as given (8).
    pub fn equations_back(&self, vectors: &Mat, block: usize) -> Mat {
        let power = self.time.powi(block as i32);
        Mat::from_fn(vectors.nrows(), vectors.ncols(), |i, j| {
            vectors[(i, j)] * self.rows[i] * power
        })
    }

    /// Divides rows and columns by the roots of their largest entries (6), looking at the first `n_orders` coefficients.
    fn sweep(&mut self, sizes: &Sizes, n_orders: usize) {
        let (m, n) = (self.rows.len(), self.columns.len());
        let mut row_max = vec![0.0_f64; m];
        let mut col_max = vec![0.0_f64; n];
        let mut power = 1.0 / self.time;
        for (e, b) in sizes.e.iter().zip(&sizes.b).take(n_orders) {
            for j in 0..n {
                for i in 0..m {
                    let entry = e[(i, j)].max(b[(i, j)] * self.time) * power;
                    let value = self.rows[i] * entry * self.columns[j];
                    row_max[i] = row_max[i].max(value);
                    col_max[j] = col_max[j].max(value);
                }
            }
            power *= self.time;
        }
        self.divide(&row_max, &col_max);
    }

    /// Divides rows and columns by the roots of their largest entries.
    fn divide(&mut self, row_max: &[f64], col_max: &[f64]) {
        for (scale, max) in
            (self.rows.iter_mut().zip(row_max)).chain(self.columns.iter_mut().zip(col_max))
        {
            if *max > 0.0 && max.is_finite() {
                *scale /= max.sqrt();
            }
        }
    }

    /// The unit of time (7) in which coefficients do not grow and E_0 is as large as B_0.
    fn unit_of_time(&self, sizes: &Sizes) -> f64 {
        let norms = |list: &[Mat]| -> Vec<f64> {
            list.iter()
                .map(|c| c.scaled(&self.rows, &self.columns, 1.0).norm())
                .collect()
        };
        let (e, b) = (norms(&sizes.e), norms(&sizes.b));
        let low = sizes.lowest;
        let reference = (e[low] / self.time).max(b[low]);
        let mut unit = if e[0] == 0.0 {
            LONGEST_ALGEBRAIC
        } else {
            LONGEST
        };
        for q in low + 1..e.len() {
            for (allowed, size) in [(reference * self.time, e[q]), (reference, b[q])] {
                let decay = (allowed / size).powf(1.0 / (q - low) as f64);
                if decay > 0.0 {
                    unit = unit.min(decay);
                }
            }
        }
        if e[0] > 0.0 && b[0] > 0.0 {
            unit = unit.min(e[0] / b[0]);
        }
        if unit > 0.0 && unit.is_finite() {
            unit
        } else {
            1.0
        }
    }

    /// Rounds to powers of two, so that scaling changes no digit.
    fn rounded(mut self) -> Self {
        let round = |v: &mut f64| {
            let power = v.log2().round().exp2();
            *v = if power > 0.0 && power.is_finite() {
                power
            } else {
                1.0
            };
        };
        self.rows
            .iter_mut()
            .chain(&mut self.columns)
            .for_each(round);
        round(&mut self.time);
        self
    }
}

/// Absolute values of all coefficients.
struct Sizes {
    e: Vec<Mat>,
    b: Vec<Mat>,
    /// The lowest order at which anything is left; 0 unless all equations vanish at the point.
    lowest: usize,
}

impl Sizes {
    fn new<M: Dense>(series: &MatrixSeries<M>) -> Self {
        let sizes = |s: &Series<M>| -> Vec<Mat> {
            s.coefficients()
                .iter()
                .map(|c| {
                    let mut out = c.to_mat();
                    out.as_mut_slice().iter_mut().for_each(|v| *v = v.abs());
                    out
                })
                .collect()
        };
        let (e, b) = (sizes(series.e()), sizes(series.b()));
        let is_zero = |c: &Mat| c.as_slice().iter().all(|v| *v == 0.0);
        let lowest = (e.iter().zip(&b))
            .position(|(e, b)| !(is_zero(e) && is_zero(b)))
            .unwrap_or(0);
        Self { e, b, lowest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_coefficients_are_of_order_one() {
        // A system with time constant 1e-4 in wild units.
        let (row, col, time) = ([1e5, 1e-6], [1e3, 1e-2], 1e-4_f64);
        let list = |shift: i32| -> Vec<Mat> {
            (0..4)
                .map(|q| {
                    Mat::from_fn(2, 2, |i, j| {
                        (1.0 + (i + 2 * j) as f64) * row[i] * col[j] * time.powi(shift - q)
                    })
                })
                .collect()
        };
        let series = MatrixSeries::new(list(1), list(0)).expect("shapes");
        for scaling in [
            Scaling::by_low_orders(&series, None),
            Scaling::by_all_orders(&series, None),
        ] {
            let scaled = scaling.apply(&series);
            for c in scaled
                .e()
                .coefficients()
                .iter()
                .chain(scaled.b().coefficients())
            {
                let largest = c.view().norm_max();
                assert!(largest > 1e-3 && largest < 4.0, "{scaling:?}: {largest}");
            }
            assert!(scaling.columns.iter().all(|c| c.log2().fract() == 0.0));
        }
    }

    #[test]
    fn zeros_and_nan_leave_finite_factors() {
        for value in [0.0, f64::NAN, f64::MAX] {
            let c = Mat::from_fn(2, 3, |_, _| value);
            let series = MatrixSeries::constant(c.clone(), c, 2).expect("shapes");
            let s = Scaling::by_low_orders(&series, Some(&[1.0, f64::NAN, 2.0]));
            assert!(s.time.is_finite() && s.rows.iter().chain(&s.columns).all(|v| v.is_finite()));
        }
    }
}
