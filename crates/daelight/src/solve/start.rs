//! Where a run begins: the consistent point closest to what the model and the options say.

use super::{NoRun, START_ORDER, SolveOptions};
use crate::analyze::{Place, request};
use daelight_analysis::System;
use daelight_analysis::initial::{
    Closeness, ConsistentPoint, Finder, NoPoint, Request, SideChoice, StageOffsets, TaylorJet,
    consistent_point, consistent_start,
};
use daelight_analysis::judgement::{Judgement, PointVerdict};
use daelight_analysis::passport::Passport;
use daelight_analysis::repair::Repaired;
use daelight_analysis::start::{
    Others, Outcome, StartRequest, find_start_after, singular_at, violated,
};
use daelight_integrate::StartError;
use std::time::Instant;

/// Unknowns from which the jet at the start has no more orders than the structure asks for, and no others are looked for.
pub(super) const LARGE: usize = 100;

/// Values closer to each other than this part of their size are those of the same point.
pub(crate) const SAME_POINT: f64 = 1e-10;

/// What is asked of the start of a run.
pub(crate) fn start_request(
    system: &System,
    options: &SolveOptions,
    from: f64,
) -> Result<Request, NoRun> {
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
    let budgets = [place.budget, options.budget].into_iter().flatten();
    request.budget = budgets.min().unwrap_or(request.budget);
    let structure = system.structure().map_err(|_| NoRun::NotSquare)?;
    request.order = START_ORDER;
    if system.unknowns().len() > LARGE && system.dae().sound().is_some() {
        // The structure says what a start consists of; more takes longer than the search itself.
        let deepest = structure.offsets().equation.iter().copied().max();
        request.order = deepest.unwrap_or(0).clamp(1, START_ORDER);
    }
    Ok(request)
}

/// The start of a run, closest to what the model and the options say.
pub(crate) fn start_point(
    system: &System,
    options: &SolveOptions,
    from: f64,
) -> Result<(ConsistentPoint, Request), NoRun> {
    let began = Instant::now();
    let request = start_request(system, options, from)?;
    let offsets = system.dae().sound().map(StageOffsets::of);
    let direct = consistent_start(system, offsets, &request);
    match direct {
        Ok(point)
            if violated(system, point.jet.values()).is_empty()
                && !is_given_twice(system, &request) =>
        {
            return Ok((point, request));
        }
        Err(NoPoint::TooLarge { .. }) if offsets.is_some() => {
            return Ok((at_rest(&request), request));
        }
        _ => {}
    }
    // Bounds, and values that are given twice, are weighed where `init` weighs them.
    let left = in_time(&request, options, began);
    let known = direct.as_ref().err();
    let wanted = StartRequest::of(&left, Others::No);
    match (find_start_after(system, &wanted, known), &direct) {
        (Outcome::Found(start), _) => Ok((start.point, request)),
        // What is given twice by values far below 1 contradicts itself by less than points are found to.
        (Outcome::Conflict(_), Ok(_)) if is_given_twice(system, &request) => {
            let judgement = Judgement::new(system, &in_time(&request, options, began));
            Err(NoRun::NoStart(shown(judgement, options)))
        }
        (_, Ok(point)) => Ok((point.clone(), request)),
        (Outcome::Singular(singular), _) => Err(NoRun::SingularStart(Box::new(singular.passport))),
        _ => {
            let left = in_time(&request, options, began);
            let judgement = Judgement::after(system, &left, known);
            let is_singular = matches!(judgement.verdict, PointVerdict::Singular { .. });
            let passport = shown(judgement, options);
            Err(match is_singular {
                true => NoRun::SingularStart(passport),
                false => NoRun::NoStart(passport),
            })
        }
    }
}

/// Whether more is fixed than can be chosen.
fn is_given_twice(system: &System, request: &Request) -> bool {
    let n_conditions = request.conditions.len() as u64;
    let structure = system.structure().ok();
    structure.is_some_and(|structure| n_conditions > structure.n_degrees_of_freedom())
}

/// The same request in the time that is left of the budget of a run, given when it began.
pub(super) fn in_time(request: &Request, options: &SolveOptions, began: Instant) -> Request {
    Request {
        budget: options.after(began).budget.unwrap_or(request.budget),
        ..request.clone()
    }
}

/// The guess itself, for models too large for the search: the integrator projects it.
fn at_rest(request: &Request) -> ConsistentPoint {
    let jet = TaylorJet::at_rest(&request.guess, START_ORDER + 2);
    unchecked(request.time, jet)
}

/// A point that nobody has checked: the integrator projects it.
pub(crate) fn unchecked(time: f64, jet: TaylorJet) -> ConsistentPoint {
    ConsistentPoint {
        time,
        jet,
        order: 0,
        residual: f64::NAN,
        residuals: Vec::new(),
        closeness: Closeness::Stopped,
        distance: 0.0,
        attempt: 0,
        structure_fails: false,
        pins: Vec::new(),
        choice: SideChoice::Decided,
        followed: None,
    }
}

/// What a run begins with that goes on where another one was.
pub(crate) fn going_on(time: f64, jet: TaylorJet) -> (ConsistentPoint, Request) {
    let request = Request {
        time,
        guess: jet.values().to_vec(),
        given: Vec::new(),
        conditions: Vec::new(),
        order: 0,
        budget: std::time::Duration::from_secs(10),
    };
    (unchecked(time, jet), request)
}

/// What a model is where no run begins; nobody reads formulas of runs that are only measured.
fn shown(judgement: Judgement<'_>, options: &SolveOptions) -> Box<Passport> {
    Box::new(match options.unexplained {
        true => Passport::without_formulas(judgement),
        false => Passport::of(judgement),
    })
}

/// Why a run could not begin: a singular start, if it is one.
pub(super) fn no_start(
    system: &System,
    (request, options): (&Request, &SolveOptions),
    jet: &TaylorJet,
    error: StartError,
) -> NoRun {
    let judgement = Judgement::new(system, request);
    if let PointVerdict::Singular { .. } = judgement.verdict {
        return NoRun::SingularStart(shown(judgement, options));
    }
    let free = judgement.indices().map_or(0, |all| all.strangeness.n_free);
    if error == StartError::StructureFails && free > 0 {
        return NoRun::Undetermined(shown(judgement, options));
    }
    match singular_at(system, request, jet) {
        Some(singular) if error == StartError::StructureFails => {
            NoRun::SingularStart(Box::new(singular.passport))
        }
        _ => NoRun::Start(error),
    }
}

/// The point with as many coefficients as rewritten equations start from: those of new unknowns follow from derivatives of
/// the written ones, and coefficients that are not determined by the array would move the values.
pub(super) fn deepened(
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
        given: Vec::new(),
        order,
        ..request.clone()
    };
    let is_same = |deeper: &ConsistentPoint| {
        let mut values = deeper.jet.values().iter().zip(point.jet.values());
        values.all(|(a, b)| (a - b).abs() <= SAME_POINT * b.abs().max(1.0))
    };
    // Lower orders hold; sides of switches are found by a search.
    let mut finder = Finder::new(system, None, request.time, request.order);
    let at_once = (point.pins.is_empty()).then(|| finder.deepened(&request, &point.jet));
    let at_once = at_once.flatten().filter(is_same);
    let searched = || {
        consistent_point(system, None, &request)
            .ok()
            .filter(is_same)
    };
    match at_once.or_else(searched) {
        Some(deeper) => ConsistentPoint {
            distance: point.distance,
            closeness: point.closeness,
            ..deeper
        },
        None => point,
    }
}
