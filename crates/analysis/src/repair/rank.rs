//! Which diagonal blocks of a system Jacobian are singular at all jets.

use super::jets::{Jets, N_JETS, Value};
use crate::structure::Structure;
use daelight_expr::{ExprId, Graph};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::{CscMat, Mat, SparseLu, Svd, ThresholdRule};

/// Blocks up to this size are decided by singular values.
const MAX_DENSE: usize = 60;

/// A larger block whose condition is below this is nonsingular; above, nothing is decided.
const MAX_CONDITION: f64 = 1e10;

/// At how many jets a block must be singular.
const N_SINGULAR: usize = 3;

/// What is known of the blocks of a system Jacobian.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    /// Singular at several jets, regular at none.
    pub singular: Vec<usize>,
    /// Neither regular at one jet nor singular at several.
    pub unclear: Vec<usize>,
}

/// The entries of one block with their places, and how large the block is.
pub(super) struct Places {
    /// Place of each equation in its block.
    equation: Vec<u32>,
    /// Place of each unknown in its block.
    unknown: Vec<u32>,
    /// Where the entries of each row begin.
    starts: Vec<usize>,
}

impl Places {
    pub fn new(structure: &Structure) -> Self {
        let n = structure.n();
        let (mut equation, mut unknown) = (vec![0; n], vec![0; n]);
        for block in structure.blocks() {
            for (place, &member) in (0..).zip(&block.equations) {
                equation[member] = place;
            }
            for (place, &member) in (0..).zip(&block.unknowns) {
                unknown[member] = place;
            }
        }
        let mut starts = vec![0];
        for row in 0..n {
            starts.push(starts[row] + structure.jacobian_row(row).len());
        }
        Self {
            equation,
            unknown,
            starts,
        }
    }

    /// Row, column and position among all entries, for each entry of a diagonal block.
    pub fn entries(&self, structure: &Structure, block: usize) -> Vec<(usize, usize, usize)> {
        let mut entries = Vec::new();
        for &row in &structure.blocks()[block].equations {
            for (at, unknown) in (self.starts[row]..).zip(structure.jacobian_row(row)) {
                if structure.block_of_unknown(unknown) == block {
                    let (i, j) = (self.equation[row], self.unknown[unknown]);
                    entries.push((i as usize, j as usize, at));
                }
            }
        }
        entries
    }
}

/// Decides which blocks are singular for reasons of structure, by (1) of `docs/theory/repair.md`.
///
/// `entries` are those of the system Jacobian row by row. A block that is regular at the caller's point or at one jet
/// is regular almost everywhere.
pub(super) fn blocks(
    graph: &Graph,
    symbols: &Symbols,
    jets: &Jets,
    structure: &Structure,
    entries: &[ExprId],
    point: Option<&dyn Fn(Symbol) -> f64>,
) -> Blocks {
    let places = Places::new(structure);
    let mut open: Vec<(usize, usize)> = (0..structure.blocks().len()).map(|b| (b, 0)).collect();
    let points = std::iter::once(None).chain((0..N_JETS).map(Some));
    for jet in points {
        if open.is_empty() {
            break;
        }
        let of_block: Vec<Vec<(usize, usize, usize)>> = open
            .iter()
            .map(|&(block, _)| places.entries(structure, block))
            .collect();
        let roots: Vec<ExprId> = of_block
            .iter()
            .flatten()
            .map(|&(.., at)| entries[at])
            .collect();
        let values = match (jet, point) {
            (Some(jet), _) => jets.values(graph, symbols, &roots, jet),
            (None, Some(point)) => jets.values_at(graph, symbols, &roots, point),
            (None, None) => continue,
        };
        let mut values = values.into_iter();
        let mut next = Vec::new();
        for ((block, n_singular), members) in open.into_iter().zip(of_block) {
            let n = structure.blocks()[block].equations.len();
            let members: Vec<(usize, usize, Value)> = members
                .into_iter()
                .zip(&mut values)
                .map(|((i, j, _), value)| (i, j, value))
                .collect();
            match is_regular(n, &members) {
                Some(true) => {}
                Some(false) if jet.is_some() => next.push((block, n_singular + 1)),
                _ => next.push((block, n_singular)),
            }
        }
        open = next;
        let enough = |&(_, n_singular): &(usize, usize)| n_singular >= N_SINGULAR;
        if open.iter().all(enough) {
            break;
        }
    }
    let mut found = Blocks::default();
    for (block, n_singular) in open {
        if n_singular >= N_SINGULAR {
            found.singular.push(block);
        } else {
            found.unclear.push(block);
        }
    }
    found
}

/// Which blocks are not certainly nonsingular at a point.
pub(super) fn not_regular_at(
    graph: &Graph,
    symbols: &Symbols,
    jets: &Jets,
    structure: &Structure,
    entries: &[ExprId],
    point: &dyn Fn(Symbol) -> f64,
) -> Vec<usize> {
    let places = Places::new(structure);
    let values = jets.values_at(graph, symbols, entries, point);
    (0..structure.blocks().len())
        .filter(|&block| {
            let n = structure.blocks()[block].equations.len();
            let members: Vec<(usize, usize, Value)> = places
                .entries(structure, block)
                .into_iter()
                .map(|(i, j, at)| (i, j, values[at]))
                .collect();
            is_regular(n, &members) != Some(true)
        })
        .collect()
}

/// Whether a square matrix with these entries is nonsingular; `None` where that is not clear.
fn is_regular(n: usize, entries: &[(usize, usize, Value)]) -> Option<bool> {
    if entries.iter().any(|(.., value)| !value.is_finite()) {
        return None;
    }
    if let [(.., value)] = entries
        && n == 1
    {
        return value.is_zero().map(|zero| !zero);
    }
    // Rows, then columns are scaled to size one.
    let mut row = vec![0f64; n];
    for &(i, _, value) in entries {
        row[i] = row[i].max(value.value.abs());
    }
    let mut column = vec![0f64; n];
    for &(i, j, value) in entries {
        if row[i] > 0.0 {
            column[j] = column[j].max(value.value.abs() / row[i]);
        }
    }
    if row.iter().chain(&column).any(|&size| size == 0.0) {
        return Some(false);
    }
    let scale = |i: usize, j: usize| 1.0 / (row[i] * column[j]);
    if n <= MAX_DENSE {
        let mut matrix = Mat::zeros(n, n);
        let mut view = matrix.view_mut();
        let mut error = 0f64;
        for &(i, j, value) in entries {
            view.set(i, j, value.value * scale(i, j));
            error = error.max(value.error * scale(i, j));
        }
        let mut svd = Svd::new();
        svd.factor_values(matrix.view()).ok()?;
        let rule = ThresholdRule::with_error(svd.norm(), error / svd.norm());
        return svd.rank(&rule).decided().map(|rank| rank == n);
    }
    let triplets: Vec<(usize, usize, f64)> = entries
        .iter()
        .map(|&(i, j, value)| (i, j, value.value * scale(i, j)))
        .collect();
    let matrix = CscMat::from_triplets(n, n, &triplets).ok()?;
    let mut lu = SparseLu::new(&matrix).ok()?;
    lu.factor(&matrix).ok()?;
    let condition = lu.condition_1norm().ok()?;
    (condition < MAX_CONDITION).then_some(true)
}
