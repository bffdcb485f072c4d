//! Double-double arithmetic: numbers of about 32 digits, and the elementary functions in them.
//!
//! A [`Dd`] is the unevaluated sum of two doubles. Sums and products are exact up to the last few bits by the error-free
//! transformations of Knuth (1969) and Dekker (1971), the product with a fused multiply-add; the operations follow Hida, Li
//! and Bailey (2001). Matrices of them are in `daelight-linalg`, jets in `daelight-expr`.

#![forbid(unsafe_code)]

mod functions;

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A number of about 32 digits: the sum of a double and a correction below half its last bit.
///
/// ```
/// use daelight_dd::Dd;
/// let third = Dd::from(1.0) / Dd::from(3.0);
/// assert!((third * Dd::from(3.0) - Dd::from(1.0)).abs().hi() < 1e-31);
/// assert_eq!((Dd::from(1.0) + Dd::from(1e-25) - Dd::from(1.0)).hi(), 1e-25);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dd {
    hi: f64,
    lo: f64,
}

/// a + b = sum + error exactly.
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The same for |a| >= |b|.
#[inline]
fn quick_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// a b = product + error exactly, barring underflow.
#[inline]
fn two_prod(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

impl Dd {
    /// Relative size of a rounding error, 2^-104.
    pub const EPSILON: f64 = 1.0 / (1u128 << 104) as f64;
    /// Not a number.
    pub const NAN: Dd = Dd {
        hi: f64::NAN,
        lo: f64::NAN,
    };
    /// Zero.
    pub const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };
    /// One.
    pub const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };

    /// The exact sum of two doubles.
    pub fn sum(a: f64, b: f64) -> Self {
        let (hi, lo) = two_sum(a, b);
        Self { hi, lo }
    }

    /// The exact product of two doubles.
    pub fn product(a: f64, b: f64) -> Self {
        let (hi, lo) = two_prod(a, b);
        Self { hi, lo }
    }

    /// The nearest double.
    pub fn hi(self) -> f64 {
        self.hi
    }

    /// What the nearest double misses.
    pub fn lo(self) -> f64 {
        self.lo
    }

    /// Absolute value.
    pub fn abs(self) -> Self {
        if self.hi < 0.0 || (self.hi == 0.0 && self.lo < 0.0) {
            -self
        } else {
            self
        }
    }

    /// True if it is neither NaN nor infinite.
    pub fn is_finite(self) -> bool {
        self.hi.is_finite() && self.lo.is_finite()
    }

    /// Square root; NaN for negative numbers.
    pub fn sqrt(self) -> Self {
        if self.hi == 0.0 {
            return Self::ZERO;
        }
        // One Newton step on the double square root doubles its digits (Karp and Markstein 1997).
        let guess = self.hi.sqrt();
        let rest = self - Self::product(guess, guess);
        let (hi, lo) = quick_two_sum(guess, rest.hi / (2.0 * guess));
        Self { hi, lo }
    }

    /// Multiplies by a power of two, exactly.
    pub fn scale(self, power: f64) -> Self {
        Self {
            hi: self.hi * power,
            lo: self.lo * power,
        }
    }
}

impl From<f64> for Dd {
    fn from(value: f64) -> Self {
        Self { hi: value, lo: 0.0 }
    }
}

impl PartialOrd for Dd {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match self.hi.partial_cmp(&other.hi) {
            Some(Ordering::Equal) => self.lo.partial_cmp(&other.lo),
            order => order,
        }
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, other: Dd) -> Dd {
        let (sum, error) = two_sum(self.hi, other.hi);
        let (low, low_error) = two_sum(self.lo, other.lo);
        let (sum, error) = quick_two_sum(sum, error + low);
        let (hi, lo) = quick_two_sum(sum, error + low_error);
        Dd { hi, lo }
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, other: Dd) -> Dd {
        let (product, error) = two_prod(self.hi, other.hi);
        let (hi, lo) = quick_two_sum(product, error + (self.hi * other.lo + self.lo * other.hi));
        Dd { hi, lo }
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, other: Dd) -> Dd {
        // Long division with doubles as digits.
        let first = self.hi / other.hi;
        let rest = self - other * Dd::from(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * Dd::from(second);
        let third = rest.hi / other.hi;
        let (hi, lo) = quick_two_sum(first, second);
        Dd { hi, lo } + Dd::from(third)
    }
}

impl AddAssign for Dd {
    fn add_assign(&mut self, other: Dd) {
        *self = *self + other;
    }
}

impl SubAssign for Dd {
    fn sub_assign(&mut self, other: Dd) {
        *self = *self - other;
    }
}
