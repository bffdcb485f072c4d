//! Change of order by linear algebra (Faugère, Gianni, Lazard and Mora 1993): section 6 of `docs/theory/algebra.md`.

use super::arithmetic::{Prime, primes};
use super::budget::{Budget, OutOfBudget};
use super::modular::Images;
use super::order::{Order, Ring, Words, product};
use super::{Basis, Certificate};
use crate::monomial::Monomial;
use dashu_int::IBig;
use std::collections::{BTreeMap, BTreeSet};

/// More points than this are converted by a computation with matrices instead.
const MOST_POINTS: usize = 2000;

/// Elements of the new basis modulo a prime: monomials, highest first, and coefficients.
type Image = (Vec<Vec<Words>>, Vec<Vec<u32>>);

/// The basis in another order; none if there are too many points.
pub(super) fn convert(
    basis: &Basis,
    standard: &[Monomial],
    order: &Order,
    budget: &Budget,
) -> Result<Option<Basis>, OutOfBudget> {
    if standard.len() > MOST_POINTS {
        return Ok(None);
    }
    let table = Products::new(basis, standard, budget)?;
    let ring = Ring::new(order);
    let mut all = Images::default();
    let mut supports: Option<Vec<Vec<Words>>> = None;
    let mut misfits = 0;
    for prime in primes() {
        let Some(matrices) = table.modulo(prime) else {
            continue;
        };
        let (monomials, numbers) = image(&matrices, &ring, prime, budget)?;
        match &supports {
            None => supports = Some(monomials),
            Some(known) if *known != monomials => {
                misfits += 1;
                if misfits > all.len() {
                    (all, supports, misfits) = (Images::default(), Some(monomials), 0);
                } else {
                    continue;
                }
            }
            Some(_) => {}
        }
        all.push(prime, numbers);
        let (Some(numbers), Some(monomials)) = (all.reconstruct(), &supports) else {
            continue;
        };
        let sorted = monomials.iter().zip(numbers).map(|(words, numbers)| {
            let terms = words.iter().cloned().zip(numbers);
            terms.filter(|term| !term.1.is_zero()).collect()
        });
        let candidate = Basis::new(ring.clone(), sorted.collect(), Certificate::Exact);
        // Elements of the ideal whose leading monomials leave as many monomials as there are points: a basis.
        let is_right = candidate.standard_monomials().map(|s| s.len()) == Some(standard.len())
            && basis.contains_all_within(candidate.elements(), budget)?;
        if is_right {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// The products of variables and standard monomials, reduced.
struct Products {
    variables: Vec<usize>,
    n_standard: usize,
    /// For each variable and each standard monomial.
    columns: Vec<Vec<Coordinates>>,
}

/// Places with numerators, and the common denominator.
type Coordinates = (Vec<(usize, IBig)>, IBig);

impl Products {
    fn new(basis: &Basis, standard: &[Monomial], budget: &Budget) -> Result<Self, OutOfBudget> {
        let variables: Vec<usize> = basis.order().variables().collect();
        let place: BTreeMap<&Monomial, usize> = standard.iter().zip(0..).collect();
        let column = |variable: usize, monomial: &Monomial| -> Result<Coordinates, OutOfBudget> {
            let product = monomial.times(&Monomial::power(variable, 1));
            if let Some(&at) = place.get(&product) {
                return Ok((vec![(at, IBig::ONE)], IBig::ONE));
            }
            let power = crate::Polynomial::term(product, IBig::ONE);
            let rest = basis.normal_form_within(&power, budget)?;
            let terms = rest.polynomial.terms().iter();
            let terms = terms.map(|(monomial, number)| (place[monomial], number.clone()));
            Ok((terms.collect(), rest.denominator))
        };
        let mut columns = Vec::with_capacity(variables.len());
        for &variable in &variables {
            let mut matrix = Vec::with_capacity(standard.len());
            for monomial in standard {
                matrix.push(column(variable, monomial)?);
            }
            columns.push(matrix);
        }
        Ok(Self {
            variables,
            n_standard: standard.len(),
            columns,
        })
    }

    /// The matrices modulo a prime; none if it divides a denominator.
    fn modulo(&self, prime: Prime) -> Option<Matrices> {
        let mut matrices = Vec::with_capacity(self.columns.len());
        for columns in &self.columns {
            let mut matrix = Vec::with_capacity(columns.len());
            for (terms, denominator) in columns {
                let denominator = prime.image(denominator);
                if denominator == 0 {
                    return None;
                }
                let inverse = prime.inverse(denominator);
                let column = terms
                    .iter()
                    .map(|(at, number)| (*at, prime.mul(prime.image(number), inverse)));
                matrix.push(column.collect());
            }
            matrices.push(matrix);
        }
        Some(Matrices {
            variables: self.variables.clone(),
            n_standard: self.n_standard,
            columns: matrices,
        })
    }
}

/// Multiplication by each variable modulo a prime, by sparse columns.
struct Matrices {
    variables: Vec<usize>,
    n_standard: usize,
    columns: Vec<Vec<Vec<(usize, u32)>>>,
}

/// The new basis modulo a prime: monomials from below, each either independent of the smaller ones or a leading monomial.
fn image(
    matrices: &Matrices,
    ring: &Ring,
    prime: Prime,
    budget: &Budget,
) -> Result<Image, OutOfBudget> {
    let n = matrices.n_standard;
    let unit: Vec<u32> = (0..n).map(|k| u32::from(k == 0)).collect();
    let one = ring.words(&Monomial::one()).ok_or(OutOfBudget::Degree)?;
    let mut open: BTreeSet<Words> = BTreeSet::from([one.clone()]);
    // Standard monomials of the new order with their coordinates in the old one.
    let mut known: BTreeMap<Words, (usize, Vec<u32>)> = BTreeMap::new();
    let mut names: Vec<Words> = Vec::new();
    let mut echelon: Vec<Echelon> = Vec::new();
    let (mut supports, mut numbers) = (Vec::new(), Vec::new());
    let mut leads: Vec<Words> = Vec::new();
    let steps: Vec<(usize, Words)> = matrices
        .variables
        .iter()
        .enumerate()
        .map(|(at, &v)| Some((at, ring.words(&Monomial::power(v, 1))?)))
        .collect::<Option<_>>()
        .ok_or(OutOfBudget::Degree)?;
    while let Some(words) = open.pop_first() {
        budget.check_time()?;
        if leads.iter().any(|lead| super::order::divides(lead, &words)) {
            continue;
        }
        let vector = if words == one {
            unit.clone()
        } else {
            // Some variable leads down to a monomial that is known, since all divisors were seen before.
            let (at, before) = steps
                .iter()
                .find_map(|(at, step)| {
                    let divisor = super::order::divides(step, &words)
                        .then(|| super::order::quotient(&words, step))?;
                    Some((*at, &known.get(&divisor)?.1))
                })
                .expect("divisors of a monomial come before it");
            let mut vector = vec![0u64; n];
            for (column, &factor) in matrices.columns[at].iter().zip(before) {
                if factor != 0 {
                    for &(row, value) in column {
                        vector[row] = (vector[row] + u64::from(prime.mul(factor, value)))
                            % u64::from(prime.value());
                    }
                }
            }
            vector.into_iter().map(|value| value as u32).collect()
        };
        match reduce(vector.clone(), &echelon, names.len(), prime) {
            Reduced::Independent(row) => {
                echelon.push(row);
                known.insert(words.clone(), (names.len(), vector));
                names.push(words.clone());
                for (_, step) in &steps {
                    open.insert(product(&words, step).ok_or(OutOfBudget::Degree)?);
                }
            }
            Reduced::Dependent(combination) => {
                let mut support = vec![words.clone()];
                let mut list = vec![1];
                let mut terms: Vec<(&Words, u32)> = names.iter().zip(combination).collect();
                terms.retain(|term| term.1 != 0);
                terms.sort_unstable_by(|a, b| b.0.cmp(a.0));
                for (name, number) in terms {
                    support.push(name.clone());
                    list.push(prime.sub(0, number));
                }
                supports.push(support);
                numbers.push(list);
                leads.push(words);
            }
        }
    }
    Ok((supports, numbers))
}

/// A row of an echelon form: entries from the pivot on, the pivot 1, and the combination of monomials that it is.
struct Echelon {
    pivot: usize,
    row: Vec<u32>,
    combination: Vec<u32>,
}

enum Reduced {
    Independent(Echelon),
    /// The vector as a combination of those before.
    Dependent(Vec<u32>),
}

fn reduce(mut vector: Vec<u32>, echelon: &[Echelon], n_known: usize, prime: Prime) -> Reduced {
    // vector - sum of what was taken = sum of `combination` over the known monomials + the new one.
    let mut taken = vec![0u32; n_known];
    for row in echelon {
        let factor = vector[row.pivot];
        if factor == 0 {
            continue;
        }
        for (slot, &value) in vector.iter_mut().zip(&row.row) {
            *slot = prime.sub(*slot, prime.mul(factor, value));
        }
        for (slot, &value) in taken.iter_mut().zip(&row.combination) {
            *slot = prime.sub(*slot, prime.sub(0, prime.mul(factor, value)));
        }
    }
    match vector.iter().position(|&value| value != 0) {
        None => Reduced::Dependent(taken),
        Some(pivot) => {
            let inverse = prime.inverse(vector[pivot]);
            let row = vector
                .iter()
                .map(|&value| prime.mul(value, inverse))
                .collect();
            let mut combination: Vec<u32> = taken
                .iter()
                .map(|&value| prime.mul(prime.sub(0, value), inverse))
                .collect();
            combination.push(inverse);
            Reduced::Independent(Echelon {
                pivot,
                row,
                combination,
            })
        }
    }
}
