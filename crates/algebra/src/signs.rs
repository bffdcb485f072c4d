//! Signs of polynomials where some variables are positive: section 10 of `docs/theory/algebra.md`.

use crate::groebner::Basis;
use crate::integer;
use crate::polynomial::Polynomial;

/// What is known of the sign of a polynomial at real points where some variables are positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Above zero everywhere.
    Positive,
    /// Below zero everywhere.
    Negative,
    /// Zero everywhere.
    Zero,
    /// These rules do not tell; it may change.
    Unknown,
}

/// The sign of a sum of terms of one sign: products of positive variables have one, and even powers of others are not
/// negative; at least one term must be written in positive variables alone.
pub fn sign(f: &Polynomial, positive: &[usize]) -> Sign {
    if f.is_zero() {
        return Sign::Zero;
    }
    let negative = integer::is_negative(&f.leading_number());
    let mut is_strict = false;
    for (monomial, coefficient) in f.terms() {
        let mut others = monomial
            .exponents()
            .iter()
            .enumerate()
            .filter(|&(v, &exponent)| exponent > 0 && !positive.contains(&v))
            .peekable();
        is_strict |= others.peek().is_none();
        let is_even = others.all(|(_, exponent)| exponent % 2 == 0);
        if !is_even || integer::is_negative(coefficient) != negative {
            return Sign::Unknown;
        }
    }
    match (is_strict, negative) {
        (false, _) => Sign::Unknown,
        (true, false) => Sign::Positive,
        (true, true) => Sign::Negative,
    }
}

/// An element of a basis that has a sign, if one is found: then the ideal has no real point at which the variables are
/// positive. Finding none proves nothing.
pub fn contradiction(basis: &Basis, positive: &[usize]) -> Option<Polynomial> {
    let has_sign = |f: &&Polynomial| matches!(sign(f, positive), Sign::Positive | Sign::Negative);
    basis.elements().iter().find(has_sign).cloned()
}
