//! Real zeros over parameters: Hermite's form with rational functions as entries, section 6 of
//! `docs/theory/real-points.md`.

use crate::factor::{FactorBudget, factor};
use crate::groebner::{Budget, Certificate, Order, OutOfBudget};
use crate::{Fraction, Ideal, Monomial, Polynomial};
use dashu_ratio::RBig;
use std::collections::BTreeMap;

/// The complex zeros of an ideal for general values of some parameters.
#[derive(Clone, Debug)]
pub enum ParametricZeros {
    /// None, except where these polynomials in the parameters vanish together.
    Only(Vec<Polynomial>),
    /// Finitely many.
    Finite(HermiteForm),
    /// Infinitely many.
    Infinite,
}

/// What tells the number of real zeros at values of the parameters.
#[derive(Clone, Debug)]
pub struct HermiteForm {
    /// The number of complex zeros with their multiplicities.
    pub degree: usize,
    /// Irreducible polynomials at whose zeros the form does not hold.
    pub exceptional: Vec<Polynomial>,
    /// What the basis that it comes from is worth.
    pub certificate: Certificate,
    /// One symmetric matrix for each product of variables that have to be positive, that of 1 first.
    forms: Vec<Vec<Vec<Fraction>>>,
}

/// Most variables that have to be positive.
const MOST_POSITIVE: usize = 4;

/// An element of the quotient by its coordinates.
type Vector = Vec<Fraction>;

/// The zeros of an ideal over parameters; variables in `positive` have to be so, and are never 0.
pub fn zeros_over(
    ideal: &Ideal,
    parameters: &[usize],
    positive: &[usize],
    budget: &Budget,
) -> Result<ParametricZeros, OutOfBudget> {
    let variables: Vec<usize> = (ideal.variables().into_iter())
        .filter(|v| !parameters.contains(v))
        .collect();
    if positive.len() > MOST_POSITIVE {
        return Err(OutOfBudget::Steps);
    }
    let order = Order::degrevlex(variables.iter().copied())
        .product(Order::degrevlex(parameters.iter().copied()));
    let basis = ideal.basis_in(&order, budget)?;
    let in_parameters = |f: &&Polynomial| f.variables().iter().all(|v| parameters.contains(v));
    let only: Vec<Polynomial> = (basis.elements().iter().filter(in_parameters))
        .cloned()
        .collect();
    if !only.is_empty() {
        return Ok(ParametricZeros::Only(only));
    }
    let mut rules: Vec<Rule> = Vec::new();
    for (f, lead) in basis.elements().iter().zip(basis.leading_monomials()) {
        rules.push(Rule::new(f, &lead, parameters));
    }
    // A minimal basis over the rational functions, with simple leading coefficients.
    rules.sort_by_key(|rule| (rule.lead.total_degree(), rule.coefficient.n_terms()));
    let mut minimal: Vec<Rule> = Vec::new();
    for rule in rules {
        if minimal.iter().all(|m| rule.lead.over(&m.lead).is_none()) {
            minimal.push(rule);
        }
    }
    let Some(standard) = standard_monomials(&minimal, &variables) else {
        return Ok(ParametricZeros::Infinite);
    };
    let mut exceptional: Vec<Polynomial> = Vec::new();
    for rule in &minimal {
        let factors = factor(&rule.coefficient, &FactorBudget::until(budget.deadline)).factors;
        for factor in factors {
            if !exceptional.contains(&factor.polynomial) {
                exceptional.push(factor.polynomial);
            }
        }
    }
    budget.check_memory(standard.len().saturating_pow(3).saturating_mul(1024))?;
    let quotient = ParametricQuotient::new(standard, minimal, positive, budget)?;
    Ok(ParametricZeros::Finite(HermiteForm {
        degree: quotient.standard.len(),
        exceptional,
        certificate: basis.certificate(),
        forms: quotient.forms(positive, budget)?,
    }))
}

/// An element of the basis as a rule: coefficient * lead = - tail.
struct Rule {
    lead: Monomial,
    coefficient: Polynomial,
    tail: Vec<(Monomial, Polynomial)>,
}

impl Rule {
    fn new(f: &Polynomial, lead: &Monomial, parameters: &[usize]) -> Self {
        let mut parts: BTreeMap<Monomial, Vec<(Monomial, crate::IBig)>> = BTreeMap::new();
        for (monomial, number) in f.terms() {
            let outside = without(monomial, parameters);
            let inside = monomial.over(&outside).expect("a part divides");
            let entry = parts.entry(outside).or_default();
            entry.push((inside, number.clone()));
        }
        let lead = without(lead, parameters);
        let coefficient = Polynomial::from_terms(parts.remove(&lead).unwrap_or_default());
        let tail = parts.into_iter();
        Self {
            lead,
            coefficient,
            tail: tail.map(|(m, p)| (m, Polynomial::from_terms(p))).collect(),
        }
    }
}

fn without(monomial: &Monomial, parameters: &[usize]) -> Monomial {
    parameters
        .iter()
        .fold(monomial.clone(), |rest, &v| rest.without(v))
}

/// The monomials that no rule rewrites, small ones first; `None` if there are infinitely many.
fn standard_monomials(rules: &[Rule], variables: &[usize]) -> Option<Vec<Monomial>> {
    let is_pure = |rule: &Rule, v: usize| rule.lead.without(v).is_one();
    let is_finite = |&v: &usize| rules.iter().any(|rule| is_pure(rule, v));
    if !variables.iter().all(is_finite) {
        return None;
    }
    let mut found = Vec::new();
    let mut open = vec![(Monomial::one(), 0)];
    while let Some((monomial, first)) = open.pop() {
        for (place, &variable) in variables.iter().enumerate().skip(first) {
            let next = monomial.times(&Monomial::power(variable, 1));
            if rules.iter().all(|rule| next.over(&rule.lead).is_none()) {
                open.push((next, place));
            }
        }
        found.push(monomial);
    }
    found.sort_by_key(|m| (m.total_degree(), m.clone()));
    Some(found)
}

/// The quotient over the rational functions of the parameters.
struct ParametricQuotient {
    standard: Vec<Monomial>,
    rules: Vec<Rule>,
    /// Columns of the multiplication by the variables that are needed.
    multiplications: BTreeMap<usize, Vec<Vector>>,
}

impl ParametricQuotient {
    fn new(
        standard: Vec<Monomial>,
        rules: Vec<Rule>,
        positive: &[usize],
        budget: &Budget,
    ) -> Result<Self, OutOfBudget> {
        let mut quotient = Self {
            standard,
            rules,
            multiplications: BTreeMap::new(),
        };
        let occurring = quotient.standard.iter().flat_map(|m| {
            let exponents = m.exponents().iter().enumerate();
            exponents.filter(|(_, e)| **e > 0).map(|(v, _)| v)
        });
        let mut needed: Vec<usize> = occurring.chain(positive.iter().copied()).collect();
        needed.sort_unstable();
        needed.dedup();
        for variable in needed {
            let mut columns = Vec::with_capacity(quotient.standard.len());
            for monomial in &quotient.standard {
                let product = monomial.times(&Monomial::power(variable, 1));
                columns.push(quotient.normal_form(product, budget)?);
            }
            quotient.multiplications.insert(variable, columns);
        }
        Ok(quotient)
    }

    fn normal_form(&self, monomial: Monomial, budget: &Budget) -> Result<Vector, OutOfBudget> {
        let mut open = BTreeMap::from([(monomial, Fraction::from(Polynomial::one()))]);
        let mut result = vec![Fraction::from(Polynomial::zero()); self.standard.len()];
        while let Some((monomial, value)) = open.pop_last() {
            budget.check_time()?;
            if value.is_zero() {
                continue;
            }
            if let Some(place) = self.standard.iter().position(|m| *m == monomial) {
                result[place] = result[place].plus(&value);
                continue;
            }
            let shift = |rule: &Rule| monomial.over(&rule.lead);
            let rewriting = self
                .rules
                .iter()
                .find_map(|rule| Some((rule, shift(rule)?)));
            let (rule, shift) = rewriting.expect("what is not standard is rewritten");
            let factor = Fraction::new(-value.numerator(), value.denominator() * &rule.coefficient)
                .expect("leading coefficients are not 0");
            for (other, coefficient) in &rule.tail {
                let term = factor.times(&Fraction::from(coefficient.clone()));
                let sum = (open.entry(other.times(&shift)))
                    .or_insert_with(|| Fraction::from(Polynomial::zero()));
                *sum = sum.plus(&term);
            }
        }
        Ok(result)
    }

    /// The columns of the multiplication by a variable, applied to a vector.
    fn times(
        &self,
        variable: usize,
        vector: &Vector,
        budget: &Budget,
    ) -> Result<Vector, OutOfBudget> {
        let columns = &self.multiplications[&variable];
        let mut sum = vec![Fraction::from(Polynomial::zero()); vector.len()];
        for (column, factor) in columns.iter().zip(vector) {
            budget.check_time()?;
            if factor.is_zero() {
                continue;
            }
            for (entry, value) in sum.iter_mut().zip(column) {
                if !value.is_zero() {
                    *entry = entry.plus(&factor.times(value));
                }
            }
        }
        Ok(sum)
    }

    /// Products of all pairs of standard monomials: entry (i, j) holds the coordinates of b_i b_j.
    fn products(&self, budget: &Budget) -> Result<Vec<Vec<Vector>>, OutOfBudget> {
        let n = self.standard.len();
        let unit = |at: usize| -> Vector {
            let entry = |i: usize| Polynomial::constant(u8::from(i == at));
            (0..n).map(|i| Fraction::from(entry(i))).collect()
        };
        let mut products: Vec<Vec<Vector>> = Vec::with_capacity(n);
        for monomial in &self.standard {
            // The standard monomials are closed under division and come by degree.
            let smaller = self.multiplications.keys().find_map(|&variable| {
                let divisor = monomial.over(&Monomial::power(variable, 1))?;
                let place = self.standard.iter().position(|m| *m == divisor)?;
                Some((variable, place))
            });
            let row = match smaller {
                None => (0..n).map(unit).collect(),
                Some((variable, place)) => {
                    let row = products[place].iter();
                    row.map(|vector| self.times(variable, vector, budget))
                        .collect::<Result<_, _>>()?
                }
            };
            products.push(row);
        }
        Ok(products)
    }

    /// Hermite's forms with the products of the positive variables as weights.
    fn forms(
        &self,
        positive: &[usize],
        budget: &Budget,
    ) -> Result<Vec<Vec<Vec<Fraction>>>, OutOfBudget> {
        let products = self.products(budget)?;
        let zero = || Fraction::from(Polynomial::zero());
        let traces: Vector = products
            .iter()
            .map(|row| {
                let diagonal = row.iter().enumerate().map(|(j, vector)| &vector[j]);
                diagonal.fold(zero(), |sum, entry| sum.plus(entry))
            })
            .collect();
        let trace = |vector: &Vector| {
            let terms = vector.iter().zip(&traces).filter(|(v, _)| !v.is_zero());
            terms.fold(zero(), |sum, (v, t)| sum.plus(&v.times(t)))
        };
        let mut forms = Vec::with_capacity(1 << positive.len());
        for set in 0..1usize << positive.len() {
            let mut form = Vec::with_capacity(products.len());
            for row in &products {
                let mut entries = Vec::with_capacity(row.len());
                for vector in row {
                    let mut weighted = vector.clone();
                    for (at, &variable) in positive.iter().enumerate() {
                        if set >> at & 1 == 1 {
                            weighted = self.times(variable, &weighted, budget)?;
                        }
                    }
                    budget.check_time()?;
                    entries.push(trace(&weighted));
                }
                form.push(entries);
            }
            forms.push(form);
        }
        Ok(forms)
    }
}

impl HermiteForm {
    /// The irreducible polynomials at whose zeros the number of real zeros can change: the factors of the determinant that
    /// are not exceptional. Where zeros coincide for all values, the determinant is that of a principal minor of full rank.
    pub fn boundary(&self, budget: &Budget) -> Result<Vec<Polynomial>, OutOfBudget> {
        let form = &self.forms[0];
        let (mut determinant, independent) = eliminated(form, budget)?;
        if independent.len() < form.len() {
            let minor: Vec<Vec<Fraction>> = independent
                .iter()
                .map(|&i| independent.iter().map(|&j| form[i][j].clone()).collect())
                .collect();
            determinant = eliminated(&minor, budget)?.0;
        }
        let factors = factor(&determinant, &FactorBudget::until(budget.deadline)).factors;
        budget.check_time()?;
        let factors = factors.into_iter().map(|factor| factor.polynomial);
        Ok(factors.filter(|p| !self.exceptional.contains(p)).collect())
    }

    /// Rows that are independent for general values; the others depend on them everywhere, in all of the forms: vectors on
    /// which one form vanishes are nilpotent elements, whatever the weight.
    pub(crate) fn independent_rows(&self, budget: &Budget) -> Result<Vec<usize>, OutOfBudget> {
        let mut rows = eliminated(&self.forms[0], budget)?.1;
        rows.sort_unstable();
        Ok(rows)
    }

    /// The matrices, that of the weight 1 first.
    pub(crate) fn matrices(&self) -> &[Vec<Vec<Fraction>>] {
        &self.forms
    }

    /// The number of different real zeros with positive variables positive; `None` where an exceptional polynomial
    /// vanishes.
    pub fn count_at(&self, value: impl Fn(usize) -> RBig) -> Option<usize> {
        let vanishes = |p: &Polynomial| p.evaluate(&value) == RBig::ZERO;
        if self.exceptional.iter().any(vanishes) {
            return None;
        }
        let mut sum = 0;
        for form in &self.forms {
            let entry = |f: &Fraction| {
                let denominator = f.denominator().evaluate(&value);
                (denominator != RBig::ZERO).then(|| f.numerator().evaluate(&value) / denominator)
            };
            let rows = form.iter().map(|row| row.iter().map(entry).collect());
            sum += signature(rows.collect::<Option<Vec<Vec<RBig>>>>()?);
        }
        usize::try_from(sum / self.forms.len() as i64).ok()
    }
}

/// The number of positive squares less that of negative ones, of a symmetric matrix.
fn signature(mut a: Vec<Vec<RBig>>) -> i64 {
    let n = a.len();
    let mut open: Vec<usize> = (0..n).collect();
    let mut signature = 0;
    loop {
        let diagonal = open.iter().position(|&i| a[i][i] != RBig::ZERO);
        let Some(at) = diagonal else {
            let pairs = open.iter().flat_map(|&i| open.iter().map(move |&j| (i, j)));
            let Some((i, j)) = pairs.into_iter().find(|&(i, j)| a[i][j] != RBig::ZERO) else {
                return signature;
            };
            // The diagonal is 0: adding coordinate j to i makes entry (i, i) twice entry (i, j).
            let other = a[j].clone();
            for (entry, value) in a[i].iter_mut().zip(&other) {
                *entry += value;
            }
            for row in &mut a {
                let value = row[j].clone();
                row[i] += value;
            }
            continue;
        };
        let pivot = open.swap_remove(at);
        signature += if a[pivot][pivot] > RBig::ZERO { 1 } else { -1 };
        let top = a[pivot].clone();
        for &row in &open {
            let factor = &a[row][pivot] / &top[pivot];
            if factor == RBig::ZERO {
                continue;
            }
            for &column in &open {
                let change = &factor * &top[column];
                a[row][column] -= change;
            }
        }
    }
}

/// Elimination over the rational functions (Bareiss 1968): the last pivot, which for full rank is the determinant times
/// factors of denominators, and the numbers of independent rows.
fn eliminated(
    matrix: &[Vec<Fraction>],
    budget: &Budget,
) -> Result<(Polynomial, Vec<usize>), OutOfBudget> {
    let n = matrix.len();
    let mut a: Vec<(usize, Vec<Polynomial>)> = Vec::with_capacity(n);
    for (number, row) in matrix.iter().enumerate() {
        let mut common = Polynomial::one();
        for entry in row {
            let shared = crate::gcd(&common, entry.denominator());
            let rest = entry.denominator().divide_exactly(&shared);
            common = &common * &rest.expect("a divisor divides");
        }
        let whole = |entry: &Fraction| {
            let factor = common.divide_exactly(entry.denominator());
            entry.numerator() * &factor.expect("a multiple is divided")
        };
        a.push((number, row.iter().map(whole).collect()));
    }
    let mut previous = Polynomial::one();
    let mut rank = 0;
    for column in 0..n {
        let Some(pivot) = (rank..n).find(|&row| !a[row].1[column].is_zero()) else {
            continue;
        };
        a.swap(rank, pivot);
        let (above, below) = a.split_at_mut(rank + 1);
        let top = &above[rank].1;
        for (_, row) in below {
            for k in column + 1..n {
                budget.check_time()?;
                let value = &(&row[k] * &top[column]) - &(&row[column] * &top[k]);
                row[k] = value.divide_exactly(&previous).expect("Bareiss divides");
            }
            row[column] = Polynomial::zero();
        }
        previous = top[column].clone();
        rank += 1;
    }
    let independent = a[..rank].iter().map(|(number, _)| *number).collect();
    Ok((previous, independent))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A circle and a line with parameters: two points, one or none by the discriminant, and a root that is positive.
    #[test]
    fn a_circle_and_a_line() {
        let [x, y, r, m] = [0, 1, 2, 3].map(Polynomial::variable);
        let circle = &(&(&x * &x) + &(&y * &y)) - &(&r * &r);
        let line = &(&y - &(&m * &x)) - &Polynomial::one();
        let ideal = Ideal::new(vec![circle, line]);
        let budget = Budget::default();
        let count = |positive: &[usize], values: [(i32, u32); 2]| {
            let zeros = zeros_over(&ideal, &[2, 3], positive, &budget).expect("a small ideal");
            let ParametricZeros::Finite(form) = zeros else {
                panic!("two points");
            };
            assert_eq!(form.degree, 2);
            // r^2 (1 + m^2) = 1.
            let boundary = form.boundary(&budget).expect("a small ideal");
            let expected = &(&(&r * &r) * &(&Polynomial::one() + &(&m * &m))) - &Polynomial::one();
            assert!(boundary.contains(&expected), "{boundary:?}");
            form.count_at(|v| {
                let (numerator, denominator) = values[v - 2];
                RBig::from_parts(numerator.into(), denominator.into())
            })
        };
        assert_eq!(count(&[], [(2, 1), (5, 1)]), Some(2));
        assert_eq!(count(&[], [(0, 1), (5, 1)]), Some(0));
        // The line touches the circle: one point, of multiplicity 2.
        assert_eq!(count(&[], [(4, 5), (3, 4)]), Some(1));
        assert_eq!(count(&[1], [(2, 1), (1, 4)]), Some(2));
        assert_eq!(count(&[0], [(2, 1), (1, 4)]), Some(1));
        assert_eq!(count(&[0, 1], [(2, 1), (1, 1)]), Some(1));
        // m x + 1 = y does not give x where m = 0.
        assert_eq!(count(&[], [(2, 1), (0, 1)]), None);
    }
}
