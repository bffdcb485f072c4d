//! Which sides of branches hold at a point of their switching surfaces, (R16).
//!
//! Section 5 of `docs/theory/runs.md`.

use crate::options::Tolerances;
use crate::outcome::Failure;
use crate::stages::{Projected, Stages};
use crate::tolerances::{SIDE_ROUNDING, SIDE_SAME, SIDE_SURFACE, SIDE_TOLERANCES, SIDE_VALUE};
use std::cmp::Ordering;

/// Branches whose sides are tried in all combinations; of more than these the ones that do not hold are turned, round after
/// round.
const MOST_TOGETHER: usize = 6;

/// Branches, and which of them are turned, as the digits of a number.
type Tried<'a> = (&'a [usize], usize);

/// What the sides at a point are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Settled {
    /// One combination goes on as it says, or several with the same solution.
    One(Projected),
    /// Different solutions begin here; the first of them is held.
    Several(Projected),
    /// The solution ends at a kink where two meet, and one other is held, which has the same states, (R27).
    Jumped(Projected),
    /// Two solutions meet on the surface of this branch and end, and there is not one other, (R27).
    Meeting { branch: usize },
    /// None goes on from the switching surface of this branch.
    None {
        branch: usize,
        /// Whether every side has a solution of its own, which leads back; otherwise one has none that begins here.
        leads_back: bool,
    },
}

/// How the sides at a point are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Where the solution goes.
    pub direction: f64,
    /// What the functions that decide may be off by, relative to their operands.
    pub error: f64,
    /// What is left of the run.
    pub span: f64,
    /// How far the time of the point may be off that of the switch.
    pub width: f64,
    /// Whether the first sides that will do are taken: the solution came from somewhere.
    pub takes_first: bool,
}

impl Way {
    /// From a start, where different solutions may begin; `left` is the signed rest of the run.
    pub fn from_start(left: f64) -> Self {
        Self {
            direction: 1f64.copysign(left),
            span: left.abs(),
            width: 0.0,
            error: SIDE_VALUE,
            takes_first: false,
        }
    }

    /// Through a switch that was located with a tolerance, up to a width in time.
    pub fn through(left: f64, rtol: f64, width: f64) -> Self {
        Self {
            direction: 1f64.copysign(left),
            span: left.abs(),
            width,
            error: SIDE_VALUE + (SIDE_TOLERANCES * rtol).min(rtol.sqrt()),
            takes_first: true,
        }
    }

    /// The same for a branch beside those that switch: it was not located at zero, so that its value is what it is, however small. An
    /// integer that jumps from 1000 to 1001 is not within a tolerance of 1000, and 1e9 + 0.5 is above 1e9.
    fn beside(self) -> Self {
        Self {
            error: SIDE_SURFACE,
            ..self
        }
    }
}

/// The branches on whose switching surfaces the present point lies, each put on some side; the sides of all are held.
pub(crate) fn undecided(stages: &mut Stages<'_>) -> Vec<usize> {
    stages.hold(true);
    let on_surface = |&branch: &usize| {
        let (value, size) = stages.switching(branch, 0);
        let size = size.max(stages.noted_size(branch));
        stages.sides()[branch] == Ordering::Equal || value.abs() <= SIDE_SURFACE * size
    };
    let found: Vec<usize> = (0..stages.n_branches()).filter(on_surface).collect();
    for &branch in &found {
        if stages.sides()[branch] == Ordering::Equal {
            stages.choose(branch, Ordering::Greater);
        }
    }
    found
}

/// Finds the sides on which the solution goes on from the point that the stages hold, and expands it there.
///
/// The sides that the branches have are tried first.
pub(crate) fn settle(
    stages: &mut Stages<'_>,
    undecided: &[usize],
    way: Way,
    series: &mut [f64],
) -> Result<Settled, Failure> {
    let time = stages.time();
    let mut point = vec![0.0; stages.n_point()];
    stages.point(&mut point);
    // The functions that decide as they were with the sides before.
    let functions = 0..stages.n_branches();
    let before: Vec<f64> = functions.map(|b| stages.switching(b, 0).0).collect();
    if undecided.len() > MOST_TOGETHER {
        turn(stages, (time, &point), &before, undecided, way, series)?;
    }
    let given: Vec<Ordering> = stages.sides().to_vec();
    let varied = &undecided[..undecided.len().min(MOST_TOGETHER)];
    let mut kept: Option<(usize, Projected, Vec<f64>)> = None;
    let mut is_several = false;
    let mut failure = None;
    let mut last = usize::MAX;
    let mut ends: Vec<Vec<f64>> = Vec::new();
    for combination in 0..1usize << varied.len() {
        let tried = (varied, combination);
        let solved = solve(
            stages,
            (time, &point),
            (&given, &before),
            tried,
            way,
            series,
        );
        last = combination;
        let projected = match solved {
            Ok(projected) => projected,
            Err(error) => {
                failure.get_or_insert(error);
                continue;
            }
        };
        if !undecided.iter().all(|&b| is_consistent(stages, b, way)) {
            ends.push(solved_point(stages));
            continue;
        }
        match &kept {
            None => kept = Some((combination, projected, series.to_vec())),
            Some((_, _, other)) => is_several |= !is_same(other, series),
        }
        if way.takes_first {
            break;
        }
    }
    let Some((combination, projected, _)) = kept else {
        let tried = (time, &point[..], &given[..], &before[..], varied);
        return nowhere(stages, tried, (&ends, failure, undecided), way, series);
    };
    if combination != last {
        let tried = (varied, combination);
        solve(
            stages,
            (time, &point),
            (&given, &before),
            tried,
            way,
            series,
        )?;
    }
    Ok(if is_several {
        Settled::Several(projected)
    } else {
        Settled::One(projected)
    })
}

/// What it means that no combination of sides goes on: two solutions meet and end, all lead back, or one has no solution.
fn nowhere(
    stages: &mut Stages<'_>,
    (time, point, given, before, varied): (f64, &[f64], &[Ordering], &[f64], &[usize]),
    (ends, failure, undecided): (&[Vec<f64>], Option<Failure>, &[usize]),
    way: Way,
    series: &mut [f64],
) -> Result<Settled, Failure> {
    let branch = match (undecided.first(), failure) {
        (Some(&branch), _) => branch,
        (None, Some(failure)) => return Err(failure),
        (None, None) => 0,
    };
    // Both sides of a kink have the same point and lead back to it: two solutions meet there and end.
    let meet = ends.windows(2).all(|pair| is_near(&pair[0], &pair[1], way));
    // Not beside a root: within rounding of its beginning its slope says nothing.
    let has_root = (undecided.iter()).any(|&one| stages.problem().root_side(one).is_some());
    if way.takes_first
        && !has_root
        && failure.is_none()
        && meet
        && let Some(meeting) = ends.first()
    {
        let tried = (varied, &meeting[..]);
        let found = jumped(stages, (time, point), (given, before), tried, way, series);
        return Ok(found.map_or(Settled::Meeting { branch }, Settled::Jumped));
    }
    match failure {
        // A start at which a branch begins with an infinite slope.
        Some(failure @ Failure::Fault(_)) if !way.takes_first => Err(failure),
        failure => Ok(Settled::None {
            branch,
            leads_back: failure.is_none(),
        }),
    }
}

/// The one other solution with the same states where two have met at a kink, (R27); it is held.
///
/// All combinations of sides are tried, or, of many branches, each one turned beside those that were located.
fn jumped(
    stages: &mut Stages<'_>,
    at: (f64, &[f64]),
    (given, before): (&[Ordering], &[f64]),
    (varied, meeting): (&[usize], &[f64]),
    way: Way,
    series: &mut [f64],
) -> Option<Projected> {
    let others: Vec<usize> = (0..stages.n_branches())
        .filter(|branch| !varied.contains(branch) && given[*branch] != Ordering::Equal)
        .collect();
    let joined = |others: &[usize]| -> Vec<usize> { [varied, others].concat() };
    let groups: Vec<Vec<usize>> = match varied.len() + others.len() <= MOST_TOGETHER {
        true => vec![joined(&others)],
        false => others.iter().map(|&other| joined(&[other])).collect(),
    };
    let mut kept: Option<(Tried<'_>, Vec<f64>)> = None;
    for turned in &groups {
        for combination in 1 << varied.len()..1 << turned.len() {
            let tried = (&turned[..], combination);
            let solved = solve(stages, at, (given, before), tried, way, series);
            let stays = solved.is_ok() && stages.states_moved(at.1) <= way.error;
            let mut all = 0..stages.n_branches();
            if !stays || !all.all(|branch| is_consistent(stages, branch, way)) {
                continue;
            }
            let point = solved_point(stages);
            match &kept {
                _ if is_near(meeting, &point, way) => {}
                None => kept = Some((tried, point)),
                Some((_, found)) if is_near(found, &point, way) => {}
                Some(_) => return None,
            }
        }
    }
    let (tried, _) = kept?;
    solve(stages, at, (given, before), tried, way, series).ok()
}

/// The coefficients that the equations are solved for, each unknown up to its offset.
fn solved_point(stages: &Stages<'_>) -> Vec<f64> {
    let problem = stages.problem();
    let n = problem.n();
    let mut point = vec![0.0; stages.n_point()];
    stages.point(&mut point);
    let places = point.iter().enumerate();
    let solved = places.filter(|(place, _)| place / n <= problem.unknown_offset(place % n));
    solved.map(|(_, value)| *value).collect()
}

/// Whether two points are the same within the accuracy of a switch: each value beside its own size, and what is rounding beside the
/// largest of all counts as zero.
fn is_near(a: &[f64], b: &[f64], way: Way) -> bool {
    let size = |(x, y): (&f64, &f64)| x.abs().max(y.abs());
    let largest = a.iter().zip(b).map(size).fold(0.0, f64::max);
    let close = |(x, y): (&f64, &f64)| {
        (x - y).abs() <= way.error.sqrt() * size((x, y)) + f64::EPSILON.sqrt() * largest
    };
    a.iter().zip(b).all(close)
}

/// Turns the branches whose sides do not hold until all do, or nothing is gained.
fn turn(
    stages: &mut Stages<'_>,
    point: (f64, &[f64]),
    before: &[f64],
    undecided: &[usize],
    way: Way,
    series: &mut [f64],
) -> Result<(), Failure> {
    for _ in 0..2 * undecided.len() {
        let given: Vec<Ordering> = stages.sides().to_vec();
        solve(stages, point, (&given, before), (undecided, 0), way, series)?;
        let leaving = undecided.iter().copied();
        let leaving: Vec<usize> = leaving
            .filter(|&b| !is_consistent(stages, b, way))
            .collect();
        if leaving.is_empty() {
            break;
        }
        for branch in leaving {
            stages.choose(branch, given[branch].reverse());
        }
    }
    Ok(())
}

/// Solves and expands a point with some of the given sides changed; the other branches follow what that does to them.
fn solve(
    stages: &mut Stages<'_>,
    (time, point): (f64, &[f64]),
    (given, before): (&[Ordering], &[f64]),
    (varied, combination): Tried<'_>,
    way: Way,
    series: &mut [f64],
) -> Result<Projected, Failure> {
    for (branch, &side) in given.iter().enumerate() {
        stages.choose(branch, side);
    }
    for (bit, &branch) in varied.iter().enumerate() {
        let side = given[branch];
        let is_changed = combination.checked_shr(bit as u32).unwrap_or(0) & 1 == 1;
        stages.choose(branch, if is_changed { side.reverse() } else { side });
    }
    let mut rested = Vec::new();
    let mut has_searched = false;
    let mut solved = solved_at(stages, (time, point), series);
    // What one branch does may move another one, and so on through all of them at most.
    for _ in 0..=stages.n_branches() {
        // Without a solution a formula may have none on a side that the values have left.
        let is_changed = match &solved {
            Ok(_) => follow(stages, (varied, before), way, &mut rested),
            Err(_) => leave(stages, varied, way),
        };
        if !is_changed {
            // Algebraic unknowns that jump far are looked for as at a start.
            let is_far = matches!(
                solved,
                Err(Failure::NoConvergence { .. } | Failure::Fault(_))
            );
            if !is_far || has_searched {
                return solved;
            }
            has_searched = true;
            match searched_at(stages, (time, point), varied, series) {
                Ok(found) => solved = Ok(found),
                Err(_) => return solved,
            }
            continue;
        }
        let mut latest = point.to_vec();
        stages.point(&mut latest);
        if latest.iter().any(|value| !value.is_finite()) {
            latest.copy_from_slice(point);
        }
        // The formulas of another side may have values only where unknowns that jump already have theirs; a solution that was not
        // found leads to the side that Newton's method went to.
        let begins = match solved {
            Ok(_) => [point, &latest],
            Err(_) => [&latest, point],
        };
        solved = solved_at(stages, (time, begins[0]), series);
        if matches!(solved, Err(Failure::Fault(_))) {
            solved = solved_at(stages, (time, begins[1]), series);
        }
        let moved = stages.states_moved(point);
        if let Ok(found) = &mut solved {
            found.state_change = found.state_change.max(moved);
            found.change = found.change.max(moved);
        }
    }
    // Sides that go round are those of no solution.
    let goes_round = solved.is_ok() && follow(stages, (varied, before), way, &mut rested);
    match goes_round {
        true => Err(Failure::NoConvergence {
            stage: 0,
            residual: f64::INFINITY,
        }),
        false => solved,
    }
}

/// Solves and expands a point with the sides that are held.
fn solved_at(
    stages: &mut Stages<'_>,
    (time, point): (f64, &[f64]),
    series: &mut [f64],
) -> Result<Projected, Failure> {
    stages.set_point(time, point);
    stages.factor()?;
    let projected = stages.project(true)?;
    stages.factor()?;
    stages.expand(series)?;
    Ok(projected)
}

/// The same by the damped method of starts; the states stay, up to what the constraints ask for.
fn searched_at(
    stages: &mut Stages<'_>,
    (time, point): (f64, &[f64]),
    varied: &[usize],
    series: &mut [f64],
) -> Result<Projected, Failure> {
    // The sides that are not given follow on the way.
    let held = stages.sides().to_vec();
    stages.set_point(time, point);
    stages.release(varied);
    let found = stages.project_start(|_, _| false);
    stages.hold_again(varied);
    if let Err(failure) = found {
        for (branch, side) in held.into_iter().enumerate() {
            stages.choose(branch, side);
        }
        return Err(failure);
    }
    let moved = stages.states_moved(point);
    stages.expand(series)?;
    let residual = stages.levels.iter().copied().fold(0.0, f64::max);
    Ok(Projected {
        state_change: moved,
        algebraic_change: moved,
        change: moved,
        contraction: 0.0,
        residual,
    })
}

/// Turns the branches that are not varied and whose values are beyond the sides held; whether there are any.
pub(super) fn leave(stages: &mut Stages<'_>, varied: &[usize], way: Way) -> bool {
    stages.compare();
    let has_left = |&branch: &usize| {
        let (value, size) = stages.switching(branch, 0);
        let held = stages.sides()[branch];
        let is_off = value.is_finite() && value.abs() > way.beside().error * size;
        is_off && held != Ordering::Equal && side_of(value) != held && !varied.contains(&branch)
    };
    let left: Vec<usize> = (0..stages.n_branches()).filter(has_left).collect();
    // One whose value is zero now takes what the text says there.
    let rests = |&branch: &usize| {
        let is_zero = stages.switching(branch, 0).0 == 0.0;
        let is_held = stages.sides()[branch] != Ordering::Equal;
        is_zero && is_held && stages.jumps(branch) && !varied.contains(&branch)
    };
    let resting: Vec<usize> = (0..stages.n_branches()).filter(rests).collect();
    for &branch in &left {
        stages.choose(branch, stages.sides()[branch].reverse());
    }
    for &branch in &resting {
        stages.choose(branch, Ordering::Equal);
    }
    !left.is_empty() || !resting.is_empty()
}

/// Lets branches follow a change of others: one that jumps is put on its surface where its function rests there, and taken off
/// where it does not; one that is not varied changes its side where its function has jumped across. Whether any changed, (R16).
///
/// One that leaves its surface with what the text says there, to a side that keeps it on it, rests with that side (`rested`): the
/// integrator of `der(y) = if y > 1 then 0 else 1` stays at 1.
fn follow(
    stages: &mut Stages<'_>,
    (varied, before): (&[usize], &[f64]),
    way: Way,
    rested: &mut Vec<usize>,
) -> bool {
    let mut is_changed = false;
    for (branch, before) in before.iter().enumerate().take(stages.n_branches()) {
        let held = stages.sides()[branch];
        // What rests on its surface stays within its accuracy unless it jumps.
        let (value, size) = stages.switching(branch, 0);
        let has_jumped = (value - before).abs() > SIDE_SURFACE * size;
        let is_located = varied.contains(&branch) || held == Ordering::Equal && !has_jumped;
        let mut way = if is_located { way } else { way.beside() };
        if !is_located && stages.problem().is_rooted(branch) {
            // Where a root begins its slope says nothing of the value.
            way.width = 0.0;
        }
        let side = match decisive(stages, branch, way) {
            // Where the argument of a root rests at zero the side without the root holds; the text may ask for the other one, `h >= 0`.
            None if stages.problem().root_side(branch).is_some() => held,
            None if stages.jumps(branch) && !rested.contains(&branch) => Ordering::Equal,
            Some((_, term)) if held == Ordering::Equal => {
                rested.push(branch);
                side_of(term)
            }
            Some((0, term)) if !varied.contains(&branch) => side_of(term),
            _ => held,
        };
        if side != held {
            stages.choose(branch, side);
            is_changed = true;
        }
    }
    is_changed
}

/// The side of a function's value.
pub(super) fn side_of(value: f64) -> Ordering {
    value.partial_cmp(&0.0).unwrap_or(Ordering::Equal)
}

/// The branches, of some, whose functions are zero at the point, up to its accuracy.
pub(crate) fn at_zero(stages: &Stages<'_>, branches: &[usize], way: Way) -> Vec<usize> {
    let is_zero = |&branch: &usize| decisive(stages, branch, way).is_none_or(|(m, _)| m > 0);
    branches.iter().copied().filter(is_zero).collect()
}

/// Whether the function of a branch goes to the side that is held, or rests on its surface; not beside a root, where the root of what is
/// rounding is far more than that.
fn is_consistent(stages: &Stages<'_>, branch: usize, way: Way) -> bool {
    let held = stages.sides()[branch];
    match decisive(stages, branch, way) {
        Some((_, term)) => side_of(term) == held,
        None => stages.problem().root_side(branch) != Some(held),
    }
}

/// The side that a branch takes when it leaves the one it is on: from rest, where its function goes.
pub(crate) fn beyond(stages: &Stages<'_>, branch: usize, way: Way) -> Ordering {
    match stages.sides()[branch] {
        Ordering::Equal => {
            decisive(stages, branch, way).map_or(Ordering::Equal, |(_, term)| side_of(term))
        }
        side => side.reverse(),
    }
}

/// Puts states that came to rest on switching surfaces exactly there, where a branch looks at one of them alone, and expands the point
/// anew: what a located zero is off by has a side, which the text would take for that of the state.
pub(crate) fn onto_surfaces(
    stages: &mut Stages<'_>,
    branches: &[usize],
    way: Way,
    series: &mut [f64],
) {
    let resting = branches.iter().copied();
    let moved: Vec<(usize, f64)> = resting
        .filter(|&branch| {
            let is_at_rest = stages.sides()[branch] == Ordering::Equal;
            let is_beside = stages.problem().root_side(branch).is_some();
            is_at_rest || is_beside && rests(stages, branch, way)
        })
        .filter(|&branch| stages.switching(branch, 0).0 != 0.0)
        .filter_map(|branch| stages.on_surface(branch))
        .collect();
    if moved.is_empty() {
        return;
    }
    let time = stages.time();
    let mut before = vec![0.0; stages.n_point()];
    stages.point(&mut before);
    let mut point = before.clone();
    let n = stages.problem().n();
    for (place, value) in moved {
        // What rests has no rates, and rounding of them would move it off again.
        for rate in point.iter_mut().skip(place).step_by(n) {
            *rate = 0.0;
        }
        point[place] = value;
    }
    if solved_at(stages, (time, &point), series).is_err() {
        // It was solved there before.
        let _ = solved_at(stages, (time, &before), series);
    }
}

/// Gives states that may rest beside a root at a start the sizes of their tolerances: there is no way on which they came, and 1e-18 m of
/// water is no water.
pub(crate) fn note_units(stages: &mut Stages<'_>, tolerances: &Tolerances) {
    let n = stages.problem().n();
    for branch in 0..stages.n_branches() {
        if stages.problem().root_side(branch).is_some()
            && let Some((place, _)) = stages.on_surface(branch)
        {
            let unit = tolerances.absolute(place / n, place % n) / tolerances.rtol;
            stages.note_size(branch, unit);
        }
    }
}

/// Forgets them for those that do not rest.
pub(crate) fn forget_units(stages: &mut Stages<'_>, way: Way) {
    for branch in 0..stages.n_branches() {
        if stages.problem().root_side(branch).is_some() && !rests(stages, branch, way) {
            stages.note_size(branch, 0.0);
        }
    }
}

/// Whether the function of a branch rests on its surface.
pub(crate) fn rests(stages: &Stages<'_>, branch: usize, way: Way) -> bool {
    decisive(stages, branch, way).is_none()
}

/// Whether the function of a branch goes to a side.
pub(crate) fn leads_to(stages: &Stages<'_>, branch: usize, side: Ordering, way: Way) -> bool {
    decisive(stages, branch, way).is_some_and(|(_, term)| side_of(term) == side)
}

/// Whether a branch that rests on its surface has left it.
pub(crate) fn has_left_rest(stages: &Stages<'_>, branch: usize, way: Way) -> bool {
    stages.sides()[branch] == Ordering::Equal && decisive(stages, branch, way).is_some()
}

/// The order and the value of the first term that says where the function of a branch goes; `None` if it rests.
pub(super) fn decisive(stages: &Stages<'_>, branch: usize, way: Way) -> Option<(usize, f64)> {
    // Where the slope is infinite the value is all that is known.
    let series: Vec<(f64, f64)> = (0..stages.n_switching())
        .map(|order| stages.switching(branch, order))
        .take_while(|(value, size)| value.is_finite() && size.is_finite())
        .collect();
    // A stretch of time on which all terms of the operands are comparable; their values alone may be zero.
    let mut moving = series
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, (_, size))| *size > 0.0);
    let stretch = moving.next().map_or(way.span, |(first, (_, lead))| {
        moving
            .map(|(m, (_, size))| (lead / size).powf(1.0 / (m - first) as f64))
            .fold(way.span, f64::min)
    });
    let mut power = 1.0;
    let mut terms = Vec::with_capacity(series.len());
    let mut greatest = 0.0f64;
    for (m, (x, size)) in series.iter().enumerate() {
        terms.push(x * power * if m % 2 == 1 { way.direction } else { 1.0 });
        greatest = greatest.max(size * power);
        power *= stretch;
    }
    // At the switch itself, which is near, the value is zero.
    let slope = series.get(1).map_or(0.0, |(x, _)| x.abs());
    let known = greatest.max(stages.noted_size(branch));
    let value = (way.error * known).max(way.width * slope);
    // So is a slope that the next one makes within the time by which the switch may be off.
    let turned = |m: usize| {
        let next = series.get(m + 1).map_or(0.0, |(x, _)| x.abs());
        way.width * (m + 1) as f64 * next * stretch.powi(m as i32)
    };
    let rounding = |m: usize| {
        if m == 0 {
            value
        } else {
            turned(m).max(SIDE_ROUNDING * known)
        }
    };
    let mut terms = terms.into_iter().enumerate();
    terms.find(|&(m, term)| term.abs() > rounding(m))
}

/// Whether two series are the same.
fn is_same(a: &[f64], b: &[f64]) -> bool {
    a.iter()
        .zip(b)
        .all(|(x, y)| (x - y).abs() <= SIDE_SAME * (1.0 + x.abs() + y.abs()))
}
