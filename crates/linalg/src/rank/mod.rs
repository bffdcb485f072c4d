//! Rank decisions: how many values count as nonzero, by which rule, and whether that can be trusted.
//!
//! The only place where ranks are counted. The first two rules were tuned on random differential-algebraic systems with known
//! ranks (n up to 12, index up to 5, conditions up to 1000, scalings 1e-6 to 1e6):
//!
//! - [`GapRule`] for small matrices that come out of a reduction and carry noise of unknown size: the rank is where
//!   neighbouring values differ most.
//! - [`ThresholdRule`] for large matrices that are formed directly, whose noise is a known multiple of rounding.
//!
//! - [`ShareRule`] for a matrix whose entries depend on a point, by the size its values have at other points.
//! - [`ConditionRule`] for a matrix that is solved with: what its user can rely on.
//! - [`GivenRule`] where the rank is known and must be seen.
//! - [`AngleRule`] for the sines of angles between spaces.
//!
//! Each answers [`Verdict::Unknown`] rather than guess. Then look again in double-double ([`crate::dd`]).

mod parts;

pub use parts::{AngleRule, ConditionRule, GivenRule, ShareRule};

use std::fmt;

/// Says what an answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// An exact certificate exists.
    Proved,
    /// True for the numbers at hand, in floating point.
    Observed,
    /// Undecided; the accompanying value is a guess.
    Unknown,
}

/// Names the kind of numbers a decision rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Magnitudes {
    /// Singular values.
    Singular,
    /// Absolute pivots of a QR factorisation with column pivoting.
    Pivots,
}

/// Says why a decision is [`Verdict::Unknown`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Values or reference are NaN, infinite or negative, or a factorisation failed.
    NotFinite,
    /// The reference is zero although some value is not.
    NoReference,
    /// The largest ratio of neighbours is below the least accepted one.
    PoorGap {
        /// Least accepted ratio.
        least: f64,
    },
    /// Some value lies between certainly noise and certainly not, relative to the reference.
    InBand {
        /// The first such value, relative to the reference.
        value: f64,
        /// Values up to here, relative to the reference, are noise.
        noise: f64,
        /// Values from here on are not.
        signal: f64,
    },
}

/// A rank together with everything that led to it.
///
/// Use [`RankDecision::decided`] to go on; `rank` alone is a best guess when the verdict is `Unknown`.
#[derive(Clone, Debug, PartialEq)]
pub struct RankDecision {
    /// Number of values that count as nonzero.
    pub rank: usize,
    /// The values, largest first, not scaled.
    pub values: Vec<f64>,
    /// What kind of values they are.
    pub kind: Magnitudes,
    /// The size the values were measured against.
    pub reference: f64,
    /// Values above this count, in the units of `values`. For [`GapRule`] the geometric middle of the gap.
    pub threshold: f64,
    /// Ratio of the smallest value kept to the largest dropped (or to the noise floor; from the reference if none is kept).
    pub gap: f64,
    /// What the rank is worth.
    pub verdict: Verdict,
    /// Why the verdict is `Unknown`; `None` otherwise.
    pub doubt: Option<Doubt>,
}

impl RankDecision {
    /// The rank if it is decided.
    pub fn decided(&self) -> Option<usize> {
        (self.verdict != Verdict::Unknown).then_some(self.rank)
    }

    /// Smallest value kept, relative to the reference; infinite if the rank is 0.
    pub fn smallest_kept(&self) -> f64 {
        if self.rank == 0 {
            f64::INFINITY
        } else {
            self.values[self.rank - 1] / self.reference
        }
    }

    /// Largest value dropped, relative to the reference; 0 if none is.
    pub fn largest_dropped(&self) -> f64 {
        self.values.get(self.rank).map_or(0.0, |value| {
            if *value == 0.0 {
                0.0
            } else {
                value / self.reference
            }
        })
    }

    /// The decision on a matrix without rows or columns: rank 0, proved.
    pub fn empty(kind: Magnitudes) -> Self {
        Self {
            rank: 0,
            values: Vec::new(),
            kind,
            reference: 0.0,
            threshold: 0.0,
            gap: f64::INFINITY,
            verdict: Verdict::Proved,
            doubt: None,
        }
    }

    /// The non-decision on a matrix that could not be factored.
    pub fn not_finite(kind: Magnitudes) -> Self {
        Self::unknown(Vec::new(), kind, f64::NAN, Doubt::NotFinite)
    }

    fn unknown(values: Vec<f64>, kind: Magnitudes, reference: f64, doubt: Doubt) -> Self {
        Self {
            rank: 0,
            values,
            kind,
            reference,
            threshold: f64::NAN,
            gap: f64::NAN,
            verdict: Verdict::Unknown,
            doubt: Some(doubt),
        }
    }
}

impl fmt::Display for RankDecision {
    /// One line of evidence: `rank 2 (observed): kept down to 1.0e-1, dropped from 3.0e-17, threshold 2.0e-9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Proved => "proved",
            Verdict::Observed => "observed",
            Verdict::Unknown => "unknown",
        };
        write!(f, "rank {} ({verdict})", self.rank)?;
        if let Some(kept) = self
            .rank
            .checked_sub(1)
            .and_then(|last| self.values.get(last))
        {
            write!(f, ": kept down to {kept:.1e}")?;
        }
        if let Some(dropped) = self.values.get(self.rank) {
            write!(
                f,
                "{} dropped from {dropped:.1e}",
                if self.rank == 0 { ":" } else { "," }
            )?;
        }
        if !self.values.is_empty() {
            write!(f, ", threshold {:.1e}", self.threshold)?;
        }
        Ok(())
    }
}

/// Decides a rank from a list of values.
pub trait RankRule {
    /// Decides from nonnegative values. They are sorted here, largest first.
    fn decide(&self, values: Vec<f64>, kind: Magnitudes) -> RankDecision;
}

/// Puts the rank where neighbouring values differ most.
///
/// The list 1, v_1/ref, ..., v_p/ref, eta, each floored at the noise level eta, is cut at its largest ratio of neighbours;
/// a ratio below 1000 leaves the rank unknown. The reference is the norm of what the matrix was computed from, not of the
/// matrix itself: a product that should vanish is pure noise and has no scale of its own.
///
/// ```
/// use daelight_linalg::{GapRule, RankRule, Magnitudes};
/// let rule = GapRule::new(4, 4, 1.0);
/// let clear = rule.decide(vec![1.0, 0.02, 3e-16, 1e-17], Magnitudes::Singular);
/// assert_eq!(clear.decided(), Some(2));
/// // Values that fade out evenly decide nothing.
/// let noisy = GapRule { noise: 1e-10, ..rule };
/// assert_eq!(noisy.decide(vec![1e-2, 1e-4, 1e-6, 1e-8], Magnitudes::Singular).decided(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapRule {
    /// Size of the data the matrix was computed from.
    pub reference: f64,
    /// Noise level relative to the reference, eta.
    pub noise: f64,
    /// Least ratio of neighbours that decides.
    pub least_ratio: f64,
}

impl GapRule {
    /// Least ratio of neighbours that decides.
    pub const LEAST_RATIO: f64 = 1e3;

    /// Noise of a matrix of doubles for each row or column.
    pub const NOISE: f64 = 1e-15;

    /// The same in double-double.
    pub const NOISE_DOUBLE_DOUBLE: f64 = 1e-30;

    /// The rule for an m x n matrix: noise 1e-15 max(m, n), least ratio 1000.
    pub fn new(nrows: usize, ncols: usize, reference: f64) -> Self {
        Self {
            reference,
            noise: Self::NOISE * nrows.max(ncols).max(1) as f64,
            least_ratio: Self::LEAST_RATIO,
        }
    }

    /// The rule after a null space in series left a Schur complement of this norm: the noise is at least ten times it.
    pub fn after_schur(self, schur_norm: f64) -> Self {
        let measured = 10.0 * schur_norm / self.reference;
        // A NaN must not pass for "no noise"; it makes the rule undecided.
        let noise = if measured.is_nan() {
            measured
        } else {
            self.noise.max(measured)
        };
        Self { noise, ..self }
    }

    /// The rule for the same matrix in double-double: noise 1e-30 max(m, n).
    pub fn in_double_double(nrows: usize, ncols: usize, reference: f64) -> Self {
        Self {
            noise: Self::NOISE_DOUBLE_DOUBLE * nrows.max(ncols).max(1) as f64,
            ..Self::new(nrows, ncols, reference)
        }
    }
}

impl RankRule for GapRule {
    fn decide(&self, values: Vec<f64>, kind: Magnitudes) -> RankDecision {
        let values = match prepare(values, kind, self.reference) {
            Ok(values) => values,
            Err(decision) => return *decision,
        };
        if !(self.noise > 0.0 && self.noise.is_finite()) {
            return RankDecision::unknown(values, kind, self.reference, Doubt::NotFinite);
        }
        let level = |k: usize| {
            values
                .get(k)
                .map_or(self.noise, |v| (v / self.reference).max(self.noise))
        };
        let mut upper = 1.0;
        let mut rank = 0;
        let mut gap = 0.0;
        let mut threshold = 0.0;
        for k in 0..=values.len() {
            let lower = level(k);
            if upper / lower > gap {
                (rank, gap) = (k, upper / lower);
                threshold = (upper * lower).sqrt() * self.reference;
            }
            upper = lower;
        }
        let doubt = (gap < self.least_ratio).then_some(Doubt::PoorGap {
            least: self.least_ratio,
        });
        let verdict = if doubt.is_none() {
            Verdict::Observed
        } else {
            Verdict::Unknown
        };
        RankDecision {
            rank,
            values,
            kind,
            reference: self.reference,
            threshold,
            gap,
            verdict,
            doubt,
        }
    }
}

/// Counts the values above 300 e times the reference, and abstains if any lies in (8 e, 1500 e).
///
/// e is the relative error of the matrix: rounding, or the error of its entries if that is larger. Fits large matrices
/// whose entries are known directly, because their singular values are then off by a few e times the norm. Exact ranks of
/// random integer matrices, n = 6 to 100, left values of at most 0.6 e by rotations, 1.3 e by faer and 1.5 e as QR pivots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdRule {
    /// 2-norm of the matrix, or of the larger one it is part of.
    pub reference: f64,
    /// Relative error of the entries, e.
    pub relative_error: f64,
}

impl ThresholdRule {
    /// Values up to this many e are noise.
    pub const NOISE: f64 = 8.0;
    /// Values above this many e count.
    pub(crate) const THRESHOLD: f64 = 300.0;
    /// Values from this many e on are certainly not noise.
    pub const SIGNAL: f64 = 1500.0;

    /// The rule for exact entries: e is the rounding unit 2.2e-16.
    pub fn new(reference: f64) -> Self {
        Self {
            reference,
            relative_error: f64::EPSILON,
        }
    }

    /// The rule for entries with this relative error (never less than rounding).
    pub fn with_error(reference: f64, relative_error: f64) -> Self {
        let relative_error = if relative_error.is_nan() {
            relative_error
        } else {
            relative_error.max(f64::EPSILON)
        };
        Self {
            reference,
            relative_error,
        }
    }

    /// The rule for entries known to double-double precision, e = 4.9e-32.
    pub fn in_double_double(reference: f64) -> Self {
        Self {
            reference,
            relative_error: crate::Dd::EPSILON,
        }
    }
}

impl RankRule for ThresholdRule {
    fn decide(&self, values: Vec<f64>, kind: Magnitudes) -> RankDecision {
        let values = match prepare(values, kind, self.reference) {
            Ok(values) => values,
            Err(decision) => return *decision,
        };
        let e = self.relative_error;
        if !(e > 0.0 && e.is_finite()) {
            return RankDecision::unknown(values, kind, self.reference, Doubt::NotFinite);
        }
        let relative = |v: f64| if v == 0.0 { 0.0 } else { v / self.reference };
        let rank = values
            .iter()
            .filter(|v| relative(**v) > Self::THRESHOLD * e)
            .count();
        let upper = if rank == 0 {
            1.0
        } else {
            relative(values[rank - 1])
        };
        let lower = values.get(rank).map_or(e, |v| relative(*v).max(e));
        let (noise, signal) = (Self::NOISE * e, Self::SIGNAL * e);
        let doubt = values
            .iter()
            .map(|v| relative(*v))
            .find(|v| *v > noise && *v < signal)
            .map(|value| Doubt::InBand {
                value,
                noise,
                signal,
            });
        RankDecision {
            rank,
            values,
            kind,
            reference: self.reference,
            threshold: Self::THRESHOLD * e * self.reference,
            gap: upper / lower,
            verdict: if doubt.is_none() {
                Verdict::Observed
            } else {
                Verdict::Unknown
            },
            doubt,
        }
    }
}

/// Sorts the values, or answers at once: no values, values that are no sizes, or nothing to compare with.
fn prepare(
    mut values: Vec<f64>,
    kind: Magnitudes,
    reference: f64,
) -> Result<Vec<f64>, Box<RankDecision>> {
    if values.is_empty() {
        return Err(Box::new(RankDecision {
            reference,
            ..RankDecision::empty(kind)
        }));
    }
    let sizes = values.iter().all(|v| v.is_finite() && *v >= 0.0);
    if !sizes || !reference.is_finite() || reference < 0.0 {
        return Err(Box::new(RankDecision::unknown(
            values,
            kind,
            reference,
            Doubt::NotFinite,
        )));
    }
    values.sort_by(|a, b| b.total_cmp(a));
    if reference == 0.0 {
        let decision = if values[0] == 0.0 {
            // Every entry is exactly zero, which needs no rule.
            RankDecision {
                values,
                verdict: Verdict::Observed,
                ..RankDecision::empty(kind)
            }
        } else {
            RankDecision::unknown(values, kind, reference, Doubt::NoReference)
        };
        return Err(Box::new(decision));
    }
    Ok(values)
}
