//! Intervals with big fixed-point ends: every operation rounds outwards, so the true value is always inside.

use crate::integer;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::cmp::Ordering;

/// All numbers from `lower` to `upper`, both multiples of 2^-bits.
///
/// Operands of one operation have the same number of bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enclosure {
    lower: IBig,
    upper: IBig,
    bits: usize,
}

impl Enclosure {
    /// The numbers from `lower` to `upper`, in units of 2^-bits.
    pub fn new(lower: IBig, upper: IBig, bits: usize) -> Self {
        debug_assert!(lower <= upper);
        Self { lower, upper, bits }
    }

    /// A whole number.
    pub fn whole(value: &IBig, bits: usize) -> Self {
        let scaled = value << bits;
        Self::new(scaled.clone(), scaled, bits)
    }

    /// The numbers from mantissa 2^exponent to (mantissa + extent) 2^exponent.
    pub fn dyadic(mantissa: &IBig, extent: u8, exponent: i64, bits: usize) -> Self {
        let upper = mantissa + IBig::from(extent);
        let shift = exponent + bits as i64;
        if shift >= 0 {
            let shift = shift as usize;
            Self::new(mantissa << shift, upper << shift, bits)
        } else {
            let shift = shift.unsigned_abs() as usize;
            Self::new(mantissa >> shift, shift_up(&upper, shift), bits)
        }
    }

    /// The smallest enclosure of a rational number.
    pub fn rational(value: &RBig, bits: usize) -> Self {
        let numerator = value.numerator() << bits;
        let denominator = IBig::from(value.denominator().clone());
        Self::new(
            quotient_down(&numerator, &denominator),
            quotient_up(&numerator, &denominator),
            bits,
        )
    }

    /// The bits after the point.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The sign of all numbers inside; `None` if 0 is one of several.
    pub fn sign(&self) -> Option<Ordering> {
        if self.lower > IBig::ZERO {
            Some(Ordering::Greater)
        } else if self.upper < IBig::ZERO {
            Some(Ordering::Less)
        } else if self.lower.is_zero() && self.upper.is_zero() {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    /// Whether two enclosures have a number in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.lower <= other.upper && other.lower <= self.upper
    }

    /// Whether the width is at most 2^-bits.
    pub fn is_within(&self, bits: usize) -> bool {
        bits <= self.bits && &self.upper - &self.lower <= IBig::ONE << (self.bits - bits)
    }

    /// The double next to the middle.
    pub fn middle(&self) -> f64 {
        let twice = &self.lower + &self.upper;
        let denominator = UBig::ONE << (self.bits + 1);
        integer::rational_to_f64(&RBig::from_parts(twice, denominator))
    }

    /// The width, rounded to a double.
    pub fn width(&self) -> f64 {
        let denominator = UBig::ONE << self.bits;
        integer::rational_to_f64(&RBig::from_parts(&self.upper - &self.lower, denominator))
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        debug_assert_eq!(self.bits, other.bits);
        Self::new(
            &self.lower + &other.lower,
            &self.upper + &other.upper,
            self.bits,
        )
    }

    /// The difference.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// The negative.
    pub fn negated(&self) -> Self {
        Self::new(-&self.upper, -&self.lower, self.bits)
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        debug_assert_eq!(self.bits, other.bits);
        let ends = [
            &self.lower * &other.lower,
            &self.lower * &other.upper,
            &self.upper * &other.lower,
            &self.upper * &other.upper,
        ];
        let [low, high] = least_and_greatest(ends);
        Self::new(low >> self.bits, shift_up(&high, self.bits), self.bits)
    }

    /// The product with a whole number.
    pub fn scaled(&self, factor: &IBig) -> Self {
        let [low, high] = least_and_greatest([&self.lower * factor, &self.upper * factor]);
        Self::new(low, high, self.bits)
    }

    /// The quotient; `None` if the divisor may be 0.
    pub fn over(&self, divisor: &Self) -> Option<Self> {
        debug_assert_eq!(self.bits, divisor.bits);
        match divisor.sign() {
            Some(Ordering::Less) => return self.negated().over(&divisor.negated()),
            Some(Ordering::Greater) => {}
            _ => return None,
        }
        let (lower, upper) = (&self.lower << self.bits, &self.upper << self.bits);
        let [low, _] = least_and_greatest([
            quotient_down(&lower, &divisor.lower),
            quotient_down(&lower, &divisor.upper),
        ]);
        let [_, high] = least_and_greatest([
            quotient_up(&upper, &divisor.lower),
            quotient_up(&upper, &divisor.upper),
        ]);
        Some(Self::new(low, high, self.bits))
    }

    /// The square root; `None` if a number inside is negative.
    pub fn sqrt(&self) -> Option<Self> {
        if integer::is_negative(&self.lower) {
            return None;
        }
        let lower = root_down(&(&self.lower << self.bits));
        let scaled = &self.upper << self.bits;
        let upper = root_down(&scaled);
        let upper = if &upper * &upper < scaled {
            upper + IBig::ONE
        } else {
            upper
        };
        Some(Self::new(lower, upper, self.bits))
    }

    /// The angle in (-π, π] of the direction (`cosine`, `sine`), which need not have length 1.
    ///
    /// `None` if the direction may be 0 or the cut at -π may be crossed; more bits then help unless the angle is π itself,
    /// which is found when `sine` is exactly 0.
    pub fn angle(cosine: &Self, sine: &Self) -> Option<Self> {
        let bits = cosine.bits;
        let half_pi = half_pi(bits);
        match (cosine.sign(), sine.sign()) {
            (Some(Ordering::Greater), _) => Some(arc_tangent(&sine.over(cosine)?)),
            (_, Some(Ordering::Greater)) => Some(half_pi.minus(&arc_tangent(&cosine.over(sine)?))),
            (_, Some(Ordering::Less)) => {
                Some(half_pi.negated().minus(&arc_tangent(&cosine.over(sine)?)))
            }
            (Some(Ordering::Less), Some(Ordering::Equal)) => Some(half_pi.plus(&half_pi)),
            _ => None,
        }
    }
}

impl Enclosure {
    /// Cosine and sine, for numbers of magnitude 4 at most; `None` beyond: (10) and (11) of `docs/theory/real-points.md`.
    pub fn cosine_and_sine(&self) -> Option<[Self; 2]> {
        let bits = self.bits;
        let four = IBig::from(4) << bits;
        if self.lower < -&four || self.upper > four {
            return None;
        }
        let power = IBig::ONE << HALVINGS;
        let x = self.divided(&power);
        let one = Self::whole(&IBig::ONE, bits);
        let square = x.times(&x).with_squares_not_negative();
        let [mut cosine, mut sine] = [one.clone(), x.clone()];
        let [mut even, mut odd] = [one, x];
        let mut n = 0u32;
        loop {
            n += 2;
            even = even
                .times(&square)
                .negated()
                .divided(&IBig::from(n * (n - 1)));
            odd = odd
                .times(&square)
                .negated()
                .divided(&IBig::from(n * (n + 1)));
            // The series alternate and fall, so the first omitted terms bound the rest.
            if even.size() <= IBig::ONE && odd.size() <= IBig::ONE {
                cosine = cosine.widened(&even.size());
                sine = sine.widened(&odd.size());
                break;
            }
            cosine = cosine.plus(&even);
            sine = sine.plus(&odd);
        }
        for _ in 0..HALVINGS {
            let product = cosine.times(&sine);
            let squares = [&cosine, &sine].map(|v| v.times(v).with_squares_not_negative());
            [cosine, sine] = [squares[0].minus(&squares[1]), product.plus(&product)];
        }
        Some([cosine, sine])
    }

    /// The quotient by a positive whole number.
    fn divided(&self, divisor: &IBig) -> Self {
        Self::new(
            quotient_down(&self.lower, divisor),
            quotient_up(&self.upper, divisor),
            self.bits,
        )
    }

    /// The largest magnitude, in units of 2^-bits.
    fn size(&self) -> IBig {
        integer::abs(&self.lower).max(integer::abs(&self.upper))
    }

    /// With `margin` more on either side, in units of 2^-bits.
    fn widened(&self, margin: &IBig) -> Self {
        Self::new(&self.lower - margin, &self.upper + margin, self.bits)
    }

    /// An enclosure of it with another number of bits.
    pub(super) fn with_bits(&self, bits: usize) -> Self {
        if bits >= self.bits {
            let shift = bits - self.bits;
            Self::new(&self.lower << shift, &self.upper << shift, bits)
        } else {
            let shift = self.bits - bits;
            Self::new(&self.lower >> shift, shift_up(&self.upper, shift), bits)
        }
    }

    /// The numbers within 2^-bits of the middle.
    pub(super) fn around_middle(&self, bits: usize) -> Self {
        self.at_middle()
            .widened(&(IBig::ONE << self.bits.saturating_sub(bits)))
    }

    /// A number in the middle.
    pub(super) fn at_middle(&self) -> Self {
        let middle = (&self.lower + &self.upper) >> 1usize;
        Self::new(middle.clone(), middle, self.bits)
    }

    /// The quotient by 2^shift.
    pub(super) fn shifted_down(&self, shift: usize) -> Self {
        Self::new(
            &self.lower >> shift,
            shift_up(&self.upper, shift),
            self.bits,
        )
    }

    /// Whether all numbers lie inside another enclosure and none at its ends.
    pub(super) fn is_inside(&self, other: &Self) -> bool {
        other.lower < self.lower && self.upper < other.upper
    }
}

/// π/2 = 2 atan 1.
fn half_pi(bits: usize) -> Enclosure {
    let quarter = arc_tangent(&Enclosure::whole(&IBig::ONE, bits));
    quarter.plus(&quarter)
}

/// How often arguments are halved: below 2^-4 each term of the series of sine and cosine gives 8 bits or more, below 2^-6 each
/// term of that of the arc tangent 12 bits.
const HALVINGS: usize = 6;

/// The arc tangent: (8) and (9) of `docs/theory/real-points.md`.
fn arc_tangent(argument: &Enclosure) -> Enclosure {
    let bits = argument.bits;
    let one = Enclosure::whole(&IBig::ONE, bits);
    let mut x = argument.clone();
    for _ in 0..HALVINGS {
        let root = one
            .plus(&x.times(&x).with_squares_not_negative())
            .sqrt()
            .expect("1 + x^2 is positive");
        x = x.over(&one.plus(&root)).expect("the divisor is at least 2");
    }
    // |x| <= tan(π/2 / 2^6) < 2^-5: the first omitted term bounds the rest of the alternating series.
    let square = x.times(&x).with_squares_not_negative();
    let mut power = x.clone();
    let mut sum = x;
    let mut odd = 1u32;
    loop {
        power = power.times(&square).negated();
        odd += 2;
        let term = power.divided(&IBig::from(odd));
        if term.size() <= IBig::ONE {
            sum = sum.widened(&term.size());
            break;
        }
        sum = sum.plus(&term);
    }
    sum.scaled(&(IBig::ONE << HALVINGS))
}

impl Enclosure {
    /// A square computed as a product, without the negative numbers that it cannot have.
    fn with_squares_not_negative(mut self) -> Self {
        if integer::is_negative(&self.lower) {
            self.lower = IBig::ZERO;
        }
        self
    }
}

fn least_and_greatest<const N: usize>(values: [IBig; N]) -> [IBig; 2] {
    let least = values.iter().min().cloned().unwrap_or_default();
    let greatest = values.into_iter().max().unwrap_or_default();
    [least, greatest]
}

/// `a` / 2^shift, rounded up.
fn shift_up(a: &IBig, shift: usize) -> IBig {
    -(-a >> shift)
}

/// a / b for positive b, rounded down.
fn quotient_down(a: &IBig, b: &IBig) -> IBig {
    let quotient = a / b;
    if integer::is_negative(a) && &quotient * b != *a {
        quotient - IBig::ONE
    } else {
        quotient
    }
}

/// a / b for positive b, rounded up.
fn quotient_up(a: &IBig, b: &IBig) -> IBig {
    -quotient_down(&-a, b)
}

/// The square root of a number that is not negative, rounded down.
fn root_down(a: &IBig) -> IBig {
    use dashu_int::ops::{SquareRoot, UnsignedAbs};
    IBig::from(a.unsigned_abs().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn rational(numerator: i64, denominator: u64) -> RBig {
        RBig::from_parts(numerator.into(), denominator.into())
    }

    fn contains(enclosure: &Enclosure, value: &RBig) -> bool {
        let scaled = value * RBig::from(UBig::ONE << enclosure.bits);
        RBig::from(enclosure.lower.clone()) <= scaled
            && scaled <= RBig::from(enclosure.upper.clone())
    }

    #[test]
    fn every_operation_encloses_the_exact_result() {
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let bits = 5 + random.below(60) as usize;
            let [a, b] = [(); 2].map(|()| rational(random.within(1000), 1 + random.below(300)));
            let [x, y] = [&a, &b].map(|value| Enclosure::rational(value, bits));
            assert!(contains(&x, &a));
            assert!(contains(&x.plus(&y), &(&a + &b)));
            assert!(contains(&x.minus(&y), &(&a - &b)));
            assert!(contains(&x.times(&y), &(&a * &b)));
            if let Some(quotient) = x.over(&y) {
                assert!(contains(&quotient, &(&a / &b)));
            }
            if let Some(root) = x.times(&x).sqrt() {
                let magnitude = if a < RBig::ZERO {
                    -a.clone()
                } else {
                    a.clone()
                };
                assert!(contains(&root, &magnitude));
            }
        }
    }

    #[test]
    fn pi_has_its_digits() {
        // 2^200 π, rounded down: computed from Machin's formula with 1000 bits.
        let bits = 200;
        let pi = half_pi(bits).scaled(&IBig::from(2));
        let machin = {
            let inverse = |n: i64| {
                let work = 400usize;
                let (mut sum, mut power, mut k) = (IBig::ZERO, (IBig::ONE << work) / n, 1i64);
                while !power.is_zero() {
                    sum += &power / IBig::from(k);
                    power = -(&power / IBig::from(n * n));
                    k += 2;
                }
                sum
            };
            (IBig::from(16) * inverse(5) - IBig::from(4) * inverse(239)) >> 200usize
        };
        assert!(pi.lower <= machin && machin <= pi.upper);
        assert!(pi.is_within(bits - 16));
    }

    /// The same number with few and with many bits, and a wide enclosure of it: all of them meet, and the identities hold.
    #[test]
    fn sines_and_angles_agree_with_high_precision() {
        let mut random = Random::new(4);
        for _ in 0..1000 {
            let value = rational(random.within(3_999_999), 1_000_000);
            let at = |bits| Enclosure::rational(&value, bits);
            let [cosine, sine] = at(70).cosine_and_sine().expect("below 4");
            let [exact_cosine, exact_sine] = at(300).cosine_and_sine().expect("below 4");
            assert!(exact_cosine.is_within(280) && cosine.is_within(55));
            for (low, high) in [(&cosine, &exact_cosine), (&sine, &exact_sine)] {
                assert!(low.meets(&high.with_bits(70)), "{value}");
            }
            let wide = at(70).widened(&IBig::from(1_u64 << 50));
            let [wide_cosine, wide_sine] = wide.cosine_and_sine().expect("below 4");
            assert!(cosine.is_inside(&wide_cosine) && sine.is_inside(&wide_sine));
            let double = integer::rational_to_f64(&value);
            assert!((cosine.middle() - double.cos()).abs() < 1e-15);
            assert!((sine.middle() - double.sin()).abs() < 1e-15);
            if double.abs() < 3.1 {
                let angle = Enclosure::angle(&exact_cosine, &exact_sine);
                let angle = angle.expect("no multiple of a half turn");
                assert!(angle.meets(&at(300)) && angle.is_within(250), "{value}");
            }
        }
        let beyond = Enclosure::whole(&IBig::from(5), 60);
        assert!(beyond.cosine_and_sine().is_none());
    }

    #[test]
    fn angles_agree_with_doubles_in_every_quadrant() {
        let mut random = Random::new(2);
        for _ in 0..500 {
            let [c, s] = [(); 2].map(|()| random.within(100_000));
            if c == 0 && s == 0 {
                continue;
            }
            let [x, y] = [c, s].map(|value| Enclosure::whole(&IBig::from(value), 90));
            let angle = Enclosure::angle(&x, &y).expect("exact directions have angles");
            let expected = (s as f64).atan2(c as f64);
            assert!((angle.middle() - expected).abs() < 1e-15, "{c} {s}");
            assert!(angle.is_within(70));
        }
    }
}
