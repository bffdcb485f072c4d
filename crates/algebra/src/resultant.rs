//! Resultants by subresultants.

use crate::polynomial::Polynomial;

/// The resultant of two polynomials with respect to a variable, by the subresultant sequence.
///
/// It is 0 exactly where the two have a common root or both leading coefficients vanish. 0 if one of them is 0.
pub fn resultant(a: &Polynomial, b: &Polynomial, variable: usize) -> Polynomial {
    if a.is_zero() || b.is_zero() {
        return Polynomial::zero();
    }
    let (mut a, mut b) = (a.clone(), b.clone());
    let mut negate = false;
    if a.degree(variable) < b.degree(variable) {
        negate = a.degree(variable) % 2 == 1 && b.degree(variable) % 2 == 1;
        std::mem::swap(&mut a, &mut b);
    }
    // Cohen (1993), algorithm 3.3.7: every division is exact.
    let mut g = Polynomial::one();
    let mut h = Polynomial::one();
    while b.degree(variable) > 0 {
        let (n, m) = (a.degree(variable), b.degree(variable));
        let delta = u32::from(n - m);
        if n % 2 == 1 && m % 2 == 1 {
            negate = !negate;
        }
        let remainder = a.pseudo_remainder(&b, variable);
        if remainder.is_zero() {
            return remainder;
        }
        a = b;
        b = exact(&remainder, &(&g * &h.pow(delta)));
        g = a.leading_coefficient(variable);
        h = match delta {
            0 => h,
            _ => exact(&g.pow(delta), &h.pow(delta - 1)),
        };
    }
    let degree = u32::from(a.degree(variable));
    let result = match degree {
        0 => Polynomial::one(),
        _ => exact(&b.pow(degree), &h.pow(degree - 1)),
    };
    if negate { -&result } else { result }
}

fn exact(a: &Polynomial, b: &Polynomial) -> Polynomial {
    a.divide_exactly(b)
        .expect("divisions of the subresultant sequence are exact")
}
