//! What to know beside the numbers of a run.

use super::start::LARGE;
use super::{Solution, SolveOptions, input_name};
use crate::record::different_poses;
use crate::tolerances::SAME;
use daelight_analysis::initial::{Closeness, ConsistentPoint, Request, Row};
use daelight_analysis::start::{Others, Outcome, StartRequest, find_start, violated};
use daelight_analysis::{Equations, System, signal_orders};
use daelight_expr::Walker;
use daelight_integrate::Problem;
use daelight_lang::Symbol;
use daelight_show::record::SolveRecord;
use std::time::Instant;

/// A start value that is moved farther, relative to its size, is told. Start values are guesses that are often written with two
/// digits; `init` lists every move.
const FAR_FROM_GUESS: f64 = 1e-2;

/// A small start value may be moved five times as far: that much is the rounding of two digits.
const SMALL_GUESS: f64 = 0.2;

/// Points of a run at which sizes are looked at.
const MOST_LOOKS: usize = 200;

/// What to know about inputs that the equations differentiate more often than their splines allow.
pub(super) fn coarse_signals(system: &System, problem: &Problem) -> Vec<String> {
    let orders = signal_orders(problem.equations(), problem.structure());
    let signals = problem.equations().symbols().signals().iter().zip(orders);
    signals
        .filter(|((_, signal), order)| *order >= signal.degree())
        .map(|((input, signal), order)| {
            let name = input_name(system, *input);
            format!(
                "The input `{name}` is differentiated {order} times, and its spline has {} continuous derivatives.",
                signal.degree() - 1
            )
        })
        .collect()
}

/// Tells that a run goes backwards: a slip in the annotation or in the sign of `--to`, as a rule.
pub(super) fn backwards(from: f64, to: f64, options: &SolveOptions) -> Option<String> {
    (to < from).then(|| match options.to {
        None => format!(
            "The run goes backwards in time: `StopTime = {to}` of the model lies before its start at t = {from}; --to sets another end."
        ),
        Some(_) => format!("The run goes backwards in time, from t = {from} to {to}."),
    })
}

/// Tells of an unknown that begins at a small value somebody wrote, stays small, and has no size that its errors are measured
/// against: what `absolute` allows is more than a hundredth of it all along.
pub(super) fn without_size(system: &System, solution: &Solution, absolute: f64) -> Option<String> {
    let is_small = |value: f64| value != 0.0 && FAR_FROM_GUESS * value.abs() < absolute;
    let differentiated = system.equations().pattern(1).columns();
    let mut small: Vec<(usize, f64)> = (system.unknowns().iter().enumerate())
        .filter(|(at, info)| {
            let is_state = differentiated.contains(&(*at as u32));
            is_state && info.nominal.is_none() && info.start.is_some_and(is_small)
        })
        .map(|(at, _)| (at, 0.0))
        .collect();
    let mut reader = solution.reader(system);
    let starts = solution.run.trajectory.segments().iter().map(|s| s.start);
    let times: Vec<f64> = starts.chain([solution.reached()]).collect();
    for &time in times.iter().step_by(times.len().div_ceil(MOST_LOOKS)) {
        if small.is_empty() {
            return None;
        }
        let values = reader.values(time).ok().flatten()?;
        small.retain_mut(|(at, most)| {
            *most = f64::max(*most, values[*at].abs());
            is_small(*most)
        });
    }
    let (at, most) = small.first()?;
    let name = &system.unknowns()[*at].name;
    Some(format!(
        "`{name}` stays below {most:.1e}, and errors up to {absolute:.1e} are allowed in it: give its size, as in \
         `{name}(nominal = {most:.0e})`, or ask for less error with --atol."
    ))
}

/// Names a state without a size that stays small in the first half of a run whose errors took over.
pub(super) fn small_without_size(
    system: &System,
    solution: &Solution,
    absolute: f64,
) -> Option<String> {
    let differentiated = system.equations().pattern(1).columns();
    let middle = 0.5 * (solution.from + solution.reached());
    let values = solution.reader(system).values(middle).ok().flatten()?;
    let small = system.unknowns().iter().enumerate().find(|(at, info)| {
        let is_state = differentiated.contains(&(*at as u32));
        is_state && info.nominal.is_none() && FAR_FROM_GUESS * values[*at].abs() < absolute
    });
    let (at, info) = small?;
    Some(format!(
        "`{0}` is {1} at t = {2}, and errors up to {absolute:.1e} are allowed in it: give its size, as in `{0}(nominal = {3:.0e})`, \
         or ask for less error with --atol.",
        info.name,
        daelight_show::short(values[at]),
        daelight_show::short(middle),
        values[at].abs().max(f64::MIN_POSITIVE)
    ))
}

/// What a start is called to which no direction along the constraints leads closer; replaced where another branch has a closer one.
const CLOSEST_OF_BRANCH: &str = "the closest consistent values";

/// Tells that a run starts at a distance from the start values that were given.
pub(super) fn moved_start(
    system: &System,
    request: &Request,
    point: &ConsistentPoint,
) -> Option<String> {
    let unknowns = system.unknowns().iter().zip(&request.guess);
    let given = unknowns.zip(point.jet.values());
    let moved = given.filter_map(|((unknown, guess), value)| {
        unknown.start?;
        let distance = (value - guess).abs();
        let size = unknown.nominal.unwrap_or(1.0).abs().max(guess.abs());
        let mut apart = distance / size;
        // Without `nominal` a small start value says how large an unknown is.
        if unknown.nominal.is_none() && guess.abs() > SAME {
            apart = apart.max(SMALL_GUESS * distance / guess.abs());
        }
        (apart > FAR_FROM_GUESS).then_some((apart, &unknown.name, guess, value))
    });
    let (_, name, guess, value) = moved.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let which = match point.closeness {
        Closeness::Closest => CLOSEST_OF_BRANCH,
        _ => "consistent values beside them, perhaps not the closest",
    };
    Some(format!(
        "The start values are not consistent; the run starts from {which}: {name} = {} instead of {guess}; \
         `daelight init` lists what was moved and what can be fixed.",
        daelight_show::short(*value)
    ))
}

/// Tells that a run starts beyond the bounds of an unknown, which the search for its start does not keep.
pub(super) fn start_beyond_bounds(system: &System, point: &ConsistentPoint) -> Option<String> {
    let beyond = violated(system, point.jet.values());
    let Some(&Row::Value { unknown, value }) = beyond.first() else {
        return None;
    };
    let name = &system.unknowns()[unknown].name;
    let others = match beyond.len() {
        1 => String::new(),
        n => format!(", and {} others are beyond theirs", n - 1),
    };
    Some(format!(
        "The run starts beyond a bound of the model: {name} = {} where its bound is {value}{others}; `daelight init` looks for a start \
         within all of them.",
        daelight_show::short(point.jet.values()[unknown]),
    ))
}

/// Tells that a run began at another point than the consistent one that it was to start from.
pub(super) fn moved_by_equations(
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

/// Adds to a report that the start is one of several which suit the start values equally well, where the equations had to choose.
pub fn add_other_starts(
    report: &mut SolveRecord,
    system: &System,
    options: &SolveOptions,
    solution: &Solution,
) {
    let place = &options.place;
    let is_asked = place.point.is_none() && place.values.is_empty();
    let n = system.unknowns().len();
    let began = solution.reader(system).values(solution.from);
    let (true, Ok(Some(began))) = (is_asked && n <= LARGE, began) else {
        return;
    };
    let request = Request::of_model(system, solution.from, 1);
    let choice = Choice {
        system,
        guess: &request.guess,
        began: &began,
    };
    // Where nothing was moved the start values decided, and where what was moved follows linearly there is no other solution.
    if !(0..n).any(|j| choice.is_moved(j)) || choice.is_linear() {
        return;
    }
    let wanted = StartRequest {
        budget: options.budget.unwrap_or(request.budget),
        ..StartRequest::of(&request, Others::Glance)
    };
    let Outcome::Found(start) = find_start(system, &wanted) else {
        return;
    };
    let as_close: Vec<&[f64]> = different_poses(&start)
        .map(|other| other.jet.values())
        .filter(|other| choice.is_as_close(other))
        .collect();
    let chosen = |j: &usize| {
        choice.is_moved(*j) && as_close.iter().any(|other| choice.is_apart(*j, other[*j]))
    };
    let closer = as_close.iter().find(|other| choice.is_closer(other));
    if let Some(other) = closer
        && let Some(j) = (0..n).find(|&j| choice.is_given(j) && choice.is_apart(j, other[j]))
    {
        for warning in &mut report.warnings {
            *warning = warning.replace(CLOSEST_OF_BRANCH, "consistent values, not the closest");
        }
        let advice = match choice.leading_there(&wanted, other) {
            Some((name, value)) => {
                format!("write `{name}(start = {value})` to start there")
            }
            None => "give start values closer to it to start there".to_string(),
        };
        report.warnings.push(format!(
            "A solution on another branch is closer to the start values than the one that the run starts from: it has {} = {}; \
             {advice}, `daelight init --all` lists all that are found.",
            system.unknowns()[j].name,
            daelight_show::short(other[j])
        ));
        return;
    }
    let of_given = (0..n).filter(chosen).find(|&j| choice.is_given(j));
    let of_others = (0..n).filter(chosen).find(|&j| !choice.is_given(j));
    if of_given.is_some() {
        report.warnings.push(
            "Other solutions are as close to the start values as the one that the run starts from; `daelight init --all` lists them."
                .to_string(),
        );
    } else if let Some(j) = of_others {
        let name = &system.unknowns()[j].name;
        report.warnings.push(format!(
            "No start value of `{name}` is written; the run starts from {name} = {}, and other solutions suit the start values as well: \
             write `{name}(start = …)` to choose one, `daelight init --all` lists them.",
            daelight_show::short(began[j])
        ));
    }
}

/// The values that a run began with, among those that it might have begun with.
struct Choice<'a> {
    system: &'a System,
    guess: &'a [f64],
    began: &'a [f64],
}

impl Choice<'_> {
    fn is_given(&self, unknown: usize) -> bool {
        self.system.unknowns()[unknown].start.is_some()
    }

    /// A start value that leads to another solution when it is written instead of the one that is there, as tried: first those
    /// of unknowns that have none.
    fn leading_there(&self, wanted: &StartRequest, other: &[f64]) -> Option<(&str, String)> {
        let apart = |j: &usize| self.is_apart(*j, other[*j]);
        let mut candidates: Vec<usize> = (0..other.len()).filter(apart).collect();
        candidates.sort_by_key(|&j| (self.is_given(j), !self.counts(j)));
        let deadline = Instant::now() + wanted.budget;
        candidates.into_iter().find_map(|j| {
            let written = daelight_show::short(other[j]);
            let mut request = StartRequest {
                others: Others::No,
                budget: deadline.checked_duration_since(Instant::now())?,
                ..wanted.clone()
            };
            request.guess[j] = written.parse().ok()?;
            if let Some(given) = request.given.get_mut(j) {
                *given = true;
            }
            let Outcome::Found(start) = find_start(self.system, &request) else {
                return None;
            };
            let values = start.point.jet.values().iter().zip(other).enumerate();
            let mut values = values.filter(|(j, _)| self.counts(*j));
            let is_there = values.all(|(j, (value, there))| {
                (value - there).abs() <= FAR_FROM_GUESS * self.size(j).max(there.abs())
            });
            is_there.then(|| (self.system.unknowns()[j].name.as_str(), written))
        })
    }

    fn size(&self, unknown: usize) -> f64 {
        let nominal = self.system.unknowns()[unknown].nominal;
        nominal.unwrap_or(1.0).abs().max(self.guess[unknown].abs())
    }

    fn is_apart(&self, unknown: usize, value: f64) -> bool {
        (self.began[unknown] - value).abs() > FAR_FROM_GUESS * self.size(unknown)
    }

    fn is_moved(&self, unknown: usize) -> bool {
        self.is_apart(unknown, self.guess[unknown])
    }

    /// Whether the values that stayed at their guesses determine all others by linear equations, stage by stage: a stage solves each
    /// equation for the highest derivatives that its offset leaves, and those of its own derivatives are always linear in theirs.
    fn is_linear(&self) -> bool {
        let Ok(structure) = self.system.structure() else {
            return false;
        };
        let offsets = structure.offsets();
        let is_looked_for =
            |j: usize, order: usize| order > 0 || self.is_moved(j) || !self.counts(j);
        let is_last = |i: usize, j: usize, order: usize| {
            offsets.variable[j] == offsets.equation[i] + order && is_looked_for(j, order)
        };
        is_linear_in(self.system.equations(), is_last)
            && is_linear_in(self.system.initial_equations(), |_, j, order| {
                is_looked_for(j, order)
            })
    }

    /// Whether an unknown is given or differentiated, and so one that a start is close to.
    fn counts(&self, unknown: usize) -> bool {
        let differentiated = self.system.equations().pattern(1).columns();
        self.is_given(unknown) || differentiated.contains(&(unknown as u32))
    }

    /// The squared distance of a point from the guesses of what is given or
    /// differentiated, in sizes.
    fn distance(&self, values: &[f64]) -> f64 {
        let apart = |j: usize| ((values[j] - self.guess[j]) / self.size(j)).powi(2);
        let counts = |j: &usize| self.counts(*j);
        (0..values.len()).filter(counts).map(apart).sum()
    }

    /// What two squared distances may differ by where they are the same.
    fn leeway(&self) -> f64 {
        SAME * (1.0 + self.distance(self.began))
    }

    fn is_as_close(&self, other: &[f64]) -> bool {
        self.distance(other) <= self.distance(self.began) + self.leeway()
    }

    fn is_closer(&self, other: &[f64]) -> bool {
        self.distance(other) < self.distance(self.began) - self.leeway()
    }
}

/// Whether equations are linear in some derivatives, given by equation, unknown and order, taken together.
fn is_linear_in(equations: &Equations, is_meant: impl Fn(usize, usize, usize) -> bool) -> bool {
    let (graph, symbols) = (equations.graph(), equations.symbols());
    let mut walker = Walker::new();
    (0..=equations.order()).all(|order| {
        let jacobian = equations.jacobian(order);
        let mut entries = jacobian.pattern.iter();
        entries.all(|(equation, unknown, position)| {
            !is_meant(equation, unknown, order)
                || walker
                    .symbols(graph, &[jacobian.entries[position]])
                    .into_iter()
                    .all(|symbol| match symbols.get(symbol) {
                        Symbol::Unknown { unknown, order } => {
                            !is_meant(equation, unknown, order as usize)
                        }
                        _ => true,
                    })
        })
    })
}
