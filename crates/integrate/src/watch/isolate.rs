//! All zeros of a polynomial on an interval, even ones included, by its Bernstein coefficients.
//!
//! Section 1 of `docs/theory/runs.md`.

/// Halvings of an interval after which what is left of it counts as one place.
const MAX_DEPTH: usize = 50;

/// Pieces of one polynomial that are looked at; what is left then counts as places. Random polynomials of degree 13 take 1.1 on
/// the mean, one with 13 zeros 60.
const MAX_PIECES: usize = 4000;

/// A part of [0, 1] outside which the polynomial is above its error: what lies in it is not told apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ZeroPlace {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// A polynomial on [0, 1], known up to an error, and the places where it may vanish.
#[derive(Clone, Debug, Default)]
pub struct Isolation {
    coefficients: Vec<f64>,
    error: f64,
    places: Vec<ZeroPlace>,
    stack: Vec<Piece>,
    spare: Vec<Vec<f64>>,
}

#[derive(Clone, Debug)]
struct Piece {
    left: f64,
    width: f64,
    depth: usize,
    bernstein: Vec<f64>,
}

impl Isolation {
    /// Finds the places where sum a_m s^m, known up to `error`, may vanish on [0, 1], (R2).
    pub fn find(&mut self, a: &[f64], error: f64) {
        self.coefficients.clear();
        self.coefficients.extend_from_slice(a);
        // The weights of the Bernstein form are positive and at most 1: so is its rounding.
        let rounding = 4.0 * f64::EPSILON * a.iter().map(|a| a.abs()).sum::<f64>();
        self.error = error + rounding;
        self.places.clear();
        let first = self.bernstein(a);
        self.stack.push(Piece {
            left: 0.0,
            width: 1.0,
            depth: 0,
            bernstein: first,
        });
        let mut n_pieces = 0;
        while let Some(piece) = self.stack.pop() {
            n_pieces += 1;
            let is_last = piece.depth == MAX_DEPTH || n_pieces >= MAX_PIECES;
            self.look(piece, is_last);
        }
    }

    fn look(&mut self, mut piece: Piece, is_last: bool) {
        let error = self.error;
        let b = &piece.bernstein;
        let is_clear = b.iter().all(|&b| b > error) || b.iter().all(|&b| b < -error);
        if is_clear {
            self.spare.push(piece.bernstein);
            return;
        }
        let (first, last) = (b[0], b[b.len() - 1]);
        let rises = b.windows(2).all(|w| w[0] <= w[1]);
        let falls = b.windows(2).all(|w| w[0] >= w[1]);
        let beyond = |b: f64| b.abs() > error;
        let (from, to) = (piece.left, piece.left + piece.width);
        if (rises || falls) && beyond(first) && beyond(last) {
            // Otherwise it would be clear: there is one change of sign.
            let at = crate::locate::zero(from, to, first, last, |s| self.value(s));
            self.add(ZeroPlace { from: at, to: at });
            self.spare.push(piece.bernstein);
            return;
        }
        if is_last || b.iter().all(|&b| b.abs() <= error) {
            self.add(ZeroPlace { from, to });
            self.spare.push(piece.bernstein);
            return;
        }
        let mut left = self.spare.pop().unwrap_or_default();
        halve(&mut piece.bernstein, &mut left);
        let (width, depth) = (0.5 * piece.width, piece.depth + 1);
        self.stack.push(Piece {
            left: from + width,
            width,
            depth,
            bernstein: piece.bernstein,
        });
        self.stack.push(Piece {
            left: from,
            width,
            depth,
            bernstein: left,
        });
    }

    /// Adds a place behind all others; two that touch are one.
    fn add(&mut self, place: ZeroPlace) {
        match self.places.last_mut() {
            Some(last) if last.to >= place.from => last.to = last.to.max(place.to),
            _ => self.places.push(place),
        }
    }

    /// The value at a point.
    pub fn value(&self, s: f64) -> f64 {
        self.coefficients
            .iter()
            .rev()
            .fold(0.0, |sum, a| sum * s + a)
    }

    /// How far the polynomial may be off, its rounding included.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The places, in ascending order.
    pub fn places(&self) -> &[ZeroPlace] {
        &self.places
    }

    /// The cells between the places, in ascending order: in each the sign is that of its middle.
    pub fn cells(&self) -> impl Iterator<Item = (f64, f64)> {
        let starts = std::iter::once(0.0).chain(self.places.iter().map(|place| place.to));
        let ends = self.places.iter().map(|place| place.from);
        starts
            .zip(ends.chain(std::iter::once(1.0)))
            .filter(|(from, to)| from < to)
    }

    /// Where the sign first leaves the side that is held: the first cell on the other side begins there.
    pub fn leaves(&self, side: f64) -> Option<f64> {
        let mut before: Option<(f64, f64)> = None;
        for (from, to) in self.cells() {
            let middle = 0.5 * (from + to);
            let value = self.value(middle) * side;
            if value < 0.0 {
                return Some(match before {
                    Some((held, kept)) => {
                        let at = |s: f64| self.value(s) * side;
                        crate::locate::zero(held, middle, kept, value, at)
                    }
                    // It left before this interval, or at its very beginning.
                    None => from,
                });
            }
            if value > 0.0 {
                before = Some((middle, value));
            }
        }
        None
    }

    /// Where the polynomial comes down to zero and rises again without leaving the side that is held: the first such turn.
    pub fn touches(&self, side: f64) -> Option<f64> {
        let slope = |s: f64| {
            let powers = self.coefficients.iter().enumerate().skip(1).rev();
            side * powers.fold(0.0, |sum, (m, a)| sum * s + m as f64 * a)
        };
        self.places.iter().find_map(|&ZeroPlace { from, to }| {
            // What turns within the place falls before it and rises behind it.
            let (falls, rises) = (slope(from), slope(to));
            (falls < 0.0 && rises > 0.0).then(|| crate::locate::zero(from, to, falls, rises, slope))
        })
    }

    /// Bernstein coefficients b_i = sum_{j<=i} C(i,j)/C(K,j) a_j.
    fn bernstein(&mut self, a: &[f64]) -> Vec<f64> {
        let degree = a.len().saturating_sub(1);
        let mut b = self.spare.pop().unwrap_or_default();
        b.clear();
        b.extend_from_slice(a);
        if b.is_empty() {
            b.push(0.0);
        }
        let mut choose = 1.0;
        for (j, b) in b.iter_mut().enumerate() {
            *b /= choose;
            choose *= (degree - j.min(degree)) as f64 / (j + 1) as f64;
        }
        // C(i, j) by repeated sums, as in Pascal's triangle.
        for start in 1..=degree {
            for i in (start..=degree).rev() {
                b[i] += b[i - 1];
            }
        }
        b
    }
}

/// De Casteljau: the right half stays in `b`, the left one goes to `left`.
fn halve(b: &mut [f64], left: &mut Vec<f64>) {
    left.clear();
    let n = b.len();
    for level in 0..n {
        left.push(b[0]);
        for i in 0..n - 1 - level {
            b[i] = 0.5 * (b[i] + b[i + 1]);
        }
    }
    // What is left of each level is its last coefficient: b[n-1-level] was not touched after it.
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repeatable numbers in [-1, 1).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    fn with_zeros(zeros: &[f64]) -> Vec<f64> {
        let mut a = vec![1.0];
        for zero in zeros {
            a.push(0.0);
            for i in (1..a.len()).rev() {
                a[i] = a[i - 1] - zero * a[i];
            }
            a[0] *= -zero;
        }
        a
    }

    #[test]
    fn bernstein_coefficients_begin_and_end_with_the_values() {
        let mut isolation = Isolation::default();
        let b = isolation.bernstein(&[1.0, -2.0, 3.0, 0.5]);
        assert_eq!(b[0], 1.0);
        assert!((b[3] - 2.5).abs() < 1e-15);
        // (1 - s)^2 s 3 is one of them.
        let b = isolation.bernstein(&[0.0, 3.0, -6.0, 3.0]);
        for (found, wanted) in b.iter().zip([0.0, 1.0, 0.0, 0.0]) {
            assert!((found - wanted).abs() < 1e-15, "{b:?}");
        }
    }

    #[test]
    fn every_zero_lies_in_a_place() {
        let mut random = Random(7);
        let mut isolation = Isolation::default();
        for _ in 0..2000 {
            let n = 1 + (random.next().abs() * 9.0) as usize;
            let mut zeros: Vec<f64> = (0..n).map(|_| 1.5 * random.next()).collect();
            zeros.sort_by(f64::total_cmp);
            let a = with_zeros(&zeros);
            isolation.find(&a, 0.0);
            for zero in zeros.iter().filter(|z| (0.0..=1.0).contains(*z)) {
                let close = isolation
                    .places()
                    .iter()
                    .any(|p| *zero > p.from - 1e-6 && *zero < p.to + 1e-6);
                assert!(close, "{zero} of {zeros:?}: {:?}", isolation.places());
            }
            for (from, to) in isolation.cells() {
                let middle = 0.5 * (from + to);
                let sign = zeros.iter().map(|z| (middle - z).signum()).product::<f64>();
                assert_eq!(isolation.value(middle).signum(), sign, "{zeros:?}");
            }
        }
    }

    #[test]
    fn a_side_is_left_at_the_first_cell_beyond() {
        let mut isolation = Isolation::default();
        // Two zeros between samples, then a third.
        isolation.find(&with_zeros(&[0.5, 0.501, 0.9]), 0.0);
        assert!((isolation.leaves(-1.0).expect("a switch") - 0.5).abs() < 1e-12);
        assert_eq!(isolation.leaves(1.0), Some(0.0));
        // A touch is no switch.
        isolation.find(&with_zeros(&[0.5, 0.5]), 0.0);
        assert_eq!(isolation.leaves(1.0), None);
        assert_eq!(isolation.places().len(), 1);
        isolation.find(&[0.0, 0.0, 0.0], 0.0);
        assert_eq!(
            (isolation.leaves(1.0), isolation.leaves(-1.0)),
            (None, None)
        );
    }

    #[test]
    fn a_polynomial_without_zeros_is_decided_at_once() {
        let mut isolation = Isolation::default();
        isolation.find(&[2.0, -1.0, 0.5], 1e-9);
        assert!(isolation.places().is_empty());
        assert_eq!(isolation.cells().collect::<Vec<_>>(), [(0.0, 1.0)]);
    }
}
