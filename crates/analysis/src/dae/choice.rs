//! The form that a model is solved in where its structure as written does not hold.

use crate::System;
use crate::initial::TaylorJet;
use crate::repair::{Names, Repair, RepairBudget, Repaired, repair};
use daelight_lang::Symbol;
use daelight_linalg::Verdict;
use std::time::Instant;

/// What came of repairing the structure of a model.
#[derive(Clone)]
pub enum RepairPart {
    /// The structure holds as written, or fails at the point only.
    NotNeeded,
    /// The repaired structure, verified at the consistent point.
    Repaired(Box<Repaired>),
    /// A repair that the point cannot confirm, because it is singular or not known: its blocks tell where the model can
    /// become singular, its index is not claimed.
    Unverified(Box<Repaired>),
    /// No repair that can be relied on, and why.
    Failed(String),
}

impl std::fmt::Debug for RepairPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotNeeded => write!(f, "NotNeeded"),
            Self::Repaired(repaired) => write!(f, "Repaired({})", repaired.text()),
            Self::Unverified(repaired) => write!(f, "Unverified({})", repaired.text()),
            Self::Failed(because) => write!(f, "Failed({because})"),
        }
    }
}

/// Repairs the structure of a model that is singular everywhere, or along the solution through a point.
///
/// `dof` are the degrees of freedom that ranks decided: a repair that promises others is not relied on. Every command that
/// needs rewritten equations has them from here.
pub fn repaired_at(
    system: &System,
    point: Option<(f64, &TaylorJet)>,
    dof: Option<usize>,
    deadline: Option<Instant>,
) -> RepairPart {
    let Ok(structure) = system.structure() else {
        return RepairPart::Failed("equations and unknowns do not match".to_string());
    };
    let symbols = system.equations().symbols();
    let value = |symbol: Symbol| match (symbol, point) {
        (Symbol::Unknown { unknown, order }, Some((_, jet))) => {
            jet.derivative(unknown, order as usize)
        }
        (known, Some((time, _))) => symbols.value_at(known, time),
        (_, None) => f64::NAN,
    };
    let known: Option<&dyn Fn(Symbol) -> f64> = point.is_some().then_some(&value);
    let budget = RepairBudget {
        deadline,
        ..RepairBudget::default()
    };
    let names = Names::of_system(system);
    let parameters = system.parameters().values();
    match repair(
        system.equations(),
        structure,
        parameters,
        known,
        &names,
        &budget,
    ) {
        Repair::Repaired(repaired) => {
            let found = repaired.n_degrees_of_freedom();
            match dof {
                Some(dof) if dof as u64 != found => RepairPart::Failed(format!(
                    "degrees of freedom: {found} by the repaired structure, {dof} by the derivative array"
                )),
                None if repaired.verdict() == Verdict::Unknown => RepairPart::Unverified(repaired),
                _ => RepairPart::Repaired(repaired),
            }
        }
        Repair::Unknown { because, .. } => RepairPart::Failed(because.to_string()),
        Repair::NotNeeded | Repair::SingularHere { .. } => RepairPart::NotNeeded,
    }
}
