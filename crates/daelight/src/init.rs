//! Consistent starts: what is asked for, and what went wrong as diagnostics.

use crate::point::read_point;
use crate::record::condition_text;
use crate::rectangular::contradiction_at;
use daelight_analysis::System;
use daelight_analysis::initial::{ArrayFault, NoPoint, Obstacle, Request, Row};
use daelight_analysis::passport::{Passport, Regularity};
use daelight_analysis::start::{
    Condition, Conflict, Others, Outcome, Remedy, SingularStart, StartRequest, find_start,
};
use daelight_expr::Walker;
use daelight_lang::{Code, Diagnostic, LINE, Origin, Span, Symbol, shorten};
use daelight_show::{count, tidy_number};
use std::path::PathBuf;
use std::time::Duration;

/// How long to search where nobody says it.
const DEFAULT_BUDGET: Duration = Duration::from_secs(10);

/// What `daelight init` is asked for.
#[derive(Clone, Debug)]
pub struct InitOptions {
    /// The time; by default the start of the experiment.
    pub at: Option<f64>,
    /// A file with values that take the place of the model's start values.
    pub point: Option<PathBuf>,
    /// The highest derivative wanted.
    pub order: usize,
    /// Whether to look for all solutions.
    pub all: bool,
    /// Whether to look for the regular start nearest to a singular one.
    pub nearest_regular: bool,
    /// How long to search.
    pub budget: Duration,
}

/// What to look for: the conditions of the model, and guesses from the model or a file.
pub fn start_request(
    system: &System,
    options: &InitOptions,
) -> Result<StartRequest, Box<Diagnostic>> {
    for (unknown, info) in system.unknowns().iter().enumerate() {
        if let (Some(min), Some(max)) = (info.min, info.max)
            && min > max
        {
            let message = format!("the bounds of {} leave no value", info.name);
            let diagnostic =
                Diagnostic::error(Code::BadValue, system.unknown_span(unknown), message)
                    .label(format!("min = {min} is above max = {max}"))
                    .help("exchange or widen the bounds");
            return Err(diagnostic.into());
        }
    }
    let time = options.at.or(system.experiment().start_time).unwrap_or(0.0);
    let mut request = Request::of_model(system, time, options.order);
    if let Some(path) = &options.point {
        for (unknown, value) in read_point(path, system)? {
            request.give(unknown, value);
        }
        request.conditions_of_model(system);
    }
    Ok(StartRequest {
        time,
        guess: request.guess,
        given: request.given,
        conditions: request.conditions,
        order: options.order,
        budget: options.budget,
        others: if options.all {
            Others::All
        } else {
            Others::Glance
        },
        nearest_regular: options.nearest_regular,
    })
}

/// What keeps the model from a start at a time, or at the beginning of its experiment, where that can be named: fixed values
/// that contradict it, or the equations that could not be solved.
pub fn refused_at_start(
    system: &System,
    at: Option<f64>,
    budget: Option<Duration>,
) -> Option<Diagnostic> {
    let options = InitOptions {
        at,
        point: None,
        order: 1,
        all: false,
        nearest_regular: false,
        budget: budget.unwrap_or(DEFAULT_BUDGET),
    };
    let request = start_request(system, &options).ok()?;
    if let Some(contradiction) = contradiction_at(system, request.time) {
        return Some(contradiction);
    }
    match find_start(system, &request) {
        Outcome::Conflict(conflict) => Some(conflict_diagnostic(system, &conflict)),
        Outcome::Missing {
            no_point,
            obstacle: Some(obstacle),
            budget_reached: false,
        } => {
            let obstacle = Some(&*obstacle);
            Some(missing_diagnostic(
                system,
                request.time,
                &no_point,
                obstacle,
                None,
            ))
        }
        _ => None,
    }
}

fn times(order: usize) -> String {
    match order {
        1 => "once".to_string(),
        2 => "twice".to_string(),
        n => format!("{n} times"),
    }
}

fn place(system: &System, condition: &Condition) -> Span {
    match condition.row {
        Row::Value { unknown, .. } => system.start_span(unknown),
        Row::Initial { equation } => system.written_initial()[equation].span,
        Row::Equation { equation, .. } => system.written()[equation].span,
    }
}

/// Fixed values that contradict each other, as a frame around them.
pub fn conflict_diagnostic(system: &System, conflict: &Conflict) -> Diagnostic {
    let what = if conflict.conditions.iter().any(|c| c.is_bound) {
        "bounds and fixed initial values"
    } else {
        "fixed initial values"
    };
    let message = match &conflict.broken {
        Some(broken) if !broken.loop_of.is_empty() => format!(
            "{what} contradict each other around the loop of {}",
            shorten(&broken.loop_of.join(", "), LINE)
        ),
        Some(broken) if broken.times_differentiated > 0 => {
            format!("{what} break a hidden constraint")
        }
        Some(_) => format!("{what} break an equation"),
        None => format!("{what} contradict each other"),
    };
    let mut places = conflict_places(system, conflict).into_iter();
    let (span, remarks) = places
        .next()
        .unwrap_or((system.unknown_span(0), Vec::new()));
    let mut diagnostic =
        Diagnostic::error(Code::InconsistentInitial, span, message).label(remarks.join("; "));
    for (span, remarks) in places {
        diagnostic = diagnostic.related(span, remarks.join("; "));
    }
    if let Some(open) = conflict.n_open {
        diagnostic = diagnostic.note(format!(
            "{} can be chosen freely; {} fixed",
            count(open, "value"),
            if conflict.n_conditions == 1 {
                "1 is".to_string()
            } else {
                format!("{} are", conflict.n_conditions)
            },
        ));
    }
    if !conflict.is_smallest {
        diagnostic =
            diagnostic.note("the budget ended the search for the smallest conflicting set");
    }
    if !conflict.is_dependent {
        diagnostic = diagnostic.note(
            "no consistent point with these values was found from several starts; that is no proof",
        );
    }
    diagnostic.help(shorten(&remedy_text(system, conflict), 300))
}

/// Said of each of several equations where none alone stands in the way.
const IN_PART: &str = "one of these cannot hold with them";

/// The places of a conflict in the order of the text, each with what it demands or breaks.
fn conflict_places(system: &System, conflict: &Conflict) -> Vec<(Span, Vec<String>)> {
    let mut places: Vec<(Span, Vec<String>)> = Vec::new();
    let mut put = |span: Span, remark: String| match places.iter_mut().find(|p| p.0 == span) {
        Some(place) => place.1.push(remark),
        None => places.push((span, vec![remark])),
    };
    let involved = conflict.broken.iter().flat_map(|broken| &broken.involved);
    let mut shown: Vec<(Span, String)> = conflict
        .conditions
        .iter()
        .map(|c| {
            (
                place(system, c),
                format!("{} must hold", condition_text(system, c)),
            )
        })
        .chain(involved.map(|c| {
            (
                place(system, c),
                format!("{} is given", condition_text(system, c)),
            )
        }))
        .collect();
    shown.sort_by_key(|(span, _)| (span.source.0, span.start));
    for (span, remark) in shown {
        put(span, remark);
    }
    // An equation of a library is told with the component of the model that it belongs to.
    let mut put_equation = |equation: usize, remark: String| match system.component_span(equation) {
        Some(span) => {
            let text = shorten(&system.equation_text(equation), LINE);
            put(span, format!("`{text}`: {remark}"));
        }
        None => put(system.written()[equation].span, remark),
    };
    if let Some(broken) = &conflict.broken {
        let gives = match broken.value {
            Some(value) => format!("gives {}, not 0", tidy_number(value)),
            None if broken.together_with.is_empty() => "cannot hold with them".to_string(),
            None => IN_PART.to_string(),
        };
        put_equation(
            broken.equation,
            match &broken.text {
                Some(text) => format!(
                    "differentiated {}, this is  {}  and {gives}",
                    times(broken.times_differentiated),
                    shorten(text, LINE)
                ),
                None if !broken.loop_of.is_empty() => {
                    format!("around the loop, left minus right {gives}")
                }
                None if broken.value.is_some() => format!("left minus right {gives}"),
                None => gives,
            },
        );
        for &equation in broken.together_with.iter().take(MAX_SHOWN) {
            put_equation(equation, IN_PART.to_string());
        }
    }
    places.sort_by_key(|(span, _)| (span.source.0, span.start));
    places
}

/// The remedy that is told: of those as good as the first, one that frees an unknown without a derivative, such as a force; what is
/// differentiated is what a start is about.
fn chosen_remedy<'a>(system: &System, conflict: &'a Conflict) -> Option<&'a Remedy> {
    let first = conflict.remedies.first()?;
    let differentiated = system.equations().pattern(1).columns();
    let is_algebraic = |remedy: &&Remedy| match conflict.conditions[remedy.condition].row {
        Row::Value { unknown, .. } => !differentiated.contains(&(unknown as u32)),
        _ => false,
    };
    let is_as_good = |remedy: &&Remedy| {
        remedy.resolves_all >= first.resolves_all && remedy.is_direct >= first.is_direct
    };
    let others = conflict.remedies.iter().filter(is_as_good);
    let mut algebraic = others.filter(is_algebraic);
    Some(algebraic.next().unwrap_or(first))
}

/// What to change so that the other conditions can hold.
fn remedy_text(system: &System, conflict: &Conflict) -> String {
    let remedy = chosen_remedy(system, conflict);
    let main = remedy.map_or(0, |remedy| remedy.condition);
    let involved = conflict.broken.iter().flat_map(|broken| &broken.involved);
    let mut names: Vec<(Span, String)> = conflict
        .conditions
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != main)
        .map(|(_, condition)| condition)
        .chain(involved.filter(|_| remedy.is_some_and(|remedy| remedy.resolves_all)))
        .map(|condition| (place(system, condition), name_of(system, condition)))
        .collect();
    names.sort_by_key(|(span, _)| (span.source.0, span.start));
    let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
    let given = match names.len() {
        0 => String::new(),
        _ => format!("with {} as given ", names.join(", ")),
    };
    match remedy {
        Some(remedy) => {
            let condition = &conflict.conditions[remedy.condition];
            let name = name_of(system, condition);
            match remedy.value {
                Some(value) if condition.is_bound => {
                    format!(
                        "widen the bound of {name}; {given}it is {}",
                        tidy_number(value)
                    )
                }
                Some(value) => format!("leave {name} free; {given}it is {}", tidy_number(value)),
                None => format!("drop the initial equation {name}"),
            }
        }
        None => "free one of these values".to_string(),
    }
}

fn name_of(system: &System, condition: &Condition) -> String {
    match condition.row {
        Row::Value { unknown, .. } => system.unknowns()[unknown].name.clone(),
        _ => format!("`{}`", condition_text(system, condition)),
    }
}

/// A start that is required on a singular point, as a frame around its equations.
pub fn singular_diagnostic(system: &System, singular: &SingularStart) -> Diagnostic {
    let passport = &singular.passport;
    let kind = match singular.kind {
        Some(kind) => format!(" of kind {kind}"),
        None => String::new(),
    };
    let message = format!(
        "the start at t = {} is a singular point{kind}",
        passport.time
    );
    let mut diagnostic = Diagnostic::placeless(Code::SingularStart, message);
    if let Some(part) = passport.structure()
        && let Regularity::SingularHere(ranks) = &part.regularity
    {
        let blocks = part.structure.blocks();
        let mut equations = (ranks.iter()).flat_map(|rank| {
            let members = blocks[rank.block].equations.iter();
            members.map(|&equation| (rank.block, equation))
        });
        let first = equations.next();
        if let Some((_, equation)) = first {
            diagnostic.span = Some(system.written()[equation].span);
            diagnostic.label =
                "the equations of this block no longer determine its unknowns".to_string();
        }
        for (block, equation) in equations.take(5) {
            let span = system.written()[equation].span;
            if Some(span) != diagnostic.span {
                let is_same = first.is_some_and(|(own, _)| own == block);
                let label = match is_same {
                    true => "of the same block",
                    false => "of another block that is singular too",
                };
                diagnostic = diagnostic.related(span, label);
            }
        }
        for rank in ranks {
            let block = &blocks[rank.block];
            let names = block
                .unknowns
                .iter()
                .map(|j| system.unknowns()[*j].name.as_str());
            let names: Vec<&str> = names.collect();
            diagnostic = diagnostic.note(format!(
                "rank {} of {} in the block of {}",
                rank.decision.rank,
                block.equations.len(),
                shorten(&names.join(", "), LINE),
            ));
        }
    }
    for edge in &singular.edges {
        let span = system.written()[edge.equation].span;
        if diagnostic.span.is_none() {
            diagnostic.span = Some(span);
            diagnostic.label = "here".to_string();
        }
        diagnostic = diagnostic.note(edge.sentence());
    }
    let locus_kind = singular.locus.as_ref().and_then(|locus| locus.kind);
    if let Some(locus) = &singular.locus {
        diagnostic = diagnostic.note(format!(
            "it lies where {} = 0",
            shorten(&locus.factor, LINE)
        ));
    }
    match (singular.kind, locus_kind) {
        (None, Some(kind)) => {
            diagnostic = diagnostic.note(format!(
                "its kind is not decided at the point itself; elsewhere on this set it is {kind}"
            ));
        }
        (None, None) if singular.edges.is_empty() => {
            diagnostic = diagnostic.note("its kind is not decided");
        }
        _ => {}
    }
    diagnostic.help(way_from(system, singular))
}

/// What to do about a singular start.
fn way_from(system: &System, singular: &SingularStart) -> String {
    match (lacking(system, &singular.passport), fixed_in_block(system, singular)) {
        (Some(lacking), _) => lacking,
        (None, Some((name, value))) => format!(
            "`{name}` is fixed at {} there: give it another start value, or leave out its `fixed` and ask `daelight init \
             --nearest-regular` for the nearest regular start",
            tidy_number(value)
        ),
        (None, None) if depends_on_time(system) => {
            "start at another time or with other parameters; `daelight init --nearest-regular` finds the nearest regular start".to_string()
        }
        (None, None) => {
            "start from other values or with other parameters; `daelight init --nearest-regular` finds the nearest regular start".to_string()
        }
    }
}

/// What to write where unknowns are free and equations follow from the others: no other start and no other time changes that.
pub(crate) fn lacking(system: &System, passport: &Passport) -> Option<String> {
    let found = passport.indices()?.strangeness;
    if found.n_free == 0 || found.n_redundant == 0 {
        return None;
    }
    let free = passport.numerical.as_ref().ok()?.free.iter().copied();
    let free = match names(system, free) {
        free if free.is_empty() => String::new(),
        free => format!(", such as one for {free},"),
    };
    let (missing, implied) = match found.n_redundant {
        1 => ("an equation that is missing", "one that the others imply"),
        _ => (
            "the equations that are missing",
            "those that the others imply",
        ),
    };
    Some(format!("write {missing}{free} in the place of {implied}"))
}

/// Whether the time stands in the equations.
fn depends_on_time(system: &System) -> bool {
    let equations = system.equations();
    let symbols = Walker::new().symbols(equations.graph(), equations.residuals());
    let mut symbols = symbols.into_iter();
    symbols.any(|id| matches!(equations.symbols().get(id), Symbol::Time))
}

/// An unknown with a fixed start in the equations that are singular, where the time is not what makes them so.
fn fixed_in_block(system: &System, singular: &SingularStart) -> Option<(String, f64)> {
    let part = singular.passport.structure()?;
    let Regularity::SingularHere(ranks) = &part.regularity else {
        return None;
    };
    let blocks = part.structure.blocks();
    let equations = ranks.iter().flat_map(|rank| &blocks[rank.block].equations);
    let pattern = system.equations().pattern(0);
    let columns = equations.flat_map(|&equation| &pattern.columns()[pattern.row(equation)]);
    let mut fixed = columns.filter_map(|&unknown| {
        let info = &system.unknowns()[unknown as usize];
        let start = info.start.filter(|_| info.fixed)?;
        Some((info.name.clone(), start))
    });
    fixed.next()
}

/// A search that found nothing.
pub fn missing_diagnostic(
    system: &System,
    time: f64,
    no_point: &NoPoint,
    obstacle: Option<&Obstacle>,
    budget: Option<Duration>,
) -> Diagnostic {
    let message = match budget {
        Some(budget) => format!(
            "the budget of {budget:?} ended the search for a consistent start at t = {time}"
        ),
        None => format!("no consistent start was found at t = {time}"),
    };
    let diagnostic = Diagnostic::placeless(Code::NoConsistentStart, message);
    if let (Some(obstacle), None) = (obstacle, budget) {
        return obstacle_diagnostic(system, diagnostic, obstacle);
    }
    let reached = |residual: f64| {
        if residual.is_finite() {
            format!("the largest relative residual reached is {residual:.1e}")
        } else {
            "no step was completed".to_string()
        }
    };
    let diagnostic = match no_point {
        NoPoint::Stalled { residual, row, .. } => {
            let condition = Condition {
                row: *row,
                is_bound: false,
            };
            let order = match row {
                Row::Equation { order, .. } if *order > 0 => {
                    format!("differentiated {}, ", times(*order))
                }
                _ => String::new(),
            };
            let mut diagnostic = diagnostic.note(reached(*residual));
            diagnostic.span = Some(place(system, &condition));
            diagnostic.label = format!("{order}this is where the search stalled");
            diagnostic
        }
        NoPoint::Budget { residual } => diagnostic.note(reached(*residual)),
        NoPoint::TooLarge { rows } => diagnostic.note(format!(
            "{rows} conditions are too many for dense matrices, and the structure does not help"
        )),
        NoPoint::Fault(fault) => diagnostic.note(match fault {
            ArrayFault::Equation(fault) => system.explain(fault).sentence,
            ArrayFault::Initial(fault) => system.explain_initial(fault).sentence,
        }),
    };
    diagnostic.help(match budget {
        Some(_) => {
            "allow more time with --budget, or give start values closer to a consistent point"
        }
        None if matches!(no_point, NoPoint::Fault(_)) => HAVE_VALUES,
        None => "give start values closer to a consistent point",
    })
}

/// What to do where an expression has no value.
const HAVE_VALUES: &str = "start where every equation and its derivatives have a value: with other start values, or at another time";

/// Most equations and most values of a block that are shown.
const MAX_SHOWN: usize = 4;

/// What must be 0 in a constraint of a `lagrange`.
fn formula_of_lagrange(system: &System, equation: usize) -> Option<String> {
    let written = &system.written()[equation];
    let is_constraint = matches!(written.origin, Origin::Constraint { .. });
    let residual = system.equations().residuals()[equation];
    let text = system.text(residual, LINE).filter(|_| is_constraint)?;
    Some(shorten(&text, LINE))
}

/// The smallest set of equations that could not be solved, with the numbers that it was tried with.
fn obstacle_diagnostic(
    system: &System,
    mut diagnostic: Diagnostic,
    obstacle: &Obstacle,
) -> Diagnostic {
    let unknowns = names(system, obstacle.unknowns.iter().copied());
    let condition = |row: &Row| Condition {
        row: *row,
        is_bound: false,
    };
    for (at, row) in obstacle.rows.iter().take(MAX_SHOWN).enumerate() {
        let span = place(system, &condition(row));
        let order = match row {
            Row::Equation { order, .. } if *order > 0 => {
                format!("differentiated {}, ", times(*order))
            }
            _ => String::new(),
        };
        // A `lagrange` stands for several equations: each is told by its formula.
        let own = match row {
            Row::Equation { equation, .. } => formula_of_lagrange(system, *equation),
            _ => None,
        };
        let this = own.map_or("this".to_string(), |formula| format!("`{formula} = 0`"));
        if at > 0 {
            diagnostic = diagnostic.related(span, format!("{order}together with {this}"));
            continue;
        }
        diagnostic.span = Some(span);
        diagnostic.label = match &obstacle.fault {
            Some(_) => format!("{order}{this} has no value where {unknowns} is looked for"),
            None => format!("{order}{this} could not be solved for {unknowns}"),
        };
    }
    let shown = obstacle.known.iter().take(MAX_SHOWN);
    let values: Vec<String> = shown
        .map(|&(unknown, value)| {
            format!(
                "{} = {}",
                system.unknowns()[unknown].name,
                tidy_number(value)
            )
        })
        .collect();
    if !values.is_empty() {
        diagnostic = diagnostic.note(format!("with {}", values.join(", ")));
    }
    if let Some(fault) = &obstacle.fault {
        diagnostic = diagnostic.note(match fault {
            ArrayFault::Equation(fault) => system.explain(fault).sentence,
            ArrayFault::Initial(fault) => system.explain_initial(fault).sentence,
        });
    }
    diagnostic.help(way_out(system, obstacle, &unknowns))
}

/// What to do about equations that could not be solved.
fn way_out(system: &System, obstacle: &Obstacle, unknowns: &str) -> String {
    if let Some(ArrayFault::Equation(fault)) = &obstacle.fault
        && let Some((parameters, divisor)) = system.zero_divisor(fault)
    {
        return format!(
            "give {} another value: `{divisor}` is 0 and stands in a denominator",
            parameters.join(" or ")
        );
    }
    if let Some(ArrayFault::Equation(fault)) = &obstacle.fault
        && system.sources().is_of_while(system.explain(fault).span)
    {
        return "write the loop as a `for` with an `if`, or with `mod`, `floor` or an equation"
            .to_string();
    }
    if obstacle.is_forced {
        return HAVE_VALUES.to_string();
    }
    let known = names(system, obstacle.known.iter().map(|known| known.0));
    let or_change = match known.is_empty() {
        true => String::new(),
        false => format!(", or change what gives {known}"),
    };
    let doubt = match obstacle.fault {
        Some(_) => "",
        None => ", if there is a real one",
    };
    format!("give {unknowns} a start value closer to a solution{doubt}{or_change}")
}

/// Some names, the first ones of many.
fn names(system: &System, unknowns: impl Iterator<Item = usize>) -> String {
    let all: Vec<&str> = unknowns
        .map(|j| system.unknowns()[j].name.as_str())
        .collect();
    first_of(&all)
}

/// The first ones of many names, and how many more there are.
pub(crate) fn first_of(all: &[&str]) -> String {
    match all.len() {
        0..=MAX_SHOWN => all.join(", "),
        n => format!("{} and {} more", all[..MAX_SHOWN].join(", "), n - MAX_SHOWN),
    }
}
