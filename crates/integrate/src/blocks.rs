//! The system Jacobian factored block by block: solves, and the determinant of each diagonal block.
//!
//! In the order of [`Structure::blocks`] the matrix is block triangular, so a solve goes through the blocks once, (6) of
//! `docs/theory/integration.md`. A block of up to [`INVERSE`] unknowns is inverted: a product with the inverse costs a
//! third of two triangular solves, and the residuals of the stages are computed afresh anyway.

use daelight_analysis::structure::Structure;
use daelight_linalg::{CscMat, LinalgError, LogDet, Lu, Mat, SparseLu};
use daelight_native::BlockShape;

/// Products of pivots are kept within this and its inverse, so that two more factors of their kind fit into a double.
const LARGEST_FACTOR: f64 = 1e100;

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

/// A diagonal block that is inverted, as runs side by side read it.
#[derive(Debug)]
pub(crate) struct BlockLayout {
    pub equations: Vec<usize>,
    pub unknowns: Vec<usize>,
    /// Entry of the system Jacobian, row and column.
    pub entries: Vec<(usize, usize, usize)>,
    /// Entry, row and the unknown of an earlier block.
    pub coupling: Vec<(usize, usize, usize)>,
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
    Full {
        matrix: Mat,
        lu: Box<Lu>,
    },
    Sparse {
        matrix: CscMat,
        lu: Box<SparseLu>,
        /// Whether the first solution with these factors was good as it came; later ones are then not checked.
        trusted: bool,
    },
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
    pub fn factor(&mut self, entries: &[f64]) -> Result<(), LinalgError> {
        for coupling in &mut self.coupling {
            coupling.value = entries[coupling.entry as usize];
        }
        for block in &mut self.blocks {
            block.factor(|entry| entries[entry])?;
        }
        Ok(())
    }

    /// The blocks as native code solves with them.
    pub fn shapes(&self) -> Vec<BlockShape> {
        let shape = |block: &Block| BlockShape {
            roots: block.equations.clone(),
            variables: block.unknowns.clone(),
            coupling: self.coupling[block.coupling.clone()]
                .iter()
                .map(|coupling| (coupling.row as usize, coupling.unknown as usize))
                .collect(),
            stride: Inverse::stride(block.unknowns.len()),
        };
        self.blocks.iter().map(shape).collect()
    }

    /// The blocks, if all of them are inverted.
    pub fn layouts(&self) -> Option<Vec<BlockLayout>> {
        let layout = |block: &Block| {
            let Factor::Inverse(inverse) = &block.factor else {
                return None;
            };
            let place = |&(entry, place): &(u32, u32)| {
                let place = place as usize;
                let (row, column) = (place % inverse.stride, place / inverse.stride);
                (entry as usize, row, column)
            };
            let coupled = |c: &Coupling| (c.entry as usize, c.row as usize, c.unknown as usize);
            Some(BlockLayout {
                equations: block.equations.clone(),
                unknowns: block.unknowns.clone(),
                entries: block.entries.iter().map(place).collect(),
                coupling: self.coupling[block.coupling.clone()]
                    .iter()
                    .map(coupled)
                    .collect(),
            })
        };
        self.blocks.iter().map(layout).collect()
    }

    /// The numbers of the [`shapes`](Self::shapes), if all blocks are inverted and regular.
    pub fn numbers(&self, into: &mut Vec<f64>) -> Result<(), LinalgError> {
        into.clear();
        for block in &self.blocks {
            let Factor::Inverse(inverse) = &block.factor else {
                unreachable!("larger blocks are not solved by native code");
            };
            if let Some(step) = inverse.singular {
                return Err(LinalgError::Singular { step });
            }
            into.extend_from_slice(&inverse.matrix);
            let coupling = &self.coupling[block.coupling.clone()];
            into.extend(coupling.iter().map(|coupling| coupling.value));
        }
        Ok(())
    }

    /// The determinant of one diagonal block alone; it cannot be solved with before the next factorisation.
    pub fn block_determinant(
        &mut self,
        block: usize,
        entry: impl Fn(usize) -> f64,
    ) -> Result<LogDet, LinalgError> {
        let block = &mut self.blocks[block];
        if let Factor::Inverse(inverse) = &mut block.factor {
            inverse.fill(&block.entries, entry);
            return Ok(inverse.determinant());
        }
        block.factor(&entry)?;
        Ok(block.determinant)
    }

    /// Whether some entry of a diagonal block is one of those asked for.
    pub fn has_entry(&self, block: usize, mut is_wanted: impl FnMut(usize) -> bool) -> bool {
        let mut entries = self.blocks[block].entries.iter();
        entries.any(|&(entry, _)| is_wanted(entry as usize))
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
                Factor::Sparse { lu, trusted, .. } => {
                    if *trusted {
                        lu.solve_unchecked(right)?;
                    } else {
                        *trusted = !lu.solve(right)?.refined;
                    }
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
                inverse.fill(&self.entries, entry);
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
            Factor::Sparse {
                matrix,
                lu,
                trusted,
            } => {
                *trusted = false;
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
        let trusted = false;
        let factor = Self::Sparse {
            matrix,
            lu,
            trusted,
        };
        Ok((factor, entries))
    }
}

/// A small matrix that is replaced by its inverse (Gauss and Jordan, the pivot of each column the greatest that is left).
///
/// Columns are padded with zeros to 1, 8 or 16 numbers: whole registers, and loops of fixed length.
#[derive(Debug)]
struct Inverse {
    n: usize,
    stride: usize,
    /// By columns.
    matrix: Vec<f64>,
    /// Why it cannot be solved with, if so: the step with a zero pivot.
    singular: Option<usize>,
    product: Vec<f64>,
    /// Asking the processor what it can do takes as long as a small product.
    arch: pulp::Arch,
}

/// Replaces a small matrix by its inverse, or uses it up; gives the determinant.
struct Elimination<'a> {
    stride: usize,
    matrix: &'a mut [f64],
    inverts: bool,
}

impl Elimination<'_> {
    #[inline(always)]
    fn run<const STRIDE: usize>(self) -> Result<LogDet, usize> {
        let columns = self.matrix.as_chunks_mut::<STRIDE>().0;
        if self.inverts {
            invert(columns)
        } else {
            determinant(columns)
        }
    }
}

impl pulp::WithSimd for Elimination<'_> {
    type Output = Result<LogDet, usize>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        match self.stride {
            1 => self.run::<1>(),
            8 => self.run::<8>(),
            _ => self.run::<INVERSE>(),
        }
    }
}

/// y = a x for a small matrix, in registers and in two sums, so that additions need not wait for each other.
struct Product<'a> {
    stride: usize,
    matrix: &'a [f64],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl pulp::WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let matrix = S::as_simd_f64s(self.matrix).0;
        let stride = self.stride / S::F64_LANES;
        let (pairs, last) = self.x.as_chunks::<2>();
        for (part, y) in S::as_mut_simd_f64s(self.y).0.iter_mut().enumerate() {
            let mut sums = [simd.splat_f64s(0.0); 2];
            let mut place = part;
            for pair in pairs {
                for (sum, &x) in sums.iter_mut().zip(pair) {
                    let term = simd.mul_f64s(simd.splat_f64s(x), matrix[place]);
                    *sum = simd.add_f64s(*sum, term);
                    place += stride;
                }
            }
            for &x in last {
                let term = simd.mul_f64s(simd.splat_f64s(x), matrix[place]);
                sums[0] = simd.add_f64s(sums[0], term);
            }
            *y = simd.add_f64s(sums[0], sums[1]);
        }
    }
}

impl Inverse {
    fn new(n: usize) -> Self {
        let stride = Self::stride(n);
        Self {
            n,
            stride,
            matrix: vec![0.0; n * stride],
            singular: None,
            product: vec![0.0; stride],
            arch: pulp::Arch::new(),
        }
    }

    /// Distance of columns.
    fn stride(n: usize) -> usize {
        match n {
            0 | 1 => 1,
            2..=8 => 8,
            _ => INVERSE,
        }
    }

    /// Sets the matrix from entries and their places.
    fn fill(&mut self, entries: &[(u32, u32)], entry: impl Fn(usize) -> f64) {
        self.matrix.fill(0.0);
        for &(from, to) in entries {
            self.matrix[to as usize] = entry(from as usize);
        }
    }

    fn eliminate(&mut self, inverts: bool) -> LogDet {
        let outcome = self.arch.dispatch(Elimination {
            stride: self.stride,
            matrix: &mut self.matrix,
            inverts,
        });
        self.singular = outcome.err();
        outcome.unwrap_or(LogDet {
            sign: 0.0,
            log_abs: f64::NEG_INFINITY,
        })
    }

    /// Inverts in place and gives the determinant; a zero pivot ends it.
    fn invert(&mut self) -> LogDet {
        self.eliminate(true)
    }

    /// The determinant alone, for a third of the work. The matrix cannot be solved with afterwards.
    fn determinant(&mut self) -> LogDet {
        let determinant = self.eliminate(false);
        self.singular = self.singular.or(Some(0));
        determinant
    }

    fn apply(&mut self, right: &[f64]) -> Result<&[f64], LinalgError> {
        if let Some(step) = self.singular {
            return Err(LinalgError::Singular { step });
        }
        if let [a] = *self.matrix {
            self.product[0] = a * right[0];
            return Ok(&self.product);
        }
        self.arch.dispatch(Product {
            stride: self.stride,
            matrix: &self.matrix,
            x: right,
            y: &mut self.product,
        });
        Ok(&self.product[..self.n])
    }
}

/// The pivots of an elimination without exchanges of rows: which row served which column, and their product.
struct Pivots {
    /// By column.
    row: [usize; INVERSE],
    negative: bool,
    /// One logarithm serves several pivots, as long as their product is in range.
    magnitude: f64,
    log_abs: f64,
}

impl Default for Pivots {
    fn default() -> Self {
        Self {
            row: [0; INVERSE],
            negative: false,
            magnitude: 1.0,
            log_abs: 0.0,
        }
    }
}

impl Pivots {
    /// Takes the pivot of a column; its number as an error if it is none.
    #[inline(always)]
    fn take(&mut self, column: usize, row: usize, pivot: f64) -> Result<(), usize> {
        if pivot == 0.0 || !pivot.is_finite() {
            return Err(column);
        }
        // Each earlier pivot in a later row is one exchange.
        let later = self.row[..column].iter().filter(|&&r| r > row).count();
        self.negative ^= (pivot < 0.0) ^ (later % 2 == 1);
        self.row[column] = row;
        self.magnitude *= pivot.abs();
        if !(1.0 / LARGEST_FACTOR..LARGEST_FACTOR).contains(&self.magnitude) {
            self.log_abs += self.magnitude.ln();
            self.magnitude = 1.0;
        }
        Ok(())
    }

    fn determinant(&self) -> LogDet {
        LogDet {
            sign: if self.negative { -1.0 } else { 1.0 },
            log_abs: self.log_abs + self.magnitude.ln(),
        }
    }
}

/// The greatest entry of a column in the rows that are left.
#[inline(always)]
fn greatest<const STRIDE: usize>(column: &[f64; STRIDE], left: &[f64; STRIDE], n: usize) -> usize {
    let (mut best, mut size) = (0, -1.0);
    for row in 0..n {
        let here = column[row].abs() * left[row];
        // Rows that have served count as -1.
        let here = if left[row] == 0.0 { -1.0 } else { here };
        if here > size {
            (best, size) = (row, here);
        }
    }
    best
}

/// Exchanges each unknown with an equation: afterwards the row of a pivot gives the unknown of its column.
#[inline(always)]
fn invert<const STRIDE: usize>(a: &mut [[f64; STRIDE]]) -> Result<LogDet, usize> {
    let n = a.len();
    let mut pivots = Pivots::default();
    let mut left = [1.0; STRIDE];
    for k in 0..n {
        let mut pivot_column = a[k];
        let row = greatest(&pivot_column, &left, n);
        left[row] = 0.0;
        let pivot = pivot_column[row];
        pivots.take(k, row, pivot)?;
        let scale = 1.0 / pivot;
        // With these the row of the pivot needs no loop of its own: 0 * old + factor.
        pivot_column[row] = -1.0;
        let mut keep = [1.0; STRIDE];
        keep[row] = 0.0;
        for (j, column) in a.iter_mut().enumerate() {
            if j != k {
                let factor = column[row] * scale;
                for i in 0..STRIDE {
                    column[i] = column[i] * keep[i] - factor * pivot_column[i];
                }
            }
        }
        for i in 0..STRIDE {
            a[k][i] = -scale * pivot_column[i];
        }
    }
    // Column k belongs to the equation of its pivot, and that row to unknown k.
    let mut inverse = [[0.0; STRIDE]; INVERSE];
    for (column, &equation) in a.iter().zip(&pivots.row) {
        for (unknown, &row) in pivots.row[..n].iter().enumerate() {
            inverse[equation][unknown] = column[row];
        }
    }
    a.copy_from_slice(&inverse[..n]);
    Ok(pivots.determinant())
}

/// Eliminates; what is left of finished columns and rows means nothing.
#[inline(always)]
fn determinant<const STRIDE: usize>(a: &mut [[f64; STRIDE]]) -> Result<LogDet, usize> {
    let n = a.len();
    let mut pivots = Pivots::default();
    let mut left = [1.0; STRIDE];
    for k in 0..n {
        let pivot_column = a[k];
        let row = greatest(&pivot_column, &left, n);
        left[row] = 0.0;
        let pivot = pivot_column[row];
        pivots.take(k, row, pivot)?;
        let scale = 1.0 / pivot;
        for column in &mut a[k + 1..] {
            let factor = column[row] * scale;
            for i in 0..STRIDE {
                column[i] -= factor * pivot_column[i];
            }
        }
    }
    Ok(pivots.determinant())
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
        // The determinant alone uses the matrix up.
        let alone = inverse.determinant();
        assert!((alone.value() * -4.5 - 1.0).abs() < 1e-14, "{alone:?}");
        assert!(inverse.apply(&b).is_err());
    }
}
