//! The differentiation index by 1-fullness, with the projectors T_k and V_k and the condition of the array.
//!
//! Asks of k blocks of equations whether they determine x once its component outside ker E is known. Numbers in
//! parentheses refer to `docs/theory/indices.md`.

use crate::array::{DerivativeArray, decided};
use crate::dense::{Dense, Factors};
use crate::outcome::Because;
use crate::scaling::Scaling;
use crate::series::MatrixSeries;
use daelight_linalg::{Magnitudes, Mat, RankDecision, RankRule};

/// What k blocks of equations (orders 0..k) determine.
#[derive(Clone, Debug)]
pub struct FullnessLevel {
    /// k, the number of blocks.
    pub n_blocks: usize,
    /// Rank of G_R, the columns of the derivatives.
    pub right: RankDecision,
    /// Rank of `B^[k] = [P 0; G_L G_R]` (22).
    pub whole: RankDecision,
    /// True if `B^[k]` determines x: rank `B^[k]` = n + rank G_R.
    pub one_full: bool,
    /// The orthogonal projector T_k (23), in the unknowns as given.
    pub t_projector: Mat,
    /// Its rank: components of ker E that k blocks leave undetermined.
    pub t_rank: usize,
    /// The orthogonal projector V_k (24).
    pub v_projector: Mat,
    /// Its rank: degrees of freedom that k blocks leave.
    pub v_rank: usize,
}

/// The differentiation index by 1-fullness, with the evidence of every level.
#[derive(Clone, Debug)]
pub struct Fullness {
    /// nu and the degrees of freedom, or why there are none. `Ok(None)`: no number of blocks up to n suffices, so the
    /// system does not determine its solution.
    pub conclusion: Result<Option<(usize, usize)>, Because>,
    /// Levels k = 1, 2, ... as far as they were needed.
    pub levels: Vec<FullnessLevel>,
    /// Rank of E at the point.
    pub leading: Option<RankDecision>,
}

impl Fullness {
    /// Raises k until `B^[k]` is 1-full. The array is that of the scaled series.
    pub fn new(array: &DerivativeArray, scaling: &Scaling) -> Self {
        let mut out = Self {
            conclusion: Ok(None),
            levels: Vec::new(),
            leading: None,
        };
        out.conclusion = out.search(array, scaling);
        out
    }

    fn search(
        &mut self,
        array: &DerivativeArray,
        scaling: &Scaling,
    ) -> Result<Option<(usize, usize)>, Because> {
        let n = array.n_unknowns();
        let kernel = LeadingKernel::new(array, scaling)?;
        let rank = kernel.rank;
        self.leading = Some(kernel.decision.clone());
        if rank == n {
            return Ok(Some((0, n)));
        }
        for k in 1..=n {
            if k > array.order() + 1 {
                return Err(Because::SeriesTooShort { order: k - 1 });
            }
            let level = kernel.level(array, scaling, k)?;
            let one_full = level.one_full;
            self.levels.push(level);
            if one_full {
                // V_0 = P.
                let dof = if k == 1 {
                    rank
                } else {
                    self.levels[k - 2].v_rank
                };
                return Ok(Some((k, dof)));
            }
        }
        Ok(None)
    }
}

/// ker E at the point, in scaled and in given unknowns.
struct LeadingKernel {
    decision: RankDecision,
    rank: usize,
    /// Basis in scaled unknowns, orthonormal there.
    scaled: Mat,
    /// Basis in the unknowns as given, orthonormal there.
    given: Mat,
}

impl LeadingKernel {
    fn new(array: &DerivativeArray, scaling: &Scaling) -> Result<Self, Because> {
        let norm = factors(array.whole(0).to_owned())?.norm();
        let leading = factors(array.leading().to_owned())?;
        let decision = array
            .rule(norm)
            .decide(leading.values.clone(), Magnitudes::Singular);
        let rank = decided(&decision, 0)?;
        let scaled = leading.kernel(rank);
        let given = orthonormal(
            &scaling.unknowns_back(&scaled, 0),
            array.n_unknowns() - rank,
        )?;
        Ok(Self {
            decision,
            rank,
            scaled,
            given,
        })
    }

    fn level(
        &self,
        array: &DerivativeArray,
        scaling: &Scaling,
        k: usize,
    ) -> Result<FullnessLevel, Because> {
        let n = array.n_unknowns();
        let l = k - 1;
        let left = array.left(l).to_owned();
        let right = array.right(l).to_owned();
        let norm = factors(left.beside(&right))?.norm();
        let rule = array.rule(norm);
        let rank = |f: &Factors<Mat>| rule.decide(f.values.clone(), Magnitudes::Singular);

        // Rows with the kernel of P in scaled unknowns stand for P: only their kernel matters for the rank.
        let projector = complement(&self.scaled)?;
        let zeros = Mat::zeros(projector.ncols(), right.ncols());
        let stacked = projector
            .transpose()
            .scaled(&vec![norm; projector.ncols()], &vec![1.0; n], 1.0)
            .beside(&zeros)
            .above(&left.beside(&right));
        let whole = rank(&factors(stacked)?);
        let right_factors = factors(right.clone())?;
        let right_decision = rank(&right_factors);
        let right_rank = decided(&right_decision, l)?;
        let one_full = decided(&whole, l)? == n + right_rank;

        // T_k = ker P meets ker W G_L, with W G_R = 0.
        let constraints = right_factors
            .left_kernel(right_rank)
            .transpose()
            .matmul(&left);
        let on_kernel = factors(constraints.matmul(&self.scaled))?;
        let n_lost = decided(&rank(&on_kernel), l)?;
        let t_basis = self.scaled.matmul(&on_kernel.kernel(n_lost));
        let t_rank = t_basis.ncols();
        let t_basis = orthonormal(&scaling.unknowns_back(&t_basis, 0), t_rank)?;

        // V_k = im P meets ker W2 G_L, with W2 [G_L Q, G_R] = 0; ker E lies in ker W2 G_L.
        let both = factors(left.matmul(&self.scaled).beside(&right))?;
        let both_rank = decided(&rank(&both), l)?;
        let visible = factors(both.left_kernel(both_rank).transpose().matmul(&left))?;
        let n_visible = decided(&rank(&visible), l)?;
        let v_rank = self.rank.saturating_sub(n_visible);
        let mut v_basis = unit_columns(scaling.unknowns_back(&visible.kernel(n_visible), 0));
        let shares = self.given.transpose().matmul(&v_basis);
        v_basis.add_multiple(-1.0, &self.given.matmul(&shares));
        let v_basis = factors(v_basis)?.range(v_rank.min(n));

        Ok(FullnessLevel {
            n_blocks: k,
            right: right_decision,
            whole,
            one_full,
            t_projector: t_basis.matmul(&t_basis.transpose()),
            t_rank,
            v_projector: v_basis.matmul(&v_basis.transpose()),
            v_rank,
        })
    }
}

/// The condition sigma_1/sigma_r of `B^[k]` of the unscaled series, as the literature prints it.
///
/// `B^[k]` has rank r and is written for derivatives (4) if `in_derivatives`, for Taylor coefficients otherwise. `None` if k
/// is 0, the series is too short or the decomposition fails.
pub fn condition(
    series: &MatrixSeries,
    k: usize,
    leading_rank: usize,
    rank: usize,
    in_derivatives: bool,
) -> Option<f64> {
    let l = k.checked_sub(1).filter(|l| *l <= series.order())?;
    let array = DerivativeArray::new(series, 0.0);
    let leading = factors(array.leading().to_owned()).ok()?;
    if leading_rank > leading.values.len() {
        return None;
    }
    let p = leading.v.block(0, 0, series.ncols(), leading_rank);
    let whole = if in_derivatives {
        array.in_derivatives(l)
    } else {
        array.whole(l).to_owned()
    };
    let top = p
        .matmul(&p.transpose())
        .beside(&Mat::zeros(series.ncols(), whole.ncols() - series.ncols()));
    let values = factors(top.above(&whole)).ok()?.values;
    let last = values.get(rank.checked_sub(1)?)?;
    Some(values.first()? / last)
}

fn factors(a: Mat) -> Result<Factors<Mat>, Because> {
    a.decompose().map_err(|_| Because::NotFinite)
}

/// Orthonormal basis of the range of a matrix of known rank, its columns brought to unit length first.
fn orthonormal(a: &Mat, rank: usize) -> Result<Mat, Because> {
    Ok(factors(unit_columns(a.clone()))?.range(rank.min(a.nrows())))
}

/// Orthonormal basis of the orthogonal complement of orthonormal columns.
fn complement(a: &Mat) -> Result<Mat, Because> {
    Ok(factors(a.clone())?.left_kernel(a.ncols().min(a.nrows())))
}

fn unit_columns(mut a: Mat) -> Mat {
    let mut view = a.view_mut();
    for j in 0..view.ncols() {
        let column = view.col_mut(j);
        let norm = column.iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm > 0.0 {
            column.iter_mut().for_each(|v| *v /= norm);
        }
    }
    a
}
