//! The answers of an index analysis, and the reasons for not giving one.

use std::fmt;

/// The strangeness index and its characteristic quantities, printed as mu, a, d, u, v (Kunkel and Mehrmann).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strangeness {
    /// mu: how often equations must be differentiated to separate the constraints from the dynamics.
    pub index: usize,
    /// a: independent constraints, hidden ones included.
    pub n_algebraic: usize,
    /// d: differential equations that remain.
    pub n_differential: usize,
    /// u: unknowns that no equation determines.
    pub n_free: usize,
    /// v: equations that repeat others, or contradict them for an unsuitable right-hand side.
    pub n_redundant: usize,
}

impl fmt::Display for Strangeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "mu = {}, d = {}, a = {}, u = {}, v = {}",
            self.index, self.n_differential, self.n_algebraic, self.n_free, self.n_redundant
        )
    }
}

/// All index notions at a regular point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indices {
    /// The strangeness index and its quantities, for systems of any shape.
    pub strangeness: Strangeness,
    /// The differentiation index; `None` unless as many equations as unknowns determine everything (u = v = 0).
    pub differentiation_index: Option<usize>,
    /// Ranks r_0, ..., r_nu of the tractability matrix chain, whose index is the differentiation index; `None` likewise.
    pub characteristic_values: Option<Vec<usize>>,
}

impl Indices {
    /// Degrees of freedom of the state: initial values that can be chosen, free unknowns not counted.
    pub fn degrees_of_freedom(&self) -> usize {
        self.strangeness.n_differential
    }

    /// Collects the answers (14), (15) from the constraints c_i and redundant equations w_i found at each level.
    pub(crate) fn from_levels(
        shape: (usize, usize),
        n_differential: usize,
        n_free: usize,
        constraints: &[usize],
        redundant: &[usize],
    ) -> Self {
        let strangeness = Strangeness {
            index: constraints.len().saturating_sub(1),
            n_algebraic: constraints.iter().sum(),
            n_differential,
            n_free,
            n_redundant: redundant.iter().sum(),
        };
        let (m, n) = shape;
        let regular = m == n && n_free == 0 && strangeness.n_redundant == 0;
        let values = constraints.iter().map(|c| n - c).chain([n]);
        Self {
            strangeness,
            differentiation_index: regular.then_some(constraints.len()),
            characteristic_values: regular.then(|| values.collect()),
        }
    }
}

/// Says which of the two ranks of a reduction level is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The rank of the leading matrix E.
    Differential,
    /// The rank of the constraints Z^T A.
    Algebraic,
}

/// Says why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Because {
    /// A coefficient is NaN or infinite, or a computation with it overflowed.
    NotFinite,
    /// The question makes sense for as many equations as unknowns only.
    NotSquare,
    /// More coefficients are needed than the series has.
    SeriesTooShort {
        /// The order that would do for the next step.
        order: usize,
    },
    /// Singular values fade out without a clear gap.
    PoorGap {
        /// Reduction level, or order of the derivative array.
        level: usize,
        /// The largest ratio of neighbours, or the relative value between noise and signal.
        found: f64,
    },
    /// The Schur series is neither noise nor the sign of a clear rank change.
    UncertainRank {
        /// Reduction level.
        level: usize,
        /// Norm of the Schur series relative to the reference.
        schur: f64,
    },
    /// The ranks of the derivative array contradict each other: they are not constant at the point.
    ArrayNotMonotone {
        /// Order of the derivative array.
        level: usize,
    },
    /// The two scalings lead to different answers: the point is close to a singularity of the solution.
    ScalingsDisagree,
    /// Reduction and derivative array both decide, differently.
    MethodsDisagree,
    /// Neighbours have other indices, all of them: the point is, or is very close to, a critical one.
    NeighboursDisagree,
    /// A rank changes at the point in doubles, but not in double-double.
    PrecisionsDisagree {
        /// Reduction level of the change.
        level: usize,
    },
    /// A rank changes at the point, so that nothing built on constant ranks exists there.
    RankChanges {
        /// Reduction level of the change.
        level: usize,
    },
    /// The point looks critical, and no neighbour confirms it.
    CriticalUnconfirmed {
        /// Reduction level at which the rank seems to change.
        level: usize,
    },
    /// One decider abstains and the other one's evidence is too weak alone.
    WeakEvidence {
        /// Its worst ratio, or the smallest singular value it kept.
        found: f64,
    },
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotFinite => write!(f, "a coefficient is not finite"),
            Self::NotSquare => write!(f, "there are not as many equations as unknowns"),
            Self::SeriesTooShort { order } => {
                write!(f, "Taylor coefficients up to order {order} are needed")
            }
            Self::PoorGap { level, found } => write!(
                f,
                "no clear gap between singular values at level {level} ({found:.1e})"
            ),
            Self::UncertainRank { level, schur } => write!(
                f,
                "the rank at level {level} may or may not change beside the point ({schur:.1e})"
            ),
            Self::ArrayNotMonotone { level } => write!(
                f,
                "the ranks of the derivative array of order {level} are not those of a regular point"
            ),
            Self::ScalingsDisagree => {
                write!(f, "two scalings disagree: close to a singularity")
            }
            Self::MethodsDisagree => write!(f, "reduction and derivative array disagree"),
            Self::NeighboursDisagree => {
                write!(
                    f,
                    "neighbours have other indices: close to a critical point"
                )
            }
            Self::PrecisionsDisagree { level } => write!(
                f,
                "the rank at level {level} changes at the point in doubles, but not with twice the digits"
            ),
            Self::RankChanges { level } => {
                write!(f, "a rank changes at the point, at level {level}")
            }
            Self::CriticalUnconfirmed { level } => write!(
                f,
                "the rank at level {level} seems to change at the point, but neighbours do not confirm it"
            ),
            Self::WeakEvidence { found } => {
                write!(f, "only one method decides, on weak evidence ({found:.1e})")
            }
        }
    }
}
