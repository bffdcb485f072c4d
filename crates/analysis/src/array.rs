//! The derivative array: ranks of the equations and their derivatives, and the strangeness quantities that follow.
//!
//! Large matrices, but formed directly from the coefficients, so their singular values are accurate to rounding: the
//! cross-check of the reduction. Pointwise by nature: at a critical point its ranks are confident and belong to no
//! neighbour. Numbers in parentheses refer to `docs/theory/indices.md`.

use crate::dense::Dense;
use crate::outcome::{Because, Strangeness};
use crate::scaling::Scaling;
use crate::series::MatrixSeries;
use daelight_linalg::{Doubt, Magnitudes, Mat, MatRef, RankDecision, RankRule, Svd, ThresholdRule};

/// The Jacobian of the equations and their first K Taylor coefficients by the Taylor coefficients of the unknowns (3).
#[derive(Clone, Debug)]
pub struct DerivativeArray {
    n_equations: usize,
    n_unknowns: usize,
    order: usize,
    matrix: Mat,
    relative_error: f64,
}

impl DerivativeArray {
    /// Builds the array of the full order of a scaled series whose coefficients have this relative error.
    pub fn new(series: &MatrixSeries, relative_error: f64) -> Self {
        let (m, n, order) = (series.nrows(), series.ncols(), series.order());
        let mut matrix = Mat::zeros((order + 1) * m, (order + 2) * n);
        for i in 0..=order {
            for j in 0..=i + 1 {
                let mut block = Mat::zeros(m, n);
                if j <= i {
                    block.add_multiple(1.0, series.b().coefficient(i - j));
                }
                if j > 0 {
                    block.add_multiple(j as f64, series.e().coefficient(i + 1 - j));
                }
                matrix.set_block(i * m, j * n, &block);
            }
        }
        Self {
            n_equations: m,
            n_unknowns: n,
            order,
            matrix,
            relative_error,
        }
    }

    /// The highest order of differentiation, K.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Number of equations that are not differentiated, m.
    pub fn n_equations(&self) -> usize {
        self.n_equations
    }

    /// Number of unknowns, n.
    pub fn n_unknowns(&self) -> usize {
        self.n_unknowns
    }

    /// The array of order l <= K: rows 0..=l, columns 0..=l+1.
    pub fn whole(&self, l: usize) -> MatRef<'_> {
        let (m, n) = (self.n_equations, self.n_unknowns);
        self.matrix.view().submatrix(0, 0, (l + 1) * m, (l + 2) * n)
    }

    /// -N_l, its first column block: the derivatives by x itself.
    pub fn left(&self, l: usize) -> MatRef<'_> {
        let (m, n) = (self.n_equations, self.n_unknowns);
        self.matrix.view().submatrix(0, 0, (l + 1) * m, n)
    }

    /// M_l, its other column blocks: the derivatives by x', x'', ...
    pub fn right(&self, l: usize) -> MatRef<'_> {
        let (m, n) = (self.n_equations, self.n_unknowns);
        self.matrix.view().submatrix(0, n, (l + 1) * m, (l + 1) * n)
    }

    /// E at the point, which is the block (0, 1).
    pub fn leading(&self) -> MatRef<'_> {
        let (m, n) = (self.n_equations, self.n_unknowns);
        self.matrix.view().submatrix(0, n, m, n)
    }

    /// The rule (18) for matrices that are part of, or a product with, the array of this norm.
    pub fn rule(&self, norm: f64) -> ThresholdRule {
        ThresholdRule::with_error(norm, self.relative_error)
    }

    /// The same array for derivatives instead of Taylor coefficients (4), as the literature prints its condition.
    pub(crate) fn in_derivatives(&self, l: usize) -> Mat {
        let (m, n) = (self.n_equations, self.n_unknowns);
        let whole = self.whole(l);
        let factorial = |k: usize| (1..=k).map(|i| i as f64).product::<f64>();
        Mat::from_fn(whole.nrows(), whole.ncols(), |i, j| {
            whole.at(i, j) * factorial(i / m.max(1)) / factorial(j / n.max(1))
        })
    }
}

/// One order of the derivative array with the counts it implies (20).
#[derive(Clone, Debug)]
pub struct ArrayLevel {
    /// The rank of M_l.
    pub right: RankDecision,
    /// The rank of [M_l N_l].
    pub whole: RankDecision,
    /// a_l: constraints visible after l differentiations.
    pub n_algebraic: usize,
    /// V_l: dependent rows in all.
    pub n_dependent: usize,
    /// v_l: dependent rows that the l-th differentiation added.
    pub n_redundant: usize,
}

/// The strangeness quantities according to the derivative array.
#[derive(Clone, Debug)]
pub struct ArrayAnalysis {
    /// The answer, or why there is none.
    pub conclusion: Result<Strangeness, Because>,
    /// Orders 0, 1, ... as far as they were needed.
    pub levels: Vec<ArrayLevel>,
}

impl ArrayAnalysis {
    /// Raises the order until neither the constraints nor the redundant equations grow (20).
    pub fn new(array: &DerivativeArray) -> Self {
        let mut levels: Vec<ArrayLevel> = Vec::new();
        let conclusion = (|| {
            loop {
                let l = levels.len();
                if l > array.order() {
                    return Err(Because::SeriesTooShort { order: l });
                }
                let dependent_before = levels.last().map_or(0, |level| level.n_dependent);
                let level = array_level(array, l, dependent_before)?;
                let Some(last) = levels.last() else {
                    levels.push(level);
                    continue;
                };
                if level.n_algebraic < last.n_algebraic || level.n_redundant < last.n_redundant {
                    levels.push(level);
                    return Err(Because::ArrayNotMonotone { level: l });
                }
                let settled =
                    level.n_algebraic == last.n_algebraic && level.n_redundant == last.n_redundant;
                levels.push(level);
                if settled {
                    return quantities(array, &levels[l - 1], l - 1);
                }
            }
        })();
        Self { conclusion, levels }
    }

    /// The smallest singular value any rank counted, relative to its reference; infinite if none did.
    pub fn smallest_kept(&self) -> f64 {
        self.levels
            .iter()
            .flat_map(|level| [&level.right, &level.whole])
            .map(RankDecision::smallest_kept)
            .fold(f64::INFINITY, f64::min)
    }
}

/// Ranks and counts of order l.
fn array_level(
    array: &DerivativeArray,
    l: usize,
    dependent_before: usize,
) -> Result<ArrayLevel, Because> {
    let mut svd = Svd::new();
    svd.factor_values(array.whole(l))
        .map_err(|_| Because::NotFinite)?;
    let norm = svd.norm();
    let whole = svd.rank(&array.rule(norm));
    svd.factor_values(array.right(l))
        .map_err(|_| Because::NotFinite)?;
    let right = svd.rank(&array.rule(norm));
    let (rank_whole, rank_right) = (decided(&whole, l)?, decided(&right, l)?);
    let not_monotone = Because::ArrayNotMonotone { level: l };
    let n_dependent = (l + 1) * array.n_equations() - rank_whole;
    Ok(ArrayLevel {
        right,
        whole,
        n_algebraic: rank_whole.checked_sub(rank_right).ok_or(not_monotone)?,
        n_dependent,
        n_redundant: n_dependent
            .checked_sub(dependent_before)
            .ok_or(not_monotone)?,
    })
}

fn quantities(
    array: &DerivativeArray,
    level: &ArrayLevel,
    index: usize,
) -> Result<Strangeness, Because> {
    let not_monotone = Because::ArrayNotMonotone { level: index };
    let (a, v) = (level.n_algebraic, level.n_redundant);
    let d = array.n_equations().checked_sub(a + v).ok_or(not_monotone)?;
    let u = array.n_unknowns().checked_sub(d + a).ok_or(not_monotone)?;
    Ok(Strangeness {
        index,
        n_algebraic: a,
        n_differential: d,
        n_free: u,
        n_redundant: v,
    })
}

/// The rank, or why there is none.
pub(crate) fn decided(decision: &RankDecision, level: usize) -> Result<usize, Because> {
    decision.decided().ok_or(match decision.doubt {
        Some(Doubt::InBand { value, .. }) => Because::PoorGap {
            level,
            found: value,
        },
        Some(Doubt::PoorGap { .. }) => Because::PoorGap {
            level,
            found: decision.gap,
        },
        _ => Because::NotFinite,
    })
}

/// What Hypothesis A.3 asks of one order l at one point.
#[derive(Clone, Debug)]
pub struct HypothesisLevel {
    /// a_l.
    pub n_algebraic: usize,
    /// rank(E T_l) (21): differential equations that are left on the constraints seen so far.
    pub n_differential: usize,
    /// The evidence for the latter.
    pub on_constraints: RankDecision,
}

/// Counts constraints of order l and the rank of E on them (21).
pub fn hypothesis_level(array: &DerivativeArray, l: usize) -> Result<HypothesisLevel, Because> {
    if l > array.order() {
        return Err(Because::SeriesTooShort { order: l });
    }
    let failed = |_| Because::NotFinite;
    let mut svd = Svd::new();
    svd.factor_values(array.whole(l)).map_err(failed)?;
    // Products are measured against the array: one that should vanish has no size of its own.
    let rule = array.rule(svd.norm());
    svd.factor(array.right(l)).map_err(failed)?;
    let rank = decided(&svd.rank(&rule), l)?;
    let selector = svd.left_null_basis(rank).map_err(failed)?.to_owned();
    let constraints = selector.transpose().matmul(&array.left(l).to_owned());
    svd.factor(constraints.view()).map_err(failed)?;
    let n_algebraic = decided(&svd.rank(&rule), l)?;
    let kernel = svd.kernel_basis(n_algebraic).map_err(failed)?.to_owned();
    let product = array.leading().to_owned().matmul(&kernel);
    svd.factor_values(product.view()).map_err(failed)?;
    let on_constraints = rule.decide(svd.singular_values().to_vec(), Magnitudes::Singular);
    Ok(HypothesisLevel {
        n_algebraic,
        n_differential: decided(&on_constraints, l)?,
        on_constraints,
    })
}

/// The conditions on the right-hand side f of E x' + B x = f that redundant equations impose.
///
/// Row block i of every column multiplies the Taylor coefficient f_i; the sum over i must vanish. The columns, as many as
/// the array of order l has dependent rows, are orthonormal in scaled equations and mapped back by (8).
pub fn consistency_conditions(
    array: &DerivativeArray,
    scaling: &Scaling,
    l: usize,
) -> Result<Mat, Because> {
    if l > array.order() {
        return Err(Because::SeriesTooShort { order: l });
    }
    let failed = |_| Because::NotFinite;
    let mut svd = Svd::new();
    svd.factor(array.whole(l)).map_err(failed)?;
    let rank = decided(&svd.rank(&array.rule(svd.norm())), l)?;
    let mut out = svd.left_null_basis(rank).map_err(failed)?.to_owned();
    let m = array.n_equations();
    for i in 0..=l {
        let block = out.block(i * m, 0, m, out.ncols());
        out.set_block(i * m, 0, &scaling.equations_back(&block, i));
    }
    Ok(out)
}

/// The first order at which Hypothesis A.3 holds literally at this point, for d differential equations.
///
/// It can be smaller than the strangeness index, because redundant equations need not have settled by then.
pub fn hypothesis_order(array: &DerivativeArray, n_differential: usize) -> Result<usize, Because> {
    let mut level = hypothesis_level(array, 0)?;
    for l in 1.. {
        let next = hypothesis_level(array, l)?;
        if next.n_algebraic == level.n_algebraic && level.n_differential == n_differential {
            return Ok(l - 1);
        }
        level = next;
    }
    Err(Because::SeriesTooShort {
        order: array.order() + 1,
    })
}
