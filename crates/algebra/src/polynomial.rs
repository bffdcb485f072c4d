//! Sparse polynomials with integer coefficients.

use crate::integer;
use crate::monomial::Monomial;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::{BTreeMap, HashMap};
use std::ops::{Add, Mul, Neg, Sub};

/// A polynomial with integer coefficients in numbered variables.
///
/// Terms are kept in descending lexicographic order, without zeros: equal polynomials are equal values.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Polynomial {
    terms: Vec<(Monomial, IBig)>,
}

impl Polynomial {
    /// The polynomial 0.
    pub fn zero() -> Self {
        Self::default()
    }

    /// The polynomial 1.
    pub fn one() -> Self {
        Self::constant(IBig::ONE)
    }

    /// A number.
    pub fn constant(value: impl Into<IBig>) -> Self {
        Self::term(Monomial::one(), value.into())
    }

    /// A variable.
    pub fn variable(variable: usize) -> Self {
        Self::term(Monomial::power(variable, 1), IBig::ONE)
    }

    /// One term.
    pub fn term(monomial: Monomial, coefficient: IBig) -> Self {
        let terms = if coefficient.is_zero() {
            Vec::new()
        } else {
            vec![(monomial, coefficient)]
        };
        Self { terms }
    }

    /// The sum of terms in any order; monomials may repeat.
    pub fn from_terms(terms: impl IntoIterator<Item = (Monomial, IBig)>) -> Self {
        let mut terms: Vec<(Monomial, IBig)> = terms.into_iter().collect();
        terms.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        let mut sum: Vec<(Monomial, IBig)> = Vec::with_capacity(terms.len());
        for (monomial, coefficient) in terms {
            match sum.last_mut() {
                Some(last) if last.0 == monomial => last.1 += coefficient,
                _ => {
                    if sum.last().is_some_and(|last| last.1.is_zero()) {
                        sum.pop();
                    }
                    sum.push((monomial, coefficient));
                }
            }
        }
        if sum.last().is_some_and(|last| last.1.is_zero()) {
            sum.pop();
        }
        Self { terms: sum }
    }

    /// Terms that are already in descending order and not zero.
    pub(crate) fn from_sorted(terms: Vec<(Monomial, IBig)>) -> Self {
        debug_assert!(terms.windows(2).all(|pair| pair[0].0 > pair[1].0));
        debug_assert!(terms.iter().all(|term| !term.1.is_zero()));
        Self { terms }
    }

    /// The terms, highest first.
    pub fn terms(&self) -> &[(Monomial, IBig)] {
        &self.terms
    }

    /// Number of terms.
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it is 1.
    pub fn is_one(&self) -> bool {
        self.as_constant().is_some_and(|value| value.is_one())
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<IBig> {
        match self.terms.as_slice() {
            [] => Some(IBig::ZERO),
            [(monomial, value)] if monomial.is_one() => Some(value.clone()),
            _ => None,
        }
    }

    /// Whether no variable occurs.
    pub fn is_constant(&self) -> bool {
        self.terms.iter().all(|term| term.0.is_one())
    }

    /// The highest term; none for 0.
    pub fn leading_term(&self) -> Option<&(Monomial, IBig)> {
        self.terms.first()
    }

    /// The coefficient of the highest term; 0 for 0.
    pub fn leading_number(&self) -> IBig {
        self.terms.first().map_or(IBig::ZERO, |term| term.1.clone())
    }

    /// The degree in a variable; 0 for constants and for 0.
    pub fn degree(&self, variable: usize) -> u16 {
        self.terms
            .iter()
            .map(|term| term.0.exponent(variable))
            .max()
            .unwrap_or(0)
    }

    /// The highest sum of exponents.
    pub fn total_degree(&self) -> u32 {
        self.terms
            .iter()
            .map(|term| term.0.total_degree())
            .max()
            .unwrap_or(0)
    }

    /// The variables that occur, ascending.
    pub fn variables(&self) -> Vec<usize> {
        let mut occurs: Vec<bool> = Vec::new();
        for (monomial, _) in &self.terms {
            let exponents = monomial.exponents();
            if occurs.len() < exponents.len() {
                occurs.resize(exponents.len(), false);
            }
            for (flag, &exponent) in occurs.iter_mut().zip(exponents) {
                *flag |= exponent > 0;
            }
        }
        (0..occurs.len()).filter(|&v| occurs[v]).collect()
    }

    /// The product of variables that divides every term.
    pub fn common_monomial(&self) -> Monomial {
        let mut terms = self.terms.iter();
        let first = terms.next().map(|term| term.0.clone()).unwrap_or_default();
        terms.fold(first, |common, term| common.common(&term.0))
    }

    /// The greatest common divisor of the coefficients, with the sign of the leading one; 0 for 0.
    pub fn integer_content(&self) -> IBig {
        let content = integer::gcd_of_all(self.terms.iter().map(|term| &term.1));
        if integer::is_negative(&self.leading_number()) {
            -content
        } else {
            content
        }
    }

    /// The polynomial without common factors of its coefficients, leading coefficient positive.
    pub fn primitive_over_integers(&self) -> Self {
        let content = self.integer_content();
        if content.is_zero() || content.is_one() {
            return self.clone();
        }
        self.map_coefficients(|c| c / &content)
    }

    /// The largest magnitude of a coefficient.
    pub fn height(&self) -> IBig {
        self.terms
            .iter()
            .map(|term| integer::abs(&term.1))
            .max()
            .unwrap_or(IBig::ZERO)
    }

    /// The coefficients changed one by one.
    pub(crate) fn map_coefficients(&self, f: impl Fn(&IBig) -> IBig) -> Self {
        let terms = self.terms.iter();
        Self {
            terms: terms
                .map(|(monomial, coefficient)| (monomial.clone(), f(coefficient)))
                .filter(|term| !term.1.is_zero())
                .collect(),
        }
    }

    /// The product with a number.
    pub fn scaled(&self, factor: &IBig) -> Self {
        if factor.is_one() {
            return self.clone();
        }
        self.map_coefficients(|c| c * factor)
    }

    /// The product with one term.
    pub fn times_term(&self, monomial: &Monomial, factor: &IBig) -> Self {
        if factor.is_zero() {
            return Self::zero();
        }
        let terms = self.terms.iter();
        Self {
            terms: terms
                .map(|(m, c)| (m.times(monomial), c * factor))
                .collect(),
        }
    }

    /// The power with a whole exponent.
    pub fn pow(&self, exponent: u32) -> Self {
        let mut result = Self::one();
        for _ in 0..exponent {
            result = &result * self;
        }
        result
    }

    /// The coefficients of the powers 0, 1, … of a variable; empty for 0.
    pub fn coefficients(&self, variable: usize) -> Vec<Self> {
        if self.is_zero() {
            return Vec::new();
        }
        let mut coefficients = vec![Self::zero(); usize::from(self.degree(variable)) + 1];
        // Within one power the order of the terms is kept.
        for (monomial, coefficient) in &self.terms {
            coefficients[usize::from(monomial.exponent(variable))]
                .terms
                .push((monomial.without(variable), coefficient.clone()));
        }
        coefficients
    }

    /// The sum of coefficients times powers of a variable that does not occur in them.
    pub fn from_coefficients(variable: usize, coefficients: &[Self]) -> Self {
        let powers = (0u16..).zip(coefficients);
        Self::from_terms(powers.flat_map(|(power, coefficient)| {
            coefficient.terms.iter().map(move |(monomial, number)| {
                let mut monomial = monomial.clone();
                monomial.set(variable, power);
                (monomial, number.clone())
            })
        }))
    }

    /// `scale^(degree / 2)` times the polynomial, written linear in a variable of this degree with
    /// `scale * variable^2 = square`.
    pub fn with_square(&self, variable: usize, square: &Self, scale: &IBig) -> Self {
        let coefficients = self.coefficients(variable);
        if coefficients.len() < 3 {
            return self.clone();
        }
        let half = (coefficients.len() - 1) / 2;
        let mut parts = [Self::zero(), Self::zero()];
        let mut power = Self::one();
        for (k, pair) in coefficients.chunks(2).enumerate() {
            let missing = scale.pow(half - k);
            for (part, coefficient) in parts.iter_mut().zip(pair) {
                if !coefficient.is_zero() {
                    *part = &*part + &(coefficient * &power).scaled(&missing);
                }
            }
            power = &power * square;
        }
        Self::from_coefficients(variable, &parts)
    }

    /// The coefficient of one power of a variable.
    pub fn coefficient(&self, variable: usize, power: u16) -> Self {
        let terms = self.terms.iter();
        Self {
            terms: terms
                .filter(|term| term.0.exponent(variable) == power)
                .map(|(monomial, coefficient)| (monomial.without(variable), coefficient.clone()))
                .collect(),
        }
    }

    /// The coefficient of the highest power of a variable.
    pub fn leading_coefficient(&self, variable: usize) -> Self {
        self.coefficient(variable, self.degree(variable))
    }

    /// The partial derivative.
    pub fn derivative(&self, variable: usize) -> Self {
        Self::from_terms(self.terms.iter().filter_map(|(monomial, coefficient)| {
            let power = monomial.exponent(variable);
            let mut lower = monomial.clone();
            lower.set(variable, power.checked_sub(1)?);
            Some((lower, coefficient * IBig::from(power)))
        }))
    }

    /// The polynomial with a whole number for a variable.
    pub fn at(&self, variable: usize, value: &IBig) -> Self {
        let degree = usize::from(self.degree(variable));
        if degree == 0 {
            return self.clone();
        }
        let mut powers = vec![IBig::ONE];
        for _ in 0..degree {
            powers.push(powers.last().unwrap_or(&IBig::ONE) * value);
        }
        Self::from_terms(self.terms.iter().filter_map(|(monomial, coefficient)| {
            let power = &powers[usize::from(monomial.exponent(variable))];
            (!power.is_zero()).then(|| (monomial.without(variable), coefficient * power))
        }))
    }

    /// The polynomial with another one for a variable.
    pub fn substitute(&self, variable: usize, value: &Self) -> Self {
        let coefficients = self.coefficients(variable);
        let mut result = Self::zero();
        for coefficient in coefficients.iter().rev() {
            result = &(&result * value) + coefficient;
        }
        result
    }

    /// The exact value at rational numbers: the sum of c n^e d^(degree - e) for values n / d, over one denominator.
    pub fn evaluate(&self, value: impl Fn(usize) -> RBig) -> RBig {
        let mut denominator = UBig::ONE;
        let mut powers: Vec<(usize, Vec<IBig>)> = Vec::new();
        for variable in self.variables() {
            let (n, d) = value(variable).into_parts();
            let degree = usize::from(self.degree(variable));
            let mut top = vec![IBig::ONE];
            let mut bottom = vec![UBig::ONE];
            for power in 0..degree {
                top.push(&top[power] * &n);
                bottom.push(&bottom[power] * &d);
            }
            let products = top.into_iter().zip(bottom.iter().rev());
            powers.push((variable, products.map(|(n, d)| n * d).collect()));
            denominator *= &bottom[degree];
        }
        let mut sum = IBig::ZERO;
        for (monomial, coefficient) in &self.terms {
            let factor = |(variable, powers): &(usize, Vec<IBig>)| {
                powers[usize::from(monomial.exponent(*variable))].clone()
            };
            let factors = powers.iter().map(factor);
            sum += factors.fold(coefficient.clone(), |term, factor| term * factor);
        }
        RBig::from_parts(sum, denominator)
    }

    /// The value in double precision.
    pub fn evaluate_f64(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.terms
            .iter()
            .map(|(monomial, coefficient)| {
                let powers = monomial.exponents().iter().enumerate();
                powers
                    .filter(|&(_, &exponent)| exponent > 0)
                    .map(|(variable, &exponent)| value(variable).powi(exponent.into()))
                    .fold(integer::to_f64(coefficient), |a, b| a * b)
            })
            .sum()
    }

    /// The polynomial with variables renamed; different variables must get different names.
    pub fn renamed(&self, name: impl Fn(usize) -> usize) -> Self {
        Self::from_terms(self.terms.iter().map(|(monomial, coefficient)| {
            let mut renamed = Monomial::one();
            for (variable, &exponent) in monomial.exponents().iter().enumerate() {
                if exponent > 0 {
                    renamed.set(name(variable), exponent);
                }
            }
            (renamed, coefficient.clone())
        }))
    }

    /// `self + other`, or `self - other`, by merging.
    fn merge(&self, other: &Self, negate: bool) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let signed = |c: &IBig| if negate { -c } else { c.clone() };
        loop {
            match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let sum = if negate { &a.1 - &b.1 } else { &a.1 + &b.1 };
                    if !sum.is_zero() {
                        terms.push((a.0.clone(), sum));
                    }
                    left.next();
                    right.next();
                }
                (Some(a), b) if b.is_none_or(|b| a.0 > b.0) => {
                    terms.push((*a).clone());
                    left.next();
                }
                (_, Some(b)) => {
                    terms.push((b.0.clone(), signed(&b.1)));
                    right.next();
                }
                (_, None) => break,
            }
        }
        Self { terms }
    }
}

impl Add for &Polynomial {
    type Output = Polynomial;
    fn add(self, other: &Polynomial) -> Polynomial {
        self.merge(other, false)
    }
}

impl Sub for &Polynomial {
    type Output = Polynomial;
    fn sub(self, other: &Polynomial) -> Polynomial {
        self.merge(other, true)
    }
}

impl Neg for &Polynomial {
    type Output = Polynomial;
    fn neg(self) -> Polynomial {
        self.map_coefficients(|c| -c)
    }
}

impl Mul for &Polynomial {
    type Output = Polynomial;
    fn mul(self, other: &Polynomial) -> Polynomial {
        let (long, short) = if self.n_terms() >= other.n_terms() {
            (self, other)
        } else {
            (other, self)
        };
        match short.terms.as_slice() {
            [] => Polynomial::zero(),
            [(monomial, coefficient)] => long.times_term(monomial, coefficient),
            _ => {
                let mut sums: HashMap<Monomial, IBig> = HashMap::with_capacity(2 * long.n_terms());
                for (m, c) in &short.terms {
                    for (n, d) in &long.terms {
                        *sums.entry(m.times(n)).or_insert(IBig::ZERO) += c * d;
                    }
                }
                let mut terms: Vec<_> = sums.into_iter().filter(|t| !t.1.is_zero()).collect();
                terms.sort_unstable_by(|a, b| b.0.cmp(&a.0));
                Polynomial { terms }
            }
        }
    }
}

/// A sum that changes often, ordered by monomial.
#[derive(Default)]
pub(crate) struct Accumulator(BTreeMap<Monomial, IBig>);

impl Accumulator {
    pub(crate) fn new(polynomial: &Polynomial) -> Self {
        Self(polynomial.terms.iter().cloned().collect())
    }

    /// Takes the highest term out.
    pub(crate) fn pop(&mut self) -> Option<(Monomial, IBig)> {
        self.0.pop_last()
    }

    pub(crate) fn subtract(&mut self, monomial: Monomial, value: IBig) {
        use std::collections::btree_map::Entry;
        match self.0.entry(monomial) {
            Entry::Vacant(entry) => {
                entry.insert(-value);
            }
            Entry::Occupied(mut entry) => {
                *entry.get_mut() -= value;
                if entry.get().is_zero() {
                    entry.remove();
                }
            }
        }
    }
}
