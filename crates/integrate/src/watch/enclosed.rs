//! Functions that decide, over whole parts of a solution: whether a series says all that they do there.
//!
//! Section 2 of `docs/theory/runs.md`, (R5a): ranges of the two sides, and interval jets of what is no polynomial in them.

use super::branches::Piece;
use super::features::spread;
use crate::problem::Problem;
use crate::stages::same_branches;
use crate::tolerances::{FORCING_DECIDING, FORCING_SHORTEST};
use crate::trajectory::shift;
use daelight_expr::{Interval, JetEvaluator, Node, PlainJet, Register, Tape};
use std::cmp::Ordering;
use std::sync::Arc;

/// Pairs of sides, and the functions in them that series may not know.
pub struct Enclosed {
    jet: PlainJet<Interval>,
    deciders: Vec<Decider>,
    reads: Vec<usize>,
    /// Order of the series that are to be trusted.
    order: usize,
    /// How many orders were found on the present part.
    n_found: usize,
}

/// Where the tape has the sides of one decision, or the one that is compared with zero, and its functions.
struct Decider {
    sides: Vec<usize>,
    functions: Vec<Register>,
}

impl Enclosed {
    /// For series up to an order of differences of roots; `None` where all of them are polynomials of what they read.
    ///
    /// Functions of time alone count if they are bounded nowhere else.
    pub fn new(
        tape: Arc<Tape>,
        sides: impl IntoIterator<Item = Vec<usize>>,
        order: usize,
        of_time_too: bool,
    ) -> Option<Self> {
        let decider = |sides: Vec<usize>| Decider {
            functions: tape.smooth_functions(&sides, of_time_too),
            sides,
        };
        let deciders: Vec<Decider> = sides.into_iter().map(decider).collect();
        if deciders.iter().all(|decider| decider.functions.is_empty()) {
            return None;
        }
        Some(Self {
            reads: tape.variables(),
            jet: PlainJet::new(tape, order + 1),
            deciders,
            order,
            n_found: 0,
        })
    }

    /// The ranges, whose parameters and branches are to be set.
    pub fn jet_mut(&mut self) -> &mut PlainJet<Interval> {
        &mut self.jet
    }

    /// Looks at a part from now on; `coefficient` gives the range there of a coefficient of an unknown.
    pub fn set(&mut self, time: Interval, mut coefficient: impl FnMut(usize, usize) -> Interval) {
        self.n_found = 0;
        let inputs = self.jet.inputs_mut();
        inputs.set_time(time);
        for order in 0..inputs.n_orders() {
            for &unknown in &self.reads {
                inputs.set(unknown, order, coefficient(unknown, order));
            }
        }
    }

    fn find(&mut self, n_orders: usize) {
        // What has no enclosure has no bound, which is seen where it is read.
        while self.n_found < n_orders {
            let _ = self.jet.extend(self.n_found as i32);
            self.n_found += 1;
        }
    }

    /// Whether the sides of a decision are proved to differ on the part.
    fn is_apart(&mut self, decider: usize) -> bool {
        self.find(1);
        let mut sides = self.deciders[decider].sides.iter();
        let mut side = || sides.next().map(|&side| self.jet.root(side, 0));
        let (left, right) = (side(), side().unwrap_or(Interval::from(0.0)));
        left.is_none_or(|left| left.lo() > right.hi() || left.hi() < right.lo())
    }

    /// What a series of a decision may leave out at a distance from its centre, relative to its sides, as far as that counts, (R5a).
    pub fn rest(&mut self, decider: usize, distance: f64) -> f64 {
        if self.deciders[decider].functions.is_empty() || self.is_apart(decider) {
            return 0.0;
        }
        let top = self.order + 1;
        self.find(top + 1);
        let power = distance.powi(top as i32);
        let Decider { sides, functions } = &self.deciders[decider];
        let sides = sides.iter().map(|&side| self.jet.root(side, 0).magnitude());
        let size = sides.filter(|size| size.is_finite()).fold(0.0, f64::max);
        let rests = functions.iter().map(|&function| {
            let rest = self.jet.coefficient(function, top).magnitude() * power;
            match rest {
                0.0 => 0.0,
                _ => rest / self.jet.coefficient(function, 0).magnitude().max(size),
            }
        });
        // Without an enclosure there is no bound: infinite beside infinite.
        rests.fold(0.0, |most, rest| match rest.is_nan() {
            true => f64::INFINITY,
            false => rest.max(most),
        })
    }
}

/// The same for the branches of a problem, along pieces of its solution.
pub(crate) struct EnclosedBranches {
    enclosed: Enclosed,
    /// Branches of the residuals for those within the functions.
    same: Vec<Option<usize>>,
    n: usize,
    order: usize,
    beside: Vec<f64>,
}

impl EnclosedBranches {
    /// For series up to an order; `None` where all that decides is polynomial in the unknowns, or is looked at by ranges, (R30), or follows time
    /// alone, (R3).
    pub fn new(problem: &Problem, order: usize) -> Option<Self> {
        if problem.is_resolved() {
            return None;
        }
        let (equations, residuals) = (problem.equations(), problem.residual_tape());
        let graph = equations.graph();
        let mut roots = Vec::new();
        let mut sides = Vec::new();
        for (branch, expr) in residuals.branches().enumerate() {
            let first = roots.len();
            match graph.node(expr) {
                _ if problem.is_rooted(branch) => {}
                Node::Unary(_, a) => roots.push(a),
                Node::Binary(_, a, b) => roots.extend([a, b]),
                _ => {}
            }
            sides.push((first..roots.len()).collect());
        }
        let tape = Arc::new(equations.compile(&roots));
        let same = same_branches(graph, residuals, &tape);
        let mut enclosed = Enclosed::new(tape, sides, order, false)?;
        let parameters = enclosed.jet_mut().inputs_mut().parameters_mut();
        parameters.copy_from_slice(&problem.parameters()[..parameters.len()]);
        Some(Self {
            enclosed,
            same,
            n: problem.n(),
            order,
            beside: Vec::new(),
        })
    }

    /// Holds the branches within the functions on the sides that the equations have.
    pub fn hold(&mut self, sides: &[Ordering]) {
        let branches = self.enclosed.jet_mut().branches_mut();
        for (branch, same) in self.same.iter().enumerate() {
            if let Some(&side) = same.and_then(|same| sides.get(same)) {
                branches.choose(branch, side);
            }
        }
        branches.hold(true);
    }

    /// The step, up to h, on which what decides is its series from the beginning of a piece on.
    pub fn limit(&mut self, piece: Piece<'_>, direction: f64, rtol: f64, h: f64) -> f64 {
        let shortest = FORCING_SHORTEST * piece.centre.abs().max(h.min(1.0));
        let mut step = h;
        while step > shortest {
            let excess = self.excess(piece, direction * step, rtol);
            if excess <= 1.0 {
                return step;
            }
            step *= self.shortening(excess).clamp(0.25, 0.9);
        }
        h
    }

    /// What a step is to be multiplied by: the remainder falls like a power of it.
    fn shortening(&self, excess: f64) -> f64 {
        0.9 * excess.powf(-1.0 / (self.order + 1) as f64)
    }

    /// By how much a step is too long; bounded in parts where it fails by little, as functions of time are.
    fn excess(&mut self, piece: Piece<'_>, h: f64, rtol: f64) -> f64 {
        let mut n_parts = 1;
        loop {
            let end = |part: usize| piece.centre + h * part as f64 / n_parts as f64;
            let mut excess = 0.0f64;
            for part in 0..n_parts {
                self.look_at(piece, (end(part), end(part + 1)));
                for branch in 0..self.enclosed.deciders.len() {
                    excess = excess.max(self.enclosed.rest(branch, h.abs()));
                }
            }
            excess /= FORCING_DECIDING * rtol;
            if excess <= 1.0 || n_parts == 4 || self.shortening(excess) < 0.7 {
                return excess;
            }
            n_parts *= 2;
        }
    }

    /// Whether the functions of branches, from one on, are their series around the middle of a part of a piece.
    pub fn serves(
        &mut self,
        piece: Piece<'_>,
        (from, to): (f64, f64),
        (first, rtol): (usize, f64),
    ) -> bool {
        self.look_at(piece, (from, to));
        let distance = 0.5 * (to - from).abs();
        let mut branches = first..self.enclosed.deciders.len();
        branches.all(|branch| self.enclosed.rest(branch, distance) <= FORCING_DECIDING * rtol)
    }

    fn look_at(&mut self, piece: Piece<'_>, (from, to): (f64, f64)) {
        let n = self.n;
        let (middle, radius) = (0.5 * (from + to), 0.5 * (to - from).abs());
        self.beside.resize(piece.series.len(), 0.0);
        shift(piece.series, n, middle - piece.centre, &mut self.beside);
        let rows = &self.beside;
        let time = Interval::new(from, to);
        self.enclosed.set(time, |unknown, order| {
            let known = rows.get(order * n + unknown);
            known.map_or(Interval::from(0.0), |&value| {
                let around = spread(rows, (n, unknown, order), radius);
                Interval::new(value - around, value + around)
            })
        });
    }
}
