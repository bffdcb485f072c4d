//! The coefficients of matrix rows: numbers modulo primes of 28 bits, or whole numbers.

use crate::integer;
use dashu_int::IBig;
use dashu_int::ops::BitTest;
use std::sync::LazyLock;

/// What the elimination needs to know about coefficients.
pub(crate) trait Arithmetic {
    /// A coefficient as it is stored.
    type Number: Clone;
    /// A coefficient in the row that is being reduced.
    type Slot: Clone;
    /// After so many eliminations a row has to be settled.
    const BATCH: usize;

    fn zero(&self) -> Self::Slot;
    fn load(&self, number: &Self::Number) -> Self::Slot;
    /// Whether a slot is zero; brings it to its normal form.
    fn is_zero(&self, slot: &mut Self::Slot) -> bool;
    /// Subtracts from a row the multiple of a pivot that clears the first column of the pivot, where the row is in
    /// normal form and not zero. The row may be scaled.
    fn eliminate(&self, row: &mut [Self::Slot], columns: &[u32], numbers: &[Self::Number]);
    /// Keeps the numbers of a row small; whether that succeeded.
    fn settle(&self, row: &mut [Self::Slot]) -> bool;
    /// The coefficients of a row, scaled to the normal form; none if the first one cannot be made 1
    /// or they are too large.
    fn store(&self, row: Vec<Self::Slot>) -> Option<Vec<Self::Number>>;
    /// A stored zero.
    fn stored_zero(&self) -> Self::Number;
}

/// A prime below 2^28.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prime(u32);

impl Prime {
    pub(crate) fn value(self) -> u32 {
        self.0
    }

    pub(crate) fn mul(self, a: u32, b: u32) -> u32 {
        self.residue(u64::from(a) * u64::from(b))
    }

    pub(crate) fn sub(self, a: u32, b: u32) -> u32 {
        if a >= b { a - b } else { a + self.0 - b }
    }

    /// The inverse of a number that is not 0, by Fermat.
    pub(crate) fn inverse(self, a: u32) -> u32 {
        let (mut result, mut square, mut exponent) = (1, a, self.0 - 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, square);
            }
            square = self.mul(square, square);
            exponent >>= 1;
        }
        result
    }

    pub(crate) fn image(self, a: &IBig) -> u32 {
        integer::remainder(a, u64::from(self.0)) as u32
    }

    pub(crate) fn residue(self, a: u64) -> u32 {
        (a % u64::from(self.0)) as u32
    }
}

/// The primes below 2^28, largest first.
pub(crate) fn primes() -> impl Iterator<Item = Prime> {
    /// The first ones, found once: most computations need no others.
    static LARGEST: LazyLock<Vec<Prime>> =
        LazyLock::new(|| primes_below(1 << 28).take(64).collect());
    let last = LARGEST.last().map_or(1 << 28, |prime| prime.value());
    LARGEST.iter().copied().chain(primes_below(last))
}

fn primes_below(bound: u32) -> impl Iterator<Item = Prime> {
    let odd = (3..bound).rev().filter(|n| n % 2 == 1);
    odd.filter(|&n| crate::prime_field::is_prime(u64::from(n)))
        .map(Prime)
}

/// Numbers modulo several primes side by side.
///
/// Products of residues have at most 56 bits, so 255 of them are added to a slot before it is reduced.
pub(crate) struct Lanes<const N: usize>(pub(crate) [Prime; N]);

impl<const N: usize> Lanes<N> {
    fn reduced(&self, slot: &[u64; N]) -> [u64; N] {
        std::array::from_fn(|lane| u64::from(self.0[lane].residue(slot[lane])))
    }
}

impl<const N: usize> Arithmetic for Lanes<N> {
    type Number = [u32; N];
    type Slot = [u64; N];
    const BATCH: usize = 250;

    fn zero(&self) -> [u64; N] {
        [0; N]
    }

    fn load(&self, number: &[u32; N]) -> [u64; N] {
        number.map(u64::from)
    }

    fn is_zero(&self, slot: &mut [u64; N]) -> bool {
        if *slot == [0; N] {
            return true;
        }
        *slot = self.reduced(slot);
        *slot == [0; N]
    }

    fn eliminate(&self, row: &mut [[u64; N]], columns: &[u32], numbers: &[[u32; N]]) {
        let first = &mut row[columns[0] as usize];
        let factor: [u32; N] = std::array::from_fn(|lane| self.0[lane].0 - first[lane] as u32);
        *first = [0; N];
        for (&column, number) in columns[1..].iter().zip(&numbers[1..]) {
            let slot = &mut row[column as usize];
            for lane in 0..N {
                slot[lane] += u64::from(factor[lane]) * u64::from(number[lane]);
            }
        }
    }

    fn settle(&self, row: &mut [[u64; N]]) -> bool {
        for slot in row.iter_mut().filter(|slot| **slot != [0; N]) {
            *slot = self.reduced(slot);
        }
        true
    }

    fn store(&self, row: Vec<[u64; N]>) -> Option<Vec<[u32; N]>> {
        let lead = row.first()?;
        if lead.contains(&0) {
            return None;
        }
        let inverse: [u32; N] = std::array::from_fn(|lane| self.0[lane].inverse(lead[lane] as u32));
        let scaled = |slot: [u64; N]| {
            std::array::from_fn(|lane| self.0[lane].mul(slot[lane] as u32, inverse[lane]))
        };
        Some(row.into_iter().map(scaled).collect())
    }

    fn stored_zero(&self) -> [u32; N] {
        [0; N]
    }
}

/// Whole numbers without a common divisor, the first one positive: a row up to a factor.
pub(crate) struct Integers {
    /// Larger numbers are given up on: those in between may be far larger than those of the result.
    pub(crate) most_bits: usize,
}

impl Arithmetic for Integers {
    type Number = IBig;
    type Slot = IBig;
    const BATCH: usize = 8;

    fn zero(&self) -> IBig {
        IBig::ZERO
    }

    fn load(&self, number: &IBig) -> IBig {
        number.clone()
    }

    fn is_zero(&self, slot: &mut IBig) -> bool {
        slot.is_zero()
    }

    fn eliminate(&self, row: &mut [IBig], columns: &[u32], numbers: &[IBig]) {
        let first = &row[columns[0] as usize];
        let common = integer::gcd(first, &numbers[0]);
        let (factor, scale) = (first / &common, &numbers[0] / &common);
        if !scale.is_one() {
            for slot in row.iter_mut().filter(|slot| !slot.is_zero()) {
                *slot *= &scale;
            }
        }
        for (&column, number) in columns.iter().zip(numbers) {
            row[column as usize] -= &factor * number;
        }
    }

    fn settle(&self, row: &mut [IBig]) -> bool {
        let content = integer::gcd_of_all(row.iter());
        if !content.is_one() && !content.is_zero() {
            for number in row.iter_mut().filter(|number| !number.is_zero()) {
                *number = &*number / &content;
            }
        }
        row.iter().all(|number| number.bit_len() <= self.most_bits)
    }

    fn store(&self, mut row: Vec<IBig>) -> Option<Vec<IBig>> {
        if !self.settle(&mut row) {
            return None;
        }
        if row.first().is_some_and(integer::is_negative) {
            for number in &mut row {
                *number = -std::mem::take(number);
            }
        }
        Some(row)
    }

    fn stored_zero(&self) -> IBig {
        IBig::ZERO
    }
}
