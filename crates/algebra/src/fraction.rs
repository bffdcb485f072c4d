//! Quotients of polynomials.

use crate::gcd::gcd;
use crate::integer;
use crate::polynomial::Polynomial;
use dashu_int::IBig;
use dashu_ratio::RBig;

/// A quotient of polynomials in lowest terms, the leading coefficient of the denominator positive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fraction {
    numerator: Polynomial,
    denominator: Polynomial,
}

impl From<Polynomial> for Fraction {
    fn from(numerator: Polynomial) -> Self {
        Self {
            numerator,
            denominator: Polynomial::one(),
        }
    }
}

impl Fraction {
    /// A rational number.
    pub fn number(value: &RBig) -> Self {
        Self {
            numerator: Polynomial::constant(value.numerator().clone()),
            denominator: Polynomial::constant(IBig::from(value.denominator().clone())),
        }
    }

    /// `numerator / denominator` in lowest terms; `None` when the denominator is 0.
    pub fn new(numerator: Polynomial, denominator: Polynomial) -> Option<Self> {
        if denominator.is_zero() {
            return None;
        }
        let common = gcd(&numerator, &denominator);
        let reduce = |p: &Polynomial| quotient(p, &common);
        let (mut numerator, mut denominator) = (reduce(&numerator), reduce(&denominator));
        if integer::is_negative(&denominator.leading_number()) {
            (numerator, denominator) = (-&numerator, -&denominator);
        }
        Some(Self {
            numerator,
            denominator,
        })
    }

    /// What is divided.
    pub fn numerator(&self) -> &Polynomial {
        &self.numerator
    }

    /// By what it is divided; never 0.
    pub fn denominator(&self) -> &Polynomial {
        &self.denominator
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a + b)
    }

    /// The difference.
    pub fn minus(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a - b)
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        Self::lowest(
            &self.numerator * &other.numerator,
            &self.denominator * &other.denominator,
        )
    }

    /// The quotient; `None` when the other is 0.
    pub fn over(&self, other: &Self) -> Option<Self> {
        Self::new(
            &self.numerator * &other.denominator,
            &self.denominator * &other.numerator,
        )
    }

    /// `-self`.
    pub fn negated(&self) -> Self {
        Self {
            numerator: -&self.numerator,
            denominator: self.denominator.clone(),
        }
    }

    fn combine(&self, other: &Self, join: impl Fn(&Polynomial, &Polynomial) -> Polynomial) -> Self {
        if self.denominator == other.denominator {
            return Self::lowest(
                join(&self.numerator, &other.numerator),
                self.denominator.clone(),
            );
        }
        let common = gcd(&self.denominator, &other.denominator);
        let mine = quotient(&self.denominator, &common);
        let theirs = quotient(&other.denominator, &common);
        Self::lowest(
            join(&(&self.numerator * &theirs), &(&other.numerator * &mine)),
            &self.denominator * &theirs,
        )
    }

    /// Lowest terms of a quotient whose denominator is not 0.
    fn lowest(numerator: Polynomial, denominator: Polynomial) -> Self {
        if denominator.is_one() {
            return Self::from(numerator);
        }
        Self::new(numerator, denominator).expect("products of denominators are not 0")
    }
}

/// `a / b` for a divisor b of a.
fn quotient(a: &Polynomial, b: &Polynomial) -> Polynomial {
    a.divide_exactly(b).expect("a common divisor divides")
}
