//! Which equations are solved for a model, and whether their structure holds.
//!
//! Every command asks here: [`BlockForm::anywhere`] and [`BlockForm::at`] are the only owners of the question whether a diagonal block
//! of a system Jacobian is singular. `docs/decisions/0008-one-owner-of-regularity.md` says why.

mod choice;
mod neighbours;
mod standing;

pub use crate::tolerances::LARGEST_DENSE;
pub use choice::{RepairPart, repaired_at};
pub(crate) use neighbours::beside;
pub(crate) use standing::Places;
pub use standing::{Anywhere, BlockForm, BlockRank, Regularity};
