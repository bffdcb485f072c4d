//! From a model to a trajectory: the consistent start, the equations as the integrator wants them, the run, and what its
//! singularities are.

mod explain;
mod integrate;
mod many;
mod quick;
mod remarks;
mod route;
mod setup;
mod solution;
pub(crate) mod start;
mod watching;

pub use explain::Explained;
pub(crate) use many::{Bench, Ensemble};
pub use remarks::add_other_starts;
pub use setup::Setup;
pub use solution::{Energy, Solution};

use crate::analyze::{Place, silent_inputs};
use crate::estimate::TOLD;
use crate::observe::{Interrupt, Progress};
use crate::record::side_note;
use crate::tolerances::{RTOL, SAME, SLIGHT};
use crate::zero_dynamics::ZeroDynamics;
use daelight_analysis::System;
use daelight_analysis::initial::{ConsistentPoint, Request, Spot};
use daelight_analysis::passport::Passport;
use daelight_analysis::sizes::error_sizes;
use daelight_analysis::start::singular_at;
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::{
    BudgetKind, OnSingularity, Options, Output, Run, StartError, StopReason, Switch, Tolerances,
};
use daelight_lang::{Diagnostic, Experiment, Symbol};
use daelight_show::{count, told_time};
use integrate::Attempt;
use remarks::{
    backwards, coarse_signals, moved_by_equations, moved_start, small_without_size,
    start_beyond_bounds, without_size,
};
pub(crate) use route::Route;
use start::{deepened, in_time, no_start};
pub(crate) use start::{going_on, start_point, start_request, unchecked};
use std::sync::Arc;
use std::time::{Duration, Instant};
use watching::Scans;

/// Orders of the jet at the start; more than the highest derivative in reduced equations.
pub(crate) const START_ORDER: usize = 6;

/// Part of the tolerance asked for that the steps of the series are given; it costs 8 to 18 % more of them.
pub(crate) const SAFETY: f64 = 1e-2;

/// An implicit method's pieces may disagree at their ends by this many tolerances.
pub(crate) const SAME_START_TOLERANCES: f64 = 1e3;

/// What a run is asked for; what is left open comes from the model's experiment.
///
/// ```
/// use daelight::{SolveOptions, solve};
///
/// let loaded = daelight::load("pendulum", &Default::default())?;
/// let model = loaded.model.expect("built-in models are right");
/// let system = daelight::system(&model)?;
/// let options = SolveOptions {
///     to: Some(1.0),
///     rtol: Some(1e-9),
///     ..SolveOptions::default()
/// };
/// let solution = solve(&system, &options).ok().expect("the pendulum has a start");
/// assert_eq!(solution.reached(), 1.0);
/// assert!(solution.singularities.is_empty() && solution.run.residual() < 1e-10);
/// # Ok::<(), Box<daelight_lang::Diagnostic>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SolveOptions {
    /// Where it begins.
    pub from: Option<f64>,
    /// Where it ends.
    pub to: Option<f64>,
    /// Relative tolerance.
    pub rtol: Option<f64>,
    /// Absolute tolerance in units of nominal; by default the relative one.
    pub atol: Option<f64>,
    /// The method; by default the one that suits the problem.
    pub method: Option<Method>,
    /// Order of the series.
    pub order: Option<usize>,
    /// Whether to pass removable singularities.
    pub continues: bool,
    /// Whether what accumulating events set rests behind their limit; otherwise the run ends there.
    pub rests_at_zeno: bool,
    /// Most steps.
    pub max_steps: Option<usize>,
    /// Most time for the start and the run together.
    pub budget: Option<Duration>,
    /// Values to start from.
    pub place: Place,
    /// What ends a leg of a run with events.
    pub events: Option<Arc<crate::hybrid::Events>>,
    /// What may end the run from outside.
    pub interrupt: Option<Arc<Interrupt>>,
    /// How far states are moved after every step, in tolerances of the steps, to see what becomes of small errors.
    pub nudge: f64,
    /// What is told the time reached after every step.
    pub progress: Option<Progress>,
    /// Whether singularities are told without their loci and kinds, and nothing of zero dynamics, which take longer than the run: for
    /// measures.
    pub unexplained: bool,
    /// Whether its forces are fed to another model, so that it is an inverse one even if all of its path rests.
    pub is_inverse: bool,
}

impl SolveOptions {
    /// The options of what follows in the time that is left of the budget, given when it began to run.
    pub fn after(&self, began: Instant) -> Self {
        let mut rest = self.clone();
        for budget in [&mut rest.budget, &mut rest.place.budget] {
            *budget = budget.map(|all| all.saturating_sub(began.elapsed()));
        }
        rest
    }
}

/// Why there is no run.
pub enum NoRun {
    /// The model or its values are at fault.
    Fault(Box<Diagnostic>),
    /// There are more or fewer equations than unknowns, or parts that do not match.
    NotSquare,
    /// No start was found; the passport tells more.
    NoStart(Box<Passport>),
    /// The start is a singular point.
    SingularStart(Box<Passport>),
    /// The equations leave unknowns free for all times; the passport says how many.
    Undetermined(Box<Passport>),
    /// The equations have no structure to solve them by, and why.
    Equations(String),
    /// The run could not begin.
    Start(StartError),
    /// The data of an input do not cover the run.
    BeyondData {
        /// The input.
        input: String,
        /// Where its data begin and end.
        data: (f64, f64),
        /// Where the run begins and ends.
        run: (f64, f64),
    },
}

/// Where a run begins and where it is to end.
pub fn span_of_run(system: &System, options: &SolveOptions) -> (f64, f64) {
    span_of(&system.experiment(), options)
}

/// The same of an experiment.
pub(crate) fn span_of(experiment: &Experiment, options: &SolveOptions) -> (f64, f64) {
    let from = options.from.or(experiment.start_time).unwrap_or(0.0);
    let to = options.to.or(experiment.stop_time).unwrap_or(from + 1.0);
    (from, to)
}

/// Integrates a model and tells its zero dynamics at the start, if it is an inverse model, before the run begins.
pub fn solve_announced(
    system: &System,
    options: &SolveOptions,
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Solution, NoRun> {
    check_square(system)?;
    solve_prepared(system, &Setup::new(system), options, announce)
}

/// Integrates a model that was prepared, perhaps at other values of its parameters.
pub fn solve_prepared(
    system: &System,
    setup: &Setup,
    options: &SolveOptions,
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Solution, NoRun> {
    check_square(system)?;
    if system.hybrid().is_some() {
        return Err(NoRun::Equations(
            "the model has events, which only `solve` with a method of varying steps follows"
                .to_string(),
        ));
    }
    let (from, to) = span_of_run(system, options);
    covered(system, from, to)?;
    let began = Instant::now();
    let quick = setup.quick_start(system, options, from);
    let quick = quick.and_then(|found| {
        let rest = options.after(began);
        run_known(system, setup, &rest, (found, true), announce).ok()
    });
    let mut solution = match quick {
        Some(solution) => solution,
        // A search finds what is farther off, and tells why there is no start.
        None => {
            let found = start_point(system, options, from)?;
            run_from(system, setup, &options.after(began), found, announce)?
        }
    };
    if let StopReason::FiniteEscape { time, .. } = solution.run.stop
        && let Some(finer) = grows_elsewhere(system, setup, &options.after(began), &solution, time)
    {
        solution.run.stop = StopReason::ErrorsGrow { time, finer };
        let absolute = options.atol.unwrap_or(solution.rtol);
        solution
            .warnings
            .extend(small_without_size(system, &solution, absolute));
    }
    Ok(solution)
}

/// How far a run with a hundredth of the tolerance comes, if it does not grow without bound towards the same time.
fn grows_elsewhere(
    system: &System,
    setup: &Setup,
    options: &SolveOptions,
    solution: &Solution,
    time: f64,
) -> Option<f64> {
    let finer = SolveOptions {
        rtol: Some((solution.rtol / TOLD).max(implicit::FINEST)),
        atol: Some(options.atol.unwrap_or(solution.rtol) / TOLD),
        progress: None,
        ..options.clone()
    };
    let found = start_point(system, &finer, solution.from).ok()?;
    let other = run_from(system, setup, &finer, found, &mut |_| {}).ok()?;
    let reached = match other.run.stop {
        StopReason::FiniteEscape { time, .. } => time,
        StopReason::Budget(_) | StopReason::Interrupted => return None,
        _ => other.reached(),
    };
    let is_same = (reached - time).abs() <= SLIGHT * (time - solution.from).abs();
    (!is_same).then_some(reached)
}

/// Integrates a model from a point that was found for a request.
pub(crate) fn run_from(
    system: &System,
    setup: &Setup,
    options: &SolveOptions,
    found: (ConsistentPoint, Request),
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Solution, NoRun> {
    run_known(system, setup, options, (found, false), announce)
}

/// The same; with a point at which the structure is known to hold, nothing has to be decided.
fn run_known(
    system: &System,
    setup: &Setup,
    options: &SolveOptions,
    ((point, request), holds): ((ConsistentPoint, Request), bool),
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Solution, NoRun> {
    let began = Instant::now();
    let (from, to) = span_of_run(system, options);
    let rtol = tolerance(system, options);
    // Errors of states reach other unknowns multiplied by stiffnesses and the like; a finer step costs little more.
    let structure = system.structure().map_err(|_| NoRun::NotSquare)?;
    let finer = match options.method {
        Some(Method::Radau | Method::Bdf) => implicit::step_tolerance(rtol, structure),
        _ => finer(rtol),
    };
    let dae = system.dae();
    let (route, problem, point) = match setup.problem(system) {
        Ok(problem) if holds => (Route::Reduced(Arc::clone(&setup.reduced)), problem, point),
        _ => {
            let mut choice = dae.form_at(&point, None);
            let point = match choice.repair.repaired() {
                Some(repaired) => deepened(system, repaired, &request, point),
                None => point,
            };
            dae.confirm(&mut choice, &point);
            let (route, problem) = Route::of(system, setup, choice)?;
            (route, problem, point)
        }
    };
    let separation = route.separation(structure);
    // Nobody tells those of a leg of a run with events.
    let is_told = !options.unexplained && options.events.is_none();
    let is_told = is_told && (options.is_inverse || setup.prescribes(system));
    let separation = separation.filter(|_| is_told);
    let mut zero_dynamics = separation.map(|separation| {
        let start = Spot {
            time: from,
            jet: &point.jet,
            sides: point.sides(),
        };
        ZeroDynamics::at_start(system, separation, start)
    });
    if let Some(found) = &zero_dynamics {
        announce(found);
    }
    let written = written_tolerances(system, rtol, finer, options.atol);
    let tolerances = match &route {
        Route::Reduced(reduced) => {
            let tolerances = Tolerances::of_model(system, reduced, finer);
            with_absolute(tolerances, rtol, options.atol)
        }
        Route::Repaired(_) | Route::Array => written.clone(),
    };
    let mut warnings = coarse_signals(system, &problem);
    warnings.extend(backwards(from, to, options));
    warnings.extend(moved_start(system, &request, &point));
    warnings.extend(start_beyond_bounds(system, &point));
    warnings.extend(side_note(system, &point));
    warnings.extend(silent_inputs(system));
    let mut attempt = Attempt {
        system,
        setup,
        options,
        problem: &problem,
        point: &point,
        wanted: run_options(options, to, tolerances),
        coarser: implicit::step_tolerance(rtol, structure) / finer,
        written,
        scans: Scans::default(),
    };
    let found = attempt.integrate(route);
    let request = in_time(&request, options, began);
    let found = found.map_err(|error| no_start(system, (&request, options), &point.jet, error))?;
    let Attempt { wanted, scans, .. } = attempt;
    warnings.extend(found.warnings);
    let trajectory = &found.run.trajectory;
    if let Some(began) = found.route.way_back(system).jet(trajectory, from, 1) {
        let most = SAME.max(SAME_START_TOLERANCES * rtol);
        warnings.extend(moved_by_equations(system, &point, began.values(), most));
    }
    if made_no_headway(&found.run, (from, to))
        && let Some(singular) = singular_at(system, &request, &point.jet)
    {
        return Err(NoRun::SingularStart(Box::new(singular.passport)));
    }
    warnings.extend(scans.remarks());
    let mut solution = Solution {
        run: found.run,
        method: found.method,
        reason: found.reason,
        from,
        to,
        rtol,
        continues: options.continues,
        start: point,
        singularities: Vec::new(),
        zero_dynamics: None,
        broken: Vec::new(),
        warnings,
        problem,
        tolerances: wanted.tolerances,
        route: found.route,
    };
    if let (Some(found), Some(separation)) =
        (&mut zero_dynamics, solution.route.separation(structure))
    {
        let mut reader = solution.reader(system);
        found.follow(system, separation, &mut reader, (from, solution.reached()));
    }
    let slides = solution.run.slides.iter().map(|slide| {
        format!(
            "From t = {} to {} the solution slides along the surface where `{}` switches.",
            slide.from,
            slide.to,
            solution.expression_text(system, slide.expr)
        )
    });
    let jumps: Vec<&Switch> = (solution.run.switches.iter())
        .filter(|switch| switch.is_jump)
        .collect();
    let jumps = jumps.first().map(|first| {
        let others = match jumps.len() {
            1 => String::new(),
            n => format!(", and at {} like it", count(n - 1, "later time")),
        };
        format!(
            "At t = {} two solutions meet where `{}` switches, and neither goes on{others}. The run takes the one other solution with the same states: what is not differentiated jumps.",
            told_time(first.time),
            solution.expression_text(system, first.expr)
        )
    });
    let told: Vec<String> = slides.chain(jumps).collect();
    solution.warnings.extend(told);
    solution.judge_assertions((system, setup), rtol);
    let small = without_size(system, &solution, options.atol.unwrap_or(rtol));
    solution.warnings.extend(small);
    solution.zero_dynamics = zero_dynamics;
    solution.explain(system, &request, options.unexplained);
    Ok(solution)
}

/// Refuses models with more or fewer equations than unknowns.
fn check_square(system: &System) -> Result<(), NoRun> {
    let equations = system.equations();
    if equations.n_equations() == equations.n_unknowns() {
        Ok(())
    } else {
        Err(NoRun::NotSquare)
    }
}

/// The relative tolerance asked for.
pub(crate) fn tolerance(system: &System, options: &SolveOptions) -> f64 {
    let of_model = system.experiment().tolerance;
    options.rtol.or(of_model).unwrap_or(RTOL)
}

/// The tolerance of the steps of series for a tolerance asked for.
fn finer(rtol: f64) -> f64 {
    (SAFETY * rtol).max(Method::Taylor.finest())
}

/// What the integrator is asked for.
fn run_options(options: &SolveOptions, to: f64, tolerances: Tolerances) -> Options {
    let mut wanted = Options::new(to, tolerances);
    wanted.order = options.order;
    wanted.max_steps = options.max_steps.unwrap_or(wanted.max_steps);
    wanted.deadline = options.budget.map(|budget| Instant::now() + budget);
    wanted.output = Output::Dense;
    wanted.nudge = options.nudge;
    if options.continues {
        wanted.on_singularity = OnSingularity::Continue;
    }
    wanted
}

/// Whether a run ended where it began, without a finding.
fn made_no_headway(run: &Run, (from, to): (f64, f64)) -> bool {
    let reached = run.trajectory.span().map_or(from, |(_, end)| end);
    let is_stuck = matches!(
        run.stop,
        StopReason::Budget(BudgetKind::Steps)
            | StopReason::AccuracyLost { .. }
            | StopReason::Failed { .. }
            | StopReason::Rewriting { .. }
    );
    is_stuck && (reached - from).abs() <= SLIGHT * (to - from).abs()
}

fn is_implicit(method: Option<Method>) -> bool {
    matches!(method, Some(Method::Radau | Method::Bdf))
}

/// Tolerances of the model's own unknowns.
fn written_tolerances(system: &System, rtol: f64, finer: f64, atol: Option<f64>) -> Tolerances {
    let sizes = error_sizes(system).into_iter();
    let tolerances = Tolerances {
        rtol: finer,
        atol: vec![sizes.map(|size| finer * size).collect()],
    };
    with_absolute(tolerances, rtol, atol)
}

/// Tolerances whose absolute part is as asked for.
fn with_absolute(mut tolerances: Tolerances, rtol: f64, atol: Option<f64>) -> Tolerances {
    if let Some(atol) = atol {
        let rows = tolerances.atol.iter_mut().flatten();
        rows.for_each(|value| *value *= atol / rtol);
    }
    tolerances
}

/// Refuses a run that leaves the data of an input.
fn covered(system: &System, from: f64, to: f64) -> Result<(), NoRun> {
    for (input, signal) in system.equations().symbols().signals() {
        // What a run knows from its own past reaches as far as it goes.
        if signal.is_growing() {
            continue;
        }
        let (first, last) = signal.span();
        let slack = 4096.0 * f64::EPSILON * (last - first);
        if from.min(to) < first - slack || from.max(to) > last + slack {
            return Err(NoRun::BeyondData {
                input: input_name(system, *input),
                data: (first, last),
                run: (from, to),
            });
        }
    }
    Ok(())
}

fn input_name(system: &System, input: usize) -> String {
    let mut name = String::new();
    system.write_name(Symbol::Input { input, order: 0 }, &mut name);
    name
}
