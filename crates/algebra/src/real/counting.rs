//! Hermite's form at many values of the parameters: doubles with error bounds decide, and where they do not, nothing is
//! said. Section 6 of `docs/theory/real-points.md`.

use super::hermite::HermiteForm;
use crate::groebner::{Budget, OutOfBudget};
use crate::{Fraction, Polynomial, integer};

/// Half the distance between 1 and the next double.
const UNIT: f64 = f64::EPSILON / 2.0;

/// A number that is known up to a radius.
#[derive(Clone, Copy, Debug)]
pub struct Ball {
    /// The middle.
    pub middle: f64,
    /// The radius; NaN or infinite where nothing is known.
    pub radius: f64,
}

impl Ball {
    /// The sign, if it is certain; never 0.
    pub fn is_positive(self) -> Option<bool> {
        (self.middle.abs() > self.radius).then_some(self.middle > 0.0)
    }

    fn times(self, other: Self) -> Self {
        let middle = self.middle * other.middle;
        let spread = self.middle.abs() * other.radius
            + other.middle.abs() * self.radius
            + self.radius * other.radius;
        Self::rounded(middle, spread)
    }

    fn minus(self, other: Self) -> Self {
        Self::rounded(self.middle - other.middle, self.radius + other.radius)
    }

    /// The quotient; nothing is known if the divisor may be 0.
    fn over(self, other: Self) -> Self {
        let room = other.middle.abs() - other.radius;
        if room.is_nan() || room <= 0.0 {
            return Self::rounded(0.0, f64::INFINITY);
        }
        let middle = self.middle / other.middle;
        // |a/b - (a + da)/(b + db)| <= (|da| + |a/b| |db|) / (|b| - |db|)
        let spread = (self.radius + middle.abs() * other.radius) / room;
        Self::rounded(middle, spread)
    }

    /// Room for the rounding of the middle and of the radius itself; subnormal numbers have an absolute one.
    fn rounded(middle: f64, radius: f64) -> Self {
        Self {
            middle,
            radius: (radius + 2.0 * UNIT * middle.abs()) * (1.0 + 16.0 * UNIT) + f64::MIN_POSITIVE,
        }
    }
}

/// A polynomial for evaluation with doubles at decimal numbers.
#[derive(Clone, Debug)]
pub struct BallPolynomial {
    /// Rounded coefficients, each with the exponents of the parameters.
    terms: Vec<(f64, Vec<u16>)>,
    /// The relative error of the sum of the terms' sizes.
    error: f64,
}

impl BallPolynomial {
    /// A polynomial in nothing but parameters.
    pub fn new(p: &Polynomial, parameters: &[usize]) -> Self {
        let exponents = |monomial: &crate::Monomial| -> Vec<u16> {
            let all = monomial.exponents();
            let exponent = |&v: &usize| all.get(v).copied().unwrap_or(0);
            parameters.iter().map(exponent).collect()
        };
        let terms: Vec<(f64, Vec<u16>)> = (p.terms().iter())
            .map(|(monomial, number)| (integer::to_f64(number), exponents(monomial)))
            .collect();
        // Each factor of a term is rounded once, where it is read, and once where it is multiplied; a sum of n terms takes
        // n roundings.
        let roundings = 2 * p.total_degree() as usize + terms.len() + 8;
        Self {
            terms,
            error: roundings as f64 * UNIT * 1.01,
        }
    }

    /// The value at the decimal numbers that doubles are written as.
    pub fn evaluate(&self, values: &[f64]) -> Ball {
        let (mut sum, mut size) = (0.0, 0.0);
        for (number, exponents) in &self.terms {
            let mut term = *number;
            for (value, &exponent) in values.iter().zip(exponents) {
                for _ in 0..exponent {
                    term *= value;
                }
            }
            sum += term;
            size += term.abs();
        }
        Ball::rounded(sum, size * self.error)
    }
}

/// A Hermite form that is evaluated at many points.
#[derive(Clone, Debug)]
pub struct FormCounter {
    exceptional: Vec<BallPolynomial>,
    /// For each product of positive variables the rows of a symmetric matrix up to the diagonal, of full rank in general.
    forms: Vec<Vec<Vec<[BallPolynomial; 2]>>>,
}

impl FormCounter {
    /// Prepares a form over some parameters.
    pub fn new(
        form: &HermiteForm,
        parameters: &[usize],
        budget: &Budget,
    ) -> Result<Self, OutOfBudget> {
        let independent = form.independent_rows(budget)?;
        let ball = |p: &Polynomial| BallPolynomial::new(p, parameters);
        let quotient = |f: &Fraction| [ball(f.numerator()), ball(f.denominator())];
        let lower = |matrix: &Vec<Vec<Fraction>>| -> Vec<Vec<[BallPolynomial; 2]>> {
            let row = |(at, &i): (usize, &usize)| {
                let columns = independent[..=at].iter();
                columns.map(|&j| quotient(&matrix[i][j])).collect()
            };
            independent.iter().enumerate().map(row).collect()
        };
        Ok(Self {
            exceptional: form.exceptional.iter().map(ball).collect(),
            forms: form.matrices().iter().map(lower).collect(),
        })
    }

    /// The number of different real zeros at decimal numbers, as of [`HermiteForm::count_at`]; `None` where doubles do not
    /// decide.
    pub fn count(&self, values: &[f64]) -> Option<usize> {
        for p in &self.exceptional {
            p.evaluate(values).is_positive()?;
        }
        let mut sum = 0;
        for form in &self.forms {
            let entry = |[top, bottom]: &[BallPolynomial; 2]| {
                top.evaluate(values).over(bottom.evaluate(values))
            };
            let rows = form.iter().map(|row| row.iter().map(entry).collect());
            sum += signature(rows.collect())?;
        }
        usize::try_from(sum / self.forms.len() as i64).ok()
    }
}

/// The signature of a regular symmetric matrix, given up to the diagonal; `None` if a pivot is not certain.
///
/// Where the form has full rank at the values, it is that of the whole form: rows left out depend on the others everywhere.
fn signature(mut a: Vec<Vec<Ball>>) -> Option<i64> {
    let at = |i: usize, j: usize| if i >= j { (i, j) } else { (j, i) };
    let mut open: Vec<usize> = (0..a.len()).collect();
    let mut signature = 0;
    while !open.is_empty() {
        // The pivot that is known best.
        let certainty = |&i: &usize| a[i][i].middle.abs() / a[i][i].radius;
        let best =
            (0..open.len()).max_by(|&x, &y| certainty(&open[x]).total_cmp(&certainty(&open[y])))?;
        let pivot = open.swap_remove(best);
        signature += if a[pivot][pivot].is_positive()? {
            1
        } else {
            -1
        };
        for (place, &i) in open.iter().enumerate() {
            let (r, c) = at(i, pivot);
            let factor = a[r][c].over(a[pivot][pivot]);
            for &j in &open[..=place] {
                let (r, c) = at(j, pivot);
                let change = factor.times(a[r][c]);
                let (r, c) = at(i, j);
                a[r][c] = a[r][c].minus(change);
            }
        }
    }
    Some(signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integer::decimal;
    use crate::real::{ParametricZeros, zeros_over};
    use crate::{Ideal, RBig};

    /// x^4 + p x^2 + q x + r with one number for r: the doubles say what exact arithmetic says, or nothing.
    #[test]
    fn doubles_never_contradict_exact_numbers() {
        let [x, p, q] = [0, 1, 2].map(Polynomial::variable);
        let number = |n: i32| Polynomial::constant(n);
        let quartic = &(&x.pow(4) + &(&p * &x.pow(2))) + &(&(&q * &x) + &(&number(1) - &number(3)));
        let budget = Budget::default();
        let zeros = zeros_over(&Ideal::new(vec![quartic]), &[1, 2], &[], &budget);
        let Ok(ParametricZeros::Finite(form)) = zeros else {
            panic!("four zeros");
        };
        let counter = FormCounter::new(&form, &[1, 2], &budget).expect("a small form");
        let (mut decided, mut all) = (0, 0);
        for i in -20..=20 {
            for j in -20..=20 {
                let values = [f64::from(i) * 0.25, f64::from(j) * 0.25];
                let exact: Vec<RBig> = values
                    .iter()
                    .map(|v| decimal(*v).expect("finite"))
                    .collect();
                let expected = form.count_at(|v| exact[v - 1].clone());
                let found = counter.count(&values);
                assert!(found.is_none() || found == expected, "{values:?}");
                decided += usize::from(found.is_some());
                all += 1;
            }
        }
        assert!(decided * 100 > all * 98, "{decided} of {all}");
    }

    /// Zeros that coincide for all values: the matrix is singular everywhere, its regular part counts.
    #[test]
    fn double_zeros_count_once() {
        let [x, p] = [0, 1].map(Polynomial::variable);
        let square = (&x.pow(2) - &p).pow(2);
        let budget = Budget::default();
        let zeros = zeros_over(&Ideal::new(vec![square]), &[1], &[], &budget);
        let Ok(ParametricZeros::Finite(form)) = zeros else {
            panic!("four zeros");
        };
        let counter = FormCounter::new(&form, &[1], &budget).expect("a small form");
        assert_eq!(counter.count(&[2.0]), Some(2));
        assert_eq!(counter.count(&[-2.0]), Some(0));
        assert_eq!(counter.count(&[0.0]), None);
    }
}
