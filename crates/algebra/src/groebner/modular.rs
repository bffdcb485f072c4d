//! From images modulo primes to rational numbers: section 4 of `docs/theory/algebra.md`.

use super::arithmetic::Prime;
use crate::integer;
use crate::random::Random;
use dashu_int::ops::{BitTest, DivRem};
use dashu_int::{DoubleWord, IBig, UBig, Word};

/// Bits by which a number has to be smaller than chance would have it before it is believed. Belief is checked later.
const SLACK: usize = 24;

/// Images of lists of rational numbers, each list starting with 1, modulo primes.
#[derive(Default)]
pub(crate) struct Images {
    primes: Vec<Prime>,
    numbers: Vec<Vec<Vec<u32>>>,
    /// The list that could not be reconstructed last: the one to try first.
    hardest: usize,
    next_attempt: usize,
}

impl Images {
    pub(crate) fn push(&mut self, prime: Prime, numbers: Vec<Vec<u32>>) {
        self.primes.push(prime);
        self.numbers.push(numbers);
    }

    pub(crate) fn len(&self) -> usize {
        self.primes.len()
    }

    /// What they take, with as much again for the numbers made of them.
    pub(crate) fn bytes(&self) -> usize {
        let numbers: usize = self.numbers.iter().flatten().map(Vec::len).sum();
        8 * numbers
    }

    /// The lists as whole numbers without common divisor, if the primes seem to suffice. Most calls only count: after
    /// a failure a quarter more primes are waited for.
    pub(crate) fn reconstruct(&mut self) -> Option<Vec<Vec<IBig>>> {
        if self.len() < self.next_attempt {
            return None;
        }
        self.next_attempt = self.len() + self.len().div_ceil(4);
        let remainders = Remainders::new(&self.primes);
        let n_lists = self.numbers[0].len();
        let mut lists = vec![Vec::new(); n_lists];
        let first = self.hardest.min(n_lists.saturating_sub(1));
        let mut images = vec![0; self.len()];
        for at in (first..n_lists).chain(0..first) {
            let image = |place: usize, images: &mut [u32]| {
                for (slot, numbers) in images.iter_mut().zip(&self.numbers) {
                    *slot = numbers[at][place];
                }
            };
            let n = self.numbers[0][at].len();
            match common_denominator(n, image, &mut images, &remainders) {
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

/// Chinese remainders, with a factor on every result.
struct Remainders<'a> {
    primes: &'a [Prime],
    modulus: IBig,
    /// For each prime the number that is 1 modulo it and 0 modulo the others.
    units: Vec<IBig>,
}

impl<'a> Remainders<'a> {
    fn new(primes: &'a [Prime]) -> Self {
        let modulus: IBig = primes
            .iter()
            .fold(IBig::ONE, |product, p| product * p.value());
        let unit = |p: &Prime| {
            let others = &modulus / IBig::from(p.value());
            let inverse = p.inverse(p.image(&others));
            others * inverse
        };
        let units = primes.iter().map(unit).collect();
        Self {
            primes,
            modulus,
            units,
        }
    }

    /// The units times a number, as words.
    fn scaled(&self, factor: &IBig) -> Vec<Vec<Word>> {
        let units = self.units.iter();
        units
            .map(|unit| ((unit * factor) % &self.modulus).as_sign_words().1.to_vec())
            .collect()
    }

    /// The number with these images times the factor of the units, as the remainder of smallest magnitude.
    fn combine(&self, images: &[u32], units: &[Vec<Word>], sum: &mut Vec<Word>) -> IBig {
        debug_assert_eq!(images.len(), self.primes.len());
        let longest = units.iter().map(Vec::len).max().unwrap_or(0);
        sum.clear();
        sum.resize(longest + 1, 0);
        for (&image, unit) in images.iter().zip(units) {
            let mut carry: DoubleWord = 0;
            for (at, slot) in sum.iter_mut().enumerate() {
                let word = unit.get(at).copied().unwrap_or(0);
                carry += DoubleWord::from(*slot) + DoubleWord::from(word) * DoubleWord::from(image);
                *slot = carry as Word;
                carry >>= Word::BITS;
            }
        }
        let sum = IBig::from(UBig::from_words(sum));
        integer::symmetric_remainder(&sum, &self.modulus)
    }
}

/// A list of rational numbers from their images, times their common denominator and without common divisor.
fn common_denominator(
    n: usize,
    image: impl Fn(usize, &mut [u32]),
    images: &mut [u32],
    remainders: &Remainders,
) -> Option<Vec<IBig>> {
    let room = remainders.modulus.bit_len().checked_sub(SLACK)?;
    let mut sum = Vec::new();
    // A random combination has the denominator of all, as a rule.
    let mut random = Random::new(n as u64);
    let mut combination = vec![0; images.len()];
    for place in 0..n {
        image(place, images);
        let factor = random.below(1 << 10);
        for (slot, &number) in combination.iter_mut().zip(&*images) {
            *slot += factor * u64::from(number);
        }
    }
    for ((slot, prime), total) in images.iter_mut().zip(remainders.primes).zip(combination) {
        *slot = prime.residue(total);
    }
    let units = remainders.scaled(&IBig::ONE);
    let value = remainders.combine(images, &units, &mut sum);
    let (_, mut denominator) = rational(&value, &remainders.modulus)?;
    let mut units = remainders.scaled(&denominator);
    let mut list: Vec<IBig> = Vec::with_capacity(n);
    for place in 0..n {
        image(place, images);
        let scaled = remainders.combine(images, &units, &mut sum);
        if scaled.bit_len() + denominator.bit_len() < room {
            list.push(scaled);
            continue;
        }
        let (numerator, further) = rational(&scaled, &remainders.modulus)?;
        denominator *= &further;
        if denominator.bit_len() >= room {
            return None;
        }
        for earlier in &mut list {
            *earlier *= &further;
        }
        list.push(numerator);
        units = remainders.scaled(&denominator);
    }
    let content = integer::gcd_of_all(&list);
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
            .fold(IBig::ONE, |product, p| product * p.value());
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
