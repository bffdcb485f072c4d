//! Integration of differential-algebraic equations of any index, with every singularity located on the way.
//!
//! A [`Problem`] is made once of equations; a [`Start`] says where to begin; [`taylor::solve`] gives a [`Run`]: the
//! solution as pieces of series ([`Trajectory`]), why it ended ([`StopReason`]), and what it met ([`Singularity`]).
//! The formulas are numbered in `docs/theory/integration.md`. [`implicit::solve`] gives the same [`Run`] by an implicit method,
//! for stiff problems; [`implicit::solve_by_choice`] by the method that suits; [`array::solve`] where the structure does not hold
//! on the solution. [`mod@fixed`] runs backward differentiation with constant steps, to compare forms of a model.
//!
//! ```
//! use daelight_analysis::{Reduced, System};
//! use daelight_integrate::{Options, Problem, Start, StopReason, Tolerances, taylor};
//! use daelight_lang::{Options as Reading, load};
//!
//! let text = "model Pendulum  Real x(start = 1), y(start = 0), u, v, f;
//!             equation  der(x) = u;  der(y) = v;  der(u) = -f*x;  der(v) = -f*y - 9.81;
//!                       x^2 + y^2 = 1;  end Pendulum;";
//! let model = load("pendulum.mo", text.as_bytes(), &Reading::default()).model.expect("the text is right");
//! let system = System::new(&model)?;
//! let reduced = Reduced::new(&system);
//! let parameters = system.parameters().values();
//! let problem = Problem::of_reduced(&system, &reduced)?;
//! let start = Start::of_model(&system, &reduced, &problem, 0.0);
//! let options = Options::new(10.0, Tolerances::of_model(&system, &reduced, 1e-9));
//! let run = taylor::solve(&problem, &start, &options)?;
//! assert_eq!(run.stop, StopReason::Finished);
//! assert!(run.residual() < 1e-10);
//! let x = run.trajectory.evaluate(10.0, 0, 0).expect("within the run");
//! assert!((x - 0.275_087_462_576).abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod arguments;
pub mod array;
mod blocks;
mod bordered;
mod code;
pub mod exchange;
pub mod fixed;
mod hermite;
pub mod implicit;
mod inspect;
mod judge;
pub mod lanes;
mod locate;
mod monitor;
mod nudges;
mod options;
mod outcome;
mod problem;
mod sliding;
mod stages;
mod start;
mod states;
mod step;
mod stiffness;
pub mod taylor;
mod tolerances;
mod trajectory;
pub mod watch;

pub use arguments::Argument;
pub use daelight_stiff::Statistics;
pub use inspect::{Inspection, Inspector};
pub use options::{OnSingularity, Options, Output, Tolerances, Watch, Watched};
pub use outcome::{
    BudgetKind, Evidence, Expected, Failure, Jump, Nature, RatioFit, Run, Singularity, Slide,
    StopReason, Switch,
};
pub use problem::{Problem, ProblemError};
pub use start::{QuickStart, QuickStarts, Start, StartError, quick_start};
pub use tolerances::MAX_RESIDUAL;
pub use trajectory::{Beside, SavedPoint, Segment, Trajectory};
