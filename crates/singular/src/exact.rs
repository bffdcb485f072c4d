//! The cases in the field of the parameters that are kept.

use crate::cases::{Cases, Missing, case};
use crate::field::{ExactField, PrimeField};
use crate::flats::{FlatBudget, Forms, flat_of};
use crate::mechanism::Mechanism;
use crate::ring::{Ring, VariableKind};
use daelight_algebra::Fraction;

/// Cases with coefficients in the parameters.
pub type ExactCases = Cases<Fraction>;

/// Flats times columns up to which every rank is decided in the symbols themselves.
const FEW: usize = 200;

/// Finds the cases of a mechanism: exactly at given values; with symbols for general ones. Where there are many flats they
/// are found at random values modulo a large prime and then written in the symbols.
pub fn exact_cases(mechanism: &Mechanism, budget: FlatBudget<'_>) -> ExactCases {
    let field = ExactField {
        ring: &mechanism.ring,
    };
    if !has_symbols(mechanism) {
        return Cases::new(&field, mechanism, budget);
    }
    let Some(generic) = PrimeField::generic(&mechanism.ring, 1) else {
        return Cases::new(&field, mechanism, budget);
    };
    // Half of the time for the random values.
    let spent = || 2.0 * (budget.spent)();
    let half = FlatBudget {
        spent: &spent,
        ..budget
    };
    let found = Cases::new(&generic, mechanism, half);
    if found.list.len() * mechanism.columns.len() <= FEW {
        return Cases::new(&field, mechanism, budget);
    }
    let forms = Forms::new(&field, mechanism);
    let mut missing = found.missing;
    let mut list = Vec::with_capacity(found.list.len());
    let lacks = |n_listed: usize| {
        let of_found = found.missing.map_or(0, |missing| missing.n_flats);
        Some(Missing {
            n_flats: of_found + found.list.len() - n_listed,
            all_up_to: found.missing.and_then(|missing| missing.all_up_to),
        })
    };
    for generic in &found.list {
        if budget.ends_cases() {
            missing = lacks(list.len());
            break;
        }
        let flat = flat_of(&field, &forms, &generic.flat.closed);
        let same =
            flat.closed == generic.flat.closed && flat.basis.len() == generic.flat.basis.len();
        let exact = case(&field, mechanism, &forms, flat).filter(|exact| {
            same && exact.classes.len() == generic.classes.len()
                && exact.rows == generic.rows
                && exact.fixed.len() == generic.fixed.len()
        });
        match exact {
            Some(mut exact) => {
                exact.contained_in = generic.contained_in;
                list.push(exact);
            }
            // The random values were not generic: a chance of 1e-12, told instead of a wrong list.
            None => {
                missing = lacks(list.len());
                break;
            }
        }
    }
    Cases {
        list,
        missing,
        is_proved: false,
    }
}

/// Whether symbols occur in the forms whose values are not algebraic numbers.
pub(crate) fn has_symbols(mechanism: &Mechanism) -> bool {
    let forms = mechanism.columns.iter().flat_map(|column| &column.forms);
    forms
        .flatten()
        .flat_map(|p| p.variables())
        .any(|variable| is_symbol(&mechanism.ring, variable))
}

/// Whether a variable is neither an unknown nor an algebraic number.
pub(crate) fn is_symbol(ring: &Ring, variable: usize) -> bool {
    match &ring.variables()[variable].meaning {
        VariableKind::Root(square) => square.variables().iter().any(|&v| is_symbol(ring, v)),
        VariableKind::Parameter(_) | VariableKind::Known => true,
        VariableKind::Position(_) | VariableKind::Cosine(_) | VariableKind::Sine(_) => false,
    }
}
