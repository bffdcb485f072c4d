//! Pieces of a trajectory between two solved points: polynomials through values and derivatives at both ends.

/// One unknown between two points, in powers of s = (t - start)/h.
///
/// `left` and `right` hold h^m x_m, m = 0..=q, at both ends; the first 2q + 2 places of `into` become the coefficients of
/// the polynomial that has all of them, (24) of `docs/theory/implicit.md`.
fn two_point(left: &[f64], right: &[f64], into: &mut [f64]) {
    match left.len() {
        2 => of_known_length::<2>(left, right, into),
        3 => of_known_length::<3>(left, right, into),
        4 => of_known_length::<4>(left, right, into),
        n => two_point_with(left, right, &mut vec![0.0; n], &mut into[..2 * n]),
    }
}

/// The same with loops of known length.
fn of_known_length<const N: usize>(left: &[f64], right: &[f64], into: &mut [f64]) {
    two_point_with(&left[..N], &right[..N], &mut [0.0; N], &mut into[..2 * N]);
}

#[inline(always)]
fn two_point_with(left: &[f64], right: &[f64], rest: &mut [f64], into: &mut [f64]) {
    let q = left.len() - 1;
    // The rest p - sum left_m s^m, expanded at s = 1, then divided by s^(q+1).
    for (l, rest) in rest.iter_mut().enumerate() {
        let taken: f64 = (l..=q).map(|m| binomial(m, l) * left[m]).sum();
        *rest = right[l] - taken;
    }
    // In a short step the series of the left end serves up to the right one; what differs is rounding, and powers of 1/h would
    // make derivatives of it.
    let rounding = ROUNDING * (left[0].abs() + right[0].abs());
    if rest.iter().all(|rest| rest.abs() <= rounding) {
        rest.fill(0.0);
    }
    let (series, quotient) = into.split_at_mut(q + 1);
    let factor = |l: usize| {
        let sign = if l.is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * binomial(q + l, l)
    };
    for (l, quotient) in quotient.iter_mut().enumerate() {
        *quotient = (0..=l).map(|k| rest[k] * factor(l - k)).sum();
    }
    // From powers of s - 1 to powers of s.
    for start in 0..q {
        for l in (start..q).rev() {
            quotient[l] -= quotient[l + 1];
        }
    }
    series.copy_from_slice(left);
}

/// m (m-1) ... of as many factors as the level says: what a power has before it when it was differentiated as often.
fn falling(m: usize, level: usize) -> f64 {
    (0..level).map(|i| (m - i) as f64).product()
}

fn value_of(polynomial: &[f64], s: f64) -> f64 {
    polynomial.iter().rev().fold(0.0, |sum, x| sum * s + x)
}

/// How far two polynomials are apart at most at the inner nodes.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let inner = (1..N_NODES - 1).map(node);
    let differences = inner.map(|s| (value_of(a, s) - value_of(b, s)).abs());
    differences.fold(0.0, f64::max)
}

#[inline(always)]
fn binomial(n: usize, k: usize) -> f64 {
    match BINOMIALS.get(n).and_then(|row| row.get(k)) {
        Some(known) => *known,
        None => (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product(),
    }
}

/// The first rows of Pascal's triangle.
const BINOMIALS: [[f64; 8]; 8] = {
    let mut rows = [[0.0; 8]; 8];
    let mut n = 0;
    while n < 8 {
        rows[n][0] = 1.0;
        let mut k = 1;
        while k <= n {
            rows[n][k] = rows[n - 1][k - 1] + rows[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    rows
};

/// Where a node lies in a step.
fn node(k: usize) -> f64 {
    k as f64 / (N_NODES - 1) as f64
}

/// Leads a polynomial through two values in between, without touching its q + 1 coefficients at both ends: adds
/// (s (1 - s))^(q+1) (a + b s).
fn bend(polynomial: &mut [f64], q: usize, inner: [(f64, f64); 2]) {
    let m = q as i32 + 1;
    polynomial[2 * q + 2..].fill(0.0);
    let missing = inner.map(|(s, value)| {
        let found = value_of(polynomial, s);
        (value - found) / (s * (1.0 - s)).powi(m)
    });
    let b = (missing[1] - missing[0]) / (inner[1].0 - inner[0].0);
    let a = missing[0] - b * inner[0].0;
    for k in 0..=q + 1 {
        let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let factor = sign * binomial(q + 1, k);
        polynomial[q + 1 + k] += factor * a;
        polynomial[q + 2 + k] += factor * b;
    }
}

/// The polynomial through values at s = 0, 1/(m-1), ..., 1, in powers of s.
fn through(values: &[f64], into: &mut [f64]) {
    let m = values.len();
    let node = |i: usize| i as f64 / (m - 1) as f64;
    let mut differences = [0.0; N_NODES];
    differences[..m].copy_from_slice(values);
    for level in 1..m {
        for i in (level..m).rev() {
            differences[i] = (differences[i] - differences[i - 1]) / (node(i) - node(i - level));
        }
    }
    into[..m].fill(0.0);
    for i in (0..m).rev() {
        for l in (1..m).rev() {
            into[l] = into[l - 1] - node(i) * into[l];
        }
        into[0] = differences[i] - node(i) * into[0];
    }
}

/// Differences below this part of the values are rounding.
const ROUNDING: f64 = 1e-13;

/// Builds pieces for unknowns with given offsets.
pub(crate) struct Pieces {
    n: usize,
    offsets: Vec<usize>,
    /// Derivatives used at each end.
    orders: Vec<usize>,
    left: Vec<f64>,
    right: Vec<f64>,
    work: Vec<f64>,
    /// Derivatives of a piece to its level: of the one through both ends, and through three coefficients of the derivative itself.
    rate: Vec<f64>,
    fine: [f64; 2 * LEAST_ORDER],
}

/// Derivatives used at each end, at least: values to an order that no method of fifth order spoils. (24b) uses as many coefficients of what it
/// integrates.
const LEAST_ORDER: usize = 3;

/// Points of a method's own polynomial that are taken over; its degree is 5 at most.
pub(crate) const N_NODES: usize = 6;

impl Pieces {
    /// Pieces hold derivatives up to the offsets, which is as far as others read them; the states are those below the smallest
    /// offsets.
    pub fn new(offsets: &[usize], smallest: &[usize]) -> Self {
        let orders = offsets.iter().map(|offset| (*offset).max(LEAST_ORDER));
        let orders: Vec<usize> = orders.collect();
        let most = orders.iter().copied().max().unwrap_or(LEAST_ORDER);
        let highest = smallest.iter().copied().max().unwrap_or(0);
        Self {
            n: offsets.len(),
            offsets: smallest.to_vec(),
            orders,
            left: vec![0.0; (most + 1).max(highest + LEAST_ORDER)],
            right: vec![0.0; (most + 1).max(highest + LEAST_ORDER)],
            work: vec![0.0; (2 * most + 2).max(highest + 2 * LEAST_ORDER)],
            rate: vec![0.0; 2 * most + 2],
            fine: [0.0; 2 * LEAST_ORDER],
        }
    }

    /// Number of rows of a piece.
    pub fn n_rows(&self) -> usize {
        self.work.len()
    }

    /// Coefficients of all unknowns around the start, from series at both ends, `[order][unknown]`.
    pub fn between(&mut self, left: &[f64], right: &[f64], h: f64, into: &mut [f64]) {
        into.fill(0.0);
        for j in 0..self.n {
            let (q, level) = (self.orders[j], self.offsets[j]);
            self.ends(left, right, h, j, q);
            let mut n_rows = 2 * q + 2;
            if level > 0 && self.is_settled(left, right, h, j) {
                self.integrate(level);
                n_rows = level + 2 * LEAST_ORDER;
            }
            self.store(n_rows, h, j, into);
        }
    }

    /// Whether the polynomial of a state that `work` holds is further from the integral of its highest derivative, (24b), than it may be
    /// off; `fine` then holds that derivative through three coefficients at both ends.
    fn is_settled(&mut self, left: &[f64], right: &[f64], h: f64, j: usize) -> bool {
        let (q, level) = (self.orders[j], self.offsets[j]);
        if level + LEAST_ORDER - 1 > q {
            self.scale(left, right, h, j, level + LEAST_ORDER - 1);
        }
        let ends: [[f64; LEAST_ORDER]; 2] = [&self.left, &self.right]
            .map(|end| std::array::from_fn(|m| falling(m + level, level) * end[m + level]));
        let mut coarse = [0.0; 2 * LEAST_ORDER - 2];
        let [left, right] = &ends;
        two_point(
            &left[..LEAST_ORDER - 1],
            &right[..LEAST_ORDER - 1],
            &mut coarse,
        );
        two_point(left, right, &mut self.fine);
        let rows = self.work[level..2 * q + 2].iter().enumerate();
        for (rate, (m, x)) in self.rate.iter_mut().zip(rows) {
            *rate = falling(m + level, level) * x;
        }
        let through_ends = &self.rate[..2 * q + 2 - level];
        apart(through_ends, &self.fine) > apart(&coarse, &self.fine)
    }

    /// The integral, `level` times from the left end, of the polynomial in `fine`, into `work`.
    fn integrate(&mut self, level: usize) {
        self.work[..level].copy_from_slice(&self.left[..level]);
        for (m, x) in self.fine.iter().enumerate() {
            self.work[level + m] = x / falling(m + level, level);
        }
    }

    /// The polynomial through q + 1 coefficients at both ends.
    fn ends(&mut self, left: &[f64], right: &[f64], h: f64, j: usize, q: usize) {
        self.scale(left, right, h, j, q);
        two_point(&self.left[..=q], &self.right[..=q], &mut self.work);
    }

    /// Puts h^m x_m, m = 0..=q, of one unknown at both ends.
    fn scale(&mut self, left: &[f64], right: &[f64], h: f64, j: usize, q: usize) {
        let mut power = 1.0;
        for m in 0..=q {
            self.left[m] = power * left[m * self.n + j];
            self.right[m] = power * right[m * self.n + j];
            power *= h;
        }
    }

    fn store(&self, n_rows: usize, h: f64, j: usize, into: &mut [f64]) {
        let mut power = 1.0;
        for (m, x) in self.work[..n_rows].iter().enumerate() {
            into[m * self.n + j] = x / power;
            power *= h;
        }
    }

    /// One unknown where higher derivatives mean nothing, because the step is long against a decaying motion.
    ///
    /// If it is differentiated once at most it goes through its values at the nodes, `[node][unknown]`; otherwise through its
    /// states at both ends and its values at two nodes in between.
    pub fn stiff(
        &mut self,
        left: &[f64],
        right: &[f64],
        nodes: &[f64],
        h: f64,
        j: usize,
        into: &mut [f64],
    ) {
        into[j..].iter_mut().step_by(self.n).for_each(|x| *x = 0.0);
        if self.offsets[j] > 1 {
            let q = self.offsets[j] - 1;
            self.ends(left, right, h, j, q);
            let inner = [2, 3].map(|k| (node(k), nodes[k * self.n + j]));
            bend(&mut self.work[..2 * q + 4], q, inner);
            self.store(2 * q + 4, h, j, into);
        } else {
            let values: [f64; N_NODES] = std::array::from_fn(|k| nodes[k * self.n + j]);
            through(&values, &mut self.work);
            self.store(N_NODES, h, j, into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_comes_back_from_its_ends_and_from_its_nodes() {
        // 1 - 2 s + 3 s^2 + s^5 and its derivatives over m!.
        let (left, right) = ([1.0, -2.0, 3.0], [3.0, 9.0, 13.0]);
        let mut found = [0.0; 6];
        two_point(&left, &right, &mut found);
        let wanted = [1.0, -2.0, 3.0, 0.0, 0.0, 1.0];
        for (a, b) in found.iter().zip(wanted) {
            assert!((a - b).abs() < 1e-13, "{found:?}");
        }
        let value = |s: f64| 1.0 - 2.0 * s + 3.0 * s * s + s.powi(5);
        let values: Vec<f64> = (0..6).map(|i| value(f64::from(i) / 5.0)).collect();
        through(&values, &mut found);
        for (a, b) in found.iter().zip(wanted) {
            assert!((a - b).abs() < 1e-12, "{found:?}");
        }
        // From values and slopes at both ends, and two values in between.
        two_point(&left[..2], &right[..2], &mut found);
        bend(&mut found, 1, [0.4, 0.6].map(|s| (s, value(s))));
        for (a, b) in found.iter().zip(wanted) {
            assert!((a - b).abs() < 1e-12, "{found:?}");
        }
    }
}
