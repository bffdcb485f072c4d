//! Implicit methods for F(t, x, x') = 0: stiff models, large ones, and such of higher index as they stand.
//!
//! - [`radau()`]: Radau IIA of order 5 or 9, up to index 3.
//! - [`bdf()`]: backward differentiation of variable order and step, index 1, or index 2 with projection.
//! - [`Problem::of_function`]: the same for equations that only a function knows.
//! - [`bdf_fixed()`]: backward differentiation of constant order and step on anything, to compare forms of a model.
//!
//! The formulas are numbered in `docs/theory/implicit.md`. A run never ends as [`StopReason::Finished`] with a step that was
//! not solved or a number that is not finite. Nothing allocates within steps.
//!
//! ```
//! use daelight_analysis::System;
//! use daelight_lang::{Options as Reading, load};
//! use daelight_stiff::{Hooks, Options, Problem, Start, radau};
//!
//! let text = "model Decay  Real x(start = 1), y;  equation  der(x) = -50*y;  y = x;  end Decay;";
//! let model = load("decay.mo", text.as_bytes(), &Reading::default()).model.expect("the text is right");
//! let system = System::new(&model)?;
//! let mut problem = Problem::new(system.equations(), system.parameters().values())?;
//! let start = Start { t: 0.0, x: &[1.0, 1.0], xp: &[-50.0, -50.0] };
//! let run = radau(&mut problem, start, 0.1, &Options::default(), &mut Hooks::default())?;
//! assert!(run.reason.is_success());
//! assert!((run.x[0] - (-5.0f64).exp()).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![allow(
    clippy::needless_range_loop,
    reason = "loops over the unknowns run through several arrays at once"
)]

mod bdf;
mod bdf_fixed;
mod collocation;
mod complex;
mod decoupled;
mod function;
mod pencil;
mod problem;
mod radau;
mod run;
mod stages;
mod strangeness;
mod tolerances;

pub use bdf::{Bdf, bdf};
pub use bdf_fixed::{Conditioning, FixedOptions, FixedRun, bdf_fixed};
pub use decoupled::bdf_decoupled;
pub use function::{Function, Pattern};
pub use problem::{InputError, Problem};
pub use radau::{Radau, radau};
pub use run::{
    Control, Failure, Failures, Hooks, Interpolant, Observer, Options, Polynomial, Projection, Run,
    Samples, Start, Statistics, Step, Stepper, StopReason, limited,
};
pub use strangeness::bdf_strangeness;
pub use tolerances::FINEST;
