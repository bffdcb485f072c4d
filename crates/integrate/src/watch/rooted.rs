//! Functions that decide and hold roots that nobody watches: `sqrt(abs(x)) < c + 0.1*sin(time)`.
//!
//! Where the argument of such a root vanishes they have values, and no series. Their sides are found by ranges over parts of a
//! piece, (R30) of `docs/theory/runs.md`, whatever the functions around the roots.

use super::branches::Piece;
use super::features::spread;
use super::scan::MAX_EXPANSIONS;
use crate::problem::Problem;
use crate::stages::same_branches;
use crate::tolerances::SAME_SWITCH;
use crate::trajectory::shift;
use daelight_expr::{FastMap, Interval, JetEvaluator, Node, PlainJet};
use std::cmp::Ordering;
use std::sync::Arc;

/// The parts of a piece at which a function that rests is zero: its ends, and a place between them that is no simple fraction.
const RESTS_AT: [f64; 3] = [0.0, 0.382, 1.0];

/// What the ranges of a function say of a piece.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Within {
    /// The function stays on its side.
    Stays,
    /// It leaves its side at this distance.
    Leaves(f64),
    /// Nothing is known from this distance on.
    Unknown(f64),
}

/// The functions of a problem that decide and hold roots which are not watched.
pub(crate) struct Rooted {
    ranges: PlainJet<Interval>,
    /// Where each branch of the residuals has its two operands among the roots; none for branches that have series.
    operands: Vec<Option<(usize, Option<usize>)>>,
    same: Vec<Option<usize>>,
    n: usize,
    rows: Vec<f64>,
    /// The values of all roots on the parts of the last piece, by the bits of their ends: one evaluation serves all branches.
    parts: FastMap<(u64, u64), Vec<Interval>>,
    /// The centre, the series and the sides for which they were found.
    known_for: (f64, Vec<f64>, Vec<Ordering>),
}

impl Rooted {
    /// `None` for equations without such functions.
    pub fn new(problem: &Problem) -> Option<Self> {
        let (equations, residuals) = (problem.equations(), problem.residual_tape());
        let graph = equations.graph();
        let mut roots = Vec::new();
        let mut operands = Vec::new();
        for (branch, expr) in residuals.branches().enumerate() {
            let first = roots.len();
            if problem.is_rooted(branch) {
                match graph.node(expr) {
                    Node::Unary(_, a) => roots.push(a),
                    Node::Binary(_, a, b) => roots.extend([a, b]),
                    _ => {}
                }
            }
            let second = (roots.len() > first + 1).then_some(first + 1);
            operands.push((roots.len() > first).then_some((first, second)));
        }
        if roots.is_empty() {
            return None;
        }
        let tape = Arc::new(equations.compile(&roots));
        let mut ranges = PlainJet::<Interval>::new(Arc::clone(&tape), 0);
        let parameters = ranges.inputs_mut().parameters_mut();
        parameters.copy_from_slice(&problem.parameters()[..parameters.len()]);
        Some(Self {
            same: same_branches(graph, residuals, &tape),
            ranges,
            operands,
            n: problem.n(),
            rows: Vec::new(),
            parts: FastMap::default(),
            known_for: (f64::NAN, Vec::new(), Vec::new()),
        })
    }

    /// Whether a branch is decided by such a function.
    pub fn holds(&self, branch: usize) -> bool {
        self.operands[branch].is_some()
    }

    /// What a function does on a piece of the solution from a time on, up to a signed distance, while all branches keep their sides.
    ///
    /// With `own_zero` it is zero where the piece begins, and is looked at from where it is on its side.
    pub fn within(
        &mut self,
        (branch, own_zero): (usize, bool),
        sides: &[Ordering],
        piece: Piece<'_>,
        (from, h): (f64, f64),
    ) -> Within {
        self.look_at(sides, piece);
        let side = sides[branch];
        let narrowest = SAME_SWITCH * (from.abs() + h.abs());
        // Two operands that are one number in other words: no part of a piece would ever tell them apart.
        let mut places = RESTS_AT.into_iter();
        if places.all(|part| self.is_zero(branch, piece, from + part * h)) {
            return Within::Stays;
        }
        let begin = match own_zero {
            true => self.first_on_side((branch, side), piece, (from, h), narrowest),
            false => Some(0.0),
        };
        let Some(begin) = begin else {
            return Within::Leaves(0.0);
        };
        let mut parts = vec![(begin, h)];
        let mut n_parts = 0;
        while let Some((a, b)) = parts.pop() {
            n_parts += 1;
            let middle = 0.5 * (a + b);
            // A simple zero takes three or four parts for each of its forty halvings.
            if n_parts > MAX_EXPANSIONS / 10 {
                return Within::Unknown(a.abs());
            }
            match self.side(branch, piece, (from + a, from + b)) {
                Some(found) if found == side => {}
                Some(_) => return Within::Leaves(a.abs()),
                None if (b - a).abs() > narrowest && middle != a && middle != b => {
                    parts.extend([(middle, b), (a, middle)]);
                }
                // A zero that it only touches, or where its root begins.
                None => {
                    let behind = self.side(branch, piece, (from + b, from + b));
                    if behind == Some(side.reverse()) {
                        return Within::Leaves(middle.abs());
                    }
                }
            }
        }
        Within::Stays
    }

    /// Holds the sides, and forgets what was found on another piece or with other sides.
    fn look_at(&mut self, sides: &[Ordering], piece: Piece<'_>) {
        let (centre, series, before) = &self.known_for;
        if *centre == piece.centre && series[..] == *piece.series && before[..] == *sides {
            return;
        }
        self.parts.clear();
        self.known_for = (piece.centre, piece.series.to_vec(), sides.to_vec());
        for (other, same) in self.same.iter().enumerate() {
            if let Some(&side) = same.and_then(|same| sides.get(same)) {
                self.ranges.branches_mut().choose(other, side);
            }
        }
        self.ranges.branches_mut().hold(true);
    }

    /// The first distance, by powers of ten, at which a function that begins at zero is on its side.
    fn first_on_side(
        &mut self,
        (branch, side): (usize, Ordering),
        piece: Piece<'_>,
        (from, h): (f64, f64),
        narrowest: f64,
    ) -> Option<f64> {
        let mut distance = narrowest.copysign(h);
        while distance.abs() < h.abs() {
            let at = from + distance;
            match self.side(branch, piece, (at, at)) {
                Some(found) if found == side => return Some(distance),
                Some(_) if distance.abs() > 1e3 * narrowest => return None,
                _ => distance *= 10.0,
            }
        }
        None
    }

    /// The side of a function on all of a part; `None` where that is not known.
    fn side(
        &mut self,
        branch: usize,
        piece: Piece<'_>,
        (from, to): (f64, f64),
    ) -> Option<Ordering> {
        let (left, right) = self.operands_on(branch, piece, (from, to))?;
        left.partial_cmp(&right).filter(|side| side.is_ne())
    }

    /// Whether the operands of a function have values at a time that rounding does not tell apart.
    fn is_zero(&mut self, branch: usize, piece: Piece<'_>, time: f64) -> bool {
        let operands = self.operands_on(branch, piece, (time, time));
        operands.is_some_and(|(left, right)| left.lo() <= right.hi() && right.lo() <= left.hi())
    }

    /// The operands of a function on a part.
    fn operands_on(
        &mut self,
        branch: usize,
        piece: Piece<'_>,
        (from, to): (f64, f64),
    ) -> Option<(Interval, Interval)> {
        let (left, right) = self.operands[branch]?;
        let key = (from.to_bits(), to.to_bits());
        if !self.parts.contains_key(&key) {
            self.evaluate(piece, (from, to));
            let n_roots = self.ranges.tape().n_roots();
            let roots = (0..n_roots).map(|root| self.ranges.root(root, 0)).collect();
            self.parts.insert(key, roots);
        }
        let roots = self.parts.get(&key)?;
        let right = right.map_or(Interval::from(0.0), |right| roots[right]);
        Some((roots[left], right))
    }

    /// The ranges of all roots on a part.
    fn evaluate(&mut self, piece: Piece<'_>, (from, to): (f64, f64)) {
        let n = self.n;
        let (centre, radius) = (0.5 * (from + to), 0.5 * (to - from).abs());
        self.rows.resize(piece.series.len(), 0.0);
        shift(piece.series, n, centre - piece.centre, &mut self.rows);
        let n_rows = piece.series.len() / n.max(1);
        let n_slots = self.ranges.tape().max_slot_order() + 1;
        let inputs = self.ranges.inputs_mut();
        inputs.set_time(Interval::new(centre - radius, centre + radius));
        for order in 0..n_slots.min(n_rows) {
            for j in 0..n {
                let around = spread(&self.rows, (n, j, order), radius);
                let value = self.rows[order * n + j];
                inputs.row_mut(order)[j] = Interval::new(value - around, value + around);
            }
        }
        let _ = self.ranges.extend(0);
    }
}
