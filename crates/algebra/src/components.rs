//! Components: the minimal primes over an ideal, by splitting. Section 9 of `docs/theory/algebra.md`.

use crate::factor::{Factor, FactorBudget, factor};
use crate::groebner::{Basis, Budget, Certificate, Order, OutOfBudget, basis, unchecked_basis};
use crate::ideal::Ideal;
use crate::polynomial::Polynomial;
use crate::random::Random;
use crate::signs;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Instant;

/// What is known of the points that are of interest.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Assumptions {
    /// Variables whose values are positive numbers; all values are then real.
    pub positive: Vec<usize>,
    /// Polynomials that are not zero.
    pub nonzero: Vec<Polynomial>,
}

/// Whether a component is irreducible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Primality {
    /// Its ideal is prime: the component is irreducible over the rationals.
    Proved,
    /// Not decided; the component may consist of several.
    Open,
}

/// A part of the set of points of an ideal.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its ideal, as a basis in degrevlex order.
    pub basis: Basis,
    /// Whether it is known to be irreducible.
    pub primality: Primality,
}

impl Component {
    /// The elements of the basis in an order that reads well: by degree and length, then by variables.
    pub fn generators(&self) -> Vec<Polynomial> {
        let elements = self.basis.elements().iter();
        let mut generators: Vec<Polynomial> =
            elements.map(Polynomial::primitive_over_integers).collect();
        generators.sort_by(|f, g| {
            let size = |f: &Polynomial| (f.total_degree(), f.n_terms());
            size(f).cmp(&size(g)).then_with(|| g.cmp(f))
        });
        generators
    }
}

/// The components found.
#[derive(Clone, Debug)]
pub struct Components {
    /// None contains another. Together with what is undecided they have the points of the ideal that satisfy the
    /// assumptions.
    pub components: Vec<Component>,
    /// Generators of parts that a limit kept from being looked at.
    pub undecided: Vec<Ideal>,
    /// The limit that was reached first.
    pub limit: Option<OutOfBudget>,
    /// The weakest of all bases that were used, those of parts without points included.
    pub certificate: Certificate,
}

impl Components {
    /// Whether all components are found and irreducible.
    pub fn is_complete(&self) -> bool {
        self.undecided.is_empty()
            && self
                .components
                .iter()
                .all(|c| c.primality == Primality::Proved)
    }
}

/// More branches than this are not looked at.
const MOST_BRANCHES: usize = 20_000;

/// A part of the set that is still to be split.
struct Branch {
    generators: Vec<Polynomial>,
    /// Polynomials that vanish only on parts that are dealt with elsewhere.
    nonzero: Vec<Polynomial>,
}

/// The components of the set of points of an ideal that satisfy some assumptions.
///
/// With no assumptions these are the minimal primes. With assumptions, components on which they fail everywhere are left
/// out, as far as the rules of section 10 of `docs/theory/algebra.md` see it.
pub fn components(ideal: &Ideal, assumptions: &Assumptions, budget: &Budget) -> Components {
    let variables = ideal.variables();
    let mut nonzero: Vec<Polynomial> = Vec::new();
    for f in &assumptions.nonzero {
        let factors = factor(f, &FactorBudget::until(budget.deadline)).factors;
        nonzero.extend(factors.into_iter().map(|factor| factor.polynomial));
    }
    nonzero.extend(
        assumptions
            .positive
            .iter()
            .map(|&v| Polynomial::variable(v)),
    );
    let mut open = vec![Branch {
        generators: ideal.generators().to_vec(),
        nonzero,
    }];
    let mut found = Components {
        components: Vec::new(),
        undecided: Vec::new(),
        limit: None,
        certificate: ideal.certificate(),
    };
    let mut seen: BTreeSet<Vec<Polynomial>> = BTreeSet::new();
    let search = Search {
        variables,
        assumptions,
        budget,
        certificate: Cell::new(ideal.certificate()),
        known: RefCell::default(),
    };
    while let Some(branch) = open.pop() {
        if seen.len() >= MOST_BRANCHES {
            found.limit.get_or_insert(OutOfBudget::Steps);
            found.undecided.push(Ideal::new(branch.generators));
            continue;
        }
        match search.step(&branch, &found.components) {
            Ok(Step::Empty) => {}
            Ok(Step::Split(branches)) => open.extend(branches),
            Ok(Step::Leaf(component, limit)) => {
                found.limit = found.limit.or(limit);
                if seen.insert(component.basis.elements().to_vec())
                    && let Err(limit) = found.add(component, budget)
                {
                    found.limit.get_or_insert(limit);
                }
            }
            Err(limit) => {
                found.limit.get_or_insert(limit);
                found.undecided.push(Ideal::new(branch.generators));
            }
        }
    }
    found.certificate = search.certificate.get();
    found.components.sort_by_key(|component| {
        let dimension = component.basis.dimension();
        (std::cmp::Reverse(dimension), component.generators())
    });
    found
}

impl Components {
    /// Takes a component in unless it is part of another; those that are part of it go. After a limit some may stay that
    /// are part of others.
    fn add(&mut self, new: Component, budget: &Budget) -> Result<(), OutOfBudget> {
        // More equations, fewer points.
        let contains = |outer: &Component, inner: &Component| {
            let elements = outer.basis.elements();
            inner.basis.contains_all_within(elements, budget)
        };
        let mut limit = Ok(());
        let mut decided = |answer: Result<bool, OutOfBudget>| {
            answer.unwrap_or_else(|reached| {
                limit = Err(reached);
                false
            })
        };
        if self
            .components
            .iter()
            .any(|old| decided(contains(old, &new)))
        {
            return Ok(());
        }
        self.components.retain(|old| !decided(contains(&new, old)));
        self.components.push(new);
        limit
    }
}

/// What became of a branch.
enum Step {
    Empty,
    Split(Vec<Branch>),
    /// With the limit that kept it from being looked at more closely, if one did.
    Leaf(Component, Option<OutOfBudget>),
}

/// What a closer look at an ideal shows.
enum Decision {
    Prime,
    /// The set is the union of the parts that satisfy one of these lists in addition.
    Parts(Vec<Vec<Polynomial>>),
    Open,
}

struct Search<'a> {
    variables: Vec<usize>,
    assumptions: &'a Assumptions,
    budget: &'a Budget,
    /// The weakest so far.
    certificate: Cell<Certificate>,
    /// Factors of elements, which recur from branch to branch.
    known: RefCell<HashMap<Polynomial, Rc<Vec<Factor>>>>,
}

impl Search<'_> {
    /// A part of what is left of the budget, so that one component does not take it all.
    fn share(&self) -> Budget {
        let deadline = self.budget.deadline.map(|deadline| {
            let now = Instant::now();
            now + deadline.saturating_duration_since(now) / 4
        });
        Budget {
            deadline,
            memory: self.budget.memory / 4,
            ..*self.budget
        }
    }

    fn factor_budget(&self) -> FactorBudget {
        FactorBudget::until(self.budget.deadline)
    }

    /// Takes note of what a basis is worth.
    fn note(&self, certificate: Certificate) {
        self.certificate
            .set(self.certificate.get().and(certificate));
    }

    /// The different factors of a polynomial with their multiplicities.
    fn factors(&self, f: &Polynomial) -> Result<Rc<Vec<Factor>>, OutOfBudget> {
        if let Some(known) = self.known.borrow().get(f) {
            return Ok(Rc::clone(known));
        }
        self.budget.check_time()?;
        let found = Rc::new(factor(f, &self.factor_budget()).factors);
        let mut known = self.known.borrow_mut();
        known.insert(f.clone(), Rc::clone(&found));
        Ok(found)
    }

    /// The polynomial without factors that are not zero: it vanishes at the same points of interest.
    fn stripped(&self, f: &Polynomial, nonzero: &[Polynomial]) -> Result<Polynomial, OutOfBudget> {
        self.budget.check_time()?;
        let mut rest = f.clone();
        for divisor in nonzero {
            while let Some(quotient) = rest.divide_exactly(divisor) {
                rest = quotient;
            }
        }
        Ok(rest)
    }

    fn all_stripped(
        &self,
        generators: &[Polynomial],
        nonzero: &[Polynomial],
    ) -> Result<Vec<Polynomial>, OutOfBudget> {
        let generators = generators.iter().filter(|f| !f.is_zero());
        generators.map(|f| self.stripped(f, nonzero)).collect()
    }

    fn step(&self, branch: &Branch, known: &[Component]) -> Result<Step, OutOfBudget> {
        self.budget.check_time()?;
        // To split, and to see that nothing is left, it is enough to have generators of the same ideal.
        let generators = self.all_stripped(&branch.generators, &branch.nonzero)?;
        let mut found = unchecked_basis(&generators, &self.variables, self.budget)?;
        self.note(found.certificate());
        if found.is_unit() {
            return Ok(Step::Empty);
        }
        for f in &branch.nonzero {
            let remainder = found.normal_form_within(f, self.budget)?;
            if remainder.polynomial.is_zero() {
                return Ok(Step::Empty);
            }
        }
        // What is part of a component that is known is nothing new.
        for component in known {
            if found.contains_all_within(component.basis.elements(), self.budget)? {
                return Ok(Step::Empty);
            }
        }
        let positive = &self.assumptions.positive;
        if !positive.is_empty() && signs::contradiction(&found, positive).is_some() {
            return Ok(Step::Empty);
        }
        if let Some(branches) = self.split_by_factors(&found, branch)? {
            return Ok(Step::Split(branches));
        }
        if found.certificate() == Certificate::Exact && !found.is_basis(self.budget)? {
            let order = Order::degrevlex(self.variables.iter().copied());
            found = basis(&generators, &order, self.budget)?;
            self.note(found.certificate());
        }
        let leaf = |primality, limit| {
            let component = Component {
                basis: found.clone(),
                primality,
            };
            Ok(Step::Leaf(component, limit))
        };
        // A limit of the closer look leaves the part as it is.
        let decision = match self.decide(&found) {
            Ok(decision) => decision,
            Err(limit) => return leaf(Primality::Open, Some(limit)),
        };
        match decision {
            Decision::Prime => leaf(Primality::Proved, None),
            Decision::Open => leaf(Primality::Open, None),
            Decision::Parts(parts) => Ok(Step::Split(
                parts
                    .into_iter()
                    .map(|part| Branch {
                        generators: [found.elements(), part.as_slice()].concat(),
                        nonzero: branch.nonzero.clone(),
                    })
                    .collect(),
            )),
        }
    }

    /// One branch for each factor of an element, if one has several or a multiple one; the factors before it, which have
    /// branches of their own, are then not zero.
    fn split_by_factors(
        &self,
        found: &Basis,
        branch: &Branch,
    ) -> Result<Option<Vec<Branch>>, OutOfBudget> {
        let stripped = self.all_stripped(found.elements(), &branch.nonzero)?;
        let mut elements: Vec<&Polynomial> = stripped.iter().collect();
        elements.sort_by_key(|f| (f.total_degree(), f.n_terms()));
        for element in elements {
            let factors = self.factors(element)?;
            if matches!(factors.as_slice(), [single] if single.multiplicity == 1) {
                continue;
            }
            let mut nonzero = branch.nonzero.clone();
            let mut branches = Vec::new();
            for factor in factors.iter() {
                let mut generators = stripped.clone();
                generators.push(factor.polynomial.clone());
                branches.push(Branch {
                    generators,
                    nonzero: nonzero.clone(),
                });
                nonzero.push(factor.polynomial.clone());
            }
            return Ok(Some(branches));
        }
        let is_changed = stripped != found.elements();
        Ok(is_changed.then(|| {
            vec![Branch {
                generators: stripped,
                nonzero: branch.nonzero.clone(),
            }]
        }))
    }

    /// Whether the ideal of a basis is prime, cheapest tests first.
    fn decide(&self, found: &Basis) -> Result<Decision, OutOfBudget> {
        // Groups without common variables: those that are irreducible over the complex numbers do not matter for the
        // others, and one that is irreducible over the rationals may stand beside them.
        let mut doubtful: Vec<Vec<Polynomial>> = Vec::new();
        let mut is_hard = false;
        for group in connected(without_linear(found.elements())) {
            match group.as_slice() {
                [single] if is_irreducible(single, &self.factor_budget()) => {
                    if !has_simple_rational_point(single, self.budget)? {
                        doubtful.push(group);
                    }
                }
                _ => {
                    is_hard = true;
                    doubtful.push(group);
                }
            }
        }
        if !is_hard && doubtful.len() <= 1 {
            return Ok(Decision::Prime);
        }
        self.decide_by_projection(&Ideal::new(doubtful.concat()))
    }

    /// Gianni, Trager and Zacharias (1988): over the field of rational functions of independent variables the ideal has
    /// finitely many points, and is maximal if the minimal polynomial of a separating form is irreducible.
    fn decide_by_projection(&self, ideal: &Ideal) -> Result<Decision, OutOfBudget> {
        let budget = &self.share();
        let graded = ideal.basis(budget)?;
        self.note(graded.certificate());
        let Some(free) = graded.independent_variables() else {
            return Ok(Decision::Parts(Vec::new()));
        };
        let bound: Vec<usize> = ideal
            .variables()
            .into_iter()
            .filter(|v| !free.contains(v))
            .collect();
        let order =
            Order::degrevlex(bound.iter().copied()).product(Order::degrevlex(free.iter().copied()));
        let over_free = graded.in_order(&order, budget)?;
        self.note(over_free.certificate());
        // The extension to the rational functions and back is the saturation by the leading coefficients.
        let mut leading: Vec<Polynomial> = Vec::new();
        let mut bound_leads: Vec<crate::Monomial> = Vec::new();
        for (f, lead) in over_free
            .elements()
            .iter()
            .zip(over_free.leading_monomials())
        {
            let bound_lead = free.iter().fold(lead, |rest, &v| rest.without(v));
            let coefficient = bound.iter().fold(f.clone(), |rest, &v| {
                rest.coefficient(v, bound_lead.exponent(v))
            });
            bound_leads.push(bound_lead);
            for factor in factor(&coefficient, &FactorBudget::until(budget.deadline)).factors {
                if !leading.contains(&factor.polynomial) {
                    leading.push(factor.polynomial);
                }
            }
        }
        if !leading.is_empty() {
            let saturated = ideal.saturation_by_all(&leading, budget)?;
            self.note(saturated.certificate());
            if !graded.contains_all_within(saturated.generators(), budget)? {
                let mut parts: Vec<Vec<Polynomial>> =
                    leading.into_iter().map(|f| vec![f]).collect();
                parts.push(saturated.generators().to_vec());
                return Ok(Decision::Parts(parts));
            }
        }
        let n_points = count_standard(&bound_leads, &bound);
        let Some(n_points) = n_points else {
            return Ok(Decision::Open);
        };
        // Projections to one variable and then to random forms.
        let mut random = Random::new(n_points as u64);
        let mut forms: Vec<Polynomial> = bound.iter().map(|&v| Polynomial::variable(v)).collect();
        for _ in 0..3 {
            forms.push(bound.iter().fold(Polynomial::zero(), |sum, &v| {
                &sum + &Polynomial::variable(v).scaled(&random.within(9).into())
            }));
        }
        for form in forms {
            let Some((degree, factors)) = self.projection(ideal, &form, &bound, budget)? else {
                return Ok(Decision::Open);
            };
            match factors.as_slice() {
                [(_, true)] if degree == n_points => return Ok(Decision::Prime),
                [(single, _)] if !graded.contains(single) => {
                    return Ok(Decision::Parts(vec![vec![single.clone()]]));
                }
                [_] => {}
                several => {
                    return Ok(Decision::Parts(
                        several.iter().map(|(f, _)| vec![f.clone()]).collect(),
                    ));
                }
            }
        }
        Ok(Decision::Open)
    }

    /// The minimal polynomial of a linear form over the free variables: its degree, and its different factors with the
    /// form put in, each with whether it is proved to be irreducible and not a multiple one.
    #[allow(clippy::type_complexity, reason = "a degree and a list")]
    fn projection(
        &self,
        ideal: &Ideal,
        form: &Polynomial,
        bound: &[usize],
        budget: &Budget,
    ) -> Result<Option<(usize, Vec<(Polynomial, bool)>)>, OutOfBudget> {
        let value = ideal.variables().into_iter().max().map_or(0, |v| v + 1);
        let extended = ideal.with(&(&Polynomial::variable(value) - form));
        let projected = extended.elimination(bound, budget)?;
        self.note(projected.certificate());
        let relation = projected
            .generators()
            .iter()
            .filter(|f| f.degree(value) > 0)
            .min_by_key(|f| f.degree(value))
            .cloned();
        let Some(relation) = relation else {
            return Ok(None);
        };
        let degree = usize::from(relation.degree(value));
        let mut factors = Vec::new();
        for factor in factor(&relation, &FactorBudget::until(budget.deadline)).factors {
            if factor.polynomial.degree(value) > 0 {
                let put_in = factor.polynomial.substitute(value, form);
                factors.push((put_in, factor.is_proved && factor.multiplicity == 1));
            }
        }
        Ok(Some((degree, factors)))
    }
}

/// The polynomials after substituting every variable that one of them gives by the others: the quotient ring is the same.
fn without_linear(generators: &[Polynomial]) -> Vec<Polynomial> {
    let mut rest: Vec<Polynomial> = generators.to_vec();
    rest.sort_by_key(|f| (f.total_degree(), f.n_terms()));
    loop {
        let given = rest.iter().enumerate().find_map(|(at, f)| {
            let mut variables = f.variables().into_iter();
            let variable =
                variables.find(|&v| f.degree(v) == 1 && f.leading_coefficient(v).is_constant())?;
            Some((at, variable))
        });
        let Some((at, variable)) = given else {
            return rest;
        };
        let solved = rest.remove(at);
        for f in &mut rest {
            if f.degree(variable) > 0 {
                *f = f
                    .pseudo_remainder(&solved, variable)
                    .primitive_over_integers();
            }
        }
        rest.retain(|f| !f.is_zero());
        rest.sort_by_key(|f| (f.total_degree(), f.n_terms()));
        rest.dedup();
    }
}

/// Whether a polynomial is proved to be irreducible over the rationals.
fn is_irreducible(f: &Polynomial, budget: &FactorBudget) -> bool {
    let factors = factor(f, budget).factors;
    matches!(factors.as_slice(), [single] if single.multiplicity == 1 && single.is_proved)
}

/// The polynomials in groups without common variables.
fn connected(polynomials: Vec<Polynomial>) -> Vec<Vec<Polynomial>> {
    let mut groups: Vec<(BTreeSet<usize>, Vec<Polynomial>)> = Vec::new();
    for f in polynomials {
        let mut variables: BTreeSet<usize> = f.variables().into_iter().collect();
        let mut members = vec![f];
        groups.retain_mut(|group| {
            let is_joined = !group.0.is_disjoint(&variables);
            if is_joined {
                variables.append(&mut group.0);
                members.append(&mut group.1);
            }
            !is_joined
        });
        groups.push((variables, members));
    }
    groups.into_iter().map(|group| group.1).collect()
}

/// Whether a rational point is found at which an irreducible polynomial vanishes and some derivative does not: then it is
/// irreducible over the complex numbers too, (10) of `docs/theory/algebra.md`.
fn has_simple_rational_point(f: &Polynomial, budget: &Budget) -> Result<bool, OutOfBudget> {
    let variables = f.variables();
    // With a variable of degree 1 there always is one.
    if variables.iter().any(|&v| f.degree(v) == 1) {
        return Ok(true);
    }
    let mut random = Random::new(3);
    for attempt in 0..60 {
        budget.check_time()?;
        let main = variables[attempt % variables.len()];
        let others: Vec<(usize, i64)> = variables
            .iter()
            .filter(|&&v| v != main)
            .map(|&v| (v, random.within(1 + attempt as u32 / 12)))
            .collect();
        let at_others = |g: &Polynomial| {
            others
                .iter()
                .fold(g.clone(), |g, &(v, value)| g.at(v, &value.into()))
        };
        let line = at_others(f);
        // A simple rational root on the line is a simple point: the derivative along the line does not vanish.
        let factors = factor(&line, &FactorBudget::until(budget.deadline)).factors;
        let mut factors = factors.iter();
        if factors.any(|g| g.multiplicity == 1 && g.polynomial.degree(main) == 1) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many monomials in some variables are no multiples of the given ones; none if infinitely many.
fn count_standard(leads: &[crate::Monomial], variables: &[usize]) -> Option<usize> {
    let is_finite = variables.iter().all(|&v| {
        leads
            .iter()
            .any(|lead| lead.without(v).is_one() && lead.exponent(v) > 0)
    });
    if !is_finite {
        return variables.is_empty().then_some(1);
    }
    let mut n = 0;
    let mut open = vec![(crate::Monomial::one(), 0)];
    while let Some((monomial, first)) = open.pop() {
        n += 1;
        for (place, &variable) in variables.iter().enumerate().skip(first) {
            let next = monomial.times(&crate::Monomial::power(variable, 1));
            if leads.iter().all(|lead| next.over(lead).is_none()) {
                open.push((next, place));
            }
        }
    }
    Some(n)
}
