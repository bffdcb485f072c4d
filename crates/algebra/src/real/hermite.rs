//! Real zeros over parameters: Hermite's form with rational functions as entries, section 6 of
//! `docs/theory/real-points.md`.

use crate::factor::{FactorBudget, factor};
use crate::groebner::{Budget, Certificate, Order, OutOfBudget};
use crate::{Fraction, IBig, Ideal, Monomial, Polynomial, integer};
use dashu_int::UBig;
use dashu_int::ops::Gcd;
use dashu_ratio::RBig;
use std::cmp::Ordering;
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
    let system = ParametricSystem::new(ideal, parameters, positive, budget)?;
    if !system.conditions.is_empty() {
        return Ok(ParametricZeros::Only(system.conditions));
    }
    system.zeros(positive, budget)
}

/// The conditions on parameters under which an ideal has zeros, and the zeros for general values that satisfy them: `None`
/// if there are no zeros at all.
pub fn zeros_where_possible(
    ideal: &Ideal,
    parameters: &[usize],
    positive: &[usize],
    budget: &Budget,
) -> Result<Option<(Vec<Polynomial>, ParametricZeros)>, OutOfBudget> {
    let system = ParametricSystem::new(ideal, parameters, positive, budget)?;
    if system.conditions.iter().any(Polynomial::is_constant) {
        return Ok(None);
    }
    let conditions = system.conditions.clone();
    Ok(Some((conditions, system.zeros(positive, budget)?)))
}

/// A basis in an order in which the unknowns come before the parameters.
struct ParametricSystem {
    variables: Vec<usize>,
    /// The elements without unknowns.
    conditions: Vec<Polynomial>,
    /// The others whose leading monomials in the unknowns are minimal.
    rules: Vec<Rule>,
    certificate: Certificate,
}

impl ParametricSystem {
    fn new(
        ideal: &Ideal,
        parameters: &[usize],
        positive: &[usize],
        budget: &Budget,
    ) -> Result<Self, OutOfBudget> {
        let variables: Vec<usize> = (ideal.variables().into_iter())
            .filter(|v| !parameters.contains(v))
            .collect();
        if positive.len() > MOST_POSITIVE {
            return Err(OutOfBudget::Steps);
        }
        let order = Order::degrevlex(variables.iter().copied())
            .product(Order::degrevlex(parameters.iter().copied()));
        let basis = ideal.basis_in(&order, budget)?;
        let mut conditions = Vec::new();
        let mut rules: Vec<Rule> = Vec::new();
        for (f, lead) in basis.elements().iter().zip(basis.leading_monomials()) {
            if f.variables().iter().all(|v| parameters.contains(v)) {
                conditions.push(f.clone());
            } else {
                rules.push(Rule::new(f, &lead, parameters));
            }
        }
        // Minimal over the rational functions, with simple leading coefficients.
        rules.sort_by_key(|rule| (rule.lead.total_degree(), rule.coefficient.n_terms()));
        let mut minimal: Vec<Rule> = Vec::new();
        for rule in rules {
            if minimal.iter().all(|m| rule.lead.over(&m.lead).is_none()) {
                minimal.push(rule);
            }
        }
        Ok(Self {
            variables,
            conditions,
            rules: minimal,
            certificate: basis.certificate(),
        })
    }

    /// The zeros where the conditions hold and no leading coefficient vanishes.
    fn zeros(self, positive: &[usize], budget: &Budget) -> Result<ParametricZeros, OutOfBudget> {
        let Some(standard) = standard_monomials(&self.rules, &self.variables) else {
            return Ok(ParametricZeros::Infinite);
        };
        let mut exceptional: Vec<Polynomial> = Vec::new();
        for rule in &self.rules {
            let factors = factor(&rule.coefficient, &FactorBudget::until(budget.deadline)).factors;
            for factor in factors {
                if !exceptional.contains(&factor.polynomial) {
                    exceptional.push(factor.polynomial);
                }
            }
        }
        budget.check_memory(standard.len().saturating_pow(3).saturating_mul(1024))?;
        let quotient = ParametricQuotient::new(standard, self.rules, positive, budget)?;
        Ok(ParametricZeros::Finite(HermiteForm {
            degree: quotient.standard.len(),
            exceptional,
            certificate: self.certificate,
            forms: quotient.forms(positive, budget)?,
        }))
    }
}

/// An element of the basis as a rule: coefficient * lead = - tail.
struct Rule {
    lead: Monomial,
    coefficient: Polynomial,
    tail: Vec<(Monomial, Polynomial)>,
}

impl Rule {
    fn new(f: &Polynomial, lead: &Monomial, parameters: &[usize]) -> Self {
        let mut parts: BTreeMap<Monomial, Vec<(Monomial, IBig)>> = BTreeMap::new();
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
            sum += signature(&rows.collect::<Option<Vec<Vec<RBig>>>>()?);
        }
        usize::try_from(sum / self.forms.len() as i64).ok()
    }
}

/// Most principal minors that are compared.
const MOST_MINORS: usize = 12;

impl HermiteForm {
    /// Irreducible polynomials at whose zeros the number of real zeros can change along the curve of an irreducible one, on
    /// which the form has the given rank in general: the factors of a principal minor of that size, and the exceptional
    /// ones.
    pub fn changes_on(
        &self,
        curve: &Polynomial,
        rank: usize,
        budget: &Budget,
    ) -> Result<Vec<Polynomial>, OutOfBudget> {
        let form = &self.forms[0];
        if rank == 0 || form.len() > 60 {
            return Err(OutOfBudget::Steps);
        }
        // Sets of `rank` rows as numbers, each the next larger one with as many bits (Gosper).
        let next = |set: &u64| {
            let lowest = set & set.wrapping_neg();
            let carried = set + lowest;
            Some((((carried ^ set) >> 2) / lowest) | carried)
        };
        let sets = std::iter::successors(Some((1u64 << rank) - 1), next);
        let sets = sets.take_while(|set| set >> form.len() == 0);
        let mut smallest: Option<Polynomial> = None;
        for set in sets.take(MOST_MINORS) {
            let places: Vec<usize> = (0..form.len()).filter(|&i| set >> i & 1 == 1).collect();
            let minor: Vec<Vec<Fraction>> = (places.iter())
                .map(|&i| places.iter().map(|&j| form[i][j].clone()).collect())
                .collect();
            let (determinant, independent) = eliminated(&minor, budget)?;
            let is_zero = independent.len() < rank || determinant.divide_exactly(curve).is_some();
            let is_smaller = |known: &Polynomial| determinant.n_terms() < known.n_terms();
            if !is_zero && smallest.as_ref().is_none_or(is_smaller) {
                smallest = Some(determinant);
            }
        }
        // Without a minor that serves, there is no answer.
        let smallest = smallest.ok_or(OutOfBudget::Steps)?;
        let factors = factor(&smallest, &FactorBudget::until(budget.deadline)).factors;
        budget.check_time()?;
        let mut changes: Vec<Polynomial> = factors.into_iter().map(|f| f.polynomial).collect();
        changes.extend(self.exceptional.iter().cloned());
        Ok(changes)
    }
}

/// The characteristic polynomials of Hermite's forms: their signs tell the number of real zeros at values that need not be
/// rational.
#[derive(Clone, Debug)]
pub struct Characteristic {
    /// For each form the coefficients below the first, which is 1; highest power first.
    coefficients: Vec<Vec<Coefficient>>,
}

/// A polynomial in the parameters by its factors.
#[derive(Clone, Debug)]
struct Coefficient {
    /// The sign of the number before the factors.
    sign: i8,
    factors: Vec<(Polynomial, u32)>,
}

impl HermiteForm {
    /// The characteristic polynomials of the forms (Faddeev and Le Verrier).
    pub fn characteristic(&self, budget: &Budget) -> Result<Characteristic, OutOfBudget> {
        let forms = self.forms.iter();
        let coefficients = forms.map(|form| characteristic_coefficients(form, budget));
        Ok(Characteristic {
            coefficients: coefficients.collect::<Result<_, _>>()?,
        })
    }
}

impl Characteristic {
    /// The number of different real zeros with positive variables positive, from the signs of polynomials at the values of
    /// the parameters, where no exceptional polynomial vanishes: (14) of `docs/theory/real-points.md`.
    pub fn count<E>(
        &self,
        mut sign: impl FnMut(&Polynomial) -> Result<Ordering, E>,
    ) -> Result<usize, E> {
        let mut sum = 0;
        for coefficients in &self.coefficients {
            let mut signs = vec![1];
            for coefficient in coefficients {
                let mut total = coefficient.sign;
                for (factor, multiplicity) in &coefficient.factors {
                    if total == 0 {
                        break;
                    }
                    total *= match (sign(factor)?, multiplicity % 2) {
                        (Ordering::Equal, _) => 0,
                        (Ordering::Less, 1) => -1,
                        _ => 1,
                    };
                }
                signs.push(total);
            }
            let mirrored = signs.iter().enumerate();
            let mirrored = mirrored.map(|(k, s)| if k % 2 == 1 { -s } else { *s });
            sum += variations(signs.iter().copied()) - variations(mirrored);
        }
        Ok(usize::try_from(sum / self.coefficients.len() as i64).unwrap_or(0))
    }

    /// The rank of the form at a general point of the curve of an irreducible polynomial: the number of different zeros.
    pub fn rank_on(&self, curve: &Polynomial) -> usize {
        let vanishes = |c: &Coefficient| {
            let mut factors = c.factors.iter();
            c.sign == 0 || factors.any(|(f, _)| f.divide_exactly(curve).is_some())
        };
        let coefficients = self.coefficients.first().map_or(&[][..], Vec::as_slice);
        let last = coefficients.iter().rposition(|c| !vanishes(c));
        last.map_or(0, |at| at + 1)
    }
}

/// Changes of sign in a list, zeros left out.
fn variations(signs: impl Iterator<Item = i8>) -> i64 {
    let signs: Vec<i8> = signs.filter(|s| *s != 0).collect();
    signs.windows(2).filter(|pair| pair[0] != pair[1]).count() as i64
}

fn characteristic_coefficients(
    form: &[Vec<Fraction>],
    budget: &Budget,
) -> Result<Vec<Coefficient>, OutOfBudget> {
    let n = form.len();
    let mut common = Polynomial::one();
    for entry in form.iter().flatten() {
        let shared = crate::gcd(&common, entry.denominator());
        let rest = entry.denominator().divide_exactly(&shared);
        common = &common * &rest.expect("a divisor divides");
    }
    // A square is positive where no denominator vanishes: it changes no sign.
    let square = &common * &common;
    let whole = |entry: &Fraction| {
        let factor = square.divide_exactly(entry.denominator());
        entry.numerator() * &factor.expect("a multiple is divided")
    };
    let a: Vec<Vec<Polynomial>> = form
        .iter()
        .map(|row| row.iter().map(whole).collect())
        .collect();
    let unit = |i: usize, j: usize| Polynomial::constant(u8::from(i == j));
    let mut m: Vec<Vec<Polynomial>> = (0..n)
        .map(|i| (0..n).map(|j| unit(i, j)).collect())
        .collect();
    let mut coefficients = Vec::with_capacity(n);
    for k in 1..=n {
        let mut product = vec![vec![Polynomial::zero(); n]; n];
        for (i, row) in product.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                budget.check_time()?;
                for l in 0..n {
                    *entry = &*entry + &(&a[i][l] * &m[l][j]);
                }
            }
        }
        let trace = (0..n).fold(Polynomial::zero(), |sum, i| &sum + &product[i][i]);
        let number = Polynomial::constant(k as u64);
        let coefficient = -&trace.divide_exactly(&number).expect("Le Verrier divides");
        for (i, row) in product.iter_mut().enumerate() {
            row[i] = &row[i] + &coefficient;
        }
        m = product;
        coefficients.push(coefficient);
    }
    let mut result = Vec::with_capacity(n);
    for mut coefficient in coefficients {
        if !square.is_constant() && !coefficient.is_zero() {
            while let Some(quotient) = coefficient.divide_exactly(&square) {
                coefficient = quotient;
            }
        }
        let found = factor(&coefficient, &FactorBudget::until(budget.deadline));
        budget.check_time()?;
        result.push(Coefficient {
            sign: match found.unit.cmp(&IBig::ZERO) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            },
            factors: (found.factors.into_iter())
                .map(|f| (f.polynomial, f.multiplicity))
                .collect(),
        });
    }
    Ok(result)
}

/// The number of positive squares less that of negative ones, of a symmetric matrix. Entries are minors of it (Bareiss 1968):
/// a square has the sign of the quotient of two pivots that follow each other.
fn signature(a: &[Vec<RBig>]) -> i64 {
    let n = a.len();
    let common = (a.iter().flatten()).fold(UBig::ONE, |common, entry| {
        let shared = (&common).gcd(entry.denominator());
        common * (entry.denominator() / shared)
    });
    let whole = |entry: &RBig| entry.numerator() * (&common / entry.denominator());
    let mut a: Vec<Vec<IBig>> = (a.iter())
        .map(|row| row.iter().map(whole).collect())
        .collect();
    let mut open: Vec<usize> = (0..n).collect();
    let mut previous = IBig::ONE;
    let mut signature = 0;
    loop {
        let diagonal = open.iter().position(|&i| !a[i][i].is_zero());
        let Some(at) = diagonal else {
            let pairs = open.iter().flat_map(|&i| open.iter().map(move |&j| (i, j)));
            let Some((i, j)) = pairs.into_iter().find(|&(i, j)| !a[i][j].is_zero()) else {
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
        let top = a[pivot].clone();
        let is_positive = integer::is_negative(&top[pivot]) == integer::is_negative(&previous);
        signature += if is_positive { 1 } else { -1 };
        for &row in &open {
            let first = a[row][pivot].clone();
            for &column in &open {
                let value = &a[row][column] * &top[pivot] - &first * &top[column];
                a[row][column] = value / &previous;
            }
        }
        previous = top[pivot].clone();
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
