//! Polynomials as Modelica text.

use crate::integer;
use crate::polynomial::Polynomial;

impl Polynomial {
    /// The polynomial as Modelica text, highest term first; `name` writes a variable.
    pub fn text(&self, mut name: impl FnMut(usize, &mut String)) -> String {
        let mut text = String::new();
        for (at, (monomial, coefficient)) in self.terms().iter().enumerate() {
            let negative = integer::is_negative(coefficient);
            text.push_str(match (at, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            let magnitude = integer::abs(coefficient);
            let mut first = true;
            if monomial.is_one() || !magnitude.is_one() {
                text.push_str(&magnitude.to_string());
                first = false;
            }
            for (variable, &exponent) in monomial.exponents().iter().enumerate() {
                if exponent == 0 {
                    continue;
                }
                if !first {
                    text.push('*');
                }
                first = false;
                name(variable, &mut text);
                if exponent > 1 {
                    text.push_str(&format!("^{exponent}"));
                }
            }
        }
        if text.is_empty() {
            text.push('0');
        }
        text
    }
}
