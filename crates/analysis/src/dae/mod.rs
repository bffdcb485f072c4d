//! Which equations are solved for a model, and whether their structure holds.
//!
//! Every command asks [`System::dae`](crate::System::dae): [`Dae::form_at`] says which form holds at a point, from
//! [`BlockForm::anywhere`] and [`BlockForm::at`], the only owners of the question whether a diagonal block of a system Jacobian is
//! singular. `docs/decisions/0008-one-owner-of-regularity.md` and `docs/decisions/0018-dae.md` say why.

mod choice;
mod neighbours;
mod shape;
mod standing;

pub use crate::tolerances::LARGEST_DENSE;
pub use choice::{Dae, FormChoice, FormId, RepairPart};
pub(crate) use neighbours::beside;
pub(crate) use shape::Shape;
pub(crate) use standing::Places;
pub use standing::{Anywhere, BlockForm, BlockRank, Regularity};
