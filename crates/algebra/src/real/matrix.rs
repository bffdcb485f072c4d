//! Square matrices of rational numbers: whole entries over one denominator.

use crate::groebner::{Budget, OutOfBudget};
use crate::integer;
use crate::prime_field::{PrimeField, prime_fields};
use crate::real::Univariate;
use dashu_int::IBig;

/// Whole numbers over one positive denominator.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    pub entries: Vec<IBig>,
    pub denominator: IBig,
}

impl Vector {
    /// Divides numbers and denominator by what they have in common.
    fn reduce(mut self) -> Self {
        let mut common = self.denominator.clone();
        for entry in &self.entries {
            if common.is_one() {
                return self;
            }
            common = integer::gcd(&common, entry);
        }
        for entry in &mut self.entries {
            *entry = &*entry / &common;
        }
        self.denominator = &self.denominator / &common;
        self
    }
}

/// A square matrix, column after column.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    n: usize,
    values: Vector,
}

impl Matrix {
    /// From columns.
    pub fn from_columns(columns: &[Vector]) -> Self {
        let n = columns.len();
        let mut denominator = IBig::ONE;
        for column in columns {
            let common = integer::gcd(&denominator, &column.denominator);
            denominator = &denominator / common * &column.denominator;
        }
        let mut entries = Vec::with_capacity(n * n);
        for column in columns {
            let factor = &denominator / &column.denominator;
            entries.extend(column.entries.iter().map(|entry| entry * &factor));
        }
        let values = Vector {
            entries,
            denominator,
        };
        Self {
            n,
            values: values.reduce(),
        }
    }

    /// The identity.
    pub fn identity(n: usize) -> Self {
        let entries = (0..n * n).map(|at| IBig::from(u8::from(at % (n + 1) == 0)));
        Self {
            n,
            values: Vector {
                entries: entries.collect(),
                denominator: IBig::ONE,
            },
        }
    }

    /// The whole numbers that are `denominator` times the entries, column after column.
    pub fn numerators(&self) -> &[IBig] {
        &self.values.entries
    }

    pub fn denominator(&self) -> &IBig {
        &self.values.denominator
    }

    /// The sum of multiples.
    pub fn combination<'a>(terms: impl Iterator<Item = (&'a IBig, &'a Self)>) -> Option<Self> {
        let mut sum: Option<Self> = None;
        for (factor, matrix) in terms {
            sum = Some(match sum {
                None => Self {
                    n: matrix.n,
                    values: Vector {
                        entries: matrix.numerators().iter().map(|e| e * factor).collect(),
                        denominator: matrix.denominator().clone(),
                    },
                },
                Some(sum) => {
                    let (mine, theirs) = (sum.denominator(), matrix.denominator());
                    let pairs = sum.numerators().iter().zip(matrix.numerators());
                    let entries = pairs.map(|(a, b)| a * theirs + b * factor * mine).collect();
                    let values = Vector {
                        entries,
                        denominator: mine * theirs,
                    };
                    Self {
                        n: sum.n,
                        values: values.reduce(),
                    }
                }
            });
        }
        sum
    }

    pub fn times_vector(&self, vector: &Vector) -> Vector {
        let mut entries = vec![IBig::ZERO; self.n];
        for (column, factor) in self.numerators().chunks_exact(self.n).zip(&vector.entries) {
            if !factor.is_zero() {
                for (sum, entry) in entries.iter_mut().zip(column) {
                    *sum += entry * factor;
                }
            }
        }
        let denominator = self.denominator() * &vector.denominator;
        Vector {
            entries,
            denominator,
        }
        .reduce()
    }

    pub fn times(&self, other: &Self, budget: &Budget) -> Result<Self, OutOfBudget> {
        let mut columns = Vec::with_capacity(self.n);
        for column in other.numerators().chunks_exact(self.n) {
            budget.check_time()?;
            columns.push(self.times_vector(&Vector {
                entries: column.to_vec(),
                denominator: other.denominator().clone(),
            }));
        }
        Ok(Self::from_columns(&columns))
    }

    /// The sum of the diagonal, times the denominator.
    pub fn trace_numerator(&self) -> IBig {
        let diagonal = self.numerators().iter().step_by(self.n + 1);
        diagonal.fold(IBig::ZERO, |sum, entry| sum + entry)
    }

    /// The characteristic polynomial of the matrix of numerators, by images modulo primes up to the bound (3) of
    /// `docs/theory/real-points.md`.
    pub fn characteristic_polynomial_of_numerators(
        &self,
        budget: &Budget,
    ) -> Result<Univariate, OutOfBudget> {
        let n = self.n;
        let columns = self.numerators().chunks_exact(n.max(1));
        let column_sums = columns
            .map(|column| (column.iter()).fold(IBig::ZERO, |sum, entry| sum + integer::abs(entry)));
        let radius = column_sums.max().unwrap_or_default();
        let bound = (radius + IBig::ONE).pow(n) * IBig::from(2);
        let mut modulus = IBig::ONE;
        let mut coefficients = vec![IBig::ZERO; n + 1];
        for field in prime_fields() {
            budget.check_time()?;
            let entries = self.numerators().iter();
            let image = entries
                .map(|e| integer::remainder(e, field.prime()))
                .collect();
            let image = characteristic_polynomial_modulo(image, n, field);
            let prime = IBig::from(field.prime());
            let inverse = field.inverse(integer::remainder(&modulus, field.prime()));
            for (coefficient, residue) in coefficients.iter_mut().zip(image) {
                let known = integer::remainder(coefficient, field.prime());
                let step = field.mul(field.sub(residue, known), inverse);
                *coefficient += &modulus * IBig::from(step);
            }
            modulus *= prime;
            if modulus > bound {
                break;
            }
        }
        let symmetric = |c: &IBig| integer::symmetric_remainder(c, &modulus);
        Ok(Univariate::new(
            coefficients.iter().map(symmetric).collect(),
        ))
    }
}

/// The characteristic polynomial of a matrix modulo a prime, column after column, lowest coefficient first: the matrix
/// is made a Hessenberg matrix by similar transformations (Cohen 1993, algorithm 2.2.9).
fn characteristic_polynomial_modulo(mut a: Vec<u64>, n: usize, field: PrimeField) -> Vec<u64> {
    let at = |row: usize, column: usize| column * n + row;
    for m in 1..n.saturating_sub(1) {
        let Some(pivot) = (m..n).find(|&row| a[at(row, m - 1)] != 0) else {
            continue;
        };
        if pivot != m {
            for column in 0..n {
                a.swap(at(pivot, column), at(m, column));
            }
            for row in 0..n {
                a.swap(at(row, pivot), at(row, m));
            }
        }
        let inverse = field.inverse(a[at(m, m - 1)]);
        for row in m + 1..n {
            let factor = field.mul(a[at(row, m - 1)], inverse);
            if factor == 0 {
                continue;
            }
            for column in m - 1..n {
                let product = field.mul(factor, a[at(m, column)]);
                a[at(row, column)] = field.sub(a[at(row, column)], product);
            }
            for other in 0..n {
                let product = field.mul(factor, a[at(other, row)]);
                a[at(other, m)] = field.add(a[at(other, m)], product);
            }
        }
    }
    // p_k is the characteristic polynomial of the leading k x k part.
    let mut parts: Vec<Vec<u64>> = vec![vec![1]];
    for k in 0..n {
        let previous = &parts[k];
        let mut next = vec![0; k + 2];
        for (power, &c) in previous.iter().enumerate() {
            next[power + 1] = field.add(next[power + 1], c);
            let product = field.mul(a[at(k, k)], c);
            next[power] = field.sub(next[power], product);
        }
        let mut below = 1;
        for i in (0..k).rev() {
            below = field.mul(below, a[at(i + 1, i)]);
            let factor = field.mul(below, a[at(i, k)]);
            for (power, &c) in parts[i].iter().enumerate() {
                let product = field.mul(factor, c);
                next[power] = field.sub(next[power], product);
            }
        }
        parts.push(next);
    }
    parts.pop().unwrap_or_default()
}

/// The rank of a square matrix of whole numbers (Bareiss 1968).
pub(crate) fn rank(mut a: Vec<Vec<IBig>>, budget: &Budget) -> Result<usize, OutOfBudget> {
    let n = a.len();
    let mut rank = 0;
    let mut previous = IBig::ONE;
    for column in 0..n {
        let Some(pivot) = (rank..n).find(|&row| !a[row][column].is_zero()) else {
            continue;
        };
        a.swap(rank, pivot);
        let (above, below) = a.split_at_mut(rank + 1);
        let pivot_row = &above[rank];
        for row in below {
            budget.check_time()?;
            for k in column + 1..n {
                let value = &row[k] * &pivot_row[column] - &row[column] * &pivot_row[k];
                row[k] = value / &previous;
            }
            row[column] = IBig::ZERO;
        }
        previous = pivot_row[column].clone();
        rank += 1;
    }
    Ok(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn random_matrix(n: usize, random: &mut Random) -> Matrix {
        let columns: Vec<Vector> = (0..n)
            .map(|_| Vector {
                entries: (0..n).map(|_| random.within(9).into()).collect(),
                denominator: (1 + random.below(6)).into(),
            })
            .collect();
        Matrix::from_columns(&columns)
    }

    #[test]
    fn a_matrix_satisfies_its_characteristic_polynomial() {
        let mut random = Random::new(5);
        for n in 1..7 {
            let a = random_matrix(n, &mut random);
            let whole = Matrix {
                n,
                values: Vector {
                    entries: a.numerators().to_vec(),
                    denominator: IBig::ONE,
                },
            };
            let p = whole.characteristic_polynomial_of_numerators(&Budget::default());
            let p = p.expect("there is time");
            assert_eq!(p.degree(), n);
            let mut vector = Vector {
                entries: (0..n).map(|_| random.within(9).into()).collect(),
                denominator: IBig::ONE,
            };
            let mut sum = vec![IBig::ZERO; n];
            for c in p.coefficients() {
                for (s, v) in sum.iter_mut().zip(&vector.entries) {
                    *s += c * v;
                }
                vector = whole.times_vector(&vector);
            }
            assert!(
                sum.iter().all(IBig::is_zero),
                "Cayley and Hamilton, n = {n}"
            );
        }
    }

    #[test]
    fn ranks_of_products() {
        let mut random = Random::new(6);
        for n in 1..7 {
            for r in 0..=n {
                // The sum of r dyads has rank r at most, and generically r.
                let mut a = vec![vec![IBig::ZERO; n]; n];
                for _ in 0..r {
                    let [u, v] = [(); 2].map(|()| {
                        (0..n)
                            .map(|_| IBig::from(1 + random.below(1_000_000)))
                            .collect::<Vec<_>>()
                    });
                    for (row, x) in a.iter_mut().zip(&u) {
                        for (entry, y) in row.iter_mut().zip(&v) {
                            *entry += x * y;
                        }
                    }
                }
                assert_eq!(rank(a, &Budget::default()), Ok(r));
            }
        }
    }
}
