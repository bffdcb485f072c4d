//! The whole of daelight behind a few calls: what the command line and other front ends use.
//!
//! The pipeline is readable here: a model is named, its text is found, [`load`] makes a
//! [`Model`](daelight_lang::Model) of it, and each command reads that model.
//!
//! ```
//! let loaded = daelight::load("pendulum", &Default::default())?;
//! let model = loaded.model.expect("built-in models are right");
//! assert_eq!((model.equations.len(), model.unknowns.len()), (5, 5));
//! # Ok::<(), Box<daelight_lang::Diagnostic>>(())
//! ```

mod analyze;
mod built_in;
mod drawing;
mod expressions;
mod feedforward;
pub mod files;
mod fixed;
mod init;
mod input;
mod observe;
mod point;
pub mod record;
mod rectangular;
mod reduce;
mod rewriting;
mod samples;
pub mod selftest;
mod signals;
mod solve;
pub mod sweep;
mod zero_dynamics;

pub use analyze::{Place, analyze, analyze_interval, paths, request, system};
pub use built_in::{BuiltIn, built_in_models};
pub use drawing::Drawing;
pub use expressions::add_expressions;
pub use feedforward::{Feedforward, FeedforwardOptions, NoFeedforward, PathError, feedforward};
pub use fixed::{FixedForm, FixedOptions, FixedSolution, NoFixedRun, solve_fixed};
pub use init::{
    InitOptions, conflict_at_start, conflict_diagnostic, init, missing_diagnostic,
    singular_diagnostic, start_request,
};
pub use input::{ModelText, find_text};
pub use observe::{Interrupt, Observer, Progress, Reader};
pub use rectangular::{contradiction, least_norm, rectangular, settled};
pub use reduce::{Written, reduce};
pub use samples::{NamedRows, samples};
pub use signals::{Column, Driven, drive};
pub use solve::{
    Energy, Explained, NoRun, Setup, Solution, SolveOptions, solve, solve_announced,
    solve_prepared, span_of_run,
};
pub use zero_dynamics::{PhaseChange, PointSpectrum, ZeroDynamics};

use daelight_lang::{
    ArrayStyle, Balance, Code, Diagnostic, Loaded, Options, balance, flat_modelica,
};

/// Finds and reads a model: a path, the name of a built-in model, or `-` for standard input.
///
/// Fails only when there is no text; mistakes in the text are diagnostics of the result.
pub fn load(model: &str, options: &Options) -> Result<Loaded, Box<Diagnostic>> {
    let text = find_text(model)?;
    Ok(daelight_lang::load(&text.name, &text.bytes, options))
}

/// A model with its structural balance.
pub struct Checked {
    /// The model and all diagnostics, those of the balance included.
    pub loaded: Loaded,
    /// The balance; `None` when there is no model.
    pub balance: Option<Balance>,
}

impl Checked {
    /// Whether there is a model. One with too many or too few equations is a model too.
    pub fn is_ok(&self) -> bool {
        self.loaded.model.is_some()
    }
}

/// Reads a model and decides which parts have too many or too few equations.
pub fn check(model: &str, options: &Options) -> Result<Checked, Box<Diagnostic>> {
    let mut loaded = load(model, options)?;
    let balance = loaded.model.as_ref().map(balance);
    if let (Some(model), Some(balance)) = (&loaded.model, &balance) {
        loaded.diagnostics.extend(balance.diagnostics(model));
    }
    Ok(Checked { loaded, balance })
}

/// Writes the model as flat Modelica; `Err` when the text would be too long.
pub fn derive(loaded: &Loaded, style: ArrayStyle) -> Option<Result<String, Box<Diagnostic>>> {
    let model = loaded.model.as_ref()?;
    Some(flat_modelica(model, style).map_err(|_| {
        Diagnostic::placeless(
            Code::TooLarge,
            "an expression would be longer than 64 MB as text",
        )
        .note("shared parts, for example of nested functions, are written out each time")
        .help("give the shared part a variable of its own in the model")
        .into()
    }))
}
