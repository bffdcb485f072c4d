//! Polynomials in one variable: Cantor and Zassenhaus modulo a prime, Hensel lifting, and recombination.

use crate::factor::lift::{Modulus, Work, lift_univariate};
use crate::factor::{FactorBudget, Search};
use crate::integer;
use crate::polynomial::Polynomial;
use crate::prime_field::{Dense, PrimeField, prime_fields, trim};
use dashu_int::IBig;

/// Primes whose factorisations are compared; the one with the fewest factors is lifted. Splitting modulo a prime takes
/// time like the cube of the degree, so high degrees get fewer.
fn n_primes(degree: usize) -> usize {
    if degree > 60 { 2 } else { 4 }
}

/// The polynomial modulo a prime.
pub(super) fn reduce(field: PrimeField, f: &Polynomial, x: usize) -> Dense {
    let mut image = vec![0; usize::from(f.degree(x)) + 1];
    for (monomial, coefficient) in f.terms() {
        image[usize::from(monomial.exponent(x))] = integer::remainder(coefficient, field.prime());
    }
    trim(&mut image);
    image
}

/// The factors of a squarefree primitive polynomial in `x`, each with whether it is proved to be irreducible.
pub(super) fn factor(f: &Polynomial, x: usize, search: &Search) -> Vec<(Polynomial, bool)> {
    let degree = usize::from(f.degree(x));
    if degree <= 1 {
        return vec![(f.clone(), true)];
    }
    let good = prime_fields()
        .map(|field| (field, reduce(field, f, x)))
        .filter(|(field, image)| image.len() == degree + 1 && field.is_squarefree(image));
    let mut best: Option<(PrimeField, Vec<Dense>)> = None;
    // Degrees that a factor over Q can have: sums of degrees modulo every prime.
    let mut possible = vec![true; degree + 1];
    for (field, image) in good.take(n_primes(degree)) {
        if search.budget.is_over() {
            return vec![(f.clone(), false)];
        }
        let factors = field.factor(&field.monic(&image), &mut search.random.borrow_mut());
        let mut sums = vec![false; degree + 1];
        sums[0] = true;
        for factor in &factors {
            for sum in (factor.len() - 1..=degree).rev() {
                sums[sum] |= sums[sum + 1 - factor.len()];
            }
        }
        for (old, new) in possible.iter_mut().zip(&sums) {
            *old &= new;
        }
        if !possible[1..degree].contains(&true) {
            return vec![(f.clone(), true)];
        }
        if best
            .as_ref()
            .is_none_or(|(_, least)| factors.len() < least.len())
        {
            best = Some((field, factors));
        }
    }
    let Some((field, factors)) = best else {
        return vec![(f.clone(), false)];
    };
    // A factor with leading coefficient lc(f): coefficients below lc(f) 2^n |f|, and twice that for the sign.
    let lead = f.leading_number();
    let length = IBig::from(f.n_terms()) * f.height();
    let bound = (integer::abs(&lead) * length) << (degree + 1);
    // The work is bounded by the degree.
    let work = Work::new(usize::MAX, search.budget.deadline);
    let modulus = Modulus::above(field, &bound, &work);
    let lifted = lift_univariate(f, x, &factors, &modulus);
    if work.is_spent() {
        return vec![(f.clone(), false)];
    }
    recombine(f, x, lifted, &modulus, &possible, search.budget)
}

/// Tries products of lifted factors, small subsets first (Zassenhaus).
fn recombine(
    f: &Polynomial,
    x: usize,
    mut lifted: Vec<Polynomial>,
    modulus: &Modulus,
    possible: &[bool],
    budget: &FactorBudget,
) -> Vec<(Polynomial, bool)> {
    let mut rest = f.clone();
    let mut found = Vec::new();
    let mut tried = 0;
    let mut size = 1;
    while 2 * size <= lifted.len() {
        let lead = rest.leading_number();
        let low = rest.coefficient(x, 0).as_constant().unwrap_or(IBig::ZERO);
        // lead * low is divisible by the constant term of every candidate lead * ∏.
        let last = &lead * &low;
        let constants: Vec<IBig> = lifted
            .iter()
            .map(|g| g.coefficient(x, 0).as_constant().unwrap_or(IBig::ZERO))
            .collect();
        let mut subset: Vec<usize> = (0..size).collect();
        let hit = loop {
            tried += 1;
            if tried > budget.subsets || budget.is_over() {
                found.push((rest, false));
                return found;
            }
            let degree: usize = subset
                .iter()
                .map(|&i| usize::from(lifted[i].degree(x)))
                .sum();
            let constant = || {
                let product = subset
                    .iter()
                    .fold(lead.clone(), |p, &i| modulus.reduce(&(p * &constants[i])));
                product.is_zero() || integer::divide_exactly(&last, &product).is_some()
            };
            if possible[degree] && constant() {
                let candidate = subset
                    .iter()
                    .fold(Polynomial::constant(lead.clone()), |p, &i| {
                        modulus.reduce_all(&(&p * &lifted[i]))
                    })
                    .primitive_over_integers();
                if let Some(quotient) = rest.divide_exactly(&candidate) {
                    break Some((candidate, quotient));
                }
            }
            if !next_subset(&mut subset, lifted.len()) {
                break None;
            }
        };
        match hit {
            None => size += 1,
            Some((candidate, quotient)) => {
                // No smaller subset divides, so this one is irreducible.
                found.push((candidate, true));
                rest = quotient;
                let mut index = 0;
                lifted.retain(|_| {
                    index += 1;
                    !subset.contains(&(index - 1))
                });
            }
        }
    }
    if !rest.is_constant() {
        found.push((rest.primitive_over_integers(), true));
    }
    found
}

/// The next subset of the same size in lexicographic order; `false` after the last.
pub(super) fn next_subset(subset: &mut [usize], n: usize) -> bool {
    let size = subset.len();
    let Some(at) = (0..size).rev().find(|&i| subset[i] < n - size + i) else {
        return false;
    };
    subset[at] += 1;
    for i in at + 1..size {
        subset[i] = subset[i - 1] + 1;
    }
    true
}
