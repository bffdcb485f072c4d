//! The singular configurations of a model's constraints, exactly and before any run.
mod cases;
mod constraints;
mod convert;
mod eliminate;
mod exact;
mod field;
mod flats;
mod locus;
mod mechanism;
mod ring;
mod waves;

pub use cases::{Case, Cases, Class, Rotation, case, jacobian};
pub use constraints::{Constraints, Kept, Question, Row, position_constraints};
pub use convert::Angle;
pub use eliminate::Undecided;
pub use exact::{ExactCases, exact_cases};
pub use field::{ExactField, Field, Matrix, PrimeField, rank};
pub use flats::{Flat, Flats, Forms, flat_of};
pub use locus::{CaseConditions, Choice, Conditioned, Leg, Locus, LocusComponent, LocusFactor};
pub use mechanism::{Column, Direction, Mechanism};
pub use ring::{Meaning, Ring, Variable};
pub use waves::{Multiples, Waves};
