//! Polynomials in one variable with whole coefficients, and their real roots.

use super::enclosure::Enclosure;
use crate::groebner::{Budget, OutOfBudget};
use crate::integer;
use crate::{Monomial, Polynomial};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::cmp::Ordering;

/// A polynomial in one variable, lowest coefficient first, the last one not 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Univariate(Vec<IBig>);

impl Univariate {
    /// From coefficients, lowest first.
    pub fn new(mut coefficients: Vec<IBig>) -> Self {
        while coefficients.last().is_some_and(IBig::is_zero) {
            coefficients.pop();
        }
        Self(coefficients)
    }

    /// A multiple of the polynomial with these coefficients, from the constant one on.
    pub fn of_rationals(coefficients: &[RBig]) -> Self {
        let common = coefficients.iter().fold(IBig::ONE, |product, number| {
            let denominator = IBig::from(number.denominator().clone());
            let shared = integer::gcd(&product, &denominator);
            product * (denominator / shared)
        });
        let whole = |number: &RBig| (number * RBig::from(common.clone())).numerator().clone();
        Self::new(coefficients.iter().map(whole).collect())
    }

    /// The coefficients, lowest first.
    pub fn coefficients(&self) -> &[IBig] {
        &self.0
    }

    /// The degree; 0 for the polynomial 0.
    pub fn degree(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Whether this is the polynomial 0.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// As a polynomial in variable 0.
    pub fn to_polynomial(&self) -> Polynomial {
        Polynomial::from_terms(
            (self.0.iter().enumerate())
                .map(|(power, c)| (Monomial::power(0, power as u16), c.clone())),
        )
    }

    /// From a polynomial in variable 0 alone.
    pub fn from_polynomial(polynomial: &Polynomial) -> Self {
        let mut coefficients = vec![IBig::ZERO; usize::from(polynomial.degree(0)) + 1];
        for (monomial, coefficient) in polynomial.terms() {
            coefficients[usize::from(monomial.exponent(0))] = coefficient.clone();
        }
        Self::new(coefficients)
    }

    /// The derivative.
    pub fn derivative(&self) -> Self {
        Self::new(
            (self.0.iter().enumerate().skip(1))
                .map(|(power, c)| c * IBig::from(power))
                .collect(),
        )
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::default();
        }
        let mut product = vec![IBig::ZERO; self.0.len() + other.0.len() - 1];
        for (i, a) in self.0.iter().enumerate() {
            for (j, b) in other.0.iter().enumerate() {
                product[i + j] += a * b;
            }
        }
        Self::new(product)
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        let (longer, shorter) = if self.0.len() >= other.0.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut sum = longer.0.clone();
        for (a, b) in sum.iter_mut().zip(&shorter.0) {
            *a += b;
        }
        Self::new(sum)
    }

    /// The product with a whole number.
    pub fn scaled(&self, factor: &IBig) -> Self {
        Self::new(self.0.iter().map(|c| c * factor).collect())
    }

    /// The polynomial or its negative, whichever has a positive leading coefficient.
    pub(super) fn with_positive_lead(self) -> Self {
        match self.0.last() {
            Some(lead) if integer::is_negative(lead) => self.scaled(&IBig::from(-1)),
            _ => self,
        }
    }

    /// The remainder of the division of a multiple of this polynomial, and what it is multiplied by: a power of the leading
    /// coefficient of the divisor.
    pub(super) fn pseudo_remainder(&self, divisor: &Self) -> (Self, IBig) {
        let (top, lower) = divisor.0.split_last().expect("a divisor is not 0");
        let mut rest = self.0.clone();
        let mut factor = IBig::ONE;
        while rest.len() > lower.len() {
            let Some(lead) = rest.pop() else { break };
            if lead.is_zero() {
                continue;
            }
            if !top.is_one() {
                rest.iter_mut().for_each(|a| *a *= top);
                factor *= top;
            }
            let shift = rest.len() - lower.len();
            for (a, b) in rest[shift..].iter_mut().zip(lower) {
                *a -= &lead * b;
            }
        }
        (Self::new(rest), factor)
    }

    /// p(factor x), divided by what its coefficients have in common, with a positive leading coefficient.
    pub(super) fn stretched(&self, factor: &IBig) -> Self {
        let mut power = IBig::ONE;
        let mut coefficients = Vec::with_capacity(self.0.len());
        for c in &self.0 {
            coefficients.push(c * &power);
            power *= factor;
        }
        Self::new(coefficients)
            .divided_by_content()
            .with_positive_lead()
    }

    fn divided_by_content(self) -> Self {
        let common = integer::gcd_of_all(&self.0);
        if common.is_zero() || common.is_one() {
            return self;
        }
        Self(self.0.iter().map(|c| c / &common).collect())
    }

    /// The greatest common divisor, primitive.
    pub fn gcd(&self, other: &Self) -> Self {
        Self::from_polynomial(&crate::gcd(&self.to_polynomial(), &other.to_polynomial()))
    }

    /// The sign at mantissa 2^exponent.
    pub fn sign_at(&self, mantissa: &IBig, exponent: i64) -> Ordering {
        // Horner's rule on 2^(-exponent degree) p: all numbers stay whole.
        let mut value = IBig::ZERO;
        let step = exponent.unsigned_abs() as usize;
        for (below_top, c) in self.0.iter().rev().enumerate() {
            if exponent >= 0 {
                value = ((value * mantissa) << step) + c;
            } else {
                value = value * mantissa + (c << (step * below_top));
            }
        }
        value.cmp(&IBig::ZERO)
    }

    /// An enclosure of the values on an interval.
    pub fn enclose(&self, x: &Enclosure) -> Enclosure {
        let bits = x.bits();
        let mut value = Enclosure::whole(&IBig::ZERO, bits);
        for c in self.0.iter().rev() {
            value = value.times(x).plus(&Enclosure::whole(c, bits));
        }
        value
    }

    /// The real roots of a squarefree polynomial in ascending order, each in an interval of its own.
    ///
    /// Bisection with Descartes' rule of signs (Collins and Akritas 1976): (6) of `docs/theory/real-points.md`.
    pub fn real_roots(&self, budget: &Budget) -> Result<Vec<Root>, OutOfBudget> {
        let mut roots = Vec::new();
        if self.degree() == 0 {
            return Ok(roots);
        }
        let mut f = self.clone();
        if f.0[0].is_zero() {
            f.0.remove(0);
            roots.push(Root::exact(IBig::ZERO, 0));
        }
        let bound = f.root_bound();
        f.positive_roots(bound, budget, |mantissa, exponent, is_exact| {
            roots.push(Root {
                mantissa,
                exponent,
                is_exact,
            });
        })?;
        let mirrored = Self(
            (f.0.iter().enumerate())
                .map(|(power, c)| if power % 2 == 0 { c.clone() } else { -c })
                .collect(),
        );
        mirrored.positive_roots(bound, budget, |mantissa, exponent, is_exact| {
            let mantissa = if is_exact {
                -mantissa
            } else {
                -(mantissa + IBig::ONE)
            };
            roots.push(Root {
                mantissa,
                exponent,
                is_exact,
            });
        })?;
        roots.sort_by(|a, b| a.compare(b));
        Ok(roots)
    }

    /// b such that all roots are smaller than 2^b in magnitude: 2 max |c_(n-k) / c_n|^(1/k) (Fujiwara 1916).
    fn root_bound(&self) -> i64 {
        let length = |c: &IBig| integer::bit_length(c) as i64;
        let (top, others) = self
            .0
            .split_last()
            .expect("a root bound is of a polynomial with roots");
        let lower = (1i64..)
            .zip(others.iter().rev())
            .filter(|(_, c)| !c.is_zero());
        // |c_(n-k) / c_n| < 2^(length - length of c_n + 1).
        let bounds = lower.map(|(k, c)| (length(c) - length(top) + 1).div_euclid(k) + 1);
        bounds.max().map_or(1, |bound| bound + 1)
    }

    /// Calls `found` with the roots in (0, 2^bound).
    fn positive_roots(
        &self,
        bound: i64,
        budget: &Budget,
        mut found: impl FnMut(IBig, i64, bool),
    ) -> Result<(), OutOfBudget> {
        let n = self.degree();
        if n == 0 {
            return Ok(());
        }
        // q(x) = p(2^bound x), times a power of 2 if the bound is below 1: its roots in (0, 1) are wanted.
        let step = bound.unsigned_abs() as usize;
        let scaled = self.0.iter().enumerate();
        let scaled: Vec<IBig> = scaled
            .map(|(power, c)| c << (step * if bound < 0 { n - power } else { power }))
            .collect();
        let mut open = vec![(IBig::ZERO, 0i64, scaled)];
        while let Some((place, depth, q)) = open.pop() {
            match variations_on_unit_interval(&q, budget)? {
                0 => continue,
                1 => {
                    found(place, bound - depth, false);
                    continue;
                }
                _ => {}
            }
            // 2^n q(x/2): the two halves are (0, 1) and (1, 2).
            let lower: Vec<IBig> = (q.iter().enumerate())
                .map(|(power, c)| c << (n - power.min(n)))
                .collect();
            let mut upper = lower.clone();
            shift_by_one(&mut upper, budget)?;
            let middle = (&place << 1usize) + IBig::ONE;
            if upper[0].is_zero() {
                found(middle.clone(), bound - depth - 1, true);
            }
            open.push((middle, depth + 1, upper));
            open.push((place << 1usize, depth + 1, lower));
        }
        Ok(())
    }
}

/// p(x + 1) in place.
fn shift_by_one(p: &mut [IBig], budget: &Budget) -> Result<(), OutOfBudget> {
    let n = p.len();
    for first in 0..n {
        budget.check_time()?;
        for i in (first..n - 1).rev() {
            let (lower, upper) = p.split_at_mut(i + 1);
            lower[i] += &upper[0];
        }
    }
    Ok(())
}

/// Sign variations of (1 + x)^n q(1/(1 + x)): the roots in (0, 1), or an even number more.
fn variations_on_unit_interval(q: &[IBig], budget: &Budget) -> Result<usize, OutOfBudget> {
    let mut p: Vec<IBig> = q.iter().rev().cloned().collect();
    shift_by_one(&mut p, budget)?;
    let signs = p.iter().filter(|c| !c.is_zero()).map(integer::is_negative);
    let mut last = None;
    let mut variations = 0;
    for sign in signs {
        variations += usize::from(last.is_some_and(|last| last != sign));
        last = Some(sign);
    }
    Ok(variations)
}

/// A real root: mantissa 2^exponent itself, or the only root in the open interval from there to (mantissa + 1) 2^exponent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    mantissa: IBig,
    exponent: i64,
    is_exact: bool,
}

impl Root {
    fn exact(mantissa: IBig, exponent: i64) -> Self {
        Self {
            mantissa,
            exponent,
            is_exact: true,
        }
    }

    /// Halves the interval until its width is at most 2^-bits.
    pub fn refine(
        &mut self,
        f: &Univariate,
        bits: usize,
        budget: &Budget,
    ) -> Result<(), OutOfBudget> {
        if self.is_exact || self.exponent <= -(bits as i64) {
            return Ok(());
        }
        let below = self.sign_inside(f, &self.mantissa, false);
        while self.exponent > -(bits as i64) {
            budget.check_time()?;
            self.mantissa <<= 1usize;
            self.exponent -= 1;
            let middle = &self.mantissa + IBig::ONE;
            match f.sign_at(&middle, self.exponent) {
                Ordering::Equal => {
                    *self = Self::exact(middle, self.exponent);
                    return Ok(());
                }
                sign if sign == below => self.mantissa = middle,
                _ => {}
            }
        }
        Ok(())
    }

    /// The sign of `f` inside the interval next to one of its ends; `f` has no repeated root there.
    fn sign_inside(&self, f: &Univariate, end: &IBig, is_upper: bool) -> Ordering {
        match f.sign_at(end, self.exponent) {
            Ordering::Equal => {
                let slope = f.derivative().sign_at(end, self.exponent);
                if is_upper { slope.reverse() } else { slope }
            }
            sign => sign,
        }
    }

    /// The ends of the interval, which are equal for a root that is known exactly.
    pub fn ends(&self) -> [RBig; 2] {
        let upper = &self.mantissa + IBig::from(u8::from(!self.is_exact));
        let shift = self.exponent.unsigned_abs() as usize;
        [self.mantissa.clone(), upper].map(|mantissa| {
            if self.exponent >= 0 {
                RBig::from(mantissa << shift)
            } else {
                RBig::from_parts(mantissa, UBig::ONE << shift)
            }
        })
    }

    /// Whether a divisor of the polynomial vanishes at this root of it.
    pub fn is_root_of(&self, divisor: &Univariate) -> bool {
        if divisor.degree() == 0 {
            return divisor.is_zero();
        }
        if self.is_exact {
            return divisor.sign_at(&self.mantissa, self.exponent) == Ordering::Equal;
        }
        let upper = &self.mantissa + IBig::ONE;
        self.sign_inside(divisor, &self.mantissa, false) != self.sign_inside(divisor, &upper, true)
    }

    /// An enclosure with the given number of bits.
    pub fn enclosure(&self, bits: usize) -> Enclosure {
        Enclosure::dyadic(
            &self.mantissa,
            u8::from(!self.is_exact),
            self.exponent,
            bits,
        )
    }

    /// By position; intervals of different roots do not overlap, except for ends that are roots themselves.
    fn compare(&self, other: &Self) -> Ordering {
        let low = self.exponent.min(other.exponent);
        // Twice the middle, in units of 2^low.
        let middle = |root: &Self| {
            let shift = (root.exponent - low) as usize;
            ((&root.mantissa << 1usize) + IBig::from(u8::from(!root.is_exact))) << shift
        };
        middle(self).cmp(&middle(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn from_roots(roots: &[(i64, i64)]) -> Univariate {
        roots.iter().fold(
            Univariate::new(vec![IBig::ONE]),
            |product, &(numerator, denominator)| {
                let factor = Univariate::new(vec![(-numerator).into(), denominator.into()]);
                product.times(&factor)
            },
        )
    }

    #[test]
    fn planted_rational_roots_are_found_and_no_others() {
        let mut random = Random::new(3);
        let budget = Budget::default();
        for case in 0..300 {
            let mut roots: Vec<(i64, i64)> = (0..1 + random.below(8))
                .map(|_| (random.within(60), 1 + random.below(16) as i64))
                .collect();
            roots.sort_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)));
            roots.dedup_by(|a, b| a.0 * b.1 == b.0 * a.1);
            // A factor without real roots is no obstacle.
            let no_roots = Univariate::new(vec![(1 + random.below(9)).into(), 0.into(), 1.into()]);
            let f = from_roots(&roots).times(&no_roots);
            let found = f.real_roots(&budget).expect("there is time");
            assert_eq!(found.len(), roots.len(), "case {case}: {roots:?}");
            for (mut root, (numerator, denominator)) in found.into_iter().zip(roots) {
                root.refine(&f, 80, &budget).expect("there is time");
                let enclosure = root.enclosure(90);
                assert!(enclosure.is_within(79));
                let error = enclosure.middle() - numerator as f64 / denominator as f64;
                assert!(error.abs() < 1e-14, "case {case}");
            }
        }
    }

    #[test]
    fn roots_of_all_sizes_are_within_the_bound() {
        // (2^k x - 1)(2^k x + 3)(x^2 + 1) and its mirror image: tiny and huge roots.
        for k in [1usize, 40, 400] {
            let power = IBig::ONE << k;
            let tiny = Univariate::new(vec![(-1).into(), power.clone()])
                .times(&Univariate::new(vec![3.into(), power.clone()]));
            let huge = Univariate::new(tiny.coefficients().iter().rev().cloned().collect());
            let circle = Univariate::new(vec![1.into(), 0.into(), 1.into()]);
            assert_eq!((n_roots(&tiny), n_roots(&huge)), (2, 2));
            assert_eq!(n_roots(&tiny.times(&circle)), 2);
            assert_eq!(n_roots(&tiny.times(&huge)), 4);
        }
    }

    fn n_roots(f: &Univariate) -> usize {
        let roots = f.real_roots(&Budget::default());
        roots.expect("there is time").len()
    }

    #[test]
    fn close_roots_are_told_apart() {
        // Wilkinson's polynomial of degree 20, and Mignotte's x^9 - 2 (50 x - 1)^2 with two roots closer than 1e-8.
        let wilkinson: Vec<(i64, i64)> = (1..=20).map(|k| (k, 1)).collect();
        assert_eq!(n_roots(&from_roots(&wilkinson)), 20);
        let mut coefficients = vec![IBig::ZERO; 10];
        coefficients[0] = (-2).into();
        coefficients[1] = 200.into();
        coefficients[2] = (-5000).into();
        coefficients[9] = 1.into();
        assert_eq!(n_roots(&Univariate::new(coefficients)), 3);
    }

    #[test]
    fn a_root_is_told_from_its_neighbours_by_divisors() {
        // (x^2 - 2)(x^2 - 3): the divisors vanish at their own roots only.
        let two = Univariate::new(vec![(-2).into(), 0.into(), 1.into()]);
        let three = Univariate::new(vec![(-3).into(), 0.into(), 1.into()]);
        let budget = Budget::default();
        let roots = two.times(&three).real_roots(&budget);
        let roots = roots.expect("there is time");
        let of_two: Vec<bool> = roots.iter().map(|root| root.is_root_of(&two)).collect();
        assert_eq!(of_two, [false, true, true, false]);
    }
}
