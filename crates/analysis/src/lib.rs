//! From a model to numbers: the equations of a differential-algebraic system, ready to be evaluated.
//!
//! [`System`] is the model as written, F(t, x, x') = 0, with everything the analysis reads of it: values,
//! Jacobians, and the series F_k, E_k, B_k along a jet. [`Reduced`] is the same system with its trivial
//! equations removed, for evaluation only, and the way back to the user's unknowns.
//! `docs/theory/system.md` has the formulas.
//!
//! [`structure`] says what kind of system it is from the pattern alone: which unknown occurs where, and
//! how often differentiated.
//!
//! Everything numerical is decided from E = dF/dx' and B = dF/dx as matrix series ([`MatrixSeries`]); the formulas are
//! numbered in `docs/theory/indices.md`. [`decide::decide`] asks the deciders below and answers only where they agree:
//!
//! - [`reduction`]: eliminates constraints level by level, in series. One small computation yields every index.
//! - [`array`](mod@array): ranks of the derivative array, 1-fullness and projectors.
//! - [`chain`]: the tractability matrix chain, and the kind of a critical point.
//!
//! ```
//! use daelight_analysis::{Reduced, System};
//! use daelight_lang::{Options, load};
//!
//! let text = "model Fall  parameter Real g = 9.81;  Real h(start = 1), v;
//!             equation  der(h) = v;  der(v) = -g;  end Fall;";
//! let model = load("fall.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
//! let system = System::new(&model)?;
//! let mut evaluator = system.evaluator();
//! evaluator.set(0, &[1.0, 0.0]);
//! evaluator.set(1, &[0.0, -9.81]);
//! let mut residuals = [1.0; 2];
//! evaluator
//!     .residuals(&mut residuals)
//!     .map_err(|fault| system.explain(&fault).sentence)?;
//! assert_eq!(residuals, [0.0, 0.0]);
//!
//! let reduced = Reduced::new(&system);
//! assert_eq!(reduced.equations().n_unknowns(), 1);
//! assert_eq!(reduced.text(&system, 1, 80).as_deref(), Some("der(h)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod affine;
pub mod array;
pub mod chain;
pub mod decide;
pub mod dense;
pub mod elimination;
mod equations;
mod explain;
pub mod fullness;
pub mod hidden;
pub mod initial;
mod inputs;
pub mod outcome;
mod parameters;
pub mod passport;
pub mod reduction;
pub mod scaling;
pub mod series;
pub mod start;
pub mod structure;
pub mod system;

pub use array::DerivativeArray;
pub use decide::{Answer, Decision, Outcome, Question, decide};
pub use elimination::{Recovery, Reduced};
pub use equations::{Assembly, Equations, Evaluator};
pub use explain::FaultPlace;
pub use outcome::{Because, Indices, Stage, Strangeness};
pub use parameters::{ParameterError, Parameters};
pub use reduction::Reduction;
pub use series::MatrixSeries;
pub use system::{System, SystemError, UnknownInfo};
