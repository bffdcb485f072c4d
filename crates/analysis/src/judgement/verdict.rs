//! What kind of point it is: the parts weighed against each other.

use super::numerical::NumericalPart;
use super::structural::StructuralPart;
use crate::chain::CriticalKind;
use crate::dae::Regularity;
use crate::decide::IndexVerdict;
use crate::structure::StructurallySingular;
use crate::tolerances::SAME_INSTANT;

/// What kind of point it is.
#[derive(Clone, Debug, PartialEq)]
pub enum PointVerdict {
    /// All deciders agree on constant ranks: the indices exist.
    Regular,
    /// Ranks change at the point: no index exists there.
    Singular {
        /// How, if the matrix chain tells.
        kind: Option<CriticalKind>,
    },
    /// Not decided, and why.
    Unknown {
        /// One sentence.
        because: String,
    },
}

/// What the jet stands for at which the ranks were looked at.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Evidence {
    /// A consistent point, or a linear system, whose matrices are the same at all points of a time.
    Point,
    /// The search ended at a linear stage without a solution: the matrix of the point is singular.
    SingularStage,
    /// The search ended somewhere.
    None,
}

/// Weighs what the parts say. Doubt anywhere is doubt.
pub(super) fn verdict(
    time: f64,
    evidence: Evidence,
    structural: Option<&Result<StructuralPart, StructurallySingular>>,
    numerical: &Result<NumericalPart, String>,
) -> PointVerdict {
    let part = match numerical {
        Ok(part) => part,
        Err(because) => {
            return PointVerdict::Unknown {
                because: because.clone(),
            };
        }
    };
    let singular_here = matches!(
        structural,
        Some(Ok(StructuralPart {
            regularity: Regularity::SingularHere(_),
            ..
        }))
    );
    let kind = part.kind;
    // Changes faster than the time can be told apart are no evidence of a regular point.
    let resolved = part.decision.scaling.time > SAME_INSTANT * time.abs();
    match &part.decision.outcome {
        _ if evidence == Evidence::None => PointVerdict::Unknown {
            because: "no consistent point was found; ranks at other points prove nothing"
                .to_string(),
        },
        IndexVerdict::Critical { .. } => PointVerdict::Singular { kind },
        IndexVerdict::Regular(_) if singular_here && !resolved => PointVerdict::Singular { kind },
        IndexVerdict::Unknown { .. }
            if singular_here && kind.is_some() && part.along_the_jet().is_none() =>
        {
            PointVerdict::Singular { kind }
        }
        _ if evidence == Evidence::SingularStage && singular_here && kind.is_some() => {
            PointVerdict::Singular { kind }
        }
        _ if evidence == Evidence::SingularStage => PointVerdict::Unknown {
            because: "no consistent point was found; ranks at other points prove nothing"
                .to_string(),
        },
        _ if !resolved => PointVerdict::Unknown {
            because: format!(
                "the coefficients change within {:.0e} of the time, which rounding blurs",
                part.decision.scaling.time
            ),
        },
        outcome => match (part.along_the_jet(), outcome) {
            (Some(indices), _) => match part
                .contradiction(indices)
                .or_else(|| structural?.as_ref().ok()?.contradiction(indices))
            {
                Some(because) => PointVerdict::Unknown { because },
                None => PointVerdict::Regular,
            },
            (None, IndexVerdict::Unknown { because }) => PointVerdict::Unknown {
                because: because.to_string(),
            },
            (None, _) => PointVerdict::Unknown {
                because: "the ranks along the jet are not decided".to_string(),
            },
        },
    }
}
