//! The record of a start, and why there is none.

use super::RefusalKind;
use super::analyze::{block_record, critical_record, singular_blocks};
use crate::analyze::silent_inputs;
use crate::init::lacking;
use crate::solve::start::SAME_POINT;
use crate::tolerances::SAME;
use crate::{conflict_diagnostic, contradiction_at, missing_diagnostic, singular_diagnostic};
use daelight_analysis::System;
use daelight_analysis::initial::{Closeness, ConsistentPoint, Row, SideChoice, TaylorJet};
use daelight_analysis::passport::Passport;
use daelight_analysis::start::{Condition, Conflict, Outcome, Start, StartRequest};
use daelight_lang::{Diagnostic, PHRASE};
use daelight_show::record::{
    ConflictRecord, CriticalRecord, DiagnosticRecord, OtherRecord, RemedyRecord,
    StartConditionRecord, StartFailure, StartLevelRecord, StartRecord, finite,
};
use daelight_show::{count, tidy_number};
use serde_json::{Map, Value};

/// Two solutions that differ by whole turns are the same pose if nothing else differs by more than this. Both were found by
/// Newton's method to rounding; the test of the wiper in `tests/init_cli.rs` shows differences of 1e-15.
const SAME_POSE: f64 = 1e-9;

/// What to do where not even a regular start nearby was found.
const NO_REGULAR: &str =
    "no regular start was found nearby: start at another time with --at, or free a fixed value";

/// A condition in the user's names.
pub fn condition_text(system: &System, condition: &Condition) -> String {
    match condition.row {
        Row::Value { unknown, value } => {
            let name = &system.unknowns()[unknown].name;
            // What was given is shown as given, however small.
            let value = match tidy_number(value) {
                zero if zero == "0" && value != 0.0 => format!("{value:e}"),
                tidy => tidy,
            };
            if condition.is_bound {
                format!("{name} = {value}, its bound")
            } else {
                format!("{name} = {value}")
            }
        }
        Row::Initial { equation } => system.initial_equation_text(equation),
        Row::Equation { equation, .. } => system.equation_text(equation),
    }
}

fn named(system: &System, value: impl Fn(usize) -> Value) -> Map<String, Value> {
    let unknowns = system.unknowns().iter().enumerate();
    unknowns.map(|(j, u)| (u.name.clone(), value(j))).collect()
}

fn derivatives(system: &System, jet: &TaylorJet, order: usize) -> Map<String, Value> {
    named(system, |j| finite(jet.derivative(j, order)))
}

/// The record of a start that was looked for from a guess.
fn start(system: &System, start: &Start, guess: &[f64]) -> StartRecord {
    let point = &start.point;
    let jet = &point.jet;
    let names = |list: &[usize]| -> Vec<String> {
        list.iter()
            .map(|j| system.unknowns()[*j].name.clone())
            .collect()
    };
    let freedom = start.freedom.as_ref();
    let conditions = start.conditions.iter().enumerate();
    let mut adjusted = Map::new();
    for (j, unknown) in system.unknowns().iter().enumerate() {
        let (from, to) = (guess[j], jet.get(j, 0));
        let size = from.abs().max(to.abs()).max(SAME);
        if unknown.start.is_some() && (to - from).abs() > SAME_POINT * size {
            let record = Value::Object(
                [("from", from), ("to", to)]
                    .map(|(k, v)| (k.to_string(), finite(v)))
                    .into_iter()
                    .collect(),
            );
            adjusted.insert(unknown.name.clone(), record);
        }
    }
    let levels = point.residuals.iter().enumerate();
    StartRecord {
        model: system.name().to_string(),
        status: "success",
        time: point.time,
        values: derivatives(system, jet, 0),
        derivatives: derivatives(system, jet, 1),
        higher: (start.order >= 2).then(|| {
            let list = |j| {
                (2..=start.order)
                    .map(|k| finite(jet.derivative(j, k)))
                    .collect()
            };
            named(system, |j| Value::Array(list(j)))
        }),
        residual: point.residual,
        levels: levels
            .map(|(order, &residual)| StartLevelRecord { order, residual })
            .collect(),
        n_free: start.n_free,
        free: freedom.map_or_else(Vec::new, |freedom| names(&freedom.free)),
        dof: freedom.map(|freedom| freedom.n_open),
        conditions: conditions
            .map(|(at, condition)| StartConditionRecord {
                text: condition_text(system, condition),
                uses_freedom: freedom.map(|freedom| freedom.using.contains(&at)),
            })
            .collect(),
        adjusted,
        computed: (system.unknowns().iter())
            .filter(|unknown| unknown.start.is_none())
            .map(|unknown| unknown.name.clone())
            .collect(),
        distance: point.distance,
        from_written: from_written(system, guess, jet),
        others: different_poses(start)
            .map(|other| OtherRecord {
                values: derivatives(system, &other.jet, 0),
                derivatives: derivatives(system, &other.jet, 1),
                distance: other.distance,
                from_written: from_written(system, guess, &other.jet),
            })
            .collect(),
        discrete: Vec::new(),
        notes: notes(system, start, guess),
        scene: None,
    }
}

/// How far a point is from the start values that somebody wrote, whichever unknowns have them.
fn from_written(system: &System, guess: &[f64], jet: &TaylorJet) -> f64 {
    let unknowns = system.unknowns().iter().enumerate();
    let squares = unknowns.filter_map(|(j, unknown)| {
        unknown.start?;
        let change = jet.derivative(j, 0) - guess[j];
        Some((change / unknown.nominal.unwrap_or(1.0).abs()).powi(2))
    });
    squares.sum::<f64>().sqrt()
}

/// The other solutions, each pose once: of those that differ by whole turns in some unknowns, and in their derivatives and
/// all other unknowns by nothing, the first is listed. The start itself counts as listed.
pub(crate) fn different_poses(start: &Start) -> impl Iterator<Item = &ConsistentPoint> {
    let mut listed = vec![&start.point];
    start.others.iter().filter(move |other| {
        let known = listed.iter().any(|one| same_pose(&one.jet, &other.jet));
        if !known {
            listed.push(other);
        }
        !known
    })
}

fn same_pose(one: &TaylorJet, other: &TaylorJet) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= SAME_POSE * (1.0 + a.abs().max(b.abs()));
    let turns = |a: f64, b: f64| ((a - b) / std::f64::consts::TAU).round();
    let mut is_turned = false;
    (0..one.n_unknowns()).all(|j| {
        let (a, b) = (one.get(j, 0), other.get(j, 0));
        let n = turns(a, b);
        is_turned |= n != 0.0;
        close(a, b + n * std::f64::consts::TAU)
            && close(one.derivative(j, 1), other.derivative(j, 1))
    }) && is_turned
}

/// What to know of a start that lies on switches: that its sides are not the only ones, or that none lasts.
pub(crate) fn side_note(system: &System, point: &ConsistentPoint) -> Option<String> {
    let switches: Vec<String> = point
        .pins
        .iter()
        .filter_map(|pin| system.text(pin.expr, PHRASE))
        .map(|text| format!("`{text}`"))
        .collect();
    let switches = switches.join(", ");
    match point.choice {
        SideChoice::Decided | SideChoice::One => None,
        SideChoice::Several(n) => Some(format!(
            "The start lies on the switch {switches}, and {n} solutions begin there; this one takes the side that the text takes \
             at the switch. Move a start value off the switch to choose another."
        )),
        SideChoice::None => Some(format!(
            "The start lies on the switch {switches}, and every side of it leads back: the solution slides along the switch."
        )),
    }
}

fn notes(system: &System, start: &Start, guess: &[f64]) -> Vec<String> {
    let mut notes: Vec<String> = side_note(system, &start.point).into_iter().collect();
    notes.extend(silent_inputs(system));
    let turned = start.others.len() - different_poses(start).count();
    if turned > 0 {
        notes.push("Solutions that differ by whole turns of 2π are listed once.".to_string());
    }
    if start.order < start.asked {
        notes.push(format!(
            "Derivatives above order {} are too large for numbers.",
            start.order
        ));
    }
    if start.beside_singular {
        notes.push(format!(
            "The start asked for is singular; this is the nearest regular one, at t = {}.",
            start.point.time
        ));
        if let Some(margin) = start.margin {
            notes.push(format!(
                "It is close to singular: the equations hold their unknowns with {margin:.1e} of the strength that they have a hundredth away (least singular values of the system Jacobian)."
            ));
        }
    }
    if start.others_cut {
        notes.push(format!(
            "The budget ended the search for other solutions after {}.",
            count(start.n_tried, "start")
        ));
    }
    if let Some(freedom) = &start.freedom {
        let more: Vec<String> = freedom
            .redundant
            .iter()
            .map(|at| condition_text(system, &start.conditions[*at]))
            .collect();
        if !more.is_empty() {
            notes.push(format!(
                "More is fixed than can be chosen, without contradiction: {} from the rest (to {:.0e}).",
                match more.len() {
                    1 => format!("{} follows", more[0]),
                    _ => format!("{} follow", more.join(", ")),
                },
                start.condition_residual.max(f64::EPSILON / 2.0)
            ));
        }
    } else if start.n_free > 0 {
        notes.push("Which values are free is not listed for a system of this size.".to_string());
    }
    for condition in start.conditions.iter().filter(|c| c.is_bound) {
        notes.push(format!("{}.", condition_text(system, condition)));
    }
    match start.point.closeness {
        Closeness::Closest => {}
        Closeness::Stopped => notes.push(
            "The point is consistent, but a closer one may exist: the search along the constraints stopped early."
                .to_string(),
        ),
        Closeness::Budget => notes.push(
            "The point is consistent, but a closer one may exist: the budget ended the search along the constraints."
                .to_string(),
        ),
    }
    let nearer = from_written(system, guess, &start.point.jet) * (1.0 - SAME_POSE);
    if (start.others.iter()).any(|other| from_written(system, guess, &other.jet) < nearer) {
        notes.push(
            "A solution on another branch is closer to the start values: `init --all` lists it with its values, and start values close to them lead there."
                .to_string(),
        );
    }
    notes.extend(followed(&start.point));
    if start.point.attempt > 0 {
        notes.push(
            "The point was found from values beside the start values, not from these themselves."
                .to_string(),
        );
    }
    notes
}

/// Says that a start was reached from the simplified equations.
pub(super) fn followed(point: &ConsistentPoint) -> Option<String> {
    let n_steps = point.followed?;
    Some(format!(
        "The start was not found directly: `homotopy` was followed from the simplified equations to the actual ones in {}.",
        count(n_steps, "step")
    ))
}

/// Why there is no start.
pub struct NoStart {
    /// Whose fault it is.
    pub kind: RefusalKind,
    /// What is wrong, where it stands.
    pub diagnostic: Diagnostic,
    /// The document.
    pub record: StartFailure,
}

/// The record of what the search for a start found, or why it found nothing.
pub fn outcome(
    system: &System,
    request: &StartRequest,
    outcome: &Outcome,
) -> Result<StartRecord, Box<NoStart>> {
    let time = request.time;
    let (mut broken, mut critical) = (None, None);
    let contradicting = || contradiction_at(system, time);
    let (kind, status, diagnostic) = match outcome {
        // A point may satisfy the equations to the order that was asked for where later derivatives contradict.
        Outcome::Found(_) if let Some(diagnostic) = contradicting() => {
            (RefusalKind::ModelAtFault, "conflict", diagnostic)
        }
        Outcome::Found(found) => return Ok(start(system, found, &request.guess)),
        Outcome::Conflict(conflict) => {
            broken = Some(conflict_record(system, conflict));
            let diagnostic = conflict_diagnostic(system, conflict);
            (RefusalKind::ModelAtFault, "conflict", diagnostic)
        }
        Outcome::Singular(singular) => {
            critical = Some(singularity(system, &singular.passport));
            let mut diagnostic = singular_diagnostic(system, singular);
            if request.nearest_regular && lacking(system, &singular.passport).is_none() {
                diagnostic = diagnostic.help(NO_REGULAR);
            }
            (RefusalKind::SingularStart, "singular", diagnostic)
        }
        Outcome::Missing {
            no_point,
            budget_reached,
            obstacle,
        } => {
            let budget = budget_reached.then_some(request.budget);
            match contradicting() {
                Some(diagnostic) => (RefusalKind::ModelAtFault, "conflict", diagnostic),
                None => {
                    let diagnostic =
                        missing_diagnostic(system, time, no_point, obstacle.as_deref(), budget);
                    (RefusalKind::GaveUp, "failure", diagnostic)
                }
            }
        }
    };
    let record = StartFailure {
        model: system.name().to_string(),
        status,
        time,
        conflict: broken,
        critical,
        diagnostics: vec![DiagnosticRecord::new(&diagnostic, system.sources())],
    };
    Err(Box::new(NoStart {
        kind,
        diagnostic,
        record,
    }))
}

/// The singularity at a point that may not be decided to be of a kind.
fn singularity(system: &System, passport: &Passport) -> CriticalRecord {
    critical_record(system, passport).unwrap_or_else(|| {
        let blocks = passport.structure().into_iter().flat_map(|part| {
            let ranks = singular_blocks(passport).iter();
            ranks.map(move |rank| block_record(system, &part.structure, rank.block))
        });
        let (equations, unknowns): (Vec<_>, Vec<_>) = blocks
            .map(|block| (block.equations, block.unknowns))
            .unzip();
        CriticalRecord {
            kind: None,
            rank: None,
            rank_nearby: None,
            equations: equations.concat(),
            unknowns: unknowns.concat(),
        }
    })
}

fn conflict_record(system: &System, conflict: &Conflict) -> ConflictRecord {
    let text = |condition: &Condition| condition_text(system, condition);
    let broken = conflict.broken.as_ref();
    ConflictRecord {
        conditions: conflict.conditions.iter().map(text).collect(),
        constraint: broken.map(|broken| {
            let written = || system.equation_text(broken.equation);
            broken.text.clone().unwrap_or_else(written)
        }),
        from_equation: broken.map(|broken| system.equation_text(broken.equation)),
        times_differentiated: broken.map(|broken| broken.times_differentiated),
        value: broken.and_then(|broken| broken.value),
        remedies: conflict
            .remedies
            .iter()
            .map(|remedy| RemedyRecord {
                condition: text(&conflict.conditions[remedy.condition]),
                value: remedy.value,
            })
            .collect(),
    }
}
