//! The system Jacobian of several runs, inverted block by block as `blocks.rs` does it for one.

use super::pack::{Pack, subtract};
use crate::blocks::{BlockLayout, BlockSolver};
use crate::problem::Problem;
use pulp::Simd;

/// Inverses of the diagonal blocks, and what couples them.
pub(super) struct Factors<const W: usize> {
    blocks: Vec<BlockLayout>,
    /// The entries of the system Jacobian as last factored.
    pub entries: Vec<Pack<W>>,
    /// Inverses by columns, one block after the other.
    inverses: Vec<Pack<W>>,
    /// Determinants of the blocks; 0 where one cannot be solved with.
    pub determinants: Vec<Pack<W>>,
    right: Vec<Pack<W>>,
    work: Work<W>,
    /// For questions to one run.
    single: BlockSolver,
    given: Vec<f64>,
}

impl<const W: usize> Factors<W> {
    /// `None` for blocks that are too large to be inverted.
    pub fn new(problem: &Problem) -> Option<Self> {
        let single = problem.solver().ok()?;
        let blocks = single.layouts()?;
        let n_numbers = blocks.iter().map(|b| b.unknowns.len().pow(2)).sum();
        let widest = blocks.iter().map(|b| b.unknowns.len()).max().unwrap_or(0);
        let n_entries = problem.structure().n_jacobian_entries();
        Some(Self {
            entries: vec![Pack::ZERO; n_entries],
            inverses: vec![Pack::ZERO; n_numbers],
            determinants: vec![Pack::ZERO; blocks.len()],
            right: vec![Pack::ZERO; widest],
            work: Work {
                matrix: vec![Pack::ZERO; widest * widest],
                origin: vec![Pack::ZERO; widest],
                swaps: vec![[0.0; W]; widest],
                column: vec![Pack::ZERO; widest],
            },
            given: vec![0.0; n_entries],
            blocks,
            single,
        })
    }

    /// Inverts all blocks with the entries as they are, for the runs that are `wanted`; the others keep their inverses.
    #[inline(always)]
    pub fn factor<S: Simd>(&mut self, simd: S, wanted: &[bool; W], all: bool) {
        let mut first = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            let n = block.unknowns.len();
            self.work.fill(block, &self.entries);
            let determinant = self.work.invert(simd, n);
            let into = &mut self.inverses[first..first + n * n];
            let found = &self.work.matrix[..n * n];
            if all {
                into.copy_from_slice(found);
                self.determinants[at] = determinant;
            } else {
                for (into, new) in into.iter_mut().zip(found) {
                    *into = into.or(wanted, *new);
                }
                self.determinants[at] = self.determinants[at].or(wanted, determinant);
            }
            first += n * n;
        }
    }

    /// The determinants of all blocks with other entries, by block; nothing that was factored changes.
    #[inline(always)]
    pub fn determinants_of<S: Simd>(&mut self, simd: S, entries: &[Pack<W>], into: &mut [Pack<W>]) {
        for (at, block) in self.blocks.iter().enumerate() {
            self.work.fill(block, entries);
            into[at] = self.work.eliminate(simd, block.unknowns.len());
        }
    }

    /// The factored system Jacobian of one run.
    pub fn single(&mut self, lane: usize) -> &mut BlockSolver {
        for (into, entry) in self.given.iter_mut().zip(&self.entries) {
            *into = entry[lane];
        }
        // A zero pivot is an error when it is solved with.
        let _ = self.single.factor(&self.given);
        &mut self.single
    }

    /// Solves J x = b, with b by equation and x by unknown.
    #[inline(always)]
    pub fn solve(&mut self, b: &[Pack<W>], x: &mut [Pack<W>]) {
        let mut first = 0;
        for block in &self.blocks {
            let n = block.unknowns.len();
            let right = &mut self.right[..n];
            for (place, &equation) in right.iter_mut().zip(&block.equations) {
                *place = b[equation];
            }
            for &(entry, row, unknown) in &block.coupling {
                right[row] = right[row] - self.entries[entry] * x[unknown];
            }
            let inverse = &self.inverses[first..first + n * n];
            if n == 1 {
                x[block.unknowns[0]] = inverse[0] * right[0];
            } else {
                for (row, &unknown) in block.unknowns.iter().enumerate() {
                    // In two sums, as single runs do it.
                    let mut sums = [Pack::ZERO; 2];
                    let mut column = 0;
                    while column + 2 <= n {
                        sums[0] += right[column] * inverse[column * n + row];
                        sums[1] += right[column + 1] * inverse[(column + 1) * n + row];
                        column += 2;
                    }
                    if column < n {
                        sums[0] += right[column] * inverse[column * n + row];
                    }
                    x[unknown] = sums[0] + sums[1];
                }
            }
            first += n * n;
        }
    }
}

/// Room for a matrix by columns.
struct Work<const W: usize> {
    matrix: Vec<Pack<W>>,
    column: Vec<Pack<W>>,
    /// Where each row was at the beginning, run by run, and which one each row was exchanged with.
    origin: Vec<Pack<W>>,
    swaps: Vec<[f64; W]>,
}

impl<const W: usize> Work<W> {
    #[inline(always)]
    fn fill(&mut self, block: &BlockLayout, entries: &[Pack<W>]) {
        let n = block.unknowns.len();
        self.matrix[..n * n].fill(Pack::ZERO);
        for &(entry, row, column) in &block.entries {
            self.matrix[column * n + row] = entries[entry];
        }
        for (row, origin) in self.origin.iter_mut().enumerate() {
            *origin = Pack::all(row as f64);
        }
    }

    /// Inverts the matrix in place (Gauss and Jordan) and gives its determinant.
    ///
    /// A pivot of zero makes a determinant of zero, and an inverse that is not to be used.
    #[inline(always)]
    fn invert<S: Simd>(&mut self, simd: S, n: usize) -> Pack<W> {
        let mut determinant = Pack::all(1.0);
        for k in 0..n {
            determinant = determinant * self.pivot(k, n, 0);
            let a = &mut self.matrix[..n * n];
            let column = &mut self.column[..n];
            column.copy_from_slice(&a[k * n..(k + 1) * n]);
            let scale = Pack::all(1.0) / column[k];
            for j in 0..n {
                if j != k {
                    let other = &mut a[j * n..(j + 1) * n];
                    let factor = other[k] * scale;
                    subtract(simd, other, &factor, column);
                    other[k] = factor;
                }
            }
            for i in 0..n {
                a[k * n + i] = -scale * column[i];
            }
            a[k * n + k] = scale;
        }
        // Exchanged rows of the matrix are exchanged columns of its inverse.
        for k in (0..n).rev() {
            let swaps = self.swaps[k];
            for other in k + 1..n {
                let (is_one, is_all) = chosen(&swaps, other);
                if is_one.iter().any(|is_one| *is_one) {
                    for row in 0..n {
                        exchange(
                            &mut self.matrix,
                            k * n + row,
                            other * n + row,
                            &is_one,
                            is_all,
                        );
                    }
                }
            }
        }
        determinant
    }

    /// The determinant alone; the matrix is used up.
    #[inline(always)]
    fn eliminate<S: Simd>(&mut self, simd: S, n: usize) -> Pack<W> {
        let mut determinant = Pack::all(1.0);
        for k in 0..n {
            determinant = determinant * self.pivot(k, n, k);
            let a = &mut self.matrix[..n * n];
            let column = &mut self.column[..n];
            column.copy_from_slice(&a[k * n..(k + 1) * n]);
            let scale = Pack::all(1.0) / column[k];
            for j in k + 1..n {
                let other = &mut a[j * n..(j + 1) * n];
                let factor = other[k] * scale;
                subtract(simd, &mut other[k + 1..], &factor, &column[k + 1..]);
            }
        }
        determinant
    }

    /// Brings the greatest entry of column k that is left to row k, in the columns from the first one on; the pivot, with the sign of
    /// the exchange. Of equal ones it is the one that was first in the beginning, as for single runs.
    #[inline(always)]
    fn pivot(&mut self, k: usize, n: usize, first: usize) -> Pack<W> {
        let mut size = self.matrix[k * n + k].abs();
        let mut origin = self.origin[k];
        let mut best = [k as f64; W];
        for row in k + 1..n {
            let here = self.matrix[k * n + row].abs();
            let from = self.origin[row];
            for lane in 0..W {
                let is_greater = here[lane] > size[lane]
                    || (here[lane] == size[lane] && from[lane] < origin[lane]);
                size[lane] = if is_greater { here[lane] } else { size[lane] };
                origin[lane] = if is_greater { from[lane] } else { origin[lane] };
                best[lane] = if is_greater { row as f64 } else { best[lane] };
            }
        }
        self.swaps[k] = best;
        let mut sign = Pack::all(1.0);
        for row in k + 1..n {
            let (is_one, is_all) = chosen(&best, row);
            if is_one.iter().any(|is_one| *is_one) {
                sign = sign.or(&is_one, Pack::all(-1.0));
                for column in first..n {
                    let (one, other) = (column * n + k, column * n + row);
                    exchange(&mut self.matrix, one, other, &is_one, is_all);
                }
                exchange(&mut self.origin, k, row, &is_one, is_all);
            }
        }
        self.matrix[k * n + k] * sign
    }
}

/// Which runs chose a row, and whether all did.
#[inline(always)]
fn chosen<const W: usize>(best: &[f64; W], row: usize) -> ([bool; W], bool) {
    let (mut is_one, mut is_all) = ([false; W], true);
    for lane in 0..W {
        is_one[lane] = best[lane] == row as f64;
        is_all &= is_one[lane];
    }
    (is_one, is_all)
}

/// Exchanges two numbers of the runs that say so.
#[inline(always)]
fn exchange<const W: usize>(
    numbers: &mut [Pack<W>],
    one: usize,
    other: usize,
    is_one: &[bool; W],
    is_all: bool,
) {
    if is_all {
        numbers.swap(one, other);
    } else {
        let (a, b) = (numbers[one], numbers[other]);
        numbers[one] = a.or(is_one, b);
        numbers[other] = b.or(is_one, a);
    }
}
