//! Whole and rational numbers: what the polynomials need beyond dashu.

use dashu_int::ops::{DivRem, Gcd, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// The greatest common divisor, not negative.
pub fn gcd(a: &IBig, b: &IBig) -> IBig {
    if a.is_zero() {
        return abs(b);
    }
    if b.is_zero() {
        return abs(a);
    }
    IBig::from(a.unsigned_abs().gcd(b.unsigned_abs()))
}

/// The greatest common divisor of many numbers; 0 if all are 0.
pub fn gcd_of_all<'a>(numbers: impl IntoIterator<Item = &'a IBig>) -> IBig {
    let mut common = IBig::ZERO;
    for number in numbers {
        common = gcd(&common, number);
        if common.is_one() {
            break;
        }
    }
    common
}

/// The magnitude.
pub fn abs(a: &IBig) -> IBig {
    IBig::from(a.unsigned_abs())
}

/// The bits of the magnitude.
pub fn bit_length(a: &IBig) -> usize {
    use dashu_int::ops::{BitTest, UnsignedAbs};
    a.unsigned_abs().bit_len()
}

/// Whether the number is below zero.
pub fn is_negative(a: &IBig) -> bool {
    *a < IBig::ZERO
}

/// `a / b` if that is a whole number.
pub fn divide_exactly(a: &IBig, b: &IBig) -> Option<IBig> {
    if b.is_zero() {
        return None;
    }
    let (quotient, remainder) = a.div_rem(b);
    remainder.is_zero().then_some(quotient)
}

/// The remainder of smallest magnitude modulo a positive number.
pub fn symmetric_remainder(a: &IBig, modulus: &IBig) -> IBig {
    let mut remainder = a % modulus;
    if is_negative(&remainder) {
        remainder += modulus;
    }
    if &remainder + &remainder > *modulus {
        remainder -= modulus;
    }
    remainder
}

/// The remainder from 0 to `prime` - 1.
pub fn remainder(a: &IBig, prime: u64) -> u64 {
    let magnitude = a.unsigned_abs() % prime;
    if is_negative(a) && magnitude != 0 {
        prime - magnitude
    } else {
        magnitude
    }
}

/// The closest double; infinite beyond the range.
pub fn to_f64(a: &IBig) -> f64 {
    a.to_f64().value()
}

/// The closest double of a rational number.
pub fn rational_to_f64(a: &RBig) -> f64 {
    a.to_f64().value()
}

/// The decimal number that a double is written as: 0.1 is 1/10, and not the binary fraction next to it.
///
/// Numbers of a model are read as decimals; the shortest decimal that reads back is what the user wrote whenever that
/// has at most 15 digits. `None` for infinite values and NaN.
pub fn decimal(value: f64) -> Option<RBig> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: IBig = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent - fraction.len() as i32;
    let power = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
    Some(if exponent >= 0 {
        RBig::from(digits * power)
    } else {
        RBig::from_parts(digits, power)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_the_decimals_they_are_written_as() {
        for (value, numerator, denominator) in [
            (0.1, 1, 10u32),
            (-9.81, -981, 100),
            (1e3, 1000, 1),
            (0.0, 0, 1),
            (2.5e-3, 1, 400),
            (123456.75, 493827, 4),
        ] {
            assert_eq!(
                decimal(value),
                Some(RBig::from_parts(
                    IBig::from(numerator),
                    UBig::from(denominator)
                ))
            );
        }
        assert_eq!(decimal(f64::NAN), None);
        assert_eq!(decimal(f64::INFINITY), None);
    }

    #[test]
    fn remainders() {
        let seven = IBig::from(7);
        for a in -30..30 {
            let r = symmetric_remainder(&IBig::from(a), &seven);
            assert!(r >= IBig::from(-3) && r <= IBig::from(3));
            assert!(((IBig::from(a) - r) % &seven).is_zero());
            assert_eq!(
                remainder(&IBig::from(a), 7),
                i64::from(a).rem_euclid(7) as u64
            );
        }
    }
}
