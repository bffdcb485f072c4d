//! From images modulo primes to rational numbers: section 4 of `docs/theory/algebra.md`.

use super::arithmetic::Prime31;
use crate::integer;
use dashu_int::IBig;
use dashu_int::ops::{BitTest, DivRem};

/// Bits by which a number has to be smaller than chance would have it before it is believed. Belief is checked later.
const SLACK: usize = 24;

/// Images of lists of rational numbers, each list starting with 1, modulo primes.
#[derive(Default)]
pub(crate) struct Images {
    primes: Vec<Prime31>,
    numbers: Vec<Vec<Vec<u32>>>,
    /// The list that could not be reconstructed last: the one to try first.
    hardest: usize,
    next_attempt: usize,
}

impl Images {
    pub(crate) fn push(&mut self, prime: Prime31, numbers: Vec<Vec<u32>>) {
        self.primes.push(prime);
        self.numbers.push(numbers);
    }

    pub(crate) fn len(&self) -> usize {
        self.primes.len()
    }

    /// The lists as whole numbers without common divisor, if the primes seem to suffice. Most calls only count: after
    /// a failure a quarter more primes are waited for.
    pub(crate) fn reconstruct(&mut self) -> Option<Vec<Vec<IBig>>> {
        if self.len() < self.next_attempt {
            return None;
        }
        self.next_attempt = self.len() + self.len().div_ceil(4);
        let modulus: IBig = self
            .primes
            .iter()
            .fold(IBig::ONE, |product, p| product * p.prime());
        // The number that is 1 modulo one prime and 0 modulo the others.
        let units: Vec<IBig> = self
            .primes
            .iter()
            .map(|p| {
                let others = &modulus / IBig::from(p.prime());
                let inverse = p.inverse(p.image(&others));
                others * inverse
            })
            .collect();
        let n_lists = self.numbers[0].len();
        let mut lists = vec![Vec::new(); n_lists];
        let first = self.hardest.min(n_lists.saturating_sub(1));
        for at in (first..n_lists).chain(0..first) {
            let n = self.numbers[0][at].len();
            let residues = (0..n).map(|k| {
                let images = self.numbers.iter().map(|image| image[at][k]);
                let sum = images
                    .zip(&units)
                    .fold(IBig::ZERO, |sum, (image, unit)| sum + unit * image);
                sum % &modulus
            });
            match common_denominator(residues, &modulus) {
                Some(list) => lists[at] = list,
                None => {
                    self.hardest = at;
                    return None;
                }
            }
        }
        Some(lists)
    }
}

/// Rational numbers from their residues, times their common denominator and without common divisor.
fn common_denominator(residues: impl Iterator<Item = IBig>, modulus: &IBig) -> Option<Vec<IBig>> {
    let room = modulus.bit_len().checked_sub(SLACK)?;
    let mut denominator = IBig::ONE;
    // Numerators, each with the common denominator at its time.
    let mut found: Vec<(IBig, IBig)> = Vec::new();
    for residue in residues {
        let scaled = integer::symmetric_remainder(&(&residue * &denominator), modulus);
        if scaled.bit_len() < room.saturating_sub(denominator.bit_len()) {
            found.push((scaled, denominator.clone()));
            continue;
        }
        let (numerator, further) = rational(&scaled, modulus)?;
        denominator *= further;
        if denominator.bit_len() >= room {
            return None;
        }
        found.push((numerator, denominator.clone()));
    }
    let mut list: Vec<IBig> = found
        .into_iter()
        .map(|(numerator, at_the_time)| numerator * (&denominator / at_the_time))
        .collect();
    let content = list.iter().fold(IBig::ZERO, |g, n| integer::gcd(&g, n));
    if !content.is_one() && !content.is_zero() {
        for number in &mut list {
            *number = &*number / &content;
        }
    }
    Some(list)
}

/// The quotient n/d congruent to a residue for which the product n d is smallest (Monagan 2004), if it is so much smaller
/// than the modulus that this is no chance.
fn rational(residue: &IBig, modulus: &IBig) -> Option<(IBig, IBig)> {
    let (mut old, mut new) = (modulus.clone(), residue.clone());
    if integer::is_negative(&new) {
        new += modulus;
    }
    let (mut s_old, mut s_new) = (IBig::ZERO, IBig::ONE);
    let mut best: Option<(usize, IBig, IBig)> = None;
    while !new.is_zero() {
        let (quotient, remainder) = (&old).div_rem(&new);
        if quotient.bit_len() > best.as_ref().map_or(SLACK, |best| best.0) {
            best = Some((quotient.bit_len(), new.clone(), s_new.clone()));
        }
        old = std::mem::replace(&mut new, remainder);
        let next = s_old - quotient * &s_new;
        s_old = std::mem::replace(&mut s_new, next);
    }
    let (_, numerator, denominator) = best?;
    if !integer::gcd(&numerator, &denominator).is_one() {
        return None;
    }
    Some(if integer::is_negative(&denominator) {
        (-numerator, -denominator)
    } else {
        (numerator, denominator)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groebner::arithmetic::primes;

    #[test]
    fn rationals_come_back_from_their_residues() {
        let modulus: IBig = primes()
            .take(8)
            .fold(IBig::ONE, |product, p| product * p.prime());
        for (n, d) in [
            (0i64, 1i64),
            (1, 1),
            (-22, 7),
            (123_456_789_123, 1_000_003),
            (-1, i64::MAX),
        ] {
            // d^-1 modulo the product, by its images.
            let mut images = Images::default();
            for p in primes().take(8) {
                let inverse = p.inverse(p.image(&IBig::from(d)));
                let value = p.mul(p.image(&IBig::from(n)), inverse);
                images.push(p, vec![vec![1, value]]);
            }
            let list = images.reconstruct().unwrap();
            assert_eq!(list, [vec![IBig::from(d), IBig::from(n)]], "{n}/{d}");
        }
        assert!(
            rational(&(&modulus / IBig::from(3) + IBig::from(12345)), &modulus).is_none_or(
                |(n, d)| (n - (&modulus / IBig::from(3) + IBig::from(12345)) * d) % &modulus
                    == IBig::ZERO
            )
        );
    }
}
