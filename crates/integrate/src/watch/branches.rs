//! The functions that decide branches, along a piece of a solution between two points.
//!
//! Section 2 of `docs/theory/runs.md`: the implicit methods have no series of these functions, so they are expanded on the piece.

use super::enclosed::EnclosedBranches;
use super::rooted::{Rooted, Within};
use super::scan::{Cell, Expand, SCAN_ORDER, Scan};
use crate::locate;
use crate::problem::Problem;
use crate::stages::Stages;
use crate::stages::same_branches;
use crate::tolerances::{
    CONFIRM_WEIGHTS, JUST_SWITCHED, SAME_SWITCH, SAME_SWITCH_AHEAD, SIDE_VALUE,
};
use crate::trajectory::shift;
use daelight_expr::{Jet, JetEvaluator, Node, Slot, Walker};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The functions that decide the branches of a problem.
pub(crate) struct BranchFunctions {
    jet: Jet,
    /// Where each function has its two sides among the roots.
    roots: Vec<(usize, Option<usize>)>,
    /// Branches of the residuals for those within the functions.
    same: Vec<Option<usize>>,
    rooted: Option<Rooted>,
    enclosed: Option<EnclosedBranches>,
    n: usize,
    point: Vec<f64>,
    scan: Scan,
}

/// A piece `[order][unknown]` around a time.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub centre: f64,
    pub series: &'a [f64],
}

/// Branches of which more is known than their sides.
#[derive(Clone, Copy)]
pub(crate) struct OnSurfaces<'a> {
    /// Those that switched where a piece begins: as long as they are no larger than there they are zero.
    pub at_zero: &'a [usize],
    /// Those that the motion keeps on their surfaces, with a side, up to errors of a run with this tolerance.
    pub staying: &'a [usize],
    pub rtol: f64,
}

impl OnSurfaces<'_> {
    /// Whether a branch is off its side where its function has a value, with the size of its operands.
    fn leaves(&self, stages: &Stages<'_>, branch: usize, (value, size): (f64, f64)) -> bool {
        let size = size.max(stages.noted_size(branch));
        let stays = value.abs() <= CONFIRM_WEIGHTS * self.rtol * size;
        if stays && self.staying.contains(&branch) {
            return false;
        }
        let held = stages.sides()[branch];
        let root_side = stages.problem().root_side(branch);
        let rests_beside = root_side.is_some_and(|root| root != held);
        match held {
            _ if rests_beside && value.abs() <= SIDE_VALUE * size => false,
            Ordering::Less => value > 0.0,
            Ordering::Greater => value < 0.0,
            // At rest; away from it only when it is more than the accuracy of the piece.
            Ordering::Equal => value.abs() > SIDE_VALUE * size,
        }
    }
}

/// The first switch within a piece.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FirstSwitch {
    pub time: f64,
    /// How far the time may be off.
    pub width: f64,
    pub branches: Vec<usize>,
}

impl BranchFunctions {
    /// `None` for equations without branches.
    pub fn new(problem: &Problem) -> Option<Self> {
        let (equations, residuals) = (problem.equations(), problem.residual_tape());
        let graph = equations.graph();
        let mut operands = Vec::new();
        let mut roots = Vec::new();
        for expr in residuals.branches() {
            let first = operands.len();
            match graph.node(expr) {
                Node::Unary(_, a) => operands.push(a),
                Node::Binary(_, a, b) => operands.extend([a, b]),
                _ => {}
            }
            roots.push((first, (operands.len() > first + 1).then_some(first + 1)));
        }
        if roots.is_empty() {
            return None;
        }
        let tape = Arc::new(equations.compile(&operands));
        let n_orders = SCAN_ORDER + tape.max_slot_order() + 1;
        let mut jet = Jet::new(Arc::clone(&tape), SCAN_ORDER);
        let parameters = jet.inputs_mut().parameters_mut();
        parameters.copy_from_slice(&problem.parameters()[..parameters.len()]);
        Some(Self {
            same: same_branches(graph, residuals, &tape),
            rooted: Rooted::new(problem),
            enclosed: EnclosedBranches::new(problem, SCAN_ORDER),
            jet,
            roots,
            n: problem.n(),
            point: vec![0.0; n_orders * problem.n()],
            scan: Scan::default(),
        })
    }

    /// Holds the branches within the functions on the sides that the equations have.
    pub fn hold(&mut self, sides: &[Ordering]) {
        for (branch, same) in self.same.iter().enumerate() {
            if let Some(&side) = same.and_then(|same| sides.get(same)) {
                self.jet.branches_mut().choose(branch, side);
            }
        }
        self.jet.branches_mut().hold(true);
        if let Some(enclosed) = &mut self.enclosed {
            enclosed.hold(sides);
        }
    }

    /// The first time between two at which a branch leaves its side, and all that leave theirs at that time.
    pub fn first_switch(
        &mut self,
        piece: Piece<'_>,
        (from, to): (f64, f64),
        stages: &Stages<'_>,
        known: OnSurfaces<'_>,
    ) -> Option<FirstSwitch> {
        let smooth = self.first_smooth(piece, (from, to), stages, known);
        let until = smooth.as_ref().map_or(to, |switch| switch.time);
        let rooted = self.first_rooted(piece, (from, until), stages, known.at_zero);
        rooted.or(smooth)
    }

    /// The first time between two at which a function with roots that are not watched leaves its side, or is not known any more, (R30).
    fn first_rooted(
        &mut self,
        piece: Piece<'_>,
        (from, to): (f64, f64),
        stages: &Stages<'_>,
        at_zero: &[usize],
    ) -> Option<FirstSwitch> {
        let rooted = self.rooted.as_mut()?;
        let sides = stages.sides();
        let mut first: Option<(f64, usize)> = None;
        for branch in 0..sides.len() {
            if !rooted.holds(branch) || sides[branch] == Ordering::Equal {
                continue;
            }
            let far = first.map_or((to - from).abs(), |(s, _)| s);
            let stretch = (from, far.copysign(to - from));
            let own_zero = at_zero.contains(&branch);
            match rooted.within((branch, own_zero), sides, piece, stretch) {
                Within::Leaves(s) | Within::Unknown(s) => first = Some((s, branch)),
                Within::Stays => {}
            }
        }
        let (s, branch) = first?;
        let time = from + s.copysign(to - from);
        Some(FirstSwitch {
            time,
            width: (SAME_SWITCH * time.abs()).max(SIDE_VALUE * s),
            branches: vec![branch],
        })
    }

    /// The same for functions that have series.
    fn first_smooth(
        &mut self,
        piece: Piece<'_>,
        (from, to): (f64, f64),
        stages: &Stages<'_>,
        known: OnSurfaces<'_>,
    ) -> Option<FirstSwitch> {
        let at_zero = known.at_zero;
        let mut scan = std::mem::take(&mut self.scan);
        let mut before = None;
        let n_functions = self.roots.len();
        let first_values: Vec<f64> = at_zero
            .iter()
            .map(|&branch| self.value(piece, from, branch).map_or(0.0, f64::abs))
            .collect();
        let found = scan.cells(
            &mut OnPiece {
                functions: self,
                piece,
                rtol: known.rtol,
            },
            (from, to),
            &mut |functions, cell: Cell| {
                let middle = cell.middle();
                let mut series = vec![Vec::new(); n_functions];
                if !functions.expand(middle, &mut series) {
                    return ControlFlow::Continue(());
                }
                let is_first = (cell.to - from).abs() <= JUST_SWITCHED * (to - from).abs();
                let known_zero = |branch: usize, value: f64| {
                    let mut zeros = at_zero.iter().zip(&first_values);
                    zeros.any(|(zero, first)| *zero == branch && (is_first || value <= *first))
                };
                let left = (0..n_functions).filter(|&branch| {
                    let here = series[branch][0];
                    !known_zero(branch, here.0.abs()) && known.leaves(stages, branch, here)
                });
                let left: Vec<usize> = left.collect();
                if left.is_empty() {
                    before = Some(middle);
                    return ControlFlow::Continue(());
                }
                ControlFlow::Break((middle, left))
            },
        );
        self.scan = scan;
        let ControlFlow::Break((middle, left)) = found else {
            return None;
        };
        let times: Vec<(f64, usize)> = left
            .into_iter()
            .map(|branch| {
                (
                    self.locate(piece, before.unwrap_or(from), middle, branch),
                    branch,
                )
            })
            .collect();
        let distance = |time: f64| (time - from).abs();
        let first = times
            .iter()
            .map(|&(time, _)| time)
            .min_by(|a, b| distance(*a).total_cmp(&distance(*b)))?;
        let width = (SAME_SWITCH * first.abs()).max(SAME_SWITCH_AHEAD * distance(first));
        let together = times
            .iter()
            .filter(|(time, _)| (time - first).abs() <= width);
        Some(FirstSwitch {
            time: first,
            width,
            branches: together.map(|&(_, branch)| branch).collect(),
        })
    }

    /// Where a function changes its sign between two times; the first of them if it does not.
    fn locate(&mut self, piece: Piece<'_>, before: f64, after: f64, branch: usize) -> f64 {
        let Some((f, g)) = self
            .value(piece, before, branch)
            .zip(self.value(piece, after, branch))
        else {
            return before;
        };
        if f * g >= 0.0 {
            return before;
        }
        let length = after - before;
        let at = locate::zero(0.0, 1.0, f, g, |s| {
            self.value(piece, before + s * length, branch)
                .unwrap_or(f64::NAN)
        });
        before + at * length
    }

    /// A function at a time; `None` where it has no value.
    pub fn value(&mut self, piece: Piece<'_>, time: f64, branch: usize) -> Option<f64> {
        let (left, right) = self.operands(piece, time, branch);
        let value = left - right;
        value.is_finite().then_some(value)
    }

    /// The size of what a function is made of at a time.
    pub fn size(&mut self, piece: Piece<'_>, time: f64, branch: usize) -> f64 {
        let (left, right) = self.operands(piece, time, branch);
        let size = left.abs() + right.abs();
        if size.is_finite() { size } else { 0.0 }
    }

    /// The unknowns and orders of their derivatives that a function reads.
    pub fn reads(problem: &Problem, branch: usize) -> Vec<(usize, usize)> {
        let equations = problem.equations();
        let expr = problem.residual_tape().branches().nth(branch);
        let symbols = expr.map(|expr| Walker::new().symbols(equations.graph(), &[expr]));
        let symbols = symbols.unwrap_or_default();
        let unknowns = symbols
            .into_iter()
            .filter_map(|id| match equations.slot(id) {
                Slot::Variable { index, order } => Some((index as usize, order as usize)),
                _ => None,
            });
        unknowns.collect()
    }

    fn operands(&mut self, piece: Piece<'_>, time: f64, branch: usize) -> (f64, f64) {
        self.set(piece, time, 1);
        let _ = self.jet.extend(0);
        let (left, right) = self.roots[branch];
        let right = right.map_or(0.0, |right| self.jet.root(right, 0));
        (self.jet.root(left, 0), right)
    }

    fn set(&mut self, piece: Piece<'_>, time: f64, n_orders: usize) {
        let rows = (n_orders + self.jet.tape().max_slot_order()) * self.n;
        shift(
            piece.series,
            self.n,
            time - piece.centre,
            &mut self.point[..rows],
        );
        let inputs = self.jet.inputs_mut();
        inputs.set_time(time);
        for (order, row) in self.point[..rows].chunks_exact(self.n.max(1)).enumerate() {
            inputs.row_mut(order).copy_from_slice(row);
        }
    }
}

struct OnPiece<'a, 'p> {
    functions: &'a mut BranchFunctions,
    piece: Piece<'p>,
    rtol: f64,
}

impl Expand for OnPiece<'_, '_> {
    fn n_functions(&self) -> usize {
        self.functions.roots.len()
    }

    fn expand(&mut self, time: f64, into: &mut [Vec<(f64, f64)>]) -> bool {
        let functions = &mut *self.functions;
        functions.set(self.piece, time, SCAN_ORDER + 1);
        // A function inside a branch that is not taken need not have a value, and decides nothing then; the others do.
        for order in 0..=SCAN_ORDER {
            let _ = functions.jet.extend(order as i32);
        }
        let places = into.iter_mut().zip(&functions.roots).enumerate();
        for (branch, (series, &(left, right))) in places {
            series.clear();
            if functions
                .rooted
                .as_ref()
                .is_some_and(|rooted| rooted.holds(branch))
            {
                series.resize(SCAN_ORDER + 1, (0.0, 0.0));
                continue;
            }
            series.extend((0..=SCAN_ORDER).map(|order| {
                let left = functions.jet.root(left, order);
                let right = right.map_or(0.0, |right| functions.jet.root(right, order));
                (left - right, left.abs() + right.abs())
            }));
            if series.iter().any(|(value, _)| !value.is_finite()) {
                series.fill((0.0, 0.0));
            }
        }
        true
    }

    fn serves(&mut self, first: usize, part: (f64, f64)) -> bool {
        let enclosed = self.functions.enclosed.as_mut();
        enclosed.is_none_or(|enclosed| enclosed.serves(self.piece, part, (first, self.rtol)))
    }
}
