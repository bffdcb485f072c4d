//! Whether the structure of a model holds at a point: ranks of the diagonal blocks of its system Jacobian.
//!
//! A singular value counts against its size at other points: what is small everywhere is a matter of units, what is small
//! here alone is a singular point, what is noise everywhere a structure that does not hold.

use crate::System;
use crate::chain::N_NEIGHBOURS;
use crate::initial::{TaylorJet, nominal};
use crate::structure::{Structure, SystemJacobian};
use daelight_lang::Symbol;
use daelight_linalg::{GapRule, Mat, RankDecision, RankRule, Svd, Values, Verdict};

/// Most unknowns of a block whose singular values are looked at.
pub const MAX_BLOCK: usize = 400;
/// A singular value of a block counts as zero below this part of its size at other points.
const SINGULAR: f64 = 1e-5;
/// It counts as nonzero above this part.
const NEARLY_SINGULAR: f64 = 1e-4;
/// Unknowns below this part of their size are zero, however small the units.
const TINY: f64 = 1e-11;
/// Singular values of blocks at folds, which are found to the root of the rounding, lie above this.
const FOLD: f64 = 3e-9;
/// Singular values below this part of the largest are rounding.
const NOISE: f64 = 1e-13;

/// Rank of one diagonal block of the system Jacobian at the point.
#[derive(Clone, Debug)]
pub struct BlockRank {
    /// The block, by position in [`Structure::blocks`].
    pub block: usize,
    /// Its rank, rows and columns brought to comparable size.
    pub decision: RankDecision,
}

/// Whether the structure holds.
#[derive(Clone, Debug)]
pub enum Regularity {
    /// Every block of the system Jacobian is nonsingular at the point.
    Regular,
    /// Some blocks are singular at the point and regular at others: a singular point.
    SingularHere(Vec<BlockRank>),
    /// Some blocks are singular at random points and at this one: the structural index means nothing.
    SingularEverywhere(Vec<BlockRank>),
    /// Not decided.
    Unknown(String),
}

/// The system Jacobian at points, block by block.
struct Blocks<'a> {
    structure: &'a Structure,
    jacobian: SystemJacobian,
}

impl<'a> Blocks<'a> {
    fn new(system: &System, structure: &'a Structure) -> Result<Self, String> {
        let largest = structure.blocks().iter().map(|block| block.equations.len());
        if let Some(n) = largest.max().filter(|n| *n > MAX_BLOCK) {
            return Err(format!(
                "a block of {n} equations is larger than {MAX_BLOCK}, up to which ranks are looked at"
            ));
        }
        let parameters = system.parameters().values();
        Ok(Self {
            structure,
            jacobian: SystemJacobian::new(system.equations(), structure, parameters),
        })
    }

    /// Values of the entries at a jet.
    fn values(&self, time: f64, jet: &TaylorJet) -> Vec<f64> {
        self.jacobian.evaluate(|symbol| match symbol {
            Symbol::Unknown { unknown, order } => jet.derivative(unknown, order as usize),
            known => self.jacobian.symbols().value_at(known, time),
        })
    }

    /// Values of the entries at jets beside one, for unknowns of these sizes.
    fn beside(&self, time: f64, jet: &TaylorJet, sizes: &[f64]) -> Vec<Vec<f64>> {
        (0..N_NEIGHBOURS)
            .map(|which| {
                let (time, jet) = beside(jet, time, sizes, which);
                self.values(time, &jet)
            })
            .collect()
    }

    /// The ranks of the blocks at one point, seen against other points, where they are not full.
    ///
    /// Rows and columns are brought to the size they have at the other points, so that an entry that vanishes here is
    /// seen to vanish.
    fn singular(&self, here: &[f64], others: &[Vec<f64>]) -> Vec<BlockRank> {
        let mut found = Vec::new();
        for (block, members) in self.structure.blocks().iter().enumerate() {
            let n = members.equations.len();
            let matrix = |values: &Vec<f64>| self.structure.block_matrix(block, values);
            let around: Vec<Mat> = others.iter().map(matrix).collect();
            let (decision, _) = block_rank(self.structure.block_matrix(block, here), &around);
            if decision.rank < n || decision.verdict == Verdict::Unknown {
                found.push(BlockRank { block, decision });
            }
        }
        found
    }
}

/// The rank of a small matrix, each singular value against what it is at other points, and the smallest of these shares.
///
/// The rows are equations, not products that may be noise, so bringing them to one size is safe.
fn block_rank(mut here: Mat, around: &[Mat]) -> (RankDecision, f64) {
    let n = here.nrows();
    let mut around: Vec<Mat> = around
        .iter()
        .filter(|m| m.view().is_finite())
        .cloned()
        .collect();
    if around.is_empty() {
        around.push(here.clone());
    }
    for _ in 0..3 {
        for i in 0..n {
            let row = |m: &Mat| (0..n).map(|j| m[(i, j)].abs()).fold(0.0, f64::max);
            let largest = around.iter().map(row).fold(0.0, f64::max);
            if largest > 0.0 {
                for m in around.iter_mut().chain([&mut here]) {
                    (0..n).for_each(|j| m[(i, j)] /= largest);
                }
            }
        }
        for j in 0..n {
            let column = |m: &Mat| (0..n).map(|i| m[(i, j)].abs()).fold(0.0, f64::max);
            let largest = around.iter().map(column).fold(0.0, f64::max);
            if largest > 0.0 {
                for m in around.iter_mut().chain([&mut here]) {
                    (0..n).for_each(|i| m[(i, j)] /= largest);
                }
            }
        }
    }
    let singular_values = |m: &Mat| {
        let mut svd = Svd::new();
        let values = svd.factor_values(m.view());
        values.ok().map(|()| svd.singular_values().to_vec())
    };
    let Some(values) = singular_values(&here) else {
        return (RankDecision::not_finite(Values::Singular), 0.0);
    };
    let reference = values.first().copied().unwrap_or(0.0).max(1.0);
    let mut decision = GapRule::new(n, n, reference).decide(values, Values::Singular);
    let usual: Vec<Vec<f64>> = around.iter().filter_map(singular_values).collect();
    let typical = |k: usize| {
        let mut sizes: Vec<f64> = usual.iter().map(|values| values[k]).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.get(sizes.len() / 2).copied().unwrap_or(1.0)
    };
    // What is noise at all points is zero. Otherwise the size at other points counts: a point is known to the root of the
    // rounding only where a block is singular.
    let share = |k: usize| match typical(k) {
        usual if usual <= NOISE * reference => 0.0,
        usual => decision.values[k] / usual,
    };
    let shares: Vec<f64> = (0..n).map(share).collect();
    let smallest = shares.iter().copied().fold(f64::INFINITY, f64::min);
    decision.rank = shares.iter().filter(|share| **share > SINGULAR).count();
    let doubtful = |share: &f64| (SINGULAR..NEARLY_SINGULAR).contains(share);
    decision.verdict = if shares.iter().any(doubtful) {
        Verdict::Unknown
    } else {
        Verdict::Observed
    };
    (decision, smallest)
}

/// The smallest singular value of all blocks at a jet, relative to what it is at jets beside it.
pub(crate) fn margin(
    system: &System,
    structure: &Structure,
    time: f64,
    jet: &TaylorJet,
) -> Option<f64> {
    let blocks = Blocks::new(system, structure).ok()?;
    let here = blocks.values(time, jet);
    let others = blocks.beside(time, jet, &nominal(system));
    let shares = (0..structure.blocks().len()).map(|block| {
        let matrix = |values: &Vec<f64>| structure.block_matrix(block, values);
        let around: Vec<Mat> = others.iter().map(matrix).collect();
        block_rank(structure.block_matrix(block, &here), &around).1
    });
    shares.reduce(f64::min)
}

/// Numbers between -1 and 1 that are the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        2.0 * ((self.0 >> 11) as f64 / (1u64 << 53) as f64) - 1.0
    }
}

/// Blocks that are singular at each of three random jets.
pub(crate) fn singular_anywhere(system: &System, structure: &Structure) -> Vec<BlockRank> {
    let Ok(blocks) = Blocks::new(system, structure) else {
        return Vec::new();
    };
    let nominal = nominal(system);
    let starts = system.unknowns().iter().map(|u| u.start.unwrap_or(0.0));
    let starts: Vec<f64> = starts.collect();
    let mut numbers = Numbers(0x5DEE_CE66);
    let mut looks: Vec<Vec<f64>> = Vec::new();
    // Where an entry has no value the jet says nothing.
    for _ in 0..12 {
        let mut jet = TaylorJet::at_rest(&starts, 3);
        for order in 0..3 {
            for (unknown, size) in nominal.iter().enumerate() {
                let value = jet.get(unknown, order) + size * numbers.next();
                jet.set(unknown, order, value);
            }
        }
        let values = blocks.values(numbers.next(), &jet);
        if values.iter().all(|value| value.is_finite()) {
            looks.push(values);
        }
        if looks.len() == 3 {
            break;
        }
    }
    let mut common: Option<Vec<BlockRank>> = None;
    for look in &looks {
        let found = blocks.singular(look, std::slice::from_ref(look));
        let found = found
            .into_iter()
            .filter(|rank| rank.decision.verdict != Verdict::Unknown);
        common = Some(match common {
            None => found.collect(),
            Some(before) => {
                let found: Vec<usize> = found.map(|rank| rank.block).collect();
                before
                    .into_iter()
                    .filter(|rank| found.contains(&rank.block))
                    .collect()
            }
        });
    }
    common.unwrap_or_default()
}

pub(crate) fn regularity(
    system: &System,
    structure: &Structure,
    time: f64,
    jet: Option<&TaylorJet>,
    everywhere: Vec<BlockRank>,
) -> Regularity {
    let Some(jet) = jet else {
        if !everywhere.is_empty() {
            return Regularity::SingularEverywhere(everywhere);
        }
        return Regularity::Unknown("there is no point to look at".to_string());
    };
    let blocks = match Blocks::new(system, structure) {
        Ok(blocks) => blocks,
        Err(because) => return Regularity::Unknown(because),
    };
    let sizes = nominal(system);
    let others = blocks.beside(time, jet, &sizes);
    let here = blocks.values(time, jet);
    // At random points another branch of an `if` may hold than at this one.
    let alone = blocks.singular(&here, std::slice::from_ref(&here));
    let is_singular = |rank: &BlockRank| alone.iter().any(|here| here.block == rank.block);
    let everywhere: Vec<BlockRank> = everywhere.into_iter().filter(is_singular).collect();
    if !everywhere.is_empty() {
        return Regularity::SingularEverywhere(everywhere);
    }
    let singular = blocks.singular(&here, &others);
    // Small units and a zero look alike: what is small only beside 1 is regular among points moved in proportion.
    let tiny: Vec<f64> = sizes.iter().map(|size| TINY * size).collect();
    let in_proportion = blocks.beside(time, jet, &tiny);
    let still = blocks.singular(&here, &in_proportion);
    // At a fold a point is known to the root of the rounding, so that a value of that size is no matter of units.
    let is_small = |rank: &&BlockRank| {
        let smallest = rank.decision.values.last().copied().unwrap_or(0.0);
        smallest < FOLD && still.iter().all(|other| other.block != rank.block)
    };
    let doubtful = |rank: &&BlockRank| rank.decision.verdict == Verdict::Unknown;
    match singular.iter().find(doubtful) {
        _ if singular.is_empty() => Regularity::Regular,
        _ if singular.iter().any(|rank| is_small(&rank)) => Regularity::Unknown(
            "unknowns are so small that they may count as zero; give their sizes by `nominal`"
                .to_string(),
        ),
        Some(rank) => Regularity::Unknown(format!(
            "block {} is nearly singular (smallest singular value {:.1e})",
            rank.block + 1,
            rank.decision.values.last().copied().unwrap_or(f64::NAN)
        )),
        None => Regularity::SingularHere(singular),
    }
}

/// A jet moved off the point in every coefficient, and a time beside its own, (20) of `docs/theory/indices.md`.
///
/// `sizes` are those of the unknowns, so that the neighbours are as near in any units.
pub(crate) fn beside(jet: &TaylorJet, time: f64, sizes: &[f64], which: usize) -> (f64, TaylorJet) {
    const MOVE: f64 = 1e-2;
    let mut numbers = Numbers(0xC0FF_EE00 + 77 * which as u64);
    let mut beside = jet.clone();
    // Sums of three uniform numbers are normal enough.
    let mut normal = || numbers.next() + numbers.next() + numbers.next();
    for k in 0..beside.n_orders() {
        for (unknown, size) in sizes.iter().enumerate() {
            let value = beside.get(unknown, k);
            beside.set(unknown, k, value + MOVE * (size + value.abs()) * normal());
        }
    }
    (time + MOVE * (1.0 + time.abs()) * normal(), beside)
}
