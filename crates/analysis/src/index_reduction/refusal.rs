//! Why a model was not reduced, and what to do instead.

use super::rows::MAX_NODES;
use super::selection::NoSelection;
use crate::initial::NoPoint;
use std::fmt;

/// Why there is no reduced model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The numbers of equations and unknowns differ.
    Rectangular {
        /// Number of equations.
        m: usize,
        /// Number of unknowns.
        n: usize,
    },
    /// The numbers differ, and the equations are not linear.
    NotLinear(String),
    /// There are no unknowns.
    Empty,
    /// Some equations are too many for their unknowns.
    StructurallySingular,
    /// No consistent point was found.
    NoPoint(NoPoint),
    /// The point is singular: no index exists there.
    Singular,
    /// An index exists at the point, but not by the structure: the solution stays where a block of the system Jacobian is singular.
    StructureFails,
    /// What the model is at the point was not decided.
    Undecided(String),
    /// No derivatives could be selected.
    NoSelection(NoSelection),
    /// An expression would grow beyond the budget.
    TooLarge,
    /// An equation cannot be solved for what it determines.
    NotSolvable {
        /// The unknown or derivative, in the user's names.
        name: String,
    },
    /// The strangeness-free form has no text.
    NoText(String),
    /// The reduced model does not pass its own check.
    NotVerified(String),
}

impl Refusal {
    /// One thing to do.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Rectangular { .. } | Self::StructurallySingular => {
                "`daelight check` shows which equations and unknowns do not match"
            }
            Self::NotLinear(_) => {
                "give the missing equations with --free x=expression, or remove what is too much"
            }
            Self::Empty => "declare unknowns, or choose another model of the text with --model",
            Self::NoPoint(NoPoint::TooLarge { .. }) => "reduce a smaller version of the model",
            Self::NoPoint(_) => "give start values closer to a solution",
            Self::Singular => "choose another time with --at, or other start values",
            Self::StructureFails => {
                "divide equations by factors of unknowns that never vanish, and remove multiples of equations from others; `daelight solve` runs the model as it is"
            }
            Self::Undecided(_) | Self::NoSelection(_) => {
                "`daelight analyze` shows what is unclear; choose another point with --at"
            }
            Self::TooLarge => "use --method dummy --form implicit, which needs no elimination",
            Self::NotSolvable { .. } => "use --form semi-explicit",
            Self::NoText(_) => "use --method minimal",
            Self::NotVerified(_) => {
                "use --method dummy --form implicit, or another point with --at"
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rectangular { m, n } => write!(
                f,
                "a model with {m} equations for {n} unknowns has no index to reduce"
            ),
            Self::NotLinear(because) => write!(
                f,
                "only linear models are reduced where equations and unknowns do not match; this one is {because}"
            ),
            Self::Empty => write!(f, "a model without unknowns has no index to reduce"),
            Self::StructurallySingular => {
                write!(
                    f,
                    "no equation is left for some unknowns, so there is no index to reduce"
                )
            }
            Self::NoPoint(NoPoint::Stalled { residual, .. }) if residual.is_finite() => write!(
                f,
                "no consistent point was found (relative residual {residual:.1e}), so the structure cannot be judged"
            ),
            Self::NoPoint(NoPoint::TooLarge { rows }) => write!(
                f,
                "the search for a consistent point would need {rows} rows at once, which is too many"
            ),
            Self::NoPoint(_) => write!(
                f,
                "no consistent point was found, so the structure cannot be judged"
            ),
            Self::Singular => write!(f, "the point is singular: no index exists there"),
            Self::StructureFails => write!(
                f,
                "the structure of the equations tells nothing here: the solution stays where a block of the system Jacobian is singular"
            ),
            Self::Undecided(because) => write!(f, "the index at the point is undecided: {because}"),
            Self::NoSelection(NoSelection::Singular { block, pivot }) => write!(
                f,
                "no states can be selected: block {} of the system Jacobian has a relative pivot of {pivot:.1e}",
                block + 1
            ),
            Self::NoSelection(NoSelection::Numbers(error)) => {
                write!(f, "no states can be selected: {error}")
            }
            Self::TooLarge => write!(
                f,
                "the reduced equations would become too long: the elimination takes more than {MAX_NODES} operations"
            ),
            Self::NotSolvable { name } => write!(
                f,
                "there is no explicit form: no equation is linear in {name} with a factor that is known before"
            ),
            Self::NoText(because) => {
                write!(
                    f,
                    "the strangeness-free form cannot be written as text: {because}"
                )
            }
            Self::NotVerified(what) => write!(f, "the reduced model failed its own check: {what}"),
        }
    }
}

impl std::error::Error for Refusal {}
