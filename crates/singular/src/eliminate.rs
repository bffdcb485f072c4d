//! Conditions on parameters: unit vectors eliminated from the loops that carry force, section 7 of
//! `docs/theory/configurations.md`.

use crate::ring::{Ring, VariableKind};
use daelight_algebra::{FactorBudget, IBig, Monomial, Polynomial, factor, gcd, resultant};
use std::collections::BTreeMap;

/// Conditions under which equations have a common solution over the complex numbers: all of the list vanish.
pub(crate) type Conditions = Vec<Polynomial>;

/// Why the conditions are not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecided {
    /// More branches than allowed.
    Branches,
    /// A polynomial grew beyond the limit.
    Terms,
    /// The equations are of a kind that needs a general elimination.
    Shape,
    /// Minors or other conditions than alignments belong to the case.
    Minors,
    /// The time is over.
    Time,
}

impl Undecided {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Branches => "too many branches",
            Self::Terms => "the polynomials become too large",
            Self::Shape => "the unit vectors are not eliminated by circles and lines",
            Self::Minors => "it has conditions beyond alignments",
            Self::Time => "the time budget was reached",
        }
    }
}

const MOST_BRANCHES: usize = 300;
const MOST_TERMS: usize = 3_000;

/// Eliminates unit vectors from equations.
pub(crate) struct Elimination<'a> {
    pub ring: &'a Ring,
    /// Pairs of variables on the unit circle.
    pub circles: Vec<[usize; 2]>,
    /// Variables that are not 0: lengths.
    pub nonzero: Vec<usize>,
    /// Factors that were divided by and whose zeros were not followed.
    pub exceptional: Vec<Polynomial>,
    n_branches: usize,
}

/// Equations of a branch, with what was found.
#[derive(Clone)]
struct Branch {
    equations: Vec<Polynomial>,
    /// Circles whose vectors are still unknown.
    circles: Vec<[usize; 2]>,
    conditions: Conditions,
    /// Factors that were divided by: not 0 in this branch.
    divisors: Vec<Polynomial>,
}

impl<'a> Elimination<'a> {
    pub fn new(ring: &'a Ring, circles: Vec<[usize; 2]>, nonzero: Vec<usize>) -> Self {
        Self {
            ring,
            circles,
            nonzero,
            exceptional: Vec::new(),
            n_branches: 0,
        }
    }

    /// The conditions, one list for each branch in which the equations can be solved.
    pub fn conditions(
        &mut self,
        equations: &[Polynomial],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<Conditions>, Undecided> {
        let start = Branch {
            equations: equations.to_vec(),
            circles: self.circles.clone(),
            conditions: Vec::new(),
            divisors: Vec::new(),
        };
        let mut found: Vec<Conditions> = Vec::new();
        let mut open = vec![start];
        while let Some(branch) = open.pop() {
            self.n_branches += 1;
            if self.n_branches > MOST_BRANCHES {
                return Err(Undecided::Branches);
            }
            if is_over() {
                return Err(Undecided::Time);
            }
            match self.step(branch)? {
                Step::Impossible => {}
                Step::Solved(conditions) => {
                    if !found.contains(&conditions) {
                        found.push(conditions);
                    }
                }
                Step::Branches(branches) => open.extend(branches),
            }
        }
        Ok(found)
    }

    fn step(&mut self, mut branch: Branch) -> Result<Step, Undecided> {
        let mut equations: Vec<Polynomial> = Vec::new();
        for equation in std::mem::take(&mut branch.equations) {
            let equation = self.normal(&equation, &branch);
            if equation.is_zero() || equations.contains(&equation) {
                continue;
            }
            if equation.n_terms() > MOST_TERMS {
                return Err(Undecided::Terms);
            }
            if equation.is_constant() {
                return Ok(Step::Impossible);
            }
            equations.push(equation);
        }
        branch.equations = equations;
        // Factors without unknowns: the branches where they vanish, and the one where none does.
        for at in 0..branch.equations.len() {
            let equation = branch.equations[at].clone();
            let content = self.content(&equation);
            if content.is_constant() {
                continue;
            }
            let rest = equation
                .divide_exactly(&content)
                .expect("a content divides");
            let mut branches = self.vanishing(&branch, &content, Some(at));
            if !rest.is_constant() {
                let mut other = branch.clone();
                other.equations[at] = rest;
                branches.push(other);
            }
            return Ok(Step::Branches(branches));
        }
        if branch.equations.is_empty() {
            branch.conditions.sort();
            branch.conditions.dedup();
            return Ok(Step::Solved(branch.conditions));
        }
        if let Some((at, variable)) = self.linear(&branch) {
            return Ok(Step::Branches(self.solve(&branch, at, variable)));
        }
        if let Some(next) = self.without_highest_part(&branch) {
            return Ok(Step::Branches(vec![next]));
        }
        self.last(&branch)
    }

    /// The equation modulo the circles, without numbers and lengths that divide it.
    fn normal(&self, equation: &Polynomial, branch: &Branch) -> Polynomial {
        let mut p = self.ring.reduce(equation);
        for &[cosine, sine] in &branch.circles {
            if p.degree(sine) < 2 {
                continue;
            }
            let square = &Polynomial::one() - &Polynomial::variable(cosine).pow(2);
            let mut parts = [Polynomial::zero(), Polynomial::zero()];
            let mut power = Polynomial::one();
            for pair in p.coefficients(sine).chunks(2) {
                for (part, coefficient) in parts.iter_mut().zip(pair) {
                    *part = &*part + &(coefficient * &power);
                }
                power = &power * &square;
            }
            p = Polynomial::from_coefficients(sine, &parts);
        }
        let mut monomial = Monomial::one();
        let common = p.common_monomial();
        for &variable in &self.nonzero {
            monomial.set(variable, common.exponent(variable));
        }
        let length = Polynomial::term(monomial, IBig::ONE);
        let mut p = p.divide_exactly(&length).unwrap_or(p);
        if p.is_zero() {
            return p;
        }
        for divisor in &branch.divisors {
            while let Some(quotient) = p.divide_exactly(divisor) {
                p = quotient;
            }
        }
        p.primitive_over_integers()
    }

    fn is_unknown(&self, variable: usize) -> bool {
        self.ring.is_unknown(variable)
    }

    /// The greatest common divisor of the coefficients of the products of unknowns.
    fn content(&self, p: &Polynomial) -> Polynomial {
        let mut parts: BTreeMap<Monomial, Vec<_>> = BTreeMap::new();
        for (monomial, number) in p.terms() {
            let mut rest = monomial.clone();
            let mut unknowns = Monomial::one();
            for (variable, &exponent) in monomial.exponents().iter().enumerate() {
                if exponent > 0 && self.is_unknown(variable) {
                    unknowns.set(variable, exponent);
                    rest.set(variable, 0);
                }
            }
            parts
                .entry(unknowns)
                .or_default()
                .push((rest, number.clone()));
        }
        let mut content = Polynomial::zero();
        for terms in parts.into_values() {
            content = gcd(&content, &Polynomial::from_terms(terms));
            if content.is_one() {
                break;
            }
        }
        content.primitive_over_integers()
    }

    /// The branches where a polynomial without unknowns vanishes: one for each factor.
    ///
    /// With `without` the polynomial divides that equation, which then holds. Otherwise a factor that cannot be put in is
    /// noted as exceptional and not followed.
    fn vanishing(
        &mut self,
        branch: &Branch,
        p: &Polynomial,
        without: Option<usize>,
    ) -> Vec<Branch> {
        let mut branches = Vec::new();
        for found in factor(p, &FactorBudget::default()).factors {
            let condition = found.polynomial;
            if self.cannot_vanish(&condition) || branch.divisors.contains(&condition) {
                continue;
            }
            let mut next = branch.clone();
            if let Some(at) = without {
                next.equations.remove(at);
            }
            // A condition that is linear in a symbol is put in; others are only noted.
            let symbol = condition.variables().into_iter().rev().find(|&variable| {
                condition.degree(variable) == 1
                    && condition.coefficient(variable, 1).is_constant()
                    && self.ring.square(variable).is_none()
            });
            if let Some(symbol) = symbol {
                let lead = condition.coefficient(symbol, 1);
                let rest = -&condition.coefficient(symbol, 0);
                let Branch {
                    equations,
                    conditions,
                    divisors,
                    ..
                } = &mut next;
                for p in equations.iter_mut().chain(conditions).chain(divisors) {
                    *p = self.ring.reduce(&substituted(p, symbol, &rest, &lead));
                }
                next.conditions.retain(|p| !p.is_zero());
                let is_false = next.conditions.iter().any(Polynomial::is_constant);
                if is_false || next.divisors.iter().any(Polynomial::is_zero) {
                    continue;
                }
                next.divisors.retain(|p| !p.is_constant());
            } else if without.is_none() {
                if !self.exceptional.contains(&condition) {
                    self.exceptional.push(condition);
                }
                continue;
            }
            next.conditions.push(condition);
            branches.push(next);
        }
        branches
    }

    /// Whether a polynomial is a product of lengths and numbers.
    fn cannot_vanish(&self, p: &Polynomial) -> bool {
        p.n_terms() == 1 && p.variables().iter().all(|v| self.nonzero.contains(v))
    }

    /// An equation that is linear in an unknown with a factor without unknowns, the simplest one.
    fn linear(&self, branch: &Branch) -> Option<(usize, usize)> {
        let mut best: Option<((bool, usize), usize, usize)> = None;
        for (at, equation) in branch.equations.iter().enumerate() {
            for variable in equation.variables() {
                if !self.is_unknown(variable) || equation.degree(variable) != 1 {
                    continue;
                }
                let lead = equation.coefficient(variable, 1);
                if !self.ring.is_known(&lead) {
                    continue;
                }
                let cost = (
                    !self.cannot_vanish(&lead),
                    lead.n_terms() * equation.n_terms(),
                );
                if best.is_none_or(|(known, ..)| cost < known) {
                    best = Some((cost, at, variable));
                }
            }
        }
        best.map(|(_, at, variable)| (at, variable))
    }

    /// Puts the solution of a linear equation into the others; beside it the branches where its factor vanishes.
    fn solve(&mut self, branch: &Branch, at: usize, variable: usize) -> Vec<Branch> {
        let equation = &branch.equations[at];
        let lead = equation.coefficient(variable, 1);
        let rest = -&equation.coefficient(variable, 0);
        let mut branches = if self.cannot_vanish(&lead) {
            Vec::new()
        } else {
            self.vanishing(branch, &lead, None)
        };
        let mut next = branch.clone();
        next.equations.remove(at);
        self.divide(&mut next, &lead);
        // A circle that loses one of its unknowns is an equation from now on.
        let (gone, left): (Vec<_>, Vec<_>) = next
            .circles
            .iter()
            .partition(|circle| circle.contains(&variable));
        next.circles = left;
        for [cosine, sine] in gone {
            let [c, s] = [cosine, sine].map(|v| Polynomial::variable(v).pow(2));
            next.equations.push(&(&c + &s) - &Polynomial::one());
        }
        for equation in &mut next.equations {
            *equation = substituted(equation, variable, &rest, &lead);
        }
        branches.push(next);
        branches
    }

    /// Two equations whose parts of highest degree in the unknowns are proportional, one replaced by their combination.
    fn without_highest_part(&self, branch: &Branch) -> Option<Branch> {
        let degree = |m: &Monomial| -> u32 {
            let exponents = m.exponents().iter().enumerate();
            exponents
                .filter(|(v, _)| self.is_unknown(*v))
                .map(|(_, &e)| u32::from(e))
                .sum()
        };
        let highest = |p: &Polynomial| p.terms().iter().map(|(m, _)| degree(m)).max().unwrap_or(0);
        let top = |p: &Polynomial| {
            let most = highest(p);
            let terms = p.terms().iter().filter(|(m, _)| degree(m) == most);
            Polynomial::from_terms(terms.cloned())
        };
        for (a, first) in branch.equations.iter().enumerate() {
            for (b, second) in branch.equations.iter().enumerate().skip(a + 1) {
                if highest(first) != highest(second) {
                    continue;
                }
                let (p, q) = (top(first), top(second));
                let common = gcd(&p, &q);
                let (p, q) = (p.divide_exactly(&common)?, q.divide_exactly(&common)?);
                if !self.ring.is_known(&q) || !self.cannot_vanish(&p) {
                    continue;
                }
                let mut next = branch.clone();
                next.equations[b] = &(second * &p) - &(first * &q);
                return Some(next);
            }
        }
        None
    }

    /// What is left when no unknown can be solved for.
    fn last(&mut self, branch: &Branch) -> Result<Step, Undecided> {
        let mut unknowns: Vec<usize> = branch
            .equations
            .iter()
            .flat_map(|p| p.variables())
            .filter(|&v| self.is_unknown(v))
            .collect();
        unknowns.sort_unstable();
        unknowns.dedup();
        for &variable in &unknowns {
            let holders: Vec<usize> = (0..branch.equations.len())
                .filter(|&at| branch.equations[at].degree(variable) > 0)
                .collect();
            let leads: Vec<Polynomial> = holders
                .iter()
                .map(|&at| branch.equations[at].leading_coefficient(variable))
                .collect();
            let Some(lead) = leads.iter().find(|lead| self.ring.is_known(lead)) else {
                continue;
            };
            let mut next = branch.clone();
            match holders.as_slice() {
                // One equation alone can be solved for it, whatever the rest.
                [at] => {
                    next.equations.remove(*at);
                }
                // Two have a common solution where their resultant vanishes, as a highest coefficient does not.
                [a, b] => {
                    let [first, second] = [a, b].map(|&at| branch.equations[at].clone());
                    next.equations[*a] = resultant(&first, &second, variable);
                    next.equations.remove(*b);
                    if next.equations[*a].is_zero() {
                        continue;
                    }
                }
                _ => continue,
            }
            let mut branches = if self.cannot_vanish(lead) {
                Vec::new()
            } else {
                self.vanishing(branch, lead, None)
            };
            self.divide(&mut next, lead);
            branches.push(next);
            return Ok(Step::Branches(branches));
        }
        Err(Undecided::Shape)
    }

    /// Notes what is not 0 in a branch.
    fn divide(&self, branch: &mut Branch, lead: &Polynomial) {
        for found in factor(lead, &FactorBudget::default()).factors {
            let divisor = found.polynomial;
            if !self.cannot_vanish(&divisor) && !branch.divisors.contains(&divisor) {
                branch.divisors.push(divisor);
            }
        }
    }
}

enum Step {
    /// No solution in this branch.
    Impossible,
    Solved(Conditions),
    Branches(Vec<Branch>),
}

/// The numerator of a polynomial with a quotient for a variable.
pub(crate) fn substituted(
    p: &Polynomial,
    variable: usize,
    top: &Polynomial,
    bottom: &Polynomial,
) -> Polynomial {
    let coefficients = p.coefficients(variable);
    let mut result = Polynomial::zero();
    let mut scale = Polynomial::one();
    for coefficient in coefficients.iter().rev() {
        result = &(&result * top) + &(coefficient * &scale);
        scale = &scale * bottom;
    }
    result
}

/// The parameters that are lengths: kept, positive in the model, and a factor of a unit vector in some constraint.
pub(crate) fn lengths(mechanism: &crate::mechanism::Mechanism) -> Vec<usize> {
    let bodies = mechanism
        .columns
        .iter()
        .filter(|column| column.body.is_some());
    let mut found: Vec<usize> = bodies
        .flat_map(|column| column.forms.iter().flatten())
        .filter(|p| p.n_terms() == 1)
        .flat_map(|p| p.variables())
        .filter(|&v| {
            let variable = &mechanism.ring.variables()[v];
            matches!(variable.meaning, VariableKind::Parameter(_))
                && variable.value.is_some_and(|value| value > 0.0)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
