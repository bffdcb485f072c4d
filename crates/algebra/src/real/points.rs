//! Points whose coordinates are rational functions of a root.

use super::enclosure::Enclosure;
use super::univariate::{Root, Univariate};
use crate::Polynomial;
use dashu_int::IBig;
use std::cmp::Ordering;
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
    pub fn real_points(self) -> Vec<RealPoint> {
        let roots = self.minimal.real_roots();
        let shared = Arc::new(self);
        roots
            .into_iter()
            .map(|root| RealPoint {
                multiplicity: (shared.parts.iter())
                    .find(|(part, _)| root.is_root_of(part))
                    .map_or(1, |(_, multiplicity)| *multiplicity),
                representation: Arc::clone(&shared),
                root,
            })
            .collect()
    }
}

/// A real zero that is known exactly: enclosures of any width, and signs of polynomials that are certain.
#[derive(Clone, Debug)]
pub struct RealPoint {
    representation: Arc<Representation>,
    root: Root,
    multiplicity: u32,
}

/// Bits with which the sign of a polynomial is tried before the exact decision.
const SIGN_BITS: [usize; 2] = [64, 256];

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
    pub fn coordinates(&mut self, bits: usize) -> Vec<Enclosure> {
        let mut work = 2 * bits + 64;
        loop {
            self.root.refine(&self.representation.minimal, work);
            let coordinates = self.enclosures(work);
            if let Some(coordinates) =
                coordinates.filter(|all| all.iter().all(|x| x.is_within(bits)))
            {
                return coordinates;
            }
            work *= 2;
        }
    }

    /// Enclosures of the coordinates; `None` if the interval of the root is still too wide for the division.
    fn enclosures(&self, bits: usize) -> Option<Vec<Enclosure>> {
        let root = self.root.enclosure(bits);
        let denominator = self.representation.denominator.enclose(&root);
        let numerators = self.representation.numerators.iter();
        numerators
            .map(|numerator| numerator.enclose(&root).over(&denominator))
            .collect()
    }

    /// The sign of a polynomial in the variables of the point, decided exactly.
    pub fn sign(&mut self, polynomial: &Polynomial) -> Ordering {
        for bits in SIGN_BITS {
            let coordinates = self.coordinates(bits);
            let value = self.evaluate(polynomial, &coordinates);
            if let Some(sign) = value.sign().filter(|&sign| sign != Ordering::Equal) {
                return sign;
            }
        }
        if self.is_zero_of(polynomial) {
            return Ordering::Equal;
        }
        let mut bits = 2 * SIGN_BITS[SIGN_BITS.len() - 1];
        loop {
            let coordinates = self.coordinates(bits);
            let value = self.evaluate(polynomial, &coordinates);
            if let Some(sign) = value.sign().filter(|&sign| sign != Ordering::Equal) {
                return sign;
            }
            bits *= 2;
        }
    }

    /// Whether a polynomial vanishes at the point: its numerator as a polynomial of the root shares that root, (7) of
    /// `docs/theory/real-points.md`.
    pub fn is_zero_of(&self, polynomial: &Polynomial) -> bool {
        let data = &*self.representation;
        let total = polynomial.total_degree();
        let product = |a: &Univariate, b: &Univariate| a.times(b).remainder_by_monic(&data.minimal);
        let mut sum = Univariate::default();
        for (monomial, coefficient) in polynomial.terms() {
            let mut term = Univariate::new(vec![coefficient.clone()]);
            for (&variable, numerator) in data.variables.iter().zip(&data.numerators) {
                for _ in 0..monomial.exponent(variable) {
                    term = product(&term, numerator);
                }
            }
            for _ in monomial.total_degree()..total {
                term = product(&term, &data.denominator);
            }
            sum = sum.plus(&term);
        }
        sum.is_zero() || self.root.is_root_of(&sum.gcd(&data.minimal))
    }

    /// The enclosure of a polynomial's value.
    fn evaluate(&self, polynomial: &Polynomial, coordinates: &[Enclosure]) -> Enclosure {
        let bits = coordinates.first().map_or(64, Enclosure::bits);
        let mut sum = Enclosure::whole(&IBig::ZERO, bits);
        for (monomial, coefficient) in polynomial.terms() {
            let mut term = Enclosure::whole(coefficient, bits);
            for (&variable, value) in self.representation.variables.iter().zip(coordinates) {
                for _ in 0..monomial.exponent(variable) {
                    term = term.times(value);
                }
            }
            sum = sum.plus(&term);
        }
        sum
    }
}
