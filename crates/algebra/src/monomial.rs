//! Products of powers of variables.

use smallvec::SmallVec;

/// A product of powers of variables, ordered lexicographically with variable 0 highest.
///
/// Exponents are stored up to the last one that is not 0, so that equal products are equal values whatever the number
/// of variables, and the order of slices is the lexicographic order.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Monomial(SmallVec<[u16; 12]>);

impl Monomial {
    /// The empty product, 1.
    pub fn one() -> Self {
        Self::default()
    }

    /// A power of one variable.
    pub fn power(variable: usize, exponent: u16) -> Self {
        let mut monomial = Self::one();
        monomial.set(variable, exponent);
        monomial
    }

    /// The exponent of a variable.
    pub fn exponent(&self, variable: usize) -> u16 {
        self.0.get(variable).copied().unwrap_or(0)
    }

    /// The exponents, up to the last that is not 0.
    pub fn exponents(&self) -> &[u16] {
        &self.0
    }

    /// Whether it is the empty product.
    pub fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    /// Sum of the exponents.
    pub fn total_degree(&self) -> u32 {
        self.0.iter().map(|&e| u32::from(e)).sum()
    }

    /// Sets the exponent of a variable.
    pub fn set(&mut self, variable: usize, exponent: u16) {
        if variable < self.0.len() {
            self.0[variable] = exponent;
            self.trim();
        } else if exponent != 0 {
            self.0.resize(variable + 1, 0);
            self.0[variable] = exponent;
        }
    }

    /// The same without a variable.
    pub fn without(&self, variable: usize) -> Self {
        let mut rest = self.clone();
        rest.set(variable, 0);
        rest
    }

    /// The product.
    ///
    /// # Panics
    ///
    /// When an exponent exceeds 65535.
    pub fn times(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() >= other.0.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut product = long.clone();
        for (a, b) in product.0.iter_mut().zip(&short.0) {
            *a = a.checked_add(*b).expect("exponents stay below 65536");
        }
        product
    }

    /// The quotient, if the other divides this one.
    pub fn over(&self, other: &Self) -> Option<Self> {
        if other.0.len() > self.0.len() {
            return None;
        }
        let mut quotient = self.clone();
        for (a, b) in quotient.0.iter_mut().zip(&other.0) {
            *a = a.checked_sub(*b)?;
        }
        quotient.trim();
        Some(quotient)
    }

    /// The greatest common divisor.
    pub fn common(&self, other: &Self) -> Self {
        let mut common = Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(&a, &b)| a.min(b))
                .collect(),
        );
        common.trim();
        common
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_products_are_equal_values() {
        let x = Monomial::power(0, 2);
        let z = Monomial::power(5, 3);
        let product = x.times(&z);
        assert_eq!(product.over(&z), Some(x.clone()));
        assert_eq!(x.over(&z), None);
        assert_eq!(product.without(5), x);
        assert_eq!(
            product.common(&Monomial::power(5, 1)),
            Monomial::power(5, 1)
        );
        assert!(x > z && product > x && z > Monomial::one());
        assert_eq!(product.total_degree(), 5);
    }
}
