//! The determinant of a matrix of quotients, without division.

use super::{Incomplete, LocusOptions};
use daelight_algebra::{Fraction, IBig, Polynomial, gcd, integer};
use daelight_symbolic::Generators;
use std::collections::HashMap;

/// The determinant as a product of polynomials over a product of polynomials.
pub(super) struct Parts {
    pub(super) numerators: Vec<Polynomial>,
    pub(super) denominators: Vec<Polynomial>,
}

/// Clears the denominators row by row, takes out what rows and columns have in common, and expands the rest by
/// minors of growing size: (13), (14).
pub(super) fn determinant(
    mut matrix: Vec<Vec<Fraction>>,
    generators: &Generators,
    options: &LocusOptions,
) -> Result<Parts, Incomplete> {
    let mut parts = Parts {
        numerators: Vec::new(),
        denominators: Vec::new(),
    };
    while let Some(pivot) = cheap_pivot(&matrix) {
        parts.eliminate(&mut matrix, pivot, generators, options)?;
    }
    let n = matrix.len();
    // Exponents of all products below stay under the sum of all degrees.
    let degrees = matrix
        .iter()
        .flatten()
        .map(|entry| entry.numerator().total_degree() + entry.denominator().total_degree());
    if degrees.sum::<u32>() > MOST_DEGREES {
        return Err(Incomplete::Magnitude);
    }
    let mut rows: Vec<Vec<Polynomial>> = Vec::with_capacity(n);
    for row in &matrix {
        let common = row.iter().fold(Polynomial::one(), |common, entry| {
            let shared = gcd(&common, entry.denominator());
            &common * &quotient(entry.denominator(), &shared)
        });
        rows.push(
            row.iter()
                .map(|entry| entry.numerator() * &quotient(&common, entry.denominator()))
                .collect(),
        );
        parts.denominators.push(common);
    }
    for row in &mut rows {
        let content = row.iter().fold(Polynomial::zero(), |c, p| gcd(&c, p));
        parts.take_out(content, row.iter_mut());
    }
    for column in 0..n {
        let entries = rows.iter().map(|row| &row[column]);
        let content = entries.fold(Polynomial::zero(), |c, p| gcd(&c, p));
        parts.take_out(content, rows.iter_mut().map(|row| &mut row[column]));
    }
    let (core, scale) = expand(rows, generators, options)?;
    parts.numerators.push(core);
    parts.denominators.push(scale);
    Ok(parts)
}

/// Highest sum of the degrees of all entries.
const MOST_DEGREES: u32 = 20_000;

/// Most entries that the elimination with one pivot may change.
const MOST_CHANGES: usize = 6;

/// The place of a number with few other entries in its row and column: such pivots cost next to nothing, and equations
/// like der(x) = v disappear.
fn cheap_pivot(matrix: &[Vec<Fraction>]) -> Option<(usize, usize)> {
    let n = matrix.len();
    let in_row: Vec<usize> = matrix
        .iter()
        .map(|row| row.iter().filter(|entry| !entry.is_zero()).count())
        .collect();
    let in_column: Vec<usize> = (0..n)
        .map(|j| matrix.iter().filter(|row| !row[j].is_zero()).count())
        .collect();
    let changes = |&(i, j): &(usize, usize)| (in_row[i] - 1) * (in_column[j] - 1);
    let is_number = |entry: &Fraction| {
        !entry.is_zero() && entry.numerator().is_constant() && entry.denominator().is_constant()
    };
    (0..n)
        .flat_map(|i| (0..n).map(move |j| (i, j)))
        .filter(|&(i, j)| is_number(&matrix[i][j]))
        .min_by_key(changes)
        .filter(|place| changes(place) <= MOST_CHANGES)
}

impl Parts {
    /// Takes the pivot with its row and column out of the matrix.
    fn eliminate(
        &mut self,
        matrix: &mut Vec<Vec<Fraction>>,
        (i, j): (usize, usize),
        generators: &Generators,
        options: &LocusOptions,
    ) -> Result<(), Incomplete> {
        let mut top = matrix.remove(i);
        let pivot = top.remove(j);
        for row in matrix.iter_mut() {
            let entry = row.remove(j);
            if entry.is_zero() {
                continue;
            }
            let factor = entry.over(&pivot).ok_or(Incomplete::Undefined)?;
            for (x, y) in row.iter_mut().zip(&top).filter(|(_, y)| !y.is_zero()) {
                let changed = generators.reduce_fraction(&x.minus(&factor.times(y)));
                *x = changed.ok_or(Incomplete::Undefined)?;
                if options.out_of_time() {
                    return Err(Incomplete::Time);
                }
                if x.numerator().n_terms() > options.terms {
                    return Err(Incomplete::Terms {
                        limit: options.terms,
                    });
                }
            }
        }
        self.numerators.push(if (i + j) % 2 == 0 {
            pivot.numerator().clone()
        } else {
            -pivot.numerator()
        });
        self.denominators.push(pivot.denominator().clone());
        Ok(())
    }

    fn take_out<'a>(
        &mut self,
        content: Polynomial,
        entries: impl Iterator<Item = &'a mut Polynomial>,
    ) {
        if content.is_zero() || content.is_one() {
            return;
        }
        for entry in entries {
            *entry = quotient(entry, &content);
        }
        self.numerators.push(content);
    }
}

fn quotient(a: &Polynomial, b: &Polynomial) -> Polynomial {
    a.divide_exactly(b).expect("a common divisor divides")
}

/// Minors of one size reduced by the relations among generators, all multiplied by the one number that is returned.
fn reduced_alike(
    minors: HashMap<u64, Polynomial>,
    generators: &Generators,
    options: &LocusOptions,
) -> Result<(HashMap<u64, Polynomial>, IBig), Incomplete> {
    let reduced: Vec<_> = minors
        .into_iter()
        .map(|(columns, minor)| (columns, generators.reduce(&minor)))
        .collect();
    let common = reduced.iter().fold(IBig::ONE, |common, (_, (_, factor))| {
        let shared = integer::gcd(&common, factor);
        common * (factor / shared)
    });
    let mut minors = HashMap::new();
    for (columns, (minor, factor)) in reduced {
        if minor.n_terms() > options.terms {
            return Err(Incomplete::Terms {
                limit: options.terms,
            });
        }
        if !minor.is_zero() {
            minors.insert(columns, minor.scaled(&(&common / factor)));
        }
    }
    if minors.len() > options.minors {
        return Err(Incomplete::Minors {
            limit: options.minors,
        });
    }
    Ok((minors, common))
}

/// Laplace's expansion: the minors of the first k rows by their columns, sparse rows first. The result and a number that
/// it was multiplied by.
fn expand(
    rows: Vec<Vec<Polynomial>>,
    generators: &Generators,
    options: &LocusOptions,
) -> Result<(Polynomial, Polynomial), Incomplete> {
    let n = rows.len();
    let mut order: Vec<usize> = (0..n).collect();
    let n_entries = |row: usize| rows[row].iter().filter(|p| !p.is_zero()).count();
    order.sort_by_key(|&row| n_entries(row));
    let inversions = (0..n)
        .flat_map(|i| (0..i).map(move |j| (j, i)))
        .filter(|&(j, i)| order[j] > order[i])
        .count();
    let mut scale = Polynomial::one();
    let mut n_products = 0;
    let mut minors: HashMap<u64, Polynomial> = HashMap::from([(0, Polynomial::one())]);
    for &row in &order {
        let mut next: HashMap<u64, Polynomial> = HashMap::new();
        for (&columns, minor) in &minors {
            if options.out_of_time() {
                return Err(Incomplete::Time);
            }
            for (column, entry) in rows[row].iter().enumerate() {
                let bit = 1u64 << column;
                if columns & bit != 0 || entry.is_zero() {
                    continue;
                }
                n_products += minor.n_terms() * entry.n_terms();
                if n_products > options.products {
                    return Err(Incomplete::Products {
                        limit: options.products,
                    });
                }
                let product = minor * entry;
                // Every earlier column to the right is one exchange.
                let exchanges = (columns >> column).count_ones();
                let sum = next.entry(columns | bit).or_default();
                *sum = if exchanges % 2 == 0 {
                    &*sum + &product
                } else {
                    &*sum - &product
                };
                if sum.n_terms() > 4 * options.terms {
                    return Err(Incomplete::Terms {
                        limit: options.terms,
                    });
                }
            }
        }
        let factor;
        (minors, factor) = reduced_alike(next, generators, options)?;
        scale = scale.scaled(&factor);
    }
    let full = if n == 64 { u64::MAX } else { (1 << n) - 1 };
    let result = minors.remove(&full).unwrap_or_default();
    Ok((
        if inversions % 2 == 0 {
            result
        } else {
            -&result
        },
        scale,
    ))
}
