//! Monomial orders, and monomials as words whose lexicographic order is the monomial order.

use crate::monomial::Monomial;
use crate::polynomial::Polynomial;
use smallvec::SmallVec;

/// How the monomials of one block of variables are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// By total degree, then the one with less of the last variable is higher.
    Degrevlex,
    /// By the exponent of the first variable in which they differ.
    Lex,
}

/// An order of monomials: blocks of variables, compared one after the other.
///
/// The listed variables make up the ring, highest first. Variables that occur in a polynomial without being listed join
/// the last block.
///
/// ```
/// use daelight_algebra::{Budget, Order, Polynomial, basis};
///
/// let [x, y] = [0, 1].map(Polynomial::variable);
/// let circle = &(&(&x * &x) + &(&y * &y)) - &Polynomial::one();
/// let found = basis(&[circle, &x - &y], &Order::lex([0, 1]), &Budget::default()).unwrap();
/// assert_eq!(found.elements()[0], &(&y * &y).scaled(&2.into()) - &Polynomial::one());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    blocks: Vec<(Kind, Vec<usize>)>,
}

impl Order {
    /// Total degree first, then the one with less of the last variable is higher: the order in which bases are
    /// smallest.
    pub fn degrevlex(variables: impl IntoIterator<Item = usize>) -> Self {
        Self {
            blocks: vec![(Kind::Degrevlex, variables.into_iter().collect())],
        }
    }

    /// Lexicographic, the first variable highest.
    pub fn lex(variables: impl IntoIterator<Item = usize>) -> Self {
        Self {
            blocks: vec![(Kind::Lex, variables.into_iter().collect())],
        }
    }

    /// Any monomial with a variable of the first order is above all without; each order within its own variables.
    pub fn product(self, lower: Self) -> Self {
        let mut blocks = self.blocks;
        blocks.extend(lower.blocks);
        Self { blocks }
    }

    /// The variables, highest first.
    pub fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks.iter().flat_map(|block| block.1.iter().copied())
    }

    /// Whether a monomial of higher total degree is always higher.
    pub fn is_graded(&self) -> bool {
        match self.used().as_slice() {
            [] => true,
            [(kind, variables)] => *kind == Kind::Degrevlex || variables.len() == 1,
            _ => false,
        }
    }

    fn used(&self) -> Vec<&(Kind, Vec<usize>)> {
        let blocks = self.blocks.iter();
        blocks.filter(|block| !block.1.is_empty()).collect()
    }

    /// The order in which each variable stands once and every variable of the polynomials is listed.
    pub(crate) fn completed(&self, polynomials: &[Polynomial]) -> Self {
        let mut order = self.clone();
        let mut seen = std::collections::BTreeSet::new();
        for block in &mut order.blocks {
            block.1.retain(|&variable| seen.insert(variable));
        }
        let occurring: std::collections::BTreeSet<usize> =
            polynomials.iter().flat_map(Polynomial::variables).collect();
        let missing = occurring
            .into_iter()
            .filter(|variable| !seen.contains(variable));
        match order.blocks.last_mut() {
            Some(last) => last.1.extend(missing),
            None => order.blocks.push((Kind::Degrevlex, missing.collect())),
        }
        order
    }
}

/// A monomial as numbers that add up in products and whose lexicographic order is the monomial order.
///
/// A block in degrevlex order is its degree followed by the exponents, last variable first, negated; a block in
/// lexicographic order is its exponents.
pub(crate) type Words = SmallVec<[i16; 24]>;

/// The layout of [`Words`] for an order.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    order: Order,
    width: usize,
    /// Whether the word is a sum of the words that follow up to the next `true`, or an exponent.
    layout: Vec<Word>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Degree,
    Negated(usize),
    Plain(usize),
}

/// Exponents and degrees stay below this.
const LARGEST: i32 = i16::MAX as i32;

impl Ring {
    pub(crate) fn new(order: &Order) -> Self {
        let mut layout = Vec::new();
        for (kind, variables) in order.used() {
            match kind {
                Kind::Degrevlex => {
                    layout.push(Word::Degree);
                    layout.extend(variables.iter().rev().map(|&v| Word::Negated(v)));
                }
                Kind::Lex => layout.extend(variables.iter().map(|&v| Word::Plain(v))),
            }
        }
        Self {
            order: order.clone(),
            width: layout.len(),
            layout,
        }
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The words of a monomial; `None` when an exponent or a degree is too large.
    pub(crate) fn words(&self, monomial: &Monomial) -> Option<Words> {
        if monomial.total_degree() >= LARGEST as u32 {
            return None;
        }
        let mut words: Words = self
            .layout
            .iter()
            .map(|word| match word {
                Word::Degree => 0,
                Word::Negated(v) => -(monomial.exponent(*v) as i16),
                Word::Plain(v) => monomial.exponent(*v) as i16,
            })
            .collect();
        self.sum_degrees(&mut words);
        Some(words)
    }

    pub(crate) fn monomial(&self, words: &[i16]) -> Monomial {
        let mut monomial = Monomial::one();
        for (word, &value) in self.layout.iter().zip(words) {
            if let Word::Negated(v) | Word::Plain(v) = word
                && value != 0
            {
                monomial.set(*v, value.unsigned_abs());
            }
        }
        monomial
    }

    fn sum_degrees(&self, words: &mut [i16]) {
        let mut at = None;
        for k in 0..words.len() {
            match (self.layout[k], at) {
                (Word::Degree, _) => {
                    words[k] = 0;
                    at = Some(k);
                }
                (Word::Negated(_), Some(degree)) => words[degree] -= words[k],
                _ => at = None,
            }
        }
    }

    /// The least common multiple.
    pub(crate) fn lcm(&self, a: &[i16], b: &[i16]) -> Words {
        let larger = |(&a, &b): (&i16, &i16)| {
            if a.unsigned_abs() >= b.unsigned_abs() {
                a
            } else {
                b
            }
        };
        let mut words: Words = a.iter().zip(b).map(larger).collect();
        self.sum_degrees(&mut words);
        words
    }

    /// The total degree.
    pub(crate) fn degree(&self, words: &[i16]) -> u32 {
        let words = self.layout.iter().zip(words);
        words
            .filter(|(word, _)| **word != Word::Degree)
            .map(|(_, value)| u32::from(value.unsigned_abs()))
            .sum()
    }

    /// Bits that are set in a multiple wherever they are set in a divisor.
    pub(crate) fn mask(&self, words: &[i16]) -> u64 {
        let per_word = (64 / self.width.max(1)).clamp(1, 8);
        let mut mask = 0;
        for (k, &value) in words.iter().enumerate() {
            let exponent = usize::from(value.unsigned_abs());
            for bit in 0..per_word.min(exponent) {
                mask |= 1 << ((k * per_word + bit) % 64);
            }
        }
        mask
    }

    /// A polynomial as words and coefficients, highest first; `None` when a degree is too large.
    pub(crate) fn sorted<'a>(
        &self,
        f: &'a Polynomial,
    ) -> Option<Vec<(Words, &'a dashu_int::IBig)>> {
        let mut terms = Vec::with_capacity(f.n_terms());
        for (monomial, coefficient) in f.terms() {
            terms.push((self.words(monomial)?, coefficient));
        }
        terms.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        Some(terms)
    }
}

/// Whether a monomial divides another.
pub(crate) fn divides(a: &[i16], b: &[i16]) -> bool {
    a.iter()
        .zip(b)
        .all(|(a, b)| a.unsigned_abs() <= b.unsigned_abs())
}

/// Whether two monomials have no variable in common.
pub(crate) fn coprime(ring: &Ring, a: &[i16], b: &[i16]) -> bool {
    let words = ring.layout.iter().zip(a.iter().zip(b));
    words
        .filter(|(word, _)| **word != Word::Degree)
        .all(|(_, (&a, &b))| a == 0 || b == 0)
}

/// The product; `None` when a degree gets too large.
pub(crate) fn product(a: &[i16], b: &[i16]) -> Option<Words> {
    a.iter().zip(b).map(|(&a, &b)| a.checked_add(b)).collect()
}

/// The quotient by a divisor.
pub(crate) fn quotient(a: &[i16], b: &[i16]) -> Words {
    a.iter().zip(b).map(|(&a, &b)| a - b).collect()
}
