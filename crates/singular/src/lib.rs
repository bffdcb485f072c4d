//! The singular configurations of a model's constraints, exactly and before any run.
//!
//! A value for each stage: [`Constraints`] (trigonometric polynomials with exact coefficients), [`Mechanism`] (absolute
//! directions and the columns of the Jacobian), [`Cases`] (every way to lose rank, by flats of the forces), [`Conditioned`]
//! (what the cases demand of the parameters), [`Piece`] (a case with a choice of senses: a small system of polynomials) and
//! [`Configuration`] (its real points). [`answer`] runs all of them. `docs/theory/configurations.md` derives the way.
//!
//! ```
//! use daelight_lang::{Options, load};
//! use daelight_singular::{Kept, Question, SearchLimits, answer};
//!
//! let text = "model Crank  parameter Real r = 1, l = 3;  Real p, q, x;
//!             equation  r*cos(p) + l*cos(q) = x;  r*sin(p) + l*sin(q) = 0;  end Crank;";
//! let model = load("crank.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
//! let question = Question { parameters: Kept::All, ..Question::default() };
//! let answer = answer(&model, &question, &SearchLimits::default()).expect("the constraints are algebraic");
//! assert_eq!(answer.words[0].conditions, ["cos(p) = 0", "cos(q) = 0"]);
//! let locus = answer.locus.as_ref().expect("r and l are symbols");
//! let factors: Vec<String> = locus.factors.iter().map(|f| answer.text(&f.polynomial)).collect();
//! assert_eq!(factors, ["r - l", "r + l"]);
//! assert!(locus.factors[0].is_physical && !locus.factors[1].is_physical);
//! ```

#![forbid(unsafe_code)]

mod answer;
mod assembly;
mod cases;
mod conditions;
mod constraints;
mod convert;
mod counter;
mod curves;
mod eliminate;
mod exact;
mod field;
mod flats;
mod kinematics;
mod locus;
mod mechanism;
mod number;
mod pieces;
mod points;
mod regions;
mod ring;
mod sets;
mod waves;
mod words;

pub use answer::{
    SearchLimits, SearchProgress, SearchStage, SingularAnswer, SingularVerdict, answer,
    answer_with_progress,
};
pub use cases::{BodyClass, Case, Cases, Missing, Rotation, case, jacobian};
pub use conditions::{AlgebraicNumber, Between, Conditions, CountCondition, Quantity};
pub use constraints::{Constraint, Constraints, Kept, Question};
pub use convert::Angle;
pub use counter::{Counted, Counter};
pub use curves::CurveCount;
pub use eliminate::Undecided;
pub use exact::{ExactCases, exact_cases};
pub use field::{ExactField, Field, Matrix, PrimeField, rank};
pub use flats::{Flat, FlatBudget, Flats, Forms, flat_of};
pub use kinematics::position_constraints;
pub use locus::{
    CaseConditions, Choice, Conditioned, Leg, LocusComponent, LocusFactor, ParameterLocus,
};
pub use mechanism::{Direction, JacobianColumn, Mechanism};
pub use number::{Number, SingularManifold, number};
pub use pieces::Piece;
pub use points::{Configuration, Coordinates, Joined, PieceState, join};
pub use regions::{CommonPart, CountedPiece, Region, Regions};
pub use ring::{Ring, Variable, VariableKind};
pub use sets::SingularSet;
pub use waves::{Multiples, Waves};
pub use words::CaseWords;
