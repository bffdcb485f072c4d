//! What the pattern of the equations tells, and its repair where it does not hold.

use crate::System;
use crate::initial::TaylorJet;
use crate::outcome::Indices;
use crate::regularity::{BlockRank, Regularity, regularity};
use crate::repair::{Budget, Names, Repair, Repaired, repair};
use crate::singular_loci::Source;
use crate::structure::{StructurallySingular, Structure};
use daelight_lang::Symbol;
use daelight_linalg::Verdict;
use std::time::Instant;

/// What the pattern of the equations tells.
#[derive(Clone, Debug)]
pub struct StructuralPart {
    /// Offsets, blocks and index of the model as written.
    pub structure: Structure,
    /// Whether they hold at the point.
    pub regularity: Regularity,
    /// The structure of equivalent equations that holds, where that of the model does not.
    pub repair: RepairPart,
}

impl StructuralPart {
    /// Looks whether a structure holds at a jet, and repairs it where it does not.
    ///
    /// `generic` are the blocks that are singular at random points, `dof` the degrees of freedom that the ranks decided.
    pub(super) fn new(
        system: &System,
        structure: Structure,
        generic: Vec<BlockRank>,
        time: f64,
        jet: Option<&TaylorJet>,
        dof: Option<usize>,
        deadline: Instant,
    ) -> Self {
        let mut regularity = regularity(system, &structure, time, jet, generic);
        let repair = repair_part(system, &structure, &regularity, time, jet, dof, deadline);
        // What a repair cures was singular along all solutions, not at this point only.
        if let (Regularity::SingularHere(blocks), RepairPart::Repaired(_)) = (&regularity, &repair)
        {
            regularity = Regularity::SingularEverywhere(blocks.clone());
        }
        Self {
            structure,
            regularity,
            repair,
        }
    }

    /// How often each equation of the model is differentiated, after a repair where one was needed.
    pub fn times_differentiated(&self) -> Vec<usize> {
        match &self.repair {
            RepairPart::Repaired(repaired) => repaired.times_differentiated(),
            _ => self.structure.offsets().equation.clone(),
        }
    }

    /// Why the structure contradicts the indices, if it does; (6), (7) and (9) of `docs/theory/structure.md`.
    ///
    /// A nonsingular system Jacobian proves its degrees of freedom, a singular one that there are fewer.
    pub(super) fn contradiction(&self, indices: &Indices) -> Option<String> {
        let nu = indices.differentiation_index?;
        let dof = indices.strangeness.n_differential as u64;
        let structural = self.structure.n_degrees_of_freedom();
        match self.regularity {
            Regularity::Regular if dof != structural => Some(format!(
                "the structure proves {structural} degrees of freedom, the ranks say {dof}"
            )),
            Regularity::Regular if nu > self.structure.structural_index() => Some(format!(
                "the structure proves an index of at most {}, the ranks say {nu}",
                self.structure.structural_index()
            )),
            Regularity::SingularHere(_) if dof >= structural => Some(
                "the ranks are those of a regular point, but the system Jacobian is nearly singular: a singular point is close by"
                    .to_string(),
            ),
            _ => None,
        }
    }
}

/// The structure whose blocks have loci: the repaired one, or that of the model where it is right.
pub(super) fn source_of(
    structural: Option<&Result<StructuralPart, StructurallySingular>>,
) -> Option<Source<'_>> {
    let part = structural?.as_ref().ok()?;
    match (&part.repair, &part.regularity) {
        (RepairPart::Repaired(repaired) | RepairPart::Unverified(repaired), _) => {
            Some(Source::Repaired(repaired))
        }
        (_, Regularity::SingularEverywhere(_)) => None,
        _ => Some(Source::Written(&part.structure)),
    }
}

/// What came of repairing the structure.
#[derive(Clone)]
pub enum RepairPart {
    /// The structure holds as written.
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

/// Repairs a structure that is singular everywhere, or along the solution, and compares the result with the array.
fn repair_part(
    system: &System,
    structure: &Structure,
    regularity: &Regularity,
    time: f64,
    jet: Option<&TaylorJet>,
    dof: Option<usize>,
    deadline: Instant,
) -> RepairPart {
    let is_needed = match regularity {
        Regularity::Regular => false,
        Regularity::SingularEverywhere(_) => true,
        _ => jet.is_some(),
    };
    if !is_needed {
        return RepairPart::NotNeeded;
    }
    let symbols = system.equations().symbols();
    let point = |symbol: Symbol| match (symbol, jet) {
        (Symbol::Unknown { unknown, order }, Some(jet)) => jet.derivative(unknown, order as usize),
        (known, _) => symbols.value_at(known, time),
    };
    let known: Option<&dyn Fn(Symbol) -> f64> = jet.is_some().then_some(&point);
    let parameters = system.parameters().values();
    let names = Names::of_system(system);
    let budget = Budget {
        deadline: Some(deadline),
        ..Budget::default()
    };
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
                    "the repaired structure has {found} degrees of freedom, the derivative array {dof}"
                )),
                None if repaired.verdict() == Verdict::Unknown => RepairPart::Unverified(repaired),
                _ => RepairPart::Repaired(repaired),
            }
        }
        Repair::Unknown { because, .. } => RepairPart::Failed(because.to_string()),
        Repair::NotNeeded | Repair::SingularHere { .. } => RepairPart::NotNeeded,
    }
}
