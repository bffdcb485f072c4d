//! Numbers modulo a prime of 61 bits, and dense polynomials in one variable over them.

use crate::random::Random;

/// The integers modulo one of the largest primes below 2^61.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PrimeField {
    prime: u64,
}

impl PrimeField {
    pub(crate) fn prime(self) -> u64 {
        self.prime
    }

    pub(crate) fn add(self, a: u64, b: u64) -> u64 {
        let sum = a + b;
        if sum >= self.prime {
            sum - self.prime
        } else {
            sum
        }
    }

    pub(crate) fn sub(self, a: u64, b: u64) -> u64 {
        if a >= b { a - b } else { a + self.prime - b }
    }

    pub(crate) fn neg(self, a: u64) -> u64 {
        self.sub(0, a)
    }

    pub(crate) fn mul(self, a: u64, b: u64) -> u64 {
        // Modulo p = 2^61 - c, 2^61 is c: what lies above 61 bits is folded down twice, which is much faster than dividing.
        const LOW: u64 = (1 << 61) - 1;
        let complement = (1 << 61) - self.prime;
        debug_assert!(complement < 1 << 28);
        let product = u128::from(a) * u128::from(b);
        let once = (product >> 61) * u128::from(complement) + u128::from(product as u64 & LOW);
        let twice = (once >> 61) as u64 * complement + (once as u64 & LOW);
        if twice >= self.prime {
            twice - self.prime
        } else {
            twice
        }
    }

    pub(crate) fn pow(self, base: u64, mut exponent: u64) -> u64 {
        let (mut result, mut square) = (1, base);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, square);
            }
            square = self.mul(square, square);
            exponent >>= 1;
        }
        result
    }

    /// The inverse of a number that is not 0.
    pub(crate) fn inverse(self, a: u64) -> u64 {
        debug_assert_ne!(a, 0);
        // Extended Euclid: old and new satisfy old = s a modulo the prime.
        let (mut old, mut new) = (self.prime, a);
        let (mut s_old, mut s_new) = (0i128, 1i128);
        while new != 0 {
            let quotient = old / new;
            (old, new) = (new, old - quotient * new);
            (s_old, s_new) = (s_new, s_old - i128::from(quotient) * s_new);
        }
        s_old.rem_euclid(i128::from(self.prime)) as u64
    }

    /// A number that is not 0.
    pub(crate) fn random(self, random: &mut Random) -> u64 {
        1 + random.below(self.prime - 1)
    }
}

/// 2^61 less the largest primes below it, which nearly all computations do with.
const FIRST: [u64; 16] = [
    1, 31, 45, 229, 259, 283, 339, 391, 403, 465, 531, 579, 675, 759, 799, 819,
];

/// The fields of the primes below 2^61, largest first.
pub(crate) fn prime_fields() -> impl Iterator<Item = PrimeField> {
    let known = FIRST.into_iter().map(|distance| (1 << 61) - distance);
    let odd = (0..).map(|step| (1u64 << 61) - FIRST[FIRST.len() - 1] - 2 - 2 * step);
    let all = known.chain(odd.filter(|&n| is_prime(n)));
    all.map(|prime| PrimeField { prime })
}

/// Miller and Rabin with bases that decide below 2^64 (Sorenson and Webster 2015).
pub(crate) fn is_prime(n: u64) -> bool {
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
        .iter()
        .all(|&base| {
            let mut power = bits(odd).fold(1, |power, bit| {
                let square = mul(power, power);
                if bit { mul(square, base) } else { square }
            });
            if power == 1 || power == n - 1 {
                return true;
            }
            (1..twos).any(|_| {
                power = mul(power, power);
                power == n - 1
            })
        })
}

/// A polynomial in one variable, lowest coefficient first, the last one not 0.
pub(crate) type Dense = Vec<u64>;

/// Drops zeros at the top.
pub(crate) fn trim(a: &mut Dense) {
    while a.last() == Some(&0) {
        a.pop();
    }
}

impl PrimeField {
    pub(crate) fn poly_sub(self, a: &[u64], b: &[u64]) -> Dense {
        let mut difference: Dense = (0..a.len().max(b.len()))
            .map(|i| {
                let at = |p: &[u64]| p.get(i).copied().unwrap_or(0);
                self.sub(at(a), at(b))
            })
            .collect();
        trim(&mut difference);
        difference
    }

    pub(crate) fn poly_mul(self, a: &[u64], b: &[u64]) -> Dense {
        if a.is_empty() || b.is_empty() {
            return Vec::new();
        }
        let mut product = vec![0; a.len() + b.len() - 1];
        for (i, &x) in a.iter().enumerate() {
            if x != 0 {
                for (slot, &y) in product[i..].iter_mut().zip(b) {
                    *slot = self.add(*slot, self.mul(x, y));
                }
            }
        }
        product
    }

    /// Quotient and remainder by a polynomial that is not 0.
    pub(crate) fn poly_div_rem(self, a: &[u64], b: &[u64]) -> (Dense, Dense) {
        let mut remainder = a.to_vec();
        if a.len() < b.len() {
            return (Vec::new(), remainder);
        }
        let inverse = self.inverse(b[b.len() - 1]);
        let mut quotient = vec![0; a.len() - b.len() + 1];
        for i in (0..quotient.len()).rev() {
            let q = self.mul(remainder[i + b.len() - 1], inverse);
            quotient[i] = q;
            if q != 0 {
                for (slot, &y) in remainder[i..].iter_mut().zip(b) {
                    *slot = self.sub(*slot, self.mul(q, y));
                }
            }
        }
        remainder.truncate(b.len() - 1);
        trim(&mut remainder);
        (quotient, remainder)
    }

    pub(crate) fn poly_rem(self, a: &[u64], b: &[u64]) -> Dense {
        self.poly_div_rem(a, b).1
    }

    pub(crate) fn poly_scale(self, a: &[u64], factor: u64) -> Dense {
        a.iter().map(|&x| self.mul(x, factor)).collect()
    }

    pub(crate) fn monic(self, a: &[u64]) -> Dense {
        match a.last() {
            None => Vec::new(),
            Some(&lead) => self.poly_scale(a, self.inverse(lead)),
        }
    }

    /// The monic greatest common divisor; empty when both are 0.
    pub(crate) fn poly_gcd(self, a: &[u64], b: &[u64]) -> Dense {
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        while !b.is_empty() {
            let remainder = self.poly_rem(&a, &b);
            a = std::mem::replace(&mut b, remainder);
        }
        self.monic(&a)
    }

    /// The inverse of `a` modulo `m`, if they are coprime.
    pub(crate) fn poly_inverse(self, a: &[u64], m: &[u64]) -> Option<Dense> {
        let (mut old, mut new) = (m.to_vec(), self.poly_rem(a, m));
        let (mut s_old, mut s_new): (Dense, Dense) = (Vec::new(), vec![1]);
        while !new.is_empty() {
            let (quotient, remainder) = self.poly_div_rem(&old, &new);
            old = std::mem::replace(&mut new, remainder);
            let next = self.poly_sub(&s_old, &self.poly_mul(&quotient, &s_new));
            s_old = std::mem::replace(&mut s_new, next);
        }
        match old.as_slice() {
            [unit] => Some(self.poly_rem(&self.poly_scale(&s_old, self.inverse(*unit)), m)),
            _ => None,
        }
    }

    pub(crate) fn poly_derivative(self, a: &[u64]) -> Dense {
        let mut derivative: Dense = (1u64..)
            .zip(a.iter().skip(1))
            .map(|(k, &x)| self.mul(k, x))
            .collect();
        trim(&mut derivative);
        derivative
    }

    /// `base^exponent` modulo `m`, the exponent as its bits, highest first.
    fn poly_pow(self, base: &[u64], bits: impl Iterator<Item = bool>, m: &[u64]) -> Dense {
        let mut result = vec![1];
        for bit in bits {
            result = self.poly_rem(&self.poly_mul(&result, &result), m);
            if bit {
                result = self.poly_rem(&self.poly_mul(&result, base), m);
            }
        }
        result
    }

    /// Whether a polynomial that is not constant has no repeated factor.
    pub(crate) fn is_squarefree(self, a: &[u64]) -> bool {
        self.poly_gcd(a, &self.poly_derivative(a)).len() == 1
    }

    /// The products of the irreducible factors of each degree of a monic squarefree polynomial.
    pub(crate) fn distinct_degrees(self, f: &[u64]) -> Vec<(usize, Dense)> {
        let mut parts = Vec::new();
        let mut rest = f.to_vec();
        // x^(p^d) modulo the rest.
        let mut power = self.poly_rem(&[0, 1], &rest);
        let mut degree = 0;
        while rest.len() > 2 * (degree + 1) {
            degree += 1;
            power = self.poly_pow(&power, bits(self.prime), &rest);
            let part = self.poly_gcd(&self.poly_sub(&power, &[0, 1]), &rest);
            if part.len() > 1 {
                rest = self.poly_div_rem(&rest, &part).0;
                power = self.poly_rem(&power, &rest);
                parts.push((degree, part));
            }
        }
        if rest.len() > 1 {
            parts.push((rest.len() - 1, rest));
        }
        parts
    }

    /// The irreducible factors of a monic squarefree polynomial (Cantor and Zassenhaus).
    pub(crate) fn factor(self, f: &[u64], random: &mut Random) -> Vec<Dense> {
        let mut factors = Vec::new();
        for (degree, part) in self.distinct_degrees(f) {
            let mut stack = vec![part];
            while let Some(part) = stack.pop() {
                if part.len() == degree + 1 {
                    factors.push(part);
                    continue;
                }
                // Half of all elements split a given product: the loop ends with certainty, soon.
                let splitter = loop {
                    let mut a: Dense = (1..part.len()).map(|_| self.random(random)).collect();
                    trim(&mut a);
                    // a^((p^d - 1)/2) = (a^(1 + p + … + p^(d-1)))^((p-1)/2).
                    let mut norm = a.clone();
                    for _ in 1..degree {
                        norm = self.poly_pow(&norm, bits(self.prime), &part);
                        norm = self.poly_rem(&self.poly_mul(&norm, &a), &part);
                    }
                    let half = self.poly_pow(&norm, bits((self.prime - 1) / 2), &part);
                    let splitter = self.poly_gcd(&self.poly_sub(&half, &[1]), &part);
                    if splitter.len() > 1 && splitter.len() < part.len() {
                        break splitter;
                    }
                };
                stack.push(self.poly_div_rem(&part, &splitter).0);
                stack.push(splitter);
            }
        }
        factors
    }
}

fn bits(n: u64) -> impl Iterator<Item = bool> {
    (0..64 - n.leading_zeros())
        .rev()
        .map(move |k| n >> k & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field() -> PrimeField {
        prime_fields().next().expect("there are primes")
    }

    #[test]
    fn products_are_remainders() {
        let mut random = Random::new(5);
        for field in prime_fields().take(40) {
            let p = field.prime();
            for _ in 0..200 {
                let a = [random.below(p), p - 1, 0][random.below(3) as usize];
                let b = [random.below(p), p - 1, 1][random.below(3) as usize];
                let remainder = u128::from(a) * u128::from(b) % u128::from(p);
                assert_eq!(u128::from(field.mul(a, b)), remainder, "{a} {b} {p}");
            }
        }
    }

    #[test]
    fn the_largest_prime_below_2_to_61_is_mersennes() {
        assert_eq!(field().prime(), (1 << 61) - 1);
        assert!(!is_prime((1 << 61) - 3));
        assert!(is_prime(1_000_000_007) && !is_prime(3_215_031_751));
        let odd = (0..).map(|step| (1u64 << 61) - 1 - 2 * step);
        let searched = odd.filter(|&n| is_prime(n)).take(20);
        assert!(prime_fields().take(20).map(PrimeField::prime).eq(searched));
    }

    #[test]
    fn inverses() {
        let field = field();
        let mut random = Random::new(1);
        for _ in 0..100 {
            let a = field.random(&mut random);
            assert_eq!(field.mul(a, field.inverse(a)), 1);
        }
    }

    #[test]
    fn factors_multiply_back_and_have_their_degrees() {
        let field = field();
        let mut random = Random::new(2);
        for n in 2..14 {
            let mut f: Dense = (0..n).map(|_| field.random(&mut random)).collect();
            f.push(1);
            let factors = field.factor(&f, &mut random);
            let product = factors.iter().fold(vec![1], |p, g| field.poly_mul(&p, g));
            assert_eq!(product, f);
            for g in &factors {
                assert_eq!(field.factor(g, &mut random).len(), 1);
            }
        }
    }
}
