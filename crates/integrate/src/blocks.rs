//! The system Jacobian factored block by block: solves, and the determinant of each diagonal block.
//!
//! In the order of [`Structure::blocks`] the matrix is block triangular, so a solve goes through the blocks once, (6) of
//! `docs/theory/integration.md`. A block of up to [`INVERSE`] unknowns is inverted: a product with the inverse costs a
//! third of two triangular solves, and the residuals of the stages are computed afresh anyway.

use daelight_analysis::structure::Structure;
use daelight_linalg::{CscMat, LinalgError, LogDet, Lu, Mat, SparseLu};

/// Largest block that is inverted explicitly. Measured on the 13 unknowns of the squeezer: one product takes 0.1
/// microseconds, two triangular solves 0.27.
const INVERSE: usize = 16;

/// Largest block that is factored as a full matrix.
const FULL: usize = 64;

/// Factors the system Jacobian from its entries, row by row, and solves with it. Nothing allocates after the first time.
#[derive(Debug)]
pub(crate) struct BlockSolver {
    blocks: Vec<Block>,
    /// Entries outside the diagonal blocks: row within its block, unknown, entry. By block.
    coupling: Vec<Coupling>,
    right: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Coupling {
    row: u32,
    unknown: u32,
    entry: u32,
    value: f64,
}

#[derive(Debug)]
struct Block {
    equations: Vec<usize>,
    unknowns: Vec<usize>,
    /// Where entries go: the entry, and its place in the full matrix or among the values of the sparse one.
    entries: Vec<(u32, u32)>,
    coupling: std::ops::Range<usize>,
    factor: Factor,
    determinant: LogDet,
}

#[derive(Debug)]
enum Factor {
    Inverse(Inverse),
    Full { matrix: Mat, lu: Box<Lu> },
    Sparse { matrix: CscMat, lu: Box<SparseLu> },
}

impl BlockSolver {
    /// Lays out the blocks of a structure.
    pub fn new(structure: &Structure) -> Result<Self, LinalgError> {
        let mut rows: Vec<Vec<(usize, u32)>> = Vec::with_capacity(structure.n());
        let mut entry = 0u32;
        for equation in 0..structure.n() {
            let row = structure.jacobian_row(equation).map(|unknown| {
                entry += 1;
                (unknown, entry - 1)
            });
            rows.push(row.collect());
        }
        let mut blocks = Vec::with_capacity(structure.blocks().len());
        let mut coupling = Vec::new();
        for (number, members) in structure.blocks().iter().enumerate() {
            let first = coupling.len();
            let mut inside = Vec::new();
            for (row, &equation) in members.equations.iter().enumerate() {
                for &(unknown, entry) in &rows[equation] {
                    if structure.block_of_unknown(unknown) == number {
                        let column = members.unknowns.binary_search(&unknown);
                        let column = column.expect("an unknown of the block");
                        inside.push((row, column, entry));
                    } else {
                        coupling.push(Coupling {
                            row: row as u32,
                            unknown: unknown as u32,
                            entry,
                            value: 0.0,
                        });
                    }
                }
            }
            let (factor, entries) = Factor::new(members.equations.len(), &inside)?;
            blocks.push(Block {
                equations: members.equations.clone(),
                unknowns: members.unknowns.clone(),
                entries,
                coupling: first..coupling.len(),
                factor,
                determinant: LogDet {
                    sign: 0.0,
                    log_abs: f64::NEG_INFINITY,
                },
            });
        }
        let widest = blocks.iter().map(|b| b.equations.len()).max().unwrap_or(0);
        Ok(Self {
            blocks,
            coupling,
            right: vec![0.0; widest],
        })
    }

    /// Number of diagonal blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Factors all blocks. A block with a zero pivot is an error only when it is solved with.
    pub fn factor(&mut self, entry: impl Fn(usize) -> f64) -> Result<(), LinalgError> {
        for coupling in &mut self.coupling {
            coupling.value = entry(coupling.entry as usize);
        }
        for block in &mut self.blocks {
            block.factor(&entry)?;
        }
        Ok(())
    }

    /// Factors one diagonal block alone, for its determinant.
    pub fn factor_block(
        &mut self,
        block: usize,
        entry: impl Fn(usize) -> f64,
    ) -> Result<LogDet, LinalgError> {
        self.blocks[block].factor(&entry)?;
        Ok(self.blocks[block].determinant)
    }

    /// The determinant of a diagonal block as last factored.
    pub fn determinant(&self, block: usize) -> LogDet {
        self.blocks[block].determinant
    }

    /// Solves J x = b, with b by equation and x by unknown.
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) -> Result<(), LinalgError> {
        for block in &mut self.blocks {
            let right = &mut self.right[..block.equations.len()];
            for (place, &equation) in right.iter_mut().zip(&block.equations) {
                *place = b[equation];
            }
            for coupling in &self.coupling[block.coupling.clone()] {
                right[coupling.row as usize] -= coupling.value * x[coupling.unknown as usize];
            }
            let solution = match &mut block.factor {
                Factor::Inverse(inverse) => inverse.apply(right)?,
                Factor::Full { lu, .. } => {
                    lu.solve(right)?;
                    &*right
                }
                Factor::Sparse { lu, .. } => {
                    lu.solve(right)?;
                    &*right
                }
            };
            for (&unknown, &value) in block.unknowns.iter().zip(solution) {
                x[unknown] = value;
            }
        }
        Ok(())
    }
}

impl Block {
    fn factor(&mut self, entry: impl Fn(usize) -> f64) -> Result<(), LinalgError> {
        self.determinant = match &mut self.factor {
            Factor::Inverse(inverse) => {
                inverse.matrix.fill(0.0);
                for &(from, to) in &self.entries {
                    inverse.matrix[to as usize] = entry(from as usize);
                }
                inverse.invert()
            }
            Factor::Full { matrix, lu } => {
                let values = matrix.as_mut_slice();
                for &(from, to) in &self.entries {
                    values[to as usize] = entry(from as usize);
                }
                lu.factor(matrix.view())?;
                lu.log_det()?
            }
            Factor::Sparse { matrix, lu } => {
                let values = matrix.values_mut();
                for &(from, to) in &self.entries {
                    values[to as usize] = entry(from as usize);
                }
                lu.factor(matrix)?;
                lu.log_det()?
            }
        };
        Ok(())
    }
}

impl Factor {
    fn new(
        n: usize,
        inside: &[(usize, usize, u32)],
    ) -> Result<(Self, Vec<(u32, u32)>), LinalgError> {
        if n <= FULL {
            let stride = if n <= INVERSE { Inverse::stride(n) } else { n };
            let place = |&(row, column, entry): &(usize, usize, u32)| {
                (entry, (column * stride + row) as u32)
            };
            let entries = inside.iter().map(place).collect();
            let factor = if n <= INVERSE {
                Self::Inverse(Inverse::new(n))
            } else {
                Self::Full {
                    matrix: Mat::zeros(n, n),
                    lu: Box::new(Lu::with_capacity(n)),
                }
            };
            return Ok((factor, entries));
        }
        let triplets: Vec<(usize, usize, f64)> = inside
            .iter()
            .map(|&(row, column, _)| (row, column, 1.0))
            .collect();
        let matrix = CscMat::from_triplets(n, n, &triplets)?;
        let place = |&(row, column, entry): &(usize, usize, u32)| {
            let first = matrix.col_ptr()[column] as usize;
            let rows = &matrix.row_idx()[first..matrix.col_ptr()[column + 1] as usize];
            let at = rows
                .binary_search(&(row as u32))
                .expect("an entry of the pattern");
            (entry, (first + at) as u32)
        };
        let entries = inside.iter().map(place).collect();
        let lu = Box::new(SparseLu::new(&matrix)?);
        Ok((Self::Sparse { matrix, lu }, entries))
    }
}

/// A small matrix that is replaced by its inverse (Gauss and Jordan, with exchanged rows).
///
/// Columns are padded with zeros to whole vector registers, so that no loop has a rest.
#[derive(Debug)]
struct Inverse {
    n: usize,
    stride: usize,
    /// By columns.
    matrix: Vec<f64>,
    exchanged: Vec<usize>,
    singular: Option<usize>,
    product: Vec<f64>,
    /// Asking the processor what it can do takes as long as a small product.
    arch: pulp::Arch,
}

impl Inverse {
    fn new(n: usize) -> Self {
        let stride = Self::stride(n);
        Self {
            n,
            stride,
            matrix: vec![0.0; n * stride],
            exchanged: vec![0; n],
            singular: None,
            product: vec![0.0; stride],
            arch: pulp::Arch::new(),
        }
    }

    /// Distance of columns: 1, 4 or a multiple of 8.
    fn stride(n: usize) -> usize {
        match n {
            0 | 1 => n,
            2..=4 => 4,
            _ => n.next_multiple_of(8),
        }
    }

    /// Inverts in place and gives the determinant; a zero pivot ends it.
    fn invert(&mut self) -> LogDet {
        let outcome = self.arch.dispatch(Inversion {
            n: self.n,
            stride: self.stride,
            a: &mut self.matrix,
            exchanged: &mut self.exchanged,
        });
        self.singular = outcome.err();
        outcome.unwrap_or(LogDet {
            sign: 0.0,
            log_abs: f64::NEG_INFINITY,
        })
    }

    fn apply(&mut self, right: &[f64]) -> Result<&[f64], LinalgError> {
        if let Some(step) = self.singular {
            return Err(LinalgError::Singular { step });
        }
        self.arch.dispatch(Product {
            a: &self.matrix,
            x: right,
            y: &mut self.product,
        });
        Ok(&self.product[..self.n])
    }
}

/// y += a x in pieces of whole vector registers.
#[inline(always)]
fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    let (y8, y_rest) = y.as_chunks_mut::<8>();
    let (x8, x_rest) = x.as_chunks::<8>();
    for (y, x) in y8.iter_mut().zip(x8) {
        for lane in 0..8 {
            y[lane] += a * x[lane];
        }
    }
    for (y, x) in y_rest.iter_mut().zip(x_rest) {
        *y += a * x;
    }
}

struct Product<'a> {
    a: &'a [f64],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl pulp::WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.y.fill(0.0);
        for (column, &x) in self.a.chunks_exact(self.y.len().max(1)).zip(self.x) {
            add_scaled(self.y, x, column);
        }
    }
}

struct Inversion<'a> {
    n: usize,
    stride: usize,
    a: &'a mut [f64],
    exchanged: &'a mut [usize],
}

impl pulp::WithSimd for Inversion<'_> {
    type Output = Result<LogDet, usize>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self {
            n,
            stride,
            a,
            exchanged,
        } = self;
        let (mut sign, mut magnitude, mut log_abs) = (1.0, 1.0f64, 0.0);
        for k in 0..n {
            let column = &a[k * stride..][..n];
            let mut best = k;
            for row in k + 1..n {
                if column[row].abs() > column[best].abs() {
                    best = row;
                }
            }
            let pivot = column[best];
            if pivot == 0.0 || !pivot.is_finite() {
                return Err(k);
            }
            exchanged[k] = best;
            if best != k {
                sign = -sign;
                for column in a.chunks_exact_mut(stride) {
                    column.swap(k, best);
                }
            }
            if pivot < 0.0 {
                sign = -sign;
            }
            // One logarithm for several pivots, as long as their product is in range.
            magnitude *= pivot.abs();
            if !(1e-100..1e100).contains(&magnitude) {
                log_abs += magnitude.ln();
                magnitude = 1.0;
            }
            let scale = 1.0 / pivot;
            let (before, rest) = a.split_at_mut(k * stride);
            let (pivot_column, after) = rest.split_at_mut(stride);
            pivot_column[k] = 0.0;
            let others = before.chunks_exact_mut(stride);
            for other in others.chain(after.chunks_exact_mut(stride)) {
                let factor = other[k] * scale;
                if factor != 0.0 {
                    add_scaled(other, -factor, pivot_column);
                }
                other[k] = factor;
            }
            for x in pivot_column.iter_mut() {
                *x *= -scale;
            }
            pivot_column[k] = scale;
        }
        for k in (0..n).rev() {
            let other = exchanged[k];
            if other != k {
                let (low, high) = a.split_at_mut(other * stride);
                low[k * stride..][..n].swap_with_slice(&mut high[..n]);
            }
        }
        Ok(LogDet {
            sign,
            log_abs: log_abs + magnitude.ln(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_solves_and_knows_its_determinant() {
        let rows = [[0.0, 2.0, 1.0], [1.0, -1.0, 0.0], [3.0, 0.5, 4.0]];
        let mut inverse = Inverse::new(3);
        for (i, row) in rows.iter().enumerate() {
            for (j, &value) in row.iter().enumerate() {
                inverse.matrix[j * inverse.stride + i] = value;
            }
        }
        let determinant = inverse.invert();
        assert!(
            (determinant.value() - -4.5).abs() < 1e-14,
            "{determinant:?}"
        );
        let x = [1.0, -2.0, 0.5];
        let b: Vec<f64> = rows
            .iter()
            .map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum())
            .collect();
        for (found, wanted) in inverse.apply(&b).expect("regular").iter().zip(x) {
            assert!((found - wanted).abs() < 1e-14);
        }
    }
}
