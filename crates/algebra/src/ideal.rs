//! Operations on ideals: sections 7 and 8 of `docs/theory/algebra.md`.

use crate::gcd::content;
use crate::groebner::{Basis, Budget, Certificate, Order, OutOfBudget, basis};
use crate::polynomial::Polynomial;
use dashu_int::IBig;

/// An ideal of polynomials over the rationals, given by generators.
///
/// ```
/// use daelight_algebra::{Budget, Ideal, Polynomial};
///
/// let [x, y] = [0, 1].map(Polynomial::variable);
/// let axes = Ideal::new(vec![&x * &y, &y * &y]);
/// let line = axes.saturation(&x, &Budget::default()).unwrap();
/// assert_eq!(line.generators(), [y]);
/// ```
#[derive(Clone, Debug)]
pub struct Ideal {
    generators: Vec<Polynomial>,
    /// Variables of the space that its points are in, beside those that occur.
    space: Vec<usize>,
    certificate: Certificate,
}

impl Ideal {
    /// The ideal of some polynomials.
    pub fn new(generators: Vec<Polynomial>) -> Self {
        let mut generators: Vec<Polynomial> = generators
            .iter()
            .filter(|f| !f.is_zero())
            .map(Polynomial::primitive_over_integers)
            .collect();
        generators.sort_unstable();
        generators.dedup();
        Self {
            generators,
            space: Vec::new(),
            certificate: Certificate::Exact,
        }
    }

    /// The same ideal, its points in a space that has these variables too: one that occurs in no generator, or in none that
    /// is left after a saturation, may have any value.
    pub fn in_space(mut self, variables: &[usize]) -> Self {
        self.space.extend(variables);
        self.space.sort_unstable();
        self.space.dedup();
        self
    }

    /// The same, known only as well as what it was made from.
    fn made_from(mut self, certificate: Certificate) -> Self {
        self.certificate = self.certificate.and(certificate);
        self
    }

    /// What is known about the bases that the generators come from; exact for an ideal that was given.
    pub fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// Its generators, primitive over Z.
    pub fn generators(&self) -> &[Polynomial] {
        &self.generators
    }

    /// The variables that occur and those of the space, ascending.
    pub fn variables(&self) -> Vec<usize> {
        let occurring = self.generators.iter().flat_map(Polynomial::variables);
        let mut variables: Vec<usize> = occurring.chain(self.space.iter().copied()).collect();
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// The basis in degrevlex order of its variables.
    pub fn basis(&self, budget: &Budget) -> Result<Basis, OutOfBudget> {
        self.basis_in(&Order::degrevlex(self.variables()), budget)
    }

    /// The basis in some order.
    pub fn basis_in(&self, order: &Order, budget: &Budget) -> Result<Basis, OutOfBudget> {
        Ok(basis(&self.generators, order, budget)?.made_from(self.certificate))
    }

    /// The ideal that both generate together: the common points.
    pub fn sum(&self, other: &Self) -> Self {
        Self::new([self.generators(), other.generators()].concat())
            .in_space(&self.space)
            .in_space(&other.space)
            .made_from(self.certificate)
            .made_from(other.certificate)
    }

    /// The ideal with one more generator.
    pub fn with(&self, f: &Polynomial) -> Self {
        self.sum(&Self::new(vec![f.clone()]))
    }

    /// The polynomials of the ideal without some variables: the closure of a projection.
    pub fn elimination(&self, variables: &[usize], budget: &Budget) -> Result<Self, OutOfBudget> {
        let (gone, kept): (Vec<usize>, Vec<usize>) = self
            .variables()
            .into_iter()
            .partition(|variable| variables.contains(variable));
        let order = Order::degrevlex(gone).product(Order::degrevlex(kept));
        let found = self.basis_in(&order, budget)?;
        let kept = found.elements().iter().filter(|f| {
            let mut present = f.variables().into_iter();
            present.all(|variable| !variables.contains(&variable))
        });
        let mut space = self.space.clone();
        space.retain(|variable| !variables.contains(variable));
        Ok(Self::new(kept.cloned().collect())
            .in_space(&space)
            .made_from(found.certificate()))
    }

    /// The polynomials that some power of `f` brings into the ideal: the closure of the points where `f` is not zero.
    pub fn saturation(&self, f: &Polynomial, budget: &Budget) -> Result<Self, OutOfBudget> {
        let (extended, inverse) = self.with_inverse(f);
        extended.elimination(&[inverse], budget)
    }

    /// The saturation by several polynomials, one after the other.
    pub fn saturation_by_all(
        &self,
        factors: &[Polynomial],
        budget: &Budget,
    ) -> Result<Self, OutOfBudget> {
        let mut result = self.clone();
        for f in factors {
            result = result.saturation(f, budget)?;
        }
        Ok(result)
    }

    /// The ideal with 1 - t f for a new variable t, and that variable.
    fn with_inverse(&self, f: &Polynomial) -> (Self, usize) {
        let inverse = self.new_variable(f);
        let product = &Polynomial::variable(inverse) * f;
        (self.with(&(&Polynomial::one() - &product)), inverse)
    }

    /// A variable that occurs neither here nor in another polynomial.
    fn new_variable(&self, f: &Polynomial) -> usize {
        let variables = self.variables().into_iter().chain(f.variables());
        variables.max().map_or(0, |variable| variable + 1)
    }

    /// The polynomials common to both: the union of the points.
    pub fn intersection(&self, other: &Self, budget: &Budget) -> Result<Self, OutOfBudget> {
        let last = [self.variables(), other.variables()]
            .concat()
            .into_iter()
            .max();
        let switch = last.map_or(0, |variable| variable + 1);
        let on = Polynomial::variable(switch);
        let off = &Polynomial::one() - &on;
        let mut generators: Vec<Polynomial> = self.generators.iter().map(|f| f * &on).collect();
        generators.extend(other.generators.iter().map(|f| f * &off));
        Self::new(generators)
            .in_space(&self.space)
            .in_space(&other.space)
            .made_from(self.certificate)
            .made_from(other.certificate)
            .elimination(&[switch], budget)
    }

    /// The polynomials that `f` brings into the ideal.
    pub fn quotient(&self, f: &Polynomial, budget: &Budget) -> Result<Self, OutOfBudget> {
        if f.is_zero() {
            return Ok(Self::new(vec![Polynomial::one()]));
        }
        let common = self.intersection(&Self::new(vec![f.clone()]), budget)?;
        let primitive = f.primitive_over_integers();
        let quotients = common.generators.iter().map(|g| {
            g.divide_exactly(&primitive)
                .expect("elements of the intersection are multiples")
        });
        Ok(Self::new(quotients.collect())
            .in_space(&self.space)
            .made_from(common.certificate))
    }

    /// Whether some power of a polynomial lies in the ideal: whether it vanishes at all points.
    pub fn radical_contains(&self, f: &Polynomial, budget: &Budget) -> Result<bool, OutOfBudget> {
        Ok(self.with_inverse(f).0.basis(budget)?.is_unit())
    }

    /// Whether both are the same ideal.
    pub fn equals(&self, other: &Self, budget: &Budget) -> Result<bool, OutOfBudget> {
        Ok(self.basis(budget)?.contains_all(&other.generators)
            && other.basis(budget)?.contains_all(&self.generators))
    }

    /// The dimension over the complex numbers in the space of the given variables; none if there are no points.
    pub fn dimension(
        &self,
        variables: &[usize],
        budget: &Budget,
    ) -> Result<Option<usize>, OutOfBudget> {
        let order = Order::degrevlex(variables.iter().copied());
        Ok(self.basis_in(&order, budget)?.dimension())
    }

    /// The degree: (8) of `docs/theory/algebra.md`; none if there are no points.
    pub fn degree(&self, budget: &Budget) -> Result<Option<IBig>, OutOfBudget> {
        Ok(self.basis(budget)?.degree())
    }

    /// Generators of the ideal in the remaining variables over the field of rational functions of some parameters: what
    /// holds for general values of these. None of them has a factor in the parameters alone.
    ///
    /// They form a minimal basis in degrevlex order of the blocks `higher`, then all others.
    pub fn over_parameters(
        &self,
        parameters: &[usize],
        higher: &[usize],
        budget: &Budget,
    ) -> Result<Vec<Polynomial>, OutOfBudget> {
        let is_lower = |v: &usize| !higher.contains(v) && !parameters.contains(v);
        let lower: Vec<usize> = self.variables().into_iter().filter(is_lower).collect();
        let order = Order::degrevlex(higher.iter().copied())
            .product(Order::degrevlex(lower))
            .product(Order::degrevlex(parameters.iter().copied()));
        let found = self.basis_in(&order, budget)?;
        let without_parameters = |monomial: &crate::Monomial| {
            parameters
                .iter()
                .fold(monomial.clone(), |rest, &v| rest.without(v))
        };
        let leads: Vec<crate::Monomial> = found
            .leading_monomials()
            .iter()
            .map(without_parameters)
            .collect();
        let is_needed = |at: usize| {
            (0..leads.len()).all(|other| {
                let smaller = leads[at].over(&leads[other]).is_some();
                other == at || !smaller || (leads[at] == leads[other] && at < other)
            })
        };
        let needed = (0..leads.len()).filter(|&at| is_needed(at));
        let variables = self.variables();
        Ok(needed
            .map(|at| {
                let others = variables.iter().filter(|v| !parameters.contains(v));
                // The content with respect to all other variables is a polynomial in the parameters.
                let f = &found.elements()[at];
                let common = others.fold(f.clone(), |common, &v| content(&common, v));
                f.divide_exactly(&common).expect("a content divides")
            })
            .collect())
    }
}
