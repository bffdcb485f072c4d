//! The coefficients of matrix rows: numbers modulo a prime of 31 bits, or whole numbers.

use crate::integer;
use dashu_int::IBig;

/// What the elimination needs to know about coefficients.
pub(crate) trait Arithmetic {
    /// A coefficient as it is stored.
    type Number: Clone;
    /// A coefficient in the row that is being reduced.
    type Slot: Clone;

    fn zero(&self) -> Self::Slot;
    fn load(&self, number: &Self::Number) -> Self::Slot;
    fn is_zero(&self, slot: &Self::Slot) -> bool;
    /// Subtracts from a row the multiple of a pivot that clears the first column of the pivot. The row may be scaled.
    fn eliminate(&self, row: &mut [Self::Slot], columns: &[u32], numbers: &[Self::Number]);
    /// The coefficients of a row, scaled to the normal form.
    fn store(&self, row: Vec<Self::Slot>) -> Vec<Self::Number>;
    /// A stored zero.
    fn stored_zero(&self) -> Self::Number;
}

/// Numbers modulo a prime below 2^31.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prime31(u32);

impl Prime31 {
    pub(crate) fn prime(self) -> u32 {
        self.0
    }

    pub(crate) fn mul(self, a: u32, b: u32) -> u32 {
        (u64::from(a) * u64::from(b) % u64::from(self.0)) as u32
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

    /// The residue of a slot.
    fn residue(self, slot: i64) -> u32 {
        (slot as u64 % u64::from(self.0)) as u32
    }
}

/// The primes below 2^31, largest first.
pub(crate) fn primes() -> impl Iterator<Item = Prime31> {
    let odd = (0..).map(|step| (1u64 << 31) - 1 - 2 * step);
    odd.filter(|&n| crate::prime_field::is_prime(n))
        .map(|n| Prime31(n as u32))
}

impl Arithmetic for Prime31 {
    type Number = u32;
    /// From 0 to the square of the prime: products are reduced once per column, not once per product.
    type Slot = i64;

    fn zero(&self) -> i64 {
        0
    }

    fn load(&self, number: &u32) -> i64 {
        i64::from(*number)
    }

    fn is_zero(&self, slot: &i64) -> bool {
        self.residue(*slot) == 0
    }

    fn eliminate(&self, row: &mut [i64], columns: &[u32], numbers: &[u32]) {
        let square = i64::from(self.0) * i64::from(self.0);
        let factor = i64::from(self.residue(row[columns[0] as usize]));
        row[columns[0] as usize] = 0;
        for (&column, &number) in columns[1..].iter().zip(&numbers[1..]) {
            let slot = &mut row[column as usize];
            let difference = *slot - factor * i64::from(number);
            *slot = difference + (difference >> 63 & square);
        }
    }

    fn store(&self, row: Vec<i64>) -> Vec<u32> {
        let mut numbers: Vec<u32> = row.into_iter().map(|slot| self.residue(slot)).collect();
        if let Some(&lead) = numbers.first()
            && lead != 1
        {
            let inverse = self.inverse(lead);
            for number in &mut numbers {
                *number = self.mul(*number, inverse);
            }
        }
        numbers
    }

    fn stored_zero(&self) -> u32 {
        0
    }
}

/// Whole numbers without a common divisor, the first one positive: a row up to a factor.
pub(crate) struct Integers;

impl Arithmetic for Integers {
    type Number = IBig;
    type Slot = IBig;

    fn zero(&self) -> IBig {
        IBig::ZERO
    }

    fn load(&self, number: &IBig) -> IBig {
        number.clone()
    }

    fn is_zero(&self, slot: &IBig) -> bool {
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

    fn store(&self, mut row: Vec<IBig>) -> Vec<IBig> {
        let mut content = IBig::ZERO;
        for number in &row {
            content = integer::gcd(&content, number);
            if content.is_one() {
                break;
            }
        }
        if row.first().is_some_and(integer::is_negative) {
            content = -content;
        }
        if !content.is_one() && !content.is_zero() {
            for number in &mut row {
                *number = &*number / &content;
            }
        }
        row
    }

    fn stored_zero(&self) -> IBig {
        IBig::ZERO
    }
}
