//! Ranges that know how they move: numbers that follow a parameter within [-1, 1] like a line, up to a remainder.
//!
//! A tape evaluated in ramps over a part of a step knows that a difference of two unknowns moves less than each of them: what two operands
//! have in common cancels to first order, and what a range is too wide by falls with the square of the part. (R8) of `docs/theory/runs.md`.

use crate::graph::UnaryOp;
use crate::interval::Interval;
use crate::scalar::Scalar;
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// All numbers middle + slope p + e with |p| <= 1 and |e| <= off that lie in a range; p is the same for all numbers of a computation.
///
/// Remainders hold the rounding of their terms by a factor of two; the range is the one of intervals where that is narrower.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ramp {
    middle: f64,
    slope: f64,
    off: f64,
    range: Interval,
}

/// How a function bends over a range.
#[derive(Clone, Copy)]
enum Bend {
    Up,
    Down,
    Unknown,
}

impl Ramp {
    /// The numbers that follow a line within a remainder.
    pub fn new(middle: f64, slope: f64, off: f64) -> Self {
        let reach = slope.abs() + off;
        let range = Interval::new(middle - reach, middle + reach);
        Self {
            middle,
            slope,
            off,
            range,
        }
    }

    /// All its numbers.
    pub fn range(self) -> Interval {
        self.range
    }

    /// Anywhere in a range.
    fn anywhere(range: Interval) -> Self {
        let middle = 0.5 * range.lo() + 0.5 * range.hi();
        Self {
            middle,
            slope: 0.0,
            off: (range.hi() - middle).max(middle - range.lo()),
            range,
        }
    }

    /// A line with a remainder, both known to the rounding of `terms`, which lies in a range: without the line where that says no more.
    fn settled((middle, slope, off): (f64, f64, f64), terms: f64, range: Interval) -> Self {
        let off = off + 2.0 * f64::EPSILON * terms;
        let reach = slope.abs() + off;
        let width = range.hi() - range.lo();
        if off < 0.5 * width {
            let range = range.cut(middle - reach, middle + reach);
            return Self {
                middle,
                slope,
                off,
                range,
            };
        }
        // Nothing is below half of what is no number.
        Self::anywhere(range)
    }

    /// A function with these values at the ends of the range and slopes in between.
    ///
    /// With the secant s and slopes in [m, M] a function is at most w (s - m) (M - s)/(M - m) off its secant over a range of width w, on one side
    /// of it if it bends one way.
    fn bent(self, range: Interval, ends: [f64; 2], slopes: Interval, bend: Bend) -> Self {
        let (lo, hi) = (self.range.lo(), self.range.hi());
        let width = hi - lo;
        let [at_lo, at_hi] = ends;
        let (least, greatest) = (slopes.lo(), slopes.hi());
        let secant = ((at_hi - at_lo) / width).clamp(least, greatest.max(least));
        let aside = match greatest > least {
            true => width * (secant - least) * (greatest - secant) / (greatest - least),
            false => 0.0,
        };
        let (shift, off) = match bend {
            Bend::Up => (-0.5 * aside, 0.5 * aside),
            Bend::Down => (0.5 * aside, 0.5 * aside),
            Bend::Unknown => (0.0, aside),
        };
        let at_zero = 0.5 * (at_lo - secant * lo) + 0.5 * (at_hi - secant * hi);
        let line = (
            secant * self.middle + at_zero + shift,
            secant * self.slope,
            secant.abs() * self.off + off,
        );
        let terms = at_lo.abs() + at_hi.abs() + secant.abs() * (lo.abs() + hi.abs());
        match secant.is_nan() {
            true => Self::anywhere(range),
            false => Self::settled(line, terms, range),
        }
    }

    fn ends(self, f: impl Fn(f64) -> f64) -> [f64; 2] {
        [f(self.range.lo()), f(self.range.hi())]
    }

    fn is_point(self) -> bool {
        self.range.lo() == self.range.hi()
    }

    fn inverse(self) -> Self {
        let range = Interval::ONE / self.range;
        if Scalar::is_nan(range) || self.is_point() {
            return Self::anywhere(range);
        }
        let slopes = -range.square();
        let bend = match self.range.lo() > 0.0 {
            true => Bend::Up,
            false => Bend::Down,
        };
        self.bent(range, self.ends(f64::recip), slopes, bend)
    }

    /// A power with a fixed exponent.
    fn fixed_power(self, exponent: f64) -> Self {
        let range = self.range.powf(Interval::from(exponent));
        if Scalar::is_nan(range) || self.is_point() {
            return Self::anywhere(range);
        }
        let below = self.range.powf(Interval::from(exponent - 1.0));
        let slopes = Interval::from(exponent) * below;
        self.bent(
            range,
            self.ends(|x| x.powf(exponent)),
            slopes,
            Bend::Unknown,
        )
    }
}

impl From<f64> for Ramp {
    fn from(x: f64) -> Self {
        Self {
            middle: x,
            slope: 0.0,
            off: 0.0,
            range: Interval::from(x),
        }
    }
}

impl PartialOrd for Ramp {
    /// The order of all pairs of numbers, if they agree.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.range.partial_cmp(&other.range)
    }
}

impl Neg for Ramp {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            middle: -self.middle,
            slope: -self.slope,
            off: self.off,
            range: -self.range,
        }
    }
}

impl Add for Ramp {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let line = (
            self.middle + other.middle,
            self.slope + other.slope,
            self.off + other.off,
        );
        let terms = self.range.magnitude() + other.range.magnitude();
        Self::settled(line, terms, self.range + other.range)
    }
}

impl AddAssign for Ramp {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Ramp {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Ramp {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let range = self.range * other.range;
        let (a, b) = (self, other);
        // The square of the parameter lies within 0 and 1.
        let squared = 0.5 * a.slope * b.slope;
        let line = (
            a.middle * b.middle + squared,
            a.middle * b.slope + a.slope * b.middle,
            squared.abs()
                + a.off * (b.middle.abs() + b.slope.abs() + b.off)
                + b.off * (a.middle.abs() + a.slope.abs()),
        );
        Self::settled(line, a.range.magnitude() * b.range.magnitude(), range)
    }
}

impl Div for Ramp {
    type Output = Self;
    #[allow(
        clippy::suspicious_arithmetic_impl,
        reason = "a quotient is the product with the inverse"
    )]
    fn div(self, other: Self) -> Self {
        self * other.inverse()
    }
}

impl Scalar for Ramp {
    const ZERO: Self = Self {
        middle: 0.0,
        slope: 0.0,
        off: 0.0,
        range: Interval::ZERO,
    };
    const ONE: Self = Self {
        middle: 1.0,
        slope: 0.0,
        off: 0.0,
        range: Interval::ONE,
    };
    const NAN: Self = Self {
        middle: f64::NAN,
        slope: 0.0,
        off: 0.0,
        range: Interval::NAN,
    };
    const LOG10_E: Self = Self {
        middle: std::f64::consts::LOG10_E,
        slope: 0.0,
        off: f64::EPSILON,
        range: Interval::LOG10_E,
    };

    fn to_f64(self) -> f64 {
        self.middle
    }

    fn is_finite(self) -> bool {
        Scalar::is_finite(self.range)
    }

    fn is_nan(self) -> bool {
        Scalar::is_nan(self.range)
    }

    fn is_whole(self) -> bool {
        self.range.is_whole()
    }

    fn square(self) -> Self {
        let product = self * self;
        Self {
            range: self
                .range
                .square()
                .cut(product.range.lo(), product.range.hi()),
            ..product
        }
    }

    fn unary(self, op: UnaryOp) -> Self {
        if op == UnaryOp::Neg {
            return -self;
        }
        let inside = self.range;
        let range = inside.unary(op);
        if Scalar::is_nan(range) || self.is_point() {
            return Self::anywhere(range);
        }
        let one = Interval::ONE;
        let (slopes, bend) = match op {
            UnaryOp::Exp => (range, Bend::Up),
            UnaryOp::Log => (one / inside, Bend::Down),
            UnaryOp::Log10 => (Interval::LOG10_E / inside, Bend::Down),
            UnaryOp::Sqrt => (Interval::from(0.5) / range, Bend::Down),
            UnaryOp::Sin => (inside.unary(UnaryOp::Cos), Bend::Unknown),
            UnaryOp::Cos => (-inside.unary(UnaryOp::Sin), Bend::Unknown),
            UnaryOp::Tan => (one + range.square(), Bend::Unknown),
            UnaryOp::Sinh => (inside.unary(UnaryOp::Cosh), Bend::Unknown),
            UnaryOp::Cosh => (inside.unary(UnaryOp::Sinh), Bend::Up),
            UnaryOp::Tanh => (one - range.square(), Bend::Unknown),
            UnaryOp::Atan => (one / (one + inside.square()), Bend::Unknown),
            UnaryOp::Abs if inside.lo() >= 0.0 => return self,
            UnaryOp::Abs if inside.hi() <= 0.0 => return -self,
            _ => return Self::anywhere(range),
        };
        if Scalar::is_nan(slopes) {
            return Self::anywhere(range);
        }
        let ends = self.ends(|x| f64::unary(x, op));
        self.bent(range, ends, slopes, bend)
    }

    fn power(self, exponent: Self) -> Self {
        self.powf(exponent)
    }

    fn powf(self, exponent: Self) -> Self {
        if exponent.is_point() {
            return self.fixed_power(exponent.range.lo());
        }
        (exponent * self.unary(UnaryOp::Log)).unary(UnaryOp::Exp)
    }

    fn angle(self, x: Self) -> Self {
        Self::anywhere(self.range.angle(x.range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Function = Box<dyn Fn(f64, f64) -> f64>;

    /// What an expression of lines with remainders is at random places lies in its ramp, and within its line.
    #[test]
    fn numbers_lie_in_their_ramps() {
        let mut state = 7u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            2.0 * ((state >> 11) as f64 / (1u64 << 53) as f64) - 1.0
        };
        let functions = [
            UnaryOp::Exp,
            UnaryOp::Log,
            UnaryOp::Log10,
            UnaryOp::Sqrt,
            UnaryOp::Sin,
            UnaryOp::Cos,
            UnaryOp::Tan,
            UnaryOp::Sinh,
            UnaryOp::Cosh,
            UnaryOp::Tanh,
            UnaryOp::Atan,
            UnaryOp::Asin,
            UnaryOp::Acos,
            UnaryOp::Abs,
        ];
        for _ in 0..2000 {
            let lines: Vec<[f64; 3]> = (0..2)
                .map(|_| {
                    let size = 10f64.powf(2.0 * draw() - 1.0);
                    [2.0 * draw(), size * draw(), 0.3 * size * draw().abs()]
                })
                .collect();
            let [a, b] = [0, 1].map(|at: usize| {
                let [middle, slope, off] = lines[at];
                Ramp::new(middle, slope, off)
            });
            let places: Vec<(f64, [f64; 2])> = (0..20)
                .map(|_| {
                    let p = draw();
                    let at = |[middle, slope, off]: [f64; 3], e: f64| middle + slope * p + off * e;
                    (p, [at(lines[0], draw()), at(lines[1], draw())])
                })
                .collect();
            let mut cases: Vec<(Ramp, Function)> = vec![
                (a + b, Box::new(|x, y| x + y)),
                (a - b, Box::new(|x, y| x - y)),
                (a * b, Box::new(|x, y| x * y)),
                (a / b, Box::new(|x, y| x / y)),
                (a.square(), Box::new(|x, _| x * x)),
                (a.power(Ramp::from(3.0)), Box::new(|x, _| x.powi(3))),
                (a.power(Ramp::from(-2.0)), Box::new(|x, _| x.powi(-2))),
                (a.power(Ramp::from(1.5)), Box::new(|x, _| x.powf(1.5))),
                (a.power(b), Box::new(|x, y| x.powf(y))),
                (a.angle(b), Box::new(|x, y| x.atan2(y))),
            ];
            for op in functions {
                cases.push((a.unary(op), Box::new(move |x, _| f64::unary(x, op))));
            }
            for (ramp, f) in cases {
                if Scalar::is_nan(ramp) {
                    continue;
                }
                for (p, [x, y]) in &places {
                    let value = f(*x, *y);
                    let rounding = 64.0 * f64::EPSILON * (1.0 + value.abs());
                    let range = ramp.range();
                    assert!(
                        value >= range.lo() - rounding && value <= range.hi() + rounding,
                        "{value} in {ramp:?} of {a:?} and {b:?}"
                    );
                    let aside = (value - ramp.middle - ramp.slope * p).abs();
                    assert!(
                        aside <= ramp.off + rounding,
                        "{value} at {p} in {ramp:?} of {a:?} and {b:?}"
                    );
                }
            }
        }
    }

    /// A difference of two unknowns that move together is as narrow as the difference is, and so is its exponential.
    #[test]
    fn what_moves_together_cancels() {
        let (a, b) = (Ramp::new(5.0, 2.0, 0.001), Ramp::new(4.9, 2.0, 0.001));
        let difference = (a - b) * Ramp::from(40.0);
        let range = difference.unary(UnaryOp::Exp).range();
        assert!(range.lo() > (4.0 - 0.081f64).exp(), "{range:?}");
        assert!(range.hi() < (4.0 + 0.081f64).exp(), "{range:?}");
    }
}
