//! The numbers that jets are made of: doubles, and double-doubles for a second look.

use crate::graph::{BinaryOp, UnaryOp, apply_binary, apply_unary};
use daelight_dd::Dd;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number in which a tape can be evaluated: `f64`, [`Dd`] or [`Interval`](crate::Interval).
///
/// The recurrences are written once, for any of them. For doubles every operation is the one of the processor, so nothing
/// depends on the detour.
pub trait Scalar:
    Copy
    + Debug
    + Default
    + PartialOrd
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + Send
    + Sync
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Not a number.
    const NAN: Self;
    /// log10 e.
    const LOG10_E: Self;

    /// The nearest double.
    fn to_f64(self) -> f64;
    /// True if it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// True if it is not a number.
    fn is_nan(self) -> bool;
    /// True if it has no fractional part.
    fn is_whole(self) -> bool;
    /// The square.
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
    /// Value of a function of one argument; NaN outside its domain.
    fn unary(self, op: UnaryOp) -> Self;
    /// The power as the graph defines it, by multiplication for small whole exponents.
    fn power(self, exponent: Self) -> Self;
    /// The power for any exponent.
    fn powf(self, exponent: Self) -> Self;
    /// The angle of the point (x, y), y being `self`.
    fn angle(self, x: Self) -> Self;
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NAN: Self = f64::NAN;
    const LOG10_E: Self = std::f64::consts::LOG10_E;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
    #[inline(always)]
    fn is_whole(self) -> bool {
        self.fract() == 0.0
    }
    #[inline(always)]
    fn unary(self, op: UnaryOp) -> Self {
        apply_unary(op, self)
    }
    #[inline(always)]
    fn power(self, exponent: Self) -> Self {
        apply_binary(BinaryOp::Pow, self, exponent)
    }
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        f64::powf(self, exponent)
    }
    #[inline(always)]
    fn angle(self, x: Self) -> Self {
        self.atan2(x)
    }
}

impl Scalar for Dd {
    const ZERO: Self = Dd::ZERO;
    const ONE: Self = Dd::ONE;
    const NAN: Self = Dd::NAN;
    const LOG10_E: Self = Dd::LOG10_E;

    fn to_f64(self) -> f64 {
        self.hi()
    }
    fn is_finite(self) -> bool {
        Dd::is_finite(self)
    }
    fn is_nan(self) -> bool {
        Dd::is_nan(self)
    }
    fn is_whole(self) -> bool {
        Dd::is_whole(self)
    }
    fn unary(self, op: UnaryOp) -> Self {
        match op {
            UnaryOp::Neg => -self,
            UnaryOp::Sqrt => self.sqrt(),
            UnaryOp::Exp => self.exp(),
            UnaryOp::Log => self.ln(),
            UnaryOp::Log10 => self.log10(),
            UnaryOp::Sin => self.sin(),
            UnaryOp::Cos => self.cos(),
            UnaryOp::Tan => self.tan(),
            UnaryOp::Asin => self.asin(),
            UnaryOp::Acos => self.acos(),
            UnaryOp::Atan => self.atan(),
            UnaryOp::Sinh => self.sinh(),
            UnaryOp::Cosh => self.cosh(),
            UnaryOp::Tanh => self.tanh(),
            UnaryOp::Abs => self.abs(),
            // Exact in any precision: a normalised double-double has the sign of its first part.
            UnaryOp::Sign | UnaryOp::Not => Dd::from(apply_unary(op, self.hi())),
        }
    }
    fn power(self, exponent: Self) -> Self {
        self.pow(exponent)
    }
    fn powf(self, exponent: Self) -> Self {
        self.pow(exponent)
    }
    fn angle(self, x: Self) -> Self {
        self.atan2(x)
    }
}
