//! Scaling before any rank decision: rows, columns and time, in powers of two.
//!
//! Badly scaled problems have no readable ranks. On random systems with scalings 1e-6..1e6 and a fixed threshold, 494 of
//! 598 array ranks were wrong unscaled, 13 with rows and columns scaled, none with time scaled as well. Numbers in
//! parentheses refer to `docs/theory/indices.md`.

use crate::dense::Dense;
use crate::reduction::SEEN;
use crate::series::{MatrixSeries, Series};
use crate::tolerances::BACKWARD;
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
        Self::start(&sizes, nominal).low_orders(&sizes)
    }

    /// Scales like S after a balance of all entries (6a), with the sizes that are usual at the point and beside it.
    ///
    /// S looks at the largest entry of each row and column. In a sparse system that leaves entries on which ranks rest at
    /// any size; a balance does not, but mistakes an entry that happens to be tiny at the point for one in large units.
    /// Several samples tell the two apart.
    pub fn balanced<M: Dense, N: Dense>(
        point: &MatrixSeries<M>,
        beside: &[MatrixSeries<N>],
        nominal: Option<&[f64]>,
    ) -> Self {
        let sizes = Sizes::usual(Sizes::new(point), beside);
        let mut s = Self::start(&sizes, nominal);
        s.balance(&sizes);
        s.low_orders(&sizes)
    }

    fn low_orders(mut self, sizes: &Sizes) -> Self {
        for _ in 0..4 {
            for _ in 0..4 {
                self.sweep(sizes, sizes.lowest + 1);
            }
            self.time = self.unit_of_time(sizes);
        }
        for _ in 0..4 {
            self.sweep(sizes, usize::MAX);
        }
        self.rounded()
    }

    /// Scales by all coefficients alike, S': the second opinion, which differs near poles of the solution.
    pub(crate) fn by_all_orders<M: Dense>(
        series: &MatrixSeries<M>,
        nominal: Option<&[f64]>,
    ) -> Self {
        let sizes = Sizes::new(series);
        Self::start(&sizes, nominal).all_orders(&sizes)
    }

    /// Scales the matrices E_0 and B_0 alone, given by their entries `(equation, unknown, value)`: the choice for systems
    /// too large for dense series.
    pub(crate) fn of_entries(
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

    /// The second opinion S' in the units of this scaling.
    pub(crate) fn and_all_orders<M: Dense>(&self, series: &MatrixSeries<M>) -> Self {
        self.clone().all_orders(&Sizes::new(series))
    }

    fn all_orders(mut self, sizes: &Sizes) -> Self {
        for _ in 0..3 {
            for _ in 0..2 {
                self.sweep(sizes, usize::MAX);
            }
            self.time = self.unit_of_time(sizes);
        }
        self.rounded()
    }

    fn start(sizes: &Sizes, nominal: Option<&[f64]>) -> Self {
        let (m, n) = (sizes.e[0].nrows(), sizes.e[0].ncols());
        let usable = |v: &&[f64]| v.len() == n && v.iter().all(|c| *c > 0.0 && c.is_finite());
        Self {
            rows: vec![1.0; m],
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
    pub(crate) fn unknowns_back(&self, vectors: &Mat, block: usize) -> Mat {
        let power = self.time.powi(-(block as i32));
        Mat::from_fn(vectors.nrows(), vectors.ncols(), |i, j| {
            vectors[(i, j)] * self.columns[i] * power
        })
    }

    /// Maps combinations of row block i, found in the new units, back to the equations as given (8).
    pub(crate) fn equations_back(&self, vectors: &Mat, block: usize) -> Mat {
        let power = self.time.powi(block as i32);
        Mat::from_fn(vectors.nrows(), vectors.ncols(), |i, j| {
            vectors[(i, j)] * self.rows[i] * power
        })
    }

    /// Brings all entries together as close to one as factors can, in the mean of squared logarithms (6a).
    fn balance(&mut self, sizes: &Sizes) {
        for n_orders in [1, SEEN] {
            let entries = sizes.largest_entries(self.time, n_orders);
            let fit = fit_logarithms(&entries, self);
            if fit.iter().all(|v| v.is_finite()) {
                let (m, n) = (self.rows.len(), self.columns.len());
                for (factor, log) in self.rows.iter_mut().chain(&mut self.columns).zip(&fit) {
                    *factor = log.exp2();
                }
                self.time = fit[m + n].exp2();
            }
        }
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
        Self::of(sizes(series.e()), sizes(series.b()))
    }

    /// The upper median of every entry over the point and its neighbours.
    fn usual<N: Dense>(point: Self, beside: &[MatrixSeries<N>]) -> Self {
        let mut samples: Vec<Self> = beside.iter().map(Self::new).collect();
        samples.push(point);
        let shape = |s: &Self| (s.e.len(), s.e[0].nrows(), s.e[0].ncols());
        let expected = samples.last().map(shape);
        samples.retain(|s| Some(shape(s)) == expected);
        let median = |list: &dyn Fn(&Self) -> &[Mat]| -> Vec<Mat> {
            let (len, m, n) = expected.unwrap_or_default();
            (0..len)
                .map(|q| {
                    Mat::from_fn(m, n, |i, j| {
                        let mut values: Vec<f64> =
                            samples.iter().map(|s| list(s)[q][(i, j)]).collect();
                        values.sort_by(f64::total_cmp);
                        values[values.len() / 2]
                    })
                })
                .collect()
        };
        Self::of(median(&|s| &s.e), median(&|s| &s.b))
    }

    fn of(e: Vec<Mat>, b: Vec<Mat>) -> Self {
        let is_zero = |c: &Mat| c.as_slice().iter().all(|v| *v == 0.0);
        let lowest = (e.iter().zip(&b))
            .position(|(e, b)| !(is_zero(e) && is_zero(b)))
            .unwrap_or(0);
        Self { e, b, lowest }
    }
}

/// A nonzero entry of E or B: its place, the power of the unit of time that multiplies it, and its binary logarithm.
struct Entry {
    row: usize,
    column: usize,
    power: f64,
    log: f64,
}

impl Sizes {
    /// The entries of E and of B that do not vanish, each by its largest coefficient in this unit of time.
    fn largest_entries(&self, time: f64, n_orders: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (list, shift) in [(&self.e, -1), (&self.b, 0)] {
            let last = list.len().min(self.lowest + n_orders);
            for column in 0..list[0].ncols() {
                for row in 0..list[0].nrows() {
                    let sized = |q: usize| list[q][(row, column)] * time.powi(q as i32);
                    let Some(q) =
                        (self.lowest..last).max_by(|&p, &q| sized(p).total_cmp(&sized(q)))
                    else {
                        continue;
                    };
                    let log = list[q][(row, column)].log2();
                    if log.is_finite() {
                        entries.push(Entry {
                            row,
                            column,
                            power: f64::from(q as i32 + shift),
                            log,
                        });
                    }
                }
            }
        }
        entries
    }
}

/// Logarithms of the factors of rows and columns and of the unit of time that minimise the sum of squares of (6a).
///
/// Conjugate gradients from the present factors (Curtis and Reid 1972): what no entry ties down stays as it is.
fn fit_logarithms(entries: &[Entry], start: &Scaling) -> Vec<f64> {
    let m = start.rows.len();
    let mut fit: Vec<f64> = (start.rows.iter().chain(&start.columns))
        .chain([&start.time])
        .map(|v| v.log2())
        .collect();
    let last = fit.len() - 1;
    let apply = |x: &[f64]| -> Vec<f64> {
        let value = |e: &Entry| x[e.row] + x[m + e.column] + e.power * x[last];
        entries.iter().map(value).collect()
    };
    let gather = |residuals: &[f64]| -> Vec<f64> {
        let mut out = vec![0.0; last + 1];
        for (e, r) in entries.iter().zip(residuals) {
            out[e.row] += r;
            out[m + e.column] += r;
            out[last] += e.power * r;
        }
        out
    };
    let square = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>();
    let mut residuals: Vec<f64> = (apply(&fit).iter().zip(entries))
        .map(|(value, e)| -e.log - value)
        .collect();
    let mut gradient = gather(&residuals);
    let mut direction = gradient.clone();
    let first = square(&gradient);
    let mut size = first;
    // Exact arithmetic ends after as many steps as there are factors; a bound for large systems.
    for _ in 0..(last + 1).min(200) {
        if size <= BACKWARD * first {
            break;
        }
        let change = apply(&direction);
        let step = size / square(&change);
        for (x, d) in fit.iter_mut().zip(&direction) {
            *x += step * d;
        }
        for (r, c) in residuals.iter_mut().zip(&change) {
            *r -= step * c;
        }
        gradient = gather(&residuals);
        let next = square(&gradient);
        for (d, g) in direction.iter_mut().zip(&gradient) {
            *d = g + next / size * *d;
        }
        size = next;
    }
    fit
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
    fn a_balance_undoes_the_units_of_a_sparse_system() {
        // Every entry is tied to few others, and all are one but for the units.
        let (row, col) = ([1e6, 1e-5, 1e3, 1e-6], [1e-6, 1e4, 1e5, 1e-3]);
        let banded = |low: usize, high: usize| {
            Mat::from_fn(4, 4, |i, j| {
                let inside = i + low <= j && j <= i + high;
                if inside { row[i] * col[j] } else { 0.0 }
            })
        };
        let series = MatrixSeries::constant(banded(1, 1), banded(0, 2), 3).expect("shapes");
        let spread = |scaling: Scaling| {
            let scaled = scaling.apply(&series);
            let entries = [scaled.e(), scaled.b()].map(|s| s.coefficient(0).clone());
            let sizes = entries.iter().flat_map(|c| c.as_slice().to_vec());
            sizes.filter(|v| *v > 0.0).fold(1.0, f64::min)
        };
        assert!(spread(Scaling::balanced::<_, Mat>(&series, &[], None)) > 0.1);
    }

    #[test]
    fn what_is_tiny_at_one_point_keeps_its_unit() {
        let at = |value: f64| {
            let e = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 0.0]]);
            let b = Mat::from_rows(&[&[1.0, 1.0], &[1.0, value]]);
            MatrixSeries::constant(e, b, 3).expect("shapes")
        };
        let (point, beside) = (at(1e-16), [at(0.1), at(0.2), at(0.3)]);
        let scaled = Scaling::balanced(&point, &beside, None).apply(&point);
        assert!(scaled.b().coefficient(0)[(1, 1)] < 1e-14);
    }

    #[test]
    fn zeros_and_nan_leave_finite_factors() {
        for value in [0.0, f64::NAN, f64::MAX] {
            let c = Mat::from_fn(2, 3, |_, _| value);
            let series = MatrixSeries::constant(c.clone(), c, 2).expect("shapes");
            let nominal: Option<&[f64]> = Some(&[1.0, f64::NAN, 2.0]);
            for s in [
                Scaling::by_low_orders(&series, nominal),
                Scaling::balanced(&series, std::slice::from_ref(&series), nominal),
            ] {
                let factors = s.rows.iter().chain(&s.columns);
                assert!(factors.chain([&s.time]).all(|v| v.is_finite()));
            }
        }
    }
}
