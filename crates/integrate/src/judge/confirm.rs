//! Whether a zero that was read on a series is one: the point satisfies the equations and the quantity vanishes there, each within
//! what is known of the point, (R10).

use super::time_alone::TimeAlone;
use crate::options::Tolerances;
use crate::problem::Problem;
use crate::stages::same_branches;
use crate::tolerances::{
    CONFIRM_BEFORE, CONFIRM_BESIDE, CONFIRM_LEAST, CONFIRM_MOST, CONFIRM_ROUNDING, CONFIRM_TOP,
    CONFIRM_WEIGHTS, CONFIRM_WIDTH,
};
use daelight_expr::{Interval, JetEvaluator, PlainJet, Scalar};
use std::cmp::Ordering;
use std::sync::Arc;

/// Blocks beyond this size have no enclosure of their determinants.
const MAX_BLOCK: usize = 4;

/// What the equations say of a zero on a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// The series is known at the zero, and all equations hold there.
    Holds,
    /// Nothing is against it.
    Unknown,
    /// The series is no solution up to the zero, though it would be one if nothing were singular nearer than that.
    Refuted,
}

/// A zero on a series, and what is known there.
pub(crate) struct Claim<'a> {
    pub time: f64,
    /// The series `[order][unknown]` around the present time, and the distance of the zero.
    pub series: &'a [f64],
    pub s: f64,
    /// How far off the time may be.
    pub width: f64,
    /// What the series leaves out there, in units of its last two terms.
    pub rest: f64,
    /// The sides of the branches of the residuals; without them they follow the values.
    pub sides: &'a [Ordering],
}

impl Claim<'_> {
    /// The times that are meant.
    fn stretch(&self) -> Interval {
        let at = self.time + self.s;
        let width = self.width.max(CONFIRM_WIDTH * at.abs());
        Interval::new(at - width, at + width)
    }
}

/// Evaluates equations and quantities in intervals around a point.
pub(crate) struct Confirm<'p> {
    problem: &'p Problem,
    residuals: PlainJet<Interval>,
    jacobian: PlainJet<Interval>,
    arguments: PlainJet<Interval>,
    same: [Vec<Option<usize>>; 3],
    /// Entries of the system Jacobian for each small block, row by row.
    entries: Vec<Vec<Option<usize>>>,
    /// The highest derivative of each unknown that a determinant or an argument reads.
    reads: Vec<usize>,
    time_alone: TimeAlone,
    rows: Vec<Interval>,
}

impl<'p> Confirm<'p> {
    pub fn new(problem: &'p Problem) -> Self {
        let staged = problem.residual_tape();
        let graph = problem.equations().graph();
        let tapes = [staged, problem.jacobian_tape(), problem.argument_tape()];
        let same = tapes.map(|tape| same_branches(graph, staged, tape));
        let order = problem.max_equation_offset();
        let jet = |tape: &Arc<daelight_expr::Tape>, order: usize| {
            let mut jet = PlainJet::<Interval>::new(Arc::clone(tape), order);
            let parameters = jet.inputs_mut().parameters_mut();
            parameters.copy_from_slice(&problem.parameters()[..parameters.len()]);
            jet
        };
        Self {
            entries: block_entries(problem),
            reads: problem.highest_read(),
            time_alone: TimeAlone::of(problem),
            residuals: jet(staged, order),
            jacobian: jet(tapes[1], 0),
            arguments: jet(tapes[2], 0),
            same,
            rows: Vec::new(),
            problem,
        }
    }

    /// Whether the determinant of a block, or behind the blocks an argument, may be zero within the width of a claim.
    pub fn may_vanish(
        &mut self,
        claim: &Claim<'_>,
        quantity: usize,
        tolerances: &Tolerances,
    ) -> bool {
        self.enclose(claim, tolerances);
        self.quantity_may_vanish(claim, quantity, claim.stretch())
    }

    /// What the equations say of a zero of a quantity on a series, at the zero, beside it and on the way to it, (R10) and (R20).
    pub fn standing(
        &mut self,
        claim: &Claim<'_>,
        quantity: usize,
        tolerances: &Tolerances,
    ) -> Standing {
        for before in CONFIRM_BEFORE {
            let on_the_way = Claim {
                s: (1.0 - before) * claim.s,
                rest: 1.0 / before,
                ..*claim
            };
            self.enclose(&on_the_way, tolerances);
            if !self.equations_hold(&on_the_way, on_the_way.stretch()) {
                return Standing::Refuted;
            }
        }
        let holds = self.enclose(claim, tolerances)
            && self.equations_hold(claim, claim.stretch())
            && self.holds_beside(claim, quantity, tolerances);
        match holds {
            true => Standing::Holds,
            false => Standing::Unknown,
        }
    }

    /// Whether the equations hold on both sides of a zero of an argument, as near to it as the argument is known not to vanish: at
    /// the zero itself the operation has no enclosure.
    fn holds_beside(
        &mut self,
        claim: &Claim<'_>,
        quantity: usize,
        tolerances: &Tolerances,
    ) -> bool {
        if quantity < self.problem.structure().blocks().len() {
            return true;
        }
        [-1.0, 1.0].into_iter().all(|side| {
            for part in CONFIRM_BESIDE {
                let beside = Claim {
                    s: (1.0 + side * part) * claim.s,
                    ..*claim
                };
                self.enclose(&beside, tolerances);
                let time = beside.stretch();
                if !self.quantity_may_vanish(&beside, quantity, time) {
                    return self.equations_hold(&beside, time);
                }
            }
            true
        })
    }

    /// Whether no determinant and no argument can vanish where a branch point is seen at a distance, (R21).
    ///
    /// Of all quantities, or of one.
    pub fn has_no_branch(&mut self, claim: &Claim<'_>, quantity: Option<usize>) -> bool {
        self.enclose_all(claim);
        let n_blocks = self.problem.structure().blocks().len();
        let n_quantities = n_blocks + self.problem.arguments().len();
        let quantities = quantity.map_or(0..n_quantities, |one| one..one + 1);
        let time = claim.stretch().hull(Interval::new(claim.time, claim.time));
        quantities
            .into_iter()
            .all(|quantity| !self.quantity_may_vanish(claim, quantity, time))
    }

    /// Fills the rows with everything that the coefficients are up to a branch point at the end of a claim.
    fn enclose_all(&mut self, claim: &Claim<'_>) {
        let n = self.problem.n();
        let n_orders = claim.series.len() / n.max(1);
        let wanted = self.problem.max_unknown_offset().max(self.n_rows(n) - 1);
        self.rows.clear();
        for m in 0..=wanted {
            for j in 0..n {
                let d = self.problem.structure().offsets().variable[j];
                let top = n_orders.saturating_sub(1 + self.problem.max_unknown_offset() - d);
                let at = coefficient_at(claim, n, j, m, top);
                let here = claim.series.get(m * n + j).copied().unwrap_or(0.0);
                // Terms of a root of the distance fall like 1/k^(1 + alpha), and sum up to k/alpha times the last one.
                let rest = claim.rest * top as f64 * at.tail;
                // What is not pinned by the values may grow without bound.
                let rest = if m > 0 && m >= d { f64::INFINITY } else { rest };
                let (down, up) = at.moves;
                self.rows
                    .push(Interval::new(here + down - rest, here + up + rest));
            }
        }
    }

    /// Fills the rows with what is known of the coefficients at the zero; says whether that is much.
    fn enclose(&mut self, claim: &Claim<'_>, tolerances: &Tolerances) -> bool {
        let n = self.problem.n();
        let n_orders = claim.series.len() / n.max(1);
        let wanted = self.problem.max_unknown_offset().max(self.n_rows(n) - 1);
        self.rows.clear();
        let mut is_known = true;
        for m in 0..=wanted {
            for j in 0..n {
                let d = self.problem.structure().offsets().variable[j];
                // The last coefficients that an expansion gives.
                let top = n_orders.saturating_sub(1 + self.problem.max_unknown_offset() - d);
                let at = coefficient_at(claim, n, j, m, top);
                let slope = coefficient_at(claim, n, j, m + 1, top).value * (m + 1) as f64;
                let factorial = (1..=m).map(|f| f as f64).product::<f64>();
                let nominal = tolerances.absolute(m, j) / tolerances.rtol / factorial;
                // Where nothing is carried on the equations pin every point anew.
                let rtol = match self.time_alone.holds(j, m) {
                    true => CONFIRM_LEAST,
                    false => tolerances.rtol.max(CONFIRM_LEAST),
                };
                let weight = rtol * (at.value.abs() + nominal);
                let weight = CONFIRM_WEIGHTS * weight;
                let error = weight + claim.rest * at.tail + CONFIRM_ROUNDING * at.size;
                // Derivatives follow from values that are good; near a zero of high index they are not.
                is_known &= m > 0 || 2.0 * at.tail <= CONFIRM_MOST * at.moving + weight;
                let bend = coefficient_at(claim, n, j, m + 2, top).value;
                let bend = bend * ((m + 1) * (m + 2)) as f64;
                let is_top = m > 0 && m == d && self.reads[j] < d;
                let error = if is_top { CONFIRM_TOP * error } else { error };
                let error =
                    error + (claim.width * slope).abs() + (claim.width * claim.width * bend).abs();
                self.rows
                    .push(Interval::new(at.value - error, at.value + error));
            }
        }
        is_known
    }

    fn n_rows(&self, n: usize) -> usize {
        let jets = [&self.residuals, &self.jacobian, &self.arguments];
        let rows = jets.iter().map(|jet| jet.inputs().rows().len());
        rows.max().unwrap_or(0).checked_div(n).unwrap_or(1).max(1)
    }

    fn prepare(
        jet: &mut PlainJet<Interval>,
        rows: &[Interval],
        time: Interval,
        same: &[Option<usize>],
        sides: &[Ordering],
    ) {
        for (branch, same) in same.iter().enumerate() {
            if let Some(&side) = same.and_then(|same| sides.get(same)) {
                jet.branches_mut().choose(branch, side);
            }
        }
        jet.branches_mut().hold(!sides.is_empty());
        let inputs = jet.inputs_mut();
        inputs.set_time(time);
        let places = inputs.rows_mut();
        let n_known = places.len().min(rows.len());
        places[..n_known].copy_from_slice(&rows[..n_known]);
    }

    /// Whether all equations may hold as they stand; those that hidden constraints come from are not differentiated.
    fn equations_hold(&mut self, claim: &Claim<'_>, time: Interval) -> bool {
        let jet = &mut self.residuals;
        Self::prepare(jet, &self.rows, time, &self.same[0], claim.sides);
        for stage in jet.tape().first_stage()..=0 {
            // What has no enclosure may hold.
            let _ = jet.extend(stage);
        }
        (0..self.problem.n()).all(|i| jet.root(i, 0).may_be(0.0))
    }

    /// Whether a quantity may be zero.
    fn quantity_may_vanish(&mut self, claim: &Claim<'_>, quantity: usize, time: Interval) -> bool {
        let blocks = self.problem.structure().blocks();
        let Some(block) = blocks.get(quantity) else {
            let argument = &self.problem.arguments()[quantity - blocks.len()];
            let jet = &mut self.arguments;
            Self::prepare(jet, &self.rows, time, &self.same[2], claim.sides);
            let _ = jet.extend(0);
            return argument.may_vanish(|root| jet.root(root, 0));
        };
        let n = block.equations.len();
        if n > MAX_BLOCK {
            return true;
        }
        let jet = &mut self.jacobian;
        Self::prepare(jet, &self.rows, time, &self.same[1], claim.sides);
        let _ = jet.extend(0);
        let entries = &self.entries[quantity];
        let entry = |row: usize, column: usize| {
            entries[row * n + column].map_or(Interval::ZERO, |root| jet.root(root, 0))
        };
        let columns: Vec<usize> = (0..n).collect();
        determinant(&entry, 0, &columns).may_be(0.0)
    }
}

/// A coefficient at the zero: its value, the greatest of its terms, and the last two of them.
struct At {
    value: f64,
    size: f64,
    /// The greatest without the one that does not depend on the distance, and the sums of these, down and up.
    moving: f64,
    moves: (f64, f64),
    tail: f64,
}

fn coefficient_at(claim: &Claim<'_>, n: usize, j: usize, m: usize, top: usize) -> At {
    let (mut value, mut size, mut moving, mut tail) = (0.0, 0.0f64, 0.0f64, 0.0);
    let mut moves = (0.0, 0.0);
    for k in (m..=top).rev() {
        let binomial = (0..m)
            .map(|i| (k - i) as f64 / (i + 1) as f64)
            .product::<f64>();
        let term = binomial * claim.series[k * n + j] * claim.s.powi((k - m) as i32);
        value += term;
        size = size.max(term.abs());
        if k > m {
            moving = moving.max(term.abs());
            moves.0 += term.min(0.0);
            moves.1 += term.max(0.0);
        }
        if k + 1 >= top {
            tail += term.abs();
        }
    }
    At {
        value,
        size,
        moving,
        moves,
        tail,
    }
}

/// Where the entries of the small blocks are among those of the system Jacobian, row by row.
fn block_entries(problem: &Problem) -> Vec<Vec<Option<usize>>> {
    let structure = problem.structure();
    let mut first = vec![0];
    for equation in 0..problem.n() {
        first.push(first[equation] + structure.jacobian_row(equation).len());
    }
    let blocks = structure.blocks().iter();
    blocks
        .map(|block| {
            if block.equations.len() > MAX_BLOCK {
                return Vec::new();
            }
            let place = |equation: usize, unknown: usize| {
                let found = structure.jacobian_row(equation).position(|j| j == unknown);
                found.map(|at| first[equation] + at)
            };
            let rows = block.equations.iter();
            rows.flat_map(|&equation| {
                block
                    .unknowns
                    .iter()
                    .map(move |&unknown| (equation, unknown))
            })
            .map(|(equation, unknown)| place(equation, unknown))
            .collect()
        })
        .collect()
}

/// The determinant of the rows from one on and some columns, by expansion.
fn determinant(
    entry: &dyn Fn(usize, usize) -> Interval,
    row: usize,
    columns: &[usize],
) -> Interval {
    if columns.is_empty() {
        return Interval::ONE;
    }
    let mut sum = Interval::ZERO;
    for (k, &column) in columns.iter().enumerate() {
        let factor = entry(row, column);
        if factor == Interval::ZERO {
            continue;
        }
        let rest: Vec<usize> = columns
            .iter()
            .copied()
            .filter(|&other| other != column)
            .collect();
        let term = factor * determinant(entry, row + 1, &rest);
        sum = if k % 2 == 0 { sum + term } else { sum - term };
    }
    sum
}
