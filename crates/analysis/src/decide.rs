//! The final rule: an index is reported only where independent deciders agree, and otherwise the reason why not.
//!
//! Numbers in parentheses refer to `docs/theory/indices.md`.

use crate::array::{ArrayAnalysis, DerivativeArray};
use crate::chain::N_NEIGHBOURS;
use crate::dense::Dense;
use crate::outcome::{Because, Indices, Stage, Strangeness};
use crate::reduction::{Conclusion, Reduction};
use crate::scaling::Scaling;
use crate::series::MatrixSeries;
use daelight_linalg::{DdMat, Mat};

/// The worst ratio a reduction must exceed to be believed alone.
const REDUCTION_ALONE: f64 = 1e5;
/// The worst ratio that reductions in both scalings must exceed to be believed without the array.
const REDUCTION_TWICE: f64 = 1e4;
/// The smallest singular value an array must exceed to be believed alone.
const ARRAY_ALONE: f64 = 1e-9;

/// Supplies the series at the i-th of a few neighbours of the point, if it can be had.
pub type Neighbours<'a> = &'a dyn Fn(usize) -> Option<MatrixSeries>;
/// Supplies the series at the point in double-double, if it can be had.
pub type Sharper<'a> = &'a dyn Fn() -> Option<MatrixSeries<DdMat>>;

/// A point whose indices are asked for.
#[derive(Clone, Copy)]
pub struct IndexQuestion<'a> {
    /// E and B along the jet at the point. Order mu + 2 is needed at least, one more is better.
    pub series: &'a MatrixSeries,
    /// Relative error of the coefficients beyond rounding, the residual of the jet included.
    pub relative_error: f64,
    /// Sizes of the unknowns, where known.
    pub nominal: Option<&'a [f64]>,
    /// The same system beside the point, with jets and time moved by about 1e-2: confirms or refutes a critical point, and
    /// an index. Where ranks hold on the constraints only, the jets must be consistent; `None` if they cannot be had.
    pub neighbour: Neighbours<'a>,
    /// Series beside the point off the constraints, for the sizes that entries usually have; `None` to take the neighbours. An
    /// entry that vanishes on the constraints is rounding at all consistent jets, and would pass for one in large units.
    pub off_constraints: Option<Neighbours<'a>>,
    /// The same series with twice the digits, asked for only if doubles decide nothing. Rounded doubles extended by zeros
    /// would not help: their errors grow in the same way.
    pub sharper: Sharper<'a>,
}

impl<'a> IndexQuestion<'a> {
    /// Asks about exact coefficients, with neither neighbours nor more digits at hand.
    pub fn new(series: &'a MatrixSeries) -> Self {
        Self {
            series,
            relative_error: 0.0,
            nominal: None,
            neighbour: &|_| None,
            off_constraints: None,
            sharper: &|| None,
        }
    }

    /// The series from which usual sizes are taken.
    fn for_sizes(&self) -> Vec<MatrixSeries> {
        let supply = self.off_constraints.unwrap_or(self.neighbour);
        (0..N_NEIGHBOURS).filter_map(supply).collect()
    }
}

/// The indices at a regular point and what they rest on.
#[derive(Clone, Debug)]
pub struct Answer {
    /// All index notions.
    pub indices: Indices,
    /// Which deciders agreed on it.
    pub support: Support,
    /// Orthonormal basis of the consistent directions, n x (d + u); `None` if only the array decided.
    pub consistent_directions: Option<Mat>,
}

/// Names the deciders an answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// Reduction and derivative array agree.
    ReductionAndArray,
    /// The reduction, with clear gaps; the array abstains.
    Reduction,
    /// The array, with clear singular values; the reduction abstains.
    Array,
    /// The reduction in double-double; doubles decided nothing.
    DoubleDouble,
}

/// What is decided about a point.
#[derive(Clone, Debug)]
pub enum IndexVerdict {
    /// The ranks are constant near the point, so all indices exist.
    Regular(Answer),
    /// A rank changes at the point, confirmed by a neighbour: no index exists here.
    Critical {
        /// Reduction level of the change.
        level: usize,
        /// Which rank changes.
        stage: Stage,
        /// The rank at the point.
        rank: usize,
        /// The rank beside it.
        rank_nearby: usize,
        /// The indices beside the point, where decided.
        nearby: Option<Indices>,
    },
    /// Undecided.
    Unknown {
        /// Why.
        because: Because,
    },
}

impl IndexVerdict {
    /// Whether more digits or other neighbours may lead to another outcome.
    pub(crate) fn may_change(&self) -> bool {
        match self {
            Self::Regular(_) => false,
            Self::Critical { .. } => true,
            Self::Unknown { because } => {
                !matches!(because, Because::NotFinite | Because::SeriesTooShort { .. })
            }
        }
    }

    /// The indices at a regular point.
    pub fn indices(&self) -> Option<&Indices> {
        match self {
            Self::Regular(answer) => Some(&answer.indices),
            _ => None,
        }
    }
}

/// An outcome with the evidence of every decider that was asked.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The outcome.
    pub outcome: IndexVerdict,
    /// The scaling the first three deciders worked in.
    pub scaling: Scaling,
    /// The reduction.
    pub reduction: Reduction,
    /// The derivative array.
    pub array: ArrayAnalysis,
    /// The reduction in the other scaling.
    pub second_opinion: Reduction,
    /// The reduction in double-double, if it was asked.
    pub sharper: Option<Reduction>,
}

/// Decides all index notions at a point, by the rule (19).
///
/// A jet that crosses a critical set is noticed; one that stays inside it has constant ranks and looks regular, unless
/// neighbours say otherwise. Without neighbours ask [`crate::chain::kind_of_point`] or [`compare_with_random_jets`] before
/// calling a point ordinary.
///
/// ```
/// use daelight_analysis::{IndexQuestion, MatrixSeries, decide};
/// use daelight_linalg::Mat;
/// // x1' = x2, 0 = x1 + f(t): differentiate twice.
/// let e = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 0.0]]);
/// let b = Mat::from_rows(&[&[0.0, -1.0], &[1.0, 0.0]]);
/// let series = MatrixSeries::constant(e, b, 4)?;
/// let decision = decide(&IndexQuestion::new(&series));
/// let indices = decision.outcome.indices().expect("clear ranks");
/// assert_eq!(indices.differentiation_index, Some(2));
/// assert_eq!(indices.characteristic_values, Some(vec![1, 1, 2]));
/// assert_eq!(indices.strangeness.to_string(), "mu = 1, d = 0, a = 2, u = 0, v = 0");
/// # Ok::<(), daelight_analysis::series::ShapeError>(())
/// ```
pub fn decide(question: &IndexQuestion<'_>) -> Decision {
    let (series, error) = (question.series, question.relative_error);
    let Views {
        scaling,
        reduction,
        second_opinion,
        contested,
    } = Views::new(question, series, error);
    let array = ArrayAnalysis::new(&DerivativeArray::new(&scaling.apply(series), error));

    let in_doubles = if contested {
        Err(Because::ScalingsDisagree)
    } else {
        in_doubles(&reduction, &array, &second_opinion)
    };
    let mut outcome = match in_doubles {
        Ok((indices, _)) if contradicted(question, &indices) => IndexVerdict::Unknown {
            because: Because::NeighboursDisagree,
        },
        Ok((indices, support)) => IndexVerdict::Regular(Answer {
            indices,
            support,
            consistent_directions: reduction.consistent_directions(&scaling),
        }),
        Err(because) => IndexVerdict::Unknown { because },
    };
    if let Conclusion::Critical { level, stage } = reduction.conclusion {
        outcome = confirm(question, &scaling, &reduction, level, stage);
    }
    let mut sharper = None;
    // A critical point is looked at again as well: a change close by passes for one at the point.
    if outcome.may_change()
        && let Some(series) = (question.sharper)()
    {
        let (look, looked) = in_double_double(question, &series);
        outcome = reconciled(outcome, looked, &look);
        sharper = Some(look);
    }
    Decision {
        outcome,
        scaling,
        reduction,
        array,
        second_opinion,
        sharper,
    }
}

/// The reduction in units that do not hang on the point, and the second opinion on it.
struct Views {
    scaling: Scaling,
    reduction: Reduction,
    second_opinion: Reduction,
    /// Two scalings lead to different answers and nothing tells which is right.
    contested: bool,
}

impl Views {
    /// Scales by S if a balance of all entries leads to the same, and otherwise by the sizes usual nearby (rule 0 of (19)).
    fn new<M: Dense>(question: &IndexQuestion<'_>, series: &MatrixSeries<M>, error: f64) -> Self {
        let nominal = question.nominal;
        let scaling = Scaling::by_low_orders(series, nominal);
        let reduction = Reduction::new(&scaling.apply(series), error);
        let by_balance = balanced_alone(series, nominal, error);
        let second = |scaling: Scaling| Reduction::new(&scaling.apply(series), error);
        let same = match (&reduction.conclusion, &by_balance.conclusion) {
            (Conclusion::Unknown(_), _) | (_, Conclusion::Unknown(_)) => false,
            (one, other) => one == other,
        };
        let beside = match same {
            true => Vec::new(),
            false => question.for_sizes(),
        };
        if beside.len() >= 2 {
            let scaling = Scaling::balanced(series, &beside, nominal);
            return Self {
                reduction: Reduction::new(&scaling.apply(series), error),
                second_opinion: second(scaling.and_all_orders(series)),
                scaling,
                contested: false,
            };
        }
        Self {
            contested: !same && reduction.regular().is_some() && by_balance.regular().is_some(),
            second_opinion: second(Scaling::by_all_orders(series, nominal)),
            scaling,
            reduction,
        }
    }
}

/// The reduction after a balance of the entries of one series.
fn balanced_alone<M: Dense>(
    series: &MatrixSeries<M>,
    nominal: Option<&[f64]>,
    error: f64,
) -> Reduction {
    let scaling = Scaling::balanced::<M, Mat>(series, &[], nominal);
    Reduction::new(&scaling.apply(series), error)
}

/// True if neighbours have indices, and none of them these (rule 4a of (19)).
///
/// Beside a regular point all indices are the same. A value that vanishes at a critical point very close by can pass for
/// noise at the point; at the neighbours it cannot.
fn contradicted(question: &IndexQuestion<'_>, indices: &Indices) -> bool {
    let (nominal, error) = (question.nominal, question.relative_error);
    let beside: Vec<MatrixSeries> = (0..N_NEIGHBOURS)
        .filter_map(|i| (question.neighbour)(i))
        .collect();
    let usual = Scaling::balanced(question.series, &question.for_sizes(), nominal);
    let mut differs = false;
    for series in &beside {
        for scaling in [&Scaling::by_low_orders(series, nominal), &usual] {
            match Reduction::new(&scaling.apply(series), error).regular() {
                Some(found) if found == indices => return false,
                // Units of one series alone can mislead; only the usual ones contradict.
                Some(_) => differs |= std::ptr::eq(scaling, &usual),
                None => {}
            }
        }
    }
    differs
}

/// Rules 2 to 4 of (19).
fn in_doubles(
    reduction: &Reduction,
    array: &ArrayAnalysis,
    second_opinion: &Reduction,
) -> Result<(Indices, Support), Because> {
    let second = second_opinion.regular();
    match (&reduction.conclusion, &array.conclusion) {
        (Conclusion::Regular(indices), _) if second.is_some_and(|other| other != indices) => {
            Err(Because::ScalingsDisagree)
        }
        (Conclusion::Regular(indices), Ok(strangeness)) => {
            if indices.strangeness == *strangeness {
                Ok((indices.clone(), Support::ReductionAndArray))
            } else {
                Err(Because::MethodsDisagree)
            }
        }
        (Conclusion::Regular(indices), Err(_)) => {
            // Both scalings agree, or one of them abstains: rule 2 has excluded the rest.
            let found = reduction.worst_ratio();
            let both =
                second.is_some() && second_opinion.worst_ratio().min(found) > REDUCTION_TWICE;
            if found > REDUCTION_ALONE || both {
                Ok((indices.clone(), Support::Reduction))
            } else {
                Err(Because::WeakEvidence { found })
            }
        }
        (Conclusion::Unknown(because @ Because::PoorGap { .. }), Ok(strangeness)) => {
            // The array gives the strangeness quantities; the rest follows from the levels of the second opinion.
            let found = array.smallest_kept();
            match second {
                Some(other) if other.strangeness != *strangeness => Err(Because::ScalingsDisagree),
                Some(other) if found > ARRAY_ALONE => Ok((other.clone(), Support::Array)),
                None if found > ARRAY_ALONE => {
                    Ok((indices_of_array(array, *strangeness), Support::Array))
                }
                _ => Err(*because),
            }
        }
        // A reduction that saw too few coefficients, or a rank that may move, leaves nothing to the array: its ranks are
        // those of the point alone.
        (Conclusion::Unknown(because), _) => Err(*because),
        (Conclusion::Critical { level, .. }, _) => {
            Err(Because::CriticalUnconfirmed { level: *level })
        }
    }
}

/// All notions from the array alone, where c_l and w_l are the growth of a_l and v_l.
fn indices_of_array(array: &ArrayAnalysis, strangeness: Strangeness) -> Indices {
    let (d, a) = (strangeness.n_differential, strangeness.n_algebraic);
    let (u, v) = (strangeness.n_free, strangeness.n_redundant);
    let n_levels = if a + v == 0 { 0 } else { strangeness.index + 1 };
    let (mut a_before, mut v_before) = (0, 0);
    let (constraints, redundant): (Vec<usize>, Vec<usize>) = array
        .levels
        .iter()
        .take(n_levels)
        .map(|level| {
            let growth = (level.n_algebraic - a_before, level.n_redundant - v_before);
            (a_before, v_before) = (level.n_algebraic, level.n_redundant);
            growth
        })
        .unzip();
    Indices::from_levels((d + a + v, d + a + u), d, u, &constraints, &redundant)
}

/// Rule 1 of (19): a critical point is one whose neighbours have another rank at the same level.
fn confirm(
    question: &IndexQuestion<'_>,
    scaling: &Scaling,
    reduction: &Reduction,
    level: usize,
    stage: Stage,
) -> IndexVerdict {
    let unconfirmed = IndexVerdict::Unknown {
        because: Because::CriticalUnconfirmed { level },
    };
    let Some(rank) = reduction.rank(level, stage) else {
        return unconfirmed;
    };
    for i in 0..N_NEIGHBOURS {
        let Some(series) = (question.neighbour)(i) else {
            continue;
        };
        // In its own units, or else in those of the point.
        for scaling in [&Scaling::by_low_orders(&series, question.nominal), scaling] {
            let beside = Reduction::new(&scaling.apply(&series), question.relative_error);
            if let Some(rank_nearby) = beside.rank(level, stage)
                && rank_nearby > rank
            {
                return IndexVerdict::Critical {
                    level,
                    stage,
                    rank,
                    rank_nearby,
                    nearby: beside.regular().cloned(),
                };
            }
        }
    }
    unconfirmed
}

/// Values that double-doubles see and doubles cannot: a point given in doubles is not known that well.
const BELOW_DOUBLES: f64 = 1e-12;

/// The outcome after a second look. A confirmed rank change stands, unless the digits it lacked clearly refute it.
fn reconciled(first: IndexVerdict, second: IndexVerdict, look: &Reduction) -> IndexVerdict {
    let IndexVerdict::Critical { level, stage, .. } = first else {
        return second;
    };
    match &second {
        IndexVerdict::Critical {
            level: other,
            stage: other_stage,
            ..
        } if (*other, *other_stage) == (level, stage) => second,
        IndexVerdict::Critical { .. } => IndexVerdict::Unknown {
            because: Because::PrecisionsDisagree { level },
        },
        IndexVerdict::Unknown { .. } => first,
        IndexVerdict::Regular(_) => {
            let kept = look.smallest_kept(level, stage);
            if kept.is_some_and(|kept| kept < BELOW_DOUBLES) {
                first
            } else {
                IndexVerdict::Unknown {
                    because: Because::PrecisionsDisagree { level },
                }
            }
        }
    }
}

/// The second look: both scalings of the reduction in double-double must agree.
fn in_double_double(
    question: &IndexQuestion<'_>,
    series: &MatrixSeries<DdMat>,
) -> (Reduction, IndexVerdict) {
    // The error given is that of the doubles; the sharper coefficients are taken as right to their own rounding.
    let Views {
        scaling,
        reduction,
        second_opinion: second,
        contested,
    } = Views::new(question, series, 0.0);
    let found = reduction.worst_ratio();
    let outcome = match (&reduction.conclusion, second.regular()) {
        (Conclusion::Regular(indices), Some(other)) if indices == other && !contested => {
            if contradicted(question, indices) {
                IndexVerdict::Unknown {
                    because: Because::NeighboursDisagree,
                }
            } else if found > REDUCTION_ALONE {
                IndexVerdict::Regular(Answer {
                    indices: indices.clone(),
                    support: Support::DoubleDouble,
                    consistent_directions: reduction.consistent_directions(&scaling),
                })
            } else {
                IndexVerdict::Unknown {
                    because: Because::WeakEvidence { found },
                }
            }
        }
        (Conclusion::Regular(_), _) => IndexVerdict::Unknown {
            because: Because::ScalingsDisagree,
        },
        (Conclusion::Critical { level, stage }, _) => {
            confirm(question, &scaling, &reduction, *level, *stage)
        }
        (Conclusion::Unknown(because), _) => IndexVerdict::Unknown { because: *because },
    };
    (reduction, outcome)
}

/// How the answer at a point compares with the answer at random jets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same: the point is an ordinary one.
    Usual,
    /// The point is regular along its jet, but random jets have other indices. It lies inside a critical set, or ranks hold
    /// on the constraints only; find out which before reporting either answer.
    Special {
        /// The indices at random jets.
        usual: Indices,
    },
    /// The point has no indices, or random jets do not agree on theirs.
    Undecided,
}

/// Compares an outcome with the generic answer, that of [`N_RANDOM_JETS`] random jets (rule 6 of (19)).
///
/// `jet(i)` supplies the series at the i-th random jet, of size one and not consistent, at a time moved as well; `None` where
/// it cannot be evaluated. At least two must decide, and all that do must agree.
pub fn compare_with_random_jets(outcome: &IndexVerdict, jet: Neighbours<'_>) -> Comparison {
    let Some(here) = outcome.indices() else {
        return Comparison::Undecided;
    };
    let answers: Vec<Indices> = (0..N_RANDOM_JETS)
        .filter_map(|i| {
            decide(&IndexQuestion::new(&jet(i)?))
                .outcome
                .indices()
                .cloned()
        })
        .collect();
    match answers.split_first() {
        Some((usual, rest)) if !rest.is_empty() && rest.iter().all(|other| other == usual) => {
            if usual == here {
                Comparison::Usual
            } else {
                Comparison::Special {
                    usual: usual.clone(),
                }
            }
        }
        _ => Comparison::Undecided,
    }
}

/// Random jets asked for the generic answer.
pub const N_RANDOM_JETS: usize = 3;
