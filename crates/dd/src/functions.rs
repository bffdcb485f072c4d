//! Elementary functions to about 31 digits: reduction of the argument, then a Taylor polynomial or a step of refinement.
//!
//! Speed is secondary. Every function is NaN where it has no real value. `docs/theory/jets.md`, section 10, has the methods.

use crate::Dd;

/// log 2 as a sum of three doubles: a multiple of it must be exact to more than 32 digits.
const LOG_2: [f64; 3] = [
    std::f64::consts::LN_2,
    2.319_046_813_846_299_6e-17,
    5.707_708_438_416_212e-34,
];

/// A quarter turn as a sum of four doubles.
const QUARTER_TURN: [f64; 4] = [
    std::f64::consts::FRAC_PI_2,
    6.123_233_995_736_766e-17,
    -1.497_384_904_859_169_8e-33,
    5.562_271_104_316_826e-50,
];

/// Beyond this many quarter turns their number is no exact double.
const MOST_TURNS: f64 = (1_u64 << 52) as f64;

/// Terms below this fraction of a sum are left out.
const NEGLIGIBLE: f64 = 1e-34;

/// No series below needs more terms.
const MOST_TERMS: usize = 60;

/// first + first x^2 c_1 + first x^2 c_1 x^2 c_2 + ..., each term from the one before it.
fn even_series(first: Dd, square: Dd, ratio: impl Fn(f64) -> Dd) -> Dd {
    let (mut sum, mut term) = (first, first);
    for k in 1..MOST_TERMS {
        term = term * square * ratio(k as f64);
        sum += term;
        if term.hi().abs() <= NEGLIGIBLE * sum.hi().abs() {
            break;
        }
    }
    sum
}

/// x minus a whole multiple of a constant given in parts; little is lost where they nearly agree.
fn reduced(x: Dd, multiple: f64, parts: &[f64]) -> Dd {
    parts
        .iter()
        .fold(x, |rest, &part| rest - Dd::product(multiple, part))
}

fn reciprocal(value: f64) -> Dd {
    Dd::ONE / Dd::from(value)
}

impl Dd {
    /// log10 e.
    pub const LOG10_E: Dd = Dd {
        hi: std::f64::consts::LOG10_E,
        lo: 1.098_319_650_216_765e-17,
    };

    /// True if it is not a number.
    pub fn is_nan(self) -> bool {
        self.hi.is_nan()
    }

    /// True if it is a whole number.
    pub fn is_whole(self) -> bool {
        self.is_finite() && self.hi.fract() == 0.0 && self.lo.fract() == 0.0
    }

    /// exp x.
    pub fn exp(self) -> Self {
        if self.hi.is_nan() || self.hi > 709.78 {
            return Self::from(self.hi.exp());
        }
        if self.hi < -745.2 {
            return Self::ZERO;
        }
        // x = k log 2 + 2^9 r; exp(r) - 1 by its series, then 9 times (1 + s)^2 - 1 = 2 s + s^2.
        let k = (self.hi / LOG_2[0]).round();
        let r = reduced(self, k, &LOG_2).scale(1.0 / 512.0);
        let (mut sum, mut term) = (r, r);
        for i in 2..MOST_TERMS {
            term = term * r / Self::from(i as f64);
            sum += term;
            if term.hi.abs() <= NEGLIGIBLE * sum.hi.abs() {
                break;
            }
        }
        for _ in 0..9 {
            sum = sum.scale(2.0) + sum * sum;
        }
        // In two steps: 2^k alone may leave the range of doubles.
        let half = (k / 2.0).floor();
        (sum + Self::ONE)
            .scale(half.exp2())
            .scale((k - half).exp2())
    }

    /// The natural logarithm.
    pub fn ln(self) -> Self {
        if self.hi == 0.0 || !self.is_finite() || self.hi < 0.0 {
            return Self::from(self.hi.ln());
        }
        // x = 2^k y with y between 0.7 and 1.42, and log y = 2 artanh((y - 1)/(y + 1)).
        let k = self.hi.log2().round();
        let half = (k / 2.0).floor();
        let y = self.scale((-half).exp2()).scale((half - k).exp2());
        let z = (y - Self::ONE) / (y + Self::ONE);
        let square = z * z;
        let (mut sum, mut power) = (z, z);
        for i in 1..MOST_TERMS {
            power = power * square;
            let term = power / Self::from((2 * i + 1) as f64);
            sum += term;
            if term.hi.abs() <= NEGLIGIBLE * sum.hi.abs() {
                break;
            }
        }
        -reduced(-sum.scale(2.0), k, &LOG_2)
    }

    /// The logarithm to base 10.
    pub fn log10(self) -> Self {
        self.ln() * Self::LOG10_E
    }

    /// Sine and cosine; NaN beyond 7e15, where a double-double is no longer a definite angle.
    pub fn sin_cos(self) -> (Self, Self) {
        let turns = (self.hi / QUARTER_TURN[0]).round();
        if turns.is_nan() || turns.abs() > MOST_TURNS {
            return (Self::NAN, Self::NAN);
        }
        let r = reduced(self, turns, &QUARTER_TURN);
        let minus_square = -(r * r);
        let sin = even_series(r, minus_square, |k| reciprocal(2.0 * k * (2.0 * k + 1.0)));
        let cos = even_series(Self::ONE, minus_square, |k| {
            reciprocal(2.0 * k * (2.0 * k - 1.0))
        });
        match turns.rem_euclid(4.0) as u8 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    /// Sine.
    pub fn sin(self) -> Self {
        self.sin_cos().0
    }

    /// Cosine.
    pub fn cos(self) -> Self {
        self.sin_cos().1
    }

    /// Tangent.
    pub fn tan(self) -> Self {
        let (sin, cos) = self.sin_cos();
        sin / cos
    }

    /// The angle of the point (x, y), y being `self`.
    pub fn atan2(self, x: Self) -> Self {
        let guess = Self::from(self.hi.atan2(x.hi));
        // The tangent of what the double misses; 0 at the origin, as for doubles.
        let (sin, cos) = guess.sin_cos();
        let along = x * cos + self * sin;
        if along.hi == 0.0 {
            return guess;
        }
        guess + (self * cos - x * sin) / along
    }

    /// The inverse tangent.
    pub fn atan(self) -> Self {
        self.atan2(Self::ONE)
    }

    /// The inverse sine.
    pub fn asin(self) -> Self {
        self.atan2(((Self::ONE - self) * (Self::ONE + self)).sqrt())
    }

    /// The inverse cosine.
    pub fn acos(self) -> Self {
        ((Self::ONE - self) * (Self::ONE + self)).sqrt().atan2(self)
    }

    /// The hyperbolic sine.
    pub fn sinh(self) -> Self {
        if self.hi.abs() < 0.5 {
            return even_series(self, self * self, |k| reciprocal(2.0 * k * (2.0 * k + 1.0)));
        }
        let (growing, fading) = self.halves();
        growing - fading
    }

    /// The hyperbolic cosine.
    pub fn cosh(self) -> Self {
        let (growing, fading) = self.halves();
        growing + fading
    }

    /// exp(x)/2 and exp(-x)/2, by half the argument: exp(x) may overflow where its half does not.
    fn halves(self) -> (Self, Self) {
        let half = |x: Self| {
            let root = x.scale(0.5).exp();
            root.scale(0.5) * root
        };
        (half(self), half(-self))
    }

    /// The hyperbolic tangent.
    pub fn tanh(self) -> Self {
        if self.hi.abs() > 40.0 {
            return Self::from(self.hi.signum());
        }
        self.sinh() / self.cosh()
    }

    /// x^y: by multiplication for whole |y| <= 64, by exp(y log x) otherwise.
    pub fn pow(self, exponent: Self) -> Self {
        if !exponent.is_whole() {
            return (exponent * self.ln()).exp_or(self.hi, exponent.hi);
        }
        if exponent.hi.abs() > 64.0 {
            let size = (exponent * self.abs().ln()).exp_or(self.hi.abs(), exponent.hi);
            let odd = exponent.hi.rem_euclid(2.0) + exponent.lo.rem_euclid(2.0) == 1.0;
            return if odd && self.hi < 0.0 { -size } else { size };
        }
        let mut power = Self::ONE;
        let (mut factor, mut left) = (self, exponent.hi.abs() as u32);
        while left > 0 {
            if left % 2 == 1 {
                power = power * factor;
            }
            factor = factor * factor;
            left /= 2;
        }
        if exponent.hi < 0.0 {
            Self::ONE / power
        } else {
            power
        }
    }

    /// exp of y log x, where a vanishing base is settled as for doubles.
    fn exp_or(self, base: f64, exponent: f64) -> Self {
        if base == 0.0 {
            Self::from(base.powf(exponent))
        } else {
            self.exp()
        }
    }
}
