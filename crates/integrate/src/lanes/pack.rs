//! Numbers of several runs side by side.
//!
//! Every operation is done for each run alone, unfused and in the order written, so that a run has the same bits whatever its neighbours
//! are and however many there are. Plain loops of fixed length: the compiler makes vector instructions of them where it may.

use pulp::Simd;
use std::ops::{Add, AddAssign, Div, Index, IndexMut, Mul, Neg, Sub};

/// One number of each of `W` runs.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub(super) struct Pack<const W: usize>(pub [f64; W]);

impl<const W: usize> Pack<W> {
    pub const ZERO: Self = Self([0.0; W]);

    #[inline(always)]
    pub fn all(x: f64) -> Self {
        Self([x; W])
    }

    /// A function of each number.
    #[inline(always)]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let mut out = self;
        for x in &mut out.0 {
            *x = f(*x);
        }
        out
    }

    /// A function of each pair of numbers.
    #[inline(always)]
    pub fn with(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let mut out = self;
        for lane in 0..W {
            out.0[lane] = f(self.0[lane], other.0[lane]);
        }
        out
    }

    #[inline(always)]
    pub fn abs(self) -> Self {
        self.map(f64::abs)
    }

    /// The greater one; the first where the second is not a number.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if b > a { b } else { a })
    }

    /// The numbers of `other` where a condition holds.
    #[inline(always)]
    pub fn or(self, holds: &[bool; W], other: Self) -> Self {
        let mut out = self;
        for (lane, holds) in holds.iter().enumerate() {
            out.0[lane] = if *holds { other.0[lane] } else { self.0[lane] };
        }
        out
    }

    /// The same numbers, NaN for what is infinite: it must not become a number again.
    #[inline(always)]
    pub fn clean(self) -> Self {
        let zero = self.with(self, |a, b| a - b);
        self - zero
    }

    /// A whole power, by the squarings of [`f64::powi`].
    #[inline(always)]
    pub fn power(self, exponent: usize) -> Self {
        let (mut base, mut left) = (self, exponent);
        let mut result = Self::all(1.0);
        loop {
            if left % 2 == 1 {
                result = result * base;
            }
            left /= 2;
            if left == 0 {
                return result;
            }
            base = base * base;
        }
    }
}

/// Where a condition does not hold. (`map` of an array is a function of its own, compiled without the instructions of its caller.)
#[inline(always)]
pub(super) fn not<const W: usize>(holds: &[bool; W]) -> [bool; W] {
    let mut not = [false; W];
    for lane in 0..W {
        not[lane] = !holds[lane];
    }
    not
}

/// Takes a multiple of a column from another: `into[i] -= factor * column[i]`.
///
/// In registers by name: of plain loops over rows the compiler takes the rows side by side, and gathers them from far apart.
#[inline(always)]
pub(super) fn subtract<S: Simd, const W: usize>(
    simd: S,
    into: &mut [Pack<W>],
    factor: &Pack<W>,
    column: &[Pack<W>],
) {
    let factor = S::as_simd_f64s(&factor.0).0;
    let column = &column[..into.len()];
    // Iterators of pairs are functions of their own too.
    for i in 0..into.len() {
        let x = S::as_mut_simd_f64s(&mut into[i].0).0;
        let y = S::as_simd_f64s(&column[i].0).0;
        for r in 0..W / S::F64_LANES {
            x[r] = simd.sub_f64s(x[r], simd.mul_f64s(factor[r], y[r]));
        }
    }
}

/// Multiplies packs by numbers, one each.
#[inline(always)]
pub(super) fn scale<S: Simd, const W: usize>(simd: S, packs: &mut [Pack<W>], factors: &[f64]) {
    let factors = &factors[..packs.len()];
    for i in 0..packs.len() {
        let factor = simd.splat_f64s(factors[i]);
        for x in S::as_mut_simd_f64s(&mut packs[i].0).0 {
            *x = simd.mul_f64s(*x, factor);
        }
    }
}

impl<const W: usize> Index<usize> for Pack<W> {
    type Output = f64;

    #[inline(always)]
    fn index(&self, lane: usize) -> &f64 {
        &self.0[lane]
    }
}

impl<const W: usize> IndexMut<usize> for Pack<W> {
    #[inline(always)]
    fn index_mut(&mut self, lane: usize) -> &mut f64 {
        &mut self.0[lane]
    }
}

impl<const W: usize> Add for Pack<W> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
}

impl<const W: usize> Sub for Pack<W> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
}

impl<const W: usize> Mul for Pack<W> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }
}

impl<const W: usize> Div for Pack<W> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.with(other, |a, b| a / b)
    }
}

impl<const W: usize> Mul<f64> for Pack<W> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f64) -> Self {
        self.map(|a| a * factor)
    }
}

impl<const W: usize> Neg for Pack<W> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

impl<const W: usize> AddAssign for Pack<W> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_single_numbers() {
        let base = Pack([0.3, -1.7, 2.0, 1e-3]);
        for exponent in 0..40 {
            for lane in 0..4 {
                let wanted = std::hint::black_box(base[lane]).powi(exponent as i32);
                assert_eq!(base.power(exponent)[lane], wanted, "{exponent}");
            }
        }
    }
}
