//! What the series of operations on the unknowns leave out on a step, bounded by the equations that their coefficients satisfy.
//!
//! Section 3 of `docs/theory/runs.md`, (R32): each operation is its polynomial and a remainder; products, quotients, roots and functions hand
//! bounds of remainders on, and add what their own polynomials leave out.

use daelight_expr::{Jet, JetEvaluator, Recurrence, Register, Slot, Tape};
use std::cmp::Ordering;
use std::sync::Arc;

/// What bounds the remainders of all operations of some equations.
pub(super) struct Remainders {
    jet: Jet,
    /// How the coefficients of each register follow; `None` where nothing is known of the remainder.
    recurrences: Vec<Option<Recurrence>>,
    /// The order of the polynomials.
    order: usize,
    /// The terms n_m h^m of each register, with their signs, `[register][order]`.
    terms: Vec<f64>,
    /// The sums of their sizes from an order on, `[register][order]`.
    tails: Vec<f64>,
    /// Bounds of the remainders; NaN without one.
    left: Vec<f64>,
    /// The terms of one over a polynomial, and the sums of their sizes.
    inverse: [Vec<f64>; 2],
}

impl Remainders {
    /// For polynomials of an order; the values of the parameters are to be set.
    pub fn new(tape: Arc<Tape>, order: usize) -> Self {
        let registers = (0..tape.n_registers()).map(|index| tape.register(index));
        let recurrences: Vec<_> = registers.map(|r| tape.recurrence(r)).collect();
        let n_terms = recurrences.len() * (order + 1);
        Self {
            left: vec![f64::NAN; recurrences.len()],
            recurrences,
            order,
            terms: vec![0.0; n_terms],
            tails: vec![0.0; n_terms],
            inverse: [vec![0.0; order + 1], vec![0.0; order + 1]],
            jet: Jet::new(tape, order),
        }
    }

    /// The order of the polynomials.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Looks at the same equations with other values of their parameters.
    pub fn set_parameters(&mut self, parameters: &[f64]) {
        let into = self.jet.inputs_mut().parameters_mut();
        into.copy_from_slice(&parameters[..into.len()]);
    }

    /// Holds branches on their sides.
    pub fn hold(&mut self, sides: impl Iterator<Item = (usize, Ordering)>) {
        for (branch, side) in sides {
            self.jet.branches_mut().choose(branch, side);
        }
        self.jet.branches_mut().hold(true);
    }

    /// Bounds the remainders of all operations for distances up to h from a time, around which the unknowns are polynomials with
    /// coefficients `[order][unknown]`; false where the operations have no values.
    pub fn bound(&mut self, time: f64, series: &[f64], h: f64) -> bool {
        let inputs = self.jet.inputs_mut();
        inputs.set_time(time);
        let (known, others) = inputs.rows_mut().split_at_mut(series.len());
        known.copy_from_slice(series);
        others.fill(0.0);
        if (0..=self.order).any(|k| self.jet.extend(k as i32).is_err()) {
            return false;
        }
        let width = self.order + 1;
        for register in 0..self.recurrences.len() {
            let place = self.jet.tape().register(register);
            let mut power = 1.0;
            for k in 0..width {
                self.terms[register * width + k] = self.jet.register(place, k) * power;
                power *= h;
            }
            let row = register * width..(register + 1) * width;
            sum_up(&self.terms[row.clone()], &mut self.tails[row]);
        }
        for register in 0..self.recurrences.len() {
            let recurrence = self.recurrences[register];
            let left = recurrence.and_then(|recurrence| self.left_of(register, recurrence, h));
            // Each coefficient is rounded.
            let rounding = f64::EPSILON * self.tails[register * width];
            self.left[register] = left.map_or(f64::NAN, |left| left + rounding);
        }
        true
    }

    /// The bound of the remainder of a register; NaN without one.
    pub fn left(&self, register: Register) -> f64 {
        self.left[register.index()]
    }

    fn of(&self, register: Register) -> f64 {
        self.left[register.index()]
    }

    fn terms(&self, register: Register) -> &[f64] {
        &self.terms[register.index() * (self.order + 1)..][..self.order + 1]
    }

    fn tails(&self, register: Register) -> &[f64] {
        &self.tails[register.index() * (self.order + 1)..][..self.order + 1]
    }

    /// The sum of the sizes of all terms.
    fn size(&self, register: Register) -> f64 {
        self.tails(register)[0]
    }

    /// What rounding of sums over all orders leaves, relative to the sizes of the terms.
    fn rounding(&self) -> f64 {
        (self.order + 2) as f64 * f64::EPSILON
    }

    /// The terms of a product of two polynomials beyond the order, and rounding of the others.
    fn beyond(&self, a: Register, b: Register) -> f64 {
        beyond(self.terms(a), self.tails(b)) + self.rounding() * self.size(a) * self.size(b)
    }

    fn left_of(&mut self, register: usize, recurrence: Recurrence, h: f64) -> Option<f64> {
        let own = self.jet.tape().register(register);
        let value = |register: Register| self.terms(register)[0].abs();
        Some(match recurrence {
            Recurrence::Resting | Recurrence::Input(Slot::Time) => 0.0,
            Recurrence::Input(Slot::Variable { index, order }) => {
                self.left_of_variable((index as usize, order as usize), h)
            }
            Recurrence::Input(_) => return None,
            Recurrence::Neg(a) => self.of(a),
            Recurrence::Add(a, b) | Recurrence::Sub(a, b) => self.of(a) + self.of(b),
            Recurrence::Scale(a, b) => self.of(a) * value(b),
            Recurrence::Over(a, b) => self.of(a) / value(b),
            Recurrence::Product(a, b) => {
                let (of_a, of_b) = (self.of(a), self.of(b));
                self.beyond(a, b) + of_a * self.size(b) + of_b * (self.size(a) + of_a)
            }
            Recurrence::Square(a) => {
                self.beyond(a, a) + self.of(a) * (2.0 * self.size(a) + self.of(a))
            }
            Recurrence::Quotient(a, b) => {
                let least = self.least(b, self.of(b))?;
                let wrong = self.beyond(b, own) + self.rounding() * self.size(a);
                (self.of(a) + wrong + self.of(b) * self.size(own)) / least
            }
            Recurrence::Reciprocal(b) => {
                let least = self.least(b, self.of(b))?;
                let wrong = self.beyond(b, own) + self.rounding();
                (wrong + self.of(b) * self.size(own)) / least
            }
            Recurrence::Root(a) => {
                let least = self.least(own, 0.0)?;
                let wrong = self.beyond(own, own) + self.rounding() * self.size(a);
                let part = (self.of(a) + wrong) / (least * least);
                (part < 1.0).then(|| self.size(own) * part)?
            }
            Recurrence::SlopeProduct { x, slope, .. } => self.left_of_waves(own, slope, x)?,
            Recurrence::SlopeQuotient { x, divisor, factor } if x == divisor => {
                let least = self.least(x, 0.0)?;
                let part = self.of(x) / least;
                let wrong = self.slopes_beyond(own, x) + self.rounding() * self.size(x);
                (part < 1.0).then(|| wrong / least - factor.abs() * (-part).ln_1p())?
            }
            Recurrence::SlopeQuotient { .. } => return None,
        })
    }

    /// The terms of the polynomial of an unknown, or of a derivative of it, that are beyond the order.
    fn left_of_variable(&self, (index, derivative): (usize, usize), h: f64) -> f64 {
        let inputs = self.jet.inputs();
        let mut left = 0.0;
        for k in self.order + 1..inputs.n_orders().saturating_sub(derivative) {
            let rising: f64 = (k + 1..=k + derivative).map(|f| f as f64).product();
            left += inputs.get(index, k + derivative).abs() * rising * h.powi(k as i32);
        }
        left
    }

    /// The least size of a polynomial and what is `off` from it, by one over the polynomial; `None` where it may vanish.
    fn least(&mut self, register: Register, off: f64) -> Option<f64> {
        let mut inverse = std::mem::take(&mut self.inverse);
        let [terms, tails] = &mut inverse;
        let b = self.terms(register);
        for k in 0..terms.len() {
            let sum: f64 = (1..=k).map(|i| b[i] * terms[k - i]).sum();
            terms[k] = (f64::from(u8::from(k == 0)) - sum) / b[0];
        }
        sum_up(terms, tails);
        let rounding = self.rounding() * (1.0 + self.size(register) * tails[0]);
        let wrong = beyond(b, tails) + rounding + off * tails[0];
        let least = (1.0 - wrong) / tails[0];
        self.inverse = inverse;
        (least > 0.0 && least.is_finite()).then_some(least)
    }

    /// The terms of h' x beyond the order, times the step, with rounding of the others.
    fn slopes_beyond(&self, h: Register, x: Register) -> f64 {
        let (terms, tails) = (self.terms(h), self.tails(x));
        let mut sum = 0.0;
        let mut size = 0.0;
        for (i, term) in terms.iter().enumerate().skip(1) {
            let slope = i as f64 * term.abs();
            sum += slope * tails[self.order + 1 - i];
            size += slope;
        }
        sum + self.rounding() * size * tails[0]
    }

    /// Of exp, or of a pair of functions each of which is the slope of the other one: h' = g x', g' = -h x' or h x'.
    fn left_of_waves(&self, own: Register, slope: Register, x: Register) -> Option<f64> {
        let is_pair = matches!(
            self.recurrences[slope.index()],
            Some(Recurrence::SlopeProduct { x: other, slope: back, .. }) if other == x && back == own
        );
        if !is_pair && slope != own {
            return None;
        }
        let pair: &[Register] = if is_pair { &[own, slope] } else { &[own] };
        let size: f64 = pair.iter().map(|&f| self.size(f)).sum();
        let defects = pair.iter().map(|&f| self.slopes_beyond(x, f));
        let defect: f64 = defects.sum::<f64>() + self.rounding() * size;
        // Errors grow with what the argument changes by at most.
        let wrong = defect * self.tails(x)[1].exp();
        let moved = self.of(x);
        Some(wrong * moved.exp() + (size + wrong) * moved.exp_m1())
    }
}

/// The sums of the sizes of terms from each order on.
fn sum_up(terms: &[f64], into: &mut [f64]) {
    let mut sum = 0.0;
    for (into, term) in into.iter_mut().zip(terms).rev() {
        sum += term.abs();
        *into = sum;
    }
}

/// The sizes of the terms beyond the order of a product, by the terms of one factor and the sums of the other.
fn beyond(terms: &[f64], tails: &[f64]) -> f64 {
    let top = terms.len();
    let pairs = terms.iter().skip(1).zip(tails[1..top].iter().rev());
    pairs.map(|(term, tail)| term.abs() * tail).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use daelight_expr::{ExprId, Graph, SymbolId, UnaryOp};

    const ORDER: usize = 12;

    /// Numbers between 0 and 1 that are the same on every machine.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Expressions of one unknown and its derivative with random constants, as deep as they come.
    fn expressions(graph: &mut Graph, numbers: &mut Numbers) -> Vec<ExprId> {
        let mut all = vec![graph.symbol(SymbolId(0)), graph.symbol(SymbolId(1))];
        for _ in 0..8 {
            let a = all[(numbers.next() * all.len() as f64) as usize];
            let b = all[(numbers.next() * all.len() as f64) as usize];
            let two = graph.constant(1.5 + numbers.next());
            let square = graph.mul(a, a);
            let above = graph.add(square, two);
            let new = match (numbers.next() * 9.0) as usize {
                0 => graph.add(a, b),
                1 => graph.mul(a, b),
                2 => graph.div(b, above),
                3 => graph.unary(UnaryOp::Sqrt, above),
                4 => graph.unary(UnaryOp::Sin, a),
                5 => graph.unary(UnaryOp::Cos, a),
                6 => graph.unary(UnaryOp::Log, above),
                7 => {
                    let sine = graph.unary(UnaryOp::Sin, a);
                    graph.unary(UnaryOp::Exp, sine)
                }
                _ => {
                    let one = graph.constant(1.0);
                    graph.div(one, above)
                }
            };
            all.push(new);
        }
        all.split_off(2)
    }

    /// An unknown, and its derivative.
    fn slot(symbol: SymbolId) -> Slot {
        Slot::Variable {
            index: 0,
            order: symbol.0,
        }
    }

    /// What random expressions of random polynomials differ by from their own polynomials is below the bound, at all places of a step;
    /// and the bound is one in most cases, and a close one in many.
    #[test]
    fn polynomials_leave_out_less_than_the_bound() {
        let mut numbers = Numbers(17);
        let (mut n_bounds, mut n_close, mut n_all) = (0, 0, 0);
        for _ in 0..400 {
            let mut graph = Graph::new();
            let roots = expressions(&mut graph, &mut numbers);
            let tape = Arc::new(Tape::compile(&graph, &roots, slot).with_slot_order(1));
            // Up to one more than the operations follow.
            let n_known = 3 + (numbers.next() * 12.0) as usize;
            let reach = 0.5 + numbers.next();
            let mut size = 2.0 * numbers.next();
            let series: Vec<f64> = (0..n_known)
                .map(|_| {
                    size /= reach;
                    size * (2.0 * numbers.next() - 1.0)
                })
                .collect();
            let h = reach * (0.02 + 0.5 * numbers.next());
            let mut remainders = Remainders::new(Arc::clone(&tape), ORDER);
            assert!(remainders.bound(0.0, &series, h), "values exist everywhere");
            let mut value = Jet::new(Arc::clone(&tape), 0);
            for root in 0..roots.len() {
                let register = tape.root(root);
                let left = remainders.left(register);
                n_all += 1;
                if !left.is_finite() {
                    continue;
                }
                n_bounds += 1;
                let mut most = 0.0f64;
                for part in [0.1, 0.35, 0.6, 0.85, 1.0] {
                    let s = h * part;
                    let (mut x, mut slope) = (0.0, 0.0);
                    for c in series.iter().rev() {
                        slope = slope * s + x;
                        x = x * s + c;
                    }
                    value.inputs_mut().set(0, 0, x);
                    value.inputs_mut().set(0, 1, slope);
                    value.extend(0).expect("values exist everywhere");
                    let terms = remainders.terms(register).iter().rev();
                    let known = terms.fold(0.0, |sum, term| sum * part + term);
                    let apart = (value.root(root, 0) - known).abs();
                    let rounding = 64.0 * f64::EPSILON * remainders.size(register);
                    assert!(apart <= left + rounding, "{apart} {left}");
                    most = most.max(apart);
                }
                n_close += usize::from(left <= 1e3 * most + 1e-12);
            }
        }
        assert!(10 * n_bounds > 9 * n_all, "{n_bounds} of {n_all}");
        assert!(2 * n_close > n_bounds, "{n_close} of {n_bounds}");
    }

    /// A pulse that the coefficients do not show has a bound that is as high as the pulse.
    #[test]
    fn a_pulse_ahead_is_no_remainder_that_is_small() {
        let mut numbers = Numbers(5);
        for _ in 0..200 {
            let (at, width) = (3.0 + 4.0 * numbers.next(), 0.05 + 0.5 * numbers.next());
            let mut graph = Graph::new();
            let x = graph.symbol(SymbolId(0));
            let (at, width) = (graph.constant(at), graph.constant(width));
            let aside = graph.sub(x, at);
            let part = graph.div(aside, width);
            let square = graph.mul(part, part);
            let minus = graph.unary(UnaryOp::Neg, square);
            let root = graph.unary(UnaryOp::Exp, minus);
            let tape = Arc::new(Tape::compile(&graph, &[root], slot));
            let mut remainders = Remainders::new(Arc::clone(&tape), ORDER);
            // x = s, and the step goes past the pulse.
            assert!(remainders.bound(0.0, &[0.0, 1.0], 10.0));
            let left = remainders.left(tape.root(0));
            assert!(left.is_nan() || left >= 0.9, "{left}");
        }
    }
}
