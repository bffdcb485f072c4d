//! Consistent starts: one document for programs, one page for people.

use crate::columns::finite;
use crate::json::DiagnosticRecord;
use crate::page::{short, table, wrapped};
use crate::passport::{CriticalRecord, block_record, critical_record, singular_blocks};
use crate::words::count;
use daelight_analysis::System;
use daelight_analysis::initial::{Closeness, Row, TaylorJet};
use daelight_analysis::passport::Passport;
use daelight_analysis::start::{Condition, Conflict, Start};
use serde::Serialize;
use serde_json::{Map, Value};

/// Most rows of a list on a page; JSON has them all.
const MAX_LISTED: usize = 40;
/// Values that differ by less than this, relative to their sizes, were not adjusted.
const UNCHANGED: f64 = 1e-10;

/// What `daelight init --json` prints when there is a start.
#[derive(Serialize, Debug, Clone)]
pub struct StartReport {
    /// Name of the model.
    pub model: String,
    /// `success`.
    pub status: &'static str,
    /// The time of the start.
    pub time: f64,
    /// The consistent values, in the order of the model.
    pub values: Map<String, Value>,
    /// Their first derivatives.
    pub derivatives: Map<String, Value>,
    /// Derivatives 2, 3, ... of each unknown, with `--order`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub higher: Option<Map<String, Value>>,
    /// Largest residual of all levels, relative to its terms.
    pub residual: f64,
    /// Largest relative residual of the equations, level by level.
    pub levels: Vec<StartLevelRecord>,
    /// How many values can be chosen beside the conditions.
    pub n_free: usize,
    /// Unknowns whose values can be chosen together, that many of them; empty for large systems.
    pub free: Vec<String>,
    /// How many values the equations leave open, before any condition; `null` for large systems.
    pub dof: Option<usize>,
    /// What holds beside the equations, and whether it uses up a degree of freedom.
    pub conditions: Vec<ConditionRecord>,
    /// Values that differ from the start values, from and to.
    pub adjusted: Map<String, Value>,
    /// Weighted distance from the start values, in the components that are differentiated.
    pub distance: f64,
    /// Other solutions that were found, the closest first.
    pub others: Vec<OtherRecord>,
    /// What to know beside the numbers.
    pub notes: Vec<String>,
}

/// The residual of one level.
#[derive(Serialize, Debug, Clone)]
pub struct StartLevelRecord {
    /// How often the equations are differentiated.
    pub order: usize,
    /// The largest relative residual.
    pub residual: f64,
}

/// A condition.
#[derive(Serialize, Debug, Clone)]
pub struct ConditionRecord {
    /// `y = 0`, or an initial equation as written.
    pub text: String,
    /// Whether it uses up a degree of freedom; `false` when it follows from the others, `null` when not known.
    pub uses_freedom: Option<bool>,
}

/// Another solution.
#[derive(Serialize, Debug, Clone)]
pub struct OtherRecord {
    /// Its values.
    pub values: Map<String, Value>,
    /// Its derivatives.
    pub derivatives: Map<String, Value>,
    /// Its weighted distance from the start values.
    pub distance: f64,
}

/// What `daelight init --json` prints when there is no start.
#[derive(Serialize, Debug)]
pub struct StartFailure {
    /// Name of the model.
    pub model: String,
    /// `conflict`, `singular` or `failure`.
    pub status: &'static str,
    /// The time of the start asked for.
    pub time: f64,
    /// The contradiction, if there is one.
    pub conflict: Option<ConflictRecord>,
    /// The singularity, if it is one.
    pub critical: Option<CriticalRecord>,
    /// The message, as in `check --json`.
    pub diagnostics: Vec<DiagnosticRecord>,
}

/// Conditions that cannot hold together.
#[derive(Serialize, Debug, Clone)]
pub struct ConflictRecord {
    /// The conditions.
    pub conditions: Vec<String>,
    /// The constraint that they break, or `null`.
    pub constraint: Option<String>,
    /// The equation it comes from, as written.
    pub from_equation: Option<String>,
    /// How often that was differentiated.
    pub times_differentiated: Option<usize>,
    /// What the constraint gives instead of 0, where the conditions determine it.
    pub value: Option<f64>,
    /// What can be freed, the smallest change first.
    pub remedies: Vec<RemedyRecord>,
}

/// A condition to drop.
#[derive(Serialize, Debug, Clone)]
pub struct RemedyRecord {
    /// The condition.
    pub condition: String,
    /// The value that its unknown then takes; `null` for an initial equation.
    pub value: Option<f64>,
}

/// A number with at most ten digits; rounding around zero is zero.
pub fn tidy_number(value: f64) -> String {
    if value.abs() < 1e-13 {
        return "0".to_string();
    }
    let rounded: f64 = format!("{value:.9e}").parse().unwrap_or(value);
    if (1e-5..1e10).contains(&rounded.abs()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// A condition in the user's names.
pub fn condition_text(system: &System, condition: &Condition) -> String {
    match condition.row {
        Row::Value { unknown, value } => {
            let name = &system.unknowns()[unknown].name;
            // What was given is shown as given, however small.
            let value = if value != 0.0 && value.abs() < 1e-13 {
                format!("{value:e}")
            } else {
                tidy_number(value)
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

impl StartReport {
    /// Collects the document of a start that was looked for from a guess.
    pub fn new(system: &System, start: &Start, guess: &[f64]) -> Self {
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
            let size = from.abs().max(to.abs()).max(1e-6);
            if (to - from).abs() > UNCHANGED * size {
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
        Self {
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
                .map(|(at, condition)| ConditionRecord {
                    text: condition_text(system, condition),
                    uses_freedom: freedom.map(|freedom| freedom.using.contains(&at)),
                })
                .collect(),
            adjusted,
            distance: point.distance,
            others: start
                .others
                .iter()
                .map(|other| OtherRecord {
                    values: derivatives(system, &other.jet, 0),
                    derivatives: derivatives(system, &other.jet, 1),
                    distance: other.distance,
                })
                .collect(),
            notes: notes(system, start),
        }
    }
}

fn notes(system: &System, start: &Start) -> Vec<String> {
    let mut notes = Vec::new();
    if start.beside_singular {
        notes.push(format!(
            "The start asked for is singular; this is the nearest regular one, at t = {}.",
            start.point.time
        ));
        if let Some(margin) = start.margin {
            notes.push(format!(
                "Its distance from singular: the smallest singular value of the system Jacobian's blocks is {margin:.1e} of what it is a hundredth away."
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
                start.condition_residual.max(1e-16)
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
    let nearer = start.point.distance * (1.0 - 1e-9);
    if start.others.iter().any(|other| other.distance < nearer) {
        notes.push(
            "A solution on another branch is closer to the start values; --all lists it."
                .to_string(),
        );
    }
    if start.point.attempt > 0 {
        notes.push(
            "The point was found from values beside the start values, not from these themselves."
                .to_string(),
        );
    }
    notes
}

impl StartFailure {
    /// The document of a failure.
    pub fn new(
        system: &System,
        status: &'static str,
        time: f64,
        conflict: Option<&Conflict>,
        passport: Option<&Passport>,
        diagnostic: DiagnosticRecord,
    ) -> Self {
        Self {
            model: system.name().to_string(),
            status,
            time,
            conflict: conflict.map(|conflict| conflict_record(system, conflict)),
            critical: passport.map(|passport| singularity(system, passport)),
            diagnostics: vec![diagnostic],
        }
    }
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

/// Values that differ by less are printed as the same.
const SAME: f64 = 1e-6;

/// The start as a page.
pub fn start_page(report: &StartReport, asked_for_all: bool) -> String {
    let mut page = format!(
        "{}: consistent values at t = {}\n",
        report.model, report.time
    );
    let number = |value: &Value| value.as_f64().map_or("–".to_string(), tidy_number);
    let mut header = vec!["unknown", "value", "derivative", "start"];
    let higher = report.higher.as_ref();
    let orders: Vec<String> = match higher.and_then(|map| map.values().next()) {
        Some(Value::Array(list)) => (2..2 + list.len())
            .map(|k| format!("derivative {k}"))
            .collect(),
        _ => Vec::new(),
    };
    header.extend(orders.iter().map(String::as_str));
    let mut rows = table(&header);
    for (name, value) in report.values.iter().take(MAX_LISTED) {
        let start = match report.adjusted.get(name) {
            Some(record) => format!("{} adjusted", number(&record["from"])),
            None => "kept".to_string(),
        };
        let mut row = vec![
            name.clone(),
            number(value),
            number(&report.derivatives[name]),
            start,
        ];
        if let Some(Value::Array(list)) = higher.and_then(|map| map.get(name)) {
            row.extend(list.iter().map(number));
        }
        rows.add_row(row);
    }
    page.push_str(&format!("{rows}\n"));
    if report.values.len() > MAX_LISTED {
        let more = report.values.len() - MAX_LISTED;
        page.push_str(&format!("  and {more} more; --json has them all\n"));
    }
    page.push('\n');
    for sentence in freedom_sentences(report) {
        page.push_str(&wrapped(&sentence));
    }
    let levels: Vec<String> = report
        .levels
        .iter()
        .map(|level| format!("{:.0e}", level.residual))
        .collect();
    page.push_str(&wrapped(&format!(
        "Largest relative residual of the equations and of their derivatives 1, 2, ...: {}.",
        levels.join(", ")
    )));
    if !report.adjusted.is_empty() {
        page.push_str(&wrapped(&format!(
            "{} adjusted, to the closest consistent point: distance {} in the differentiated components.",
            count(report.adjusted.len(), "start value"),
            short(report.distance)
        )));
    }
    if !report.others.is_empty() {
        if asked_for_all {
            page.push_str("\nOther solutions\n");
            let mut rows = table(&["distance", "values"]);
            for other in report.others.iter().take(MAX_LISTED) {
                let values = other.values.iter().take(MAX_LISTED);
                let number = |value: &Value| value.as_f64().map_or("–".to_string(), short);
                let is_same = |(name, value): (&String, &Value)| {
                    let here = report.values.get(name).and_then(Value::as_f64);
                    let pair = here.zip(value.as_f64());
                    pair.is_some_and(|(a, b)| (a - b).abs() <= SAME * (1.0 + a.abs()))
                };
                // A branch that begins at the same values goes another way.
                let by_rates = other.values.iter().all(is_same);
                let values: Vec<String> = values
                    .map(|(name, value)| {
                        let rate = match other.derivatives.get(name) {
                            Some(rate) if by_rates => format!(" with derivative {}", number(rate)),
                            _ => String::new(),
                        };
                        format!("{name} = {}{rate}", number(value))
                    })
                    .collect();
                rows.add_row([short(other.distance), values.join(", ")]);
            }
            page.push_str(&format!("{rows}\n"));
        } else {
            page.push_str(&wrapped(
                "Other solutions exist for these start values; --all lists those that are found.",
            ));
        }
    }
    if !report.notes.is_empty() {
        page.push_str("\nRemarks\n");
        for note in &report.notes {
            page.push_str(&wrapped(note));
        }
    }
    page
}

/// What was free and what used it up, as sentences.
pub fn freedom_sentences(report: &StartReport) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(dof) = report.dof {
        let using: Vec<&str> = report
            .conditions
            .iter()
            .filter(|condition| condition.uses_freedom == Some(true))
            .map(|condition| condition.text.as_str())
            .collect();
        let used = match using.len() {
            0 => String::new(),
            _ => format!("; used up by {}", using.join(", ")),
        };
        sentences.push(format!("{} of freedom{used}.", count(dof, "degree")));
    }
    sentences.push(match (report.n_free, report.free.is_empty()) {
        (0, _) => "Nothing is left free.".to_string(),
        (n, true) => format!("{} left free.", count(n, "value")),
        (n, false) => format!(
            "{} left free; fix for example {}.",
            count(n, "value"),
            report.free.join(", ")
        ),
    });
    sentences
}
