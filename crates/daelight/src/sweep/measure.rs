//! What is measured at each point of a sweep.

use crate::Reader;
use crate::solve::{NoRun, Solution};
use daelight_analysis::System;
use daelight_analysis::passport::{FactorZeros, Passport, PointVerdict};
use daelight_integrate::{BudgetKind, StopReason};
use daelight_lang::nearest;
use std::fmt;

/// Places within a step at which the greatest value is looked for.
const N_SAMPLES: usize = 8;

/// Steps of the search for the greatest value between two places; each takes a third off, to rounding.
const N_THIRDS: usize = 90;

/// A quantity of a model that is one number or word at given values of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Measure {
    /// The differentiation index at the start.
    Index,
    /// The degrees of freedom at the start.
    Dof,
    /// The number of real singular configurations: all, or those of a piece by number, from 1.
    SingularCount(Option<usize>),
    /// The time of the first singularity of a run.
    FirstSingularTime,
    /// The least singular value of the scaled blocks of the system Jacobian at the steps of a run.
    SigmaMin,
    /// Where a singular locus vanishes: the value of the one quantity that it depends on, which may be named.
    LocusZero(Option<String>),
    /// The value of an unknown at the end of a run.
    Final(String),
    /// The greatest value of an unknown during a run.
    Max(String),
    /// The least value of an unknown during a run.
    Min(String),
    /// The greatest size of an unknown during a run, whatever its sign.
    MaxAbs(String),
    /// How a run ended: success, singularity or failure.
    Status,
}

/// The words for measures, for help and suggestions.
const WORDS: [&str; 11] = [
    "index",
    "dof",
    "singular-count",
    "first-singular-time",
    "sigma-min",
    "locus-zero",
    "final:NAME",
    "max:NAME",
    "min:NAME",
    "max-abs:NAME",
    "status",
];

impl Measure {
    /// Reads a measure such as `index` or `final:x`.
    pub fn read(text: &str) -> Result<Self, String> {
        let (word, name) = match text.split_once(':') {
            Some((word, name)) => (
                word.trim(),
                Some(name.trim()).filter(|name| !name.is_empty()),
            ),
            None => (text.trim(), None),
        };
        let owned = || name.map(str::to_string);
        Ok(match (word, name) {
            ("index", None) => Self::Index,
            ("dof", None) => Self::Dof,
            ("singular-count", None) => Self::SingularCount(None),
            ("singular-count", Some(piece)) => match piece.parse() {
                Ok(piece) if piece > 0 => Self::SingularCount(Some(piece)),
                _ => return Err(format!("`{piece}` is not the number of a piece, such as 1")),
            },
            ("first-singular-time", None) => Self::FirstSingularTime,
            ("sigma-min", None) => Self::SigmaMin,
            ("locus-zero", _) => Self::LocusZero(owned()),
            ("final", Some(name)) => Self::Final(name.to_string()),
            ("max", Some(name)) => Self::Max(name.to_string()),
            ("min", Some(name)) => Self::Min(name.to_string()),
            ("max-abs", Some(name)) => Self::MaxAbs(name.to_string()),
            ("status", None) => Self::Status,
            ("final" | "max" | "min" | "max-abs", None) => {
                return Err(format!("`{text}` names no unknown: write {word}:NAME"));
            }
            _ => {
                let plain = WORDS.map(|word| word.trim_end_matches(":NAME"));
                return Err(match nearest(word, plain) {
                    Some(near) if near != word => {
                        format!("there is no measure `{text}`; did you mean {near}?")
                    }
                    _ if name.is_none() && !word.is_empty() && !WORDS.contains(&word) => format!(
                        "there is no measure `{word}`; for an unknown of this name write final:{word} or max:{word}"
                    ),
                    _ => format!("there is no measure `{text}`, only {}", WORDS.join(", ")),
                });
            }
        })
    }

    /// Whether a run is needed.
    pub(super) fn needs_run(&self) -> bool {
        self.unknown().is_some()
            || matches!(
                self,
                Self::FirstSingularTime | Self::SigmaMin | Self::Status
            )
    }

    /// Whether the analysis at the start is needed.
    pub(super) fn needs_passport(&self) -> bool {
        matches!(self, Self::Index | Self::Dof | Self::LocusZero(_))
    }

    /// Whether a run that came to its end without a finding tells it, done beside others or alone.
    pub(super) fn is_of_success(&self) -> bool {
        self.needs_run() && *self != Self::SigmaMin
    }

    /// Whether the whole run is looked at, not its end alone.
    pub(super) fn is_along(&self) -> bool {
        matches!(self, Self::Max(_) | Self::Min(_) | Self::MaxAbs(_))
    }

    /// The unknown that is looked at.
    pub(super) fn unknown(&self) -> Option<&str> {
        match self {
            Self::Final(name) | Self::Max(name) | Self::Min(name) | Self::MaxAbs(name) => {
                Some(name)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("index"),
            Self::Dof => f.write_str("dof"),
            Self::SingularCount(None) => f.write_str("singular-count"),
            Self::SingularCount(Some(piece)) => write!(f, "singular-count:{piece}"),
            Self::FirstSingularTime => f.write_str("first-singular-time"),
            Self::SigmaMin => f.write_str("sigma-min"),
            Self::LocusZero(None) => f.write_str("locus-zero"),
            Self::LocusZero(Some(quantity)) => write!(f, "locus-zero:{quantity}"),
            Self::Final(name) => write!(f, "final:{name}"),
            Self::Max(name) => write!(f, "max:{name}"),
            Self::Min(name) => write!(f, "min:{name}"),
            Self::MaxAbs(name) => write!(f, "max-abs:{name}"),
            Self::Status => f.write_str("status"),
        }
    }
}

/// What a measure gave.
#[derive(Clone, PartialEq, Debug)]
pub enum Measured {
    /// A finite number.
    Number(f64),
    /// A word.
    Word(String),
    /// Nothing; the reason of the row says why.
    Missing,
}

impl Measured {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }
}

/// A measure's answer, or why there is none.
pub(super) type Answer = Result<Measured, String>;

fn number(value: f64) -> Answer {
    if value.is_finite() {
        Ok(Measured::Number(value))
    } else {
        Err(format!("the value is {value}"))
    }
}

/// What the analysis at the start says.
pub(super) fn of_passport(measure: &Measure, passport: &Passport, zeros: &[FactorZeros]) -> Answer {
    if let Measure::LocusZero(quantity) = measure {
        return locus_zero(quantity.as_deref(), zeros);
    }
    let indices = passport.indices().ok_or_else(|| match &passport.verdict {
        PointVerdict::Singular { kind: Some(kind) } => {
            format!("the start is a singular point of kind {kind}")
        }
        PointVerdict::Singular { kind: None } => "the start is a singular point".to_string(),
        PointVerdict::Unknown { because } => because.clone(),
        PointVerdict::Regular => "the point has no index".to_string(),
    })?;
    match measure {
        Measure::Dof => number(indices.strangeness.n_differential as f64),
        _ => match indices.differentiation_index {
            Some(index) => number(index as f64),
            None => Err("the model is not uniquely solvable".to_string()),
        },
    }
}

/// The zero that the quantity of a locus can take: of the first locus with parameters, or of the quantity that is named.
fn locus_zero(quantity: Option<&str>, zeros: &[FactorZeros]) -> Answer {
    let is_meant = |found: &&FactorZeros| match quantity {
        Some(quantity) => found.quantity == quantity,
        None => found.has_parameters,
    };
    let found: Vec<&FactorZeros> = zeros.iter().filter(is_meant).collect();
    let Some(first) = found.first() else {
        let names: Vec<&str> = zeros.iter().map(|z| z.quantity.as_str()).collect();
        return Err(match (quantity, nearest(quantity.unwrap_or(""), names)) {
            (None, _) => "no singular locus depends on one quantity and parameters".to_string(),
            (Some(name), Some(near)) => {
                format!("no singular locus depends on {name} alone; one depends on {near}")
            }
            (Some(name), None) => format!("no singular locus depends on {name} alone"),
        });
    };
    let mut reachable: Vec<f64> = (found.iter())
        .filter(|other| other.quantity == first.quantity)
        .flat_map(|other| other.reachable())
        .collect();
    reachable.sort_by(f64::total_cmp);
    reachable.dedup();
    match reachable[..] {
        [zero] => number(zero),
        [] => {
            let all: Vec<String> = first.zeros.iter().map(|z| format!("{z:.6}")).collect();
            Err(match all.is_empty() {
                true => format!("{} has no real zero", first.factor),
                false => format!(
                    "{} would have to be {}, out of reach",
                    first.quantity,
                    all.join(" or ")
                ),
            })
        }
        _ => {
            let all: Vec<String> = reachable.iter().map(|z| format!("{z:.6}")).collect();
            let quantity = &first.quantity;
            Err(format!("several zeros: {quantity} = {}", all.join(", ")))
        }
    }
}

/// What a run says.
pub(super) fn of_run(measure: &Measure, system: &System, run: &Result<Solution, NoRun>) -> Answer {
    let solution = match run {
        Ok(solution) => solution,
        Err(_) if *measure == Measure::Status => return word("failure"),
        Err(no_run) => return Err(no_run_words(no_run)),
    };
    let end = Ending::of(solution);
    match measure {
        Measure::Status => word(end.status),
        Measure::FirstSingularTime => {
            let met = solution.singularities.first().map(|s| s.found.time);
            match met.or(end.singular_time) {
                Some(time) => number(time),
                None if end.status == "success" => Err(no_singularity(solution.reached())),
                None => Err(end.words),
            }
        }
        Measure::SigmaMin => sigma_min(solution),
        _ if end.status != "success" => Err(end.words),
        _ => of_values(measure, system, solution.reader(system)),
    }
}

/// What a run says that was done beside others and came to its end, along which `reader` reads.
pub(super) fn of_success(measure: &Measure, system: &System, reader: Reader<'_>) -> Answer {
    match measure {
        Measure::Status => word("success"),
        Measure::FirstSingularTime => Err(no_singularity(reached(&reader))),
        _ => of_values(measure, system, reader),
    }
}

fn no_singularity(reached: f64) -> String {
    format!("no singularity up to t = {reached}")
}

/// Where a run ended.
fn reached(reader: &Reader<'_>) -> f64 {
    reader.trajectory.span().map_or(f64::NAN, |(_, end)| end)
}

/// What the values of one unknown along a run say.
fn of_values(measure: &Measure, system: &System, reader: Reader<'_>) -> Answer {
    match measure {
        Measure::Final(name) => {
            let end = reached(&reader);
            number(Values::new(system, reader, name)?.at(end)?)
        }
        Measure::Max(name) => greatest(Values::new(system, reader, name)?, |x| x),
        Measure::Min(name) => {
            // The greatest value of the negative; without the sign of a zero.
            let least = greatest(Values::new(system, reader, name)?, |x| -x)?;
            least
                .number()
                .map_or(Ok(Measured::Missing), |x| number(0.0 - x))
        }
        Measure::MaxAbs(name) => greatest(Values::new(system, reader, name)?, f64::abs),
        _ => Err(format!("{measure} is not a matter of runs")),
    }
}

fn word(word: &str) -> Answer {
    Ok(Measured::Word(word.to_string()))
}

fn place_of(system: &System, name: &str) -> Result<usize, String> {
    let place = system.unknowns().iter().position(|u| u.name == name);
    place.ok_or_else(|| format!("the model has no unknown `{name}`"))
}

/// One unknown along a run.
struct Values<'a> {
    reader: Reader<'a>,
    place: usize,
}

impl<'a> Values<'a> {
    fn new(system: &System, reader: Reader<'a>, name: &str) -> Result<Self, String> {
        let place = place_of(system, name)?;
        Ok(Self { reader, place })
    }

    fn at(&mut self, time: f64) -> Result<f64, String> {
        match self.reader.values(time) {
            Ok(Some(values)) => Ok(values[self.place]),
            Ok(None) => Err(format!("t = {time} is outside the run")),
            Err(fault) => Err(format!("no value at t = {time}: {}", fault.kind)),
        }
    }
}

/// The greatest value of something of an unknown: the best of some places in every step, then a search beside it.
fn greatest(mut values: Values<'_>, of: impl Fn(f64) -> f64) -> Answer {
    let segments = values.reader.trajectory.segments();
    let mut times: Vec<f64> = segments.first().map(|s| s.start).into_iter().collect();
    for segment in segments {
        let step = segment.end - segment.start;
        let part = |k: usize| segment.start + step * k as f64 / N_SAMPLES as f64;
        times.extend((1..N_SAMPLES).map(part));
        times.push(segment.end);
    }
    let mut best: Option<(usize, f64)> = None;
    for (at, &time) in times.iter().enumerate() {
        let value = of(values.at(time)?);
        if best.is_none_or(|(_, most)| value > most) {
            best = Some((at, value));
        }
    }
    let (at, most) = best.ok_or("the run has no step")?;
    let mut left = times[at.saturating_sub(1)];
    let mut right = times[(at + 1).min(times.len() - 1)];
    let mut found = most;
    for _ in 0..N_THIRDS {
        let (a, b) = (left + (right - left) / 3.0, right - (right - left) / 3.0);
        if a == left || b == right {
            break;
        }
        let (low, high) = (of(values.at(a)?), of(values.at(b)?));
        found = found.max(low).max(high);
        if low < high {
            left = a;
        } else {
            right = b;
        }
    }
    number(found)
}

fn sigma_min(solution: &Solution) -> Answer {
    let mut inspector = solution
        .inspector()
        .ok_or("the structure does not hold along the run")?;
    let trajectory = &solution.run.trajectory;
    let mut coefficients = vec![0.0; inspector.n_coefficients()];
    let mut least = f64::INFINITY;
    let segments = trajectory.segments().iter();
    for time in segments
        .map(|segment| segment.start)
        .chain([solution.reached()])
    {
        if !trajectory.extrapolate(time, &mut coefficients) {
            continue;
        }
        let inspection = inspector.inspect(time, &coefficients);
        let inspection = inspection.map_err(|failure| format!("at t = {time}: {failure}"))?;
        if inspection.sigma_min.is_nan() {
            return Err("a block is too large".to_string());
        }
        least = least.min(inspection.sigma_min);
    }
    number(least)
}

/// How a run ended.
struct Ending {
    status: &'static str,
    words: String,
    /// The time of a singularity that ended it without being met.
    singular_time: Option<f64>,
}

impl Ending {
    fn of(solution: &Solution) -> Self {
        let reached = solution.reached();
        let failure = |words: String| Self {
            status: "failure",
            words,
            singular_time: None,
        };
        let singular = |words: String, time: f64| Self {
            status: "singularity",
            words,
            singular_time: Some(time),
        };
        match &solution.run.stop {
            StopReason::Stopped { time } if !solution.broken.is_empty() => failure(format!(
                "an assertion of the model fails at t = {time}: {}",
                solution.broken.join("; ")
            )),
            StopReason::Finished | StopReason::Stopped { .. } => Self {
                status: "success",
                words: String::new(),
                singular_time: None,
            },
            StopReason::Singularity => {
                let met = solution.singularities.last().map(|s| s.found.time);
                let time = met.unwrap_or(reached);
                singular(format!("singularity at t = {time}"), time)
            }
            StopReason::FiniteEscape { time, .. } => {
                singular(format!("grows without bound towards t = {time}"), *time)
            }
            StopReason::IndexChange { time, .. } => {
                singular(format!("the index changes at t = {time}"), *time)
            }
            StopReason::ErrorsGrow { time, .. } => {
                failure(format!("errors take over towards t = {time}"))
            }
            StopReason::Interrupted => failure("interrupted".to_string()),
            StopReason::AccuracyLost { time, .. } => {
                failure(format!("the accuracy cannot be kept at t = {time}"))
            }
            StopReason::Rewriting { time, .. } => failure(format!(
                "the rewritten equations are singular at t = {time}, perhaps not the model"
            )),
            StopReason::Chattering {
                time,
                leads_back: true,
                ..
            } => failure(format!("the model chatters at t = {time}")),
            StopReason::Chattering { time, .. } => {
                failure(format!("no solution goes on from the switch at t = {time}"))
            }
            StopReason::Meeting { time, .. } => {
                failure(format!("two solutions meet at t = {time} and end"))
            }
            StopReason::Budget(kind) => {
                let what = match kind {
                    BudgetKind::Steps => "steps are",
                    BudgetKind::Time => "time is",
                    BudgetKind::Memory => "memory is",
                };
                failure(format!("the {what} used up at t = {reached}"))
            }
            StopReason::Failed { time, failure: why } => {
                failure(format!("the run ended at t = {time}: {why}"))
            }
            other => failure(format!("the run ended at t = {reached}: {other:?}")),
        }
    }
}

/// Why there is no run, in a few words.
fn no_run_words(no_run: &NoRun) -> String {
    match no_run {
        NoRun::Fault(diagnostic) => diagnostic.message.clone(),
        NoRun::NotSquare => "equations and unknowns do not match".to_string(),
        NoRun::NoStart(_) => "no consistent start was found".to_string(),
        NoRun::SingularStart(_) => "the start is a singular point".to_string(),
        NoRun::Undetermined(_) => "the equations leave unknowns free".to_string(),
        NoRun::Equations(why) => why.clone(),
        NoRun::Start(error) => error.to_string(),
        NoRun::BeyondData { input, .. } => format!("the data of `{input}` do not cover the run"),
    }
}

/// Why a run did not succeed, for its status.
pub(super) fn reason_of_run(run: &Result<Solution, NoRun>) -> Option<String> {
    match run {
        Err(no_run) => Some(no_run_words(no_run)),
        Ok(solution) => Some(Ending::of(solution).words).filter(|words| !words.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_measures_read_back() {
        for word in [
            "index",
            "dof",
            "singular-count",
            "singular-count:2",
            "first-singular-time",
            "sigma-min",
            "locus-zero",
            "locus-zero:cos(x3)",
            "final:p[2]",
            "max:der(x)",
            "min:y",
            "max-abs:v",
            "status",
        ] {
            let measure = Measure::read(word).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(measure.to_string(), word);
        }
        for (word, reason) in [
            ("idnex", "did you mean index?"),
            ("final", "names no unknown"),
            ("final:", "names no unknown"),
            ("index:x", "there is no measure"),
            ("singular-count:0", "not the number of a piece"),
            ("", "there is no measure"),
        ] {
            let error = Measure::read(word).expect_err(word);
            assert!(error.contains(reason), "{word}: {error}");
        }
    }
}
