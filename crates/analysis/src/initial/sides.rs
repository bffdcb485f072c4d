//! Starts on switches: the sides that hold for later times, section 12 of `docs/theory/initial.md`.

use super::{ArrayFault, ConsistentPoint, Finder, NoPoint, Request, TaylorJet};
use crate::System;
use crate::equations::{Equations, Evaluator};
use crate::tolerances::{SAME_JET, ZERO};
use daelight_expr::{
    BinaryOp, Branches, ExprId, FaultKind, Graph, Jet, JetEvaluator, Node, UnaryOp, Walker,
};
use daelight_lang::Symbol;
use std::cmp::Ordering;
use std::time::Instant;

/// Most switches at one point whose sides are tried in all combinations, three for each: 243 searches.
const MAX_SWITCHES: usize = 5;

/// A switch and the side of it that is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pin {
    /// The expression that switches: the first one that was met of all that look at the same quantity.
    pub expr: ExprId,
    operands: (ExprId, Option<ExprId>),
    /// The side: the sign of the argument, or of left minus right; equal where it rests at the switch, and the text is taken as it
    /// stands.
    pub side: Ordering,
}

impl Pin {
    pub(super) fn new(graph: &Graph, expr: ExprId, side: Ordering) -> Option<Self> {
        Some(Self {
            expr,
            operands: operands(graph, expr)?,
            side,
        })
    }

    /// Whether it looks at no unknown: small changes of a solution stay on its side.
    pub fn is_of_time(&self, equations: &Equations) -> bool {
        let (left, right) = self.operands;
        let looked_at: Vec<ExprId> = std::iter::once(left).chain(right).collect();
        let symbols = Walker::new().symbols(equations.graph(), &looked_at);
        let is_unknown = |id| matches!(equations.symbols().get(id), Symbol::Unknown { .. });
        !symbols.into_iter().any(is_unknown)
    }

    /// Whether an expression looks at this switch.
    pub(super) fn is_of(&self, graph: &Graph, expr: ExprId) -> bool {
        operands(graph, expr) == Some(self.operands)
    }
}

/// A jet at a time, on sides of the switches that it lies on.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// When.
    pub time: f64,
    /// Values and derivatives.
    pub jet: &'a TaylorJet,
    /// The sides; switches that are not listed follow the values.
    pub sides: &'a [Pin],
}

impl<'a> Spot<'a> {
    /// On no switch, or where the text decides.
    pub fn plain((time, jet): (f64, &'a TaylorJet)) -> Self {
        Self {
            time,
            jet,
            sides: &[],
        }
    }

    /// An evaluator of the equations there.
    pub fn evaluator(&self, system: &System) -> Evaluator {
        let mut evaluator = system.evaluator();
        evaluator.pin(system.equations().graph(), self.sides);
        evaluator.set_time(self.time);
        for order in 0..=system.equations().order() {
            let values: Vec<f64> = (0..system.unknowns().len())
                .map(|j| self.jet.derivative(j, order))
                .collect();
            evaluator.set(order, &values);
        }
        evaluator
    }
}

/// What is known of the sides at a point that lies on switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SideChoice {
    /// The point lies on no switch.
    #[default]
    Decided,
    /// One combination of sides leads on, or several lead to the same solution.
    One,
    /// So many combinations lead on to different solutions; the one that the text takes at the switch comes first.
    Several(usize),
    /// No combination leads on: every side leads back to the switch.
    None,
}

/// What a branch looks at; branches that look at the same switch together.
fn operands(graph: &Graph, expr: ExprId) -> Option<(ExprId, Option<ExprId>)> {
    match graph.node(expr) {
        Node::Unary(_, a) => Some((a, None)),
        Node::Binary(_, a, b) => Some((a, Some(b))),
        _ => None,
    }
}

/// The side whose value the text takes at the switch itself.
fn side_of_text(graph: &Graph, expr: ExprId) -> Ordering {
    match graph.node(expr) {
        Node::Binary(BinaryOp::Greater | BinaryOp::LessEqual | BinaryOp::Min, ..) => Ordering::Less,
        Node::Unary(UnaryOp::Sign, _) => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// Pins the branches of a tape that are listed, and lets the others follow the values.
pub(super) fn pin(jet: &mut Jet, graph: &Graph, pins: &[Pin]) {
    let exprs: Vec<ExprId> = jet.tape().branches().collect();
    pin_branches(&exprs, jet.branches_mut(), graph, pins);
}

/// The same with the expressions of the branches.
pub(crate) fn pin_branches(exprs: &[ExprId], branches: &mut Branches, graph: &Graph, pins: &[Pin]) {
    for (branch, &expr) in exprs.iter().enumerate() {
        let looks_at = operands(graph, expr);
        let pin = pins.iter().find(|pin| looks_at == Some(pin.operands));
        branches.pin(branch, pin.map(|pin| pin.side));
    }
}

/// The switch that a search ended at.
fn kink(no_point: &NoPoint) -> Option<ExprId> {
    match no_point {
        NoPoint::Fault(ArrayFault::Equation(fault) | ArrayFault::Initial(fault)) => {
            (fault.kind == FaultKind::Kink).then_some(fault.expr)
        }
        _ => None,
    }
}

/// A point with the sides it was found on.
struct Candidate {
    point: ConsistentPoint,
    pins: Vec<Pin>,
}

impl Finder<'_> {
    /// Tries the sides of the switches that a point lies on, and takes those that hold for later times.
    ///
    /// `first` is the end of a search that let the sides follow the values. The sides chosen stay pinned.
    pub(super) fn on_sides(
        &mut self,
        request: &Request,
        first: NoPoint,
        deadline: Instant,
    ) -> Result<ConsistentPoint, NoPoint> {
        if kink(&first).is_none() {
            return Err(first);
        }
        if let Some(candidate) = self.by_turning(request, &first, deadline) {
            return Ok(self.settled(candidate, SideChoice::One));
        }
        let mut found: Vec<Candidate> = Vec::new();
        let mut without_point: Option<NoPoint> = None;
        let mut open = vec![(Vec::new(), first.clone())];
        while let Some((pins, end)) = open.pop() {
            let graph = self.values.graph();
            let Some(expr) = kink(&end) else {
                without_point.get_or_insert(end);
                continue;
            };
            let Some(operands) = operands(&graph, expr) else {
                continue;
            };
            let is_known = pins.iter().any(|pin: &Pin| pin.operands == operands);
            if is_known || pins.len() >= MAX_SWITCHES || Instant::now() > deadline {
                continue;
            }
            let text = side_of_text(&graph, expr);
            // The last one is looked at first.
            for side in [text.reverse(), text, Ordering::Equal] {
                let mut pins = pins.clone();
                pins.extend(Pin::new(&graph, expr, side));
                self.pin(&pins);
                match self.follow_values(request, deadline) {
                    Ok(point) => found.push(Candidate { point, pins }),
                    Err(end) => open.push((pins, end)),
                }
            }
        }
        let is_steep = without_point
            .as_ref()
            .is_some_and(|end| self.is_steep(end) || self.is_essential(end, &found));
        self.chosen(found, is_steep)
            .ok_or(without_point.unwrap_or(first))
    }

    /// Where more switches meet than can be tried in all combinations, or each search takes long: the sides of the text, and
    /// those that do not last turned, round after round. It finds the sides of continuous equations, of which there is one combination.
    fn by_turning(
        &mut self,
        request: &Request,
        first: &NoPoint,
        deadline: Instant,
    ) -> Option<Candidate> {
        let graph = self.values.graph();
        let mut pins: Vec<Pin> = Vec::new();
        let mut end = first.clone();
        let mut n_rounds = 0;
        loop {
            let n_known = pins.len();
            let met = Pin::new(&graph, kink(&end)?, Ordering::Equal);
            for pin in std::mem::take(&mut self.jumps).into_iter().chain(met) {
                if !pins.iter().any(|known| known.operands == pin.operands) {
                    pins.push(pin);
                }
            }
            if pins.len() == n_known {
                return None;
            }
            loop {
                if Instant::now() > deadline {
                    return None;
                }
                self.pin(&pins);
                let point = match self.follow_values(request, deadline) {
                    Ok(point) => point,
                    Err(other) => {
                        end = other;
                        break;
                    }
                };
                n_rounds += 1;
                let leads_on = self.array.leads_on(&point.jet, &graph, &pins)?;
                let are_many = pins.len() > MAX_SWITCHES || self.is_large();
                if leads_on.iter().all(|lasts| *lasts) && are_many {
                    return Some(Candidate { point, pins });
                }
                if !are_many || n_rounds > 2 * pins.len() {
                    return None;
                }
                for (pin, lasts) in pins.iter_mut().zip(leads_on) {
                    pin.side = match (lasts, pin.side) {
                        (true, side) => side,
                        (false, Ordering::Equal) => side_of_text(&graph, pin.expr),
                        (false, side) => side.reverse(),
                    };
                }
            }
        }
    }

    /// Whether a search ended where a formula has a value and no derivatives.
    fn is_steep(&self, no_point: &NoPoint) -> bool {
        match no_point {
            NoPoint::Fault(ArrayFault::Equation(fault)) if fault.kind != FaultKind::Kink => {
                fault.order > 0 || !self.values.is_written(fault.expr)
            }
            _ => false,
        }
    }

    /// Whether a search ended at a division by zero in an exponent that makes the formula vanish there with all its derivatives, along a point
    /// that was found on another side.
    fn is_essential(&self, no_point: &NoPoint, found: &[Candidate]) -> bool {
        let (NoPoint::Fault(ArrayFault::Equation(fault)), Some(other)) = (no_point, found.first())
        else {
            return false;
        };
        self.values.is_essential_zero(fault.expr, &other.point.jet)
    }

    /// The candidate whose sides hold for later times; the side of the text where several do, or where both sides of a switch lead
    /// back to it. A side that leads to one without a point is no start, unless that one has a value and no derivatives there
    /// (`is_steep`): a root begins, and the run goes on a little behind it.
    fn chosen(&mut self, mut found: Vec<Candidate>, is_steep: bool) -> Option<ConsistentPoint> {
        let graph = self.values.graph();
        let of_text = |candidate: &Candidate| -> usize {
            let worth = |pin: &Pin| match pin.side {
                Ordering::Equal => 2,
                side => usize::from(side == side_of_text(&graph, pin.expr)),
            };
            candidate.pins.iter().map(worth).sum()
        };
        found.sort_by_key(|candidate| std::cmp::Reverse(of_text(candidate)));
        let holds: Vec<bool> = found
            .iter()
            .map(|candidate| {
                self.pin(&candidate.pins);
                let jet = &candidate.point.jet;
                let lasting = self.array.leads_on(jet, &graph, &candidate.pins);
                lasting.is_some_and(|lasting| lasting.iter().all(|lasts| *lasts))
            })
            .collect();
        let lasting = || (0..holds.len()).filter(|at| holds[*at]);
        if lasting().next().is_none() && !is_steep && !has_both_sides(&found) {
            return None;
        }
        let chosen = lasting().next().unwrap_or(0);
        let jet = &found.get(chosen)?.point.jet;
        let differ = |at: &usize| !jet.agrees(&found[*at].point.jet, SAME_JET);
        let choice = match lasting().count() {
            0 if is_steep => SideChoice::One,
            0 => SideChoice::None,
            1 => SideChoice::One,
            n if lasting().any(|at| differ(&at)) => SideChoice::Several(n),
            _ => SideChoice::One,
        };
        Some(self.settled(found.swap_remove(chosen), choice))
    }

    /// The point of a candidate, whose sides stay pinned.
    fn settled(&mut self, candidate: Candidate, choice: SideChoice) -> ConsistentPoint {
        let Candidate { point, pins } = candidate;
        self.pin(&pins);
        ConsistentPoint {
            choice,
            pins,
            ..point
        }
    }
}

/// Whether there is a point on either side of some switch.
fn has_both_sides(found: &[Candidate]) -> bool {
    let pins = || found.iter().flat_map(|candidate| &candidate.pins);
    pins().any(|one| {
        one.side == Ordering::Less
            && pins().any(|pin| pin.operands == one.operands && pin.side == Ordering::Greater)
    })
}

/// Where the quantity of a switch goes, by its coefficients at the switch; `None` where it rests.
///
/// The sizes are those of the quantity's operands: what is rounding beside them counts as zero.
pub(super) fn goes_to(coefficients: &[f64], sizes: &[f64]) -> Option<Ordering> {
    let mut terms = coefficients.iter().zip(sizes).skip(1);
    let (moving, _) = terms.find(|(coefficient, size)| coefficient.abs() > ZERO * **size)?;
    moving.partial_cmp(&0.0)
}
