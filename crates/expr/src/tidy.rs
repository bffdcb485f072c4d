//! Collecting like terms: derived expressions in the form a person would write.
//!
//! Sums are taken apart into terms and terms into powers of factors; equal ones are merged. Products
//! of sums are not multiplied out and fractions are not cancelled, so nothing that is undefined
//! somewhere disappears.

use crate::graph::{BinaryOp, ExprId, FastMap, Graph, Node, UnaryOp, Walker};
use std::collections::{BTreeMap, HashMap};

/// `coefficient * product of numerator powers / product of denominator powers`.
#[derive(Clone, Debug, Default)]
struct Term {
    coefficient: f64,
    numerator: BTreeMap<ExprId, u32>,
    denominator: BTreeMap<ExprId, u32>,
}

/// Shared sums and products of more parts than this stay whole: taking them apart in every place
/// where they are used would multiply the work.
const MAX_SHARED_PARTS: u32 = 24;

/// Nodes that stay whole, although they are sums or products.
type Whole = FastMap<ExprId, ()>;

/// Largest power that is taken apart or put together.
const MAX_POWER: f64 = 1e6;

impl Graph {
    /// The same expressions with like terms and equal factors collected, inside functions too.
    ///
    /// The values agree up to rounding wherever the original is defined.
    pub fn tidy(&mut self, roots: &[ExprId]) -> Vec<ExprId> {
        let whole = self.large_shared_parts(roots);
        // Atoms first: what is inside a function or is a factor gets its own tidy form.
        let mut needed: BTreeMap<ExprId, ()> = BTreeMap::new();
        let mut pending: Vec<ExprId> = roots.to_vec();
        while let Some(id) = pending.pop() {
            if needed.insert(id, ()).is_none() {
                self.inner_regions(id, &whole, &mut pending);
            }
        }
        let mut tidied: HashMap<ExprId, ExprId> = HashMap::new();
        for id in needed.into_keys() {
            let new = self.tidy_region(id, &whole, &tidied);
            tidied.insert(id, new);
        }
        roots.iter().map(|root| tidied[root]).collect()
    }

    /// Sums and products with several users and many parts.
    fn large_shared_parts(&self, roots: &[ExprId]) -> Whole {
        let mut walker = Walker::new();
        let nodes = walker.reachable(self, roots);
        let mut users: FastMap<ExprId, u32> = FastMap::default();
        for &id in nodes {
            for argument in self.node(id).arguments() {
                *users.entry(argument).or_insert(0) += 1;
            }
        }
        let mut parts: FastMap<ExprId, u32> = FastMap::default();
        let mut whole = Whole::default();
        for &id in nodes {
            let mut count = 1u32;
            if self.is_region(id) {
                let inside = |argument: ExprId| {
                    if whole.contains_key(&argument) {
                        1
                    } else {
                        parts[&argument]
                    }
                };
                count = self
                    .node(id)
                    .arguments()
                    .map(inside)
                    .fold(0, u32::saturating_add);
            }
            parts.insert(id, count);
            if count > MAX_SHARED_PARTS && users.get(&id).is_some_and(|&users| users > 1) {
                whole.insert(id, ());
            }
        }
        whole
    }

    /// What must be tidy before the sum or product at `id` is.
    fn inner_regions(&self, id: ExprId, whole: &Whole, pending: &mut Vec<ExprId>) {
        if !self.is_region(id) {
            pending.extend(self.node(id).arguments());
            return;
        }
        for (term, _) in self.collect_sum(id, whole) {
            let term = self.collect_product(term, id, whole);
            for &factor in term.numerator.keys().chain(term.denominator.keys()) {
                if factor != id {
                    pending.push(factor);
                }
            }
        }
    }

    /// Whether the node is a sum or product to be taken apart.
    fn is_region(&self, id: ExprId) -> bool {
        match self.node(id) {
            Node::Unary(UnaryOp::Neg, _) => true,
            Node::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, ..) => true,
            Node::Binary(BinaryOp::Pow, _, exponent) => self.whole_power(exponent).is_some(),
            _ => false,
        }
    }

    fn whole_power(&self, exponent: ExprId) -> Option<u32> {
        let value = self.as_constant(exponent)?;
        ((1.0..=MAX_POWER).contains(&value) && value.fract() == 0.0).then_some(value as u32)
    }

    /// The terms of a sum with their coefficients. Shared parts are visited once.
    fn collect_sum(&self, root: ExprId, whole: &Whole) -> Vec<(ExprId, f64)> {
        let mut weights: BTreeMap<ExprId, f64> = BTreeMap::from([(root, 1.0)]);
        let mut terms = Vec::new();
        while let Some((id, weight)) = weights.pop_last() {
            if id != root && whole.contains_key(&id) {
                terms.push((id, weight));
                continue;
            }
            let mut give = |to: ExprId, amount: f64| *weights.entry(to).or_insert(0.0) += amount;
            match self.node(id) {
                Node::Binary(BinaryOp::Add, a, b) => {
                    give(a, weight);
                    give(b, weight);
                }
                Node::Binary(BinaryOp::Sub, a, b) => {
                    give(a, weight);
                    give(b, -weight);
                }
                Node::Unary(UnaryOp::Neg, a) => give(a, -weight),
                _ => terms.push((id, weight)),
            }
        }
        terms
    }

    /// The factors of a product. Shared parts are visited once.
    fn collect_product(&self, id: ExprId, region: ExprId, whole: &Whole) -> Term {
        let mut term = Term {
            coefficient: 1.0,
            ..Term::default()
        };
        // Powers above and below the fraction bar, kept apart so that nothing cancels.
        let mut powers: BTreeMap<ExprId, (u32, u32)> = BTreeMap::from([(id, (1, 0))]);
        while let Some((id, (above, below))) = powers.pop_last() {
            if id != region && whole.contains_key(&id) {
                keep(&mut term, id, above, below);
                continue;
            }
            let mut give = |to: ExprId, above: u32, below: u32| {
                let entry = powers.entry(to).or_insert((0, 0));
                entry.0 = entry.0.saturating_add(above);
                entry.1 = entry.1.saturating_add(below);
            };
            match self.node(id) {
                Node::Constant(bits) if f64::from_bits(bits) != 0.0 => {
                    let value = f64::from_bits(bits);
                    let scaled =
                        term.coefficient * value.powi(above as i32) / value.powi(below as i32);
                    if scaled.is_finite() && scaled != 0.0 {
                        term.coefficient = scaled;
                    } else {
                        keep(&mut term, id, above, below);
                    }
                }
                Node::Unary(UnaryOp::Neg, a) => {
                    if (above + below) % 2 == 1 {
                        term.coefficient = -term.coefficient;
                    }
                    give(a, above, below);
                }
                Node::Binary(BinaryOp::Mul, a, b) => {
                    give(a, above, below);
                    give(b, above, below);
                }
                Node::Binary(BinaryOp::Div, a, b) => {
                    give(a, above, below);
                    give(b, below, above);
                }
                Node::Binary(BinaryOp::Pow, a, exponent) => match self.whole_power(exponent) {
                    Some(power) if f64::from(above.max(below)) * f64::from(power) <= MAX_POWER => {
                        give(a, above * power, below * power);
                    }
                    _ => keep(&mut term, id, above, below),
                },
                _ => keep(&mut term, id, above, below),
            }
        }
        term
    }

    fn tidy_region(
        &mut self,
        id: ExprId,
        whole: &Whole,
        tidied: &HashMap<ExprId, ExprId>,
    ) -> ExprId {
        if !self.is_region(id) {
            return match self.node(id) {
                Node::Constant(_) | Node::Symbol(_) => id,
                Node::Unary(op, a) => self.unary(op, tidied[&a]),
                Node::Binary(op, a, b) => self.binary(op, tidied[&a], tidied[&b]),
                Node::Select(c, a, b) => self.select(tidied[&c], tidied[&a], tidied[&b]),
            };
        }
        type Key = (Vec<(ExprId, u32)>, Vec<(ExprId, u32)>);
        let mut order: Vec<Key> = Vec::new();
        let mut coefficients: HashMap<Key, f64> = HashMap::new();
        let mut terms = self.collect_sum(id, whole);
        terms.sort_unstable_by_key(|&(term, _)| term);
        for (term, weight) in terms {
            let term = self.collect_product(term, id, whole);
            let image = |powers: BTreeMap<ExprId, u32>| {
                let mut merged: BTreeMap<ExprId, u32> = BTreeMap::new();
                for (factor, power) in powers {
                    let factor = if factor == id { id } else { tidied[&factor] };
                    *merged.entry(factor).or_insert(0) += power;
                }
                merged.into_iter().collect::<Vec<_>>()
            };
            let key = (image(term.numerator), image(term.denominator));
            let coefficient = weight * term.coefficient;
            coefficients
                .entry(key.clone())
                .and_modify(|sum| *sum += coefficient)
                .or_insert_with(|| {
                    order.push(key);
                    coefficient
                });
        }
        // A sum reads best when it begins without a minus.
        if let Some(first) = order.iter().position(|key| coefficients[key] > 0.0) {
            order[..=first].rotate_right(1);
        }
        let mut sum = None;
        for key in order {
            let coefficient = coefficients[&key];
            if coefficient == 0.0 && self.defined_everywhere(&key.0, &key.1) {
                continue;
            }
            let magnitude = self.product(coefficient.abs(), &key.0, &key.1);
            sum = Some(match (sum, coefficient < 0.0) {
                (None, false) => magnitude,
                (None, true) => self.neg(magnitude),
                (Some(sum), false) => self.add(sum, magnitude),
                (Some(sum), true) => self.sub(sum, magnitude),
            });
        }
        sum.unwrap_or_else(|| self.constant(0.0))
    }

    fn defined_everywhere(
        &self,
        numerator: &[(ExprId, u32)],
        denominator: &[(ExprId, u32)],
    ) -> bool {
        denominator.is_empty() && numerator.iter().all(|&(factor, _)| self.is_total(factor))
    }

    fn product(
        &mut self,
        coefficient: f64,
        numerator: &[(ExprId, u32)],
        denominator: &[(ExprId, u32)],
    ) -> ExprId {
        let mut result = if coefficient == 1.0 {
            None
        } else {
            Some(self.constant(coefficient))
        };
        for &(factor, power) in numerator {
            let factor = self.whole(factor, power);
            result = Some(match result {
                None => factor,
                Some(product) => self.mul(product, factor),
            });
        }
        let mut result = result.unwrap_or_else(|| self.constant(coefficient));
        for &(factor, power) in denominator {
            let factor = self.whole(factor, power);
            result = self.div(result, factor);
        }
        result
    }

    fn whole(&mut self, factor: ExprId, power: u32) -> ExprId {
        let exponent = self.constant(f64::from(power));
        self.pow(factor, exponent)
    }
}

fn keep(term: &mut Term, factor: ExprId, above: u32, below: u32) {
    if above > 0 {
        *term.numerator.entry(factor).or_insert(0) += above;
    }
    if below > 0 {
        *term.denominator.entry(factor).or_insert(0) += below;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SymbolId;

    fn check(build: impl FnOnce(&mut Graph, [ExprId; 3]) -> ExprId, expected: &str) {
        let mut graph = Graph::new();
        let leaves = [0, 1, 2].map(|k| graph.symbol(SymbolId(k)));
        let root = build(&mut graph, leaves);
        let tidy = graph.tidy(&[root])[0];
        let text = graph.modelica(tidy, 1000, |symbol, text| {
            text.push(['x', 'y', 'z'][symbol.0 as usize]);
        });
        assert_eq!(text.unwrap(), expected);
    }

    #[test]
    fn like_terms_are_collected() {
        check(
            |g, [x, y, _]| {
                let half = g.constant(0.5);
                let term = g.mul(half, x);
                let product = g.mul(term, y);
                let again = g.mul(y, term);
                g.add(product, again)
            },
            "x*y",
        );
        check(
            |g, [x, y, _]| {
                let minus = g.neg(x);
                let sum = g.sub(minus, y);
                g.sub(sum, minus)
            },
            "-y",
        );
        check(
            |g, [x, y, z]| {
                let square = g.mul(x, x);
                let quotient = g.div(square, y);
                let product = g.mul(quotient, z);
                let inner = g.add(product, product);
                g.unary(UnaryOp::Sin, inner)
            },
            "sin(2*x^2*z/y)",
        );
    }

    #[test]
    fn nothing_undefined_is_lost() {
        check(|g, [x, _, _]| g.div(x, x), "x/x");
        check(
            |g, [x, y, _]| {
                let quotient = g.div(y, x);
                g.sub(quotient, quotient)
            },
            "0/x",
        );
        check(
            |g, [x, y, _]| {
                let zero = g.constant(0.0);
                let undefined = g.div(y, zero);
                g.add(x, undefined)
            },
            "x + y/0",
        );
    }

    #[test]
    fn shared_sums_cost_no_more_than_their_size() {
        let mut graph = Graph::new();
        let mut e = graph.symbol(SymbolId(0));
        let y = graph.symbol(SymbolId(1));
        for _ in 0..60 {
            let shifted = graph.add(e, y);
            e = graph.add(e, shifted);
        }
        let before = graph.len();
        let tidy = graph.tidy(&[e])[0];
        assert!(
            graph.len() < before + 200,
            "{} nodes were added",
            graph.len() - before
        );
        let value =
            |root: ExprId| graph.evaluate(&[root], |symbol| [0.5, 0.25][symbol.0 as usize])[0];
        assert!((value(tidy) / value(e) - 1.0).abs() < 1e-14);
    }
}
