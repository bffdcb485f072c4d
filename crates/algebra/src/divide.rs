//! Exact division and pseudo-division.

use crate::integer;
use crate::polynomial::{Accumulator, Polynomial};

impl Polynomial {
    /// The quotient over Z if the division leaves no remainder. With a primitive divisor this decides divisibility over
    /// Q too (Gauss).
    pub fn divide_exactly(&self, divisor: &Self) -> Option<Self> {
        let (lead, lead_number) = divisor.leading_term()?;
        let rest = &divisor.terms()[1..];
        // Degrees decide most failures before any work.
        for variable in divisor.variables() {
            if !self.is_zero() && divisor.degree(variable) > self.degree(variable) {
                return None;
            }
        }
        let mut remainder = Accumulator::new(self);
        let mut quotient = Vec::new();
        while let Some((monomial, coefficient)) = remainder.pop() {
            let monomial = monomial.over(lead)?;
            let coefficient = integer::divide_exactly(&coefficient, lead_number)?;
            for (m, c) in rest {
                remainder.subtract(m.times(&monomial), c * &coefficient);
            }
            quotient.push((monomial, coefficient));
        }
        Some(Self::from_sorted(quotient))
    }

    /// The pseudo-remainder with respect to a variable: lc(b)^(deg a - deg b + 1) a reduced modulo b.
    ///
    /// # Panics
    ///
    /// When the divisor is 0.
    pub fn pseudo_remainder(&self, divisor: &Self, variable: usize) -> Self {
        assert!(!divisor.is_zero(), "division by the polynomial 0");
        let (n, m) = (self.degree(variable), divisor.degree(variable));
        if n < m || self.is_zero() {
            return self.clone();
        }
        let lead = divisor.leading_coefficient(variable);
        let mut remainder = self.clone();
        let mut left = n - m + 1;
        while !remainder.is_zero() && remainder.degree(variable) >= m {
            let shift = crate::Monomial::power(variable, remainder.degree(variable) - m);
            let top = remainder.leading_coefficient(variable);
            let product = (&top * divisor).times_term(&shift, &dashu_int::IBig::ONE);
            remainder = &(&remainder * &lead) - &product;
            left -= 1;
        }
        &remainder * &lead.pow(left.into())
    }
}
