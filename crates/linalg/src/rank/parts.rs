//! Rules that compare each value with a size known beforehand: its usual size, the largest value, or 1.
//!
//! They share one way of counting: values up to `zero` parts of their size are zero, values from `clear` parts on are not,
//! and a value between the two leaves the rank unknown.

use super::{Doubt, GapRule, Magnitudes, RankDecision, RankRule, Verdict, prepare};

/// Backward error, relative to its terms, with which the equations of a consistent point hold: 360 units of rounding.
const HOLDS: f64 = 4e-14;

/// Counts each value against the size it usually has, for a matrix whose entries depend on a point.
///
/// What is small at all points is a matter of units, and what is small at this point alone makes it singular. A point where
/// a matrix is singular is known only to the root of the rounding with which its equations hold (a fold: the equations are
/// flat there), so a value is zero below 50 roots of that, 1e-5 of its usual size, and clear above ten times as much. A
/// value that is rounding at all points is zero.
///
/// ```
/// use daelight_linalg::{RankRule, ShareRule, Magnitudes};
/// let usual = vec![3.0, 1e-4];
/// // 1e-4 is usual here, so the matrix is regular although its condition is 3e4 and its least value small.
/// let here = ShareRule::new(usual.clone()).decide(vec![2.0, 0.9e-4], Magnitudes::Singular);
/// assert_eq!(here.decided(), Some(2));
/// let there = ShareRule::new(usual).decide(vec![2.0, 1e-11], Magnitudes::Singular);
/// assert_eq!(there.decided(), Some(1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ShareRule {
    /// Usual sizes of the values, sorted as they are: largest first.
    usual: Vec<f64>,
}

impl ShareRule {
    /// Parts of the largest value up to which a usual size is rounding. Measured on blocks of up to 400 unknowns, rows and
    /// columns brought to size 1; a block of condition above 1e13 everywhere counts as singular everywhere.
    pub const NOISE: f64 = 1e-13;
    /// Values from this many times the largest zero on are clear.
    const BAND: f64 = 10.0;

    /// Part of the usual size up to which a value is zero.
    pub fn zero() -> f64 {
        50.0 * HOLDS.sqrt()
    }

    /// The rule for values of these usual sizes.
    pub fn new(mut usual: Vec<f64>) -> Self {
        usual.sort_by(|a, b| b.total_cmp(a));
        Self { usual }
    }

    /// The rule for values whose usual sizes are the medians of lists seen at other points.
    pub fn of_lists(lists: &[Vec<f64>], n: usize) -> Self {
        let median = |k: usize| {
            let mut sizes: Vec<f64> = lists.iter().filter_map(|l| l.get(k)).copied().collect();
            sizes.sort_by(f64::total_cmp);
            sizes.get(sizes.len() / 2).copied().unwrap_or(1.0)
        };
        Self::new((0..n).map(median).collect())
    }

    /// Each value of a decision by this rule as a share of its usual size.
    pub fn shares(&self, decision: &RankDecision) -> Vec<f64> {
        shares(&self.usual, &decision.values, decision.reference)
    }
}

fn shares(usual: &[f64], values: &[f64], reference: f64) -> Vec<f64> {
    let usual = usual.iter().copied().chain(std::iter::repeat(1.0));
    let share = |(value, usual): (&f64, f64)| {
        if usual <= ShareRule::NOISE * reference {
            0.0
        } else {
            value / usual
        }
    };
    values.iter().zip(usual).map(share).collect()
}

impl RankRule for ShareRule {
    fn decide(&self, values: Vec<f64>, kind: Magnitudes) -> RankDecision {
        // Matrices whose entries were brought to size 1: what vanishes here altogether still has a size to compare with.
        let largest = values.iter().copied().fold(1.0, f64::max);
        let values = match prepare(values, kind, largest) {
            Ok(values) => values,
            Err(decision) => return *decision,
        };
        let parts = shares(&self.usual, &values, largest);
        let zero = Self::zero();
        count(values, &parts, kind, largest, zero, Self::BAND * zero)
    }
}

/// Counts the values above a part of the largest one, or of a reference given.
///
/// For matrices that are solved with rather than judged: how many directions a step, a projector or a choice of unknowns can
/// rely on. `zero` is the largest part that is taken for zero; it is the caller's, since it says how much amplification of
/// errors the caller's use allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConditionRule {
    /// What values are parts of; the largest of them where it is `None`.
    pub reference: Option<f64>,
    /// Parts up to here are zero.
    pub zero: f64,
    /// Parts from here on are not; a value between the two leaves the rank unknown.
    pub clear: f64,
    /// Least ratio between the smallest value kept and the largest dropped that decides.
    pub least_ratio: f64,
}

impl ConditionRule {
    /// The rule that cuts at a part of the largest value, whatever lies beside the cut.
    pub fn new(zero: f64) -> Self {
        Self {
            reference: None,
            zero,
            clear: zero,
            least_ratio: 1.0,
        }
    }

    /// The same with this reference in place of the largest value.
    pub fn of(reference: f64, zero: f64) -> Self {
        Self {
            reference: Some(reference),
            ..Self::new(zero)
        }
    }

    /// The same that abstains when a value lies between the cut and `clear`, or when the cut is no gap of `least_ratio`.
    pub fn with_band(self, clear: f64, least_ratio: f64) -> Self {
        Self {
            clear,
            least_ratio,
            ..self
        }
    }
}

impl RankRule for ConditionRule {
    fn decide(&self, values: Vec<f64>, kind: Magnitudes) -> RankDecision {
        let largest = values.iter().copied().fold(0.0, f64::max);
        let reference = self.reference.unwrap_or(largest);
        let values = match prepare(values, kind, reference) {
            Ok(values) => values,
            Err(decision) => return *decision,
        };
        let parts: Vec<f64> = values.iter().map(|value| value / reference).collect();
        let mut decision = count(values, &parts, kind, reference, self.zero, self.clear);
        let dropped = decision.largest_dropped();
        let is_poor = decision.rank > 0
            && dropped > 0.0
            && decision.smallest_kept() < self.least_ratio * dropped;
        if decision.doubt.is_none() && is_poor {
            decision.verdict = Verdict::Unknown;
            decision.doubt = Some(Doubt::PoorGap {
                least: self.least_ratio,
            });
        }
        decision
    }
}

/// Confirms a rank that is known from elsewhere: the values kept and dropped must lie a factor of 1000 apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenRule {
    /// The rank to confirm.
    pub rank: usize,
}

impl RankRule for GivenRule {
    fn decide(&self, values: Vec<f64>, kind: Magnitudes) -> RankDecision {
        let largest = values.iter().copied().fold(0.0, f64::max);
        let values = match prepare(values, kind, largest) {
            Ok(values) if self.rank <= values.len() => values,
            Ok(values) => return RankDecision::unknown(values, kind, largest, Doubt::NotFinite),
            Err(decision) if decision.rank == self.rank => return *decision,
            Err(decision) => {
                return RankDecision::unknown(decision.values, kind, largest, Doubt::NotFinite);
            }
        };
        let floor = f64::EPSILON * largest;
        let kept = self
            .rank
            .checked_sub(1)
            .map_or(largest, |last| values[last]);
        let dropped = values
            .get(self.rank)
            .map_or(floor, |value| value.max(floor));
        let is_seen = kept > GapRule::LEAST_RATIO * dropped;
        RankDecision {
            rank: self.rank,
            values,
            kind,
            reference: largest,
            threshold: (kept * dropped).sqrt(),
            gap: kept / dropped,
            verdict: if is_seen {
                Verdict::Observed
            } else {
                Verdict::Unknown
            },
            doubt: (!is_seen).then_some(Doubt::PoorGap {
                least: GapRule::LEAST_RATIO,
            }),
        }
    }
}

/// Counts the angles between spaces that are not zero, from their sines.
///
/// The number of formula (27) of `docs/theory/indices.md`, which no system of the index tests contradicts. Spaces at a smaller
/// angle than that count as meeting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AngleRule;

impl AngleRule {
    /// Spaces meet where the sine of an angle between them is below this.
    pub const MEET: f64 = 1e-7;
}

impl RankRule for AngleRule {
    fn decide(&self, values: Vec<f64>, kind: Magnitudes) -> RankDecision {
        ConditionRule::of(1.0, Self::MEET).decide(values, kind)
    }
}

/// The count of values by their parts. A value in the band leaves the rank unknown.
fn count(
    values: Vec<f64>,
    parts: &[f64],
    kind: Magnitudes,
    reference: f64,
    zero: f64,
    clear: f64,
) -> RankDecision {
    let rank = parts.iter().filter(|part| **part > zero).count();
    let doubt = parts
        .iter()
        .find(|part| **part > zero && **part < clear)
        .map(|value| Doubt::InBand {
            value: *value,
            noise: zero,
            signal: clear,
        });
    let floor = f64::EPSILON * reference;
    let upper = rank.checked_sub(1).map_or(reference, |last| values[last]);
    let lower = values.get(rank).map_or(floor, |value| value.max(floor));
    RankDecision {
        rank,
        kind,
        reference,
        threshold: zero * reference,
        gap: upper / lower,
        verdict: if doubt.is_none() {
            Verdict::Observed
        } else {
            Verdict::Unknown
        },
        doubt,
        values,
    }
}
