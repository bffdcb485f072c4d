//! The reduction with ranks given beforehand: the ranks of a whole piece of time, and where one of them must fall.
//!
//! Numbers in parentheses refer to `docs/theory/linear.md`.

use crate::dense::{Dense, Factors};
use crate::outcome::Stage;
use crate::reduction::{Constancy, Noise, Pair, Reduction};
use crate::series::{MatrixSeries, NullSeries, Series};
use crate::tolerances::NOISE_LEVELS;
use daelight_linalg::Mat;

/// The ranks of every level of a reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    levels: Vec<LevelRanks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LevelRanks {
    n_equations: usize,
    differential: usize,
    /// `None` at the last level.
    algebraic: Option<usize>,
}

impl Profile {
    /// The ranks of a reduction that came to its end.
    pub(super) fn of(reduction: &Reduction) -> Option<Self> {
        reduction.regular()?;
        let levels = reduction.levels.iter().map(|level| LevelRanks {
            n_equations: level.n_equations,
            differential: level.differential.rank,
            algebraic: level.algebraic.as_ref().map(|rank| rank.rank),
        });
        Some(Self {
            levels: levels.collect(),
        })
    }

    /// Ranks in the order in which they are decided: the larger profile is the generic one.
    pub(super) fn ranks(&self) -> Vec<usize> {
        self.levels
            .iter()
            .flat_map(|level| [Some(level.differential), level.algebraic])
            .flatten()
            .collect()
    }

    pub(super) fn n_levels(&self) -> usize {
        self.levels.len()
    }

    /// Number of dependent rows of the derivative array of order l at generic points (9).
    pub(super) fn n_dependent(&self, order: usize) -> usize {
        let redundant = |level: &LevelRanks| {
            let c = level.algebraic.unwrap_or(0);
            level.n_equations - level.differential - c
        };
        self.levels
            .iter()
            .take(order + 1)
            .enumerate()
            .filter(|(_, level)| level.algebraic.is_some())
            .map(|(i, level)| (order + 1 - i) * redundant(level))
            .sum()
    }
}

/// A matrix whose rank the reduction needs, as a series.
#[derive(Clone, Debug)]
pub(super) struct StageMatrix {
    pub(super) level: usize,
    pub(super) stage: Stage,
    pub(super) rank: usize,
    pub(super) matrix: Series<Mat>,
    pub(super) factors: Factors<Mat>,
    pub(super) reference: f64,
    /// The noise, relative to the reference.
    pub(super) noise: f64,
}

/// All stages of a reduction with given ranks, as far as the ranks are there.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) stages: Vec<StageMatrix>,
    /// The last stage does not have its rank.
    pub(super) broken: bool,
    /// The pair of the last level reached.
    pub(super) pair: Pair<Mat>,
}

impl Walk {
    /// Reduces a scaled series with the ranks of a profile, up to the stage `until`, whose rank is not checked.
    ///
    /// `reference` are the sizes of E and A that ranks are measured against, `rounding` the error of the coefficients relative
    /// to them.
    pub(super) fn new(
        scaled: &MatrixSeries,
        profile: &Profile,
        until: Option<usize>,
        reference: (f64, f64),
        rounding: f64,
    ) -> Option<Self> {
        let mut noise = Noise::new(scaled, rounding)?;
        let mut walk = Self {
            stages: Vec::new(),
            broken: false,
            pair: Pair::of(scaled),
        };
        for (level, ranks) in profile.levels.iter().enumerate() {
            let is_last = ranks.algebraic.is_none();
            let e = walk.pair.e.clone();
            let stage = (level, Stage::Differential, ranks.differential);
            let factors = walk.push(e, stage, reference.0, noise)?;
            if until == Some(walk.stages.len() - 1) {
                return Some(walk);
            }
            let kept = walk.kept();
            if kept <= NOISE_LEVELS * noise.now {
                walk.broken = true;
                return Some(walk);
            }
            if is_last {
                return Some(walk);
            }
            let constraints = walk.pair.constraints(factors, ranks.differential);
            let schur = constraints.selector.schur_norm() / reference.0;
            if schur.is_nan() || schur > Constancy::NEGLIGIBLE * kept {
                walk.broken = true;
                return Some(walk);
            }
            noise = noise.raised(schur);
            if level > 0 && until.is_none() {
                // Hidden constraints are made of E and A, so the rounding of both is in them. A bound, for claims that a rank
                // is there; the place of a zero is known better than it says.
                let imbalance = (reference.0 / reference.1).max(1.0);
                noise.now = noise.now.max(noise.first * imbalance);
            }
            let c = ranks.algebraic.unwrap_or(0);
            let stage = (level, Stage::Algebraic, c);
            let factors = walk.push(constraints.matrix.clone(), stage, reference.1, noise)?;
            if until == Some(walk.stages.len() - 1) {
                return Some(walk);
            }
            let kept = walk.kept();
            let null = NullSeries::new(&constraints.matrix, &factors, c);
            let schur = null.schur_norm() / reference.1;
            let moves = schur.is_nan() || schur > Constancy::NEGLIGIBLE * kept;
            if kept <= NOISE_LEVELS * noise.now || moves {
                walk.broken = true;
                return Some(walk);
            }
            noise = noise.raised(schur);
            walk.pair = walk.pair.restricted(&constraints.image, &null.basis)?;
        }
        Some(walk)
    }

    fn push(
        &mut self,
        matrix: Series<Mat>,
        (level, stage, rank): (usize, Stage, usize),
        reference: f64,
        noise: Noise,
    ) -> Option<Factors<Mat>> {
        // The rank cannot be there at all.
        if rank > matrix.nrows().min(matrix.ncols()) {
            return None;
        }
        let factors = matrix.coefficient(0).decompose().ok()?;
        self.stages.push(StageMatrix {
            level,
            stage,
            rank,
            matrix,
            factors: factors.clone(),
            reference,
            noise: noise.now,
        });
        Some(factors)
    }

    /// The smallest singular value kept at the last stage, relative to its reference, at most 1.
    fn kept(&self) -> f64 {
        let stage = self.stages.last().expect("called after a push");
        stage.smallest_kept().min(1.0)
    }
}

impl StageMatrix {
    /// The smallest singular value that the rank counts, relative to the reference; infinite for rank 0.
    pub(super) fn smallest_kept(&self) -> f64 {
        match self.rank {
            0 => f64::INFINITY,
            r => self.factors.values[r - 1] / self.reference,
        }
    }

    /// The leading block of U^T G V, whose determinant vanishes where the rank falls.
    fn leading(&self) -> Series<Mat> {
        let r = self.rank;
        let ut = self.factors.range(r).transposed();
        let v = self.factors.v.block(0, 0, self.factors.v.nrows(), r);
        let mut out = self.matrix.map(|c| ut.product(c).product(&v));
        out.0[0] = self.factors.sigma.block(0, 0, r, r);
        out
    }

    /// Coefficients of (det H)'/det H = tr(H^-1 H') for the leading block H (10); empty for rank 0.
    pub(super) fn log_slope(&self) -> Vec<f64> {
        if self.rank == 0 {
            return Vec::new();
        }
        let h = self.leading();
        let inverse = h.inverse_from(self.factors.reciprocal.block(0, 0, self.rank, self.rank));
        match h.derivative() {
            Some(rate) => (inverse.product(&rate).coefficients().iter())
                .map(trace)
                .collect(),
            None => Vec::new(),
        }
    }

    /// Coefficients of the determinant of the part of H that is about to vanish (11), relative to the reference.
    pub(super) fn determinant(&self) -> Vec<f64> {
        let r = self.rank;
        let values = &self.factors.values;
        let size = |j: usize| {
            if j == 0 {
                self.reference
            } else {
                values[j - 1].max(f64::MIN_POSITIVE)
            }
        };
        // Values before the widest gap stay.
        let kept = (0..r)
            .max_by(|&i, &j| (size(i) / size(i + 1)).total_cmp(&(size(j) / size(j + 1))))
            .unwrap_or(0);
        let p = r - kept;
        let h = self.leading();
        let x = h
            .block(0, 0, kept, kept)
            .inverse_from(self.factors.reciprocal.block(0, 0, kept, kept));
        let x_h12 = x.product(&h.block(0, kept, kept, p));
        let schur = h
            .block(kept, kept, p, p)
            .plus(-1.0, &h.block(kept, 0, p, kept).product(&x_h12));
        let schur = schur.map(|c| {
            let mut out = Mat::zeros(p, p);
            out.add_multiple(1.0 / self.reference, c);
            out
        });
        determinant(&schur)
    }
}

fn trace(c: &Mat) -> f64 {
    (0..c.nrows()).map(|i| c[(i, i)]).sum()
}

/// The determinant of a small square series without divisions by its entries (Faddeev and LeVerrier).
fn determinant(a: &Series<Mat>) -> Vec<f64> {
    let p = a.nrows();
    let mut n = Series::constant(Mat::identity(p), a.len());
    let mut c = vec![1.0; a.len()];
    c[1..].fill(0.0);
    for k in 1..=p {
        n = a.product(&n);
        c = (n.coefficients().iter())
            .map(|m| -trace(m) / k as f64)
            .collect();
        for (m, &c) in n.0.iter_mut().zip(&c) {
            m.add_multiple(c, &Mat::identity(p));
        }
    }
    let sign = if p.is_multiple_of(2) { 1.0 } else { -1.0 };
    c.iter().map(|c| sign * c).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn determinant_of_a_series() {
        // [1 + s, 2; 3 s, 4] has determinant 4 - 2 s.
        let a = Series(vec![
            Mat::from_rows(&[&[1.0, 2.0], &[0.0, 4.0]]),
            Mat::from_rows(&[&[1.0, 0.0], &[3.0, 0.0]]),
            Mat::zeros(2, 2),
        ]);
        let found = determinant(&a);
        for (found, expected) in found.iter().zip([4.0, -2.0, 0.0]) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }
}
