//! Symbolic derivatives: partial, gradient (reverse), and along a given motion of the symbols.
//!
//! The rules are the elementary ones; each is written once, in [`Graph::local_slopes`]. At the kinks
//! of `abs`, `min`, `max`, `sign` and `if` the derivative is that of the branch taken.

use crate::graph::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};
use crate::jacobian::ReverseSweep;

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

    /// Derivatives of `root` by each of the symbols, in one reverse sweep.
    pub fn gradient(&mut self, root: ExprId, symbols: &[SymbolId]) -> Vec<ExprId> {
        ReverseSweep::default().gradient(self, root, symbols)
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
}
