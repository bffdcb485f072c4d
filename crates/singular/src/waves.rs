//! Trigonometric polynomials: sums of cosines and sines of whole combinations of angles.

use crate::ring::Ring;
use daelight_algebra::{IBig, Polynomial, gcd, integer};
use std::collections::BTreeMap;

/// Whole multiples of the angles, without zeros at the end; the first that is not 0 is positive.
pub type Multiples = Vec<i32>;

/// Sum over k of a_k cos(k·y) + b_k sin(k·y): equation (1) of `docs/theory/configurations.md`. The coefficients are
/// polynomials in everything that is not an angle. Cosines and sines of different k are independent functions, so that
/// equal functions are equal values.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Waves {
    terms: BTreeMap<Multiples, [Polynomial; 2]>,
}

impl From<Polynomial> for Waves {
    fn from(p: Polynomial) -> Self {
        let mut waves = Self::default();
        waves.add(Vec::new(), [p, Polynomial::zero()]);
        waves
    }
}

impl Waves {
    /// The cosine and the sine of a combination of angles.
    pub(crate) fn unit(mut multiples: Vec<i32>) -> [Self; 2] {
        while multiples.last() == Some(&0) {
            multiples.pop();
        }
        let negative = multiples.iter().find(|k| **k != 0).is_some_and(|k| *k < 0);
        if negative {
            multiples.iter_mut().for_each(|k| *k = -*k);
        }
        let one = Polynomial::one();
        let sine = if negative { -&one } else { one.clone() };
        let [mut c, mut s] = [Self::default(), Self::default()];
        c.add(multiples.clone(), [one, Polynomial::zero()]);
        s.add(multiples, [Polynomial::zero(), sine]);
        [c, s]
    }

    fn add(&mut self, multiples: Multiples, parts: [Polynomial; 2]) {
        let [cosine, sine] = parts;
        // The sine of no angle is 0.
        let sine = if multiples.is_empty() {
            Polynomial::zero()
        } else {
            sine
        };
        let sum = match self.terms.remove(&multiples) {
            None => [cosine, sine],
            Some([c, s]) => [&c + &cosine, &s + &sine],
        };
        if sum.iter().any(|p| !p.is_zero()) {
            self.terms.insert(multiples, sum);
        }
    }

    /// The terms: for each k the coefficients of cos(k·y) and sin(k·y).
    pub fn terms(&self) -> impl Iterator<Item = (&Multiples, &[Polynomial; 2])> {
        self.terms.iter()
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The polynomial, when no angle occurs.
    pub fn as_polynomial(&self) -> Option<Polynomial> {
        match self.terms.len() {
            0 => Some(Polynomial::zero()),
            1 => self.terms.get(&Vec::new()).map(|parts| parts[0].clone()),
            _ => None,
        }
    }

    /// Number of terms of all coefficients.
    pub fn n_terms(&self) -> usize {
        let parts = self.terms.values().flatten();
        parts.map(Polynomial::n_terms).sum()
    }

    /// All coefficients changed.
    pub(crate) fn map(&self, f: impl Fn(&Polynomial) -> Polynomial) -> Self {
        let mut result = Self::default();
        for (multiples, parts) in &self.terms {
            result.add(multiples.clone(), [f(&parts[0]), f(&parts[1])]);
        }
        result
    }

    /// The same function in angles that are multiples of the present ones: each multiple is divided by a divisor of all,
    /// and angles with the divisor 0 do not occur.
    pub(crate) fn in_angles(&self, divisors: &[u32]) -> Self {
        let mut result = Self::default();
        for (multiples, parts) in &self.terms {
            let mut next: Multiples = multiples
                .iter()
                .zip(divisors)
                .filter(|(_, divisor)| **divisor != 0)
                .map(|(multiple, &divisor)| multiple / divisor.cast_signed())
                .collect();
            while next.last() == Some(&0) {
                next.pop();
            }
            result.add(next, parts.clone());
        }
        result
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (multiples, parts) in &other.terms {
            sum.add(multiples.clone(), parts.clone());
        }
        sum
    }

    pub(crate) fn negated(&self) -> Self {
        self.map(|p| -p)
    }

    /// The product, and the number that it was multiplied by to stay over the integers.
    pub(crate) fn times(&self, other: &Self) -> (Self, u8) {
        if let Some(p) = other.as_polynomial() {
            return (self.map(|q| q * &p), 1);
        }
        if let Some(p) = self.as_polynomial() {
            return (other.map(|q| q * &p), 1);
        }
        // 2 cos a cos b = cos(a-b) + cos(a+b), 2 sin a sin b = cos(a-b) - cos(a+b), 2 sin a cos b = sin(a+b) + sin(a-b)
        let mut result = Self::default();
        for (k, [a, b]) in &self.terms {
            for (l, [c, d]) in &other.terms {
                let (ac, bd, ad, bc) = (a * c, b * d, a * d, b * c);
                for (sign, cosine, sine) in [(1, &ac - &bd, &ad + &bc), (-1, &ac + &bd, &bc - &ad)]
                {
                    let mut sum = k.clone();
                    sum.resize(k.len().max(l.len()), 0);
                    for (s, &other) in sum.iter_mut().zip(l) {
                        *s += sign * other;
                    }
                    let [unit_cosine, unit_sine] = Self::unit(sum);
                    result = result
                        .plus(&unit_cosine.map(|p| p * &cosine))
                        .plus(&unit_sine.map(|p| p * &sine));
                }
            }
        }
        (result, 2)
    }

    /// The terms of one k.
    pub(crate) fn only(&self, multiples: &Multiples) -> Self {
        let mut result = Self::default();
        if let Some(parts) = self.terms.get(multiples) {
            result.add(multiples.clone(), parts.clone());
        }
        result
    }

    /// The derivative by an angle.
    pub fn derivative(&self, angle: usize) -> Self {
        let mut result = Self::default();
        for (multiples, [a, b]) in &self.terms {
            let k = IBig::from(multiples.get(angle).copied().unwrap_or(0));
            if !k.is_zero() {
                result.add(multiples.clone(), [b.scaled(&k), -&a.scaled(&k)]);
            }
        }
        result
    }

    /// Without the greatest common divisor of all coefficients of products of positions: no unknown is divided by.
    pub(crate) fn primitive(&self, ring: &Ring) -> Self {
        let mut common = Polynomial::zero();
        for p in self.terms.values().flatten() {
            for part in by_positions(p, ring).into_values() {
                common = gcd(&common, &part);
                if common.is_one() {
                    return self.clone();
                }
            }
        }
        if common.is_zero() {
            return self.clone();
        }
        self.map(|p| p.divide_exactly(&common).unwrap_or_else(|| p.clone()))
    }

    /// The greatest common divisor of all numbers; 0 for 0.
    fn numbers(&self) -> IBig {
        let mut common = IBig::ZERO;
        for p in self.terms.values().flatten() {
            common = integer::gcd(&common, &p.integer_content());
        }
        common
    }
}

/// The coefficients of the products of positions in a polynomial.
pub(crate) fn by_positions(
    p: &Polynomial,
    ring: &Ring,
) -> BTreeMap<daelight_algebra::Monomial, Polynomial> {
    let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (monomial, number) in p.terms() {
        let mut positions = daelight_algebra::Monomial::one();
        let mut rest = monomial.clone();
        for (variable, &exponent) in monomial.exponents().iter().enumerate() {
            if exponent > 0 && ring.is_unknown(variable) {
                positions.set(variable, exponent);
                rest.set(variable, 0);
            }
        }
        parts
            .entry(positions)
            .or_default()
            .push((rest, number.clone()));
    }
    parts
        .into_iter()
        .map(|(positions, terms)| (positions, Polynomial::from_terms(terms)))
        .collect()
}

/// A quotient of trigonometric polynomials; the denominator is not the function 0.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Quotient {
    pub top: Waves,
    pub bottom: Waves,
}

impl From<Polynomial> for Quotient {
    fn from(p: Polynomial) -> Self {
        Self {
            top: p.into(),
            bottom: Polynomial::one().into(),
        }
    }
}

impl Quotient {
    /// Lowest terms as far as numbers go.
    pub fn new(top: Waves, bottom: Waves, ring: &Ring) -> Self {
        let (top, bottom) = (top.map(|p| ring.reduce(p)), bottom.map(|p| ring.reduce(p)));
        let common = integer::gcd(&top.numbers(), &bottom.numbers());
        if common.is_zero() || common.is_one() {
            return Self { top, bottom };
        }
        let common = Polynomial::constant(common);
        let reduced = |w: &Waves| w.map(|p| p.divide_exactly(&common).expect("a divisor divides"));
        Self {
            top: reduced(&top),
            bottom: reduced(&bottom),
        }
    }

    pub fn plus(&self, other: &Self, ring: &Ring) -> Self {
        if self.bottom == other.bottom {
            return Self::new(self.top.plus(&other.top), self.bottom.clone(), ring);
        }
        let (left, a) = self.top.times(&other.bottom);
        let (right, b) = other.top.times(&self.bottom);
        let (bottom, c) = self.bottom.times(&other.bottom);
        // left / a + right / b over bottom / c
        let scaled = |w: &Waves, n: u8| w.map(|p| p.scaled(&IBig::from(n)));
        let top = scaled(&left, b).plus(&scaled(&right, a));
        Self::new(scaled(&top, c), scaled(&bottom, a * b), ring)
    }

    pub fn negated(&self) -> Self {
        Self {
            top: self.top.negated(),
            bottom: self.bottom.clone(),
        }
    }

    pub fn times(&self, other: &Self, ring: &Ring) -> Self {
        let (top, a) = self.top.times(&other.top);
        let (bottom, b) = self.bottom.times(&other.bottom);
        let scaled = |w: &Waves, n: u8| w.map(|p| p.scaled(&IBig::from(n)));
        Self::new(scaled(&top, b), scaled(&bottom, a), ring)
    }

    /// The quotient; `None` when the other is 0.
    pub fn over(&self, other: &Self, ring: &Ring) -> Option<Self> {
        if other.top.is_zero() {
            return None;
        }
        let inverse = Self {
            top: other.bottom.clone(),
            bottom: other.top.clone(),
        };
        Some(self.times(&inverse, ring))
    }

    /// Numerator and denominator, when no angle occurs and the denominator is a number, made positive.
    pub fn as_polynomial(&self) -> Option<(Polynomial, IBig)> {
        let bottom = self.bottom.as_polynomial()?.as_constant()?;
        let top = self.top.as_polynomial()?;
        Some(if integer::is_negative(&bottom) {
            (-&top, -bottom)
        } else {
            (top, bottom)
        })
    }
}
