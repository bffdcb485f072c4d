//! The parameters for which a case can occur: section 7 of `docs/theory/configurations.md`.

use crate::cases::{Case, force};
use crate::eliminate::{Elimination, Undecided, lengths, substituted};
use crate::exact::{ExactCases, is_symbol};
use crate::field::{ExactField, Field};
use crate::flats::{Forms, restricted};
use crate::mechanism::Mechanism;
use crate::ring::{Ring, VariableKind};
use daelight_algebra::{
    Budget, FactorBudget, Fraction, IBig, Monomial, OutOfBudget, Polynomial, Sign, factor, sign,
};
use std::collections::BTreeMap;
use std::time::Instant;

/// Most choices of signs of one case.
const MOST_CHOICES: usize = 1 << 12;

/// Bodies on one line with the sum of their lengths: its square, or the sum itself, enters the conditions.
#[derive(Clone, Debug)]
pub struct Leg {
    /// The symbol that stands for the signed sum.
    pub symbol: usize,
    /// Columns of the bodies, each with its weight.
    pub members: Vec<(usize, Fraction)>,
    /// Whether turning all bodies round is no new choice.
    pub is_symmetric: bool,
}

/// A choice of senses for the aligned bodies of a case.
#[derive(Clone, Debug)]
pub struct Choice {
    /// For each leg and member, whether the body points the other way.
    pub reversed: Vec<Vec<bool>>,
    /// The signed sums of the legs.
    pub sums: Vec<Fraction>,
}

/// What a case demands of the parameters.
#[derive(Clone, Debug)]
pub struct CaseConditions {
    /// Lists of conditions in parameters and symbols of legs; the case can occur where all conditions of a list vanish.
    pub lists: Vec<Vec<Polynomial>>,
    /// Polynomials at whose zeros there may be more.
    pub exceptional: Vec<Polynomial>,
}

/// An irreducible condition on the parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct LocusFactor {
    /// It vanishes where the case occurs.
    pub polynomial: Polynomial,
    /// Whether it is proved to be irreducible.
    pub is_irreducible: bool,
    /// Whether it can vanish with positive lengths; `false` only with a proof.
    pub is_physical: bool,
    /// The cases, by number.
    pub cases: Vec<usize>,
}

/// Conditions that have to hold together.
#[derive(Clone, PartialEq, Debug)]
pub struct LocusComponent {
    /// All of them vanish.
    pub conditions: Vec<Polynomial>,
    /// Whether they can vanish with positive lengths; `false` only with a proof.
    pub is_physical: bool,
    /// The case.
    pub case: usize,
}

/// The parameters for which there are singular configurations, over the complex numbers.
#[derive(Clone, Debug, Default)]
pub struct ParameterLocus {
    /// Single conditions.
    pub factors: Vec<LocusFactor>,
    /// Several conditions at once.
    pub components: Vec<LocusComponent>,
    /// Cases that occur for all parameters.
    pub always: Vec<usize>,
    /// Cases whose conditions are not known, with the reason.
    pub undecided: Vec<(usize, Undecided)>,
    /// Polynomials at whose zeros there may be more.
    pub exceptional: Vec<Polynomial>,
}

impl ParameterLocus {
    /// Drops sets of conditions that add nothing to a single condition, or to fewer ones, of the same case.
    fn remove_contained_components(&mut self) {
        let single: Vec<(usize, &Polynomial)> = self
            .factors
            .iter()
            .flat_map(|f| f.cases.iter().map(move |&case| (case, &f.polynomial)))
            .collect();
        self.components.retain(|component| {
            let mut conditions = component.conditions.iter();
            !conditions.any(|p| single.contains(&(component.case, p)))
        });
        let all = self.components.clone();
        self.components.retain(|component| {
            !all.iter().any(|other| {
                other.case == component.case
                    && other.conditions.len() < component.conditions.len()
                    && (other.conditions.iter()).all(|p| component.conditions.contains(p))
            })
        });
    }
}

/// The part of a budget that one of several tasks gets.
pub(crate) fn share(budget: &Budget, n_tasks: usize) -> Budget {
    let now = Instant::now();
    let deadline = budget.deadline.map(|deadline| {
        let left = deadline.saturating_duration_since(now);
        now + left / u32::try_from(n_tasks.max(1)).unwrap_or(u32::MAX)
    });
    Budget {
        deadline,
        ..*budget
    }
}

/// A mechanism with its cases and what they demand of the parameters.
pub struct Conditioned<'a> {
    /// The mechanism.
    pub mechanism: &'a Mechanism,
    /// Its symbols, those of the legs included.
    pub ring: Ring,
    /// For each case its legs: one for each class, then one for each form of the bodies of fixed direction.
    pub legs: Vec<Result<Vec<Leg>, Undecided>>,
    /// For each case what it demands.
    pub conditions: Vec<Result<CaseConditions, Undecided>>,
    /// The parameters that are lengths.
    pub lengths: Vec<usize>,
}

impl<'a> Conditioned<'a> {
    /// Eliminates the unit vectors of every case.
    pub fn new(mechanism: &'a Mechanism, cases: &ExactCases, is_over: &dyn Fn() -> bool) -> Self {
        let mut result = Self {
            mechanism,
            ring: mechanism.ring.clone(),
            legs: Vec::new(),
            conditions: Vec::new(),
            lengths: lengths(mechanism),
        };
        for case in &cases.list {
            let legs = if is_over() {
                Err(Undecided::Time)
            } else {
                result.make_legs(case)
            };
            let conditions = match &legs {
                Ok(legs) => result.case_conditions(case, legs, is_over),
                Err(why) => Err(*why),
            };
            result.legs.push(legs);
            result.conditions.push(conditions);
        }
        result
    }

    fn case_conditions(
        &self,
        case: &Case<Fraction>,
        legs: &[Leg],
        is_over: &dyn Fn() -> bool,
    ) -> Result<CaseConditions, Undecided> {
        if case.has_minors() || !case.vanishing.is_empty() {
            return Err(Undecided::Minors);
        }
        let mechanism = self.mechanism;
        let field = ExactField { ring: &self.ring };
        let forms = Forms::new(&field, mechanism);
        let values = |column: usize| -> Vec<Vec<Fraction>> {
            let forms = forms.columns[column].iter();
            forms
                .map(|form| restricted(&field, form, &case.flat.basis))
                .collect()
        };
        // The loops that carry the force, without the bodies of the legs.
        let on_legs: Vec<usize> = (legs.iter().flat_map(|leg| &leg.members))
            .filter_map(|(column, _)| mechanism.columns[*column].body)
            .collect();
        let rest: Vec<Fraction> = (mechanism.constraints.rows.iter())
            .map(|row| field.element(&mechanism.polynomial_without(&row.waves, &on_legs)))
            .collect();
        let mut sums: Vec<Fraction> = restricted(&field, &rest, &case.flat.basis);
        let mut circles = self.circles_of(&sums).ok_or(Undecided::Minors)?;
        for (leg, class) in legs.iter().zip(&case.classes) {
            let first = class.members[0].0;
            let [alpha, beta] = force(&field, &values(first));
            let direction = &mechanism.directions[mechanism.columns[first].body.unwrap_or(0)];
            circles.push([direction.cosine, direction.sine]);
            let [c, s] = [direction.cosine, direction.sine]
                .map(|v| Fraction::from(&Polynomial::variable(v) * &leg_factor(leg)));
            for (sum, (alpha, beta)) in sums.iter_mut().zip(alpha.iter().zip(&beta)) {
                *sum = field.add(sum, &field.mul(alpha, &c));
                *sum = field.add(sum, &field.mul(beta, &s));
            }
        }
        for leg in &legs[case.classes.len()..] {
            let (first, _) = leg.members[0];
            let form = single_form(&field, &values(first), direction_of(case, first));
            let symbol = Fraction::from(leg_factor(leg));
            for (sum, value) in sums.iter_mut().zip(&form) {
                *sum = field.add(sum, &field.mul(value, &symbol));
            }
        }
        let equations: Vec<Polynomial> = sums.iter().map(|sum| sum.numerator().clone()).collect();
        let mut elimination = Elimination::new(&self.ring, circles, self.lengths.clone());
        let lists = elimination.conditions(&equations, is_over)?;
        Ok(CaseConditions {
            lists,
            exceptional: elimination.exceptional,
        })
    }

    /// The unit vectors of locked bodies that remain in loops; `None` if positions remain.
    fn circles_of(&self, loops: &[Fraction]) -> Option<Vec<[usize; 2]>> {
        let variables = loops.iter().flat_map(|sum| sum.numerator().variables());
        let mut circles = Vec::new();
        for variable in variables {
            let direction = match self.ring.variables()[variable].meaning {
                VariableKind::Cosine(at) | VariableKind::Sine(at) => &self.mechanism.directions[at],
                VariableKind::Position(_) => return None,
                _ => continue,
            };
            let circle = [direction.cosine, direction.sine];
            if !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        Some(circles)
    }

    fn make_legs(&mut self, case: &Case<Fraction>) -> Result<Vec<Leg>, Undecided> {
        let mut legs = Vec::new();
        for class in &case.classes {
            let mut members = Vec::new();
            for (column, rotation) in &class.members {
                members.push((*column, self.length(rotation)?));
            }
            legs.push(self.leg(members, true));
        }
        /// A form, and the bodies with their lengths.
        type Group = (Vec<Fraction>, Vec<(usize, Fraction)>);
        let mut groups: Vec<Group> = Vec::new();
        for (column, direction) in &case.fixed {
            let length = self.length(direction)?;
            let ring = self.ring.clone();
            let field = ExactField { ring: &ring };
            let forms = Forms::new(&field, self.mechanism);
            let values: Vec<Vec<Fraction>> = forms.columns[*column]
                .iter()
                .map(|form| restricted(&field, form, &case.flat.basis))
                .collect();
            let form = single_form(&field, &values, direction.clone());
            match groups.iter_mut().find(|(known, _)| *known == form) {
                Some((_, members)) => members.push((*column, length)),
                None => groups.push((form, vec![(*column, length)])),
            }
        }
        for (_, members) in groups {
            legs.push(self.leg(members, false));
        }
        Ok(legs)
    }

    fn leg(&mut self, members: Vec<(usize, Fraction)>, is_symmetric: bool) -> Leg {
        let name = format!("r{}", self.ring.variables().len());
        Leg {
            symbol: self.ring.add(name, VariableKind::Known, None),
            members,
            is_symmetric,
        }
    }

    /// The length of a vector, exactly.
    fn length(&mut self, [x, y]: &[Fraction; 2]) -> Result<Fraction, Undecided> {
        let quotient = |top: Polynomial, bottom: &Polynomial| {
            Fraction::new(top, bottom.clone()).expect("denominators are not 0")
        };
        match (x.is_zero(), y.is_zero()) {
            (_, true) => return Ok(x.clone()),
            (true, _) => return Ok(y.clone()),
            _ => {}
        }
        // sqrt(X^2 + Y^2) over the common denominator.
        let sum = x.times(x).plus(&y.times(y));
        let bottom = &(x.denominator() * y.denominator());
        let square = sum.times(&Fraction::from(bottom * bottom));
        let square = self.ring.reduce(square.numerator());
        let root = self.ring.root_of(&square).ok_or(Undecided::Shape)?;
        Ok(quotient(root, bottom))
    }

    /// All choices of senses for a case.
    pub fn choices(&self, case: usize) -> Result<Vec<Choice>, Undecided> {
        let legs = self.legs[case].as_ref().map_err(|why| *why)?;
        let mut choices = vec![Choice {
            reversed: Vec::new(),
            sums: Vec::new(),
        }];
        let field = ExactField { ring: &self.ring };
        for leg in legs {
            let n_free = leg.members.len() - usize::from(leg.is_symmetric);
            if n_free > 12 || choices.len() << n_free > MOST_CHOICES {
                return Err(Undecided::Branches);
            }
            let mut next = Vec::new();
            for choice in &choices {
                for pattern in 0..1usize << n_free {
                    // The first body of a symmetric leg keeps its sense.
                    let bits = pattern << usize::from(leg.is_symmetric);
                    let mut reversed = Vec::new();
                    let mut sum = field.zero();
                    for (at, (_, length)) in leg.members.iter().enumerate() {
                        let is_reversed = bits >> at & 1 == 1;
                        sum = if is_reversed {
                            field.sub(&sum, length)
                        } else {
                            field.add(&sum, length)
                        };
                        reversed.push(is_reversed);
                    }
                    let mut choice = choice.clone();
                    choice.reversed.push(reversed);
                    choice.sums.push(sum);
                    next.push(choice);
                }
            }
            choices = next;
        }
        Ok(choices)
    }

    /// A condition with the sums of a choice for the symbols of the legs: its numerator.
    pub fn at_choice(&self, condition: &Polynomial, case: usize, choice: &Choice) -> Polynomial {
        let mut result = condition.clone();
        let legs = self.legs[case].iter().flatten();
        for (leg, sum) in legs.zip(&choice.sums) {
            result = substituted(&result, leg.symbol, sum.numerator(), sum.denominator());
        }
        let mut result = self.ring.reduce(&result);
        if result.is_zero() {
            return result;
        }
        // Denominators of lengths are not 0.
        for sum in &choice.sums {
            for divisor in factor(sum.denominator(), &FactorBudget::default()).factors {
                while let Some(quotient) = result.divide_exactly(&divisor.polynomial) {
                    result = quotient;
                }
            }
        }
        result.primitive_over_integers()
    }

    /// Whether a choice is excluded over the complex numbers, by a condition that is a number other than 0 in each list;
    /// `None` when it is not decided.
    pub fn is_excluded(&self, case: usize, choice: &Choice) -> Option<bool> {
        let conditions = self.conditions[case].as_ref().ok()?;
        let value = |p: &Polynomial| self.at_choice(p, case, choice);
        let is_number = |p: &Polynomial| p.variables().iter().all(|&v| !is_symbol(&self.ring, v));
        if conditions.exceptional.iter().any(|p| value(p).is_zero()) {
            return None;
        }
        let fails = |list: &Vec<Polynomial>| {
            let mut values = list.iter().map(value);
            values.any(|p| !p.is_zero() && is_number(&p))
        };
        Some(conditions.lists.iter().all(fails))
    }

    /// The locus over the parameters that are kept. Cases whose unit vectors are not eliminated by circles and lines are
    /// left to a basis, each with its share of the time.
    pub fn locus(&self, cases: &ExactCases, budget: &Budget) -> ParameterLocus {
        let mut locus = ParameterLocus::default();
        let mut factors: BTreeMap<Polynomial, LocusFactor> = BTreeMap::new();
        let mut n_open = (self.conditions.iter().zip(&cases.list))
            .filter(|(conditions, case)| conditions.is_err() && case.contained_in.is_none())
            .count();
        // What is known already is told first; the open cases share the time that is left.
        let (known, open): (Vec<usize>, Vec<usize>) =
            (0..self.conditions.len()).partition(|&at| self.conditions[at].is_ok());
        for at in known.into_iter().chain(open) {
            let lists = match &self.conditions[at] {
                Ok(conditions) => self.lists_of_choices(at, conditions, &mut locus, budget),
                Err(why) if cases.list[at].contained_in.is_some() => Err(*why),
                Err(why) => {
                    let share = share(budget, n_open);
                    n_open -= 1;
                    let found = self.lists_by_basis(cases, at, &share);
                    found.map_err(|over| if over { Undecided::Time } else { *why })
                }
            };
            let lists = match lists {
                Ok(lists) => lists,
                Err(why) => {
                    locus.undecided.push((at, why));
                    continue;
                }
            };
            for (list, folds) in lists {
                match list.as_slice() {
                    [] => locus.always.push(at),
                    [p] => self.add_factors(at, p, &mut factors),
                    _ if list.iter().any(Polynomial::is_constant) => {}
                    // Several conditions without a folded leg lie on the factors already listed.
                    _ if folds => self.add_component(at, list, &mut locus),
                    _ => {}
                }
            }
        }
        locus.always.dedup();
        // Where the flats are others than for general parameters, that is told as exceptional.
        factors.retain(|p, _| !locus.exceptional.contains(p));
        locus.factors = factors.into_values().collect();
        locus
            .factors
            .sort_by_key(|f| (f.cases[0], f.polynomial.total_degree()));
        locus.remove_contained_components();
        locus
    }

    /// For each choice of senses the lists of conditions in the parameters, and whether a leg folds.
    fn lists_of_choices(
        &self,
        case: usize,
        conditions: &CaseConditions,
        locus: &mut ParameterLocus,
        budget: &Budget,
    ) -> Result<Vec<(Vec<Polynomial>, bool)>, Undecided> {
        let legs = self.legs[case].iter().flatten();
        let symbols: Vec<usize> = legs.map(|leg| leg.symbol).collect();
        let mut lists = Vec::new();
        for choice in &self.choices(case)? {
            budget.check_time().map_err(|_| Undecided::Time)?;
            for p in &conditions.exceptional {
                let p = self.at_choice(p, case, choice);
                if !p.is_constant() && !locus.exceptional.contains(&p) {
                    locus.exceptional.push(p);
                }
            }
            for list in &conditions.lists {
                let folds = list
                    .iter()
                    .any(|p| p.variables().iter().all(|v| symbols.contains(v)));
                let mut values: Vec<Polynomial> = list
                    .iter()
                    .map(|p| self.at_choice(p, case, choice))
                    .filter(|p| !p.is_zero())
                    .collect();
                values.sort();
                values.dedup();
                lists.push((values, folds));
            }
        }
        Ok(lists)
    }

    /// The same by the elimination ideals of the pieces; `Err` tells whether the time was over.
    fn lists_by_basis(
        &self,
        cases: &ExactCases,
        case: usize,
        budget: &Budget,
    ) -> Result<Vec<(Vec<Polynomial>, bool)>, bool> {
        let choices = self.choices(case).map_err(|_| false)?;
        let mut lists = Vec::new();
        for choice in &choices {
            let piece = self.piece(cases, case, choice).map_err(|_| false)?;
            let over = |why: OutOfBudget| why == OutOfBudget::Time;
            let ideal = piece.ideal(budget).map_err(over)?;
            let unknowns: Vec<usize> = piece
                .variables
                .iter()
                .copied()
                .filter(|&v| self.ring.is_unknown(v))
                .collect();
            let projected = ideal.elimination(&unknowns, budget).map_err(over)?;
            let conditions = projected.generators().iter();
            let relations: Vec<Polynomial> = piece
                .positive
                .iter()
                .filter_map(|&root| {
                    let square = self.ring.square(root)?;
                    Some((&Polynomial::variable(root).pow(2) - &square).primitive_over_integers())
                })
                .collect();
            let conditions = conditions
                .filter(|p| !relations.contains(p))
                .map(|p| self.without_lengths(p));
            lists.push((conditions.collect(), true));
        }
        Ok(lists)
    }

    /// A condition without lengths that divide it.
    fn without_lengths(&self, p: &Polynomial) -> Polynomial {
        let mut monomial = Monomial::one();
        let common = p.common_monomial();
        for &length in &self.lengths {
            monomial.set(length, common.exponent(length));
        }
        p.divide_exactly(&Polynomial::term(monomial, IBig::ONE))
            .unwrap_or_else(|| p.clone())
    }

    fn add_factors(
        &self,
        case: usize,
        p: &Polynomial,
        factors: &mut BTreeMap<Polynomial, LocusFactor>,
    ) {
        for found in factor(p, &FactorBudget::default()).factors {
            let entry = factors
                .entry(found.polynomial.clone())
                .or_insert_with(|| LocusFactor {
                    is_irreducible: found.is_proved,
                    is_physical: self.can_vanish(&found.polynomial),
                    polynomial: found.polynomial,
                    cases: Vec::new(),
                });
            if !entry.cases.contains(&case) {
                entry.cases.push(case);
            }
        }
    }

    fn add_component(&self, case: usize, conditions: Vec<Polynomial>, locus: &mut ParameterLocus) {
        let component = LocusComponent {
            is_physical: conditions.iter().all(|p| self.can_vanish(p)),
            conditions,
            case,
        };
        if !locus.components.contains(&component) {
            locus.components.push(component);
        }
    }

    /// Whether a polynomial may vanish with positive lengths: not if it has a sign then.
    pub fn can_vanish(&self, p: &Polynomial) -> bool {
        !matches!(sign(p, &self.lengths), Sign::Positive | Sign::Negative)
    }

    /// A polynomial in the symbols as text.
    pub fn text(&self, p: &Polynomial) -> String {
        self.ring.text(p)
    }
}

/// The factor of the unit vector of a leg: its symbol, or nothing for a body alone.
fn leg_factor(leg: &Leg) -> Polynomial {
    match leg.members.as_slice() {
        [(_, length)] if *length == Fraction::from(Polynomial::one()) => Polynomial::one(),
        _ => Polynomial::variable(leg.symbol),
    }
}

fn direction_of(case: &Case<Fraction>, column: usize) -> [Fraction; 2] {
    let found = case.fixed.iter().find(|(at, _)| *at == column);
    found
        .map(|(_, direction)| direction.clone())
        .unwrap_or_else(|| [Polynomial::zero(), Polynomial::one()].map(Fraction::from))
}

/// The form f of a force p f of fixed direction p.
fn single_form(
    field: &ExactField<'_>,
    values: &[Vec<Fraction>],
    [x, y]: [Fraction; 2],
) -> Vec<Fraction> {
    let [alpha, beta] = force(field, values);
    let (row, scale) = if x.is_zero() { (beta, y) } else { (alpha, x) };
    let scale = field.inverse(&scale);
    row.iter().map(|value| field.mul(value, &scale)).collect()
}
