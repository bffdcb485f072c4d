//! daelight as a library: what its command line, Python and other front ends use.
//!
//! This file is the pipeline. A text is read as a [`Model`]; its equations are a [`System`]; at a consistent point that system has a
//! [`Passport`], from there it has a run; and whatever is found becomes a [`record`], from which `daelight_show` makes all that
//! people see.
//!
//! ```
//! let loaded = daelight::load("pendulum", &Default::default())?;
//! let system = daelight::system(&loaded.model.expect("built-in models are right"))?;
//! let passport = daelight::analyze(&system, &Default::default())?;
//! let record = daelight::record::analyze(&system, &passport, false);
//! assert_eq!((record.differentiation.index, record.free.len()), (Some(3), 2));
//! # Ok::<(), Box<daelight_lang::Diagnostic>>(())
//! ```

mod analyze;
mod built_in;
mod corner;
mod drawing;
mod estimate;
mod exchange;
mod explain;
mod expressions;
mod feedforward;
pub mod files;
mod fit;
mod fixed;
mod floating;
mod folders;
mod gradient;
pub mod hybrid;
mod init;
mod input;
mod linearize;
mod observe;
mod parts;
mod point;
mod pull;
pub mod record;
mod rectangular;
mod reduce;
mod response;
mod rewriting;
mod samples;
pub mod selftest;
mod sensitivity;
mod session;
mod signals;
mod singular_time;
mod solve;
mod stop_time;
pub mod sweep;
mod tolerances;
mod zero_dynamics;

pub use analyze::{Place, analyze_interval, paths, request};
pub use built_in::{BuiltIn, built_in_models};
pub use drawing::Drawing;
pub use estimate::{add_estimate, add_estimate_with_events};
pub use exchange::{Exchange, Moved, Slopes, Updated, exchange_states};
pub use explain::{Explanation, entries, explain};
pub use expressions::add_expressions;
pub use feedforward::{Feedforward, FeedforwardOptions, NoFeedforward, PathError, feedforward};
pub use fit::{Fit, FitEnd, FitOptions, Fitted, FittedColumn, NoInterval, fit};
pub use fixed::{ConstantSteps, FixedForm, FixedSolution, NoFixedRun, solve_fixed};
pub use folders::library_folders;
pub use gradient::{Gradient, Loss, all_parameters, gradient, inside_integral};
pub use hybrid::indicator_texts;
pub use init::{
    InitOptions, conflict_diagnostic, missing_diagnostic, refused_at_start, singular_diagnostic,
    start_request,
};
pub use input::{ModelText, find_text, unknown_class};
pub use linearize::{Linearization, LinearizeOptions, linearize};
pub use observe::{ExpressionReader, Interrupt, Progress, Reader};
pub use parts::{PartsExample, parts_examples};
pub use pull::{Pulled, PulledPosition};
pub use rectangular::{contradiction, contradiction_at, least_norm, rectangular, settled};
pub use reduce::{Written, reduce};
pub use response::responses;
pub use samples::{NamedRows, samples};
pub use sensitivity::{Sensitivities, sensitivities, sensitivities_with_events};
pub use session::{MOST_INPUT_DERIVATIVES, Seen, Session, Stepped};
pub use signals::{Driven, InputColumn, drive, times_differentiated};
pub use singular_time::TimeDerivative;
pub use solve::{
    Energy, Explained, NoRun, Setup, Solution, SolveOptions, add_other_starts, solve_announced,
    solve_prepared, span_of_run,
};
pub use stop_time::StopDerivative;
pub use zero_dynamics::{PhaseChange, PointSpectrum, ZeroDynamics};

use daelight_analysis::System;
use daelight_analysis::passport::Passport;
use daelight_analysis::start::{Outcome, StartRequest, find_start};
use daelight_lang::{
    ArrayStyle, Balance, Code, Diagnostic, Hybrid, Loaded, Model, Options, SourceId, UnitCheck,
    flat_modelica,
};
use daelight_singular::{Question, SearchLimits, SearchProgress as Search, SingularAnswer};

/// Finds and reads a model: a path, the name of a built-in model, the dotted name of a class in a library, or `-` for
/// standard input.
///
/// Fails only when there is no text; mistakes in the text are diagnostics of the result.
pub fn load(model: &str, options: &Options) -> Result<Loaded, Box<Diagnostic>> {
    load_with(model, options, Relations::Kinks)
}

/// What relations are that nothing but equations reads, as those of ideal diodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relations {
    /// Part of the equations, which have kinks there.
    Kinks,
    /// Conditions of modes, if the index or the degrees of freedom depend on them.
    Modes,
    /// Conditions of modes.
    AllModes,
}

/// What may choose between equations with different unknowns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deciders {
    /// Relations that make events.
    Relations,
    /// These, `min`, `max`, and relations that make none.
    Kinks,
}

/// The same, where relations may be conditions of modes.
pub fn load_with(
    model: &str,
    options: &Options,
    relations: Relations,
) -> Result<Loaded, Box<Diagnostic>> {
    let mut options = options.clone();
    let text = text_of(model, &mut options)?;
    let loaded = load_text(&text, options, relations);
    match unknown_class(model, &loaded) {
        Some(unknown) => Err(unknown.into()),
        None => Ok(loaded),
    }
}

/// The text behind `MODEL`, which may be a class of a library, with the folders where libraries are looked for.
pub fn text_of(model: &str, options: &mut Options) -> Result<ModelText, Box<Diagnostic>> {
    let files = options
        .files
        .get_or_insert_with(|| library_folders(&[], model));
    find_text(model).or_else(
        |unknown| match folders::text_of_class(model, files.as_ref()) {
            Some(text) => Ok(ModelText {
                name: model.to_string(),
                bytes: text.into_bytes(),
            }),
            None => Err(unknown),
        },
    )
}

/// Reads the text of a model.
pub fn load_text(text: &ModelText, mut options: Options, relations: Relations) -> Loaded {
    let loaded = daelight_lang::load(&text.name, &text.bytes, &options);
    let is_plain = |model: &&Model| model.hybrid.is_none();
    let Some(plain) = loaded.model.as_ref().filter(is_plain) else {
        return loaded;
    };
    let ways = match relations {
        Relations::Kinks => return loaded,
        Relations::Modes => [Deciders::Relations, Deciders::Kinks],
        Relations::AllModes => [Deciders::Kinks, Deciders::Relations],
    };
    options.holds_relations = true;
    for deciders in ways {
        let is_listed = relations == Relations::AllModes && deciders == Deciders::Relations;
        if !is_listed && !hybrid::switches_unknowns(plain, deciders) {
            continue;
        }
        options.holds_kinks = deciders == Deciders::Kinks;
        let held = daelight_lang::load(&text.name, &text.bytes, &options);
        let has_modes = held.model.as_ref().is_some_and(|model| {
            let found = model.hybrid.as_ref().is_some_and(|h| !h.mode.is_empty());
            found && (is_listed || hybrid::changes_kind(model, deciders))
        });
        if has_modes {
            return held;
        }
    }
    loaded
}

/// Decides which parts of a model have too many or too few equations, and adds that to its diagnostics.
pub fn check(loaded: &mut Loaded) -> Option<Balance> {
    let model = loaded.model.as_ref()?;
    let balance = daelight_lang::balance(model);
    loaded.diagnostics.extend(balance.diagnostics(model));
    let joins_parts = |equation: &daelight_lang::Equation| equation.instance.flow.is_some();
    if balance.is_balanced()
        && model.unknowns.len() <= 5 * daelight_analysis::dae::LARGEST_DENSE
        && model.equations.iter().any(joins_parts)
        && let Ok(system) = system(model)
    {
        loaded.diagnostics.extend(floating::without_ground(&system));
    }
    Some(balance)
}

/// Looks whether the units of what is added, compared and made equal are the same, and adds that to the diagnostics.
pub fn check_units(loaded: &mut Loaded, units: UnitCheck) {
    if let Some(model) = &loaded.model {
        let found = daelight_lang::check_units(model, units);
        loaded.diagnostics.extend(found);
    }
}

/// What a run tells of units: how many places of the model's own text mix them, and the first one. Texts of libraries are theirs.
pub fn unit_remark(model: &Model) -> Option<String> {
    let found = own_units(model);
    let first = found.first()?;
    let places = match found.len() {
        1 => String::new(),
        n => format!("in {n} places, first "),
    };
    Some(format!(
        "Units do not match {places}in {}: {} ({}); `daelight check` shows it in the text.",
        model.sources.place(first.span?),
        first.message,
        first.label
    ))
}

/// What is wrong with units in the model's own text.
pub(crate) fn own_units(model: &Model) -> Vec<Diagnostic> {
    let is_own = |found: &Diagnostic| found.span.is_some_and(|span| span.source == SourceId(0));
    let mut found = daelight_lang::check_units(model, UnitCheck::default());
    found.retain(is_own);
    found
}

/// Refuses models with events, for work that knows one set of equations only.
pub fn without_events(hybrid: Option<&Hybrid>) -> Result<(), Box<Diagnostic>> {
    match hybrid {
        None => Ok(()),
        Some(_) => Err(Diagnostic::placeless(
            Code::Unsupported,
            "the model has events, and its equations change with them",
        )
        .help("`check`, `init`, `analyze`, `solve`, `report` and `fmu` take it; for this describe the model between two events")
        .into()),
    }
}

/// Writes a model as flat Modelica; `Err` when the text would be too long.
pub fn derive(model: &Model, style: ArrayStyle) -> Result<String, Box<Diagnostic>> {
    flat_modelica(model, style).map_err(|_| {
        let message = "an expression would be longer than 64 MB as text";
        Diagnostic::placeless(Code::TooLarge, message)
            .note("shared parts, for example of nested functions, are written out each time")
            .help("give the shared part a variable of its own in the model")
            .into()
    })
}

/// The equations of a model, ready to be evaluated. [`drive`] makes them with inputs from data.
pub fn system(model: &Model) -> Result<System, Box<Diagnostic>> {
    System::new(model).map_err(analyze::system_error)
}

/// Finds the consistent start closest to what is asked for, or says what stands against one.
pub fn start(system: &System, request: &StartRequest) -> Outcome {
    find_start(system, request)
}

/// Analyses a model at a point: every index notion, what is free, hidden constraints, where it becomes singular.
pub fn analyze(system: &System, place: &Place) -> Result<Passport, Box<Diagnostic>> {
    without_events(system.hybrid())?;
    Ok(Passport::new(system, &request(system, place)?))
}

/// Integrates a model: consistent start, form of the equations, run, and what its singularities are.
pub fn solve(system: &System, options: &SolveOptions) -> Result<Solution, NoRun> {
    solve_announced(system, options, &mut |_| {})
}

/// Finds where the constraints of a model lose rank, exactly and before any run.
pub fn singular(
    model: &Model,
    question: &Question,
    limits: &SearchLimits,
    tell: &dyn Fn(Search),
) -> Result<SingularAnswer, Vec<Diagnostic>> {
    without_events(model.hybrid.as_deref()).map_err(|diagnostic| vec![*diagnostic])?;
    daelight_singular::answer_with_progress(model, question, limits, tell)
}
