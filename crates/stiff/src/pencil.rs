//! The matrices c E + B of Newton's method: scaled, factored, solved; real and complex, dense and sparse.

use crate::complex::ComplexLu;
use daelight_analysis::{Assembly, Equations};
use daelight_linalg::{CscMat, LinalgError, Lu, Mat, SparseLu};

/// Sizes up to which matrices are always stored densely.
///
/// Measured with `examples/stiff_speed.rs`; see `docs/theory/implicit.md`, section 8.
const DENSE: usize = 16;

/// Where the entries of E and B go in one sparse matrix by columns.
#[derive(Clone)]
pub(crate) struct Layout {
    matrix: CscMat,
    /// Places of the entries of B, then of those of E.
    places: [Vec<u32>; 2],
    /// Places that E occupies.
    in_e: Vec<bool>,
}

impl Layout {
    pub(crate) fn new(equations: &Equations) -> Result<Self, LinalgError> {
        let matrix = Assembly::new(equations)?.matrix().clone();
        let places = [0, 1].map(|derivative| {
            let pattern = equations.pattern(derivative);
            let place = |(row, column, _)| place_of(&matrix, row, column);
            pattern.iter().map(place).collect::<Vec<u32>>()
        });
        let mut in_e = vec![false; matrix.n_entries()];
        for &place in &places[1] {
            in_e[place as usize] = true;
        }
        Ok(Self {
            matrix,
            places,
            in_e,
        })
    }

    /// The layout of matrices that are full, for entries column by column.
    pub(crate) fn full(n: usize) -> Result<Self, LinalgError> {
        let starts = (0..=n).map(|column| (column * n) as u32).collect();
        let rows = (0..n * n).map(|place| (place % n.max(1)) as u32).collect();
        let places: Vec<u32> = (0..n * n).map(|place| place as u32).collect();
        Ok(Self {
            matrix: CscMat::from_pattern(n, n, starts, rows)?,
            places: [places.clone(), places],
            in_e: vec![true; n * n],
        })
    }

    fn is_dense(&self) -> bool {
        let n = self.matrix.nrows();
        n <= DENSE || 4 * self.matrix.n_entries() > n * n
    }
}

fn place_of(matrix: &CscMat, row: usize, column: usize) -> u32 {
    let starts = matrix.col_ptr();
    let rows = &matrix.row_idx()[starts[column] as usize..starts[column + 1] as usize];
    let found = rows.binary_search(&(row as u32));
    starts[column] + found.expect("the union holds every entry") as u32
}

/// E and B at a point, on their common pattern, with the scales of rows and columns.
pub(crate) struct Pencil {
    layout: Layout,
    b: Vec<f64>,
    e: Vec<f64>,
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
}

impl Pencil {
    pub(crate) fn new(layout: Layout) -> Self {
        let (n, n_entries) = (layout.matrix.nrows(), layout.matrix.n_entries());
        Self {
            layout,
            b: vec![0.0; n_entries],
            e: vec![0.0; n_entries],
            row_scale: vec![1.0; n],
            column_scale: vec![1.0; n],
        }
    }

    /// Takes over the entries of B and then of E, in the order of their patterns.
    pub(crate) fn load(&mut self, entries: &[f64]) {
        let (of_b, of_e) = entries.split_at(self.layout.places[0].len());
        for (&place, &value) in self.layout.places[0].iter().zip(of_b) {
            self.b[place as usize] = value;
        }
        for (&place, &value) in self.layout.places[1].iter().zip(of_e) {
            self.e[place as usize] = value;
        }
    }

    pub(crate) fn n(&self) -> usize {
        self.row_scale.len()
    }

    /// Row, column and place of every entry.
    fn for_each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let rows = self.layout.matrix.row_idx();
        for (column, range) in self.layout.matrix.col_ptr().windows(2).enumerate() {
            for place in range[0] as usize..range[1] as usize {
                visit(rows[place] as usize, column, place);
            }
        }
    }

    /// Visits row, column and the entries of B and E there.
    pub(crate) fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, f64, f64)) {
        self.for_each(|row, column, place| visit(row, column, self.b[place], self.e[place]));
    }

    /// into = E v.
    pub(crate) fn e_times(&self, v: &[f64], into: &mut [f64]) {
        into.fill(0.0);
        self.for_each(|row, column, place| into[row] += self.e[place] * v[column]);
    }

    /// into = what rounding leaves of each row of B x + E x', with signs that do not conspire.
    pub(crate) fn rounding(&self, x: &[f64], xp: &[f64], into: &mut [f64]) {
        into.fill(0.0);
        self.for_each(|row, column, place| {
            into[row] += (self.b[place] * x[column]).abs() + (self.e[place] * xp[column]).abs();
        });
        for (row, size) in into.iter_mut().enumerate() {
            let sign = if (row * row / 2 + row / 3) % 2 == 0 {
                1.0
            } else {
                -1.0
            };
            *size *= sign * f64::EPSILON;
        }
    }

    /// Chooses the scales: columns as given, rows so that the largest entry of c E + B in each is about 1.
    ///
    /// All scales are powers of two, so that scaling rounds nothing; (12) of `docs/theory/implicit.md`.
    pub(crate) fn equilibrate(&mut self, c: f64, column_scale: impl Fn(usize) -> f64) {
        for (column, scale) in self.column_scale.iter_mut().enumerate() {
            *scale = power_of_two(column_scale(column));
        }
        let mut largest = std::mem::take(&mut self.row_scale);
        largest.fill(0.0);
        self.for_each(|row, column, place| {
            let size = (self.b[place] + c * self.e[place]).abs() * self.column_scale[column];
            largest[row] = size.max(largest[row]);
        });
        for scale in &mut largest {
            *scale = 1.0 / power_of_two(*scale);
        }
        self.row_scale = largest;
    }

    /// Leaves all rows and columns as they are, but for the rows' given scales.
    pub(crate) fn scale_rows(&mut self, row_scale: impl Fn(usize) -> f64) {
        self.column_scale.fill(1.0);
        for (row, scale) in self.row_scale.iter_mut().enumerate() {
            *scale = row_scale(row);
        }
    }
}

/// The power of two at or below a positive number; 1 for zero and for what is not finite.
fn power_of_two(x: f64) -> f64 {
    if x.is_finite() && x >= f64::MIN_POSITIVE {
        f64::from_bits(x.to_bits() & (0x7ff << 52))
    } else {
        1.0
    }
}

/// A factored matrix c E + B with a real c.
pub(crate) struct RealFactor {
    lu: RealLu,
    /// Whether the first solution with these factors was good as it came; later ones are then not checked.
    trusted: bool,
}

enum RealLu {
    Dense { matrix: Mat, lu: Box<Lu> },
    Sparse { matrix: CscMat, lu: Box<SparseLu> },
}

impl RealFactor {
    pub(crate) fn new(pencil: &Pencil) -> Result<Self, LinalgError> {
        let n = pencil.n();
        let lu = if pencil.layout.is_dense() {
            RealLu::Dense {
                matrix: Mat::zeros(n, n),
                lu: Box::new(Lu::with_capacity(n)),
            }
        } else {
            let matrix = pencil.layout.matrix.clone();
            let lu = Box::new(SparseLu::new(&matrix)?);
            RealLu::Sparse { matrix, lu }
        };
        Ok(Self { lu, trusted: false })
    }

    /// Factors the scaled matrix. A zero pivot is an error.
    pub(crate) fn factor(&mut self, pencil: &Pencil, c: f64) -> Result<(), LinalgError> {
        let value = |row: usize, column: usize, place: usize| {
            (pencil.b[place] + c * pencil.e[place])
                * pencil.row_scale[row]
                * pencil.column_scale[column]
        };
        self.trusted = false;
        let smallest = match &mut self.lu {
            RealLu::Dense { matrix, lu } => {
                let n = pencil.n();
                let entries = matrix.as_mut_slice();
                pencil.for_each(|row, column, place| {
                    entries[column * n + row] = value(row, column, place);
                });
                lu.factor(matrix.view())?;
                lu.smallest_pivot()?
            }
            RealLu::Sparse { matrix, lu } => {
                let entries = matrix.values_mut();
                pencil.for_each(|row, column, place| entries[place] = value(row, column, place));
                lu.factor(matrix)?;
                lu.smallest_pivot()?
            }
        };
        if smallest > 0.0 {
            Ok(())
        } else {
            Err(LinalgError::Singular { step: 0 })
        }
    }

    /// Solves in place for the unscaled unknowns.
    pub(crate) fn solve(&mut self, pencil: &Pencil, rhs: &mut [f64]) -> Result<(), LinalgError> {
        for (value, scale) in rhs.iter_mut().zip(&pencil.row_scale) {
            *value *= scale;
        }
        match &mut self.lu {
            RealLu::Dense { lu, .. } if self.trusted => lu.solve_unchecked(rhs)?,
            RealLu::Sparse { lu, .. } if self.trusted => lu.solve_unchecked(rhs)?,
            RealLu::Dense { lu, .. } => self.trusted = !lu.solve(rhs)?.refined,
            RealLu::Sparse { lu, .. } => self.trusted = !lu.solve(rhs)?.refined,
        }
        for (value, scale) in rhs.iter_mut().zip(&pencil.column_scale) {
            *value *= scale;
        }
        finite(rhs)
    }

    /// change = c (c E + B)^-1 E change, (34), with the c that was factored; as it was where that fails.
    pub(crate) fn damp(&mut self, pencil: &Pencil, c: f64, change: &mut [f64]) {
        let mut damped = vec![0.0; change.len()];
        pencil.e_times(change, &mut damped);
        if self.solve(pencil, &mut damped).is_ok() {
            for (change, damped) in change.iter_mut().zip(damped) {
                *change = c * damped;
            }
        }
    }

    /// Condition of the scaled matrix in the 1-norm, estimated.
    pub(crate) fn condition(&mut self) -> Result<f64, LinalgError> {
        match &mut self.lu {
            RealLu::Dense { lu, .. } => lu.condition_1norm(),
            RealLu::Sparse { lu, .. } => lu.condition_1norm(),
        }
    }
}

/// Whether all values are numbers.
fn finite(values: &[f64]) -> Result<(), LinalgError> {
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(LinalgError::ResultNotFinite),
    }
}

/// A factored matrix (c + i d) E + B.
pub(crate) enum ComplexFactor {
    Dense(Box<ComplexLu>),
    /// Real and imaginary parts of each unknown side by side: a real matrix of twice the size.
    Sparse {
        matrix: CscMat,
        lu: Box<SparseLu>,
        joined: Vec<f64>,
        /// As that of a [`RealFactor`].
        trusted: bool,
    },
}

impl ComplexFactor {
    pub(crate) fn new(pencil: &Pencil) -> Result<Self, LinalgError> {
        let n = pencil.n();
        if pencil.layout.is_dense() {
            return Ok(Self::Dense(Box::new(ComplexLu::new(n))));
        }
        let layout = &pencil.layout;
        let rows = layout.matrix.row_idx();
        let (mut starts, mut doubled) = (vec![0u32], Vec::new());
        for range in layout.matrix.col_ptr().windows(2) {
            for part in 0..2 {
                for place in range[0] as usize..range[1] as usize {
                    // Where E has no entry the imaginary part is zero: the block is diagonal.
                    if part == 0 || layout.in_e[place] {
                        doubled.push(2 * rows[place]);
                    }
                    if part == 1 || layout.in_e[place] {
                        doubled.push(2 * rows[place] + 1);
                    }
                }
                starts.push(doubled.len() as u32);
            }
        }
        let matrix = CscMat::from_pattern(2 * n, 2 * n, starts, doubled)?;
        let lu = Box::new(SparseLu::new(&matrix)?);
        Ok(Self::Sparse {
            matrix,
            lu,
            joined: vec![0.0; 2 * n],
            trusted: false,
        })
    }

    /// Factors the scaled matrix. A zero pivot is an error.
    pub(crate) fn factor(&mut self, pencil: &Pencil, c: f64, d: f64) -> Result<(), LinalgError> {
        let value = |row: usize, column: usize, place: usize| {
            let scale = pencil.row_scale[row] * pencil.column_scale[column];
            (
                (pencil.b[place] + c * pencil.e[place]) * scale,
                d * pencil.e[place] * scale,
            )
        };
        match self {
            Self::Dense(lu) => {
                lu.clear();
                pencil.for_each(|row, column, place| {
                    let (re, im) = value(row, column, place);
                    lu.set(row, column, re, im);
                });
                lu.factor()
            }
            Self::Sparse {
                matrix,
                lu,
                trusted,
                ..
            } => {
                *trusted = false;
                let entries = matrix.values_mut();
                let (rows, in_e) = (pencil.layout.matrix.row_idx(), &pencil.layout.in_e);
                let mut next = 0;
                for (column, range) in pencil.layout.matrix.col_ptr().windows(2).enumerate() {
                    for part in 0..2 {
                        for place in range[0] as usize..range[1] as usize {
                            let (re, im) = value(rows[place] as usize, column, place);
                            let block = if part == 0 { [re, im] } else { [-im, re] };
                            if in_e[place] {
                                entries[next..next + 2].copy_from_slice(&block);
                                next += 2;
                            } else {
                                entries[next] = re;
                                next += 1;
                            }
                        }
                    }
                }
                lu.factor(matrix)?;
                if lu.smallest_pivot()? > 0.0 {
                    Ok(())
                } else {
                    Err(LinalgError::Singular { step: 0 })
                }
            }
        }
    }

    /// Solves in place for the real and imaginary parts of the unscaled unknowns.
    pub(crate) fn solve(
        &mut self,
        pencil: &Pencil,
        re: &mut [f64],
        im: &mut [f64],
    ) -> Result<(), LinalgError> {
        match self {
            Self::Dense(lu) => {
                for (row, scale) in pencil.row_scale.iter().enumerate() {
                    re[row] *= scale;
                    im[row] *= scale;
                }
                lu.solve(re, im)?;
                for (column, scale) in pencil.column_scale.iter().enumerate() {
                    re[column] *= scale;
                    im[column] *= scale;
                }
            }
            Self::Sparse {
                lu,
                joined,
                trusted,
                ..
            } => {
                let (pairs, _) = joined.as_chunks_mut::<2>();
                for (row, pair) in pairs.iter_mut().enumerate() {
                    let scale = pencil.row_scale[row];
                    *pair = [re[row] * scale, im[row] * scale];
                }
                if *trusted {
                    lu.solve_unchecked(joined)?;
                } else {
                    *trusted = !lu.solve(joined)?.refined;
                }
                finite(joined)?;
                let (pairs, _) = joined.as_chunks::<2>();
                for (column, pair) in pairs.iter().enumerate() {
                    let scale = pencil.column_scale[column];
                    (re[column], im[column]) = (pair[0] * scale, pair[1] * scale);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;
    use daelight_analysis::System;
    use daelight_lang::{Options, load};

    /// (12): the condition of the pendulum's matrix grows like h^-3 as it stands and is bounded when scaled.
    #[test]
    fn scaling_bounds_the_condition_at_index_3() {
        let text = "model Pendulum  Real x, y, u, v, f;
            equation  der(x) = u;  der(y) = v;  der(u) = -f*x;  der(v) = -f*y - 9.81;  x^2 + y^2 = 1;
            end Pendulum;";
        let loaded = load("pendulum.mo", text.as_bytes(), &Options::default());
        let system = System::new(&loaded.model.expect("a right text")).expect("a system");
        let mut problem = Problem::new(system.equations(), &[]).expect("square");
        let mut pencil = problem.pencil();
        let x = [0.6, -0.8, 0.4, 0.3, 2.0];
        problem
            .linearise(0.0, &x, &[0.0; 5], &mut pencil)
            .expect("a regular point");
        let mut factor = RealFactor::new(&pencil).expect("a small matrix");
        let mut conditions = |h: f64| {
            pencil.scale_rows(|_| 1.0);
            factor.factor(&pencil, 1.0 / h).expect("regular");
            let plain = factor.condition().expect("factored");
            pencil.equilibrate(1.0 / h, |j| h.powi(1 - problem.indices()[j] as i32));
            factor.factor(&pencil, 1.0 / h).expect("regular");
            (plain, factor.condition().expect("factored"))
        };
        let (coarse, _) = conditions(1e-3);
        let (fine, _) = conditions(1e-4);
        assert!((fine / coarse).log10() > 2.9, "{coarse:e}, {fine:e}");
        for h in [1e-2, 1e-4, 1e-6, 1e-8] {
            let (_, scaled) = conditions(h);
            assert!(scaled < 50.0, "{scaled} for {h}");
        }
    }

    #[test]
    fn powers_of_two_lie_below() {
        for (x, power) in [
            (1.0, 1.0),
            (3.9, 2.0),
            (0.3, 0.25),
            (0.0, 1.0),
            (f64::NAN, 1.0),
        ] {
            assert_eq!(power_of_two(x), power);
        }
    }
}
