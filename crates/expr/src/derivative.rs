//! Symbolic derivatives: partial, gradient (reverse), and along a given motion of the symbols.
//!
//! The rules are the elementary ones; each is written once, in [`Graph::local_slopes`]. At the kinks
//! of `abs`, `min`, `max`, `sign` and `if` the derivative is that of the branch taken.

use crate::graph::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};
use std::collections::HashMap;

type NodeMap = FastMap<ExprId, ExprId>;

impl Graph {
    /// Derivative of `root` by one symbol, all others held fixed.
    pub fn partial(&mut self, root: ExprId, symbol: SymbolId) -> ExprId {
        self.derivatives_along(&[root], |graph, other| {
            (other == symbol).then(|| graph.constant(1.0))
        })[0]
    }

    /// Derivative of each root when every symbol moves at the given rate; `None` means it rests.
    ///
    /// With the rates of time, unknowns and their derivatives this is the total time derivative.
    pub fn derivatives_along(
        &mut self,
        roots: &[ExprId],
        mut rate: impl FnMut(&mut Self, SymbolId) -> Option<ExprId>,
    ) -> Vec<ExprId> {
        // A node that is missing from the map does not move.
        let mut slope: NodeMap = FastMap::default();
        for id in Walker::new().reachable(self, roots).to_vec() {
            let node = self.node(id);
            let moving = match node {
                Node::Constant(_) => None,
                Node::Symbol(symbol) => rate(self, symbol),
                Node::Select(condition, a, b) => match (slope.get(&a), slope.get(&b)) {
                    (None, None) => None,
                    (first, second) => {
                        let (first, second) = (first.copied(), second.copied());
                        let zero = self.constant(0.0);
                        let (first, second) = (first.unwrap_or(zero), second.unwrap_or(zero));
                        Some(self.select(condition, first, second))
                    }
                },
                _ => {
                    let moves = node
                        .arguments()
                        .map(|argument| slope.get(&argument).copied());
                    let mut rates = [None; 2];
                    for (slot, rate) in rates.iter_mut().zip(moves) {
                        *slot = rate;
                    }
                    self.move_through(id, rates)
                }
            };
            if let Some(expr) = moving
                && self.as_constant(expr) != Some(0.0)
            {
                slope.insert(id, expr);
            }
        }
        roots
            .iter()
            .map(|root| {
                slope
                    .get(root)
                    .copied()
                    .unwrap_or_else(|| self.constant(0.0))
            })
            .collect()
    }

    /// Rate of an operation whose arguments move at `rates`.
    fn move_through(&mut self, id: ExprId, rates: [Option<ExprId>; 2]) -> Option<ExprId> {
        if rates == [None, None] {
            return None;
        }
        // A quotient by a moving divisor: (a' - (a/b) b')/b, sharing the quotient.
        if let (Node::Binary(BinaryOp::Div, _, b), [top, Some(bottom)]) = (self.node(id), rates) {
            let part = self.mul(id, bottom);
            let numerator = match top {
                Some(top) => self.sub(top, part),
                None => self.neg(part),
            };
            return Some(self.div(numerator, b));
        }
        let slopes = self.local_slopes(id, [rates[0].is_some(), rates[1].is_some()]);
        let mut total = None;
        for (slope, rate) in slopes.into_iter().zip(rates) {
            if let (Some(slope), Some(rate)) = (slope, rate) {
                let term = self.chain(slope, rate);
                total = Some(match total {
                    None => term,
                    Some(sum) => self.add(sum, term),
                });
            }
        }
        total
    }

    fn is_product(&self, id: ExprId) -> bool {
        matches!(self.node(id), Node::Binary(BinaryOp::Mul, ..))
    }

    pub(crate) fn chain(&mut self, slope: Slope, rate: ExprId) -> ExprId {
        match slope {
            // A product on the left needs no parentheses.
            Slope::Times(factor) if self.is_product(rate) && !self.is_product(factor) => {
                self.mul(rate, factor)
            }
            Slope::Times(factor) => self.mul(factor, rate),
            Slope::Over(divisor) => self.div(rate, divisor),
            Slope::MinusOver(divisor) => {
                let quotient = self.div(rate, divisor);
                self.neg(quotient)
            }
            Slope::Same => rate,
            Slope::Minus => self.neg(rate),
        }
    }

    /// Whether a weight of a reverse sweep is a choice that is 0 in some of its cases, and has few enough of them.
    ///
    /// A weight that is 0 where a branch is not taken must not be multiplied by a slope of that branch, which may have no value
    /// there: `if h > 1 then sqrt(h - 1) else 0` below 1. So slopes are multiplied inside such choices, and choices are added
    /// case by case. The cases of many independent conditions multiply: above 64 the sum is taken as it is.
    fn is_guard(&self, weight: ExprId) -> bool {
        let (n_cases, has_zero) = self.cases(weight);
        has_zero && n_cases > 1 && n_cases <= 64
    }

    /// The number of cases of a weight, counted to a few more than are followed, and whether it is 0 in one of them.
    fn cases(&self, weight: ExprId) -> (usize, bool) {
        match self.node(weight) {
            Node::Select(_, a, b) => match (self.cases(a), a == b) {
                ((n, has_zero), false) if n <= 64 => {
                    let (more, other_has_zero) = self.cases(b);
                    (n + more, has_zero || other_has_zero)
                }
                (found, _) => found,
            },
            _ => (1, self.as_constant(weight) == Some(0.0)),
        }
    }

    /// The weight of one branch of a choice that has a weight itself.
    pub(crate) fn weight_of_branch(
        &mut self,
        condition: ExprId,
        weight: ExprId,
        is_first: bool,
    ) -> ExprId {
        let zero = self.constant(0.0);
        match self.node(weight) {
            Node::Select(outer, a, b) if self.is_guard(weight) => {
                let [a, b] = [a, b].map(|part| self.weight_of_branch(condition, part, is_first));
                self.select(outer, a, b)
            }
            _ if weight == zero => zero,
            _ if is_first => self.select(condition, weight, zero),
            _ => self.select(condition, zero, weight),
        }
    }

    /// A weight times a slope; a weight of 0 stays 0 whatever the slope is.
    pub(crate) fn weighted(&mut self, slope: Slope, weight: ExprId) -> ExprId {
        match self.node(weight) {
            Node::Select(condition, a, b) if self.is_guard(weight) => {
                let [a, b] = [a, b].map(|part| self.weighted(slope, part));
                self.select(condition, a, b)
            }
            _ if self.as_constant(weight) == Some(0.0) => weight,
            _ => self.chain(slope, weight),
        }
    }

    /// The sum of two weights; choices that are 0 in some of their cases make one such choice.
    pub(crate) fn sum_of_weights(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let is_followed =
            self.is_guard(a) && self.is_guard(b) && self.cases(a).0 * self.cases(b).0 <= 64;
        match (self.node(a), self.node(b)) {
            (Node::Select(one, a1, a2), Node::Select(other, b1, b2)) if is_followed => {
                let (b1, b2) = if one == other { (b1, b2) } else { (b, b) };
                let first = self.sum_of_weights(a1, b1);
                let second = self.sum_of_weights(a2, b2);
                self.select(one, first, second)
            }
            _ => self.add(a, b),
        }
    }

    /// Derivatives of `root` by each of the symbols, in one reverse sweep.
    pub fn gradient(&mut self, root: ExprId, symbols: &[SymbolId]) -> Vec<ExprId> {
        self.gradient_with(&mut Walker::new(), root, symbols)
    }

    /// The same with a walker kept between calls, so that many small roots of a large graph cost what they are.
    pub fn gradient_with(
        &mut self,
        walker: &mut Walker,
        root: ExprId,
        symbols: &[SymbolId],
    ) -> Vec<ExprId> {
        let nodes = walker.reachable(self, &[root]).to_vec();
        let wanted: HashMap<SymbolId, ()> = symbols.iter().map(|&symbol| (symbol, ())).collect();
        let mut active: FastMap<ExprId, ()> = FastMap::default();
        for &id in &nodes {
            let node = self.node(id);
            let depends = match node {
                Node::Symbol(symbol) => wanted.contains_key(&symbol),
                _ => node
                    .arguments()
                    .any(|argument| active.contains_key(&argument)),
            };
            if depends {
                active.insert(id, ());
            }
        }
        let mut adjoint: NodeMap = FastMap::default();
        adjoint.insert(root, self.constant(1.0));
        for &id in nodes.iter().rev() {
            let Some(weight) = adjoint.get(&id).copied() else {
                continue;
            };
            let mut give = |graph: &mut Self, to: ExprId, amount: ExprId| {
                let sum = match adjoint.get(&to) {
                    None => amount,
                    Some(&before) => graph.sum_of_weights(before, amount),
                };
                adjoint.insert(to, sum);
            };
            match self.node(id) {
                Node::Constant(_) | Node::Symbol(_) => {}
                Node::Select(condition, a, b) => {
                    for (branch, is_first) in [(a, true), (b, false)] {
                        if active.contains_key(&branch) {
                            let share = self.weight_of_branch(condition, weight, is_first);
                            give(self, branch, share);
                        }
                    }
                }
                node => {
                    let mut moves = [false; 2];
                    let mut arguments = [id; 2];
                    for (position, argument) in node.arguments().enumerate() {
                        moves[position] = active.contains_key(&argument);
                        arguments[position] = argument;
                    }
                    for (slope, argument) in self.local_slopes(id, moves).into_iter().zip(arguments)
                    {
                        if let Some(slope) = slope {
                            let share = self.weighted(slope, weight);
                            give(self, argument, share);
                        }
                    }
                }
            }
        }
        symbols
            .iter()
            .map(|&symbol| {
                let leaf = self.symbol(symbol);
                adjoint
                    .get(&leaf)
                    .copied()
                    .unwrap_or_else(|| self.constant(0.0))
            })
            .collect()
    }

    /// Partial derivatives of one operation by those of its arguments that move.
    pub(crate) fn local_slopes(&mut self, id: ExprId, moves: [bool; 2]) -> [Option<Slope>; 2] {
        match self.node(id) {
            Node::Unary(op, a) if moves[0] => [self.unary_slope(op, a, id), None],
            Node::Binary(op, a, b) => [
                if moves[0] {
                    self.left_slope(op, a, b)
                } else {
                    None
                },
                if moves[1] {
                    self.right_slope(op, a, b, id)
                } else {
                    None
                },
            ],
            _ => [None, None],
        }
    }

    fn unary_slope(&mut self, op: UnaryOp, a: ExprId, value: ExprId) -> Option<Slope> {
        let one = self.constant(1.0);
        let two = self.constant(2.0);
        Some(match op {
            UnaryOp::Neg => Slope::Minus,
            UnaryOp::Sqrt => Slope::Over(self.mul(two, value)),
            UnaryOp::Exp => Slope::Times(value),
            UnaryOp::Log => Slope::Over(a),
            UnaryOp::Log10 => {
                let scale = self.constant(std::f64::consts::LN_10);
                Slope::Over(self.mul(scale, a))
            }
            UnaryOp::Sin => Slope::Times(self.unary(UnaryOp::Cos, a)),
            UnaryOp::Cos => {
                let sine = self.unary(UnaryOp::Sin, a);
                Slope::Times(self.neg(sine))
            }
            UnaryOp::Tan => {
                let square = self.pow(value, two);
                Slope::Times(self.add(one, square))
            }
            UnaryOp::Asin | UnaryOp::Acos => {
                let square = self.pow(a, two);
                let rest = self.sub(one, square);
                let root = self.unary(UnaryOp::Sqrt, rest);
                if op == UnaryOp::Asin {
                    Slope::Over(root)
                } else {
                    Slope::MinusOver(root)
                }
            }
            UnaryOp::Atan => {
                let square = self.pow(a, two);
                Slope::Over(self.add(one, square))
            }
            UnaryOp::Sinh => Slope::Times(self.unary(UnaryOp::Cosh, a)),
            UnaryOp::Cosh => Slope::Times(self.unary(UnaryOp::Sinh, a)),
            UnaryOp::Tanh => {
                let square = self.pow(value, two);
                Slope::Times(self.sub(one, square))
            }
            UnaryOp::Abs => Slope::Times(self.unary(UnaryOp::Sign, a)),
            UnaryOp::Sign | UnaryOp::Not => return None,
        })
    }

    fn left_slope(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<Slope> {
        Some(match op {
            BinaryOp::Add | BinaryOp::Sub => Slope::Same,
            BinaryOp::Mul => Slope::Times(b),
            BinaryOp::Div => Slope::Over(b),
            BinaryOp::Pow => {
                let one = self.constant(1.0);
                let lower = self.sub(b, one);
                let power = self.pow(a, lower);
                Slope::Times(self.mul(b, power))
            }
            BinaryOp::Atan2 => {
                let radius = self.squared_radius(a, b);
                Slope::Times(self.div(b, radius))
            }
            BinaryOp::Min => self.branch(BinaryOp::LessEqual, a, b),
            BinaryOp::Max => self.branch(BinaryOp::GreaterEqual, a, b),
            _ => return None,
        })
    }

    fn right_slope(&mut self, op: BinaryOp, a: ExprId, b: ExprId, value: ExprId) -> Option<Slope> {
        Some(match op {
            BinaryOp::Add => Slope::Same,
            BinaryOp::Sub => Slope::Minus,
            BinaryOp::Mul => Slope::Times(a),
            BinaryOp::Div => {
                let quotient = self.div(value, b);
                Slope::Times(self.neg(quotient))
            }
            BinaryOp::Pow => {
                let logarithm = self.unary(UnaryOp::Log, a);
                Slope::Times(self.mul(value, logarithm))
            }
            BinaryOp::Atan2 => {
                let radius = self.squared_radius(a, b);
                let share = self.div(a, radius);
                Slope::Times(self.neg(share))
            }
            BinaryOp::Min => self.branch(BinaryOp::Greater, a, b),
            BinaryOp::Max => self.branch(BinaryOp::Less, a, b),
            _ => return None,
        })
    }

    fn squared_radius(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let two = self.constant(2.0);
        let (first, second) = (self.pow(a, two), self.pow(b, two));
        self.add(first, second)
    }

    /// 1 where the relation holds and 0 elsewhere.
    fn branch(&mut self, relation: BinaryOp, a: ExprId, b: ExprId) -> Slope {
        let holds = self.binary(relation, a, b);
        let (one, zero) = (self.constant(1.0), self.constant(0.0));
        Slope::Times(self.select(holds, one, zero))
    }
}

/// The slope of an operation in one argument, in the form that keeps products short.
#[derive(Clone, Copy)]
pub(crate) enum Slope {
    Same,
    Minus,
    Times(ExprId),
    Over(ExprId),
    MinusOver(ExprId),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation, against a central difference at a point inside its domain.
    #[test]
    fn slopes_agree_with_differences() {
        let unary = [
            UnaryOp::Neg,
            UnaryOp::Sqrt,
            UnaryOp::Exp,
            UnaryOp::Log,
            UnaryOp::Log10,
            UnaryOp::Sin,
            UnaryOp::Cos,
            UnaryOp::Tan,
            UnaryOp::Asin,
            UnaryOp::Acos,
            UnaryOp::Atan,
            UnaryOp::Sinh,
            UnaryOp::Cosh,
            UnaryOp::Tanh,
            UnaryOp::Abs,
            UnaryOp::Sign,
        ];
        let binary = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Pow,
            BinaryOp::Atan2,
            BinaryOp::Min,
            BinaryOp::Max,
        ];
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let y = graph.symbol(SymbolId(1));
        let mut roots: Vec<ExprId> = unary.iter().map(|&op| graph.unary(op, x)).collect();
        roots.extend(binary.iter().map(|&op| graph.binary(op, x, y)));
        let holds = graph.binary(BinaryOp::Less, x, y);
        let product = graph.mul(x, y);
        roots.push(graph.select(holds, product, x));
        let at = |point: [f64; 2]| move |symbol: SymbolId| point[symbol.0 as usize];
        for point in [[0.3, 0.7], [0.8, 0.45]] {
            for &root in &roots {
                let gradient = graph.gradient(root, &[SymbolId(0), SymbolId(1)]);
                for axis in 0..2 {
                    let forward = graph.partial(root, SymbolId(axis));
                    let step = 1e-6;
                    let (mut high, mut low) = (point, point);
                    high[axis as usize] += step;
                    low[axis as usize] -= step;
                    let difference = (graph.evaluate(&[root], at(high))[0]
                        - graph.evaluate(&[root], at(low))[0])
                        / (2.0 * step);
                    for slope in [forward, gradient[axis as usize]] {
                        let value = graph.evaluate(&[slope], at(point))[0];
                        assert!(
                            (value - difference).abs() < 1e-8 * (1.0 + difference.abs()),
                            "{:?} by {axis}: {value} against {difference}",
                            graph.node(root)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_resting_exponent_brings_no_logarithm() {
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let n = graph.symbol(SymbolId(1));
        let power = graph.pow(x, n);
        for slope in [
            graph.partial(power, SymbolId(0)),
            graph.gradient(power, &[SymbolId(0)])[0],
        ] {
            let value = graph.evaluate(&[slope], |symbol| [-2.0, 3.0][symbol.0 as usize])[0];
            assert_eq!(value, 12.0);
        }
    }

    /// A branch that is not taken has no say, though its slopes have no value there: alone, under two conditions, in a chain of
    /// conditions, and behind an operation that several branches share.
    #[test]
    fn branches_that_are_not_taken_are_left_out() {
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let [zero, one, two] = [0.0, 1.0, 2.0].map(|value| graph.constant(value));
        let [above_zero, above_one] = [zero, one].map(|c| graph.binary(BinaryOp::Less, c, x));
        let (log, root) = (graph.unary(UnaryOp::Log, x), graph.unary(UnaryOp::Sqrt, x));
        let square = graph.mul(log, log);
        let both = graph.mul(log, root);
        let alone = graph.select(above_zero, both, zero);
        let other = graph.select(above_one, square, two);
        let sum = graph.add(alone, other);
        let rest = graph.select(above_zero, root, x);
        let chain = graph.select(above_one, square, rest);
        let outer = graph.mul(chain, alone);
        for expr in [alone, other, sum, chain, outer] {
            let gradient = graph.gradient(expr, &[SymbolId(0)])[0];
            let forward = graph.partial(expr, SymbolId(0));
            for point in [-1.5, 0.5, 3.0] {
                let [back, ahead] =
                    [gradient, forward].map(|slope| graph.evaluate(&[slope], |_| point)[0]);
                assert!(ahead.is_finite(), "{:?} at {point}", graph.node(expr));
                assert!(
                    (back - ahead).abs() < 1e-14 * (1.0 + ahead.abs()),
                    "{:?} at {point}: {back} and {ahead}",
                    graph.node(expr)
                );
            }
        }
    }
}
