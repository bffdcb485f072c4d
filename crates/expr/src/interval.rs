//! Intervals: what is computed with them encloses what is true of every point of them.
//!
//! A tape is evaluated in intervals as in doubles: `PlainJet<Interval>` over a stretch of time encloses the Taylor coefficients at all
//! of its points. Each result is widened to the next double but one, beyond the rounding of the operation and the error of the
//! elementary functions (below one unit in the last place). An operation that is not defined on the whole interval has no
//! enclosure, which is NaN.

use crate::graph::UnaryOp;
use crate::scalar::Scalar;
use std::cmp::Ordering;
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// All numbers between two; both are NaN where there is no enclosure.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

impl Interval {
    const NONE: Self = Self {
        lo: f64::NAN,
        hi: f64::NAN,
    };

    /// The interval between two numbers, in any order.
    pub fn new(a: f64, b: f64) -> Self {
        if a.is_nan() || b.is_nan() {
            return Self::NONE;
        }
        Self {
            lo: a.min(b),
            hi: a.max(b),
        }
    }

    /// The least number.
    pub fn lo(self) -> f64 {
        self.lo
    }

    /// The greatest number.
    pub fn hi(self) -> f64 {
        self.hi
    }

    /// The greatest absolute value; infinite without an enclosure.
    pub fn magnitude(self) -> f64 {
        let greatest = self.lo.abs().max(self.hi.abs());
        if greatest.is_nan() {
            f64::INFINITY
        } else {
            greatest
        }
    }

    /// Whether a number lies within; true without an enclosure.
    pub fn may_be(self, x: f64) -> bool {
        !(x < self.lo || x > self.hi)
    }

    /// The smallest interval that holds both.
    pub fn hull(self, other: Self) -> Self {
        if Scalar::is_nan(self) || Scalar::is_nan(other) {
            return Self::NONE;
        }
        Self {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
        }
    }

    /// The part between two numbers; all of it where there is none.
    pub(crate) fn cut(self, least: f64, greatest: f64) -> Self {
        let part = self.within(least, greatest);
        if part.lo <= part.hi { part } else { self }
    }

    fn is_point(self) -> bool {
        self.lo == self.hi
    }

    /// Widened beyond rounding.
    fn outward(lo: f64, hi: f64) -> Self {
        if lo.is_nan() || hi.is_nan() {
            return Self::NONE;
        }
        Self {
            lo: lo.next_down().next_down(),
            hi: hi.next_up().next_up(),
        }
    }

    /// A function that rises on the whole interval.
    fn rising(self, f: impl Fn(f64) -> f64) -> Self {
        Self::outward(f(self.lo), f(self.hi))
    }

    /// Those within the range of a function, cut where widening left it.
    fn within(self, least: f64, greatest: f64) -> Self {
        Self {
            lo: self.lo.max(least),
            hi: self.hi.min(greatest),
        }
    }

    /// Whether some peak + 2 pi k may lie within.
    fn may_hold_peak(self, peak: f64) -> bool {
        let slack = 4.0 * f64::EPSILON * (1.0 + self.magnitude());
        let turns = ((self.lo - slack - peak) / TAU).ceil();
        peak + turns * TAU <= self.hi + slack
    }

    fn sin(self) -> Self {
        if !Scalar::is_finite(self) || self.hi - self.lo >= TAU || self.magnitude() > 1e12 {
            return if Scalar::is_nan(self) {
                Self::NONE
            } else {
                Self { lo: -1.0, hi: 1.0 }
            };
        }
        let (a, b) = (self.lo.sin(), self.hi.sin());
        let hi = if self.may_hold_peak(FRAC_PI_2) {
            1.0
        } else {
            a.max(b)
        };
        let lo = if self.may_hold_peak(-FRAC_PI_2) {
            -1.0
        } else {
            a.min(b)
        };
        Self::outward(lo, hi).within(-1.0, 1.0)
    }

    fn cos(self) -> Self {
        if !Scalar::is_finite(self) || self.hi - self.lo >= TAU || self.magnitude() > 1e12 {
            return if Scalar::is_nan(self) {
                Self::NONE
            } else {
                Self { lo: -1.0, hi: 1.0 }
            };
        }
        let (a, b) = (self.lo.cos(), self.hi.cos());
        let hi = if self.may_hold_peak(0.0) {
            1.0
        } else {
            a.max(b)
        };
        let lo = if self.may_hold_peak(PI) {
            -1.0
        } else {
            a.min(b)
        };
        Self::outward(lo, hi).within(-1.0, 1.0)
    }

    fn tan(self) -> Self {
        let is_cut = self.hi - self.lo >= PI
            || self.magnitude() > 1e12
            || self.may_hold_peak(FRAC_PI_2)
            || self.may_hold_peak(-FRAC_PI_2);
        if is_cut {
            Self::NONE
        } else {
            self.rising(f64::tan)
        }
    }

    /// A whole power.
    fn whole_power(self, exponent: f64) -> Self {
        if exponent < 0.0 {
            return Self::ONE / self.whole_power(-exponent);
        }
        if exponent % 2.0 == 0.0 {
            let (a, b) = (self.lo.powf(exponent), self.hi.powf(exponent));
            let least = if self.may_be(0.0) { 0.0 } else { a.min(b) };
            Self::outward(least, a.max(b)).within(0.0, f64::INFINITY)
        } else {
            self.rising(|x| x.powf(exponent))
        }
    }
}

impl From<f64> for Interval {
    fn from(x: f64) -> Self {
        Self { lo: x, hi: x }
    }
}

impl PartialOrd for Interval {
    /// The order of all pairs of points, if they agree.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self.hi < other.lo {
            Some(Ordering::Less)
        } else if self.lo > other.hi {
            Some(Ordering::Greater)
        } else if self.is_point() && self == other {
            Some(Ordering::Equal)
        } else {
            None
        }
    }
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            lo: -self.hi,
            hi: -self.lo,
        }
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        // Zeros stay exact: polynomials have no terms beyond their degree.
        if self == Self::ZERO {
            return other;
        }
        if other == Self::ZERO {
            return self;
        }
        Self {
            lo: (self.lo + other.lo).next_down(),
            hi: (self.hi + other.hi).next_up(),
        }
    }
}

impl AddAssign for Interval {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        if self == Self::ZERO || other == Self::ZERO {
            return if Scalar::is_nan(self) || Scalar::is_nan(other) {
                Self::NONE
            } else {
                Self::ZERO
            };
        }
        if self == Self::ONE {
            return other;
        }
        if other == Self::ONE {
            return self;
        }
        let products = [
            self.lo * other.lo,
            self.lo * other.hi,
            self.hi * other.lo,
            self.hi * other.hi,
        ];
        if products.iter().any(|product| product.is_nan()) {
            return Self::NONE;
        }
        let [a, b, c, d] = products;
        Self {
            lo: a.min(b).min(c.min(d)).next_down(),
            hi: a.max(b).max(c.max(d)).next_up(),
        }
    }
}

impl Div for Interval {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        if other.may_be(0.0) {
            return Self::NONE;
        }
        if self == Self::ZERO {
            return Self::ZERO;
        }
        let inverse = Self {
            lo: (1.0 / other.hi).next_down(),
            hi: (1.0 / other.lo).next_up(),
        };
        self * inverse
    }
}

impl Scalar for Interval {
    const ZERO: Self = Self { lo: 0.0, hi: 0.0 };
    const ONE: Self = Self { lo: 1.0, hi: 1.0 };
    const NAN: Self = Self::NONE;
    const LOG10_E: Self = Self {
        lo: std::f64::consts::LOG10_E.next_down(),
        hi: std::f64::consts::LOG10_E.next_up(),
    };

    fn to_f64(self) -> f64 {
        0.5 * self.lo + 0.5 * self.hi
    }

    fn is_finite(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    fn is_nan(self) -> bool {
        self.lo.is_nan() || self.hi.is_nan()
    }

    fn is_whole(self) -> bool {
        self.is_point() && self.lo.fract() == 0.0
    }

    fn square(self) -> Self {
        self.whole_power(2.0)
    }

    fn unary(self, op: UnaryOp) -> Self {
        if Scalar::is_nan(self) {
            return Self::NONE;
        }
        match op {
            UnaryOp::Neg => -self,
            UnaryOp::Sqrt if self.lo >= 0.0 => self.rising(f64::sqrt).within(0.0, f64::INFINITY),
            UnaryOp::Log if self.lo > 0.0 => self.rising(f64::ln),
            UnaryOp::Log10 if self.lo > 0.0 => self.rising(f64::log10),
            UnaryOp::Exp => self.rising(f64::exp).within(0.0, f64::INFINITY),
            UnaryOp::Sin => self.sin(),
            UnaryOp::Cos => self.cos(),
            UnaryOp::Tan => self.tan(),
            UnaryOp::Asin if self.lo >= -1.0 && self.hi <= 1.0 => self.rising(f64::asin),
            UnaryOp::Acos if self.lo >= -1.0 && self.hi <= 1.0 => -self.rising(|x| -x.acos()),
            UnaryOp::Atan => self.rising(f64::atan),
            UnaryOp::Sinh => self.rising(f64::sinh),
            UnaryOp::Cosh => {
                let (a, b) = (self.lo.cosh(), self.hi.cosh());
                let least = if self.may_be(0.0) { 1.0 } else { a.min(b) };
                Self::outward(least, a.max(b)).within(1.0, f64::INFINITY)
            }
            UnaryOp::Tanh => self.rising(f64::tanh).within(-1.0, 1.0),
            UnaryOp::Abs if self.lo >= 0.0 => self,
            UnaryOp::Abs if self.hi <= 0.0 => -self,
            UnaryOp::Abs => Self {
                lo: 0.0,
                hi: self.magnitude(),
            },
            UnaryOp::Sign if self.lo > 0.0 => Self::ONE,
            UnaryOp::Sign if self.hi < 0.0 => -Self::ONE,
            UnaryOp::Sign if self == Self::ZERO => Self::ZERO,
            UnaryOp::Not if self == Self::ZERO => Self::ONE,
            UnaryOp::Not if !self.may_be(0.0) => Self::ZERO,
            _ => Self::NONE,
        }
    }

    fn power(self, exponent: Self) -> Self {
        self.powf(exponent)
    }

    fn powf(self, exponent: Self) -> Self {
        if exponent.is_whole() && exponent.lo.abs() < 1e9 {
            return self.whole_power(exponent.lo);
        }
        if self.lo > 0.0 {
            (exponent * self.unary(UnaryOp::Log)).unary(UnaryOp::Exp)
        } else {
            Self::NONE
        }
    }

    fn angle(self, x: Self) -> Self {
        // The angle is monotone along the edges of a box that does not reach the cut.
        let is_clear = x.lo > 0.0 || self.lo > 0.0 || self.hi < 0.0;
        if !is_clear {
            return Self::NONE;
        }
        let corners = [
            self.lo.atan2(x.lo),
            self.lo.atan2(x.hi),
            self.hi.atan2(x.lo),
            self.hi.atan2(x.hi),
        ];
        let least = corners.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self::outward(least, greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least value of an enclosure is not above the greatest, whichever way a function goes, and both hold the values in between.
    #[test]
    fn functions_that_fall_have_their_ends_in_order() {
        for (lo, hi) in [(-1.0, 1.0), (-0.7, 0.2), (0.1, 0.9), (0.3, 0.3)] {
            for op in [UnaryOp::Acos, UnaryOp::Asin, UnaryOp::Atan, UnaryOp::Exp] {
                let range = Interval::new(lo, hi).unary(op);
                assert!(range.lo <= range.hi, "{op:?}: {range:?}");
                for part in [0.0, 0.3, 1.0] {
                    let value = f64::unary(lo + part * (hi - lo), op);
                    assert!(range.may_be(value), "{op:?}: {value} in {range:?}");
                }
            }
        }
    }
}
