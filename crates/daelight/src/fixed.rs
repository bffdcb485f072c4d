//! Constant steps on any form of a model: as written, reduced, decoupled, or written by hand in another file.
//!
//! The forms have the same solutions, and their discretisations differ: in accuracy, in conditioning, and in which
//! constraints of the model they keep. Section 6 of `docs/theory/implicit.md`.

use crate::analyze::{Place, request};
use crate::rectangular::refused;
use crate::solve;
use crate::solve::{NoRun, Solution, SolveOptions};
use daelight_analysis::index_reduction::{Form, Groundwork, ReduceBy, Refusal, StrangenessFree};
use daelight_analysis::initial::{Request, TaylorJet, nominal};
use daelight_analysis::judgement::{Judgement, PointVerdict};
use daelight_analysis::levels::ConstraintLevels;
use daelight_analysis::{ParameterError, Strangeness, System};
use daelight_integrate::fixed::{self, FixedError, FixedRun, FixedSteps};
use daelight_integrate::{MAX_RESIDUAL, implicit};
use daelight_lang::Diagnostic;
use std::time::Duration;

/// Relative tolerance of the run that gives the first values.
const HISTORY: f64 = 1e-11;
/// Constraints are looked at in this many points at most, evenly spread, and at the end.
const MAX_MEASURED: usize = 10_000;
/// The same for its derivatives, which hold the rounding of high derivatives of given functions.
const KEPT_HIDDEN: f64 = 1e-8;

/// The equations that the formula is put into.
#[derive(Clone, Copy)]
pub enum FixedForm<'a> {
    /// The model as written, whatever its index.
    Original,
    /// Its index reduced by dummy derivatives.
    Dummy,
    /// Its strangeness-free form, by elimination; as values, where that does not succeed.
    Strangeness,
    /// The same as values: nothing is eliminated, the derivative array is taken apart in every step.
    StrangenessValues,
    /// An ordinary differential equation for the states alone; the other unknowns follow from them.
    Decoupled,
    /// Equations written by hand, whose unknowns have the names of the model's.
    Given(&'a System),
}

/// What is asked of a run with constant steps.
#[derive(Clone, Debug)]
pub struct ConstantSteps {
    /// Where it begins; otherwise where the experiment does.
    pub from: Option<f64>,
    /// Where it ends.
    pub to: Option<f64>,
    /// The order of the formula, 1 to 6.
    pub order: usize,
    /// The step, without sign.
    pub step: f64,
    /// Equations without derivatives are multiplied by step^-scale, if this is given.
    pub scale: Option<f64>,
    /// Most time for the steps.
    pub budget: Option<Duration>,
    /// Values to start from.
    pub place: Place,
}

/// Why there is no run with constant steps.
pub enum NoFixedRun {
    /// There is no start, or no solution to take the first values from.
    NoRun(NoRun),
    /// The form does not exist.
    Form(Box<Diagnostic>),
    /// The interval, the numbers or the equations do not suit the method.
    Steps(FixedError),
    /// There is nothing to scale.
    NothingToScale,
    /// The form differentiates an unknown that the model does not have.
    Stranger(String),
    /// A parameter of the form cannot take the model's value.
    Parameter(ParameterError),
}

impl From<FixedError> for NoFixedRun {
    fn from(error: FixedError) -> Self {
        Self::Steps(error)
    }
}

/// A run with constant steps.
pub struct FixedSolution {
    /// The equations that were discretised.
    pub system: System,
    /// The run, in the unknowns of these equations.
    pub run: FixedRun,
    /// Where it began and was to end.
    pub interval: (f64, f64),
    /// Number of equations without derivatives; none in the decoupled form.
    pub n_algebraic: usize,
    /// Number of unknowns that the formula is applied to.
    pub n_discretised: usize,
    /// Largest residual of the model's own constraints at computed points, by level: position m is the m-th derivative.
    pub residuals: Vec<f64>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

impl FixedSolution {
    /// Whether a constraint of the model, written or hidden, is not kept at some point.
    pub fn has_drifted(&self) -> bool {
        let mut levels = self.residuals.iter().enumerate();
        levels.any(|(level, residual)| !is_kept(level, *residual))
    }
}

/// Whether a residual of a constraint differentiated `level` times is rounding.
fn is_kept(level: usize, residual: f64) -> bool {
    residual
        <= if level == 0 {
            MAX_RESIDUAL
        } else {
            KEPT_HIDDEN
        }
}

/// Where the value of an unknown of a form comes from.
#[derive(Clone, Copy)]
enum Known {
    /// A derivative of an unknown of the model.
    Derivative { unknown: usize, order: usize },
    /// A guess, for an unknown that is not differentiated.
    Guess(f64),
}

/// What the formula is applied to.
enum Applied {
    /// All equations.
    Equations,
    /// The states alone, by their positions.
    States(Vec<usize>),
    /// The strangeness-free form of the equations, as values.
    Values(Strangeness),
}

/// The equations of a form, and what its unknowns are.
struct Formed {
    system: System,
    known: Vec<Known>,
    applied: Applied,
    warnings: Vec<String>,
}

/// The first values of a method of constant steps: a solution of the model by series.
fn history(
    system: &System,
    options: &ConstantSteps,
    (from, to): (f64, f64),
    n_steps: usize,
) -> Result<Solution, NoRun> {
    let reach = (options.order.max(2) - 1).min(n_steps) as f64;
    let options = SolveOptions {
        from: Some(from),
        to: Some(from + (to - from).signum() * reach * options.step),
        rtol: Some(HISTORY),
        method: Some(implicit::Method::Taylor),
        place: options.place.clone(),
        ..SolveOptions::default()
    };
    solve(system, &options)
}

/// Integrates a form of a model with constant order and step.
pub fn solve_fixed(
    system: &System,
    form: FixedForm<'_>,
    options: &ConstantSteps,
) -> Result<FixedSolution, NoFixedRun> {
    crate::without_events(system.hybrid())
        .map_err(|diagnostic| NoFixedRun::NoRun(NoRun::Fault(diagnostic)))?;
    let equations = system.equations();
    if equations.n_equations() != equations.n_unknowns() {
        return Err(NoFixedRun::NoRun(NoRun::NotSquare));
    }
    let experiment = system.experiment();
    let from = options.from.or(experiment.start_time).unwrap_or(0.0);
    let to = options.to.or(experiment.stop_time).unwrap_or(from + 1.0);
    let steps = FixedSteps {
        order: options.order,
        step: options.step,
        scale: options.scale.unwrap_or(0.0),
        t_end: to,
        budget: options.budget,
    };
    let n_steps = steps.whole_steps(from)?;
    let mut formed = formed(system, form, from, &options.place)?;
    let pattern = formed.system.equations().pattern(1);
    let n = formed.system.equations().n_equations();
    let n_algebraic = match &formed.applied {
        Applied::Equations => (0..n).filter(|&i| pattern.row(i).is_empty()).count(),
        Applied::States(_) => 0,
        Applied::Values(quantities) => quantities.n_algebraic,
    };
    if options.scale.is_some() && n_algebraic == 0 {
        return Err(NoFixedRun::NothingToScale);
    }
    for &column in pattern.columns() {
        if let Known::Guess(_) = formed.known[column as usize] {
            let name = formed.system.unknowns()[column as usize].name.clone();
            return Err(NoFixedRun::Stranger(name));
        }
    }
    let history = history(system, options, (from, to), n_steps).map_err(NoFixedRun::NoRun)?;
    let value = |time: f64, into: &mut [f64]| first_values(system, &history, &formed, time, into);
    let (equations, parameters) = (
        formed.system.equations(),
        formed.system.parameters().values(),
    );
    let run = match &formed.applied {
        Applied::Equations => fixed::solve_from(equations, parameters, from, value, &steps)?,
        Applied::States(states) => {
            fixed::solve_decoupled(equations, parameters, states, from, value, &steps)?
        }
        Applied::Values(quantities) => {
            let mut form = StrangenessFree::new(system, *quantities);
            let jet = |time: f64| first_jet(system, &history, time);
            fixed::solve_strangeness(&mut form, from, jet, &steps)?
        }
    };
    let (residuals, mut told) = measure(system, &formed, &run, options.order);
    formed.warnings.append(&mut told);
    Ok(FixedSolution {
        n_discretised: match &formed.applied {
            Applied::States(states) => states.len(),
            _ => n,
        },
        system: formed.system,
        run,
        interval: (from, to),
        n_algebraic,
        residuals,
        warnings: formed.warnings,
    })
}

/// Makes the equations of a form.
fn formed(
    system: &System,
    form: FixedForm<'_>,
    from: f64,
    place: &Place,
) -> Result<Formed, NoFixedRun> {
    let place = Place {
        at: Some(from),
        ..place.clone()
    };
    let request = || request(system, &place).map_err(NoFixedRun::Form);
    let (method, writing) = match form {
        FixedForm::Original => return Ok(as_written(system)),
        FixedForm::Given(given) => return by_hand(system, given),
        FixedForm::Dummy => (ReduceBy::Dummy, Form::Implicit),
        FixedForm::Strangeness => (ReduceBy::Strangeness, Form::Implicit),
        FixedForm::StrangenessValues => return strangeness_as_values(system, &request()?),
        FixedForm::Decoupled => (ReduceBy::Dummy, Form::SemiExplicit),
    };
    let request = request()?;
    let no_form = |refusal| NoFixedRun::Form(refused(refusal));
    let groundwork = Groundwork::new(system, &request).map_err(no_form)?;
    let reduced = match groundwork.reduce(method, writing) {
        Ok(reduced) => reduced,
        Err(refusal) if method == ReduceBy::Strangeness => {
            let mut formed = strangeness_as_values(system, &request)?;
            formed
                .warnings
                .push(format!("The form was evaluated as values: {refusal}."));
            return Ok(formed);
        }
        Err(refusal) => return Err(no_form(refusal)),
    };
    let written = crate::system(&reduced.model).map_err(NoFixedRun::Form)?;
    let n_written = system.unknowns().len();
    let known = reduced.meanings.iter().zip(written.unknowns());
    let known = known.map(|(meaning, info)| {
        if meaning.unknown < n_written {
            Known::Derivative {
                unknown: meaning.unknown,
                order: meaning.order,
            }
        } else {
            Known::Guess(info.start.unwrap_or(0.0))
        }
    });
    let mut warnings = Vec::new();
    if reduced.is_unchanged {
        warnings.push(format!(
            "The form is the model as written: its index is {}.",
            groundwork.index()
        ));
    }
    Ok(Formed {
        known: known.collect(),
        applied: match writing {
            Form::SemiExplicit => Applied::States(reduced.states),
            _ => Applied::Equations,
        },
        system: written,
        warnings,
    })
}

/// The strangeness-free form of a model as values, where its characteristic quantities are known at the start.
fn strangeness_as_values(system: &System, request: &Request) -> Result<Formed, NoFixedRun> {
    let no_form = |refusal| NoFixedRun::Form(refused(refusal));
    let judgement = Judgement::new(system, request);
    let Some(indices) = judgement.indices() else {
        return Err(no_form(match &judgement.verdict {
            PointVerdict::Singular { .. } => Refusal::Singular,
            PointVerdict::Unknown { because } => Refusal::Undecided(because.clone()),
            PointVerdict::Regular => Refusal::Undecided("it has too many unknowns".to_string()),
        }));
    };
    let quantities = indices.strangeness;
    if quantities.n_free > 0 || quantities.n_redundant > 0 {
        let because = format!("its characteristic quantities are {quantities}");
        return Err(no_form(Refusal::NoText(because)));
    }
    Ok(Formed {
        applied: Applied::Values(quantities),
        ..as_written(system)
    })
}

fn as_written(system: &System) -> Formed {
    let n = system.unknowns().len();
    Formed {
        system: system.clone(),
        known: (0..n)
            .map(|unknown| Known::Derivative { unknown, order: 0 })
            .collect(),
        applied: Applied::Equations,
        warnings: Vec::new(),
    }
}

/// Equations of another file: unknowns and parameters are those of the model that have the same names.
fn by_hand(system: &System, given: &System) -> Result<Formed, NoFixedRun> {
    let mut form = given.clone();
    let ours = system.parameters();
    let (mut changes, mut warnings) = (Vec::new(), Vec::new());
    for (at, &value) in ours.values().iter().enumerate() {
        let theirs = form.parameters();
        let Ok(place) = theirs.find(ours.name(at)) else {
            continue;
        };
        if theirs.values()[place] == value {
            continue;
        }
        if let Err(ParameterError::Structural { name }) = theirs.settable(place) {
            warnings.push(format!(
                "`{name}` decides on the equations: the form keeps its own value, {}.",
                theirs.values()[place]
            ));
        } else {
            changes.push((place, value));
        }
    }
    form.set_parameters(&changes)
        .map_err(NoFixedRun::Parameter)?;
    let known = form.unknowns().iter().map(|info| {
        let same = |ours: &daelight_analysis::UnknownInfo| ours.name == info.name;
        match system.unknowns().iter().position(same) {
            Some(unknown) => Known::Derivative { unknown, order: 0 },
            None => Known::Guess(info.start.unwrap_or(0.0)),
        }
    });
    Ok(Formed {
        known: known.collect(),
        system: form,
        applied: Applied::Equations,
        warnings,
    })
}

/// The unknowns of the model and their derivatives at a time of the run by series.
fn first_jet(system: &System, history: &Solution, time: f64) -> Option<TaylorJet> {
    let slack = f64::EPSILON.sqrt() * (history.to - history.from).abs();
    let is_reached =
        (time - history.from).abs() <= (history.reached() - history.from).abs() + slack;
    history.reader(system).jet(time).filter(|_| is_reached)
}

/// The unknowns of a form at a time of the run by series.
fn first_values(
    system: &System,
    history: &Solution,
    formed: &Formed,
    time: f64,
    into: &mut [f64],
) -> bool {
    let Some(jet) = first_jet(system, history, time) else {
        return false;
    };
    for (place, known) in into.iter_mut().zip(&formed.known) {
        *place = match *known {
            Known::Derivative { unknown, order } => jet.derivative(unknown, order),
            Known::Guess(value) => value,
        };
    }
    true
}

/// The computed points in the unknowns of the model.
struct WrittenPoints<'a> {
    run: &'a FixedRun,
    /// Where each unknown stands in the form; `None` where the form leaves it out.
    place: Vec<Option<usize>>,
    sizes: Vec<f64>,
}

impl<'a> WrittenPoints<'a> {
    fn new(system: &System, formed: &Formed, run: &'a FixedRun) -> Self {
        let place = |unknown: usize| {
            let mut known = formed.known.iter();
            known.position(|known| matches!(known, Known::Derivative { unknown: j, order: 0 } if *j == unknown))
        };
        Self {
            run,
            place: (0..system.equations().n_unknowns()).map(place).collect(),
            sizes: nominal(system),
        }
    }

    /// A point, unknowns that the form leaves out as many sizes large.
    fn filled(&self, at: usize, sizes: f64) -> Vec<f64> {
        let values = self.run.points.point(at);
        let value = |(&place, size): (&Option<usize>, &f64)| match place {
            Some(place) => values[place],
            None => sizes * size,
        };
        self.place.iter().zip(&self.sizes).map(value).collect()
    }

    /// Which constraints depend on no unknown that the form leaves out; empty where it leaves out none.
    fn measurable(&self, levels: &mut ConstraintLevels) -> Vec<bool> {
        if self.place.iter().all(Option::is_some) {
            return Vec::new();
        }
        let last = self.run.points.times().len() - 1;
        let [one, other] = [0.0, 1.0].map(|sizes| {
            let residuals =
                levels.residuals(self.run.points.times()[last], &self.filled(last, sizes));
            residuals.unwrap_or_default()
        });
        // Derivatives are solved for together: what does not depend on an unknown differs by rounding.
        let same = |(a, b): (&(usize, f64), &(usize, f64))| {
            (a.1 - b.1).abs() <= 4096.0 * f64::EPSILON * a.1.max(b.1).max(1.0 / 1024.0)
        };
        one.iter().zip(&other).map(same).collect()
    }
}

/// The largest residual of each level of the model's constraints at the computed points, and what is to be said of it.
fn measure(
    system: &System,
    formed: &Formed,
    run: &FixedRun,
    order: usize,
) -> (Vec<f64>, Vec<String>) {
    let equations = system.equations();
    let sound = system.dae().sound();
    let times = match sound {
        Some(structure) => structure.offsets().equation.clone(),
        None => vec![0; equations.n_equations()],
    };
    let mut levels = ConstraintLevels::new(system, &times);
    let mut worst = vec![0.0_f64; levels.n_levels()];
    let mut warnings = Vec::new();
    if sound.is_none() || levels.is_cut() {
        warnings.push(
            "Hidden constraints were not measured: the equations as written do not give all derivatives."
                .to_string(),
        );
    }
    let points = WrittenPoints::new(system, formed, run);
    let n_points = run.points.times().len();
    if n_points <= order {
        return (worst, warnings);
    }
    let counts = points.measurable(&mut levels);
    let n_left_out = counts.iter().filter(|counts| !**counts).count();
    if n_left_out > 0 {
        warnings.push(format!(
            "{n_left_out} constraints contain unknowns that the form leaves out, and were not measured."
        ));
    }
    let every = (n_points - order).div_ceil(MAX_MEASURED);
    if every > 1 {
        warnings.push(format!(
            "Constraints were measured at every {every}th point."
        ));
    }
    let mut unmeasured = Vec::new();
    for at in (order..n_points).rev().step_by(every) {
        let time = run.points.times()[at];
        match levels.residuals(time, &points.filled(at, 0.0)) {
            Ok(found) => {
                for (i, (level, residual)) in found.into_iter().enumerate() {
                    if counts.get(i).copied().unwrap_or(true) {
                        // A residual that is no number must not look like a small one.
                        worst[level] = if residual.is_nan() {
                            f64::INFINITY
                        } else {
                            worst[level].max(residual)
                        };
                    }
                }
            }
            // For one, derivatives have no value where the model switches.
            Err(_) => unmeasured.push(time),
        }
    }
    if let Some(time) = unmeasured.first() {
        warnings.push(format!(
            "Constraints or their derivatives have no value at {} of the points, such as t = {time}; the others were measured.",
            unmeasured.len()
        ));
    }
    warnings.extend(violations(&worst));
    (worst, warnings)
}

/// Says which levels of the constraints the points do not keep.
fn violations(worst: &[f64]) -> Option<String> {
    let broken: Vec<String> = worst
        .iter()
        .enumerate()
        .filter(|(level, residual)| !is_kept(*level, **residual))
        .map(|(level, residual)| match level {
            0 => format!("a constraint as written by {residual:.1e}"),
            level => format!("derivative {level} of a constraint by {residual:.1e}"),
        })
        .collect();
    (!broken.is_empty()).then(|| {
        format!(
            "The points violate {}: in this form it holds up to the error of the formula only.",
            broken.join(", ")
        )
    })
}
