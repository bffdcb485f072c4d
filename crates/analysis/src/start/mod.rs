//! The start of a model: consistent values closest to what the user gave, what was free, and what contradicts what.
//!
//! [`find_start`] asks [`crate::initial`] for points and decides what the answers mean: a start, a contradiction between
//! fixed values, a singular point, or a search that gave up. The rules are in `docs/theory/initial.md`.

mod agreement;
mod bounds;
mod conflict;
mod freedom;

pub use bounds::violated;
pub use conflict::{ACCEPTED, Broken, Condition, Conflict, Remedy};
pub use freedom::Freedom;

use crate::System;
use crate::chain::CriticalKind;
use crate::dae::{Regularity, RepairPart, beside};
use crate::edge::{Edge, edges};
use crate::initial::{
    ArrayFault, Closeness, ConsistentPoint, Finder, Followed, NoPoint, Obstacle, Request, Row,
    StageOffsets, TaylorJet, by_rewriting, follow, nominal,
};
use crate::judgement::{Judgement, MAX_NUMERICAL, PointVerdict, StructuralPart};
use crate::passport::Passport;
use crate::singular_loci::SingularLocus;
use crate::structure::Structure;
use crate::tolerances::{FAR_OFF, HOLDS, LARGEST_DENSE};
use agreement::agrees_as_written;
use conflict::{Judge, Resolution};
use daelight_expr::{Fault, FaultKind, Walker};
use daelight_lang::Symbol;
use freedom::{freedom, freedom_at_start, n_undetermined};
use std::time::{Duration, Instant};

/// How hard to look for other solutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Not at all.
    No,
    /// A few starts, where they are cheap.
    Glance,
    /// Many starts.
    All,
}

/// What start to look for.
#[derive(Clone, Debug)]
pub struct StartRequest {
    /// The time.
    pub time: f64,
    /// Guesses for all unknowns.
    pub guess: Vec<f64>,
    /// Which guesses somebody gave; empty for all of them.
    pub given: Vec<bool>,
    /// Fixed values and initial equations.
    pub conditions: Vec<Row>,
    /// The highest derivative wanted of all unknowns.
    pub order: usize,
    /// How long to search.
    pub budget: Duration,
    /// How hard to look for other solutions.
    pub others: Others,
    /// Whether to look beside a singular point for the nearest regular one.
    pub nearest_regular: bool,
}

impl StartRequest {
    /// The start of a request for a point.
    pub fn of(request: &Request, others: Others) -> Self {
        Self {
            time: request.time,
            guess: request.guess.clone(),
            given: request.given.clone(),
            conditions: request.conditions.clone(),
            order: request.order,
            budget: request.budget,
            others,
            nearest_regular: false,
        }
    }
}

/// A start.
#[derive(Clone, Debug)]
pub struct Start {
    /// The point, the closest one to the guess on its branch of the constraints.
    pub point: ConsistentPoint,
    /// The highest derivative that is determined for all unknowns: as asked, or as far as they are numbers.
    pub order: usize,
    /// The highest derivative asked for.
    pub asked: usize,
    /// The conditions that hold, those of the request first, then the bounds that are reached.
    pub conditions: Vec<Condition>,
    /// What the conditions use up and what is left; `None` for large systems.
    pub freedom: Option<Freedom>,
    /// How many values are free beside the conditions.
    pub n_free: usize,
    /// Largest relative residual of the conditions.
    pub condition_residual: f64,
    /// Other solutions that were found, the closest first.
    pub others: Vec<ConsistentPoint>,
    /// How many further starts were tried to find others.
    pub n_tried: usize,
    /// The time or guess that was asked for is singular; this is the nearest regular one.
    pub beside_singular: bool,
    /// How far it is from singular: the smallest singular value of a block of the system Jacobian, relative to what it is
    /// at other points; for a start beside a singular one whose structure is known.
    pub margin: Option<f64>,
    /// Whether the budget ended the search for other solutions.
    pub others_cut: bool,
}

/// A start that is required on a singular point.
#[derive(Clone, Debug)]
pub struct SingularStart {
    /// The passport of the point, with its singular blocks.
    pub passport: Passport,
    /// The kind, where it is decided.
    pub kind: Option<CriticalKind>,
    /// The set of singular points that it lies on, where there is a formula.
    pub locus: Option<SingularLocus>,
    /// Expressions that are at the edge of their domain.
    pub edges: Vec<Edge>,
}

/// How the search for a start ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A start was found.
    Found(Box<Start>),
    /// Fixed values, initial equations or bounds contradict each other.
    Conflict(Box<Conflict>),
    /// The point is singular.
    Singular(Box<SingularStart>),
    /// No point was found.
    Missing {
        /// Where the search ended.
        no_point: NoPoint,
        /// Whether that was the budget.
        budget_reached: bool,
        /// The first equations that could not be solved, where the structure tells an order.
        obstacle: Option<Box<Obstacle>>,
    },
}

/// Orders beyond the one asked for that are tried where no structure tells how many are needed.
const MAX_EXTRA: usize = 10;
/// Values that differ by less than this, relative to their sizes, are the same solution.
const SAME: f64 = 1e-6;
/// Sizes of the disturbances from which other solutions are looked for, in units of nominal.
const SPREAD: [f64; 6] = [0.3, 1.0, 2.0, 3.0, 0.6, 1.5];
/// How many starts are tried for [`Others::All`] and [`Others::Glance`].
const N_ALL: usize = 48;
const N_GLANCE: usize = 12;
/// A glance is cast only at arrays of at most this many rows, where a search takes milliseconds.
const CHEAP_ROWS: usize = 40;
/// Steps away from a singular point, relative to 1 + |t|: two a decade.
const FIRST_STEP: f64 = 1e-7;
const N_STEPS: usize = 15;
/// A start beside a singular point is far enough from it when the smallest singular value of each block is this part of
/// what it is at points that are a hundredth of their size away.
const MARGIN: f64 = 0.03;
/// A singular point this close to a locus lies on it: its values are known to the root of the rounding.
pub const ON_LOCUS: f64 = 1e-5;
/// Part of the budget that a glance at other solutions may take.
const GLANCE: f64 = 0.1;
/// Farthest that a value may move by that, relative to its size.
const SHARP_MOVE: f64 = 1e-8;

/// Finds the start of a system.
pub fn find_start(system: &System, request: &StartRequest) -> Outcome {
    find_start_after(system, request, None)
}

/// The same where [`consistent_start`](crate::initial::consistent_start) was asked for the same point, and ended so.
pub fn find_start_after(
    system: &System,
    request: &StartRequest,
    ended: Option<&NoPoint>,
) -> Outcome {
    let structure = system.dae().sound();
    // With conditions, or with orders that a structure asks for, the search here is another one.
    let is_same = structure.is_none()
        && request.conditions.is_empty()
        && request.order > 0
        && system.model().homotopy.is_none();
    let is_end =
        |end: &&NoPoint| matches!(end, NoPoint::Stalled { residual, .. } if *residual > FAR_OFF);
    let search = Search {
        system,
        structure,
        request,
        deadline: Instant::now() + request.budget,
        ended: ended.filter(|_| is_same).filter(is_end),
    };
    match search.at(request.time, &request.guess, Strictness::Usual) {
        Outcome::Singular(singular) if request.nearest_regular => match search.nearest_regular() {
            Some(start) => Outcome::Found(start),
            None => Outcome::Singular(singular),
        },
        outcome @ (Outcome::Missing { .. } | Outcome::Conflict(_)) => {
            search.led_by_homotopy().unwrap_or(outcome)
        }
        outcome => outcome,
    }
}

/// What is free at a consistent point beside the conditions of a request, to first order, and which of these count; `None` for large
/// systems.
pub fn freedom_at(system: &System, request: &Request, jet: &TaylorJet) -> Option<Freedom> {
    let Some(structure) = system.dae().sound() else {
        return freedom_by_array(system, request);
    };
    if structure.n_degrees_of_freedom() == 0 {
        return Some(Freedom {
            n_open: 0,
            using: Vec::new(),
            redundant: (0..request.conditions.len()).collect(),
            free: Vec::new(),
        });
    }
    let deepest = structure.offsets().equation.iter().max().copied();
    let order = request.order.max(deepest.unwrap_or(0));
    let offsets = Some(StageOffsets::of(structure));
    let mut finder = Finder::new(system, offsets, request.time, order);
    freedom(system, &mut finder, request, jet)
}

/// The same where no structure holds: the start is looked for once more, along the whole array.
fn freedom_by_array(system: &System, request: &Request) -> Option<Freedom> {
    let wanted = StartRequest {
        order: 1,
        ..StartRequest::of(request, Others::No)
    };
    match find_start(system, &wanted) {
        Outcome::Found(start) => start.freedom,
        _ => None,
    }
}

/// The passport of a consistent point, if it is singular as [`find_start`] sees it.
pub fn singular_at(
    system: &System,
    request: &Request,
    jet: &TaylorJet,
) -> Option<Box<SingularStart>> {
    let wanted = StartRequest::of(request, Others::Glance);
    let search = Search {
        system,
        structure: system.dae().sound(),
        request: &wanted,
        deadline: Instant::now() + request.budget,
        ended: None,
    };
    let (mut finder, _) = search.finder(request.time, &request.guess);
    search.singular(&mut finder, request, jet, Strictness::Usual)
}

/// Whether a search ended exactly where an expression switches.
fn is_kink(no_point: &NoPoint) -> bool {
    match no_point {
        NoPoint::Fault(ArrayFault::Equation(fault) | ArrayFault::Initial(fault)) => {
            fault.kind == FaultKind::Kink
        }
        _ => false,
    }
}

/// What a point whose system Jacobian is singular counts as.
#[derive(Clone, Copy, PartialEq)]
enum Strictness {
    /// Regular if an index exists there all the same.
    Usual,
    /// Singular in any case.
    Regular,
}

/// What a point is to a start.
enum Ground {
    /// Nothing is against it.
    Regular,
    /// A block of the system Jacobian is singular there and all along the solution, which has an index: ranks tell what is free, offsets do not.
    Kept,
    /// It is singular.
    Singular(Box<SingularStart>),
}

struct Search<'s> {
    system: &'s System,
    /// The structure, where its system Jacobian is not singular everywhere.
    structure: Option<&'s Structure>,
    request: &'s StartRequest,
    deadline: Instant,
    /// How the search for the point as it was asked for is known to end.
    ended: Option<&'s NoPoint>,
}

impl Search<'_> {
    /// How a search from a guess is known to end.
    fn known_end(&self, time: f64, guess: &[f64]) -> Option<&NoPoint> {
        let is_asked = time == self.request.time && guess == self.request.guess;
        self.ended.filter(|_| is_asked && self.structure.is_none())
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn out_of_time(&self) -> bool {
        Instant::now() > self.deadline
    }

    fn conditions(&self) -> Vec<Condition> {
        let written = self.request.conditions.iter();
        written
            .map(|&row| Condition {
                row,
                is_bound: false,
            })
            .collect()
    }

    /// The start that `homotopy` leads to from the simplified equations, if it does.
    fn led_by_homotopy(&self) -> Option<Outcome> {
        let (_, bare) = self.finder(self.request.time, &self.request.guess);
        let request = Request {
            conditions: self.request.conditions.clone(),
            budget: self.remaining(),
            ..bare
        };
        let Followed { values, n_steps } = follow(self.system, &request)?;
        match self.at(self.request.time, &values, Strictness::Usual) {
            Outcome::Found(mut start) => {
                start.point.followed = Some(n_steps);
                Some(Outcome::Found(start))
            }
            _ => None,
        }
    }

    /// A finder for a time, and the request in it that reaches the derivatives asked for.
    fn finder(&self, time: f64, guess: &[f64]) -> (Finder<'_>, Request) {
        let wanted = self.request.order.max(1);
        let mut request = Request {
            time,
            guess: guess.to_vec(),
            given: self.request.given.clone(),
            conditions: Vec::new(),
            order: wanted,
            budget: self.remaining(),
        };
        if let Some(structure) = self.structure {
            let deepest = structure.offsets().equation.iter().max().copied();
            request.order = wanted.max(deepest.unwrap_or(0));
            let offsets = Some(StageOffsets::of(structure));
            let finder = Finder::new(self.system, offsets, time, request.order);
            return (finder, request);
        }
        let mut finder = Finder::new(self.system, None, time, wanted + MAX_EXTRA);
        request.order = match self.known_end(time, guess) {
            Some(_) => wanted,
            None => self.settled_order(&mut finder, &request, wanted),
        };
        (finder, request)
    }

    /// The order of the array from which on the coefficients wanted are as determined as they get: their freedom stayed
    /// the same over two orders. Where the rows of some order contradict each other before that, it is the order at which they do: no
    /// solution goes through a point that satisfies the lower ones.
    fn settled_order(&self, finder: &mut Finder<'_>, request: &Request, wanted: usize) -> usize {
        let mut before: [Option<usize>; 2] = [None; 2];
        for order in wanted..=wanted + MAX_EXTRA {
            let request = Request {
                order,
                budget: self.remaining(),
                ..request.clone()
            };
            match finder.closest(&request) {
                Ok(point) => {
                    let now = n_undetermined(finder, &request, &point.jet, wanted);
                    if now.is_some() && before == [now; 2] {
                        return order;
                    }
                    before = [before[1], now];
                }
                Err(NoPoint::Stalled { residual, .. }) if residual > FAR_OFF => return order,
                Err(_) => return order.saturating_sub(1).max(wanted),
            }
        }
        wanted + MAX_EXTRA
    }

    fn at(&self, time: f64, guess: &[f64], strictness: Strictness) -> Outcome {
        let (mut finder, bare) = self.finder(time, guess);
        let conditions = self.conditions();
        let request = Request {
            conditions: self.request.conditions.clone(),
            budget: self.remaining(),
            ..bare.clone()
        };
        let known = self.known_end(time, guess);
        let found = match known {
            Some(end) => Err(end.clone()),
            None => finder.closest(&request),
        };
        // Rewritten equations were asked before such an end was told.
        let rewritten = |finder: &mut Finder<'_>, end: &NoPoint| match known {
            Some(_) => None,
            None => self.by_rewriting(finder, &request, end),
        };
        let point = match found {
            Ok(point) => point,
            Err(first) if self.out_of_time() => return self.missing(&finder, first),
            Err(first) => match rewritten(&mut finder, &first) {
                Some(outcome) => return outcome,
                None => match self.without_point(&mut finder, &request, bare, first) {
                    Ok(point) => point,
                    Err(outcome) => return outcome,
                },
            },
        };
        let ground = self.ground(&mut finder, &request, &point.jet, strictness);
        if let Ground::Singular(singular) = ground {
            return Outcome::Singular(singular);
        }
        // Degrees of freedom and free unknowns are then read off the array, not off the offsets.
        let fails = finder.structure_fails() || matches!(ground, Ground::Kept);
        if fails
            && self.structure.is_some()
            && !finder.is_large()
            && strictness == Strictness::Usual
        {
            let search = Search {
                structure: None,
                ..*self
            };
            return search.at(time, guess, strictness);
        }
        let (point, conditions) = match self.within_bounds(&mut finder, &request, point, conditions)
        {
            Ok(found) => found,
            Err(conflict) => return Outcome::Conflict(conflict),
        };
        let start = self.start(&mut finder, &request, point, conditions);
        match self.contradicted(&mut finder, &request, &start) {
            Some(conflict) => Outcome::Conflict(conflict),
            None => Outcome::Found(Box::new(start)),
        }
    }

    /// A contradiction that is smaller than what rows are found to: values far below 1 have sizes of their own.
    fn contradicted(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        start: &Start,
    ) -> Option<Box<Conflict>> {
        let freedom = start.freedom.as_ref()?;
        if freedom.redundant.is_empty() {
            return None;
        }
        let given = Request {
            conditions: start.conditions.iter().map(|c| c.row).collect(),
            budget: self.remaining(),
            ..request.clone()
        };
        let jet = &start.point.jet;
        if agrees_as_written(self.system, finder, &given, jet, freedom) != Some(false) {
            return None;
        }
        let mut judge = self.judge(finder, request, jet);
        match judge.resolve(&start.conditions) {
            Resolution::Accepted(_) => None,
            Resolution::Conflict(conflict) => Some(conflict),
        }
    }

    /// The start that rewritten equations lead to, where those of the model have no order to be solved in.
    fn by_rewriting(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        end: &NoPoint,
    ) -> Option<Outcome> {
        if request.guess != self.request.guess {
            return None;
        }
        let point = by_rewriting(self.system, request, end, self.remaining())?;
        if point.jet.values() == request.guess {
            return None;
        }
        let ground = self.ground(finder, request, &point.jet, Strictness::Usual);
        if let Ground::Singular(singular) = ground {
            return Some(Outcome::Singular(singular));
        }
        let search = Search {
            structure: None,
            ..*self
        };
        match search.at(request.time, point.jet.values(), Strictness::Usual) {
            Outcome::Found(mut start) => {
                start.point.distance = point.distance;
                start.point.closeness = point.closeness;
                Some(Outcome::Found(start))
            }
            _ => None,
        }
    }

    /// What it means that the first search found nothing: a point all the same, where conditions are more than needed and agree, or why
    /// there is none.
    fn without_point(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        bare: Request,
        first: NoPoint,
    ) -> Result<ConsistentPoint, Outcome> {
        let conditions = self.conditions();
        if let Some(singular) = self.required_edge(request) {
            return Err(Outcome::Singular(singular));
        }
        // At a switch there are no derivatives, whatever is fixed.
        if is_kink(&first) {
            return Err(self.missing(finder, first));
        }
        let forced = finder.obstacle().filter(|obstacle| obstacle.is_forced);
        let forced = forced.and_then(|obstacle| obstacle.fault.clone());
        let undefined = || {
            self.undefined(request.time, &request.guess)
                .map(ArrayFault::Equation)
        };
        let is_forced = forced.is_some();
        if let Some(fault) = forced.or_else(undefined) {
            let obstacle = finder.obstacle().filter(|_| is_forced);
            return Err(Outcome::Missing {
                no_point: NoPoint::Fault(fault),
                budget_reached: false,
                obstacle: obstacle.cloned().map(Box::new),
            });
        }
        // A search with all conditions that ends on a singular point says nothing against them.
        if let Some(singular) = self.stalled_on(finder, request, &first) {
            return Err(Outcome::Singular(singular));
        }
        if conditions.is_empty() {
            return Err(self.missing(finder, first));
        }
        let bare = Request {
            budget: self.remaining(),
            ..bare
        };
        let without = match finder.closest(&bare) {
            Ok(point) => point,
            Err(second) => {
                return Err(match self.stalled_on(finder, &bare, &second) {
                    Some(singular) => Outcome::Singular(singular),
                    None => self.missing(finder, second),
                });
            }
        };
        let mut judge = self.judge(finder, request, &without.jet);
        match judge.resolve(&conditions) {
            Resolution::Accepted(point) => Ok(*point),
            Resolution::Conflict(_) if self.out_of_time() => Err(self.missing(finder, first)),
            Resolution::Conflict(conflict) => Err(Outcome::Conflict(conflict)),
        }
    }

    /// An expression of fixed values alone that has no value there: no search can help.
    fn undefined(&self, time: f64, guess: &[f64]) -> Option<Fault> {
        let mut evaluator = self.system.evaluator();
        evaluator.set_time(time);
        evaluator.set(0, guess);
        let mut into = vec![0.0; self.system.equations().n_equations()];
        let fault = evaluator.residuals(&mut into).err()?;
        let is_fixed = |unknown: usize| {
            let mut rows = self.request.conditions.iter();
            rows.any(|row| matches!(row, Row::Value { unknown: fixed, .. } if *fixed == unknown))
        };
        let equations = self.system.equations();
        let symbols = Walker::new().symbols(equations.graph(), &[fault.expr]);
        let known = symbols
            .into_iter()
            .all(|id| match equations.symbols().get(id) {
                Symbol::Unknown { unknown, order } => order == 0 && is_fixed(unknown),
                _ => true,
            });
        known.then_some(fault)
    }

    fn judge<'j, 'a>(
        &'j self,
        finder: &'j mut Finder<'a>,
        request: &'j Request,
        bare: &'j TaylorJet,
    ) -> Judge<'j, 'a> {
        Judge {
            system: self.system,
            finder,
            request,
            offsets: self.structure.map(|s| s.offsets().equation.as_slice()),
            bare,
            deadline: self.deadline,
        }
    }

    /// Collects what is known of a point.
    fn start(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        point: ConsistentPoint,
        conditions: Vec<Condition>,
    ) -> Start {
        let rows: Vec<Row> = conditions.iter().map(|c| c.row).collect();
        let request = Request {
            conditions: rows.clone(),
            budget: self.remaining(),
            ..request.clone()
        };
        let point = self.sharpened(point, &rows);
        let freedom = freedom_at_start(self.system, finder, &request, &point.jet);
        let n_free = match (&freedom, self.structure) {
            (Some(freedom), _) => freedom.n_open - freedom.using.len(),
            (None, Some(structure)) => {
                let open = usize::try_from(structure.n_degrees_of_freedom()).unwrap_or(usize::MAX);
                open.saturating_sub(rows.len())
            }
            (None, None) => 0,
        };
        let residuals = finder.residuals(&rows, &point.jet).unwrap_or_default();
        let condition_residual = residuals.iter().map(|r| r.0).fold(0.0, f64::max);
        let n_starts = match &freedom {
            // A free value that the distance does not see makes solutions a continuum, with nothing to tell them apart.
            Some(freedom) if !finder.sees(&freedom.free) => 0,
            _ if self.request.others == Others::All => N_ALL,
            _ if self.request.others == Others::No => 0,
            _ if finder.base(&request).rows.len() <= CHEAP_ROWS => N_GLANCE,
            _ => 0,
        };
        let (others, n_tried) = self.others(finder, &request, &point, n_starts);
        let asked = self.request.others == Others::All;
        Start {
            order: self.request.order.min(point.order.max(1)),
            asked: self.request.order,
            point,
            conditions,
            freedom,
            n_free,
            condition_residual,
            others,
            others_cut: asked && n_tried < n_starts,
            n_tried,
            beside_singular: false,
            margin: None,
        }
    }

    /// Other solutions, from starts around the guess.
    fn others(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        point: &ConsistentPoint,
        n_starts: usize,
    ) -> (Vec<ConsistentPoint>, usize) {
        let mut others: Vec<ConsistentPoint> = Vec::new();
        let mut n_tried = 0;
        let sizes = nominal(self.system);
        // Where rates are not determined by the values, they make a difference too.
        let n_orders = if finder.rates_matter() { 2 } else { 1 };
        let same = |a: &TaylorJet, b: &TaylorJet| {
            (0..n_orders).all(|order| {
                sizes.iter().enumerate().all(|(unknown, size)| {
                    let (a, b) = (a.get(unknown, order), b.get(unknown, order));
                    (a - b).abs() < SAME * (size + a.abs().max(b.abs()))
                })
            })
        };
        let mut deadline = self.deadline;
        if self.request.others != Others::All {
            deadline = deadline.min(Instant::now() + self.request.budget.mul_f64(GLANCE));
        }
        for attempt in 0..n_starts {
            if Instant::now() > deadline {
                break;
            }
            n_tried += 1;
            let size = SPREAD[attempt % SPREAD.len()];
            let found = finder.from_beside(request, 100 + attempt, size, deadline);
            let Ok(found) = found else { continue };
            let known = others.iter().map(|other| &other.jet).chain([&point.jet]);
            // Where the search along the constraints stopped early the point is no solution of its own.
            if found.closeness == Closeness::Closest
                && bounds::violated(self.system, found.jet.values()).is_empty()
                && !known.into_iter().any(|jet| same(jet, &found.jet))
            {
                let conditions = &request.conditions;
                others.push(self.sharpened(found, conditions));
            }
        }
        others.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        (others, n_tried)
    }

    fn missing(&self, finder: &Finder<'_>, no_point: NoPoint) -> Outcome {
        Outcome::Missing {
            no_point,
            budget_reached: self.out_of_time(),
            obstacle: finder.obstacle().cloned().map(Box::new),
        }
    }

    /// The singular point on which a search ended, if it did.
    ///
    /// Only where the equations hold as written, with the conditions, is a singular jet evidence; elsewhere it is a guess.
    fn stalled_on(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        no_point: &NoPoint,
    ) -> Option<Box<SingularStart>> {
        let NoPoint::Stalled { jet, .. } = no_point else {
            return None;
        };
        // Block by block all is known that does not depend on what failed.
        let in_order = finder.obstacle().map(|obstacle| obstacle.jet.clone());
        let equations = self.system.equations();
        let written = (0..equations.n_equations())
            .filter(|i| equations.pattern(1).row(*i).is_empty())
            .map(|equation| Row::Equation { equation, order: 0 });
        let rows: Vec<Row> = written.chain(request.conditions.iter().copied()).collect();
        // Where a row vanishes with all its derivatives, only the residual itself can be read.
        let small = |r: &(f64, f64)| r.0 < FAR_OFF || r.1.abs() < FAR_OFF * FAR_OFF;
        [Some(jet), in_order.as_ref()]
            .into_iter()
            .flatten()
            .find_map(|jet| {
                let residuals = finder.residuals(&rows, jet);
                let holds = residuals.is_some_and(|list| list.iter().all(small));
                holds
                    .then(|| self.singular(finder, request, jet, Strictness::Usual))
                    .flatten()
            })
    }

    /// Whether the array leaves other freedom beside a jet than at it: the cheap test that decides whether a judgement
    /// is asked for.
    fn ranks_change(&self, finder: &mut Finder<'_>, request: &Request, jet: &TaylorJet) -> bool {
        let here = n_undetermined(finder, request, jet, 0);
        let changes = (0..2).any(|which| {
            let (time, beside) = beside(
                jet,
                request.time,
                &crate::initial::nominal(self.system),
                which,
            );
            finder.set_time(time);
            n_undetermined(finder, request, &beside, 0) != here
        });
        finder.set_time(request.time);
        changes
    }

    /// The passport of a point, if it is singular.
    fn singular(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        jet: &TaylorJet,
        strictness: Strictness,
    ) -> Option<Box<SingularStart>> {
        match self.ground(finder, request, jet, strictness) {
            Ground::Singular(singular) => Some(singular),
            Ground::Regular | Ground::Kept => None,
        }
    }

    /// What a point is to a start.
    fn ground(
        &self,
        finder: &mut Finder<'_>,
        request: &Request,
        jet: &TaylorJet,
        strictness: Strictness,
    ) -> Ground {
        let edges = edges(self.system, request.time, jet);
        let standing = || self.system.dae().standing_at(request.time, jet);
        let fails = match self.system.dae().sound() {
            _ if !edges.is_empty() => true,
            Some(_) => matches!(standing(), Some(Regularity::SingularHere(_))),
            None => false,
        };
        let is_suspicious =
            fails || (self.structure.is_none() && self.ranks_change(finder, request, jet));
        let n = self.system.equations().n_unknowns();
        if !is_suspicious || n > MAX_NUMERICAL || self.out_of_time() {
            return Ground::Regular;
        }
        let request = Request {
            budget: self.remaining(),
            ..request.clone()
        };
        let judgement = Judgement::new(self.system, &request);
        // What a repair cures was singular along all solutions, and says nothing of this point.
        let is_cured = |part: &StructuralPart| matches!(part.repair, RepairPart::Repaired(_));
        let is_singular = fails && !judgement.structure().is_some_and(is_cured);
        let kind = match &judgement.verdict {
            PointVerdict::Singular { kind } => *kind,
            // The solution may stay in the singular set, where the model is of another kind and has an index again.
            PointVerdict::Regular => match judgement.indices() {
                Some(indices)
                    if indices.differentiation_index.is_some()
                        && strictness == Strictness::Usual =>
                {
                    return match fails {
                        true => Ground::Kept,
                        false => Ground::Regular,
                    };
                }
                _ if is_singular => None,
                _ => return Ground::Regular,
            },
            PointVerdict::Unknown { .. } if is_singular => None,
            PointVerdict::Unknown { .. } if fails => return Ground::Kept,
            PointVerdict::Unknown { .. } => return Ground::Regular,
        };
        let passport = Passport::of(judgement);
        let locus = passport.nearest_locus(self.system, request.time, jet);
        let locus = locus.filter(|(_, distance)| *distance < ON_LOCUS);
        Ground::Singular(Box::new(SingularStart {
            locus: locus.map(|(locus, _)| locus.clone()),
            passport,
            kind,
            edges,
        }))
    }

    /// Expressions at the edge of their domain whose arguments are fixed: no start avoids them.
    fn required_edge(&self, request: &Request) -> Option<Box<SingularStart>> {
        let jet = TaylorJet::at_rest(&request.guess, 2);
        let fixes = |unknown: &usize| {
            let mut values = request.conditions.iter();
            values.any(|row| matches!(row, Row::Value { unknown: fixed, .. } if fixed == unknown))
        };
        let mut edges = edges(self.system, request.time, &jet);
        edges.retain(|edge| edge.unknowns.iter().all(fixes));
        if edges.is_empty() {
            return None;
        }
        let request = Request {
            budget: self.remaining(),
            ..request.clone()
        };
        let mut judgement = Judgement::new(self.system, &request);
        judgement.lie_on(edges.clone());
        Some(Box::new(SingularStart {
            passport: Passport::of(judgement),
            kind: None,
            locus: None,
            edges,
        }))
    }

    /// The point with residuals computed in twice the digits: near a singular point derivatives of high order need them.
    fn sharpened(&self, mut point: ConsistentPoint, conditions: &[Row]) -> ConsistentPoint {
        let n = point.jet.n_unknowns();
        let deepest = self
            .structure
            .and_then(|structure| structure.offsets().equation.iter().max().copied());
        // Without a structure the point satisfies as many orders as its derivatives need.
        let order = point.order + deepest.unwrap_or(0);
        if n * (order + 1) > LARGEST_DENSE || self.out_of_time() {
            return point;
        }
        let mut longer = point.jet.clone();
        longer.resize(order + 2);
        let rows: Option<Vec<Vec<f64>>> = (0..order + 2)
            .map(|k| longer.row(k).map(<[f64]>::to_vec))
            .collect();
        let sharp = rows.and_then(|rows| self.system.sharpen(point.time, &rows).ok());
        let Some(sharp) = sharp else { return point };
        let sizes = nominal(self.system);
        let keeps = |unknown: usize| {
            let (now, before) = (sharp.jet[0][unknown].hi(), point.jet.get(unknown, 0));
            (now - before).abs() <= SHARP_MOVE * before.abs().max(sizes[unknown])
        };
        // One that holds as far as its decimals go is not what the equations say.
        let holds = |unknown: usize, now: f64, value: f64| {
            (now - value).abs() <= HOLDS * value.abs().max(sizes[unknown])
        };
        // The shortest way onto the equations knows no conditions: beside an unknown of 1e17 it moves fixed values.
        let breaks = |row: &Row| match *row {
            Row::Value { unknown, value } => {
                holds(unknown, point.jet.get(unknown, 0), value)
                    && !holds(unknown, sharp.jet[0][unknown].hi(), value)
            }
            _ => false,
        };
        if !(0..n).all(keeps) || conditions.iter().any(breaks) {
            return point;
        }
        for (order, row) in sharp.jet.iter().take(point.jet.n_orders()).enumerate() {
            for (unknown, value) in row.iter().enumerate() {
                point.jet.set(unknown, order, value.hi());
            }
        }
        for row in conditions {
            if let Row::Value { unknown, value } = *row
                && holds(unknown, point.jet.get(unknown, 0), value)
            {
                point.jet.set(unknown, 0, value);
            }
        }
        point
    }

    /// The regular start nearest to a singular one that keeps a margin: in time first, then in the guess.
    fn nearest_regular(&self) -> Option<Box<Start>> {
        let time = self.request.time;
        let steps = (0..N_STEPS).map(|k| FIRST_STEP * 10_f64.powf(k as f64 / 2.0));
        let in_time = |sign: f64| -> Vec<Place> {
            let at = |step: f64| {
                (
                    time + sign * step * (1.0 + time.abs()),
                    self.request.guess.clone(),
                )
            };
            steps.clone().map(at).collect()
        };
        let sizes = nominal(self.system);
        let in_guess = |step: f64| {
            let guess = self.request.guess.iter().zip(&sizes).enumerate();
            let beside =
                guess.map(|(j, (value, size))| value + step * size * ((j % 3) as f64 - 0.9));
            (time, beside.collect())
        };
        let ways = [
            vec![in_time(1.0), in_time(-1.0)],
            vec![steps.clone().map(in_guess).collect()],
        ];
        for ways in ways {
            let firsts = ways
                .iter()
                .filter_map(|way| Some((self.first_regular(way)?, way)));
            let mut firsts: Vec<(usize, &Vec<Place>)> = firsts.collect();
            firsts.sort_by_key(|(at, _)| *at);
            for (at, way) in firsts {
                let (time, guess) = &way[at];
                if let Some(start) = self.beside_singular(*time, guess) {
                    return Some(start);
                }
            }
        }
        None
    }

    /// The first place of a way that is far enough from singular. Where the structure tells how far that is it grows
    /// along the way, and the place is found by halving; the start found there is judged again.
    fn first_regular(&self, way: &[Place]) -> Option<usize> {
        if self.structure.is_none() {
            let is_regular = |(time, guess): &Place| self.beside_singular(*time, guess).is_some();
            return way.iter().position(is_regular);
        }
        let is_regular = |(time, guess): &Place| {
            let (mut finder, bare) = self.finder(*time, guess);
            let request = Request {
                conditions: self.request.conditions.clone(),
                ..bare
            };
            let point = finder.closest(&request).ok();
            point
                .and_then(|point| self.system.dae().margin_at(*time, &point.jet))
                .is_some_and(|margin| margin >= MARGIN)
        };
        let first = way.partition_point(|place| !self.out_of_time() && !is_regular(place));
        (first < way.len() && !self.out_of_time()).then_some(first)
    }

    /// A start beside the singular one, if it is regular.
    fn beside_singular(&self, time: f64, guess: &[f64]) -> Option<Box<Start>> {
        match self.at(time, guess, Strictness::Regular) {
            Outcome::Found(mut start) => {
                start.beside_singular = true;
                let dae = self.system.dae();
                let is_known = self.structure.is_some();
                let margin = is_known.then(|| dae.margin_at(time, &start.point.jet));
                start.margin = margin.flatten();
                Some(start)
            }
            _ => None,
        }
    }
}

/// A time and a guess.
type Place = (f64, Vec<f64>);
