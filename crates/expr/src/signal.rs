//! Signals: functions of time that are given by data, as pieces of polynomials.
//!
//! A signal is a leaf of a tape like a variable, but known: its coefficients follow from the time at which the inputs are
//! expanded. Every back end reads them from the inputs, so none knows how a signal is made (docs/theory/jets.md, section 11).

use crate::scalar::Scalar;
use std::sync::{Arc, PoisonError, RwLock};

/// On which side of the time a signal is expanded; it matters where two pieces meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// The piece that begins there: for runs forward in time.
    #[default]
    After,
    /// The piece that ends there: for runs backward.
    Before,
}

/// A function of time: a polynomial on each piece between two knots.
#[derive(Clone, PartialEq, Debug)]
pub struct Signal {
    /// Increasing; one more than pieces.
    knots: Vec<f64>,
    degree: usize,
    /// Coefficients in powers of the time from the middle of the piece, `[piece][order]`.
    coefficients: Vec<f64>,
    /// What it is now, for a signal that becomes known as a run goes on.
    now: Option<Now>,
}

/// A signal that is shared by all copies of one.
#[derive(Clone, Debug)]
struct Now(Arc<RwLock<Signal>>);

impl PartialEq for Now {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Signal {
    /// Joins pieces: `coefficients` holds degree + 1 numbers for each, in powers of the time from the middle of the piece.
    ///
    /// # Panics
    ///
    /// Unless the knots increase and there are as many coefficients as the pieces between them need.
    pub fn new(knots: Vec<f64>, degree: usize, coefficients: Vec<f64>) -> Self {
        assert!(knots.len() >= 2, "a signal has a piece");
        assert!(knots.is_sorted_by(|a, b| a < b), "knots increase");
        assert_eq!(coefficients.len(), (knots.len() - 1) * (degree + 1));
        Self {
            knots,
            degree,
            coefficients,
            now: None,
        }
    }

    /// A signal that becomes known as a run goes on: all its copies are what it was set to last.
    pub fn growing(first: Self) -> Self {
        let now = Now(Arc::new(RwLock::new(first.clone())));
        Self {
            now: Some(now),
            ..first
        }
    }

    /// Adds a piece to a growing signal, from its end to a knot.
    pub fn extend(&self, knot: f64, coefficients: &[f64]) {
        let Some(Now(now)) = &self.now else { return };
        let mut now = now.write().unwrap_or_else(PoisonError::into_inner);
        if knot > now.span().1 && coefficients.len() == now.degree + 1 {
            now.knots.push(knot);
            now.coefficients.extend_from_slice(coefficients);
        }
    }

    /// Adds a value to a growing signal that rests at each of its values: what it is from a time on.
    pub fn rest_from(&self, time: f64, value: f64) {
        let Some(Now(now)) = &self.now else { return };
        let mut now = now.write().unwrap_or_else(PoisonError::into_inner);
        let n = now.degree + 1;
        let last = now.knots.len() - 1;
        let time = time.max(now.knots[last - 1].next_up());
        now.knots[last] = time;
        now.knots.push(time.next_up());
        now.coefficients.push(value);
        now.coefficients.extend(std::iter::repeat_n(0.0, n - 1));
    }

    /// Sets what a growing signal is from now on.
    pub fn set(&self, signal: Self) {
        if let Some(Now(now)) = &self.now {
            *now.write().unwrap_or_else(PoisonError::into_inner) = signal;
        }
    }

    /// Whether it becomes known as a run goes on.
    pub fn is_growing(&self) -> bool {
        self.now.is_some()
    }

    /// The degree of the pieces.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Where pieces begin and end.
    pub fn knots(&self) -> &[f64] {
        &self.knots
    }

    /// The first and the last time.
    pub fn span(&self) -> (f64, f64) {
        (self.knots[0], self.knots[self.knots.len() - 1])
    }

    /// The next knot strictly inside the span when the time goes on from `time`.
    pub fn next_knot(&self, time: f64, side: Side) -> Option<f64> {
        if let Some(Now(now)) = &self.now {
            let now = now.read().unwrap_or_else(PoisonError::into_inner);
            return now.next_knot(time, side);
        }
        let inner = &self.knots[1..self.knots.len() - 1];
        match side {
            Side::After => inner.get(inner.partition_point(|&knot| knot <= time)),
            Side::Before => inner[..inner.partition_point(|&knot| knot < time)].last(),
        }
        .copied()
    }

    fn piece(&self, time: f64, side: Side) -> usize {
        let after = match side {
            Side::After => self.knots.partition_point(|&knot| knot <= time),
            Side::Before => self.knots.partition_point(|&knot| knot < time),
        };
        after.clamp(1, self.knots.len() - 1) - 1
    }

    /// Taylor coefficients at a time, as many as fit; those beyond the degree are zero.
    ///
    /// Outside the span they are those of the nearer end.
    pub fn expand<S: Scalar>(&self, time: S, side: Side, into: &mut [S]) {
        if let Some(Now(now)) = &self.now {
            let now = now.read().unwrap_or_else(PoisonError::into_inner);
            return now.expand(time, side, into);
        }
        let (first, last) = self.span();
        let time = if time < S::from(first) {
            S::from(first)
        } else if time > S::from(last) {
            S::from(last)
        } else {
            time
        };
        let piece = self.piece(time.to_f64(), side);
        let middle = self.middle(piece);
        let offset = time - S::from(middle);
        let given = &self.coefficients[piece * (self.degree + 1)..][..self.degree + 1];
        // Most pieces of delayed signals rest.
        let degree = given.iter().rposition(|c| *c != 0.0).unwrap_or(0);
        let given = &given[..=degree];
        into.fill(S::ZERO);
        // Nested Horner schemes: the polynomial in powers of the time from `time`.
        for &coefficient in given.iter().rev() {
            for order in (1..into.len().min(given.len())).rev() {
                into[order] = into[order] * offset + into[order - 1];
            }
            if let Some(value) = into.first_mut() {
                *value = *value * offset + S::from(coefficient);
            }
        }
    }

    /// The middle of a piece, around which its polynomial is written.
    pub fn middle(&self, piece: usize) -> f64 {
        0.5 * (self.knots[piece] + self.knots[piece + 1])
    }

    /// A derivative at a time; at a knot, of the piece that begins there.
    pub fn derivative(&self, time: f64, order: usize) -> f64 {
        let mut coefficients = vec![0.0; order + 1];
        self.expand(time, Side::After, &mut coefficients);
        let factorial: f64 = (1..=order).map(|factor| factor as f64).product();
        coefficients[order] * factorial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t^2 up to 1 and 2 t - 1 from there on, written around 0.5 and 1.5.
    fn kinked() -> Signal {
        Signal::new(vec![0.0, 1.0, 2.0], 2, vec![0.25, 1.0, 1.0, 2.0, 2.0, 0.0])
    }

    #[test]
    fn both_sides_of_a_knot_are_told_apart() {
        let signal = kinked();
        let mut at = [0.0; 4];
        signal.expand(1.0, Side::Before, &mut at);
        assert_eq!(at, [1.0, 2.0, 1.0, 0.0]);
        signal.expand(1.0, Side::After, &mut at);
        assert_eq!(at, [1.0, 2.0, 0.0, 0.0]);
        signal.expand(5.0, Side::After, &mut at);
        assert_eq!(at, [3.0, 2.0, 0.0, 0.0]);
        assert_eq!(signal.derivative(0.25, 1), 0.5);
        assert_eq!(signal.derivative(0.25, 3), 0.0);
    }

    #[test]
    fn the_next_knot_lies_ahead() {
        let signal = kinked();
        assert_eq!(signal.next_knot(0.0, Side::After), Some(1.0));
        assert_eq!(signal.next_knot(1.0, Side::After), None);
        assert_eq!(signal.next_knot(2.0, Side::Before), Some(1.0));
        assert_eq!(signal.next_knot(1.0, Side::Before), None);
    }
}
