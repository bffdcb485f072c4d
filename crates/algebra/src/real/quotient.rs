//! The finite algebra Q[x]/I of an ideal with finitely many complex zeros.

use super::matrix::{self, Matrix, Vector};
use super::points::Representation;
use super::univariate::Univariate;
use crate::random::Random;
use crate::{Monomial, integer};
use dashu_int::IBig;
use std::collections::HashMap;

/// Q[x]/I as a vector space with the standard monomials as its basis, and what the variables do to it.
#[derive(Debug)]
pub struct Quotient {
    monomials: Vec<Monomial>,
    variables: Vec<usize>,
    /// Multiplication by each variable.
    multiplications: Vec<Matrix>,
}

/// Linear forms that are tried until one separates the points.
const MAX_FORMS: usize = 40;

impl Quotient {
    /// From the standard monomials, each of whose divisors is one too, and the coordinates of their products with the
    /// variables: `product(monomial)` is numerators and one positive denominator.
    pub(crate) fn new(
        monomials: Vec<Monomial>,
        variables: &[usize],
        mut product: impl FnMut(&Monomial) -> Option<(Vec<(Monomial, IBig)>, IBig)>,
    ) -> Option<Self> {
        let place: HashMap<&Monomial, usize> = (monomials.iter().enumerate())
            .map(|(place, monomial)| (monomial, place))
            .collect();
        let mut multiplications = Vec::with_capacity(variables.len());
        for &variable in variables {
            let x = Monomial::power(variable, 1);
            let mut columns = Vec::with_capacity(monomials.len());
            for monomial in &monomials {
                let shifted = x.times(monomial);
                let mut entries = vec![IBig::ZERO; monomials.len()];
                let mut denominator = IBig::ONE;
                if let Some(&at) = place.get(&shifted) {
                    entries[at] = IBig::ONE;
                } else {
                    let (terms, below) = product(&shifted)?;
                    for (monomial, coefficient) in terms {
                        entries[*place.get(&monomial)?] = coefficient;
                    }
                    denominator = below;
                }
                columns.push(Vector {
                    entries,
                    denominator,
                });
            }
            multiplications.push(Matrix::from_columns(&columns));
        }
        Some(Self {
            monomials,
            variables: variables.to_vec(),
            multiplications,
        })
    }

    /// The number of complex zeros with their multiplicities.
    pub fn degree(&self) -> usize {
        self.monomials.len()
    }

    /// All zeros as rational functions of the roots of one polynomial: (4) and (5) of `docs/theory/real-points.md`.
    ///
    /// `None` if no form among those tried separates the zeros.
    pub fn representation(&self) -> Option<Representation> {
        let traces = self.traces();
        let mut n_points = None;
        let mut random = Random::new(7);
        for attempt in 0..MAX_FORMS {
            let form: Vec<IBig> = (0..self.variables.len())
                .map(|place| match attempt {
                    0 => IBig::from(place + 1),
                    _ => IBig::from(random.within(4 + 4 * attempt as u32)),
                })
                .collect();
            let separating = Matrix::combination(form.iter().zip(&self.multiplications))?;
            let characteristic = separating.characteristic_polynomial_of_numerators();
            let parts = crate::squarefree(&characteristic.to_polynomial());
            let parts: Vec<(Univariate, u32)> = (parts.factors.iter())
                .map(|part| {
                    let polynomial = Univariate::from_polynomial(&part.polynomial);
                    (polynomial.with_positive_lead(), part.multiplicity)
                })
                .collect();
            let n_values: usize = parts.iter().map(|(part, _)| part.degree()).sum();
            let is_separating = n_values == self.degree()
                || n_values == *n_points.get_or_insert_with(|| self.n_points(&traces));
            if is_separating {
                return Some(self.representation_by(&separating, parts, &traces));
            }
        }
        None
    }

    /// The traces of multiplication by the standard monomials.
    fn traces(&self) -> Traces {
        let products = self.multiplications_by_monomials();
        let columns: Vec<Vector> = products
            .iter()
            .map(|product| Vector {
                entries: vec![product.trace_numerator()],
                denominator: product.denominator().clone(),
            })
            .collect();
        // One denominator for all: the traces are the first row of a matrix.
        let mut denominator = IBig::ONE;
        for column in &columns {
            let common = integer::gcd(&denominator, &column.denominator);
            denominator = &denominator / common * &column.denominator;
        }
        let numerators = columns
            .iter()
            .map(|column| &column.entries[0] * (&denominator / &column.denominator))
            .collect();
        Traces {
            products,
            numerators,
        }
    }

    fn multiplications_by_monomials(&self) -> Vec<Matrix> {
        let place: HashMap<&Monomial, usize> = (self.monomials.iter().enumerate())
            .map(|(place, monomial)| (monomial, place))
            .collect();
        let n = self.degree();
        let unit = |at: usize| Vector {
            entries: (0..n).map(|i| IBig::from(u8::from(i == at))).collect(),
            denominator: IBig::ONE,
        };
        let identity = Matrix::from_columns(&(0..n).map(unit).collect::<Vec<_>>());
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&at| self.monomials[at].total_degree());
        let mut products: Vec<Option<Matrix>> = vec![None; n];
        for at in order {
            let smaller = (self.variables.iter().enumerate()).find_map(|(which, &variable)| {
                let divisor = self.monomials[at].over(&Monomial::power(variable, 1))?;
                let product = products[*place.get(&divisor)?].as_ref()?;
                Some(self.multiplications[which].times(product))
            });
            products[at] = Some(smaller.unwrap_or_else(|| identity.clone()));
        }
        products.into_iter().flatten().collect()
    }

    /// The number of different zeros: the rank of the Hermite form, (2) of `docs/theory/real-points.md`.
    fn n_points(&self, traces: &Traces) -> usize {
        // A positive multiple of each row does not change the rank.
        let n = self.degree();
        let rows = traces.products.iter().map(|product| {
            (product.numerators().chunks_exact(n))
                .map(|column| traces.numerator_of(column))
                .collect()
        });
        matrix::rank(rows.collect())
    }

    fn representation_by(
        &self,
        separating: &Matrix,
        parts: Vec<(Univariate, u32)>,
        traces: &Traces,
    ) -> Representation {
        let minimal = parts
            .iter()
            .fold(Univariate::new(vec![IBig::ONE]), |f, (part, _)| {
                f.times(part)
            });
        let d = minimal.degree();
        // The powers of the separating element, which is the matrix of numerators.
        let one = self.monomials.iter().position(Monomial::is_one);
        let mut power = Vector {
            entries: (0..self.degree())
                .map(|i| IBig::from(u8::from(Some(i) == one)))
                .collect(),
            denominator: IBig::ONE,
        };
        let mut powers = Vec::with_capacity(d);
        for _ in 0..d {
            let next = separating.times_vector(&power);
            powers.push(power);
            let factor = separating.denominator();
            power = Vector {
                entries: next.entries.iter().map(|entry| entry * factor).collect(),
                denominator: next.denominator,
            };
        }
        // Sums of traces times Horner's polynomials, for 1 and for each variable: numerators over a denominator each.
        let mut sums: Vec<(Vec<IBig>, IBig)> = Vec::new();
        let multipliers = std::iter::once(None).chain(self.multiplications.iter().map(Some));
        for multiplier in multipliers {
            let terms: Vec<(IBig, IBig)> = powers
                .iter()
                .map(|power| {
                    let product = match multiplier {
                        Some(matrix) => matrix.times_vector(power),
                        None => power.clone(),
                    };
                    (traces.numerator_of(&product.entries), product.denominator)
                })
                .collect();
            let mut denominator = IBig::ONE;
            for (_, below) in &terms {
                let common = integer::gcd(&denominator, below);
                denominator = &denominator / common * below;
            }
            let mut sum = vec![IBig::ZERO; d];
            for (i, (above, below)) in terms.iter().enumerate() {
                let trace = above * (&denominator / below);
                // H_j = f_d T^j + f_(d-1) T^(j-1) + … + f_(d-j), with j = d - 1 - i.
                let horner = &minimal.coefficients()[i + 1..];
                for (total, coefficient) in sum.iter_mut().zip(horner) {
                    *total += &trace * coefficient;
                }
            }
            sums.push((sum, denominator));
        }
        // x_v = (sum_v / below_v) / (sum_1 / below_1), all brought to one denominator.
        let mut common = IBig::ONE;
        for (_, below) in &sums {
            let divisor = integer::gcd(&common, below);
            common = &common / divisor * below;
        }
        let mut numerators: Vec<Univariate> = sums
            .into_iter()
            .map(|(sum, below)| Univariate::new(sum).scaled(&(&common / below)))
            .collect();
        let denominator = numerators.remove(0);
        Representation::new(
            self.variables.clone(),
            minimal,
            parts,
            denominator,
            numerators,
        )
    }
}

/// The traces of multiplication by the standard monomials, times one positive number.
struct Traces {
    products: Vec<Matrix>,
    numerators: Vec<IBig>,
}

impl Traces {
    /// The trace of an element with the given coordinates, times that number.
    fn numerator_of(&self, coordinates: &[IBig]) -> IBig {
        (coordinates.iter().zip(&self.numerators)).fold(IBig::ZERO, |sum, (a, b)| sum + a * b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// The ideal of a polynomial in each variable, monic: its standard monomials are a grid.
    fn grid(moduli: &[Univariate]) -> Quotient {
        let mut monomials = vec![Monomial::one()];
        for (variable, modulus) in moduli.iter().enumerate() {
            monomials = (0..modulus.degree() as u16)
                .flat_map(|power| {
                    let factor = Monomial::power(variable, power);
                    monomials
                        .iter()
                        .map(move |m| m.times(&factor))
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        let variables: Vec<usize> = (0..moduli.len()).collect();
        let product = |monomial: &Monomial| {
            let (variable, modulus) = (moduli.iter().enumerate()).find(|(variable, modulus)| {
                usize::from(monomial.exponent(*variable)) == modulus.degree()
            })?;
            let rest = monomial.without(variable);
            let terms = modulus.coefficients()[..modulus.degree()]
                .iter()
                .enumerate();
            let terms = terms.map(|(power, c)| {
                let monomial = rest.times(&Monomial::power(variable, power as u16));
                (monomial, -c)
            });
            Some((terms.collect(), IBig::ONE))
        };
        Quotient::new(monomials, &variables, product).expect("the products are known")
    }

    fn polynomial(coefficients: &[i64]) -> Univariate {
        Univariate::new(coefficients.iter().map(|&c| IBig::from(c)).collect())
    }

    #[test]
    fn all_pairs_of_roots_with_their_multiplicities() {
        // x^2 (x - 1) = 0, y^2 = 2.
        let quotient = grid(&[polynomial(&[0, 0, -1, 1]), polynomial(&[-2, 0, 1])]);
        assert_eq!(quotient.degree(), 6);
        let representation = quotient
            .representation()
            .expect("a form separates four points");
        assert_eq!(representation.n_points(), 4);
        let mut found: Vec<(f64, f64, u32)> = representation
            .real_points()
            .into_iter()
            .map(|mut point| {
                let xy = point.coordinates(60);
                (xy[0].middle(), xy[1].middle(), point.multiplicity())
            })
            .collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let root = std::f64::consts::SQRT_2;
        let expected = [
            (0.0, -root, 2),
            (0.0, root, 2),
            (1.0, -root, 1),
            (1.0, root, 1),
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.0 - expected.0).abs() < 1e-16);
            assert!((found.1 - expected.1).abs() < 1e-15);
            assert_eq!(found.2, expected.2);
        }
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn signs_at_points_are_exact() {
        // x^2 = 2, y^2 = 8: y - 2 x vanishes at two of the four points, y + 2 x at the others.
        let quotient = grid(&[polynomial(&[-2, 0, 1]), polynomial(&[-8, 0, 1])]);
        let [x, y] = [0, 1].map(crate::Polynomial::variable);
        let twice = x.scaled(&IBig::from(2));
        let representation = quotient.representation().expect("four points");
        let mut n_zero = [0, 0];
        for mut point in representation.real_points() {
            for (count, f) in n_zero.iter_mut().zip([&y - &twice, &y + &twice]) {
                *count += usize::from(point.sign(&f) == Ordering::Equal);
            }
            // 10^20 (y - 2 x) + 1 has the same sign as 1 where y = 2 x.
            let near = &(&y - &twice).scaled(&IBig::from(10).pow(20)) + &crate::Polynomial::one();
            if point.is_zero_of(&(&y - &twice)) {
                assert_eq!(point.sign(&near), Ordering::Greater);
            }
        }
        assert_eq!(n_zero, [2, 2]);
    }

    #[test]
    fn conjugate_pairs_are_no_real_points() {
        let quotient = grid(&[polynomial(&[1, 0, 1]), polynomial(&[-2, 0, 0, 1])]);
        let representation = quotient.representation().expect("six points");
        assert_eq!(representation.n_points(), 6);
        assert!(representation.real_points().is_empty());
    }
}
