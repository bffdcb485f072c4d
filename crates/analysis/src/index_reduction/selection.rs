//! Which derivatives are states: dummy derivatives chosen by conditioning.

use crate::structure::Structure;
use crate::tolerances::DEPENDENT;
use daelight_linalg::{LinalgError, Mat, Qr};

/// How much an unknown with a `fixed` start value is preferred as a state: its column counts as this part of its size.
pub(super) const FIXED: f64 = 0.25;
/// The same for an unknown as against a derivative, which would need a new name.
const UNDIFFERENTIATED: f64 = 0.5;

/// Sizes and wishes that a selection respects.
#[derive(Clone, Copy, Debug)]
pub struct Preference<'a> {
    /// The typical size of each unknown.
    pub nominal: &'a [f64],
    /// Unknowns whose start value the user fixed; they stay states where the conditioning allows it.
    pub fixed: &'a [bool],
}

/// Why derivatives could not be selected.
#[derive(Clone, PartialEq, Debug)]
pub enum NoSelection {
    /// The rows of a stage depend on each other at the point.
    Singular {
        /// The block of the system Jacobian.
        block: usize,
        /// The smallest pivot as a part of the largest.
        pivot: f64,
    },
    /// An entry has no value at the point, or the factorisation failed.
    Numbers(LinalgError),
}

/// A choice of states by dummy derivatives (Mattsson and Soederlind 1993), (2) and (3) of `docs/theory/reduction.md`.
///
/// Of each unknown the derivatives 0 to `n_states - 1` are states; the others, up to its offset, are algebraic.
#[derive(Clone, PartialEq, Debug)]
pub struct StateChoice {
    n_states: Vec<usize>,
    quality: f64,
}

impl StateChoice {
    /// Selects at a point, from the values of the system Jacobian there.
    ///
    /// Stage by stage and block by block, the columns that pivoted QR takes first are not states.
    pub fn at(
        structure: &Structure,
        jacobian: &[f64],
        preference: Preference<'_>,
    ) -> Result<Self, NoSelection> {
        let offsets = structure.offsets();
        let mut n_states: Vec<usize> = offsets.variable.iter().map(|d| d + 1).collect();
        let mut quality = 1.0_f64;
        let mut qr = Qr::new();
        for block in 0..structure.blocks().len() {
            let stages = Stages::new(structure, jacobian, block, preference.nominal);
            let mut candidates: Vec<usize> = (0..stages.unknowns.len()).collect();
            for depth in 0..=stages.deepest() {
                candidates.retain(|&at| offsets.variable[stages.unknowns[at]] >= depth);
                let weight = |at: usize| {
                    let unknown = stages.unknowns[at];
                    match offsets.variable[unknown] - depth {
                        0 if preference.fixed[unknown] => FIXED,
                        0 => UNDIFFERENTIATED,
                        _ => 1.0,
                    }
                };
                let rows = stages.rows(depth);
                let matrix = stages.matrix(&rows, &candidates, weight);
                qr.factor(matrix.view()).map_err(NoSelection::Numbers)?;
                let chosen = qr.permutation().map_err(NoSelection::Numbers)?;
                let mut taken: Vec<usize> = chosen[..rows.len()]
                    .iter()
                    .map(|&at| candidates[at])
                    .collect();
                taken.sort_unstable();
                let pivot = stages.quality(&mut qr, &rows, &taken)?;
                if pivot.is_nan() || pivot < DEPENDENT {
                    return Err(NoSelection::Singular { block, pivot });
                }
                quality = quality.min(pivot);
                for &at in &taken {
                    n_states[stages.unknowns[at]] -= 1;
                }
                candidates = taken;
            }
        }
        Ok(Self { n_states, quality })
    }

    /// How many derivatives of each unknown, itself first, are states.
    pub fn n_states(&self) -> &[usize] {
        &self.n_states
    }

    /// Whether a derivative of an unknown is a state.
    pub fn is_state(&self, unknown: usize, order: usize) -> bool {
        order < self.n_states[unknown]
    }

    /// The states: unknown and order.
    pub fn states(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let of = |(unknown, &n): (usize, &usize)| (0..n).map(move |order| (unknown, order));
        self.n_states.iter().enumerate().flat_map(of)
    }

    /// The smallest pivot of all stages as a part of the largest of its stage, where the selection was made.
    pub fn quality(&self) -> f64 {
        self.quality
    }

    /// The same at another point: a run should select afresh where it has become much smaller.
    pub fn quality_at(
        &self,
        structure: &Structure,
        jacobian: &[f64],
        nominal: &[f64],
    ) -> Result<f64, LinalgError> {
        let offsets = structure.offsets();
        let mut quality = 1.0_f64;
        let mut qr = Qr::new();
        for block in 0..structure.blocks().len() {
            let stages = Stages::new(structure, jacobian, block, nominal);
            for depth in 0..=stages.deepest() {
                let taken: Vec<usize> = (0..stages.unknowns.len())
                    .filter(|&at| {
                        let unknown = stages.unknowns[at];
                        let order = offsets.variable[unknown].checked_sub(depth);
                        order.is_some_and(|order| !self.is_state(unknown, order))
                    })
                    .collect();
                let rows = stages.rows(depth);
                match stages.quality(&mut qr, &rows, &taken) {
                    Ok(pivot) => quality = quality.min(pivot),
                    Err(NoSelection::Numbers(error)) => return Err(error),
                    Err(NoSelection::Singular { pivot, .. }) => quality = quality.min(pivot),
                }
            }
        }
        Ok(quality)
    }
}

/// One block of the system Jacobian, columns in units of the unknowns, rows brought to one size.
struct Stages<'a> {
    equations: &'a [usize],
    unknowns: &'a [usize],
    offsets: &'a [usize],
    matrix: Mat,
}

impl<'a> Stages<'a> {
    fn new(structure: &'a Structure, jacobian: &[f64], block: usize, nominal: &[f64]) -> Self {
        let members = &structure.blocks()[block];
        let mut matrix = structure.block_matrix(block, jacobian);
        let n = members.equations.len();
        for row in 0..n {
            for (column, &unknown) in members.unknowns.iter().enumerate() {
                matrix[(row, column)] *= nominal[unknown];
            }
            let largest = (0..n).map(|j| matrix[(row, j)].abs()).fold(0.0, f64::max);
            if largest > 0.0 {
                (0..n).for_each(|j| matrix[(row, j)] /= largest);
            }
        }
        Self {
            equations: &members.equations,
            unknowns: &members.unknowns,
            offsets: &structure.offsets().equation,
            matrix,
        }
    }

    /// The deepest stage that has an equation.
    fn deepest(&self) -> usize {
        let offsets = self
            .equations
            .iter()
            .map(|&equation| self.offsets[equation]);
        offsets.max().unwrap_or(0)
    }

    /// The equations that are differentiated at least `depth` times, by place in the block.
    fn rows(&self, depth: usize) -> Vec<usize> {
        let open = |&at: &usize| self.offsets[self.equations[at]] >= depth;
        (0..self.equations.len()).filter(open).collect()
    }

    fn matrix(&self, rows: &[usize], columns: &[usize], weight: impl Fn(usize) -> f64) -> Mat {
        Mat::from_fn(rows.len(), columns.len(), |i, j| {
            self.matrix[(rows[i], columns[j])] * weight(columns[j])
        })
    }

    /// The smallest pivot of a square choice of columns as a part of the largest.
    fn quality(&self, qr: &mut Qr, rows: &[usize], columns: &[usize]) -> Result<f64, NoSelection> {
        let matrix = self.matrix(rows, columns, |_| 1.0);
        qr.factor(matrix.view()).map_err(NoSelection::Numbers)?;
        let pivots = qr.pivots().map_err(NoSelection::Numbers)?;
        let (least, most) = pivots
            .map(f64::abs)
            .fold((f64::INFINITY, 0.0_f64), |(least, most), pivot| {
                (least.min(pivot), most.max(pivot))
            });
        Ok(if most > 0.0 { least / most } else { 0.0 })
    }
}
