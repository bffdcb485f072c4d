//! From a model to a trajectory: the consistent start, the equations as the integrator wants them, the run, and what its
//! singularities are.

use crate::analyze::{Place, request};
use crate::observe::{Interrupt, Observer, Progress, Reader, StopScan, WayBack};
use crate::rewriting::{Judge, Settled};
use crate::zero_dynamics::ZeroDynamics;
use daelight_analysis::chain::Kind;
use daelight_analysis::initial::{
    Closeness, ConsistentPoint, NoPoint, Request, StageOffsets, TaylorJet, consistent_point,
};
use daelight_analysis::passport::{Passport, PointVerdict};
use daelight_analysis::repair::{Budget, Names, Repair, Repaired, repair};
use daelight_analysis::spectrum::Separation;
use daelight_analysis::start::singular_at;
use daelight_analysis::structure::Structure;
use daelight_analysis::{Reduced, System, UnknownInfo, signal_orders};
use daelight_expr::{ExprId, Fault};
use daelight_integrate::array;
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::{
    BudgetKind, Inspector, OnSingularity, Options, Output, Problem, ProblemError, Run, Singularity,
    Start, StartError, StopReason, Tolerances, Watch, Watched,
};
use daelight_lang::{Diagnostic, Symbol};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Orders of the jet at the start; more than the highest derivative in reduced equations.
pub(crate) const START_ORDER: usize = 6;
/// Part of the tolerance asked for that the steps are given.
const SAFETY: f64 = 1e-2;
/// Steps of an implicit method after which whole equations are given up for reduced ones, which are better conditioned.
const MOST_STEPS_OF_WHOLE: usize = 10_000;
/// They are not tried with a finer tolerance: rounding leaves 1e-7 in the torques of e12.
const FINEST_OF_WHOLE: f64 = 1e-9;
/// A factor this close to zero at a singular time is its locus.
const ON_LOCUS: f64 = 1e-5;
/// So is one this close that belongs to the very equations that are singular: series do not reach a branch point.
const NEAR_LOCUS: f64 = 1e-2;

/// A singular time is told with its uncertainty if that is above this many tolerances of the steps, and not below all digits.
const LOST_DIGITS: f64 = 10.0;
const ALL_DIGITS: f64 = 1e-12;

/// A run that fails within this part of its span may have begun at a singular point.
const NO_HEADWAY: f64 = 1e-3;

/// Values closer to each other than this part of their size are those of the same point.
const SAME_POINT: f64 = 1e-10;
/// A run that begins farther from the consistent point, relative to the sizes of its values, tells it.
const SAME_START: f64 = 1e-6;
/// So many tolerances may the pieces of an implicit method be off at their ends.
const SAME_START_TOLERANCES: f64 = 1e3;
/// A start value that is moved farther, relative to its size, is told. Start values are guesses that are often written with two
/// digits; `init` lists every move.
const FAR_FROM_GUESS: f64 = 1e-2;

/// A start value below this may be the rounding of a zero.
const NEXT_TO_ZERO: f64 = 1e-6;

/// Most time for the whole derivative array where rewritten equations are singular, unless a budget is given.
const SECOND_OPINION: Duration = Duration::from_secs(60);

/// Steps at which the energy is looked at.
const MOST_ENERGIES: usize = 20_000;

/// What a run is asked for; what is left open comes from the model's experiment.
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
    /// Most steps.
    pub max_steps: Option<usize>,
    /// Most time.
    pub budget: Option<Duration>,
    /// Values to start from.
    pub place: Place,
    /// What may end the run from outside.
    pub interrupt: Option<Arc<Interrupt>>,
    /// What is told the time reached after every step.
    pub progress: Option<Progress>,
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

/// The equations that were integrated.
enum Route {
    /// Trivial equations removed.
    Reduced(Arc<Reduced>),
    /// Rewritten so that the structure holds.
    Repaired(Box<Repaired>),
    /// As they stand, all derivatives at once.
    Array,
}

/// A run and the way back to the model's unknowns.
pub struct Solution {
    /// The run itself.
    pub run: Run,
    /// The method that did the work.
    pub method: Method,
    /// Why it was chosen, if it was not asked for.
    pub reason: Option<String>,
    /// Where it began.
    pub from: f64,
    /// Where it was to end.
    pub to: f64,
    /// The relative tolerance.
    pub rtol: f64,
    /// The consistent start.
    pub start: ConsistentPoint,
    /// The singularities of the run, explained.
    pub singularities: Vec<Explained>,
    /// Eigenvalues along the run of a model that prescribes a motion.
    pub zero_dynamics: Option<ZeroDynamics>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
    problem: Problem,
    tolerances: Tolerances,
    route: Route,
}

/// The energy of a model along a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Energy {
    /// At the start.
    pub start: f64,
    /// At the end.
    pub end: f64,
    /// The greatest difference to the start at any step.
    pub max_drift: f64,
}

/// A singularity in the user's terms.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The finding of the run.
    pub found: Singularity,
    /// How far off its time may be, if that is more than ten tolerances of the steps.
    pub uncertainty: Option<f64>,
    /// How the matrix chain changes, if known.
    pub kind: Option<Kind>,
    /// The factor that vanishes, if there is a formula.
    pub locus: Option<String>,
    /// What it is to an operation that has no value there, such as "the denominator of `1/x`".
    pub role: Option<String>,
    /// Equations of the model that are singular together.
    pub equations: Vec<usize>,
    /// Names of the unknowns of the singular block.
    pub unknowns: Vec<String>,
}

/// What all runs of a model share, whatever the values of its parameters are: trivial equations removed, compiled tapes.
pub struct Setup {
    structure: Option<Structure>,
    /// The equations as written; `None` where they are singular everywhere at the first values.
    written: Option<Problem>,
    reduced: Arc<Reduced>,
    /// The reduced equations; `None` likewise.
    problem: Option<Problem>,
}

impl Setup {
    /// Prepares runs of a model.
    pub fn new(system: &System) -> Self {
        let parameters = system.parameters().values();
        let reduced = Arc::new(Reduced::new(system));
        Self {
            structure: Structure::of_equations(system.equations()).ok(),
            written: Problem::new(system.equations(), parameters).ok(),
            problem: Problem::new(reduced.equations(), parameters)
                .ok()
                .map(|problem| problem.smooth_as(&reduced)),
            reduced,
        }
    }

    /// Whether the structure of the equations as written holds somewhere at these values.
    fn is_regular(&self, system: &System) -> bool {
        let parameters = system.parameters().values();
        match &self.written {
            Some(problem) => problem.with_parameters(parameters).is_ok(),
            None => Problem::new(system.equations(), parameters).is_ok(),
        }
    }

    /// The equations with nothing removed, where the removed unknowns would be read from derivatives that the reduced
    /// equations do not hold: implicit methods do not know these between their steps.
    fn whole(&self, system: &System) -> Option<Arc<Reduced>> {
        let offsets = self.problem.as_ref()?.structure().offsets();
        let is_read = self.reduced.read_beyond(&offsets.variable);
        (!is_read.is_empty()).then(|| Arc::new(Reduced::nothing(system)))
    }

    /// The reduced equations at the values of a system.
    fn problem(&self, system: &System) -> Result<Problem, ProblemError> {
        let parameters = system.parameters().values();
        match &self.problem {
            Some(problem) => problem.with_parameters(parameters),
            None => {
                let problem = Problem::new(self.reduced.equations(), parameters)?;
                Ok(problem.smooth_as(&self.reduced))
            }
        }
    }
}

/// The start of a run, closest to what the model and the options say.
fn start_point(
    system: &System,
    setup: &Setup,
    options: &SolveOptions,
    from: f64,
) -> Result<(ConsistentPoint, Request), NoRun> {
    // The conditions of the model's start hold where the run begins; those of a point given do not.
    let place = &options.place;
    let mut request = match &place.point {
        None if place.values.is_empty() => Request::of_model(system, from, START_ORDER),
        _ => {
            let place = Place {
                at: Some(from),
                ..options.place.clone()
            };
            request(system, &place).map_err(NoRun::Fault)?
        }
    };
    request.order = START_ORDER;
    request.budget = place.budget.unwrap_or(request.budget);
    let structure = setup.structure.as_ref().ok_or(NoRun::NotSquare)?;
    let regular = setup.is_regular(system);
    let offsets = regular.then(|| StageOffsets::of(structure));
    match consistent_point(system, offsets, &request) {
        Ok(point) => Ok((point, request)),
        Err(NoPoint::TooLarge { .. }) if regular => Ok((at_rest(&request), request)),
        Err(_) => {
            let passport = Box::new(Passport::new(system, &request));
            Err(match passport.verdict {
                PointVerdict::Singular { .. } => NoRun::SingularStart(passport),
                _ => NoRun::NoStart(passport),
            })
        }
    }
}

/// The guess itself, for models too large for the search: the integrator projects it.
fn at_rest(request: &Request) -> ConsistentPoint {
    ConsistentPoint {
        time: request.time,
        jet: TaylorJet::at_rest(&request.guess, START_ORDER + 2),
        order: 0,
        residual: f64::NAN,
        residuals: Vec::new(),
        closeness: Closeness::Stopped,
        distance: 0.0,
        attempt: 0,
        structure_fails: false,
    }
}

/// Where a run begins and where it is to end.
pub fn span_of_run(system: &System, options: &SolveOptions) -> (f64, f64) {
    let experiment = system.experiment();
    let from = options.from.or(experiment.start_time).unwrap_or(0.0);
    let to = options.to.or(experiment.stop_time).unwrap_or(from + 1.0);
    (from, to)
}

/// Integrates a model.
pub fn solve(system: &System, options: &SolveOptions) -> Result<Solution, NoRun> {
    solve_announced(system, options, &mut |_| {})
}

/// Integrates a model and tells its zero dynamics at the start, if it is an inverse model, before the run begins.
pub fn solve_announced(
    system: &System,
    options: &SolveOptions,
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Solution, NoRun> {
    let equations = system.equations();
    if equations.n_equations() != equations.n_unknowns() {
        return Err(NoRun::NotSquare);
    }
    solve_prepared(system, &Setup::new(system), options, announce)
}

/// Integrates a model that was prepared, perhaps at other values of its parameters.
pub fn solve_prepared(
    system: &System,
    setup: &Setup,
    options: &SolveOptions,
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Solution, NoRun> {
    let equations = system.equations();
    if equations.n_equations() != equations.n_unknowns() {
        return Err(NoRun::NotSquare);
    }
    let is_wanted = is_implicit(options.method) && tolerance(system, options) >= FINEST_OF_WHOLE;
    let whole = is_wanted.then(|| setup.whole(system));
    let Some(whole) = whole.flatten() else {
        return solve_by(system, setup, None, options, announce);
    };
    let first = SolveOptions {
        max_steps: Some(
            options
                .max_steps
                .unwrap_or(usize::MAX)
                .min(MOST_STEPS_OF_WHOLE),
        ),
        ..options.clone()
    };
    let solution = solve_by(system, setup, Some(whole), &first, announce);
    let is_lost = match &solution {
        Ok(solution) => match solution.run.stop {
            StopReason::AccuracyLost { .. } | StopReason::Failed { .. } => true,
            StopReason::Budget(BudgetKind::Steps) => first.max_steps != options.max_steps,
            _ => false,
        },
        Err(_) => true,
    };
    if is_lost {
        // With all unknowns the matrices may be too badly conditioned for the tolerance.
        solve_by(system, setup, None, options, &mut |_| {})
    } else {
        solution
    }
}

/// The relative tolerance asked for.
fn tolerance(system: &System, options: &SolveOptions) -> f64 {
    let of_model = system.experiment().tolerance;
    options.rtol.or(of_model).unwrap_or(1e-8)
}

/// Integrates the reduced equations of a model, or its whole ones.
fn solve_by(
    system: &System,
    setup: &Setup,
    whole: Option<Arc<Reduced>>,
    options: &SolveOptions,
    announce: &mut dyn FnMut(&ZeroDynamics),
) -> Result<Solution, NoRun> {
    let (from, to) = span_of_run(system, options);
    let rtol = tolerance(system, options);
    covered(system, from, to)?;
    // Errors of states reach other unknowns multiplied by stiffnesses and the like; a finer step costs little more.
    let structure = setup.structure.as_ref().ok_or(NoRun::NotSquare)?;
    let finer = match options.method {
        Some(Method::Radau | Method::Bdf) if whole.is_some() => rtol,
        Some(Method::Radau | Method::Bdf) => implicit::step_tolerance(rtol, structure),
        _ => (SAFETY * rtol).max(1e-15),
    };
    let (point, request) = start_point(system, setup, options, from)?;
    let reduced = || Route::Reduced(Arc::clone(whole.as_ref().unwrap_or(&setup.reduced)));
    // The structure may hold at random points, or after a repair, and fail on every solution. A guess tells nothing.
    let holds = |route: &Route, problem: &Problem, point: &ConsistentPoint| {
        point.residual.is_nan() || problem.is_regular_at(&route.start(problem, from, point))
    };
    let prepared = match &whole {
        Some(whole) => Problem::new(whole.equations(), system.parameters().values()),
        None => setup.problem(system),
    };
    let (route, problem) = match prepared {
        Ok(problem) if !point.structure_fails && holds(&reduced(), &problem, &point) => {
            (reduced(), problem)
        }
        Ok(problem) => by_repair(system, from, &point).unwrap_or_else(|_| (reduced(), problem)),
        Err(ProblemError::SingularJacobian { .. }) => by_repair(system, from, &point)?,
        Err(error) => return Err(NoRun::Equations(error.to_string())),
    };
    let point = match &route {
        Route::Repaired(repaired) => deepened(system, repaired, &request, point),
        _ => point,
    };
    let tolerances = match &route {
        Route::Reduced(reduced) => {
            let tolerances = Tolerances::of_model(system, reduced, finer);
            with_absolute(tolerances, rtol, options.atol)
        }
        Route::Repaired(_) | Route::Array => written_tolerances(system, rtol, finer, options.atol),
    };
    let mut zero_dynamics = route.separation(structure).and_then(|separation| {
        ZeroDynamics::at_start(system, structure, separation, from, &point.jet)
    });
    if let Some(found) = &zero_dynamics {
        announce(found);
    }
    let start = route.start(&problem, from, &point);
    let mut wanted = Options::new(to, tolerances);
    wanted.order = options.order;
    wanted.max_steps = options.max_steps.unwrap_or(wanted.max_steps);
    wanted.time_budget = options.budget;
    wanted.output = Output::Dense;
    if options.continues {
        wanted.on_singularity = OnSingularity::Continue;
    }
    let stop_scan = |route: &Route| {
        let scan = |stop| StopScan::new(system, stop, route.way_back(system));
        system
            .stop_when()
            .map(|stop| Arc::new(Mutex::new(scan(stop))))
    };
    let mut scan = stop_scan(&route);
    let integrated = if !holds(&route, &problem, &point) {
        Err(StartError::StructureFails)
    } else {
        match options.method {
            Some(method) => Ok((method, None)),
            None => implicit::choose(&problem, &start, &wanted)
                .map(|(method, reason)| (method, Some(reason))),
        }
    }
    .and_then(|(method, reason)| {
        wanted.watch = watch(options, scan.clone());
        let run = implicit::solve(&problem, &start, &wanted, method)?;
        Ok((run, method, reason))
    });
    let mut warnings = coarse_signals(system, &problem);
    warnings.extend(moved_start(system, &request, &point));
    let mut by_array = |wanted: &mut Options, budget| {
        wanted.tolerances = written_tolerances(system, rtol, finer, options.atol);
        wanted.time_budget = budget;
        scan = stop_scan(&Route::Array);
        wanted.watch = watch(options, scan.clone());
        array::solve(system, from, &point.jet, wanted)
    };
    let (route, (run, method, reason)) = match integrated {
        Ok((run, method, reason)) => {
            let found = match &route {
                Route::Repaired(repaired) => {
                    let judge = Judge::new(system, repaired, route.way_back(system));
                    let mut passing = wanted.clone();
                    passing.on_singularity = OnSingularity::Pass;
                    passing.watch = watch(options, stop_scan(&route));
                    let mut by_array = || {
                        let budget = options.budget.unwrap_or(SECOND_OPINION);
                        by_array(&mut wanted, Some(budget)).ok()
                    };
                    judge.settle(
                        run,
                        options.continues,
                        &mut || implicit::solve(&problem, &start, &passing, method).ok(),
                        &mut by_array,
                    )
                }
                Route::Reduced(_) | Route::Array => Settled::as_it_is(run),
            };
            warnings.extend(found.warnings);
            match found.by_array {
                true => (Route::Array, (found.run, Method::Taylor, None)),
                false => (route, (found.run, method, reason)),
            }
        }
        // The structure may fail at this very start, and hold nowhere along its solution.
        Err(error) if array::is_needed(&error) && !is_implicit(options.method) => {
            let run = by_array(&mut wanted, options.budget);
            let run = run.map_err(|_| no_start(system, &request, &point.jet, error))?;
            warnings.push(
                "On this solution the structure of the equations does not hold: a block of the system Jacobian is singular \
                 all along. The series come from the whole derivative array."
                    .to_string(),
            );
            (Route::Array, (run, Method::Taylor, None))
        }
        Err(error) => return Err(no_start(system, &request, &point.jet, error)),
    };
    if method != Method::Taylor {
        warnings.extend(less_accurate_between(system, &route, &problem));
    }
    if let Some(began) = route.way_back(system).jet(&run.trajectory, from, 1) {
        let most = SAME_START.max(SAME_START_TOLERANCES * rtol);
        warnings.extend(moved_by_equations(system, &point, began.values(), most));
    }
    let reached = run.trajectory.span().map_or(from, |(_, end)| end);
    let is_stuck = matches!(
        run.stop,
        StopReason::Budget(BudgetKind::Steps)
            | StopReason::AccuracyLost { .. }
            | StopReason::Failed { .. }
            | StopReason::Rewriting { .. }
    );
    if is_stuck
        && (reached - from).abs() <= NO_HEADWAY * (to - from).abs()
        && let Some(singular) = singular_at(system, &request, &point.jet)
    {
        return Err(NoRun::SingularStart(Box::new(singular.passport)));
    }
    if let Some(time) = scan.and_then(|scan| lock(&scan).no_value_at()) {
        warnings.push(format!(
            "The stopping condition has no value at t = {time}; it was not looked at there."
        ));
    }
    let mut solution = Solution {
        run,
        method,
        reason,
        from,
        to,
        rtol,
        start: point,
        singularities: Vec::new(),
        zero_dynamics: None,
        warnings,
        problem,
        tolerances: wanted.tolerances,
        route,
    };
    if let (Some(found), Some(separation)) =
        (&mut zero_dynamics, solution.route.separation(structure))
    {
        let mut reader = solution.reader(system);
        found.follow(system, separation, &mut reader, (from, solution.reached()));
    }
    solution.zero_dynamics = zero_dynamics;
    solution.explain(system, &request);
    Ok(solution)
}

fn is_implicit(method: Option<Method>) -> bool {
    matches!(method, Some(Method::Radau | Method::Bdf))
}

/// Tolerances of the model's own unknowns.
fn written_tolerances(system: &System, rtol: f64, finer: f64, atol: Option<f64>) -> Tolerances {
    let nominal = |u: &UnknownInfo| finer * u.nominal.unwrap_or(1.0).abs();
    let tolerances = Tolerances {
        rtol: finer,
        atol: vec![system.unknowns().iter().map(nominal).collect()],
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

/// Everything that looks at a run while it goes on.
fn watch(options: &SolveOptions, scan: Option<Arc<Mutex<StopScan>>>) -> Option<Watch> {
    let (interrupt, progress) = (options.interrupt.clone(), options.progress.clone());
    if scan.is_none() && interrupt.is_none() && progress.is_none() {
        return None;
    }
    if let Some(interrupt) = &interrupt {
        interrupt.begin();
    }
    Some(Watch::new(move |trajectory| {
        if let Some(scan) = &scan
            && let Some(time) = lock(scan).look(trajectory)
        {
            return Watched::StopAt(time);
        }
        if let (Some(progress), Some((_, reached))) = (&progress, trajectory.span()) {
            progress.tell(reached);
        }
        match &interrupt {
            Some(interrupt) if interrupt.is_asked() => Watched::Interrupt,
            _ => Watched::GoOn,
        }
    }))
}

/// Nothing can be half done behind these locks: a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a run that leaves the data of an input.
fn covered(system: &System, from: f64, to: f64) -> Result<(), NoRun> {
    for (input, signal) in system.equations().symbols().signals() {
        let (first, last) = signal.span();
        let slack = 1e-12 * (last - first);
        if from.min(to) < first - slack || from.max(to) > last + slack {
            let mut name = String::new();
            let symbol = Symbol::Input {
                input: *input,
                order: 0,
            };
            system.write_name(symbol, &mut name);
            return Err(NoRun::BeyondData {
                input: name,
                data: (first, last),
                run: (from, to),
            });
        }
    }
    Ok(())
}

/// What to know about inputs that the equations differentiate more often than their splines allow.
fn coarse_signals(system: &System, problem: &Problem) -> Vec<String> {
    let orders = signal_orders(problem.equations(), problem.structure());
    let signals = problem.equations().symbols().signals().iter().zip(orders);
    signals
        .filter(|((_, signal), order)| *order >= signal.degree())
        .map(|((input, signal), order)| {
            let mut name = String::new();
            let symbol = Symbol::Input {
                input: *input,
                order: 0,
            };
            system.write_name(symbol, &mut name);
            format!(
                "The input `{name}` is differentiated {order} times, and its spline has {} continuous derivatives.",
                signal.degree() - 1
            )
        })
        .collect()
}

/// Why a run could not begin: a singular start, if it is one.
fn no_start(system: &System, request: &Request, jet: &TaylorJet, error: StartError) -> NoRun {
    let passport = Passport::new(system, request);
    if let PointVerdict::Singular { .. } = passport.verdict {
        return NoRun::SingularStart(Box::new(passport));
    }
    match singular_at(system, request, jet) {
        Some(singular) if error == StartError::StructureFails => {
            NoRun::SingularStart(Box::new(singular.passport))
        }
        _ => NoRun::Start(error),
    }
}

/// Tells that a run starts at a distance from the start values that were given.
fn moved_start(system: &System, request: &Request, point: &ConsistentPoint) -> Option<String> {
    let unknowns = system.unknowns().iter().zip(&request.guess);
    let given = unknowns.zip(point.jet.values()).enumerate();
    let moved = given.filter_map(|(j, ((unknown, guess), value))| {
        unknown.start?;
        // A start value says how large an unknown is, unless `nominal` does or it is zero or next to it.
        let usual = if *guess == 0.0 { 1.0 } else { NEXT_TO_ZERO };
        let size = unknown.nominal.unwrap_or(usual).abs().max(guess.abs());
        let apart = (value - guess).abs() / size;
        (apart > FAR_FROM_GUESS).then_some((apart, j, guess, value))
    });
    let (_, j, guess, value) = moved.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let name = &system.unknowns()[j].name;
    let which = match point.closeness {
        Closeness::Closest => "the closest consistent values",
        _ => "consistent values beside them, perhaps not the closest",
    };
    // Other unknowns follow from the differentiated ones: nothing can insist on them.
    let differentiated = system.equations().jacobian(1).pattern.columns();
    let remedy = match differentiated.contains(&(j as u32)) {
        true => " Write `fixed = true` to insist on it.",
        false => "",
    };
    Some(format!(
        "The start values are not consistent; the run starts from {which}: {name} = {} instead of {guess}.{remedy}",
        daelight_report::short(*value)
    ))
}

/// Tells which unknowns an implicit method knows well at its steps only: those read off its pieces as derivatives that the
/// integrated equations do not hold.
fn less_accurate_between(system: &System, route: &Route, problem: &Problem) -> Option<String> {
    let Route::Reduced(reduced) = route else {
        return None;
    };
    let unknowns = reduced.read_beyond(&problem.structure().offsets().variable);
    let names: Vec<&str> = unknowns
        .iter()
        .map(|&unknown| system.unknowns()[unknown].name.as_str())
        .collect();
    let (first, more) = names.split_at(names.len().min(3));
    let more = if more.is_empty() { "" } else { " and others" };
    (!first.is_empty()).then(|| {
        format!(
            "Between the steps of the method {}{more} are read from high derivatives of other unknowns and are less accurate \
             there than at the end; `--method taylor` has no such loss.",
            first.join(", ")
        )
    })
}

/// Tells that a run began at another point than the consistent one that it was to start from.
fn moved_by_equations(
    system: &System,
    point: &ConsistentPoint,
    began: &[f64],
    most: f64,
) -> Option<String> {
    if point.order == 0 {
        // There was none: the integrated equations were to find it.
        return None;
    }
    let values = point.jet.values().iter().zip(began);
    let unknowns = system.unknowns().iter().zip(values);
    let moved = unknowns.map(|(unknown, (value, began))| {
        let size = unknown.nominal.unwrap_or(1.0).abs().max(value.abs());
        ((began - value).abs() / size, &unknown.name, value, began)
    });
    let (apart, name, value, began) = moved.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (apart > most).then(|| {
        format!(
            "The run does not begin at the consistent values that were found, but beside them: {name} = {began:.6} instead of \
             {value:.6}."
        )
    })
}

/// The equations rewritten so that the structure holds at a point.
fn by_repair(
    system: &System,
    time: f64,
    point: &ConsistentPoint,
) -> Result<(Route, Problem), NoRun> {
    let repaired = repaired(system, time, point)?;
    let problem = Problem::new(repaired.equations(), system.parameters().values())
        .map_err(|error| NoRun::Equations(error.to_string()))?;
    Ok((Route::Repaired(repaired), problem))
}

/// The point with as many coefficients as rewritten equations start from: those of new unknowns follow from derivatives of
/// the written ones, and coefficients that are not determined by the array would move the values.
fn deepened(
    system: &System,
    repaired: &Repaired,
    request: &Request,
    point: ConsistentPoint,
) -> ConsistentPoint {
    let offsets = repaired.structure().offsets().variable.iter();
    let deepest = offsets.max().copied().unwrap_or(0);
    let order = deepest + repaired.definition_order() + repaired.structural_index();
    if order <= point.order {
        return point;
    }
    let request = Request {
        guess: point.jet.values().to_vec(),
        order,
        ..request.clone()
    };
    let is_same = |deeper: &ConsistentPoint| {
        let mut values = deeper.jet.values().iter().zip(point.jet.values());
        values.all(|(a, b)| (a - b).abs() <= SAME_POINT * b.abs().max(1.0))
    };
    match consistent_point(system, None, &request) {
        Ok(deeper) if is_same(&deeper) => ConsistentPoint {
            distance: point.distance,
            closeness: point.closeness,
            ..deeper
        },
        _ => point,
    }
}

fn repaired(system: &System, time: f64, point: &ConsistentPoint) -> Result<Box<Repaired>, NoRun> {
    let value = |symbol: Symbol| match symbol {
        Symbol::Unknown { unknown, order } => point.jet.derivative(unknown, order as usize),
        known => system.equations().symbols().value_at(known, time),
    };
    let equations = system.equations();
    let structure = Structure::of_equations(equations).map_err(|_| NoRun::NotSquare)?;
    let names = Names::of_system(system);
    let parameters = system.parameters().values();
    let budget = Budget::default();
    match repair(
        equations,
        &structure,
        parameters,
        Some(&value),
        &names,
        &budget,
    ) {
        Repair::Repaired(repaired) => Ok(repaired),
        Repair::Unknown { because, .. } => Err(NoRun::Equations(because.to_string())),
        _ => Err(NoRun::Equations(
            "the system Jacobian is singular, and no combination of equations cures it".to_string(),
        )),
    }
}

impl Route {
    /// How the finite eigenvalues are separated: a structure that was repaired does not hold for the model as written.
    fn separation<'a>(&self, structure: &'a Structure) -> Option<Separation<'a>> {
        match self {
            Self::Reduced(_) => Some(Separation::Structure(structure)),
            Self::Repaired(repaired) => Some(Separation::Ranks {
                n_degrees_of_freedom: repaired.n_degrees_of_freedom() as usize,
            }),
            Self::Array => None,
        }
    }

    /// From the integrated unknowns to those of the model.
    fn way_back(&self, system: &System) -> WayBack {
        let recovery = match self {
            Self::Reduced(reduced) => {
                Some(reduced.recovery(START_ORDER, system.parameters().values()))
            }
            Self::Repaired(_) | Self::Array => None,
        };
        WayBack::new(recovery, system.unknowns().len())
    }

    /// The start in the unknowns of the equations.
    fn start(&self, problem: &Problem, time: f64, point: &ConsistentPoint) -> Start {
        let n_orders = problem.max_unknown_offset() + 1;
        let jet = &point.jet;
        let coefficients = match self {
            Self::Array => (0..n_orders)
                .filter_map(|order| jet.row(order).map(<[f64]>::to_vec))
                .collect(),
            Self::Reduced(reduced) => (0..n_orders)
                .map(|order| {
                    let kept = reduced.kept_unknowns().iter();
                    kept.map(|&unknown| jet.get(unknown, order)).collect()
                })
                .collect(),
            Self::Repaired(repaired) => repaired
                .lifted(time, jet, n_orders)
                .unwrap_or_else(|| vec![jet.values().to_vec()]),
        };
        Start::new(time, coefficients)
    }

    /// The equations of the model behind some of those integrated.
    fn written_equations(&self, equations: &[usize]) -> Vec<usize> {
        let mut written: Vec<usize> = match self {
            Self::Reduced(reduced) => equations
                .iter()
                .map(|&i| reduced.kept_equations()[i])
                .collect(),
            Self::Repaired(repaired) => equations
                .iter()
                .flat_map(|&i| repaired.origins(i).iter().map(|origin| origin.equation))
                .collect(),
            Self::Array => equations.to_vec(),
        };
        written.sort_unstable();
        written.dedup();
        written
    }

    fn unknown_name(&self, system: &System, unknown: usize) -> String {
        match self {
            Self::Reduced(reduced) => system.unknowns()[reduced.kept_unknowns()[unknown]]
                .name
                .clone(),
            Self::Repaired(repaired) if unknown >= repaired.n_written() => repaired
                .extra_unknowns()[unknown - repaired.n_written()]
            .name
            .clone(),
            Self::Repaired(_) | Self::Array => system.unknowns()[unknown].name.clone(),
        }
    }
}

impl Solution {
    /// The time reached.
    pub fn reached(&self) -> f64 {
        self.run.trajectory.span().map_or(self.from, |(_, end)| end)
    }

    /// What evaluates the model's unknowns along the run.
    pub fn reader(&self, system: &System) -> Reader<'_> {
        Reader {
            trajectory: &self.run.trajectory,
            way: self.route.way_back(system),
        }
    }

    /// What evaluates expressions of the model along the run.
    pub fn observer(&self, system: &System, exprs: &[ExprId]) -> Observer {
        Observer::new(system, exprs, self.route.way_back(system))
    }

    /// What looks at the constraints and the blocks of the integrated equations at single points.
    pub fn inspector(&self) -> Option<Inspector<'_>> {
        // The trajectory of the array is that of other unknowns than the problem's.
        (!self.is_by_array()).then(|| Inspector::new(&self.problem, &self.tolerances).ok())?
    }

    /// The energy of the model along the run: at the start, at the end, and its greatest change at any step.
    pub fn energy(&self, system: &System) -> Option<Energy> {
        let mut observer = self.observer(system, &[system.energy()?]);
        let trajectory = &self.run.trajectory;
        let (first, last) = trajectory.span()?;
        let mut at = |time: f64| observer.values(trajectory, time).map(|values| values[0]);
        let (start, end) = (at(first)?, at(last)?);
        let segments = trajectory.segments();
        let stride = segments.len().div_ceil(MOST_ENERGIES).max(1);
        let max_drift = segments
            .iter()
            .step_by(stride)
            .filter_map(|segment| at(segment.start))
            .chain([end])
            .map(|value| (value - start).abs())
            .fold(0.0, f64::max);
        Some(Energy {
            start,
            end,
            max_drift,
        })
    }

    /// Whether the structure had to be repaired, and how.
    pub fn repair_text(&self) -> Option<String> {
        match &self.route {
            Route::Repaired(repaired) => Some(repaired.text()),
            Route::Reduced(_) | Route::Array => None,
        }
    }

    /// Whether the structure does not hold on this solution, so that the whole derivative array was solved.
    pub fn is_by_array(&self) -> bool {
        matches!(self.route, Route::Array)
    }

    /// An expression of the integrated equations in the user's names.
    pub fn expression_text(&self, system: &System, expr: ExprId) -> String {
        const LIMIT: usize = 200;
        let text = match &self.route {
            Route::Reduced(reduced) => reduced.expression_text(system, expr, LIMIT),
            Route::Repaired(repaired) => {
                repaired.expression_text(&Names::of_system(system), expr, LIMIT)
            }
            Route::Array => None,
        };
        text.unwrap_or_else(|| "a long expression".to_string())
    }

    /// Where a fault of the run stands in the text.
    pub fn explain_fault(&self, system: &System, fault: &Fault) -> String {
        match &self.route {
            Route::Reduced(reduced) => reduced.explain(system, fault).sentence,
            Route::Repaired(_) | Route::Array => {
                format!("an expression has no value: {:?}", fault.kind)
            }
        }
    }

    /// An unknown of the integrated equations by name.
    pub fn unknown_name(&self, system: &System, unknown: usize) -> String {
        self.route.unknown_name(system, unknown)
    }

    /// Names, loci and kinds of the singularities met.
    fn explain(&mut self, system: &System, request: &Request) {
        if self.run.singularities.is_empty() {
            return;
        }
        let passport = Passport::new(system, request);
        let mut explained = Vec::new();
        for found in &self.run.singularities {
            let mut record = Explained {
                kind: None,
                locus: None,
                role: None,
                equations: self.route.written_equations(&found.equations),
                unknowns: found
                    .unknowns
                    .iter()
                    .map(|&j| self.route.unknown_name(system, j))
                    .collect(),
                uncertainty: Some(found.evidence.uncertainty).filter(|uncertainty| {
                    let digits = (LOST_DIGITS * self.tolerances.rtol).max(ALL_DIGITS);
                    *uncertainty > digits * found.time.abs().max(1.0)
                }),
                found: found.clone(),
            };
            if let Some(argument) = found
                .argument
                .and_then(|place| self.problem.arguments().get(place))
            {
                let text = |expr| self.expression_text(system, expr);
                record.locus = Some(argument.locus(&text(argument.argument)));
                let operation = text(argument.operation);
                record.role = Some(format!("{} of `{operation}`", argument.role()));
            } else if let Some(jet) = self.reader(system).jet(found.time) {
                match passport.nearest_locus(system, found.time, &jet) {
                    Some((locus, distance))
                        if distance < ON_LOCUS
                            || (distance < NEAR_LOCUS && locus.equations == record.equations) =>
                    {
                        record.kind = locus.kind;
                        record.locus = Some(locus.factor.clone());
                    }
                    _ => record.kind = kind_at(system, found.time, &jet),
                }
            }
            explained.push(record);
        }
        self.singularities = explained;
    }
}

/// The kind of a singular point without a formula, from its ranks.
fn kind_at(system: &System, time: f64, jet: &TaylorJet) -> Option<Kind> {
    let mut request = Request::of_model(system, time, 0);
    request.guess = jet.values().to_vec();
    request.conditions.clear();
    if !request.guess.iter().all(|value| value.is_finite()) {
        return None;
    }
    match Passport::new(system, &request).verdict {
        PointVerdict::Singular { kind } => kind,
        _ => None,
    }
}
