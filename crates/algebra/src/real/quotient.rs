//! The finite algebra Q[x]/I of an ideal with finitely many complex zeros.

use super::matrix::{self, Matrix, Vector};
use super::points::Representation;
use super::univariate::Univariate;
use crate::groebner::{Basis, Budget, OutOfBudget};
use crate::random::Random;
use crate::{Monomial, Polynomial, integer};
use dashu_int::IBig;
use std::collections::HashMap;

/// `Q[x]/I` as a vector space with the standard monomials as its basis, and what the variables do to it.
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
    /// The algebra of an ideal; `None` if it has infinitely many complex zeros.
    pub fn new(basis: &Basis, budget: &Budget) -> Result<Option<Self>, OutOfBudget> {
        let Some(monomials) = basis.standard_monomials() else {
            return Ok(None);
        };
        let variables: Vec<usize> = basis.order().variables().collect();
        let n = monomials.len();
        // All products of two standard monomials are kept, at some words each.
        budget.check_memory(n.saturating_pow(3).saturating_mul(64))?;
        let place: HashMap<&Monomial, usize> = (monomials.iter().enumerate())
            .map(|(place, monomial)| (monomial, place))
            .collect();
        let mut multiplications = Vec::with_capacity(variables.len());
        for &variable in &variables {
            let mut columns = Vec::with_capacity(n);
            for monomial in &monomials {
                budget.check_time()?;
                let shifted = Monomial::power(variable, 1).times(monomial);
                let mut entries = vec![IBig::ZERO; n];
                let mut denominator = IBig::ONE;
                if let Some(&at) = place.get(&shifted) {
                    entries[at] = IBig::ONE;
                } else {
                    let remainder =
                        basis.normal_form_within(&Polynomial::term(shifted, IBig::ONE), budget)?;
                    for (monomial, coefficient) in remainder.polynomial.terms() {
                        entries[place[monomial]] = coefficient.clone();
                    }
                    denominator = remainder.denominator;
                }
                columns.push(Vector {
                    entries,
                    denominator,
                });
            }
            multiplications.push(Matrix::from_columns(&columns));
        }
        Ok(Some(Self {
            monomials,
            variables,
            multiplications,
        }))
    }

    /// The number of complex zeros with their multiplicities.
    pub fn degree(&self) -> usize {
        self.monomials.len()
    }

    /// All zeros as rational functions of the roots of one polynomial: (4) and (5) of `docs/theory/real-points.md`.
    ///
    /// Fails with [`OutOfBudget::Steps`] if no form among those tried separates the zeros.
    pub fn representation(&self, budget: &Budget) -> Result<Representation, OutOfBudget> {
        let traces = self.traces(budget)?;
        let mut n_points = None;
        let mut random = Random::new(7);
        for attempt in 0..MAX_FORMS {
            budget.check_time()?;
            let form: Vec<IBig> = (0..self.variables.len())
                .map(|place| match attempt {
                    0 => IBig::from(place + 1),
                    _ => IBig::from(random.within(4 + 4 * attempt as u32)),
                })
                .collect();
            let separating = Matrix::combination(form.iter().zip(&self.multiplications))
                .unwrap_or_else(|| Matrix::identity(self.degree()));
            let characteristic = separating.characteristic_polynomial_of_numerators(budget)?;
            // That of the form itself has smaller numbers.
            let characteristic = characteristic.stretched(separating.denominator());
            let parts = crate::squarefree(&characteristic.to_polynomial());
            let parts: Vec<(Univariate, u32)> = (parts.factors.iter())
                .map(|part| {
                    let polynomial = Univariate::from_polynomial(&part.polynomial);
                    (polynomial.with_positive_lead(), part.multiplicity)
                })
                .collect();
            let n_values: usize = parts.iter().map(|(part, _)| part.degree()).sum();
            if n_values < self.degree() && n_points.is_none() {
                n_points = Some(self.n_points(&traces, budget)?);
            }
            let is_separating = n_values == self.degree() || Some(n_values) == n_points;
            if is_separating {
                return self.representation_by(&separating, parts, &traces, budget);
            }
        }
        Err(OutOfBudget::Steps)
    }

    /// The traces of multiplication by the standard monomials.
    fn traces(&self, budget: &Budget) -> Result<Traces, OutOfBudget> {
        let products = self.multiplications_by_monomials(budget)?;
        let denominator = common_multiple(products.iter().map(Matrix::denominator));
        let numerators = products
            .iter()
            .map(|product| product.trace_numerator() * (&denominator / product.denominator()))
            .collect();
        Ok(Traces {
            products,
            numerators,
        })
    }

    fn multiplications_by_monomials(&self, budget: &Budget) -> Result<Vec<Matrix>, OutOfBudget> {
        let place: HashMap<&Monomial, usize> = (self.monomials.iter().enumerate())
            .map(|(place, monomial)| (monomial, place))
            .collect();
        let n = self.degree();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&at| self.monomials[at].total_degree());
        let mut products: Vec<Option<Matrix>> = vec![None; n];
        for at in order {
            budget.check_time()?;
            let smaller = (self.variables.iter().enumerate()).find_map(|(which, &variable)| {
                let divisor = self.monomials[at].over(&Monomial::power(variable, 1))?;
                let product = products[*place.get(&divisor)?].as_ref()?;
                Some(self.multiplications[which].times(product, budget))
            });
            products[at] = Some(smaller.unwrap_or_else(|| Ok(Matrix::identity(n)))?);
        }
        Ok(products.into_iter().flatten().collect())
    }

    /// The number of different zeros: the rank of the Hermite form, (2) of `docs/theory/real-points.md`.
    fn n_points(&self, traces: &Traces, budget: &Budget) -> Result<usize, OutOfBudget> {
        // A positive multiple of each row does not change the rank.
        let n = self.degree();
        let mut rows = Vec::with_capacity(n);
        for product in &traces.products {
            budget.check_time()?;
            let columns = product.numerators().chunks_exact(n);
            rows.push(columns.map(|column| traces.numerator_of(column)).collect());
        }
        matrix::rank(rows, budget)
    }

    fn representation_by(
        &self,
        separating: &Matrix,
        parts: Vec<(Univariate, u32)>,
        traces: &Traces,
        budget: &Budget,
    ) -> Result<Representation, OutOfBudget> {
        let minimal = parts
            .iter()
            .fold(Univariate::new(vec![IBig::ONE]), |f, (part, _)| {
                f.times(part)
            });
        let d = minimal.degree();
        // The powers of the separating element.
        let one = self.monomials.iter().position(Monomial::is_one);
        let mut power = Vector {
            entries: (0..self.degree())
                .map(|i| IBig::from(u8::from(Some(i) == one)))
                .collect(),
            denominator: IBig::ONE,
        };
        let mut powers = Vec::with_capacity(d);
        for _ in 0..d {
            budget.check_time()?;
            let next = separating.times_vector(&power);
            powers.push(power);
            power = next;
        }
        // Sums of traces times Horner's polynomials, for 1 and for each variable: numerators over a denominator each.
        let mut sums: Vec<(Vec<IBig>, IBig)> = Vec::new();
        let multipliers = std::iter::once(None).chain(self.multiplications.iter().map(Some));
        for multiplier in multipliers {
            let mut terms: Vec<(IBig, IBig)> = Vec::with_capacity(d);
            for power in &powers {
                budget.check_time()?;
                let product = match multiplier {
                    Some(matrix) => matrix.times_vector(power),
                    None => power.clone(),
                };
                terms.push((traces.numerator_of(&product.entries), product.denominator));
            }
            let denominator = common_multiple(terms.iter().map(|(_, below)| below));
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
        let common = common_multiple(sums.iter().map(|(_, below)| below));
        let sums: Vec<Vec<IBig>> = sums
            .into_iter()
            .map(|(sum, below)| {
                let factor = &common / below;
                sum.into_iter().map(|c| c * &factor).collect()
            })
            .collect();
        // What all of them have in common does not matter.
        let content = integer::gcd_of_all(sums.iter().flatten());
        let mut numerators: Vec<Univariate> = sums
            .into_iter()
            .map(|sum| Univariate::new(sum.into_iter().map(|c| c / &content).collect()))
            .collect();
        let denominator = numerators.remove(0);
        Ok(Representation::new(
            self.variables.clone(),
            minimal,
            parts,
            denominator,
            numerators,
        ))
    }
}

/// The least common multiple of positive numbers.
fn common_multiple<'a>(numbers: impl Iterator<Item = &'a IBig>) -> IBig {
    numbers.fold(IBig::ONE, |multiple, number| {
        let divisor = integer::gcd(&multiple, number);
        &multiple / divisor * number
    })
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
