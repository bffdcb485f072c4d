//! Hensel lifting: factors modulo a prime, then modulo a power of it, then with one variable more.

use crate::integer;
use crate::monomial::Monomial;
use crate::polynomial::Polynomial;
use crate::prime_field::{Dense, PrimeField};
use dashu_int::IBig;
use std::cell::Cell;
use std::time::Instant;

/// Products of terms that may still be formed, and until when.
pub(super) struct Work {
    products: Cell<usize>,
    deadline: Option<Instant>,
}

impl Work {
    pub(super) fn new(products: usize, deadline: Option<Instant>) -> Self {
        Self {
            products: Cell::new(products),
            deadline,
        }
    }

    fn spend(&self, products: usize) {
        let is_over = self.deadline.is_some_and(|end| Instant::now() >= end);
        let left = self.products.get().saturating_sub(products);
        self.products.set(if is_over { 0 } else { left });
    }

    pub(super) fn is_spent(&self) -> bool {
        self.products.get() == 0
    }
}

/// A power of a prime, and the work left for arithmetic modulo it.
pub(super) struct Modulus<'a> {
    pub(super) field: PrimeField,
    pub(super) value: IBig,
    work: &'a Work,
}

impl<'a> Modulus<'a> {
    /// The smallest power above a bound.
    pub(super) fn above(field: PrimeField, bound: &IBig, work: &'a Work) -> Self {
        let prime = IBig::from(field.prime());
        let mut value = prime.clone();
        while value <= *bound {
            value *= &prime;
        }
        Self { field, value, work }
    }

    pub(super) fn reduce(&self, a: &IBig) -> IBig {
        integer::symmetric_remainder(a, &self.value)
    }

    pub(super) fn reduce_all(&self, a: &Polynomial) -> Polynomial {
        a.map_coefficients(|c| self.reduce(c))
    }

    /// The product; 0 when the work is spent, which every loop of the lifting looks for.
    fn mul(&self, a: &Polynomial, b: &Polynomial) -> Polynomial {
        self.work.spend(a.n_terms() * b.n_terms());
        if self.work.is_spent() {
            return Polynomial::zero();
        }
        self.reduce_all(&(a * b))
    }

    /// For each factor the product of all others.
    fn cofactors(&self, factors: &[Polynomial]) -> Vec<Polynomial> {
        let n = factors.len();
        let mut products = vec![Polynomial::one(); n];
        let mut left = Polynomial::one();
        for (product, factor) in products.iter_mut().zip(factors) {
            *product = left.clone();
            left = self.mul(&left, factor);
        }
        let mut right = Polynomial::one();
        for (product, factor) in products.iter_mut().zip(factors).rev() {
            *product = self.mul(product, &right);
            right = self.mul(&right, factor);
        }
        products
    }

    /// The inverse of a number that the prime does not divide, by Newton's iteration.
    pub(super) fn inverse(&self, a: &IBig) -> IBig {
        let residue = integer::remainder(a, self.field.prime());
        let mut inverse = IBig::from(self.field.inverse(residue));
        let mut precision = IBig::from(self.field.prime());
        while precision < self.value {
            inverse = self.reduce(&(&inverse * (IBig::from(2) - a * &inverse)));
            precision = &precision * &precision;
        }
        self.reduce(&inverse)
    }

    /// The remainder in `x` by a polynomial whose leading coefficient `1 / inverse` is a unit.
    fn remainder(&self, a: &Polynomial, b: &Polynomial, inverse: &IBig, x: usize) -> Polynomial {
        let degree = b.degree(x);
        let mut a = self.reduce_all(a);
        while !a.is_zero() && a.degree(x) >= degree {
            let shift = Monomial::power(x, a.degree(x) - degree);
            let scale = self.reduce(&(a.leading_number() * inverse));
            a = self.reduce_all(&(&a - &b.times_term(&shift, &scale)));
        }
        a
    }
}

fn from_dense(a: &Dense, x: usize) -> Polynomial {
    Polynomial::from_terms(
        (0u16..)
            .zip(a)
            .map(|(power, &c)| (Monomial::power(x, power), IBig::from(c))),
    )
}

/// Lifts the monic factors of f / lc(f) modulo a prime to a power of it.
pub(super) fn lift_univariate(
    f: &Polynomial,
    x: usize,
    factors: &[Dense],
    modulus: &Modulus,
) -> Vec<Polynomial> {
    let field = modulus.field;
    let prime = IBig::from(field.prime());
    let inverse = modulus.inverse(&f.leading_number());
    let f = modulus.reduce_all(&f.scaled(&inverse));
    // s_i with sum_i s_i ∏_{j≠i} u_j = 1 modulo the prime.
    let solvers: Vec<Dense> = (0..factors.len())
        .map(|i| {
            let others = factors.iter().enumerate().filter(|(j, _)| *j != i);
            let cofactor = others.fold(vec![1], |p, (_, u)| {
                field.poly_rem(&field.poly_mul(&p, u), &factors[i])
            });
            field
                .poly_inverse(&cofactor, &factors[i])
                .expect("factors of a squarefree polynomial are coprime")
        })
        .collect();
    let mut lifted: Vec<Polynomial> = factors.iter().map(|u| from_dense(u, x)).collect();
    let mut power = prime.clone();
    while power < modulus.value {
        let next = Modulus {
            field,
            value: &power * &prime,
            work: modulus.work,
        };
        let product = lifted
            .iter()
            .fold(Polynomial::one(), |p, u| next.mul(&p, u));
        let error = next
            .reduce_all(&(&f - &product))
            .map_coefficients(|c| c / &power);
        if !error.is_zero() {
            let error = super::univariate::reduce(field, &error, x);
            for ((u, factor), solver) in lifted.iter_mut().zip(factors).zip(&solvers) {
                let step = field.poly_rem(&field.poly_mul(&error, solver), factor);
                *u = &*u + &from_dense(&step, x).scaled(&power);
            }
        }
        power = next.value;
    }
    lifted.iter().map(|u| modulus.reduce_all(u)).collect()
}

/// One variable that is still to be lifted, and the number that stands for it.
#[derive(Clone)]
pub(super) struct Evaluation {
    pub(super) variable: usize,
    pub(super) value: IBig,
}

impl Evaluation {
    fn apply(&self, f: &Polynomial) -> Polynomial {
        f.at(self.variable, &self.value)
    }

    /// The polynomial v - value.
    fn shift(&self) -> Polynomial {
        &Polynomial::variable(self.variable) - &Polynomial::constant(self.value.clone())
    }

    /// The coefficient of (v - value)^k.
    fn taylor(&self, f: &Polynomial, k: u16, modulus: &Modulus) -> Polynomial {
        let sum = Polynomial::from_terms(f.terms().iter().filter_map(|(monomial, coefficient)| {
            let power = monomial.exponent(self.variable);
            let left = power.checked_sub(k)?;
            if left > 0 && self.value.is_zero() {
                return None;
            }
            let scale = binomial(power, k) * self.value.pow(left.into());
            Some((monomial.without(self.variable), coefficient * scale))
        }));
        modulus.reduce_all(&sum)
    }
}

fn binomial(n: u16, k: u16) -> IBig {
    (1..=k).fold(IBig::ONE, |b, i| b * IBig::from(n - k + i) / IBig::from(i))
}

/// All but the main variable evaluated: f with the given evaluations, later ones first.
pub(super) fn evaluate(f: &Polynomial, evaluations: &[Evaluation]) -> Polynomial {
    evaluations.iter().rev().fold(f.clone(), |f, e| e.apply(&f))
}

/// Solves sum_i s_i ∏_{j≠i} u_j = c for polynomials in one variable and then in more: (8) of `docs/theory/locus.md`.
struct Diophantine<'a> {
    modulus: &'a Modulus<'a>,
    x: usize,
    evaluations: &'a [Evaluation],
    /// For each number of variables lifted so far, the products of all factors but one.
    cofactors: Vec<Vec<Polynomial>>,
    univariate: Vec<Polynomial>,
    inverses: Vec<IBig>,
    solvers: Vec<Polynomial>,
}

impl<'a> Diophantine<'a> {
    /// `None` when the factors are not coprime modulo the prime.
    fn new(
        factors: &[Polynomial],
        x: usize,
        evaluations: &'a [Evaluation],
        modulus: &'a Modulus<'a>,
    ) -> Option<Self> {
        let field = modulus.field;
        let univariate: Vec<Polynomial> = factors.iter().map(|u| modulus.reduce_all(u)).collect();
        let cofactors = modulus.cofactors(&univariate);
        let inverses: Vec<IBig> = univariate
            .iter()
            .map(|u| modulus.inverse(&u.leading_number()))
            .collect();
        let mut solvers = Vec::new();
        for i in 0..factors.len() {
            let [u, b] =
                [&univariate[i], &cofactors[i]].map(|p| super::univariate::reduce(field, p, x));
            let mut solver = from_dense(&field.poly_inverse(&b, &u)?, x);
            let mut precision = IBig::from(field.prime());
            while precision < modulus.value {
                // s (2 - b s) modulo u: twice as many digits.
                let error = &Polynomial::constant(2) - &modulus.mul(&cofactors[i], &solver);
                let next = modulus.mul(&solver, &error);
                solver = modulus.remainder(&next, &univariate[i], &inverses[i], x);
                precision = &precision * &precision;
            }
            solvers.push(solver);
        }
        Some(Self {
            modulus,
            x,
            evaluations,
            cofactors: vec![cofactors],
            univariate,
            inverses,
            solvers,
        })
    }

    /// The solution where `level` variables besides x occur.
    fn solve(&self, c: &Polynomial, level: usize) -> Vec<Polynomial> {
        let n = self.univariate.len();
        if c.is_zero() {
            return vec![Polynomial::zero(); n];
        }
        if level == 0 {
            return (0..n)
                .map(|i| {
                    let product = self.modulus.mul(c, &self.solvers[i]);
                    let (u, inverse) = (&self.univariate[i], &self.inverses[i]);
                    self.modulus.remainder(&product, u, inverse, self.x)
                })
                .collect();
        }
        let evaluation = &self.evaluations[level - 1];
        let cofactors = &self.cofactors[level];
        let mut solution = self.solve(&self.modulus.reduce_all(&evaluation.apply(c)), level - 1);
        let residual = |c: &Polynomial, solution: &[Polynomial]| {
            let rest = solution
                .iter()
                .zip(cofactors)
                .fold(c.clone(), |rest, (s, b)| {
                    if s.is_zero() {
                        rest
                    } else {
                        &rest - &self.modulus.mul(s, b)
                    }
                });
            self.modulus.reduce_all(&rest)
        };
        let mut error = residual(c, &solution);
        let degree = c.degree(evaluation.variable).max(
            cofactors
                .iter()
                .map(|b| b.degree(evaluation.variable))
                .max()
                .unwrap_or(0),
        );
        let shift = evaluation.shift();
        let mut power = Polynomial::one();
        for k in 1..=degree {
            if error.is_zero() || self.modulus.work.is_spent() {
                break;
            }
            power = self.modulus.mul(&power, &shift);
            let coefficient = evaluation.taylor(&error, k, self.modulus);
            if coefficient.is_zero() {
                continue;
            }
            let step: Vec<Polynomial> = self
                .solve(&coefficient, level - 1)
                .iter()
                .map(|s| self.modulus.mul(s, &power))
                .collect();
            error = residual(&error, &step);
            for (s, step) in solution.iter_mut().zip(&step) {
                *s = self.modulus.reduce_all(&(&*s + step));
            }
        }
        solution
    }
}

/// Lifts factors in `x` to factors of `f` in all variables, with given leading coefficients in `x`.
///
/// `f` and the leading coefficients must agree at the evaluations with the product of `factors` and with their leading
/// coefficients modulo the modulus. `None` when no lift has the degrees of f, or the work is
/// spent.
pub(super) fn lift_multivariate(
    f: &Polynomial,
    x: usize,
    factors: &[Polynomial],
    leads: &[Polynomial],
    evaluations: &[Evaluation],
    modulus: &Modulus,
) -> Option<Vec<Polynomial>> {
    let mut equations = Diophantine::new(factors, x, evaluations, modulus)?;
    let mut lifted = equations.univariate.clone();
    for (level, evaluation) in evaluations.iter().enumerate() {
        let later = &evaluations[level + 1..];
        let target = modulus.reduce_all(&evaluate(f, later));
        // The leading coefficient is known; the rest starts as it was.
        for (g, lead) in lifted.iter_mut().zip(leads) {
            let degree = g.degree(x);
            let lead = modulus.reduce_all(&evaluate(lead, later));
            let known = &*g - &top(&g.coefficient(x, degree), x, degree);
            *g = &known + &top(&lead, x, degree);
        }
        let residual = |lifted: &[Polynomial]| {
            let product = lifted
                .iter()
                .fold(Polynomial::one(), |p, g| modulus.mul(&p, g));
            modulus.reduce_all(&(&target - &product))
        };
        let mut error = residual(&lifted);
        let shift = evaluation.shift();
        let mut power = Polynomial::one();
        for k in 1..=target.degree(evaluation.variable) {
            if error.is_zero() {
                break;
            }
            power = modulus.mul(&power, &shift);
            let coefficient = evaluation.taylor(&error, k, modulus);
            if coefficient.is_zero() {
                continue;
            }
            for (g, s) in lifted.iter_mut().zip(equations.solve(&coefficient, level)) {
                *g = &*g + &modulus.mul(&s, &power);
            }
            error = residual(&lifted);
            if modulus.work.is_spent() {
                return None;
            }
        }
        if !error.is_zero() || modulus.work.is_spent() {
            return None;
        }
        equations.cofactors.push(modulus.cofactors(&lifted));
    }
    Some(lifted)
}

/// `coefficient * x^degree`.
fn top(coefficient: &Polynomial, x: usize, degree: u16) -> Polynomial {
    coefficient.times_term(&Monomial::power(x, degree), &IBig::ONE)
}
