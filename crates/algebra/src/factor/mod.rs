//! Factorisation over the rationals.

mod lift;
mod multivariate;
mod univariate;

use crate::gcd::{content, gcd};
use crate::polynomial::Polynomial;
use crate::random::Random;
use dashu_int::IBig;
use lift::Work;
use std::cell::RefCell;
use std::time::Instant;

/// How much work a factorisation may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FactorBudget {
    /// Subsets of modular factors that are tried in one variable.
    pub subsets: usize,
    /// Points at which the other variables are evaluated.
    pub points: usize,
    /// Terms of a polynomial above which it is left as it is.
    pub terms: usize,
    /// Degree in a variable above which a polynomial is left as it is.
    pub degree: u16,
    /// Products of terms that lifting to several variables may take.
    pub products: usize,
    /// When it has to end: factors that were not looked at by then are left as they are.
    pub deadline: Option<Instant>,
}

impl FactorBudget {
    /// The default, up to a deadline.
    pub fn until(deadline: Option<Instant>) -> Self {
        Self {
            deadline,
            ..Self::default()
        }
    }

    fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Default for FactorBudget {
    fn default() -> Self {
        Self {
            subsets: 100_000,
            points: 40,
            terms: 20_000,
            degree: 200,
            products: 20_000_000,
            deadline: None,
        }
    }
}

/// A factor with its multiplicity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factor {
    /// Primitive over Z, leading coefficient positive, not constant.
    pub polynomial: Polynomial,
    /// How often it divides.
    pub multiplicity: u32,
    /// Whether it is proved to be irreducible; otherwise the budget ended first.
    pub is_proved: bool,
}

/// A number times powers of different factors, in ascending order of degree and then of size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factorization {
    /// The constant factor.
    pub unit: IBig,
    /// The factors.
    pub factors: Vec<Factor>,
}

impl Factorization {
    /// Whether every factor is proved to be irreducible.
    pub fn is_proved(&self) -> bool {
        self.factors.iter().all(|factor| factor.is_proved)
    }

    /// The product of everything.
    pub fn product(&self) -> Polynomial {
        let unit = Polynomial::constant(self.unit.clone());
        self.factors.iter().fold(unit, |product, factor| {
            &product * &factor.polynomial.pow(factor.multiplicity)
        })
    }

    fn push(&mut self, polynomial: Polynomial, multiplicity: u32, is_proved: bool) {
        let known = self.factors.iter_mut().find(|f| f.polynomial == polynomial);
        match known {
            Some(factor) => factor.multiplicity += multiplicity,
            None => self.factors.push(Factor {
                polynomial,
                multiplicity,
                is_proved,
            }),
        }
    }

    fn sort(&mut self) {
        let key = |f: &Factor| (f.polynomial.total_degree(), f.polynomial.n_terms());
        self.factors.sort_by(|a, b| {
            key(a)
                .cmp(&key(b))
                .then_with(|| a.polynomial.cmp(&b.polynomial))
        });
    }
}

/// The factors of a polynomial over Q. The polynomial 0 is the unit 0.
///
/// The product of the result is always the polynomial. A factor without a proof may be reducible.
pub fn factor(f: &Polynomial, budget: &FactorBudget) -> Factorization {
    factor_within(f, &Search::new(f, budget))
}

/// The budget of one factorisation, what is left of it, and its random numbers.
struct Search<'a> {
    budget: &'a FactorBudget,
    work: Work,
    random: RefCell<Random>,
}

impl<'a> Search<'a> {
    fn new(f: &Polynomial, budget: &'a FactorBudget) -> Self {
        Self {
            budget,
            work: Work::new(budget.products, budget.deadline),
            random: RefCell::new(Random::new(f.n_terms() as u64)),
        }
    }
}

fn factor_within(f: &Polynomial, search: &Search) -> Factorization {
    let (mut result, rest) = without_numbers_and_monomials(f);
    if rest.n_terms() > search.budget.terms || search.budget.is_over() {
        result.push(rest, 1, false);
        return result;
    }
    squarefree_parts(&rest, &mut result);
    for part in std::mem::take(&mut result.factors) {
        for (polynomial, is_proved) in factor_squarefree(&part.polynomial, search) {
            result.push(polynomial, part.multiplicity, is_proved);
        }
    }
    result.sort();
    debug_assert_eq!(result.product(), *f);
    result
}

/// Squarefree factors that are pairwise coprime, with their multiplicities; none is claimed to be irreducible,
/// except variables.
pub fn squarefree(f: &Polynomial) -> Factorization {
    let (mut result, rest) = without_numbers_and_monomials(f);
    squarefree_parts(&rest, &mut result);
    result.sort();
    result
}

/// The common number and the variables that divide all terms, and the rest; 1 for the rest of 0.
fn without_numbers_and_monomials(f: &Polynomial) -> (Factorization, Polynomial) {
    let mut result = Factorization {
        unit: f.integer_content(),
        factors: Vec::new(),
    };
    if f.is_zero() {
        return (result, Polynomial::one());
    }
    let monomial = f.common_monomial();
    for (variable, &exponent) in monomial.exponents().iter().enumerate() {
        if exponent > 0 {
            result.push(Polynomial::variable(variable), exponent.into(), true);
        }
    }
    let rest = f
        .primitive_over_integers()
        .divide_exactly(&Polynomial::term(monomial, IBig::ONE))
        .expect("the common monomial divides");
    (result, rest)
}

/// Yun's algorithm with respect to one variable, the content by recursion: (5) of `docs/theory/locus.md`.
fn squarefree_parts(f: &Polynomial, result: &mut Factorization) {
    let smallest = f.variables().into_iter().min_by_key(|&v| f.degree(v));
    let Some(x) = smallest else {
        return;
    };
    let contents = content(f, x);
    squarefree_parts(&contents, result);
    let f = quotient(f, &contents);
    let slope = f.derivative(x);
    let mut common = gcd(&f, &slope);
    if common.is_constant() {
        result.push(f, 1, false);
        return;
    }
    let mut rest = quotient(&f, &common);
    let mut multiplicity = 1;
    // Invariant: `rest` is the product of all factors of multiplicity ≥ `multiplicity`.
    while !rest.is_constant() {
        let higher = gcd(&rest, &common);
        let part = quotient(&rest, &higher);
        if !part.is_constant() {
            result.push(part.primitive_over_integers(), multiplicity, false);
        }
        common = quotient(&common, &higher);
        rest = higher;
        multiplicity += 1;
    }
}

fn quotient(a: &Polynomial, b: &Polynomial) -> Polynomial {
    a.divide_exactly(b).expect("a divisor divides")
}

/// The factors of a squarefree primitive polynomial, each with whether it is proved to be irreducible.
fn factor_squarefree(f: &Polynomial, search: &Search) -> Vec<(Polynomial, bool)> {
    let mut done = Vec::new();
    let mut open = vec![f.clone()];
    while let Some(f) = open.pop() {
        let variables = f.variables();
        // A variable that occurs linearly: the content is a factor, the rest is irreducible, (6).
        if let Some(&x) = variables.iter().find(|&&v| f.degree(v) == 1) {
            let contents = content(&f, x);
            if contents.is_constant() {
                done.push((f, true));
            } else {
                open.push(quotient(&f, &contents));
                open.push(contents);
            }
            continue;
        }
        let too_large = variables
            .iter()
            .any(|&v| f.degree(v) > search.budget.degree);
        match variables.as_slice() {
            _ if too_large || search.budget.is_over() => done.push((f, false)),
            [] => {}
            [x] => done.extend(univariate::factor(&f, *x, search)),
            _ => {
                let contents = variables.iter().map(|&v| content(&f, v));
                if let Some(part) = contents.into_iter().find(|c| !c.is_constant()) {
                    open.push(quotient(&f, &part));
                    open.push(part);
                    continue;
                }
                match multivariate::split(&f, search) {
                    multivariate::Split::Irreducible => done.push((f, true)),
                    multivariate::Split::Unknown => done.push((f, false)),
                    multivariate::Split::Irreducibles(parts) => {
                        done.extend(parts.into_iter().map(|part| (part, true)));
                    }
                    multivariate::Split::Parts(parts) => open.extend(parts),
                }
            }
        }
    }
    done
}
