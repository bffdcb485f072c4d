//! Points whose coordinates are rational functions of a root.

use super::enclosure::Enclosure;
use super::univariate::{Root, Univariate};
use crate::Polynomial;
use crate::groebner::{Budget, OutOfBudget};
use crate::integer;
use dashu_int::IBig;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All complex zeros of an ideal: the variables are numerator(s)/denominator(s) at the roots s of a squarefree polynomial.
#[derive(Debug)]
pub struct Representation {
    variables: Vec<usize>,
    minimal: Univariate,
    /// The divisors of `minimal` whose roots have the same multiplicity.
    parts: Vec<(Univariate, u32)>,
    denominator: Univariate,
    numerators: Vec<Univariate>,
}

impl Representation {
    pub(super) fn new(
        variables: Vec<usize>,
        minimal: Univariate,
        parts: Vec<(Univariate, u32)>,
        denominator: Univariate,
        numerators: Vec<Univariate>,
    ) -> Self {
        Self {
            variables,
            minimal,
            parts,
            denominator,
            numerators,
        }
    }

    /// The number of different complex zeros.
    pub fn n_points(&self) -> usize {
        self.minimal.degree()
    }

    /// The squarefree polynomial of whose roots the points are functions.
    pub fn minimal(&self) -> &Univariate {
        &self.minimal
    }

    /// The real zeros: those of real roots, since the representation is over Q and tells all zeros apart.
    pub fn real_points(self, budget: &Budget) -> Result<Vec<RealPoint>, OutOfBudget> {
        let roots = self.minimal.real_roots(budget)?;
        let shared = Arc::new(self);
        let point = |root: Root| RealPoint {
            multiplicity: (shared.parts.iter())
                .find(|(part, _)| root.is_root_of(part))
                .map_or(1, |(_, multiplicity)| *multiplicity),
            representation: Arc::clone(&shared),
            root,
        };
        Ok(roots.into_iter().map(point).collect())
    }
}

/// A real zero that is known exactly: enclosures of any width, and signs of polynomials that are certain.
#[derive(Clone, Debug)]
pub struct RealPoint {
    representation: Arc<Representation>,
    root: Root,
    multiplicity: u32,
}

/// Bits with which the sign of a polynomial is tried first.
const SIGN_BITS: usize = 64;

/// Bits after which it is decided exactly whether the polynomial vanishes.
const EXACT_BITS: usize = 256;

impl RealPoint {
    /// The multiplicity of the zero.
    pub fn multiplicity(&self) -> u32 {
        self.multiplicity
    }

    /// The variables that have coordinates.
    pub fn variables(&self) -> &[usize] {
        &self.representation.variables
    }

    /// Enclosures of the coordinates, in the order of [`Self::variables`], no wider than 2^-bits.
    pub fn coordinates(
        &mut self,
        bits: usize,
        budget: &Budget,
    ) -> Result<Vec<Enclosure>, OutOfBudget> {
        let mut work = 2 * bits + 64;
        loop {
            self.root
                .refine(&self.representation.minimal, work, budget)?;
            let coordinates = self.enclosures(work, budget)?;
            if let Some(coordinates) =
                coordinates.filter(|all| all.iter().all(|x| x.is_within(bits)))
            {
                return Ok(coordinates);
            }
            work *= 2;
        }
    }

    /// Enclosures of the coordinates; `None` if the interval of the root is still too wide for the division.
    fn enclosures(
        &self,
        bits: usize,
        budget: &Budget,
    ) -> Result<Option<Vec<Enclosure>>, OutOfBudget> {
        let root = self.root.enclosure(bits);
        let denominator = self.representation.denominator.enclose(&root);
        let mut coordinates = Vec::with_capacity(self.representation.numerators.len());
        for numerator in &self.representation.numerators {
            budget.check_time()?;
            match numerator.enclose(&root).over(&denominator) {
                Some(coordinate) => coordinates.push(coordinate),
                None => return Ok(None),
            }
        }
        Ok(Some(coordinates))
    }

    /// The sign of a polynomial in the variables of the point, decided exactly.
    pub fn sign(
        &mut self,
        polynomial: &Polynomial,
        budget: &Budget,
    ) -> Result<Ordering, OutOfBudget> {
        let mut bits = SIGN_BITS;
        loop {
            let coordinates = self.coordinates(bits, budget)?;
            let value = self.evaluate(polynomial, &coordinates);
            if let Some(sign) = value.sign().filter(|&sign| sign != Ordering::Equal) {
                return Ok(sign);
            }
            if bits == EXACT_BITS && self.is_zero_of(polynomial, budget)? {
                return Ok(Ordering::Equal);
            }
            bits *= 2;
        }
    }

    /// Whether a polynomial vanishes at the point: its numerator as a polynomial of the root shares that root, (7) of
    /// `docs/theory/real-points.md`.
    pub fn is_zero_of(
        &self,
        polynomial: &Polynomial,
        budget: &Budget,
    ) -> Result<bool, OutOfBudget> {
        let numerator = self.numerator(polynomial, polynomial.total_degree(), budget)?;
        Ok(self.is_zero(&numerator))
    }

    /// Whether a polynomial of the root vanishes there.
    fn is_zero(&self, value: &Residue) -> bool {
        let value = &value.numerator;
        value.is_zero() || (self.root).is_root_of(&value.gcd(&self.representation.minimal))
    }

    /// A polynomial's value times a power of the denominator, as a polynomial of the root.
    fn numerator(
        &self,
        polynomial: &Polynomial,
        power: u32,
        budget: &Budget,
    ) -> Result<Residue, OutOfBudget> {
        let data = &*self.representation;
        let mut sum = Residue::default();
        for (monomial, coefficient) in polynomial.terms() {
            let mut term = Residue::whole(coefficient.clone());
            for (&variable, numerator) in data.variables.iter().zip(&data.numerators) {
                for _ in 0..monomial.exponent(variable) {
                    term = self.product(&term, &Residue::of(numerator), budget)?;
                }
            }
            for _ in monomial.total_degree()..power {
                term = self.product(&term, &Residue::of(&data.denominator), budget)?;
            }
            sum = sum.plus(&term);
        }
        Ok(sum)
    }

    /// The product of two polynomials of the root.
    fn product(&self, a: &Residue, b: &Residue, budget: &Budget) -> Result<Residue, OutOfBudget> {
        budget.check_time()?;
        let product = a.numerator.times(&b.numerator);
        let (numerator, factor) = product.pseudo_remainder(&self.representation.minimal);
        Ok(Residue {
            numerator,
            denominator: &a.denominator * &b.denominator * factor,
        }
        .reduced())
    }

    /// The rank of a matrix of polynomials in the variables of the point, decided exactly: section 5 of
    /// `docs/theory/real-points.md`. It is known to be `most` at most.
    pub fn rank(
        &mut self,
        matrix: &[Vec<Polynomial>],
        most: usize,
        budget: &Budget,
    ) -> Result<usize, OutOfBudget> {
        let n_columns = matrix.first().map_or(0, Vec::len);
        let most = most.min(matrix.len()).min(n_columns);
        let mut exact: Option<Vec<Vec<Residue>>> = None;
        let mut tested = None;
        let mut bits = SIGN_BITS;
        loop {
            let coordinates = self.coordinates(bits, budget)?;
            let mut values = Vec::with_capacity(matrix.len());
            for row in matrix {
                budget.check_time()?;
                let enclosures = row.iter().map(|p| self.evaluate(p, &coordinates));
                values.push(enclosures.collect::<Vec<Enclosure>>());
            }
            let pivots = certain_pivots(values);
            if pivots.len() >= most {
                return Ok(pivots.len());
            }
            if tested != Some(pivots.len()) {
                if exact.is_none() {
                    exact = Some(self.numerators(matrix, budget)?);
                }
                let exact = exact.as_deref().unwrap_or_default();
                if self.borders_vanish(exact, &pivots, budget)? {
                    return Ok(pivots.len());
                }
                tested = Some(pivots.len());
            }
            bits *= 2;
        }
    }

    /// The entries of a matrix times one power of the denominator.
    fn numerators(
        &self,
        matrix: &[Vec<Polynomial>],
        budget: &Budget,
    ) -> Result<Vec<Vec<Residue>>, OutOfBudget> {
        let entries = matrix.iter().flatten();
        let power = entries.map(Polynomial::total_degree).max().unwrap_or(0);
        let mut rows = Vec::with_capacity(matrix.len());
        for row in matrix {
            let entries = row.iter().map(|p| self.numerator(p, power, budget));
            rows.push(entries.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(rows)
    }

    /// Whether all minors vanish that have one row and one column more than a minor that does not: then its size is the
    /// rank.
    fn borders_vanish(
        &self,
        matrix: &[Vec<Residue>],
        pivots: &[(usize, usize)],
        budget: &Budget,
    ) -> Result<bool, OutOfBudget> {
        let n_columns = matrix.first().map_or(0, Vec::len);
        for row in 0..matrix.len() {
            for column in 0..n_columns {
                if pivots.iter().any(|&(r, c)| r == row || c == column) {
                    continue;
                }
                let mut places = pivots.to_vec();
                places.push((row, column));
                let minor: Vec<Vec<&Residue>> = places
                    .iter()
                    .map(|&(r, _)| places.iter().map(|&(_, c)| &matrix[r][c]).collect())
                    .collect();
                if !self.is_zero(&self.determinant(&minor, budget)?) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// A determinant of polynomials of the root, by Laplace's expansion along sets of columns: there is no division, as
    /// the polynomial of the root may have several factors.
    fn determinant(
        &self,
        matrix: &[Vec<&Residue>],
        budget: &Budget,
    ) -> Result<Residue, OutOfBudget> {
        let mut level = BTreeMap::from([(0u64, Residue::whole(IBig::ONE))]);
        for row in matrix {
            let mut next: BTreeMap<u64, Residue> = BTreeMap::new();
            for (set, minor) in &level {
                for (column, entry) in row.iter().enumerate() {
                    let is_zero = entry.numerator.is_zero() || minor.numerator.is_zero();
                    if set >> column & 1 == 1 || is_zero {
                        continue;
                    }
                    let mut product = self.product(minor, entry, budget)?;
                    if (set >> column).count_ones() % 2 == 1 {
                        product.numerator = product.numerator.scaled(&IBig::from(-1));
                    }
                    let sum = next.entry(set | 1 << column).or_default();
                    *sum = sum.plus(&product);
                }
            }
            budget.check_memory(next.len() * 64)?;
            level = next;
        }
        Ok(level.into_values().next().unwrap_or_default())
    }

    /// The enclosure of a polynomial's value.
    fn evaluate(&self, polynomial: &Polynomial, coordinates: &[Enclosure]) -> Enclosure {
        evaluate(polynomial, &self.representation.variables, coordinates)
    }
}

/// A polynomial of the root over a whole number, modulo the polynomial of the root.
#[derive(Clone)]
struct Residue {
    numerator: Univariate,
    denominator: IBig,
}

impl Default for Residue {
    fn default() -> Self {
        Self::of(&Univariate::default())
    }
}

impl Residue {
    fn of(numerator: &Univariate) -> Self {
        Self {
            numerator: numerator.clone(),
            denominator: IBig::ONE,
        }
    }

    fn whole(number: IBig) -> Self {
        Self::of(&Univariate::new(vec![number]))
    }

    /// Without common divisors.
    fn reduced(self) -> Self {
        let numbers = self.numerator.coefficients();
        let common = integer::gcd_of_all(std::iter::once(&self.denominator).chain(numbers));
        if common.is_one() {
            return self;
        }
        Self {
            numerator: Univariate::new(numbers.iter().map(|c| c / &common).collect()),
            denominator: &self.denominator / &common,
        }
    }

    fn plus(&self, other: &Self) -> Self {
        if self.denominator == other.denominator {
            return Self {
                numerator: self.numerator.plus(&other.numerator),
                denominator: self.denominator.clone(),
            };
        }
        let mine = self.numerator.scaled(&other.denominator);
        Self {
            numerator: mine.plus(&other.numerator.scaled(&self.denominator)),
            denominator: &self.denominator * &other.denominator,
        }
        .reduced()
    }
}

/// The enclosure of a polynomial's value where variables have values.
pub(super) fn evaluate(
    polynomial: &Polynomial,
    variables: &[usize],
    values: &[Enclosure],
) -> Enclosure {
    let bits = values.first().map_or(64, Enclosure::bits);
    let mut sum = Enclosure::whole(&IBig::ZERO, bits);
    for (monomial, coefficient) in polynomial.terms() {
        let mut term = Enclosure::whole(coefficient, bits);
        for (&variable, value) in variables.iter().zip(values) {
            for _ in 0..monomial.exponent(variable) {
                term = term.times(value);
            }
        }
        sum = sum.plus(&term);
    }
    sum
}

/// Rows and columns of pivots that are certainly not 0, by elimination in enclosures with complete pivoting: the minor of
/// all of them is their product, so the rank is at least their number.
fn certain_pivots(mut rows: Vec<Vec<Enclosure>>) -> Vec<(usize, usize)> {
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    loop {
        let mut best: Option<(usize, usize)> = None;
        let mut largest = 0.0;
        for (row, entries) in rows.iter().enumerate() {
            for (column, entry) in entries.iter().enumerate() {
                let is_used = pivots.iter().any(|&(r, c)| r == row || c == column);
                let is_certain = !is_used && entry.sign().is_some_and(|s| s != Ordering::Equal);
                let size = entry.middle().abs();
                if is_certain && (best.is_none() || size > largest) {
                    (best, largest) = (Some((row, column)), size);
                }
            }
        }
        let Some((row, column)) = best else {
            return pivots;
        };
        pivots.push((row, column));
        let top = rows[row].clone();
        for (other, entries) in rows.iter_mut().enumerate() {
            if pivots.iter().any(|&(r, _)| r == other) {
                continue;
            }
            let Some(factor) = entries[column].over(&top[column]) else {
                continue;
            };
            for (entry, above) in entries.iter_mut().zip(&top) {
                *entry = entry.minus(&factor.times(above));
            }
        }
    }
}
