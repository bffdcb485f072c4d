//! The tractability matrix chain in series, and the kind of a critical point.
//!
//! For square systems. The ranks of G_0, G_1, ... are the characteristic values; where one of them drops, or a new kernel
//! meets the earlier ones, the point is critical of kind k-A or k-B. Numbers in parentheses refer to
//! `docs/theory/indices.md`.

use crate::dense::{Dense, Factors};
use crate::outcome::Because;
use crate::reduction::{Conclusion, Constancy, Noise, SEEN, decided};
use crate::scaling::Scaling;
use crate::series::{MatrixSeries, NullSeries, Series};
use crate::tolerances::{NOISE_LEVELS, ROUNDING};
use daelight_linalg::{AngleRule, GapRule, Magnitudes, RankDecision, RankRule};
use std::fmt;

/// What the chain concludes.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainConclusion {
    /// G_nu is regular; its index nu is the number of levels before it.
    Regular {
        /// Ranks r_0, ..., r_nu.
        characteristic_values: Vec<usize>,
    },
    /// The kernel of G_k meets the earlier kernels at the point: no admissible projector.
    Meets {
        /// k.
        level: usize,
    },
    /// The rank of G_k changes beside the point.
    Critical {
        /// k.
        level: usize,
    },
    /// Undecided.
    Unknown(Because),
}

/// One matrix G_k of the chain.
#[derive(Clone, Debug)]
pub struct ChainLevel {
    /// Its rank r_k.
    pub rank: RankDecision,
    /// Dimension of the intersection of its kernel with the earlier ones (27).
    pub n_common: usize,
    /// Norm of its Schur series relative to the reference; `None` if its kernel was not needed.
    pub schur: Option<f64>,
}

/// The chain with its evidence.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The answer.
    pub conclusion: ChainConclusion,
    /// Levels 0, 1, ... as far as they were reached.
    pub levels: Vec<ChainLevel>,
}

impl Chain {
    /// Runs the chain (25), (26) on a scaled square series; `None` if it is not square.
    pub fn new<M: Dense>(series: &MatrixSeries<M>, relative_error: f64) -> Option<Self> {
        if series.nrows() != series.ncols() {
            return None;
        }
        let mut levels = Vec::new();
        let conclusion = run(series, relative_error, &mut levels).unwrap_or_else(|c| c);
        Some(Self { conclusion, levels })
    }

    /// The characteristic values at a regular point.
    pub fn characteristic_values(&self) -> Option<&[usize]> {
        match &self.conclusion {
            ChainConclusion::Regular {
                characteristic_values,
            } => Some(characteristic_values),
            _ => None,
        }
    }
}

fn unknown(because: Because) -> ChainConclusion {
    ChainConclusion::Unknown(because)
}

fn run<M: Dense>(
    series: &MatrixSeries<M>,
    relative_error: f64,
    levels: &mut Vec<ChainLevel>,
) -> Result<ChainConclusion, ChainConclusion> {
    let n = series.ncols();
    let not_finite = unknown(Because::NotFinite);
    let mut noise = Noise::new(series, relative_error).ok_or(not_finite)?;
    let failed = |_| unknown(Because::NotFinite);
    let sizes = Sizes::of(series).map_err(failed)?;

    let mut g = series.e().clone();
    let mut b = series.b().clone();
    let mut characteristic_values = Vec::new();
    // Empty before level 0.
    let mut kernels: Series<M> = g.block(0, 0, n, 0);
    let mut before: Option<Projectors<M>> = None;
    loop {
        let k = levels.len();
        let reference = sizes.reference(k);
        let factors = g.coefficient(0).decompose().map_err(failed)?;
        let rank = gap_rank(&factors, noise.now, reference, n);
        levels.push(ChainLevel {
            rank: rank.clone(),
            n_common: 0,
            schur: None,
        });
        let r = decided(&rank, k).map_err(|c| match c {
            Conclusion::Unknown(because) => unknown(because),
            _ => unknown(Because::NotFinite),
        })?;
        characteristic_values.push(r);
        if r == n {
            return Ok(ChainConclusion::Regular {
                characteristic_values,
            });
        }
        if g.len() < SEEN {
            let order = series.order() + SEEN - g.len();
            return Err(unknown(Because::SeriesTooShort { order }));
        }
        // The angle comes before the Schur series: it only needs the point itself.
        levels[k].n_common =
            n_common(kernels.coefficient(0), &factors.kernel(r)).map_err(failed)?;
        let null = NullSeries::new(&g, &factors, r);
        let schur = null.schur_norm() / reference;
        levels[k].schur = Some(schur);
        if !schur.is_finite() {
            return Err(unknown(Because::NotFinite));
        }
        match Constancy::of(&rank, schur, noise) {
            Constancy::Constant => noise = noise.raised(schur),
            Constancy::Changes => return Ok(ChainConclusion::Critical { level: k }),
            Constancy::Uncertain => {
                return Err(unknown(Because::UncertainRank { level: k, schur }));
            }
        }
        if levels[k].n_common > 0 {
            return Ok(ChainConclusion::Meets { level: k });
        }

        let known = g.len().min(kernels.len());
        kernels = kernels.truncated(known).beside(&null.basis);
        let q = projector(&kernels, &null.basis).map_err(failed)?;
        let next = match before.take() {
            None => first_step(&g, &b, q, noise.now),
            Some(last) => last.next(&g, &b, q),
        };
        let order = series.order() + 1;
        let (projectors, b_k) = next.ok_or(unknown(Because::SeriesTooShort { order }))?;
        b = b_k;
        g = g.plus(1.0, &b.product(&projectors.q));
        before = Some(projectors);
    }
}

/// What the singular values of the chain's matrices are compared with.
struct Sizes {
    e: f64,
    b: f64,
}

impl Sizes {
    fn of<M: Dense>(series: &MatrixSeries<M>) -> Result<Self, daelight_linalg::LinalgError> {
        Ok(Self {
            e: series.e().coefficient(0).decompose()?.norm(),
            b: series.b().coefficient(0).decompose()?.norm(),
        })
    }

    /// G_0 is E, unless E is nothing but rounding; the later ones contain B.
    fn reference(&self, level: usize) -> f64 {
        let larger = self.e.max(self.b);
        match level {
            0 if self.e > ROUNDING * self.b => self.e,
            _ if larger > 0.0 => larger,
            _ => 1.0,
        }
    }
}

/// Q_k, P_k and the products of the chain's projectors at one level.
struct Projectors<M> {
    q: Series<M>,
    p: Series<M>,
    /// Pi_k = P_0 ... P_k.
    product: Series<M>,
    /// D = D^- = P_0.
    d: Series<M>,
}

/// Level 0 (25): P_0, and B_0 = B - E P_0' if ker E moves.
fn first_step<M: Dense>(
    e: &Series<M>,
    b: &Series<M>,
    q: Series<M>,
    noise: f64,
) -> Option<(Projectors<M>, Series<M>)> {
    let n = q.nrows();
    let moves = q.coefficients()[1..]
        .iter()
        .any(|c| c.norm() > NOISE_LEVELS * noise);
    let q = if moves {
        q
    } else {
        Series::constant(q.coefficient(0).clone(), q.len())
    };
    let p = Series::constant(M::identity(n), q.len()).plus(-1.0, &q);
    let b = if moves {
        b.plus(-1.0, &e.product(&p.derivative()?))
    } else {
        b.clone()
    };
    let projectors = Projectors {
        q,
        d: p.clone(),
        product: p.clone(),
        p,
    };
    Some((projectors, b))
}

impl<M: Dense> Projectors<M> {
    /// Level k (26) from level k - 1.
    fn next(&self, g: &Series<M>, b: &Series<M>, q: Series<M>) -> Option<(Self, Series<M>)> {
        let p = Series::constant(M::identity(q.nrows()), q.len()).plus(-1.0, &q);
        let product = self.product.product(&p);
        let rate = self.d.product(&product).product(&self.d).derivative()?;
        let correction = g
            .product(&self.d)
            .product(&rate)
            .product(&self.d)
            .product(&self.product);
        let b = b.product(&self.p).plus(-1.0, &correction);
        let next = Self {
            q,
            p,
            product,
            d: self.d.clone(),
        };
        Some((next, b))
    }
}

/// The projector onto the last of the kernels along all earlier ones and their common orthogonal complement.
fn projector<M: Dense>(
    kernels: &Series<M>,
    last: &Series<M>,
) -> Result<Series<M>, daelight_linalg::LinalgError> {
    let transposed = kernels.transposed();
    let dual = transposed.product(kernels).inverse()?.product(&transposed);
    let first = kernels.ncols() - last.ncols();
    Ok(last.product(&dual.block(first, 0, last.ncols(), kernels.nrows())))
}

/// How many independent vectors two spaces share (27); the second basis is orthonormal.
fn n_common<M: Dense>(earlier: &M, basis: &M) -> Result<usize, daelight_linalg::LinalgError> {
    if earlier.ncols() == 0 {
        return Ok(0);
    }
    let factors = earlier.decompose()?;
    let range = factors.range(earlier.ncols().min(earlier.nrows()));
    let mut outside = basis.clone();
    outside.add_multiple(-1.0, &range.product(&range.transposed().product(basis)));
    let sines = outside.decompose()?.values;
    let n = sines.len();
    Ok(n - AngleRule.decide(sines, Magnitudes::Singular).rank)
}

fn gap_rank<M: Dense>(factors: &Factors<M>, noise: f64, reference: f64, n: usize) -> RankDecision {
    let rule = GapRule {
        noise,
        ..GapRule::new(n, n, reference)
    };
    rule.decide(factors.values.clone(), Magnitudes::Singular)
}

/// How a point is critical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CriticalKind {
    /// k-A: the rank of G_k drops.
    RankDrop(
        /// k.
        usize,
    ),
    /// k-B: the kernel of G_k meets the earlier kernels.
    KernelsMeet(
        /// k.
        usize,
    ),
}

impl CriticalKind {
    /// k, the level of the chain.
    pub fn level(self) -> usize {
        match self {
            Self::RankDrop(k) | Self::KernelsMeet(k) => k,
        }
    }
}

impl fmt::Display for CriticalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RankDrop(k) => write!(f, "{k}-A"),
            Self::KernelsMeet(k) => write!(f, "{k}-B"),
        }
    }
}

/// Number of neighbours asked; the largest ranks among them are the generic ones.
pub const N_NEIGHBOURS: usize = 3;

/// Decides the kind of a point (28): regular (`None`) or critical, by comparison with its neighbours.
///
/// `neighbour(i)` supplies the series at the i-th of [`N_NEIGHBOURS`] neighbours, with every jet coefficient and the time
/// moved by about 1e-2 of its size (for ranks that hold only on the constraints: moved consistently). A neighbour that
/// cannot be had may be `None`; without a regular one the kind is unknown.
pub fn kind_of_point<M: Dense>(
    point: &MatrixSeries<M>,
    relative_error: f64,
    neighbour: impl Fn(usize) -> Option<MatrixSeries<M>>,
) -> Result<Option<CriticalKind>, Because> {
    Kinds::new(point, relative_error, neighbour)?.agreed()
}

/// The kind of a point in two kinds of units, for callers that know more of the point than its ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kinds {
    /// In the units usual around the point (6a). Where something vanishes so nearly that units taken from the point itself
    /// would make it large again, only these see it.
    pub usual: Result<Option<CriticalKind>, Because>,
    /// In the units of each series by itself.
    pub own: Result<Option<CriticalKind>, Because>,
}

impl Kinds {
    /// Compares a point with its neighbours, as [`kind_of_point`] does.
    pub fn new<M: Dense>(
        point: &MatrixSeries<M>,
        relative_error: f64,
        neighbour: impl Fn(usize) -> Option<MatrixSeries<M>>,
    ) -> Result<Self, Because> {
        if point.nrows() != point.ncols() {
            return Err(Because::NotSquare);
        }
        let beside: Vec<MatrixSeries<M>> = (0..N_NEIGHBOURS).filter_map(neighbour).collect();
        let usual = Scaling::balanced(point, &beside, None);
        let own = |series: &MatrixSeries<M>| Scaling::by_low_orders(series, None);
        Ok(Self {
            usual: kind_in(point, &beside, relative_error, |_| usual.clone()),
            own: kind_in(point, &beside, relative_error, own),
        })
    }

    /// The kind in the usual units, unless the others contradict.
    pub(crate) fn agreed(&self) -> Result<Option<CriticalKind>, Because> {
        match (self.usual, self.own) {
            (Ok(found), Ok(other)) if other != found => Err(Because::ScalingsDisagree),
            (found, _) => found,
        }
    }
}

/// The kind of a point in given units.
fn kind_in<M: Dense>(
    point: &MatrixSeries<M>,
    beside: &[MatrixSeries<M>],
    relative_error: f64,
    scaling: impl Fn(&MatrixSeries<M>) -> Scaling,
) -> Result<Option<CriticalKind>, Because> {
    let chain =
        |series: &MatrixSeries<M>| Chain::new(&scaling(series).apply(series), relative_error);
    let here = chain(point).ok_or(Because::NotSquare)?;
    let around: Vec<Chain> = beside
        .iter()
        .filter_map(chain)
        // Where the chain does not even end beside the point, there is no generic profile to compare with.
        .filter(|chain| chain.characteristic_values().is_some())
        .collect();
    for (k, level) in here.levels.iter().enumerate() {
        let generic: Vec<&ChainLevel> = around
            .iter()
            .filter_map(|chain| chain.levels.get(k))
            .collect();
        let Some(rank) = generic.iter().map(|level| level.rank.rank).max() else {
            return Err(Because::CriticalUnconfirmed { level: k });
        };
        let here_rank = level.rank.decided().ok_or(Because::PoorGap {
            level: k,
            found: level.rank.gap,
        })?;
        if here_rank < rank {
            return Ok(Some(CriticalKind::RankDrop(k)));
        }
        let n_common = generic.iter().map(|level| level.n_common).min();
        if n_common.is_some_and(|n_common| level.n_common > n_common) {
            return Ok(Some(CriticalKind::KernelsMeet(k)));
        }
    }
    match here.conclusion {
        ChainConclusion::Unknown(because) => Err(because),
        ChainConclusion::Critical { level } => Err(Because::CriticalUnconfirmed { level }),
        ChainConclusion::Regular { .. } | ChainConclusion::Meets { .. } => Ok(None),
    }
}
