//! The primary decider: constraints are eliminated level by level, in series, for systems of any shape.
//!
//! One small computation yields the strangeness quantities, the differentiation index, the characteristic values of the
//! tractability chain, the degrees of freedom and the consistent directions. Numbers in parentheses refer to
//! `docs/theory/indices.md`.

use crate::dense::{Dense, Factors};
use crate::outcome::{Because, Indices, Stage};
use crate::scaling::Scaling;
use crate::series::{MatrixSeries, NullSeries, Series};
use crate::tolerances::ROUNDING;
use daelight_linalg::{Doubt, GapRule, Magnitudes, Mat, RankDecision, RankRule, Svd};

/// Coefficients that a null series must have, so that its Schur coefficients 0 to 2 are seen.
pub(crate) const SEEN: usize = 3;

/// What a reduction concludes from one series.
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// All ranks are constant along the jet and decided.
    Regular(Indices),
    /// A rank at the point differs from the rank beside it, so no index exists here.
    Critical {
        /// Reduction level of the change.
        level: usize,
        /// Which rank changes.
        stage: Stage,
    },
    /// Undecided.
    Unknown(Because),
}

/// One level of the reduction with its evidence.
#[derive(Clone, Debug)]
pub struct Level {
    /// m_i, equations of this level.
    pub n_equations: usize,
    /// n_i, unknowns of this level.
    pub n_unknowns: usize,
    /// r_i, the rank of E.
    pub differential: RankDecision,
    /// Norm of the Schur series of E relative to its reference; `None` at the last level, which needs none.
    pub differential_schur: Option<f64>,
    /// c_i, the rank of the constraints Z^T A; `None` at the last level or if undecided before.
    pub algebraic: Option<RankDecision>,
    /// Norm of the Schur series of the constraints relative to its reference.
    pub algebraic_schur: Option<f64>,
}

/// The outcome of a reduction, with all ranks as evidence.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// The answer.
    pub conclusion: Conclusion,
    /// The levels passed, the one that stopped it included.
    pub levels: Vec<Level>,
    /// Columns span the consistent directions at the point, in scaled unknowns; complete only if regular.
    directions: Mat,
}

impl Reduction {
    /// Reduces a scaled series whose coefficients have this relative error (0 if they are exact to rounding).
    ///
    /// ```
    /// use daelight_analysis::{MatrixSeries, Reduction};
    /// use daelight_linalg::Mat;
    /// let e = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 0.0]]);
    /// let b = Mat::from_rows(&[&[0.0, -1.0], &[1.0, 0.0]]);
    /// let series = MatrixSeries::constant(e, b, 4)?;
    /// let indices = Reduction::new(&series, 0.0).regular().cloned();
    /// assert_eq!(indices.and_then(|i| i.differentiation_index), Some(2));
    /// # Ok::<(), daelight_analysis::series::ShapeError>(())
    /// ```
    pub fn new<M: Dense>(series: &MatrixSeries<M>, relative_error: f64) -> Self {
        let mut work = Work::new(series, relative_error);
        let conclusion = loop {
            match work.step() {
                Ok(None) => {}
                Ok(Some(indices)) => break Conclusion::Regular(indices),
                Err(conclusion) => break conclusion,
            }
        };
        Self {
            conclusion,
            levels: work.levels,
            directions: work.directions.to_mat(),
        }
    }

    /// The answer at a regular point.
    pub fn regular(&self) -> Option<&Indices> {
        match &self.conclusion {
            Conclusion::Regular(indices) => Some(indices),
            _ => None,
        }
    }

    /// The smallest gap any of its ranks rests on; infinite if no rank was in question.
    pub(crate) fn worst_ratio(&self) -> f64 {
        self.levels
            .iter()
            .flat_map(|level| [Some(&level.differential), level.algebraic.as_ref()])
            .flatten()
            .map(|decision| decision.gap)
            .fold(f64::INFINITY, f64::min)
    }

    /// The rank found at a level, if it was decided there.
    pub fn rank(&self, level: usize, stage: Stage) -> Option<usize> {
        self.decision(level, stage)?.decided()
    }

    /// The smallest value kept at a level, relative to its reference; infinite if the rank is 0.
    pub(crate) fn smallest_kept(&self, level: usize, stage: Stage) -> Option<f64> {
        Some(self.decision(level, stage)?.smallest_kept())
    }

    fn decision(&self, level: usize, stage: Stage) -> Option<&RankDecision> {
        let level = self.levels.get(level)?;
        match stage {
            Stage::Differential => Some(&level.differential),
            Stage::Algebraic => level.algebraic.as_ref(),
        }
    }

    /// Orthonormal basis of the consistent directions at a regular point, in the unknowns as given.
    ///
    /// n x (d + u): the values y(0) that solutions of the homogeneous linearised equation can have.
    pub fn consistent_directions(&self, scaling: &Scaling) -> Option<Mat> {
        self.regular()?;
        let back = scaling.unknowns_back(&self.directions, 0);
        let mut svd = Svd::new();
        svd.factor(back.view()).ok()?;
        Some(svd.range_basis(back.ncols()).ok()?.to_owned())
    }
}

/// The pair (E, A) of one level, E y' = A y.
#[derive(Clone, Debug)]
pub(crate) struct Pair<M> {
    pub(crate) e: Series<M>,
    pub(crate) a: Series<M>,
}

/// The equations of a level that hold no derivative, and the combinations that make them.
#[derive(Clone, Debug)]
pub(crate) struct Constraints<M> {
    /// Z with Z^T E = 0, and its Schur series.
    pub(crate) selector: NullSeries<M>,
    /// Y, the range of E at the point.
    pub(crate) image: M,
    /// Z^T A.
    pub(crate) matrix: Series<M>,
}

impl<M: Dense> Pair<M> {
    /// E and A = -B.
    pub(crate) fn of(series: &MatrixSeries<M>) -> Self {
        let mut a = series.b().clone();
        for c in &mut a.0 {
            let mut negative = M::zeros(c.nrows(), c.ncols());
            negative.add_multiple(-1.0, c);
            *c = negative;
        }
        Self {
            e: series.e().clone(),
            a,
        }
    }

    /// The constraints (12) for rank r of E at the point.
    pub(crate) fn constraints(&self, factors: Factors<M>, rank: usize) -> Constraints<M> {
        let image = factors.range(rank);
        let selector = NullSeries::new(&self.e.transposed(), &factors.transposed(), rank);
        let matrix = selector.basis.transposed().product(&self.a);
        Constraints {
            selector,
            image,
            matrix,
        }
    }

    /// The next level (13), on the unknowns spanned by a basis; `None` if only one coefficient is known.
    pub(crate) fn restricted(&self, image: &M, basis: &Series<M>) -> Option<Self> {
        let image = image.transposed();
        let rest = self
            .a
            .product(basis)
            .plus(-1.0, &self.e.product(&basis.derivative()?));
        let a = rest.map(|c| image.product(c));
        let e = self.e.product(basis).map(|c| image.product(c));
        Some(Self {
            e: e.truncated(a.len()),
            a,
        })
    }
}

/// Sizes that the ranks of E and of the constraints are measured against.
pub(crate) fn references<M: Dense>(series: &MatrixSeries<M>) -> (f64, f64) {
    let norm_2 = |c: &M| c.to_mat().decompose().map_or(f64::NAN, |f| f.norm());
    let mut size_e = norm_2(series.e().coefficient(0));
    let mut size_a = norm_2(series.b().coefficient(0));
    // A matrix that vanishes at the point has no scale of its own.
    if size_e < ROUNDING * size_a {
        size_e = size_a;
    }
    if size_a < ROUNDING * size_e {
        size_a = size_e;
    }
    if size_e == 0.0 && size_a == 0.0 {
        (size_e, size_a) = (1.0, 1.0);
    }
    (size_e, size_a)
}

/// A reduction on its way.
struct Work<M> {
    shape: (usize, usize),
    pair: Pair<M>,
    reference: (f64, f64),
    /// eta of (16).
    noise: Option<Noise>,
    levels: Vec<Level>,
    constraints: Vec<usize>,
    redundant: Vec<usize>,
    directions: M,
}

impl<M: Dense> Work<M> {
    fn new(series: &MatrixSeries<M>, relative_error: f64) -> Self {
        let (m, n) = (series.nrows(), series.ncols());
        Self {
            shape: (m, n),
            pair: Pair::of(series),
            reference: references(series),
            noise: Noise::new(series, relative_error),
            levels: Vec::new(),
            constraints: Vec::new(),
            redundant: Vec::new(),
            directions: M::identity(n),
        }
    }

    /// One level, (12) and (13); the answer if it was the last one.
    fn step(&mut self) -> Result<Option<Indices>, Conclusion> {
        let noise = self.noise.ok_or(Conclusion::Unknown(Because::NotFinite))?;
        let (m, n) = (self.pair.e.nrows(), self.pair.e.ncols());
        let level = self.levels.len();
        let (factors, decision) = rank_of(self.pair.e.coefficient(0), self.reference.0, noise)?;
        self.levels.push(Level {
            n_equations: m,
            n_unknowns: n,
            differential: decision.clone(),
            differential_schur: None,
            algebraic: None,
            algebraic_schur: None,
        });
        let r = decided(&decision, level)?;
        if r == m {
            return Ok(Some(Indices::from_levels(
                self.shape,
                r,
                n - r,
                &self.constraints,
                &self.redundant,
            )));
        }
        let known = self.pair.e.len().min(self.pair.a.len());
        if known < SEEN {
            let order = level + SEEN - 1;
            return Err(Conclusion::Unknown(Because::SeriesTooShort { order }));
        }

        let constraints = self.pair.constraints(factors, r);
        let schur = constraints.selector.schur_norm() / self.reference.0;
        self.levels[level].differential_schur = Some(schur);
        let noise = accept(&decision, schur, noise, (level, Stage::Differential))?;

        let Constraints { image, matrix, .. } = constraints;
        let (factors, decision) = rank_of(matrix.coefficient(0), self.reference.1, noise)?;
        self.levels[level].algebraic = Some(decision.clone());
        let c = decided(&decision, level)?;
        let null = NullSeries::new(&matrix, &factors, c);
        let schur = null.schur_norm() / self.reference.1;
        self.levels[level].algebraic_schur = Some(schur);
        let noise = accept(&decision, schur, noise, (level, Stage::Algebraic))?;
        self.noise = Some(noise);

        self.constraints.push(c);
        self.redundant.push(m - r - c);
        self.pair = self.pair.restricted(&image, &null.basis).ok_or({
            let order = level + SEEN - 1;
            Conclusion::Unknown(Because::SeriesTooShort { order })
        })?;
        self.directions = self.directions.product(null.basis.coefficient(0));
        Ok(None)
    }
}

/// The rank of a matrix by the gap rule (16).
fn rank_of<M: Dense>(
    g: &M,
    reference: f64,
    noise: Noise,
) -> Result<(Factors<M>, RankDecision), Conclusion> {
    let factors = g
        .decompose()
        .map_err(|_| Conclusion::Unknown(Because::NotFinite))?;
    let rule = GapRule {
        noise: noise.now,
        ..GapRule::new(g.nrows(), g.ncols(), reference)
    };
    let decision = rule.decide(factors.values.clone(), Magnitudes::Singular);
    Ok((factors, decision))
}

/// Goes on if the rank is constant (17), with the noise level raised by the Schur series.
fn accept(
    decision: &RankDecision,
    schur: f64,
    noise: Noise,
    (level, stage): (usize, Stage),
) -> Result<Noise, Conclusion> {
    if !schur.is_finite() {
        return Err(Conclusion::Unknown(Because::NotFinite));
    }
    match Constancy::of(decision, schur, noise) {
        Constancy::Constant => Ok(noise.raised(schur)),
        Constancy::Changes => Err(Conclusion::Critical { level, stage }),
        Constancy::Uncertain => Err(Conclusion::Unknown(Because::UncertainRank { level, schur })),
    }
}

/// The noise level eta of (16), relative to the references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// At the start: rounding, or the error of the coefficients.
    pub(crate) first: f64,
    /// At present.
    pub(crate) now: f64,
}

impl Noise {
    /// The level of exact or erroneous coefficients; `None` if that is not a number.
    pub(crate) fn new<M: Dense>(series: &MatrixSeries<M>, relative_error: f64) -> Option<Self> {
        if relative_error.is_nan() || !series.is_finite() {
            return None;
        }
        let rounding = M::noise(series.nrows(), series.ncols());
        let first = rounding.max(relative_error);
        Some(Self { first, now: first })
    }

    /// Raised by what a null space left over.
    pub(crate) fn raised(self, schur: f64) -> Self {
        Self {
            now: self.now.max(10.0 * schur),
            ..self
        }
    }
}

/// Says whether a rank stays the same beside the point (17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constancy {
    Constant,
    Changes,
    Uncertain,
}

impl Constancy {
    /// A Schur series below this fraction of the smallest value kept counts as zero. Tuned on the random systems of
    /// `docs/theory/indices.md`; planted critical points leave values of order one.
    pub(crate) const NEGLIGIBLE: f64 = 1e-4;
    /// Nor may it exceed this many roots of the first noise level, 1e-6 in doubles. A slow change, of 1e-5 in scaled time,
    /// would otherwise pass for noise.
    const CEILING: f64 = 30.0;
    /// Nor may it exceed the noise known so far by more than this power of the first noise level, 1e5 in doubles: what
    /// nothing before it explains is a rank that moves slowly, close to a critical point (two of 60 sparse systems at a
    /// distance of 1e-6 to 1e-3).
    const JUMP: f64 = -1.0 / 3.0;
    /// A change needs a dropped value within this many noise levels of zero.
    const DROP: f64 = 10.0;
    /// The noise must place the change this close to the point, in scaled time. Otherwise a change nearby, at a distance
    /// the noise hides, passes for one at the point: one of 400 systems with singular points at a distance of 1e-3.
    const PLACE: f64 = 1e-7;

    /// Compares the Schur series of a rank, relative to its reference, with the values kept and dropped.
    pub(crate) fn of(decision: &RankDecision, schur: f64, noise: Noise) -> Self {
        let kept = decision.smallest_kept().min(1.0);
        let ceiling =
            (Self::CEILING * noise.first.sqrt()).min(noise.now * noise.first.powf(Self::JUMP));
        if schur <= (Self::NEGLIGIBLE * kept).min(ceiling) {
            Self::Constant
        } else if decision.largest_dropped() <= Self::DROP * noise.now
            && Self::DROP * noise.now <= Self::PLACE * schur
        {
            Self::Changes
        } else {
            Self::Uncertain
        }
    }
}

/// The rank, or why there is none.
pub(crate) fn decided(decision: &RankDecision, level: usize) -> Result<usize, Conclusion> {
    decision.decided().ok_or(Conclusion::Unknown(
        if decision.doubt == Some(Doubt::NotFinite) {
            Because::NotFinite
        } else {
            Because::PoorGap {
                level,
                found: decision.gap,
            }
        },
    ))
}
