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
//! [`repair`](mod@repair) rewrites equations whose structure is wrong, so that it becomes right; `docs/theory/repair.md`.
//!
//! Everything numerical is decided from E = dF/dx' and B = dF/dx as matrix series ([`MatrixSeries`]); the formulas are
//! numbered in `docs/theory/indices.md`. [`decide::decide`] asks the deciders below and answers only where they agree:
//!
//! - [`reduction`]: eliminates constraints level by level, in series. One small computation yields every index.
//! - [`array`](mod@array): ranks of the derivative array, 1-fullness and projectors.
//! - [`chain`]: the tractability matrix chain, and the kind of a critical point.
//!
//! Linear systems of any shape have more to tell; the formulas are in `docs/theory/linear.md`:
//!
//! - [`linear`]: recognises them and expands E, A and f at any time.
//! - [`canonical`]: the canonical form with its transformations, all solutions, the reduced system, conditions on f.
//! - [`interval`]: where on an interval the quantities are constant, the points between, and what fails there.
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

mod admission;
mod affine;
pub mod array;
pub mod canonical;
pub mod chain;
mod completed;
pub mod dae;
pub mod decide;
pub mod dense;
pub mod edge;
pub mod elimination;
mod equations;
mod explain;
pub mod floating;
pub mod fullness;
pub mod hidden;
pub mod index_reduction;
pub mod initial;
mod inputs;
pub mod interval;
pub mod judgement;
pub mod levels;
pub mod linear;
pub mod linearize;
pub mod locus;
mod locus_zeros;
pub mod outcome;
mod parameters;
pub mod passport;
pub mod prescribed;
pub mod reduction;
pub mod repair;
mod roots;
pub mod scaling;
pub mod series;
pub mod sharpen;
pub mod singular_loci;
pub mod sizes;
mod sliding;
pub mod smoothness;
pub mod spectrum;
mod stall;
pub mod start;
pub mod structure;
pub mod system;
pub mod tangent;
mod tolerances;

pub use array::DerivativeArray;
pub use canonical::{CanonicalForm, ReducedDae};
pub use completed::{Completed, FirstOrder};
pub use decide::{
    Answer, Comparison, Decision, IndexQuestion, IndexVerdict, compare_with_random_jets, decide,
};
pub use elimination::{Recovery, Reduced};
pub use equations::{Assembly, Equations, Evaluator};
pub use explain::FaultPlace;
pub use inputs::signal_orders;
pub use interval::IntervalAnalysis;
pub use linear::{LinearFamily, LinearSeries, LinearSystem, NotLinear};
pub use outcome::{Because, Indices, Stage, Strangeness};
pub use parameters::{ParameterError, Parameters};
pub use reduction::Reduction;
pub use roots::PlacedRoot;
pub use series::MatrixSeries;
pub use sharpen::{NotSharper, Sharpened};
pub use spectrum::{FiniteEigenvalue, Spectrum};
pub use system::{System, SystemError, UnknownInfo};
