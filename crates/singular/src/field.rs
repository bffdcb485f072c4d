//! Fields in which ranks are decided: a prime field, and quotients of polynomials with their relations.

use crate::ring::Ring;
use daelight_algebra::{Fraction, Polynomial, integer};

/// Exact arithmetic with a zero test.
pub trait Field {
    /// An element.
    type Element: Clone + PartialEq + std::fmt::Debug;
    /// 0.
    fn zero(&self) -> Self::Element;
    /// 1.
    fn one(&self) -> Self::Element;
    /// Whether it is 0.
    fn is_zero(&self, a: &Self::Element) -> bool;
    /// The sum.
    fn add(&self, a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// The difference.
    fn sub(&self, a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// The product.
    fn mul(&self, a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// The inverse of what is not 0.
    fn inverse(&self, a: &Self::Element) -> Self::Element;
    /// The element that a polynomial without unknowns is.
    fn element(&self, p: &Polynomial) -> Self::Element;
}

/// Whole numbers modulo a prime below 2^63, with a value for each variable of a ring.
#[derive(Clone, Debug)]
pub struct PrimeField {
    prime: u64,
    /// Values of the variables.
    pub values: Vec<u64>,
}

impl PrimeField {
    /// A field of about 2^61 elements with random values: what holds in it holds for generic values, up to an error of
    /// probability below 1e-12. `None` when the relations have no solution in any field that was tried.
    pub fn generic(ring: &Ring, seed: u64) -> Option<Self> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut random = move || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            state.wrapping_mul(0x2545_F491_4F6C_DD1D)
        };
        // A set of k square roots exists for about one prime in 2^k.
        const MOST_PRIMES: usize = 64;
        let below = (1u64 << 61) - 1 - 4 * (random() % (1 << 40));
        let candidates = (0..).map(|step| below - 4 * step);
        let mut primes = candidates.filter(|&n| is_prime(n)).take(MOST_PRIMES);
        primes.find_map(|prime| Self::random(prime, ring, &mut random))
    }

    /// A field with random values for the variables of a ring that satisfy their relations; `None` when a number has no
    /// square root in it. The prime must be 3 modulo 4: roots are then powers, and -1 is no square.
    pub fn random(prime: u64, ring: &Ring, mut random: impl FnMut() -> u64) -> Option<Self> {
        // A root of a polynomial in parameters exists for about every second choice of values.
        const MOST_TRIES: usize = 200;
        'tries: for _ in 0..MOST_TRIES {
            let mut field = Self {
                prime,
                values: Vec::new(),
            };
            for variable in 0..ring.variables().len() {
                use crate::ring::VariableKind;
                let value = match &ring.variables()[variable].meaning {
                    VariableKind::Root(square) => {
                        let square = field.element(square);
                        match field.root(square) {
                            Some(root) => root,
                            None if square == 0 => 0,
                            None => continue 'tries,
                        }
                    }
                    _ => random() % prime,
                };
                field.values.push(value);
            }
            return Some(field);
        }
        None
    }

    /// A point of the unit circle from the tangent of half its angle.
    pub fn unit(&self, t: u64) -> (u64, u64) {
        let square = self.mul(&t, &t);
        // 1 + t^2 is never 0 when -1 is no square.
        let scale = self.inverse(&self.add(&1, &square));
        let cosine = self.mul(&self.sub(&1, &square), &scale);
        let sine = self.mul(&self.add(&t, &t), &scale);
        (cosine, sine)
    }

    fn power(&self, base: u64, mut exponent: u64) -> u64 {
        let (mut base, mut result) = (base, 1);
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = self.mul(&result, &base);
            }
            base = self.mul(&base, &base);
            exponent /= 2;
        }
        result
    }

    fn root(&self, a: u64) -> Option<u64> {
        let root = self.power(a, self.prime.div_ceil(4));
        (self.mul(&root, &root) == a).then_some(root)
    }

    /// The prime.
    pub fn prime(&self) -> u64 {
        self.prime
    }
}

impl Field for PrimeField {
    type Element = u64;
    fn zero(&self) -> u64 {
        0
    }
    fn one(&self) -> u64 {
        1
    }
    fn is_zero(&self, a: &u64) -> bool {
        *a == 0
    }
    fn add(&self, a: &u64, b: &u64) -> u64 {
        (a + b) % self.prime
    }
    fn sub(&self, a: &u64, b: &u64) -> u64 {
        (a + self.prime - b) % self.prime
    }
    fn mul(&self, a: &u64, b: &u64) -> u64 {
        (u128::from(*a) * u128::from(*b) % u128::from(self.prime)) as u64
    }
    fn inverse(&self, a: &u64) -> u64 {
        self.power(*a, self.prime - 2)
    }
    fn element(&self, p: &Polynomial) -> u64 {
        let mut sum = 0;
        for (monomial, number) in p.terms() {
            let mut term = integer::remainder(number, self.prime);
            for (variable, &exponent) in monomial.exponents().iter().enumerate() {
                if exponent > 0 {
                    let power = self.power(self.values[variable], exponent.into());
                    term = self.mul(&term, &power);
                }
            }
            sum = self.add(&sum, &term);
        }
        sum
    }
}

/// Quotients of polynomials in the symbols of a ring, modulo the relations of roots and of known angles.
#[derive(Clone, Debug)]
pub struct ExactField<'a> {
    /// The symbols.
    pub ring: &'a Ring,
}

impl ExactField<'_> {
    fn reduced(&self, top: &Polynomial, bottom: &Polynomial) -> Fraction {
        let (mut top, mut bottom) = (self.ring.reduce(top), self.ring.reduce(bottom));
        // Roots of numbers leave the denominator, so that equal numbers are equal values.
        for variable in bottom.variables().into_iter().rev() {
            if self.ring.square(variable).is_none() || bottom.degree(variable) == 0 {
                continue;
            }
            let [a, b] = [0, 1].map(|power| bottom.coefficient(variable, power));
            let conjugate = &a - &(&b * &Polynomial::variable(variable));
            if self.ring.reduce(&conjugate).is_zero() {
                continue;
            }
            top = self.ring.reduce(&(&top * &conjugate));
            bottom = self.ring.reduce(&(&bottom * &conjugate));
        }
        Fraction::new(top, bottom).expect("denominators are not 0")
    }
}

impl Field for ExactField<'_> {
    type Element = Fraction;
    fn zero(&self) -> Fraction {
        Polynomial::zero().into()
    }
    fn one(&self) -> Fraction {
        Polynomial::one().into()
    }
    fn is_zero(&self, a: &Fraction) -> bool {
        a.is_zero()
    }
    fn add(&self, a: &Fraction, b: &Fraction) -> Fraction {
        let sum = a.plus(b);
        self.reduced(sum.numerator(), sum.denominator())
    }
    fn sub(&self, a: &Fraction, b: &Fraction) -> Fraction {
        let difference = a.minus(b);
        self.reduced(difference.numerator(), difference.denominator())
    }
    fn mul(&self, a: &Fraction, b: &Fraction) -> Fraction {
        let product = a.times(b);
        self.reduced(product.numerator(), product.denominator())
    }
    fn inverse(&self, a: &Fraction) -> Fraction {
        self.reduced(a.denominator(), a.numerator())
    }
    fn element(&self, p: &Polynomial) -> Fraction {
        self.reduced(p, &Polynomial::one())
    }
}

/// The test of Miller and Rabin with bases that decide all numbers below 2^64 (Sinclair 2011).
fn is_prime(n: u64) -> bool {
    let field = PrimeField {
        prime: n,
        values: Vec::new(),
    };
    if n < 1000 || n.is_multiple_of(2) {
        return n > 1 && (2..n).all(|d| !n.is_multiple_of(d));
    }
    let twos = (n - 1).trailing_zeros();
    [2u64, 325, 9375, 28178, 450775, 9780504, 1795265022]
        .into_iter()
        .all(|base| {
            let mut x = field.power(base % n, (n - 1) >> twos);
            if base % n == 0 || x == 1 || x == n - 1 {
                return true;
            }
            (1..twos).any(|_| {
                x = field.mul(&x, &x);
                x == n - 1
            })
        })
}

/// A matrix as a list of rows.
pub type Matrix<E> = Vec<Vec<E>>;

/// The reduced row echelon form, without zero rows, and the pivot columns.
pub fn echelon<F: Field>(
    field: &F,
    matrix: &[Vec<F::Element>],
) -> (Matrix<F::Element>, Vec<usize>) {
    let mut rows: Matrix<F::Element> = matrix.to_vec();
    let n_columns = rows.first().map_or(0, Vec::len);
    let mut pivots = Vec::new();
    for column in 0..n_columns {
        let rank = pivots.len();
        let Some(at) = (rank..rows.len()).find(|&row| !field.is_zero(&rows[row][column])) else {
            continue;
        };
        rows.swap(rank, at);
        let scale = field.inverse(&rows[rank][column]);
        for entry in &mut rows[rank] {
            if !field.is_zero(entry) {
                *entry = field.mul(entry, &scale);
            }
        }
        let pivot = rows[rank].clone();
        for (at, row) in rows.iter_mut().enumerate() {
            if at == rank || field.is_zero(&row[column]) {
                continue;
            }
            let factor = row[column].clone();
            for (entry, above) in row.iter_mut().zip(&pivot) {
                if !field.is_zero(above) {
                    *entry = field.sub(entry, &field.mul(&factor, above));
                }
            }
        }
        pivots.push(column);
        if pivots.len() == rows.len() {
            break;
        }
    }
    rows.truncate(pivots.len());
    (rows, pivots)
}

/// The rank.
pub fn rank<F: Field>(field: &F, matrix: &[Vec<F::Element>]) -> usize {
    echelon(field, matrix).1.len()
}

/// A basis of the vectors of length `n` on which all rows vanish.
pub fn kernel<F: Field>(field: &F, matrix: &[Vec<F::Element>], n: usize) -> Matrix<F::Element> {
    let (rows, pivots) = echelon(field, matrix);
    let mut basis = Vec::new();
    for free in (0..n).filter(|column| !pivots.contains(column)) {
        let mut vector = vec![field.zero(); n];
        vector[free] = field.one();
        for (row, &pivot) in rows.iter().zip(&pivots) {
            vector[pivot] = field.sub(&field.zero(), &row[free]);
        }
        basis.push(vector);
    }
    basis
}

/// The product of a row with a vector.
pub fn dot<F: Field>(field: &F, a: &[F::Element], b: &[F::Element]) -> F::Element {
    let mut sum = field.zero();
    for (a, b) in a.iter().zip(b) {
        if !field.is_zero(a) && !field.is_zero(b) {
            sum = field.add(&sum, &field.mul(a, b));
        }
    }
    sum
}
