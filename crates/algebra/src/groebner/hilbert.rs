//! What leading monomials tell about an ideal: dimension, degree, standard monomials.

use super::{Basis, Monomial};
use dashu_int::IBig;

/// More standard monomials than this are not listed.
const MOST_STANDARD_MONOMIALS: usize = 100_000;

impl Basis {
    /// The dimension of the set of points over the complex numbers; none if there are no points.
    ///
    /// It is the size of the largest set of variables in which no leading monomial is written: (7) of
    /// `docs/theory/algebra.md`.
    pub fn dimension(&self) -> Option<usize> {
        self.independent_variables()
            .map(|variables| variables.len())
    }

    /// A largest set of variables such that no leading monomial is written in them alone; the values of these variables
    /// can be chosen freely on some component. None if there are no points.
    pub fn independent_variables(&self) -> Option<Vec<usize>> {
        if self.is_unit() {
            return None;
        }
        let variables: Vec<usize> = self.order().variables().collect();
        let supports: Vec<Vec<usize>> = self
            .leading_monomials()
            .iter()
            .map(|monomial| {
                let places = 0..variables.len();
                places
                    .filter(|&place| monomial.exponent(variables[place]) > 0)
                    .collect()
            })
            .collect();
        let mut best: Option<Vec<bool>> = None;
        cover(&supports, &mut vec![false; variables.len()], 0, &mut best);
        let covered = best?;
        let free = variables
            .iter()
            .zip(covered)
            .filter(|(_, covered)| !covered);
        Some(free.map(|(&variable, _)| variable).collect())
    }

    /// The degree: for finitely many points their number with multiplicity; otherwise the number of points that a general
    /// linear space of complementary dimension has in common with the set, with multiplicity. None if there are no
    /// points, and for infinitely many points in an order that does not compare total degrees first.
    pub fn degree(&self) -> Option<IBig> {
        let dimension = self.dimension()?;
        if dimension > 0 && !self.order().is_graded() {
            return None;
        }
        let n = self.order().variables().count();
        let mut numerator = numerator(self.leading_monomials());
        // Dividing by 1 - t means summing up.
        for _ in 0..n - dimension {
            let mut sum = IBig::ZERO;
            for coefficient in &mut numerator {
                sum += &*coefficient;
                *coefficient = sum.clone();
            }
        }
        Some(numerator.iter().fold(IBig::ZERO, |sum, c| sum + c))
    }

    /// The monomials that are no multiples of leading monomials, ascending: a basis of the quotient ring as a vector space.
    /// None if there are infinitely many (or more than a hundred thousand).
    pub fn standard_monomials(&self) -> Option<Vec<Monomial>> {
        if self.is_unit() {
            return Some(Vec::new());
        }
        if self.dimension() != Some(0) {
            return None;
        }
        let leads = self.leading_monomials();
        let variables: Vec<usize> = self.order().variables().collect();
        let mut found = vec![Monomial::one()];
        // Each is built by adding variables in one fixed sequence, so none comes twice.
        let mut open = vec![(Monomial::one(), 0)];
        while let Some((monomial, first)) = open.pop() {
            for (place, &variable) in variables.iter().enumerate().skip(first) {
                let next = monomial.times(&Monomial::power(variable, 1));
                if leads.iter().all(|lead| next.over(lead).is_none()) {
                    if found.len() >= MOST_STANDARD_MONOMIALS {
                        return None;
                    }
                    found.push(next.clone());
                    open.push((next, place));
                }
            }
        }
        found.sort_by_cached_key(|monomial| self.ring.words(monomial));
        Some(found)
    }
}

/// Looks for the smallest set of variables that meets every support.
fn cover(
    supports: &[Vec<usize>],
    chosen: &mut Vec<bool>,
    n_chosen: usize,
    best: &mut Option<Vec<bool>>,
) {
    let size = |set: &Vec<bool>| set.iter().filter(|&&member| member).count();
    if best.as_ref().is_some_and(|best| size(best) <= n_chosen) {
        return;
    }
    let open = supports.iter().filter(|s| !s.iter().any(|&v| chosen[v]));
    let Some(support) = open.min_by_key(|s| s.len()) else {
        *best = Some(chosen.clone());
        return;
    };
    for &variable in support {
        chosen[variable] = true;
        cover(supports, chosen, n_chosen + 1, best);
        chosen[variable] = false;
    }
}

/// The numerator of the Hilbert series of a monomial ideal over (1 - t)^n: (8) of `docs/theory/algebra.md`.
fn numerator(generators: Vec<Monomial>) -> Vec<IBig> {
    let generators = minimal(generators);
    if generators.iter().any(Monomial::is_one) {
        return Vec::new();
    }
    let mut counts: Vec<usize> = Vec::new();
    for monomial in &generators {
        for (variable, &exponent) in monomial.exponents().iter().enumerate() {
            if exponent > 0 {
                counts.resize(counts.len().max(variable + 1), 0);
                counts[variable] += 1;
            }
        }
    }
    let busiest = (0..counts.len()).max_by_key(|&variable| counts[variable]);
    match busiest {
        Some(variable) if counts[variable] > 1 => {
            // 0 -> R/(I : x^e) -> R/I -> R/(I + x^e) -> 0 with the multiplication by x^e.
            let mut exponents: Vec<u16> = generators
                .iter()
                .map(|monomial| monomial.exponent(variable))
                .filter(|&exponent| exponent > 0)
                .collect();
            exponents.sort_unstable();
            let exponent = exponents[exponents.len() / 2].max(1);
            let pivot = Monomial::power(variable, exponent);
            // A pivot that is a generator itself would not make progress.
            let pivot = if generators.contains(&pivot) {
                Monomial::power(variable, (exponent - 1).max(1))
            } else {
                pivot
            };
            if generators.contains(&pivot) {
                return with_variable(generators, variable);
            }
            let colon = generators
                .iter()
                .map(|monomial| monomial.over(&monomial.common(&pivot)).unwrap_or_default())
                .collect();
            let mut sum = generators.clone();
            sum.push(pivot.clone());
            let mut result = numerator(sum);
            add_shifted(
                &mut result,
                &numerator(colon),
                pivot.total_degree() as usize,
            );
            result
        }
        _ => {
            let mut result = vec![IBig::ONE];
            for monomial in &generators {
                let copy: Vec<IBig> = result.iter().map(|c| -c).collect();
                add_shifted(&mut result, &copy, monomial.total_degree() as usize);
            }
            result
        }
    }
}

/// The numerator when a variable itself is a generator: that of the others times 1 - t.
fn with_variable(mut generators: Vec<Monomial>, variable: usize) -> Vec<IBig> {
    generators.retain(|monomial| monomial.exponent(variable) == 0);
    let mut result = numerator(generators);
    let copy: Vec<IBig> = result.iter().map(|c| -c).collect();
    add_shifted(&mut result, &copy, 1);
    result
}

fn add_shifted(sum: &mut Vec<IBig>, other: &[IBig], shift: usize) {
    if sum.len() < other.len() + shift {
        sum.resize(other.len() + shift, IBig::ZERO);
    }
    for (slot, value) in sum[shift..].iter_mut().zip(other) {
        *slot += value;
    }
}

/// The monomials that no other divides, each once.
fn minimal(mut monomials: Vec<Monomial>) -> Vec<Monomial> {
    monomials.sort_by_key(Monomial::total_degree);
    let mut kept: Vec<Monomial> = Vec::new();
    for monomial in monomials {
        if kept.iter().all(|divisor| monomial.over(divisor).is_none()) {
            kept.push(monomial);
        }
    }
    kept
}
