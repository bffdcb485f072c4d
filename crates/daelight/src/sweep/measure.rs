//! What is measured at each point of a sweep.

use daelight_analysis::passport::{FactorZeros, Passport, PointVerdict};
use daelight_lang::nearest;
use std::fmt;

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
    /// The value of an unknown, or of an expression, at the end of a run.
    Final(String),
    /// The greatest value during a run.
    Max(String),
    /// The least value during a run.
    Min(String),
    /// The greatest size during a run, whatever the sign.
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
    "final:EXPR",
    "max:EXPR",
    "min:EXPR",
    "max-abs:EXPR",
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
                return Err(format!(
                    "`{text}` names no quantity: write {word}:x, or {word}:x - 2*y"
                ));
            }
            _ => {
                let plain = WORDS.map(|word| word.trim_end_matches(":EXPR"));
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
        self.quantity().is_some()
            || matches!(
                self,
                Self::FirstSingularTime | Self::SigmaMin | Self::Status
            )
    }

    /// Whether the analysis at the start is needed.
    pub(super) fn needs_passport(&self) -> bool {
        matches!(self, Self::Index | Self::Dof | Self::LocusZero(_))
    }

    /// Whether a run alone tells it, done beside others, alone or with events, without the equations along it.
    pub(super) fn is_told_by_run(&self) -> bool {
        self.needs_run() && *self != Self::SigmaMin
    }

    /// Whether the whole run is looked at, not its end alone.
    pub(super) fn is_along(&self) -> bool {
        matches!(self, Self::Max(_) | Self::Min(_) | Self::MaxAbs(_))
    }

    /// The unknown or expression that is looked at.
    pub(super) fn quantity(&self) -> Option<&str> {
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

pub(super) fn number(value: f64) -> Answer {
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
            "max:m*v^2/2 + m*g*y[1]",
            "status",
        ] {
            let measure = Measure::read(word).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(measure.to_string(), word);
        }
        for (word, reason) in [
            ("idnex", "did you mean index?"),
            ("final", "names no quantity"),
            ("final:", "names no quantity"),
            ("index:x", "there is no measure"),
            ("singular-count:0", "not the number of a piece"),
            ("", "there is no measure"),
        ] {
            let error = Measure::read(word).expect_err(word);
            assert!(error.contains(reason), "{word}: {error}");
        }
    }
}
