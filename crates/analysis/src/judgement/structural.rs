//! What the pattern of the equations tells, and its repair where it does not hold.

use crate::dae::{FormChoice, Regularity, RepairPart};
use crate::outcome::Indices;
use crate::singular_loci::Source;
use crate::structure::Structure;

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
    /// What was decided about the forms of a model, seen against the degrees of freedom that the ranks decided.
    pub(super) fn new(structure: Structure, choice: FormChoice, dof: Option<usize>) -> Self {
        let mut regularity = choice.standing().clone();
        let repair = choice.repair.confirmed_by(dof);
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
            // Ranks can take for a coefficient what is left of terms that cancel.
            Regularity::SingularEverywhere(_) if dof >= structural => Some(format!(
                "the system Jacobian is 0 by algebra or by rounding, which leaves fewer than {structural} degrees of freedom, and the ranks say {dof}"
            )),
            _ => None,
        }
    }
}
