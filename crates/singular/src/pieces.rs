//! Pieces of the singular set: small systems of polynomials, one for each case and choice of senses; section 6 of
//! `docs/theory/configurations.md`.

use crate::cases::Case;
use crate::eliminate::Undecided;
use crate::exact::ExactCases;
use crate::field::{ExactField, Field};
use crate::flats::{Forms, restricted};
use crate::locus::{Choice, Conditioned, Leg};
use crate::ring::{Ring, VariableKind};
use daelight_algebra::{Budget, Fraction, Ideal, OutOfBudget, Polynomial};
use std::collections::BTreeMap;

/// Most rows and columns of a matrix whose maximal minors are expanded.
const MOST_ROWS: usize = 12;
const MOST_COLUMNS: usize = 6;

/// Most terms of a minor.
const MOST_TERMS: usize = 4_000;

/// A part of the singular set: the points where all generators vanish and no divisor does.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The case, by number.
    pub case: usize,
    /// The senses of its aligned bodies.
    pub choice: Choice,
    /// Constraints, unit circles, alignments and what else the case demands.
    pub generators: Vec<Polynomial>,
    /// The unknowns, then square roots that are written as symbols.
    pub variables: Vec<usize>,
    /// Square roots, which are positive.
    pub positive: Vec<usize>,
    /// Denominators of constraints.
    pub nonzero: Vec<Polynomial>,
}

impl Piece {
    /// The ideal of its points, whose coordinates are all its variables.
    pub fn ideal(&self, budget: &Budget) -> Result<Ideal, OutOfBudget> {
        let ideal = Ideal::new(self.generators.clone()).in_space(&self.variables);
        ideal.saturation_by_all(&self.nonzero, budget)
    }
}

impl Conditioned<'_> {
    /// The piece of a case for a choice of senses.
    pub fn piece(
        &self,
        cases: &ExactCases,
        case: usize,
        choice: &Choice,
    ) -> Result<Piece, Undecided> {
        let mechanism = self.mechanism;
        let mut generators = mechanism.polynomials();
        generators.extend((0..mechanism.directions.len()).map(|at| mechanism.circle(at)));
        let legs = self.legs[case].as_ref().map_err(|why| *why)?;
        let number = case;
        let case = &cases.list[number];
        for (at, (leg, reversed)) in legs.iter().zip(&choice.reversed).enumerate() {
            self.align(case, at, leg, reversed, &mut generators);
        }
        for (column, coefficients) in &case.vanishing {
            let functions = &mechanism.columns[*column].functions;
            generators.push(combination(&self.ring, functions, coefficients));
        }
        if case.has_minors() {
            generators.extend(self.minors(case)?);
        }
        // Square roots of numbers are unknowns with an equation.
        let mut positive: Vec<usize> = Vec::new();
        loop {
            let new: Vec<usize> = generators
                .iter()
                .flat_map(|p| p.variables())
                .filter(|v| matches!(self.ring.variables()[*v].meaning, VariableKind::Root(_)))
                .filter(|v| !positive.contains(v))
                .collect();
            let Some(&root) = new.first() else { break };
            positive.push(root);
            if let Some(square) = self.ring.square(root) {
                generators.push(&Polynomial::variable(root).pow(2) - &square);
            }
        }
        let nonzero = self.denominators();
        let mut variables: Vec<usize> = generators
            .iter()
            .chain(&nonzero)
            .flat_map(|p| p.variables())
            .filter(|&v| self.ring.is_unknown(v) || positive.contains(&v))
            .collect();
        variables.sort_unstable();
        variables.dedup();
        generators.retain(|p| !p.is_zero());
        Ok(Piece {
            case: number,
            choice: choice.clone(),
            generators,
            variables,
            positive,
            nonzero,
        })
    }

    fn denominators(&self) -> Vec<Polynomial> {
        let rows = self.mechanism.constraints.rows.iter();
        rows.filter_map(|row| row.denominator.as_ref())
            .map(|waves| self.mechanism.polynomial(waves))
            .collect()
    }

    /// The linear equations of the bodies of a leg.
    fn align(
        &self,
        case: &Case<Fraction>,
        at: usize,
        leg: &Leg,
        reversed: &[bool],
        generators: &mut Vec<Polynomial>,
    ) {
        let field = ExactField { ring: &self.ring };
        let unit = |column: usize| -> [Polynomial; 2] {
            let functions = &self.mechanism.columns[column].functions;
            [functions[0].clone(), functions[1].clone()]
        };
        let class = case.classes.get(at);
        for ((column, length), &is_reversed) in leg.members.iter().zip(reversed) {
            let vector = match class {
                Some(class) => class.members.iter().find(|(member, _)| member == column),
                None => case.fixed.iter().find(|(member, _)| member == column),
            };
            let Some((_, vector)) = vector else { continue };
            if class.is_some_and(|class| class.members[0].0 == *column) {
                continue;
            }
            let scale = field.inverse(length);
            let [p, q] = [0, 1].map(|part| field.mul(&vector[part], &scale));
            let [c, s] = unit(*column);
            // The direction of the force: turned from the first of the class, or fixed.
            let [x, y] = match class {
                Some(class) => {
                    let [first_c, first_s] = unit(class.members[0].0);
                    [
                        vec![
                            (p.clone(), first_c.clone(), false),
                            (q.clone(), first_s.clone(), true),
                        ],
                        vec![(q, first_c, false), (p, first_s, false)],
                    ]
                }
                None => [
                    vec![(p, Polynomial::one(), false)],
                    vec![(q, Polynomial::one(), false)],
                ],
            };
            for (own, terms) in [(c, x), (s, y)] {
                let mut functions = vec![own];
                let mut coefficients = vec![field.one()];
                for (coefficient, function, is_negative) in terms {
                    // own - (sense) * (sum of the terms) = 0
                    let is_minus = is_negative == is_reversed;
                    coefficients.push(if is_minus {
                        coefficient.negated()
                    } else {
                        coefficient
                    });
                    functions.push(function);
                }
                generators.push(combination(&self.ring, &functions, &coefficients));
            }
        }
    }

    /// The maximal minors of the matrix of a case.
    fn minors(&self, case: &Case<Fraction>) -> Result<Vec<Polynomial>, Undecided> {
        let (n, d) = (case.rows.len(), case.dimension());
        if n > MOST_ROWS || d > MOST_COLUMNS {
            return Err(Undecided::Minors);
        }
        let field = ExactField { ring: &self.ring };
        let forms = Forms::new(&field, self.mechanism);
        let mut rows: Vec<Vec<Polynomial>> = Vec::new();
        for &column in &case.rows {
            let functions = &self.mechanism.columns[column].functions;
            let values: Vec<Vec<Fraction>> = forms.columns[column]
                .iter()
                .map(|form| restricted(&field, form, &case.flat.basis))
                .collect();
            // One denominator for the row does not change where minors vanish.
            let all: Vec<Fraction> = values.iter().flatten().cloned().collect();
            let common = common_denominator(&all);
            let entry = |b: usize| {
                let mut sum = Polynomial::zero();
                for (function, form) in functions.iter().zip(&values) {
                    sum = &sum + &(function * &over_common(&form[b], &common));
                }
                self.ring.reduce(&sum)
            };
            rows.push((0..d).map(entry).collect());
        }
        // Minors of the first columns by Laplace expansion, for all sets of rows.
        let mut level: BTreeMap<u32, Polynomial> = BTreeMap::from([(0, Polynomial::one())]);
        for column in 0..d {
            let mut next: BTreeMap<u32, Polynomial> = BTreeMap::new();
            for (set, minor) in &level {
                for (at, row) in rows.iter().enumerate() {
                    if set >> at & 1 == 1 || row[column].is_zero() || minor.is_zero() {
                        continue;
                    }
                    let product = minor * &row[column];
                    let n_after = (set >> at).count_ones();
                    let entry = next.entry(set | 1 << at).or_default();
                    *entry = if n_after % 2 == 1 {
                        &*entry - &product
                    } else {
                        &*entry + &product
                    };
                    if entry.n_terms() > MOST_TERMS {
                        return Err(Undecided::Terms);
                    }
                }
            }
            level = next;
        }
        Ok(level
            .into_values()
            .map(|p| self.ring.reduce(&p).primitive_over_integers())
            .filter(|p| !p.is_zero())
            .collect())
    }
}

/// A sum of coefficients times functions, without denominators.
pub(crate) fn combination(
    ring: &Ring,
    functions: &[Polynomial],
    coefficients: &[Fraction],
) -> Polynomial {
    let common = common_denominator(coefficients);
    let mut sum = Polynomial::zero();
    for (function, coefficient) in functions.iter().zip(coefficients) {
        sum = &sum + &(function * &over_common(coefficient, &common));
    }
    ring.reduce(&sum).primitive_over_integers()
}

/// The least common multiple of denominators.
fn common_denominator(fractions: &[Fraction]) -> Polynomial {
    let mut common = Polynomial::one();
    for fraction in fractions {
        let shared = daelight_algebra::gcd(&common, fraction.denominator());
        let rest = fraction.denominator().divide_exactly(&shared);
        common = &common * &rest.unwrap_or_else(Polynomial::one);
    }
    common
}

fn over_common(fraction: &Fraction, common: &Polynomial) -> Polynomial {
    let factor = common.divide_exactly(fraction.denominator());
    fraction.numerator() * &factor.unwrap_or_else(Polynomial::one)
}
