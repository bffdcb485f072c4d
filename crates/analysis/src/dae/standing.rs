//! Ranks of the diagonal blocks of a system Jacobian: at sample jets, and at a point.
//!
//! At a point a singular value counts against its size at other points: what is small everywhere is a matter of units, what
//! is small here alone is a singular point, what is noise everywhere a structure that does not hold.

use super::neighbours::{around, beside, closer};
use super::shape::read_as;
use crate::System;
use crate::chain::N_NEIGHBOURS;
use crate::equations::Equations;
use crate::initial::{TaylorJet, nominal};
use crate::repair::jets::{Jets, N_JETS, Value};
use crate::structure::{Structure, SystemJacobian};
use crate::tolerances::{LARGEST_DENSE, ZERO};
use daelight_expr::{ExprId, Graph};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::{
    CscMat, Magnitudes, Mat, RankDecision, RankRule, ShareRule, SparseLu, Svd, ThresholdRule,
    Verdict,
};
use std::borrow::Cow;

/// Blocks up to this size are decided by singular values; larger ones by the condition of a sparse factorisation.
const MAX_DENSE: usize = 60;
/// At how many jets a block must be singular, regular at none, to count as singular everywhere.
const N_SINGULAR: usize = 3;
/// Singular values of blocks at folds, which are found to the root of the rounding, lie above this.
const FOLD: f64 = 3e-9;

/// Parts of the distance to the neighbours, in the unknowns and in time, at which a small block is looked at again. Folds are known
/// to the root of rounding, 1e-8, and lie far below what is usual at 1e-4; times are known to rounding.
const NEARER: [(f64, f64); 3] = [(1e-2, 1e-2), (1e-2, 1e-4), (1e-2, 1e-6)];
/// A share of what is usual that no block has where it vanishes.
const USUAL: f64 = 0.1;

/// Rank of one diagonal block of the system Jacobian.
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

/// What sample jets tell of the blocks of a system Jacobian.
#[derive(Clone, Debug, Default)]
pub struct Anywhere {
    /// Singular at several jets, regular at none: the structure does not hold.
    pub singular: Vec<BlockRank>,
    /// Neither regular at one jet nor singular at several.
    pub unclear: Vec<usize>,
}

impl Anywhere {
    /// Whether the structure may be relied on: no block is singular at all jets.
    pub fn holds(&self) -> bool {
        self.singular.is_empty()
    }
}

/// Square equations with their structure at values of the parameters: what a system Jacobian belongs to.
pub struct BlockForm<'a> {
    graph: &'a Graph,
    symbols: &'a Symbols,
    structure: &'a Structure,
    /// Entries of the system Jacobian, row by row.
    entries: Cow<'a, [ExprId]>,
    parameters: &'a [f64],
    /// For each unknown the removed ones that stand for its derivatives: order and unknown.
    derivatives: &'a [Vec<(usize, usize)>],
    /// The block that each is told as; by default itself.
    blocks: &'a [(usize, usize)],
}

impl<'a> BlockForm<'a> {
    /// Equations with their structure.
    pub fn new(equations: &'a Equations, structure: &'a Structure, parameters: &'a [f64]) -> Self {
        let jacobian = SystemJacobian::new(equations, structure, parameters);
        Self {
            graph: equations.graph(),
            symbols: equations.symbols(),
            structure,
            entries: Cow::Owned(jacobian.entries().to_vec()),
            parameters,
            derivatives: &[],
            blocks: &[],
        }
    }

    /// A system Jacobian whose entries were made elsewhere, row by row.
    pub(crate) fn of_entries(
        graph: &'a Graph,
        symbols: &'a Symbols,
        structure: &'a Structure,
        entries: &'a [ExprId],
        parameters: &'a [f64],
    ) -> Self {
        Self {
            graph,
            symbols,
            structure,
            entries: Cow::Borrowed(entries),
            parameters,
            derivatives: &[],
            blocks: &[],
        }
    }

    /// The same with removed unknowns that stand for derivatives, and the block that each is told as.
    pub(super) fn reading(
        self,
        derivatives: &'a [Vec<(usize, usize)>],
        blocks: &'a [(usize, usize)],
    ) -> Self {
        Self {
            derivatives,
            blocks,
            ..self
        }
    }

    /// Decides which blocks are singular for reasons of structure, by (1) of `docs/theory/repair.md`.
    ///
    /// A block that is regular at one sample jet, or at `near` if the caller has a point, is regular almost everywhere.
    pub fn anywhere(&self, near: Option<&dyn Fn(Symbol) -> f64>) -> Anywhere {
        let places = Places::new(self.structure);
        let jets = Jets::new(self.parameters);
        let n_blocks = self.structure.blocks().len();
        let mut open: Vec<(usize, usize, Option<RankDecision>)> =
            (0..n_blocks).map(|block| (block, 0, None)).collect();
        let points = std::iter::once(None).chain((0..N_JETS).map(Some));
        for jet in points {
            let enough = |(_, n_singular, _): &(usize, usize, _)| *n_singular >= N_SINGULAR;
            if open.iter().all(enough) {
                break;
            }
            let of_block: Vec<Vec<(usize, usize, usize)>> = (open.iter())
                .map(|&(block, ..)| places.entries(self.structure, block))
                .collect();
            let roots: Vec<ExprId> = (of_block.iter().flatten())
                .map(|&(.., at)| self.entries[at])
                .collect();
            let values = match (jet, near) {
                (Some(jet), _) => jets.values(self.graph, self.symbols, &roots, jet),
                (None, Some(near)) => jets.values_at(self.graph, self.symbols, &roots, near),
                (None, None) => continue,
            };
            let mut values = values.into_iter();
            let mut next = Vec::new();
            for ((block, n_singular, before), members) in open.into_iter().zip(of_block) {
                let n = self.structure.blocks()[block].equations.len();
                let members: Vec<(usize, usize, Value)> = (members.into_iter().zip(&mut values))
                    .map(|((i, j, _), value)| (i, j, value))
                    .collect();
                let decision = beyond_rounding(n, &members);
                match decision.decided() {
                    Some(rank) if rank == n => {}
                    Some(_) if jet.is_some() => next.push((block, n_singular + 1, Some(decision))),
                    _ => next.push((block, n_singular, before)),
                }
            }
            open = next;
        }
        let mut found = Anywhere::default();
        for (block, n_singular, decision) in open {
            match decision {
                Some(decision) if n_singular >= N_SINGULAR => {
                    found.singular.push(BlockRank { block, decision });
                }
                _ => found.unclear.push(block),
            }
        }
        found
    }

    /// The same for a model, whose start values are one more place to look: another branch of an `if` may hold there than at
    /// jets of size one.
    pub(super) fn anywhere_in(&self, system: &System) -> Anywhere {
        let starts = system.unknowns().iter().map(|u| u.start.unwrap_or(0.0));
        let (time, jet) = around(&starts.collect::<Vec<f64>>(), &nominal(system));
        self.anywhere(Some(&|symbol| match symbol {
            Symbol::Unknown { unknown, order } => jet.derivative(unknown, order as usize),
            known => self.symbols.value_at(known, time),
        }))
    }

    /// The blocks that rounding could make singular at a point: none proves the degrees of freedom there (section 4 of
    /// `docs/theory/structure.md`).
    pub fn uncertain_at(&self, point: &dyn Fn(Symbol) -> f64) -> Vec<usize> {
        let places = Places::new(self.structure);
        let jets = Jets::new(self.parameters);
        let values = jets.values_at(self.graph, self.symbols, &self.entries, point);
        let n_blocks = self.structure.blocks().len();
        let is_regular = |&block: &usize| {
            let n = self.structure.blocks()[block].equations.len();
            let members: Vec<(usize, usize, Value)> =
                (places.entries(self.structure, block).into_iter())
                    .map(|(i, j, at)| (i, j, values[at]))
                    .collect();
            beyond_rounding(n, &members).decided() == Some(n)
        };
        (0..n_blocks).filter(|block| !is_regular(block)).collect()
    }

    /// Decides whether the structure holds at a jet of unknowns of these sizes.
    ///
    /// `everywhere` are the blocks that sample jets found singular.
    pub fn at(
        &self,
        time: f64,
        jet: &TaylorJet,
        sizes: &[f64],
        everywhere: &[BlockRank],
    ) -> Regularity {
        let here = self.values(time, jet);
        // At random points another branch of an `if` may hold than at this one. A block that is rounding everywhere is no smaller here
        // than elsewhere: its own rounding says what it is.
        let uncertain = match everywhere.is_empty() {
            true => Vec::new(),
            false => self.uncertain_at(&|symbol| self.value(symbol, time, jet)),
        };
        let is_singular = |rank: &&BlockRank| uncertain.contains(&rank.block);
        let everywhere: Vec<BlockRank> = everywhere.iter().filter(is_singular).cloned().collect();
        if !everywhere.is_empty() {
            return Regularity::SingularEverywhere(everywhere);
        }
        let mut singular = self.singular(&here, &self.beside(time, jet, sizes));
        singular.retain(|rank| !self.is_usual_nearby(rank.block, &here, time, jet, sizes));
        if singular.is_empty() {
            return self.large_at(time, jet);
        }
        // Small units and a zero look alike: what is small only beside 1 is regular among points moved in proportion.
        let tiny: Vec<f64> = sizes.iter().map(|size| ZERO * size).collect();
        let still = self.singular(&here, &self.beside(time, jet, &tiny));
        // At a fold a point is known to the root of the rounding, so that a value of that size is no matter of units.
        let is_small = |rank: &BlockRank| {
            let smallest = rank.decision.values.last().copied().unwrap_or(0.0);
            smallest < FOLD && still.iter().all(|other| other.block != rank.block)
        };
        let doubtful = |rank: &&BlockRank| rank.decision.verdict == Verdict::Unknown;
        match singular.iter().find(doubtful) {
            _ if singular.iter().any(is_small) => Regularity::Unknown(
                "unknowns are so small that they may count as zero; give their sizes by `nominal`"
                    .to_string(),
            ),
            Some(rank) => Regularity::Unknown(format!(
                "block {} is nearly singular (smallest singular value {:.1e})",
                self.blocks
                    .get(rank.block)
                    .map_or(rank.block, |told| told.0)
                    + 1,
                rank.decision.values.last().copied().unwrap_or(f64::NAN)
            )),
            None => Regularity::SingularHere(singular),
        }
    }

    /// Whether a block that is small beside its neighbours is as large as nearer ones: a value that vanishes is small beside all of
    /// them, one of an exponential that grows by a hundred decades on the way is not; section 4 of `docs/theory/structure.md`.
    fn is_usual_nearby(
        &self,
        block: usize,
        here: &[f64],
        time: f64,
        jet: &TaylorJet,
        sizes: &[f64],
    ) -> bool {
        NEARER.into_iter().any(|parts| {
            let others: Vec<Vec<f64>> = (0..N_NEIGHBOURS)
                .map(|which| {
                    let (time, jet) = closer(jet, time, sizes, which, parts);
                    self.values(time, &jet)
                })
                .collect();
            self.share(block, here, &others).1 > USUAL
        })
    }

    /// The verdict on blocks too large to be compared with their neighbours, where all others are regular.
    fn large_at(&self, time: f64, jet: &TaylorJet) -> Regularity {
        let blocks = self.structure.blocks();
        let is_large = |block: usize| blocks[block].equations.len() > LARGEST_DENSE;
        if !(0..blocks.len()).any(is_large) {
            return Regularity::Regular;
        }
        let uncertain = self.uncertain_at(&|symbol| self.value(symbol, time, jet));
        match uncertain.into_iter().find(|&block| is_large(block)) {
            None => Regularity::Regular,
            Some(block) => Regularity::Unknown(format!(
                "the condition of a block of {} equations leaves its rank open",
                blocks[block].equations.len()
            )),
        }
    }

    /// The smallest singular value of all blocks at a jet, relative to what it is at jets beside it.
    pub(crate) fn margin(&self, time: f64, jet: &TaylorJet, sizes: &[f64]) -> Option<f64> {
        let here = self.values(time, jet);
        let others = self.beside(time, jet, sizes);
        let compared = self.compared();
        let shares = compared.map(|block| self.share(block, &here, &others).1);
        shares.reduce(f64::min)
    }

    pub(super) fn value(&self, symbol: Symbol, time: f64, jet: &TaylorJet) -> f64 {
        match symbol {
            Symbol::Parameter(index) => self.parameters[index],
            Symbol::Unknown { unknown, order } => {
                let (unknown, order) = read_as(self.derivatives, unknown, order as usize);
                jet.derivative(unknown, order)
            }
            known => self.symbols.value_at(known, time),
        }
    }

    /// Values of the entries at a jet.
    fn values(&self, time: f64, jet: &TaylorJet) -> Vec<f64> {
        self.graph.evaluate(&self.entries, |id| {
            self.value(self.symbols.get(id), time, jet)
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

    /// The blocks whose singular values are compared.
    fn compared(&self) -> impl Iterator<Item = usize> {
        let blocks = self.structure.blocks().iter().enumerate();
        let compared = blocks.filter(|(_, members)| members.equations.len() <= LARGEST_DENSE);
        compared.map(|(block, _)| block)
    }

    /// The ranks of the blocks at one point, seen against other points, where they are not full.
    fn singular(&self, here: &[f64], others: &[Vec<f64>]) -> Vec<BlockRank> {
        let compared = self
            .compared()
            .filter(|&block| !self.is_fixed(block, here, others));
        let ranks = compared.map(|block| {
            let decision = self.share(block, here, others).0;
            BlockRank { block, decision }
        });
        ranks
            .filter(|rank| {
                let n = self.structure.blocks()[rank.block].equations.len();
                rank.decision.rank < n || rank.decision.verdict == Verdict::Unknown
            })
            .collect()
    }

    /// Whether a block is one number that is the same at all points, and not zero: most are, and none of these is singular.
    fn is_fixed(&self, block: usize, here: &[f64], others: &[Vec<f64>]) -> bool {
        if self.structure.blocks()[block].equations.len() > 1 {
            return false;
        }
        let value = |values: &[f64]| self.structure.block_matrix(block, values)[(0, 0)];
        let here = value(here);
        let is_number = here.is_finite() && here != 0.0;
        is_number && others.iter().all(|values| value(values) == here)
    }

    /// The rank of a block, each singular value against what it is at other points, and the smallest of these shares.
    ///
    /// Rows and columns are brought to the size they have at the other points, so that an entry that vanishes here is seen to
    /// vanish. The rows are equations, not products that may be noise, so bringing them to one size is safe.
    fn share(&self, block: usize, here: &[f64], others: &[Vec<f64>]) -> (RankDecision, f64) {
        let mut here = self.structure.block_matrix(block, here);
        let n = here.nrows();
        let mut around: Vec<Mat> = others
            .iter()
            .map(|values| self.structure.block_matrix(block, values))
            .filter(|m| m.view().is_finite())
            .collect();
        if around.is_empty() {
            around.push(here.clone());
        }
        bring_to_size(&mut here, &mut around);
        let singular_values = |m: &Mat| {
            let mut svd = Svd::new();
            let values = svd.factor_values(m.view());
            values.ok().map(|()| svd.singular_values().to_vec())
        };
        let Some(values) = singular_values(&here) else {
            return (RankDecision::not_finite(Magnitudes::Singular), 0.0);
        };
        let usual: Vec<Vec<f64>> = around.iter().filter_map(singular_values).collect();
        let rule = ShareRule::of_lists(&usual, n);
        let decision = rule.decide(values, Magnitudes::Singular);
        let shares = rule.shares(&decision).into_iter();
        let smallest = shares.fold(f64::INFINITY, f64::min);
        (decision, smallest)
    }
}

/// Divides rows and columns of matrices by their greatest entries at other points.
fn bring_to_size(here: &mut Mat, around: &mut [Mat]) {
    let n = here.nrows();
    for _ in 0..3 {
        for i in 0..n {
            let row = |m: &Mat| (0..n).map(|j| m[(i, j)].abs()).fold(0.0, f64::max);
            let largest = around.iter().map(row).fold(0.0, f64::max);
            if largest > 0.0 {
                for m in around.iter_mut().chain([&mut *here]) {
                    (0..n).for_each(|j| m[(i, j)] /= largest);
                }
            }
        }
        for j in 0..n {
            let column = |m: &Mat| (0..n).map(|i| m[(i, j)].abs()).fold(0.0, f64::max);
            let largest = around.iter().map(column).fold(0.0, f64::max);
            if largest > 0.0 {
                for m in around.iter_mut().chain([&mut *here]) {
                    (0..n).for_each(|i| m[(i, j)] /= largest);
                }
            }
        }
    }
}

/// The rank of a square matrix as far as the errors of its entries allow.
fn beyond_rounding(n: usize, entries: &[(usize, usize, Value)]) -> RankDecision {
    if entries.iter().any(|(.., value)| !value.is_finite()) {
        return RankDecision::not_finite(Magnitudes::Singular);
    }
    if let [(.., value)] = entries
        && n == 1
    {
        return of_value(*value);
    }
    // Rows, then columns are scaled to size one; those without entries stay zero.
    let inverse = |size: f64| if size > 0.0 { 1.0 / size } else { 1.0 };
    let mut row = vec![0f64; n];
    for &(i, _, value) in entries {
        row[i] = row[i].max(value.value.abs());
    }
    let mut column = vec![0f64; n];
    for &(i, j, value) in entries {
        column[j] = column[j].max(value.value.abs() * inverse(row[i]));
    }
    let scale = |i: usize, j: usize| inverse(row[i]) * inverse(column[j]);
    let error = entries
        .iter()
        .map(|&(i, j, value)| value.error * scale(i, j));
    let error = error.fold(0.0, f64::max);
    let scaled = entries
        .iter()
        .map(|&(i, j, value)| (i, j, value.value * scale(i, j)));
    if n <= MAX_DENSE {
        let mut matrix = Mat::zeros(n, n);
        let mut view = matrix.view_mut();
        scaled.for_each(|(i, j, value)| view.set(i, j, value));
        let mut svd = Svd::new();
        if svd.factor_values(matrix.view()).is_err() {
            return RankDecision::not_finite(Magnitudes::Singular);
        }
        return svd.rank(&ThresholdRule::with_error(svd.norm(), error / svd.norm()));
    }
    let triplets: Vec<(usize, usize, f64)> = scaled.collect();
    let condition = CscMat::from_triplets(n, n, &triplets).and_then(|matrix| {
        let mut lu = SparseLu::new(&matrix)?;
        lu.factor(&matrix)?;
        lu.condition_1norm()
    });
    // What cannot be factored has a zero pivot. The estimate is a lower bound of the condition, so a zero is one.
    let least = condition.map_or(0.0, |condition| 1.0 / condition);
    let rule = ThresholdRule::with_error(1.0, error);
    let decision = rule.decide(vec![least], Magnitudes::Singular);
    RankDecision {
        rank: decision.rank + n - 1,
        ..decision
    }
}

/// The rank of a single value.
fn of_value(value: Value) -> RankDecision {
    let rule = ThresholdRule::with_error(value.size, value.error / value.size);
    let decision = rule.decide(vec![value.value.abs()], Magnitudes::Singular);
    match value.is_zero() {
        Some(is_zero) => RankDecision {
            rank: usize::from(!is_zero),
            verdict: Verdict::Observed,
            doubt: None,
            ..decision
        },
        None => RankDecision {
            verdict: Verdict::Unknown,
            ..decision
        },
    }
}

/// Where the entries of a system Jacobian stand in their blocks.
pub(crate) struct Places {
    /// Place of each equation in its block.
    equation: Vec<u32>,
    /// Place of each unknown in its block.
    unknown: Vec<u32>,
    /// Where the entries of each row begin.
    starts: Vec<usize>,
}

impl Places {
    pub(crate) fn new(structure: &Structure) -> Self {
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
    pub(crate) fn entries(
        &self,
        structure: &Structure,
        block: usize,
    ) -> Vec<(usize, usize, usize)> {
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
