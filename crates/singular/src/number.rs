//! How many real singular configurations there are at given values, and whether they are finitely many: section 8 of
//! `docs/theory/configurations.md`.

use crate::answer::{SearchLimits, SingularAnswer, SingularVerdict, answer};
use crate::constraints::{Constraints, Question};
use crate::exact::is_symbol;
use crate::mechanism::Mechanism;
use crate::points::Coordinates;
use crate::ring::VariableKind;
use daelight_algebra::real::{Manifold, real_manifold};
use daelight_algebra::{Budget, Polynomial};
use daelight_lang::{Diagnostic, Model};
use std::cmp::Ordering;

/// The part of the time that a manifold is looked for, and that conditions may take where derivatives are needed: one of so many.
pub(crate) const PARTS_OF_TIME: u32 = 8;

/// A number of real singular configurations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Number {
    /// Finitely many.
    Finite(usize),
    /// Infinitely many: some of them are a manifold.
    Infinite {
        /// Its dimension.
        dimension: usize,
    },
    /// Not decided, for these reasons.
    Unknown(Vec<String>),
}

/// The number of real singular configurations of a model's constraints. A manifold of them answers at once, before any
/// basis; otherwise they are all found.
pub fn number(
    model: &Model,
    question: &Question,
    limits: &SearchLimits,
) -> Result<Number, Vec<Diagnostic>> {
    let mechanism = Mechanism::new(model, Constraints::new(model, question)?);
    let part = Budget::within(limits.time / PARTS_OF_TIME);
    if let Some(found) = singular_manifold(&mechanism, &part) {
        return Ok(Number::Infinite {
            dimension: found.dimension,
        });
    }
    Ok(answer(model, question, limits)?.number())
}

impl SingularAnswer {
    /// The number of real singular configurations, as far as it is decided.
    pub fn number(&self) -> Number {
        let manifold = self.manifold.as_ref().map(|manifold| manifold.dimension);
        let of_sets = self.sets.iter().filter_map(|set| set.real_dimension).max();
        if let Some(dimension) = manifold.max(of_sets) {
            return Number::Infinite { dimension };
        }
        let mut reasons = self.reasons.clone();
        reasons.extend((self.sets.iter().filter(|set| !set.is_empty)).map(|set| {
            let case = self.pieces[set.piece].case + 1;
            format!("case {case} holds on a set whose real part is not known")
        }));
        if self.locus.is_some() {
            reasons.push("there are symbols without values".to_string());
        }
        match reasons.is_empty() && self.verdict != SingularVerdict::Unknown {
            true => Number::Finite(self.configurations.len()),
            false => Number::Unknown(reasons),
        }
    }
}

/// Real singular configurations that are a manifold of positive dimension, with proof.
#[derive(Clone, Debug)]
pub struct SingularManifold {
    /// The dimension.
    pub dimension: usize,
    /// One of them.
    pub values: Coordinates,
}

/// Looks for a manifold of singular configurations, among the pairs of a configuration and its multipliers: (10a) of
/// `docs/theory/configurations.md`. `None` proves nothing.
pub(crate) fn singular_manifold(
    mechanism: &Mechanism,
    budget: &Budget,
) -> Option<SingularManifold> {
    let ring = &mechanism.ring;
    let mut equations = mechanism.polynomials();
    equations.extend((0..mechanism.directions.len()).map(|at| mechanism.circle(at)));
    let n_variables = ring.variables().len();
    let multiplier = |constraint: usize| Polynomial::variable(n_variables + constraint);
    for column in &mechanism.columns {
        let mut force = Polynomial::zero();
        for (function, form) in column.functions.iter().zip(&column.forms) {
            for (constraint, coefficient) in form.iter().enumerate() {
                force = &force + &(&(function * coefficient) * &multiplier(constraint));
            }
        }
        equations.push(force.primitive_over_integers());
    }
    let squares = (0..mechanism.n_constraints()).map(|at| multiplier(at).pow(2));
    equations.push(squares.fold(-&Polynomial::one(), |sum, square| &sum + &square));
    let occurring = |equations: &[Polynomial]| {
        let mut found: Vec<usize> = equations.iter().flat_map(Polynomial::variables).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    // Square roots of numbers are unknowns with an equation.
    let mut roots: Vec<usize> = Vec::new();
    loop {
        let is_new = |v: &usize| {
            let variable = ring.variables().get(*v);
            let is_root = variable.is_some_and(|v| matches!(v.meaning, VariableKind::Root(_)));
            is_root && !roots.contains(v)
        };
        let Some(root) = occurring(&equations).into_iter().find(is_new) else {
            break;
        };
        equations.push(&Polynomial::variable(root).pow(2) - &ring.square(root)?);
        roots.push(root);
    }
    let variables = occurring(&equations);
    if (variables.iter()).any(|&v| v < n_variables && is_symbol(ring, v)) {
        return None;
    }
    let may_be_free = variables.iter();
    let may_be_free: Vec<bool> = may_be_free
        .map(|&v| v < n_variables && ring.is_unknown(v))
        .collect();
    let rows = mechanism.constraints.rows.iter();
    let denominators: Vec<Polynomial> = rows
        .filter_map(|row| row.denominator.as_ref())
        .map(|waves| mechanism.polynomial(waves))
        .collect();
    let is_wanted = |found: &Manifold| {
        let sign = |p: &Polynomial| found.sign(p, &variables);
        let is_positive =
            |&root: &usize| sign(&Polynomial::variable(root)) == Some(Ordering::Greater);
        let is_not_zero = |p| sign(p).is_some_and(|sign| sign != Ordering::Equal);
        roots.iter().all(is_positive) && denominators.iter().all(is_not_zero)
    };
    let found = real_manifold(&equations, &variables, &may_be_free, &is_wanted, budget)?;
    let place = |v: usize| variables.iter().position(|&own| own == v);
    let value = |v: usize| Some(found.point[place(v)?].middle());
    Some(SingularManifold {
        dimension: found.free.len(),
        values: Coordinates((0..n_variables).map(value).collect()),
    })
}
