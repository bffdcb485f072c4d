//! Discs in the complex plane: what is computed with them holds all values at complex points near a real one.
//!
//! A tape evaluated in discs around a point of a run, the unknowns being polynomials of a complex time, bounds every operation on a disc
//! of times. By Cauchy's estimate its Taylor coefficients are then bounded too, however many there are: `docs/theory/runs.md`, (R7).
//! An operation that is singular somewhere in the disc has no bound, which is NaN. Radii are rounded, not widened: bounds are used up to
//! factors.

use crate::graph::UnaryOp;
use crate::scalar::Scalar;
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// All complex numbers that are no farther from a real centre than a radius.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Disc {
    centre: f64,
    radius: f64,
}

impl Disc {
    /// The disc around a number.
    pub fn new(centre: f64, radius: f64) -> Self {
        Self { centre, radius }
    }

    /// How far its numbers are from its centre at most; infinite without a bound.
    pub fn radius(self) -> f64 {
        match self.radius.is_nan() || self.centre.is_nan() {
            true => f64::INFINITY,
            false => self.radius,
        }
    }

    /// A function whose coefficients at the centre, of the powers 1, 2, ... of the distance, are below even and odd ones of cosh and sinh.
    fn wave(self, value: f64, even: f64, odd: f64) -> Self {
        let r = self.radius;
        Self::new(value, even.abs() * (r.cosh() - 1.0) + odd.abs() * r.sinh())
    }

    /// A function whose slope is below a bound on the whole disc, negative or NaN where it has none.
    fn sloping(self, value: f64, slope: f64) -> Self {
        match slope >= 0.0 {
            true => Self::new(value, self.radius * slope),
            false => Self::NAN,
        }
    }

    /// The radius beside the centre, for functions that are singular at zero alone; `None` if the disc reaches it.
    fn part(self) -> Option<f64> {
        let part = self.radius / self.centre.abs();
        (part < 1.0).then_some(part)
    }

    /// A power with a fixed exponent: (1 + w)^p has coefficients below those of (1 - w)^-|p|, and a whole one those of (1 + w)^p.
    fn fixed_power(self, exponent: f64) -> Self {
        let value = self.centre.powf(exponent);
        if exponent >= 0.0 && exponent.fract() == 0.0 {
            let size = self.centre.abs();
            let most = (size + self.radius).powf(exponent) - size.powf(exponent);
            return Self::new(value, most);
        }
        match self.part() {
            Some(part) => Self::new(
                value,
                value.abs() * ((1.0 - part).powf(-exponent.abs()) - 1.0),
            ),
            None => Self::NAN,
        }
    }
}

impl From<f64> for Disc {
    fn from(x: f64) -> Self {
        Self::new(x, 0.0)
    }
}

impl PartialOrd for Disc {
    /// The order of the centres: sides are those of the point.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.centre.partial_cmp(&other.centre)
    }
}

impl Neg for Disc {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.centre, self.radius)
    }
}

impl Add for Disc {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.centre + other.centre, self.radius + other.radius)
    }
}

impl AddAssign for Disc {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Disc {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Disc {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let grown = self.centre.abs() * other.radius + other.centre.abs() * self.radius;
        Self::new(
            self.centre * other.centre,
            grown + self.radius * other.radius,
        )
    }
}

impl Div for Disc {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        match other.part() {
            Some(part) => {
                let inverse = 1.0 / other.centre;
                self * Self::new(inverse, inverse.abs() * part / (1.0 - part))
            }
            None => Self::NAN,
        }
    }
}

impl Scalar for Disc {
    const ZERO: Self = Self {
        centre: 0.0,
        radius: 0.0,
    };
    const ONE: Self = Self {
        centre: 1.0,
        radius: 0.0,
    };
    const NAN: Self = Self {
        centre: f64::NAN,
        radius: f64::NAN,
    };
    const LOG10_E: Self = Self {
        centre: std::f64::consts::LOG10_E,
        radius: 0.0,
    };

    fn to_f64(self) -> f64 {
        self.centre
    }

    fn is_finite(self) -> bool {
        self.centre.is_finite() && self.radius.is_finite()
    }

    fn is_nan(self) -> bool {
        self.centre.is_nan() || self.radius.is_nan()
    }

    fn is_whole(self) -> bool {
        self.radius == 0.0 && self.centre.fract() == 0.0
    }

    fn unary(self, op: UnaryOp) -> Self {
        let (c, r) = (self.centre, self.radius);
        match op {
            UnaryOp::Neg => -self,
            UnaryOp::Sqrt => self.fixed_power(0.5),
            UnaryOp::Exp => Self::new(c.exp(), c.exp() * r.exp_m1()),
            UnaryOp::Log | UnaryOp::Log10 => match self.part() {
                Some(part) if c > 0.0 => {
                    let log = Self::new(c.ln(), -(-part).ln_1p());
                    match op {
                        UnaryOp::Log => log,
                        _ => log * Self::LOG10_E,
                    }
                }
                _ => Self::NAN,
            },
            UnaryOp::Sin => self.wave(c.sin(), c.sin(), c.cos()),
            UnaryOp::Cos => self.wave(c.cos(), c.cos(), c.sin()),
            UnaryOp::Tan => self.unary(UnaryOp::Sin) / self.unary(UnaryOp::Cos),
            UnaryOp::Sinh => self.wave(c.sinh(), c.sinh(), c.cosh()),
            UnaryOp::Cosh => self.wave(c.cosh(), c.cosh(), c.sinh()),
            // |cosh z|^2 = sinh(x)^2 + cos(y)^2.
            UnaryOp::Tanh if r < std::f64::consts::FRAC_PI_2 => {
                let least = (c.abs() - r).max(0.0).sinh().powi(2) + r.cos().powi(2);
                self.sloping(c.tanh(), 1.0 / least)
            }
            // 1 + z^2 = (z - i) (z + i).
            UnaryOp::Atan => {
                let away = c.hypot(1.0) - r;
                self.sloping(c.atan(), if away > 0.0 { away.powi(-2) } else { f64::NAN })
            }
            UnaryOp::Asin | UnaryOp::Acos => {
                let value = if op == UnaryOp::Asin {
                    c.asin()
                } else {
                    c.acos()
                };
                let (right, left) = (1.0 - c - r, 1.0 + c - r);
                let is_inside = right > 0.0 && left > 0.0;
                self.sloping(
                    value,
                    if is_inside {
                        (right * left).powf(-0.5)
                    } else {
                        f64::NAN
                    },
                )
            }
            UnaryOp::Abs if c.abs() > r => Self::new(c.abs(), r),
            UnaryOp::Sign if c.abs() > r => Self::from(c.signum()),
            UnaryOp::Not if r == 0.0 => Self::from(f64::from(c == 0.0)),
            _ => Self::NAN,
        }
    }

    fn power(self, exponent: Self) -> Self {
        self.powf(exponent)
    }

    fn powf(self, exponent: Self) -> Self {
        if exponent.radius == 0.0 {
            return self.fixed_power(exponent.centre);
        }
        (exponent * self.unary(UnaryOp::Log)).unary(UnaryOp::Exp)
    }

    fn angle(self, x: Self) -> Self {
        // The angle is the imaginary part of log(x + i y), and (x dy - y dx)/(x^2 + y^2) its change.
        let size = x.centre.hypot(self.centre);
        let away = size - (x.radius + self.radius);
        let moved = (size + self.radius + x.radius) * (self.radius + x.radius);
        match away > 0.0 {
            true => Self::new(self.centre.atan2(x.centre), moved / (away * away)),
            false => Self::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Taylor coefficients of functions at a point, by intervals of a hundredth of their disc, are within Cauchy's bounds.
    #[test]
    fn coefficients_are_within_the_bounds_of_cauchy() {
        use crate::{Graph, Jet, JetEvaluator, Slot, SymbolId, Tape};
        use std::sync::Arc;
        let functions = [
            UnaryOp::Sqrt,
            UnaryOp::Exp,
            UnaryOp::Log,
            UnaryOp::Sin,
            UnaryOp::Cos,
            UnaryOp::Tan,
            UnaryOp::Asin,
            UnaryOp::Atan,
            UnaryOp::Sinh,
            UnaryOp::Cosh,
            UnaryOp::Tanh,
        ];
        for op in functions {
            let mut graph = Graph::new();
            let x = graph.symbol(SymbolId(0));
            let inner = graph.unary(op, x);
            let product = graph.mul(inner, x);
            let root = graph.div(product, x);
            let tape = Arc::new(Tape::compile(&graph, &[root], |_| Slot::Time));
            for (centre, radius) in [(0.3, 0.1), (0.7, 0.2), (0.5, 0.45)] {
                let mut jet = Jet::new(Arc::clone(&tape), 12);
                let mut disc = crate::PlainJet::<Disc>::new(Arc::clone(&tape), 0);
                jet.inputs_mut().set_time(centre);
                disc.inputs_mut().set_time(Disc::new(centre, radius));
                disc.extend(0).expect("a bound");
                let bound = disc.root(0, 0).radius();
                assert!(bound.is_finite(), "{op:?}");
                for order in 0..=12 {
                    jet.extend(order).expect("a coefficient");
                    let term = jet.root(0, order as usize).abs() * radius.powi(order);
                    assert!(
                        order == 0 || term <= bound,
                        "{op:?} {order}: {term} {bound}"
                    );
                }
            }
        }
    }
}
