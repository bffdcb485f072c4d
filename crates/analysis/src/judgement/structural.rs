//! What the pattern of the equations tells, and its repair where it does not hold.

use crate::System;
use crate::dae::{BlockForm, BlockRank, Regularity, RepairPart, repaired_at};
use crate::initial::{TaylorJet, nominal};
use crate::outcome::Indices;
use crate::singular_loci::Source;
use crate::structure::Structure;
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
        let form = BlockForm::new(system.equations(), &structure, system.parameters().values());
        let mut regularity = match jet {
            Some(jet) => form.at(time, jet, &nominal(system), &generic),
            None if generic.is_empty() => {
                Regularity::Unknown("there is no point to look at".to_string())
            }
            None => Regularity::SingularEverywhere(generic),
        };
        let repair = repair_part(system, &regularity, time, jet, dof, deadline);
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

    /// The structure whose blocks have loci: the repaired one, or that of the model where it is right.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        match (&self.repair, &self.regularity) {
            (RepairPart::Repaired(repaired) | RepairPart::Unverified(repaired), _) => {
                Some(Source::Repaired(repaired))
            }
            (_, Regularity::SingularEverywhere(_)) => None,
            _ => Some(Source::Written(&self.structure)),
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
                "degrees of freedom: {structural} proved by the structure, {dof} by ranks"
            )),
            Regularity::Regular if nu > self.structure.structural_index() => Some(format!(
                "the structure proves an index of at most {}, the ranks say {nu}",
                self.structure.structural_index()
            )),
            Regularity::SingularHere(_) if dof >= structural => Some(
                "the system Jacobian is singular there, but the ranks of its derivatives do not show it: the values of such a point are known to half their digits only"
                    .to_string(),
            ),
            _ => None,
        }
    }
}

/// Repairs a structure that is singular everywhere, or along the solution, and compares the result with the array.
fn repair_part(
    system: &System,
    regularity: &Regularity,
    time: f64,
    jet: Option<&TaylorJet>,
    dof: Option<usize>,
    deadline: Instant,
) -> RepairPart {
    match regularity {
        Regularity::Regular => return RepairPart::NotNeeded,
        Regularity::SingularEverywhere(_) => {}
        _ if jet.is_none() => return RepairPart::NotNeeded,
        _ => {}
    }
    let point = jet.map(|jet| (time, jet));
    repaired_at(system, point, dof, Some(deadline))
}
